"""For the whole suite: laws are tried on many examples, and never fail for a slow machine."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

from adapters.pages.workers import NURSERY
from tests import commands

# No deadline: the machine may be busy. Fewer examples than Hypothesis' 100 keep the default suite under three minutes.
settings.register_profile(
    "gorkd", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gorkd")

commands.is_forking = True
NURSERY.start(
    NURSERY
)  # one parent of all tests' parsers; each would start its own, for half a second of processor time

# Started in the background (nohup), a process ignores Ctrl-C, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# They start processes and take longest: begun last, one worker would wait for the other at the end.
FIRST = (
    "tests/adapters/chat/slack/",
    "tests/bots/",
    "tests/adapters/durable/",
    "tests/adapters/chat/",
    "tests/core/findings/",
    "tests/core/deep/",
    "tests/core/section/",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((at for at, folder in enumerate(FIRST) if item.nodeid.startswith(folder)), 99))
