"""A deep research job from the question to the answer, with everything around it faked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from core.deep.viewing import COMPLETE, REFINING, STARTING, covered_items
from core.model.answer import Claim, Confidence, Evidence, JobResult, ResearchAnswer, Verdict
from core.model.config import DeepSettings, Settings, SynthesisSettings
from core.model.errors import ModelRejected, ModelUnavailable, ProviderTimeout
from core.model.job import JobStatus, Scope, Steering
from core.model.ports import ChatDelta, ChatRequest
from core.model.source import Page, SearchHit, SearchQuery
from core.tenancy.admission import BudgetSpent
from tests.core.deep.making import SOUND, address, deep_deps, page_text, pubmed, research, scripted, tavily
from tests.core.deep.world import CHLORIDE, QUESTION
from tests.fakes import FakeModel, FakePages, FakeSearch, make_job


def coverage(*levels: str) -> Callable[[ChatRequest], str]:
    """The same coverage of items 1, 2, … in every round, each carried by fact 1."""
    items = [
        {"id": str(number), "coverage": level, "facts": [1], "missing": "" if level == "satisfied" else "the rest"}
        for number, level in enumerate(levels, start=1)
    ]
    return lambda request: json.dumps({"items": items})


async def test_a_question_ends_in_an_answer_that_covers_the_checklist():
    """S002-06, S002-07, S002-12: refined, listed, searched, answered with markers and checked as every answer is.

    S002-09, S002-10: pages are read whole; a fact that stands at the end of one, beyond what the search showed, is
    found.
    """
    model = scripted()
    ran = await research(deep_deps(model=model))

    assert ran.job.status is JobStatus.COMPLETED
    answer = ran.result.answer
    assert "[1]" in answer.summary
    assert [citation for citation in answer.citations if not citation.verdict.carries] == []
    assert answer.stopped_because == ""
    assert ran.trace.state["stopped_because"] == "covered"
    assert len(ran.details["checklist_coverage"]["satisfied"]) == 3
    asked = [call.purpose for call in model.asked]
    assert len([purpose for purpose in asked if purpose != "check"]) == 5  # refine, three of a round, answer
    assert answer.metadata.model_calls == len(asked)
    facts = ran.trace.state["knowledge_base"]["facts"]
    found = [study for study in SOUND if study.conclusion in facts]
    assert found != []
    assert all(study.conclusion not in study.abstract for study in found)


async def test_pages_of_a_quick_service_are_read_while_a_slow_one_is_still_searching():
    """S002-09: PubMed asks twice, and pages that the web has found long since do not wait for it."""
    deps = deep_deps()
    is_read = asyncio.Event()

    class Telling(FakePages):
        async def fetch(self, url: str, *, known: Page | None = None) -> Page:
            is_read.set()
            return await super().fetch(url, known=known)

    class Late(FakeSearch):
        async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
            await is_read.wait()
            return await super().search(query, limit=limit, scope=scope)

    slow = pubmed(*SOUND)
    deps = replace(
        deps,
        pages=Telling({address(study): page_text(study) for study in CHLORIDE}),
        providers={**deps.providers, "pubmed": Late(slow.name, slow.hits, strength=slow.strength)},
    )

    ran = await research(deps)

    assert {source["type"] for source in ran.details["sources"]} == {"pubmed", "web"}


async def test_output_and_progress_are_those_of_the_specification():
    """S002-04: trace, answer, sources by type, coverage, iterations, status; PubMed sources carry their PMID.

    S002-13: lines in their words and their order. S002-02, S002-15, D9: refining is 0.1, the first round 0.3; the card
    comes along, at first the usual duration.
    """
    ran = await research(deep_deps())

    output = ran.details
    assert set(output) == {"trace_id", "answer", "sources", "checklist_coverage", "iterations_used", "status"}
    assert output["status"] == "completed"
    assert output["iterations_used"] == 1
    assert output["trace_id"] == ran.trace.id
    sources = output["sources"]
    assert {source["type"] for source in sources} == {"pubmed", "web"}
    assert all(set(source) == {"id", "type", "title", "url", "snippet"} for source in sources)
    known = ran.trace.state["knowledge_base"]["sources"]
    assert {source["pmid"] for source in known if source["type"] == "pubmed"} == {"1001", "1002", "1004"}
    assert ran.lines == [
        STARTING,
        REFINING,
        "✓ Generated checklist with 3 items to investigate",
        "🔄 Iteration 1/10",
        '  → Searching PubMed: "low[tiab] AND serum[tiab] AND chloride[tiab]"',
        '  → Searching Web: "low serum chloride risk studies found"',
        "  → Processing 6 results...",
        "  → Checklist: 3/3 items satisfied",
        COMPLETE,
    ]
    told = [event.data for event in ran.events if "card" in (event.data.get("data") or {})]
    shares = {entry["data"]["stage"]: entry["progress"] for entry in reversed(told)}
    progress = [event.data["progress"] for event in ran.events if "progress" in event.data]
    assert progress == sorted(progress)
    assert shares["refining"] == 0.1
    assert shares["iteration_1"] == 0.3
    assert told[0]["data"]["note"] == "Deep research typically takes 1–3 minutes."
    searching = next(entry["data"] for entry in told if "queries" in entry["data"])
    assert searching["iteration"] == 1
    assert len(searching["queries"]) == 2
    assert [item["coverage"] for item in told[-1]["data"]["card"]["checklist"]] == ["satisfied"] * 3


async def test_searches_of_a_round_are_one_of_each_kind_and_one_that_fails_costs_only_itself():
    """S002-08, S002-09: PubMed gets PubMed syntax and the web plain words; without PubMed the web still answers."""
    broken = pubmed(error=ProviderTimeout("pubmed", "no answer in 10 s"))
    web = tavily(*SOUND)

    ran = await research(deep_deps(search=(broken, web)))

    assert ran.result.providers == ("tavily",)
    assert "[tiab]" in broken.asked[0].text
    assert "[" not in web.asked[0].text
    assert any("PubMed gave nothing" in line for line in ran.result.answer.limitations)


async def test_the_trace_is_written_with_state_and_figures():
    """S002-16, S002-17, S002-18, D5: question, checklist, knowledge, iterations as lists; five figures."""
    queries = {"pubmed": ["chloride[tiab]"], "web": ["low serum chloride risk", "serum chloride mortality"]}
    model = scripted(queries=lambda request: json.dumps(queries))
    ran = await research(deep_deps(model=model), context="for a lecture", max_iterations=4)

    trace = ran.trace
    assert trace.status == "completed"
    assert trace.input_params == {
        "question": ran.job.query, "context": "for a lecture", "max_iterations": 4,
    }  # fmt: skip
    state = trace.state
    assert state["refined_question"] == ran.job.query
    assert {"id", "description", "satisfied", "coverage", "evidence"} <= state["checklist"][0].keys()
    assert state["checklist"][0]["evidence"]
    assert [entry.get("pmid") for entry in state["knowledge_base"]["sources"]].count("1001") == 1
    iteration = {"iteration": 1, "results_count": 6, "checklist_progress": "3/3"}
    assert iteration.items() <= state["iterations"][0].items()
    figures = {"total_iterations": 1, "pubmed_queries": 1, "web_queries": 2, "sources_processed": 6}
    assert figures.items() <= trace.metrics.items()
    assert trace.metrics["llm_calls"] == len(model.asked)
    assert set(trace.result) == {"answer", "sources", "checklist_coverage"}


@pytest.mark.parametrize(
    ("levels", "rounds"),
    [
        pytest.param(("satisfied", "satisfied", "satisfied"), 1, id="all satisfied"),
        pytest.param(("satisfied", "satisfied", "partial"), 1, id="two of three, the third in part"),
        pytest.param(("satisfied", "partial", "partial"), 3, id="one of three is not good coverage"),
        pytest.param(("satisfied", "satisfied", "unsatisfied"), 3, id="nothing at all on the third"),
    ],
)
async def test_good_coverage_ends_the_search(levels: tuple[str, ...], rounds: int):
    """S002-11: all satisfied, or partial with good coverage; else two rounds without anything new end it."""
    ran = await research(deep_deps(model=scripted(coverage=coverage(*levels))))

    assert ran.details["iterations_used"] == rounds
    assert ran.trace.state["stopped_because"] == ("covered" if rounds == 1 else "nothing_new")


async def test_what_was_not_found_is_named():
    """S002-12: every item that is not covered stands among the limitations, with what is missing."""
    usual = scripted().answers["facts"]

    def facts(request: ChatRequest) -> str:
        found = json.loads(usual(request))["facts"]
        return json.dumps({"facts": [fact for fact in found if fact["items"] != ["3"]]})

    def check(request: ChatRequest) -> str:
        rows = json.loads(coverage("satisfied", "partial", "unsatisfied")(request))["items"]
        return json.dumps({"items": [*rows[:2], {**rows[2], "facts": []}]})

    ran = await research(deep_deps(model=scripted(facts=facts, coverage=check)))

    limitations = ran.result.answer.limitations
    assert any(line.startswith("Only partly found: Who was studied") and "the rest" in line for line in limitations)
    assert any(line.startswith("Not found: How low serum") for line in limitations)
    assert len(ran.details["checklist_coverage"]["gaps"]) == 2
    assert "partial coverage" in ran.details["checklist_coverage"]["gaps"][0]


async def test_the_number_of_rounds_is_a_limit():
    """S002-03, S002-04: it ends with what there is, and says so."""
    model = scripted(coverage=coverage("satisfied", "unsatisfied", "unsatisfied"))

    ran = await research(deep_deps(model=model), max_iterations=1)

    assert ran.details["status"] == "max_iterations_reached"
    assert ran.details["iterations_used"] == 1
    assert ran.result.answer.stopped_because == "1 round was allowed"
    assert ran.result.answer.summary


async def test_the_time_is_a_limit():
    """S002-14, S002-21, D2: no round is begun that would leave no time to write; what there is is answered from."""
    settings = Settings(deep=DeepSettings(max_runtime_s=100.0, write_reserve_s=100.0))

    ran = await research(deep_deps(settings=settings))

    assert ran.job.status is JobStatus.COMPLETED
    assert ran.trace.state["stopped_because"] == "out_of_time"
    assert ran.details["iterations_used"] == 0
    assert "minutes was reached" in ran.result.answer.stopped_because


async def test_the_budget_is_a_limit():
    """A month's money that is used up while a job runs ends its search, not the job."""

    async def spent(request: object) -> None:
        raise BudgetSpent("spent")

    ran = await research(replace(deep_deps(), check_budget=spent))

    assert ran.job.status is JobStatus.COMPLETED
    assert ran.trace.state["stopped_because"] == "budget"


