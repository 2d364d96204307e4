"""Print quality figures, all by default: `python -m tests.evals [speed] [attribution] [planted] …`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.evals.attribution import print_attribution
from tests.evals.confidence import print_confidence
from tests.evals.conflicts import print_conflicts
from tests.evals.datasets import DataAbsent
from tests.evals.injection import print_injection
from tests.evals.languages import print_languages
from tests.evals.library import print_library
from tests.evals.lookalikes import print_lookalikes
from tests.evals.planted import print_planted
from tests.evals.quoted import print_quoted
from tests.evals.real import print_real
from tests.evals.references import print_references
from tests.evals.speed import print_speed
from tests.evals.whole.report import print_whole

EVALUATIONS: dict[str, Callable[[], None]] = {
    "speed": print_speed,  # first, while the heap is small
    "attribution": print_attribution,
    "planted": print_planted,
    "lookalikes": print_lookalikes,
    "languages": print_languages,
    "library": print_library,
    "confidence": print_confidence,
    "conflicts": print_conflicts,
    "whole": print_whole,
    "injection": print_injection,
    "quoted": print_quoted,
    "references": print_references,
}
ON_REQUEST: dict[str, Callable[[], None]] = {"real": print_real}  # needs a model that runs


def main(names: list[str]) -> int:
    known = EVALUATIONS | ON_REQUEST
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no such evaluation: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in names or list(EVALUATIONS):
        print(f"== {name} ==")
        try:
            known[name]()
        except DataAbsent as exc:
            print(f"skipped: no data at {exc} (set GORKD_TEST_DATA)\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
