"""Several modes at one question: they run at once, each with its line of progress, and give one merged result.

All of it is one durable step, since steps of modes that run at once would have no order to be journalled in. What a
part has paid for is kept with the job, and a part that is done is kept whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from core.llm.memo import RememberingModel, remembered
from core.model.answer import JobResult
from core.model.errors import GorkdError, StaleAttempt, StoreError, TookTooLong
from core.model.events import EventType, Json
from core.model.job import JobStatus, ResearchJob, furthest_behind
from core.model.ports import SourceStore
from core.model.source import Source
from core.modes.merging import MergedPart, merge, own_results
from core.modes.mode import Mode
from core.pipeline.deps import Deps
from core.pipeline.work import Deadline, Work
from core.presentation.progress import Progress
from core.stages.gathering import Gathering

T = TypeVar("T")
_PASSED_ON = ("queries", "providers", "card")  # of what a mode tells with its status
MERGE_RESERVE_S = 5.0


def together(modes: Sequence[Mode]) -> Mode:
    """Modes as one; those of the same function make one part, in the place of the first of them."""
    groups: dict[Callable[[Work], Awaitable[JobResult]], list[Mode]] = {}
    for mode in modes:
        groups.setdefault(mode.run, []).append(mode)
    if len(groups) == 1:
        return modes[0]
    title = " and ".join(mode.title for mode in modes)
    by_name = {mode.name: mode for mode in modes}

    async def run(work: Work) -> JobResult:
        return await work.steps.run("several", lambda: _run_all(work, list(groups.values())), JobResult)

    return Mode(
        name="+".join(mode.name for mode in modes),
        title=title,
        description=title,
        deadline_s=max(mode.deadline_s for mode in modes) + MERGE_RESERVE_S,
        run=run,
        is_steerable=any(mode.is_steerable for mode in modes),
        files=lambda result: tuple(file for name, own in own_results(result) for file in by_name[name].files(own)),
    )


async def _run_all(work: Work, groups: Sequence[Sequence[Mode]]) -> JobResult:
    """Raises the error of the first part when no part has a result."""
    lines = _Lines(work.progress, groups)
    outcomes = await asyncio.gather(
        *(_part(work, group, lines, at) for at, group in enumerate(groups)), return_exceptions=True
    )
    parts: list[MergedPart] = []
    errors: list[GorkdError] = []
    failures: list[str] = []
    for group, outcome in zip(groups, outcomes, strict=True):
        if isinstance(outcome, MergedPart):
            parts.append(outcome)
        elif isinstance(outcome, GorkdError) and not isinstance(outcome, StaleAttempt | StoreError):
            errors.append(outcome)
            failures.append(f"{_title(group)}: {outcome.user_message}")
        else:
            raise outcome
    if not parts:
        raise errors[0]
    result, sources = await asyncio.to_thread(merge, parts, failures=failures)
    await work.deps.sources.put(work.job, sources)
    return result


async def _part(work: Work, group: Sequence[Mode], lines: _Lines, at: int) -> MergedPart:
    names = tuple(mode.name for mode in group)

    async def pay() -> MergedPart:
        job = replace(work.job, request=replace(work.job.request, modes=names))
        own = _OwnSources(job.id, work.deps.sources)
        deps = _deps_of(work, names[0], own)
        gathering = Gathering(job, deps)
        own_s = group[0].deadline_s * deps.settings.patience
        deadline = Deadline.after(min(own_s, work.deadline.remaining(reserve_s=MERGE_RESERVE_S)))
        progress = _PartProgress(job, deps, work.progress, lines, at)
        try:
            async with asyncio.timeout_at(deadline.ends_at + MERGE_RESERVE_S / 2):
                result = await group[0].run(Work(job, deps, _Inside(), progress, gathering, deadline))
        except GorkdError:
            await progress.take_back()
            raise
        except TimeoutError as exc:
            await progress.take_back()
            raise TookTooLong(", ".join(names)) from exc
        finally:
            await gathering.aclose()
        return MergedPart(names, _title(group), result, tuple(own.found))

    part = await remembered(work.deps.memo, work.job.id, f"part:{'+'.join(names)}", MergedPart, pay)
    await lines.say(at, "done", JobStatus.SYNTHESIZING, {})
    return part


def _deps_of(work: Work, name: str, sources: SourceStore) -> Deps:
    model = work.deps.models.get(name)
    if model is None:
        return replace(work.deps, sources=sources)
    return replace(work.deps, sources=sources, model=RememberingModel(model, work.deps.memo, work.job.id))


def _title(group: Sequence[Mode]) -> str:
    return ", ".join(mode.title for mode in group)


def _said_of(group: Sequence[Mode], what: str) -> tuple[str, ...]:
    return tuple(f"{mode.title}: {what}" for mode in group)


class _Inside:
    """Steps within a step: the journal knows the outer one alone."""

    async def run(self, name: str, step: Callable[[], Awaitable[T]], returns: type[T]) -> T:
        return await step()


class _OwnSources:
    """A part's sources under its own numbers; those of earlier jobs are where they were."""

    def __init__(self, job_id: str, store: SourceStore) -> None:
        self.found: list[Source] = []
        self._job_id, self._store = job_id, store

    async def put(self, job: ResearchJob, sources: Sequence[Source]) -> None:
        self.found = list(sources)

    async def sources(self, job_id: str) -> list[Source]:
        return list(self.found) if job_id == self._job_id else await self._store.sources(job_id)


