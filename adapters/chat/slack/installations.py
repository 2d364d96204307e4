"""The workspaces that have installed the app: slack_sdk's installation store on our records, with tokens kept fresh.

Which token belongs to a team is read from the records with every event, so that an installation or its end counts
in all processes at once; Slack itself is asked for nothing before an acknowledgement.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Callable
from datetime import timedelta

from slack_sdk.errors import SlackTokenRotationError
from slack_sdk.oauth.installation_store import Bot, Installation
from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator

from adapters.chat.slack.client import FAULTS, Client, NotInstalled, StreamGate, Workspace, reason
from adapters.chat.slack.translate import Payload, tenant_of
from core.departures import Tenancy
from core.errors import GorkdError, StoreError
from core.ports import TokenStore, Turns

REFRESH_BEFORE_MIN = 120  # a token lives for 12 h (docs.slack.dev, token rotation); a long job ends before it lapses
TURN = timedelta(minutes=5)  # longer than a refresh may take with all its waiting; the old token still works meanwhile
WAIT_S = 10.0  # for another process that refreshes a token which has lapsed
REST_S = 60.0  # after a refresh that Slack refused
_PAUSE_S = 0.1

_log = logging.getLogger(__name__)


class Installations(AsyncInstallationStore):
    """One bot a workspace. No user tokens and no organisations: whoever saves one has refused them before."""

    def __init__(self, tokens: TokenStore) -> None:
        self._tokens = tokens

    @property
    def logger(self) -> logging.Logger:
        return _log

    async def async_save(self, installation: Installation) -> None:
        await self.async_save_bot(installation.to_bot())

    async def async_save_bot(self, bot: Bot) -> None:
        await self._tokens.put(tenant_of(bot.team_id or ""), json.dumps(vars(bot)))

    async def async_find_bot(
        self, *, enterprise_id: str | None, team_id: str | None, is_enterprise_install: bool | None = False
    ) -> Bot | None:
        text = await self._tokens.get(tenant_of(team_id or ""))
        try:
            return Bot(**json.loads(text)) if text else None
        except (TypeError, ValueError) as exc:
            raise StoreError(f"the installation of {team_id} cannot be read: {type(exc).__name__}") from exc

    async def async_delete_bot(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        await self._tokens.erase(tenant_of(team_id or ""))

    async def of(self, team_id: str) -> Bot:
        """Raises `NotInstalled`, `StoreError`."""
        bot = await self.async_find_bot(enterprise_id=None, team_id=team_id)
        if bot is None:
            raise NotInstalled(team_id)
        return bot


class InstalledWorkspaces:
    """`Workspaces` of every team that has installed the app. Leave with `aclose`."""

    def __init__(
        self,
        installations: Installations,
        turns: Turns,
        rotator: AsyncTokenRotator,
        client_of: Callable[[str], Client],
        *,
        may_stream: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._installations, self._turns, self._rotator = installations, turns, rotator
        self._client_of, self._clock = client_of, clock
        self._may_stream = may_stream
        self._streams: dict[str, StreamGate] = {}
        self._refreshing: dict[str, asyncio.Task[Bot]] = {}
        self._resting: dict[str, float] = {}

    async def find(self, team_id: str, *, is_hurried: bool = False) -> Workspace:
        """Raises `NotInstalled`, `StoreError`."""
        bot = await self._installations.of(team_id)
        left_s = self._left_s(bot)
        if left_s <= REFRESH_BEFORE_MIN * 60 and self._resting.get(team_id, 0.0) <= self._clock():
            refreshing = self._refresh(team_id)
            if left_s <= 0 and not is_hurried:  # else the old token serves until the new one is there
                bot = await asyncio.shield(refreshing)
        streams = self._streams.setdefault(team_id, StreamGate()) if self._may_stream else None
        return Workspace(team_id, bot.bot_id, bot.bot_user_id, self._client_of(bot.bot_token), streams)

    async def aclose(self) -> None:
        """Let refreshes end: a refresh token that was used without keeping what came back is lost."""
        await asyncio.gather(*self._refreshing.values(), return_exceptions=True)

    def _left_s(self, bot: Bot) -> float:
        expires_at = bot.bot_token_expires_at
        return float("inf") if expires_at is None else expires_at - self._clock()

    def _refresh(self, team_id: str) -> asyncio.Task[Bot]:
        """One at a time in this process; `_rotated` sees to the others."""
        if team_id not in self._refreshing:
            task = asyncio.create_task(self._rotated(team_id), name=f"slack token {team_id}")
            self._refreshing[team_id] = task
            task.add_done_callback(lambda done: self._ended(team_id, done))
        return self._refreshing[team_id]

    def _ended(self, team_id: str, task: asyncio.Task[Bot]) -> None:
        self._refreshing.pop(team_id, None)
        if not task.cancelled() and (error := task.exception()):
            _log.warning("token not refreshed", extra={"team": team_id, "error": str(error)})

    async def _rotated(self, team_id: str) -> Bot:
        """The installation with a fresh token, whichever process refreshed it; as it was where none could."""
        turn, holder, waited_s = f"token:{tenant_of(team_id)}", secrets.token_hex(8), 0.0
        while not await self._turns.take(turn, holder, ttl=TURN):
            bot = await self._installations.of(team_id)
            if self._left_s(bot) > REFRESH_BEFORE_MIN * 60 or waited_s >= WAIT_S:
                return bot
            waited_s += _PAUSE_S
            await asyncio.sleep(_PAUSE_S)
        try:
            bot = await self._installations.of(team_id)  # another process may just have done it
            fresh = await self._rotator.perform_bot_token_rotation(
                bot=bot, minutes_before_expiration=REFRESH_BEFORE_MIN
            )
            if fresh is not None:
                await self._installations.async_save_bot(fresh)
                _log.info("token refreshed", extra={"team": team_id})
            return fresh or bot
        except (SlackTokenRotationError, *FAULTS) as exc:
            self._resting[team_id] = self._clock() + REST_S
            refused = exc.api_error if isinstance(exc, SlackTokenRotationError) else exc
            _log.warning("Slack gave no fresh token", extra={"team": team_id, "reason": reason(refused)})
            return bot
        finally:
            await self._give_back(turn, holder)

    async def _give_back(self, turn: str, holder: str) -> None:
        try:
            await self._turns.give_back(turn, holder)
        except GorkdError as error:
            _log.warning("turn not given back", extra={"turn": turn, "error": str(error)})


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
