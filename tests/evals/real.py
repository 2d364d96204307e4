"""A real model in a small loopback world: what is answered, what fails and why, which marks, in how many calls.

`make eval ARGS=real`. The endpoint is `GORKD_REAL_BASE_URL` with `GORKD_REAL_MODEL`, or what
`python -m tests.evals.real_servers` starts on this machine; never part of the tests, since models answer as they like.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from bots.config import read_settings
from bots.wiring import House, library_desk, open_house
from core.model.answer import Claim, ResearchAnswer, Verdict
from core.model.job import LOCAL, Attachment, ResearchJob, ResearchRequest
from core.pipeline.tool_traces import TraceEntry
from tests.core.section.samples import BRIEF
from tests.loopback.world import SitePage, World

WORLD = Path(__file__).with_name("real_world.txt")
PATIENCE = "6"  # a small model on two cores reads 400 tokens a second and writes 60
NOT_SAID = "-"
_MARKS = {Verdict.SUPPORTED: "✓", Verdict.PARTIAL: "◐", Verdict.MOVED: "↪", Verdict.UNCHECKED: "?"}


@dataclass(frozen=True)
class Question:
    """`right` are words of which a right answer has one; () where nothing in the world answers."""

    mode: str
    text: str
    right: tuple[str, ...]


@dataclass(frozen=True)
class RealWorld:
    pages: tuple[SitePage, ...]
    papers: tuple[SitePage, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True)
class Outcome:
    """`fate` is answered, quoted, insufficient, or why it failed."""

    question: Question
    fate: str
    is_right: bool
    sentences: int
    marks: Mapping[str, int]
    removed: int
    calls: int
    failed_calls: tuple[str, ...]
    tokens: int
    seconds: float
    text: str
    claims: tuple[str, ...]
    trace: tuple[TraceEntry, ...]


def print_real() -> None:
    settings = real_settings(os.environ)
    if not settings:
        print("not measured: set GORKD_REAL_BASE_URL and GORKD_REAL_MODEL, or start the servers of this machine with")
        print("  python -m tests.evals.real_servers setup && python -m tests.evals.real_servers serve\n")
        return
    logging.disable(logging.WARNING)  # what went wrong is in the lines below
    wanted = os.environ.get("GORKD_REAL_ONLY", "").split(",")
    asyncio.run(_measure(settings, [mode for mode in wanted if mode], os.environ.get("GORKD_REAL_NOTES", "")))


def real_settings(env: Mapping[str, str]) -> dict[str, str]:
    """The house's settings for `GORKD_REAL_…`; empty without an address."""
    if not env.get("GORKD_REAL_BASE_URL"):
        return {}
    names = {
        "GORKD_REAL_BASE_URL": "OPENAI_BASE_URL",
        "GORKD_REAL_API_KEY": "OPENAI_API_KEY",
        "GORKD_REAL_MODEL": "GORKD_MODEL",
        "GORKD_REAL_CHECK_MODEL": "GORKD_CHECK_MODEL",
        "GORKD_REAL_CHECK_BASE_URL": "GORKD_CHECK_BASE_URL",
        "GORKD_REAL_EMBEDDING_MODEL": "GORKD_EMBEDDING_MODEL",
        "GORKD_REAL_EMBEDDING_BASE_URL": "GORKD_EMBEDDING_BASE_URL",
        "GORKD_REAL_CONTEXT_TOKENS": "GORKD_CONTEXT_TOKENS",
        "GORKD_REAL_PATIENCE": "GORKD_PATIENCE",
    }
    given = {ours: env[name] for name, ours in names.items() if env.get(name)}
    return {"GORKD_MODEL": "real", "GORKD_PATIENCE": PATIENCE, **given}


def read_world(text: str) -> RealWorld:
    """See the head of the file."""
    parts: dict[str, list[SitePage]] = {"= page ": [], "= paper ": []}
    asked: list[Question] = []
    body = "\n".join(line for line in text.splitlines() if not line.startswith("# W") and not line.startswith("# U"))
    for block in body.split("\n= ")[1:]:
        head, _, rest = block.partition("\n")
        if head == "ask":
            asked = [_question(line) for line in rest.splitlines() if line.strip()]
        else:
            kind, _, title = head.partition(" ")
            parts[f"= {kind} "].append(SitePage(title, rest.strip()))
    return RealWorld(tuple(parts["= page "]), tuple(parts["= paper "]), tuple(asked))


def _question(line: str) -> Question:
    mode, text, right = (part.strip() for part in line.split("|"))
    return Question(mode, text, () if right == NOT_SAID else tuple(word.strip() for word in right.split(" / ")))


async def _measure(settings: Mapping[str, str], only: list[str], notes: str) -> None:
    world = read_world(WORLD.read_text(encoding="utf-8"))
    outcomes: list[Outcome] = []
    async with _house(settings, world) as house:
        for question in world.questions:
            if not only or question.mode in only:
                outcomes.append(await _ask(house, question))
                print(_line(outcomes[-1]), flush=True)
                if notes:
                    await asyncio.to_thread(_note, Path(notes), outcomes[-1])
    print(_summary(settings, outcomes))


@asynccontextmanager
async def _house(settings: Mapping[str, str], world: RealWorld) -> AsyncIterator[House]:
    """A house in the world, its papers on the shelf."""
    pages = {f"/page-{number}": page for number, page in enumerate(world.pages)}
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        outside = await stack.enter_async_context(World.of(pages))
        env = {**outside.env(folder, "tavily"), **settings}
        house = await stack.enter_async_context(open_house(env, read_settings(env), grace_s=0.0))
        desk = library_desk(env, house.deps.library, stack)
        for paper in world.papers:
            began = perf_counter()
            await desk.add_file(LOCAL, f"{paper.title}.md", f"# {paper.title}\n\n{paper.text}".encode())
            print(f"added “{paper.title}” in {perf_counter() - began:.0f} s", flush=True)
        yield house


