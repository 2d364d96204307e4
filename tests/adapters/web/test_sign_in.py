"""A token once, then a cookie: asking on the page from elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.records.tenants import SqlRevocations
from adapters.web.access import COOKIE, SESSION_LIFE, Session
from adapters.web.settings import WebSettings
from tests.adapters.web.conformity import ConformingClient, conforming
from tests.adapters.web.serving import web_app
from tests.golden import samples
from tests.golden.samples import LINKS, NOON
from tests.records import MemoryTables

JOB = samples.COMPLETED.id
AFAR = {"X-Forwarded-For": "203.0.113.9"}
SETTINGS = WebSettings(api_tokens=("other", "right"), asks_per_minute=100, public_url="http://gorkd.example")


@pytest.fixture
async def client() -> AsyncIterator[ConformingClient]:
    async with conforming(web_app(None, SETTINGS)) as opened:
        yield opened


async def ask(client: ConformingClient, **headers: str) -> int:
    asked = await client.post("/", data={"query": "x"}, headers={**AFAR, **headers}, allow_redirects=False)
    return asked.status


async def test_a_token_gets_a_cookie_that_may_ask_until_one_signs_out(client: ConformingClient):
    """HttpOnly, SameSite, and without the token; the same address could not ask before. The way out is shown then."""
    before = await ask(client)
    page_before = await (await client.get("/sign-in", headers=AFAR)).text()

    answer = await client.post("/sign-in", data={"token": " right "}, headers=AFAR, allow_redirects=False)

    cookie = answer.headers["Set-Cookie"]
    page = await (await client.get("/sign-in", headers=AFAR)).text()
    assert (before, answer.status, await ask(client)) == (401, 303, 303)
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "right" not in cookie
    assert ['action="/sign-out"' in one for one in (page_before, page)] == [False, True]
    await client.post("/sign-out", headers=AFAR)
    assert await ask(client) == 401


async def test_a_wrong_token_gets_none(client: ConformingClient):
    answer = await client.post("/sign-in", data={"token": "wrong"}, headers=AFAR)

    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers
    assert 'role="alert"' in await answer.text()


async def test_a_copied_cookie_is_worth_nothing_after_signing_out(client: ConformingClient):
    """On the server, not in one browser; another session of the same token goes on."""
    other = await client.post("/sign-in", data={"token": "right"}, headers=AFAR, allow_redirects=False)
    signed_in = await client.post("/sign-in", data={"token": "right"}, headers=AFAR, allow_redirects=False)
    copied, kept = signed_in.cookies[COOKIE].value, other.cookies[COOKIE].value

    await client.post("/sign-out", headers=AFAR)

    client.session.cookie_jar.update_cookies({COOKIE: copied})
    with_copy = await ask(client)
    client.session.cookie_jar.update_cookies({COOKIE: kept})
    assert (with_copy, await ask(client)) == (401, 303)


async def test_only_a_genuine_session_can_be_ended():
    """Else strangers would fill the records with ends of nothing."""
    sessions = SqlRevocations(MemoryTables(), clock=lambda: NOON)
    forged = SESSION.made_with("gone")
    async with conforming(web_app(None, SETTINGS, revocations=sessions)) as client:
        client.session.cookie_jar.update_cookies({COOKIE: forged})

        answer = await client.post("/sign-out", headers=AFAR, allow_redirects=False)

    assert answer.status == 303
    assert not await sessions.has_ended(SESSION.id)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Sec-Fetch-Site": "same-origin", "Origin": "null"}, 303, id="own page without a referrer"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 401, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 401, id="a neighbour"),
        pytest.param({"Origin": "https://evil.test"}, 401, id="another site in an old browser"),
        pytest.param({"Origin": "null"}, 401, id="a page without a site"),
        pytest.param({"Origin": "http://gorkd.example", "Host": "127.0.0.1:8080"}, 303, id="through a proxy over http"),
        pytest.param({"Origin": "http://gorkd.example.evil.test"}, 401, id="a longer name"),
    ],
)
async def test_no_other_site_asks_with_the_cookie(client: ConformingClient, headers: dict[str, str], status: int):
    """Cross-site request forgery: the browser sends the cookie along, and the question is refused."""
    await client.post("/sign-in", data={"token": "right"}, headers=AFAR)

    assert await ask(client, **headers) == status


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
async def test_no_other_site_signs_anybody_in_or_out(client: ConformingClient, path: str):
    answer = await client.post(path, data={"token": "right"}, headers={**AFAR, "Sec-Fetch-Site": "cross-site"})

    assert answer.status == 401
    assert "Set-Cookie" not in answer.headers


SESSION = Session("5e55", int((NOON + SESSION_LIFE).timestamp()))


@pytest.mark.parametrize(
    ("cookie", "later", "status"),
    [
        pytest.param(SESSION.made_with("right"), timedelta(0), 303, id="good"),
        pytest.param(SESSION.made_with("right"), SESSION_LIFE, 401, id="expired"),
        pytest.param(SESSION.made_with("gone"), timedelta(0), 401, id="token taken out of the settings"),
        pytest.param(SESSION.made_with("right").replace("-", "0-"), timedelta(0), 401, id="longer expiry"),
        pytest.param(SESSION.made_with("right").replace("5e55", "5e56"), timedelta(0), 401, id="another session"),
        pytest.param("right", timedelta(0), 401, id="token itself"),
        pytest.param("²-x", timedelta(0), 401, id="nonsense"),
    ],
)
async def test_what_a_session_is_worth(cookie: str, later: timedelta, status: int):
    links = replace(LINKS, clock=lambda: NOON + later)
    async with conforming(web_app(None, SETTINGS, links=links)) as client:
        client.session.cookie_jar.update_cookies({COOKIE: cookie})

        assert await ask(client) == status


async def test_over_https_the_cookie_stays_there():
    settings = SETTINGS.model_copy(update={"public_url": "https://gorkd.test"})
    async with conforming(web_app(None, settings)) as client:
        answer = await client.post("/sign-in", data={"token": "right"}, headers=AFAR, allow_redirects=False)

    assert "Secure" in answer.headers["Set-Cookie"]


async def test_a_private_question_is_answered_to_its_asker_alone():
    """The addresses in the response open it; its id alone does not."""
    researcher = samples.ScriptedResearcher()
    async with conforming(web_app(researcher)) as client:
        asked = await client.post("/v1/research", json={"query": "x", "private": True})
        accepted = await asked.json()
        opened, unsigned = await client.get(asked.headers["Location"]), await client.get(f"/v1/jobs/{JOB}")

        assert (asked.status, opened.status, unsigned.status) == (202, 200, 404)
        assert "?sig=" in accepted["stream_url"]
        assert (await client.get(accepted["stream_url"])).status == 200
        request = researcher.requests[0]
        assert (request.is_private, request.scope.visibility.startswith("user:")) == (True, True)


async def test_links_are_taken_back_by_who_has_one_and_may_ask():
    """Afterwards the old ones open nothing."""
    ours = {"Authorization": "Bearer right"}
    async with conforming(web_app(samples.ScriptedResearcher(), SETTINGS)) as client:
        asked = await client.post("/v1/research", json={"query": "x", "private": True}, headers=ours)
        job, _, sig = asked.headers["Location"].partition("?")
        by_nobody = await client.delete(f"{job}/links?{sig}", headers=AFAR)
        without_link = await client.delete(f"{job}/links", headers=ours)

        revoked = await client.delete(f"{job}/links?{sig}", headers=ours)

        assert (by_nobody.status, without_link.status, revoked.status) == (401, 404, 204)
        assert (await client.get(f"{job}?{sig}")).status == 404


async def test_scopes_of_different_tokens_are_different():
    """A private answer of one token is no earlier answer to another."""
    researcher = samples.ScriptedResearcher()
    async with conforming(web_app(researcher, SETTINGS)) as client:
        for token in ("other", "right", "right"):
            headers = {"Authorization": f"Bearer {token}"}
            await client.post("/v1/research", json={"query": "x", "private": True}, headers=headers)

    scopes = [request.scope for request in researcher.requests]
    assert scopes[0] != scopes[1] == scopes[2]
