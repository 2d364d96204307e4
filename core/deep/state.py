"""What a deep research job knows: the refined question, the checklist, the facts, the rounds made so far.

Every value is frozen and can be stored as JSON. The state is folded from what the durable steps return, so a run that
resumes after a crash stands exactly where it stood. What people say to the job is worked into it between two rounds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeVar

from rapidfuzz import fuzz

from core.model.answer import Claim, Evidence, ModelUsage
from core.model.job import Steering
from core.model.source import SearchMetadata
from core.text.saying import say

GOOD_SHARE = 0.6  # of the items satisfied, when the others are partial, is good coverage (S002-11); by judgement


class Coverage(StrEnum):
    SATISFIED = "satisfied"
    PARTIAL = "partial"
    UNSATISFIED = "unsatisfied"


@dataclass(frozen=True)
class ChecklistItem:
    """One thing a good answer must address. `facts` are the numbers of what was found; `missing` is what was not."""

    id: str
    description: str
    coverage: Coverage = Coverage.UNSATISFIED
    facts: tuple[int, ...] = ()
    missing: str = ""

    @property
    def is_satisfied(self) -> bool:
        return self.coverage is Coverage.SATISFIED


@dataclass(frozen=True)
class Fact:
    """A sentence and the span of a source that says it. `learned_on` is the ISO day of an earlier job, else ""."""

    number: int
    text: str
    items: tuple[str, ...]
    evidence: Evidence
    learned_on: str = ""


@dataclass(frozen=True)
class RefinedQuestion:
    """Step 1 and 2 of S002: the question, its boundaries, its terms, and what a good answer must address."""

    question: str
    in_scope: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    key_terms: tuple[str, ...] = ()
    checklist: tuple[str, ...] = ()
    usage: tuple[ModelUsage, ...] = ()


@dataclass(frozen=True)
class RoundQueries:
    """What a round searches for. `failure` says why the model gave nothing, "" when it did."""

    pubmed: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    usage: tuple[ModelUsage, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class RoundSources:
    """What a round found. `last_number` is that of the newest source of the job; `results` counts documents."""

    last_number: int
    results: int
    articles: int
    pages: int
    metadata: SearchMetadata = field(default_factory=SearchMetadata)
    failure: str = ""


@dataclass(frozen=True)
class NewFacts:
    facts: tuple[Fact, ...] = ()
    last_number: int = 0  # of the sources, where facts bring their own
    usage: tuple[ModelUsage, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class ItemCheck:
    id: str
    coverage: Coverage
    facts: tuple[int, ...] = ()
    missing: str = ""


@dataclass(frozen=True)
class Completeness:
    items: tuple[ItemCheck, ...] = ()
    usage: tuple[ModelUsage, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Round:
    """One iteration as it is told afterwards; `satisfied` of `items` at its end."""

    number: int
    pubmed: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    results: int = 0
    articles: int = 0
    pages: int = 0
    new_facts: int = 0
    satisfied: int = 0
    items: int = 0

    @property
    def queries(self) -> tuple[str, ...]:
        return (*self.pubmed, *self.web)


@dataclass(frozen=True)
class DeepState:
    """Where a job stands. `heard` counts what was said to it, `last_number` its sources."""

    question: str = ""
    refined: RefinedQuestion = field(default_factory=lambda: RefinedQuestion(""))
    checklist: tuple[ChecklistItem, ...] = ()
    facts: tuple[Fact, ...] = ()
    rounds: tuple[Round, ...] = ()
    constraints: tuple[str, ...] = ()
    searches: tuple[SearchMetadata, ...] = ()
    usage: tuple[ModelUsage, ...] = ()
    last_number: int = 0
    heard: int = 0
    last_item: int = 0  # ids of items are not given twice
    min_rounds: int = 1  # made whatever is covered: what was known before is never the whole answer
    idle_since: int = 0  # the last round that brought something new, or after which somebody changed the task
    checked: tuple[int, tuple[str, ...]] = (0, ())  # how many facts, and which items, the last check has seen
    failure: str = ""

    @property
    def satisfied(self) -> int:
        return sum(item.is_satisfied for item in self.checklist)

    @property
    def is_covered(self) -> bool:
        """All items satisfied, or good coverage with no item without any information (S002-11)."""
        if any(item.coverage is Coverage.UNSATISFIED for item in self.checklist):
            return False
        return self.satisfied >= GOOD_SHARE * len(self.checklist)

    @property
    def needed(self) -> tuple[ChecklistItem, ...]:
        """The items that are not satisfied yet; all of them when somebody wants it deeper than that."""
        return tuple(item for item in self.checklist if not item.is_satisfied) or self.checklist

    @property
    def idle_rounds(self) -> int:
        """How many of the last rounds brought nothing new."""
        return len(self.rounds) - self.idle_since

    @property
    def to_check(self) -> tuple[int, tuple[str, ...]]:
        """What a check would look at; the same as `checked` when nothing has changed since."""
        return len(self.facts), tuple(item.id for item in self.checklist)

    def fact(self, number: int) -> Fact | None:
        return next((fact for fact in self.facts if fact.number == number), None)

    def with_question(self, refined: RefinedQuestion) -> DeepState:
        items = tuple(ChecklistItem(str(place), text) for place, text in enumerate(refined.checklist, start=1))
        usage = (*self.usage, *refined.usage)
        return replace(self, refined=refined, checklist=items, last_item=len(items), usage=usage)

    def with_facts(self, found: NewFacts) -> DeepState:
        last_number = max(self.last_number, found.last_number)
        return replace(self._after(found), facts=(*self.facts, *found.facts), last_number=last_number)

    def with_queries(self, number: int, queries: RoundQueries) -> DeepState:
        now = Round(number, queries.pubmed, queries.web, items=len(self.checklist))
        return replace(self._after(queries), rounds=(*self.rounds, now))

    def with_sources(self, found: RoundSources) -> DeepState:
        now = replace(self.rounds[-1], results=found.results, articles=found.articles, pages=found.pages)
        return replace(
            self,
            rounds=(*self.rounds[:-1], now),
            searches=(*self.searches, found.metadata),
            last_number=found.last_number,
            failure=found.failure or self.failure,
        )

    def with_round_facts(self, found: NewFacts) -> DeepState:
        """The facts of the newest round."""
        now = replace(self.rounds[-1], new_facts=len(found.facts))
        state = replace(self.with_facts(found), rounds=(*self.rounds[:-1], now))
        return replace(state, idle_since=len(state.rounds)) if found.facts else state

    def with_coverage(self, checked: Completeness) -> DeepState:
        """Items as they were checked; one is never covered without a fact."""
        checks = {check.id: check for check in checked.items}
        items = tuple(_covered(item, checks.get(item.id), self.facts) for item in self.checklist)
        state = replace(self._after(checked), checklist=items, checked=self.to_check)
        if not state.rounds:
            return state
        now = replace(state.rounds[-1], satisfied=state.satisfied, items=len(items))
        return replace(state, rounds=(*state.rounds[:-1], now))

    def _after(self, step: RoundQueries | NewFacts | Completeness) -> DeepState:
        """With what a step has cost, and why it gave nothing."""
        return replace(self, usage=(*self.usage, *step.usage), failure=step.failure or self.failure)


def settled(state: DeepState, claims: Sequence[Claim]) -> DeepState:
    """The state once the answer stands: an item whose facts it tells is partly covered, whatever the check found."""
    shown = [evidence for claim in claims for evidence in claim.evidence]
    told = {fact.number for fact in state.facts if any(_is_same_place(fact.evidence, one) for one in shown)}

    def known(item: ChecklistItem) -> ChecklistItem:
        bearing = {*item.facts, *(fact.number for fact in state.facts if item.id in fact.items)}
        is_missed = item.coverage is Coverage.UNSATISFIED and bearing & told
        return replace(item, coverage=Coverage.PARTIAL, missing="") if is_missed else item

    return replace(state, checklist=tuple(map(known, state.checklist)))


def _is_same_place(one: Evidence, other: Evidence) -> bool:
    return one.source_id == other.source_id and one.start < other.end and other.start < one.end


def _covered(item: ChecklistItem, check: ItemCheck | None, facts: Sequence[Fact]) -> ChecklistItem:
    """Facts that were taken out for the item count also where the check named none."""
    own = [fact.number for fact in facts if item.id in fact.items]
    known = {fact.number for fact in facts}
    named = [number for number in (check.facts if check else item.facts) if number in known]
    bearing = tuple(dict.fromkeys([*named, *own]))
    if check is None:
        return replace(item, facts=bearing)
    coverage = check.coverage if bearing else Coverage.UNSATISFIED
    return replace(
        item, coverage=coverage, facts=bearing, missing="" if check.coverage == "satisfied" else check.missing
    )


# What people say to a running job, worked into its state between two rounds; and whether another round is made


T = TypeVar("T")
MAX_CONSTRAINTS = 10  # the newest count
DEEPER_ROUNDS = 2  # more, whatever is covered, for who says "go deeper"
_ALIKE = 70.0  # rapidfuzz partial ratio 0…100 between the words of who drops an item and its description


class Stop(StrEnum):
    """Why no further round is made."""

    NONE = ""
    COVERED = "covered"
    ASKED = "asked"
    NOTHING_NEW = "nothing_new"
    MAX_ITERATIONS = "max_iterations"
    OUT_OF_TIME = "out_of_time"
    BUDGET = "budget"
    FAILURE = "failure"


@dataclass(frozen=True)
class RoundStart:
    """What is heard and decided before a round. `runtime_s` is how long the job has been at work by then."""

    said: tuple[Steering, ...] = ()
    runtime_s: float = 0.0
    stop: Stop = Stop.NONE


@dataclass(frozen=True)
class Limits:
    """What ends the search besides coverage. `left_s` is the time before the answer has to be written."""

    max_rounds: int
    idle_rounds: int
    left_s: float
    is_within_budget: bool


def is_hurried(said: Sequence[Steering]) -> bool:
    """Whether somebody wants the answer now."""
    return any(steering.kind == "answer_now" for steering in said)


async def unless_hurried(
    part: Coroutine[None, None, T], cut: T, hears: Callable[[], Awaitable[Sequence[Steering]]], *, every_s: float
) -> T:
    """What a part of a round gives, or `cut` as soon as somebody wants the answer now: then the part is dropped.

    Model answers that were finished by then are kept by the job's memo, as always.
    """
    working = asyncio.ensure_future(part)
    try:
        while not working.done():
            await asyncio.wait([working], timeout=every_s)
            if not working.done() and is_hurried(await hears()):
                return cut
        return working.result()
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


def decide(state: DeepState, said: Sequence[Steering], limits: Limits) -> Stop:
    """Whether to stop before the next round; `state` has heard what was said."""
    made = len(state.rounds)
    checks = (
        (Stop.ASKED, is_hurried(said)),
        (Stop.OUT_OF_TIME, bool(state.failure) and limits.left_s <= 0),  # which is what cut the step off
        (Stop.FAILURE, bool(state.failure)),
        (Stop.COVERED, state.is_covered and made >= state.min_rounds),
        (Stop.MAX_ITERATIONS, made >= limits.max_rounds),
        (Stop.OUT_OF_TIME, limits.left_s <= 0),
        (Stop.BUDGET, not limits.is_within_budget),
        (Stop.NOTHING_NEW, state.idle_rounds >= limits.idle_rounds and made >= state.min_rounds),
    )
    return next((stop for stop, holds in checks if holds), Stop.NONE)


def heed(state: DeepState, said: Sequence[Steering], *, max_items: int) -> tuple[DeepState, list[str]]:
    """The state after what was said, and a line on each for people."""
    lines: list[str] = []
    for steering in said:
        state, line = _heed_one(replace(state, heard=state.heard + 1), steering, max_items=max_items)
        lines += [line] if line else []
    # A changed task deserves its rounds again before the search counts as fruitless.
    return (replace(state, idle_since=len(state.rounds)) if said else state), lines


def _heed_one(state: DeepState, steering: Steering, *, max_items: int) -> tuple[DeepState, str]:
    match steering.kind:
        case "add_item":
            return _add(state, steering.text, max_items=max_items)
        case "drop_item":
            return _drop(state, steering.text)
        case "go_deeper":
            made = len(state.rounds)
            return replace(state, min_rounds=max(state.min_rounds, made + DEEPER_ROUNDS)), say(
                "Going deeper, as you asked."
            )
        case "constraint":
            wishes = (*state.constraints, steering.text)[-MAX_CONSTRAINTS:]
            return replace(state, constraints=wishes), say("From now on: {wish}", wish=steering.text)
        case "answer_now":
            return state, say("Answering now, as you asked.")
        case "cancel":
            return state, ""


def _add(state: DeepState, text: str, *, max_items: int) -> tuple[DeepState, str]:
    if not text or len(state.checklist) >= max_items:
        return state, say("The checklist is full; not added: {item}", item=text) if text else ""
    item = ChecklistItem(str(state.last_item + 1), text)
    return replace(state, checklist=(*state.checklist, item), last_item=state.last_item + 1), say(
        "Added: {item}", item=text
    )


def _drop(state: DeepState, text: str) -> tuple[DeepState, str]:
    dropped = _named(state.checklist, text)
    if dropped is None or len(state.checklist) == 1:
        return state, say("Nothing on the checklist to drop for: {item}", item=text)
    kept = tuple(item for item in state.checklist if item is not dropped)
    return replace(state, checklist=kept), say("Dropped: {item}", item=dropped.description)


def _named(items: Sequence[ChecklistItem], text: str) -> ChecklistItem | None:
    """The item with this number, else the one whose words are meant."""
    by_id = next((item for item in items if item.id == text.strip(" #.")), None)
    if by_id is not None or not text:
        return by_id
    scored = [(fuzz.partial_ratio(text.casefold(), item.description.casefold()), item) for item in items]
    score, best = max(scored, key=lambda entry: entry[0])
    return best if score >= _ALIKE else None
