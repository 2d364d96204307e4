"""The known faults of a world gorkd lives in, by the ids of the shared table, as things to do to a running house.

A fault that only a single component can meet, or that takes the place away in which an answer is due, is not for a
house of many processes: it stands with the test that covers it.
"""

from __future__ import annotations

import asyncio
import random
import resource
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from tests.adapters.durable.outside import PAGES, USUAL
from tests.adapters.durable.test_disk import FILES, fill, locked
from tests.loopback.discord_world import Fault as DiscordFault
from tests.loopback.openai_responders import Fault as ModelFault
from tests.loopback.openai_responders import Respond, by_schema
from tests.loopback.search_faults import Fault as SearchFault
from tests.loopback.slack_api import Fault as SlackFault
from tests.loopback.web_world import PageSpec
from tests.servers import PostgresServer, RedisServer

if TYPE_CHECKING:
    from tests.soak.house import SoakHouse

LASTS_S = 4.0
Inflict = Callable[["SoakHouse"], Awaitable[None]]


def search(*faults: SearchFault) -> Inflict:
    async def inflict(house: SoakHouse) -> None:
        house.world.search.faults["tavily"] = house.rng.choice(faults)
        await asyncio.sleep(LASTS_S)
        house.world.search.faults.clear()

    return inflict


def model(*changes: Callable[[str], ModelFault]) -> Inflict:
    """The model's next answers are what one of `changes` makes of a good one."""

    async def inflict(house: SoakHouse) -> None:
        change = house.rng.choice(changes)

        def broken(usual: Respond) -> Respond:
            return lambda call: change(str(usual(call)))

        house.world.model.respond = by_schema({schema: broken(usual) for schema, usual in USUAL.items()})
        await asyncio.sleep(LASTS_S)
        house.world.model.respond = by_schema(USUAL)

    return inflict


def ends(**how: Any) -> Callable[[str], ModelFault]:
    return lambda text: replace(ModelFault(text=text), **how)


def says(text: str) -> Callable[[str], ModelFault]:
    return lambda _: ModelFault(text=text)


def cites(marker: str) -> Callable[[str], ModelFault]:
    return lambda text: ModelFault(text=text.replace("[1]", marker))


def web(*paths: str, **how: Any) -> Inflict:
    async def inflict(house: SoakHouse) -> None:
        web, path = house.world.web, house.rng.choice(paths or [*PAGES])
        usual = web.pages
        web.pages = {**usual, path: replace(usual.get(path, PageSpec("")), **how)}
        await asyncio.sleep(LASTS_S)
        web.pages = usual

    return inflict


async def slack_fails(house: SoakHouse) -> None:
    """A call that may be repeated is refused, breaks after it took effect, or loses its reply."""
    method = house.rng.choice(["chat.update", "chat.postMessage", "chat.appendStream", "chat.stopStream"])
    house.slack.api.faults[method] = SlackFault(house.rng.choice(["limited", "broken", "lost", "down"]))


def discord(*faults: tuple[str, DiscordFault]) -> Inflict:
    async def inflict(house: SoakHouse) -> None:
        route, fault = house.rng.choice(faults)
        house.discord.faults[route] = replace(fault)

    return inflict


def redis(*command: str, after: tuple[str, ...] = ()) -> Inflict:
    async def inflict(house: SoakHouse) -> None:
        async with Redis.from_url(house.redis.url) as connection:
            await connection.execute_command(*command)  # type: ignore[no-untyped-call]
            if after:
                await asyncio.sleep(LASTS_S)
                await connection.execute_command(*after)  # type: ignore[no-untyped-call]

    return inflict


async def away(server: PostgresServer | RedisServer, lasts_s: float) -> None:
    await asyncio.to_thread(server.stop)
    await asyncio.sleep(lasts_s)
    await asyncio.to_thread(server.start)


async def redis_away(house: SoakHouse) -> None:
    await away(house.redis, 5)


async def redis_away_at_start(house: SoakHouse) -> None:
    await asyncio.to_thread(house.redis.stop)
    await kill(house)
    await asyncio.sleep(LASTS_S)
    await asyncio.to_thread(house.redis.start)


async def few_descriptors(house: SoakHouse) -> None:
    """A worker may open no more than it has; ours have no HOME, no locale and no terminal in any case."""
    pid = house.processes[house.rng.choice(house.workers)].running.pid
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, usual[1]))
    await asyncio.sleep(LASTS_S)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)


async def redis_slow(house: SoakHouse) -> None:
    for _ in range(3):
        house.redis.pause()
        await asyncio.sleep(2)
        house.redis.resume()
        await asyncio.sleep(0.5)


