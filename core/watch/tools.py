"""Watches as tools for other programs (core/presentation/tools.py): list, begin and end those of this machine."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from core.model.errors import InvalidQuery
from core.model.job import Json, ResearchRequest, Scope
from core.presentation.render import iso_utc, one_line
from core.presentation.tools import Executor, ToolConfig, ToolProgress, ToolResult, shape, text_of, texts
from core.watch import words
from core.watch.watch import Watch, WatchNotFound

if TYPE_CHECKING:
    from core.pipeline.researcher import Researcher
    from core.watch.desk import WatchDesk

Doing = Callable[[Mapping[str, Json], "WatchDesk", Scope], Awaitable[ToolResult]]
_WATCH: Mapping[str, Json] = shape(
    {
        **texts("id"), "kind": {"type": "string", "enum": ["answer", "schedule", "source"]},
        **texts("subject", "rhythm"), "is_active": {"type": "boolean"}, **texts("next_at", "ends_at"),
        "runs": {"type": "integer"}, **texts("last_told"),
    }
)  # fmt: skip


async def _list(params: Mapping[str, Json], desk: WatchDesk, scope: Scope) -> ToolResult:
    watches = [watch for watch in await desk.of(scope.tenant) if watch.scope == scope]
    shown = [await _shown(watch, desk) for watch in watches]
    text = "\n".join(map(_line, shown)) or "Nothing is watched here; watch begins it."
    return ToolResult(text, {"type": "watches", "data": {"watches": list(shown)}})


async def _begin(params: Mapping[str, Json], desk: WatchDesk, scope: Scope) -> ToolResult:
    """Raises `InvalidQuery` unless exactly one thing to watch is named."""
    named = {name: text for name in ("job_id", "url", "question") if (text := text_of(params, name).strip())}
    if len(named) != 1:
        raise InvalidQuery("Name one of job_id, url and question.", rule="watch")
    every = text_of(params, "every").strip() or "day"
    rhythm = words.read_rhythm(every)
    if rhythm is None:
        raise InvalidQuery(f"{every[:80]} is no time: day, week, hours, 12 hours, Monday 9:00.", rule="rhythm")
    rhythm = words.in_zone(rhythm, text_of(params, "zone").strip() or "UTC")
    ((kind, subject),) = named.items()
    if kind == "job_id":
        watch = await desk.watch(subject, "", scope=scope, rhythm=rhythm)
    elif kind == "url":
        watch = await desk.watch_source(subject, ResearchRequest(subject, scope), rhythm=rhythm)
    else:
        watch = await desk.schedule(ResearchRequest(subject, scope), rhythm=rhythm)
    shown = await _shown(watch, desk)
    text = f"{_line(shown)}\nlist_watches gives what it found, stop_watching ends it."
    return ToolResult(text, {"type": "watch", "data": shown})


async def _stop(params: Mapping[str, Json], desk: WatchDesk, scope: Scope) -> ToolResult:
    """Raises `WatchNotFound`, also for one of another scope."""
    watch = await desk.get(text_of(params, "watch_id").strip())
    if watch.scope != scope:
        raise WatchNotFound(watch.id)
    stopped = await desk.stop(watch)
    return ToolResult(words.STOPPED, {"type": "watch", "data": await _shown(stopped, desk)})


def _line(shown: Mapping[str, Json]) -> str:
    """As `_shown` gives it, for who reads only the text."""
    line = f"{shown['id']}: {one_line(str(shown['subject']))} – {shown['rhythm']}, next {shown['next_at']}"
    return f"{line}\n{shown['last_told']}" if shown["last_told"] else line


async def _shown(watch: Watch, desk: WatchDesk) -> dict[str, Json]:
    told = await desk.timeline(watch)
    return watch_json(watch) | {"last_told": "\n".join(words.plain_lines(told[-1])) if told else ""}


def watch_json(watch: Watch) -> dict[str, Json]:
    return {
        "id": watch.id, "kind": watch.kind, "subject": watch.subject, "rhythm": words.rhythm_words(watch.rhythm),
        "is_active": watch.is_active, "next_at": iso_utc(watch.next_at), "ends_at": iso_utc(watch.ends_at),
        "runs": watch.run,
    }  # fmt: skip


def _done_by(doing: Doing) -> Executor:
    async def run(
        params: Mapping[str, Json], researcher: Researcher, scope: Scope
    ) -> AsyncGenerator[ToolProgress | ToolResult, None]:
        yield await doing(params, researcher.watching, scope)

    return run


WATCH_TOOLS: Mapping[str, ToolConfig] = {
    tool.name: tool
    for tool in (
        ToolConfig(
            "list_watches",
            "List watches",
            "Lists what is watched here, when it is looked at next, and what was told of it last.",
            {"type": "object", "properties": {}},
            shape({"watches": {"type": "array", "items": dict(_WATCH)}}),
            _done_by(_list),
            streaming=False,
        ),
        ToolConfig(
            "watch",
            "Watch",
            "Watches an answer (job_id) or a page, a feed or a paper (url), and tells only when it means something "
            "else; or asks a question at times, whatever comes of it. What it finds is read with list_watches. A run "
            "in which something may have changed costs about what the answer cost; ask the user before beginning.",
            {
                "type": "object",
                "properties": {
                    "job_id": {"type": "string", "description": "The job_id of an answer to watch"},
                    "url": {"type": "string", "description": "The address of a page, a feed or a paper to watch"},
                    "question": {"type": "string", "description": "A question to ask at times"},
                    "every": {"type": "string", "description": "day, week, hours, 12 hours, Monday 9:00"},
                    "zone": {"type": "string", "description": "The time zone of a time of day, such as Europe/Berlin"},
                },
            },
            dict(_WATCH),
            _done_by(_begin),
            streaming=False,
        ),
        ToolConfig(
            "stop_watching",
            "Stop watching",
            "Ends a watch, by the id that list_watches gives.",
            shape(texts("watch_id")),
            dict(_WATCH),
            _done_by(_stop),
            streaming=False,
        ),
    )
}  # fmt: skip
