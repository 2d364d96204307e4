"""The app's manifest: Slack takes it, it grants what the app uses, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from adapters.chat.slack import events, oauth, settings
from tests.loopback.slack_spec import method_scopes
from tests.shared_data import ROOT, shared_spec

MANIFEST: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))
SCOPES: set[str] = set(MANIFEST["oauth_config"]["scopes"]["bot"])

# What an event needs (docs.slack.dev, events); what a method needs stands in Slack's own description of it.
EVENT_SCOPES = {
    "agent_session_stopped": "assistant:write",
    "app_mention": "app_mentions:read",
    "assistant_thread_started": "assistant:write",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
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
    "assistant.threads.setTitle",
)


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
