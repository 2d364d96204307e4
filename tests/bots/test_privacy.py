"""No secret in any log, trace, database or crash report, at any level; no question in the logs below debug."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from aiohttp import ClientSession

from adapters.records.sqlite import FILE_NAME
from tests.bots.test_operating import serving
from tests.commands import Ended, gorkd
from tests.loopback.openai_responders import Fault
from tests.loopback.search_faults import Fault as SearchFault
from tests.loopback.search_world import EXA_KEY, TAVILY_KEY
from tests.loopback.world import SitePage, World
from tests.shared_data import ROOT

KEY = 'sk-planted/key+with "odd" signs-0123456789'.replace(" ", "_")
TOKENS = {
    "GORKD_API_TOKENS": "planted-api-token-0123456789",
    "GORKD_SECRET": "planted installation secret 0123",
    "SLACK_SIGNING_SECRET": "planted-signing-secret-0123456789",
    "SLACK_BOT_TOKEN": "xoxb-planted-0123456789-abcdefghijkl",
}
PASTED = "sk-pasted0123456789abcdefghij"  # a key that somebody pastes, as a page or in a question
PAGE = SitePage(
    "How tides work",
    f"The tides are caused by the gravity of the Moon and of the Sun. Use api_key={PASTED} to see the tables.\n\n"
    "Spring tides occur when the Sun and the Moon are aligned, about twice a month.",
)
QUESTION = f"What causes the tides at zanzibar-lantern with {PASTED}?"


def forms(secret: str) -> list[bytes]:
    """As it is, percent-encoded, escaped in JSON, in Base64 and in hexadecimal."""
    raw = secret.encode()
    texts = [secret, quote(secret, safe=""), json.dumps(secret)[1:-1]]
    return [*(text.encode() for text in texts), base64.b64encode(raw).rstrip(b"=")[:-1], raw.hex().encode()]


def leaks_in(text: bytes, secrets: list[str]) -> list[str]:
    return [secret for secret in secrets if any(form in text for form in forms(secret))]


def said(ended: Ended) -> bytes:
    return (ended.out + ended.err).encode()


def kept(folder: Path) -> bytes:
    """Every byte of the data folder, but for the secret that is made to lie there."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "secret")


MODEL_ECHOES = "model echoes the key"
FAULTS = {
    "answered": {},
    MODEL_ECHOES: {"model": Fault(status=400, message=f"bad key {KEY}")},
    "search echoes the key": {"search": SearchFault(status=401, body=b"refused: " + TAVILY_KEY.encode())},
}


@pytest.mark.parametrize(
    "name", [MODEL_ECHOES, *(pytest.param(name, marks=pytest.mark.slow) for name in FAULTS if name != MODEL_ECHOES)]
)
async def test_no_secret_of_the_settings_appears_anywhere(name: str, tmp_path: Path) -> None:
    """At debug, in an answer and in failures that repeat the key: neither said nor kept, plain or encoded."""
    async with World.of({"/tides": PAGE}) as world:
        if "model" in FAULTS[name]:
            world.model.respond = FAULTS[name]["model"]  # type: ignore[assignment]
        if "search" in FAULTS[name]:
            world.search.faults["tavily"] = FAULTS[name]["search"]  # type: ignore[assignment]
        env = {
            **world.env(tmp_path, "tavily", model=True),
            "OPENAI_API_KEY": KEY,
            **TOKENS,
            "GORKD_LOG_LEVEL": "debug",
        }
        asked = await gorkd("ask", "--json", QUESTION, env=env)
        job_id = asked.json["job_id"]
        traced = await gorkd("trace", job_id, "--prompts", env=env)
        examined = await gorkd("doctor", env=env)

    secrets = [KEY, env["TAVILY_API_KEY"], *TOKENS.values()]
    assert leaks_in(said(asked) + said(traced) + said(examined), secrets) == []
    assert leaks_in(kept(tmp_path), secrets) == []


