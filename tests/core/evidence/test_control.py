"""A judge that cannot say no confirms nothing: the false sentence that rides along with its pairs."""

from __future__ import annotations

import json

import pytest

from core.evidence.control import CONTROL_LASTS_S, CONTROLS, ControlledJudge, controls_of
from core.evidence.judge import JsonJudge, Pair, Rulings, judge_of, request_rulings
from core.llm.prices import estimate_tokens
from core.model.errors import ControlFailed, ModelError
from core.model.ports import ChatRequest
from tests.fakes import FakeModel, is_control, verdicts_json

SLEEP = Pair("Cats sleep.", ("Cats sleep a lot.",))
FLY = Pair("Dogs fly.", ("Dogs run.", "Birds fly."), before="Dogs are animals.", title="Dogs", doubts=("no wings",))


def answer(*words: str | None) -> str:
    return verdicts_json({number: (word, "") for number, word in enumerate(words, start=1) if word})


def saying(*verdicts: str, control: str | None = "contradicted") -> FakeModel:
    """Says these of the pairs in their order, and `control` of the control, nothing where it is None."""

    def said(request: ChatRequest) -> str:
        items = request.user.split("<item ")[1:]
        left = iter(verdicts)
        told = [control if is_control(item) else next(left) for item in items]
        return answer(*told)

    return FakeModel({"check": said, "answers": json.dumps({"answers": "yes", "reason": ""})})


def controlled(model: FakeModel) -> tuple[ControlledJudge, list[ModelError]]:
    told: list[ModelError] = []
    return ControlledJudge(judge_of(model), told.append), told


def words_of(rulings: Rulings) -> list[str | None]:
    return [judgement.ruling.value if judgement else None for judgement in rulings.judgements]


async def test_a_judge_that_says_yes_to_everything_confirms_nothing() -> None:
    """D18: two keys; the one that turns for every door is none. What it refuses stays refused; it is told of once."""
    judge, told = controlled(saying("supported", "partial", "contradicted", "unsupported", control="supported"))
    pairs = [SLEEP, FLY, FLY, SLEEP]

    first = await judge.judge(pairs, timeout_s=5.0)
    second = await judge.judge(pairs, timeout_s=5.0)

    assert words_of(first) == words_of(second) == [None, None, "contradicted", "unsupported"]
    assert [type(failure) for failure in told] == [ControlFailed]
    assert "fake-1 confirmed a control sentence that is false" in str(told[0])
    assert (await judge.judge_answer("Why?", "So.", timeout_s=5.0)).answers is None


@pytest.mark.parametrize(("control", "places"), [("contradicted", [0, 1, 2]), ("supported", [])])
async def test_nothing_is_told_early_beside_a_control_that_is_not_denied(control: str, places: list[int]) -> None:
    """D18: wherever among the pairs the control stands."""
    model = saying("supported", "partial", "supported", control=control)
    for pairs in [[SLEEP, FLY, SLEEP], [FLY, FLY, SLEEP], [SLEEP, SLEEP, SLEEP], [FLY, SLEEP, SLEEP]]:
        told: dict[int, str] = {}
        judge, _ = controlled(model)

        await judge.judge(
            pairs, timeout_s=5.0, hear=lambda found, spent, t=told: t.update({at: j.ruling for at, j in found.items()})
        )

        assert sorted(told) == places
        assert [told[at] for at in places] == ["supported", "partial", "supported"][: len(places)]


@pytest.mark.parametrize("verdict", ["contradicted", "unsupported", "partial"])
async def test_a_judge_that_does_not_confirm_the_control_is_believed(verdict: str) -> None:
    judge, told = controlled(saying("supported", "unsupported", control=verdict))

    rulings = await judge.judge([SLEEP, FLY], timeout_s=5.0)

    assert words_of(rulings) == ["supported", "unsupported"]
    assert told == []
    assert (await judge.judge_answer("Why?", "So.", timeout_s=5.0)).answers is True


async def test_a_judge_that_leaves_the_control_out_has_not_shown_that_it_can_say_no() -> None:
    """It is asked for once more; one that denied a control before is believed."""
    model = saying("supported", control=None)
    judge, told = controlled(model)

    rulings = await judge.judge([SLEEP], timeout_s=5.0)

    assert words_of(rulings) == [None]
    assert is_control(model.asked[1].user)
    assert "left out a control sentence" in str(told[0])
    known, untold = controlled(saying("supported"))
    await known.judge([SLEEP], timeout_s=5.0)
    known.model_judge = JsonJudge(model)
    assert words_of(await known.judge([SLEEP], timeout_s=5.0)) == ["supported"]
    assert untold == []


