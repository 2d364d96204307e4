"""An answer as it looks in a chat: the very payloads of the chat renderers, drawn as the clients draw them.

For people without a workspace, and for pictures. preview.html knows the platforms' JSON, what stands here their markup,
and neither their adapters: who wires the process hands the payloads in.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import regex
from aiohttp import web
from markupsafe import Markup, escape

from adapters.web.access import RESEARCHER, readable_job
from adapters.web.faults import page
from adapters.web.prose import safe_link
from core.model.answer import JobResult
from core.model.job import TERMINAL_STATUSES, ResearchJob
from core.model.source import Source
from core.presentation.snapshot import Snapshot

Payload = Mapping[str, Any]  # a message as its platform gets it
Preview = Callable[[ResearchJob, JobResult | None, Sequence[Source], Snapshot | None], str]  # that message as JSON
PREVIEWS: web.AppKey[Mapping[str, Preview]] = web.AppKey("previews")

_EMOJI = {"📊": "bars", "🔎": "lens", "🔍": "lens", "🔄": "round", "⚠️": "warning", "👍": "up", "👎": "down"}
_DISCORD_FENCE = regex.compile(r"^```(?:[a-z0-9_+.#-]+\n)?\n*(.*?)\n*```", regex.DOTALL | regex.MULTILINE)
_SLACK_TOKENS = regex.compile(
    r"<(?P<url>https?://[^|<>\s]+)(?:\|(?P<label>[^<>]*))?>|<@(?P<user>[A-Z0-9]+)>"
    r"|(?<![\w*])\*(?P<bold>\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(?P<italic>\S(?:[^_\n]*\S)?)_(?![\w_])"
)
_MARKDOWN_TOKENS = regex.compile(
    r"\[(?P<label>\[\d+\])\]\((?P<url>https?://[^\s()]+)\)|\*\*(?P<bold>[^\n]+?)\*\*|`(?P<code>[^`\n]+)`"
    r"|(?<![\w*])\*(?P<italic>[^*\s][^*\n]*)\*(?![\w*])"
)
_MARKDOWN_LINE = regex.compile(
    r"(?:(?P<heading>#{1,6}) |(?P<item>\s*[-*+] )|(?P<number>\s*\d+[.)] )|(?P<quote>> ?))?(.*)"
)
_DISCORD_TOKENS = regex.compile(
    r"\\(?P<literal>[^\w\s]|_)|`(?P<code>[^`\n]+)`"
    r"|\[(?P<label>\[\d+\]|[^\[\]\n]+)\]\(<?(?P<url>https?://[^\s)>]+)>?\)|\*\*(?P<bold>[^\n]+?)\*\*"
    r"|\*(?P<italic>[^*\n]+)\*|<@!?(?P<user>\d+)>"
)


def add_routes(app: web.Application, previews: Mapping[str, Preview]) -> None:
    app[PREVIEWS] = previews
    app.router.add_get("/jobs/{job_id}/preview", get_preview)


async def get_preview(request: web.Request) -> web.Response:
    """Both platforms below each other; `?only=slack` shows one."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    result, sources = await researcher.result(job.id), await researcher.sources(job.id)
    snapshot = None if job.status in TERMINAL_STATUSES else Snapshot()
    for event in await researcher.told(job.id) if snapshot else ():
        snapshot = (snapshot or Snapshot()).after(event)
    only = request.query.get("only", "")
    payloads: dict[str, Payload] = {
        name: json.loads(preview(job, result, sources, snapshot))
        for name, preview in request.app[PREVIEWS].items()
        if only in ("", name)
    }
    drawing = {"pictured": _pictured, "mrkdwn": mrkdwn, "discord_markdown": discord_markdown, "safe_link": safe_link,
               "slack_markdown": slack_markdown, "unescape": html.unescape}  # fmt: skip
    slack, discord = (payloads.get(name, {}) for name in ("slack", "discord"))
    return page("preview.html", request, {"slack": slack, "discord": discord, **drawing})


def mrkdwn(text: str) -> Markup:
    """Slack's markup as HTML. Its entities are text; its links are labelled with what they carry."""
    lines = [
        Markup("<blockquote>{}</blockquote>").format(_slack_line(line.removeprefix("> ")))
        if line.startswith("> ")
        else Markup("<div>{}</div>").format(_slack_line(line))
        for line in text.split("\n")
    ]
    return Markup("").join(lines)


