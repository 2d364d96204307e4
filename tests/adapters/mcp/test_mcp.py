"""`gorkd mcp` as a real process, spoken to by the official client: over standard input and output, and over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from adapters import mcp
from core.presentation.tools import DEEP_RESEARCH, RESEARCH
from tests.commands import gorkd, start
from tests.core.deep.world import QUESTION, DeepWorld
from tests.shared_data import ROOT

TOKEN = "token-of-a-program-0123456789"
ANSWER_S = 40.0


@pytest.fixture
async def world() -> AsyncIterator[DeepWorld]:
    async with DeepWorld.of() as opened:
        yield opened


def over_stdio(world: DeepWorld, tmp_path: Path) -> Client:
    env = {"PATH": os.environ["PATH"], "GORKD_LOG_LEVEL": "error", **world.env(tmp_path)}
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "bots", "mcp"], env=env, cwd=ROOT)
    return Client(parameters, mode="auto")


@asynccontextmanager
async def http_process(world: DeepWorld, tmp_path: Path, **more: str) -> AsyncIterator[str]:
    """The address of a running `gorkd mcp --http`."""
    env = {**world.env(tmp_path), "PORT": "0", "GORKD_API_TOKENS": TOKEN, **more}
    process = await start("mcp", "--http", env=env)
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode()
        yield line.rpartition(" ")[2].strip()
    finally:
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 20) == 0


@asynccontextmanager
async def over_http(address: str) -> AsyncIterator[tuple[Client, httpx2.AsyncClient]]:
    """A program that holds the token, and the connections it has."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=ANSWER_S) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client, http


LIBRARY = ("library_find", "library_ask", "library_read")