async def test_a_judge_that_says_no_now_and_then_is_not_believed_for_it() -> None:
    """Such a one denies a control by chance; a single mistake of a good judge costs one call, and the next."""
    words = ["supported", "unsupported", "unsupported", "supported", "unsupported", "unsupported"]
    judge, told = controlled(FakeModel({}))
    kept = []
    for word in words:
        judge.model_judge = JsonJudge(saying("supported", control=word))
        kept += words_of(await judge.judge([SLEEP], timeout_s=5.0))

    assert kept == [None, None, "supported", None, "supported", "supported"]
    assert len(told) == 1


def missing(*controls: str | None) -> FakeModel:
    """Confirms every pair, and says these of the controls in the order in which it is asked for them."""
    left = iter(controls)

    def said(request: ChatRequest) -> str:
        if request.user.startswith("Document"):
            return "No" if is_control(request.user) and next(left) == "contradicted" else "Yes"
        items = request.user.split("<item ")[1:]
        return answer(*(next(left) if is_control(item) else "supported" for item in items))

    return FakeModel({"check": said})


@pytest.mark.parametrize(
    ("controls", "kept"),
    [
        (["supported", "contradicted", "unsupported"], ["supported", "supported"]),
        (["supported", "contradicted", "supported"], [None, None]),
        ([None, None, "contradicted", "contradicted"], ["supported", "supported"]),
        (["supported", None, None, None, None], [None, None]),
        (["supported", "contradicted", None, None], ["supported", "supported"]),
    ],
    ids=["missed once", "missed twice", "left out once", "left out when asked again", "one of two left out"],
)
async def test_a_judge_that_misses_a_control_is_asked_again_beside_two_others(
    controls: list[str | None], kept: list[str | None]
) -> None:
    """One that is right nine times in ten misses one in ten, and must not lose all that it confirmed beside it."""
    model = missing(*controls)
    judge, told = controlled(model)

    rulings = await judge.judge([SLEEP, DATED], timeout_s=5.0)

    again = [call.user for call in model.asked if call.user.count("<item ") == 4]
    assert words_of(rulings) == kept
    assert bool(told) is (kept == [None, None])
    assert len(again) == 1
    assert len(rulings.usage) == len(model.asked)
    items = [item for call in model.asked for item in call.user.split("<item ") if is_control(item)]
    assert len({item.partition("<claim>")[2].partition("</claim>")[0] for item in items}) == 3


async def test_a_judge_that_missed_a_control_twice_is_not_asked_twice_any_more() -> None:
    model = saying("supported", control="supported")
    judge, _ = controlled(model)

    for _ in range(3):
        await judge.judge([SLEEP], timeout_s=5.0)

    assert [call.user.count("<item ") for call in model.asked] == [2, 3, 2, 2]


async def test_what_a_call_costs_is_told_before_its_control_is_read() -> None:
    """Whoever gives it up pays it all the same; the second call's cost stands beside the first's."""
    judge, _ = controlled(missing("supported", "contradicted", "contradicted"))
    heard: list[tuple[list[int], int]] = []

    rulings = await judge.judge(
        [SLEEP, DATED], timeout_s=5.0, hear=lambda found, usage: heard.append((sorted(found), len(usage)))
    )

    assert heard[0] == ([], 1)
    assert heard[-1][1] == len(rulings.usage) == 2
    assert [places for places, calls in heard if places and calls == 1] == []
    assert sorted(at for places, _ in heard for at in places) == [0, 1]


async def test_a_fact_check_model_that_misses_a_control_is_asked_for_two_others_alone() -> None:
    model = missing("supported", "contradicted", "contradicted")
    model.name = "bespoke-minicheck"
    judge, told = controlled(model)

    rulings = [await judge.judge([SLEEP, DATED], timeout_s=5.0) for _ in range(2)]

    assert [words_of(said) for said in rulings] == [["supported", "supported"]] * 2
    assert [len(said.usage) for said in rulings] == [5, 2]
    assert told == []


def test_the_control_varies_and_comes_again_with_the_same_pairs() -> None:
    """A judge cannot learn one sentence or one place; a memory of calls still knows a call made twice."""
    batches = [[Pair(f"Claim {number}-{place}.", ("p",)) for place in range(4)] for number in range(200)]

    drawn = [controls_of(batch) for batch in batches]

    assert drawn == [controls_of(list(batch)) for batch in batches]
    assert {(control, place) for (control, *_), place in drawn} == {
        (one, place) for one in CONTROLS for place in range(5)
    }


DATED = Pair("The old tower fell.", ("It rained. The old tower was torn down in 1911, when the sea had reached it.",))


