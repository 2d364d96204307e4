"""The grammars of citation markers (D3): what a bracket must look like, and what its words point to.

Reads single brackets and knows nothing of the text around them; core/evidence/citations.py does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


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
        named = _keys(bracket.inner, keys)
        is_aside = any(" " in target.key and "et al" not in target.key for target, _ in named)  # (Paris, 2015)
        return (Grammar.KEY, named) if named and not is_aside else None
    pages = _pages(bracket.inner)
    if pages:
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
        for key in re.split(r"\s*,\s*", part):
            shaped = (_KEY if keys else _TITLED_KEY).fullmatch(key)
            if key not in keys and not shaped:
                return []
            found.append((KeyRef(key if key in keys or not shaped else shaped[1]), key))
    return found


def _key_of(label: re.Match[str], keys: Collection[str]) -> str:
    """The one known key that an author-year label can mean, a letter telling several of a year apart; "" if none."""
    stem = re.sub(r"\W", "", label["name"].lower()) + label["year"]
    matching = sorted(key for key in keys if key.lower().startswith(stem))
    if label["letter"]:
        place = ord(label["letter"]) - ord("a")
        return matching[place] if place < len(matching) else ""
    return matching[0] if len(matching) == 1 else ""
