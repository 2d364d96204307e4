"""Registries of published works, asked together and joined: `Works` is the one to ask.

A registry that is slow or away costs its own words and never the rest: what was kept of it stands in, and the call
goes on behind, so that the next one who asks finds its answer.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from core.model.codec import decode, encode
from core.model.errors import ProviderError, StoreError
from core.model.ports import Clock, ReuseStore
from core.model.works import WorkIds, WorkRecord, join_records

log = logging.getLogger(__name__)

KEPT = timedelta(days=30)  # of what a work is: titles and authors do not change
STANDING_KEPT = timedelta(days=1)  # of whether it stands
MAX_UNDER_WAY = 64  # questions to one registry at a time; more wait for their turn
WITHIN_S = 5.0


class Registry(ABC):
    """A catalogue of works; `name` is its word in `GORKD_REGISTRIES`. None answers what it cannot be asked."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        """The work with one of these ids, empty for one that it does not know. Raises `ProviderError`."""
        return None

    async def by_title(self, title: str, *, author: str = "", year: str = "") -> Sequence[WorkRecord] | None:
        """What its own search finds, best first; nothing says that it is the one. Raises `ProviderError`."""
        return None

    async def find_works(self, query: str, limit: int) -> Sequence[WorkRecord] | None:
        """Works by what they are about, best first. Raises `ProviderError`."""
        return None

    @abstractmethod
    async def aclose(self) -> None:
        """End its connections."""


# The full text of an open article by its PMC id, with a heading above each section; "" where none may be read. Raises
# `ProviderError`.
ReadFullText = Callable[[str], Awaitable[str]]
AskRegistry = Callable[[], Awaitable[Sequence[WorkRecord] | None]]  # one question to one of them


@dataclass(frozen=True)
class Looked:
    """What was found. `answered` are registries that said something, be it that they know none; `failed` those that
    gave nothing, with a few words why; who cannot be asked for it is in neither. `is_stale` is kept for over a day.
    """

    records: tuple[WorkRecord, ...] = ()
    answered: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    is_stale: bool = False

    @property
    def record(self) -> WorkRecord | None:
        return self.records[0] if self.records else None

    @property
    def is_whole(self) -> bool:
        """Whether all registries have answered, now or within the day."""
        return not self.failed and not self.is_stale


@dataclass(frozen=True)
class KeptRecords:
    """What a registry answered, and when."""

    records: tuple[WorkRecord, ...]
    asked_at: datetime


@dataclass(frozen=True)
class _RegistrySaid:
    name: str
    kept: KeptRecords | None
    why: str = ""


class Works:
    """All registries as one. Whatever is asked twice at once is asked once."""

    def __init__(
        self, registries: Sequence[Registry], kept: ReuseStore, clock: Clock, *, texts: ReadFullText | None = None
    ) -> None:
        """Of registries that disagree the first is believed, but for retractions, which any of them may tell."""
        self._texts = texts
        self._registries = tuple(registries)
        self._kept = kept
        self._clock = clock
        self._calls: dict[str, asyncio.Task[KeptRecords | None]] = {}
        self._begun: set[asyncio.Task[Looked]] = set()
        self._slots = {registry.name: asyncio.Semaphore(MAX_UNDER_WAY) for registry in registries}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(registry.name for registry in self._registries)

    async def by_ids(self, ids: WorkIds, *, within_s: float = WITHIN_S) -> Looked:
        """The work with these ids as one record, within the time. Never raises but for cancellation."""
        if ids.is_none:
            return Looked()
        told = await self._ask(lambda registry: (f"ids:{ids}", lambda: registry.by_ids(ids)), within_s)
        looked = _looked(told, self._clock())
        # What one says by an id is that work, whatever the others call it: no title is compared.
        return replace(looked, records=(join_records(looked.records),)) if looked.records else looked

    async def by_title(self, title: str, *, author: str = "", year: str = "", within_s: float = WITHIN_S) -> Looked:
        """What the registries find, records of one work joined, best first. Never raises but for cancellation."""
        key = f"title:{title}|{author}|{year}"
        told = await self._ask(lambda one: (key, lambda: one.by_title(title, author=author, year=year)), within_s)
        looked = _looked(told, self._clock())
        return replace(looked, records=tuple(_grouped(looked.records)))

    async def full_text(self, pmcid: str) -> str:
        """The text of an open article, "" where there is none or it does not come."""
        key = f"fulltext:{pmcid}"
        kept = await self._kept.get(key) if self._texts else None
        if self._texts is None or kept is not None:
            return kept or ""
        try:
            text = await self._texts(pmcid)
        except ProviderError as error:
            log.info("a full text was not read", extra={"provider": error.provider, "reason": error.reason})
            return ""
        except Exception:  # the boundary of one text
            log.exception("a full text broke its reader")
            return ""
        await self._kept.put(key, text, ttl=KEPT if text else STANDING_KEPT)
        return text

    def begin(self, ids: WorkIds) -> None:
        """Ask now, for whoever will want to know in a moment."""
        if not ids.is_none:
            asking = asyncio.create_task(self.by_ids(ids))
            self._begun.add(asking)
            asking.add_done_callback(self._begun.discard)

    async def aclose(self) -> None:
        """Ends what still runs behind."""
        calls: list[asyncio.Task[object]] = [*self._begun, *self._calls.values()]
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def settled(self) -> None:
        """Returns when nothing runs behind any more."""
        while self._calls or self._begun:
            await asyncio.gather(*self._begun, *self._calls.values(), return_exceptions=True)

    async def _ask(
        self, question: Callable[[Registry], tuple[str, AskRegistry]], within_s: float
    ) -> list[_RegistrySaid]:
        ends_at = asyncio.get_running_loop().time() + within_s
        asking = (self._told(registry.name, *question(registry), ends_at) for registry in self._registries)
        return list(await asyncio.gather(*asking))

    async def _told(self, name: str, asked: str, ask: AskRegistry, ends_at: float) -> _RegistrySaid:
        """Fresh from what is kept, else from the registry; if that is late or fails, from what is kept."""
        key = f"work:{name}:{asked}"
        kept = _read(await self._kept.get(key))
        if kept is not None and self._clock() - kept.asked_at <= STANDING_KEPT:
            return _RegistrySaid(name, kept)
        try:
            async with asyncio.timeout_at(ends_at):
                return _RegistrySaid(name, await asyncio.shield(self._call(key, name, ask)))
        except TimeoutError:
            return _RegistrySaid(name, kept, "no answer in time")
        except ProviderError as error:
            return _RegistrySaid(name, kept, error.plain)
        except Exception:  # noqa: BLE001 -- the boundary of one registry; `_done` has logged it
            return _RegistrySaid(name, kept, "gave an answer that cannot be read")

    def _call(self, key: str, name: str, ask: AskRegistry) -> asyncio.Task[KeptRecords | None]:
        if key not in self._calls:
            call = self._calls[key] = asyncio.create_task(self._paid(key, name, ask))
            call.add_done_callback(lambda done: self._done(key, done))
        return self._calls[key]

    async def _paid(self, key: str, name: str, ask: AskRegistry) -> KeptRecords | None:
        async with self._slots[name]:
            records = await ask()
        if records is None:
            return None
        told = KeptRecords(tuple(records), self._clock())
        await self._kept.put(key, encode(told), ttl=KEPT if records else STANDING_KEPT)
        return told

    def _done(self, key: str, call: asyncio.Task[KeptRecords | None]) -> None:
        self._calls.pop(key, None)
        error = None if call.cancelled() else call.exception()
        if isinstance(error, ProviderError):
            log.info("a registry gave nothing", extra={"provider": error.provider, "reason": error.reason})
        elif error is not None:
            log.warning("a registry's answer broke", exc_info=error)


def _looked(told: Sequence[_RegistrySaid], now: datetime) -> Looked:
    records = [record for one in told if one.kept for record in one.kept.records]
    return Looked(
        records=tuple(records),
        answered=tuple(one.name for one in told if one.kept is not None),
        failed=tuple((one.name, one.why) for one in told if one.kept is None and one.why),
        is_stale=any(one.kept is not None and now - one.kept.asked_at > STANDING_KEPT for one in told),
    )


def _grouped(records: Sequence[WorkRecord]) -> list[WorkRecord]:
    """Those that are one work joined, in the order of the first of each."""
    groups: list[list[WorkRecord]] = []
    for record in records:
        same = next((group for group in groups if any(record.as_work.is_same(one.as_work) for one in group)), None)
        if same is None:
            groups.append([record])
        else:
            same.append(record)
    return [join_records(group) for group in groups]


def _read(text: str | None) -> KeptRecords | None:
    """None for what an earlier gorkd kept otherwise."""
    try:
        return None if text is None else decode(text, KeptRecords)
    except StoreError:
        return None