@pytest.mark.parametrize("pair", [SLEEP, DATED], ids=["ours", "theirs"])
async def test_a_control_costs_no_call_and_few_tokens(pair: Pair) -> None:
    model = saying("supported")
    await controlled(model)[0].judge([pair], timeout_s=5.0)
    request = request_rulings([pair], timeout_s=5.0)

    assert len(model.asked) == 1
    assert estimate_tokens(model.asked[0].user) - estimate_tokens(request.user) <= 60


def test_a_control_is_made_of_what_is_asked_about() -> None:
    """D18: a judge that sees a plain denial and no other number is found out by a sentence of the very passage."""
    (control, *_), _ = drawn = controls_of([SLEEP, DATED])

    assert control.passages == ("The old tower was torn down in 1911, when the sea had reached it.",)
    assert control.claim == "The old tower was torn down in 1874, when the sea had reached it."
    assert drawn == controls_of([SLEEP, DATED])


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("The ferry needs five minutes.", "The ferry needs ten minutes."),
        ("Three ships of the line sank.", "Eight ships of the line sank."),
        ("The harbour froze every January.", "The harbour froze every June."),
        ("Die Fähre legt seit dem Frühling im Mai ab.", "Die Fähre legt seit dem Frühling im Oktober ab."),
        ("El puerto tiene desde entonces cuatro muelles.", "El puerto tiene desde entonces nueve muelles."),
    ],
)
def test_a_control_names_another_number_or_month_in_words(passage: str, claim: str) -> None:
    """D18, D21: in every known language; few sentences have a figure."""
    assert controls_of([Pair("A claim.", (passage,))])[0][0] == Pair(claim, (passage,))


def test_a_control_without_a_figure_says_the_opposite_of_a_word() -> None:
    (control, *_), _ = controls_of([Pair("A claim.", ("The harbour lies on the northern shore.",))])

    assert control.claim == "The harbour lies on the southern shore."


@pytest.mark.parametrize(
    "passage",
    [
        "More than 40 ships lay in the harbour.",
        "The release 3.11 came out in autumn.",
        "The ferry needs its minutes [12].",
        "## Ships of 1911",
        "Did the tower fall in 1911?",
        "Von den Schiffen im Hafen liefen in jenem Herbst viele aus.",
        "Of the ships that lay in the harbour that year 40 left it again and " + "sailed on " * 12,
    ],
    ids=["bound", "version", "marker", "heading", "question", "German", "long"],
)
def test_no_control_is_made_where_another_word_may_be_true_as_well(passage: str) -> None:
    (control, *_), _ = controls_of([Pair("A claim.", (passage,))])

    assert control in CONTROLS


@pytest.mark.parametrize("pair", [SLEEP, DATED], ids=["a control of ours", "one of their own passages"])
async def test_a_judge_that_sees_nothing_finer_than_a_not_confirms_nothing(pair: Pair) -> None:
    """D18: no control is denied in so many words, be it of the passages or of ours."""

    def coarse(request: ChatRequest) -> str:
        passages = [item.partition("<passage>")[2] for item in request.user.split("<item ")[1:]]
        return answer(
            *("contradicted" if " not " in passage or " no " in passage else "supported" for passage in passages)
        )

    judge, told = controlled(FakeModel({"check": coarse}))

    rulings = await judge.judge([pair], timeout_s=5.0)

    assert words_of(rulings) == [None]
    assert "confirmed a control sentence that is false" in str(told[0])


async def test_a_fact_check_model_is_tried_once_in_a_while() -> None:
    """Pair by pair a control is a call of its own, so that its word is remembered; a bad one once two more are."""
    model = FakeModel({"check": "Yes"}, name="bespoke-minicheck")
    judge, told = controlled(model)

    rulings = [await judge.judge([SLEEP, FLY], timeout_s=5.0) for _ in range(3)]

    assert [words_of(said) for said in rulings] == [[None, None]] * 3
    assert [is_control(call.user) for call in model.asked].count(True) == 3
    assert len(model.asked) == 9
    assert len(told) == 1
    model.answers = {"check": lambda request: "No" if is_control(request.user) else "Yes"}
    later = []
    for _ in range(2):
        judge._known_until -= CONTROL_LASTS_S
        later += words_of(await judge.judge([SLEEP], timeout_s=5.0))
    assert later == [None, "supported"]


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.claim)
def test_a_control_is_one_that_nobody_needs_a_hint_for(control: Pair) -> None:
    """It is short, and no word of it names what it is for."""
    assert len(control.claim.split()) + len(control.passages[0].split()) <= 25
    assert (control.before, control.title, control.doubts) == ("", "", ())
