"""A reader of loopback pages with one parsing process, closed after the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from ipaddress import ip_network

import pytest

from adapters.pages import WebPages
from adapters.pages.fetch import FetchLimits


@pytest.fixture
async def reader() -> AsyncIterator[WebPages]:
    pages = WebPages(
        allow=[ip_network("127.0.0.0/8")],
        limits=FetchLimits(per_host_per_second=1000.0),
        workers=1,
    )
    yield pages
    await pages.aclose()
