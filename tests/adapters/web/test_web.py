"""The web application over a real socket: API, pages, who may ask and read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from adapters.records.tenants import SqlRevocations
from adapters.web.settings import WebSettings
from core.model.errors import GorkdError, InvalidQuery, QueueFull, SearchFailed, SetupError, StoreError
from core.model.job import JobStatus, ResearchJob, Scope
from core.presentation.page_links import LINK_LIFE
from core.presentation.render import job_json
from core.tenancy.admission import QuotaExceeded
from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import Open, web_app
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.records import MemoryTables

JOB = samples.COMPLETED.id


async def test_question_is_accepted_with_where_to_look(open_web: Open):
    """G-01: 202 with job id, status and stream address."""
    researcher = ScriptedResearcher()
    web = await open_web(researcher)

    answer = await web.post("/v1/research", json={"query": "How tall?", "mode": ["quick"], "depth": "deep", "top_k": 3})

    assert answer.status == 202
    assert await answer.json() == {"job_id": JOB, "status": "pending", "stream_url": f"/v1/jobs/{JOB}/stream"}
    asked = researcher.requests[0]
    assert (asked.query, asked.modes, asked.depth, asked.top_k) == ("How tall?", ("quick",), "deep", 3)


async def test_files_of_text_come_with_a_question(open_web: Open):
    """They are read as sources of it, and the addresses of its job are signed as those of a private one."""
    researcher = ScriptedResearcher()
    web = await open_web(researcher)
    files = [{"name": "notes.md", "text": "The tower is 49 metres tall."}]

    answer = await web.post("/v1/research", json={"query": "How tall?", "attachments": files})
    many = await web.post("/v1/research", json={"query": "How tall?", "attachments": files * 6})

    assert answer.status == 202
    assert "?sig=" in (await answer.json())["stream_url"]
    (asked,) = researcher.requests
    assert asked.attachments == ("notes.md",)
    assert asked.scope.visibility.startswith("user:")
    assert many.status == 400
    assert "attachments" in (await many.json())["error"]["message"]


async def test_job_is_the_json_of_every_interface_and_its_sources_have_previews(open_web: Open):
    """S003-19: the web serves exactly what core renders; G-01: content_preview and used_in_citations."""
    web = await open_web()

    job, sources = await web.get(f"/v1/jobs/{JOB}"), await web.get(f"/v1/jobs/{JOB}/sources")

    assert job.status == 200
    assert await job.json() == job_json(samples.COMPLETED, samples.RESULT, samples.SOURCES)
    entries = (await sources.json())["sources"]
    assert [entry["used_in_citations"] for entry in entries] == [True, True, True, False]
    assert entries[0]["content_preview"].startswith("The present tower")


async def test_stream_ends_with_the_complete_response_and_resumes_after_the_last_event_seen(open_web: Open):
    """S003-22: the final event carries the job, then the stream closes."""
    web = await open_web()
    total = len(samples.events_of(samples.COMPLETED, samples.RESULT, samples.SOURCES))

    text = await (await web.get(f"/v1/jobs/{JOB}/stream")).text()
    resumed = await (await web.get(f"/v1/jobs/{JOB}/stream", headers={"Last-Event-ID": str(total - 1)})).text()

    events = [block.splitlines() for block in text.replace("\r\n", "\n").strip().split("\n\n")]
    assert events[0][:2] == ["id: 1", "event: status"]
    assert events[-1][1] == "event: complete"
    assert json.loads(events[-1][2].removeprefix("data: "))["status"] == "completed"
    assert resumed.count("event: ") == 1


@pytest.mark.parametrize(
    ("body", "word"),
    [
        pytest.param(b"{", "JSON", id="not JSON"),
        pytest.param(b"{}", "query", id="no query"),
        pytest.param(b'{"query": 5}', "query", id="wrong type"),
        pytest.param(b'{"query": "x", "top_k": 21}', "top_k", id="top_k"),
        pytest.param(b'{"query": "x", "depth": "abyss"}', "depth", id="depth"),
        pytest.param(b'{"query": "x", "is_private": true}', "is_private", id="a field that is none"),
        pytest.param(b"\xff\xfe", "body", id="not text"),
    ],
)
async def test_bad_request_says_what_is_wrong(open_web: Open, body: bytes, word: str):
    """G-01: the envelope, code INVALID_QUERY, a message that names the field; nothing is submitted."""
    researcher = ScriptedResearcher()
    web = await open_web(researcher)

    answer = await web.post("/v1/research", data=body)

    error = (await answer.json())["error"]
    assert answer.status == 400
    assert error["code"] == "INVALID_QUERY"
    assert word in error["message"]
    assert error["details"] == {}
    assert researcher.requests == []


@pytest.mark.parametrize(
    ("refusal", "status", "code", "wait"),
    [
        pytest.param(InvalidQuery("Please ask.", rule="empty"), 400, "INVALID_QUERY", None, id="invalid"),
        pytest.param(QueueFull(200), 429, "RATE_LIMITED", "60", id="full"),
        pytest.param(QuotaExceeded("U1", 12.5), 429, "RATE_LIMITED", "13", id="quota"),
        pytest.param(SearchFailed({"exa": "timeout"}), 502, "SEARCH_FAILED", None, id="search"),
        pytest.param(StoreError("disk full"), 503, "UNAVAILABLE", "5", id="store"),
        pytest.param(RuntimeError("secret detail"), 500, "INTERNAL_ERROR", None, id="bug"),
    ],
)
async def test_errors_wear_the_envelope(
    open_web: Open, refusal: GorkdError, status: int, code: str, wait: str | None
) -> None:
    """G-01; `Retry-After` says when a quota holds a question again."""
    web = await open_web(ScriptedResearcher(refusal=refusal))

    answer = await web.post("/v1/research", json={"query": "x"})

    assert answer.status == status
    assert (await answer.json())["error"]["code"] == code
    assert "secret detail" not in await answer.text()
    assert answer.headers.get("Retry-After") == wait


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nowhere", 404), ("GET", "/v1/research", 405), ("GET", "/v1/jobs/job_unknown", 404)],
    ids=["route", "method", "job"],
)
async def test_unknown_paths_wear_the_envelope(open_web: Open, method: str, path: str, status: int):
    web = await open_web()

    answer = await web.request(method, path)

    assert answer.status == status
    assert set((await answer.json())["error"]) == {"code", "message", "details"}


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 10_000):
        yield body[start : start + 10_000]


@pytest.mark.parametrize("is_chunked", [False, True], ids=["length said", "in pieces"])
async def test_body_over_64_kib_is_refused_but_slack_may_send_more(open_web: Open, is_chunked: bool):
    """A press of a button brings its whole message along; without Slack there is nothing at that address."""
    web = await open_web()
    body = b'{"query": "' + b"x" * 70_000 + b'"}'

    answer = await web.post("/v1/research", data=in_pieces(body) if is_chunked else body)
    from_slack = await web.post("/slack/events", data=b"x" * 200_000)

    assert (answer.status, from_slack.status) == (413, 404)
    assert (await answer.json())["error"]["code"] == "INVALID_QUERY"


@pytest.mark.parametrize("path", [f"/jobs/{JOB}", f"/v1/jobs/{JOB}"])
async def test_pages_and_documents_are_sent_compressed(open_web: Open, path: str):
    """To who takes it, and as they are to others."""
    web = await open_web()

    packed = await web.get(path, headers={"Accept-Encoding": "gzip"})
    plain = await web.get(path, headers={"Accept-Encoding": "identity"})

    assert (packed.headers.get("Content-Encoding"), plain.headers.get("Content-Encoding")) == ("gzip", None)
    assert int(packed.headers["Content-Length"]) < int(plain.headers["Content-Length"]) / 2
    assert packed.headers["Vary"] == "Accept-Encoding, Accept-Language"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 202, id="this machine"),
        pytest.param({"Origin": "http://{host}"}, 202, id="own page"),
        pytest.param({"Host": "localhost"}, 202, id="this machine by its name"),
        pytest.param({"X-Forwarded-For": "203.0.113.9"}, 401, id="behind a proxy"),
        pytest.param({"Forwarded": "for=203.0.113.9"}, 401, id="behind a proxy, new header"),
        pytest.param({"Via": "proxy", "Authorization": "Bearer "}, 401, id="an empty token where there are none"),
        pytest.param({"Origin": "https://evil.test"}, 401, id="another site"),
        pytest.param({"Origin": "null"}, 401, id="a page without a site"),
        pytest.param({"Host": "evil.test"}, 401, id="rebinding"),
    ],
)
async def test_who_may_ask_without_a_token(open_web: Open, headers: dict[str, str], status: int):
    """Asking costs money: this machine without a proxy or another site in between, where nobody else is to reach it."""
    web = await open_web()
    filled = {name: value.format(host=f"{web.host}:{web.port}") for name, value in headers.items()}

    answer = await web.post("/v1/research", json={"query": "x"}, headers=filled)

    assert (answer.status, answer.headers.get("WWW-Authenticate")) == (status, "Bearer" if status == 401 else None)


@pytest.mark.parametrize("forwarded", [{}, {"X-Forwarded-For": "203.0.113.9"}], ids=["this machine", "elsewhere"])
@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        pytest.param({"Authorization": "Bearer right"}, 202, id="token"),
        pytest.param({"Authorization": "Bearer wrong"}, 401, id="wrong token"),
        pytest.param({"Authorization": "Basic right"}, 401, id="wrong scheme"),
        pytest.param({"Authorization": "Bearer "}, 401, id="empty token"),
        pytest.param({}, 401, id="nothing"),
    ],
)
async def test_where_there_are_tokens_everybody_needs_one(
    open_web: Open, forwarded: dict[str, str], authorization: dict[str, str], status: int
):
    """Also this machine: a proxy on it that adds no header looks the same."""
    web = await open_web(None, "right")

    answer = await web.post("/v1/research", json={"query": "x"}, headers={**forwarded, **authorization})

    assert answer.status == status


READ = [
    "/v1/jobs/{}",
    "/v1/jobs/{}/sources",
    "/v1/jobs/{}/stream",
    "/jobs/{}",
    "/jobs/{}/answer.md",
    "/jobs/{}/answer.bib",
]


AFAR = {"X-Forwarded-For": "203.0.113.9"}
PRIVATE = replace(samples.COMPLETED, request=replace(samples.PENDING.request, scope=Scope("slack:T1", "channel:C1")))


@pytest.mark.parametrize("path", READ)
async def test_a_signed_link_opens_a_private_job_until_it_is_revoked(path: str):
    """Nothing tells it from a job that never was, before and after; while it is open, no cache keeps it."""
    fresh = replace(samples.LINKS, clock=lambda: datetime.now(UTC))
    revocations = SqlRevocations(MemoryTables(PRIVATE), clock=fresh.clock)
    app = web_app(ScriptedResearcher(PRIVATE), links=fresh, revocations=revocations)
    signed = fresh.signed(PRIVATE, path.format(PRIVATE.id))

    async with conforming(app) as web:
        unsigned, opened = await web.get(path.format(PRIVATE.id)), await web.get(signed)
        await revocations.revoke(PRIVATE, datetime.now(UTC))
        revoked, unknown = await web.get(signed), await web.get(path.format("job_unknown"))

        assert [answer.status for answer in (unsigned, opened, revoked, unknown)] == [404, 200, 404, 404]
        assert await unsigned.text() == await revoked.text() == await unknown.text()
        assert "no-store" in opened.headers["Cache-Control"]
        assert opened.headers["X-Robots-Tag"] == "noindex"


@pytest.mark.parametrize("job", [PRIVATE, samples.COMPLETED], ids=["private", "open"])
@pytest.mark.parametrize(("headers", "policy"), [({}, "same-origin"), (AFAR, "no-referrer")], ids=["asker", "reader"])
async def test_no_other_site_is_told_which_page_one_comes_from(job: ResearchJob, headers: dict[str, str], policy: str):
    """Nor is this one, but for the forms: behind `no-referrer` they would post with `Origin: null`, and be refused."""
    address = samples.LINKS.signed(job, f"/jobs/{job.id}")

    async with conforming(web_app(ScriptedResearcher(job))) as web:
        opened = await web.get(address, headers=headers)

    assert (opened.status, opened.headers["Referrer-Policy"]) == (200, policy)
    assert ("<form" in await opened.text()) <= (policy == "same-origin")


async def test_an_expired_link_looks_like_an_unknown_job():
    """Thirty days later."""
    later = replace(samples.LINKS, clock=lambda: samples.NOON + LINK_LIFE)
    signed = samples.LINKS.signed(PRIVATE, f"/jobs/{PRIVATE.id}")

    async with conforming(web_app(ScriptedResearcher(PRIVATE), links=later)) as web:
        assert (await web.get(signed)).status == 404


async def test_health_readiness_and_metrics_are_told():
    """Not ready is 503 with the reasons, for whoever sends questions here; the process is healthy all the same."""

    async def not_well() -> list[str]:
        return ["No worker was heard of for 20 s."]

    async with conforming(web_app(ready=not_well)) as web:
        ready, health, metrics = [await web.get(path) for path in ("/ready", "/health", "/metrics")]

    assert (ready.status, health.status) == (503, 200)
    assert await ready.json() == {"status": "unready", "reasons": ["No worker was heard of for 20 s."]}
    assert "Retry-After" in ready.headers
    assert await health.json() == {"status": "ok"}
    assert await metrics.text() == "up 1\n"
    assert metrics.headers["Content-Type"].startswith("text/plain; version=0.0.4")


@pytest.mark.parametrize("path", ["/", f"/jobs/{JOB}", "/jobs/none", "/health", "/v1/jobs/none", "/static/style.css"])
async def test_every_response_is_locked_down(open_web: Open, path: str):
    """A strict policy: own scripts from files only, no foreign request, no frame; no versions of what serves it."""
    web = await open_web()

    headers = (await web.get(path)).headers

    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Server"] == "gorkd"


async def test_form_leads_to_the_job_with_mode_and_depth_also_when_it_is_asked_again(open_web: Open):
    researcher = ScriptedResearcher()
    web = await open_web(researcher)
    again = {"query": "How tall?", "mode": ["quick", "idea", "quick"], "top_k": "3", "depth": "deep", "fresh": "1"}

    answer = await web.post("/", data={"query": "How tall?", "depth": "deep"}, allow_redirects=False)
    await web.post("/", data=again)

    assert (answer.status, answer.headers["Location"]) == (303, f"/jobs/{JOB}")
    first, second = researcher.requests
    assert (first.query, first.depth) == ("How tall?", "deep")
    assert (second.is_fresh, second.modes, second.depth, second.top_k) == (True, ("quick", "idea"), "deep", 3)


async def test_form_keeps_a_refused_question(open_web: Open):
    web = await open_web(ScriptedResearcher(refusal=InvalidQuery("Please ask a question.", rule="empty")))

    answer = await web.post("/", data={"query": "<b>?!</b>"})

    page = await answer.text()
    assert answer.status == 400
    assert 'role="alert">Please ask a question.' in page
    assert "&lt;b&gt;?!&lt;/b&gt;</textarea>" in page


async def test_form_is_closed_to_others(open_web: Open):
    researcher = ScriptedResearcher()
    web = await open_web(researcher)

    answer = await web.post("/", data={"query": "x"}, headers={"Origin": "https://evil.test"})

    assert answer.status == 401
    assert "text/html" in answer.headers["Content-Type"]
    assert researcher.requests == []


@pytest.mark.parametrize(
    "part",
    [
        '<h1 dir="auto">How tall is the Eddystone lighthouse?</h1>',
        "Confidence: Medium (3 corroborating sources)",
        f'<a href="/jobs/{JOB}/sources/1?claim=summary-0#passage" aria-label="Source 1" title="trinity.example: “It is',
        '<span class="mark" title="in part, or not confirmed">◐</span>',
        "<li>2 of 3 claims supported</li>",
        "Sources disagree on: height of the tower",
        '<th scope="col">Date</th>',
        '<td class="date">2024-05-01</td>',
        "<li>newest source is from May 2024</li>",
        "Removed: could not be confirmed",
        'id="src-3"',
        '<a href="https://trinity.example/eddystone" rel="nofollow noreferrer">live page</a>',
        f'<a href="/jobs/{JOB}/sources/1">Eddystone Lighthouse</a>',
        "It is 49 metres tall and built of granite blocks.",
        "<dd>12.3 s</dd>",
        "<dd>15 found, 4 read</dd>",
        "<dd>gpt-test: 2 calls, 5,120 tokens</dd>",
        "<dd>$0.004</dd>",
    ],
)
async def test_page_shows_all_that_lets_a_reader_judge(open_web: Open, part: str):
    """G-05: claims with verdicts, quotes, conflicts, limitations, used and unused sources, cost."""
    web = await open_web()

    page = await (await web.get(f"/jobs/{JOB}")).text()

    assert part in page
    assert 'http-equiv="refresh"' not in page


async def test_claim_made_of_its_quote_is_not_said_twice(open_web: Open):
    """An extractive answer's quotes stand alone."""
    quoted = replace(samples.ANSWER.citations[0], claim="It is 49 metres tall")
    answer = replace(samples.ANSWER, citations=(quoted,), detail="")
    web = await open_web(ScriptedResearcher(outcome=replace(samples.RESULT, answer=answer)))

    page = await (await web.get(f"/jobs/{JOB}")).text()

    sources = page[page.index('id="src-1"') :]
    assert "1 passage</a> quoted above, word for word." in sources
    assert "It is 49 metres tall" not in sources


