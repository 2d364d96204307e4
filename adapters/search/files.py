"""Local files by BM25: an index in SQLite's FTS5 that follows the files, one hit a file with its whole text.

Only for the tenants it is told to serve, because an operator's files are nobody else's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, Field

from adapters.search.faults import deadline
from adapters.search.file_index import FileIndex
from adapters.search.keywords import keywords
from adapters.search.settings import DEFAULT_LIMITS, Access, Surroundings, TimeLimits, read_settings
from core.errors import SetupError
from core.job import LOCAL, Scope
from core.ports import ProviderStrength
from core.source import SearchHit, SearchQuery, SourceKind

ACCESS = Access("files", "Local file search", url_variable="GORKD_FILES")
INDEX_NAME = "files.db"


class FilesSettings(BaseModel):
    files: str = Field(default="", alias="GORKD_FILES")


def build(env: Mapping[str, str], around: Surroundings) -> FileSearch | None:
    """None when there is no folder to read. Named in `GORKD_PROVIDERS`, it serves every tenant. Raises `SetupError`."""
    named = parse_paths(read_settings(FilesSettings, env).files)
    missing = [str(path) for path in named if not path.exists()]
    if missing:
        raise SetupError(f"GORKD_FILES names {', '.join(missing)}, which does not exist")
    roots = named or [path for path in around.default_files if path.exists()]
    if not roots:
        return None
    tenants = None if around.is_named else frozenset({LOCAL.tenant})
    return FileSearch(roots, around.data_dir / INDEX_NAME, tenants=tenants, limits=around.limits)


def parse_paths(text: str) -> list[Path]:
    """Paths parted by commas or the system's path separator; `~` is the home folder."""
    return [Path(part.strip()).expanduser() for part in text.replace(os.pathsep, ",").split(",") if part.strip()]


class FileSearch:
    """`tenants` are the tenants that may ask; None means all."""

    name = ACCESS.name
    strength: ProviderStrength = "files"

    def __init__(
        self,
        roots: Sequence[Path],
        index_path: Path,
        *,
        tenants: frozenset[str] | None = frozenset({LOCAL.tenant}),
        limits: TimeLimits = DEFAULT_LIMITS,
    ) -> None:
        self._index = FileIndex(roots, index_path)
        self._tenants = tenants
        self._limits = limits

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        """Raises `ProviderUnavailable` when the index cannot be kept, `ProviderTimeout`."""
        words = keywords(query.text)
        if limit < 1 or not words or query.filters.include_domains or not self._serves(scope):
            return []
        async with deadline(ACCESS, self._limits.search_s):
            return await asyncio.to_thread(self._search, words, limit)

    async def warm_up(self) -> None:
        """Look at the folders, so that the first question need not."""
        await asyncio.to_thread(self._index.search, ["warm"], 1)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._index.close)

    def _serves(self, scope: Scope) -> bool:
        return self._tenants is None or scope.tenant in self._tenants

    def _search(self, words: Sequence[str], limit: int) -> list[SearchHit]:
        return [
            SearchHit(
                provider=ACCESS.name,
                url=file.path.as_uri(),
                title=file.title,
                text=file.text,
                is_complete=True,
                rank=rank,
                kind=SourceKind.LOCAL,
            )
            for rank, file in enumerate(self._index.search(words, limit))
        ]
