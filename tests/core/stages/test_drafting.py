"""Summary and detail as two calls, the summary begun from the question's own search while the plan is made."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from core.evidence.citations import strip_markers
from core.evidence.differences import adds_nothing, is_same_claim
from core.evidence.grounding import Grounder
from core.evidence.judge import AnswerRuling, Hear, Judgement, Judging, Pair, Ruling, Rulings, unheard
from core.model.answer import Claim, Evidence, ModelUsage, ResearchAnswer, Verdict
from core.model.codec import decode
from core.model.config import SynthesisSettings
from core.model.errors import ModelTimeout, ModelUnavailable
from core.model.job import Attachment, Event, ResearchRequest
from core.model.ports import ChatDelta, ChatRequest, JobMemo
from core.model.source import SearchHit, SearchQuery
from core.modes import MODES
from core.modes.quick import MODE as QUICK
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.pipeline.work import Progress
from core.presentation.card import said_so_far
from core.presentation.snapshot import Snapshot
from core.stages.drafting import BROKE_OFF, CUT_OFF, NO_DETAIL, NO_REST, OUT_OF_TIME
from core.stages.search import CHOICE, EarlyChoice
from core.stages.synthesize import LATE_NOTICE
from core.stages.writing import Writing
from tests.core.cats import PLAN, PURR, QUESTION, final, research, written
from tests.fakes import AT_ONCE, Died, FakeSearch, Idle, Journal, by_words, hit, make_deps, make_job, make_source
from tests.records import MemoryTables

PARALLEL = replace(AT_ONCE, synthesis=SynthesisSettings(is_parallel=True))
EARLY = {
    "https://one.example/purr": PURR,
    "https://two.example/purr": "Why do cats purr? Cats purr when they are calm. A purr lasts while they breathe.",
    "https://three.example/purr": "A cat can purr all day. Kittens purr from their third day on.",
}
LATE = {"https://late.example/larynx": "The larynx of a purring cat moves 30 times a second. Lions roar instead."}
TWITCH = "Cats purr because the muscles of the larynx twitch about 25 times a second [1]."
BONES = "Purring may help bones heal [1]."
LIONS = "Lions roar instead [4]."
SUMMARY, DETAIL, WHOLE = written(TWITCH), written("", LIONS), written(f"{TWITCH} {BONES}", LIONS)
IN_TIME = {"plan": "summary"}  # the plan is slow enough for the summary to be begun
MOVES = "The larynx of a purring cat moves 30 times a second [4]."


def part_of(request: ChatRequest) -> str:
    """Which part a call is asked for: `summary`, `detail`, or `answer` for all of it."""
    last = request.user.rpartition("</question>")[2]
    return next((part for part in ("summary", "detail") if f"Write `{part}`" in last), "answer")


@dataclass
class TwoCalls:
    """A model that writes each part when it may: `holds` says what a call waits for before its first word.

    `done` are the calls that were answered to their end; a second one like it would be paid twice.
    """

    summary: str = SUMMARY
    detail: str | Exception = DETAIL
    answer: str = WHOLE
    plan: str = PLAN
    holds: Mapping[str, str] = field(default_factory=dict)
    judge: Callable[[ChatRequest], str] = by_words
    name: str = "two-1"
    asked: list[tuple[str, ChatRequest]] = field(default_factory=list)
    done: list[tuple[str, str]] = field(default_factory=list)
    seen: dict[str, asyncio.Event] = field(default_factory=dict)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        name = part_of(request) if request.purpose == "answer" else request.purpose
        self.asked.append((name, request))
        self._event(name).set()
        if name in self.holds:
            await asyncio.wait_for(self._event(self.holds[name]).wait(), 10)
        said = self.judge(request) if name == "check" else getattr(self, name)
        if isinstance(said, Exception):
            raise said
        for start in range(0, len(said), 20):
            yield ChatDelta(said[start : start + 20])
            await asyncio.sleep(0)
        self.done.append((name, request.user))
        self._event(f"{name} done").set()
        yield ChatDelta(usage=ModelUsage(10, 5))

    def calls(self, name: str) -> list[ChatRequest]:
        return [request for part, request in self.asked if part == name]

    @property
    def parts(self) -> list[str]:
        return [part for part, _ in self.asked if part != "check"]

    def _event(self, name: str) -> asyncio.Event:
        return self.seen.setdefault(name, asyncio.Event())


@dataclass
class Library(FakeSearch):
    """Finds the early pages for the question itself, the late one for what the plan asks."""

    early: Mapping[str, str] = field(default_factory=lambda: EARLY)

    async def search(self, query: SearchQuery, **more: Any) -> list[SearchHit]:
        self.asked.append(query)
        pages = LATE if query.text == "cat purring larynx" else self.early
        return [
            hit(url, text, title="Purring", rank=rank, is_complete=True)
            for rank, (url, text) in enumerate(pages.items())
        ]


def deps_of(model: TwoCalls, **more: Any) -> Deps:
    return make_deps(search=[Library("web", **more)], model=model, settings=PARALLEL)


async def answered(deps: Deps) -> ResearchAnswer:
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION))
    await run_job(job.id, deps, DirectSteps())
    result = await deps.jobs.result(job.id)
    assert result.answer is not None
    return result.answer


def shown(events: list[Event]) -> list[tuple[str, str | None]]:
    return [(str(event.data["id"]), event.data["text"]) for event in events if event.type == "answer"]  # type: ignore[misc]


async def test_the_summary_is_begun_while_the_plan_is_made() -> None:
    """ADR 0005: the plan is answered only when the summary was asked for, and the answer still comes."""
    model = TwoCalls(holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert model.parts == ["plan", "summary", "detail"]
    assert done["answer"]["summary"] == TWITCH
    assert done["answer"]["detail"] == LIONS
    assert done["sources"][3]["url"] in LATE


async def test_both_calls_begin_with_the_same_bytes_and_the_second_hears_what_the_first_has_said() -> None:
    """A prompt cache reads the early sources once; numbers mean the same in both."""
    model = TwoCalls(summary=written(f"{TWITCH} {BONES}"), holds={"plan": "summary done"})

    await research(deps_of(model))

    (first,), (second,) = model.calls("summary"), model.calls("detail")
    shared = first.user[: first.user.index("<question>")]
    assert (first.system, first.schema) == (second.system, second.schema)
    assert second.user.startswith(shared)
    assert [f'<source id="{number}"' in shared for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert '<source id="4"' in second.user
    assert f"<summary>\n{TWITCH}" in second.user


@dataclass
class Noting:
    """A job's memo that also tells which early pages were chosen; `chose` is set when it hears."""

    kept: JobMemo
    chosen: list[tuple[str, ...]] = field(default_factory=list)
    chose: asyncio.Event = field(default_factory=asyncio.Event)

    async def get(self, job_id: str, key: str) -> str | None:
        return await self.kept.get(job_id, key)

    async def put(self, job_id: str, key: str, value: str) -> None:
        await self.kept.put(job_id, key, value)
        if key == CHOICE:
            self.chosen.append(decode(value, EarlyChoice).urls)
            self.chose.set()

    async def clear(self, job_id: str) -> None:
        await self.kept.clear(job_id)


