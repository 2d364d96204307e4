"""The suite's workers, which are forked: what a test leaves behind ends with them, as with those of pytest-xdist."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.shared_data import ROOT

LEAVES = """
import os, sys
from pathlib import Path
from tests.forked import Forked

async def test_leaves():
    left = await Forked.start("-c", "import time; time.sleep(600)", env=dict(os.environ))
    Path(__file__).with_name("pid").write_text(str(left.pid))
"""


@pytest.mark.slow
async def test_a_command_that_a_test_leaves_ends_with_the_worker(tmp_path: Path):
    """Also where the test stands outside of the project, whose like is not imported for all workers at once."""
    (tmp_path / "test_leaves.py").write_text(LEAVES)
    asked = (str(tmp_path / "test_leaves.py"), f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml"))
    suite = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", "1", *asked,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip

    said, _ = await suite.communicate()

    assert suite.returncode == 0, said.decode()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.slow
async def test_a_command_ends_when_the_suite_is_interrupted(tmp_path: Path):
    """Ctrl-C reaches all of a terminal's processes, `kill -INT` the suite's first one alone."""
    waits = LEAVES.replace("import os, sys", "import asyncio, os, sys") + "    await asyncio.Event().wait()\n"
    (tmp_path / "test_leaves.py").write_text(waits)
    os.mkfifo(tmp_path / "pid")
    asked = (str(tmp_path / "test_leaves.py"), f"--rootdir={ROOT}", "-c", str(ROOT / "pyproject.toml"))
    suite = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", "1", *asked,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    left = os.pidfd_open(int(await asyncio.to_thread((tmp_path / "pid").read_text)))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(left, ended.set)

    suite.send_signal(signal.SIGINT)
    await suite.communicate()

    await asyncio.wait_for(ended.wait(), 30)
    asyncio.get_running_loop().remove_reader(left)
    os.close(left)
