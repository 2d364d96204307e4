"""An answer without a model: the sentences of the sources that answer the question, verbatim and cited.

Every sentence shown is a span of a source as read; nothing is written, joined or shortened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise

import regex
from rapidfuzz import fuzz

from core.evidence.answering import (
    PARTICULAR,
    Expected,
    defined_name,
    defines,
    expected_answer,
    may_only_touch,
    pattern,
    reads_as_abstract,
    role_of,
    unanswered_by_rules,
)
from core.evidence.authority import is_retracted
from core.evidence.rules.words import Kind, read
from core.evidence.structure import ANSWER_WORD, cells, head_of_row, read_row
from core.evidence.verbatim import QUOTED, find_frame
from core.model.source import Source
from core.text.chunking import Passage, split_passages
from core.text.language import detect_language
from core.text.saying import say
from core.text.sentences import Sentence, sentences_of
from core.text.terms import AskedTerms, question_terms, sought_terms, terms, words

# Set on the articles of `make eval ARGS=quoted`: 95 of 100 questions without an answer lie below (docs/evaluation.md).
MIN_FIT = 0.617  # of the sources; below it they answer something else
MIN_FIT_BY_LANGUAGE = {"en": 0.66, "es": 0.645}  # by how often words are found by chance
DIRECT_FIT = 0.86  # below it, what is quoted may be near the question and no answer
DIRECT_COVERAGE = 0.65  # of the question's weight, in the summary and its title
UNDEFINED = "no sentence says what it is"
MAX_SUMMARY_WORDS = 120
MAX_STEPS_WORDS = 300  # of a numbered list, which comes whole
MAX_DETAIL_SENTENCES = 8
_LIKELY = 20  # sentences, best first, that are asked whether they answer
_UNANSWERED, _TOUCHING = 0.6, 0.8  # what is left of the score of one that does not, and of one that may not
_FOREIGN = 0.8  # what is left of the score of a text in another language, where another is in the question's
_BESIDE_EACH = 0.1  # added where what stands side by side in the question does in the sentence
_ABOUT = 0.07  # added where what was asked stands in a row's first cell, or in a sentence's first words
_OPENING_WORDS = 6
_LENGTHY, _LENGTHY_CHARS = 0.1, 200  # what twice so many characters cost: any word is in a long sentence by chance
_DEFINES = 0.5  # what is added to the score of one that says what a thing is, where that is asked
_TOGETHER = 0.08  # of a passage's fit, where all that stands side by side in the question does there
_NEARLY_ALL = 0.8  # of the sources; a word in so many tells them not apart
_ALL = 0.95  # of a question's weight
_SHORT_QUESTION = 2  # words that tell something
_FIRST_UNITS = 4  # in which a sentence names what it is about
_BESIDE_WORDS = 4  # such words from one to the next
_MOST = 0.75  # of the weight of a short question
_FIRM = (Expected.NUMBER, Expected.DURATION, Expected.DATE)  # kinds of answers that are hardly there by chance
_FEW_SOURCES = 4  # of fewer, words in all of them are no wonder
_MAX_SENTENCE_CHARS = 800
_MAX_STOPLESS_CHARS = 420  # longer without a stop at its end is a menu
_MIN_SENTENCE_WORDS = 5
_SAME = 82  # rapidfuzz token_set_ratio 0…100; above it two sentences say the same
_LEANS_BACK = pattern("leans_back")
_CODE_OR_TABLE = regex.compile(r"^\s*(?:\||>>>|\$ |#|```|!\[)|[{}]|^\s*[^\s。]+\s*$")
_BARS = regex.compile(r"\s\|\s.*\s\|\s")  # of a row; without one at its end nothing tells its table's head
_CODE_SIGN = pattern("code_sign")
_MAX_CODE_SIGNS = 1  # in words about code; lines of code that lost their breaks have more
_OF_ITSELF = pattern("of_itself")
_EXAMPLE = regex.compile(r"[\"“„«][^\"“”„«»]{8,200}\?[\"”“»]")  # a question that is only cited, and not answered there
_DEFINITE = regex.compile(
    r"(?:the|der|die|das|el|la|los|las|le|les|il|lo|i|gli|o|a|os|as|de|het)\s+(?P<noun>\w+)", regex.I
)
_WORD = regex.compile(r"[\p{L}\p{N}'’-]+")
_REFERRING = pattern("referring")
_PART_END = regex.compile(r"[,;:.(–—](?=\s|\p{L})")
_BESIDE = regex.compile(r"\s?[,:(–—]\s?")  # behind a noun, before its name
_BULLET = regex.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)]|\|)\s+")  # of a list's item or a table's row
_STOP = regex.compile(
    r"(?<=(?:[^\W_]{2}|\d)[)`\x22”’]?)(?<!\b(?:etc|al|Inc|Ltd|Co|Jr|Sr|vs|approx))(?<!\.\p{L}+)[.!?。！？]$"
)
_STOPPED = regex.compile(
    r"[.!?…。！？]\W*(?:\[[^\[\]]{1,40}\]\W*)*$"
)  # also behind a quotation's end or a footnote's mark
_INLINE_CODE = regex.compile(r"`[^`]+`")
_ROW_END = regex.compile(r"\s*\|\s*$")
_FIGURE = regex.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|half)\b", regex.IGNORECASE
)


@dataclass(frozen=True)
class Quotation:
    """A sentence of a source without its bullet, or a table's row without its outer bars; `text` has it on one line.

    `score` is about 0…1; `own` is the share of the question's weight that the sentence itself holds, 0…1. `is_item`
    says that the next sentence does not continue it. `head` is the head of a row's table. `over` are the words of a
    question that stands above the sentence, and that it answers.
    """

    source_id: str
    text: str
    start: int
    end: int
    score: float = 0.0
    own: float = 0.0
    is_item: bool = False
    is_row: bool = False
    head: str = ""
    over: str = ""

    @property
    def said(self) -> str:
        """As it is shown: a row with each cell behind its column's head, so that no bar and no head stands alone."""
        return read_row(self.head, self.text) if self.is_row else self.text

    @property
    def placed(self) -> str:
        """Behind what stands over it, as a reader knows it."""
        return f"{self.over}: {self.said}" if self.over else self.said

    @property
    def terms(self) -> list[str]:
        return terms(self.placed)

    @property
    def leans_back(self) -> bool:
        return _LEANS_BACK.match(self.text) is not None


