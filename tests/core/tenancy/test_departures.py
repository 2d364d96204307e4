"""A tenant that removes the app leaves nothing behind, and may come back at once."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from core.model.errors import StoreError
from core.tenancy.forgetting import LATE, SETTLE_WITHIN_S, Departure, Forgotten, Leaving, Whose

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEAM = "slack:T1"


@dataclass
class Office:
    """`AppTenants`, `Turns` and what forgets, with a clock that sleeping moves on."""

    now: datetime = NOON
    departed: dict[str, Departure] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)
    members: set[tuple[str, str]] = field(default_factory=set)
    erased: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    erasing: asyncio.Event = field(default_factory=asyncio.Event)

    async def depart(self, departure: Departure) -> None:
        self.departed[departure.tenant] = departure

    async def departures(self) -> list[Departure]:
        return list(self.departed.values())

    async def strike(self, departure: Departure) -> None:
        self.departed.pop(departure.tenant)

    async def take(self, name: str, holder: str, *, ttl: timedelta) -> bool:
        return self.holders.setdefault(name, holder) == holder

    async def give_back(self, name: str, holder: str) -> None:
        self.holders.pop(name)

    async def forget(self, whose: Whose) -> Forgotten:
        self.erased.append(whose.tenant)
        self.erasing.set()
        return Forgotten(1, 1, self.failures)

    async def note(self, app: str, tenants: Set[str]) -> None:
        self.members |= {(app, tenant) for tenant in tenants}

    async def noted(self, app: str) -> set[str]:
        return {tenant for of_app, tenant in self.members if of_app == app}

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def leaving(self, holder: str = "process 1") -> Leaving:
        return Leaving(self, self, self.forget, holder=holder, clock=lambda: self.now, sleep=self.sleep)


async def test_everything_goes_at_once_and_once_more_when_nothing_can_come_late() -> None:
    """A cancelled step may still write what it has spent."""
    office = Office()
    leaving = office.leaving()
    await leaving.leave(TEAM)

    await leaving.erase_waiting()
    await leaving.erase_waiting()
    before = list(office.erased)
    office.now += LATE
    await leaving.erase_waiting()

    assert before == [TEAM]
    assert office.erased == [TEAM, TEAM]
    assert office.departed == {}


async def test_a_departure_that_a_dying_process_noted_is_another_ones_work() -> None:
    """Nothing is left behind: it is found in the records."""
    office = Office()
    await office.leaving("died").leave(TEAM)

    erasing = asyncio.create_task(office.leaving("started later").keep_erasing())
    await asyncio.wait_for(office.erasing.wait(), 5)
    erasing.cancel()

    assert office.erased == [TEAM]


async def test_what_could_not_be_reached_is_erased_later() -> None:
    office = Office(failures={"Redis": "does not answer"})
    leaving = office.leaving()
    await leaving.leave(TEAM)
    await leaving.erase_waiting()
    office.now += 2 * LATE
    await leaving.erase_waiting()
    still = dict(office.departed)

    office.failures = {}
    await leaving.erase_waiting()

    assert TEAM in still
    assert office.departed == {}


async def test_who_comes_back_finds_nothing_of_before_and_nothing_goes_afterwards() -> None:
    """Reinstalling works at once: what is left is erased first, so it never meets what is new."""
    office = Office()
    leaving = office.leaving()
    await leaving.leave(TEAM)

    await leaving.settle(TEAM)
    office.now += 2 * LATE
    await leaving.erase_waiting()

    assert office.erased == [TEAM]
    assert office.departed == {}


async def test_who_comes_back_while_another_process_erases_waits_for_it() -> None:
    office = Office()
    leaving = office.leaving()
    await leaving.leave(TEAM)
    office.holders[f"departure:{TEAM}"] = "process 2"

    with pytest.raises(StoreError, match="forgotten") as refused:
        await leaving.settle(TEAM)

    assert "try again" in refused.value.user_message
    assert office.now >= NOON + timedelta(seconds=SETTLE_WITHIN_S)
    assert office.erased == []


async def test_who_is_missing_had_the_app_before_and_has_it_no_more() -> None:
    """Each app by itself; who leaves while nobody listens is missed by the next look."""
    leaving = Office().leaving()

    at_first = await leaving.missing("discord:1", {"discord:7", "discord:8"})
    of_another = await leaving.missing("discord:2", {"discord:9"})
    later = await leaving.missing("discord:1", {"discord:8", "discord:10"})
    last = await leaving.missing("discord:1", {"discord:7"})

    assert (at_first, of_another, later) == (set(), set(), {"discord:7"})
    assert last == {"discord:8", "discord:10"}