async def test_a_model_that_fails_later_leaves_the_answer_that_can_be_given():
    """S002-21: the search ends, the facts found so far are answered from, and the reason is told."""
    usual = scripted()
    turns = [usual.answers["queries"], ModelUnavailable("away", user_message="The model is away.")]
    partly = coverage("satisfied", "unsatisfied", "unsatisfied")

    ran = await research(deep_deps(model=scripted(queries=turns, coverage=partly)))

    assert ran.job.status is JobStatus.COMPLETED
    assert ran.trace.state["stopped_because"] == "failure"
    assert "The model is away" in ran.result.answer.stopped_because
    assert ran.result.answer.citations


async def test_an_item_whose_facts_are_in_the_answer_is_never_not_found_though_no_check_could_be_made():
    """S002-11: the coverage call fails in every round; what stands in the answer is there all the same."""
    ran = await research(deep_deps(model=scripted(coverage=ModelUnavailable("away", user_message="Away."))))

    assert ran.result.answer.citations
    assert [line for line in ran.result.answer.limitations if line.startswith("Not found")] == []
    gaps = ran.details["checklist_coverage"]["gaps"]
    assert gaps
    assert all(gap.endswith("partial coverage") for gap in gaps)
    items = covered_items(ran.result)
    assert [item.stand for item in items] == ["◐ partly"] * 3
    assert all("[" in item.line for item in items)
    assert [row["coverage"] for row in ran.trace.state["checklist"]] == ["partial"] * 3


