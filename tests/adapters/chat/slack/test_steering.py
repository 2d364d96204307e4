"""Deep research in Slack: its options, its plan while it waits, and the offer below an unsure answer. Pure parts."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from adapters.chat.slack.render import SlackVoice
from adapters.chat.slack.translate import read_options
from core.deep.state import Coverage
from core.deep.viewing import CardItem, ChecklistCard
from core.model.answer import Confidence
from core.model.errors import InvalidQuery
from core.model.job import LOCAL
from core.presentation import wording
from core.presentation.snapshot import Snapshot
from tests.golden import samples

CARD = ChecklistCard(
    question="Is <!channel> tidal?",
    items=(
        CardItem("1", "What causes the tides", Coverage.SATISFIED),
        CardItem("2", "Where <@U1> they are highest", Coverage.UNSATISFIED),
    ),
    iteration=2,
    max_iterations=10,
    facts=14,
    duration="Deep research typically takes 1–3 minutes.",
)


def test_options_of_deep_research_are_read_anywhere_in_the_words():
    """S002-03: context and the number of rounds are options on every interface."""
    request = read_options('mode:deep max_iterations:4 context:"for a lecture" Why tides?', LOCAL, LOCAL)

    assert (request.modes, request.max_iterations, request.context) == (("deep",), 4, "for a lecture")
    assert request.query == "Why tides?"
    with pytest.raises(InvalidQuery):
        read_options("max_iterations:99 Why?", LOCAL, LOCAL)


def test_the_waiting_message_is_the_plan_and_how_far_it_is():
    """The checklist with marks, how to steer it, and buttons; what a model wrote pings nobody."""
    voice = SlackVoice(samples.LINKS)

    shown = json.dumps(voice.progress(samples.COMPLETED, Snapshot(card=CARD), 42.0).blocks, ensure_ascii=False)

    assert "Round 2 of 10 · 1 of 2 items · 14 facts" in shown
    assert '"title": "1. What causes the tides", "status": "complete"' in shown
    assert '"title": "2. Where' in shown
    assert wording.HOW_TO_STEER.split(";")[0] in shown
    assert all(label in shown for label in (wording.GO_DEEPER, wording.ANSWER_NOW, wording.CANCEL))
    assert "<@U1>" not in shown
    assert "<!channel>" not in shown


def test_an_unsure_answer_proposes_deep_research_and_a_sure_one_only_lets_it_be_asked_for():
    """D9: how long it takes is said, and what nobody started does not begin."""
    voice = SlackVoice(samples.LINKS)
    answer = samples.RESULT.answer
    unsure = replace(
        samples.RESULT,
        answer=replace(answer, confidence=Confidence.LOW, metadata=replace(answer.metadata, model="loop-1")),
    )

    offered = json.dumps(voice.outcome(samples.COMPLETED, unsure, samples.SOURCES).blocks, ensure_ascii=False)
    sure = json.dumps(voice.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES).blocks, ensure_ascii=False)

    assert '"start_deep"' in offered
    assert wording.OFFERS_DEEP in offered
    assert '"start_deep"' in sure
    assert wording.OFFERS_DEEP not in sure
