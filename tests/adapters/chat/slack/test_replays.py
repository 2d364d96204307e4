"""A request of Slack's counts once: whichever process it is sent to again, and whatever was restarted meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

from tests.adapters.durable.processes import Process
from tests.loopback.slack_delivery import SignedHttp, encode
from tests.loopback.slack_world import SlackWorld

PING = {"type": "url_verification", "challenge": "3eZbrw1aB"}


async def test_a_request_counts_once_in_all_processes_and_after_a_restart(tmp_path: Path):
    """What was overheard once and is sent on within five minutes does nothing (S003-21)."""
    body, kind = encode("event", PING)
    now = time.time()
    async with SlackWorld.open() as slack:
        env = {**slack.env(http=True), "GORKD_DATA": str(tmp_path), "GORKD_PROVIDERS": "files", "PORT": "0"}
        first, second = await Process.start("web", env), await Process.start("web", env)

        statuses = [await post(process, body, kind, now) for process in (first, second, first)]
        await first.killed()
        await second.killed()
        third = await Process.start("web", env)
        statuses.append(await post(third, body, kind, now))
        statuses.append(await post(third, body, kind, now + 1))
        await third.killed()

    assert statuses == [200, 401, 401, 401, 200]


async def post(process: Process, body: str, kind: str, at: float) -> int:
    return (await SignedHttp(f"{process.address}/slack/events").post(body, kind, at=at))[0]
