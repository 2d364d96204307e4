"""What may be dialled: the one judge of URLs, addresses and ports.

The decision is made on the socket address that is about to be connected to, so that encodings of an address,
redirects and names that change their answer between two look-ups cannot get past it. The only exception to the
rules of addresses and of ports is the operator's own list (`GORKD_FETCH_ALLOW`).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from core.model.errors import AddressBlocked, SetupError

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network
AddrInfo = tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]
NewSocket = Callable[[int, int, int], socket.socket]

WEB_PORTS = frozenset({80, 443, 8080, 8443})
MAX_URL_CHARS = 4096  # servers answer 414 from about 8,000; nothing readable needs so long an address

# IANA IPv4 special-purpose registry: what is not globally reachable, plus two addresses clouds answer on.
_REFUSED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's platform endpoint, a public-looking address inside the machine
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
# Only 2000::/3 is global unicast (RFC 4291, IANA); within it these are not ordinary hosts.
_GLOBAL_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries an IPv4 address and is deprecated (RFC 7526)
        "3fff::/20",
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052; hosts behind DNS64 reach every IPv4 site through it

_WEB_URL = re.compile(r"https?://[^/]", re.IGNORECASE)
_NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f\\]")  # parsers disagree on what these mean inside an address


class Refused(OSError):
    """An address that must not be dialled; an OSError, because HTTP clients let only those through."""


def check_address(address: str, port: int, allow: Sequence[IPNetwork] = ()) -> None:
    """Raise `Refused` unless an IP literal is global and `port` a usual web port, or it is within `allow`."""
    ip = _embedded(ip_address(address.partition("%")[0]))
    if any(ip in network for network in allow):
        return
    if not _is_global(ip):
        raise Refused(f"{address} is not a public address")
    if port not in WEB_PORTS:
        raise Refused(f"port {port} is not a web port")


def check_url(url: str) -> URL:
    """The parsed URL without its fragment. Raises `AddressBlocked` for all but plain http(s) addresses."""
    if len(url) > MAX_URL_CHARS:
        raise AddressBlocked(url[:200] + "…", f"longer than {MAX_URL_CHARS} characters")
    if not _WEB_URL.match(url) or _NOT_IN_URLS.search(url):
        raise AddressBlocked(url, "not a plain http or https address")
    try:
        # Written out and read again, because normalising letters can change where the host ends; and yarl reads the
        # authority only when asked for it, so all of it is asked for here.
        parsed = URL(str(URL(url).with_fragment(None)))
        host, port, has_user = parsed.host, parsed.port, bool(parsed.raw_user or parsed.raw_password)
    except ValueError as exc:
        raise AddressBlocked(url, f"malformed: {exc}") from exc
    if not host or port is None:
        raise AddressBlocked(url, "names no host")
    if "%" in host:
        raise AddressBlocked(url, "an escape or a zone in the host name")
    if has_user or "@" in parsed.raw_authority:
        raise AddressBlocked(url, "carries a user name")
    return parsed


def parse_allow(text: str) -> tuple[IPNetwork, ...]:
    """`GORKD_FETCH_ALLOW`: addresses and CIDR blocks, separated by commas or blanks. Raises `SetupError`."""
    networks = []
    for part in re.split(r"[,\s]+", text.strip()):
        if not part:
            continue
        try:
            networks.append(ip_network(part, strict=False))
        except ValueError as exc:
            raise SetupError(f"GORKD_FETCH_ALLOW: {part!r} is neither an address nor a CIDR block") from exc
    return tuple(networks)


class Guard:
    """Opens the sockets of a connector, and none to a refused address. `allow` as in `check_address`."""

    def __init__(self, allow: Sequence[IPNetwork] = (), *, new_socket: NewSocket = socket.socket) -> None:
        self._allow = tuple(allow)
        self._new_socket = new_socket

    def check(self, address: str, port: int) -> None:
        check_address(address, port, self._allow)

    def check_unresolved(self, host: str, port: int) -> None:
        """What can be said of a name that somebody else will look up: an address in any spelling, and the port."""
        try:
            address = str(ip_address(host.partition("%")[0]))
        except ValueError:
            try:
                address = socket.inet_ntoa(socket.inet_aton(host))  # as resolvers read 127.1, 0x7f000001, 2130706433
            except OSError:
                if port not in WEB_PORTS:
                    raise Refused(f"port {port} is not a web port") from None
                return
        self.check(address, port)

    def open_socket(self, addr_info: AddrInfo) -> socket.socket:
        """A socket for exactly this address. Raises `Refused`."""
        family, kind, protocol, _, address = addr_info
        self.check(str(address[0]), int(address[1]))
        return self._new_socket(family, kind, protocol)


class GuardedResolver(AbstractResolver):
    """Refuses a name when any of its addresses is refused: such a mix is made to be raced."""

    def __init__(self, resolver: AbstractResolver, guard: Guard) -> None:
        self._resolver = resolver
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for result in found:
            self._guard.check(result["host"], port)
        return found

    async def close(self) -> None:
        await self._resolver.close()


def _embedded(ip: IPAddress) -> IPAddress:
    """The IPv4 address inside a mapped or NAT64 address, else `ip` itself."""
    if isinstance(ip, IPv6Address) and (ip in _MAPPED or ip in _NAT64):
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip


def _is_global(ip: IPAddress) -> bool:
    if isinstance(ip, IPv4Address):
        return not any(ip in network for network in _REFUSED_V4)
    return ip in _GLOBAL_V6 and not any(ip in network for network in _REFUSED_V6)
