"""Results of several modes as one: sources numbered once, texts below each other, claims under ids of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.evidence.citations import Marker, rewrite_markers
from core.findings.viewing import read_view, renumbered_view
from core.model.answer import Claim, Confidence, Conflict, Evidence, JobResult, ResearchAnswer, SynthesisMetadata
from core.model.events import Json, rows
from core.model.source import Source
from core.text.markers import Grammar
from core.text.urls import canonical_url

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
        conflict,
        positions=tuple(replace(side, source_id=_id(side.source_id, numbers)) for side in conflict.positions),
    )


_WEAKEST_FIRST = (Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH)


def _merged_answer(answers: Sequence[tuple[MergedPart, ResearchAnswer]], failures: Sequence[str]) -> ResearchAnswer:
    spent = [answer.metadata for _, answer in answers]
    costs = [one.cost_usd for one in spent if one.model_calls]
    return ResearchAnswer(
        summary="\n\n".join(_headed(part, answer) for part, answer in answers if answer.summary),
        detail="\n\n".join(answer.detail for _, answer in answers if answer.detail),
        confidence=min((answer.confidence for _, answer in answers), key=_WEAKEST_FIRST.index),
        confidence_reasons=tuple(_reasons(answers)),
        citations=tuple(citation for _, answer in answers for citation in answer.citations),
        claims=tuple(_renamed([claim for _, answer in answers for claim in answer.claims])),
        limitations=(*failures, *_limitations(answers)),
        conflicts=tuple(dict.fromkeys(conflict for _, answer in answers for conflict in answer.conflicts)),
        removed=tuple(removed for _, answer in answers for removed in answer.removed),
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


def _headed(part: MergedPart, answer: ResearchAnswer) -> str:
    """Under its mode's title; modes of one function have put their own."""
    return f"{part.title}:\n\n{answer.summary}" if len(part.modes) == 1 else answer.summary


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
    return [
        line if len(parts) == len(answers) or _is_titled(line, parts[0]) else f"{parts[0].title}: {line}"
        for line, parts in by_line.items()
    ]


def _is_titled(line: str, part: MergedPart) -> bool:
    """Modes of one function have put their own titles."""
    return any(line.startswith(f"{title}: ") for title in part.title.split(", "))


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
