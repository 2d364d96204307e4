"""Which sources a question may rest on: providers, sites, and whether only primary ones count. The default is all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from core.evidence.authority import PRIMARY_KINDS
from core.source import SearchFilters, SourceKind
from core.urls import ascii_host, domain_of


@dataclass(frozen=True)
class SourcePolicy:
    """`providers` and `allow` permit everything while they are empty; `block` goes before `allow`.

    A domain stands for itself and all below it. Files and papers have no site, so only `providers` bear on them.
    """

    providers: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    primary_only: bool = False

    def permits_provider(self, name: str) -> bool:
        return not self.providers or name in self.providers

    def permits(self, url: str, kind: SourceKind) -> bool:
        """`kind` is what core/evidence/authority.py, or the provider, says of who stands behind `url`."""
        is_weighty = not (self.primary_only and domain_of(url)) or kind in PRIMARY_KINDS
        return is_weighty and self.permits_site(url)

    def permits_site(self, url: str) -> bool:
        """Whether its site may be read, whoever stands behind it."""
        host = ascii_host(domain_of(url))
        return not host or (not _is_below(host, self.block) and (not self.allow or _is_below(host, self.allow)))

    def narrow(self, filters: SearchFilters) -> SearchFilters:
        """For a search engine that can be told which sites count: it finds more of them."""
        return replace(
            filters,
            include_domains=(*filters.include_domains, *self.allow),
            exclude_domains=(*filters.exclude_domains, *self.block),
        )

    @property
    def key(self) -> str:
        """Equal for policies that permit the same; "" for one that permits everything."""
        parts = [sorted(self.providers), sorted(self.allow), sorted(self.block), ["primary"] * self.primary_only]
        return "\x1e".join(",".join(part) for part in parts) if any(parts) else ""


EVERYTHING = SourcePolicy()


def _is_below(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)
