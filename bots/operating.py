"""What the operator's commands work on: the stores without a worker, and a probe for every part."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import disk_usage, which
from tempfile import TemporaryDirectory

from adapters.cli.running import Chatting, Kept, Operating, Setup
from adapters.observability import configure_logging
from adapters.proxies import Proxies
from bots.config import BotSettings, environment, read_settings, secrets_in, surroundings, variables
from core.library.desk import LibraryDesk
from core.model.answer import JobResult
from core.model.errors import GorkdError, SetupError
from core.model.job import JobStatus
from core.model.ports import PageFetcher, record_nothing, utc_now
from core.pipeline.checkup import Doubt, Finding, Probe, Trials, examine, no_such_setting
from core.pipeline.deps import Deps
from core.presentation.render import job_json
from core.tenancy.forgetting import Forgotten, Whose, forget
from core.tenancy.settings_desk import SettingsDesk


def build_operating() -> Operating:
    return Operating(
        open_kept=open_kept,
        examine=partial(_examine, {}, ""),
        open_library=open_library,
        open_settings=open_settings,
        open_chatting=open_chatting,
        open_trials=open_trials,
        foresee=foresee_upgrade,
        setup=_setup,
        open_laboratory=open_laboratory,
        open_pages=open_pages,
        fetch_key=_fetch_key,
    )


@asynccontextmanager
async def open_kept() -> AsyncIterator[Kept]:
    """Raises `SetupError`."""
    from adapters.durable.journal import DurableSettings
    from adapters.durable.queue import DurableQueue, JournalArchive
    from bots.processes import page_links, receipts_of
    from bots.records import open_records

    env, settings = surroundings()
    async with AsyncExitStack() as stack:
        records = await open_records(env, settings, stack, clock=utc_now, record=record_nothing)
        durable = DurableSettings.from_env(env, folder=settings.data, max_waiting_jobs=0)

        async def end(job_id: str) -> None:
            """No worker ends it, so that those who follow it hear of its end from here."""
            job = await records.jobs.get(job_id)
            ended = replace(job, status=JobStatus.CANCELLED, attempt=job.attempt + 1, completed_at=utc_now())
            nothing = JobResult(answer=None)
            await records.jobs.finish(ended, nothing)
            await records.events.append(job_id, ended.attempt, "complete", job_json(ended, nothing, []))

        async def forget_all(whose: Whose) -> Forgotten:
            queue = DurableQueue(durable, records.jobs, on_cancelled=end)
            stack.push_async_callback(queue.aclose)
            archives = [*records.archives, JournalArchive(queue, durable.file)]
            return await forget(
                whose, records.archive.jobs_of, archives, cancel=queue.cancel, condemn=records.messages.condemn
            )

        yield Kept(
            records.jobs,
            records.traces,
            forget_all,
            records.cache,
            records.reuse,
            partial(page_links, env, settings),
            records.revocations,
            records.spending.usage,
            records.sources,
            lambda: receipts_of(env, settings, records),
            records.evaluations,
        )


@asynccontextmanager
async def open_laboratory(changes: Mapping[str, str]) -> AsyncIterator[Deps]:
    """With `changes` to the environment, jobs in a folder that goes, and the real library. Raises `SetupError`."""
    from bots.records import open_records
    from bots.wiring import open_house

    env = {name: value for name, value in {**environment(), **changes}.items() if value}
    settings = read_settings(env)
    configure_logging(settings.log_level, stream=sys.stderr, secrets=secrets_in(env))
    shared = ("DATABASE_URL", "REDIS_URL")
    async with AsyncExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory(prefix="gorkd-eval-")))
        records = await open_records(env, settings, stack, clock=utc_now, record=record_nothing)
        own = {name: value for name, value in env.items() if name not in shared} | {"GORKD_DATA": str(scratch)}
        house = await stack.enter_async_context(open_house(own, read_settings(own), grace_s=0.0))
        await house.warm_up()  # else the first of two configurations pays for both
        yield replace(house.deps, library=records.library)


@asynccontextmanager
async def open_pages() -> AsyncIterator[PageFetcher]:
    """Raises `SetupError`."""
    from adapters.pages import WebPages

    pages = WebPages.from_env(environment())
    try:
        yield pages
    finally:
        await pages.aclose()


async def _fetch_key(url: str) -> str:
    from adapters.cli.receipts import fetch_key

    return await fetch_key(url, Proxies.from_env(environment()))


@asynccontextmanager
async def open_library() -> AsyncIterator[LibraryDesk]:
    """Raises `SetupError`."""
    from bots.records import open_records
    from bots.wiring import library_desk

    env, settings = surroundings()
    async with AsyncExitStack() as stack:
        records = await open_records(env, settings, stack, clock=utc_now, record=record_nothing)
        yield library_desk(env, records.library, stack)


@asynccontextmanager
async def open_settings() -> AsyncIterator[SettingsDesk]:
    """Raises `SetupError`."""
    from bots.wiring import open_house

    env, settings = surroundings()
    async with open_house(env, settings, grace_s=0.0, role="front") as house:
        yield house.tenancy.settings


@asynccontextmanager
async def open_chatting() -> AsyncIterator[Chatting]:
    """Raises `SetupError`."""
    from bots.wiring import open_house, open_talks

    env, settings = surroundings()
    async with open_house(env, settings, grace_s=0.0) as house, open_talks(env, house) as talks:
        yield Chatting(talks, settings.data, _viewer(env))


def _viewer(env: Mapping[str, str]) -> str:
    """The program that shows a file on this machine's screen; "" where there is none."""
    if sys.platform == "darwin":
        return which("open", path=env.get("PATH")) or ""
    has_screen = env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")
    return which("xdg-open", path=env.get("PATH")) or "" if has_screen else ""


