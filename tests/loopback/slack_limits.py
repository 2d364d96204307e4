"""What Slack refuses: the limits of Block Kit and of method arguments, as `(path, reason)` in words.

From docs.slack.dev (blocks, block elements, composition objects, views, chat.postMessage) as of 2026.
Arguments are judged by Slack's own descriptions too (slack_spec.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.loopback.slack_spec import spec_faults

Json = Any

BLOCK_TYPES = {
    "header", "section", "divider", "context", "actions", "image", "input", "markdown", "context_actions", "rich_text",
    "table", "plan", "task_card",
}  # fmt: skip
VIEW_BLOCKS = {"header", "section", "divider", "context", "actions", "image", "input"}
TEXT_CUT = 40_000
OPTIONS_LIMIT = 100
MARKDOWN_TOTAL = 12_000
MENTION = re.compile(r"<(?:!|@|#)")


def method_faults(method: str, arguments: Mapping[str, Json]) -> list[str]:
    """Everything Slack would refuse in a call of the method."""
    faults = [*spec_faults(method, arguments)]
    if method in ("chat.postMessage", "chat.update", "chat.postEphemeral"):
        faults += message_faults(arguments)
    if method.startswith("chat.") and method.endswith("Stream"):
        faults += stream_faults(method, arguments)
    if method.startswith("views.") and isinstance(arguments.get("view"), dict):
        faults += view_faults(arguments["view"], method)
    if method == "assistant.threads.setSuggestedPrompts":
        prompts = arguments.get("prompts") or []
        if not 1 <= len(prompts) <= 4:
            faults.append(f"{len(prompts)} suggested prompts; 1 to 4 are allowed")
    if method.startswith("agents.sessions."):
        faults += session_faults(method, arguments)
    return faults


SESSION_KEYS = {
    "agents.sessions.setStatus": {"channel_id", "thread_ts", "status", "title", "initiator_user_id"},
    "agents.sessions.rename": {"channel_id", "thread_ts", "title"},
}


def session_faults(method: str, given: Mapping[str, Json]) -> list[str]:
    """Of an agent's session in a thread (docs.slack.dev, agents.sessions.setStatus and .rename)."""
    faults = [f"{method} has no argument {name!r}" for name in given.keys() - SESSION_KEYS[method] - {"token"}]
    needed = ("channel_id", "thread_ts", "status" if method.endswith("setStatus") else "title")
    faults += [f"{method} needs {name!r}" for name in needed if not given.get(name)]
    if given.get("status") not in (None, "active", "processing", "suspended", "closed"):
        faults.append(f"status {given['status']!r}")
    return faults + _length("title", given.get("title") or "", 200)


def message_faults(message: Mapping[str, Json]) -> list[str]:
    """Of anything that becomes a message: also a payload sent to a response_url or with an acknowledgement."""
    blocks = message.get("blocks") or []
    faults = [] if len(blocks) <= 50 else [f"{len(blocks)} blocks; at most 50 are allowed"]
    text = message.get("text") or ""
    if not text and not blocks and "attachments" not in message:
        faults.append("no_text")
    if blocks and not text:
        faults.append("no text as fallback beside the blocks")
    if len(text) > TEXT_CUT:
        faults.append(f"text of {len(text)} characters is cut at {TEXT_CUT}")
    faults += [*_surrogates("text", text), *_block_faults(blocks, BLOCK_TYPES)]
    markdown = sum(len(block.get("text", "")) for block in blocks if block.get("type") == "markdown")
    if markdown > MARKDOWN_TOTAL:
        faults.append(f"{markdown} characters in markdown blocks; at most {MARKDOWN_TOTAL} over the message")
    kinds = [block.get("type") for block in blocks]
    if kinds.count("table") > 1:
        faults.append("only_one_table_allowed: more than one table block")
    if {"plan", "task_card"} <= {*kinds}:
        faults.append("plan and task_card blocks beside each other")
    metadata = message.get("metadata")
    if metadata and not (metadata.get("event_type") and isinstance(metadata.get("event_payload"), dict)):
        faults.append("metadata without event_type and event_payload")
    return faults


