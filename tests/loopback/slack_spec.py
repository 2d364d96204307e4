"""Slack's own descriptions of its methods, where the folder of shared data has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.shared_data import SHARED

Json = Any
SENT_BY_SDK = ("token", "team_id")  # with every call


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
        and not arguments.get(name)
        and arguments.get(name) != ""
        and not (name == "markdown_text" and arguments.get("chunks"))  # either will do
    ]
    return faults
