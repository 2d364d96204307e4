"""What sources say of claims that somebody made: for, against, or nothing.

The rules decide what they can; what they leave open is asked of the model in one call, if there is one. A
contradiction by rule is a sentence on the same matter that differs in one thing (core/evidence/differences.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from core.answer import Evidence, ModelUsage, Verdict
from core.checks import CheckedClaim
from core.deps import Deps
from core.errors import ModelError
from core.evidence.differences import find_difference
from core.evidence.judge import MAX_ITEMS, CheckItem, read_verdicts, request_verdicts
from core.evidence.passages import EvidenceIndex
from core.evidence.words import read
from core.injection import instructions_in, mask
from core.llm import complete
from core.ports import ChatRequest
from core.prompts import load_prompt
from core.source import Source
from core.terms import terms
from core.verification.finding import Check
from core.verification.sources import examine

MAX_EVIDENCE = 2  # of each side of a claim; more is not read
_NEAREST = 4  # sentences of a source that may say otherwise
_MIN_PARTIAL = 0.5  # probability 0…1; without a model, less is not called evidence
_VERDICTS = ("supports", "contradicts", "neither")


@dataclass(frozen=True)
class Comparison:
    """The claims in their order, what asking cost, whether only rules judged, and how long it took in seconds."""

    checks: tuple[CheckedClaim, ...]
    usage: tuple[ModelUsage, ...] = ()
    is_by_rules: bool = True
    seconds: float = 0.0


@dataclass(frozen=True)
class _Open:
    """A passage that the rules could not judge: the claim's number, and how likely it supports it (0…1)."""

    claim: int
    evidence: Evidence
    check: Check


async def compare_claims(
    claims: Sequence[str], read_as: Sequence[str], sources: Sequence[Source], deps: Deps, *, timeout_s: float
) -> Comparison:
    """What `sources` say of each claim; `read_as` are the claims so that each can be understood alone."""
    started = perf_counter()
    checks, undecided = await asyncio.to_thread(_by_rules, claims, read_as, sources)
    asked = sorted(undecided, key=lambda entry: -entry.check.probability)[:MAX_ITEMS]
    if deps.model is not None and asked:
        request = _request(read_as, asked, timeout_s=timeout_s)
        try:
            completion = await complete(deps.model, request)
        except ModelError as exc:
            deps.count_error("check", exc)
        else:
            said = _read_answer(completion.text, asked)
            found, seconds = _bounded(_with_model(checks, asked, said)), perf_counter() - started
            return Comparison(found, (completion.usage,), is_by_rules=False, seconds=seconds)
    return Comparison(_bounded(_without_model(checks, asked)), seconds=perf_counter() - started)


def _by_rules(
    claims: Sequence[str], read_as: Sequence[str], sources: Sequence[Source]
) -> tuple[list[CheckedClaim], list[_Open]]:
    indexes = [
        EvidenceIndex(
            replace(source, content=source.trusted_content, title=mask(source.title, instructions_in(source.title)))
        )
        for source in sources
    ]
    checks: list[CheckedClaim] = []
    undecided: list[_Open] = []
    for number, (claim, meaning) in enumerate(zip(claims, read_as, strict=True)):
        supporting: list[Evidence] = []
        contradicting: list[Evidence] = []
        for index in indexes:
            evidence, check = _examine(claim, meaning, index)
            evidence = replace(evidence, page=index.source.page_at(evidence.start))
            against = None if check.verdict is Verdict.SUPPORTED else _contradiction(meaning, index)
            if check.verdict is Verdict.SUPPORTED:
                supporting.append(evidence)
            elif against is not None:
                contradicting.append(against)
            elif evidence.quote and check.verdict is None:
                undecided.append(_Open(number, evidence, check))
        checks.append(CheckedClaim(claim, tuple(supporting), tuple(contradicting)))
    return checks, undecided


