"""Run every world through the whole house and print what became of its sentences, row by row."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from core.model.answer import Claim, Confidence, ResearchAnswer, Verdict
from core.model.job import ResearchRequest
from core.model.source import SourceKind
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from tests.evals.whole.cases import World, answer_worlds, high_worlds, later_worlds, pair_worlds, sentence_worlds
from tests.evals.whole.judge import ERRS, Judge, ScriptedModel
from tests.fakes import NOW, FakeSearch, Idle, hit, make_deps

ERRING = (Judge.ERRING, Judge.PAIRWISE)
SHOW = "GORKD_WHOLE"  # "dev" or "all": print the failing cases in full
# Two owners of good standing, so that nothing but the sentences decides.
PLACES = (
    ("https://www.harbour-gazette.org/page", SourceKind.ESTABLISHED_PRESS),
    ("https://almanac-north.com/entry", SourceKind.REFERENCE),
)
SEEN = NOW - timedelta(days=60)
_MARKERS = re.compile(r"\s*\[\d\][✓◐↪✗?]?\ufe0f?")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)]|#+)\s+|\*\*")
_CLAIMS_ABSENCE = re.compile(
    r"not in (?:the|any|its) source|no source (?:says|states)|nothing that was read says", re.IGNORECASE
)
_IS_STRUCTURE = re.compile(r"^(?:#|\*\*)|:$")


@dataclass(frozen=True)
class Outcome:
    """What became of a world's target. `steps` counts its lines, `kept` those that are shown."""

    world: World
    judge: Judge
    shown: bool
    ticked: bool
    steps: int
    kept: int
    confidence: str
    conflicts: int
    said: str
    reasons: tuple[str, ...]
    asked_in_vain: tuple[str, ...]
    checks: int  # calls to the judge


def print_whole() -> None:
    """Print the table. Raises `DataAbsent`."""
    sentences, pairs = list(sentence_worlds()), list(pair_worlds())
    clashes = [world for world in pairs if world.kind != "compatible"]
    runs = [(world, judge) for judge in Judge for world in sentences]
    runs += [(world, Judge.RIGHT) for world in [*pairs, *high_worlds(), *answer_worlds()]]
    runs += [(world, judge) for judge in ERRING for world in high_worlds()]
    runs += [(world, judge) for judge in Judge if judge is not Judge.RIGHT for world in clashes]
    with ProcessPoolExecutor(os.cpu_count(), initializer=_be_quiet) as pool:
        outcomes = list(pool.map(run_world, *zip(*runs, strict=True), chunksize=20))
    for name, part in (
        ("dev", _half(outcomes, is_dev=True)),
        ("test", _half(outcomes, is_dev=False)),
        ("all", outcomes),
    ):
        print(f"{name}: {len({outcome.world.id for outcome in part})} worlds")
        for label, figure in _rows(part):
            print(f"  {label:<86} {figure}")
    for name in ("later", "unseen"):
        print(f"{name}.txt")
        for label, figure in _later_rows([*later_worlds(name)]):
            print(f"  {label:<86} {figure}")
    _print_kinds(outcomes)
    unknown = Counter(claim for outcome in outcomes for claim in outcome.asked_in_vain)
    print(f"asked of the right judge, but no sentence of its world: {sum(unknown.values())}")
    if shown := os.environ.get(SHOW):
        _print_failures(outcomes if shown == "all" else _half(outcomes, is_dev=True))


def _later_rows(worlds: Sequence[World]) -> list[tuple[str, str]]:
    right = [run_world(world, Judge.RIGHT) for world in worlds if world.is_true]
    careless = [run_world(world, Judge.CARELESS) for world in worlds]
    return [
        ("judge right: true sentences shown", _share(right, lambda one: one.shown)),
        ("judge right: true sentences with ✓", _share(right, lambda one: one.ticked)),
        ("careless judge: shown with ✓ that are true", _share(_ticked(careless), lambda one: one.world.is_true)),
        (
            "careless judge: false sentences with ✓",
            _share([one for one in careless if not one.world.is_true], lambda one: one.ticked),
        ),
    ]


def _be_quiet() -> None:
    """A judge that cannot be asked is logged each time."""
    logging.disable(logging.CRITICAL)


