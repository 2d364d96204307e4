"""`gorkd trace`, `doctor` and `forget` as real processes, beside those that do the work."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from adapters.doctor import access_probe
from adapters.web.settings import WebSettings
from core.pipeline.checkup import examine
from tests.bots.test_ask import TIDES
from tests.commands import gorkd, start
from tests.loopback.openai_responders import Fault
from tests.loopback.world import SitePage, World
from tests.shared_data import ROOT

QUESTION = "What causes the tides at zanzibar-lantern?"  # the last word stands nowhere else


async def test_who_stops_reading_is_told_nothing(tmp_path: Path):
    """`gorkd library list --json | head -0`: no message, no traceback."""
    there, here = os.pipe()
    os.close(there)
    env = {**os.environ, "GORKD_DATA": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    command = (sys.executable, "-m", "bots", "library", "list", "--json")

    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=env, stdout=here, stderr=asyncio.subprocess.PIPE
    )
    os.close(here)
    _, err = await asyncio.wait_for(process.communicate(), 50)

    assert err == b""


@asynccontextmanager
async def serving(env: Mapping[str, str]) -> AsyncIterator[str]:
    """`gorkd all` on a free port; its address."""
    process = await start("all", env={**env, "PORT": "0", "GORKD_LOG_LEVEL": "error"})
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), 40)).decode()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield found[0]
    finally:
        process.terminate()
        await asyncio.wait_for(process.communicate(), 40)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[dict[str, str], str]]:
    """One running house for those that need no other: its settings and its address."""
    async with World.of({"/tides": TIDES}) as world:
        folder = tmp_path_factory.mktemp("house")
        env = {**world.env(folder, "tavily", model=True), "GORKD_PRICES": "loop-1=1/2"}
        async with serving(env) as address:
            yield env, address


in_the_house = pytest.mark.asyncio(loop_scope="module")


async def submit(session: aiohttp.ClientSession, address: str, question: str) -> str:
    async with session.post(f"{address}/v1/research", json={"query": question}) as response:
        assert response.status == 202, await response.text()
        return str((await response.json())["job_id"])


def files_with(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file() and word.encode() in path.read_bytes()]


async def test_trace_shows_what_a_job_did_with_tokens_and_cost(tmp_path: Path) -> None:
    """S003-25: each stage, model call, search and page of a real job; the sums are those of the answer."""
    async with World.of({"/tides": TIDES}) as world:
        env = {**world.env(tmp_path, "tavily", model=True), "GORKD_PRICES": "loop-1=1/2"}
        job = (await gorkd("ask", "--json", QUESTION, env=env)).json
        traced = await gorkd("trace", job["job_id"], "--json", "--prompts", env=env)

    document = traced.json
    entries = document["entries"]
    assert {entry["name"] for entry in entries if entry["kind"] == "stage"} >= {"plan", "search", "synthesize"}
    calls = [entry for entry in entries if entry["kind"] == "model"]
    assert [call["name"] for call in calls][:2] == ["plan", "answer"]
    assert all(call["detail"] == "loop-1" and call["seconds"] > 0 for call in calls)
    assert QUESTION in calls[0]["exchange"]["user"]
    assert [entry["outcome"] for entry in entries if entry["kind"] == "page"] == ["done"]
    assert {entry["name"] for entry in entries if entry["kind"] == "search"} == {"tavily"}
    assert document["totals"]["tokens"] == job["metadata"]["tokens"] > 0
    assert document["totals"]["cost_usd"] == pytest.approx(job["metadata"]["cost_usd"])  # summed in another order
    assert job["metadata"]["cost_usd"] > 0


async def test_doctor_finds_everything_right_in_a_world_that_works(tmp_path: Path) -> None:
    """Every configured part is really tried; exit 0."""
    async with World.of({"/lighthouse": SitePage("Lighthouse", "A lighthouse is a tower with a light.")}) as world:
        world.model.respond = '{"word": "ready"}'
        env = {**world.env(tmp_path, "tavily", "wikipedia", model=True), "GORKD_PRICES": "loop-1=1/2", "PORT": "0"}
        ended = await gorkd("doctor", "--json", env=env)

    states = {part["part"]: part["state"] for part in ended.json["parts"]}
    assert ended.code == 0, ended.out
    states.pop("scanned papers")  # as the machine has it
    assert {name for name, state in states.items() if state == "ok"} == {
        "data folder", "database", "secret", "model", "cost", "search: tavily", "search: wikipedia", "pages",
        "access",
    }  # fmt: skip
    off = {"Redis", "embeddings", "registries", "Discord", "Slack"}
    assert {name for name, state in states.items() if state == "off"} == off


async def test_doctor_tries_the_models_that_are_configured_and_no_other_part(tmp_path: Path) -> None:
    """The one that writes, the one that judges and the one of meaning; no key is printed."""
    async with World.of({}) as world:
        world.model.respond = '{"word": "ready", "number": 7}'
        env = {**world.env(tmp_path, "tavily", model=True, embedder=True), "GORKD_CHECK_MODEL": "judge-1"}
        ended = await gorkd("doctor", "--model", "--json", env=env)

    host = world.model.url.removeprefix("http://").removesuffix("/v1")
    assert ended.code == 0, ended.out
    assert [endpoint["title"] for endpoint in ended.json["endpoints"]] == [
        f"Answers: loop-1 at {host}",
        f"Judging citations: judge-1 at {host}",
        f"Meaning: hashing at {host}",
    ]
    assert env["OPENAI_API_KEY"] not in ended.out + ended.err
    assert world.search.asked == []


@pytest.mark.parametrize(
    ("settings", "state", "words"),
    [
        pytest.param({}, "ok", ("without a token", "proxy", "GORKD_API_TOKENS"), id="as it comes"),
        pytest.param({"GORKD_API_TOKENS": "t" * 16}, "ok", ("everybody needs", "GORKD_API_TOKENS"), id="tokens"),
        pytest.param({"HOST": "0.0.0.0"}, "ok", ("everybody needs", "/token"), id="a token of its own"),
        pytest.param(
            {"GORKD_API_TOKENS": "t" * 16, "GORKD_TRUST_LOCAL": "1"},
            "warning",
            ("GORKD_TRUST_LOCAL",),
            id="the exception",
        ),
    ],
)
async def test_doctor_says_who_may_ask(settings: dict[str, str], state: str, words: tuple[str, ...], tmp_path: Path):
    """Also that a bare proxy before a server as it comes lets everybody in."""
    (access,) = await examine([access_probe(WebSettings.from_env(settings), tmp_path)])

    assert access.state == state
    assert [word for word in words if word not in access.says] == []


async def test_doctor_names_each_part_that_is_wrong_and_its_variable(tmp_path: Path) -> None:
    """All of them at once, each in its line; exit 4."""
    async with World.of({"/tides": TIDES}) as world:
        env = {
            **world.env(tmp_path, "tavily", model=True),
            "TAVILY_API_KEY": "tvly-planted-wrong-key-0123456789",
            "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
            "REDIS_URL": "redis://127.0.0.1:9/0",
            "GORKD_BUDGET_USER_USD": "5",
        }
        ended = await gorkd("doctor", env=env)

    assert ended.code == 4
    for variable in ("TAVILY_API_KEY", "OPENAI_BASE_URL", "REDIS_URL", "GORKD_PRICES"):
        assert [line for line in ended.out.splitlines() if line.startswith("FAIL") and variable in line], variable
    assert "planted" not in ended.out + ended.err


async def test_doctor_names_settings_that_nothing_reads_and_what_may_be_meant(tmp_path: Path) -> None:
    """Each by the nearest that there is; to be looked at, since all else works."""
    async with World.of({"/tides": TIDES}) as world:
        env = {**world.env(tmp_path, "tavily"), "GORKD_MODLE": "big-1", "gorkd_public_url": "https://a.example"}
        ended = await gorkd("doctor", env={**env, "PORT": "0", "GORKD_ZZ9": "1"})

    (line,) = [line for line in ended.out.splitlines() if line.startswith("look settings")]
    assert ended.code == 0
    assert "GORKD_MODLE. Did you mean GORKD_MODEL?" in line
    assert "gorkd_public_url. Did you mean GORKD_PUBLIC_URL?" in line
    assert "GORKD_ZZ9" in line


async def test_doctor_refuses_rates_that_no_process_would_start_with(tmp_path: Path) -> None:
    """What it calls right must start."""
    async with World.of({"/tides": TIDES}) as world:
        env = {**world.env(tmp_path, "tavily"), "GORKD_SEARCH_RATES": "tavily=many"}
        ended = await gorkd("doctor", env=env)

    (line,) = [line for line in ended.out.splitlines() if line.startswith("FAIL")]
    assert ended.code == 4
    assert "GORKD_SEARCH_RATES" in line
    assert "tavily=100/60" in line


@in_the_house
async def test_forgetting_a_finished_job_leaves_nothing_in_the_files_while_others_run(
    house: tuple[dict[str, str], str],
) -> None:
    """Question, answer, prompts and journal: gone from every file, write-ahead logs included, within 60 s."""
    env, address = house
    folder = Path(env["GORKD_DATA"])
    async with aiohttp.ClientSession() as session:
        job_id = await submit(session, address, QUESTION)
        async with session.get(f"{address}/v1/jobs/{job_id}/stream") as stream:
            await asyncio.wait_for(stream.read(), 40)
        before = files_with(folder, "zanzibar-lantern")
        started = time.monotonic()

        ended = await gorkd("forget", "--workspace", "local", env=env)

        seconds = time.monotonic() - started
        after = files_with(folder, "zanzibar-lantern")
        async with session.get(f"{address}/v1/jobs/{job_id}") as response:
            status = response.status
    assert ended.code == 0, ended.err
    assert before != []
    assert after == []
    assert status == 404
    assert seconds < 60


async def test_forgetting_a_running_job_cancels_it_and_it_does_not_come_back(tmp_path: Path) -> None:
    """The worker is interrupted while the model is writing; what it still holds is stored nowhere."""
    async with World.of({"/tides": TIDES}) as world, aiohttp.ClientSession() as session:
        world.model.respond = Fault(hang_first=True)
        env = world.env(tmp_path, "tavily", model=True)
        async with serving(env) as address:
            job_id = await submit(session, address, QUESTION)
            await asyncio.wait_for(world.model.hanging.wait(), 40)
            async with session.get(f"{address}/v1/jobs/{job_id}/stream") as stream:
                ended = await gorkd("forget", "--job", job_id, env=env)
                told = (await asyncio.wait_for(stream.read(), 20)).decode()

            after = files_with(tmp_path, "zanzibar-lantern")
        left = files_with(tmp_path, "zanzibar-lantern")

    assert ended.code == 0, ended.err
    assert "1 job" in ended.out
    assert "event: complete" in told
    assert '"status": "cancelled"' in told
    assert after == left == []


@pytest.mark.slow
async def test_a_question_at_a_terminal_that_is_forgotten_elsewhere_ends_there(tmp_path: Path) -> None:
    """No worker runs it, yet whoever waits for it does not wait for ever."""
    async with World.of({"/tides": TIDES}) as world:
        world.model.respond = Fault(hang_first=True)
        env = world.env(tmp_path, "tavily", model=True)
        asking = await start("ask", QUESTION, env=env)
        await asyncio.wait_for(world.model.hanging.wait(), 40)

        ended = await gorkd("forget", "--workspace", "local", env=env)

        _, err = await asyncio.wait_for(asking.communicate(), 20)
    assert ended.code == 0, ended.err
    assert asking.returncode != 0
    assert b"Traceback" not in err
    assert files_with(tmp_path, "zanzibar-lantern") == []


@pytest.mark.slow
async def test_a_month_that_is_spent_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """The first question spends the budget; the second is refused before anything is asked of the model."""
    async with World.of({"/tides": TIDES}) as world:
        env = {
            **world.env(tmp_path, "tavily", model=True),
            "GORKD_PRICES": "loop-1=1000/2000",
            "GORKD_BUDGET_WORKSPACE_USD": "0.01",
        }
        first = await gorkd("ask", "--fresh", QUESTION, env=env)
        calls = len(world.model.calls)
        second = await gorkd("ask", "--fresh", QUESTION, env=env)

    assert first.code == 0, first.err
    assert second.code == 4
    assert "The workspace's research budget for" in second.err
    assert len(second.err.strip().splitlines()) == 1
    assert len(world.model.calls) == calls


async def test_a_budget_without_a_price_is_refused_at_the_start(tmp_path: Path) -> None:
    """A limit that nobody can count is none."""
    async with World.of({"/tides": TIDES}) as world:
        env = {**world.env(tmp_path, "tavily", model=True), "GORKD_BUDGET_USER_USD": "5"}
        ended = await gorkd("ask", QUESTION, env=env)

    assert ended.code == 4
    assert "GORKD_PRICES" in ended.err


@in_the_house
async def test_metrics_show_cost_and_the_queue(house: tuple[dict[str, str], str]) -> None:
    """S003-26 and what goes beyond it, from a process that has answered one question."""
    _, address = house
    async with aiohttp.ClientSession() as session:
        job_id = await submit(session, address, QUESTION)
        async with session.get(f"{address}/v1/jobs/{job_id}/stream") as stream:
            await asyncio.wait_for(stream.read(), 40)
        async with session.get(f"{address}/metrics") as response:
            text = await response.text()

    figures = dict(re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", text, re.MULTILINE))
    assert float(figures['llm_tokens_used{model="loop-1"}']) > 0
    assert float(figures['gorkd_llm_cost_usd{model="loop-1"}']) > 0
    assert float(figures["gorkd_queue_depth"]) >= 0
    assert float(figures["gorkd_jobs_running"]) >= 0
    assert float(figures["gorkd_jobs_resumed"]) == 0
