"""discord.py's calls go where the environment says; by itself it knows one proxy for everything and no exceptions."""

from __future__ import annotations

import copy

import aiohttp
from discord.http import HTTPClient, Route

from adapters.proxies import Proxies


def guide(http: HTTPClient, proxies: Proxies) -> None:
    """From now on the API, each gateway and the files of `http` are reached as the settings say."""
    http.proxy = proxies.of(Route.BASE)

    def towards(url: str) -> HTTPClient:
        """The same client, for one call: others run at the same time."""
        guided = copy.copy(http)
        guided.proxy = proxies.of(url)
        return guided

    async def ws_connect(url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        return await HTTPClient.ws_connect(towards(url), str(url), compress=compress)

    async def get_from_cdn(url: str) -> bytes:
        return await HTTPClient.get_from_cdn(towards(url), url)

    http.ws_connect = ws_connect  # type: ignore[method-assign]
    http.get_from_cdn = get_from_cdn  # type: ignore[method-assign]