async def test_it_is_not_begun_from_pages_that_do_not_fit() -> None:
    """Then the plan is waited for, though it comes behind the pages."""
    model = TwoCalls()
    deps = deps_of(model)
    memo = Noting(deps.memo)
    model.seen["chosen"] = memo.chose
    model.holds = {"plan": "chosen"}

    await research(replace(deps, memo=memo), "Which moons of Saturn have oceans below their ice?")

    assert memo.chosen == [()]
    assert model.done[0][0] == "plan"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"query": f"{QUESTION} https://one.example/purr"}, id="a page is named"),
        pytest.param({"query": QUESTION, "feedback": "too short"}, id="an answer is to be better"),
        pytest.param({"query": QUESTION, "attachments": ("cats.txt",)}, id="a file is brought along"),
        pytest.param({"query": "And why do they purr?", "thread": "t"}, id="it leans on what was said before"),
    ],
)
async def test_it_is_not_begun_where_more_belongs_into_it(asked: dict[str, Any]) -> None:
    """What the question alone finds is not enough there."""
    deps = deps_of(TwoCalls())
    memo = Noting(deps.memo)
    if "thread" in asked:
        await research(deps, "What do cats eat?", thread="t")
    job = await Researcher(deps, Idle()).submit(
        ResearchRequest(**asked), attachments=[Attachment("cats.txt", "text/plain", "cats", PURR)]
    )

    await run_job(job.id, replace(deps, memo=memo), DirectSteps())

    assert memo.chosen == []
    result = await deps.jobs.result(job.id)
    assert result is not None and result.answer is not None  # noqa: PT018


async def test_the_detail_is_shown_behind_the_whole_summary() -> None:
    """Nothing jumps: who reads along sees the answer grow at its end only, whichever call is quicker."""
    model = TwoCalls(summary=written(f"{TWITCH} {BONES}"), holds={"plan": "summary done"})

    events = await research(deps_of(model))

    assert [id for id, text in shown(events)] == ["summary-0", "summary-1", "detail-10"]


@pytest.mark.parametrize("first", ["detail done", "summary"])
async def test_the_summarys_call_writes_how_the_detail_begins(first: str) -> None:
    """Its paragraph stands before the other call's, whichever call is quicker, and is not said again."""
    model = TwoCalls(summary=written(TWITCH, BONES), detail=written("", f"{BONES} {LIONS}"), holds=IN_TIME)
    if first == "detail done":
        model = SlowBeginning(summary=model.summary, detail=model.detail, holds=IN_TIME)

    events = await research(deps_of(model))

    assert final(events)["answer"]["detail"] == f"{BONES}\n\n{LIONS}"
    assert [id for id, text in shown(events)] == ["summary-0", "detail-0", "detail-11"]
    assert "first paragraph of `detail`" in model.calls("summary")[0].user
    assert "from its second paragraph on" in model.calls("detail")[0].user


@pytest.mark.parametrize("torn", ["\n\n## Conditions", " There are three reasons for this:", "\n\n---"])
async def test_what_the_beginning_announces_is_not_what_another_call_writes(torn: str) -> None:
    """A heading or a lead at its end was to hold something else (D20)."""
    model = TwoCalls(summary=written(TWITCH, f"{BONES}{torn}"), detail=written("", LIONS), holds=IN_TIME)

    assert final(await research(deps_of(model)))["answer"]["detail"] == f"{BONES}\n\n{LIONS}"


