"""What of a question's time was waiting for the outside, and the shortest it could have taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.bench.conditions import Pace
from tests.bench.model_script import ModelCall
from tests.bench.outside import ROBOTS, Journal

Span = tuple[float, float]
CHECKS = frozenset({"verdicts", "answers"})


@dataclass(frozen=True)
class Waited:
    """Between two moments: `path_s` is the critical path, `waiting_s` the time when something outside was at work.

    `behind_s` is what passed between the last token of the last answer and the end, judging above all.
    """

    path_s: float
    waiting_s: float
    behind_s: float
    model_calls: tuple[ModelCall, ...]
    searches: int
    pages: int
    robots: int


def read_journal(journal: Journal, pace: Pace, begin: float, end: float, *, rounds: int = 1) -> Waited:
    """`pace` is the outside's own; the moments are on the monotonic clock.

    The critical path is plan + search + page + answer, as long as each was told to take: the plan's searches can only
    begin when it is there, their pages after them, and so on. One page is counted, since pages are read side by side;
    robots.txt, which comes before it, is not, nor is a check that begins while the answer is written. Of calls for the
    same at once the longest counts, of one that was given up what came by the end. Each of several `rounds` has a
    search and a page of its own.
    """
    calls = tuple(
        replace(call, lasts_s=min(call.lasts_s, end - call.at)) for call in journal.model if begin <= call.at <= end
    )
    searches = [at for at in journal.searches if begin <= at <= end]
    web = [(at, path) for at, path in journal.pages if begin <= at <= end]
    pages = [at for at, path in web if path != ROBOTS]
    spans = [
        *((call.at, call.at + call.lasts_s) for call in calls),
        *((at, at + pace.search_s) for at in searches),
        *((at, at + pace.page_s) for at, _ in web),
    ]
    gathering_s = pace.search_s * bool(searches) + pace.page_s * bool(pages)
    answers = [(call.at, call.at + call.lasts_s) for call in calls if call.purpose == "answer"]
    path = [call for call in calls if not (call.purpose in CHECKS and any(a <= call.at <= b for a, b in answers))]
    path_s = _serial_s(path) + rounds * gathering_s
    return Waited(
        path_s=path_s,
        behind_s=end - max((last for _, last in answers), default=end),
        waiting_s=_union_s((max(first, begin), min(last, end)) for first, last in spans),
        model_calls=calls,
        searches=len(searches),
        pages=len(pages),
        robots=len(web) - len(pages),
    )


def _serial_s(calls: Iterable[ModelCall]) -> float:
    """One after the other, of those of one purpose that overlap the longest."""
    total, last = 0.0, dict[str, tuple[float, float]]()
    for call in sorted(calls, key=lambda call: call.at):
        ends_at, longest = last.get(call.purpose, (float("-inf"), 0.0))
        longest = longest if call.at < ends_at else 0.0
        total += max(call.lasts_s - longest, 0.0)
        last[call.purpose] = (max(ends_at, call.at + call.lasts_s), max(longest, call.lasts_s))
    return total


def _union_s(spans: Iterable[Span]) -> float:
    total, reached = 0.0, float("-inf")
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, reached))
        reached = max(reached, last)
    return total
