"""The figures appear under exactly the names of S003-26."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from adapters.observability import MAX_LABELS, PrometheusRecorder
from core.model.ports import Measurement, MeasurementName

NAMES = {
    "pipeline_stage_duration_seconds",
    "search_provider_latency_seconds",
    "llm_tokens_used",
    "cache_hit_rate",
    "source_fetch_success_rate",
    "gorkd_errors",
    "gorkd_jobs_resumed",
    "gorkd_jobs_running",
    "gorkd_llm_cost_usd",
    "gorkd_queue_depth",
    "gorkd_ratings",
}


@pytest.fixture
def recorder() -> PrometheusRecorder:
    return PrometheusRecorder()


def parsed(recorder: PrometheusRecorder):
    return {family.name: family for family in text_string_to_metric_families(recorder.render().decode())}


def values(recorder: PrometheusRecorder, name: str) -> dict[tuple[str, ...], float]:
    """The samples called `name`, by their label values in the order of the label names."""
    return {
        tuple(value for _, value in sorted(sample.labels.items())): sample.value
        for family in parsed(recorder).values()
        for sample in family.samples
        if sample.name == name
    }


@pytest.mark.parametrize("is_used", [False, True], ids=["fresh", "used"])
def test_exposition_has_exactly_these_names(recorder, is_used):
    """S003-26: no `_total`, no `_created`, before and after the first figure; what is ours alone is called ours."""
    for name in get_args(MeasurementName) if is_used else ():
        recorder.record(Measurement(name, 1.0, "search:timeout"))

    assert set(parsed(recorder)) == NAMES


def test_every_measurement_of_the_core_shows(recorder):
    """A name that the core records and nobody exposes would be lost silently."""
    for name in get_args(MeasurementName):
        before = recorder.render()

        recorder.record(Measurement(name, 1.0, "search:timeout"))

        assert recorder.render() != before, name


@pytest.mark.parametrize(
    ("name", "label"),
    [("pipeline_stage_duration_seconds", "stage"), ("search_provider_latency_seconds", "provider")],
)
def test_durations_are_histograms_by_their_label(recorder, name, label):
    """Count, sum and cumulative buckets; a bucket includes its bound."""
    for seconds in (0.3, 0.5, 7.0, 120.0):
        recorder.record(Measurement(name, seconds, "plan"))

    family = parsed(recorder)[name]
    buckets = {sample.labels["le"]: sample.value for sample in family.samples if sample.name == f"{name}_bucket"}
    assert family.type == "histogram"
    assert [buckets[bound] for bound in ("0.25", "0.5", "10.0", "60.0", "+Inf")] == [0, 2, 3, 3, 4]
    assert values(recorder, f"{name}_count") == {("plan",): 4}
    assert values(recorder, f"{name}_sum")["plan",] == pytest.approx(127.8)
    assert {key for sample in family.samples for key in sample.labels} == {label, "le"}


@pytest.mark.parametrize(
    ("measured", "shown", "recorded", "sums"),
    [
        pytest.param(
            "llm_tokens_used", "llm_tokens_used", [("small", 100), ("large", 7), ("small", 23)],
            {("small",): 123, ("large",): 7}, id="tokens of one call, by model",
        ),
        pytest.param(
            "llm_cost_usd", "gorkd_llm_cost_usd", [("small", 0.0004), ("large", 0.02), ("small", 0.0001)],
            {("small",): pytest.approx(0.0005), ("large",): 0.02}, id="dollars of one call, far below a cent each",
        ),
        pytest.param(
            "ratings", "gorkd_ratings", [("good", 1), ("bad", 1), ("good", 1)],
            {("good",): 2, ("bad",): 1}, id="votes, 👍 and 👎 apart",
        ),
        pytest.param(
            "errors", "gorkd_errors",
            [("search:ProviderTimeout", 1), ("search:ProviderTimeout", 1), ("deliver:StoreError", 1), ("plan", 1)],
            {("search", "ProviderTimeout"): 2, ("deliver", "StoreError"): 1, ("plan", ""): 1},
            id="errors by stage and type",
        ),
    ],
)  # fmt: skip
def test_what_is_recorded_adds_up_by_its_label(recorder, measured, shown, recorded, sums):
    """S003-25: error counts by type; S003-26."""
    for label, value in recorded:
        recorder.record(Measurement(measured, value, label))

    assert values(recorder, shown) == sums


@pytest.mark.parametrize(
    ("measured", "shown"), [("jobs_waiting", "gorkd_queue_depth"), ("jobs_running", "gorkd_jobs_running")]
)
def test_levels_show_the_last_look_and_nothing_before_the_first(recorder, measured, shown):
    """An empty queue is 0, an unknown one is not."""
    before = values(recorder, shown)[()]

    for level in (3, 7, 0):
        recorder.record(Measurement(measured, level))

    assert math.isnan(before)
    assert values(recorder, shown) == {(): 0}


def test_resumed_jobs_are_counted_from_nought(recorder):
    """Two interrupted jobs, two more to see."""
    before = values(recorder, "gorkd_jobs_resumed")

    recorder.record(Measurement("jobs_resumed", 1))
    recorder.record(Measurement("jobs_resumed", 1))

    assert before == {(): 0}
    assert values(recorder, "gorkd_jobs_resumed") == {(): 2}


@pytest.mark.parametrize(
    ("measured", "shown"), [("cache_lookup", "cache_hit_rate"), ("source_fetch", "source_fetch_success_rate")]
)
def test_rate_is_the_share_of_hits_and_undefined_before_the_first(recorder, measured, shown):
    """0 of 0 is neither good nor bad."""
    before = values(recorder, shown)[()]

    for hit in (1, 0, 0, 1, 1):
        recorder.record(Measurement(measured, hit))

    assert math.isnan(before)
    assert values(recorder, shown) == {(): pytest.approx(0.6)}


@pytest.mark.parametrize("name", ["llm_tokens_used", "search_provider_latency_seconds", "errors"])
def test_number_of_series_is_bounded_and_nothing_is_lost(recorder, name):
    """Labels that come from outside cannot fill the memory; the surplus is summed up."""
    for number in range(MAX_LABELS * 3):
        recorder.record(Measurement(name, 1.0, f"label {number}" + "x" * 1000))

    sample = {"errors": "gorkd_errors", "search_provider_latency_seconds": "search_provider_latency_seconds_count"}
    shown = values(recorder, sample.get(name, name))
    assert len(shown) == MAX_LABELS + 1
    assert sum(shown.values()) == MAX_LABELS * 3
    assert len(recorder.render()) < 300_000


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_figure_that_is_none_is_dropped(recorder, value):
    """One broken clock does not spoil a sum for ever."""
    before = recorder.render()

    recorder.record(Measurement("llm_tokens_used", value, "small"))

    assert recorder.render() == before


def test_label_with_quotes_and_line_breaks_stays_one_label(recorder):
    """A model's name is the operator's own text."""
    name = 'my "model"\\\nv2'

    recorder.record(Measurement("llm_tokens_used", 5, name))

    assert values(recorder, "llm_tokens_used") == {(name,): 5}


def test_recorders_do_not_share_figures(recorder):
    """Each has its own registry."""
    recorder.record(Measurement("llm_tokens_used", 5, "small"))

    assert values(PrometheusRecorder(), "llm_tokens_used") == {}
