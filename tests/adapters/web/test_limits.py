"""How often one address may ask, read and follow, and who counts as one address."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import ip_network

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from adapters.records.cache import MemoryLimits
from adapters.web.settings import WebSettings, counted_as
from core.model.errors import SetupError
from tests.adapters.records.samples import StandingClock
from tests.adapters.web.conformity import ConformingClient, conforming
from tests.adapters.web.serving import web_app
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher

JOB = samples.COMPLETED.id
SETTINGS = WebSettings(api_tokens=("right",), asks_per_minute=2, reads_per_minute=3, streams_per_address=2)
TRUSTING = SETTINGS.model_copy(update={"trust_local": True})
FROM_AFAR = {"X-Forwarded-For": "203.0.113.9", "Authorization": "Bearer right"}
FROM_ELSEWHERE = {**FROM_AFAR, "X-Forwarded-For": "203.0.113.10"}


@pytest.fixture
async def served() -> AsyncIterator[tuple[ConformingClient, StandingClock]]:
    clock = StandingClock()
    async with conforming(web_app(None, SETTINGS, limits=MemoryLimits(clock=clock))) as client:
        yield client, clock


async def test_who_asks_too_often_is_told_how_long_to_wait(served):
    """G-01: the envelope with RATE_LIMITED, Retry-After, and what is left in every response."""
    client, clock = served

    answers = [await client.post("/v1/research", json={"query": "x"}, headers=FROM_AFAR) for _ in range(3)]
    elsewhere = await client.post("/v1/research", json={"query": "x"}, headers=FROM_ELSEWHERE)
    clock.advance(timedelta(seconds=30))
    later = await client.post("/v1/research", json={"query": "x"}, headers=FROM_AFAR)

    assert [answer.status for answer in (*answers, elsewhere, later)] == [202, 202, 429, 202, 202]
    assert [answer.headers["X-RateLimit-Limit"] for answer in answers] == ["2", "2", "2"]
    assert [answer.headers["X-RateLimit-Remaining"] for answer in (*answers, later)] == ["1", "0", "0", "0"]
    error = (await answers[2].json())["error"]
    assert (error["code"], error["details"]) == ("RATE_LIMITED", {"retry_after_s": 30})
    assert answers[2].headers["Retry-After"] == "30"
    assert "wait 30 seconds" in error["message"]


async def test_reading_has_a_limit_of_its_own(served):
    """G-01: an address that may not ask again may still read; an unknown path counts as reading."""
    client, _ = served
    for _ in range(3):
        await client.post("/v1/research", json={"query": "x"}, headers=FROM_AFAR)

    paths = [f"/v1/jobs/{JOB}", "/v1/jobs/job_unknown", "/v1/nowhere", f"/v1/jobs/{JOB}"]
    answers = [await client.get(path, headers=FROM_AFAR) for path in paths]

    assert [answer.status for answer in answers] == [200, 404, 404, 429]


@pytest.mark.parametrize("below", ["", "/trace", "/sources/1", "/answer.md", "/sources/1/page.png"])
async def test_a_jobs_pages_are_read_as_often_as_the_api_and_come_back_by_themselves(served, below):
    """Every page of a job costs a look into the store; who watches one that is refused sees it again when it may be."""
    client, _ = served

    answers = [await client.get(f"/jobs/{JOB}{below}", headers=FROM_AFAR) for _ in range(4)]

    assert 429 not in [answer.status for answer in answers[:3]]
    assert (answers[3].status, answers[3].headers["Refresh"]) == (429, answers[3].headers["Retry-After"])
    assert "limit is 3 requests a minute" in await answers[3].text()


async def test_to_renew_an_answer_is_to_ask(served):
    """It costs what a question costs."""
    client, _ = served

    answers = [await client.post(f"/jobs/{JOB}/refresh", headers=FROM_AFAR, allow_redirects=False) for _ in range(3)]

    assert [answer.headers["X-RateLimit-Limit"] for answer in answers] == ["2", "2", "2"]
    assert answers[2].status == 429


async def test_guesses_at_a_token_count_as_asking(served):
    """Nobody tries tokens faster than questions."""
    client, _ = served

    guesses = [await client.post("/sign-in", data={"token": "guess"}, headers=FROM_AFAR) for _ in range(3)]

    assert [guess.status for guess in guesses] == [401, 401, 429]


@pytest.mark.parametrize(
    "path", ["/nowhere", "/v1/nowhere", "/health", "/static/style.css", "/sign-out", f"/jobs/{JOB}"]
)
async def test_whatever_is_posted_counts(served, path):
    """Unknown paths too: a body is taken before anybody looks where it goes."""
    client, _ = served

    answers = [await client.post(path, data=b"x", headers=FROM_AFAR, allow_redirects=False) for _ in range(4)]

    assert [answer.status == 429 for answer in answers] == [False, False, False, True]


async def test_what_slacks_door_refuses_counts_and_what_it_takes_does_not():
    """Slack asks as often as its people write."""
    app = web_app(None, SETTINGS)

    async def door(request: web.Request) -> web.Response:
        return web.Response(status=200 if await request.read() == b"signed" else 401)

    app.router.add_post("/slack/events", door)
    async with TestClient(TestServer(app)) as client:
        taken = [await client.post("/slack/events", data=b"signed", headers=FROM_AFAR) for _ in range(9)]
        refused = [await client.post("/slack/events", data=b"forged", headers=FROM_AFAR) for _ in range(4)]
        elsewhere = await client.post("/slack/events", data=b"signed", headers=FROM_ELSEWHERE)

    assert {answer.status for answer in taken} == {200}
    assert [answer.status for answer in refused] == [401, 401, 401, 429]
    assert elsewhere.status == 200


async def test_this_machine_is_exempt_where_it_is_trusted():
    """G-01's limits are for others; the headers are there all the same."""
    async with conforming(web_app(None, TRUSTING)) as client:
        answers = [await client.post("/v1/research", json={"query": "x"}) for _ in range(5)]

    assert {(answer.status, answer.headers["X-RateLimit-Remaining"]) for answer in answers} == {(202, "2")}


