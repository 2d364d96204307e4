"""Whether a judge can say no: a control rides along with its pairs, a false sentence with what denies it.

A judge that confirms it confirms nothing; what it refuses stays refused.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Final, TypeVar

import regex

from core.evidence.judge import AnswerRuling, Hear, JsonJudge, Judgement, Pair, PairwiseJudge, Ruling, Rulings, unheard
from core.evidence.rules.words import opposite_of
from core.model.answer import ModelUsage
from core.model.errors import ControlFailed, ModelError
from core.text.language import Cue, language_of, negations, small_words
from core.text.numbers import MONTHS, numerals
from core.text.sentences import split_sentences

T = TypeVar("T")
CONTROL_LASTS_S = 300.0  # of a judge that is asked pair by pair, for which a control is a call more

CONTROLS: Final = (  # one thing of each claim differs from its passage; some 20 tokens, and 40 with tags and verdict
    Pair("The museum is free for children under twelve.", ("Children under six enter the museum free.",)),
    Pair("Anna sold her bicycle to Paul last summer.", ("Last summer Paul sold his bicycle to Anna.",)),
    Pair("The soup is made with beef and leeks.", ("The cook makes the soup with beans and leeks.",)),
    Pair("The office is closed on Sundays.", ("On Saturdays the office is closed, and open on all other days.",)),
    Pair("The train to the coast leaves at nine.", ("The train leaves for the coast at six each day.",)),
    Pair("The lake froze in January.", ("It was in February that the lake froze.",)),
)
SECOND_CONTROLS = 2  # beside pairs that are asked again: both denied by chance is rarer than one
MAX_PLACE = 4  # of a control among its pairs; nothing of them is told before its verdict
MIN_CONTROL_CHARS, MAX_CONTROL_CHARS = 40, 160  # of a text that is made a control: it is sent twice, some 80 tokens
_FIGURE = regex.compile(r"(?<![\p{L}\p{N}\[.,:/#–-])[1-9]\p{Nd}{1,5}(?![\p{L}\p{N}\])]|[:/]\p{N})")
_WORD = regex.compile(r"(?<![\w’'/-])\p{L}{2,}(?![\w’'/-])")
_PLAIN_WORD = regex.compile(r"(?<![\w’'/-])\p{Ll}{4,}(?![\w’'/-])")
_CLAUSE_END = regex.compile(r"(?<=\p{L}{3}|\d)[,;:] |\s[–—(]")


def controls_of(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], int]:
    """Controls that a call about `pairs` may hold, best first, and the place among the pairs where they are put.

    First sentences of the pairs' own passages with one thing changed, which a judge that sees only a plain "not"
    confirms; behind them `CONTROLS`, which are as fine. The same pairs always give the same.
    """
    drawn = zlib.crc32("\n".join(pair.claim for pair in pairs).encode("utf-8", "replace"))
    said = _turned(list(dict.fromkeys(passage for pair in pairs for passage in pair.passages)), drawn)
    altered = (control for passage in said for control in _altered(passage, drawn))
    place = drawn // len(CONTROLS) % (min(len(pairs), MAX_PLACE) + 1)
    return (*islice(altered, 1 + SECOND_CONTROLS), *_turned(CONTROLS, drawn)), place


def _turned(values: Sequence[T], drawn: int) -> Sequence[T]:
    start = drawn % max(len(values), 1)
    return [*values[start:], *values[:start]]


def _altered(passage: str, drawn: int) -> Iterator[Pair]:
    """Its sentences or how they begin, each with another figure or the opposite of a word.

    Not where the other may be true as well: more than 40; not early; the same word twice.
    """
    for sentence in _turned(split_sentences(passage), drawn):
        text = _shortened(sentence.plain)
        if not sentence.asserts or not text or text.startswith("|"):
            continue
        language = language_of(text) or "en"  # the quick one: a call has dozens of sentences
        is_bounded = any(cue.first(language, text) for cue in (Cue.ABOVE, Cue.BELOW))
        if counted := None if is_bounded else _another_number(text, language):
            yield counted
            continue
        said = set(text.lower().split())
        if language == "en" and not said & negations("en"):
            words = [found for found in _PLAIN_WORD.finditer(text) if found.group() not in small_words("en")]
            turned = ((found, opposite_of(found.group())) for found in words)
            yield from [_with(text, found, other) for found, other in turned if other and other not in said][:1]


def _another_number(text: str, language: str) -> Pair | None:
    """The text with another figure, another small number in words, or another month; None where it has none."""
    figure = max(_FIGURE.finditer(text), key=lambda found: len(found.group()), default=None)
    if figure:
        number = int(figure.group())
        return _with(text, figure, str(number - 37 if number >= 50 else number + 37))
    counts, months = _exchanges(language)
    for found in _WORD.finditer(text):
        word = found.group()
        if other := counts.get(word.lower()) or (
            months.get(word.lower()) if word[0].isupper() or language != "en" else None
        ):
            return _with(text, found, other.capitalize() if word[0].isupper() else other)
    return None


@cache
def _exchanges(language: str) -> tuple[dict[str, str], dict[str, str]]:
    """For numbers in words from three to twelve, and for months, each another one that no passage means by it."""
    known = numerals(language)
    counts = {word: value for word, value in known.numbers.items() if 3 <= value <= 12 and value == int(value)}
    by_value = {value: word for word, value in reversed(counts.items())}
    months = {word: name for word, name in known.calendar.items() if name in MONTHS and word not in known.ambiguous}
    by_name = {name: word for word, name in reversed(months.items())}
    return (
        {word: by_value[(value + 2) % 10 + 3] for value, word in by_value.items()},
        {word: by_name.get(MONTHS[(MONTHS.index(name) + 5) % 12], "") for word, name in months.items()},
    )


def _shortened(text: str) -> str:
    """As much of a sentence as may be sent twice, up to where a clause ends; "" where none does."""
    if len(text) <= MAX_CONTROL_CHARS:
        return text
    ends = [found.start() for found in _CLAUSE_END.finditer(text, MIN_CONTROL_CHARS, MAX_CONTROL_CHARS)]
    return f"{text[: ends[-1]]}." if ends else ""


def _with(text: str, found: regex.Match[str], other: str) -> Pair:
    return Pair(f"{text[: found.start()]}{other}{text[found.end() :]}", (text,))


@dataclass
class ControlledJudge:
    """Asks `model_judge`, with a control in each call, and drops what it confirms where it confirms the control.

    A judge that confirms one is asked again with `SECOND_CONTROLS` others and believed if it denies these: one that is
    mostly right errs too. It is also not believed until it has denied controls in more calls than it confirmed them.
    What it refuses always stands, since a judge that says yes to everything rarely says no. `report` is told once.
    """

    model_judge: JsonJudge | PairwiseJudge
    report: Callable[[ModelError], None] = lambda failure: None
    _denied: int = 0  # calls in which it did
    _confirmed: int = 0
    _known_until: float = 0.0  # loop time
    _is_reported: bool = False

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        clock = asyncio.get_running_loop().time
        at = clock()
        if at < self._known_until:
            rulings = await self.model_judge.judge(pairs, timeout_s=timeout_s)
            return rulings if self.is_believed else _refusals(rulings)
        controls, place = controls_of(pairs)
        trial = _Trial(self, controls[:1], place, hear)
        rulings = await trial.ask(pairs, timeout_s=timeout_s)
        fault, left_s = trial.fault, timeout_s - (clock() - at)
        if fault and not self._is_doubtful and left_s > 0 and not rulings.is_prose:
            trial = _Trial(self, controls[1 : 1 + SECOND_CONTROLS], place, hear, rulings)
            rulings, fault = await trial.ask(pairs, timeout_s=left_s), trial.fault
        if fault:
            self._fail(fault)
        if isinstance(self.model_judge, PairwiseJudge) and (self.is_believed or fault == "confirmed"):
            self._known_until = at + CONTROL_LASTS_S
        return _refusals(rulings) if fault or not self.is_believed else rulings

    @property
    def is_believed(self) -> bool:
        return self._denied > self._confirmed

    @property
    def _is_doubtful(self) -> bool:
        return self._confirmed > 0 and not self.is_believed

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
        ruling = await self.model_judge.judge_answer(question, text, timeout_s=timeout_s, hear=hear)
        return replace(ruling, answers=None) if ruling.answers and self._is_doubtful else ruling

    def learn(self, said: Sequence[Judgement | None], *, is_second: bool) -> str:
        """What is wrong with the judge by what it `said` of a call's controls: "confirmed", "left out", or "".

        A control without a verdict counts as left out only in a second try, or where the judge has denied none before.
        """
        if any(one.ruling is Ruling.SUPPORTED for one in said if one):
            return "confirmed"
        self._denied += any(said)
        return "left out" if not any(said) and (is_second or not self._denied) else ""

    def _fail(self, fault: str) -> None:
        self._confirmed += fault == "confirmed"
        if not self._is_reported:
            self._is_reported = True
            name = self.model_judge.model.name
            self.report(
                ControlFailed(f"not confirmed: the check model {name} {fault} a control sentence that is false")
            )


@dataclass
class _Trial:
    """A call with `controls` at `place`: until their verdicts are read nothing of the others is told.

    Where `first` was said of the pairs, a judge that is asked pair by pair is asked for the controls alone: no page
    that gives orders is read with them. Any other is asked again for all. `fault` is None until it is known.
    """

    judge: ControlledJudge
    controls: Sequence[Pair]
    place: int
    tell: Hear
    first: Rulings | None = None
    fault: str | None = None
    _heard: dict[int, Judgement] = field(default_factory=dict)

    async def ask(self, pairs: Sequence[Pair], *, timeout_s: float) -> Rulings:
        """What is said of the pairs, at the cost of both calls. Raises `ModelError`."""
        model_judge, first = self.judge.model_judge, self.first
        if first and isinstance(model_judge, PairwiseJudge):
            rulings = await model_judge.judge(self.controls, timeout_s=timeout_s)
            self._learn(rulings.judgements)
            return Rulings(first.judgements, (*first.usage, *rulings.usage))
        asked = [*pairs[: self.place], *self.controls, *pairs[self.place :]]
        rulings = await model_judge.judge(asked, timeout_s=timeout_s, hear=self._hear)
        said = rulings.judgements
        self._learn(said[self.place : self._end])
        others = (*said[: self.place], *said[self._end :])
        return Rulings(others, (*self._before, *rulings.usage), rulings.is_prose)

    @property
    def _end(self) -> int:
        return self.place + len(self.controls)

    @property
    def _before(self) -> tuple[ModelUsage, ...]:
        return self.first.usage if self.first else ()

    def _hear(self, found: Mapping[int, Judgement], spent: Sequence[ModelUsage]) -> None:
        self._heard.update(found)
        controls = range(self.place, self._end)
        if all(at in self._heard for at in controls):
            self._learn([self._heard[at] for at in controls])
        told: dict[int, Judgement] = {}
        if self.fault == "" and self.judge.is_believed:
            for at in self._heard.keys() - set(controls):
                told[at if at < self.place else at - len(controls)] = self._heard[at]
            self._heard.clear()
        self.tell(told, (*self._before, *spent))

    def _learn(self, said: Sequence[Judgement | None]) -> None:
        if self.fault is None:
            self.fault = self.judge.learn(said, is_second=self.first is not None)


def _refusals(rulings: Rulings) -> Rulings:
    """Without what it confirms, in part or whole."""
    yes = (Ruling.SUPPORTED, Ruling.PARTIAL)
    return replace(
        rulings, judgements=tuple(one if one and one.ruling not in yes else None for one in rulings.judgements)
    )
