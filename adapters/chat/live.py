"""One message that lives: a placeholder, edited while the job runs, and edited once more at its end.

Whatever happens, the last thing a person sees is an answer, an honest refusal or a failure, and exactly one of
them: the message's address is kept with the job until it has been delivered, so a restarted bot goes on where the
last one stopped. Of several processes one has its turn to keep a message alive; who dies in it holds up the others
for `TURN` at most. Knows no platform: a platform gives a `Reply` to edit and a `Voice` that makes its payloads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, TypeVar

from adapters.chat.reply import (
    AddressDead,
    ChatReply,
    EditPace,
    FilesRefused,
    StoppedByPerson,
    Voice,
    best_effort,
    ended_with_block,
)
from core.library.session import Waiting
from core.model.answer import AnswerFile, JobResult
from core.model.delivery import Address, Delivery
from core.model.errors import GorkdError, JobNotFound, StoreError
from core.model.job import TERMINAL_STATUSES, JobStatus, ResearchJob, Scope
from core.model.ports import Turns, utc_now
from core.modes import files_of
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.presentation.snapshot import Snapshot
from core.text.saying import say, speaking
from core.watch.watch import WatchNotice

TURN = timedelta(seconds=120)  # longer than an upload and an edit may take together (reply.py)
RENEW_EVERY_S = 30.0

_log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
T = TypeVar("T")


@dataclass
class _Live(Generic[Payload]):
    """One job and its message."""

    job: ResearchJob
    reply: ChatReply[Payload]
    attached: Address | None = None
    snapshot: Snapshot = field(default_factory=Snapshot)
    urgent: asyncio.Event = field(default_factory=asyncio.Event)
    held_at: float = 0.0  # of the loop's clock
    heard_at: float = 0.0  # so, too: when the records last told something
    is_away: bool = False  # the records, when they were last asked
    notice: WatchNotice | None = None  # what a watch tells of the job, in place of its answer
    is_answered: bool = False  # its last word stands there

    @property
    def turn(self) -> str:
        return turn_of(self.job.id)


class _TakenOver(Exception):
    """Another process keeps the message alive."""


@dataclass(frozen=True)
class ChatTurns:
    """`holder` names this process. Without `turns` it is the only one."""

    turns: Turns | None = None
    holder: str = ""

    async def hold(self, name: str) -> bool:
        """Whether it is our turn, for `TURN`; so, too, without records: better a word twice than none."""
        if self.turns is None:
            return True
        try:
            is_ours = await self.turns.keep(name, self.holder, ttl=TURN)
            return is_ours or await self.turns.take(name, self.holder, ttl=TURN)
        except StoreError as error:
            _log.warning("turn not noted", extra={"turn": name, "error": str(error)})
            return True

    async def give_back(self, name: str) -> None:
        if self.turns is None:
            return
        with best_effort(_log.warning, "turn not given back", of=StoreError, turn=name):
            await self.turns.give_back(name, self.holder)


_PACE = EditPace()
_ALONE = ChatTurns()


def turn_of(job_id: str) -> str:
    return f"message:{job_id}"


class LivingMessages(Generic[Payload]):
    """Messages of one platform's bot that are kept alive, each by one task. Leave with `aclose`."""

    def __init__(self, *, platform: str, pace: EditPace, turns: ChatTurns) -> None:
        """`platform` is the one in the addresses of this bot's replies."""
        self._platform, self._pace, self._turns = platform, pace, turns
        self._alive: dict[str, asyncio.Task[None]] = {}

    async def settle(self, within_s: float) -> None:
        """Wait for what is under way, at most so long."""
        if self._alive:
            await asyncio.wait(list(self._alive.values()), timeout=within_s)

    async def aclose(self) -> None:
        """Stop; each message says how it goes on. Jobs go on where they run."""
        tasks = list(self._alive.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, key: str, living: Callable[[], Coroutine[None, None, None]]) -> asyncio.Task[None]:
        """One task a `key`: twice is once."""
        if key not in self._alive:
            task = asyncio.create_task(living(), name=f"live {key}")
            self._alive[key] = task
            task.add_done_callback(lambda _: self._alive.pop(key, None))
        return self._alive[key]


