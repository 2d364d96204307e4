"""Server-sent events as a browser reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Received:
    id: str
    type: str
    data: Any


def parse_events(text: str) -> list[Received]:
    """The events of a stream's text; a last one that was cut off is none, as browsers have it."""
    return list(_events(text))


def _events(text: str) -> Iterator[Received]:
    lines = text.replace("\r\n", "\n").split("\n")
    fields: dict[str, list[str]] = {}
    for line in lines[:-1]:
        name, _, value = line.partition(":")
        if line:
            fields.setdefault(name, []).append(value.removeprefix(" "))
        elif fields.get("data"):
            yield Received(fields.get("id", [""])[-1], fields["event"][-1], json.loads("\n".join(fields["data"])))
            fields = {}
        else:
            fields = {}
