"""Citation markers: the grammars of D3 read into one model, and taken out of a text again.

`[1]`, `[2509.10446v1, page 5]`, `(smith2024quantum)` and a URL in parentheses all say the same: this claim rests on
these targets. Markers in code are text, not markers. A text that leads nowhere but to the sources is made here: other
addresses, links and tags go.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import groupby
from types import MappingProxyType

import regex

from core.model.answer import Verdict
from core.text.sentences import code_spans

_END = regex.compile(r"[.!?。！？।؟:：]*(?:\s*\|)?$")  # the final stop; in a row of a table, its closing bar

# The grammars (D3): what a bracket must look like, and what its words point to, whatever text stands around it


class Grammar(StrEnum):
    NUMBER = "number"
    PAGE = "page"
    KEY = "key"
    URL = "url"


@dataclass(frozen=True, slots=True)
class SourceRef:
    """Source `number` of the answer: 3 for `src_3`."""

    number: int


@dataclass(frozen=True, slots=True)
class PageRef:
    """Pages `page`…`last_page` of a paper, counted from 1; `last_page` 0 means the one page only."""

    paper_id: str
    page: int
    last_page: int = 0


@dataclass(frozen=True, slots=True)
class KeyRef:
    """A BibTeX key, or the author-year label that matches no known key."""

    key: str


@dataclass(frozen=True, slots=True)
class UrlRef:
    url: str


Target = SourceRef | PageRef | KeyRef | UrlRef


@dataclass(frozen=True, slots=True)
class Bracket:
    """`inner` stands between the brackets; `label` and `url` are those of a Markdown link, or a URL in parentheses."""

    start: int
    end: int
    opening: str
    inner: str
    label: str = ""
    url: str = ""


_MAX_INNER = 300  # characters; a longer bracket is prose
_OPENING = re.compile(
    rf"\[(?P<square>[^\[\]]{{1,{_MAX_INNER}}})\]"
    rf"|【(?P<lens>[^【】\n]{{1,{_MAX_INNER}}})】"
    r"|(?P<link>\((?=(?:(?:see|via|from|source:?)\s+)?<?https?://))"
    rf"|\((?P<round>[^()\[\]【】]{{3,{_MAX_INNER}}})\)"
)
_MAX_URLS = 2500  # characters in one parenthesis; browsers stop at about 2,000 for one address
_URL_LEAD = re.compile(r"(?:(?:see|via|from|source:?)\s+)?<?")
_URL_START = re.compile(r"[<> ]*https?://", re.I)
_PARENTHESIS_OR_BLANKS = re.compile(r"[()]|\s+")
_BLANKS_BETWEEN_URLS = re.compile(r"[ \t]+(?=<?https?://)")


def brackets(text: str) -> Iterator[Bracket]:
    """Brackets from left to right, innermost first; a Markdown link counts as one. Linear in the text's length."""
    position = 0
    closings: Mapping[int, int] | None = None
    while match := _OPENING.search(text, position):
        kind = str(match.lastgroup)
        bracket: Bracket | None = None
        if kind != "link":
            bracket = Bracket(match.start(), match.end(), match.group()[0], match[kind])
        if kind == "link" or (kind == "square" and text.startswith("(", match.end())):
            closings = _closings(text) if closings is None else closings
            opening, label = (match.start(), "") if kind == "link" else (match.end(), match[kind])
            bracket = _linked(text, match.start(), opening, label, closings) or bracket
        if bracket:
            yield bracket
        position = bracket.end if bracket else match.start() + 1


def _linked(text: str, start: int, opening: int, label: str, closings: Mapping[int, int]) -> Bracket | None:
    """The bracket whose parenthesis at `opening` holds URLs, balanced parentheses within them included."""
    begin = _after_lead(text, opening)
    closing = closings.get(opening, -1)
    if not begin <= closing < begin + _MAX_URLS or not _URL_START.match(text, begin, closing):
        return None
    inner = text[begin:closing].strip("<> ")
    return Bracket(start, closing + 1, "(", inner, label, inner)


def _closings(text: str) -> dict[int, int]:
    """Where each parenthesis closes that holds addresses: no blank stands in it but in front of another address."""
    closings: dict[int, int] = {}
    opened: list[int] = []
    for found in _PARENTHESIS_OR_BLANKS.finditer(text):
        if found.group() == "(":
            opened.append(found.start())
        elif found.group() == ")":
            if opened:
                closings[opened.pop()] = found.start()
        elif opened and not _is_between_urls(text, found.start(), found.end()):
            opened = opened[-1:] if _after_lead(text, opened[-1]) > found.start() else []
    return closings


