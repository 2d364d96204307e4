"""The modal that a 👎 opens. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adapters.chat.slack.blocks import TITLE_LIMIT, Block, label
from core.feedback import MAX_REASON_CHARS

FEEDBACK, REASON = "feedback", "reason"


def feedback_modal(job_id: str) -> Block:
    """Asks for one line; what comes back carries the job's id."""
    asked: Block = {
        "type": "plain_text_input",
        "action_id": REASON,
        "multiline": True,
        "max_length": MAX_REASON_CHARS,
        "placeholder": label("A wrong fact, a source that does not say it, something missing …", 150),
    }
    return {
        "type": "modal",
        "callback_id": FEEDBACK,
        "private_metadata": job_id,
        "title": label("What went wrong?", TITLE_LIMIT),
        "submit": label("Send", TITLE_LIMIT),
        "close": label("Cancel", TITLE_LIMIT),
        "blocks": [
            {
                "type": "input",
                "block_id": REASON,
                "optional": True,
                "label": label("What went wrong?", 150),
                "element": asked,
            }
        ],
    }


def reason_given(view: Mapping[str, Any]) -> tuple[str, str]:
    """The job's id and what was written into a submitted modal."""
    values = (view.get("state") or {}).get("values") or {}
    said = ((values.get(REASON) or {}).get(REASON) or {}).get("value")
    return str(view.get("private_metadata") or ""), str(said or "")
