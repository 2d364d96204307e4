"""Who gives receipts: a server with its records and its key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.model.errors import JobNotFound
from core.model.ports import JobStore, SourceStore
from core.pipeline.tracing import TraceLog
from core.receipts.container import public_key, write_receipt
from core.receipts.receipt import build_receipt


@dataclass(frozen=True)
class Receipts:
    """`issuer` is the server's public address. The first of `keys`, private ones of 32 bytes, signs."""

    jobs: JobStore
    sources: SourceStore
    traces: TraceLog
    issuer: str
    keys: Sequence[bytes] = field(repr=False)

    async def give(self, job_id: str, *, is_signed: bool = True) -> bytes:
        """The zip. Raises `JobNotFound`, also for a job without an answer, and `StoreError`."""
        job, result = await self.jobs.get(job_id), await self.jobs.result(job_id)
        if result is None or result.answer is None:
            raise JobNotFound(job_id)
        sources, trace = await self.sources.sources(job_id), await self.traces.read(job_id)
        key = self.keys[0] if is_signed else None
        receipt = await asyncio.to_thread(build_receipt, job, result, sources, trace, issuer=self.issuer)
        return write_receipt(receipt, key)

    @property
    def published(self) -> str:
        """What stands at `/.well-known/gorkd-key`: one public key a line, behind its algorithm, the newest first."""
        return "".join(f"ed25519 {public_key(key)}\n" for key in self.keys)


def keys_in(text: str) -> tuple[str, ...]:
    """Public keys in base64, from what is published or from one alone."""
    lines = [line.split()[-1] for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return tuple(dict.fromkeys(lines))
