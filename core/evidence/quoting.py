"""An answer without a model: the sentences of the sources that answer the question, verbatim and cited.

Every sentence shown is a span of a source as read; nothing is written, joined or shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace

import regex
from rapidfuzz import fuzz

from core.passages import Passage, split_passages
from core.source import Source
from core.terms import Asked, asks_for_figure, question_terms, terms, words
from core.text.language import detect_language

MIN_COVERAGE = 0.45  # of the question's weight in the best passage; below it the sources answer something else
MIN_OWN_COVERAGE = 0.3  # of the question's weight in the best sentence itself
DIRECT_COVERAGE = 0.6  # of the question's weight in the summary; below it, it may be near the question and no answer
MAX_SUMMARY_WORDS = 120
MAX_DETAIL_SENTENCES = 8
_MAX_SENTENCE_CHARS = 420
_MIN_SENTENCE_WORDS = 5
_SAME = 82  # rapidfuzz token_set_ratio 0…100; above it two sentences say the same
_LEANS_BACK = regex.compile(
    r"^(?:it|this|these|those|they|that|he|she|such|however|but|and|or|so|therefore|thus|also|then|instead|otherwise|both)\b",
    regex.IGNORECASE,
)
_CODE_OR_TABLE = regex.compile(r"^\s*(?:\||>>>|\$ |#|```|!\[)|[{}]|\w+\(\)|^\s*[^\s。]+\s*$")
_FIGURE = regex.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|half)\b", regex.IGNORECASE
)
_ASKS_WHO = regex.compile(r"\s*(?:who|whose|whom|by\s+whom|wer|qui|quién)\b", regex.IGNORECASE)
_NAME = regex.compile(r"(?<=\S\s)\p{Lu}\p{Ll}+|\p{Lu}\p{Ll}+\s+\p{Lu}")
_BULLET = regex.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|\|)\s+")  # of a list's item or a table's row
_STOP = regex.compile(
    r"(?<=(?:[^\W_]{2}|\d)[)`\x22”’]?)(?<!\b(?:etc|al|Inc|Ltd|Co|Jr|Sr|vs|approx))(?<!\.\p{L}+)[.!?。！？]$"
)
_ROW_END = regex.compile(r"\s*\|\s*$")


@dataclass(frozen=True)
class Quotation:
    """A sentence of a source without its bullet, or a table's row without its outer bars; `text` is it on one line.

    `score` is 0…1 and a little more. `own`, `headed` and `coverage` are 0…1: the shares of the question's weight in
    the sentence, in the sentence with its heading and title, and in its whole passage.
    """

    source_id: str
    text: str
    start: int
    end: int
    passage_start: int
    score: float
    coverage: float
    own: float
    headed: float
    is_item: bool = False  # a list item stands for itself; the next one does not continue it


@dataclass(frozen=True)
class QuotedAnswer:
    """`is_direct` is False where the summary is about the question and may still not answer it."""

    summary: tuple[Quotation, ...] = ()
    detail: tuple[Quotation, ...] = ()
    is_direct: bool = False


def quote_answer(question: str, sources: Sequence[Source]) -> QuotedAnswer:
    """The sentences that answer: a summary from the best passage, then what else fits. Empty when nothing does."""
    if not any(term[0].isalpha() for term in question_terms(question, detect_language(question))):
        return QuotedAnswer()  # figures alone are found anywhere
    quotations = _score_sentences(question, sources)
    if not quotations or max(entry.coverage for entry in quotations) < MIN_COVERAGE:
        return QuotedAnswer()
    best = max(quotations, key=lambda entry: entry.score)
    if best.own < MIN_OWN_COVERAGE:
        return QuotedAnswer()
    summary = _with_context(best, quotations)
    chosen = list(summary)
    for entry in sorted(quotations, key=lambda entry: -entry.score):
        if len(chosen) - len(summary) == MAX_DETAIL_SENTENCES or entry.score < 0.6 * best.score:
            break
        if not _LEANS_BACK.match(entry.text) and not any(_is_same(entry, other) for other in chosen):
            chosen.append(entry)
    order = {source.id: place for place, source in enumerate(sources)}
    detail = sorted(chosen[len(summary) :], key=lambda entry: (order[entry.source_id], entry.start))
    return QuotedAnswer(tuple(summary), tuple(detail), _is_direct(question, summary))


def cited(text: str, number: str) -> str:
    """`text` with its marker before the full stop, as written answers have it: `It is tall [1].`

    Behind it where the stop belongs to a short form ("U.S.", "etc."), to dots, or to words in quotation marks.
    """
    stop = _STOP.search(text)
    at = stop.start() if stop else len(text)
    return f"{text[:at]} [{number}]{text[at:]}"


def _is_direct(question: str, summary: Sequence[Quotation]) -> bool:
    text = " ".join(entry.text for entry in summary)
    lacks_figure = asks_for_figure(question) and not _FIGURE.search(text)
    lacks_name = bool(_ASKS_WHO.match(question)) and not _NAME.search(text)
    return max(entry.headed for entry in summary) >= DIRECT_COVERAGE and not lacks_figure and not lacks_name


def _score_sentences(question: str, sources: Sequence[Source]) -> list[Quotation]:
    wants_figure = asks_for_figure(question)
    passages = [(source, passage) for source in sources for passage in split_passages(source.trusted_content)[:400]]
    bags = [frozenset(terms(f"{source.title} {passage.heading} {passage.text}")) for source, passage in passages]
    covered = Asked(question, bags, detect_language(question)).coverage

    found: list[Quotation] = []
    for (source, passage), bag in zip(passages, bags, strict=True):
        coverage = covered(bag)
        if coverage > 0:
            headed = covered(set(terms(passage.heading)))
            found.extend(
                replace(entry, score=entry.score * (0.7 + 0.3 * source.scores.total))
                for entry in _sentences(source, passage, coverage, headed, covered, wants_figure=wants_figure)
            )
    return found


def _sentences(
    source: Source,
    passage: Passage,
    coverage: float,
    headed: float,
    covered: Callable[[Set[str]], float],
    *,
    wants_figure: bool,
) -> list[Quotation]:
    found: list[Quotation] = []
    above = set(terms(f"{source.title} {passage.heading}"))
    for place, sentence in enumerate(passage.sentences):
        bullet, row_end = _BULLET.match(sentence.text), _ROW_END.search(sentence.text)
        start, end = bullet.end() if bullet else 0, row_end.start() if row_end else len(sentence.text)
        text = " ".join(sentence.text[start:end].split())
        if not sentence.asserts or not _is_prose(text):
            continue
        head, subject = _of_row(source.content, sentence.start) if row_end else (set(), set())
        held = set(terms(text)) | head
        own, with_heading = covered(held), covered(held | above)
        # The sentence itself counts most; its paragraph and heading say what it is about; the first sentence
        # of a paragraph usually carries its point; a question for a figure is not answered without one.
        score = 0.5 * own + 0.2 * coverage + 0.2 * headed + 0.1 * (place == 0) - 0.15 * bool(_LEANS_BACK.match(text))
        if wants_figure and not _FIGURE.search(text):
            score *= 0.6
        if row_end and not covered(subject):
            score *= 0.7  # a row is about its first cell
        places = (sentence.start + start, sentence.start + end, passage.start)
        found.append(Quotation(source.id, text, *places, score, coverage, own, with_heading, bullet is not None))
    return found


def _of_row(content: str, start: int) -> tuple[set[str], set[str]]:
    """The words of a table's head, which say what its rows are about, and those of the row's first cell."""
    above = content[content.rfind("\n\n", 0, start) + 1 : start].strip().splitlines()
    head = next((line for line in above if line.lstrip().startswith("|")), "")
    first = content[start:].partition("\n")[0].strip().strip("|").partition("|")[0]
    return set(terms(head)), set(terms(first))


def _is_prose(text: str) -> bool:
    return (
        _MIN_SENTENCE_WORDS <= _word_count(text) <= MAX_SUMMARY_WORDS
        and len(text) <= _MAX_SENTENCE_CHARS
        and not _CODE_OR_TABLE.search(text)
        and not text.endswith((":", "："))  # what it announces would not be quoted with it
    )


def _word_count(text: str) -> int:
    """Words, and where a script has no blanks between them about two characters for one."""
    return max(len(text.split()), len(words(text)) // 2 if len(text.split()) == 1 else 0)


def _with_context(best: Quotation, quotations: Sequence[Quotation]) -> list[Quotation]:
    """The best sentence with what follows it in its passage, up to three sentences and the summary's length."""
    own = [
        entry for entry in quotations if (entry.source_id, entry.passage_start) == (best.source_id, best.passage_start)
    ]
    following = [entry for entry in own if entry.start >= best.start]
    if _LEANS_BACK.match(best.text):  # it needs the sentence before it to be understood
        following = [*[entry for entry in own if entry.start < best.start][-1:], *following]
    summary: list[Quotation] = []
    for entry in following[:3]:
        if summary and entry.is_item:
            break
        if sum(_word_count(kept.text) for kept in [*summary, entry]) > MAX_SUMMARY_WORDS:
            break
        if any(_is_same(entry, kept) for kept in summary):
            continue
        summary.append(entry)
    return summary


def _is_same(entry: Quotation, other: Quotation) -> bool:
    return fuzz.token_set_ratio(entry.text.casefold(), other.text.casefold()) >= _SAME
