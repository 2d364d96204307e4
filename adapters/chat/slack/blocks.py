"""Block Kit: the kinds of blocks the app uses, each within Slack's limits whatever text it is given. Pure.

The only place that knows those limits. Text from the web or a model is escaped, so that it forms no
mention and no link; every text object is `verbatim`, so that Slack makes none out of it either.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import regex

from adapters.chat.fitting import fit, true_link, units
from core.model.events import Json
from core.model.source import Source
from core.presentation import wording
from core.presentation.render import one_line

Block = dict[str, Json]

SECTION_LIMIT = 3000  # characters of a section's or context's text (docs.slack.dev, blocks)
CODE_LIMIT = 3000  # Slack publishes none for rich text; a section's is taken
HEADER_LIMIT = 150
LABEL_LIMIT = 75  # of a button
VALUE_LIMIT = 2000
URL_LIMIT = 3000
BLOCKS_LIMIT = 50  # of a message
TEXT_LIMIT = 4000  # of the fallback; Slack recommends no more
TITLE_LIMIT = 24  # of a modal
MARKDOWN_LIMIT = 12_000  # of all markdown blocks of a message
TABLE_ROWS, TABLE_COLUMNS = 100, 20  # of the one table that a message may have
TABLE_CHARS = 10_000  # of all cells of a message
CELL_LIMIT = 300  # a screen's width is shared by all columns
OPTION_LIMIT = 150  # of an option's value
OPTIONS_LIMIT = 5  # of an overflow menu
NAME_ROOM = 300
ADDRESS_ROOM = 600  # two of them and a quote fit into a section

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def plain(text: str, limit: int) -> str:
    """Untrusted text as Slack will show it literally, at most `limit` characters, on one line."""
    return fit(one_line(text), limit, escaped)


def escaped(text: str) -> str:
    """What Slack asks of all text that is not its own markup (docs.slack.dev, formatting)."""
    return "".join(_ENTITIES.get(char, char) for char in text)


def markdown(text: str, limit: int) -> str:
    """Markdown of a model as Slack will show it: emphasis, lists, headings and quotes, but no link of its own.

    Signs that would make a mention or an element are escaped, and what would make a link or an image is parted.
    """
    undefined = regex.sub(r"(?:(?<=^[ >]*\[[^\]\n]*)|(?<!\[\d{1,3}))\]:(?=\s*\S)", "] :", text, flags=regex.MULTILINE)
    whole = fit(regex.sub(r"\](?=\(|\[(?!\d))", "] ", undefined), limit, escaped)
    return regex.sub(r"^(?:&gt; ?)+", lambda quoted: quoted[0].replace("&gt;", ">"), whole, flags=regex.MULTILINE)


def place_of(source: Source) -> str:
    """`<https://…|nejm.org>`: the label is the address's own host."""
    host, address = true_link(source.url)
    if host and len(address) <= ADDRESS_ROOM:
        return f"<{escaped(address)}|{host}>"
    return plain(source.metadata.domain or source.metadata.provider, NAME_ROOM) or "unknown place"


def header(text: str) -> Block:
    return {"type": "header", "text": label(text, HEADER_LIMIT)}


def section(text: str) -> Block:
    """`text` is mrkdwn that has been escaped and fitted."""
    return {"type": "section", "text": mrkdwn(text)}


def context(text: str) -> Block:
    """`text` is mrkdwn that has been escaped and fitted."""
    return {"type": "context", "elements": [mrkdwn(text)]}


def preformatted(code: str) -> Block:
    """Code as it stands: rich text takes its characters literally, so that nothing in it ends the block or pings."""
    text: Block = {"type": "text", "text": fit(code, CODE_LIMIT) or "…"}
    return {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [text]}]}


def divider() -> Block:
    return {"type": "divider"}


def markdown_block(text: str) -> Block:
    """`text` is Markdown that has been escaped and fitted."""
    return {"type": "markdown", "text": text}


