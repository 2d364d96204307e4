"""SQL that is written once: what a store needs of a database, the same on SQLite and on PostgreSQL.

Marks are `?` in a sequence of values and `:name` in a mapping. A moment is given as `datetime` and comes back as the
database keeps it: `moment` reads either. Work is synchronous and goes to a thread of its own once, as a whole: a hop
for each statement would cost SQLite two to three times the processor.
"""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from adapters.secrets import SecretBox
from core.model.codec import decode
from core.model.errors import StoreError
from core.model.ports import Clock

T = TypeVar("T")
Row = tuple[Any, ...]
Values = Sequence[object] | Mapping[str, object]
Dialect = Literal["sqlite", "postgres"]

LISTED: dict[Dialect, str] = {  # the texts of a JSON array, for `IN`
    "sqlite": "(SELECT value FROM json_each(?))",
    "postgres": "(SELECT json_array_elements_text(CAST(? AS json)))",
}
LISTED_NUMBERS: dict[Dialect, str] = {  # likewise
    "sqlite": LISTED["sqlite"],
    "postgres": "(SELECT CAST(json_array_elements_text(CAST(? AS json)) AS BIGINT))",
}
POSITION: dict[Dialect, str] = {"sqlite": "instr", "postgres": "strpos"}  # where a text stands in another, 0: nowhere


def insertion(table: str, columns: str, *, key: str = "", changes: str = "", of_job: bool = False) -> str:
    """The statement that adds a row, with a mark for each of the `columns`; names are parted by commas.

    Where there is a row of that `key`, its columns named in `changes` are changed, and nothing where none is named.
    `of_job` fills in `job_id`, tenant and visibility of the job whose id is the last value, if there is one.
    """
    marks = ", ".join("?" * (columns.count(",") + 1))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 -- our words
    if of_job:
        chosen = f"SELECT id, tenant, visibility, {marks} FROM jobs WHERE id = ?"  # noqa: S608 -- our words
        statement = f"INSERT INTO {table} (job_id, tenant, visibility, {columns}) {chosen}"
    if not key:
        return statement
    changed = ", ".join(f"{name} = excluded.{name}" for name in changes.split(", ") if name)
    return f"{statement} ON CONFLICT ({key}) DO {f'UPDATE SET {changed}' if changed else 'NOTHING'}"


_TRY = insertion("tries", "name, at", key="name", changes="at")


class Sql:
    """A connection in the hands of one piece of work. Its methods raise the driver's errors.

    `cursor` makes one of the driver's (PEP 249), and `spell` a query and its values what the driver understands.
    """

    def __init__(
        self, dialect: Dialect, cursor: Callable[[], Any], spell: Callable[[str, Values], tuple[object, object]]
    ) -> None:
        self.dialect = dialect
        self._cursor, self._spell = cursor, spell

    def rows(self, query: str, values: Values = ()) -> list[Row]:
        found: list[Row] = self._cursor().execute(*self._spell(query, values)).fetchall()
        return found

    def execute(self, query: str, values: Values = ()) -> int:
        """How many rows it changed."""
        return int(self._cursor().execute(*self._spell(query, values)).rowcount)

    def execute_all(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        """The same statement for each of the rows."""
        spelled = [self._spell(query, row) for row in rows]
        if spelled:
            self._cursor().executemany(spelled[0][0], [values for _, values in spelled])


class Tables(ABC):
    """A database. Every method raises `StoreError`, and whatever the work raises that is not the driver's."""

    dialect: Dialect

    @abstractmethod
    async def read(self, work: Callable[[Sql], T]) -> T:
        """Run `work` outside a transaction."""

    @abstractmethod
    async def write(self, work: Callable[[Sql], T], *, key: str = "") -> T:
        """Run `work` in one transaction, undone when it raises. One at a time has this `key`."""

    async def rows(self, query: str, values: Values = ()) -> list[Row]:
        """Run one statement that returns rows, on its own."""
        return await self.read(lambda sql: sql.rows(query, values))

    async def execute(self, query: str, values: Values = ()) -> int:
        """Run one statement on its own; how many rows it changed."""
        return await self.write(lambda sql: sql.execute(query, values))

    @abstractmethod
    def damage(self) -> str:
        """What is wrong with the database itself, "" for nothing. Blocks."""

    @abstractmethod
    async def aclose(self) -> None:
        """Let what is running end, then close. May be called again."""


class SqlStore:
    """What stands in some of a database's tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def _all(self, kind: type[T], query: str, values: Values = ()) -> list[T]:
        """What the rows of one column hold, as it was encoded (core/model/codec.py)."""
        return [decode(text, kind) for (text,) in await self._tables.rows(query, values)]

    async def _first(self, kind: type[T], query: str, values: Values = ()) -> T | None:
        """Likewise of the first row, where there is one that holds something."""
        rows = await self._tables.rows(query, values)
        return decode(rows[0][0], kind) if rows and rows[0][0] is not None else None


class TimedStore(SqlStore):
    """What ends, or is ordered, by the time of a clock."""

    def __init__(self, tables: Tables, *, clock: Clock) -> None:
        super().__init__(tables)
        self._clock = clock


class SealedStore(TimedStore):
    """What is kept encrypted, in part."""

    def __init__(self, tables: Tables, box: SecretBox, *, clock: Clock) -> None:
        super().__init__(tables, clock=clock)
        self._box = box


async def try_out(tables: Tables, clock: Clock) -> None:
    """Whether what is kept can still be used: a row is written, as every question does. Raises `StoreError`."""
    if reason := await asyncio.to_thread(tables.damage):
        raise StoreError(
            f"the records are not sound: {reason}",
            operator_message=f"gorkd cannot use its records ({reason}); whoever runs it should look at them.",
        )
    await tables.execute(_TRY, ("ready", clock()))


def moment(kept: datetime | float) -> datetime:
    """SQLite keeps seconds since 1970."""
    return kept if isinstance(kept, datetime) else datetime.fromtimestamp(kept, UTC)


def digest(key: str) -> bytes:
    """The SHA-256 of `key`, 32 bytes: a key of one length, of any text, that does not say what was asked."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def place_token(*parts: str) -> str:
    """A word that a full-text index keeps for a place: digits alone, which no stemmer changes."""
    return str(int.from_bytes(digest("\x1f".join(parts))[:8], "big"))
