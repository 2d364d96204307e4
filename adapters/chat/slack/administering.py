"""Settings of a workspace, which its admins open, and what the app says of itself: its Home, its help, its welcome."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.reply import Tongues, best_effort
from adapters.chat.slack.blocks import (
    LABEL_LIMIT,
    SECTION_LIMIT,
    Block,
    SlackMessage,
    actions,
    button,
    context,
    divider,
    entry,
    escaped,
    header,
    help_blocks,
    label,
    message,
    modal,
    plain,
    section,
    sentence_message,
    text_input,
)
from adapters.chat.slack.client import FAULTS, Workspace, open_view, reason
from adapters.chat.slack.poster import Mark, ThreadAddress, post
from adapters.chat.slack.threads import People
from adapters.chat.slack.translate import Payload, given_in, id_of, tenant_of
from core.model.answer import JobResult
from core.model.errors import GorkdError
from core.model.job import JobStatus, Json, ResearchJob, Scope
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.presentation.help import HOW_TO_READ
from core.presentation.page_links import PageLinks, is_private
from core.tenancy.settings import (
    FIELDS,
    GROUPS,
    MAX_PER_MIN,
    Ceilings,
    Field,
    SettingsRefused,
    TenantSettings,
    read_settings,
    said_word,
    unset_words,
    write_setting,
)
from core.tenancy.settings_desk import KeptSettings, SettingChange, SettingsChanged, SettingsDesk
from core.text.saying import say, say_day

LOG_LENGTH = 20
KNOWN_WITHIN_S = 0.7  # whether somebody is an admin, before the form is acknowledged
NOT_KNOWN = "Slack has not said yet whether you are an admin; please save it again."
NOT_OPENED = "Slack did not open the form; please try again."

_log = logging.getLogger(__name__)
SETTINGS, OPEN_SETTINGS = "settings", "open_settings"
TITLE = "Research settings"
OPTION_LIMIT = 75  # characters of an option (docs.slack.dev, composition objects)
CHECKBOXES = 10  # options of one group of checkboxes; more are a menu
INPUT_LIMIT = 3000  # characters of a text input
SHOWN_CHANGES = 3
VALUE_ROOM = 300  # of one value in a list of changes
_EMPTY = "nothing"


@dataclass(frozen=True)
class Administration:
    """`desk` keeps the settings; `people` says who may see and change them; `tongues` hear what language is set."""

    desk: SettingsDesk
    people: People
    tongues: Tongues

    async def commanded(self, workspace: Workspace, user: str, trigger_id: str, word: str = "") -> SlackMessage | None:
        """`/research settings`, or with the word `log`; what its sender alone is told, None when the form is open.

        A trigger allows that for 3 s.
        """
        tenant = tenant_of(workspace.team_id)
        try:
            if not await self.people.is_admin(workspace, user):
                return sentence_message(say(wording.SETTINGS_ADMINS_ONLY))
            if word == "log":
                return log_message(await self.desk.log(tenant, limit=LOG_LENGTH))
            is_open = await open_view(workspace, trigger_id, await self._form(tenant))
            return None if is_open else sentence_message(say(NOT_OPENED))
        except GorkdError as error:
            return sentence_message(error.user_message)

    async def pressed(self, workspace: Workspace, body: Payload) -> None:
        """The button on somebody's App Home."""
        trigger_id = str(body.get("trigger_id") or "")
        if refused := await self.commanded(workspace, id_of(body, "user"), trigger_id):
            blocks = [section(plain(refused.text, SECTION_LIMIT))]
            await open_view(workspace, trigger_id, modal("", say(TITLE), blocks, submit="", close=say("Close")))

    async def submitted(self, workspace: Workspace, body: Payload) -> dict[str, Any]:
        """What Slack is answered: the errors by field, or what to show in place of the form."""
        user = id_of(body, "user")
        version, given = given_settings(body.get("view") or {})
        tenant = tenant_of(workspace.team_id)
        asking = asyncio.create_task(self.people.is_admin(workspace, user))  # known since the form was opened, mostly
        done, _ = await asyncio.wait({asking}, timeout=KNOWN_WITHIN_S)
        if not (done and asking.result()):
            return _errors({}, say(wording.SETTINGS_ADMINS_ONLY) if done else say(NOT_KNOWN), given)
        try:
            settings = read_settings(given, (await self.desk.show(tenant)).settings)
            changes = await self.desk.save(tenant, settings, version=version, who=user)
            self.tongues.note_workspace(tenant, settings)
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


