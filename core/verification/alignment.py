"""A claim laid beside a passage, word by word, so that differences stand out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.verification.opposites import are_opposite
from core.verification.reading import match_tokens, read
from core.verification.words import Kind, Token

MAX_WORDS = 220  # of either side; the table costs their product
_GAP_IN_CLAIM = -0.35  # leaving a claim word unmatched
_GAP_IN_PASSAGE = -0.04  # skipping a passage word; cheap, as a claim says less than its source
_SAME_KIND = 0.10  # a name opposite another name, a number opposite another number
_OPPOSITE = 0.40  # increase opposite decrease
_OTHER_WORD = -0.25  # a word opposite an unrelated one
_REWARD = {Kind.NUMBER: 1.3, Kind.NAME: 1.3}


@dataclass(frozen=True)
class Step:
    """A place in the alignment; either side may be missing. `match` is 0…1."""

    claim: Token | None
    passage: Token | None
    match: float


@dataclass(frozen=True)
class Replacement:
    """`held` is how many of the four neighbouring words match, 0…4."""

    claimed: Token
    said: Token
    held: int


@dataclass(frozen=True)
class Alignment:
    steps: tuple[Step, ...]

    @property
    def matched(self) -> float:
        """The share of the claim's content words that stand opposite their match, in order; 0…1."""
        sides = [step for step in self.steps if step.claim is not None]
        return sum(step.match for step in sides) / len(sides) if sides else 0.0

    @cached_property
    def partner(self) -> dict[Token, Token]:
        """The passage word that each claim word matches."""
        return {step.claim: step.passage for step in self.steps if step.claim and step.passage and step.match}

    @cached_property
    def replaced(self) -> tuple[Replacement, ...]:
        """Claim words that stand in the place of another word of the passage."""
        return tuple(
            Replacement(step.claim, step.passage, self._held(position))
            for position, step in enumerate(self.steps)
            if step.claim and step.passage and not step.match
        )

    def _held(self, position: int) -> int:
        """How many of the four neighbouring steps match: what says that the place is the same."""
        near = [position - 2, position - 1, position + 1, position + 2]
        return sum(self.steps[at].match > 0 for at in near if 0 <= at < len(self.steps))


@lru_cache(maxsize=512)
def align(claim: str, passage: str) -> Alignment:
    """The best monotone alignment of the content words (Needleman & Wunsch 1970)."""
    left, right = read(claim).content[:MAX_WORDS], read(passage).content[:MAX_WORDS]
    return Alignment(tuple(_trace(left, right, _moves(left, right))))


def _reward(left: Token, right: Token) -> tuple[float, float]:
    match = match_tokens(left, right)
    if match:
        return match * _REWARD.get(left.kind, 1.0), match
    if are_opposite(left.stem, right.stem):
        return _OPPOSITE, 0.0
    return (_SAME_KIND if left.kind is right.kind and left.kind is not Kind.WORD else _OTHER_WORD), 0.0


def _moves(left: Sequence[Token], right: Sequence[Token]) -> list[list[int]]:
    """For each cell the move that leads there: 0 diagonal, 1 a claim word alone, 2 a passage word alone."""
    above = [_GAP_IN_PASSAGE * column for column in range(len(right) + 1)]
    moves = [[2] * (len(right) + 1)]
    for word in left:
        row, current = [1], [above[0] + _GAP_IN_CLAIM]
        for column, other in enumerate(right, start=1):
            diagonal = above[column - 1] + _reward(word, other)[0]
            alone, skipped = above[column] + _GAP_IN_CLAIM, current[column - 1] + _GAP_IN_PASSAGE
            best = max(diagonal, alone, skipped)
            current.append(best)
            row.append(0 if best == diagonal else 1 if best == alone else 2)
        moves.append(row)
        above = current
    return moves


def _trace(left: Sequence[Token], right: Sequence[Token], moves: Sequence[Sequence[int]]) -> list[Step]:
    row, column = len(left), len(right)
    steps: list[Step] = []
    while row or column:
        move = moves[row][column] if row and column else (1 if row else 2)
        if move == 0:
            steps.append(Step(left[row - 1], right[column - 1], _reward(left[row - 1], right[column - 1])[1]))
            row, column = row - 1, column - 1
        elif move == 1:
            steps.append(Step(left[row - 1], None, 0.0))
            row -= 1
        else:
            steps.append(Step(None, right[column - 1], 0.0))
            column -= 1
    return steps[::-1]
