"""For the whole suite: laws are tried on many examples, and never fail for a slow machine.

What each worker of the suite would do for itself is done once, or not at all: a template of processes, the rewriting of
assertions, which shows what they compared (for that, run what failed with `-n 0`), and going through garbage.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

from adapters.pages.workers import NURSERY
from tests import commands, forked
from tests.servers import postgres_server, postgres_url, redis_server, redis_url

__all__ = ["postgres_server", "postgres_url", "redis_server", "redis_url"]  # one of each a worker

gc.disable()  # until all is imported

# No deadline: the machine may be busy. Fewer examples than Hypothesis' 100, and others in each run, keep the default
# suite short.
settings.register_profile(
    "gorkd", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("gorkd")

commands.is_forking = True
os.environ["SSL_CERT_FILE"] = commands.NO_AUTHORITY

# Started in the background (nohup), a process ignores Ctrl-C, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# They take longest, or wait for processes: begun last, one worker would be at them while the others have nothing to do.
FIRST = (
    "tests/test_soak.py",
    "tests/adapters/web/test_browser.py",
    "tests/adapters/chat/slack/",
    "tests/bots/",
    "tests/adapters/durable/",
    "tests/adapters/chat/",
    "tests/adapters/web/test_hostile_browser.py",
    "tests/core/findings/",
    "tests/core/deep/",
    "tests/core/section/",
    "tests/test_",
    "tests/adapters/",
)

# They share no world, so that whichever worker has nothing else to do takes the next one.
LAST = "tests/test_hostile_text.py"


class Scheduling(LoadFileScheduling):
    """A file's tests are one worker's, but for those that come last."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(LAST) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_xdist_auto_num_workers() -> int:
    """On two processors: tests wait for most of their time."""
    return 6


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    files = {item.path: item.nodeid for item in items}
    turns = {
        file: (name.startswith(LAST), next((at for at, folder in enumerate(FIRST) if name.startswith(folder)), 99))
        for file, name in files.items()
    }
    items.sort(key=lambda item: turns[item.path])


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    if hasattr(os, "pidfd_open"):  # on Linux
        forked.fork_workers(config.args)
    forked.template()  # meanwhile


def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput["template"] = forked.template()


def pytest_configure(config: pytest.Config) -> None:
    if given := getattr(config, "workerinput", None):
        forked.share(given["template"])
        sys.meta_path.remove(config.pluginmanager.rewrite_hook)  # type: ignore[arg-type]


def pytest_collection_finish() -> None:
    # One parent of all tests' parsers; each would start its own, for half a second of processor time.
    NURSERY.start(NURSERY)
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # a third as often: a worker's garbage is its tests', which end
    gc.enable()
