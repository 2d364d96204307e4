"""The one GET of the keyless providers."""

from __future__ import annotations

import asyncio

from adapters.search.gate import Gate, Rate
from adapters.search.http import ApiClient
from adapters.search.settings import Access, TimeLimits
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

ACCESS = Access("wikipedia", "Wikipedia", url_variable="WIKIPEDIA_BASE_URL")


async def test_waiting_for_others_is_not_connecting() -> None:
    """Sixteen calls, two at once, wait longer than the time to connect; that is no dead server."""
    gate = Gate(ACCESS, Rate(calls=1000, period_s=1, at_once=2))
    api = ApiClient(ACCESS, gate, TimeLimits(search_s=10, connect_s=0.5), agent="gorkd/test")
    async with SearchWorld([], faults={"wikipedia": Fault(body=b"{}")}, latency_s=0.1) as world:
        url = world.base_url("wikipedia")
        loop = asyncio.get_running_loop()
        started = loop.time()

        bodies = await asyncio.gather(*(api.get(url, {}) for _ in range(16)))

        await api.aclose()
    assert bodies == [b"{}"] * 16
    assert loop.time() - started >= 0.8  # no more than two at once
