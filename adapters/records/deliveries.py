"""Where answers are shown: addresses of chat messages; which are looked at again for retractions; and watches.

An address goes with its job, one without a job after a day, and one of what was forgotten once its message has been
taken away. Addresses may hold tokens, so they are kept encrypted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from adapters.records.sql import Row, SealedStore, Sql, TimedStore, insertion, moment
from adapters.secrets import SecretBox
from core.model.codec import decode, encode
from core.model.delivery import CONDEMNED_FOR, OPEN_FOR, Address
from core.model.errors import StoreError, Unstorable
from core.model.job import Json, ResearchJob, Scope
from core.watch.watch import Watch, WatchedPage, WatchNotFound, WatchNotice, WatchTelling, digest_at

logger = logging.getLogger(__name__)

_AT = "platform, sealed, put_at, expires_at"
_PUT = insertion("addresses", _AT, key="job_id", changes="platform, sealed, expires_at", of_job=True)
_WAITING = """
    SELECT job_id, platform, sealed, expires_at FROM addresses WHERE platform = ? ORDER BY put_at, job_id
"""
_OPEN = insertion("open_messages", f"key, tenant, visibility, asker, {_AT}", key="key", changes="sealed, expires_at")
_STILL_OPEN = "SELECT key, platform, sealed, expires_at FROM open_messages WHERE platform = ? ORDER BY put_at, key"
_LAPSED = "DELETE FROM open_messages WHERE expires_at <= ? OR put_at <= ?"
_SHOW = insertion("shown", "key, platform, sealed, expires_at", of_job=True)
_SHOWN_AT = "SELECT job_id FROM shown WHERE key > ? AND key < ?"  # hexadecimal, so that `g` is past the last
_SHOWN = """
    SELECT platform, sealed, expires_at FROM shown WHERE job_id = ?
    UNION ALL SELECT platform, sealed, expires_at FROM addresses WHERE job_id = ?
"""
_CONDEMN = insertion("condemned", f"key, {_AT}")
_CONDEMNED = "SELECT key, platform, sealed, expires_at FROM condemned WHERE platform = ? ORDER BY put_at, key"
_PAST_HOPE = "DELETE FROM condemned WHERE expires_at <= ? OR put_at <= ?"


class SqlMessages(SealedStore):
    """`Messages`. None waits for a job that is not stored; what is condemned keeps neither its job nor its tenant."""

    async def expect(self, job: ResearchJob, address: Address) -> None:
        sealed = _sealed(address, self._box)
        row = (address.platform, sealed, self._clock(), address.expires_at, job.id)
        if await self._tables.execute(_PUT, row) == 0:
            raise StoreError(f"{job.id} is not stored, so nothing is kept for it")

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        await self._tables.execute("DELETE FROM addresses WHERE expires_at <= ?", (self._clock(),))
        return await self._addresses(_WAITING, platform)

    async def delivered(self, job_id: str) -> None:
        """Where an answer stands whose sources are still watched is kept, for when it has to be corrected there."""

        def erase(sql: Sql) -> None:
            sql.execute(_KEEP_PLACE, (job_id, True))
            sql.execute("DELETE FROM addresses WHERE job_id = ?", (job_id,))
            sql.execute("DELETE FROM tellings WHERE carrier = ?", (job_id,))
            _tell_next(sql, job_id, self._clock())

        await self._tables.write(erase)

    async def show(self, job_id: str, addresses: Sequence[Address]) -> None:
        for address in addresses:
            sealed = _sealed(address, self._box)
            row = (_digest(address) + secrets.token_hex(8), address.platform, sealed, address.expires_at, job_id)
            if await self._tables.execute(_SHOW, row) == 0:
                await self._condemn(address.platform, sealed, address.expires_at)

    async def shown(self, job_id: str) -> list[Address]:
        query = "SELECT job_id, platform, sealed, expires_at FROM shown WHERE job_id = ? AND expires_at IS NULL"
        return [address for _, address in await self._addresses(query, job_id)]

    async def job_at(self, address: Address) -> str:
        begins = _digest(address)
        rows = await self._tables.rows(_SHOWN_AT, (begins, f"{begins}g"))
        return str(rows[0][0]) if rows else ""

    async def condemn(self, job_ids: Sequence[str]) -> None:
        for job_id in job_ids:
            for platform, sealed, expires_at in await self._tables.rows(_SHOWN, (job_id, job_id)):
                await self._condemn(platform, sealed, expires_at)

    async def condemned(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock()
        await self._tables.execute(_PAST_HOPE, (now, now - CONDEMNED_FOR))
        return await self._addresses(_CONDEMNED, platform)

    async def taken_away(self, key: str) -> None:
        await self._tables.execute("DELETE FROM condemned WHERE key = ?", (key,))

    async def begin(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        kept = (_sealed(address, self._box), self._clock(), address.expires_at)
        row = (key, scope.tenant, scope.visibility, asker, address.platform, *kept)
        await self._tables.execute(_OPEN, row)

    async def begun(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock()
        await self._tables.execute(_LAPSED, (now, now - OPEN_FOR))
        return await self._addresses(_STILL_OPEN, platform)

    async def end(self, key: str) -> None:
        await self._tables.execute("DELETE FROM open_messages WHERE key = ?", (key,))

    async def _addresses(self, query: str, value: str) -> list[tuple[str, Address]]:
        return _opened(await self._tables.rows(query, (value,)), self._box)

    async def _condemn(self, platform: str, sealed: str, expires_at: object) -> None:
        await self._tables.execute(_CONDEMN, (secrets.token_hex(16), platform, sealed, self._clock(), expires_at))


_EXPECT = insertion(
    "standing_checks", "due_at, watched_until", key="job_id", changes="due_at, watched_until", of_job=True
)
_DUE = "SELECT job_id, watched_until FROM standing_checks WHERE due_at <= ? ORDER BY due_at, job_id LIMIT ?"
_CORRECTED = "UPDATE answer_places SET correction = ? WHERE job_id = ?"
_CORRECTED_EARLY = """
    INSERT INTO answer_places (job_id, tenant, visibility, platform, sealed, put_at, expires_at, correction)
    SELECT job_id, tenant, visibility, platform, sealed, put_at, expires_at, ? FROM addresses WHERE job_id = ?
    ON CONFLICT (job_id) DO NOTHING
