"""How often one may ask: so many questions a minute for a person and for a workspace, by platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from core.model.errors import GorkdError
from core.model.job import ResearchRequest
from core.pipeline.limits import RateLimits
from core.presentation import wording
from core.settings.tenant import DEFAULTS, TenantSettings

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
        super().__init__(f"quota of {bucket} used up", user_message=wording.please_wait(seconds))
        self.retry_after_s = retry_after_s


async def check_quota(
    request: ResearchRequest, quotas: Mapping[str, Quota], limits: RateLimits, own: TenantSettings = DEFAULTS
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


async def _take(limits: RateLimits, bucket: str, per_min: int) -> None:
    wait_s = await limits.take(bucket, rate=per_min / SECONDS_A_MINUTE, burst=per_min)
    if wait_s > 0:
        raise QuotaExceeded(bucket, wait_s)
