"""The two searches of the funnel: which papers matter, then what in them matters (S000-03 … S000-13).

With an embedder the cosine decides, and beside it the words: a chunk that has most of what is asked is found too, also
where it has no vector yet. Without one BM25 ranks, and the cut-offs, which mean cosines, become limits on the rank.
Each search is noted in the trace of the running job. The third step is here too: an answer from what was found, with
its citations put right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from core.evidence.authority import kind_of
from core.library.paper import (
    PAPER_SCHEME,
    STAGE_1,
    STAGE_2,
    Cosines,
    DefaultCutoff,
    Index,
    LibraryStore,
    PageGrounder,
    Paper,
    PaperChunk,
    SearchResult,
    answering,
    measure,
    page_markers,
)
from core.llm.prices import estimate_tokens
from core.model.answer import ResearchAnswer
from core.model.errors import ModelError
from core.model.job import ResearchJob, Scope
from core.model.ports import ChatRequest, EmbeddingModel, Vector
from core.model.source import SearchMetadata, Source, SourceCollection, SourceKind, SourceMetadata, SourceScores
from core.model.works import ARXIV_ID
from core.pipeline.deps import Deps
from core.pipeline.tool_traces import TraceEntry
from core.pipeline.tracing import Tracer
from core.pipeline.work import Progress
from core.prompts import load_prompt
from core.stages.prompting import ANSWER_SCHEMA, WRITING_TEMPERATURE, Script, fenced, language_name
from core.stages.synthesize import answer_question
from core.text.chunking import Passage
from core.text.injection import instructions_in
from core.text.language import detect_language, rarity
from core.text.terms import terms

_WORD = re.compile(r"\w{3,}")
POOL = 4  # candidates for each result: what diversity may choose from
MIN_SHARE = 0.5  # of what a query's words tell, where they decide; what has no more is a coincidence; by judgement
# Without an embedder: from 300 abstracts with their questions and 30 questions about 15 papers, of which .3 % are lost,
# and 30 about none of them, of which nothing is found (docs/evaluation.md).
MIN_SHARE_OF_SUMMARY, MIN_SHARE_OF_ONE = 1 / 3, 0.85
TELLING = 0.4  # rarity (core/text/language.py) of a word that tells something
LEAST_SHARE = 0.1  # of a paper beside one that has more: some word that tells; by judgement


@dataclass(frozen=True)
class Shelves:
    """Where to look: a library, the scopes one may look into, and what turns a query into a vector, if anything."""

    library: LibraryStore
    scopes: tuple[Scope, ...]
    embedder: EmbeddingModel | None = None


async def search_summary_index(
    shelves: Shelves, query: str, k: int = 8, *, use_mmr: bool = True, similarity_cutoff: float = STAGE_1,
    mmr_alpha: float = 0.5,
) -> list[SearchResult]:  # fmt: skip
    """Stage 1: summaries and notes alone; the defaults are S000-04 … S000-06. Raises `ModelError`, `StoreError`."""
    alpha = mmr_alpha if use_mmr else 1.0
    return await _search(shelves, Index.SUMMARY, query, k, alpha=alpha, cutoff=similarity_cutoff)


async def search_content_index_filtered(
    shelves: Shelves, query: str, paper_ids: Sequence[str], k: int = 15, *, use_mmr: bool = True,
    similarity_cutoff: float = STAGE_2, mmr_alpha: float = 0.6,
) -> list[SearchResult]:  # fmt: skip
    """Stage 2: the full texts of those papers alone; the defaults are S000-09 … S000-11.

    Raises `ModelError`, `StoreError`.
    """
    alpha = mmr_alpha if use_mmr else 1.0
    return await _search(shelves, Index.CONTENT, query, k, alpha=alpha, cutoff=similarity_cutoff, papers=paper_ids)


async def search_content_index(shelves: Shelves, query: str, k: int = 15) -> list[SearchResult]:
    """Every full text: what `sem-search` shows, with the numbers of stage 2; of a work the version that answers."""
    return await of_answering(
        shelves, query, await _search(shelves, Index.CONTENT, query, k, alpha=0.6, cutoff=STAGE_2)
    )


async def of_answering(shelves: Shelves, query: str, found: Sequence[SearchResult]) -> list[SearchResult]:
    """Without the chunks of versions that others stand for. Raises `StoreError`."""
    chosen = answering(await shelves.library.versions(shelves.scopes, papers_of(found)), query)
    return [entry for entry in found if chosen.get(entry.chunk.paper.id) == entry.chunk.paper.id]


async def select_papers(shelves: Shelves, query: str) -> list[str]:
    """Ids, best first: what stage 1 finds, else those whose full text is about it. Raises `ModelError`, `StoreError`.

    What is found in any version of a work selects the version that answers. Full texts are searched since a summary
    leaves most of a paper out.
    """
    found = await search_summary_index(shelves, query)
    if shelves.embedder is None:
        found = await _about_by_words(shelves, query, found)
    elif not found:
        found = await search_content_index(shelves, query)
    chosen = answering(await shelves.library.versions(shelves.scopes, papers_of(found)), query)
    return list(dict.fromkeys(chosen.get(paper_id, paper_id) for paper_id in papers_of(found)))


async def _about_by_words(shelves: Shelves, query: str, found: Sequence[SearchResult]) -> list[SearchResult]:
    """What BM25 found among summaries, where something of the library is about the query; else nothing.

    BM25 finds something for nearly every query. The library is about one where a summary or a passage has enough of
    what its words tell; then one telling word is enough for the papers beside it.
    """
    of_summaries = _words_in(query, found)
    about: list[SearchResult] = []
    if not any(words.are_about(MIN_SHARE_OF_SUMMARY) for words in of_summaries):
        texts = await shelves.library.matching(shelves.scopes, Index.CONTENT, query, limit=POOL * 8)
        about = [
            entry for entry, words in zip(texts, _words_in(query, texts), strict=True) if words.are_about(MIN_SHARE)
        ]
        if not about:
            return []
    return [entry for entry, words in zip(found, of_summaries, strict=True) if words.share > LEAST_SHARE] + about


async def _search(
    shelves: Shelves,
    index: Index,
    query: str,
    k: int,
    *,
    alpha: float,
    cutoff: float,
    papers: Sequence[str] | None = None,
) -> list[SearchResult]:
    library, scopes = shelves.library, shelves.scopes
    if shelves.embedder is None:
        found = await library.matching(scopes, index, query, limit=POOL * k, papers=papers)
        return select_diverse(found, k, alpha=alpha, alike=_share_of_words(found))
    (vector,) = await shelves.embedder.embed([query])
    near = await library.nearest(scopes, index, vector, limit=POOL * k, papers=papers)
    least, floor = await _least(shelves, index, near, cutoff)
    found = [entry for entry in near if entry.score >= least]
    known = {entry.chunk.chunk_id for entry in found}
    by_words = await library.matching(scopes, index, query, limit=POOL * k, papers=papers)
    for entry, words in zip(by_words, _words_in(query, by_words), strict=True):
        cosine, is_about = _cosine(entry, vector), words.share > MIN_SHARE
        if is_about and entry.chunk.chunk_id not in known and (cosine is None or cosine >= floor):
            found.append(replace(entry, score=max(cosine or -1.0, words.share * least)))
    return select_diverse(found, k, alpha=alpha, alike=_likeness(found))


async def _least(shelves: Shelves, index: Index, near: Sequence[SearchResult], cutoff: float) -> tuple[float, float]:
    """The least cosine that counts with this model (D27), and the least of what is found by its words.

    The trace says what a cut-off was mapped to. What somebody has set is literal for both.
    """
    if not isinstance(cutoff, DefaultCutoff):
        return cutoff, cutoff
    cosines = await _cosines(shelves, near)
    if cosines is None or not cosines.tells_apart:
        return cutoff, -1.0
    least = cosines.least(cutoff)
    if least != cutoff:
        said = (
            f"{index} from {least:.2f} on, which stands for {cutoff:g} with {cosines.model}: of its own texts half are "
            f"above {cosines.usual:.2f} on one topic, and 99 of 100 below {cosines.off:.2f} off it"
        )
        if isinstance(shelves.library, WatchedLibrary):
            shelves.library.note(said, sum(entry.score >= least for entry in near))
    return least, cosines.off


async def _cosines(shelves: Shelves, near: Sequence[SearchResult]) -> Cosines | None:
    """As kept with the vectors; measured now for those of a gorkd that did not. None where that fails."""
    if not near or shelves.embedder is None:
        return None
    kept = near[0].chunk.paper.cosines
    if kept is not None and kept.model == shelves.embedder.name:
        return kept
    try:
        return await measure(shelves.embedder)
    except ModelError:
        return None


@dataclass(frozen=True)
class _SharedWords:
    """Of a query's words those in a text: their `share` of what all tell, 0…1, and how many of them are telling."""

    share: float
    telling: int

    def are_about(self, least: float) -> bool:
        """One word alone must be nearly all that is asked: of "what causes inflation" it may be that of a variance."""
        return self.share > (least if self.telling > 1 else MIN_SHARE_OF_ONE)


