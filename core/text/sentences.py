"""Text cut into sentences, with offsets, and which of them assert something.

Works on answers (Markdown) and on pages as read (hard-wrapped lines, headings without marks).
Nothing is lost: between two sentences there is only white space. Linear in the text's length.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, wraps
from threading import Lock
from typing import TypeVar

from core.text.language import DENIES, Cue, detect_language, told_beside

T = TypeVar("T")
MAX_KEPT, MAX_KEPT_CHARS = (
    1024,
    8_000_000,
)  # long pages of twenty questions and their quotes, or four theses of 700 pages


def kept_by_length(read: Callable[[str], T]) -> Callable[[str], T]:
    """`read`, remembered for the texts asked for last: as many as fit into `MAX_KEPT_CHARS`. For threads, too."""
    kept: OrderedDict[str, T] = OrderedDict()
    lock = Lock()
    chars = 0

    @wraps(read)
    def remembered(text: str) -> T:
        nonlocal chars
        with lock:
            if text in kept:
                kept.move_to_end(text)
                return kept[text]
        found = read(text)
        with lock:
            if text not in kept:
                kept[text] = found
                chars += len(text)
            while len(kept) > 1 and (len(kept) > MAX_KEPT or chars > MAX_KEPT_CHARS):
                chars -= len(kept.popitem(last=False)[0])
        return found

    return remembered


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text == whole[start:end]`, half-open; list bullets and heading marks are part of it.

    `asserts` is False for what states nothing by itself: headings, code, questions, bare labels,
    and lines that only announce what follows.
    """

    text: str
    start: int
    end: int
    asserts: bool

    @property
    def plain(self) -> str:
        """The text without its list bullet, heading or quotation marks at the line's start."""
        return LEAD.sub("", self.text, count=1)


class _Kind(Enum):
    PROSE = "prose"
    ITEM = "item"
    HEADING = "heading"
    ROW = "row"
    SILENT = "silent"  # code, rules, a table's head: one unit, never split


@dataclass(slots=True)
class _Block:
    """Lines that belong together; `body` is where the text begins behind bullet or quotation mark."""

    start: int
    end: int
    body: int
    kind: _Kind
    lines: int = 1


@cache
def _listed(name: str) -> frozenset[str]:
    """The words of a list of sentences.toml."""
    return frozenset(told_beside(__package__, "sentences.toml")[name].split())


def _pattern(name: str) -> re.Pattern[str]:
    patterns: Mapping[str, str] = told_beside(__package__, "sentences.toml")["patterns"]
    whole = patterns[name].replace("{absence}", patterns["absence"])
    whole = whole.replace("{sources}", patterns["sources"]).replace("\n", "")
    return re.compile(whole, re.IGNORECASE)


_STOPS = ".!?…。！？｡؟۔।॥።"
_HARD_STOPS = "。！？｡؟۔।॥።"  # end a sentence also without a blank behind them
_END = re.compile(f"[{_STOPS}\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_STOP_RUN = re.compile(f"[{_STOPS}]+")
_CLOSERS = re.compile(r"[\"'”’»)\]}」』）】》*_]*")
_OPENERS = re.compile(r"[\s\"'“‘«„(\[{「『（《<*_¿¡>•–—$€£¥-]*")
_SHIELDED = re.compile(r"(?<!`)`+[^`\n]{1,400}`+|\[[^\[\]\n]{1,200}\]|【[^【】\n]{1,200}】")  # stops inside end nothing

_MANY_BREAKS = re.compile(r"\n{3,}")
_FENCE = re.compile(r"[\s>]*(`{3,}|~{3,})")
_BULLET = re.compile(r"(?:[-*+•‣◦▪·]|\(?\d{1,3}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}[.)])\s+(?=\S)")
_HEADING = re.compile(r"#{1,6}\s+\S")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})$")
_TABLE_RULE = re.compile(r"\|?(?:-|\s*(?::?-{2,}:?|:-:?|-:)\s*)(?:\|(?:-|\s*(?::?-{2,}:?|:-:?|-:)\s*))*\|?$")
_EMPHASIZED = re.compile(r"(?:[^\w\s*_|#>-]{1,4}\s+)?(\*\*|__|\*|_)[^*_\n]+\1[:：]?(?:\s+[^\w\s.!?]{1,4})?$")
_RULE_LINE = re.compile(r"(?:[-*_=~+]\s?){3,}$")
_LINE_END = re.compile(r"(\w[\w.]*|\W)[.!?…]+[\"'”’)\]]*$")
_DEFINITION = re.compile(r":\s+\S")  # below the term that it defines
_UNFINISHED = _pattern("unfinished")
_MIN_WRAP = 35  # characters; no one wraps prose at less, so shorter lines are menus and headings
_MIN_BEFORE_FORMULA = 20  # characters; "Vitamin C" above "2. Vitamin D" is a list
_MOST_FORMULA_LINES = 12
_LONGEST_FORMULA = 8  # characters, of its last line
_ELEMENT = re.compile(r"(?:[\s(\d](?:[CNSFM]|Si|Ti|Al|Fe|Mn)?O|[\s(\d][CN]?H|[\s(\d](?:N|F|Cl))$")
_LOW_FIGURE = re.compile(r"[2-9](?:[A-Z]|[.,;:)]?(?:\s|$)(?!\s*[A-Z][a-z]+\s*$))")
_WRAP_SLACK = 0.85  # of the usual line; ragged and justified lines of books and papers stay above it


