"""What a receipt says: the answer, each claim with its evidence, the passages with what stands around them, hashes.

Built from one job alone, and of that nothing that tells who asked, where, or what anybody else did. Each excerpt is
widened until the rules say of it what they said of the whole text, so that whoever has the receipt can ask them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version as version_of
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

from core.evidence.grounding import NOT_CONFIRMED, VERBATIM, as_checked
from core.evidence.passages import EvidenceIndex
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.structure import said_before
from core.evidence.verbatim import find_verbatim, verify_quote
from core.model.answer import Claim, Evidence, JobResult, ResearchAnswer, Verdict
from core.model.job import ResearchJob
from core.model.source import Source, SourceMetadata
from core.pipeline.tool_traces import TraceEntry
from core.presentation.render import iso_utc
from core.text.injection import mask, masked
from core.text.urls import public_address

FORMAT = 1  # of the receipt; a field more keeps it, another meaning raises it (docs/receipt.md)
AROUND_CHARS = 1_500  # before and behind a passage: rules look so far back for an open quotation mark
MOST_AROUND_CHARS = 24_000  # a verdict that needs more of the text than this is told as not to be asked again

Giver = Literal["verbatim", "rule", "judge", "record", "nobody"]
OF_RECORD = "a registry's record"  # why a line of a reference check stands: it was read off there, and judged by nobody


@dataclass(frozen=True)
class RuleFinding:
    """What a rule says against a claim."""

    rule: str
    force: str
    reason: str


@dataclass(frozen=True)
class PassageWindow:
    """`text` is the source's from the character `start` on. `instructs` are spans of the source that speak to an
    assistant, which no rule reads.
    """

    start: int
    text: str
    instructs: tuple[tuple[int, int], ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def trusted_text(self) -> str:
        """`text` with `instructs` blanked out."""
        return mask(self.text, [(first - self.start, last - self.start) for first, last in self.instructs])


@dataclass(frozen=True)
class ReceiptEvidence:
    """A span of a source. `by` is who gave the verdict; `stands_verbatim` and `findings` are what the rules say of the
    claim and the excerpt, which holds the span, and say again to whoever asks them.
    """

    source_id: str
    quote: str
    start: int
    end: int
    page: int | None
    verdict: Verdict
    by: Giver
    reasons: tuple[str, ...]
    stands_verbatim: bool
    findings: tuple[RuleFinding, ...]
    excerpt: PassageWindow


@dataclass(frozen=True)
class ReceiptClaim:
    """`before` is what the rules took to stand before the sentence, and to say whom it speaks of."""

    id: str
    text: str
    before: str
    verdict: Verdict
    strength: float | None
    reasons: tuple[str, ...]
    evidence: tuple[ReceiptEvidence, ...]


@dataclass(frozen=True)
class ReceiptSource:
    """`sha256` is of the whole text as read, in UTF-8."""

    id: str
    url: str
    title: str
    provider: str
    kind: str
    author: str | None
    published_at: str | None
    read_at: str | None
    sha256: str
    characters: int
    extract_of_page: str


@dataclass(frozen=True)
class SumLine:
    name: str
    value: float
    note: str


@dataclass(frozen=True)
class ReceiptConflict:
    subject: str
    positions: tuple[tuple[str, str], ...]  # what is said, and the source that says it


@dataclass(frozen=True)
class Versions:
    """`rules` and each of `prompts` are the beginning of a SHA-256 of their files."""

    gorkd: str
    rules: str
    prompts: Mapping[str, str]


@dataclass(frozen=True)
class Receipt:
    """`format` is `FORMAT` of who wrote it; `judges` are the models that checked, empty where that is not kept."""

    format: int
    issuer: str
    job_id: str
    question: str
    understood: str
    modes: tuple[str, ...]
    asked_at: str | None
    answered_at: str | None
    researched_at: str | None
    summary: str
    detail: str
    notice: str
    confidence: str
    confidence_reasons: tuple[str, ...]
    confidence_sum: tuple[SumLine, ...]
    limitations: tuple[str, ...]
    removed: tuple[tuple[str, str], ...]  # sentence and reason
    conflicts: tuple[ReceiptConflict, ...]
    claims: tuple[ReceiptClaim, ...]
    sources: tuple[ReceiptSource, ...]
    queries: tuple[str, ...]
    providers: tuple[str, ...]
    model: str
    judges: tuple[str, ...]
    versions: Versions


def build_receipt(
    job: ResearchJob,
    result: JobResult,
    sources: Sequence[Source],
    trace: Sequence[TraceEntry] = (),
    *,
    issuer: str = "",
) -> Receipt:
    """`issuer` is the address of the server that gives it. Raises `ValueError` for a job without an answer.

    It takes a second or two of an answer with many claims: the rules are asked anew.
    """
    answer = result.answer
    if answer is None:
        raise ValueError(f"{job.id} has no answer")
    read = {source.id: source for source in sources}
    said = answer.claims or _looked_up(answer)
    claims = tuple(_claim(claim, said[:place], read) for place, claim in enumerate(said))
    judges = (entry.detail for entry in trace if entry.kind == "model" and entry.name == "check")
    return Receipt(
        format=FORMAT,
        issuer=issuer,
        job_id=job.id,
        question=job.query,
        understood=result.understood,
        modes=job.request.modes,
        asked_at=iso_utc(job.created_at),
        answered_at=iso_utc(job.completed_at),
        researched_at=result.cached_at,
        summary=answer.summary,
        detail=answer.detail,
        notice=answer.notice,
        confidence=answer.confidence.value,
        confidence_reasons=answer.confidence_reasons,
        confidence_sum=tuple(SumLine(line.name, line.value, line.note) for line in answer.confidence_sum),
        limitations=answer.limitations,
        removed=tuple((one.text, one.reason) for one in answer.removed),
        conflicts=tuple(
            ReceiptConflict(one.subject, tuple((side.position, side.source_id) for side in one.positions))
            for one in answer.conflicts
        ),
        claims=claims,
        sources=tuple(map(_source, sources)),
        queries=result.queries,
        providers=result.providers,
        model=answer.metadata.model,
        judges=tuple(dict.fromkeys(filter(None, judges))),
        versions=versions(),
    )


@cache
def versions() -> Versions:
    prompts = sorted(files("core.prompts").iterdir(), key=lambda file: file.name)
    return Versions(
        gorkd=version_of("gorkd"),
        rules=_digest(file for room in ("core.evidence", "core.text") for file in _files_below(files(room))),
        prompts={file.name[:-3]: _digest([file]) for file in prompts if file.name.endswith(".md")},
    )


_RULE_FILES = (".py", ".toml", ".txt", ".json")


def _files_below(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.is_dir():
            yield from _files_below(entry)
        elif entry.name.endswith(_RULE_FILES):
            yield entry


def _digest(parts: Iterator[Traversable] | Sequence[Traversable]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part.name.encode() + b"\0" + part.read_bytes() + b"\0")
    return whole.hexdigest()[:16]


def text_hash(text: str) -> str:
    """Of a text as read; half a surrogate pair, which no page has, counts as a question mark."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


