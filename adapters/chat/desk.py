"""What people say and press under an answer, and what is to be done then: written once, for every platform.

An utterance or a press comes in as a value, a deed goes out as one; a platform finds out which job is meant, asks
here, and draws what comes of it. All of it is pure but what does a deed: `renew`, `obey`, `told_of`.
What chats show of a job that was forgotten goes from here, too.
"""

from __future__ import annotations

import asyncio
import logging
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Generic, Literal, TypeVar

from adapters.chat.reply import Voice, best_effort
from adapters.chat.watching import (
    HISTORY_LENGTH,
    PRESSED,
    Elsewhere,
    Upload,
    WatchPlace,
    WatchSaid,
    nowhere_else,
    obey_press,
    obey_wish,
    said_or_why,
)
from core.model.delivery import Address
from core.model.errors import JobNotFound
from core.model.job import TERMINAL_STATUSES, ResearchJob, Scope, Steering
from core.model.ports import Clock
from core.modes import can_be_steered
from core.pipeline.conversation import ReadReply, ReplyKind, read_reply, read_steering
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.presentation.card import CardButton
from core.presentation.page_links import PageLinks
from core.receipts.container import Receipts
from core.tenancy.usage import EvaluationStore, VotedCase
from core.text.saying import say, speak_else, speaking
from core.watch.words import WatchWish, read_wish

Payload = TypeVar("Payload")
Renewal = Literal["retry", "ask_again", "refresh", "improve", "deeper", "start_deep", "changed"]
Reaction = Literal["thanks", "heard"]

# What each word asks for, by the kind core/pipeline/conversation.py reads it as. The rest is said below.
_RENEWS: dict[ReplyKind, Renewal] = {
    "retry": "retry", "again": "ask_again", "improve": "improve", "deeper": "deeper",
    "wrong": "improve",
}  # fmt: skip
_OF_NO_ANSWER = frozenset({"question", "courtesy", "greeting", "help", "history", "references"})
AMONG_PEOPLE = frozenset({"courtesy", "greeting", "wrong"})  # what they say to each other, too
_ALSO_OF_RUNNING = frozenset(
    {"sources", "help", "history", "forget", "courtesy", "watch", "references", "export", "test", "share"}
)  # the rest steers what can be steered
_ASKERS_ALONE = frozenset({"forget", "share", "cancel", "go_deeper", "answer_now", "changed"})
REACTIONS: dict[Reaction, tuple[str, str]] = {"thanks": ("❤️", "heart"), "heard": ("👀", "eyes")}  # and Slack's names


@dataclass(frozen=True)
class Utterance:
    """What `asker` wrote, without the mention. `is_addressed` is whether it was to the bot: by a mention, in direct
    messages, by a reply; else it was only heard in a thread.
    """

    text: str
    asker: str
    is_addressed: bool = True
    has_files: bool = False

    @cached_property
    def reply(self) -> ReadReply:
        return read_reply(self.text)

    @property
    def is_about_answer(self) -> bool:
        """Whether it takes an earlier answer to know what is to be done."""
        return self.reply.kind not in _OF_NO_ANSWER


@dataclass(frozen=True)
class Nothing:
    """Nobody waits for an answer."""


@dataclass(frozen=True)
class React:
    """A sign at what was said, and no word."""

    sign: Reaction


@dataclass(frozen=True)
class Say:
    """One sentence, to whoever spoke."""

    sentence: str


@dataclass(frozen=True)
class Show:
    """How to ask, or one's own questions."""

    what: Literal["help", "history"]


@dataclass(frozen=True)
class Ask:
    """Research what was said."""


@dataclass(frozen=True)
class Renew:
    """A new answer to an earlier question; `wish` is what is to be better."""

    job: ResearchJob
    how: Renewal
    wish: str = ""

    def key(self, press: str) -> str:
        """Under which `renew` asks. One retry, one renewal a day and one deep research an answer, however many press
        ("" is the researcher's own key); else each press is another.
        """
        own = {"retry": "", "refresh": "", "changed": "", "start_deep": f"deep:{self.job.id}"}
        return own.get(self.how, press)


@dataclass(frozen=True)
class ShowSources:
    job: ResearchJob


