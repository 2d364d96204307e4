"""A watch's course over simulated days: silent while the answer means the same, told once when it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from core.model.delivery import Address
from core.model.job import ResearchJob, ResearchRequest, Scope
from core.model.ports import ChatModel
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.watch.runner import WatchRunner
from core.watch.watch import Notice, Rhythm, Watch
from tests.fakes import NOW, FakePages, FakeSearch, Idle, hit, make_deps

CHANNEL = Scope("discord:1", "channel:2")
PLACE = Address("discord", {"channel_id": 2, "asker_id": 7})
QUESTION = "How tall is the Harbour Tower?"
URL = "https://tower.example/facts"
BEFORE = "The Harbour Tower is 120 metres tall. It was opened by the city of Quayside in 1931."
AFTER = "The Harbour Tower is 134 metres tall. It was opened by the city of Quayside in 1931."
REWORDED = "It was opened by the city of Quayside in 1931. The Harbour Tower is 120 metres tall."
DAY = timedelta(days=1)


@dataclass
class World:
    """A question that is watched, over a web of which pages are changed at will, at a time that is set at will."""

    model: ChatModel | None = None
    pages: dict[str, object] = field(default_factory=lambda: {URL: BEFORE})
    now: datetime = NOW

    def __post_init__(self) -> None:
        self.search = FakeSearch("web", hits=[hit(URL, BEFORE, title="Harbour Tower")])
        self.deps: Deps = make_deps(search=[self.search], model=self.model, clock=lambda: self.now)
        self.fetcher = FakePages(self.pages)  # type: ignore[arg-type]
        self.deps = replace(self.deps, pages=self.fetcher)
        self.researcher = Researcher(self.deps, Idle())
        self.runner = WatchRunner(self.deps, self.deps.watches, self.researcher.submit_run)

    async def answered(self) -> ResearchJob:
        job = await self.researcher.submit(ResearchRequest(QUESTION, CHANNEL, asker="ada", is_fresh=True))
        return await self._run(job)

    async def watched(self, hours: int = 24) -> Watch:
        job = await self.answered()
        return await self.researcher.watching.watch(job.id, "ada", scope=CHANNEL, rhythm=Rhythm(hours), address=PLACE)

    async def pass_until(self, end: datetime, step: timedelta = timedelta(minutes=10)) -> None:
        """What is due is done meanwhile, research included."""
        while self.now < end:
            self.now += step
            while await self.runner.tick(self.now):
                for job in await self.deps.jobs.unfinished(limit=100):
                    await self._run(job)
                self.now += timedelta(seconds=31)

    async def told(self, watch: Watch) -> list[Notice]:
        return await self.deps.watches.notices(watch.id)

    async def delivered(self) -> list[str]:
        return [job_id for job_id, _ in await self.deps.deliveries.waiting("discord")]

    async def _run(self, job: ResearchJob) -> ResearchJob:
        await run_job(job.id, self.deps, DirectSteps())
        return await self.deps.jobs.get(job.id)


async def test_a_changed_value_is_told_once_where_it_was_asked_after_a_second_look():
    """Was, now, and the passages of both; an hour later it still stands, and then nothing more is said."""
    world = World()
    watch = await world.watched()
    await world.pass_until(NOW + 3 * DAY)
    silent = await world.told(watch)
    world.pages[URL] = AFTER
    world.search.hits = [hit(URL, AFTER, title="Harbour Tower")]

    await world.pass_until(NOW + 5 * DAY)
    await world.pass_until(NOW + 9 * DAY)

    notices = await world.told(watch)
    change = notices[0].changes[0]
    assert silent == []
    assert [(notice.tone, len(notice.changes)) for notice in notices] == [("changed", 1)]
    assert ("120" in change.before, "134" in change.now) == (True, True)
    assert change.now_quote == "The Harbour Tower is 134 metres tall."
    assert await world.delivered() == [notices[0].job_id]


async def test_another_order_and_a_page_that_is_briefly_away_are_silence():
    world = World()
    watch = await world.watched()
    world.pages[URL] = REWORDED
    await world.pass_until(NOW + 2 * DAY)
    del world.pages[URL]
    await world.pass_until(NOW + 2 * DAY + timedelta(hours=12))
    world.pages[URL] = REWORDED

    await world.pass_until(NOW + 6 * DAY)

    assert await world.told(watch) == []
    assert await world.delivered() == []
    assert (await world.deps.watches.get(watch.id)).run >= 5


async def test_what_does_not_hold_for_an_hour_is_not_told():
    world = World()
    watch = await world.watched()
    world.pages[URL] = AFTER
    started: Callable[[Watch], bool] = lambda one: bool(one.suspected) and one.stage == "waiting"  # noqa: E731
    while not started(await world.deps.watches.get(watch.id)):
        await world.pass_until(world.now + timedelta(minutes=10))
    world.pages[URL] = BEFORE

    await world.pass_until(world.now + timedelta(hours=3))

    assert await world.told(watch) == []
