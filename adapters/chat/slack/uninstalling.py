"""The end of an installation: Slack says that a workspace has removed the app, or has revoked the bot's token."""

from __future__ import annotations

import logging

from adapters.chat.slack.installations import Installations
from adapters.chat.slack.translate import Payload, tenant_of
from core.departures import Tenancy

_log = logging.getLogger(__name__)


async def hear_departure(body: Payload, tenancy: Tenancy) -> None:
    """`app_uninstalled`, or `tokens_revoked`, which counts where it is the bot's. Returns when it is noted.

    One that was sent before the app was installed again (Slack repeats what nobody acknowledged) says nothing any
    more: installing has erased what was there before. Raises `StoreError`.
    """
    event, team_id = body.get("event") or {}, str(body.get("team_id") or "")
    is_of_bot = event.get("type") != "tokens_revoked" or bool((event.get("tokens") or {}).get("bot"))
    if not team_id or not is_of_bot:
        return
    installations = Installations(tenancy.tokens)
    known = await installations.async_find_bot(enterprise_id=None, team_id=team_id)
    if known is not None and int(known.installed_at) > int(body.get("event_time") or 0):
        _log.info("the end of an earlier installation", extra={"team": team_id})
        return
    await tenancy.leaving.leave(tenant_of(team_id))
    await installations.async_delete_bot(enterprise_id=None, team_id=team_id)