@dataclass(frozen=True)
class ShowChanges:
    """What a renewed answer says otherwise."""

    job: ResearchJob


@dataclass(frozen=True)
class Forget:
    job: ResearchJob


@dataclass(frozen=True)
class Steer:
    """Say something to a job; `heard` is said to who spoke, or where it was written shown by a `sign` at it."""

    job: ResearchJob
    steering: Steering

    @property
    def heard(self) -> str:
        return wording.heard(self.steering.kind)

    @property
    def sign(self) -> Reaction | None:
        return None if self.steering.kind == "cancel" else "heard"


@dataclass(frozen=True)
class Watching:
    """A wish to watch something, said under an answer or anywhere (adapters/chat/watching.py)."""

    wish: WatchWish
    job: ResearchJob | None


@dataclass(frozen=True)
class PressWatch:
    """A button about watching, by its name."""

    button: str
    job: ResearchJob


@dataclass(frozen=True)
class Prove:
    """Hand out the receipt of an answer, or make its question a test (`prove`)."""

    job: ResearchJob
    what: Literal["receipt", "test"]
    must: str = ""


@dataclass(frozen=True)
class Cancel:
    """End all that who spoke has under way in the conversation."""

    jobs: tuple[ResearchJob, ...]


@dataclass(frozen=True)
class Offer:
    """Ask whether the question as it reads since it was edited is to be researched; `changed` is its button."""

    job: ResearchJob
    question: str


_AT_ONCE: dict[ReplyKind, React | Show] = {
    "courtesy": React("thanks"), "greeting": Show("help"), "help": Show("help"), "history": Show("history"),
}  # fmt: skip
Deed = (
    Nothing | React | Say | Show | Ask | Renew | ShowSources | ShowChanges | Forget | Steer | Cancel | Offer
    | Watching | PressWatch | Prove
)  # fmt: skip


def hear(
    said: Utterance, job: ResearchJob | None, running: ResearchJob | None, theirs: Sequence[ResearchJob] = ()
) -> Deed:
    """What an utterance asks for.

    `job` is the answer it was said under, whatever became of it: the one replied to, else the conversation's last.
    `running` is research under way there that can be steered, `theirs` what of the speaker's has not ended there
    (`under_way`).
    """
    if said.reply.kind == "cancel" and theirs:
        return Cancel(tuple(theirs))
    if not said.is_addressed and not _is_meant(said, job, running):
        return Nothing()
    wish = read_wish(said.text)
    return Watching(wish, job) if wish else _hear(said, job, running)


def _hear(said: Utterance, job: ResearchJob | None, running: ResearchJob | None) -> Deed:
    """What is said to the bot."""
    kind = said.reply.kind
    if kind in _AT_ONCE and not (kind in AMONG_PEOPLE and said.has_files):
        return _AT_ONCE[kind]
    if running is not None and kind not in _ALSO_OF_RUNNING:
        is_own = running.request.asker == said.asker
        return Steer(running, read_steering(said.text)) if is_own else Say(say(wording.NOT_YOURS))
    if not said.is_about_answer:
        lacks = say(wording.NO_LIST) if kind == "references" else "" if said.text else say(wording.ASK_WHAT)
        return Say(lacks) if lacks and not said.has_files else Ask()
    if job is None:
        return Ask() if kind == "wrong" and said.reply.rest else Say(say(wording.NOTHING_HERE))
    return _obey(said, job)


def hear_command(words: str, *, has_files: bool = False) -> Show | None:
    """What is shown for words behind a command that asks; None for what is to be researched."""
    deed = None if has_files else _AT_ONCE.get(read_reply(words).kind)
    return deed if deed is None or isinstance(deed, Show) else Show("help")


def hear_edit(text: str, job: ResearchJob | None) -> Deed:
    """What the edit of a message asks for that was the question of `job`; `text` is what it says now.

    A platform also tells of an edit when it shows a link's preview, and then the words are the same.
    """
    reply = read_reply(text)
    if job is None or reply.kind != "question" or not reply.rest or job.request.quoted:
        return Nothing()
    return Nothing() if _words_of(reply.rest) == _words_of(job.query) else Offer(job, reply.rest)


