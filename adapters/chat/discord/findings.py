"""Ideas, implementations and reports as Discord shows them: lists with their sources, code in blocks. Pure.

A block of code is always closed within the message, and what has no room is named with where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from adapters.chat.code import about, excerpt, pieces_of, rest_of, shares
from adapters.chat.discord.markup import plain, prose, source_link
from adapters.chat.fitting import units
from core.findings.viewing import FENCE, FindingsView, FoundItem
from core.presentation.card import FoundEntry
from core.presentation.wording import counted

ITEM_ROOM = 420  # of what an item says
ABOUT_ROOM = 240
ABSTRACT_ROOM = 1600
OTHER_ROOM = 1200  # of what a mode of another kind answered
LEAST_CODE = 60  # less shows nothing of it
NOTE_ROOM = 60  # of the line that tells where the rest of the code is
NOTES_ROOM = 1000  # of what is only named
_ANY = 1_000_000
_LANGUAGE = regex.compile(r"[a-z0-9_+.#-]{1,20}")  # what Discord's client takes for one


def findings_text(view: FindingsView, entries: Sequence[FoundEntry], limit: int, *, more: str = "") -> str:
    """All that was found within `limit`: first what each item says, then code in the room that is left."""
    written = [_written(entry, is_first=not place) for place, entry in enumerate(entries)]
    kept: list[tuple[str, FoundItem | None]] = []
    used = units(f"\n-# … {counted(99, 'more result')} {more}")
    for text, entry in zip(written, entries, strict=True):
        if used + units(text) + 1 > limit:
            break
        kept.append((text, entry.item))
        used += units(text) + 1
    coded = [item for _, item in kept if item and item.code]
    needs = [units(code_block(excerpt(item.code, _ANY).text, item.language)) + NOTE_ROOM for item in coded]
    room_of = dict(zip((item.number for item in coded), shares(needs, limit - used), strict=True))
    lines: list[str] = []
    for text, item in kept:
        block = _block_of(item, view, room_of[item.number]) if item and item.code else ""
        lines += [text, block] if block else [text]
    left = sum(entry.item is not None for entry in entries[len(kept) :])
    if left:
        lines.append(f"-# … {counted(left, 'more result')} {more}".rstrip())
    return "\n".join(lines)


def prose_with_code(text: str, limit: int, *, more: str = "…") -> str:
    """Untrusted prose escaped, its code in closed blocks; what has no room is left out and `more` said instead."""
    shown: list[str] = []
    room = limit - units(more) - 1
    for piece, language, is_code in pieces_of(text):
        whole = code_block(piece, language) if is_code else prose(piece, max(room, units(more) + 2), more=more)
        if units(whole) > room:
            return "\n".join([*shown, more])
        shown.append(whole)
        room -= units(whole) + 1
    return "\n".join(shown)


def code_block(code: str, language: str) -> str:
    """A fence of Discord's; one within the code is broken by zero-width spaces, which no eye sees."""
    inner = code.replace(FENCE, "`\u200b`\u200b`")
    named = language if _LANGUAGE.fullmatch(language) else ""
    return f"{FENCE}{named}\n{inner}\n{FENCE}"


def _written(entry: FoundEntry, *, is_first: bool) -> str:
    """`**1.** What it says [1]✓`, and below it the place, what sort of place it is, and what checking found."""
    gap = "\n" if entry.begins and not is_first else ""
    match entry.kind:
        case "heading":
            return f"{gap}**{entry.text}**"
        case "other":
            return f"{gap}**{plain(entry.title, 80)}**\n{prose(entry.text, OTHER_ROOM)}"
        case "text":
            return prose(entry.text, ABSTRACT_ROOM)
        case "note":
            return f"{gap}-# {plain(entry.text, NOTES_ROOM)}"
    place = source_link(entry.source) if entry.source else ""
    said = prose(entry.text, ITEM_ROOM).replace("\n", " ")
    said = said or (f"Code of {plain(entry.source.title, 80)}" if entry.source else "…")
    item = entry.item
    known = plain(about(item), ABOUT_ROOM) if item else ""
    return f"**{item.number if item else ''}.** {said}\n-# {' · '.join(filter(None, [place, known]))}"


def _block_of(item: FoundItem, view: FindingsView, room: int) -> str:
    """The code in its fence, with where the rest of it is; "" where there is no room worth it."""
    whole = code_block(excerpt(item.code, _ANY).text, item.language)
    note = rest_of(item, 0, view)
    if units(f"{whole}\n-# {note}") < room:
        return f"{whole}\n-# {note}" if note else whole
    broken = code_block(item.code, "").count("\u200b")
    left = room - units(code_block("", item.language)) - broken - NOTE_ROOM
    if left < LEAST_CODE:
        return ""
    shown = excerpt(item.code, left)
    return f"{code_block(shown.text, item.language)}\n-# … {rest_of(item, shown.left_out, view)}"
