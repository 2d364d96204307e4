"""What every `Library` does: papers on shelves that only their own people look into, found by meaning and by words."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from adapters.records.archive import SqlArchive
from adapters.records.library import SqlConversations, SqlLibrary
from adapters.records.sql import place_token
from adapters.records.sqlite import Database
from core.library.paper import Index, LibraryStore, Paper, PaperChunk, SearchResult, StoredChunk
from core.library.states import Conversation, Conversations, State
from core.model.codec import encode
from core.model.job import Scope
from core.tenancy.forgetting import Whose
from core.text.chunking import SectionType
from tests.adapters.records.samples import CHANNEL, NOON, older_file, version_before

AT = datetime(2026, 3, 1, tzinfo=UTC)
OURS = Scope("slack:T1", "workspace")
OUR_CHANNEL = Scope("slack:T1", "channel:C1")
THEIRS = Scope("slack:T2", "workspace")

TIDES = "Tides are caused by the gravity of the moon acting on the oceans."
YEAST = "Yeast ferments sugar to alcohol when there is no oxygen."
CLOCK = "The clock gene regulates the daily rhythm of flies."


@pytest.fixture
def library(tables, tmp_path) -> LibraryStore:
    return SqlLibrary(tables, tmp_path)


def paper(number: int, title: str = "On nature") -> Paper:
    return Paper(
        f"2401.{number:05}v1", f"{title} {number}", f"hash-{number}", AT, authors=("Smith", "Doe"), labels=("1", "2")
    )


def unit(*numbers: float) -> np.ndarray:
    vector = np.array(numbers, dtype=np.float32)
    return vector / np.linalg.norm(vector)


async def put(library: LibraryStore, shelf: Scope, entry: Paper, *texts: str, vectors=(), index=Index.CONTENT) -> None:
    whole = "\f".join(texts)
    chunks = [
        PaperChunk(
            entry, at, text, whole.index(text), whole.index(text) + len(text), SectionType.RESULTS, at + 1, "Results",
            vectors[at] if vectors else None,
        )
        for at, text in enumerate(texts)
    ]  # fmt: skip
    await library.put(shelf, entry, whole, {index: chunks}, b"%PDF-1.7 of " + entry.id.encode())


def texts_of(found: list[SearchResult]) -> list[str]:
    return [entry.chunk.chunk_text for entry in found]


async def test_a_paper_comes_back_as_it_was_put(library):
    """S001-08: with its text, its file, and chunks that reach it as `chunk.paper`."""
    entry = paper(1)

    await put(library, OURS, entry, TIDES, YEAST)

    assert await library.papers([OURS]) == [entry]
    assert await library.text([OURS], entry.id) == f"{TIDES}\f{YEAST}"
    assert await library.file([OURS], entry.id) == b"%PDF-1.7 of 2401.00001v1"
    (found,) = await library.matching([OURS], Index.CONTENT, "Which sugar does yeast ferment?", limit=1)
    assert found.chunk == PaperChunk(
        entry, 1, YEAST, len(TIDES) + 1, len(TIDES + YEAST) + 1, SectionType.RESULTS, 2, "Results"
    )
    assert found.score == 1.0


async def test_put_again_replaces_and_remove_removes(library):
    """An improved reading takes the place of the old one, chunks and all; a removed paper is nowhere."""
    await put(library, OURS, paper(1), TIDES, YEAST, vectors=[unit(1, 0), unit(0, 1)])
    await put(library, OURS, paper(2), CLOCK, vectors=[unit(1, 1)])
    assert len(await library.nearest([OURS], Index.CONTENT, unit(1, 0), limit=9)) == 3

    await put(library, OURS, paper(1), CLOCK, vectors=[unit(1, 0)])
    was_there = await library.remove(OURS, paper(2).id)

    assert was_there
    assert not await library.remove(OURS, paper(2).id)
    assert await library.papers([OURS]) == [paper(1)]
    assert texts_of(await library.nearest([OURS], Index.CONTENT, unit(0, 1), limit=9)) == [CLOCK]
    assert await library.matching([OURS], Index.CONTENT, "yeast and tides", limit=9) == []
    assert await library.text([OURS], paper(2).id) == ""


async def test_meaning_is_found_by_cosine_best_first(library):
    """Vectors decide, over everything or among named papers."""
    await put(library, OURS, paper(1), TIDES, vectors=[unit(1, 0, 0)])
    await put(library, OURS, paper(2), YEAST, vectors=[unit(1, 1, 0)])
    await put(library, OURS, paper(3), CLOCK, vectors=[unit(0, 0, 1)])

    everywhere = await library.nearest([OURS], Index.CONTENT, unit(1, 0, 0), limit=2)
    among = await library.nearest([OURS], Index.CONTENT, unit(1, 0, 0), limit=2, papers=[paper(2).id, paper(3).id])

    assert texts_of(everywhere) == [TIDES, YEAST]
    assert [entry.score for entry in everywhere] == pytest.approx([1.0, 0.5**0.5], abs=1e-6)
    assert texts_of(among) == [YEAST, CLOCK]
    assert everywhere[0].chunk.embedding == pytest.approx(unit(1, 0, 0))


async def test_words_are_found_best_first_also_among_named_papers(library):
    """S000-08: what is searched is filtered by paper."""
    await put(library, OURS, paper(1), TIDES)
    await put(library, OURS, paper(2), YEAST)

    assert texts_of(await library.matching([OURS], Index.CONTENT, "the moon's gravity", limit=5)) == [TIDES]
    assert await library.matching([OURS], Index.CONTENT, "the moon's gravity", limit=5, papers=[paper(2).id]) == []
    assert await library.matching([OURS], Index.CONTENT, "?!", limit=5) == []


async def test_indexes_are_apart(library):
    """S000-03: a search of summaries sees no full text."""
    await put(library, OURS, paper(1), TIDES, vectors=[unit(1, 0)], index=Index.SUMMARY)

    assert await library.matching([OURS], Index.CONTENT, "tides", limit=5) == []
    assert await library.nearest([OURS], Index.CONTENT, unit(1, 0), limit=5) == []
    assert texts_of(await library.nearest([OURS], Index.SUMMARY, unit(1, 0), limit=5)) == [TIDES]


async def test_nobody_looks_into_other_peoples_shelves(library):
    """A channel sees its own shelf and its workspace's; another workspace and other channels see neither."""
    await put(library, OURS, paper(1), TIDES, vectors=[unit(1, 0)])
    await put(library, OUR_CHANNEL, paper(2), YEAST, vectors=[unit(1, 0)])
    await put(library, THEIRS, paper(3), CLOCK, vectors=[unit(1, 0)])

    for shelves, expected in (([OUR_CHANNEL, OURS], {1, 2}), ([OURS], {1}), ([THEIRS], {3}), ([], set())):
        ids = {paper(number).id for number in expected}
        assert {entry.id for entry in await library.papers(shelves)} == ids
        near = await library.nearest(shelves, Index.CONTENT, unit(1, 0), limit=9)
        assert {entry.chunk.paper.id for entry in near} == ids
        words = await library.matching(shelves, Index.CONTENT, "tides yeast clock", limit=9)
        assert {entry.chunk.paper.id for entry in words} == ids
        assert bool(await library.text(shelves, paper(3).id)) is (3 in expected)
        assert bool(await library.file(shelves, paper(2).id)) is (2 in expected)


