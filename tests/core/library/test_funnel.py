"""The funnel: few papers by their summaries, then few chunks of just these papers, alike ones left out."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.records.library import SqlLibrary
from core.library.funnel import (
    Shelves,
    WatchedLibrary,
    papers_of,
    search_content_index_filtered,
    search_summary_index,
    select_diverse,
    select_papers,
)
from core.library.ingest import index_paper
from core.library.paper import STAGE_1, STAGE_2, Cosines, Index, PaperChunk, SearchResult, calibration_pairs, measure
from core.model.errors import ModelUnavailable
from core.model.job import LOCAL
from tests.core.library.samples import TEXTS, TIDES, YEAST, shelve
from tests.fakes import MemoryTraceLog, tracing
from tests.records import memory_library


@dataclass
class Embedder:
    """Vectors by hand: a text is the direction of the first of the words that it has."""

    words: tuple[str, ...] = ("tides", "yeast", "moon")
    name: str = "by hand"
    asked: list[str] = field(default_factory=list)
    error: Exception | None = None

    async def embed(self, texts):
        if self.error:
            raise self.error
        self.asked += texts
        return [self._vector(text.lower()) for text in texts]

    def _vector(self, text: str) -> np.ndarray:
        vector = np.array([float(word in text) for word in self.words] + [0.1], dtype=np.float32)
        return vector / np.linalg.norm(vector)


def result(score: float, *vector: float, number: int = 0) -> SearchResult:
    embedding = np.array(vector, dtype=np.float32) if vector else None
    return SearchResult(PaperChunk(TIDES, number, f"chunk {number}", 0, 7, embedding=embedding), score)


def never_alike(one: SearchResult, other: SearchResult) -> float:
    return 0.0


QUERY = "What causes the tides?"
SCORES = st.lists(st.floats(0, 1), max_size=30)


@given(SCORES, st.integers(1, 10))
def test_without_likeness_the_best_are_chosen_in_order(scores: list[float], k: int) -> None:
    """S000-05: what diversity cannot tell apart stays ranked by relevance."""
    found = [result(score, number=at) for at, score in enumerate(scores)]

    chosen = select_diverse(found, k, alpha=0.5, alike=never_alike)

    assert [entry.score for entry in chosen] == sorted(scores, reverse=True)[:k]


@given(SCORES, st.integers(1, 10), st.floats(0, 1))
def test_the_most_relevant_is_always_first_and_none_twice(scores: list[float], k: int, alpha: float) -> None:
    found = [result(score, number=at) for at, score in enumerate(scores)]

    chosen = select_diverse(found, k, alpha=alpha, alike=lambda one, other: 1.0)

    assert len({entry.chunk.chunk_id for entry in chosen}) == len(chosen) == min(k, len(scores))
    if scores and alpha > 0:
        assert chosen[0].score == max(scores)


def test_a_repetition_gives_way_to_something_new() -> None:
    """S000-05, S000-10: at alpha 0.5 the near copy of the best comes after a weaker chunk about something else."""
    best, copy, other = result(0.9, 1, 0, number=1), result(0.89, 1, 0, number=2), result(0.6, 0, 1, number=3)

    def cosine(one: SearchResult, two: SearchResult) -> float:
        return float(one.chunk.embedding @ two.chunk.embedding)

    assert select_diverse([copy, other, best], 2, alpha=0.5, alike=cosine) == [best, other]
    assert select_diverse([copy, other, best], 2, alpha=1.0, alike=cosine) == [best, copy]


@pytest.mark.parametrize("embedder", [None, Embedder()], ids=["by words", "by meaning"])
async def test_summaries_choose_the_papers_and_full_texts_the_evidence(embedder) -> None:
    """S000-03, S000-07, S000-08, S000-13: the second stage sees nothing but the first one's papers."""
    library = memory_library()
    await shelve(library, TIDES, YEAST, embedder=embedder)
    shelves = Shelves(library, (LOCAL,), embedder)

    selected = papers_of(await search_summary_index(shelves, "What causes the tides?"))
    evidence = await search_content_index_filtered(shelves, "What causes the tides?", selected)
    elsewhere = await search_content_index_filtered(shelves, "What causes the tides?", [YEAST.id])

    assert selected == [TIDES.id]
    assert {entry.chunk.paper for entry in evidence} == {TIDES}
    assert all(entry.chunk.page for entry in evidence)
    assert elsewhere == []


