"""Binding an answer's sentences to the sources: what may be shown, with which citations, and what the judge is asked.

Two keys (D18): ✓ is for a sentence that stands in its source word for word, or that the judge confirms and no veto
doubts; what a rule only asks is told to the judge, who decides. A sentence is cut only for a named contradiction, on
the judge's word, for want of any passage, or as an order taken from a page (D19); all else is shown as not confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from textwrap import dedent

import regex
from rapidfuzz import fuzz

from core.evidence.answering import states_aim
from core.evidence.authority import is_retracted
from core.evidence.citations import (
    Grammar,
    marker_numbers,
    strip_markers,
    with_markers,
)
from core.evidence.conflicts import contrary_passages
from core.evidence.judge import MAX_PASSAGE_CHARS, AskedPair, Judgement, Pair, Ruling
from core.evidence.links import cited_in_words, without_addresses, without_foreign_links
from core.evidence.passages import EvidenceIndex
from core.evidence.rules.alignment import Force, may_be_in
from core.evidence.rules.vetoes import Veto, find_vetoes
from core.evidence.structure import (
    RULE,
    Grounded,
    Judged,
    as_claimed,
    as_labels,
    cells,
    find_row,
    is_answer_word,
    is_lead,
    leading_word,
    leans,
    read_row,
    without_bullet,
)
from core.evidence.verbatim import find_verbatim, verify_quote
from core.model.answer import SAID_TOGETHER, Citation, Claim, Evidence, Section, Verdict
from core.model.source import Source
from core.text.chunking import Passage
from core.text.formulas import plain_formulas
from core.text.injection import instructions_in, is_instruction, mask
from core.text.language import DENIES, detect_language
from core.text.markers import source_names
from core.text.sentences import is_chatter, sentences_of
from core.text.terms import terms
from core.text.urls import canonical_url

VERBATIM = "verbatim"
BY_OCR = "its page was read by OCR, and letters may be wrong"
NOT_CONFIRMED = "not confirmed"
NOT_READ = "no such source was read"
RETRACTED = "its source was retracted"
NO_PASSAGE = "no passage of the sources that were read bears on it"
ORDER = "an order taken from a page"
# Sources that nobody cited and the judge reads too; the summary decides the level.
MAX_OTHERS = {"summary": 3, "opening": 1, "detail": 1}
PASSAGES = 3  # of a source that the judge reads for one claim
MAX_CORROBORATING = 2  # markers added to a sentence for sources that say it too
_WEIGHT = (Verdict.SUPPORTED, Verdict.MOVED, Verdict.PARTIAL, Verdict.UNCHECKED, Verdict.UNSUPPORTED)
_SAME_CLAIM = 88  # rapidfuzz ratio 0…100 between a quote's claim and the sentence it belongs to
_ORDERED = 90  # rapidfuzz partial ratio 0…100 of a sentence and what a page orders to be said
_MAX_LABEL_CHARS = 90
MIN_LEAD_WORDS = 4
_MAX_NEW_WORDS = 4  # of a heading in words of its own; a longer one says something
_PLAIN_LABELS = frozenset(
    terms("summary overview introduction answer detail key main point finding fact note short brief tip verdict")
)
_LABEL_TERMS = _PLAIN_LABELS.union(
    terms(
        "background context conclusion limitation source evidence result reason cause effect benefit risk example "
        "definition history timeline comparison difference similarity advantage disadvantage step number figure works "
        "matters follow include list item type kind way option thing important known one two three four five six "
        "several many based below provide give available accord here use used"
    ),
    ("how", "to", "it", "you", "this", "what"),
)  # what a heading may say besides the words of the question and of what was read
_WORD = regex.compile(r"[\p{L}\p{N}]")
_NUMBERING = regex.compile(r"^\W*(?:(?:\d\d?[.)]|\d+\.[\d.]+(?=\s\p{Lu})|(?i:step|schritt|étape|paso) \d\d?\W)\s+)?")
_LIST_OF_SOURCES = (
    "sources?|references?|citations?|works cited|bibliography|quellen?|literatur(?:verzeichnis)?|fuentes?|referencias?"
    "|bibliografía|références?|bibliographie|fonti|riferimenti|bibliografia|fontes|referências|bronnen|literatuur"
)
OWN_LIST = regex.compile(rf"\W*(?:\d+[.)]\s*)?(?:{_LIST_OF_SOURCES})(?: cited| used)?\W*", regex.IGNORECASE)  # its head
_REFERENCE = regex.compile(rf"\W*(?:\[\^?\d{{1,3}}\]|(?:{_LIST_OF_SOURCES})\b[:\s*]*)", regex.IGNORECASE)
_FOOTNOTE = regex.compile(r"\W*\[\^?\d{1,3}\]:(?!.*(?:\b(?:are|is|was|had|fell|rose|\p{L}{2,}ed)\b|%)).*[^\s.!?]")
_FILE_NAME = regex.compile(r"[*_]*`[\w./-]+\.\w+`[*_:]*")  # of the code below it
_FENCE = regex.compile(r"^\s*(?:```|~~~)[^\n]*\n|\n?\s*(?:```|~~~)\s*$|`")


class Grounder:
    """Proposes what carries each sentence, and concludes once the judge has spoken.

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
        self._retracted = {source.id for source in trusted if is_retracted(source)}
        sound = [source for source in trusted if source.id not in self._retracted]  # the others support nothing
        self._whole = {source.id: EvidenceIndex(source) for source in sound}
        self._read = self._whole
        if passages is not None:
            self._read = {one.id: EvidenceIndex(_only(one, passages.get(one.id, ()))) for one in sound}
        self._passages = passages or {}
        self._numbers = {canonical_url(source.url): source.number for source in sources}
        self.names = source_names(sources)
        self._orders = [source.content[slice(*span)] for source in sources for span in source.instructs]
        self.question = question
        self._known_terms = {*terms(question), *_LABEL_TERMS}

    def extend(self, more: Grounder) -> None:
        """Take in the sources of another one, with what it has indexed; not for what is proposed meanwhile."""
        self._sources, self._retracted = {**self._sources, **more._sources}, self._retracted | more._retracted
        self._whole, self._read = {**self._whole, **more._whole}, {**self._read, **more._read}
        self._passages = {**self._passages, **more._passages}
        self._numbers.update(more._numbers)
        self.names.update(more.names)
        self._orders += more._orders
        for read_off in ("_languages", "_source_terms"):
            self.__dict__.pop(read_off, None)

    def propose_more(self, judged: Judged, source_ids: Sequence[str], *, most: int) -> Judged:
        """A sentence with what the judge is to say of sources that came behind it: do they say otherwise?"""
        if judged.claim is None:
            return replace(judged, asked=())
        known = {entry.source_id for entry in judged.claim.evidence}
        words = as_checked(judged.claim.text, judged.before)
        late = [source_id for source_id in source_ids if source_id in self._read and source_id not in known]
        return replace(judged, asked=tuple(self._others(words, judged, late, most=most)))

    @property
    def read_sources(self) -> list[Source]:
        """The sources with nothing but what the writer got to read; offsets are those of the whole."""
        return [index.source for index in self._read.values()]

    def read_ahead(self) -> None:
        """Index what was read now, e.g. in a thread, rather than each source when it is first cited."""
        for index in self._read.values():
            index.passages  # noqa: B018  # built when it is first asked for

    def propose(
        self, section: Section, place: int, text: str, *, gap: str = "", asserts: bool = True, before: str = ""
    ) -> Judged:
        """What the rules make of a sentence, and what they ask of the judge (`Judged.asked`).

        `before` is what stands before it and tells whom it speaks of. Invented sources are dropped here.
        """
        text = plain_formulas(text, [source.content for source in self._sources.values()])
        known = {**self.names, **self._numbers}
        text = cited_in_words(without_foreign_links(text, known).strip(), self._numbers.values())
        words = strip_markers(text, Grammar.NUMBER).strip()
        draft = Judged(f"{section}-{place}", section, text, gap, None, None, before=before)
        if not _WORD.search(words) or (words == text and is_chatter(words)) or self._is_reference(text, words):
            return replace(draft, shown=words if RULE.fullmatch(words) else None)
        is_structure = not asserts or is_answer_word(words)
        if is_structure and self._is_structure(words):
            return replace(draft, shown=words)
        if is_structure and not (is_lead(words) and len(words.split()) >= MIN_LEAD_WORDS):
            return draft  # a longer lead that says something is a claim
        claim = Claim(draft.id, as_claimed(words), Verdict.UNCHECKED)
        if is_instruction(words) or self._is_ordered(claim.text):
            return _cut(draft, claim, ORDER)
        said = as_checked(claim.text, draft.before)
        return self._proposed(replace(draft, claim=claim), said, marker_numbers(text))

    def conclude(self, judged: Judged, judgements: Sequence[Judgement | None]) -> Judged:
        """The sentence with the judge's words on `judged.asked`, in their order; None is a pair nobody judged."""
        claim = judged.claim
        if claim is None or not judged.asked:
            return judged
        said = list(zip(judged.asked, judgements, strict=True))
        evidence = list(claim.evidence)
        reasons = list(claim.reasons)
        contrary = list(judged.contrary)
        for asked, judgement in said:
            if asked.is_cited and len(asked.evidence) == 1:
                entry = _ruled(asked, judgement)
                evidence = [entry if known.source_id == entry.source_id else known for known in evidence]
                if entry.verdict is Verdict.UNSUPPORTED:
                    reasons += entry.reasons
                if judgement and judgement.ruling is Ruling.CONTRADICTED:
                    contrary.append(entry)
        carried = [entry for entry in evidence if entry.verdict is not Verdict.UNSUPPORTED]
        if len(carried) > 1 and any(len(asked.evidence) > 1 and _supports(asked, word) for asked, word in said):
            carried = [replace(entry, verdict=Verdict.SUPPORTED, reasons=(SAID_TOGETHER,)) for entry in carried]
        others = [
            _ruled(asked, judgement) for asked, judgement in said if not asked.is_cited and _supports(asked, judgement)
        ]
        contrary += [
            asked.evidence[0] for asked, judgement in said if not asked.is_cited and _says_otherwise(asked, judgement)
        ]
        if not carried and not others and {NO_PASSAGE, NOT_READ}.issuperset(reasons):
            # Its own citation leads nowhere, another source may say it, and nobody judged that.
            carried = [_ruled(asked, None) for asked, judgement in said if not asked.is_cited and judgement is None][:1]
        return self._settled(replace(judged, contrary=tuple(contrary), asked=()), carried, others, reasons)

    def quote_as_given(self, grounded: Grounded, given: Sequence[Citation]) -> Grounded:
        """Use the writer's own quotes where they really stand in the source; all others stay the passage found."""
        citations = tuple(self._with_given_quote(citation, given) for citation in grounded.citations)
        return replace(grounded, citations=citations)

    def pass_unchecked(self, section: Section, place: int, text: str, *, gap: str) -> Judged:
        """A sentence whose check broke: shown with its citations to sources that were read, as not confirmed."""
        text = without_foreign_links(text, self._numbers).strip()
        words = strip_markers(text, Grammar.NUMBER).strip()
        cited = [f"src_{number}" for number in marker_numbers(text) if f"src_{number}" in self._whole]
        claim = Claim(f"{section}-{place}", as_claimed(words), Verdict.UNCHECKED)
        judged = Judged(claim.id, section, text, gap, claim, None)
        return self._settled(judged, [Evidence(source_id, "", 0, 0) for source_id in cited], [], [NO_PASSAGE])

    def propose_again(self, judged: Judged, *, before: str) -> Judged:
        """The sentence, whose citations are numbers by now, behind another one than in the draft."""
        again = Grounder.propose(self, judged.section, 0, judged.text, gap=judged.gap, before=before)
        return replace(again, id=judged.id, claim=again.claim and replace(again.claim, id=judged.id))

    def sides(self, words: str, before: str, *, most: int) -> tuple[list[Evidence], list[AskedPair]]:
        """For a claim that cites nothing: where it stands word for word, and of which other sources to ask the judge.

        `before` is the claim that it leans on. At most `most` sources, suspected contradictions first.
        """
        draft = Judged("summary-0", "summary", words, "", None, None, before=before)
        verbatim = self._verbatim(words, draft, ())
        settled = {entry.source_id for entry in verbatim}
        return verbatim, self._others(words, draft, [one for one in self._read if one not in settled], most=most)

    # What the rules propose

    def _proposed(self, judged: Judged, words: str, numbers: Sequence[int]) -> Judged:
        claim = judged.claim
        assert claim is not None  # noqa: S101  # its only caller has just made it
        cited = [f"src_{number}" for number in numbers]
        evidence: list[Evidence] = []
        asked: list[AskedPair] = []
        reasons: list[str] = []
        contrary: list[Evidence] = []
        for source_id in cited:
            entry, question = self._examine(words, source_id, judged)
            if entry.verdict is Verdict.UNSUPPORTED:
                reasons += entry.reasons
                contrary += [entry] if entry.quote else []
            else:
                evidence.append(entry)
            asked += [question] if question else []
        verbatim = self._verbatim(words, judged, cited)
        known = {*cited, *(entry.source_id for entry in verbatim)}
        most = MAX_OTHERS[judged.section] if asked or verbatim else max(MAX_OTHERS.values())
        others = self._others(words, judged, [source for source in self._read if source not in known], most=most)
        if not numbers and verbatim:  # without a marker, its best passage as if it were cited
            evidence, verbatim = verbatim[:1], verbatim[1:]
        elif not evidence and not verbatim and not numbers and others:
            first, *others = others
            evidence, asked = [first.evidence[0]], [replace(first, is_cited=True)]
        open_ones = list(asked)
        if len(open_ones) > 1 and len(open_ones) == len(evidence):
            asked.append(self._jointly(words, open_ones))
        asked += others
        judged = replace(judged, asked=tuple(asked), contrary=tuple(contrary))
        if not evidence and not verbatim and not others:
            return _cut(replace(judged, asked=()), claim, *(reasons or [NO_PASSAGE]))
        claim = replace(claim, evidence=tuple(evidence), reasons=tuple(reasons))
        judged = replace(judged, claim=claim)
        if verbatim or any(entry.verdict is Verdict.SUPPORTED for entry in evidence):
            return replace(self._settled(judged, evidence, verbatim, reasons), asked=judged.asked)
        return judged if asked else self._settled(judged, evidence, [], reasons)

    def _jointly(self, words: str, asked: Sequence[AskedPair]) -> AskedPair:
        """Whether the cited sources carry together what each says in part."""
        first, found = asked[0].pair, tuple(entry.evidence[0] for entry in asked)
        title, quotes = " · ".join(entry.pair.title for entry in asked), "\n".join(entry.quote for entry in found)
        context = "\n".join([title, *(self._context(words, entry) for entry in found)])
        vetoes = find_vetoes(words, quotes, context=context, before=first.before)
        passages = tuple(entry.pair.passages[0] for entry in asked)[:PASSAGES]
        pair = replace(first, passages=passages, title=title, doubts=tuple(veto.reason for veto in vetoes))
        return AskedPair(pair, found, doubts=_doubting(vetoes))

    def _context(self, words: str, found: Evidence) -> str:
        return self._read[found.source_id].context(words, found, self._whole[found.source_id])

    def _examine(self, words: str, source_id: str, judged: Judged) -> tuple[Evidence, AskedPair | None]:
        """What the rules say of one cited source, and what is asked of the judge where they do not settle it."""
        if source_id in self._retracted:
            return Evidence(source_id, "", 0, 0, Verdict.UNSUPPORTED, reasons=(RETRACTED,)), None
        if source_id not in self._read or not self._sources[source_id].content.strip():
            return Evidence(source_id, "", 0, 0, Verdict.UNSUPPORTED, reasons=(NOT_READ,)), None
        before, span = judged.before, self._stands_in(words, source_id, judged)
        if span:
            return self._evidence(source_id, *span, verdict=Verdict.SUPPORTED, reasons=(VERBATIM,)), None
        found = self._nearest(words, source_id, judged.id)
        if not found:
            return self._guess(words, source_id, before)
        vetoes = find_vetoes(words, found[0].quote, context=self._context(words, found[0]), before=before)
        if against := tuple(veto.reason for veto in vetoes if veto.force is Force.CONTRADICTS):
            return replace(found[0], verdict=Verdict.UNSUPPORTED, reasons=against), None
        asked = self._asked(words, found, before, vetoes)
        entry = asked.evidence[0]
        if self._sources[source_id].is_by_ocr(entry.start):
            entry = replace(entry, reasons=(*entry.reasons, BY_OCR))
        return entry, replace(asked, evidence=(entry,))

    def _others(self, words: str, judged: Judged, source_ids: Sequence[str], *, most: int) -> list[AskedPair]:
        """Sources that nobody cited and that may say it too, or otherwise: suspected contradictions first."""
        seen: list[tuple[bool, float, str, tuple[Evidence, ...]]] = []
        for source_id in source_ids:
            contrary = contrary_passages(words, self._read[source_id])
            best = self._read[source_id].passages.best(words)
            if contrary or best or len(source_ids) <= most:
                seen.append((not contrary, -best.score if best else 0.0, source_id, contrary))
        found: list[AskedPair] = []
        for *_, source_id, contrary in sorted(seen, key=lambda entry: entry[:2]):
            if len(found) == most:
                break
            near = self._read[source_id].nearest(words, count=PASSAGES)
            passages = [self._literal(entry) for entry in dict.fromkeys((*contrary, *near))][:PASSAGES]
            if passages:
                against = (veto for one in contrary for veto in find_vetoes(words, one.quote, before=judged.before))
                is_contrary = any(veto.force is Force.CONTRADICTS for veto in against)
                nearest = (near or passages)[0]
                context = self._context(words, nearest)
                vetoes = find_vetoes(words, nearest.quote, context=context, before=judged.before)
                asked = self._asked(words, passages, judged.before, vetoes)
                found.append(replace(asked, is_cited=False, is_contrary=is_contrary))
        return found

    def _verbatim(self, words: str, judged: Judged, cited: Sequence[str]) -> list[Evidence]:
        """The sentence word for word in sources that it does not cite."""
        found: list[Evidence] = []
        for source_id in self._read:
            span = None if source_id in cited else self._stands_in(words, source_id, judged)
            if span:
                found.append(self._evidence(source_id, *span, verdict=Verdict.SUPPORTED, reasons=(VERBATIM,)))
        return found

    def _stands_in(self, words: str, source_id: str, judged: Judged) -> tuple[int, int] | None:
        """Where a sentence stands in a source word for word, or a row below the heads that it has here.

        None on a page that was read by OCR: the letters may be wrong in both, so that takes the judge (D18).
        """
        content = self._sources[source_id].content
        span = find_verbatim(words, content, before=judged.before)
        if span is None and judged.is_row and judged.claim and judged.before.lstrip().startswith("|"):
            span = find_row(judged.before, judged.claim.text, content)
        if span is None or self._is_masked(source_id, span) or self._sources[source_id].is_by_ocr(span[0]):
            return None
        return span

    def _nearest(self, words: str, source_id: str, claim_id: str) -> list[Evidence]:
        """Of a source, for the claim with this id: the best first."""
        found: Sequence[Evidence] = self._read[source_id].nearest(words, count=PASSAGES)
        if not found and self._read is not self._whole:
            found = self._whole[source_id].nearest(words, count=PASSAGES)
        if not states_aim(words):  # what was to be found out bears out no finding: last
            found = sorted(found, key=lambda entry: all(states_aim(one.text) for one in sentences_of(entry.quote)))
        return [self._literal(entry) for entry in found]

    def _guess(self, words: str, source_id: str, before: str) -> tuple[Evidence, AskedPair | None]:
        """What the writer read of a source of which no word of the claim is found: it may be in another language."""
        content = self._sources[source_id].content
        spans = [(passage.start, passage.end) for passage in self._passages.get(source_id, ())] or [(0, len(content))]
        found = [
            self._evidence(source_id, start, min(end, start + MAX_PASSAGE_CHARS))
            for start, end in spans[:PASSAGES]
            if content[start:end].strip()
        ]
        if not found:
            return Evidence(source_id, "", 0, 0, Verdict.UNSUPPORTED, reasons=(NO_PASSAGE,)), None
        is_guess = may_be_in(detect_language(found[0].quote), words)
        pair = Pair(words, tuple(entry.quote for entry in found), before, self._sources[source_id].title)
        return found[0], AskedPair(pair, (found[0],), is_guess=is_guess)

    def _asked(self, words: str, found: Sequence[Evidence], before: str, vetoes: Sequence[Veto]) -> AskedPair:
        index = self._whole[found[0].source_id]
        passages = tuple(_with_sentence_before(index, entry) for entry in found)
        told = tuple(veto.reason for veto in vetoes)
        pair = Pair(words, passages, before=before, title=index.source.title, doubts=told)
        return AskedPair(pair, (replace(found[0], reasons=told),), doubts=_doubting(vetoes))

    def _evidence(
        self,
        source_id: str,
        start: int,
        end: int,
        *,
        verdict: Verdict = Verdict.UNCHECKED,
        reasons: tuple[str, ...] = (),
    ) -> Evidence:
        source = self._sources[source_id]
        return Evidence(source_id, source.content[start:end], start, end, verdict, source.page_at(start), reasons)

    def _literal(self, evidence: Evidence) -> Evidence:
        """The evidence beside a blanked-out span: its longer part, so that the quote is the source's own words."""
        source = self._read[evidence.source_id].source
        start, end = evidence.start, evidence.end
        for first, last in source.instructs:
            if first < end and last > start:
                start, end = max(
                    (start, first), (last, end), key=lambda span: len(source.content[slice(*span)].strip())
                )
        quote = source.content[start:end]
        start += len(quote) - len(quote.lstrip())
        return replace(self._evidence(evidence.source_id, start, start + len(quote.strip())), reasons=evidence.reasons)

    def _is_masked(self, source_id: str, span: tuple[int, int]) -> bool:
        return any(first < span[1] and last > span[0] for first, last in self._sources[source_id].instructs)

    # What is concluded

    def _settled(
        self, judged: Judged, cited: Sequence[Evidence], others: Sequence[Evidence], reasons: Sequence[str]
    ) -> Judged:
        """The claim's verdict from its evidence: its best cited source counts, without any another that carries it."""
        claim = judged.claim
        assert claim is not None  # noqa: S101  # structure is never settled
        if not cited and others:
            moved = replace(others[0], verdict=Verdict.MOVED) if marker_numbers(judged.text) else others[0]
            cited, others = [moved], others[1:]
        if not cited:
            return _cut(judged, claim, *(reasons or [NO_PASSAGE]))
        kept = (*cited, *(other for other in others if other.verdict is Verdict.SUPPORTED))[
            : len(cited) + MAX_CORROBORATING
        ]
        verdict = min((entry.verdict for entry in kept), key=_WEIGHT.index)
        doubts = () if verdict in (Verdict.SUPPORTED, Verdict.MOVED) else kept[0].reasons or (NOT_CONFIRMED,)
        settled = replace(claim, verdict=verdict, evidence=kept, reasons=tuple(doubts))
        return replace(judged, claim=settled, shown=with_markers(judged.text, [entry.source_id for entry in kept]))

    def _with_given_quote(self, citation: Citation, given: Sequence[Citation]) -> Citation:
        for candidate in given:
            if candidate.source_id != citation.source_id or not candidate.quote:
                continue
            said = strip_markers(candidate.claim, Grammar.NUMBER).casefold()
            if fuzz.ratio(said, citation.claim.casefold()) < _SAME_CLAIM:
                continue
            span = verify_quote(candidate.quote, self._sources[citation.source_id].content)
            if span and not self._is_masked(citation.source_id, span):
                quote = self._sources[citation.source_id].content[slice(*span)]
                return replace(citation, quote=quote, start=span[0], end=span[1])
        return citation

    def _is_structure(self, words: str) -> bool:
        """Whether what asserts nothing may be shown: words of the question or of what was read, or code of a source.

        A heading, a lead or a question can carry a claim that nobody would check, so it may say nothing new.
        """
        if is_answer_word(words):
            return True
        if ("`" in words or "~~~" in words) and not _FILE_NAME.fullmatch(words):
            code = dedent(_FENCE.sub("", words).strip("\n")).strip()
            return code != "" and any(_has_code(source.content, code) for source in self._sources.values())
        if is_instruction(words):
            return False
        is_short = is_lead(words) and len({*terms(words)} - _LABEL_TERMS) <= _MAX_NEW_WORDS
        is_joined = is_short or words.startswith("|")  # what stands below is judged with it
        return all(self._is_label(cell, may_deny=is_joined) for cell in filter(None, cells(words)))

    def _is_reference(self, text: str, words: str) -> bool:
        """Whether a line only says which source a number is: they are listed below every answer."""
        if not marker_numbers(text) or not _REFERENCE.match(without_bullet(text)):
            return False
        rest = _REFERENCE.sub("", without_addresses(words))
        names = [name for one in self._sources.values() for name in (one.title, one.metadata.domain)]
        for name in filter(None, names):
            rest = rest.replace(name, "")
        bare = regex.sub(r"\W", "", rest.casefold())  # "Harbour Gazette" of harbour-gazette.org
        return any(bare in regex.sub(r"\W", "", name) for name in ("", *names)) or _FOOTNOTE.fullmatch(text) is not None

    def _is_label(self, words: str, *, may_deny: bool) -> bool:
        """Whether a heading, or a cell of a table's head, says nothing new."""
        label = _NUMBERING.sub("", words)
        said = set(terms(label))
        if len(label) > _MAX_LABEL_CHARS:
            return False
        if said <= self._known_terms:
            return True
        new = said - self._known_terms - self._source_terms
        if (DENIES.search(label) and not may_deny) or any(_tells(word, label, new) for word in label.split()):
            return False
        return not new or len(said - _LABEL_TERMS) <= _MAX_NEW_WORDS or detect_language(label) not in self._languages

    @cached_property
    def _languages(self) -> set[str]:
        return {detect_language(source.content[:2000]) for source in self._sources.values()}

    def _is_ordered(self, words: str) -> bool:
        """Whether a page orders an assistant to say this."""
        return any(
            fuzz.partial_ratio(words, order, score_cutoff=_ORDERED) for order in self._orders if len(order) > len(words)
        )

    @cached_property
    def _source_terms(self) -> set[str]:
        return {term for source in self.read_sources for term in terms(f"{source.title}\n{source.content}")}


