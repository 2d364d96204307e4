"""The form in which admins see and change a workspace's settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.chat.slack.blocks import (
    SECTION_LIMIT,
    Block,
    actions,
    button,
    context,
    divider,
    entry,
    escaped,
    header,
    label,
    modal,
    plain,
    section,
    text_input,
)
from adapters.chat.slack.message import SlackMessage, message, sentence_message
from core import wording
from core.events import Json
from core.settings.desk import KeptSettings, SettingChange
from core.settings.fields import FIELDS, GROUPS, MAX_PER_MIN, Field, unset_words, write_setting
from core.settings.tenant import Ceilings, TenantSettings

SETTINGS, OPEN_SETTINGS = "settings", "open_settings"
TITLE = "Research settings"
OPTION_LIMIT = 75  # characters of an option (docs.slack.dev, composition objects)
CHECKBOXES = 10  # options of one group of checkboxes; more are a menu
INPUT_LIMIT = 3000  # characters of a text input
SHOWN_CHANGES = 3
VALUE_ROOM = 300  # of one value in a list of changes
_EMPTY = "nothing"


def settings_modal(
    kept: KeptSettings, ceilings: Ceilings, changes: Sequence[SettingChange], *, warning: str = ""
) -> Block:
    """What comes back carries the version it was filled in from."""
    blocks = [section(f":warning: *{plain(warning, SECTION_LIMIT - 20)}*")] if warning else []
    for group, title in GROUPS.items():
        blocks += [header(title)]
        for field in FIELDS.values():
            if field.group == group and (element := _element(field, kept.settings, ceilings)):
                blocks.append(entry(field.key, field.title, element, is_optional=not field.choices, hint=field.hint))
        blocks.append(divider())
    blocks.append(context("\n".join(_told(changes[:SHOWN_CHANGES])) or wording.NO_CHANGES_YET))
    return modal(SETTINGS, TITLE, blocks, submit="Save", metadata=str(kept.version))


def saved_modal(changes: Sequence[SettingChange]) -> Block:
    """What has changed, in place of the form."""
    said = wording.SETTINGS_SAVED if changes else wording.SETTINGS_UNCHANGED
    lines = [f"*{FIELDS[change.key].title}*: {_from_to(change)}" for change in changes]
    blocks = [section(f"{':white_check_mark: ' if changes else ''}{said}"), *map(section, lines)]
    return modal("", TITLE, blocks, submit="", close="Close")


def refusal_modal(sentence: str) -> Block:
    return modal("", TITLE, [section(plain(sentence, SECTION_LIMIT))], submit="", close="Close")


def home_entries() -> list[Block]:
    """For the App Home, which everybody sees."""
    return actions([button(OPEN_SETTINGS, wording.SETTINGS, "settings")])


def log_message(changes: Sequence[SettingChange]) -> SlackMessage:
    """Who changed what, newest first."""
    if not changes:
        return sentence_message(wording.NO_CHANGES_YET)
    return message(wording.SETTINGS_LOG, [header(wording.SETTINGS_LOG), *map(section, _told(changes))])


def given_settings(view: Mapping[str, Any]) -> tuple[int, dict[str, str]]:
    """Of a form that was sent off: the version it was filled in from, and what it says by setting."""
    values: Mapping[str, Mapping[str, Any]] = (view.get("state") or {}).get("values") or {}
    version = str(view.get("private_metadata") or "")
    given = {key: _text(block.get(key) or {}) for key, block in values.items() if key in FIELDS}
    return int(version) if version.isdecimal() else -1, given


def _text(state: Mapping[str, Any]) -> str:
    """As `read_setting` takes it."""
    if "selected_conversations" in state:
        return " ".join(state["selected_conversations"] or ())
    if "selected_options" in state:
        return " ".join(option["value"] for option in state["selected_options"] or ())
    if "selected_option" in state:
        return str((state["selected_option"] or {}).get("value") or "")
    return str(state.get("value") or "")


def _element(field: Field, settings: TenantSettings, ceilings: Ceilings) -> Block | None:
    """None for what there is nothing to choose of."""
    value = getattr(settings, field.key)
    if field.key == "channels":
        element: Block = {"type": "multi_conversations_select", "placeholder": label("Everywhere", 150)}
        element["filter"] = {"include": ["public", "private"]}
        return {**element, **({"initial_conversations": [*value]} if value else {})}
    if field.choices:
        return _radio(field, write_setting(field.key, settings))
    if field.key == "providers":
        return _providers(value, ceilings.providers)
    if isinstance(TenantSettings.__dataclass_fields__[field.key].default, tuple):
        written: Block = {"initial_value": "\n".join(value)} if value else {}
        hint = "who.int\nnature.com" if field.key == "allow_domains" else "example.com"
        return {**text_input(INPUT_LIMIT, hint), **written}
    return _number(field, value, ceilings)


def _radio(field: Field, chosen: str) -> Block:
    options = [_option(word, meaning) for word, meaning in field.choices]
    initial = next(option for option in options if option["value"] == chosen)
    return {"type": "radio_buttons", "options": [*options], "initial_option": initial}


def _providers(chosen: Sequence[str], offered: Sequence[str]) -> Block | None:
    """Those that are chosen and configured no more are offered too, so that they can be taken out."""
    options: list[Json] = [_option(name, name) for name in dict.fromkeys([*offered, *chosen])]
    if not options:
        return None
    initial = [_option(name, name) for name in chosen]
    kind = "checkboxes" if len(options) <= CHECKBOXES else "multi_static_select"
    return {"type": kind, "options": options, **({"initial_options": [*initial]} if initial else {})}


def _number(field: Field, value: float | None, ceilings: Ceilings) -> Block:
    ceiling: float | None = getattr(ceilings, field.key)
    is_money = field.key == "monthly_usd"
    element: Block = {"type": "number_input", "is_decimal_allowed": is_money, "min_value": "0.01" if is_money else "1"}
    if field.group == "limits" and not is_money:
        element["max_value"] = str(ceiling or MAX_PER_MIN)
    elif ceiling is not None:
        element["max_value"] = f"{ceiling:g}"
    element["placeholder"] = label(unset_words(field, ceilings), 150)
    return {
        **element,
        **({"initial_value": f"{value:g}" if not is_money else f"{value:.2f}"} if value is not None else {}),
    }


def _option(value: str, text: str) -> Block:
    return {"value": value, "text": label(text, OPTION_LIMIT)}


def _told(changes: Sequence[SettingChange]) -> list[str]:
    return [
        f"{wording.day(change.at)}, {_person(change.who)}: *{FIELDS[change.key].title}* {_from_to(change)}"
        for change in changes
        if change.key in FIELDS
    ]


def _person(who: str) -> str:
    return f"<@{who}>" if who.startswith(("U", "W")) else wording.changed_by(who)


def _from_to(change: SettingChange) -> str:
    return f"{_value(change, change.before)} → {_value(change, change.after)}"


def _value(change: SettingChange, text: str) -> str:
    field = FIELDS[change.key]
    if change.key == "channels" and text != field.unset:
        return ", ".join(f"<#{escaped(channel)}>" for channel in text.split(", "))
    return f"_{plain(dict(field.choices).get(text, text) or _EMPTY, VALUE_ROOM)}_"
