"""Whether a question may be researched now: by its channel, questions a minute, the month's budget, allowed providers.

The one place that says no. A tenant's settings are read anew for every question, so that a change holds at once, in
every process; the operator's limits come from bots/config.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

from core.llm.prices import Prices, cost_usd
from core.model.answer import ModelUsage
from core.model.errors import GorkdError, NoProviderAllowed, SetupError
from core.model.job import ResearchRequest
from core.model.ports import Clock
from core.pipeline.limits import SharedLimits
from core.presentation import wording
from core.tenancy.settings import DEFAULTS, TenantSettings
from core.tenancy.settings_desk import SettingsStore
from core.text.saying import say, say_day, say_month, say_number

OF_OWN_PAPERS = frozenset({"library", "section", "references"})  # modes that ask no search provider


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
    limits: SharedLimits
    spent: ReadSpent
    quotas: Mapping[str, Quota]
    budget: Budget
    providers: tuple[str, ...]
    clock: Clock

    async def admit(self, request: ResearchRequest) -> ResearchRequest:
        """The request with its channel's policy and the workspace's language. Raises `NotAnsweredHere`,
        `NoProviderAllowed`, `BudgetSpent`, `QuotaExceeded`, `StoreError`.
        """
        tenant = request.scope.tenant
        own = (await self.settings.get(tenant)).settings
        check_channel(own, tenant, request.channel)
        policy = own.policy_in(request.channel)
        searches = not OF_OWN_PAPERS.issuperset(request.modes)
        if searches and self.providers and not any(map(policy.permits_provider, self.providers)):
            raise NoProviderAllowed(f"{tenant} allows no provider", user_message=wording.no_provider_allowed(tenant))
        await check_budget(request, self.budget, self.spent, now=self.clock(), own_usd=own.monthly_usd)
        await check_quota(request, self.quotas, self.limits, own)
        return replace(request, policy=policy, language=own.spoken)

    async def check_budget(self, request: ResearchRequest) -> None:
        """For a job that wants to go on. Raises `BudgetSpent`, `StoreError`."""
        own = (await self.settings.get(request.scope.tenant)).settings
        await check_budget(request, self.budget, self.spent, now=self.clock(), own_usd=own.monthly_usd)


# How often one may ask: so many questions a minute for a person and for a workspace, by platform


SECONDS_A_MINUTE = 60.0


@dataclass(frozen=True)
class Quota:
    """Questions a minute, of one person and of a whole guild or workspace; each also at once."""

    user_per_min: int
    tenant_per_min: int


class QuotaExceeded(GorkdError):
    """Asked too often; the same question is welcome after `retry_after_s`."""

    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, bucket: str, retry_after_s: float) -> None:
        seconds = max(1, ceil(retry_after_s))
        said = wording.please_wait(seconds)
        super().__init__(f"quota of {bucket} used up", user_message=said, retry_after_s=retry_after_s)


async def check_quota(
    request: ResearchRequest, quotas: Mapping[str, Quota], limits: SharedLimits, own: TenantSettings = DEFAULTS
) -> None:
    """Takes one question from the asker's quota, then from the workspace's. Raises `QuotaExceeded`.

    `quotas` are the operator's by platform; a platform that has none is not limited.
    `own` may say less for its tenant alone. The asker comes first, so that one who asks too often uses up nothing of
    the others'.
    """
    tenant, platform = request.scope.tenant, request.scope.platform
    quota = quotas.get(platform)
    if request.asker and own.user_per_min is not None:
        await _take(limits, f"quota:{tenant}:user:{request.asker}", own.user_per_min)
    if request.asker and quota is not None:
        await _take(limits, f"quota:{platform}:user:{request.asker}", quota.user_per_min)
    together = [own.workspace_per_min, quota.tenant_per_min if quota else None]
    allowed = [per_min for per_min in together if per_min is not None]
    if allowed:
        await _take(limits, f"quota:{tenant}", min(allowed))


async def _take(limits: SharedLimits, bucket: str, per_min: int) -> None:
    wait_s = await limits.take(bucket, rate=per_min / SECONDS_A_MINUTE, burst=per_min)
    if wait_s > 0:
        raise QuotaExceeded(bucket, wait_s)


# What may be spent in a month, by one person and by a workspace, and the sentence for who has spent it


OPERATOR = "whoever runs gorkd"


class BudgetSpent(GorkdError):
    """This month's budget of the asker or of the workspace is used up."""

    code = "RATE_LIMITED"