async def test_of_a_paper_on_two_shelves_the_first_counts(library):
    """A channel's own reading hides the workspace's: text, chunks and metadata are of one and the same."""
    await put(library, OURS, replace(paper(1), title="Of the workspace"), TIDES, vectors=[unit(1, 0)])
    await put(library, OUR_CHANNEL, replace(paper(1), title="Of the channel"), YEAST, vectors=[unit(1, 0)])

    for shelves, title, text in (
        ([OUR_CHANNEL, OURS], "Of the channel", YEAST),
        ([OURS, OUR_CHANNEL], "Of the workspace", TIDES),
    ):
        assert [entry.title for entry in await library.papers(shelves)] == [title]
        assert await library.text(shelves, paper(1).id) == text
        near = await library.nearest(shelves, Index.CONTENT, unit(1, 0), limit=9)
        words = await library.matching(shelves, Index.CONTENT, "tides yeast", limit=9)
        assert [(entry.chunk.paper.title, entry.chunk.chunk_text) for entry in near] == [(title, text)]
        assert [(entry.chunk.paper.title, entry.chunk.chunk_text) for entry in words] == [(title, text)]


async def test_a_mirror_of_which_most_is_gone_starts_over(library):
    """What was removed is never found, however much of a shelf it was, and what comes later is."""
    for number in range(1, 6):
        await put(library, OURS, paper(number), f"Text {number}.", vectors=[unit(1, number)])
    assert len(await library.nearest([OURS], Index.CONTENT, unit(1, 0), limit=9)) == 5

    for number in range(1, 5):
        await library.remove(OURS, paper(number).id)
    left = await library.nearest([OURS], Index.CONTENT, unit(1, 0), limit=9)
    await put(library, OURS, paper(6), "Text 6.", vectors=[unit(1, 0)])

    assert texts_of(left) == ["Text 5."]
    assert texts_of(await library.nearest([OURS], Index.CONTENT, unit(1, 0), limit=9)) == ["Text 6.", "Text 5."]


