"""Registries of published works: what each knows by an id and by a title, and what it makes of faults (D18)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from adapters.records.cache import MemoryLimits
from adapters.search import surroundings
from adapters.search.arxiv import build as build_arxiv
from adapters.search.europepmc import EuropePmc
from adapters.search.registries import REGISTRIES, PaperCatalogues, build_registries
from core.model.config import SearchSettings
from core.model.errors import ProviderError, ProviderGarbled, ProviderUnavailable, SetupError
from core.model.source import section_at
from core.model.works import Notice, OpenCopy, WorkIds, WorkRecord
from core.pipeline.limits import SharedTurns
from core.works.registry import Registry
from tests.fakes import Ledger
from tests.loopback.registries import Paper, Update
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld

BATHING = Paper(
    "https://journal.test/bathing",
    "Sea bathing and the mood of swimmers",
    "Mood rose in swimmers who bathed in the sea.",
    datetime(2019, 3, 5, tzinfo=UTC),
    doi="10.1000/bathing",
    pmid="31000001",
    pmcid="PMC6500001",
    authors=("Bea Lund", "Carl Ek"),
    venue="Journal of Bathing",
    cited_by=42,
    sections=(("Methods", "Forty swimmers bathed daily."), ("Results", "Mood rose by 12 points.")),
    open_pdf="https://repository.test/bathing.pdf",
)
WITHDRAWN = Paper(
    "https://journal.test/cold",
    "Cold water cures everything at once",
    "Everything was cured.",
    datetime(2020, 6, 1, tzinfo=UTC),
    doi="10.1000/cold",
    pmid="31000002",
    updates=(
        Update("retraction", "10.1000/cold.notice", "31999999", "2021-03-04", "retraction-watch"),
        Update("correction", "10.1000/cold.erratum", "31999998", "2020-09-01"),
    ),
)
DOUBTED = Paper(
    "https://journal.test/doubt",
    "Doubtful numbers of bathers in winter",
    "Numbers are given.",
    doi="10.1000/doubt",
    pmid="31000003",
    updates=(Update("expression_of_concern", "10.1000/doubt.eoc", "31999997", "2022-01-01"),),
)
PREPRINT = Paper(
    "https://arxiv.org/abs/2401.00001",
    "Attention of swimmers is all they need",
    "An early text.",
    doi="10.48550/arxiv.2401.00001",
    arxiv="2401.00001",
    is_preprint=True,
    journal_doi="10.1000/attention",
)
BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
PAPERS = [BATHING, WITHDRAWN, DOUBTED, PREPRINT]
each_registry = pytest.mark.parametrize("name", sorted(REGISTRIES))
BY_TITLE = ["crossref", "europepmc", "openalex"]


@asynccontextmanager
async def registry(
    name: str, *, papers: Sequence[Paper] = PAPERS, fault: Fault | None = None
) -> AsyncIterator[Registry]:
    async with SearchWorld(papers, faults={name: fault} if fault else {}) as world:
        env = {**world.env(), "GORKD_REGISTRIES": name}
        silence_s = 1.0 if fault and fault.kind == "hang" else 10.0
        (built,) = build_registries(env, surroundings(env, SearchSettings(provider_timeout_s=silence_s)))
        try:
            yield built
        finally:
            await built.aclose()


@each_registry
async def test_a_work_is_found_by_its_doi_and_one_that_nobody_registered_is_no_error(name: str) -> None:
    """Title and year are those that were registered, whoever is asked, and who said so is named.

    Nothing is an empty answer, which is kept like any other.
    """
    async with registry(name) as asked:
        (record,) = await asked.by_ids(WorkIds.of(doi="10.1000/BATHING")) or []
        none = await asked.by_ids(WorkIds.of(doi="10.1000/invented"))

    assert record.title == BATHING.title
    assert record.year == "2019"
    assert record.ids.doi == "10.1000/bathing"
    assert record.said_by == (name,) == (asked.name,)
    assert not record.is_retracted
    assert none is not None
    assert list(none) == []


@pytest.mark.parametrize("name", BY_TITLE)
async def test_a_work_is_found_by_its_title_and_has_what_a_reference_is_compared_with(name: str) -> None:
    """The best match first; characters that mean something to a search do not break it."""
    async with registry(name) as asked:
        (record,) = await asked.by_ids(WorkIds.of(doi=BATHING.doi)) or []
        found = await asked.by_title(f'{BATHING.title}: (AND) "OR"', author="Lund", year="1999")

    assert record.authors == BATHING.authors
    assert record.venue == BATHING.venue
    assert record.cited_by == 42
    assert BATHING.text in record.abstract
    assert found
    assert found[0].ids.doi == BATHING.doi


async def test_what_cannot_be_searched_is_not_said_to_have_found_nothing() -> None:
    """Unpaywall knows DOIs alone; OpenAlex is searched with a key only."""
    async with SearchWorld(PAPERS) as world:
        env = world.env("openalex", "unpaywall") | {"GORKD_REGISTRIES": "openalex,unpaywall", "OPENALEX_API_KEY": ""}
        built = build_registries(env, surroundings(env, SearchSettings()))

        found = [await asked.by_title(BATHING.title) for asked in built]

        for asked in built:
            await asked.aclose()
    assert found == [None, None]
    assert world.asked == []


@pytest.mark.parametrize(
    ("name", "notice"),
    [
        (
            "crossref",
            Notice("retraction", "https://doi.org/10.1000/cold.notice", "2021-03-04", said_by="Retraction Watch"),
        ),
        (
            "europepmc",
            Notice("retraction", "https://pubmed.ncbi.nlm.nih.gov/31999999/", "2021", said_by="Europe PMC"),
        ),
        (
            "pubmed",
            Notice("retraction", "https://pubmed.ncbi.nlm.nih.gov/31999999/", "2021", said_by="PubMed"),
        ),
        ("openalex", Notice("retraction", said_by="OpenAlex")),
    ],
    ids=["crossref", "europepmc", "pubmed", "openalex"],
)
async def test_a_retraction_is_told_with_its_notice(name: str, notice: Notice) -> None:
    """As far as the registry knows it (D18)."""
    async with registry(name) as asked:
        (record,) = await asked.by_ids(WorkIds.of(doi=WITHDRAWN.doi)) or []

    assert record.retraction == notice


@pytest.mark.parametrize("name", ["crossref", "europepmc", "pubmed"])
async def test_concerns_and_corrections_are_no_retraction(name: str) -> None:
    """They stand beside it."""
    async with registry(name) as asked:
        (doubted,) = await asked.by_ids(WorkIds.of(doi=DOUBTED.doi)) or []
        (cold,) = await asked.by_ids(WorkIds.of(doi=WITHDRAWN.doi)) or []

    assert not doubted.is_retracted
    assert [notice.date[:4] for notice in doubted.concerns] == ["2022"]
    assert [notice.date[:4] for notice in cold.corrections] == ["2020"]


async def test_a_preprint_names_its_journal_version() -> None:
    """So that both are one voice (S003-19)."""
    async with registry("crossref") as asked:
        (record,) = await asked.by_ids(WorkIds.of(doi=PREPRINT.doi)) or []

    assert record.ids.arxiv == "2401.00001"
    assert record.versions == (WorkIds.of(doi="10.1000/attention"),)


@pytest.mark.parametrize("name", ["openalex", "unpaywall"])
async def test_open_copies_say_which_version_lies_there(name: str) -> None:
    """Where a work is free to read."""
    async with registry(name) as asked:
        (record,) = await asked.by_ids(WorkIds.of(doi=BATHING.doi)) or []

    assert record.is_open
    assert any(
        copy == OpenCopy("https://repository.test/bathing.pdf", "published", is_pdf=True, host="An open repository")
        for copy in record.copies
    )


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("europepmc", WorkIds.of(pmid="31000001")),
        ("europepmc", WorkIds.of(pmcid="6500001")),
        ("openalex", WorkIds.of(pmid="31000001")),
        ("openalex", WorkIds.of(pmcid="6500001")),
        ("pubmed", WorkIds.of(pmid="31000001")),
    ],
)
async def test_pubmeds_ids_lead_to_the_same_work(name: str, ids: WorkIds) -> None:
    """And bring its DOI."""
    async with registry(name) as asked:
        (record,) = await asked.by_ids(ids) or []

    assert record.ids.doi == BATHING.doi


async def test_works_that_pubmed_is_asked_about_together_cost_one_call_of_each_kind() -> None:
    """Without a key it answers three calls a second, and an answer has eight sources; nobody gets another's work."""
    async with SearchWorld(PAPERS) as world:
        env = world.env("pubmed") | {"GORKD_REGISTRIES": "pubmed"}
        (built,) = build_registries(env, surroundings(env, SearchSettings()))
        wanted = [WorkIds.of(doi=one.doi) for one in (WITHDRAWN, BATHING, DOUBTED)] + [WorkIds.of(doi="10.1000/none")]

        found = await asyncio.gather(*map(built.by_ids, wanted))

        await built.aclose()
    assert [[record.ids.doi for record in records or ()] for records in found] == [
        [WITHDRAWN.doi], [BATHING.doi], [DOUBTED.doi], [],
    ]  # fmt: skip
    assert [asked.path.rpartition("/")[2] for asked in world.asked] == ["esearch.fcgi", "efetch.fcgi"]