def _is_between_urls(text: str, start: int, end: int) -> bool:
    blanks = _BLANKS_BETWEEN_URLS.match(text, start)
    return blanks is not None and blanks.end() == end


def _after_lead(text: str, opening: int) -> int:
    """Where what a parenthesis holds begins, behind "see" and its like."""
    lead = _URL_LEAD.match(text, opening + 1)
    return lead.end() if lead else opening + 1


# Reading: what a bracket's words say

Found = tuple[Grammar, Sequence[tuple[Target, str]]]


def read_bracket(bracket: Bracket, keys: Collection[str]) -> Found | None:
    """The grammar of a bracket and its targets with their own words; None when it is no marker."""
    numbers = _numbers(bracket.label or bracket.inner) if not bracket.url or bracket.label else None
    if numbers:
        return Grammar.NUMBER, [(SourceRef(number), str(number)) for number in numbers]
    if bracket.url:
        urls = [url.strip("<>").rstrip(".,;") for url in re.split(r"[;,]?\s+", bracket.url)]
        return Grammar.URL, [(UrlRef(url), url) for url in urls if url]
    if bracket.opening == "(":
        pages = _pages(bracket.inner)
        if pages and all(re.search(r"\d", target.paper_id) for target, _ in pages if isinstance(target, PageRef)):
            return Grammar.PAGE, pages  # not (Smith, p. 4)
        named = _keys(bracket.inner, keys)
        is_aside = any(" " in target.key and "et al" not in target.key for target, _ in named)  # (Paris, 2015)
        return (Grammar.KEY, named) if named and not is_aside else None
    if pages := _pages(bracket.inner):
        return Grammar.PAGE, pages
    named = _keys(bracket.inner, keys) if keys else []
    return (Grammar.KEY, named) if named else None


_NUMBER = r"(?:\^|\#)?(?:src[_ ]?|source\s*)?[1-9]\d{0,2}(?:\s*[-–—‑]\s*(?:src_)?[1-9]\d{0,2})?"
_NUMBERS = re.compile(
    rf"\s*(?:(?:sources?|srcs?|refs?|references?|citations?)[.:]?\s*)?{_NUMBER}"
    rf"(?:\s*(?:[,;&]|and)\s*{_NUMBER})*"
    r"(?:,\s*(?:pages?|pp?)\.?\s*\d+(?:\s*[-–—]\s*\d+)?)?(?::\d+)?(?:†.*)?\s*",
    re.I,
)
_NUMBER_RANGE = re.compile(r"(\d+)(?:\s*[-–—‑]\s*(?:src_)?(\d+))?")
_NUMBER_TAIL = re.compile(r",\s*p.*|:\d+.*|†.*", re.I | re.S)
_MAX_RANGE = 50  # no answer has more sources; a wider range is not a list of them


def _numbers(inner: str) -> list[int]:
    if not _NUMBERS.fullmatch(inner):
        return []
    numbers: list[int] = []
    for match in _NUMBER_RANGE.finditer(_NUMBER_TAIL.sub("", inner)):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1) if 0 <= last - first <= _MAX_RANGE else [first, last]
    return numbers


_EXACT_PAGE = re.compile(r"\[(\d{4}\.\d{4,5}v?\d*),\s*page\s*(\d+)\]")  # S000-20, as given
_PAGE_NUMBERS = r"\d{1,5}(?:\s*[-–—]\s*\d{1,5})?(?![\d.]\d)"
_PAGE_ITEM = (
    r"(?:(?:arxiv:\s*)?(?P<id>[^\W_][\w./:-]{2,100}?)\s*[,:]?\s+|(?:arxiv:\s*)?(?P<id2>[^\W_][\w./:-]{2,100}?)\s*[,:]\s*)?"
    rf"(?:pages?|pg|pp?)\.?\s*(?P<pages>{_PAGE_NUMBERS}(?:\s*(?:,|and|&)\s*{_PAGE_NUMBERS})*)"
)
_PAGE_SEPARATOR = re.compile(r"\s*(?:[;,&]|\band\b)?\s*", re.I)
_PAGE = re.compile(_PAGE_ITEM, re.I)
_PAGE_SPAN = re.compile(r"(\d+)(?:\s*[-–—]\s*(\d+))?")


