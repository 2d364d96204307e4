"""Putting the recording wrappers around a job's ports, so that `gorkd trace` has something to show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

from adapters.logs import Redactor
from core.deps import Deps
from core.library.funnel import WatchedLibrary
from core.tracing import TraceLog
from core.watching import WatchedModel, WatchedPages, WatchedRecorder, WatchedSearch, WatchedWebSearch, open_tracer


@asynccontextmanager
async def observed(deps: Deps, traces: TraceLog, *, secrets: Iterable[str]) -> AsyncIterator[Deps]:
    """The same ports, watched; what they noted is written before the block is left. No entry holds a secret."""
    async with open_tracer(traces, clock=deps.clock, redact=Redactor(secrets).redact) as tracer:
        recorder = WatchedRecorder(deps.recorder, tracer)
        prices = deps.settings.prices_usd_per_million
        yield replace(
            deps,
            recorder=recorder,
            providers={name: WatchedSearch(provider, tracer) for name, provider in deps.providers.items()},
            pages=WatchedPages(deps.pages, tracer),
            model=WatchedModel(deps.model, tracer, recorder, prices) if deps.model else None,
            models={mode: WatchedModel(model, tracer, recorder, prices) for mode, model in deps.models.items()},
            library=WatchedLibrary(deps.library, tracer),
            web_model=WatchedWebSearch(deps.web_model, tracer, recorder, prices) if deps.web_model else None,
        )