@pytest.mark.parametrize("way", ["forgotten", "removed"])
async def test_nothing_of_a_paper_is_left_in_the_files(tmp_path, way):
    """Forgetting a workspace takes papers, words and vectors out of the file; removing a paper takes its words."""
    database = await Database.open(tmp_path)
    library = SqlLibrary(database, tmp_path)
    secret = "zanzibarlantern of the sea"
    vector = unit(0.123, 0.456, 0.789)
    await put(library, OURS, replace(paper(1), notes=secret), secret, vectors=[vector])
    await put(library, THEIRS, paper(2), TIDES, vectors=[unit(1, 0, 0)])
    await library.nearest([OURS], Index.CONTENT, vector, limit=1)

    if way == "forgotten":
        await SqlArchive(database).erase(Whose(tenant=OURS.tenant), [])
    else:
        await library.remove(OURS, paper(1).id)
    left = await library.papers([OURS])
    found = await library.nearest([OURS], Index.CONTENT, vector, limit=9)
    theirs = await library.matching([THEIRS], Index.CONTENT, "tides", limit=1)
    await database.write(lambda sql: sql.execute("SELECT 1"))
    await database.read(lambda sql: sql.rows("PRAGMA wal_checkpoint(TRUNCATE)"))
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    await database.aclose()

    assert (left, found) == ([], [])
    assert texts_of(theirs) == [TIDES]
    assert b"zanzibarlantern" not in kept
    assert b"zanzibar" not in kept
    assert vector.tobytes() not in kept