"""  # its first words are still on their way
_PUT_BACK = """
    INSERT INTO addresses (job_id, tenant, visibility, platform, sealed, put_at, expires_at)
    SELECT job_id, tenant, visibility, platform, sealed, ?, expires_at FROM answer_places
    WHERE job_id = ? AND (expires_at IS NULL OR expires_at > ?)
    ON CONFLICT (job_id) DO NOTHING
"""
_KEEP_PLACE = """
    INSERT INTO answer_places (job_id, tenant, visibility, platform, sealed, put_at, expires_at)
    SELECT job_id, tenant, visibility, platform, sealed, put_at, expires_at FROM addresses
    WHERE job_id = ? AND EXISTS (SELECT 1 FROM standing_checks WHERE standing_checks.job_id = addresses.job_id)
        AND NOT EXISTS (SELECT 1 FROM tellings WHERE tellings.carrier = addresses.job_id AND tellings.is_digest = ?)
    ON CONFLICT (job_id) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
"""  # a digest is no answer that could be corrected where it stands


class SqlStandingChecks(TimedStore):
    """`StandingChecks`."""

    async def expect(self, job_id: str, due_at: datetime, until: datetime) -> None:
        await self._tables.execute(_EXPECT, (due_at, until, job_id))

    async def due(self, now: datetime, *, limit: int) -> list[tuple[str, datetime]]:
        return [(job_id, moment(until)) for job_id, until in await self._tables.rows(_DUE, (now, limit))]

    async def end(self, job_id: str) -> None:
        def end(sql: Sql) -> None:
            sql.execute("DELETE FROM standing_checks WHERE job_id = ?", (job_id,))
            sql.execute("DELETE FROM answer_places WHERE job_id = ?", (job_id,))

        await self._tables.write(end)

    async def corrected(self, job_id: str, said: str) -> None:
        now = self._clock()

        def correct(sql: Sql) -> None:
            sql.execute(_CORRECTED, (said, job_id))
            sql.execute(_CORRECTED_EARLY, (said, job_id))
            sql.execute(_PUT_BACK, (now, job_id, now))

        await self._tables.write(correct)

    async def take_correction(self, job_id: str) -> str:
        def take(sql: Sql) -> str:
            rows = sql.rows("SELECT correction FROM answer_places WHERE job_id = ?", (job_id,))
            sql.execute(_CORRECTED, ("", job_id))
            return str(rows[0][0]) if rows else ""

        return await self._tables.write(take)


_ADD_WATCH = insertion(
    "watches",
    "id, tenant, visibility, asker, is_active, next_at, version, origin, told, watch, platform, sealed, place",
)
_PUT_WATCH = """
    UPDATE watches SET is_active = ?, next_at = ?, version = version + 1, told = ?, watch = ?
    WHERE id = ? AND version = ?
