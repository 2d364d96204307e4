"""Building things: from the environment to a `Researcher` with all its ports filled."""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from adapters.llm.embeddings import build_embeddings
from adapters.llm.openai import build_chat
from adapters.metrics import PrometheusRecorder
from adapters.pages import WebPages
from adapters.queue import InProcessQueue
from adapters.search import build_providers, close_providers
from adapters.store.cache import SqliteAnswerCache
from adapters.store.events import SqliteEventLog
from adapters.store.jobs import SqliteJobStore
from adapters.store.memo import SqliteJobMemo
from adapters.store.redis import RedisAnswerCache
from adapters.store.sources import SqliteSourceStore
from adapters.store.sqlite import Database
from bots.config import BotSettings, default_files
from core.config import Settings
from core.deps import Deps
from core.job import JobStatus
from core.researcher import Researcher
from core.runner import DirectSteps, run_job
from core.stages.deliver import deliver_failure

log = logging.getLogger(__name__)
GRACE_S = 30.0  # a stopping process lets running jobs end for this long (G-02)


@dataclass(frozen=True)
class House:
    """Everything a process may need."""

    researcher: Researcher
    deps: Deps
    metrics: PrometheusRecorder
    settings: BotSettings

    async def warm_up(self) -> None:
        """Load what is slow to load, so that the first question does not pay for it."""
        for part in (self.deps.pages, self.deps.model, self.deps.embedder):
            warm = getattr(part, "warm_up", None)
            if warm is not None:
                await warm()


def new_job_id() -> str:
    """`job_` and 128 random bits."""
    return f"job_{secrets.token_hex(16)}"


def utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def open_house(env: Mapping[str, str], settings: BotSettings, *, grace_s: float) -> AsyncIterator[House]:
    """Open stores, vendors and the queue, and close them in the opposite order. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        metrics = PrometheusRecorder()
        deps = await _open_deps(env, settings, metrics, stack)

        async def run(job_id: str) -> None:
            await run_job(job_id, deps, DirectSteps())

        async def mark_cancelled(job_id: str) -> None:
            job = await deps.jobs.get(job_id)
            await deliver_failure(job, deps, JobStatus.CANCELLED, error=None)

        queue = InProcessQueue(
            run,
            concurrency=deps.settings.concurrent_jobs,
            limit=deps.settings.max_waiting_jobs,
            on_cancelled=mark_cancelled,
        )
        stack.push_async_callback(queue.aclose, grace_s)
        yield House(Researcher(deps, queue), deps, metrics, settings)


async def _open_deps(
    env: Mapping[str, str], settings: BotSettings, metrics: PrometheusRecorder, stack: AsyncExitStack
) -> Deps:
    database = await Database.open(settings.data)
    stack.push_async_callback(database.aclose)
    tunables = Settings()
    providers = build_providers(env, data_dir=settings.data, default_files=default_files(), search=tunables.search)
    stack.push_async_callback(close_providers, providers)
    pages = WebPages.from_env(env)
    stack.push_async_callback(pages.aclose)
    model, embedder = build_chat(env), build_embeddings(env)
    for vendor in (model, embedder):
        if vendor is not None:
            stack.push_async_callback(vendor.aclose)
    cache: SqliteAnswerCache | RedisAnswerCache = SqliteAnswerCache(database, clock=utc_now)
    if settings.redis_url:
        cache = RedisAnswerCache(settings.redis_url, clock=utc_now, recorder=metrics)
        stack.push_async_callback(cache.aclose)
    return Deps(
        providers=providers,
        pages=pages,
        jobs=SqliteJobStore(database),
        sources=SqliteSourceStore(database),
        events=SqliteEventLog(database, clock=utc_now),
        memo=SqliteJobMemo(database),
        cache=cache,
        recorder=metrics,
        clock=utc_now,
        new_id=new_job_id,
        settings=tunables,
        model=model,
        embedder=embedder,
    )
