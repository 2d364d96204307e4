"""Addresses of messages: those that wait for jobs and those that show them go with them, those without a job after
a day, and those that show what was forgotten when they have been taken away. They may hold tokens, so they are kept
as sealed text.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime

from adapters.records.sql import Sql, Tables, moment
from core.model.delivery import CONDEMNED_FOR, OPEN_FOR, Address, Sealer
from core.model.errors import StoreError
from core.model.job import ResearchJob, Scope
from core.model.ports import Clock

logger = logging.getLogger(__name__)

_PUT = """
    INSERT INTO addresses (job_id, tenant, visibility, platform, sealed, put_at, expires_at)
    SELECT id, tenant, visibility, ?, ?, ?, ? FROM jobs WHERE id = ?
    ON CONFLICT (job_id) DO UPDATE SET
        platform = excluded.platform, sealed = excluded.sealed, expires_at = excluded.expires_at
"""
_WAITING = """
    SELECT job_id, platform, sealed, expires_at FROM addresses WHERE platform = ? ORDER BY put_at, job_id
"""
_OPEN = """
    INSERT INTO open_messages (key, tenant, visibility, asker, platform, sealed, put_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
"""
_STILL_OPEN = "SELECT key, platform, sealed, expires_at FROM open_messages WHERE platform = ? ORDER BY put_at, key"
_LAPSED = "DELETE FROM open_messages WHERE expires_at <= ? OR put_at <= ?"
_SHOW = """
    INSERT INTO shown (key, job_id, tenant, visibility, platform, sealed, expires_at)
    SELECT ?, id, tenant, visibility, ?, ?, ? FROM jobs WHERE id = ?
"""
_SHOWN_AT = "SELECT job_id FROM shown WHERE key > ? AND key < ?"  # hexadecimal, so that `g` is past the last
_SHOWN = """
    SELECT platform, sealed, expires_at FROM shown WHERE job_id = ?
    UNION ALL SELECT platform, sealed, expires_at FROM addresses WHERE job_id = ?
"""
_CONDEMN = "INSERT INTO condemned (key, platform, sealed, put_at, expires_at) VALUES (?, ?, ?, ?, ?)"
_CONDEMNED = "SELECT key, platform, sealed, expires_at FROM condemned WHERE platform = ? ORDER BY put_at, key"
_PAST_HOPE = "DELETE FROM condemned WHERE expires_at <= ? OR put_at <= ?"


class SqlDeliveries:
    """`Deliveries`. Nothing is kept for a job that is not stored."""

    def __init__(self, tables: Tables, box: Sealer, *, clock: Clock) -> None:
        self._tables = tables
        self._box = box
        self._clock = clock

    async def put(self, job: ResearchJob, address: Address) -> None:
        sealed = _sealed(address, self._box)
        row = (address.platform, sealed, self._clock(), address.expires_at, job.id)
        if await self._tables.execute(_PUT, row) == 0:
            raise StoreError(f"{job.id} is not stored, so nothing is kept for it")

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        await self._tables.execute("DELETE FROM addresses WHERE expires_at <= ?", (self._clock(),))
        rows = await self._tables.rows(_WAITING, (platform,))
        return _opened([(job_id, where, sealed, at) for job_id, where, sealed, at in rows], self._box)

    async def erase(self, job_id: str) -> None:
        """Where an answer stands whose sources are still watched is kept, for when it has to be corrected there."""

        def erase(sql: Sql) -> None:
            sql.execute(_KEEP_PLACE, (job_id,))
            sql.execute("DELETE FROM addresses WHERE job_id = ?", (job_id,))

        await self._tables.write(erase)


class SqlOpenMessages:
    """`OpenMessages`."""

    def __init__(self, tables: Tables, box: Sealer, *, clock: Clock) -> None:
        self._tables = tables
        self._box = box
        self._clock = clock

    async def put(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        kept = (_sealed(address, self._box), self._clock(), address.expires_at)
        row = (key, scope.tenant, scope.visibility, asker, address.platform, *kept)
        await self._tables.execute(_OPEN, row)

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        now = self._clock()
        await self._tables.execute(_LAPSED, (now, now - OPEN_FOR))
        rows = await self._tables.rows(_STILL_OPEN, (platform,))
        return _opened([(key, where, sealed, at) for key, where, sealed, at in rows], self._box)

    async def erase(self, key: str) -> None:
        await self._tables.execute("DELETE FROM open_messages WHERE key = ?", (key,))


class SqlShownMessages:
    """`ShownMessages`. What is condemned keeps neither its job nor its tenant."""

    def __init__(self, tables: Tables, box: Sealer, *, clock: Clock) -> None:
        self._tables = tables
        self._box = box
        self._clock = clock

    async def put(self, job_id: str, addresses: Sequence[Address]) -> None:
        for address in addresses:
            sealed = _sealed(address, self._box)
            row = (_digest(address) + secrets.token_hex(8), address.platform, sealed, address.expires_at, job_id)
            if await self._tables.execute(_SHOW, row) == 0:
                await self._condemn(address.platform, sealed, address.expires_at)

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
        rows = await self._tables.rows(_CONDEMNED, (platform,))
        return _opened([(key, where, sealed, at) for key, where, sealed, at in rows], self._box)

    async def taken_away(self, key: str) -> None:
        await self._tables.execute("DELETE FROM condemned WHERE key = ?", (key,))

    async def _condemn(self, platform: str, sealed: str, expires_at: object) -> None:
        await self._tables.execute(_CONDEMN, (secrets.token_hex(16), platform, sealed, self._clock(), expires_at))


_EXPECT = """
    INSERT INTO standing_checks (job_id, tenant, visibility, due_at, watched_until)
    SELECT id, tenant, visibility, ?, ? FROM jobs WHERE id = ?
    ON CONFLICT (job_id) DO UPDATE SET due_at = excluded.due_at, watched_until = excluded.watched_until
"""
_DUE = "SELECT job_id, watched_until FROM standing_checks WHERE due_at <= ? ORDER BY due_at, job_id LIMIT ?"
_CORRECTED = "UPDATE answer_places SET correction = ? WHERE job_id = ?"
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
    ON CONFLICT (job_id) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
"""


class SqlStandingChecks:
    """`StandingChecks`."""

    def __init__(self, tables: Tables, *, clock: Clock) -> None:
        self._tables = tables
        self._clock = clock

    async def expect(self, job: ResearchJob, due_at: datetime, until: datetime) -> None:
        await self._tables.execute(_EXPECT, (due_at, until, job.id))

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
            sql.execute(_PUT_BACK, (now, job_id, now))

        await self._tables.write(correct)

    async def take_correction(self, job_id: str) -> str:
        def take(sql: Sql) -> str:
            rows = sql.rows("SELECT correction FROM answer_places WHERE job_id = ?", (job_id,))
            sql.execute(_CORRECTED, ("", job_id))
            return str(rows[0][0]) if rows else ""

        return await self._tables.write(take)


def _digest(address: Address) -> str:
    """What keys of a message begin with, so that it is found although its address is sealed."""
    told = json.dumps([address.platform, sorted(address.data.items())], ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


def _sealed(address: Address, box: Sealer) -> str:
    """Raises `StoreError` for data that cannot be stored."""
    try:
        return box.seal(json.dumps(dict(address.data)))
    except (TypeError, ValueError) as exc:
        raise StoreError(f"an address cannot be stored: {exc}") from exc


def _opened(rows: Iterable[tuple[str, str, str, datetime | float | None]], box: Sealer) -> list[tuple[str, Address]]:
    """From (job id, platform, sealed data, expiry); what another secret has sealed is left out with a warning."""
    found: list[tuple[str, Address]] = []
    for job_id, platform, sealed, expiry in rows:
        expires_at = None if expiry is None else moment(expiry)
        try:
            found.append((job_id, Address(platform, json.loads(box.open(sealed)), expires_at)))
        except (StoreError, ValueError) as exc:
            logger.warning("an address is lost", extra={"job": job_id, "error": str(exc)})
    return found