async def under_way(said: Utterance, researcher: Researcher, thread: str, *scopes: Scope) -> list[ResearchJob]:
    """For `hear`: what of the speaker's runs in the conversation `thread`, asked for only where it is to be ended.

    A word that is said in a channel itself begins a conversation of its own, and is about all of theirs in the channel.
    """
    if said.reply.kind != "cancel":
        return []
    found = {job.id: job for scope in scopes for job in await researcher.unended(said.asker, scope=scope)}
    here = [job for job in found.values() if job.request.thread == thread]
    channel = ":".join(thread.split(":")[:2])
    is_new = not any([await researcher.latest(thread, scope=scope) for scope in scopes])
    return here or [job for job in found.values() if is_new and job.request.thread.startswith(f"{channel}:")]


@dataclass(frozen=True)
class SaidIn:
    """Where something was said: in `thread`, whose jobs are in `scopes`, first those that all there may see.

    `under` is the answer that was replied to, as its platform knows it: none where that is forgotten, or not to be
    seen there; None where nothing was replied to. Research under way is spoken to where it `may_steer`; where nothing
    was asked, `otherwise` gives the answer that a word is about.
    """

    thread: str
    scopes: tuple[Scope, ...]
    under: tuple[ResearchJob, ...] | None = None
    may_steer: bool = True
    otherwise: Callable[[], Awaitable[ResearchJob | None]] | None = None


async def heard_in(where: SaidIn, said: Utterance, researcher: Researcher) -> Deed:
    """`hear`, with the job that is meant found first. Raises `StoreError`."""
    job = running = None
    if where.under is not None:
        job = next(iter(where.under), None)
        is_steerable = job and can_be_steered(job.request.modes) and job.status not in TERMINAL_STATUSES
        running = job if is_steerable else None
    else:
        if where.may_steer:
            found = [await researcher.under_way(where.thread, scope=scope) for scope in dict.fromkeys(where.scopes)]
            running = next(filter(None, found), None)
        if running is None and (said.is_about_answer or not said.is_addressed):
            job = await researcher.latest(where.thread, scope=where.scopes[0])
            job = job or (await where.otherwise() if where.otherwise else None)
    theirs = await under_way(said, researcher, where.thread, *where.scopes)
    if meant := running or job:
        speak_else(wording.language_of(meant))  # "sources" is a word of any language
    return hear(said, meant, running, theirs)


def press(button: str, job: ResearchJob, presser: str, *, question: str = "") -> Deed | None:
    """What a button does, by its name; None where only the platform knows. An `Offer` was made for `question`."""
    is_others = button in _ASKERS_ALONE and job.request.asker != presser
    if is_others or (button == "changed" and not question):
        return Say(say(wording.NOT_YOURS if is_others else wording.ASK_WHAT))
    match button:
        case "show_sources" | "what_changed":
            return ShowSources(job) if button == "show_sources" else ShowChanges(job)
        case "retry" | "ask_again" | "refresh" | "start_deep" | "changed":
            return Renew(job, button, question if button == "changed" else "")
        case "cancel" | "go_deeper" | "answer_now":
            return Steer(job, Steering(button))
        case "export" | "make_test":
            return Prove(job, "receipt" if button == "export" else "test")
    return PressWatch(button, job) if button in PRESSED else None


async def renew(
    deed: Renew, researcher: Researcher, asker: str, *, key: str = "", address: Address | None = None
) -> ResearchJob:
    """The job that a `Renew` makes, stored under `key` where the deed has none of its own. Raises `GorkdError`."""
    job, scope = deed.job, deed.job.scope
    plain = {"retry": researcher.retry, "ask_again": researcher.ask_again, "refresh": researcher.refresh}
    if deed.how in plain:
        return await plain[deed.how](job.id, asker, scope=scope, dedupe_key=key, address=address)
    if deed.how == "changed":
        return await researcher.ask_changed(
            job.id, deed.wish, asker, scope=scope, dedupe_key=key or changed_key(job, deed.wish), address=address
        )
    is_deeper = deed.how in ("deeper", "start_deep")
    return await researcher.improve(
        job.id, deed.wish, asker, scope=scope, is_deeper=is_deeper, dedupe_key=key, address=address
    )


