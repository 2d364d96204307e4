"""The spine: a job from the queue to its last event, whatever happens on the way."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from adapters.records.jobs import SqlJobStore
from core.evidence.judge import NO_VERDICTS
from core.model.answer import Confidence
from core.model.config import SearchSettings, Settings
from core.model.errors import ModelRejected, ModelTimeout, ModelUnavailable, PageStatus, ProviderUnavailable, StoreError
from core.model.job import JobStatus, ResearchRequest
from core.model.source import SearchHit, SourceKind
from core.modes.quick import MODE as QUICK
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation import wording
from core.presentation.card import answer_card
from core.stages.synthesize import LATE_NOTICE, NOT_DIRECT, QUOTED_NOTICE, SILENT_NOTICE, UNCONFIRMED_NOTICE
from core.tenancy.settings import SourcePolicy
from core.text.saying import say, speaking
from tests.core.cats import PLAN, PURR, QUESTION, cat_search, final, research, written
from tests.fakes import FakeModel, FakeSearch, Idle, Ledger, hit, is_control, make_deps
from tests.records import MemoryTables

NOTHING_HOLDS = json.dumps({"verdicts": [{"item": 1, "verdict": "unsupported", "reason": "not there"}]})


async def test_a_question_becomes_a_cited_answer_and_every_stage_is_told_and_measured() -> None:
    """S003-22: statuses in order, sources, sentences, and the whole answer last; S003-26: the time of every stage."""
    answer = written("Cats purr because the muscles of the larynx twitch [1].")
    deps = make_deps(search=[cat_search()], model=FakeModel({"plan": PLAN, "answer": answer}))

    events = await research(deps)

    stages = [event.data["stage"] for event in events if event.type == "status"]
    assert stages == ["planning", "searching", "fetching", "synthesizing"]
    assert [event.data["url"] for event in events if event.type == "source"] == ["https://cats.example/purr"]
    sentences = [event.data for event in events if event.type == "answer"]
    assert [(row["text"], row["mark"]) for row in sentences] == [
        ("Cats purr because the muscles of the larynx twitch [1].", "✓")
    ]
    done = final(events)
    assert done["status"] == "completed"
    assert done["answer"]["summary"] == "Cats purr because the muscles of the larynx twitch [1]."
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert isinstance(deps.record, Ledger)
    for stage in ("intake", "plan", "search", "synthesize", "deliver"):
        assert len(deps.record.values("pipeline_stage_duration_seconds", stage)) == 1, stage
    assert deps.record.values("cache_lookup") == [0]


async def test_a_mode_works_with_the_model_that_is_named_for_it() -> None:
    """D6: one model for all modes unless overridden; the answer names it, and costs what it costs."""
    answers = {
        "plan": PLAN,
        "answer": written("Cats purr because the larynx twitches [1]."),
        "check": "{}",
        "answers": "{}",
    }
    usual, named = FakeModel(answers), FakeModel(answers, name="named")
    settings = Settings(prices_usd_per_million={"named": (1.0, 1.0)})
    deps = replace(make_deps(search=[cat_search()], model=usual, settings=settings), models={"quick": named})
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION))

    await run_job(job.id, deps, DirectSteps())

    result = await deps.jobs.result(job.id)
    assert usual.asked == []
    assert result.answer.metadata.model == "named"
    said = [answers["answers" if call.schema_name == "answers" else call.purpose] for call in named.asked]
    tokens = sum(len(call.user) // 4 + len(text) // 4 for call, text in zip(named.asked, said, strict=True))
    assert result.answer.metadata.cost_usd == pytest.approx(tokens / 1e6)


async def test_a_check_model_judges_instead_of_the_writer_and_costs_what_it_costs() -> None:
    """N-01: a fact-check model is asked pair by pair; whether the summary answers is left to the rules then."""
    claim = "A cat's larynx makes the sound of purring [1]."
    writer = FakeModel({"plan": PLAN, "answer": written(claim)})
    checker = FakeModel(
        {"check": lambda request: "No" if is_control(request.user) else "Yes"}, name="bespoke-minicheck"
    )
    settings = Settings(prices_usd_per_million={"fake-1": (0.0, 0.0), "bespoke-minicheck": (1.0, 1.0)})
    deps = replace(make_deps(search=[cat_search()], model=writer, settings=settings), check_model=checker)

    done = final(await research(deps))

    assert writer.calls("check") == writer.calls("answers") == []
    assert [call.user.startswith("Document: Purring\n") for call in checker.asked] == [
        not is_control(call.user) for call in checker.asked
    ]
    assert done["citations"][0]["verdict"] == "supported"
    assert done["metadata"]["cost_usd"] == pytest.approx(
        sum(len(call.user) // 4 + len("Yes") // 4 for call in checker.asked) / 1e6
    )


async def test_without_a_model_it_is_said_that_a_wish_makes_nothing_shorter() -> None:
    done = final(await research(make_deps(search=[cat_search()]), feedback="shorter, please"))

    assert "a wish changes only what is searched for" in done["answer"]["notice"]


async def test_without_a_model_the_answer_is_quoted_word_for_word_and_says_so() -> None:
    """Every sentence stands in its source, its quote is literal, and the notice names why."""
    deps = make_deps(search=[cat_search()])

    done = final(await research(deps))

    assert done["answer"]["notice"] == QUOTED_NOTICE == "quoted from the sources; no language model wrote it"
    assert "the muscles of the larynx twitch" in done["answer"]["summary"]
    for citation in done["citations"]:
        assert citation["quote"] == PURR[citation["start"] : citation["end"]]
        assert citation["claim"] in PURR
        assert citation["verdict"] == "supported"


async def test_a_pages_own_footnotes_do_not_read_as_our_citations() -> None:
    """S003-14: `[12]` in an encyclopedia's text is no marker of ours."""
    text = "Cats purr because the muscles of the larynx twitch about 25 times a second.[12][3] It calms them."
    deps = make_deps(search=[FakeSearch("web", [hit("https://cats.example/x", text, is_complete=True)])])

    done = final(await research(deps))

    assert "a second [1]." in done["answer"]["summary"]
    assert "[12]" not in done["answer"]["summary"]
    assert done["citations"][0]["quote"] in text


