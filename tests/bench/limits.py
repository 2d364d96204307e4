"""The fixed limits on a question's time, with a fast model: standard, complex, and asked before (S003-24)."""

from __future__ import annotations

from dataclasses import replace

from tests.bench.asker import Asked
from tests.bench.conditions import Conditions
from tests.bench.outside import ROBOTS
from tests.bench.questions import Asker, Outside, failures_of, open_asker, open_outside
from tests.figures import Goal, Row, format_table


def measure_limits(conditions: Conditions) -> str:
    """The table, as text."""
    pace = replace(conditions.pace, token_s=conditions.quick_token_s)
    with open_outside(pace, conditions) as outside:
        question, other, *_ = outside.environment.questions
        with open_asker(outside, "tavily") as asker:
            standard = asker.ask(question).asked[0]
            on_known_sources = asker.ask(question).asked[0]
        with open_asker(outside, "tavily", "exa") as asker:
            complex_one = asker.ask(other, depth="deep").asked[0]
        # Loopback sites have no standing; journals do, and only answers of some confidence are kept (D12).
        with open_asker(outside, "pubmed") as asker:
            asker.ask(question)
            again = _ask_again(asker, question, times=conditions.repeats)
        straggling = _straggle(outside)
    title = f"limits: model {pace.first_token_s:g} s + {1000 * pace.token_s:g} ms a token, else as before"
    rows = [
        Row("standard question", [_wall_s(standard)], "s", goal=Goal(6)),
        Row("the same on sources read before", [_wall_s(on_known_sources)], "s", goal=Goal(4.5)),
        Row("  its first text", [_first_text_s(on_known_sources)], "s", goal=Goal(5)),
        Row("complex question", [_wall_s(complex_one)], "s", goal=Goal(30)),
        Row("  its providers", [len(complex_one.providers)], digits=0, goal=Goal(2, is_floor=True)),
        Row("  its queries", [complex_one.queries], digits=0, goal=Goal(4, is_floor=True)),
        Row("  its sources", [complex_one.sources], digits=0, goal=Goal(10, is_floor=True)),
        *(Row(f"search stage, {name}", [took_s], "s", goal=goal) for name, took_s, goal in straggling),
        Row("asked before, inside, slowest", [_slowest_ms(again, inside=True)], "ms", 1, Goal(50)),
        Row("asked before, for a follower, slowest", [_slowest_ms(again, inside=False)], "ms", 1, Goal(500)),
        Row("answers that did not come from the cache", [sum(not e.is_cached for e in again)], "", 0, Goal(0)),
    ]
    return format_table(title, ("",), rows) + failures_of([standard, on_known_sources, complex_one, *again])


def _straggle(outside: Outside) -> list[tuple[str, float | None, Goal | None]]:
    """How long searching and reading take when all goes well, with one page that hangs and with one provider."""
    question = outside.environment.questions[2]
    known = len(outside.journal().pages)
    plain = _fresh(outside, question)
    read = [path for _, path in outside.journal().pages[known:] if path != ROBOTS]
    outside.hang(read[-1])
    page = _fresh(outside, question)
    outside.hang("tavily")
    provider = _fresh(outside, question)
    outside.hang()
    if plain is None:
        return [("nothing hangs", None, None)]
    goal = Goal(plain + 2.0)  # 1.5 s, and what this machine adds
    after_it = outside.pace.search_s + 2 * outside.pace.page_s  # of the provider that stands in, robots.txt and pages
    return [
        ("nothing hangs", plain, None),
        ("one page hangs", page, goal),
        ("the provider hangs", provider, Goal(goal.limit + after_it)),
    ]


def _fresh(outside: Outside, question: str) -> float | None:
    """Of a house that has read nothing yet; Tavily is asked first, Exa where it does not answer."""
    with open_asker(outside, "tavily", "exa") as asker:
        asked = asker.ask(question).asked[0]
    return None if asked.failure else asked.search_s


def _ask_again(asker: Asker, question: str, *, times: int) -> list[Asked]:
    """Up to `times` answers; stops at one that was worked out anew, since then all would be."""
    again: list[Asked] = []
    while len(again) < times and all(entry.is_cached for entry in again):
        again += asker.ask(question).asked
    return again


def _wall_s(asked: Asked) -> float | None:
    return None if asked.failure else asked.wall_s


def _first_text_s(asked: Asked) -> float | None:
    """None also for one that was answered from the answer cache: then no source was used again."""
    if asked.failure or asked.is_cached or asked.first_text_at is None:
        return None
    return asked.first_text_at - asked.began_at


def _slowest_ms(asked: list[Asked], *, inside: bool) -> float:
    return 1000 * max(entry.inside_s if inside else entry.wall_s for entry in asked)
