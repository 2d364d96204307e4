"""Other gorkd processes, for what several of them do to one store."""

from __future__ import annotations

import os

from tests.forked import Forked


async def python(script: str, *arguments: object) -> Forked:
    """Another process running `script`, with pipes."""
    return await Forked.start("-c", script, *map(str, arguments), env=os.environ)
