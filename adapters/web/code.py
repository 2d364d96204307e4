"""Code as HTML in which a style sheet alone makes the colours: comments, strings, numbers, and words of the language.

One linear pass for all languages: code here is somebody else's, and a lexer that can be made to
backtrack would let a page of theirs hold up ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import regex
from markupsafe import Markup, escape

# Comments, strings, numbers, words of the language and calls; as spans they would weigh three times as much.
TAGS = {"c": "i", "s": "em", "n": "var", "k": "b", "f": "u"}
MAX_CHARS = 50_000  # of one block; a longer one stays plain

_WORDS = frozenset(
    """False None True and as assert async await break case class const continue def default del do elif else enum
    except export extends false finally fn for foreach from func function global go if impl implements import in
    instanceof interface is lambda let loop match mod mut namespace new nil nonlocal not null of or package pass private
    protected pub public raise require return select self static struct super switch then this throw throws trait true
    try type typeof undefined unsafe use using val var void volatile where while with yield""".split()
)
_SQL_WORDS = frozenset(
    """select from where insert into values update set delete create table index view drop alter join left right inner
    outer on group by order having limit offset union all distinct as and or not null primary key references with
    returning begin commit rollback if exists""".split()
)
_SHELL_WORDS = frozenset("if then else elif fi for in do done while case esac function export local return".split())
_COMMENTS: Mapping[str, str] = {
    "hash": r"\#[^\n]*",
    "slashes": r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)",
    "dashes": r"--[^\n]*",
}
_STYLES = {"sql": "dashes", "lua": "dashes", "haskell": "dashes"} | dict.fromkeys(
    """javascript typescript java c cpp csharp go rust kotlin swift scala php css dart jsx tsx""".split(), "slashes"
)
_PROSE = frozenset({"markdown", "md", "text", "txt", "plain", "html", "xml", "console", "output"})
_QUOTES = "\"'`"
_LONG_STRINGS = r'"""(?s:.*?)(?:"""|\Z)|\'\'\'(?s:.*?)(?:\'\'\'|\Z)'
_REST = r"(?P<n>\b\d[\w.]*+)|(?P<w>\b[A-Za-z_]\w*+\b)(?P<call>\s*+\()?"


def highlighted(code: str, language: str) -> Markup:
    """`code` escaped, its tokens in elements of `TAGS`."""
    name = language.casefold()
    if name in _PROSE or len(code) > MAX_CHARS:
        return escape(code)
    pieces: list[Markup] = []
    end = 0
    for token in _tokens(code, _STYLES.get(name, "hash")):
        kind = _kind(token, name)
        text = token.group(kind if kind in "csn" else "w") if kind else ""
        if text:
            pieces += [escape(code[end : token.start()]), Markup("<{0}>{1}</{0}>").format(TAGS[kind], text)]
            end = token.start() + len(text)
    return Markup("").join([*pieces, escape(code[end:])])


def _tokens(code: str, style: str) -> Iterator[regex.Match[str]]:
    """In order. A quotation mark that nothing closes on its line is none, nor are those of its kind behind it there."""
    position, unclosed = 0, ""
    while token := _pattern(style, unclosed).search(code, position):
        position = token.end()
        if token["open"]:
            position, unclosed = token.start() + 1, unclosed + code[token.start()]
            continue
        if "\n" in token.group():
            unclosed = ""
        yield token


@lru_cache
def _pattern(style: str, unclosed: str) -> regex.Pattern[str]:
    """Groups are named after `TAGS`; `open` is a string that does not end on its line, after which that end matches."""
    quotes = [quote for quote in _QUOTES if quote not in unclosed]
    closed = [rf"{quote}(?:\\.|[^{quote}\\\n])*+{quote}" for quote in quotes]
    opened = [rf"{quote}(?:\\.|[^{quote}\\\n])*+" for quote in quotes]
    strings = "|".join([_LONG_STRINGS, *closed])
    line_end = r"|\n" if unclosed else ""
    opened_or_never = "|".join(opened) or "(?!)"
    return regex.compile(rf"(?P<c>{_COMMENTS[style]})|(?P<s>{strings})|(?P<open>{opened_or_never})|{_REST}{line_end}")


def _kind(token: regex.Match[str], language: str) -> str:
    for kind in "csn":
        if token[kind]:
            return kind
    word = token["w"]
    if not word:
        return ""
    words = {"sql": _SQL_WORDS, "bash": _SHELL_WORDS}.get(language, _WORDS)
    if (word.casefold() if language == "sql" else word) in words:
        return "k"
    return "f" if token["call"] and language != "bash" else ""
