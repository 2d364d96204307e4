"""An answer as it looks in a chat: the very payloads of the chat renderers, drawn as the clients draw them.

For people without a workspace, and for pictures. Knows the platforms' JSON, never their adapters: who wires the
process hands the payloads in.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
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
_SLACK_BLOCKS = (
    "header", "section", "context", "divider", "actions", "context_actions", "rich_text", "markdown", "table", "plan",
)  # fmt: skip
_TASK_SIGNS = {"complete": "✓", "in_progress": "◌", "pending": "·", "error": "✗"}
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


@dataclass(frozen=True)
class Button:
    label: Markup
    link: str
    style: str


@dataclass(frozen=True)
class PreviewPart:
    """One block of a message: what sort it is, its text, and its buttons."""

    kind: str
    text: Markup = field(default_factory=Markup)
    buttons: tuple[Button, ...] = ()


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
    slack, discord = payloads.get("slack", {}), payloads.get("discord", {})
    shown = {"slack": slack_parts(slack), "thread": slack_parts(slack.get("threaded") or {})}
    return page("preview.html", request, shown | {"cards": discord_cards(discord), "rows": discord_rows(discord)})


def slack_parts(message: Payload) -> tuple[PreviewPart, ...]:
    """Block Kit as the Slack client draws it; kinds it does not know are left out."""
    return tuple(_slack_part(block) for block in message.get("blocks") or () if block.get("type") in _SLACK_BLOCKS)


def discord_cards(message: Payload) -> list[SimpleNamespace]:
    """The embeds."""
    return [
        SimpleNamespace(
            title=_pictured(str(embed.get("title") or "")),
            colour=f"#{int(embed.get('color') or 0x4E5058):06x}",
            text=discord_markdown(str(embed.get("description") or "")),
            fields=[(str(one["name"]), discord_markdown(str(one["value"]))) for one in embed.get("fields") or ()],
            footer=str((embed.get("footer") or {}).get("text") or ""),
        )
        for embed in message.get("embeds") or ()
    ]


def discord_rows(message: Payload) -> tuple[PreviewPart, ...]:
    styles = {1: "primary", 4: "danger", 5: "link"}
    return tuple(
        PreviewPart(
            "actions",
            buttons=tuple(
                Button(Markup("{} ▾").format(one.get("placeholder") or ""), "", "menu")
                if "options" in one
                else Button(
                    _pictured(str(one.get("label") or "")),
                    safe_link(str(one.get("url") or "")),
                    styles.get(one.get("style"), ""),
                )
                for one in row.get("components") or ()
            ),
        )
        for row in message.get("components") or ()
    )


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


def _slack_part(block: Payload) -> PreviewPart:
    kind = str(block["type"])
    if kind == "actions":
        return PreviewPart(kind, buttons=tuple(_slack_button(one) for one in block["elements"]))
    if kind == "context_actions":
        pair = [one[side] for one in block["elements"] for side in ("positive_button", "negative_button")]
        return PreviewPart(kind, buttons=tuple(Button(_pictured(one["text"]["text"]), "", "thumb") for one in pair))
    return PreviewPart(kind, _SLACK_TEXTS.get(kind, _mrkdwn_texts)(block))


def _mrkdwn_texts(block: Payload) -> Markup:
    texts = [block["text"]["text"]] if "text" in block else [one["text"] for one in block.get("elements") or ()]
    return Markup(" ").join(mrkdwn(text) for text in texts)


def _code(block: Payload) -> Markup:
    texts = [part["text"] for one in block["elements"] for part in one["elements"]]
    return Markup("<pre>{}</pre>").format("".join(texts))


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


def _plan(block: Payload) -> Markup:
    """Folded once all is done, as Slack folds it."""
    tasks = block.get("tasks") or ()
    is_done = all(task["status"] == "complete" for task in tasks)
    rows = [
        Markup('<div class="task {}"><span>{}</span> {}{}</div>').format(
            task["status"], _TASK_SIGNS.get(task["status"], ""), _pictured(html.unescape(task["title"])), _output(task)
        )
        for task in tasks
    ]
    head = Markup("<summary>{} {}</summary>").format("✓" if is_done else "◌", _pictured(html.unescape(block["title"])))
    opening = Markup("<details>") if is_done else Markup("<details open>")
    return opening + head + Markup("").join(rows) + Markup("</details>")


def _output(task: Payload) -> Markup:
    parts = [part for one in (task.get("output") or {}).get("elements") or () for part in one["elements"]]
    text = "".join(part["text"] for part in parts)
    return Markup("<small>{}</small>").format(text) if text else Markup("")


def _table(block: Payload) -> Markup:
    def row(cells: Sequence[Payload], tag: str) -> Markup:
        opening, closing = Markup(f"<{tag}>"), Markup(f"</{tag}>")  # noqa: S704 -- one of two names
        return Markup("<tr>{}</tr>").format(Markup("").join(opening + escape(one["text"]) + closing for one in cells))

    drawn = [row(cells, "td" if place else "th") for place, cells in enumerate(block["rows"])]
    return Markup("<table>{}</table>").format(Markup("").join(drawn))


_SLACK_TEXTS: Mapping[str, Callable[[Payload], Markup]] = {
    "plan": _plan,
    "markdown": lambda block: slack_markdown(block["text"]),
    "table": _table,
    "rich_text": _code,
    "header": lambda block: _pictured(block["text"]["text"]),
}


def _slack_button(element: Payload) -> Button:
    if element["type"] == "overflow":
        return Button(Markup("⋯"), "", "menu")
    return Button(
        _pictured(element["text"]["text"]), safe_link(str(element.get("url") or "")), str(element.get("style") or "")
    )


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
