"""Slack: the blocks, their limits, and the app against a loopback Slack through the real SDK."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import HealthCheck, given, settings
from slack_bolt.request.async_request import AsyncBoltRequest

from adapters.chat.fitting import units
from adapters.chat.slack.bot import SlackSettings, build_app, web_client
from adapters.chat.slack.render import SlackMessage, SlackVoice, plain, sources_message
from adapters.chat.slack.translate import Place, is_open_channel, question_of
from core.answer import RemovedSentence
from core.errors import InvalidQuery, SetupError
from core.job import Scope
from core.snapshot import Snapshot
from tests.golden import samples
from tests.golden.compare import assert_golden
from tests.golden.samples import ScriptedResearcher
from tests.golden.strategies import outcomes, texts
from tests.shared_data import shared_data

VOICE = SlackVoice(samples.LINKS)
PAGE = f"https://gorkd.test/jobs/{samples.COMPLETED.id}"
LINK = re.compile(r"<(?P<address>https?://[^|<>]+)\|(?P<label>[^<>|]+)>")


def strings_of(message: SlackMessage) -> list[tuple[str, str]]:
    """(kind, text) of every text object, and the fallback."""
    found = [("fallback", message.text)]
    for block in message.blocks:
        parts = [block["text"]] if "text" in block else block.get("elements", [])
        found += [(f"{block['type']} {part['type']}", part["text"]) for part in parts if part["type"] != "button"]
    return found


def assert_within_limits(message: SlackMessage) -> None:
    """Block Kit's limits: 50 blocks, header 150, section 3000 and never blank, button URL 3000; text 4000."""
    assert 1 <= len(message.blocks) <= 50
    assert 0 < len(message.text) <= 4000
    limits = {"header plain_text": 150, "section mrkdwn": 3000, "context mrkdwn": 3000, "fallback": 4000}
    for kind, text in strings_of(message):
        assert 0 < units(text.strip()) <= units(text) <= limits[kind]
        assert not re.search("[\ud800-\udfff]", text)
    for block in message.blocks:
        assert len(block.get("elements", [])) <= (25 if block["type"] == "actions" else 10)
        for part in [block.get("text"), *block.get("elements", [])]:
            assert not part or part["type"] != "mrkdwn" or part["verbatim"] is True


def assert_harmless(message: SlackMessage) -> None:
    """No `<…>` but links whose label is the address's own host; no half entity."""
    for _, text in strings_of(message):
        for link in LINK.finditer(text):
            host = urlsplit(link["address"]).hostname or ""
            assert link["label"] == host.removeprefix("www.")
        assert not set("<>") & set(LINK.sub("", text.replace("\n> ", "\n")))
        assert not re.search(r"&(?!(?:amp|lt|gt);)", text)


