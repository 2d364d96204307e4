"""Fit the check's model anew and write core/verification/coefficients.py: `python -m tests.evals.fit`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from core.verification import coefficients
from tests.evals.attribution import FEATURE_NAMES, fit_tables, tables
from tests.evals.datasets import BEGIN, WICE, sha256_of

_PAGE = '''"""The fitted model of the check. Written by `python -m tests.evals.fit`; not to be edited by hand.

Logistic regression, no coefficient negative, L2 penalty 1, on {rows} labelled pairs, fitted {date}.
Each data file counts the same. Files in the data folder, with their SHA-256:
{files}
"""

from __future__ import annotations

INTERCEPT = {intercept:.4f}
COEFFICIENTS: dict[str, float] = {{
{lines}
}}
'''


def main() -> None:
    chosen = tables()
    model = fit_tables(chosen)
    page = _PAGE.format(
        rows=sum(len(table.pairs) for table in chosen),
        date=datetime.now(UTC).date().isoformat(),
        files="\n".join(f"- {name}\n  {sha256_of(name)}" for name in (WICE, BEGIN)),
        intercept=model.intercept,
        lines="\n".join(
            f'    "{name}": {value:.4f},' for name, value in zip(FEATURE_NAMES, model.coefficients, strict=True)
        ),
    )
    path = Path(coefficients.__file__)
    path.write_text(page, encoding="utf-8")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
