"""Addresses of job pages, signed where a page is not for everybody who knows its id; and of papers, always signed.

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

from core.model.job import ResearchJob, Scope
from core.model.ports import Clock

LINK_LIFE = timedelta(days=30)  # as long as traces are kept: who comes back later asks again in the channel
_EXPIRY_DIGITS = 11  # seconds since 1970 until the year 5138; more is no honest signature


class Revocations(Protocol):
    """Links of jobs that were taken back, and sessions that were ended before their time. All raise `StoreError`."""

    async def revoke(self, job: ResearchJob, at: datetime) -> None:
        """Links that were signed up to `at` are void; links that are signed later are not. Idempotent."""

    async def revoked_at(self, job_id: str) -> datetime | None: ...

    async def end_session(self, session_id: str, *, until: datetime) -> None:
        """It is forgotten `until` then, when the session would have ended by itself. Idempotent."""

    async def has_ended(self, session_id: str) -> bool: ...


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
        return f"{path}?sig={self._signature(_signed(job))}" if is_private(job) else path

    def beside(self, job: ResearchJob, other: ResearchJob, sig: str, path: str = "") -> str:
        """The page, or `path`, of another job of the conversation, for who reads `job` with `sig` and no longer.

        A link makes none that outlives it, or its revocation.
        """
        path, expiry = path or f"/jobs/{other.id}", self._genuine(_signed(job), sig, self.clock())
        return f"{path}?sig={self._signature(_signed(other), expiry)}" if is_private(other) and expiry else path

    def passage(self, job: ResearchJob, number: int, claim_id: str = "") -> str:
        """The address of a source as it was read, at what a claim cites of it."""
        signed = self.address(job, f"/jobs/{job.id}/sources/{number}")
        return f"{signed}{'&' if '?' in signed else '?'}claim={claim_id}#passage" if claim_id else signed

    def paper(self, place: PaperPlace, *, page: int | None = None) -> str:
        """The address of a paper's PDF, for whoever may look where `place` is; at `page`, which counts from 1."""
        at = f"#page={page}" if page else ""
        path = f"/papers/{place.token}/paper.pdf?sig={self._signature(place.signed)}{at}"
        return f"{self.public_url.rstrip('/')}{path}"

    def allows(self, job: ResearchJob, sig: str, now: datetime, *, revoked_at: datetime | None = None) -> bool:
        """Whether who presents `sig` ("" for none) may read the job."""
        if not is_private(job):
            return True
        expiry = self._genuine(_signed(job), sig, now)
        if not expiry:
            return False
        return revoked_at is None or expiry - LINK_LIFE.total_seconds() > revoked_at.timestamp()

    def allows_paper(self, place: PaperPlace, sig: str, now: datetime) -> bool:
        return bool(self._genuine(place.signed, sig, now))

    def _signature(self, signed: Sequence[str], expiry: int = 0) -> str:
        """Holds for `LINK_LIFE` from now, unless `expiry` says otherwise."""
        expiry = expiry or int((self.clock() + LINK_LIFE).timestamp())
        return f"{expiry}-{_mac(self.keys[0], signed, expiry)}"

    def _genuine(self, signed: Sequence[str], sig: str, now: datetime) -> int:
        """The expiry in a signature, 0 for one that is not ours or has expired."""
        digits, _, mac = sig.partition("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _EXPIRY_DIGITS and mac.isascii()):
            return 0
        expiry = int(digits)
        genuine = [hmac.compare_digest(_mac(key, signed, expiry), mac) for key in self.keys]  # all: time tells nothing
        return expiry if any(genuine) and now.timestamp() < expiry else 0


@dataclass(frozen=True)
class PaperPlace:
    """A paper, and the scope from whose shelves it is read."""

    scope: Scope
    paper_id: str

    @property
    def token(self) -> str:
        """It all in a part of a path."""
        return _base64(json.dumps([self.scope.tenant, self.scope.visibility, self.paper_id]).encode())

    @property
    def signed(self) -> tuple[str, ...]:
        return "paper", self.scope.tenant, self.scope.visibility, self.paper_id

    @classmethod
    def read(cls, token: str) -> PaperPlace | None:
        """None for a token that is none of ours."""
        try:
            tenant, visibility, paper_id = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except (ValueError, TypeError, RecursionError):
            return None
        return cls(Scope(str(tenant), str(visibility)), str(paper_id))


def is_private(job: ResearchJob) -> bool:
    """Whether knowing a job's id is not enough to read it: it was asked in private, or with files."""
    return job.scope.visibility != "workspace" or job.request.is_private or bool(job.request.attachments)


def _signed(job: ResearchJob) -> tuple[str, ...]:
    return job.id, job.scope.tenant, job.scope.visibility


def _mac(key: bytes, signed: Sequence[str], expiry: int) -> str:
    return _base64(hmac.digest(key, json.dumps([*signed, expiry]).encode(), hashlib.sha256))


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")
