"""The PostgreSQL that keeps the records of several machines: opening it, and running work on its connections.

Every statement has a timeout, and a connection that a restart of the server has cut is replaced before anyone works
on it. Work runs on threads, one a connection; a caller that is cancelled leaves no half transaction.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn, TypeVar

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool, PoolTimeout

from adapters.records.schema import Outlook, migrate, outlook
from adapters.records.sql import Dialect, Sql, Tables, Values, digest
from core.model.errors import SetupError, StoreError, Unstorable

T = TypeVar("T")
log = logging.getLogger(__name__)

MAX_CONNECTIONS = 10  # a process; PostgreSQL's own default allows 100 in all
MAX_WAITING = 1000  # calls that wait for a connection; beyond, something is stuck
CONNECT_TIMEOUT_S = 5.0
WHY_NOT_WITHIN_S = 2.0
STATEMENT_TIMEOUT_S = 10.0  # statements take milliseconds; longer means a lock or a disk that is stuck
MIGRATE_TIMEOUT_S = 60.0  # includes waiting for another process that migrates

MIGRATING = 0x676F726B64  # "gorkd"; the advisory lock of whoever migrates
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))"
_NAMED = re.compile(r"(?<=[\s(]):([a-z_]+)")

_REASONS = {  # by the beginning of the SQLSTATE (PostgreSQL documentation, appendix A)
    "08": "it cannot be reached",
    "25006": "it is read-only",
    "28": "it refuses the user or the password",
    "3D": "there is no such database",
    "42501": "the user may not do this there",
    "53100": "its disk is full",
    "53300": "it has too many connections",
    "XX00": "it is damaged",
    "57014": "a statement took too long",
    "57P": "it is shutting down or starting up",
}
_AWAY = ("08", "53300", "57P")  # of these: nobody can work on it, whatever is asked


class PostgresDatabase(Tables):
    """A pool of connections, shared by the stores of a process. Close it with `aclose`."""

    dialect: Dialect = "postgres"

    def __init__(self, pool: ConnectionPool, name: str, address: str, *, wait_s: float) -> None:
        self._pool = pool
        self._address = address
        self._name = name
        self._wait_s = wait_s
        self._threads = ThreadPoolExecutor(max_workers=pool.max_size, thread_name_prefix="gorkd-postgres")
        self._free = asyncio.Semaphore(pool.max_size)  # of the threads; waiting for one is bounded in number and time
        self._waiting = 0
        self._is_away = False

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        max_connections: int = MAX_CONNECTIONS,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    ) -> PostgresDatabase:
        """Connect, or wait `connect_timeout_s` for it, and migrate. Raises `SetupError`."""
        address, name = _address(url, connect_timeout_s, statement_timeout_s)
        try:
            async with asyncio.timeout(connect_timeout_s), await AsyncConnection.connect(address):
                pass  # it answers
            await asyncio.to_thread(_migrate, address)
        except (psycopg.Error, OSError) as exc:  # TimeoutError is an OSError
            raise _unusable(name, exc) from exc
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # of every dialling; we tell of an outage
        pool = ConnectionPool(
            address,
            kwargs={"autocommit": True},
            min_size=1,
            max_size=max_connections,
            timeout=connect_timeout_s,
            reconnect_timeout=connect_timeout_s,  # then it gives up until somebody asks, instead of ever rarer attempts
            check=ConnectionPool.check_connection,
            open=False,
        )
        pool.open()
        return cls(pool, name, address, wait_s=connect_timeout_s)

    async def read(self, work: Callable[[Sql], T]) -> T:
        return await self._run(lambda connection: work(sql_on(connection)))

    async def write(self, work: Callable[[Sql], T], *, key: str = "") -> T:
        def in_transaction(connection: Connection) -> T:
            sql = sql_on(connection)
            with connection.transaction():
                if key:
                    sql.rows(_LOCK, (digest(key).hex(),))  # of any text
                return work(sql)

        return await self._run(in_transaction)

    async def execute(self, query: str, values: Values = ()) -> int:
        return await self.read(lambda sql: sql.execute(query, values))

    def damage(self) -> str:
        """Why it takes no connection; sooner than a pool that goes on trying."""
        try:
            psycopg.connect(self._address, connect_timeout=round(WHY_NOT_WITHIN_S)).close()
        except (psycopg.Error, OSError) as exc:
            return _reason(exc)
        return ""

    async def aclose(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._pool.close)

    async def _run(self, work: Callable[[Connection], T]) -> T:
        try:
            done = await self._on_thread(work)
        except (TimeoutError, PoolTimeout) as exc:
            state, reason = await self._why_not()
            self._fail(state, reason, exc)
        except (psycopg.DataError, ValueError) as exc:  # e.g. NUL in a name, or half a surrogate pair
            raise Unstorable(f"a value cannot be stored: {type(exc).__name__}") from exc
        except (psycopg.Error, OSError) as exc:
            self._fail(_state(exc), _reason(exc), exc)
        if self._is_away:
            self._is_away = False
            log.warning("the database %s is back", self._name)
        return done

    async def _on_thread(self, work: Callable[[Connection], T]) -> T:
        """Raises `TimeoutError` when none is free in time, `PoolTimeout` when no connection is."""

        def with_connection() -> T:
            with self._pool.connection() as connection:
                return work(connection)

        await self._wait_for_one()
        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, with_connection)
        except RuntimeError as exc:
            self._free.release()
            raise StoreError(f"the database {self._name} is closed") from exc
        running.add_done_callback(self._free_one)
        return await asyncio.shield(running)

    async def _wait_for_one(self) -> None:
        if self._waiting >= MAX_WAITING:
            raise TimeoutError
        self._waiting += 1
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        finally:
            self._waiting -= 1

    def _free_one(self, done: asyncio.Future[T]) -> None:
        self._free.release()
        if not done.cancelled():
            done.exception()  # seen, also when whoever waited has gone

    async def _why_not(self) -> tuple[str, str]:
        """State and reason why there is no connection: what the server says to one more."""
        try:
            async with asyncio.timeout(WHY_NOT_WITHIN_S), await AsyncConnection.connect(self._address):
                return "", "all connections are in use"
        except (psycopg.Error, OSError) as exc:
            return _state(exc), _reason(exc)

    def _fail(self, state: str, reason: str, exc: Exception) -> NoReturn:
        if state.startswith(_AWAY) and not self._is_away:
            self._is_away = True
            log.warning("the database %s is away: %s", self._name, reason)
        error = StoreError(
            f"the database {self._name} (DATABASE_URL) failed: {reason}",
            operator_message=f"gorkd cannot use its database ({reason}); please try again in a minute.",
        )
        error.is_told = self._is_away
        raise error from exc


def look_at(url: str) -> Outlook:
    """What a start would do to the database. Nothing is changed. Raises `SetupError`. Blocks."""
    address, name = _address(url, CONNECT_TIMEOUT_S, STATEMENT_TIMEOUT_S)
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            return outlook(sql_on(connection))
    except (psycopg.Error, OSError) as exc:
        raise _unusable(name, exc) from exc


def _unusable(name: str, exc: Exception) -> SetupError:
    return SetupError(
        f"The database {name} (DATABASE_URL) cannot be used: {_reason(exc)}. "
        "Start PostgreSQL there, or correct DATABASE_URL."
    )


def _migrate(address: str) -> None:
    """Whoever does the same meanwhile waits for the lock, and then finds nothing to do."""
    with psycopg.connect(address, autocommit=True) as connection, connection.transaction():
        sql = sql_on(connection)
        sql.execute(f"SET LOCAL statement_timeout = {round(MIGRATE_TIMEOUT_S * 1000)}")
        sql.rows("SELECT pg_advisory_xact_lock(?)", (MIGRATING,))
        migrate(sql, named="The database in DATABASE_URL", setting="DATABASE_URL")


def sql_on(connection: Connection) -> Sql:
    return Sql("postgres", connection.cursor, _marked)


def _marked(query: str, values: Values) -> tuple[bytes, Values]:
    """With psycopg's marks; no statement of ours has a question mark of its own."""
    if isinstance(values, Mapping):
        return _NAMED.sub(r"%(\1)s", query).encode(), values
    return query.replace("?", "%s").encode(), values