@dataclass(frozen=True)
class Budget:
    """Dollars a calendar month (UTC); None is no limit. A workspace is a tenant, `local` included.

    Askers without a name (the command line, the API) count for their workspace only.
    """

    user_usd: float | None = None
    workspace_usd: float | None = None

    @property
    def is_limited(self) -> bool:
        return self.user_usd is not None or self.workspace_usd is not None


@dataclass(frozen=True)
class Spent:
    """Dollars of one month: of one person within a tenant, and of the whole tenant."""

    user_usd: float
    workspace_usd: float


# What model calls have cost by tenant, asker and month (as `month_of` gives it), as the trace log books it
# (core/pipeline/tracing.py). Raises `StoreError`.
ReadSpent = Callable[[str, str, str], Awaitable[Spent]]


def require_price(budget: Budget, model: str, prices: Prices) -> None:
    """A budget that cannot be counted is none. Raises `SetupError` when `model` has no price."""
    if budget.is_limited and cost_usd(ModelUsage(), model, prices) is None:
        raise SetupError(
            f"A budget is set, but the price of {model} is not known. Add it to GORKD_PRICES as "
            f"{model}=prompt/completion in dollars per million tokens (0/0 when it costs nothing)."
        )


async def check_budget(
    request: ResearchRequest, budget: Budget, read_spent: ReadSpent, *, now: datetime, own_usd: float | None = None
) -> None:
    """Raises `BudgetSpent` when the asker's month or the workspace's is used up; `StoreError` as it comes.

    `budget` is the operator's, `own_usd` what the workspace has set itself.
    """
    if not budget.is_limited and own_usd is None:
        return
    spent = await read_spent(request.scope.tenant, request.asker, month_of(now))
    if budget.user_usd is not None and request.asker and spent.user_usd >= budget.user_usd:
        _refuse(_YOURS, spent.user_usd, budget.user_usd, now, raised_by=say(OPERATOR))
    if budget.workspace_usd is not None and spent.workspace_usd >= budget.workspace_usd:
        _refuse(_WORKSPACES, spent.workspace_usd, budget.workspace_usd, now, raised_by=say(OPERATOR))
    if own_usd is not None and spent.workspace_usd >= own_usd:
        admin = say("an admin with {command}", command=wording.settings_command(request.scope.tenant))
        _refuse(_WORKSPACES, spent.workspace_usd, own_usd, now, raised_by=admin)


def month_of(moment: datetime) -> str:
    """`2026-11`; `moment` is UTC."""
    return f"{moment:%Y-%m}"


_YOURS, _WORKSPACES = "yours", "workspace"
_BUDGETS = {
    _YOURS: "Your research budget for {month} is used up ({spent} of {budget}); new questions can be asked from {day} "
    "on, and it can be raised by {who}.",
    _WORKSPACES: "The workspace's research budget for {month} is used up ({spent} of {budget}); new questions can be "
    "asked from {day} on, and it can be raised by {who}.",
}


def _refuse(whose: str, spent_usd: float, budget_usd: float, now: datetime, *, raised_by: str) -> None:
    begins = (now.replace(day=1) + timedelta(days=32)).replace(day=1)
    raise BudgetSpent(
        f"budget spent: ${spent_usd:.4f} of ${budget_usd:.2f} in {month_of(now)}",
        user_message=say(
            _BUDGETS[whose],
            month=say_month(now, year=False),
            spent=f"${say_number(spent_usd, 2)}",
            budget=f"${say_number(budget_usd, 2)}",
            day=say_day(begins),
            who=raised_by,
        ),
    )
