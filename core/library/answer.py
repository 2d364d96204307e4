"""Stage 3: an answer written from chunks of papers, every sentence with its paper and page (S000-14 … S000-19)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest

from core.evidence.authority import kind_of
from core.library.pages import PageGrounder, page_markers
from core.library.paper import PAPER_SCHEME, Paper, PaperChunk
from core.llm.prices import estimate_tokens
from core.model.answer import ResearchAnswer
from core.model.job import ResearchJob
from core.model.ports import ChatRequest
from core.model.source import SearchMetadata, Source, SourceCollection, SourceKind, SourceMetadata, SourceScores
from core.pipeline.deps import Deps
from core.pipeline.progress import Progress
from core.prompts import load_prompt
from core.stages.prompting import ANSWER_SCHEMA, WRITING_TEMPERATURE, Script, fenced, language_name
from core.stages.synthesize import answer_question
from core.text.injection import instructions_in
from core.text.passages import Passage

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
    return page_markers(text, answer.citations, papers, {source.id: source.content for source in sources})


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
