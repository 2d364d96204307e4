"""/admin: who sees whose usage, and what the page and its CSV say."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from html import unescape

import pytest

from adapters.web.settings import WebSettings
from core.model.errors import SetupError
from core.tenancy.usage import Usage
from tests.adapters.web.conformity import ConformingClient, conforming
from tests.adapters.web.serving import web_app
from tests.fakes import KeptUsage
from tests.golden.samples import NOON

AFAR = {"X-Forwarded-For": "203.0.113.9"}
SETTINGS = WebSettings(api_tokens=("operator",), stats_tokens=("slack:T1=own=1", "discord:5=other"))
TODAY, YESTERDAY = f"{NOON:%F}", f"{NOON - timedelta(days=1):%F}"
ENTRIES = [
    Usage("discord:5", TODAY, questions=3, answered=2, failed=1, high=1, insufficient=1, cost_usd=0.5, p50_s=4.0,
          p95_s=9.0),
    Usage("slack:T1", YESTERDAY, questions=7, answered=6, cached=2, cancelled=1, medium=6, good=2, bad=1, unpriced=4,
          p50_s=1.0, p95_s=2.0),
    Usage("slack:T1", TODAY, questions=1, running=1),
]  # fmt: skip


def bearer(token: str) -> dict[str, str]:
    return {**AFAR, "Authorization": f"Bearer {token}"}


@pytest.fixture
async def client() -> AsyncIterator[ConformingClient]:
    async with conforming(web_app(None, SETTINGS, usage=KeptUsage(ENTRIES))) as opened:
        yield opened


def words(page: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


async def test_operator_sees_all_tenants_and_can_choose_one(client: ConformingClient) -> None:
    """Sums by tenant, days below, and the charts in words for who does not see them."""
    page = await (await client.get("/admin", headers=bearer("operator"))).text()
    one = await (await client.get("/admin?tenant=slack:T1&days=7", headers=bearer("operator"))).text()

    assert "slack:T1 8 6 0 2 – – 0 6 0 0 2 1 unknown" in words(page)
    assert f"{TODAY} 4 2 1 0" in words(page)
    assert f"Questions a day: 11 in all, most on {YESTERDAY} with 7." in page
    assert 'href="/admin?days=7"' in one
    assert f"{YESTERDAY} 7 6 0 2 1.0 s 2.0 s 0 6 0 0 2 1 unknown" in words(one)
    assert "<h1>slack:T1</h1>" in one


@pytest.mark.parametrize("path", ["/admin", "/admin?tenant=discord:5", "/admin.csv", "/admin.csv?tenant=discord:5"])
async def test_holder_of_one_tenants_token_sees_that_tenant_alone(client: ConformingClient, path: str) -> None:
    """Whatever the address asks for."""
    shown = await (await client.get(path, headers=bearer("own=1"))).text()

    assert "slack:T1" in shown
    assert "discord" not in shown
    assert "0.5" not in words(shown)


async def test_tenants_token_allows_nothing_else(client: ConformingClient) -> None:
    asked = await client.post("/v1/research", json={"query": "How tall is it?"}, headers=bearer("own=1"))

    assert asked.status == 401


async def test_tenants_token_signs_in_to_its_usage(client: ConformingClient) -> None:
    """The cookie is worth what the token is."""
    signed_in = await client.post("/sign-in", data={"token": "own=1"}, headers=AFAR, allow_redirects=False)
    page = await (await client.get("/admin", headers=AFAR)).text()
    asked = await client.post("/", data={"query": "x"}, headers=AFAR, allow_redirects=False)

    assert (signed_in.status, signed_in.headers["Location"]) == (303, "/admin")
    assert "slack:T1" in page
    assert "discord" not in page
    assert asked.status == 401


@pytest.mark.parametrize(
    "headers", [AFAR, bearer("wrong"), bearer("slack:T1=own=1")], ids=["none", "wrong", "whole entry"]
)
async def test_who_has_no_token_is_led_to_the_form(client: ConformingClient, headers: dict[str, str]) -> None:
    for path in ("/admin", "/admin.csv"):
        answer = await client.get(path, headers=headers, allow_redirects=False)
        assert (answer.status, answer.headers["Location"]) == (303, "/sign-in")


async def test_csv_has_a_row_for_each_tenant_and_day_and_is_kept_nowhere(client: ConformingClient) -> None:
    answer = await client.get("/admin.csv?days=7", headers=bearer("operator"))

    lines = (await answer.text()).splitlines()
    assert lines[0].startswith("tenant,day,questions,answered,failed")
    assert lines[2] == f"slack:T1,{YESTERDAY},7,6,0,1,0,2,0,6,0,0,2,1,0,4,1,2"
    assert (
        answer.headers["Content-Disposition"]
        == f'attachment; filename="gorkd-usage-{NOON - timedelta(days=6):%F}-{TODAY}.csv"'
    )
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("days", ["", "0", "8", "-1", "٣", "99999999999", "x"])
async def test_period_that_is_not_offered_is_thirty_days(days: str) -> None:
    kept = KeptUsage(ENTRIES)
    async with conforming(web_app(None, SETTINGS, usage=kept)) as client:
        answer = await client.get("/admin", params={"days": days}, headers=bearer("operator"))

    assert answer.status == 200
    assert {period.days for period, _, _ in kept.asked} == {30}


async def test_nothing_asked_is_said() -> None:
    async with conforming(web_app(None, SETTINGS, usage=KeptUsage())) as client:
        page = await (await client.get("/admin", headers=bearer("operator"))).text()

    assert "Nothing was asked in this time." in page
    assert "<svg" not in page


@pytest.mark.parametrize("entry", ["token", "=token", "slack:T1="])
def test_token_without_its_tenant_is_refused_at_the_start(entry: str) -> None:
    with pytest.raises(SetupError, match="GORKD_STATS_TOKENS"):
        WebSettings.from_env({"GORKD_STATS_TOKENS": f"discord:5=other,{entry}"})
