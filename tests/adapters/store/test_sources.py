"""The contract of a SourceStore, kept by every store alike (S003-18)."""

from __future__ import annotations

import pytest

from core.errors import StaleAttempt
from tests.adapters.store.samples import make_job, make_source


async def test_sources_come_back_whole_and_in_shown_order(sources):
    """`src_10` follows `src_9`, whatever the order they were put in."""
    numbers = [10, 2, 9, 1]

    await sources.put(make_job(), [make_source(number) for number in numbers])

    assert await sources.sources("job_1") == [make_source(number) for number in sorted(numbers)]


async def test_text_of_any_kind_survives(sources):
    """The offsets of citations count characters of the text as read, so not one may change."""
    text = 'line\r\nline\x00 \U0001f469\u200d\U0001f52c "quoted" \\ \ufeff' + "x" * 200_000

    await sources.put(make_job(), [make_source(1, content=text)])

    assert (await sources.sources("job_1"))[0].content == text


async def test_putting_again_replaces_by_number_and_keeps_the_rest(sources):
    """Sources may be put as they are read."""
    await sources.put(make_job(), [make_source(1), make_source(2)])

    await sources.put(make_job(), [make_source(2, content="read anew")])

    assert [source.content for source in await sources.sources("job_1")] == [make_source(1).content, "read anew"]


async def test_newer_attempt_starts_over(sources):
    """A source that only the lost attempt had found is not shown."""
    await sources.put(make_job(), [make_source(1), make_source(2)])

    await sources.put(make_job(attempt=2), [make_source(1)])

    assert [source.id for source in await sources.sources("job_1")] == ["src_1"]


async def test_older_attempt_is_refused(sources):
    """A stalled worker cannot replace what the newer one has read."""
    await sources.put(make_job(attempt=2), [make_source(1)])

    with pytest.raises(StaleAttempt):
        await sources.put(make_job(attempt=1), [make_source(2)])

    assert [source.id for source in await sources.sources("job_1")] == ["src_1"]


async def test_jobs_do_not_share_sources(sources):
    """Each job has its own; one without has none."""
    await sources.put(make_job(1), [make_source(1)])

    assert await sources.sources("job_2") == []
