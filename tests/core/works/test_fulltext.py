"""Papers are read whole where that is free, and it is said which version was read (N-17)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from adapters.search.europepmc import EuropePmc
from adapters.search.service import Surroundings
from core.evidence.confidence import find_limitations
from core.model.answer import Claim, Evidence, Verdict
from core.model.errors import FetchError, PageStatus
from core.model.job import QuestionType
from core.model.source import Page, Source, SourceCollection, SourceKind
from core.model.works import OpenCopy, WorkIds, WorkRecord
from core.works.registry import Works
from core.works.standing import with_full_texts
from tests.core.works.test_registry import Catalogue, Clock, Shelf
from tests.fakes import NOW, make_source
from tests.loopback.registries import Paper
from tests.loopback.search_world import SearchWorld

ABSTRACT = "Mood rose in swimmers who bathed in the sea."
TITLE = "Sea bathing and the mood of swimmers"
BODY = f"{TITLE}\n\n{ABSTRACT}\n\n" + "Forty swimmers bathed daily, and their mood was asked for each evening. " * 9
OPEN = Paper(
    "https://journal.test/bathing",
    TITLE,
    ABSTRACT,
    datetime(2019, 3, 5, tzinfo=UTC),
    doi="10.1000/bathing",
    pmcid="PMC6500001",
    sections=(("Methods", "Forty swimmers bathed daily."), ("Results", "Mood rose by 12 points on the scale.")),
)


def abstract(**ids: str) -> Source:
    return make_source(
        1, ABSTRACT, title=TITLE, kind=SourceKind.PEER_REVIEWED, version="abstract", ids=WorkIds.of(**ids)
    )


class Web:
    """Pages by address; what is not here is a 404."""

    def __init__(self, pages: dict[str, str]) -> None:
        self.pages, self.asked = pages, list[str]()

    async def __call__(self, url: str) -> Page:
        self.asked.append(url)
        if url not in self.pages:
            raise PageStatus(url, 404)
        return Page(url, "", self.pages[url], NOW)


def works_with(*records: WorkRecord) -> Works:
    return Works([Catalogue("one", *records)], Shelf(), Clock())


async def test_an_open_article_is_read_with_its_sections() -> None:
    """From Europe PMC; a quote then stands in a section."""
    async with SearchWorld([OPEN]) as world:
        texts = EuropePmc(world.base_url("europepmc"), Surroundings())
        works = Works([Catalogue("one")], Shelf(), Clock(), texts=texts.full_text)

        (source,) = await with_full_texts([abstract(pmcid="PMC6500001")], works, Web({}), within_s=5.0)
        await texts.aclose()

    assert source.metadata.version == "full text, published version, Europe PMC (PMC6500001)"
    assert source.section_at(source.content.index("12 points")) == "Results"
    assert source.metadata.word_count == len(source.content.split())


@pytest.mark.parametrize(
    ("records", "pages", "version"),
    [
        (
            [],
            {"https://arxiv.org/pdf/2401.00001": BODY},
            "full text, preprint, arXiv (2401.00001)",
        ),
        (
            [
                WorkRecord(
                    WorkIds.of(doi="10.1000/b"),
                    TITLE,
                    copies=(
                        OpenCopy("https://late.test/p.pdf", "submitted", is_pdf=True),
                        OpenCopy("https://early.test/p.pdf", "accepted", is_pdf=True, host="A repository"),
                    ),
                )
            ],
            {"https://early.test/p.pdf": BODY, "https://late.test/p.pdf": BODY},
            "full text, accepted manuscript, A repository",
        ),
    ],
    ids=["arXiv's PDF where there is no HTML", "the best open copy"],
)
async def test_open_copies_are_read_by_the_guarded_reader(
    records: Sequence[WorkRecord], pages: dict[str, str], version: str
) -> None:
    """The version that lies there is told."""
    ids = {"doi": "10.1000/b"} if records else {"arxiv": "2401.00001"}

    (source,) = await with_full_texts([abstract(**ids)], works_with(*records), Web(pages), within_s=5.0)

    assert source.metadata.version == version
    assert source.content == BODY


@pytest.mark.parametrize(
    "text",
    ["Bread needs flour, water, salt and time. " * 40, ABSTRACT],
    ids=["another paper", "the abstract again"],
)
async def test_what_is_not_the_paper_is_not_taken_for_it(text: str) -> None:
    """A landing page, a login or another article."""
    before = abstract(arxiv="2401.00001")

    (source,) = await with_full_texts(
        [before], works_with(), Web({"https://arxiv.org/pdf/2401.00001": text}), within_s=5.0
    )

    assert source == before


async def test_a_paywalled_work_says_that_its_abstract_was_read() -> None:
    """Beside the source, and as a limitation of the answer."""
    closed = WorkRecord(WorkIds.of(doi="10.1000/b"), TITLE, is_open=False)

    (source,) = await with_full_texts([abstract(doi="10.1000/b")], works_with(closed), Web({}), within_s=5.0)

    claim = Claim("summary-0", ABSTRACT, Verdict.SUPPORTED, (Evidence("src_1", ABSTRACT, 0, len(ABSTRACT)),))
    told = find_limitations(QuestionType.FACTUAL, SourceCollection((source,)), [claim], conflicts=(), now=NOW)
    assert source.metadata.version == "abstract; its full text is behind a paywall"
    assert "Source 1 was read by abstract alone; the full text is behind a paywall." in told


async def test_a_slow_copy_costs_its_own_text_alone() -> None:
    """What has come by then is taken."""

    async def read(url: str) -> Page:
        if "slow" in url:
            await asyncio.Event().wait()
        return Page(url, "", BODY, NOW)

    record = WorkRecord(WorkIds.of(doi="10.1000/slow"), TITLE, copies=(OpenCopy("https://slow.test/p", is_pdf=True),))
    slow, quick = abstract(doi="10.1000/slow"), abstract(arxiv="2401.00001")

    first, second = await with_full_texts([slow, quick], works_with(record), read, within_s=1.5)

    assert first == slow
    assert second.metadata.version == "full text, preprint, arXiv (2401.00001)"


async def test_what_a_site_refuses_is_an_abstract_still() -> None:
    """No error reaches the answer."""

    async def refuse(url: str) -> Page:
        raise FetchError(url, "robots.txt does not allow it")

    before = abstract(arxiv="2401.00001")

    assert await with_full_texts([before], works_with(), refuse, within_s=5.0) == [before]