def stream_faults(method: str, given: Mapping[str, Json]) -> list[str]:
    """Of a call that begins, continues or ends a stream, whatever state the stream is in."""
    faults: list[str] = []
    chunks = given.get("chunks") or []
    if not isinstance(chunks, list):
        return ["chunks: not a list"]
    if given.get("markdown_text") and chunks:
        faults.append("cannot_provide_both_markdown_text_and_chunks")
    if method == "chat.appendStream" and not given.get("markdown_text") and not chunks:
        faults.append("no_text")
    if given.get("task_display_mode") not in (None, "timeline", "plan", "dense"):
        faults.append(f"task_display_mode {given['task_display_mode']!r}")
    faults += _length("markdown_text", given.get("markdown_text") or "", MARKDOWN_TOTAL)
    for number, chunk in enumerate(chunks):
        faults += _chunk_faults(f"chunks[{number}]", chunk)
    faults += _block_faults(given.get("blocks") or [], BLOCK_TYPES)
    return faults


CHUNK_KEYS = {
    "markdown_text": {"text"},
    "plan_update": {"title"},
    "task_update": {"id", "title", "status", "details", "output", "sources"},
    "blocks": {"blocks"},
}
TASK_TEXT = 256  # of details and output (docs.slack.dev, chat.appendStream)


def _chunk_faults(at: str, chunk: Json) -> list[str]:
    kind = chunk.get("type") if isinstance(chunk, dict) else None
    if kind not in CHUNK_KEYS:
        return [f"{at}: chunk {kind!r}"]
    faults = [f"{at}: {kind} has no {name!r}" for name in chunk.keys() - CHUNK_KEYS[kind] - {"type"}]
    if kind == "blocks":
        blocks = chunk.get("blocks") or []
        if not 1 <= len(blocks) <= 50:
            faults.append(f"{at}: {len(blocks)} blocks; 1 to 50 are allowed")
        return faults + _block_faults(blocks, BLOCK_TYPES)
    needed = {"markdown_text": ("text",), "plan_update": ("title",), "task_update": ("id", "title", "status")}[kind]
    faults += [f"{at}: {kind} without {name}" for name in needed if not str(chunk.get(name) or "").strip()]
    limit = MARKDOWN_TOTAL if kind == "markdown_text" else TASK_TEXT
    for name in ("text", "title", "details", "output"):
        faults += [*_length(f"{at}.{name}", chunk.get(name) or "", limit), *_surrogates(at, chunk.get(name) or "")]
    if kind == "task_update" and chunk.get("status") not in ("pending", "in_progress", "complete", "error"):
        faults.append(f"{at}: status {chunk.get('status')!r}")
    return faults


def view_faults(view: Mapping[str, Json], method: str = "views.open") -> list[str]:
    faults = []
    if view.get("type") not in ("modal", "home"):
        faults.append(f"view of type {view.get('type')!r}")
    if view.get("type") == "modal":
        faults += _text_faults("title", view.get("title"), 24, {"plain_text"})
        for name in ("submit", "close"):
            if name in view:
                faults += _text_faults(name, view[name], 24, {"plain_text"})
        has_input = any(block.get("type") == "input" for block in view.get("blocks", []))
        if has_input and "submit" not in view:
            faults.append("a modal with an input needs submit")
    if method == "views.publish" and view.get("type") != "home":
        faults.append("only a home is published")
    if method in ("views.open", "views.push") and view.get("type") != "modal":
        faults.append("only a modal is opened")
    if len(view.get("blocks") or []) > 100:
        faults.append("more than 100 blocks in a view")
    faults += _length("private_metadata", view.get("private_metadata", ""), 3000)
    faults += _length("callback_id", view.get("callback_id", ""), 255)
    return faults + _block_faults(view.get("blocks") or [], VIEW_BLOCKS)


def view_answer_faults(view: Mapping[str, Json], answer: Mapping[str, Json]) -> list[str]:
    """Of what an app says to a modal that was sent off: errors name its inputs, each in a sentence."""
    if answer.get("response_action") in ("update", "push"):
        return view_faults(answer["view"])
    if answer.get("response_action") != "errors":
        return []
    inputs = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
    errors = answer.get("errors") or {}
    return [f"view errors: {errors}"] if not errors or errors.keys() - inputs or not all(errors.values()) else []


