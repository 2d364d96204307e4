"""What people read, in their language: messages stand in the code in English and in core/locale/*.po in the others.

`say` translates where a sentence is said, by the language that `speaking` has set; constants stay English. What models
and programs read too is kept in English, and `say_again` says it where it is shown. English reads no file and imports
nothing. `python -m tests.tables locale` collects what is said into the catalogues.
"""

from __future__ import annotations

import re
from calendar import day_name
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

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

# Why a sentence was doubted or removed, a search or a page failed, a file was refused, and what findings are called:
# kept in English with its values filled in, since the judge is told it, receipts compare it, and later it may be shown
# in any language. What says more stands before what says less.
REASONS = (
    "the source says {said} per cent, not percentage points",
    "the source says {said} percentage points, not per cent",
    "the source says {said} there, not {word}",
    "the source says {said}, not {word}",
    'the source says "{said}" of {owner}',
    'the source says "{said}" after {word}',
    'the source says "{said}" before {word}',
    'the source says "{said}"',
    "the source says it of {owner}, and something else of {other}",
    "the source says it of {owner}",
    "the source says {said} of {owner}",
    "the source does not say it of {owner}",
    'the source does not say "{word}" of {owner}',
    'the source does not say "{word}"',
    "the source does not speak of {word}",
    "the source does not name {word}",
    "the source does not give {word}",
    'the source does not have the words "{word}"',
    "the source does not have {owner} say it",
    "the source does not have {word}",
    'the source has no word for "{word}"',
    'the source has "{word}" in the past',
    "the source has it the other way round",
    "the source compares them the other way round",
    "the source denies something",
    "the source denies nothing",
    'the source denies nothing, the claim "{word}"',
    'the source denies "{word}" before it',
    'the source denies "{word}"',
    'the source does not deny "{word}"',
    "the source asks it",
    "the source quotes it",
    'the source goes on: "{said}"',
    "in the source somebody says it",
    'it stands under "{said}"',
    'who or what "{word}" is, was not said before',
    '"{one}" and "{other}" have changed places',
    "too long for one claim",
    "not a whole sentence",
    "its language is not one whose denials are known",
    "its page was read by OCR, and letters may be wrong",
    "no such source was read",
    "its source was retracted",
    "what said it with this source was retracted",
    "no passage of the sources that were read bears on it",
    "no source that was read has this code",
    "an order taken from a page",
    "it leans on a sentence that could not be confirmed",
    "the cited sources say it together",
    "a model confirmed it",
    "a model found a part of it",
    "a model read otherwise",
    "a model read otherwise: {why}",
    "a model did not confirm it",
    "a model did not confirm it: {why}",
    "verbatim",
    "not confirmed",
    "a registry's record",
    "the record in {registry}",
    # Of searches
    "no answer in {number} s",
    "no answer in time",
    "too many requests ({status})",
    "key refused ({status})",
    "quota used up ({status})",
    "its limit of calls ({number} in {seconds} s) is used up",
    "refused ({status})",
    "wrong address ({status})",
    "server error ({status})",
    "answered with an error",
    "gave an answer that cannot be read",
    "could not be reached",
    "its answer was cut off",
    "the connection was lost",
    "its engines did not answer",
    # Of pages and files
    "could not be read",
    "address not allowed",
    "the settings here exclude its site",
    "disallowed by robots.txt",
    "robots.txt could not be read",
    "too large",
    "did not answer in time",
    "no readable text",
    "reading it took too long",
    "reading it takes too much memory",
    "the reader broke on it, so it is damaged or made to do harm",
    "it is a scan: its pages are images without text",
    "it is a scan, and no OCR is installed to read it; the operator can install tesseract-ocr, and it will be",
    "its pages are empty",
    "it is empty",
    "it is damaged",
    "it is damaged: none of its pages can be opened",
    "it is protected by a password",
    "it is larger than {size}",
    "it is neither a PDF nor Markdown",
    "it is not one of the kinds I read ({kinds})",
    "it holds no readable text",
    "it cannot be fetched",
    "it is no file, arXiv id, DOI or address",
    "arXiv does not know it",
    "its page names no PDF",
    "it lists more than {number} papers, the most that are taken from one list",
    "it lists no paper",
    "only the first {number} of {all} pages were read",
    "only the first {number} characters of page {page} were read",
    "only the first {number} characters of each of the pages {pages} were read",
    "page {page} is a scan and was not read",
    "pages {pages} are scans and were not read",
    "its last page was not read to the end",
    # Of what was read of a paper
    "abstract",
    "its full text is behind a paywall",
    "full text, preprint, arXiv ({id})",
    "full text, published version, Europe PMC ({id})",
    "full text, published version, {host}",
    "full text, accepted manuscript, {host}",
    "full text, preprint, {host}",
    "full text, published version",
    "full text, accepted manuscript",
    "full text, preprint",
    "full text, {host}",
    "full text",
    "stands on page {page}, not on {pages}",
    # Of what ended early
    "time limit reached",
    "its time was up",
    "its time ran out",
    "the model's answer broke off",
    # Of findings: where they are from, and the parts of a report and of a paper
    "official documentation or standard",
    "official documentation",
    "paper",
    "major vendor or lab",
    "known educator",
    "widely adopted repository",
    "other site",
    "content farm",
    "code as on its page",
    "code written by the model, not on its page",
    "single source",
    "it has no code",
    "Abstract",
    "Introduction",
    "Literature Review",
    "Methodology",
    "Implementations",
    "Materials and Methods",
    "Results",
    "Discussion",
    "Conclusion",
)

_spoken: ContextVar[str] = ContextVar("spoken", default="")  # "" where nothing has told