@dataclass(frozen=True)
class QuotedAnswer:
    """`is_direct` is False where the summary is about the question and may still not answer it; `unanswered` says
    what is not there, for people ("no duration is given"), and is "" where rules cannot tell.
    """

    summary: tuple[Quotation, ...] = ()
    detail: tuple[Quotation, ...] = ()
    is_direct: bool = False
    unanswered: str = ""


@dataclass(frozen=True)
class _Found:
    """A passage with how well it fits, and its sentences."""

    source: Source
    passage: Passage
    fit: float
    quotations: tuple[Quotation, ...]


def quote_answer(question: str, sources: Sequence[Source]) -> QuotedAnswer:
    """The sentences that answer: a summary from the best passage, then what else fits. Empty when nothing does."""
    sources = [source for source in sources if not is_retracted(source)]  # it supports nothing
    asking = detect_language(question)
    spoken = {source.id: detect_language(source.content[:600]) for source in sources}
    counted = Counter([asking, *spoken.values()])  # the most common: texts are longer than a question
    language = max(counted, key=lambda code: (counted[code], code == asking))
    name = defined_name(question)
    if name and not any(letter.isalnum() for letter in name):
        return _explain_sign(name, sources)
    if not any(term[0].isalpha() for term in question_terms(question, language)):
        return QuotedAnswer()  # figures alone are found anywhere
    asked, found = _search(question, sources, language)
    fitting = max(found, key=lambda each: each.fit, default=None)
    steps = _steps(fitting) if fitting and asks_how_to(question) else []
    fit = _fit([each for each in found if each.quotations or (steps and each is fitting)])
    if fit < MIN_FIT_BY_LANGUAGE.get(language, MIN_FIT):
        return QuotedAnswer()
    contents = {source.id: source for source in sources}
    liked = {key: 1.0 if code == asking or asking not in spoken.values() else _FOREIGN for key, code in spoken.items()}
    quotations = [
        replace(entry, score=(entry.score + _explains(name, asked, entry)) * liked[entry.source_id])
        for each in found
        for entry in each.quotations
        if find_frame(each.source.trusted_content, entry.start, entry.end, entry.text) in ("", QUOTED)
    ]
    likely = sorted(quotations, key=lambda entry: -entry.score)
    likely = sorted(_answering(question, likely[:_LIKELY], asking), key=lambda entry: -entry.score) + likely[_LIKELY:]
    with_context = (_with_context(best, quotations, contents, asked.coverage) for best in likely)
    summary = steps or next(filter(None, with_context), [])
    if not summary:
        return QuotedAnswer()
    chosen = list(summary)
    for entry in likely:
        if len(chosen) - len(summary) == MAX_DETAIL_SENTENCES or entry.score < 0.6 * likely[0].score:
            break
        if not entry.leans_back and not any(_is_same(entry, other) for other in chosen):
            chosen.append(entry)
    order = {source.id: place for place, source in enumerate(sources)}
    detail = sorted(chosen[len(summary) :], key=lambda entry: (order[entry.source_id], entry.start))
    said = " ".join(entry.said for entry in summary)
    unanswered = unanswered_by_rules(question, said, language=asking)
    if name and not any(_explains(name, asked, entry) for entry in summary):
        unanswered = say(UNDEFINED)
    is_direct = (fit >= DIRECT_FIT or bool(name)) and not unanswered  # one that defines a name was looked for
    is_direct = is_direct and _is_bound(asked, question, summary, contents, asking)
    return QuotedAnswer(tuple(summary), tuple(detail), is_direct, unanswered)


