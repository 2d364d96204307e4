"""The environment's proxy holds for every call to a vendor or platform, and for no page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientError
from discord.http import HTTPClient

from adapters.chat.discord.bot import ResearchBot
from adapters.chat.discord.settings import DiscordSettings
from adapters.chat.slack.blocks import sentence_message
from adapters.chat.slack.client import Workspace, download, web_client
from adapters.chat.slack.reply import respond, upload
from adapters.chat.slack.settings import SLACK_API
from adapters.chat.slack.translate import SlackFile
from adapters.doctor import discord_probe, slack_install_probe, slack_probe
from adapters.llm.embeddings import build_embeddings
from adapters.llm.openai import build_chat, build_web_search
from adapters.pages import WebPages
from adapters.proxies import Proxies
from adapters.search import build_providers, close_providers
from bots.config import secrets_in
from core.llm.ask_model import complete
from core.model.answer import AnswerFile
from core.model.config import SearchSettings
from core.model.errors import AddressBlocked, GorkdError, SetupError
from core.model.job import LOCAL
from core.model.ports import ChatRequest
from core.model.source import SearchQuery
from tests.adapters.durable.outside import PAGES, QUESTION
from tests.adapters.durable.processes import Process
from tests.golden import samples
from tests.loopback.discord_house import LAUNCHER, SETTINGS, is_final
from tests.loopback.discord_world import TOKEN, DiscordWorld, discord_world
from tests.loopback.proxy import Proxy, behind_proxy, forward_proxy
from tests.loopback.slack_state import BOT_TOKEN, GENERAL
from tests.loopback.slack_world import SlackWorld
from tests.loopback.web_world import PageSpec, WebWorld
from tests.loopback.world import World

FULL = Proxies("http://secure:1", "http://plain:2")
ADDRESSES = {
    "https": ("https://api.openai.com/v1", "", "http://secure:1"),
    "wss": ("wss://gateway.discord.gg/?v=10", "", "http://secure:1"),
    "http": ("http://127.0.0.1:11434/v1", "", "http://plain:2"),
    "ws": ("ws://127.0.0.1:5/gateway", "", "http://plain:2"),
    "everything": ("https://slack.com/api/", "*", None),
    "a name": ("https://slack.com/api/", "slack.com", None),
    "below a name": ("https://files.slack.com/x", "slack.com", None),
    "below a dot": ("https://files.slack.com/x", ".slack.com", None),
    "below a star": ("https://files.slack.com/x", "*.slack.com", None),
    "not below a name": ("https://notslack.com/", "slack.com", "http://secure:1"),
    "another name": ("https://slack.com/", "discord.com,example.org", "http://secure:1"),
    "the second of a list": ("https://slack.com/", "discord.com, Slack.com", None),
    "its port": ("http://127.0.0.1:11434/v1", "127.0.0.1:11434", None),
    "another port": ("http://127.0.0.1:11434/v1", "127.0.0.1:80", "http://plain:2"),
    "the port that goes without saying": ("https://slack.com/", "slack.com:443", None),
    "a network": ("http://10.1.2.3/v1", "10.0.0.0/8", None),
    "another network": ("http://11.1.2.3/v1", "10.0.0.0/8", "http://plain:2"),
    "IPv6": ("http://[::1]:8080/v1", "::1", None),
    "IPv6 with a port": ("http://[::1]:8080/v1", "[::1]:8080", None),
}


@pytest.mark.parametrize(("url", "exceptions", "expected"), ADDRESSES.values(), ids=ADDRESSES)
@pytest.mark.parametrize("letters", [str.upper, str.lower], ids=["large", "small"])
def test_which_way_an_address_is_reached(
    url: str, exceptions: str, expected: str | None, letters: Callable[[str], str]
):
    given = {"HTTPS_PROXY": "http://secure:1", "HTTP_PROXY": "plain:2", "NO_PROXY": exceptions}

    way = Proxies.from_env({letters(name): value for name, value in given.items()}).of(url)

    assert way == expected


@pytest.mark.parametrize("value", ["socks5://proxy:1080", "http://:3128", "http://proxy:99999999"])
def test_what_is_no_proxy_is_refused_without_being_repeated(value: str):
    with pytest.raises(SetupError, match="HTTPS_PROXY") as refused:
        Proxies.from_env({"HTTPS_PROXY": value})

    assert value not in str(refused.value)


def test_a_proxys_password_is_a_secret():
    env = {"HTTPS_PROXY": "http://gorkd:hunter2-hunter2@proxy:3128"}

    assert "hunter2-hunter2" in secrets_in(env)
    assert "hunter2" not in repr(Proxies.from_env(env))


async def ask_model(env: Mapping[str, str]) -> None:
    model = build_chat(env)
    assert model is not None
    await complete(model, ChatRequest("test", "s", "u", "test", {"type": "object"}, max_tokens=5, timeout_s=5))


async def embed(env: Mapping[str, str]) -> None:
    embedder = build_embeddings(env)
    await embedder.embed(["x"])


async def search_by_model(env: Mapping[str, str]) -> None:
    searching = build_web_search({**env, "GORKD_PROVIDERS": "openai"})
    request = ChatRequest("test", "s", "u", "test", {"type": "object"}, max_tokens=5, timeout_s=5)
    await searching.search_and_write(request, depth="light")


def search(name: str) -> Callable[[Mapping[str, str]], Awaitable[None]]:
    async def ask(env: Mapping[str, str]) -> None:
        keys = {"TAVILY_API_KEY": "tvly-0123456789", "EXA_API_KEY": "exa-0123456789", "GORKD_PROVIDERS": name}
        built = build_providers({**env, **keys}, data_dir=Path(), default_files=[], search=SearchSettings())
        try:
            await built[name].search(SearchQuery("moon tides"), limit=1, scope=LOCAL)
        finally:
            await close_providers(built)

    return ask


def in_discord(reach: Callable[[HTTPClient], Awaitable[object]]) -> Callable[[Mapping[str, str]], Awaitable[object]]:
    """What a bot reaches for that has logged in as far as it can."""

    async def call(env: Mapping[str, str]) -> None:
        settings = DiscordSettings.from_env({**env, "DISCORD_TOKEN": "t"})
        async with ResearchBot(samples.chat_deps(None), settings) as bot:
            with pytest.raises(ClientError):
                await bot.login("t")
            await reach(bot.http)

    return call


def workspace(env: Mapping[str, str]) -> Workspace:
    return Workspace("T1", "B1", "U1", web_client("xoxb-1", proxies=Proxies.from_env(env)))


async def load_from_slack(env: Mapping[str, str]) -> None:
    file = SlackFile("F1", "a.pdf", "application/pdf", "https://files.slack.com/F1", 5)
    await download(file, workspace(env), max_bytes=9)


async def respond_to_slack(env: Mapping[str, str]) -> None:
    client, url = workspace(env).client, "https://hooks.slack.com/commands/1"
    if not await respond(client, url, sentence_message("On it.")):
        raise ConnectionError


VENDORS: dict[str, tuple[Callable[[Mapping[str, str]], Awaitable[object]], str]] = {
    "the model": (ask_model, "api.openai.com:443"),
    "embeddings": (embed, "api.openai.com:443"),
    "the model's own search": (search_by_model, "api.openai.com:443"),
    "Tavily": (search("tavily"), "api.tavily.com:443"),
    "Exa": (search("exa"), "api.exa.ai:443"),
    "Wikipedia": (search("wikipedia"), "en.wikipedia.org:443"),
    "PubMed": (search("pubmed"), "eutils.ncbi.nlm.nih.gov:443"),
    "arXiv": (search("arxiv"), "export.arxiv.org:443"),
    "Discord's API": (in_discord(lambda http: http.static_login("t")), "discord.com:443"),
    "Discord's gateway": (
        in_discord(lambda http: http.ws_connect("wss://gateway.discord.gg/?v=10")),
        "gateway.discord.gg:443",
    ),
    "Discord's files": (
        in_discord(lambda http: http.get_from_cdn("https://cdn.discordapp.com/a/b.pdf")),
        "cdn.discordapp.com:443",
    ),
    "Slack's API": (
        lambda env: web_client("xoxb-1", api_url=SLACK_API, proxies=Proxies.from_env(env)).auth_test(),
        "slack.com:443",
    ),
    "Slack's files": (load_from_slack, "files.slack.com:443"),
    "Slack's response address": (respond_to_slack, "hooks.slack.com:443"),
    "doctor at Discord": (lambda env: discord_probe("t", Proxies.from_env(env)).run(), "discord.com:443"),
    "doctor at Slack": (lambda env: slack_probe("xoxb-1", proxies=Proxies.from_env(env)).run(), "slack.com:443"),
    "doctor at Slack's front door": (
        lambda env: slack_install_probe("https://a.example", f"{SLACK_API}api.test", Proxies.from_env(env)).run(),
        "slack.com:443",
    ),
}


@pytest.mark.parametrize(("call", "target"), VENDORS.values(), ids=VENDORS)
async def test_every_vendor_at_its_own_address_is_asked_for_through_the_proxy(
    call: Callable[[Mapping[str, str]], Awaitable[object]], target: str, monkeypatch: pytest.MonkeyPatch
):
    """By CONNECT, which this proxy then refuses. What stands in `os.environ` besides is nobody's business."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with forward_proxy() as proxy:
        env = {
            "HTTPS_PROXY": proxy.url, "OPENAI_API_KEY": "sk-0123456789", "GORKD_EMBEDDING_MODEL": "e",
            "NO_PROXY": "another.example",
        }  # fmt: skip

        with pytest.raises((GorkdError, OSError, ClientError)):
            await call(env)

        assert target in proxy.asked


