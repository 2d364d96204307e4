"""Small real tries of what an installation is made of, for `gorkd doctor`.

Each function makes one `Probe` (core/pipeline/checkup.py). None of them changes anything, and none says a secret.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter

from adapters.pages.extraction import find_tesseract
from adapters.proxies import DIRECT, Proxies
from adapters.secrets import TOKEN_FILE
from adapters.web.settings import TRUSTS_LOCAL, WebSettings
from core.llm.ask_model import complete, strict
from core.llm.prices import AS_OF, Prices, cost_usd
from core.model.answer import ModelUsage
from core.model.errors import ProviderError, SetupError
from core.model.job import LOCAL, Json
from core.model.ports import ChatModel, ChatRequest, EmbeddingModel, SearchProvider
from core.model.source import SearchQuery
from core.model.works import WorkIds
from core.pipeline.checkup import Doubt, NobodyThere, Probe
from core.tenancy.admission import Budget, require_price
from core.text.growing_json import parse_object
from core.works.registry import Registry

MODEL_TIMEOUT_S = 15.0
CONNECT_TIMEOUT_S = 5.0
_WORD = "lighthouse"  # a query that every encyclopedia and web search answers
_RETRACTED = WorkIds.of(doi="10.1016/s0140-6736(97)11096-0")  # of 1998, retracted in 2010: about the best known one

_SCHEMA: Mapping[str, Json] = strict({"word": {"type": "string", "enum": ["ready"]}})


def folder_probe(folder: Path) -> Probe:
    """Written to, and closed to other users."""
    return Probe("data folder", lambda: asyncio.to_thread(_check_folder, folder))


def database_probe(part: str, open_database: Callable[[], Awaitable[None]]) -> Probe:
    """`open_database` opens, migrates and closes it. Raises `SetupError` or `StoreError` as stores do."""

    async def run() -> str:
        await open_database()
        return "opens, and its tables are those of this version"

    return Probe(part, run)


def model_probe(model: ChatModel | None) -> Probe:
    if model is None:
        return Probe(
            "model", off="answers are quoted word for word; set OPENAI_API_KEY or OPENAI_BASE_URL to have them written"
        )

    async def run() -> str:
        started = perf_counter()
        request = ChatRequest(
            purpose="doctor",
            system="Answer with the JSON object that the schema allows.",
            user="Say that you are ready.",
            schema_name="doctor",
            schema=_SCHEMA,
            max_tokens=200,
            timeout_s=MODEL_TIMEOUT_S,
        )
        heard = await complete(model, request)
        word = parse_object(heard.text).get("word")
        seconds = perf_counter() - started
        if word != "ready":
            raise Doubt(f"{model.name} answers in {seconds:.1f} s but not as the schema asks; try another GORKD_MODEL")
        if heard.cost(request).is_estimated:
            raise Doubt(f"{model.name} works, but reports no tokens: they are estimated, and so is the cost")
        return f"{model.name} answers with structured output in {seconds:.1f} s"

    return Probe("model", run)


def price_probe(model: ChatModel | None, prices: Prices, budget: Budget) -> Probe:
    if model is None:
        return Probe("cost", off="without a model nothing is paid for")

    async def run() -> str:
        require_price(budget, model.name, prices)
        if cost_usd(ModelUsage(), model.name, prices) is None:
            raise Doubt(f"the price of {model.name} is not known, so answers show no cost; set GORKD_PRICES")
        limits = "budgets are set" if budget.is_limited else "no budget is set"
        return f"{model.name} has a price (list prices are of {AS_OF}); {limits}"

    return Probe("cost", run)


def embedding_probe(embedder: EmbeddingModel | None) -> Probe:
    if embedder is None:
        return Probe("embeddings", off="sources are ranked by words alone; set GORKD_EMBEDDING_MODEL to add meaning")

    async def run() -> str:
        (vector,) = await embedder.embed([_WORD])
        return f"{embedder.name} answers with {len(vector)} dimensions"

    return Probe("embeddings", run)


def search_probe(provider: SearchProvider) -> Probe:
    """One search for a common word. No result is a doubt: the provider answered, but is of no use so far."""

    async def run() -> str:
        started = perf_counter()
        hits = await provider.search(SearchQuery(_WORD), limit=1, scope=LOCAL)
        if not hits and provider.strength != "files":
            raise Doubt(f"answers, but found nothing for “{_WORD}”; check its address")
        return f"answers in {perf_counter() - started:.1f} s"

    return Probe(f"search: {provider.name}", run)


def registry_probes(registries: Sequence[Registry]) -> list[Probe]:
    """One look-up of a work that every registry lists. Answers come without them, so that all trouble is a doubt."""
    if not registries:
        return [Probe("registries", off="no paper is looked up; unset GORKD_REGISTRIES to learn which were retracted")]
    return [Probe(f"registry: {one.name}", partial(_look_up, one)) for one in registries]


async def _look_up(registry: Registry) -> str:
    started = perf_counter()
    try:
        known = await registry.by_ids(_RETRACTED)
    except ProviderError as exc:
        raise Doubt(f"{exc.operator_message} Until then answers do without it, as with GORKD_REGISTRIES=none.") from exc
    if not known:
        raise Doubt("answers, but does not know a paper that every registry lists; check its address")
    return f"answers in {perf_counter() - started:.1f} s"


def ocr_probe() -> Probe:
    """Without it papers that are scans are refused, with a sentence that says so."""
    found = find_tesseract()
    if not found:
        return Probe("scanned papers", off="cannot be read; install tesseract-ocr to have them read by OCR")

    async def run() -> str:
        return f"are read by OCR, with {found}"

    return Probe("scanned papers", run)


def redis_probe(url: str) -> Probe:
    if not url:
        return Probe("Redis", off="not needed on one machine; set REDIS_URL to share limits and events among several")
    return Probe("Redis", lambda: _check_redis(url))


def port_probe(host: str, port: int) -> Probe:
    """Free, or held by a gorkd that answers."""
    return Probe("pages", lambda: _check_port(host, port))


def access_probe(settings: WebSettings, folder: Path) -> Probe:
    """Who needs a token to ask on the pages and over HTTP."""

    async def run() -> str:
        if settings.trust_local:
            raise Doubt(f"{TRUSTS_LOCAL}; unset it when everybody has a token")
        if settings.trusts_this_machine:
            return (
                "this machine asks without a token, and so would everybody behind a proxy on it that adds no header; "
                "before there is one, set GORKD_API_TOKENS or GORKD_PUBLIC_URL"
            )
        if settings.api_tokens:
            return "everybody needs one of the tokens in GORKD_API_TOKENS"
        return f"everybody needs the token in {folder / TOKEN_FILE}, made at the first start"

    return Probe("access", run)


def discord_probe(token: str, proxies: Proxies = DIRECT) -> Probe:
    if not token:
        return Probe("Discord", off="set DISCORD_TOKEN to answer there")
    return Probe("Discord", lambda: _check_discord(token, proxies))


def slack_probe(
    token: str, app_token: str = "", *, base_url: str = "https://slack.com/api/", proxies: Proxies = DIRECT
) -> Probe:
    """Tries the tokens that are there, and whether the bot's may do all that the manifest asks for."""
    if not token:
        return Probe("Slack", off="set SLACK_BOT_TOKEN and SLACK_APP_TOKEN to answer there")
    return Probe("Slack", lambda: _check_slack(token, app_token, base_url, proxies))