def _half(outcomes: Sequence[Outcome], *, is_dev: bool) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.world.is_dev is is_dev]


def run_world(world: World, judge: Judge, errs: float = ERRS, seed: int = 0) -> Outcome:
    return asyncio.run(_run_world(world, ScriptedModel(world, judge, errs, seed)))


async def _run_world(world: World, model: ScriptedModel) -> Outcome:
    hits = [
        hit(address, text, title=world.question.rstrip("?"), rank=rank, is_complete=True, kind=kind, published_at=SEEN)
        for rank, ((address, kind), text) in enumerate(zip(PLACES, world.texts, strict=False))
    ]
    deps = make_deps(search=[FakeSearch("web", hits)], model=model)
    job = await Researcher(deps, Idle()).submit(ResearchRequest(world.question))
    await run_job(job.id, deps, DirectSteps())
    result = await deps.jobs.result(job.id)
    if result is None or result.answer is None:
        raise RuntimeError(f"{world.id} has no answer: {(await deps.jobs.get(job.id)).error}")
    return _outcome(world, model, result.answer)


def _outcome(world: World, model: ScriptedModel, answer: ResearchAnswer) -> Outcome:
    lines = [_plain(line) for line in f"{answer.summary}\n{answer.detail}".splitlines()]
    kept = [any(_begins_in(line, _plain(part)) for line in lines) for part in world.target]
    claims = [
        claim for part in world.target if not _IS_STRUCTURE.search(part) for claim in _claims_of(part, answer.claims)
    ]
    return Outcome(
        world=world,
        judge=model.judge,
        shown=all(kept),
        ticked=all(kept) and bool(claims) and all(claim.verdict is Verdict.SUPPORTED for claim in claims),
        steps=len(kept),
        kept=sum(kept),
        confidence=answer.confidence.value,
        conflicts=len(answer.conflicts),
        said=f"{answer.summary} ¶ {answer.detail}",
        reasons=(
            *(f"removed: {removed.reason}" for removed in answer.removed),
            *(reason for claim in claims for reason in claim.reasons),
            *answer.confidence_reasons,
        ),
        asked_in_vain=tuple(model.unknown),
        checks=model.checks,
    )


def _begins_in(line: str, part: str) -> bool:
    """Whether a sentence of the line begins with it: "None of the ships sank" does not say that the ships sank.

    Nor does "In mice, the drug helps", which is quoted where the sentence itself was cut, say that the drug helps.
    """
    return re.search(rf"(?:^|[^\w\s,]\s+|\byes, ){re.escape(part)}", line) is not None


def _plain(text: str) -> str:
    """Without markers, marks, bullets and case: what a reader reads."""
    lines = (_BULLET.sub("", line) for line in _MARKERS.sub("", text).splitlines())
    return " ".join(" ".join(lines).split()).casefold()


def _claims_of(part: str, claims: Iterable[Claim]) -> list[Claim]:
    """The claims that a line of the target became: one, or several where it was cut into sentences."""
    target = _plain(part)
    return [claim for claim in claims if (text := _plain(claim.text)) and (text in target or target in text)]


