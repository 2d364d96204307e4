"""Deep research as people use it, over real abstracts: at the command line, and over HTTP with steering."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.adapters.durable.processes import Process
from tests.adapters.web.conformity import assert_conforms
from tests.commands import gorkd
from tests.core.deep.test_kill import USUAL, Stuck
from tests.core.deep.world import QUESTION, DeepWorld, read_studies
from tests.loopback.openai_responders import by_schema

PMID = "10201555"  # of the abstract that the question was made from


@pytest.fixture
async def world() -> AsyncIterator[DeepWorld]:
    async with DeepWorld.of(read_studies()) as opened:
        yield opened


async def test_at_the_command_line(world: DeepWorld, tmp_path: Path) -> None:
    """S002-13, S002-12, S002-22: the lines as text, an answer from the right paper, and its trace afterwards."""
    env = world.env(tmp_path)
    asked = ["ask", QUESTION, "--mode", "deep", "--context", "for a cardiologist", "--max-iterations", "4", "--json"]

    ended = await gorkd(*asked, env=env)
    job = ended.json
    traced = await gorkd("trace", job["job_id"], env=env)
    row = await gorkd("trace", job["job_id"], "--json", env=env)

    assert ended.code == traced.code == 0
    lines = ended.err.splitlines()
    expected = ["🔍 Starting deep research...", "🔄 Iteration 1/4", "✓ Research complete. Synthesizing answer..."]
    assert [line for line in lines if line in expected] == expected
    assert "Deep research typically takes 1–3 minutes." in lines
    assert any(line.startswith('  → Searching PubMed: "') for line in lines)
    assert any(line.startswith("  → Checklist: ") and line.endswith("items satisfied") for line in lines)
    cited = {citation["source_id"] for citation in job["citations"]}
    assert any(PMID in source["url"] for source in job["sources"] if source["id"] in cited)
    assert "for a cardiologist" in world.model.calls[0].user
    assert "deep_research · completed · 1 iteration · " in traced.out
    assert "✓ 1. " in traced.out
    tool_trace = row.json["tool_trace"]
    assert tool_trace["id"] == job["result"]["trace_id"]
    assert tool_trace["input_params"] == {"question": QUESTION, "context": "for a cardiologist", "max_iterations": 4}


async def read(client: ClientSession, address: str) -> dict[str, Any]:
    async with client.get(address) as answer:
        assert answer.status == 200
        document: dict[str, Any] = await answer.json()
        return document


@pytest.mark.slow
async def test_over_http_an_item_is_added_and_the_answer_asked_for(world: DeepWorld, tmp_path: Path) -> None:
    """S002-03: asked, an item added in round 1, the process killed and started again, "answer now" in round 2."""
    env = {**world.env(tmp_path), "HOST": "127.0.0.1", "PORT": "0"}
    world.model.respond = Stuck("facts", 1)
    process = await Process.start("all", env)
    body = {"query": QUESTION, "mode": "deep", "max_iterations": 5}
    async with ClientSession() as client:
        async with client.post(f"{process.address}/v1/research", json=body) as answer:
            job_id = (await answer.json())["job_id"]
        await asyncio.wait_for(world.model.hanging.wait(), 20)
        said = {"kind": "add_item", "text": "How many patients were studied"}
        async with client.post(f"{process.address}/v1/jobs/{job_id}/steering", json=said) as answer:
            heard = await answer.json()
            assert_conforms(heard, "#/components/schemas/Steering")
            assert answer.status == 202
        await process.killed()

        world.model.hanging.clear()
        world.model.respond = Stuck("queries", 1)
        process = await Process.start("all", env)
        await asyncio.wait_for(world.model.hanging.wait(), 20)
        async with client.post(f"{process.address}/v1/jobs/{job_id}/steering", json={"kind": "answer_now"}) as answer:
            assert answer.status == 202
        world.model.respond = by_schema(USUAL)
        world.model.closing.set()  # the call that was in flight fails and is made once more
        async with client.get(f"{process.address}/v1/jobs/{job_id}/stream", timeout=None) as stream:
            events = (await asyncio.wait_for(stream.text(), 40)).split("\r\n\r\n")
        job = await read(client, f"{process.address}/v1/jobs/{job_id}")
        async with client.get(f"{process.address}/jobs/{job_id}/trace") as answer:
            page = await answer.text()
        async with client.post(f"{process.address}/v1/jobs/{job_id}/steering", json={"kind": "go_deeper"}) as answer:
            late = await answer.json()
    await process.killed()

    assert_conforms(job, "#/components/schemas/Job")
    assert job["status"] == "completed"
    assert job["metadata"]["stopped_because"] == "you asked for the answer"
    assert job["result"]["iterations_used"] == 2
    assert job["citations"] != []
    assert sum("event: complete" in event for event in events) == 1
    assert any("Added: How many patients were studied" in event for event in events)
    assert "How many patients were studied" in page
    assert late["error"]["code"] == "INVALID_QUERY"
    assert "ended" in late["error"]["message"]
