"""Running the questions of an evaluation: several at once, each with its own ports; and recordings, to ask again."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from time import perf_counter

from core.evaluation.cases import Answered, Case, Met, check_expectations
from core.llm.ask_model import Heard
from core.model.answer import Confidence, ModelUsage, Verdict
from core.model.errors import FetchError, GorkdError, ProviderError, WebSearchUnavailable
from core.model.job import Depth, JobStatus, ResearchJob, Scope
from core.model.ports import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    PageFetcher,
    ProviderStrength,
    SearchedText,
    SearchProvider,
    ToolCall,
    WebSearchModel,
)
from core.model.source import Page, SearchHit, SearchQuery, Source
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import run_job
from core.pipeline.work import DirectSteps
from core.presentation.wording import failure_sentence
from core.text.terms import terms

Ask = Callable[[Case], Awaitable[Answered]]


@dataclass(frozen=True)
class SaidClaim:
    text: str
    verdict: Verdict


@dataclass(frozen=True)
class Outcome:
    """What became of one case in one configuration. `confidence` is "" and `error` a sentence where it failed.

    `cost_usd` is None where the model has no price; `cited` are the addresses that the answer cites.
    """

    case_id: str
    question: str
    job_id: str
    summary: str = ""
    detail: str = ""
    confidence: str = ""
    claims: tuple[SaidClaim, ...] = ()
    cited: tuple[str, ...] = ()
    cost_usd: float | None = 0.0
    tokens: int = 0
    seconds: float = 0.0
    met: tuple[Met, ...] = ()
    error: str = ""

    @property
    def has_failed(self) -> bool:
        """No answer, or one that lacks what was expected."""
        return bool(self.error) or any(one.is_met is False for one in self.met)

    @property
    def is_answered(self) -> bool:
        return not self.error and self.confidence != Confidence.INSUFFICIENT

    @property
    def ticked(self) -> int:
        """Claims with ✓."""
        return sum(claim.verdict in (Verdict.SUPPORTED, Verdict.MOVED) for claim in self.claims)


async def run_cases(
    cases: Sequence[Case],
    ask: Ask,
    *,
    at_once: int,
    done: Mapping[str, Outcome] | None = None,
    tell: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """In the order of the cases. What is `done` is not asked again; `tell` hears of each other one when it ends."""
    gate, known = asyncio.Semaphore(at_once), done or {}

    async def run(case: Case) -> Outcome:
        if case.id in known:
            return known[case.id]
        async with gate:
            outcome = await _run(case, ask)
        tell(outcome)
        return outcome

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(run(case), name=case.id) for case in cases]
    return [task.result() for task in tasks]


async def _run(case: Case, ask: Ask) -> Outcome:
    try:
        answered = await ask(case)
    except GorkdError as error:
        return Outcome(case.id, case.question, "", error=error.operator_message, cost_usd=None)
    met = await check_expectations(case, answered)
    job, answer = answered.job, answered.answer
    if answer is None:
        return Outcome(case.id, case.question, job.id, seconds=answered.seconds, met=met, error=failure_sentence(job))
    spent = answer.metadata
    cited = {citation.source_id for citation in answer.citations}
    return Outcome(
        case.id, case.question, job.id, answer.summary, answer.detail, answer.confidence.value,
        tuple(SaidClaim(claim.text, claim.verdict) for claim in answer.claims),
        tuple(source.url for source in answered.sources if source.id in cited),
        spent.cost_usd if spent.model_calls else 0.0, spent.tokens_used, answered.seconds, met,
    )  # fmt: skip


def asking(deps_of: Callable[[Case], Deps], *, is_replayed: bool = False) -> Ask:
    """Asks by the pipeline itself, with what `deps_of` gives for a case; nothing waits in a queue."""

    async def ask(case: Case) -> Answered:
        deps = deps_of(case)
        began = perf_counter()
        job = await Researcher(deps, _NoQueue()).submit(replace(case.request, is_fresh=True))
        await run_job(job.id, deps, DirectSteps())
        job = await deps.jobs.get(job.id)
        result = await deps.jobs.result(job.id) if job.status is JobStatus.COMPLETED else None
        sources = await deps.sources.sources(job.id)
        return Answered(job, result, sources, is_replayed, perf_counter() - began, deps.judge)

    return ask


class _NoQueue:
    """A `JobQueue` for who runs the job itself."""

    async def enqueue(self, job: ResearchJob) -> None: ...

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        return None


# Recordings: what searches found, pages said and models answered for one question, so that it can be asked again.
#
# A recording holds one question's outside. Replayed, a search that was not made then gets the hits that have most of
# its words, a page that was not read is not there, and a model is asked anew only for what it was not asked then.

NOT_RECORDED = "was not recorded"


@dataclass(frozen=True)
class RecordedSearch:
    provider: str
    query: str
    hits: tuple[SearchHit, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class RecordedPage:
    """`page` is None where it could not be read, for the reason `error`."""

    url: str
    page: Page | None = None
    error: str = ""


@dataclass(frozen=True)
class RecordedAnswer:
    """`key` is of the model and all that it was asked."""

    key: str
    text: str
    usage: ModelUsage | None = None
    calls: tuple[ToolCall, ...] = ()
    is_cut: bool = False


@dataclass(frozen=True)
class RecordedWebSearch:
    """What a model wrote from a web search of its own. The pages that it found are read, and recorded, as any other."""

    key: str
    found: SearchedText


@dataclass(frozen=True)
class Recording:
    """One question's outside as it was `at` that time."""

    at: datetime
    searches: tuple[RecordedSearch, ...] = ()
    pages: tuple[RecordedPage, ...] = ()
    answers: tuple[RecordedAnswer, ...] = ()
    web_searches: tuple[RecordedWebSearch, ...] = ()


