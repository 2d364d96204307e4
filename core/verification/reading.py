"""A text read once for all rules: its tokens and what can be looked up in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.verification.quantities import is_ordinal, is_ordinal_word, same_number
from core.verification.synonyms import meanings
from core.verification.words import Kind, Token, tokenize

ROOT_MATCH = 0.85  # 0…1, how much a match by root alone counts; by judgement
SYNONYM_MATCH = 0.8
ARTICLES = frozenset({"a", "an", "the"})
ROUNDING = 0.06  # share of a number; quantities.same_number allows 5 per cent of the other


class NumberLine:
    """The distinct numbers of a text in order of value, so that looking for one does not mean trying all."""

    def __init__(self, numbers: Iterable[Token]) -> None:
        distinct = {number.stem: number for number in numbers}.values()
        self._tokens = sorted(distinct, key=lambda number: number.value or 0.0)
        self._values = [number.value or 0.0 for number in self._tokens]

    def near(self, number: Token) -> list[Token]:
        """Those that `number` may be a rounding of."""
        value = number.value or 0.0
        slack = ROUNDING * abs(value)
        return self._tokens[bisect_left(self._values, value - slack) : bisect_right(self._values, value + slack)]


@dataclass(frozen=True)
class Reading:
    text: str

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tokenize(self.text)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.is_content)

    @cached_property
    def names(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind is Kind.NAME)

    @cached_property
    def units(self) -> tuple[tuple[Token, ...], ...]:
        """The content words in order, a name of several words as one."""
        units: list[tuple[Token, ...]] = []
        for word in self.content:
            last = units[-1][-1] if units else None
            if last is not None and word.kind is last.kind is Kind.NAME and word.start - last.end == 1:
                units[-1] = (*units[-1], word)
            else:
                units.append((word,))
        return tuple(units)

    @cached_property
    def name_stems(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.names)

    @cached_property
    def positions(self) -> dict[Token, int]:
        """Where each token stands in `tokens`."""
        return {token: position for position, token in enumerate(self.tokens)}

    @cached_property
    def initials(self) -> frozenset[str]:
        """Initials of runs of two to six capitalised words, small words between them left out."""
        letters = [
            token.text[0].lower() if token.text[:1].isupper() else " " for token in self.tokens if self._counts(token)
        ]
        line = "".join(letters)
        return frozenset(
            run[at : at + size] for run in line.split() for size in range(2, 7) for at in range(len(run) - size + 1)
        )

    @staticmethod
    def _counts(token: Token) -> bool:
        return token.kind is not Kind.FUNCTION or token.text[:1].isupper()

    @cached_property
    def numbers(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind is Kind.NUMBER)

    @cached_property
    def number_line(self) -> NumberLine:
        return NumberLine(self.numbers)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.content)

    @cached_property
    def roots(self) -> frozenset[str]:
        return frozenset(token.root for token in self.content)

    @cached_property
    def meanings(self) -> frozenset[int]:
        return frozenset(meaning for token in self.content for meaning in meanings(token.stem))

    def lead(self, word: Token) -> tuple[str, ...]:
        """The small words between a content word and the one before it, articles left out."""
        at = self.positions[word]
        first = at
        while first and not self.tokens[first - 1].is_content:
            first -= 1
        return tuple(token.stem for token in self.tokens[first:at] if token.stem not in ARTICLES)

    def match(self, token: Token) -> float:
        """How well some word of this text matches `token`, 0…1."""
        if token.stem in self.stems:
            return 1.0
        if token.kind is Kind.NUMBER:
            return float(any(match_tokens(token, number) for number in self.number_line.near(token)))
        if token.root in self.roots:
            return ROOT_MATCH
        return SYNONYM_MATCH if any(meaning in self.meanings for meaning in meanings(token.stem)) else 0.0


@lru_cache(maxsize=512)
def read(text: str) -> Reading:
    """The reading of `text`, kept for the next rule."""
    return Reading(text)


def match_tokens(left: Token, right: Token) -> float:
    """How well the claim's word `left` matches a source's, 0…1; a number may be rounded."""
    if left.stem == right.stem:
        return 1.0
    if left.value is not None or right.value is not None:
        if left.value is None or right.value is None:
            return 0.0
        if is_ordinal_word(left.text.lower()) != is_ordinal_word(right.text.lower()):
            return float(left.value == right.value and is_ordinal(left.text.lower()) and is_ordinal(right.text.lower()))
        return float(same_number(left.value, right.value, left.text))
    if left.root == right.root:
        return ROOT_MATCH
    shared = set(meanings(left.stem)) & set(meanings(right.stem))
    return SYNONYM_MATCH if shared else 0.0
