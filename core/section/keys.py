"""BibTeX keys of a library's papers, and their entries: the same key in every section and on every day.

A paper keeps its own key where it came with one; else first author, year and first telling word of the title. Of
papers with one key, the one that came first keeps it, and the others get a letter: a paper that is added later
renames none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

import regex

from core.library.paper import Paper
from core.presentation.bibliography import CitedWork, Name, names_in, ris
from core.presentation.bibtex import bibtex, key_of
from core.presentation.render import cut, one_line

_ENTRY = regex.compile(r"\s*@\s*(?P<kind>[A-Za-z]+)\s*\{\s*(?P<key>[^\s,{}]*)\s*,")
_USABLE = regex.compile(r"[A-Za-z][\w:./+-]{2,99}", regex.ASCII)  # what a bracket in prose and \cite both take
MAX_TITLE_CHARS = 40  # of a paper that names no author, where it is cited
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def assign_keys(papers: Sequence[Paper]) -> dict[str, str]:
    """By paper id. Keys differ in more than case, since BibTeX does not tell those apart."""
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for paper in sorted(papers, key=lambda paper: (paper.added_at, paper.id)):
        stem = own_key(paper) or key_of(work_of_paper(paper))
        key = next(f"{stem}{end}" for end in _endings() if f"{stem}{end}".casefold() not in taken)
        taken.add(key.casefold())
        keys[paper.id] = key
    return keys


def own_key(paper: Paper) -> str:
    """The key of the entry that the paper came with, "" where that cannot be cited."""
    found = _ENTRY.match(paper.bibtex)
    return found["key"] if found and _USABLE.fullmatch(found["key"]) else ""


def bibliography(papers: Sequence[Paper], keys: Mapping[str, str]) -> str:
    """A `.bib` of these papers, in the order of their keys."""
    return "\n".join(_entry(paper, keys[paper.id]) for paper in sorted(papers, key=lambda paper: keys[paper.id]))


def exported(papers: Sequence[Paper], form: str) -> str:
    """A reading list: `bib` with the keys that sections cite by, or `ris`."""
    keys = assign_keys(papers)
    if form == "bib":
        return bibliography(papers, keys)
    return ris([work_of_paper(paper) for paper in sorted(papers, key=lambda paper: keys[paper.id])])


def author_years(papers: Sequence[Paper], keys: Mapping[str, str]) -> dict[str, str]:
    """By key: `Smith et al., 2024`, with a letter where several papers would have the same. `keys` are by paper id."""
    papers = sorted(papers, key=lambda paper: keys[paper.id])
    plain = {keys[paper.id]: _author_year(paper) for paper in papers}
    alike = {label: [key for key, other in plain.items() if other == label] for label in plain.values()}
    return {
        key: f"{label}{_endings()[1 + alike[label].index(key)]}" if len(alike[label]) > 1 else label
        for key, label in plain.items()
    }


def _author_year(paper: Paper) -> str:
    authors = work_of_paper(paper).authors
    who = authors[0].family if authors else cut(one_line(paper.title), MAX_TITLE_CHARS)
    return f"{who}{' et al.' if len(authors) > 1 else ''}, {paper.year or 'n.d.'}"


def work_of_paper(paper: Paper) -> CitedWork:
    names: list[Name] = []
    for author in paper.authors:
        names += names_in(one_line(author))[0]
    published = _date(paper.published)
    return CitedWork(
        number=0,
        title=one_line(paper.title) or "Untitled",
        authors=tuple(names),
        has_more_authors=False,
        journal="",
        publisher="",
        published_on=published,
        read_on=paper.added_at.date(),
        url=paper.url if paper.url.startswith(("http://", "https://")) else "",
        file="",
        doi=one_line(paper.doi),
        arxiv_id=paper.id if "arxiv.org/" in paper.url else "",
        pubmed_id="",
        is_article=False,
        is_year_only=len(paper.published) < len("2024-01"),
    )


def _entry(paper: Paper, key: str) -> str:
    """The paper's own entry under its key where it is whole, else one made of what is known."""
    found = _ENTRY.match(paper.bibtex)
    if found and _is_whole(paper.bibtex):
        return f"@{found['kind']}{{{key},{paper.bibtex[found.end() :].rstrip()}\n"
    return bibtex([work_of_paper(paper)], [key])


def _is_whole(entry: str) -> bool:
    """One entry, whose braces close with its last character."""
    depth = 0
    text = entry.strip()
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if depth == 0 and char == "}":
            return place == len(text) - 1
    return False


def _endings() -> Sequence[str]:
    return ["", *_LETTERS, *(first + second for first in _LETTERS for second in _LETTERS)]


def _date(published: str) -> date | None:
    try:
        return date.fromisoformat(f"{published}-01-01"[: len("2024-01-01")] if len(published) < 10 else published[:10])
    except ValueError:
        return None
