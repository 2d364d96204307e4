"""What is stored comes back as it was, and what is not ours is refused."""

from __future__ import annotations

import functools
import json
import traceback
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.answer import JobResult, ResearchAnswer
from core.model.codec import decode, encode
from core.model.errors import StoreError
from core.model.job import JobStatus, QueryIntent, QuestionType, ResearchJob, ResearchRequest, Scope
from core.model.source import SearchPlan, Source

TIMES = st.datetimes(timezones=st.just(UTC))
TEXT = st.text(st.characters(exclude_categories=("Cs",)))
FINITE = st.floats(allow_nan=False, allow_infinity=False)
JOB = ResearchJob(
    id="job_1",
    request=ResearchRequest("why?", Scope("local", "workspace")),
    intent=QueryIntent(QuestionType.FACTUAL),
    status=JobStatus.PENDING,
    created_at=datetime(2026, 3, 1, tzinfo=UTC),
)


@functools.cache  # registering forgets what Hypothesis has worked out of each type
def ours(kind):
    """Values of one of our types with every field drawn, text with anything but lone surrogates."""
    st.register_type_strategy(datetime, TIMES)
    st.register_type_strategy(float, FINITE)
    st.register_type_strategy(str, TEXT)
    if kind is JobResult:
        return st.builds(JobResult, answer=st.none() | ours(ResearchAnswer), details=st.dictionaries(TEXT, TEXT))
    return st.from_type(kind)


@given(st.data())
@pytest.mark.parametrize("kind", [ResearchJob, Source, JobResult, SearchPlan], ids=lambda kind: kind.__name__)
def test_value_survives_the_round_trip(kind, data):
    """Law: decode(encode(value)) == value, of the same types throughout."""
    value = data.draw(ours(kind))

    restored = decode(encode(value), kind)

    assert restored == value
    assert encode(restored) == encode(value)


def test_time_in_another_zone_is_the_same_moment():
    """Times are compared as moments."""
    local = datetime(2026, 3, 1, 14, tzinfo=timezone(timedelta(hours=2)))

    restored = decode(encode([local]), list)

    assert datetime.fromisoformat(restored[0]) == local


def test_row_says_its_version_and_type():
    """So that tomorrow's code knows what it reads."""
    row = json.loads(encode(JOB))

    assert (row["v"], row["type"]) == (1, "ResearchJob")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(encode(JOB).replace('"v":1', '"v":2', 1), id="later version"),
        pytest.param(encode(JOB.request), id="another of our types"),
        pytest.param(encode(JOB).replace('"status":"pending"', '"status":"asleep"'), id="unknown status"),
        pytest.param(encode(JOB).replace('"id":"job_1",', ""), id="missing field"),
        pytest.param(encode(JOB)[:-10], id="cut short"),
        pytest.param('{"v":1,"type":"ResearchJob"}', id="no value"),
        pytest.param("[]", id="no object"),
        pytest.param("", id="empty"),
        pytest.param("\x80\x04\x95pickle", id="no JSON"),
    ],
)
def test_row_that_is_not_ours_is_refused(text):
    """A damaged or foreign row is a `StoreError`, never a half-read value."""
    with pytest.raises(StoreError):
        decode(text, ResearchJob)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param(encode(JOB).replace('"id":"job_1",', ""), "id", id="missing field"),
        pytest.param(encode(JOB).replace('"query":"why?"', '"query":["why?"]'), "request.query", id="other shape"),
        pytest.param(encode(JOB)[:-10], "", id="cut short"),
    ],
)
def test_refusal_says_where_and_quotes_nothing_of_what_is_stored(text: str, place: str):
    """It goes into the log, with its traceback, and to the person who asked: one sentence without a question in it."""
    with pytest.raises(StoreError) as refused:
        decode(text, ResearchJob)

    logged = "".join(traceback.format_exception(refused.value))
    assert place in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "why?" not in logged
    assert refused.value.user_message.endswith("please try again soon.")
