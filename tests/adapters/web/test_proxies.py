"""Strangers behind a proxy on this machine, through a real nginx and by the headers that proxies leave (N-08)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from adapters.web.settings import WebSettings
from core.model.errors import SetupError
from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import web_app
from tests.fakes import KeptUsage
from tests.servers import running_nginx

TOKEN = "a-token-of-this-server"
PUBLIC = "https://gorkd.example.org"
QUESTION = {"query": "How tall is the tower?"}
CLOSED = {
    "tokens": WebSettings(api_tokens=(TOKEN,)),
    "somebody's token for figures": WebSettings(stats_tokens=(f"slack:T1={TOKEN}",)),
    "a public URL": WebSettings(public_url=PUBLIC),
    "a host for all": WebSettings(host="0.0.0.0"),
}


@asynccontextmanager
async def behind_nginx(folder: Path, settings: WebSettings, *directives: str) -> AsyncIterator[ClientSession]:
    """A client of the pages, through nginx's `proxy_pass`."""
    async with TestServer(web_app(None, settings, usage=KeptUsage())) as server:
        assert server.port is not None
        nginx = running_nginx(folder, server.port, *directives)
        port = await asyncio.to_thread(nginx.__enter__)
        try:
            async with ClientSession(f"http://127.0.0.1:{port}") as client:
                yield client
        finally:
            nginx.__exit__(None, None, None)


async def what_a_stranger_gets(client: ClientSession, **headers: str) -> tuple[int, int]:
    """The statuses of a question and of everybody's usage."""
    async with client.post("/v1/research", json=QUESTION, headers=headers) as asked:
        pass
    async with client.get("/admin", headers=headers, allow_redirects=False) as admin:
        return asked.status, admin.status


async def test_the_token_gets_in_through_the_proxy(tmp_path: Path):
    async with behind_nginx(tmp_path, CLOSED["tokens"]) as client:
        got = await what_a_stranger_gets(client, Authorization=f"Bearer {TOKEN}")

    assert got == (202, 200)


async def test_nobody_has_no_limits_through_a_proxy_that_says_nothing(tmp_path: Path):
    """Strangers share one bucket then; that of this machine, which had none."""
    settings = CLOSED["tokens"].model_copy(update={"asks_per_minute": 2})
    async with behind_nginx(tmp_path, settings) as client:
        statuses = [(await what_a_stranger_gets(client, Authorization=f"Bearer {TOKEN}"))[0] for _ in range(3)]

    assert statuses == [202, 202, 429]


@pytest.mark.parametrize(
    ("settings", "directive"),
    [
        *(pytest.param(settings, "", id=name) for name, settings in CLOSED.items()),
        pytest.param(
            WebSettings(public_url=PUBLIC, trust_local=True), "Host gorkd.example.org", id="the name is everybody's"
        ),
        pytest.param(WebSettings(), "X-Forwarded-For $remote_addr", id="a proxy that says what it is"),
        pytest.param(WebSettings(), "X-Forwarded-Proto $scheme", id="its scheme"),
        pytest.param(WebSettings(), "X-Real-IP $remote_addr", id="the visitor's address"),
        pytest.param(WebSettings(), "Via nginx", id="its own name"),
    ],
)
async def test_nobody_gets_in_through_a_proxy(settings: WebSettings, directive: str, tmp_path: Path):
    """By `proxy_pass` alone what comes from this machine may come from anywhere; by what it adds, even where this
    machine may ask without a token.
    """
    added = [f"proxy_set_header {directive};"] if directive else []
    async with behind_nginx(tmp_path, settings, *added) as client:
        assert await what_a_stranger_gets(client) == (401, 303)


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(WebSettings(), id="neither token nor public URL"),
        pytest.param(WebSettings(api_tokens=(TOKEN,), trust_local=True), id="GORKD_TRUST_LOCAL=1"),
    ],
)
async def test_what_stays_open_stays_so_through_a_bare_proxy(settings: WebSettings, tmp_path: Path):
    """Nothing tells its visitors from this machine's: docs/deploy.md and `gorkd doctor` say so."""
    async with behind_nginx(tmp_path, settings) as client:
        assert await what_a_stranger_gets(client) == (202, 200)


@pytest.mark.parametrize(
    "header",
    """Forwarded X-Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Port X-Forwarded-Server X-Forwarded-Ssl
    X-Original-Forwarded-For Forwarded-For Via X-Real-IP X-Client-IP True-Client-IP Fastly-Client-IP X-Cluster-Client-IP
    X-ProxyUser-Ip CF-Connecting-IP CF-Ray CF-IPCountry CF-Visitor Fly-Client-IP X-Envoy-External-Address
    X-Amzn-Trace-Id X-Amz-Cf-Id X-Azure-ClientIP X-Appengine-User-IP Akamai-Origin-Hop X-Varnish X-Remote-Addr
    X-Original-Host X-Originating-IP X-ARR-LOG-ID Cdn-Loop X-HTTP-Via Proxy-Connection Tailscale-User-Login
    Ngrok-Auth-User-Email X-Host x-forwarded-anything""".split(),
)
async def test_whatever_proxies_add_is_a_proxy(header: str):
    """As a class: who forwards, for whom, and the networks that sell it."""
    async with conforming(web_app(None, WebSettings())) as client:
        asked = await client.post("/v1/research", json=QUESTION, headers={header: "x"})

    assert asked.status == 401


@pytest.mark.parametrize("header", ["Accept", "User-Agent", "X-Request-ID", "Idempotency-Key", "Traceparent", "Cookie"])
async def test_what_programs_send_themselves_is_none(header: str):
    async with conforming(web_app(None, WebSettings())) as client:
        asked = await client.post("/v1/research", json=QUESTION, headers={header: "x"})

    assert asked.status == 202


@pytest.mark.parametrize(
    ("settings", "trusts"),
    [
        pytest.param({}, True, id="as it comes"),
        pytest.param({"HOST": "::1", "GORKD_PUBLIC_URL": "http://localhost:9"}, True, id="loopback by other names"),
        pytest.param({"GORKD_API_TOKENS": TOKEN}, False, id="tokens"),
        pytest.param({"GORKD_PUBLIC_URL": PUBLIC}, False, id="a public URL"),
        pytest.param({"GORKD_PUBLIC_URL": "http://127.0.0.1.evil.test"}, False, id="a name that looks local"),
        pytest.param({"HOST": "192.168.1.7"}, False, id="a host of the network"),
        pytest.param({"HOST": "::"}, False, id="all hosts"),
        pytest.param({"HOST": "0.0.0.0", "GORKD_TRUST_LOCAL": "1"}, True, id="the exception"),
        pytest.param({"HOST": "0.0.0.0", "GORKD_TRUST_LOCAL": "0"}, False, id="no exception"),
    ],
)
def test_who_is_trusted_is_read_from_the_settings(settings: dict[str, str], trusts: bool):
    assert WebSettings.from_env(settings).trusts_this_machine is trusts


@pytest.mark.parametrize(
    "address", ["gorkd.example", "//gorkd.example", "ftp://gorkd.example", "https://", "http://[::1"]
)
def test_a_public_address_that_no_link_can_begin_with_is_refused(address: str) -> None:
    """N-08: links to answers are sent into chats; one without a scheme would lead nowhere, and nobody would be told."""
    with pytest.raises(SetupError) as refused:
        WebSettings.from_env({"GORKD_PUBLIC_URL": address})

    assert str(refused.value).startswith("GORKD_PUBLIC_URL must be an address with http:// or https://, not ")
