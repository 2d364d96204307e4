"""What the app says of itself: the App Home of each person, how to ask, and a welcome to whoever installed it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from slack_sdk.web.async_client import AsyncWebClient

from adapters.chat.slack.blocks import SECTION_LIMIT, Block, context, divider, escaped, header, plain, section
from adapters.chat.slack.client import FAULTS, Workspace, reason
from adapters.chat.slack.message import SlackMessage, message
from adapters.chat.slack.poster import Mark, ThreadAddress, post
from adapters.chat.slack.translate import Payload, tenant_of
from core.model.answer import JobResult
from core.model.errors import GorkdError
from core.model.job import JobStatus, ResearchJob, Scope
from core.presentation import wording
from core.presentation.help import HOW_TO_ASK, HOW_TO_READ, Typed, help_entries, mode_entries
from core.presentation.page_links import PageLinks, is_private

if TYPE_CHECKING:
    from core.pipeline.researcher import Researcher

LISTED = 8  # of one's own, and of the workspace's; a screen each
QUESTION_ROOM = 200
INVITE = "Invite me to a channel with `/invite @gorkd`; the answer comes in a thread."

_log = logging.getLogger(__name__)
Answered = tuple[ResearchJob, JobResult | None]
TYPED = Typed(
    ask="/research",
    menu="More message shortcuts",
    reply="write in the thread of an answer",
    options="in the form of `/research` alone, or in the question as in `mode:deep top_k:8`",
    history="/research history",
    settings="/research settings",
)


class Home:
    """`entries` are further blocks for each person's page, e.g. a button for settings."""

    def __init__(self, researcher: Researcher, links: PageLinks, *, entries: Sequence[Block] = ()) -> None:
        self._researcher = researcher
        self._links = links
        self._entries = tuple(entries)

    async def opened(self, event: Payload, workspace: Workspace) -> None:
        """Somebody looks at the app's home: it is drawn anew for them."""
        user = str(event.get("user") or "")
        if event.get("tab") != "home" or not user:
            return
        try:
            own = await self._own(workspace, user)
            shared = await self._shared(workspace, user)
            view = home_view(own, shared, self._links, self._entries)
            await workspace.client.views_publish(user_id=user, view=view)
        except FAULTS as exc:
            _log.warning("home not shown", extra={"reason": reason(exc)})
        except GorkdError as error:
            _log.warning("home not shown", extra={"error": str(error)})

    async def _own(self, workspace: Workspace, user: str) -> list[Answered]:
        asked = await self._researcher.history(user, tenant=tenant_of(workspace.team_id), limit=LISTED)
        return await self._answered(asked)

    async def _shared(self, workspace: Workspace, user: str) -> list[Answered]:
        """What was asked by others where the whole workspace can read; guests see only their own channels."""
        if not await _is_full_member(workspace.client, user):
            return []
        everybody = Scope(tenant_of(workspace.team_id), "workspace")
        asked = await self._researcher.recent(everybody, limit=3 * LISTED)
        open_ones = [job for job in asked if job.request.asker != user and not is_private(job)]
        return await self._answered([job for job in open_ones if job.status is JobStatus.COMPLETED][:LISTED])

    async def _answered(self, jobs: Sequence[ResearchJob]) -> list[Answered]:
        return [(job, await self._researcher.result(job.id)) for job in jobs]


def home_view(
    own: Sequence[Answered], shared: Sequence[Answered], links: PageLinks, entries: Sequence[Block] = ()
) -> Block:
    """The page of one person: help, `entries`, their own questions, and those that everybody may see."""
    blocks = [header("gorkd"), *_help(), *entries, divider(), header(wording.YOUR_QUESTIONS)]
    blocks += _listed(own, links) or [section(plain(wording.NO_HISTORY, SECTION_LIMIT))]
    if shared:
        blocks += [divider(), header(wording.OPEN_QUESTIONS), *_listed(shared, links)]
    return {"type": "home", "blocks": list(blocks)}


def welcome_message() -> SlackMessage:
    return message(f"{wording.WELCOME} {wording.WHAT_IT_IS}", [header(wording.WELCOME), *_help()])


async def welcome(client: AsyncWebClient, user: str, key: str) -> None:
    """To whoever installed the app, in direct messages; `key` names the installation."""
    try:
        opened = await client.conversations_open(users=user)
        await post(client, ThreadAddress(str(opened["channel"]["id"])), welcome_message(), Mark(f"welcome:{key}"))
    except FAULTS as exc:
        _log.warning("nobody was welcomed", extra={"reason": reason(exc)})


def _help() -> list[Block]:
    return [section(plain(wording.WHAT_IT_IS, SECTION_LIMIT)), *help_blocks(), context(INVITE), context(HOW_TO_READ)]


def _listed(jobs: Sequence[Answered], links: PageLinks) -> list[Block]:
    """A line each: the question as a link to its page, and what came of it."""
    return [section(f"<{escaped(links.link(job))}|{_question(job)}>\n{_outcome(job, result)}") for job, result in jobs]


def _question(job: ResearchJob) -> str:
    """Of a link: no bar, which would end its address early."""
    return plain((job.request.quoted or job.query).replace("|", "/"), QUESTION_ROOM) or "…"


def _outcome(job: ResearchJob, result: JobResult | None) -> str:
    answer = result.answer if result else None
    became = wording.confidence_headline(answer) if answer else wording.STATUS_MESSAGES[job.status]
    return f"{wording.day(job.created_at)} · {plain(became, QUESTION_ROOM)}"


async def _is_full_member(client: AsyncWebClient, user: str) -> bool:
    """Neither a guest nor somebody of another company; unknown means no."""
    try:
        described = (await client.users_info(user=user)).get("user") or {}
    except FAULTS as exc:
        _log.info("person is taken as a guest", extra={"reason": reason(exc)})
        return False
    closed = ("is_restricted", "is_ultra_restricted", "is_stranger", "is_bot", "deleted")
    return bool(described) and not any(described.get(word) for word in closed)


def help_blocks() -> list[Block]:
    """What can be done, and the modes."""
    how = "\n".join(f"*{what}* {words}" for what, words in help_entries(TYPED))
    modes = "\n".join(f"• `{name}`: {words}" for name, words in mode_entries())
    return [section(how), section(f"*Modes*\n{modes}")]


def help_message() -> SlackMessage:
    spoken = " ".join(f"{what} {words}" for what, words in help_entries(TYPED))
    return replace(message(f"{HOW_TO_ASK}. {spoken}", [section(f"*{HOW_TO_ASK}*"), *help_blocks()]), is_aside=True)
