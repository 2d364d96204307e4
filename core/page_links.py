"""Addresses of job pages, signed where a page is not for everybody who knows its id.

Pure. A signature is `<expiry>-<mac>`: HMAC-SHA256 over the job, its scope and the expiry. It can be
taken back: what was signed up to a moment of revocation no longer opens the page.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from core.job import ResearchJob
from core.ports import Clock

LINK_LIFE = timedelta(days=30)  # as long as traces are kept: who comes back later asks again in the channel
_EXPIRY_DIGITS = 11  # seconds since 1970 until the year 5138; more is no honest signature


class LinkRevocations(Protocol):
    """When the links of a job were last taken back. Each method raises `StoreError`."""

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        """Links that were signed up to `at` are void; links that are signed later are not. Idempotent."""
        ...

    async def revoked_at(self, job_id: str) -> datetime | None: ...


@dataclass(frozen=True)
class PageLinks:
    """`public_url` is where the pages are. The first of `keys` signs; all of them are believed."""

    public_url: str
    keys: Sequence[bytes] = field(repr=False)
    clock: Clock = field(repr=False)

    def link(self, job: ResearchJob) -> str:
        """The page's address, signed only where it has to be."""
        return self.address(job, f"/jobs/{job.id}")

    def address(self, job: ResearchJob, path: str) -> str:
        """Any address that belongs to the job, as the page's own."""
        return f"{self.public_url.rstrip('/')}{self.signed(job, path)}"

    def signed(self, job: ResearchJob, path: str) -> str:
        """`path`, with `?sig=` where the job's page is not for everybody."""
        return f"{path}?sig={self.sign(job)}" if is_private(job) else path

    def sign(self, job: ResearchJob) -> str:
        """A signature that holds for `LINK_LIFE` from now."""
        expiry = int((self.clock() + LINK_LIFE).timestamp())
        return f"{expiry}-{_mac(self.keys[0], job, expiry)}"

    def allows(self, job: ResearchJob, sig: str, now: datetime, *, revoked_at: datetime | None = None) -> bool:
        """Whether who presents `sig` ("" for none) may read the job."""
        if not is_private(job):
            return True
        digits, _, mac = sig.partition("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _EXPIRY_DIGITS and mac.isascii()):
            return False
        expiry = int(digits)
        genuine = [hmac.compare_digest(_mac(key, job, expiry), mac) for key in self.keys]  # all: time tells nothing
        if not any(genuine) or now.timestamp() >= expiry:
            return False
        return revoked_at is None or expiry - LINK_LIFE.total_seconds() > revoked_at.timestamp()


def is_private(job: ResearchJob) -> bool:
    """Whether knowing a job's id is not enough to read it: it was asked in private, or with files."""
    return job.scope.visibility != "workspace" or job.request.is_private or bool(job.request.attachments)


def _mac(key: bytes, job: ResearchJob, expiry: int) -> str:
    signed = json.dumps([job.id, job.scope.tenant, job.scope.visibility, expiry]).encode()
    return base64.urlsafe_b64encode(hmac.digest(key, signed, hashlib.sha256)).decode().rstrip("=")
