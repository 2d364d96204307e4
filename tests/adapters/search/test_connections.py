"""What each way of asking makes of a service that cannot be reached, or does not end (S003-08, S003-23)."""

from __future__ import annotations

import asyncio
import importlib
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from core.model.config import SearchSettings
from core.model.errors import (
    ProviderGarbled,
    ProviderTimeout,
    ProviderUnavailable,
)
from core.model.job import LOCAL
from tests.adapters.search.making import CORPUS, HASTY, QUERY, ask_at, ask_failing, each_way, provider
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import KEYS, SearchWorld


def env_of(name: str, base_url: str) -> dict[str, str]:
    return {f"{name.upper()}_BASE_URL": base_url, **dict(KEYS.values())}


@pytest.fixture(scope="module", autouse=True)
def sdks() -> None:
    """Imported, as they are before a process says that it is ready: what is timed here is the service."""
    for name in ("exa_py", "tavily"):
        importlib.import_module(name)


@pytest.fixture
def closed_port() -> int:
    """A port that refuses connections."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def deaf_port() -> Iterator[int]:
    """A port whose queue of connections is full: the handshake is never answered."""
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = int(listener.getsockname()[1])
        fillers = [socket.socket() for _ in range(3)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        yield port
        for filler in fillers:
            filler.close()


@each_way
async def test_a_refused_connection_is_given_up_at_once(name: str, closed_port: int) -> None:
    """Without network an answer comes within five seconds, so nothing may be retried or waited for."""
    started = time.monotonic()

    with pytest.raises(ProviderUnavailable) as caught:
        await ask_at(name, env_of(name, f"http://127.0.0.1:{closed_port}"))

    assert time.monotonic() - started < 2.0
    assert f"{name.upper()}_BASE_URL" in caught.value.operator_message


@each_way
async def test_an_unknown_host_is_given_up_at_once(name: str) -> None:
    """A label over 63 characters is refused by the resolver itself, without a look-up."""
    started = time.monotonic()

    with pytest.raises(ProviderUnavailable):
        await ask_at(name, env_of(name, f"http://{'a' * 64}.test"))

    assert time.monotonic() - started < 2.0


@each_way
async def test_a_silent_host_is_given_up_within_the_time_to_connect(name: str, deaf_port: int) -> None:
    """The time to connect is its own, much shorter limit."""
    search = SearchSettings(provider_timeout_s=10, connect_timeout_s=0.5)
    started = time.monotonic()

    with pytest.raises((ProviderUnavailable, ProviderTimeout)):
        await ask_at(name, env_of(name, f"http://127.0.0.1:{deaf_port}"), search=search)

    assert time.monotonic() - started < 2.0


@each_way
async def test_a_busy_machine_is_no_silent_host(name: str) -> None:
    """A worker that takes up many jobs at once is late itself: every question of the next moments would fail."""
    search = SearchSettings(provider_timeout_s=10, connect_timeout_s=0.05)
    async with SearchWorld(CORPUS) as world:
        others = asyncio.create_task(_work_on(turn_s=0.05))
        try:
            async with provider(name, world.env(name), search=search) as searched:
                hits = await searched.search(QUERY, limit=3, scope=LOCAL)
        finally:
            others.cancel()

    assert hits


async def _work_on(*, turn_s: float) -> None:
    """What other jobs do with the loop's processor."""
    while True:
        ends_at = time.monotonic() + turn_s
        while time.monotonic() < ends_at:
            pass
        await asyncio.sleep(0)


@each_way
async def test_what_is_down_is_not_asked_again_for_a_while(name: str, closed_port: int) -> None:
    """The other queries of the same question must not pay for the same discovery."""
    async with provider(name, env_of(name, f"http://127.0.0.1:{closed_port}")) as searched:
        with pytest.raises(ProviderUnavailable):
            await searched.search(QUERY, limit=3, scope=LOCAL)
        with closing(socket.create_server(("127.0.0.1", closed_port))) as listener:
            listener.setblocking(False)

            with pytest.raises(ProviderUnavailable):
                await searched.search(QUERY, limit=3, scope=LOCAL)

            with pytest.raises(BlockingIOError):  # nobody stands in its queue
                listener.accept()


@each_way
@pytest.mark.parametrize("kind", ["hang", "drip"])
async def test_a_server_that_never_ends_is_a_timeout(name: str, kind: str) -> None:
    """A byte now and then does not keep a call alive: the limit is for the whole search (S003-08)."""
    fault = Fault(kind="hang") if kind == "hang" else Fault(kind="drip")
    started = time.monotonic()

    with pytest.raises(ProviderTimeout):
        await ask_failing(name, fault, search=HASTY)

    assert time.monotonic() - started < HASTY.provider_timeout_s + 1.0


@each_way
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(kind="reset"), id="before the answer"),
        pytest.param(Fault(kind="reset_in_body"), id="within the answer"),
        pytest.param(
            Fault(kind="raw", body=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}"), id="longer length than body"
        ),
        pytest.param(
            Fault(kind="raw", body=b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"results": []}'),
            id="shorter length than body",
        ),
        pytest.param(Fault(kind="raw", body=b"\x16\x03\x01 no HTTP at all\r\n\r\n"), id="not HTTP"),
        pytest.param(Fault(kind="raw", body=b""), id="nothing"),
    ],
)
async def test_a_broken_connection_is_an_error_of_ours(name: str, fault: Fault) -> None:
    """Whatever stage the connection breaks in."""
    with pytest.raises((ProviderUnavailable, ProviderGarbled)):
        await ask_failing(name, fault)


@each_way
async def test_cancelling_a_waiting_search_ends_it(name: str) -> None:
    """While the service hangs."""
    async with SearchWorld(CORPUS, faults={name: Fault(kind="hang")}) as world:
        search = asyncio.create_task(ask_at(name, world.env(name)))
        await world.was_asked.wait()

        search.cancel()

        with pytest.raises(asyncio.CancelledError):
            await search
