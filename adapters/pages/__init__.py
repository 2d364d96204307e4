"""Reading pages of the web: one fetcher, one guard, one robots.txt policy, parsers in killable processes.

`WebPages` is the only public name. It is imported on first use, because the worker processes import this package
too and need no HTTP client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.pages.fetch import WebPages as WebPages

__all__ = ["WebPages"]


def __getattr__(name: str) -> type[WebPages]:
    if name == "WebPages":
        from adapters.pages.fetch import WebPages

        return WebPages
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
