"""Local files: found by their words, kept up to date, never more than the folder."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.search.files import MAX_FILE_BYTES, FileIndex, FileSearch, parse_paths
from core.model.errors import ProviderUnavailable
from core.model.job import LOCAL, Scope
from core.model.source import SearchFilters, SearchHit, SearchQuery, SourceKind
from tests.shared_data import shared_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "library"
    made.mkdir()
    return made


@pytest.fixture
async def files(folder: Path, tmp_path: Path) -> AsyncIterator[FileSearch]:
    searched = FileSearch([folder], tmp_path / "data" / "files.db")
    yield searched
    await searched.aclose()


async def ask(searched: FileSearch, question: str, *, limit: int = 5) -> list[SearchHit]:
    return list(await searched.search(SearchQuery(question), limit=limit, scope=LOCAL))


def make_index(folder: Path) -> FileIndex:
    """One that looks at the disk before every search."""
    return FileIndex([folder], folder.parent / "files.db", refresh_s=0)


@pytest.fixture
def index(folder: Path) -> Iterator[FileIndex]:
    made = make_index(folder)
    yield made
    made.close()


async def test_a_file_is_one_hit_with_its_whole_text(files: FileSearch, folder: Path) -> None:
    """Markdown stays as it is but for front matter; the title is the first heading."""
    body = "# How tides work\n\nThe moon raises tides.\n\n```sh\n# not a heading\n```\n\nTides, **tides**, tides."
    (folder / "a b.md").write_text(f"---\ntitle: X\n---\n{body}\n", encoding="utf-8")

    hits = await ask(files, "What raises the tides?")

    assert hits == [
        SearchHit(
            provider="files",
            url=(folder / "a b.md").as_uri(),
            title="How tides work",
            text=body,
            is_complete=True,
            kind=SourceKind.LOCAL,
        )
    ]
    assert "%20" in hits[0].url


async def test_word_forms_meet(files: FileSearch, folder: Path) -> None:
    """Porter stemming: the question need not use the file's very form."""
    (folder / "x.txt").write_text("Scoring is computed from verified claims.", encoding="utf-8")

    hits = await ask(files, "How are scores computing verification?")

    assert [hit.title for hit in hits] == ["x"]


async def test_the_file_about_it_comes_before_the_file_that_mentions_it(files: FileSearch, folder: Path) -> None:
    """Ranked by best passages: a long file is not drowned by its length."""
    (folder / "mention.md").write_text("# Boats\n\n" + "Boats float. " * 30 + "Tides matter too.", encoding="utf-8")
    filler = "\n\n".join(f"Paragraph {n} is about harbours, ropes and sails." * 5 for n in range(200))
    about = "Tides are raised by the moon; spring tides and neap tides alternate."
    (folder / "about.md").write_text(f"# Seas\n\n{filler}\n\n{about}\n\n{filler}", encoding="utf-8")
    (folder / "other.md").write_text("# Bread\n\nFlour and water.", encoding="utf-8")

    hits = await ask(files, "Which tides does the moon raise: spring tides or neap tides?")

    assert [hit.title for hit in hits] == ["Seas", "Boats"]


async def test_only_the_tenants_it_serves_get_hits(folder: Path, tmp_path: Path) -> None:
    """A guild does not see the operator's files."""
    (folder / "x.md").write_text("tides", encoding="utf-8")
    mine = FileSearch([folder], tmp_path / "a.db")
    theirs = FileSearch([folder], tmp_path / "b.db", tenants=frozenset({"slack:T1"}))
    scopes = [LOCAL, Scope("slack:T1", "workspace"), Scope("discord:user:7", "user:7")]

    counts = [
        [len(await searched.search(SearchQuery("tides"), limit=1, scope=scope)) for scope in scopes]
        for searched in (mine, theirs)
    ]

    await mine.aclose()
    await theirs.aclose()
    assert counts == [[1, 0, 0], [0, 1, 0]]


async def test_a_query_for_a_web_site_finds_no_file(files: FileSearch, folder: Path) -> None:
    """`include_domains` asks for pages of a site."""
    (folder / "x.md").write_text("tides", encoding="utf-8")
    query = SearchQuery("tides", SearchFilters(include_domains=("python.org",)))

    hits = await files.search(query, limit=3, scope=LOCAL)

    assert list(hits) == []


