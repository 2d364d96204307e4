"""Check the references: from a file to what is said of each, with a judge and without, in time and out of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.model.answer import Confidence, JobResult
from core.model.errors import InvalidQuery
from core.model.job import Attachment, JobStatus, ResearchJob, ResearchRequest
from core.model.source import Page
from core.model.works import Notice, OpenCopy, WorkIds, WorkRecord
from core.modes import files_of, references
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation import wording
from core.tenancy.settings import EVERYTHING, SourcePolicy
from core.works.registry import Registry, Works
from core.works.showing import reference_rows
from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import web_app
from tests.core.works.test_registry import Catalogue, Clock, Shelf
from tests.fakes import FakeModel, FakePages, Idle, make_deps
from tests.golden.samples import COMPLETED, ScriptedResearcher

NOTICE = Notice("retraction", "https://doi.org/10.1000/notice", "2021-03-04", said_by="Crossref")
BATHING = WorkRecord(
    WorkIds.of(doi="10.1000/bath"), "Sea bathing and the mood of swimmers", ("Bea Lund",), "2019", "Journal of Bathing",
    abstract="Mood rose by twelve points in swimmers who bathed daily.", said_by=("crossref",),
    copies=(OpenCopy("https://repository.test/bath"),),
)  # fmt: skip
COLD = WorkRecord(
    WorkIds.of(doi="10.1000/cold"), "Cold water cures everything at once", ("Ada Moore",), "2020",
    notices=(NOTICE,), said_by=("crossref",),
)  # fmt: skip
TEXT = """Mood rose by twelve points in swimmers [1]. Cold water heals every known disease of cats [2].

## References

[1] B. Lund, “Sea bathing and the mood of swimmers,” Journal of Bathing, 2019.
[2] A. Moore, “Cold water cures everything at once,” Cold, 2020. doi:10.1000/cold
[3] J. Nobody, “An entirely new study of bathing in summer,” Journal of Summers, 2021.
"""
QUESTION = "Please check the references"


class Shelved(Catalogue):
    """Finds by id and by the words of a title."""

    async def by_ids(self, ids: WorkIds) -> list[WorkRecord]:
        return [one for one in await self._answer() if one.ids.shares_one_with(ids)]


def deps_with(*registries: Registry, model: FakeModel | None = None) -> Deps:
    deps = make_deps(
        model=model, pages={"https://repository.test/bath": f"{BATHING.title}\n\n{BATHING.abstract} " * 40}
    )
    return replace(deps, works=Works(registries, Shelf(), Clock()))


async def checked(
    deps: Deps, query: str = QUESTION, *, text: str = TEXT, policy: SourcePolicy = EVERYTHING
) -> tuple[ResearchJob, JobResult]:
    researcher = Researcher(deps, Idle())
    request = ResearchRequest(query, policy=policy)
    job = await researcher.submit(request, attachments=[Attachment("paper.md", "", "paper.md", text)])
    await run_job(job.id, deps, DirectSteps())
    result = await researcher.result(job.id)
    assert result is not None
    return await researcher.job(job.id), result


async def test_the_word_and_a_file_are_enough() -> None:
    """Each reference with what is known of it; what needs a look is the answer, the rest is in the files."""
    deps = deps_with(Shelved("crossref", BATHING, COLD))

    job, result = await checked(deps)

    assert (job.request.modes, job.status) == (("references",), JobStatus.COMPLETED)
    assert [row["verdict"] for row in reference_rows(result)] == ["matches", "matches", "not found"]
    assert result.answer.summary.splitlines() == [
        "3 references: 2 match their records, 1 was retracted, 1 was not found.",
        "",
        "1. Reference 2, “Cold water cures everything at once”: retracted on 2021-03-04 "
        "(https://doi.org/10.1000/notice); found, matches its record [2].",
        "2. Reference 3, “An entirely new study of bathing in summer”: not found in Crossref.",
    ]
    (citation,) = result.answer.citations
    (_, source) = await deps.sources.sources(job.id)
    assert source.content[citation.start : citation.end] == citation.quote == f"Retraction on 2021-03-04 ({NOTICE.url})"
    assert [file.name for file in files_of(job, result)] == ["references.csv", "references.bib"]
    assert references.NOT_JUDGED in result.answer.limitations


async def test_a_judge_says_whether_the_work_says_what_it_is_cited_for() -> None:
    """On the open copy where there is one; without anything to read nothing is judged."""
    _, result = await checked(deps_with(Shelved("crossref", BATHING, COLD), model=FakeModel({})))

    first, second, _ = reference_rows(result)
    assert first["cited_for"] == [
        {
            "sentence": "Mood rose by twelve points in swimmers [1].",
            "verdict": "says it",
            "read": "full text",
            "reason": first["cited_for"][0]["reason"],
        }
    ]
    assert [use["verdict"] for use in second["cited_for"]] == ["not judged"]


async def test_the_silence_of_an_abstract_casts_no_doubt() -> None:
    """It leaves out most of what a work says; what a full text does not say is shown."""
    sentence = "Swimmers vote for other parties than cyclists do [1].\n\n"
    text = sentence + TEXT.partition("\n\n")[2]
    abstract = replace(BATHING, copies=())

    _, of_abstract = await checked(deps_with(Shelved("crossref", abstract), model=FakeModel({})), text=text)
    _, of_text = await checked(deps_with(Shelved("crossref", BATHING), model=FakeModel({})), text=text)

    assert (reference_rows(of_abstract)[0]["sign"], reference_rows(of_text)[0]["sign"]) == ("✓", "◐")
    assert of_text.answer
    assert "its full text does not say it: “Swimmers vote" in of_text.answer.summary
    assert str(reference_rows(of_text)[0]).count("Swimmers vote") == 1  # the page and the terminal show said and uses


async def test_a_registry_that_is_away_is_named_and_lowers_confidence() -> None:
    away = Shelved("europepmc")
    away.is_away = True

    _, some = await checked(deps_with(Shelved("crossref", BATHING, COLD), away))
    _, none = await checked(deps_with(away))

    assert some.answer
    assert none.answer
    assert (some.answer.confidence, none.answer.confidence) == (Confidence.MEDIUM, Confidence.INSUFFICIENT)
    assert any("Europe PMC" in line for line in some.answer.limitations)
    assert none.answer.summary.startswith("3 references: 3 could not be looked up.")


async def test_what_is_not_looked_up_in_time_is_said_not_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that never answers costs its references, not the job."""
    monkeypatch.setattr(references, "RESERVE_S", references.MODE.deadline_s - 0.2)
    slow = Shelved("crossref", is_slow=True)

    async with asyncio.timeout(30):
        job, result = await checked(deps_with(slow))

    assert job.status is JobStatus.COMPLETED
    assert {row["verdict"] for row in reference_rows(result)} == {"unknown"}


