"""Whose message it is: of several processes that serve one app, one keeps a message alive, and only that one ends it.

A turn is held while its message lives. Who dies in it holds up the others for `TURN` at most, and itself not at
all: a process that is started again has its old name, and goes on with what is its own.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from core.errors import StoreError
from core.ports import Turns

TURN = timedelta(seconds=120)  # longer than an upload and an edit may take together (reply.py)
RENEW_EVERY_S = 30.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChatTurns:
    """`holder` names this process. Without `turns` it is the only one."""

    turns: Turns | None = None
    holder: str = ""

    async def hold(self, name: str) -> bool:
        """Whether it is this process's turn, from now on for `TURN`.

        While the records cannot be reached it is: a word that is said twice is better than none.
        """
        if self.turns is None:
            return True
        try:
            is_ours = await self.turns.keep(name, self.holder, ttl=TURN)
            return is_ours or await self.turns.take(name, self.holder, ttl=TURN)
        except StoreError as error:
            _log.warning("turn not noted", extra={"turn": name, "error": str(error)})
            return True

    async def give_back(self, name: str) -> None:
        if self.turns is None:
            return
        try:
            await self.turns.give_back(name, self.holder)
        except StoreError as error:
            _log.warning("turn not given back", extra={"turn": name, "error": str(error)})