def options_faults(answer: Mapping[str, Json]) -> list[str]:
    """Of the options for an external select (docs.slack.dev, block_suggestion)."""
    options = answer.get("options")
    if not isinstance(options, list):
        return ["no options for an external select"]
    faults = [] if len(options) <= OPTIONS_LIMIT else [f"{len(options)} options; at most {OPTIONS_LIMIT} are allowed"]
    for option in options:
        faults += _option_faults("options", option, {"plain_text"})
    return faults


def _option_faults(at: str, option: Mapping[str, Json], types: set[str]) -> list[str]:
    value = option.get("value") or ""
    faults = [] if value else [f"{at}.option: no value"]
    faults += _text_faults(f"{at}.option", option.get("text"), 75, types)
    return faults + _length(f"{at}.option.value", value, 150)


def _block_faults(blocks: list[Json], types: set[str]) -> list[str]:
    faults: list[str] = []
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(set(ids)) != len(ids):
        faults.append("a block_id occurs twice")
    for number, block in enumerate(blocks):
        at, kind = f"blocks[{number}]", block.get("type")
        if kind not in types:
            faults.append(f"{at}: type {kind!r}")
            continue
        faults += _length(f"{at}.block_id", block.get("block_id", ""), 255)
        faults += list(_CHECKS.get(kind, lambda *_: iter(()))(at, block))
    return faults