async def test_a_copy_that_never_comes_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the work says is then judged by its abstract."""
    monkeypatch.setattr(references, "JUDGING_S", references.MODE.deadline_s - 0.5)

    class Hanging(FakePages):
        async def fetch(self, url: str, *, known: Page | None = None) -> Page:
            return await asyncio.Future()

    deps = replace(deps_with(Shelved("crossref", BATHING, COLD), model=FakeModel({})), pages=Hanging())
    async with asyncio.timeout(30):
        job, result = await checked(deps)

    assert job.status is JobStatus.COMPLETED
    assert [use["read"] for use in reference_rows(result)[0]["cited_for"]] == ["abstract"]


@pytest.mark.parametrize(
    "page", ["Please accept our cookies to go on. " * 200, BATHING.title + " is behind a wall. " * 9]
)
async def test_a_page_in_place_of_the_work_is_not_read_for_it(page: str) -> None:
    """Its silence would be held against whoever cites the work."""
    deps = deps_with(Shelved("crossref", BATHING, COLD), model=FakeModel({}))

    _, result = await checked(replace(deps, pages=FakePages({"https://repository.test/bath": page})))

    assert [use["read"] for use in reference_rows(result)[0]["cited_for"]] == ["abstract"]


async def test_a_copy_at_a_site_that_is_excluded_here_is_not_read() -> None:
    deps = deps_with(Shelved("crossref", BATHING, COLD), model=FakeModel({}))
    pages = FakePages({"https://repository.test/bath": f"{BATHING.title} {BATHING.abstract} " * 40})

    await checked(replace(deps, pages=pages), policy=SourcePolicy(block=("repository.test",)))

    assert pages.fetched == []


@pytest.mark.parametrize("modes", [("references",), ("references", "quick")])
async def test_nothing_is_checked_without_a_list_or_beside_another_mode(modes: tuple[str, ...]) -> None:
    researcher = Researcher(deps_with(Shelved("crossref")), Idle())

    with pytest.raises(InvalidQuery) as refused:
        await researcher.submit(ResearchRequest(QUESTION, modes=modes))

    assert refused.value.user_message in (wording.NO_LIST, "A check is made by itself; please name no other mode.")


async def test_without_any_registry_it_says_what_to_set() -> None:
    researcher_deps = make_deps()
    researcher = Researcher(researcher_deps, Idle())
    job = await researcher.submit(ResearchRequest(QUESTION), attachments=[Attachment("a.md", "", "a.md", TEXT)])

    await run_job(job.id, researcher_deps, DirectSteps())

    error = (await researcher.job(job.id)).error
    assert error.message == references.NO_REGISTRY


async def test_the_page_has_a_row_for_each_and_offers_the_files() -> None:
    """What is free to read and the notice are links; no text of a list becomes markup."""
    text = TEXT.replace("J. Nobody", "J. <script>alert(1)</script> Nobody")
    deps = deps_with(Shelved("crossref", BATHING, COLD))
    job, result = await checked(deps, text=text)
    sources = await deps.sources.sources(job.id)
    job = replace(COMPLETED, request=replace(job.request, attachments=()))  # with one its page needs a signature
    app = web_app(ScriptedResearcher(job, result, sources))

    async with conforming(app) as client:
        page = await (await client.get(f"/jobs/{job.id}")).text()
        bibtex = await (await client.get(f"/jobs/{job.id}/answer.bib")).text()
        table = await client.get(f"/jobs/{job.id}/answer.csv")

    assert page.count("<tr><td>") == 3
    assert f'<a href="{NOTICE.url}" rel="nofollow noopener noreferrer">notice</a>' in page
    assert '<a href="https://repository.test/bath"' in page
    assert "<script>alert" not in page
    assert "@article{lund2019," in bibtex
    assert (table.status, (await table.text()).startswith("number,label,")) == (200, True)
