"""The one table of processes and commands: `gorkd …` and `python -m bots …`."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from adapters.cli.app import build_app
from core.model.errors import GorkdError
from core.text.saying import ENGLISH, speaking

if TYPE_CHECKING:  # what a command needs is imported when it is called
    from adapters.cli.running import Operating
    from bots.config import BotSettings
    from core.pipeline.researcher import Researcher

log = logging.getLogger(__name__)

PROCESSES = {
    "all": "Run everything that is configured in one process.",
    "web": "Run the pages and the API; questions need a worker.",
    "discord": "Run the Discord bot; questions need a worker.\n\nIt needs DISCORD_TOKEN.",
    "slack": "Run the Slack app; questions need a worker.\n\nBy Socket Mode, with SLACK_BOT_TOKEN and SLACK_APP_TOKEN.",
    "worker": "Research what the others enqueue; run as many as needed.",
}
_ASK_GRACE_S = 0.0  # someone at a terminal who leaves does not want to wait


def main() -> None:
    """The console script. Always ends the interpreter at once: a look-up that still hangs must not hold the prompt."""
    code = 0
    gc.disable()  # imports leave little to collect, and looking for it took a fifth of the time of starting
    try:
        with speaking(_locale()):
            build_app(open_researcher, run_process, PROCESSES, operating, run_mcp)()
    except SystemExit as exc:
        code = exc.code if isinstance(exc.code, int) else 1
    except Exception:  # the process boundary: the interpreter's own report of a crash would show secrets
        log.exception("gorkd broke")
        code = 1
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError):  # closed or full: there is nobody left to tell
            stream.flush()
    os._exit(code)


def _locale() -> str:
    """What the terminal's other programs speak, as POSIX says it: the first that is set."""
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return next(filter(None, named), "").partition(".")[0]


@asynccontextmanager
async def open_researcher() -> AsyncIterator[Researcher]:
    """For one command at a terminal: no queue of its own, logs only when something is wrong."""
    from bots.config import surroundings
    from bots.wiring import open_house

    env, settings = surroundings()
    async with open_house(env, settings, grace_s=_ASK_GRACE_S) as house:
        yield house.researcher


def operating() -> Operating:
    """What the operator's commands work on."""
    from bots.operating import build_operating

    return build_operating()


def run_process(name: str) -> None:
    """Run one of `PROCESSES` until SIGINT or SIGTERM. Raises `SetupError`."""
    from bots.processes import RUNNERS

    _run(RUNNERS[name])


def run_mcp(is_http: bool) -> None:
    """Serve tools until SIGINT, SIGTERM or the end of standard input. Raises `SetupError`."""
    from bots.processes import run_mcp_http, run_mcp_stdio

    _run(run_mcp_http if is_http else run_mcp_stdio)


def _run(runner: Callable[[Mapping[str, str], BotSettings], Awaitable[None]]) -> None:
    from bots.config import surroundings

    env, settings = surroundings(usual_level="info")
    try:
        with speaking(ENGLISH):  # whoever is served has a language of their own, never this terminal's
            asyncio.run(_until_signalled(runner(env, settings)))
    except ExceptionGroup as group:  # one of several parts could not run: a person needs its sentence, not the group
        ours = group.subgroup(GorkdError)
        raise (_first(ours) if ours else group) from group


def _first(group: ExceptionGroup[GorkdError]) -> GorkdError:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first


async def _until_signalled(running: Awaitable[None]) -> None:
    """Await `running`; the first signal cancels it, and it ends in order."""
    task = asyncio.ensure_future(running)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("stopped")


if __name__ == "__main__":
    main()
