"""Where the journal lies, and how much runs at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

FILE_NAME = "dbos.sqlite"


class DurableSettings(BaseModel):
    """`url` is a SQLite file beside the records, or the database of all machines; times are seconds."""

    model_config = ConfigDict(frozen=True)

    url: str
    folder: Path
    poll_s: float = 0.1  # from enqueue to start half of it on average; an idle worker costs 3 % of a core
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
