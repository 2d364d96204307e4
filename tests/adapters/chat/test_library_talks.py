"""The library in a chat, on any platform: one message a thing that is said, which ends in words."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from adapters.chat.library import LiveTalks
from adapters.chat.live import LiveAnswers
from adapters.chat.reply import AddressDead
from adapters.durable.queue import InProcessQueue
from adapters.records.deliveries import SqlMessages
from adapters.records.library import SqlConversations
from core.library.desk import read_list
from core.library.ingest import MAX_PAPER_BYTES, FoundPaper, Ingestion
from core.library.paper import PaperViews
from core.library.session import LibraryTalks, SaidToLibrary, Speaker
from core.library.states import Addition, Incoming, State, Words
from core.model.delivery import Address
from core.model.job import JobStatus, Scope
from core.model.ports import JobStore
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from tests.adapters.chat.test_live_answers import PACE, Board, BoardReply, Plain
from tests.adapters.web.test_papers import Painter
from tests.core.cats import written
from tests.core.library.samples import CAUSE, PAPER, TIDES, YEAST, Finder, Reader, desk_of, shelve
from tests.fakes import FakeModel, make_deps, make_job, now
from tests.records import BOX, MemoryTables

CHANNEL = Scope("discord:1", "channel:2")
ADMIN = Speaker(CHANNEL, "discord:2", "7", is_admin=True, key="discord:1")
QUERY = "research What causes the tides of the oceans?"


class PlainLibrary(Plain):
    """Payloads are words."""

    def told(self, asked: str, lines: Sequence[str], *, job_id: str = "") -> str:
        cancel = f" cancel {job_id}" if job_id else ""
        return f"progress: {asked}: {'; '.join(line.strip() for line in lines)}{cancel}"

    def said(self, speaker: Speaker, said: SaidToLibrary) -> str:
        return f"outcome: {said.reply.text}"


@dataclass
class House:
    """A chat's bot: `go` lets the worker begin, which stands still before."""

    talks: LibraryTalks
    researcher: Researcher
    board: Board
    go: asyncio.Event
    jobs: JobStore

    def live(self) -> LiveTalks[str]:
        return LiveTalks(self.talks, PlainLibrary(), platform="discord", pace=PACE)


@pytest.fixture
async def house() -> House:
    deps = make_deps(model=FakeModel({"answer": written(f"{CAUSE} [2401.00001v1, page 2].")}))
    await shelve(deps.library, TIDES, YEAST, shelf=CHANNEL)
    go = asyncio.Event()

    async def run(job_id: str) -> None:
        await go.wait()
        await run_job(job_id, deps, DirectSteps())

    queue = InProcessQueue(run, concurrency=1, limit=10, on_cancelled=run)
    researcher = Researcher(deps, queue)
    desk = desk_of(Ingestion(deps.library, Reader().read, now))
    views = PaperViews(deps.library, Painter().paint)
    talks = LibraryTalks(
        researcher,
        desk,
        SqlConversations(MemoryTables()),
        views,
        now,
        messages=SqlMessages(MemoryTables(), BOX, clock=now),
        rules=None,
    )
    return House(talks, researcher, Board(), go, deps.jobs)


def file(name: str, content: bytes) -> Incoming:
    async def load() -> bytes:
        return content

    return Incoming(name, len(content), load)


async def test_a_research_tells_its_progress_and_then_its_answer_once(house: House) -> None:
    """S000-36, S000-47: in one message, whose address is forgotten when the answer stands in it."""
    house.go.set()

    await house.live().say(ADMIN, QUERY, BoardReply(house.board))

    assert house.board.answers() == house.board.last_words()
    assert "[2401.00001v1, page 2]" in house.board.last_words()[0]
    assert await house.researcher.undelivered("discord") == []


async def test_improving_says_so_and_shows_the_answer_anew(house: House) -> None:
    """S000-39: in the given words, instead of the stages."""
    house.go.set()
    ingestion = replace(house.talks.desk.ingestion, model=FakeModel({}))
    house.talks.desk = replace(house.talks.desk, ingestion=ingestion)
    told: list[str] = []

    async def tell(line: str) -> None:
        told.append(line)

    await house.talks.say(replace(ADMIN, key=""), QUERY, tell)
    researched = len(told)
    said = await house.talks.say(replace(ADMIN, key=""), "improve more on the sun", tell)

    assert told[researched:] == ["✍️  Improving research answer with your feedback..."]
    assert said.reply.title == "📝 Research Results"
    assert said.job.request.feedback == "more on the sun"


