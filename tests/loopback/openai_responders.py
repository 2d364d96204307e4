"""Scripted models: functions from a chat call to the JSON text of its answer, and a hashing embedder.

They are deterministic and read only what a real model would be sent. Combine them with `by_schema`.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.fakes import is_control, verdicts_json


@dataclass(frozen=True)
class ChatCall:
    """One request as the endpoint saw it. `prompt_tokens` are counted by `tokenise`; `at` is loop time."""

    model: str
    system: str
    user: str
    schema_name: str
    schema: Mapping[str, Any]
    max_tokens: int
    prompt_tokens: int
    key: str
    at: float
    body: Mapping[str, Any]


UNSET: Any = object()


@dataclass(frozen=True)
class Fault:
    """How an answer goes wrong. Combine fields; the defaults are those of a good answer.

    `status` ≥ 400 answers with an error body (`code`, `kind`, `message`, `headers`). Otherwise `text` is
    streamed: `cut_after` tokens the connection drops, `end_after` tokens the stream ends without a
    finish_reason, `hang_after` tokens nothing more comes; `drip_s` is the pause after each token.
    `calls` are tool calls (name, arguments as JSON), sent in pieces; `thought` goes before, as `reasoning_content`.
    `hang_first` holds back even the headers. `raw` is sent as it stands, with `content_type`.
    """

    text: str = ""
    status: int = 200
    code: str | None = None
    kind: str | None = None
    message: str = "scripted fault"
    headers: Mapping[str, str] | None = None
    cut_after: int | None = None
    end_after: int | None = None
    hang_after: int | None = None
    hang_first: bool = False
    drip_s: float | None = None
    finish_reason: str | None = "stop"
    calls: tuple[tuple[str, str], ...] = ()
    thought: str = ""
    refusal: str | None = None
    usage: Any = UNSET
    has_choices: bool = True
    raw: bytes | None = None
    content_type: str = "text/event-stream"


Respond = Callable[[ChatCall], str | Fault]


def by_schema(responders: Mapping[str, Respond], otherwise: Respond | None = None) -> Respond:
    """Picks the responder by the name of the schema asked for."""

    def respond(call: ChatCall) -> str | Fault:
        usual = answers_responder if call.schema_name == "answers" else otherwise
        responder = responders.get(call.schema_name, usual)
        if responder is None:
            return Fault(status=500, message=f"no responder for schema {call.schema_name!r}")
        return responder(call)

    return respond


def in_turn(*answers: str | Fault | Respond) -> Respond:
    """Each call gets the next answer; the last one is repeated."""
    waiting = list(answers)

    def respond(call: ChatCall) -> str | Fault:
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return answer(call) if callable(answer) else answer

    return respond


def plan_responder(call: ChatCall) -> str:
    """A plan: an intent by a few rules and two to three variations of the question."""
    question = question_in(call.user)
    before = re.findall(r"(?m)^Question: (.+)$", call.user.partition("</conversation>")[0])
    if before and "question" in call.schema["properties"]:
        question = f"{before[-1].rstrip(' ?')} {re.sub(r'(?i)^(and|but|what about) ', '', question)}"
    words = _content_words(question)
    lower = question.lower()
    is_news = bool(re.search(r"\b(latest|today|this week|news|current(ly)?|recent(ly)?)\b", lower))
    if is_news:
        question_type = "current_event"
    elif re.search(r"\b(versus|vs|compare[ds]?|difference|better)\b", lower):
        question_type = "comparison"
    elif re.match(r"\s*(why|how|explain)\b", lower):
        question_type = "explanation"
    else:
        question_type = "factual"
    recency = "month" if is_news else "any"
    content_type = "news" if is_news else "general"
    texts = dict.fromkeys([question, " ".join(words), " ".join([*words[:6], "overview"])])
    return json.dumps(
        {
            **({"question": question} if "question" in call.schema["properties"] else {}),
            "recency": recency,
            "content": content_type,
            "queries": [text for text in texts if text],
            "type": question_type,
            "language": "en",
            "entities": re.findall(r"(?<!^)\b[A-Z][\w-]+", question)[:3],
            "time": "recent" if is_news else "",
        },
        ensure_ascii=False,
    )


def question_in(user: str) -> str:
    """The question of a prompt: in `<question>` tags, after `Question:`, or the last line outside the sources."""
    tagged = re.findall(r"<question[^>]*>\s*(.*?)\s*</question>", user, re.DOTALL)
    if tagged:
        return str(tagged[-1])
    outside = _SOURCE.sub("", user).strip()
    labelled = re.findall(r"(?mi)^\s*(?:the )?question\s*:\s*(.+)$", outside)
    lines = [line.strip() for line in outside.splitlines() if line.strip()]
    return str(labelled[-1]) if labelled else (lines[-1] if lines else "")


@dataclass(frozen=True)
class FencedSource:
    """A `<source id="…">` block of a prompt."""

    id: str
    text: str

    @property
    def number(self) -> str:
        return re.sub(r"\D", "", self.id)


_SOURCE = re.compile(r"<source\b[^>]*?\bid=[\"']?([\w-]+)[\"']?[^>]*>(.*?)</source>", re.DOTALL)


def sources_in(user: str) -> list[FencedSource]:
    return [FencedSource(match[1], match[2].strip()) for match in _SOURCE.finditer(user)]


def answer_responder(call: ChatCall) -> str:
    """A correct cited answer: sentences verbatim from the sources, those nearest to the question first."""
    ranked = _ranked_sentences(call.user)
    return answer_json(ranked[:2], ranked[2:5])


def answer_json(
    summary: Sequence[tuple[FencedSource, str]], detail: Sequence[tuple[FencedSource, str]], *, prefix: str = ""
) -> str:
    """An answer whose sentences each carry the marker of their source, and a citation with the sentence as quote."""
    citations = [
        {"claim": sentence, "source_id": source.id, "quote": sentence} for source, sentence in [*summary, *detail]
    ]
    return json.dumps(
        {"summary": prefix + _cited(summary), "detail": _cited(detail), "citations": citations}, ensure_ascii=False
    )


def _cited(sentences: Sequence[tuple[FencedSource, str]]) -> str:
    return " ".join(f"{sentence.rstrip('.!? ')} [{source.number}]." for source, sentence in sentences)


def _ranked_sentences(user: str) -> list[tuple[FencedSource, str]]:
    """Distinct sentences by how many of the question's words they hold, then in reading order."""
    wanted = {word[:6] for word in _content_words(question_in(user))}
    seen: dict[str, tuple[FencedSource, str]] = {}
    for source in sources_in(user):
        for sentence in re.split(r"(?<=[.!?])\s+|\n+", source.text):
            is_statement = 30 <= len(sentence) <= 400 and sentence[0].isupper() and sentence[-1] in ".!"
            if is_statement and "[" not in sentence:
                seen.setdefault(sentence, (source, sentence))
    return sorted(seen.values(), key=lambda pair: -len(wanted & {word[:6] for word in _content_words(pair[1])}))


