"""An answer that was given before, as people see it: how fast, and that it says so (D12, S003-24)."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import pytest
from rich.console import Console

from adapters.chat.discord.payload import MoreMenu
from adapters.chat.discord.render import DiscordVoice
from adapters.chat.live import LiveAnswers
from adapters.chat.slack.render import SlackVoice
from adapters.cli.ask import print_answer
from adapters.durable.queue import InProcessQueue
from adapters.web.access import JobLinks
from adapters.web.view import job_view
from core.model.answer import JobResult
from core.model.delivery import Address
from core.model.job import ResearchJob, ResearchRequest, Scope
from core.model.ports import ChatRequest
from core.model.source import Source
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.snapshot import Snapshot
from core.presentation.wording import CHECKING_EARLIER, REFRESH, WHAT_CHANGED, earlier_answer
from tests.core.stages.test_similar import ASKED, SAME, house
from tests.fakes import FakeModel, answered_in
from tests.golden import samples

CHANNEL = Scope("discord:1", "channel:2")
LIMIT_S = 0.5  # from the question to the edit (S003-24)


@dataclass
class Message:
    """What stands in it, edit by edit."""

    edits: list[str] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    is_streaming: bool = False
    address: Address = field(default_factory=lambda: Address("discord", {"message": 1}))
    shown: Sequence[Address] = ()

    async def edit(self, payload: str, /) -> None:
        self.edits.append(payload)
        self.changed.set()

    async def repost(self, payload: str, job_id: str, /) -> None:
        await self.edit(payload)

    async def ping(self, asker: str, key: str, said: str = "", /) -> None: ...

    async def until(self, says: Callable[[str], bool]) -> float:
        """How long it took until the message said so, in seconds."""
        began = perf_counter()
        async with asyncio.timeout(10):
            while not any(map(says, self.edits)):
                self.changed.clear()
                await self.changed.wait()
        return perf_counter() - began


class Words:
    """Payloads are words."""

    def progress(self, job: ResearchJob, snapshot: Snapshot, elapsed_s: float) -> str:
        return f"{snapshot.message} | {' '.join(snapshot.sentences.values())}"

    def outcome(
        self,
        job: ResearchJob,
        result: JobResult | None,
        sources: Sequence[Source],
        *,
        first_asker: str = "",
        explains: bool = False,
    ) -> str:
        return f"done: {earlier_answer(job, result)}"

    def refusal(self, sentence: str) -> str:
        return f"refused: {sentence}"


def gate(deps: Deps) -> tuple[Deps, asyncio.Event]:
    """The model's plan comes when the event is set."""
    opened = asyncio.Event()

    class Gated(FakeModel):
        async def stream(self, request: ChatRequest):  # type: ignore[no-untyped-def, override]
            if request.purpose == "plan" and "same_as" in str(request.schema):
                await opened.wait()
            async for delta in super().stream(request):
                yield delta

    assert isinstance(deps.model, FakeModel)
    return replace(deps, model=Gated(deps.model.answers)), opened


async def answered_once(deps: Deps) -> Researcher:
    """A researcher who runs jobs in this process, asked once."""

    async def run(job_id: str) -> None:
        await run_job(job_id, deps, DirectSteps())

    researcher = Researcher(deps, InProcessQueue(run, concurrency=4, limit=10, on_cancelled=run))
    job = await researcher.submit(ResearchRequest(ASKED, CHANNEL))
    async for _ in researcher.follow(job.id):
        pass
    return researcher


async def test_the_same_question_is_answered_in_chat_within_half_a_second() -> None:
    """S003-24: from the question to the edit, by the exact key."""
    researcher = await answered_once(house())
    bot, message = LiveAnswers(researcher, Words(), platform="discord"), Message()
    began = perf_counter()

    job = await answered_in(bot, researcher, ResearchRequest(ASKED.lower(), CHANNEL), message, "discord:9")
    took_s = perf_counter() - began

    result = await researcher.result(job.id)
    assert result.cached_question == ASKED
    assert message.edits[-1].startswith("done")
    assert took_s < LIMIT_S


async def test_a_near_question_shows_its_answer_at_once_and_waits_for_the_plan_call() -> None:
    """D12: within half a second, marked; what the plan call says makes it final."""
    deps, opened = gate(house(same_as="1"))
    researcher = await answered_once(deps)
    bot, message = LiveAnswers(researcher, Words(), platform="discord"), Message()

    answering = asyncio.create_task(answered_in(bot, researcher, ResearchRequest(SAME, CHANNEL), message, "discord:9"))
    took_s = await message.until(lambda words: words.startswith(CHECKING_EARLIER) and "larynx" in words)
    opened.set()
    began = perf_counter()
    await answering

    assert took_s < LIMIT_S
    assert perf_counter() - began < LIMIT_S
    assert message.edits[-1].startswith("done")
    assert len([words for words in message.edits if words.startswith("done")]) == 1


