"""Binding an answer's sentences to the sources: what may be shown, with which citations.

A sentence that asserts something is shown only when a source that was read carries it. Sentences are
judged one by one, so that a streamed answer can be checked as it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import regex
from rapidfuzz import fuzz

from core.answer import Citation, Claim, Evidence, RemovedSentence, Section, Verdict
from core.citations import keep_markers, parse_markers, strip_markers
from core.evidence import EvidenceIndex, verify_quote
from core.markers import Grammar
from core.sentences import split_sentences
from core.source import Source
from core.urls import canonical_url
from core.verification.sources import check_source_exists, examine, repoint

_CARRIES = frozenset({Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED})
_STRENGTH = (Verdict.SUPPORTED, Verdict.MOVED, Verdict.PARTIAL, Verdict.UNCHECKED, Verdict.UNSUPPORTED)
_SAME_CLAIM = 88  # rapidfuzz ratio 0…100 between a quote's claim and the sentence it belongs to
_URL = regex.compile(r"\b(?:https?|ftp)://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+", regex.IGNORECASE)
_MARKDOWN_LINK = regex.compile(r"!?\[([^\]]*)\]\(\s*<?[^)]*>?\s*\)")
_MAX_LABEL_CHARS = 90  # a heading or label; longer text that asserts nothing is not the answer's business


@dataclass(frozen=True)
class Judged:
    """One sentence of a draft. `gap` is the white space before it; `claim` is None when it asserts nothing.

    `shown` is its text with the citations that hold, None when it must not be shown (or not yet:
    `is_undecided`, the rules could not tell).
    """

    id: str
    section: Section
    text: str
    gap: str
    claim: Claim | None
    shown: str | None
    is_undecided: bool = False


@dataclass(frozen=True)
class Grounded:
    """A draft after judgement: the two texts that may be shown, and what holds them up."""

    summary: str
    detail: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    removed: tuple[RemovedSentence, ...]


class Grounder:
    """Judges sentences against the sources of one job. Building it reads every source once: CPU, not I/O."""

    def __init__(self, sources: Sequence[Source]) -> None:
        # What a page says to assistants is no evidence; blanked out, it keeps the offsets of the rest true.
        trusted = [replace(source, content=source.trusted_content) for source in sources]
        self.indexes: Mapping[str, EvidenceIndex] = {source.id: EvidenceIndex(source) for source in trusted}
        self._addresses = {canonical_url(source.url) for source in sources}

    def judge(self, section: Section, place: int, text: str, *, gap: str = "", asserts: bool = True) -> Judged:
        """By the rules alone. Invented sources are dropped; a claim whose source does not carry it is re-pointed
        to a read source that does, else cut.
        """
        text = self._without_foreign_links(text)
        sentence_id = f"{section}-{place}"
        words = strip_markers(text, Grammar.NUMBER).strip()
        if not asserts:
            shown = words if len(words) <= _MAX_LABEL_CHARS else None
            return Judged(sentence_id, section, text, gap, None, shown)
        cited = [f"src_{number}" for number in marker_numbers(text)]
        evidence = [self._examine(words, source_id) for source_id in cited]
        claim = self._conclude(Claim(sentence_id, words, Verdict.UNCHECKED, tuple(evidence)), cited)
        return self._show(Judged(sentence_id, section, text, gap, claim, None), claim)

    def settle(self, judged: Judged, claim: Claim, verdicts: Mapping[str, Verdict]) -> Judged:
        """Close an undecided claim with a verdict for each of its undecided sources (by source id)."""
        evidence = tuple(
            replace(entry, verdict=verdicts.get(entry.source_id, Verdict.UNSUPPORTED))
            if entry.verdict is Verdict.UNCHECKED
            else entry
            for entry in claim.evidence
        )
        concluded = self._conclude(replace(claim, evidence=evidence), [entry.source_id for entry in evidence])
        return self._show(judged, concluded)

    def quote_as_given(self, grounded: Grounded, given: Sequence[Citation]) -> Grounded:
        """Use the writer's own quotes where they really stand in the source; all others stay the passage found."""
        citations = tuple(self._with_given_quote(citation, given) for citation in grounded.citations)
        return replace(grounded, citations=citations)

    def _with_given_quote(self, citation: Citation, given: Sequence[Citation]) -> Citation:
        for candidate in given:
            if candidate.source_id != citation.source_id or not candidate.quote:
                continue
            if (
                fuzz.ratio(strip_markers(candidate.claim, Grammar.NUMBER).casefold(), citation.claim.casefold())
                < _SAME_CLAIM
            ):
                continue
            content = self.indexes[citation.source_id].source.content
            span = verify_quote(candidate.quote, content)
            if span:
                return replace(citation, quote=content[slice(*span)], start=span[0], end=span[1])
        return citation

    def _examine(self, words: str, source_id: str) -> Evidence:
        missing = check_source_exists(source_id, self.indexes)
        if missing:
            return Evidence(source_id, "", 0, 0, Verdict.UNSUPPORTED, reasons=(missing,))
        return examine(words, self.indexes[source_id])[0]

    def _conclude(self, claim: Claim, cited: Sequence[str]) -> Claim:
        """The verdict of a claim from its evidence: its best source counts; without any, another that was read."""
        if any(entry.verdict in _CARRIES or entry.verdict is Verdict.UNCHECKED for entry in claim.evidence):
            kept = tuple(entry for entry in claim.evidence if entry.verdict is not Verdict.UNSUPPORTED)
            return replace(claim, verdict=min((entry.verdict for entry in kept), key=_STRENGTH.index), evidence=kept)
        elsewhere = repoint(claim.text, self.indexes, cited)
        if elsewhere:
            return replace(claim, verdict=Verdict.MOVED, evidence=(elsewhere,))
        reasons = tuple(dict.fromkeys(reason for entry in claim.evidence for reason in entry.reasons))
        return replace(claim, verdict=Verdict.UNSUPPORTED, evidence=(), reasons=reasons or ("it cites no source",))

    def _show(self, judged: Judged, claim: Claim) -> Judged:
        if claim.verdict is Verdict.UNSUPPORTED:
            return replace(judged, claim=claim, shown=None, is_undecided=False)
        if claim.verdict is Verdict.UNCHECKED:
            return replace(judged, claim=claim, shown=None, is_undecided=True)
        kept = tuple(entry for entry in claim.evidence if entry.verdict in _CARRIES)
        shown = _with_markers(judged.text, [entry.source_id for entry in kept])
        return replace(judged, claim=replace(claim, evidence=kept), shown=shown, is_undecided=False)

    def _without_foreign_links(self, text: str) -> str:
        """No address reaches a reader that is not in the table of sources."""
        text = _MARKDOWN_LINK.sub(r"\1", text)
        return _URL.sub(
            lambda match: (
                match.group() if canonical_url(match.group().rstrip(".,;:")) in self._addresses else "(link removed)"
            ),
            text,
        )

    def pass_unchecked(self, section: Section, place: int, text: str, *, gap: str) -> Judged:
        """A sentence whose check broke: shown with its citations to sources that were read, as unchecked."""
        text = self._without_foreign_links(text)
        words = strip_markers(text, Grammar.NUMBER).strip()
        cited = [f"src_{number}" for number in marker_numbers(text) if f"src_{number}" in self.indexes]
        evidence = tuple(Evidence(source_id, "", 0, 0) for source_id in cited)
        claim = Claim(f"{section}-{place}", words, Verdict.UNCHECKED, evidence)
        judged = Judged(claim.id, section, text, gap, claim, None)
        return leave_unchecked(judged, claim) if evidence else judged


