"""Export and "Make this a test" in both chats: the same deeds, drawn by each (N-22, N-24)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from adapters.chat.desk import Prove, Proving, Speaking, press, prove, thanks_for_vote, told_of
from adapters.chat.discord.render import DiscordVoice
from adapters.chat.slack.render import SlackVoice
from adapters.chat.watching import WatchPlace
from adapters.records.jobs import SqlEvaluations, SqlJobStore, SqlSourceStore
from core.model.answer import Rating
from core.model.job import ResearchJob
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.receipts.container import Receipts, public_key, verify_receipt
from tests.core.receipts import samples as answered
from tests.core.receipts.samples import KEY
from tests.fakes import Idle, MemoryTraceLog, make_deps, now
from tests.golden.samples import LINKS
from tests.records import MemoryTables


@pytest.fixture(scope="module", autouse=True)
def researched() -> None:
    """Before any test runs a loop, since it needs one of its own."""
    answered.answered()


def job() -> ResearchJob:
    return answered.answered().job


@dataclass
class Place:
    """Records with one answered job."""

    tables: MemoryTables = field(default_factory=lambda: MemoryTables(job()))

    @property
    def proving(self) -> Proving:
        jobs, sources = SqlJobStore(self.tables), SqlSourceStore(self.tables)
        receipts = Receipts(jobs, sources, MemoryTraceLog(), "https://gorkd.test", (KEY,))
        return Proving(receipts, SqlEvaluations(self.tables), LINKS, now)


@pytest.fixture
async def place() -> Place:
    made = Place()
    await SqlJobStore(made.tables).finish(job(), answered.answered().result)
    await SqlSourceStore(made.tables).put(job(), answered.answered().sources)
    return made


async def admin() -> bool:
    return True


async def anybody() -> bool:
    return False


def spoken(voice: Any, proving: Proving) -> Speaking[Any]:
    async def nowhere(_: ResearchJob | None) -> WatchPlace:
        raise AssertionError("nothing is watched")

    return Speaking(Researcher(make_deps(), Idle()), voice, "U9", "discord:1", nowhere, proving)


async def test_export_gives_the_receipt_as_a_file_and_its_address(place: Place):
    """Anybody who sees the answer: Discord attaches it, Slack in direct messages; asides link to the page (N-22)."""
    deed = Prove(job(), "receipt")
    discord = await told_of(deed, spoken(DiscordVoice(LINKS), place.proving))
    slack = json.dumps((await told_of(deed, spoken(SlackVoice(LINKS), place.proving))).blocks)

    (file,) = discord.files
    assert file.name == f"{job().id}.receipt.zip"
    assert verify_receipt(file.content, keys=[public_key(KEY)]).is_sound
    assert [button.label for button in discord.rows[0]] == [wording.RECEIPT, wording.VIEW_FULL_ANALYSIS]
    assert discord.without_files.rows == discord.rows
    assert f"/jobs/{job().id}/receipt.zip" in slack


async def test_a_job_without_an_answer_has_no_receipt():
    said = await prove(Place().proving, Prove(job(), "receipt"), anybody)

    assert (said.lines, said.file) == ((wording.NOTHING_HERE,), None)


async def test_a_bad_answer_is_made_a_test_by_an_admin_alone(place: Place):
    """Offered to an admin who votes; for others the same words say who may."""
    deed, kept = Prove(job(), "test", "It says\n 49."), SqlEvaluations(place.tables)
    early = await prove(place.proving, deed, admin)
    await SqlEvaluations(place.tables).rate(job(), Rating("U1", False, "", now()))

    refused = await prove(place.proving, deed, anybody)
    nothing = await kept.cases("")
    made = await prove(place.proving, deed, admin)

    assert early.lines == (wording.NO_BAD_VOTE,)
    assert (refused.lines, nothing) == ((wording.TESTS_ADMINS_ONLY,), [])
    assert made.lines[0] == wording.IS_A_TEST
    assert [(case.job_id, case.must) for case in await kept.cases("")] == [(job().id, "It says 49.")]


def test_a_bad_vote_offers_the_test_to_admins():
    offered, plain = (thanks_for_vote(job(), is_admin=is_admin) for is_admin in (True, False))

    assert [button.label for button in offered.buttons] == [wording.MAKE_A_TEST]
    assert press(offered.buttons[0].name, job(), "U9") == Prove(job(), "test")
    assert (plain.lines, plain.buttons) == ((wording.THANKS,), ())
