"""Settings of a workspace: its admins open the form, and what they send off is saved or told why not."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any

from adapters.chat.slack.blocks import Block
from adapters.chat.slack.client import Workspace, open_view
from adapters.chat.slack.message import SlackMessage, sentence_message
from adapters.chat.slack.settings_modal import (
    given_settings,
    log_message,
    refusal_modal,
    saved_modal,
    settings_modal,
)
from adapters.chat.slack.threads import Admins
from adapters.chat.slack.translate import Payload, tenant_of
from core import wording
from core.errors import GorkdError
from core.settings.desk import SettingsChanged, SettingsDesk
from core.settings.fields import FIELDS, SettingsRefused, read_settings

LOG_LENGTH = 20
NOT_OPENED = "Slack did not open the form; please try again."

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Administration:
    """`desk` keeps the settings; `admins` says who may see and change them."""

    desk: SettingsDesk
    admins: Admins = field(default_factory=Admins)

    async def commanded(self, workspace: Workspace, user: str, trigger_id: str, word: str) -> SlackMessage | None:
        """`/research settings`, or with the word `log`; what its sender alone is told, None when the form is open."""
        try:
            if word != "log":
                return await self.open(workspace, user, trigger_id)
            if not await self.admins.is_admin(workspace, user):
                return sentence_message(wording.SETTINGS_ADMINS_ONLY)
            return log_message(await self.desk.log(tenant_of(workspace.team_id), limit=LOG_LENGTH))
        except GorkdError as error:
            return sentence_message(error.user_message)

    async def open(self, workspace: Workspace, user: str, trigger_id: str) -> SlackMessage | None:
        """Show the form, which a trigger allows for 3 s; else the sentence that says why not. Raises `StoreError`."""
        if not await self.admins.is_admin(workspace, user):
            return sentence_message(wording.SETTINGS_ADMINS_ONLY)
        form = await self._form(tenant_of(workspace.team_id))
        return None if await open_view(workspace, trigger_id, form) else sentence_message(NOT_OPENED)

    async def pressed(self, workspace: Workspace, body: Payload) -> None:
        """The button on somebody's App Home."""
        user, trigger_id = str((body.get("user") or {}).get("id") or ""), str(body.get("trigger_id") or "")
        try:
            refused = await self.open(workspace, user, trigger_id)
            said = refused.text if refused else ""
        except GorkdError as error:
            said = error.user_message
        if said:
            await open_view(workspace, trigger_id, refusal_modal(said))

    async def submitted(self, workspace: Workspace, body: Payload) -> dict[str, Any]:
        """What Slack is answered: the errors by field, or what to show in place of the form."""
        user = str((body.get("user") or {}).get("id") or "")
        version, given = given_settings(body.get("view") or {})
        tenant = tenant_of(workspace.team_id)
        if not await self.admins.is_admin(workspace, user):
            return _errors({}, wording.SETTINGS_ADMINS_ONLY, given)
        try:
            before = await self.desk.show(tenant)
            settings = read_settings(given, before.settings)
            changes = await self.desk.save(tenant, settings, version=version, who=user)
        except SettingsRefused as refused:
            return _errors(refused.refusals, refused.user_message, given)
        except SettingsChanged as changed:
            return {"response_action": "update", "view": await self._form(tenant, warning=changed.user_message)}
        except GorkdError as error:
            return _errors({}, error.user_message, given)
        return {"response_action": "update", "view": saved_modal(changes)}

    async def _form(self, tenant: str, *, warning: str = "") -> Block:
        kept, changes = await self.desk.show(tenant), await self.desk.log(tenant, limit=LOG_LENGTH)
        return settings_modal(kept, self.desk.ceilings(tenant), changes, warning=warning)


def _errors(refusals: dict[str, str], sentence: str, given: dict[str, str]) -> dict[str, Any]:
    """By field where the form has that field, else at its first."""
    shown = {key: said for key, said in refusals.items() if key in given}
    first = next(iter(given), next(iter(FIELDS)))
    return {"response_action": "errors", "errors": shown or {first: sentence}}
