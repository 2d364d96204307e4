"""A form in a loopback Slack: what each of its fields holds when a person sends it off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any


def filled(view: Mapping[str, Json], **changes: Json) -> dict[str, Json]:
    """The state of a modal as it was opened, with some fields changed: text, or a list of values."""
    fields = {block["block_id"]: block["element"] for block in view["blocks"] if block["type"] == "input"}
    assert changes.keys() <= fields.keys(), f"no such field: {changes.keys() - fields.keys()}"
    return {
        name: {element["action_id"]: _state(element, changes[name]) if name in changes else _untouched(element)}
        for name, element in fields.items()
    }


def initial(view: Mapping[str, Json], name: str) -> Json:
    """What a field shows when the modal is opened: text, or a list of values."""
    element = next(block["element"] for block in view["blocks"] if block.get("block_id") == name)
    if "initial_options" in element:
        return [option["value"] for option in element["initial_options"]]
    if "initial_option" in element:
        return element["initial_option"]["value"]
    return element.get("initial_conversations") or element.get("initial_value")


def _state(element: Mapping[str, Json], value: Json) -> dict[str, Json]:
    kind = element["type"]
    options = {option["value"]: option for option in element.get("options", [])}
    if kind == "multi_conversations_select":
        return {"type": kind, "selected_conversations": value}
    if kind == "radio_buttons":
        return {"type": kind, "selected_option": options[value]}
    if kind in ("checkboxes", "multi_static_select"):
        return {"type": kind, "selected_options": [options[one] for one in value]}
    return {"type": kind, "value": value or None}


def _untouched(element: Mapping[str, Json]) -> dict[str, Json]:
    kind = element["type"]
    if kind == "multi_conversations_select":
        return {"type": kind, "selected_conversations": element.get("initial_conversations", [])}
    if kind == "radio_buttons":
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind in ("checkboxes", "multi_static_select"):
        return {"type": kind, "selected_options": element.get("initial_options", [])}
    return {"type": kind, "value": element.get("initial_value")}
