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
from typing import Protocol, TypeVar

from adapters.chat.live import RENEW_EVERY_S, ChatTurns, LivingMessages, ping, tried, utc_now
from adapters.chat.reply import ChatReply, EditPace
from core.library import wording as library_wording
from core.library.session import LibraryTalks, SaidToLibrary, Speaker, waiting_at
from core.library.states import COMMANDS, Conversation, State
from core.library.talk import Tell
from core.library.words import Addition, Incoming
from core.model.delivery import Address
from core.model.errors import GorkdError
from core.model.job import JobStatus, ResearchJob
from core.presentation import wording
from core.presentation.render import one_line
from core.text.saying import say

_log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
Payload_co = TypeVar("Payload_co", covariant=True)
_ALONE = ChatTurns()
ALONE = ("Help", "Status")  # titles of what is for whoever asked, and goes on to nothing
_OF_NUMBER = {State.SELECT_NEW: "summarize", State.SELECT_VIEW: "summary"}  # what a number's button does; else open
_LABELS = {"open": "Open", "summary": "Summary", "summarize": "Add", "improve": wording.IMPROVE, "save": "Save"}


class LibraryVoice(Protocol[Payload_co]):
    """A platform's renderer of the library."""

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> Payload_co:
        """Progress: what was asked, and the lines told so far, perhaps none; a job that runs can be cancelled."""
        ...

    def said(self, speaker: Speaker, said: SaidToLibrary) -> Payload_co: ...

    def refusal(self, sentence: str) -> Payload_co: ...


@dataclass(frozen=True)
class LibraryStep:
    """A button that goes on from a reply: what it `says`, as one would type it, and what stands on it.

    `about` is the tag of what it is tied to, "" where what came since does not matter.
    """

    says: str
    label: str
    about: str = ""


def library_steps(said: SaidToLibrary, *, most_papers: int) -> tuple[LibraryStep, ...]:
    """What can be done next, on every platform the same; nothing under help, a refusal or a file."""
    now, reply = said.after, said.reply
    is_alone = reply.title in ("", *(say(title) for title in ALONE))
    if reply.file is not None or (is_alone and not now.offered and reply.page is None and not said.added):
        return ()
    if now.offered:
        return LibraryStep("yes", say("Yes")), LibraryStep("no", say("No"))
    if said.added:
        return _papers(said.added, "summary", most=most_papers, is_numbered=len(said.added) > 1)
    if reply.page is not None:
        paper, page = reply.page[0], reply.page[1] or 1
        around = [(page - 1, say("◀ Page {at}", at=page - 1)), (page + 1, say("Page {at} ▶", at=page + 1))]
        paging = [LibraryStep(f"open {paper.id} page {at}", label) for at, label in around if 1 <= at <= paper.pages]
        return *paging, *_working_on(now)
    if now.selected_paper:
        return LibraryStep(f"open {now.selected_paper}", say(_LABELS["open"])), *_working_on(now)
    verb = _OF_NUMBER.get(now.state, "open")
    return *_papers(now.last_query_set, verb, most=most_papers), *_working_on(now)


def _papers(ids: Sequence[str], verb: str, *, most: int, is_numbered: bool = True) -> tuple[LibraryStep, ...]:
    """By their numbers in the list."""
    return tuple(
        LibraryStep(f"{verb} {paper_id}", f"{say(_LABELS[verb])} {at}" if is_numbered else say(_LABELS[verb]))
        for at, paper_id in enumerate(ids[:most], 1)
    )


