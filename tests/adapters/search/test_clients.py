"""The turnstile before a provider: rates, and leaving alone what is down; the one GET of the keyless ones."""

from __future__ import annotations

import asyncio

import pytest

from adapters.search.clients import MAX_CLOSED_S, REACHED_FOR_S, UNREACHABLE_FOR_S, Gate, GetClient
from adapters.search.service import Service, Surroundings, TimeLimits
from core.model.errors import ProviderRateLimited, ProviderUnavailable
from core.pipeline.limits import CallRate
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

SERVICE = Service("somewhere", "Somewhere", url_variable="SOMEWHERE_URL")
DOWN = ProviderUnavailable("somewhere", "could not be reached", operator_message="Somewhere is down.")
WIKIPEDIA = Service("wikipedia", "Wikipedia", url_variable="WIKIPEDIA_BASE_URL", domain="127.0.0.1", at_once=2)
AROUND = Surroundings(
    limits=TimeLimits(search_s=10, connect_s=0.5), rates={"wikipedia": CallRate(1000, 1.0, burst=1000)}
)


class Watch:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_calls_within_the_rate_pass_at_once() -> None:
    """A burst as large as the rate is what the rate allows (S003-08)."""
    gate = Gate(SERVICE, CallRate(5, 60, burst=1))

    async with asyncio.timeout(1):
        await asyncio.gather(*(gate.turn() for _ in range(5)))


async def test_a_call_above_the_rate_waits_for_its_turn() -> None:
    """Ten calls at twenty in a second, after the first twenty, take half a second."""
    gate = Gate(SERVICE, CallRate(20, 1.0, burst=1))
    loop = asyncio.get_running_loop()
    started = loop.time()

    await asyncio.gather(*(gate.turn() for _ in range(30)))

    assert 0.4 < loop.time() - started < 3.0


async def test_a_wait_longer_than_allowed_is_refused_at_once() -> None:
    """The question has no time to stand in line; it is told when to come back."""
    gate = Gate(SERVICE, CallRate(1, 3.0, burst=1, max_wait_s=3.0))
    await gate.turn()
    patient = asyncio.create_task(gate.turn())
    await asyncio.sleep(0)

    async with asyncio.timeout(1):
        with pytest.raises(ProviderRateLimited) as caught:
            await gate.turn()

    assert caught.value.retry_after_s == 6.0
    patient.cancel()
    await asyncio.gather(patient, return_exceptions=True)


async def test_those_who_wait_learn_at_once_that_the_provider_is_down() -> None:
    """Without network nobody waits for a turn at a dead server."""
    gate = Gate(SERVICE, CallRate(1, 3.0, burst=1))
    await gate.turn()
    waiting = asyncio.create_task(gate.turn())
    await asyncio.sleep(0)

    gate.note(DOWN, is_unreachable=True)

    async with asyncio.timeout(1):
        with pytest.raises(ProviderUnavailable) as caught:
            await waiting
    assert caught.value.operator_message == "Somewhere is down."


async def test_what_could_not_be_reached_is_tried_again_after_a_while() -> None:
    """Long enough for the rest of a question, short enough for the next one."""
    watch = Watch()
    gate = Gate(SERVICE, None, clock=watch)
    gate.note(DOWN, is_unreachable=True)

    watch.now += UNREACHABLE_FOR_S - 0.1
    with pytest.raises(ProviderUnavailable):
        await gate.turn()
    watch.now += 0.2
    await gate.turn()

    assert not gate.is_closed


async def test_a_provider_that_answered_a_moment_ago_is_not_taken_for_dead() -> None:
    """On a busy machine a connection may come too late; that must not cost the other questions their results."""
    watch = Watch()
    gate = Gate(SERVICE, None, clock=watch)
    gate.note_reached()

    watch.now += REACHED_FOR_S - 1
    gate.note(DOWN, is_unreachable=True)
    was_closed_early = gate.is_closed
    watch.now += 2
    gate.note(DOWN, is_unreachable=True)

    assert not was_closed_early
    assert gate.is_closed


@pytest.mark.parametrize(
    ("retry_after_s", "closed_s"),
    [
        pytest.param(None, 0.0, id="not said"),
        pytest.param(0.0, 0.0, id="at once"),
        pytest.param(7.0, 7.0, id="seven seconds"),
        pytest.param(3600.0, MAX_CLOSED_S, id="an hour"),
    ],
)
async def test_a_limited_provider_is_left_alone_as_long_as_it_asked(
    retry_after_s: float | None, closed_s: float
) -> None:
    """Bounded, so that a mistaken header costs a minute and not a day."""
    watch = Watch()
    gate = Gate(SERVICE, None, clock=watch)

    gate.note(ProviderRateLimited("somewhere", "too many", retry_after_s=retry_after_s))

    watch.now += max(closed_s - 0.1, 0.0)
    assert gate.is_closed == (closed_s > 0)
    watch.now += 0.2
    assert not gate.is_closed


async def test_other_errors_leave_the_gate_open() -> None:
    """A single bad answer says nothing of the next."""
    gate = Gate(SERVICE, None)

    returned = gate.note(DOWN)

    assert returned is DOWN
    assert not gate.is_closed


async def test_waiting_for_others_is_not_connecting() -> None:
    """Sixteen calls, two at once, wait longer than the time to connect; that is no dead server."""
    async with SearchWorld([], faults={"wikipedia": Fault(body=b"{}")}, latency_s=0.1) as world:
        url = world.base_url("wikipedia")
        api = GetClient(WIKIPEDIA, AROUND, url)
        loop = asyncio.get_running_loop()
        started = loop.time()

        bodies = await asyncio.gather(*(api.get(url, {}) for _ in range(16)))

        await api.aclose()
    assert bodies == [b"{}"] * 16
    assert loop.time() - started >= 0.8  # no more than two at once
