"""Discord: what a question there means, who may see it, and when a channel is busy."""

from __future__ import annotations

import asyncio
import re
import tomllib
from dataclasses import asdict, replace
from importlib.resources import files
from itertools import count
from typing import Any

import discord
import pytest
from discord.http import Route

from adapters.chat.discord.bot import ResearchBot
from adapters.chat.discord.client import Traffic
from adapters.chat.discord.delivery import MessageAddress, acknowledge, nonce_of
from adapters.chat.discord.incoming import elsewhere
from adapters.chat.discord.settings import PERMISSIONS, DiscordSettings
from adapters.chat.discord.translate import DiscordPlace, is_open, question_of
from adapters.chat.reply import Tongues
from adapters.chat.watching import HISTORY_LENGTH
from adapters.records.deliveries import SqlMessages
from adapters.records.tenants import SqlSettings
from core.model.errors import SetupError
from core.model.job import Scope
from core.tenancy.settings import Ceilings
from core.tenancy.settings_desk import SettingsDesk
from tests.fakes import now
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.loopback.discord_limits import message_problems
from tests.loopback.discord_world import TOKEN, Fault, discord_world
from tests.records import BOX, MemoryTables
from tests.shared_data import ROOT

PRIVILEGED = discord.Intents(message_content=True, members=True, presences=True).value
OPEN, CLOSED = DiscordPlace(7, 2, 1, is_open=True), DiscordPlace(7, 2, 1)


@pytest.mark.parametrize(
    ("place", "scope"),
    [
        pytest.param(OPEN, Scope("discord:1", "workspace"), id="open channel"),
        pytest.param(CLOSED, Scope("discord:1", "channel:2"), id="unknown or closed channel"),
        pytest.param(
            DiscordPlace(7, 3, 1, audience_id=2), Scope("discord:1", "channel:2"), id="public thread of a closed one"
        ),
        pytest.param(DiscordPlace(7, 2, is_direct=True), Scope("discord:user:7", "user:7"), id="direct message"),
        pytest.param(DiscordPlace(7, 2), Scope("discord:user:7", "channel:2"), id="user install elsewhere"),
        pytest.param(
            DiscordPlace(7, 2, is_open=True), Scope("discord:user:7", "channel:2"), id="open, but not our guild"
        ),
    ],
)
def test_scope_of_a_place(place: DiscordPlace, scope: Scope):
    """Nothing private leaks: unknown means the channel."""
    assert place.scope == scope


@pytest.mark.parametrize(
    ("place", "scope", "shown"),
    [
        pytest.param(OPEN, Scope("discord:1", "workspace"), True, id="in the open"),
        pytest.param(CLOSED, Scope("discord:1", "workspace"), True, id="asked in the open, seen from a closed channel"),
        pytest.param(CLOSED, Scope("discord:1", "channel:2"), True, id="same closed channel"),
        pytest.param(CLOSED, Scope("discord:1", "channel:3"), False, id="another closed channel"),
        pytest.param(OPEN, Scope("discord:1", "user:7"), True, id="one's own private answer"),
        pytest.param(OPEN, Scope("discord:1", "user:8"), False, id="somebody's private answer"),
        pytest.param(OPEN, Scope("discord:2", "workspace"), False, id="another guild"),
        pytest.param(
            DiscordPlace(8, 2), Scope("discord:user:7", "channel:2"), True, id="another's install, same channel"
        ),
        pytest.param(DiscordPlace(8, 3), Scope("discord:user:7", "channel:2"), False, id="another's install elsewhere"),
        pytest.param(
            DiscordPlace(7, 5, is_direct=True), Scope("discord:1", "workspace"), False, id="guild from a message"
        ),
    ],
)
def test_who_may_press_the_buttons_of_a_job(place: DiscordPlace, scope: Scope, shown: bool):
    """Buttons are bound to their job and to who may read it."""
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, scope=scope))

    assert place.shows(job) is shown


