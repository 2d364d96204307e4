"""Links that were taken back, kept by every store alike."""

from __future__ import annotations

from datetime import timedelta

import pytest

from adapters.store.tenants import SqlRevocations
from tests.adapters.store.samples import NOON, make_job

MINUTE = timedelta(minutes=1)


@pytest.fixture
def revocations(with_jobs, clock) -> SqlRevocations:
    return SqlRevocations(with_jobs, clock=clock)


async def test_links_of_one_job_are_taken_back_and_no_others(revocations):
    await revocations.revoke(make_job(1), NOON)

    assert await revocations.revoked_at("job_1") == NOON
    assert await revocations.revoked_at("job_2") is None
    assert await revocations.revoked_at("job_unknown") is None


async def test_the_latest_revocation_counts(revocations):
    """Also when a slower clock tells an earlier one afterwards."""
    await revocations.revoke(make_job(1), NOON)
    await revocations.revoke(make_job(1), NOON + MINUTE)

    await revocations.revoke(make_job(1), NOON - MINUTE)

    assert await revocations.revoked_at("job_1") == NOON + MINUTE
