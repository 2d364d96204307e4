"""A shelf of papers as people look after it, and the sentences for what they get wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest

from core.library.desk import LibraryDesk, NoSuchPaper
from core.library.ingest import Ingestion, PaperRecord, PaperText, PaperUnreadable
from core.library.paper import Index
from core.model.errors import InvalidQuery
from core.model.job import LOCAL, Scope
from tests.core.findings.samples import found, idea
from tests.core.library.samples import PAPER, Reader, desk, desk_of
from tests.fakes import now
from tests.records import memory_library


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
        f"its summary is not indexed; run `reindex-paper {paper.id}`",
        f"its text is not indexed; run `reindex-paper {paper.id}`",
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


@dataclass
class Meanwhile(Reader):
    """Somebody else acts while a file is read."""

    act: Callable[[], Awaitable[object]] | None = None

    async def read(self, name: str, content: bytes) -> PaperText:
        act, self.act = self.act, None
        if act is not None:
            await act()
        return await Reader.read(self, name, content)


def two() -> tuple[LibraryDesk, Meanwhile]:
    reader = Meanwhile()
    return desk_of(Ingestion(memory_library(), reader.read, now)), reader


async def test_what_others_say_of_a_paper_while_it_is_read_anew_is_kept() -> None:
    shelf, reader = two()
    paper = (await shelf.add_file(LOCAL, "x.pdf", PAPER.encode())).paper
    said = replace(paper, notes="Ours disagree.", bibtex="@misc{x,}", summary="Better.", improved=True)
    reader.act = partial(shelf.ingestion.update, LOCAL, said, before=paper)

    await shelf.reindex(LOCAL, paper.id)

    (kept,) = await shelf.library.papers([LOCAL])
    assert (kept.notes, kept.bibtex, kept.summary, kept.improved) == ("Ours disagree.", "@misc{x,}", "Better.", True)


async def test_two_notes_at_once_are_both_kept() -> None:
    shelf, _ = two()
    paper = (await shelf.add_file(LOCAL, "x.pdf", PAPER.encode())).paper

    for note in ("One.", "Two."):
        await shelf.ingestion.update(LOCAL, replace(paper, notes=note), before=paper)

    assert (await shelf.find([LOCAL], paper.id)).notes == "One.\nTwo."


async def test_a_paper_that_is_removed_while_it_is_read_stays_removed() -> None:
    shelf, reader = two()
    paper = (await shelf.add_file(LOCAL, "x.pdf", PAPER.encode())).paper
    reader.act = partial(shelf.remove, LOCAL, paper.id)

    with pytest.raises(InvalidQuery, match="removed meanwhile"):
        await shelf.reindex(LOCAL, paper.id)

    assert await shelf.library.papers([LOCAL]) == []


async def test_a_file_that_another_adds_meanwhile_is_there_already() -> None:
    shelf, reader = two()
    reader.act = partial(shelf.add_file, LOCAL, "y.pdf", PAPER.encode())

    done = await shelf.add_file(LOCAL, "x.pdf", PAPER.encode())

    assert (done.is_new, [done.paper]) == (False, await shelf.library.papers([LOCAL]))


async def test_a_name_that_another_takes_meanwhile_is_left_to_them() -> None:
    shelf, reader = two()
    reader.act = partial(shelf.add_file, LOCAL, "2401.00001v1.pdf", PAPER.encode())

    done = await shelf.add_file(LOCAL, "2401.00001v1.pdf", f"{PAPER} again".encode())

    assert len(await shelf.library.papers([LOCAL])) == 2
    assert done.paper.id != done.version_of.id == "2401.00001v1"


async def test_papers_that_were_merged_wrongly_are_named_and_separated() -> None:
    """An earlier gorkd took a DOI of a reference for the paper's own; a true version is left alone."""
    shelf = desk()
    moon = await shelf.add_file(LOCAL, "2401.00001v1.pdf", PAPER.encode())
    newer = await shelf.add_file(LOCAL, "2401.00001v2.pdf", f"{PAPER} Corrected.".encode())
    wind = (await shelf.add_file(LOCAL, "wind.pdf", b"%PDF-1.7\nAbstract. Wind blows.")).paper
    merged = replace(wind, title="Storms over Norway", authors=("Hansen, K.",), work=moon.paper.work_key)
    await shelf.ingestion.update(LOCAL, merged, before=wind)

    named = [finding for finding in await shelf.validate(LOCAL) if "looks like another paper" in finding.fault]
    await shelf.separate(LOCAL, wind.id)
    after = [finding for finding in await shelf.validate(LOCAL) if "looks like another paper" in finding.fault]

    assert [finding.paper.id for finding in named] == [wind.id]
    assert f"separate-paper {wind.id}" in named[0].fault
    assert after == []
    assert [one.id for one in await shelf.library.versions([LOCAL], [wind.id])] == [wind.id]
    assert len(await shelf.library.versions([LOCAL], [newer.paper.id])) == 2


async def test_a_paper_that_is_no_version_is_not_separated() -> None:
    shelf = desk()
    paper = (await shelf.add_file(LOCAL, "a.pdf", PAPER.encode())).paper

    with pytest.raises(InvalidQuery, match="a version of no other paper"):
        await shelf.separate(LOCAL, paper.id)
