"""Workspaces install the app, lapse, leave and come back: OAuth through a browser, and nothing left behind."""

from __future__ import annotations

import asyncio
import html
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from aiohttp import ClientSession, CookieJar
from yarl import URL

from tests.adapters.chat.slack.house import COMPLETE, PUBLIC_URL
from tests.adapters.durable.outside import PAGES, QUESTION, calls, hang_at, heal
from tests.adapters.durable.processes import Process
from tests.adapters.durable.tables import rows_of, until
from tests.loopback.slack_city import TOKEN_S, SlackCity
from tests.loopback.slack_delivery import SignedHttp, deliver
from tests.loopback.slack_state import ADA, BEN, BOT_USER, GENERAL, SECRET, Message
from tests.loopback.slack_world import SlackWorld
from tests.loopback.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")
TEAMS = ("T1", "T2", "TORG", "TDENY", "TGONE", "TROT", "TDEAD")


@dataclass
class Visit:
    """What a browser saw."""

    status: int
    text: str

    @property
    def title(self) -> str:
        found = re.search("<h1>(.*?)</h1>", self.text)
        return html.unescape(found[1]) if found else ""

    @property
    def link(self) -> str:
        """Of the page's button."""
        found = re.search('class="button" href="(.*?)"', self.text)
        return html.unescape(found[1]) if found else ""


class Browser:
    """Keeps cookies, also those for https alone: this machine counts as safe, as it does in Chromium."""

    def __init__(self, address: str) -> None:
        self._address = address
        jar = CookieJar(unsafe=True, treat_as_secure_origin=URL(address))
        self._session = ClientSession(cookie_jar=jar)

    async def open(self, address: str) -> Visit:
        path = address.removeprefix(PUBLIC_URL)
        async with self._session.get(URL(f"{self._address}{path}", encoded=True), allow_redirects=False) as response:
            return Visit(response.status, await response.text())

    async def aclose(self) -> None:
        await self._session.close()


@dataclass
class Town:
    """`gorkd all` in HTTP mode, and the workspaces that may install it."""

    world: World
    city: SlackCity
    env: dict[str, str]
    process: Process
    data: Path

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[Browser]:
        browser = Browser(self.process.address)
        try:
            yield browser
        finally:
            await browser.aclose()

    async def install(self, team: str, user: str = ADA) -> Visit:
        async with self.browser() as browser:
            begun = await browser.open("/slack/install")
            return await browser.open(self.city.allow(begun.link, team, user))

    def slack(self, team: str) -> SlackWorld:
        return self.city.worlds[team]

    def answers(self, team: str, channel: str = GENERAL) -> list[Message]:
        return [one for one in self.slack(team).state.of_bot(channel) if one.text.startswith(COMPLETE)]

    async def answered(self, team: str, question: str = QUESTION, *, channel: str = GENERAL) -> Message:
        """A mention's answer, in its thread."""
        before = len(self.answers(team, channel))
        await self.slack(team).mentions(ADA, channel, question)
        await self.slack(team).until(lambda: len(self.answers(team, channel)) > before)
        return self.answers(team, channel)[-1]

    async def writing(self, team: str, question: str) -> None:
        """Ask, and wait until the model has been asked for the answer."""
        before = calls(self.world, "answer")
        await self.slack(team).mentions(ADA, GENERAL, question)
        await until(lambda: calls(self.world, "answer") > before)

    def rows(self, tenant: str) -> dict[str, int]:
        return rows_of(self.data, tenant)

    async def left(self, tenant: str) -> None:
        """Wait until nothing is kept of a tenant but that it left."""
        await until(lambda: set(self.rows(tenant)) <= {"departures"})

    def statuses(self, tenant: str) -> list[str]:
        """Of a tenant's jobs, oldest first."""
        with closing(sqlite3.connect(f"file:{self.data}/gorkd.db?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT status FROM jobs WHERE tenant = ? ORDER BY created_at", (tenant,))
            return [status for (status,) in rows]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Town]:
    data = tmp_path_factory.mktemp("gorkd")
    async with World.of(PAGES) as world, SlackCity.open(*TEAMS) as city:
        city.public_url = PUBLIC_URL
        env = {**world.env(data, "tavily", model=True), **city.env(), "PORT": "0", "GORKD_PUBLIC_URL": PUBLIC_URL}
        env |= {"GORKD_SLACK_USER_PER_MIN": "1000", "GORKD_SLACK_WORKSPACE_PER_MIN": "1000"}
        process = await Process.start("all", env)
        try:
            city.over_http(process.address)
            yield Town(world, city, env, process, data)
        finally:
            await process.killed()


