"""Reading lists as people have them: BibTeX, RIS, Zotero's exports, ids one a line; each paper once."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.desk import MAX_ENTRIES, LibraryDesk, ListedPaper, is_reading_list, plain, read_list
from core.library.ingest import FoundPaper, Ingestion, PaperRecord, PaperUnreadable
from core.model.job import LOCAL
from core.section.prose import assign_keys
from tests.core.library.samples import PAPER, Finder, Reader
from tests.fakes import now
from tests.records import memory_library

BIBTEX = r"""
@string{jop = "Journal of Ports"}
@article{smith2024, title = {The {Moon} and the {T}ides of Brest},
  author = {Smith, J{\"o}rg and {\O}stby, Anna and others},
  journal = jop # " B", year = 2024, month = mar, doi = {10.1000/ABC.1},
  file = {Full Text PDF:files/12/a.pdf:application/pdf;Snapshot:files/13/b.html:text/html}}
@misc{doe, title = "Winds over {Brest}", author = "Jane Doe",
  eprint = {2401.00007}, archivePrefix = {arXiv}, year = "2023"
}
@comment{nothing}
@book{old, title = {A book, which has no {\'e}dition}, author = {M{\"u}ller, K.}, year = {1999}}
"""
RIS = """TY  - JOUR
TI  - The Moon and the Tides of Brest
AU  - Smith, Jörg
AU  - Østby, Anna
PY  - 2024/03/05/
DO  - https://doi.org/10.1000/ABC.1
L1  - files/12/a.pdf
ER  -
TY  - RPRT
T1  - Winds over Brest
UR  - https://arxiv.org/abs/2401.00007v2
"""
CSL = """[{"title": "The Moon and the Tides of Brest", "DOI": "10.1000/ABC.1", "issued": {"date-parts": [[2024, 3, 5]]},
"author": [{"family": "Smith", "given": "Jörg"}]}, 7, {"type": "book"}]"""


def test_bibtex_is_read_as_people_read_it() -> None:
    """Braces, accents, months, strings, and the file that Zotero names."""
    first, second, third = read_list("list.bib", BIBTEX.encode())

    assert first.record.title == "The Moon and the Tides of Brest"
    assert first.record.authors == ("Smith, Jörg", "Østby, Anna")
    assert (first.record.published, first.record.doi) == ("2024-03", "10.1000/ABC.1")
    assert (first.reference, first.file) == ("10.1000/ABC.1", "files/12/a.pdf")
    assert first.record.bibtex.startswith("@article{smith2024,")
    assert first.record.bibtex.endswith("text/html}}")
    assert (second.record.title, second.reference, second.record.published) == (
        "Winds over Brest",
        "2401.00007",
        "2023",
    )
    assert (third.record.title, third.record.authors) == ("A book, which has no édition", ("Müller, K.",))
    assert third.reference == ""


@pytest.mark.parametrize(("name", "text"), [("a.ris", RIS), ("a.json", CSL)])
def test_other_exports_say_the_same(name: str, text: str) -> None:
    first = read_list(name, text.encode())[0]

    assert first.record.title == "The Moon and the Tides of Brest"
    assert first.record.authors[0] == "Smith, Jörg"
    assert (first.record.published, first.reference) == ("2024-03-05", "10.1000/ABC.1")


def test_ids_one_a_line() -> None:
    """With the prefixes and addresses that people paste."""
    text = "# to read\n10.1000/abc\ndoi:10.1000/abc\narXiv:2401.00007v2\nhttps://arxiv.org/abs/2401.00008\nhep-th/9901001\n"

    found = [listed.reference for listed in read_list("list.txt", text.encode())]

    assert found == ["10.1000/abc", "2401.00007v2", "2401.00008", "hep-th/9901001"]
    assert is_reading_list("list.txt", text.encode())
    assert not is_reading_list("notes.txt", b"The tides\n2401.00001\n")
    assert not is_reading_list("paper.md", text.encode())


@pytest.mark.parametrize("name", ["a.bib", "a.ris", "a.json", "a.txt"])
def test_a_list_of_nothing_is_said_to_be_one(name: str) -> None:
    with pytest.raises(PaperUnreadable) as error:
        read_list(name, b"nothing {")

    assert error.value.user_message == f"{name} cannot be read: it lists no paper."


def test_a_list_that_nests_without_end_lists_nothing() -> None:
    with pytest.raises(PaperUnreadable):
        read_list("a.json", b"[" * 200_000)


def test_what_is_never_closed_ends_where_the_next_entry_begins() -> None:
    listed = read_list("a.bib", b"@misc{a, title = {The tides,\n  year = 2024\n@misc{b, title = {On yeast}}\n")

    assert [one.record.title for one in listed] == ["The tides, year = 2024", "On yeast"]


@pytest.mark.parametrize(
    "text",
    ["@a{b, c = {\n" * 30_000, "@a{b, c = {" * 100_000, f"@a{{{' ' * 500_000}", f"@a{{b, {' ' * 500_000}",
     f"@a{{b, title = {{\\'{' ' * 99_000}"],
    ids=["lines", "a line", "a key", "a field", "an accent"],
)  # fmt: skip
def test_a_hostile_list_takes_no_longer_than_a_long_one(text: str) -> None:
    """What takes quadratic time here would take minutes."""
    began = process_time()
    with suppress(PaperUnreadable):
        read_list("a.bib", text.encode())

    assert process_time() - began < 10


def test_a_list_is_read_no_further_than_papers_are_taken() -> None:
    with pytest.raises(PaperUnreadable) as error:
        read_list("a.bib", "".join(f"@misc{{k, title = {{{at}}}}}\n" for at in range(MAX_ENTRIES + 1)).encode())

    assert "more than 5000 papers" in error.value.user_message


@pytest.mark.parametrize(
    ("written", "read"),
    [(r"{\'E}cole", "École"), (r"Fran\c{c}ois", "François"), (r"Sm{\o}rebr{\o}d \& co", "Smørebrød & co"),
     (r"Erd{\H o}s", "Erdős"), (r"na\"{\i}ve", "naïve"), (r"\v{S}koda", "Škoda"),
     ("{DNA} in {E. coli}", "DNA in E. coli")],
)  # fmt: skip
def test_accents_are_letters(written: str, read: str) -> None:
    assert plain(written) == read


@given(st.text(alphabet='@{}",=#abc \n\\', max_size=80))
def test_whatever_stands_in_a_list_is_read_or_refused(text: str) -> None:
    """It neither breaks nor hangs."""
    listed = read_list("a.bib", f"@misc{{k, {text}".encode())

    assert 1 <= len(listed) <= 1 + text.count("@")


class Archive(Finder):
    """Knows every reference, and counts what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def find(self, reference: str) -> FoundPaper:
        self.asked.append(reference)
        doi = reference if reference.startswith("10.") else ""
        record = PaperRecord(id="" if doi else f"{reference}v1", title=f"On {reference} and the tides", doi=doi)
        return FoundPaper("x.pdf", f"{PAPER} {reference}".encode(), record)


@pytest.mark.parametrize(
    ("named", "file"),
    [
        pytest.param("files/12/a.pdf", "files/12/a.pdf", id="in a folder beside the list"),
        pytest.param("files\\12\\a.pdf", "files/12/a.pdf", id="as Windows writes it"),
        pytest.param("/etc/a.pdf", "", id="absolute"),
        pytest.param("../../a.pdf", "", id="above the list"),
        pytest.param("files/../../a.pdf", "", id="above it by a detour"),
        pytest.param("..\\a.pdf", "", id="above it, as Windows writes it"),
        pytest.param("C\\:/a.pdf", "", id="on a drive"),
        pytest.param("~/a.pdf", "", id="at home"),
    ],
)
def test_a_list_names_no_file_elsewhere(named: str, file: str) -> None:
    """Who wrote the list does not choose what is read of the machine of whoever adds it."""
    entry = f"@misc{{a, title = {{Tides}}, doi = {{10.1000/a}}, file = {{Full Text:{named}:application/pdf}}}}"
    (listed,) = read_list("a.bib", entry.encode())
    (tagged,) = read_list(
        "a.ris", f"TY  - RPRT\nTI  - Tides\nL1  - {named.replace(chr(92) + ':', ':')}\nER  - ".encode()
    )

    assert (listed.file, tagged.file) == (file, file)
    assert listed.reference == "10.1000/a"


async def test_duplicates_across_lists_are_one_paper() -> None:
    """By DOI, arXiv id, title and author; nothing is fetched twice, and the entry's own key is taken on."""
    archive = Archive()
    desk = LibraryDesk(Ingestion(memory_library(), Reader().read, now), archive.find, archive.search)
    file = await desk.add_file(LOCAL, "a.pdf", PAPER.encode())
    same = ListedPaper(PaperRecord(title=file.paper.title, authors=file.paper.authors, bibtex="@misc{ours, a = {b}}"))

    first = [await desk.add_listed(LOCAL, listed) for listed in read_list("a.bib", BIBTEX.encode())[:2]]
    again = [await desk.add_listed(LOCAL, listed) for listed in read_list("a.ris", RIS.encode())]
    known = await desk.add_listed(LOCAL, same)

    assert [done.is_new for done in (*first, *again, known)] == [True, True, False, False, False]
    assert archive.asked == ["10.1000/ABC.1", "2401.00007"]
    papers = await desk.library.papers([LOCAL])
    assert len(papers) == 3
    assert assign_keys(papers)[file.paper.id] == "ours"
    assert assign_keys(papers)[first[0].paper.id] == "smith2024"


async def test_the_file_beside_a_list_is_the_paper() -> None:
    """What the list says of it goes before what the file says."""
    archive = Archive()
    desk = LibraryDesk(Ingestion(memory_library(), Reader().read, now), archive.find, archive.search)
    listed = read_list("a.bib", BIBTEX.encode())[0]

    done = await desk.add_listed(LOCAL, listed, PAPER.encode())

    assert archive.asked == []
    assert done.paper.title == "The Moon and the Tides of Brest"
    assert done.paper.published == "2024-03"


async def test_an_entry_that_leads_nowhere_is_told() -> None:
    desk = LibraryDesk(Ingestion(memory_library(), Reader().read, now), Archive().find, Archive().search)

    with pytest.raises(PaperUnreadable) as error:
        await desk.add_listed(LOCAL, read_list("a.bib", BIBTEX.encode())[2])

    assert error.value.user_message.startswith("A book, which has no édition cannot be added:")
