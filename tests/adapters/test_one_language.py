"""The same words on the command line, the page, Discord and Slack, whoever renders them."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from rich.console import Console
from typer.main import get_command

from adapters.chat.desk import Prove, Utterance, Watching, hear
from adapters.chat.discord.bot import ResearchBot
from adapters.chat.discord.payload import (
    PRESSES,
    SHARE_HERE,
    SHARED_SOURCES,
    DiscordMessage,
    MoreMenu,
)
from adapters.chat.discord.render import CONTENT_LIMIT, DiscordVoice
from adapters.chat.discord.render import TYPED as ON_DISCORD
from adapters.chat.discord.settings import DiscordSettings
from adapters.chat.slack.blocks import SECTION_LIMIT, SlackMessage, help_blocks
from adapters.chat.slack.blocks import TYPED as ON_SLACK
from adapters.chat.slack.render import MENU_HOLDS, SlackVoice
from adapters.chat.slack.translate import read_options
from adapters.cli.app import build_app
from adapters.cli.ask import print_answer
from adapters.web.api import QuestionBody
from core.deep.viewing import read_card
from core.evidence.citations import MARKS
from core.model.answer import Confidence, JobResult, Verdict
from core.model.errors import (
    GorkdError,
    InvalidQuery,
    JobNotFound,
    QueueFull,
    SearchFailed,
    StoreError,
)
from core.model.job import LOCAL, JobStatus, ResearchJob, Scope
from core.modes.mode import ASKED
from core.presentation import wording
from core.presentation.bibliography import answer_markdown
from core.presentation.help import help_entries
from core.presentation.snapshot import Snapshot
from tests.adapters.web.serving import web_app
from tests.core import cats
from tests.fakes import make_deps
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher

SLACK, DISCORD = SlackVoice(samples.LINKS), DiscordVoice(samples.LINKS)
PRIVATE = replace(samples.COMPLETED.request, is_private=True, scope=Scope("discord:1", "channel:2"))
CACHED = replace(samples.RESULT, cached_at="2026-03-11T12:00:00+00:00", cached_question=samples.QUESTION)
UNSURE = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence=Confidence.LOW))
ENDS: dict[str, tuple[ResearchJob, JobResult | None]] = {
    "complete": (samples.COMPLETED, samples.RESULT),
    "private": (replace(samples.COMPLETED, request=PRIVATE), samples.RESULT),
    "earlier": (samples.COMPLETED, CACHED),
    "renewed": (
        replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, refreshes="job_0")),
        samples.RESULT,
    ),
    "unsure": (samples.COMPLETED, UNSURE),
    "insufficient": (samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT),
    "failed": (samples.FAILED, None),
    "failed for good": (replace(samples.FAILED, error=replace(samples.FAILED.error, retryable=False)), None),  # type: ignore[type-var]
    "cancelled": (samples.CANCELLED, None),
}

SAID_INSTEAD = {"export": "export", "watch": "watch this daily"}
LINKS = {"view_full_analysis", "receipt"}  # addresses on both, so that no press comes of them


def in_the_menu(message: SlackMessage) -> int:
    elements: Any = [element for block in message.blocks for element in block.get("elements") or ()]  # type: ignore[union-attr]
    return sum(len(element["options"]) for element in elements if element["type"] == "overflow")


def slack_buttons(message: SlackMessage) -> dict[str, str]:
    """What each does, and what it says."""
    found: dict[str, str] = {}
    for block in message.blocks:
        for element in block.get("elements") or ():  # type: ignore[union-attr]
            if element.get("type") == "button":  # type: ignore[union-attr]
                found[element["action_id"]] = element["text"]["text"]  # type: ignore[index,call-overload]
            for option in element.get("options") or ():  # type: ignore[union-attr]
                found[option["value"].partition(":")[0]] = option["text"]["text"]  # type: ignore[index,call-overload]
            if element.get("type") == "feedback_buttons":  # type: ignore[union-attr]
                for name in ("positive_button", "negative_button"):
                    said: Any = element[name]  # type: ignore[index,call-overload]
                    found[said["value"].partition(":")[0]] = said["text"]["text"]
    return found


def discord_buttons(message: DiscordMessage) -> dict[str, str]:
    found: dict[str, str] = {}
    for row in message.rows:
        for button in row:
            if isinstance(button, MoreMenu):
                found |= {str(press): label for press, label in button.choices}
            else:
                found[button.custom_id.partition(":")[0] or "view_full_analysis"] = button.label
    return found


def on_paper(job: ResearchJob, result: JobResult) -> str:
    paper = StringIO()
    assert result.answer
    print_answer(Console(file=paper, width=200, highlight=False), job, result, result.answer, samples.SOURCES)
    return paper.getvalue()


async def on_page(job: ResearchJob, result: JobResult | None) -> str:
    request = replace(job.request, scope=LOCAL)
    researcher = ScriptedResearcher(replace(job, request=request), result)
    async with TestClient(TestServer(web_app(researcher))) as client:
        return await (await client.get(f"/jobs/{job.id}")).text()


def text_of(message: SlackMessage) -> str:
    """All that stands in it."""
    return str(list(message.blocks))


@pytest.mark.parametrize("end", ENDS)
def test_buttons_say_the_same_for_what_they_do(end: str) -> None:
    """Of every outcome both chats offer the same, in the words of one table; Discord alone shares private answers.

    In Slack's one row is a way to go deeper under any answer, also where nobody offers it, and what may be asked next;
    its menu has room for five, and what it leaves out is a word.
    """
    job, result = ENDS[end]

    message = SLACK.outcome(job, result, samples.SOURCES)
    slack = {action: said for action, said in slack_buttons(message).items() if not action.startswith("follow_up")}
    discord = discord_buttons(DISCORD.outcome(job, result, samples.SOURCES))
    own = {"show_sources": wording.SOURCES} | ({} if "start_deep" in discord else {"start_deep": wording.GO_DEEPER})

    for action, said in discord.items():
        assert said == wording.BUTTONS[action], action
    for action, said in slack.items():
        assert said == own.get(action, wording.BUTTONS[action]), action
    apart = {"share", "show_sources", "start_deep", "not_now"}
    left_out = discord.keys() - slack.keys() - apart
    assert not slack.keys() - discord.keys() - apart
    assert left_out <= SAID_INSTEAD.keys()
    if left_out:  # nothing is left out of a menu that has room
        assert in_the_menu(message) == MENU_HOLDS


@pytest.mark.parametrize("button", SAID_INSTEAD)
def test_what_slacks_menu_has_no_room_for_is_a_word(button: str) -> None:
    """The same deed, said under the answer."""
    said = Utterance(SAID_INSTEAD[button], samples.COMPLETED.request.asker)

    heard = hear(said, samples.COMPLETED, None)

    assert isinstance(heard, Prove if button == "export" else Watching)


async def test_what_was_found_and_left_out_is_said_wherever_nothing_answers() -> None:
    """D11: on the command line, the page and in both chats the asker sees that pages were found, and why they went."""
    said = "3 of 8 pages were left out, for sharing next to no word with the question: a.example, b.example."
    answer = replace(samples.INSUFFICIENT_RESULT.answer, limitations=(said,))
    job, result = samples.INSUFFICIENT, replace(samples.INSUFFICIENT_RESULT, answer=answer)

    embed = DISCORD.outcome(job, result, samples.SOURCES).embed
    shown = {
        "discord": str(embed.to_dict()),
        "slack": text_of(SLACK.outcome(job, result, samples.SOURCES)),
        "command line": on_paper(job, result),
        "page": await on_page(job, result),
        "file": answer_markdown(job, result, samples.SOURCES),
    }

    assert [place for place, text in shown.items() if said not in " ".join(text.split())] == []


def test_all_buttons_are_in_the_table() -> None:
    """Also those of a deep research under way."""
    card = Snapshot(message="Searching", card=read_card({"items": []}))

    slack = slack_buttons(SLACK.progress(samples.RUNNING, card, 1.0))
    named = PRESSES - {SHARED_SOURCES, SHARE_HERE}

    assert named | LINKS == wording.BUTTONS.keys()
    assert {action: wording.BUTTONS[action] for action in slack} == slack
    assert "cancel" in slack


async def test_the_page_has_the_same_words_on_its_buttons() -> None:
    complete, failed, running = [
        await on_page(job, result)
        for job, result in (
            (samples.COMPLETED, CACHED),
            (samples.FAILED, None),
            (replace(samples.RUNNING, id=samples.COMPLETED.id), None),
        )
    ]

    said = {words: set(re.findall(r"<button[^>]*>([^<]+)</button>", words)) for words in (complete, failed, running)}

    assert {wording.ASK_AGAIN, wording.REFRESH} <= said[complete]
    assert wording.RETRY in said[failed]
    assert wording.CANCEL in said[running]


async def test_marks_confidence_and_headings_are_the_same_everywhere() -> None:
    """The verdict's mark behind its citation, the confidence in the same words, each part under the same name."""
    job, result = samples.COMPLETED, samples.RESULT
    assert result.answer
    shown = {
        "slack": text_of(SLACK.outcome(job, result, samples.SOURCES)),
        "discord": str(DISCORD.outcome(job, result, samples.SOURCES).embed.to_dict()),
        "page": await on_page(job, result),
        "paper": on_paper(job, result),
    }
    confidence = {name: wording.confidence_headline(result.answer) for name in shown} | {
        "paper": wording.confidence_sentence(result.answer),
        "slack": f"Medium: {result.answer.confidence_reasons[0]}",
    }

    for name, text in shown.items():
        for verdict in (Verdict.SUPPORTED, Verdict.PARTIAL):
            assert MARKS[verdict] in text, (name, verdict)
        assert confidence[name] in text, name
        for heading in (wording.CONFIDENCE, wording.LIMITATIONS, wording.CONFLICTS):
            assert heading in text, (name, heading)


