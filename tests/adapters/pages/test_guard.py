"""The guard: no address but a public one is ever dialled, however it is written, resolved or redirected to."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st

from adapters.pages import WebPages
from adapters.pages.fetch import FetchLimits
from adapters.pages.guard import WEB_PORTS, Refused, check_address, check_url, parse_allow
from core.model.errors import AddressBlocked, FetchError, SetupError
from tests.loopback.web_world import PageSpec, WebWorld
from tests.shared_data import shared_data

PUBLIC = "93.184.216.34"
ARTICLE = "<article>" + "<p>A paragraph that is long enough to be read as the text of a page.</p>" * 5 + "</article>"

REFUSED = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:c0a8:101::1",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]
ALLOWED = [
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.167.1.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450:4001:81b::200e",
    "::ffff:1.1.1.1",
    "64:ff9b::1.1.1.1",
]


@pytest.mark.parametrize("address", REFUSED)
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    """Private, loopback, link-local, shared, multicast, reserved, documentation, also inside IPv6 (S003-09)."""
    with pytest.raises(Refused, match="not a public address"):
        check_address(address, 80)


@pytest.mark.parametrize("address", ALLOWED)
def test_public_addresses_pass_on_web_ports_only(address: str) -> None:
    """Neighbours of refused blocks are ordinary hosts; port 22 of one is still not a page."""
    for port in WEB_PORTS:
        check_address(address, port)

    with pytest.raises(Refused, match="port 22"):
        check_address(address, 22)


@given(st.ip_addresses(v=4))
def test_an_address_inside_ipv6_is_judged_as_the_address_it_is(inside: IPv4Address) -> None:
    """Law: mapped and NAT64 forms are refused exactly when the IPv4 address is."""
    forms = (f"::ffff:{inside}", f"64:ff9b::{inside}")

    verdicts = {_is_refused(str(inside)), *(_is_refused(form) for form in forms)}

    assert len(verdicts) == 1


@given(st.ip_addresses())
def test_what_the_standard_library_calls_private_is_refused(address: IPv4Address | IPv6Address) -> None:
    """Law: our table is nowhere laxer than Python's, which knows the same registries."""
    laxer = (
        not address.is_global or address.is_multicast or address.is_private or address.is_reserved
    ) and not _is_refused(str(address))

    # NAT64 and mapped forms carry a public IPv4 address; PCP and TURN anycast addresses are host-like and harmless.
    assert not laxer or int(address) >> 32 in (0xFFFF, 0x64_FF9B << 64)


@given(st.ip_addresses(v=4), st.integers(8, 32), st.integers(1, 65535))
def test_the_operators_list_is_the_only_exception(address: IPv4Address, prefix: int, port: int) -> None:
    """Law: an address within the list passes on any port; the list lets nothing else in."""
    network = IPv4Network((address, prefix), strict=False)
    outside = ip_address(int(network.broadcast_address) + 1) if int(network.broadcast_address) < 2**32 - 1 else None

    check_address(str(address), port, [network])

    assert outside is None or _is_refused(str(outside), port, [network]) == _is_refused(str(outside), port)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("10.0.0.0/8", ("10.0.0.0/8",)),
        (" 10.1.2.3, fd00::/8\n192.168.1.9/24 ", ("10.1.2.3/32", "fd00::/8", "192.168.1.0/24")),
    ],
    ids=["nothing", "block", "mixed"],
)
def test_the_operators_list_is_read(text: str, expected: tuple[str, ...]) -> None:
    """`GORKD_FETCH_ALLOW` takes addresses and CIDR blocks, parted by commas or blanks."""
    assert parse_allow(text) == tuple(ip_network(block) for block in expected)


@pytest.mark.parametrize("text", ["localhost", "10.0.0.0/33", "10.0.0.0/8;", "*"])
def test_a_misspelt_list_stops_the_start(text: str) -> None:
    """A wrong exception list is the operator's to mend, and must not be silently shorter."""
    with pytest.raises(SetupError, match="GORKD_FETCH_ALLOW"):
        parse_allow(text)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:/example.com",
        "http:///path",
        "http://user@example.com/",
        "http://user:password@example.com/",
        "http://:@example.com/",
        "http://exam ple.com/",
        "http://example.com\\@127.0.0.1/",
        "http://example.com/\r\nHost: other",
        "http://[::1%25eth0]/",
        "http://example.com:99999/",
        "http://example.com:abc/",
        "http://[::1/",
        "",
        "http://example.com/" + "a" * 5000,
    ],
)
def test_addresses_that_parsers_read_differently_are_refused(url: str) -> None:
    """Only plain http and https, without user names, blanks, backslashes or escapes in the host."""
    with pytest.raises(AddressBlocked):
        check_url(url)


@given(st.text(max_size=60) | st.text(max_size=60).map(lambda tail: "http://" + tail))
def test_any_string_is_either_refused_or_a_web_address(text: str) -> None:
    """Law: no input raises anything but `AddressBlocked`; what passes has a host and no user."""
    try:
        url = check_url(text)
    except AddressBlocked:
        return

    assert url.scheme in ("http", "https")
    assert url.host
    assert url.user is None


@dataclass(frozen=True)
class SsrfCase:
    id: str
    url: str
    kind: str
    is_allowed: bool
    answers: Mapping[str, Sequence[Sequence[str]]]
    redirect: tuple[int, str] | None
    hops: int


