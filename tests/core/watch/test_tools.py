"""Watches as other programs begin, list and end them (core/watch/tools.py)."""

from __future__ import annotations

from typing import Any

import pytest

from core.model.errors import InvalidQuery
from core.model.job import LOCAL, Scope
from core.pipeline.researcher import Researcher
from core.presentation.tools import ToolResult
from core.watch.tools import WATCH_TOOLS
from core.watch.watch import WatchNotFound
from tests.fakes import Idle, make_deps


async def call(researcher: Researcher, name: str, scope: Scope = LOCAL, **params: Any) -> ToolResult:
    (step,) = [one async for one in WATCH_TOOLS[name].executor(params, researcher, scope)]
    assert isinstance(step, ToolResult)
    assert set(step.data) == set(WATCH_TOOLS[name].output_schema["required"])  # type: ignore[call-overload]
    return step


@pytest.mark.parametrize("other", [Scope("slack:T1", "workspace"), Scope(LOCAL.tenant, "user:7")])
async def test_a_program_begins_lists_and_ends_watches_of_its_own_scope(other: Scope):
    """N-20, S002-15: neither another tenant's nor a person's private ones."""
    researcher = Researcher(make_deps(), Idle())
    page = await call(researcher, "watch", url="https://tower.example/feed", every="12 hours")
    asked = await call(researcher, "watch", question="Who won?", every="Monday 9:00", zone="Europe/Berlin")

    listed = (await call(researcher, "list_watches")).data["watches"]
    elsewhere = (await call(researcher, "list_watches", other)).data["watches"]
    with pytest.raises(WatchNotFound) as refused:
        await call(researcher, "stop_watching", other, watch_id=page.data["id"])
    ended = await call(researcher, "stop_watching", watch_id=page.data["id"])

    assert [one["rhythm"] for one in listed] == ["every 12 hours", "every Monday at 09:00 (Europe/Berlin)"]  # type: ignore[index,union-attr,call-overload]
    assert elsewhere == []
    assert "`" not in refused.value.user_message  # what is said in chats is no tool
    assert page.text == (
        f"{page.data['id']}: https://tower.example/feed – every 12 hours, next {page.data['next_at']}\n"
        "list_watches gives what it found, stop_watching ends it."
    )
    assert ended.data["is_active"] is False
    assert [one["id"] for one in (await call(researcher, "list_watches")).data["watches"]] == [asked.data["id"]]  # type: ignore[index,union-attr,call-overload]


@pytest.mark.parametrize("params", [{}, {"url": "https://a.example", "question": "Why?"}, {"job_id": 7},
                                    {"question": "Why?", "every": "often"}])  # fmt: skip
async def test_what_names_nothing_or_several_things_begins_nothing(params: dict[str, Any]):
    researcher = Researcher(make_deps(), Idle())

    with pytest.raises(InvalidQuery):
        await call(researcher, "watch", **params)

    assert await researcher.watching.of(LOCAL.tenant) == []
