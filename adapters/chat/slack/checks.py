"""The claims of a checked message as Slack blocks: each with what the sources say of it, and in which words."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.chat.slack.blocks import SECTION_LIMIT, Block, context, plain, section
from adapters.chat.slack.places import place_of
from core import wording
from core.answer import Evidence
from core.checks import CheckedClaim, Stand
from core.source import Source

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