def _ssrf_cases() -> list[SsrfCase]:
    path = shared_data("hostile_sample", "ssrf_cases.jsonl")
    return [_ssrf_case(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def _ssrf_case(row: dict[str, Any]) -> SsrfCase:
    answers = {name: [found] for name, found in row.get("dns", {}).items()} | row.get("dns_seq", {})
    redirect = row.get("redirect")
    return SsrfCase(
        id=row["id"],
        url=row["url"],
        kind=row["cls"],
        is_allowed=row["expect"] == "allow",
        answers=answers,
        redirect=(redirect[0], redirect[1]) if redirect else None,
        hops=row.get("extra", {}).get("hops", 0),
    )


@dataclass
class TableResolver(AbstractResolver):
    """Answers from a table, one row a look-up and then the last; spellings of numbers as the system reads them."""

    answers: Mapping[str, Sequence[Sequence[str]]]
    asked: dict[str, int] = field(default_factory=dict)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        rows = self.answers.get(host) or [_numeric(host)]
        row = rows[min(self.asked.get(host, 0), len(rows) - 1)]
        self.asked[host] = self.asked.get(host, 0) + 1
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=0,
            )
            for address in row
        ]

    async def close(self) -> None:
        pass


def _numeric(host: str) -> list[str]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return [str(address[0]) for *_, address in found]


class DivertedSocket(socket.socket):
    """Connects to a loopback port whatever address is dialled, and notes what was dialled."""

    port = 0
    dialled: list[str]

    def connect(self, address: Any) -> None:
        self.dialled.append(str(address[0]))
        super().connect(("127.0.0.1", self.port))


async def test_every_known_trick_ends_before_a_private_address_is_dialled() -> None:
    """The table of SSRF cases behaves as it says, with the real client; nothing leaves this machine (S003-09)."""
    wrong: list[str] = []

    for case in _ssrf_cases():
        pages = {
            f"/hop{number}": PageSpec(behaviour="redirect", target=f"/hop{number + 1}") for number in range(case.hops)
        }
        pages |= {"/": PageSpec(ARTICLE), "/x": PageSpec(behaviour="redirect", target="/hop0"), "/r": PageSpec(ARTICLE)}
        if case.redirect is not None:
            pages["/r"] = PageSpec(behaviour="redirect", status=case.redirect[0], target=case.redirect[1])
        if case.kind == "dns-rebind":
            # A closed connection makes the client look the name up again.
            pages["/robots.txt"] = PageSpec("", content_type="text/plain", headers={"Connection": "close"})
        async with WebWorld(pages) as world:
            outcome, dialled = await _attempt(case, world.port)
        private = [address for address in dialled if _is_refused(address)]
        is_right = outcome in (("read", "reached") if case.is_allowed else ("blocked", "failed"))
        if private or not is_right:
            wrong.append(f"{case.id} {case.url!r}: {outcome}, dialled {dialled}")

    assert wrong == []


async def _attempt(case: SsrfCase, port: int) -> tuple[str, list[str]]:
    """What became of the fetch, and what was dialled. `reached`: the host was, but speaks no TLS."""
    dialled: list[str] = []

    def new_socket(family: int, kind: int, protocol: int) -> socket.socket:
        diverted = DivertedSocket(socket.AF_INET, kind, protocol)
        diverted.port, diverted.dialled = port, dialled
        return diverted

    pages = WebPages(
        resolver=TableResolver(case.answers), new_socket=new_socket, limits=FetchLimits(total_s=3.0), workers=1
    )
    try:
        await pages.fetch(case.url)
    except AddressBlocked:
        return "blocked", dialled
    except FetchError:
        return ("reached" if case.is_allowed and dialled else "failed"), dialled
    finally:
        await pages.aclose()
    return "read", dialled


async def test_a_name_with_one_bad_address_is_refused_whole() -> None:
    """A mix of public and private addresses is made to be raced, so neither is dialled."""
    case = SsrfCase("mixed", "http://mixed.test/", "dns-mixed", False, {"mixed.test": [[PUBLIC, "10.0.0.1"]]}, None, 0)

    outcome, dialled = await _attempt(case, port=9)

    assert (outcome, dialled) == ("blocked", [])


async def test_loopback_is_dialled_only_when_allowed() -> None:
    """The same page of this machine: refused by default, read when the operator lists it, on any port."""
    async with WebWorld({"/page": PageSpec(ARTICLE)}) as world:
        strict, lenient = WebPages(workers=1), WebPages(allow=[ip_network("127.0.0.0/8")], workers=1)

        with pytest.raises(AddressBlocked):
            await strict.fetch(world.url("/page"))
        seen_by_strict = len(world.requests)
        page = await lenient.fetch(world.url("/page"))
        await strict.aclose()
        await lenient.aclose()

    assert seen_by_strict == 0
    assert "A paragraph that is long enough" in page.text


async def test_a_proxy_of_the_environment_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy would dial for us, out of the guard's sight."""
    async with WebWorld({"/page": PageSpec(ARTICLE)}) as world, WebWorld({}) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url("/"))
        pages = WebPages(allow=[ip_network("127.0.0.0/8")], workers=1)

        await pages.fetch(world.url("/page"))
        await pages.aclose()

    assert proxy.requests == []


def _is_refused(address: str, port: int = 80, allow: Sequence[IPv4Network] = ()) -> bool:
    try:
        check_address(address, port, allow)
    except Refused:
        return True
    return False
