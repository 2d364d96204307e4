"""What words and buttons mean, whatever the platform: every word, in every state, by who asked and by others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from adapters.chat.desk import (
    Ask,
    Cancel,
    Deed,
    Forget,
    Nothing,
    Offer,
    Prove,
    React,
    Renew,
    Say,
    Show,
    ShowSources,
    Speaking,
    Steer,
    Utterance,
    changed_key,
    hear,
    hear_edit,
    press,
    told_of,
    under_way,
)  # fmt: skip
from adapters.chat.watching import WatchPlace
from core.model.job import JobStatus, ResearchJob, Steering
from core.pipeline.researcher import Researcher
from core.presentation import wording
from core.text.saying import speaking, spoken
from tests.fakes import Idle, make_deps, make_job
from tests.golden import samples

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
    "export": (Prove, Prove),
    "give me the receipt": (Prove, Prove),
    "make this a test: it says 49 metres": (Prove, Prove),
    "cancel": (Steer, Say),
    "help": (Show, Show),
    "history": (Show, Show),
    "thanks!": (React, React),
    "👍": (React, React),
    "that is wrong": (Renew, Renew),
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
        ("that is wrong", Say(wording.ALREADY_BEGUN)),
        ("sources", ShowSources(RUNNING)),
        ("cancel", Steer(RUNNING, Steering("cancel"))),
        ("stop", Steer(RUNNING, Steering("cancel"))),
        ("forget", Forget(RUNNING)),
        ("receipt", Prove(RUNNING, "receipt")),
        ("share", Say(wording.HOW_TO_SHARE.format(share="Share"))),
        ("make this a test: it says 49", Prove(RUNNING, "test", "it says 49")),
        ("thanks", React("thanks")),
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
        ("ok, thanks", React("thanks")),
    ],
)
def test_research_in_rounds_is_steered_by_who_asked(said: str, deed: Deed) -> None:
    others = deed if isinstance(deed, (ShowSources, Show, React)) else NOT_YOURS

    assert hear(Utterance(said, ADA), DEEP, DEEP) == deed
    assert hear(Utterance(said, BEN), DEEP, DEEP) == others


@pytest.mark.parametrize(
    "word", ["sources", "improve", "improve: x", "deeper", "again", "retry", "forget", "cancel", "share"]
)
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
        ("great", ADA, React("thanks")),
        ("great", BEN, Nothing()),
        ("hello", BEN, Nothing()),
        ("that's not right", ADA, Renew(asked_by_ada(JobStatus.COMPLETED), "refresh")),
        ("that's not right", BEN, Nothing()),
    ],
)
def test_what_is_only_heard_in_a_thread_of_ours(said: str, asker: str, deed: Deed) -> None:
    """Who asked goes on without a mention; our words are ours."""
    assert hear(Utterance(said, asker, is_addressed=False), asked_by_ada(JobStatus.COMPLETED), None) == deed


def test_what_is_called_wrong_is_researched_anew_and_what_is_said_of_it_is_minded() -> None:
    """Bare, from nothing of the answer; the words themselves are looked for nowhere, and mean nothing without one."""
    job = asked_by_ada(JobStatus.COMPLETED)

    assert hear(Utterance("Nein, das stimmt nicht!", BEN), job, None) == Renew(job, "refresh")
    assert hear(Utterance("That's wrong: it was 1889", BEN), job, None) == Renew(job, "improve", "it was 1889")
    assert hear(Utterance("that is wrong", ADA), None, None) == Say(wording.NOTHING_HERE)
    assert hear(Utterance("That's wrong: the Moon is of cheese", ADA), None, None) == Ask()


@pytest.mark.parametrize("above", [None, JobStatus.SEARCHING, JobStatus.COMPLETED])
@pytest.mark.parametrize("said", ["hello", "What can you do?"])
def test_who_greets_is_told_what_can_be_asked_and_nothing_is_searched(said: str, above: JobStatus | None) -> None:
    assert hear(Utterance(said, ADA), above and asked_by_ada(above), None) == Show("help")


def test_a_file_may_come_with_thanks_and_without_a_word() -> None:
    assert hear(Utterance("hello", ADA, has_files=True), None, None) == Ask()
    assert hear(Utterance("thanks", ADA, has_files=True), None, None) == Ask()
    assert hear(Utterance("", ADA, has_files=True), None, None) == Ask()
    assert hear(Utterance("", ADA), None, None) == Say(wording.ASK_WHAT)


@pytest.mark.parametrize("button", wording.BUTTONS)
def test_every_button_has_its_rights(button: str) -> None:
    """Sharing, cancelling and steering are its asker's alone."""
    job = asked_by_ada(JobStatus.COMPLETED)
    is_askers = button in ("share", "cancel", "go_deeper", "answer_now", "changed")

    assert (press(button, job, BEN) == NOT_YOURS) is is_askers
    assert press(button, job, ADA) != NOT_YOURS