class LiveAnswers(LivingMessages[Payload]):
    """The answers to questions; what has not ended is resumed by the next bot."""

    def __init__(
        self,
        researcher: Researcher,
        voice: Voice[Payload],
        *,
        platform: str,
        pace: EditPace = _PACE,
        turns: ChatTurns = _ALONE,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(platform=platform, pace=pace, turns=turns)
        self._researcher, self._voice, self._now = researcher, voice, now
        self._accepting: list[Address] = []  # of messages whose job is being stored: not left behind by anybody

    async def accept(
        self,
        submit: Callable[[], Awaitable[ResearchJob]],
        reply: ChatReply[Payload],
        *,
        known: bool = False,
        is_kept: bool = False,
    ) -> ResearchJob | None:
        """Store the job that `submit` makes, and its message's address: what must be done before a platform is acked,
        and all that `follow` needs. Errors of the platform itself are logged, never raised.

        None when the question was refused (which `reply` says then) or `known` to be answered elsewhere. Of what
        `is_kept` by who calls nothing is said while the records are away: it raises `StoreError`, to be tried again.
        """
        address = reply.address
        self._accepting.append(address)
        try:
            job = await submit()
            if (known and await self._is_taken(job)) or job.id in self._alive:
                return None
            await self._researcher.attach(job.id, reply.address)
        except GorkdError as error:
            if is_kept and isinstance(error, StoreError):
                raise
            _log.info("question refused", extra={"code": error.code, "reason": str(error)})
            await show(reply, self._voice.refusal(error.user_message), within_s=self._pace.edit_timeout_s)
            return None
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("question failed")
            await show(reply, self._voice.refusal(say(wording.SOMETHING_BROKE)), within_s=self._pace.edit_timeout_s)
            return None
        finally:
            self._accepting.remove(address)
        return job

    async def known(self, scope: Scope, dedupe_key: str) -> bool:
        """Whether this was asked before; records that are away refuse the question itself."""
        with best_effort(_log.warning, "not known whether this was asked before"):
            return bool(dedupe_key) and await self._researcher.asked(dedupe_key, scope=scope) is not None
        return False

    def follow(self, job: ResearchJob, reply: ChatReply[Payload]) -> asyncio.Task[None]:
        """Keep `reply` up to date until the answer is delivered; the task never fails. Twice is once."""
        return self._keep(job.id, lambda: self._live(_Live(job, reply)))

    async def resume(self, reopen: Callable[[Address], Awaitable[ChatReply[Payload] | None]]) -> int:
        """Follow every job whose message still waits; how many. To be called at start and after an outage.

        `reopen` gives the message behind an address, None when nothing can be shown there any more. What another
        process keeps alive is left to it.
        """
        resumed = 0
        for delivery in await self._left():
            reply = await reopen(delivery.address)
            if reply is None:
                await self._researcher.watching.place_gone(delivery.address)
                await self._researcher.delivered(delivery.job.id)
                await self._turns.give_back(turn_of(delivery.job.id))
                continue
            self.follow(delivery.job, reply)
            resumed += 1
        return resumed

    async def _left(self) -> list[Delivery]:
        """What nobody keeps alive, of which it is our turn now; what another has just ended no longer waits."""
        ours = [
            delivery.job.id
            for delivery in await self._researcher.undelivered(self._platform)
            if delivery.job.id not in self._alive
            and delivery.address not in self._accepting
            and Waiting.of(delivery) is None  # adapters/chat/library.py
            and await self._turns.hold(turn_of(delivery.job.id))
        ]
        waiting = {one.job.id: one for one in await self._researcher.undelivered(self._platform)} if ours else {}
        for job_id in ours:
            if job_id not in waiting:
                await self._turns.give_back(turn_of(job_id))
        return [waiting[job_id] for job_id in ours if job_id in waiting and job_id not in self._alive]

    async def _is_taken(self, job: ResearchJob) -> bool:
        """Of a re-sent event: its message waits to be resumed, or has had its answer."""
        waiting = {delivery.job.id for delivery in await self._researcher.undelivered(self._platform)}
        return job.id in waiting or job.status in TERMINAL_STATUSES

    async def _live(self, live: _Live[Payload]) -> None:
        live.heard_at = asyncio.get_running_loop().time()
        try:
            await self._hold(live)
            with speaking(wording.language_of(live.job)):
                await self._keep_alive(live)
        except _TakenOver:
            _log.info("message is another process's", extra={"job": live.job.id})
        else:
            await self._turns.give_back(live.turn)

    async def _hold(self, live: _Live[Payload]) -> None:
        """Raises `_TakenOver`."""
        if not await self._turns.hold(live.turn):
            raise _TakenOver
        live.held_at = asyncio.get_running_loop().time()

    async def _keep_alive(self, live: _Live[Payload]) -> None:
        try:
            # What a watch has left to be told there; its key says so.
            live.notice = await self._researcher.watching.told_at(live.reply.address)
            if live.job.status not in TERMINAL_STATUSES:
                await self._watch_on(live)
            await self._deliver(live)
        except asyncio.CancelledError:
            if not live.is_answered:
                await show(live.reply, self._voice.refusal(say(wording.BACK_SOON)), within_s=self._pace.farewell_s)
            await self._turns.give_back(live.turn)
            raise
        except _TakenOver:
            raise
        except JobNotFound as error:
            await show(live.reply, self._voice.refusal(error.user_message), within_s=self._pace.edit_timeout_s)
        except Exception:  # noqa: BLE001 -- a chat's process boundary; the address stays, and is resumed
            _log.exception("message abandoned", extra={"job": live.job.id})
            broke = self._voice.refusal(say(wording.SOMETHING_BROKE))
            await show(live.reply, broke, within_s=self._pace.edit_timeout_s)

    async def _watch_on(self, live: _Live[Payload]) -> None:
        """While the records are away no edit but one that says so; when they are back, from where it was."""
        for wait_s in (*self._pace.backoff_s, *self._pace.patience_s, None):
            try:
                if live.is_away:
                    await self._researcher.job(live.job.id)
                    live.is_away, live.heard_at = False, asyncio.get_running_loop().time()
                await self._watch(live)
            except StoreError as error:
                if wait_s is None:
                    raise
                _log.warning("message not kept up to date", extra={"job": live.job.id, "error": str(error)})
                await self._wait_for_records(live, wait_s)
            else:
                return

    async def _wait_for_records(self, live: _Live[Payload], wait_s: float) -> None:
        """A wait that somebody would notice is told where the progress stands; an answer that may stand there stays."""
        live.is_away = True
        may_be_answered = live.is_answered or live.job.status in TERMINAL_STATUSES
        if not may_be_answered and asyncio.get_running_loop().time() - live.heard_at >= self._pace.told_from_s:
            told = self._drawn(live, replace(live.snapshot, message=say(wording.RECORDS_AWAY)))
            with suppress(StoppedByPerson):  # the next edit hears of it
                await tried(live.reply, told, live.job.id, self._pace)
        await asyncio.sleep(wait_s)

    async def _show(self, live: _Live[Payload]) -> None:
        """How far it is. An edit that fails costs no more; a dead message is replaced. The platform's own Stop is a
        Cancel. Raises `StoreError` where the records cannot be asked, or not told where the message is.
        """
        snapshot = live.snapshot
        if snapshot.stage == JobStatus.PENDING and (ahead := await self._researcher.position(live.job.id)) is not None:
            snapshot = replace(snapshot, position=ahead, message=wording.queue_message(ahead))
        try:
            await self._researcher.job(live.job.id)  # what was forgotten, and so taken away, is not posted anew
            await tried(live.reply, self._drawn(live, snapshot), live.job.id, self._pace)
        except StoppedByPerson:
            with best_effort(_log.warning, "not cancelled", job=live.job.id):
                await self._researcher.cancel(live.job.id)
        await self._attach(live)
        if live.is_away:
            raise StoreError("the message's address could not be kept")

    def _drawn(self, live: _Live[Payload], snapshot: Snapshot) -> Payload:
        elapsed_s = (self._now() - live.job.created_at).total_seconds()
        return self._voice.progress(live.job, snapshot, max(0.0, elapsed_s))

    async def _watch(self, live: _Live[Payload]) -> None:
        """Progress edits until the job has ended: at once when something is new, else now and then."""
        loop = asyncio.get_running_loop()
        await self._show(live)
        async with ended_with_block(self._read(live)) as reading:
            shown, shown_at = live.snapshot, loop.time()
            while True:
                await self._pause(live, reading)
                if reading.done():
                    return await reading
                if loop.time() - live.held_at >= RENEW_EVERY_S:
                    await self._hold(live)
                if live.snapshot != shown or loop.time() - shown_at >= self._pace.refresh_every_s:
                    shown, shown_at = live.snapshot, loop.time()
                    await self._show(live)

    async def _pause(self, live: _Live[Payload], reading: asyncio.Future[None]) -> None:
        """Until the next edit is due, or the job has ended, or there is something to show at once.

        That is an earlier answer (D12), and the first sentence; those after it wait for their turn.
        """
        every_s = self._pace.stream_every_s if live.reply.is_streaming else self._pace.edit_every_s
        async with ended_with_block(live.urgent.wait()) as urgent:
            news: set[asyncio.Future[Any]] = {reading, urgent}
            await asyncio.wait(news, timeout=every_s, return_when=asyncio.FIRST_COMPLETED)
        live.urgent.clear()

    async def _read(self, live: _Live[Payload]) -> None:
        async for event in self._researcher.follow(live.job.id, after=live.snapshot.seq):
            had, had_sentences = live.snapshot.earlier, bool(live.snapshot.sentences)
            live.snapshot, live.heard_at = live.snapshot.after(event), asyncio.get_running_loop().time()
            is_whole = event.type == "status" and bool(live.snapshot.sentences)
            is_first = bool(live.snapshot.sentences) and not had_sentences
            if (live.snapshot.earlier and is_whole) or (had and not live.snapshot.earlier) or is_first:
                live.urgent.set()

    async def _attach(self, live: _Live[Payload]) -> None:
        """Remember where the message is now."""
        address = live.reply.address
        if address == live.attached:
            return
        try:
            await self._researcher.attach(live.job.id, address)
            live.attached = address
        except JobNotFound:
            raise
        except GorkdError as error:
            live.is_away = isinstance(error, StoreError)
            _log.warning("address not kept", extra={"job": live.job.id, "error": str(error)})

    async def _deliver(self, live: _Live[Payload]) -> None:
        """The last edit, and another one where the answer was corrected meanwhile."""
        said = ""
        while (shown := await self._shown(live)) is not None:
            (job, result), late, is_other = shown, "", False
            with best_effort(_log.warning, "not known whether it was corrected"):
                late = await self._researcher.take_correction(job.id)
                is_other = bool(late) and await self._researcher.result(job.id) != result
            said = said or late
            if is_other:
                live.attached = None
                await self._attach(live)
                continue
            waited = (job.completed_at or job.created_at) - job.created_at
            is_called = not job.request.watch and job.status is not JobStatus.CANCELLED  # who cancels waits for nothing
            if said or is_called:
                await ping(live.reply, job.request.asker, job.id, self._pace, waited=waited, said=said)
            return

    async def _shown(self, live: _Live[Payload]) -> tuple[ResearchJob, JobResult | None] | None:
        """What is shown now. It is tried until it works; an address that stays unreachable is resumed some other time,
        and gives None, as does one that is gone.
        """
        for number, wait_s in enumerate((*self._pace.backoff_s, *self._pace.patience_s, None)):
            try:
                await self._hold(live)
                job = await self._researcher.job(live.job.id)
                if job.status not in TERMINAL_STATUSES:
                    raise StoreError("its end was told and could not be stored yet")
                sources = await self._researcher.sources(job.id)
                result = await self._researcher.result(job.id)
                first = await self._researcher.first_asker(job.id, scope=job.scope)
                is_new = await self._researcher.is_first_answer(job)
                outcome = partial(self._voice.outcome, job, result, sources, first_asker=first, explains=is_new)
                files = files_of(job, result)
                if live.notice is not None:
                    outcome, files = partial(self._voice.told, job, live.notice), ()
                may_repost = number >= len(self._pace.backoff_s)
                await self._place_with_files(live, outcome, files, may_repost=may_repost)
                live.is_answered = True
                await self._attach(live)
                await self._researcher.delivered(job.id, live.reply.shown)
            except (JobNotFound, _TakenOver):
                raise
            except AddressDead:
                _log.error("no place is left for an answer", extra={"job": live.job.id})
                await self._researcher.watching.place_gone(live.reply.address)
                await self._researcher.delivered(live.job.id)
                return None
            except StoreError:
                _log.warning("answer not delivered yet", exc_info=True, extra={"job": live.job.id})
                if wait_s is not None:
                    await self._wait_for_records(live, wait_s)
            except Exception:  # noqa: BLE001 -- whatever the platform raised; tried again
                _log.warning("answer not delivered yet", exc_info=True, extra={"job": live.job.id})
                if wait_s is not None:
                    await asyncio.sleep(wait_s)
            else:
                return job, result
        return None

    async def _place_with_files(
        self, live: _Live[Payload], outcome: Callable[..., Payload], files: Sequence[AnswerFile], *, may_repost: bool
    ) -> None:
        """The answer with its files, else with words on where they are: no file may cost an answer."""
        try:
            if files:
                await self._take(live, files)
            await place(live.reply, outcome(), live.job.id, self._pace, may_repost=may_repost)
        except FilesRefused as exc:
            _log.warning("answer without its files", extra={"job": live.job.id, "reason": str(exc)})
            await live.reply.take(())
            await place(live.reply, outcome(unattached=files), live.job.id, self._pace, may_repost=may_repost)

    async def _take(self, live: _Live[Payload], files: Sequence[AnswerFile]) -> None:
        try:
            async with asyncio.timeout(self._pace.upload_timeout_s):
                await live.reply.take(files)
        except Exception as exc:  # whatever the platform raised
            raise FilesRefused(f"{type(exc).__name__}: {exc}") from exc
        await self._attach(live)


async def place(
    reply: ChatReply[Payload],
    payload: Payload,
    key: str,
    pace: EditPace,
    *,
    may_repost: bool,
    within_s: float | None = None,
) -> None:
    """In the message, else in a new one. Raises what the platform raises."""
    async with asyncio.timeout(within_s or pace.edit_timeout_s):
        try:
            await reply.edit(payload)
        except (FilesRefused, StoppedByPerson):
            raise
        except AddressDead:
            await reply.repost(payload, key)
        except Exception:  # whatever the platform raised
            if not may_repost:
                raise
            await reply.repost(payload, key)


async def tried(
    reply: ChatReply[Payload], payload: Payload, key: str, pace: EditPace, *, within_s: float | None = None
) -> bool:
    """Whether it is shown, in the message or in a new one, or nothing ever can be there. Raises `StoppedByPerson`."""
    try:
        await place(reply, payload, key, pace, may_repost=False, within_s=within_s)
    except StoppedByPerson:
        raise
    except AddressDead:
        _log.error("no place is left for a message", extra={"key": key})
    except Exception as exc:  # noqa: BLE001 -- whatever the platform raised; the next try may succeed
        _log_unedited(exc)
        return False
    return True


async def ping(
    reply: ChatReply[Payload], asker: str, key: str, pace: EditPace, *, waited: timedelta, said: str = ""
) -> None:
    """Call whoever waited long enough to look away. What is `said` of an answer that was corrected is for everybody
    who asked.
    """
    if not asker or not (said or waited.total_seconds() > pace.ping_after_s):
        return
    try:
        async with asyncio.timeout(pace.edit_timeout_s):
            await reply.ping(asker, key, said)
    except Exception:  # noqa: BLE001 -- the answer is there; only the notice is missing
        _log.warning("asker not notified", exc_info=True, extra={"key": key})


async def show(reply: ChatReply[Payload], payload: Payload, *, within_s: float) -> None:
    """A last word that belongs to no answer, tried twice."""
    for _ in range(2):
        try:
            async with asyncio.timeout(within_s):
                await reply.edit(payload)
            return
        except Exception as exc:  # noqa: BLE001 -- whatever the platform raised
            _log_unedited(exc)


def _log_unedited(why: Exception) -> None:
    """Where a platform was slow there is nothing to find in a traceback, and a bot that stops has many messages."""
    is_slow = isinstance(why, TimeoutError)
    extra = {"reason": "no answer in time"} if is_slow else {}
    _log.warning("message could not be edited", exc_info=None if is_slow else why, extra=extra)
