"""Buttons as discord.py wants them. They carry what they do and to which job in their id, so they outlive restarts."""

from __future__ import annotations

import re
from typing import Any, Protocol, cast

import discord

from adapters.chat.discord.payload import (
    JOB_ID,
    DiscordMessage,
    JobButton,
    LibraryButton,
    LinkButton,
    PanelButton,
    Press,
)
from adapters.chat.discord.translate import Asked
from core.presentation import wording

STYLES = {
    "primary": discord.ButtonStyle.primary,
    "secondary": discord.ButtonStyle.secondary,
    "danger": discord.ButtonStyle.danger,
}
_TEMPLATE = rf"(?P<press>{'|'.join(Press)}):(?P<job_id>{JOB_ID})"
_LIBRARY = r"library:(?P<tag>[0-9a-f]{0,12}):(?P<words>.{1,90})"
_IMPROVING = (wording.IMPROVE_TITLE, wording.IMPROVE_LABEL, wording.IMPROVE_HINT)
_COMPLAINING = (wording.WRONG_TITLE, wording.WRONG_LABEL, wording.WRONG_HINT)
REASON_LIMIT = 1000  # characters of what somebody writes into a form


class Pressable(Protocol):
    """What the bot does when a button is pressed: one of a job, of the library, or of a server's settings."""

    async def pressed(self, interaction: Asked, press: Press, job_id: str) -> None: ...

    async def said_by_button(self, interaction: Asked, button: LibraryButton) -> None: ...

    async def settings_pressed(self, interaction: Asked, group: str) -> None: ...


class JobItem(discord.ui.DynamicItem[discord.ui.Button[Any]], template=_TEMPLATE):
    """Any button that does something to a job."""

    def __init__(self, button: JobButton) -> None:
        made: discord.ui.Button[Any] = discord.ui.Button(
            label=button.label, custom_id=button.custom_id, style=STYLES[button.style]
        )
        super().__init__(made)
        self.button = button

    @classmethod
    async def from_custom_id(cls, _: Any, item: discord.ui.Item[Any], match: re.Match[str], /) -> JobItem:
        label = cast("discord.ui.Button[Any]", item).label or "·"
        return cls(JobButton(Press(match["press"]), match["job_id"], label))

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        await cast(Pressable, interaction.client).pressed(interaction, self.button.press, self.button.job_id)


class LibraryItem(discord.ui.DynamicItem[discord.ui.Button[Any]], template=_LIBRARY):
    """A button that says something to the library."""

    def __init__(self, button: LibraryButton) -> None:
        super().__init__(discord.ui.Button(label=button.label, custom_id=button.custom_id, style=STYLES[button.style]))
        self.button = button

    @classmethod
    async def from_custom_id(cls, _: Any, item: discord.ui.Item[Any], match: re.Match[str], /) -> LibraryItem:
        label = cast("discord.ui.Button[Any]", item).label or "·"
        return cls(LibraryButton(match["words"], label, match["tag"]))

    async def callback(self, interaction: discord.Interaction[Any]) -> None:
        await cast(Pressable, interaction.client).said_by_button(interaction, self.button)


def view_of(payload: DiscordMessage) -> discord.ui.View | None:
    """The buttons; None when there are none."""
    view = discord.ui.View(timeout=None)
    for number, row in enumerate(payload.rows):
        for button in row:
            view.add_item(_item(button, number))
    return view if view.children else None


def job_of(message: discord.Message | None) -> str:
    """The job that a message of ours is about, by its buttons; "" for any other message."""
    rows = message.components if message else []
    for row in rows:
        for item in getattr(row, "children", []):
            found = re.fullmatch(_TEMPLATE, getattr(item, "custom_id", None) or "")
            if found:
                return found["job_id"]
    return ""


class TextForm(discord.ui.Modal):
    """One question. Its answer is read from the interaction itself, so that it outlives a restart."""

    def __init__(self, custom_id: str, texts: tuple[str, str, str], *, is_required: bool = True) -> None:
        """`texts` are the title, the label of the field, and the example that stands in it."""
        title, label, hint = texts
        super().__init__(title=title, custom_id=custom_id, timeout=15 * 60.0)
        field: discord.ui.TextInput[Any] = discord.ui.TextInput(
            style=discord.TextStyle.paragraph, placeholder=hint, max_length=REASON_LIMIT, required=is_required
        )
        self.add_item(discord.ui.Label(text=label, component=field))


def job_form(press: Press, job_id: str) -> TextForm:
    """What is wrong with an answer, which need not be said, or what is to be better."""
    is_wish = press is Press.IMPROVE
    return TextForm(f"{press}:{job_id}", _IMPROVING if is_wish else _COMPLAINING, is_required=is_wish)


def wish_form(button: LibraryButton) -> TextForm:
    """What `improve` is to mind in the library."""
    return TextForm(button.custom_id, _IMPROVING)


def wish_of(interaction: Asked) -> LibraryButton | None:
    """What a submitted `wish_form` says to the library; None for any other interaction."""
    found, rows = submitted(interaction, _LIBRARY)
    return LibraryButton(f"{found['words']} {_written(rows)}", "", found["tag"]) if found else None


def form_of(interaction: Asked) -> tuple[Press, str, str] | None:
    """Of a submitted form: what it is for, which job, and what was written; None for any other interaction."""
    found, rows = submitted(interaction, _TEMPLATE)
    return (Press(found["press"]), found["job_id"], _written(rows)) if found else None


def submitted(interaction: Asked, custom_id: str) -> tuple[re.Match[str] | None, list[dict[str, Any]]]:
    """Of a submitted form whose id matches, the match and its rows; None for any other interaction."""
    sent = cast("dict[str, Any]", interaction.data or {})
    is_form = interaction.type is discord.InteractionType.modal_submit
    found = re.fullmatch(custom_id, str(sent.get("custom_id") or "")) if is_form else None
    return found, sent.get("components") or []


def _written(components: list[dict[str, Any]]) -> str:
    """What was written, wherever in the form it stands."""
    found: list[str] = []
    for component in components:
        inner = component.get("components") or ([component["component"]] if "component" in component else [])
        found.append(str(component["value"]) if "value" in component else _written(inner))
    return " ".join(filter(None, found))


def _item(button: JobButton | LibraryButton | LinkButton | PanelButton, row: int) -> discord.ui.Item[Any]:
    if isinstance(button, LinkButton):
        return discord.ui.Button(label=button.label, url=button.url, row=row)
    if isinstance(button, PanelButton):
        return discord.ui.Button(label=button.label, custom_id=button.custom_id, row=row)
    item = LibraryItem(button) if isinstance(button, LibraryButton) else JobItem(button)
    item.row = row
    return item
