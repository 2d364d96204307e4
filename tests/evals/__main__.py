"""Print quality figures, all by default: `python -m tests.evals [speed] [attribution] [planted] …`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.evals.attribution import print_attribution
from tests.evals.confidence import print_confidence
from tests.evals.conflicts import print_conflicts
from tests.evals.injection import print_injection
from tests.evals.languages import print_languages
from tests.evals.library import print_library
from tests.evals.lookalikes import print_lookalikes
from tests.evals.planted import print_planted
from tests.evals.quoted import print_quoted
from tests.evals.real import print_real
from tests.evals.references import print_references
from tests.evals.speed import print_speed
from tests.evals.watching import print_watching
from tests.evals.whole.report import print_whole
from tests.figures import run_parts

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
    "watching": print_watching,
    "references": print_references,
}
ON_REQUEST: dict[str, Callable[[], None]] = {"real": print_real}  # needs a model that runs


def main(arguments: list[str]) -> int:
    return run_parts(arguments, EVALUATIONS | ON_REQUEST, name="evals", usual=list(EVALUATIONS))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