@dataclass
class _Line:
    said: tuple[str, ...]
    status: JobStatus = JobStatus.PLANNING


class _Lines:
    """What each mode is doing; the job's status is that of the part that is furthest behind."""

    def __init__(self, progress: Progress, groups: Sequence[Sequence[Mode]]) -> None:
        self._progress = progress
        self._groups = groups
        self._lines = [_Line(_said_of(group, "starting")) for group in groups]

    async def say(self, at: int, message: str, status: JobStatus, told: Mapping[str, Json]) -> None:
        """A part that has lines of its own, one a mode, tells these under `parts`."""
        own = told.get("parts")
        lines = tuple(str(line) for line in own) if isinstance(own, list) else _said_of(self._groups[at], message)
        self._lines[at] = _Line(lines, status)
        stage = furthest_behind(line.status for line in self._lines)
        parts: list[Json] = [said for line in self._lines for said in line.said]
        data: dict[str, Json] = {name: told[name] for name in _PASSED_ON if name in told}
        line = f"{_title(self._groups[at])}: {message}" if not isinstance(own, list) else message
        await self._progress.status(stage, message=line, data={**data, "line": line, "parts": parts})


class _PartProgress(Progress):
    """A part's voice: a line of the whole.

    The first part's sources keep their numbers in the whole, so its sentences are told as they are written; those of
    the others when all have their numbers.
    """

    def __init__(self, job: ResearchJob, deps: Deps, whole: Progress, lines: _Lines, at: int) -> None:
        super().__init__(job, deps)
        self._whole, self._lines, self._at = whole, lines, at

    async def source(self, source: Source) -> None:
        await self._whole.source(replace(source, id="src_0"))

    async def emit(self, type: EventType, data: Mapping[str, Json]) -> None:
        """Not what is shown while a part is planned: an earlier answer, which needs its own mark."""
        if type == "answer" and self._at == 0 and self.job.status is JobStatus.SYNTHESIZING:
            await self._whole.emit(type, data)

    async def take_back(self) -> None:
        if self._at == 0:
            await self._whole.take_back()

    async def _tell(
        self, status: JobStatus, message: str, data: Mapping[str, Json], *, share: float | None = None
    ) -> None:
        await self._lines.say(self._at, message, status, data)

    async def _keep_job(self) -> None:
        """The whole is kept, and has other modes than its part."""