def _pages(inner: str) -> list[tuple[Target, str]]:
    """S000's exact form first, then what people and models write instead of it (D10)."""
    exact = _EXACT_PAGE.fullmatch(f"[{inner}]")
    if exact and int(exact[2]) > 0:
        return [(PageRef(exact[1], int(exact[2])), inner)]
    found: list[tuple[Target, str]] = []
    paper_id, position = "", 0
    while position < len(inner):
        item = _PAGE.match(inner, position)
        paper_id = (item["id"] or item["id2"] or paper_id) if item else ""
        if item is None or not paper_id:
            return []
        for first, last in _PAGE_SPAN.findall(item["pages"]):
            written = f"{paper_id}, page {first}" if not last else f"{paper_id}, pages {first}-{last}"
            found.append((PageRef(paper_id, int(first), int(last or 0)), written))
        separator = _PAGE_SEPARATOR.match(inner, item.end())
        position = separator.end() if separator else item.end()
    return found if all(isinstance(ref, PageRef) and ref.page > 0 for ref, _ in found) else []


_KEY = re.compile(r"@?([a-z][a-z'’_-]+(?:19|20)\d{2}[a-z]*[\w-]*)")
_TITLED_KEY = re.compile(r"@?([a-z][a-z'’_-]+(?:19|20)\d{2}[a-z]{3,})")  # plain enough without knowing the keys
_LOCATOR = re.compile(r"(?:pages?|pp?|chap(?:ter)?|ch|sec(?:tion)?|figs?|figure|table|eqs?)\.?\s*[\w.–-]{1,12}", re.I)
_KEY_LEAD = re.compile(r"(?:see|cf\.?|e\.g\.,?)\s+", re.I)
_AUTHOR_YEAR = re.compile(
    r"(?P<name>[^\W\d_][\w'’-]*)(?:(?P<others>\s+(?:(?:and|&)\s+[^\W\d_][\w'’ -]*|et\s+al\.?)),?|,)"
    r"\s+(?P<year>(?:19|20)\d{2})(?P<letter>[a-z]?)"
)


def _keys(inner: str, keys: Collection[str]) -> list[tuple[KeyRef, str]]:
    found: list[tuple[KeyRef, str]] = []
    lead = _KEY_LEAD.match(inner)
    for part in re.split(r"\s*;\s*", inner[lead.end() :] if lead else inner):
        label = _AUTHOR_YEAR.fullmatch(part) if keys else None
        if label and label["name"][0].isupper():
            found.append((KeyRef(_key_of(label, keys) or part), part))
            continue
        for at, key in enumerate(re.split(r"\s*,\s*", part)):
            plain = key.removeprefix("@")  # keys differ in more than case
            known = plain if plain in keys else next((one for one in keys if one.casefold() == plain.casefold()), "")
            shaped = (_KEY if keys else _TITLED_KEY).fullmatch(key)
            if known or shaped:
                found.append((KeyRef(known or (shaped[1] if shaped else key)), key))
            elif not at or not _LOCATOR.fullmatch(key):
                return []
    return found


def _key_of(label: re.Match[str], keys: Collection[str]) -> str:
    """The one known key that an author-year label can mean, a letter telling several of a year apart; "" if none."""
    stem = re.sub(r"\W", "", label["name"].lower()) + label["year"]
    matching = sorted(key for key in keys if key.lower().startswith(stem))
    if label["letter"]:
        place = ord(label["letter"]) - ord("a")
        return matching[place] if place < len(matching) else ""
    return matching[0] if len(matching) == 1 else ""


MARKS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.SUPPORTED: "✓",
        Verdict.PARTIAL: "◐",
        Verdict.MOVED: "↪",
        Verdict.UNCHECKED: "◐",  # nobody confirmed it
        Verdict.UNSUPPORTED: "✗",  # only ever in lists of what was removed
    }
)  # stand right behind the bracket: [1]✓


_MAX_PASSES = 8  # nested brackets that form new markers are cut as often; no honest text needs more than one

Allowed = Callable[[Target], bool] | Container[object]


@dataclass(frozen=True, slots=True)
class Marker:
    """One target of one bracket: `text[start:end]` is the whole bracket with its mark.

    `[1, 2]` gives two markers with the same span. `written` is the target's own words in the
    bracket, `mark` the verdict mark behind it ("" if none), `label` the text of a Markdown link.
    """

    start: int
    end: int
    target: Target
    grammar: Grammar
    written: str
    mark: str = ""
    label: str = ""

    @property
    def number(self) -> int | None:
        """The source's number; None in the other grammars."""
        return self.target.number if isinstance(self.target, SourceRef) else None