def recording_of(sources: Sequence[Source], at: datetime) -> Recording:
    """What is kept of a job as a recording: any search finds its sources, whole."""
    hits = tuple(
        SearchHit(
            source.metadata.provider,
            source.url,
            source.title,
            source.content,
            is_complete=True,
            rank=rank,
            published_at=source.metadata.published_at,
            author=source.metadata.author,
            kind=source.metadata.kind,
            is_guideline=source.metadata.is_guideline,
        )
        for rank, source in enumerate(sources)
    )
    pages = tuple(
        RecordedPage(source.url, Page(source.url, source.title, source.content, source.read_at)) for source in sources
    )
    return Recording(at, tuple(RecordedSearch(name, "", hits) for name in {hit.provider for hit in hits}), pages)


@dataclass
class Tape:
    """A recording that grows while it is recorded; replayed, it only counts what it did not have."""

    at: datetime
    is_replayed: bool = False
    searches: list[RecordedSearch] = field(default_factory=list)
    pages: dict[str, RecordedPage] = field(default_factory=dict)
    answers: dict[str, RecordedAnswer] = field(default_factory=dict)
    web_searches: dict[str, RecordedWebSearch] = field(default_factory=dict)
    new_calls: int = 0

    @classmethod
    def of(cls, recording: Recording) -> Tape:
        """To replay it."""
        return cls(
            recording.at, True, list(recording.searches), {page.url: page for page in recording.pages},
            {answer.key: answer for answer in recording.answers}, {one.key: one for one in recording.web_searches},
        )  # fmt: skip

    def recording(self) -> Recording:
        return Recording(
            self.at, tuple(self.searches), tuple(self.pages.values()), tuple(self.answers.values()),
            tuple(self.web_searches.values()),
        )  # fmt: skip


def taped(deps: Deps, tape: Tape) -> Deps:
    """The ports recorded on the tape, or played from it; then the clock stands at the recording's day."""
    names = dict.fromkeys(search.provider for search in tape.searches) if tape.is_replayed else deps.providers
    providers = {name: TapedSearch(name, deps.providers.get(name), tape) for name in names}

    back = deps.clock() - tape.at  # replayed, it is as if it were then, and going: prompts name the day

    def model_of(model: ChatModel) -> ChatModel:
        return TapedModel(model, tape)

    return replace(
        deps,
        providers=providers,
        pages=TapedPages(deps.pages, tape),
        model=model_of(deps.model) if deps.model else None,
        models={mode: model_of(model) for mode, model in deps.models.items()},
        check_model=model_of(deps.check_model) if deps.check_model else None,
        web_model=TapedWebSearch(deps.web_model, tape) if deps.web_model else None,
        clock=(lambda: deps.clock() - back) if tape.is_replayed else deps.clock,
    )


