"""robots.txt: matched as its authors mean it, fetched once, bounded, and obeyed."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.pages import WebPages
from adapters.pages.fetch import (
    FRESH_FOR,
    MAX_ROBOTS_BYTES,
    UNREACHABLE_FOR,
    FetchLimits,
    Robots,
    RobotsAnswer,
    RobotsRules,
)
from core.model.errors import AddressBlocked, FetchError, RobotsDisallowed
from tests.fakes import Clock
from tests.loopback.web_world import PageSpec, WebWorld
from tests.shared_data import shared_data

ARTICLE = "<article>" + "<p>A paragraph that is long enough to be read as the text of a page.</p>" * 5 + "</article>"
SITE = "http://site.example"

# Google's matcher and protego differ on purpose or by construction:
# a raw non-ASCII address (ours are always encoded), an escaped plain letter (RFC 9309 decodes it, Google does not),
# and three cases whose over-long line the table itself does not contain.
KNOWN_DIFFERENCES = {("ID_Encoding", 3), ("GoogleOnly_LineTooLong", 3)}


def test_matching_agrees_with_the_reference_cases() -> None:
    """Google's own table: all but the six cases listed above (S003-09)."""
    lines = shared_data("robots", "cases.jsonl").read_text(encoding="utf-8").splitlines()
    differing: dict[str, int] = {}

    for case in map(json.loads, lines):
        if RobotsRules.parse(case["robots"], case["agent"]).allows(case["url"]) != case["allowed"]:
            differing[case["test"]] = differing.get(case["test"], 0) + 1

    assert len(lines) == 145
    assert set(differing.items()) <= KNOWN_DIFFERENCES


@pytest.mark.parametrize(
    ("text", "url", "allowed"),
    [
        ("", "/a", True),
        ("User-agent: *\nDisallow: /", "/a", False),
        ("User-agent: *\nDisallow:", "/a", True),
        ("User-agent: gorkd\nDisallow: /\n\nUser-agent: *\nAllow: /", "/a", False),
        ("User-agent: GORKD/2.0 (x)\nDisallow: /", "/a", False),
        ("User-agent: g\nDisallow: /", "/a", True),
        ("User-agent: gorkd-news\nDisallow: /", "/a", True),
        ("User-agent: *\nDisallow: /\nUser-agent: gorkd\nDisallow: /b", "/a", True),
        ("User-agent: other\nUser-agent: gorkd\nCrawl-delay: 9\nDisallow: /a", "/a/b", False),
        ("User-agent: other\nDisallow: /a\nUser-agent: gorkd\nDisallow: /b", "/a", True),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf", False),
        ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf?y", True),
        ("\ufeffUser-agent: *\nDisallow: /", "/a", False),
        ("<html><body>Not found</body></html>", "/a", True),
        ("User-agent: *\r\nDisallow: /\r\n", "/a", False),
    ],
)
def test_our_own_group_is_found(text: str, url: str, allowed: bool) -> None:
    """Equal product tokens name us, in any case and with a version; a group for others does not concern us."""
    assert RobotsRules.parse(text, "gorkd").allows(SITE + url) is allowed


@given(st.text(alphabet=st.sampled_from("user-agent: disallow/*$#\n\r abcgorkd"), max_size=300), st.text(max_size=30))
def test_no_file_and_no_address_breaks_matching(text: str, path: str) -> None:
    """Law: anything parses, and every address gets an answer."""
    assert RobotsRules.parse(text, "gorkd").allows(f"{SITE}/{path}") in (True, False)


def test_a_hostile_file_costs_no_more_than_an_honest_one_of_its_size() -> None:
    """15,000 robots with 12,000 wildcard rules would be 180 million rules; folded they are 12,000."""
    robots = "".join(f"User-agent: bot{number}\n" for number in range(7_000))
    rules = "".join(f"Disallow: /{number}*a*a*a*b$\n" for number in range(12_000))

    started = time.process_time()
    RobotsRules.parse(robots + rules, "bot7").allows(f"{SITE}/" + "a" * 2_000)

    assert time.process_time() - started < 3.0


def _asked(answers: list[RobotsAnswer], seen: list[str]) -> Callable[[str], Awaitable[RobotsAnswer]]:
    async def ask(address: str) -> RobotsAnswer:
        seen.append(address)
        return answers.pop(0)

    return ask


async def test_rules_are_asked_for_once_an_hour_and_a_failure_once_a_minute() -> None:
    """A site's rules are kept in memory; a site that could not answer gets another chance soon."""
    seen: list[str] = []
    clock = Clock()
    answers = [RobotsAnswer(None), RobotsAnswer("User-agent: *\nDisallow: /private"), RobotsAnswer("")]
    robots = Robots(_asked(answers, seen), robot="gorkd", clock=clock)

    verdicts = [await robots.allow(f"{SITE}/private", SITE), await robots.allow(f"{SITE}/a", SITE)]
    clock.now += UNREACHABLE_FOR + timedelta(seconds=1)
    verdicts += [await robots.allow(f"{SITE}/private", SITE), await robots.allow(f"{SITE}/a", SITE)]
    clock.now += FRESH_FOR + timedelta(seconds=1)
    verdicts += [await robots.allow(f"{SITE}/private", SITE)]

    assert verdicts == [None, None, False, True, True]
    assert seen == [f"{SITE}/robots.txt"] * 3


