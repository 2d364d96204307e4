"""Building things: from the environment to a `Researcher` with all its ports filled."""

from __future__ import annotations

import asyncio
import gc
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from adapters.durable.journal import DurableSettings
from adapters.durable.queue import DurableQueue, InProcessQueue, JournalArchive
from adapters.llm.embeddings import build_embeddings
from adapters.llm.openai import OpenAIChat, build_chat, build_check, build_mode_chats, build_web_search
from adapters.observability import PrometheusRecorder, Redactor
from adapters.pages import WebPages
from adapters.search import build_providers, close_providers, shared_rates, surroundings, warm_up_providers
from adapters.search.registries import PaperCatalogues, build_registries, open_texts
from bots.config import BotSettings, default_files, secrets_in
from bots.records import Records, open_records
from core.evidence.authority import read_kinds
from core.library.desk import LibraryDesk
from core.library.funnel import WatchedLibrary
from core.library.ingest import Ingestion
from core.library.paper import LibraryStore, PaperViews
from core.library.session import LibraryTalks
from core.llm.ask_model import RememberingEmbeddings
from core.llm.prices import cost_usd, read_prices
from core.model.answer import ModelUsage
from core.model.config import CacheSettings, SearchSettings, SectionSettings, Settings, SynthesisSettings, patient
from core.model.errors import ModelError
from core.model.job import TERMINAL_STATUSES, JobError, JobStatus, Tenant
from core.model.ports import WEB_SEARCH, ChatModel, Heartbeats, JobQueue, job_id_var, utc_now, warm_up
from core.modes import MODES
from core.pipeline.checkup import Readiness, watch_backlog
from core.pipeline.conversation import read_reply
from core.pipeline.deps import Deps
from core.pipeline.limits import LimitedSearch, SharedTurns
from core.pipeline.researcher import Researcher
from core.pipeline.runner import rehearse, run_job
from core.pipeline.tool_traces import TraceStore
from core.pipeline.tracing import WatchedModel, WatchedPages, WatchedSearch, WatchedWebSearch, open_tracer, traced
from core.pipeline.work import DirectSteps
from core.presentation.wording import SOMETHING_BROKE, language_of
from core.stages.deliver import deliver_failure, keep_standing
from core.tenancy.admission import Admission, Budget, Quota, require_price
from core.tenancy.forgetting import (
    Archive,
    Forgotten,
    Leaving,
    Retention,
    Tenancy,
    Whose,
    forget,
    keep_sweeping,
    keep_sweeping_tenants,
)
from core.tenancy.settings import Ceilings
from core.tenancy.settings_desk import SettingsDesk, SettingsStore, corpora_of
from core.text.saying import say, speaking
from core.watch.desk import WatchDesk, WatchLimits
from core.watch.runner import WatchRunner
from core.works.registry import Works

log = logging.getLogger(__name__)
GRACE_S = 30.0  # a stopping process lets running jobs end for this long (G-02)

# `alone` runs its own jobs and keeps no journal; a `front` only enqueues and follows; a `worker` runs what is enqueued.
Role = Literal["alone", "front", "worker"]


@dataclass(frozen=True)
class House:
    """Everything a process may need."""

    researcher: Researcher
    deps: Deps
    metrics: PrometheusRecorder
    settings: BotSettings
    records: Records
    tenancy: Tenancy
    readiness: Readiness
    queue: JobQueue
    role: Role

    async def warm_up(self) -> None:
        """Load what is slow to load, so that the first question does not pay for it: who is ready is as quick at once.

        A front only enqueues, and reads words before it acknowledges them, which chats do not wait long for.
        """
        await warm_up(self.queue)
        await asyncio.to_thread(read_reply, "Who?")
        if self.role != "front":
            rehearsing = asyncio.create_task(asyncio.to_thread(rehearse))
            for part in (self.deps.pages, *_models(self.deps), self.deps.embedder):
                await warm_up(part)
            await warm_up_providers(self.deps.providers)
            await rehearsing
        await asyncio.to_thread(gc.collect)
        gc.freeze()  # what is loaded stays: no collection need look through it again


