"""The examples of docs/api.md, run as they stand against a real server process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import bibtexparser
import pytest

from tests.adapters.durable.processes import Process
from tests.adapters.web.conformity import description
from tests.shared_data import ROOT

DOCUMENT = (ROOT / "docs/api.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8080"
MARK = "=== next example ==="


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Process]:
    """Everything in one process, answering from the project's own documents."""
    env = {
        "GORKD_DATA": str(tmp_path / "data"), "GORKD_PROVIDERS": "files", "HOST": "127.0.0.1", "PORT": "0",
        "GORKD_API_TOKENS": "a-token-of-a-program", "GORKD_TRUST_LOCAL": "1", "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    process = await Process.start("all", env)
    yield process
    process.running.terminate()
    assert await process.ended() == 0


async def test_the_examples_do_what_the_page_says(served: Process, tmp_path: Path):
    """Copied line by line into one shell, each of them works, and says what is promised."""
    if shutil.which("curl") is None:
        assert os.environ.get("CI") != "true", "curl is not installed"
        pytest.skip("curl is not installed")
    examples = re.findall(r"^```sh\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    script = f"\necho '{MARK}'\n".join(["set -euo pipefail", *examples]).replace(ADDRESS, served.address)

    shell = await asyncio.create_subprocess_exec(
        "bash", "-c", script, cwd=tmp_path, env={"PATH": os.environ["PATH"], "TOKEN": "a-token-of-a-program"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(shell.communicate(), 50)

    assert shell.returncode == 0, out.decode()[-800:] + err.decode()
    said = [part.strip() for part in out.decode().split(MARK)][1:]
    (
        asked,
        twice,
        retried,
        followed,
        stream,
        rest,
        job,
        sources,
        renewed,
        entries,
        private,
        revoked,
        from_afar,
        limits,
        ready,
        missing,
    ) = [text for text in said if text]
    assert len(set(re.findall(r"job_[0-9a-f]{32}", twice))) == 1
    assert twice.count('"job_id"') == 2
    assert "job_id" in retried or "INVALID_QUERY" in retried
    assert json.loads(followed)["status"] == "pending"
    assert ready.count('"status"') == 2
    assert json.loads(asked)["status"] == "pending"
    assert stream.count("event: complete") == rest.count("event: complete") == private.count("event: complete") == 1
    assert re.findall(r"^id: (\d+)", stream, re.MULTILINE)[2:] == re.findall(r"^id: (\d+)", rest, re.MULTILINE)
    assert json.loads(job)["answer"]["summary"]
    assert json.loads(sources)["sources"][0]["content_preview"]
    assert bibtexparser.parse_string(entries).entries
    assert revoked.startswith("204")
    assert "JOB_NOT_FOUND" in revoked
    assert json.loads(from_afar)["job_id"]
    assert len(set(re.findall(r"job_[0-9a-f]{32}", renewed))) == 2
    assert "X-RateLimit-Remaining" in limits
    assert json.loads(missing) == json.loads(documented_error())
    assert (tmp_path / "answer.ris").read_text().startswith("TY  - ")


def test_every_address_is_listed():
    """The table of the page and the paths of the OpenAPI document are the same; the exports stand in one row."""
    described = {
        f"{method.upper()} {path}"
        for path, operations in description()["paths"].items()
        for method in operations
        if method != "parameters"
    }

    listed = set(re.findall(r"^\| `([A-Z]+ /[^`]*)` \|", DOCUMENT, re.MULTILINE))

    assert listed == described - {f"GET /jobs/{{job_id}}/answer.{kind}" for kind in ("json", "bib", "ris", "tex")}


def documented_error() -> str:
    """What the page says an unknown job looks like."""
    blocks: list[str] = re.findall(r"^```json\n(.*?)^```", DOCUMENT, re.DOTALL | re.MULTILINE)
    return next(block for block in blocks if "JOB_NOT_FOUND" in block)