async def test_an_address_holds_only_so_many_streams():
    """G-01: one too many is refused; one that ends makes room."""
    researcher = ScriptedResearcher(stalls=True)
    async with conforming(web_app(researcher, TRUSTING)) as client:
        stream = str(client.make_url(f"/v1/jobs/{JOB}/stream"))
        held = [await client.session.get(stream, headers=FROM_AFAR) for _ in range(2)]
        refused = await client.get(f"/v1/jobs/{JOB}/stream", headers=FROM_AFAR)
        elsewhere = await client.session.get(stream, headers=FROM_ELSEWHERE)
        local = [await client.session.get(stream) for _ in range(4)]

        held[0].close()
        assert [one.status for one in (*held, refused, elsewhere, *local)] == [200, 200, 429, 200, 200, 200, 200, 200]
        assert (await refused.json())["error"]["code"] == "RATE_LIMITED"
        for one in (held[1], elsewhere, *local):
            one.close()


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        pytest.param("203.0.113.9", None, "203.0.113.9", id="plain"),
        pytest.param("203.0.113.9", "1.2.3.4", "203.0.113.9", id="a stranger's word"),
        pytest.param("127.0.0.1", "1.2.3.4", "1.2.3.4", id="a proxy on this machine"),
        pytest.param("127.0.0.1", "6.6.6.6, 1.2.3.4", "1.2.3.4", id="what the proxy's client claimed"),
        pytest.param("127.0.0.1", "1.2.3.4, 10.0.0.7", "1.2.3.4", id="two proxies"),
        pytest.param("127.0.0.1", "nonsense", "127.0.0.1", id="no address"),
        pytest.param("::ffff:203.0.113.9", None, "203.0.113.9", id="IPv4 in IPv6"),
        pytest.param("2001:db8:1:2:3:4:5:6", None, "2001:db8:1:2::/64", id="IPv6 customer"),
    ],
)
def test_who_counts_as_one_address(peer: str, forwarded: str | None, counted: str):
    """Headers are believed only from proxies that are known; an IPv6 customer has 2^64 addresses and one bucket."""
    request = FakePeer(peer, forwarded)

    assert counted_as(request, (ip_network("10.0.0.0/8"),)) == counted  # type: ignore[arg-type]


class FakePeer:
    """As much of a request as says where it comes from."""

    def __init__(self, peer: str, forwarded: str | None) -> None:
        headers = {"X-Forwarded-For": forwarded} if forwarded else {}
        self.headers = web.Response(headers=headers).headers
        self.transport = self
        self._peer = (peer, 4711)

    def get_extra_info(self, name: str) -> tuple[str, int] | None:
        return self._peer if name == "peername" else None


def test_limits_are_settings():
    settings = WebSettings.from_env(
        {"GORKD_ASKS_PER_MINUTE": "20", "GORKD_READS_PER_MINUTE": "120", "GORKD_PROXIES": "10.0.0.0/8, 192.0.2.1"}
    )

    limits = (settings.asks_per_minute, settings.reads_per_minute, settings.streams_per_address)
    assert limits == (20, 120, 5)
    assert settings.proxies == (ip_network("10.0.0.0/8"), ip_network("192.0.2.1/32"))


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("PORT", "eighty", "PORT.*eighty"),
        ("PORT", "-1", "PORT.*-1"),
        ("PORT", "65536", "PORT.*65536"),
        ("GORKD_READS_PER_MINUTE", "0", "GORKD_READS_PER_MINUTE"),
        ("GORKD_PROXIES", "everybody", "GORKD_PROXIES"),
    ],
)
def test_a_wrong_setting_is_named(name: str, value: str, told: str):
    with pytest.raises(SetupError, match=told):
        WebSettings.from_env({name: value})
