"""`search_evidence`: candidates by cosine over every chunk, judged in batches at a time, the best of them kept."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from core.library.funnel import Shelves
from core.library.paper import Index, PaperChunk, StoredChunk
from core.model.config import SectionSettings
from core.model.errors import ModelUnavailable
from core.model.job import LOCAL, Scope
from core.section.evidence import NEUTRAL_SCORE, KeptEvidence, Searched, search_evidence, select_final
from core.text.chunking import SectionType
from tests.core.section.samples import PAPERS, Hashing, items, model, shelve, summaries
from tests.fakes import FakeModel, make_deps, make_job

QUERY = "How strong wind raises the tide in a harbour"


def shelves_of(deps, *, is_embedded: bool = True) -> Shelves:
    return Shelves(deps.library, (LOCAL,), Hashing() if is_embedded else None)


async def found(chat: FakeModel, *, chunks_each: int = 1, is_embedded: bool = True, known=()) -> Searched:
    deps = make_deps(model=chat)
    await shelve(deps.library, chunks_each=chunks_each)
    return await search_evidence(
        make_job(QUERY), QUERY, shelves_of(deps, is_embedded=is_embedded), deps, chat, known=known
    )


async def test_evidence_has_summary_scores_and_the_query_that_found_it() -> None:
    """S001-16, S001-18, S001-19, S001-20: 0.4 times the cosine and 0.6 times the model's score, best first."""
    searched = await found(model(""))

    best = searched.found[0]
    assert best.chunk.chunk_text == "Strong wind raised the tide in the harbour of Brest by 40 centimetres."
    assert best.summary.startswith("It says: Strong wind")
    assert best.llm_score == 0.8
    assert best.combined_score == pytest.approx(0.4 * best.vector_score + 0.6 * 0.8)
    assert best.source_query == QUERY
    combined = [entry.combined_score for entry in searched.found]
    assert combined == sorted(combined, reverse=True)


async def test_the_score_is_asked_for_by_query_summary_title_and_authors() -> None:
    """S001-17, S001-18: a summary of two or three sentences first, the score by it and not by the passage."""
    chat = model("")

    await found(chat)

    asked = chat.calls("scores")[0].user
    assert QUERY in asked
    assert "Title: Study" in asked
    assert "Authors: Author" in asked
    assert "Summary: It says:" in asked
    assert "two or three sentences" in chat.calls("summaries")[0].system


async def test_twenty_candidates_are_judged_in_batches_at_a_time() -> None:
    """S001-16: of 30 chunks 20 are looked at, in seven calls of three, at most eight of which run at once."""
    chat = model("")

    searched = await found(chat, chunks_each=5)

    assert searched.candidates == 20
    assert len(chat.calls("summaries")) == 7
    assert sum(len(items(call)) for call in chat.calls("summaries")) == 20
    assert 5 <= len(searched.found) <= 8


async def test_calls_run_at_once_below_their_limit() -> None:
    """All seven wait for the model together; with a limit of two, no third begins."""
    running, most = 0, 0

    class Slow(FakeModel):
        async def stream(self, request):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            async for delta in super().stream(request):
                yield delta
            running -= 1

    await found(Slow(model("").answers), chunks_each=5)

    assert 7 <= most <= SectionSettings().concurrent_calls


async def test_no_chunk_is_summarised_twice_for_one_query_in_a_place() -> None:
    """S001-35: another search of the job, one spaced differently and another job of the place ask the model nothing."""
    chat = model("")
    deps = make_deps(model=chat)
    job = await deps.jobs.save(make_job(QUERY))
    await shelve(deps.library)
    shelves = Shelves(deps.library, (LOCAL,), Hashing())

    first = await search_evidence(job, QUERY, shelves, deps, chat)
    asked = len(chat.asked)
    again = await search_evidence(job, f"  {QUERY.upper()} ", shelves, deps, chat)
    other = await search_evidence(replace(job, id="job_other"), QUERY, shelves, deps, chat)

    assert len(chat.asked) == asked
    assert {entry.chunk_id for entry in again.found} == {entry.chunk_id for entry in first.found}
    assert other.found == first.found
    assert again.usage == other.usage == ()


CHANNEL = Scope(LOCAL.tenant, "channel:C1")


@pytest.mark.parametrize(
    ("scope", "is_private", "other"),
    [
        pytest.param(LOCAL, True, LOCAL, id="asked in private"),
        pytest.param(CHANNEL, False, LOCAL, id="asked in a channel, then by the workspace"),
        pytest.param(LOCAL, False, CHANNEL, id="asked by the workspace, then in a channel"),
    ],
)
async def test_what_one_place_has_read_off_its_papers_stays_there(scope: Scope, is_private: bool, other: Scope) -> None:
    """S001-35: a summary in the light of a query tells what was asked."""
    chat = model("")
    deps = make_deps(model=chat)
    job = await deps.jobs.save(make_job(QUERY, scope=scope, is_private=is_private))
    await shelve(deps.library)
    shelves = Shelves(deps.library, (LOCAL,), Hashing())

    await search_evidence(job, QUERY, shelves, deps, chat)
    asked = len(chat.asked)
    await search_evidence(make_job(QUERY, scope=other), QUERY, shelves, deps, chat)

    assert len(chat.asked) == 2 * asked


