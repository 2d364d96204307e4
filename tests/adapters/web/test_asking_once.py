"""N-09: a question that is sent again is asked once: by its Idempotency-Key, by its form, and by Retry."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from html import unescape
from pathlib import Path

import aiohttp
import pytest
from aiohttp.test_utils import TestClient

from adapters.records.postgres import PostgresDatabase
from adapters.records.sql import Tables
from adapters.records.sqlite import Database
from adapters.web.settings import WebSettings
from core.model.errors import QueueFull
from core.model.job import JobStatus, ResearchJob, ResearchRequest, Scope
from core.model.source import SearchHit, SearchQuery
from core.pipeline.researcher import Researcher
from core.presentation.page_links import LINK_LIFE
from core.presentation.wording import IMPROVE_IT, NOT_ANSWERED_YET
from tests.adapters.web.conformity import ConformingClient, conforming
from tests.adapters.web.serving import web_app
from tests.adapters.web.site import Library, open_site
from tests.fakes import make_deps

TOKENS = ("a-token-of-this-server", "a-token-of-another-one")
SETTINGS = WebSettings(api_tokens=TOKENS, asks_per_minute=1000)
QUESTION = {"query": "How tall is the Eddystone lighthouse?"}


@dataclass
class Waiting:
    """A queue whose jobs nobody takes, and that has no room for the first `full` of them."""

    full: int = 0

    async def enqueue(self, job: ResearchJob) -> None:
        self.full -= 1
        if self.full >= 0:
            raise QueueFull(200)

    async def cancel(self, job_id: str) -> None: ...

    async def position(self, job_id: str) -> int | None:
        return None


@asynccontextmanager
async def asking(
    tables: Tables | None = None, settings: WebSettings = SETTINGS, queue: Waiting | None = None
) -> AsyncIterator[ConformingClient]:
    researcher = Researcher(make_deps(tables=tables), queue or Waiting())
    async with conforming(web_app(researcher, settings)) as client:  # type: ignore[arg-type]
        yield client


async def ask(
    client: TestClient, key: str | None = "k-1", question: dict[str, object] | None = None, token: str = TOKENS[0]
) -> tuple[int, str]:
    """The status, and the job's id or the error's code."""
    headers = {"Authorization": f"Bearer {token}"} | ({} if key is None else {"Idempotency-Key": key})
    answer = await client.post("/v1/research", json=question or QUESTION, headers=headers)
    said = await answer.json()
    return answer.status, said["error"]["code"] if "error" in said else said["job_id"]


async def test_the_same_key_is_one_job_and_another_key_or_asker_another():
    """What a question says counts, not its bytes; nobody finds, or blocks, another's question by guessing a key."""
    async with asking() as client:
        first, again, other = await ask(client), await ask(client), await ask(client, "k-2")
        written_otherwise = await ask(client, question={"mode": "quick", **QUESTION})
        anothers = await ask(client, token=TOKENS[1])
        without = [await ask(client, None) for _ in range(2)]

    assert first == again == written_otherwise
    assert len({first, other, anothers, *without}) == 5
    assert {status for status, _ in (first, other, anothers, *without)} == {202}


async def test_many_at_once_are_one_job():
    """Clients that reconnect: sixty questions had become sixty-five jobs."""
    async with asking() as client:
        answers = await asyncio.gather(*(ask(client, f"k-{number % 20}") for number in range(60)))

    assert {status for status, _ in answers} == {202}
    assert Counter(Counter(job for _, job in answers).values()) == {3: 20}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"query": "How old is the Eddystone lighthouse?"}, id="question"),
        pytest.param({**QUESTION, "fresh": True}, id="option"),
        pytest.param({**QUESTION, "private": True}, id="privacy"),
        pytest.param({**QUESTION, "attachments": [{"name": "a.md", "text": "x"}]}, id="files"),
    ],
)
async def test_a_key_with_another_question_is_refused(other: dict[str, object]):
    """Either way round; the key still stands for the first."""
    async with asking() as client:
        first, refused, again = await ask(client), await ask(client, question=other), await ask(client)
        turned = [await ask(client, "k-2", question) for question in (other, QUESTION)]

    assert refused == (422, "IDEMPOTENCY_KEY_REUSED")
    assert again == first
    assert [status for status, _ in turned] == [202, 422]