class TapedSearch:
    """A `SearchProvider`, recorded or replayed; `provider` may be None for a recorded one that is not set up here."""

    def __init__(self, name: str, provider: SearchProvider | None, tape: Tape) -> None:
        self.name, self._provider, self._tape = name, provider, tape
        self.strength: ProviderStrength = provider.strength if provider else "factual"

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        if self._tape.is_replayed or self._provider is None:
            return self._replayed(query.text)[:limit]
        try:
            hits = tuple(await self._provider.search(query, limit=limit, scope=scope))
        except ProviderError as error:
            self._tape.searches.append(RecordedSearch(self.name, query.text, error=error.reason))
            raise
        self._tape.searches.append(RecordedSearch(self.name, query.text, hits))
        return hits

    def _replayed(self, query: str) -> Sequence[SearchHit]:
        made = [search for search in self._tape.searches if search.provider == self.name]
        for search in made:
            if search.query == query:
                if search.error:
                    raise ProviderError(self.name, search.error)
                return search.hits
        known = {hit.url: hit for search in made for hit in search.hits}
        wanted = set(terms(query))
        found = sorted(known.values(), key=lambda hit: -len(wanted & set(terms(f"{hit.title} {hit.text}"))))
        return [replace(hit, rank=rank) for rank, hit in enumerate(found)]


class TapedPages:
    """A `PageFetcher`, recorded or replayed."""

    def __init__(self, pages: PageFetcher, tape: Tape) -> None:
        self._pages, self._tape = pages, tape

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        if self._tape.is_replayed:
            recorded = self._tape.pages.get(url, RecordedPage(url, error=NOT_RECORDED))
            if recorded.page is None:
                raise FetchError(url, recorded.error or NOT_RECORDED)
            return recorded.page
        try:
            page = await self._pages.fetch(url, known=known)
        except FetchError as error:
            self._tape.pages[url] = RecordedPage(url, error=error.reason)
            raise
        self._tape.pages[url] = RecordedPage(url, page)
        return page


class TapedModel:
    """A `ChatModel` whose whole answers are recorded, or replayed where it was asked the same before."""

    def __init__(self, model: ChatModel, tape: Tape) -> None:
        self._model, self.name, self._tape = model, model.name, tape

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        key = _key(self.name, request)
        recorded = self._tape.answers.get(key)
        if recorded is not None and self._tape.is_replayed:
            yield ChatDelta(recorded.text)
            yield ChatDelta(usage=recorded.usage, calls=recorded.calls, is_cut=recorded.is_cut)
            return
        self._tape.new_calls += 1
        heard = Heard()
        async for delta in self._model.stream(request):
            heard.take(delta)
            yield delta
        self._tape.answers[key] = RecordedAnswer(key, heard.text, heard.usage, heard.calls, heard.is_cut)


class TapedWebSearch:
    """A `WebSearchModel`, recorded or replayed; a search that was not recorded is one that it does not offer."""

    def __init__(self, model: WebSearchModel, tape: Tape) -> None:
        self._model, self.name, self._tape = model, model.name, tape

    async def search_and_write(self, request: ChatRequest, *, depth: Depth) -> SearchedText:
        key = _key(self.name, request, depth)
        if self._tape.is_replayed:
            if key not in self._tape.web_searches:
                raise WebSearchUnavailable(f"this web search {NOT_RECORDED}")
            return self._tape.web_searches[key].found
        found = await self._model.search_and_write(request, depth=depth)
        self._tape.web_searches[key] = RecordedWebSearch(key, found)
        return found


def _key(model: str, request: ChatRequest, *more: str) -> str:
    """Of all that makes the answer what it is; how long it may take does not."""
    asked: list[object] = [
        model, request.purpose, request.system, request.user, request.schema_name, dict(request.schema),
        request.max_tokens, request.temperature, request.in_words, [tool.name for tool in request.tools],
        [[turn.results, [call.arguments for call in turn.calls]] for turn in request.turns], *more,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8", "replace")).hexdigest()
