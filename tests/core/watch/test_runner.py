"""A watch's course over simulated days: silent while the answer means the same, told once when it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

import pytest

from adapters.records.archive import SqlArchive
from adapters.records.deliveries import SqlStandingChecks
from adapters.records.traces import SqlSpending, SqlTraceStore
from core.model.delivery import Address
from core.model.errors import StoreError
from core.model.job import Attachment, JobStatus, ResearchJob, ResearchRequest, Scope
from core.model.ports import ChatModel
from core.model.source import Page
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.pipeline.tool_traces import TraceEntry
from core.tenancy.admission import BudgetSpent, month_of
from core.tenancy.forgetting import Whose
from core.watch.desk import WatchDesk, WatchLimits
from core.watch.runner import WatchRunner
from core.watch.watch import Rhythm, Watch, Watches, WatchNotice, WatchRefused
from tests.core.works.test_standing import Standing, answered, eight_papers
from tests.fakes import NOW, Died, FakePages, FakeSearch, Idle, hit, make_deps

CHANNEL = Scope("discord:1", "channel:2")
PLACE = Address("discord", {"channel_id": 2, "asker_id": 7})
QUESTION = "How tall is the Harbour Tower?"
URL = "https://tower.example/facts"
BEFORE = "The Harbour Tower is 120 metres tall. It was opened by the city of Quayside in 1931."
AFTER = "The Harbour Tower is 134 metres tall. It was opened by the city of Quayside in 1931."
REWORDED = "It was opened by the city of Quayside in 1931. The Harbour Tower is 120 metres tall."
DAY = timedelta(days=1)
ADA, BOB = [ResearchRequest(QUESTION, CHANNEL, asker=who) for who in ("ada", "bob")]


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
        self.desk = self.researcher.watching
        self.runner = WatchRunner(self.deps, self.deps.watches, self.researcher.submit_run)
        self.tables = self.deps.jobs._tables  # type: ignore[attr-defined]

    def publish(self, text: str) -> None:
        """The page says this now, and so do those that find it."""
        self.pages[URL] = text
        self.search.hits = [hit(URL, text, title="Harbour Tower")]

    async def answered(self) -> ResearchJob:
        job = await self.researcher.submit(ResearchRequest(QUESTION, CHANNEL, asker="ada", is_fresh=True))
        return await self._run(job)

    async def watched(self, hours: int = 24) -> Watch:
        job = await self.answered()
        return await self.desk.watch(job.id, "ada", scope=CHANNEL, rhythm=Rhythm(hours), address=PLACE)

    async def pass_until(self, end: datetime, step: timedelta = timedelta(minutes=10)) -> None:
        """What is due is done meanwhile, research included."""
        while self.now < end:
            self.now += step
            while await self.runner.tick(self.now):
                for job in await self.deps.jobs.unfinished(limit=100):
                    await self._run(job)
                self.now += timedelta(seconds=31)

    async def told(self, watch: Watch) -> list[WatchNotice]:
        return await self.deps.watches.notices(watch.id)

    async def delivered(self) -> list[str]:
        return [job_id for job_id, _ in await self.deps.messages.waiting("discord")]

    async def _run(self, job: ResearchJob) -> ResearchJob:
        await run_job(job.id, self.deps, DirectSteps())
        return await self.deps.jobs.get(job.id)


async def test_a_changed_value_is_told_once_where_it_was_asked_after_a_second_look():
    """Was, now, and the passages of both; an hour later it still stands, and then nothing more is said."""
    world = World()
    watch = await world.watched()
    await world.pass_until(NOW + 3 * DAY)
    silent = await world.told(watch)
    world.publish(AFTER)

    await world.pass_until(NOW + 5 * DAY)
    await world.pass_until(NOW + 9 * DAY)

    notices = await world.told(watch)
    change = notices[0].changes[0]
    assert silent == []
    assert [(notice.tone, len(notice.changes)) for notice in notices] == [("changed", 1)]
    assert ("120" in change.before, "134" in change.now) == (True, True)
    assert change.now_quote == "The Harbour Tower is 134 metres tall."
    assert await world.delivered() == [notices[0].job_id]


async def test_a_run_reads_the_files_that_came_with_the_question():
    """Else a change would be told that is none: the file says today what it said then."""
    world = World()
    file = Attachment("minutes.txt", "text/plain", "Minutes", "The Harbour Tower has 26 floors and one lift.")
    asked = ResearchRequest(QUESTION, CHANNEL, asker="ada", is_fresh=True)
    job = await world._run(await world.researcher.submit(asked, attachments=[file]))
    watch = await world.desk.watch(job.id, "ada", scope=CHANNEL, rhythm=Rhythm(24), address=PLACE)
    world.publish(AFTER)

    await world.pass_until(NOW + 3 * DAY)

    (notice,) = await world.told(watch)
    run = await world.deps.jobs.get(notice.job_id)
    assert run.request.attachments == ("minutes.txt",)
    assert [one.text for one in await world.deps.jobs.attached(run.id)] == [file.text]


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


async def test_the_log_says_the_host_of_a_page_that_is_away_and_not_its_address(caplog: pytest.LogCaptureFixture):
    """An address may carry a key of the one who watches it."""
    private = f"{URL}?key=s3cret"
    world = World(pages={private: BEFORE})
    world.search.hits = [hit(private, BEFORE, title="Harbour Tower")]
    await world.watched()
    del world.pages[private]

    with caplog.at_level("INFO", logger="core.watch"):
        await world.pass_until(NOW + 2 * DAY)

    away = [vars(record) for record in caplog.records if record.getMessage() == "a watched page is away"]
    assert away
    assert all(record["host"] == "tower.example" and "s3cret" not in str(record) for record in away)


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


@pytest.mark.parametrize("seed", range(5))
async def test_a_run_is_one_run_and_told_once_whoever_dies_in_it(seed: int):
    """Three workers, and each is killed at a random write, before it or after: another goes on after the lease."""
    world, rng = World(), Random(seed)
    watch = await world.watched()
    world.publish(AFTER)
    mortal = [MortalWatches(world.deps.watches, rng) for _ in range(3)]
    workers = [WatchRunner(world.deps, one, world.researcher.submit_run) for one in mortal]
    deaths = 0
    while deaths < 10 or not await world.told(watch):
        world.now += timedelta(minutes=11)
        for worker in workers:
            try:
                await worker.tick(world.now)
            except* Died:
                deaths += 1
        for job in await world.deps.jobs.unfinished(limit=100):
            await world._run(job)
    await world.pass_until(world.now + 3 * DAY)

    notices = await world.told(watch)
    jobs = await world.researcher.history("ada", tenant=CHANNEL.tenant, limit=100)
    assert deaths >= 10
    assert len(notices) == 1
    assert await world.delivered() == [notices[0].job_id]
    assert len(jobs) == 2  # what was asked, and the one research


async def test_two_workers_that_look_at_once_make_one_run():
    world = World()
    watch = await world.watched(hours=1)
    world.now = watch.next_at

    taken = [await WatchRunner(world.deps, world.deps.watches, world.researcher.submit_run).tick(world.now)
             for _ in range(2)]  # fmt: skip

    assert taken == [1, 0]
    assert (await world.deps.watches.get(watch.id)).run == 1


async def test_a_missed_week_is_one_run():
    """Whatever was missed runs once."""
    world = World()
    watch = await world.watched(hours=24)
    world.now = watch.next_at + 7 * DAY

    await world.runner.tick(world.now)
    again = await world.runner.tick(world.now + timedelta(minutes=1))

    after = await world.deps.watches.get(watch.id)
    assert (after.run, again) == (1, 0)
    assert world.now < after.next_at <= world.now + DAY


async def test_a_schedule_asks_on_the_minute_and_its_answer_is_delivered():
    world = World()
    rhythm = Rhythm(at="09:00", weekdays=(0,), zone="Europe/Berlin")
    watch = await world.desk.schedule(ADA, rhythm=rhythm, address=PLACE)

    await world.pass_until(NOW + 15 * DAY, step=timedelta(hours=1))

    after = await world.deps.watches.get(watch.id)
    asked = await world.deps.jobs.get(after.told)
    assert (after.run, len(after.jobs)) == (2, 2)
    assert asked.status is JobStatus.COMPLETED
    assert after.told in await world.delivered()
    assert f"{watch.next_at:%A %H:%M}" == "Monday 07:00"


async def test_a_page_is_watched_for_itself():
    """A new value and a new sentence are told at once; its date and advertisements are not."""
    world = World()
    watch = await world.desk.watch_source(URL, ADA, rhythm=Rhythm(24), address=PLACE)
    await world.pass_until(NOW + 2 * DAY, step=timedelta(hours=1))
    world.pages[URL] = f"{BEFORE} Updated on 3 June 2026. Advertisement: new shoes."
    await world.pass_until(NOW + 4 * DAY, step=timedelta(hours=1))
    silent = await world.told(watch)
    world.pages[URL] = f"{AFTER} Updated on 5 June 2026."
    await world.pass_until(NOW + 6 * DAY, step=timedelta(hours=1))

    notices = await world.told(watch)
    result = await world.deps.jobs.result(notices[0].job_id)
    assert silent == []
    assert [change.kind for change in notices[0].changes] == ["value"]
    assert "134 metres" in notices[0].changes[0].now
    assert "134 metres" in result.answer.summary


@pytest.mark.parametrize("is_told", [True, False])
async def test_a_store_that_fails_is_told_by_who_looks_only_where_it_does_not_tell_itself(
    is_told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """An outage is one line of the log, and not one more with each look."""
    world = World()
    away = StoreError("the database failed")
    away.is_told = is_told
    looks: list[float] = []

    async def digests(now: datetime) -> None:
        raise away

    async def thrice(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            raise Died

    monkeypatch.setattr(world.deps.watches, "send_digests", digests)
    with pytest.raises(Died):
        await world.runner.keep_running(lambda: NOW, thrice)

    assert len(looks) == 3
    assert [record.message for record in caplog.records] == ["watches are not looked at"] * (0 if is_told else 3)


async def test_silence_is_broken_once_a_month_and_before_the_end_and_then_it_ends():
    world = World()
    watch = await world.watched()

    await world.pass_until(NOW + 95 * DAY, step=timedelta(hours=6))

    assert [notice.tone for notice in await world.told(watch)] == ["still", "still", "renew", "ended"]
    assert not (await world.deps.watches.get(watch.id)).is_active


async def test_what_is_dead_is_asked_ever_more_rarely_and_given_up():
    """Back-off: days apart, then a week, then it ends."""
    world = World()
    watch = await world.watched()
    world.pages.clear()
    world.search.hits = []

    await world.pass_until(NOW + 80 * DAY, step=timedelta(hours=6))

    after = await world.deps.watches.get(watch.id)
    assert not after.is_active
    assert after.run < 20
    assert "looked at" in after.ended_because


async def test_a_watch_goes_with_the_job_that_it_watches():
    """Forgetting the answer leaves no trace of the question in the watch."""
    world = World()
    watch = await world.watched()

    await SqlArchive(world.tables).erase(Whose(job_id=watch.origin), [watch.origin])

    for table in ("watches", "watched_pages", "notices"):
        assert await world.tables.rows(f"SELECT * FROM {table}") == [], table


async def test_a_person_and_a_workspace_have_so_many():
    world = World()

    async def few(_: str) -> WatchLimits:
        return WatchLimits(person=1, workspace=2)

    desk = WatchDesk(world.deps, few)
    await desk.schedule(ADA, rhythm=Rhythm(24))
    with pytest.raises(WatchRefused, match="person"):
        await desk.schedule(ADA, rhythm=Rhythm(24))
    await desk.schedule(BOB, rhythm=Rhythm(24))

    with pytest.raises(WatchRefused, match="workspace"):
        await desk.schedule(replace(ADA, asker="eve"), rhythm=Rhythm(24))


class MortalWatches:
    """`Watches` whose worker dies at a third of its writes: before the write, or after it."""

    def __init__(self, watches: Watches, rng: Random) -> None:
        self._watches, self._rng = watches, rng

    def __getattr__(self, name: str) -> object:
        return getattr(self._watches, name)

    async def put(self, watch: Watch, **more: object) -> bool:
        fate = self._rng.random()
        if fate < 1 / 6:
            raise Died("before")
        kept = await self._watches.put(watch, **more)  # type: ignore[arg-type]
        if fate < 1 / 3:
            raise Died("after")
        return kept


async def test_a_retraction_is_told_at_once_and_once():
    """A paper that the answer cites is retracted: no page has changed."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    job, result, sources = await answered(deps)
    cited = {evidence.source_id for claim in result.answer.claims for evidence in claim.evidence}
    source = next(one for one in sources if one.id in cited)
    pages = FakePages({one.url: one.content for one in sources})
    deps = replace(deps, pages=pages)
    researcher = Researcher(deps, Idle())
    runner = WatchRunner(deps, deps.watches, researcher.submit_run)
    watch = await researcher.watching.watch(job.id, "ada", scope=job.scope, rhythm=Rhythm(24))

    for day in range(8):
        registry.retracted = {int(source.url.rpartition(".")[2])} if day >= 2 else set()
        clock.now = max(clock.now, (await deps.watches.get(watch.id)).next_at)
        while await runner.tick(clock.now):
            for running in await deps.jobs.unfinished(limit=10):
                await run_job(running.id, deps, DirectSteps())
            clock.now += timedelta(seconds=31)

    notices = await deps.watches.notices(watch.id)
    kinds = [change.kind for notice in notices for change in notice.changes]
    assert len(notices) == 1
    assert kinds.count("retraction") == 1