async def test_what_was_turned_away_may_come_again_under_its_key():
    """Too many waited: nobody has researched it. From the time on at which it is taken, it is one job."""
    queue = Waiting(full=2)
    async with asking(queue=queue) as client:
        turned_away = [await ask(client) for _ in range(2)]
        taken = [await ask(client) for _ in range(2)]
        other = await ask(client, question={"query": "What else?"})

    assert turned_away == [(429, "RATE_LIMITED")] * 2
    assert taken[0] == taken[1]
    assert (taken[0][0], other[0]) == (202, 422)


@pytest.mark.parametrize("key", ["", "k" * 256, "k\tk", "ключ"], ids=["empty", "long", "tab", "not ASCII"])
async def test_what_is_no_key_is_said(key: str):
    async with asking() as client:
        assert await ask(client, key) == (400, "INVALID_QUERY")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_key_outlives_the_process(kind: str, tmp_path: Path, request: pytest.FixtureRequest):
    """It is kept with its job, in either database, for as long as that."""
    seen = []
    for _ in range(2):
        database = await (
            Database.open(tmp_path)
            if kind == "sqlite"
            else PostgresDatabase.open(request.getfixturevalue("postgres_url"))
        )
        async with asking(database) as client:
            seen += await asyncio.gather(*(ask(client) for _ in range(8)))
            refused = await ask(client, question={"query": "What else?"})
        await database.aclose()

    assert [status for status, _ in seen] == [202] * 16
    assert len(set(seen)) == 1
    assert refused[0] == 422


async def test_the_form_asks_once_until_it_is_changed():
    """A page that is sent twice is one question; who goes back and changes it asks another."""
    async with asking(settings=WebSettings()) as client:
        page = await (await client.get("/")).text()
        key = re.search(r'name="key" value="([^"]+)"', page)
        sent = [{**QUESTION, "key": key[1]}] * 2 + [{"query": "How old is it now?", "key": key[1]}]
        jobs = [(await client.post("/", data=form, allow_redirects=False)).headers["Location"] for form in sent]
        another = await (await client.get("/")).text()

    assert jobs[0] == jobs[1] != jobs[2]
    assert key[1] not in another


@dataclass
class CountingLibrary(Library):
    """Counts how often it is asked."""

    searches: int = 0

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        self.searches += 1
        return await super().search(query, limit=limit, scope=scope)


@pytest.mark.parametrize("path", ["/v1/jobs/{}/retry", "/jobs/{}/retry"], ids=["program", "page"])
async def test_retry_begins_with_what_was_found(path: str):
    """D14: nothing is searched again; two presses are one job."""
    library = CountingLibrary()
    async with open_site(library=library) as site, aiohttp.ClientSession(site.address) as client:
        failed = await site.ask(mood="broken")
        page = await (await client.get(f"/jobs/{failed.id}")).text()
        searched = library.searches
        site.writer.mood = ""

        answers = [await client.post(path.format(failed.id), allow_redirects=False) for _ in range(2)]
        addresses = [answer.headers["Location"] for answer in answers]
        retried = await site.researcher.job(addresses[0].rpartition("/")[2])
        async for _ in site.researcher.follow(retried.id):
            pass
        done = await site.researcher.job(retried.id)

    assert failed.status is JobStatus.FAILED
    assert f'<form method="post" action="/jobs/{failed.id}/retry"' in page
    assert 'action="/"' not in page
    assert addresses[0] == addresses[1]
    assert (retried.id != failed.id, retried.request.basis) == (True, failed.id)
    assert done.status is JobStatus.COMPLETED
    assert library.searches == searched > 0


