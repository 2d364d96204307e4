"""Where something is asked in Slack: whether a channel is open is looked up, and looked up again before long."""

from __future__ import annotations

from datetime import UTC, datetime

from adapters.chat.slack.client import OneWorkspace, web_client
from adapters.chat.slack.threads import REMEMBERED_S, Threads
from adapters.records.tenants import SqlSettings
from core.settings.desk import SettingsDesk
from core.settings.tenant import Ceilings
from tests.loopback.slack_state import ADA, BOT_TOKEN, GENERAL
from tests.loopback.slack_world import SlackWorld
from tests.records import MemoryTables


async def test_a_channel_that_is_closed_later_is_not_taken_for_open_for_long():
    """Nothing private leaks: an admin may make a channel private, or share it with another company, at any time."""
    now = 0.0
    rules = SettingsDesk(SqlSettings(MemoryTables()), lambda _: Ceilings(), clock=lambda: datetime.now(UTC))
    threads = Threads(rules, clock=lambda: now)
    async with SlackWorld.open() as slack:
        team = await OneWorkspace(web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")).find("T1")

        before = await threads.place(team, GENERAL, ADA)
        slack.state.channels[GENERAL].kind = "private"
        now = REMEMBERED_S
        after = await threads.place(team, GENERAL, ADA)

    assert before.scope.visibility == "workspace"
    assert after.scope.visibility == f"channel:{GENERAL}"
