"""What the journal holds, as versioned JSON: never a pickle, so that reading a row runs no code.

Values are JSON as they stand: job ids go in, codec texts come out. Errors of core/model/errors.py come back
as themselves; any other exception comes back as `StepFailed` with its words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dbos import Serializer

from core.model.errors import GorkdError
from core.model.job import Json

VERSION = 1


class StepFailed(Exception):
    """A bug stopped a step in an earlier attempt; the message names it."""


class JsonSerializer(Serializer):
    """Tuples come back as lists, except a workflow's positional arguments, which DBOS wants as a tuple."""

    def name(self) -> str:
        return f"gorkd_json_{VERSION}"

    def serialize(self, data: Any) -> str:
        row = {"error": _error_row(data)} if isinstance(data, BaseException) else {"value": data}
        return json.dumps({"v": VERSION, **row}, ensure_ascii=False, separators=(",", ":"))

    def deserialize(self, serialized_data: str) -> Any:
        """Raises `ValueError` on another version."""
        row = json.loads(serialized_data)
        if row.get("v") != VERSION:
            raise ValueError(f"journal entry of version {row.get('v')}, expected {VERSION}")
        if "error" in row:
            return _restore(row["error"])
        value = row["value"]
        if isinstance(value, dict) and value.keys() == {"args", "kwargs"}:
            value["args"] = tuple(value["args"])
        return value


def _error_row(error: BaseException) -> dict[str, Json]:
    known = type(error) in set(_tree(GorkdError))
    state = {name: value for name, value in vars(error).items() if known and _is_json(value)}
    return {"type": type(error).__name__ if known else "", "text": _text(error), "state": state}


def _text(error: BaseException) -> str:
    return str(error) if isinstance(error, GorkdError | StepFailed) else f"{type(error).__name__}: {error}"


def _restore(row: dict[str, Any]) -> Exception:
    kind = next((kind for kind in _tree(GorkdError) if kind.__name__ == row["type"]), None)
    if kind is None:
        return StepFailed(row["text"])
    error = kind.__new__(kind, row["text"])  # their own constructors compose the text anew
    error.args = (row["text"],)
    vars(error).update(row["state"])
    return error


def _tree(root: type[GorkdError]) -> Iterator[type[GorkdError]]:
    yield root
    for kind in root.__subclasses__():
        yield from _tree(kind)


def _is_json(value: object) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
