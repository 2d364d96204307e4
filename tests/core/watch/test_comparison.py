"""What changed between two answers, and how an answer is renewed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from core.model.answer import Claim, Confidence, ResearchAnswer, Verdict
from core.model.errors import JobNotFound
from core.model.job import ResearchJob, ResearchRequest, Scope
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.wording import changes_lines
from core.watch.comparison import AnswerChanges, ChangedClaim, compare_answers
from tests.core.cats import QUESTION, TRUSTED, cat_search
from tests.fakes import NOW, Idle, hit, make_deps

CHANNEL = Scope("discord:1", "channel:2")
LARYNX = "Cats purr because the muscles of the larynx twitch about 25 times a second."


def answer(*texts: str) -> ResearchAnswer:
    claims = tuple(Claim(f"summary-{place}", text, Verdict.SUPPORTED) for place, text in enumerate(texts))
    return ResearchAnswer(" ".join(texts), "", Confidence.MEDIUM, claims=claims)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param((LARYNX,), (LARYNX,), AnswerChanges(), id="the same"),
        pytest.param((LARYNX,), (LARYNX, "Purring may help bones heal."), AnswerChanges(
            added=("Purring may help bones heal.",)), id="added"),
        pytest.param((LARYNX, "Lions cannot purr at all."), (LARYNX,), AnswerChanges(
            dropped=("Lions cannot purr at all.",)), id="dropped"),
        pytest.param(
            ("The Eiffel Tower in Paris is 324 metres tall.",), ("The Eiffel Tower in Paris is 330 metres tall.",),
            AnswerChanges(contradicted=(ChangedClaim(
                "The Eiffel Tower in Paris is 324 metres tall.", "The Eiffel Tower in Paris is 330 metres tall."),)),
            id="contradicted"),
        pytest.param(
            ("The tower was designed by Gustave Eiffel, and it opened in 1889.",), ("The tower opened in 1889.",),
            AnswerChanges(dropped=("The tower was designed by Gustave Eiffel, and it opened in 1889.",)),
            id="said in part"),
    ],
)  # fmt: skip
def test_claims_are_added_dropped_and_contradicted(
    before: tuple[str, ...], now: tuple[str, ...], expected: AnswerChanges
) -> None:
    """D12: What changed says it claim by claim."""
    assert compare_answers(answer(*before), answer(*now)) == expected


def test_every_change_has_a_line_and_no_change_a_sentence() -> None:
    """Whoever presses What changed is told something, whatever came out."""
    changes = AnswerChanges(("a",), ("b",), (ChangedClaim("c", "d"),))

    assert changes_lines(changes) == ["Before: c Now: d", "New: a", "No longer said: b"]
    assert len(changes_lines(AnswerChanges())) == 1


async def ask(researcher: Researcher, deps: Deps, **request: object) -> ResearchJob:
    job = await researcher.submit(replace(ResearchRequest(QUESTION, scope=CHANNEL), **request))  # type: ignore[arg-type]
    await run_job(job.id, deps, DirectSteps())
    return job


async def test_a_refreshed_answer_is_researched_anew_and_says_what_is_different() -> None:
    """Refresh asks the same question again, once a day; the next asker gets the new answer."""
    search = cat_search(url=TRUSTED)
    deps = make_deps(search=[search])
    researcher = Researcher(deps, Idle())
    await ask(researcher, deps, asker="ada")
    repeated = await ask(researcher, deps, asker="bob")
    lions = "Cats purr because the muscles of the larynx twitch about 30 times a second. Lions do not purr."
    search.hits = [hit(TRUSTED, lions, title="Purring", is_complete=True)]

    renewed = await researcher.refresh(repeated.id, "bob", scope=CHANNEL)
    twice = await researcher.refresh(repeated.id, "eve", scope=CHANNEL)
    early = await researcher.changes(renewed.id, scope=CHANNEL)
    await run_job(renewed.id, deps, DirectSteps())
    changes = await researcher.changes(renewed.id, scope=CHANNEL)
    after = await ask(researcher, deps, asker="eve")

    result = await researcher.result(after.id)
    assert renewed.id == twice.id
    assert early is None
    assert not changes.is_nothing
    assert result.cached_job == renewed.id
    assert await researcher.changes(repeated.id, scope=CHANNEL) == changes
    assert await researcher.changes(after.id, scope=CHANNEL) is None
    with pytest.raises(JobNotFound):
        await researcher.refresh(repeated.id, "bob", scope=Scope("discord:1", "channel:3"))


@pytest.mark.parametrize(
    ("first", "then", "named"),
    [
        ({"asker": "ada"}, {"asker": "bob"}, "ada"),
        ({"asker": "ada"}, {"asker": "ada"}, ""),
        ({"asker": ""}, {"asker": "bob"}, ""),
    ],
    ids=["somebody else", "oneself", "nobody known"],
)
async def test_who_asked_first_is_told_where_it_was_asked(
    first: dict[str, str], then: dict[str, str], named: str
) -> None:
    """D12: who may see the answer decides whether it names the asker; after forgetting it names nobody."""
    moments = [NOW]
    search = cat_search(url=TRUSTED)
    deps = make_deps(search=[search], clock=lambda: moments[-1])
    researcher = Researcher(deps, Idle())
    await ask(researcher, deps, **first)
    moments.append(NOW + timedelta(hours=1))
    repeated = await ask(researcher, deps, **then)

    assert await researcher.first_asker(repeated.id, scope=CHANNEL) == named