def test_an_item_whose_sentence_rests_on_what_was_retracted_is_covered_no_longer():
    """D18: its line shows what still carries it, and its mark is no ✓. Where nothing does, or nothing stands there of
    what was found in part, it is not found.
    """
    struck = Evidence("src_1", "Bathers slept longer.", 0, 21, Verdict.UNSUPPORTED)
    sound = Evidence("src_2", "Bathers were happier.", 0, 21, Verdict.SUPPORTED)
    claims = (
        Claim("detail-0", "Bathers slept longer after swimming.", Verdict.UNSUPPORTED, (struck,)),
        Claim("detail-1", "Bathers were happier in winter.", Verdict.SUPPORTED, (struck, sound)),
    )
    answer = ResearchAnswer("", "", Confidence.LOW, claims=claims)
    told = {
        "satisfied": ["Who slept longer after swimming", "Who was happier in winter"],
        "gaps": ["Salts of the sea - partial coverage", "Bathers in winter - partial coverage"],
    }

    items = covered_items(JobResult(answer, details={"checklist_coverage": told}))

    assert [(item.stand, item.line) for item in items] == [
        ("○ not found", ""), ("✓", "Bathers were happier in winter [2]."),
        ("○ not found", ""), ("◐ partly", "Bathers were happier in winter [2]."),
    ]  # fmt: skip