async def test_a_citation_to_a_source_that_does_not_exist_never_reaches_a_reader() -> None:
    """S003-14: invented numbers are dropped from the text, the citations and the events."""
    answer = written("Cats purr because the muscles of the larynx twitch [1][7]. Purring may help bones heal [9].")
    deps = make_deps(search=[cat_search()], model=FakeModel({"plan": PLAN, "answer": answer}))

    events = await research(deps)

    done = final(events)
    shown = json.dumps([event.data for event in events if event.type == "answer"]) + done["answer"]["summary"]
    assert "[7]" not in shown
    assert "[9]" not in shown
    assert {citation["source_id"] for citation in done["citations"]} == {"src_1"}


async def test_what_no_source_says_is_cut_and_listed() -> None:
    """An unsupported sentence is never shown as fact, in the stream or in the answer."""
    lie = "Purring was invented by the Romans in 12 BC to calm soldiers [1]."
    answer = written(f"Cats purr because the muscles of the larynx twitch [1]. {lie}")
    deps = make_deps(search=[cat_search()], model=FakeModel({"plan": PLAN, "answer": answer}))

    events = await research(deps)

    done = final(events)
    assert "Romans" not in done["answer"]["summary"]
    assert ["Romans" in row["text"] for row in done["answer"]["removed"]] == [True]
    shown = [event.data["text"] for event in events if event.type == "answer" and event.data["text"]]
    assert not any("Romans" in str(text) for text in shown)


async def test_a_quote_that_the_source_does_not_hold_is_replaced_by_the_passage() -> None:
    """S003-14, D4: a quote is literal or it is not shown."""
    claim = "Cats purr because the muscles of the larynx twitch"
    given = {"claim": f"{claim} [1].", "source_id": "src_1", "quote": "muscles of the larynx never twitch"}
    deps = make_deps(
        search=[cat_search()],
        model=FakeModel({"plan": PLAN, "answer": written(f"{claim} [1].", citations=[given])}),
    )

    (citation,) = final(await research(deps))["citations"]

    assert citation["quote"] == PURR[citation["start"] : citation["end"]]
    assert "never" not in citation["quote"]


