"""`gorkd export` and `gorkd verify`."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from adapters.cli import receipts
from adapters.cli.receipts import fetch_key
from adapters.proxies import DIRECT
from adapters.records.jobs import SqlJobStore, SqlSourceStore
from core.model.errors import InvalidQuery
from core.receipts.container import public_key, write_receipt
from tests.adapters.cli.test_operating import Desk
from tests.core.receipts import samples
from tests.records import at_once

ROOT = Path(__file__).resolve().parents[3]
OURS = public_key(b"k" * 32)


def desk(**more: object) -> Desk:
    """With an answered job."""
    told = samples.answered()
    made = Desk(**more)  # type: ignore[arg-type]
    at_once(SqlJobStore(made.tables).finish(told.job, told.result))
    at_once(SqlSourceStore(made.tables).put(told.job, told.sources))
    return made


@pytest.fixture
def receipt(tmp_path: Path) -> Path:
    path = tmp_path / "r.zip"
    done = desk().run("export", samples.answered().job.id, "--receipt", "--out", str(path))
    assert done.exit_code == 0, done.output
    return path


def test_what_is_exported_can_be_verified(receipt: Path):
    done = desk().run("verify", str(receipt), "--key", OURS)

    assert done.exit_code == 0
    assert "Sound" in done.stdout
    assert samples.QUESTION in done.stdout


def test_a_receipt_that_somebody_else_signed_does_not_end_sound(tmp_path: Path):
    """Whole as it is: it may be made up from end to end, and names the server that it claims to be from."""
    forged = tmp_path / "forged.zip"
    forged.write_bytes(write_receipt(replace(samples.receipt(), issuer="https://gorkd.test"), bytes(32)))

    plain = desk().run("verify", str(forged))
    asked = desk(published={"https://gorkd.test": f"ed25519 {OURS}\n"}).run(
        "verify", str(forged), "--key", "https://gorkd.test"
    )

    assert "Sound" not in plain.stdout
    ending = plain.stdout.splitlines()[-1]
    assert public_key(bytes(32)) in ending
    assert "a key nobody vouched for" in ending
    assert "https://gorkd.test/.well-known/gorkd-key" in ending
    assert (plain.exit_code, asked.exit_code) == (0, 4)
    assert "another key" in asked.stdout


def test_the_key_of_a_server_is_trusted(receipt: Path):
    done = desk(published={"https://gorkd.test": f"ed25519 {OURS}\n"}).run(
        "verify", str(receipt), "--key", "https://gorkd.test", "--json"
    )

    said = json.loads(done.stdout)
    assert (said["sound"], said["intact"], said["signed_by"]) == (True, True, OURS)


async def test_a_key_is_fetched_where_it_is_published():
    async def give(request: web.Request) -> web.Response:
        return web.Response(text=f"ed25519 {OURS}\n")

    async def elsewhere(request: web.Request) -> web.Response:
        raise web.HTTPFound("/.well-known/gorkd-key")

    app = web.Application()
    app.router.add_get("/.well-known/gorkd-key", give)
    app.router.add_get("/moved", elsewhere)
    async with TestServer(app) as server:
        address = f"http://127.0.0.1:{server.port}"

        assert await fetch_key(address, DIRECT) == f"ed25519 {OURS}\n"
        with pytest.raises(InvalidQuery, match="HTTP 302"):
            await fetch_key(f"{address}/moved", DIRECT)
    with pytest.raises(InvalidQuery, match="over https"):
        await fetch_key("http://gorkd.example", DIRECT)


def test_what_is_no_zip_is_called_so(tmp_path: Path):
    other = tmp_path / "README.md"
    other.write_text("# gorkd\n", "utf-8")

    done = desk().run("verify", str(other))

    assert done.exit_code == 4
    assert "it is no zip file" in done.stdout


def test_verifying_needs_neither_network_nor_records(receipt: Path, tmp_path: Path):
    """As on a machine of somebody else: nothing of ours is there, and nothing is left behind."""
    home = tmp_path / "home"
    home.mkdir()
    env = {"PYTHONPATH": str(ROOT), "HOME": str(home), "HTTP_PROXY": "http://127.0.0.1:9", "PATH": ""}

    done = subprocess.run(
        [sys.executable, "-m", "bots", "verify", str(receipt)], cwd=home, env=env, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "a key nobody vouched for" in done.stdout
    assert list(home.iterdir()) == []


def test_a_key_that_is_empty_is_no_key(receipt: Path):
    """As where a script's variable was never set."""
    done = desk().run("verify", str(receipt), "--key", "")

    assert done.exit_code == 2
    assert "There is no key" in done.stderr