async def test_a_step_that_the_limit_cuts_off_says_that_time_ran_out():
    """S002-20: not that the model failed, which it did not."""
    deep = DeepSettings(max_runtime_s=3.0, write_reserve_s=2.0)
    slow = SlowAt("facts", scripted())

    ran = await research(deep_deps(model=slow, settings=Settings(deep=deep)))

    assert "model failed" not in str((ran.job.error, ran.result and ran.result.answer))
    assert ran.job.status is JobStatus.FAILED
    assert ran.job.error.message == "This took longer than it may; please try again."
    assert ran.job.error.retryable


async def test_a_later_step_that_the_limit_cuts_off_leaves_the_answer_that_can_be_given():
    deep = DeepSettings(max_runtime_s=8.0, write_reserve_s=6.0)

    ran = await research(deep_deps(model=SlowAt("coverage", scripted()), settings=Settings(deep=deep)))

    assert ran.job.status is JobStatus.COMPLETED
    assert ran.trace.state["stopped_because"] == "out_of_time"
    assert "minutes was reached" in ran.result.answer.stopped_because
    assert "failed" not in ran.result.answer.stopped_because
    assert ran.result.answer.citations


@dataclass
class SlowAt:
    """A model that never ends one sort of step."""

    purpose: str
    usual: FakeModel
    name: str = "fake-1"

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if request.purpose == self.purpose:
            await asyncio.Event().wait()
        async for delta in self.usual.stream(request):
            yield delta


async def test_a_model_that_fails_at_once_fails_the_job_in_words():
    """S002-21, S002-19: the trace says why, too."""
    ran = await research(deep_deps(model=scripted(refine=ModelUnavailable("away", user_message="The model is away."))))

    assert ran.job.status is JobStatus.FAILED
    assert ran.job.error.message == "The model is away."
    assert ran.trace.status == "failed"
    assert ran.trace.error_message == "The model is away."


async def test_without_a_model_it_says_how_to_set_one():
    """No rule can replace the model here."""
    ran = await research(replace(deep_deps(), model=None))

    assert ran.job.status is JobStatus.FAILED
    assert ran.job.error.message.startswith("Deep research needs a language model; none is set up here.")
    assert "OPENAI_API_KEY" in ran.job.error.cause
    assert "OPENAI_BASE_URL" in ran.job.error.cause


