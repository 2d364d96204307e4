"""Opening DBOS's own tables: in a file beside the records, or in the database of all machines.

DBOS is imported with the first opening: 0.5 s of processor time and 44 MiB, which `gorkd ask` has no use for. Each
process of a machine has a name that stays the same when it is started again.
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel

from adapters.write_ahead import make_private, switch_to_write_ahead
from core.model.errors import SetupError

if TYPE_CHECKING:
    from dbos import DBOSClient

APPLICATION = "gorkd"
VERSION = "1"  # pinned: a job begun by one release is resumed by the next, anew from where the journal does not fit
QUEUE = "gorkd"
WORKFLOW = "research"
_LOST = ("connection failed", "server closed the connection", "terminating connection", "the connection is lost")
_REASONS = {  # by what libpq, the server, SQLite or the system says
    "too many c": "the database has too many connections",
    "connection slots are reserved": "the database has too many connections",
    "disk is full": "the disk is full",
    "No space left": "the disk is full",
    "starting up": "the database is shutting down or starting up",
    "shutting down": "the database is shutting down or starting up",
    "Connection refused": "the database cannot be reached",
    "server closed the connection": "the database has closed the connection",
    "terminating connection": "the database has closed the connection",
}
WAL_WITHIN_S = 5.0  # as long as a write waits for another


def open_client(settings: DurableSettings) -> DBOSClient:
    """A client of the journal, made and migrated where needed, by several at once too. Blocks. Raises `SetupError`."""
    from dbos import error
    from sqlalchemy.exc import SQLAlchemyError

    quiet_logs()
    try:
        return _open(settings)
    except (SQLAlchemyError, error.DBOSException, OSError, sqlite3.Error) as exc:
        reason = reason_of(exc)
        name = "DATABASE_URL" if settings.file is None else "GORKD_DATA"
        raise SetupError(
            f"the journal of jobs cannot be opened: {reason}",
            operator_message=f"The journal of jobs cannot be opened ({reason}); please check {name}.",
        ) from exc


def _open(settings: DurableSettings) -> DBOSClient:
    from dbos import DBOS, DBOSClient

    from adapters.durable.serializer import JsonSerializer

    if settings.file is not None:
        make_private(settings.file)
        with closing(sqlite3.connect(settings.file, timeout=30)) as connection:
            switch_to_write_ahead(connection, within_s=WAL_WITHIN_S)
    DBOS.migrate(settings.url)
    client = DBOSClient(
        system_database_url=settings.url,
        serializer=JsonSerializer(),
        application_name=APPLICATION,
        retry_connection_errors=False,
    )
    # Before any worker is launched: one that finds its queue at once need not look again a second later.
    client.register_queue(
        QUEUE,
        worker_concurrency=settings.jobs_per_worker,
        partition_concurrency=settings.jobs_per_tenant,
        polling_interval_sec=settings.poll_s,
    )
    return client


def reason_of(exc: Exception) -> str:
    """Why, in a few words that name no user and hold nothing of a job."""
    said = str(getattr(exc, "orig", None) or exc).strip() or type(exc).__name__
    found = next((reason for words, reason in _REASONS.items() if words in said), "")
    return found or said.splitlines()[0]


def quiet_logs() -> None:
    """DBOS's logger would print by itself; with a handler of its own it leaves that to ours."""
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
        logger.addFilter(_is_news)
    logger.setLevel(logging.WARNING)


def _is_news(record: logging.LogRecord) -> bool:
    """Not that a connection is lost: five of DBOS's threads try each second, and the stores say when their database
    goes and when it is back.
    """
    return not any(words in record.getMessage() for words in _LOST)


# Where the journal lies, and how much runs at once


FILE_NAME = "dbos.sqlite"


class DurableSettings(BaseModel, frozen=True):
    """`url` is a SQLite file beside the records, or the database of all machines; times are seconds."""

    url: str
    folder: Path
    poll_s: float = 0.2  # from enqueue to start half of it on average; an idle worker costs 2 % of a core, at 0.1 s 3 %
    jobs_per_worker: int = 32
    jobs_per_tenant: int = 24  # over all workers; below `jobs_per_worker`, so that nobody can fill a worker
    max_waiting_jobs: int = 200

    @classmethod
    def from_env(cls, env: Mapping[str, str], *, folder: Path, max_waiting_jobs: int) -> DurableSettings:
        """`folder` is GORKD_DATA: it also holds this machine's worker ids."""
        url = env.get("DATABASE_URL") or f"sqlite:///{(folder / FILE_NAME).resolve()}"
        return cls(url=url, folder=folder, max_waiting_jobs=max_waiting_jobs)

    @property
    def file(self) -> Path | None:
        """The journal's file; None with a database server."""
        return self.folder / FILE_NAME if self.url.startswith("sqlite:") else None


# A name for each process of this machine that stays the same when it is started again


MAX_WORKERS = 64  # of one machine


class WorkerSlot:
    """The first free name in `folder`. `worker_id` is unique among machines."""

    def __init__(self, worker_id: str, handle: int) -> None:
        self.worker_id = worker_id
        self._handle = handle

    @classmethod
    def take(cls, folder: Path, *, kind: str = "worker") -> WorkerSlot:
        """Raises `SetupError`."""
        names = folder / f"{kind}s"
        try:
            names.mkdir(mode=0o700, parents=True, exist_ok=True)
            for number in range(1, MAX_WORKERS + 1):
                handle = os.open(names / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
                if _lock(handle):
                    return cls(_name(handle, kind), handle)
                os.close(handle)
        except OSError as exc:
            raise SetupError(
                f"worker names cannot be kept in {names}: {exc}",
                operator_message=f"gorkd cannot write to {names} ({exc.strerror}); please check GORKD_DATA.",
            ) from exc
        raise SetupError(f"{MAX_WORKERS} workers already run on {folder} (GORKD_DATA).")

    def release(self) -> None:
        os.close(self._handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _name(handle: int, kind: str) -> str:
    """What the file says, written by its first owner."""
    name = os.read(handle, 100).decode("ascii", "replace").strip()
    if not name:
        name = f"{kind}-{secrets.token_hex(8)}"
        os.write(handle, name.encode("ascii"))
    return name
