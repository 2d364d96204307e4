"""Every tunable of the core, with unit, range and origin. `bots/config.py` fills what the environment may change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from enum import StrEnum
from typing import Literal, TypeVar

from core.llm.prices import Prices
from core.model.source import SourceKind

T = TypeVar("T", bound="SynthesisSettings | DeepSettings | SectionSettings | FindingsSettings")

MAX_QUERY_CHARS = 1999  # code points after NFC; "< 2000 chars" (S003-01)


class Lifetime(StrEnum):
    """Kinds of questions by how fast their answers go stale; `CacheSettings` says how long."""

    LIVE = "live"
    CURRENT = "current"
    FACT = "fact"
    COMPARISON = "comparison"
    EXPLANATION = "explanation"
    SETTLED = "settled"


@dataclass(frozen=True)
class SearchSettings:
    """Stage 3. Times in seconds."""

    provider_timeout_s: float = 10.0  # S003-08
    connect_timeout_s: float = 2.0  # an unreachable provider must not cost the answer its five seconds
    again_after_s: float = 2.0  # pause before all are asked once more where no provider could be reached
    straggler_s: float = 1.5  # what a provider or a page that is later than the others may cost
    results_per_query: int = 10  # what providers return by default, and S002-09
    fetch_timeout_s: float = 10.0
    fetch_concurrency: int = 20  # what two queries find first
    pages_to_fetch: int = 14  # more than max_sources, so that unreadable pages can be replaced
    max_sources: int = 10  # S003-11
    max_per_domain: int = 3  # S003-11, domain diversity
    min_relevance: float = (
        0.15  # 0…1; a source below has next to nothing in common with the question (docs/evaluation.md)
    )
    embedding_timeout_s: float = 10.0  # of all sources together; without it words alone rank them
    trusted_ranks: int = 3  # of each query's results, that no words drop where a model reads them


@dataclass(frozen=True)
class SynthesisSettings:
    """Stage 4. Tokens are estimated (core/llm/prices.py)."""

    max_prompt_tokens: int = 7000  # leaves room below 8k for prompt, schema and estimate error
    max_shared_tokens: int = 5800  # of it, what summary and detail have in common where they are two calls
    max_detail_prompt_tokens: int = 7800  # of the detail's call then: it reads what was found later, too
    max_answer_tokens: int = 1500
    max_plan_tokens: int = 300
    model_timeout_s: float = 45.0  # below the 60 s deadline, so that there is time to end well
    plan_timeout_s: float = 15.0
    check_timeout_s: float = 20.0  # one call of the judge: eight claims and what may say them
    max_summary_words: int = 120
    is_parallel: bool = False  # summary and detail are two calls at once; one where the model serves one at a time
    early_sources: int = 6  # of the question's own search, at most, from which the summary is begun before the plan
    min_early_sources: int = 3  # of fewer a summary would rest on too little
    min_early_coverage: float = 0.7  # 0…1, share of the question in the best passage of the best of them, as in ranking


@dataclass(frozen=True)
class CacheSettings:
    """How long an answer may be repeated, by kind of question, and what counts as near; the answer says how old it is.

    Nothing is repeated for longer than `retention`, which is how long jobs are kept; None keeps them. What a
    question asks of one day ends with that day, whatever the table says (core/stages/intake.py). `similarity` is a
    cosine, −1…1.
    """

    ttl: dict[Lifetime, timedelta] = field(
        default_factory=lambda: {
            Lifetime.LIVE: timedelta(minutes=10),  # prices, weather, scores: wrong within the hour
            Lifetime.CURRENT: timedelta(days=2),  # an event is reported on for days; "latest" and its like: the day
            Lifetime.FACT: timedelta(days=7),  # who holds an office, what a thing costs: corrected within days
            Lifetime.COMPARISON: timedelta(days=30),  # products and methods change by the month
            Lifetime.EXPLANATION: timedelta(days=90),  # how things work rarely changes
            Lifetime.SETTLED: timedelta(days=180),  # years past; new findings take months to be published
        }
    )
    retention: timedelta | None = None
    candidates: int = 3  # of earlier questions that the plan call compares; each costs it some 30 tokens
    min_similarity: float = 0.80  # below it, paraphrases hardly occur (docs/evaluation.md)
    instant_similarity: float = 0.92  # S003-04; shown at once only past the strict guard too (D12)
    is_instant: bool = False  # without a model: whether an answer may be repeated that nobody confirmed
    look_up_timeout_s: float = 1.0  # of embedding the question and comparing it, before the plan is made


@dataclass(frozen=True)
class ReuseSettings:
    """How long public pages and search results are reused by any job. A stale page is asked about with its validators.

    What is asked of the day (core/stages/intake.py) takes nothing older than `of_the_day`.
    """

    search: timedelta = timedelta(hours=6)  # an engine's index hardly changes within the day
    of_the_day: timedelta = timedelta(minutes=10)
    pages: dict[SourceKind, timedelta] = field(
        default_factory=lambda: {
            SourceKind.PEER_REVIEWED: timedelta(days=30),  # changes by a correction at most
            SourceKind.STANDARDS: timedelta(days=30),
            SourceKind.PREPRINT: timedelta(days=7),  # new versions come within weeks
            SourceKind.OFFICIAL: timedelta(days=1),
            SourceKind.REFERENCE: timedelta(days=1),  # edited daily
        }
    )
    other_pages: timedelta = timedelta(hours=1)  # press, forums, unknown sites: edited while they are read
    kept: timedelta = timedelta(days=30)  # a stale page may still be confirmed by its server


@dataclass(frozen=True)
class DeepSettings:
    """Deep research. Times in seconds, tokens estimated (core/llm/prices.py)."""

    max_runtime_s: float = 600.0  # S002-14
    write_reserve_s: float = 100.0  # of it, kept for the answer: two tries of the model and the check
    min_items: int = 3  # S002-07
    max_items: int = 7
    max_checklist: int = 12  # with what people add
    sources_per_round: int = 10  # read anew and kept
    max_given_sources: int = 20  # that come with the question or from the answer it goes deeper than
    max_facts_per_round: int = 12
    listen_s: float = 1.0  # between two looks, within a round, whether the answer is wanted now
    idle_rounds: int = 2  # that bring nothing new end the search
    max_source_tokens: int = 6000  # of sources in a round's extraction: three rounds stay far below 45k in all
    max_known_tokens: int = 1500  # of facts in a prompt
    max_step_tokens: int = 1500  # of a step's answer
    max_answer_tokens: int = 2500
    max_detail_words: int = 600
    step_timeout_s: float = 60.0
    max_earlier_facts: int = 12  # offered from earlier jobs
    earlier_jobs: int = 50  # looked at for them, and for estimates


@dataclass(frozen=True)
class SectionSettings:
    """Sections of a paper. Times in seconds, scores 0…1."""

    top_k_initial: int = 20  # S001-16
    min_final: int = 5  # S001-19
    top_k_final: int = 8  # S001-19
    good_score: float = 0.5  # combined; what is kept beyond the first five must be worth reading
    least_score: float = 0.3  # combined; what has less bears on nothing, and is not used to fill the five
    max_search_iterations: int = 5  # of the agent's own; S001-10, S001-14
    chunks_per_call: int = 3  # 20 candidates are 7 calls, which run at once below the next number
    concurrent_calls: int = 8
    call_timeout_s: float = 60.0
    write_timeout_s: float = 120.0
    deadline_s: float = 600.0  # of one section (D2)
    write_reserve_s: float = 240.0  # of it, kept for writing, rephrasing and checking, each with its second try
    min_papers: int = 5  # a section that has fewer takes more than one chunk of each
    max_evidence: int = 16  # chunks that the writer reads: 8,000 tokens of them
    max_quoted_words: int = 3  # in a row; more is a quotation (S001-32)


@dataclass(frozen=True)
class FindingsSettings:
    """Ideas, implementations, reports. Times in seconds, tokens estimated (core/llm/prices.py)."""

    deadline_s: float = 180.0  # a search by the model itself takes one to two minutes, seldom three
    model_timeout_s: float = 140.0  # of one mode's call
    check_reserve_s: float = 40.0  # of the deadline, kept for fetching and checking what was cited
    max_prompt_tokens: int = 14_000  # twice a quick answer's: a report draws on whole pages
    max_answer_tokens: int = 6000  # analysis, and five implementations or a report of some 2500 words
    max_pages: int = 16  # addresses of one job that are opened and checked
    deep_max_pages: int = 32  # the same at depth `deep`
    deep_pages: int = 24  # read by our own search at depth `deep`, instead of those of a quick answer
    deep_sources: int = 16


@dataclass(frozen=True)
class Settings:
    search: SearchSettings = SearchSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    cache: CacheSettings = CacheSettings()
    deep: DeepSettings = DeepSettings()
    section: SectionSettings = SectionSettings()
    findings: FindingsSettings = FindingsSettings()
    reuse: ReuseSettings = ReuseSettings()
    source_kinds: Mapping[str, SourceKind] = field(
        default_factory=dict
    )  # by domain; goes before core/evidence/authority.py
    check_dialect: Literal["json", "pairwise"] | None = None  # of the check model; None: as its name tells
    max_waiting_jobs: int = 200  # questions in the queue before new ones are refused
    concurrent_jobs: int = 24  # a job mostly waits; 20 at once must not queue
    prices_usd_per_million: Prices = field(default_factory=dict)
    patience: float = 1.0  # 1…20; see `patient`


def patient(settings: Settings, patience: float) -> Settings:
    """`settings` for a model `patience` times as slow: its calls, and the jobs that wait for it, may take that long."""
    return replace(
        settings,
        synthesis=_stretched(settings.synthesis, patience),
        deep=replace(_stretched(settings.deep, patience), listen_s=settings.deep.listen_s),
        section=_stretched(settings.section, patience),
        findings=_stretched(settings.findings, patience),
        patience=patience,
    )


def _stretched(group: T, patience: float) -> T:
    times = {entry.name: getattr(group, entry.name) * patience for entry in fields(group) if entry.name.endswith("_s")}
    return replace(group, **times)
