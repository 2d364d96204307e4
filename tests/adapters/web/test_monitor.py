"""The figures of a process without pages."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from aiohttp import ClientConnectionError, ClientSession

from adapters.web.monitor import serve_metrics
from core.model.errors import SetupError
from tests.adapters.web.serving import all_well
from tests.servers import free_port


async def read(port: int, path: str) -> str:
    async with ClientSession() as client, client.get(f"http://127.0.0.1:{port}{path}") as response:
        assert response.status == 200
        return await response.text()


async def test_figures_are_served_at_their_own_port_while_the_process_runs():
    """S003-26, also for a worker, and no longer afterwards."""
    port = free_port()

    async with serve_metrics(lambda: b"gorkd_jobs_resumed 3.0\n", {"GORKD_METRICS_PORT": str(port)}, all_well):
        figures, health, ready = await asyncio.gather(
            *(read(port, f"/{name}") for name in ("metrics", "health", "ready"))
        )

    assert figures == "gorkd_jobs_resumed 3.0\n"
    assert "ok" in health
    assert json.loads(ready) == {"status": "ready", "reasons": []}
    with pytest.raises(ClientConnectionError):
        await read(port, "/metrics")


async def test_a_port_that_is_taken_stops_no_worker(caplog: pytest.LogCaptureFixture):
    """The second worker of a machine works all the same, and says that nobody sees its figures."""
    env = {"GORKD_METRICS_PORT": str(free_port())}

    async with serve_metrics(lambda: b"first", env, all_well):
        with caplog.at_level(logging.WARNING):
            async with serve_metrics(lambda: b"second", env, all_well):
                seen = await read(int(env["GORKD_METRICS_PORT"]), "/metrics")

    assert seen == "first"
    assert "metrics not served" in caplog.text


@pytest.mark.parametrize("port", ["x", "-1", "65536", "٣"])
async def test_what_is_no_port_is_refused_by_its_name(port: str):
    """At start, in a sentence."""
    with pytest.raises(SetupError, match="GORKD_METRICS_PORT"):
        async with serve_metrics(lambda: b"", {"GORKD_METRICS_PORT": port}, all_well):
            pass