async def test_what_is_excepted_never_meets_the_proxy(monkeypatch: pytest.MonkeyPatch):
    """slack_sdk reads the environment by itself, and forgets NO_PROXY."""
    async with forward_proxy() as proxy, SlackWorld.open() as slack:
        for name in ("HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        proxies = Proxies.from_env({"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url, "NO_PROXY": "127.0.0.0/8"})
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/", proxies=proxies)

        said = await client.auth_test()
        await upload(client, AnswerFile("a.md", "text/markdown", "# A"))

        assert said["ok"]
        assert proxy.asked == []


async def test_an_upload_to_slack_goes_through_the_proxy():
    async with forward_proxy() as proxy, SlackWorld.open() as slack:
        hide(slack)
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/", proxies=Proxies(http=proxy.url))

        file_id = await upload(client, AnswerFile("a.md", "text/markdown", "# A"))

        assert file_id
        assert len(proxy.asked) == 2  # for the address, and to it


def hide(world: SlackWorld | DiscordWorld) -> None:
    """Only the proxy knows where it is."""
    world.url = behind_proxy(world.url)
    if isinstance(world, SlackWorld):
        world.api.base_url = world.socket.base_url = world.url
    else:
        world.gateway.url = behind_proxy(world.gateway.url)


@asynccontextmanager
async def hidden_house(data: Path, proxy: Proxy) -> AsyncIterator[tuple[Process, SlackWorld, DiscordWorld, World]]:
    """Everything in one process; vendors and platforms only the proxy can reach, pages only we ourselves."""
    async with discord_world() as there, SlackWorld.open() as slack, World.of(PAGES) as world:
        hide(slack)
        hide(there)
        vendors = json.loads(behind_proxy(json.dumps(world.env(data, model=True, embedder=True))))
        env = {
            **SETTINGS, **vendors, **slack.env(), "PORT": "0", "DISCORD_TOKEN": TOKEN, "LOOPBACK_DISCORD": there.url,
            "GORKD_FETCH_ALLOW": "127.0.0.0/8", "GORKD_DATA": str(data), "HTTP_PROXY": proxy.url,
        }  # fmt: skip
        process = await Process.start("all", env, module=LAUNCHER)
        try:
            await asyncio.wait_for(slack.socket.connected.wait(), 30)
            await there.until(lambda: there.gateway.is_connected, within_s=30)
            yield process, slack, there, world
        finally:
            await process.killed()