def _rows(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    def of(judge: Judge, *kinds: str, true: bool | None = None) -> list[Outcome]:
        return [o for o in outcomes if o.judge is judge and _is_asked(o, kinds) and true in (None, o.world.is_true)]

    right, yes, careless = partial(of, Judge.RIGHT), partial(of, Judge.YES), partial(of, Judge.CARELESS)
    coarse = partial(of, Judge.COARSE)
    none, no = partial(of, Judge.NONE), partial(of, Judge.NO)
    free = [o for o in none(true=True) if o.world.kind not in ("verbatim", "list")]
    denied = [o for o in no() if o.world.kind not in ("verbatim", "list")]
    return [
        ("judge right: true sentences shown (goal .97)", _share(right(true=True), lambda o: o.shown)),
        ("judge right: shown that are true (1.00)", _share(_shown(right()), lambda o: o.world.is_true)),
        ("judge right: true sentences with ✓ (.85)", _share(right(true=True), lambda o: o.ticked)),
        ("judge right: answers that deserve High and get it (.8)", _share(right("high"), _is_high)),
        ("judge yes: shown with ✓ that are true (.90)", _share(_ticked(yes()), lambda o: o.world.is_true)),
        ("judge yes: false sentences with ✓", _share(yes(true=False), lambda o: o.ticked)),
        ("judge yes: the opposite in another language with ✓ (0)", _share(yes("foreign_opposite"), lambda o: o.ticked)),
        ("coarse judge: shown with ✓ that are true (.90)", _share(_ticked(coarse()), lambda o: o.world.is_true)),
        ("coarse judge: true sentences with ✓", _share(coarse(true=True), lambda o: o.ticked)),
        ("coarse judge: false sentences with ✓", _share(coarse(true=False), lambda o: o.ticked)),
        ("careless judge: shown with ✓ that are true", _share(_ticked(careless()), lambda o: o.world.is_true)),
        ("careless judge: false sentences with ✓", _share(careless(true=False), lambda o: o.ticked)),
        *_erring_rows(of(Judge.ERRING), of(Judge.ERRING, "high"), "judge that errs in one of ten"),
        *_erring_rows(of(Judge.PAIRWISE), of(Judge.PAIRWISE, "high"), "fact-check model that errs in one of ten"),
        ("no judge: verbatim shown with ✓ (1.00)", _share(none("verbatim"), lambda o: o.ticked)),
        ("no judge: other true sentences shown", _share(free, lambda o: o.shown)),
        ("no judge: other true sentences with ✓ (0)", _share(free, lambda o: o.ticked)),
        ("no judge: false sentences shown", _share(none(true=False), lambda o: o.shown)),
        ("no judge: false sentences with ✓ (0)", _share(none(true=False), lambda o: o.ticked)),
        ("judge no: verbatim shown (1.00)", _share(no("verbatim"), lambda o: o.shown)),
        ("judge no: other sentences cut (1.00)", _share(denied, lambda o: not o.shown)),
        ("judge no: cut as said to be in no source (0)", _share(denied, _claims_absence)),
        ("judge right: contradictions found, plain (.9)", _share(right("plain"), lambda o: o.conflicts > 0)),
        (
            "judge right: contradictions found, other words (.9)",
            _share(right("other words"), lambda o: o.conflicts > 0),
        ),
        (
            "judge right: false conflicts among compatible pairs (.02)",
            _share(right("compatible"), lambda o: o.conflicts > 0),
        ),
        ("judge right: High beside a contradiction (0)", _share(right("plain", "other words"), _is_high)),
        ("careless judge: High beside a contradiction", _share(careless("plain", "other words"), _is_high)),
        ("judge right: list steps shown (1.00)", _steps(right("list"))),
        ("judge right: translated sentences shown (1.00)", _share(right("translation"), lambda o: o.shown)),
        ("judge right: near misses at most Low (1.00)", _share(right("near miss"), _is_low)),
        ("judge right: answers that answer at most Low (0)", _share(right("answers"), _is_low)),
    ]


def _erring_rows(sentences: Sequence[Outcome], high: Sequence[Outcome], who: str) -> list[tuple[str, str]]:
    parts = [[one for one in sentences if one.world.is_true is is_true] for is_true in (True, False)]
    return [
        (f"{who}: true sentences with ✓", _share(parts[0], lambda one: one.ticked)),
        (f"{who}: shown with ✓ that are true", _share(_ticked(sentences), lambda one: one.world.is_true)),
        (f"{who}: false sentences with ✓", _share(parts[1], lambda one: one.ticked)),
        (f"{who}: answers that deserve High and get it", _share(high, _is_high)),
    ]


_OWN_KINDS = frozenset({"plain", "other words", "compatible", "high", "answers", "near miss"})  # no single sentences


def _is_asked(outcome: Outcome, kinds: tuple[str, ...]) -> bool:
    return outcome.world.kind in kinds if kinds else outcome.world.kind not in _OWN_KINDS


def _shown(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.shown]


def _ticked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.ticked]


def _is_high(outcome: Outcome) -> bool:
    return outcome.confidence == Confidence.HIGH


def _is_low(outcome: Outcome) -> bool:
    return outcome.confidence in (Confidence.LOW, Confidence.INSUFFICIENT)


