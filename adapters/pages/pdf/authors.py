"""The authors that a paper's first page names under its title: lines of nothing but names, in one type. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from adapters.pages.pdf.lines import Line
from core.text.language import rarity
from core.text.terms import terms

MAX_FRONT_LINES = 40  # below the title; long lists of authors take thirty
MAX_AUTHORS = 100
_RARE = 0.5  # of `rarity`; names of journals and headings are made of commoner words
_BELOW = re.compile(
    r"\W*(?:abstract|a b s t r a c t|summary|keywords|index terms|(?:\d\.? )?introduction)\b", re.IGNORECASE
)
_MARKS = re.compile(r"[*†‡§¶∗∥⋆✉#^⁰¹²³⁴-⁹]+|\b\d{1,2}\b|(?<=[^\W\d_])\d{1,2}(?:,\d{1,2})*|(?<![^\W_])[a-h](?![\w.'’])")
_PARTS = re.compile(r"\s*(?:[,;·•|&]|\band\b|\bund\b|\bet\b|\by\b)\s*", re.IGNORECASE)
_TITLES = re.compile(
    r"(?:(?:(?:student|senior|life) )?(?:member|fellow)|ieee|acm|ph\.?\s?d|m\.?d|[mb]\.?sc|dr|prof|[js]r|iii?)\.?",
    re.IGNORECASE,
)
_GIVEN = r"(?:[A-ZÀ-ÖØ-Þ]\.?(?:-?[A-Z]\.)*|[A-ZÀ-ÖØ-Þ][\w'’]*[^\W\d_](?:[-‐][A-ZÀ-ÖØ-Þ]?[\w'’]+)*)"
_PARTICLE = r"(?:de|da|di|del|della|der|den|dos|du|el|la|le|ten|ter|van|von|zu|bin|al)"
_FAMILY = r"(?:[dDlLO]['’])?[A-ZÀ-ÖØ-Þ][\w'’]*[^\W\d_](?:[-‐][A-ZÀ-ÖØ-Þ]?[\w'’]+)*"
_NAME = re.compile(
    rf"{_GIVEN}(?: {_GIVEN}){{0,3}}(?: {_PARTICLE}){{0,2}} {_FAMILY}"
    rf"|(?:{_PARTICLE} ){{0,2}}{_FAMILY}(?: {_FAMILY})? [A-Z]{{1,3}}"
)
_NO_PERSON = frozenset(
    "university universität université universidad college school institute institut department faculty laboratory lab "
    "labs hospital clinic centre center academy research group company inc ltd press journal proceedings transactions "
    "letters reports review article original open access available contents volume issue received accepted published "
    "street road norway germany france italy spain usa china japan united kingdom states january february march april "
    "may june july august september october november december".split()
)


def authors_under(title: Sequence[Line], lines: Sequence[Line]) -> list[str]:
    """In their order, () where no line below the title holds names alone. `lines` are the page's, in reading order."""
    below = [line for line in lines if not title or line.bottom < min(part.bottom for part in title) + 1.0]
    found: list[tuple[Line, list[str]]] = []
    for line in below[:MAX_FRONT_LINES]:
        if _BELOW.match(line.text):
            break
        if not any(line is part for part in title) and (names := _names_in(line)):
            found.append((line, names))
    several = [line for line, names in found if len(names) > 1]
    lead = several[0] if several else next((line for line, names in found if _is_rare(names[0])), None)
    if lead is None:
        return []
    alike = [names for line, names in found if abs(line.size - lead.size) < 0.3 and line.is_bold == lead.is_bold]
    return list(dict.fromkeys(name for names in alike for name in names))[:MAX_AUTHORS]


def _names_in(line: Line) -> list[str]:
    """The names of a line that holds nothing else, else nothing."""
    pieces = [cell.text for cell in line.cells] or [line.text]
    parts = [part.strip(" .,") for piece in pieces for part in _PARTS.split(_MARKS.sub(" ", piece))]
    names = [" ".join(part.split()) for part in parts if part and not _TITLES.fullmatch(part)]
    names = [name.title() if name.isupper() else name for name in names]
    return names if names and all(map(_is_name, names)) else []


def _is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None and _NO_PERSON.isdisjoint(text.casefold().split())


def _is_rare(name: str) -> bool:
    return any(rarity(term, "en") >= _RARE for term in terms(name))
