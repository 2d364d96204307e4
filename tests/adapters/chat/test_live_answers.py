"""The message that lives: exactly one last word, whatever fails, and across restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.chat.connecting import keep_resuming
from adapters.chat.live import ChatTurns, LiveAnswers, turn_of
from adapters.chat.reply import AddressDead, EditPace, FilesRefused
from adapters.records.deliveries import SqlStandingChecks
from adapters.records.jobs import SqlEventLog, SqlJobStore
from core.model.answer import AnswerFile, JobResult
from core.model.delivery import Address
from core.model.errors import StoreError
from core.model.job import Event, JobStatus, Json, ResearchJob, ResearchRequest, Scope
from core.model.source import Source
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.presentation.snapshot import Snapshot
from core.tenancy.admission import BudgetSpent
from tests.fakes import NOW, answered_in, delivered_in, make_deps
from tests.records import MemoryTables

CHANNEL = Scope("discord:1", "channel:2")
REQUEST = ResearchRequest("How tall is the Eddystone lighthouse?", CHANNEL, asker="7")
PACE = EditPace(
    edit_every_s=0.005, refresh_every_s=0.01, edit_timeout_s=1.0, farewell_s=1.0, backoff_s=(0, 0, 0), patience_s=()
)


class Plain:
    """Payloads are words."""

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> str:
        return " ".join([f"progress: {snapshot.message}", *snapshot.sentences.values()])

    def outcome(
        self,
        job: ResearchJob,
        result: JobResult | None,
        sources: Sequence[Source],
        *,
        first_asker: str = "",
        unattached: Sequence[AnswerFile] = (),
        explains: bool = False,
    ) -> str:
        missing = f" without {', '.join(file.name for file in unattached)}" if unattached else ""
        return f"outcome: {job.status.value}{missing}"

    def refusal(self, sentence: str) -> str:
        return f"refusal: {sentence}"


@dataclass
class Board:
    """Where messages are shown, by id."""

    shown: dict[int, list[str]] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, message_id: int, payload: str) -> None:
        self.shown.setdefault(message_id, []).append(payload)
        self._changed.set()

    async def until(self, words: str) -> None:
        """Wait until some message says `words`."""
        async with asyncio.timeout(10):
            while words not in self.last_words():
                self._changed.clear()
                await self._changed.wait()

    async def until_part(self, words: str) -> None:
        """As `until`, of words among others."""
        async with asyncio.timeout(10):
            while words not in "".join(self.last_words()):
                self._changed.clear()
                await self._changed.wait()

    def last_words(self) -> list[str]:
        return [edits[-1] for edits in self.shown.values()]

    def answers(self) -> list[str]:
        return [words for words in self.last_words() if words.startswith("outcome")]


class Lost(Exception):
    """The platform did it, but its answer was lost."""


@dataclass
class BoardReply:
    """A message on the board. `faults` are raised by the next edits, one each; None lets one through."""

    board: Board
    message_id: int = 0
    faults: list[Exception | None] = field(default_factory=list)
    repost_faults: list[Exception] = field(default_factory=list)
    pings: int = 0
    said: list[str] = field(default_factory=list)
    is_gone: bool = False
    seen: asyncio.Event = field(default_factory=asyncio.Event)
    take_fault: Exception | None = None
    taken: tuple[AnswerFile, ...] = ()

    is_streaming: bool = False

    @property
    def address(self) -> Address:
        return Address("discord", {"message": self.message_id})

    @property
    def shown(self) -> Sequence[Address]:
        return [self.address]

    async def take(self, files: Sequence[AnswerFile], /) -> None:
        if files and self.take_fault:
            raise self.take_fault
        self.taken = tuple(files)

    async def edit(self, payload: str, /) -> None:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and not isinstance(fault, Lost):
            raise fault
        self.message_id = self.message_id or len(self.board.shown) + 1
        self.board.show(self.message_id, payload)
        self.seen.set()
        if fault is not None:
            raise fault

    async def repost(self, payload: str, job_id: str, /) -> None:
        fault = self.repost_faults.pop(0) if self.repost_faults else None
        if isinstance(fault, AddressDead):
            self.is_gone = True
        if fault is not None and not isinstance(fault, Lost):
            raise fault
        if not self.board.answers():  # a platform reads back before it posts again
            self.message_id = 100
            self.board.show(100, payload)
        if fault is not None:
            raise fault

    async def ping(self, asker: str, key: str, said: str = "", /) -> None:
        self.pings += 1
        self.said += [said] if said else []


class Waiting:
    """A queue in which jobs wait until somebody ends them."""

    async def enqueue(self, job: ResearchJob) -> None: ...

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        return 2


@dataclass
class World:
    deps: Deps
    researcher: Researcher
    tables: MemoryTables
    board: Board = field(default_factory=Board)

    def bot(self) -> LiveAnswers[str]:
        return LiveAnswers(self.researcher, Plain(), platform="discord", pace=PACE, now=lambda: NOW)

    async def end(
        self, job_id: str, *, after: timedelta = timedelta(seconds=5), details: Mapping[str, Json] | None = None
    ) -> None:
        job = await self.deps.jobs.get(job_id)
        ended = replace(job, status=JobStatus.COMPLETED, completed_at=job.created_at + after)
        await self.deps.jobs.finish(ended, JobResult(answer=None, details=details or {}))
        await self.deps.events.append(job_id, 1, "complete", {})

    async def jobs_waiting(self) -> list[str]:
        return [delivery.job.id for delivery in await self.researcher.undelivered("discord")]

    async def reopen(self, address: Address) -> BoardReply:
        return BoardReply(self.board, int(str(address.data["message"])))


@pytest.fixture
def world() -> World:
    tables = MemoryTables()
    deps = make_deps(tables=tables)
    return World(deps, Researcher(deps, Waiting()), tables)


async def asked(
    world: World, bot: LiveAnswers[str], reply: BoardReply, key: str = "k", request: ResearchRequest = REQUEST
) -> asyncio.Task[object]:
    """A question whose placeholder is there and whose job is not yet done."""
    task: asyncio.Task[object] = asyncio.create_task(answered_in(bot, world.researcher, request, reply, key))
    await reply.seen.wait()
    return task


@dataclass
class Lots:
    """`Turns`, of which time takes none."""

    holders: dict[str, str] = field(default_factory=dict)

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        return self.holders.setdefault(name, holder) == holder

    async def keep(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        return self.holders.get(name) == holder

    async def give_back(self, name: str, holder: str) -> None:
        if self.holders.get(name) == holder:
            del self.holders[name]


async def test_of_two_processes_one_keeps_a_message_alive(world: World) -> None:
    """HTTP mode of Slack: what one follows, or has just ended, the other leaves alone, and takes over when it dies."""
    turns, taken = Lots(), []

    def bot(holder: str) -> LiveAnswers[str]:
        shared = ChatTurns(turns, holder)
        return LiveAnswers(world.researcher, Plain(), platform="discord", pace=PACE, turns=shared)

    async def reopen(address: Address) -> BoardReply:
        taken.append(address)
        return await world.reopen(address)

    one, two = bot("one"), bot("two")
    for key in ("k1", "k2"):
        await asked(world, one, BoardReply(world.board), key)
    while_alive = await two.resume(reopen)
    await world.end("job_1")
    await world.board.until("outcome: completed")
    turns.holders[turn_of("job_2")] = "two"  # as if one had not been heard of for too long
    await world.end("job_2")
    await one.settle(10)
    unanswered = world.board.answers()
    after_its_death = await two.resume(reopen)
    await two.settle(10)

    assert (while_alive, after_its_death) == (0, 1)
    assert len(unanswered) == 1
    assert world.board.last_words() == ["outcome: completed"] * 2
    assert [words for edits in world.board.shown.values() for words in edits].count("outcome: completed") == 2
    assert await two.resume(reopen) == 0
    assert turns.holders == {}


async def test_an_answer_that_was_corrected_is_shown_anew_where_it_stands_and_told_of_once(world: World) -> None:
    """D18: months after, by whatever bot is running then; no progress is shown in between."""
    standing = SqlStandingChecks(world.tables, clock=lambda: NOW)
    researcher = Researcher(replace(world.deps, standing=standing), Waiting())
    bot = LiveAnswers(researcher, Plain(), platform="discord", pace=PACE, now=lambda: NOW)
    reply = BoardReply(world.board)
    task: asyncio.Task[object] = asyncio.create_task(answered_in(bot, researcher, REQUEST, reply, "k"))
    await reply.seen.wait()
    await standing.expect("job_1", NOW, NOW + timedelta(days=90))
    await world.end("job_1")
    await task
    later, replies = LiveAnswers(researcher, Plain(), platform="discord", pace=PACE, now=lambda: NOW), []

    async def reopen(address: Address) -> BoardReply:
        replies.append(await world.reopen(address))
        return replies[-1]

    before = await later.resume(reopen)
    await standing.corrected("job_1", "Source 1 was retracted.")
    resumed = await later.resume(reopen)
    await later.settle(10)

    assert (before, resumed, await later.resume(reopen)) == (0, 1, 0)
    assert [one.said for one in replies] == [["Source 1 was retracted."]]
    (edits,) = world.board.shown.values()
    assert edits[-2:] == ["outcome: completed"] * 2
    assert await world.jobs_waiting() == []


async def test_what_is_corrected_while_it_is_being_shown_is_shown_anew(world: World) -> None:
    """D18: a registry that is late by a second speaks while the message is edited."""
    standing = SqlStandingChecks(world.tables, clock=lambda: NOW)
    researcher = Researcher(replace(world.deps, standing=standing), Waiting())

    class Titled(Plain):
        def outcome(self, job: ResearchJob, result: JobResult | None, *args: object, **more: object) -> str:
            return f"outcome: {result.understood if result else ''}"

    class Corrected(BoardReply):
        async def edit(self, payload: str, /) -> None:
            await super().edit(payload)
            if payload == "outcome: ":
                ended = await world.deps.jobs.get("job_1")
                await world.deps.jobs.finish(ended, JobResult(None, understood="corrected"))
                await standing.corrected("job_1", "Source 1 was retracted.")

    bot = LiveAnswers(researcher, Titled(), platform="discord", pace=PACE, now=lambda: NOW)
    reply = Corrected(world.board)
    task: asyncio.Task[object] = asyncio.create_task(answered_in(bot, researcher, REQUEST, reply, "k"))
    await reply.seen.wait()
    await standing.expect("job_1", NOW, NOW + timedelta(days=90))
    await world.end("job_1")
    await task

    (edits,) = world.board.shown.values()
    assert edits[-2:] == ["outcome: ", "outcome: corrected"]
    assert reply.said == ["Source 1 was retracted."]
    assert await world.jobs_waiting() == []


async def test_the_first_sentence_is_shown_at_once_and_the_next_ones_in_their_turn(world: World) -> None:
    """Once it is checked, where sentences are not streamed too; two sentences at once are one edit."""
    bot = LiveAnswers(world.researcher, Plain(), platform="discord", pace=replace(PACE, edit_every_s=60.0))
    reply = BoardReply(world.board)
    task = await asked(world, bot, reply)

    for number, text in enumerate(("It is tall.", "It is old."), 1):
        said = {"section": "summary", "id": f"summary-{number}", "text": text, "mark": "✓"}
        await world.deps.events.append("job_1", 1, "answer", said)
        if number == 1:
            await world.board.until_part("It is tall.")
    edits = len(world.board.shown[1])
    await world.end("job_1")
    await task

    assert edits == 2
    assert world.board.last_words() == ["outcome: completed"]


async def test_an_answer_is_the_last_edit_and_its_address_is_erased(world: World) -> None:
    """C-04: placeholder, progress, answer in one message; what was needed to edit it is not kept."""
    reply = BoardReply(world.board)
    task = await asked(world, world.bot(), reply)

    kept_meanwhile = await world.jobs_waiting()
    await world.end("job_1")
    await task

    assert kept_meanwhile == ["job_1"]
    assert world.board.last_words() == ["outcome: completed"]
    assert await world.jobs_waiting() == []


@pytest.mark.parametrize(
    "faults",
    [
        [None, *[ConnectionError("lost")] * 2],
        [None, AddressDead("token expired")],
        [None, *[ConnectionError("lost")] * 4],
        [AddressDead("deleted")],
    ],
    ids=["lost edits", "dead at the end", "lost to the last try", "dead at the start"],
)
async def test_the_answer_survives_what_the_platform_does(world: World, faults: list[Exception | None]) -> None:
    """A lost edit is tried again, a dead message is replaced; in the end there is one answer and no address."""
    quick, reply = replace(PACE, edit_every_s=10.0), BoardReply(world.board, faults=list(faults))
    bot = LiveAnswers(world.researcher, Plain(), platform="discord", pace=quick, now=lambda: NOW)

    job = await world.researcher.submit(REQUEST)
    await world.researcher.attach(job.id, reply.address)
    following = bot.follow(job, reply)
    await world.end(job.id)
    await following

    assert world.board.answers() == ["outcome: completed"]
    assert await world.jobs_waiting() == []


FAULTS = st.lists(st.sampled_from([None, ConnectionError("away"), AddressDead("deleted"), Lost()]), max_size=12)


@settings(max_examples=60)
@given(FAULTS, FAULTS)
async def test_whatever_the_platform_does_there_is_one_answer(
    faults: list[Exception | None], repost_faults: list[Exception | None]
) -> None:
    """Delivered once, or still waiting for the next start, or nowhere left to go; never two, never lost in silence."""
    deps = make_deps()
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    fault_list = [None, *faults]  # the placeholder is there
    reply = BoardReply(world.board, faults=fault_list, repost_faults=[fault for fault in repost_faults if fault])
    bot = LiveAnswers(world.researcher, Plain(), platform="discord", pace=replace(PACE, edit_every_s=10.0))
    task = await asked(world, bot, reply)
    await world.end("job_1")
    await task

    answers = world.board.answers()
    if await world.jobs_waiting():
        await world.bot().resume(world.reopen)
        await world.board.until("outcome: completed")
        answers = world.board.answers()

    is_nowhere = reply.is_gone and not answers
    assert answers == ["outcome: completed"] or is_nowhere


class Away(SqlEventLog):
    """A log that says so for the next `times` followers."""

    def __init__(self, tables: MemoryTables, times: int) -> None:
        super().__init__(tables, clock=lambda: NOW)
        self.times = times

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        if self.times:
            self.times -= 1
            raise StoreError("away")
        async for event in super().follow(job_id, after=after):
            yield event


async def test_records_that_are_away_cost_progress_and_not_the_answer() -> None:
    """A message is kept alive through an outage of the store, and nothing is said of it."""
    tables = MemoryTables()
    deps = replace(make_deps(tables=tables), events=Away(tables, times=3))
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    task = await asked(world, world.bot(), BoardReply(world.board))

    await world.end("job_1")
    await task

    assert [words for edits in world.board.shown.values() for words in edits if "progress" not in words] == [
        "outcome: completed"
    ]


class ResultsAway(SqlJobStore):
    """The outcome cannot be read at first."""

    times = 2

    async def result(self, job_id: str) -> JobResult | None:
        self.times -= 1
        if self.times >= 0:
            raise StoreError("away")
        return await super().result(job_id)


async def edits_to_the_end(world: World) -> list[str]:
    """What one message says, one after another, of a job that is asked for and ends; waits are told at once."""
    pace = replace(PACE, told_from_s=0.0)
    bot = LiveAnswers(world.researcher, Plain(), platform="discord", pace=pace, now=lambda: NOW)
    task = await asked(world, bot, BoardReply(world.board))

    await world.end("job_1")
    await task

    (edits,) = world.board.shown.values()
    return edits


@pytest.mark.parametrize("when", ["while it runs", "at its end"])
async def test_a_wait_for_the_records_that_is_noticed_is_told(when: str) -> None:
    """On both platforms: what is waited for stands where the progress stood, then comes the answer."""
    tables = MemoryTables()
    deps = make_deps(tables=tables)
    if when == "while it runs":
        deps = replace(deps, events=Away(tables, times=2))
    else:
        deps = replace(deps, jobs=ResultsAway(tables))
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    edits = await edits_to_the_end(world)
    assert [words for words in edits if wording.RECORDS_AWAY in words]
    assert edits[-1] == "outcome: completed"


class Unnoted(Researcher):
    """That an answer stands where it belongs cannot be noted at first."""

    times = 2

    async def delivered(self, job_id: str, shown: Sequence[Address] = ()) -> None:
        self.times -= 1
        if self.times >= 0:
            raise StoreError("away")
        await super().delivered(job_id, shown)


async def test_an_answer_that_stands_there_gives_way_to_no_wait_for_the_records() -> None:
    tables = MemoryTables()
    deps = make_deps(tables=tables)
    world = World(deps, Unnoted(deps, Waiting()), MemoryTables())
    edits = await edits_to_the_end(world)
    answered = edits.index("outcome: completed")
    assert set(edits[answered:]) == {"outcome: completed"}


async def test_who_comes_back_to_an_answer_leaves_it_while_the_records_are_away() -> None:
    """As after a crash between the answer and the note of it."""
    tables = MemoryTables()
    deps = replace(make_deps(tables=tables), jobs=ResultsAway(tables))
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    reply = BoardReply(world.board)
    job = await world.researcher.submit(REQUEST)
    await world.end(job.id)
    await reply.edit("outcome: completed")
    pace = replace(PACE, told_from_s=0.0)
    bot = LiveAnswers(world.researcher, Plain(), platform="discord", pace=pace, now=lambda: NOW)

    await bot.follow(await world.researcher.job(job.id), reply)

    (edits,) = world.board.shown.values()
    assert set(edits) == {"outcome: completed"}


async def test_an_end_that_is_told_before_it_is_stored_is_not_shown_as_one(world: World) -> None:
    """A full disk that took the log's last word, and not the job's: the answer comes with the next attempt."""
    task = await asked(world, world.bot(), BoardReply(world.board))
    await world.deps.events.append("job_1", 1, "complete", {})
    await task
    told = world.board.answers()

    job = replace(await world.deps.jobs.get("job_1"), status=JobStatus.COMPLETED, completed_at=NOW)
    await world.deps.jobs.finish(job, JobResult(answer=None))
    await world.bot().resume(world.reopen)
    await world.board.until("outcome: completed")

    assert told == []
    assert await world.jobs_waiting() == []


async def test_records_that_stay_away_leave_the_message_to_the_next_look() -> None:
    """Who waits is told; the answer comes all the same when somebody looks again."""
    tables = MemoryTables()
    deps = replace(make_deps(tables=tables), events=Away(tables, times=4))
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    bot = world.bot()
    task = await asked(world, bot, BoardReply(world.board))
    await task
    told = world.board.last_words()

    resuming = asyncio.create_task(keep_resuming(lambda: bot.resume(world.reopen), every_s=3600))
    await world.end("job_1")
    await world.board.until("outcome: completed")
    resuming.cancel()

    assert told == [f"refusal: {wording.SOMETHING_BROKE}"]
    assert world.board.last_words() == ["outcome: completed"]


async def test_an_unreachable_platform_leaves_the_address_for_the_next_start(world: World) -> None:
    """Nothing is given up that could still arrive."""
    away: list[Exception] = [ConnectionError("away")] * 9
    reply = BoardReply(world.board, faults=[None, *away], repost_faults=list(away))
    bot = world.bot()
    task = await asked(world, bot, reply)
    await world.end("job_1")
    await task

    resumed = await world.bot().resume(world.reopen)

    assert resumed == 1
    await world.board.until("outcome: completed")
    assert world.board.answers() == ["outcome: completed"]


async def test_a_stopping_bot_promises_and_the_next_one_delivers(world: World) -> None:
    """A restart is no refusal: the job goes on, and its answer comes into the same message."""
    first, reply = world.bot(), BoardReply(world.board)
    task = await asked(world, first, reply)

    await first.aclose()
    await asyncio.gather(task, return_exceptions=True)
    promised = world.board.last_words()
    await world.end("job_1")
    second = world.bot()
    await second.resume(world.reopen)
    await world.board.until("outcome: completed")

    assert promised == [f"refusal: {wording.BACK_SOON}"]
    assert world.board.last_words() == ["outcome: completed"]
    assert list(world.board.shown) == [1]


async def test_a_bot_that_stops_right_after_the_answer_leaves_it_standing(world: World, monkeypatch) -> None:
    """Nobody would follow it again: its address is erased already."""
    bot, erase, is_erased = world.bot(), world.researcher.delivered, asyncio.Event()

    async def delivered(*how: object) -> None:
        await erase(*how)
        is_erased.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(world.researcher, "delivered", delivered)
    task = await asked(world, bot, BoardReply(world.board))
    await world.end("job_1")
    await is_erased.wait()

    await bot.aclose()
    await asyncio.gather(task, return_exceptions=True)

    assert world.board.last_words() == ["outcome: completed"]


SECTION: Mapping[str, Json] = {"sections": [{"section": "methods"}], "markdown": "## Methods", "latex": " "}


@pytest.mark.parametrize(
    ("take_fault", "faults", "words", "taken"),
    [
        pytest.param(None, [], "outcome: completed", ["methods.md"], id="taken"),
        pytest.param(ConnectionError("away"), [], "outcome: completed without methods.md", [], id="not uploaded"),
        pytest.param(
            None, [FilesRefused("large")], "outcome: completed without methods.md", [], id="refused with the edit"
        ),
        pytest.param(None, [ConnectionError("away")], "outcome: completed", ["methods.md"], id="edit tried again"),
    ],
)
async def test_no_file_costs_an_answer(
    world: World, take_fault: Exception | None, faults: list[Exception], words: str, taken: list[str]
) -> None:
    """An answer has the files of its mode, empty ones aside; where a platform refuses them it says so."""
    reply = BoardReply(world.board, faults=[None], take_fault=take_fault)
    bot = LiveAnswers(world.researcher, Plain(), platform="discord", pace=replace(PACE, edit_every_s=10.0))
    task = await asked(
        world, bot, reply, request=replace(REQUEST, query="Write the methods", modes=("section",), thread="discord:2")
    )
    reply.faults += faults

    await world.end("job_1", details=SECTION)
    await task

    assert world.board.last_words() == [words]
    assert [file.name for file in reply.taken] == taken
    assert await world.jobs_waiting() == []


@pytest.mark.parametrize("when", ["running", "resumed", "delivered"])
async def test_an_event_sent_again_is_answered_once(world: World, when: str) -> None:
    """While it runs, after a restart, and after its answer: no second message appears."""
    bot, reply = world.bot(), BoardReply(world.board)
    task = await asked(world, bot, reply)
    if when != "running":
        await bot.aclose() if when == "resumed" else await world.end("job_1")
        await asyncio.gather(task, return_exceptions=True)

    again = await answered_in(world.bot(), world.researcher, REQUEST, BoardReply(world.board), "k")

    await bot.aclose()
    assert again is None
    assert list(world.board.shown) == [1]


async def test_a_question_asked_while_the_bot_takes_up_what_was_left_is_not_taken_for_left(world: World) -> None:
    """Its job is stored with its message's address before the bot follows it; whoever asked keeps the message."""
    bot, reply = world.bot(), BoardReply(world.board, 7)
    resumed: list[int] = []

    async def submit() -> ResearchJob:
        job = await world.researcher.submit(REQUEST, address=reply.address)
        resumed.append(await bot.resume(world.reopen))
        return job

    task = asyncio.create_task(delivered_in(bot, submit, reply))
    await asyncio.wait_for(reply.seen.wait(), 5)
    await world.end("job_1")
    job = await task

    assert resumed == [0]
    assert job is not None
    assert (await world.researcher.job(job.id)).status is JobStatus.COMPLETED
    assert world.board.last_words() == ["outcome: completed"]


