"""Whether a passage says what a claim says, asked of a language model: the second key of every ✓.

Pairs in, rulings out. A judge answers in JSON, many pairs a call, or pair by pair in the dialect of fact-check models.
What it does not answer, or garbles twice, stays open; a text between the tags is data and gives no orders.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, Literal, Protocol

import regex

from core.llm.ask_model import CountedModel, Heard, ask_model, complete, strict
from core.model.answer import Evidence, ModelUsage
from core.model.errors import ModelError, ModelGarbled
from core.model.job import Json
from core.model.ports import ChatDelta, ChatModel, ChatRequest
from core.prompts import load_prompt
from core.text.growing_json import complete_part, named, whole_number
from core.text.language import Cue
from core.text.saying import later, say
from core.text.sentences import clauses

Dialect = Literal["json", "pairwise"]

PAIRS_A_CALL = 8  # each costs a tenth of a second more for all of them, and a call a second
PAIRS_AT_END = 3  # when the reader waits for nothing else; more only where that would be more calls than run at once
CALLS_AT_ONCE, CALLS_BESIDE = 6, 2  # the latter while the answer is written: what comes meanwhile shares the next call
LINGER_S, IDLE_S = 1.0, 2.0  # that a pair waits for others beside a call; one that may wait, while nothing is asked
MAX_PROSE = 2  # calls; each is made twice before its answer counts as no verdict
NO_VERDICTS = later("The model that judges citations gave no verdict that can be read; it was asked no more.")
MAX_CLAIM_CHARS, MAX_REASON_CHARS = 600, 160
MAX_PASSAGE_CHARS = 1200  # of one passage; three of them and the claim are some 900 tokens
_TOKENS_A_PAIR, _TOKENS_OF_FRAME = 45, 80
_WHY = "why"
_BEGINS = regex.compile(r"(?is)\s*(?:<think.*</think(?:ing)?>\s*)?(?:```\w*\s*)?[{\[]")  # prose may give an example
_WORDS_OF_ANSWER = {"yes": True, "true": True, "no": False, "false": False}
_YES_OR_NO = regex.compile(r"\b(?:yes|no)\b", regex.IGNORECASE)
_PAIRWISE_TOKENS = 16  # for "Yes"; a model that thinks aloud before it is cut short and stays unread
_PAIRWISE_NAMES = ("minicheck", "guardian", "factcg", "alignscore")  # models that are made for the pairwise dialect


class Ruling(StrEnum):
    """What a judge found that the passages say of a claim."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"


_VERDICT: Final[Json] = {"type": "string", "enum": [ruling.value for ruling in Ruling]}
_SEVERITY: Final[Mapping[str, int]] = {ruling.value: place for place, ruling in enumerate(Ruling)}


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
    `is_contrary` that a rule found them to say otherwise, `doubts` are those of the pair's that no judge overrules.
    """

    pair: Pair
    evidence: tuple[Evidence, ...]
    is_cited: bool = True
    is_guess: bool = False
    is_contrary: bool = False
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    ruling: Ruling
    reason: str = ""


@dataclass(frozen=True)
class Rulings:
    """A judgement for each pair, in their order; None for a pair that got no readable answer."""

    judgements: tuple[Judgement | None, ...]
    usage: tuple[ModelUsage, ...] = ()
    is_prose: bool = False  # nothing at all could be read, when asked again neither


@dataclass(frozen=True)
class AnswerRuling:
    """Whether a text answers a question; `reason` says what is missing. `answers` is None where nothing was read."""

    answers: bool | None
    reason: str = ""


Hear = Callable[[Mapping[int, Judgement], Sequence[ModelUsage]], None]


def unheard(found: Mapping[int, Judgement], spent: Sequence[ModelUsage]) -> None:
    """Nobody hears it."""


class SupportJudge(Protocol):
    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        """Each pair judged by itself. Raises `ModelError`.

        `hear` is told of verdicts while more is still being written, by the places of their pairs, and again with their
        reasons; and of what the call has cost so far.
        """

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
        """Whether `text` answers `question`; `hear` is told what that has cost. Raises `ModelError`."""


def judge_of(model: ChatModel, dialect: Dialect | None = None) -> JsonJudge | PairwiseJudge:
    """The judge that speaks `dialect`, by default the one that the model's name tells."""
    named = "pairwise" if any(name in model.name.casefold() for name in _PAIRWISE_NAMES) else "json"
    return PairwiseJudge(model) if (dialect or named) == "pairwise" else JsonJudge(model)