async def _ask(house: House, question: Question) -> Outcome:
    began = perf_counter()
    job = await _finished(house, question)
    result = await house.researcher.result(job.id)
    trace = tuple(await house.records.traces.read(job.id))
    models = [entry for entry in trace if entry.kind == "model"]
    answer = result.answer if result else None
    text = f"{answer.summary}\n{answer.detail}".strip() if answer else ""
    if result and "markdown" in result.details:
        text = str(result.details["markdown"])
    return Outcome(
        question=question,
        fate=_fate(job, answer),
        is_right=_is_right(question, text, answer),
        sentences=len(answer.claims) if answer else 0,
        marks=Counter(_MARKS[claim.verdict] for claim in answer.claims if claim.verdict in _MARKS) if answer else {},
        removed=len(answer.removed) if answer else 0,
        calls=len(models),
        failed_calls=tuple(f"{entry.name}: {entry.outcome}" for entry in models if entry.outcome != "done"),
        tokens=sum(entry.prompt_tokens + entry.completion_tokens for entry in models),
        seconds=perf_counter() - began,
        text=text,
        claims=tuple(_claim_line(claim) for claim in answer.claims) if answer else (),
        trace=trace,
    )


async def _finished(house: House, question: Question) -> ResearchJob:
    quoted = question.text if question.mode == "check" else ""
    files = (Attachment("brief.yaml", "application/yaml", "brief.yaml", BRIEF),) if question.mode == "section" else ()
    request = ResearchRequest(
        "Check this message" if quoted else question.text, modes=(question.mode,), quoted=quoted, max_iterations=2
    )
    job = await house.researcher.submit(request, attachments=files)
    async for _ in house.researcher.follow(job.id):
        pass
    return await house.researcher.job(job.id)


def _fate(job: ResearchJob, answer: ResearchAnswer | None) -> str:
    if answer is None:
        return f"failed: {job.error.message if job.error else job.status.value}"
    if answer.confidence.value == "insufficient":
        return "insufficient"
    return "quoted" if "quoted" in answer.notice else "answered"


def _is_right(question: Question, text: str, answer: ResearchAnswer | None) -> bool:
    """Of a question that nothing answers: nothing is claimed with ✓."""
    if not question.right:
        return answer is None or not any(claim.verdict is Verdict.SUPPORTED for claim in answer.claims)
    return any(word.lower() in text.lower() for word in question.right)


def _claim_line(claim: Claim) -> str:
    said = " … ".join(evidence.quote for evidence in claim.evidence)
    return f"{_MARKS.get(claim.verdict, '✗')} {claim.text}\n    {said}\n    {'; '.join(claim.reasons)}"


def _line(outcome: Outcome) -> str:
    marks = " ".join(f"{mark}{count}" for mark, count in outcome.marks.items()) or "no marks"
    failed = f", {len(outcome.failed_calls)} failed" if outcome.failed_calls else ""
    right = "right" if outcome.is_right else "WRONG" if outcome.fate == "answered" else "empty"
    return (
        f"{outcome.question.mode:<15}{outcome.fate[:40]:<14}{right:<6}{outcome.sentences:>3} shown ({marks}),"
        f" {outcome.removed} cut, {outcome.calls} calls{failed}, {outcome.seconds:.0f} s  {outcome.question.text[:50]}"
    )


def _summary(settings: Mapping[str, str], outcomes: list[Outcome]) -> str:
    fates = Counter(outcome.fate for outcome in outcomes)
    marks: Counter[str] = sum((Counter(outcome.marks) for outcome in outcomes), Counter())
    failures = Counter(failure for outcome in outcomes for failure in outcome.failed_calls)
    lines = [
        f"{settings['GORKD_MODEL']}, check by {settings.get('GORKD_CHECK_MODEL', 'itself')}, embeddings by "
        f"{settings.get('GORKD_EMBEDDING_MODEL', 'none')}, patience {settings['GORKD_PATIENCE']}",
        f"{len(outcomes)} questions: " + ", ".join(f"{count} {fate}" for fate, count in fates.most_common()),
        f"with a right word: {sum(outcome.is_right for outcome in outcomes)}",
        f"sentences shown: {sum(outcome.sentences for outcome in outcomes)}, "
        + ", ".join(f"{mark} {count}" for mark, count in marks.most_common())
        + f"; cut: {sum(outcome.removed for outcome in outcomes)}",
        f"calls: {sum(outcome.calls for outcome in outcomes)}, tokens: {sum(outcome.tokens for outcome in outcomes):,}"
        f", {sum(outcome.seconds for outcome in outcomes):.0f} s",
    ]
    return "\n".join([*lines, *(f"  failed call, {count} times: {what}" for what, count in failures.most_common())])


def _note(file: Path, outcome: Outcome) -> None:
    """The answer, and every call as it was sent and answered, for a person to read."""
    with file.open("a", encoding="utf-8") as notes:
        notes.write(f"\n## {_line(outcome)}\n\n{outcome.text}\n\n" + "\n".join(outcome.claims) + "\n")
        for entry in (entry for entry in outcome.trace if entry.kind == "model"):
            notes.write(
                f"\n### {entry.name} ({entry.outcome}, {entry.seconds:.1f} s, {entry.prompt_tokens} tokens in)\n"
            )
            notes.write(f"\n{entry.exchange.user[-1500:]}\n\n>>> {entry.exchange.answer}\n")
