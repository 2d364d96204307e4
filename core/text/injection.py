"""Text that speaks to the assistant instead of the reader: which sentences of it try to instruct the machine.

Such a sentence never reaches a prompt, never counts as evidence and is never shown as a finding; the source is marked
for people. Found by what kind of order it is, never by its very words; what is quoted is no order.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate

import regex

from core.text.language import told_beside
from core.text.sentences import Sentence, kept_by_length, sentences_of

# How a pattern begins says where it is looked for: where a sentence or an order can begin, at any word, or at a sign.
_SENTENCE, _START, _ANY, _SIGN = "(?#sentence)", "(?#order)", "(?#word)", "(?#sign)"
_PART = regex.compile(r"\{([a-z_]+)\}")


@lru_cache
def _compiled(place: str, before: str = "") -> regex.Pattern[str]:
    """All patterns of one place, whatever their class; the four take 0.4 s, so not before the first text is read."""
    of_place = [pattern.removeprefix(place) for pattern in _told()[1] if _place_of(pattern) == place]
    return regex.compile(f"{before}(?:{'|'.join(of_place)})", regex.IGNORECASE | regex.MULTILINE)


def _place_of(pattern: str) -> str:
    if pattern.startswith((_SENTENCE, _START)):
        return _SENTENCE if pattern.startswith(_SENTENCE) else _START
    return _ANY if pattern.startswith((r"\b", r"(?-i:\b")) else _SIGN


@cache
def _part(name: str) -> regex.Pattern[str]:
    return regex.compile(rf"\b(?:{_told()[0][name]})\b", regex.IGNORECASE)


@cache
def _told() -> tuple[Mapping[str, str], Sequence[str]]:
    """The parts by their names and the patterns of injection.toml, whole."""
    told = told_beside(__package__, "injection.toml")
    parts: dict[str, str] = {}

    def whole(pattern: str) -> str:
        return _PART.sub(lambda name: parts[name[1]], pattern.replace("\n", ""))

    for name, pattern in told["parts"].items():  # one may be made of those above it
        parts[name] = whole(pattern)
    return parts, [whole(pattern) for patterns in told["classes"].values() for pattern in patterns]


_HEAD_CHARS = 4  # of a word and what follows it: enough to say of most words that no pattern begins so
_MOST_BEGINNINGS = 1 << 15  # to be kept
# Of every page, hence by `re`, which takes half the time of `regex`.
_BEGINNING = re.compile(r"\b\w")
_LETTER = regex.compile(r"\w")  # an order may also begin inside of a word: _ignore it_
_OPENING = re.compile(r"^[\W_]{0,12}?(?=[^\W_]|#)", re.MULTILINE)
# Where an order can begin; "attackers tell it to ignore …" gives none.
_CLAUSE = re.compile(
    r"(?:^|[.!?:;,)\]—–…-]\s|[:>(\[*_]|\b(?:and|now|also|then|please|must|shall|always|instead|just|you|kindly)\s)[\W_]{0,12}"
    r"(?P<lead>(?:(?:please|now|first|also|then|next|instead|immediately|just|kindly)\b[\s,:!.-]{1,4}"
    r"|(?:important|note|stop|warning|urgent|caution)\s?[,:!.–—-]{1,3}\s?){0,3})",
    re.IGNORECASE | re.MULTILINE,
)
_EMPHASIS = regex.compile(r"(?<!\w)[*_]{1,3}(?=\w)|(?<=\w[.!?:,]?)[*_]{1,3}(?!\w)")  # of Markdown, at a word's edge
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]")
_BLANK = regex.compile(r"[\u115f\u1160\u2800\u3164\uffa0]")  # letters and patterns by name, drawn as nothing
_TAGGED = regex.compile(r"[\U000E0020-\U000E007E]+")  # ASCII that models read and nobody is shown
# Drawn as Latin letters, most of them so in confusables.txt (UTS 39): Cyrillic, Greek, Armenian, and small capitals.
_ALIKE = str.maketrans(
    "аАсСеЕоОрРхХуУіІјЈѕЅһԁԛԝӏкКмМтТнНвВαΑοΟνΝρΡιΙκΚτΤυΥχΧεΕηΗωΒΜΖոօսցıɡɑᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ",
    "aAcCeEoOpPxXyYiIjJsShdqwlkKmMtThHbBaAoOvNpPiIkKtTuYxXeEnHwBMZnouigiaabcdefghijklmnoprstuvwyz",
) | dict.fromkeys(range(0x300, 0x370))
_LIKE_LATIN = regex.compile(rf"\b(?=\w*\p{{Latin}})\w*[{''.join(map(chr, _ALIKE))}]\w*")
# Of an order's words what follows their first letter; their letters may be set apart, which words begin is told then.
_TOLD = ("gnore", "nstruct", "isregard")
_TOLD_APART = [sign.join(word) for word in _TOLD for sign in (" ", ".", ". ", "-", "_", "·")]
_APART = regex.compile(r"(?<!\w)\p{L}(?:(?:[ \xa0]{1,4}\p{L}(?!\w)){4,}|([._·-] ?)\p{L}(?!\p{L})(?:\1\p{L}(?!\p{L}))+)")
_WORDS_APART = regex.compile(
    r"ignore|disregard|forget|override|reveal|print|repeat|(?<=ignore|disregard|forget|override)(?:all|any|the|your|my)"
    r"|previous|prior|above|earlier|system|instructions?|prompts?|rules|guidelines|commands",
    regex.IGNORECASE,
)
_LONGEST_ORDER = 12
_REACH = 120  # characters from an order to what it is about, within a sentence
_CLAUSE_END = regex.compile(r"[.!?\n]")

_QUOTED = regex.compile(
    r"“[^”]{1,400}”|\"[^\"]{1,400}\"|«[^»]{1,400}»|„[^“”]{1,400}[“”]|(?<!\w)'[^'\n]{3,300}'(?!\w)|(?<!\w)‘[^’\n]{3,300}’(?!\w)|`[^`]{1,400}`"
)
_EXAMPLE = regex.compile(r"\b(?:for\s+example|for\s+instance|such\s+as|e\.g\.)[\s,:]", regex.IGNORECASE)
_ABOUT = regex.compile(
    r"\b(?:attack\w*|inject\w*|jailbreak\w*|adversar\w*|malicious|payload\w*|exploit\w*|prompts?|phrases?|examples?|commands?"
    r"|templates?|strings?|markers?|sentences?|texts?|lines?)\b",
    regex.IGNORECASE,
)
_WORD = regex.compile(r"\p{L}{2,}")
_MIN_WORDS_ABOUT = 3  # around a quotation, for the sentence to speak about it
_FENCE = ("```", "~~~")


def instructions_in(text: str) -> list[tuple[int, int]]:
    """Half-open spans that speak to an assistant, in order: such a sentence and its neighbours in the paragraph.

    The neighbours go too, since what is to be said often stands beside the order to say it.
    """
    return list(_instructions_in(text))


def is_instruction(sentence: str) -> bool:
    """Whether a sentence of a source or of an answer orders a machine about; what it quotes does not count."""
    return bool(instructions_in(sentence))


def without_quoted(sentence: str, before: str = "") -> str:
    """The sentence on one line without what it only quotes: in quotation marks, as code, or as an example.

    `before` is the sentence before it, which may say that an example follows.
    """
    if sentence.lstrip().startswith(_FENCE):
        return "" if before.rstrip().endswith(":") or _ABOUT.search(before) else _on_one_line(sentence)
    line = _on_one_line(sentence)
    bare = _QUOTED.sub(" ", line)
    if len(_WORD.findall(bare)) < _MIN_WORDS_ABOUT:
        bare = line
    example = _EXAMPLE.search(bare)
    if example:
        head = bare[: example.start()]
        if len(_WORD.findall(head)) >= _MIN_WORDS_ABOUT or _ABOUT.search(head) or _ABOUT.search(before):
            bare = head
    return bare


@kept_by_length
def _instructions_in(text: str) -> tuple[tuple[int, int], ...]:
    found = sorted(span for reading in (text, *_spelled_plainly(text)) for span in _orders_in(reading))
    merged: list[tuple[int, int]] = []
    for start, end in found:  # another reading may part its sentences otherwise
        overlapped = merged.pop() if merged and start < merged[-1][1] else (start, end)
        merged.append((overlapped[0], max(overlapped[1], end)))
    return tuple(merged)


def _spelled_plainly(text: str) -> Iterator[str]:
    """As long as the text, which has letters set apart, or digits for letters, in an order's words; else nothing."""
    lowered = text.lower()
    if any(word in lowered for word in _TOLD_APART):
        yield _APART.sub(lambda run: _joined(run[0]).ljust(len(run[0])), text)
    spelled = text
    for digit, letter in zip("013457$", "oieasts", strict=True):
        spelled = spelled.replace(digit, letter)
    if any(spelled.count(word) > text.count(word) for word in _TOLD):
        yield spelled


