"""The threat model and the examples of how to run gorkd name what exists, and leave it no more rights than it needs."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from bots.__main__ import PROCESSES

ROOT = Path(__file__).resolve().parent.parent
MODEL = (ROOT / "docs/security.md").read_text("utf-8")
DEPLOY = (ROOT / "docs/deploy.md").read_text("utf-8")
THREATS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", MODEL, re.MULTILINE)
SHORT = re.compile(r"`([^`]+)`")


def test_the_model_has_at_least_twenty_threats_numbered_in_order():
    numbers = [int(number) for number, *_ in THREATS]

    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 20


@pytest.mark.parametrize("row", THREATS, ids=[row[0] for row in THREATS])
def test_each_threat_has_an_answer_and_a_proof(row: tuple[str, str, str, str]):
    """At least one file that answers it and one test that would fail without the answer, all of them there."""
    _, _, answer, proof = row

    files, tests = SHORT.findall(answer), SHORT.findall(proof)

    assert files != []
    assert tests != []
    assert [file for file in files if not (ROOT / file).exists()] == []
    assert [test for test in tests if test.partition("::")[2] not in names_of_tests(test.partition("::")[0])] == []


def test_the_unit_runs_what_exists_and_systemd_reads_every_line(tmp_path: Path):
    """A directive that is misspelt would be ignored without a word, and protect nothing."""
    unit = re.search(r"^```ini\n(\[Unit\].*?)^```", DEPLOY, re.DOTALL | re.MULTILINE)
    assert unit is not None
    command = re.search(r"^ExecStart=\S+/gorkd (\w+)$", unit[1], re.MULTILINE)
    assert command is not None
    assert command[1] in PROCESSES
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    file = tmp_path / "gorkd.service"
    file.write_text(re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", unit[1], flags=re.MULTILINE), "utf-8")

    checked = subprocess.run(
        ["systemd-analyze", "verify", str(file)], capture_output=True, text=True, timeout=30, check=False
    )

    assert [line for line in checked.stderr.splitlines() if "gorkd.service:" in line] == []


def test_the_container_runs_what_exists_without_rights():
    """It is no root, cannot write but to its volume, and can win no rights."""
    image = re.search(r"^```dockerfile\n(.*?)^```", DEPLOY, re.DOTALL | re.MULTILINE)
    run = re.search(r"^podman run (.*?)gorkd\n```", DEPLOY, re.DOTALL | re.MULTILINE)
    assert image is not None
    assert run is not None

    command = re.search(r'^ENTRYPOINT \["gorkd"\]\nCMD \["(\w+)"\]$', image[1], re.MULTILINE)

    assert command is not None
    assert command[1] in PROCESSES
    assert image[1].index("\nUSER gorkd\n") < command.start()
    for option in ("--read-only", "--tmpfs /tmp", "--cap-drop all", "--security-opt no-new-privileges"):
        assert f"{option} " in run[1]


@cache
def names_of_tests(path: str) -> frozenset[str]:
    """Names of the test functions in a file; none for a file that is not there."""
    file = ROOT / path
    if not path.startswith("tests/") or not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text("utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )
