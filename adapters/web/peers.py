"""Who is at the other end: this very machine, or which address."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from aiohttp import web

Address = IPv4Address | IPv6Address

# Names that proxies, balancers and tunnels give their headers: whom they speak for, or whose network they are.
_FORWARDING = re.compile(
    r"forward|proxy|tailscale|ngrok"
    r"|(?:client|user|real|remote|source|peer|connecting|originating|external)-?(?:ip|addr|host)"
    r"|(?:^|-)via(?:-|$)|(?:^|-)original-"
    r"|^(?:x-)?(?:cf|cdn|fly|fastly|akamai|envoy|amzn?|azure|appengine|arr|edge|vercel|nf|nginx|varnish|traefik)(?:-|$)"
    r"|^x-(?:host|scheme|ssl)(?:-|$)|^front-end-https$"
)
_IPV6_CUSTOMER = 64  # bits of the network that one customer gets (RFC 6177); the rest is theirs to choose


def is_local_peer(request: web.Request) -> bool:
    """This very machine, and no proxy on it that says that it is one; one that says nothing looks like this machine."""
    if any(_FORWARDING.search(header.lower()) for header in request.headers):
        return False
    peer = _peer(request)
    return peer is not None and peer.is_loopback


def is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def counted_as(request: web.Request, proxies: Sequence[IPv4Network | IPv6Network]) -> str:
    """The address, or IPv6 network of a customer, whose requests are counted together.

    `X-Forwarded-For` is read from its end, as long as those who wrote it are this machine or `proxies`.
    """
    address = _peer(request)
    for named in reversed(",".join(request.headers.getall("X-Forwarded-For", [])).split(",")):
        if address is None or not _is_trusted(address, proxies):
            break
        address = _address(named.strip()) or address
    if isinstance(address, IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_CUSTOMER), strict=False))
    return str(address)


def _is_trusted(address: Address, proxies: Sequence[IPv4Network | IPv6Network]) -> bool:
    return address.is_loopback or any(address in network for network in proxies)


def _peer(request: web.Request) -> Address | None:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return _address(str(peer[0])) if isinstance(peer, tuple) else None


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
