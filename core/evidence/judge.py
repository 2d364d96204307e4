"""What the rules leave open, asked of a language model in one call; its answer is read with tolerance.

Whatever the model does not answer, or answers with something else than a verdict, stays undecided.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import Final

from core.answer import Verdict
from core.events import Json
from core.ports import ChatRequest
from core.prompts import load_prompt

MAX_ITEMS = 24  # at 320 tokens an item the call stays below 8k
MAX_CLAIM_CHARS = 500
MAX_PASSAGE_CHARS = 1200
MAX_REASON_CHARS = 120
_TOKENS_PER_ITEM, _TOKENS_FOR_FRAME = 40, 60
_SEVERITY = {Verdict.SUPPORTED: 0, Verdict.PARTIAL: 1, Verdict.UNSUPPORTED: 2}
_VERDICTS: Final = {verdict.value: verdict for verdict in _SEVERITY}


@dataclass(frozen=True)
class CheckItem:
    """An undecided claim with the passage it cites; `id` is the caller's, and never shown to the model."""

    id: str
    claim: str
    passage: str


@dataclass(frozen=True)
class ModelVerdict:
    verdict: Verdict
    reason: str


def build_check_request(items: Sequence[CheckItem], *, timeout_s: float) -> ChatRequest:
    """One call about the first `MAX_ITEMS` items. Raises `ValueError` when there are none."""
    prompt = load_prompt("check_claims")
    return request_verdicts(items, list(_VERDICTS), prompt=prompt, schema_name="verdicts", timeout_s=timeout_s)


def request_verdicts(
    items: Sequence[CheckItem], words: Sequence[str], *, prompt: Template, schema_name: str, timeout_s: float
) -> ChatRequest:
    """As `build_check_request`, with the verdicts in `words` and the `prompt` that explains them, given a `count`."""
    asked = items[:MAX_ITEMS]
    if not asked:
        raise ValueError("there is nothing to check")
    return ChatRequest(
        purpose="check",
        system=prompt.substitute(count=len(asked)),
        user="\n\n".join(_fenced(number, item) for number, item in enumerate(asked, start=1)),
        schema_name=schema_name,
        schema=_schema(words),
        max_tokens=_TOKENS_FOR_FRAME + _TOKENS_PER_ITEM * len(asked),
        timeout_s=timeout_s,
    )


def _schema(words: Sequence[str]) -> dict[str, Json]:
    item: dict[str, Json] = {
        "type": "object",
        "properties": {
            "item": {"type": "integer"},
            "reason": {"type": "string"},
            "verdict": {"type": "string", "enum": list(words)},
        },
        "required": ["item", "reason", "verdict"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"verdicts": {"type": "array", "items": item}},
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def _fenced(number: int, item: CheckItem) -> str:
    """One item as the model reads it."""
    claim, passage = _plain(item.claim, MAX_CLAIM_CHARS), _plain(item.passage, MAX_PASSAGE_CHARS)
    return f'<item number="{number}">\n<claim>{claim}</claim>\n<passage>{passage}</passage>\n</item>'


def _plain(text: str, limit: int) -> str:
    """Without angle brackets, so that no text can close its own fence."""
    return " ".join(text.replace("<", "‹").replace(">", "›").split())[:limit]


def parse_check_answer(text: str, items: Sequence[CheckItem]) -> dict[str, ModelVerdict]:
    """The verdicts by item id; an item the model left out or garbled is missing. Never raises.

    Of two verdicts on one item the less favourable counts.
    """
    found: dict[str, ModelVerdict] = {}
    for place, said, reason in read_verdicts(text, min(len(items), MAX_ITEMS)):
        verdict = _VERDICTS.get(said)
        if verdict is None:
            continue
        item_id = items[place].id
        if item_id not in found or _SEVERITY[verdict] > _SEVERITY[found[item_id].verdict]:
            found[item_id] = ModelVerdict(verdict, reason)
    return found


def read_verdicts(text: str, count: int) -> Iterator[tuple[int, str, str]]:
    """What was said of each of `count` items: its place from 0, the word in lower case, the reason. Never raises."""
    for row in _read_rows(text):
        number = row.get("item")
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= count:
            reason = str(row.get("reason") or "").strip()[:MAX_REASON_CHARS]
            yield number - 1, str(row.get("verdict")).strip().lower(), reason


_MAX_BROKEN = 50  # braces that begin nothing readable; more is no answer


def _read_rows(text: str) -> list[Mapping[str, object]]:
    """The objects that look like verdicts, also out of an answer in a code block or cut short."""
    decoder = json.JSONDecoder()
    rows: list[Mapping[str, object]] = []
    at, broken = text.find("{"), 0
    while at >= 0 and broken < _MAX_BROKEN:
        try:
            value, end = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            value, end = None, at + 1
            broken += 1  # each costs a look at the whole text
        rows.extend(_flatten(value))
        at = text.find("{", end)
    return rows


def _flatten(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, dict):
        return []
    if "verdict" in value:
        return [value]
    listed = value.get("verdicts")
    return [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
