"""Where something is asked in Slack: whether a channel is open is looked up, and looked up again before long."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from adapters.chat.slack.client import OneWorkspace, Workspace, web_client
from adapters.chat.slack.reply import shown_at
from adapters.chat.slack.threads import FAILED_S, REMEMBERED_S, Threads, watch_wish
from adapters.chat.slack.translate import SlackSaid
from adapters.records.tenants import SqlSettings
from core.model.job import ResearchJob, Scope
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.tenancy.settings import Ceilings, TenantSettings
from core.tenancy.settings_desk import SettingsDesk
from core.text.saying import speaking, spoken
from core.watch.watch import Watch
from tests.fakes import Idle, make_deps
from tests.golden import samples
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import ADA, BEN, BOT_TOKEN, BOT_USER, GENERAL, Channel
from tests.loopback.slack_world import SlackWorld
from tests.records import MemoryTables


@dataclass
class Lookers:
    """`now` is the time, in seconds."""

    slack: SlackWorld
    team: Workspace
    threads: Threads = field(init=False)
    now: float = 0.0

    def __post_init__(self) -> None:
        self.rules = SettingsDesk(SqlSettings(MemoryTables()), lambda _: Ceilings(), clock=lambda: datetime.now(UTC))
        self.deps = make_deps()
        self.threads = Threads(self.rules, Researcher(self.deps, Idle()), clock=lambda: self.now)

    def asked(self, method: str) -> int:
        return len([call for call in self.slack.api.calls if call.method == method])

    async def answered(self, visibility: str) -> ResearchJob:
        """Ada has an answer there."""
        request = replace(samples.COMPLETED.request, scope=Scope("slack:T1", visibility), asker=ADA)
        job = await self.deps.jobs.save(replace(samples.COMPLETED, id=f"job_{visibility}", request=request))
        await self.deps.jobs.finish(job, samples.RESULT)
        return job

    async def commands(self, text: str) -> str:
        """What Ada is told of a wish to watch, in the channel that everybody reads."""
        wish = watch_wish(text)
        assert wish is not None
        return (await self.threads.watch_commanded(self.team, GENERAL, ADA, wish)).text

    async def watches(self) -> list[Watch]:
        return await self.deps.watches.of("slack:T1")

    async def conversation(self, root_ts: str, parent: str = "") -> str:
        said = SlackSaid(GENERAL, ADA, f"9{root_ts}", "Why?", thread_ts=root_ts, parent_id=parent)
        return await self.threads.conversation(self.team, said)


@asynccontextmanager
async def lookers() -> AsyncIterator[Lookers]:
    async with SlackWorld.open() as slack:
        team = await OneWorkspace(web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")).find("T1")
        yield Lookers(slack, team)


async def test_what_a_workspace_wants_to_be_spoken_to_in_is_known_from_the_first_press():
    """N-28: also after a restart, when nobody has asked anything yet; it goes before a person's own locale."""
    async with lookers() as house:
        rules, tongues = house.rules, house.threads.tongues
        wanted = replace(TenantSettings(), language="de")
        await rules.save("slack:T1", wanted, version=0, who="ada")

        await tongues.learn_workspace("slack:T1")

        with speaking(*tongues.of("slack:T1", ADA, locale="fr-FR")):
            assert spoken() == "de"


async def test_a_person_who_cannot_be_looked_up_again_is_spoken_to_as_before():
    """What was known of them is not unlearned by a Slack that is in trouble."""
    async with lookers() as here:
        here.slack.state.locales[ADA] = "fr-FR"
        await here.threads.learn_locale(here.team, ADA)
        here.now, here.slack.api.faults["users.info"] = REMEMBERED_S, Fault("fatal_error", times=1)
        await here.threads.learn_locale(here.team, ADA)

        with speaking(*here.threads.tongues.of("slack:T1", ADA)):
            assert spoken() == "fr"
        assert here.asked("users.info") == 2


async def test_a_channel_that_is_closed_later_is_not_taken_for_open_for_long():
    """Nothing private leaks: an admin may make a channel private, or share it with another company, at any time."""
    async with lookers() as here:
        before = await here.threads.place(here.team, GENERAL, ADA)
        here.slack.state.channels[GENERAL].kind = "private"
        here.now = REMEMBERED_S
        after = await here.threads.place(here.team, GENERAL, ADA)

    assert before.scope.visibility == "workspace"
    assert after.scope.visibility == f"channel:{GENERAL}"


async def test_a_channel_that_cannot_be_looked_up_is_closed_and_not_asked_for_again_at_once():
    """A Slack that is in trouble is left alone for a minute."""
    async with lookers() as here:
        here.slack.api.faults["conversations.info"] = Fault("fatal_error", times=1)
        first = await here.threads.place(here.team, GENERAL, ADA)
        second = await here.threads.place(here.team, GENERAL, ADA)
        asked = here.asked("conversations.info")
        here.now = FAILED_S
        third = await here.threads.place(here.team, GENERAL, ADA)

    assert [place.scope.visibility for place in (first, second)] == [f"channel:{GENERAL}"] * 2
    assert asked == 1
    assert third.scope.visibility == "workspace"