async def test_all_processes_share_a_registrys_rate() -> None:
    """Searches have one of their own; who is over it waits for the turn (S003-23)."""
    now = [BEGAN]
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        now[0] += timedelta(seconds=seconds)

    turns = partial(SharedTurns, limits=MemoryLimits(clock=lambda: now[0]), record=Ledger(), sleep=sleep)
    async with SearchWorld(PAPERS) as world, AsyncExitStack() as stack:
        env = world.env("crossref") | {"GORKD_REGISTRIES": "crossref", "GORKD_SEARCH_RATES": "crossref=1/60"}
        around = replace(surroundings(env, SearchSettings()), turns=turns)
        processes = [one for _ in range(2) for one in build_registries(env, around)]
        for process in processes:
            stack.push_async_callback(process.aclose)

        await processes[0].by_ids(WorkIds.of(doi=BATHING.doi))
        await processes[1].by_title(BATHING.title)
        waited_before = len(waited)
        await processes[1].by_ids(WorkIds.of(doi=BATHING.doi))

    assert waited_before == 0
    assert [round(seconds) for seconds in waited] == [60]
    assert len(world.asked) == 3


@asynccontextmanager
async def catalogues(faults: Mapping[str, Fault] | None = None) -> AsyncIterator[PaperCatalogues]:
    at_arxiv = [replace(PREPRINT, id=PREPRINT.arxiv)]
    served = {"arxiv": at_arxiv, "europepmc": PAPERS, "openalex": PAPERS}
    async with SearchWorld(served, faults=faults) as world, AsyncExitStack() as stack:
        env = world.env("arxiv", "europepmc", "openalex") | {"GORKD_REGISTRIES": "europepmc,openalex"}
        around = surroundings(env, SearchSettings())
        arxiv, registries = build_arxiv(env, around), build_registries(env, around)
        for part in (arxiv, *registries):
            stack.push_async_callback(part.aclose)
        yield PaperCatalogues(arxiv, registries)


