"""Who is at the other end: this very machine, or which address."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from aiohttp import web

Address = IPv4Address | IPv6Address

_FORWARDING_HEADERS = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP", "CF-Connecting-IP", "Via")
_IPV6_CUSTOMER = 64  # bits of the network that one customer gets (RFC 6177); the rest is theirs to choose


def is_local_peer(request: web.Request) -> bool:
    """This very machine, and nobody behind a proxy on it."""
    if any(header in request.headers for header in _FORWARDING_HEADERS):
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