def _working_on(now: Conversation) -> list[LibraryStep]:
    """What can be done to what is shown, tied to it."""
    doing = ("improve", "save")
    return [LibraryStep(name, say(_LABELS[name]), now.tag) for name in doing if now.works_on in COMMANDS[name].states]


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

    async def say(self, speaker: Speaker, text: str, reply: ChatReply[Payload], *, about: str = "") -> None:
        """Answer words in `reply`; returns when the answer stands there. `speaker.key` must name the message."""
        speaker = replace(speaker, address=waiting_at(reply.address, speaker.key, text))
        await self._once(speaker, text, reply, partial(self.talks.say, speaker, text, about=about))

    async def add(
        self, speaker: Speaker, addition: Addition, files: Sequence[Incoming], reply: ChatReply[Payload]
    ) -> None:
        """Put papers into the library, telling in `reply` how far it is."""
        await self._once(speaker, said_to_add(addition), reply, partial(self.talks.add, speaker, addition, files))

    async def resume(self, reopen: Callable[[Address], Awaitable[ChatReply[Payload] | None]]) -> int:
        """Say again what an earlier process left to be researched, and end what it left otherwise; how many.

        `reopen` is that of `LiveAnswers.resume`.
        """
        resumed = 0
        for waiting in await self.talks.waiting(self._platform):
            if waiting.speaker.key in self._alive or not await self._turns.hold(_turn(waiting.speaker.key)):
                continue
            reply = await reopen(waiting.delivery.address)
            if reply is None:
                await self.talks.delivered(waiting.speaker)
                continue
            say = partial(self.talks.say, waiting.speaker, waiting.text)
            self._begin(waiting.speaker, waiting.text, reply, say)
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

    async def _once(
        self, speaker: Speaker, asked: str, reply: ChatReply[Payload], work: Callable[[Tell], Awaitable[SaidToLibrary]]
    ) -> None:
        """A message that is delivered twice is answered once."""
        if speaker.key not in self._alive:
            await asyncio.shield(self._begin(speaker, asked, reply, work))

    def _begin(
        self, speaker: Speaker, asked: str, reply: ChatReply[Payload], work: Callable[[Tell], Awaitable[SaidToLibrary]]
    ) -> asyncio.Task[None]:
        return self._keep(speaker.key, lambda: self._live(speaker, asked, reply, work))

    async def _live(
        self, speaker: Speaker, asked: str, reply: ChatReply[Payload], work: Callable[[Tell], Awaitable[SaidToLibrary]]
    ) -> None:
        lines: list[str] = []
        since = self._now()

        async def tell(line: str) -> None:
            lines.append(line)

        if not await self._turns.hold(_turn(speaker.key)):
            return
        await self._note(speaker, asked, reply)
        working = asyncio.ensure_future(work(tell))
        try:
            await self._watch(speaker, asked, reply, working, lines)
            await self._deliver(speaker, reply, await self._outcome(speaker, working), since)
        except asyncio.CancelledError:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            is_kept = await self._attach(speaker, asked, reply)
            refusal = self._voice.refusal(say(wording.BACK_SOON if is_kept else library_wording.SAY_AGAIN))
            if await tried(reply, refusal, speaker.key, self._pace, within_s=self._pace.farewell_s):
                await self._closed(speaker)
            raise
        finally:
            await self._turns.give_back(_turn(speaker.key))

    async def _watch(
        self,
        speaker: Speaker,
        asked: str,
        reply: ChatReply[Payload],
        working: asyncio.Future[SaidToLibrary],
        lines: Sequence[str],
    ) -> None:
        """Progress edits until the work has ended; what is quick needs none."""
        shown, address, held_at = -1, reply.address, time.monotonic()
        while True:
            await asyncio.wait({working}, timeout=self._pace.edit_every_s)
            if working.done():
                return
            if time.monotonic() - held_at >= RENEW_EVERY_S:
                held_at = time.monotonic()
                await self._turns.hold(_turn(speaker.key))
            if len(lines) != shown:
                shown = len(lines)
                job = await self._job_of(speaker)
                told = self._voice.told(asked, lines, job_id=job.id if job else "")
                await tried(reply, told, speaker.key, self._pace)
            if reply.address != address:
                address = reply.address
                await self._note(speaker, asked, reply)
                await self._attach(speaker, asked, reply)

    async def _job_of(self, speaker: Speaker) -> ResearchJob | None:
        """The job that is researched for it; None also where that cannot be told."""
        try:
            return await self.talks.researched(speaker)
        except GorkdError as error:
            _log.warning("not known what is researched", extra={"error": str(error)})
            return None

    async def _note(self, speaker: Speaker, asked: str, reply: ChatReply[Payload]) -> None:
        """Keep where the message is, so that it is ended also when this process does not live to do it."""
        try:
            await self.talks.opened(speaker, waiting_at(reply.address, speaker.key, asked))
        except GorkdError as error:
            _log.warning("message not noted", extra={"error": str(error)})

    async def _closed(self, speaker: Speaker) -> None:
        try:
            await self.talks.closed(speaker.key)
        except GorkdError as error:
            _log.warning("end of a message not noted", extra={"error": str(error)})

    async def _attach(self, speaker: Speaker, asked: str, reply: ChatReply[Payload]) -> bool:
        """Remember where the message is now; whether a job waits for it, whose answer comes sooner or later."""
        try:
            at = waiting_at(reply.address, speaker.key, asked) if speaker.address is not None else None
            return await self.talks.attach(replace(speaker, address=at))
        except GorkdError as error:
            _log.warning("address not kept", extra={"error": str(error)})
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
                try:
                    await self.talks.delivered(speaker, reply.shown)
                except GorkdError as error:
                    _log.warning("delivery not noted", extra={"error": str(error)})
                await self._call(speaker, reply, since)
                return
            if wait_s is not None:
                await asyncio.sleep(wait_s)

    async def _call(self, speaker: Speaker, reply: ChatReply[Payload], since: datetime) -> None:
        """As live.py does: who has cancelled waits for nothing, and who asked an earlier process waits since then."""
        job = await self._job_of(speaker)
        if job is None or job.status is not JobStatus.CANCELLED:
            waited = self._now() - (min(since, job.created_at) if job else since)
            await ping(reply, speaker.asker, speaker.key, self._pace, waited=waited)


def said_to_add(addition: Addition) -> str:
    """What to type for the same again; files come along by themselves."""
    return f"add {' '.join(addition.references)}" if addition.references else "add to library"


def _turn(key: str) -> str:
    return f"library:{key}"