def settings_modal(
    kept: KeptSettings, ceilings: Ceilings, changes: Sequence[SettingChange], *, warning: str = ""
) -> Block:
    """What comes back carries the version it was filled in from."""
    blocks = [section(f":warning: *{plain(warning, SECTION_LIMIT - 20)}*")] if warning else []
    for group, title in GROUPS.items():
        blocks += [header(say(title))]
        for one in FIELDS.values():
            if one.group == group and (element := _element(one, kept.settings, ceilings)):
                blocks.append(
                    entry(one.key, said_word(one.title), element, is_optional=not one.choices, hint=said_word(one.hint))
                )
        blocks.append(divider())
    blocks.append(context("\n".join(_told(changes[:SHOWN_CHANGES])) or say(wording.NO_CHANGES_YET)))
    return modal(SETTINGS, say(TITLE), blocks, submit=say("Save"), metadata=str(kept.version))


def saved_modal(changes: Sequence[SettingChange]) -> Block:
    """What has changed, in place of the form."""
    said = say(wording.SETTINGS_SAVED) if changes else say(wording.SETTINGS_UNCHANGED)
    lines = [f"*{said_word(FIELDS[change.key].title)}*: {_from_to(change)}" for change in changes]
    blocks = [section(f"{':white_check_mark: ' if changes else ''}{said}"), *map(section, lines)]
    return modal("", say(TITLE), blocks, submit="", close=say("Close"))


def log_message(changes: Sequence[SettingChange]) -> SlackMessage:
    """Who changed what, newest first."""
    if not changes:
        return sentence_message(say(wording.NO_CHANGES_YET))
    return message(say(wording.SETTINGS_LOG), [header(say(wording.SETTINGS_LOG)), *map(section, _told(changes))])


def given_settings(view: Mapping[str, Any]) -> tuple[int, dict[str, str]]:
    """Of a form that was sent off: the version it was filled in from, and what it says by setting."""
    values: Mapping[str, Mapping[str, Any]] = (view.get("state") or {}).get("values") or {}
    version = str(view.get("private_metadata") or "")
    given = {key: given_in(view, key) for key in values if key in FIELDS}
    return int(version) if version.isdecimal() else -1, given


def _element(field: Field, settings: TenantSettings, ceilings: Ceilings) -> Block | None:
    """None for what there is nothing to choose of."""
    value = getattr(settings, field.key)
    if field.key == "channels":
        element: Block = {
            "type": "multi_conversations_select",
            "placeholder": label(said_word("everywhere").capitalize(), 150),
        }
        element["filter"] = {"include": ["public", "private"]}
        return {**element, **({"initial_conversations": [*value]} if value else {})}
    if field.choices:
        radios = [_option(word, meaning) for word, meaning in field.choices]
        chosen = write_setting(field.key, settings)
        initial = next(option for option in radios if option["value"] == chosen)
        return {"type": "radio_buttons", "options": [*radios], "initial_option": initial}
    if field.key == "providers":
        return _providers(value, ceilings.providers)
    if isinstance(TenantSettings.__dataclass_fields__[field.key].default, tuple):
        written: Block = {"initial_value": "\n".join(value)} if value else {}
        return {**text_input(INPUT_LIMIT, field.example), **written}
    if isinstance(value, str):
        return {**text_input(LABEL_LIMIT, said_word(field.unset), is_long=False), "initial_value": value}
    return _number(field, value, ceilings)


def _providers(chosen: Sequence[str], offered: Sequence[str]) -> Block | None:
    """Those that are chosen and configured no more are offered too, so that they can be taken out."""
    options: list[Json] = [_option(name, name) for name in dict.fromkeys([*offered, *chosen])]
    if not options:
        return None
    initial = [_option(name, name) for name in chosen]
    kind = "checkboxes" if len(options) <= CHECKBOXES else "multi_static_select"
    return {"type": kind, "options": options, **({"initial_options": [*initial]} if initial else {})}


def _number(field: Field, value: float | None, ceilings: Ceilings) -> Block:
    ceiling: float | None = getattr(ceilings, field.key)
    is_money = field.key == "monthly_usd"
    element: Block = {"type": "number_input", "is_decimal_allowed": is_money, "min_value": "0.01" if is_money else "1"}
    if field.group == "limits" and not is_money:
        element["max_value"] = str(ceiling or MAX_PER_MIN)
    elif ceiling is not None:
        element["max_value"] = f"{ceiling:g}"
    element["placeholder"] = label(unset_words(field, ceilings), 150)
    if value is not None:
        element["initial_value"] = f"{value:.2f}" if is_money else f"{value:g}"
    return element


def _option(value: str, text: str) -> Block:
    return {"value": value, "text": label(said_word(text), OPTION_LIMIT)}


