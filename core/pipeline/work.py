"""One attempt at one job, as whatever researches it sees it: what it works with, until when, what it tells the world.

Telling never fails a job: a store that cannot be written is logged and counted, the answer still goes out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from core.evidence.citations import MARKS
from core.evidence.structure import CUT
from core.model.answer import Claim, Section, Verdict
from core.model.errors import SetupError, StaleAttempt, StoreError
from core.model.job import Event, EventType, JobStatus, Json, ResearchJob
from core.model.ports import ChatModel
from core.model.source import Source
from core.pipeline.deps import Deps
from core.presentation.wording import STATUS_MESSAGES, needs_model, queue_message
from core.stages.gathering import Gathering
from core.text.saying import say
from core.text.urls import public_address

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True)
class Deadline:
    """When a job must have ended, in the event loop's time (seconds)."""

    ends_at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(asyncio.get_running_loop().time() + seconds)

    def remaining(self, *, reserve_s: float = 0.0) -> float:
        """Seconds left, less `reserve_s` for what must still be done afterwards; never below 0."""
        return max(0.0, self.ends_at - reserve_s - asyncio.get_running_loop().time())


SILENCE_S = 75.0  # a call may take 60 s (core/model/config.py); a job whose worker is lost goes on elsewhere after 20 s
SET_A_MODEL = "Set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible endpoint, such as a local one."


class DirectSteps:
    """Runs a job's steps in order: after a crash it starts anew. A durable runner skips those that finished before."""

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        """`returns` is the frozen type a durable runner stores and restores (core/model/codec.py)."""
        return await step()


@dataclass(frozen=True)
class Work:
    """What a mode is given for one attempt at one job."""

    job: ResearchJob
    deps: Deps
    steps: DirectSteps
    progress: Progress
    gathering: Gathering
    deadline: Deadline

    def model_for(self, what: str) -> ChatModel:
        """For `what` no rule can do. Raises `SetupError` that says so where no model is configured."""
        if self.deps.model is None:
            words = f"{needs_model(what)} The mode `quick` works without one."
            raise SetupError(f"{what} without a model", user_message=words, operator_message=f"{words} {SET_A_MODEL}")
        return self.deps.model


# How far along a job is when a status begins, 0…1; shares of a typical quick answer's time.
_PROGRESS = {
    JobStatus.PENDING: 0.0,
    JobStatus.PLANNING: 0.05,
    JobStatus.SEARCHING: 0.2,
    JobStatus.FETCHING: 0.35,
    JobStatus.SYNTHESIZING: 0.5,
}


class Progress:
    """The voice of one attempt at one job. Raises only `StaleAttempt`, when a newer attempt has taken over."""

    def __init__(self, job: ResearchJob, deps: Deps) -> None:
        self.job = job
        self._deps = deps
        self._share = 0.0

    async def status(
        self,
        status: JobStatus,
        *,
        message: str = "",
        share: float | None = None,
        data: Mapping[str, Json] | None = None,
    ) -> None:
        """`share` is how far along the job is, 0…1, by default as in a quick answer. An attempt never goes back."""
        self.job = replace(self.job, status=status)
        log.info("status", extra={"status": status.value})
        await self._keep_job()
        await self._tell(status, message or say(STATUS_MESSAGES[status]), data or {}, share=share)

    async def waiting(self, ahead: int) -> None:
        """So many jobs begin before this one. The store is not told: this one may have begun by now."""
        await self._tell(JobStatus.PENDING, queue_message(ahead), {"ahead": ahead})

    async def source(self, source: Source) -> None:
        """A source that was kept; its id is null until the sources are numbered."""
        await self.emit(
            "source",
            {
                "id": source.id if source.id != "src_0" else None,
                "url": public_address(source.url),
                "title": source.title,
                "domain": source.metadata.domain,
                "provider": source.metadata.provider,
            },
        )

    async def sentence(self, claim: Claim, shown: str | None, *, before: str = " ") -> None:
        """One sentence of the answer with its markers; None takes it back.

        `before` is what stands before it, in Markdown: a blank or line breaks, headings, `[…]` where others were cut.
        """
        section: Section = "summary" if claim.id.startswith("summary") else "detail"
        mark = MARKS.get(claim.verdict, "") if claim.evidence else ""
        told: dict[str, Json] = {
            "section": section, "id": claim.id, "text": shown, "verdict": claim.verdict.value, "mark": mark,
            "before": before if shown is not None else "",
        }  # fmt: skip
        judged = [one for one in claim.evidence if one.verdict is not Verdict.UNCHECKED]
        if others := [one for one in judged if MARKS[one.verdict] != mark]:  # what it cites that has another one
            told["marks"] = {one.source_id.removeprefix("src_"): MARKS[one.verdict] for one in others}
        await self.emit("answer", told)

    async def retract(self, claim_id: str) -> None:
        await self.sentence(Claim(claim_id, "", Verdict.UNSUPPORTED), None)

    async def take_back(self) -> None:
        """Retract every sentence that earlier attempts have shown and not retracted."""
        for claim_id in _standing(await self._told_sentences()):
            await self.retract(claim_id)

    async def shown_before(self) -> dict[Section, str]:
        """What stood there of the latest attempt before this one that had shown anything; {} where none had."""
        told = await self._told_sentences()
        for attempt in range(self.job.attempt - 1, 0, -1):
            texts: dict[Section, str] = {}
            for data in _standing([event for event in told if event.attempt == attempt]).values():
                section: Section = "summary" if data["section"] == "summary" else "detail"
                texts[section] = f"{texts.get(section, '')}{str(data['before']).replace(CUT, '')}{data['text']}"
            if texts:
                return texts
        return {}

    async def _told_sentences(self) -> list[Event]:
        with self._anyhow():
            return [event for event in await self._deps.events.read(self.job.id) if event.type == "answer"]
        return []

    async def emit(self, type: EventType, data: Mapping[str, Json]) -> None:
        """`data` is as core/model/job.py says for the type."""
        with self._anyhow():
            await self._deps.events.append(self.job.id, self.job.attempt, type, data)

    async def _keep_job(self) -> None:
        with self._anyhow():
            await self._deps.jobs.save(self.job)

    async def _tell(
        self, status: JobStatus, message: str, data: Mapping[str, Json], *, share: float | None = None
    ) -> None:
        self._share = max(self._share, _PROGRESS[status] if share is None else share)
        told: dict[str, Json] = {"stage": status.value, "message": message, "progress": self._share}
        await self.emit("status", {**told, "data": dict(data)})

    @contextmanager
    def _anyhow(self) -> Iterator[None]:
        """A store that fails is counted and left at that, unless it says that a newer attempt has taken over."""
        try:
            yield
        except StaleAttempt:
            raise
        except StoreError as exc:
            self._deps.count_error("deliver", exc)


def _standing(told: Sequence[Event]) -> dict[str, Mapping[str, Json]]:
    """By its id what was told last of each sentence, without those that were taken back."""
    last = {str(event.data["id"]): event.data for event in told}
    return {claim_id: data for claim_id, data in last.items() if data["text"] is not None}