async def test_page_of_a_running_job_refreshes_itself(open_web: Open):
    """What it has told so far is shown, and the page comes again in two seconds."""
    running = replace(samples.COMPLETED, status=JobStatus.SEARCHING)
    web = await open_web(ScriptedResearcher(running, None, stalls=True))

    page = await (await web.get(f"/jobs/{JOB}")).text()

    assert '<noscript><meta http-equiv="refresh" content="2"></noscript>' in page
    assert '<li class="active" data-stage="searching" aria-current="step">Searching</li>' in page
    assert "trinity.example – Eddystone Lighthouse" in page


@pytest.mark.parametrize(
    ("job", "result", "words"),
    [
        pytest.param(samples.FAILED, None, "The language model did not answer; please retry.", id="failed"),
        pytest.param(samples.CANCELLED, None, "This question was cancelled before it was answered.", id="cancelled"),
        pytest.param(
            samples.INSUFFICIENT,
            samples.INSUFFICIENT_RESULT,
            "Insufficient (no source answers this)",
            id="insufficient",
        ),
    ],
)
async def test_page_ends_honestly(open_web: Open, job, result, words: str):
    web = await open_web(ScriptedResearcher(job, result))

    page = await (await web.get(f"/jobs/{job.id}")).text()

    assert words in page
    assert ("Retry" in page) == (result is None)


