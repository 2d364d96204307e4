"""A library that notes each search in the trace of the running job: in which index, how it ranked, what it found."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from time import perf_counter

from core.errors import StoreError
from core.job import Scope
from core.library.paper import Index, Library, SearchResult
from core.ports import Vector
from core.tracing import TraceEntry
from core.watching import GIVEN_UP, Tracer


class WatchedLibrary:
    """A `Library`."""

    def __init__(self, library: Library, tracer: Tracer) -> None:
        self._library = library
        self._tracer = tracer
        self.put = library.put
        self.remove = library.remove
        self.papers = library.papers
        self.text = library.text
        self.file = library.file

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        search = self._library.nearest(shelves, index, vector, limit=limit, papers=papers)
        return await self._noted(f"{index} by similarity, at most {limit}", search)

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        search = self._library.matching(shelves, index, query, limit=limit, papers=papers)
        return await self._noted(f"{index} by words (BM25), the best {limit}, no similarity: {query}", search)

    def note(self, how: str, found: int) -> None:
        """What was decided about a search."""
        self._tracer.note(TraceEntry("search", "library", self._tracer.now(), 0.0, "done", how, found))

    async def _noted(self, how: str, search: Awaitable[list[SearchResult]]) -> list[SearchResult]:
        started = perf_counter()
        outcome, found = GIVEN_UP, list[SearchResult]()
        try:
            found = await search
            outcome = "done"
        except StoreError:
            outcome = "the store failed"
            raise
        finally:
            seconds = perf_counter() - started
            self._tracer.note(TraceEntry("search", "library", self._tracer.now(), seconds, outcome, how, len(found)))
        return found


def note_search(library: Library, how: str, found: int) -> None:
    """In the trace of the running job; nothing where the library is not watched."""
    if isinstance(library, WatchedLibrary):
        library.note(how, found)