async def _measure_two(model: OpenAIChat, deps: Deps) -> None:
    """Beside the first questions; of one that cannot be asked nothing is known, and nothing is changed."""
    from adapters.llm.probe import serves_two  # what else it brings along no start needs

    try:
        deps.two_at_once.is_served = await serves_two(model)
    except ModelError as exc:
        log.info("two calls at once were not measured", extra={"reason": str(exc)})
    if not deps.two_at_once.is_served:
        log.warning("two calls of the model wait for each other: summary and detail are written by one")


def new_job_id() -> str:
    """`job_` and 128 random bits."""
    return f"job_{secrets.token_hex(16)}"


@asynccontextmanager
async def open_house(
    env: Mapping[str, str], settings: BotSettings, *, grace_s: float, role: Role = "alone"
) -> AsyncIterator[House]:
    """Open stores, vendors and queue, and close them in reverse; jobs may end for `grace_s`. Raises `SetupError`."""
    async with AsyncExitStack() as stack:
        metrics = PrometheusRecorder()
        records = await open_records(env, settings, stack, clock=utc_now, record=metrics.record)
        deps = _open_deps(env, settings, records, metrics, stack)
        admission = _admission(settings, deps, records)
        desk = SettingsDesk(records.settings, _ceilings(admission, settings, deps), clock=utc_now)
        deps = replace(deps, check_budget=admission.check_budget)
        deps = await stack.enter_async_context(observed(deps, records.traces, secrets=secrets_in(env)))
        archives: list[Archive] = [*records.archives]
        queue: JobQueue
        if role == "alone":
            queue = _own_queue(deps, stack, grace_s)
        else:
            limit = deps.settings.max_waiting_jobs
            durable = DurableSettings.from_env(env, folder=settings.data, max_waiting_jobs=limit)
            queue = DurableQueue(durable, deps.jobs, on_cancelled=partial(_end, deps, JobStatus.CANCELLED))
            stack.push_async_callback(queue.aclose)
            await stack.enter_async_context(_in_background(watch_backlog(records.jobs, metrics.record)))
            archives.append(JournalArchive(queue, durable.file))
            if role == "worker":
                await stack.enter_async_context(_working(durable, queue, deps, records.heartbeats, grace_s))
        if role != "front":
            await _keep_house(env, settings, deps, records, stack, archives=archives, measures=role != "alone")
        erase = partial(_erase, records, archives, queue, records.messages.condemn)
        erase_departed = partial(_erase, records, archives, queue, _leave_shown)
        watching = WatchDesk(deps, partial(_watch_limits, settings, records.settings))
        researcher = Researcher(deps, queue, admit=admission.admit, erase=erase, watching=watching)
        stack.push_async_callback(researcher.settle)
        if role == "worker":
            running = WatchRunner(deps, records.watches, researcher.submit_run).keep_running(utc_now)
            await stack.enter_async_context(_in_background(running))
        holder = secrets.token_hex(8)
        leaving = Leaving(records.tenants, records.turns, erase_departed, holder=holder, clock=utc_now)
        await stack.enter_async_context(_in_background(leaving.keep_erasing()))
        waits = queue if isinstance(queue, DurableQueue) else None  # for a worker, which may be elsewhere
        readiness = Readiness(
            records.try_out, journal=waits.try_out if waits else None, heartbeats=records.heartbeats if waits else None,
            clock=utc_now, stopwatch=time.monotonic,
        )  # fmt: skip
        tenancy = Tenancy(records.tenants, records.turns, leaving, desk)
        yield House(researcher, deps, metrics, settings, records, tenancy, readiness, queue, role)


