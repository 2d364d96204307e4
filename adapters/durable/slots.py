"""A name for each process of this machine that stays the same when it is started again.

A worker that comes back under its old name finds its own jobs at once; the lock on the name's file
goes with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path

from core.model.errors import SetupError

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