@dataclass(frozen=True)
class JsonJudge:
    """Asks about several pairs in one call; what was left out or garbled is asked once more, by itself."""

    model: ChatModel

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        found, usage = await self._ask(pairs, timeout_s=timeout_s, hear=hear)
        if left := [place for place in range(len(pairs)) if place not in found]:
            rest, tell = [pairs[at] for at in left], lambda _, cost: hear({}, (*usage, *cost))
            again, more = await self._ask(rest, timeout_s=timeout_s, in_words=True, hear=tell)
            found |= {left[place]: judgement for place, judgement in again.items()}
            usage = (*usage, *more)
        return Rulings(tuple(found.get(place) for place in range(len(pairs))), usage, is_prose=not found)

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
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
        paid: list[ModelUsage] = []
        try:
            told = await ask_model(CountedModel(self.model, paid), request, _yes_or_no)
        finally:
            hear({}, [_spent(self.model, usage) for usage in paid])
        return told.value or AnswerRuling(None)

    async def _ask(
        self, pairs: Sequence[Pair], *, timeout_s: float, in_words: bool = False, hear: Hear = unheard
    ) -> tuple[dict[int, Judgement], tuple[ModelUsage, ...]]:
        asking = request_rulings(pairs, timeout_s=timeout_s)
        request = replace(asking, in_words=in_words, accepts=lambda text: bool(read_rulings(text, len(pairs))))
        heard, told = Heard(), dict[int, Judgement]()

        def listen(delta: ChatDelta) -> None:
            if '"' not in delta.text or not _BEGINS.match(heard.text):
                return
            found = _judgements([complete_part(heard.text) or {}], len(pairs), dict(told))
            if new := {place: judgement for place, judgement in found.items() if judgement != told.get(place)}:
                told.update(new)
                hear(new, (_spent(self.model, heard.cost(request)),))

        try:
            answer = await _completed(self.model, request, heard, listen)
        except asyncio.CancelledError:  # given up, and paid all the same
            hear({}, (_spent(self.model, heard.cost(request)),))
            raise
        return read_rulings(answer.text, len(pairs)), (_spent(self.model, answer.cost(request)),)


@dataclass(frozen=True)
class PairwiseJudge:
    """Asks "Document: … Claim: …", answered Yes or No, of every clause of a claim by itself.

    So Bespoke-MiniCheck is asked (its model card), and Granite Guardian understands it. It cannot tell a
    contradiction from silence, nor whether an answer answers.
    """

    model: ChatModel

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        gate, paid = asyncio.Semaphore(CALLS_AT_ONCE), list[ModelUsage]()
        counted = PairwiseJudge(CountedModel(self.model, paid))
        try:
            said = await asyncio.gather(*(counted._pair(pair, gate, timeout_s=timeout_s) for pair in pairs))
        finally:
            usage = tuple(_spent(self.model, one) for one in paid)
            hear({}, usage)
        return Rulings(tuple(said), usage, is_prose=not any(said))

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
        return AnswerRuling(None)

    async def _pair(self, pair: Pair, gate: asyncio.Semaphore, *, timeout_s: float) -> Judgement | None:
        said: list[bool | None] = []
        for clause in clauses(pair.claim):
            async with gate:
                said.append(await self._clause(clause, pair, timeout_s=timeout_s))
        if None in said:
            return None
        share = sum(map(bool, said)) / len(said)
        return Judgement(Ruling.SUPPORTED if share == 1 else Ruling.PARTIAL if share else Ruling.UNSUPPORTED)

    async def _clause(self, clause: str, pair: Pair, *, timeout_s: float) -> bool | None:
        """Yes or no; asked once more where it is neither, then None."""
        document = "\n".join(filter(None, [pair.title, *(_plain(one, MAX_PASSAGE_CHARS) for one in pair.passages)]))
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
        for _ in range(2):
            answer = await _completed(self.model, request)
            if word := _YES_OR_NO.search(answer.text):
                return word.group().lower() == "yes"
        return None


def request_rulings(pairs: Sequence[Pair], *, timeout_s: float) -> ChatRequest:
    """One call about all `pairs`: a verdict on each, and behind them all why, since nobody waits for others' reasons.

    Raises `ValueError` when there are none.
    """
    if not pairs:
        raise ValueError("there is nothing to judge")
    why: Json = {"type": "array", "items": {"type": "string"}, "maxItems": len(pairs)}
    return ChatRequest(
        purpose="check",
        system=load_prompt("check_claims").substitute(count=len(pairs)),
        user="\n\n".join(_fenced(number, pair) for number, pair in enumerate(pairs, start=1)),
        schema_name="verdicts",
        schema=strict({**{str(number): _VERDICT for number in range(1, len(pairs) + 1)}, _WHY: why}),
        max_tokens=_TOKENS_OF_FRAME + _TOKENS_A_PAIR * len(pairs),
        timeout_s=timeout_s,
        temperature=0.0,
    )


