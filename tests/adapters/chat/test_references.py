"""Check the references, said with a file in both chats: a line for each, the table and the BibTeX as files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from core.presentation import wording
from tests.adapters.chat.slack.house import slack_house
from tests.loopback.discord_house import discord_house
from tests.loopback.registries import Paper, Update
from tests.loopback.search_world import SearchWorld

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


@asynccontextmanager
async def registries() -> AsyncIterator[Mapping[str, str]]:
    """Settings for a process that asks two of them."""
    async with SearchWorld([RETRACTED]) as world:
        yield {**world.env("crossref", "europepmc"), "GORKD_REGISTRIES": "crossref,europepmc"}


async def test_in_discord(tmp_path: Path) -> None:
    async with registries() as env, discord_house(tmp_path, env=env) as house:
        answer = await house.final(house.discord.say(f"@gorkd {SAID}", file=FILE))
        without = await house.final(house.discord.say(f"@gorkd {SAID}"))

        assert "retracted on 2021-03-04" in answer.text
        assert "not found in Crossref, Europe PMC" in answer.text
        assert [file["filename"] for file in answer.attachments] == ["references.csv", "references.bib"]
        assert without.text == wording.NO_LIST


async def test_in_slack(tmp_path: Path) -> None:
    async with registries() as env, slack_house(tmp_path, **env) as house:
        ada = house.person()
        channel, other = house.channel(ada), house.channel(ada)
        await house.slack.mentions(ada, channel, SAID, files=[house.slack.attaches(*FILE)])
        answer = await house.ended(channel)
        await house.slack.mentions(ada, other, SAID)
        await house.slack.until(lambda: house.whispers(ada))

        assert "retracted on 2021-03-04" in answer.shown
        assert "not found in Crossref, Europe PMC" in answer.shown
        assert house.whispers(ada) == [wording.NO_LIST]
