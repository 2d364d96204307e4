"""A finished answer as a file to keep: under the page's address, for whoever may read the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aiohttp import web

from adapters.web.access import RESEARCHER, readable_job
from core.answer import JobResult
from core.bibliography import cited_works
from core.bibtex import bibtex
from core.errors import JobNotFound
from core.findings.document import findings_markdown
from core.job import ResearchJob
from core.render import answer_markdown, job_json
from core.ris import ris
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
    own = _of_section(result, "markdown") or findings_markdown(job, result, sources)
    return own or answer_markdown(job, result, sources)


def _bibtex(_: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    return _of_section(result, "bibtex") or bibtex(cited_works(sources, result.answer))


def _of_section(result: JobResult, field: str) -> str:
    """What a written section has of its own, with the keys of its prose; "" for any other answer."""
    text = result.details.get(field) if "sections" in result.details else None
    return text if isinstance(text, str) else ""


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


def add_routes(app: web.Application) -> None:
    kinds = "|".join(EXPORTS)
    app.router.add_get(f"/jobs/{{job_id}}/answer.{{kind:{kinds}}}", get_export)


async def get_export(request: web.Request) -> web.Response:
    """404 too for a job that has not ended: there is nothing to keep yet."""
    job, researcher = await readable_job(request), request.app[RESEARCHER]
    result = await researcher.result(job.id)
    if result is None:
        raise JobNotFound(job.id)
    kind = request.match_info["kind"]
    text = EXPORTS[kind].write(job, result, await researcher.sources(job.id))
    headers = {"Content-Disposition": f'attachment; filename="{job.id}.{kind}"', "Cache-Control": "no-store"}
    return web.Response(
        body=text.encode("utf-8", "replace"), content_type=EXPORTS[kind].media_type, charset="utf-8", headers=headers
    )