def _words_in(query: str, found: Sequence[SearchResult]) -> list[_SharedWords]:
    """Of a query in another language than all texts those words count that are in any: names, and what is alike."""
    language = detect_language(query)
    weights = {term: rarity(term, language) for term in terms(ARXIV_ID.sub(" ", query))}
    chunks = [entry.chunk for entry in found]
    texts = [f"{chunk.paper.title}\n{chunk.heading}\n{chunk.chunk_text}" for chunk in chunks]
    held = [weights.keys() & terms(text) for text in texts]
    if language not in map(detect_language, texts):
        shared = frozenset().union(*held)
        weights = {term: weight if term in shared and weight >= TELLING else 0.0 for term, weight in weights.items()}
    total = sum(weights.values()) or 1.0
    return [
        _SharedWords(sum(map(weights.__getitem__, have)) / total, sum(weights[word] >= TELLING for word in have))
        for have in held
    ]


def papers_of(results: Sequence[SearchResult]) -> list[str]:
    """The ids of the papers, best first, each once (S000-07)."""
    return list(dict.fromkeys(result.chunk.paper.id for result in results))


def select_diverse(
    found: Sequence[SearchResult], k: int, *, alpha: float, alike: Callable[[SearchResult, SearchResult], float]
) -> list[SearchResult]:
    """At most `k` by maximal marginal relevance: `alpha` times the score less (1 − `alpha`) times the likeness to what
    is chosen already (Carbonell and Goldstein 1998). In the order of choice; `alpha` 1 is the order of the scores.
    """
    left = sorted(found, key=lambda entry: -entry.score)
    chosen: list[SearchResult] = []
    likeness: NDArray[np.float64] = np.zeros(len(left))
    while left and len(chosen) < k:
        gains = [alpha * entry.score - (1 - alpha) * likeness[at] for at, entry in enumerate(left)]
        best = int(np.argmax(gains))
        chosen.append(left.pop(best))
        likeness = np.delete(likeness, best)
        likeness = np.maximum(likeness, [alike(entry, chosen[-1]) for entry in left]) if left else likeness
    return chosen