def _told(changes: Sequence[SettingChange]) -> list[str]:
    lines: list[str] = []
    for change in changes:
        who = f"<@{change.who}>" if change.who.startswith(("U", "W")) else wording.changed_by(change.who)
        if field := FIELDS.get(change.key):
            lines.append(f"{say_day(change.at)}, {who}: *{said_word(field.title)}* {_from_to(change)}")
    return lines


def _from_to(change: SettingChange) -> str:
    return f"{_value(change, change.before)} → {_value(change, change.after)}"


def _value(change: SettingChange, text: str) -> str:
    field = FIELDS[change.key]
    if change.key == "channels" and text != field.unset:
        return ", ".join(f"<#{escaped(channel)}>" for channel in text.split(", "))
    return f"_{plain(said_word(dict(field.choices).get(text, text)) or say(_EMPTY), VALUE_ROOM)}_"


# What the app says of itself: the App Home of each person, how to ask, and a welcome to whoever installed it


LISTED = 8  # of one's own, and of the workspace's; a screen each
QUESTION_ROOM = 200
INVITE = "Invite me to a channel with `/invite @gorkd`; the answer comes in a thread."

Answered = tuple[ResearchJob, JobResult | None]


class Home:
    """What each person sees of the app."""

    def __init__(self, researcher: Researcher, links: PageLinks, people: People) -> None:
        self._researcher, self._links, self._people = researcher, links, people

    async def opened(self, event: Payload, workspace: Workspace) -> None:
        """Somebody looks at the app's home: it is drawn anew for them."""
        user = str(event.get("user") or "")
        if event.get("tab") != "home" or not user:
            return
        with best_effort(_log.warning, "home not shown", of=(GorkdError, *FAULTS)):
            asked = await self._researcher.history(user, tenant=tenant_of(workspace.team_id), limit=LISTED)
            view = home_view(await self._answered(asked), await self._shared(workspace, user), self._links)
            await workspace.client.views_publish(user_id=user, view=view)

    async def _shared(self, workspace: Workspace, user: str) -> list[Answered]:
        """What was asked by others where the whole workspace can read; guests see only their own channels."""
        if not await self._people.is_full_member(workspace, user):
            return []
        everybody = Scope(tenant_of(workspace.team_id), "workspace")
        asked = await self._researcher.recent(everybody, limit=3 * LISTED)
        open_ones = [job for job in asked if job.request.asker != user and not is_private(job)]
        return await self._answered([job for job in open_ones if job.status is JobStatus.COMPLETED][:LISTED])

    async def _answered(self, jobs: Sequence[ResearchJob]) -> list[Answered]:
        return [(job, await self._researcher.result(job.id)) for job in jobs]


def home_view(own: Sequence[Answered], shared: Sequence[Answered], links: PageLinks) -> Block:
    """The page of one person: help, the settings, their own questions, and those that everybody may see."""
    settings = actions([button(OPEN_SETTINGS, say(wording.SETTINGS), "settings")])
    blocks = [header("gorkd"), *_help(), *settings, divider(), header(say(wording.YOUR_QUESTIONS))]
    blocks += _listed(own, links) or [section(plain(say(wording.NO_HISTORY), SECTION_LIMIT))]
    if shared:
        blocks += [divider(), header(say(wording.OPEN_QUESTIONS)), *_listed(shared, links)]
    return {"type": "home", "blocks": list(blocks)}


async def welcome(client: AsyncWebClient, user: str, key: str) -> None:
    """To whoever installed the app, in direct messages; `key` names the installation."""
    with best_effort(_log.warning, "nobody was welcomed", of=FAULTS, why=reason):
        opened = await client.conversations_open(users=user)
        said = f"{say(wording.WELCOME)} {say(wording.WHAT_IT_IS)}"
        greeting = message(said, [header(say(wording.WELCOME)), *_help()])
        await post(client, ThreadAddress(str(opened["channel"]["id"])), greeting, Mark(f"welcome:{key}"))


def _help() -> list[Block]:
    return [
        section(plain(say(wording.WHAT_IT_IS), SECTION_LIMIT)),
        *help_blocks(),
        context(say(INVITE)),
        context(say(HOW_TO_READ)),
    ]


def _listed(jobs: Sequence[Answered], links: PageLinks) -> list[Block]:
    """A line each: the question as a link to its page, and what came of it."""
    blocks: list[Block] = []
    for job, result in jobs:
        asked = (job.request.quoted or job.query).replace("|", "/")  # a bar would end the link's address early
        answer = result.answer if result else None
        became = wording.confidence_headline(answer) if answer else say(wording.STATUS_MESSAGES[job.status])
        link = f"<{escaped(links.link(job))}|{plain(asked, QUESTION_ROOM) or '…'}>"
        blocks.append(section(f"{link}\n{say_day(job.created_at)} · {plain(became, QUESTION_ROOM)}"))
    return blocks
