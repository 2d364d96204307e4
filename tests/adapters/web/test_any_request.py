"""Whatever is sent, the answer is one that the description of the API foresees."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import web_app
from tests.golden import samples

FIELDS = ["query", "mode", "depth", "top_k", "context", "private", "fresh", "attachments", "else"]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
questions = st.dictionaries(st.sampled_from(FIELDS), json_values | st.sampled_from(["deep", "quick"]), max_size=6)
bodies = (
    st.binary(max_size=60) | json_values.map(json.dumps).map(str.encode) | questions.map(json.dumps).map(str.encode)
)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=30).map("j{}".format)


@settings(max_examples=60)
@given(st.lists(bodies, min_size=5, max_size=5))
def test_any_body_is_accepted_or_refused_with_the_envelope(sent: list[bytes]):
    """G-01: 202 or an error of its own; never a 500."""

    async def ask() -> list[int]:
        async with conforming(web_app()) as client:
            return [(await client.post("/v1/research", data=body)).status for body in sent]

    statuses = asyncio.run(ask())

    assert set(statuses) <= {202, 400}


@settings(max_examples=40)
@given(names, names, st.sampled_from(["GET", "HEAD", "POST", "DELETE", "PUT"]))
def test_any_address_has_an_answer(job: str, sig: str, method: str):
    """Odd ids and signatures are unknown jobs, wrong methods are told so."""

    async def ask() -> list[int]:
        async with conforming(web_app()) as client:
            base = client.make_url("/v1/jobs")
            addresses = [base / job, base / job / "sources", base / job / "links", base / samples.COMPLETED.id / job]
            return [
                (await client.request(method, address.with_query(sig=sig).relative())).status for address in addresses
            ]

    statuses = asyncio.run(ask())

    assert set(statuses) <= {200, 204, 404, 405}


@pytest.mark.parametrize("name", ["Origin", "Host", "Authorization", "X-Forwarded-For", "Cookie", "Last-Event-ID"])
@pytest.mark.parametrize("value", ["[", "http://[", "::%", "gorkd_session=9-\xff", "Bearer \xe9", ", ,", "9" * 4000])
async def test_any_header_has_an_answer(name: str, value: str):
    """What cannot be read counts as a stranger's, never as a fault of ours."""
    async with conforming(web_app()) as client:
        asked = await client.post("/v1/research", json={"query": "x"}, headers={name: value})
        read = await client.get(f"/v1/jobs/{samples.COMPLETED.id}/stream", headers={name: value})

    assert asked.status in (202, 401)
    assert read.status in (200, 204)
