"""gorkd as it is installed: from a wheel, without the checkout (N-27), and before an upgrade."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import sysconfig
import venv
import zipfile
from asyncio.subprocess import PIPE
from contextlib import closing
from pathlib import Path

import pytest

from adapters.records.schema import NEWEST
from tests.adapters.records.samples import older_file
from tests.commands import gorkd
from tests.servers import free_port
from tests.shared_data import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has gorkd from its wheel, and what gorkd needs from here; the checkout is nowhere on its path."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=100)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, check=True, timeout=30, capture_output=True, text=True).stdout.strip())
    with zipfile.ZipFile(wheel) as members:
        members.extractall(packages)
    return python


async def run(python: Path, folder: Path, *arguments: str) -> tuple[int, str]:
    """`gorkd …` in an empty folder, where no search service can be reached; its code and all that it says."""
    nowhere = f"http://127.0.0.1:{free_port()}"
    services = ("WIKIPEDIA_BASE_URL", "PUBMED_BASE_URL", "ARXIV_BASE_URL")
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": sysconfig.get_path("purelib"),  # as a path, not a site: its link to the checkout is not followed
        **dict.fromkeys(services, nowhere),
    }
    process = await asyncio.create_subprocess_exec(
        python, "-m", "bots", *arguments, cwd=folder, env=env, stdout=PIPE, stderr=PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, (out + err).decode()


@pytest.mark.slow
async def test_a_wheel_answers_from_its_own_documents_without_the_checkout(installed: Path, tmp_path: Path):
    """Prompts, word lists, templates and documents are inside; nothing is read from where it was built."""
    code, said = await run(installed, tmp_path, "ask", "How is confidence scored?")

    assert code == 0, said
    assert "never asked how sure it is" in " ".join(said.split())
    assert str(ROOT) not in said.replace(str(installed.parent), "")


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--help", "--version", "doctor"])
async def test_a_wheel_has_its_commands(installed: Path, tmp_path: Path, command: str):
    code, said = await run(installed, tmp_path, command)

    assert "Traceback" not in said
    assert code == (4 if command == "doctor" else 0)  # no service can be reached


async def test_an_upgrade_is_foretold_and_nothing_is_changed(tmp_path: Path):
    """With the version that is there, the tables that will change, and the advice to make a backup."""
    with older_file(tmp_path):
        pass

    ended = await gorkd("upgrade-check", env={"GORKD_DATA": str(tmp_path)})

    assert ended.code == 0, ended.err
    assert f"of version 1, this gorkd's of {NEWEST}" in ended.out
    assert "papers" in ended.out
    assert "backup" in ended.out
    with closing(sqlite3.connect(tmp_path / "gorkd.db")) as connection:
        assert connection.execute("SELECT MAX(version) FROM schema_version").fetchone() == (1,)
