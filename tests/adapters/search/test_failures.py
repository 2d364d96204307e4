"""What every online provider makes of a service that fails (S003-08, S003-23)."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from core.config import SearchSettings
from core.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
)
from core.job import LOCAL
from core.source import SearchHit, SearchQuery
from tests.adapters.search.making import CORPUS, ONLINE, provider
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import EXA_KEY, TAVILY_KEY, SearchWorld
from tests.shared_data import shared_data

HASTY = SearchSettings(provider_timeout_s=0.6, connect_timeout_s=0.5)
RETRIED = {"wikipedia", "pubmed"}  # GETs that cost nothing; arXiv's second would come three seconds later
KEYS = {"tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY", "pubmed": "NCBI_API_KEY"}
NCBI_KEY = "ncbi-loopback"
QUERY = SearchQuery("moon tides sea")
each_provider = pytest.mark.parametrize("name", ONLINE)


async def ask_failing(name: str, fault: Fault, *, search: SearchSettings | None = None) -> list[SearchHit]:
    async with SearchWorld(CORPUS, faults={name: fault}) as world:
        return await ask_at(name, world.env(name), search=search)


async def ask_at(name: str, env: dict[str, str], *, search: SearchSettings | None = None) -> list[SearchHit]:
    env = {"NCBI_API_KEY": NCBI_KEY, **env}
    async with provider(name, env, search=search) as searched:
        return list(await searched.search(QUERY, limit=3, scope=LOCAL))


def env_of(name: str, base_url: str) -> dict[str, str]:
    return {f"{name.upper()}_BASE_URL": base_url, "TAVILY_API_KEY": TAVILY_KEY, "EXA_API_KEY": EXA_KEY}


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


@each_provider
async def test_a_refused_connection_is_given_up_at_once(name: str, closed_port: int) -> None:
    """Without network an answer comes within five seconds, so nothing may be retried or waited for."""
    started = time.monotonic()

    with pytest.raises(ProviderUnavailable) as caught:
        await ask_at(name, env_of(name, f"http://127.0.0.1:{closed_port}"))

    assert time.monotonic() - started < 2.0
    assert f"{name.upper()}_BASE_URL" in caught.value.user_message


@each_provider
async def test_an_unknown_host_is_given_up_at_once(name: str) -> None:
    """A label over 63 characters is refused by the resolver itself, without a look-up."""
    started = time.monotonic()

    with pytest.raises(ProviderUnavailable):
        await ask_at(name, env_of(name, f"http://{'a' * 64}.test"))

    assert time.monotonic() - started < 2.0


@each_provider
async def test_a_silent_host_is_given_up_within_the_time_to_connect(name: str, deaf_port: int) -> None:
    """The time to connect is its own, much shorter limit."""
    search = SearchSettings(provider_timeout_s=10, connect_timeout_s=0.5)
    started = time.monotonic()

    with pytest.raises((ProviderUnavailable, ProviderTimeout)):
        await ask_at(name, env_of(name, f"http://127.0.0.1:{deaf_port}"), search=search)

    assert time.monotonic() - started < 2.0


@each_provider
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


@each_provider
@pytest.mark.parametrize("status", [401, 403])
async def test_a_refusal_names_the_variable_to_check(name: str, status: int) -> None:
    """The operator learns where to look; the key itself is in no message."""
    with pytest.raises(ProviderRejected) as caught:
        await ask_failing(name, Fault(status=status))

    assert KEYS.get(name, f"{name.upper()}_BASE_URL") in caught.value.user_message
    shown = f"{caught.value} {caught.value.user_message}"
    assert not any(key in shown for key in (TAVILY_KEY, EXA_KEY, NCBI_KEY))


@each_provider
@pytest.mark.parametrize("status", [402, 432, 433])
async def test_a_used_up_plan_is_no_reason_to_retry(name: str, status: int) -> None:
    """Tavily's own statuses for limits of the plan."""
    with pytest.raises(ProviderRejected) as caught:
        await ask_failing(name, Fault(status=status))

    assert "quota" in caught.value.user_message
    assert not caught.value.retryable


@each_provider
@pytest.mark.parametrize("status", [204, 301, 302, 404, 405])
async def test_a_wrong_address_is_rejected_and_redirects_are_not_followed(name: str, status: int) -> None:
    """A question is sent only to the host that was configured."""
    fault = Fault(status=status, headers={"Location": "http://127.0.0.1:1/"})

    with pytest.raises((ProviderRejected, ProviderGarbled)) as caught:
        await ask_failing(name, fault)

    assert f"{name.upper()}_BASE_URL" in caught.value.user_message


@each_provider
@pytest.mark.parametrize(
    ("header", "expected_s"),
    [
        pytest.param("2", 2.0, id="seconds"),
        pytest.param("0.5", 0.5, id="half a second"),
        pytest.param("-1", 0.0, id="negative"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, id="date in the past"),
        pytest.param("999999", 3600.0, id="absurd"),
        pytest.param("abc", None, id="rubbish"),
        pytest.param("nan", None, id="not a number"),
        pytest.param(None, None, id="none"),
    ],
)
async def test_too_many_requests_says_when_to_come_back(
    name: str, header: str | None, expected_s: float | None
) -> None:
    """429 with every kind of Retry-After; the SDKs themselves drop it."""
    fault = Fault(status=429, headers={"Retry-After": header} if header else {})

    with pytest.raises(ProviderRateLimited) as caught:
        await ask_failing(name, fault)

    assert caught.value.retry_after_s == expected_s


@each_provider
async def test_a_limited_provider_is_left_alone_for_as_long_as_it_asked(name: str) -> None:
    """Calls within that time fail without a request (S003-08)."""
    fault = Fault(status=429, headers={"Retry-After": "30"}, times=1)
    async with SearchWorld(CORPUS, faults={name: fault}) as world, provider(name, world.env(name)) as searched:
        for _ in range(3):
            with pytest.raises(ProviderRateLimited) as caught:
                await searched.search(QUERY, limit=3, scope=LOCAL)

        assert len(world.asked) == 1
    assert caught.value.retry_after_s == pytest.approx(30, abs=5)


@each_provider
@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_server_error_is_unavailable_after_at_most_two_attempts(name: str, status: int) -> None:
    """Free reads are tried twice; calls that cost money, or a wait, once."""
    async with SearchWorld(CORPUS, faults={name: Fault(status=status)}) as world:
        with pytest.raises(ProviderUnavailable):
            await ask_at(name, world.env(name))

        assert len(world.asked) == (2 if name in RETRIED else 1)


@pytest.mark.parametrize("name", sorted(RETRIED))
@pytest.mark.parametrize("fault", [Fault(status=502, times=1), Fault(kind="reset", times=1)], ids=["502", "reset"])
async def test_one_hiccup_is_not_noticed(name: str, fault: Fault) -> None:
    """The second attempt's answer counts."""
    hits = await ask_failing(name, fault)

    assert [hit.title for hit in hits] == ["Why tides rise"]


@each_provider
@pytest.mark.parametrize("kind", ["hang", "drip"])
async def test_a_server_that_never_ends_is_a_timeout(name: str, kind: str) -> None:
    """A byte now and then does not keep a call alive: the limit is for the whole search (S003-08)."""
    fault = Fault(kind="hang") if kind == "hang" else Fault(kind="drip")
    started = time.monotonic()

    with pytest.raises(ProviderTimeout):
        await ask_failing(name, fault, search=HASTY)

    assert time.monotonic() - started < HASTY.provider_timeout_s + 1.0


@each_provider
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


GARBAGE = {
    "challenge page": b"<!doctype html><html><title>Just a moment</title><body>Are you human?</body></html>",
    "empty": b"",
    "null": b"null",
    "number": b"3",
    "list": b"[]",
    "string": b'"results"',
    "truncated JSON": b'{"results": [{"url": "https://a.test", "ti',
    "truncated XML": b"<feed><entry><id>http",
    "wrong types": json.dumps({"results": 7, "query": 7, "esearchresult": 7}).encode(),
    "wrong items": json.dumps(
        {
            "results": [{"url": 5}, 7, None],
            "query": {"pages": [{"pageid": "x"}, 7]},
            "esearchresult": {"idlist": [{"a": 1}]},
        }
    ).encode(),
    "deep": b"[" * 200_000,
    "absurd number": b'{"results": [' + b"9" * 5000 + b"]}",
    "not UTF-8": b'{"results": ["\xff\xfe"]}',
    "binary": bytes(range(256)) * 4,
    "over 5 MB": b'{"results": ["' + b"x" * 5_100_000 + b'"]}',
}


@each_provider
@pytest.mark.parametrize("body", list(GARBAGE.values()), ids=list(GARBAGE))
async def test_an_answer_that_cannot_be_read_is_garbled(name: str, body: bytes) -> None:
    """200 OK means nothing by itself."""
    with pytest.raises(ProviderGarbled):
        await ask_failing(name, Fault(body=body))


@each_provider
async def test_a_compressed_bomb_is_not_unpacked_whole(name: str) -> None:
    """60 KB that unpack to 60 MB stop at the cap."""
    bomb = gzip.compress(b" " * 60_000_000)
    fault = Fault(headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}, body=bomb)

    with pytest.raises(ProviderGarbled):
        await ask_failing(name, fault)


