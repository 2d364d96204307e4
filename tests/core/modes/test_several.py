"""Several modes at one question: at once, with a line each, and one merged result."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.records.jobs import SqlJobStore
from adapters.records.sql import Tables
from core.findings.viewing import read_view
from core.model.answer import Citation, Confidence, JobResult, ResearchAnswer
from core.model.errors import InvalidQuery, ModelUnavailable, SetupError
from core.model.job import Event, ResearchJob, ResearchRequest
from core.model.ports import ChatRequest
from core.model.source import Source
from core.modes import MODES, files_of, find_modes, read_modes
from core.modes.several import MergedPart, merge, renumbered
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.snapshot import Snapshot
from tests.core.cats import PLAN, QUESTION, cat_search, final, research, written
from tests.fakes import FakeModel, Idle, make_deps, make_source
from tests.records import MemoryTables

ANSWER = written("Cats purr because the muscles of the larynx twitch [1].")
IDEAS = (
    "<research_result><research_item><source>https://cats.example/purr</source><content>Purring may help bones heal."
    "</content></research_item></research_result>"
)


def cats(tables: Tables | None = None, **answers: Any) -> tuple[Deps, FakeModel]:
    model = FakeModel({"plan": PLAN, "answer": ANSWER, "idea": IDEAS} | answers)
    return make_deps(search=[cat_search()], model=model, tables=tables), model


async def test_modes_of_different_kinds_give_one_answer() -> None:
    """D1, D8, S004-03: in the order asked for, with each source once, and S004's findings where they always are."""
    deps, _ = cats()

    done = final(await research(deps, modes=("quick", "idea")))

    assert done["mode"] == "quick,idea"
    assert done["answer"]["summary"].startswith(
        "Quick answer:\n\nCats purr because the muscles of the larynx twitch [1]"
    )
    assert "Ideas:\n\n1. Purring may help bones heal [1]." in done["answer"]["summary"]
    assert [source["id"] for source in done["sources"]] == ["src_1"]
    assert [claim["id"] for claim in done["answer"]["claims"]] == ["summary-0", "summary-1"]
    assert done["result"]["findings"]["ideas"][0]["source"] == "https://cats.example/purr"
    assert [part["title"] for part in done["result"]["parts"]] == ["Quick answer", "Ideas"]


class Kept(SqlJobStore):
    """A store that remembers the modes under which a job was saved."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.modes: set[tuple[str, ...]] = set()

    async def save(self, job: ResearchJob, *, dedupe_key: str = "") -> ResearchJob:
        self.modes.add(job.request.modes)
        return await super().save(job, dedupe_key=dedupe_key)


async def test_what_is_kept_of_the_job_is_always_the_whole() -> None:
    """A part that kept its own view of the job would cost the other parts after a restart."""
    tables = MemoryTables()
    jobs = Kept(tables)
    deps = replace(cats(tables)[0], jobs=jobs)

    await research(deps, modes=("quick", "idea"))

    assert jobs.modes == {("quick", "idea")}


async def test_each_has_its_line_of_progress() -> None:
    """The last thing told of one hides no other; the status is that of the one that is furthest behind."""
    deps, _ = cats()

    events = await research(deps, modes=("quick", "idea"))

    told = [
        event.data["data"]["parts"] for event in events if event.type == "status" and event.data["data"].get("parts")
    ]
    assert all([line.partition(":")[0] for line in lines] == ["Quick answer", "Ideas"] for lines in told)
    assert told[-1] == ["Quick answer: done", "Ideas: done"]


async def test_one_that_fails_costs_itself_alone() -> None:
    """What is missing is said; where nothing is left, the job fails with the first one's reason."""
    deps, _ = cats(idea=ModelUnavailable("away", user_message="The model is away."))
    hopeless, _ = cats(
        idea=ModelUnavailable("away", user_message="The model is away."),
        implementation=ModelUnavailable("away", user_message="The model is away."),
    )

    done = final(await research(deps, modes=("quick", "idea")))
    failed = final(await research(hopeless, modes=("idea", "implementation")))

    assert done["status"] == "completed"
    assert "Ideas: The model is away." in done["answer"]["limitations"]
    assert (failed["status"], failed["error"]["message"]) == ("failed", "The model is away.")