@pytest.mark.parametrize(
    ("overwrites", "kind", "expected"),
    [
        pytest.param([], 0, True, id="open"),
        pytest.param([{"id": "1", "type": 0, "allow": "0", "deny": "1024"}], 0, False, id="hidden from everyone"),
        pytest.param([{"id": "1", "type": 0, "allow": "0", "deny": "1024"}], 2, False, id="hidden voice channel"),
    ],
)
async def test_open_means_that_everyone_may_view(overwrites: list[dict[str, object]], kind: int, expected: bool):
    async with new_bot() as bot:
        assert is_open(guild_of(bot, overwrites, kind).get_channel(2)) is expected


@pytest.mark.parametrize(
    ("place", "denied", "expected"),
    [
        pytest.param(OPEN, "0", True, id="everybody writes there"),
        pytest.param(OPEN, "2048", False, id="not everybody writes there"),
        pytest.param(replace(OPEN, is_manager=True), "2048", True, id="who manages the server may"),
        pytest.param(replace(OPEN, is_manager=True), "1024", False, id="not everybody reads it"),
        pytest.param(replace(OPEN, guild_id=3), "0", False, id="another server"),
    ],
)
async def test_questions_are_asked_elsewhere_for_who_may_write_there(place: DiscordPlace, denied: str, expected: bool):
    """Else anybody could have us write among the announcements each morning."""
    async with new_bot() as bot:
        rules = SettingsDesk(SqlSettings(MemoryTables()), lambda _: Ceilings(), clock=now)
        bot.tongues = Tongues(rules)
        bot._connection._guilds[1] = guild_of(bot, [{"id": "1", "type": 0, "allow": "0", "deny": denied}])

        assert (await elsewhere(bot, place, "2") is not None) is expected


def guild_of(bot: ResearchBot, overwrites: list[dict[str, object]], kind: int = 0) -> discord.Guild:
    """With a channel 2 that everyone may read and write in, but for these."""
    everyone = {"id": "1", "name": "@everyone", "permissions": "3072", "position": 0, "color": 0, "hoist": False}
    everyone |= {"managed": False, "mentionable": False, "flags": 0, "colors": {"primary_color": 0}}
    channel = {"id": "2", "type": kind, "name": "general", "position": 0, "permission_overwrites": overwrites}
    channel |= {"bitrate": 64000, "user_limit": 0}
    data: Any = {"id": "1", "name": "g", "roles": [everyone], "channels": [channel]}
    return discord.Guild(data=data, state=bot._connection)


def new_bot(researcher: ScriptedResearcher | None = None) -> ResearchBot:
    return ResearchBot(samples.chat_deps(researcher), DiscordSettings("t"))


class Arriving(ResearchBot):
    """A bot that is slow over what an earlier one left."""

    def __init__(self) -> None:
        super().__init__(
            replace(samples.chat_deps(), messages=SqlMessages(MemoryTables(), BOX, clock=now)),
            DiscordSettings(TOKEN),
        )
        self.begins, self.goes_on = asyncio.Event(), asyncio.Event()

    async def _resume(self) -> int:
        self.begins.set()
        await self.goes_on.wait()
        return 0


async def test_a_stop_in_the_first_seconds_logs_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """What begins with being ready, down to the look at departures, does not run into a closed session."""
    async with discord_world() as discord_:
        monkeypatch.setattr(Route, "BASE", f"{discord_.url}/api/v10")
        async with Arriving() as bot:
            await bot.login(TOKEN)
            bot.dispatch("ready")
            await bot.begins.wait()
            await bot.retire()
            bot.dispatch("ready")  # the gateway may say so once more
        bot.goes_on.set()
        await asyncio.gather(*[task for task in asyncio.all_tasks() if task.get_name().startswith("discord.py")])

    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_what_was_asked_of_a_bot_that_stops_is_refused_before_its_session_is_closed(
    monkeypatch: pytest.MonkeyPatch,
):
    """It was acknowledged, and would say "thinking" for ever."""
    async with discord_world() as world:
        monkeypatch.setattr(Route, "BASE", f"{world.url}/api/v10")
        async with new_bot() as bot:
            await bot.login(TOKEN)
            rules = SettingsDesk(SqlSettings(MemoryTables()), lambda _: Ceilings(), clock=now)
            bot.tongues, bot.is_retiring = Tongues(rules), True
            world.faults["original.delete"] = Fault(429, times=2, retry_after_s=0.2)
            asked = world.slash("research", query="How tall?")
            interaction: Any = discord.Interaction(data=asked.to_json(world.guild), state=bot._connection)  # type: ignore[arg-type]
            bot.tree._from_interaction(interaction)
            await world.until(lambda: world.thinking)

            await bot.retire()

    assert world.thinking == []
    assert "restarted" in world.replies_to(asked)[-1].text