async def _keep_house(
    env: Mapping[str, str],
    settings: BotSettings,
    deps: Deps,
    records: Records,
    stack: AsyncExitStack,
    *,
    archives: Sequence[Archive],
    measures: bool,
) -> None:
    """Begin what is done beside jobs until the house is left; it `measures` whether two model calls run at once."""
    if measures and settings.writing == "auto" and deps.writes_in_parallel and (model := build_chat(env)):
        stack.push_async_callback(model.aclose)
        await stack.enter_async_context(_in_background(_measure_two(model, deps)))
    sweeping = keep_sweeping(archives, Retention.of_days(settings.retention_days), clock=utc_now)
    await stack.enter_async_context(_in_background(sweeping))
    if deps.standing is not None:
        await stack.enter_async_context(_in_background(keep_standing(deps, deps.standing)))
    of_tenants = keep_sweeping_tenants(records.settings, records.archive.expire_tenant, archives, clock=utc_now)
    await stack.enter_async_context(_in_background(of_tenants))


def _admission(settings: BotSettings, deps: Deps, records: Records) -> Admission:
    """Raises `SetupError` for a budget that cannot be counted."""
    budget = Budget(settings.budget_user_usd, settings.budget_workspace_usd)
    for model in _models(deps):
        require_price(budget, model.name, deps.settings.prices_usd_per_million)
    names = (*deps.providers, *([WEB_SEARCH] if deps.web_model else []))  # a model's own search may be allowed, too
    quotas = {
        "discord": Quota(settings.discord_user_per_min, settings.discord_guild_per_min),
        "slack": Quota(settings.slack_user_per_min, settings.slack_workspace_per_min),
    }
    return Admission(records.settings, records.limits, records.spending.spent, quotas, budget, names, deps.clock)


async def _watch_limits(settings: BotSettings, tenants: SettingsStore, tenant: str) -> WatchLimits:
    """The operator's numbers, or the workspace's own where they are lower."""
    own = (await tenants.get(tenant)).settings
    person, workspace = settings.watches_per_person, settings.watches_per_workspace
    return WatchLimits(
        min(person, person if own.watches_per_person is None else own.watches_per_person),
        min(workspace, workspace if own.watches_per_workspace is None else own.watches_per_workspace),
        own.timezone,
    )


def _ceilings(admission: Admission, settings: BotSettings, deps: Deps) -> Callable[[str], Ceilings]:
    """By tenant: what the operator has set for its platform."""
    prices = deps.settings.prices_usd_per_million
    is_priced = all(cost_usd(ModelUsage(), model.name, prices) is not None for model in _models(deps))

    def ceilings(tenant: str) -> Ceilings:
        quota = admission.quotas.get(Tenant.read(tenant).platform)
        return Ceilings(
            providers=admission.providers,
            user_per_min=quota.user_per_min if quota else None,
            workspace_per_min=quota.tenant_per_min if quota else None,
            monthly_usd=admission.budget.workspace_usd,
            retention_days=settings.retention_days or None,
            watches_per_person=settings.watches_per_person,
            watches_per_workspace=settings.watches_per_workspace,
            is_priced=is_priced,
        )

    return ceilings


def _models(deps: Deps) -> list[ChatModel]:
    return [model for model in (deps.model, *deps.models.values(), deps.check_model) if model is not None]


async def _erase(
    records: Records,
    archives: Sequence[Archive],
    queue: JobQueue,
    condemn: Callable[[Sequence[str]], Awaitable[None]],
    whose: Whose,
) -> Forgotten:
    return await forget(whose, records.archive.jobs_of, archives, cancel=queue.cancel, condemn=condemn)


async def _leave_shown(job_ids: Sequence[str]) -> None:
    """Who has removed the app has also taken from it the right to change what it said there."""


@asynccontextmanager
async def _in_background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    async def guarded() -> None:
        try:
            await work
        except Exception:  # the boundary of this task: nobody waits for it
            log.exception("background work broke")

    task = asyncio.create_task(guarded())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        work.close()  # of a task that was cancelled before it began


def _own_queue(deps: Deps, stack: AsyncExitStack, grace_s: float) -> InProcessQueue:
    async def run(job_id: str) -> None:
        await run_job(job_id, deps, DirectSteps())

    queue = InProcessQueue(
        run,
        concurrency=deps.settings.concurrent_jobs,
        limit=deps.settings.max_waiting_jobs,
        on_cancelled=partial(_end, deps, JobStatus.CANCELLED),
    )
    stack.push_async_callback(queue.aclose, grace_s)
    return queue


