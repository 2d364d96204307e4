"""PubMed's query language, as much of it as tests need: fields, phrases, AND, OR, NOT, parentheses, years.

What PubMed would silently misread is an error here, so that a test sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.loopback.search_corpus import Document, words_of

Matches = Callable[[str, Document], bool]
_TOKEN = re.compile(r'"[^"]+"|\[[^\[\]]+\]|[()]|[^\s()\[\]"]+|\S')


class BadSyntax(Exception):
    pass


def search(query: str, by_id: Mapping[str, Document]) -> list[Document]:
    """The documents that match, those with most of the query's words first."""
    matches = _Parser(_TOKEN.findall(query)).parse()
    words = words_of(re.sub(r"\[[^\]]*\]|\b(?:AND|OR|NOT)\b", " ", query))
    found = [document for pmid, document in by_id.items() if matches(pmid, document)]
    return sorted(found, key=lambda document: -len(words & _words(document)))


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens

    def parse(self) -> Matches:
        matches = self._expression()
        if self._tokens:
            raise BadSyntax(f"unexpected {self._tokens[0]!r}")
        return matches

    def _expression(self) -> Matches:
        matches = self._term()
        while self._tokens and self._tokens[0] != ")":
            operator = self._tokens.pop(0) if self._tokens[0] in ("AND", "OR", "NOT") else "AND"
            matches = _joined(operator, matches, self._term())
        return matches

    def _term(self) -> Matches:
        token = self._tokens.pop(0) if self._tokens else ""
        if token == "(":
            matches = self._expression()
            if not self._tokens or self._tokens.pop(0) != ")":
                raise BadSyntax("a parenthesis is not closed")
            return matches
        if not token or token in ("AND", "OR", "NOT", ")", '"', "[", "]") or token.startswith("["):
            raise BadSyntax(f"unexpected {token!r}")
        field = self._tokens.pop(0).strip("[]").lower() if self._tokens and self._tokens[0].startswith("[") else ""
        return _leaf(token.strip('"'), field)


def _joined(operator: str, left: Matches, right: Matches) -> Matches:
    if operator == "OR":
        return lambda pmid, document: left(pmid, document) or right(pmid, document)
    wanted = operator == "AND"
    return lambda pmid, document: left(pmid, document) and right(pmid, document) is wanted


def _leaf(text: str, field: str) -> Matches:
    if field in ("uid", "pmid"):
        return lambda pmid, document: pmid == text
    if field == "aid":
        return lambda pmid, document: getattr(document, "doi", "").casefold() == text.casefold()
    if field in ("dp", "pdat"):
        years = [int(year) for year in re.findall(r"\d{4}", text)]
        return lambda pmid, document: bool(years) and years[0] <= document.published_at.year <= years[-1]
    words = words_of(text)
    if text.endswith("*"):
        return lambda pmid, document: any(word.startswith(text[:-1].lower()) for word in _words(document))
    return lambda pmid, document: words <= _words(document)


def _words(document: Document) -> set[str]:
    return words_of(f"{document.title} {document.text}")
