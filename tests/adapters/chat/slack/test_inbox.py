"""Letters: stored before they are opened, opened once, and kept until they have been."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adapters.chat.live import ChatTurns
from adapters.chat.slack.client import NotInstalled
from adapters.chat.slack.inbox import INBOX, MOST_UNSTORED, PAUSES_S, TOLD_BEFORE, TRIES, Inbox, Letter
from adapters.records.deliveries import SqlMessages
from adapters.records.tenants import SqlTurns
from core.model.delivery import Address
from core.model.errors import RowUnreadable, StoreError, Unstorable
from core.model.job import Scope
from core.presentation import wording
from tests.fakes import now
from tests.records import BOX, MemoryTables

LETTER = Letter("message", "T1", "U1", "C1:1.2", {"text": "Why?"})


class Away(SqlMessages):
    """Records that cannot be written."""

    async def begin(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        raise StoreError("away")


class LooksAway(SqlMessages):
    """What was looked up first is told later."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self.looked, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def begun(self, platform: str) -> list[tuple[str, Address]]:
        found = await super().begun(platform)
        self.looked.set()
        await self.may_go_on.wait()
        return found


class DiesBefore(ChatTurns):
    """The process is killed before it gives a turn back."""

    async def give_back(self, name: str) -> None:
        raise asyncio.CancelledError


class Reader:
    """Opens letters; raises what it is given first, in that order."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.read: list[Mapping[str, Any]] = []
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def __call__(self, body: Mapping[str, Any]) -> None:
        self.read.append(body)
        await self.may_end.wait()
        if self.errors:
            raise self.errors.pop(0)


def inbox_of(
    reader: Reader, kept: SqlMessages, turns: ChatTurns | None = None, pauses_s: Sequence[float] = ()
) -> Inbox:
    inbox = Inbox(kept, turns or ChatTurns(), pauses_s=pauses_s)
    inbox.openers["message"] = reader
    return inbox


async def settled(inbox: Inbox) -> None:
    """What is being opened has ended."""
    while inbox._opening:  # noqa: ASYNC110 -- nothing tells
        await asyncio.sleep(0)


async def test_a_letter_is_stored_first_and_erased_when_it_has_been_opened():
    """Sent twice at once and once more later, it is opened once."""
    kept, reader = SqlMessages(MemoryTables(), BOX, clock=now), Reader()
    reader.may_end.clear()
    inbox = inbox_of(reader, kept)

    await asyncio.gather(inbox.take(LETTER), inbox.take(LETTER))
    (before,) = await kept.begun(INBOX)
    reader.may_end.set()
    await settled(inbox)
    await inbox.take(LETTER)

    assert before[1].data["body"] == LETTER.body
    assert await kept.begun(INBOX) == []
    assert reader.read == [LETTER.body]


async def test_what_a_process_left_is_opened_by_the_next():
    kept, slow, reader = SqlMessages(MemoryTables(), BOX, clock=now), Reader(), Reader()
    slow.may_end.clear()
    first = inbox_of(slow, kept)
    await first.take(LETTER)
    await first.aclose()

    second = inbox_of(reader, kept)
    resumed = await second.resume()
    await settled(second)

    assert resumed == 1
    assert reader.read == [LETTER.body]
    assert await second.resume() == 0


async def test_what_was_opened_is_erased_before_its_turn_goes_back():
    """Who is killed between the two would leave a letter that anybody may open, and what it asks for is done twice."""
    kept, reader, again = SqlMessages(MemoryTables(), BOX, clock=now), Reader(), Reader()
    dying = inbox_of(reader, kept, DiesBefore())
    await dying.take(LETTER)
    await settled(dying)

    second = inbox_of(again, kept)

    assert await second.resume() == 0
    assert (len(reader.read), again.read) == (1, [])


@pytest.mark.parametrize(
    ("error", "times", "opened"),
    [
        pytest.param(StoreError("away"), 2 * TRIES, 2 * TRIES + 1, id="records that are away for long"),
        pytest.param(TimeoutError(), 2 * TRIES, 2 * TRIES + 1, id="a Slack that is away for long"),
        pytest.param(RuntimeError("odd"), 1, 2, id="what broke once"),
        pytest.param(RuntimeError("odd"), 2 * TRIES, TRIES, id="what always breaks"),
        pytest.param(NotInstalled("T1"), 2, 1, id="a team that has gone"),
        pytest.param(Unstorable("half a pair"), 2, 1, id="what no records take"),
    ],
)
async def test_what_breaks_is_tried_again_but_not_for_ever(error: Exception, times: int, opened: int):
    kept, reader = SqlMessages(MemoryTables(), BOX, clock=now), Reader(*[error] * times)
    inbox = inbox_of(reader, kept)

    await inbox.take(LETTER)
    await settled(inbox)
    for _ in range(3 * TRIES):
        await inbox.resume()
        await settled(inbox)

    assert len(reader.read) == opened
    assert await kept.begun(INBOX) == []


class Asker:
    """Reads what is told; the first `lost` words never come."""

    def __init__(self, lost: int = 0) -> None:
        self.lost, self.told, self.sees = lost, list[str](), list[str]()

    async def tell(self, team: str, body: Mapping[str, Any], sentence: str) -> bool:
        self.told.append(sentence)
        if len(self.told) <= self.lost:
            raise TimeoutError
        self.sees.append(sentence)
        return True


async def test_who_waits_for_records_that_are_away_is_told_until_they_are_back():
    """A word that is lost is said with the next try, one that stands there is said once, within 15 seconds."""
    reader, asker = Reader(*[StoreError("away")] * 5), Asker(lost=1)
    inbox = inbox_of(reader, SqlMessages(MemoryTables(), BOX, clock=now), pauses_s=(0.0, 0.0, 0.0))
    inbox.tell = asker.tell

    await inbox.take(LETTER)
    await settled(inbox)
    await inbox.resume()
    await settled(inbox)

    assert sum(PAUSES_S[: TOLD_BEFORE - 1]) < 15
    assert len(reader.read) == 6
    assert (asker.told, asker.sees) == ([wording.RECORDS_AWAY] * 2, [wording.RECORDS_AWAY])


@pytest.mark.parametrize("error", [Unstorable("half a pair"), RowUnreadable("of v9")], ids=["written", "read"])
async def test_who_asks_what_can_never_be_kept_or_read_is_told_that_it_failed(error: StoreError):
    """And not that it goes on."""
    kept, asker = SqlMessages(MemoryTables(), BOX, clock=now), Asker()
    inbox = inbox_of(Reader(StoreError("away"), error), kept, pauses_s=(0.0, 0.0))
    inbox.tell = asker.tell

    await inbox.take(LETTER)
    await settled(inbox)

    assert asker.sees == [error.user_message]
    assert await kept.begun(INBOX) == []


async def test_while_the_records_are_away_it_is_opened_all_the_same():
    """Then the asker is told so."""
    reader = Reader()
    inbox = inbox_of(reader, Away(MemoryTables(), BOX, clock=now))

    await inbox.take(LETTER)
    await settled(inbox)

    assert reader.read == [LETTER.body]


async def test_what_could_be_neither_stored_nor_opened_is_not_acknowledged_and_tried_again():
    """Slack sends an event again, whatever becomes of this process; sent again once it was opened, it is only heard."""
    reader = Reader(StoreError("away"))
    inbox = inbox_of(reader, Away(MemoryTables(), BOX, clock=now))

    with pytest.raises(StoreError):
        await inbox.take(LETTER)
    await settled(inbox)
    for _ in range(3):
        await inbox.resume()
        await settled(inbox)
    await inbox.take(LETTER)

    assert reader.read == [LETTER.body, LETTER.body]


async def test_what_is_neither_stored_nor_opened_when_the_process_stops_is_not_acknowledged():
    reader = Reader()
    reader.may_end.clear()
    inbox = inbox_of(reader, Away(MemoryTables(), BOX, clock=now))
    taking = asyncio.create_task(inbox.take(LETTER))
    while not reader.read:  # noqa: ASYNC110 -- nothing tells
        await asyncio.sleep(0)

    await inbox.aclose()

    with pytest.raises(StoreError):
        await taking


async def test_what_is_opened_after_the_records_were_away_for_a_moment_does_not_wait_for_the_next_look():
    kept, reader = SqlMessages(MemoryTables(), BOX, clock=now), Reader(StoreError("away"), TimeoutError())
    inbox = inbox_of(reader, kept, pauses_s=(0.0, 0.0))

    await inbox.take(LETTER)
    await settled(inbox)

    assert reader.read == [LETTER.body] * 3
    assert await kept.begun(INBOX) == []


async def test_an_outage_keeps_a_bounded_number_of_letters_in_memory():
    """The others are Slack's to send again."""
    letters = [replace(LETTER, name=f"C1:{number}") for number in range(MOST_UNSTORED + 2)]
    reader = Reader(*[StoreError("away")] * MOST_UNSTORED)
    inbox = inbox_of(reader, Away(MemoryTables(), BOX, clock=now))

    told = await asyncio.gather(*(inbox.take(letter) for letter in letters), return_exceptions=True)
    await settled(inbox)

    assert {type(error) for error in told} == {StoreError}
    assert len(reader.read) == MOST_UNSTORED
    assert await inbox.resume() == MOST_UNSTORED
    await settled(inbox)
    assert len(reader.read) == 2 * MOST_UNSTORED


