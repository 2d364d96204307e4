"""gorkd's own commands as real processes, with nothing of this machine's settings in their environment."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.forked import Forked
from tests.shared_data import ROOT

Running = Process | Forked

# One certificate, of nobody: a client takes 20 ms to read those of all authorities, and no test leaves this machine.
NO_AUTHORITY = str(ROOT / "tests" / "loopback" / "authority.pem")

is_forking = False  # tests do; what measures or soaks starts each process as a user does


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.out)


async def start(*arguments: str, env: Mapping[str, str], module: str = "bots", anew: bool = False) -> Running:
    """`gorkd …`; `anew` with an interpreter of its own, as it must be where the loader is told something."""
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "COLUMNS": "200", **env}
    if is_forking:
        settings = {"SSL_CERT_FILE": NO_AUTHORITY, **settings}
    if is_forking and not anew and "LD_PRELOAD" not in env:
        return await Forked.start(module, *arguments, env=settings)
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=ROOT, env=settings, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )


async def gorkd(*arguments: str, env: Mapping[str, str], lines: str = "", anew: bool = False) -> Ended:
    """Run one command to its end, in which somebody types `lines`."""
    started = time.monotonic()
    process = await start(*arguments, env=env, anew=anew)
    out, err = await asyncio.wait_for(process.communicate(lines.encode()), 50)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode(), time.monotonic() - started)
