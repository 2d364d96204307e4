"""A shelf of papers as people look after it, and the sentences for what they get wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.library.desk import NoSuchPaper
from core.library.ingest import PaperRecord, PaperUnreadable
from core.library.paper import Index
from core.model.errors import InvalidQuery
from core.model.job import LOCAL, Scope
from tests.core.findings.samples import found, idea
from tests.core.library.samples import PAPER, desk


async def test_a_paper_is_added_by_name_shown_and_removed() -> None:
    """S000-50: whatever adds it, it can be found, read anew and removed by its id."""
    shelf = desk()

    added = (await shelf.add_reference(LOCAL, "2401.00001v2")).paper
    found = await shelf.find([LOCAL], "2401.00001")
    again = await shelf.reindex(LOCAL, "2401.00001v2")
    removed = await shelf.remove(LOCAL, "2401.00001v2")

    assert added == found == again == removed
    assert await shelf.library.papers([LOCAL]) == []


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("2401.00001", "Which version of 2401.00001: 2401.00001v1, 2401.00001v2?"),
        ("2401.00009", 'There is no paper "2401.00009" in this library; `list` shows what there is.'),
        ("", 'There is no paper "" in this library; `list` shows what there is.'),
    ],
    ids=["several versions", "unknown", "nothing"],
)
async def test_a_wrong_id_gets_a_sentence_that_helps(asked: str, sentence: str) -> None:
    """S000-51: an id without version is asked back where it could mean several."""
    shelf = desk()
    for version in ("v1", "v2"):
        content = f"{PAPER} {version}".encode()
        await shelf.ingestion.add(LOCAL, "x.pdf", content, PaperRecord(id=f"2401.00001{version}"))

    with pytest.raises(NoSuchPaper) as refused:
        await shelf.find([LOCAL], asked)

    assert refused.value.user_message == sentence


async def test_a_healthy_shelf_has_no_faults_and_a_bare_paper_is_named() -> None:
    """`validate-store`: what cannot be found or cited is told with what to do."""
    shelf = desk()
    paper = (await shelf.add_file(LOCAL, "x.pdf", PAPER.encode())).paper
    healthy = await shelf.validate(LOCAL)

    await shelf.library.put(LOCAL, paper, "", {Index.SUMMARY: []}, b"")
    faults = [finding.fault for finding in await shelf.validate(LOCAL)]

    assert healthy == []
    assert faults == [
        "its text is missing; add the file again",
        "its summary is not indexed; run reindex",
        "its text is not indexed; run reindex",
    ]


async def test_markdown_read_anew_stays_one_paper() -> None:
    """Of Markdown the tidied text is kept and not the file, whose bytes were others."""
    shelf = desk()
    added = (await shelf.add_file(LOCAL, "x.md", f"{PAPER}\r\n\r\n".encode())).paper
    await shelf.library.put(LOCAL, added, PAPER, {}, b"")

    again = await shelf.reindex(LOCAL, added.id)

    assert (again.id, again.content_hash) == (added.id, added.content_hash)
    assert await shelf.library.papers([LOCAL]) == [again]


async def test_rebuilding_goes_on_behind_a_paper_that_fails() -> None:
    """`rebuild-index`: what cannot be read anew stays as it was."""
    shelf = desk()
    first = (await shelf.add_file(LOCAL, "x.pdf", PAPER.encode())).paper
    bare = (await shelf.add_file(LOCAL, "y.pdf", f"{PAPER} more".encode())).paper
    await shelf.library.put(LOCAL, bare, "", {}, b"")

    done = [entry async for entry in shelf.rebuild(LOCAL)]

    assert first in done
    assert any(isinstance(entry, PaperUnreadable) for entry in done)
    assert await shelf.library.papers([LOCAL]) == sorted([first, bare], key=lambda paper: paper.id)


async def test_only_findings_that_all_may_see_come_into_a_library() -> None:
    """S004-15: what somebody asked in private stays where it was asked, and an answer is no finding."""
    shelf, (job, result) = desk(), found([idea(1)])
    private = replace(job, request=replace(job.request, scope=Scope(LOCAL.tenant, "user:1")))

    added = await shelf.add_findings(LOCAL, job, result)
    again = await shelf.add_findings(LOCAL, job, result)

    assert (added.paper.id, added.is_new, again.is_new) == (job.id, True, False)
    with pytest.raises(InvalidQuery, match="asked elsewhere"):
        await shelf.add_findings(LOCAL, private, result)
    with pytest.raises(InvalidQuery, match="no findings"):
        await shelf.add_findings(LOCAL, job, replace(result, details={}))