async def test_both_bots_answer_where_only_the_proxy_leads_out(tmp_path: Path):
    """Searches, the model, the gateway, Socket Mode: all by the proxy; pages are read directly."""
    async with forward_proxy() as proxy, hidden_house(tmp_path, proxy) as (_, slack, there, world):
        await slack.mentions("UADA", GENERAL, QUESTION)
        asked = there.slash("research", query=QUESTION)
        await slack.until(
            lambda: any(one.text.startswith("Research Complete") for one in slack.state.of_bot(GENERAL)), within_s=40
        )
        await there.until(lambda: any(is_final(one) for one in there.replies_to(asked)), within_s=40)

        through = proxy.hosts()
        assert {host(url) for url in (slack.url, there.url, behind_proxy(world.model.url))} <= through
        assert host(behind_proxy(world.search.base_url("tavily"))) in through
        assert len(world.web.requests) > 0
        assert host(behind_proxy(world.web.url("/"))) not in through


def host(url: str) -> str:
    return url.split("/")[2]


async def test_pages_go_through_the_filtering_egress_that_is_named_for_them():
    """And private addresses, however they are spelled, are not even asked for there."""
    article = (
        f"<html><body><article><h1>Tides</h1><p>{'The Moon raises the tides of the sea. ' * 9}</p></article></body>"
    )
    async with WebWorld({"/page": PageSpec(article)}) as world, forward_proxy() as egress:
        pages = WebPages.from_env({"GORKD_FETCH_PROXY": egress.url, "HTTP_PROXY": "http://127.0.0.1:9"})
        try:
            page = await pages.fetch(behind_proxy(world.url("/page")))
            for private in (
                "http://127.0.0.1/",
                "http://2130706433/",
                "http://0x7f.1/",
                "http://[::1]/",
                "http://10.1/",
            ):
                with pytest.raises(AddressBlocked):
                    await pages.fetch(private)
            with pytest.raises(AddressBlocked):
                await pages.fetch("http://redis.example:6379/")
        finally:
            await pages.aclose()

    assert "The Moon raises the tides" in page.text
    assert egress.hosts() == {host(behind_proxy(world.url("/page")))}
