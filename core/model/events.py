"""What a job tells its followers, as a replayable log.

`seq` counts up from 1 within a job; `complete` is always the last event, whatever became of the job.
Readers drop events of older attempts once they have seen a newer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from typing_extensions import TypeAliasType

EventType = Literal["status", "source", "answer", "complete"]
Json = TypeAliasType("Json", "bool | int | float | str | list[Json] | dict[str, Json] | None")


def rows(value: Json) -> list[dict[str, Json]]:
    """The objects of a list; none of anything else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Event:
    """One entry of a job's log. `data` is JSON by type:

    - `status`: `{stage, message, progress (0…1), data}`
    - `source`: `{id, url, title, domain, provider}` as soon as a source is kept
    - `answer`: `{section, id, text, verdict, mark}`; the same id replaces, `text: null` removes
    - `complete`: the job's JSON (core/presentation/render.py)
    """

    seq: int
    type: EventType
    attempt: int
    at: datetime
    data: Mapping[str, Json]
