"""The threat model and the examples of how to run gorkd name what exists, and leave it no more rights than it needs."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml

from bots.__main__ import PROCESSES

ROOT = Path(__file__).resolve().parent.parent
MODEL = (ROOT / "docs/security.md").read_text("utf-8")
DEPLOY = (ROOT / "docs/deploy.md").read_text("utf-8")
THREATS = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", MODEL, re.MULTILINE)
VARIABLES = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE))
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
    command = re.search(r"^ExecStart=\S+/gorkd (\w+)$", unit[1], re.MULTILINE)
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
    image = (ROOT / "Containerfile").read_text("utf-8")
    run = re.search(r"^podman run (.*?)gorkd\n```", DEPLOY, re.DOTALL | re.MULTILINE)
    assert run is not None

    command = re.search(r'^ENTRYPOINT \["gorkd"\]\nCMD \["(\w+)"\]$', image, re.MULTILINE)

    assert command[1] in PROCESSES
    assert image.index("\nUSER gorkd\n") < command.start()
    for option in ("--read-only", "--tmpfs /tmp", "--cap-drop all", "--security-opt no-new-privileges"):
        assert f"{option} " in run[1]
    copied = re.findall(r"^COPY (?!--from)(\S+)", image, re.MULTILINE)
    assert [name for name in copied if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", ["compose.yml", "compose.workers.yml"])
def test_each_service_of_ours_runs_what_exists_without_rights(name: str):
    """As the container by itself; pages are open to this machine alone."""
    services = yaml.safe_load((ROOT / name).read_text("utf-8"))["services"]
    ours = [service for service in services.values() if service["image"] == "gorkd"]

    assert ours != []
    for service in ours:
        assert set(service["command"]) <= set(PROCESSES)
        assert service["read_only"] is True
        assert service["tmpfs"] == [
            "/tmp"
        ]  # /data is the image's volume, which is gorkd's: podman gives no tmpfs to a user
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["stop_grace_period"] == "40s"
        assert set(service.get("environment", {})) <= VARIABLES
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert ports == ["127.0.0.1:8080:8080"]


def test_the_image_is_made_of_no_secret_and_of_all_that_the_wheel_needs():
    """`.env` and data folders stay outside; what the wheel takes in is let through."""
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert "\n*\n" in (ROOT / ".dockerignore").read_text("utf-8")
    assert allowed >= {*wheel["packages"], *wheel["force-include"], "pyproject.toml", "requirements.lock", "LICENSE"}
    assert all((ROOT / name).exists() for name in allowed)
    assert not allowed & {".env", ".gorkd", "gorkd.env"}


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