def split_sentences(text: str) -> list[Sentence]:
    """The sentences of `text` in order; a heading, a list item's or table row's end always ends one.

    Markers behind the stop (`fact.[1]`, `fact. [1][2]`) belong to the sentence before them.
    """
    blocks = _blocks(text)
    sentences: list[Sentence] = []
    for position, block in enumerate(blocks):
        following = blocks[position + 1] if position + 1 < len(blocks) else None
        spans = _spans(text, block)
        for start, end in spans:
            sentence = text[start:end]
            is_label = len(spans) == 1 and following is not None and _is_label(text, block, following)
            is_heading = block.kind is _Kind.HEADING or (is_label and block.kind is _Kind.ITEM and sentence[-1] in "*_")
            asserts = block.kind is not _Kind.SILENT and not (is_label and not is_heading)
            asserts = asserts and states(sentence, is_heading=is_heading)
            sentences.append(Sentence(sentence, start, end, asserts))
    return sentences


@kept_by_length
def sentences_of(text: str) -> tuple[Sentence, ...]:
    """`split_sentences` of a page as read. Several stages ask for them; a page is cut once."""
    return tuple(split_sentences(text))


def is_emphasized(line: str) -> bool:
    """Whether a line is bold or italic as a whole, but for a picture beside it: a heading."""
    return _EMPHASIZED.match(line) is not None


def clauses(claim: str) -> tuple[str, ...]:
    """The statements of a compound claim, each with three words or more; the claim itself where it has one."""
    parts = [part.strip() for part in _CLAUSE.split(claim)]
    return tuple(parts) if len(parts) > 1 and all(len(part.split()) >= 3 for part in parts) else (claim,)


_CLAUSE = re.compile(  # a second statement: a mark or joint word, then a subject and more
    r"\s*;\s+|,\s+(?:while|whereas|although|but|and|wobei|während|aber|und|mientras|pero|y)\s+(?=\S+\s+\S+\s+\S+)",
    re.IGNORECASE,
)


def may_end(text: str, start: int) -> bool:
    """Whether a sentence can end behind `start` before the text does; cheap, and never wrongly False."""
    return _END.search(text, start) is not None


def is_settled(text: str, start: int, end: int) -> bool:
    """Whether more text cannot change where the sentence `text[start:end]` ends, nor what it is.

    A stop counts once the next word is whole ("U.S. A…" may go on as "U.S. Army"), the end of a line once the next
    line is (a line of dashes makes a heading of it, another row a table) or of a row, once another row or paragraph has
    begun below it; and nothing within an open bracket or code.
    """
    sentence, behind = text[start:end], text[end:]
    line_goes_on = behind.partition("\n")[0].strip()
    if line_goes_on:
        is_open = sentence.count("`") % 2 or _OPEN_BRACKET.search(sentence)
        return not is_open and bool(_NEXT_WORD.match(behind))
    if _ROW.fullmatch(sentence) and _NEXT_ROW.match(behind):
        return True
    if _NEXT_LINE.match(behind) or (_NEXT_ITEM.match(behind) and _ENDED.search(sentence)):
        return True
    if _HEADING.match(sentence):
        return _NEXT_TEXT.match(behind) is not None
    is_whole = _ENDED.search(sentence) or _EMPHASIZED.match(sentence) or sentence.endswith((":", "："))
    return bool(is_whole and _NEXT_PARAGRAPH.match(behind))