def _is_bound(
    asked: AskedTerms, question: str, summary: Sequence[Quotation], sources: Mapping[str, Source], language: str
) -> bool:
    """Whether a summary that fits is bound to the question, and not only near it."""
    title = sources[summary[0].source_id].title
    shown = frozenset(terms(title)).union(*(entry.terms for entry in summary))
    expected = expected_answer(question, language)
    is_asked = _asks(summary[0].over) and asked.coverage(frozenset(terms(summary[0].over))) >= _ALL
    return (
        asked.coverage(shown) >= DIRECT_COVERAGE
        and not _only_refers(question, summary)
        and _is_in_one(asked, summary, sources)
        and not _is_of_another(asked, summary[0], title)
        and ((is_asked and asks_how_to(question)) or not _only_touches(question, summary, language))
        and (
            expected in _FIRM
            or bool(defined_name(question))
            or is_asked
            or _tells_apart(asked, list(sources.values()), summary[0].own)
        )
    )


def _only_touches(question: str, quotations: Sequence[Quotation], language: str) -> bool:
    """As `may_only_touch`; what stands over a sentence may name what is asked about, and says neither yes nor no."""
    alone = expected_answer(question, language) is Expected.VERDICT
    text = " ".join(entry.said if alone else entry.placed for entry in quotations)
    return may_only_touch(question, text, language=language)


def _explains(name: str, asked: AskedTerms, quotation: Quotation) -> float:
    """More than 0 where a sentence defines the name asked for, or a row's first cell, or that and its head, is it."""
    if name and defines(name, quotation.text):
        return _DEFINES
    cell, head = quotation.text.partition("|")[0], cells(quotation.head)[0]
    is_of_it = quotation.is_row and any(set(terms(one)) == set(asked.terms) for one in (cell, f"{head} {cell}"))
    return _DEFINES / 2 if is_of_it else 0.0


def _is_in_one(asked: AskedTerms, summary: Sequence[Quotation], sources: Mapping[str, Source]) -> bool:
    """Whether one sentence holds both words of a short question, not far apart.

    Two words stand somewhere in any long text on its subject.
    """
    return len(asked.terms) > _SHORT_QUESTION or any(
        asked.coverage(frozenset((*entry.terms, *terms(sources[entry.source_id].title)))) >= _MOST
        and asked.is_together(entry.terms, within=_BESIDE_WORDS)
        for entry in summary
    )