def _joined(run: str) -> str:
    words = (regex.sub(r"\P{L}", "", word) for word in regex.split(r"\s{2,}", run))
    return " ".join(" ".join(_WORDS_APART.sub(r" \g<0> ", word) for word in words).split())


def _orders_in(text: str) -> tuple[tuple[int, int], ...]:
    sentences = sentences_of(text)
    flagged: set[int] = set()
    for place in _candidates(sentences):
        before = sentences[place - 1].text if place else ""
        if any(map(_places_of_orders, _readings(without_quoted(sentences[place].text, before)))):
            flagged.add(place)
            flagged.update(near for near in (place - 1, place + 1) if _is_beside(text, sentences, place, near))
    return tuple((sentences[place].start, sentences[place].end) for place in sorted(flagged))


def _candidates(sentences: Sequence[Sentence]) -> list[int]:
    """The places of sentences that may order something. All are looked at in one go: a page has hundreds."""
    lines = [(place, line) for place, one in enumerate(sentences) for line in _readings(_on_one_line(one.text))]
    starts = list(accumulate((len(line) + 1 for _, line in lines), initial=0))
    whole = "\n".join(line for _, line in lines)
    return sorted({lines[bisect_right(starts, at) - 1][0] for at in _places_of_orders(whole)})


def _readings(line: str) -> Sequence[str]:
    """With every emphasis as stars, at which a word ends as at a space, and without any."""
    starred = _EMPHASIS.sub("*", line)
    return (line,) if starred == line and "*" not in line else (starred, _EMPHASIS.sub("", line))


