"""An answer as it is written: judged and shown sentence by sentence, however the text comes."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.evidence.grounding import Grounder
from core.evidence.judge import AnswerRuling, Hear, JsonJudge, Judging, Pair, Rulings, unheard
from core.evidence.structure import assemble
from core.model.answer import Citation, ModelUsage
from core.model.errors import ModelUnavailable, StaleAttempt
from core.model.job import Json
from core.model.ports import ChatDelta, ChatRequest
from core.pipeline.deps import Deps
from core.pipeline.work import Progress
from core.stages.writing import Writing, as_told
from tests.core.judging import judge_text
from tests.fakes import FakeModel, make_deps, make_job, make_source

SOURCES = [
    make_source(
        1, "The Moon raises two bulges of water in the ocean. Spring tides occur twice a month in the U.S. Army."
    ),
    make_source(2, "The drug reduced deaths by 40 percent in 2021. It was tested on 812 adults in Norway."),
]
QUESTION = "What are the tides of the big sea, and what did the trial find?"
GROUNDER = Grounder(SOURCES, QUESTION)
REQUEST = ChatRequest("answer", "system", "user", "answer", {}, 100, 10.0)
BULGES, DEATHS, ADULTS = (
    "The Moon raises two bulges of water in the ocean",
    "The drug reduced deaths by 40 percent in 2021",
    "It was tested on 812 adults in Norway",
)


@dataclass
class Pieces:
    """A model that streams exactly these pieces, and then fails if told so."""

    pieces: Sequence[str]
    error: Exception | None = None
    name: str = "pieces-1"

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        for piece in self.pieces:
            yield ChatDelta(piece)
        if self.error:
            raise self.error
        yield ChatDelta(usage=ModelUsage(10, 5))


def answer(summary: str, detail: str = "", citations: Sequence[dict[str, str]] = ()) -> str:
    return json.dumps({"summary": summary, "detail": detail, "citations": list(citations)}, ensure_ascii=False)


def cut(text: str, places: Sequence[int]) -> list[str]:
    ends = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[start:end] for start, end in pairwise(ends) if end > start]


async def started() -> tuple[Writing, Deps]:
    deps = make_deps()
    job = make_job("Why tides?")
    await deps.jobs.save(job)
    return Writing(GROUNDER, Progress(job, deps), Judging(None, lambda: 10.0)), deps


async def write(pieces: Sequence[str]) -> tuple[Writing, list[dict[str, Json]]]:
    writing, deps = await started()
    await writing.write(Pieces(pieces), REQUEST)
    await writing.decided()
    return writing, [dict(event.data) for event in await deps.events.read("job_1")]


@pytest.mark.parametrize(
    "summary",
    [
        pytest.param(f"{BULGES} [1]. {DEATHS} [2]. {ADULTS} [2].", id="prose"),
        pytest.param(f"{BULGES}.[1] {DEATHS}.[2][1] {ADULTS}.", id="markers behind the stop"),
        pytest.param(f"{BULGES}. [1] {DEATHS}. [2]", id="markers behind a blank"),
        pytest.param(f"{BULGES}. [1] is what shows it. {DEATHS} [2].", id="a marker that opens a sentence"),
        pytest.param(f"Spring tides occur twice a month in the U.S. Army [1]. {DEATHS} [2].", id="abbreviation"),
        pytest.param(f"- {BULGES} [1].\n- {DEATHS} [2]\n- {ADULTS} [2].", id="list"),
        pytest.param(f"1. {BULGES} [1].\n2. {DEATHS} [2].", id="numbered list"),
        pytest.param(f"## Tides\n\n{BULGES} [1].\n\n### Trial\n\n{DEATHS} [2].", id="headings"),
        pytest.param(f"Tides\n-----\n{BULGES} [1].", id="underlined heading"),
        pytest.param(f"**Tides**\n{BULGES} [1].\n**Trial**\n{DEATHS} [2].", id="bold labels"),
        pytest.param(f"| A | B |\n|---|---|\n| Sea | {BULGES} [1] |\n| Drug | {DEATHS} [2] |", id="table"),
        pytest.param(
            f"| A | B |\n|---|---|\n| Sea | {BULGES} [1] |\n| Drug | {DEATHS} [2] |\n\n{ADULTS} [2].\n\n"
            "| C |\n|---|\n| 5 |",
            id="tables and prose",
        ),
        pytest.param(f"| Sea | {BULGES} [1] |\n| Drug | {DEATHS} [2] |\n---\n| No | rows |", id="rows without a head"),
        pytest.param(f"{BULGES} [1].\n\n```\na = 1. B\n\nc = 2\n```\n\n{DEATHS} [2].", id="code with blank lines"),
        pytest.param(f"Use `a. B` here. {BULGES} [1].", id="stop in code"),
        pytest.param(f"{BULGES} [1](https://site1.example/page). {DEATHS} [2].", id="link"),
        pytest.param(f"{BULGES} (https://site1.example/page). {DEATHS} [2].", id="address"),
        pytest.param(f"Big Tides\n\n{BULGES} [1].", id="title without marks"),
        pytest.param("月球引起潮汐。[1]太阳也有作用。[2]两者相加。", id="Chinese"),
        pytest.param("", id="nothing"),
    ],
)
async def test_letter_by_letter_or_at_once_the_sentences_are_the_same(summary: str) -> None:
    """Streaming changes when a sentence is shown, never which, as what, or under which id."""
    text = answer(summary, f"{ADULTS} [2]. {BULGES} [1].")

    at_once, _ = await write([text])
    by_letter, events = await write(list(text))

    assert by_letter.judged == at_once.judged
    assert [entry for entry in at_once.judged if entry.section == "summary"] == judge_text(GROUNDER, "summary", summary)
    shown = [entry for entry in at_once.judged if entry.claim and entry.shown is not None]
    assert [(event["id"], event["text"]) for event in events] == [(entry.id, as_told(entry)) for entry in shown]


PARTS = st.sampled_from(
    [
        f"{BULGES} [1].",
        f"{DEATHS}.[2]",
        f"{ADULTS}. [2]",
        "It cost 7 coins in the U.S. Army [1].",
        "Is it so?",
        f'He said "{BULGES.lower()}." [1]',
        f"{BULGES} [1](https://a.example/x_(y)).",
        "Dr. Smith, e.g. in Fig. 3, agrees [2].",
    ]
)
GAPS = st.sampled_from([" ", "  ", "\n\n", "\n\n- ", "\n\n## Tides\n\n"])


@given(st.lists(st.tuples(PARTS, GAPS), max_size=5), st.lists(st.integers(0, 2000), max_size=12))
@example([(f"{BULGES}.", " "), ("[1] holds.", " ")], [40, 60, 61, 62, 63])
async def test_any_cutting_gives_the_same_sentences(parts: list[tuple[str, str]], places: list[int]) -> None:
    """Whatever pieces the JSON comes in, nothing is lost, doubled or renamed."""
    summary = "".join(f"{part}{gap}" for part, gap in parts)
    text = answer(summary, summary)

    pieces, _ = await write(cut(text, places))

    assert [entry for entry in pieces.judged if entry.section == "summary"] == judge_text(GROUNDER, "summary", summary)
    detail = [entry for entry in pieces.judged if entry.section == "detail"]
    assert detail == judge_text(GROUNDER, "detail", summary)


@given(
    st.text(st.characters(exclude_characters="<>[](){}【】:/", exclude_categories=["Cs"]), max_size=120),
    st.lists(st.integers(0, 400), max_size=8),
)
async def test_no_text_is_lost_however_strange(summary: str, places: list[int]) -> None:
    """The judged sentences, one behind the other, are the text; no letter is lost or doubled."""
    writing, _ = await write(cut(answer(summary), places))

    assert "".join("".join(entry.text for entry in writing.judged).split()) == "".join(writing.draft.summary.split())
    ids = [entry.id for entry in writing.judged]
    assert ids == [f"summary-{place}" for place in range(len(ids))]


async def test_a_sentence_is_shown_before_the_answer_is_complete() -> None:
    """The first sentence appears once the second has begun."""
    writing, deps = await started()
    seen: list[int] = []

    class Watching(Pieces):
        async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
            for piece in self.pieces:
                yield ChatDelta(piece)
                seen.append(len(await deps.events.read("job_1")))

    text = answer(f"{BULGES} [1]. {DEATHS} [2].")
    middle = text.index("reduced") + 1

    await writing.write(Watching([text[:middle], text[middle:]]), REQUEST)
    await writing.decided()

    assert seen == [1, 2]


@pytest.mark.parametrize("behind", ["\n| Drug", "\n\nT"], ids=["row", "paragraph"])
async def test_a_row_is_shown_once_what_follows_it_has_begun(behind: str) -> None:
    """Nobody waits for the end of the next one."""
    writing, deps = await started()
    rows = f"| A | B |\n|---|---|\n| Sea | {BULGES} [1] |"

    await writing._take("summary", f"{rows}{behind}", is_final=False)
    await writing._shown("summary")

    told = [event.data["text"] for event in await deps.events.read("job_1")]
    await writing.aclose()
    assert told == [f"| Sea | {BULGES} [1] |"]


@pytest.mark.parametrize("head", ["## Tides\n\n", "## Tides\n", "**Tides**\n\n", "Tides:\n\n"])
async def test_below_a_heading_a_sentence_is_shown_before_its_paragraph_ends(head: str) -> None:
    """And stays where the writer ends in the midst of the next one."""
    writing, _ = await started()

    await writing._take("summary", f"{head}{BULGES} [1]. {DEATHS}", is_final=False)
    await writing.decided()

    assert assemble(writing.judged).summary == f"{head}{BULGES} [1]."


async def test_a_sentence_behind_a_cut_one_is_told_as_it_is_shown_in_the_end() -> None:
    """Nothing jumps: no "Similarly," that leads back to nothing, and goes once the answer is whole."""
    false = DEATHS.replace("40", "70")
    writing, told = await write([answer(f"{false} [2]. Similarly, {BULGES[0].lower()}{BULGES[1:]} [1].")])

    assert [event["text"] for event in told] == [f"{BULGES} [1]."]
    assert assemble(writing.judged).summary == f"[…] {BULGES} [1]."


async def test_taking_back_retracts_what_was_shown_and_starts_anew() -> None:
    """S003-23: a second try replaces the first; the same ids are used again."""
    writing, deps = await started()
    text = answer(f"{BULGES} [1]. {DEATHS} [2]. {ADULTS} [2].")
    with pytest.raises(ModelUnavailable):
        await writing.write(Pieces([text[: text.index(ADULTS) + 9]], ModelUnavailable("gone")), REQUEST)

    writing.reopen()
    await writing.write(Pieces([answer(f"{DEATHS} [2].")]), REQUEST)
    await writing.decided()

    events = [(event.data["id"], event.data["text"]) for event in await deps.events.read("job_1")]
    assert events == [
        ("summary-0", f"{BULGES} [1]."),
        ("summary-1", f"{DEATHS} [2]."),
        ("summary-0", None),
        ("summary-1", None),
        ("summary-0", f"{DEATHS} [2]."),
    ]
    assert assemble(writing.judged).summary == f"{DEATHS} [2]."


async def test_what_was_streamed_survives_a_broken_end() -> None:
    """An answer cut off in the middle keeps the sentences that were complete, and the usage is estimated."""
    writing, _ = await started()
    text = answer(f"{BULGES} [1]. {DEATHS} [2]. {ADULTS} [2].")
    broken = Pieces([text[: text.index(ADULTS) + 9]], ModelUnavailable("gone"))

    with pytest.raises(ModelUnavailable):
        await writing.write(broken, REQUEST)
    await writing.decided()

    assert [entry.shown for entry in writing.judged] == [f"{BULGES} [1].", f"{DEATHS} [2]."]
    assert writing.written[None].usage.is_estimated
    assert writing.written[None].usage.completion_tokens > 0


async def test_a_section_written_twice_counts_as_it_was_written_last() -> None:
    """A writer that repeats a key replaces what it said; nothing of the first text stays."""
    doubled = f'{{"summary": "{BULGES} [1]. {DEATHS} [2].", "summary": "{ADULTS} [2].", "detail": "", "citations": []}}'

    by_letter, events = await write(list(doubled))

    assert assemble(by_letter.judged).summary == f"{ADULTS} [2]."
    last = {event["id"]: event["text"] for event in events}
    assert {text for text in last.values() if text} == {f"{ADULTS} [2]."}


async def test_a_sentence_that_the_writer_repeats_is_judged_and_shown_once() -> None:
    """S003-14: small models write in circles."""
    writing, events = await write([answer(f"{DEATHS} [2]. " * 4 + f"{ADULTS} [2].")])

    assert [event["text"] for event in events] == [f"{DEATHS} [2].", f"{ADULTS} [2]."]
    assert len(writing.judged) == 2


@pytest.mark.parametrize("source_id", ["src_2", "2", "[2]", "[src_2]"])
async def test_given_citations_have_regular_ids(source_id: str) -> None:
    """The writer's own ids come in several spellings."""
    given_citation = {"claim": f"{DEATHS} [2].", "source_id": source_id, "quote": "reduced deaths"}

    writing, _ = await write([answer(f"{DEATHS} [2].", citations=[given_citation])])

    assert writing.given_citations == [Citation(f"{DEATHS} [2].", "src_2", "reduced deaths")]


