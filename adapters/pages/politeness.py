"""How hard one host may be asked: so many requests at once, so many a second."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter

_MAX_HOSTS = 1_000  # remembered; the longest unused are forgotten first


class _Host:
    def __init__(self, at_once: int, per_second: float) -> None:
        self.places = asyncio.Semaphore(at_once)
        self.rate = AsyncLimiter(max_rate=max(per_second, 1.0), time_period=max(1.0, 1.0 / per_second))
        self.users = 0


class Politeness:
    """Waits until a host may be asked. `at_once` ≥ 1 requests in flight, `per_second` > 0 begun, for each host."""

    def __init__(self, *, at_once: int, per_second: float) -> None:
        self._at_once = at_once
        self._per_second = per_second
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, host: str) -> AsyncIterator[None]:
        known = self._hosts.setdefault(host, _Host(self._at_once, self._per_second))
        self._hosts.move_to_end(host)
        known.users += 1
        try:
            async with known.places:
                await known.rate.acquire()
                yield
        finally:
            known.users -= 1
            self._forget()

    def _forget(self) -> None:
        for host in list(self._hosts)[: max(0, len(self._hosts) - _MAX_HOSTS)]:
            if not self._hosts[host].users:
                del self._hosts[host]
