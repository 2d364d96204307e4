"""How commands speak: JSON and answers on stdout, one sentence on stderr, and an exit code."""

from __future__ import annotations

import json
import re
import sys
from enum import IntEnum

from core.errors import GorkdError, InvalidQuery
from core.events import Json
from core.presentation.render import one_line


class Exit(IntEnum):
    ANSWERED = 0
    INVALID_INPUT = 2
    INSUFFICIENT = 3
    FAILED = 4
    INTERRUPTED = 130


def report(error: GorkdError, *, as_json: bool) -> Exit:
    """For errors before there is a job."""
    if as_json:
        print_json({"error": {"code": error.code, "message": error.user_message, "details": {}}})
    say(error.user_message)
    return code_of(error.code)


def code_of(error_code: str) -> Exit:
    return Exit.INVALID_INPUT if error_code == InvalidQuery.code else Exit.FAILED


def print_json(document: dict[str, Json]) -> None:
    """JSON that is safe to look at: what JSON leaves raw although a terminal acts on it is escaped."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    sys.stdout.write(_UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", text) + "\n")


_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def say(sentence: str) -> None:
    sys.stderr.write(f"gorkd: {one_line(sentence)}\n")


def make_encodable() -> None:
    """A terminal that cannot show a character gets a question mark, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")