_NEXT_WORD = re.compile(r"\s*[^\w\s\[(【]*(?:[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2}|\w[\w'’]*[^\w'’])")
_NEXT_ITEM = re.compile(r"\n\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6})\s+\w")
_NEXT_LINE = re.compile(r"\n\s*\S[^\n]*\n")
_ROW = re.compile(r"\|.*\|")
_NEXT_ROW = re.compile(r"[^\S\n]*\n[^\S\n]*(?:\|[^\S\n]*\w|\n\s*\S)")
_NEXT_TEXT = re.compile(r"[^\S\n]*\n\s*\S")
_NEXT_PARAGRAPH = re.compile(r"[^\S\n]*\n[^\S\n]*\n\s*\S")
_OPEN_BRACKET = re.compile(r"[\[【(][^\])】]*$")
_ENDED = re.compile(r"[^\w:：*_`|]$")


def _is_label(text: str, block: _Block, following: _Block) -> bool:
    """Whether a line only names what follows: a title above what is none, bold words above what an item holds."""
    if block.kind is _Kind.ITEM and _EMPHASIZED.match(text, block.body, block.end):
        own, below = (one.start - text.rfind("\n", 0, one.start) for one in (block, following))
        is_bullet = following.kind is _Kind.ITEM and text[block.start].isdigit() > text[following.start].isdigit()
        return below + is_bullet > own and not DENIES.search(text, block.start, block.end)
    if text[following.start] in "`~" and following.kind is _Kind.SILENT:
        return _INLINE_CODE.fullmatch(text[block.body : block.end].strip("*_: ")) is not None  # the name of a file
    return _is_title(text, block) and not _is_title(text, following)


def _is_title(text: str, block: _Block) -> bool:
    if block.lines > 1 or block.kind not in (_Kind.PROSE, _Kind.ITEM):
        return False
    return is_title(text[block.body : block.end], max_words=2 if block.kind is _Kind.ITEM else 10)


def code_spans(text: str) -> list[tuple[int, int]]:
    """Half-open spans of code, in order: fenced blocks (an open fence runs to the end) and inline code."""
    spans: list[tuple[int, int]] = []
    cursor = 0
    for start, end in _fences(text):
        spans += [(match.start(), match.end()) for match in _INLINE_CODE.finditer(text, cursor, start)]
        spans.append((start, end))
        cursor = end
    spans += [(match.start(), match.end()) for match in _INLINE_CODE.finditer(text, cursor)]
    return spans


_INLINE_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^\n]{1,400}?(?<!`)\1(?!`)")


def _fences(text: str) -> list[tuple[int, int]]:
    if "```" not in text and "~~~" not in text:
        return []
    spans: list[tuple[int, int]] = []
    opened, begin = "", 0
    for position, line in _lines(text, 0, len(text)):
        fence = _FENCE.match(line)
        if fence and not opened:
            opened, begin = fence[1], position
        elif fence and fence[1].startswith(opened) and not line[fence.end() :].strip():
            spans.append((begin, position + len(line.rstrip())))
            opened = ""
    if opened:
        spans.append((begin, len(text.rstrip())))
    return spans


# Blocks: lines that belong together


def _blocks(text: str) -> list[_Block]:
    blocks: list[_Block] = []
    cursor = 0
    for start, end in _fences(text):
        blocks += _chunks(text, cursor, start)
        first = start + len(text[start:end]) - len(text[start:end].lstrip())
        blocks.append(_Block(first, end, first, _Kind.SILENT))
        cursor = end
    return blocks + _chunks(text, cursor, len(text))