@pytest.mark.parametrize("is_slow", [False, True], ids=["both look at once", "one has looked before the other opens"])
async def test_of_two_processes_one_opens_what_a_third_left(*, is_slow: bool):
    tables = MemoryTables()
    kept, dead = SqlMessages(tables, BOX, clock=now), Reader()
    dead.may_end.clear()
    third = inbox_of(dead, kept)
    await third.take(LETTER)
    await third.aclose()
    readers, turns, slow = (Reader(), Reader()), SqlTurns(tables, clock=now), LooksAway(tables, BOX, clock=now)
    first = inbox_of(readers[0], kept, ChatTurns(turns, "first"))
    second = inbox_of(readers[1], slow if is_slow else kept, ChatTurns(turns, "second"))

    looking = asyncio.create_task(second.resume())
    await (slow.looked.wait() if is_slow else asyncio.sleep(0))
    await first.resume()
    await settled(first)
    slow.may_go_on.set()
    await looking
    await settled(second)

    assert [body for reader in readers for body in reader.read] == [LETTER.body]
    assert [await first.resume(), await second.resume()] == [0, 0]
    assert await turns.take(LETTER.key, "anybody", ttl=timedelta(seconds=1))


async def test_what_was_taken_back_is_not_opened_again():
    kept, slow, reader = SqlMessages(MemoryTables(), BOX, clock=now), Reader(), Reader()
    slow.may_end.clear()
    first = inbox_of(slow, kept)
    await first.take(LETTER)

    await first.drop("T1", LETTER.name)
    await settled(first)
    second = inbox_of(reader, kept)

    assert await second.resume() == 0
    assert reader.read == []