def test_a_receipt_writes_no_line_of_its_own(tmp_path: Path):
    """Times and ids of one that anybody can have made up: none hides the lines of the checks, or adds one."""
    forged = tmp_path / "forged.zip"
    lie = "2026\x1b[2J\nSound: nothing in it was changed.\x1b[8m"
    forged.write_bytes(write_receipt(replace(samples.receipt(), answered_at=lie, job_id=lie)))

    done = desk().run("verify", str(forged))

    assert "\x1b" not in done.stdout
    assert not any(line.startswith("Sound") for line in done.stdout.splitlines())


def test_a_change_is_found(receipt: Path):
    receipt.write_bytes(receipt.read_bytes().replace(b"answer.md", b"answer.mb"))

    done = desk().run("verify", str(receipt), "--json")

    assert done.exit_code == 4
    assert json.loads(done.stdout)["sound"] is False


@pytest.mark.parametrize("is_file", [True, False], ids=["file", "key"])
def test_another_key_is_refused(receipt: Path, tmp_path: Path, is_file: bool):
    other, path = public_key(bytes(32)), tmp_path / "gorkd-key"
    path.write_text(f"ed25519 {other}\n", "utf-8")

    done = desk().run("verify", str(receipt), "--key", str(path) if is_file else other)

    assert done.exit_code == 4
    assert "another key" in done.stdout
    assert "Sound" not in done.stdout


def test_a_file_without_a_key_is_no_key_that_has_signed(receipt: Path, tmp_path: Path):
    """As after a download that failed: who asks for a key is told that there is none."""
    path = tmp_path / "gorkd-key"
    path.write_text("# nothing\n", "utf-8")

    done = desk().run("verify", str(receipt), "--key", str(path))

    assert done.exit_code == 2
    assert "no key" in done.stderr
    assert "Sound" not in done.stdout


def test_live_reads_the_cited_pages_alone(receipt: Path):
    first, second = samples.PAGES
    asked = desk(pages={first: samples.PAGES[first]})

    done = asked.run("verify", str(receipt), "--live")

    assert done.exit_code == 0
    assert f"{first} reads as it did" in done.stdout
    assert f"{second} could not be read: HTTP 404" in done.stdout


def test_live_is_bounded(receipt: Path, monkeypatch: pytest.MonkeyPatch):
    """Whoever wrote the receipt says which pages are read, so the rest is only named."""
    first, second = samples.PAGES
    monkeypatch.setattr(receipts, "LIVE_CHARS", 10)

    done = desk(pages=samples.PAGES).run("verify", str(receipt), "--live")

    assert f"{first} reads as it did" in done.stdout
    assert second not in done.stdout
    assert "1 cited page not looked at: at most 40 pages" in done.stdout


def test_an_answer_is_exported_as_markdown(tmp_path: Path):
    path = tmp_path / "a.md"

    printed = desk().run("export", samples.answered().job.id)
    written = desk().run("export", samples.answered().job.id, "--out", str(path))

    assert (printed.exit_code, written.exit_code) == (0, 0)
    assert printed.stdout.startswith(f"# {samples.QUESTION}")
    assert path.read_text("utf-8") == printed.stdout


WRONG = {
    "no such job": (("export", "job_none", "--receipt"), 2),
    "no such file": (("verify", "none.zip"), 2),
    "nowhere to write": (("export", "job_1", "--receipt", "--out", "/dev/null/x"), 2),
}


@pytest.mark.parametrize(("arguments", "code"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_done_is_a_sentence(arguments: tuple[str, ...], code: int):
    done = desk().run(*arguments)

    assert done.exit_code == code
    assert done.stderr.startswith("gorkd: ")
    assert "Traceback" not in done.output
