"""One question in a fresh process, with and without warm-up, a second one, and many at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles

from core.model.job import Depth
from tests.bench.asker import Asked, OpenHouse, Ready, Round, RoundDone
from tests.bench.conditions import Conditions, Pace
from tests.bench.model_script import ModelCall
from tests.bench.outside import Environment, Journal, Opening
from tests.bench.peers import Peer, started
from tests.bench.waiting import CHECKS, Waited, read_journal
from tests.figures import Goal, Row, format_table

OUTSIDE, ASKER = "tests.bench.outside", "tests.bench.asker"
_COLUMNS = ("first, warmed up", "first, cold", "second")


class Outside:
    """The loopback world in its own process."""

    def __init__(self, peer: Peer, environment: Environment, pace: Pace) -> None:
        self._peer = peer
        self.environment = environment
        self.pace = pace

    def journal(self) -> Journal:
        self._peer.say("journal")
        return self._peer.hear(Journal)

    def keep(self, pace: Pace) -> None:
        """From now on the model writes at this pace."""
        self._peer.tell(pace, word="pace")
        self._peer.hear(Journal)

    def hang(self, what: str = "") -> None:
        """From now on this page (by path) or provider (by name) never answers; nothing hangs when it is ""."""
        self._peer.say(f"hang {what}".strip())
        self._peer.hear(Journal)


class Asker:
    """A house in its own process, ready for questions. `start_cpu_s` is what getting ready cost."""

    def __init__(self, peer: Peer, start_cpu_s: float) -> None:
        self._peer = peer
        self.start_cpu_s = start_cpu_s

    def ask(self, *questions: str, depth: Depth = "light", mode: str = "quick") -> RoundDone:
        self._peer.tell(Round(questions, depth, mode))
        return self._peer.hear(RoundDone)


@contextmanager
def open_outside(pace: Pace, conditions: Conditions) -> Iterator[Outside]:
    with started(OUTSIDE) as peer:
        peer.tell(Opening(pace, conditions.real_pages, conditions.made_up_pages))
        yield Outside(peer, peer.hear(Environment), pace)


@contextmanager
def open_asker(outside: Outside, *providers: str, is_warmed: bool = True, peer: Peer | None = None) -> Iterator[Asker]:
    """A fresh process, or `peer`, one that is started already, with an empty data folder."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        peer = peer or stack.enter_context(started(ASKER))
        stack.callback(peer.end)
        data = {"GORKD_DATA": str(Path(folder) / "data"), "GORKD_PROVIDERS": ",".join(providers)}
        peer.tell(OpenHouse({**outside.environment.variables, **data}, is_warmed))
        yield Asker(peer, peer.hear(Ready).cpu_s)


def measure_questions(conditions: Conditions) -> str:
    """The tables, as text."""
    with started(ASKER) as one, started(ASKER) as two, open_outside(conditions.pace, conditions) as outside:
        first, second, *others = outside.environment.questions
        with (
            open_asker(outside, "tavily", peer=one) as warmed,
            open_asker(outside, "tavily", is_warmed=False, peer=two) as fresh,
        ):
            starts = (warmed.start_cpu_s, fresh.start_cpu_s, None)
            warm, cold, next_one = warmed.ask(first), fresh.ask(first), warmed.ask(second)
            many = warmed.ask(*others[: conditions.questions_at_once])
        journal = outside.journal()
        title = _title(outside)
    waited = [
        read_journal(journal, conditions.pace, done.asked[0].began_at, done.asked[0].ended_at)
        for done in (warm, cold, next_one)
    ]
    single = _table_of_one(title, (warm, cold, next_one), waited, starts)
    return f"{single}\n{_table_of_many(many, journal)}"


def _title(outside: Outside) -> str:
    pace, made_of = outside.pace, outside.environment
    kind = "real" if made_of.is_real else "made-up"
    return (
        f"questions: model {pace.first_token_s:g} s + {1000 * pace.token_s:g} ms a token, search {pace.search_s:g} s, "
        f"page {pace.page_s:g} s; {made_of.pages} {kind} pages, each a site"
    )