async def test_a_refused_question_ends_in_its_sentence(world: World) -> None:
    """And leaves no job and no address."""

    async def refuse(request: ResearchRequest) -> None:
        raise BudgetSpent("spent", user_message="Your budget is used up.")

    researcher = Researcher(world.deps, Waiting(), admit=refuse)
    bot = LiveAnswers(researcher, Plain(), platform="discord", pace=PACE)

    job = await answered_in(bot, researcher, REQUEST, BoardReply(world.board), "k")

    assert job is None
    assert world.board.last_words() == ["refusal: Your budget is used up."]
    assert await world.jobs_waiting() == []


async def test_a_forgotten_job_is_said_to_be_gone() -> None:
    """Nobody waits for a question that was taken back."""
    tables = MemoryTables()
    deps = make_deps(tables=tables)
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    bot, reply = world.bot(), BoardReply(world.board, faults=[])
    await bot.resume(world.reopen)
    job = await world.researcher.submit(REQUEST)
    await world.researcher.attach(job.id, reply.address)
    await tables.execute("DELETE FROM jobs")  # as the archive does

    await bot.follow(job, reply)

    assert world.board.last_words() == ["refusal: There is no such job, or it is not yours to see."]


async def test_a_message_that_went_with_its_forgotten_job_does_not_come_again() -> None:
    """N-11: else what was taken away would be shown anew."""
    tables = MemoryTables()
    deps = make_deps(tables=tables)
    world = World(deps, Researcher(deps, Waiting()), MemoryTables())
    reply = BoardReply(world.board, faults=[AddressDead("deleted")] * 9)
    job = await world.researcher.submit(REQUEST)
    await world.researcher.attach(job.id, reply.address)
    await tables.execute("DELETE FROM jobs")  # as the archive does

    await world.bot().follow(job, reply)

    assert world.board.shown == {}


@pytest.mark.parametrize(("seconds", "pings"), [(29, 0), (31, 1)], ids=["short", "long"])
async def test_who_waited_over_half_a_minute_is_told_once(world: World, seconds: int, pings: int) -> None:
    """An edit notifies nobody."""
    reply = BoardReply(world.board)
    task = await asked(world, world.bot(), reply)

    await world.end("job_1", after=timedelta(seconds=seconds))
    await task

    assert reply.pings == pings


async def test_who_waits_is_told_how_many_are_ahead(world: World) -> None:
    """G-02: the place in the queue is shown when there is a wait."""
    reply = BoardReply(world.board)
    task = await asked(world, world.bot(), reply)

    first = world.board.shown[1][0]
    await world.end("job_1")
    await task

    assert first == "progress: 2 questions are ahead of yours"


async def test_what_is_new_is_shown_while_it_runs(world: World) -> None:
    """Stage and queries, in throttled edits."""
    reply = BoardReply(world.board)
    task = await asked(world, world.bot(), reply)

    await world.deps.events.append("job_1", 1, "status", {"stage": "searching", "message": "Searching"})
    await world.board.until("progress: Searching")
    await world.end("job_1")
    await task

    assert world.board.last_words() == ["outcome: completed"]
