"""Where an answer is to appear: the address of the message that waits for a job, kept until it has been delivered.

Whoever restarts asks for what is undelivered and follows it again, so a crash costs no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from core.model.job import Json, ResearchJob, Scope


@dataclass(frozen=True)
class Address:
    """A message of one platform. `data` is whatever that platform's bot needs to edit it again.

    After `expires_at` nothing can be delivered there any more, and the address is erased; None is never. A
    token that dies while the place stays reachable is the bot's own matter and stands in `data`.
    `place` names the channel, or the person, by whose end it ends; it is kept of watches alone.
    """

    platform: str
    data: Mapping[str, Json]
    expires_at: datetime | None = None
    place: str = ""


@dataclass(frozen=True)
class Delivery:
    """A job, ended or not, and the message that still waits for its answer."""

    job: ResearchJob
    address: Address


CONDEMNED_FOR = timedelta(days=30)  # a bot that is off for longer has other worries
OPEN_FOR = timedelta(days=1)  # a message that nobody has ended by then is not worth a word any more


class Messages(Protocol):
    """gorkd's messages in chats: that wait for a job's answer, one a job; that show one, and go when the job is
    forgotten; and that were begun without a job, by the key of what they answer, for `OPEN_FOR` at most.

    Durable ones keep addresses encrypted, since they may hold tokens. Each method raises `StoreError`.
    """

    async def expect(self, job: ResearchJob, address: Address) -> None:
        """The answer is to appear there; an earlier address of the job is replaced."""

    async def waiting(self, platform: str) -> list[tuple[str, Address]]:
        """Job ids with their addresses, in the order they were first put; expired ones are erased instead."""

    async def delivered(self, job_id: str) -> None:
        """The answer has arrived."""

    async def show(self, job_id: str, addresses: Sequence[Address]) -> None:
        """Keep them as long as the job; what is shown of a job that is gone is to be taken away at once."""

    async def shown(self, job_id: str) -> list[Address]:
        """Where the job is shown."""

    async def job_at(self, address: Address) -> str:
        """The id of a job that a message shows, by the address that was put; "" for none."""

    async def condemn(self, job_ids: Sequence[str]) -> None:
        """These jobs are about to be forgotten: what is shown of them, or waits to be, is to be taken away."""

    async def condemned(self, platform: str) -> list[tuple[str, Address]]:
        """What is to be taken away, with keys that say nothing, for `CONDEMNED_FOR` at most."""

    async def taken_away(self, key: str) -> None:
        """It stands there no more, or nothing ever takes it away."""

    async def begin(self, key: str, scope: Scope, asker: str, address: Address) -> None:
        """Keep a message without a job; an earlier address under that key is replaced."""

    async def begun(self, platform: str) -> list[tuple[str, Address]]:
        """With their keys, oldest first."""

    async def end(self, key: str) -> None:
        """It has come to its end."""
