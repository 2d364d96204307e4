"""Starts gorkd's own processes with discord.py pointed at a loopback Discord; the product knows nothing of it.

`python -m tests.loopback.discord_bot discord` is `python -m bots discord`. LOOPBACK_DISCORD names the server,
LOOPBACK_TOKEN_S says how long an interaction's token lives there, LOOPBACK_PING_S after how long one is pinged, and
LOOPBACK_GRACE_S how long a stopping bot waits.
"""

from __future__ import annotations

import os

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.chat.discord import bot, client, delivery
from adapters.chat.reply import EditPace
from bots.__main__ import main

if __name__ == "__main__":
    url = os.environ["LOOPBACK_DISCORD"]
    Route.BASE = f"{url}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url.replace("http", "ws", 1) + "/gateway")
    delivery.TOKEN_LIFE_S = float(os.environ.get("LOOPBACK_TOKEN_S", delivery.TOKEN_LIFE_S))
    bot.GRACE_S = float(os.environ.get("LOOPBACK_GRACE_S", bot.GRACE_S))
    ping_s = float(os.environ.get("LOOPBACK_PING_S", "60"))
    client.PACE = EditPace(edit_every_s=0.2, refresh_every_s=0.5, ping_after_s=ping_s, backoff_s=(0.1, 0.2, 0.5, 1.0))
    main()
