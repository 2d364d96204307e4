"""`gorkd ask` as a real process, asked twice in other words: what was answered and read before is used again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.bots.test_ask import COAST, TIDES, ask
from tests.loopback.openai_responders import ChatCall, by_schema, plan_responder
from tests.loopback.openai_world import BY_DEFAULT
from tests.loopback.world import World

FIRST = "How do tides work?"
AGAIN = "Can you explain how tides work?"


def near(text: str) -> NDArray[np.float32]:
    """Questions about tides lie close together; pages lie elsewhere."""
    is_question = len(text) < 60
    return np.array([1.0, 0.1 * text.startswith("Can"), 0.0 if is_question else 5.0], dtype=np.float32)


def confirming(call: ChatCall) -> str:
    """The plan of a model that finds the first question offered to be the same."""
    said = plan_responder(call)
    plan = json.loads(said) if isinstance(said, str) else {}
    return json.dumps({"same_as": "1", **plan} if "same_as" in call.schema["properties"] else plan)


async def test_the_same_in_other_words_is_answered_from_the_store_of_another_process(tmp_path: Path) -> None:
    """S003-04, S002-22: embedded, looked up in SQLite, past the guard, confirmed by the one plan call."""
    async with World.of({"/tides": TIDES, "/coast": COAST}) as world:
        world.model.embed = near
        world.model.respond = by_schema({"plan": confirming}, otherwise=BY_DEFAULT)
        env = {**world.env(tmp_path, "pubmed", model=True), "GORKD_EMBEDDING_MODEL": "loop-embed"}

        first = await ask(FIRST, "--json", env=env)
        answers = [call for call in world.model.calls if call.schema_name == "answer"]
        again = await ask(AGAIN, "--json", env=env)

        assert first.json["answer"]["confidence"] in ("medium", "high")
        assert again.json["metadata"]["cached"] is True
        assert again.json["metadata"]["cached_question"] == FIRST
        assert again.json["answer"]["summary"] == first.json["answer"]["summary"]
        assert [call for call in world.model.calls if call.schema_name == "answer"] == answers
        assert len([call for call in world.model.calls if call.schema_name == "plan"]) == 2