@pytest.mark.parametrize("channel", [None, object(), discord.Object(5)], ids=["none", "other", "partial"])
def test_unknown_channel_is_not_open(channel: object):
    assert is_open(channel) is False


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("<@42> How tall?", "How tall?"),
        ("<@!42>  How <@7>?", "How <@7>?"),
        ("How tall?<@42>", "How tall?"),
        ("<@42>", ""),
        ("<@420> hi", "<@420> hi"),
    ],
)
def test_question_is_what_was_said_besides_the_mention(content: str, question: str):
    assert question_of(content, 42) == question


async def test_no_privileged_intent_is_asked_for():
    """Least intents: who has not enabled them in the portal would be refused."""
    async with new_bot() as bot:
        assert bot.intents.value & PRIVILEGED == 0
        assert bot.allowed_mentions.to_dict() == {"parse": []}


def test_a_channel_is_busy_after_more_than_ten_messages_in_a_minute():
    """G-02."""
    now = 0.0
    traffic = Traffic(clock=lambda: now)
    for _ in range(10):
        traffic.note(1)

    assert not traffic.is_busy(1)
    traffic.note(1)
    assert traffic.is_busy(1)
    assert not traffic.is_busy(2)
    now = 61.0
    assert not traffic.is_busy(1)


def test_an_address_survives_being_stored():
    spot = MessageAddress(1, 2, message_id=3, token="t", token_until=4.5, can_post=True)

    assert MessageAddress.of(spot.to_address()) == spot
    assert spot.to_address().expires_at is None
    assert replace(spot, can_post=False).to_address().expires_at is not None
    assert set(spot.to_address().data) == set(asdict(spot))


def test_nonces_are_as_long_as_discord_takes():
    """At most 25 characters (Discord, create message)."""
    assert len(nonce_of("a", samples.COMPLETED.id)) <= 25
    assert nonce_of("a", samples.COMPLETED.id) != nonce_of("p", samples.COMPLETED.id)


def test_the_invitation_asks_for_the_permissions_that_are_explained():
    """docs/discord.md: the integer in the link is the table below it."""
    page = (ROOT / "docs" / "discord.md").read_text("utf-8")
    invited = discord.Permissions(int(re.findall(r"permissions=(\d+)", page)[0]))
    assert invited.value == PERMISSIONS
    explained = re.findall(r"^\| ([A-Z][A-Za-z ]+) \| ", page.partition("| Permission |")[2].partition("\n\n")[0], re.M)

    named = {name for name, is_set in invited if is_set}

    assert named == {
        {"View Channels": "read_messages"}.get(title, title.lower().replace(" ", "_")) for title in explained
    }


def test_every_word_is_used_and_every_used_word_is_there():
    """The bot's own words live in one data file, ready for other languages."""
    written = tomllib.loads(files("adapters.chat.discord").joinpath("words.toml").read_text("utf-8"))
    known = {f"{section}.{name}" for section, words in written.items() for name in words}
    code = "".join(path.read_text("utf-8") for path in (ROOT / "adapters/chat/discord").glob("*.py"))

    used = set(re.findall(r"""\bword\(\s*["']([a-z_.]+)["']""", code))

    assert used == known


