"""Every tunable of the core, with unit, range and origin. `bots/config.py` fills what the environment may change."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from core.job import QuestionType

MAX_QUERY_CHARS = 1999  # code points after NFC; "< 2000 chars" (S003-01)


@dataclass(frozen=True)
class SearchSettings:
    """Stage 3. Times in seconds."""

    provider_timeout_s: float = 10.0  # S003-08
    connect_timeout_s: float = 2.0  # an unreachable provider must not cost the answer its five seconds
    results_per_query: int = 10  # what providers return by default
    fetch_timeout_s: float = 10.0
    fetch_concurrency: int = 10  # one page a kept source
    pages_to_fetch: int = 14  # more than max_sources, so that unreadable pages can be replaced
    max_sources: int = 10  # S003-11
    max_per_domain: int = 3  # S003-11, domain diversity
    min_relevance: float = 0.12  # 0…1; a source below has next to nothing in common with the question


@dataclass(frozen=True)
class SynthesisSettings:
    """Stage 4. Tokens are estimated (core/llm.py)."""

    max_prompt_tokens: int = 7000  # leaves room below 8k for prompt, schema and estimate error
    max_answer_tokens: int = 1500
    max_plan_tokens: int = 300
    model_timeout_s: float = 45.0  # below the 60 s deadline, so that there is time to end well
    plan_timeout_s: float = 15.0
    max_summary_words: int = 120


@dataclass(frozen=True)
class CacheSettings:
    """How long an answer may be repeated, by kind of question; the answer says how old it is."""

    ttl: dict[QuestionType, timedelta] = field(
        default_factory=lambda: {
            QuestionType.CURRENT_EVENT: timedelta(hours=6),  # news moves within a day
            QuestionType.FACTUAL: timedelta(days=7),  # facts are corrected within days
            QuestionType.COMPARISON: timedelta(days=30),  # products and methods change by the month
            QuestionType.EXPLANATION: timedelta(days=90),  # how things work rarely changes
        }
    )


@dataclass(frozen=True)
class Settings:
    search: SearchSettings = SearchSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    cache: CacheSettings = CacheSettings()
    max_waiting_jobs: int = 200  # questions in the queue before new ones are refused
    concurrent_jobs: int = 24  # a job mostly waits; 20 at once must not queue
    prices_usd_per_million: dict[str, tuple[float, float]] = field(default_factory=dict)
