"""What the core measures, as frozen records handed to one hook; a backend is an adapter's business.

Also the job's id for log lines: whatever is logged while a job runs carries it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

job_id_var: ContextVar[str] = ContextVar("job_id", default="")

MeasurementName = Literal[
    "pipeline_stage_duration_seconds",  # label: stage
    "search_provider_latency_seconds",  # label: provider
    "llm_tokens_used",  # label: model; value is tokens of one call
    "llm_cost_usd",  # label: model; value is dollars of one call
    "jobs_waiting",  # value is how many jobs wait for a worker now
    "jobs_running",  # value is how many jobs are being worked on now
    "jobs_resumed",  # value 1 for a job that a crash or a stop had interrupted
    "cache_lookup",  # value 1 for a hit, 0 for a miss; shown as cache_hit_rate
    "source_fetch",  # value 1 for a page read, 0 for one that failed; shown as source_fetch_success_rate
    "ratings",  # label: good or bad; value 1
    "errors",  # label: stage:type; value 1
]


@dataclass(frozen=True)
class Measurement:
    """`label` is the one dimension the name has ("" if none); seconds are seconds, counts are counts."""

    name: MeasurementName
    value: float
    label: str = ""


class NoRecorder:
    """A recorder for callers that want no figures."""

    def record(self, measurement: Measurement) -> None:
        pass