async def test_whatever_breaks_one_begins_anew(house: House) -> None:
    """S000-35: also what nobody foresaw is told, and the conversation is back at its beginning."""
    house.go.set()
    live = house.live()
    await live.say(ADMIN, QUERY, BoardReply(house.board))

    class Broken(Finder):
        async def search(self, query, limit):
            raise RuntimeError("a slip of ours")

    house.talks.desk = replace(house.talks.desk, search_elsewhere=Broken().search)
    await live.say(replace(ADMIN, key="discord:2"), "find tides", BoardReply(house.board))
    house.talks.desk = replace(house.talks.desk, search_elsewhere=Finder().search)
    await live.say(replace(ADMIN, key="discord:3"), "status", BoardReply(house.board))

    _, broke, status = house.board.last_words()
    assert broke == "refusal: Something went wrong on our side; please try again."
    assert status == "outcome: - State: initial\n- Papers in the list: none"


async def test_progress_names_the_job_that_can_be_cancelled(house: House) -> None:
    reply = BoardReply(house.board)
    speaking = house.live().say(ADMIN, QUERY, reply)
    await reply.seen.wait()
    (progress,) = house.board.last_words()
    (job,) = await house.researcher.recent(CHANNEL, limit=9)

    house.go.set()
    await speaking

    assert progress.endswith(f"cancel {job.id}")


async def test_an_answer_that_a_bot_did_not_live_to_give_is_given_by_the_next(house: House) -> None:
    """What was said is kept with the job; said again it is the same job, and one message in the end."""
    first, reply = house.live(), BoardReply(house.board)
    first.say(ADMIN, QUERY, reply)
    await reply.seen.wait()
    await first.aclose()
    farewell = house.board.last_words()
    second, ordinary = house.live(), LiveAnswers(house.researcher, PlainLibrary(), platform="discord", pace=PACE)

    async def reopen(address: Address) -> BoardReply:
        assert set(address.data) == {"message"}
        return BoardReply(house.board, message_id=int(str(address.data["message"])))

    left_alone = await ordinary.resume(reopen)
    resumed = await second.resume(reopen)
    house.go.set()
    await second.settle(10)

    assert farewell == ["refusal: I am being restarted; your answer will appear here."]
    assert (left_alone, resumed) == (0, 1)
    assert len(house.board.shown) == 1
    assert "[2401.00001v1, page 2]" in house.board.answers()[0]
    assert len(await house.researcher.recent(CHANNEL, limit=9)) == 1
    assert await house.researcher.undelivered("discord") == []


@pytest.mark.parametrize(("seconds", "pings"), [(29, 0), (31, 1)], ids=["short", "long"])
async def test_who_waited_over_half_a_minute_for_the_library_is_called(house: House, seconds: int, pings: int) -> None:
    """As for any answer: an edit notifies nobody."""
    house.go.set()
    began = now()
    clock = iter([began, began + timedelta(seconds=seconds)])
    live = LiveTalks(house.talks, PlainLibrary(), platform="discord", pace=PACE, now=lambda: next(clock))
    reply = BoardReply(house.board)

    await live.say(ADMIN, QUERY, reply)

    assert reply.pings == pings


@pytest.mark.parametrize(
    ("addition", "typed"),
    [(Addition(), "add to library"), (Addition(("2401.00001",)), "add 2401.00001")],
    ids=["file", "reference"],
)
async def test_what_is_no_research_and_was_cut_short_is_to_be_said_again(
    house: House, addition: Addition, typed: str
) -> None:
    """A killed bot leaves no message that tells of progress for ever: its successor ends it, once, and not before."""
    seen = asyncio.Event()

    async def never() -> bytes:
        seen.set()
        await asyncio.Event().wait()
        return b""

    first, reply = house.live(), BoardReply(house.board)
    first.add(ADMIN, addition, [Incoming("a.pdf", 1, never)], reply)
    await seen.wait()
    await reply.seen.wait()
    await house.board.until("progress: " + typed + ": 📄 Reading a.pdf …")

    async def reopen(address: Address) -> BoardReply:
        return BoardReply(house.board, message_id=int(str(address.data["message"])))

    second = house.live()
    counted = [await first.resume(reopen), await second.resume(reopen), await second.resume(reopen)]
    said = house.board.last_words()
    await first.aclose()

    assert counted == [0, 1, 0]
    assert said == [f"refusal: I was restarted before this was done; please say it again: {typed}"]


async def test_a_word_that_was_answered_leaves_nothing_open(house: House) -> None:
    """Also one whose process was asked to stop: it says so itself."""
    await house.live().say(ADMIN, "list", BoardReply(house.board))

    assert await house.talks.left_open("discord") == []


async def test_a_message_that_is_gone_is_posted_anew(house: House) -> None:
    """An interaction's response dies after a quarter of an hour."""
    await house.live().say(ADMIN, "list", BoardReply(house.board, faults=[AddressDead("gone")]))

    assert house.board.shown[100][-1].startswith("outcome: 1. 2401.00001v1")


