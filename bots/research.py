"""gorkd from Python: ideas, implementations and reports (S004), and answers from papers (`Library`).

Both open the same parts as the commands, from the environment, and close them again. `gorkd` exports them, the first as
`Researcher`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, get_args

from bots.config import read_settings
from bots.wiring import House, library_desk, open_house
from core.findings.results import DEFAULT_TOP_K, ResearchFindings, ResearchModeInput, normalise_modes
from core.findings.viewing import read_view
from core.library import funnel
from core.library.desk import LibraryDesk
from core.library.funnel import Shelves, answer_text, papers_of, synthesize_research_answer, to_source
from core.library.ingest import MAX_PAPER_BYTES
from core.library.paper import STAGE_1, STAGE_2, Paper, SearchResult, format_research_result, shelves_of
from core.model.answer import JobResult
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import LOCAL, Depth, JobStatus, ResearchJob, ResearchRequest, Scope
from core.modes.mode import MAX_ITEMS
from core.pipeline.work import Progress
from core.presentation.wording import failure_sentence
from core.stages.intake import parse_intent, read_query

SYNTHESIS_S = 60.0  # of a library's question (D2)


class FindingsResearcher:
    """Finds ideas, implementations and a report. `env` are the settings, by default those of the process."""

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = dict(os.environ if env is None else env)

    def research(
        self, query: str, mode: ResearchModeInput | None = None, top_k: int = DEFAULT_TOP_K, depth: Depth = "light"
    ) -> ResearchFindings:
        """As `research_async`; not to be called where an event loop runs."""
        return asyncio.run(self.research_async(query, mode, top_k, depth))

    async def research_async(
        self, query: str, mode: ResearchModeInput | None = None, top_k: int = DEFAULT_TOP_K, depth: Depth = "light"
    ) -> ResearchFindings:
        """All three modes by default. Only what is verified; raises `ValueError` for an argument, `GorkdError` else."""
        modes = normalise_modes(mode)
        check_choice(depth, get_args(Depth), "depth")
        check_count(top_k, "top_k", most=MAX_ITEMS)
        request = ResearchRequest(check_query(query), modes=modes, top_k=top_k, depth=depth)
        async with open_house(self._env, read_settings(self._env), grace_s=0.0) as house:
            job, result = await _ended(house, request)
        view = read_view(result)
        if job.status is not JobStatus.COMPLETED or view is None:
            raise GorkdError(f"{job.id} ended as {job.status}", user_message=failure_sentence(job))
        return view.findings


@dataclass(frozen=True)
class QueryResult:
    """What a library answered (S000-42). `papers` are those cited, in the order of `paper_ids`; `content` is Markdown
    with `[PAPER_ID, page N]` and references, "" without `success`; `message` says what is to be known, "" for nothing.
    """

    success: bool
    papers: tuple[Paper, ...]
    paper_ids: tuple[str, ...]
    content: str
    message: str


class Library:
    """The papers of a place, with S000's four stages as calls. `env` are the settings, by default those of the process.

    Each call opens what it needs; within `async with Library() as library:` that is done once.
    """

    def __init__(self, env: Mapping[str, str] | None = None, *, scope: Scope = LOCAL) -> None:
        self._env = dict(os.environ if env is None else env)
        self._scope = scope
        self._kept: AsyncExitStack | None = None
        self._house: House | None = None

    async def __aenter__(self) -> Self:
        self._kept = AsyncExitStack()
        self._house = await self._kept.enter_async_context(self._opened())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        kept, self._kept, self._house = self._kept, None, None
        if kept is not None:
            await kept.aclose()

    async def add(self, paper: str | Path) -> Paper:
        """A file, an arXiv id, a DOI or an address; one that is there already is left as it is. Raises `GorkdError`."""
        async with self._opened() as house, self._desk(house) as desk:
            content = await asyncio.to_thread(_content, Path(paper))
            if content is None:
                return (await desk.add_reference(self._scope, str(paper))).paper
            return (await desk.add_file(self._scope, Path(paper).name, content)).paper

    async def papers(self) -> list[Paper]:
        """By id. Raises `GorkdError`."""
        async with self._opened() as house:
            return await house.deps.library.papers(shelves_of(self._scope))

    async def research_query(self, query: str) -> QueryResult:
        """All four stages; what failed has no `success` (S000-31 … S000-33). Raises `ValueError` for no query."""
        request = ResearchRequest(check_query(query), self._scope, modes=("library",), is_fresh=True)
        async with self._opened() as house:
            job, result = await _ended(house, request)
            papers = {paper.id: paper for paper in await house.deps.library.papers(shelves_of(self._scope))}
        view = result.details.get("query_result") if result else None
        if result is None or result.answer is None:
            return QueryResult(False, (), (), "", failure_sentence(job))
        if not isinstance(view, dict) or not view.get("success"):
            return QueryResult(False, (), (), "", result.answer.summary)
        listed = view.get("paper_ids")
        ids = tuple(str(one) for one in listed if one in papers) if isinstance(listed, list) else ()
        content, message = str(view.get("content") or ""), str(view.get("message") or "")
        return QueryResult(True, tuple(papers[one] for one in ids), ids, content, message)

    async def search_summary_index(
        self, query: str, k: int = 8, use_mmr: bool = True, similarity_cutoff: float = STAGE_1, mmr_alpha: float = 0.5
    ) -> list[SearchResult]:
        """Stage 1: summaries and notes. A cut-off that is given is literal. Raises `ValueError`, `GorkdError`."""
        _check_search(query, k, mmr_alpha)
        async with self._opened() as house:
            return await funnel.search_summary_index(
                self._shelves(house), query, k, use_mmr=use_mmr, similarity_cutoff=similarity_cutoff,
                mmr_alpha=mmr_alpha,
            )  # fmt: skip

    async def search_content_index_filtered(  # noqa: PLR0917 -- the arguments are S000's
        self,
        query: str,
        paper_ids: Sequence[str],
        k: int = 15,
        use_mmr: bool = True,
        similarity_cutoff: float = STAGE_2,
        mmr_alpha: float = 0.6,
    ) -> list[SearchResult]:
        """Stage 2: the full texts of those papers alone. Raises `ValueError`, `GorkdError`."""
        _check_search(query, k, mmr_alpha)
        if isinstance(paper_ids, str):
            raise ValueError("paper_ids is a list of ids, not one text")
        async with self._opened() as house:
            return await funnel.search_content_index_filtered(
                self._shelves(house), query, paper_ids, k, use_mmr=use_mmr, similarity_cutoff=similarity_cutoff,
                mmr_alpha=mmr_alpha,
            )  # fmt: skip

    async def synthesize_research_answer(self, query: str, evidence_chunks: Sequence[SearchResult]) -> str:
        """Stage 3: checked Markdown with `[PAPER_ID, page N]`, or quotes. Raises `ValueError`, `GorkdError`."""
        if not evidence_chunks:
            raise ValueError("evidence_chunks is empty: there is nothing to answer from")
        best = {entry.chunk.paper.id: entry for entry in reversed(evidence_chunks)}
        async with self._opened() as house:
            deps = house.deps
            request = ResearchRequest(check_query(query), self._scope, modes=("library",))
            job = ResearchJob(deps.new_id(), request, parse_intent(query), JobStatus.SYNTHESIZING, deps.clock())
            sources, papers = [], dict[str, Paper]()
            for number, paper_id in enumerate(papers_of(evidence_chunks), start=1):
                paper = best[paper_id].chunk.paper
                text = await deps.library.text(shelves_of(self._scope), paper_id)
                sources.append(to_source(number, paper, text, best[paper_id].score))
                papers[sources[-1].id] = paper
            chunks = [entry.chunk for entry in evidence_chunks]
            answer = await synthesize_research_answer(
                job, chunks, sources, papers, deps=deps, progress=_Silence(job, deps), within_s=SYNTHESIS_S
            )
        return answer_text(answer, papers, sources)

    async def format_research_result(self, answer: str) -> tuple[str, list[str]]:
        """Stage 4: the answer with its references, and the cited ids in their order. Raises `GorkdError`."""
        return format_research_result(answer, await self.papers())

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[House]:
        if self._house is not None:
            yield self._house
            return
        async with open_house(self._env, read_settings(self._env), grace_s=0.0) as house:
            yield house

    @asynccontextmanager
    async def _desk(self, house: House) -> AsyncIterator[LibraryDesk]:
        async with AsyncExitStack() as stack:
            yield library_desk(self._env, house.deps.library, stack)

    def _shelves(self, house: House) -> Shelves:
        return Shelves(house.deps.library, shelves_of(self._scope), house.deps.embedder)


class _Silence(Progress):
    """Of a call that is no job: nobody follows it, and nothing of it is kept."""

    async def status(self, *_: object, **__: object) -> None: ...

    async def emit(self, *_: object, **__: object) -> None: ...


def check_query(query: str) -> str:
    """Raises `ValueError` with the sentence that people are told."""
    try:
        return read_query(query)
    except InvalidQuery as error:
        raise ValueError(error.user_message) from error


def check_choice(value: object, choices: Sequence[str], name: str) -> None:
    """Raises `ValueError`.

    >>> check_choice("x", ("light", "deep"), "depth")
    Traceback (most recent call last):
        ...
    ValueError: depth is 'x'; it must be light or deep
    """
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; it must be {' or '.join(choices)}")


def check_count(value: object, name: str, *, most: int) -> None:
    """Raises `ValueError`.

    >>> check_count(0, "top_k", most=20)
    Traceback (most recent call last):
        ...
    ValueError: top_k is 0; it must be a whole number from 1 to 20
    """
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise ValueError(f"{name} is {value!r}; it must be a whole number from 1 to {most}")


def _check_search(query: str, k: int, mmr_alpha: float) -> None:
    check_query(query)
    check_count(k, "k", most=1_000)
    if not 0 <= mmr_alpha <= 1:
        raise ValueError(f"mmr_alpha is {mmr_alpha!r}; it must be a number from 0 to 1")


def _content(path: Path) -> bytes | None:
    """None where there is no such file; of one that is too large a byte too much. Raises `InvalidQuery`."""
    if not os.path.isfile(path):  # Path's own raises for a name that is too long
        return None
    try:
        with path.open("rb") as file:
            return file.read(MAX_PAPER_BYTES + 1)
    except OSError as exc:
        raise InvalidQuery(f"{path.name} cannot be opened: {exc.strerror}.", rule="file") from exc


async def _ended(house: House, request: ResearchRequest) -> tuple[ResearchJob, JobResult | None]:
    job = await house.researcher.submit(request)
    async for _ in house.researcher.follow(job.id):
        pass
    return await house.researcher.job(job.id), await house.researcher.result(job.id)