class Hanging(FakeModel):
    """Never answers one purpose."""

    def __init__(self, answers: dict[str, Any], hangs_at: str) -> None:
        super().__init__(answers)
        self.hangs_at = hangs_at
        self.is_hanging = asyncio.Event()

    async def stream(self, request: ChatRequest) -> Any:
        if request.purpose == self.hangs_at:
            self.is_hanging.set()
            await asyncio.Event().wait()
        async for delta in super().stream(request):
            yield delta


async def test_a_part_that_is_done_is_not_done_again_after_a_crash() -> None:
    """The part is kept with the job; the other begins anew with what it has paid for."""
    model = Hanging({"plan": PLAN, "answer": ANSWER, "idea": IDEAS}, "idea")
    deps = make_deps(search=[cat_search()], model=model)
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION, modes=("quick", "idea")))
    running = asyncio.create_task(run_job(job.id, deps, DirectSteps(), is_resumable=True))
    await model.is_hanging.wait()
    async for event in deps.events.follow(job.id):
        if event.type == "status" and "Quick answer: done" in json.dumps(event.data):
            break
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    model.hangs_at = ""

    await run_job(job.id, deps, DirectSteps(), is_resumable=True)

    result = await deps.jobs.result(job.id)
    assert result is not None
    assert [request.purpose for request in model.asked].count("answer") == 1
    assert read_view(result) is not None


async def test_the_first_ones_sentences_are_shown_as_they_are_written() -> None:
    """Its sources keep their numbers in the whole, so nobody waits for the slowest to read it."""
    model = Hanging({"plan": PLAN, "answer": ANSWER, "idea": IDEAS}, "idea")
    deps = make_deps(search=[cat_search()], model=model)
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION, modes=("quick", "idea")))
    running = asyncio.create_task(run_job(job.id, deps, DirectSteps()))

    shown = [event.data async for event in _until(deps, job.id, "Quick answer: done") if event.type == "answer"]

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [(data["id"], data["text"]) for data in shown] == [
        ("summary-0", "Cats purr because the muscles of the larynx twitch [1].")
    ]


async def _until(deps: Deps, job_id: str, line: str) -> AsyncIterator[Event]:
    async for event in deps.events.follow(job_id):
        yield event
        if event.type == "status" and line in json.dumps(event.data):
            return


@dataclass
class Breaking(FakeModel):
    """Writes an answer and fails once it is shown, by what no writer is asked again for."""

    deps: Deps | None = None

    async def stream(self, request: ChatRequest) -> Any:
        async for delta in super().stream(request):
            yield delta
        if request.purpose == "answer" and self.deps is not None:
            async for event in self.deps.events.follow("job_1"):
                if event.type == "answer":
                    raise SetupError("away", user_message="The model is away.")


async def test_what_one_that_fails_has_shown_is_taken_back() -> None:
    """A sentence without its part in the answer must not stand; what the others say is told when all have numbers."""
    model = Breaking({"plan": PLAN, "answer": ANSWER, "idea": IDEAS})
    deps = model.deps = make_deps(search=[cat_search()], model=model)
    later, _ = cats()

    events = await research(deps, modes=("quick", "idea"))
    second = await research(later, modes=("idea", "quick"))

    texts = [event.data["text"] for event in events if event.type == "answer"]
    assert texts[:1] == ["Cats purr because the muscles of the larynx twitch [1]."]
    assert reduce(Snapshot.after, events, Snapshot()).sentences == {}
    assert "Quick answer: The model is away." in final(events)["answer"]["limitations"]
    assert [event.data["text"] for event in second if event.type == "answer"] == ["Purring may help bones heal [1]."]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (" , ", ()),
        ("idea", ("idea",)),
        (" Idea, freeform,idea ", ("idea", "freeform")),
        ("deep+library", ("deep", "library")),
    ],
)
def test_names_are_read_as_people_write_them(text: str, names: tuple[str, ...]) -> None:
    assert read_modes(text) == names


