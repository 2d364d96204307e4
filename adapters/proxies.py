"""Which way calls to vendors and platforms go: directly, or by the proxy that the environment names.

Every client of ours asks here, because the libraries beneath them differ: some read `HTTPS_PROXY` themselves, one of
these forgets `NO_PROXY`, and some read neither. Pages are no vendor's: see adapters/pages/fetch.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from core.model.errors import SetupError


@dataclass(frozen=True)
class Proxies:
    """Addresses of proxies, "" for none; they may carry a password. `exceptions` are as `NO_PROXY` lists them."""

    https: str = field(default="", repr=False)
    http: str = field(default="", repr=False)
    exceptions: tuple[str, ...] = ()

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Proxies:
        """Reads `HTTPS_PROXY HTTP_PROXY NO_PROXY`, also in small letters. Raises `SetupError`."""
        listed = _value(env, "NO_PROXY").replace(",", " ").lower().split()
        return cls(read_proxy(env, "HTTPS_PROXY"), read_proxy(env, "HTTP_PROXY"), tuple(listed))

    def of(self, url: str) -> str | None:
        """The proxy for an `http`, `https`, `ws` or `wss` address; None goes directly."""
        parts = urlsplit(url)
        is_secure = parts.scheme in ("https", "wss")
        proxy = self.https if is_secure else self.http
        if not proxy or self._is_excepted(parts.hostname or "", parts.port or (443 if is_secure else 80)):
            return None
        return proxy

    def _is_excepted(self, host: str, port: int) -> bool:
        return any(_names(entry, host, port) for entry in self.exceptions)


DIRECT = Proxies()


def read_proxy(env: Mapping[str, str], name: str) -> str:
    """The address in one variable, "" when it is not set. Raises `SetupError`, which does not repeat it."""
    given = _value(env, name)
    if not given:
        return ""
    address = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(address)
        is_proxy = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_proxy = False
    if not is_proxy:
        raise SetupError(f"{name} is not the address of an HTTP proxy, e.g. http://proxy.example.org:3128.")
    return address


def _value(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.lower()) or "").strip()


def _names(entry: str, host: str, port: int) -> bool:
    """Whether an entry of `NO_PROXY` means this host: `*`, a name with all below it, an address, a network; a port
    may follow.
    """
    if entry == "*":
        return True
    name, _, after = entry.rpartition(":")
    if name and after.isdecimal() and (":" not in name or name.endswith("]")):
        if int(after) != port:
            return False
        entry = name
    try:
        return ip_address(host) in ip_network(entry.strip("[]"), strict=False)
    except ValueError:  # one of them is a name
        domain = entry.removeprefix("*").removeprefix(".")
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))
