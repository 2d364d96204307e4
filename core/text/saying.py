"""What people read, in their language: messages stand in the code in English and in core/locale/*.po in the others.

`say` translates where a sentence is said, by the language that `speaking` has set; constants stay English. English
reads no file and imports nothing. `python -m tests.tables locale` collects what is said into the catalogues.
"""

from __future__ import annotations

from calendar import day_name
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from babel.messages.catalog import Catalog

ENGLISH = "en"
# By ISO 639-1 code, each under its own name. A language more is a file core/locale/<code>.po and a line here.
LANGUAGES = {
    ENGLISH: "English",
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "it": "Italiano",
    "pt": "Português",
    "nl": "Nederlands",
}

_spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)


def spoken() -> str:
    """The language of what is said now; one of `LANGUAGES`."""
    return _spoken.get()


def known_language(tag: str) -> str:
    """The one of `LANGUAGES` that a language or locale (`de`, `pt-BR`, `es_419`) means; "" for any other."""
    code = tag.replace("_", "-").partition("-")[0].strip().lower()
    return code if code in LANGUAGES else ""


@contextmanager
def speaking(*tags: str) -> Iterator[None]:
    """What is said inside is in the first of these languages or locales that is known; English where none is."""
    token = _spoken.set(next(filter(None, map(known_language, tags)), ENGLISH))
    try:
        yield
    finally:
        _spoken.reset(token)


def speak(*tags: str) -> None:
    """As `speaking`, for the rest of the task: where a listener is called by others' code."""
    _spoken.set(next(filter(None, map(known_language, tags)), ENGLISH))


def later(text: str) -> str:
    """`text` itself: marks what stands in a table, for `say` to say where it is shown."""
    return text


def say(text: str, /, **values: object) -> str:
    """`text` in the language spoken, with its `{named}` places filled; as it stands where there are no values.

    `text` is a literal or a constant, never made of pieces: it is looked up, and collected from the code.
    """
    language = _spoken.get()
    if language != ENGLISH and text:
        text = _translated(language, text)
    return text.format(**values) if values else text


def say_many(one: str, many: str, number: int, /, **values: object) -> str:
    """`one` or `many` by the plural rule of the language spoken; `{number}` stands for the number in both."""
    language = _spoken.get()
    text = one if number == 1 else many
    if language != ENGLISH:
        message = _catalog(language).get((one, many))
        forms = message.string if message else ()
        text = (forms[_plural(language)(number)] if isinstance(forms, tuple) else "") or text
    return text.format(number=number, **values)


def say_number(value: float, digits: int = 0) -> str:
    """With so many digits behind the sign that the language puts there, and nothing between thousands."""
    shown = f"{value:.{digits}f}"
    return shown if _spoken.get() == ENGLISH else shown.replace(".", _decimal_sign(_spoken.get()))


def say_day(moment: datetime) -> str:
    """`3 March 2024`."""
    if _spoken.get() == ENGLISH:
        return f"{moment.day} {moment:%B %Y}"
    from babel.dates import format_date

    return format_date(moment, "long", locale=_spoken.get())


def say_weekdays(days: Sequence[int]) -> str:
    """`Monday and Friday`, counted from Monday as 0."""
    if _spoken.get() == ENGLISH:
        return " and ".join(day_name[day] for day in days)
    from babel.dates import get_day_names
    from babel.lists import format_list

    names = get_day_names("wide", locale=_spoken.get())
    return format_list([names[day] for day in days], locale=_spoken.get())


def say_month(moment: datetime, *, year: bool = True) -> str:
    """`March 2024`, or `March`."""
    if _spoken.get() == ENGLISH:
        return f"{moment:%B} {moment.year}" if year else f"{moment:%B}"
    from babel.dates import format_skeleton

    return format_skeleton("yMMMM" if year else "MMMM", moment, locale=_spoken.get())


@cache
def _decimal_sign(language: str) -> str:
    from babel.numbers import get_decimal_symbol

    return get_decimal_symbol(language)


@cache
def _translated(language: str, text: str) -> str:
    message = _catalog(language).get(text)
    return message.string if message and isinstance(message.string, str) and message.string else text


@cache
def _plural(language: str) -> Callable[[int], int]:
    from gettext import c2py  # English has its rule in the code

    return c2py(_catalog(language).plural_expr)


@cache
def _catalog(language: str) -> Catalog:
    from importlib.resources import files

    from babel.messages.pofile import read_po  # English never needs it

    with files("core").joinpath("locale", f"{language}.po").open("rb") as opened:
        return read_po(opened, locale=language)