@pytest.mark.parametrize("names", [("both",), ("idea", "both"), ("quick", "nonsense"), ("check", "quick")])
def test_what_is_retired_unknown_or_a_buttons_is_refused(names: tuple[str, ...]) -> None:
    """S004-15: the retired `both` names what to use instead."""
    with pytest.raises(InvalidQuery) as refused:
        find_modes(names)

    assert ("freeform" in refused.value.user_message) == ("both" in names or "nonsense" in names)


def test_all_modes_can_be_named_together() -> None:
    """The deadline is that of the slowest."""
    everything = find_modes(tuple(MODES))

    assert everything.deadline_s > max(mode.deadline_s for mode in MODES.values())
    assert everything.is_steerable


def part(name: str, sources: Sequence[Source], text: str) -> MergedPart:
    citations = tuple(Citation(source.url, source.id) for source in sources)
    answer = ResearchAnswer(text, "", Confidence.HIGH, citations=citations)
    return MergedPart((name,), name.title(), JobResult(answer), tuple(sources))


PAGES = st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=6)


@given(PAGES, PAGES)
def test_markers_and_citations_go_on_pointing_to_their_pages(first: list[int], second: list[int]) -> None:
    """Whatever the parts share."""
    parts = []
    for name, pages in (("quick", first), ("deep", second)):
        sources = [
            make_source(number, f"Text of {page}.", url=f"https://pages.example/{page}")
            for number, page in enumerate(pages, start=1)
        ]
        text = " ".join(f"Page {page} says so [{number}]." for number, page in enumerate(pages, start=1))
        parts.append(part(name, sources, text))

    result, merged = merge(parts)

    urls = {source.id: source.url for source in merged}
    assert sorted(urls.values()) == sorted({f"https://pages.example/{page}" for page in first + second})
    said = re.findall(r"Page (\d) says so \[(\d+)\]", result.answer.summary)
    assert [int(page) for page, _ in said] == first + second
    assert all(urls[f"src_{number}"].endswith(f"/{page}") for page, number in said)
    assert all(urls[citation.source_id] == citation.claim for citation in result.answer.citations)


def test_numbers_in_code_are_no_markers() -> None:
    text = "It says so [1, 2].\n\n```python\nx = data[1]\n```\n\nAnd [7] is nobody's."

    assert renumbered(text, {1: 3, 2: 2}) == "It says so [2, 3].\n\n```python\nx = data[1]\n```\n\nAnd [7] is nobody's."


async def test_the_files_of_every_part_belong_to_the_answer() -> None:
    """Code that messages do not show whole, of a job that has also been answered otherwise."""
    code = "\n".join(f"print({number})" for number in range(200))
    found = IDEAS.replace("</content>", f"\n\n```python\n{code}\n```\n\nDependencies: none</content>")
    deps, _ = cats(implementation=found)
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION, modes=("quick", "implementation")))

    await run_job(job.id, deps, DirectSteps())

    job, result = await deps.jobs.get(job.id), await deps.jobs.result(job.id)
    assert [(file.name, file.text) for file in files_of(job, result)] == [("implementation-1.py", f"{code}\n")]


def test_each_mode_has_the_deadline_that_was_decided() -> None:
    """D2: in seconds; a whole paper has six sections."""
    finding = dict.fromkeys(("idea", "implementation", "freeform"), 180)

    deadlines = {name: mode.deadline_s for name, mode in MODES.items()}

    assert deadlines == {"quick": 60, "deep": 600, "library": 60, "section": 6 * 600} | finding
