"""A scripted model: it plans, writes the answer of a world, and judges as it is told, or cannot be asked to.

It reads the house's own requests with tolerance: whatever the wording, a check call holds numbered items with a claim
and passages, and an answer names a verdict of the request's own schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from core.model.answer import ModelUsage
from core.model.errors import ModelRejected
from core.model.job import Json
from core.model.ports import ChatDelta, ChatRequest
from tests.evals.whole.cases import Opinion, Statement, World
from tests.fakes import is_control, verdicts_json

_ITEM = re.compile(r'<item number="?(\d+)"?[^>]*>(.*?)</item>', re.DOTALL)
_CLAIM = re.compile(r"<claim[^>]*>(.*?)</claim>", re.DOTALL)
_PASSAGE = re.compile(r"<passage[^>]*>(.*?)</passage>", re.DOTALL)
_DOCUMENT = re.compile(r"Document: (?P<passages>.*)\nClaim: (?P<claim>.*)", re.DOTALL)
_WORD = re.compile(r"\w+")
_MARKER = re.compile(r"\[(\d)\]")
_MIN_LIKENESS = 0.5  # of words; below this a claim is none of the world's sentences
# Words of a verdict, the first one that the request allows.
_WORDS: dict[Opinion, tuple[str, ...]] = {
    "supported": ("supported", "supports", "yes"),
    "contradicted": ("contradicted", "contradicts", "unsupported", "no"),
    "unsupported": ("unsupported", "neither", "not_supported", "no"),
}


class Judge(StrEnum):
    """How the check calls are answered.

    `COARSE`: yes, but where the passages have a "not" and the claim none; `CARELESS`: yes, but to any control, so that
    rules stand alone; `ERRING`: wrong once in ten times, of a control too; `PAIRWISE`: likewise, in the dialect of
    fact-check models, which are asked clause by clause; `NONE`: they cannot be asked.
    """

    RIGHT = "right"
    ERRING = "erring"
    PAIRWISE = "pairwise"
    YES = "yes"
    COARSE = "coarse"
    CARELESS = "careless"
    NO = "no"
    NONE = "none"


_SAYING_YES = (Judge.YES, Judge.COARSE, Judge.CARELESS)
_KNOWING = (Judge.RIGHT, Judge.ERRING, Judge.PAIRWISE)
ERRS = 0.1  # of the verdicts of a judge that errs, each by itself and always the same of the same words


@dataclass
class ScriptedModel:
    """A `ChatModel` for one world. `unknown` keeps claims that it was asked about and that the world does not hold.

    `errs` is the share of wrong verdicts of a judge that errs, 0…1, and `checks` counts the calls it was asked in.
    """

    world: World
    judge: Judge
    errs: float = ERRS
    seed: int = 0
    unknown: list[str] = field(default_factory=list)
    checks: int = 0

    @property
    def name(self) -> str:
        return "scripted-minicheck" if self.judge is Judge.PAIRWISE else "scripted-1"

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        text = self._answer(request)
        for start in range(0, len(text), 40):
            yield ChatDelta(text[start : start + 40])
        yield ChatDelta(usage=ModelUsage(len(request.user) // 4, len(text) // 4))

    def _answer(self, request: ChatRequest) -> str:
        if request.purpose == "plan":
            return self._plan()
        if request.purpose == "answer":
            return self._write(request)
        if self.judge is Judge.NONE:
            raise ModelRejected("the judge cannot be asked")  # an error that is not waited for
        self.checks += 1
        if "answers" in str(request.schema.get("properties", "")) and not _ITEM.search(request.user):
            return json.dumps({"answers": "yes" if self._says_it_answers() else "no", "reason": ""})
        if asked := _DOCUMENT.fullmatch(request.user):
            item = f"<claim>{asked['claim']}</claim>\n<passage>{asked['passages']}</passage>"
            return "Yes" if self._verdict(item, request) == "supported" else "No"
        return verdicts_json(
            {int(number): (self._verdict(item, request), "") for number, item in _ITEM.findall(request.user)}
        )

    def _plan(self) -> str:
        plan: dict[str, Json] = {"recency": "any", "content": "general", "queries": ["all about it"]}
        plan |= {"type": "factual", "language": self.world.language, "entities": [], "time": ""}
        return json.dumps(plan)

    def _write(self, request: ChatRequest) -> str:
        """The answer, its markers numbered as this request numbers the sources: by where they stand in it."""
        read = " ".join(request.user.split())
        places = [read.find(" ".join(text.split())[:40]) for text in self.world.texts]
        ranks = {str(number): str(sorted(places).index(place) + 1) for number, place in enumerate(places, start=1)}
        summary = _MARKER.sub(lambda marker: f"[{ranks[marker[1]]}]", self.world.summary)
        detail = _MARKER.sub(lambda marker: f"[{ranks[marker[1]]}]", self.world.detail)
        return json.dumps({"summary": summary, "detail": detail, "citations": []}, ensure_ascii=False)

    def _says_it_answers(self) -> bool:
        if self.judge in _KNOWING:
            return self.world.answers is not self._mistakes("whether it answers")
        return self.judge in _SAYING_YES

    def _mistakes(self, asked: str) -> bool:
        return self.judge is not Judge.RIGHT and Random(f"{self.seed} {self.world.id} {asked}").random() < self.errs

    def _verdict(self, item: str, request: ChatRequest) -> str:
        claim = " ".join(_CLAIM.findall(item)[:1])
        opinion: Opinion = "supported" if self.judge in _SAYING_YES else "unsupported"
        passages = " ".join(_PASSAGE.findall(item))
        is_denied = _denies(passages, claim) if self.judge is Judge.COARSE else is_control(item)
        if is_denied and self.judge is not Judge.YES:
            opinion = "contradicted"
        elif self.judge in _KNOWING:
            opinion = self.opinion(claim, passages or item)
        if self.judge in _KNOWING and self._mistakes(claim + passages):
            opinion = "unsupported" if opinion == "supported" else "supported"
        allowed = set(_allowed(request.schema))
        return next((word for word in _WORDS[opinion] if not allowed or word in allowed), "unsupported")

    def opinion(self, claim: str, passage: str) -> Opinion:
        """What the source that the passage is of says of the claim; nothing, where either is not of this world."""
        statement = self._statement(claim)
        if statement is None:
            self.unknown.append(claim)
            return "unsupported"
        shares = [_share(passage, text) for text in self.world.texts]
        best = max(range(len(shares)), key=shares.__getitem__)
        return statement.opinions[best] if shares[best] >= _MIN_LIKENESS else "unsupported"

    def _statement(self, claim: str) -> Statement | None:
        """The world's sentence that the claim is, or is a part of: the likest one."""
        said = _words(claim)
        if not said:
            return None

        def likeness(statement: Statement) -> tuple[float, float]:
            words = _words(statement.text)
            return len(said & words) / len(said), len(said & words) / len(said | words)

        best = max(self.world.statements, key=likeness)
        return best if likeness(best)[0] >= _MIN_LIKENESS else None


def _denies(passage: str, claim: str) -> bool:
    """Whether the one has a word that denies and the other none, which is all that a coarse judge sees."""
    return bool(_DENIAL.search(passage)) and not _DENIAL.search(claim)


_DENIAL = re.compile(r"\b(?:not|no|never|none|nicht|kein\w*|nie|nunca|sin|pas|jamais|aucun\w*)\b|n't\b", re.IGNORECASE)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _share(passage: str, text: str) -> float:
    """How much of the passage stands in the text, 0…1, by runs of three words."""
    runs = [_runs(piece) for piece in (passage, text)]
    return len(runs[0] & runs[1]) / max(1, len(runs[0]))


def _runs(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return set(zip(words, words[1:], words[2:], strict=False)) or {tuple(words)}


def _allowed(schema: Mapping[str, Json]) -> Iterator[str]:
    """The words of every list of choices in the schema."""
    for key, value in schema.items():
        if key == "enum" and isinstance(value, list):
            yield from map(str, value)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Mapping):
                yield from _allowed(inner)