# What the rules say of a claim and an excerpt, here and wherever the receipt is checked


@dataclass(frozen=True)
class RulesSay:
    stands_verbatim: bool
    findings: tuple[RuleFinding, ...]


def ask_rules(
    claim: str, before: str, source: ReceiptSource, excerpt: PassageWindow, span: tuple[int, int]
) -> RulesSay:
    """`span` is the quote's, in offsets into the whole text. What instructs assistants is blanked out, as it was."""
    first, last = (offset - excerpt.start for offset in span)
    text = excerpt.trusted_text
    published = datetime.fromisoformat(source.published_at) if source.published_at else None
    about = SourceMetadata("", 0, source.provider, published_at=published)
    as_read = Source(source.id, source.url, masked(source.title), text, "", _NEVER, about)
    evidence = Evidence(source.id, text[first:last], first, last)
    said = as_checked(claim, before)
    found = find_verbatim(said, text, before=before)
    context = EvidenceIndex(as_read).context(said, evidence)
    vetoes = find_vetoes(said, evidence.quote, context=context, before=before)
    findings = tuple(RuleFinding(veto.rule, veto.force.value, veto.reason) for veto in vetoes)
    stands = found == (first, last) or verify_quote(said, evidence.quote) is not None
    return RulesSay(stands, findings)


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # when it was read is nothing to the rules