async def test_a_call_that_breaks_behind_its_text_is_not_paid_again() -> None:
    """Nobody misses the citations that should have followed."""
    model = Breaking(summary=written(TWITCH, BONES), holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert (done["answer"]["summary"], done["answer"]["detail"]) == (TWITCH, f"{BONES}\n\n{LIONS}")
    assert len(model.calls("summary")) == 1


@dataclass
class SlowBeginning(TwoCalls):
    """The detail is there before the paragraph that it goes on from."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        heard = ""
        async for delta in super().stream(request):
            heard += delta.text
            if part_of(request) == "summary" and '"detail"' in heard:
                await asyncio.wait_for(self._event("detail done").wait(), 10)
            yield delta


@dataclass
class Breaking(TwoCalls):
    """The connection of the summary's call breaks within its citations."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        heard = ""
        async for delta in super().stream(request):
            heard += delta.text
            if part_of(request) == "summary" and '"citations"' in heard:
                raise ModelUnavailable("broken")
            yield delta


async def test_what_the_summary_says_is_not_said_again() -> None:
    """Its writer has heard only the beginning of it."""
    model = TwoCalls(summary=written(f"{TWITCH} {BONES}"), detail=written("", f"{BONES} {LIONS}"), holds=IN_TIME)

    events = await research(deps_of(model))

    assert final(events)["answer"]["detail"] == LIONS
    assert [text for _, text in shown(events)].count(BONES) == 1


async def test_what_leans_on_a_repeated_sentence_brings_it_back() -> None:
    """Else "they" would be somebody else."""
    model = TwoCalls(
        summary=written(f"{TWITCH} {BONES}"),
        detail=written("", f"{LIONS} {BONES} It is known from cats that lie still [1]."),
        holds=IN_TIME,
    )

    done = final(await research(deps_of(model)))

    assert done["answer"]["detail"].startswith(f"{LIONS} {BONES} ")


async def test_a_list_is_numbered_on_over_both_calls_and_as_it_is_shown_first() -> None:
    """Each call sees its own numbers only; a number that changed later would jump before the reader's eyes."""
    model = TwoCalls(
        summary=written(TWITCH, f"1. {BONES}\n2. A purr lasts while they breathe [2]."),
        detail=written("", f"1. Kittens purr from their third day on [3].\n2. {LIONS}"),
        holds=IN_TIME,
    )

    events = await research(deps_of(model))

    lines = final(events)["answer"]["detail"].split("\n")
    assert [line[:2] for line in lines] == ["1.", "2.", "3.", "4."]
    told = [str(event.data["text"]) for event in events if event.type == "answer"]
    assert [line for line in told if line[0].isdigit()] == lines


async def test_what_is_told_in_parts_is_the_text_that_stands_in_the_end() -> None:
    """Leads, headings, a table's head, line breaks and cuts come with the sentence behind them: nothing jumps later."""
    steps = f"Cats purr so:\n\n1. {TWITCH}\n2. Cats purr in Latin verse [1].\n3. {BONES}"
    table = "| Cat | Purr |\n|---|---|\n| A cat | can purr all day [3] |\n| A lion | can roar [4] |"
    rest = f"## Purring\n\nYes. A purr lasts while they breathe [2].\n\n{table}"
    model = TwoCalls(summary=written(steps, "Kittens purr from their third day on [3]."), detail=written("", rest))
    model.judge = lambda request: by_words(
        request, lambda item, verdict: "unsupported" if "verse" in item else "supported"
    )

    events = await research(deps_of(model))

    snapshot, said = Snapshot(), dict[str, str]()
    for event in events:
        snapshot = snapshot.after(event)
        for part in ("summary", "detail"):
            told = "".join(text for _, text in said_so_far(replace(snapshot, marks={}), part))
            assert told.startswith(said.get(part, ""))
            said[part] = told
    answer = final(events)["answer"]
    assert said == {"summary": answer["summary"], "detail": answer["detail"]}
    assert "2. […]\n3. " in said["summary"]


@dataclass
class CutOff(TwoCalls):
    """The summary's call comes to its limit of tokens."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        async for delta in super().stream(request):
            is_last = delta.usage is not None and part_of(request) == "summary"
            yield replace(delta, is_cut=True) if is_last else delta


@pytest.mark.parametrize(
    ("detail", "rest"), [(DETAIL, f"\n\n{LIONS}"), (ModelUnavailable("down"), "")], ids=["whole", "failed"]
)
async def test_where_the_opening_was_cut_off_is_seen(detail: str | Exception, rest: str) -> None:
    """Behind it stands another call's text, or nothing."""
    half = written(TWITCH, f"{BONES} A purr lasts while").removesuffix('", "citations": []}')
    model = CutOff(summary=half, detail=detail, holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert done["answer"]["detail"] == f"{BONES} […]{rest}"
    assert CUT_OFF in done["answer"]["limitations"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The drug is approved in Germany.", "The drug is not approved in Germany."),
        ("The reform increases the risk of a fire.", "The reform decreases the risk of a fire."),
        ("The drug was approved by the EMA in 2001.", "The drug was approved by the FDA in 2001."),
    ],
)
def test_a_denial_is_no_repetition(one: str, other: str) -> None:
    """What the late sources say otherwise must not vanish as said already."""
    assert is_same_claim(one, one.replace("The ", "the ", 1))
    assert not is_same_claim(one, other)


KILLS = "Cytotoxic drugs inhibit the immune response by killing dividing cells such as activated T cells."
PROJECTS = "Construction projects had drained the treasury."
WARS = "Wars and construction projects had drained the treasury, and a typhoon sank the fleet in 1281."
TESLA = "Tesla lived in hotels of New York for many years, and died in one of those hotels in New York."


def carried(said: str, passage: str, *, start: int = 0) -> Claim:
    return Claim("detail-0", said, Verdict.SUPPORTED, (Evidence("src_1", passage, start, start + len(passage)),))


@pytest.mark.parametrize(
    ("known", "said", "passage", "expected"),
    [
        (
            "Cytotoxic drugs stop the immune response by killing dividing cells such as activated T cells.",
            "Cytotoxic drugs inhibit immunity by killing cells that divide, for example activated T cells.",
            KILLS,
            True,
        ),
        ("The treasury was drained by wars and building.", "Wars and building had emptied the treasury.", WARS, True),
        ("Wars and construction projects had drained the treasury.", PROJECTS, WARS, True),
        (PROJECTS, "A typhoon and projects had drained the treasury.", WARS, False),
        ("A typhoon sank the fleet of Kublai.", "A typhoon sank the fleet of Kublai in 1281.", WARS, False),
        ("Tesla lived in hotels of New York.", "Tesla died in hotels of New York.", TESLA, False),
        (
            "These drugs kill dividing cells such as activated T cells.",
            "These drugs kill dividing cells such as activated B cells.",
            "These drugs kill dividing cells such as activated T cells and activated B cells.",
            False,
        ),
        ("The fleet sank in a storm.", "The fleet did not sink in a storm.", WARS, False),
        (
            "The Lund bridge was completed in 1932 following eight years of labour.",
            "The Lund bridge across the harbour was completed in 1932 following eight years.",
            "The Lund bridge was opened in 1932 after eight years of construction, across the harbour.",
            False,
        ),
        (
            "Building had drained the treasury of Kublai.",
            "Building had probably drained the treasury of Kublai.",
            "Building had probably drained the treasury of Kublai.",
            False,
        ),
    ],
    ids=[
        "other words",
        "passive",
        "less",
        "another cause",
        "a number",
        "another deed",
        "a letter",
        "a denial",
        "a place, for a word that is left out",
        "a hedge",
    ],
)  # fmt: skip
def test_other_words_for_the_same_passage_add_nothing(known: str, said: str, passage: str, expected: bool) -> None:
    """What two calls say of one passage is said once, but nothing that only one of them says is lost."""
    assert adds_nothing(carried(said, passage), carried(known, passage)) is expected
    assert not adds_nothing(carried(said, passage), carried(known, passage, start=len(passage)))  # of another passage


async def test_the_rest_does_not_say_the_opening_again_in_other_words() -> None:
    opening = "The muscles of the larynx twitch about 25 times a second, and so cats purr [1]."
    again = "The twitching of the larynx muscles, some 25 times a second, is why cats purr [1]."
    model = TwoCalls(summary=written(BONES, opening), detail=written("", f"{again} {LIONS}"), holds=IN_TIME)

    events = await research(deps_of(model))

    assert final(events)["answer"]["detail"] == f"{opening}\n\n{LIONS}"
    assert not any(again in str(text) for _, text in shown(events))


@dataclass
class Stumbling(TwoCalls):
    """Its first try at a summary breaks before a word."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if request.purpose == "answer" and part_of(request) == "summary" and not self.calls("summary"):
            self.asked.append(("summary", request))
            self._event("summary").set()
            raise ModelUnavailable("503")
        async for delta in super().stream(request):
            yield delta


async def test_a_summary_that_needs_a_second_try_costs_no_detail() -> None:
    model = Stumbling(holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert (done["answer"]["summary"], done["answer"]["detail"]) == (TWITCH, LIONS)


@dataclass
class OfTheYear:
    """Confirms what is said of 1999 alone; `has_confirmed` is set when it does."""

    has_confirmed: asyncio.Event = field(default_factory=asyncio.Event)

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        is_said = ["1999" in pair.claim and any("1999" in one for one in pair.passages) for pair in pairs]
        if any(is_said):
            self.has_confirmed.set()
        return Rulings(tuple(Judgement(Ruling.SUPPORTED if said else Ruling.PARTIAL) for said in is_said))

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
        return AnswerRuling(True)


async def test_what_was_ruled_of_one_try_is_not_taken_for_the_next_one() -> None:
    """A sentence under the same id says something else, and what late sources said of the first is not said of it."""
    bridge = make_source(1, "The bridge over the river was repaired by workers last spring.")
    museum = make_source(2, "The museum opened its doors in the year 1999 in Bonn for visitors.")
    deps, judge = make_deps(), OfTheYear()
    job = await deps.jobs.save(make_job("When?"), dedupe_key="")
    writing = Writing(Grounder([bridge], "When?"), Progress(job, deps), Judging(judge, lambda: 30.0))
    await writing._take("summary", "The museum opened in Bonn in 1999 [1]. The b", is_final=False)
    writing.grounder.extend(Grounder([museum], ""))
    looking = asyncio.create_task(writing.look_again(["src_2"]))
    while not judge.has_confirmed.is_set():
        writing.judging.hurry()  # else it waits for others
        await asyncio.sleep(0)
    writing.reopen("summary")
    await writing._take("summary", "The museum opened in Bonn in 1989 [1]. ", is_final=True)
    await looking

    (entry,) = await writing.decided()
    await writing.aclose()

    assert entry.claim.verdict is not Verdict.SUPPORTED


@dataclass
class OfTheTown:
    """Confirms what a source of Bonn says, when it may; of what others say a part, at once."""

    may_confirm: asyncio.Event = field(default_factory=asyncio.Event)

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        is_of_bonn = ["Bonn" in " ".join(pair.passages) for pair in pairs]
        if any(is_of_bonn):
            await self.may_confirm.wait()
        return Rulings(tuple(Judgement(Ruling.SUPPORTED if said else Ruling.PARTIAL) for said in is_of_bonn))

    async def judge_answer(self, question: str, text: str, *, timeout_s: float, hear: Hear = unheard) -> AnswerRuling:
        return AnswerRuling(True)


async def test_a_sentence_is_shown_when_its_own_source_was_read_for_it() -> None:
    """D18: as confirmed in part, until another source is found to say all of it; its place stays the same."""
    sources = [
        make_source(1, "Workers repaired the stone bridge over the wide river in spring."),
        make_source(2, "In spring the stone bridge over the wide river was repaired by workers from Bonn."),
    ]
    deps, judge = make_deps(), OfTheTown()
    job = await deps.jobs.save(make_job("When?"), dedupe_key="")
    writing = Writing(Grounder(sources, "When?"), Progress(job, deps), Judging(judge, lambda: 30.0))
    await writing._take(
        "summary", "The stone bridge over the river was repaired by workers in spring [1].", is_final=True
    )
    while not await deps.events.read(job.id):  # noqa: ASYNC110  # nothing tells of it
        await asyncio.sleep(0)
    judge.may_confirm.set()
    writing.judging.hurry()

    await writing.decided()
    await writing.aclose()

    told = [event.data for event in await deps.events.read(job.id)]
    assert [(data["id"], data["mark"]) for data in told] == [("summary-0", "◐"), ("summary-0", "✓")]
    said = "The stone bridge over the river was repaired by workers in spring"
    assert [data["text"] for data in told] == [f"{said} [1].", f"{said} [1][2]."]  # no citation goes and comes back
    snapshot = Snapshot()
    for event in await deps.events.read(job.id):
        snapshot = snapshot.after(event)
    assert said_so_far(snapshot, "summary") == [("summary-0", f"{said} [1]◐[2]✓.")]


async def test_what_a_late_source_contradicts_is_corrected_where_it_is_read() -> None:
    """The correction stands below the summary, in a paragraph of its own, checked as every sentence is."""
    model = TwoCalls(holds=IN_TIME, detail=written(MOVES, LIONS), judge=contradicted)

    events = await research(deps_of(model))

    done = final(events)
    assert done["answer"]["summary"] == f"{TWITCH}\n\nCorrection: {MOVES}"
    assert [id for id, _ in shown(events)] == ["summary-0", "summary-1", "detail-10"]
    assert done["answer"]["conflicts"] != []
    assert done["answer"]["confidence"] == "low"


@pytest.mark.parametrize("summary", [TWITCH, f"By their larynx cats purr, {TWITCH[10:]}"], ids=["verbatim", "judged"])
async def test_nothing_jumps_and_nothing_is_said_twice(summary: str) -> None:
    """A sentence keeps its place and words up to the whole answer; its mark changes once at most."""
    detail = written(MOVES, f"{summary} {LIONS} {BONES}")
    model = TwoCalls(summary=written(f"{summary} {BONES}"), detail=detail, holds=IN_TIME, judge=contradicted)

    events = await research(deps_of(model))

    rows: list[Any] = [event.data for event in events if event.type == "answer"]
    told = {place: [row for row in rows if row["id"] == place] for place in [row["id"] for row in rows]}
    words = dict.fromkeys((row["id"], strip_markers(row["text"])) for row in rows)
    assert list(told) == [place for place, _ in words] == ["summary-0", "summary-1", "summary-2", "detail-11"]
    assert all(len(own) == len({row["mark"] for row in own}) <= 2 for own in told.values())
    whole = "{summary} {detail}".format(**final(events)["answer"])
    assert " ".join(text for _, text in words) == strip_markers(" ".join(whole.split()))


async def test_a_second_summary_is_no_correction() -> None:
    """A model that minds its task little writes both parts in both calls."""
    model = TwoCalls(
        summary=written(TWITCH, BONES), detail=written(f"Cats purr by their larynx [1]. {BONES}", LIONS), holds=IN_TIME
    )

    done = final(await research(deps_of(model)))

    assert done["answer"]["summary"] == TWITCH
    assert done["answer"]["detail"] == f"{BONES}\n\n{LIONS}"


def contradicted(request: ChatRequest) -> str:
    """As `by_words`, but for 25 and 30 times a second."""

    def told(item: str, verdict: str) -> str:
        claim, passage = item.partition("<claim>")[2].partition("</claim>")[::2]
        is_other = ("25 times" in claim and "30 times" in passage) or ("30 times" in claim and "25 times" in passage)
        return "contradicted" if is_other else verdict

    return by_words(request, told)


async def test_a_late_source_that_says_otherwise_is_a_conflict_though_nobody_wrote_of_it() -> None:
    """The judge is asked about what was written before that source was read."""
    model = TwoCalls(holds={"plan": "summary done"}, judge=contradicted)

    done = final(await research(deps_of(model)))

    assert model.calls("detail") != []
    assert {side["source_id"] for conflict in done["answer"]["conflicts"] for side in conflict["positions"]} >= {
        "src_1", "src_4",
    }  # fmt: skip


@pytest.mark.parametrize("summary", [pytest.param(written(""), id="nothing"), pytest.param("I cannot.", id="noise")])
async def test_where_nothing_comes_of_the_early_sources_one_call_writes_from_all(summary: str) -> None:
    """What was found later may answer."""
    model = TwoCalls(summary=summary, holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert model.parts[-1] == "answer"
    assert done["answer"]["summary"] == f"{TWITCH} {BONES}"


async def test_a_summary_that_does_not_answer_is_written_anew_from_all() -> None:
    """D23: what was begun early is held to the same as any answer."""

    def judge(request: ChatRequest) -> str:
        if request.schema_name != "answers" or BONES[:20] in request.user:
            return by_words(request)
        return json.dumps({"answers": "no", "reason": "no reason is given"})

    model = TwoCalls(judge=judge, holds=IN_TIME)

    events = await research(deps_of(model))

    assert final(events)["answer"]["summary"] == f"{TWITCH} {BONES}"
    assert ("summary-0", None) in shown(events)


async def test_a_plan_that_understands_another_question_discards_what_was_begun() -> None:
    """What was shown of it is taken back."""
    german = json.dumps({**json.loads(PLAN), "language": "de"})
    model = TwoCalls(plan=german, holds={"plan": "summary done"})

    events = await research(deps_of(model))

    assert "Write in this language: German" in model.calls("summary")[-1].system
    assert len(model.calls("summary")) == 2
    assert final(events)["answer"]["summary"] == TWITCH


@dataclass
class PlansBehind(TwoCalls):
    """Plans once the judge has been asked by `schema`, whose first call never ends."""

    schema: str = ""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        is_first = request.schema_name == self.schema and all(one.schema_name != self.schema for _, one in self.asked)
        if is_first:
            self.asked.append(("check", request))
            self._event(self.schema).set()
            await asyncio.Event().wait()
        async for delta in super().stream(request):
            yield delta


@pytest.mark.parametrize("schema", ["verdicts", "answers"])
async def test_what_was_begun_in_vain_is_paid_and_counted(schema: str) -> None:
    """The price of an answer is that of all its calls; one that the job's memo answers anew counts as well.

    So does one that is given up in its midst: it is paid.
    """
    german = json.dumps({**json.loads(PLAN), "language": "de"})
    model = PlansBehind(plan=german, holds={"plan": schema}, schema=schema)

    answer = await answered(deps_of(model))

    assert len(model.calls("summary")) == 2
    assert answer.metadata.model_calls >= len(model.asked)


@dataclass
class WithIdeas(TwoCalls):
    idea: str = "<research_result></research_result>"


async def test_of_several_modes_the_first_ones_early_summary_is_shown() -> None:
    """It is written while the plan is made, and told as it is."""
    model = WithIdeas(holds={"plan": "check done"})

    events = await research(deps_of(model), modes=("quick", "idea"))

    assert ("summary-0", TWITCH) in shown(events)


ASKED_ON = ["Why do the muscles twitch?", "Do lions purr as well?"]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        pytest.param(ASKED_ON, tuple(ASKED_ON), id="as written"),
        pytest.param(["See https://evil.example?", *ASKED_ON[:1]], tuple(ASKED_ON[:1]), id="with an address"),
        pytest.param("Do lions purr as well?", (), id="of another shape"),
    ],
)
async def test_the_answer_ends_with_questions_to_ask_next(asked: object, kept: tuple[str, ...]) -> None:
    """The writer's, since it knows what it has just said; what is no mere question is left out."""
    model = TwoCalls(detail=json.dumps({**json.loads(DETAIL), "follow_ups": asked}), holds=IN_TIME)
    deps = deps_of(model)

    answer = await answered(deps)

    assert answer.follow_ups == kept
    assert answer.summary == TWITCH
    assert "`follow_ups`: three questions" in model.calls("detail")[0].user


@dataclass
class Chatty(TwoCalls):
    """Neither of its calls comes to the end of the questions behind it."""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        async for delta in super().stream(request):
            yield delta
            if delta.usage and request.purpose == "answer":
                yield ChatDelta(', "follow_ups": ["Do lions purr as well?", "Why')
                await asyncio.Event().wait()


async def test_nobody_waits_for_questions_to_ask_next() -> None:
    """Once both texts are there the answer is complete; of the questions those stay that are."""
    model = Chatty(summary=SUMMARY.removesuffix("}"), detail=DETAIL.removesuffix("}"), holds=IN_TIME)
    deps = deps_of(model)

    async with asyncio.timeout(10):
        answer = await answered(deps)

    assert (answer.summary, answer.detail, answer.stopped_because) == (TWITCH, LIONS, "")
    assert answer.follow_ups == ("Do lions purr as well?",)


async def test_what_the_sources_do_not_tell_is_said_among_the_limitations() -> None:
    """The writer's word for it, which is no claim of a source, and what more it says of the sources."""
    absent = "The sources do not say how loud it is. They only describe its pitch."
    model = TwoCalls(summary=written(f"{TWITCH} {absent}"), detail=written("", DETAIL), holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert done["answer"]["summary"] == TWITCH
    assert f"The model says of the sources: “{absent}”" in done["answer"]["limitations"]


async def test_what_is_said_of_a_thing_behind_what_the_sources_do_not_tell_is_checked() -> None:
    """Nothing vanishes without a word."""
    said = "These cats were sold to Mars in 1931."
    model = TwoCalls(
        summary=written(f"{TWITCH} The sources do not say how loud it is. {said}"),
        detail=written("", DETAIL),
        holds=IN_TIME,
    )

    done = final(await research(deps_of(model)))

    assert said in [done["answer"]["summary"][-len(said) :], *(one["text"] for one in done["answer"]["removed"])]


@pytest.mark.parametrize(("opening", "said"), [("", NO_DETAIL), (BONES, NO_REST)])
async def test_a_detail_that_fails_does_not_cost_the_summary(opening: str, said: str) -> None:
    """It is asked for twice (S003-23), and its absence is said, that of its rest behind how it begins."""
    model = TwoCalls(summary=written(TWITCH, opening), detail=ModelUnavailable("down"), holds=IN_TIME)

    done = final(await research(deps_of(model)))

    assert (done["answer"]["summary"], done["answer"]["detail"]) == (TWITCH, opening)
    assert said in done["answer"]["limitations"]
    assert len(model.calls("detail")) == 2


@dataclass
class Dying(TwoCalls):
    """The first calls for a part bring what `dies` holds for it, and then an error, or nothing more; later ones end."""

    dies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    errors: Sequence[BaseException | None] = (ModelUnavailable("gone"), ModelUnavailable("gone"))

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        name, tried = part_of(request), len(self.calls(part_of(request)))
        if request.purpose != "answer" or tried >= len(self.dies.get(name, ())):
            async for delta in super().stream(request):
                yield delta
            return
        self.asked.append((name, request))
        self._event(name).set()
        await asyncio.wait_for(self._event(self.holds.get(name, name)).wait(), 10)
        for letter in self.dies[name][tried]:
            yield ChatDelta(letter)
            await asyncio.sleep(0)
        self._event(f"{name} dead {tried}").set()
        if error := self.errors[tried]:
            raise error
        await asyncio.Event().wait()


def half(text: str, until: str) -> str:
    return text[: text.index(until) + len(until)]


DAYS = "Kittens purr from their third day on [3]."
WHILE = "A purr lasts while they breathe [2]."
LONG = written("", f"{LIONS} {MOVES} {DAYS} {WHILE}")
SECOND_TRIES = {
    "none": "",
    "the same, and less": half(LONG, "Lions roar instead [4]."),
    "something else, and less": half(written("", f"{DAYS} {WHILE}"), "day on [3]. A purr"),
    "the same": half(LONG, "day on [3]. A pu"),
}


@pytest.mark.parametrize(
    ("second", "error"),
    [*((second, ModelUnavailable("gone")) for second in SECOND_TRIES.values()), ("", ModelTimeout("silent"))],
    ids=[*SECOND_TRIES, "none, of one that stalled"],
)
async def test_what_stood_of_a_detail_stays_when_the_endpoint_dies_for_good(second: str, error: Exception) -> None:
    """Nothing that was shown goes, the place of the break is seen, and what is missing is said."""
    model = Dying(dies={"detail": [half(LONG, "day on [3]. A purr"), second]}, holds=IN_TIME, errors=(error, error))
    deps = deps_of(model)

    events = await research(deps)

    answer = final(events)["answer"]
    assert (answer["summary"], answer["detail"]) == (TWITCH, f"{LIONS} {MOVES} {DAYS} […]")
    assert NO_REST in answer["limitations"]
    assert final(events)["metadata"]["stopped_because"] == BROKE_OFF
    assert [text for _, text in shown(events)] == [TWITCH, LIONS, MOVES, DAYS]
    assert len(model.calls("detail")) == 2


async def test_a_second_try_that_says_the_same_goes_on_where_the_first_one_broke() -> None:
    """Nothing is taken back, and nothing shown twice."""
    model = Dying(detail=LONG, dies={"detail": [half(LONG, "day on [3]. A purr")]}, holds=IN_TIME)

    events = await research(deps_of(model))

    assert [text for _, text in shown(events)] == [TWITCH, LIONS, MOVES, DAYS, WHILE]
    answer = final(events)["answer"]
    assert (answer["detail"], answer["limitations"].count(NO_REST)) == (f"{LIONS} {MOVES} {DAYS} {WHILE}", 0)


async def test_a_second_try_that_says_something_else_takes_the_place_of_the_first_once_it_has_come_as_far() -> None:
    model = Dying(
        detail=written("", f"{DAYS} {WHILE} {LIONS}"), dies={"detail": [half(LONG, "[4]. Kittens p")]}, holds=IN_TIME
    )

    events = await research(deps_of(model))

    assert final(events)["answer"]["detail"] == f"{DAYS} {WHILE} {LIONS}"
    told = shown(events)
    gone = [at for at, (_, text) in enumerate(told) if text is None]
    assert [text for _, text in told[gone[-1] + 1 :]] == [DAYS, WHILE, LIONS]
    assert told[: gone[0]] == [("summary-0", TWITCH), ("detail-10", LIONS), ("detail-11", MOVES)]


OPENED = written(f"{TWITCH} {BONES}", f"{WHILE} {DAYS}")


@pytest.mark.parametrize(
    ("until", "summary", "detail", "is_told"),
    [
        pytest.param("[1]. Purring m", f"{TWITCH} […]", LIONS, True, id="in the summary"),
        pytest.param('[1].", ', f"{TWITCH} {BONES}", LIONS, True, id="behind it"),
        pytest.param(
            "[2]. Kittens p", f"{TWITCH} {BONES}", f"{WHILE} […]\n\n{LIONS}", True, id="in how the detail begins"
        ),
    ],
)
async def test_what_stood_of_a_summary_stays_when_its_endpoint_dies_for_good(
    until: str, summary: str, detail: str, is_told: bool
) -> None:
    model = Dying(dies={"summary": [half(OPENED, until), ""]}, holds=IN_TIME)

    events = await research(deps_of(model))

    answer = final(events)["answer"]
    assert (answer["summary"], answer["detail"]) == (summary, detail)
    assert (NO_REST in answer["limitations"]) is is_told
    assert all(text is not None for _, text in shown(events))
    assert final(events)["metadata"]["stopped_because"] == BROKE_OFF


async def test_a_summary_that_broke_while_the_plan_was_made_is_written_on() -> None:
    """The model may be back; what stood there stays meanwhile."""
    whole = written(f"{TWITCH} {BONES}")
    model = Dying(whole, dies={"summary": [half(whole, "[1]. Purring m"), ""]}, holds={"plan": "summary dead 1"})

    events = await research(deps_of(model))

    assert final(events)["answer"]["summary"] == f"{TWITCH} {BONES}"
    assert [text for _, text in shown(events)] == [TWITCH, BONES, LIONS]


async def test_what_stands_when_the_time_is_over_shows_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODES, "quick", replace(QUICK, deadline_s=5.0))
    model = Dying(dies={"detail": [half(LONG, "day on [3]. A purr")]}, holds=IN_TIME, errors=(None,))

    done = final(await research(deps_of(model)))

    assert done["answer"]["detail"] == f"{LIONS} {MOVES} {DAYS} […]"
    assert NO_REST in done["answer"]["limitations"]
    assert done["metadata"]["stopped_because"] == OUT_OF_TIME


@pytest.mark.parametrize(
    ("until", "summary", "detail", "missing"),
    [
        ("[1]. Purring m", f"{TWITCH} […]", "", NO_DETAIL),
        ('[1].", ', f"{TWITCH} {BONES}", "", NO_DETAIL),
        ("[3]. Kittens p", f"{TWITCH} {BONES}", f"{WHILE.replace('2', '3')} […]", NO_REST),
    ],
    ids=["in the summary", "behind it", "in the detail"],
)
async def test_what_stood_of_an_answer_of_one_call_stays_as_well(
    until: str, summary: str, detail: str, missing: str
) -> None:
    """Its sentences are true however the call ended; without any the job fails, and can be tried again."""
    model = Dying(dies={"answer": [half(OPENED.replace("[2]", "[3]"), until), ""]})
    deps = make_deps(search=[Library("web")], model=model, settings=AT_ONCE)

    events = await research(deps)

    answer = final(events)["answer"]
    assert (answer["summary"], answer["detail"]) == (summary, detail)
    assert missing in answer["limitations"]
    assert all(text is not None for _, text in shown(events))


async def test_a_worker_killed_between_two_tries_costs_nothing_of_the_answer() -> None:
    """Whoever goes on writes it anew; it stands there once."""
    tables, journal = MemoryTables(), Journal()
    model = Dying(
        detail=LONG,
        dies={"detail": [half(LONG, "day on [3]. A purr"), ""]},
        holds=IN_TIME,
        errors=(ModelUnavailable("gone"), Died("killed")),
    )
    deps = make_deps(search=[Library("web")], model=model, settings=PARALLEL, tables=tables)
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION))
    with pytest.raises(Died):
        await run_job(job.id, deps, journal, is_resumable=True)

    await run_job(job.id, deps, journal, is_resumable=True)

    events = await deps.events.read(job.id)
    snapshot = Snapshot()
    for event in events:
        snapshot = snapshot.after(event)
    assert list(snapshot.sentences.values()) == [TWITCH, LIONS, MOVES, DAYS, WHILE]
    assert final(events)["answer"]["detail"] == f"{LIONS} {MOVES} {DAYS} {WHILE}"


