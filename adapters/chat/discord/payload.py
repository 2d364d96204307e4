"""What is shown in one Discord message, as values: render.py makes them, delivery.py sends them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import discord
from discord import app_commands

from adapters.chat.watching import Upload
from core.presentation import wording
from core.text import saying
from core.text.saying import known_language, say, speaking

CUSTOM_ID_LIMIT = 100
JOB_ID = r"[0-9A-Za-z_-]{1,80}"


# What a button does to the job it names: its custom id is `name:job_id`, at most 100 characters (G-02). Two belong to
# shared answers, which only Discord has asked for and shown by buttons; links lead elsewhere.
SHARED_SOURCES, SHARE_HERE = "shared_sources", "share_here"
PRESSES = frozenset({*wording.BUTTONS, SHARED_SOURCES, SHARE_HERE}) - {"view_full_analysis", "receipt"}


@dataclass(frozen=True)
class DiscordButton:
    """Does what its `custom_id` says, which whoever hears of the press reads; or leads to a `url`."""

    label: str
    custom_id: str = ""
    is_primary: bool = False
    url: str = ""


@dataclass(frozen=True)
class MoreMenu:
    """What is pressed less often: each choice does to the job what its button would."""

    job_id: str
    choices: tuple[tuple[str, str], ...]


Row = tuple[DiscordButton | MoreMenu, ...]


@dataclass(frozen=True)
class DiscordMessage:
    """`text` says the same within 2000 characters, for places where the bot may not embed.

    `job_id` is the job whose end this is, "" before the end; `page_url` where it can be read as well. `details`
    is what goes to a thread under it, which is called `thread_name`. `files` come with this very edit.
    """

    embed: discord.Embed
    text: str
    rows: tuple[Row, ...] = ()
    job_id: str = ""
    page_url: str = ""
    thread_name: str = ""
    details: tuple[discord.Embed, ...] = ()
    files: tuple[Upload, ...] = ()

    @property
    def without_files(self) -> DiscordMessage:
        """For where nothing may be attached: what is shown without its picture, or no more than that a file is not."""
        said = word("library.not_attached")
        if self.rows and not self.embed.image:  # a link says where the file is
            return replace(self, files=())
        if not self.embed.image:
            return DiscordMessage(discord.Embed(description=said), said)
        embed = self.embed.copy().set_image(url=None)
        embed.description = f"{embed.description or ''}\n-# {said}"
        return replace(self, embed=embed, text=f"{self.text}\n-# {said}", files=())


# Buttons as discord.py wants them. They carry what they do and to which job in their id, so they outlive restarts: what
# is pressed is read from the interaction (`on_interaction` in bot.py), by these patterns


OF_JOB = rf"(?P<press>{'|'.join(PRESSES)}):(?P<job_id>{JOB_ID})"
OF_MENU = rf"more:(?P<job_id>{JOB_ID})"
OF_LIBRARY = r"library:(?P<tag>[0-9a-f]{0,12}):(?P<words>.{1,90})"
REASON_LIMIT = 1000  # characters of what somebody writes into a form


def view_of(payload: DiscordMessage) -> discord.ui.View | None:
    """The buttons; None when there are none."""
    view = discord.ui.View(timeout=None)
    view.stop()  # else discord.py keeps it for ever
    for number, row in enumerate(payload.rows):
        for button in row:
            view.add_item(_item(button, number))
    return view if view.children else None


def job_of(message: discord.Message | None) -> str:
    """The job that a message of ours is about, by its buttons; "" for any other message."""
    rows = message.components if message else []
    for row in rows:
        for item in getattr(row, "children", []):
            found = re.fullmatch(
                rf"(?:more|{'|'.join(PRESSES)}):(?P<job_id>{JOB_ID})", getattr(item, "custom_id", None) or ""
            )
            if found:
                return found["job_id"]
    return ""


def _text_form(custom_id: str, title: str, label: str, hint: str, *, is_required: bool = True) -> discord.ui.Modal:
    """One question, with an example in its field. What is answered is read from the interaction itself, so that it
    outlives a restart.
    """
    form = discord.ui.Modal(title=title, custom_id=custom_id, timeout=15 * 60.0)
    field: discord.ui.TextInput[Any] = discord.ui.TextInput(
        style=discord.TextStyle.paragraph, placeholder=hint, max_length=REASON_LIMIT, required=is_required
    )
    form.add_item(discord.ui.Label(text=label, component=field))
    return form


def wrong_form(custom_id: str) -> discord.ui.Modal:
    """What is wrong with an answer, which need not be said."""
    texts = say(wording.WRONG_TITLE), say(wording.WRONG_LABEL), say(wording.WRONG_HINT)
    return _text_form(custom_id, *texts, is_required=False)


def wish_form(custom_id: str) -> discord.ui.Modal:
    """What `improve` is to mind, of an answer or in the library."""
    return _text_form(custom_id, say(wording.IMPROVE_TITLE), say(wording.IMPROVE_LABEL), say(wording.IMPROVE_HINT))


def written(components: list[dict[str, Any]]) -> str:
    """What was written, wherever in the form it stands."""
    found: list[str] = []
    for component in components:
        inner = component.get("components") or ([component["component"]] if "component" in component else [])
        found.append(str(component["value"]) if "value" in component else written(inner))
    return " ".join(filter(None, found))


def _item(button: DiscordButton | MoreMenu, row: int) -> discord.ui.Item[Any]:
    if isinstance(button, MoreMenu):
        options = [discord.SelectOption(label=label, value=press) for press, label in button.choices]
        said = word("answer.more")
        return discord.ui.Select(custom_id=f"more:{button.job_id}", placeholder=said, options=options, row=row)
    if button.url:
        return discord.ui.Button(label=button.label, url=button.url, row=row)
    style = discord.ButtonStyle.primary if button.is_primary else discord.ButtonStyle.secondary
    return discord.ui.Button(label=button.label, custom_id=button.custom_id, style=style, row=row)


# The Discord bot's own words, from one data file; a test keeps the file and its uses the same set


def word(key: str, /, **values: object) -> str:
    """The words called `section.name`, said with `values` in place of their `{names}`. Raises `KeyError`."""
    section, _, name = key.partition(".")
    return say(_words()[section][name], **values)


class CommandWords(app_commands.Translator):
    """What commands and their options do, in each language of Discord that is one of ours; their names stay."""

    async def translate(
        self, string: app_commands.locale_str, locale: discord.Locale, context: app_commands.TranslationContextTypes
    ) -> str | None:
        place, told = context.location, string.message
        is_typed = place in _TYPED and not isinstance(context.data, app_commands.ContextMenu)
        if is_typed or not known_language(locale.value):
            return None
        with speaking(locale.value):
            said = saying.say(told)
            if said == told:  # `How many rounds at most (deep)`: the modes have names
                does, bracket, modes = told.rpartition(" (")
                said = saying.say(does) + bracket + modes
        return said if said != told and len(said) <= COMMAND_WORDS else None


_TYPED = (app_commands.TranslationContextLocation.command_name, app_commands.TranslationContextLocation.parameter_name)
COMMAND_WORDS = 100  # characters of a description (docs.discord.com, application commands)


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
