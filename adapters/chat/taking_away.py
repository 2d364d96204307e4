"""What chats show of a job goes when the job is forgotten, whoever forgot it, and also after a restart."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from core.model.delivery import Address
from core.model.errors import GorkdError
from core.model.job import Scope

if TYPE_CHECKING:
    from core.pipeline.researcher import Researcher

LOOK_EVERY_S = 5.0  # for what other processes forget, as `gorkd forget` does
TAKE_S = 60.0  # one message; a platform may ask to wait
REST_S = 60.0  # while the platform does not take something away

_log = logging.getLogger(__name__)


class TakingAway:
    """Of one platform's bot. `take` returns when an address shows nothing any more, or never will be ours to change."""

    def __init__(self, researcher: Researcher, platform: str, take: Callable[[Address], Awaitable[None]]) -> None:
        self._researcher, self._platform, self._take = researcher, platform, take
        self._hurried = asyncio.Event()

    def hurry(self) -> None:
        """Something was just forgotten."""
        self._hurried.set()

    async def take_back(self, keys: Sequence[str], scopes: Sequence[Scope]) -> None:
        """Forget what a message asked that was deleted, under whichever key and in whichever scope it is kept.

        Raises `GorkdError`.
        """
        for scope in scopes:
            for key in keys:
                if await self._researcher.forget_asked(key, scope=scope):
                    _log.info("forgotten with its message")
                    self.hurry()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            self._hurried.clear()
            wait_s = LOOK_EVERY_S if await self._take_all() else REST_S
            try:
                async with asyncio.timeout(wait_s):
                    await self._hurried.wait()
            except TimeoutError:
                continue

    async def _take_all(self) -> bool:
        """Whether nothing is left."""
        is_done = True
        try:
            for key, address in await self._researcher.condemned(self._platform):
                is_done = await self._take_one(key, address) and is_done
        except GorkdError as error:
            _log.warning("not known what was forgotten", extra={"error": str(error)})
            return False
        return is_done

    async def _take_one(self, key: str, address: Address) -> bool:
        try:
            async with asyncio.timeout(TAKE_S):
                await self._take(address)
            await self._researcher.taken_away(key)
        except Exception:  # noqa: BLE001 -- the boundary of this task; the next round may succeed
            _log.warning("what was forgotten is still shown", exc_info=True)
            return False
        return True
