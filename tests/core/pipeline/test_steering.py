"""What people say to a running job: how it is read, who may say it, and that it is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.durable.queue import InProcessQueue
from core.deep.state import ChecklistItem, Coverage, DeepState, heed
from core.model.answer import JobResult
from core.model.errors import InvalidQuery, JobNotFound
from core.model.job import MAX_STEERING_CHARS, MAX_STEERINGS, JobStatus, Scope, Steering
from core.pipeline.conversation import read_steering
from core.pipeline.researcher import Researcher
from tests.fakes import make_deps, make_job

ELSEWHERE = Scope("slack:T1", "channel:C1")


@pytest.mark.parametrize(
    ("words", "kind", "text"),
    [
        pytest.param("add: cost of treatment", "add_item", "cost of treatment", id="add"),
        pytest.param("Also add item the dose in children", "add_item", "the dose in children", id="also add"),
        pytest.param("drop 2", "drop_item", "2", id="drop by number"),
        pytest.param("drop #3.", "drop_item", "3", id="drop with a sign"),
        pytest.param("remove the cost item", "drop_item", "the cost item", id="remove by words"),
        pytest.param("go deeper", "go_deeper", "", id="deeper"),
        pytest.param("Deeper!", "go_deeper", "", id="deeper alone"),
        pytest.param("answer now", "answer_now", "", id="answer now"),
        pytest.param("please wrap up.", "answer_now", "", id="wrap up"),
        pytest.param("cancel", "cancel", "", id="cancel"),
        pytest.param("only studies after 2015", "constraint", "only studies after 2015", id="a wish"),
        pytest.param("additional harms matter most", "constraint", "additional harms matter most", id="no command"),
        pytest.param("don't stop at adults", "constraint", "don't stop at adults", id="stop within"),
    ],
)
def test_words_of_a_reply_are_read(words: str, kind: str, text: str):
    """Commands by their first words; everything else is a constraint for the next round."""
    assert read_steering(words) == Steering(kind, text)


@given(st.text(max_size=3000))
def test_any_reply_is_a_steering_of_one_line(words: str):
    """Nothing that acts on a terminal or fills a prompt."""
    said = read_steering(words)

    assert len(said.text) <= MAX_STEERING_CHARS
    assert "\n" not in said.text
    assert "\x1b" not in said.text


ITEMS = tuple(ChecklistItem(str(n), text) for n, text in enumerate(("Dose in adults", "Side effects", "Cost"), start=1))
STATE = DeepState(question="?", checklist=ITEMS, last_item=3)


@pytest.mark.parametrize(
    ("said", "described", "line"),
    [
        pytest.param(Steering("add_item", "Children"), ("1", "2", "3", "4"), "Added: Children", id="add"),
        pytest.param(Steering("drop_item", "2"), ("1", "3"), "Dropped: Side effects", id="drop by id"),
        pytest.param(Steering("drop_item", "side effect"), ("1", "3"), "Dropped: Side effects", id="drop by words"),
        pytest.param(Steering("drop_item", "weather"), ("1", "2", "3"), "Nothing on the checklist", id="nothing meant"),
        pytest.param(Steering("constraint", "only trials"), ("1", "2", "3"), "From now on: only trials", id="wish"),
    ],
)
def test_what_is_said_changes_the_checklist(said: Steering, described: tuple[str, ...], line: str):
    """Each with a line that tells what was understood."""
    state, lines = heed(STATE, [said], max_items=12)

    assert tuple(item.id for item in state.checklist) == described
    assert lines[0].startswith(line)
    assert state.heard == 1


def test_ids_of_items_are_not_given_twice():
    """A fact that was found for a dropped item must not count for a new one."""
    state, _ = heed(STATE, [Steering("drop_item", "3"), Steering("add_item", "Price")], max_items=12)

    assert [item.id for item in state.checklist] == ["1", "2", "4"]


def test_the_last_item_stays_and_the_list_has_an_end():
    """Without an item there is nothing to research; with twenty there is no prompt."""
    one, _ = heed(replace(STATE, checklist=ITEMS[:1]), [Steering("drop_item", "1")], max_items=12)
    full, lines = heed(STATE, [Steering("add_item", "More")], max_items=3)

    assert len(one.checklist) == 1
    assert len(full.checklist) == 3
    assert "full" in lines[0]


def test_coverage_needs_every_item_to_have_something():
    """S002-11: an added item opens a covered list again."""
    covered = replace(STATE, checklist=tuple(replace(item, coverage=Coverage.SATISFIED) for item in ITEMS))

    added, _ = heed(covered, [Steering("add_item", "Children")], max_items=12)

    assert covered.is_covered
    assert not added.is_covered


async def nothing(job_id: str) -> None:
    pass


def door() -> tuple[Researcher, object]:
    deps = make_deps()
    return Researcher(deps, InProcessQueue(nothing, concurrency=1, limit=10, on_cancelled=nothing)), deps


async def test_a_running_deep_job_is_steered_from_its_own_scope():
    """Somebody elsewhere does not even learn that it exists."""
    researcher, deps = door()
    job = make_job("What is it?", modes=("deep",), thread="slack:C1:1")
    await deps.jobs.save(job)

    await researcher.steer(job.id, Steering("add_item", "Cost\nof it"), scope=job.scope)
    with pytest.raises(JobNotFound):
        await researcher.steer(job.id, Steering("answer_now"), scope=ELSEWHERE)

    assert await deps.jobs.steered(job.id) == [Steering("add_item", "Cost of it")]
    assert (await researcher.under_way("slack:C1:1", scope=job.scope)).id == job.id
    assert await researcher.under_way("slack:C1:2", scope=job.scope) is None
    assert await researcher.under_way("slack:C1:1", scope=ELSEWHERE) is None


@pytest.mark.parametrize(
    ("mode", "status", "rule"),
    [
        pytest.param("quick", JobStatus.SEARCHING, "not-steerable", id="quick"),
        pytest.param("deep", JobStatus.COMPLETED, "ended", id="ended"),
        pytest.param("deep", JobStatus.SYNTHESIZING, "ended", id="its answer is being written"),
    ],
)
async def test_what_cannot_be_steered_is_said(mode: str, status: JobStatus, rule: str):
    """In a sentence, and nothing is kept."""
    researcher, deps = door()
    job = replace(make_job("What is it?", modes=(mode,)), status=status)
    await deps.jobs.save(job)
    if status is JobStatus.COMPLETED:
        await deps.jobs.finish(job, JobResult(answer=None))

    with pytest.raises(InvalidQuery) as refused:
        await researcher.steer(job.id, Steering("go_deeper"), scope=job.scope)

    assert refused.value.rule == rule
    assert await deps.jobs.steered(job.id) == []


async def test_one_job_hears_only_so_much():
    """Who writes a bot that talks to it fills no prompt and no table."""
    researcher, deps = door()
    job = make_job("What is it?", modes=("deep",))
    await deps.jobs.save(job)
    for _ in range(MAX_STEERINGS):
        await researcher.steer(job.id, Steering("go_deeper"), scope=job.scope)

    with pytest.raises(InvalidQuery):
        await researcher.steer(job.id, Steering("go_deeper"), scope=job.scope)