async def test_what_is_below_the_cutoff_is_not_found() -> None:
    """S000-06, S000-11: cosines of 0.5 and 0.6 are the least that counts."""
    embedder = Embedder()
    library = memory_library()
    await shelve(library, TIDES, YEAST, embedder=embedder)
    shelves = Shelves(library, (LOCAL,), embedder)

    assert papers_of(await search_summary_index(shelves, "yeast")) == [YEAST.id]
    assert papers_of(await search_summary_index(shelves, "yeast", similarity_cutoff=0.0)) == [YEAST.id, TIDES.id]
    assert await search_content_index_filtered(shelves, "yeast", [TIDES.id]) == []


@dataclass
class LowEmbedder(Embedder):
    """A model whose cosines are low, also for what belongs together."""

    def _vector(self, text: str) -> np.ndarray:
        vector = super()._vector(text) + np.array([0.0, 0.0, 0.0, 3.0 if "?" in text else -3.0], dtype=np.float32)
        return vector / np.linalg.norm(vector)


async def test_where_no_cosine_reaches_the_cutoff_words_decide() -> None:
    """S000-06, S000-11: models differ in what cosine is near; a library is not empty because its model's are low."""
    log = MemoryTraceLog()
    library = memory_library()
    embedder = LowEmbedder()
    await shelve(library, TIDES, YEAST, embedder=embedder)

    async with tracing(log) as tracer:
        shelves = Shelves(WatchedLibrary(library, tracer), (LOCAL,), embedder)
        selected = papers_of(await search_summary_index(shelves, QUERY))
        evidence = await search_content_index_filtered(shelves, QUERY, selected)
        elsewhere = await search_summary_index(shelves, "What do whales that swim in tides eat?")

    assert selected == [TIDES.id]
    assert {entry.chunk.paper for entry in evidence} == {TIDES}
    assert elsewhere == []  # one word of many makes no paper relevant
    assert [entry.detail for entry in log.kept["job_1"]][:2] == [
        "summary by similarity, at most 32",
        f"summary by words, the best 32, no similarity: {QUERY}",
    ]


async def test_the_question_is_searched_with_exactly_as_asked() -> None:
    """S000-12."""
    embedder = Embedder()
    shelves = Shelves(memory_library(), (LOCAL,), embedder)

    await search_content_index_filtered(shelves, "What, pray, causes tides?!", [TIDES.id])

    assert embedder.asked == ["What, pray, causes tides?!"]


async def test_an_embedder_that_fails_is_told() -> None:
    """Nothing is found by chance: the asker hears why there is no answer."""
    shelves = Shelves(memory_library(), (LOCAL,), Embedder(error=ModelUnavailable("away")))

    with pytest.raises(ModelUnavailable):
        await search_summary_index(shelves, "tides")


async def test_the_stages_keep_their_numbers() -> None:
    """S000-04, S000-09, S000-43, S000-44: eight summaries and fifteen chunks, of however many there are."""
    library = memory_library()
    papers = [replace(TIDES, id=f"2401.{number:05}v1") for number in range(12)]
    for paper in papers:
        chunks = [PaperChunk(paper, at, f"tides of {paper.id} number {at}", 0, 9) for at in range(4)]
        await library.put(LOCAL, paper, "", {Index.SUMMARY: chunks[:1], Index.CONTENT: chunks}, b"")
    shelves = Shelves(library, (LOCAL,))

    selected = papers_of(await search_summary_index(shelves, "tides"))
    evidence = await search_content_index_filtered(shelves, "tides", selected)

    assert (len(selected), len(evidence)) == (8, 15)
    assert _defaults(search_summary_index) == {"k": 8, "use_mmr": True, "similarity_cutoff": 0.5, "mmr_alpha": 0.5}
    assert _defaults(search_content_index_filtered) == {
        "k": 15,
        "use_mmr": True,
        "similarity_cutoff": 0.6,
        "mmr_alpha": 0.6,
    }


def _defaults(function) -> dict[str, object]:
    parameters = inspect.signature(function).parameters.values()
    return {entry.name: entry.default for entry in parameters if entry.default is not entry.empty}


