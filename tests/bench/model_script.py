"""The scripted model: plans, answers and verdicts as long as a real model's, at a pace told in tokens.

Its answers are sentences of the sources it was sent, so that a check has real work: every second one is told more
loosely, as models do, in half of the answers from the first one on.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from tests.bench.conditions import tokens_in
from tests.loopback.deep_responders import DEEP, block
from tests.loopback.openai_responders import (
    ChatCall,
    Fault,
    FencedSource,
    answers_responder,
    question_in,
    sources_in,
    verdicts_responder,
)

DEEP_ROUNDS = 3  # of every deep research
_SUMMARY_WORDS, _DETAIL_WORDS = 110, 150
_OPENING_WORDS = 36  # of the detail's, where the call of the summary writes how it begins
_FIRST_WORDS = 18  # of the first sentence, where one so short is asked for
_CITATIONS = 1  # as the prompt asks
_COMPACT = (",", ":")
_STOP_WORDS = frozenset(
    "the and for does what which its according authors that name are was with from on of whom proposal change problem "
    "solve drawbacks".split()
)


@dataclass(frozen=True)
class ModelCall:
    """`at` is on the monotonic clock, in seconds, at its arrival; tokens are counted by `tokens_in`.

    It lasts until what is waited for is there: what follows the texts of two calls that write at once is not.
    `shared_tokens` of the prompt are those with which the other call for the same answer began.
    """

    at: float
    purpose: str
    prompt_tokens: int
    tokens: int
    lasts_s: float
    shared_tokens: int = 0


@dataclass
class ModelScript:
    """Answers every call and keeps what it was. `pace` gives seconds to the first and between tokens."""

    pace: Callable[[], tuple[float, float]]
    calls: list[ModelCall] = field(default_factory=list)
    _begun: dict[str, str] = field(default_factory=dict)  # by question, the prompt of its last answer call

    def __call__(self, call: ChatCall) -> Fault:
        text = self._respond(call)
        assert isinstance(text, str)
        prompt, written = tokens_in(call.system + call.user), tokens_in(text)
        first_s, token_s = self.pace()
        waited_for = tokens_in(text.partition(',"citations"')[0]) if _is_part(call) else written
        lasts_s, shared = first_s + waited_for * token_s, self._shared(call) if call.schema_name == "answer" else 0
        self.calls.append(ModelCall(time.monotonic(), call.schema_name, prompt, written, lasts_s, shared))
        usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        return Fault(text=text, usage=usage)

    def _shared(self, call: ChatCall) -> int:
        text, before = call.system + call.user, self._begun.get(question_in(call.user), "")
        self._begun[question_in(call.user)] = text
        same = next((at for at, (one, other) in enumerate(zip(text, before, strict=False)) if one != other), 0)
        return tokens_in(text[:same])

    def _respond(self, call: ChatCall) -> str | Fault:
        if call.schema_name == "coverage":
            return _coverage(call, is_last=self._rounds() + 1 >= DEEP_ROUNDS)
        if call.schema_name == "queries":
            return _queries(call)
        scripts = {
            "plan": _plan,
            "answer": _answer,
            "verdicts": verdicts_responder,
            "answers": answers_responder,
            **DEEP,
        }
        return scripts[call.schema_name](call)

    def _rounds(self) -> int:
        """How many rounds of the newest deep research have been checked."""
        purposes = [call.purpose for call in self.calls]
        newest = len(purposes) - purposes[::-1].index("refined_question") if "refined_question" in purposes else 0
        return purposes[newest:].count("coverage")


def _is_part(call: ChatCall) -> bool:
    """Whether another call writes the other part of the answer."""
    return call.schema_name == "answer" and bool(re.search(r"Write `(?:summary|detail)`", call.user))


def _queries(call: ChatCall) -> str:
    """The question's words at first, then those of what was found last, as who follows a lead."""
    facts = re.findall(r"(?m)^F\d+ [^:]*: (.*)$", block(call.user, "facts"))
    words = [word for word in re.findall(r"[A-Za-z-]{5,}", " ".join(facts[-3:])) if word.lower() not in _STOP_WORDS]
    asked = [word for word in re.findall(r"[\w-]{3,}", question_in(call.user)) if word.lower() not in _STOP_WORDS]
    lead = sorted(dict.fromkeys(words), key=len)[-4:] or asked[:4]
    pubmed = " OR ".join(f"{word}[tiab]" for word in lead if word.isalpha())
    return json.dumps({"pubmed": [pubmed], "web": [" ".join(lead), " ".join(asked[:3] + lead[:2])]})


def _coverage(call: ChatCall, *, is_last: bool) -> str:
    """Everything is partial until the last round, where everything is satisfied."""
    items = re.findall(r"(?m)^(\d+)\. ", block(call.user, "checklist"))
    facts = [int(number) for number in re.findall(r"(?m)^F(\d+) ", block(call.user, "facts"))]
    coverage, missing = ("satisfied", "") if is_last else ("partial", "figures and dates from a second source")
    shared = {"coverage": coverage, "missing": missing}
    rows = [{"id": item, "facts": facts[place :: len(items)][:4], **shared} for place, item in enumerate(items)]
    return json.dumps({"items": rows}, separators=_COMPACT)