async def test_each_of_several_people_who_watch_an_answer_has_a_watch_of_their_own():
    """Whose is looked at sooner does not matter."""
    world = World()
    job = await world.answered()
    for who in ("ada", "bob"):
        for hours in (1, 24, 1 if who == "ada" else 168):
            await world.desk.watch(job.id, who, scope=CHANNEL, rhythm=Rhythm(hours), address=PLACE)

    found = {who: await world.desk.of_job(job, who) for who in ("ada", "bob")}

    assert {who: watch.asker for who, watch in found.items() if watch} == {"ada": "ada", "bob": "bob"}
    assert len(await world.deps.watches.of(CHANNEL.tenant)) == 2


async def test_two_who_watch_one_answer_are_both_told_below_it():
    """N-20: an answer has one place at a time; what else is told below it waits until that has arrived."""
    world = World()
    job = await world.answered()
    places = {
        who: Address("discord", {"channel_id": number, "asker_id": 7}) for number, who in enumerate(("ada", "bob"))
    }
    watches = [
        await world.desk.watch(job.id, who, scope=CHANNEL, rhythm=Rhythm(24), address=address)
        for who, address in places.items()
    ]

    await world.pass_until(NOW + 32 * DAY, step=timedelta(hours=6))

    told = []
    while waiting := await world.deps.messages.waiting("discord"):
        (at,) = [address for _, address in waiting]
        notice = await world.desk.told_at(at)
        told.append((notice.watch_id, notice.tone, at.data["channel_id"]))
        await world.deps.messages.delivered(job.id)
    assert sorted(told) == sorted((watch.id, "still", number) for number, watch in enumerate(watches))


