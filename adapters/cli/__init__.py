"""The command line: `gorkd ask …` and the commands that start processes. `build_app` is all that others need."""

from adapters.cli.app import build_app

__all__ = ["build_app"]
