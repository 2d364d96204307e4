"""Evidence for one default query and three of the agent's: its time beside the critical path, and tokens by phase.

The model answers in a process of its own at the usual pace. The critical path is what remains when calls cost only
the model's pace: for each search the slowest chain of a summary and a score, and between searches the agent's move.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter

from adapters.llm.openai import build_chat
from core.model.job import Attachment
from core.model.ports import ChatDelta, ChatModel, ChatRequest
from core.pipeline.runner import DirectSteps, run_job
from tests.bench.conditions import Conditions, Pace
from tests.core.section.samples import BRIEF, Hashing, shelve
from tests.fakes import make_deps, make_job
from tests.figures import Goal, Row, format_table
from tests.loopback.openai_responders import tokenise
from tests.records import memory_library

PORT = 8197
_EVIDENCE = ("summaries", "scores")


@dataclass(frozen=True)
class _Call:
    purpose: str
    chain: int
    began_at: float
    ideal_s: float


@dataclass
class _Timed:
    """A model that notes each call, and what it would take at the model's pace alone."""

    model: ChatModel
    pace: Pace
    calls: list[_Call] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        began_at, text = perf_counter(), ""
        async for delta in self.model.stream(request):
            text += delta.text
            yield delta
        ideal_s = self.pace.first_token_s + len(tokenise(text)) * self.pace.token_s
        self.calls.append(_Call(request.purpose, id(asyncio.current_task()), began_at, ideal_s))

    def path_s(self) -> float:
        """Searches follow one another, with a move of the agent between them."""
        total, chains = 0.0, dict[int, float]()
        for call in self.calls:
            if call.purpose in _EVIDENCE:
                chains[call.chain] = chains.get(call.chain, 0.0) + call.ideal_s
            elif call.purpose == "agent":
                total += call.ideal_s + max(chains.values(), default=0.0)
                chains = {}
        return total


def measure_section(conditions: Conditions) -> str:
    """The table, as text. The library has six papers of ten chunks: what a search costs is what the model takes."""
    with _model_server(conditions.pace) as url:
        wall_s, timed, usage = asyncio.run(_evidence(url, conditions.pace))
    path_s = timed.path_s()
    rows = [
        Row("evidence: wall time", [wall_s], "s"),
        Row("critical path", [path_s], "s"),
        Row("wall ÷ critical path", [wall_s / (path_s or 1e9)], goal=Goal(1.2)),
        Row("model calls", [sum(call.purpose in (*_EVIDENCE, "agent") for call in timed.calls)], digits=0),
        *(Row(f"  {phase}", [tokens], "tokens", digits=0) for phase, tokens in usage.items()),
    ]
    return format_table("a section: one default query and three of the agent's", ("8 calls at a time",), rows)


async def _evidence(url: str, pace: Pace) -> tuple[float, _Timed, dict[str, float]]:
    chat = build_chat({"OPENAI_BASE_URL": url, "GORKD_MODEL": "loop-1"})
    await chat.warm_up()
    timed, library = _Timed(chat, pace), memory_library()
    await shelve(library, chunks_each=10)
    deps = replace(make_deps(model=timed), library=library, embedder=Hashing())
    job = await deps.jobs.save(make_job("Write the introduction", modes=("section",), attachments=("p.yaml",)))
    await deps.jobs.attach(job, [Attachment("p.yaml", "", "", BRIEF)])
    began_at = perf_counter()
    await run_job(job.id, deps, DirectSteps())
    await chat.aclose()
    result = await deps.jobs.result(job.id)
    phases = result.details["usage"]
    assert isinstance(phases, dict)
    usage = {phase: float(row["prompt_tokens"] + row["completion_tokens"]) for phase, row in phases.items()}
    writing = next(call for call in timed.calls if call.purpose == "section")
    return writing.began_at - began_at, timed, usage


@contextmanager
def _model_server(pace: Pace):
    command = [sys.executable, "-m", "tests.loopback.openai_world", "--port", str(PORT)]
    command += ["--first-token-s", str(pace.first_token_s), "--token-s", str(pace.token_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        server.stdout.readline()
        try:
            yield f"http://127.0.0.1:{PORT}/v1"
        finally:
            server.terminate()
