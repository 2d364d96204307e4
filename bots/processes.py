"""What each process runs. Every runner takes the environment and ends when it is cancelled."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from yarl import URL

from adapters.chat.connecting import run_by_itself
from adapters.secrets import TOKEN_FILE, kept_token, receipt_keys, signing_keys
from adapters.web.app import web_runner
from adapters.web.monitor import serve_metrics
from adapters.web.settings import TRUSTS_LOCAL, WebSettings, is_loopback
from bots.config import BotSettings
from bots.records import Records
from bots.wiring import GRACE_S, House, Role, open_house
from core.library.paper import PaperViews
from core.model.errors import SetupError
from core.model.ports import utc_now
from core.presentation.page_links import PageLinks
from core.receipts.container import Receipts

if TYPE_CHECKING:
    from adapters.chat.connecting import ChatDeps
    from adapters.chat.live import ChatTurns
    from adapters.chat.reply import Voice
    from adapters.web.preview import Preview
    from core.model.answer import JobResult
    from core.model.job import ResearchJob
    from core.model.source import Source
    from core.presentation.snapshot import Snapshot

log = logging.getLogger(__name__)
Shown = TypeVar("Shown")
_SLACK_MARKS = ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET")
Runner = Callable[[Mapping[str, str], BotSettings], Awaitable[None]]


async def run_all(env: Mapping[str, str], settings: BotSettings) -> None:
    """The pages, and every bot that has its tokens, each by itself: what befalls one leaves the others alone."""
    from adapters.chat.discord.settings import DiscordSettings

    refuse_half_a_slack(env)
    if "DISCORD_TOKEN" in env:
        DiscordSettings.from_env(env)  # raises for what is wrong whatever Discord says
    async with (
        open_house(env, settings, grace_s=GRACE_S, role="worker") as house,
        _serving(env, house),
        asyncio.TaskGroup() as group,
    ):
        if "DISCORD_TOKEN" in env:
            group.create_task(run_by_itself("Discord", partial(_discord, env, house)))
        if "SLACK_APP_TOKEN" in env and _speaks_slack(env):
            group.create_task(run_by_itself("Slack", partial(_slack, env, house)))
        await asyncio.Event().wait()


@asynccontextmanager
async def _measured(env: Mapping[str, str], settings: BotSettings, role: Role) -> AsyncIterator[House]:
    """A house that is warm, with its metrics served at a port of their own."""
    async with (
        open_house(env, settings, grace_s=GRACE_S if role == "worker" else 0, role=role) as house,
        serve_metrics(house.metrics.render, env, house.readiness.reasons),
    ):
        await house.warm_up()
        yield house


async def run_worker(env: Mapping[str, str], settings: BotSettings) -> None:
    """Research what the other processes have enqueued; says on standard output when it is ready."""
    async with _measured(env, settings, "worker"):
        print("gorkd worker is ready", flush=True)  # noqa: T201  # for whoever started it
        await asyncio.Event().wait()


async def run_web(env: Mapping[str, str], settings: BotSettings) -> None:
    refuse_half_a_slack(env)
    async with open_house(env, settings, grace_s=0, role="front") as house, _serving(env, house):
        await asyncio.Event().wait()


async def run_discord(env: Mapping[str, str], settings: BotSettings) -> None:
    async with _measured(env, settings, "front") as house:
        await _discord(env, house)


async def run_slack(env: Mapping[str, str], settings: BotSettings) -> None:
    async with _measured(env, settings, "front") as house:
        await _slack(env, house)


async def run_mcp_stdio(env: Mapping[str, str], settings: BotSettings) -> None:
    """Tools for the program that started this one; its jobs run here."""
    with _needing_mcp():
        from adapters.mcp import serve_stdio

    async with open_house(env, settings, grace_s=0) as house:
        await serve_stdio(house.researcher, page_links(env, settings))


async def run_mcp_http(env: Mapping[str, str], settings: BotSettings) -> None:
    """Tools for programs on other machines; says its address on standard output."""
    with _needing_mcp():
        from adapters.mcp import McpSettings, serve_http

    mcp = McpSettings.from_env(env)
    async with open_house(env, settings, grace_s=GRACE_S) as house:
        links = page_links(env, settings)
        await serve_http(house.researcher, links, mcp, lambda url: print(f"gorkd mcp is ready: {url}", flush=True))  # noqa: T201


@contextmanager
def _needing_mcp() -> Iterator[None]:
    try:
        yield
    except ImportError as exc:
        raise SetupError(
            'gorkd mcp needs `mcp`: in a checkout `.venv/bin/pip install -e ".[mcp]"`, or `pipx inject gorkd mcp`'
        ) from exc


RUNNERS: Mapping[str, Runner] = {
    "all": run_all,
    "worker": run_worker,
    "web": run_web,
    "discord": run_discord,
    "slack": run_slack,
}


@asynccontextmanager
async def _serving(env: Mapping[str, str], house: House) -> AsyncIterator[None]:
    """The pages on their port, and the address on standard output for whoever started this."""
    from adapters.pages.papers import PagePictures
    from adapters.web.app import build_web

    settings = _with_token(WebSettings.from_env(env), house.settings.data)
    painter = PagePictures()
    pictures = PaperViews(house.deps.library, painter.paint)
    app = build_web(
        house.researcher,
        house.metrics.render,
        settings,
        house.records.traces,
        ready=house.readiness.reasons,
        links=page_links(env, house.settings),
        revocations=house.records.revocations,
        limits=house.records.limits,
        previews=chat_previews(page_links(env, house.settings)) if env.get("GORKD_PREVIEW") == "1" else {},
        library=pictures,
        usage=house.records.spending.usage,
        evaluations=house.records.evaluations,
        receipts=receipts_of(env, house.settings, house.records),
    )
    async with AsyncExitStack() as stack:
        stack.push_async_callback(painter.aclose)
        if _speaks_slack(env) and "SLACK_SIGNING_SECRET" in env and "SLACK_APP_TOKEN" not in env:  # else Socket Mode
            await stack.enter_async_context(_slack_events(app, env, house))
        if "SLACK_CLIENT_ID" in env:
            await stack.enter_async_context(_slack_installing(app, env, house))
        async with _listening(app, settings, house.warm_up):
            yield


def _with_token(settings: WebSettings, data: Path) -> WebSettings:
    """With a token of this installation's own where asking takes one and none is set. Raises `SetupError`."""
    if settings.trust_local:
        log.warning(TRUSTS_LOCAL)
    if settings.api_tokens or (settings.is_for_this_machine and settings.trusts_this_machine):
        return settings
    token, is_new = kept_token(data)
    path = data / TOKEN_FILE
    if is_new:
        print(f"Asking takes a token. Shown this once, and kept in {path}: {token}", flush=True)  # noqa: T201  # as above
    else:
        log.info("asking takes the token in a file, since GORKD_API_TOKENS is not set", extra={"file": str(path)})
    return settings.model_copy(update={"api_tokens": (token,)})


