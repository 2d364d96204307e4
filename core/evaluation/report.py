"""What an evaluation found: runs with their figures, what changed since the last one, two configurations side by side.

One format for all: a `Run` as core/model/codec.py writes it is what is kept and compared, the table and JUnit's XML are
views of it; as a page it is drawn where it is written (adapters/cli/evaluating.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal
from xml.etree import ElementTree

from core.evaluation.cases import Kind
from core.evaluation.running import Outcome
from core.model.answer import Claim, Confidence, ResearchAnswer
from core.presentation.render import one_line, printable
from core.presentation.wording import counted
from core.tenancy.usage import Grade
from core.watch.comparison import AnswerChanges, compare_answers


@dataclass(frozen=True)
class Run:
    """`configuration` is what was set besides the environment; `began_at` is ISO 8601 in UTC.

    `new_calls` are model calls that no recording answered, None where nothing was replayed.
    """

    name: str
    began_at: str
    configuration: Mapping[str, str]
    outcomes: tuple[Outcome, ...]
    new_calls: int | None = None

    @property
    def title(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.configuration.items()) or "as it is set"


@dataclass(frozen=True)
class Totals:
    """Over a run. `met` and `unmet` count expectations, `unknown` those that could not be looked at.

    `cost_usd` is of the answers with a known price; `seconds` is the median of a question.
    """

    questions: int
    answered: int
    insufficient: int
    failed: int
    claims: int
    ticked: int
    met: int
    unmet: int
    unknown: int
    cost_usd: float
    unpriced: int
    seconds: float
    tokens: int

    @property
    def ticked_share(self) -> float | None:
        return self.ticked / self.claims if self.claims else None


def totals_of(run: Run) -> Totals:
    outcomes = run.outcomes
    looked = [one.is_met for outcome in outcomes for one in outcome.met]
    return Totals(
        questions=len(outcomes),
        answered=sum(one.is_answered for one in outcomes),
        insufficient=sum(one.confidence == Confidence.INSUFFICIENT for one in outcomes),
        failed=sum(bool(one.error) for one in outcomes),
        claims=sum(len(one.claims) for one in outcomes),
        ticked=sum(one.ticked for one in outcomes),
        met=looked.count(True),
        unmet=looked.count(False),
        unknown=looked.count(None),
        cost_usd=sum(one.cost_usd or 0.0 for one in outcomes),
        unpriced=sum(one.cost_usd is None for one in outcomes),
        seconds=median([one.seconds for one in outcomes]) if outcomes else 0.0,
        tokens=sum(one.tokens for one in outcomes),
    )


def figures(totals: Totals) -> list[tuple[str, str]]:
    """Name and value, in the order in which they are read."""
    share = "–" if totals.ticked_share is None else f"{totals.ticked_share:.0%} of {totals.claims}"
    cost = "unknown" if totals.unpriced == totals.questions else f"${totals.cost_usd:.4f}"
    return [
        ("answered", f"{totals.answered} of {totals.questions}"),
        ("insufficient", str(totals.insufficient)),
        ("failed", str(totals.failed)),
        ("sentences with ✓", share),
        ("expectations met", f"{totals.met} of {totals.met + totals.unmet}"),
        ("not looked at", str(totals.unknown)),
        ("cost", f"over {cost}" if 0 < totals.unpriced < totals.questions else cost),
        ("median seconds", f"{totals.seconds:.1f}"),
        ("tokens", f"{totals.tokens:,}"),
    ]


# What changed since the last run, and where two configurations disagree


@dataclass(frozen=True)
class OutcomeChange:
    """`is_worse` is True for a question that met what was expected before and does not now, None for neither."""

    case_id: str
    says: str
    is_worse: bool | None = None


def state_of(outcome: Outcome) -> str:
    """`pass`, `FAIL`, `error`, or `asked` where nothing was expected."""
    if outcome.error:
        return "error"
    if outcome.has_failed:
        return "FAIL"
    return "pass" if any(one.is_met for one in outcome.met) else "asked"


def changes_since(before: Run, now: Run) -> list[OutcomeChange]:
    """Of the questions that both runs have: state, confidence, and what is said otherwise."""
    old = {outcome.case_id: outcome for outcome in before.outcomes}
    found = []
    for outcome in now.outcomes:
        earlier = old.get(outcome.case_id)
        if earlier is None:
            found.append(OutcomeChange(outcome.case_id, "new"))
            continue
        parts = []
        if earlier.has_failed is not outcome.has_failed:
            parts.append(f"{state_of(earlier)} → {state_of(outcome)}")
        if earlier.confidence != outcome.confidence:
            parts.append(f"{earlier.confidence or 'none'} → {outcome.confidence or 'none'}")
        parts += changes_in_words(disagreement(earlier, outcome))
        is_worse = None if earlier.has_failed is outcome.has_failed else outcome.has_failed
        if parts:
            found.append(OutcomeChange(outcome.case_id, "; ".join(parts), is_worse))
    return found


def disagreement(one: Outcome, other: Outcome) -> AnswerChanges:
    return compare_answers(_as_answer(one), _as_answer(other))


def _as_answer(outcome: Outcome) -> ResearchAnswer:
    claims = tuple(Claim(str(place), claim.text, claim.verdict) for place, claim in enumerate(outcome.claims))
    return ResearchAnswer("", "", Confidence.LOW, claims=claims)


def changes_in_words(changes: AnswerChanges) -> list[str]:
    """How many sentences are new, gone and contradicted."""
    counts = ((len(changes.contradicted), "contradicted"), (len(changes.added), "new"), (len(changes.dropped), "gone"))
    return [f"{counted(number, 'sentence')} {word}" for number, word in counts if number]


def disagreements(one: Run, other: Run) -> list[tuple[Outcome, Outcome, AnswerChanges]]:
    """The questions on which two runs do not say the same, contradictions first."""
    theirs = {outcome.case_id: outcome for outcome in other.outcomes}
    pairs = [(mine, theirs[mine.case_id]) for mine in one.outcomes if mine.case_id in theirs]
    found = [(mine, their, disagreement(mine, their)) for mine, their in pairs]
    differing = [entry for entry in found if not entry[2].is_nothing or state_of(entry[0]) != state_of(entry[1])]
    return sorted(differing, key=lambda entry: -len(entry[2].contradicted))


# What they say of how far its confidence may be believed


_OF_CONTENT: tuple[Kind, ...] = ("contains", "not_contains", "cites_domain", "judge")


def grades_of(run: Run, *, of_jobs: bool = False) -> list[Grade]:
    """Of the questions that were answered and of whose content something was expected; what it cost is no matter.

    `of_jobs` says that the cases are named after the jobs they were taken from.
    """
    found = []
    for outcome in run.outcomes:
        of_content = [one for one in outcome.met if one.expectation.partition(":")[0] in _OF_CONTENT]
        looked = [one.is_met for one in of_content if one.is_met is not None]
        if looked and outcome.is_answered:
            job_id = outcome.case_id if of_jobs else ""
            found.append(Grade(f"{run.name}/{outcome.case_id}", Confidence(outcome.confidence), all(looked), job_id))
    return found


# As files


def junit_xml(runs: Sequence[Run]) -> str:
    """JUnit's XML as CI servers read it: a suite a run, a case a question; an expectation that failed is a failure."""
    suites = ElementTree.Element("testsuites", name="gorkd eval")
    for run in runs:
        totals = totals_of(run)
        unmet = sum(one.has_failed and not one.error for one in run.outcomes)
        suite = ElementTree.SubElement(
            suites, "testsuite", name=_xml(f"{run.name} ({run.title})"), tests=str(totals.questions),
            failures=str(unmet), errors=str(totals.failed), skipped="0", timestamp=run.began_at[:19],
            time=f"{sum(one.seconds for one in run.outcomes):.3f}",
        )  # fmt: skip
        for outcome in run.outcomes:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_xml(run.name), name=_xml(outcome.case_id), time=f"{outcome.seconds:.3f}"
            )
            _add_result(case, outcome)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _add_result(case: ElementTree.Element, outcome: Outcome) -> None:
    unmet = [f"{one.expectation} ({one.says})" for one in outcome.met if one.is_met is False]
    kind: Literal["error", "failure"] = "error" if outcome.error else "failure"
    if outcome.error or unmet:
        said = outcome.error or "; ".join(unmet)
        ElementTree.SubElement(case, kind, message=_xml(one_line(said))).text = _xml(outcome.summary)
    ElementTree.SubElement(case, "system-out").text = _xml(f"{outcome.question}\n\n{outcome.summary}")


def _xml(text: str) -> str:
    """Without what XML 1.0 cannot hold."""
    return printable(text).replace("￾", "").replace("￿", "")
