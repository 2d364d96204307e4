"""The exact key of a question: two requests with one key are the same question, to the letter that matters (S003-04).

Nothing here knows meaning; what differs in a number, a name or a qualifier has another key.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime

import regex

from core.conversation import needs_context
from core.freshness import is_of_the_day
from core.job import QueryIntent, ResearchRequest

_POLITE_END = regex.compile(
    r"(?:[\s,]*\b(?:please|thanks|thank you|thx|cheers|bitte|danke|merci|s'il vous plaît|por favor|gracias)\b)+$"
)
_POLITE_START = regex.compile(r"^(?:(?:hi|hello|hey|please|bitte)\b[\s,]*)+")
# Punctuation that changes nothing when it stands between words; inside a token (3.11, C++, -5, 50%) it does.
_LOOSE = regex.compile(r"(?<![\p{L}\p{N}])[\p{P}--[%#@+$&*/<>=-]]+|[\p{P}--[%#+*]]+(?![\p{L}\p{N}])", regex.VERSION1)


def normalise_question(query: str) -> str:
    """NFC, casefolded, without outer politeness, loose punctuation and extra space."""
    text = unicodedata.normalize("NFC", query).casefold()
    text = " ".join(_LOOSE.sub(" ", text).split())
    return _POLITE_START.sub("", _POLITE_END.sub("", text)).strip() or text


def answer_key(request: ResearchRequest, intent: QueryIntent, *, now: datetime) -> str:
    """Question, modes, options, context, language and permitted sources; for questions of the day also the day.

    The scope is not part of the key: the cache keeps each scope apart by itself. A question that leans on its
    thread is another one in each thread; once it is understood, it has the key of what it means.
    """
    return f"{normalise_question(request.query)}\x1f{answer_group(request, intent, now=now)}"


def answer_group(request: ResearchRequest, intent: QueryIntent, *, now: datetime) -> str:
    """The key without the question: only answers of one group may be given for one another."""
    parts = (
        "+".join(request.modes),
        request.depth,
        str(request.top_k),
        str(request.max_iterations),
        " ".join(request.context.split()),
        request.thread if needs_context(request.query) else "",
        intent.language,
        now.date().isoformat() if is_of_the_day(request.query, intent) else "",
        *([request.policy.key] if request.policy.key else []),
    )
    return "\x1f".join(parts)