def _claims_absence(outcome: Outcome) -> bool:
    return any(reason.startswith("removed") and _CLAIMS_ABSENCE.search(reason) for reason in outcome.reasons)


def _share(outcomes: Sequence[Outcome], is_so: Callable[[Outcome], bool]) -> str:
    return _ratio(sum(map(is_so, outcomes)), len(outcomes))


def _steps(outcomes: Sequence[Outcome]) -> str:
    return _ratio(sum(outcome.kept for outcome in outcomes), sum(outcome.steps for outcome in outcomes))


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}  {part} of {whole}" if whole else "none"


def _print_kinds(outcomes: Sequence[Outcome]) -> None:
    print("by kind (dev/test): right judge shown and ✓, careless judge ✓, no judge shown and ✓")
    kinds = dict.fromkeys(outcome.world.kind for outcome in outcomes if _is_asked(outcome, ()))
    columns: list[tuple[Judge, Callable[[Outcome], bool]]] = [
        (Judge.RIGHT, lambda o: o.shown),
        (Judge.RIGHT, lambda o: o.ticked),
        (Judge.CARELESS, lambda o: o.ticked),
        (Judge.NONE, lambda o: o.shown),
        (Judge.NONE, lambda o: o.ticked),
    ]
    for kind in kinds:
        mine = [outcome for outcome in outcomes if outcome.world.kind == kind]
        counts = [sum(o.judge is Judge.YES for o in _half(mine, is_dev=half)) for half in (True, False)]
        cells = [
            "/".join(str(sum(is_so(o) for o in _half(mine, is_dev=half) if o.judge is judge)) for half in (True, False))
            for judge, is_so in columns
        ]
        print(f"  {kind:<18} of {counts[0]}/{counts[1]:<4}" + "".join(f"{cell:>9}" for cell in cells))


def _fails(outcome: Outcome) -> str:
    """What is wrong with an outcome, in a few words; "" where nothing is."""
    kind, judge, is_true = outcome.world.kind, outcome.judge, outcome.world.is_true
    is_free = kind not in ("verbatim", "list")
    clashes, is_right = kind in ("plain", "other words"), judge is Judge.RIGHT
    wrongs = {
        "High beside a contradiction": clashes and is_right and _is_high(outcome),
        "contradiction not found": clashes and is_right and not outcome.conflicts,
        "false conflict": kind == "compatible" and outcome.conflicts > 0,
        f"not High but {outcome.confidence}": kind == "high" and not _is_high(outcome),
        f"answers, and is {outcome.confidence}": kind == "answers" and _is_low(outcome),
        f"does not answer, and is {outcome.confidence}": kind == "near miss" and not _is_low(outcome),
    }
    if kind not in _OWN_KINDS:
        wrongs |= {
            "true, cut": is_right and is_true and not outcome.shown,
            "true, without ✓": is_right and is_true and outcome.shown and not outcome.ticked,
            "false, shown": is_right and not is_true and outcome.shown,
            "false, ✓ from a yes": judge is Judge.YES and not is_true and outcome.ticked,
            "false, ✓ from a careless judge": judge is Judge.CARELESS and not is_true and outcome.ticked,
            "✓ without a judge": judge is Judge.NONE and is_free and outcome.ticked,
            "true, cut without a judge": judge is Judge.NONE and is_true and not outcome.shown,
            "verbatim, cut against a no": judge is Judge.NO and kind == "verbatim" and not outcome.shown,
            "shown against a no": judge is Judge.NO and is_free and outcome.shown,
        }
    return next((why for why, holds in wrongs.items() if holds), "")


def _print_failures(outcomes: Sequence[Outcome]) -> None:
    failing = [(outcome.world.kind, why, outcome) for outcome in outcomes if (why := _fails(outcome))]
    for kind, why, outcome in sorted(failing, key=lambda entry: entry[:2]):
        print(f"\n[{kind}] {outcome.world.id}, judge {outcome.judge}: {why}\n  question: {outcome.world.question}")
        print(f"  target: {' / '.join(outcome.world.target)}\n  answer: {outcome.said}")
        print(f"  {outcome.confidence}; {'; '.join(outcome.reasons)}")