@asynccontextmanager
async def _listening(
    app: web.Application, settings: WebSettings, warm_up: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Says that it is ready when `warm_up` has ended; until then pages are served, and slower."""
    runner = web_runner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.host, settings.port, shutdown_timeout=2)
        try:
            await site.start()
        except OSError as exc:
            raise SetupError(
                f"cannot listen on {settings.host}:{settings.port}: {exc}",
                user_message=f"Port {settings.port} on {settings.host} is taken or not allowed; set PORT to another.",
            ) from exc
        await warm_up()
        address = URL.build(scheme="http", host=settings.host, port=runner.addresses[0][1])
        print(f"gorkd is ready: {address}", flush=True)  # noqa: T201  # what `make run` is for
        yield
    finally:
        await runner.cleanup()


async def _discord(env: Mapping[str, str], house: House) -> None:
    from adapters.chat.discord.bot import run_discord
    from adapters.chat.discord.settings import DiscordSettings
    from adapters.chat.live import ChatTurns

    async with chat_deps(env, house, ChatTurns()) as deps:
        await run_discord(deps, DiscordSettings.from_env(env))


async def _slack(env: Mapping[str, str], house: House) -> None:
    from adapters.chat.slack.bot import run_slack
    from adapters.chat.slack.settings import SlackSettings

    settings = SlackSettings.from_env(env)
    with _slack_turns(house) as turns:
        async with chat_deps(env, house, turns) as deps:
            await run_slack(deps, settings)


@asynccontextmanager
async def chat_deps(env: Mapping[str, str], house: House, turns: ChatTurns) -> AsyncIterator[ChatDeps]:
    from adapters.chat.connecting import ChatDeps
    from adapters.chat.desk import Proving
    from bots.wiring import open_talks

    links = page_links(env, house.settings)
    async with open_talks(env, house) as talks:
        receipts = receipts_of(env, house.settings, house.records)
        proving = Proving(receipts, house.records.evaluations, links, house.deps.clock)
        yield ChatDeps(house.researcher, links, house.tenancy, talks, house.records.messages, turns, proving)


def refuse_half_a_slack(env: Mapping[str, str]) -> None:
    """Whoever has set one of Slack's tokens waits for an answer there. Raises `SetupError` naming what is missing."""
    from adapters.chat.slack.settings import SlackSettings

    if not names_slack(env):
        return
    address = urlsplit(WebSettings.from_env(env).public_url)
    is_plain = address.scheme != "https" and not is_loopback(address.hostname or "")
    if SlackSettings.from_env(env).is_installable and is_plain:
        raise SetupError(
            "Workspaces install the app in their browsers, which Slack sends back to https alone: "
            "please set GORKD_PUBLIC_URL to an address with https."
        )


def names_slack(env: Mapping[str, str]) -> bool:
    """Whether Slack is meant to be connected, rightly or not."""
    return any(name in env for name in _SLACK_MARKS)


def _speaks_slack(env: Mapping[str, str]) -> bool:
    """For one workspace by its bot's token, or for all that install the app."""
    return "SLACK_BOT_TOKEN" in env or "SLACK_CLIENT_ID" in env


@asynccontextmanager
async def _slack_events(app: web.Application, env: Mapping[str, str], house: House) -> AsyncIterator[None]:
    from adapters.chat.slack.bot import serve_events
    from adapters.chat.slack.settings import SlackSettings

    settings = SlackSettings.from_env(env)
    with _slack_turns(house) as turns:
        async with chat_deps(env, house, turns) as deps, serve_events(app, deps, settings):
            yield


@contextmanager
def _slack_turns(house: House) -> Iterator[ChatTurns]:
    """Under a name that this process has again when it is started again. Raises `SetupError`."""
    from adapters.chat.live import ChatTurns
    from adapters.durable.journal import WorkerSlot

    slot = WorkerSlot.take(house.settings.data, kind="slack-app")
    try:
        yield ChatTurns(house.tenancy.turns, slot.worker_id)
    finally:
        slot.release()


def _slack_installing(app: web.Application, env: Mapping[str, str], house: House) -> AbstractAsyncContextManager[None]:
    from adapters.chat.slack.bot import serve_installing
    from adapters.chat.slack.settings import SlackSettings
    from adapters.web.faults import notice_page

    links = page_links(env, house.settings)
    return serve_installing(app, SlackSettings.from_env(env), notice_page, links=links, tenancy=house.tenancy)


def page_links(env: Mapping[str, str], settings: BotSettings) -> PageLinks:
    """Raises `SetupError`."""
    return PageLinks(WebSettings.from_env(env).public_url, signing_keys(env, settings.data), utc_now)


def receipts_of(env: Mapping[str, str], settings: BotSettings, records: Records) -> Receipts:
    """Raises `SetupError`."""
    address = WebSettings.from_env(env).public_url
    return Receipts(records.jobs, records.sources, records.traces, address, receipt_keys(env, settings.data))


# What the chats would be sent for a job, for the page that draws it: the renderers' own payloads, as JSON


def chat_previews(links: PageLinks) -> Mapping[str, Preview]:
    """By platform. Needs a running event loop, as discord.py's views do."""
    from adapters.chat.discord.payload import view_of
    from adapters.chat.discord.render import DiscordVoice
    from adapters.chat.slack.render import SlackVoice

    def slack(job: ResearchJob, result: JobResult | None, sources: Sequence[Source], snapshot: Snapshot | None) -> str:
        message = _shown(SlackVoice(links), job, result, sources, snapshot)
        threaded = {"blocks": message.threaded.blocks} if message.threaded else None
        return json.dumps({"text": message.text, "blocks": message.blocks, "threaded": threaded})

    def discord(
        job: ResearchJob, result: JobResult | None, sources: Sequence[Source], snapshot: Snapshot | None
    ) -> str:
        message = _shown(DiscordVoice(links), job, result, sources, snapshot)
        view = view_of(message)
        return json.dumps({"embeds": [message.embed.to_dict()], "components": view.to_components() if view else []})

    return {"slack": slack, "discord": discord}


def _shown(
    voice: Voice[Shown],
    job: ResearchJob,
    result: JobResult | None,
    sources: Sequence[Source],
    snapshot: Snapshot | None,
) -> Shown:
    """Of a job that runs, how far it is."""
    if snapshot is None:
        return voice.outcome(job, result, sources)
    return voice.progress(job, snapshot, max(0.0, (utc_now() - job.created_at).total_seconds()))