async def test_a_key_that_somebody_pasted_is_in_no_log_and_no_trace(tmp_path: Path) -> None:
    """It looks like one. The question and the page themselves are kept as they are, until they are forgotten."""
    async with World.of({"/tides": PAGE}) as world:
        env = {**world.env(tmp_path, "tavily", model=True), "GORKD_LOG_LEVEL": "debug"}
        asked = await gorkd("ask", QUESTION, env=env)
        with closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
            (job_id,) = database.execute("SELECT id FROM jobs").fetchone()
            entries = database.execute("SELECT entry FROM trace_entries").fetchall()
        traced = await gorkd("trace", job_id, "--json", "--prompts", env=env)

    log = [line for line in asked.err.splitlines() if line.startswith("{")]
    assert len(log) > 5
    assert PASTED not in "".join(log)
    assert len(entries) > 5
    assert PASTED not in repr(entries)
    assert PASTED not in json.dumps(traced.json["entries"])


async def test_a_question_is_not_logged_unless_debug_is_asked_for(tmp_path: Path) -> None:
    """What people ask is theirs; a log at info says that they asked."""
    async with World.of({"/tides": PAGE}) as world:
        env = {**world.env(tmp_path, "tavily", model=True), "GORKD_LOG_LEVEL": "info"}
        asked = await gorkd("ask", "What causes the tides at zanzibar-lantern?", env=env)

    log = [line for line in asked.err.splitlines() if line.startswith("{")]
    assert asked.code == 0, asked.err
    assert [line for line in log if '"submitted"' in line]
    assert "zanzibar-lantern" not in "".join(log)


async def test_no_page_and_no_event_shows_a_secret(tmp_path: Path) -> None:
    """Whatever a browser or a program reads over HTTP, also when a vendor repeats the key it was sent."""
    tokens = {name: TOKENS[name] for name in ("GORKD_API_TOKENS", "GORKD_SECRET", "SLACK_SIGNING_SECRET")}
    async with World.of({"/tides": PAGE}) as world:
        world.search.faults["exa"] = SearchFault(status=401, body=b"refused: " + EXA_KEY.encode())
        env = {**world.env(tmp_path, "tavily", "exa", model=True), "OPENAI_API_KEY": KEY, **tokens}
        async with serving(env) as address, ClientSession(headers=bearer(tokens["GORKD_API_TOKENS"])) as client:
            answers = [await ask_over_http(client, address, QUESTION)]
            world.model.respond = Fault(status=400, message=f"bad key {KEY}")
            answers.append(await ask_over_http(client, address, "How often do spring tides occur?"))
            pages = b"".join([page for job in answers for page in await read_all(client, address, job)])

    assert b"zanzibar-lantern" in pages
    assert b"pipeline_stage_duration_seconds" in pages
    assert leaks_in(pages, [KEY, env["TAVILY_API_KEY"], EXA_KEY, *tokens.values()]) == []
    assert leaks_in(kept(tmp_path), [KEY, env["TAVILY_API_KEY"], EXA_KEY, *tokens.values()]) == []


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def ask_over_http(client: ClientSession, address: str, question: str) -> str:
    """The id of the job, once it has ended."""
    body = {"query": question, "depth": "deep"}
    async with client.post(f"{address}/v1/research", json=body) as response:
        job_id = (await response.json())["job_id"]
    async with client.get(f"{address}/v1/jobs/{job_id}/stream") as stream:
        await stream.read()
    return str(job_id)


async def read_all(client: ClientSession, address: str, job_id: str) -> list[bytes]:
    """Everything there is to read about a job and about the process, headers included."""
    paths = [f"/v1/jobs/{job_id}{part}" for part in ("", "/stream", "/sources", "/trace")]
    paths += [f"/jobs/{job_id}", "/", "/metrics", "/health", "/openapi.json", f"/jobs/{'0' * 9}", "/nowhere"]
    read = []
    for path in paths:
        async with client.get(f"{address}{path}") as response:
            read.append(repr(response.headers).encode() + await response.read())
    return read


async def test_a_crash_is_reported_without_the_secret_it_carries(tmp_path: Path) -> None:
    """A bug whose traceback holds a key: the report goes through the log, which takes it out."""
    script = tmp_path / "broken.py"
    script.write_text(
        "import sys\n"
        "from bots import processes\n"
        "from bots.__main__ import main\n"
        "async def broken(env, settings):\n"
        "    raise RuntimeError('the key is ' + env['OPENAI_API_KEY'])\n"
        "processes.RUNNERS = {**processes.RUNNERS, 'web': broken}\n"
        "sys.argv = ['gorkd', 'web']\n"
        "main()\n"
    )

    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": KEY, "GORKD_DATA": str(tmp_path)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 50)

    assert process.returncode != 0
    assert b"RuntimeError" in err
    assert leaks_in(out + err, [KEY]) == []
