"""Watching, as people ask for it in a chat: by a word, a command or a button. Platforms find the place and draw."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from core.model.delivery import Address
from core.model.errors import GorkdError
from core.model.job import JobStatus, ResearchJob, ResearchRequest, Scope
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.presentation.card import CardButton
from core.presentation.render import cut, one_line
from core.text.saying import say
from core.watch import words
from core.watch.watch import Manner, Rhythm, Watch
from core.watch.words import WatchWish

# What a button does, by its name on every platform; those that begin a watch say how often, and how it is told.
BEGINS: Mapping[str, tuple[str, Manner]] = {
    "watch_hours": ("hours", "thread"), "watch_day": ("day", "thread"), "watch_week": ("week", "thread"),
    "watch_digest": ("day", "digest"),
}  # fmt: skip
PRESSED = frozenset({"watch", "stop_watching", "keep_watching", "not_worth_telling", "show_answer", *BEGINS})


TITLE_ROOM = 150  # of the question that is watched
HISTORY_LENGTH = 10  # of one's own questions, where they are listed or the last is meant


@dataclass(frozen=True)
class WatchPlace:
    """Who asks, and where it is to be told: `address` is a message of the platform's that is yet to be posted, `fresh`
    one in the same channel that hangs on no other.

    `is_overheard` says that others read what is said to the asker.
    """

    asker: str
    scope: Scope
    address: Address
    fresh: Address
    channel: str = ""
    thread: str = ""
    is_overheard: bool = False

    def told(self, manner: Manner) -> Address:
        return self.address if manner == "thread" else self.fresh


Elsewhere = Callable[[str], Awaitable[WatchPlace | None]]  # another channel, by id or name, where one may ask


@dataclass(frozen=True)
class Upload:
    """A file that goes with a message. `description` is what a screen reader says of a picture, "" for other files."""

    name: str
    content: bytes = field(repr=False)
    description: str = ""


@dataclass(frozen=True)
class WatchSaid:
    """What is said to who asked, below a `title` where it has one, and the buttons below it, which are about `job`; a
    `file` is for platforms where it can be attached.
    """

    lines: tuple[str, ...]
    job: ResearchJob | None = None
    buttons: tuple[CardButton, ...] = ()
    file: Upload | None = None
    title: str = ""

    @property
    def text(self) -> str:
        return "\n".join(filter(None, (self.title, *self.lines)))


async def last_answer(
    researcher: Researcher, asker: str, tenant: str, is_shown: Callable[[ResearchJob], bool]
) -> ResearchJob | None:
    """What a command is about: one's last answer, but none that was asked behind other doors. Raises `StoreError`."""
    asked = await researcher.history(asker, tenant=tenant, limit=HISTORY_LENGTH)
    return next((job for job in asked if job.status is JobStatus.COMPLETED and is_shown(job)), None)


async def obey_wish(
    wish: WatchWish, job: ResearchJob | None, researcher: Researcher, place: WatchPlace, elsewhere: Elsewhere
) -> WatchSaid:
    """`job` is the answer that it was said under, or the asker's last. Raises `GorkdError`."""
    desk = researcher.watching
    rhythm = words.in_zone(wish.rhythm, await desk.timezone(place.scope))
    match wish.kind:
        case "watch":
            nothing = WatchSaid((say(wording.NOTHING_HERE), say(words.HELP)))
            return await _begin(job, researcher, place, rhythm, wish.manner) if job else nothing
        case "schedule" | "source":
            there = await elsewhere(wish.channel) if wish.channel else place
            if there is None:
                return WatchSaid((say("I cannot ask there for you; please say it in that channel itself."),))
            begin = desk.schedule if wish.kind == "schedule" else partial(desk.watch_source, wish.url)
            request = ResearchRequest(
                wish.question if wish.kind == "schedule" else wish.url, there.scope, asker=there.asker,
                channel=there.channel, thread=there.thread, is_private=there.scope.is_one_persons,
            )  # fmt: skip
            begun = await begin(request, rhythm=rhythm, address=there.told(wish.manner), manner=wish.manner)
            ends = [say(words.SEE_OR_STOP)] if wish.kind == "schedule" else []
            return WatchSaid((" ".join([words.begun_line(begun), *ends]),))
        case "help":
            return WatchSaid((say(words.HELP),))
        case "list":
            theirs = await desk.of(place.scope.tenant, place.asker)
            aside = [watch.id for watch in theirs if place.is_overheard and watch.scope != place.scope]
            return WatchSaid(tuple(words.list_lines(theirs, aside)))
    watch = await _meant(wish, job, researcher, place)
    change, said = (desk.stop, say(words.STOPPED)) if wish.kind == "stop" else (desk.renew, say(words.RENEWED))
    if watch is not None:
        await change(watch)
    return WatchSaid((said,) if watch else (say(words.NOTHING_WATCHED), say(words.HELP)))


async def obey_press(button: str, job: ResearchJob, researcher: Researcher, place: WatchPlace) -> WatchSaid:
    """One of `PRESSED` but `show_answer`, which only a platform can. Raises `GorkdError`."""
    desk = researcher.watching
    if button == "watch":
        offer = await desk.offer(job.id, place.asker, scope=job.scope)
        names = [*BEGINS, *(["stop_watching"] if offer.known else [])]
        return WatchSaid(tuple(words.offer_lines(offer)), job, tuple(CardButton(name) for name in names))
    if button in BEGINS:
        often, manner = BEGINS[button]
        return await _begin(job, researcher, place, words.RHYTHMS[often], manner)
    watch = await desk.of_job(job, place.asker)
    if watch is None or not watch.is_active:
        return WatchSaid((say(words.NOTHING_WATCHED),))
    if watch.asker and watch.asker != place.asker:
        return WatchSaid((say(wording.NOT_YOURS),))
    changes = {
        "stop_watching": (desk.stop, say(words.STOPPED)), "keep_watching": (desk.renew, say(words.RENEWED)),
        "not_worth_telling": (desk.tighten, say(words.TIGHTENED)),
    }  # fmt: skip
    change, said = changes[button]
    await change(watch)
    return WatchSaid((said,))


async def _begin(
    job: ResearchJob, researcher: Researcher, place: WatchPlace, rhythm: Rhythm, manner: Manner
) -> WatchSaid:
    """What it costs is said before the first run, with a button that ends it."""
    desk = researcher.watching
    offer = await desk.offer(job.id, place.asker, scope=job.scope)
    watch = await desk.watch(
        job.id, place.asker, scope=job.scope, rhythm=rhythm, address=place.told(manner), manner=manner
    )
    begun = words.begun_line(watch, offer.run_usd)
    return WatchSaid((begun,), job, (CardButton("stop_watching"),), title=cut(one_line(job.query), TITLE_ROOM))


async def _meant(wish: WatchWish, job: ResearchJob | None, researcher: Researcher, place: WatchPlace) -> Watch | None:
    """The one of a number, else that of the answer, else one's only one."""
    theirs = await researcher.watching.of(place.scope.tenant, place.asker)
    if wish.place:
        return theirs[wish.place - 1] if wish.place <= len(theirs) else None
    watch = await researcher.watching.of_job(job, place.asker) if job else None
    if watch is not None and watch.asker == place.asker and watch.is_active:
        return watch
    return theirs[0] if len(theirs) == 1 else None


async def nowhere_else(_: str) -> WatchPlace | None:
    return None


async def said_or_why(doing: Awaitable[WatchSaid]) -> WatchSaid:
    """What is refused is said too."""
    try:
        return await doing
    except GorkdError as error:
        return WatchSaid((error.user_message,))
