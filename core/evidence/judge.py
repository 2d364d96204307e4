"""Whether a passage says what a claim says, asked of a language model: the second key of every ✓.

Pairs in, rulings out. A judge answers in JSON, many pairs a call, or pair by pair in the dialect of fact-check models.
What it does not answer, or garbles twice, stays open; a text between the tags is data and gives no orders.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal, Protocol

import regex

from core.llm.ask_model import Completion, ask_model, complete, strict
from core.llm.prices import estimate_usage
from core.model.answer import Evidence, ModelUsage
from core.model.errors import ModelError, ModelGarbled
from core.model.job import Json
from core.model.ports import ChatModel, ChatRequest
from core.prompts import load_prompt
from core.text.growing_json import named, whole_number
from core.text.language import Cue

Dialect = Literal["json", "pairwise"]

PAIRS_A_CALL = 8  # small, so that the first verdicts come while the answer is still being written
PAIRS_TOGETHER = 5  # that could all wait: each row that a judge writes is a third of a second
PAIRS_AT_ONCE = 3  # of which the reader waits for one
PAIRS_AT_END = 2  # when the reader waits for nothing else
CALLS_AT_ONCE = 6
CALLS_BESIDE = 3  # while the answer is written; sentences that come meanwhile share the next call
LINGER_S, IDLE_S = 0.5, 2.0  # that a pair waits for others; one that may wait, while nothing is asked
MAX_CLAIM_CHARS = 600
MAX_PASSAGE_CHARS = 1200  # of one passage; three of them and the claim are some 900 tokens
MAX_REASON_CHARS = 160
_TOKENS_A_PAIR, _TOKENS_OF_FRAME = 45, 80
_WORDS_OF_ANSWER = {"yes": True, "true": True, "no": False, "false": False}
_PAIRWISE_TOKENS = 16  # for "Yes"; a model that thinks aloud before it is cut short and stays unread
_PAIRWISE_NAMES = ("minicheck", "guardian", "factcg", "alignscore")  # models that are made for the pairwise dialect


class Ruling(StrEnum):
    """What a judge found that the passages say of a claim."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"


_SEVERITY: Final = {ruling: place for place, ruling in enumerate(Ruling)}


@dataclass(frozen=True)
class Pair:
    """A claim and the passages of one source that may say it, the likeliest first.

    `before` is what stands before the claim and says who "he" is, `title` names the source, and `doubts` are
    what rules noticed ("the source says could"), for the judge to look at.
    """

    claim: str
    passages: tuple[str, ...]
    before: str = ""
    title: str = ""
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskedPair:
    """A pair with its evidence: a passage of the source, or of each of the cited sources, that is asked about.

    `is_cited` is False for a source that nobody cited; `is_guess` says that no word of the claim led to the passages,
    `is_contrary` that a rule found them to say otherwise.
    """

    pair: Pair
    evidence: tuple[Evidence, ...]
    is_cited: bool = True
    is_guess: bool = False
    is_contrary: bool = False


@dataclass(frozen=True)
class Judgement:
    ruling: Ruling
    reason: str = ""


@dataclass(frozen=True)
class Rulings:
    """A judgement for each pair, in their order; None for a pair that got no readable answer."""

    judgements: tuple[Judgement | None, ...]
    usage: tuple[ModelUsage, ...] = ()


@dataclass(frozen=True)
class AnswerRuling:
    """Whether a text answers a question; `reason` says what is missing. `answers` is None where nothing was read."""

    answers: bool | None
    reason: str = ""
    usage: tuple[ModelUsage, ...] = ()


class SupportJudge(Protocol):
    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float) -> Rulings:
        """Each pair judged by itself. Raises `ModelError`."""
        ...

    async def judge_answer(self, question: str, text: str, *, timeout_s: float) -> AnswerRuling:
        """Whether `text` answers `question`. Raises `ModelError`."""
        ...