def test_the_index_follows_the_disk(index: FileIndex, folder: Path) -> None:
    """New, changed, renamed and deleted files are noticed at the next search."""
    found = []

    for change in (
        lambda: (folder / "a.md").write_text("tides", encoding="utf-8"),
        lambda: (folder / "a.md").write_text("bread only", encoding="utf-8"),
        lambda: (folder / "b.md").write_text("tides", encoding="utf-8"),
        lambda: (folder / "b.md").rename(folder / "c.md"),
        (folder / "c.md").unlink,
    ):
        change()
        found.append([file.path.name for file in index.search(["tides"], 5)])

    assert found == [["a.md"], [], ["b.md"], ["c.md"], []]


def test_what_did_not_change_is_not_read_again(index: FileIndex, folder: Path) -> None:
    """Time of change and size are looked at first: a file that became unreadable meanwhile is still found."""
    path = folder / "a.md"
    path.write_text("tides", encoding="utf-8")
    index.search(["tides"], 5)
    stat = path.stat()
    path.write_text("bread", encoding="utf-8")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    found = index.search(["tides"], 5)

    assert [file.text for file in found] == ["tides"]


def test_a_big_folder_is_indexed_over_several_searches(folder: Path) -> None:
    """A question does not wait for all of it; what is indexed so far is found, and nothing is forgotten."""
    for n in range(10):
        (folder / f"{n}.md").write_text(f"tides {n}", encoding="utf-8")
    ticks = iter(range(10_000))
    index = FileIndex([folder], folder.parent / "f.db", refresh_s=0, indexing_s=4, clock=lambda: float(next(ticks)))

    counts = [len(index.search(["tides"], 20)) for _ in range(5)]

    index.close()
    assert 0 < counts[0] < 10
    assert counts == sorted(counts)
    assert counts[-1] == 10


def test_the_index_survives_a_restart(folder: Path) -> None:
    """What one process has indexed the next one finds, even when the text cannot be read any more."""
    (folder / "a.md").write_text("tides", encoding="utf-8")
    first = make_index(folder)
    first.search(["tides"], 5)
    first.close()

    rows = sqlite3.connect(folder.parent / "files.db").execute("select path, size from files").fetchall()

    second = make_index(folder)
    assert rows == [(str(folder / "a.md"), 5)]
    assert [file.title for file in second.search(["tides"], 5)] == ["a"]
    second.close()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b"no database at all " * 100), id="not a database"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:5000]), id="cut off"),
        pytest.param(
            lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 9000 + path.read_bytes()[13096:]),
            id="overwritten",
        ),
        pytest.param(lambda path: _run(path, "drop table passages"), id="a table is missing"),
        pytest.param(lambda path: _run(path, "pragma user_version = 99"), id="another layout"),
    ],
)
def test_a_damaged_index_is_built_anew(damage: object, folder: Path) -> None:
    """It holds nothing that the files do not."""
    (folder / "a.md").write_text("tides", encoding="utf-8")
    first = make_index(folder)
    first.search(["tides"], 5)
    first.close()
    assert callable(damage)
    damage(folder.parent / "files.db")

    second = make_index(folder)
    found = second.search(["tides"], 5)

    second.close()
    assert [file.title for file in found] == ["a"]