def slack_install_probe(public_url: str, api_test: str, proxies: Proxies = DIRECT) -> Probe:
    """Of an app that any workspace may install: whether browsers can come back. `api_test` answers without a token."""

    async def run() -> str:
        import aiohttp

        if not public_url.startswith("https://"):
            raise Doubt("Slack sends browsers back to https alone; set GORKD_PUBLIC_URL to an address with https")
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S)) as session,
                session.post(api_test, proxy=proxies.of(api_test)) as response,
            ):
                response.raise_for_status()
        except (aiohttp.ClientError, OSError, TimeoutError) as exc:
            raise NobodyThere(f"Slack cannot be reached ({type(exc).__name__}); check the network") from exc
        return f"workspaces install the app at {public_url.rstrip('/')}/slack/install"

    return Probe("Slack", run)


def _check_folder(folder: Path) -> str:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"gorkd")
        free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        mode = stat.S_IMODE(folder.stat().st_mode)
        open_files = [path.name for path in folder.iterdir() if path.is_file() and path.stat().st_mode & 0o077]
    except OSError as exc:
        raise SetupError(f"{folder} cannot be written ({exc.strerror}); point GORKD_DATA to a folder that can") from exc
    if free < 100 * 1024 * 1024:
        raise Doubt(f"{folder} has only {free // 1024 // 1024} MB free; make room or move GORKD_DATA")
    if mode & 0o077 and open_files:
        raise Doubt(f"other users of this machine can read {folder}; run chmod -R go= {folder}")
    return f"{folder} can be written, {free // 1024**3} GB free"


