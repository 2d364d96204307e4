"""What an evaluation found: runs with their figures, what changed since the last one, two configurations side by side.

One format for all: a `Run` as core/model/codec.py writes it is what is kept and compared, the table and JUnit's XML are
views of it. The same as one HTML file, which loads nothing from anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import Literal
from xml.etree import ElementTree

from core.evaluation.cases import Kind, Met
from core.evaluation.running import Outcome
from core.evidence.citations import MARKS
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


# An evaluation as one HTML file, the answers of two runs side by side; nothing is loaded from anywhere


_STYLE = """
:root { color-scheme: light dark; --line: #d0d0d0; --soft: #666; --good: #1a6b34; --bad: #a51d1d; --back: #fff; --ink: #1b1b1b; --card: #f7f7f5; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3b3b3b; --soft: #a0a0a0; --good: #6cc48a; --bad: #ff8f8f; --back: #161616; --ink: #e8e8e8; --card: #1f1f1f; }
}
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; font: 1rem/1.5 system-ui, sans-serif; background: var(--back); color: var(--ink); }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 0; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .9rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
td.figure, th.figure { text-align: right; }
article { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 1rem 0; background: var(--card); }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.5rem; }
.pass { color: var(--good); } .FAIL, .error, .bad { color: var(--bad); } .meta { color: var(--soft); font-size: .9rem; }
ul { padding: 0; margin: .4rem 0; list-style: none; } li { padding-left: 1.3rem; text-indent: -1.3rem; } p { margin: .4rem 0; overflow-wrap: anywhere; white-space: pre-line; }
"""  # noqa: E501 -- a style sheet


def page_of(run: Run, other: Run | None = None, changes: Sequence[OutcomeChange] = ()) -> str:
    """`other` is another configuration, or the run before; `changes` are those since then."""
    runs = [run, *([other] if other else [])]
    theirs = {outcome.case_id: outcome for outcome in other.outcomes} if other else {}
    said = {change.case_id: change for change in changes}
    cases = [_case(outcome, theirs.get(outcome.case_id), said.get(outcome.case_id)) for outcome in run.outcomes]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_text(run.name)} · gorkd eval</title><style>{_STYLE}</style></head><body>",
            f"<h1>{_text(run.name)}</h1>",
            _figures(runs),
            *cases,
            "</body></html>\n",
        ]
    )


def _figures(runs: Sequence[Run]) -> str:
    heads = "".join(
        f'<th scope="col" class="figure">{_text(run.title)}<br>'
        f'<span class="meta">{_text(run.began_at[:16])}Z</span></th>'
        for run in runs
    )
    columns = [figures(totals_of(run)) for run in runs]
    rows = []
    for row in zip(*columns, strict=True):
        cells = "".join(f'<td class="figure">{_text(value)}</td>' for _, value in row)
        rows.append(f'<tr><th scope="row">{_text(row[0][0])}</th>{cells}</tr>')
    return f"<table><thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _case(outcome: Outcome, other: Outcome | None, change: OutcomeChange | None) -> str:
    changed = f'<p class="meta">Changed: {_text(change.says)}</p>' if change else ""
    sides = _side(outcome) + (_side(other) if other else "")
    return (
        f'<article id="{_text(outcome.case_id)}"><h2>{_text(outcome.question)}</h2>'
        f'<p class="meta">{_text(outcome.case_id)}</p>{changed}<div class="sides">{sides}</div>'
        f"{_disagreement(outcome, other) if other else ''}</article>"
    )


def _side(outcome: Outcome) -> str:
    state = state_of(outcome)
    cost = "cost unknown" if outcome.cost_usd is None else f"${outcome.cost_usd:.4f}"
    head = f"{outcome.confidence or 'no answer'} · {outcome.seconds:.1f} s · {cost}"
    met = "".join(map(_expectation, outcome.met))
    sentences = counted(len(outcome.claims), "checked sentence")
    claims = "".join(f"<li>{MARKS.get(claim.verdict, '◐')} {_text(claim.text)}</li>" for claim in outcome.claims)
    cited = ", ".join(_text(url) for url in outcome.cited)
    return (
        f'<section><p><b class="{state}">{state}</b> <span class="meta">{head}</span></p>'
        f"<p>{_text(outcome.error or outcome.summary)}</p>"
        + (f"<ul>{met}</ul>" if met else "")
        + (f"<details><summary>{sentences}</summary><ul>{claims}</ul>" if claims else "")
        + (f'<p class="meta">{cited}</p></details>' if claims else "")
        + "</section>"
    )


def _expectation(met: Met) -> str:
    sign = {True: "✓", False: "✗", None: "–"}[met.is_met]
    found = f" ({_text(met.says)})" if met.says else ""
    return f"<li{' class=bad' if met.is_met is False else ''}>{sign} {_text(met.expectation)}{found}</li>"


def _disagreement(outcome: Outcome, other: Outcome) -> str:
    changes = disagreement(outcome, other)
    lines = [
        f'<li class="bad">“{_text(pair.before)}” against “{_text(pair.now)}”</li>' for pair in changes.contradicted
    ]
    lines += [f"<li>only left: {_text(text)}</li>" for text in changes.dropped]
    lines += [f"<li>only right: {_text(text)}</li>" for text in changes.added]
    if not lines:
        return ""
    return f"<details><summary>Said otherwise <span class='meta'>{len(lines)}</span></summary><ul>{''.join(lines)}</ul></details>"  # noqa: E501 -- markup


def _text(text: str) -> str:
    return escape(printable(text), quote=True)