@pytest.mark.parametrize("embedder", [None, Embedder()], ids=["by words", "by meaning"])
async def test_the_trace_says_how_a_search_ranked(embedder) -> None:
    """Without an embedder the cut-offs become limits on the rank, and whoever reads the trace sees it."""
    log = MemoryTraceLog()
    library = memory_library()
    await shelve(library, TIDES, YEAST, embedder=embedder)

    async with tracing(log) as tracer:
        watched = Shelves(WatchedLibrary(library, tracer), (LOCAL,), embedder)
        found = papers_of(await search_summary_index(watched, QUERY))
        await search_content_index_filtered(watched, QUERY, found)

    noted = [(entry.kind, entry.name, entry.detail) for entry in log.kept["job_1"]]
    summary = f"summary by words, the best 32, no similarity: {QUERY}"
    content = f"content by words, the best 60, no similarity: {QUERY}"
    expected = [summary, content]
    if embedder is not None:
        expected = ["summary by similarity, at most 32", summary, "content by similarity, at most 60", content]
    assert noted == [("search", "library", detail) for detail in expected]


@dataclass
class TopicEmbedder:
    """A model that puts texts of one topic `on` near each other, all others `off`; it knows `topics` by their words."""

    on: float
    off: float
    name: str = "topics"
    topics: tuple[str, ...] = ("tide", "yeast")
    asked: list[str] = field(default_factory=list)

    async def embed(self, texts):
        self.asked += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> np.ndarray:
        known = {part: str(number) for number, pair in enumerate(calibration_pairs()) for part in pair}
        topic = known.get(text) or next((word for word in self.topics if word in text.lower()), text)
        own = np.sqrt(self.on - self.off) * self._direction(f"topic {topic}")
        alone = np.sqrt(1 - self.on) * self._direction(f"text {text}")
        vector = np.concatenate([own, alone, [np.sqrt(self.off)]]).astype(np.float32)
        return vector / np.linalg.norm(vector)

    def _direction(self, text: str) -> np.ndarray:
        """One of many that are nearly at right angles."""
        vector = np.random.default_rng(int.from_bytes(text.encode(), "big") % 2**32).normal(size=512)
        return vector / np.linalg.norm(vector)


ON_TOPIC, OFF_TOPIC = "Why do tides follow the satellite?", "Who painted the ceiling of that chapel?"
MODELS = [
    pytest.param(TopicEmbedder(on=0.9, off=0.2), False, id="as S000 expects"),
    pytest.param(TopicEmbedder(on=0.45, off=0.05), True, id="all low"),
    pytest.param(TopicEmbedder(on=0.8, off=0.65), True, id="all high"),
]


async def add_all(library: SqlLibrary, embedder) -> Shelves:
    """Both papers as they are when they are added."""
    for paper in (TIDES, YEAST):
        whole, chunks, fault = await index_paper(paper, TEXTS[paper.id], embedder, await library.papers([LOCAL]))
        assert not fault
        await library.put(LOCAL, whole, TEXTS[paper.id], chunks, b"")
    return Shelves(library, (LOCAL,), embedder)


@pytest.mark.parametrize(("embedder", "is_mapped"), MODELS)
async def test_a_models_own_cosines_say_what_is_near(embedder, is_mapped) -> None:
    """D27: with a model whose cosines are all low, or all high, the right paper is found and nothing off the topic."""
    log = MemoryTraceLog()
    library = memory_library()
    await add_all(library, embedder)

    async with tracing(log) as tracer:
        shelves = Shelves(WatchedLibrary(library, tracer), (LOCAL,), embedder)
        found = await select_papers(shelves, ON_TOPIC)
        evidence = await search_content_index_filtered(shelves, ON_TOPIC, found)
        elsewhere = await select_papers(shelves, OFF_TOPIC)

    assert (found, elsewhere) == ([TIDES.id], [])
    assert {entry.chunk.paper.id for entry in evidence} == {TIDES.id}
    noted = [entry.detail for entry in log.kept["job_1"] if "stands for 0.5 with topics" in (entry.detail or "")]
    assert bool(noted) == is_mapped


async def test_a_cutoff_that_somebody_sets_is_literal() -> None:
    """D27: also one that no cosine of the model reaches, and one of the same number as the default's."""
    shelves = await add_all(memory_library(), TopicEmbedder(on=0.45, off=0.05))

    assert await search_summary_index(shelves, ON_TOPIC, similarity_cutoff=0.5) == []
    assert await search_content_index_filtered(shelves, ON_TOPIC, [TIDES.id], similarity_cutoff=0.6) == []
    assert papers_of(await search_summary_index(shelves, ON_TOPIC, similarity_cutoff=0.4)) == [TIDES.id]