class Heard:
    """The progress a caller was told."""

    def __init__(self) -> None:
        self.told: list[tuple[float, str]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.told.append((progress, message or ""))


async def test_over_stdio_tools_are_those_of_the_specification_and_research_tells_its_progress(world, tmp_path):
    """S002-01, S002-02, S002-03, S002-04, D9: name, description with when and when not, input and output schema.

    S002-13, S002-15: the lines come as progress that only grows; the result has the output's fields.
    """
    heard = Heard()

    async with over_stdio(world, tmp_path) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        done = await client.call_tool("deep_research", {"question": QUESTION, "max_iterations": 2}, ANSWER_S, heard)

    watching = {"list_watches", "watch", "stop_watching"}
    again = {"retry", "refresh", "improve", "share", "export"}
    assert set(tools) == {"deep_research", "research", *LIBRARY, "check_references", *again, *watching}
    deep = tools["deep_research"]
    assert deep.description.startswith("Conducts in-depth research on a question using PubMed and web search.")
    assert "inform the user that deep research typically takes 1-3 minutes" in deep.description
    assert "Do NOT use this for:\n- Simple factual lookups" in deep.description
    assert deep.input_schema == DEEP_RESEARCH.input_schema
    assert deep.input_schema["required"] == ["question"]
    assert deep.input_schema["properties"]["max_iterations"]["default"] == 10
    assert deep.output_schema == DEEP_RESEARCH.output_schema
    assert tools["research"].input_schema == RESEARCH.input_schema

    output = done.structured_content
    assert not done.is_error
    assert set(output) == set(DEEP_RESEARCH.output_schema["required"])
    assert output["status"] == "completed"
    assert "[1]" in output["answer"]
    assert {source["type"] for source in output["sources"]} == {"pubmed", "web"}
    assert done.content[0].text.startswith("Research complete. ")
    shares = [share for share, _ in heard.told]
    assert shares == sorted(set(shares))
    messages = [message for _, message in heard.told]
    assert messages.index("🔍 Starting deep research...") < messages.index("🔄 Iteration 1/2")
    assert "✓ Research complete. Synthesizing answer..." in messages


async def test_both_tools_over_http_with_a_token(world, tmp_path):
    """S002-15: the same server for programs on other machines, with its progress."""
    heard = Heard()

    async with http_process(world, tmp_path) as address, over_http(address) as (client, http):
        quick = await client.call_tool("research", {"query": QUESTION}, ANSWER_S)
        deep = await client.call_tool("deep_research", {"question": QUESTION}, ANSWER_S, heard)
        shared = await client.call_tool("share", {"job_id": quick.structured_content["job_id"]}, ANSWER_S)
        refused = [
            await http.post(address, json={}, headers={"Authorization": wrong}) for wrong in ("", "Bearer wrong", TOKEN)
        ]

    assert quick.structured_content["status"] == deep.structured_content["status"] == "completed"
    assert quick.structured_content["answer"]["summary"]
    assert quick.structured_content["citations"]
    assert shared.structured_content["url"].endswith(f"/jobs/{quick.structured_content['job_id']}")
    assert any(message.startswith("→ Searching PubMed") for _, message in heard.told)
    assert [answer.status_code for answer in refused] == [401, 401, 401]
    assert refused[0].json()["error"]["code"] == "UNAUTHORIZED"


WRONG = {
    "no question": ("deep_research", {"question": " "}, "empty"),
    "too many rounds": ("deep_research", {"question": "Why?", "max_iterations": 99}, "from 1 to 20"),
    "no text": ("research", {"question": 7}, "text"),
    "an unknown argument": (
        "export",
        {"job_id": "job_1", "format": "bibtex"},
        "export takes no format; it takes job_id, form.",
    ),
    "one where there are none": ("list_watches", {"tenant": "x"}, "list_watches takes no tenant; it takes nothing."),
    "no argument": ("retry", {}, "retry needs job_id."),
    "no watch": ("stop_watching", {}, "stop_watching needs watch_id."),
    "another tool": ("weather", {}, "no tool"),
}


async def test_wrong_calls_are_told_in_a_sentence(world, tmp_path):
    """An error of the tool, which the calling program's model can read and mend."""
    async with http_process(world, tmp_path) as address, over_http(address) as (client, _):
        done = {case: await client.call_tool(name, asked, ANSWER_S) for case, (name, asked, _) in WRONG.items()}

    assert {case for case, result in done.items() if not result.is_error} == set()
    assert {case for case, (_, _, words) in WRONG.items() if words not in done[case].content[0].text} == set()


@pytest.mark.slow
async def test_a_failed_job_is_an_error_with_the_output_of_one(world, tmp_path):
    """S002-04: status `error`; the text says what to do."""
    world.model.keys = {"another"}

    async with over_stdio(world, tmp_path) as client:
        done = await client.call_tool("deep_research", {"question": QUESTION}, ANSWER_S)
        again = await client.call_tool("retry", {"job_id": done.content[0].text.rpartition("\n")[2]}, ANSWER_S)

    assert done.is_error
    assert done.structured_content["status"] == "error"
    assert again.structured_content["status"] == "failed"


async def test_http_needs_a_token_to_be_set(world, tmp_path):
    """What costs money is not open to whoever finds the port."""
    ended = await gorkd("mcp", "--http", env={**world.env(tmp_path), "PORT": "0"})

    assert ended.code == 4
    assert "GORKD_API_TOKENS" in ended.err


HEAD = ("POST /mcp HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", "Content-Type: application/json")
SLOW = {
    "nothing": ((), b"", b""),
    "half a head": (("GET /mcp HTTP/1.1", "Host: x", "X-Slow: "), b"", b""),
    "half a body": ((*HEAD, "Content-Length: 99", "", "{"), b"", b"413"),
    "a body without end": ((*HEAD, "Transfer-Encoding: chunked", "", ""), b"400\r\n" + b" " * 1024 + b"\r\n", b"413"),
    "half a second head": ((*HEAD[:2], "", "GET /mcp HTTP/1.1", "X-Slow: "), b"", b"401"),
}


@pytest.mark.parametrize(("lines", "again", "status"), SLOW.values(), ids=SLOW)
async def test_who_sends_slowly_or_without_end_is_hung_up_on(
    lines: tuple[str, ...], again: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
):
    """As on the pages: connections that ask nothing would use up the process's descriptors."""
    monkeypatch.setattr(mcp, "SILENCE_S", 0.2)
    monkeypatch.setattr(mcp, "BODY_WITHIN_S", 10.0 if again else 0.2)
    monkeypatch.setattr(mcp, "MAX_BODY_BYTES", 10_000)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    settings = mcp.McpSettings(PORT=0, tokens=(TOKEN,))
    serving = asyncio.create_task(mcp.serve_http(None, None, settings, address.set_result))
    try:
        port = int((await address).split(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write("\r\n".join(lines).encode() + 20 * again)

        told = await asyncio.wait_for(reader.read(), 15)

        assert told.partition(b"\r\n")[0].partition(b" ")[2].startswith(status)
        writer.close()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
