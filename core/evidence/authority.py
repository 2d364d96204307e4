"""Who stands behind an address: a small curated table of publishers, and what their word weighs.

A host matches an entry only as a whole or below it (`docs.python.org` below `python.org`), so that
`nature.com.evil.example` and `evil-nature.com` match nothing. Unlisted hosts are unknown, not bad.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from types import MappingProxyType
from urllib.parse import urlsplit

from core.errors import SetupError
from core.source import SourceKind

# By judgement; only the order is argued for. Law-makers and the makers of a thing say what holds of it,
# standards bodies define, peers have checked; a preprint has named authors but no check yet; reference works
# and press have editors and report what others said; a local file was chosen by the operator; of an unknown
# page nothing is known; in a forum anyone writes anything.
_AUTHORITY = MappingProxyType(
    {
        SourceKind.OFFICIAL: 1.0,
        SourceKind.STANDARDS: 0.95,
        SourceKind.PEER_REVIEWED: 0.9,
        SourceKind.PREPRINT: 0.7,
        SourceKind.REFERENCE: 0.65,
        SourceKind.ESTABLISHED_PRESS: 0.6,
        SourceKind.LOCAL: 0.5,
        SourceKind.UNKNOWN: 0.35,
        SourceKind.FORUM: 0.2,
    }
)
PRIMARY_KINDS = frozenset({SourceKind.OFFICIAL, SourceKind.STANDARDS, SourceKind.PEER_REVIEWED})


def authority(kind: SourceKind) -> float:
    """The weight of a kind of publisher, 0…1, falling in the order of `SourceKind`."""
    return _AUTHORITY[kind]


def kind_of(
    url: str, *, hint: SourceKind | None = None, overrides: Mapping[str, SourceKind] = MappingProxyType({})
) -> SourceKind:
    """The kind of publisher behind `url`.

    `overrides` maps a domain to its kind and beats the table; the most specific entry wins. `hint`
    is what the provider knows (PubMed: peer reviewed) and beats the table but not the overrides.
    """
    host = _host(url)
    own = _lookup(host, overrides)
    if own:
        return own
    if hint is not None:
        return hint
    if not host:
        return SourceKind.LOCAL if url.lower().startswith("file:") else SourceKind.UNKNOWN
    return _lookup(host, _kinds()) or _by_subdomain(host)


def read_kinds(text: str) -> dict[str, SourceKind]:
    """The operator's own table, as in `intranet.example=official, blog.example=forum`.

    Raises `SetupError` on anything else; the message names the part that is wrong.
    """
    kinds: dict[str, SourceKind] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        domain, _, kind = (part.strip().lower() for part in entry.partition("="))
        if kind not in set(SourceKind) or not _DOMAIN.fullmatch(domain):
            raise SetupError(
                f"GORKD_SOURCE_KINDS: {entry!r} is not a domain and its kind. Write example.org=official, several "
                f"separated by commas; the kinds are {', '.join(SourceKind)}."
            )
        kinds[domain] = SourceKind(kind)
    return kinds


def registrable_domain(host: str) -> str:
    """The part of a host that one owner registers: `bbc.co.uk` of `news.bbc.co.uk`, "" of "".

    Sites of many owners (`alice.github.io`, `x.substack.com`) keep one label more. Addresses stay
    as they are. Covers the common two-label suffixes; an unlisted one takes its whole suffix for
    one owner, which counts too few independent sources rather than too many.
    """
    host = host.strip().lower().rstrip(".")
    host = host[1:].split("]")[0] if host.startswith("[") else host
    if _is_address(host):
        return host
    host = _PORT.sub("", host)
    if _is_address(host):
        return host
    labels = host.split(".")
    for size in (3, 2):
        if ".".join(labels[-size:]) in _names("shared"):
            return ".".join(labels[-size - 1 :])
    is_two_label_suffix = len(labels) >= 3 and len(labels[-1]) == 2 and labels[-2] in _names("second_level")
    return ".".join(labels[-3 if is_two_label_suffix else -2 :])


def _host(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url or url.startswith("file:") else f"//{url}")
        return (parts.hostname or "").rstrip(".") if parts.scheme != "file" else ""
    except ValueError:
        return ""


def _lookup(host: str, table: Mapping[str, SourceKind]) -> SourceKind | None:
    """The kind of the longest entry that is `host` or a domain above it."""
    labels = host.split(".")
    for start in range(len(labels)):
        kind = table.get(".".join(labels[start:]))
        if kind:
            return kind
    return None


def _by_subdomain(host: str) -> SourceKind:
    labels = host.split(".")
    is_own_subdomain = registrable_domain(host) == ".".join(labels[1:])  # docs.alice.github.io is nobody's manual
    if _is_address(host) or not is_own_subdomain or ".".join(labels[2:]) in _names("shared"):
        return SourceKind.UNKNOWN
    if labels[0] in ("docs", "developer", "developers", "devdocs"):
        return SourceKind.OFFICIAL
    if labels[0] in ("forum", "forums", "community", "discuss", "answers"):
        return SourceKind.FORUM
    return SourceKind.UNKNOWN


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_PORT = re.compile(r":\d+$")
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")


def site_list(name: str) -> str:
    """A list of `sites.toml` as it is written there."""
    return str(_sites()[name])


@cache
def _sites() -> Mapping[str, object]:
    return tomllib.loads(files(__package__).joinpath("sites.toml").read_text(encoding="utf-8"))


@cache
def _names(name: str) -> frozenset[str]:
    return frozenset(site_list(name).split())


@cache
def _kinds() -> Mapping[str, SourceKind]:
    return {domain: kind for kind in SourceKind if kind is not SourceKind.LOCAL for domain in _names(f"{kind}")}
