"""A command of the terminal from its coroutine to its exit code."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

import typer

from adapters.cli.saying import Exit, make_encodable, report, say
from core import wording
from core.errors import GorkdError

_log = logging.getLogger(__name__)


def run_command(command: Callable[[], Coroutine[None, None, Exit]], *, as_json: bool = False) -> None:
    """Carry a command to its exit code; whatever goes wrong becomes a sentence."""
    make_encodable()
    try:
        code = asyncio.run(command())
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except GorkdError as error:
        code = report(error, as_json=as_json)
    except (typer.Abort, BrokenPipeError):  # typer ends quietly when whoever read along has seen enough (`| head`)
        raise
    except Exception as error:  # noqa: BLE001 -- the process boundary: a person gets a sentence, the log the rest
        _log.debug("command failed", exc_info=True)
        say(f"{wording.SOMETHING_BROKE} ({type(error).__name__}; GORKD_LOG_LEVEL=debug shows more)")
        code = Exit.FAILED
    raise typer.Exit(code)
