"""What registries say, in both chats: a list of references checked, and an answer whose source was retracted since."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.records.sqlite import FILE_NAME
from core.presentation import wording
from tests.adapters.chat.slack.house import SlackHouse, slack_house
from tests.adapters.durable.outside import PAGES, QUESTION
from tests.loopback.discord_house import House, discord_house
from tests.loopback.registries import Paper, Update, crossref_answer
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

pytestmark = pytest.mark.asyncio(loop_scope="module")
RETRACTED = Paper(
    "https://journal.test/cold", "Cold water cures everything at once", "Everything was cured.",
    datetime(2020, 6, 1, tzinfo=UTC), doi="10.1000/cold", authors=("Ada Moore",),
    updates=(Update("retraction", "10.1000/cold.notice", "31999999", "2021-03-04"),),
)  # fmt: skip
LIST = b"""@article{cold, title={Cold water cures everything at once}, author={Moore, Ada}, year={2020}}
@article{gone, title={An entirely new study of bathing in summer}, author={Nobody, Jo}, journal={Summers}, year={2021}}
"""
FILE = ("thesis.bib", "application/x-bibtex", LIST)
SAID = "check the references"
TIDES = Paper("https://journal.test/tides", PAGES["/tides"].title, PAGES["/tides"].text, doi="10.1000/tides")
ON_PAPER = {f"/{TIDES.doi}": PAGES["/tides"], "/coast": PAGES["/coast"]}  # its address names the work
NOTICE = "was retracted on 2026-02-03 ({}doi.org/10.1000/tides.notice)"
CORRECTED = "SELECT 1 FROM answer_places WHERE correction <> ''"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def registries() -> AsyncIterator[SearchWorld]:
    """Crossref and Europe PMC, which know both papers."""
    async with SearchWorld([RETRACTED, TIDES]) as world:
        yield world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def discord(tmp_path_factory: pytest.TempPathFactory, registries: SearchWorld) -> AsyncIterator[House]:
    async with discord_house(tmp_path_factory.mktemp("discord"), env=settings(registries), pages=ON_PAPER) as house:
        yield house


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def slack(tmp_path_factory: pytest.TempPathFactory, registries: SearchWorld) -> AsyncIterator[SlackHouse]:
    async with slack_house(tmp_path_factory.mktemp("slack"), pages=ON_PAPER, **settings(registries)) as house:
        yield house


def settings(registries: SearchWorld) -> dict[str, str]:
    return {**registries.env("crossref", "europepmc"), "GORKD_REGISTRIES": "crossref,europepmc"}


async def retracted_a_day_later(folder: str, registries: SearchWorld) -> None:
    """Crossref knows of the retraction, answers are due to be looked at again, and what was said is no longer kept.

    Returns when whoever looks after answers has found it.
    """
    update = Update("retraction", "10.1000/tides.notice", "31999996", "2026-02-03")
    body = crossref_answer(replace(TIDES, updates=(update,)))
    registries.answers[f"/crossref/v1/works/{TIDES.doi}"] = Fault(body=body)
    with closing(sqlite3.connect(Path(folder, FILE_NAME), timeout=20)) as database:
        with database:
            database.execute("DELETE FROM reused")
            database.execute("UPDATE standing_checks SET due_at = (SELECT min(created_at) FROM jobs)")
        async with asyncio.timeout(40):
            while not database.execute(CORRECTED).fetchall():  # noqa: ASYNC110  # another process does it
                await asyncio.sleep(0.05)


async def test_a_list_is_checked_in_discord(discord: House) -> None:
    """A line for each reference, the table and the BibTeX as files (N-18)."""
    answer = await discord.final(discord.discord.say(f"@gorkd {SAID}", file=FILE))
    without = await discord.final(discord.discord.say(f"@gorkd {SAID}"))

    assert "retracted on 2021-03-04" in answer.text
    assert "not found in Crossref, Europe PMC" in answer.text
    assert [file["filename"] for file in answer.attachments] == ["references.csv", "references.bib"]
    assert without.text == wording.NO_LIST


async def test_a_list_is_checked_in_slack(slack: SlackHouse) -> None:
    ada = slack.person()
    channel, other = slack.channel(ada), slack.channel(ada)
    await slack.slack.mentions(ada, channel, SAID, files=[slack.slack.attaches(*FILE)])
    answer = await slack.ended(channel)
    await slack.slack.mentions(ada, other, SAID)
    await slack.slack.until(lambda: slack.whispers(ada))

    assert "retracted on 2021-03-04" in answer.shown
    assert "not found in Crossref, Europe PMC" in answer.shown
    assert slack.whispers(ada) == [wording.NO_LIST]


async def test_an_answer_is_corrected_in_place_in_discord_and_the_asker_told_once(
    discord: House, registries: SearchWorld
) -> None:
    """Its source was retracted after it (D18) (N-16): the message says so, and one below it, whoever starts again."""
    registries.answers.clear()
    asked = discord.discord.say(f"@gorkd {QUESTION}")
    answer = await discord.final(asked)
    before = answer.text

    def told() -> list[str]:
        below = [one.text for one in discord.discord.replies_to(answer)]
        return [text for text in below if "was retracted" in text]

    await retracted_a_day_later(discord.env["GORKD_DATA"], registries)
    await discord.restart_bot()  # which looks at once for what is to be shown
    await discord.discord.until(told)
    await discord.restart_bot()
    await discord.final(discord.discord.say(f"@gorkd {SAID}", file=FILE))

    assert TIDES.title in before
    assert "etracted" not in before
    shown = answer.text.replace("\\", "")
    assert f"[Retracted] {TIDES.title}" in shown
    assert re.search(r"\[\[1\]\]\(\S+\)✗", shown)
    assert NOTICE.format("") in shown
    assert [NOTICE.format("") in one for one in told()] == [True]


async def test_an_answer_is_corrected_in_place_in_slack_and_the_asker_told_once(
    slack: SlackHouse, registries: SearchWorld
) -> None:
    """As in Discord, in the thread; so are its sources, which stand there in a message of their own."""
    registries.answers.clear()
    ada = slack.person()
    channel, other = slack.channel(ada), slack.channel(ada)
    asked = await slack.slack.mentions(ada, channel, QUESTION)
    answer = await slack.ended(channel)
    sources = await slack.sources_of(asked.ts)
    before = answer.shown + sources.shown

    def told() -> list[str]:
        below = slack.slack.state.of_bot(thread_ts=asked.ts)
        return [one.shown for one in below if one.ts != answer.ts and "was retracted" in one.shown]

    await retracted_a_day_later(slack.env["GORKD_DATA"], registries)
    await slack.restart()
    await slack.slack.until(told)
    await slack.slack.mentions(ada, other, SAID, files=[slack.slack.attaches(*FILE)])
    await slack.ended(other)

    shown, listed = answer.shown, (await slack.sources_of(asked.ts)).shown
    assert "etracted" not in before
    assert "[1]✗" in shown
    assert NOTICE.format("https://") in shown
    assert f"[Retracted] {TIDES.title}" in listed
    assert [NOTICE.format("https://") in one for one in told()] == [True]