def judge_of(model: ChatModel, dialect: Dialect | None = None) -> JsonJudge | PairwiseJudge:
    """The judge that speaks `dialect`, by default the one that the model's name tells."""
    is_pairwise = any(name in model.name.casefold() for name in _PAIRWISE_NAMES)
    return (
        PairwiseJudge(model) if (dialect or ("pairwise" if is_pairwise else "json")) == "pairwise" else JsonJudge(model)
    )


@dataclass(frozen=True)
class JsonJudge:
    """Asks about several pairs in one call; what was left out or garbled is asked once more, by itself."""

    model: ChatModel

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float) -> Rulings:
        found, usage = await self._ask(pairs, timeout_s=timeout_s)
        left = [place for place in range(len(pairs)) if place not in found]
        if left:
            again, more = await self._ask([pairs[place] for place in left], timeout_s=timeout_s, in_words=True)
            found |= {left[place]: judgement for place, judgement in again.items()}
            usage = (*usage, *more)
        return Rulings(tuple(found.get(place) for place in range(len(pairs))), usage)

    async def judge_answer(self, question: str, text: str, *, timeout_s: float) -> AnswerRuling:
        request = ChatRequest(
            purpose="check",
            system=load_prompt("check_answer").template,
            user=f"<question>{_plain(question, MAX_PASSAGE_CHARS)}</question>\n<text>{_plain(text, 2000)}</text>",
            schema_name="answers",
            schema=strict({"answers": {"type": "string", "enum": ["yes", "no"]}, "reason": {"type": "string"}}),
            max_tokens=_TOKENS_OF_FRAME,
            timeout_s=timeout_s,
            temperature=0.0,
        )
        told = await ask_model(self.model, request, _yes_or_no)
        spent = tuple(_spent(self.model, usage) for usage in told.usage)
        return AnswerRuling(None, usage=spent) if told.value is None else replace(told.value, usage=spent)

    async def _ask(
        self, pairs: Sequence[Pair], *, timeout_s: float, in_words: bool = False
    ) -> tuple[dict[int, Judgement], tuple[ModelUsage, ...]]:
        request = replace(request_rulings(pairs, timeout_s=timeout_s), in_words=in_words)
        request = replace(request, accepts=lambda text: bool(read_rulings(text, len(pairs))))
        completion = await _completed(self.model, request)
        return read_rulings(completion.text, len(pairs)), (_spent(self.model, completion.usage),)


@dataclass(frozen=True)
class PairwiseJudge:
    """Asks "Document: … Claim: …", answered Yes or No, of every clause of a claim by itself.

    So Bespoke-MiniCheck is asked (its model card), and Granite Guardian understands it. It cannot tell a
    contradiction from silence, nor whether an answer answers.
    """

    model: ChatModel

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float) -> Rulings:
        gate = asyncio.Semaphore(CALLS_AT_ONCE)
        answers = await asyncio.gather(*(self._pair(pair, gate, timeout_s=timeout_s) for pair in pairs))
        return Rulings(
            tuple(judgement for judgement, _ in answers), tuple(spent for _, usage in answers for spent in usage)
        )

    async def judge_answer(self, question: str, text: str, *, timeout_s: float) -> AnswerRuling:
        return AnswerRuling(None)

    async def _pair(
        self, pair: Pair, gate: asyncio.Semaphore, *, timeout_s: float
    ) -> tuple[Judgement | None, tuple[ModelUsage, ...]]:
        said: list[bool | None] = []
        usage: list[ModelUsage] = []
        for clause in clauses(pair.claim):
            async with gate:
                answer, spent = await self._clause(clause, pair, timeout_s=timeout_s)
            said.append(answer)
            usage += spent
        if None in said:
            return None, tuple(usage)
        share = sum(map(bool, said)) / len(said)
        ruling = Ruling.SUPPORTED if share == 1 else Ruling.PARTIAL if share else Ruling.UNSUPPORTED
        return Judgement(ruling), tuple(usage)

    async def _clause(self, clause: str, pair: Pair, *, timeout_s: float) -> tuple[bool | None, list[ModelUsage]]:
        """Yes or no; asked once more where it is neither, then None."""
        title = f"{pair.title}\n" if pair.title else ""
        document = title + "\n".join(_plain(passage, MAX_PASSAGE_CHARS) for passage in pair.passages)
        claim = f"{pair.before} {clause}" if pair.before and Cue.BACK.end_at("en", clause, 0) else clause
        request = ChatRequest(
            purpose="check",
            system="",
            user=f"Document: {document}\nClaim: {_plain(claim, MAX_CLAIM_CHARS)}",
            schema_name="",
            schema={},
            max_tokens=_PAIRWISE_TOKENS,
            timeout_s=timeout_s,
            temperature=0.0,
            accepts=lambda text: _YES_OR_NO.search(text) is not None,
        )
        usage: list[ModelUsage] = []
        for _ in range(2):
            completion = await _completed(self.model, request)
            usage.append(_spent(self.model, completion.usage))
            if word := _YES_OR_NO.search(completion.text):
                return word.group().lower() == "yes", usage
        return None, usage