async def test_all_providers_down_fails_the_job():
    """D11: nothing was searched, which is another thing than nothing found."""
    down = [replace(search, error=ProviderTimeout(search.name, "no answer")) for search in (pubmed(), tavily())]

    ran = await research(deep_deps(search=tuple(down)))

    assert ran.job.status is JobStatus.FAILED
    assert ran.job.error.code == "SEARCH_FAILED"


async def test_an_answer_that_covers_no_point_of_its_checklist_is_low_and_says_so_first(
    monkeypatch: pytest.MonkeyPatch,
):
    """D23: its sentences may each be supported; what the question needs is not told."""
    monkeypatch.setattr("core.deep.research.settled", lambda state, claims: state)  # as where no fact is told

    answer = (await research(deep_deps(model=scripted(coverage=coverage(*["unsatisfied"] * 3))))).result.answer

    assert answer.confidence == "low"
    assert answer.confidence_reasons[0] == "nothing that the question needs was found"
    assert answer.limitations[0].startswith("Not found")


async def test_nothing_found_is_an_honest_answer():
    """D11: the answer says what was searched for; no fact is made up."""
    ran = await research(deep_deps(search=(pubmed(), tavily())))

    assert ran.job.status is JobStatus.COMPLETED
    assert ran.result.answer.confidence == "insufficient"
    assert ran.trace.state["stopped_because"] == "nothing_new"
    assert len(ran.details["checklist_coverage"]["gaps"]) == 3


async def test_a_retracted_paper_is_shown_and_supports_nothing():
    """S002-22: its quality is told, a limitation names it, and no fact or citation rests on it."""
    retracted = CHLORIDE[2]
    papers = pubmed(*CHLORIDE)
    papers.hits = [replace(h, title=h.title.replace("Retracted:", "[Retracted]")) for h in papers.hits]

    ran = await research(deep_deps(search=(papers, tavily(*SOUND))))

    known = ran.trace.state["knowledge_base"]["sources"]
    shown = {source["pmid"]: source for source in known if "pmid" in source}
    assert shown[retracted.pmid]["quality"] == "retracted"
    assert shown["1001"]["quality"] == "peer-reviewed"
    number = shown[retracted.pmid]["id"].removeprefix("src_")
    assert f"Source {number} was retracted or withdrawn and supports nothing here." in ran.result.answer.limitations
    assert all(citation.source_id != f"src_{number}" for citation in ran.result.answer.citations)
    assert not any("supplements" in fact for fact in ran.trace.state["knowledge_base"]["facts"])


@pytest.mark.parametrize(
    ("fact", "quote", "is_kept"),
    [
        pytest.param(SOUND[0].conclusion, SOUND[0].conclusion, True, id="word for word"),
        pytest.param(
            SOUND[0].conclusion, "words that stand nowhere in it", True, id="an invented quote of a true fact"
        ),
        pytest.param("Serum chloride has no bearing on mortality in Belgium.", SOUND[0].conclusion, False, id="denied"),
        pytest.param("Chloride was measured in 20000 dogs.", "", False, id="made up"),
    ],
)
async def test_facts_are_bound_to_the_words_of_their_source(fact: str, quote: str, is_kept: bool):
    """S002-10: what the source does not say is dropped, and a quote is always the source's own."""
    row = {"fact": fact, "items": ["1"], "source": "1", "quote": quote}
    only = tavily(SOUND[0])

    ran = await research(deep_deps(search=(only,), model=scripted(facts=json.dumps({"facts": [row]}))))

    evidence = ran.trace.state["knowledge_base"]["evidence"]
    assert [entry["fact"] for entry in evidence] == ([fact] if is_kept else [])
    text = "\n\n".join([*(text for _, text in SOUND[0].sections), SOUND[0].conclusion])
    assert all(entry["quote"] == text[entry["start"] : entry["end"]] for entry in evidence)
    assert address(SOUND[0]) in {source["url"] for source in ran.details["sources"]}


