"""Untrusted text as Discord shows it: it pings nobody, hides no link, and keeps what it may of its own Markdown.

`plain` and `prose` escape character by character. `rich` lets through bold, italics, lists, quotes, headings, code and
tables, and nothing else: no link but the sources under their true domain, the page, and the numbers cited there. Pure.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import regex

from adapters.chat.fitting import bare, excerpt, fit, pieces_of, true_link, unbolded, units
from core.evidence.structure import cells
from core.findings.viewing import FENCE
from core.model.source import Source
from core.presentation import wording
from core.presentation.render import one_line, printable
from core.text.saying import say

URL_LIMIT = 512  # of a link button; an embed's own URL may have 2048
TITLE_ROOM = 100
ADDRESS_ROOM = 300  # three sources and the rest of a description leave the answer at least 600
LEAST_ROOM = 80  # for the beginning of a line that is too long, and of code
TABLE_WIDTH = 56  # characters of the code font that an embed has room for on a desk; a telephone scrolls
LEAST_COLUMN = 6
GAP = "  "

# The address for a number that is cited behind these words of its line; "" where it is to stay a number.
Cite = Callable[[str, str], str]

_ACTIVE = frozenset("\\`*_~|<>#[]")  # what Discord's Markdown acts on; `@` and addresses are broken before
# `[1]` may stand as it is, but not as a link's label.
_ESCAPED_MARKER = regex.compile(r"\\\[(\d{1,3}(?:, ?\d{1,3})*)\\\](?!\()")
_WORK = regex.compile(r"https://(?=doi\.org/10\.\d|pubmed\.ncbi\.nlm\.nih\.gov/\d)")
_INVITE = regex.compile(r"(?i)(discord(?:app)?)\.(?=(?:gg|com|io|me|li)\b)")
_INLINE = regex.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|\*\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*\*"
    r"|(?<![\w*])\*(?P<italic>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
    r"|\[(?P<numbers>\d{1,3}(?:, ?\d{1,3})*)\](?!\()"
)
_HEADING = regex.compile(r"#{1,6}\s+(\S.*)")
_ITEM = regex.compile(r"(?P<space>\s*)[-*+]\s+(?P<text>\S.*)")
_QUOTE = regex.compile(r"\s*>[>\s]*(?P<text>[^>\s].*)")
_BELOW = regex.compile(r" {3,}([^\s\d].*)")  # what stands below an entry of a list: authors, date
_LANGUAGE = regex.compile(r"[a-z0-9_+.#-]{1,20}")  # what Discord's client takes for one
_TICKS = regex.compile(r"`{3,}")


def plain(text: str, limit: int) -> str:
    """Untrusted text as Discord will show it literally, at most `limit` characters, on one line."""
    return fit(_defused(one_line(text)), limit, _escaped)


def prose(text: str, limit: int) -> str:
    """As `plain`, with its paragraphs and its citation markers."""
    tidy = regex.sub(r"\n{3,}", "\n\n", printable(text)).strip()
    return _ESCAPED_MARKER.sub(r"[\1]", fit(_defused(tidy), limit, _escaped))


def rich(text: str, limit: int, *, cite: Cite = lambda number, words: "", more: str = "…") -> str:
    """Untrusted Markdown in at most `limit` units, each number that is cited a link where `cite` knows one.

    Tables and code become closed blocks. What is too long ends after a line or a sentence; `more` is trusted.
    """
    blocks = list(_blocks(printable(text)))
    written = [code_block(block.text, block.language) if block.is_code else _line(block.text, cite) for block in blocks]
    if units(whole := "\n".join(written)) <= limit:
        return whole
    room, shown, gap = limit - units(more) - 1, list[str](), " "
    for block, said in zip(blocks, written, strict=True):
        gap = "\n" if block.is_code or not said else " "
        if units(said) > room:
            shown.append(_begun(block, said, room, cite))
            break
        shown.append(said)
        room -= units(said) + 1
    kept = "\n".join(shown).rstrip()
    return f"{kept}{gap}{more}" if kept else more


def tables_in(text: str) -> list[str]:
    """Each table of a Markdown text, as it stands there."""
    lines = [line for piece, _, is_code in pieces_of(text) if not is_code for line in [*piece.split("\n"), ""]]
    found: list[str] = []
    place = 0
    while place < len(lines):
        rows = _rows(lines, place)
        end = place + len(rows) + 1
        found += ["\n".join(lines[place:end])] if rows else []
        place = end
    return found


def code_block(code: str, language: str) -> str:
    """A fence of Discord's; one within the code is broken by zero-width spaces, which no eye sees."""
    inner = _TICKS.sub(lambda run: "\u200b".join(run[0]), code)
    named = language if _LANGUAGE.fullmatch(language) else ""
    return f"{FENCE}{named}\n{inner}\n{FENCE}"