@asynccontextmanager
async def _working(
    durable: DurableSettings, queue: DurableQueue, deps: Deps, heartbeats: Heartbeats, grace_s: float
) -> AsyncIterator[None]:
    """Run jobs, and look after those of workers that went silent, within the block."""
    from adapters.durable.journal import WorkerSlot
    from adapters.durable.worker import (  # these import DBOS, which fronts do not need at once
        DurableSteps,
        DurableWorker,
        Endings,
        Reaper,
    )

    async def run(job_id: str) -> None:
        await run_job(job_id, deps, DurableSteps(), is_resumable=True)

    client = await queue.client()
    slot = WorkerSlot.take(durable.folder)
    worker = DurableWorker(durable, slot.worker_id, run)
    endings = Endings(cancelled=partial(_end, deps, JobStatus.CANCELLED), broken=partial(_end, deps, JobStatus.FAILED))
    reaper = Reaper(slot.worker_id, heartbeats, deps.jobs, queue, endings, deps.clock)
    await reaper.beat()  # before any work is taken: who dies right after is missed
    reaping = asyncio.create_task(reaper.run(), name="reaper")
    try:
        await worker.start(client)
        yield
    finally:
        log.info("stopping", extra={"running": worker.running})
        await worker.drain(grace_s)
        reaping.cancel()
        await asyncio.gather(reaping, return_exceptions=True)
        await worker.aclose(client)
        await heartbeats.forget(slot.worker_id)
        slot.release()


async def _end(deps: Deps, status: JobStatus, job_id: str) -> None:
    """End a job that nobody runs, ahead of whoever may still think to run it."""
    token = job_id_var.set(job_id)
    try:
        job = await deps.jobs.get(job_id)
        if job.status in TERMINAL_STATUSES:
            return
        with speaking(language_of(job)):
            broke = JobError("INTERNAL_ERROR", say(SOMETHING_BROKE), retryable=True)
            error = broke if status is JobStatus.FAILED else None
            await deliver_failure(replace(job, attempt=job.attempt + 1), deps, status, error=error)
    finally:
        job_id_var.reset(token)


def _tunables(settings: BotSettings, model: OpenAIChat | None) -> Settings:
    """Raises `SetupError`."""
    is_parallel = settings.writing == "parallel" or (
        settings.writing == "auto" and model is not None and not model.is_local
    )
    retention = Retention.of_days(settings.retention_days).answers
    tunables = Settings(
        cache=CacheSettings(retention=retention, is_instant=settings.cache_instant),
        prices_usd_per_million=read_prices(settings.prices),
        source_kinds=read_kinds(settings.source_kinds),
        section=SectionSettings(max_search_iterations=settings.section_searches),
        check_dialect=settings.check_dialect,
        synthesis=SynthesisSettings(is_parallel=is_parallel),
    )
    return patient(tunables, settings.patience)


def _open_deps(
    env: Mapping[str, str], settings: BotSettings, records: Records, metrics: PrometheusRecorder, stack: AsyncExitStack
) -> Deps:
    model, web_model = build_chat(env), build_web_search(env)
    tunables = _tunables(settings, model)
    pages = WebPages.from_env(env)
    stack.push_async_callback(pages.aclose)
    providers = build_providers(
        env, data_dir=settings.data, default_files=default_files(), search=tunables.search, pages=pages,
        corpora=partial(corpora_of, records.settings),
    )  # fmt: skip
    stack.push_async_callback(close_providers, providers)
    rates = shared_rates(env)
    works = _open_works(env, tunables, records, metrics, stack)
    embedder = build_embeddings(env, patience=settings.patience)
    models, check_model = build_mode_chats(env, MODES), build_check(env)
    for vendor in (model, *set(models.values()), embedder, web_model, check_model):
        if vendor is not None:
            stack.push_async_callback(vendor.aclose)
    return Deps(
        providers={
            name: LimitedSearch(provider, records.limits, rates[name], metrics.record) if name in rates else provider
            for name, provider in providers.items()
        },
        pages=pages,
        jobs=records.jobs,
        sources=records.sources,
        events=records.events,
        memo=records.memo,
        traces=records.traces,
        messages=records.messages,
        read_attachment=pages.attachments.read,
        evaluations=records.evaluations,
        watches=records.watches,
        library=records.library,
        cache=records.cache,
        limits=records.limits,
        reuse=records.reuse,
        works=works,
        standing=records.standing if works else None,
        record=metrics.record,
        clock=utc_now,
        new_id=new_job_id,
        settings=tunables,
        model=model,
        models=models,
        embedder=RememberingEmbeddings(embedder) if embedder else None,
        web_model=web_model,
        check_model=check_model,
    )


