"""What the Slack app may be told: its tokens, and where Slack is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.errors import SetupError

SLACK_API = "https://slack.com/api/"


@dataclass(frozen=True)
class SlackSettings:
    """With an `app_token` events come by Socket Mode, else as HTTP requests signed with `signing_secret`.

    `streams` is whether progress is streamed where Slack allows it.
    """

    bot_token: str = field(repr=False)
    app_token: str = field(default="", repr=False)
    signing_secret: str = field(default="", repr=False)
    api_url: str = SLACK_API
    streams: bool = True

    @property
    def is_socket_mode(self) -> bool:
        return bool(self.app_token)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> SlackSettings:
        """Reads `SLACK_BOT_TOKEN SLACK_APP_TOKEN SLACK_SIGNING_SECRET SLACK_API_BASE_URL GORKD_SLACK_STREAMING`.

        Raises `SetupError`.
        """
        bot_token, app_token = env.get("SLACK_BOT_TOKEN", ""), env.get("SLACK_APP_TOKEN", "")
        signing_secret = env.get("SLACK_SIGNING_SECRET", "")
        if not bot_token.startswith("xoxb-"):
            raise SetupError("SLACK_BOT_TOKEN is not set; it begins with xoxb- and stands in the Slack app's settings.")
        if app_token and not app_token.startswith("xapp-"):
            raise SetupError("SLACK_APP_TOKEN is not an app-level token; it begins with xapp-.")
        if not app_token and not signing_secret:
            raise SetupError("Set SLACK_APP_TOKEN for Socket Mode (it begins with xapp-), or SLACK_SIGNING_SECRET.")
        streaming = env.get("GORKD_SLACK_STREAMING") or "auto"
        if streaming not in ("auto", "off"):
            raise SetupError("GORKD_SLACK_STREAMING is auto or off.")
        api_url = env.get("SLACK_API_BASE_URL") or SLACK_API
        return cls(bot_token, app_token, signing_secret, api_url, streams=streaming == "auto")
