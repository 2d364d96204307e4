"""A small outside for evaluations: pages on two lighthouses, and models that write what they are told to."""

from __future__ import annotations

import json
from collections.abc import Mapping

from core.model.ports import ChatRequest
from core.pipeline.deps import Deps
from tests.fakes import FakeModel, FakeSearch, by_words, hit, make_deps
from tests.loopback.openai_responders import sources_in

EDDYSTONE, FASTNET = "How tall is the Eddystone lighthouse?", "How tall is the Fastnet lighthouse?"
TALL = "The Eddystone lighthouse is 49 metres tall"
BUILT = "It was finished in 1882 on the Eddystone Rocks"
ROCK = "The Fastnet lighthouse is 54 metres tall"
PAGES = {
    "https://trinity.example/eddystone": f"{TALL}. {BUILT}. " + "Mariners feared the reef for centuries. " * 20,
    "https://www.irishlights.example/fastnet": f"{ROCK}. " + "Ships leave Ireland behind at this rock. " * 20,
}
SENTENCES = {EDDYSTONE: (TALL, BUILT), FASTNET: (ROCK,)}


def model(name: str = "careful-1", *, says: Mapping[str, tuple[str, ...]] = SENTENCES) -> FakeModel:
    """It writes these sentences to each question, each cited to the source that has most of it."""

    def answer(request: ChatRequest) -> str:
        question = next((one for one in says if one in request.user), "")
        sources = sources_in(request.user)
        summary = " ".join(f"{said} [{_likely(said, sources)}]." for said in says.get(question, ()))
        return json.dumps({"summary": summary, "detail": "", "citations": []})

    def plan(request: ChatRequest) -> str:
        question = next((one for one in says if one in request.user), EDDYSTONE)
        return json.dumps(
            {"type": "factual", "language": "en", "entities": ["lighthouse"], "time": "", "recency": "any",
             "content": "general", "queries": [question]}
        )  # fmt: skip

    return FakeModel({"plan": plan, "answer": answer, "check": by_words}, name=name)


def _likely(said: str, sources: list) -> int:
    words = set(said.split())
    return max(sources, key=lambda source: len(words & set(source.text.split()))).number if sources else 1


def search() -> FakeSearch:
    hits = [hit(url, text, title=url, rank=rank, is_complete=True) for rank, (url, text) in enumerate(PAGES.items())]
    return FakeSearch("web", hits)


def deps(written: FakeModel | None = None, found: FakeSearch | None = None) -> Deps:
    return make_deps(search=[found or search()], model=written or model())
