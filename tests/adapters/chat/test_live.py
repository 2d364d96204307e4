"""The message that lives: whatever happens, it ends in an edit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import pytest

from adapters.chat.live import answer_live
from core import wording
from core.answer import JobResult
from core.errors import InvalidQuery, QueueFull, StoreError
from core.job import ResearchJob, ResearchRequest, Scope
from core.snapshot import Snapshot
from core.source import Source
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher

REQUEST = ResearchRequest("How tall?", Scope("discord:1", "channel:2"))


class PlainVoice:
    """Payloads are words."""

    def progress(self, snapshot: Snapshot, elapsed_s: float) -> str:
        return f"progress: {snapshot.message}"

    def outcome(self, job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> str:
        return f"outcome: {job.status.value}, {len(sources)} sources"

    def refusal(self, sentence: str) -> str:
        return f"refusal: {sentence}"


@dataclass
class Message:
    """Remembers its edits; the first `broken` of them fail."""

    broken: int = 0
    edits: list[str] = field(default_factory=list)

    async def edit(self, payload: str, /) -> None:
        if self.broken:
            self.broken -= 1
            raise ConnectionError("the platform is away")
        self.edits.append(payload)


async def ask(message: Message, researcher: ScriptedResearcher, *, tick_s: float = 1.0) -> ResearchJob | None:
    clock = count(0, tick_s)
    return await answer_live(
        message, PlainVoice(), researcher, REQUEST, dedupe_key="discord:9", clock=lambda: float(next(clock))
    )


async def test_last_edit_is_the_outcome():
    """C-04: a question becomes a job, the job's end the message's last edit."""
    message, researcher = Message(), ScriptedResearcher()

    job = await ask(message, researcher)

    assert job is not None
    assert message.edits[-1] == "outcome: completed, 4 sources"
    assert "progress: Searching tavily" in message.edits
    assert researcher.requests == [REQUEST]
    assert researcher.dedupe_keys == ["discord:9"]


async def test_edits_are_throttled():
    """However fast events come, progress is shown at most every two seconds."""
    message = Message()

    await ask(message, ScriptedResearcher(), tick_s=0.001)

    assert message.edits == ["outcome: completed, 4 sources"]


@pytest.mark.parametrize(
    "error",
    [InvalidQuery("Please ask a question.", rule="empty"), QueueFull(200), StoreError("disk full")],
    ids=["invalid", "full", "store"],
)
async def test_refused_question_ends_in_its_sentence(error):
    message = Message()

    job = await ask(message, ScriptedResearcher(refusal=error))

    assert job is None
    assert message.edits == [f"refusal: {error.user_message}"]


async def test_bug_ends_in_an_apology_without_details():
    message = Message()

    await ask(message, ScriptedResearcher(refusal=KeyError("secret")))  # type: ignore[arg-type]

    assert message.edits == [f"refusal: {wording.SOMETHING_BROKE}"]


async def test_failed_job_is_an_outcome():
    message = Message()

    await ask(message, ScriptedResearcher(samples.FAILED, None))

    assert message.edits[-1] == "outcome: failed, 4 sources"


async def test_failing_progress_edit_costs_only_itself():
    message = Message(broken=2)

    job = await ask(message, ScriptedResearcher())

    assert job is not None
    assert message.edits[-1].startswith("outcome: completed")


async def test_shutdown_says_goodbye_and_passes_on():
    """Cancellation is never swallowed, and nobody is left waiting."""
    message, researcher = Message(), ScriptedResearcher(stalls=True)
    task = asyncio.create_task(ask(message, researcher))
    await researcher.stalled.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert message.edits[-1].startswith("refusal: I was restarted")