async def test_a_failing_platform_costs_no_last_word(house: House) -> None:
    reply = BoardReply(house.board, faults=[RuntimeError("platform"), None])

    await house.live().say(ADMIN, "list", reply)

    assert house.board.last_words()[0].startswith("outcome: 1. 2401.00001v1")


@pytest.mark.parametrize(
    ("files", "references", "said"),
    [
        ([file("2403.00003v1.pdf", PAPER.encode())], (), "✅ Added 2403.00003v1, Tides and the Moon (2 pages)."),
        ([], ("2401.00009v1",), "✅ Added 2401.00009v1, Tides (2 pages)."),
        ([file("empty.pdf", b" ")], (), "empty.pdf cannot be read: it is empty."),
        ([], ("2409.00001",), "2409.00001 cannot be read: arXiv does not know it."),
        ([Incoming("big.pdf", MAX_PAPER_BYTES + 1, file("", b"").load)], (), "big.pdf is larger than 100 MB"),
        ([], (), "Attach a PDF, a Markdown file or a reading list (BibTeX, RIS), or name an arXiv id"),
        (
            [file("a.pdf", b"%PDF-1.7\nAbstract. A."), file("empty.pdf", b" ")],
            ("2401.00009v1",),
            "2 papers added, 1 not readable.",
        ),
    ],
    ids=["file", "reference", "empty", "unknown", "too large", "nothing", "several"],
)
async def test_papers_are_added_with_one_clear_sentence(
    house: House, files: list[Incoming], references: tuple[str, ...], said: str
) -> None:
    await house.live().add(ADMIN, Addition(references), files, BoardReply(house.board))

    assert f"outcome: {said}" in house.board.last_words()[0]


LIST = b"""@misc{moon, title = {The moon over Brest}, author = {Roux, Anne}, doi = {10.1000/moon},
  file = {files/1/m.pdf}}
@misc{tides, title = {Tides}, eprint = {2401.00009v1}}
@misc{lost, title = {A book without an address}}
"""


async def test_a_reading_list_is_added_with_the_files_beside_it(house: House) -> None:
    """A file that the list names is that paper, others are fetched, and what cannot be had is told; progress counts."""
    told: list[str] = []

    async def tell(line: str) -> None:
        told.append(line.strip())

    files = [file("m.pdf", b"%PDF-1.7\nAbstract. The moon."), file("list.bib", LIST)]
    said = await house.talks.add(ADMIN, Addition(), files, tell)
    again = await house.talks.add(ADMIN, Addition(), [file("list.ris", RIS)], tell)

    papers = {paper.id: paper for paper in await house.talks.desk.library.papers([CHANNEL])}
    assert said.reply.text.startswith("2 papers added, 1 not readable.")
    assert "A book without an address cannot be added" in said.reply.text
    assert "[1/3] The moon over Brest" in told
    assert {paper.title for paper in papers.values()} >= {"The moon over Brest", "Tides"}
    assert "is in the library already" in again.reply.text


async def test_files_of_one_name_are_each_added(house: House) -> None:
    """Chats take two files of one name in a message."""
    papers = [file("paper.pdf", b"%PDF-1.7\nAbstract. The moon."), file("paper.pdf", b"%PDF-1.7\nAbstract. Sluices.")]

    lists = [file("list.ris", RIS), file("list.ris", b"")]

    said = await house.talks.add(ADMIN, Addition(), [*lists, *papers], _nobody)

    assert said.reply.text.startswith("2 papers added, 2 not readable.")


RIS = b"TY  - RPRT\nTI  - The moon over Brest\nAU  - Roux, Anne\nDO  - 10.1000/moon\nER  - \n"


class Archive(Finder):
    async def find(self, reference: str) -> FoundPaper:
        return replace(await super().find(reference), content=f"{PAPER} {reference}".encode())


async def test_a_long_list_is_added_a_part_at_a_time(house: House) -> None:
    """What is there already costs nothing, so the same list goes on where it ended."""
    house.talks.desk = replace(house.talks.desk, find_elsewhere=Archive().find)
    entries = "".join(f"@misc{{a{at}, title = {{Tides {at}}}, eprint = {{2401.{at:05}v1}}}}\n" for at in range(10, 70))

    first = await house.talks.add(ADMIN, Addition(), [file("long.bib", entries.encode())], _nobody)
    second = await house.talks.add(ADMIN, Addition(), [file("long.bib", entries.encode())], _nobody)

    assert first.reply.text.startswith("50 papers added.")
    assert "10 papers of the list are still to come; send it once more to go on." in first.reply.text
    assert second.reply.text.startswith("10 papers added, 50 there already.")


