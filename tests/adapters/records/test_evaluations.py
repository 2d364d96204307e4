"""Tests made of bad answers, and how often which confidence was right by votes and evaluations; on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from adapters.records.archive import SqlArchive
from adapters.records.jobs import SqlEvaluations, SqlJobStore
from adapters.records.sql import Tables
from core.model.answer import Confidence, JobResult, Rating, ResearchAnswer
from core.model.errors import JobNotFound
from core.model.job import JobStatus, ResearchJob, Scope
from core.tenancy.forgetting import Whose
from core.tenancy.usage import Grade, JudgedAnswers, VotedCase
from tests.adapters.records.samples import make_job

AT = datetime(2026, 11, 1, tzinfo=UTC)


async def answered(tables: Tables, number: int, level: Confidence, tenant: str = "slack:T1") -> ResearchJob:
    base = make_job(number)
    request = replace(base.request, scope=Scope(tenant, "workspace"))
    job = replace(base, request=request, status=JobStatus.COMPLETED)
    await SqlJobStore(tables).finish(job, JobResult(ResearchAnswer("It is.", "", level)))
    return job


async def vote(tables: Tables, job: ResearchJob, *votes: bool) -> None:
    for number, is_good in enumerate(votes):
        await SqlEvaluations(tables).rate(job, Rating(f"U{number}", is_good, '"is_good":true', AT))


async def test_cases_are_kept_by_tenant_oldest_first(tables: Tables):
    """A second wish for the same job replaces the first."""
    one, two = await answered(tables, 1, Confidence.HIGH), await answered(tables, 2, Confidence.LOW, "discord:5")
    store = SqlEvaluations(tables)
    for job, must, at in ((one, "x", AT), (two, "", AT + timedelta(hours=2)), (one, "It says so.", AT)):
        await store.put_case(job, VotedCase(job.id, must, at))

    assert await store.cases("") == [
        VotedCase(one.id, "It says so.", AT),
        VotedCase(two.id, "", AT + timedelta(hours=2)),
    ]
    assert [case.job_id for case in await store.cases("discord:5")] == [two.id]

    await store.drop_case(one.id)
    assert await store.cases("slack:T1") == []


async def test_a_forgotten_job_takes_its_test_along(tables: Tables):
    job = await answered(tables, 1, Confidence.HIGH)
    await SqlEvaluations(tables).put_case(job, VotedCase(job.id, "SECRET", AT))

    await SqlArchive(tables).erase(Whose(job_id=job.id), [job.id])

    assert await SqlEvaluations(tables).cases("") == []
    with pytest.raises(JobNotFound):
        await SqlEvaluations(tables).put_case(job, VotedCase(job.id, "", AT))


async def test_votes_are_counted_once_an_answer(tables: Tables):
    """The majority counts, a tie for neither; a reason that looks like a vote is none."""
    for number, (level, votes) in enumerate(
        [
            (Confidence.HIGH, (True, True, False)),
            (Confidence.HIGH, (False,)),
            (Confidence.HIGH, (True, False)),
            (Confidence.LOW, (False, False, True)),
        ],
        start=1,
    ):
        await vote(tables, await answered(tables, number, level), *votes)
    await vote(tables, await answered(tables, 9, Confidence.HIGH, "discord:5"), True)
    store = SqlEvaluations(tables)

    assert await store.judged("slack:T1") == [
        JudgedAnswers(Confidence.HIGH, "votes", 1, 2), JudgedAnswers(Confidence.LOW, "votes", 0, 1),
    ]  # fmt: skip
    assert (await store.judged(""))[0] == JudgedAnswers(Confidence.HIGH, "votes", 2, 3)
    assert await store.votes(make_job(1).id) == (2, 1)


async def test_an_evaluations_question_counts_once(tables: Tables):
    """Its latest run; and it is no tenant's."""
    store = SqlEvaluations(tables)
    await store.put_grades([Grade("a", Confidence.HIGH, False), Grade("b", Confidence.LOW, True)], AT)
    await store.put_grades([Grade("a", Confidence.MEDIUM, True)], AT + timedelta(days=1))

    assert await store.judged("") == [
        JudgedAnswers(Confidence.LOW, "evaluations", 1, 1), JudgedAnswers(Confidence.MEDIUM, "evaluations", 1, 1),
    ]  # fmt: skip
    assert await store.judged("slack:T1") == []


async def test_a_grade_goes_with_the_job_whose_question_it_is_of(tables: Tables):
    """Nothing of a forgotten question is left, nor written anew by a run that was under way."""
    job, store = await answered(tables, 1, Confidence.HIGH), SqlEvaluations(tables)
    grades = [Grade(f"votes/{job.id}", Confidence.HIGH, True, job.id), Grade("towers/q1", Confidence.LOW, True)]
    await store.put_grades(grades, AT)

    await SqlArchive(tables).erase(Whose(job_id=job.id), [job.id])
    await store.put_grades(grades, AT)

    assert await store.judged("") == [JudgedAnswers(Confidence.LOW, "evaluations", 1, 1)]
