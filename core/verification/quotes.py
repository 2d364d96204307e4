"""Quotes checked letter by letter: what a quote says must stand in the source as one run.

Compared without regard to case, white space, kind of quotation mark, dash or compatibility form
(NFKC: ligatures, full-width letters), soft hyphens and zero-width characters. Where that finds
nothing, one run at least 85 % alike counts too, if it differs by no more than typing slips, hyphens at
line ends, punctuation and reference marks left out. No number, name, negation or other word may differ.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex
from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein, Levenshtein

from core.verification.opposites import are_opposite
from core.verification.words import Kind, Token, tokenize

MIN_ALIKE = 85.0  # per cent, rapidfuzz's partial ratio
MIN_QUOTE_CHARS = 8  # a shorter run occurs by chance
MIN_SLIP_CHARS = 5  # letters of a word in which one wrong letter is taken for a typing slip
_SINGLE_QUOTES, _DOUBLE_QUOTES, _DASHES = "‘’‚‛′`´", "“”„‟″«»", "‐‑‒–—―−"
_SAME = {ord(c): "'" for c in _SINGLE_QUOTES} | {ord(c): '"' for c in _DOUBLE_QUOTES} | {ord(c): "-" for c in _DASHES}
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_OUTER = " \t\n\"'.,;:…"
_REFERENCE = regex.compile(r"\[[\p{Nd},;–\- ]{1,20}\]")  # [12], [3, 4]


@dataclass(frozen=True)
class _Plain:
    """`text` as compared; `offsets[i]` is where its i-th character stands in the original."""

    text: str
    offsets: tuple[int, ...]


def verify_quote(quote: str, content: str) -> tuple[int, int] | None:
    """Where `quote` stands in `content`, as half-open offsets; None if it does not, or not unaltered."""
    wanted = _plain(quote).text.strip(_OUTER)
    if not any(character.isalnum() for character in wanted):
        return None
    plain = _plain_content(content)
    at = _find_whole(wanted, plain.text)
    if at is not None:
        return _original(plain, at, at + len(wanted))
    return _find_alike(wanted, plain)


def _plain(text: str) -> _Plain:
    characters: list[str] = []
    offsets: list[int] = []
    for offset, character in enumerate(text):
        if character in _INVISIBLE:
            continue
        for piece in unicodedata.normalize("NFKC", character.translate(_SAME)).casefold():
            if piece.isspace():
                if not characters or characters[-1] == " ":
                    continue
                characters.append(" ")
            else:
                characters.append(piece)
            offsets.append(offset)
    return _Plain("".join(characters), tuple(offsets))


@lru_cache(maxsize=32)
def _plain_content(content: str) -> _Plain:
    return _plain(content)


def _find_whole(wanted: str, text: str) -> int | None:
    """Where `wanted` begins, not inside a word."""
    at = text.find(wanted)
    while at >= 0:
        if not _inside_word(text, at) and not _inside_word(text, at + len(wanted)):
            return at
        at = text.find(wanted, at + 1)
    return None


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _original(plain: _Plain, start: int, end: int) -> tuple[int, int]:
    return plain.offsets[start], plain.offsets[end - 1] + 1


def _find_alike(wanted: str, plain: _Plain) -> tuple[int, int] | None:
    if not MIN_QUOTE_CHARS <= len(wanted) <= len(plain.text):
        return None
    found = fuzz.partial_ratio_alignment(wanted, plain.text, score_cutoff=MIN_ALIKE)
    if found is None:
        return None
    start, end = _whole_words(plain.text, found.dest_start, found.dest_end)
    run = plain.text[start:end]
    if fuzz.ratio(wanted, run) < MIN_ALIKE or not _says_the_same(wanted, run):
        return None
    return _original(plain, start, end)


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    while _inside_word(text, start):
        start -= 1
    while _inside_word(text, end):
        end += 1
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def _says_the_same(quote: str, run: str) -> bool:
    if not _REFERENCE.search(quote):  # reference marks may be left out, though not changed
        run = _REFERENCE.sub(" ", run)
    left, right = tokenize(quote), tokenize(run)
    changes = Levenshtein.opcodes([word.text for word in left], [word.text for word in right])
    for change in changes:
        if change.tag == "equal":
            continue
        ours, theirs = left[change.src_start : change.src_end], right[change.dest_start : change.dest_end]
        if not _is_slip(ours, theirs):
            return False
    return True


def _is_slip(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Words that were joined or parted, or of which one letter is wrong."""
    if not ours or not theirs or any(word.kind is Kind.NUMBER for word in (*ours, *theirs)):
        return False
    left, right = "".join(word.text for word in ours), "".join(word.text for word in theirs)
    if left == right:
        return True
    if len(ours) != 1 or len(theirs) != 1 or are_opposite(ours[0].stem, theirs[0].stem):
        return False
    return min(len(left), len(right)) >= MIN_SLIP_CHARS and DamerauLevenshtein.distance(left, right) == 1
