"""How long an answer to a question may be repeated, and whether it is an answer of one day only.

Rules of words, in the languages that questions mostly come in; a doubtful question counts as the shorter-lived kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import regex

from core.model.job import QueryIntent, QuestionType


class Lifetime(StrEnum):
    """Kinds of questions by how fast their answers go stale; the table is in core/model/config.py."""

    LIVE = "live"
    CURRENT = "current"
    FACT = "fact"
    COMPARISON = "comparison"
    EXPLANATION = "explanation"
    SETTLED = "settled"


_LIVE = regex.compile(
    r"\b(?:(?:share|stock|spot|bitcoin|btc|eth|ethereum|gold|oil|gas) prices?|prices? of (?:bitcoin|gold|oil|gas)"
    r"|stock quotes?|market cap|exchange rates?|convert \p{L}{3} to|weather|forecast|temperature in|traffic (?:on|in)"
    r"|live (?:scores?|updates?|results?)|the score|right now|at the moment|is \S+ down|outage|status page"
    r"|queue times?|wetter|wechselkurs|météo|clima en)\b",
    regex.IGNORECASE,
)
# "latest" and the like mean another thing tomorrow.
_OF_THE_DAY = regex.compile(
    r"\b(?:to-?day|to-?night|tomorrow|yesterday|now|currently|current|latest|newest|most recent|recent(?:ly)?|so far"
    r"|this (?:morning|evening|week|month|year|quarter|season)|last (?:night|week|month)|up to date|as of|these days"
    r"|breaking|news|just (?:announced|released|happened)|heute|gestern|morgen|aktuell\p{L}*|neueste\p{L}*|jetzt"
    r"|derzeit|aujourd['’]hui|actuel\p{L}*|dernier\p{L}*|dernière\p{L}*|hoy|ahora|actualmente|actualidad|últim\p{L}*)\b"
    r"|今日|今天|最新|现在|現在|сегодня|сейчас|последн",
    regex.IGNORECASE,
)
SETTLED_YEARS = 2  # a year so long past is written history: reports of it are corrected in the first months

_OF_TYPE = {
    QuestionType.CURRENT_EVENT: Lifetime.CURRENT,
    QuestionType.FACTUAL: Lifetime.FACT,
    QuestionType.COMPARISON: Lifetime.COMPARISON,
    QuestionType.EXPLANATION: Lifetime.EXPLANATION,
}


def is_of_the_day(query: str, intent: QueryIntent) -> bool:
    """Whether the same words ask for another thing tomorrow."""
    is_recent = intent.time_constraint is not None and intent.time_constraint.kind == "recent"
    is_undated_news = intent.question_type is QuestionType.CURRENT_EVENT and intent.time_constraint is None
    return is_recent or is_undated_news or _OF_THE_DAY.search(query) is not None or _LIVE.search(query) is not None


def lifetime_of(query: str, intent: QueryIntent, *, now: datetime) -> Lifetime:
    """By its words first, then by the time it asks about, then by its type."""
    if _LIVE.search(query):
        return Lifetime.LIVE
    time = intent.time_constraint
    if time is not None and time.kind == "date" and time.value[:4].isdigit():
        is_past = int(time.value[:4]) <= now.year - SETTLED_YEARS
        if is_past and not is_of_the_day(query, intent):
            return Lifetime.SETTLED
    return _OF_TYPE[intent.question_type]


def time_to_live(
    query: str,
    intent: QueryIntent,
    *,
    planned: QuestionType | None,
    table: Mapping[Lifetime, timedelta],
    retention: timedelta | None,
    now: datetime,
) -> timedelta:
    """From `now` on, never longer than `retention`, and not beyond the day (UTC) where the question is of the day.

    `planned` is what the plan call made of the question; the shorter-lived reading counts.
    """
    lifetimes = [table[lifetime_of(query, intent, now=now)]]
    if planned is not None and planned is not intent.question_type:
        lifetimes.append(table[_OF_TYPE[planned]])
    if is_of_the_day(query, intent) or planned is QuestionType.CURRENT_EVENT:
        lifetimes.append(_rest_of_day(now))
    if retention is not None:
        lifetimes.append(retention)
    return min(lifetimes)


def _rest_of_day(now: datetime) -> timedelta:
    moment = now.astimezone(UTC)
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return midnight - moment
