"""Watching an answer over HTTP and from its page (docs/watch.md)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp
import pytest

from core.model.codec import encode
from core.model.job import LOCAL, ResearchJob, Scope
from core.watch.watch import Watch
from tests.adapters.web.site import PRIVATE, Site, open_site

TOKEN = "a-token-that-nobody-guesses"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@dataclass
class Visitor:
    site: Site
    session: aiohttp.ClientSession
    job: ResearchJob

    async def calls(
        self, method: str, path: str = "/watch", *, body: object = None, job: ResearchJob | None = None, **more: object
    ) -> tuple[int, dict[str, object]]:
        where = self.site.links.signed(job or self.job, f"/v1/jobs/{(job or self.job).id}{path}")
        async with self.session.request(method, f"{self.site.address}{where}", json=body, **more) as answer:  # type: ignore[arg-type]
            return answer.status, await answer.json() if answer.content_type == "application/json" else {}

    async def watches(self, scope: Scope = LOCAL) -> list[Watch]:
        return await self.site.researcher.watching.of(scope.tenant)


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    async with open_site(tokens=(TOKEN,)) as site, aiohttp.ClientSession(headers=BEARER) as session:
        yield Visitor(site, session, await site.ask())


async def test_an_answer_is_watched_once_at_another_time_and_no_more(visitor: Visitor):
    before, _ = await visitor.calls("GET")
    _, first = await visitor.calls("PUT", body={"every": "week"})
    _, again = await visitor.calls("PUT", body={"every": "Monday 9:00", "zone": "Europe/Berlin"})
    _, shown = await visitor.calls("GET")
    ended, _ = await visitor.calls("DELETE")
    _, after = await visitor.calls("GET")

    assert before == 404
    assert first["rhythm"] == "every week"
    assert again["rhythm"] == "every Monday at 09:00 (Europe/Berlin)"
    assert shown == again
    assert again["id"] == first["id"]
    assert (again["is_active"], again["told"], again["runs"]) == (True, [], 0)
    assert ended == 204
    assert after["is_active"] is False


async def test_whose_token_it_was_is_kept_nowhere(visitor: Visitor):
    """A token opens everything here; the records and what goes to models know nobody's."""
    await visitor.calls("PUT", body={})
    page = f"{visitor.site.address}/jobs/{(await visitor.site.ask()).id}/watch"
    async with visitor.session.post(page, data={"every": "week"}) as answer:
        assert answer.status == 200

    watches = await visitor.watches()

    assert [watch.rhythm.hours for watch in watches] == [24, 168]
    assert not [watch for watch in watches if TOKEN in encode(watch)]


async def test_nobody_watches_without_the_right_to_ask_nor_what_a_chat_was_told(visitor: Visitor):
    theirs = await visitor.site.ask(scope=PRIVATE)
    nobody = {"Authorization": "Bearer another-token-of-nobody"}
    denied = [(await visitor.calls(one, body={}, job=theirs))[0] for one in ("PUT", "DELETE")]
    stranger = [(await visitor.calls(one, body={}, headers=nobody))[0] for one in ("PUT", "DELETE")]

    assert denied == stranger == [401, 401]
    assert await visitor.watches() == await visitor.watches(PRIVATE) == []


@pytest.mark.parametrize(
    "body", [{"every": "often"}, {"every": "900 hours"}, {"every": "Monday 9:00", "zone": "Moon/Crater"},
             {"every": "day 9:00", "zone": "../../etc/passwd"}]
)  # fmt: skip
async def test_a_time_that_is_none_is_refused(visitor: Visitor, body: dict[str, str]):
    status, said = await visitor.calls("PUT", body=body)

    assert status == 400, said
    assert await visitor.watches() == []


async def test_the_page_says_when_it_is_looked_at_next(visitor: Visitor):
    """N-20: beside how often, until when, and how many runs there were."""
    await visitor.calls("PUT", body={"every": "day"})
    (watch,) = await visitor.watches()

    async with visitor.session.get(f"{visitor.site.address}/jobs/{visitor.job.id}") as answer:
        page = await answer.text()

    assert f"Next look on {watch.next_at:%d %B %Y, %H:%M} UTC." in page