_YES_OR_NO = regex.compile(r"\b(?:yes|no)\b", regex.IGNORECASE)
_CLAUSE = regex.compile(  # a second statement: a mark or joint word, then a subject and more
    r"\s*;\s+|,\s+(?:while|whereas|although|but|and|wobei|während|aber|und|mientras|pero|y)\s+(?=\S+\s+\S+\s+\S+)",
    regex.IGNORECASE,
)


def clauses(claim: str) -> tuple[str, ...]:
    """The statements of a compound claim, each with three words or more; the claim itself where it has one."""
    parts = [part.strip() for part in _CLAUSE.split(claim)]
    return tuple(parts) if len(parts) > 1 and all(len(part.split()) >= 3 for part in parts) else (claim,)


def request_rulings(pairs: Sequence[Pair], *, timeout_s: float) -> ChatRequest:
    """One call about all `pairs`. Raises `ValueError` when there are none."""
    if not pairs:
        raise ValueError("there is nothing to judge")
    return ChatRequest(
        purpose="check",
        system=load_prompt("check_claims").substitute(count=len(pairs)),
        user="\n\n".join(_fenced(number, pair) for number, pair in enumerate(pairs, start=1)),
        schema_name="verdicts",
        schema=_schema(len(pairs)),
        max_tokens=_TOKENS_OF_FRAME + _TOKENS_A_PAIR * len(pairs),
        timeout_s=timeout_s,
        temperature=0.0,
    )


def _schema(count: int) -> dict[str, Json]:
    """A row for each item, which can name no other."""
    numbers: list[Json] = [*range(1, count + 1)]
    row = strict(
        {
            "item": {"type": "integer", "enum": numbers},
            "verdict": {"type": "string", "enum": [ruling.value for ruling in Ruling]},
            "reason": {"type": "string"},
        }
    )
    return strict({"verdicts": {"type": "array", "items": row, "minItems": count, "maxItems": count}})


def _yes_or_no(fields: Mapping[str, Json]) -> AnswerRuling | None:
    answers = _WORDS_OF_ANSWER.get(str(fields.get("answers")).strip().lower())
    return None if answers is None else AnswerRuling(answers, _reason(fields.get("reason")))


async def _completed(model: ChatModel, request: ChatRequest) -> Completion:
    """As `complete`; an answer that is none is an empty one, which is asked for once more as any garbled one is."""
    try:
        return await complete(model, request)
    except ModelGarbled:
        return Completion("", estimate_usage(request, ""))


def _spent(model: ChatModel, usage: ModelUsage) -> ModelUsage:
    """The usage under the judge's name, since its price may be another than the writer's."""
    return replace(usage, model=model.name)


def _fenced(number: int, pair: Pair) -> str:
    """One item as the model reads it."""
    lines = [f'<item number="{number}">']
    lines += [f"<before>{_plain(pair.before, MAX_CLAIM_CHARS)}</before>"] if pair.before else []
    lines.append(f"<claim>{_plain(pair.claim, MAX_CLAIM_CHARS)}</claim>")
    lines += [f"<doubt>{_plain(doubt, MAX_REASON_CHARS)}</doubt>" for doubt in pair.doubts]
    lines += [f"<source>{_plain(pair.title, MAX_REASON_CHARS)}</source>"] if pair.title else []
    lines += [f"<passage>{_plain(passage, MAX_PASSAGE_CHARS)}</passage>" for passage in pair.passages]
    return "\n".join([*lines, "</item>"])