async def test_what_cannot_be_retried_is_said():
    """A job that was answered, one of a chat, and none at all; nor may just anybody."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        answered = await site.ask()
        in_slack = await site.ask(mood="broken", scope=Scope("slack:T1", "workspace"))
        statuses = [
            (await client.post(f"/v1/jobs/{job_id}/retry", headers=headers)).status
            for job_id, headers in (
                (answered.id, {}),
                (in_slack.id, {}),
                ("job_unknown", {}),
                (in_slack.id, {"Via": "x"}),
            )
        ]

    assert statuses == [400, 401, 404, 401]


async def test_an_answer_is_improved_by_a_program_once_a_key():
    """N-29, N-09: from what was found, minding the wish; a key stands for one answer and one wish."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        answered = await site.ask()

        async def improve(wish: str, key: str = "k-1") -> tuple[int, str]:
            body, headers = {"feedback": wish}, {"Idempotency-Key": key}
            answer = await client.post(f"/v1/jobs/{answered.id}/improve", json=body, headers=headers)
            return answer.status, (await answer.json()).get("job_id", "")

        sent = [await improve(wish) for wish in ("Say who built it.", "Say who built it.", "Be short.")]
        other = await improve("Be short.", "k-2")
        jobs = [await site.researcher.job(job_id) for _, job_id in (sent[0], other)]

    assert sent[0] == sent[1]
    assert [status for status, _ in (*sent, other)] == [202, 202, 422, 202]
    assert [(job.request.basis, job.request.feedback) for job in jobs] == [
        (answered.id, "Say who built it."), (answered.id, "Be short."),
    ]  # fmt: skip


def _expiry(link: str) -> str:
    return link.partition("?sig=")[2].partition("-")[0]


async def test_the_page_of_an_answer_improves_it_once_a_form():
    """N-29: the field of the follow-up takes the wish, and works without a script; a signed link goes along."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        answered = await site.ask(scope=Scope("local", "user:7"))
        page = await (await client.get(site.page(answered).removeprefix(site.address))).text()
        action = re.search(r'<form class="follow" method="post" action="([^"]+)"', page)
        key = re.search(r'name="key" value="([^"]+)"', page)
        assert action
        assert key
        forms = [{"key": key[1], "query": wish, "how": "improve"} for wish in ("", "", "Be short.")]
        sent = [await client.post(unescape(action[1]), data=form, allow_redirects=False) for form in forms]
        places = [answer.headers["Location"] for answer in sent]
        improved = await site.researcher.job(places[0].rpartition("/")[2].partition("?")[0])
        async for _ in site.researcher.follow(improved.id):
            pass
        shown = await (await client.get(places[0])).text()
        link = re.search(r'<a href="([^"]+)">an earlier answer</a>', shown)
        assert link
        back = await client.get(unescape(link[1]))

    first, again, other = (place.partition("?")[0] for place in places)  # each is signed when it is given
    assert first == again != other
    assert (improved.request.basis, improved.request.feedback) == (answered.id, IMPROVE_IT)
    assert improved.scope == answered.scope
    assert "?sig=" in action[1]
    assert (back.status, back.url.path) == (200, f"/jobs/{answered.id}")
    assert _expiry(link[1]) == _expiry(places[0])  # no later than the reader's own


@pytest.mark.parametrize("how", ["follow-up", "improve"])
@pytest.mark.parametrize("form", ["/v1/jobs", "/jobs"], ids=["program", "page"])
async def test_what_is_asked_by_somebody_elses_link_is_read_no_longer_than_by_that(form: str, how: str):
    """Its page leads to the answer that the link was of; asking on would read it for ever, taken back or not."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        answered = await site.ask(scope=Scope("local", "user:7"))
        old = replace(site.links, clock=lambda: site.links.clock() - LINK_LIFE / 2).link(answered).partition("?")[2]
        body = {"query": "And who designed it?"} if how == "follow-up" or form == "/jobs" else {"feedback": "Be short."}
        kind = "json" if form.startswith("/v1") else "data"
        sent = await client.post(f"{form}/{answered.id}/{how}?{old}", allow_redirects=False, **{kind: body})

    assert sent.status in (202, 303)
    assert _expiry(f"?{sent.headers['Location'].partition('?')[2]}") == _expiry(f"?{old}")


