"""Starts gorkd's own processes for a loopback world: less patient, and with discord.py pointed at a loopback Discord.

`python -m tests.loopback.launcher discord` is `python -m bots discord`; the product knows nothing of it.
LOOPBACK_DISCORD names the server, LOOPBACK_TOKEN_S says how long an interaction's token lives there, LOOPBACK_PING_S
after how long one is pinged, LOOPBACK_GRACE_S how long a stopping bot waits, and LOOPBACK_LOOK_S how often a bot looks
for what other processes have forgotten. What was said while the records were away is tried again a few times faster.
"""

from __future__ import annotations

import os

import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from adapters.chat import connecting, desk
from adapters.chat.discord import bot, client, delivery
from adapters.chat.reply import EditPace
from adapters.chat.slack.inbox import Inbox
from bots.__main__ import main

PAUSES_S = (0.5, 4.0, 4.0)  # an outage is told of after two; after the last comes the next look

if __name__ == "__main__":
    url = os.environ.get("LOOPBACK_DISCORD", "")
    Route.BASE = f"{url}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(url.replace("http", "ws", 1) + "/gateway")
    delivery.TOKEN_LIFE_S = float(os.environ.get("LOOPBACK_TOKEN_S", delivery.TOKEN_LIFE_S))
    bot.GRACE_S = float(os.environ.get("LOOPBACK_GRACE_S", bot.GRACE_S))
    desk.LOOK_EVERY_S = float(os.environ.get("LOOPBACK_LOOK_S", desk.LOOK_EVERY_S))
    connecting.Outages.__init__.__defaults__ = ((0.3,),)
    Inbox.__init__.__kwdefaults__["pauses_s"] = PAUSES_S
    ping_s = float(os.environ.get("LOOPBACK_PING_S", "60"))
    client.PACE = EditPace(edit_every_s=0.2, refresh_every_s=0.5, ping_after_s=ping_s, backoff_s=(0.1, 0.2, 0.5, 1.0))
    main()
