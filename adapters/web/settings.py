"""What the web process may be told."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Annotated
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import BaseModel, Field, ValidationError, field_validator

from adapters.secrets import read_tokens
from core.model.errors import SetupError

_VARIABLES = {
    "HOST": "host",
    "PORT": "port",
    "GORKD_PUBLIC_URL": "public_url",
    "GORKD_API_TOKENS": "api_tokens",
    "GORKD_STATS_TOKENS": "stats_tokens",
    "GORKD_PROXIES": "proxies",
    "GORKD_TRUST_LOCAL": "trust_local",
    "GORKD_ASKS_PER_MINUTE": "asks_per_minute",
    "GORKD_READS_PER_MINUTE": "reads_per_minute",
    "GORKD_STREAMS_PER_ADDRESS": "streams_per_address",
}
TRUSTS_LOCAL = (
    "GORKD_TRUST_LOCAL=1: whatever comes from this machine may ask without a token and without limits, "
    "and so may everybody whom a proxy or tunnel on it lets through"
)
_TOKENS = ("GORKD_API_TOKENS", "GORKD_STATS_TOKENS")


class WebSettings(BaseModel, frozen=True):
    """`api_tokens` let ask. Of `stats_tokens`, each a tenant, `=` and a token, every one shows that tenant's usage and
    nothing else. Without any, on a server for this machine alone, or with `trust_local`, this machine needs none.

    `proxies` are the networks whose `X-Forwarded-For` is believed, besides this machine's. The limits
    are those of one address (G-01).
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)  # 0 takes any free port
    public_url: str = "http://127.0.0.1:8080"
    api_tokens: tuple[str, ...] = Field(default=(), repr=False)
    stats_tokens: tuple[Annotated[str, Field(pattern=r"^[^=]+=.+$")], ...] = Field(default=(), repr=False)
    trust_local: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    asks_per_minute: int = Field(default=10, ge=1, le=100_000)
    reads_per_minute: int = Field(default=60, ge=1, le=100_000)
    streams_per_address: int = Field(default=5, ge=1, le=100_000)

    @field_validator("public_url")
    @classmethod
    def _is_address(cls, text: str) -> str:
        parts = urlsplit(text)
        if parts.scheme not in {"http", "https"} or not parts.hostname:  # else no link that is given leads anywhere
            raise ValueError("no http(s) address")
        return text

    @property
    def is_for_this_machine(self) -> bool:
        """Whether nothing says that anybody else should reach the pages."""
        return is_loopback(self.host) and is_loopback(urlsplit(self.public_url).hostname or "")

    @property
    def trusts_this_machine(self) -> bool:
        """Whether callers from this machine need no token. A proxy here that adds no header is such a caller."""
        has_tokens = bool(self.api_tokens or self.stats_tokens)
        return self.trust_local or (self.is_for_this_machine and not has_tokens)

    @property
    def tenant_tokens(self) -> list[tuple[str, str]]:
        """Tenants with a token of theirs."""
        return [(tenant, token) for tenant, _, token in (entry.partition("=") for entry in self.stats_tokens)]

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> WebSettings:
        """Raises `SetupError` naming the variable that is wrong."""
        values: dict[str, str | Sequence[str]] = {
            field: env[name] for name, field in _VARIABLES.items() if env.get(name)
        }
        for name in _TOKENS:
            values[_VARIABLES[name]] = read_tokens(env, name)
        values["proxies"] = [part.strip() for part in env.get("GORKD_PROXIES", "").split(",") if part.strip()]
        public_url = values.get("public_url") or f"http://127.0.0.1:{values.get('port', 8080)}"
        values["public_url"] = str(public_url).rstrip("/")
        try:
            return cls.model_validate(values)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            name = next(name for name, field in _VARIABLES.items() if field == first["loc"][0])
            raise SetupError.of(name, first, is_secret=name in _TOKENS) from (None if name in _TOKENS else exc)


# Who is at the other end: this very machine, or which address


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
        if address is None or not (address.is_loopback or any(address in network for network in proxies)):
            break
        address = _address(named.strip()) or address
    if isinstance(address, IPv6Address):
        return str(ipaddress.ip_network((address, _IPV6_CUSTOMER), strict=False))
    return str(address)


def _peer(request: web.Request) -> Address | None:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return _address(str(peer[0])) if isinstance(peer, tuple) else None


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
