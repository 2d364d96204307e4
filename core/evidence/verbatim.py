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
from itertools import groupby

import regex
from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein, Levenshtein

from core.evidence.frames import find_frame, limits, points_back, sentence_place, start_of, subject_of
from core.evidence.opposites import are_opposite
from core.evidence.words import Kind, Token, tokenize
from core.sentences import sentences_of
from core.text.language import detect_language

MIN_ALIKE = 85.0  # per cent, rapidfuzz's partial ratio
MIN_QUOTE_CHARS = 8  # a shorter run occurs by chance
MIN_SLIP_CHARS = 5  # letters of a word in which one wrong letter is taken for a typing slip
_SINGLE_QUOTES, _DOUBLE_QUOTES, _DASHES = "‘’‚‛′`´", "“”„‟″«»", "‐‑‒–—―−"
_SAME = {ord(c): "'" for c in _SINGLE_QUOTES} | {ord(c): '"' for c in _DOUBLE_QUOTES} | {ord(c): "-" for c in _DASHES}
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_RUN = regex.compile(r"([!-_a-~]+(?: [!-_a-~]+)*)|.", regex.DOTALL)  # ASCII but the back quote, or one character
_OUTER = " \t\n\"'.,;:…"
_REFERENCE = regex.compile(r"\[[\p{Nd},;–\- ]{1,20}\]")  # [12], [3, 4]

_QUOTATION = regex.compile(r'"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|(?<!\p{L})‘([^‘’]+)’(?!\p{L})')
_LEFT_OUT = regex.compile(r"\[[^\[\]]*\]|\(?(?:\.\s?){3}\)?|…")  # [...], […], [he]
MIN_QUOTED_WORDS = 2  # one word between marks is a term, not what somebody said
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")  # scripts that do not part words


@dataclass(frozen=True)
class _Plain:
    """`text` as compared; `offsets[i]` is where its i-th character stands in the original."""

    text: str
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class _Run:
    """Words from `start` to `end`; `slips` are those of which the quote has a letter wrong."""

    start: int
    end: int
    slips: tuple[Token, ...]


def verify_quote(quote: str, content: str) -> tuple[int, int] | None:
    """Where `quote` stands in `content`, as half-open offsets; None if it does not, or not unaltered."""
    wanted = _plain(quote).text.strip(_OUTER)
    if not any(character.isalnum() for character in wanted):
        return None
    plain = _plain_content(content)
    at = _find_whole(wanted, plain.text)
    if at is not None:
        return _original(plain, at, at + len(wanted))
    return _find_alike(wanted, plain, content)


def quotations_in(text: str) -> list[str]:
    """What stands between quotation marks, cut where the quoter left words out; single words left out."""
    found = [next(part for part in match.groups() if part) for match in _QUOTATION.finditer(text)]
    pieces = [piece.strip() for quotation in found for piece in _LEFT_OUT.split(quotation)]
    return [piece for piece in pieces if len(piece.split()) >= MIN_QUOTED_WORDS]


def _plain(text: str) -> _Plain:
    characters: list[str] = []
    offsets: list[int] = []
    for run in _RUN.finditer(text):
        offset, character = run.start(), run.group()
        if run.lastindex:  # compared as it stands, in lower case: nearly all of an English page
            characters.extend(character.lower())
            offsets.extend(range(offset, run.end()))
            continue
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
    if not 0 < at < len(text) or _UNSPACED.match(text[at]) or _UNSPACED.match(text[at - 1]):
        return False
    return text[at - 1].isalnum() and text[at].isalnum()


def _original(plain: _Plain, start: int, end: int) -> tuple[int, int]:
    return plain.offsets[start], plain.offsets[end - 1] + 1


def _find_alike(wanted: str, plain: _Plain, content: str) -> tuple[int, int] | None:
    if not MIN_QUOTE_CHARS <= len(wanted) <= len(plain.text):
        return None
    found = fuzz.partial_ratio_alignment(wanted, plain.text, score_cutoff=MIN_ALIKE)
    if found is None:
        return None
    slack = len(wanted) // 10 + 2  # the run may be longer than the quote: reference marks, hyphens
    first, last = _whole_words(plain.text, found.dest_start - slack, found.dest_end + slack)
    run = _match_run(wanted, plain.text[first:last])
    if run is None or any(content[plain.offsets[first + slip.start]].isupper() for slip in run.slips):
        return None
    start, end = first + run.start, first + run.end
    return _original(plain, start, end) if fuzz.ratio(wanted, plain.text[start:end]) >= MIN_ALIKE else None


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    start, end = max(0, start), min(len(text), end)
    while _inside_word(text, start):
        start -= 1
    while _inside_word(text, end):
        end += 1
    return start, end


def _match_run(quote: str, text: str) -> _Run | None:
    """The run of `text` that says what `quote` says, word for word; None where any word differs."""
    if not _REFERENCE.search(quote):  # reference marks may be left out, though not changed
        text = _REFERENCE.sub(lambda match: " " * len(match.group()), text)
    left, right = tokenize(quote), tokenize(text)
    changes = list(Levenshtein.opcodes([word.text for word in left], [word.text for word in right]))
    while changes and changes[0].tag == "insert":
        changes.pop(0)
    while changes and changes[-1].tag == "insert":
        changes.pop()
    if not changes:
        return None
    slips: list[Token] = []
    for is_same, group in groupby(changes, key=lambda change: change.tag == "equal"):
        run = list(group)
        ours, theirs = left[run[0].src_start : run[-1].src_end], right[run[0].dest_start : run[-1].dest_end]
        if is_same or _is_joined(ours, theirs):
            continue
        if not _is_slip(ours, theirs):
            return None
        slips.extend(theirs)
    return _Run(right[changes[0].dest_start].start, right[changes[-1].dest_end - 1].end, tuple(slips))