def _table_of_one(
    title: str, done: tuple[RoundDone, ...], waited: list[Waited], starts: tuple[float | None, ...]
) -> str:
    asked = [entry.asked[0] for entry in done]
    rows = [
        Row("wall time", [entry.wall_s for entry in asked], "s", goal=Goal(13)),
        Row("critical path", [entry.path_s for entry in waited], "s"),
        Row(
            "wall ÷ critical path",
            [entry.wall_s / (wait.path_s or 1e9) for entry, wait in zip(asked, waited, strict=True)],
            goal=Goal(1.10),
        ),
        Row("behind the answer's last token", [entry.behind_s for entry in waited], "s", goal=Goal(1.5)),
        Row("first checked sentence", [_first_text_s(entry) for entry in asked], "s", goal=Goal(4.5)),
        Row("own overhead", [e.wall_s - w.waiting_s for e, w in zip(asked, waited, strict=True)], "s", goal=Goal(0.35)),
        Row("processor time", [entry.cpu_s for entry in done], "s", goal=Goal(0.7)),
        Row("processor time of the start", starts, "s"),
        Row("peak memory with children", [entry.peak_mib for entry in done], "MiB", digits=0),
        Row("model calls besides checks", [len(_calls(wait)) for wait in waited], digits=0, goal=Goal(3)),
        Row("  their prompt tokens", [_prompt_tokens(_calls(wait)) for wait in waited], digits=0, goal=Goal(15_000)),
        Row(
            "  of which two calls share",
            [max(call.shared_tokens for call in _calls(wait)) for wait in waited],
            digits=0,
            goal=Goal(5000, is_floor=True),
        ),
        *(Row(f"  {purpose} call", [_call_s(wait, purpose) for wait in waited], "s") for purpose in ("plan", "answer")),
        Row("checks", [len(_calls(wait, are_checks=True)) for wait in waited], digits=0),
        Row(
            "  a sentence",
            [len(_calls(wait, are_checks=True)) / max(e.claims, 1) for e, wait in zip(asked, waited, strict=True)],
            goal=Goal(0.5),
        ),
        Row("  their prompt tokens", [_prompt_tokens(_calls(wait, are_checks=True)) for wait in waited], digits=0),
        Row("at list price", [100 * entry.cost_usd for entry in asked], "cents"),
        Row("searches", [entry.searches for entry in waited], digits=0),
        Row("pages read", [entry.pages for entry in waited], digits=0),
        Row("robots.txt read", [entry.robots for entry in waited], digits=0),
        Row("sources kept", [entry.sources for entry in asked], digits=0),
        Row("words shown", [entry.words for entry in asked], digits=0),
        Row("sentences cut", [entry.removed for entry in asked], digits=0),
    ]
    answered = [place for place, entry in enumerate(asked) if not entry.failure]
    return format_table(title, _COLUMNS, [row.only(answered) for row in rows]) + failures_of(asked)


def _table_of_many(done: RoundDone, journal: Journal) -> str:
    asked = done.asked
    took_s = max(entry.ended_at for entry in asked) - min(entry.began_at for entry in asked)
    walls = [entry.wall_s for entry in asked if not entry.failure]
    texts = [seconds for entry in asked if (seconds := _first_text_s(entry)) is not None]
    rows = [
        Row("rate", [60 * len(asked) / took_s], "a minute", digits=1, goal=Goal(38, is_floor=True)),
        Row("failing", [sum(bool(entry.failure) for entry in asked)], digits=0, goal=Goal(0)),
        Row("wall time, p50", [percentile(walls, 50)], "s"),
        Row("wall time, p95", [percentile(walls, 95)], "s"),
        Row("first checked sentence, p50", [percentile(texts, 50)], "s"),
        Row("first checked sentence, p95", [percentile(texts, 95)], "s", goal=Goal(6.0)),
        Row("model calls with checks, most", [max(entry.model_calls for entry in asked)], digits=0),
        Row("  their prompt tokens", [max(entry.prompt_tokens for entry in asked)], digits=0),
        Row("processor time a question", [done.cpu_s / len(asked)], "s"),
        Row("peak memory with children", [done.peak_mib], "MiB", digits=0),
        Row("the outside's own lateness, worst", [journal.late_s], "s"),
    ]
    title = f"{len(asked)} questions at once"
    return format_table(title, ("all",), rows) + failures_of(asked)


def failures_of(asked: Sequence[Asked]) -> str:
    """A line for each question that was not answered; such a one has no figures."""
    return "".join(f"  {entry.failure}\n" for entry in asked if entry.failure)


def percentile(values: list[float], percent: int) -> float | None:
    """By interpolation between the nearest values; None of none."""
    if len(values) < 2:
        return values[0] if values else None
    return quantiles(values, n=100, method="inclusive")[percent - 1]


def _first_text_s(asked: Asked) -> float | None:
    return None if asked.first_text_at is None else asked.first_text_at - asked.began_at


def _calls(waited: Waited, *, are_checks: bool = False) -> list[ModelCall]:
    return [call for call in waited.model_calls if (call.purpose in CHECKS) is are_checks]


def _prompt_tokens(calls: Sequence[ModelCall]) -> int:
    return sum(call.prompt_tokens for call in calls)


def _call_s(waited: Waited, purpose: str) -> float | None:
    lasted = [call.lasts_s for call in waited.model_calls if call.purpose == purpose]
    return sum(lasted) if lasted else None