async def test_an_answer_to_another_question_leaves_the_message_again() -> None:
    """Whoever saw it sees it taken back, in the same message, before the real answer comes."""
    deps, opened = gate(house(same_as=None))
    researcher = await answered_once(deps)
    bot, message = LiveAnswers(researcher, Words(), platform="discord"), Message()

    answering = asyncio.create_task(answered_in(bot, researcher, ResearchRequest(SAME, CHANNEL), message, "discord:9"))
    await message.until(lambda words: words.startswith(CHECKING_EARLIER) and "larynx" in words)
    opened.set()
    await answering

    assert message.edits[-1] == "done: "


REPEATED = replace(
    samples.RESULT,
    cached_at="2026-03-11T11:00:00+00:00",
    cached_question="What is the height of the Eddystone lighthouse?",
)
NOTICE = "Answered 3 days ago for: What is the height of the Eddystone lighthouse?"


def shown(name: str) -> str:
    outcome = (samples.COMPLETED, REPEATED, samples.SOURCES)
    if name == "discord":
        return DiscordVoice(samples.LINKS).outcome(*outcome).text
    if name == "slack":
        return json.dumps(SlackVoice(samples.LINKS).outcome(*outcome).blocks)
    if name == "page":
        view = job_view(*outcome, JobLinks("job_1"))
        return "\n".join(view.notices)
    text = io.StringIO()
    print_answer(Console(file=text, width=100), samples.COMPLETED, REPEATED, samples.ANSWER, samples.SOURCES)
    return text.getvalue()


@pytest.mark.parametrize("name", ["discord", "slack", "page", "cli"])
def test_every_interface_says_that_it_was_answered_before(name: str) -> None:
    """S003-19: with its age and its own question."""
    assert shown(name).count(NOTICE) == 1


@pytest.mark.parametrize("name", ["discord", "slack"])
def test_a_repeated_answer_names_its_first_asker_and_offers_to_renew_it(name: str) -> None:
    """D12: Refresh and What changed below it; below the renewed answer What changed alone."""
    renewed = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, refreshes="job_1"))

    told, offered = buttons_and_text(name, samples.COMPLETED, REPEATED)
    _, offered_later = buttons_and_text(name, renewed, samples.RESULT)
    _, offered_else = buttons_and_text(name, samples.COMPLETED, samples.RESULT)

    assert f"Answered 3 days ago for <@7>: {REPEATED.cached_question}" in told
    assert [label for label in offered if label in (REFRESH, WHAT_CHANGED)] == [REFRESH, WHAT_CHANGED]
    assert [label for label in offered_later if label in (REFRESH, WHAT_CHANGED)] == [WHAT_CHANGED]
    assert not {REFRESH, WHAT_CHANGED} & set(offered_else)


def buttons_and_text(name: str, job: ResearchJob, result: JobResult) -> tuple[str, list[str]]:
    if name == "discord":
        message = DiscordVoice(samples.LINKS).outcome(job, result, samples.SOURCES, first_asker="7")
        shown = [one for row in message.rows for one in row]
        chosen = [one.choices if isinstance(one, MoreMenu) else [("", one.label)] for one in shown]
        return message.text, [label for choices in chosen for _, label in choices]
    blocks = SlackVoice(samples.LINKS).outcome(job, result, samples.SOURCES, first_asker="7").blocks
    elements = [one for block in blocks if block["type"] == "actions" for one in block["elements"]]
    return json.dumps(blocks), [each["text"]["text"] for one in elements for each in one.get("options", [one])]


@pytest.mark.parametrize("name", ["discord", "slack"])
def test_an_unconfirmed_answer_is_shown_under_its_own_question(name: str) -> None:
    """D12: the mark and the question stand above the sentences."""
    snapshot = Snapshot(
        message=f"{CHECKING_EARLIER}: “{ASKED}”", earlier=ASKED, sentences={"summary-0": "The larynx twitches [1]."}
    )
    voice = DiscordVoice(samples.LINKS) if name == "discord" else SlackVoice(samples.LINKS)

    text = (
        json.dumps(voice.progress(samples.RUNNING, snapshot, 0.3).blocks, ensure_ascii=False)
        if isinstance(voice, SlackVoice)
        else voice.progress(samples.RUNNING, snapshot, 0.3).text
    )

    assert text.index(CHECKING_EARLIER) < text.index(ASKED) < text.index("larynx twitches")
