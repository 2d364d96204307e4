"""The library in a chat: one message a thing that is said, edited with its progress, and once more with its answer.

Knows no platform: as for live.py, a platform gives a `Reply` to edit and a `LibraryVoice` that makes its payloads.
Whatever happens, the message ends in words, and an answer that was researched arrives once, also after a restart.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Generic, Protocol, TypeVar

from adapters.chat.live import RENEW_EVERY_S, ChatTurns, LivingMessages, ping, tried
from adapters.chat.reply import ChatReply, EditPace, best_effort
from core.library import wording as library_wording
from core.library.session import LibraryTalks, SaidToLibrary, Speaker, waiting_at
from core.library.states import Addition, Incoming
from core.library.talk import Tell
from core.model.delivery import Address
from core.model.errors import GorkdError
from core.model.job import JobStatus, ResearchJob
from core.model.ports import utc_now
from core.presentation import wording
from core.presentation.render import one_line
from core.text.saying import say

_log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
Payload_co = TypeVar("Payload_co", covariant=True)
_ALONE = ChatTurns()


class LibraryVoice(Protocol[Payload_co]):
    """A platform's renderer of the library."""

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> Payload_co:
        """Progress: what was asked, and the lines told so far, perhaps none; a job that runs can be cancelled."""
        ...

    def said(self, speaker: Speaker, said: SaidToLibrary) -> Payload_co: ...

    def refusal(self, sentence: str) -> Payload_co: ...


@dataclass(frozen=True)
class _Said(Generic[Payload]):
    """Words to the library, the message that answers them, and what finds the answer."""

    speaker: Speaker
    asked: str
    reply: ChatReply[Payload]
    work: Callable[[Tell], Awaitable[SaidToLibrary]]

    @property
    def stands_at(self) -> Address:
        return waiting_at(self.reply.address, self.speaker.key, self.asked)