async def test_papers_of_an_earlier_gorkd_know_their_works(tmp_path):
    """Two versions that stood there are one work; a name that merely ends like one is its own."""
    works = {
        "2401.00001v1": "2401.00001",
        "2401.00001v12": "2401.00001",
        "2402.00002": "2402.00002",
        "hep-th/9901001v2": "hep-th/9901001",
        "smith2024rev1": "smith2024rev1",
    }
    with older_file(tmp_path, version_before("papers_by_work")) as connection:
        for name in works:
            row = (OURS.tenant, OURS.visibility, name, "hash", encode(replace(paper(1), id=name)), TIDES, b"")
            connection.execute("INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    database = await Database.open(tmp_path)
    library = SqlLibrary(database, tmp_path)
    kept = dict(await database.rows("SELECT id, work FROM papers"))
    found = [one.id for one in await library.versions([OURS], ["2401.00001v12"])]
    papers = await library.papers([OURS])
    await database.aclose()

    assert kept == works == {one.id: one.work_key for one in papers}
    assert found == ["2401.00001v1", "2401.00001v12"]


async def test_papers_of_an_earlier_gorkd_are_still_found(tmp_path):
    """Words that stood in one index are found in the index of their kind, and leave with their paper."""
    entry, place = paper(1), (OURS.tenant, OURS.visibility, paper(1).id)
    with older_file(tmp_path, version_before("summary_words")) as connection:
        connection.execute(
            "INSERT INTO papers VALUES (?, ?, ?, ?, ?, ?, ?)", (*place, "hash", encode(entry), TIDES, b"")
        )
        for number, (kind, text) in enumerate((("summary", YEAST), ("content", TIDES)), start=1):
            chunk = encode(StoredChunk(0, text, 0, len(text), SectionType.RESULTS, 1, ""))
            connection.execute(
                "INSERT INTO paper_chunks VALUES (?, ?, ?, ?, ?, ?, NULL)", (number, *place, kind, chunk)
            )
            tokens = f"{place_token(*place[:2], kind)} {place_token(*place[:2], kind, place[2])}"
            connection.execute("INSERT INTO paper_words (rowid, place, text) VALUES (?, ?, ?)", (number, tokens, text))

    database = await Database.open(tmp_path)
    library = SqlLibrary(database, tmp_path)
    found = {index: texts_of(await library.matching([OURS], index, "tides or yeast", limit=9)) for index in Index}
    among = await library.matching([OURS], Index.CONTENT, "tides", limit=9, papers=[entry.id])
    await library.remove(OURS, entry.id)
    left = [await library.matching([OURS], index, "tides or yeast", limit=9) for index in Index]
    await database.aclose()

    assert found == {Index.SUMMARY: [YEAST], Index.CONTENT: [TIDES]}
    assert texts_of(among) == [TIDES]
    assert left == [[], []]


SHELVES = [OURS, OUR_CHANNEL, THEIRS, Scope("slack:T2", "channel:C1"), Scope("discord:T1", "workspace")]


async def test_whatever_happens_a_shelf_shows_its_own_papers_alone(library):
    """Puts and removals by chance, on five places with the same papers: every search sees exactly what is there."""
    rng = random.Random(7)
    there: dict[Scope, dict[str, str]] = {shelf: {} for shelf in SHELVES}
    for step in range(60):
        shelf, entry = rng.choice(SHELVES), paper(rng.randrange(4))
        if rng.random() < 0.35:
            was_there = await library.remove(shelf, entry.id)
            assert was_there == (there[shelf].pop(entry.id, None) is not None)
        else:
            text = f"common words of step{step}"
            await put(library, shelf, entry, text, vectors=[unit(1, step)])
            there[shelf][entry.id] = text
        asked = rng.choice(SHELVES)

        listed = [entry.id for entry in await library.papers([asked])]
        near = texts_of(await library.nearest([asked], Index.CONTENT, unit(1, 1), limit=99))
        words = texts_of(await library.matching([asked], Index.CONTENT, "common", limit=99))

        assert listed == sorted(there[asked])
        assert sorted(near) == sorted(words) == sorted(there[asked].values())


SHOWN = Conversation(
    State.RESEARCH, ("2401.00001v1",), draft="Tides [2401.00001v1, page 2].", original_query="tides",
    history=("research tides",), job_id="job_1",
)  # fmt: skip


@pytest.fixture
def conversations(tables) -> Conversations:
    return SqlConversations(tables)


@pytest.fixture
def kept(tables):
    """A store and the archive that forgets for it."""
    return SqlConversations(tables), SqlArchive(tables)


async def test_a_thread_keeps_its_conversation(conversations):
    """S000-50: where it stands, its list, its draft and its question outlive the process; the last one counts."""
    await conversations.put(CHANNEL, "discord:7", Conversation(), asker="9", at=NOON)

    await conversations.put(CHANNEL, "discord:7", SHOWN, asker="9", at=NOON)

    assert await conversations.get(CHANNEL, "discord:7") == SHOWN
    assert await conversations.get(CHANNEL, "discord:8") is None
    assert await conversations.get(Scope("discord:2", "channel:2"), "discord:7") is None


@pytest.mark.parametrize(
    ("whose", "job_ids"),
    [
        pytest.param(Whose(job_id="job_1"), ["job_1"], id="the job whose answer it shows"),
        pytest.param(Whose(user_id="9"), [], id="whoever spoke last"),
        pytest.param(Whose(user_id="10", tenant=CHANNEL.tenant), [], id="whoever spoke before"),
        pytest.param(Whose(tenant=CHANNEL.tenant), [], id="the workspace"),
    ],
)
async def test_a_conversation_is_forgotten_with(kept, whose, job_ids):
    """What somebody asked goes with the job, the person and the workspace it belongs to, and nobody else's does."""
    conversations, archive = kept
    for speaker in ("9", "10", "10", "9"):
        await conversations.put(CHANNEL, "discord:7", SHOWN, asker=speaker, at=NOON)
    other = Scope("discord:3", "workspace")
    await conversations.put(other, "discord:7", Conversation(draft="theirs"), asker="109", at=NOON)

    await archive.erase(whose, job_ids)

    assert await conversations.get(CHANNEL, "discord:7") is None
    assert await conversations.get(other, "discord:7") is not None


async def test_an_old_conversation_goes_with_old_answers(kept):
    """Retention counts for what was talked about as it does for answers."""
    conversations, archive = kept
    await conversations.put(CHANNEL, "discord:7", SHOWN, asker="9", at=NOON)
    await conversations.put(CHANNEL, "discord:8", SHOWN, asker="9", at=NOON + timedelta(days=2))

    await archive.expire(answers_before=NOON + timedelta(days=1), traces_before=NOON)

    assert await conversations.get(CHANNEL, "discord:7") is None
    assert await conversations.get(CHANNEL, "discord:8") == SHOWN
