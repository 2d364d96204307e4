"""What both platforms need: text that fits a limit, cut where a reader would cut it, and links that do not lie.

Code is kept whole where there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlsplit, urlunsplit

import regex

from core.findings.judging import OTHER_LEVEL, level_name
from core.findings.results import split_fences
from core.findings.viewing import FindingsView, FoundItem, code_files, code_name
from core.presentation.render import one_line, printable
from core.text.saying import say, say_again, say_many

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


# Code in a chat message: whole where there is room, else its first lines; told apart from the prose around it


@dataclass(frozen=True)
class Excerpt:
    """`left_out` is how many lines of the code are not wholly in `text`."""

    text: str
    left_out: int = 0


def excerpt(code: str, limit: int) -> Excerpt:
    """The code, or as many whole lines of it as have at most `limit` units; of a longer first line its beginning."""
    lines = printable(code).expandtabs(4).rstrip().split("\n")
    kept: list[str] = []
    used = 0
    for line in lines:
        used += units(line) + 1
        if used > limit:
            break
        kept.append(line)
    if not kept:
        return Excerpt(fit(lines[0], max(limit, 2)), len(lines))
    return Excerpt("\n".join(kept).rstrip(), len(lines) - len(kept))


def rest_of(item: FoundItem, left_out: int, view: FindingsView) -> str:
    """`24 more lines in implementation-2.py`; `also as implementation-2.py` where all of it is shown; else ""."""
    name = code_name(item)
    is_attached = name in dict(code_files(view))
    if left_out:
        if is_attached:
            return say_many("{number} more line in {name}", "{number} more lines in {name}", left_out, name=name)
        return say_many("{number} more line on the page", "{number} more lines on the page", left_out)
    return say("also as {name}", name=name) if is_attached else ""


def about(item: FoundItem) -> str:
    """`official documentation · parses · imports: requests · needs requests`; nothing of a place nobody knows."""
    standing = item.standing if item.standing != level_name(OTHER_LEVEL, item.mode) else ""
    needs = say("needs {names}", names=item.dependencies) if item.dependencies not in ("", "none") else ""
    return " · ".join(filter(None, [say_again(standing), *(say_again(remark.text) for remark in item.remarks), needs]))


def shares(needs: Sequence[int], room: int) -> list[int]:
    """What each gets of the room: what it needs where that is little, else an equal part of what those leave."""
    given = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=lambda place: needs[place])
    for served, place in enumerate(by_need):
        given[place] = min(needs[place], room // (len(needs) - served))
        room -= given[place]
    return given


def unbolded(text: str) -> str:
    """Without the marks of bold words, before all of it is set in bold; code and powers keep their stars."""
    return _BOLD.sub(r"\1", text)


def bare(text: str) -> str:
    """As words alone, where nothing sets them: without the marks of emphasis, and of code, which stays as it is."""
    return one_line(_MARKED.sub(r"\1\3", _BREAK.sub(" ", text)))


_BOLD = regex.compile(r"(`[^`\n]*`)|(?<!\w)\*\*|\*\*(?!\w)")
_MARKED = regex.compile(r"`([^`\n]*)`|(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\2(?![\w*])")
_BREAK = regex.compile(r"(?i)<br ?/?>")


def pieces_of(text: str) -> Iterator[tuple[str, str, bool]]:
    """Prose and code in order: `(text, language, is_code)`, blank prose left out."""
    for piece, language, is_code in split_fences(text):
        if piece.strip():
            yield piece, language, is_code
