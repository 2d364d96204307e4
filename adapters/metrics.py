"""The figures of S003-26 for Prometheus, under exactly the names given there; all others begin with `gorkd_`.

Rates are of everything since the process began. A custom collector keeps the names as they are: the
client's own counters would append `_total`, and its histograms a `_created` series.
"""

from __future__ import annotations

import logging
import math
import threading
from bisect import bisect_left
from collections.abc import Collection, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from core.model.ports import Measurement

logger = logging.getLogger(__name__)

MAX_LABELS = 100  # series a metric; what comes beyond is summed up as `other`
MAX_LABEL_CHARS = 80
# Seconds: the targets of S003-24 (0.5, 5, 15, 30, 60) and steps between them.
BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, math.inf)


class PrometheusRecorder:
    """A `Recorder` with a registry of its own. May be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages = _Histogram(
            "pipeline_stage_duration_seconds", "How long a stage of the pipeline took, in seconds.", "stage"
        )
        self._providers = _Histogram(
            "search_provider_latency_seconds", "How long a search provider took to answer, in seconds.", "provider"
        )
        self._tokens = _Sum("llm_tokens_used", "Prompt and completion tokens of all calls.", ("model",))
        self._costs = _Sum("gorkd_llm_cost_usd", "Dollars of all calls to models that have a price.", ("model",))
        self._ratings = _Sum("gorkd_ratings", "What people thought of their answers.", ("verdict",))
        self._errors = _Sum("gorkd_errors", "Errors by the stage they happened in and their type.", ("stage", "type"))
        self._cache = _Rate("cache_hit_rate", "Share of cache look-ups that found an answer, 0 to 1.")
        self._fetches = _Rate("source_fetch_success_rate", "Share of pages that could be read, 0 to 1.")
        self._waiting = _Level("gorkd_queue_depth", "Jobs that wait for a worker.")
        self._running = _Level("gorkd_jobs_running", "Jobs that are being worked on.")
        self._resumed = _Level("gorkd_jobs_resumed", "Jobs taken up again after an interruption.", 0.0)
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def record(self, measurement: Measurement) -> None:
        """A figure that is no finite number from 0 on is dropped with a debug line."""
        label, value = measurement.label, measurement.value
        if not math.isfinite(value) or value < 0:
            logger.debug("figure dropped: %s %s", measurement.name, value)
            return
        with self._lock:
            match measurement.name:
                case "pipeline_stage_duration_seconds":
                    self._stages.observe(label, value)
                case "search_provider_latency_seconds":
                    self._providers.observe(label, value)
                case "llm_tokens_used":
                    self._tokens.add((label,), value)
                case "llm_cost_usd":
                    self._costs.add((label,), value)
                case "jobs_waiting":
                    self._waiting.value = value
                case "jobs_running":
                    self._running.value = value
                case "jobs_resumed":
                    self._resumed.value += value
                case "cache_lookup":
                    self._cache.observe(value)
                case "source_fetch":
                    self._fetches.observe(value)
                case "ratings":
                    self._ratings.add((label,), value)
                case "errors":
                    stage, _, kind = label.partition(":")
                    self._errors.add((stage, kind), value)

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def collect(self) -> Iterator[Metric]:
        """What the registry asks for."""
        with self._lock:
            families = [part.family() for part in self._parts()]
        yield from families

    def _parts(self) -> tuple[_Histogram | _Sum | _Rate | _Level, ...]:
        return (
            self._stages, self._providers, self._tokens, self._cache, self._fetches,
            self._costs, self._errors, self._waiting, self._running, self._resumed,
            self._ratings,
        )  # fmt: skip


class _Histogram:
    def __init__(self, name: str, text: str, label: str) -> None:
        self._name, self._text, self._label = name, text, label
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}

    def observe(self, label: str, seconds: float) -> None:
        labels = _bounded((label,), self._counts)
        counts = self._counts.setdefault(labels, [0] * len(BUCKETS_S))
        counts[bisect_left(BUCKETS_S, seconds)] += 1
        self._sums[labels] = self._sums.get(labels, 0.0) + seconds

    def family(self) -> Metric:
        family = HistogramMetricFamily(self._name, self._text, labels=[self._label])
        for labels, counts in self._counts.items():
            up_to = [float(sum(counts[: place + 1])) for place in range(len(counts))]
            buckets = list(zip(map(floatToGoString, BUCKETS_S), up_to, strict=True))
            family.add_metric(labels, buckets=buckets, sum_value=self._sums[labels])
        return family


class _Sum:
    def __init__(self, name: str, text: str, labels: tuple[str, ...]) -> None:
        self._name, self._text, self._labels = name, text, labels
        self._sums: dict[tuple[str, ...], float] = {}

    def add(self, labels: tuple[str, ...], value: float) -> None:
        labels = _bounded(labels, self._sums)
        self._sums[labels] = self._sums.get(labels, 0.0) + value

    def family(self) -> Metric:
        family = GaugeMetricFamily(self._name, self._text, labels=self._labels)
        for labels, value in self._sums.items():
            family.add_metric(labels, value)
        return family


class _Rate:
    """NaN until there is something to take a share of."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._text = name, text
        self._hits = 0.0
        self._tries = 0

    def observe(self, value: float) -> None:
        self._hits += min(value, 1.0)
        self._tries += 1

    def family(self) -> Metric:
        return GaugeMetricFamily(self._name, self._text, value=self._hits / self._tries if self._tries else math.nan)


class _Level:
    """One number; NaN, the default, until it has been looked at."""

    def __init__(self, name: str, text: str, value: float = math.nan) -> None:
        self._name, self._text, self.value = name, text, value

    def family(self) -> Metric:
        return GaugeMetricFamily(self._name, self._text, value=self.value)


def _bounded(labels: tuple[str, ...], known: Collection[tuple[str, ...]]) -> tuple[str, ...]:
    """The labels cut to length, or `other` for each when there are as many series as there may be."""
    labels = tuple(label[:MAX_LABEL_CHARS] for label in labels)
    return labels if labels in known or len(known) < MAX_LABELS else ("other",) * len(labels)
