"""The event stream over a real socket: nothing lost and nothing twice, however often the line breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.durable.queue import InProcessQueue
from adapters.records.jobs import SqlEventLog
from adapters.web.prose import Drawing, drawn
from core.model.job import Event, EventType, JobStatus, Json
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.presentation.snapshot import Snapshot
from core.stages.deliver import deliver_failure
from tests.adapters.web.conformity import assert_conforms, conforming
from tests.adapters.web.serving import web_app
from tests.adapters.web.sse import Received, parse_events
from tests.fakes import make_deps, make_job
from tests.golden import samples

JOB = "job_1"
TOLD: list[tuple[EventType, dict[str, Json]]] = [
    ("status", {"stage": "planning", "message": "Planning", "progress": 0.1, "data": {}}),
    ("source", {"id": "src_1", "url": "https://a.test", "title": "A\nB", "domain": "a.test", "provider": "exa"}),
    ("answer", {"section": "summary", "id": "summary-0", "text": "Yes [1].", "verdict": "supported", "mark": "✓"}),
    ("answer", {"section": "summary", "id": "summary-0", "text": None, "verdict": "unsupported", "mark": ""}),
    ("status", {"stage": "synthesizing", "message": "Writing", "progress": 0.6, "data": {"retry": True}}),
]


@dataclass(frozen=True)
class Running:
    """Jobs that tell what they are made to tell, served over HTTP."""

    base: str
    session: aiohttp.ClientSession
    server: TestServer
    deps: Deps

    async def tell(self, type: EventType, data: Mapping[str, Json], *, job_id: str = JOB) -> None:
        await self.deps.events.append(job_id, 1, type, data)

    async def end(self, *, job_id: str = JOB) -> None:
        await deliver_failure(await self.deps.jobs.get(job_id), self.deps, JobStatus.CANCELLED, error=None)

    def follow(self, *, after: str = "", query: str = "", job_id: str = JOB) -> Any:
        headers = {"Last-Event-ID": after} if after else {}
        return self.session.get(f"{self.base}/v1/jobs/{job_id}/stream{query}", headers=headers)

    async def read(self, *, after: str = "", query: str = "", events: int = 1000) -> list[Received]:
        """What a reader gets until the stream ends, or until it hangs up after so many events."""
        text = ""
        async with self.follow(after=after, query=query) as response:
            assert response.status == 200
            async for chunk in response.content.iter_any():
                text += chunk.decode()
                if len(parse_events(text)) >= events:
                    break
        return parse_events(text)[:events]


@asynccontextmanager
async def serving() -> AsyncIterator[Running]:
    deps = make_deps()
    await deps.jobs.save(make_job("How tall?", id=JOB))
    queue = InProcessQueue(_nothing, concurrency=1, limit=1, on_cancelled=_nothing)
    app = web_app(Researcher(deps, queue))  # type: ignore[arg-type]
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=20)
    async with (
        TestServer(app, shutdown_timeout=5) as server,
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
    ):
        yield Running(str(server.make_url("")).rstrip("/"), session, server, deps)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with serving() as opened:
        yield opened


async def _nothing(_: str) -> None:
    pass


async def test_every_event_has_an_id_and_is_as_described(running: Running):
    """S003-22, G-01: ids count up, each kind of data is described, the last is the whole job, then it ends.

    A reader that cannot set headers says in the address what it has seen.
    """
    for type_, data in TOLD:
        await running.tell(type_, data)
    await running.end()

    events = await running.read()
    rest = await running.read(query=f"?after={len(TOLD)}")

    assert [event.id for event in events] == [str(number) for number in range(1, len(TOLD) + 2)]
    assert [(event.type, event.data) for event in events[:-1]] == TOLD
    assert (events[-1].type, events[-1].data["status"]) == ("complete", "cancelled")
    for event in events:
        schema = {"status": "StatusEvent", "source": "SourceEvent", "answer": "AnswerEvent", "complete": "Job"}
        assert_conforms(event.data, f"#/components/schemas/{schema[event.type]}")
    assert [event.type for event in rest] == ["complete"]


async def test_nothing_may_hold_the_stream_back_and_who_has_seen_it_all_is_told_to_stop(running: Running):
    """No cache, no buffering and no compression in between; 204 is how the standard ends a browser's reconnecting."""
    await running.end()

    async with running.follow() as response, running.follow(after="1") as again:
        headers = response.headers
        assert again.status == 204

    assert headers["Content-Type"].startswith("text/event-stream")
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["Cache-Control"] == "no-store, no-transform"