async def test_papers_are_looked_for_in_all_catalogues_and_each_is_listed_once() -> None:
    """By arXiv's id where it has one, else by its DOI; one that was retracted says so (S000-50)."""
    async with catalogues() as asked:
        swimmers = await asked.search("swimmers", 10)
        cold = await asked.search("cold water cures", 10)

    assert swimmers.asked == ("arxiv", "europepmc", "openalex")
    assert sorted(record.id for record in swimmers.records) == ["10.1000/bathing", "2401.00001v2"]
    assert [record.is_retracted for record in cold.records if record.id == WITHDRAWN.doi] == [True]


async def test_a_catalogue_that_is_away_costs_its_own_papers_alone_and_none_at_all_is_an_error() -> None:
    down = Fault(status=503)
    async with catalogues({"europepmc": down}) as asked:
        found = await asked.search("swimmers", 10)
    async with catalogues({"arxiv": down, "europepmc": down, "openalex": down}) as asked:
        with pytest.raises(ProviderUnavailable):
            await asked.search("swimmers", 10)

    assert found.asked == ("arxiv", "openalex")
    assert found.away == ("europepmc",)
    assert BATHING.doi in [record.id for record in found.records]


async def test_a_full_text_comes_with_its_sections_and_tables() -> None:
    """Each passage stands under the heading of its section."""
    async with registry("europepmc") as asked:
        assert isinstance(asked, EuropePmc)
        text = await asked.full_text("PMC6500001")
        none = await asked.full_text("PMC1")

    assert section_at(text, text.index("Mood rose by 12 points")) == "Results"
    assert section_at(text, text.index(BATHING.text)) == "Abstract"
    assert "A | 4.2" in text
    assert "Somebody" not in text
    assert none == ""


@each_registry
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(status=503), ProviderUnavailable),
        (Fault(body=b"<html>busy</html>"), ProviderGarbled),
        (Fault(body=b'{"message": []}'), ProviderGarbled),
        (Fault(kind="reset"), ProviderUnavailable),
        (Fault(kind="hang"), ProviderError),
    ],
    ids=["503", "HTML", "another shape", "reset", "silence"],
)
async def test_faults_are_errors_of_ours(name: str, fault: Fault, error: type[ProviderError]) -> None:
    """Whoever asks hears which registry it was (S003-08)."""
    async with registry(name, fault=fault) as asked:
        with pytest.raises(error) as caught:
            await asked.by_ids(WorkIds.of(doi=BATHING.doi))

    assert caught.value.provider == name


def test_the_environment_decides_which_registries_there_are() -> None:
    """All by default; Unpaywall wants a mail address."""
    around = surroundings({}, SearchSettings())

    def names(env: dict[str, str]) -> list[str]:
        return [one.name for one in build_registries(env, around)]

    assert names({}) == ["crossref", "europepmc", "pubmed", "openalex"]
    assert names({"GORKD_CONTACT_EMAIL": "a@b.test"}) == list(REGISTRIES)
    assert names({"GORKD_REGISTRIES": "none"}) == []
    with pytest.raises(SetupError, match="needs GORKD_CONTACT_EMAIL"):
        names({"GORKD_REGISTRIES": "unpaywall"})
    with pytest.raises(SetupError, match="known are"):
        names({"GORKD_REGISTRIES": "scopus"})


def test_a_records_standing_is_its_fullest_notice() -> None:
    """An address says more than a date, and a date more than nothing."""
    bare = Notice("retraction", said_by="OpenAlex")
    full = Notice("retraction", "https://doi.org/10.1000/n", "2021-03-04", said_by="Crossref")

    record = WorkRecord(WorkIds.of(doi="10.1000/x"), "A title", notices=(bare, full))

    assert record.retraction == full
