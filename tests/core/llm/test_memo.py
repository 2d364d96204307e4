"""What a job has paid for: kept, found again, and never a reason to fail."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from adapters.records.jobs import SqlJobMemo
from core.llm.ask_model import RememberingModel, asked_in_words, complete, remembered, with_more_tokens
from core.model.errors import StoreError
from core.model.ports import ChatDelta, ChatRequest
from tests.fakes import FakeModel, make_job
from tests.records import MemoryTables

REQUEST = ChatRequest("plan", "You plan.", "Is Kim ill?", "plan", {}, max_tokens=100, timeout_s=5)


class Away:
    """A memo whose store cannot be reached."""

    async def get(self, job_id: str, key: str) -> str | None:
        raise StoreError("the database is away")

    async def put(self, job_id: str, key: str, text: str) -> None:
        raise StoreError("the database is away")

    async def clear(self, job_id: str) -> None:
        raise StoreError("the database is away")


def known() -> MemoryTables:
    """With the job that all of this is about."""
    return MemoryTables(make_job("Is Kim ill?"))


class Noticing(SqlJobMemo):
    """Says when something was kept."""

    def __init__(self) -> None:
        super().__init__(known())
        self.has_kept = asyncio.Event()

    async def put(self, job_id: str, key: str, text: str) -> None:
        await super().put(job_id, key, text)
        self.has_kept.set()


class Paced(FakeModel):
    """A model that lets others go on between two pieces, as one that has to be waited for does."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        async for delta in super().stream(request):
            yield delta
            await asyncio.sleep(0)


class Endless:
    """A model that never comes to an end of its answer."""

    name = "endless"
    is_closed = False

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        try:
            yield ChatDelta("At ten")
            await asyncio.Event().wait()
        finally:
            self.is_closed = True


class Foreign(SqlJobMemo):
    """A memo whose entries another version of gorkd wrote."""

    async def get(self, job_id: str, key: str) -> str | None:
        return json.dumps({"v": 99, "type": "Heard", "value": {}})


async def test_answer_that_is_kept_is_not_paid_for_again() -> None:
    memo, model = SqlJobMemo(known()), FakeModel({"plan": "At ten."})
    first = await complete(RememberingModel(model, memo, "job_1"), REQUEST)

    again = await complete(RememberingModel(model, memo, "job_1"), REQUEST)

    assert again == first
    assert len(model.asked) == 1


async def test_answer_is_kept_when_it_has_come_however_far_it_was_read() -> None:
    """Who judges its first sentences meanwhile may be killed at it, and the whole answer was paid for."""
    memo = Noticing()
    reading = RememberingModel(Paced({"plan": "At ten, or at eleven, or at noon."}), memo, "job_1").stream(REQUEST)
    first = await anext(reading)

    await asyncio.wait_for(memo.has_kept.wait(), 10)

    again = await complete(RememberingModel(FakeModel({}), memo, "job_1"), REQUEST)
    assert (first.text, again.text) == ("At ten, or a", "At ten, or at eleven, or at noon.")
    await reading.aclose()


async def test_tokens_that_are_read_in_one_go_are_passed_on_in_one_piece() -> None:
    """Whoever reads the growing answer reads it anew with each piece."""
    model = FakeModel({"plan": "At ten, or at eleven, or at noon."})

    deltas = [delta async for delta in RememberingModel(model, SqlJobMemo(known()), "job_1").stream(REQUEST)]

    assert [(delta.text, delta.usage is not None) for delta in deltas] == [("At ten, or at eleven, or at noon.", True)]


async def test_answer_that_nobody_reads_on_is_asked_for_no_further() -> None:
    """Out of time: the call to the model ends with its reader."""
    model = Endless()
    reading = RememberingModel(model, SqlJobMemo(known()), "job_1").stream(REQUEST)
    await anext(reading)

    await reading.aclose()

    assert model.is_closed


@pytest.mark.parametrize("memo", [Away(), Foreign(known())], ids=["store away", "of another version"])
async def test_memo_that_cannot_be_read_costs_a_repetition_and_not_the_step(memo: Away | Foreign) -> None:
    """A job that goes on under a newer gorkd meets what the older one had kept."""
    model = FakeModel({"plan": "At ten."})

    async def pay() -> str:
        return "paid"

    answer = await complete(RememberingModel(model, memo, "job_1"), REQUEST)
    value = await remembered(memo, "job_1", "search:web:Is Kim ill?", str, pay)

    assert (answer.text, value, len(model.asked)) == ("At ten.", "paid", 1)


async def test_log_says_which_kind_of_entry_failed_and_nothing_of_the_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def pay() -> str:
        return "paid"

    await remembered(Away(), "job_1", "search:web:SearchQuery(text='Is Kim ill?')", str, pay)

    logged = str([vars(record) for record in caplog.records])
    assert "'search'" in logged
    assert "Kim" not in logged


async def test_answer_that_was_of_no_use_is_not_kept() -> None:
    """N-05: a retry is a new call; what was accepted is not paid for again."""
    memo, model = (
        SqlJobMemo(known()),
        FakeModel({"plan": ["no JSON", '{"queries": ["kim"]}', "never asked"]}),
    )
    request = replace(REQUEST, schema={"type": "object", "properties": {"queries": {"type": "array"}}})

    texts = [(await complete(RememberingModel(model, memo, "job_1"), request)).text for _ in range(3)]

    assert texts == ["no JSON", '{"queries": ["kim"]}', '{"queries": ["kim"]}']
    assert len(model.asked) == 2


async def test_whoever_asks_says_what_is_accepted() -> None:
    memo, model = SqlJobMemo(known()), FakeModel({"plan": ["maybe", "yes"]})
    request = replace(REQUEST, accepts=lambda text: text == "yes")

    texts = [(await complete(RememberingModel(model, memo, "job_1"), request)).text for _ in range(3)]

    assert texts == ["maybe", "yes", "yes"]


async def test_asking_in_other_words_or_for_more_is_another_call() -> None:
    """What an answer that was cut, or could not be read, is followed by."""
    memo, model = SqlJobMemo(known()), FakeModel({"plan": ["first", "second", "third"]})
    asked = [REQUEST, asked_in_words(REQUEST), with_more_tokens(REQUEST)]

    texts = [(await complete(RememberingModel(model, memo, "job_1"), request)).text for request in asked]

    assert texts == ["first", "second", "third"]
