"""A conversation in chat with real workers and stores: nothing is lost, and follow-ups are understood."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from adapters.chat.live import LiveAnswers
from bots.wiring import House
from core.model.answer import JobResult
from core.model.delivery import Address
from core.model.job import JobStatus, ResearchRequest, Scope
from core.presentation import wording
from core.presentation.card import Stand, read_checks
from tests.adapters.chat.test_live_answers import PACE, Board, BoardReply, Plain
from tests.adapters.durable.outside import QUESTION
from tests.adapters.durable.processes import Process, Reader, front
from tests.adapters.records.gate import Gate
from tests.fakes import answered_in

CHANNEL = Scope("discord:1", "channel:2")
ASKED = ResearchRequest(QUESTION, CHANNEL, asker="7", thread="discord:2")


@dataclass
class Bot:
    """What a bot's process has, with a board for its platform."""

    house: House
    board: Board = field(default_factory=Board)

    def live(self) -> LiveAnswers[str]:
        return LiveAnswers(self.house.researcher, Plain(), platform="discord", pace=PACE)

    async def reopen(self, address: Address) -> BoardReply:
        return BoardReply(self.board, int(str(address.data["message"])))

    async def ended(self, request: ResearchRequest) -> tuple[JobStatus, JobResult]:
        job = await self.house.researcher.submit(request)
        await Reader().follow(self.house, job.id)
        result = await self.house.researcher.result(job.id)
        assert result is not None
        return (await self.house.researcher.job(job.id)).status, result


async def test_a_bot_that_dies_with_a_question_delivers_its_answer_when_it_is_back(anywhere: dict[str, str]) -> None:
    """One message, one answer; then a follow-up, a fact check and the asker's own history."""
    async with front(anywhere) as house:
        job = await house.researcher.submit(ASKED, dedupe_key="discord:9")
        await house.researcher.attach(job.id, BoardReply(Board(), 5).address)

    async with front(anywhere) as house:
        bot = Bot(house)
        live = bot.live()
        resumed = await live.resume(bot.reopen)
        again = await answered_in(live, house.researcher, ASKED, BoardReply(bot.board), "discord:9")
        worker = await Process.start("worker", anywhere)
        await bot.board.until("outcome: completed")
        _, follow_up = await bot.ended(ResearchRequest("And on the coast?", CHANNEL, thread="discord:2"))
        message = "The tides are caused by the gravity of the Moon and of the Sun. The Moon is made of cheese only."
        status, checked = await bot.ended(ResearchRequest("", CHANNEL, quoted=message, modes=("check",)))
        history = await house.researcher.history("7", tenant="discord:1", limit=5)
        await live.aclose()
    await worker.killed()

    assert (resumed, again, bot.board.last_words()) == (1, None, ["outcome: completed"])
    assert follow_up.understood == "What causes the tides on the coast?"
    assert status is JobStatus.COMPLETED
    assert [check.stand for check in read_checks(checked)] == [Stand.SUPPORTED, Stand.NO_EVIDENCE]
    assert [entry.id for entry in history] == [job.id]


async def test_who_waits_is_told_that_the_records_are_away(many_machines: dict[str, str]) -> None:
    """PostgreSQL is gone while a question runs: within fifteen seconds its message says so, then the answer comes."""
    records = urlsplit(many_machines["DATABASE_URL"])
    gate = Gate(records.port or 5432)
    await gate.open()
    behind = records._replace(netloc=records.netloc.replace(f":{records.port}", f":{gate.port}")).geturl()
    async with front({**many_machines, "DATABASE_URL": behind}) as house:
        bot = Bot(house)
        live = LiveAnswers(house.researcher, Plain(), platform="discord")
        reply = BoardReply(bot.board)
        answering = asyncio.create_task(answered_in(live, house.researcher, ASKED, reply, "discord:10"))
        await reply.seen.wait()

        await gate.shut()
        async with asyncio.timeout(15):
            await bot.board.until(f"progress: {wording.RECORDS_AWAY}")
        await gate.open()

        worker = await Process.start("worker", many_machines)
        await answering
        await live.aclose()
    await gate.shut()
    await worker.killed()

    assert bot.board.last_words() == ["outcome: completed"]