def _open_works(
    env: Mapping[str, str], tunables: Settings, records: Records, metrics: PrometheusRecorder, stack: AsyncExitStack
) -> Works | None:
    turns = partial(SharedTurns, limits=records.limits, record=metrics.record)
    registries = build_registries(env, replace(surroundings(env, tunables.search), turns=turns))
    works = Works(registries, records.reuse, utc_now, texts=open_texts(registries)) if registries else None
    for part in (*registries, works):  # the calls end before the connections do
        if part is not None:
            stack.push_async_callback(part.aclose)
    return works


# Putting the recording wrappers around a job's ports, so that `gorkd trace` has something to show


@asynccontextmanager
async def observed(deps: Deps, traces: TraceStore, *, secrets: Iterable[str]) -> AsyncIterator[Deps]:
    """The same ports, watched; what they noted is written before the block is left. No entry holds a secret."""
    async with open_tracer(traces, clock=deps.clock, redact=Redactor(secrets).redact) as tracer:
        record = traced(deps.record, tracer)
        prices = deps.settings.prices_usd_per_million
        yield replace(
            deps,
            record=record,
            providers={name: WatchedSearch(provider, tracer) for name, provider in deps.providers.items()},
            pages=WatchedPages(deps.pages, tracer),
            model=WatchedModel(deps.model, tracer, record, prices) if deps.model else None,
            check_model=WatchedModel(deps.check_model, tracer, record, prices) if deps.check_model else None,
            models={mode: WatchedModel(model, tracer, record, prices) for mode, model in deps.models.items()},
            library=WatchedLibrary(deps.library, tracer),
            web_model=WatchedWebSearch(deps.web_model, tracer, record, prices) if deps.web_model else None,
        )


# The paper library with all it needs: a reader, a finder, a model and an embedder; and its conversations


def library_desk(env: Mapping[str, str], library: LibraryStore, stack: AsyncExitStack) -> LibraryDesk:
    """Closed with `stack`. Raises `SetupError`."""
    from adapters.pages.papers import PaperFiles, PapersElsewhere
    from adapters.search import arxiv as arxiv_search

    pages, files = WebPages.from_env(env), PaperFiles()
    around = surroundings(env, SearchSettings())
    arxiv, registries = arxiv_search.build(env, around), build_registries(env, around)
    catalogues = PaperCatalogues(arxiv, registries)
    model, embedder = build_chat(env), build_embeddings(env)
    for part in (pages, files, arxiv, *registries, model, embedder):
        if part is not None:
            stack.push_async_callback(part.aclose)
    elsewhere = PapersElsewhere(pages, arxiv.look_up, catalogues.work_of, arxiv=arxiv.site)
    return LibraryDesk(Ingestion(library, files.read, utc_now, model, embedder), elsewhere.find, catalogues.search)


@asynccontextmanager
async def open_talks(env: Mapping[str, str], house: House) -> AsyncIterator[LibraryTalks]:
    """Raises `SetupError`."""
    from adapters.pages.papers import PagePictures

    async with AsyncExitStack() as stack:
        painter = PagePictures()
        stack.push_async_callback(painter.aclose)
        desk = library_desk(env, house.deps.library, stack)
        views = PaperViews(house.deps.library, painter.paint)
        yield LibraryTalks(
            house.researcher, desk, house.records.conversations, views, house.deps.clock,
            messages=house.records.messages, rules=house.tenancy.settings,
        )  # fmt: skip
