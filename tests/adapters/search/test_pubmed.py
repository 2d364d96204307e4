"""PubMed: abstracts as PubMed gives them, and XML that means harm."""

from __future__ import annotations

import json
import time
import unicodedata
from datetime import UTC, datetime

import pytest

from adapters.search.pubmed import Pubmed
from adapters.search.service import Surroundings
from core.model.errors import ProviderGarbled, ProviderRejected
from core.model.job import LOCAL
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from core.model.works import WorkIds
from tests.loopback.pubmed import BAD_KEY, PRACTICE, RETRACTED, RETRACTED_IN
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import SearchWorld
from tests.shared_data import shared_data

NO_FILTERS = SearchFilters()
TRIAL = Document(
    "https://pubmed.ncbi.nlm.nih.gov/123/",
    "Sea bathing and mood: a trial.",
    "BACKGROUND: Bathing is popular.\n\nRESULTS: Mood rose in n < 30 bathers.\n\nNothing else changed.",
    published_at=datetime(2019, 3, 5, tzinfo=UTC),
    author="Bea Lund",
    id="123",
)


async def ask(
    world: SearchWorld, question: str, *, limit: int = 5, filters: SearchFilters = NO_FILTERS, key: str = ""
) -> list[SearchHit]:
    pubmed = Pubmed(world.base_url("pubmed"), Surroundings(), api_key=key)
    try:
        return list(await pubmed.search(SearchQuery(question, filters), limit=limit, scope=LOCAL))
    finally:
        await pubmed.aclose()


async def test_a_record_becomes_an_abstract_with_its_labels() -> None:
    """Nothing is left to fetch; author, journal and date come along (S003-10)."""
    async with SearchWorld([TRIAL]) as world:
        hits = await ask(world, "Does sea bathing raise mood?")

    assert hits == [
        SearchHit(
            provider="pubmed",
            url="https://pubmed.ncbi.nlm.nih.gov/123/",
            title="Sea bathing and mood: a trial",
            text="BACKGROUND: Bathing is popular.\n\nRESULTS: Mood rose in n < 30 bathers.\n\nNothing else changed.",
            is_complete=True,
            published_at=TRIAL.published_at,
            author="Lund B (The loopback journal)",
            kind=SourceKind.PEER_REVIEWED,
            ids=WorkIds(pmid="123"),
        )
    ]


@pytest.mark.parametrize("mark", [RETRACTED, RETRACTED_IN], ids=["by its type", "by its link to the notice"])
async def test_a_retracted_paper_says_so_in_title_and_text(mark: str) -> None:
    """S002-10: whoever reads either must not take it for sound."""
    document = Document("https://x.test/", mark + "Sea bathing cures", "It cures.", id="7")
    async with SearchWorld([document]) as world:
        hits = await ask(world, "sea bathing")

    assert hits[0].title == "[Retracted] Sea bathing cures"
    assert hits[0].text == "[Retracted] It cures."


@pytest.mark.parametrize(("mark", "is_guideline"), [(PRACTICE, True), ("", False)], ids=["guideline", "article"])
async def test_a_guideline_is_known_by_its_publication_type(mark: str, is_guideline: bool) -> None:
    """Its title need not say so."""
    document = Document("https://x.test/", mark + "Sea bathing in winter", "Bathe briefly.", id="7")
    async with SearchWorld([document]) as world:
        hits = await ask(world, "sea bathing")

    assert [hit.is_guideline for hit in hits] == [is_guideline]


async def test_the_search_ranking_is_kept_and_records_without_abstract_are_left_out() -> None:
    """efetch answers in its own order; a record without text could not support anything."""
    documents = [
        Document("https://x.test/1", "Sea bathing mood", "Sea bathing mood.", id="900"),
        Document("https://x.test/2", "Sea bathing mood sea", "", id="800"),
        Document("https://x.test/3", "Bathing mood sea", "Also sea.", id="100"),
    ]
    async with SearchWorld(documents) as world:
        hits = await ask(world, "sea bathing mood")

    assert [hit.url.rstrip("/").rsplit("/", 1)[1] for hit in hits] == ["900", "100"]


async def test_recency_and_tool_are_named_and_the_key_only_when_there_is_one() -> None:
    """As NCBI's usage guidelines ask."""
    async with SearchWorld([TRIAL]) as world:
        await ask(world, "sea bathing", filters=SearchFilters(recency="month"), key="k1")
        await ask(world, "sea bathing")

        first, last = world.asked[0].parameters, world.asked[-1].parameters
    assert (first["tool"], first["api_key"], first["reldate"], first["datetype"]) == ("gorkd", "k1", "31", "pdat")
    assert "api_key" not in last


async def test_a_refused_key_names_its_variable() -> None:
    """NCBI says 400, not 401."""
    async with SearchWorld([TRIAL]) as world:
        with pytest.raises(ProviderRejected) as caught:
            await ask(world, "sea bathing", key=BAD_KEY)

    assert "NCBI_API_KEY" in caught.value.operator_message
    assert BAD_KEY not in str(caught.value)


BOMBS = {
    "billion laughs": b"""<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]>
<PubmedArticleSet>&d;</PubmedArticleSet>""",
    "external entity": b"""<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>
<PubmedArticleSet>&x;</PubmedArticleSet>""",
    "parameter entity": b"""<?xml version="1.0"?><!DOCTYPE r [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x"> %x;]>
<PubmedArticleSet/>""",
    "hidden in UTF-16": """<?xml version="1.0" encoding="utf-16"?><!DOCTYPE r [<!ENTITY a "ha">]>
<PubmedArticleSet>&a;</PubmedArticleSet>""".encode("utf-16"),
    "hidden in UTF-7": b"""<?xml version="1.0" encoding="utf-7"?>+ADwAIQ-DOCTYPE r +AFs-]><PubmedArticleSet/>""",
    "another root": b"<feed/>",
}


@pytest.mark.parametrize("body", list(BOMBS.values()), ids=list(BOMBS))
async def test_xml_that_means_harm_is_garbled(body: bytes) -> None:
    """No entity is ever resolved, however it is declared."""
    async with SearchWorld([TRIAL]) as world:
        world.answers["/pubmed/entrez/eutils/efetch.fcgi"] = Fault(body=body)
        started = time.monotonic()

        with pytest.raises(ProviderGarbled):
            await ask(world, "sea bathing")

    assert time.monotonic() - started < 1.0


def words(text: str) -> list[str]:
    return unicodedata.normalize("NFC", text).split()


async def test_real_questions_find_their_own_abstracts() -> None:
    """300 real abstracts behind the loopback E-utilities: a question's own abstract is among the first five."""
    data = json.loads(shared_data("pubmedqa", "questions.json").read_text(encoding="utf-8"))
    documents = [
        Document(
            f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
            entry["QUESTION"],
            "\n\n".join(f"{label}: {text}" for label, text in zip(entry["LABELS"], entry["CONTEXTS"], strict=True)),
            id=pmid,
        )
        for pmid, entry in data.items()
    ]
    sample = documents[::5]
    found = 0

    async with SearchWorld({"pubmed": documents}) as world:
        for document in sample:
            hits = await ask(world, document.title)
            mine = [hit for hit in hits if hit.url == document.url]
            found += bool(mine)
            assert all(words(hit.text) == words(document.text) for hit in mine)

    assert found >= 0.95 * len(sample)