async def test_page_is_small(open_web: Open):
    """At most 60 KB with its style, as many as an old phone loads at once."""
    web = await open_web()

    page, style = await web.get(f"/jobs/{JOB}"), await web.get("/static/style.css")

    assert len(await page.read()) + len(await style.read()) <= 60_000


def test_settings_come_from_a_mapping():
    one, two = "token-one-of-sixteen", "token-two-of-sixteen"

    settings = WebSettings.from_env({"PORT": "9000", "GORKD_API_TOKENS": f" {one}, {two} ,"})

    assert (settings.host, settings.port, settings.api_tokens) == ("127.0.0.1", 9000, (one, two))
    assert settings.public_url == "http://127.0.0.1:9000"
    assert "one" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        pytest.param("GORKD_API_TOKENS", "hunter2-hunter2", id="short"),
        pytest.param("GORKD_STATS_TOKENS", "slack:T1=hunter2-hunter2", id="a tenant's, short"),
        pytest.param("GORKD_STATS_TOKENS", "=hunter2-of-sixteen", id="of no tenant"),
    ],
)
def test_a_token_that_could_be_guessed_is_refused_and_not_repeated(variable: str, wrong: str):
    """Neither the sentence nor what caused it says what the token is: both may end in a log."""
    with pytest.raises(SetupError, match=variable) as refused:
        WebSettings.from_env({variable: f"slack:T2=token-two-of-sixteen,{wrong}"})

    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None
