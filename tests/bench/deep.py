"""One deep research of three rounds in a fresh process: its time beside the critical path, its calls and tokens."""

from __future__ import annotations

from tests.bench.conditions import Conditions
from tests.bench.model_script import DEEP_ROUNDS
from tests.bench.questions import failures_of, open_asker, open_outside
from tests.bench.waiting import read_journal
from tests.figures import Goal, Row, format_table

_PURPOSES = ("refined_question", "queries", "facts", "coverage", "answer", "verdicts")


def measure_deep(conditions: Conditions) -> str:
    """The table, as text. Rounds are serial; what a round searches and reads is parallel."""
    with open_outside(conditions.pace, conditions) as outside, open_asker(outside, "tavily", "pubmed") as asker:
        done = asker.ask(outside.environment.questions[0], mode="deep")
        journal = outside.journal()
    asked = done.asked[0]
    waited = read_journal(journal, conditions.pace, asked.began_at, asked.ended_at, rounds=DEEP_ROUNDS)
    rows = [
        Row("wall time", [asked.wall_s], "s", goal=Goal(60)),
        Row("critical path", [waited.path_s], "s"),
        Row("wall ÷ critical path", [asked.wall_s / (waited.path_s or 1e9)], goal=Goal(1.15)),
        Row("own overhead", [asked.wall_s - waited.waiting_s], "s"),
        Row("processor time", [done.cpu_s], "s"),
        Row("peak memory with children", [done.peak_mib], "MiB", digits=0),
        Row("model calls with checks", [asked.model_calls], digits=0),
        Row("prompt tokens", [asked.prompt_tokens], digits=0, goal=Goal(45_000)),
        *(
            Row(
                f"  {purpose}",
                [sum(call.prompt_tokens for call in waited.model_calls if call.purpose == purpose)],
                "tokens",
                digits=0,
            )
            for purpose in _PURPOSES
        ),
        Row("queries", [asked.queries], digits=0),
        Row("searches", [waited.searches], digits=0),
        Row("pages read", [waited.pages], digits=0),
        Row("sources kept", [asked.sources], digits=0),
        Row("words shown", [asked.words], digits=0),
        Row("sentences cut", [asked.removed], digits=0),
    ]
    title = f"deep research: {DEEP_ROUNDS} rounds, {outside.environment.pages} pages, each a site"
    return format_table(title, ("warmed up",), rows) + failures_of([asked])
