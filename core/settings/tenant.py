"""The settings of one workspace or guild. Their defaults are how gorkd behaves where nobody has set anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from core.evidence.authority import PRIMARY_KINDS
from core.model.source import SearchFilters, SourceKind
from core.text.urls import ascii_host, domain_of

# `workspace` lets everyone see what was asked in an open channel, `channel` only that channel's members; `private`
# besides answers commands to the asker alone.
Visibility = Literal["workspace", "channel", "private"]
# `auto` is each platform's own way: in Discord when a channel is busy, in Slack always.
Threading = Literal["auto", "always", "never"]


@dataclass(frozen=True)
class TenantSettings:
    """An empty tuple or None is no restriction of the tenant's own; what the operator has set always holds.

    `channels` are platform ids; `…_per_min` questions a minute; `monthly_usd` dollars a calendar month (UTC);
    `retention_days` says after how many days questions, answers and conversations are removed.
    """

    channels: tuple[str, ...] = ()
    visibility: Visibility = "workspace"
    threads: Threading = "auto"
    retention_days: int | None = None
    user_per_min: int | None = None
    workspace_per_min: int | None = None
    monthly_usd: float | None = None
    providers: tuple[str, ...] = ()
    primary_only: bool = False
    allow_domains: tuple[str, ...] = ()
    block_domains: tuple[str, ...] = ()

    @property
    def policy(self) -> SourcePolicy:
        return SourcePolicy(self.providers, self.allow_domains, self.block_domains, self.primary_only)

    def answers_in(self, channel: str) -> bool:
        """`channel` is "" in direct messages and outside of chat, where it always answers."""
        return not channel or not self.channels or channel in self.channels


@dataclass(frozen=True)
class Ceilings:
    """What the operator lets a tenant decide. None is no ceiling; `providers` are those configured.

    `is_priced` says whether what the models cost is known, so that a budget can be counted.
    """

    providers: tuple[str, ...] = ()
    user_per_min: int | None = None
    workspace_per_min: int | None = None
    monthly_usd: float | None = None
    retention_days: int | None = None
    is_priced: bool = True


DEFAULTS = TenantSettings()


# Which sources a question may rest on: providers, sites, and whether only primary ones count. The default is all


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
