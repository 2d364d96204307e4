"""Whole questions through the real SDK to endpoints of every dialect: what is answered, and what is told of it."""

from __future__ import annotations

import asyncio
import functools
import json
from dataclasses import dataclass
from random import Random

import pytest

from adapters.llm.endpoint import Endpoint
from adapters.llm.openai import OpenAIChat
from core.evidence.structure import CUT
from core.model.answer import ResearchAnswer
from core.model.job import JobStatus, ResearchRequest
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.stages.drafting import CUT_OFF
from core.stages.synthesize import UNREAD_NOTICE
from tests.core.cats import PURR, QUESTION
from tests.fakes import FakeSearch, Idle, hit, make_deps
from tests.loopback.openai_dialects import DIALECTS, Spoken
from tests.loopback.openai_world import OpenAIWorld, openai_world

PAGES, MANY = 2, 8  # many where a prompt has to be too long
THINGS = "kettle lantern anchor violin saddle pulpit orchard chimney bridge quarry harbour mirror ladder".split()
PEOPLE = "baker sailor weaver painter cooper surgeon farmer printer mason miller".split()
WINDOWS = [name for name in DIALECTS if "window" in name or name == "groq 413"]


@dataclass
class Asked:
    """How each question ended, all that was told on the way, and what the endpoint saw."""

    ends: list[tuple[JobStatus, ResearchAnswer]]
    told: str
    world: OpenAIWorld
    model: OpenAIChat

    @property
    def answer(self) -> ResearchAnswer:
        """The last one."""
        return self.ends[-1][1]


def page(number: int) -> str:
    """Some 900 tokens unlike those of any other page; the first says what is asked."""
    words = Random(number)
    filler = " ".join(
        f"Why cats purr beside a {words.choice(THINGS)} was asked by {words.choice(PEOPLE)}s, who drew the "
        f"{words.choice(THINGS)} and the {words.choice(THINGS)} of a {words.choice(PEOPLE)} in {year}."
        for year in range(1700 + 40 * number, 1736 + 40 * number)
    )
    return f"{PURR if number == 1 else ''} {filler}".strip()


@functools.cache
def asked_of(name: str) -> Asked:
    """Of an endpoint that is told nothing, twice where its window is to be learnt; what several tests look at once."""
    pages = MANY if name in (*WINDOWS, "ollama silent") else PAGES
    return asyncio.run(ask(name, questions=2 if name in WINDOWS else 1, pages=pages))


async def ask(name: str, *, questions: int = 1, pages: int = PAGES, **endpoint: object) -> Asked:
    """The question asked anew each time, of one endpoint."""
    made = DIALECTS[name]
    async with openai_world() as world:
        (made if isinstance(made, Spoken) else made()).speak(world)
        model = OpenAIChat(Endpoint(model="loop-1", base_url=world.url, **endpoint))
        hits = [
            hit(f"https://cats{n}.example/", page(n), title=f"Purring {n}", rank=n, is_complete=True)
            for n in range(1, pages + 1)
        ]
        told, ends = "", []
        for _ in range(questions):
            deps = make_deps(search=[FakeSearch("web", hits)], model=model)
            job = await Researcher(deps, Idle()).submit(ResearchRequest(QUESTION))
            await run_job(job.id, deps, DirectSteps())
            told += "".join(json.dumps(event.data) for event in await deps.events.read(job.id))
            result = await deps.jobs.result(job.id)
            answer = result.answer if result else None
            assert answer is not None, told
            ends.append(((await deps.jobs.get(job.id)).status, answer))
        await model.aclose()
    return Asked(ends, told, world, model)


@pytest.mark.parametrize("name", DIALECTS)
def test_every_endpoint_gives_a_cited_answer_and_shows_neither_thoughts_nor_json(name: str) -> None:
    """D6, N-05: whatever an endpoint takes, refuses, wraps or thinks, the question is answered from its sources."""
    asked = asked_of(name)

    for status, answer in asked.ends:
        assert status is JobStatus.COMPLETED
        told = f"{answer.summary} {answer.detail}".replace('"twitch"', "twitch")
        assert "muscles of the larynx twitch about 25 times a second" in told
        assert answer.citations
    assert "ZX-THOUGHT" not in asked.told
    assert '{\\"' not in asked.told
    assert "```" not in asked.told


@pytest.mark.parametrize(
    "name",
    """commented, without a comma/quotes within/python/curly quotes/names in german/plain json as a stream
    /stream as plain json/byte order mark/as a call of a tool/with the thoughts""".replace("\n    ", "").split("/"),
)
def test_an_answer_in_another_shape_is_read_at_once_and_to_its_end(name: str) -> None:
    """N-05: nothing of it is lost, nobody pays for a second one, and no source has to speak in its place."""
    asked = asked_of(name)

    assert not asked.answer.notice
    assert asked.answer.detail
    assert len([call for call in asked.world.calls if "<source id" in call.user]) == 1


@pytest.mark.parametrize("name", ["nothing readable", "loops"])
def test_what_cannot_be_read_twice_is_quoted_instead(name: str) -> None:
    """N-05: the second try has the schema in words; then the sources speak for themselves."""
    asked = asked_of(name)

    assert asked.answer.notice == UNREAD_NOTICE
    answers = [call for call in asked.world.calls if "<source id" in call.user]
    assert ["response_format" in call.body for call in answers] == [True, False]