async def redis_spoiled(house: SoakHouse) -> None:
    """Every value of ours is what another program, or another version of us, might have written."""
    junk = [b'{"v": 1, "half', b"\x80\x04\x95\x10", b'{"version": 999, "type": "Unknown"}']
    async with Redis.from_url(house.redis.url) as connection:
        try:
            async for key in connection.scan_iter(match="*", count=500):
                if await connection.type(key) == b"string":
                    await connection.set(key, house.rng.choice(junk), keepttl=True)
        except RedisError:
            return


async def postgres_restarts(house: SoakHouse) -> None:
    await away(house.postgres, house.rng.uniform(0.5, 3))


async def embeddings_wrong(house: SoakHouse) -> None:
    house.world.model.embedding_fault = ModelFault(status=500)
    await asyncio.sleep(LASTS_S)
    house.world.model.embedding_fault = None


async def database_locked(house: SoakHouse) -> None:
    file = house.data / house.rng.choice(FILES)

    def hold() -> None:
        with locked(file):
            time.sleep(10)

    await asyncio.to_thread(hold)


async def disk_full(house: SoakHouse) -> None:
    """Not the machine's own, where this user may have no other."""
    if house.has_disk:
        ballast = await asyncio.to_thread(fill, house.data)
        await asyncio.sleep(LASTS_S)
        ballast.unlink()


async def discord_drops(house: SoakHouse) -> None:
    await (house.discord.gateway.drop() if house.rng.random() < 0.5 else house.discord.gateway.invalidate())


async def discord_repeats(house: SoakHouse) -> None:
    """Of the two, what the newest session has told; it may be too young to have told any."""
    told = {frame["t"] for frame in house.discord.gateway.sessions[-1].frames}
    if kinds := sorted(told & {"INTERACTION_CREATE", "MESSAGE_CREATE"}):
        house.discord.resend(house.rng.choice(kinds))


async def slack_drops(house: SoakHouse) -> None:
    if house.slack.socket.sessions:
        await (house.slack.socket.refresh() if house.rng.random() < 0.5 else house.slack.socket.drop())


async def kill(house: SoakHouse) -> None:
    await house.strike(house.rng.choice(house.roles))


async def kill_at_start(house: SoakHouse) -> None:
    await kill(house)
    await asyncio.sleep(house.rng.uniform(0, 3))
    await kill(house)


async def two_at_once(house: SoakHouse) -> None:
    names = house.rng.sample(house.workers, 2)
    await asyncio.gather(*(house.strike(name) for name in names))


