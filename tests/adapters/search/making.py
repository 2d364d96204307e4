"""Providers as the program builds them, over a loopback world."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from adapters.search import build_providers, close_providers
from core.model.config import SearchSettings
from core.model.job import LOCAL
from core.model.ports import SearchProvider
from core.model.source import SearchHit, SearchQuery
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

QUERY = SearchQuery("moon tides sea")
HASTY = SearchSettings(provider_timeout_s=0.4, connect_timeout_s=0.4)  # seconds
UNHURRIED = SearchSettings(connect_timeout_s=SearchSettings().provider_timeout_s)  # for a machine that is busy
PATIENT = SearchSettings(provider_timeout_s=60, connect_timeout_s=60)  # a provider's first call imports its SDK
NCBI_KEY = "ncbi-loopback"
ONLINE = ("tavily", "exa", "searxng", "wikipedia", "pubmed", "arxiv", "europepmc", "openalex")
LOCAL_FILES = "files"
WAYS = ("tavily", "exa", "wikipedia", "arxiv")  # of asking: two SDKs, and a client of ours that reads JSON, or XML
each_online = pytest.mark.parametrize("name", ONLINE)
each_way = pytest.mark.parametrize("name", WAYS)

TIDES = Document(
    "https://tides.test/moon",
    "Why tides rise",
    "The moon raises the tides of the sea twice a day.",
)
CORPUS = [
    TIDES,
    *(Document(f"https://site{n}.test/page", f"Tides in bay {n}", "Tides come and go.") for n in range(30)),
    Document("https://other.test/bread", "Bread", "Flour, water, salt and time."),
]


def spread(argument: str, first: object, *others: object) -> pytest.MarkDecorator:
    """The first case of every online provider, and the others of each way of asking."""
    cases = [*((name, first) for name in ONLINE), *((name, other) for other in others for name in WAYS)]
    return pytest.mark.parametrize(("name", argument), cases)


@asynccontextmanager
async def provider(
    name: str, env: Mapping[str, str], *, search: SearchSettings | None = None, files: Path | None = None
) -> AsyncIterator[SearchProvider]:
    """The provider `name` built from `env`; `files` is the folder that local search reads."""
    with tempfile.TemporaryDirectory() as data_dir:
        built = build_providers(
            {**env, "GORKD_PROVIDERS": name},
            data_dir=Path(data_dir),
            default_files=[files] if files else [],
            search=search or SearchSettings(),
        )
        try:
            yield built[name]
        finally:
            await close_providers(built)


def write_corpus(folder: Path) -> Path:
    """The corpus as Markdown files."""
    for place, document in enumerate(CORPUS):
        (folder / f"{place}.md").write_text(f"# {document.title}\n\n{document.text}\n", encoding="utf-8")
    return folder


@asynccontextmanager
async def provider_over_corpus(name: str, folder: Path) -> AsyncIterator[SearchProvider]:
    """Any provider, local files included, that finds the corpus."""
    if name == LOCAL_FILES:
        async with provider(name, {}, search=PATIENT, files=write_corpus(folder)) as files:
            yield files
        return
    async with SearchWorld(CORPUS) as world, provider(name, world.env(name), search=PATIENT) as online:
        yield online


async def ask_failing(name: str, fault: Fault, *, search: SearchSettings | None = None) -> list[SearchHit]:
    """What the provider finds, or raises, when its service fails so."""
    async with SearchWorld(CORPUS, faults={name: fault}) as world:
        return await ask_at(name, world.env(name), search=search)


async def ask_at(name: str, env: Mapping[str, str], *, search: SearchSettings | None = None) -> list[SearchHit]:
    async with provider(name, {"NCBI_API_KEY": NCBI_KEY, **env}, search=search or UNHURRIED) as searched:
        return list(await searched.search(QUERY, limit=3, scope=LOCAL))


@contextmanager
def world_in_a_thread(documents: Sequence[Document]) -> Iterator[SearchWorld]:
    """A world with a loop of its own, for tests that run several loops."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    world = SearchWorld(documents)
    try:
        asyncio.run_coroutine_threadsafe(world.__aenter__(), loop).result(timeout=10)
        yield world
        asyncio.run_coroutine_threadsafe(world.__aexit__(None, None, None), loop).result(timeout=10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
