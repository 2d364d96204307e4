"""Discord: the embed, its limits, and what a question there means."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from urllib.parse import urlsplit

import discord
import pytest
from hypothesis import HealthCheck, given, settings

from adapters.chat.discord.bot import DiscordReply, DiscordSettings, ResearchBot
from adapters.chat.discord.buttons import ShowSources, view_of
from adapters.chat.discord.render import DiscordMessage, DiscordVoice, plain, sources_text
from adapters.chat.discord.translate import Place, is_open, question_of
from adapters.chat.fitting import units
from core.answer import Confidence, RemovedSentence
from core.errors import SetupError
from core.job import Scope
from core.snapshot import Snapshot
from tests.golden import samples
from tests.golden.compare import assert_golden
from tests.golden.samples import ScriptedResearcher
from tests.golden.strategies import outcomes, texts
from tests.shared_data import shared_data

VOICE = DiscordVoice(samples.LINKS)
JOB = samples.COMPLETED.id
PAGE = f"https://gorkd.test/jobs/{JOB}"

# What Discord would make a ping, a channel, command, emoji, timestamp or invite of (its message formatting reference).
ACTIVE = re.compile(
    r"@(?:everyone|here)|(?<!\\)<(?:@[!&]?|#|/[^:<>]+:|a?:\w+:|t:|id:)[\w-]+[^\\]?>|discord(?:app)?\.(?:gg|com/invite)",
    re.I,
)
MASKED = re.compile(r"(?<!\\)\]\((?P<address>[^)]*)\)")
BARE = re.compile(r"https?://\S+")


def text_of(message: DiscordMessage) -> str:
    return message.embed.description or ""


def assert_within_limits(embed: discord.Embed) -> None:
    """Discord's embed limits: title 256, description 4096 and not blank, footer 2048, 6000 in all."""
    shown = embed.to_dict()
    title, description = shown.get("title", ""), shown.get("description", "")
    footer = shown.get("footer", {}).get("text", "")
    assert units(title) <= 256
    assert 0 < units(description.strip()) <= units(description) <= 4096
    assert units(footer) <= 2048
    assert units(title + description + footer) <= 6000
    assert not re.search("[\ud800-\udfff]", title + description + footer)


def assert_harmless(text: str) -> None:
    """No ping, and links only to the page and to hosts named by their label."""
    assert not ACTIVE.search(text)
    for link in re.finditer(r"(?<!\\)\[(?P<label>[^\]]*)\]\((?P<address>[^)]*)\)", text):
        host = (urlsplit(link["address"]).hostname or "").removeprefix("www.")
        assert link["label"].replace("\\", "") in (host, "View Full Analysis")
    assert len(MASKED.findall(text)) == len(re.findall(r"(?<!\\)\[[^\]]*\]\(", text))
    assert not BARE.search(MASKED.sub("", text))


