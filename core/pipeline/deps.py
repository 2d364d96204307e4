"""What a job is given to work with: ports, settings, time and chance, and what was learnt of providers and model."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, perf_counter

from core.evidence.control import ControlledJudge
from core.evidence.judge import SupportJudge, judge_of
from core.library.paper import LibraryStore
from core.model.config import Settings
from core.model.delivery import Messages
from core.model.errors import GorkdError, ProviderError
from core.model.job import ReadAttachment, ResearchRequest
from core.model.ports import (
    WEB_SEARCH,
    AnswerCache,
    ChatModel,
    Clock,
    EmbeddingModel,
    EventLog,
    JobMemo,
    JobStore,
    Measurement,
    PageFetcher,
    Record,
    ReuseStore,
    SearchProvider,
    SourceStore,
    WebSearchModel,
)
from core.pipeline.limits import ComputingTurns, SharedLimits
from core.pipeline.tool_traces import TraceStore
from core.tenancy.settings import SourcePolicy
from core.tenancy.usage import EvaluationStore
from core.watch.watch import Watches
from core.works.registry import Works
from core.works.standing import StandingChecks

log = logging.getLogger(__name__)

REST_S = 30.0  # long enough that a time-out is paid by one question of many, short enough to find it well again
MAX_REST_S = 60.0  # of a provider that asks for a longer silence


class Setbacks:
    """Which providers gave nothing of late: while they rest others are asked first, where there are any."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._rest_until: dict[str, float] = {}

    def note(self, error: ProviderError) -> None:
        self._rest_until[error.provider] = self._clock() + min(error.retry_after_s or REST_S, MAX_REST_S)

    def forget(self, provider: str) -> None:
        """It has answered."""
        self._rest_until.pop(provider, None)

    def rests(self, provider: str) -> bool:
        return self._clock() < self._rest_until.get(provider, float("-inf"))


@dataclass
class TwoAtOnce:
    """Whether the model that writes serves two calls as quickly as one; so it does until it was measured."""

    is_served: bool = True


async def _spend_all(request: ResearchRequest) -> None:
    pass


@dataclass(frozen=True)
class Deps:
    """`providers` are in the order of preference; `model`, `embedder` and `web_model` (which searches by itself) are
    None where none is configured. `models` work by mode instead of `model`; `check_model` judges citations instead.

    `setbacks` are what providers failed at of late, by any job of this process, `two_at_once` is what was measured of
    the model at its start; all jobs of this process compute by `turns`. `works` knows published works, `standing`
    which answers are to be looked at again for them; None where no registry is asked.

    `check_budget` raises `BudgetSpent` for a request that may cost no more this month (core/tenancy/admission.py).
    `clock` gives UTC times; `new_id` gives job ids (`job_` and at least 128 random bits).
    """

    providers: Mapping[str, SearchProvider]
    pages: PageFetcher
    jobs: JobStore
    sources: SourceStore
    events: EventLog
    memo: JobMemo
    traces: TraceStore
    cache: AnswerCache
    messages: Messages
    library: LibraryStore
    read_attachment: ReadAttachment
    evaluations: EvaluationStore
    watches: Watches
    limits: SharedLimits
    reuse: ReuseStore
    record: Record
    clock: Clock
    new_id: Callable[[], str]
    settings: Settings
    check_budget: Callable[[ResearchRequest], Awaitable[None]] = _spend_all
    model: ChatModel | None = None
    models: Mapping[str, ChatModel] = field(default_factory=dict)
    embedder: EmbeddingModel | None = None
    web_model: WebSearchModel | None = None
    check_model: ChatModel | None = None
    works: Works | None = None
    standing: StandingChecks | None = None
    setbacks: Setbacks = field(default_factory=Setbacks)
    two_at_once: TwoAtOnce = field(default_factory=TwoAtOnce)
    turns: ComputingTurns = field(default_factory=ComputingTurns)

    @property
    def writes_in_parallel(self) -> bool:
        """Whether summary and detail are written by two calls at once."""
        return self.model is not None and self.settings.synthesis.is_parallel and self.two_at_once.is_served

    @property
    def judge(self) -> SupportJudge | None:
        """Who says whether a source says what a claim says: the check model, else the job's own."""
        model = self.check_model or self.model
        if model is None:
            return None
        dialect = self.settings.check_dialect if self.check_model else None
        return ControlledJudge(judge_of(model, dialect), partial(self.count_error, "check"))

    def within(self, policy: SourcePolicy) -> Deps:
        """With the search providers alone that a tenant allows; a model's own web search is one of them."""
        if not policy.providers:
            return self
        allowed = {name: one for name, one in self.providers.items() if policy.permits_provider(name)}
        return replace(
            self, providers=allowed, web_model=self.web_model if policy.permits_provider(WEB_SEARCH) else None
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Log and measure one stage, and count its error by type (S003-25, S003-26)."""
        started = perf_counter()
        outcome = "done"
        try:
            yield
        except GorkdError as exc:
            outcome = type(exc).__name__
            self.count_error(name, exc)
            raise
        finally:
            seconds = perf_counter() - started
            self.record(Measurement("pipeline_stage_duration_seconds", seconds, name))
            log.info("stage finished", extra={"stage": name, "duration_s": round(seconds, 3), "outcome": outcome})

    def count_error(self, stage: str, error: Exception) -> None:
        self.record(Measurement("errors", 1, f"{stage}:{type(error).__name__}"))
        why = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else "")
        log.warning("error", extra={"stage": stage, "error_type": type(error).__name__, "error": why})
