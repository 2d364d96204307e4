"""How to ask in Discord, in the words of core/help.py, and what one has asked."""

from __future__ import annotations

from dataclasses import replace

from adapters.chat.discord.client import ResearchClient
from adapters.chat.discord.markup import is_linkable, plain
from adapters.chat.discord.payload import DiscordMessage
from adapters.chat.discord.render import CONTENT_LIMIT, DESCRIPTION_LIMIT, within
from adapters.chat.discord.translate import Place
from core.help import HOW_TO_ASK, Typed, help_entries, mode_entries
from core.presentation import wording

TYPED = Typed(
    ask="/research",
    menu="Apps",
    reply="reply to an answer and mention me",
    options="in the command",
    history="/research-history",
    settings="/research-settings",
)
HISTORY_LENGTH = 10
QUESTION_ROOM = 100


def help_text() -> str:
    how = "\n".join(f"**{what}** {words}" for what, words in help_entries(TYPED))
    modes = "\n".join(f"· `{name}`: {plain(words, 100)}" for name, words in mode_entries())
    return f"**{HOW_TO_ASK}**\n{how}\n**Modes**\n{modes}"


async def history_message(bot: ResearchClient, place: Place) -> DiscordMessage:
    """One's own questions in this guild, newest first; for the asker's eyes only."""
    lines = [f"**{wording.YOUR_QUESTIONS}**"]
    for job in await bot.researcher.history(str(place.user_id), tenant=place.scope.tenant, limit=HISTORY_LENGTH):
        url = bot.voice.links.link(job)
        question = plain(job.request.quoted or job.query, QUESTION_ROOM)
        state = wording.STATUS_MESSAGES[job.status]
        link = f" · [{wording.VIEW_FULL_ANALYSIS}]({url})" if is_linkable(url) else ""
        lines.append(f"· {wording.day(job.created_at)} · {question} · {state}{link}")
    if len(lines) == 1:
        lines.append(wording.NO_HISTORY)
    shown = bot.voice.notice(within(lines, DESCRIPTION_LIMIT))
    return replace(shown, text=within(lines, CONTENT_LIMIT))