async def test_a_place_that_is_gone_ends_what_tells_there_and_nothing_else():
    """N-20: the answer's own place may be gone while its watch tells elsewhere."""
    world = World()
    desk = world.desk
    watch = await world.watched()
    elsewhere = replace(PLACE, place="3")
    other = await desk.schedule(BOB, rhythm=Rhythm(24), address=elsewhere)

    async def active() -> list[str]:
        return [one.id for one in await desk.of(CHANNEL.tenant)]

    await desk.place_gone(Address("discord", {"channel_id": 2, "key": ""}))
    after_answer = await active()
    await desk.place_gone(Address("discord", {"channel_id": 2, "key": f"watch:{watch.id}:3+"}))
    after_own = await active()
    stays = (
        await desk.place_closed(CHANNEL.tenant, "4"),
        await desk.place_closed(CHANNEL.tenant, "3", asker="ada"),
    )
    ended = await desk.place_closed(CHANNEL.tenant, "3")

    assert (after_answer, after_own) == ([watch.id, other.id], [other.id])
    assert (stays, ended) == ((0, 0), 1)
    assert await active() == []


async def test_who_leaves_watches_no_more():
    world = World()
    watch = await world.watched()
    other = await world.desk.schedule(BOB, rhythm=Rhythm(24))

    await world.desk.person_left(CHANNEL.tenant, "ada")

    assert [one.id for one in await world.desk.of(CHANNEL.tenant)] == [other.id]
    assert "left" in (await world.deps.watches.get(watch.id)).ended_because