async def test_two_workspaces_install_the_app_and_are_answered_each_with_its_own_token(town: Town) -> None:
    """G-03: OAuth install + welcome message. Slack is asked once who a token is, and not before acknowledgements."""
    pages = [await town.install("T1", ADA), await town.install("T2", BEN)]

    await asyncio.gather(*(town.answered(team, channel=room) for team in ("T1", "T2") for room in (GENERAL, SECRET)))

    assert [(page.status, page.title) for page in pages] == [(200, "Installed")] * 2
    assert "Team T1" in pages[0].text
    for team, installer in (("T1", ADA), ("T2", BEN)):
        (welcome,) = town.slack(team).state.of_bot(f"D{installer}")
        assert "/invite @gorkd" in welcome.shown
        assert len(town.slack(team).api.named("auth.test")) == 1
        assert max(ack.seconds for ack in town.slack(team).acks) < 1


async def test_bolt_does_not_say_that_slacks_variables_are_ignored(town: Town) -> None:
    """They are in the environment, as docs/deploy.md says; whoever reads the log must not look for a fault there."""
    said = [str(line["event"]) for line in town.process.lines]

    assert any("worker ready" in one for one in said)
    assert [one for one in said if "SLACK_" in one] == []


async def test_no_file_holds_a_token(town: Town) -> None:
    await town.install("T1")
    tokens = [token.encode() for token in town.slack("T1").state.tokens]

    kept = b"".join(path.read_bytes() for path in town.data.rglob("*") if path.is_file())

    assert not any(token in kept for token in tokens)


async def test_app_home_shows_ones_own_questions_and_what_the_workspace_may_see(town: Town) -> None:
    """Nothing from private channels of others; a guest sees their own alone."""
    await town.install("T1")
    await town.answered("T1")
    state = town.slack("T1").state
    await town.slack("T1").mentions(BEN, SECRET, "Which coast has the largest tidal range?")
    await town.slack("T1").until(lambda: any("coast" in one.shown for one in state.of_bot(SECRET)))
    state.guests.add("UGUEST")

    for user in (ADA, BEN, "UGUEST"):
        await town.city.opens_home("T1", user)
        await town.slack("T1").until(lambda user=user: user in state.homes)
    shown = {user: str(view["blocks"]) for user, view in state.homes.items()}

    assert shown[ADA].count(QUESTION) >= 1
    assert "largest tidal range" not in shown[ADA]
    assert "largest tidal range" in shown[BEN]
    assert QUESTION in shown[BEN]
    assert QUESTION not in shown["UGUEST"]
    assert "/invite @gorkd" in shown["UGUEST"]


@pytest.mark.parametrize("why", ["declined", "replayed", "foreign", "forged", "expired", "no code", "used code"])
async def test_installation_that_is_not_the_browsers_own_and_fresh_installs_nothing(town: Town, why: str) -> None:
    """The state counts once, for ten minutes, in the browser that began; every end is a page with a way on."""
    city = town.city
    async with town.browser() as browser, town.browser() as other:
        begun = await browser.open("/slack/install")
        allowed = city.allow(begun.link, "TDENY")
        state = parse_qs(urlsplit(begun.link).query)["state"][0]
        if why == "declined":
            page = await browser.open(city.decline(begun.link))
        elif why == "replayed":
            await browser.open(city.decline(begun.link))
            page = await browser.open(allowed)
        elif why == "foreign":
            await other.open("/slack/install")
            page = await other.open(allowed)
        elif why == "forged":
            page = await browser.open(allowed.replace(state, "a-state-of-ones-own"))
        elif why == "expired":
            with closing(sqlite3.connect(town.data / "gorkd.db", isolation_level=None)) as connection:
                connection.execute("UPDATE one_time_states SET expires_at = 0")
            page = await browser.open(allowed)
        elif why == "no code":
            page = await browser.open(f"/slack/oauth_redirect?state={state}")
        else:
            page = await browser.open(f"/slack/oauth_redirect?state={state}&code=used")

    assert page.title == "Not installed"
    assert page.link == "/slack/install"
    assert page.status == (200 if why == "declined" else 400 if why in ("replayed", "foreign", "forged") else 401)
    assert town.rows("slack:TDENY") == {}


