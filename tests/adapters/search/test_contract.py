"""What every search provider keeps, whatever it searches (S003-08)."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from adapters.search import build_providers, close_providers
from core.model.config import SearchSettings
from core.model.job import LOCAL
from core.model.source import SearchQuery
from tests.adapters.search.making import (
    CORPUS,
    LOCAL_FILES,
    ONLINE,
    provider_over_corpus,
    world_in_a_thread,
    write_corpus,
)
from tests.shared_data import shared_data

ALL = (*ONLINE, LOCAL_FILES)
each_provider = pytest.mark.parametrize("name", ALL)


@each_provider
async def test_the_best_document_comes_first_with_clean_hits(name: str, tmp_path: Path) -> None:
    """Hits carry their provider's name, ranks from 0 and addresses that can be opened."""
    async with provider_over_corpus(name, tmp_path) as searched:
        hits = await searched.search(SearchQuery("How does the moon raise tides in the sea?"), limit=5, scope=LOCAL)

    assert searched.name == name
    assert hits[0].title == "Why tides rise"
    assert [hit.rank for hit in hits] == list(range(len(hits)))
    assert {hit.provider for hit in hits} == {name}
    assert {urlsplit(hit.url).scheme for hit in hits} == {"file" if name == LOCAL_FILES else "https"}
    assert len({hit.url for hit in hits}) == len(hits)


@each_provider
async def test_never_more_hits_than_asked_for(name: str, tmp_path: Path) -> None:
    """The limit is the caller's; a service that gives more is cut."""
    async with provider_over_corpus(name, tmp_path) as searched:
        for limit in (-1, 0, 1, 4, 1000):
            hits = await searched.search(SearchQuery("tides"), limit=limit, scope=LOCAL)

            assert len(hits) <= max(limit, 0)
            assert hits or limit < 1


@each_provider
async def test_nothing_found_is_an_answer(name: str, tmp_path: Path) -> None:
    """An empty list, not an error."""
    async with provider_over_corpus(name, tmp_path) as searched:
        hits = await searched.search(SearchQuery("xylophone quasar"), limit=5, scope=LOCAL)

    assert list(hits) == []


@each_provider
@pytest.mark.parametrize("share", [pytest.param(3, id="a third"), pytest.param(1, id="all", marks=pytest.mark.slow)])
async def test_nasty_strings_are_searched_for_like_any_other(name: str, share: int, tmp_path: Path) -> None:
    """No question breaks a query's syntax, an address or a header: hits come back, or nothing."""
    known = json.loads(shared_data("strings", "naughty.json").read_text(encoding="utf-8"))
    strings = known[ALL.index(name) % share :: share]  # each third goes to three providers
    async with provider_over_corpus(name, tmp_path) as searched:
        slots = asyncio.Semaphore(8)

        async def ask(text: str) -> int:
            async with slots:
                return len(await searched.search(SearchQuery(text), limit=3, scope=LOCAL))

        counts = await asyncio.gather(*(ask(text) for text in strings))

    assert len(known) >= 500
    assert len(counts) == len(strings) >= len(known) // share
    assert max(counts) <= 3


@each_provider
async def test_many_questions_at_once_each_get_their_own_answer(name: str, tmp_path: Path) -> None:
    """One provider serves all jobs of a process, first use included."""
    async with provider_over_corpus(name, tmp_path) as searched:
        questions = ["moon tides", "bread flour", "xylophone"] * 5

        found = await asyncio.gather(
            *(searched.search(SearchQuery(question), limit=1, scope=LOCAL) for question in questions)
        )

    titles = [hits[0].title if hits else None for hits in found]
    assert titles == ["Why tides rise", "Bread", None] * 5


@each_provider
async def test_cancelling_passes_through(name: str, tmp_path: Path) -> None:
    """A cancelled job must end, not turn into a failed provider."""
    async with provider_over_corpus(name, tmp_path) as searched:
        search = asyncio.ensure_future(searched.search(SearchQuery("tides"), limit=3, scope=LOCAL))
        asyncio.get_running_loop().call_soon(search.cancel)

        with pytest.raises(asyncio.CancelledError):
            await search


@each_provider
def test_a_provider_outlives_its_event_loop(name: str, tmp_path: Path) -> None:
    """A command that asks twice may run two loops, one after the other."""
    with world_in_a_thread(CORPUS) as world, tempfile.TemporaryDirectory() as data_dir:
        built = build_providers(
            world.env(name) | {"GORKD_PROVIDERS": name},
            data_dir=Path(data_dir),
            default_files=[write_corpus(tmp_path)],
            search=SearchSettings(),
        )

        async def ask() -> int:
            try:
                return len(await built[name].search(SearchQuery("tides"), limit=2, scope=LOCAL))
            finally:
                await close_providers(built)

        counts = [asyncio.run(ask()), asyncio.run(ask())]

    assert counts == [2, 2]


@each_provider
async def test_a_closed_provider_can_be_asked_again(name: str, tmp_path: Path) -> None:
    """Closing gives up connections, not the provider."""
    async with provider_over_corpus(name, tmp_path) as searched:
        await searched.search(SearchQuery("tides"), limit=2, scope=LOCAL)
        await searched.aclose()  # type: ignore[attr-defined]  # every provider here has it

        hits = await searched.search(SearchQuery("tides"), limit=2, scope=LOCAL)

    assert len(hits) == 2