async def test_a_row_that_cannot_be_read_stops_no_other():
    """It is set aside, and named to whoever runs gorkd."""
    world = World()
    broken, watch = await world.watched(), await world.desk.schedule(
        BOB, rhythm=Rhythm(24), address=PLACE
    )  # fmt: skip
    await world.tables.execute("UPDATE watches SET watch = '{}' WHERE id = ?", (broken.id,))

    due = await world.deps.watches.due(NOW + 9 * DAY, limit=10)

    assert [one.id for one in due] == [watch.id]
    assert await world.deps.watches.unreadable() == [broken.id]
    assert [one.id for one in await world.desk.of(CHANNEL.tenant)] == [watch.id]


async def test_a_schedule_asks_whether_to_go_on_and_goes_on_asking():
    """N-20: as a watched answer does, a week before its end; its question is asked as ever."""
    world = World()
    watch = await world.desk.schedule(ADA, rhythm=Rhythm(168), address=PLACE)

    await world.pass_until(NOW + 89 * DAY, step=timedelta(hours=6))

    after = await world.deps.watches.get(watch.id)
    assert [notice.tone for notice in await world.told(watch)] == ["renew"]
    assert len(after.jobs) == 89 // 7  # the first a week after it was said
    assert after.is_active


async def test_several_watches_of_a_place_are_told_in_one_message_a_day():
    """N-21: at nine o'clock of the workspace, whatever was found when."""
    world = World(pages={URL: BEFORE, f"{URL}/2": BEFORE.replace("120", "121")})

    async def in_berlin(_: str) -> WatchLimits:
        return WatchLimits(timezone="Europe/Berlin")

    desk = WatchDesk(world.deps, in_berlin)
    watches = await two_in_one_place(desk)
    await world.pass_until(NOW + timedelta(hours=3))
    world.pages |= {URL: AFTER, f"{URL}/2": AFTER}
    await world.pass_until(NOW + timedelta(hours=18))
    early = await world.delivered()

    await world.pass_until(NOW + timedelta(hours=20))

    ((job_id, at),) = await world.deps.messages.waiting("discord")
    digest = await desk.told_at(at)
    assert early == []
    assert (digest.tone, {part.watch_id for part in digest.parts}) == ("digest", {watch.id for watch in watches})
    await world.deps.messages.delivered(job_id)
    await world.pass_until(NOW + timedelta(hours=48))
    assert await world.delivered() == []