@pytest.mark.parametrize("dies_after", [False, True])
@pytest.mark.parametrize("step", ["plan", "search", "synthesize"])
async def test_no_call_that_was_answered_is_paid_again_after_a_kill(step: str, dies_after: bool) -> None:
    """Whoever goes on begins from the same pages, asks for the same, and gives the same answer."""
    tables, model, journal = MemoryTables(), TwoCalls(holds=IN_TIME), Journal(dies_in=step, dies_after=dies_after)
    deps = make_deps(search=[Library("web")], model=model, settings=PARALLEL, tables=tables)
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION))
    with pytest.raises(Died):
        await run_job(job.id, deps, journal, is_resumable=True)

    journal.dies_in = ""
    await run_job(job.id, deps, journal, is_resumable=True)

    written = [call for call in model.done if call[0] != "check"]
    assert len(written) == len(set(written))
    done = final(await deps.events.read(job.id))
    assert done["answer"]["summary"] == TWITCH
    assert done["answer"]["detail"] == LIONS
    assert [source["id"] for source in done["sources"]] == ["src_1", "src_2", "src_3", "src_4"]


async def test_an_answer_of_one_call_stays_one_where_calls_do_not_run_at_once() -> None:
    """A model of one's own machine mostly answers one after the other."""
    model = TwoCalls()

    await research(make_deps(search=[Library("web")], model=model, settings=AT_ONCE))

    assert model.parts == ["plan", "answer"]