@pytest.mark.parametrize(
    ("env", "named"),
    [({}, "DISCORD_TOKEN"), ({"DISCORD_TOKEN": "abc", "GORKD_DISCORD_THREADS": "often"}, "GORKD_DISCORD_THREADS")],
    ids=["no token", "unknown choice"],
)
def test_settings_name_what_is_wrong(env: dict[str, str], named: str):
    with pytest.raises(SetupError, match=named):
        DiscordSettings.from_env(env)


def test_settings_hide_what_is_secret():
    assert "abc" not in repr(DiscordSettings.from_env({"DISCORD_TOKEN": "abc"}))


async def test_what_breaks_behind_an_acknowledgement_can_still_be_told(monkeypatch: pytest.MonkeyPatch):
    """Whoever apologises acknowledges once more, and has the message that stands; else it would think for ever."""
    async with discord_world() as world, new_bot() as bot:
        monkeypatch.setattr(Route, "BASE", f"{world.url}/api/v10")
        await bot.login(TOKEN)
        asked = world.slash("research", query="How tall?")
        interaction: Any = discord.Interaction(data=asked.to_json(world.guild), state=bot._connection)  # type: ignore[arg-type]

        first = await acknowledge(interaction)
        again = await acknowledge(interaction, ephemeral=True)

        assert again.token == first.token
        assert [name for name, _ in world.requests].count("callback") == 1


async def test_an_acknowledgement_whose_reply_was_lost_is_not_sent_once_more_when_discord_has_it(
    monkeypatch: pytest.MonkeyPatch,
):
    """40060 says that it stands: from then on it is as if its reply had come."""
    async with discord_world() as world, new_bot() as bot:
        monkeypatch.setattr(Route, "BASE", f"{world.url}/api/v10")
        await bot.login(TOKEN)
        asked = world.slash("research", query="How tall?")
        interaction: Any = discord.Interaction(data=asked.to_json(world.guild), state=bot._connection)  # type: ignore[arg-type]
        world.faults["callback"] = Fault(0, after_effect=True)

        spots = [await acknowledge(interaction) for _ in range(3)]

        assert all(spot is not None and spot.token == interaction.token for spot in spots)
        assert [name for name, _ in world.requests].count("callback") == 2  # the lost one, and the one that was told


async def test_an_edit_that_is_given_up_at_any_moment_holds_up_none_after_it(monkeypatch: pytest.MonkeyPatch):
    """discord.py 2.7.1 loses the turn of one that is cancelled just after it was answered, and then all wait for it."""
    async with discord_world() as world, new_bot() as bot:
        monkeypatch.setattr(Route, "BASE", f"{world.url}/api/v10")
        await bot.login(TOKEN)
        message = await bot.get_partial_messageable(int(world.open.id)).send("0")
        for turns in count():
            given_up = asyncio.create_task(message.edit(content="given up"))
            for _ in range(turns):
                await asyncio.sleep(0)
            was_late = not given_up.cancel()
            await asyncio.gather(given_up, return_exceptions=True)

            async with asyncio.timeout(5):
                shown = await message.edit(content=f"{turns}")

            assert shown.content == f"{turns}"
            if was_late:
                break


async def test_a_long_history_fits_where_nothing_may_be_embedded():
    """Whatever was asked: what has no room is left out, the oldest first."""
    own = replace(samples.COMPLETED.request, query="Why `so`? " * 60, scope=CLOSED.scope)
    asked = [replace(samples.COMPLETED, request=own)] * HISTORY_LENGTH

    async with new_bot(ScriptedResearcher()) as bot:
        message = bot.voice.history(asked)

    body = {"content": message.text, "embeds": [message.embed.to_dict()], "allowed_mentions": {}}
    assert message_problems(body) == []
    assert (message.embed.description or "").count("View Full Analysis") == HISTORY_LENGTH
    assert 3 <= message.text.count("View Full Analysis") < HISTORY_LENGTH