async def test_what_is_said_meanwhile_is_heard_at_the_next_round():
    """An item that is added is searched for, one that is dropped is not missed, and a wish reaches every prompt."""
    deps = deep_deps(model=scripted())
    await deps.jobs.save(make_job(QUESTION))
    await deps.jobs.steer("job_1", Steering("add_item", "Which dose of chloride was given"))
    await deps.jobs.steer("job_1", Steering("drop_item", "2"))
    await deps.jobs.steer("job_1", Steering("constraint", "only adults"))

    ran = await research(deps)

    described = [item["description"] for item in ran.trace.state["checklist"]]
    assert "Which dose of chloride was given" in described
    assert len(described) == 3
    assert not any(text.startswith("Who was studied") for text in described)
    assert "- only adults" in deps.model.calls("queries")[0].user
    assert "  → Added: Which dose of chloride was given" in ran.lines
    assert ran.trace.state["constraints"] == ["only adults"]


async def test_answer_now_ends_the_search_before_the_next_round():
    """What was found until then is answered from."""
    deps = deep_deps()
    usual = scripted(coverage=coverage("satisfied", "unsatisfied", "unsatisfied"))

    async def say(request: object) -> None:
        if usual.calls("coverage") and not await deps.jobs.steered("job_1"):
            await deps.jobs.steer("job_1", Steering("answer_now"))

    deps = replace(deps, model=usual, check_budget=say)
    ran = await research(deps, max_iterations=5)

    assert ran.trace.state["stopped_because"] == "asked"
    assert ran.details["iterations_used"] <= 2
    assert ran.result.answer.citations


async def test_going_deeper_makes_more_rounds_than_coverage_needs():
    """Two more, whatever is covered."""
    deps = deep_deps()
    await deps.jobs.save(make_job(QUESTION))
    await deps.jobs.steer("job_1", Steering("go_deeper"))

    ran = await research(deps)

    assert ran.details["iterations_used"] == 2
    assert ran.trace.state["stopped_because"] == "covered"


@dataclass
class Hurried(FakeModel):
    """While the `turn`-th call of a purpose is made, somebody wants the answer now; the call never ends, or `ends`."""

    purpose: str = ""
    turn: int = 1
    ends: bool = False
    hurry: Callable[[], Awaitable[object]] | None = None

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if request.purpose == self.purpose and len(self.calls(request.purpose)) == self.turn - 1:
            assert self.hurry is not None
            await self.hurry()
            if not self.ends:
                self.asked.append(request)
                await asyncio.Event().wait()
        async for delta in super().stream(request):
            yield delta


@pytest.mark.parametrize("purpose", ["queries", "facts"])
async def test_the_answer_does_not_wait_for_a_round_that_has_begun(purpose: str):
    """S002-03: "answer now" in round 2 drops what is not finished; what was found before is the answer."""
    partly = scripted(coverage=coverage("satisfied", "partial", "unsatisfied"))
    model = Hurried(partly.answers, purpose=purpose, turn=2)
    deps = deep_deps(model=model, settings=Settings(deep=DeepSettings(listen_s=0.001, sources_per_round=3)))
    model.hurry = lambda: deps.jobs.steer("job_1", Steering("answer_now"))

    ran = await research(deps)

    assert ran.result.answer.stopped_because == "you asked for the answer"
    assert "[1]" in ran.result.answer.summary
    assert ran.details["iterations_used"] == 2
    assert len(model.calls("answer")) == 1
    assert [round_["new_facts"] > 0 for round_ in ran.trace.state["iterations"]] == [True, False]


