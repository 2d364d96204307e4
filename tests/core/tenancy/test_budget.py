"""What a month may cost, and how a model call is priced."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm.prices import LIST_PRICES, cost_usd, read_prices
from core.model.answer import ModelUsage
from core.model.errors import SetupError
from core.model.job import ResearchRequest, Scope
from core.tenancy.admission import Budget, BudgetSpent, Spent, check_budget, month_of, require_price

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEAM = Scope("slack:T1", "channel:C1")


@dataclass
class FixedSpending:
    """A `ReadSpent` that says the same to everybody, and remembers who asked."""

    user_usd: float = 0.0
    workspace_usd: float = 0.0
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    async def __call__(self, tenant: str, asker: str, month: str) -> Spent:
        self.asked.append((tenant, asker, month))
        return Spent(self.user_usd, self.workspace_usd)


@pytest.mark.parametrize(
    ("budget", "spent", "words"),
    [
        pytest.param(Budget(user_usd=2), FixedSpending(2.0, 3.0), "Your research budget for November", id="user"),
        pytest.param(Budget(user_usd=0), FixedSpending(), "Your research budget", id="user may spend nothing"),
        pytest.param(Budget(workspace_usd=3), FixedSpending(0.1, 3.5), "The workspace's research budget", id="team"),
    ],
)
async def test_who_has_spent_the_month_is_refused_with_a_clear_sentence(
    budget: Budget, spent: FixedSpending, words: str
) -> None:
    """It says whose budget, how much of what, and from when on one may ask again."""
    with pytest.raises(BudgetSpent) as refused:
        await check_budget(ResearchRequest("Why?", scope=TEAM, asker="U1"), budget, spent, now=NOW)

    assert words in refused.value.user_message
    assert "from 1 December 2026 on" in refused.value.user_message
    assert refused.value.code == "RATE_LIMITED"


@pytest.mark.parametrize(
    ("budget", "spent", "asker"),
    [
        pytest.param(Budget(2, 20), FixedSpending(1.99, 19.99), "U1", id="below both"),
        pytest.param(Budget(user_usd=2), FixedSpending(9, 9), "", id="nobody in particular has no budget of their own"),
        pytest.param(Budget(), FixedSpending(1e9, 1e9), "U1", id="no budget"),
    ],
)
async def test_who_has_not_may_ask(budget: Budget, spent: FixedSpending, asker: str) -> None:
    """Nothing is raised."""
    await check_budget(ResearchRequest("Why?", scope=TEAM, asker=asker), budget, spent, now=NOW)


async def test_the_month_and_the_tenant_are_those_of_the_question() -> None:
    """Another month, another workspace: another account."""
    spent = FixedSpending()

    await check_budget(ResearchRequest("Why?", scope=TEAM, asker="U1"), Budget(1, 1), spent, now=NOW)

    assert spent.asked == [("slack:T1", "U1", "2026-11")]


@given(st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)))
def test_months_are_told_apart_and_sort_by_time(moment: datetime) -> None:
    """`2026-09` comes before `2026-10`."""
    begins = moment.replace(day=1)

    assert month_of(moment) == month_of(begins)
    assert month_of(begins.replace(year=begins.year + 1)) > month_of(moment)


def test_a_budget_needs_a_price_to_be_counted() -> None:
    """A limit that would silently never bite is refused at the start, naming what to set; 0/0 is a price."""
    with pytest.raises(SetupError, match=r"my-model.*GORKD_PRICES"):
        require_price(Budget(user_usd=5), "my-model", LIST_PRICES)

    require_price(Budget(user_usd=5), "my-model", read_prices("my-model=0/0"))
    require_price(Budget(), "my-model", LIST_PRICES)


def test_prices_from_the_environment_go_before_the_list() -> None:
    """Names may hold slashes, colons and equal signs before the last one."""
    prices = read_prices("gpt-5.4-mini=1/2, org/my:model=0.5/1.5 ,")

    assert prices["gpt-5.4-mini"] == (1.0, 2.0)
    assert prices["org/my:model"] == (0.5, 1.5)
    assert prices["gpt-5.4"] == LIST_PRICES["gpt-5.4"]


@pytest.mark.parametrize("text", ["cheap", "m=1", "m=1/x", "=1/2", "m=-1/2", "m=nan/1", "m=inf/1", "m=1/2/3"])
def test_what_is_no_price_is_refused_by_name(text: str) -> None:
    """The sentence repeats the entry and shows how one looks."""
    with pytest.raises(SetupError, match="GORKD_PRICES") as refused:
        read_prices(text)

    assert text in refused.value.operator_message


def test_a_call_costs_its_tokens_at_their_prices() -> None:
    """A million of each at 0.75 and 4.50 dollars are 5.25 dollars, under the dated name too."""
    usage = ModelUsage(1_000_000, 1_000_000)

    assert cost_usd(usage, "gpt-5.4-mini", LIST_PRICES) == pytest.approx(5.25)
    assert cost_usd(usage, "gpt-5.4-mini-2026-03-17", LIST_PRICES) == pytest.approx(5.25)


def test_searches_of_a_model_by_itself_cost_apart() -> None:
    """The fee is per thousand; one number will do, and 0 takes it away."""
    usage = ModelUsage(1_000_000, 0, searches=3)

    assert cost_usd(usage, "my-model", read_prices("my-model=0.5/2, web_search=25")) == pytest.approx(0.575)
    assert cost_usd(usage, "my-model", read_prices("my-model=0.5/2, web_search=0")) == pytest.approx(0.5)
    assert cost_usd(usage, "my-model", read_prices("my-model=0.5/2")) == pytest.approx(0.53)
    assert cost_usd(usage, "another", read_prices("web_search=25")) is None
