"""An evaluation as one HTML file, the answers of two runs side by side; nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from core.evaluation.cases import Met
from core.evaluation.report import OutcomeChange, Run, disagreement, figures, state_of, totals_of
from core.evaluation.running import Outcome
from core.evidence.citations import MARKS
from core.presentation.render import printable
from core.presentation.wording import counted

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