def _yes_or_no(fields: Mapping[str, Json]) -> AnswerRuling | None:
    answers = _WORDS_OF_ANSWER.get(str(fields.get("answers")).strip().lower())
    return None if answers is None else AnswerRuling(answers, _reason(fields.get("reason")))


async def _completed(
    model: ChatModel, request: ChatRequest, heard: Heard | None = None, hear: Callable[[ChatDelta], None] | None = None
) -> Heard:
    """As `complete`; an answer that is none is an empty one, which is asked for once more as any garbled one is."""
    try:
        return await complete(model, request, heard=heard, hear=hear)
    except ModelGarbled:
        return Heard()


def _spent(model: ChatModel, usage: ModelUsage) -> ModelUsage:
    """Under the judge's name: its price may be another than the writer's."""
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
    objects = [*_objects(text), complete_part(text) or {}]
    lines = {str(number): said for number, said in _reasons(text.splitlines()).items()}
    return _judgements(objects if any(objects) else [lines], count, {})


def _judgements(objects: Iterable[Mapping[str, Json]], count: int, found: dict[int, Judgement]) -> dict[int, Judgement]:
    for item, word, reason in (row for value in objects for row in _rows(value)):
        place = 0 if count == 1 else (item or 0) - 1  # whatever it calls the one it was asked about
        if 0 <= place < count and word in _SEVERITY:
            judgement = Judgement(Ruling(word), _reason(reason))
            both = judgement, found.get(place, judgement)
            found[place] = max(both, key=lambda one: (_SEVERITY[one.ruling], bool(one.reason)))
    return found


def _rows(value: Mapping[str, Json], depth: int = 0) -> Iterator[tuple[int | None, str, Json]]:
    """Number, verdict and reason of each item in an object: by their numbers, or in rows as models write them too."""
    value = named(value, ("item", "number", "id", "verdict", "reason", _WHY))
    if "verdict" in value:
        number = whole_number(value.get("item", value.get("number", value.get("id"))))
        yield number, _word(value["verdict"]), value.get("reason")
        return
    reasons = _reasons(value.get(_WHY))
    for key, said in value.items():
        if (number := whole_number(_ITEM.sub("", key))) is not None:
            row = said if isinstance(said, dict) else {"verdict": said}
            yield number, _word(row.get("verdict")), row.get("reason") or reasons.get(number)
        elif depth < _MAX_DEPTH:
            for one in said if isinstance(said, list) else [said]:
                yield from _rows(one, depth + 1) if isinstance(one, dict) else ()


def _reasons(why: object) -> dict[int, str]:
    """By the number of the item with which each begins."""
    told = (_NUMBERED.match(one) for one in why if isinstance(one, str)) if isinstance(why, list) else ()
    return {int(one["item"]): one["reason"] for one in told if one}


_MAX_DEPTH = 2  # of rows under names of their own
_MAX_BROKEN = 50  # braces that begin nothing readable; each costs a look at the whole text
_ITEM = regex.compile(r"(?i)^\W*item[\W_]*")
_NUMBERED = regex.compile(r"(?is)\W*(?:item\s*)?(?P<item>[0-9]{1,3})\W+(?P<reason>.*)")
_WORD = regex.compile(r"(?i)[\W_]*(fully|part\w*|not)?[ _]*((?:un)?supported|partial|contradicted)[*_ ]*(?:$|[—–:.-])")
_OTHERWISE = {"part": Ruling.PARTIAL, "not": Ruling.UNSUPPORTED}


def _word(said: Json) -> str:
    found = _WORD.match(str(said).strip())  # "Fully supported", "**Supported** - it says so"
    return "" if found is None else _OTHERWISE.get((found[1] or "").lower()[:4], found[2].lower())


def _objects(text: str) -> Iterator[Mapping[str, Json]]:
    """The objects in an answer, also out of a code block or one that was cut short."""
    decoder = json.JSONDecoder(object_pairs_hook=_least)
    at, broken = text.find("{"), 0
    while at >= 0 and broken < _MAX_BROKEN:
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except (json.JSONDecodeError, RecursionError):
            end, broken = at + 1, broken + 1
        at = text.find("{", end)


