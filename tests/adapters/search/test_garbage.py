"""What every online provider makes of answers that cannot be read, and the table of known faults (S003-23)."""

from __future__ import annotations

import functools
import gzip
import json
import time
from pathlib import Path

import pytest

from core.model.errors import ProviderGarbled
from tests.adapters.search.making import ask_failing, each_online
from tests.loopback.search_faults import Fault
from tests.shared_data import shared_data

GARBAGE = {
    "challenge page": b"<!doctype html><html><title>Just a moment</title><body>Are you human?</body></html>",
    "empty": b"",
    "null": b"null",
    "number": b"3",
    "list": b"[]",
    "string": b'"results"',
    "truncated JSON": b'{"results": [{"url": "https://a.test", "ti',
    "truncated XML": b"<feed><entry><id>http",
    "wrong types": json.dumps({"results": 7, "query": 7, "esearchresult": 7}).encode(),
    "wrong items": json.dumps(
        {
            "results": [{"url": 5}, 7, None],
            "query": {"pages": [{"pageid": "x"}, 7]},
            "esearchresult": {"idlist": [{"a": 1}]},
        }
    ).encode(),
    "deep": b"[" * 200_000,
    "absurd number": b'{"results": [' + b"9" * 5000 + b"]}",
    "not UTF-8": b'{"results": ["\xff\xfe"]}',
    "binary": bytes(range(256)) * 4,
    "over 5 MB": b'{"results": ["' + b"x" * 5_100_000 + b'"]}',
}


# The shared table of provider faults by its ids, and the test with that fault; the last merge, or mean, no search.
STANDS_IN = {
    "pf-02": "a_server_that_never_ends_is_a_timeout",
    "pf-03": "a_server_that_never_ends_is_a_timeout",
    **dict.fromkeys(("pf-04", "pf-05", "pf-06"), "a_broken_connection_is_an_error_of_ours"),
    **dict.fromkeys(("pf-07", "pf-08", "pf-09"), "too_many_requests_says_when_to_come_back"),
    "pf-10": "a_refusal_names_the_variable_to_check",
    "pf-11": "a_used_up_plan_is_no_reason_to_retry",
    **dict.fromkeys(("pf-12", "pf-13"), "a_server_error_is_unavailable_after_at_most_two_attempts"),
    "pf-14": "an_answer_that_cannot_be_read_is_garbled",
    "pf-16": "a_wrong_address_is_rejected_and_redirects_are_not_followed",
    **dict.fromkeys(("pf-01", "pf-15", "pf-17", "pf-18"), ""),
}


@each_online
@pytest.mark.parametrize("body", list(GARBAGE.values()), ids=list(GARBAGE))
async def test_an_answer_that_cannot_be_read_is_garbled(name: str, body: bytes) -> None:
    """200 OK means nothing by itself. People read the reason, operators what to look at."""
    with pytest.raises(ProviderGarbled) as caught:
        await ask_failing(name, Fault(body=body))

    assert caught.value.plain == "gave an answer that cannot be read"
    assert f"{name.upper()}_BASE_URL" in caught.value.operator_message


SLOW_PATTERNS = {
    "document types": b"<!DOCTYPE" * 400_000,
    "brackets": b"[" * 3_000_000,
    "comments in a title": json.dumps(
        {"results": [{"url": "https://a.test/", "title": "<!--" * 400_000, "content": "== " + " " * 400_000}]}
    ).encode(),
}


@each_online
@pytest.mark.parametrize("body", list(SLOW_PATTERNS.values()), ids=list(SLOW_PATTERNS))
async def test_no_answer_holds_the_event_loop_up(name: str, body: bytes) -> None:
    """Megabytes that make a careless pattern run for hours are refused, or read, in a second."""
    started = time.monotonic()

    try:
        hits = await ask_failing(name, Fault(body=body))
    except ProviderGarbled:
        hits = []

    assert time.monotonic() - started < 3.0
    assert all(len(hit.title) <= 500 for hit in hits)


@functools.cache
def bomb() -> bytes:
    return gzip.compress(b" " * 60_000_000)


@each_online
async def test_a_compressed_bomb_is_not_unpacked_whole(name: str) -> None:
    """60 KB that unpack to 60 MB stop at the cap."""
    fault = Fault(headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}, body=bomb())

    with pytest.raises(ProviderGarbled):
        await ask_failing(name, fault)


@each_online
async def test_hostile_bodies_are_read_or_garbled(name: str) -> None:
    """Every hostile sample, as JSON or XML: hits with web addresses, or `ProviderGarbled`."""
    files = sorted(
        path for path in shared_data("hostile_sample", "files").iterdir() if path.suffix in {".json", ".xml"}
    )
    outcomes = []

    for path in files:
        try:
            outcomes.append(await ask_failing(name, Fault(body=path.read_bytes())))
        except ProviderGarbled:
            outcomes.append([])

    assert len(outcomes) == len(files) > 3
    assert all(hit.url.startswith(("http://", "https://")) for hits in outcomes for hit in hits)


def test_every_known_fault_of_a_search_service_has_its_test() -> None:
    rows = [json.loads(line) for line in shared_data("hostile_sample", "provider_faults.jsonl").open(encoding="utf-8")]
    tests = "".join(file.read_text("utf-8") for file in Path(__file__).parent.glob("test_*.py"))

    assert {row["id"] for row in rows if row["who"] == "search"} == set(STANDS_IN)
    assert [test for test in STANDS_IN.values() if test and f"async def test_{test}(" not in tests] == []