def _section(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    fields = block.get("fields")
    if "text" not in block and not fields:
        yield f"{at}: neither text nor fields"
    if "text" in block:
        yield from _text_faults(f"{at}.text", block["text"], 3000, {"plain_text", "mrkdwn"})
    if fields is not None:
        if not 1 <= len(fields) <= 10:
            yield f"{at}: {len(fields)} fields; 1 to 10 are allowed"
        for field in fields:
            yield from _text_faults(f"{at}.fields", field, 2000, {"plain_text", "mrkdwn"})
    if "accessory" in block:
        yield from _element(f"{at}.accessory", block["accessory"])


def _context(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 10:
        yield f"{at}: {len(elements)} elements; 1 to 10 are allowed"
    for element in elements:
        if element.get("type") != "image":
            yield from _text_faults(at, element, 3000, {"plain_text", "mrkdwn"})


def _actions(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 25:
        yield f"{at}: {len(elements)} elements; 1 to 25 are allowed"
    ids = [element.get("action_id") for element in elements if "action_id" in element]
    if len(set(ids)) != len(ids):
        yield f"{at}: an action_id occurs twice"
    for element in elements:
        yield from _element(at, element)


def _context_actions(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    elements = block.get("elements") or []
    if not 1 <= len(elements) <= 5:
        yield f"{at}: {len(elements)} elements; 1 to 5 are allowed"
    for element in elements:
        if element.get("type") not in ("feedback_buttons", "icon_button"):
            yield f"{at}: element {element.get('type')!r}"
        for side in ("positive_button", "negative_button"):
            if element.get("type") == "feedback_buttons":
                button = element.get(side) or {}
                yield from _text_faults(f"{at}.{side}", button.get("text"), 75, {"plain_text"})
                yield from _length(f"{at}.{side}.value", button.get("value") or "", 2000)
                yield from _length(f"{at}.{side}.accessibility_label", button.get("accessibility_label", ""), 75)


def _input(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    yield from _text_faults(f"{at}.label", block.get("label"), 2000, {"plain_text"})
    if "hint" in block:
        yield from _text_faults(f"{at}.hint", block["hint"], 2000, {"plain_text"})
    yield from _element(f"{at}.element", block.get("element") or {})


def _markdown(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    if not str(block.get("text") or "").strip():
        yield f"{at}: empty markdown"
    yield from _surrogates(at, block.get("text") or "")


def _table(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    """As docs.slack.dev has it: 100 rows of 20 cells, each a text that is not empty; no more settings than columns."""
    rows = block.get("rows") or []
    if not 1 <= len(rows) <= 100:
        yield f"{at}: {len(rows)} rows; 1 to 100 are allowed"
    if len({len(row) for row in rows}) > 1 or not all(1 <= len(row) <= 20 for row in rows):
        yield f"{at}: rows of {sorted({len(row) for row in rows})} cells; 1 to 20, and as many in each, are allowed"
    for cell in (cell for row in rows for cell in row):
        if cell.get("type") == "rich_text":
            yield from _rich_text(at, cell)
        elif cell.get("type") != "raw_text" or not cell.get("text"):
            yield f"{at}: cell {cell}"
    settings = block.get("column_settings") or []
    if len(settings) > 20 or any(set(one or {}) - {"align", "is_wrapped"} for one in settings):
        yield f"{at}: column_settings {settings}"


def _plan(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    if not str(block.get("title") or "").strip():
        yield f"{at}: a plan without title"
    ids = [task.get("task_id") for task in block.get("tasks") or []]
    if len(set(ids)) != len(ids):
        yield f"{at}: a task_id occurs twice"
    for task in block.get("tasks") or []:
        yield from _task_card(f"{at}.tasks", task)


def _task_card(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    """Details and output are rich text; the kinds of status are those of chunks."""
    if block.get("type") != "task_card" or not block.get("task_id") or not str(block.get("title") or "").strip():
        yield f"{at}: task {block}"
    if block.get("status") not in ("pending", "in_progress", "complete", "error"):
        yield f"{at}: status {block.get('status')!r}"
    for name in ("details", "output"):
        if name in block and block[name].get("type") != "rich_text":
            yield f"{at}.{name}: no rich text"
        elif name in block:
            yield from _rich_text(f"{at}.{name}", block[name])


def _rich_text(at: str, block: Mapping[str, Json]) -> Iterator[str]:
    """As docs.slack.dev describes it: preformatted text holds text and links, nothing blank, and no other property."""
    elements = block.get("elements") or []
    if not elements:
        yield f"{at}: no elements"
    for element in elements:
        known = {"rich_text_preformatted": {"border"}, "rich_text_section": set()}.get(element.get("type"))
        if known is None or set(element) - {"type", "elements"} - known:
            yield f"{at}: element {sorted(element)} of type {element.get('type')!r}"
            continue
        if not element.get("elements"):
            yield f"{at}: an element without elements"
        for part in element.get("elements") or []:
            if part.get("type") not in ("text", "link") or not part.get("text"):
                yield f"{at}: part {part}"
            yield from _surrogates(at, part.get("text") or "")


_CHECKS = {
    "rich_text": _rich_text,
    "header": lambda at, block: _text_faults(f"{at}.text", block.get("text"), 150, {"plain_text"}),
    "section": _section,
    "context": _context,
    "actions": _actions,
    "context_actions": _context_actions,
    "input": _input,
    "markdown": _markdown,
    "table": _table,
    "plan": _plan,
    "task_card": _task_card,
}


def _element(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    kind = element.get("type")
    yield from _length(f"{at}.action_id", element.get("action_id", ""), 255)
    if kind == "button":
        yield from _text_faults(f"{at}.text", element.get("text"), 75, {"plain_text"})
        yield from _length(f"{at}.value", element.get("value") or "", 2000)
        yield from _length(f"{at}.url", element.get("url") or "", 3000)
        if "url" in element and not re.match(r"https?://[^/\s]+", element["url"]):
            yield f"{at}: invalid url {element['url'][:60]!r}"
        if element.get("style") not in (None, "primary", "danger"):
            yield f"{at}: style {element['style']!r}"
        yield from _confirm(at, element)
    elif kind == "file_input":
        if not 1 <= (element.get("max_files") or 10) <= 10:
            yield f"{at}: max_files {element['max_files']}"
    elif kind in _FIELDS:
        yield from _FIELDS[kind](at, element)
    elif kind == "plain_text_input":
        if (element.get("max_length") or 3000) > 3000:
            yield f"{at}: max_length {element['max_length']}"
        yield from _length(f"{at}.initial_value", element.get("initial_value") or "", element.get("max_length") or 3000)
        yield from _placeholder(at, element)
    else:
        yield f"{at}: element {kind!r}"


def _choice(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    """Of what is chosen from; an external select gets its options while somebody types."""
    yield from _placeholder(at, element)
    if element["type"] == "external_select":
        if element.get("min_query_length", 3) < 0:
            yield f"{at}: min_query_length"
        return
    is_select = element["type"].endswith("static_select")
    options = element.get("options") or []
    if not 1 <= len(options) <= (OPTIONS_LIMIT if is_select else 10):
        yield f"{at}: {len(options)} options"
    for option in options:
        yield from _option_faults(at, option, {"plain_text"} if is_select else {"plain_text", "mrkdwn"})
    initial = element.get("initial_options", [element["initial_option"]] if "initial_option" in element else None)
    if initial is not None and (not initial or any(option not in options for option in initial)):
        yield f"{at}: initial options that are none of the options"


def _overflow(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    """One to five options, each perhaps a link."""
    options = element.get("options") or []
    if not 1 <= len(options) <= 5:
        yield f"{at}: {len(options)} options in an overflow menu; 1 to 5 are allowed"
    for option in options:
        yield from _option_faults(at, option, {"plain_text"})
        yield from _length(f"{at}.option.url", option.get("url") or "", 3000)
        if "url" in option and not re.match(r"https?://[^/\s]+", option["url"]):
            yield f"{at}: invalid url {option['url'][:60]!r}"
    yield from _confirm(at, element)


def _number(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    if not isinstance(element.get("is_decimal_allowed"), bool):
        yield f"{at}: number_input without is_decimal_allowed"
    numbers = [element.get(name) for name in ("min_value", "initial_value", "max_value")]
    if any(number is not None and not isinstance(number, str) for number in numbers):
        yield f"{at}: numbers are written as text"
    known = [float(number) for number in numbers if number is not None]
    if known != sorted(known):
        yield f"{at}: {numbers} do not ascend"


def _conversations(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    if "initial_conversations" in element and not element["initial_conversations"]:
        yield f"{at}: no initial_conversations"
    if set(element.get("filter", {}).get("include", ["im"])) - {"im", "mpim", "private", "public"}:
        yield f"{at}: filter {element['filter']}"


def _placeholder(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    if "placeholder" in element:
        yield from _text_faults(f"{at}.placeholder", element["placeholder"], 150, {"plain_text"})


_FIELDS = {
    "radio_buttons": _choice,
    "checkboxes": _choice,
    "static_select": _choice,
    "multi_static_select": _choice,
    "external_select": _choice,
    "overflow": _overflow,
    "number_input": _number,
    "multi_conversations_select": _conversations,
}


def _confirm(at: str, element: Mapping[str, Json]) -> Iterator[str]:
    confirm = element.get("confirm")
    if confirm is not None:
        yield from _text_faults(f"{at}.confirm.title", confirm.get("title"), 100, {"plain_text"})
        yield from _text_faults(f"{at}.confirm.text", confirm.get("text"), 300, {"plain_text", "mrkdwn"})
        for name in ("confirm", "deny"):
            yield from _text_faults(f"{at}.confirm.{name}", confirm.get(name), 30, {"plain_text"})


def _text_faults(at: str, text: Json, limit: int, types: set[str]) -> list[str]:
    """A text object: its type, and from 1 to `limit` characters that are not all blank."""
    if not isinstance(text, dict) or text.get("type") not in types:
        return [f"{at}: not a text object of {sorted(types)}"]
    said = text.get("text")
    if not isinstance(said, str) or not said.strip():
        return [f"{at}: blank text"]
    return [*_length(at, said, limit), *_surrogates(at, said)]


def _length(at: str, text: str, limit: int) -> list[str]:
    """Counted as Slack's clients do, in UTF-16 units."""
    length = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return [f"{at}: {length} characters; at most {limit} are allowed"] if length > limit else []


def _surrogates(at: str, text: str) -> list[str]:
    return [f"{at}: half a character"] if re.search("[\ud800-\udfff]", text) else []