def _is_of_another(asked: AskedTerms, quotation: Quotation, title: str) -> bool:
    """Whether a sentence is about a name that nobody asked for, and its title alone has what was: the Orlen mast."""
    own, titled = frozenset(quotation.terms), frozenset(terms(title))
    known = titled.union(asked.terms)
    first = [word for unit in read(quotation.said).units[:_FIRST_UNITS] for word in unit if word.kind is Kind.NAME]
    is_named = any(not known.issuperset(terms(name.text)) for name in first)
    return is_named and asked.coverage(own) < asked.coverage(own | titled)


def _only_refers(question: str, quotations: Sequence[Quotation]) -> bool:
    """Whether a text says "the bridge", "a bridge" or "its bridges" and names none, where it is asked which."""
    sought, asked = sought_terms(question), set(terms(question))
    opening = _DEFINITE.match(quotations[0].text)
    if opening is not None and set(terms(opening["noun"])) <= sought:
        return True
    mentions = [
        _is_mere(entry.text, noun.span(), asked)
        for entry in quotations
        if not entry.is_row
        for noun in _WORD.finditer(entry.text)
        if set(terms(noun[0])) <= sought
    ]
    return bool(mentions) and all(mentions)


def _is_mere(text: str, noun: tuple[int, int], asked: Set[str]) -> bool:
    """Whether a noun is spoken of and not named: "a platform that is away", but not "X is a platform"."""
    if _REFERRING.search(text, 0, noun[0]) is None:
        return False
    start = max((mark.end() for mark in _PART_END.finditer(text, 0, noun[0])), default=0)
    behind = _BESIDE.match(text, noun[1])
    end = _PART_END.search(text, behind.end() if behind else noun[1])
    return all(
        set(terms(name[0])) <= asked or (name.start() < noun[0] and name[0][0].isdigit())
        for name in PARTICULAR.finditer(text, start, end.start() if end else len(text))
    )


def _explain_sign(sign: str, sources: Sequence[Source]) -> QuotedAnswer:
    """What is said of a sign that is no word: the row or sentence that opens with it, else one that has it."""
    everything = [
        entry
        for source in sources
        for passage in split_passages(source.trusted_content)[:400]
        for entry in _sentences("", source, passage, 1.0, lambda _: 1.0)
    ]
    having = sorted(
        (entry for entry in everything if sign in entry.text), key=lambda entry: not defines(sign, entry.text)
    )
    contents = {source.id: source for source in sources}
    with_context = (_with_context(best, everything, contents, lambda _: 1.0) for best in having)
    summary = next(filter(None, with_context), [])
    is_direct = any(defines(sign, entry.text) for entry in summary)
    return QuotedAnswer(tuple(summary), (), is_direct, say(UNDEFINED) if summary and not is_direct else "")


def _tells_apart(asked: AskedTerms, sources: Sequence[Source], own: float) -> bool:
    """Whether the question has more than one word, or a name, that is not in nearly every source.

    Or one sentence has all of its words, as `own` of their weight says: they are everywhere, and together nowhere else.
    """
    if len(asked.terms) < 2:
        return False
    if len(sources) < _FEW_SOURCES:
        return True
    held = Counter(term for source in sources for term in asked.found_in(frozenset(terms(source.content))))
    telling = [term for term in asked.terms if held[term] < _NEARLY_ALL * len(sources)]
    return len(telling) != 1 or telling[0] in asked.names or (len(asked.terms) > _SHORT_QUESTION and own >= _ALL)


def cited(text: str, number: str) -> str:
    """`text` with its marker before the full stop, as written answers have it: `It is tall [1].`

    Behind it where the stop belongs to a short form ("U.S.", "etc."), to dots, or to words in quotation marks.
    """
    stop = _STOP.search(text)
    at = stop.start() if stop else len(text)
    return f"{text[:at]} [{number}]{text[at:]}"