class LiveTalks(LivingMessages[Payload]):
    """Those in which the library is speaking."""

    def __init__(
        self,
        talks: LibraryTalks,
        voice: LibraryVoice[Payload],
        *,
        platform: str,
        pace: EditPace,
        turns: ChatTurns = _ALONE,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(platform=platform, pace=pace, turns=turns)
        self.talks, self._voice, self._now = talks, voice, now

    def say(self, speaker: Speaker, text: str, reply: ChatReply[Payload], *, about: str = "") -> asyncio.Task[None]:
        """Answer words in `reply`; ends when the answer stands there. `speaker.key` must name the message: one that is
        delivered twice is answered once.
        """
        speaker = replace(speaker, address=waiting_at(reply.address, speaker.key, text))
        return self._begin(_Said(speaker, text, reply, partial(self.talks.say, speaker, text, about=about)))

    def add(
        self, speaker: Speaker, addition: Addition, files: Sequence[Incoming], reply: ChatReply[Payload]
    ) -> asyncio.Task[None]:
        """Put papers into the library, telling in `reply` how far it is; as `say`."""
        asked = f"add {' '.join(addition.references)}" if addition.references else "add to library"  # to type it again
        return self._begin(_Said(speaker, asked, reply, partial(self.talks.add, speaker, addition, files)))

    async def resume(self, reopen: Callable[[Address], Awaitable[ChatReply[Payload] | None]]) -> int:
        """Say again what was left to be researched, and end the rest; how many. `reopen` is as of `LiveAnswers`."""
        resumed = 0
        for waiting in await self.talks.waiting(self._platform):
            if waiting.speaker.key in self._alive or not await self._turns.hold(_turn(waiting.speaker.key)):
                continue
            reply = await reopen(waiting.delivery.address)
            if reply is None:
                await self.talks.delivered(waiting.speaker)
                continue
            say = partial(self.talks.say, waiting.speaker, waiting.text)
            self._begin(_Said(waiting.speaker, waiting.text, reply, say))
            resumed += 1
        for key, _, _ in await self.talks.left_open(self._platform):
            if key not in self._alive and await self._turns.hold(_turn(key)):
                resumed += await self._end(key, reopen)
                await self._turns.give_back(_turn(key))
        return resumed

    async def _end(self, key: str, reopen: Callable[[Address], Awaitable[ChatReply[Payload] | None]]) -> int:
        """Say in a message that was left in the middle that it is to be said again; 1, or 0 where that cannot be."""
        left = {one: (said, address) for one, said, address in await self.talks.left_open(self._platform)}
        if key not in left:  # whoever kept it alive has just ended it
            return 0
        said, address = left[key]
        reply = await reopen(address)
        sentence = say(library_wording.RESTARTED, said=one_line(said)) if said else say(library_wording.RESTARTED_ALONE)
        if reply is not None and not await tried(reply, self._voice.refusal(sentence), key, self._pace):
            return 0
        await self.talks.closed(key)
        return 1

    def _begin(self, said: _Said[Payload]) -> asyncio.Task[None]:
        return self._keep(said.speaker.key, lambda: self._live(said))

    async def _live(self, said: _Said[Payload]) -> None:
        speaker, reply, since = said.speaker, said.reply, self._now()
        lines: list[str] = []

        async def tell(line: str) -> None:
            lines.append(line)

        if not await self._turns.hold(_turn(speaker.key)):
            return
        await self._note(said)
        working = asyncio.ensure_future(said.work(tell))
        try:
            await self._watch(said, working, lines)
            await self._deliver(speaker, reply, await self._outcome(speaker, working), since)
        except asyncio.CancelledError:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            refusal = say(wording.BACK_SOON if await self._attach(said) else library_wording.SAY_AGAIN)
            shown = self._voice.refusal(refusal)
            if await tried(reply, shown, speaker.key, self._pace, within_s=self._pace.farewell_s):
                await self._closed(speaker)
            raise
        finally:
            await self._turns.give_back(_turn(speaker.key))

    async def _watch(self, said: _Said[Payload], working: asyncio.Future[SaidToLibrary], lines: Sequence[str]) -> None:
        """Progress edits until the work has ended; what is quick needs none."""
        shown, address, held_at = -1, said.reply.address, time.monotonic()
        while True:
            await asyncio.wait({working}, timeout=self._pace.edit_every_s)
            if working.done():
                return
            if time.monotonic() - held_at >= RENEW_EVERY_S:
                held_at = time.monotonic()
                await self._turns.hold(_turn(said.speaker.key))
            if len(lines) != shown:
                shown = len(lines)
                job = await self._job_of(said.speaker)
                told = self._voice.told(said.asked, lines, job_id=job.id if job else "")
                await tried(said.reply, told, said.speaker.key, self._pace)
            if said.reply.address != address:
                address = said.reply.address
                await self._note(said)
                await self._attach(said)

    async def _job_of(self, speaker: Speaker) -> ResearchJob | None:
        """The job that is researched for it; None also where that cannot be told."""
        with best_effort(_log.warning, "not known what is researched"):
            return await self.talks.researched(speaker)
        return None

    async def _note(self, said: _Said[Payload]) -> None:
        """Keep where the message is, so that it is ended also when this process does not live to do it."""
        with best_effort(_log.warning, "message not noted"):
            await self.talks.opened(said.speaker, said.stands_at)

    async def _closed(self, speaker: Speaker) -> None:
        with best_effort(_log.warning, "end of a message not noted"):
            await self.talks.closed(speaker.key)

    async def _attach(self, said: _Said[Payload]) -> bool:
        """Remember where the message is now; whether a job waits for it, whose answer comes sooner or later."""
        at = said.stands_at if said.speaker.address is not None else None
        with best_effort(_log.warning, "address not kept"):
            return await self.talks.attach(replace(said.speaker, address=at))
        return False

    async def _outcome(self, speaker: Speaker, working: asyncio.Future[SaidToLibrary]) -> Payload:
        try:
            return self._voice.said(speaker, await working)
        except GorkdError as error:
            return self._voice.refusal(error.user_message)
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("the library failed")
            return self._voice.refusal(say(wording.SOMETHING_BROKE))

    async def _deliver(self, speaker: Speaker, reply: ChatReply[Payload], payload: Payload, since: datetime) -> None:
        """The last edit, tried until it works; an address that stays unreachable is resumed some other time."""
        for wait_s in (*self._pace.backoff_s, None):
            if await tried(reply, payload, speaker.key, self._pace):
                await self._closed(speaker)
                with best_effort(_log.warning, "delivery not noted"):
                    await self.talks.delivered(speaker, reply.shown)
                job = await self._job_of(speaker)
                if job is None or job.status is not JobStatus.CANCELLED:  # who has cancelled waits for nothing
                    waited = self._now() - (min(since, job.created_at) if job else since)  # for an earlier process, too
                    await ping(reply, speaker.asker, speaker.key, self._pace, waited=waited)
                return
            if wait_s is not None:
                await asyncio.sleep(wait_s)


def _turn(key: str) -> str:
    return f"library:{key}"