async def test_before_the_first_fact_the_round_is_finished():
    """There must be something to answer from."""
    model = Hurried(scripted().answers, purpose="facts", ends=True)
    deps = deep_deps(model=model, settings=Settings(deep=DeepSettings(listen_s=0.001)))
    model.hurry = lambda: deps.jobs.steer("job_1", Steering("answer_now"))

    ran = await research(deps)

    assert ran.result.answer.stopped_because == "you asked for the answer"
    assert ran.details["iterations_used"] == 1
    assert "[1]" in ran.result.answer.summary


@pytest.mark.parametrize("fails", [0, 1, 3])
async def test_facts_of_a_round_are_taken_by_three_calls_at_once_and_one_that_fails_costs_only_its_own(fails: int):
    """Each reads a third of the sources under their own numbers; without any there is nothing to answer from."""
    usual = scripted().answers["facts"]
    asked: list[ChatRequest] = []

    def facts(request: ChatRequest) -> str:
        asked.append(request)
        if len(asked) <= fails or fails == 3:
            raise ModelRejected("no")
        return usual(request)  # type: ignore[operator, no-any-return]

    settings = Settings(synthesis=SynthesisSettings(is_parallel=True))
    ran = await research(deep_deps(model=scripted(facts=facts), settings=settings))

    numbers = [set(re.findall(r'<source id="(\d+)"', request.user)) for request in asked[:3]]
    assert not numbers[0] & numbers[1] | numbers[0] & numbers[2] | numbers[1] & numbers[2]
    assert ran.job.status is (JobStatus.FAILED if fails == 3 else JobStatus.COMPLETED)


class Foreseeing(FakeModel):
    """The last item of its check comes once the next round's queries are asked for, and `meanwhile` is over.

    Where it `stalls` it does not go on with the queries that it is asked for first then.
    """

    def __init__(self, answers):
        super().__init__(answers)
        self.is_asked_again, self.meanwhile, self.stalls = asyncio.Event(), [], False

    async def stream(self, request):
        if request.purpose == "queries" and self.calls("queries"):
            self.is_asked_again.set()
        is_held = request.purpose == "coverage" and not self.is_asked_again.is_set()
        text = "".join([delta.text async for delta in super().stream(request)])
        begun = text.rindex("{") + 1 if is_held else 0
        yield ChatDelta(text[:begun])
        if self.stalls and request.purpose == "queries" and len(self.calls("queries")) == 2:
            await asyncio.Event().wait()
        if is_held:
            await asyncio.wait_for(self.is_asked_again.wait(), 10)
            for said in self.meanwhile:
                await said
        yield ChatDelta(text[begun:])


@pytest.mark.parametrize("is_steered", [False, True])
async def test_queries_are_worded_while_the_last_items_are_checked(is_steered: bool):
    """Once one item is known to lack something; anew where something was said since."""
    model = Foreseeing(scripted(coverage=coverage("satisfied", "partial", "unsatisfied")).answers)
    deps = deep_deps(model=model, settings=Settings(synthesis=SynthesisSettings(is_parallel=True)))
    if is_steered:
        model.meanwhile = [deps.jobs.steer("job_1", Steering("constraint", "only adults"))]

    ran = await research(deps, max_iterations=2)

    asked = model.calls("queries")
    assert [("only adults" in request.user) for request in asked] == [False, False, *([True] if is_steered else [])]
    assert ran.details["iterations_used"] == 2
    assert ran.job.status is JobStatus.COMPLETED


@pytest.mark.parametrize("stalls", [False, True], ids=["whole", "given up"])
async def test_queries_that_were_worded_in_vain_are_paid_and_counted(stalls: bool):
    """Whether they were whole by the time that something was said, or are given up at the end."""
    model = Foreseeing(scripted(coverage=coverage("satisfied", "partial", "unsatisfied")).answers)
    deps = deep_deps(model=model, settings=Settings(synthesis=SynthesisSettings(is_parallel=True)))
    model.stalls = stalls
    model.meanwhile = [deps.jobs.steer("job_1", Steering("constraint", "only adults"))]

    ran = await research(deps, max_iterations=2)

    assert len(model.calls("queries")) == 3
    assert ran.result.answer.metadata.model_calls == len(model.asked)
