"""Whether a candidate is a change: several questions to the judge about the same matter, and a count of what it says.

A judge errs, and errs the same way when it is asked the same; so each candidate is put to it in several ways, in one
call.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from core.evidence.judge import Judgement, Pair, Ruling, SupportJudge
from core.model.answer import ModelUsage
from core.model.errors import ModelError
from core.watch.comparison import Nearness
from core.watch.watch import Change

SUSPECTS = 2  # votes for a change, of the first four, from which it is researched
CONFIRMS = 0.6  # share of all votes, from which it is one: a judge that errs in one of ten pairs errs here in 0.1 %
MAX_PAIRS = 40  # of one call; some 6,000 tokens
VOTE_TIMEOUT_S = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ballot:
    """A question to the judge: a vote for a change unless the passages say the claim."""

    pair: Pair

    def vote(self, judgement: Judgement | None) -> bool:
        """A judge that is not believed has its confirmations taken back, so an open pair speaks for no change."""
        return judgement is not None and judgement.ruling not in (Ruling.SUPPORTED, Ruling.PARTIAL)


@dataclass(frozen=True)
class Votes:
    """The candidates with what was said of each so far; `calls` that it took, and their cost."""

    changes: tuple[Change, ...]
    calls: int = 0
    usage: tuple[ModelUsage, ...] = ()


class BallotMaker(Protocol):
    def __call__(self, change: Change) -> list[Ballot]: ...


def on_pages(known: Sequence[str], now: Sequence[str]) -> BallotMaker:
    """Of a look at pages: `known` are the told claims and the sentences read before, `now` those on the pages now."""
    nearness = Nearness([*known, *now])

    def ballots(change: Change) -> list[Ballot]:
        was = list(dict.fromkeys((change.before, change.before_quote)))
        if not change.now:
            return [ballot for said in was for ballot in _asked(said, nearness.around(said, now))]
        is_known = _asked(change.now, nearness.around(change.now, known))
        if change.kind == "new":
            return is_known
        return [*(Ballot(Pair(said, (change.now,))) for said in was), Ballot(Pair(change.now, tuple(was))), *is_known]

    return ballots


def on_answer(claims: Sequence[str], known: Sequence[str]) -> BallotMaker:
    """Of a new answer: whether it says no more what was, and says in words of its own what was not `known`."""
    nearness = Nearness([*claims, *known])

    def ballots(change: Change) -> list[Ballot]:
        found = _asked(change.before, nearness.around(change.before, claims))[:2] if change.before else []
        said = nearness.nearest(change.now, claims, most=1) if change.now else []
        return [*found, *(ballot for one in said for ballot in _asked(one, nearness.around(one, known))[:2])]

    return ballots


async def vote(changes: Sequence[Change], ballots: BallotMaker, judge: SupportJudge | None) -> Votes:
    """Each candidate that is not certain gets its votes, in one call. A judge that is away says nothing."""
    asked = [[] if change.is_certain else ballots(change) for change in changes]
    pairs = list(dict.fromkeys(one.pair for some in asked for one in some if one.pair.passages))[:MAX_PAIRS]
    said: dict[Pair, Judgement | None] = {}
    usage: tuple[ModelUsage, ...] = ()
    if judge is not None and pairs:
        try:
            rulings = await judge.judge(pairs, timeout_s=VOTE_TIMEOUT_S)
        except ModelError as exc:
            log.warning("nobody could be asked whether it changed", extra={"error": str(exc)})
        else:
            said, usage = dict(zip(pairs, rulings.judgements, strict=True)), rulings.usage
    voted = [
        replace(change, votes=(*change.votes, *_counted(some, said)))
        for change, some in zip(changes, asked, strict=True)
    ]
    return Votes(tuple(voted), calls=int(bool(usage)), usage=usage)


def _counted(ballots: Sequence[Ballot], said: dict[Pair, Judgement | None]) -> list[bool]:
    """Nothing to compare with speaks for a change. Nobody votes where nobody was asked."""
    if not said:
        return []
    return [not one.pair.passages or one.vote(said.get(one.pair)) for one in dict.fromkeys(ballots)]


def is_suspect(change: Change) -> bool:
    """Worth research; without any vote, too: there is no judge, or it is away."""
    return change.is_certain or not change.votes or sum(change.votes) >= min(SUSPECTS, len(change.votes))


def is_confirmed(change: Change) -> bool:
    """Without a judge, only what rules are certain of."""
    return change.is_certain or (bool(change.votes) and sum(change.votes) >= CONFIRMS * len(change.votes))


def _asked(claim: str, passages: Sequence[str]) -> list[Ballot]:
    """Beside the nearest passages in several ways: a judge that errs on one of them may not on the next."""
    ways = dict.fromkeys(map(tuple, (passages[:3], passages, passages[::-1], [*passages[1:], *passages[:1]])))
    return [Ballot(Pair(claim, way)) for way in ways]