def spoken() -> str:
    """The language of what is said now; one of `LANGUAGES`."""
    return _spoken.get() or ENGLISH


def known_language(tag: str) -> str:
    """The one of `LANGUAGES` that a language or locale (`de`, `pt-BR`, `es_419`) means; "" for any other."""
    code = tag.replace("_", "-").partition("-")[0].strip().lower()
    return code if code in LANGUAGES else ""


@contextmanager
def speaking(*tags: str) -> Iterator[None]:
    """What is said inside is in the first of these languages or locales that is known; English where none is."""
    token = _spoken.set(_first_known(tags))
    try:
        yield
    finally:
        _spoken.reset(token)


def speak(*tags: str) -> None:
    """As `speaking`, for the rest of the task: where a listener is called by others' code."""
    _spoken.set(_first_known(tags))


def speak_else(*tags: str) -> None:
    """As `speak`, where nothing has told a language yet."""
    _spoken.set(_spoken.get() or _first_known(tags))


def _first_known(tags: Sequence[str]) -> str:
    return next(filter(None, map(known_language, tags)), "")


def later(text: str) -> str:
    """`text` itself: marks what stands in a table, for `say` to say where it is shown."""
    return text


def say(text: str, /, **values: object) -> str:
    """`text` in the language spoken, with its `{named}` places filled; as it stands where there are no values.

    `text` is a literal or a constant, never made of pieces: it is looked up, and collected from the code.
    """
    language = spoken()
    if language != ENGLISH and text:
        text = _translated(language, text)
    return text.format(**values) if values else text


def say_many(one: str, many: str, number: int, /, **values: object) -> str:
    """`one` or `many` by the plural rule of the language spoken; `{number}` stands for the number in both."""
    language = spoken()
    text = one if number == 1 else many
    if language != ENGLISH:
        messages, plural = _catalog(language)
        forms = messages.get((one, many))
        text = (forms[plural(number)] if isinstance(forms, tuple) else "") or text
    return text.format(number=number, **values)


def say_again(kept: str) -> str:
    """What was kept in English, `REASONS` that semicolons part, in the language spoken; anything else as it is."""
    if spoken() == ENGLISH:
        return kept
    if kept in REASONS:  # one of them has a semicolon
        return say(kept)
    parts = [(part, _retold(part)) for part in kept.split("; ")]
    return "; ".join(told or part for part, told in parts) if any(told for _, told in parts) else _retold(kept) or kept


def _retold(kept: str) -> str:
    for pattern, reason in _reasons():
        if told := pattern.fullmatch(kept):
            return say(reason, **told.groupdict())
    return ""


@cache
def _reasons() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What each looks like when filled in; the first that fits counts."""
    found = []
    for reason in REASONS:
        pieces = [(re.escape(told), name) for told, name, _, _ in Formatter().parse(reason)]
        pattern = "".join(f"{told}(?P<{name}>.+?)" if name else told for told, name in pieces)
        found.append((re.compile(pattern, re.DOTALL), reason))
    return tuple(found)


def say_number(value: float, digits: int = 0) -> str:
    """With so many digits behind the sign that the language puts there, and nothing between thousands."""
    shown = f"{value:.{digits}f}"
    return shown if spoken() == ENGLISH else shown.replace(".", _decimal_sign(spoken()))


def say_day(moment: datetime) -> str:
    """`3 March 2024`."""
    if spoken() == ENGLISH:
        return f"{moment.day} {moment:%B %Y}"
    from babel.dates import format_date

    return format_date(moment, "long", locale=spoken())


def say_moment(moment: datetime) -> str:
    """`3 March 2024, 09:00 UTC`, of a moment in UTC."""
    return f"{say_day(moment)}, {moment:%H:%M} UTC"


def say_published(moment: datetime) -> str:
    """`3 March 2024`; `2024` where no more is known."""
    return str(moment.year) if is_year_alone(moment) else say_day(moment)


def is_year_alone(moment: datetime) -> bool:
    """Whether it is the first moment of a year, as which one is kept of which no more is known."""
    return (moment.month, moment.day, moment.hour, moment.minute) == (1, 1, 0, 0)


def say_weekdays(days: Sequence[int]) -> str:
    """`Monday and Friday`, counted from Monday as 0."""
    if spoken() == ENGLISH:
        return " and ".join(day_name[day] for day in days)
    from babel.dates import get_day_names
    from babel.lists import format_list

    names = get_day_names("wide", locale=spoken())
    return format_list([names[day] for day in days], locale=spoken())


def say_month(moment: datetime, *, year: bool = True) -> str:
    """`March 2024`, or `March`."""
    if spoken() == ENGLISH:
        return f"{moment:%B} {moment.year}" if year else f"{moment:%B}"
    from babel.dates import format_skeleton

    return format_skeleton("yMMMM" if year else "MMMM", moment, locale=spoken())


@cache
def _decimal_sign(language: str) -> str:
    from babel.numbers import get_decimal_symbol

    return get_decimal_symbol(language)


@cache
def _translated(language: str, text: str) -> str:
    said = _catalog(language)[0].get(text)
    return said if isinstance(said, str) and said else text


@cache
def _catalog(language: str) -> tuple[dict[object, object], Callable[[int], int]]:
    """What each message is, of a plural one every form, and the plural rule; Babel's own objects take 1 MB more."""
    from gettext import c2py
    from importlib.resources import files

    from babel.messages.pofile import read_po  # English never needs it

    with files("core").joinpath("locale", f"{language}.po").open("rb") as opened:
        read = read_po(opened, locale=language)
    return {message.id: message.string for message in read}, c2py(read.plural_expr)