def _plain(text: str, limit: int) -> str:
    """Without angle brackets, so that no text can close its own fence."""
    return " ".join(text.replace("<", "‹").replace(">", "›").split())[:limit]


def _reason(said: object) -> str:
    return " ".join(str(said or "").split())[:MAX_REASON_CHARS]


def read_rulings(text: str, count: int) -> dict[int, Judgement]:
    """What was said of each of `count` pairs, by place from 0; what was left out or garbled is missing. Never raises.

    Of two verdicts on one pair the less favourable counts.
    """
    found: dict[int, Judgement] = {}
    for row in (named(row, ("item", "verdict", "reason")) for row in _rows(text)):
        number, word = whole_number(row.get("item")), str(row.get("verdict")).strip().lower()
        number = 1 if count == 1 else number  # whatever it calls the one it was asked about
        if number is None or not 1 <= number <= count:
            continue
        if word not in set(Ruling):
            continue
        judgement, known = Judgement(Ruling(word), _reason(row.get("reason"))), found.get(number - 1)
        if known is None or _SEVERITY[judgement.ruling] > _SEVERITY[known.ruling]:
            found[number - 1] = judgement
    return found


_MAX_BROKEN = 50  # braces that begin nothing readable; more is no answer, and each costs a look at the whole text


def _rows(text: str) -> Iterator[Mapping[str, Json]]:
    """The objects that look like verdicts, also out of an answer in a code block or cut short."""
    decoder = json.JSONDecoder()
    at, broken = text.find("{"), 0
    while at >= 0 and broken < _MAX_BROKEN:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            value, end = None, at + 1
            broken += 1
        if isinstance(value, dict):
            value = named(value, ("verdict", "verdicts"))
            listed = value.get("verdicts") if "verdict" not in value else [value]
            yield from (row for row in listed if isinstance(row, dict)) if isinstance(listed, list) else ()
        at = text.find("{", end)


# While the answer is being written