async def test_no_relevant_source_is_an_insufficient_answer_that_says_what_was_searched() -> None:
    """S003-23, D11: completed, insufficient, with the queries and providers."""
    deps = make_deps(search=[FakeSearch("web")])

    done = final(await research(deps))

    assert (done["status"], done["answer"]["confidence"]) == ("completed", Confidence.INSUFFICIENT)
    assert QUESTION in done["answer"]["summary"]
    assert "in web." in done["answer"]["summary"]
    assert done["citations"] == []


async def test_where_only_some_sources_count_no_answer_says_so() -> None:
    """N-19: a page that would have answered was found, and does not count there."""
    done = final(await research(make_deps(search=[cat_search()]), policy=SourcePolicy(allow=("who.int",))))

    assert done["answer"]["confidence"] == "insufficient"
    assert "Only these sources count here: who.int." in done["answer"]["summary"]


ENGLISH_PAGE = hit(
    "https://mill.example/", "The Ostrava tide mill grinds 40 tonnes of grain a day. " * 9, is_complete=True
)


@pytest.mark.parametrize(
    ("question", "hits", "model", "is_told"),
    [
        ("Wie viele Tonnen mahlt die Mühle in Ostrava?", [ENGLISH_PAGE], None, True),
        ("Wer hat die Mühle gebaut?", [], None, True),
        (
            "Wie viele Tonnen mahlt die Mühle in Ostrava?",
            [ENGLISH_PAGE],
            FakeModel({"plan": PLAN, "answer": written("")}),
            False,
        ),
        ("Which museum in Brest shows paintings by Turner?", [ENGLISH_PAGE], None, False),
        ("Who built the mill?", [], None, False),
    ],
)
async def test_where_words_of_two_languages_would_have_to_meet_the_first_line_says_what_helps(
    question: str, hits: list[SearchHit], model: FakeModel | None, *, is_told: bool
) -> None:
    """Right behind that nothing was found, in the language of the question."""
    done = final(await research(make_deps(search=[FakeSearch("web", hits)], model=model), question))

    assert done["answer"]["confidence"] == "insufficient"
    with speaking("de"):
        sentence = f"{say(wording.NO_ANSWER)} {say(wording.OTHER_LANGUAGE)}"
    assert done["answer"]["summary"].startswith(sentence) is is_told


async def test_pages_that_were_found_and_left_out_are_named_where_nothing_answers() -> None:
    """D11: "nothing found" would not be true."""
    elsewhere = [
        hit(f"https://{at}.example/", f"Bread rises in a warm oven {at}. " * 9, is_complete=True) for at in range(2)
    ]

    done = final(await research(make_deps(search=[FakeSearch("web", elsewhere)])))

    assert done["answer"]["confidence"] == "insufficient"
    assert done["answer"]["limitations"] == [
        "2 of 2 pages were left out, for sharing next to no word with the question: 0.example, 1.example."
    ]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (written("I'm sorry, but I can't help with that."), "failed"),
        ("I cannot assist with this request, as it is against my rules.", "failed"),
        (written("Es tut mir leid, dabei kann ich nicht helfen."), "failed"),
        (written("I'm sorry, but the provided sources do not say how long."), "completed"),
    ],
    ids=["object", "prose", "german", "it speaks of the sources"],
)
async def test_a_model_that_declines_is_told_as_that_and_nothing_is_said_of_the_sources(said: str, status: str) -> None:
    """D11: "the sources do not answer it" would be said of sources that nobody was willing to read."""
    caffeine = "The half-life of caffeine in healthy adults is about 5 hours. Smoking shortens it by half."
    search = FakeSearch("web", [hit("https://a.example/", caffeine, title="Caffeine", is_complete=True)])
    deps = make_deps(search=[search], model=FakeModel({"plan": PLAN, "answer": said}))

    done = final(await research(deps, "How long does caffeine stay in the body?"))

    assert done["status"] == status
    assert (done["error"] is None) == (status == "completed")
    if done["error"]:
        assert done["error"]["message"] == "The model declined to answer this question; please rephrase it."


