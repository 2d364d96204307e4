"""Several modes at one question: they run at once, each with its line of progress, and give one merged result.

All of it is one durable step, since steps of modes that run at once would have no order to be journalled in. What a
part has paid for is kept with the job, and a part that is done is kept whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.evidence.citations import Grammar, Marker, rewrite_markers
from core.findings.viewing import read_view, renumbered_view
from core.llm.ask_model import RememberingModel, remembered
from core.model.answer import Claim, Confidence, Conflict, Evidence, JobResult, ResearchAnswer, SynthesisMetadata
from core.model.errors import GorkdError, StaleAttempt, StoreError, TookTooLong
from core.model.job import EventType, JobStatus, Json, ResearchJob, furthest_behind, rows
from core.model.ports import SourceStore
from core.model.source import Source
from core.modes.mode import Mode
from core.pipeline.deps import Deps
from core.pipeline.work import Deadline, DirectSteps, Progress, Work
from core.stages.gathering import Gathering
from core.text.urls import canonical_url

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
        deps, model = replace(work.deps, sources=own), work.deps.models.get(names[0])
        if model is not None:
            deps = replace(deps, model=RememberingModel(model, deps.memo, job.id))
        gathering = Gathering(job, deps)
        own_s = group[0].deadline_s * deps.settings.patience
        deadline = Deadline.after(min(own_s, work.deadline.remaining(reserve_s=MERGE_RESERVE_S)))
        progress = _PartProgress(job, deps, work.progress, lines, at)
        try:
            async with asyncio.timeout_at(deadline.ends_at + MERGE_RESERVE_S / 2):
                result = await group[0].run(Work(job, deps, DirectSteps(), progress, gathering, deadline))
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


def _title(group: Sequence[Mode]) -> str:
    return ", ".join(mode.title for mode in group)


def _said_of(group: Sequence[Mode], what: str) -> tuple[str, ...]:
    return tuple(f"{mode.title}: {what}" for mode in group)


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
        self._shows_earlier = False

    async def source(self, source: Source) -> None:
        await self._whole.source(replace(source, id="src_0"))

    async def emit(self, type: EventType, data: Mapping[str, Json]) -> None:
        """Not an earlier answer that is shown while a part is planned: it needs its own mark."""
        if type == "answer" and self._at == 0 and not self._shows_earlier:
            await self._whole.emit(type, data)

    async def take_back(self) -> None:
        if self._at == 0:
            await self._whole.take_back()

    async def _tell(
        self, status: JobStatus, message: str, data: Mapping[str, Json], *, share: float | None = None
    ) -> None:
        if "earlier" in data:
            self._shows_earlier = data["earlier"] is not None
        await self._lines.say(self._at, message, status, data)

    async def _keep_job(self) -> None:
        """The whole is kept, and has other modes than its part."""


# Results of several modes as one: sources numbered once, texts below each other, claims under ids of the whole


Numbers = Mapping[int, int]  # of a part's sources, to those of the whole


@dataclass(frozen=True)
class MergedPart:
    """What one mode, or a few of one function, found. `modes` are their names, `title` their words for people."""

    modes: tuple[str, ...]
    title: str
    result: JobResult
    sources: tuple[Source, ...] = ()


def merge(parts: Sequence[MergedPart], *, failures: Sequence[str] = ()) -> tuple[JobResult, list[Source]]:
    """All `parts` in their order, of which there is at least one; `failures` are sentences on those that are missing.

    The confidence is the lowest of the parts: one word stands for all.
    """
    sources, numbers = _merged_sources(parts)
    moved = [_moved(part, mapping) for part, mapping in zip(parts, numbers, strict=True)]
    answers = [(part, part.result.answer) for part in moved if part.result.answer]
    results = [part.result for part in moved]
    answer = _merged_answer(answers, failures) if answers else None
    return (
        JobResult(
            answer=answer,
            source_ids=tuple(source.id for source in sources),
            sources_considered=sum(result.sources_considered for result in results),
            queries=tuple(dict.fromkeys(query for result in results for query in result.queries)),
            providers=tuple(dict.fromkeys(provider for result in results for provider in result.providers)),
            question_type=next((result.question_type for result in results if result.question_type), None),
            details=_merged_details(moved),
            understood=next((result.understood for result in results if result.understood), ""),
        ),
        sources,
    )


def _merged_sources(parts: Sequence[MergedPart]) -> tuple[list[Source], list[Numbers]]:
    """The same text of the same place once: offsets of evidence point into it."""
    merged: dict[tuple[str, str], Source] = {}
    numbers: list[Numbers] = []
    for part in parts:
        mapping: dict[int, int] = {}
        for source in part.sources:
            key = (canonical_url(source.url), source.content_hash)
            kept = merged.setdefault(key, replace(source, id=f"src_{len(merged) + 1}"))
            mapping[source.number] = kept.number
        numbers.append(mapping)
    return list(merged.values()), numbers


def _moved(part: MergedPart, numbers: Numbers) -> MergedPart:
    """With its sources under the numbers of the whole."""
    answer = part.result.answer
    details = dict(part.result.details)
    if read_view(part.result):
        details |= renumbered_view(details, lambda text: renumbered(text, numbers), lambda name: _id(name, numbers))
    if answer is None:
        return replace(part, result=replace(part.result, details=details))
    moved = replace(
        answer,
        summary=renumbered(answer.summary, numbers),
        detail=renumbered(answer.detail, numbers),
        claims=tuple(_moved_claim(claim, numbers) for claim in answer.claims),
        citations=tuple(replace(one, source_id=_id(one.source_id, numbers)) for one in answer.citations),
        conflicts=tuple(_moved_conflict(conflict, numbers) for conflict in answer.conflicts),
    )
    return replace(part, result=replace(part.result, answer=moved, details=details))


def renumbered(text: str, numbers: Numbers) -> str:
    """`text` with other numbers in its citation markers; what stands in code is none."""

    def written(group: Sequence[Marker]) -> str | None:
        new = {numbers.get(marker.number or 0, 0) for marker in group}
        return None if 0 in new else f"[{', '.join(map(str, sorted(new)))}]{group[0].mark}"

    return rewrite_markers(text, Grammar.NUMBER, written)


def _id(source_id: str, numbers: Numbers) -> str:
    number = source_id.removeprefix("src_")
    return f"src_{numbers[int(number)]}" if number.isdecimal() and int(number) in numbers else source_id


def _moved_claim(claim: Claim, numbers: Numbers) -> Claim:
    evidence: list[Evidence] = [replace(one, source_id=_id(one.source_id, numbers)) for one in claim.evidence]
    return replace(claim, evidence=tuple(evidence))


def _moved_conflict(conflict: Conflict, numbers: Numbers) -> Conflict:
    return replace(
        conflict, positions=tuple(replace(side, source_id=_id(side.source_id, numbers)) for side in conflict.positions)
    )


_WEAKEST_FIRST = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def _merged_answer(answers: Sequence[tuple[MergedPart, ResearchAnswer]], failures: Sequence[str]) -> ResearchAnswer:
    spent = [answer.metadata for _, answer in answers]
    costs = [one.cost_usd for one in spent if one.model_calls]
    return ResearchAnswer(
        summary="\n\n".join(
            f"{part.title}:\n\n{answer.summary}" if len(part.modes) == 1 else answer.summary  # they have put their own
            for part, answer in answers
            if answer.summary
        ),
        detail="\n\n".join(answer.detail for _, answer in answers if answer.detail),
        confidence=min((answer.confidence for _, answer in answers), key=_WEAKEST_FIRST.index),
        confidence_reasons=tuple(_reasons(answers)),
        citations=tuple(citation for _, answer in answers for citation in answer.citations),
        claims=tuple(_renamed([claim for _, answer in answers for claim in answer.claims])),
        limitations=(*failures, *_limitations(answers)),
        conflicts=tuple(dict.fromkeys(conflict for _, answer in answers for conflict in answer.conflicts)),
        removed=tuple(removed for _, answer in answers for removed in answer.removed),
        follow_ups=next((answer.follow_ups for _, answer in answers if answer.follow_ups), ()),
        notice=next((answer.notice for _, answer in answers if answer.notice), ""),
        stopped_because=next((answer.stopped_because for _, answer in answers if answer.stopped_because), ""),
        metadata=SynthesisMetadata(
            model=next((one.model for one in spent if one.model), ""),
            tokens_used=sum(one.tokens_used for one in spent),
            synthesis_duration_s=max(one.synthesis_duration_s for one in spent),
            prompt_tokens=sum(one.prompt_tokens for one in spent),
            completion_tokens=sum(one.completion_tokens for one in spent),
            model_calls=sum(one.model_calls for one in spent),
            cost_usd=None if not costs or None in costs else sum(cost or 0.0 for cost in costs),
        ),
    )


def _reasons(answers: Sequence[tuple[MergedPart, ResearchAnswer]]) -> list[str]:
    """What is true of all parts, then each with what is true of it alone."""
    shared = [
        line for line in answers[0][1].confidence_reasons if all(line in a.confidence_reasons for _, a in answers)
    ]
    own = [(part.title, [line for line in answer.confidence_reasons if line not in shared]) for part, answer in answers]
    return [*shared, *(f"{title}: {', '.join(lines)}" for title, lines in own if lines)]


def _limitations(answers: Sequence[tuple[MergedPart, ResearchAnswer]]) -> list[str]:
    """What all parts say once, else with whose it is."""
    by_line: dict[str, list[MergedPart]] = {}
    for part, answer in answers:
        for line in answer.limitations:
            by_line.setdefault(line, []).append(part)
    told: list[str] = []
    for line, parts in by_line.items():
        title = parts[0].title
        own = tuple(f"{one}: " for one in title.split(", "))  # modes of one function have put their own titles
        told.append(line if len(parts) == len(answers) or line.startswith(own) else f"{title}: {line}")
    return told


def _renamed(claims: Sequence[Claim]) -> list[Claim]:
    """`summary-0`, `summary-1`, …, `detail-0`, … over all parts."""
    counts: dict[str, int] = {}
    named: list[Claim] = []
    for claim in claims:
        section = claim.id.partition("-")[0]
        named.append(replace(claim, id=f"{section}-{counts.get(section, 0)}"))
        counts[section] = counts.get(section, 0) + 1
    return named


def _merged_details(parts: Sequence[MergedPart]) -> dict[str, Json]:
    """Each mode's own view under `parts`, and S004's findings where they are for a job of these alone."""
    listed: list[Json] = []
    found: dict[str, Json] = {}
    for part in parts:
        answer = part.result.answer
        row: dict[str, Json] = {
            "modes": [*part.modes],
            "title": part.title,
            "summary": answer.summary if answer else "",
            "detail": answer.detail if answer else "",
        }
        if not found and read_view(part.result):
            found = dict(part.result.details)
            row["is_findings"] = True
        else:
            row["result"] = dict(part.result.details) or None
        listed.append(row)
    return {"parts": listed, **found}


def own_results(result: JobResult) -> list[tuple[str, JobResult]]:
    """A merged result once for each part of it, with that part's own view as its details, by its first mode's name."""
    found = {name: value for name, value in result.details.items() if name != "parts"}
    own: list[tuple[str, JobResult]] = []
    for part in rows(result.details.get("parts")):
        names = part.get("modes")
        if isinstance(names, list):
            view = found if part.get("is_findings") else part.get("result")
            own.append((str(names[0]), replace(result, details=view if isinstance(view, dict) else {})))
    return own
