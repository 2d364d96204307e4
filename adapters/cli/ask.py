"""`gorkd ask`: one question, answered here.

The answer goes to stdout, progress and errors to stderr.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Console

from adapters.cli.answer import print_answer, print_sources
from adapters.cli.running import Exit, OpenResearcher, follow, print_json, run_command, say_failure
from core.model.answer import Confidence, JobResult
from core.model.errors import InvalidQuery
from core.model.job import Depth, JobStatus, ResearchJob, ResearchRequest
from core.model.source import Source
from core.modes import DEFAULT_MODE, MODES, check_modes, option_words, read_modes
from core.modes.options import CONTEXT, DEPTH, FRESH, MODE, ROUNDS, TOP_K
from core.presentation import wording
from core.presentation.render import job_json


def ask_command(open_researcher: OpenResearcher) -> Callable[..., None]:
    def ask(
        question: Annotated[list[str], typer.Argument(help="The question.", metavar="QUESTION", show_default=False)],
        *,
        mode: Annotated[
            str,
            typer.Option("--mode", metavar="M[,M]", help=f"{MODE.description}: {', '.join(MODES)}."),
        ] = DEFAULT_MODE,
        depth: Annotated[Depth, typer.Option("--depth", help=f"{option_words(DEPTH)}.")] = DEPTH.default,
        top_k: Annotated[
            int, typer.Option("--top-k", min=TOP_K.least, max=TOP_K.most, help=f"{option_words(TOP_K)}.")
        ] = TOP_K.default,
        max_iterations: Annotated[
            int, typer.Option("--max-iterations", min=ROUNDS.least, max=ROUNDS.most, help=f"{option_words(ROUNDS)}.")
        ] = ROUNDS.default,
        context: Annotated[str, typer.Option("--context", metavar="TEXT", help=f"{CONTEXT.description}.")] = "",
        fresh: Annotated[bool, typer.Option("--fresh", help=f"{FRESH.description}.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the job as JSON.")] = False,
    ) -> None:
        def run() -> Coroutine[None, None, Exit]:
            request = _request(" ".join(question), mode, depth, top_k=top_k, context=context, is_fresh=fresh)
            return _ask(open_researcher, replace(request, max_iterations=max_iterations), as_json=as_json)

        run_command(run, as_json=as_json)

    return ask


def _request(query: str, mode: str, depth: Depth, *, top_k: int, context: str, is_fresh: bool) -> ResearchRequest:
    """Raises `InvalidQuery` for an unknown mode and for bytes that are no text."""
    modes = read_modes(mode)
    check_modes(modes)
    for text in (query, context):
        if any("\ud800" <= char <= "\udfff" for char in text):  # what Python makes of bytes that are not UTF-8
            raise InvalidQuery("The question is not readable text (invalid UTF-8).", rule="not-text")
    return ResearchRequest(query, modes=modes, depth=depth, top_k=top_k, context=context, is_fresh=is_fresh)


async def _ask(open_researcher: OpenResearcher, request: ResearchRequest, *, as_json: bool) -> Exit:
    async with open_researcher() as researcher:
        job = await follow(researcher, (await researcher.submit(request)).id)
        result, sources = await researcher.result(job.id), await researcher.sources(job.id)
    if as_json:
        print_json(job_json(job, result, sources))
    return _conclude(job, result, sources, is_printed=as_json)


def _conclude(job: ResearchJob, result: JobResult | None, sources: list[Source], *, is_printed: bool) -> Exit:
    """Show what became of the job, unless stdout already has it, and say how to exit."""
    if job.status is not JobStatus.COMPLETED or result is None or result.answer is None:
        if sources and not is_printed:
            print_sources(Console(stderr=True, highlight=False), wording.FOUND_SO_FAR, sources)
        return say_failure(job)
    if not is_printed:
        print_answer(Console(highlight=False), job, result, result.answer, sources)
    is_insufficient = result.answer.confidence is Confidence.INSUFFICIENT
    return Exit.INSUFFICIENT if is_insufficient else Exit.ANSWERED
