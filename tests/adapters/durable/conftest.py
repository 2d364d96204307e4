"""One outside for all: a web of pages about tides, a search service that finds them, and a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.adapters.durable.outside import PAGES
from tests.loopback.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World.of(PAGES) as world:
        yield world


@pytest.fixture
def one_machine(world: World, tmp_path: Path) -> dict[str, str]:
    """Settings with everything in one folder; a workspace may ask as often as it likes."""
    return world.env(tmp_path, "tavily", model=True) | {"GORKD_DISCORD_GUILD_PER_MIN": "1000"}


@pytest.fixture
def many_machines(one_machine: dict[str, str], postgres_url: str, redis_url: str) -> dict[str, str]:
    """Settings with PostgreSQL and Redis."""
    return {**one_machine, "DATABASE_URL": postgres_url, "REDIS_URL": redis_url, "GORKD_SECRET": "s" * 32}


@pytest.fixture(params=["one_machine", "many_machines"])
def anywhere(request: pytest.FixtureRequest) -> dict[str, str]:
    """Both, one after the other."""
    env: dict[str, str] = request.getfixturevalue(request.param)
    return env