async def two_in_one_place(desk: WatchDesk) -> list[Watch]:
    """What two people watch in one channel is told there together; ada's is first."""
    return [
        await desk.watch_source(url, request, rhythm=Rhythm(1), address=replace(PLACE, place="2"), manner="digest")
        for request, url in ((ADA, URL), (BOB, f"{URL}/2"))
    ]


async def digest_of_two(world: World) -> tuple[str, Address, list[Watch]]:
    """What has changed and is to be told together, below the job."""
    watches = await two_in_one_place(world.desk)
    await world.pass_until(NOW + timedelta(hours=3))
    world.pages |= {URL: AFTER, f"{URL}/2": AFTER}
    await world.pass_until(NOW + timedelta(hours=26))
    ((job_id, at),) = await world.deps.messages.waiting("discord")
    return job_id, at, watches


async def test_who_has_left_takes_only_their_own_out_of_a_digest():
    """Bob watches on, and is told; when nothing of others is left nothing more is told."""
    world = World(pages={URL: BEFORE, f"{URL}/2": BEFORE})
    _, at, (ada, bob) = await digest_of_two(world)

    is_others = await world.desk.place_gone(at, asker="ada")
    active = [(await world.desk.get(one.id)).is_active for one in (ada, bob)]

    assert (is_others, active) == (True, [False, True])
    assert await world.desk.place_gone(at, asker="bob") is False
    assert not (await world.desk.get(bob.id)).is_active


