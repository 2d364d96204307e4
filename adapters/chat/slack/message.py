"""One message to Slack as a value: its blocks, what is read aloud of it, and what goes with it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from adapters.chat.fitting import fit
from adapters.chat.slack.blocks import BLOCKS_LIMIT, SECTION_LIMIT, TEXT_LIMIT, Block, actions, escaped, plain, section
from adapters.chat.slack.plan import Plan
from core.presentation import wording


@dataclass(frozen=True)
class SlackUpload:
    """A file that goes with a message. `description` is what a screen reader says of a picture, "" for other files."""

    name: str
    content: bytes
    description: str = ""


@dataclass(frozen=True)
class SlackMessage:
    """`text` is what notifications and screen readers get; without it an update would drop the blocks.

    `threaded` goes into the message's thread, and so do its `files` and the files of what `is_answer`. `is_aside` says
    that it is for the asker alone and no answer. `plan` is what a stream shows instead, None where only an update can
    say it.
    """

    text: str
    blocks: tuple[Block, ...]
    threaded: SlackMessage | None = None
    is_aside: bool = False
    is_answer: bool = False
    plan: Plan | None = None
    files: tuple[SlackUpload, ...] = ()

    def without(self, action_id: str) -> SlackMessage:
        """The same without a button."""
        kept: list[Block] = []
        for block in self.blocks:
            elements = block.get("elements")
            if block["type"] != "actions" or not isinstance(elements, list):
                kept.append(block)
                continue
            left = [one for one in elements if isinstance(one, dict) and one.get("action_id") != action_id]
            kept += actions(left)
        return replace(self, blocks=tuple(kept))


def message(text: str, blocks: Sequence[Block]) -> SlackMessage:
    """`text` is untrusted and becomes the fallback."""
    said = fit(text, TEXT_LIMIT, escaped).strip() or wording.SOMETHING_BROKE
    return SlackMessage(said, tuple(blocks[:BLOCKS_LIMIT]))


def sentence_message(sentence: str) -> SlackMessage:
    """One sentence of our own, without markup."""
    return message(sentence, [section(plain(sentence, SECTION_LIMIT))])
