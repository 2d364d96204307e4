"""What every online provider makes of answers that cannot be read, and the table of known faults (S003-23)."""

from __future__ import annotations

import functools
import gzip
import json
import time

import pytest

from core.model.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
)
from tests.adapters.search.making import HASTY, ask_failing, each_online, each_way
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
MISSHAPEN = {"null", "list", "wrong types", "wrong items"}

OUTCOMES: dict[str, tuple[Fault | None, tuple[type[ProviderError], ...]]] = {
    # The shared table of provider faults by its ids; None where the case stands in a test of its own.
    "pf-01": (None, ()),
    "pf-02": (Fault(kind="hang"), (ProviderTimeout,)),
    "pf-03": (Fault(kind="drip"), (ProviderTimeout,)),
    "pf-04": (Fault(kind="reset_in_body"), (ProviderUnavailable,)),
    "pf-05": (
        Fault(kind="raw", body=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{}"),
        (ProviderUnavailable, ProviderGarbled),
    ),
    "pf-06": (
        Fault(kind="raw", body=b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"results": []}'),
        (ProviderUnavailable, ProviderGarbled),
    ),
    "pf-07": (Fault(status=429, headers={"Retry-After": "2"}, times=1), (ProviderRateLimited,)),
    "pf-08": (
        Fault(status=429, headers={"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        (ProviderRateLimited,),
    ),
    "pf-09": (Fault(status=429, headers={"Retry-After": "abc"}), (ProviderRateLimited,)),
    "pf-10": (Fault(status=401), (ProviderRejected,)),
    "pf-11": (Fault(status=432), (ProviderRejected,)),
    "pf-12": (Fault(status=500, times=5), (ProviderUnavailable,)),
    "pf-13": (Fault(status=503), (ProviderUnavailable,)),
    "pf-14": (Fault(headers={"Content-Type": "text/html"}, body=GARBAGE["challenge page"]), (ProviderGarbled,)),
    "pf-15": (None, ()),
    "pf-16": (Fault(status=302, headers={"Location": "http://127.0.0.1:1/"}), (ProviderRejected,)),
    "pf-17": (None, ()),  # the same page under many addresses: the search stage merges (core/text/urls.py)
    "pf-18": (None, ()),
}


@each_way
@pytest.mark.parametrize("what", sorted(GARBAGE.keys() - MISSHAPEN))
async def test_an_answer_that_cannot_be_read_is_garbled(name: str, what: str) -> None:
    """200 OK means nothing by itself."""
    with pytest.raises(ProviderGarbled):
        await ask_failing(name, Fault(body=GARBAGE[what]))


@each_online
@pytest.mark.parametrize("what", sorted(MISSHAPEN))
async def test_an_answer_of_another_shape_is_garbled(name: str, what: str) -> None:
    """Each provider has a shape of its own."""
    with pytest.raises(ProviderGarbled):
        await ask_failing(name, Fault(body=GARBAGE[what]))


SLOW_PATTERNS = {
    "document types": b"<!DOCTYPE" * 400_000,
    "brackets": b"[" * 3_000_000,
    "comments in a title": json.dumps(
        {"results": [{"url": "https://a.test/", "title": "<!--" * 400_000, "content": "== " + " " * 400_000}]}
    ).encode(),
}


@each_way
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


@each_way
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


@each_online
async def test_every_known_fault_of_a_search_service_has_its_error(name: str) -> None:
    """The shared table of faults, each with the one kind of error that tells a worker what to do."""
    rows = [json.loads(line) for line in shared_data("hostile_sample", "provider_faults.jsonl").open(encoding="utf-8")]
    wanted = {row["id"] for row in rows if row["who"] == "search"}
    wrong: dict[str, object] = {}

    for fault_id, (fault, expected) in OUTCOMES.items():
        if fault is not None:
            try:
                hasty = HASTY if fault.kind in {"hang", "drip"} else None
                wrong[fault_id] = await ask_failing(name, fault, search=hasty)
            except ProviderError as error:
                if not isinstance(error, expected):
                    wrong[fault_id] = error

    assert wrong == {}
    assert wanted == set(OUTCOMES)