async def test_what_was_sealed_with_another_secret_stops_no_other_watch():
    """Its run ends, untold; a digest of its place goes out at the address of another, and the rest goes on."""
    world = World(pages={URL: BEFORE, f"{URL}/2": BEFORE})
    lost, kept = [await world.desk.watch_source(url, ADA, rhythm=Rhythm(1), address=PLACE) for url in (URL, f"{URL}/2")]
    await world.pass_until(NOW + timedelta(hours=3))
    await world.tables.execute("UPDATE watches SET sealed = 'other' WHERE id = ?", (lost.id,))
    world.pages |= {URL: AFTER, f"{URL}/2": AFTER}

    await world.pass_until(world.now + timedelta(hours=3))

    assert [len(await world.told(one)) for one in (lost, kept)] == [1, 1]
    assert (await world.desk.get(lost.id)).stage == "waiting"
    assert len(await world.delivered()) == 1


async def test_a_digest_that_cannot_be_opened_holds_up_no_run():
    world = World(pages={URL: BEFORE, f"{URL}/2": BEFORE})
    job_id, _, _ = await digest_of_two(world)
    await world.tables.execute("DELETE FROM addresses WHERE job_id = ?", (job_id,))
    await world.tables.execute("UPDATE tellings SET sealed = 'other' WHERE job_id = ?", (job_id,))

    await world.runner.tick(world.now)
    (carrier,) = await world.delivered()
    await world.deps.messages.delivered(carrier)
    await world.tables.execute("UPDATE tellings SET sealed = 'other'")

    assert carrier != job_id
    assert await world.deps.watches.send_digests(world.now) == 0


async def test_a_correction_is_never_written_over_a_digest():
    """A digest is nobody's answer: where the answer itself stands is kept instead, if it is known."""
    world = World(pages={URL: BEFORE, f"{URL}/2": BEFORE})
    job_id, _, _ = await digest_of_two(world)
    standing = SqlStandingChecks(world.tables, clock=lambda: world.now)
    await standing.expect(job_id, world.now, world.now + DAY)

    await world.deps.messages.delivered(job_id)
    await standing.corrected(job_id, "one of its sources was retracted")

    assert await world.delivered() == []


async def test_a_digest_whose_job_was_forgotten_goes_out_with_another():
    """What is left of it is told once."""
    world = World(pages={URL: BEFORE, f"{URL}/2": BEFORE})
    first, _, _ = await digest_of_two(world)

    await SqlArchive(world.tables).erase(Whose(job_id=first), [first])
    await world.pass_until(world.now + timedelta(hours=1))

    ((_, at),) = await world.deps.messages.waiting("discord")
    digest = await world.desk.told_at(at)
    assert [part.job_id == first for part in digest.parts] == [False]


async def test_a_spent_budget_puts_a_run_off_and_ends_nothing():
    """N-20: what a look may cost counts against every budget, and waits for the next month."""
    world = World()
    watch = await world.watched()

    async def spent(_: ResearchRequest) -> None:
        raise BudgetSpent("spent", user_message="Spent.")

    runner = WatchRunner(replace(world.deps, check_budget=spent), world.deps.watches, world.researcher.submit_run)
    for _ in range(20):
        world.now = (await world.deps.watches.get(watch.id)).next_at
        await runner.tick(world.now)

    after = await world.deps.watches.get(watch.id)
    assert (after.is_active, after.failures) == (True, 0)


