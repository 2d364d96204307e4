"""What both platforms need: text that fits a limit, cut where a reader would cut it, and links that do not lie."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import quote, urlsplit, urlunsplit

import regex

from core.presentation.render import one_line

_GRAPHEMES = regex.compile(r"\X")
_SENTENCE_END = regex.compile(r"(?:[.!?…](?:\[[\d, ]{1,20}\][✓◐↪?✗]?)*(?=\s)|[。！？]|\n)")
_OPEN_CITATION = regex.compile(r"\[[\d, ]{0,20}$")
_HOST = regex.compile(r"(?=.{1,100}$)[a-z0-9-]+(?:\.[a-z0-9-]+)*\.?")  # longer ones are not for reading
_KEPT_FOR_A_SENTENCE = 0.5  # of the room; a shorter text than that says too little, so a word's end must do


def fit(text: str, limit: int, escape: Callable[[str], str] = str, *, more: str = "…") -> str:
    """`escape(text)`, or as much of it as fits into `limit` UTF-16 units with ` more` behind it.

    `escape` works character by character. Cuts after a sentence, else after a word, else between
    graphemes; never inside a citation. `limit` must leave room for `more`.
    """
    whole = escape(text)
    if units(whole) <= limit:
        return whole
    kept = _at_boundary(text[: _room(text, limit - units(more) - 1, escape)], text)
    return f"{escape(kept)} {more}" if kept else more


def last_lines(lines: Sequence[str], limit: int) -> list[str]:
    """As many of the last lines as have at most `limit` units, with a line break each."""
    kept: list[str] = []
    for line in reversed(lines):
        limit -= units(line) + 1
        if limit < 0:
            break
        kept.insert(0, line)
    return kept


def units(text: str) -> int:
    """Length in UTF-16 units: how the platforms' clients count, and never less than code points."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def true_link(url: str) -> tuple[str, str]:
    """The host in ASCII without `www.`, and the address with every odd character encoded.

    Both "" where it may not be a link: not http(s), no real host name, or a user name in front of it.
    """
    try:
        parts = urlsplit(one_line(url))
        host = (parts.hostname or "").encode("idna").decode()
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # also what a host that is no name raises
        return "", ""
    if parts.scheme not in ("http", "https") or "@" in parts.netloc or not _HOST.fullmatch(host):
        return "", ""
    rest = (quote(part, safe="%/:=&?~+!$,;.-_") for part in (parts.path, parts.query, parts.fragment))
    return host.removeprefix("www."), urlunsplit((parts.scheme, host + port, *rest))


def _room(text: str, limit: int, escape: Callable[[str], str]) -> int:
    """How many code points of `text` fit when escaped, in whole graphemes."""
    used = end = 0
    for grapheme in _GRAPHEMES.finditer(text):
        used += units(escape(grapheme.group()))
        if used > limit:
            break
        end = grapheme.end()
    return end


def _at_boundary(kept: str, text: str) -> str:
    if kept == text:
        return kept
    sentence = max((found.end() for found in _SENTENCE_END.finditer(kept)), default=0)
    if sentence >= _KEPT_FOR_A_SENTENCE * len(kept):
        return kept[:sentence].rstrip()
    blank = max(kept.rfind(" "), kept.rfind("\n"))
    if blank >= _KEPT_FOR_A_SENTENCE * len(kept):
        kept = kept[:blank]
    return _OPEN_CITATION.sub("", kept).rstrip()
