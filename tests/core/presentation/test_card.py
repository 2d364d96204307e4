"""A job as a card: which parts and buttons it has in which state, whatever prints it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from core.deep.state import Coverage
from core.deep.viewing import CardItem, ChecklistCard
from core.model.answer import AnswerFile, Confidence, Conflict, JobResult, RemovedSentence, ResearchAnswer
from core.model.job import JobError, ResearchJob
from core.presentation import wording
from core.presentation.card import (
    AnswerCard,
    CardButton,
    CheckedClaim,
    answer_card,
    checks_json,
    first_quotes,
    progress_card,
)
from core.presentation.snapshot import Snapshot
from tests.core.findings.samples import found, idea, implementation
from tests.golden import samples
from tests.golden.strategies import outcomes

PAGE = "https://gorkd.test/jobs/1"
REPEATED = replace(
    samples.RESULT, cached_at="2026-03-11T11:00:00+00:00", cached_question="What is the height of the lighthouse?"
)
UNSURE = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence=Confidence.LOW))
REFRESHED = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, refreshes="job_old"))
REFUSED = replace(samples.FAILED, error=JobError("INVALID_QUERY", "That is no question.", retryable=False))


def buttons_of(card: AnswerCard) -> list[str]:
    return [button.name for button in (*card.buttons, *card.renewing, *card.votes, *card.offers)]


def card_of(job: ResearchJob, result: JobResult | None) -> AnswerCard:
    return answer_card(job, result, samples.SOURCES, page_url=PAGE)


@pytest.mark.parametrize(
    ("job", "result", "expected"),
    [
        (samples.COMPLETED, samples.RESULT, ["good", "bad"]),
        (
            samples.COMPLETED,
            REPEATED,
            ["refresh", "what_changed", "good", "bad"],
        ),
        (REFRESHED, samples.RESULT, ["what_changed", "good", "bad"]),
        (
            samples.COMPLETED,
            UNSURE,
            ["good", "bad", "start_deep", "not_now"],
        ),
    ],
    ids=["answered", "answered before", "renewed", "unsure"],
)
def test_an_answer_has_the_buttons_of_its_state(job: ResearchJob, result: JobResult, expected: list[str]) -> None:
    """D9, D12: Start where a model wrote what is not sure; Refresh below what was answered before."""
    always = ["view_full_analysis", "show_sources", "ask_again", "improve", "watch", "export"]
    assert buttons_of(card_of(job, result)) == [*always, *expected]


@pytest.mark.parametrize(
    ("job", "first"),
    [
        (samples.FAILED, CardButton("retry", is_primary=True)),
        (REFUSED, CardButton("ask_again")),
        (samples.CANCELLED, CardButton("ask_again")),
    ],
    ids=["may work when tried again", "never works", "cancelled"],
)
def test_what_ended_without_an_answer_can_be_asked_again(job: ResearchJob, first: CardButton) -> None:
    """D14: Retry only where the same may work."""
    card = card_of(job, JobResult(answer=None))

    assert (card.outcome, card.level) == ("ended", None)
    assert card.buttons == (first, CardButton("show_sources"), CardButton("view_full_analysis", PAGE))
    assert [part.name for part in card.parts] == ["failure"]


def test_nothing_is_offered_or_shared_that_may_not_be() -> None:
    declined = answer_card(samples.COMPLETED, UNSURE, [], may_offer=False)
    shared = answer_card(samples.COMPLETED, UNSURE, [], may_share=True)

    assert declined.offers == ()
    assert declined.part("offer").text == ""
    assert "share" not in buttons_of(declined)
    assert "share" in buttons_of(shared)
    assert "show_sources" not in buttons_of(shared)


def test_parts_come_in_one_order_and_empty_ones_not_at_all() -> None:
    whole = answer_card(samples.COMPLETED, REPEATED, [], unattached=[AnswerFile("a.py", "text/plain", "x")])
    insufficient = card_of(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT)

    assert [part.name for part in whole.parts] == [
        "earlier", "answer", "detail", "confidence", "reasons", "conflicts", "limitations", "files",
    ]  # fmt: skip
    assert [part.name for part in insufficient.parts] == ["answer", "confidence", "limitations", "searched", "advice"]
    assert whole.part("earlier").line == "Answered 3 days ago for: What is the height of the lighthouse?"
    assert insufficient.heading == f"🔎 {wording.TITLE_INSUFFICIENT}"


def test_sources_are_cited_or_only_read() -> None:
    card = card_of(samples.COMPLETED, samples.RESULT)

    assert [source.id for source in card.cited] == ["src_1", "src_2", "src_3"]
    assert [source.id for source in card.uncited] == ["src_4"]
    assert first_quotes(samples.ANSWER)["src_3"] == "counting the helipad added in 1980"
    row = replace(samples.ANSWER.citations[0], source_id="src_3", quote="| Tower | 1874 |")
    assert first_quotes(replace(samples.ANSWER, citations=(row,)))["src_3"] == "Tower · 1874"


def test_what_was_found_stands_in_the_order_asked_for() -> None:
    """Ideas, implementations, report; each result with its source, the report as its abstract."""
    sections = [("Abstract", "Towers [1]."), ("Introduction", "Long ago.")]
    job, result = found([idea(1), implementation(1, "x = 1"), idea(2)], sections=sections)

    card = answer_card(job, result, samples.SOURCES)

    assert [(entry.kind, entry.item.number if entry.item else entry.text) for entry in card.found] == [
        ("heading", "Ideas"), ("item", 1), ("item", 2),
        ("heading", "Implementations"), ("item", 1),
        ("heading", "Report"), ("text", "Towers [1]."), ("note", "On the page: Introduction"),
    ]  # fmt: skip
    assert [entry.source.id for entry in card.found if entry.source] == ["src_1", "src_1", "src_2"]


def test_claims_of_a_checked_message_come_along() -> None:
    request = replace(samples.COMPLETED.request, quoted="It is tall.", modes=("check",))
    result = replace(samples.RESULT, details=checks_json([CheckedClaim("It is tall.")]))

    card = answer_card(replace(samples.COMPLETED, request=request), result, samples.SOURCES)

    assert (card.asked.name, card.asked.text, card.asked.label) == ("message", "It is tall.", wording.MESSAGE)
    assert [check.claim for check in card.checks] == ["It is tall."]


def test_a_running_job_can_be_cancelled_and_one_with_a_plan_steered() -> None:
    plan = ChecklistCard("q", (CardItem("1", "Height", Coverage.PARTIAL),), 1, 10, 3, "1–3 minutes")
    sources = tuple(f"{number}.example – A" for number in range(5))

    plain = progress_card(samples.RUNNING, Snapshot(message="Reading", sources=sources, parts=("one",)), 4.2)
    steered = progress_card(samples.RUNNING, Snapshot(card=plan), 4.2)
    written = progress_card(samples.RUNNING, Snapshot(card=plan, stage="synthesizing"), 4.2)
    beside = progress_card(samples.RUNNING, Snapshot(card=plan, stage="synthesizing", parts=("deep", "idea")), 4.2)

    assert [button.name for button in plain.buttons] == ["cancel"]
    assert [button.name for button in steered.buttons] == ["go_deeper", "answer_now", "cancel"]
    assert (written.buttons, beside.buttons) == (plain.buttons, steered.buttons)
    assert (plain.places, plain.running, plain.facts) == (sources[-3:], (), ("4.2 s", "5 sources"))


@given(outcomes())
def test_every_job_makes_a_card_whose_buttons_have_words(outcome: tuple[ResearchJob, JobResult | None, list]) -> None:
    """No part without a text, no name twice, and every source either cited or not."""
    card = answer_card(*outcome)

    names = [part.name for part in card.parts]
    assert len(set(names)) == len(names)
    assert all(part.text for part in card.parts)
    assert all(button.label for button in (*card.buttons, *card.renewing, *card.votes, *card.offers))
    assert len(card.cited) + len(card.uncited) == len(outcome[2]) == len(card.sources)


COVERED = {"checklist_coverage": {
    "satisfied": ["Height of the lighthouse"],
    "gaps": ["Year of the helipad - partial coverage", "Its cost - no coverage"],
}}  # fmt: skip


def test_deep_research_keeps_its_checklist_with_a_cited_line_an_item() -> None:
    """S002-12: what was found, in part, or not; what is not found is said once."""
    told = ("Not found: Its cost.", "Only partly found: Year of the helipad.", "No source gives a date.")
    answer = replace(samples.ANSWER, limitations=told)

    card = card_of(samples.COMPLETED, replace(samples.RESULT, answer=answer, details=COVERED))

    tower, year, cost = card.part("plan").text.split("\n")
    assert tower.startswith("✓ Height of the lighthouse: ")
    assert "[1]" in tower
    assert year.startswith("◐ partly Year of the helipad: A helipad was added in 1980 [3].")
    assert cost == "○ not found Its cost"
    assert card.part("limitations").text == "No source gives a date."
    assert card.limitations == told


def test_the_offer_to_go_deeper_says_what_it_would_look_for() -> None:
    offers = [
        card_of(samples.COMPLETED, replace(UNSURE, answer=answer)).part("offer").text
        for answer in (
            replace(samples.ANSWER, confidence=Confidence.LOW, conflicts=()),
            ResearchAnswer("", "", Confidence.INSUFFICIENT, metadata=samples.ANSWER.metadata),
            replace(samples.ANSWER, confidence=Confidence.LOW, conflicts=(Conflict("the height", ()),)),
        )
    ]

    assert all(offer.startswith(wording.OFFERS_DEEP) and offer.endswith("Start it?") for offer in offers)
    assert len(set(offers)) == 3
    assert "the question they answer" in offers[1]
    assert "what settles the disagreement on “the height”" in offers[2]


def test_the_offer_to_go_deeper_does_not_seek_to_confirm_what_the_sources_deny() -> None:
    denied = RemovedSentence("It is 60 metres tall.", "a model read otherwise: it is 49")
    unknown = RemovedSentence("It cost 9 pounds.", "a model did not confirm it")
    answer = replace(samples.ANSWER, confidence=Confidence.LOW, conflicts=(), removed=(denied, unknown))

    offer = card_of(samples.COMPLETED, replace(UNSURE, answer=answer)).part("offer").text

    assert "60 metres" not in offer
    assert "It cost 9 pounds" in offer


def test_the_offer_to_go_deeper_begins_with_what_the_answer_lacks() -> None:
    """What was cut because nobody confirmed it comes last: it may be the writer's invention."""
    unknown = RemovedSentence("It cost 9 pounds.", "a model did not confirm it")
    only = replace(samples.ANSWER, confidence=Confidence.LOW, conflicts=(), removed=(unknown,))
    only = replace(only, claims=only.claims[:1], citations=only.citations[:1])

    offer = card_of(samples.COMPLETED, replace(UNSURE, answer=only)).part("offer").text

    assert 0 < offer.index("a second, independent source") < offer.index("It cost 9 pounds")


