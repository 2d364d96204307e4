"""What a watch is: a question or a source that is looked at again at times, and when it is next due.

Values alone. A run begins by one worker's claim of the row (`Watches.put`), so that it is one run however many look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Literal, Protocol
from zlib import crc32
from zoneinfo import ZoneInfo

from core.model.delivery import Address
from core.model.errors import GorkdError
from core.model.job import ResearchRequest, Scope
from core.text.saying import say

Kind = Literal["answer", "schedule", "source"]
Stage = Literal["waiting", "looking", "researching", "ended"]
ChangeKind = Literal["value", "new", "gone", "verdict", "confidence", "conflict", "retraction"]
Tone = Literal["changed", "still", "renew", "ended", "digest"]
Manner = Literal["thread", "fresh", "digest"]  # told where it was asked, in a message that hangs on none, or together

MIN_HOURS, MAX_HOURS = 1, 24 * 28
ENDS_AFTER = timedelta(days=90)
ASKS_BEFORE_END = timedelta(days=7)
SAYS_STILL_AFTER = timedelta(days=30)  # of silence
LEASE = timedelta(minutes=10)  # of a run; who died in it holds it up for so long
JOB_LOOK = timedelta(seconds=30)  # between looks at the research that a run waits for
SECOND_LOOK = timedelta(hours=1)
MAX_BACK_OFF = timedelta(days=7)
DIGEST_AT = "09:00"  # in the time zone of the workspace
MOST_STRICT = 3  # times that "not worth telling" still changes something


@dataclass(frozen=True)
class Rhythm:
    """Every so many `hours`; or, where `at` is a time of day (HH:MM), then, on `weekdays` (Monday is 0) or each day.

    `zone` is the IANA name of the time zone that `at` is in.
    """

    hours: int = 24
    at: str = ""
    weekdays: tuple[int, ...] = ()
    zone: str = "UTC"

    @property
    def usual(self) -> timedelta:
        """Between two runs, about."""
        if not self.at:
            return timedelta(hours=self.hours)
        return timedelta(days=7 / len(self.weekdays)) if self.weekdays else timedelta(days=1)


# Why a watch ended, as it is kept; said by who tells it.
ENDINGS: Mapping[str, str] = {
    "stopped": "it was stopped",
    "over": "its time was over",
    "forgotten": "what it watched was forgotten",
    "away": "it could not be looked at any more",
    "place": "the place where it told is gone",
    "out": "its asker has left the channel",
    "left": "who watched it has left",
}
NEW_ENTRY = "it is a new entry of the feed"  # why, of a feed; said by who tells it


@dataclass(frozen=True)
class Change:
    """What was said `before` and what is said `now` ("" where nothing is), with the passages behind each.

    `is_primary` says that a primary source says it; `places` are the addresses of all that do. `is_certain` where rules
    have found it, not a judge.
    """

    kind: ChangeKind
    before: str = ""
    now: str = ""
    because: str = ""
    before_quote: str = ""
    before_url: str = ""
    now_quote: str = ""
    now_url: str = ""
    places: tuple[str, ...] = ()
    is_primary: bool = False
    is_certain: bool = False
    votes: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Carrier:
    """A told claim, and the sentence of a page that carries it by now."""

    claim: str
    sentence: str


@dataclass(frozen=True)
class WatchedPage:
    """A page as it was last accepted: its text, what its server knows that version by, and the claims it carries.

    `away_since` is when it could first not be read.
    """

    url: str
    title: str
    text: str
    etag: str = ""
    last_modified: str = ""
    kind: str = "unknown"
    carriers: tuple[Carrier, ...] = ()
    away_since: datetime | None = None


@dataclass(frozen=True)
class Watch:
    """`request` is asked again; of a `source` it names the address in `url`. Times are UTC.

    `origin` is the job whose answer is watched and `told` the one whose answer was told last, "" where there is none;
    `job` is research that the run waits for. `run` counts runs, and `jobs` are those that runs have made. `suspected`
    waits for a second look. `strictness` grows with "not worth telling". `failures` are runs in a row that came to
    nothing. `said_at` is when anything was last said, `version` counts writes. `looks_usd` is what asking the judge has
    cost so far; research costs what its jobs did.
    """

    id: str
    kind: Kind
    request: ResearchRequest
    rhythm: Rhythm
    created_at: datetime
    ends_at: datetime
    next_at: datetime
    said_at: datetime
    url: str = ""
    origin: str = ""
    told: str = ""
    stage: Stage = "waiting"
    run: int = 0
    job: str = ""
    jobs: tuple[str, ...] = ()
    suspected: tuple[Change, ...] = ()
    looks: int = 0
    strictness: int = 0
    failures: int = 0
    asked_renewal: bool = False
    ended_because: str = ""
    version: int = 0
    manner: Manner = "thread"
    looks_usd: float = 0.0

    @property
    def scope(self) -> Scope:
        return self.request.scope

    @property
    def asker(self) -> str:
        return self.request.asker

    @property
    def is_active(self) -> bool:
        return self.stage != "ended"

    @property
    def subject(self) -> str:
        return self.url or self.request.query


@dataclass(frozen=True)
class WatchNotice:
    """What is told of a run, below the job that it is about. `number` is the run's; a digest is told as its `parts`."""

    watch_id: str
    number: int
    job_id: str
    tone: Tone
    at: datetime
    subject: str
    changes: tuple[Change, ...] = ()
    sentence: str = ""
    parts: tuple[WatchNotice, ...] = ()


