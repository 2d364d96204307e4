"""What a bot is built from and how it connects: to a platform that may be away, taking up again what was left.

Only a platform that itself refuses what the operator has set ends its bot; nothing else does.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from adapters.chat.desk import Proving
from adapters.chat.live import ChatTurns
from core.library.session import LibraryTalks
from core.model.delivery import Messages
from core.model.errors import RowUnreadable, SetupError, StoreError, Unstorable
from core.pipeline.researcher import Researcher
from core.presentation.page_links import PageLinks
from core.tenancy.forgetting import Tenancy

RETRY_S = (1.0, 5.0, 15.0, 60.0)  # between tries while a platform is away; the last is repeated
LASTED_S = 60.0  # what broke after so long was connected: its first new try comes soon again
RESUME_EVERY_S = 60.0
AGAIN_S = (1.0, 4.0, 12.0)  # between tries while the records are away; the last is repeated
MOST_TRIES = 75  # a quarter of an hour
MOST_WAITING = 1000  # at once, in memory
T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChatDeps:
    """`links` give the addresses of pages; `turns` say which of several processes keeps a message alive."""

    researcher: Researcher
    links: PageLinks
    tenancy: Tenancy
    talks: LibraryTalks
    messages: Messages
    turns: ChatTurns
    proving: Proving


class PlatformAway(Exception):
    """A platform that cannot be reached, or answers what says nothing. In words for the log."""


class Outages:
    """Where what a platform tells only once waits for records that are away, until the process ends."""

    def __init__(self, pauses_s: Sequence[float] = AGAIN_S) -> None:
        self._pauses_s, self._waiting, self._ending = pauses_s, 0, asyncio.Event()

    async def outlast(self, do: Callable[[], Awaitable[T]], tell: Callable[[], Awaitable[object]] | None = None) -> T:
        """What `do` gives, which must do nothing twice; `tell` is called when the records are found to be away.

        Raises what `do` does: of `StoreError` what nothing heals, and where too many wait, too long, or at the end.
        """
        for tries in range(MOST_TRIES):
            try:
                return await do()
            except StoreError as exc:
                is_for_good = isinstance(exc, Unstorable | RowUnreadable)
                if is_for_good or self._waiting >= MOST_WAITING or self._ending.is_set():
                    raise
                error = exc
            _log.warning("waiting for the records", extra={"error": str(error)})
            self._waiting += 1
            try:
                if tell is not None and not tries:
                    await tell()
                async with asyncio.timeout(self._pauses_s[min(tries, len(self._pauses_s) - 1)]):
                    await self._ending.wait()
                raise error
            except TimeoutError:
                continue
            finally:
                self._waiting -= 1
        return await do()

    def end(self) -> None:
        """Nobody waits any longer."""
        self._ending.set()


async def keep_trying(
    platform: str,
    connect: Callable[[], Awaitable[None]],
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Until `connect` returns; it is called again whenever it raises `PlatformAway`. Raises `SetupError`."""
    tries = 0
    while True:
        began = clock()
        try:
            return await connect()
        except PlatformAway as away:
            tries = 0 if clock() - began >= LASTED_S else tries
            wait_s = RETRY_S[min(tries, len(RETRY_S) - 1)]
            _log.warning("%s cannot be reached; trying again", platform, extra={"reason": str(away), "retry_s": wait_s})
        tries += 1
        await sleep(wait_s)


async def run_by_itself(platform: str, run: Callable[[], Awaitable[None]]) -> None:
    """A bot beside other parts of one process: a fault of its own ends or restarts it, and nothing else."""
    while True:
        try:
            return await run()
        except SetupError as error:
            return _log.error("%s is off until gorkd is started again: %s", platform, error.operator_message)
        except Exception:  # noqa: BLE001 -- the boundary of one bot; the pages and the other bot go on
            _log.exception("%s broke; starting it again", platform, extra={"retry_s": RETRY_S[-1]})
        await asyncio.sleep(RETRY_S[-1])


async def keep_resuming(resume: Callable[[], Awaitable[int]], *, every_s: float = RESUME_EVERY_S) -> None:
    """Until cancelled; `resume` gives how many answers are followed again."""
    while True:
        try:
            if resumed := await resume():
                _log.info("answers followed again", extra={"count": resumed})
        except Exception:  # noqa: BLE001 -- the boundary of this task; the next round may succeed
            _log.exception("waiting answers could not be looked up")
        await asyncio.sleep(every_s)