def within(lines: Sequence[str], limit: int) -> str:
    """The lines from the first on, as many as there is room for; one that is too long is left out."""
    kept: list[str] = []
    for line in lines:
        if units("\n".join([*kept, line])) <= limit:
            kept.append(line)
    return "\n".join(kept)


def source_line(source: Source) -> str:
    """`1. [nejm.org](https://…) - Lecanemab in Early Alzheimer's Disease`; the label is the address's own host."""
    linked = source_link(source)
    return f"{source.number}. {linked} - {_title(source)}" if linked.startswith("[") else name_line(source)


def source_link(source: Source) -> str:
    """`[nejm.org](https://…)`; the place's name alone where its address may not be a link."""
    host, address = true_link(source.url)
    if not host or len(address) > ADDRESS_ROOM or _INVITE.search(address):
        return plain(source.metadata.domain or source.metadata.provider, TITLE_ROOM)
    return f"[{_escaped(host)}]({address})"


def name_line(source: Source) -> str:
    """As `source_line`, without the link."""
    place = plain(source.metadata.domain or source.metadata.provider, TITLE_ROOM)
    return f"{source.number}. {place} - {_title(source)}"


def page_link(page_url: str) -> str:
    """The words View Full Analysis as a link; "" where the address cannot be one."""
    is_short = len(page_url) <= ADDRESS_ROOM  # it stands in the text twice where an answer is cut
    return f"[{say(wording.VIEW_FULL_ANALYSIS)}]({page_url})" if is_short and is_linkable(page_url) else ""


def is_linkable(page_url: str) -> bool:
    return page_url.startswith(("https://", "http://")) and len(page_url) <= URL_LIMIT and ")" not in page_url


def _title(source: Source) -> str:
    title = plain(source.title or say(wording.UNTITLED), TITLE_ROOM)
    return f"{title} ({say(wording.INSTRUCTS)})" if source.instructs else title


def _defused(text: str) -> str:
    """Mentions, addresses and invites broken by a zero-width space, so that none is made a link or a ping."""
    text = _WORK.sub("", text)  # no link either, and can be copied
    return _INVITE.sub("\\1\u200b.", text.replace("@", "@\u200b").replace("://", ":\u200b//"))


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in _ACTIVE else char for char in text)


@dataclass(frozen=True)
class _ShownBlock:
    """A line of prose, or code."""

    text: str
    language: str = ""
    is_code: bool = False


def _blocks(text: str) -> Iterator[_ShownBlock]:
    for piece, language, is_code in pieces_of(text):
        if is_code:
            yield _ShownBlock(piece, language, is_code=True)
            continue
        lines = regex.sub(r"\n{3,}", "\n\n", piece.strip("\n").rstrip()).split("\n")
        place = 0
        while place < len(lines):
            rows = _rows(lines, place)
            line, is_apart = lines[place].rstrip(), not (place and lines[place - 1].strip())
            if is_apart and _BELOW.fullmatch(line) and not _ITEM.match(line):  # a paragraph of an item, no small print
                line = line.strip()
            yield _ShownBlock(_table(rows), is_code=True) if rows else _ShownBlock(line)
            place += len(rows) + 1  # a table has a line more than it has rows, below its head


