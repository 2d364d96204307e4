"""A finished answer as a file, each kind with the rule of the page."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import bibtexparser
import pytest

from core.presentation.bibliography import answer_markdown
from core.presentation.exports import EXPORTS
from core.presentation.render import job_json
from core.works.showing import references_json
from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import web_app
from tests.evals.references import checked_set
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher

JOB = samples.COMPLETED.id


async def exported(kind: str) -> tuple[str, str]:
    """The file's text and what the browser saves it as."""
    async with conforming(web_app()) as client:
        answer = await client.get(f"/jobs/{JOB}/answer.{kind}")
        assert answer.status == 200
        assert answer.content_type == EXPORTS[kind].media_type
        return await answer.text(), answer.headers["Content-Disposition"]


@pytest.mark.parametrize("kind", EXPORTS)
async def test_a_browser_saves_it_under_the_jobs_name(kind: str):
    _, disposition = await exported(kind)

    assert disposition == f'attachment; filename="{JOB}.{kind}"'


async def test_every_export_is_what_core_writes():
    """The same documents as everywhere; the references are those that the answer cites."""
    markdown, document, entries, records = [(await exported(kind))[0] for kind in ("md", "json", "bib", "ris")]

    assert markdown == answer_markdown(samples.COMPLETED, samples.RESULT, samples.SOURCES)
    assert json.loads(document) == job_json(samples.COMPLETED, samples.RESULT, samples.SOURCES)
    assert [entry["url"] for entry in bibtexparser.parse_string(entries).entries] == [
        source.url for source in samples.SOURCES[:3]
    ]
    assert records.count("TY  - ELEC") == 3


@pytest.mark.parametrize("kind", [*EXPORTS, "exe"])
async def test_what_is_not_there_is_not_found(kind: str):
    """An unknown job, a kind that is none, and a job that has not ended."""
    running = ScriptedResearcher(samples.RUNNING, None, [])
    async with conforming(web_app(running)) as client:
        unknown = await client.get(f"/jobs/job_unknown/answer.{kind}")
        unfinished = await client.get(f"/jobs/{samples.RUNNING.id}/answer.{kind}")

    assert (unknown.status, unfinished.status) == (404, 404)


async def test_the_page_offers_every_export():
    async with conforming(web_app()) as client:
        page = await (await client.get(f"/jobs/{JOB}")).text()

    assert [kind for kind in EXPORTS if f'href="/jobs/{JOB}/answer.{kind}"' not in page] == []


async def test_the_page_has_a_line_for_each_reference_that_was_checked():
    """With what is wrong with it, and where its record and its notice stand (N-18)."""
    found = await checked_set({"correct": 1, "invented": 1, "wrong year": 1, "retracted": 1}, 3)
    details = references_json([checked for _, checked in found])
    researcher = ScriptedResearcher(samples.COMPLETED, replace(samples.RESULT, details=details), samples.SOURCES)

    async with conforming(web_app(researcher)) as client:
        page = await (await client.get(f"/jobs/{JOB}")).text()

    rows = page[page.index("<h2>References") :].partition("</table>")[0].split("<tr>")[2:]
    told = {one.kind: row for (one, _), row in zip(found, rows, strict=True)}
    assert "✓ found, matches its record." in told["correct"]
    assert "◐ not found in Crossref, Europe PMC" in told["invented"]
    assert re.search(r"◐ found; its year is \d{4}, not \d{4}", told["wrong year"])
    assert "✗ retracted on 2021-03-04" in told["retracted"]
    assert re.search(r'<a href="https://(?:doi\.org/10\.1/r|pubmed)[^"]*"[^>]*>notice</a>', told["retracted"])
