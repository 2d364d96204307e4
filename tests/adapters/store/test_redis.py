"""What is Redis's own in the answer cache: key layout, expiry by the server, and failing open."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from adapters.store.redis import RedisAnswerCache
from core.errors import SetupError
from tests.adapters.store.samples import CHANNEL, Notes
from tests.servers import free_port

HOUR = timedelta(hours=1)


@pytest.fixture
async def server(redis_url):
    async with Redis.from_url(redis_url) as connection:
        yield connection


async def test_key_names_the_scope_and_expires_on_the_server(redis_url, server, clock):
    """`forget` finds a scope's answers by prefix, and Redis drops them by itself; the question itself is not kept."""
    cache = RedisAnswerCache(redis_url, clock=clock, recorder=Notes())

    await cache.put(CHANNEL, "why is the sky blue", "job_1", ttl=HOUR)

    digest = hashlib.sha256(b"why is the sky blue").hexdigest()
    assert await server.keys() == [f"gorkd:answer:discord:1:channel:2:{digest}".encode()]
    assert 0 < await server.pttl(f"gorkd:answer:discord:1:channel:2:{digest}") <= 3_600_000
    await cache.aclose()


@pytest.mark.parametrize("value", [b"\xff\xfe", b"{}", b"job_1"], ids=["not text", "other JSON", "not JSON"])
async def test_unreadable_value_is_a_miss(redis_url, server, clock, caplog, value):
    """What another program has put there is logged and not served."""
    cache = RedisAnswerCache(redis_url, clock=clock, recorder=Notes())
    await cache.put(CHANNEL, "key", "job_1", ttl=HOUR)
    (name,) = await server.keys()
    await server.set(name, value)

    with caplog.at_level(logging.WARNING):
        found = await cache.get(CHANNEL, "key")

    assert found is None
    assert len(caplog.records) == 1
    await cache.aclose()


async def test_refused_connection_is_a_quick_miss_that_is_logged_and_counted(clock, caplog):
    """Within half a second, for a look-up and for a put."""
    notes = Notes()
    cache = RedisAnswerCache(f"redis://127.0.0.1:{free_port()}/0", clock=clock, recorder=notes)
    began = time.monotonic()

    with caplog.at_level(logging.WARNING):
        found = await cache.get(CHANNEL, "key")
        looked_up = time.monotonic()
        await cache.put(CHANNEL, "key", "job_1", ttl=HOUR)

    assert found is None
    assert looked_up - began < 0.5
    assert time.monotonic() - looked_up < 0.5
    assert [(note.name, note.label) for note in notes.taken] == [("errors", "cache:ConnectionError")] * 2
    assert len(caplog.records) == 2
    await cache.aclose()


async def test_silent_server_is_given_up(clock):
    """A server that accepts and never answers costs the timeout, no more."""
    notes = Notes()

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    cache = RedisAnswerCache(f"redis://127.0.0.1:{port}/0", clock=clock, recorder=notes, timeout_s=0.1)
    began = time.monotonic()

    found = await cache.get(CHANNEL, "key")

    assert found is None
    assert time.monotonic() - began < 0.5
    assert len(notes.taken) == 1
    await cache.aclose()
    silent.close()
    await silent.wait_closed()


async def test_cancelling_a_look_up_is_no_miss(clock):
    """Cancellation passes through instead of turning into an answer (the client may hold it up to its timeout)."""

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()
        writer.close()

    asked = asyncio.Event()
    silent = await asyncio.start_server(stay_silent, "127.0.0.1", 0)
    url = f"redis://127.0.0.1:{silent.sockets[0].getsockname()[1]}/0"
    cache = RedisAnswerCache(url, clock=clock, recorder=Notes())
    look_up = asyncio.create_task(cache.get(CHANNEL, "key"))
    await asked.wait()

    look_up.cancel()
    await asyncio.wait([look_up])

    assert look_up.cancelled()
    await cache.aclose()
    silent.close()
    await silent.wait_closed()


async def test_address_that_is_none_is_a_setup_error(clock):
    """The sentence names the setting and not what it holds, which may be a password."""
    with pytest.raises(SetupError, match="REDIS_URL") as caught:
        RedisAnswerCache("postgres://user:hunter2@host", clock=clock, recorder=Notes())

    assert "hunter2" not in str(caught.value)
