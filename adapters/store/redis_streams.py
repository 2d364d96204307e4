"""Events as entries of Redis streams: one stream a job, an event's number as the entry's id.

Beside them lies one short stream of rings, an entry whenever a job's log has grown, so that a process
hears of all jobs over one connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from redis.asyncio import Redis

from adapters.store.following import Tail
from core.codec import decode
from core.events import Event, EventType, Json

RINGS = "gorkd:rings"
MAX_RINGS = 1000  # a process that lags further behind reads its logs again anyway, every few seconds

NEVER_SENT = -1

# The fence, the number and the entry in one step. An entry that is there already, because only the
# reply to it was lost, is found by its nonce and not written again.
_APPEND = """
local stream, rings = KEYS[1], KEYS[2]
local ttl_ms, known, job_id, max_rings = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local seq, newest, kind = 0, 0, ''
local last = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
if last then
  seq, newest, kind = tonumber(string.match(last[1], '^%d+')), tonumber(last[2][4]), last[2][6]
end
if seq < known then return {'lost'} end
local kept = {}
if known >= 0 and seq > known then
  for _, entry in ipairs(redis.call('XRANGE', stream, '(' .. known .. '-0', '+')) do
    kept[entry[2][2]] = tonumber(string.match(entry[1], '^%d+'))
  end
end
local replies, grown = {'ok'}, false
for i = 5, #ARGV, 6 do
  local nonce, wanted, attempt, type = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  if kept[nonce] then
    table.insert(replies, kept[nonce])
  elseif attempt < newest or (attempt == newest and kind == 'complete') then
    table.insert(replies, -newest)
  else
    seq, newest, kind, grown = math.max(seq + 1, wanted), attempt, type, true
    redis.call('XADD', stream, string.format('%d-0', seq),
      'nonce', nonce, 'attempt', attempt, 'type', type, 'at', ARGV[i + 4], 'data', ARGV[i + 5])
    table.insert(replies, seq)
  end
end
if grown then
  redis.call('PEXPIRE', stream, ttl_ms)
  redis.call('XADD', rings, 'MAXLEN', '~', max_rings, '*', 'job', job_id)
end
return replies
"""


@dataclass
class Entry:
    """An event on its way. `seq` is 0 until it has a number; `text` is its data encoded."""

    nonce: str
    attempt: int
    type: EventType
    at: datetime
    data: Mapping[str, Json]
    text: str = field(repr=False)
    seq: int = 0

    def event(self) -> Event:
        return Event(seq=self.seq, type=self.type, attempt=self.attempt, at=self.at, data=self.data)


class Streams:
    """The commands on a client; vendor errors come as they are."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._append = redis.register_script(_APPEND)

    async def append(self, job_id: str, entries: Sequence[Entry], *, known: int, ttl_ms: int) -> list[int] | None:
        """The number of each entry, in order; minus the newest attempt for one that was refused.

        `known` is the last number this writer has seen, or `NEVER_SENT` when it has sent nothing
        yet. None when the stream has lost numbers that the writer knows of.
        """
        arguments: list[str | int] = [ttl_ms, known, job_id, MAX_RINGS]
        for entry in entries:
            arguments += [entry.nonce, entry.seq, entry.attempt, entry.type, entry.at.isoformat(), entry.text]
        reply = await self._append(keys=[stream_of(job_id), RINGS], args=arguments)
        return None if reply[0] == "lost" else [int(number) for number in reply[1:]]

    async def read(self, job_id: str, after: int) -> list[Event]:
        entries: Any = await self._redis.xrange(stream_of(job_id), min=f"({max(after, 0)}-0", max="+")
        return [_event(*entry) for entry in entries]

    async def tail(self, job_id: str, after: int) -> Tail:
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.xrevrange(stream_of(job_id), count=1)
            pipeline.xrange(stream_of(job_id), min=f"({max(after, 0)}-0", max="+")
            last, entries = await pipeline.execute()
        if not last:
            return Tail((), 0, False)
        newest = last[0][1]
        return Tail(tuple(_event(*entry) for entry in entries), int(newest["attempt"]), newest["type"] == "complete")

    async def forget(self, job_id: str) -> None:
        await self._redis.delete(stream_of(job_id))

    async def last_ring(self) -> str:
        """The id of the newest ring."""
        entries: Any = await self._redis.xrevrange(RINGS, count=1)
        return str(entries[0][0]) if entries else "0-0"

    async def wait_for_rings(self, last: str, *, block_ms: int) -> tuple[str, set[str]]:
        """The newest ring's id and whose logs have grown since `last`; `last` itself and nobody's when time is up."""
        reply: Any = await self._redis.xread({RINGS: last}, block=block_ms)
        entries = [entry for _, found in reply for entry in found]
        return (str(entries[-1][0]) if entries else last), {fields["job"] for _, fields in entries}


def stream_of(job_id: str) -> str:
    return f"gorkd:events:{job_id}"


def _event(entry_id: str, fields: Mapping[str, str]) -> Event:
    return Event(
        seq=int(entry_id.partition("-")[0]),
        type=cast(EventType, fields["type"]),
        attempt=int(fields["attempt"]),
        at=datetime.fromisoformat(fields["at"]),
        data=decode(fields["data"], dict),
    )