def _has_code(content: str, code: str) -> bool:
    """Whether the lines stand there, as deep within each other, whatever all of them are indented by."""
    first, *rest = (regex.escape(line.rstrip()) for line in code.split("\n"))
    below = "".join(rf"[ \t]*\n(?:(?P=deep){line})" if line else r"[ \t]*\n" for line in rest)
    return code in content or regex.search(rf"(?m)^(?P<deep>[ \t]*){first}{below}[ \t]*$", content) is not None


def _doubting(vetoes: Sequence[Veto]) -> tuple[str, ...]:
    """What keeps the claim from ✓ whatever the judge says."""
    return tuple(veto.reason for veto in vetoes if veto.force is not Force.ASKS)


def _supports(asked: AskedPair, judgement: Judgement | None) -> bool:
    """Both keys: the judge confirms, and no rule doubts."""
    return judgement is not None and judgement.ruling is Ruling.SUPPORTED and not asked.doubts


def _says_otherwise(asked: AskedPair, judgement: Judgement | None) -> bool:
    """On the judge's word; or on a rule's where the judge finds the same matter there, and misses the difference."""
    if judgement is None:
        return False
    return judgement.ruling is Ruling.CONTRADICTED or (asked.is_contrary and judgement.ruling is not Ruling.UNSUPPORTED)


