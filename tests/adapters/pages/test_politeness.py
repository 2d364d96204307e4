"""How hard a host is asked."""

from __future__ import annotations

import asyncio

from adapters.pages.fetch import Politeness


async def test_requests_to_one_host_begin_at_the_agreed_rate() -> None:
    """A burst of one second's worth, then one by one; other hosts do not wait (S003-09)."""
    politeness = Politeness(at_once=100, per_second=20.0)
    clock = asyncio.get_running_loop().time
    began: dict[str, list[float]] = {"a": [], "b": []}

    async def ask(host: str) -> None:
        async with politeness.turn(host):
            began[host].append(clock())

    started = clock()
    await asyncio.gather(*(ask("a") for _ in range(30)), ask("b"))

    assert sorted(began["a"])[19] - started < 0.8
    assert sorted(began["a"])[29] - started > 0.4
    assert began["b"][0] - started < 0.4


async def test_places_at_a_host_are_limited_and_given_back() -> None:
    """Never more than `at_once` inside, also after a failure inside."""
    politeness = Politeness(at_once=2, per_second=1000.0)
    inside = most = 0

    async def ask(number: int) -> None:
        nonlocal inside, most
        async with politeness.turn("a"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1
            if number % 2:
                raise ValueError("this page failed")

    results = await asyncio.gather(*(ask(number) for number in range(10)), return_exceptions=True)

    assert most == 2
    assert sum(isinstance(result, ValueError) for result in results) == 5