def discord_markdown(text: str) -> Markup:
    """What Discord makes of an embed's text: bold, small print, quotes, labelled links, escaped signs, code."""
    pieces: list[Markup] = []
    end = 0
    for code in _DISCORD_FENCE.finditer(text):
        pieces += [_discord_lines(text[end : code.start()].rstrip("\n")), Markup("<pre>{}</pre>").format(code[1])]
        end = code.end()
    return Markup("").join([*pieces, _discord_lines(text[end:].removeprefix("\n"))])


def _discord_lines(text: str) -> Markup:
    lines: list[Markup] = []
    for line in text.split("\n") if text else ():
        tag, shown = "div", line
        for prefix, name in (("-# ", "small"), ("> ", "blockquote"), ("- ", "li")):
            if line.startswith(prefix):
                tag, shown = name, line.removeprefix(prefix)
        opening, closing = Markup(f"<{tag}>"), Markup(f"</{tag}>")  # noqa: S704 -- one of four names
        lines.append(opening + (_drawn(shown, _DISCORD_TOKENS, str) or Markup("&nbsp;")) + closing)
    return Markup("").join(lines)


def slack_markdown(text: str) -> Markup:
    """What Slack makes of a markdown block: its escaped signs are text, its links lead where they say."""
    lines: list[Markup] = []
    for line in text.split("\n"):
        found = _MARKDOWN_LINE.fullmatch(line)
        mark, said = (found.groupdict(), found[5]) if found else ({}, line)
        drawn = _drawn(said, _MARKDOWN_TOKENS, html.unescape)
        if mark.get("heading"):
            lines.append(Markup("<div><strong>{}</strong></div>").format(drawn))
        elif mark.get("item") or mark.get("number"):
            sign = "•" if mark.get("item") else str(mark["number"]).strip()
            lines.append(Markup('<div class="item"><span>{}</span> <div>{}</div></div>').format(sign, drawn))
        elif mark.get("quote"):
            lines.append(Markup("<blockquote>{}</blockquote>").format(drawn))
        else:
            lines.append(Markup("<div>{}</div>").format(drawn or Markup("&nbsp;")))
    return Markup("").join(lines)


def _slack_line(line: str) -> Markup:
    return _drawn(line, _SLACK_TOKENS, html.unescape)


def _drawn(line: str, tokens: regex.Pattern[str], read: Callable[[str], str]) -> Markup:
    """`line` as HTML; `read` turns the platform's own way of writing plain text into that text."""
    pieces: list[Markup] = []
    end = 0
    for token in tokens.finditer(line):
        pieces += [_pictured(read(line[end : token.start()])), _token(token.groupdict(), tokens, read)]
        end = token.end()
    return Markup("").join([*pieces, _pictured(read(line[end:]))])


def _pictured(text: str) -> Markup:
    """Text as HTML, our own emoji as pictures: clients bring theirs along, whatever fonts there are."""
    shown = escape(text)
    for sign, name in _EMOJI.items():
        if sign in text:
            picture = Markup('<img class="emoji" src="/static/emoji/{}.svg" alt="{}">').format(name, sign)
            shown = shown.replace(sign, picture)
    return shown


def _token(found: Mapping[str, str | None], tokens: regex.Pattern[str], read: Callable[[str], str]) -> Markup:
    if found.get("literal"):
        return escape(str(found["literal"]))
    if found.get("user"):
        return Markup('<span class="mention">@{}</span>').format(found["user"])
    if found.get("url"):
        address = read(str(found["url"]))
        label = read(found.get("label") or address)
        link = safe_link(address)
        return Markup('<a href="{}" rel="noreferrer nofollow">{}</a>').format(link, label) if link else escape(label)
    if found.get("code"):
        return Markup("<code>{}</code>").format(read(str(found["code"])))
    name, inner = ("strong", found["bold"]) if found.get("bold") else ("em", found.get("italic"))
    opening, closing = Markup(f"<{name}>"), Markup(f"</{name}>")  # noqa: S704 -- one of two names
    return opening + _drawn(inner or "", tokens, read) + closing
