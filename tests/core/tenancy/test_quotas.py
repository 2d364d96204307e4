"""How often one may ask, in a minute of a person and of a workspace."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.records.cache import MemoryLimits
from core.model.errors import GorkdError
from core.model.job import ResearchRequest, Scope
from core.pipeline.researcher import Researcher
from core.tenancy.admission import Quota, QuotaExceeded, check_quota
from tests.adapters.records.samples import StandingClock
from tests.fakes import Idle, make_deps

QUOTAS = {"discord": Quota(5, 20), "slack": Quota(5, 30)}
QUESTION = ResearchRequest("Why do cats purr?", Scope("discord:1", "channel:2"), asker="7")


def asked_by(asker: str, *, tenant: str = "discord:1") -> ResearchRequest:
    return ResearchRequest("Why do cats purr?", Scope(tenant, "channel:2"), asker=asker)


async def passed(limits: MemoryLimits, request: ResearchRequest) -> bool:
    try:
        await check_quota(request, QUOTAS, limits)
    except QuotaExceeded:
        return False
    return True


async def test_the_sixth_question_of_a_minute_waits_twelve_seconds() -> None:
    """G-02, G-03: in the given words, with the time after which the question is welcome."""
    clock = StandingClock()
    limits = MemoryLimits(clock=clock)
    for _ in range(5):
        await check_quota(QUESTION, QUOTAS, limits)

    with pytest.raises(QuotaExceeded) as refused:
        await check_quota(QUESTION, QUOTAS, limits)
    clock.advance(timedelta(seconds=refused.value.retry_after_s))

    assert refused.value.user_message == "Please wait 12 seconds…"
    assert refused.value.retry_after_s == pytest.approx(12)
    assert await passed(limits, QUESTION)


async def test_a_workspace_is_limited_over_all_its_people_and_no_other() -> None:
    """Twenty a minute in a guild; another guild, another platform and the command line are not meant."""
    limits = MemoryLimits(clock=StandingClock())

    in_guild = [await passed(limits, asked_by(str(person))) for person in range(25)]

    assert sum(in_guild) == 20
    assert await passed(limits, asked_by("99", tenant="discord:2"))
    assert await passed(limits, asked_by("99", tenant="slack:T1"))
    assert all([await passed(limits, asked_by("", tenant="local")) for _ in range(100)])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["discord:1", "discord:2"]), st.floats(0, 30))))
async def test_no_minute_lets_through_more_than_twice_its_quota(
    questions: list[tuple[str, str, float]],
) -> None:
    """A bucket that is full at first: in any minute at most its burst and what the minute adds, per person."""
    clock = StandingClock()
    limits = MemoryLimits(clock=clock)
    let_in: list[tuple[str, float]] = []
    for person, tenant, pause_s in questions:
        clock.advance(timedelta(seconds=pause_s))
        if await passed(limits, asked_by(person, tenant=tenant)):
            let_in.append((person, clock().timestamp()))

    for person, at in let_in:
        assert (
            sum(other == person and at <= when < at + 60 for other, when in let_in)
            <= 2 * QUOTAS["discord"].user_per_min
        )


async def test_a_question_sent_again_counts_once() -> None:
    """The platform repeats events; only the first is an asking."""
    limits = MemoryLimits(clock=StandingClock())

    async def admit(request: ResearchRequest) -> ResearchRequest:
        await check_quota(request, QUOTAS, limits)
        return request

    researcher = Researcher(make_deps(), Idle(), admit=admit)
    first = await researcher.submit(QUESTION, dedupe_key="discord:1")
    again = [await researcher.submit(QUESTION, dedupe_key="discord:1") for _ in range(30)]
    others = [await researcher.submit(QUESTION, dedupe_key=f"discord:{number}") for number in range(2, 6)]

    assert {job.id for job in again} == {first.id}
    assert len({job.id for job in others}) == 4
    with pytest.raises(GorkdError, match="quota"):
        await researcher.submit(QUESTION, dedupe_key="discord:7")
