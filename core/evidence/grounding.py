"""Binding an answer's sentences to the sources: what may be shown, with which citations.

A sentence that asserts something is shown only when a source that was read carries it. Sentences are
judged one by one, so that a streamed answer can be checked as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import regex
from rapidfuzz import fuzz

from core.answer import Citation, Claim, Evidence, RemovedSentence, Section, Verdict
from core.evidence.citations import keep_markers, parse_markers, strip_markers
from core.evidence.judge import ModelVerdict
from core.evidence.passages import EvidenceIndex
from core.evidence.verbatim import verify_quote
from core.injection import instructions_in, mask
from core.links import without_addresses, without_foreign_links
from core.markers import Grammar
from core.passages import Passage
from core.source import Source
from core.terms import terms
from core.urls import canonical_url
from core.verification.sources import check_source_exists, examine, repoint

_STRENGTH = (Verdict.SUPPORTED, Verdict.MOVED, Verdict.PARTIAL, Verdict.UNCHECKED, Verdict.UNSUPPORTED)
_SAME_CLAIM = 88  # rapidfuzz ratio 0…100 between a quote's claim and the sentence it belongs to
_MIN_CLAIM_TERMS = 4  # "Bell" or "Inventor: Gray" claims nothing that could be checked
_MAX_LABEL_CHARS = 90
_LABEL_TERMS = frozenset(
    terms(
        "summary overview background introduction answer detail key main point finding fact note context conclusion "
        "limitation source evidence result reason cause effect benefit risk example definition history timeline "
        "comparison difference similarity advantage disadvantage step number figure short brief works matters"
    )
)  # what a heading may say besides the question's own words
_DENIES = regex.compile(r"\b(?:no|not|never|none|without|nicht|kein\w*|jamais|pas|nunca)\b|n['’]t\b", regex.IGNORECASE)
_END = regex.compile(r"[.!?。！？।؟]*(?:\s*\|)?$")  # the final stop; in a row of a table, its closing bar
_WORD = regex.compile(r"[\p{L}\p{N}]")
RULE = regex.compile(r"[-*_=|:\s]{3,}")  # a line across, or the one below a table's head
_BULLET = regex.compile(r"^[-*+•‣◦▪·]\s+")  # of a list's item: no part of what is claimed
_NUMBERING = regex.compile(r"^\W*(?:\d{1,2}[.)]\s+)?")
_FENCE = regex.compile(r"^\s*(?:```|~~~)[^\n]*\n|\n?\s*(?:```|~~~)\s*$|`")


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


class _Indexes(Mapping[str, EvidenceIndex]):
    """By source id, each built when it is first asked for. Safe across threads: the worst is one built twice."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._built: dict[str, EvidenceIndex] = {}

    def __getitem__(self, source_id: str) -> EvidenceIndex:
        if source_id not in self._built:
            self._built[source_id] = EvidenceIndex(self._sources[source_id])
        return self._built[source_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


class Grounder:
    """Judges sentences against the sources of one job.

    `passages` are what the writer got to read of each source. A claim is looked for there first, and in the rest of
    the source only when it is not found: reading ten long pages costs more than writing the answer.
    """

    def __init__(
        self, sources: Sequence[Source], question: str, passages: Mapping[str, Sequence[Passage]] | None = None
    ) -> None:
        # What a page says to assistants is no evidence; blanked out, it keeps the offsets of the rest true.
        trusted = [
            replace(source, content=source.trusted_content, title=mask(source.title, instructions_in(source.title)))
            for source in sources
        ]
        self._sources = {source.id: source for source in trusted}
        self._whole = _Indexes(self._sources)
        if passages is None:
            self._read = self._whole
        else:
            self._read = _Indexes({source.id: _only(source, passages.get(source.id, ())) for source in trusted})
        self._numbers = {canonical_url(source.url): source.number for source in sources}
        self._asked = {*terms(question), *_LABEL_TERMS}

    @property
    def read_sources(self) -> list[Source]:
        """The sources with nothing but what the writer got to read; offsets are those of the whole."""
        return [index.source for index in self._read.values()]

    def index_of(self, source_id: str) -> EvidenceIndex:
        """What the writer got to read of a source, to be asked for more than its own citations."""
        return self._read[source_id]

    def read_ahead(self) -> None:
        """Index what was read now, e.g. in a thread, rather than each source when it is first cited."""
        for source_id in self._read:
            self._read[source_id]

    def judge(self, section: Section, place: int, text: str, *, gap: str = "", asserts: bool = True) -> Judged:
        """By the rules alone. Invented sources are dropped; a claim whose source does not carry it is re-pointed
        to a read source that does, else cut.
        """
        text = without_foreign_links(text, self._numbers).strip()
        sentence_id = f"{section}-{place}"
        words = strip_markers(text, Grammar.NUMBER).strip()
        if not _WORD.search(words):
            return Judged(sentence_id, section, text, gap, None, words if RULE.fullmatch(words) else None)
        if not asserts:
            return Judged(sentence_id, section, text, gap, None, words if self._is_harmless(words) else None)
        cited = [f"src_{number}" for number in marker_numbers(text)]
        evidence = [self._examine(without_addresses(words), source_id) for source_id in cited]
        claim = self._conclude(Claim(sentence_id, _BULLET.sub("", words), Verdict.UNCHECKED, tuple(evidence)), cited)
        return self._show(Judged(sentence_id, section, text, gap, claim, None), claim)

    def settle(self, judged: Judged, claim: Claim, verdicts: Mapping[str, ModelVerdict]) -> Judged:
        """Close an undecided claim with a verdict for each of its undecided sources (by source id)."""
        evidence = tuple(
            _settled(entry, verdicts.get(entry.source_id)) if entry.verdict is Verdict.UNCHECKED else entry
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
            source = self._sources[citation.source_id]
            content = source.content
            span = verify_quote(candidate.quote, content)
            if span and not any(first < span[1] and last > span[0] for first, last in source.instructs):
                return replace(citation, quote=content[slice(*span)], start=span[0], end=span[1])
        return citation

    def _is_harmless(self, words: str) -> bool:
        """Whether what asserts nothing may be shown: a label in the question's own words, or code of a source.

        A heading or a question can carry a claim that nobody would check, so it may say nothing new.
        """
        if "`" in words or "~~~" in words:
            code = _FENCE.sub("", words).strip()
            return code != "" and self._is_in_a_source(code)
        label = _NUMBERING.sub("", words)
        return len(label) <= _MAX_LABEL_CHARS and self._asked.issuperset(terms(label)) and not _DENIES.search(label)

    def _is_in_a_source(self, text: str) -> bool:
        return any(text in source.content for source in self._sources.values())

    def _examine(self, words: str, source_id: str) -> Evidence:
        missing = check_source_exists(source_id, self._read)
        if missing:
            return Evidence(source_id, "", 0, 0, Verdict.UNSUPPORTED, reasons=(missing,))
        evidence = self._look(words, self._read[source_id])
        if evidence.verdict is Verdict.UNSUPPORTED and self._read is not self._whole:
            evidence = self._look(words, self._whole[source_id])
        return replace(evidence, page=self._sources[source_id].page_at(evidence.start))

    def _look(self, words: str, index: EvidenceIndex) -> Evidence:
        return _literal(examine(words, index)[0], index.source)

    def _conclude(self, claim: Claim, cited: Sequence[str]) -> Claim:
        """The verdict of a claim from its evidence: its best source counts; without any, another that was read."""
        if any(entry.verdict.carries or entry.verdict is Verdict.UNCHECKED for entry in claim.evidence):
            kept = tuple(entry for entry in claim.evidence if entry.verdict is not Verdict.UNSUPPORTED)
            return replace(claim, verdict=min((entry.verdict for entry in kept), key=_STRENGTH.index), evidence=kept)
        is_whole = len(terms(claim.text)) >= _MIN_CLAIM_TERMS  # a fragment is found in any text about its subject
        elsewhere = repoint(claim.text, self._read, cited) if is_whole else None
        if elsewhere:
            source = self._sources[elsewhere.source_id]
            found = _literal(elsewhere, self._read[elsewhere.source_id].source)
            evidence = replace(found, page=source.page_at(found.start))
            return replace(claim, verdict=Verdict.MOVED, evidence=(evidence,))
        reasons = tuple(dict.fromkeys(reason for entry in claim.evidence for reason in entry.reasons))
        why = reasons or ("its source does not say it" if cited else "it cites no source",)
        return replace(claim, verdict=Verdict.UNSUPPORTED, evidence=(), reasons=why)

    def _show(self, judged: Judged, claim: Claim) -> Judged:
        if claim.verdict is Verdict.UNSUPPORTED:
            return replace(judged, claim=claim, shown=None, is_undecided=False)
        if claim.verdict is Verdict.UNCHECKED:
            return replace(judged, claim=claim, shown=None, is_undecided=True)
        kept = tuple(entry for entry in claim.evidence if entry.verdict.carries)
        shown = _with_markers(judged.text, [entry.source_id for entry in kept])
        return replace(judged, claim=replace(claim, evidence=kept), shown=shown, is_undecided=False)

    def pass_unchecked(self, section: Section, place: int, text: str, *, gap: str) -> Judged:
        """A sentence whose check broke: shown with its citations to sources that were read, as unchecked."""
        text = without_foreign_links(text, self._numbers).strip()
        words = strip_markers(text, Grammar.NUMBER).strip()
        cited = [f"src_{number}" for number in marker_numbers(text) if f"src_{number}" in self._sources]
        evidence = tuple(Evidence(source_id, "", 0, 0) for source_id in cited)
        claim = Claim(f"{section}-{place}", _BULLET.sub("", words), Verdict.UNCHECKED, evidence)
        judged = Judged(claim.id, section, text, gap, claim, None)
        return leave_unchecked(judged, claim) if evidence else judged


def _settled(evidence: Evidence, asked: ModelVerdict | None) -> Evidence:
    """With the model's verdict and its reason; what it did not answer is unsupported."""
    if asked is None:
        return replace(evidence, verdict=Verdict.UNSUPPORTED)
    reasons = (f"a model judged: {asked.reason}",) if asked.reason else ("a model judged it",)
    return replace(evidence, verdict=asked.verdict, reasons=reasons)


def _only(source: Source, passages: Sequence[Passage]) -> Source:
    """The source with everything but the passages blanked out, by line breaks, so that no sentence spans a gap."""
    ends = [0, *(passage.end for passage in passages)]
    starts = [*(passage.start for passage in passages), len(source.content)]
    gaps = [(end, start) for end, start in zip(ends, starts, strict=True) if start > end]
    pieces = [
        "\n" * (start - end) + source.content[start:stop]
        for end, start, stop in zip(ends, starts, [*ends[1:], len(source.content)], strict=True)
    ]
    return replace(source, content="".join(pieces), instructs=(*source.instructs, *gaps))


def _literal(evidence: Evidence, source: Source) -> Evidence:
    """The evidence beside a blanked-out span: its longer part, so that the quote is the source's own words."""
    start, end = evidence.start, evidence.end
    for first, last in source.instructs:
        if first < end and last > start:
            start, end = max((start, first), (last, end), key=lambda span: len(source.content[slice(*span)].strip()))
    if (start, end) == (evidence.start, evidence.end):
        return evidence
    quote = source.content[start:end]
    start += len(quote) - len(quote.lstrip())
    return replace(evidence, quote=quote.strip(), start=start, end=start + len(quote.strip()))


def leave_unchecked(judged: Judged, claim: Claim) -> Judged:
    """Show an undecided sentence with its citations, as unchecked."""
    shown = _with_markers(judged.text, [entry.source_id for entry in claim.evidence])
    return replace(judged, shown=shown, is_undecided=False)


def marker_numbers(text: str) -> list[int]:
    """The source numbers that a sentence cites, in order, each once."""
    numbers = [marker.number for marker in parse_markers(text, Grammar.NUMBER) if marker.number is not None]
    return list(dict.fromkeys(numbers))


def _with_markers(text: str, source_ids: Sequence[str]) -> str:
    """The sentence with exactly these citations: wrong markers go, missing ones come before the final stop."""
    numbers = [int(source_id.removeprefix("src_")) for source_id in source_ids]
    kept = _in_brackets(keep_markers(text, set(numbers), Grammar.NUMBER))
    missing = "".join(f"[{number}]" for number in numbers if number not in marker_numbers(kept))
    if not missing:
        return kept
    body = kept.rstrip()
    stop = _END.search(body)
    at = stop.start() if stop else len(body)
    return f"{body[:at]} {missing}{body[at:]}"


def _in_brackets(text: str) -> str:
    """Every number in brackets of its own, `[1][2]`, whatever grammar of numbers the writer used."""
    pieces: list[str] = []
    end = 0
    for marker in parse_markers(text, Grammar.NUMBER):
        if marker.start >= end:
            pieces.append(text[end : marker.start])
            end = marker.end
        pieces.append(f"[{marker.number}]")
    return "".join([*pieces, text[end:]])
