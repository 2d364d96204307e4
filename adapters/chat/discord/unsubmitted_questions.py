"""Questions whose message stands before their job does, as while their files are fetched.

Whoever dies in between leaves a note, and the next process has the question asked again: no job knows of it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.chat.discord.delivery import PLATFORM, DiscordReply, MessageAddress
from adapters.chat.discord.render import DiscordVoice
from adapters.chat.live import tried
from adapters.chat.reply import Pace
from core.delivery import Address
from core.errors import GorkdError
from core.job import ResearchRequest, Scope
from core.library.wording import RESTARTED
from core.presentation.render import one_line

if TYPE_CHECKING:
    from core.delivery import OpenMessages
    from core.researcher import Researcher

UNSUBMITTED = f"{PLATFORM}:begun"  # as a platform of its own: other messages without a job are the library's

Reopen = Callable[[Address], Awaitable[DiscordReply | None]]

_log = logging.getLogger(__name__)


class UnsubmittedQuestions:
    """Those of one bot."""

    def __init__(self, kept: OpenMessages, researcher: Researcher, voice: DiscordVoice, pace: Pace) -> None:
        self._kept, self._researcher, self._voice, self._pace = kept, researcher, voice, pace
        self._under_way: set[str] = set()

    @asynccontextmanager
    async def storing(self, key: str, request: ResearchRequest, spot: MessageAddress) -> AsyncIterator[None]:
        """Within the block a job is made, which is stored under `key`. What is interrupted stays noted."""
        self._under_way.add(key)
        try:
            await _logged(self._kept.put(key, request.scope, request.asker, _note(request, spot)))
            yield
        except Exception:
            await _logged(self._kept.erase(key))
            raise
        else:
            await _logged(self._kept.erase(key))
        finally:
            self._under_way.discard(key)

    async def end_left(self, reopen: Reopen) -> int:
        """Have asked again what an earlier process left; how many. `reopen` is that of `LiveAnswers.resume`.

        Raises `StoreError`.
        """
        ended = 0
        for key, note in await self._kept.waiting(UNSUBMITTED):
            if key in self._under_way:
                continue
            question, scope, address = _read(note)
            is_stored = await self._researcher.asked(key, scope=scope) is not None  # its message lives as any other
            reply = None if is_stored else await reopen(address)
            said = self._voice.refusal(RESTARTED.format(said=one_line(question)))
            if reply is not None and not await tried(reply, said, key, self._pace):
                continue
            await self._kept.erase(key)
            ended += reply is not None
        return ended


def _note(request: ResearchRequest, spot: MessageAddress) -> Address:
    at = spot.to_address()
    said = {"asked": request.query, "tenant": request.scope.tenant, "visibility": request.scope.visibility}
    return replace(at, platform=UNSUBMITTED, data={**at.data, **said})


def _read(note: Address) -> tuple[str, Scope, Address]:
    data = dict(note.data)
    asked, tenant, visibility = (str(data.pop(name)) for name in ("asked", "tenant", "visibility"))
    return asked, Scope(tenant, visibility), replace(note, platform=PLATFORM, data=data)


async def _logged(work: Awaitable[None]) -> None:
    """A question is not lost for its note."""
    try:
        await work
    except GorkdError as error:
        _log.warning("a begun question is not noted", extra={"error": str(error)})
