"""A source's text in passages of a few sentences, and the ones that fit into a prompt.

Passages are spans of the text as read: `text == content[start:end]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

from core.model.source import Source
from core.text.language import detect_language
from core.text.sentences import Sentence, kept_by_length, sentences_of
from core.text.terms import AskedTerms, terms

PASSAGE_CHARS = 700  # about 120 words: a paragraph, small enough that a bad one costs little of the prompt
_PARAGRAPH_END = regex.compile(r"\n\s*\n|\f")
_HEADING = regex.compile(r"#{1,6}\s+(.+?)\s*#*$|^([^\n]+)\n[=-]{3,}\s*$")
_MAX_HEADING_CHARS = 200
_CODE_FENCE = ("```", "~~~")


@dataclass(frozen=True)
class Passage:
    """Sentences of one paragraph, whole. `heading` is the nearest Markdown heading above ("" if none)."""

    start: int
    end: int
    text: str
    heading: str = ""
    sentences: tuple[Sentence, ...] = ()


@kept_by_length
def split_passages(content: str) -> tuple[Passage, ...]:
    """Paragraphs of `content` in order, long ones cut between sentences; headings and blank text give none.

    Code in fences is a passage of its own; a sentence that is no sentence (a table, a log) is cut at spaces.
    """
    found: list[Passage] = []
    pending: list[Sentence] = []
    heading = ""

    def flush() -> None:
        if pending:
            start, end = pending[0].start, pending[-1].end
            found.append(Passage(start, end, content[start:end], heading, tuple(pending)))
            pending.clear()

    for sentence in sentences_of(content):
        titled = _HEADING.match(sentence.text.strip()) if len(sentence.text) < _MAX_HEADING_CHARS else None
        if titled and not sentence.asserts:
            flush()
            heading = (titled[1] or titled[2]).strip()
            continue
        for piece in _cut(sentence):
            if pending and _begins_anew(content, pending, piece):
                flush()
            pending.append(piece)
    flush()
    return tuple(found)


@kept_by_length
def passage_terms(content: str) -> tuple[tuple[str, ...], ...]:
    """The terms of each of `split_passages(content)`, each once, without its heading's. Three stages ask; a page is
    read once.
    """
    return tuple(tuple(set(terms(passage.text))) for passage in split_passages(content))


def _begins_anew(content: str, pending: Sequence[Sentence], sentence: Sentence) -> bool:
    before = pending[-1]
    return (
        sentence.end - pending[0].start > PASSAGE_CHARS
        or _PARAGRAPH_END.search(content, before.end, sentence.start) is not None
        or sentence.text.lstrip().startswith(_CODE_FENCE)
        or before.text.lstrip().startswith(_CODE_FENCE)
    )


def _cut(sentence: Sentence) -> list[Sentence]:
    """An endless sentence in pieces that assert nothing, cut at spaces; any other as it is."""
    pieces: list[Sentence] = []
    text, start = sentence.text, 0
    while len(text) - start > 2 * PASSAGE_CHARS:
        space = text.rfind(" ", start + 1, start + PASSAGE_CHARS)
        end = space + 1 if space > start else start + PASSAGE_CHARS
        pieces.append(Sentence(text[start:end], sentence.start + start, sentence.start + end, asserts=False))
        start = end
    if not pieces:
        return [sentence]
    return [*pieces, Sentence(text[start:], sentence.start + start, sentence.end, asserts=False)]


def select_passages(
    sources: Sequence[Source], question: str, *, max_tokens: int, count_tokens: Callable[[str], int]
) -> dict[str, list[Passage]]:
    """The passages of each source that best fit the question and together fit `max_tokens`, in reading order.

    Every source keeps at least its best passage while the budget lasts, better sources first; after
    that the best passages of all are taken, one by one. `count_tokens` gives at least one for four characters.
    """
    ranked = _rank(sources, question)
    chosen: dict[str, list[Passage]] = {source.id: [] for source in sources}
    left = max_tokens
    firsts = [
        next(entry for entry in ranked if entry[1] == source.id)
        for source in sources
        if split_passages(source.trusted_content)
    ]
    for _, source_id, passage in [*firsts, *ranked]:
        if len(passage.text) > 4 * left:
            continue
        cost = count_tokens(passage.text) + 2
        if cost <= left and passage not in chosen[source_id]:
            chosen[source_id].append(passage)
            left -= cost
    return {source_id: sorted(own, key=lambda passage: passage.start) for source_id, own in chosen.items() if own}


def _rank(sources: Sequence[Source], question: str) -> list[tuple[float, str, Passage]]:
    """All passages, best first: weighted coverage of the question times the standing of the source."""
    entries = [
        (source, passage, frozenset(terms(passage.heading)).union(held))
        for source in sources
        for passage, held in zip(
            split_passages(source.trusted_content), passage_terms(source.trusted_content), strict=True
        )
    ]
    asked = AskedTerms(question, [held for _, _, held in entries], detect_language(question))
    scored = [
        (
            asked.coverage(held) * (0.5 + 0.5 * source.scores.total)
            - passage.start / 1e8,  # among equals, what comes first introduces the rest
            source.id,
            passage,
        )
        for source, passage, held in entries
    ]
    return sorted(scored, key=lambda entry: -entry[0])