# Building: each claim with its evidence, and of each source what it takes to ask the rules again


def _looked_up(answer: ResearchAnswer) -> tuple[Claim, ...]:
    """The lines of an answer without sentences of a writer, as of a reference check, with what each was read off."""
    return tuple(
        Claim(f"summary-{number}", one.claim, one.verdict, (
            Evidence(one.source_id, one.quote, one.start, one.end or 0, one.verdict, one.page, (OF_RECORD,)),
        ))
        for number, one in enumerate(answer.citations, start=1)
        if one.quote and one.start is not None
    )  # fmt: skip


def _claim(claim: Claim, earlier: Sequence[Claim], sources: Mapping[str, Source]) -> ReceiptClaim:
    """With what stood before it when it was checked, where that can still be told: a list's lead is no claim."""
    section = claim.id.partition("-")[0]
    likely = said_before([one for one in earlier if one.id.startswith(section)])
    cited = [entry for entry in claim.evidence if entry.quote]
    tried = {
        before: [_evidence(claim, before, entry, sources[entry.source_id]) for entry in cited]
        for before in dict.fromkeys((likely, ""))
    }
    before = next((one for one, found in tried.items() if all(is_same for _, is_same in found)), likely)
    evidence = tuple(entry for entry, _ in tried[before])
    return ReceiptClaim(claim.id, claim.text, before, claim.verdict, claim.strength, claim.reasons, evidence)


def _evidence(claim: Claim, before: str, entry: Evidence, source: Source) -> tuple[ReceiptEvidence, bool]:
    """And whether the rules say of the excerpt what made the verdict."""
    around, about = AROUND_CHARS, _source(source)
    while True:
        excerpt = _excerpt(source, entry.start - around, entry.end + around)
        say = ask_rules(claim.text, before, about, excerpt, (entry.start, entry.end))
        is_same, is_whole = _is_as_before(entry, say), len(excerpt.text) == len(source.content)
        if is_same or is_whole or around >= MOST_AROUND_CHARS:
            break
        around *= 4
    by = _giver(entry, say)
    kept = ReceiptEvidence(
        entry.source_id, entry.quote, entry.start, entry.end, entry.page, entry.verdict, by, entry.reasons,
        say.stands_verbatim, say.findings, excerpt,
    )  # fmt: skip
    return kept, is_same


def _excerpt(source: Source, start: int, end: int) -> PassageWindow:
    start, end = max(start, 0), min(end, len(source.content))
    spans = [(max(first, start), min(last, end)) for first, last in source.instructs]
    return PassageWindow(start, source.content[start:end], tuple(span for span in spans if span[0] < span[1]))


def _is_as_before(entry: Evidence, say: RulesSay) -> bool:
    if VERBATIM in entry.reasons:
        return say.stands_verbatim
    if OF_RECORD in entry.reasons:
        return True
    doubts = {finding.reason for finding in say.findings}
    is_told = entry.verdict not in (Verdict.PARTIAL, Verdict.UNCHECKED) or doubts.issuperset(entry.reasons)
    return not say.stands_verbatim and (is_told or entry.reasons == (NOT_CONFIRMED,))


def _giver(entry: Evidence, say: RulesSay) -> Giver:
    if VERBATIM in entry.reasons:
        return "verbatim"
    if OF_RECORD in entry.reasons:
        return "record"
    if entry.verdict is Verdict.UNCHECKED:
        return "nobody"
    is_doubted = {finding.reason for finding in say.findings}.issuperset(entry.reasons)
    return "rule" if entry.verdict is Verdict.PARTIAL and entry.reasons and is_doubted else "judge"


def _source(source: Source) -> ReceiptSource:
    about = source.metadata
    return ReceiptSource(
        source.id, public_address(source.url), source.title, about.provider, about.kind.value, about.author,
        iso_utc(about.published_at), iso_utc(source.read_at), text_hash(source.content), len(source.content),
        source.extract_of_page,
    )  # fmt: skip
