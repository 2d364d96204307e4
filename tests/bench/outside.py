"""The loopback world as a process of its own, so that its work is not counted as ours.

Speaks lines of JSON: the first tells the environment to use; then `pace {…}` changes the model's speed,
`hang /path` or `hang tavily` lets a page or a provider never answer, `hang` alone ends that, and `journal` tells
everything that was asked. Each is answered with a journal. Ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import dataclass
from typing import Any

from core.model.codec import decode, encode
from tests.bench.conditions import Pace
from tests.bench.corpus import load_corpus
from tests.bench.model_script import ModelCall, ModelScript
from tests.bench.paced_model import paced_model
from tests.loopback.search_corpus import Document
from tests.loopback.search_faults import Fault
from tests.loopback.search_world import Asked, SearchWorld
from tests.loopback.web_world import PageSpec, WebWorld

ROBOTS = "/robots.txt"
_TICK_S = 0.02


@dataclass(frozen=True)
class Opening:
    """What the world is made of."""

    pace: Pace
    real_pages: bool
    made_up_pages: int


@dataclass(frozen=True)
class Environment:
    """Settings of the services, without a data folder or a choice of providers."""

    variables: dict[str, str]
    pages: int
    is_real: bool
    questions: tuple[str, ...]


@dataclass(frozen=True)
class Journal:
    """Everything asked so far; times are on the monotonic clock, which all processes share.

    `late_s` is by how much the world itself was late at worst since the last journal.
    """

    model: tuple[ModelCall, ...]
    searches: tuple[float, ...]
    pages: tuple[tuple[float, str], ...]
    late_s: float


class _Stamped(list[Asked]):
    """The world's list of what was asked, with the time of each."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def append(self, asked: Asked) -> None:
        self.times.append(time.monotonic())
        super().append(asked)


class _Lateness:
    """How much later than planned this process gets to run."""

    def __init__(self) -> None:
        self.worst_s = 0.0

    async def watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            planned = loop.time() + _TICK_S
            await asyncio.sleep(_TICK_S)
            self.worst_s = max(self.worst_s, loop.time() - planned)


async def serve() -> None:
    opening = decode(await _next_line(), Opening)
    corpus = load_corpus(real=opening.real_pages, made_up=opening.made_up_pages)
    pace = opening.pace
    lateness = _Lateness()
    script = ModelScript(lambda: (model.first_token_s, model.token_s))
    specs = {page.path: PageSpec(page.html) for page in corpus.pages}
    async with WebWorld(specs, pace.page_s, hosts=len(specs)) as web:
        found = [Document(web.url(page.path), page.title, page.index) for page in corpus.pages]
        abstracts = [Document(web.url(page.path), page.title, page.extract) for page in corpus.pages]
        documents = {"tavily": found, "exa": found, "pubmed": abstracts}
        async with SearchWorld(documents, latency_s=pace.search_s) as search, paced_model(script) as model:
            model.first_token_s, model.token_s = pace.first_token_s, pace.token_s
            search.asked = stamped = _Stamped()
            served = dict(web.pages)
            watching = asyncio.create_task(lateness.watch())
            variables = {
                **search.env("tavily", "exa", "pubmed"),
                "GORKD_FETCH_ALLOW": "127.0.0.0/8",
                "OPENAI_BASE_URL": model.url,
                "OPENAI_API_KEY": "sk-test-0123456789",
                "GORKD_MODEL": "gpt-5.4-mini",  # the default, for its list price
                "GORKD_WRITING": "parallel",  # as for a vendor's endpoint; this one is on the same machine
            }
            _say(Environment(variables, len(specs), corpus.is_real, tuple(corpus.questions)))
            while line := await _next_line():
                word, _, rest = line.partition(" ")
                if word == "pace":
                    model.token_s = decode(rest, Pace).token_s
                if word == "hang":
                    search.faults = {rest: Fault(kind="hang")} if rest in documents else {}
                    behaviour = {rest: PageSpec(behaviour="hang")} if rest in specs else {}
                    web.pages = {**served, **behaviour}
                pages = tuple((seen.at, seen.path) for seen in web.requests)
                _say(Journal(tuple(script.calls), tuple(stamped.times), pages, lateness.worst_s))
                lateness.worst_s = 0.0
            watching.cancel()


async def _next_line() -> str:
    line: str = await asyncio.to_thread(sys.stdin.readline)
    return line.strip()


def _say(value: Any) -> None:
    print(encode(value), flush=True)


if __name__ == "__main__":
    asyncio.run(serve())