async def test_what_a_look_asks_the_judge_is_booked_to_who_watches():
    """N-20: in the month's spending, and in what the watch has cost."""
    world = World()
    watch = await world.watched()
    call = TraceEntry("model", "check", NOW, detail="fake-1", prompt_tokens=10, completion_tokens=5, cost_usd=0.02)

    for _ in range(2):
        await SqlTraceStore(world.tables).append(watch.id, [call])

    spent = await SqlSpending(world.tables).spent(CHANNEL.tenant, "ada", month_of(NOW))
    after = await world.deps.watches.get(watch.id)
    assert (spent.user_usd, after.looks_usd) == (pytest.approx(0.04), pytest.approx(0.04))
    assert await world.desk.spent_usd(after) == pytest.approx(0.04)


async def test_a_feed_is_told_of_by_its_new_entries_alone():
    """N-20: other titles, another order and entries that it names no more are silence."""
    first, second, third = ((title, f"https://n.example/{title}") for title in ("One", "Two", "Three"))
    world = World()
    feed = FakeFeed(entries=[second, first])
    world.deps = replace(world.deps, pages=feed)
    world.runner = WatchRunner(world.deps, world.deps.watches, world.researcher.submit_run)
    watch = await world.desk.watch_source(URL, ADA, rhythm=Rhythm(1), address=PLACE)
    await world.pass_until(NOW + timedelta(hours=3))
    feed.entries = [("One and a half", first[1]), second]
    await world.pass_until(NOW + timedelta(hours=6))
    silent = await world.told(watch)
    feed.entries = [third, second]
    await world.pass_until(NOW + timedelta(hours=9))
    feed.entries = [third, second, first]

    await world.pass_until(NOW + timedelta(hours=12))

    (notice,) = await world.told(watch)
    assert silent == []
    assert [(change.kind, change.now, change.now_url) for change in notice.changes] == [("new", *third)]


async def test_a_paper_is_told_of_when_it_is_retracted():
    """N-20: by the registries, whatever its page says."""
    registry = Standing()
    deps, clock = eight_papers(registry)
    researcher = Researcher(deps, Idle())
    runner = WatchRunner(deps, deps.watches, researcher.submit_run)
    watch = await researcher.watching.watch_source(
        "https://doi.org/10.1000/cats.3", ADA, rhythm=Rhythm(48), address=PLACE
    )

    for number in range(5):
        registry.retracted = {3} if number >= 2 else set()
        clock.now = max(clock.now, (await deps.watches.get(watch.id)).next_at)
        await runner.tick(clock.now)

    (notice,) = await deps.watches.notices(watch.id)
    (change,) = notice.changes
    assert (change.kind, change.now) == ("retraction", "“Purring in 3 colonies of cats” was retracted.")


@dataclass
class FakeFeed(FakePages):
    """A feed in place of a page."""

    entries: Sequence[tuple[str, str]] = ()

    async def fetch(self, url: str, *, known: Page | None = None) -> Page:
        text = "\n\n".join(title for title, _ in self.entries)
        return Page(url, "News", text, NOW, entries=tuple(self.entries))


@pytest.mark.parametrize(("presses", "told"), [(0, ["gone"]), (2, ["gone"]), (3, [])])
async def test_what_was_not_worth_telling_is_told_less_each_time(presses: int, told: list[str]):
    """N-20: confidence and news go first, what is gone last; another value is always told."""
    world = World()
    watch = await world.watched()
    for _ in range(presses):
        await world.desk.tighten(watch)
    world.publish("The Harbour Tower is 120 metres tall.")

    await world.pass_until(NOW + 4 * DAY, step=timedelta(hours=1))

    assert [change.kind for notice in await world.told(watch) for change in notice.changes] == told