def test_marks_are_explained_where_it_is_asked_for() -> None:
    explained = answer_card(samples.COMPLETED, samples.RESULT, samples.SOURCES, explains=True)

    assert all(mark in explained.part("marks").text for mark in "✓◐↪")
    assert card_of(samples.COMPLETED, samples.RESULT).part("marks").text == ""


def test_a_reason_that_the_notice_names_is_not_said_again() -> None:
    told = replace(samples.ANSWER, confidence_reasons=("the number is missing", "1 source"), conflicts=())
    noticed = replace(told, notice="This is near the question, but may not answer it (the number is missing).")

    assert card_of(samples.COMPLETED, replace(UNSURE, answer=told)).part("reasons").text == "the number is missing"
    assert card_of(samples.COMPLETED, replace(UNSURE, answer=noticed)).part("reasons").text == ""


def test_the_reason_that_decided_stands_with_what_sources_disagree_on_and_the_statistics_are_on_the_page() -> None:
    reasons = ("the central claim rests on one source", "1 independent source", "3 of 3 claims supported")
    disputed = replace(samples.ANSWER, confidence_reasons=reasons)
    card = card_of(samples.COMPLETED, replace(UNSURE, answer=disputed))
    agreed = card_of(samples.COMPLETED, replace(UNSURE, answer=replace(disputed, conflicts=())))

    assert agreed.part("reasons").text == reasons[0]
    assert card.part("reasons").text.startswith(f"{reasons[0]}. {wording.CONFLICTS} height of the tower: 49 metres [1]")
    assert card.answer.confidence_reasons == reasons
