"""Ideas, implementations and reports as Slack blocks: lists with their sources, code as preformatted text. Pure."""

from __future__ import annotations

from collections import Counter

from adapters.chat.code import about, excerpt, rest_of
from adapters.chat.fitting import fit
from adapters.chat.slack.blocks import SECTION_LIMIT, Block, context, escaped, plain, preformatted, section
from adapters.chat.slack.places import place_of
from core.findings.files import MAX_CODE_CHARS, fits_in_chat
from core.findings.viewing import FindingsView, FoundItem
from core.presentation.card import AnswerCard, FoundEntry
from core.wording import counted

ITEM_ROOM = 600
ABOUT_ROOM = 400
SHOWN_ITEMS = 10  # of a mode: three blocks each, and a message has fifty
LONG_CODE = 400  # of code that comes as a file, its beginning


def finding_blocks(card: AnswerCard) -> list[Block]:
    """Everything that was found, mode by mode in the order asked for; at most 40 blocks."""
    blocks: list[Block] = []
    of_mode = Counter(entry.item.mode for entry in card.found if entry.item)
    room, shown = SHOWN_ITEMS // max(1, len(of_mode)), Counter[str]()
    for entry in card.found:
        mode = entry.item.mode if entry.item else ""
        shown[mode] += 1
        if not mode or shown[mode] <= room:
            blocks += _entry(entry, card.findings)
        elif shown[mode] == room + 1:
            blocks.append(context(f"and {counted(of_mode[mode] - room, 'more result')} on the page"))
    return blocks


def _entry(entry: FoundEntry, view: FindingsView | None) -> list[Block]:
    match entry.kind:
        case "heading":
            return [section(f"*{plain(entry.text, SECTION_LIMIT)}*")]
        case "other":
            text = fit(entry.text or "…", SECTION_LIMIT, escaped)
            return [section(f"*{plain(entry.title, 80)}*"), section(text)]
        case "text":
            return [section(fit(entry.text, SECTION_LIMIT, escaped))]
        case "note":
            return [context(plain(entry.text, SECTION_LIMIT))]
    return _item(entry, entry.item, view) if entry.item and view else []


def _item(entry: FoundEntry, item: FoundItem, view: FindingsView) -> list[Block]:
    """`*1.* What it says [1]✓`, its code, and the place with what checking found."""
    source = entry.source
    said = plain(entry.text, ITEM_ROOM) or (f"Code of {plain(source.title, 100)}" if source else "…")
    blocks = [section(f"*{item.number}.* {said}")]
    rest = ""
    if item.code:
        code = excerpt(item.code, MAX_CODE_CHARS if fits_in_chat(item.code) else LONG_CODE)
        blocks.append(preformatted(code.text))
        rest = rest_of(item, code.left_out, view)
    said_of_it = [plain(rest, ABOUT_ROOM), place_of(source) if source else "", plain(about(item), ABOUT_ROOM)]
    blocks.append(context(" · ".join(filter(None, said_of_it)) or "…"))
    return blocks