def table(rows: Sequence[Sequence[str]]) -> Block:
    """Cells as they stand, the first row as the head; every row has as many as the first, of which Slack takes some."""
    width = min(len(rows[0]), TABLE_COLUMNS)
    cells: list[list[Block]] = [
        [{"type": "raw_text", "text": fit(one_line(cell), CELL_LIMIT) or " "} for cell in [*row, *[""] * width][:width]]
        for row in rows[:TABLE_ROWS]
    ]
    ends = accumulate(sum(units(str(cell["text"])) for cell in row) for row in cells)
    shown: list[Json] = [[*row] for row, end in zip(cells, ends, strict=True) if end <= TABLE_CHARS]
    settings: list[Json] = [{"is_wrapped": True}] * width
    return {"type": "table", "rows": shown, "column_settings": settings}


def overflow(action_id: str, options: Sequence[Block]) -> list[Block]:
    """The menu behind three dots; nothing where there is no option."""
    return [{"type": "overflow", "action_id": action_id, "options": [*options[:OPTIONS_LIMIT]]}] if options else []


def option(text: str, value: str, url: str = "") -> Block:
    """Of an overflow menu; with a `url` also a link."""
    made: Block = {"text": label(text, LABEL_LIMIT), "value": value[:OPTION_LIMIT]}
    return {**made, "url": url} if url else made


def tick(text: str, value: str, description: str) -> Block:
    """Of a group of checkboxes, of which a form takes ten."""
    return {"text": label(text, LABEL_LIMIT), "value": value, "description": label(description, LABEL_LIMIT)}


def is_linkable(url: str) -> bool:
    return url.startswith(("https://", "http://")) and len(url) <= URL_LIMIT


def actions(buttons: Sequence[Block]) -> list[Block]:
    """Nothing where there is no button: Slack refuses an empty row."""
    return [{"type": "actions", "elements": [*buttons]}] if buttons else []


def button(action_id: str, text: str, value: str, *, style: str = "") -> Block:
    made: Block = {"type": "button", "action_id": action_id, "text": label(text, LABEL_LIMIT)}
    made["value"] = value[:VALUE_LIMIT]
    if style:
        made["style"] = style
    return made


def link_button(action_id: str, text: str, url: str) -> list[Block]:
    """Nothing where the address is none that Slack takes."""
    if not is_linkable(url):
        return []
    return [{"type": "button", "action_id": action_id, "text": label(text, LABEL_LIMIT), "url": url}]


def modal(
    callback_id: str, title: str, blocks: Sequence[Block], *, submit: str, metadata: str = "", close: str = ""
) -> Block:
    """A form; `metadata` comes back with it. Without a `submit` it only shows something."""
    made: Block = {"type": "modal", "title": label(title, TITLE_LIMIT)}
    made["close"] = label(close or wording.CANCEL, TITLE_LIMIT)
    made["blocks"] = [*blocks]
    if submit:
        made |= {"callback_id": callback_id, "private_metadata": metadata, "submit": label(submit, TITLE_LIMIT)}
    return made


def entry(name: str, said: str, element: Block, *, is_optional: bool = False, hint: str = "") -> Block:
    """A field of a form, whose block and action have one name."""
    made: Block = {"type": "input", "block_id": name, "optional": is_optional, "label": label(said, 150)}
    return {**made, "element": {"action_id": name, **element}, **({"hint": label(hint, 300)} if hint else {})}


def text_input(limit: int, hint: str, *, is_long: bool = True) -> Block:
    made: Block = {"type": "plain_text_input", "max_length": limit, "placeholder": label(hint, 150)}
    return {**made, "multiline": True} if is_long else made


def thumbs(action_id: str, job_id: str) -> Block:
    """Slack's own pair of feedback buttons; the value says which was clicked."""
    good: Block = {
        "text": label(wording.GOOD, LABEL_LIMIT),
        "value": f"good:{job_id}",
        "accessibility_label": "Good answer",
    }
    bad: Block = {
        "text": label(wording.BAD, LABEL_LIMIT),
        "value": f"bad:{job_id}",
        "accessibility_label": "Bad answer",
    }
    pair: Block = {
        "type": "feedback_buttons",
        "action_id": action_id,
        "positive_button": good,
        "negative_button": bad,
    }
    return {"type": "context_actions", "elements": [pair]}


def label(text: str, limit: int) -> Block:
    """Plain text, which Slack shows as it is."""
    return {"type": "plain_text", "text": fit(one_line(text), limit) or "…", "emoji": True}


def mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}
