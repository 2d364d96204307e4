"""What may be spent in a month, by one person and by a workspace, and the sentence for who has spent it.

A question that was accepted is finished, so a month may end a few answers above its budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from core.llm.prices import Prices, cost_usd
from core.model.answer import ModelUsage
from core.model.errors import GorkdError, SetupError
from core.model.job import ResearchRequest
from core.presentation import wording

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


class Spending(Protocol):
    """What model calls have cost, as the trace log books it (core/pipeline/tracing.py)."""

    async def spent(self, tenant: str, asker: str, month: str) -> Spent:
        """`month` is as `month_of` gives it. Raises `StoreError`."""
        ...


def require_price(budget: Budget, model: str, prices: Prices) -> None:
    """A budget that cannot be counted is none. Raises `SetupError` when `model` has no price."""
    if budget.is_limited and cost_usd(ModelUsage(), model, prices) is None:
        raise SetupError(
            f"A budget is set, but the price of {model} is not known. Add it to GORKD_PRICES as "
            f"{model}=prompt/completion in dollars per million tokens (0/0 when it costs nothing)."
        )


async def check_budget(
    request: ResearchRequest, budget: Budget, spending: Spending, *, now: datetime, own_usd: float | None = None
) -> None:
    """Raises `BudgetSpent` when the asker's month or the workspace's is used up; `StoreError` as it comes.

    `budget` is the operator's, `own_usd` what the workspace has set itself.
    """
    if not budget.is_limited and own_usd is None:
        return
    spent = await spending.spent(request.scope.tenant, request.asker, month_of(now))
    if budget.user_usd is not None and request.asker and spent.user_usd >= budget.user_usd:
        _refuse("Your", spent.user_usd, budget.user_usd, now, raised_by=OPERATOR)
    if budget.workspace_usd is not None and spent.workspace_usd >= budget.workspace_usd:
        _refuse("The workspace's", spent.workspace_usd, budget.workspace_usd, now, raised_by=OPERATOR)
    if own_usd is not None and spent.workspace_usd >= own_usd:
        admin = f"an admin with {wording.settings_command(request.scope.tenant)}"
        _refuse("The workspace's", spent.workspace_usd, own_usd, now, raised_by=admin)


def month_of(moment: datetime) -> str:
    """`2026-11`; `moment` is UTC."""
    return f"{moment:%Y-%m}"


def _refuse(whose: str, spent_usd: float, budget_usd: float, now: datetime, *, raised_by: str) -> None:
    begins = (now.replace(day=1) + timedelta(days=32)).replace(day=1)
    raise BudgetSpent(
        f"budget spent: ${spent_usd:.4f} of ${budget_usd:.2f} in {month_of(now)}",
        user_message=(
            f"{whose} research budget for {now:%B} is used up (${spent_usd:.2f} of ${budget_usd:.2f}); "
            f"new questions can be asked from {wording.day(begins)} on, and it can be raised by {raised_by}."
        ),
    )
