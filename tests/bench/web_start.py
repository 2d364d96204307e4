"""What `gorkd web` costs before anyone asks it anything."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from statistics import median

from tests.bench.conditions import Conditions
from tests.bench.usage import cpu_s, rss_mib
from tests.figures import Goal, Row, format_table

_ENDS_WITHIN_S = 10.0


@dataclass(frozen=True)
class Start:
    """Until the address was printed; memory after idling, of the process and its children."""

    wall_s: float
    cpu_s: float
    idle_mib: float


def measure_web_start(conditions: Conditions) -> str:
    """The table, as text. The first start warms the disk cache and is not counted."""
    starts = [_start(0.0), *(_start(conditions.idle_s) for _ in range(conditions.starts))][1:]
    rows = [
        Row("processor time until the address", [median(start.cpu_s for start in starts)], "s", goal=Goal(1.5)),
        Row("wall time until the address", [median(start.wall_s for start in starts)], "s"),
        Row("idle memory", [max(start.idle_mib for start in starts)], "MiB", digits=1, goal=Goal(110)),
    ]
    return format_table(f"gorkd web: {len(starts)} starts", ("",), rows)


def _start(idle_s: float) -> Start:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"HOST": "127.0.0.1", "PORT": "0", "GORKD_DATA": folder}
        began_at = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "bots", "web"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(sys.path[:1]), **settings},
            cwd=folder,
        )
        try:
            process.stdout.readline()
            wall, cpu = time.monotonic() - began_at, cpu_s(process.pid)
            time.sleep(idle_s)
            return Start(wall, cpu, rss_mib(process.pid))
        finally:
            process.terminate()
            process.wait(_ENDS_WITHIN_S)
            process.stdout.close() if process.stdout else None