async def test_a_thread_that_cannot_be_looked_up_is_its_own_conversation_for_a_minute():
    """Its context is lost, not the question."""
    async with lookers() as here:
        metadata = {"event_type": "gorkd_answer", "event_payload": {"conversation": "slack:C1GENERAL:tr.1"}}
        root = here.slack.state.says(BOT_USER, GENERAL, "Research Complete", metadata=metadata)
        here.slack.api.faults["conversations.replies"] = Fault("fatal_error", times=1)
        names = [await here.conversation(root.ts) for _ in range(2)]
        asked = here.asked("conversations.replies")
        here.now = FAILED_S
        names += [await here.conversation(root.ts) for _ in range(2)]

    assert names == [f"slack:{GENERAL}:{root.ts}"] * 2 + ["slack:C1GENERAL:tr.1"] * 2
    assert (asked, here.asked("conversations.replies")) == (1, 2)


async def test_a_thread_on_somebody_elses_message_is_never_looked_up():
    """Where Slack says whose message it hangs on."""
    async with lookers() as here:
        name = await here.conversation("1.1", parent=BEN)

        assert name == f"slack:{GENERAL}:1.1"
        assert here.asked("conversations.replies") == 0


async def test_a_command_watches_no_answer_of_another_channel():
    """What was asked behind closed doors would be told in the open."""
    async with lookers() as here:
        await here.answered("channel:C9CLOSED")
        refused = await here.commands("watch daily")
        none = await here.watches()
        open_one = await here.answered("workspace")
        begun = await here.commands("watch daily")

        assert none == []
        assert wording.NOTHING_HERE in refused
        assert "Watching this question" in begun
        assert open_one.query in begun
        assert [watch.origin for watch in await here.watches()] == [open_one.id]


async def test_a_command_that_is_no_wish_to_watch_says_how_one_is_said():
    async with lookers() as here:
        assert "`watch this daily`" in await here.commands("watch every banana: What is new in robotics?")


@pytest.mark.parametrize("place", ["<#D7BEN>", "#D7BEN", "<#C9CLOSED>"])
async def test_nobody_has_questions_asked_in_anothers_direct_messages_or_a_closed_channel(place: str):
    async with lookers() as here:
        told = await here.commands(f"every Monday 9:00 in {place}: What is new in robotics?")
        none = await here.watches()
        here_too = await here.commands(f"every Monday 9:00 in <#{GENERAL}|general>: What is new in robotics?")

        assert "cannot ask there" in told
        assert none == []
        assert "I ask this every Monday" in here_too


@pytest.mark.parametrize("is_guest", [True, False])
async def test_a_guest_has_questions_asked_in_no_channel_but_the_one_they_are_in(*, is_guest: bool):
    """A guest sees the channels they were asked into alone; a member may join any that is open."""
    async with lookers() as here:
        here.slack.state.channels["C8OPEN"] = Channel("C8OPEN", "channel", {BEN, BOT_USER})
        here.slack.state.guests |= {ADA} if is_guest else set()

        told = await here.commands("every Monday 9:00 in <#C8OPEN>: What is new in robotics?")
        here_too = await here.commands("every Monday 9:00: What is new in robotics?")

        assert ("cannot ask there" in told) is is_guest
        assert "I ask this every Monday" in here_too


async def test_what_is_said_under_an_answer_of_a_watch_is_about_that_answer():
    """N-20, N-21: what a command watches in a channel is one conversation by name; each answer is told by itself."""
    async with lookers() as here:
        researcher, asked = Researcher(here.deps, Idle()), samples.COMPLETED.request
        roots = {}
        for name in ("tides", "swans"):
            request = replace(asked, scope=Scope("slack:T1", "workspace"), thread=f"slack:{GENERAL}:watch", watch=name)
            job = await here.deps.jobs.save(replace(samples.COMPLETED, id=f"job_{name}", request=request))
            await here.deps.jobs.finish(job, samples.RESULT)
            roots[name] = here.slack.state.says(BOT_USER, GENERAL, "Research Complete").ts
            await researcher.note_shown(job.id, [shown_at("T1", GENERAL, roots[name])])

        talks = {name: await here.conversation(ts) for name, ts in roots.items()}
        meant = [await researcher.latest(talk, scope=Scope("slack:T1", "workspace")) for talk in talks.values()]
        elsewhere = await researcher.latest(talks["tides"], scope=Scope("slack:T1", "channel:C2"))

    assert len(set(talks.values())) == 2
    assert [job.id for job in meant] == ["job_tides", "job_swans"]
    assert elsewhere is None
