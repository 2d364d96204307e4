"""Cited works as BibTeX. Pure; whatever a title or a name holds, braces stay in pairs and LaTeX shows the characters.

Works without a journal are `@misc` with `url` and `urldate`, as Zotero writes web pages: classic styles know no
`@online`. Addresses are verbatim for LaTeX (hyperref, biblatex), so in them only what breaks an entry is encoded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from urllib.parse import quote

import regex

from core.presentation.bibliography import CitedWork, Name
from core.presentation.latex import latex_text

_BREAKING = regex.compile(r"[{}\\\s\"<>^`|]|[^\x00-\x7f]")  # no address has them as they are (RFC 3986)
_STOP_WORDS = frozenset("a an and for from how in is of on or the to what when where which who why with".split())
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # macros that every style knows


def bibtex(works: Sequence[CitedWork], keys: Sequence[str] | None = None) -> str:
    """One entry a work, under its key; without `keys` under some that are unique, ASCII, and the same each time."""
    keys = _keys(works) if keys is None else keys
    return "\n".join(_entry(work, key) for work, key in zip(works, keys, strict=True))


def _entry(work: CitedWork, key: str) -> str:
    fields = {
        "author": _authors(work),
        "title": f"{{{latex_text(work.title)}}}",  # in braces of its own a style leaves its capitals alone
        "journal": latex_text(work.journal),
        "year": f"{work.published_on.year:04}" if work.published_on else "",
        "publisher": "" if work.journal else latex_text(work.publisher),
        "doi": _verbatim(work.doi),
        "eprint": _verbatim(work.arxiv_id),
        "archiveprefix": "arXiv" if work.arxiv_id else "",
        "pmid": work.pubmed_id,
        "url": _verbatim(work.url),
        "urldate": work.read_on.isoformat() if work.url else "",
        "note": f"File {latex_text(work.file)}" if work.file else "",
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    if work.published_on and not work.is_year_only:
        lines.append(f"  month = {_MONTHS[work.published_on.month - 1]},")
    return "\n".join([f"@{'article' if work.is_article else 'misc'}{{{key},", *lines, "}", ""])


def _authors(work: CitedWork) -> str:
    names = [_author(name) for name in work.authors]
    if names and work.has_more_authors:
        names.append("others")
    return " and ".join(names)


def _author(name: Name) -> str:
    """`Moore, Ann`; in braces what is one name, so that no style takes it apart."""
    if not name.given:
        return f"{{{latex_text(name.family)}}}"
    return f"{_part(name.family)}, {_part(name.given)}"


def _part(text: str) -> str:
    """Part of a name; in braces where BibTeX would find two names in it."""
    return f"{{{latex_text(text)}}}" if "," in text or " and " in f" {text.lower()} " else latex_text(text)


def _verbatim(address: str) -> str:
    return _BREAKING.sub(lambda found: quote(found.group(), safe=""), address)


def _keys(works: Sequence[CitedWork]) -> list[str]:
    """`moore2024lighthouse`; the second of the same is `moore2024lighthouse-2`."""
    taken: dict[str, int] = {}
    keys: list[str] = []
    for work in works:
        key = key_of(work)
        taken[key] = taken.get(key, 0) + 1
        keys.append(key if taken[key] == 1 else f"{key}-{taken[key]}")
    return keys


def key_of(work: CitedWork) -> str:
    """`smith2024quantum`: the first author, the year, the first word of the title that says something."""
    first = _signature(work.authors[0]) if work.authors else work.publisher.partition(".")[0]
    year = f"{work.published_on.year:04}" if work.published_on else ""
    words = [word for word in map(_ascii, regex.findall(r"\p{L}+", work.title)) if word]
    word = next((word for word in words if word not in _STOP_WORDS), "")
    return f"{_ascii(first)[:20] or 'source'}{year}{word[:20]}"


def _signature(name: Name) -> str:
    """`Beethoven` of van Beethoven, `World` of an organisation."""
    words = name.family.split() or [""]
    return words[-1] if name.given else words[0]


def _ascii(text: str) -> str:
    """Small ASCII letters and digits of it; accents are left off, other scripts are left out."""
    return "".join(char for char in unicodedata.normalize("NFKD", text.lower()) if char.isascii() and char.isalnum())
