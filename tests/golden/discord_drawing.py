"""Draws messages as Discord shows them, as HTML to look at: `python -m tests.golden.discord_drawing > discord.html`,
with `--answer` only the picture of docs/discord.md.

Understands as much of Discord's Markdown as the renderer writes; what was escaped stays as it was typed.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from adapters.chat.discord.payload import DiscordMessage, LinkButton
from adapters.chat.discord.render import DiscordVoice, sources_text
from core.answer import Claim, Verdict
from core.deep.card import Card, CardItem
from core.deep.state import Coverage
from core.job import Scope
from core.snapshot import Snapshot
from tests.golden import samples

STYLE = """
body { background: #313338; color: #dbdee1; font: 16px/1.375 'Noto Sans', 'DejaVu Sans', sans-serif; margin: 0;
  padding: 20px 24px; width: 620px; }
.who { color: #fff; font-weight: 600; margin: 14px 0 4px; } .app { background: #5865f2; border-radius: 4px;
  font-size: 11px; padding: 1px 5px; vertical-align: 2px; margin-left: 6px; } .hint { color: #949ba4; font-size: 12px; }
.embed { background: #2b2d31; border-left: 4px solid; border-radius: 4px; padding: 10px 16px 14px; max-width: 500px; }
.author { font-size: 14px; font-weight: 600; } .title { color: #fff; font-weight: 600; margin: 4px 0 8px; }
.text { font-size: 14px; white-space: pre-wrap; overflow-wrap: anywhere; } .footer { font-size: 12px; margin-top: 8px; }
a { color: #00a8fc; text-decoration: none; } .small { color: #949ba4; font-size: 12px; }
.quote { border-left: 4px solid #4e5058; padding-left: 8px; display: inline-block; }
.row { margin-top: 6px; display: flex; gap: 8px; flex-wrap: wrap; }
.button { background: #4e5058; border-radius: 4px; color: #fff; font-size: 14px; font-weight: 500; padding: 7px 16px; }
.primary { background: #5865f2; }
"""

THUMB = (
    "<svg width='16' height='16' viewBox='0 0 16 16' fill='#ffcc4d' style='vertical-align:-2px{}'>"
    "<rect x='1' y='7' width='3' height='8'/>"
    "<path d='M5 7l3-6c2 0 2 2 1 5h5c1 0 1.5 1 1 2l-2 6c-.3.7-.7 1-1.5 1H5z'/>"
    "</svg>"
)
# So that the picture needs no emoji font.
EMOJI = {
    "👍": THUMB.format(""),
    "👎": THUMB.format("; transform: rotate(180deg)"),
    "📊": "<svg width='16' height='16' viewBox='0 0 16 16' style='vertical-align:-2px'><rect width='16' height='16' "
    "rx='2' fill='#fff'/><rect x='2' y='6' width='3' height='8' fill='#2ecc71'/><rect x='6.500' y='2' width='3' "
    "height='12' fill='#e74c3c'/><rect x='11' y='8' width='3' height='6' fill='#5865f2'/></svg>",
}


def draw(messages: Sequence[DiscordMessage]) -> str:
    """A whole page."""
    page = f"<!doctype html><meta charset='utf-8'><style>{STYLE}</style>{''.join(map(_message, messages))}"
    return re.sub("|".join(EMOJI), lambda found: EMOJI[found[0]], page)


def _message(message: DiscordMessage) -> str:
    shown = message.embed.to_dict()
    author = (shown.get("author") or {}).get("name", "")
    parts = [f"<div class='author'>{html.escape(author)}</div>"] if author else []
    if shown.get("title"):
        parts.append(f"<div class='title'>{html.escape(shown['title'])}</div>")
    parts.append(f"<div class='text'>{markup(shown.get('description', ''))}</div>")
    if shown.get("footer"):
        parts.append(f"<div class='footer'>{html.escape(shown['footer']['text'])}</div>")
    embed = f"<div class='embed' style='border-color:#{shown.get('color', 0):06x}'>{''.join(parts)}</div>"
    rows = "".join(f"<div class='row'>{''.join(_button(button) for button in row)}</div>" for row in message.rows)
    return f"<div class='who'>gorkd<span class='app'>APP</span></div>{embed}{rows}"


def _button(button: object) -> str:
    is_link = isinstance(button, LinkButton)
    style = "" if is_link else getattr(button, "style", "")
    return f"<span class='button {style}'>{html.escape(button.label)}{' ↗' if is_link else ''}</span>"  # type: ignore[attr-defined]


def markup(text: str) -> str:
    """Discord's Markdown as HTML: bold, italics, links, subtext, quotes; a backslash makes the next sign literal."""
    literal: list[str] = []

    def keep(found: re.Match[str]) -> str:
        literal.append(found[1])
        return f"\x00{len(literal) - 1}\x00"

    shown = html.escape(re.sub(r"\\([\\`*_~|<>#\[\]])", keep, text), quote=False)
    shown = re.sub(r"\[([^\]]+)\]\((https?://[^)]+)\)", r"<a href='\2'>\1</a>", shown)
    shown = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", shown)
    shown = re.sub(r"\*(.+?)\*", r"<i>\1</i>", shown)
    shown = re.sub(r"`(.+?)`", r"<code>\1</code>", shown)
    shown = re.sub(r"(?m)^-# (.*)$", r"<span class='small'>\1</span>", shown)
    shown = re.sub(r"(?m)^&gt; (.*)$", r"<span class='quote'>\1</span>", shown)
    return re.sub(r"\x00(\d+)\x00", lambda found: html.escape(literal[int(found[1])]), shown)


def gallery() -> list[DiscordMessage]:
    """One of each."""
    voice = DiscordVoice(samples.LINKS)
    running = Snapshot(
        message="Reading the sources",
        queries=("eddystone lighthouse height", "eddystone tower metres"),
        sources=("trinity.example – Eddystone Lighthouse", "towers.example – Four towers on one rock"),
    )
    items = (
        CardItem("1", "How tall the tower is", Coverage.SATISFIED),
        CardItem("2", "Who built it", Coverage.PARTIAL),
        CardItem("3", "What it replaced", Coverage.UNSATISFIED),
    )
    planned = replace(running, card=Card(samples.QUESTION, items, 2, 10, 14, ""))
    private = replace(
        samples.COMPLETED,
        request=replace(samples.COMPLETED.request, scope=Scope("discord:1", "user:7"), is_private=True),
    )
    quoted = replace(samples.COMPLETED.request, quoted="The tower is 49 metres tall. @everyone It was painted *green*.")
    checks = replace(
        samples.ANSWER,
        summary="Checked 2 claims: 1 supported, 1 no evidence.",
        detail="1. Supported: “The tower is 49 metres tall.”\n   - For: “It is 49 metres tall and built of granite "
        "blocks.” [1]\n2. No evidence: “It was painted *green*.”",
        claims=(
            Claim(
                "detail-0", "For: “It is 49 metres tall and built of granite blocks.”", Verdict.SUPPORTED,
                samples.ANSWER.claims[0].evidence,
            ),
        ),
    )  # fmt: skip
    return [
        voice.progress(samples.RUNNING, running, 4.2),
        voice.progress(samples.RUNNING, planned, 64.2),
        voice.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES),
        voice.shared(private, samples.RESULT, samples.SOURCES, by="ada"),
        voice.outcome(
            replace(samples.COMPLETED, request=quoted), replace(samples.RESULT, answer=checks), samples.SOURCES
        ),
        voice.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, []),
        voice.outcome(samples.FAILED, None, samples.SOURCES),
        voice.notice(sources_text(samples.SOURCES, samples.ANSWER)),
    ]


if __name__ == "__main__":
    shown = gallery()
    sys.stdout.write(draw(shown[2:3] if "--answer" in sys.argv else shown))