async def test_memory_of_rules_is_bounded() -> None:
    """Only so many sites are remembered; the one unused for longest is asked again."""
    seen: list[str] = []
    robots = Robots(_asked([RobotsAnswer("")] * 600, seen), robot="gorkd", clock=Clock())

    for number in range(501):
        await robots.allow(f"http://s{number}.example/a", f"http://s{number}.example")
    await robots.allow("http://s500.example/a", "http://s500.example")
    await robots.allow("http://s0.example/a", "http://s0.example")

    assert len(seen) == 502


@asynccontextmanager
async def _reader(pages: Mapping[str, PageSpec], **limits: float) -> AsyncIterator[tuple[WebWorld, WebPages]]:
    async with WebWorld(pages) as world:
        fetcher = WebPages(
            allow=[ip_network("127.0.0.0/8")],
            limits=FetchLimits(total_s=5.0, robots_s=limits.get("robots_s", 2.0)),
            workers=1,
        )
        try:
            yield world, fetcher
        finally:
            await fetcher.aclose()


RULES = "User-agent: *\nDisallow: /private\n"


async def test_a_disallowed_page_is_never_asked_for() -> None:
    """robots.txt is read first, once for all pages of a site, and obeyed (S003-09)."""
    robots = PageSpec(RULES, content_type="text/plain")
    async with _reader({"/robots.txt": robots, "/private": PageSpec(ARTICLE), "/a": PageSpec(ARTICLE)}) as (
        world,
        reader,
    ):
        await reader.fetch(world.url("/a"))
        with pytest.raises(RobotsDisallowed) as refused:
            await reader.fetch(world.url("/private"))

        assert [request.path for request in world.requests] == ["/robots.txt", "/a"]
        assert refused.value.reason == "disallowed by robots.txt"


async def test_a_redirect_into_a_disallowed_page_is_not_followed() -> None:
    """Every hop asks the robots.txt of where it leads."""
    robots = PageSpec(RULES, content_type="text/plain")
    hop = PageSpec(behaviour="redirect", target="/private")
    async with _reader({"/robots.txt": robots, "/hop": hop, "/private": PageSpec(ARTICLE)}) as (world, reader):
        with pytest.raises(RobotsDisallowed):
            await reader.fetch(world.url("/hop"))

        assert world.asked("/private") == []


@pytest.mark.parametrize(
    ("robots", "is_read"),
    [
        (PageSpec("no", status=404), True),
        (PageSpec("no", status=403), True),
        (PageSpec("no", status=429), False),
        (PageSpec("no", status=503), False),
        (PageSpec(behaviour="hang"), False),
        (PageSpec(behaviour="drip"), False),
        (PageSpec(behaviour="redirect", target="/rules"), True),
        (PageSpec(behaviour="redirect", target="/forbidding"), False),
        (PageSpec(behaviour="redirect", target="/robots.txt"), True),
        (PageSpec(behaviour="redirect", target="http://10.0.0.1/robots.txt"), False),
        (PageSpec(RULES + "#" * MAX_ROBOTS_BYTES + "\nUser-agent: *\nDisallow: /", content_type="text/plain"), True),
        (PageSpec("User-agent: *\nDisallow: /", content_type="image/png"), False),
        (PageSpec("User-agent: *\nDisallow: /", behaviour="gzip"), False),
        (PageSpec(b"\xff\xfe\x00binary", content_type="text/plain"), True),
    ],
    ids=[
        "none",
        "forbidden",
        "too many requests",
        "server error",
        "silence",
        "drip",
        "redirected",
        "redirected to a no",
        "redirect loop",
        "redirected to a private address",
        "larger than we must read",
        "mislabelled",
        "compressed",
        "binary",
    ],
)
async def test_what_an_answer_for_robots_txt_means(robots: PageSpec, is_read: bool) -> None:
    """RFC 9309, 2.3.1: "not available" allows, "unreachable" forbids; what lies past 500 KiB is not read."""
    forbidding = PageSpec("User-agent: *\nDisallow: /", content_type="text/plain")
    pages = {"/robots.txt": robots, "/rules": PageSpec(RULES), "/forbidding": forbidding, "/a": PageSpec(ARTICLE)}

    async with _reader(pages, robots_s=0.3) as (world, reader):
        try:
            await reader.fetch(world.url("/a"))
            outcome = True
        except RobotsDisallowed:
            outcome = False

        assert outcome is is_read
        assert bool(world.asked("/a")) is is_read


async def test_a_site_that_cannot_be_reached_is_not_called_disallowing() -> None:
    """The reason a person reads is the true one: no connection, or an address that must not be dialled."""
    async with WebWorld({}) as gone:
        closed = gone.url("/a")
    async with _reader({}) as (_, reader):
        with pytest.raises(FetchError, match="cannot be reached") as failed:
            await reader.fetch(closed)
        with pytest.raises(AddressBlocked):
            await reader.fetch("http://10.0.0.1/a")

    assert not isinstance(failed.value, RobotsDisallowed)
