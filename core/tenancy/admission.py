"""Whether a question may be researched now, and by which of its tenant's settings: the one place that says no.

The settings are read anew for every question, so that a change holds at once, whichever process made it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.model.errors import GorkdError, NoProviderAllowed
from core.model.job import ResearchRequest
from core.model.ports import Clock
from core.pipeline.limits import RateLimits
from core.presentation import wording
from core.settings.desk import SettingsStore
from core.settings.tenant import TenantSettings
from core.tenancy.budget import Budget, Spending, check_budget
from core.tenancy.quotas import Quota, check_quota

OF_OWN_PAPERS = frozenset({"library", "section"})  # modes that search nothing but papers


class NotAnsweredHere(GorkdError):
    """The tenant has chosen other channels."""

    code = "INVALID_QUERY"

    def __init__(self, tenant: str, channel: str) -> None:
        super().__init__(f"{channel} of {tenant} is not answered", user_message=wording.not_answered_here(tenant))


def check_channel(own: TenantSettings, tenant: str, channel: str) -> None:
    """`own` are the tenant's settings; `channel` is "" where there is none. Raises `NotAnsweredHere`."""
    if not own.answers_in(channel):
        raise NotAnsweredHere(tenant, channel)


@dataclass(frozen=True)
class Admission:
    """`quotas` and `budget` are the operator's; `providers` are those that are configured."""

    settings: SettingsStore
    limits: RateLimits
    spending: Spending
    quotas: Mapping[str, Quota]
    budget: Budget
    providers: tuple[str, ...]
    clock: Clock

    async def admit(self, request: ResearchRequest) -> ResearchRequest:
        """The request with its tenant's policy. Raises `NotAnsweredHere`, `NoProviderAllowed`, `BudgetSpent`,
        `QuotaExceeded`, `StoreError`.
        """
        tenant = request.scope.tenant
        own = (await self.settings.get(tenant)).settings
        check_channel(own, tenant, request.channel)
        searches = not OF_OWN_PAPERS.issuperset(request.modes)
        if searches and self.providers and not any(map(own.policy.permits_provider, self.providers)):
            raise NoProviderAllowed(f"{tenant} allows no provider", user_message=wording.no_provider_allowed(tenant))
        await check_budget(request, self.budget, self.spending, now=self.clock(), own_usd=own.monthly_usd)
        await check_quota(request, self.quotas, self.limits, own)
        return replace(request, policy=own.policy)

    async def check_budget(self, request: ResearchRequest) -> None:
        """For a job that wants to go on. Raises `BudgetSpent`, `StoreError`."""
        own = (await self.settings.get(request.scope.tenant)).settings
        await check_budget(request, self.budget, self.spending, now=self.clock(), own_usd=own.monthly_usd)
