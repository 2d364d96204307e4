"""What every online provider makes of HTTP statuses (S003-08, S003-23)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from adapters.search.service import parse_retry_after
from core.model.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRejected,
    ProviderUnavailable,
)
from core.model.job import LOCAL
from tests.adapters.search.making import CORPUS, HASTY, NCBI_KEY, QUERY, ask_at, ask_failing, each_way, provider, spread
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import EXA_KEY, TAVILY_KEY, SearchWorld

# GETs that cost nothing; arXiv's second would come three seconds later
RETRIED = {"wikipedia", "pubmed", "searxng", "europepmc", "openalex"}
KEYS = {"tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY", "pubmed": "NCBI_API_KEY", "openalex": "OPENALEX_API_KEY"}


@spread("status", 401, 403)
async def test_a_refusal_names_the_variable_to_check(name: str, status: int) -> None:
    """The operator learns where to look; the key itself is in no message."""
    with pytest.raises(ProviderRejected) as caught:
        await ask_failing(name, Fault(status=status))

    assert KEYS.get(name, f"{name.upper()}_BASE_URL") in caught.value.operator_message
    shown = f"{caught.value} {caught.value.operator_message}"
    assert not any(key in shown for key in (TAVILY_KEY, EXA_KEY, NCBI_KEY))


@each_way
@pytest.mark.parametrize("status", [402, 432, 433])
async def test_a_used_up_plan_is_no_reason_to_retry(name: str, status: int) -> None:
    """Tavily's own statuses for limits of the plan."""
    with pytest.raises(ProviderRejected) as caught:
        await ask_failing(name, Fault(status=status))

    assert "quota" in caught.value.operator_message
    assert not caught.value.retryable


@spread("status", 404, 204, 301, 302, 405)
async def test_a_wrong_address_is_rejected_and_redirects_are_not_followed(name: str, status: int) -> None:
    """A question is sent only to the host that was configured."""
    fault = Fault(status=status, headers={"Location": "http://127.0.0.1:1/"})

    with pytest.raises((ProviderRejected, ProviderGarbled)) as caught:
        await ask_failing(name, fault)

    assert f"{name.upper()}_BASE_URL" in caught.value.operator_message


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
def test_when_to_come_back_is_read_and_bounded(header: str | None, expected_s: float | None) -> None:
    assert parse_retry_after(header, now=datetime(2026, 3, 1, tzinfo=UTC)) == expected_s


@each_way
@pytest.mark.parametrize(("header", "expected_s"), [("2", 2.0), (None, None)])
async def test_too_many_requests_says_when_to_come_back(
    name: str, header: str | None, expected_s: float | None
) -> None:
    """429 with and without Retry-After; the SDKs themselves drop it."""
    fault = Fault(status=429, headers={"Retry-After": header} if header else {})

    with pytest.raises(ProviderRateLimited) as caught:
        await ask_failing(name, fault)

    assert caught.value.retry_after_s == expected_s


@each_way
async def test_a_limited_provider_is_left_alone_for_as_long_as_it_asked(name: str) -> None:
    """Calls within that time fail without a request (S003-08)."""
    fault = Fault(status=429, headers={"Retry-After": "30"}, times=1)
    async with SearchWorld(CORPUS, faults={name: fault}) as world, provider(name, world.env(name)) as searched:
        for _ in range(3):
            with pytest.raises(ProviderRateLimited) as caught:
                await searched.search(QUERY, limit=3, scope=LOCAL)

        assert len(world.asked) == 1
    assert caught.value.retry_after_s == pytest.approx(30, abs=5)


@spread("status", 500, 502, 503, 529)
async def test_a_server_error_is_unavailable_after_at_most_two_attempts(name: str, status: int) -> None:
    """Free reads are tried twice; calls that cost money, or a wait, once."""
    async with SearchWorld(CORPUS, faults={name: Fault(status=status)}) as world:
        with pytest.raises(ProviderUnavailable):
            await ask_at(name, world.env(name))

        assert len(world.asked) == (2 if name in RETRIED else 1)


@pytest.mark.parametrize("fault", [Fault(status=502, times=1), Fault(kind="reset", times=1)], ids=["502", "reset"])
async def test_one_hiccup_is_not_noticed(fault: Fault) -> None:
    """The second attempt's answer counts."""
    hits = await ask_failing("wikipedia", fault)

    assert hits[0].title == "Why tides rise"


@pytest.mark.parametrize("name", ["tavily", "exa"])
async def test_a_wrong_key_is_rejected_by_the_service_itself(name: str) -> None:
    """As the real service answers it."""
    async with SearchWorld(CORPUS) as world:
        with pytest.raises(ProviderRejected) as caught:
            await ask_at(name, {**world.env(name), KEYS[name]: "wrong"})

    assert KEYS[name] in caught.value.operator_message


@pytest.mark.parametrize("name", ["tavily", "exa"])
@pytest.mark.parametrize(
    ("body", "kind", "plain", "setting"),
    [
        pytest.param(
            b'{"results": [], "error": "Invalid API key provided"}',
            ProviderRejected,
            "key refused (HTTP 401)",
            "_API_KEY",
            id="key",
        ),
        pytest.param(
            b'{"results": [], "detail": {"error": "Rate limit exceeded"}}',
            ProviderRateLimited,
            "too many requests (HTTP 429)",
            "GORKD_SEARCH_RATES",
            id="too many",
        ),
        pytest.param(
            b'{"results": null, "error": "This request exceeds your plan\'s credits"}',
            ProviderRejected,
            "quota used up (HTTP 402)",
            "_API_KEY",
            id="quota",
        ),
        pytest.param(
            b'{"results": [], "error": "upstream exploded"}',
            ProviderUnavailable,
            "answered with an error",
            "_BASE_URL",
            id="other",
        ),
    ],
)
async def test_an_error_in_the_body_of_a_success_is_an_error(
    name: str, body: bytes, kind: type[ProviderError], plain: str, setting: str
) -> None:
    """S003-23: the SDKs read it as "found nothing", which is an answer and would be believed."""
    with pytest.raises(kind) as caught:
        await ask_failing(name, Fault(body=body, headers={"Content-Type": "application/json"}))

    assert caught.value.plain == plain
    assert f"{name.upper()}{setting}" in caught.value.operator_message or setting in caught.value.operator_message


@each_way
@pytest.mark.parametrize(
    ("fault", "plain", "setting"),
    [
        pytest.param(Fault(status=429), "too many requests (HTTP 429)", "GORKD_SEARCH_RATES", id="too many"),
        pytest.param(Fault(status=500), "server error (HTTP 500)", "_BASE_URL", id="broken"),
        pytest.param(Fault(body=b"<html>"), "gave an answer that cannot be read", "_BASE_URL", id="garbled"),
        pytest.param(Fault(kind="hang"), "no answer in time", "_BASE_URL", id="hanging"),
    ],
)
async def test_people_read_the_reason_and_operators_the_setting(
    name: str, fault: Fault, plain: str, setting: str
) -> None:
    """S003-23: what `gorkd doctor` and the log say of each kind of failure names a setting."""
    with pytest.raises(ProviderError) as caught:
        await ask_failing(name, fault, search=HASTY if fault.kind == "hang" else None)

    assert caught.value.plain == plain
    assert setting in caught.value.operator_message
