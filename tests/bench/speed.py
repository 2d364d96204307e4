"""The goals of a question's speed and price in one run of some six minutes: alone, quick, many, deep, and workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import median
from urllib.error import URLError

from tests.bench.asker import Asked, RoundDone
from tests.bench.conditions import Conditions
from tests.bench.deep import measure_deep
from tests.bench.durable import measure_durable
from tests.bench.outside import Journal
from tests.bench.questions import Asker, Outside, failures_of, open_asker, open_outside, percentile
from tests.bench.usage import cpu_s, peak_mib
from tests.bench.waiting import CHECKS, Waited, read_journal
from tests.figures import Goal, Row, format_table

ALONE = 5  # questions one after another; more would take the run beyond its six minutes
_READY_WITHIN_S, _WARM_AFTER_S, _IDLE_S = 60.0, 2.0, 10.0


def measure_speed(conditions: Conditions) -> str:
    """The tables, as text."""
    with open_outside(conditions.pace, conditions) as outside:
        started = _start_all(outside.environment.variables)
        with open_asker(outside, "tavily") as asker:
            alone = [asker.ask(question) for question in outside.environment.questions[:ALONE]]
            journal = outside.journal()
            quick = _ask_quickly(outside, asker, conditions)
        with open_asker(outside, "tavily") as asker:
            many = asker.ask(*outside.environment.questions[: conditions.questions_at_once])
        crowd = outside.journal()
    tables = [
        _table_of_each(alone, journal, conditions),
        _table_of_all(quick, many, crowd, started, conditions),
        measure_deep(conditions),
        measure_durable(conditions),
    ]
    return "\n".join(tables)


def _ask_quickly(outside: Outside, asker: Asker, conditions: Conditions) -> tuple[Asked, Asked]:
    """A question at the quick pace, and the same again on sources that are known."""
    outside.keep(replace(conditions.pace, token_s=conditions.quick_token_s))
    question = outside.environment.questions[ALONE]
    standard, known = asker.ask(question).asked[0], asker.ask(question).asked[0]
    outside.keep(conditions.pace)
    return standard, known


def _table_of_each(alone: Sequence[RoundDone], journal: Journal, conditions: Conditions) -> str:
    asked = [done.asked[0] for done in alone]
    waited = [read_journal(journal, conditions.pace, one.began_at, one.ended_at) for one in asked]
    pairs = list(zip(asked, waited, strict=True))
    first_token_s = conditions.pace.first_token_s
    checks = [sum(call.purpose in CHECKS for call in one.model_calls) for one in waited]
    prompts = [sum(call.prompt_tokens for call in one.model_calls if call.purpose not in CHECKS) for one in waited]
    rows = [
        Row(
            "first checked sentence, verbatim",
            [_first_s(*pair, first_token_s, is_judged=False) for pair in pairs],
            "s",
            2,
            Goal(3.2),
        ),
        Row(
            "first checked sentence, judged",
            [_first_s(*pair, first_token_s, is_judged=True) for pair in pairs],
            "s",
            2,
            Goal(4.5),
        ),
        Row("begun before the plan was made", [float(_is_early(one)) for one in waited], digits=0),
        Row("whole answer", [one.wall_s for one in asked], "s", goal=Goal(13)),
        Row("critical path", [one.path_s for one in waited], "s"),
        Row("behind the last token", [one.behind_s for one in waited], "s", goal=Goal(1.5)),
        Row(
            "model calls besides checks",
            [len(o.model_calls) - n for o, n in zip(waited, checks, strict=True)],
            "",
            0,
            Goal(3),
        ),
        Row("  their prompt tokens", prompts, digits=0, goal=Goal(15_000)),
        Row(
            "  shared",
            [max(c.shared_tokens for c in one.model_calls) for one in waited],
            "",
            0,
            Goal(5000, is_floor=True),
        ),
        Row(
            "checks a sentence", [n / max(one.claims, 1) for one, n in zip(asked, checks, strict=True)], goal=Goal(0.5)
        ),
        Row("at list price", [100 * one.cost_usd for one in asked], "cents"),
        Row("processor time", [done.cpu_s for done in alone], "s", goal=Goal(0.7)),
    ]
    answered = [place for place, one in enumerate(asked) if not one.failure]
    columns = [f"question {place + 1}" for place in range(len(asked))]
    return format_table("speed: alone, one after another", columns, [row.only(answered) for row in rows]) + failures_of(
        asked
    )


def _table_of_all(
    quick: tuple[Asked, Asked], many: RoundDone, crowd: Journal, started: StartOfAll, conditions: Conditions
) -> str:
    asked = many.asked
    took_s = max(one.ended_at for one in asked) - min(one.began_at for one in asked)
    firsts = [one.first_text_at - one.began_at for one in asked if one.first_text_at is not None]
    standard, known = quick
    token_ms = 1000 * conditions.quick_token_s
    rows = [
        Row(f"at {token_ms:g} ms a token", [None if standard.failure else standard.wall_s], "s", goal=Goal(6)),
        Row("  on known sources", [None if known.failure else known.wall_s], "s", goal=Goal(4.5)),
        Row(f"{len(asked)} at once", [60 * len(asked) / took_s], "a minute", 1, Goal(38, is_floor=True)),
        Row("  failing", [sum(bool(one.failure) for one in asked)], "", 0, Goal(0)),
        Row("  whole answer, median", [median(one.wall_s for one in asked)], "s"),
        Row("  first checked sentence, p95", [percentile(firsts, 95)], "s", goal=Goal(6)),
        Row("  processor time of each", [many.cpu_s / len(asked)], "s", goal=Goal(0.7)),
        Row("  peak of all processes", [many.peak_mib], "MiB", 0, Goal(300)),
        Row("  the outside's own lateness, worst", [crowd.late_s], "s"),
        Row("gorkd all until it says that it is ready", [started.ready_cpu_s], "CPU-s", goal=Goal(2)),
        Row("  and all is loaded", [started.warm_cpu_s], "CPU-s", goal=Goal(2)),
        Row("  peak of all processes", [started.peak_mib], "MiB", 0, Goal(300)),
        Row("  idle, of a processor", [100 * started.idle], "%", goal=Goal(2)),
    ]
    return format_table("speed: quick, at once, and the start", ("",), rows) + failures_of([*quick, *asked])


def _first_s(asked: Asked, waited: Waited, first_token_s: float, *, is_judged: bool) -> float | None:
    """Until the first sentence, where it waited for the first words of a check or did not, as is asked."""
    if asked.first_text_at is None:
        return None
    heard = [call.at + first_token_s for call in waited.model_calls if call.purpose == "verdicts"]
    has_waited = min(heard, default=asked.ended_at) <= asked.first_text_at
    return asked.first_text_at - asked.began_at if has_waited is is_judged else None


def _is_early(waited: Waited) -> bool:
    plan_ends = [call.at + call.lasts_s for call in waited.model_calls if call.purpose == "plan"]
    answers = [call.at for call in waited.model_calls if call.purpose == "answer"]
    return bool(plan_ends and answers) and min(answers) < min(plan_ends)


@dataclass(frozen=True)
class StartOfAll:
    """`gorkd all`: processor time until it says that it is ready, and until it rests; `idle` is of one processor."""

    ready_cpu_s: float
    warm_cpu_s: float
    peak_mib: float
    idle: float


def _start_all(env: dict[str, str]) -> StartOfAll:
    """Raises `TimeoutError` where it does not get ready."""
    with socket.socket() as free, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        own = {"HOST": "127.0.0.1", "PORT": str(port), "GORKD_DATA": folder, "GORKD_PROVIDERS": "tavily"}
        paths = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path[:1])}
        process = subprocess.Popen(
            [sys.executable, "-m", "bots", "all"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**paths, **env, **own},
            cwd=folder,
        )
        try:
            _wait_until_ready(port)
            ready = cpu_s(process.pid)
            warm = _rested(process.pid)
            time.sleep(_IDLE_S)
            return StartOfAll(ready, warm, peak_mib(process.pid), (cpu_s(process.pid) - warm) / _IDLE_S)
        finally:
            process.terminate()
            process.wait()


def _wait_until_ready(port: int) -> None:
    ends_at = time.monotonic() + _READY_WITHIN_S
    while time.monotonic() < ends_at:
        with suppress(URLError, ConnectionError), urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
            return
        time.sleep(0.05)
    raise TimeoutError("gorkd all did not get ready")


def _rested(pid: int) -> float:
    """Processor time once next to none is added to it."""
    known, before = cpu_s(pid), -1.0
    while known - before > 0.05 * _WARM_AFTER_S:
        time.sleep(_WARM_AFTER_S)
        known, before = cpu_s(pid), known
    return known