def _cosine(entry: SearchResult, vector: Vector | None) -> float | None:
    """None where there are no two vectors of one model."""
    own = entry.chunk.embedding
    return float(own @ vector) if own is not None and vector is not None and own.size == vector.size else None


def _likeness(found: Sequence[SearchResult]) -> Callable[[SearchResult, SearchResult], float]:
    """The cosine of two chunks; the share of their words where one of them has no vector."""
    by_words = _share_of_words(found)

    def alike(one: SearchResult, other: SearchResult) -> float:
        cosine = _cosine(one, other.chunk.embedding)
        return by_words(one, other) if cosine is None else cosine

    return alike


def _share_of_words(found: Sequence[SearchResult]) -> Callable[[SearchResult, SearchResult], float]:
    """Jaccard's index of two chunks' words; each chunk is read once, since all are compared with all."""
    bags = {entry.chunk.chunk_id: frozenset(_WORD.findall(entry.chunk.chunk_text.casefold())) for entry in found}

    def share(one: SearchResult, other: SearchResult) -> float:
        a, b = bags[one.chunk.chunk_id], bags[other.chunk.chunk_id]
        return len(a & b) / len(a | b) if a | b else 0.0

    return share


class WatchedLibrary:
    """A `Library`."""

    def __init__(self, library: LibraryStore, tracer: Tracer) -> None:
        self._library = library
        self._tracer = tracer
        self.put = library.put
        self.remove = library.remove
        self.papers = library.papers
        self.versions = library.versions
        self.text = library.text
        self.file = library.file
        self.reading = library.reading
        self.keep_reading = library.keep_reading

    async def nearest(
        self, shelves: Sequence[Scope], index: Index, vector: Vector, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        with self._tracer.noted("search", "library", f"{index} by similarity, at most {limit}") as results:
            found = await self._library.nearest(shelves, index, vector, limit=limit, papers=papers)
            results(len(found))
        return found

    async def matching(
        self, shelves: Sequence[Scope], index: Index, query: str, *, limit: int, papers: Sequence[str] | None = None
    ) -> list[SearchResult]:
        how = f"{index} by words, the best {limit}, no similarity: {query}"
        with self._tracer.noted("search", "library", how) as results:
            found = await self._library.matching(shelves, index, query, limit=limit, papers=papers)
            results(len(found))
        return found

    def note(self, how: str, found: int) -> None:
        """What was decided about a search."""
        self._tracer.note(TraceEntry("search", "library", self._tracer.now(), 0.0, "done", how, found))


# Stage 3: an answer written from chunks of papers, every sentence with its paper and page (S000-14 … S000-19)


CITATION_FORMAT = "[PAPER_ID, page PAGE_NO]"
_FRAME_TOKENS = 600  # the prompt without its evidence, and the question


def to_source(number: int, paper: Paper, text: str, score: float) -> Source:
    """A paper as a source of a job; `score` is that of its best chunk.

    Where it is published says what it is, never its name: anybody may call a file like a preprint.
    """
    kind = kind_of(paper.url, hint=None if paper.url else SourceKind.LOCAL)
    kind = SourceKind.LOCAL if kind is SourceKind.UNKNOWN else kind  # chosen by whoever keeps the library
    share = min(max(score, 0.0), 1.0)
    return Source(
        id=f"src_{number}",
        url=paper.url or f"{PAPER_SCHEME}{paper.id}",
        title=paper.title,
        content=text,
        content_hash=paper.content_hash,
        read_at=paper.added_at,
        metadata=SourceMetadata(
            "", len(text.split()), "library", kind, author=", ".join(paper.authors) or None, work=paper.work_key
        ),
        scores=SourceScores(relevance=share, total=share),
        instructs=tuple(instructions_in(text)),
    )


async def synthesize_research_answer(
    job: ResearchJob,
    evidence_chunks: Sequence[PaperChunk],
    sources: Sequence[Source],
    papers: Mapping[str, Paper],
    *,
    deps: Deps,
    progress: Progress,
    within_s: float,
) -> ResearchAnswer:
    """The job's question answered from these chunks alone, every sentence checked against its page (S000-45).

    `sources` are the papers that the chunks are of, as `to_source` makes them, and `papers` are these by source id;
    `answer_text` gives the text with its pages. Without a model the chunks are quoted. Raises `ModelError` when the
    model fails twice.
    """
    evidence = {
        source.id: [chunk for chunk in evidence_chunks if chunk.paper.id == papers[source.id].id] for source in sources
    }
    metadata = SearchMetadata((job.query,), ("library",), len(evidence_chunks))
    found = SourceCollection(tuple(sources), metadata, len(sources))
    script = partial(synthesis_script, job, sources, evidence, papers, deps)
    return await answer_question(job, found, deps, progress, usage=(), within_s=within_s, script=script)


def answer_text(answer: ResearchAnswer, papers: Mapping[str, Paper], sources: Sequence[Source] = ()) -> str:
    """The answer as Markdown with `[PAPER_ID, page PAGE_NO]` behind its sentences; `papers` by source id.

    From a paper without pages, whose text is among `sources`, `[PAPER_ID, SECTION]`.
    """
    text = "\n\n".join(part for part in (answer.summary, answer.detail) if part)
    return page_markers(text, answer.claims, papers, {source.id: source.content for source in sources})


def synthesis_script(
    job: ResearchJob,
    sources: Sequence[Source],
    evidence: Mapping[str, Sequence[PaperChunk]],
    papers: Mapping[str, Paper],
    deps: Deps,
) -> Script:
    """What the writer reads: the chunks of each source (by id, the best first) that fit into the prompt."""
    by_id = {source.id: source for source in sources}
    settings = deps.settings.synthesis
    blocks: list[str] = []
    spans: dict[str, list[tuple[int, int]]] = {}
    budget = settings.max_prompt_tokens - _FRAME_TOKENS
    for source_id, chunk in _in_turn(evidence):
        block = _block(by_id[source_id], chunk)
        budget -= estimate_tokens(block)
        if budget < 0 and blocks:
            break
        blocks.append(block)
        spans.setdefault(source_id, []).append((chunk.start, chunk.end))
    passages = {source_id: passages_of(by_id[source_id], parts) for source_id, parts in spans.items()}
    return Script(passages, partial(_request, job, blocks, deps), partial(PageGrounder, papers=papers))


def _in_turn(evidence: Mapping[str, Sequence[PaperChunk]]) -> Iterator[tuple[str, PaperChunk]]:
    """The best chunk of every paper, then the second of each, so that no paper is left out for another's tenth."""
    columns = ([(source_id, chunk) for chunk in chunks] for source_id, chunks in evidence.items())
    for turn in zip_longest(*columns):
        yield from filter(None, turn)


def _request(job: ResearchJob, blocks: Sequence[str], deps: Deps, timeout_s: float) -> ChatRequest:
    settings = deps.settings.synthesis
    prompt = load_prompt("research_synthesis_v1").substitute(
        query=fenced(job.query),
        evidence_chunks="\n\n".join(blocks),
        citation_format=CITATION_FORMAT,
        language=language_name(job.intent.language),
        max_summary_words=str(settings.max_summary_words),
    )
    feedback = f"\n\n<feedback>\n{fenced(job.request.feedback)}\n</feedback>" if job.request.feedback else ""
    return ChatRequest(
        purpose="answer",
        system="You answer from the papers you are given, and cite each by id and page.",
        user=prompt + feedback,
        schema_name="answer",
        schema=ANSWER_SCHEMA,
        max_tokens=settings.max_answer_tokens,
        timeout_s=min(settings.model_timeout_s, timeout_s),
        temperature=WRITING_TEMPERATURE,
    )


def _block(source: Source, chunk: PaperChunk) -> str:
    """A chunk with its paper and pages; where it runs over a page's end, each page by itself."""
    pieces: list[str] = []
    start = chunk.start
    for text in source.trusted_content[chunk.start : chunk.end].split("\f"):
        page = source.page_at(start)
        where = f' page="{page}"' if page else ""
        if text.strip():
            pieces.append(f'<source paper="{chunk.paper.id}"{where}>\n{fenced(text.strip())}\n</source>')
        start += len(text) + 1
    return "\n".join(pieces)


def passages_of(source: Source, spans: Sequence[tuple[int, int]]) -> list[Passage]:
    """The spans in the order of the text; those that overlap are one passage."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return [Passage(start, end, source.content[start:end]) for start, end in merged]