def _ruled(asked: AskedPair, judgement: Judgement | None) -> Evidence:
    """The evidence with its verdict; what a rule doubts is partial at most, what nobody judged stays unchecked."""
    entry = asked.evidence[0]
    if judgement is None and asked.is_guess:
        return replace(entry, verdict=Verdict.UNSUPPORTED, reasons=(NO_PASSAGE,))
    if judgement is None:
        return replace(entry, reasons=entry.reasons or (NOT_CONFIRMED,))
    if judgement.ruling is Ruling.SUPPORTED:
        if doubts := asked.doubts or ((NOT_CONFIRMED,) if asked.is_guess else ()):
            return replace(entry, verdict=Verdict.PARTIAL, reasons=doubts)
        read = (BY_OCR,) if BY_OCR in entry.reasons else ()
        return replace(entry, verdict=Verdict.SUPPORTED, reasons=("a model confirmed it", *read))
    if judgement.ruling is Ruling.PARTIAL:
        return replace(entry, verdict=Verdict.PARTIAL, reasons=(judgement.reason or "a model found a part of it",))
    words = "a model read otherwise" if judgement.ruling is Ruling.CONTRADICTED else "a model did not confirm it"
    reason = f"{words}: {judgement.reason}" if judgement.reason else words
    return replace(entry, verdict=Verdict.UNSUPPORTED, reasons=(reason,))