def changed_key(job: ResearchJob, question: str) -> str:
    """Under which a changed question is asked, and offered, once."""
    return f"changed:{job.id}:{sha256(_words_of(question).encode()).hexdigest()[:12]}"


async def obey(
    deed: Forget | Steer | Cancel, researcher: Researcher, asker: str, taking_away: TakingAway | None = None
) -> str:
    """Do it, and give the sentence that says so. Raises `GorkdError`."""
    match deed:
        case Cancel(jobs):
            for one in jobs:
                await researcher.cancel(one.id)
            return say(wording.CANCELLING)
        case Steer(job, steering):
            await researcher.steer(job.id, steering, scope=job.scope)
            return deed.heard
    await researcher.forget(deed.job.id, asker, scope=deed.job.scope)
    if taking_away is not None:
        taking_away.hurry()
    return say(wording.FORGOTTEN)


async def _no(*_: object) -> bool:
    return False


@dataclass(frozen=True)
class Speaking(Generic[Payload]):
    """Who spoke or pressed, and what a platform gives to answer it: its voice, and the place where a watch of a job
    would tell, or of whatever else is asked for (None).
    """

    researcher: Researcher
    voice: Voice[Payload]
    asker: str
    tenant: str
    place: Callable[[ResearchJob | None], Awaitable[WatchPlace]]
    proving: Proving
    elsewhere: Elsewhere = nowhere_else
    taking_away: TakingAway | None = None
    is_admin: Callable[[], Awaitable[bool]] = _no  # whether who spoke looks after the workspace
    may_offer: bool = True  # below an answer that is shown again
    sign: Callable[[Reaction], Awaitable[bool]] = _no  # puts it at what was said; whether it stands there


async def told_of(deed: Deed, at: Speaking[Payload]) -> Payload | None:
    """What is said of a deed, done by then; None where a sign says it, or an answer comes. Raises `GorkdError`."""
    researcher, voice, said = at.researcher, at.voice, None
    match deed:
        case Say(sentence):
            said = voice.refusal(sentence)
        case Show("history"):
            said = voice.history(await researcher.history(at.asker, tenant=at.tenant, limit=HISTORY_LENGTH))
        case Show():
            said = voice.help()
        case ShowSources(job):
            result, sources = await researcher.result(job.id), await researcher.sources(job.id)
            with speaking(wording.language_of(job)):  # others in the channel read them too
                said = voice.sources(sources, result.answer if result else None)
        case ShowChanges(job):
            changes = await researcher.changes(job.id, scope=job.scope)
            lines = [f"• {line}" for line in wording.changes_lines(changes)] if changes else []
            none = WatchSaid((say(wording.NOTHING_TO_COMPARE),))
            said = voice.watching(WatchSaid(tuple(lines), title=say(wording.WHAT_CHANGED)) if lines else none)
        case PressWatch("show_answer", job):
            result, sources = await researcher.result(job.id), await researcher.sources(job.id)
            said = voice.outcome(job, result, sources, may_offer=at.may_offer)
        case PressWatch(button, job):
            said = voice.watching(await said_or_why(obey_press(button, job, researcher, await at.place(job))))
        case Watching(wish, job):
            place = await at.place(job if wish.kind == "watch" else None)
            said = voice.watching(await said_or_why(obey_wish(wish, job, researcher, place, at.elsewhere)))
        case React(sign):
            await at.sign(sign)
        case Steer() if deed.sign and await at.sign(deed.sign):
            await obey(deed, researcher, at.asker)
        case Prove():
            said = voice.watching(await said_or_why(prove(at.proving, deed, at.is_admin)))
        case Forget() | Steer() | Cancel():
            said = voice.notice(await obey(deed, researcher, at.asker, at.taking_away))
    return said


