"""The chat adapter through the real SDK against a loopback endpoint."""

from __future__ import annotations

import json

from adapters.llm.openai import build_chat
from core.llm import complete
from core.ports import ChatRequest
from tests.loopback.openai_world import openai_world

SCHEMA = {
    "type": "object",
    "properties": {"summary": {"type": "string"}},
    "required": ["summary"],
    "additionalProperties": False,
}
REQUEST = ChatRequest(
    purpose="answer",
    system="You are a research assistant.",
    user="What is a cygnet?",
    schema_name="answer",
    schema=SCHEMA,
    max_tokens=100,
    timeout_s=5.0,
)
ANSWER = json.dumps({"summary": "A cygnet is a young swan."})


async def test_streams_structured_answer_with_usage():
    async with openai_world(ANSWER) as world:
        model = build_chat({"OPENAI_BASE_URL": world.url, "GORKD_MODEL": "small"})
        assert model is not None

        completion = await complete(model, REQUEST)
        await model.aclose()

    assert completion.text == ANSWER
    assert world.calls[0].schema == SCHEMA
    assert completion.usage.prompt_tokens == world.calls[0].prompt_tokens
    assert not completion.usage.is_estimated