def test_blocks_show_the_answer_and_the_page():
    """S003-21, G-03: header, question, answer with marks, confidence, button, footer."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    shown = "\n".join(text for _, text in strings_of(message))
    for part in [
        "📊 Research Complete",
        f"*Question*: {samples.QUESTION}",
        "*Answer*: The Eddystone lighthouse is 49 metres tall [1]✓[2]◐.",
        "*Confidence*: High (3 corroborating sources)",
        "*Limitations*: newest source is from May 2024",
        "*Sources disagree on*: height of the tower",
        "12.3 s · 4 sources · $0.004",
    ]:
        assert part in shown
    assert [block["elements"][0]["url"] for block in message.blocks if block["type"] == "actions"] == [PAGE]


def test_sources_are_a_message_of_their_own():
    """S003-21: threaded sources with true domain, date, relevance and quote."""
    message = sources_message(samples.SOURCES, samples.ANSWER)

    assert message is not None
    assert message.blocks[1]["text"]["text"] == (
        "*1.* <https://trinity.example/eddystone|trinity.example> - Eddystone Lighthouse\n"
        "1 May 2024 · relevance 80 %\n"
        "> It is 49 metres tall and built of granite blocks."
    )
    assert len(message.blocks) == 4
    assert sources_message(samples.SOURCES, samples.INSUFFICIENT_RESULT.answer) is None


def test_endings_are_told_apart():
    """D11."""
    failed = VOICE.outcome(samples.FAILED, None, samples.SOURCES)
    insufficient = VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])

    assert failed.text == "Research Failed: The language model did not answer; please retry."
    assert insufficient.blocks[0]["text"]["text"] == "🔎 Not Enough Sources"


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(outcomes())
def test_any_outcome_is_accepted_and_harmless(outcome):
    """Whatever the answer, Slack accepts the blocks, and they mention nobody and hide no link."""
    _, result, sources = outcome
    threaded = sources_message(sources, result.answer if result else None)

    for message in filter(None, [VOICE.outcome(*outcome), threaded]):
        assert_within_limits(message)
        assert_harmless(message)


@given(texts)
def test_any_refusal_and_progress_is_accepted(text: str):
    for message in (VOICE.refusal(text), VOICE.progress(Snapshot(message=text or "x", sources=(text,) * 9), 3.0)):
        assert_within_limits(message)
        assert_harmless(message)


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
        for message in (
            VOICE.outcome(job, replace(samples.RESULT, answer=answer), sources),
            sources_message(sources, answer),
        ):
            assert message is not None
            assert_within_limits(message)
            assert_harmless(message)
    assert len(payloads) > 0


def test_escaping_is_slacks_own():
    assert plain("<!channel> & &lt;@U1&gt;", 100) == "&lt;!channel&gt; &amp; &amp;lt;@U1&amp;gt;"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("slack_complete.json", VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)),
        ("slack_sources.json", sources_message(samples.SOURCES, samples.ANSWER)),
        ("slack_insufficient.json", VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])),
        ("slack_failed.json", VOICE.outcome(samples.FAILED, None, samples.SOURCES)),
    ],
    ids=["complete", "sources", "insufficient", "failed"],
)
def test_golden_blocks(name: str, message: SlackMessage):
    shown = {"text": message.text, "blocks": list(message.blocks)}

    assert_golden(name, json.dumps(shown, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


@pytest.mark.parametrize(
    ("place", "scope"),
    [
        pytest.param(Place("T1", "C2", "U7", is_open=True), Scope("slack:T1", "workspace"), id="open channel"),
        pytest.param(Place("T1", "C2", "U7"), Scope("slack:T1", "channel:C2"), id="unknown or closed channel"),
        pytest.param(Place("T1", "D2", "U7"), Scope("slack:T1", "user:U7"), id="direct message"),
        pytest.param(Place("T1", "D2", "U7", is_open=True), Scope("slack:T1", "user:U7"), id="never open"),
    ],
)
def test_scope_of_a_place(place: Place, scope: Scope):
    """Nothing private leaks: unknown means the channel."""
    assert place.scope == scope


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"is_channel": True, "is_private": False}, True),
        ({"is_channel": True, "is_private": True}, False),
        ({"is_channel": True, "is_ext_shared": True}, False),
        ({"is_channel": True, "is_shared": True}, False),
        ({"is_group": True}, False),
        ({"is_im": True}, False),
        ({}, False),
    ],
    ids=["public", "private", "connect", "shared", "group", "im", "nothing"],
)
def test_open_means_the_whole_workspace_and_nobody_else(described: dict[str, object], expected: bool):
    assert is_open_channel(described) is expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("<@UBOT> How tall?", "How tall?"),
        ("<@UBOT|gorkd> How tall?", "How tall?"),
        ("Is <https://a.test/x|a.test/x> right &amp; true?", "Is https://a.test/x right & true?"),
        ("<@UBOT>", ""),
    ],
)
def test_question_is_what_the_person_typed(text: str, question: str):
    assert question_of(text, "UBOT") == question


@dataclass
class LoopbackSlack:
    """Web API methods over HTTP, with the calls they got. `closed` channels refuse posts."""

    closed: set[str] = field(default_factory=set)
    public: set[str] = field(default_factory=set)
    calls: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    responses: list[str] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_post("/response", self._respond)
        return app

    def named(self, method: str) -> list[dict[str, object]]:
        return [arguments for name, arguments in self.calls if name == method]

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        is_json = request.content_type == "application/json"
        given = await request.json() if is_json else dict(await request.post()) | dict(request.query)
        self.calls.append((method, given))
        if method == "auth.test":
            known = {"user_id": "UBOT", "bot_id": "B1", "team_id": "T1", "url": "https://t.slack.test/"}
            return web.json_response({"ok": True, "team": "t", "user": "gorkd", **known})
        if method == "chat.postMessage" and given["channel"] in self.closed:
            return web.json_response({"ok": False, "error": "not_in_channel"})
        if method == "conversations.info":
            return web.json_response(
                {"ok": True, "channel": {"is_channel": True, "is_private": given["channel"] not in self.public}}
            )
        return web.json_response({"ok": True, "ts": f"100.{len(self.calls)}", "channel": given.get("channel")})

    async def _respond(self, request: web.Request) -> web.Response:
        self.responses.append((await request.json())["text"])
        return web.Response(text="ok")


@dataclass
class Workspace:
    slack: LoopbackSlack
    url: str

    async def sends(self, researcher: ScriptedResearcher, body: dict[str, object]) -> str:
        """Dispatch as Socket Mode does, let the listener finish, and give what was acknowledged."""
        client = web_client("xoxb-1", base_url=f"{self.url}/api/")
        app = build_app(researcher, client, links=samples.LINKS)
        acknowledged = await app.async_dispatch(AsyncBoltRequest(body=body, mode="socket_mode"))
        await asyncio.gather(*(task for task in asyncio.all_tasks() if "run_ack_function" in str(task.get_coro())))
        assert acknowledged.status == 200
        return str(acknowledged.body)


@pytest.fixture
async def workspace() -> AsyncIterator[Workspace]:
    slack = LoopbackSlack()
    async with TestServer(slack.app()) as server:
        yield Workspace(slack, str(server.make_url("")).rstrip("/"))


def event(kind: str, **changes: object) -> dict[str, object]:
    said = {"type": kind, "user": "U7", "text": "<@UBOT> How tall?", "ts": "50.1", "channel": "C2"}
    return {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": said | changes}


def command(url: str, text: str, channel: str = "C2") -> dict[str, object]:
    asked = {"command": "/research", "text": text, "team_id": "T1", "channel_id": channel, "user_id": "U7"}
    return asked | {"trigger_id": "9.9", "response_url": f"{url}/response"}


async def test_mention_is_answered_in_its_thread(workspace: Workspace):
    """G-03, C-05: placeholder in the thread, one message updated to the answer, sources as a reply."""
    researcher = ScriptedResearcher()

    await workspace.sends(researcher, event("app_mention"))

    placeholder, sources = workspace.slack.named("chat.postMessage")
    final = workspace.slack.named("chat.update")[-1]
    assert placeholder["thread_ts"] == sources["thread_ts"] == "50.1"
    assert final["text"].startswith("Research Complete: The Eddystone lighthouse")
    assert final["blocks"][0]["text"]["text"] == "📊 Research Complete"
    assert sources["text"].startswith("Sources: trinity.example")
    assert (placeholder["unfurl_links"], placeholder["unfurl_media"]) == (False, False)
    assert researcher.requests[0].query == "How tall?"
    assert researcher.dedupe_keys == ["slack:T1:C2:50.1"]


async def test_mention_inside_a_thread_stays_there(workspace: Workspace):
    await workspace.sends(ScriptedResearcher(), event("app_mention", thread_ts="40.0"))

    assert {call["thread_ts"] for call in workspace.slack.named("chat.postMessage")} == {"40.0"}


@pytest.mark.parametrize(
    ("channel", "public", "scope"),
    [
        ("C2", {"C2"}, Scope("slack:T1", "workspace")),
        ("C3", {"C2"}, Scope("slack:T1", "channel:C3")),
        ("D4", set(), Scope("slack:T1", "user:U7")),
    ],
    ids=["public", "private", "direct"],
)
async def test_scope_comes_from_the_channel(workspace: Workspace, channel: str, public: set[str], scope: Scope):
    researcher = ScriptedResearcher()
    workspace.slack.public = public

    await workspace.sends(researcher, event("app_mention", channel=channel))

    assert researcher.requests[0].scope == scope


async def test_direct_message_needs_no_mention(workspace: Workspace):
    researcher = ScriptedResearcher()

    await workspace.sends(researcher, event("message", channel="D4", channel_type="im", text="How tall?"))

    assert researcher.requests[0].query == "How tall?"


@pytest.mark.parametrize(
    "changes",
    [
        {"channel_type": "channel"},
        {"channel_type": "im", "bot_id": "B2"},
        {"channel_type": "im", "subtype": "message_changed"},
    ],
    ids=["chatter", "another bot", "an edit"],
)
async def test_other_messages_are_not_questions(workspace: Workspace, changes: dict[str, object]):
    researcher = ScriptedResearcher()

    await workspace.sends(researcher, event("message", **changes))

    assert researcher.requests == []
    assert workspace.slack.named("chat.postMessage") == []


async def test_command_is_acknowledged_then_answered_with_a_thread(workspace: Workspace):
    """C-05: an ephemeral word at once, then a message whose thread has the sources."""
    acknowledged = await workspace.sends(ScriptedResearcher(), command(workspace.url, "How tall?"))

    placeholder, sources = workspace.slack.named("chat.postMessage")
    update = workspace.slack.named("chat.update")[-1]
    assert acknowledged == "On it …"
    assert "thread_ts" not in placeholder
    assert sources["thread_ts"] == update["ts"]


async def test_command_without_a_question_asks_for_one(workspace: Workspace):
    acknowledged = await workspace.sends(ScriptedResearcher(), command(workspace.url, "  "))

    assert acknowledged == "Ask me a question and I will answer it with sources."
    assert workspace.slack.named("chat.postMessage") == []


async def test_channel_without_the_bot_gets_a_word_not_silence(workspace: Workspace):
    """Every path ends in words."""
    researcher = ScriptedResearcher()
    workspace.slack.closed = {"C2"}

    await workspace.sends(researcher, command(workspace.url, "How tall?"))

    assert workspace.slack.responses == ["I cannot post here; invite me to this channel and ask again."]
    assert researcher.requests == []


async def test_refused_question_ends_in_its_sentence(workspace: Workspace):
    refused = ScriptedResearcher(refusal=InvalidQuery("Please ask a question.", rule="empty"))

    await workspace.sends(refused, event("app_mention"))

    assert [call["text"] for call in workspace.slack.named("chat.update")] == ["Please ask a question."]
    assert len(workspace.slack.named("chat.postMessage")) == 1


def test_settings_name_what_is_missing_and_hide_what_is_secret():
    complete = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}

    assert "xoxb-1" not in repr(SlackSettings.from_env(complete))
    with pytest.raises(SetupError, match="SLACK_APP_TOKEN"):
        SlackSettings.from_env(complete | {"SLACK_APP_TOKEN": "xoxb-2"})
