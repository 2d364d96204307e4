"""Tokens that lapse, kept fresh by several processes at once, without anybody waiting for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from aiohttp import ClientSession
from slack_sdk.oauth.installation_store import Bot
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator

from adapters.chat.slack.client import NotInstalled, web_client
from adapters.chat.slack.installations import Installations, InstalledWorkspaces
from adapters.records.sqlite import Database
from adapters.records.tenants import SqlAppTenants, SqlTurns
from adapters.secrets import SecretBox
from tests.loopback.slack_city import CLIENT_ID, CLIENT_SECRET, TOKEN_S, SlackCity

HOUR_S = 3600


def now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def processes(city: SlackCity, folder: Path, count: int) -> AsyncIterator[list[InstalledWorkspaces]]:
    """As many as there are, each with its own connection to one file of records."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(ClientSession())
        client_of = partial(web_client, session=session, api_url=f"{city.url}/api/")
        found = []
        for _ in range(count):
            database = await Database.open(folder)
            stack.push_async_callback(database.aclose)
            tokens = SqlAppTenants(database, SecretBox(("a secret of this test",)), clock=now)
            rotator = AsyncTokenRotator(client_id=CLIENT_ID, client_secret=CLIENT_SECRET, client=client_of(""))
            workspaces = InstalledWorkspaces(Installations(tokens), SqlTurns(database, clock=now), rotator, client_of)
            stack.push_async_callback(workspaces.aclose)
            found.append(workspaces)
        yield found


async def installed(city: SlackCity, folder: Path, *, left_s: int, refresh_token: str = "") -> str:
    """A workspace whose token has so long to live; gives the token."""
    given = city.grant("T1")
    database = await Database.open(folder)
    tokens = SqlAppTenants(database, SecretBox(("a secret of this test",)), clock=now)
    bot = Bot(
        team_id="T1", bot_token=given["access_token"], bot_id="B1", bot_user_id="UBOT", installed_at=time.time(),
        bot_refresh_token=refresh_token or given["refresh_token"], bot_token_expires_at=int(time.time()) + left_s,
    )  # fmt: skip
    await Installations(tokens).async_save_bot(bot)
    await database.aclose()
    return str(given["access_token"])


async def test_token_that_will_lapse_soon_serves_until_another_is_there_and_is_refreshed_once(tmp_path: Path) -> None:
    """Well before it lapses, by one of three processes with many events each; nobody waits for it."""
    async with SlackCity.open("T1") as city:
        city.rotates = True
        old = await installed(city, tmp_path, left_s=HOUR_S)
        async with processes(city, tmp_path, 3) as several:
            first = await asyncio.gather(*(one.find("T1") for one in several * 10))
            for one in several:
                await one.aclose()
            later = await asyncio.gather(*(one.find("T1") for one in several))

    assert old in {workspace.client.token for workspace in first}
    assert len(city.refreshes) == 1
    assert len({workspace.client.token for workspace in later} - {old}) == 1
    assert old not in {workspace.client.token for workspace in later}


async def test_lapsed_token_is_waited_for_by_all_and_refreshed_once(tmp_path: Path) -> None:
    async with SlackCity.open("T1") as city:
        city.rotates = True
        old = await installed(city, tmp_path, left_s=-1)
        async with processes(city, tmp_path, 3) as several:
            found = await asyncio.gather(*(one.find("T1") for one in several * 10))

    assert len(city.refreshes) == 1
    assert old not in {workspace.client.token for workspace in found}
    assert len({workspace.client.token for workspace in found}) == 1


async def test_refused_refresh_is_not_tried_with_every_event_and_the_token_serves_on(tmp_path: Path) -> None:
    """A refresh token that Slack does not know: until the workspace installs the app again."""
    async with SlackCity.open("T1") as city:
        city.rotates = True
        old = await installed(city, tmp_path, left_s=HOUR_S, refresh_token="xoxe-1-unknown")
        async with processes(city, tmp_path, 1) as (one,):
            for _ in range(5):
                found = await one.find("T1")
                await one.aclose()

    assert found.client.token == old
    assert city.refreshes == ["xoxe-1-unknown"]


async def test_process_that_dies_in_its_turn_holds_nobody_up_while_the_token_lives(tmp_path: Path) -> None:
    """Its turn ends by itself; until then the old token serves."""
    async with SlackCity.open("T1") as city:
        city.rotates = True
        old = await installed(city, tmp_path, left_s=HOUR_S)
        database = await Database.open(tmp_path)
        dead = SqlTurns(database, clock=lambda: now() - timedelta(minutes=5))
        assert await dead.take("token:slack:T1", "died", ttl=timedelta(minutes=5))
        async with processes(city, tmp_path, 1) as (one,):
            served = await one.find("T1")
            await one.aclose()
            fresh = await one.find("T1")
        await database.aclose()

    assert served.client.token == old
    assert fresh.client.token != old
    assert city.token_s == TOKEN_S


async def test_team_that_has_not_installed_the_app_has_no_token(tmp_path: Path) -> None:
    async with SlackCity.open("T1") as city, processes(city, tmp_path, 1) as (one,):
        with pytest.raises(NotInstalled, match="T1"):
            await one.find("T1")