def parse_markers(text: str, grammar: Grammar | None = None, *, keys: Collection[str] = ()) -> list[Marker]:
    """The markers of `text` in order, of one grammar or of all.

    `keys` are the known BibTeX keys; only with them author-year labels (`[Smith et al., 2024]`) are
    markers. What looks like a key or a source number but is unknown is a marker too, so that
    `keep_markers` can take it out.
    """
    code = code_spans(text) if "`" in text or "~~~" in text else []
    starts = [start for start, _ in code]
    markers: list[Marker] = []
    is_after_stop = False
    for bracket in brackets(text):
        place = bisect_right(starts, bracket.start) - 1
        if place >= 0 and bracket.start < code[place][1]:
            continue
        if (found := read_bracket(bracket, keys)) and (grammar is None or found[0] is grammar):
            if not markers or text[markers[-1].end : bracket.start].strip():
                before = text[max(0, bracket.start - 3) : bracket.start].rstrip()
                is_after_stop = before != "" and before[-1] in _STOPS_BEFORE  # else as the bracket before it
            mark = _mark(text, bracket, is_after_stop=is_after_stop)
            end = bracket.end + len(mark)
            label = bracket.label if found[0] is Grammar.URL else ""
            markers += [
                Marker(bracket.start, end, target, found[0], written, mark[:1], label) for target, written in found[1]
            ]
    return markers


def strip_markers(text: str, grammar: Grammar | None = None, *, keys: Collection[str] = ()) -> str:
    """`text` without markers and marks; blanks before punctuation are mended, a link leaves its label."""
    return keep_markers(text, (), grammar, keys=keys)


def keep_markers(text: str, allowed: Allowed, grammar: Grammar | None = None, *, keys: Collection[str] = ()) -> str:
    """`text` with only the markers to `allowed` targets; `[1, 9]` becomes `[1]` where 9 is unknown.

    `allowed` is a predicate or a container of targets, source numbers, keys or URLs. Markers of
    another grammar than the given one stay.
    """
    for _ in range(_MAX_PASSES):
        kept = _keep_once(text, allowed, parse_markers(text, grammar, keys=keys))
        if kept == text:
            return text
        text = kept
    if any(not _is_allowed(marker.target, allowed) for marker in parse_markers(text, grammar, keys=keys)):
        text = re.sub(r"[\[\]【】()]", " ", text)  # nested without end: made to survive, so nothing of it does
    return text


def rewrite_markers(
    text: str, grammar: Grammar, written: Callable[[Sequence[Marker]], str | None], *, keys: Collection[str] = ()
) -> str:
    """`text` with what `written` makes of the markers of each bracket; None leaves the bracket as it is."""
    pieces, end = list[str](), 0
    for group in _by_bracket(parse_markers(text, grammar, keys=keys)):
        if (instead := written(group)) is not None:
            pieces += [text[end : group[0].start], instead]
            end = group[0].end
    return "".join([*pieces, text[end:]])


def _keep_once(text: str, allowed: Allowed, markers: Sequence[Marker]) -> str:
    cuts: list[_Cut] = []
    groups = _by_bracket(markers)
    for position, group in enumerate(groups):
        kept = [marker for marker in group if _is_allowed(marker.target, allowed)]
        first = group[0]
        # `[1](https://…)`: the number is a marker, where the link leads is not known to be the source.
        is_linked = first.grammar is Grammar.NUMBER and "](" in text[first.start : first.end]
        if kept and (len(kept) < len(group) or is_linked):
            cuts.append(_Cut(first.start, first.end, _rewritten(text, kept)))
        elif not kept:
            before = groups[position - 1][0].end if position else 0
            after = groups[position + 1][0].start if position + 1 < len(groups) else len(text)
            start, end = _with_joiner(text, first, before, after)
            cuts.append(_Cut(max(start, cuts[-1].end) if cuts else start, end, first.label))
    return _cut(text, cuts)


def _with_joiner(text: str, marker: Marker, before: int, after: int) -> tuple[int, int]:
    """The marker's span with the comma or `and` that ties it to the marker before it, else to the one behind it."""
    if before and _JOINER.fullmatch(text, before, marker.start):
        return before, marker.end
    if after < len(text) and _JOINER.fullmatch(text, marker.end, after):
        return marker.start, after
    return marker.start, marker.end


def _is_allowed(target: Target, allowed: Allowed) -> bool:
    if callable(allowed):
        return allowed(target)
    match target:
        case SourceRef(number):
            return target in allowed or number in allowed or f"src_{number}" in allowed
        case PageRef(paper_id):
            return target in allowed or paper_id in allowed
        case KeyRef(key):
            return target in allowed or key in allowed
        case UrlRef(url):
            return target in allowed or url in allowed


def _rewritten(text: str, kept: Sequence[Marker]) -> str:
    """The bracket with only some of its targets."""
    first, is_number = kept[0], kept[0].grammar is Grammar.NUMBER
    separator = ", " if is_number else "; "
    opening, closing = ("(", ")") if text[first.start] == "(" and not is_number else ("[", "]")  # "(1)" cites nothing
    return f"{opening}{separator.join(marker.written for marker in kept)}{closing}{first.mark}"


