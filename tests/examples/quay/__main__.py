"""`python -m tests.examples.quay`: worker and bot in one process, as `gorkd all` is, for QUAY_URL with QUAY_TOKEN."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping

from aiohttp import ClientSession, ClientTimeout

from adapters.chat.live import ChatTurns
from adapters.observability import configure_logging
from bots.config import environment, read_settings
from bots.processes import chat_deps
from bots.wiring import open_house
from tests.examples.quay.bot import QuayBot
from tests.examples.quay.message import LONGER_THAN_IT_WAITS_S, QuayCalls


async def run_quay(env: Mapping[str, str]) -> None:
    async with (
        open_house(env, read_settings(env), grace_s=0, role="worker") as house,
        chat_deps(env, house, ChatTurns()) as deps,
        ClientSession(timeout=ClientTimeout(total=LONGER_THAN_IT_WAITS_S)) as session,
    ):
        await house.warm_up()
        print("gorkd quay is ready", flush=True)
        await QuayBot(deps, QuayCalls(session, env["QUAY_URL"], env["QUAY_TOKEN"])).run()


if __name__ == "__main__":
    configure_logging("info", stream=sys.stderr)
    asyncio.run(run_quay(environment()))