def test_embed_reads_as_the_documents_show_it():
    """S003-20: title, question, answer, confidence, numbered sources `N. Domain - Title`, the link."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    assert message.embed.title == "📊 Research Complete"
    text = text_of(message)
    parts = [
        f"**Question**: {samples.QUESTION}",
        "**Answer**: The Eddystone lighthouse is 49 metres tall [1]✓[2]◐.",
        "**Confidence**: High (3 corroborating sources)",
        "**Sources**:\n1. [trinity.example](https://trinity.example/eddystone) - Eddystone Lighthouse\n2. ",
        f"[View Full Analysis]({PAGE})",
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places
    assert places == sorted(places)
    assert message.embed.footer.text == "12.3 s · 4 sources · $0.004"


@pytest.mark.parametrize(
    ("level", "colour"),
    [
        (Confidence.HIGH, "#2ecc71"),
        (Confidence.MEDIUM, "#f1c40f"),
        (Confidence.LOW, "#e67e22"),
        (Confidence.INSUFFICIENT, "#e74c3c"),
    ],
)
def test_colour_tells_the_confidence(level: Confidence, colour: str):
    """G-02."""
    result = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence=level))

    assert str(VOICE.outcome(samples.COMPLETED, result, samples.SOURCES).embed.colour) == colour


def test_long_answer_ends_at_a_sentence_with_the_link():
    """G-02: truncated with a link to the whole."""
    answer = replace(samples.ANSWER, summary="The tower is tall [1]. " * 400, claims=())

    text = text_of(VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES))

    assert f"The tower is tall [1]. … [View Full Analysis]({PAGE})\n\n**Confidence**" in text
    assert 3500 < units(text) <= 4096


def test_endings_are_told_apart():
    """D11: failed is not insufficient, and each says what it is."""
    failed = VOICE.outcome(samples.FAILED, None, samples.SOURCES)
    insufficient = VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])

    assert failed.embed.title == "⚠️ Research Failed"
    assert "The language model did not answer; please retry." in text_of(failed)
    assert failed.sources_job == "job_failed"
    assert insufficient.embed.title == "🔎 Not Enough Sources"
    assert "wikipedia: connection refused" in text_of(insufficient)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(outcomes())
def test_any_outcome_is_accepted_and_harmless(outcome):
    """Whatever the answer, Discord accepts the embed, and it pings nobody and hides no link."""
    message = VOICE.outcome(*outcome)

    assert_within_limits(message.embed)
    assert_harmless(text_of(message))


@given(texts)
def test_any_refusal_and_progress_is_accepted(text: str):
    refusal = VOICE.refusal(text)
    progress = VOICE.progress(Snapshot(message=text, sources=(text,) * 9), 3.0)

    for message in (refusal, progress):
        assert_within_limits(message.embed)
        assert_harmless(text_of(message))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(outcomes())
def test_any_list_of_sources_fits_a_message(outcome):
    _, result, sources = outcome

    text = sources_text(sources, result.answer if result else None)

    assert 0 < units(text) <= 2000
    assert_harmless(text)


def test_known_mention_and_link_tricks_stay_text():
    """The collected samples in question, answer, title and limitation."""
    lines = shared_data("hostile_sample", "mention_link_cases.jsonl").read_text("utf-8").splitlines()
    payloads = [json.loads(line)["payload"] for line in lines]

    for payload in payloads:
        job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, query=payload))
        answer = replace(
            samples.ANSWER, summary=payload, limitations=(payload,), removed=(RemovedSentence(payload, ""),)
        )
        sources = [samples.source(1, url=payload, title=payload, domain="a.test")]
        message = VOICE.outcome(job, replace(samples.RESULT, answer=answer), sources)
        assert_within_limits(message.embed)
        assert_harmless(text_of(message))
    assert len(payloads) > 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a*b_c", "a\\*b\\_c"),
        ("@everyone", "@\u200beveryone"),
        ("<@1>", "\\<@\u200b1\\>"),
        ("[x](https://e.test)", "\\[x\\](https:\u200b//e.test)"),
        ("# title", "\\# title"),
    ],
)
def test_plain_text_is_shown_literally(text: str, shown: str):
    assert plain(text, 100) == shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("discord_complete.json", VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)),
        ("discord_insufficient.json", VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])),
        ("discord_failed.json", VOICE.outcome(samples.FAILED, None, samples.SOURCES)),
    ],
    ids=["complete", "insufficient", "failed"],
)
def test_golden_embeds(name: str, message: DiscordMessage):
    shown = json.dumps(message.embed.to_dict(), ensure_ascii=False, indent=2, sort_keys=True)

    assert_golden(name, shown + "\n")


@pytest.mark.parametrize(
    ("place", "scope"),
    [
        pytest.param(Place(7, 2, 1, is_open=True), Scope("discord:1", "workspace"), id="open channel"),
        pytest.param(Place(7, 2, 1), Scope("discord:1", "channel:2"), id="unknown or closed channel"),
        pytest.param(Place(7, 2, is_direct=True), Scope("discord:user:7", "user:7"), id="direct message"),
        pytest.param(Place(7, 2), Scope("discord:user:7", "channel:2"), id="user install elsewhere"),
        pytest.param(Place(7, 2, is_open=True), Scope("discord:user:7", "channel:2"), id="open, but not our guild"),
    ],
)
def test_scope_of_a_place(place: Place, scope: Scope):
    """Nothing private leaks: unknown means the channel."""
    assert place.scope == scope


@pytest.mark.parametrize(
    ("overwrites", "kind", "expected"),
    [
        pytest.param([], 0, True, id="open"),
        pytest.param([{"id": "1", "type": 0, "allow": "0", "deny": "1024"}], 0, False, id="hidden from everyone"),
        pytest.param([{"id": "1", "type": 0, "allow": "0", "deny": "1024"}], 2, False, id="hidden voice channel"),
    ],
)
async def test_open_means_that_everyone_may_view(overwrites: list[dict[str, object]], kind: int, expected: bool):
    bot = ResearchBot(ScriptedResearcher(), samples.LINKS)  # type: ignore[arg-type]
    everyone = {"id": "1", "name": "@everyone", "permissions": "1024", "position": 0, "color": 0, "hoist": False}
    everyone |= {"managed": False, "mentionable": False, "flags": 0, "colors": {"primary_color": 0}}
    channel = {"id": "2", "type": kind, "name": "general", "position": 0, "permission_overwrites": overwrites}
    channel |= {"bitrate": 64000, "user_limit": 0}
    guild = discord.Guild(
        data={"id": "1", "name": "g", "roles": [everyone], "channels": [channel]}, state=bot._connection
    )

    assert is_open(guild.get_channel(2)) is expected
    await bot.close()


@pytest.mark.parametrize("channel", [None, object(), discord.Object(5)], ids=["none", "other", "partial"])
def test_unknown_channel_is_not_open(channel: object):
    assert is_open(channel) is False


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("<@42> How tall?", "How tall?"),
        ("<@!42>  How <@7>?", "How <@7>?"),
        ("How tall?<@42>", "How tall?"),
        ("<@42>", ""),
        ("<@420> hi", "<@420> hi"),
    ],
)
def test_question_is_what_was_said_besides_the_mention(content: str, question: str):
    assert question_of(content, 42) == question


async def test_buttons_link_the_page_and_carry_the_job():
    """G-02: `show_sources:{job_id}` within 100 characters; nothing to press, no view."""
    view = view_of(VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES))

    assert view is not None
    link, sources = view.to_components()[0]["components"]
    assert (link["label"], link["url"]) == ("View Full Analysis", PAGE)
    assert (sources["label"], sources["custom_id"]) == ("Show Sources", f"show_sources:{JOB}")
    assert len(sources["custom_id"]) <= 100
    assert view_of(VOICE.refusal("no")) is None


async def test_show_sources_button_is_rebuilt_from_its_id():
    match = ShowSources.__discord_ui_compiled_template__.fullmatch(f"show_sources:{JOB}")

    assert match is not None
    assert (await ShowSources.from_custom_id(None, None, match)).job_id == JOB


async def test_command_is_declared_for_every_place_and_pings_nobody():
    """C-05: `/research query:` in guilds, direct messages and user installs; no privileged intent."""
    bot = ResearchBot(ScriptedResearcher(), samples.LINKS)  # type: ignore[arg-type]

    (command,) = [command.to_dict(bot.tree) for command in bot.tree.get_commands()]

    assert command["name"] == "research"
    assert [(option["name"], option["required"]) for option in command["options"]] == [("query", True)]
    assert sorted(command["integration_types"]) == [0, 1]
    assert sorted(command["contexts"]) == [0, 1, 2]
    assert not bot.intents.message_content
    assert bot.allowed_mentions is not None
    assert bot.allowed_mentions.to_dict() == {"parse": []}
    await bot.close()


async def test_question_is_asked_in_its_scope_and_answered_in_its_message():
    """C-05: from a place to a request, from a job to an edit."""
    researcher, edits = ScriptedResearcher(), []

    class Message:
        async def edit(self, *, embed: discord.Embed, view: discord.ui.View | None) -> None:
            edits.append((embed, view))

    bot = ResearchBot(researcher, samples.LINKS)  # type: ignore[arg-type]

    await bot.answer(DiscordReply(Message()), "How tall?", Place(7, 2, 1), 99)

    request = researcher.requests[0]
    assert (request.query, request.scope, request.asker) == ("How tall?", Scope("discord:1", "channel:2"), "7")
    assert researcher.dedupe_keys == ["discord:99"]
    assert edits[-1][0].title == "📊 Research Complete"
    await bot.close()


async def test_sources_are_shown_only_where_the_question_was_asked():
    asked = replace(
        samples.COMPLETED, request=replace(samples.COMPLETED.request, scope=Scope("discord:1", "channel:2"))
    )
    bot = ResearchBot(ScriptedResearcher(asked), samples.LINKS)  # type: ignore[arg-type]

    here, elsewhere = await bot.sources(JOB, Place(7, 2, 1)), await bot.sources(JOB, Place(7, 3, 1))

    assert "1. [trinity.example](https://trinity.example/eddystone) - Eddystone Lighthouse · 80 %" in here
    assert "4. [shop.example](https://shop.example/mugs) - Lighthouse mugs · 50 % · not cited" in here
    assert elsewhere == await bot.sources("job_unknown", Place(7, 2, 1))
    await bot.close()


def test_settings_name_what_is_missing_and_hide_what_is_secret():
    assert "abc" not in repr(DiscordSettings.from_env({"DISCORD_TOKEN": "abc"}))
    with pytest.raises(SetupError, match="DISCORD_TOKEN"):
        DiscordSettings.from_env({})