@dataclass
class Judging:
    """Puts pairs to a judge in small concurrent calls, as they come; `judge` is None where there is none.

    Every pair gets a judgement or None: a call that fails leaves its pairs open, and `failures` says why. `left_s`
    is how long an answer may still take; later ones are not waited for.
    """

    judge: SupportJudge | None
    left_s: Callable[[], float]
    call_timeout_s: float = 20.0
    usage: list[ModelUsage] = field(default_factory=list)
    failures: list[ModelError] = field(default_factory=list)
    _rulings: dict[Pair, asyncio.Future[Judgement | None]] = field(default_factory=dict)
    linger_s: float = LINGER_S
    _is_hurried: bool = False
    _waiting: list[tuple[Pair, asyncio.Future[Judgement | None]]] = field(default_factory=list)
    _others: list[tuple[Pair, asyncio.Future[Judgement | None]]] = field(default_factory=list)
    _has_asked: bool = False
    _calls: set[asyncio.Task[None]] = field(default_factory=set)
    _timer: asyncio.TimerHandle | None = None
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_AT_ONCE))

    async def rule(self, pairs: Sequence[Pair], *, may_wait: bool = False) -> list[Judgement | None]:
        """A judgement for each pair, in their order. A pair that was asked about before is not asked about again.

        While `CALLS_BESIDE` calls are under way, what comes waits for one of them to end, and goes together. Pairs that
        `may_wait` go with others while the answer is being written, and alone where a call is full of them or nothing
        else is asked.
        """
        if self.judge is None or not pairs or self.left_s() <= 0:
            return [None] * len(pairs)
        loop = asyncio.get_running_loop()
        new = {pair: loop.create_future() for pair in pairs if pair not in self._rulings}
        self._rulings |= new
        (self._others if may_wait else self._waiting).extend(new.items())
        if self._is_hurried or len(self._waiting) >= PAIRS_A_CALL or len(self._others) >= PAIRS_A_CALL:
            self._start_in(0.0)
        elif not may_wait and len(self._calls) < CALLS_BESIDE:
            self._start_in(self.linger_s if self._has_asked else 0.0)  # the reader has nothing yet
        elif may_wait and len(self._others) >= PAIRS_TOGETHER and len(self._calls) < CALLS_BESIDE - 1:
            self._start_in(self.linger_s)
        elif may_wait and not self._calls:
            self._start_in(IDLE_S)
        futures = [self._rulings[pair] for pair in pairs]
        await asyncio.wait(set(futures), timeout=max(self.left_s(), 0.01))
        return [future.result() if future.done() else None for future in futures]

    def hurry(self, *, is_on: bool = True) -> None:
        """Nothing more is being written that a pair should wait for; `is_on` False where writing begins anew."""
        self._is_hurried = is_on
        if is_on and (self._waiting or self._others):
            self._start_in(0.0)  # behind the last sentences' pairs

    async def answers(self, question: str, text: str) -> AnswerRuling:
        """Whether `text` answers `question`; open where nobody could be asked."""
        timeout_s = min(self.call_timeout_s, self.left_s())
        if self.judge is None or not text.strip() or timeout_s <= 0:
            return AnswerRuling(None)
        try:
            async with asyncio.timeout(timeout_s):
                ruling = await self.judge.judge_answer(question, text, timeout_s=timeout_s)
        except TimeoutError:
            return AnswerRuling(None)
        except ModelError as exc:
            self.failures.append(exc)
            return AnswerRuling(None)
        self.usage += ruling.usage
        return replace(ruling, usage=())

    async def aclose(self) -> None:
        """End what is still being asked; nobody waits for it any more."""
        if self._timer is not None:
            self._timer.cancel()
        for call in self._calls:
            call.cancel()
        await asyncio.gather(*self._calls, return_exceptions=True)

    def _start_in(self, seconds: float) -> None:
        """At the latest; what is to begin sooner does."""
        loop = asyncio.get_running_loop()
        if self._timer is not None and self._timer.when() <= loop.time() + seconds:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._start)

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self.judge is not None and (self._waiting or self._others):
            call = asyncio.create_task(self._call(self.judge, self._next_batch()))
            self._calls.add(call)
            call.add_done_callback(self._go_on)
            if not self._is_hurried and max(len(self._waiting), len(self._others)) < PAIRS_A_CALL:
                break

    def _next_batch(self) -> list[tuple[Pair, asyncio.Future[Judgement | None]]]:
        """What is asked next: what is waited for before all else, with little besides; the very first of it alone."""
        first = PAIRS_AT_END if self._is_hurried else PAIRS_A_CALL
        batch, self._waiting = self._waiting[:first], self._waiting[first:]
        most = PAIRS_AT_END if self._is_hurried else PAIRS_AT_ONCE if batch else PAIRS_TOGETHER
        free = 0 if batch and not self._has_asked else max(most - len(batch), 0)
        more, self._others = self._others[:free], self._others[free:]
        self._has_asked = True
        return batch + more

    def _go_on(self, ended: asyncio.Task[None]) -> None:
        """What has waited for a call to end begins the next one."""
        self._calls.discard(ended)
        if (self._waiting or self._others) and self._timer is None and not ended.cancelled():
            self._start_in(0.0 if self._waiting else self.linger_s)

    async def _call(self, judge: SupportJudge, batch: Sequence[tuple[Pair, asyncio.Future[Judgement | None]]]) -> None:
        said: Sequence[Judgement | None] = [None] * len(batch)
        try:
            async with self._gate:
                timeout_s = max(min(self.call_timeout_s, self.left_s()), 0.1)
                rulings = await judge.judge([pair for pair, _ in batch], timeout_s=timeout_s)
                self.usage += rulings.usage
                said = rulings.judgements
        except ModelError as exc:
            self.failures.append(exc)
        finally:
            for (pair, future), judgement in zip(batch, said, strict=True):
                if judgement is None:
                    self._rulings.pop(pair, None)  # whoever says the same later may be luckier
                if not future.done():
                    future.set_result(judgement)