def _least(fields: Sequence[tuple[str, Json]]) -> dict[str, Json]:
    """An object that may name an item twice, with the less favourable of two verdicts."""
    found: dict[str, Json] = {}
    for key, value in fields:
        if key not in found or _SEVERITY.get(_word(value), -1) >= _SEVERITY.get(_word(found[key]), -1):
            found[key] = value
    return found


@dataclass
class _Asked:
    """A pair that is asked about, and what was said of it until now.

    `ruled` is done once there is a verdict or will be none, `reasoned` once it needs no reason or has one, and `ended`
    once nobody waits for that any more. Where somebody `needs_reason` of what is refused, its call is not given up.
    """

    pair: Pair
    needs_reason: bool
    ruled: asyncio.Future[None] = field(default_factory=asyncio.Future)
    reasoned: asyncio.Future[None] = field(default_factory=asyncio.Future)
    ended: asyncio.Future[None] = field(default_factory=asyncio.Future)
    said: Judgement | None = None

    def take(self, said: Judgement) -> None:
        self.said = said
        _done(self.ruled)
        if said.ruling in (Ruling.SUPPORTED, Ruling.PARTIAL) or said.reason:
            _done(self.reasoned)


def _done(*futures: asyncio.Future[None]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


@dataclass
class Judging:
    """Puts pairs to a judge in small concurrent calls, as they come; `judge` is None where there is none.

    Every pair gets a judgement or None: a call that fails leaves its pairs open, and `failures` says why. `left_s`
    is how long an answer may still take; later ones are not waited for. A judge that gives no verdict in its first
    `MAX_PROSE` calls is asked no more.
    """

    judge: SupportJudge | None
    left_s: Callable[[], float]
    call_timeout_s: float = 20.0
    usage: list[ModelUsage] = field(default_factory=list)
    failures: list[ModelError] = field(default_factory=list)
    notes: tuple[str, ...] = ()  # limitations
    _asked: dict[Pair, _Asked] = field(default_factory=dict)
    linger_s: float = LINGER_S
    _is_hurried: bool = False
    _prose: int | None = 0  # calls that held no verdict; None once one did
    _waiting: list[_Asked] = field(default_factory=list)
    _others: list[_Asked] = field(default_factory=list)
    _has_asked: bool = False
    _calls: set[asyncio.Task[None]] = field(default_factory=set)
    _busy: set[asyncio.Task[None]] = field(default_factory=set)  # those whose verdicts are not all there
    _timer: asyncio.TimerHandle | None = None
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_AT_ONCE))

    async def rule(
        self, pairs: Sequence[Pair], *, may_wait: bool = False, needs_reason: bool = True
    ) -> list[Judgement | None]:
        """A judgement for each pair, in their order. A pair that was asked about before is not asked about again.

        A judgement that confirms a part may come before its reason, which `explained` waits for. So may one that
        refuses, unless the caller `needs_reason`, as whoever shows a removal does.

        While `CALLS_BESIDE` calls have not given their verdicts, new pairs wait and then go in one call. Pairs that
        `may_wait` go along with others; alone only where they fill a call, or where nothing else is asked.
        """
        if self.judge is None or not pairs or self.left_s() <= 0:
            return [None] * len(pairs)
        new = [_Asked(pair, needs_reason) for pair in dict.fromkeys(pairs) if pair not in self._asked]
        self._asked |= {one.pair: one for one in new}
        (self._others if may_wait else self._waiting).extend(new)
        if self._is_hurried or len(self._waiting) >= PAIRS_A_CALL or len(self._others) >= PAIRS_A_CALL:
            self._start_in(0.0)
        elif not may_wait and len(self._busy) < CALLS_BESIDE:
            self._start_in(self.linger_s if self._busy and self._has_asked else 0.0)  # the reader has nothing yet
        elif may_wait and not self._busy:
            self._start_in(IDLE_S)
        asked = [self._asked[pair] for pair in pairs]
        for one in asked:
            one.needs_reason |= needs_reason
        waited = {one.reasoned if needs_reason else one.ruled for one in asked}
        await asyncio.wait(waited, timeout=max(self.left_s(), 0.01))
        return [one.said for one in asked]

    async def explained(self, pairs: Sequence[Pair]) -> list[Judgement | None]:
        """The judgements of pairs that were ruled on, with their reasons: waits until their calls have ended.

        Once nothing more is written and every pair has its verdict, reasons that are missing are not waited for.
        """
        asked = [self._asked.get(pair) for pair in pairs]
        if waited := {one.ended for one in asked if one is not None}:
            await asyncio.wait(waited, timeout=max(self.left_s(), 0.01))
        return [one.said if one else None for one in asked]

    def hurry(self, *, is_on: bool = True) -> None:
        """Nothing more is being written that a pair should wait for; `is_on` False where writing begins anew."""
        self._is_hurried = is_on
        if is_on:
            self.ask_on()
        self._let_go()

    def ask_on(self) -> None:
        """What waits goes, behind the pairs of the sentence that was taken last: who wrote it writes no more."""
        self._start_in(0.0)

    async def answers(self, question: str, text: str) -> AnswerRuling:
        """Whether `text` answers `question`; open where nobody could be asked."""
        timeout_s = min(self.call_timeout_s, self.left_s())
        if self.judge is None or not text.strip() or timeout_s <= 0:
            return AnswerRuling(None)
        try:
            async with asyncio.timeout(timeout_s):
                return await self.judge.judge_answer(
                    question, text, timeout_s=timeout_s, hear=lambda _, spent: self.usage.extend(spent)
                )
        except (TimeoutError, ModelError) as exc:  # it stays open
            self.failures += [exc] if isinstance(exc, ModelError) else []
        return AnswerRuling(None)

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
        if self._timer is not None:
            if self._timer.when() <= loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = loop.call_later(seconds, self._start)

    def _start(self) -> None:
        self._timer = None
        left = max(len(self._waiting + self._others), 1)
        calls = min(-(-left // PAIRS_AT_END), CALLS_AT_ONCE) if self._is_hurried else 1
        most = min(-(-left // calls), PAIRS_A_CALL)
        while self.judge is not None and (self._waiting or self._others):
            call = asyncio.create_task(self._call(self.judge, self._next_batch(most)))
            self._calls.add(call)
            self._busy.add(call)
            call.add_done_callback(self._calls.discard)
            call.add_done_callback(self._go_on)
            if not self._is_hurried and max(len(self._waiting), len(self._others)) < PAIRS_A_CALL:
                break

    def _next_batch(self, most: int) -> list[_Asked]:
        """What is asked next: what is waited for before all else; the very first of it alone."""
        batch, self._waiting = self._waiting[:most], self._waiting[most:]
        free = 0 if batch and not self._has_asked else max(most - len(batch), 0)
        more, self._others = self._others[:free], self._others[free:]
        self._has_asked |= bool(batch)
        return batch + more

    def _go_on(self, call: asyncio.Task[None]) -> None:
        """What has waited for the verdicts of a call begins the next one."""
        if call in self._busy:
            self._busy.discard(call)
            if (self._waiting or self._others) and not call.cancelled():
                self._start_in(0.0 if self._waiting else IDLE_S)

    async def _call(self, judge: SupportJudge, batch: Sequence[_Asked]) -> None:
        spent: list[ModelUsage] = []

        def hear(found: Mapping[int, Judgement], so_far: Sequence[ModelUsage]) -> None:
            spent[:] = so_far
            for place, judgement in found.items():
                batch[place].take(judgement)
            if all(one.ruled.done() for one in batch) and (call := asyncio.current_task()):
                self._go_on(call)
            self._let_go()

        try:
            async with self._gate:
                timeout_s = max(min(self.call_timeout_s, self.left_s()), 0.1)
                rulings = await judge.judge([one.pair for one in batch], timeout_s=timeout_s, hear=hear)
                spent[:] = rulings.usage
                for one, judgement in zip(batch, rulings.judgements, strict=True):
                    one.said = judgement
                self._prose = self._prose + 1 if rulings.is_prose and self._prose is not None else None
                if self._prose == MAX_PROSE:
                    self.judge, self.notes = None, (say(NO_VERDICTS),)
                    self._end([*self._asked.values()])
                    for call in self._calls - {asyncio.current_task()}:
                        call.cancel()
        except ModelError as exc:
            self.failures.append(exc)  # what it said before stands
        finally:
            self.usage += spent
            self._end(batch)

    def _end(self, asked: Sequence[_Asked]) -> None:
        for one in asked:
            if one.said is None:
                self._asked.pop(one.pair, None)  # whoever says the same later may be luckier
            _done(one.ruled, one.reasoned, one.ended)
        self._let_go()

    def _let_go(self) -> None:
        """At the end nobody waits for reasons alone."""
        waited = (one.reasoned if one.needs_reason else one.ruled for one in self._asked.values())
        if self._is_hurried and all(future.done() for future in waited):
            _done(*(one.ended for one in self._asked.values()))