@asynccontextmanager
async def open_trials() -> AsyncIterator[Trials]:
    """Of the endpoints that are configured. Raises `SetupError`."""
    from adapters.llm.embeddings import build_embeddings
    from adapters.llm.openai import build_chat, build_check, build_mode_chats
    from adapters.llm.probe import model_trials
    from core.modes import MODES

    env, settings = surroundings()
    async with AsyncExitStack() as stack:
        chats = [chat for chat in (build_chat(env), *dict.fromkeys(build_mode_chats(env, MODES).values())) if chat]
        check, embedder = build_check(env), build_embeddings(env)
        for part in (*chats, check, embedder):
            if part is not None:
                stack.push_async_callback(part.aclose)
        yield model_trials(chats, check, embedder, dialect=settings.check_dialect, patience=settings.patience)


def _setup() -> Setup:
    from adapters.llm.probe import find_servers
    from bots.config import ENV_FILE, keep_settings, own_document

    return Setup(
        file=ENV_FILE.absolute(),
        kept=environment(),
        variables=variables(),
        keep=keep_settings,
        examine=_examine,
        find_servers=find_servers,
        manifest=own_document("manifest.yml").read_text("utf-8"),
    )


async def _examine(values: Mapping[str, str], part: str) -> list[Finding]:
    """As it would be with `values` besides; only parts whose name begins with `part`, or all of whose kind are broken:
    `search` for `search: tavily`. Raises `SetupError`.
    """
    env, settings = surroundings(values)
    async with AsyncExitStack() as stack:
        probes = await _probes(env, settings, stack)
        return await examine([one for one in probes if one.part.startswith(part) or part.startswith(f"{one.part}:")])


async def foresee_upgrade() -> list[Finding]:
    """What the first start of this version would change, found without changing it. Raises `SetupError`."""
    env, settings = surroundings()

    async def look() -> str:
        from adapters.records.schema import NEWEST
        from adapters.records.sqlite import look_at as look_at_file

        if "DATABASE_URL" in env:
            from adapters.records.postgres import look_at as look_at_server

            found = await asyncio.to_thread(look_at_server, env["DATABASE_URL"])
        else:
            found = await asyncio.to_thread(look_at_file, settings.data)
        if not found.version:
            return "nothing is kept yet; the first start makes the tables"
        if found.version > NEWEST:
            raise SetupError(
                f"it was written by a newer gorkd (version {found.version}, this one knows {NEWEST}); "
                "start the newer one"
            )
        if found.version == NEWEST:
            return f"its tables are of version {NEWEST}, this gorkd's; nothing will be migrated"
        raise Doubt(
            f"its tables are of version {found.version}, this gorkd's of {NEWEST}; the first start changes "
            f"{', '.join(found.tables)}. There is no way back but a backup: make one first"
        )

    async def measure() -> str:
        file = (settings.data / "gorkd.db").absolute()
        folder = next(path for path in file.parents if path.exists())
        needed, free = (file.stat().st_size if file.exists() else 0), disk_usage(folder).free
        if free < 2 * needed:
            raise Doubt(f"{free // 1024**2} MB are free and gorkd.db has {needed // 1024**2} MB; make room first")
        return f"{free // 1024**2} MB are free"

    database = Probe("PostgreSQL" if "DATABASE_URL" in env else "database", look)
    return await examine([database, *([] if "DATABASE_URL" in env else [Probe("disk", measure)])])