def leave_unchecked(judged: Judged, claim: Claim) -> Judged:
    """Show an undecided sentence with its citations, as unchecked."""
    shown = _with_markers(judged.text, [entry.source_id for entry in claim.evidence])
    return replace(judged, shown=shown, is_undecided=False)


def marker_numbers(text: str) -> list[int]:
    """The source numbers that a sentence cites, in order, each once."""
    numbers = [marker.number for marker in parse_markers(text, Grammar.NUMBER) if marker.number is not None]
    return list(dict.fromkeys(numbers))


def judge_text(grounder: Grounder, section: Section, text: str) -> list[Judged]:
    """Every sentence of a finished text, judged in order."""
    judged: list[Judged] = []
    end = 0
    for place, sentence in enumerate(split_sentences(text)):
        gap = text[end : sentence.start]
        judged.append(grounder.judge(section, place, sentence.text, gap=gap, asserts=sentence.asserts))
        end = sentence.end
    return judged


def assemble(judged: Sequence[Judged]) -> Grounded:
    """The texts from what may be shown, with the claims, their citations, and what was cut and why."""
    claims = tuple(entry.claim for entry in judged if entry.claim and entry.shown is not None)
    removed = tuple(
        RemovedSentence(entry.claim.text, "; ".join(entry.claim.reasons) or "no source that was read says it")
        for entry in judged
        if entry.claim and entry.shown is None
    )
    citations = tuple(
        Citation(
            claim=claim.text,
            source_id=entry.source_id,
            quote=entry.quote or None,
            verdict=Verdict.MOVED if claim.verdict is Verdict.MOVED else entry.verdict,
            start=entry.start if entry.quote else None,
            end=entry.end if entry.quote else None,
            page=entry.page,
        )
        for claim in claims
        for entry in claim.evidence
    )
    return Grounded(_text(judged, "summary"), _text(judged, "detail"), claims, citations, removed)


def _text(judged: Sequence[Judged], section: Section) -> str:
    """The shown sentences with their own gaps. A label or heading under which nothing is left goes too."""
    own = [entry for entry in judged if entry.section == section and entry.shown]
    kept: list[Judged] = []
    for entry in reversed(own):
        leads_somewhere = bool(kept) and not (_is_heading(entry) and _is_heading(kept[-1]))
        if entry.claim is not None or leads_somewhere:
            kept.append(entry)
    return "".join(f"{entry.gap}{entry.shown}" for entry in reversed(kept)).strip()


def _is_heading(entry: Judged) -> bool:
    return entry.claim is None and entry.text.lstrip().startswith("#")


def _with_markers(text: str, source_ids: Sequence[str]) -> str:
    """The sentence with exactly these citations: wrong markers go, missing ones come before the final stop."""
    numbers = [int(source_id.removeprefix("src_")) for source_id in source_ids]
    kept = keep_markers(text, set(numbers), Grammar.NUMBER)
    missing = "".join(f"[{number}]" for number in numbers if number not in marker_numbers(kept))
    if not missing:
        return kept
    body = kept.rstrip()
    stop = regex.search(r"[.!?。！？।؟]*$", body)
    at = stop.start() if stop else len(body)
    return f"{body[:at]} {missing}{body[at:]}"