def _plan(call: ChatCall) -> str:
    """As many variations as the prompt allows; the rest is short."""
    most = int(re.findall(r"at most (\d) search queries", call.system)[0])
    words = [word for word in re.findall(r"[\w-]+", question_in(call.user)) if word.lower() not in _STOP_WORDS]
    subject = " ".join(words[:5])
    texts = [f"{subject} specification", f"{subject} rationale and motivation", f"{subject} criticism alternatives"]
    known = {"type": "factual", "language": "en", "recency": "any", "content": "general"}
    return json.dumps(
        _filled(call.schema, "", {"queries": texts[:most], "entities": words[:2]}, known), separators=_COMPACT
    )


def _filled(schema: Mapping[str, Any], name: str, lists: Mapping[str, list[str]], known: Mapping[str, str]) -> Any:
    """A value of the schema, its fields in the schema's order, as structured output gives them."""
    if schema["type"] == "object":
        return {field: _filled(part, field, lists, known) for field, part in schema["properties"].items()}
    if schema["type"] == "array":
        texts = lists.get(name, [])
        return [_filled(schema["items"], "", lists, {**known, "": text, "text": text}) for text in texts]
    return known.get(name, "")


def _answer(call: ChatCall) -> str:
    """Of a call for one part the other is left out; who writes the detail has not seen all of the summary."""
    sentences = _sentences(call.user)
    is_loose_first = bool(crc32(question_in(call.user).encode()) % 2)
    has_opening = "the first paragraph of `detail`" in call.user
    if has_opening:
        sentences = _beginning_shortly(sentences, is_loose_first=is_loose_first)
    is_rest = "Write `detail` from its second paragraph on" in call.user
    words = _OPENING_WORDS if has_opening else _DETAIL_WORDS - _OPENING_WORDS if is_rest else _DETAIL_WORDS
    summary = _take(sentences, words=_SUMMARY_WORDS, is_loose_first=is_loose_first)
    detail = _take(sentences, words=words, is_loose_first=not is_loose_first)
    if "Write `summary` and" in call.user:
        detail = []
    if "Write `detail`" in call.user:
        summary = []
    citations = [
        {"claim": told, "source_id": f"src_{source.number}", "quote": sentence}
        for source, sentence, told in summary[:_CITATIONS]
    ]
    middle = len(detail) // 2
    texts = {
        "summary": _text(summary),
        "detail": f"{_text(detail[:middle])}\n\n{_text(detail[middle:])}".strip(),
        "citations": citations,
    }
    return json.dumps(texts, ensure_ascii=False, separators=_COMPACT)


def _take(
    sentences: Iterator[tuple[FencedSource, str]], *, words: int, is_loose_first: bool
) -> list[tuple[FencedSource, str, str]]:
    """Sources with their sentence and how it is told, until so many words are reached; every second one loosely."""
    taken: list[tuple[FencedSource, str, str]] = []
    count = 0
    for source, sentence in sentences:
        told = _loosely(sentence) if len(taken) % 2 == (0 if is_loose_first else 1) else sentence
        taken.append((source, sentence, told))
        count += len(told.split())
        if count >= words:
            break
    return taken


def _beginning_shortly(
    sentences: Iterator[tuple[FencedSource, str]], *, is_loose_first: bool
) -> Iterator[tuple[FencedSource, str]]:
    """The first of them that is told shortly before all others."""
    known = list(sentences)
    lengths = [len((_loosely(sentence) if is_loose_first else sentence).split()) for _, sentence in known]
    first = next((place for place, words in enumerate(lengths) if words <= _FIRST_WORDS), 0)
    yield from [*known[first : first + 1], *known[:first], *known[first + 1 :]]


def _loosely(sentence: str) -> str:
    """Its first half, told as a report."""
    words = sentence.rstrip(".").split()
    return f"One document describes that {words[0].lower()} {' '.join(words[1 : max(6, len(words) // 2)])}."


def _text(taken: list[tuple[FencedSource, str, str]]) -> str:
    return " ".join(f"{told.rstrip('.! ')} [{source.number}]." for source, _, told in taken)


def _sentences(user: str) -> Iterator[tuple[FencedSource, str]]:
    """Distinct sentences of plain prose, those with most of the question's words first, no source twice in a row."""
    wanted = {word.lower() for word in re.findall(r"\w{3,}", question_in(user))} - _STOP_WORDS
    scored: list[tuple[int, int, FencedSource, str]] = []
    for source in sources_in(user):
        found = {part for part in re.split(r"(?<=[.!?])\s+|\n+", source.text) if _is_prose(part)}
        ranked = sorted(found, key=lambda part: (-len(wanted & set(re.findall(r"\w+", part.lower()))), part))
        scored += [(rank, int(source.number), source, part) for rank, part in enumerate(ranked)]
    for _, _, source, sentence in sorted(scored, key=lambda entry: entry[:2]):
        yield source, sentence


def _is_prose(part: str) -> bool:
    return 60 <= len(part) <= 240 and part[0].isupper() and part[-1] == "." and not re.search(r"[\[\]{}|=<>_]", part)
