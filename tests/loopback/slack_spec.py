"""Slack's own descriptions of its methods, where the folder of shared data has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.shared_data import SHARED

Json = Any
SENT_BY_SDK = ("token", "team_id")  # with every call
OPTIONAL_SINCE = {("assistant.threads.setSuggestedPrompts", "thread_ts")}  # the agent view; newer than the descriptions


@cache
def _described(method: str) -> dict[str, Json]:
    path = SHARED / "specs" / "slack" / "methods" / f"{method}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def method_scopes(method: str) -> set[str]:
    """Any of these lets a bot call the method, by Slack's own description; empty where that is not at hand."""
    return {scope["name"] for scope in _described(method).get("scopes", {}).get("bot", [])}


def spec_faults(method: str, arguments: Mapping[str, Json]) -> list[str]:
    """What Slack's description of the method does not allow."""
    spec = _described(method).get("args")
    if spec is None:
        return []
    faults = [
        f"{method} has no argument {name!r}" for name in arguments if name not in spec and name not in SENT_BY_SDK
    ]
    faults += [
        f"{method} needs {name!r}"
        for name, described in spec.items()
        if described.get("required")
        and (method, name) not in OPTIONAL_SINCE
        and not arguments.get(name)
        and arguments.get(name) != ""
        and not (name == "markdown_text" and arguments.get("chunks"))  # either will do
    ]
    return faults


AGENT_EVENTS = {"app_home_opened", "message.im"}  # without these an agent hears nothing of its own messages
AGENT_ALONE = {"app_context_changed"}
ASSISTANT_ALONE = {"assistant_thread_started", "assistant_thread_context_changed"}


def manifest_faults(manifest: Mapping[str, Json]) -> list[str]:
    """Why the dialog that makes a new app refuses this manifest (docs.slack.dev, migrating to agent messaging)."""
    features, settings = manifest.get("features") or {}, manifest.get("settings") or {}
    events = set((settings.get("event_subscriptions") or {}).get("bot_events") or ())
    scopes = set(((manifest.get("oauth_config") or {}).get("scopes") or {}).get("bot") or ())
    faults = []
    if "assistant_view" in features:
        faults.append("features.assistant_view: new apps have agent_view")
    faults += [f"{event}: of the assistant_view alone" for event in sorted(events & ASSISTANT_ALONE)]
    agent = features.get("agent_view")
    if agent is None:
        return faults + [f"{event}: of the agent_view alone" for event in sorted(events & AGENT_ALONE)]
    if not 1 <= len(agent.get("agent_description") or "") <= 300:
        faults.append("features.agent_view.agent_description: 1 to 300 characters")
    prompts = agent.get("suggested_prompts") or []
    if len(prompts) > 4 or any(set(prompt) != {"title", "message"} for prompt in prompts):
        faults.append("features.agent_view.suggested_prompts: at most 4, each with title and message")
    home = features.get("app_home") or {}
    if not home.get("messages_tab_enabled") or home.get("messages_tab_read_only_enabled") is not False:
        faults.append("features.app_home: an agent is written to in the messages tab")
    if "assistant:write" not in scopes:
        faults.append("oauth_config.scopes.bot: an agent has assistant:write")
    faults += [f"settings.event_subscriptions: an agent needs {event}" for event in sorted(AGENT_EVENTS - events)]
    if not settings.get("socket_mode_enabled") and not (settings.get("event_subscriptions") or {}).get("request_url"):
        faults.append("settings.event_subscriptions: needs a request URL or Socket Mode")
    return faults