def _words_of(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def _is_meant(said: Utterance, job: ResearchJob | None, running: ResearchJob | None) -> bool:
    """Whether what was only heard is for the bot: our words under an answer of ours, else who asked goes on asking."""
    under = running or job
    is_word = said.reply.kind not in ("question", *AMONG_PEOPLE)
    return under is not None and (is_word or under.request.asker == said.asker)


def _obey(said: Utterance, job: ResearchJob) -> Deed:
    """One of our words under an answer."""
    kind = said.reply.kind
    if kind in _ASKERS_ALONE and job.request.asker != said.asker:
        return Say(say(wording.NOT_YOURS))
    if kind in ("retry", "wrong") and job.status not in TERMINAL_STATUSES:
        return Say(say(wording.ALREADY_BEGUN))
    if kind in _RENEWS:
        is_bare = kind == "wrong" and not said.reply.rest  # then nothing of the answer is built upon
        return Renew(job, "refresh" if is_bare else _RENEWS[kind], said.reply.rest)
    if kind in ("export", "test"):
        return Prove(job, "receipt" if kind == "export" else "test", said.reply.rest)
    if kind in ("sources", "share"):  # sharing is asked about first: no word alone does it
        how = say(wording.HOW_TO_SHARE, share=say(wording.SHARE))
        return ShowSources(job) if kind == "sources" else Say(how)
    return Forget(job) if kind == "forget" else Steer(job, Steering("cancel"))


# What chats show of a job goes when the job is forgotten, whoever forgot it, and also after a restart


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
        """Forget what a deleted message asked, under whichever key and in whichever scope. Raises `GorkdError`."""
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
        with best_effort(_log.warning, "not known what was forgotten"):
            condemned = await self._researcher.condemned(self._platform)
            return all([await self._take_one(key, address) for key, address in condemned])
        return False

    async def _take_one(self, key: str, address: Address) -> bool:
        try:
            async with asyncio.timeout(TAKE_S):
                await self._take(address)
            await self._researcher.taken_away(key)
        except Exception:  # noqa: BLE001 -- the boundary of this task; the next round may succeed
            _log.warning("what was forgotten is still shown", exc_info=True)
            return False
        return True


# Receipts, and tests made of bad answers, as people ask for them under an answer: by a word or a button


MOST_BYTES = 8_000_000  # of a receipt that is attached; Discord takes 10 MiB
AT_ONCE = 2  # each asks the rules anew, which takes a second of a processor for a long answer


@dataclass(frozen=True)
class Proving:
    """What a chat needs to give receipts, and to keep questions as tests."""

    receipts: Receipts
    evaluations: EvaluationStore
    links: PageLinks
    clock: Clock
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), repr=False)

    async def receipt(self, job: ResearchJob) -> WatchSaid:
        """The receipt itself, and where the page gives it and the other forms. Raises `GorkdError`."""
        try:
            async with self._gate:
                content = await self.receipts.give(job.id)
        except JobNotFound:
            return WatchSaid((say(wording.NOTHING_HERE),))
        links = (
            CardButton("receipt", self.links.address(job, f"/jobs/{job.id}/receipt.zip")),
            CardButton("view_full_analysis", self.links.link(job)),
        )
        file = Upload(f"{job.id}.receipt.zip", content) if len(content) <= MOST_BYTES else None
        return WatchSaid((say(wording.RECEIPT_MEANS),), job, links, file)


async def prove(proving: Proving, deed: Prove, is_admin: Callable[[], Awaitable[bool]]) -> WatchSaid:
    """Do it, or say why not. `is_admin` is asked of who spoke only where it matters. Raises `GorkdError`."""
    if deed.what == "receipt":
        return await proving.receipt(deed.job)
    if not await is_admin():
        return WatchSaid((say(wording.TESTS_ADMINS_ONLY),))
    _, bad = await proving.evaluations.votes(deed.job.id)
    if not bad:  # a test is made of what somebody found bad
        return WatchSaid((say(wording.NO_BAD_VOTE),))
    await proving.evaluations.put_case(deed.job, VotedCase.of(deed.job, deed.must, proving.clock()))
    return WatchSaid((say(wording.IS_A_TEST), say(wording.TEST_MEANS)))


def thanks_for_vote(job: ResearchJob, *, is_admin: bool) -> WatchSaid:
    """For a 👎; who looks after the workspace is offered to make a test of it."""
    if not is_admin:
        return WatchSaid((say(wording.THANKS),))
    return WatchSaid((say(wording.THANKS), say(wording.TEST_MEANS)), job, (CardButton("make_test"),))