async def test_the_last_sentences_do_not_wait_for_others_that_might_come() -> None:
    """N-02: behind the detail nothing is written that a judge could be asked about beside them."""
    writing, _ = await started()
    judge = JsonJudge(FakeModel({}))
    writing.judging = Judging(judge, lambda: 90.0, linger_s=60.0)
    text = answer("The trial's drug cut deaths by 40 percent [2].", "Two bulges of water are raised by the Moon [1].")

    async with asyncio.timeout(30):
        await writing.write(Pieces([text]), REQUEST)
        judged = await writing.decided()
    await writing.aclose()

    assert len(judged) == 2
    assert all(entry.claim and entry.claim.evidence for entry in judged)


@dataclass
class Silent:
    """A judge that never answers; `calls` are the claims that it was asked about together."""

    calls: list[list[str]] = field(default_factory=list)

    async def judge(self, pairs: Sequence[Pair], *, timeout_s: float, hear: Hear = unheard) -> Rulings:
        self.calls.append([pair.claim for pair in pairs])
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def judge_answer(self, question: str, text: str, *, timeout_s: float) -> AnswerRuling:
        return AnswerRuling(None)


async def test_what_is_left_of_one_text_is_asked_about_while_the_other_is_written_on() -> None:
    """N-02: who wrote it writes nothing more that could share the call."""
    writing, _ = await started()
    judge = Silent()
    writing.judging = Judging(judge, lambda: 90.0, linger_s=60.0)
    first, last = "The trial's drug cut deaths by 40 percent", "Two bulges of water are raised by the Moon"

    async with asyncio.timeout(30):
        await writing._take("summary", f"{first} [2]. The t", is_final=False)
        await writing.write(Pieces([answer("", f"{last} [1].")]), REQUEST, "detail")
        while len(judge.calls) < 2:  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0)
    await writing.aclose()

    assert [{claim.rstrip(".") for claim in call} & {first, last} for call in judge.calls] == [{first}, {last}]


async def test_an_attempt_that_was_overtaken_says_so_once() -> None:
    """Whoever waits for its sentences is told; what waited for the same beside them is not in the log as forgotten."""
    writing, deps = await started()
    forgotten: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: forgotten.append(said["message"]))
    await deps.events.append("job_1", 99, "status", {})

    await writing.write(Pieces([answer(f"{BULGES} [1].")]), REQUEST)
    with pytest.raises(StaleAttempt):
        await writing.decided()
    await asyncio.sleep(0)
    await writing.aclose()
    del writing
    gc.collect()

    assert forgotten == []