"""
_KEPT = "SELECT watch, version, looks_usd FROM watches"
_OF_JOB = f"""
    {_KEPT} WHERE {{}} = ?
    ORDER BY CASE WHEN asker = ? THEN 0 ELSE 1 END, next_at DESC LIMIT 1
"""
_WATCHES_DUE = """
    SELECT id, watch, version, looks_usd FROM watches WHERE is_active = ? AND next_at <= ? ORDER BY next_at, id LIMIT ?
"""
_SET_ASIDE = "UPDATE watches SET is_active = ?, is_unreadable = ? WHERE id = ?"
_ADD_PAGE = insertion("watched_pages", "watch_id, is_seen, number, tenant, visibility, page")
_OF_RUN = "watch_id, number, job_id, tenant, visibility"
_ADD_NOTICE = insertion("notices", f"{_OF_RUN}, at, notice", key="watch_id, number", changes="job_id, at, notice")
_ADD_TELLING = insertion("tellings", f"{_OF_RUN}, place, platform, sealed, is_digest, due_at", key="watch_id, number")
_NEXT_TELLING = """
    SELECT watch_id, number, tenant, visibility, platform, sealed FROM tellings
    WHERE job_id = ? AND carrier = '' AND is_digest = ? ORDER BY due_at, watch_id, number LIMIT 1
"""
_PUT_FREE = insertion("addresses", "job_id, tenant, visibility, platform, sealed, put_at", key="job_id")
_CARRIED = "UPDATE tellings SET carrier = ? WHERE watch_id = ? AND number = ?"
_DIGESTS = """
    SELECT watch_id, number, job_id, tenant, visibility, platform, sealed, place FROM tellings
    WHERE is_digest = ? AND due_at <= ?
        AND NOT EXISTS (SELECT 1 FROM addresses WHERE addresses.job_id = tellings.carrier)
    ORDER BY due_at, watch_id, number
"""  # a digest whose job was forgotten goes out with another
_IN_DIGEST = """
    SELECT notices.notice FROM tellings
    JOIN notices ON notices.watch_id = tellings.watch_id AND notices.number = tellings.number
    WHERE carrier = ? AND is_digest = ? ORDER BY notices.at, notices.watch_id
