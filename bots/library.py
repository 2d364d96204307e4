"""The paper library with all it needs: a reader, a finder, a model and an embedder; and its conversations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from core.config import SearchSettings
from core.library.desk import LibraryDesk
from core.library.ingest import Ingestion
from core.library.pages import PaperViews
from core.library.paper import Library
from core.library.session import LibraryTalks

if TYPE_CHECKING:
    from bots.wiring import House


def library_desk(env: Mapping[str, str], library: Library, stack: AsyncExitStack) -> LibraryDesk:
    """Closed with `stack`. Raises `SetupError`."""
    from adapters.llm.embeddings import build_embeddings
    from adapters.llm.openai import build_chat
    from adapters.pages import WebPages
    from adapters.pages.papers import PaperFiles, PapersElsewhere
    from adapters.search import arxiv as arxiv_search
    from adapters.search import surroundings
    from bots.wiring import utc_now

    pages, files = WebPages.from_env(env), PaperFiles()
    arxiv = arxiv_search.build(env, surroundings(env, SearchSettings()))
    model, embedder = build_chat(env), build_embeddings(env)
    for part in (pages, files, arxiv, model, embedder):
        if part is not None:
            stack.push_async_callback(part.aclose)
    return LibraryDesk(
        Ingestion(library, files, utc_now, model, embedder),
        PapersElsewhere(pages, arxiv.look_up, arxiv.find_papers, arxiv=arxiv.site),
    )


@asynccontextmanager
async def open_talks(env: Mapping[str, str], house: House) -> AsyncIterator[LibraryTalks]:
    """Raises `SetupError`."""
    from adapters.pages.papers import PagePictures

    async with AsyncExitStack() as stack:
        painter = PagePictures()
        stack.push_async_callback(painter.aclose)
        desk = library_desk(env, house.deps.library, stack)
        views = PaperViews(house.deps.library, painter)
        yield LibraryTalks(
            house.researcher, desk, house.conversations, views, house.deps.clock,
            open_messages=house.open_messages, rules=house.tenancy.settings,
        )  # fmt: skip
