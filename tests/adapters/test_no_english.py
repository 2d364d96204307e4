"""N-28: in a language that nobody speaks, whatever is left in English was never handed to a translator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, get_args

import discord
import pytest
from aiohttp.test_utils import TestClient, TestServer
from typer.main import get_command
from typer.testing import CliRunner

from adapters.chat.discord.administering import settings_form
from adapters.chat.discord.bot import ResearchBot
from adapters.chat.discord.payload import CommandWords
from adapters.chat.discord.render import TYPED as ON_DISCORD
from adapters.chat.discord.settings import DiscordSettings
from adapters.chat.slack.administering import home_view, log_message, saved_modal, settings_modal
from adapters.chat.slack.blocks import TYPED as ON_SLACK
from adapters.cli.app import build_app
from bots.__main__ import PROCESSES
from core.evidence.judge import Ruling
from core.library.states import COMMANDS, Conversation, State
from core.model.answer import Confidence, JobResult, RemovedSentence, Verdict
from core.model.errors import (
    ProviderTimeout,
)
from core.model.job import ResearchJob
from core.model.source import Source
from core.model.works import NO_IDS, Notice, WorkRecord
from core.modes import MODES
from core.modes.mode import ASKED
from core.presentation.bibliography import answer_markdown
from core.receipts.container import verify_receipt, write_receipt
from core.tenancy.settings import FIELDS, GROUPS, MEDICINE, Ceilings
from core.tenancy.settings_desk import KeptSettings, SettingChange
from core.text import saying
from core.text.saying import LANGUAGES, speaking
from core.watch.watch import Change, ChangeKind, Kind, Rhythm, Tone, Watch, WatchNotice
from core.watch.words import begun_line, list_lines, plain_lines
from core.works.checking import CheckedReference, JudgedUse, PartDiffers, RefStand
from core.works.reading import Reference
from core.works.showing import PARTS_DIFFER, RULINGS, list_text, said_of, verdict_words
from tests.adapters.chat.slack.test_render import texts_of as slack_texts
from tests.adapters.test_one_language import CACHED, DISCORD, SLACK, discord_buttons, on_paper, slack_buttons
from tests.adapters.web.serving import web_app
from tests.core import cats
from tests.core.findings.samples import found, idea, implementation
from tests.core.library.samples import TEXTS, TIDES, YEAST
from tests.core.library.test_talk import CONTENT as LIBRARY_ANSWER
from tests.core.library.test_talk import talk as library_talk
from tests.core.receipts import samples as receipts
from tests.fakes import NOW, FakeModel, FakeSearch, make_deps
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher

_KEPT = re.compile(r"(\{[^{}]*\}|`[^`]*`|<[^<>]*>|https?://\S+|\b[A-Z]+_[A-Z_]+\b|&[a-z]+;)")  # as translators keep it
_FOREIGN = str.maketrans(
    {chr(ord(first) + at): chr(letter + at) for first, letter in (("a", 0x561), ("A", 0x531)) for at in range(26)}
)  # Armenian letters: they have cases, and stand in no text of these tests


def in_armenian_letters(text: str) -> str:
    pieces = enumerate(_KEPT.split(text))
    return "".join(piece if at % 2 else piece.translate(_FOREIGN) for at, piece in pieces)


class NobodysCatalogue:
    """Knows every message there may be."""

    def get(self, said: str | tuple[str, str]) -> str | tuple[str, ...]:
        return in_armenian_letters(said) if isinstance(said, str) else tuple(map(in_armenian_letters, said))


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    known = NobodysCatalogue(), lambda number: int(number != 1)
    monkeypatch.setattr(saying, "_catalog", lambda language: known)
    saying._translated.cache_clear()
    with speaking("de"):
        yield
    saying._translated.cache_clear()


def english_in(shown: str, *content: str) -> list[str]:
    """Words of two letters and more that are neither said in the foreign language nor of the `content`."""
    plain = re.sub(r"(?s)<(script|style).*?</\1>|<code>.*?</code>|`[^`]*`|https?://[^\s\"')]+|%[0-9A-F]{2}", " ", shown)
    attributes = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', plain)
    text = " ".join([re.sub(r"<[^>]*>", " ", plain), *attributes])
    known = {word.casefold() for one in (*content, *_NAMES) for word in re.findall(r"[A-Za-z]+", one)}
    return sorted({word for word in re.findall(r"[A-Za-z]{2,}", text) if word.casefold() not in known})


_NAMES = (
    "gorkd GORKD Discord Slack UTC HTTP JSON YAML PDF DOI arXiv Markdown BibTeX RIS LaTeX MCP OCR md",
    " ".join(LANGUAGES.values()),
    "Januar Februar März April Juni Juli August September Oktober November Dezember Mai",
)


def words_of_blocks(value: object) -> Iterator[str]:
    """Of what a platform is sent all that it shows."""
    if isinstance(value, Mapping):
        shown = {name: one for name, one in value.items() if name not in _UNSEEN}
        yield from words_of_blocks([*shown.values()])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from words_of_blocks(inner)
    elif isinstance(value, str):
        yield value


_UNSEEN = tuple("type block_id action_id callback_id custom_id value private_metadata style filter emoji".split())
SCRIPTED = (
    "No papers found relevant to query Try refining your search terms",
    "Failed to synthesize research answer away",
)


def words_in(value: object) -> Iterator[str]:
    """All text within; names of fields and of verdicts are none."""
    if is_dataclass(value):
        value = [getattr(value, one.name) for one in fields(value)]
    if isinstance(value, str) and not isinstance(value, Enum):
        yield value
    elif isinstance(value, Mapping):
        yield from words_in([*value.values()])
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from words_in(inner)


BARE = replace(
    samples.ANSWER, confidence_reasons=(), limitations=(),
    removed=(RemovedSentence("It was painted green in 1990.", 'the source says 49, not 51; the source denies "tall"'),),
)  # fmt: skip
BARE_RESULT = replace(samples.RESULT, answer=BARE)
TOLD: dict[str, tuple[ResearchJob, JobResult | None]] = {
    "complete": (samples.COMPLETED, BARE_RESULT),
    "earlier": (samples.COMPLETED, replace(CACHED, answer=BARE)),
    "unsure": (samples.COMPLETED, replace(BARE_RESULT, answer=replace(BARE, confidence=Confidence.LOW))),
    "insufficient": (samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT),
    "failed": (samples.FAILED, None),
    "cancelled": (samples.CANCELLED, None),
    "findings": found([idea(1), implementation(1, "x = 1"), idea(2)], sections=[("Abstract", "Towers [1].")]),
}


async def everywhere(job: ResearchJob, result: JobResult | None, sources: list[Source]) -> dict[str, str]:
    """What is shown of a job, by where."""
    discord, slack = DISCORD.outcome(job, result, sources), SLACK.outcome(job, result, sources)
    researcher = ScriptedResearcher(job, result, sources)
    async with TestClient(TestServer(web_app(researcher))) as client:
        pages = [await (await client.get(f"/jobs/{job.id}{path}")).text() for path in ("", "/trace", "/sources/1")]
    embeds: Any = [{**one.to_dict(), "type": "", "url": ""} for one in (discord.embed, *discord.details)]
    return {
        "discord": " ".join(words_in([discord.text, embeds, *discord_buttons(discord).values()])),
        "slack": " ".join([*slack_texts(slack), *slack_buttons(slack).values()]),
        "page": pages[0], "trace": pages[1], "source": pages[2],
        "command line": on_paper(job, result) if result and result.answer else "",
        "file": answer_markdown(job, result, sources),
    }  # fmt: skip


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("end", TOLD)
async def test_nothing_of_an_outcome_is_left_in_english(end: str) -> None:
    job, result = TOLD[end]
    job = replace(job, request=replace(job.request, language="de"), intent=replace(job.intent, language="de"))

    shown = await everywhere(job, result, samples.SOURCES)

    content = [*words_in(job), *words_in(result), *words_in(samples.SOURCES)]
    assert {place: left for place, text in shown.items() if (left := english_in(text, *content))} == {}


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize("has_model", [False, True], ids=["quoted", "written"])
async def test_nothing_that_research_says_is_left_in_english(has_model: bool) -> None:
    """While it runs, and of what it found: limitations, why it is as sure as it is, why a sentence was removed."""
    lie, plain = "Cats purr 30 times a second.", "Purring may help bones heal."
    answer = cats.written(f"{lie[:-1]} [1]. {plain[:-1]} [1].")
    broken = FakeSearch("tavily", error=ProviderTimeout("tavily", "no answer in 10 s"))
    model = FakeModel({"plan": cats.PLAN, "answer": answer}) if has_model else None
    deps = make_deps(search=[cats.cat_search(), broken], model=model)

    events = await cats.research(deps, language="de")
    result = await deps.jobs.result(cats.final(events)["job_id"])

    assert result
    assert result.answer
    told = [
        *(event.data["message"] for event in events if event.type == "status"),
        *result.answer.limitations, *result.answer.confidence_reasons, result.answer.notice,
        *(part.note for part in result.answer.confidence_sum),
        *(saying.say_again(one.reason) for one in result.answer.removed),
        *(saying.say_again(why) for claim in result.answer.claims for why in claim.reasons),
    ]  # fmt: skip
    assert len(told) > 8
    assert english_in(" | ".join(map(str, told)), cats.QUESTION, cats.PURR, cats.PLAN, lie, "cats.example") == []


@pytest.mark.usefixtures("foreign")
async def test_nothing_of_what_was_not_found_is_left_in_english() -> None:
    deps = make_deps(search=[FakeSearch("tavily", error=ProviderTimeout("tavily", "no answer in 10 s"))])

    job_id = cats.final(await cats.research(deps, language="de"))["job_id"]
    error = (await deps.jobs.get(job_id)).error

    assert error
    assert english_in(error.message) == []


@pytest.mark.usefixtures("foreign")
def test_nothing_of_the_terminals_help_is_left_in_english() -> None:
    """Its commands, options and what stands for a value are typed as they are."""
    build: Any = partial(build_app, lambda: None, lambda name: None, PROCESSES, lambda: None, lambda http: None)
    group: Any = get_command(build())
    typed = re.compile(r"(?m)--?[a-z][a-z-]*|<[^>]*>|[A-Z]{2,}|^  [a-z-]+ |\[[^\]]*\]$|(?<=: )[a-z, ]+\.?$")
    left: dict[str, list[str]] = {}

    for name in ["", *group.list_commands(None)]:
        shown = CliRunner().invoke(build(), [*([name] if name else []), "--help"], terminal_width=400).output
        said = re.sub(r"(?m)^.*?: gorkd.*$", "", typed.sub(" ", shown))
        left |= {name: words} if (words := english_in(said, *MODES, *group.list_commands(None))) else {}

    assert left == {}


@pytest.mark.usefixtures("foreign")
def test_nothing_of_a_receipts_checks_is_left_in_english() -> None:
    """Whole, no receipt at all, and with a verdict that its evidence does not give."""
    claims = tuple(replace(one, verdict=Verdict.MOVED) for one in receipts.receipt().claims)
    files = [
        receipts.file(is_signed=False),
        b"PK",
        b"no zip",
        write_receipt(replace(receipts.receipt(), claims=claims)),
    ]

    found = [verify_receipt(file) for file in files]
    told = " | ".join(words for one in found for words in [*(check.says for check in one.checks), one.ending])

    assert [one.is_intact for one in found] == [True, False, False, False]
    assert english_in(re.sub(r"\b[0-9a-f]{16}\b|judge-7b|\b(?:summary|detail)-\d|src_\d|BadZipFile", "", told)) == []


@pytest.mark.usefixtures("foreign")
async def test_nothing_of_the_talk_with_a_library_is_left_in_english() -> None:
    """Every command and most that can go wrong; what is typed stays as it is."""
    lines = [
        "help", "list", "find tides", "find xylophone", "sem-search yeast", "summary 1", "summary 9", "open 2",
        "notes 1", "research tides", "improve shorter", "save", "improve", "research fail", "summary 2409.00009v1",
        "status", "rebuild-index", "add", "remove 2401.00001v1", "no", "nonsense",
    ]  # fmt: skip
    talks = [await library_talk(), await library_talk(is_admin=False), await library_talk(empty=True)]
    left: dict[str, list[str]] = {}

    for spoken in talks:
        conversation = Conversation()
        for line in lines:
            conversation, reply = await spoken.say(conversation, line)
            content = [line, *words_in([TIDES, YEAST, TEXTS]), LIBRARY_ANSWER, *SCRIPTED, *COMMANDS, *State]
            left |= {line: words} if (words := english_in(reply.text, *content)) else {}

    assert left == {}


@pytest.mark.usefixtures("foreign")
def test_nothing_of_a_watch_is_left_in_english() -> None:
    """What it tells, how often it looks, and its list."""
    changes = tuple(
        Change(kind, "medium", "high", now_url="https://cats.example/purr") for kind in get_args(ChangeKind)
    )
    notices = [WatchNotice("watch_1", 1, "job_1", tone, NOW, cats.QUESTION, changes) for tone in get_args(Tone)]
    weekly = Rhythm(at="09:00", weekdays=(0, 4))
    watched = [Watch("watch_1", kind, samples.COMPLETED.request, weekly, NOW, NOW, NOW, NOW) for kind in get_args(Kind)]

    told = [line for notice in notices for line in plain_lines(notice)]
    told += [*list_lines(watched, ["watch_2"]), *list_lines([]), *(begun_line(one, 0.1) for one in watched)]

    assert len(told) > 20
    assert (
        english_in(" | ".join(told), cats.QUESTION, samples.QUESTION, "cats.example medium high Montag und Freitag")
        == []
    )


@pytest.mark.usefixtures("foreign")
async def test_nothing_of_the_settings_forms_and_of_slacks_home_is_left_in_english() -> None:
    kept, ceilings = KeptSettings(), Ceilings(("tavily",))
    changes = [
        SettingChange(key, field.unset, "", who, NOW) for key, field in FIELDS.items() for who in ("operator", "")
    ]
    modals: list[Any] = [settings_modal(kept, ceilings, changes), saved_modal(changes), saved_modal([]),
                         list(log_message(changes).blocks)]  # fmt: skip
    forms = [settings_form(group, kept, ceilings).to_dict() for group in GROUPS]

    shown = " | ".join(words_of_blocks([*modals, *forms, home_view([], [], samples.LINKS)]))
    shown = re.sub(r"/[a-z-]+(?: [a-z]+)?", "", shown)

    assert (
        english_in(
            shown,
            "tavily",
            "white_check_mark",
            ON_SLACK.menu,
            *MODES,
            *(one.name for one in ASKED),
            MEDICINE,
            *(one.example for one in FIELDS.values()),
        )
        == []
    )


@pytest.mark.usefixtures("foreign")
def test_nothing_of_checked_references_is_left_in_english() -> None:
    record = WorkRecord(NO_IDS, "Tides", ("Ada",), "2020", notices=(Notice("retraction", date="2021"),))
    differences = tuple(PartDiffers(part, "A", "B") for part in PARTS_DIFFER)  # type: ignore[arg-type]
    uses = tuple(JudgedUse("A.", ruling, "full text") for ruling in Ruling)
    checked = [
        CheckedReference(
            Reference(at, "T"), stand, known, record, differences, ("crossref",),
            (("openalex", "could not be reached"),), 1, uses,
        )
        for at, stand in enumerate(RefStand)
        for known in (record, None)
    ]  # fmt: skip

    told = " | ".join([list_text(checked, {}), *map(said_of, checked), *map(verdict_words, RULINGS.values())])

    assert english_in(told, "Tides Ada Crossref OpenAlex") == []


@pytest.mark.usefixtures("foreign")
def test_nothing_of_the_help_in_chats_is_left_in_english() -> None:
    """What is typed there, and the menus of Discord and Slack, are called as they are."""
    shown = " ".join([*slack_texts(SLACK.help()), DISCORD.help().text])
    typed = (ON_SLACK.menu, ON_DISCORD.menu, *MODES, *(option.name for option in ASKED))

    assert english_in(re.sub(r"/[a-z-]+(?: [a-z]+)?", "", shown), *typed) == []


async def test_discord_has_every_command_described_in_six_languages() -> None:
    """N-28: and what its options do; what is typed stays as it is."""
    bot, words = ResearchBot(samples.chat_deps(), DiscordSettings(token="t")), CommandWords()
    known = {"de", "fr", "es-ES", "es-419", "it", "pt-BR", "nl"}

    for command in bot.tree.get_commands(type=discord.AppCommandType.chat_input):
        payload: Any = await command.get_translated_payload(bot.tree, words)  # type: ignore[union-attr]
        for said in (payload, *payload["options"]):
            assert said["description_localizations"].keys() == known, said["name"]
            assert not said.get("name_localizations"), said["name"]