def _address(url: str, connect_timeout_s: float, statement_timeout_s: float) -> tuple[str, str]:
    """The connection string with our settings, and what may be said of it: host, port and database, no password."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.ProgrammingError as exc:
        raise SetupError("DATABASE_URL is not an address such as postgresql://user:password@host:5432/gorkd") from exc
    options = f"-c statement_timeout={round(statement_timeout_s * 1000)} -c timezone=UTC"
    settings: dict[str, str | int | None] = {
        "application_name": "gorkd",
        "keepalives_idle": 10,  # seconds until a silent machine at the other end is suspected
        **given,
        "connect_timeout": max(2, round(connect_timeout_s)),  # libpq counts whole seconds and takes no 1
        "options": f"{given.get('options') or ''} {options}".strip(),
    }
    address = make_conninfo("", **settings)
    host, port = given.get("host") or "localhost", given.get("port") or "5432"
    return address, f"{host}:{port}/{given.get('dbname') or given.get('user') or ''}"


def _reason(exc: Exception) -> str:
    """Why, in a few words that hold nothing of what was to be stored."""
    if isinstance(exc, TimeoutError | psycopg.errors.ConnectionTimeout):
        return "it does not answer"
    state = _state(exc)
    return next((reason for start, reason in _REASONS.items() if state.startswith(start)), type(exc).__name__)


def _state(exc: Exception) -> str:
    return (exc.sqlstate if isinstance(exc, psycopg.Error) else None) or _state_of_refusal(exc)


def _state_of_refusal(exc: Exception) -> str:
    """The SQLSTATE of a failed connection: libpq gives none, only the server's sentence."""
    said = str(exc)
    for sentence, state in (
        ("authentication failed", "28P01"),
        ("no password supplied", "28P01"),
        ("does not exist", "3D000"),
        ("too many c", "53300"),
        ("connection slots are reserved", "53300"),
        ("starting up", "57P03"),
        ("shutting down", "57P03"),
    ):
        if sentence in said:
            return state
    return "08006"