def _search(question: str, sources: Sequence[Source], language: str) -> tuple[AskedTerms, list[_Found]]:
    passages = [(source, passage) for source in sources for passage in split_passages(source.trusted_content)[:400]]
    bags = [
        frozenset(terms(f"{source.title} {passage.heading} {' '.join(map(_own_words, passage.sentences))}"))
        for source, passage in passages
    ]
    asked = AskedTerms(question, bags, language)
    wholes = {source.id: set(terms(source.title)) for source in sources}
    for (source, _), bag in zip(passages, bags, strict=True):
        wholes[source.id] |= bag
    missing = {key: len(asked.names - asked.found_in(whole).keys()) for key, whole in wholes.items()}
    abstracts = {source.id for source in sources if reads_as_abstract(source.content)}
    found: list[_Found] = []
    for (source, passage), bag in zip(passages, bags, strict=True):
        held = asked.found_in(bag)
        if not held:
            continue
        coverage = asked.coverage(frozenset(wholes[source.id]) if source.id in abstracts else bag)
        entries = list(_sentences(question, source, passage, coverage, asked.coverage))
        own = max((entry.own for entry in entries), default=coverage)
        titled = asked.coverage(frozenset(terms(source.title)))
        if entries and (
            source.id in abstracts
            or (titled >= _NEARLY_ALL and not all(_is_of_another(asked, entry, source.title) for entry in entries))
        ):
            own = max(own, coverage)  # about one thing, in words that are spread over all of it, or that its title has
        # Many words of a question in one place are stronger evidence than all words of a short one; what lacks a name
        # or a figure that was asked about is most likely about something else.
        fit = 0.4 * coverage + 0.4 * own + 0.05 * min(sum(held.values()), 6) - 0.1 * min(missing[source.id], 2)
        fit += _TOGETHER * asked.togetherness(terms(passage.text))
        # A title's words stand behind all that its pages say, and tell little of one; unless it asks the same.
        fit -= 0.2 * min(titled, 1 - titled)
        if source.id in abstracts:
            roles = [role_of(entry.text, entry.start, source.content, passage.heading) for entry in entries]
            entries = [replace(entry, score=entry.score + role) for entry, role in zip(entries, roles, strict=True)]
        else:
            entries = [replace(entry, score=entry.score + _tells_of(asked, entry)) for entry in entries]
        entries = [replace(entry, score=entry.score * (0.7 + 0.3 * source.scores.total)) for entry in entries]
        found.append(_Found(source, passage, fit, tuple(entries)))
    return asked, found


def _tells_of(asked: AskedTerms, quotation: Quotation) -> float:
    """What is added where a sentence begins with what was asked, is short, and has it side by side, not scattered."""
    text = quotation.text
    opening = text.partition("|")[0] if quotation.is_row else " ".join(text.split()[:_OPENING_WORDS])
    about = asked.coverage(frozenset(terms(opening)))
    lengthy = min(1.0, max(0.0, len(text) / _LENGTHY_CHARS - 1))
    return _ABOUT * about + _BESIDE_EACH * quotation.own * asked.togetherness(terms(text)) - _LENGTHY * lengthy


def _fit(found: Sequence[_Found]) -> float:
    """How well the best passage fits, with a little for standing out: words that are everywhere tell nothing."""
    fits = sorted((each.fit for each in found), reverse=True)
    if not fits:
        return 0.0
    return fits[0] + 0.2 * (fits[0] - fits[1] if len(fits) > 1 else 0.3)


def _answering(question: str, likely: Sequence[Quotation], language: str) -> list[Quotation]:
    """With a lower score for those that do not hold what is asked for."""
    wants_figure = expected_answer(question, language) is Expected.NUMBER
    return [
        replace(entry, score=_UNANSWERED * entry.score)
        if unanswered_by_rules(question, entry.text, language=language)
        or (wants_figure and not _FIGURE.search(entry.text))
        else replace(entry, score=_TOUCHING * entry.score)
        if _only_touches(question, [entry], language)
        else entry
        for entry in likely
    ]


def _own_words(sentence: Sentence) -> str:
    """A sentence without questions that are only cited; one that is a question asks what follows it to answer."""
    return sentence.text if _asks(sentence.text) else _EXAMPLE.sub(" ", sentence.text)


def _asks(text: str) -> bool:
    return text.rstrip('"”»*_) ').endswith("?")


