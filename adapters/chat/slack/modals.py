"""The modals below an answer: what is wrong with it, and what is to be better. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.chat.slack.blocks import Block, entry, modal, text_input
from core import wording
from core.feedback import MAX_REASON_CHARS

FEEDBACK, WISH, SAID = "feedback", "answer_wish", "reason"


def feedback_modal(job_id: str) -> Block:
    """Asks what went wrong, which need not be said; what comes back carries the job's id."""
    asked = entry(SAID, wording.WRONG_LABEL, text_input(MAX_REASON_CHARS, wording.WRONG_HINT), is_optional=True)
    return modal(FEEDBACK, wording.WRONG_TITLE, [asked], submit=wording.SEND, metadata=job_id)


def wish_modal(click: str) -> Block:
    """Asks what is to be better; `click` comes back with it."""
    asked = entry(SAID, wording.IMPROVE_LABEL, text_input(MAX_REASON_CHARS, wording.IMPROVE_HINT))
    return modal(WISH, wording.IMPROVE_TITLE, [asked], submit=wording.SEND, metadata=click)


def said_in_modal(view: Mapping[str, Any]) -> tuple[str, str]:
    """What a submitted modal carries, and what was written into it."""
    values = (view.get("state") or {}).get("values") or {}
    said = ((values.get(SAID) or {}).get(SAID) or {}).get("value")
    return str(view.get("private_metadata") or ""), str(said or "")