@dataclass(frozen=True)
class WatchTelling:
    """What goes out with the end of a run: a job to the watch's place, with words of its own or as an answer."""

    job_id: str
    notice: WatchNotice | None = None


class WatchNotFound(GorkdError):
    """There is no such watch, or it is another's."""

    code = "JOB_NOT_FOUND"

    def __init__(self, watch_id: str) -> None:
        said = say("That is not watched, or no longer; the list of watches shows what is.")
        super().__init__(f"no watch {watch_id}", user_message=said)


class WatchRefused(GorkdError):
    """It cannot be watched, in a sentence."""

    code = "INVALID_QUERY"


class Watches(Protocol):
    """Watches with their places, pages and notices. Each method raises `StoreError`."""

    async def add(self, watch: Watch, address: Address | None) -> None:
        """`address` is where it tells, None where it is only looked up."""

    async def get(self, watch_id: str) -> Watch:
        """Raises `WatchNotFound`."""

    async def of(self, tenant: str, *, asker: str = "") -> list[Watch]:
        """Of a tenant, or of one of its people, oldest first, without those that ended."""

    async def of_job(self, job_id: str, *, asker: str = "") -> Watch | None:
        """The newest watch whose answer, or whose run, the job is; of this person before those of others."""

    async def at(self, tenant: str, place: str) -> list[Watch]:
        """Those that tell at a place (`Address.place`) and have not ended."""

    async def due(self, now: datetime, *, limit: int) -> list[Watch]:
        """Longest due first. What cannot be read is set aside, and its operator told (`unreadable`)."""

    async def unreadable(self) -> list[str]:
        """The ids of watches that were set aside."""

    async def put(
        self,
        watch: Watch,
        *,
        telling: WatchTelling | None = None,
        pages: Sequence[WatchedPage] | None = None,
        seen: Sequence[WatchedPage] | None = None,
        address: Address | None = None,
    ) -> bool:
        """Keep it as the version after its own; False, and nothing kept, where that is not the newest.

        With an `address` it tells there from now on.

        What is told goes out with it, to the watch's place, once: when nothing else waits to be told below the same
        job, or with the day's digest. `pages` are those that were accepted, `seen` those that wait for what research
        makes of them.
        """

    async def pages(self, watch_id: str, *, seen: bool = False) -> list[WatchedPage]:
        """As accepted, or as seen last."""

    async def notices(self, watch_id: str) -> list[WatchNotice]:
        """Oldest first."""

    async def told_at(self, key: str) -> WatchNotice | None:
        """What is to be told at an address with this key; None where it is the answer itself."""

    async def send_digests(self, now: datetime) -> int:
        """Let out what waits for a digest whose time has come, one message a place; how many there were."""


def next_run(rhythm: Rhythm, *, began: datetime, after: datetime, key: str) -> datetime:
    """The first time of the rhythm later than `after`: what was missed meanwhile is not made up for.

    By hours the first is so many after the hour of the day that it `began` in; `key` spreads watches over that hour.
    """
    if rhythm.at:
        return _by_the_clock(rhythm, after)
    period, spread = timedelta(hours=rhythm.hours), timedelta(seconds=crc32(key.encode()) % 3600)
    first = began.replace(minute=0, second=0, microsecond=0) + period + spread
    passed = max(0, (after - first) // period + 1)
    return first + passed * period


def backed_off(rhythm: Rhythm, *, began: datetime, after: datetime, key: str, failures: int) -> datetime:
    """The next run after so many that came to nothing: each doubles the time, up to a week."""
    wait = min(rhythm.usual * (2 ** min(failures, 10) - 1) / 2, MAX_BACK_OFF) if failures > 1 else timedelta()
    return next_run(rhythm, began=began, after=after + wait, key=key)


def digest_at(watch: Watch, now: datetime) -> datetime:
    """When what is found now is told, of a watch that tells in digests."""
    return _by_the_clock(Rhythm(at=DIGEST_AT, zone=watch.rhythm.zone), now)


def ended(watch: Watch, because: str) -> Watch:
    return replace(watch, stage="ended", ended_because=because, job="", suspected=())


def _by_the_clock(rhythm: Rhythm, after: datetime) -> datetime:
    zone = ZoneInfo(rhythm.zone)
    hour, minute = map(int, rhythm.at.split(":"))
    today = after.astimezone(zone).date()
    for days in range(9):
        day = today + timedelta(days=days)
        moment = datetime.combine(day, time(hour, minute), zone).astimezone(UTC)
        if moment > after and (not rhythm.weekdays or day.weekday() in rhythm.weekdays):
            return moment
    raise AssertionError("a week has every weekday")