def _is_joined(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """The same letters, parted otherwise: a hyphen at a line's end."""
    return "".join(word.text for word in ours) == "".join(word.text for word in theirs) and not _has_number(ours)


def _is_slip(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """One word of which one letter is wrong, missing or in another's place; another form of a word is no slip."""
    if len(ours) != 1 or len(theirs) != 1 or _has_number((*ours, *theirs)) or ours[0].stem == theirs[0].stem:
        return False
    left, right = ours[0].text, theirs[0].text
    if are_opposite(ours[0].stem, theirs[0].stem) or min(len(left), len(right)) < MIN_SLIP_CHARS:
        return False
    return DamerauLevenshtein.distance(left, right) == 1


def _has_number(words: Sequence[Token]) -> bool:
    return any(word.kind is Kind.NUMBER for word in words)


_STOPS = " .!:;…。．।"  # at a sentence's end, which may be written otherwise
_WRAPPING = " \t\n*_|>#"
_ASIDE = regex.compile(r" ?\([^()]{1,200}\)| ?\[[^\[\]]{1,60}\]|, (?:who|which|where|whose) [^,;:.()]{3,200},")
_TAIL = regex.compile(r", (?:which|who|where|whose|along with|as well as) [^.;:()]{3,300}$")
MAX_PLACES = 40  # of the claim's beginning in the source that are looked at
ANCHOR_CHARS = 24


def find_verbatim(claim: str, content: str, *, before: str = "") -> tuple[int, int] | None:
    """Where the claim stands word for word in `content` and means there what it means here; None where it does not.

    Whole sentences, list items or table rows, compared as `verify_quote` compares; a connective or list number before
    them and the last stop may differ, a parenthesis or ", which …" may be left out where it limits nothing. `before`
    is the sentence shown before the claim: whom a "he" of the claim means, the source must mean too.
    """
    wanted = _bare(claim)
    if not any(character.isalnum() for character in wanted):
        return None
    plain = _plain_content(content)
    at = plain.text.find(wanted[:ANCHOR_CHARS])
    for _ in range(MAX_PLACES):
        if at < 0:
            break
        span = _whole_sentences(wanted, content, plain, at)
        if span is not None and _means_the_same(claim, content, span, before):
            return span
        at = plain.text.find(wanted[:ANCHOR_CHARS], at + 1)
    return None


def _bare(text: str) -> str:
    """As compared: without bullet, connective, outer marks and the last stop."""
    return _plain(text[start_of(text) :]).text.strip(_WRAPPING).rstrip(_STOPS + "*_|")


def _whole_sentences(wanted: str, content: str, plain: _Plain, at: int) -> tuple[int, int] | None:
    """The sentences that begin at `at` of the plain text and say `wanted`, no more and no less."""
    first = sentence_place(content, plain.offsets[at])
    sentences = sentences_of(content)
    begin = sentences[first].start + start_of(sentences[first].text)
    if not 0 <= plain.offsets[at] - begin <= len(_WRAPPING) or _plain(content[begin : plain.offsets[at]]).text.strip(
        _WRAPPING
    ):
        return None
    text = ""
    for sentence in sentences[first:]:
        text = content[begin : sentence.end]
        said = _bare(text)
        if said == wanted:
            return begin, sentence.end
        if len(said) > len(wanted):
            break
    return (begin, sentences[first].end) if _says_less(wanted, content[begin : sentences[first].end]) else None


def _says_less(wanted: str, sentence: str) -> bool:
    """Whether only asides were left out of the sentence, none of which limits or denies it."""
    if detect_language(sentence) != "en":
        return False
    for text in (_ASIDE.sub(_without, sentence), _TAIL.sub("", sentence.rstrip(_STOPS))):
        for shorter in (text, _TAIL.sub("", text.rstrip(_STOPS))):
            if _bare(shorter) == wanted:
                whole = sentence.rstrip(_STOPS)
                left_out = [match.group() for pattern in (_ASIDE, _TAIL) for match in pattern.finditer(whole)]
                return not any(limits(part, "en") for part in left_out)
    return False


def _without(match: regex.Match[str]) -> str:
    return "" if match.group()[0] != "," else " "


def _means_the_same(claim: str, content: str, span: tuple[int, int], before: str) -> bool:
    if find_frame(content, *span, claim):
        return False
    return not points_back(claim) or _speaks_of(before, content, span[0])


def _speaks_of(before: str, content: str, start: int) -> bool:
    """Whether what the source names before `start` is what `before` is about, or is `before` itself."""
    said = _bare(before)
    if not said:
        return False
    earlier = sentences_of(content)[: sentence_place(content, start)][-MAX_ANTECEDENT:]
    for sentence in reversed(earlier):
        if _bare(sentence.text) == said:
            return True
        if points_back(sentence.text):
            continue
        theirs, ours = subject_of(sentence.text), subject_of(before)
        return bool(ours.content) and all(theirs.match(word) for word in ours.content)
    return False


MAX_ANTECEDENT = 6  # sentences in a row about somebody named in the first
