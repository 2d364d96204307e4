"""The app's manifest: Slack takes it, it grants what the app uses, and nothing else (N-12)."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml
from slack_sdk.errors import SlackApiError

from adapters.chat.slack import bot as events
from adapters.chat.slack import installations as oauth
from adapters.chat.slack import poster as stream
from adapters.chat.slack import settings
from adapters.chat.slack.client import reason, web_client
from tests.loopback.slack_spec import manifest_faults, method_scopes
from tests.loopback.slack_state import CONFIG_TOKEN
from tests.loopback.slack_world import SlackWorld
from tests.shared_data import ROOT, shared_spec

MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))
SCOPES: set[str] = set(MANIFEST["oauth_config"]["scopes"]["bot"])

# What an event needs (docs.slack.dev, events); what a method needs stands in Slack's own description of it.
EVENT_SCOPES = {
    "agent_session_stopped": "assistant:write",
    "app_mention": "app_mentions:read",
    "app_context_changed": "assistant:write",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "channel_archive": "channels:read",
    "channel_deleted": "channels:read",
    "channel_left": "channels:read",
    "member_left_channel": "channels:read",
    "user_change": "users:read",
}
NEEDS_NONE = {"app_home_opened", "app_uninstalled", "tokens_revoked"}
METHODS = (
    "chat.postMessage",
    "chat.startStream",
    "conversations.info",
    "conversations.open",
    "files.info",
    "files.completeUploadExternal",
    "users.info",
    "assistant.threads.setSuggestedPrompts",
    "reactions.add",
)
BEFORE = {"assistant_view": {"assistant_description": "Answers."}}
AGENT = {"agent_view": MANIFEST["features"]["agent_view"]}


def test_slack_takes_the_manifest():
    """G-03: valid by Slack's own schema, in Socket Mode and as docs/slack.md changes it for HTTP."""
    schema = json.loads(shared_spec("slack", "manifest.v2.json").read_text("utf-8"))
    over_http = json.loads(json.dumps(MANIFEST))
    address = f"https://gorkd.example.org{events.PATH}"
    over_http["settings"]["socket_mode_enabled"] = False
    over_http["settings"]["event_subscriptions"]["request_url"] = address
    over_http["settings"]["interactivity"]["request_url"] = address
    over_http["settings"]["interactivity"]["message_menu_options_url"] = address
    for command in over_http["features"]["slash_commands"]:
        command["url"] = address

    for manifest in (MANIFEST, over_http):
        jsonschema.validate(manifest, schema)


async def test_a_new_app_is_made_from_the_manifest_and_has_all_that_it_names():
    """By Slack's own client; what the app may then do is what the manifest asks for."""
    async with SlackWorld.open() as slack:
        client = web_client(CONFIG_TOKEN, api_url=f"{slack.url}/api/")
        made = await client.apps_manifest_create(manifest=json.dumps(MANIFEST))

        assert made["app_id"]
        assert slack.state.is_agent
        assert slack.state.scopes == SCOPES


def without(feature: str) -> dict[str, Any]:
    return {name: value for name, value in MANIFEST["features"].items() if name != feature}


REFUSED = {
    "the view of before": (without("agent_view") | BEFORE, {}, "assistant_view"),
    "its events": (MANIFEST["features"], {"bot_events": ["assistant_thread_started"]}, "assistant_thread_started"),
    "no messages tab": (without("app_home"), {}, "messages tab"),
    "deaf": (MANIFEST["features"], {"bot_events": ["app_mention"]}, "needs message.im"),
    "wordy": (MANIFEST["features"] | {"agent_view": {"agent_description": "x" * 301}}, {}, "300 characters"),
    "too eager": (
        MANIFEST["features"]
        | {"agent_view": AGENT["agent_view"] | {"suggested_prompts": [{"title": "a", "message": "b"}] * 5}},
        {},
        "at most 4",
    ),
}


@pytest.mark.parametrize(("features", "subscribed", "why"), REFUSED.values(), ids=REFUSED)
async def test_slack_makes_no_new_app_from_another_manifest(
    features: dict[str, Any], subscribed: dict[str, Any], why: str
):
    """Since the agent view; an app made before goes on."""
    events_ = MANIFEST["settings"]["event_subscriptions"] | subscribed
    manifest = MANIFEST | {"features": features, "settings": MANIFEST["settings"] | {"event_subscriptions": events_}}
    async with SlackWorld.open() as slack:
        client = web_client(CONFIG_TOKEN, api_url=f"{slack.url}/api/")

        with pytest.raises(SlackApiError) as refused:
            await client.apps_manifest_create(manifest=json.dumps(manifest))

    assert reason(refused.value) == "invalid_manifest"
    assert any(why in fault for fault in manifest_faults(manifest))


def test_the_questions_to_begin_with_are_the_same_in_the_manifest():
    """They stand there before the app has said anything, and are set again whenever somebody looks."""
    prompts = MANIFEST["features"]["agent_view"]["suggested_prompts"]

    assert prompts == [{"title": prompt, "message": prompt} for prompt in stream.PROMPTS]


def test_every_event_has_its_scope():
    events_ = set(MANIFEST["settings"]["event_subscriptions"]["bot_events"])

    assert {EVENT_SCOPES[event] for event in events_ - NEEDS_NONE} <= SCOPES


def test_whoever_installs_the_app_by_themselves_is_asked_for_the_same():
    """G-03: the scopes of `/slack/install` are the manifest's, and its way back is allowed there."""
    (back,) = MANIFEST["oauth_config"]["redirect_urls"]

    assert set(settings.SCOPES) == SCOPES
    assert back.endswith(oauth.REDIRECT)
    assert MANIFEST["settings"]["org_deploy_enabled"] is False
    assert set(MANIFEST["settings"]["event_subscriptions"]["bot_events"]) >= NEEDS_NONE
    assert MANIFEST["features"]["app_home"]["home_tab_enabled"] is True


def test_no_scope_is_asked_for_without_a_use():
    """Least scopes: each belongs to an event, a command, or a method the app calls."""
    used = {"commands", *EVENT_SCOPES.values()}
    for method in METHODS:
        needed = method_scopes(method)
        if not needed:
            pytest.skip("no description of Slack's methods (set GORKD_TEST_DATA)")
        used |= needed & SCOPES

    assert SCOPES - used == set()


def test_shortcut_and_command_are_those_that_are_listened_to():
    features = MANIFEST["features"]

    assert [command["command"] for command in features["slash_commands"]] == ["/research", "/section", "/library"]
    assert [shortcut["callback_id"] for shortcut in features["shortcuts"]] == ["research_this"]
    assert len(MANIFEST["display_information"]["long_description"]) >= 174