async def test_the_page_of_an_improved_answer_leads_to_none_that_its_readers_may_not_see():
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        private = await site.ask(scope=Scope("local", "user:7"))
        request = ResearchRequest(private.query, basis=private.id, feedback="Be short.", is_fresh=True)
        improved = await site.researcher.submit(request)
        async for _ in site.researcher.follow(improved.id):
            pass
        response = await client.get(site.page(improved).removeprefix(site.address))
        shown = await response.text()

    assert response.status == 200
    assert private.id not in shown


async def test_what_cannot_be_improved_is_said():
    """One that still runs, one of a chat, a private one without its link, and none at all; nor may just anybody."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        private = await site.ask(scope=Scope("local", "user:7"))
        in_slack = await site.ask(scope=Scope("slack:T1", "workspace"))
        running = await site.ask(mood="slow")
        asked = [(running.id, {}), (in_slack.id, {}), (private.id, {}), ("job_none", {}), (running.id, {"Via": "x"})]
        answers = [
            await client.post(f"/v1/jobs/{job_id}/improve", json={}, headers=headers) for job_id, headers in asked
        ]
        said = (await answers[0].json())["error"]["message"]
    async with open_site(tokens=TOKENS) as site, aiohttp.ClientSession(site.address) as reader:
        shared = await (await reader.get(f"/jobs/{(await site.ask()).id}")).text()

    assert [answer.status for answer in answers] == [400, 401, 404, 404, 401]
    assert said == NOT_ANSWERED_YET
    assert 'value="improve"' not in shared


@pytest.mark.parametrize("path", ["/v1/jobs/{}/follow-up", "/jobs/{}/follow-up"], ids=["program", "page"])
async def test_what_follows_an_answer_is_asked_in_its_conversation(path: str):
    """N-29: and each page lists the other question."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        first = await site.ask()
        body = (
            {"json": {"query": "And who designed it?"}}
            if path.startswith("/v1")
            else {"data": {"query": "And who designed it?"}}
        )
        answer = await client.post(path.format(first.id), allow_redirects=False, **body)
        second = await site.researcher.job(answer.headers["Location"].rpartition("/")[2])
        async for _ in site.researcher.follow(second.id):
            pass
        pages = [await (await client.get(f"/jobs/{job.id}")).text() for job in (first, second)]

    assert first.id in second.request.thread
    assert f'<a href="/jobs/{second.id}">And who designed it?</a>' in pages[0]
    assert f'<a href="/jobs/{first.id}">' in pages[1]
    assert f'action="/jobs/{second.id}/follow-up"' in pages[1]


async def test_nobody_follows_what_may_not_be_read():
    """A job of a chat, one that is private, none at all; and an empty question is said on the form."""
    async with open_site() as site, aiohttp.ClientSession(site.address) as client:
        answered = await site.ask()
        in_slack = await site.ask(scope=Scope("slack:T1", "workspace"))
        private = await site.ask(scope=Scope("local", "user:7"))
        jobs = (in_slack.id, private.id, "job_unknown")
        statuses = [(await client.post(f"/v1/jobs/{id_}/follow-up", json={"query": "Why?"})).status for id_ in jobs]
        empty = await client.post(f"/jobs/{answered.id}/follow-up", data={"query": " "})
        long = await (await client.post(f"/jobs/{answered.id}/follow-up", data={"query": "why " * 900})).text()
        body = {"query": "Why?", "attachments": [{"name": "own.txt", "text": "Only for me."}]}
        open_to_all = await client.post(f"/v1/jobs/{answered.id}/follow-up", json=body)

    assert statuses == [404, 404, 404]
    assert f'action="/jobs/{answered.id}/follow-up"' in long  # what was said stays, and follows the answer still
    assert "why why" in long.partition("<textarea")[2].partition("</textarea>")[0]
    assert 'role="alert"' in long
    assert (empty.status, open_to_all.status) == (400, 400)