async def test_dialect_that_worked_is_remembered() -> None:
    """An endpoint that ignores schemas costs one answer in vain, not one an answer."""
    asked = await ask("ignores response_format", questions=2)

    answers = ["response_format" in call.body for call in asked.world.calls if "<source id" in call.user]
    assert answers == [True, False, False]
    assert asked.model.dialect.output == "text"


def test_slip_of_an_endpoint_that_holds_to_schemas_changes_nothing() -> None:
    """One garbled answer is no proof that structured output is ignored."""
    asked = asked_of("nothing readable")

    assert asked.model.dialect.output == "json_schema"


def test_room_for_thinking_is_found_once() -> None:
    """Thoughts count into the limit of tokens: it is raised once, for all that follows."""
    asked = asked_of("thinks long")

    limits = [call.max_tokens for call in asked.world.calls]
    assert limits[0] < 3000
    assert all(limit > 3000 for limit in limits[1:])


async def test_room_for_thinking_can_be_set() -> None:
    """`GORKD_MAX_TOKENS=thinking=4000` saves the first call."""
    asked = await ask("thinks long", max_tokens={"thinking": 4000, "plan": 500})

    limits = [call.max_tokens for call in asked.world.calls]
    assert limits[0] == 4500
    assert all(limit > 4000 for limit in limits)


def test_answer_that_was_cut_says_so() -> None:
    """Half a sentence is not shown, and that the end is missing is, also at its place."""
    asked = asked_of("cut short")

    assert CUT_OFF in asked.answer.limitations
    assert (asked.answer.detail or asked.answer.summary).endswith(CUT)


@pytest.mark.parametrize("name", WINDOWS)
def test_prompt_beyond_the_window_is_asked_again_with_fewer_sources(name: str) -> None:
    """N-05: learnt from the refusal, in all its spellings, and then kept to."""
    asked = asked_of(name)

    assert any("had no room for" in entry for entry in asked.answer.limitations)
    assert 0 < asked.model.window.tokens < 5000  # where nobody tells it, as they are estimated
    assert all(call.prompt_tokens + call.max_tokens <= 3500 for call in asked.world.calls[-3:])


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        ({"/v1/models": {"data": [{"id": "loop-1", "max_model_len": 3000}]}}, 3000),
        ({"/v1/models": {"data": [{"id": "loop-1", "context_length": 3000}, {"id": "other"}]}}, 3000),
        ({"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx": 3000, "n_ctx_train": 8192}}]}}, 3000),
        ({"/props": {"default_generation_settings": {"n_ctx": 3000}}}, 3000),
        ({"/api/v0/models/loop-1": {"id": "loop-1", "max_context_length": 32768, "loaded_context_length": 3000}}, 3000),
        ({"/api/ps": {"models": [{"name": "loop-1", "context_length": 3000}]}}, 3000),
        ({"/api/show": {"parameters": 'stop "<end>"\nnum_ctx    3000'}}, 3000),
        ({}, 0),
    ],
    ids="vllm/openrouter/llama.cpp models/llama.cpp props/lm studio/ollama ps/ollama show/untold".split("/"),
)
async def test_window_is_asked_of_the_endpoint(said: dict[str, object], tokens: int, monkeypatch) -> None:
    """Where it tells its window, no prompt is sent in vain."""
    monkeypatch.setitem(DIALECTS, "telling", Spoken(lambda call, right: right, said=said))  # type: ignore[misc]

    asked = await ask("telling", pages=MANY)

    assert asked.model.window.tokens == tokens
    most = max(call.prompt_tokens + call.max_tokens for call in asked.world.calls)
    assert most <= tokens if tokens else most > 3500


async def test_window_can_be_set() -> None:
    """`GORKD_CONTEXT_TOKENS` goes before what anybody says."""
    asked = await ask("llama.cpp window", pages=MANY, context_tokens=3000)

    assert asked.model.window.tokens == 3000
    assert asked.world.refused == []


async def test_endpoint_that_cuts_silently_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """N-05: fewer tokens counted than sent; the operator learns it, and later prompts fit."""
    asked = await ask("ollama silent", questions=2, pages=MANY)

    warnings = [record.getMessage() for record in caplog.records if "said nothing of it" in record.getMessage()]
    assert len(warnings) == 1
    assert asked.model.window.silent_cut == warnings[0]
    assert max(call.prompt_tokens for call in asked.world.calls[-3:]) <= 2500


async def test_azure_is_addressed_by_deployment_version_and_its_own_header() -> None:
    """The address as Azure's portal shows it, query and all."""
    asked = await ask("azure", api_key="azure-key")

    assert asked.world.calls
    assert {call.key for call in asked.world.calls} == {"azure-key"}


def test_what_an_endpoint_refuses_is_sent_where_it_is_taken() -> None:
    """Verdicts and plans are asked for without chance; OpenAI's own models take no temperature."""
    takes, refuses = asked_of("refuses json_schema"), asked_of("openai")

    by_purpose = {call.schema_name or "told": call.body.get("temperature") for call in takes.world.calls}
    assert by_purpose["told"] in (0.0, 0.2)
    assert all("temperature" not in call.body for call in refuses.world.calls)
    assert all(call.body["max_completion_tokens"] for call in refuses.world.calls)
