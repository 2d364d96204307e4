"""Search results and pages that an earlier job has found: taken while they are fresh, from public places only."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.model.errors import ProviderUnavailable
from core.model.job import Scope
from core.model.source import Page, SearchQuery
from core.pipeline.deps import Deps
from core.stages.gathering import Gathering
from tests.fakes import NOW, Clock, FakePages, FakeSearch, hit, make_deps, make_job

URL = "https://site.example/page"
JOURNAL = "https://www.nature.com/articles/s41586-020-2649-2"
TEXT = "Cats purr because the muscles of the larynx twitch."
QUERY = SearchQuery("cat purring")


class Versioned(FakePages):
    """Pages with a validator; whoever shows it hears that the page is the same."""

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        page = await super().fetch(url, known=known)
        return replace(known, read_at=page.read_at) if known else replace(page, etag='"v1"')


def house(*, clock: Clock | None = None, **search: Any) -> Deps:
    provider = FakeSearch("web", [hit(URL, "extract")], **search)
    deps = make_deps(search=[provider], clock=clock or Clock())
    return replace(deps, pages=Versioned({URL: TEXT, JOURNAL: TEXT}))


async def gather(deps: Deps, query: str = "Why do cats purr?", *, url: str = URL, **request: Any) -> tuple[int, Page]:
    """One more job searches and reads: how many hits it got, and the page."""
    gathering = Gathering(make_job(query, id=deps.new_id(), **request), deps)
    hits = await gathering.search("web", QUERY)
    return len(hits), await gathering.page(url)


def paid(deps: Deps) -> tuple[int, int]:
    """Searches and page reads so far."""
    search, pages = deps.providers["web"], deps.pages
    assert isinstance(search, FakeSearch)
    assert isinstance(pages, FakePages)
    return len(search.asked), len(pages.fetched)


async def test_what_one_job_found_another_need_not_look_for() -> None:
    """S001-35, S002-23: public results and pages are shared, also across workspaces; times of reading stay true."""
    clock = Clock()
    deps = house(clock=clock)
    await gather(deps)
    clock.now += timedelta(minutes=30)

    _, page = await gather(deps, scope=Scope("slack:T1", "channel:C1"))

    assert paid(deps) == (1, 1)
    assert (page.text, page.read_at) == (TEXT, NOW)


async def test_who_wants_it_anew_gets_it_anew() -> None:
    """Refresh takes nothing from before, and leaves what it found for others."""
    deps = house()
    await gather(deps)

    await gather(deps, is_fresh=True)
    after = paid(deps)
    await gather(deps)

    assert after == (2, 2)
    assert paid(deps) == (2, 2)


@pytest.mark.parametrize(
    ("url", "query", "age", "is_read_again"),
    [
        pytest.param(URL, "Why do cats purr?", timedelta(minutes=59), False, id="unknown site, fresh"),
        pytest.param(URL, "Why do cats purr?", timedelta(minutes=61), True, id="unknown site, stale"),
        pytest.param(JOURNAL, "Why do cats purr?", timedelta(days=20), False, id="journal, fresh"),
        pytest.param(JOURNAL, "What is the latest on cats?", timedelta(minutes=11), True, id="asked of the day"),
    ],
)
async def test_how_old_a_page_may_be_depends_on_who_wrote_it_and_what_is_asked(
    url: str, query: str, age: timedelta, is_read_again: bool
) -> None:
    """Press and forums an hour, journals a month, whatever is asked of today ten minutes."""
    clock = Clock()
    deps = house(clock=clock)
    await gather(deps, query, url=url)
    clock.now += age

    await gather(deps, query, url=url)

    assert (paid(deps)[1] == 2) is is_read_again


async def test_a_stale_page_is_asked_about_with_what_is_known_of_it() -> None:
    """Its server may say that it is the same; then it is fresh again."""
    clock = Clock()
    deps = house(clock=clock)
    await gather(deps)
    clock.now += timedelta(hours=2)

    _, page = await gather(deps)
    await gather(deps)

    pages = deps.pages
    assert isinstance(pages, FakePages)
    assert [known.etag if known else None for known in pages.known] == [None, '"v1"']
    assert page.text == TEXT


async def test_local_files_and_failures_are_never_shared() -> None:
    """What lies on this machine is nobody else's; an outage is not an answer."""
    files, failing = house(strength="files"), house(error=ProviderUnavailable("web", "down"))
    for _ in range(2):
        await gather(files)
        with pytest.raises(ProviderUnavailable):
            await gather(failing)

    assert paid(files)[0] == 2
    assert paid(failing)[0] == 2


@pytest.mark.parametrize(
    "other",
    ["https://m.site.example/page", "http://site.example/page", f"{URL}?ref=x", f"{URL}?source=x", f"{URL}/"],
    ids=["host", "scheme", "ref", "source", "path"],
)
async def test_a_page_speaks_for_no_other_address(other: str) -> None:
    """Who owns m.site.example need not own site.example; the same address is reused whatever its fragment."""
    deps = house()
    deps = replace(deps, pages=Versioned({URL: TEXT, other: "Cats purr for money.", f"{URL}#why": TEXT}))
    await gather(deps, url=other)

    read = [(await gather(deps, url=url))[1].text for url in (URL, f"{URL}#why")]

    assert read == [TEXT, TEXT]
    assert paid(deps)[1] == 2


async def test_an_unreadable_entry_is_read_anew() -> None:
    """What another version has kept, or what was damaged, is a miss."""
    deps = house()
    await deps.reuse.put(f"page:{URL}", '{"v":1,"type":"KeptPage","value":{}}', ttl=timedelta(hours=1))

    _, page = await gather(deps)

    assert page.text == TEXT
