"""What `gorkd doctor --model` finds of good, poor and broken endpoints, through the real SDK (N-04, D27)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from adapters.llm import probe
from adapters.llm.embeddings import build_embeddings
from adapters.llm.openai import build_chat
from core.evidence.judge import Judgement, Ruling
from core.model.answer import ModelUsage
from core.pipeline.checkup import Finding, Trial
from tests.loopback.openai_responders import ChatCall, Fault
from tests.loopback.openai_world import OpenAIWorld, openai_world

KEY = "sk-planted-0123456789"
READY = '{"word": "ready", "number": 7}'
PROSE = "The sea is wide and grey, and on most days the wind writes on it in a hand that nobody reads."
PAIRS, LABELS = probe.labelled_pairs()
SAID = {pair.claim: label for pair, label in zip(PAIRS, LABELS, strict=True)}
MODELS = {"object": "list", "data": [{"id": "loop-1", "object": "model", "meta": {"n_ctx": 8192}}]}

Judge = Callable[[str], str]


def right(claim: str) -> str:
    return "supported" if SAID[claim] else "contradicted"


def capable(judge: Judge = right, *, in_words: bool = False) -> Callable[[ChatCall], str | Fault]:
    """A model that does as it is told, and judges like `judge`; one that heeds no schema unless it is told in words."""

    def respond(call: ChatCall) -> str | Fault:
        if "tools" in call.body:
            return Fault(calls=(("look_up", '{"word": "lighthouse"}'),))
        if claims := re.findall(r"<claim>(.*?)</claim>", call.user):
            rows = [{"item": at, "verdict": judge(claim), "reason": ""} for at, claim in enumerate(claims, start=1)]
            return json.dumps({"verdicts": rows})
        if asked := re.search(r"^Claim: (.*)", call.user, re.MULTILINE):
            return "Yes" if SAID[asked[1]] else "No"
        if in_words and "JSON schema" not in call.system:
            return "I am ready, and seven is the number."
        return READY if "ready" in call.user else json.dumps({"text": PROSE})

    return respond


async def tried(world: OpenAIWorld, *, patience: float = 1.0) -> Trial:
    chat = build_chat({"OPENAI_BASE_URL": world.url, "OPENAI_API_KEY": KEY, "GORKD_MODEL": "loop-1"})
    trial = await probe.trial("Answers", probe.of_chat(chat, patience))
    await chat.aclose()
    assert KEY not in str(trial)
    return trial


def found(trial: Trial, part: str) -> Finding:
    (finding,) = [finding for finding in trial.findings if finding.part == part]
    return finding


async def test_of_a_good_endpoint_everything_is_right_and_nothing_is_to_be_changed() -> None:
    """Its window is the one that it tells; the calls are those that were announced."""
    async with openai_world(capable()) as world:
        world.said = {"/v1/models": MODELS}

        trial = await tried(world)

    assert trial.is_usable
    assert {finding.state for finding in trial.findings} == {"ok"}
    assert not any(finding.change for finding in trial.findings)
    assert found(trial, "window").says == "8,192 tokens, as the endpoint tells"
    assert found(trial, "structured output").says == "holds to a JSON schema"
    assert found(trial, "tools").says == "are called"
    assert len(world.calls) <= probe.CHAT_CALLS
    assert sum(call.prompt_tokens + call.max_tokens for call in world.calls) <= probe.CHAT_TOKENS


@pytest.mark.parametrize(
    ("script", "part", "says", "instead"),
    [
        pytest.param(
            {"rejects": {"response_format.json_schema"}}, "structured output", "takes no schema", "words", id="objects"
        ),
        pytest.param({"rejects": {"response_format"}}, "structured output", "no response_format", "words", id="none"),
        pytest.param(
            {"respond": capable(in_words=True)}, "structured output", "ignores it", "told in words", id="ignores it"
        ),
        pytest.param({"respond": "I am ready!"}, "structured output", "“I am ready!”", "prose", id="prose alone"),
        pytest.param({"ignores_stream": True}, "streaming", "one piece", "whole", id="no stream"),
        pytest.param({"rejects": {"stream_options"}}, "tokens", "not told", "estimated", id="no usage"),
        pytest.param({"rejects": {"temperature"}}, "temperature", "refused", "vary", id="no temperature"),
        pytest.param({"rejects": {"tools"}}, "tools", "refused", "JSON", id="no tools"),
        pytest.param({"respond": READY}, "tools", "not called", "JSON", id="tools unused"),
        pytest.param(
            {"respond": f"<think>Am I? I am.</think>{READY}"}, "thinking", "before it answers", "nobody", id="thinks"
        ),
    ],
)
async def test_what_an_endpoint_cannot_do_is_told_with_what_is_done_instead(
    script: Mapping[str, object], part: str, says: str, instead: str
) -> None:
    """It stays usable: gorkd has a way around each."""
    async with openai_world(capable()) as world:
        for name, value in script.items():
            setattr(world, name, value)

        trial = await tried(world)

    finding = found(trial, part)
    assert trial.is_usable
    assert says in finding.says
    assert instead in finding.instead


@pytest.mark.parametrize(
    ("part", "script", "line"),
    [
        pytest.param("structured output", "I am ready!", "GORKD_MODEL=", id="no schema at all"),
        pytest.param("thinking", f"<think>Am I?</think>{READY}", "GORKD_REASONING_EFFORT=low", id="thinks"),
        pytest.param(
            "window",
            Fault(text=READY, usage={"prompt_tokens": 1800, "completion_tokens": 9, "total_tokens": 1809}),
            "GORKD_CONTEXT_TOKENS=1800",
            id="reads a part in silence",
        ),
    ],
)
async def test_the_setting_that_helps_is_given_as_a_line_for_the_file(
    part: str, script: str | Fault, line: str
) -> None:
    """As it can be copied."""
    async with openai_world(script) as world:
        trial = await tried(world)

    (change,) = found(trial, part).change
    assert change.startswith(line)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param({"keys": {"sk-other"}}, "OPENAI_API_KEY", id="key refused"),
        pytest.param({"models": {"other"}}, "GORKD_MODEL", id="no such model"),
        pytest.param({"respond": Fault(status=503)}, "OPENAI_BASE_URL", id="out of order"),
        pytest.param({"respond": Fault(raw=b"<html>", content_type="text/html")}, "OPENAI_BASE_URL", id="a web page"),
        pytest.param({"respond": ""}, "", id="says nothing"),
    ],
)
async def test_an_endpoint_that_does_not_answer_is_not_usable_and_says_why(
    script: Mapping[str, object], words: str
) -> None:
    """In few calls: what cannot be reached is not tried ten times."""
    async with openai_world() as world:
        for name, value in script.items():
            setattr(world, name, value)

        trial = await tried(world)

    (finding,) = trial.findings
    assert not trial.is_usable
    assert words in finding.says
    assert len(world.calls) <= 2


async def test_an_endpoint_that_hangs_costs_the_time_that_was_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """And no more."""
    monkeypatch.setattr(probe, "ENDPOINT_S", 0.05)
    async with openai_world(Fault(hang_first=True)) as world:
        trial = await tried(world)

    (finding,) = trial.findings
    assert not trial.is_usable
    assert "was not tried" in finding.says


READ = probe.Timed("", ModelUsage(4000, 20), 9, first_s=10.0, all_s=11.0, is_calling=False)


@pytest.mark.parametrize(
    ("first_s", "patience", "state", "line"),
    [
        pytest.param(2.0, 1.0, "ok", (), id="fast"),
        pytest.param(100.0, 1.0, "warning", ("GORKD_PATIENCE=5",), id="slow"),
        pytest.param(100.0, 5.0, "ok", (), id="slow, and waited for"),
        pytest.param(5000.0, 1.0, "warning", ("GORKD_PATIENCE=20",), id="too slow for any setting"),
    ],
)
def test_a_slow_model_is_told_how_much_patience_it_needs(
    first_s: float, patience: float, state: str, line: tuple[str, ...]
) -> None:
    """From 5,600 tokens to be read (at 4,000 in `first_s`) and 700 to be written (at 20 a second) in 40 s."""
    read = replace(READ, first_s=first_s, all_s=first_s + 1)
    wrote = replace(READ, usage=ModelUsage(50, 101), first_s=0.5, all_s=5.5)

    finding = probe.speed_finding(read, wrote, patience)

    assert (finding.state, finding.change) == (state, line)


# The judge


def claim_number(claim: str) -> int:
    return [pair.claim for pair in PAIRS].index(claim)


@pytest.mark.parametrize(
    ("judge", "state", "words"),
    [
        pytest.param(right, "ok", "20 of 20 pairs right", id="right"),
        pytest.param(lambda claim: "supported", "warning", "says yes to everything: 10 of 20", id="yes"),
        pytest.param(lambda claim: "unsupported", "warning", "says no to everything: 10 of 20", id="no"),
        pytest.param(
            lambda claim: right(claim) if claim_number(claim) < 6 else "supported",
            "warning",
            "says yes to nearly everything: 13 of 20",
            id="mostly yes",
        ),
        pytest.param(
            lambda claim: right(claim) if claim_number(claim) % 4 < 2 else right(PAIRS[claim_number(claim) ^ 1].claim),
            "warning",
            "10 of 20 pairs right; 5 false claims called supported, 5 true ones not",
            id="guesses",
        ),
        pytest.param(lambda claim: "perhaps", "warning", "20 without a readable answer", id="unread"),
    ],
)
async def test_a_judge_that_cannot_tell_true_from_false_is_recognised(judge: Judge, state: str, words: str) -> None:
    """By twenty labelled pairs, in no more calls than were announced."""
    async with openai_world(capable(judge)) as world:
        chat = build_chat({"OPENAI_BASE_URL": world.url, "GORKD_MODEL": "loop-1"})

        trial = await probe.trial("Judging", probe.of_judge(chat))
        await chat.aclose()

    finding = found(trial, "judge")
    assert finding.state == state
    assert words in finding.says
    assert any(line.startswith("GORKD_CHECK_MODEL=") for line in finding.change) == (state != "ok")
    assert len(world.calls) <= probe.JUDGE_CALLS


async def test_a_judge_that_does_better_pair_by_pair_is_to_be_asked_so() -> None:
    """The two lines that do it."""
    async with openai_world(capable(lambda claim: "supported")) as world:
        chat = build_chat({"OPENAI_BASE_URL": world.url, "GORKD_MODEL": "loop-1"})

        trial = await probe.trial("Judging", probe.of_judge(chat))
        await chat.aclose()

    finding = found(trial, "asked pair by pair")
    assert "20 of 20" in finding.says
    assert finding.change == ("GORKD_CHECK_MODEL=loop-1", "GORKD_CHECK_DIALECT=pairwise")


def test_what_a_judge_left_open_is_not_counted_as_right() -> None:
    """An open pair is not confirmed: that is right for a claim that nobody says, and wrong for another."""
    judgements = [Judgement(Ruling.SUPPORTED) if label else None for label in LABELS]

    finding = probe.judge_finding([None] * len(LABELS), LABELS)

    assert "10 of 20 pairs right, 20 without" in finding.says
    assert "20 of 20 pairs right, 10 without" in probe.judge_finding(judgements, LABELS).says


def test_the_labelled_pairs_are_twenty_and_half_of_them_are_said() -> None:
    """Else a judge that says one word to all would not stand out."""
    assert (len(PAIRS), sum(LABELS)) == (20, 10)


# Meaning


async def embedded(world: OpenAIWorld) -> Trial:
    embedder = build_embeddings({"OPENAI_BASE_URL": world.url, "OPENAI_API_KEY": KEY, "GORKD_EMBEDDING_MODEL": "e-1"})
    trial = await probe.trial("Meaning", probe.of_embeddings(embedder))
    await embedder.aclose()
    assert KEY not in str(trial)
    return trial


def by_twos(cosine: float) -> Callable[[str], np.ndarray]:
    """Every second text is as near the one before it as `cosine`, and all others are as unlike as can be."""
    texts: list[str] = []

    def embed(text: str) -> np.ndarray:
        vector = np.zeros(300)
        vector[len(texts) // 2] = cosine**0.5
        vector[100 + len(texts)] = (1 - cosine) ** 0.5
        texts.append(text)
        return vector

    return embed


@pytest.mark.parametrize(
    ("cosine", "cutoffs"),
    [
        pytest.param(0.44, "papers from 0.11, passages from 0.33, mapped", id="low cosines"),
        pytest.param(0.8, "papers from 0.50, passages from 0.60, as for most models", id="usual cosines"),
    ],
)
async def test_an_embedding_model_is_told_with_its_cosines_and_the_cut_offs(cosine: float, cutoffs: str) -> None:
    """A quarter and three quarters of the way from what is off the topic to what is on it, where .5 and .6 are not."""
    async with openai_world() as world:
        world.embed = by_twos(cosine)
        trial = await embedded(world)

    assert trial.is_usable
    assert f"off the topic at most 0.00; on the topic {cosine:.2f}" in found(trial, "cosines").says
    assert cutoffs in found(trial, "cut-offs").says
    assert len(world.embedding_calls) <= probe.EMBEDDING_CALLS


async def test_embeddings_that_are_all_alike_tell_nothing_apart() -> None:
    """Such a model is told as one to be replaced."""
    async with openai_world() as world:
        world.embed = lambda text: np.ones(8)
        trial = await embedded(world)

    assert found(trial, "cosines").state == "warning"
    assert found(trial, "cosines").change[0].startswith("GORKD_EMBEDDING_MODEL=")


async def test_embeddings_that_are_refused_are_not_usable() -> None:
    """With the setting to look at."""
    async with openai_world() as world:
        world.keys = {"sk-other"}
        trial = await embedded(world)

    assert not trial.is_usable
    assert "OPENAI_API_KEY" in trial.findings[0].says


async def test_without_any_model_each_is_off_and_says_how_to_turn_it_on() -> None:
    """No call is made, and none announced."""
    trials = probe.model_trials([], None, None)

    found_off = [trial async for trial in trials.run()]

    assert trials.announcement == "No model is configured, so there is nothing to try."
    assert [trial.findings[0].state for trial in found_off] == ["off", "off"]
    assert all(trial.is_usable for trial in found_off)