def _run(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()


async def test_an_index_that_cannot_be_kept_is_said_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    """The data folder is a file: the operator reads which path, and the job goes on without files."""
    (tmp_path / "data").write_text("in the way", encoding="utf-8")
    searched = FileSearch([folder], tmp_path / "data" / "files.db")

    with pytest.raises(ProviderUnavailable) as caught:
        await ask(searched, "tides")

    assert "GORKD_DATA" in caught.value.operator_message
    assert str(tmp_path / "data") in str(caught.value)


def test_two_folders_may_share_an_index(tmp_path: Path) -> None:
    """Two processes with other folders find their own files and leave the other's alone."""
    for name in ("one", "one more"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text("tides", encoding="utf-8")
    one = FileIndex([tmp_path / "one"], tmp_path / "files.db")
    other = FileIndex([tmp_path / "one more"], tmp_path / "files.db")

    found = [[file.path.parent.name for file in index.search(["tides"], 5)] for index in (one, other, one)]

    one.close()
    other.close()
    assert found == [["one"], ["one more"], ["one"]]


async def test_what_must_not_be_read_is_not(files: FileSearch, folder: Path, tmp_path: Path) -> None:
    """Hidden files, links that lead out, binaries, other kinds, and anything too large."""
    outside = tmp_path / "secret.md"
    outside.write_text("tides secret", encoding="utf-8")
    (folder / "link.md").symlink_to(outside)
    (folder / "linked").symlink_to(tmp_path, target_is_directory=True)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "x.md").write_text("tides hidden", encoding="utf-8")
    (folder / ".env.md").write_text("tides hidden file", encoding="utf-8")
    (folder / "to_hidden.md").symlink_to(folder / ".env.md")
    (folder / "binary.txt").write_bytes(b"tides\0\0\0")
    (folder / "program.py").write_text("tides = 1", encoding="utf-8")
    (folder / "huge.md").write_bytes(b"tides " * (MAX_FILE_BYTES // 6 + 1))
    (folder / "fifo.md").unlink(missing_ok=True)
    os.mkfifo(folder / "fifo.md")
    (folder / "good.md").write_text("tides", encoding="utf-8")
    (folder / "again.md").symlink_to(folder / "good.md")

    hits = await ask(files, "tides", limit=20)

    assert [hit.url for hit in hits] == [(folder / "good.md").as_uri()]


def test_names_of_all_sorts(index: FileIndex, folder: Path) -> None:
    """A line break in a name stays out of the title; a name that is not text is left out."""
    (folder / "moon\nand tides.txt").write_text("tides", encoding="utf-8")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.txt")).write_text("tides", encoding="utf-8")

    found = index.search(["tides"], 5)

    assert [file.title for file in found] == ["moon and tides"]


async def test_a_file_that_cannot_be_read_is_reported_once_and_left_out(
    files: FileSearch, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are found as if it were not there."""
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4\nnot really")
    (folder / "false.pdf").write_bytes(b"<html>tides</html>")
    (folder / "good.md").write_text("tides", encoding="utf-8")
    caplog.set_level(logging.WARNING)

    hits = await ask(files, "tides")

    assert [hit.title for hit in hits] == ["good"]
    assert {record.getMessage().split("/")[-1].split(":")[0].split()[0] for record in caplog.records} == {
        "broken.pdf",
        "false.pdf",
    }
    assert len(caplog.records) == 2


async def test_real_pages_are_found_by_their_titles(tmp_path: Path) -> None:
    """60 real pages: each is among the first three for its own title."""
    pages = shared_data("pages")
    FileIndex([pages], tmp_path / "files.db", indexing_s=50).search(["python"], 1)  # all of them, on any machine
    searched = FileSearch([pages], tmp_path / "files.db")
    everything = {hit.url: hit.title for hit in await ask(searched, "python pep", limit=100)}

    ranks = {
        url: [hit.url for hit in await ask(searched, title.split("|")[0], limit=3)] for url, title in everything.items()
    }

    await searched.aclose()
    assert len(everything) >= 50
    assert sum(url in found for url, found in ranks.items()) >= 0.95 * len(everything)


@pytest.fixture
def moon(index: FileIndex, folder: Path) -> FileIndex:
    (folder / "a.md").write_text("tides and moon", encoding="utf-8")
    return index


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5))
def test_any_words_are_a_query(moon: FileIndex, words: list[str]) -> None:
    """FTS5's own syntax never shows through, whatever the words are."""
    found = moon.search([word.replace("\0", "").encode("utf-8", "ignore").decode() for word in words], 3)

    assert len(found) <= 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/a,/b", ["/a", "/b"]),
        (f"/a{os.pathsep}/b c", ["/a", "/b c"]),
        (" , ", []),
        ("", []),
    ],
    ids=["commas", "path separator", "blank", "empty"],
)
def test_paths_are_parted_by_commas_or_the_systems_separator(text: str, expected: list[str]) -> None:
    """`GORKD_FILES`."""
    assert parse_paths(text) == [Path(path) for path in expected]


async def test_nobody_else_reads_the_index(files: FileSearch, folder: Path, tmp_path: Path) -> None:
    """It holds the whole text of the files, whatever mode the shell leaves."""
    (folder / "a.md").write_text("# Tides\n\nThe moon raises tides.", encoding="utf-8")
    before = os.umask(0o022)
    try:
        await ask(files, "What raises the tides?")
    finally:
        os.umask(before)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    assert modes["files.db"] == 0o600
    assert set(modes.values()) == {0o600}