async def test_many_named_papers_are_added_and_none_is_dropped_in_silence(house: House) -> None:
    """Of more than ten the others were left out without a word."""
    house.talks.desk = replace(house.talks.desk, find_elsewhere=Archive().find)
    ids = [f"2401.{at:05}v1" for at in range(10, 62)]

    order = await house.talks.hear(CHANNEL, "t", f"add {' '.join(ids)} to the library")
    said = await house.talks.add(ADMIN, order, [], _nobody)

    assert order == Addition(tuple(ids))
    assert said.reply.text.startswith("50 papers added.")
    assert "2 papers of the list are still to come; send it once more to go on." in said.reply.text


@pytest.mark.parametrize(("line", "name"), [("export", "papers.bib"), ("export ris", "papers.ris")])
async def test_the_papers_are_handed_out_as_a_reading_list(house: House, line: str, name: str) -> None:
    """What is read in again is the same papers."""
    said = await house.talks.say(replace(ADMIN, is_admin=False), line, _nobody)

    assert said.reply.file
    assert said.reply.file[0] == name
    listed = read_list(name, said.reply.file[1].encode())
    assert {one.record.title for one in listed} == {TIDES.title, YEAST.title}
    assert (
        await house.talks.say(ADMIN, "export docx", _nobody)
    ).reply.text == "Say which: `export bib` or `export ris`."


async def test_what_was_added_is_the_list_where_nobody_talked_yet(house: House) -> None:
    """So `open 1` and `summary 1` mean it; a conversation that goes on keeps its own list."""
    paper = [file("2403.00003v1.pdf", PAPER.encode())]

    begun = await house.talks.add(ADMIN, Addition(), paper, _nobody)
    heard = await house.talks.hear(CHANNEL, ADMIN.thread, "open 1")
    listed = await house.talks.say(ADMIN, "list", _nobody)
    kept = await house.talks.add(ADMIN, Addition(("2401.00009v1",)), [], _nobody)

    assert (begun.after.state, begun.after.last_query_set) == (State.SELECT_VIEW, ("2403.00003v1",))
    assert begun.added == ("2403.00003v1",)
    assert heard == Words("open 1")
    assert kept.after.last_query_set == listed.after.last_query_set


async def test_only_admins_add(house: House) -> None:
    """S000-50: a member's file is not even fetched."""

    async def never() -> bytes:
        raise AssertionError("fetched")

    said = await house.talks.add(replace(ADMIN, is_admin=False), Addition(), [Incoming("a.pdf", 1, never)], _nobody)

    assert said.reply.text == "Only admins may change the library."


@pytest.mark.parametrize(("mode", "is_for_it"), [("library", True), ("quick", False)])
async def test_a_word_that_every_answer_knows_is_about_the_last_one(
    house: House, mode: str, *, is_for_it: bool
) -> None:
    """`improve` under an ordinary answer improves that, although the library was spoken to before."""
    await house.talks.say(ADMIN, "list", _nobody)
    job = make_job("Why?", id="job_last", scope=CHANNEL, modes=(mode,), thread=ADMIN.thread)
    await house.jobs.save(replace(job, status=JobStatus.COMPLETED, created_at=now() - timedelta(minutes=1)))

    for text in ("improve it with dates", "help", "history"):
        heard = await house.talks.hear(CHANNEL, ADMIN.thread, text)
        assert (heard is not None) is is_for_it, text
    assert await house.talks.hear(CHANNEL, ADMIN.thread, "open 1") == Words("open 1")
    assert await house.talks.hear(replace(CHANNEL, visibility="channel:3"), ADMIN.thread, "list the causes") is None


async def test_a_button_does_nothing_to_what_came_later(house: House) -> None:
    """Its tag names what it stands under; a restart changes nothing about that."""
    house.go.set()
    found = await house.talks.say(ADMIN, QUERY, _nobody)
    saved = await house.talks.say(ADMIN, "save", _nobody, about=found.after.tag)
    await house.talks.say(ADMIN, "sem-search the moon and the tides", _nobody)
    late = await house.talks.say(ADMIN, "save", _nobody, about=found.after.tag)

    assert saved.reply.file is not None
    assert late.reply.file is None
    assert "The conversation has moved on since" in late.reply.text


async def test_a_page_is_shown_with_the_sentence_that_is_cited(house: House) -> None:
    """The picture marks it, and it can be told beside the picture."""
    house.go.set()
    await house.talks.say(ADMIN, QUERY, _nobody)

    opened = await house.talks.say(ADMIN, "open 1", _nobody)
    other = await house.talks.say(ADMIN, "open 1 page 3", _nobody)

    assert (opened.picture.decode(), opened.quote) == (f"%PDF 2 {CAUSE}.", f"{CAUSE}.")
    assert (other.picture.decode(), other.quote) == ("%PDF 3 ", "")


async def _nobody(line: str) -> None:
    pass
