"""What people say to a running job, worked into its state between two rounds; and whether another round is made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from rapidfuzz import fuzz

from core.deep.state import ChecklistItem, DeepState
from core.model.steering import Steering

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
            return replace(state, min_rounds=max(state.min_rounds, made + DEEPER_ROUNDS)), "Going deeper, as you asked."
        case "constraint":
            wishes = (*state.constraints, steering.text)[-MAX_CONSTRAINTS:]
            return replace(state, constraints=wishes), f"From now on: {steering.text}"
        case "answer_now":
            return state, "Answering now, as you asked."
        case "cancel":
            return state, ""


def _add(state: DeepState, text: str, *, max_items: int) -> tuple[DeepState, str]:
    if not text or len(state.checklist) >= max_items:
        return state, f"The checklist is full; not added: {text}" if text else ""
    item = ChecklistItem(str(state.last_item + 1), text)
    return replace(state, checklist=(*state.checklist, item), last_item=state.last_item + 1), f"Added: {text}"


def _drop(state: DeepState, text: str) -> tuple[DeepState, str]:
    dropped = _named(state.checklist, text)
    if dropped is None or len(state.checklist) == 1:
        return state, f"Nothing on the checklist to drop for: {text}"
    kept = tuple(item for item in state.checklist if item is not dropped)
    return replace(state, checklist=kept), f"Dropped: {dropped.description}"


def _named(items: Sequence[ChecklistItem], text: str) -> ChecklistItem | None:
    """The item with this number, else the one whose words are meant."""
    by_id = next((item for item in items if item.id == text.strip(" #.")), None)
    if by_id is not None or not text:
        return by_id
    scored = [(fuzz.partial_ratio(text.casefold(), item.description.casefold()), item) for item in items]
    score, best = max(scored, key=lambda entry: entry[0])
    return best if score >= _ALIKE else None
