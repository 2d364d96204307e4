"""One way to talk to gorkd in each loopback chat, so that a conversation is scripted once."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from adapters.chat.desk import REACTIONS
from core.model.job import JobStatus
from core.presentation import wording
from tests.adapters.chat.slack.house import SlackHouse
from tests.adapters.durable.outside import PAGES
from tests.adapters.durable.processes import Process
from tests.examples.quay.server import TOKEN, Quay
from tests.loopback import discord_data, slack_state
from tests.loopback.discord_house import House
from tests.loopback.openai_responders import Fault, by_schema
from tests.loopback.world import World

PATIENCE_S = 40.0  # of a busy machine; what goes well takes a second or two
WRITING = wording.STATUS_MESSAGES[JobStatus.SYNTHESIZING]
SOURCE = "How tides work"  # the title of a page that every answer reads
_COUNTED = itertools.count(2)
Where = Literal["channel", "thread", "direct"]
ENDINGS = (
    wording.TITLE_COMPLETE, wording.TITLE_INSUFFICIENT, wording.TITLE_FAILED, wording.TITLE_CANCELLED
)  # fmt: skip


@dataclass
class Talk:
    """A question by `asker` and what came of it; `other` can read it, but in direct messages there is none.

    `shown` reads the message that answers, "" while there is none or when it is gone. The rest is the platform's own.
    """

    where: Where
    asker: Any
    other: Any
    asked: Any
    shown: Callable[[], str]
    channel: Any = None
    thread: str = ""
    seen: list[str] = field(default_factory=list)


Read = Callable[[], list[str]]  # what somebody can read that came of what was said


class Platform(Protocol):
    """`reset` makes the outside friendly again."""

    world: World

    async def asks(self, where: Where) -> Talk: ...

    async def says(self, talk: Talk, who: Any, text: str) -> Read: ...

    async def edits(self, talk: Talk, text: str) -> Read: ...

    async def presses(self, talk: Talk, who: Any, button: str) -> Read: ...

    async def until(self, condition: Callable[[], object]) -> None: ...

    def can_cancel(self, talk: Talk) -> bool: ...

    def is_settled(self, talk: Talk) -> bool: ...

    def reset(self) -> None: ...


class InDiscord:
    def __init__(self, house: House) -> None:
        self.house, self.discord, self.world = house, house.discord, house.world

    async def asks(self, where: Where) -> Talk:
        asker, other = (discord_data.user(self.discord.ids.next(), name) for name in ("ada", "ben"))
        channel = self.discord.direct(asker) if where == "direct" else self.discord.open
        if where == "thread":
            channel = self.discord.add_thread(self.discord.say("Look at the sea", person=other), "talk")
        asked = self.discord.say(self._to_bot(where, question()), person=asker, channel=channel)
        return Talk(where, asker, other, asked, lambda: "".join(self._replies(asked)[:1]), channel)

    async def says(self, talk: Talk, who: Any, text: str) -> Read:
        """In a channel as a reply to the answer, which may be gone."""
        above = self._answer(talk) if talk.where == "channel" else None
        said = self.discord.say(self._to_bot(talk.where, text), person=who, channel=talk.channel, reply_to=above)
        signs = {sign for sign, _ in REACTIONS.values()}
        return lambda: [
            *self._replies(said),
            *(sign for message, sign in self.discord.reactions if message == said.id and sign in signs),
        ]

    async def edits(self, talk: Talk, text: str) -> Read:
        """Of the question; read is what is then said under it besides its answer."""
        before = len(self._replies(talk.asked))
        self.discord.edit(talk.asked, self._to_bot(talk.where, text))
        return lambda: self._replies(talk.asked)[before:]

    async def presses(self, talk: Talk, who: Any, button: str) -> Read:
        before = talk.shown()
        label = wording.BUTTONS[button]
        under = next(one for one in reversed(self._under(talk)) if label in one.buttons)
        pressed = self.discord.press(under, label, person=who)
        if under is not self._answer(talk):
            return lambda: [*{one.text for one in (under, *self.discord.replies_to(pressed)) if not one.is_thinking}]
        # A message that took the place of the pressed one is read once.
        return lambda: [*{*self._replies(pressed), *([talk.shown()] if talk.shown() != before else [])}]

    async def until(self, condition: Callable[[], object]) -> None:
        await self.discord.until(condition, within_s=PATIENCE_S)

    def can_cancel(self, talk: Talk) -> bool:
        return WRITING in talk.shown() and wording.CANCEL in self._answer(talk).buttons

    def is_settled(self, talk: Talk) -> bool:
        return is_ended(talk)

    def reset(self) -> None:
        self.house.at_rest()

    def _answer(self, talk: Talk) -> discord_data.Message:
        """Also when it has been taken away since."""
        return self._under(talk)[0]

    def _under(self, talk: Talk) -> list[discord_data.Message]:
        return [
            one for one in self.discord.messages.values() if (one.reference or {}).get("message_id") == talk.asked.id
        ]

    def _replies(self, said: Any) -> list[str]:
        return [one.text for one in self.discord.replies_to(said) if not one.is_thinking]

    def _to_bot(self, where: Where, text: str) -> str:
        return text if where == "direct" else f"@gorkd {text}"


class InSlack:
    def __init__(self, house: SlackHouse, responders: Any) -> None:
        self.house, self.slack, self.world, self._responders = house, house.slack, house.world, responders

    async def asks(self, where: Where) -> Talk:
        asker, other = self.house.person(), self.house.person()
        if where == "direct":
            channel, thread = self.slack.state.direct(asker), ""
            asked = await self.slack.direct(asker, question())
        else:
            channel = self.house.channel(asker)
            self.slack.state.channels[channel].members.add(other)
            thread = self.slack.state.says(other, channel, "Look at the sea").ts if where == "thread" else ""
            asked = await self.slack.mentions(asker, channel, question(), thread_ts=thread)

        def shown() -> str:
            return next((_text(one) for one in self.slack.state.of_bot(channel)), "")

        return Talk(where, asker, other, asked, shown, channel, thread or asked.ts)

    async def says(self, talk: Talk, who: Any, text: str) -> Read:
        read = self._reader(talk, who)
        if talk.where == "direct":
            said = await self.slack.direct(who, text)
        else:
            said = await self.slack.mentions(who, talk.channel, text, thread_ts=talk.thread)
        signs = {name: sign for sign, name in REACTIONS.values()}
        return lambda: [*read(), *(signs[name] for name in said.reactions)]

    async def edits(self, talk: Talk, text: str) -> Read:
        read = self._reader(talk, talk.asker)
        await self.slack.edits(talk.asked, text)
        return read

    async def presses(self, talk: Talk, who: Any, button: str) -> Read:
        read = self._reader(talk, who)
        answer = self.slack.state.of_bot(talk.channel)[0]
        if button == "changed" and talk.where != "direct":  # the offer is for the asker's eyes alone
            aside = next(one for one in reversed(self.slack.state.ephemerals) if one.user == talk.asker)
            await self.slack.clicks_aside(aside, button)
        elif button == "changed":
            await self.slack.clicks(who, self.slack.state.of_bot(talk.channel)[-1], button)
        elif button == "export" and button not in answer.buttons:  # in a full menu it gives way to its word
            return await self.says(talk, who, button)
        elif button == "good":
            await self.slack.clicks(who, answer, "rate", value=answer.buttons["rate"]["positive_button"]["value"])
        else:
            await self.slack.clicks(who, answer, button)
        return read

    async def until(self, condition: Callable[[], object]) -> None:
        await self.slack.until(condition, within_s=PATIENCE_S)

    def can_cancel(self, talk: Talk) -> bool:
        return WRITING in talk.shown() and "cancel" in self.slack.state.of_bot(talk.channel)[0].buttons

    def is_settled(self, talk: Talk) -> bool:
        """With the sources, which come after the answer."""
        posted = self.slack.state.of_bot(talk.channel)
        has_sources = any(one.text.startswith("Sources: ") for one in posted)
        return is_ended(talk) and (has_sources or wording.TITLE_COMPLETE not in talk.shown())

    def reset(self) -> None:
        self.world.search.faults.clear()
        self.world.model.respond = by_schema(self._responders)

    def _reader(self, talk: Talk, who: Any) -> Read:
        """Messages that are new or changed, and what is new for that person's eyes alone."""
        before = {one.ts: _text(one) for one in self.slack.state.of_bot(talk.channel)}
        whispers = len(self.house.whispers(who))

        def read() -> list[str]:
            now = [one for one in self.slack.state.of_bot(talk.channel) if before.get(one.ts) != _text(one)]
            return [*map(_text, now), *self.house.whispers(who)[whispers:]]

        return read