def _sentences(
    question: str, source: Source, passage: Passage, coverage: float, covered: Callable[[Set[str]], float]
) -> Iterator[Quotation]:
    headed = covered(frozenset(terms(passage.heading)))
    above = f"{source.title} {passage.heading}"
    is_asked = _asks(passage.heading) and headed >= _MOST
    under = above if is_asked or _asks_alike(question, passage.heading) else ""
    asked_above = ""  # much the same question in the text, which the next sentence answers
    is_loose, ends_at = _is_loose(source.trusted_content), len(source.trusted_content.rstrip())
    for place, sentence in enumerate(passage.sentences):
        asked, asked_above = asked_above, ""
        bullet, row_end = _BULLET.match(sentence.text), _ROW_END.search(sentence.text)
        start, end = bullet.end() if bullet else 0, row_end.start() if row_end else len(sentence.text)
        before = passage.sentences[place - 1] if place else sentence
        if ANSWER_WORD.fullmatch(before.text):
            start = before.end - len(before.plain) - sentence.start  # "Yes." belongs to what follows
        text = " ".join(source.trusted_content[sentence.start + start : sentence.start + end].split())
        may_be_open = bullet or row_end or is_loose or sentence.end == ends_at
        if _asks(sentence.text):
            asked_above = sentence.text if covered(frozenset(terms(f"{above} {sentence.text}"))) >= _MOST else ""
            continue
        if ANSWER_WORD.fullmatch(sentence.text):
            asked_above = asked
        if not sentence.asserts or not _is_prose(text, may_be_open=bool(may_be_open)):
            continue
        head = _head(source, sentence.start) if row_end else ""  # which says what the rows are about
        if cells(head) in ([""], cells(text)) if row_end else _BARS.search(text):
            continue  # without a head a row says nothing, and a head by itself no more
        labels = [*cells(head), text.partition("|")[0]] if row_end else []
        over = asked or under
        if any(_asks_alike(question, label) for label in labels):
            over = above
        own = covered(frozenset(terms(f"{over} {head} {_EXAMPLE.sub(' ', text)}")))
        # The sentence itself counts most; its paragraph and heading say what it is about; the first sentence
        # of a paragraph usually carries its point, and what stands under a question answers it.
        score = 0.5 * own + 0.2 * coverage + 0.2 * headed + 0.1 * bool(over) + 0.1 * (place == 0 and not row_end)
        score -= 0.15 * bool(_LEANS_BACK.match(text))
        if row_end and not over and not covered(frozenset(terms(text.partition("|")[0]))):
            score *= 0.7  # a row is about its first cell
        places = (sentence.start + start, sentence.start + end)
        is_row, is_item = row_end is not None, bullet is not None
        yield Quotation(source.id, text, *places, score, own, is_item, is_row, head, over)


def _asks_alike(question: str, label: str) -> bool:
    """Whether a heading or a column asks for what the question does: "Kept, and for how long", "How often"."""
    expected = expected_answer(question, detect_language(question))
    is_firm = expected in (*_FIRM, Expected.FREQUENCY)
    return is_firm and expected_answer(label, detect_language(label)) is expected


def _head(source: Source, row: int) -> str:
    """The head of the table with the row at `row`, on one line; it may carry an order as any text may."""
    start, end = head_of_row(source.trusted_content, row)
    return " ".join(source.trusted_content[start:end].split())


@lru_cache(maxsize=64)
def _is_loose(content: str) -> bool:
    """Whether a text does without stops, as notes do; elsewhere what has none is a heading, a label or torn off."""
    lines = [one.text for one in sentences_of(content) if one.asserts and one.plain == one.text]
    return 2 * sum(_STOPPED.search(line) is not None for line in lines) < len(lines)


def _is_prose(text: str, *, may_be_open: bool) -> bool:
    """Whether a text can stand alone; `may_be_open` where it needs no stop at its end."""
    is_stopped = _STOPPED.search(text) is not None
    return (
        _MIN_SENTENCE_WORDS <= _word_count(text) <= MAX_SUMMARY_WORDS
        and len(text) <= (_MAX_SENTENCE_CHARS if is_stopped else _MAX_STOPLESS_CHARS)
        and (is_stopped or may_be_open)
        and not _CODE_OR_TABLE.search(text)
        and len(_CODE_SIGN.findall(_INLINE_CODE.sub(" ", text))) <= _MAX_CODE_SIGNS
        and not text.endswith((":", "："))  # what it announces would not be quoted with it
        and not _OF_ITSELF.search(text)
    )


