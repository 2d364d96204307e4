"""The contracts of Attachments and Ratings, kept by every store alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from adapters.store.belongings import SqlAttachments, SqlRatings
from core.attachments import Attachment
from core.errors import JobNotFound
from core.feedback import Rating
from tests.adapters.store.samples import NOON, make_job

PAPER = Attachment("paper.pdf", "application/pdf", "On Water", "first page\fsecond page \x00 ü", "cut here")


async def test_attachments_are_found_by_job_in_order(attachments):
    """With their pages; another job has none."""
    notes = replace(PAPER, name="notes.md")
    await attachments.put(make_job(1), [PAPER, notes])

    assert await attachments.of("job_1") == [PAPER, notes]
    assert await attachments.of("job_2") == []


async def test_attachments_put_again_replace(attachments):
    """A re-sent event may put them twice."""
    await attachments.put(make_job(1), [PAPER, PAPER])
    await attachments.put(make_job(1), [PAPER])

    assert await attachments.of("job_1") == [PAPER]


async def test_a_vote_is_one_an_asker_and_the_later_counts(ratings):
    """Told is only what is new: the figures count a change of mind, not a second click."""
    good = Rating("U1", is_good=True, reason="", at=NOON)
    bad = Rating("U1", is_good=False, reason="wrong year \x00", at=NOON + timedelta(seconds=2))
    other = Rating("U2", is_good=True, reason="", at=NOON + timedelta(seconds=1))

    told = [await ratings.put(make_job(1), vote) for vote in (good, good, other, bad)]

    assert told == [True, False, True, True]
    assert await ratings.of("job_1") == [other, bad]
    assert await ratings.of("job_2") == []


async def test_nothing_is_kept_for_a_job_that_is_not_stored(database, postgres):
    """A row without its job could not be forgotten with it."""
    for store in (SqlAttachments(database), SqlAttachments(postgres)):
        with pytest.raises(JobNotFound):
            await store.put(make_job(9), [PAPER])
    for votes in (SqlRatings(database), SqlRatings(postgres)):
        with pytest.raises(JobNotFound):
            await votes.put(make_job(9), Rating("U1", is_good=True, reason="", at=NOON))