"""


class SqlWatches(SealedStore):
    """`Watches`. A watch goes with the answer that it watches, and with the one that it told last."""

    async def add(self, watch: Watch, address: Address | None) -> None:
        whose = (watch.scope.tenant, watch.scope.visibility, watch.asker)
        where = (address.platform, _sealed(address, self._box)) if address else ("", "")
        row = (watch.id, *whose, watch.is_active, watch.next_at, watch.version, watch.origin or None,
               watch.told or None, encode(watch), *where, address.place if address else "")  # fmt: skip
        await self._tables.execute(_ADD_WATCH, row)

    async def get(self, watch_id: str) -> Watch:
        rows = await self._tables.rows(f"{_KEPT} WHERE id = ?", (watch_id,))
        if not rows:
            raise WatchNotFound(watch_id)
        return _watch(rows[0])

    async def of(self, tenant: str, *, asker: str = "") -> list[Watch]:
        query = f"{_KEPT} WHERE is_active = ? AND tenant = ? AND (? = '' OR asker = ?)"
        return _oldest_first(await self._tables.rows(query, (True, tenant, asker, asker)))

    async def at(self, tenant: str, place: str) -> list[Watch]:
        query = f"{_KEPT} WHERE is_active = ? AND tenant = ? AND place = ?"
        return _oldest_first(await self._tables.rows(query, (True, tenant, place)))

    async def of_job(self, job_id: str, *, asker: str = "") -> Watch | None:
        for column in ("told", "origin"):
            if rows := await self._tables.rows(_OF_JOB.format(column), (job_id, asker)):
                return _watch(rows[0])
        told = "SELECT watch_id FROM notices WHERE job_id = ? ORDER BY at DESC LIMIT 1"
        for (watch_id,) in await self._tables.rows(told, (job_id,)):
            return await self.get(watch_id)
        return None

    async def due(self, now: datetime, *, limit: int) -> list[Watch]:
        found: list[Watch] = []
        for watch_id, *row in await self._tables.rows(_WATCHES_DUE, (True, now, limit)):
            try:
                found.append(_watch(tuple(row)))
            except StoreError as exc:
                logger.error("a watch cannot be read and is set aside", extra={"watch": watch_id, "error": str(exc)})
                await self._tables.execute(_SET_ASIDE, (False, True, watch_id))
        return found

    async def unreadable(self) -> list[str]:
        rows = await self._tables.rows("SELECT id FROM watches WHERE is_unreadable = ? ORDER BY id", (True,))
        return [str(watch_id) for (watch_id,) in rows]

    async def put(
        self,
        watch: Watch,
        *,
        telling: WatchTelling | None = None,
        pages: Sequence[WatchedPage] | None = None,
        seen: Sequence[WatchedPage] | None = None,
        address: Address | None = None,
    ) -> bool:
        whose = (watch.scope.tenant, watch.scope.visibility)

        def put(sql: Sql) -> bool:
            row = (watch.is_active, watch.next_at, watch.told or None, encode(watch), watch.id, watch.version)
            if not sql.execute(_PUT_WATCH, row):
                return False
            if address is not None:
                at = (address.platform, _sealed(address, self._box), address.place)
                sql.execute("UPDATE watches SET platform = ?, sealed = ?, place = ? WHERE id = ?", (*at, watch.id))
            for is_seen, some in ((False, pages), (True, seen)):
                if some is not None:
                    sql.execute("DELETE FROM watched_pages WHERE watch_id = ? AND is_seen = ?", (watch.id, is_seen))
                    rows = [(watch.id, is_seen, place, *whose, encode(page)) for place, page in enumerate(some)]
                    sql.execute_all(_ADD_PAGE, rows)
            if telling is not None:
                self._tell(sql, watch, telling)
            return True

        return await self._tables.write(put, key=watch.id)

    async def pages(self, watch_id: str, *, seen: bool = False) -> list[WatchedPage]:
        query = "SELECT page FROM watched_pages WHERE watch_id = ? AND is_seen = ? ORDER BY number"
        return await self._all(WatchedPage, query, (watch_id, seen))

    async def notices(self, watch_id: str) -> list[WatchNotice]:
        query = "SELECT notice FROM notices WHERE watch_id = ? ORDER BY number"
        return await self._all(WatchNotice, query, (watch_id,))

    async def told_at(self, key: str) -> WatchNotice | None:
        kind, _, named = key.partition(":")
        if kind == "digest":
            parts = tuple(await self._all(WatchNotice, _IN_DIGEST, (named, True)))
            return replace(parts[0], tone="digest", changes=(), parts=parts) if parts else None
        watch_id, _, number = named.rpartition(":")
        if kind != "watch" or not number.isdecimal():
            return None
        query = "SELECT notice FROM notices WHERE watch_id = ? AND number = ?"
        return await self._first(WatchNotice, query, (watch_id, int(number)))

    async def send_digests(self, now: datetime) -> int:
        def send(sql: Sql) -> int:
            places: dict[Row, list[Row]] = {}
            for watch_id, number, job_id, *place in sql.rows(_DIGESTS, (True, now)):
                tenant, visibility, platform, sealed, name = place
                group = (tenant, visibility, platform, name or watch_id)
                places.setdefault(group, []).append((watch_id, number, job_id, sealed))
            return sum(self._send_digest(sql, group, parts) for group, parts in places.items())

        return await self._tables.write(send, key="digests")

    def _send_digest(self, sql: Sql, group: Row, parts: Sequence[Row]) -> bool:
        """At the address of the first of its jobs at which nothing else waits."""
        tenant, visibility, platform, _ = group
        for _, _, job_id, sealed in parts:
            data = self._opened(job_id, sealed)
            if data is None:
                continue
            at = Address(platform, data | {"key": f"digest:{job_id}"})
            row = (job_id, tenant, visibility, platform, _sealed(at, self._box), self._clock())
            if sql.execute(_PUT_FREE, row):
                sql.execute_all(_CARRIED, [(job_id, watch_id, number) for watch_id, number, *_ in parts])
                return True
        return False

    def _tell(self, sql: Sql, watch: Watch, telling: WatchTelling) -> None:
        """The job waits to be delivered to the watch's place, under a key of the run's own."""
        whose, notice, now = (watch.scope.tenant, watch.scope.visibility), telling.notice, self._clock()
        if notice is not None:
            row = (watch.id, notice.number, telling.job_id, *whose, notice.at, encode(notice))
            sql.execute(_ADD_NOTICE, row)
        ((platform, sealed, place),) = sql.rows("SELECT platform, sealed, place FROM watches WHERE id = ?", (watch.id,))
        opened = self._opened(telling.job_id, sealed) if platform else None
        if opened is None:
            return
        waits = notice is not None and watch.manner == "digest" and notice.tone in ("changed", "still")
        due_at = digest_at(watch, notice.at) if waits and notice else now
        data = opened | {"key": f"watch:{watch.id}:{watch.run}"}
        at = (place, platform, _sealed(Address(platform, data), self._box))
        sql.execute(_ADD_TELLING, (watch.id, watch.run, telling.job_id, *whose, *at, waits, due_at))
        _tell_next(sql, telling.job_id, now)

    def _opened(self, job_id: str, sealed: str) -> dict[str, Json] | None:
        """None of what another secret has sealed: it is told no more, and nothing else waits for it."""
        for _, address in _opened([(job_id, "", sealed, None)], self._box):
            return dict(address.data)
        return None


def _tell_next(sql: Sql, job_id: str, now: datetime) -> None:
    """A job has one address: what else is told below it waits until that has arrived."""
    for watch_id, number, *rest in sql.rows(_NEXT_TELLING, (job_id, False)):
        if sql.execute(_PUT_FREE, (job_id, *rest, now)):
            sql.execute(_CARRIED, (job_id, watch_id, number))


def _watch(row: Row) -> Watch:
    text, version, looks_usd = row
    return replace(decode(text, Watch), version=int(version), looks_usd=float(looks_usd))


def _oldest_first(rows: Iterable[Row]) -> list[Watch]:
    """Without those that cannot be read, which `due` sets aside."""
    found: list[Watch] = []
    for row in rows:
        try:
            found.append(_watch(row))
        except StoreError as exc:
            logger.error("a watch cannot be read", extra={"error": str(exc)})
    return sorted(found, key=lambda watch: (watch.created_at, watch.id))


def _digest(address: Address) -> str:
    """What keys of a message begin with, so that it is found although its address is sealed."""
    told = json.dumps([address.platform, sorted(address.data.items())], ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


def _sealed(address: Address, box: SecretBox) -> str:
    """Raises `StoreError` for data that cannot be stored."""
    try:
        return box.seal(json.dumps(dict(address.data)))
    except (TypeError, ValueError) as exc:
        raise Unstorable(f"an address cannot be stored: {exc}") from exc


def _opened(rows: Iterable[Row], box: SecretBox) -> list[tuple[str, Address]]:
    """From (job id, platform, sealed data, expiry); what another secret has sealed is left out with a warning."""
    found: list[tuple[str, Address]] = []
    for job_id, platform, sealed, expiry in rows:
        expires_at = None if expiry is None else moment(expiry)
        try:
            found.append((job_id, Address(platform, json.loads(box.open(sealed)), expires_at)))
        except (StoreError, ValueError) as exc:
            logger.warning("an address is lost", extra={"job": job_id, "error": str(exc)})
    return found
