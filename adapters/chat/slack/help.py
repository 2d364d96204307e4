"""How to ask in Slack, in the words of core/help.py. Pure."""

from __future__ import annotations

from dataclasses import replace

from adapters.chat.slack.blocks import Block, section
from adapters.chat.slack.message import SlackMessage, message
from core.help import HOW_TO_ASK, Typed, help_entries, mode_entries

TYPED = Typed(
    ask="/research",
    menu="More message shortcuts",
    reply="write in the thread of an answer",
    options='in the question, as in `mode:deep top_k:8 context:"for a child"`',
    history="/research history",
    settings="/research settings",
)


def help_blocks() -> list[Block]:
    """What can be done, and the modes."""
    how = "\n".join(f"*{what}* {words}" for what, words in help_entries(TYPED))
    modes = "\n".join(f"• `{name}`: {words}" for name, words in mode_entries())
    return [section(how), section(f"*Modes*\n{modes}")]


def help_message() -> SlackMessage:
    spoken = " ".join(f"{what} {words}" for what, words in help_entries(TYPED))
    return replace(message(f"{HOW_TO_ASK}. {spoken}", [section(f"*{HOW_TO_ASK}*"), *help_blocks()]), is_aside=True)
