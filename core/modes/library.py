"""A question to a team's own papers: the funnel from summaries to pages to a cited answer (S000)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from core.library import wording
from core.library.funnel import (
    Shelves,
    answer_text,
    papers_of,
    search_content_index_filtered,
    select_papers,
    synthesize_research_answer,
    to_source,
)
from core.library.ingest import mend
from core.library.paper import Paper, PaperChunk, SearchResult, format_research_result, names_no_page, shelves_of
from core.model.answer import Confidence, JobResult, ResearchAnswer, Verdict
from core.model.errors import GorkdError, ModelError
from core.model.job import JobStatus, Json
from core.model.source import Source
from core.modes.mode import Mode
from core.pipeline.work import Work
from core.text.language import detect_language
from core.text.saying import later, say

T = TypeVar("T")

MENDING_S = 5.0  # a shelf; of making vectors that are missing, while somebody waits for an answer


@dataclass(frozen=True)
class Selected:
    """Stage 1: ids of papers, best first; found `by_words` where the embedding model did not answer."""

    paper_ids: tuple[str, ...]
    by_words: bool = False


@dataclass(frozen=True)
class Gathered:
    """Stage 2: the spans of chunks by source id, the best first; the texts are in the source store."""

    spans: dict[str, tuple[tuple[int, int], ...]]
    paper_ids: tuple[str, ...]
    by_words: bool = False


class NothingIndexed(GorkdError):
    """The papers were found and nothing of their text (S000-32): a failure of the index, not an answer."""

    code = "SEARCH_FAILED"


async def run(work: Work) -> JobResult:
    """Raises `NothingIndexed`, `ModelError` in the words of S000-33."""
    shelves = Shelves(work.deps.library, shelves_of(work.job.scope), work.deps.embedder)
    selected = await work.steps.run("select", partial(_select, work, shelves), Selected)
    if not selected.paper_ids:
        return _nothing(work, await work.deps.library.papers(shelves.scopes))
    gathered = await work.steps.run("gather", partial(_gather, work, shelves, selected), Gathered)
    if not gathered.paper_ids:
        raise NothingIndexed(
            "no chunk in the selected papers", user_message=f"{say(wording.NO_CONTENT)} {say(wording.SUGGEST_REBUILD)}"
        )
    papers = {paper.id: paper for paper in await work.deps.library.papers(shelves.scopes)}
    kept = zip(await work.deps.sources.sources(work.job.id), gathered.paper_ids, strict=True)
    sources, cited = [], dict[str, Paper]()
    for source, paper_id in kept:
        if paper_id in papers:  # else it has been removed since it was found
            sources.append(source)
            cited[source.id] = papers[paper_id]
    answer = await work.steps.run("synthesize", partial(_synthesize, work, sources, gathered, cited), ResearchAnswer)
    if gathered.by_words:
        answer = replace(answer, limitations=(say(wording.BY_WORDS), *answer.limitations))
    return _result(work, answer, sources, cited)


async def _select(work: Work, shelves: Shelves) -> Selected:
    await work.progress.status(JobStatus.SEARCHING, message=say(wording.STAGE_1), data={"queries": [work.job.query]})
    with work.deps.stage("search"):
        for shelf in shelves.scopes:
            await mend(work.deps.library, shelves.embedder, shelf, within_s=MENDING_S)
        found, by_words = await _found(work, shelves, lambda shelves: select_papers(shelves, work.job.query))
    if found:
        message = say(wording.FOUND_PAPERS, papers=len(found))
        await work.progress.status(JobStatus.SEARCHING, message=message, data={"papers": [*found]})
    return Selected(tuple(found), by_words)


async def _gather(work: Work, shelves: Shelves, selected: Selected) -> Gathered:
    ids = selected.paper_ids
    await work.progress.status(JobStatus.FETCHING, message=say(wording.STAGE_2, papers=len(ids)))
    with work.deps.stage("search"):
        shelves = replace(shelves, embedder=None) if selected.by_words else shelves
        results, by_words = await _found(
            work, shelves, lambda shelves: search_content_index_filtered(shelves, work.job.query, ids)
        )
        sources = await _sources(shelves, results)
        await work.deps.sources.put(work.job, sources)
    message = say(wording.FOUND_CHUNKS, chunks=len(results))
    await work.progress.status(JobStatus.FETCHING, message=message, data={"results": len(results)})
    for source in sources:
        await work.progress.source(source)
    found = papers_of(results)
    spans = {
        f"src_{number}": tuple((entry.chunk.start, entry.chunk.end) for entry in results if entry.chunk.paper.id == id)
        for number, id in enumerate(found, start=1)
    }
    return Gathered(spans, tuple(found), by_words or selected.by_words)


async def _found(work: Work, shelves: Shelves, search: Callable[[Shelves], Awaitable[list[T]]]) -> tuple[list[T], bool]:
    """What the search finds, by words alone where the embedding model does not answer, and whether that was so.

    Raises `ModelError` where words find nothing: nobody can tell then whether there is anything.
    """
    try:
        return await search(shelves), False
    except ModelError as exc:
        work.deps.count_error("search", exc)
        if not (found := await search(replace(shelves, embedder=None))):
            raise
        return found, True


async def _sources(shelves: Shelves, results: Sequence[SearchResult]) -> list[Source]:
    """The papers found, best first, as sources."""
    best = {entry.chunk.paper.id: entry for entry in reversed(results)}
    return [
        to_source(
            number,
            best[paper_id].chunk.paper,
            await shelves.library.text(shelves.scopes, paper_id),
            best[paper_id].score,
        )
        for number, paper_id in enumerate(papers_of(results), start=1)
    ]


async def _synthesize(
    work: Work, sources: Sequence[Source], gathered: Gathered, papers: Mapping[str, Paper]
) -> ResearchAnswer:
    await work.progress.status(JobStatus.SYNTHESIZING, message=say(wording.STAGE_3), data={"sources": len(sources)})
    chunks = [
        PaperChunk(papers[source.id], at, source.content[start:end], start, end)
        for source in sources
        for at, (start, end) in enumerate(gathered.spans[source.id])
    ]
    within_s = work.deadline.remaining(reserve_s=2.0)
    with work.deps.stage("synthesize"):
        try:
            return await synthesize_research_answer(
                work.job, chunks, sources, papers, deps=work.deps, progress=work.progress, within_s=within_s
            )
        except ModelError as exc:
            told, cause = (
                say(wording.SYNTHESIS_FAILED, reason=one) for one in (exc.user_message, exc.operator_message)
            )
            failed = ModelError(str(exc), user_message=told, operator_message=cause)
            failed.retryable = exc.retryable
            raise failed from exc


def _nothing(work: Work, papers: Sequence[Paper]) -> JobResult:
    """S000-31: a completed answer that says so."""
    written_in = {detect_language(f"{paper.title}. {paper.summary}") for paper in papers}
    is_foreign = work.deps.embedder is None and work.job.intent.language not in written_in
    answer = ResearchAnswer(
        summary=say(wording.NO_PAPERS, query=work.job.query),
        detail=""
        if papers and not is_foreign
        else (say(wording.OTHER_LANGUAGE) if papers else wording.empty_library(work.job.scope)),
        confidence=Confidence.INSUFFICIENT,
        confidence_reasons=(say("no paper of the library is about this") if papers else say("there is no paper yet"),),
    )
    return JobResult(answer=answer, queries=(work.job.query,), providers=("library",))


def _result(work: Work, answer: ResearchAnswer, sources: Sequence[Source], papers: Mapping[str, Paper]) -> JobResult:
    text = answer_text(answer, papers, sources)
    content, cited = format_research_result(text, list(papers.values()))
    is_answered = answer.confidence is not Confidence.INSUFFICIENT
    is_mended = any(citation.verdict is Verdict.MOVED for citation in answer.citations)  # told as moved, and here
    is_odd = not cited or is_mended or any(paper.pages and names_no_page(text, paper) for paper in papers.values())
    view: dict[str, Json] = {
        "success": is_answered,
        "papers": [papers_view(paper) for paper in papers.values() if paper.id in cited],
        "paper_ids": [*cited],
        "content": content if is_answered else "",
        "message": say(wording.CITATIONS_ODD) if is_answered and is_odd else "",
    }
    return JobResult(
        answer=answer,
        source_ids=tuple(source.id for source in sources),
        sources_considered=len(sources),
        queries=(work.job.query,),
        providers=("library",),
        details={"query_result": view},
    )


def papers_view(paper: Paper) -> dict[str, Json]:
    """What lists and results tell of a paper."""
    return {"id": paper.id, "title": paper.title, "authors": [*paper.authors], "published": paper.published}


MODE = Mode(
    name="library",
    title=later("Paper library"),
    description=later("Answers from your own papers, with page numbers"),
    deadline_s=60.0,
    run=run,
)
