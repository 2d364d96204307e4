"""Who may change what belongs to all of a workspace: its admins, as Slack says."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from adapters.chat.slack.client import FAULTS, Workspace, reason
from adapters.chat.slack.threads import FAILED_S, REMEMBERED_S, Remembered

_log = logging.getLogger(__name__)


class Admins:
    """Asks Slack once in `REMEMBERED_S` for each person."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._known: Remembered[bool] = Remembered(REMEMBERED_S, clock)

    async def is_admin(self, workspace: Workspace, user: str) -> bool:
        """Whoever cannot be looked up is none, for a minute."""
        known = self._known.get(workspace.team_id, user)
        if known is not None:
            return known
        try:
            described: Mapping[str, Any] = (await workspace.client.users_info(user=user)).get("user") or {}
        except FAULTS as exc:
            _log.warning("person is taken as no admin", extra={"reason": reason(exc)})
            self._known.put(workspace.team_id, user, value=False, life_s=FAILED_S)
            return False
        is_own = not described.get("team_id") or described["team_id"] == workspace.team_id  # guests of shared channels
        is_admin = is_own and (described.get("is_admin") is True or described.get("is_owner") is True)
        self._known.put(workspace.team_id, user, value=is_admin)
        return is_admin