class InQuay:
    """The third platform: an example of our own (tests/examples/quay)."""

    process: Process

    def __init__(self, quay: Quay, world: World, responders: Any, env: Mapping[str, str]) -> None:
        self.quay, self.world, self._responders, self._env = quay, world, responders, env

    async def start(self) -> None:
        self.process = await Process.start("", self._env, module="tests.examples.quay")

    async def asks(self, where: Where) -> Talk:
        asker, other = self.quay.person("ada"), self.quay.person("ben")
        room = self.quay.room(is_direct=where == "direct")
        root = self.quay.says(other, room, "Look at the sea").id if where == "thread" else 0
        asked = self.quay.says(asker, room, f"@gorkd {question()}", thread=root)
        thread = 0 if where == "direct" else root or asked.id
        return Talk(where, asker, other, asked, lambda: next(self._texts(room, asker), ""), room, str(thread))

    async def says(self, talk: Talk, who: Any, text: str) -> Read:
        read = self._reader(talk, who)
        said = self.quay.says(who, talk.channel, f"@gorkd {text}", thread=int(talk.thread))
        signs = {name: sign for sign, name in REACTIONS.values()}
        return lambda: [*read(), *(signs[name] for name in self.quay.messages[said.id].signs)]

    async def edits(self, talk: Talk, text: str) -> Read:
        read = self._reader(talk, talk.asker)
        self.quay.edits(talk.asked, f"@gorkd {text}")
        return read

    async def presses(self, talk: Talk, who: Any, button: str) -> Read:
        if button == "export":  # a word there
            return await self.says(talk, who, button)
        read = self._reader(talk, who)
        seen = self.quay.seen_by(talk.asker, talk.channel)
        self.quay.presses(who, next(one for one in seen if button in {each.name for each in one.buttons}), button)
        return read

    async def until(self, condition: Callable[[], object]) -> None:
        await self.quay.until(condition, within_s=PATIENCE_S)

    def can_cancel(self, talk: Talk) -> bool:
        return WRITING in talk.shown()

    def is_settled(self, talk: Talk) -> bool:
        return is_ended(talk)

    def reset(self) -> None:
        self.world.search.faults.clear()
        self.world.model.respond = by_schema(self._responders)

    def _texts(self, room: str, who: str) -> Iterator[str]:
        return (one.text for one in self.quay.seen_by(who, room))

    def _reader(self, talk: Talk, who: Any) -> Read:
        """Messages that are new or changed."""
        before = {one.id: one.text for one in self.quay.seen_by(who, talk.channel)}
        return lambda: [one.text for one in self.quay.seen_by(who, talk.channel) if before.get(one.id) != one.text]


