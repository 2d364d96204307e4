"""What the Slack app may be told: its tokens, or how workspaces install it by themselves, and where Slack is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.proxies import DIRECT, Proxies
from core.model.errors import SetupError

SLACK_API = "https://slack.com/api/"
SCOPES = (  # manifest.yml has the same; docs/slack.md says what each is for
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "im:history",
    "im:write",
    "reactions:write",
    "users:read",
)


@dataclass(frozen=True)
class SlackSettings:
    """With an `app_token` events come by Socket Mode, else as HTTP requests signed with `signing_secret`.

    A `bot_token` serves the one workspace it is of; with `client_id` and `client_secret` any workspace may install
    the app at the pages' address. `streams` is whether progress is streamed where Slack allows it.
    """

    bot_token: str = field(default="", repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    api_url: str = SLACK_API
    streams: bool = True
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    proxies: Proxies = DIRECT

    @property
    def is_socket_mode(self) -> bool:
        return bool(self.app_token)

    @property
    def is_installable(self) -> bool:
        """Whether workspaces install the app by themselves."""
        return bool(self.client_id)

    @property
    def authorize_url(self) -> str:
        """Where a browser is sent to allow an installation."""
        return f"{self.api_url.removesuffix('/').removesuffix('/api')}/oauth/v2/authorize"

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> SlackSettings:
        """Reads `SLACK_BOT_TOKEN SLACK_APP_TOKEN SLACK_SIGNING_SECRET SLACK_API_BASE_URL GORKD_SLACK_STREAMING`.

        For many workspaces `SLACK_CLIENT_ID SLACK_CLIENT_SECRET` stand instead of the bot's token. Raises `SetupError`.
        """
        bot_token, app_token = env.get("SLACK_BOT_TOKEN", ""), env.get("SLACK_APP_TOKEN", "")
        signing_secret = env.get("SLACK_SIGNING_SECRET", "")
        client_id, client_secret = env.get("SLACK_CLIENT_ID", ""), env.get("SLACK_CLIENT_SECRET", "")
        if bool(client_id) != bool(client_secret):
            raise SetupError("SLACK_CLIENT_ID and SLACK_CLIENT_SECRET belong together; please set both, or neither.")
        if client_id and bot_token:
            raise SetupError(
                "SLACK_BOT_TOKEN is for one workspace, SLACK_CLIENT_ID and SLACK_CLIENT_SECRET are for many: "
                "please set either."
            )
        if client_id and (app_token or not signing_secret):
            raise SetupError(
                "An app that many workspaces install takes Slack's requests over HTTP: please set "
                "SLACK_SIGNING_SECRET, and leave SLACK_APP_TOKEN unset."
            )
        if not client_id and not bot_token.startswith("xoxb-"):
            raise SetupError(
                "SLACK_BOT_TOKEN must be a bot token: it begins with xoxb- and stands in the Slack app's settings."
            )
        if app_token and not app_token.startswith("xapp-"):
            raise SetupError("SLACK_APP_TOKEN is not an app-level token; it begins with xapp-.")
        if not app_token and not signing_secret:
            raise SetupError("Set SLACK_APP_TOKEN for Socket Mode (it begins with xapp-), or SLACK_SIGNING_SECRET.")
        streaming = env.get("GORKD_SLACK_STREAMING") or "auto"
        if streaming not in ("auto", "off"):
            raise SetupError("GORKD_SLACK_STREAMING is auto or off.")
        api_url = env.get("SLACK_API_BASE_URL") or SLACK_API
        return cls(
            bot_token, app_token, signing_secret, api_url, streaming == "auto", client_id, client_secret,
            Proxies.from_env(env),
        )  # fmt: skip