async def test_an_earlier_answer_says_so_above_the_answer() -> None:
    """Who reads the answer first would take it for new."""
    job = samples.COMPLETED
    said = wording.earlier_answer(job, CACHED)
    slack, discord = SLACK.outcome(job, CACHED, samples.SOURCES), DISCORD.outcome(job, CACHED, samples.SOURCES)

    _, _, page = (await on_page(job, CACHED)).partition("</h1>")
    shown = [text_of(slack), str(discord.embed.description), page, on_paper(job, CACHED)]

    assert said
    for text in shown:
        assert 0 < text.find(said) < text.find("49 metres")


@pytest.mark.parametrize(
    "error",
    [
        InvalidQuery("Please ask a question.", rule="empty"),
        QueueFull("full"),
        SearchFailed({"tavily": "timeout"}),
        StoreError("gone"),
        JobNotFound("job_1"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_is_the_same_sentence_everywhere(error: GorkdError, capsys: pytest.CaptureFixture[str]) -> None:
    """By its code: what the chats refuse with is what the API says; the command line also says what to look at."""
    from adapters.cli.running import report

    async with TestClient(TestServer(web_app(ScriptedResearcher(refusal=error)))) as client:
        answer = await client.post("/v1/research", json={"query": "Why?"})
        envelope = (await answer.json())["error"]
    report(error, as_json=False)
    printed = " ".join(capsys.readouterr().err.split())
    slack, discord = SLACK.refusal(error.user_message), DISCORD.refusal(error.user_message)

    assert envelope["code"] == error.code
    assert envelope["message"] == error.user_message
    assert error.operator_message in printed
    assert error.user_message in slack.text
    assert error.user_message in discord.text.replace("\\", "")


def test_every_option_can_be_given_everywhere() -> None:
    """Mode, depth, results, rounds, context, private, fresh; at one's own command line everything is private."""
    names = {option.name for option in ASKED}
    bot = ResearchBot(samples.chat_deps(), DiscordSettings(token="t"))
    command = bot.tree.get_command("research")
    texts = {"mode": "deep", "depth": "deep", "top_k": "3", "max_iterations": "3", "context": "x"}
    said = " ".join(f"{name}:{texts.get(name, 'yes')}" for name in names)
    app = build_app(lambda: None, lambda name: None, {"all": "Everything."})  # type: ignore[arg-type,return-value]
    asking: Any = get_command(app)

    asked = read_options(f"Why? {said}", LOCAL, LOCAL)

    assert names <= {option.name for option in command.parameters}  # type: ignore[union-attr]
    assert asked.query == "Why?"
    assert (asked.modes, asked.depth, asked.top_k, asked.max_iterations) == (("deep",), "deep", 3, 3)
    assert (asked.context, asked.is_private, asked.is_fresh) == ("x", True, True)
    assert names <= QuestionBody.model_fields.keys()
    assert names - {"private"} <= {option.name for option in asking.commands["ask"].params}


def test_help_says_the_same_on_both_chats() -> None:
    """Apart from what is typed there; and it fits where nothing may be embedded."""
    from adapters.chat.discord.render import help_text

    slack, discord = str(help_blocks()), help_text()

    assert [what for what, _ in help_entries(ON_SLACK)] == [what for what, _ in help_entries(ON_DISCORD)]
    for what, words in help_entries(ON_SLACK):
        assert f"*{what}* {words}" in slack.replace("\\'", "'")
    for what, words in help_entries(ON_DISCORD):
        assert f"**{what}** {words}" in discord
    assert len(discord) <= CONTENT_LIMIT
    assert all(len(block["text"]["text"]) <= SECTION_LIMIT for block in help_blocks())  # type: ignore[index,call-overload]


def test_statuses_are_told_by_one_table() -> None:
    """Nothing ends without a word."""
    assert wording.STATUS_MESSAGES.keys() == set(JobStatus)
    assert wording.MARK_MEANINGS.keys() == set(Verdict)


async def test_an_earlier_answer_is_given_again_only_where_all_is_said_in_one_language() -> None:
    """N-28: its limitations are those of who asked first."""
    deps = make_deps(search=[cats.cat_search(url=cats.TRUSTED)])

    german, french, again = [cats.final(await cats.research(deps, language=one)) for one in ("de", "fr", "de")]

    assert [one["metadata"]["cached"] for one in (german, french, again)] == [False, False, True]
    assert german["answer"]["limitations"] == again["answer"]["limitations"] != french["answer"]["limitations"]
