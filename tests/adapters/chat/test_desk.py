"""What words and buttons mean, whatever the platform: every word, in every state, by who asked and by others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adapters.chat.desk import Ask, Deed, Forget, Nothing, Renew, Say, Show, ShowSources, Steer, Utterance, hear, press
from core.model.job import JobStatus, ResearchJob
from core.model.steering import Steering
from core.presentation import wording
from tests.fakes import make_job

ADA, BEN = "U1", "U2"
ENDED = (JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)
NOT_YOURS = Say(wording.NOT_YOURS)


def asked_by_ada(status: JobStatus, *, mode: str = "quick") -> ResearchJob:
    return replace(make_job("What causes the tides?", asker=ADA, modes=(mode,)), status=status)


RUNNING, DEEP = asked_by_ada(JobStatus.SEARCHING), asked_by_ada(JobStatus.SEARCHING, mode="deep")
# What each word does under an answer: to who asked, and to others.
UNDER_ANSWER = {
    "sources": (ShowSources, ShowSources),
    "improve": (Renew, Renew),
    "improve: name the years": (Renew, Renew),
    "deeper": (Renew, Renew),
    "again": (Renew, Renew),
    "retry": (Renew, Renew),
    "forget": (Forget, Say),
    "cancel": (Steer, Say),
    "help": (Show, Show),
    "history": (Show, Show),
    "thanks!": (Nothing, Nothing),
    "👍": (Nothing, Nothing),
    "And the Sun?": (Ask, Ask),
}


@pytest.mark.parametrize("status", ENDED)
@pytest.mark.parametrize("word", UNDER_ANSWER)
def test_a_word_means_the_same_under_every_answer_that_has_ended(word: str, status: JobStatus) -> None:
    """Completed, failed or cancelled; no word is ever a question."""
    job = asked_by_ada(status)

    for asker, expected in zip((ADA, BEN), UNDER_ANSWER[word], strict=True):
        deed = hear(Utterance(word, asker), job, None)

        assert type(deed) is expected
        assert deed == NOT_YOURS or not isinstance(deed, Say)


@pytest.mark.parametrize(
    ("word", "deed"),
    [
        ("improve: name the years", Renew(RUNNING, "improve", "name the years")),
        ("deeper", Renew(RUNNING, "deeper")),
        ("again", Renew(RUNNING, "ask_again")),
        ("retry", Say(wording.ALREADY_BEGUN)),
        ("sources", ShowSources(RUNNING)),
        ("cancel", Steer(RUNNING, Steering("cancel"))),
        ("stop", Steer(RUNNING, Steering("cancel"))),
        ("forget", Forget(RUNNING)),
        ("thanks", Nothing()),
    ],
)
def test_a_word_under_a_question_that_is_being_answered(word: str, deed: Deed) -> None:
    assert hear(Utterance(word, ADA), RUNNING, None) == deed


@pytest.mark.parametrize(
    ("said", "deed"),
    [
        ("add the costs", Steer(DEEP, Steering("add_item", "the costs"))),
        ("deeper", Steer(DEEP, Steering("go_deeper"))),
        ("cancel", Steer(DEEP, Steering("cancel"))),
        ("Only Europe?", Steer(DEEP, Steering("constraint", "Only Europe?"))),
        ("sources", ShowSources(DEEP)),
        ("forget", Forget(DEEP)),
        ("help", Show("help")),
        ("ok, thanks", Nothing()),
    ],
)
def test_research_in_rounds_is_steered_by_who_asked(said: str, deed: Deed) -> None:
    others = deed if isinstance(deed, (ShowSources, Show, Nothing)) else NOT_YOURS

    assert hear(Utterance(said, ADA), DEEP, DEEP) == deed
    assert hear(Utterance(said, BEN), DEEP, DEEP) == others


@pytest.mark.parametrize("word", ["sources", "improve", "improve: x", "deeper", "again", "retry", "forget", "cancel"])
def test_a_word_with_no_answer_above_it_is_no_question(word: str) -> None:
    """Nothing was asked there, or it is forgotten; where it was only heard, it was for somebody else."""
    assert hear(Utterance(word, ADA), None, None) == Say(wording.NOTHING_HERE)
    assert hear(Utterance(word, ADA, is_addressed=False), None, None) == Nothing()


@pytest.mark.parametrize(
    ("said", "asker", "deed"),
    [
        ("And the Sun?", ADA, Ask()),
        ("And the Sun?", BEN, Nothing()),
        ("forget", BEN, NOT_YOURS),
        ("help", BEN, Show("help")),
        ("great", ADA, Nothing()),
    ],
)
def test_what_is_only_heard_in_a_thread_of_ours(said: str, asker: str, deed: Deed) -> None:
    """Who asked goes on without a mention; our words are ours."""
    assert hear(Utterance(said, asker, is_addressed=False), asked_by_ada(JobStatus.COMPLETED), None) == deed


def test_a_file_may_come_with_thanks_and_without_a_word() -> None:
    assert hear(Utterance("thanks", ADA, has_files=True), None, None) == Ask()
    assert hear(Utterance("", ADA, has_files=True), None, None) == Ask()
    assert hear(Utterance("", ADA), None, None) == Say(wording.ASK_WHAT)


@pytest.mark.parametrize("button", wording.BUTTONS)
def test_every_button_has_its_rights(button: str) -> None:
    """Sharing, cancelling and steering are its asker's alone."""
    job = asked_by_ada(JobStatus.COMPLETED)
    is_askers = button in ("share", "cancel", "go_deeper", "answer_now")

    assert (press(button, job, BEN) == NOT_YOURS) is is_askers
    assert press(button, job, ADA) != NOT_YOURS


@pytest.mark.parametrize("button", ["retry", "ask_again", "refresh", "start_deep"])
def test_a_button_that_renews_an_answer_does_so_for_everyone(button: str) -> None:
    job = asked_by_ada(JobStatus.FAILED)

    assert press(button, job, BEN) == Renew(job, button)  # type: ignore[arg-type]