@each_provider
async def test_hostile_bodies_are_read_or_garbled(name: str) -> None:
    """Every hostile sample, as JSON or XML: hits with web addresses, or `ProviderGarbled`."""
    files = sorted(
        path for path in shared_data("hostile_sample", "files").iterdir() if path.suffix in {".json", ".xml"}
    )
    outcomes = []

    for path in files:
        try:
            outcomes.append(await ask_failing(name, Fault(body=path.read_bytes())))
        except ProviderGarbled:
            outcomes.append([])

    assert len(outcomes) == len(files) > 3
    assert all(hit.url.startswith(("http://", "https://")) for hits in outcomes for hit in hits)


@pytest.mark.parametrize("name", ["tavily", "exa"])
async def test_a_wrong_key_is_rejected_by_the_service_itself(name: str) -> None:
    """As the real service answers it."""
    async with SearchWorld(CORPUS) as world:
        with pytest.raises(ProviderRejected) as caught:
            await ask_at(name, {**world.env(name), KEYS[name]: "wrong"})

    assert KEYS[name] in caught.value.user_message


@each_provider
async def test_many_questions_at_once_do_not_look_like_a_dead_server(name: str) -> None:
    """Waiting for others to finish is not connecting, however short the time to connect is."""
    hasty = SearchSettings(connect_timeout_s=0.3)
    async with (
        SearchWorld(CORPUS, latency_s=0.05) as world,
        provider(name, world.env(name), search=hasty) as searched,
    ):
        found = await asyncio.gather(*(searched.search(QUERY, limit=2, scope=LOCAL) for _ in range(60)))

    assert {len(hits) for hits in found} <= {1, 2}


@each_provider
async def test_cancelling_a_waiting_search_ends_it(name: str) -> None:
    """While the service hangs."""
    async with SearchWorld(CORPUS, faults={name: Fault(kind="hang")}) as world:
        search = asyncio.create_task(ask_at(name, world.env(name)))
        await world.was_asked.wait()

        search.cancel()

        with pytest.raises(asyncio.CancelledError):
            await search


OUTCOMES: dict[str, tuple[Fault | None, tuple[type[ProviderError], ...]]] = {
    # The shared table of provider faults by its ids; None where the case stands in a test of its own.
    "pf-01": (None, ()),
    "pf-02": (Fault(kind="hang"), (ProviderTimeout,)),
    "pf-03": (Fault(kind="drip"), (ProviderTimeout,)),
    "pf-04": (Fault(kind="reset_in_body"), (ProviderUnavailable,)),
    "pf-05": (
        Fault(kind="raw", body=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}"),
        (ProviderUnavailable, ProviderGarbled),
    ),
    "pf-06": (
        Fault(kind="raw", body=b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"results": []}'),
        (ProviderUnavailable, ProviderGarbled),
    ),
    "pf-07": (Fault(status=429, headers={"Retry-After": "2"}, times=1), (ProviderRateLimited,)),
    "pf-08": (
        Fault(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        (ProviderRateLimited,),
    ),
    "pf-09": (Fault(status=429, headers={"Retry-After": "abc"}), (ProviderRateLimited,)),
    "pf-10": (Fault(status=401), (ProviderRejected,)),
    "pf-11": (Fault(status=432), (ProviderRejected,)),
    "pf-12": (Fault(status=500, times=5), (ProviderUnavailable,)),
    "pf-13": (Fault(status=503), (ProviderUnavailable,)),
    "pf-14": (Fault(headers={"Content-Type": "text/html"}, body=GARBAGE["challenge page"]), (ProviderGarbled,)),
    "pf-15": (None, ()),
    "pf-16": (Fault(status=302, headers={"Location": "http://127.0.0.1:1/"}), (ProviderRejected,)),
    "pf-17": (None, ()),  # the same page under many addresses: the search stage merges (core/urls.py)
    "pf-18": (None, ()),
}


@each_provider
async def test_every_known_fault_of_a_search_service_has_its_error(name: str) -> None:
    """The shared table of faults, each with the one kind of error that tells a worker what to do."""
    rows = [json.loads(line) for line in shared_data("hostile_sample", "provider_faults.jsonl").open(encoding="utf-8")]
    wanted = {row["id"] for row in rows if row["who"] == "search"}
    wrong: dict[str, object] = {}

    for fault_id, (fault, expected) in OUTCOMES.items():
        if fault is not None:
            try:
                wrong[fault_id] = await ask_failing(name, fault, search=HASTY)
            except ProviderError as error:
                if not isinstance(error, expected):
                    wrong[fault_id] = error

    assert wrong == {}
    assert wanted == set(OUTCOMES)
