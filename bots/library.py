"""The paper library with all it needs: a reader, a finder, a model and an embedder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack

from core.library.desk import LibraryDesk
from core.library.ingest import Ingestion
from core.library.paper import Library


def library_desk(env: Mapping[str, str], library: Library, stack: AsyncExitStack) -> LibraryDesk:
    """Closed with `stack`. Raises `SetupError`."""
    from adapters.llm.embeddings import build_embeddings
    from adapters.llm.openai import build_chat
    from adapters.pages import WebPages
    from adapters.pages.papers import PaperFiles, PapersElsewhere
    from adapters.search.arxiv import ArxivSearch, ArxivSettings
    from adapters.search.settings import read_settings, user_agent
    from bots.wiring import utc_now

    pages, files = WebPages.from_env(env), PaperFiles()
    arxiv = ArxivSearch(base_url=read_settings(ArxivSettings, env).base_url, agent=user_agent(env))
    model, embedder = build_chat(env), build_embeddings(env)
    for part in (pages, files, arxiv, model, embedder):
        if part is not None:
            stack.push_async_callback(part.aclose)
    return LibraryDesk(
        Ingestion(library, files, utc_now, model, embedder),
        PapersElsewhere(pages, arxiv.look_up, arxiv.find_papers),
    )
