"""A paper is a version of a work: nothing that was said of it is lost, the newest answers, and two are one voice."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from core.evidence.authority import same_voice
from core.library.desk import LibraryDesk
from core.library.funnel import Shelves, search_content_index, select_papers, to_source
from core.library.ingest import Ingestion, PaperRecord
from core.library.paper import Paper
from core.library.states import Added
from core.model.codec import decode, encode
from core.model.errors import ModelUnavailable
from core.model.job import LOCAL
from core.model.source import SourceKind
from core.model.works import PublishedWork, WorkIds, is_of_arxiv
from tests.core.library.samples import PAPER, TEXTS, TIDES, Finder, Reader, desk_of, shelve
from tests.fakes import FakeModel, now
from tests.records import memory_library

AWAY = ModelUnavailable("away", user_message="The model is away.")
SECOND = replace(TIDES, id="2401.00001v2", content_hash="hash-3", added_at=TIDES.added_at + timedelta(days=1))


def ingestion(model: FakeModel | None = None) -> Ingestion:
    return Ingestion(memory_library(), Reader().read, now, model)


def summary(text: str) -> str:
    return json.dumps({"title": "Tides", "authors": [], "year": "", "summary": text})


async def test_another_file_of_one_arxiv_id_stands_beside_it() -> None:
    """S000-51: neither replaces the other, and what was noted with the first stays there."""
    desk = ingestion()
    first = (await desk.add(LOCAL, "2401.00001v1.pdf", PAPER.encode())).paper
    noted = await desk.update(LOCAL, replace(first, notes="Ours disagree."), before=first)

    done = await desk.add(LOCAL, "2401.00001v1.pdf", f"{PAPER}\n\nA scan of it.".encode())

    papers = {paper.id: paper for paper in await desk.library.papers([LOCAL])}
    assert papers[noted.id].notes == "Ours disagree."
    assert (done.is_new, len(papers)) == (True, 2)
    assert done.paper.work_key == noted.work_key
    assert "another version of 2401.00001v1" in done.remarks[0]


async def test_what_a_catalogue_gives_again_is_the_same_paper() -> None:
    """Archives stamp a PDF anew each time; its id says what it is."""
    desk, record = ingestion(), PaperRecord(id="2401.00001v1", title="Tides")
    await desk.add(LOCAL, "x.pdf", PAPER.encode(), record)

    again = await desk.add(LOCAL, "x.pdf", f"{PAPER} ".encode(), record)

    assert not again.is_new
    assert len(await desk.library.papers([LOCAL])) == 1


async def test_an_improved_summary_is_kept_and_marked() -> None:
    """Reading a paper anew changes only what nobody has worked on."""
    model = FakeModel({"summary": [summary("The first."), summary("Ours."), summary("Of a machine.")]})
    desk = desk_of(ingestion(model))
    paper = (await desk.add_file(LOCAL, "2401.00001v1.pdf", PAPER.encode())).paper

    await desk.ingestion.summarise(LOCAL, paper, feedback="say more")
    anew = await desk.reindex(LOCAL, paper.id)

    assert (anew.summary, anew.improved) == ("Ours.", True)


async def test_a_summary_that_failed_is_told_and_found() -> None:
    """The abstract stands for it until the paper is read anew."""
    model = FakeModel({"summary": [AWAY, AWAY, summary("At last.")]})
    desk = desk_of(ingestion(model))

    done = await desk.add_file(LOCAL, "2401.00001v1.pdf", PAPER.encode())
    findings = await desk.validate(LOCAL)
    added = Added()
    await added.take(_of(done))

    assert "The model is away." in " ".join(done.remarks)
    assert "The model is away." in added.sentence
    assert "the model wrote no summary" in findings[0].fault
    assert (await desk.reindex(LOCAL, done.paper.id)).summary == "At last."
    assert await desk.validate(LOCAL) == []


async def test_a_model_that_is_away_costs_no_summary_that_stood_there() -> None:
    desk = LibraryDesk(
        ingestion(FakeModel({"summary": [summary("Once."), AWAY, AWAY]})), Finder().find, Finder().search
    )
    paper = (await desk.add_file(LOCAL, "2401.00001v1.pdf", PAPER.encode())).paper

    anew = await desk.reindex(LOCAL, paper.id)

    still = await desk.reindex(LOCAL, paper.id)

    assert (anew.summary, anew.lacks_summary) == (still.summary, still.lacks_summary) == ("Once.", False)


async def test_no_model_costs_no_summary_that_stood_there() -> None:
    first = ingestion(FakeModel({"summary": [summary("Once.")]}))
    paper = (await first.add(LOCAL, "2401.00001v1.pdf", PAPER.encode())).paper

    anew = await desk_of(replace(first, model=None)).reindex(LOCAL, paper.id)

    assert (anew.summary, anew.lacks_summary) == ("Once.", False)


async def test_an_abstract_without_a_model_stays_one_that_stands_for_a_summary() -> None:
    first = ingestion(FakeModel({"summary": [AWAY]}))
    paper = (await first.add(LOCAL, "2401.00001v1.pdf", PAPER.encode())).paper

    assert (await desk_of(replace(first, model=None)).reindex(LOCAL, paper.id)).lacks_summary


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("the tides of the oceans", "2401.00001v2", id="the newest"),
        pytest.param("the tides of the oceans in 2401.00001v1", "2401.00001v1", id="by wish"),
    ],
)
async def test_of_several_versions_one_answers(query: str, expected: str) -> None:
    """S000-07: each work once; what is noted with an older version still leads to it."""
    library = memory_library()
    old = replace(TIDES, summary=f"{TIDES.summary} Noted: perigee.")
    await shelve(library, old)
    await shelve(library, SECOND, text=TEXTS[TIDES.id])
    shelves = Shelves(library, (LOCAL,))

    assert await select_papers(shelves, query) == [expected]
    assert {entry.chunk.paper.id for entry in await search_content_index(shelves, query)} == {expected}


def test_two_versions_are_one_voice() -> None:
    """Whatever their addresses are."""
    v1 = to_source(1, replace(TIDES, url="https://arxiv.org/abs/2401.00001v1"), "One text of it.", 1.0)
    v2 = to_source(2, replace(SECOND, url="https://arxiv.org/abs/2401.00001v2"), "Quite another text.", 1.0)
    other = to_source(3, replace(SECOND, id="2401.00009v1"), "A third.", 1.0)

    assert same_voice(v1, v2)
    assert not same_voice(v1, other)


def test_a_paper_of_an_older_gorkd_opens() -> None:
    """What it did not know is as it was: nothing improved, nothing lacking, its id its work."""
    kept = json.loads(encode(TIDES))
    for field in ("work", "edition", "improved", "lacks_summary"):
        kept["value"].pop(field)

    paper = decode(json.dumps(kept), Paper)

    assert paper == TIDES
    assert (paper.work_key, paper.improved) == ("2401.00001", False)


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        pytest.param({"ids": WorkIds.of(doi="10.1000/ABC")}, True, id="a DOI, however it is written"),
        pytest.param({"ids": WorkIds.of(doi="10.1000/other")}, False, id="another DOI"),
        pytest.param({"title": "Tides & the Moon, seen again!"}, False, id="another title"),
        pytest.param({}, True, id="title and author"),
        pytest.param({"authors": ("Brown, B.",)}, False, id="another author"),
        pytest.param({"year": "2014"}, False, id="ten years later"),
    ],
)
def test_works_are_told_apart(other: dict, is_same: bool) -> None:
    work = PublishedWork(WorkIds.of(doi="10.1000/abc"), "Tides and the Moon, seen again", ("Smith, J.",), "2024")
    bare = PublishedWork(WorkIds(), work.title, work.authors, work.year)

    assert work.is_same(replace(bare, **other)) is is_same


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        pytest.param(("2401.00001v1", "10.1000/a", ""), ("2401.00002v1", "10.1000/a", ""), False, id="two of arXiv"),
        pytest.param(("2401.00001v1", "10.1000/a", ""), ("2401.00001v2", "10.1000/b", ""), True, id="two versions"),
        pytest.param(("", "10.1000/a", "Tides of Brest"), ("", "10.1000/a", "On Yeast"), False, id="chapters"),
        pytest.param(("", "10.1000/a", "Tides of Brest"), ("", "10.1000/a", "The Tides"), True, id="a short title"),
        pytest.param(("", "10.1000/a", "Tides of Brest"), ("", "10.1000/a", ""), True, id="no title"),
        *(
            pytest.param(("", doi, "Tides"), ("", doi, "Tides"), False, id=doi)
            for doi in ("10.1145/nnnnnnn.nnnnnnn", "10.1145/1122445.1122456", "10.1109/ACCESS.2023.DOI",
                        "10.1145/XXXXXXX.XXXXXXX", "10.1016/j.xxxx.2020.01.001")
        ),
    ],
)  # fmt: skip
def test_ids_tell_works_apart(one: tuple[str, str, str], other: tuple[str, str, str], *, is_same: bool) -> None:
    """A shared DOI may be a template's, or that of the whole book."""
    left, right = (PublishedWork(WorkIds.of(arxiv=arxiv, doi=doi), title) for arxiv, doi, title in (one, other))

    assert left.is_same(right) is right.is_same(left) is is_same


