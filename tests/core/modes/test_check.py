"""Research This: each claim of a message with what sources say for and against it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.answer import Confidence, Evidence, JobResult, Verdict
from core.model.errors import InvalidQuery, ModelTimeout
from core.model.job import JobStatus, ResearchRequest
from core.model.ports import ChatRequest
from core.modes import MODES, find_mode
from core.modes.check import MAX_CLAIMS, MAX_MESSAGE_CHARS, split_claims
from core.pipeline.deps import Deps
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from core.presentation import wording
from core.presentation.card import CheckedClaim, Stand, checks_json, read_checks
from tests.fakes import FakeModel, FakeSearch, Idle, hit, is_control, make_deps, verdicts_json

TOWER = (
    "The Eiffel Tower is a wrought-iron lattice tower in Paris. The Eiffel Tower is 330 metres tall. "
    "It was completed in 1889 for the World's Fair."
)
BOILING = "At sea level, water boils at 100 °C (212 °F)."
RIVAL = "The Eiffel Tower is 500 metres tall."
MESSAGE = (
    "Did you know? The Eiffel Tower is 500 metres tall. It was completed in 1889. So true!! "
    "Gustave Eiffel painted the Mona Lisa twice. Water boils at 100 °C at sea level."
)
SEARCH = [
    hit("https://tower.example/", TOWER, title="Eiffel Tower", is_complete=True),
    hit("https://boiling.example/", BOILING, title="Boiling point of water", is_complete=True),
]


async def checked(message: str, deps: Deps) -> JobResult:
    researcher = Researcher(deps, Idle())
    job = await researcher.submit(ResearchRequest("", quoted=message, modes=("check",)))
    await run_job(job.id, deps, DirectSteps())
    assert (await researcher.job(job.id)).status is JobStatus.COMPLETED
    result = await researcher.result(job.id)
    assert result is not None
    return result


def stands(result: JobResult) -> dict[str, Stand]:
    return {check.claim: check.stand for check in read_checks(result)}


async def test_each_claim_is_supported_contradicted_or_without_evidence_by_rules() -> None:
    """Without a model the rules judge alone, and the answer says so; every quote stands in its source."""
    deps = make_deps(search=[FakeSearch("web", SEARCH)])

    result = await checked(MESSAGE, deps)

    assert stands(result) == {
        "The Eiffel Tower is 500 metres tall.": Stand.DIFFERS,
        "It was completed in 1889.": Stand.UNCONFIRMED,
        "Gustave Eiffel painted the Mona Lisa twice.": Stand.NO_EVIDENCE,
        "Water boils at 100 °C at sea level.": Stand.UNCONFIRMED,
    }
    assert result.answer.summary.startswith(
        "Checked 4 claims: 1 differs from a source, 2 not confirmed, 1 no evidence.\n\n1. "
    )
    assert result.answer.notice == wording.CHECKED_BY_RULES
    assert "Differs from a source: “The Eiffel Tower is 500 metres tall.”\n   - Differs: “The" in result.answer.summary
    sources = {source.id: source for source in await deps.sources.sources("job_1")}
    for citation in result.answer.citations:
        assert citation.quote == sources[citation.source_id].content[citation.start : citation.end]


async def test_sources_that_disagree_make_a_claim_mixed() -> None:
    """Said by one, denied by another."""
    rival = hit("https://rival.example/", RIVAL, title="Eiffel Tower heights", is_complete=True)
    deps = make_deps(search=[FakeSearch("web", [*SEARCH, rival])])

    result = await checked("The Eiffel Tower is 500 metres tall.", deps)

    assert list(stands(result).values()) == [Stand.MIXED]


def answering(verdict: str, *, control: str = "contradicted") -> Mapping[str, object]:
    def answer(request: ChatRequest) -> str:
        items = enumerate(request.user.split("<item ")[1:], start=1)
        return verdicts_json({number: (control if is_control(item) else verdict, "r") for number, item in items})

    return {"check": answer}


OPEN = "The Eiffel Tower served as a giant radio antenna after the fair."
SAID = "After the World's Fair the Eiffel Tower found a use as an aerial for wireless telegraphy."


@pytest.mark.parametrize(
    ("verdict", "stand"),
    [("supported", Stand.SUPPORTED), ("contradicted", Stand.CONTRADICTED), ("unsupported", Stand.NO_EVIDENCE)],
)
async def test_what_the_rules_leave_open_the_model_decides(verdict: str, stand: Stand) -> None:
    """One call for all open passages; what a rule doubts it may call partial at best."""
    model = FakeModel(answering(verdict))
    page = hit("https://aerial.example/", SAID, title="Eiffel Tower", is_complete=True)
    deps = make_deps(search=[FakeSearch("web", [page])], model=model)

    result = await checked(OPEN, deps)

    found = stands(result)[OPEN]
    assert found is stand
    assert len(model.calls("check")) == 1
    assert result.answer.notice == ""


@pytest.mark.parametrize("claim", [OPEN, "Tolvexin is taken once a day."])
async def test_a_judge_that_says_yes_to_everything_supports_no_claim(claim: str) -> None:
    """D18: neither one that a source may say nor one of which it has no word; the rules have the only say."""
    model = FakeModel(answering("supported", control="supported"))
    page = hit("https://aerial.example/", SAID, title="Eiffel Tower", is_complete=True)
    deps = make_deps(search=[FakeSearch("web", [page])], model=model)

    result = await checked(claim, deps)

    assert stands(result)[claim] in (Stand.UNCONFIRMED, Stand.NO_EVIDENCE)
    assert result.answer.notice == wording.CHECKED_BY_RULES


async def test_a_model_that_fails_leaves_it_to_the_rules() -> None:
    """Honest about it; the job does not fail."""
    model = FakeModel({"check": ModelTimeout("slow")})
    page = hit("https://aerial.example/", SAID, title="Eiffel Tower", is_complete=True)
    deps = make_deps(search=[FakeSearch("web", [page, *SEARCH])], model=model)

    result = await checked(f"{OPEN} Water boils at 100 °C at sea level.", deps)

    assert stands(result)["Water boils at 100 °C at sea level."] is Stand.UNCONFIRMED
    assert result.answer.notice == wording.CHECKED_BY_RULES


async def test_a_message_that_states_nothing_is_said_to() -> None:
    """No search is made for it."""
    web = FakeSearch("web", SEARCH)

    result = await checked("Wow!! I love this so much. What do you think?", make_deps(search=[web]))

    assert result.answer.summary == wording.NOTHING_TO_CHECK
    assert result.answer.confidence is Confidence.INSUFFICIENT
    assert web.asked == []


async def test_a_message_without_words_is_refused() -> None:
    """A picture alone holds nothing to check."""
    with pytest.raises(InvalidQuery, match="no text"):
        await Researcher(make_deps(), Idle()).submit(ResearchRequest("", quoted=" 👍 ", modes=("check",)))


def test_a_long_message_is_cut_and_says_so() -> None:
    """In characters and in claims."""
    message = " ".join(f"The tower of city number {number} is {number + 20} metres tall." for number in range(200))

    claims = split_claims(message)

    assert len(message) > MAX_MESSAGE_CHARS
    assert len(claims.said) == MAX_CLAIMS == len(claims.meant)
    assert [note.split(";")[0].split(" of")[0] for note in claims.notes] == [
        "The message is long",
        f"Only the first {MAX_CLAIMS}",
    ]


def test_a_claim_that_leans_is_searched_as_it_stands_where_no_name_is_behind_it() -> None:
    """With the claim before it the search would find that one."""
    claims = split_claims("La caféine retarde le sommeil. Elle augmente aussi la tension artérielle")

    assert claims.meant == claims.said


def test_points_are_claims_of_their_own_and_greetings_are_none() -> None:
    """What stands in another line is no part of a claim, and whoever signs claims nothing."""
    message = "Hi team,\n\n1) Tea is green\n2) Coffee grows in Brazil\nand in Peru.\n\nShare if you agree!\n\nBest, Tom"

    assert split_claims(message).said == ("Tea is green", "Coffee grows in Brazil and in Peru.")


async def test_the_judge_is_asked_what_was_said_behind_the_claim_before_it() -> None:
    """No name is put for a pronoun: "in the Norwegian survey … It asked" is none of "the Norwegian"."""
    model = FakeModel({"check": ModelTimeout("slow")})
    page = hit("https://pumps.example/", "The survey asked 1,012 owners.", title="Survey", is_complete=True)

    await checked("The Norwegian survey found that owners are content. It asked 1,012 owners.",
                  make_deps(search=[FakeSearch("web", [page])], model=model))  # fmt: skip

    asked = "\n".join(call.user for call in model.calls("check"))
    assert "<claim>It asked 1,012 owners.</claim>" in asked
    assert "The Norwegian asked" not in asked


@given(st.text(max_size=400))
def test_any_message_splits_into_its_own_sentences(message: str) -> None:
    """Nothing is invented, nothing breaks."""
    claims = split_claims(message)

    assert len(claims.said) == len(claims.meant) <= MAX_CLAIMS


def test_check_is_an_action_and_no_choice() -> None:
    """It is not among the modes people choose from, but it runs."""
    assert "check" not in MODES
    assert find_mode("check").name == "check"


EVIDENCE = st.builds(
    Evidence,
    st.sampled_from(["src_1", "src_2"]),
    st.text(max_size=20),
    st.integers(0, 9),
    st.integers(9, 20),
    st.sampled_from([Verdict.SUPPORTED, Verdict.PARTIAL]),
    st.none() | st.integers(1, 9),
)
SIDES = st.lists(EVIDENCE, max_size=2).map(tuple)


@given(st.lists(st.builds(CheckedClaim, st.text(max_size=30), SIDES, SIDES), max_size=3))
def test_a_result_carries_its_checks(checks: list[CheckedClaim]) -> None:
    """What renderers read is what was found."""
    assert read_checks(JobResult(None, details=checks_json(checks))) == checks
