"""The loopback model sending one chunk a token, since how many chunks there are is what reading a stream costs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from tests.bench.conditions import CHARS_PER_TOKEN
from tests.loopback.openai_responders import ChatCall, Fault, Respond
from tests.loopback.openai_world import OpenAIWorld


class PacedModel(OpenAIWorld):
    async def _stream(self, request: web.Request, call: ChatCall, fault: Fault) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        loop = asyncio.get_running_loop()
        begin = loop.time() + self.first_token_s
        pieces = [fault.text[at : at + CHARS_PER_TOKEN] for at in range(0, len(fault.text), CHARS_PER_TOKEN)]
        for place, piece in enumerate(pieces, start=1):
            # Against a schedule, so that the pace does not drift with the machine's load.
            await asyncio.sleep(max(0.0, begin + place * self.token_s - loop.time()))
            await response.write(_chunk(call, [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]))
        await response.write(_chunk(call, [{"index": 0, "delta": {}, "finish_reason": "stop"}]))
        await response.write(_chunk(call, [], usage=fault.usage))
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def paced_model(respond: Respond) -> AsyncIterator[PacedModel]:
    world = PacedModel(respond)
    runner = web.AppRunner(world.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        world.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        yield world
    finally:
        world.closing.set()
        await runner.cleanup()


def _chunk(call: ChatCall, choices: list[object], usage: Mapping[str, int] | None = None) -> bytes:
    frame = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 0, "model": call.model}
    return f"data: {json.dumps({**frame, 'choices': choices, 'usage': usage})}\n\n".encode()
