"""How long something takes that is done again and again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable


async def times_ms(act: Callable[[], Awaitable[None]], repeats: int) -> list[float]:
    """Of each time `act` is done, in order."""
    times: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        await act()
        times.append(1000 * (time.perf_counter() - began))
    return times