@pytest.mark.parametrize(
    ("late", "summary"),
    [pytest.param("detail", TWITCH, id="the detail"), pytest.param("summary", "", id="the summary")],
)
async def test_what_is_late_costs_itself(late: str, summary: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """D2: at the deadline the job ends with what it has; without a summary the sources are quoted."""
    monkeypatch.setitem(MODES, "quick", replace(QUICK, deadline_s=5.0))
    model = TwoCalls(holds={**IN_TIME, late: "never"})

    done = final(await research(deps_of(model)))

    assert done["status"] == "completed"
    assert done["metadata"]["stopped_because"] == OUT_OF_TIME
    assert done["answer"]["summary"] == summary or done["answer"]["notice"] == LATE_NOTICE
    assert bool(summary) != (done["answer"]["notice"] == LATE_NOTICE)


async def test_a_second_try_that_ends_without_a_word_takes_nothing_back() -> None:
    model = Dying(detail=written("", ""), dies={"detail": [half(LONG, "day on [3]. A purr")]}, holds=IN_TIME)

    events = await research(deps_of(model))

    answer = final(events)["answer"]
    assert (answer["summary"], answer["detail"]) == (TWITCH, f"{LIONS} {MOVES} {DAYS} […]")
    assert NO_REST in answer["limitations"]
    assert all(text is not None for _, text in shown(events))
