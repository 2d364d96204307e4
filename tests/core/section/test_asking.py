"""A message that asks for a section is told from a question, and one from the thread alone is enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from core.model.answer import Confidence, JobResult, ResearchAnswer
from core.model.job import Attachment, JobStatus
from core.pipeline.runner import DirectSteps, run_job
from core.section.sections import asks_for_section
from tests.core.section.samples import BRIEF, KEYS, model, shelve
from tests.fakes import NOW, make_deps, make_job

FILE = Attachment("paper.yaml", "", "", BRIEF)


@pytest.mark.parametrize(
    ("text", "files", "asked"),
    [
        pytest.param("write the introduction", [FILE], True, id="with a brief"),
        pytest.param("Please draft the methods", [FILE], True, id="politely"),
        pytest.param("write the introduction", [replace(FILE, text="concept: [")], True, id="a brief with a fault"),
        pytest.param("write the introduction", [], False, id="without"),
        pytest.param("write the introduction", [replace(FILE, text="port: 80")], False, id="another YAML file"),
        pytest.param("write the introduction", [replace(FILE, name="a.pdf")], False, id="another file"),
        pytest.param("what are the results of this?", [FILE], False, id="a question"),
        pytest.param("write me a poem", [FILE], False, id="no section"),
        pytest.param("write related work from this thread", [], True, id="from the thread"),
        pytest.param("Schreib bitte die Einleitung", [FILE], True, id="German"),
        pytest.param("Rédige la discussion", [FILE], True, id="French"),
        pytest.param("Por favor, escribe los métodos", [FILE], True, id="Spanish"),
        pytest.param("Scrivi le conclusioni", [FILE], True, id="Italian"),
        pytest.param("Schrijf de samenvatting", [FILE], True, id="Dutch"),
        pytest.param("Escreva os resultados", [FILE], True, id="Portuguese"),
        pytest.param("Schreib mir ein Gedicht", [FILE], False, id="no section in German"),
    ],
)
def test_a_request_for_a_section_is_told_from_a_question(text: str, files: list[Attachment], asked: bool) -> None:
    """Nobody gets a section who asked a question."""
    assert asks_for_section(text, files) is asked


async def test_related_work_is_written_from_the_threads_questions_and_answers() -> None:
    """What was asked becomes the open questions, what was answered the concept; a section written there is neither."""
    prose = f"The moon causes the tides of the world ({KEYS[0]})."
    chat = model(prose)
    deps = make_deps(model=chat)
    await shelve(deps.library)
    earlier = make_job("What causes the tides?", id="job_0", thread="slack:C1:1")
    earlier = replace(earlier, status=JobStatus.COMPLETED, created_at=NOW - timedelta(hours=1))
    await deps.jobs.save(earlier)
    answer = ResearchAnswer("The moon causes the tides of the oceans [1].", "", Confidence.HIGH)
    await deps.jobs.finish(earlier, JobResult(answer))
    order = replace(earlier, id="job_00", request=replace(earlier.request, query="Write the methods"))
    await deps.jobs.save(order)
    await deps.jobs.finish(order, JobResult(replace(answer, summary="Methods: 107 words. 3 papers cited.")))
    job = make_job("write related work from this thread", modes=("section",), thread="slack:C1:1")
    await deps.jobs.save(job)

    await run_job(job.id, deps, DirectSteps())

    result = await deps.jobs.result(job.id)
    (section,) = result.details["sections"]
    assert section["section_text"] == prose
    assert section["searches"][0]["query"] == "The moon causes the tides of the oceans. What causes the tides?"