def _word_count(text: str) -> int:
    """Words, and where a script has no blanks between them about two characters for one."""
    return max(len(text.split()), len(words(text)) // 2 if len(text.split()) == 1 else 0)


def _steps(best: _Found) -> list[Quotation]:
    """The numbered list in the passage or right behind it, whole or not at all."""
    content = best.source.trusted_content
    spans = find_steps(content, best.passage.start, best.passage.end)
    if sum(_word_count(content[start:end]) for start, end in spans) > MAX_STEPS_WORDS:
        return []
    return [
        Quotation(best.source.id, " ".join(content[start:end].split()), start, end, is_item=True)
        for start, end in spans
    ]


def _with_context(
    best: Quotation,
    quotations: Sequence[Quotation],
    sources: Mapping[str, Source],
    covered: Callable[[Set[str]], float],
) -> list[Quotation]:
    """The best sentence among its neighbours: of up to three in a row those that hold most of the question.

    A row comes with its table's head. Empty where the sentence leans on one that cannot be quoted.
    """
    content = sources[best.source_id].content
    if best.is_row:
        return [best] if best.head else []
    own = [entry for entry in quotations if entry.source_id == best.source_id and not (entry.is_row or entry.is_item)]
    if best.is_item:
        return [] if best.leans_back else [best]
    place = next(place for place, entry in enumerate(own) if entry.start == best.start)
    windows = [own[first:last] for first in range(max(place - 2, 0), place + 1) for last in range(place + 1, first + 4)]
    windows = [window for window in windows if not window[0].leans_back and _reads_on(window, content)]
    return max(
        windows,
        key=lambda window: (
            covered(frozenset(terms(" ".join(entry.text for entry in window)))) + 0.1 * (window[0].start == best.start),
            len(window),
        ),
        default=[],
    )


def _reads_on(window: Sequence[Quotation], content: str) -> bool:
    """Whether these follow each other in one paragraph, say different things, and are short enough together."""
    pairs = list(pairwise(window))
    return (
        sum(_word_count(entry.text) for entry in window) <= MAX_SUMMARY_WORDS
        and not any(
            content[one.end : other.start].strip() or "\n\n" in content[one.end : other.start] for one, other in pairs
        )
        and not any(_is_same(one, other) for one, other in combinations(window, 2))
    )


def _is_same(entry: Quotation, other: Quotation) -> bool:
    return fuzz.token_set_ratio(entry.text.casefold(), other.text.casefold()) >= _SAME


# Numbered lists of a source: steps come whole

_HOW_TO = regex.compile(
    r"\W*(?:how\s+(?:do|does|can|should|must|would)\s+(?:i|you|we|one)\b|how\s+to\b|what\s+are\s+the\s+steps"
    r"|wie\s+(?:\w+\s+)?(?:ich|man|wir)\b|comment\s|cómo\s|come\s|como\s|hoe\s)",
    regex.IGNORECASE,
)
_MARK = r"[ \t]*\d{1,2}[.)][ \t]+(?=\S)"
_LIST = regex.compile(  # items with their indented lines; blank lines between them
    rf"(?:^{_MARK}.*+(?:\n|\Z)(?:(?:[ \t]*\n)?[ \t]+(?!\d{{1,2}}[.)])\S.*+(?:\n|\Z))*+(?:[ \t]*\n)?){{2,}}+",
    regex.MULTILINE,
)
_STEP = regex.compile(f"^{_MARK}", regex.MULTILINE)


def asks_how_to(question: str) -> bool:
    return _HOW_TO.match(question) is not None


def find_steps(content: str, start: int, end: int) -> list[tuple[int, int]]:
    """Half-open spans of the items, without their numbers, of the list within or right behind `content[start:end]`."""
    for found in _LIST.finditer(content):
        is_within = found.start() < end and start < found.end()
        if is_within or (end <= found.start() and not content[end : found.start()].strip()):
            begins = [item.end() for item in _STEP.finditer(content, found.start(), found.end())]
            marks = [item.start() for item in _STEP.finditer(content, found.start(), found.end())]
            ends = [*marks[1:], found.end()]
            return [
                (first, first + len(content[first:last].rstrip())) for first, last in zip(begins, ends, strict=True)
            ]
    return []