async def test_papers_written_with_one_template_are_two() -> None:
    text = f"https://doi.org/10.1145/nnnnnnn.nnnnnnn\n\n{PAPER}"
    desk = ingestion()

    first = (await desk.add(LOCAL, "2401.00001v1.pdf", text.encode())).paper
    second = await desk.add(LOCAL, "2401.00002v1.pdf", f"{text} ".encode())

    assert (first.doi, second.version_of, second.paper.work_key) == ("", None, "2401.00002")


async def _of(value):
    return value


@pytest.mark.parametrize(
    ("paper_id", "is_given"),
    [("0704.0001", True), ("1412.9999v2", True), ("1501.00001", True), ("hep-th/9901001", True),
     ("math.GT/0309136", True),
     ("0603.10002", False), ("0703.0001", False), ("1412.10001", False), ("1501.0001", False), ("2413.00001", False)],
)  # fmt: skip
def test_what_only_looks_like_an_id_is_none_of_arxiv(paper_id: str, *, is_given: bool) -> None:
    assert is_of_arxiv(paper_id) is is_given


async def test_a_name_like_an_id_makes_no_preprint() -> None:
    """Neither by its file's name nor by a stamp that arXiv never printed."""
    text = f"arXiv:0603.10002v1 [q-bio.PE] 1 Mar 2006\n\n{PAPER}"

    paper = (await ingestion().add(LOCAL, "0603.10002.pdf", text.encode())).paper

    assert (paper.id, paper.url) == ("0603.10002", "")
    assert to_source(1, paper, text, 1.0).metadata.kind is SourceKind.LOCAL
