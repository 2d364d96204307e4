"""Slack's SDK with our rules: what is tried again, which requests are Slack's, and a connection that is watched."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_sdk.errors import SlackApiError

from adapters.chat.slack.blocks import sentence_message
from adapters.chat.slack.bot import Signatures, keep_connected, open_app
from adapters.chat.slack.client import OneWorkspace, web_client
from adapters.chat.slack.poster import Mark, ThreadAddress, conversation_of, find, post
from adapters.chat.slack.reply import SlackAddress, SlackReply
from adapters.chat.slack.settings import SlackSettings
from tests.golden import samples
from tests.loopback.slack_api import Fault
from tests.loopback.slack_delivery import deliver, sign
from tests.loopback.slack_state import ADA, APP_TOKEN, BOT_TOKEN, ELSEWHERE, GENERAL
from tests.loopback.slack_world import SlackWorld

SECRET, NOW = "8f742231b10e8888abcd99yyyzzz85a5", 1_800_000_000
SPOT, MARK = ThreadAddress(GENERAL), Mark("C1:1.2", "answer", "slack:C1:1.2")


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        pytest.param({}, "", id="Slack's own"),
        pytest.param({"stamp": str(NOW - 299)}, "", id="within the window"),
        pytest.param({"stamp": str(NOW - 301)}, "stale", id="old"),
        pytest.param({"stamp": str(NOW + 301)}, "stale", id="from the future"),
        pytest.param({"secret": "other"}, "forged", id="another secret"),
        pytest.param({"stamp": ""}, "unsigned", id="no time"),
        pytest.param({"stamp": "1e9"}, "unsigned", id="no number"),
        pytest.param({"stamp": "٣"}, "unsigned", id="digits of another script"),
    ],
)
def test_signature_is_judged(changes: dict[str, str], refusal: str):
    """Made with the secret, over this body, within five minutes."""
    stamp = changes.get("stamp", str(NOW))
    signature = sign(changes.get("secret", SECRET), stamp, "{}")

    assert Signatures(SECRET, lambda: float(NOW)).refusal(stamp, signature, b"{}") == refusal


@given(st.binary(max_size=50), st.text(max_size=80), st.text(max_size=20))
def test_whatever_is_not_signed_is_refused(body: bytes, signature: str, stamp: str):
    assert Signatures(SECRET, lambda: float(NOW)).refusal(stamp, signature, body) in {"unsigned", "forged"}


@pytest.mark.parametrize("fault", [Fault("lost"), Fault("broken"), Fault("down", times=2)], ids=lambda one: one.kind)
async def test_post_is_made_once_whatever_becomes_of_its_reply(fault: Fault):
    async with SlackWorld.open() as slack:
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")
        slack.api.faults["chat.postMessage"] = fault

        ts = await post(client, SPOT, sentence_message("Hello"), MARK)

        assert [one.ts for one in slack.state.of_bot(GENERAL)] == [ts]
        assert await conversation_of(client, GENERAL, ts) == MARK.conversation
        assert await find(client, SPOT, Mark(MARK.key, "sources")) == ""


async def test_refused_post_is_not_tried_again():
    async with SlackWorld.open() as slack:
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")

        with pytest.raises(SlackApiError, match="channel_not_found"):
            await post(client, ThreadAddress(ELSEWHERE), sentence_message("Hello"), MARK)

        assert [call.method for call in slack.api.calls] == ["chat.postMessage"]


async def test_wait_is_the_whole_number_that_slack_names():
    """The SDK's own handler reads "12" as 1."""
    async with SlackWorld.open() as slack:
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")
        slack.api.faults["chat.postMessage"] = Fault("limited", retry_after_s=61)  # longer than we wait

        with pytest.raises(SlackApiError, match="ratelimited"):
            await post(client, SPOT, sentence_message("Hello"), MARK)

        assert len(slack.api.calls) == 1


async def test_token_is_asked_about_once():
    async with SlackWorld.open() as slack:
        workspaces = OneWorkspace(web_client(BOT_TOKEN, api_url=f"{slack.url}/api/"))

        found = [await workspaces.find(team) for team in ("T1", "T9GUEST")]

        assert {(one.team_id, one.bot_user_id) for one in found} == {("T1", "UBOT")}
        assert len(slack.api.named("auth.test")) == 1


@pytest.mark.parametrize("fault", ["internal_error", "ratelimited", "down"])
async def test_what_comes_before_slack_says_whose_token_it_is_is_not_acknowledged(fault: str):
    """Slack keeps it and sends it again, then."""
    async with SlackWorld.open() as slack:
        settings = SlackSettings(BOT_TOKEN, signing_secret=SECRET, api_url=f"{slack.url}/api/")
        slack.api.faults["auth.test"] = Fault(fault, times=9)
        left = slack.event("channel_archive", slack.state.says(ADA, GENERAL, ""))

        async with open_app(samples.chat_deps(), settings) as (app, _):
            told = await app.async_dispatch(AsyncBoltRequest(body=left, mode="socket_mode"))

        assert told.status == 500
        assert {call.method for call in slack.api.calls} == {"auth.test"}


async def test_asker_is_mentioned_once_after_a_long_job():
    """An edit notifies nobody; who is told twice, or after a restart, is told once all the same."""
    async with SlackWorld.open() as slack:
        workspace = await OneWorkspace(web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")).find("T1")
        answer = slack.state.says("UBOT", GENERAL, "Research Complete")
        at = SlackAddress("T1", ADA, "C1:1.2", GENERAL, ts=answer.ts)
        reply, resumed = (
            SlackReply(workspace, at),
            SlackReply(workspace, at, is_doubtful=True),
        )

        for told in (reply, reply, resumed):
            await told.ping(ADA, "job_1")

        said = slack.state.of_bot(GENERAL, answer.ts)
        assert [one.text for one in said] == [f"<@{ADA}> your answer is ready."]


async def test_connection_that_never_comes_up_is_built_anew():
    """After a failed handshake the SDK tries the same dead address for ever."""
    async with SlackWorld.open() as slack:
        app = AsyncApp(client=web_client(BOT_TOKEN, api_url=f"{slack.url}/api/"), request_verification_enabled=False)
        app.event("app_mention")(_nothing)
        slack.socket.stuck_handshakes = 1
        keeping = asyncio.create_task(keep_connected(app, APP_TOKEN, patience_s=0.6))

        await asyncio.wait_for(slack.socket.connected.wait(), 10)
        said = slack.state.says(ADA, GENERAL, "<@UBOT> Hello")
        ack = await deliver(slack.socket, "event", slack.event("app_mention", said))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)

        assert slack.socket.opened == 2
        assert ack.attempts == 1


async def _nothing() -> None: ...