def _by_bracket(markers: Sequence[Marker]) -> list[list[Marker]]:
    return [list(group) for _, group in groupby(markers, key=lambda marker: marker.start)]


# Marks, and mending what is left


_MARK = re.compile(r"[✓◐↪✗]\ufe0f?")
_MARKED = r"(?:[ \t]*[\[(【][^\[\]()【】\n]{1,300}[\])】][✓◐↪✗?]\ufe0f?)"
_QUESTION_MARK_IS_MARK = re.compile(rf"\?(?={_MARKED}{{0,9}}[ \t]*[.!。！।۔…,;:]|{_MARKED}|[ \t]+[a-z])")
_STOPS_BEFORE = '.!?…。！？؟۔।॥"”’»)*_'


def _mark(text: str, bracket: Bracket, *, is_after_stop: bool) -> str:
    """The verdict mark behind a bracket. A `?` that may end a question is taken for punctuation."""
    if mark := _MARK.match(text, bracket.end):
        return mark.group()
    if text.startswith("?", bracket.end) and (is_after_stop or _QUESTION_MARK_IS_MARK.match(text, bracket.end)):
        return "?"
    return ""


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    written: str


_JOINER = re.compile(r"[ \t]*(?:[,;&]|and)[ \t]*")
_BLANKS = " \t"


def _cut(text: str, cuts: Sequence[_Cut]) -> str:
    """`text` with each cut replaced by what is written instead, and the blanks around mended."""
    left: list[str] = []  # of characters: what stands at its end is taken back, and a string would be copied each time
    cursor = 0
    for cut in cuts:
        left += text[cursor : cut.start]
        cursor = cut.end
        if cut.written:
            left += cut.written
            continue
        following = text[cursor : cursor + 1]
        if not following or following in ".,;:!?)…\r\n。，、；：！？।۔":
            _drop_blanks(left)
        elif following in _BLANKS and (not left or left[-1].isspace() or left[-1] in "(["):
            while cursor < len(text) and text[cursor] in _BLANKS:
                cursor += 1
        if left and left[-1] == "(" and text.startswith(")", cursor):
            left.pop()
            _drop_blanks(left)
            cursor += 1
    return "".join(left) + text[cursor:]


def _drop_blanks(characters: list[str]) -> None:
    """Those at the end."""
    while characters and characters[-1] in _BLANKS:
        characters.pop()


# The citations of a sentence


def marker_numbers(text: str) -> list[int]:
    """The source numbers that a sentence cites, in order, each once."""
    numbers = [marker.number for marker in parse_markers(text, Grammar.NUMBER) if marker.number is not None]
    return list(dict.fromkeys(numbers))


def with_markers(text: str, source_ids: Sequence[str]) -> str:
    """The sentence with exactly these citations: wrong markers go, missing ones come before the final stop."""
    numbers = [int(source_id.removeprefix("src_")) for source_id in source_ids]
    kept = keep_markers(text, set(numbers), Grammar.NUMBER)
    kept = rewrite_markers(kept, Grammar.NUMBER, partial(_written, kept))
    kept = _each_once(kept)
    missing = "".join(f"[{number}]" for number in numbers if number not in marker_numbers(kept))
    if not missing:
        return kept
    markers = parse_markers(kept, Grammar.NUMBER)
    if markers:  # beside those that are there, wherever the writer put them
        at = markers[-1].end
        return f"{kept[:at]}{missing}{kept[at:]}"
    body = kept.rstrip()
    stop = _END.search(body)
    at = stop.start() if stop else len(body)
    return f"{body[:at]} {missing}{body[at:]}"


def _written(text: str, group: Sequence[Marker]) -> str:
    """One bracket for each number, apart from a word of a script that parts words: the vote[^1] of a footnote."""
    before = text[: group[0].start][-1:]
    blank = " " if before.isalnum() and before < "\u2e80" else ""
    return blank + "".join(f"[{marker.number}]" for marker in group)


def _each_once(text: str) -> str:
    """Of number markers side by side, one a bracket, each once: two would say the same thing twice."""
    said: set[int | None] = set()
    repeated: list[Marker] = []
    end = 0
    for marker in parse_markers(text, Grammar.NUMBER):
        if text[end : marker.start].strip():
            said = set()
        if marker.number in said:
            repeated.append(marker)
        said.add(marker.number)
        end = marker.end
    for marker in reversed(repeated):
        text = text[: marker.start].rstrip() + text[marker.end :]
    return text