@asynccontextmanager
async def in_quay(data: Path, responders: Any, **changes: str) -> AsyncIterator[InQuay]:
    """Bot and worker in one process, as an operator would run them."""
    async with Quay.open() as quay, World.of(PAGES) as world:
        env = {
            **world.search.env("arxiv"),
            **world.env(data, "tavily", model=True),
            "QUAY_URL": quay.url,
            "QUAY_TOKEN": TOKEN,
            "GORKD_PUBLIC_URL": "https://gorkd.test",
            **changes,
        }
        platform = InQuay(quay, world, responders, env)
        await platform.start()
        try:
            yield platform
            assert quay.problems == []
        finally:
            await platform.process.killed()


def question() -> str:
    """Another one each time: what is asked twice at once is researched once."""
    return f"What causes the tides? I ask for {next(_COUNTED)} people."


def _text(message: slack_state.Message) -> str:
    return f"{message.text}\n{message.shown}"


def is_ended(talk: Talk) -> bool:
    return any(ending in talk.shown() for ending in ENDINGS)


def fails(world: World) -> None:
    """From now on the model is down."""
    world.model.respond = Fault(status=500, message="down")


def hangs(world: World, responders: Any) -> list[Any]:
    """From now on no answer is ever finished; the calls that hang."""
    hanging: list[Any] = []

    def hang(call: Any) -> Fault:
        hanging.append(call)
        return Fault(hang_first=True)

    world.model.respond = by_schema({**responders, "answer": hang})
    return hanging
