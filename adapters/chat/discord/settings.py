"""What the Discord bot may be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from adapters.proxies import DIRECT, Proxies
from core.model.errors import SetupError

PERMISSIONS = 309237763136  # docs/discord.md says what each of them is for
Threads = Literal["busy", "always", "never"]


def invitation(client_id: str) -> str:
    """Where somebody invites the bot to their server, with no more permissions than it uses."""
    asked = f"client_id={client_id}&scope=bot+applications.commands&permissions={PERMISSIONS}"
    return f"https://discord.com/oauth2/authorize?{asked}"


@dataclass(frozen=True)
class DiscordSettings:
    """`threads` says when details and sources go to a thread under the answer."""

    token: str = field(repr=False)
    threads: Threads = "busy"
    proxies: Proxies = DIRECT

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> DiscordSettings:
        """Reads `DISCORD_TOKEN` and `GORKD_DISCORD_THREADS`. Raises `SetupError`."""
        if not env.get("DISCORD_TOKEN"):
            raise SetupError("DISCORD_TOKEN is not set; a bot's token stands in the Discord developer portal.")
        wanted = env.get("GORKD_DISCORD_THREADS", "busy")
        for threads in get_args(Threads):
            if threads == wanted:
                return cls(env["DISCORD_TOKEN"], threads, Proxies.from_env(env))
        raise SetupError(f"GORKD_DISCORD_THREADS must be busy, always or never, not {wanted!r}.")