def _tells(word: str, label: str, new: set[str]) -> bool:
    """Whether a word of a heading is a number or a name that nobody has read; in title case names look like words."""
    is_title = all(other[:1].isupper() for other in label.split() if len(other) > 3)
    is_noun = detect_language(label) == "de" and regex.search(rf"\b\p{{Ll}}+ {regex.escape(word)}", label) is not None
    is_name = word[:1].isupper() and not (is_title or is_noun or label.startswith(word))
    return (is_name or any(character.isdigit() for character in word)) and not new.isdisjoint(terms(word))


def _with_sentence_before(index: EvidenceIndex, evidence: Evidence) -> str:
    """The passage as the judge reads it: where it leans on the sentence before it, behind that."""
    if not leans(evidence.quote):
        return evidence.quote
    before = [span for span in index.spans if span[1] <= evidence.start][-1:]
    return " ".join([*(index.source.content[slice(*span)] for span in before), evidence.quote])


def _cut(judged: Judged, claim: Claim, *reasons: str) -> Judged:
    claim = replace(claim, verdict=Verdict.UNSUPPORTED, evidence=(), reasons=tuple(dict.fromkeys(reasons)))
    return replace(judged, claim=claim, shown=None, asked=())


def as_checked(claim: str, before: str) -> str:
    """The words of a claim that are looked for in a source, and that a judge is asked about.

    No leading "Yes," or "However,", which is structure, and no addresses; a row with the heads of its cells.
    """
    if claim.lstrip().startswith("|"):
        head = before.splitlines()[0] if before.lstrip().startswith("|") else ""
        return without_addresses(read_row(as_labels(head) if head else "", claim))
    rest = claim[len(leading_word(claim)) :].strip()
    label, _, named = rest.partition(": ")
    rest = named if named and {*terms(label)} <= _PLAIN_LABELS else rest  # "Note: it is free"; "Risk:" says something
    if is_lead(before) and DENIES.search(before) and len(terms(before)) <= _MAX_NEW_WORDS:
        rest = f"{as_claimed(before)} {rest}"  # "Not allowed: dogs"; dogs alone says the opposite
    return without_addresses(rest if len(rest.split()) > 1 else claim)


def _only(source: Source, passages: Sequence[Passage]) -> Source:
    """The source with everything but the passages blanked out, by line breaks, so that no sentence spans a gap."""
    ends = [0, *(passage.end for passage in passages)]
    starts = [*(passage.start for passage in passages), len(source.content)]
    gaps = [(end, start) for end, start in zip(ends, starts, strict=True) if start > end]
    stops = [*ends[1:], len(source.content)]
    pieces = ["\n" * (at - end) + source.content[at:to] for end, at, to in zip(ends, starts, stops, strict=True)]
    return replace(source, content="".join(pieces), instructs=(*source.instructs, *gaps))