def _chunks(text: str, start: int, end: int) -> list[_Block]:
    """The blocks of `text[start:end]`, which has no fenced code."""
    blocks: list[_Block] = []
    lines: list[tuple[int, int]] = []
    for position, line in _lines(text, start, end):
        stripped = line.strip()
        if stripped:
            first = position + len(line) - len(line.lstrip())
            lines.append((first, first + len(stripped)))
        elif lines and "\f" not in line:
            blocks += _join_lines(text, lines)
            lines = []
    return blocks + _join_lines(text, lines)


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Where each line of `text[start:end]` begins, and the line with its end; of many blank ones the first alone.

    A text of which most is blanked out has a line break for every character that is not there.
    """
    runs = [(run.start() + 2, run.end()) for run in _MANY_BREAKS.finditer(text, start, end)]
    firsts, lasts = [start, *(after for _, after in runs)], [*(before for before, _ in runs), end]
    for first, last in zip(firsts, lasts, strict=True):
        position = first
        for line in text[first:last].splitlines(keepends=True):
            yield position, line
            position += len(line)


def _join_lines(text: str, lines: list[tuple[int, int]]) -> list[_Block]:
    """Lines without a blank one between them, made blocks: each of its own kind, wrapped lines joined."""
    if not lines:
        return []
    lengths = sorted(end - start for start, end in lines)
    width = lengths[len(lengths) // 2 if len(lengths) > 2 else -1]
    blocks: list[_Block] = []
    for position, (start, end) in enumerate(lines):
        line = text[start:end]
        last = blocks[-1] if blocks else None
        block = _line_block(line, start, end)
        if last and block.kind is _Kind.SILENT and "|" in line and last.kind is _Kind.ROW:
            last.kind = _Kind.SILENT
        if last and last.kind is _Kind.PROSE and last.lines == 1 and _UNDERLINE.match(line):
            last.kind, last.end = _Kind.HEADING, end
        elif last and _DEFINITION.match(line) and (last.kind is _Kind.PROSE or text[last.body] in "*_"):
            last.kind, last.end, last.lines = _Kind.PROSE, end, last.lines + 1
        elif last and (
            _is_open(text, last)
            or _goes_on_in_formula(text, last, line)
            or (block.kind is _Kind.PROSE and _continues(text, last, lines[position - 1], line, width))
        ):
            last.end, last.lines = end, last.lines + 1
        else:
            blocks.append(block)
    return blocks


def _is_open(text: str, block: _Block) -> bool:
    """Whether a block is a formula set apart, in LaTeX, that has not ended yet."""
    close = {"$$": "$$", "\\[": "\\]"}.get(text[block.start : block.start + 2])
    return close is not None and block.lines < _MOST_FORMULA_LINES and text.find(close, block.start + 2, block.end) < 0


def _goes_on_in_formula(text: str, block: _Block, line: str) -> bool:
    """Whether a line begins with the low figure of a formula that stands at the end of prose: O, and below it 2.

    Below a numbered item it is the next one: "1. Heat it to 350 F", "2. Mix the flour".
    """
    is_prose = block.kind in (_Kind.PROSE, _Kind.ITEM) and block.end - block.body >= _MIN_BEFORE_FORMULA
    is_next = text[block.start].isdigit() and block.kind is _Kind.ITEM and _BULLET.match(line) is not None
    return (
        is_prose
        and not is_next
        and _LOW_FIGURE.match(line) is not None
        and _ELEMENT.search(text, block.end - _LONGEST_FORMULA, block.end) is not None
    )


def _line_block(line: str, start: int, end: int) -> _Block:
    quote = len(line) - len(line.lstrip("> \t"))
    bare = line[quote:]
    if _HEADING.match(bare) or _EMPHASIZED.match(bare):
        return _Block(start, end, start + quote, _Kind.HEADING)
    if "|" in bare and "-" in bare and _TABLE_RULE.match(bare):
        return _Block(start, end, end, _Kind.SILENT)
    if bare.startswith("|") or bare.count(" | ") >= 2:
        return _Block(start, end, start, _Kind.ROW)
    if _RULE_LINE.match(bare):
        return _Block(start, end, end, _Kind.SILENT)
    bullet = _BULLET.match(bare)
    if bullet:
        return _Block(start, end, start + quote + bullet.end(), _Kind.ITEM)
    return _Block(start, end, start + quote, _Kind.PROSE)


def _continues(text: str, block: _Block, last_line: tuple[int, int], line: str, width: int) -> bool:
    """Whether a line goes on with the block before it: the line before was full, or the words demand it."""
    if block.kind not in (_Kind.PROSE, _Kind.ITEM):
        return False
    line = line.lstrip("> \t")
    if text[block.body] == line[:1] == "[":
        return False  # another entry of a list of sources
    ended = _LINE_END.search(text, max(last_line[0], last_line[1] - _LONGEST_TOKEN), last_line[1])
    if ended and not (ended[1].lower() in _listed("never_last") or len(ended[1]) == 1):
        return False
    first = line[:1]
    if first.islower() or first in ",;)]" or text[last_line[1] - 1] in ",;-–(/":
        return True
    if _UNFINISHED.search(text, max(last_line[0], last_line[1] - _LONGEST_TOKEN), last_line[1]):
        return True
    first_word = len(line.split(None, 1)[0]) if line else 0
    return width >= _MIN_WRAP and last_line[1] - last_line[0] + 1 + first_word >= _WRAP_SLACK * width


# Stops: where a sentence ends within a block


def _spans(text: str, block: _Block) -> list[tuple[int, int]]:
    if block.kind not in (_Kind.PROSE, _Kind.ITEM):
        return [(block.start, block.end)]
    spans: list[tuple[int, int]] = []
    start = block.start
    for end in _ends(text, block):
        spans.append((start, end))
        start = end
        while start < block.end and text[start].isspace():
            start += 1
    if start < block.end:
        spans.append((start, block.end))
    return spans


def _ends(text: str, block: _Block) -> Iterator[int]:
    """Offsets behind each sentence of the block but the last."""
    shields = _SHIELDED.finditer(text, block.body, block.end)
    shield = next(shields, None)
    begin = block.body
    for run in _STOP_RUN.finditer(text, block.body, block.end):
        while shield and shield.end() <= run.start():
            shield = next(shields, None)
        if run.start() < begin or (shield and shield.start() < run.start()):
            continue
        end = _end_of_sentence(text, run, begin, block.end)
        if end:
            yield end
            begin = end


def _end_of_sentence(text: str, run: re.Match[str], begin: int, limit: int) -> int:
    """Where the sentence that `run` stops ends, closers and markers included; 0 when it does not stop one."""
    closed = _behind(_CLOSERS, text, run.end(), limit)
    end = _behind(CLUSTER, text, closed, limit)
    ahead = _behind(_OPENERS, text, end, limit)
    if end > closed and text[closed : closed + 1].isspace() and text[ahead : min(ahead + 1, limit)].islower():
        end = closed  # "fact. [1] shows that": the marker opens the next sentence
        ahead = _behind(_OPENERS, text, end, limit)
    nearest = _behind(_BLANKS, text, end, limit)
    if nearest >= limit or text[nearest] in _STOPS or text[nearest] in ",;:":
        return 0
    if end == closed and _is_bold_label(text[begin:end]):
        return 0  # "**Origin.** It came from": the label is no sentence of its own
    if run.group()[-1] in _HARD_STOPS:
        return 0 if closed > run.end() and text[closed] in _AFTER_QUOTE else end
    if nearest == end and not _UNSPACED.match(text, end):
        return 0
    return end if _stops(text, run, begin, min(ahead, limit - 1)) else 0


def _is_bold_label(text: str) -> bool:
    """Whether bold words only name the text behind them; "**It works.**" and "**The tea is safe.**" say something."""
    bold = _BOLD_LABEL.fullmatch(text)
    if bold is None or Cue.BACK.end_at(detect_language(bold[1]), bold[1], 0):
        return False
    return not _VERB.search(bold[1]) or _QUESTION_WORD.match(bold[1]) is not None


def _stops(text: str, run: re.Match[str], begin: int, ahead: int) -> bool:
    """Whether a Latin stop ends its sentence; `ahead` is where the next word starts."""
    word = _WORD.match(text, ahead)
    following = word.group() if word else ""
    dot = run.start()
    is_cited = text[dot - 1] in "]】" and run.group() == "."
    if following[:1].islower() and not (_IDENTIFIER.match(following) or (is_cited and _CITED.search(text, begin, dot))):
        return False
    if run.group() != ".":
        return True
    if dot - begin < 12 and _NUMBERING.fullmatch(text[begin : dot + 1]):
        return False
    if _SPACED.search(text, max(begin, dot - _LONGEST_TOKEN), dot):
        return following in _listed("starters")
    token = text[max(begin, dot - _LONGEST_TOKEN) : dot]
    token = _TOKEN_EDGE.split(token)[-1]
    is_initial = word is not None and len(following) == 1 and text[word.end() : word.end() + 1] == "."
    return _ends_after(token, following, is_initial)


def _ends_after(token: str, following: str, is_initial: bool) -> bool:
    """Whether the dot behind `token` is a stop, given the next word ("" when it starts with another character)."""
    lower = token.lower()
    if lower in _listed("never_last") or (len(token) == 1 and token.isalpha() and is_initial):
        return False
    if lower in _listed("before_number") and not (token.isupper() and following[:1].isalpha()):
        is_dated = lower == "c" and following.isupper()  # c. AD 14, c. US$5
        return not (following[:1].isdigit() or _ROMAN.fullmatch(following) or is_dated)
    if token.isdigit() and len(token) <= 2 and following.lower() in _listed("after_ordinal"):
        return False
    is_letter = len(token) == 1 and token.isalpha() and not token.islower()
    if is_letter or lower in _listed("maybe_last") or _DOTTED.fullmatch(token):
        return following in _listed("starters") and not is_initial
    if lower in _listed("last_before_capital"):
        return following[:1].isupper()
    return True


def _behind(pattern: re.Pattern[str], text: str, start: int, limit: int) -> int:
    match = pattern.match(text, start, limit)
    return match.end() if match else start


_BLANKS = re.compile(r"\s*")
_AFTER_QUOTE = "とっのはがをにでもや"  # particles that go on after 「…。」
_BOLD_LABEL = re.compile(r"\*\*((?:[^*\s]+[ \t]+){0,5}[^*\s]+?)[.。]?\*\*[.。]?")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")  # scripts that put no blank behind ? and !
_WORD = re.compile(r"\w[\w'’]*")
_IDENTIFIER = re.compile(r"[a-z]+[A-Z0-9_]")  # mRNA, p53, iPhone: may open a sentence
_NUMBERING = re.compile(r"\W*(?:\d{1,3}(?:\.\d{1,3})*|[IVX]{1,5}|[A-H])\.")  # "3.2. Methods": no sentence ends here
_CITED = re.compile(r"\w[\w)”»\"'’*_`%]*[ \t]*(?:\[\d{1,3}\][ \t]*)+\Z")  # "is close [1]. numpy has it": not "[1]. in"
_SPACED = re.compile(r"(?:^|[\s(])(?:[a-zäöü]\.\s[a-zäöü]|[vn]\.\s?Chr|[vn])\Z")  # u. a., v. Chr.
_LONGEST_TOKEN = 24
_TOKEN_EDGE = re.compile(r"[\s(\[{\"'“‘«*_/–—-]")
_ROMAN = re.compile(r"[IVXLC]+|[ivxlc]+")
_DOTTED = re.compile(r"(?:\w\.)+\w{1,2}")  # U.S, a.m, Ph.D


# Which sentences state something that can be checked, and which only lead, label or ask. When in doubt a sentence
# states something: what does not is shown without being checked.


_MARKER = (  # roughly what core/evidence/citations.py reads, and the footnotes of encyclopedias
    r"(?:\[(?:\^?[a-z]|citation needed|(?=[^\[\]\n]{0,120}\d)[^\[\]\n]{1,120})\](?:\(https?://[^\s()]*\))?(?!\()"
    r"|【[^【】\n]{1,60}】"
    r"|\(https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*\)"
    r"|\([a-z][a-z'-]*\d{4}\w*(?:;\s*[a-z][a-z'-]*\d{4}\w*)*\))"
    r"[✓◐↪✗?]?"
)
CLUSTER = re.compile(rf"(?:[ \t]*{_MARKER})+")
LEAD = re.compile(
    r"(?:>\s*)*(?:#{1,6}\s+|(?:[-*+•‣◦▪·]|\(?\d{1,3}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}[.)])\s+(?:\[[ xX]\]\s+)?)?"
)


def states(sentence: str, *, is_heading: bool = False) -> bool:
    """Whether the sentence asserts something; one with a marker does unless it is a question."""
    if not _WORDY.search(sentence):
        return False
    bare = CLUSTER.sub("", sentence) if any(bracket in sentence for bracket in "[【(") else sentence
    is_cited = bare != sentence
    bare = LEAD.sub("", bare.strip(), count=1).strip("*_ \t")
    if is_cited:
        return not _asks(bare, sentence)
    if bare.endswith(_QUESTION_MARKS) or not _WORDY.search(bare) or _ANNOUNCEMENT.fullmatch(bare):
        return False
    if is_heading:
        return _is_statement(bare)
    return not bare.endswith((":", "："))


def is_chatter(text: str) -> bool:
    """Whether it only speaks of the answer itself: "Here is the answer:", "Let me know if you want more."."""
    return _CHATTER.fullmatch(_SMILES.sub("", LEAD.sub("", text, count=1).strip("*_ \t\n"))) is not None


def tells_absence(text: str) -> bool:
    """Whether it only says of the sources that they do not tell something: "They do not give its price"."""
    return _ABSENCE.fullmatch(LEAD.sub("", text, count=1).strip("*_ \t\n.")) is not None


def tells_of_sources(text: str) -> bool:
    """Whether it goes on about sources that were just spoken of, and cites none: "They only describe its pitch"."""
    return _OF_SOURCES.match(text) is not None


def _asks(bare: str, text: str) -> bool:
    """A cited question; a mark `?` behind a bracket is not one unless the sentence begins like a question."""
    return bare.endswith(_QUESTION_MARKS) or (text.rstrip().endswith("]?") and bool(_QUESTION_WORD.match(bare)))


def _is_statement(heading: str) -> bool:
    """A heading that says something: it has a stop, or a verb and no question word before it."""
    if heading.endswith((".", "!", "。", "।", "۔")) and len(heading.split()) >= 3:
        return True
    return len(heading.split()) >= 4 and bool(_VERB.search(heading)) and not _QUESTION_WORD.match(heading)


def is_title(line: str, *, max_words: int) -> bool:
    """Whether a line without a stop is a few words in title case: a heading or a label, if something follows it."""
    if not 0 < len(line) <= 90 or not (line[-1].isalnum() or line[-1] in ":：*") or _VERB.search(line):
        return False
    words = _SECTION_NUMBER.sub("", line).rstrip(":：").split()
    return 0 < len(words) <= max_words and all(
        word[0].isupper() or word.lower() in _listed("small_in_titles") for word in words
    )


_QUESTION_MARKS = ("?", "？", "؟")
_WORDY = re.compile(r"[^\W\d_]{2}|[^\W\d_a-zA-Z]|\d.{0,80}?[^\W_].{0,80}?\d|\d+\s?%")
_VERB = _pattern("verb")
_QUESTION_WORD = _pattern("question_word")
_SECTION_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?\s+")
_ANNOUNCEMENT = _pattern("announcement")
_ABSENCE = _pattern("absence")
_OF_SOURCES = re.compile(
    r"(?:they|these|those)\b(?: (?:[a-z]+ly|just|also|sources|pages|documents|do not|don['’]t)){0,2} "
    r"(?:describe|cover|mention|discuss|focus|say|state|address|deal|list|report|explain|tell|concern)\b(?!.*\[\d)",
    re.IGNORECASE | re.DOTALL,
)
_CHATTER = _pattern("chatter")
_SMILES = re.compile(r"[\s\U0001f300-\U0001faff\u2600-\u27bf\ufe0f]+$")
