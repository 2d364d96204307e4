"""The modals below an answer: what is wrong with it, and what is to be better. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.chat.slack.blocks import TITLE_LIMIT, Block, label
from core import wording
from core.feedback import MAX_REASON_CHARS

FEEDBACK, WISH, SAID = "feedback", "answer_wish", "reason"
HINT_LIMIT = 150


def feedback_modal(job_id: str) -> Block:
    """Asks what went wrong, which need not be said; what comes back carries the job's id."""
    texts = (wording.WRONG_TITLE, wording.WRONG_LABEL, wording.WRONG_HINT)
    return _modal(FEEDBACK, job_id, texts, is_optional=True)


def wish_modal(click: str) -> Block:
    """Asks what is to be better; `click` comes back with it."""
    texts = (wording.IMPROVE_TITLE, wording.IMPROVE_LABEL, wording.IMPROVE_HINT)
    return _modal(WISH, click, texts, is_optional=False)


def _modal(callback_id: str, metadata: str, texts: tuple[str, str, str], *, is_optional: bool) -> Block:
    """`texts` are the title, the label of the field, and the example that stands in it."""
    title, asked, hint = texts
    field: Block = {
        "type": "plain_text_input",
        "action_id": SAID,
        "multiline": True,
        "max_length": MAX_REASON_CHARS,
        "placeholder": label(hint, HINT_LIMIT),
    }
    entry: Block = {
        "type": "input", "block_id": SAID, "optional": is_optional, "label": label(asked, HINT_LIMIT), "element": field,
    }  # fmt: skip
    return {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": metadata,
        "title": label(title, TITLE_LIMIT),
        "submit": label(wording.SEND, TITLE_LIMIT),
        "close": label(wording.CANCEL, TITLE_LIMIT),
        "blocks": [entry],
    }


def said_in_modal(view: Mapping[str, Any]) -> tuple[str, str]:
    """What a submitted modal carries, and what was written into it."""
    values = (view.get("state") or {}).get("values") or {}
    said = ((values.get(SAID) or {}).get(SAID) or {}).get("value")
    return str(view.get("private_metadata") or ""), str(said or "")
