"""Receipts, and tests made of bad answers, as people ask for them under an answer: by a word or a button.

Platforms find out who may, and draw what is said; whatever they can attach comes as a file besides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adapters.chat.watching import WatchSaid
from core.model.errors import GorkdError, JobNotFound
from core.presentation import wording
from core.presentation.card import CardButton
from core.tenancy.usage import VotedCase
from core.text.saying import say

if TYPE_CHECKING:
    from adapters.chat.desk import Prove
    from core.model.job import ResearchJob
    from core.model.ports import Clock
    from core.presentation.page_links import PageLinks
    from core.receipts.container import Receipts
    from core.tenancy.usage import EvaluationStore

MOST_BYTES = 8_000_000  # of a receipt that is attached; Discord takes 10 MiB
AT_ONCE = 2  # each asks the rules anew, which takes a second of a processor for a long answer
MOST_MUST = 500  # characters of the sentence that a good answer says


@dataclass(frozen=True)
class ProofSaid:
    """`file` is a name and the bytes of what can be attached."""

    said: WatchSaid
    file: tuple[str, bytes] | None = None


@dataclass(frozen=True)
class Proving:
    """What a chat needs to give receipts, and to keep questions as tests."""

    receipts: Receipts
    evaluations: EvaluationStore
    links: PageLinks
    clock: Clock
    _gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE), repr=False)

    async def receipt(self, job: ResearchJob) -> ProofSaid:
        """The receipt itself, and where the page gives it and the other forms. Raises `GorkdError`."""
        try:
            async with self._gate:
                content = await self.receipts.give(job.id)
        except JobNotFound:
            return ProofSaid(WatchSaid((say(wording.NOTHING_HERE),)))
        links = (
            CardButton("receipt", self.links.address(job, f"/jobs/{job.id}/receipt.zip")),
            CardButton("view_full_analysis", self.links.link(job)),
        )
        file = (f"{job.id}.receipt.zip", content) if len(content) <= MOST_BYTES else None
        return ProofSaid(WatchSaid((say(wording.RECEIPT_MEANS),), job, links), file)

    async def make_test(self, job: ResearchJob, must: str) -> WatchSaid:
        """Of an answer that somebody found bad. Raises `GorkdError`."""
        _, bad = await self.evaluations.votes(job.id)
        if not bad:
            return WatchSaid((say(wording.NO_BAD_VOTE),))
        await self.evaluations.put_case(job, VotedCase(job.id, " ".join(must.split())[:MOST_MUST], self.clock()))
        return WatchSaid((say(wording.IS_A_TEST), say(wording.TEST_MEANS)))


async def prove(proving: Proving | None, deed: Prove, is_admin: Callable[[], Awaitable[bool]]) -> ProofSaid:
    """Do it, or say why not. `is_admin` is asked of who spoke only where it matters."""
    try:
        if proving is None:
            return ProofSaid(WatchSaid((say(wording.NOTHING_HERE),)))
        if deed.what == "receipt":
            return await proving.receipt(deed.job)
        if not await is_admin():
            return ProofSaid(WatchSaid((say(wording.TESTS_ADMINS_ONLY),)))
        return ProofSaid(await proving.make_test(deed.job, deed.must))
    except GorkdError as error:
        return ProofSaid(WatchSaid((error.user_message,)))


def thanks_for_vote(proving: Proving | None, job: ResearchJob, *, is_admin: bool) -> WatchSaid:
    """For a 👎; who looks after the workspace is offered to make a test of it."""
    if proving is None or not is_admin:
        return WatchSaid((say(wording.THANKS),))
    return WatchSaid((say(wording.THANKS), say(wording.TEST_MEANS)), job, (CardButton("make_test"),))
