"""A finished answer as a file to keep: under the page's address, for whoever may read the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aiohttp import web

from adapters.web.access import RESEARCHER, readable_job
from core.answer import JobResult
from core.answer_files import AnswerFile
from core.errors import JobNotFound
from core.job import ResearchJob
from core.modes import files_of
from core.presentation.bibliography import cited_works
from core.presentation.bibtex import bibtex
from core.presentation.document import answer_markdown, findings_markdown
from core.presentation.render import job_json
from core.presentation.ris import ris
from core.source import Source


@dataclass(frozen=True)
class Export:
    """`name` is for people; `write` gives the file's text."""

    name: str
    media_type: str
    write: Callable[[ResearchJob, JobResult, Sequence[Source]], str]


def _json(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    return json.dumps(job_json(job, result, sources), ensure_ascii=False, indent=2) + "\n"


def _markdown(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    return findings_markdown(job, result, sources) or answer_markdown(job, result, sources)


def _bibtex(_: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    return bibtex(cited_works(sources, result.answer))


EXPORTS: Mapping[str, Export] = {
    "md": Export("Markdown", "text/markdown", _markdown),
    "json": Export("JSON", "application/json", _json),
    "bib": Export("BibTeX", "application/x-bibtex", _bibtex),
    "ris": Export(
        "RIS",
        "application/x-research-info-systems",
        lambda _, result, sources: ris(cited_works(sources, result.answer)),
    ),
}

OWN_KINDS: Mapping[str, str] = {"tex": "LaTeX"}  # that only some answers have


def exports_of(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> dict[str, Export]:
    """By kind. A file that the answer has of its own comes before the one that is made of any answer."""
    own = {file.kind: file for file in files_of(job, result)}
    names = {**{kind: export.name for kind, export in EXPORTS.items()}, **OWN_KINDS}
    made = {kind: Export(name, own[kind].media_type, _as_is(own[kind])) for kind, name in names.items() if kind in own}
    return {**EXPORTS, **made}


def _as_is(file: AnswerFile) -> Callable[[ResearchJob, JobResult, Sequence[Source]], str]:
    return lambda job, result, sources: file.text


def add_routes(app: web.Application) -> None:
    kinds = "|".join([*EXPORTS, *OWN_KINDS])
    app.router.add_get(f"/jobs/{{job_id}}/answer.{{kind:{kinds}}}", get_export)


async def get_export(request: web.Request) -> web.Response:
    """404 too for a job that has not ended, and for a kind that its answer has not: there is nothing to keep."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    result = await researcher.result(job.id)
    kind, sources = request.match_info["kind"], await researcher.sources(job.id)
    export = exports_of(job, result, sources).get(kind)
    if result is None or export is None:
        raise JobNotFound(job.id)
    text = export.write(job, result, sources)
    headers = {"Content-Disposition": f'attachment; filename="{job.id}.{kind}"', "Cache-Control": "no-store"}
    return web.Response(
        body=text.encode("utf-8", "replace"), content_type=export.media_type, charset="utf-8", headers=headers
    )
