"""Other gorkd processes, for what several of them do to one store."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


async def python(script: str, *arguments: object) -> asyncio.subprocess.Process:
    """Another process running `script`, with pipes."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        script,
        *map(str, arguments),
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
