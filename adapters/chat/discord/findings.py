"""Ideas, implementations and reports as Discord shows them: lists with their sources, code in blocks. Pure.

A block of code is always closed within the message, and what has no room is named with where it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from adapters.chat.code import about, excerpt, pieces_of, rest_of, shares
from adapters.chat.discord.markup import plain, prose, source_link
from adapters.chat.fitting import units
from core.answer import ResearchAnswer
from core.findings.results import TITLES
from core.findings.viewing import FENCE, FindingsView, FoundItem, OtherAnswer
from core.render import marked_text
from core.source import Source
from core.wording import counted

ITEM_ROOM = 420  # of what an item says
ABOUT_ROOM = 240
ABSTRACT_ROOM = 1600
OTHER_ROOM = 1200  # of what a mode of another kind answered
LEAST_CODE = 60  # less shows nothing of it
NOTE_ROOM = 60  # of the line that tells where the rest of the code is
_ANY = 1_000_000
_LANGUAGE = regex.compile(r"[a-z0-9_+.#-]{1,20}")  # what Discord's client takes for one


@dataclass(frozen=True)
class _Entry:
    """What belongs together: a heading or an item's text, and the item whose code follows."""

    text: str
    item: FoundItem | None = None


def findings_text(
    view: FindingsView, answer: ResearchAnswer, sources: Sequence[Source], limit: int, *, more: str = ""
) -> str:
    """All that was found within `limit`: first what each item says, then code in the room that is left."""
    entries = _entries(view, answer, {source.id: source for source in sources})
    kept: list[_Entry] = []
    used = units(f"\n-# … {counted(99, 'more result')} {more}")
    for entry in entries:
        if used + units(entry.text) + 1 > limit:
            break
        kept.append(entry)
        used += units(entry.text) + 1
    coded = [entry.item for entry in kept if entry.item and entry.item.code]
    needs = [units(code_block(excerpt(item.code, _ANY).text, item.language)) + NOTE_ROOM for item in coded]
    room_of = dict(zip((item.number for item in coded), shares(needs, limit - used), strict=True))
    lines: list[str] = []
    for entry in kept:
        lines.append(entry.text)
        if entry.item and entry.item.code:
            block = _block_of(entry.item, view, room_of[entry.item.number])
            lines += [block] if block else []
    left = sum(entry.item is not None for entry in entries) - sum(entry.item is not None for entry in kept)
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


def _entries(view: FindingsView, answer: ResearchAnswer, sources: Mapping[str, Source]) -> list[_Entry]:
    entries = [_other(other, answer) for other in view.before]
    for mode in view.findings.modes:
        gap = "\n" if entries else ""
        if mode == "freeform":
            entries += _report(view, answer, gap)
            continue
        found = view.found(mode)
        entries += [_Entry(f"{gap}**{TITLES[mode]}**")] if found else []
        entries += [_Entry(_item_text(item, answer, sources), item) for item in found]
    entries += [_Entry(f"\n{_other(other, answer).text}") for other in view.after]
    if view.unverified:
        entries.append(_Entry(f"\n-# Not verified, not shown: {counted(len(view.unverified), 'result')}"))
    return entries


def _other(other: OtherAnswer, answer: ResearchAnswer) -> _Entry:
    """What a mode of another kind answered."""
    return _Entry(f"**{plain(other.title, 80)}**\n{prose(marked_text(other.summary, answer.claims), OTHER_ROOM)}")


def _report(view: FindingsView, answer: ResearchAnswer, gap: str) -> list[_Entry]:
    texts = dict(view.sections)
    if not texts:
        return []
    abstract = prose(marked_text(texts.get("Abstract", ""), answer.claims), ABSTRACT_ROOM)
    others = " · ".join(plain(title, 40) for title in texts if title not in ("", "Abstract"))
    return [
        _Entry(f"{gap}**{TITLES['freeform']}**"),
        *([_Entry(abstract)] if abstract else []),
        _Entry(f"-# On the page: {others}"),
    ]


def _item_text(item: FoundItem, answer: ResearchAnswer, sources: Mapping[str, Source]) -> str:
    """`**1.** What it says [1]✓`, and below it the place, what sort of place it is, and what checking found."""
    source = sources.get(item.source_id)
    said = prose(marked_text(item.text, answer.claims), ITEM_ROOM).replace("\n", " ")
    place = source_link(source) if source else ""
    head = said or (f"Code of {plain(source.title, 80)}" if source else "…")
    return f"**{item.number}.** {head}\n-# {' · '.join(filter(None, [place, plain(about(item), ABOUT_ROOM)]))}"


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
