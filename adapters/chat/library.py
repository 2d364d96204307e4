"""The library in a chat: one message a thing that is said, edited with its progress, and once more with its answer.

Knows no platform: as for live.py, a platform gives a `Reply` to edit and a `LibraryVoice` that makes its payloads.
Whatever happens, the message ends in words, and an answer that was researched arrives once, also after a restart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from adapters.chat.reply import AddressDead, Pace, Reply
from core import wording
from core.delivery import Delivery
from core.errors import GorkdError
from core.library import wording as library_wording
from core.library.adding import Incoming
from core.library.session import LibraryTalks, Said, Speaker, Tell, waiting_at
from core.library.words import Addition

_log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
Payload_co = TypeVar("Payload_co", covariant=True)


class LibraryVoice(Protocol[Payload_co]):
    """A platform's renderer of the library."""

    def told(self, asked: str, lines: Sequence[str]) -> Payload_co:
        """Progress: what was asked, and the lines told so far, perhaps none."""
        ...

    def said(self, speaker: Speaker, said: Said) -> Payload_co: ...

    def refusal(self, sentence: str) -> Payload_co: ...


class LiveTalks(Generic[Payload]):
    """All messages of one platform's bot in which the library is speaking. Leave with `aclose`."""

    def __init__(self, talks: LibraryTalks, voice: LibraryVoice[Payload], *, platform: str, pace: Pace) -> None:
        """`platform` is the one in the addresses of this bot's replies."""
        self.talks = talks
        self._voice, self._platform, self._pace = voice, platform, pace
        self._speaking: dict[str, asyncio.Task[None]] = {}

    async def say(self, speaker: Speaker, text: str, reply: Reply[Payload], *, about: str = "") -> None:
        """Answer words in `reply`; returns when the answer stands there. `speaker.key` must name the message."""
        speaker = replace(speaker, address=waiting_at(reply.address, speaker.key, text))
        await self._once(speaker, text, reply, partial(self.talks.say, speaker, text, about=about))

    async def add(self, speaker: Speaker, addition: Addition, files: Sequence[Incoming], reply: Reply[Payload]) -> None:
        """Put papers into the library, telling in `reply` how far it is."""
        await self._once(speaker, "add", reply, partial(self.talks.add, speaker, addition, files))

    async def resume(self, reopen: Callable[[Delivery], Awaitable[Reply[Payload] | None]]) -> int:
        """Say again what an earlier process left unanswered; how much. `reopen` is that of `LiveAnswers.resume`."""
        resumed = 0
        for waiting in await self.talks.waiting(self._platform):
            if waiting.speaker.key in self._speaking:
                continue
            reply = await reopen(waiting.delivery)
            if reply is None:
                await self.talks.delivered(waiting.speaker)
                continue
            say = partial(self.talks.say, waiting.speaker, waiting.text)
            self._begin(waiting.speaker, waiting.text, reply, say)
            resumed += 1
        return resumed

    async def settle(self, within_s: float) -> None:
        """Wait for what is under way, at most so long."""
        if self._speaking:
            await asyncio.wait(list(self._speaking.values()), timeout=within_s)

    async def aclose(self) -> None:
        """Stop; each message says that its answer will come, or that it is to be asked again."""
        tasks = list(self._speaking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _once(
        self, speaker: Speaker, asked: str, reply: Reply[Payload], work: Callable[[Tell], Awaitable[Said]]
    ) -> None:
        """A message that is delivered twice is answered once."""
        if speaker.key not in self._speaking:
            await asyncio.shield(self._begin(speaker, asked, reply, work))

    def _begin(
        self, speaker: Speaker, asked: str, reply: Reply[Payload], work: Callable[[Tell], Awaitable[Said]]
    ) -> asyncio.Task[None]:
        task = asyncio.create_task(self._live(speaker, asked, reply, work), name=f"library {speaker.key}")
        self._speaking[speaker.key] = task
        task.add_done_callback(lambda _: self._speaking.pop(speaker.key, None))
        return task

    async def _live(
        self, speaker: Speaker, asked: str, reply: Reply[Payload], work: Callable[[Tell], Awaitable[Said]]
    ) -> None:
        lines: list[str] = []

        async def tell(line: str) -> None:
            lines.append(line)

        working = asyncio.ensure_future(work(tell))
        try:
            await self._watch(speaker, asked, reply, working, lines)
            await self._deliver(speaker, reply, await self._outcome(speaker, working))
        except asyncio.CancelledError:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            farewell = wording.BACK_SOON if await self._attach(speaker, asked, reply) else library_wording.SAY_AGAIN
            await self._try(reply, self._voice.refusal(farewell), speaker.key, timeout_s=self._pace.farewell_s)
            raise

    async def _watch(
        self,
        speaker: Speaker,
        asked: str,
        reply: Reply[Payload],
        working: asyncio.Future[Said],
        lines: Sequence[str],
    ) -> None:
        """Progress edits until the work has ended; what is quick needs none."""
        shown, address = -1, reply.address
        while True:
            await asyncio.wait({working}, timeout=self._pace.edit_every_s)
            if working.done():
                return
            if len(lines) != shown:
                shown = len(lines)
                await self._try(reply, self._voice.told(asked, lines), speaker.key)
            if reply.address != address and await self._attach(speaker, asked, reply):
                address = reply.address

    async def _attach(self, speaker: Speaker, asked: str, reply: Reply[Payload]) -> bool:
        """Remember where the message is now; whether a job waits for it, whose answer comes sooner or later."""
        try:
            at = waiting_at(reply.address, speaker.key, asked) if speaker.address is not None else None
            return await self.talks.attach(replace(speaker, address=at))
        except GorkdError as error:
            _log.warning("address not kept", extra={"error": str(error)})
            return False

    async def _outcome(self, speaker: Speaker, working: asyncio.Future[Said]) -> Payload:
        try:
            return self._voice.said(speaker, await working)
        except GorkdError as error:
            return self._voice.refusal(error.user_message)
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("the library failed")
            return self._voice.refusal(wording.SOMETHING_BROKE)

    async def _deliver(self, speaker: Speaker, reply: Reply[Payload], payload: Payload) -> None:
        """The last edit, tried until it works; an address that stays unreachable is resumed some other time."""
        for wait_s in (*self._pace.backoff_s, None):
            if await self._try(reply, payload, speaker.key):
                try:
                    await self.talks.delivered(speaker)
                except GorkdError as error:
                    _log.warning("delivery not noted", extra={"error": str(error)})
                return
            if wait_s is not None:
                await asyncio.sleep(wait_s)

    async def _try(self, reply: Reply[Payload], payload: Payload, key: str, *, timeout_s: float | None = None) -> bool:
        """Whether it is shown, or nothing ever can be there."""
        try:
            async with asyncio.timeout(timeout_s or self._pace.edit_timeout_s):
                try:
                    await reply.edit(payload)
                except AddressDead:
                    await reply.repost(payload, key)
        except AddressDead:
            _log.error("no place is left for the library's answer")
        except Exception:  # noqa: BLE001 -- whatever the platform raised
            _log.warning("message could not be edited", exc_info=True)
            return False
        return True