async def test_whole_organisation_is_refused_and_its_token_given_back(town: Town) -> None:
    """Org-wide installs are refused with a sentence."""
    town.city.organisations.add("TORG")

    page = await town.install("TORG")

    assert (page.status, page.title) == (403, "Not installed")
    assert "choose one workspace" in page.text
    assert set(town.slack("TORG").state.tokens.values()) == {"token_revoked"}
    assert not [line for line in town.process.said("installed") if line.get("team") in ("TORG", "E1")]


async def test_uninstalling_while_a_job_runs_leaves_nothing_and_installing_again_works_at_once(town: Town) -> None:
    """The running job is cancelled; questions, answers, papers, spending and tokens are gone, and only of that team."""
    await town.install("TGONE")
    await town.install("T2")
    await town.answered("T2")
    earlier = await town.answered("TGONE")
    hang_at("answer", hang_first=True)(town.world)
    await town.writing("TGONE", "How often do spring tides occur?")

    await town.city.uninstall("TGONE")
    again = await town.install("TGONE")
    heal(town.world)
    answer = await town.answered("TGONE")

    assert again.title == "Installed"
    assert earlier.ts != answer.ts
    rows = town.rows("slack:TGONE")
    assert rows["jobs"] == 1
    assert "departures" not in rows
    assert town.rows("slack:T2")["jobs"] >= 1


async def test_uninstalled_workspace_is_forgotten_and_its_late_events_end_nothing_new(town: Town) -> None:
    """Slack repeats what nobody acknowledged, also after the app is back."""
    await town.install("TGONE")
    await town.answered("TGONE")
    await town.city.uninstall("TGONE")
    await town.left("slack:TGONE")
    await town.slack("TGONE").commands(ADA, GENERAL, QUESTION)
    told = [one.text for one in town.slack("TGONE").state.ephemerals]
    await town.install("TGONE")

    await town.city.tells("TGONE", {"type": "app_uninstalled"}, event_time=1_700_000_000)
    await town.city.tells("TGONE", {"type": "tokens_revoked", "tokens": {"oauth": [ADA]}})
    answer = await town.answered("TGONE")

    assert ["not installed" in one for one in told] == [True]
    assert answer


async def test_revoked_token_costs_the_message_and_not_the_answer(town: Town) -> None:
    """Nothing lost: the answer stands on its page. Whoever installs again begins anew."""
    await town.install("TDEAD")
    state = town.slack("TDEAD").state
    await town.answered("TDEAD", "How often do spring tides occur?")
    hang_at("answer", drip_s=0.005)(town.world)
    await town.writing("TDEAD", QUESTION)
    state.tokens = dict.fromkeys(state.tokens, "token_revoked")
    heal(town.world)
    await until(lambda: town.statuses("slack:TDEAD") == ["completed", "completed"])

    again = await town.install("TDEAD")
    left = town.rows("slack:TDEAD")

    assert again.title == "Installed"
    assert set(left) == {"installations"}


async def test_two_processes_refresh_a_lapsed_token_once_and_every_question_is_answered(town: Town) -> None:
    """Of ten mentions, five in each of two processes, all are answered, with one use of one refresh token."""
    town.city.rotates, town.city.token_s = True, 2
    await town.install("TROT")
    town.city.token_s = TOKEN_S
    second = await Process.start("web", town.env)
    slack, before = town.slack("TROT"), len(town.city.refreshes)
    await town.city.lapsed("TROT")
    entrances = [SignedHttp(f"{process.address}/slack/events") for process in (town.process, second)]
    asked = [slack.state.says(ADA, GENERAL, f"<@{BOT_USER}> {QUESTION}") for _ in range(10)]

    try:
        sent = [
            deliver(entrances[number % 2], "event", slack.event("app_mention", one)) for number, one in enumerate(asked)
        ]
        acks = await asyncio.gather(*sent)
        await slack.until(lambda: len(town.answers("TROT")) == 10, within_s=40)
    finally:
        await second.killed()
        town.city.rotates = False

    assert len(town.city.refreshes) == before + 1
    assert max(ack.seconds for ack in acks) < 3