def _begun(block: _ShownBlock, whole: str, room: int, cite: Cite) -> str:
    """As much of a block that is too long as has room, cut where a reader would; code is closed all the same."""
    if block.is_code:
        left = room - (units(whole) - units(block.text))  # the fence, and what breaks fences within
        return code_block(excerpt(block.text, left).text, block.language) if left > LEAST_ROOM else ""
    limit = min(room, units(block.text))
    while limit > 1:
        kept = fit(block.text, limit, more="").rstrip()
        said = _line(kept + "**" * (kept.count("**") % 2), cite) if kept else ""
        if units(said) <= room:
            return said
        limit = min(limit - 1, limit * room // units(said))
    return ""


def _line(line: str, cite: Cite) -> str:
    if heading := _HEADING.fullmatch(line):
        return f"**{_inline(unbolded(heading[1].rstrip('# ')), cite)}**"
    if item := _ITEM.fullmatch(line):
        return f"{item['space'][:8]}- {_inline(item['text'], cite)}"
    if quote := _QUOTE.fullmatch(line):
        return f"> {_inline(quote['text'], cite)}"
    if small := _BELOW.fullmatch(line):
        return f"-# {_inline(small[1], cite)}"
    return _inline(line, cite)


def _inline(text: str, cite: Cite) -> str:
    pieces: list[str] = []
    end = 0
    for found in _INLINE.finditer(text):
        pieces.append(_escaped(_defused(text[end : found.start()])))
        end = found.end()
        if found["code"]:
            pieces.append(found[0])
        elif found["numbers"]:
            pieces.append(_cited(found["numbers"], text[: found.start()], cite))
        else:
            mark = "**" if found["bold"] else "*"
            pieces.append(f"{mark}{_inline(found['bold'] or found['italic'], cite)}{mark}")
    return "".join([*pieces, _escaped(_defused(text[end:]))])


def _cited(numbers: str, words: str, cite: Cite) -> str:
    """`[1, 2]` behind these words as a link a number, else as it stands."""
    links = {number.strip(): cite(number.strip(), words) for number in numbers.split(",")}
    if not all(is_linkable(address) for address in links.values()):
        return f"[{numbers}]"
    return "".join(f"[[{number}]]({address})" for number, address in links.items())


def _rows(lines: Sequence[str], place: int) -> list[list[str]]:
    """The rows of the table that begins there, head first; none where there is none."""
    below = lines[place + 1].strip() if place + 1 < len(lines) else ""
    if "|" not in lines[place] or "|" not in below or "-" not in below or set(below) - set("|:- "):
        return []
    end = place + 2
    while end < len(lines) and "|" in lines[end]:
        end += 1
    return [[bare(cell) for cell in cells(line)] for line in (lines[place], *lines[place + 2 : end])]


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned in columns, wrapped within them where the table would be too wide."""
    columns = max(len(row) for row in rows)
    padded = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(1, *(min(_columns(row[at]), TABLE_WIDTH) for row in padded)) for at in range(columns)]
    while sum(widths) + len(GAP) * (columns - 1) > TABLE_WIDTH and max(widths) > LEAST_COLUMN:
        widths[widths.index(max(widths))] -= 1
    lines: list[str] = []
    for number, row in enumerate(padded):
        cells = [textwrap.wrap(cell, width, break_on_hyphens=False) for cell, width in zip(row, widths, strict=True)]
        for at in range(max(1, *(len(cell) for cell in cells))):
            parts = [cell[at] if at < len(cell) else "" for cell in cells]
            lines.append(
                GAP.join(
                    part + " " * (width - _columns(part)) for part, width in zip(parts, widths, strict=True)
                ).rstrip()
            )
        if not number:
            lines.append(GAP.join("─" * width for width in widths))
    return "\n".join(lines)


def _columns(text: str) -> int:
    """How many cells of a code font it takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)
