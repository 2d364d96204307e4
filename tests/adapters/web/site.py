"""The pages over a real pipeline: jobs that were searched, written and checked, with the outside scripted.

How it goes is the site's mood: well, `unheard` (nothing is found), `broken` (the model fails), `slow` (the answer
waits in its middle until the gate is opened), or `invented` (ideas and implementations whose pages nobody found).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from aiohttp.test_utils import TestServer

from adapters.durable.queue import InProcessQueue
from adapters.records.cache import MemoryLimits
from adapters.records.tenants import SqlRevocations
from adapters.web.app import build_web
from adapters.web.preview import Preview
from adapters.web.settings import WebSettings
from bots.wiring import new_job_id, observed
from core.findings.results import ALL_MODES
from core.library.paper import PaperViews
from core.model.errors import ModelUnavailable
from core.model.job import LOCAL, ResearchJob, ResearchRequest, Scope
from core.model.ports import ChatDelta, ChatRequest, ProviderStrength, utc_now
from core.model.source import SearchHit, SearchQuery
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.page_links import PageLinks
from core.tenancy.usage import CountUsage, EvaluationStore
from tests.adapters.web.serving import all_well
from tests.fakes import FakeModel, MemoryTraceLog, by_words, hit, make_deps
from tests.loopback.findings_responders import Seen, findings_text
from tests.loopback.openai_responders import sources_in
from tests.records import MemoryTables

QUESTION = "How tall is the Eddystone lighthouse?"
TALL = "The Eddystone lighthouse is 49 metres tall and stands on the Eddystone Rocks."
BUILT = "The present Eddystone lighthouse was designed by James Douglass and finished in 1882."
LIE = "The tower was painted green by the navy in 1990."
PRIVATE = Scope("slack:T1", "channel:C1")


def _filler(of: str) -> str:
    return (
        f"Mariners feared the {of} for centuries, and several a {of} was lost to storms or to fire before this one.\n\n"
        f"Stones for the {of} were cut on shore, and shipped out when the weather over the {of} allowed it.\n\n"
    )


PAGES = {
    "https://trinity.example/eddystone": (
        "Eddystone Lighthouse", f"{_filler('reef') * 30}{TALL}\n\n{_filler('rock') * 90}"
    ),
    "https://towers.example/history": ("Four towers on one rock", f"{BUILT}\n\n{_filler('tower')}"),
    "https://travel.example/light": (
        "Day trips: the light", f"The Eddystone lighthouse is 71 metres tall.\n\n{_filler('trip')}"
    ),
    "https://shop.example/mugs": ("Lighthouse mugs", f"Mugs with the lighthouse on them.\n\n{_filler('mug')}"),
}  # fmt: skip


@dataclass
class Library:
    """A search provider that knows the pages above."""

    name: str = "tavily"
    strength: ProviderStrength = "factual"
    mood: str = ""

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        if self.mood == "unheard":
            return []
        return [
            hit(url, text, title=title, rank=rank, is_complete=True)
            for rank, (url, (title, text)) in enumerate(PAGES.items())
        ]


@dataclass
class Writer(FakeModel):
    """Plans, and writes an answer with one sentence that no source says."""

    answers: dict[str, object] = field(default_factory=dict)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    mood: str = ""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if self.mood == "broken" and request.purpose == "answer":
            raise ModelUnavailable("the endpoint answered 503")
        found = {mode: _found(mode, is_carried=self.mood != "invented") for mode in ALL_MODES}
        self.answers = {"plan": _PLAN, "answer": _written(request.user), "check": _checked, **found}
        pieces = 0
        async for delta in super().stream(request):
            pieces += 1
            if pieces == 14 and self.mood == "slow" and request.purpose == "answer":
                await self.gate.wait()
            yield delta


def _checked(request: ChatRequest) -> str:
    """By words; and a page that gives another height contradicts."""

    def told(item: str, verdict: str) -> str:
        return "contradicted" if "49 metres" in item and "71 metres" in item else verdict

    return by_words(request, told)


_PLAN = json.dumps(
    {"type": "factual", "language": "en", "entities": ["Eddystone"], "time": "", "recency": "any", "content": "general",
     "queries": [QUESTION, "eddystone lighthouse height"]}
)  # fmt: skip


def _written(prompt: str) -> str:
    numbers = {words: source.number for source in sources_in(prompt) for words in (TALL, BUILT) if words in source.text}
    tall, built = numbers.get(TALL, "1"), numbers.get(BUILT, "2")
    summary = f"{TALL[:-1]} [{tall}]. {BUILT[:-1]} [{built}]."
    return json.dumps({"summary": summary, "detail": f"{LIE[:-1]} [{tall}]. {LIE[:-1]} [{tall}].", "citations": []})


def _found(mode: str, *, is_carried: bool) -> str:
    """What the model writes in one of S004's modes; one place is always made up."""
    carried = [Seen(url, (words,)) for url, words in zip(PAGES, (TALL, BUILT), strict=False)]
    made_up = Seen("https://invented.example/tower", (LIE,))
    return findings_text(mode, [*(carried if is_carried else []), made_up])


@dataclass
class Site:
    """`address` is where the pages are; `ask` waits for the job's end, of a slow one for its first sentence."""

    address: str
    researcher: Researcher
    deps: Deps
    writer: Writer
    library: Library
    links: PageLinks

    async def ask(
        self, query: str = QUESTION, *, mood: str = "", scope: Scope = LOCAL, modes: tuple[str, ...] = ("quick",)
    ) -> ResearchJob:
        self.writer.mood = self.library.mood = mood
        self.writer.gate.clear()
        job = await self.researcher.submit(ResearchRequest(query, modes=modes, scope=scope, is_fresh=True))
        async for event in self.researcher.follow(job.id):
            if mood == "slow" and event.type == "answer":
                break
        return await self.researcher.job(job.id)

    def page(self, job: ResearchJob) -> str:
        return f"{self.address}{self.links.signed(job, f'/jobs/{job.id}')}"


@asynccontextmanager
async def open_site(
    writer: Writer | None = None,
    library: Library | None = None,
    *,
    papers: PaperViews | None = None,
    usage: CountUsage | None = None,
    evaluations: EvaluationStore | None = None,
    previews: Callable[[PageLinks], Mapping[str, Preview]] | None = None,
    tokens: tuple[str, ...] = (),
) -> AsyncIterator[Site]:
    writer, library, traces = writer or Writer(), library or Library(), MemoryTraceLog()
    plain = replace(make_deps(search=[library], model=writer, clock=utc_now), new_id=new_job_id)  # type: ignore[list-item]
    plain = replace(plain, library=papers.library) if papers else plain
    async with observed(plain, traces, secrets=()) as deps:
        run = partial(run_job, deps=deps, steps=DirectSteps())
        queue = InProcessQueue(run, concurrency=4, limit=40, on_cancelled=run)
        researcher = Researcher(deps, queue)
        links = PageLinks("https://gorkd.example", (b"thirty-two bytes of a secret key",), utc_now)
        app = build_web(
            researcher,
            lambda: b"",
            WebSettings(api_tokens=tokens),
            traces,
            ready=all_well,
            links=links,
            revocations=SqlRevocations(MemoryTables(), clock=utc_now),
            limits=MemoryLimits(clock=utc_now),
            previews=previews(links) if previews else None,
            library=papers,
            usage=usage,
            evaluations=evaluations,
        )
        server = TestServer(app)
        await server.start_server()
        try:
            yield Site(str(server.make_url("")).rstrip("/"), researcher, deps, writer, library, links)
        finally:
            writer.gate.set()
            await server.close()
            await queue.aclose(2.0)