async def _check_redis(url: str) -> str:
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.exceptions import AuthenticationError, RedisError

    try:
        redis = Redis.from_url(
            url, socket_connect_timeout=CONNECT_TIMEOUT_S, socket_timeout=CONNECT_TIMEOUT_S, retry=Retry(NoBackoff(), 0)
        )
    except ValueError as exc:
        raise SetupError("REDIS_URL is not an address such as redis://host:6379/0") from exc
    try:
        version = (await redis.info("server"))["redis_version"]
        started = perf_counter()  # connected by now: what every later call takes
        await redis.ping()
        return f"Redis {version} answers in {(perf_counter() - started) * 1000:.0f} ms"
    except AuthenticationError as exc:
        raise SetupError("Redis refuses the password in REDIS_URL") from exc
    except (RedisError, OSError, TimeoutError) as exc:
        raise SetupError("Redis does not answer at REDIS_URL; start it there or correct the address") from exc
    finally:
        await redis.aclose()


async def _check_port(host: str, port: int) -> str:
    if port == 0:
        return f"any free port on {host}"
    if await _is_gorkd(host, port):
        return f"gorkd runs on {host}:{port}"
    try:
        with socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET):
            return f"{host}:{port} is free"
    except OSError as exc:
        raise SetupError(f"{host}:{port} is taken or not allowed ({exc.strerror}); set HOST or PORT") from exc


async def _is_gorkd(host: str, port: int) -> bool:
    import aiohttp
    from yarl import URL

    address = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104  # what it listens on, not what we open
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=CONNECT_TIMEOUT_S)) as session,
            session.get(URL.build(scheme="http", host=address, port=port, path="/health")) as response,
        ):
            return response.status == 200 and "status" in await response.text()
    except (aiohttp.ClientError, OSError, TimeoutError):
        return False


async def _check_discord(token: str, proxies: Proxies) -> str:
    import aiohttp
    import discord
    from discord.http import HTTPClient, Route

    from adapters.chat.discord.settings import invitation

    http = HTTPClient(asyncio.get_running_loop(), proxy=proxies.of(Route.BASE))
    try:
        user = await http.static_login(token)
        return f"the token is accepted as {user['username']}; invite it with {invitation(str(user['id']))}"
    except discord.LoginFailure as exc:
        raise SetupError("Discord refuses DISCORD_TOKEN; copy the bot's token anew from the developer portal") from exc
    except (discord.HTTPException, aiohttp.ClientError, OSError) as exc:
        raise NobodyThere(f"Discord cannot be reached ({type(exc).__name__}); check the network") from exc
    finally:
        await http.close()


async def _check_slack(token: str, app_token: str, base_url: str, proxies: Proxies) -> str:
    import aiohttp
    from slack_sdk.errors import SlackApiError

    from adapters.chat.slack.client import SlackClient, missing_scopes

    variable = "SLACK_BOT_TOKEN"
    try:
        client = SlackClient(token, proxies=proxies, base_url=base_url, timeout=int(CONNECT_TIMEOUT_S))
        answer = await client.auth_test()
        if app_token:
            variable = "SLACK_APP_TOKEN"
            await client.apps_connections_open(app_token=app_token)  # names an address; nobody connects to it
    except SlackApiError as exc:
        reason = str(exc.response.get("error", "unknown"))[:40]
        raise SetupError(f"Slack refuses {variable} ({reason}); install the app anew and copy its token") from exc
    except (aiohttp.ClientError, OSError, TimeoutError) as exc:
        raise NobodyThere(f"Slack cannot be reached ({type(exc).__name__}); check the network") from exc
    whose = f"as {answer.get('user')} in {answer.get('team')}"
    if missing := missing_scopes(answer.headers):
        raise Doubt(
            f"accepted {whose}, but the app may not {', '.join(missing)}; add these scopes under OAuth & Permissions, "
            "as manifest.yml has them, and install the app anew (docs/slack.md says what goes without)"
        )
    return f"both tokens are accepted, {whose}" if app_token else f"the bot token is accepted {whose}"
