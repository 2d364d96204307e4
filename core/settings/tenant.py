"""The settings of one workspace or guild. Their defaults are how gorkd behaves where nobody has set anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.settings.policy import SourcePolicy

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