@pytest.mark.parametrize("cut", range(1, len(TOLD) + 1))
async def test_a_reader_that_is_cut_off_misses_nothing(running: Running, cut: int):
    """After any event: what comes meanwhile is replayed on return, and nothing comes twice."""
    for type_, data in TOLD[:cut]:
        await running.tell(type_, data)
    seen = await running.read(events=cut)
    for type_, data in TOLD[cut:]:
        await running.tell(type_, data)

    back = asyncio.create_task(running.read(after=seen[-1].id))
    await running.end()
    seen += await back

    assert [event.id for event in seen] == [str(number) for number in range(1, len(TOLD) + 2)]
    assert [event.data for event in seen[:-1]] == [data for _, data in TOLD]


@pytest.mark.parametrize("how", ["address", "header"])
async def test_who_comes_back_is_drawn_a_section_with_what_stood_there(running: Running, how: str):
    """What was seen before is not sent again, and yet is part of the section."""
    for number, text in enumerate(["It is 49 m tall [1].", "It stands on a rock [2]."]):
        said: dict[str, Json] = {"section": "summary", "id": f"summary-{number}", "text": text, "mark": "✓"}
        await running.tell("answer", said)

    after, query = ("", "?drawn=1&after=1") if how == "address" else ("1", "?drawn=1")
    [event] = await running.read(after=after, query=query, events=1)

    assert event.id == "2"
    assert event.data["kept"] == 0
    assert "It is 49\u00a0m tall" in "".join(event.data["drawn"])
    assert "It stands on a rock" in "".join(event.data["drawn"])


async def test_a_drawn_section_tells_no_more_of_a_file_than_its_sentence(running: Running):
    said: dict[str, Json] = {"section": "summary", "id": "summary-0", "text": "file:///srv/ann/notes.md", "mark": ""}
    await running.tell("answer", said)

    [event] = await running.read(query="?drawn=1", events=1)

    assert "notes.md" in "".join(event.data["drawn"])
    assert "ann" not in event.data["text"] + "".join(event.data["drawn"])


SIGNS = [
    "a", "b c", " ", "\n", "\n\n", "# ", "- ", "1. ", "2. ", "    ", "> ", "```", "---", "|", "| a |\n|---|\n", "*",
    "**", "`", "~~", "[1]", "[…]", "<p>", "&amp;", "\\", "\x85", "\u2029", "é😀",
]  # fmt: skip
MARKDOWN = st.lists(st.sampled_from(SIGNS), max_size=8).map("".join)
SENTENCES = st.tuples(st.integers(0, 12), st.none() | MARKDOWN, st.sampled_from(["", "✓", "◐"]), MARKDOWN)


@given(st.lists(SENTENCES, max_size=16))
@example([(number, "word\n" * 700, "", "\n\n") for number in (0, 1, 2, 0)])
def test_what_a_reader_puts_together_is_the_section_as_it_will_stand(told: list[tuple[int, str | None, str, str]]):
    """Whatever is said, marked anew or taken back, and wherever: blocks that are not sent again are as they were."""
    snapshot, drawing, blocks = Snapshot(), Drawing(), list[str]()
    for seq, (number, text, mark, before) in enumerate(told, 1):
        said: dict[str, Json] = {"section": "detail", "id": f"detail-{number}", "text": text, "mark": mark}
        snapshot = snapshot.after(Event(seq, "answer", 1, samples.NOON, {**said, "before": before}))

        kept, new = drawing.after(snapshot, "detail")

        assert kept <= len(blocks)
        blocks[kept:] = new
        assert "".join(blocks) == drawn(snapshot, "detail")


async def test_a_long_answer_is_sent_about_once_however_often_a_sentence_comes(running: Running):
    """Each of its 60 paragraphs comes with those beside it that it may change, not with all that stand above."""
    for number in range(120):
        said: dict[str, Json] = {
            "section": "detail",
            "id": f"detail-{number}",
            "text": f"It is {number} m [1].",
            "mark": "✓",
        }
        await running.tell("answer", {**said, "before": " " if number % 2 else "\n\n"})

    events = await running.read(query="?drawn=1", events=120)

    blocks = list[str]()
    for event in events:
        blocks[event.data["kept"] :] = event.data["drawn"]
    assert len(blocks) == 60
    assert "It is 119\u00a0m" in blocks[-1]
    assert max(len(event.data["drawn"]) for event in events) == 3


