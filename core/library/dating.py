"""When a paper was published, told from its arXiv id or what its first page prints. Pure.

A year that merely occurs there (of a study, of a reference) tells nothing: it stands with a word that says what it is.
"""

from __future__ import annotations

import re

from core.library.paper import ARXIV_ID

FIRST_YEAR = 1900
ARXIV_BEGAN = 91  # 1991; ids hold two digits of the year
_ID = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d{2})(0[1-9]|1[0-2])(?:\d{3}|\.\d{4,5})(?:v\d+)?")
_YEAR = r"((?:19|20)\d{2})\b"
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = rf"(?:[\s,:]*(?:online|on|date|{_DAY}|{_MONTH})\b\.?){{0,5}}[\s,:]*\b{_YEAR}"
_BESIDE = r"[^\w\n]*"  # on its own line: across lines it would be looked for from each of them
_SIGNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rf"(?:^|[.;|]\s*)(?:first )?publi(?:shed|cation){_DATE}",
        rf"(?:©|\(c\)|\bcopyright\b(?:\s*©)?)[\s:,]*{_YEAR}",
        rf"\bvol(?:ume|\.)\s*\d+[\s,:;|()a-z.\d–-]{{0,40}}?\b{_YEAR}",
        rf"(?:^|[.;|]\s*)accepted(?: for publication)?{_DATE}",
        rf"(?:^|[.;|]\s*)received{_DATE}",
        rf"^{_BESIDE}(?:{_DAY}\s+)?{_MONTH}\s+(?:{_DAY},?\s+)?{_YEAR}{_BESIDE}$",
    )
)  # the surest first
_LINE_START = re.compile(r"^[#*>\s]+", re.MULTILINE)


def published_of(paper_id: str, text: str, *, latest: int) -> str:
    """A month for an arXiv id, else a year from the first page; "" where neither tells. `latest` is this year."""
    found = _ID.fullmatch(paper_id) if ARXIV_ID.fullmatch(paper_id) else None
    if found:
        century = 19 if int(found[1]) >= ARXIV_BEGAN else 20
        year = f"{century}{found[1]}"
        return f"{year}-{found[2]}" if int(year) <= latest else ""
    page = _LINE_START.sub("", text.partition("\f")[0])
    for sign in _SIGNS:
        years = [year for year in sign.findall(page) if FIRST_YEAR <= int(year) <= latest]
        if years:
            return str(years[0])
    return ""
