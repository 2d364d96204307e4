"""How long an answer may be repeated: by kind of question, by the day, by what is kept at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.config import CacheSettings, Lifetime
from core.model.job import QuestionType
from core.stages.intake import is_of_the_day, lifetime_of, parse_intent, time_to_live
from tests.fakes import NOW

TABLE = CacheSettings().ttl


def lives(query: str, *, planned: QuestionType | None = None, retention=None, now: datetime = NOW) -> timedelta:
    intent = parse_intent(query)
    return time_to_live(query, intent, planned=planned, table=TABLE, retention=retention, now=now)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("What is the bitcoin price?", Lifetime.LIVE),
        ("Weather in Oslo", Lifetime.LIVE),
        ("How many people live in Tokyo?", Lifetime.FACT),
        ("Who is the CEO of OpenAI?", Lifetime.FACT),
        ("What happened in Gaza in March 2026?", Lifetime.FACT),
        ("PostgreSQL vs MySQL", Lifetime.COMPARISON),
        ("How does photosynthesis work?", Lifetime.EXPLANATION),
        ("Who won the World Cup in 2018?", Lifetime.SETTLED),
        ("What is the latest on the 2018 World Cup?", Lifetime.CURRENT),
    ],
)
def test_kinds_of_questions(query: str, kind: Lifetime) -> None:
    """S003-04: minutes for live facts, days for events, months for what is settled."""
    assert lifetime_of(query, parse_intent(query), now=NOW) is kind


@pytest.mark.parametrize(
    "query",
    [
        "What is the latest version of Node.js?",
        "Who is the current prime minister of Japan?",
        "What is in the news?",
        "Was ist heute passiert?",
        "今日のニュース",
    ],
)
@pytest.mark.parametrize("hour", [0, 9, 23])
def test_what_is_of_today_never_outlives_the_day(query: str, hour: int) -> None:
    """D12: "today", "latest" and the like end at midnight, UTC."""
    now = datetime(2026, 6, 1, hour, 59, tzinfo=UTC)

    assert is_of_the_day(query, parse_intent(query))
    assert now + lives(query, now=now) <= datetime(2026, 6, 2, tzinfo=UTC)


def test_the_plans_reading_can_only_shorten() -> None:
    """A question that the model takes for news lives no longer than news, and for today."""
    plain, planned = lives("What did the senate decide?"), QuestionType.CURRENT_EVENT

    assert lives("What did the senate decide?", planned=planned) == timedelta(hours=12)
    assert lives("What did the senate decide?", planned=QuestionType.EXPLANATION) == plain


@given(query=st.text(min_size=1, max_size=80), days=st.integers(0, 400), planned=st.sampled_from([None, *QuestionType]))
def test_nothing_is_repeated_for_longer_than_it_is_kept(query: str, days: int, planned: QuestionType | None) -> None:
    """The retention bounds every kind."""
    retention = timedelta(days=days)

    assert lives(query, planned=planned, retention=retention) <= retention
