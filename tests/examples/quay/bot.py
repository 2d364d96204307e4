"""gorkd in Quay: what people write and press is handed to the desk, and what it gives is done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from adapters.chat.connecting import ChatDeps, PlatformAway, keep_resuming, keep_trying
from adapters.chat.desk import (
    REACTIONS,
    Ask,
    Deed,
    Offer,
    Reaction,
    Renew,
    SaidIn,
    ShowSources,
    Speaking,
    TakingAway,
    Utterance,
    changed_key,
    hear_edit,
    heard_in,
    press,
    renew,
    told_of,
)  # fmt: skip
from adapters.chat.live import LiveAnswers
from adapters.chat.reply import AddressDead
from adapters.chat.watching import WatchPlace
from core.model.delivery import Address
from core.model.errors import GorkdError, JobNotFound
from core.model.job import ResearchJob, ResearchRequest, Scope, Tenant, personal
from core.presentation import wording
from tests.examples.quay.message import PLATFORM, QuayAddress, QuayCalls, QuayMessage, QuayReply
from tests.examples.quay.render import QuayVoice, offer_message

MENTION = "@gorkd"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Happening:
    """What somebody wrote, edited, deleted or pressed, and where."""

    type: str
    seq: int
    message: int
    room: str
    by: str
    text: str
    thread: int
    is_direct: bool
    presser: str = ""
    button: str = ""
    value: str = ""

    @property
    def who(self) -> str:
        return self.presser or self.by

    @property
    def scope(self) -> Scope:
        visibility = personal(self.who) if self.is_direct else f"channel:{self.room}"
        return Scope(str(Tenant(PLATFORM, "harbour")), visibility)

    @property
    def conversation(self) -> str:
        """A direct room is one; elsewhere each thread is, and each message that begins one."""
        return f"{PLATFORM}:{self.room}" if self.is_direct else f"{PLATFORM}:{self.room}:{self.root}"

    @property
    def root(self) -> int:
        return self.thread or (0 if self.is_direct else self.message)

    @property
    def said(self) -> Utterance:
        return Utterance(self.text.replace(MENTION, " ").strip(), self.who, self.is_direct or MENTION in self.text)

    @property
    def key(self) -> str:
        return f"{PLATFORM}:{self.message}" if self.type in ("said", "edited", "deleted") else f"{PLATFORM}:e{self.seq}"


class QuayBot:
    def __init__(self, deps: ChatDeps, calls: QuayCalls) -> None:
        self.researcher, self.calls, self.voice = deps.researcher, calls, QuayVoice(deps.links)
        self.proving = deps.proving
        self.live = LiveAnswers(deps.researcher, self.voice, platform=PLATFORM, turns=deps.turns)
        self.taking_away = TakingAway(deps.researcher, PLATFORM, self._take_away)
        self._after = 0

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(keep_trying("Quay", self._listen))
                group.create_task(keep_resuming(partial(self.live.resume, self._reopen)))
                group.create_task(self.taking_away.run())
        finally:
            await self.live.aclose()

    async def _listen(self) -> None:
        while True:
            for event in await self.calls.events(self._after):
                happening = Happening(**cast("dict[str, Any]", dict(event)))
                await self._take(happening)
                self._after = happening.seq

    async def _take(self, happening: Happening) -> None:
        """Whatever happens, it ends in words."""
        doing = {"said": self._said, "edited": self._edited, "deleted": self._deleted, "pressed": self._pressed}
        try:
            await doing[happening.type](happening)
        except GorkdError as error:
            await self._tell(happening, self.voice.refusal(error.user_message))
        except PlatformAway:
            raise
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("message failed")
            await self._tell(happening, self.voice.refusal(wording.SOMETHING_BROKE))

    async def _said(self, at: Happening) -> None:
        said = at.said
        deed = await heard_in(SaidIn(at.conversation, (at.scope,)), said, self.researcher)
        if isinstance(deed, Ask):
            request = ResearchRequest(
                said.text, at.scope, asker=at.who, thread=at.conversation, channel="" if at.is_direct else at.room
            )
            await self._answer(at, partial(self.researcher.submit, request, dedupe_key=at.key), at.key, request.scope)
        else:
            await self._do(at, deed)

    async def _edited(self, at: Happening) -> None:
        job = await self.researcher.asked_last(at.key, scope=at.scope)
        deed = hear_edit(at.said.text, job)
        if isinstance(deed, Offer):
            where = replace(self._address(at), key=changed_key(deed.job, deed.question), only_for=at.by)
            reply = QuayReply(self.calls, where)
            await reply.edit(offer_message(deed))
            await self.researcher.note_shown(deed.job.id, reply.shown)

    async def _deleted(self, at: Happening) -> None:
        await self.taking_away.take_back([at.key], [at.scope])

    async def _pressed(self, at: Happening) -> None:
        job_id, _, question = at.value.partition(" ")
        job = await self.researcher.job(job_id)
        if job.scope != at.scope:
            raise JobNotFound(job_id)
        deed = press(at.button, job, at.who, question=question)
        if deed is not None:
            await self._do(at, deed)
        elif at.button == "good":
            await self.researcher.rate(job.id, at.who, good=True, scope=job.scope)
            await self._tell(at, self.voice.refusal(wording.THANKS))
        else:  # the offer goes, the answer stays
            result, sources = await self.researcher.result(job.id), await self.researcher.sources(job.id)
            where = replace(self._address(at), message=at.message)
            await QuayReply(self.calls, where).edit(self.voice.outcome(job, result, sources, may_offer=False))

    async def _do(self, at: Happening, deed: Deed) -> None:
        """Raises `GorkdError`."""
        match deed:
            case Renew(job):
                key = deed.key(at.key)
                await self._answer(at, partial(renew, deed, self.researcher, at.who, key=key), key, job.scope)
            case _ if said := await told_of(deed, self._speaking(at)):
                shown = await self._tell(at, said)
                if isinstance(deed, ShowSources):
                    await self.researcher.note_shown(deed.job.id, shown)

    def _speaking(self, at: Happening) -> Speaking[QuayMessage]:
        async def where(_: ResearchJob | None) -> WatchPlace:
            return self._place(at)

        return Speaking(
            self.researcher, self.voice, at.who, at.scope.tenant, where,
            self.proving, taking_away=self.taking_away, sign=partial(self._sign, at),
        )  # fmt: skip

    def _place(self, at: Happening) -> WatchPlace:
        where = replace(self._address(at), only_for="")
        channel = "" if at.is_direct else at.room
        return WatchPlace(at.who, at.scope, QuayReply(self.calls, where).address, channel, at.conversation)

    async def _answer(self, at: Happening, submit: Any, key: str, scope: Scope) -> None:
        """A message that lives until the answer stands in it; a press on one that is to be replaced is shown there."""
        is_in_place = at.button in ("retry", "changed")
        reply = QuayReply(self.calls, replace(self._address(at), message=at.message if is_in_place else 0))
        job = await self.live.accept(submit, reply, known=await self.live.known(scope, key))
        if job is not None:
            self.live.follow(job, reply)

    async def _tell(self, at: Happening, message: QuayMessage) -> Sequence[Address]:
        """To who spoke alone."""
        where = replace(self._address(at), key=f"told:{at.seq}", only_for="" if at.is_direct else at.who)
        reply = QuayReply(self.calls, where)
        await reply.edit(message)
        return reply.shown

    async def _sign(self, at: Happening, sign: Reaction) -> bool:
        if at.type == "said":
            await self.calls.call("PUT", f"/messages/{at.message}/signs/{REACTIONS[sign][1]}")
        return at.type == "said"

    def _address(self, at: Happening) -> QuayAddress:
        return QuayAddress(at.room, at.root, f"answer:{at.key}", at.who)

    async def _reopen(self, address: Address) -> QuayReply:
        return QuayReply(self.calls, QuayAddress.of(address))

    async def _take_away(self, address: Address) -> None:
        with suppress(AddressDead):
            await self.calls.call("DELETE", f"/messages/{QuayAddress.of(address).message}")