async def test_what_cosines_mean_is_measured_once_and_kept_with_the_vectors() -> None:
    """D27: the next paper, and every question after a restart, use what was measured for the first."""
    library, later = memory_library(), TopicEmbedder(on=0.45, off=0.05)
    await add_all(library, TopicEmbedder(on=0.45, off=0.05))
    texts = {text for pair in calibration_pairs() for text in pair}

    await index_paper(replace(TIDES, id="2403.00003v1"), "More of the tides.", later, await library.papers([LOCAL]))
    await search_summary_index(Shelves(library, (LOCAL,), later), ON_TOPIC)

    assert later.asked
    assert texts.isdisjoint(later.asked)
    assert {paper.cosines for paper in await library.papers([LOCAL])} == {await measure(later)}


async def test_another_model_or_an_older_library_is_measured_anew() -> None:
    """D27: figures of one model say nothing of another's cosines."""
    library = memory_library()
    await add_all(library, TopicEmbedder(on=0.45, off=0.05))
    another = TopicEmbedder(on=0.45, off=0.05, name="another")

    await search_summary_index(Shelves(library, (LOCAL,), another), ON_TOPIC)

    assert another.asked.count(calibration_pairs()[0][0]) == 1


def test_a_model_that_tells_nothing_apart_keeps_the_given_numbers() -> None:
    """D27: nothing can be mapped to what does not differ."""
    assert Cosines("same for all", 0.98, 0.97, 0.99).least(STAGE_1) == 0.5


@given(st.floats(-0.2, 0.9), st.floats(0, 0.9), st.floats(0, 0.9))
def test_the_second_stage_is_never_less_strict_than_the_first(off: float, low: float, more: float) -> None:
    """S000-06, S000-11, D27: and nothing that is usual on one topic is out of reach."""
    cosines = Cosines("any", off, low, min(1.0, off + more))

    first, second = cosines.least(STAGE_1), cosines.least(STAGE_2)

    assert first <= second
    assert second <= max(cosines.usual, STAGE_2)


async def test_where_no_summary_is_about_it_full_texts_are_searched() -> None:
    """S000-31: "no papers found" only when nothing is found in them; one stray word of a text is no paper about it."""
    for embedder in (None, TopicEmbedder(on=0.9, off=0.2, topics=("fundy", "yeast"))):
        shelves = await add_all(memory_library(), embedder)

        assert await search_summary_index(shelves, "How high does the water get in the Bay of Fundy?") == []
        assert await select_papers(shelves, "How high does the water get in the Bay of Fundy?") == [TIDES.id]
        assert await select_papers(shelves, "Which bay has the best hotels with pools and saunas?") == []


async def test_one_near_chunk_does_not_switch_the_words_off() -> None:
    """S000-07: a paper that names what was asked for is found beside one that the model finds alike."""
    embedder = Embedder(words=("brewer",))
    library = memory_library()
    brewers = replace(TIDES, id="2405.00005v1", title="Brewers", summary="Brewers and their trade in the old towns.")
    for paper in (brewers, YEAST):
        whole, chunks, _ = await index_paper(paper, paper.summary, embedder)
        await library.put(LOCAL, whole, paper.summary, chunks, b"")

    found = papers_of(await search_summary_index(Shelves(library, (LOCAL,), embedder), "brewers, yeast, alcohol"))

    assert found == [brewers.id, YEAST.id]


@pytest.mark.parametrize(
    ("query", "papers"),
    [
        pytest.param("What causes the tides of the oceans?", ["2401.00001v1"], id="a summary is about it"),
        pytest.param("Where is the Bay of Fundy?", ["2401.00001v1"], id="a passage is about it"),
        pytest.param("Wie hoch steigt das Wasser in der Bay of Fundy?", ["2401.00001v1"], id="its names, from German"),
        pytest.param("Welche Hotels in der Hauptstadt haben ein Schwimmbad?", [], id="no name, from German"),
        pytest.param("sugar and alcohol", ["2402.00002v1"], id="few words"),
        pytest.param("fermentation", ["2402.00002v1"], id="one word, all of what is asked"),
        pytest.param("quantum computing applications in medieval literature", [], id="off the topic"),
        pytest.param("Which oxygen tanks do divers buy in winter?", [], id="one word of several"),
        pytest.param("How was it done?", [], id="no word that tells anything"),
    ],
)
async def test_without_an_embedder_words_tell_whether_anything_is_about_a_question(
    query: str, papers: list[str]
) -> None:
    """S000-06, S000-31: BM25 alone finds something for nearly every question."""
    library = memory_library()
    await shelve(library, TIDES, YEAST)

    assert await select_papers(Shelves(library, (LOCAL,)), query) == papers
