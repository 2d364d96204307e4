"""Starts gorkd's own processes with discord.py pointed at a loopback Discord; the product knows nothing of it.

`python -m tests.loopback.discord_bot discord` is `python -m bots discord`, with LOOPBACK_DISCORD naming the server.
"""

from __future__ import annotations

import os

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from bots.__main__ import main

if __name__ == "__main__":
    url = os.environ["LOOPBACK_DISCORD"]
    Route.BASE = f"{url}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url.replace("http", "ws", 1) + "/gateway")
    main()
