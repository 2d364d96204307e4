"""The measured process: a whole house, asked through its `Researcher` as every interface asks.

Speaks lines of JSON: the first opens the house, each further one is a round of questions asked at once.
Ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import dataclass

from adapters.observability import configure_logging
from bots.config import read_settings, tune_memory
from bots.wiring import House, open_house
from core.model.codec import decode, encode
from core.model.job import Depth, JobStatus, ResearchRequest
from tests.bench.usage import cpu_s, peak_mib


@dataclass(frozen=True)
class OpenHouse:
    env: dict[str, str]
    is_warmed: bool


@dataclass(frozen=True)
class Ready:
    """`cpu_s` so far, of the process and its children: what starting costs."""

    cpu_s: float


@dataclass(frozen=True)
class Round:
    """Questions to ask at the same time."""

    questions: tuple[str, ...]
    depth: Depth = "light"
    mode: str = "quick"


@dataclass(frozen=True)
class Asked:
    """One question's fate as its follower saw it. Times are on the monotonic clock, in seconds."""

    question: str
    began_at: float
    first_text_at: float | None
    ended_at: float
    search_s: float
    status: str
    error: str
    inside_s: float
    model_calls: int
    prompt_tokens: int
    queries: int
    providers: tuple[str, ...]
    sources: int
    confidence: str
    is_cached: bool
    words: int
    removed: int
    claims: int
    cost_usd: float

    @property
    def wall_s(self) -> float:
        return self.ended_at - self.began_at

    @property
    def failure(self) -> str:
        """Why the question counts as failed; "" when it was answered."""
        if self.status == "completed" and self.confidence != "insufficient":
            return ""
        return f"failed: {self.question} {self.status} {self.confidence} {self.error}".strip()


@dataclass(frozen=True)
class RoundDone:
    asked: tuple[Asked, ...]
    cpu_s: float
    peak_mib: float


async def serve() -> None:
    opening = decode(await _next_line(), OpenHouse)
    tune_memory()
    settings = read_settings(opening.env)
    configure_logging(settings.log_level, stream=sys.stderr, secrets=[])
    async with open_house(opening.env, settings, grace_s=0.0) as house:
        if opening.is_warmed:
            await house.warm_up()
        _say(Ready(cpu_s(os.getpid())))
        while line := await _next_line():
            wanted = decode(line, Round)
            before = cpu_s(os.getpid())
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(_ask(house, text, wanted)) for text in wanted.questions]
            asked = tuple(task.result() for task in tasks)
            _say(RoundDone(asked, cpu_s(os.getpid()) - before, peak_mib(os.getpid())))


async def _ask(house: House, question: str, wanted: Round) -> Asked:
    began_at = time.monotonic()
    first_text_at: float | None = None
    stage_at: dict[str, float] = {}
    job = await house.researcher.submit(ResearchRequest(question, modes=(wanted.mode,), depth=wanted.depth))
    async for event in house.researcher.follow(job.id):
        if event.type == "answer" and event.data.get("text") and first_text_at is None:
            first_text_at = time.monotonic()
        if event.type == "status":
            stage_at.setdefault(str(event.data.get("stage")), time.monotonic())
    ended_at = time.monotonic()
    job = await house.researcher.job(job.id)
    result = await house.researcher.result(job.id)
    answer = result.answer if result else None
    text = f"{answer.summary} {answer.detail}" if answer else ""
    return Asked(
        question=question,
        began_at=began_at,
        first_text_at=first_text_at,
        ended_at=ended_at,
        search_s=stage_at.get("synthesizing", ended_at) - stage_at.get("searching", began_at),
        status=job.status.value if answer or job.status is not JobStatus.COMPLETED else "empty",
        error=job.error.message if job.error else "",
        inside_s=result.duration_s if result else 0.0,
        model_calls=answer.metadata.model_calls if answer else 0,
        prompt_tokens=answer.metadata.prompt_tokens if answer else 0,
        queries=len(result.queries) if result else 0,
        providers=result.providers if result else (),
        sources=len(result.source_ids) if result else 0,
        confidence=answer.confidence.value if answer else "",
        is_cached=bool(result and result.cached_at),
        words=len(text.split()),
        removed=len(answer.removed) if answer else 0,
        claims=len(answer.claims) + len(answer.removed) if answer else 0,
        cost_usd=(answer.metadata.cost_usd or 0.0) if answer else 0.0,
    )


async def _next_line() -> str:
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


def _say(value: object) -> None:
    print(encode(value), flush=True)


if __name__ == "__main__":
    asyncio.run(serve())