ANYWHERE: Mapping[str, Inflict] = {
    "pf-01": search(SearchFault(kind="reset")),
    "pf-02": search(SearchFault(kind="hang")),
    "pf-03": search(SearchFault(kind="drip")),
    "pf-04": search(SearchFault(kind="reset_in_body")),
    "pf-05": search(SearchFault(kind="raw", body=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}")),
    "pf-06": search(SearchFault(kind="raw", body=b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"results": []}')),
    "pf-07": search(SearchFault(status=429, headers={"Retry-After": "2"}, times=1)),
    "pf-08": search(SearchFault(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})),
    "pf-09": search(*(SearchFault(status=429, headers={"Retry-After": odd}) for odd in ("-1", "abc", "999999"))),
    "pf-10": search(SearchFault(status=401)),
    "pf-11": search(*(SearchFault(status=status) for status in (402, 432, 433))),
    "pf-12": search(SearchFault(status=500, times=5)),
    "pf-13": search(SearchFault(status=503)),
    "pf-14": search(SearchFault(headers={"Content-Type": "text/html"}, body=b"<html>Are you a robot?</html>")),
    "pf-15": search(SearchFault(body=b'{"results": [{"url":'), SearchFault(body=b"[" * 100_000)),
    "pf-16": search(SearchFault(status=302, headers={"Location": "http://127.0.0.1:1/"})),
    "pf-18": search(SearchFault(headers={"Content-Type": "application/json"}, body=b'{"results": []}')),
    "pf-19": model(*(ends(cut_after=tokens) for tokens in (0, 1, 10, 500))),
    "pf-20": model(ends(finish_reason="length")),
    "pf-21": model(ends(text="", finish_reason="content_filter")),
    "pf-22": model(ends(text="", refusal="I would rather not.")),
    "pf-23": model(ends(has_choices=False)),
    "pf-24": model(lambda text: ModelFault(text=f"Here you are:\n```json\n{text}\n```\nAnything else?")),
    "pf-25": model(*((lambda text, at=at: ModelFault(text=text[:at])) for at in range(100, 900, 100))),
    "pf-26": model(*(cites(marker) for marker in ("[99]", "[0]", "[-1]", "[1,2-4]", "[a]", "【1†source】"))),
    "pf-27": model(cites("[https://nowhere.example/x]")),
    "pf-28": model(lambda text: ModelFault(text=text.replace("gravity", "breath of a whale"))),
    "pf-29": model(lambda text: ModelFault(text=text.replace("16", "61"))),
    "pf-30": model(lambda text: ModelFault(text=text.replace("are caused", "are not caused"))),
    "pf-31": model(lambda text: ModelFault(text=text + " " * 200_000)),
    "pf-32": model(says(""), says("   "), says("[1][2]")),
    "pf-33": model(ends(status=400, code="context_length_exceeded")),
    "pf-34": model(ends(status=429, headers={"Retry-After": "1"})),
    "pf-35": model(ends(status=401)),
    "pf-36": model(ends(status=500)),
    "pf-37": model(ends(text="", calls=(("unknown", "{half"),))),
    "pf-38": model(ends(usage=None), ends(usage={"prompt_tokens": "many"})),
    "pf-39": model(lambda text: ModelFault(text=text.replace("The tides", "Die Gezeiten"))),
    "pf-40": model(ends(hang_first=True)),
    "pf-41": embeddings_wrong,
    "pf-56": slack_fails,
    "pf-59": slack_drops,
    "pf-62": discord_drops,
    "pf-65": discord(("original.edit", DiscordFault(429)), ("message.edit", DiscordFault(429, times=2))),
    "pf-67": discord(
        ("original.edit", DiscordFault(500, after_effect=True)),
        ("message.create", DiscordFault(500, after_effect=True)),
        ("message.edit", DiscordFault(502, after_effect=True)),
    ),
    "pf-69": web(behaviour="hang"),
    "pf-70": web("/robots.txt", status=500),
    "pf-71": kill,
    "pf-74": few_descriptors,
    "a reset of a page": web(behaviour="reset"),
    "a page without end": web(behaviour="huge"),
    "an event told twice": discord_repeats,
}
INFLICTED: Mapping[str, Mapping[str, Inflict]] = {  # by database
    "sqlite": {
        **ANYWHERE,
        "pf-48": database_locked,
        "pf-49": disk_full,
        "a kill at the start": kill_at_start,
    },
    "postgres": {
        **ANYWHERE,
        "pf-42": redis_away_at_start,
        "pf-43": redis_away,
        "pf-44": redis("CONFIG", "SET", "maxmemory", "1mb", after=("CONFIG", "SET", "maxmemory", "0")),
        "pf-45": redis("FLUSHALL"),
        "pf-46": redis_spoiled,
        "pf-47": redis_slow,
        "pf-72": two_at_once,
        "a database that restarts": postgres_restarts,
    },
}

ELSEWHERE: Mapping[str, str] = {
    "pf-17": "tests/core/text/test_urls.py",
    "pf-50": "tests/adapters/records/test_sqlite.py",
    "pf-51": "tests/adapters/durable/test_storm.py",
    "pf-52": "tests/adapters/chat/slack/test_live.py",
    "pf-53": "tests/adapters/chat/slack/test_live.py",
    "pf-54": "tests/adapters/chat/slack/test_live.py",
    "pf-55": "tests/adapters/chat/slack/test_live.py",
    "pf-57": "tests/adapters/chat/slack/test_buttons.py",
    "pf-58": "tests/adapters/chat/slack/test_http.py",
    "pf-60": "tests/adapters/chat/slack/test_http.py",
    "pf-61": "tests/adapters/chat/slack/test_entrances.py",
    "pf-63": "tests/adapters/chat/discord/test_faults.py",
    "pf-64": "tests/adapters/chat/discord/test_faults.py",
    "pf-66": "tests/adapters/chat/discord/test_scenarios.py",
    "pf-68": "tests/adapters/chat/discord/test_faults.py",
    "pf-73": "tests/adapters/durable/test_clock.py",
}

DEADLY = ("pf-42", "pf-71", "pf-72", "a kill at the start")
KILL_SHARE = 0.3  # of the faults, where processes may be killed


def pick(rng: random.Random, faults: Iterable[str], *, with_kills: bool) -> str:
    """The name of the fault to come next."""
    is_deadly = with_kills and rng.random() < KILL_SHARE
    return rng.choice([name for name in faults if (name in DEADLY) is is_deadly])
