"""Receipts for download, the published key, tests made of bad answers, and how often confidence was right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from adapters.records.jobs import SqlEvaluations, SqlJobStore, SqlSourceStore
from adapters.web.settings import WebSettings
from core.model.answer import Confidence, Rating
from core.pipeline.tool_traces import TraceEntry
from core.presentation.render import iso_utc
from core.receipts.container import Receipts, open_receipt, public_key, verify_receipt
from core.tenancy.usage import JudgedAnswers
from tests.adapters.web.conformity import ConformingClient, conforming
from tests.adapters.web.serving import web_app
from tests.adapters.web.test_admin import AFAR, bearer, words
from tests.core.receipts.samples import KEY
from tests.fakes import KeptUsage, MemoryTraceLog
from tests.golden import samples
from tests.records import MemoryTables, at_once

JOB = samples.COMPLETED
PAGE = f"/jobs/{JOB.id}"
SETTINGS = WebSettings(api_tokens=("operator",), stats_tokens=("slack:T1=own=1", "local=here"))


@dataclass
class Place:
    """The pages over records with one answered job."""

    tables: MemoryTables = field(default_factory=lambda: MemoryTables(JOB))

    def __post_init__(self) -> None:
        self.evaluations = SqlEvaluations(self.tables)
        at_once(SqlJobStore(self.tables).finish(JOB, samples.RESULT))
        at_once(SqlSourceStore(self.tables).put(JOB, samples.SOURCES))

    def vote(self, *, is_good: bool) -> None:
        at_once(SqlEvaluations(self.tables).rate(JOB, Rating("U1", is_good, "REASON", samples.NOON)))

    def open(self) -> ConformingClient:
        jobs, sources = SqlJobStore(self.tables), SqlSourceStore(self.tables)
        receipts = Receipts(jobs, sources, MemoryTraceLog(), "https://gorkd.test", (KEY, b"o" * 32))
        app = web_app(None, SETTINGS, usage=KeptUsage(), receipts=receipts, evaluations=self.evaluations)
        return conforming(app)


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
async def client(place: Place) -> AsyncIterator[ConformingClient]:
    async with place.open() as opened:
        yield opened


async def test_a_receipt_is_downloaded_and_its_key_published(client: ConformingClient):
    """The key of the server is what `verify --key` takes; older ones stand behind it."""
    answer = await client.get(f"{PAGE}/receipt.zip")
    keys = await (await client.get("/.well-known/gorkd-key")).text()

    assert answer.headers["Content-Disposition"] == f'attachment; filename="{JOB.id}.receipt.zip"'
    assert keys == f"ed25519 {public_key(KEY)}\ned25519 {public_key(b'o' * 32)}\n"
    assert verify_receipt(await answer.read(), keys=[public_key(KEY)]).is_sound


async def test_the_receipt_of_an_answer_given_again_names_who_judged_it_then(place: Place):
    """The job that repeats it asked no judge; the trace of the first one says who did (N-22)."""
    jobs, sources, traces = SqlJobStore(place.tables), SqlSourceStore(place.tables), MemoryTraceLog()
    await jobs.finish(JOB, replace(samples.RESULT, cached_at=iso_utc(samples.NOON), cached_job="job_first"))
    await traces.append("job_first", [TraceEntry("model", "check", samples.NOON, detail="judge-7b")])

    receipt = await Receipts(jobs, sources, traces, "https://gorkd.test", (KEY,)).give(JOB.id)

    assert open_receipt(receipt).receipt.judges == ("judge-7b",)


async def test_the_page_offers_the_receipt(client: ConformingClient):
    assert f'href="{PAGE}/receipt.zip"' in await (await client.get(PAGE)).text()


async def test_a_job_that_is_not_there_has_no_receipt(client: ConformingClient):
    assert (await client.get("/jobs/job_none/receipt.zip")).status == 404


async def test_an_admin_makes_a_test_of_a_bad_answer(place: Place, client: ConformingClient):
    """With what a good answer says; and takes it back again."""
    place.vote(is_good=False)
    before = await (await client.get(PAGE, headers=bearer("operator"))).text()

    await client.post(f"{PAGE}/test", data={"must": " It says\n49. "}, headers=bearer("operator"))
    made = at_once(place.evaluations.cases("local"))
    after = await (await client.get(PAGE, headers=bearer("here"))).text()
    await client.post(f"{PAGE}/test", data={"drop": "1"}, headers=bearer("here"))

    assert "Make this a test" in before
    assert "REASON" not in before
    assert [(case.job_id, case.must) for case in made] == [(JOB.id, "It says 49.")]
    assert "This question is a test." in after
    assert at_once(place.evaluations.cases("")) == []


async def test_nobody_else_is_offered_or_allowed_it(place: Place, client: ConformingClient):
    """Neither who only reads, nor who looks after another workspace, nor another site's form."""
    place.vote(is_good=False)
    elsewhere = {**bearer("operator"), "Sec-Fetch-Site": "cross-site"}

    pages = [await (await client.get(PAGE, headers=headers)).text() for headers in (AFAR, bearer("own=1"))]
    refused = [
        (await client.post(f"{PAGE}/test", data={}, headers=headers)).status
        for headers in (AFAR, bearer("own=1"), elsewhere)
    ]

    assert ["Make this a test" in page for page in pages] == [False, False]
    assert refused == [401, 401, 401]
    assert at_once(place.evaluations.cases("")) == []


async def test_an_answer_without_bad_votes_is_offered_none(place: Place, client: ConformingClient):
    place.vote(is_good=True)

    assert "Make this a test" not in await (await client.get(PAGE, headers=bearer("operator"))).text()


class Judged(SqlEvaluations):
    """With enough votes to say something of High, and too few of Low."""

    async def judged(self, tenant: str) -> list[JudgedAnswers]:
        return [JudgedAnswers(Confidence.HIGH, "votes", 18, 20), JudgedAnswers(Confidence.LOW, "votes", 1, 3)]


async def test_admin_draws_how_often_each_confidence_was_right(place: Place):
    place.evaluations = Judged(place.tables)

    async with place.open() as client:
        page = await (await client.get("/admin", headers=bearer("operator"))).text()

    assert "90 % of 20 right (95 %: 70 % to 97 %)" in words(page)
    assert "too few to say: 3 of at least 10" in words(page)
    assert page.count('class="bar-high" x="') == 2
    assert 'class="bar-low" x="' not in page


async def test_with_nothing_judged_nothing_is_drawn(client: ConformingClient):
    page = await (await client.get("/admin", headers=bearer("operator"))).text()

    assert "How often answers were right" not in page