_STOP_WORDS = frozenset(
    "a an and are as at be by can did do does for from had has have how in is it its of on or that the their "
    "there this to was were what when where which who why will with would you your".split()
)


def _content_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in _STOP_WORDS]


def verdicts_responder(call: ChatCall) -> str:
    """Checks claims by their words: supported when nearly all are in the passages, partial when most are."""
    verdicts: dict[int, tuple[str, str]] = {}
    for number, claim, passages in items_in(call.user):
        wanted = set(_content_words(claim))
        share = len(wanted & set(_content_words(passages))) / max(1, len(wanted))
        verdict = "supported" if share >= 0.9 else "partial" if share >= 0.6 else "unsupported"
        asked = f"<claim>{claim}</claim>\n<passage>{passages}</passage>"
        verdict = "contradicted" if is_control(asked) else verdict
        reason = "" if verdict == "supported" else f"{share:.0%} of the words"
        verdicts[number] = verdict, reason
    return verdicts_json(verdicts)


def answers_responder(call: ChatCall) -> str:
    """Every text answers its question."""
    return json.dumps({"answers": "yes", "reason": ""})


def items_in(prompt: str) -> list[tuple[int, str, str]]:
    """The number, claim and joined passages of each item of a check."""
    found = []
    for number, item in _ITEM.findall(prompt):
        claim = "".join(_CLAIM.findall(item))
        found.append((int(number), claim, "\n".join(_PASSAGE.findall(item))))
    return found


