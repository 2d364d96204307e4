"""Search providers take turns: who waits, who is refused, and what an absent store means."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.records.cache import MemoryLimits
from core.model.errors import ProviderRateLimited
from core.model.job import LOCAL
from core.model.source import SearchQuery
from core.pipeline.limits import CallRate, ComputingTurns, LimitedSearch, Nearness
from core.text.saying import say_again, speaking
from tests.fakes import FakeSearch, Ledger, hit

QUERY = SearchQuery("moon tides")


class MovedClock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 1, tzinfo=UTC)
        self.slept: list[float] = []

    def __call__(self) -> datetime:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)


class AbsentLimits:
    async def take(self, key: str, *, rate: float, burst: int) -> float:
        await asyncio.Event().wait()
        return 0.0


def limited(provider: FakeSearch, clock: MovedClock, limits: MemoryLimits, rate: CallRate) -> LimitedSearch:
    return LimitedSearch(provider, limits, rate, Ledger(), sleep=clock.sleep)


async def test_who_comes_soon_after_waits_for_the_next_token():
    """S002-23: two processes with one bucket ask together no faster than its rate."""
    clock = MovedClock()
    limits = MemoryLimits(clock=clock)
    provider = FakeSearch("exa", [hit("https://a.test")])
    first, second = (limited(provider, clock, limits, CallRate(1, 2.0, burst=1)) for _ in range(2))

    await first.search(QUERY, limit=5, scope=LOCAL)
    found = await second.search(QUERY, limit=5, scope=LOCAL)

    assert [entry.url for entry in found] == ["https://a.test"]
    assert sum(clock.slept) == pytest.approx(2.0, abs=0.01)


async def test_who_would_wait_too_long_is_refused_at_once():
    """With the time after which it makes sense to ask again, and without asking the provider."""
    clock = MovedClock()
    provider = FakeSearch("arxiv")
    search = limited(provider, clock, MemoryLimits(clock=clock), CallRate(1, 10.0, burst=1, max_wait_s=3.0))

    await search.search(QUERY, limit=5, scope=LOCAL)
    with pytest.raises(ProviderRateLimited) as refused:
        await search.search(QUERY, limit=5, scope=LOCAL)

    assert refused.value.retry_after_s == pytest.approx(10.0, abs=0.01)
    assert "(1 in 10 s) is used up" in str(refused.value)
    with speaking("de"):
        assert say_again(refused.value.plain) == "sein Kontingent an Aufrufen (1 in 10 s) ist aufgebraucht"
    assert clock.slept == []
    assert len(provider.asked) == 1


async def test_buckets_of_providers_are_apart():
    """One provider's use costs another nothing."""
    clock = MovedClock()
    limits, rate = MemoryLimits(clock=clock), CallRate(1, 10.0, burst=1, max_wait_s=0.0)
    one, other = (limited(FakeSearch(name), clock, limits, rate) for name in ("exa", "tavily"))

    await one.search(QUERY, limit=5, scope=LOCAL)

    assert await other.search(QUERY, limit=5, scope=LOCAL) == ()


async def test_a_store_that_is_away_lets_calls_out_and_is_counted(monkeypatch: pytest.MonkeyPatch):
    """Its silence costs a moment, not the search."""
    monkeypatch.setattr("core.pipeline.limits.STORE_WAIT_S", 0.02)
    ledger, provider = Ledger(), FakeSearch("exa", [hit("https://a.test")])

    found = await LimitedSearch(provider, AbsentLimits(), CallRate(1, 1.0, burst=1), ledger).search(
        QUERY, limit=5, scope=LOCAL
    )

    assert len(found) == 1
    assert ledger.values("errors", "limits:TimeoutError") == [1]


@given(calls=st.integers(1, 100), period_s=st.floats(0.5, 120), data=st.data())
def test_a_burst_and_what_follows_stay_within_the_published_calls(calls: int, period_s: float, data: st.DataObject):
    """In a period that begins with a full bucket at most `calls` tokens are given."""
    rate = CallRate(calls, period_s, burst=data.draw(st.integers(1, calls)))

    given_out = rate.burst + rate.per_second * period_s

    assert given_out <= calls + 1.000001  # the last one comes exactly when the period is over


async def test_what_a_first_sentence_waits_for_is_computed_first():
    """One piece of work at a time, the nearest to somebody's first sentence before what came earlier; who gives up
    while it waits, or while its work goes on, holds nobody up.
    """
    turns, done, may_end = ComputingTurns(), [], threading.Event()

    def work(name: str) -> str:
        may_end.wait(10)
        done.append(name)
        return name

    given_up = asyncio.create_task(turns.take(work, "under way"))
    await asyncio.sleep(0)
    asked = [Nearness.LATER, Nearness.PROMPT, Nearness.READING, Nearness.RANKING, Nearness.SENTENCE, Nearness.LATER]
    waiting = [asyncio.create_task(turns.take(work, f"{n.name} {at}", nearness=n)) for at, n in enumerate(asked)]
    left = asyncio.create_task(turns.take(work, "left", nearness=Nearness.SENTENCE))
    await asyncio.sleep(0)
    given_up.cancel()
    left.cancel()
    may_end.set()

    assert await asyncio.gather(*waiting) == [f"{nearness.name} {at}" for at, nearness in enumerate(asked)]
    assert done == ["under way", "SENTENCE 4", "PROMPT 1", "RANKING 3", "READING 2", "LATER 0", "LATER 5"]


async def test_one_text_is_worked_through_once_for_all_who_ask_meanwhile():
    """Who gives up takes it from nobody; whoever asks when it is done asks anew."""
    turns, done, may_end = ComputingTurns(), [], threading.Event()

    def work(text: str) -> None:
        may_end.wait(10)
        done.append(text)

    given_up, *others = (
        turns.share(work, text, Nearness.READING) for text in ("a page", "a page", "another", "a page")
    )
    await asyncio.sleep(0)
    given_up.cancel()
    may_end.set()
    await asyncio.gather(*others)

    assert done == ["a page", "another"]
    await turns.share(work, "a page", Nearness.READING)
    assert done == ["a page", "another", "a page"]


async def test_work_that_fails_passes_its_turn_on():
    """Its error is whoever's asked for it."""
    turns = ComputingTurns()

    failed, done = await asyncio.gather(turns.take(int, "x"), turns.take(int, "1"), return_exceptions=True)

    assert isinstance(failed, ValueError)
    assert done == 1