async def test_what_was_read_off_a_paper_goes_with_the_job_and_with_the_paper() -> None:
    """Nothing is kept of what was forgotten or removed."""
    chat = model("")
    deps = make_deps(model=chat)
    job = await deps.jobs.save(make_job(QUERY))
    await deps.library.keep_reading(job.id, "paper-a", "key-a", "what it says")
    await deps.library.keep_reading(job.id, "paper-b", "key-b", "what it says")

    await deps.library.remove(LOCAL, "paper-a")
    left = [await deps.library.reading(LOCAL, key) for key in ("key-a", "key-b")]
    await deps.library.keep_reading("job_forgotten", "paper-b", "key-c", "too late")

    assert left == [None, "what it says"]
    assert await deps.library.reading(LOCAL, "key-c") is None


async def test_what_is_known_is_not_found_again() -> None:
    """S001-15: chunks that earlier searches brought give way to others."""
    first = await found(model(""))

    second = await found(model(""), known=[entry.chunk_id for entry in first.found])

    assert not {entry.chunk_id for entry in first.found} & {entry.chunk_id for entry in second.found}


async def test_without_an_embedder_the_rank_stands_for_the_cosine() -> None:
    """BM25's best is 1."""
    searched = await found(model(""), is_embedded=False)

    assert max(entry.vector_score for entry in searched.found) == 1.0


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        pytest.param([("1", 7)], 2, id="a number as text, a score above 1"),
        pytest.param([(1, "high"), (2, 0.5)], 2, id="a score that is no number"),
        pytest.param([(1, -3), (99, 1)], 2, id="a number that nobody has"),
    ],
)
async def test_what_the_model_does_not_judge_is_left_out(answer: list[tuple[object, object]], judged: int) -> None:
    """Two batches of three: one judged candidate of each, its score between 0 and 1."""
    rows = [{"number": number, "score": score} for number, score in answer]

    searched = await found(model("", scores=json.dumps({"items": rows})))

    assert len(searched.found) == judged
    assert searched.unjudged == 6 - judged
    assert all(0.0 <= entry.llm_score <= 1.0 for entry in searched.found)


async def test_a_batch_that_fails_costs_its_own_candidates() -> None:
    """Half of the passages can still be used."""

    def failing(call):
        if "moon" in call.user:
            raise ModelUnavailable("down", user_message="down")
        return summaries(call)

    searched = await found(model("", summaries=failing))

    assert 0 < len(searched.found) < 6
    assert searched.unjudged == 3


async def test_a_model_that_fails_for_all_fails_the_search() -> None:
    """Nothing is passed off as evidence."""
    with pytest.raises(ModelUnavailable):
        await found(model("", summaries=ModelUnavailable("down", user_message="down")))


async def test_any_section_of_a_paper_may_be_found() -> None:
    """S001-09: methods, results and references alike."""
    settings = SectionSettings()
    chunks = [
        StoredChunk.of(PaperChunk(PAPERS[0], at, "words", 0, 5, section_type=kind))
        for at, kind in enumerate((SectionType.METHODS, SectionType.REFERENCES, SectionType.OTHER))
    ]

    best = select_final([KeptEvidence("1706.03762", chunk, "", 0.5, 0.9, 0.74, "q") for chunk in chunks], settings)

    assert [entry.chunk.section_type for entry in best] == [chunk.section_type for chunk in chunks]


@pytest.mark.parametrize(
    ("combined", "kept"),
    [
        pytest.param([0.9] * 12, 8, id="never more than eight"),
        pytest.param([0.9, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1], 5, id="five, however weak"),
        pytest.param([0.9, 0.8, 0.7, 0.6, 0.6, 0.55, 0.2, 0.1], 6, id="the sixth is good"),
        pytest.param([0.9], 1, id="all there is"),
    ],
)
def test_five_to_eight_are_kept(combined: list[float], kept: int) -> None:
    """S001-19."""
    chunk = StoredChunk.of(PaperChunk(PAPERS[0], 0, "words", 0, 5))
    entries = [KeptEvidence("1706.03762", chunk, "", 0.0, score, score, "q") for score in combined]

    assert len(select_final(entries, SectionSettings())) == kept


async def test_papers_whose_vectors_are_not_made_yet_are_found_by_their_words() -> None:
    """S001-16: a paper that was added while the embedding model was away is not left out."""
    deps = make_deps(model=model(""))
    await shelve(deps.library, chunks_each=1)
    kept = await deps.library.matching((LOCAL,), Index.CONTENT, QUERY, limit=100)
    bare = kept[0].chunk
    chunks = {Index.CONTENT: [replace(bare, embedding=None)]}
    await deps.library.put(LOCAL, replace(bare.paper, lacks_vectors=True), bare.chunk_text, chunks, b"")

    searched = await search_evidence(make_job(QUERY), QUERY, shelves_of(deps), deps, deps.model)

    assert f"{bare.paper.id}#{bare.chunk_index}" in {entry.chunk_id for entry in searched.found}


@pytest.mark.parametrize("broken", ["summaries", "scores"])
async def test_what_cannot_be_read_is_replaced_by_what_is_known(broken: str) -> None:
    """N-05: the beginning of a passage stands for its summary, and nearness alone for a score."""
    searched = await found(model("", **{broken: "I cannot say."}))

    assert (searched.candidates, searched.unjudged) == (6, 0)
    assert all(entry.summary for entry in searched.found)
    assert broken == "summaries" or {entry.llm_score for entry in searched.found} == {NEUTRAL_SCORE}
