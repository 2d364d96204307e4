"""What was found, and the claims of a checked message, as Slack blocks: each with its source. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adapters.chat.code import about, excerpt, rest_of
from adapters.chat.fitting import fit
from adapters.chat.slack.blocks import SECTION_LIMIT, Block, context, escaped, place_of, plain, preformatted, section
from core.findings.viewing import MAX_CODE_CHARS, FindingsView, FoundItem, fits_in_chat
from core.model.answer import Evidence
from core.model.source import Source
from core.presentation import wording
from core.presentation.card import AnswerCard, FoundEntry
from core.presentation.checks import CheckedClaim, Stand

ITEM_ROOM = 600
ABOUT_ROOM = 400
SHOWN_ITEMS = 10  # of a mode: three blocks each, and a message has fifty
LONG_CODE = 400  # of code that comes as a file, its beginning
CLAIM_ROOM = 500
QUOTE_ROOM = 400
SHOWN_CLAIMS = 12
QUOTES_A_SIDE = 1  # the page has them all
ICONS = {
    Stand.SUPPORTED: "✅",
    Stand.CONTRADICTED: "❌",
    Stand.DIFFERS: "≠",
    Stand.MIXED: "⚖️",
    Stand.UNCONFIRMED: "◐",
    Stand.NO_EVIDENCE: "❔",
}


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
            blocks.append(context(f"and {wording.counted(of_mode[mode] - room, 'more result')} on the page"))
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


def check_blocks(checks: Sequence[CheckedClaim], sources: Sequence[Source]) -> list[Block]:
    by_id = {source.id: source for source in sources}
    blocks = [section(_claim_text(check, by_id)) for check in checks[:SHOWN_CLAIMS]]
    if len(checks) > SHOWN_CLAIMS:
        blocks.append(context(f"and {wording.counted(len(checks) - SHOWN_CLAIMS, 'claim')} more on the page"))
    return blocks


def _claim_text(check: CheckedClaim, sources: dict[str, Source]) -> str:
    """`✅ *Supported*: “…”`, then for each side the first quote with its source; within a section's limit."""
    head = f"{ICONS[check.stand]} *{wording.STANDS[check.stand.value]}*: “{plain(check.claim, CLAIM_ROOM)}”"
    lines = [_quote_lines(entry, sources, is_for=True) for entry in check.supporting[:QUOTES_A_SIDE]]
    lines += [_quote_lines(entry, sources, is_for=False) for entry in check.contradicting[:QUOTES_A_SIDE]]
    whole = "\n".join([head, *lines])
    return whole if len(whole) < SECTION_LIMIT else head


def _quote_lines(entry: Evidence, sources: dict[str, Source], *, is_for: bool) -> str:
    said = wording.evidence_line(entry.quote, entry.verdict, is_for=is_for)
    source = sources.get(entry.source_id)
    where = f" [{source.number}] {place_of(source)}" if source else ""
    return f"> {plain(said, QUOTE_ROOM)}{where}"
