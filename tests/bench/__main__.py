"""Print speed figures beside their goals, all parts by default: `python -m tests.bench [questions] [web] …`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tests.bench.acks import measure_acks
from tests.bench.cache import measure_cache
from tests.bench.conditions import Conditions
from tests.bench.deep import measure_deep
from tests.bench.durable import measure_durable
from tests.bench.library import measure_library
from tests.bench.limits import measure_limits
from tests.bench.questions import measure_questions
from tests.bench.section import measure_section
from tests.bench.serving import measure_serving
from tests.bench.speed import measure_speed
from tests.bench.watching import measure_watching
from tests.bench.web_start import measure_web_start
from tests.figures import run_parts

PARTS: Mapping[str, Callable[[Conditions], str]] = {
    "speed": measure_speed,
    "questions": measure_questions,
    "web": measure_web_start,
    "serving": measure_serving,
    "acks": measure_acks,
    "limits": measure_limits,
    "cache": measure_cache,
    "durable": measure_durable,
    "deep": measure_deep,
    "library": measure_library,
    "section": measure_section,
    "watching": measure_watching,
}


def main(arguments: Sequence[str], conditions: Conditions) -> int:
    """As `run_parts`."""
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, load before the run {load:.1f}\n")
    arguments = arguments or [name for name in PARTS if name != "speed"]  # which is of parts that are there anyway
    return run_parts(arguments, {name: partial(measure, conditions) for name, measure in PARTS.items()}, name="bench")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Conditions()))