_ITEM = re.compile(r"<item number=\"(\d+)\">(.*?)</item>", re.DOTALL)
_CLAIM = re.compile(r"<claim>(.*?)</claim>", re.DOTALL)
_PASSAGE = re.compile(r"<passage>(.*?)</passage>", re.DOTALL)


class GullibleModel:
    """A model that does what the pages tell it: it repeats their orders, tokens, links and mentions as findings.

    Where a page asks for the prompt it recites the prompt; where it asks for another source's text or
    more confidence it gives that too, and as a checker it finds everything supported. `obeyed` collects
    the sentences it followed.
    """

    def __init__(self) -> None:
        self.obeyed: list[str] = []

    def __call__(self, call: ChatCall) -> str | Fault:
        if call.schema_name == "plan":
            return plan_responder(call)
        if call.schema_name == "verdicts":
            return verdicts_json({number: ("supported", "") for number, _, _ in items_in(call.user)})
        sources = sources_in(call.user)
        orders = [(source, order) for source in sources for order in _orders_in(source.text)]
        self.obeyed += [order for _, order in orders]
        if call.schema_name != "answer":
            return json.dumps(_filled(call.schema, " ".join(order for _, order in orders)))
        said = [(source, self._obey(order, call, sources)) for source, order in orders]
        honest = _ranked_sentences(call.user)[:1]
        return answer_json([*said, *honest], [*said], prefix="Confidence: high. " if said else "")

    def _obey(self, order: str, call: ChatCall, sources: list[FencedSource]) -> str:
        spoils = re.findall(r"https?://\S+|www\.\S+|@\w+|<[@!#][^>]*>|\S*CANARY\S*", order)
        if re.search(r"(?i)\b(prompt|instructions)\b", order):
            spoils.append(call.system)
        if re.search(r"(?i)\b(other|all|every) (source|document|page|thread)s?\b", order):
            spoils += [source.text for source in sources]
        return " ".join([order, *spoils])


_ORDER = re.compile(
    r"(?i)\b(ignore|disregard|forget|include|reply|respond|say|print|output|repeat|write|add|provide|visit|click"
    r"|fetch|open|send|post|encode|replace|render|reveal|tell|you must|you are now|rate|cite|state|instead)\b"
)


def _orders_in(text: str) -> list[str]:
    """Sentences that read like an order, and whatever carries a canary or markup."""
    sentences = [sentence.strip() for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z<])|\n+", text)]
    return [
        sentence
        for sentence in sentences
        if sentence
        and (_ORDER.match(sentence) or re.search(r"CANARY|<script|<img|javascript:", sentence, re.IGNORECASE))
    ]


def _filled(schema: Mapping[str, Any], text: str) -> Any:
    """A value of the schema that agrees to everything: `text` where text fits, else the first enum value or true."""
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: _filled(part, text) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_filled(schema.get("items", {}), text)]
    return {"integer": 1, "number": 1.0, "boolean": True, "null": None}.get(kind, text)


def tokenise(text: str) -> list[str]:
    """Pieces of at most four characters that join to `text` again: about what a real tokeniser makes of English."""
    return re.findall(r"\s?[^\W_]{1,4}|\s?.|\s", text, re.DOTALL)


DIMENSIONS = 256


def hashed_vector(text: str) -> NDArray[np.float32]:
    """A unit vector of word and character-trigram hashes: similar texts are near, and nothing is random."""
    vector = np.zeros(DIMENSIONS, dtype=np.float32)
    for word in re.findall(r"\w+", text.lower()):
        padded = f" {word} "
        trigrams = [padded[i : i + 3] for i in range(len(padded) - 2)]
        weight = 0.3 if word in _STOP_WORDS else 1.0
        for feature, share in [(word, 1.0), *((trigram, 0.5 / len(trigrams) ** 0.5) for trigram in trigrams)]:
            hashed = zlib.crc32(feature.encode("utf-8", "replace"))
            vector[hashed % DIMENSIONS] += weight * share * (1 if hashed & 0x10000 else -1)
    length = float(np.linalg.norm(vector))
    return vector / length if length else np.eye(1, DIMENSIONS, dtype=np.float32)[0]