@pytest.mark.parametrize("after", ["-1", "x", "9" * 30, "1.5", "²"])
async def test_an_odd_last_event_starts_from_the_first(running: Running, after: str):
    """Better twice than never."""
    await running.end()

    assert [event.id for event in await running.read(query=f"?after={after}")] == ["1"]


async def test_stopping_ends_streams_in_good_order(running: Running):
    """A stream that is open when the server stops ends at once, and its reader knows where to go on."""
    await running.tell(*TOLD[0])
    async with running.follow() as response:
        text = (await response.content.readuntil(b"\r\n\r\n")).decode()

        await asyncio.wait_for(running.server.close(), 4)

        text += (await response.content.read()).decode()
    assert [event.id for event in parse_events(text)] == ["1"]


async def test_a_reader_that_leaves_is_let_go(running: Running):
    """Nobody is followed for: the log knows of no reader once the line is closed and the next event comes."""
    async with running.follow() as response:
        await running.tell(*TOLD[0])
        await response.content.readuntil(b"\r\n\r\n")
        response.close()

    events = running.deps.events
    assert isinstance(events, SqlEventLog)
    async with asyncio.timeout(10):
        while events.followers():
            await running.tell(*TOLD[0])
            await asyncio.sleep(0)


FOLLOWERS, JOBS = 100, 10


async def test_many_readers_of_many_jobs_lose_nothing():
    """A small version of the load test: each follower gets each event of its job once, in order."""
    async with serving() as running:
        for number in range(JOBS):
            await running.deps.jobs.save(make_job("How tall?", id=f"job_{number}"))

        async def follow(number: int) -> list[str]:
            async with running.follow(job_id=f"job_{number % JOBS}") as response:
                return [event.id for event in parse_events(await response.text())]

        following = [asyncio.create_task(follow(number)) for number in range(FOLLOWERS)]
        for type_, data in TOLD * 4:
            for number in range(JOBS):
                await running.tell(type_, data, job_id=f"job_{number}")
        for number in range(JOBS):
            await running.end(job_id=f"job_{number}")
        received = await asyncio.gather(*following)

    assert received == [[str(number) for number in range(1, 4 * len(TOLD) + 2)]] * FOLLOWERS


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("HEAD", f"/v1/jobs/{samples.COMPLETED.id}", 200),
        ("HEAD", f"/v1/jobs/{samples.COMPLETED.id}/stream", 405),
        ("HEAD", "/v1/jobs/job_unknown", 404),
        ("POST", f"/v1/jobs/{samples.COMPLETED.id}", 405),
        ("GET", "/v2/anything", 404),
    ],
)
async def test_methods_that_are_no_reading(method: str, path: str, status: int):
    """HEAD has the headers and no body; the wrong method is told which are right."""
    async with conforming(web_app()) as client:
        answer = await client.request(method, path)

        assert answer.status == status
        assert (method != "HEAD") or await answer.read() == b""
        assert ("Allow" in answer.headers) == (status == 405)


async def test_the_access_log_has_no_signature(caplog: pytest.LogCaptureFixture):
    """Whoever reads the log could open the page with it; the path, the status and the time are enough."""
    caplog.set_level(logging.INFO, logger="adapters.web")
    async with conforming(web_app()) as client:
        await client.get(f"/v1/jobs/{samples.COMPLETED.id}?sig=12345-secret")
        await client.get("/health?sig=12345-secret")

    lines = [vars(record) for record in caplog.records if record.getMessage() == "request"]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("GET", f"/v1/jobs/{samples.COMPLETED.id}", 200)
    ]
    assert "secret" not in str([vars(record) for record in caplog.records])


@pytest.mark.slow
async def test_a_quiet_stream_is_kept_alive(running: Running):
    """G-01: after 15 seconds without an event there is a comment, which readers do not see."""
    async with running.follow() as response:
        async with asyncio.timeout(17):
            line = await response.content.readline()

    assert line.startswith(b":")