async def _probes(env: Mapping[str, str], settings: BotSettings, stack: AsyncExitStack) -> list[Probe]:
    from adapters import doctor
    from adapters.secrets import SecretBox
    from adapters.web.settings import WebSettings

    async def open_records_once() -> None:
        from bots.records import open_records

        async with AsyncExitStack() as opened:
            records = await open_records(env, settings, opened, clock=utc_now, record=record_nothing)
            if aside := await records.watches.unreadable():
                named = ", ".join(aside[:5])
                raise Doubt(
                    f"{len(aside)} watches cannot be read and are set aside: {named}; they are to be begun anew"
                )

    async def open_secret() -> str:
        SecretBox.from_env(env, settings.data).seal("gorkd")
        return "stored tokens can be encrypted"

    probes = [
        doctor.folder_probe(settings.data),
        doctor.database_probe("PostgreSQL" if "DATABASE_URL" in env else "database", open_records_once),
        doctor.redis_probe(settings.redis_url),
        doctor.ocr_probe(),
        Probe("secret", open_secret),
        *await _vendor_probes(env, settings, stack),
        doctor.discord_probe(env.get("DISCORD_TOKEN", ""), Proxies.from_env(env)),
        _slack_probe(env),
    ]
    known = variables()
    if strays := sorted(name for name in env if name.upper().startswith("GORKD_") and name not in known):
        probes.append(_broken("settings", Doubt(" ".join(no_such_setting(name, known) for name in strays))))
    try:
        web = WebSettings.from_env(env)
    except SetupError as exc:
        return [*probes, _broken("pages", exc)]
    return [*probes, doctor.port_probe(web.host, web.port), doctor.access_probe(web, settings.data)]


async def _vendor_probes(env: Mapping[str, str], settings: BotSettings, stack: AsyncExitStack) -> list[Probe]:
    from adapters import doctor
    from adapters.llm.embeddings import build_embeddings
    from adapters.llm.openai import build_chat, build_mode_chats
    from adapters.search import build_providers, close_providers
    from adapters.search import surroundings as search_surroundings
    from adapters.search.registries import build_registries
    from bots.config import default_files
    from core.llm.prices import read_prices
    from core.model.config import Settings
    from core.modes import MODES
    from core.tenancy.admission import Budget

    probes: list[Probe] = []
    try:
        budget = Budget(settings.budget_user_usd, settings.budget_workspace_usd)
        for model in (build_chat(env), *dict.fromkeys(build_mode_chats(env, MODES).values())):
            if model is not None:
                stack.push_async_callback(model.aclose)
            probes += [doctor.model_probe(model), doctor.price_probe(model, read_prices(settings.prices), budget)]
    except SetupError as exc:
        probes.append(_broken("model", exc))
    try:
        embedder = build_embeddings(env)
        if embedder is not None:
            stack.push_async_callback(embedder.aclose)
        probes.append(doctor.embedding_probe(embedder))
    except SetupError as exc:
        probes.append(_broken("embeddings", exc))
    try:
        providers = build_providers(
            env, data_dir=settings.data, default_files=default_files(), search=Settings().search
        )
        stack.push_async_callback(close_providers, providers)
        probes += [doctor.search_probe(provider) for provider in providers.values()]
        registries = build_registries(env, search_surroundings(env, Settings().search))
        for registry in registries:
            stack.push_async_callback(registry.aclose)
        probes += doctor.registry_probes(registries)
    except SetupError as exc:  # both go by the rates that are set
        probes.append(_broken("search", exc))
    return probes


def _slack_probe(env: Mapping[str, str]) -> Probe:
    from adapters import doctor
    from adapters.chat.slack.settings import SlackSettings
    from bots.processes import names_slack, refuse_half_a_slack

    if not names_slack(env):
        return doctor.slack_probe("")
    try:
        refuse_half_a_slack(env)
        slack = SlackSettings.from_env(env)
    except SetupError as exc:
        return _broken("Slack", exc)
    if slack.is_installable:
        return doctor.slack_install_probe(env.get("GORKD_PUBLIC_URL", ""), f"{slack.api_url}api.test", slack.proxies)
    return doctor.slack_probe(slack.bot_token, slack.app_token, base_url=slack.api_url, proxies=slack.proxies)


def _broken(part: str, error: GorkdError) -> Probe:
    async def run() -> str:
        raise error

    return Probe(part, run)
