"""For the whole suite: laws are tried on many examples, and never fail for a slow machine."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling, Scheduling

from tests import commands

# No deadline: the machine may be busy. Fewer examples than Hypothesis' 100 keep the default suite under three minutes.
settings.register_profile(
    "gorkd", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gorkd")

commands.is_forking = True

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
ONE_AFTER_THE_OTHER = "tests/adapters/chat/slack"


class ByFile(LoadFileScheduling):
    """Each file goes to one worker; the files of a folder that shares its processes go to one, in a row.

    Between two of them that worker's loop would stand still, and with it the Slack that those processes talk to.
    """

    def _split_scope(self, nodeid: str) -> str:
        return ONE_AFTER_THE_OTHER if nodeid.startswith(f"{ONE_AFTER_THE_OTHER}/") else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: next((at for at, folder in enumerate(FIRST) if item.nodeid.startswith(folder)), 99))