@pytest.mark.parametrize("button", ["retry", "ask_again", "refresh", "start_deep"])
def test_a_button_that_renews_an_answer_does_so_for_everyone(button: str) -> None:
    job = asked_by_ada(JobStatus.FAILED)

    assert press(button, job, BEN) == Renew(job, button)  # type: ignore[arg-type]


@pytest.mark.parametrize("word", ["stop", "Stop!", "cancel that", "please stop", "never mind", "abbrechen", "annuler"])
def test_stop_ends_whatever_runs_of_who_says_it(word: str) -> None:
    """Also a question that was asked before the last one, and under an answer that has ended."""
    older = replace(RUNNING, id="job_older")

    assert hear(Utterance(word, ADA), RUNNING, None, [RUNNING, older]) == Cancel((RUNNING, older))
    assert hear(Utterance(word, ADA, is_addressed=False), RUNNING, None, [RUNNING]) == Cancel((RUNNING,))
    assert hear(Utterance(word, ADA), asked_by_ada(JobStatus.COMPLETED), None, [older]) == Cancel((older,))
    assert hear(Utterance(word, BEN), RUNNING, None, []) == NOT_YOURS


async def test_stop_in_a_thread_leaves_what_runs_elsewhere_and_in_a_channel_ends_all_there() -> None:
    researcher = Researcher(make_deps(), Idle())
    first, second = [await _submitted(researcher, thread, ADA) for thread in ("discord:1:10", "discord:1:11")]
    elsewhere = await _submitted(researcher, "discord:2:12", ADA)
    await _submitted(researcher, "discord:1:13", BEN)
    scope = first.scope

    async def found(word: str, thread: str) -> set[str]:
        return {job.id for job in await under_way(Utterance(word, ADA), researcher, thread, scope, scope)}

    assert await found("stop", "discord:1:10") == {first.id}
    assert await found("stop", "discord:1:99") == {first.id, second.id}
    assert await found("stop", "discord:2:98") == {elsewhere.id}
    assert await found("And the Sun?", "discord:1:10") == set()


def test_an_edited_question_is_offered_where_it_says_something_else() -> None:
    """A preview of a link, or another blank, is no change; nor is a word of ours."""
    job = asked_by_ada(JobStatus.COMPLETED)

    assert hear_edit("What causes neap tides?", job) == Offer(job, "What causes neap tides?")
    assert hear_edit(" What causes  the tides?", job) == Nothing()
    assert hear_edit("thanks", job) == Nothing()
    assert hear_edit("", job) == Nothing()
    assert hear_edit("What causes neap tides?", None) == Nothing()
    assert press("changed", job, ADA, question="Why?") == Renew(job, "changed", "Why?")
    assert changed_key(job, "Why?") == changed_key(job, " why? ") != changed_key(job, "Who?")


async def test_sources_are_listed_in_the_language_of_their_answer_whoever_asks_for_them() -> None:
    """N-28: others in the channel read them too."""
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, language="de"))
    researcher: Any = samples.ScriptedResearcher(job)
    at: Any = Speaking(researcher, Listing(), ADA, "slack:T1", where, cast(Any, None))

    with speaking("fr"):
        assert await told_of(ShowSources(job), at) == "de"


class Listing:
    def sources(self, sources: object, answer: object) -> str:
        return spoken()


async def where(_: ResearchJob | None) -> WatchPlace:
    raise AssertionError("nothing is watched")


async def _submitted(researcher: Researcher, thread: str, asker: str) -> ResearchJob:
    request = replace(make_job(f"What causes the tides of {thread} for {asker}?", asker=asker).request, thread=thread)
    return await researcher.submit(request)


@pytest.mark.parametrize(
    "words", ["check the references", "Please verify my bibliography!", "check references in this paper"]
)
def test_references_are_checked_of_a_file(words: str) -> None:
    """Under an answer or not; without a file it is said what to attach."""
    for job in (None, asked_by_ada(JobStatus.COMPLETED)):
        assert hear(Utterance(words, ADA, has_files=True), job, None) == Ask()
        assert hear(Utterance(words, ADA), job, None) == Say(wording.NO_LIST)
    assert hear(Utterance("Which references should I check?", ADA), None, None) == Ask()
