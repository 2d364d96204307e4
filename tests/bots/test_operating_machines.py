"""The same commands where records are in PostgreSQL and what processes share is in Redis."""

from __future__ import annotations

from pathlib import Path

import pytest
from psycopg import AsyncConnection
from redis.asyncio import Redis

from tests.bots.test_ask import TIDES
from tests.bots.test_operating import QUESTION
from tests.commands import gorkd
from tests.loopback.world import World

WORD = "zanzibar-lantern"
_TABLES = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
"""


@pytest.mark.slow
async def test_trace_doctor_and_forget_work_on_several_machines(
    tmp_path: Path, postgres_url: str, redis_url: str
) -> None:
    """Traced and examined like everywhere; forgotten in every table and every key."""
    async with World.of({"/tides": TIDES}) as world:
        env = {
            **world.env(tmp_path, "tavily", model=True),
            "DATABASE_URL": postgres_url,
            "REDIS_URL": redis_url,
            "GORKD_SECRET": "a secret of the whole house",
        }
        job_id = (await gorkd("ask", "--json", QUESTION, env=env)).json["job_id"]
        traced = await gorkd("trace", job_id, "--json", env=env)
        examined = await gorkd("doctor", "--json", env=env)
        before = await everything(postgres_url, redis_url)

        forgotten = await gorkd("forget", "--job", job_id, env=env)

        after = await everything(postgres_url, redis_url)

    states = {part["part"]: part["state"] for part in examined.json["parts"]}
    assert traced.json["totals"]["tokens"] > 0
    assert (states["PostgreSQL"], states["Redis"], states["secret"]) == ("ok", "ok", "ok")
    assert forgotten.code == 0, forgotten.err
    assert WORD in before
    assert WORD not in after


async def everything(postgres_url: str, redis_url: str) -> str:
    """All rows of all tables and all values of all keys, as text."""
    texts = []
    async with await AsyncConnection.connect(postgres_url) as connection:
        for schema, table in await (await connection.execute(_TABLES)).fetchall():
            rows = await (await connection.execute(f'SELECT * FROM "{schema}"."{table}"'.encode())).fetchall()
            texts.append(repr(rows))
    async with Redis.from_url(redis_url) as redis:
        texts += [repr((key, await redis.dump(key))) async for key in redis.scan_iter("*")]
    return "".join(texts)