def _on_one_line(text: str) -> str:
    """As a machine reads it: compatibility forms and letters that look Latin in Latin words made plain, invisible
    characters and line breaks gone.

    A cell of a table begins as a sentence does.
    """
    if not text.isascii():
        text = _TAGGED.sub(lambda tags: f". {''.join(chr(ord(tag) - 0xE0000) for tag in tags[0])}. ", text)
        text = _INVISIBLE.sub("", _BLANK.sub(" ", unicodedata.normalize("NFKC", text)))
        text = _LIKE_LATIN.sub(lambda word: _as_drawn(word[0]), text)
    return " ".join(text.replace(" | ", ". ").split())


def _as_drawn(word: str) -> str:
    """In ASCII where all of its letters look so, else as it stands."""
    drawn = word.translate(_ALIKE)
    return drawn if drawn.isascii() else word


def _places_of_orders(text: str) -> list[int]:
    """Where something is ordered in sentences that stand on a line each."""
    at_sign, at_sentence = _compiled(_SIGN, r"(?=[<\[{@\"“'])"), _compiled(_SENTENCE)
    places = [found.start() for found in at_sign.finditer(text)]
    places += [found.end() for found in _OPENING.finditer(text) if at_sentence.match(text, found.end())]
    at_word, at_order = _compiled(_ANY).match, _compiled(_START).match
    may_begin = _MayBegin.at(_ANY)
    words = [word.start() for word in _BEGINNING.finditer(text)]
    places += [at for at in words if may_begin[text[at : at + _HEAD_CHARS]] and at_word(text, at)]
    may_begin = _MayBegin.at(_START)
    for found in _CLAUSE.finditer(text):
        end, lead = found.end(), found.start("lead")
        for at in (end,) if end == lead else (end, lead):
            if may_begin[text[at : at + _HEAD_CHARS]] and _LETTER.match(text, at) and at_order(text, at):
                places.append(end)
                break
    return places + [found.start() for found in _part("your_output").finditer(text) if _is_ordered(text, found.start())]


class _MayBegin(dict[str, bool]):
    """By the beginning of a word, whether a pattern of the place may begin so; asked of every word of a page."""

    def __init__(self, place: str) -> None:
        self._place = place

    @classmethod
    @cache
    def at(cls, place: str) -> _MayBegin:
        return cls(place)

    def __missing__(self, beginning: str) -> bool:
        if len(self) >= _MOST_BEGINNINGS:
            self.clear()
        self[beginning] = _compiled(self._place).match(beginning, partial=True) is not None
        return self[beginning]


def _is_ordered(text: str, at: int) -> bool:
    """Whether an order stands before `at` in the same sentence."""
    before = text[max(0, at - _REACH - _LONGEST_ORDER) : at]
    ends = [found.end() for found in _CLAUSE_END.finditer(before)]
    return _part("speak").search(before[ends[-1] if ends else 0 :]) is not None


def _is_beside(text: str, sentences: Sequence[Sentence], place: int, near: int) -> bool:
    if not 0 <= near < len(sentences):
        return False
    first, second = sorted((place, near))
    return text[sentences[first].end : sentences[second].start].count("\n") < 2


def masked(text: str) -> str:
    """`text` with what speaks to an assistant blanked out."""
    return mask(text, instructions_in(text))


def mask(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """`text` with the spans blanked out, of the same length, so that offsets stay true."""
    pieces: list[str] = []
    end_of_last = 0
    for start, end in spans:
        pieces += [text[end_of_last:start], " " * (end - start)]
        end_of_last = end
    return "".join([*pieces, text[end_of_last:]])