def _examine(claim: str, meaning: str, index: EvidenceIndex) -> tuple[Evidence, Check]:
    """As it is meant, or as it is written where the source says it in these words of the same subject."""
    evidence, check = examine(meaning, index)
    if claim == meaning or check.verdict is Verdict.SUPPORTED:
        return evidence, check
    literal, literal_check = examine(claim, index)
    about = read(f"{index.source.title}. {evidence.quote} {literal.quote}").name_stems
    if literal_check.verdict is Verdict.SUPPORTED and read(meaning).name_stems <= about:
        return literal, literal_check
    return evidence, check


def _contradiction(claim: str, index: EvidenceIndex) -> Evidence | None:
    """The sentence of a source that says otherwise of the same matter."""
    passages, source = index.passages, index.source
    for place in passages.rank(claim)[:_NEAREST]:
        start, end = passages.spans[place]
        sentence = source.content[start:end]
        difference = find_difference(claim, sentence) if _same_topic(claim, sentence, source.title) else None
        if difference is not None:
            reason = f"the source says {difference.second}, not {difference.first}"
            page = source.page_at(start)
            return Evidence(source.id, sentence, start, end, Verdict.SUPPORTED, page=page, reasons=(reason,))
    return None


def _same_topic(claim: str, sentence: str, title: str) -> bool:
    """A shared name, or the title names what the claim is about: "the company" of a page may be any company."""
    return bool(read(claim).name_stems & read(sentence).name_stems) or bool({*terms(claim)} & {*terms(title)})


def _request(read_as: Sequence[str], asked: Sequence[_Open], *, timeout_s: float) -> ChatRequest:
    items = [CheckItem(str(place), read_as[entry.claim], entry.evidence.quote) for place, entry in enumerate(asked)]
    prompt = load_prompt("compare_claims")
    return request_verdicts(items, _VERDICTS, prompt=prompt, schema_name="stands", timeout_s=timeout_s)


def _read_answer(text: str, asked: Sequence[_Open]) -> dict[int, str]:
    """The verdicts by place in `asked`; what is answered twice and differently is not answered."""
    found: dict[int, set[str]] = {}
    for place, verdict, _ in read_verdicts(text, len(asked)):
        if verdict in _VERDICTS:
            found.setdefault(place, set()).add(verdict)
    return {place: verdicts.pop() for place, verdicts in found.items() if len(verdicts) == 1}


def _with_model(checks: Sequence[CheckedClaim], asked: Sequence[_Open], said: Mapping[int, str]) -> list[CheckedClaim]:
    """What a rule doubts the model may call partial at best."""
    found = list(checks)
    for place, entry in enumerate(asked):
        known = found[entry.claim]
        if said.get(place) == "supports":
            verdict = Verdict.PARTIAL if entry.check.is_doubted else Verdict.SUPPORTED
            supporting = (*known.supporting, replace(entry.evidence, verdict=verdict))
            found[entry.claim] = replace(known, supporting=supporting)
        elif said.get(place) == "contradicts":
            contradicting = (*known.contradicting, replace(entry.evidence, verdict=Verdict.SUPPORTED))
            found[entry.claim] = replace(known, contradicting=contradicting)
    return found


def _without_model(checks: Sequence[CheckedClaim], asked: Sequence[_Open]) -> list[CheckedClaim]:
    found = list(checks)
    for entry in asked:
        if entry.check.probability >= _MIN_PARTIAL and not entry.check.is_doubted:
            known = found[entry.claim]
            evidence = replace(entry.evidence, verdict=Verdict.PARTIAL)
            found[entry.claim] = replace(known, supporting=(*known.supporting, evidence))
    return found


def _bounded(checks: Sequence[CheckedClaim]) -> tuple[CheckedClaim, ...]:
    """The best of each side: whole support before partial, in the sources' order."""
    return tuple(
        replace(
            check,
            supporting=tuple(
                sorted(check.supporting, key=lambda evidence: evidence.verdict is not Verdict.SUPPORTED)[:MAX_EVIDENCE]
            ),
            contradicting=check.contradicting[:MAX_EVIDENCE],
        )
        for check in checks
    )