@pytest.mark.parametrize(
    ("answer", "notice"),
    [
        ("", SILENT_NOTICE),
        ("Purring was invented by the Romans in 12 BC to calm soldiers [1].", UNCONFIRMED_NOTICE),
        ("58.558019811111118 [1]", UNCONFIRMED_NOTICE),
    ],
    ids=["empty", "all is cut", "noise"],
)
async def test_a_source_that_answers_is_quoted_where_nothing_of_the_models_answer_is_left(
    answer: str, notice: str
) -> None:
    """S003-14, S003-23: no worse than without a model, said honestly; what was cut is listed and not shown."""
    model = FakeModel({"plan": PLAN, "answer": written(answer), "check": NOTHING_HOLDS})

    events = await research(make_deps(search=[cat_search()], model=model))

    done = final(events)
    assert "the muscles of the larynx twitch" in done["answer"]["summary"]
    assert done["answer"]["notice"] == notice
    assert notice.startswith("quoted from the sources; the model")
    assert [row["text"] for row in done["answer"]["removed"]] == ([answer.replace(" [1]", "")] if answer else [])
    shown = {event.data["id"]: event.data["text"] for event in events if event.type == "answer"}
    assert all(text.partition(" [1]")[0] in PURR for text in shown.values())
    assert done["metadata"]["tokens"] > sum(len(call.user) // 4 for call in model.calls("answer"))


@pytest.mark.parametrize("answer", ["", "Cats sleep on the roof at night [1]."], ids=["empty", "all is cut"])
async def test_a_model_that_finds_no_answer_makes_it_insufficient(answer: str) -> None:
    """D11: sources were read, none answers; nothing is made up, nothing near is quoted."""
    model = FakeModel({"plan": PLAN, "answer": written(answer), "check": NOTHING_HOLDS})
    deps = make_deps(search=[cat_search()], model=model)

    done = final(await research(deps, "Where do purring cats sleep at night?"))

    assert done["answer"]["confidence"] == "insufficient"
    assert done["answer"]["notice"] == ""
    assert len(done["sources"]) == 1
    assert len(done["answer"]["removed"]) == (1 if answer else 0)


async def test_a_quote_that_is_only_near_the_question_says_why_it_is_low() -> None:
    """The reason beside the level is the one that decided, not that of a level above it."""
    page = "Lazy imports should not be turned on by the user of a program. They are turned on by its developer alone."
    press = SourceKind.ESTABLISHED_PRESS
    found = hit("https://a.example/lazy", page, title="Lazy imports", is_complete=True, kind=press)

    done = final(await research(make_deps(search=[FakeSearch("web", [found])]), "How do I turn on lazy imports?"))

    assert (done["answer"]["confidence"], done["answer"]["confidence_reasons"][0]) == ("low", NOT_DIRECT)
    assert sum(NOT_DIRECT in limitation for limitation in done["answer"]["limitations"]) == 1


async def test_a_quote_of_which_the_judge_says_that_it_does_not_answer_is_not_shown() -> None:
    """D23: the writer found no answer and the judge says the quote is none: it is insufficient."""
    no = json.dumps({"answers": "no", "reason": "it says something else"})
    model = FakeModel({"plan": PLAN, "answer": written(""), "answers": no})

    done = final(await research(make_deps(search=[cat_search()], model=model)))

    assert done["answer"]["confidence"] == "insufficient"


async def test_an_answer_that_may_not_answer_says_so_before_all_else() -> None:
    """D23."""
    no = json.dumps({"answers": "no", "reason": "no place is named"})
    answer = written("Cats purr because the muscles of the larynx twitch [1].")
    model = FakeModel({"plan": PLAN, "answer": answer, "answers": no})

    done = final(await research(make_deps(search=[cat_search()], model=model)))["answer"]

    assert (done["confidence"], done["confidence_reasons"][0]) == ("low", "no place is named")
    assert done["notice"] == "This is near the question, but may not answer it (no place is named)."
    assert done["notice"] not in done["limitations"]


async def test_a_question_that_has_no_answer_is_told_so_in_its_own_language() -> None:
    """As an answer would be, and so is what is said about it (N-28)."""
    done = final(await research(make_deps(search=[cat_search()]), "Warum ist die Quarzpumpe der Zwerge so laut?"))

    assert done["answer"]["confidence"] == "insufficient"
    assert done["answer"]["summary"].startswith("Ich habe keine verlässlichen Quellen gefunden")
    assert done["answer"]["confidence_reasons"] == ["keine gelesene Quelle beantwortet das"]


async def test_why_there_is_no_answer_is_said_in_the_language_that_a_workspace_has_set() -> None:
    """Nothing in it is an answer, which would be in the question's (N-28)."""
    deps = make_deps(search=[cat_search()])
    job = await Researcher(deps, Idle()).submit(ResearchRequest("Why is the pump of the dwarves loud?", language="de"))

    await run_job(job.id, deps, DirectSteps())

    job, result = await deps.jobs.get(job.id), await deps.jobs.result(job.id)
    assert result.answer.summary.startswith("Ich habe keine verlässlichen Quellen gefunden")
    assert answer_card(job, result, []).part("advice").text == result.answer.detail
    assert result.answer.detail.startswith("Versuchen Sie")


async def test_all_providers_dead_is_a_failure_with_retry() -> None:
    """S003-23: SEARCH_FAILED, retryable, in a sentence."""
    deps = make_deps(search=[FakeSearch("web", error=ProviderUnavailable("web", "connection refused"))])

    done = final(await research(deps))

    assert done["status"] == "failed"
    assert done["answer"] is None
    assert done["error"]["code"] == "SEARCH_FAILED"
    assert done["error"]["retryable"] is True
    assert "connection refused" in done["error"]["message"]


async def test_a_model_error_is_retried_once() -> None:
    """S003-23: the second try answers; what the first had shown is taken back."""
    answer = written("Cats purr because the muscles of the larynx twitch [1].")
    model = FakeModel({"plan": PLAN, "answer": [ModelUnavailable("502"), answer]})

    done = final(await research(make_deps(search=[cat_search()], model=model)))

    assert done["status"] == "completed"
    assert len(model.calls("answer")) == 2


@pytest.mark.parametrize(("error", "calls"), [(ModelUnavailable, 2), (ModelRejected, 1)], ids=["down", "key refused"])
async def test_a_model_that_fails_ends_the_job_and_keeps_the_sources(error: type[ModelUnavailable], calls: int) -> None:
    """S003-23, D14: retry once what may succeed, then fail; the sources stay with the job."""
    model = FakeModel({"plan": PLAN, "answer": error("500", user_message="The model is of no help.")})

    done = final(await research(make_deps(search=[cat_search()], model=model)))

    assert (done["status"], done["error"]["code"]) == ("failed", "LLM_FAILED")
    assert done["error"]["message"] == "The model is of no help."
    assert len(model.calls("answer")) == calls
    assert [source["url"] for source in done["sources"]] == ["https://cats.example/purr"]


async def test_a_plan_call_that_fails_is_replaced_by_the_rules() -> None:
    """The question as asked is always a good query."""
    search = cat_search()
    answer = written("Cats purr because the muscles of the larynx twitch [1].")
    model = FakeModel({"plan": ModelUnavailable("502"), "answer": answer})

    done = final(await research(make_deps(search=[search], model=model)))

    assert done["status"] == "completed"
    assert QUESTION in [query.text for query in search.asked]


async def test_a_mode_that_does_not_end_is_ended_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """S003-08, S003-23: on a machine that cannot keep up the asker reads why, and may ask again."""

    async def without_end(work: object) -> None:
        await asyncio.Event().wait()

    endless = replace(QUICK, run=without_end, deadline_s=0.01)
    monkeypatch.setattr("core.pipeline.runner.find_modes", lambda names: endless)
    monkeypatch.setattr("core.pipeline.runner.OVERTIME_S", 0.01)

    done = final(await research(make_deps(search=[cat_search()])))

    assert done["status"] == "failed"
    assert done["error"]["message"] == "This took longer than it may; please try again."
    assert done["error"]["retryable"]
    assert "did not end in time" in str([vars(record) for record in caplog.records])


async def test_a_model_that_runs_out_of_time_leaves_a_quoted_answer_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D2: at the deadline the job ends with what it has, as completed, with the reason."""
    from core.modes import MODES, quick

    monkeypatch.setitem(MODES, "quick", replace(quick.MODE, deadline_s=4.6))
    model = FakeModel({"plan": PLAN, "answer": written("Cats purr [1].")}, hangs_after=1)

    done = final(await research(make_deps(search=[cat_search()], model=model)))

    assert done["status"] == "completed"
    assert done["metadata"]["stopped_because"] == "time limit reached"
    assert done["answer"]["notice"] == LATE_NOTICE


@pytest.mark.parametrize(
    ("question", "language"), [(QUESTION, "en"), ("Warum schnurren Katzen?", "de")], ids=["en", "de"]
)
async def test_a_model_that_hangs_is_told_as_that_where_nothing_can_be_quoted(
    monkeypatch: pytest.MonkeyPatch, question: str, language: str
) -> None:
    """D11, D14: its silence says nothing of the sources; Retry begins with those that were found."""
    from core.modes import MODES, quick

    monkeypatch.setitem(MODES, "quick", replace(quick.MODE, deadline_s=4.6))
    page = "Cats purr, why? " + " ".join(["Photos of cats", "Katzen, die schnurren", "Videos", "Shop"] * 12)
    model = FakeModel({"plan": PLAN, "answer": written("Cats purr [1].")}, hangs_after=0)
    deps = make_deps(
        search=[FakeSearch("web", [hit("https://cats.example/shop", page, is_complete=True)])], model=model
    )

    done = final(await research(deps, question))

    assert (done["status"], done["answer"]) == ("failed", None)
    with speaking(language):
        told = say(ModelTimeout.told)
    assert done["error"] == {"code": "LLM_FAILED", "message": told, "retryable": True}
    assert [source["url"] for source in done["sources"]] == ["https://cats.example/shop"]


async def test_a_store_that_fails_does_not_cost_the_answer() -> None:
    """S003-18, S003-23: logged and counted; the answer still goes out."""

    class Full(SqlJobStore):
        async def finish(self, job: Any, result: Any) -> None:
            raise StoreError("database or disk is full")

    tables = MemoryTables()
    deps = replace(make_deps(search=[cat_search()], tables=tables), jobs=Full(tables))

    done = final(await research(deps))

    assert done["status"] == "completed"
    assert done["answer"]["summary"]
    assert isinstance(deps.record, Ledger)
    assert deps.record.values("errors", "deliver:StoreError") == [1]


async def test_cancelling_ends_the_job_as_cancelled() -> None:
    """A cancelled job has its last event and its status, and the cancellation passes through."""
    deps = make_deps(search=[FakeSearch("web", hangs=True)], settings=Settings(search=SearchSettings()))
    job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION))
    running = asyncio.create_task(run_job(job.id, deps, DirectSteps()))
    async for event in deps.events.follow(job.id):
        if event.data.get("stage") == "searching":
            break

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert final(await deps.events.read(job.id))["status"] == "cancelled"
    assert (await deps.jobs.get(job.id)).status is JobStatus.CANCELLED


async def test_a_bug_ends_in_words_too() -> None:
    """No path leaves a job hanging: an unforeseen error becomes a failed job with a sentence."""
    deps = make_deps(search=[FakeSearch("web", error=ZeroDivisionError("boom"))])

    done = final(await research(deps))

    assert (done["status"], done["error"]["code"]) == ("failed", "INTERNAL_ERROR")
    assert "boom" not in done["error"]["message"]


@pytest.mark.parametrize(
    ("search", "pages", "model"),
    [
        pytest.param({"error": ProviderUnavailable("web", "down")}, {}, None, id="no provider answers"),
        pytest.param({"error": ZeroDivisionError("boom")}, {}, None, id="a bug"),
        pytest.param({"text": ""}, {"https://zanzibar.example/z": PageStatus("https://zanzibar.example/z", 503)}, None,
                     id="no page can be read"),
        pytest.param({}, {}, {"plan": "I think Zanzibar", "answer": "About Zanzibar:"}, id="the model writes no JSON"),
        pytest.param({}, {}, {"plan": PLAN, "answer": ModelRejected("401")}, id="the model refuses"),
    ],
)  # fmt: skip
async def test_log_of_a_job_has_no_word_of_question_sources_or_answer(
    search: dict[str, Any], pages: dict[str, Any], model: dict[str, object] | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever fails, and at any level: the log is read by more people than the answer."""
    caplog.set_level(logging.DEBUG)
    text = search.pop("text", "Zanzibar stone is mined on Zanzibar by four men, who sell it to Zanzibar town.")
    found = hit("https://zanzibar.example/z", text, title="Zanzibar", is_complete=bool(text))
    deps = make_deps(
        search=[FakeSearch("web", [found], **search)], pages=pages, model=FakeModel(model) if model else None
    )

    await research(deps, "Who mines the stone of Zanzibar?")

    logged = "".join(f"{vars(record)} {record.exc_text or ''}" for record in caplog.records)
    assert "stage finished" in logged
    assert "zanzibar" not in logged.casefold()


async def test_a_job_that_was_interrupted_is_counted_as_resumed() -> None:
    """Who looks after it sees how often workers were lost; a first attempt does not count."""
    deps = make_deps(search=[cat_search()])
    queue = Idle()
    fresh = await Researcher(deps, queue).submit(ResearchRequest(QUESTION, is_fresh=True))
    begun = await Researcher(deps, queue).submit(ResearchRequest(QUESTION, is_fresh=True))
    await deps.jobs.save(replace(begun, status=JobStatus.SEARCHING))

    for job in (fresh, begun):
        await run_job(job.id, deps, DirectSteps())

    assert isinstance(deps.record, Ledger)
    assert deps.record.values("jobs_resumed") == [1]


PARAPHRASES = (
    "Gustav Meyer described purring in 1834",
    "The larynx muscles of cats twitch quickly when they purr",
    "A cat's larynx twitches when it purrs",
    "Meyer recorded a purring cat",
)


@pytest.mark.parametrize(("verdict", "is_shown"), [("supported", True), ("partial", True), ("unsupported", False)])
async def test_what_is_not_verbatim_the_judge_decides(verdict: str, is_shown: bool) -> None:
    """S003-14, D18: whatever its words, a sentence is shown as what the judge makes of it."""
    first, second = PARAPHRASES[:2]
    rows = [{"item": item, "reason": "read it", "verdict": verdict} for item in range(1, 9)]
    firm = "Cats purr because the muscles of the larynx twitch about 25 times a second [1]."
    model = FakeModel(
        {"plan": PLAN, "answer": written(f"{firm} {first} [1]. {second} [1]."), "check": json.dumps({"verdicts": rows})}
    )

    done = final(await research(make_deps(search=[cat_search()], model=model)))

    assert (first in done["answer"]["summary"], second in done["answer"]["summary"]) == (is_shown, is_shown)
    assert len(done["answer"]["removed"]) == (0 if is_shown else 2)


async def test_what_a_judge_confirms_that_says_yes_to_everything_is_not_confirmed() -> None:
    """D18: readers see ◐, and what is word for word keeps its ✓; operators are told once."""
    firm = "Cats purr because the muscles of the larynx twitch about 25 times a second"
    free = PARAPHRASES[0]
    rows = [{"item": item, "reason": "", "verdict": "supported"} for item in range(1, 9)]
    model = FakeModel(
        {"plan": PLAN, "answer": written(f"{firm} [1]. {free} [1]."), "check": json.dumps({"verdicts": rows})}
    )
    ledger = Ledger()

    done = final(await research(replace(make_deps(search=[cat_search()], model=model), record=ledger)))

    assert {citation["claim"].rstrip("."): citation["verdict"] for citation in done["citations"]} == {
        firm: "supported",
        free: "unchecked",
    }
    assert done["answer"]["confidence"] != "high"
    assert ledger.values("errors", "check:ControlFailed") == [1]


async def test_a_judge_that_writes_prose_is_not_asked_of_every_sentence() -> None:
    """Its first two calls are made once more; what it would have confirmed is not, and the answer says why."""
    text = " ".join(f"{paraphrase} [1]." for paraphrase in PARAPHRASES)
    model = FakeModel({"plan": PLAN, "answer": written(text), "check": "Sure, that is right.", "answers": "Sure."})
    ledger = Ledger()

    done = final(await research(replace(make_deps(search=[cat_search()], model=model), record=ledger)))

    assert len(model.calls("check")) == 4
    assert NO_VERDICTS in done["answer"]["limitations"]
    assert {citation["verdict"] for citation in done["citations"]} == {"unchecked"}
    assert ledger.values("errors", "check:ControlFailed") == [1]


async def test_when_the_checker_fails_the_answer_goes_out_as_unchecked_with_low_confidence() -> None:
    """S003-15: labelled "citations unchecked", at most Low."""
    first = PARAPHRASES[0]
    model = FakeModel({"plan": PLAN, "answer": written(f"{first} [1]."), "check": ModelUnavailable("502")})

    done = final(await research(make_deps(search=[cat_search()], model=model)))

    assert done["answer"]["notice"] == "citations unchecked"
    assert done["answer"]["confidence"] == "low"
    assert {citation["verdict"] for citation in done["citations"]} == {"unchecked"}
