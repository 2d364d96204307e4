"""The whole check: verdicts, probabilities and their order."""

from __future__ import annotations

import hashlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.answer import Verdict
from core.verification import coefficients
from core.verification.check import check_claim, conclude, merge, settle, support_probability
from core.verification.features import Features
from core.verification.finding import Check, Finding, Weight
from tests.shared_data import shared_data

SOURCE = (
    "The Meridian bridge was opened in June 1931. It was designed by Clara Voss. The bridge carries two railway tracks "
    "and is 412 metres long. Tolls were abolished in 1968."
)


def test_the_sources_own_words_are_supported() -> None:
    """A sentence of the source is supported by it."""
    check = check_claim("The bridge carries two railway tracks and is 412 metres long.", SOURCE)

    assert check.verdict is Verdict.SUPPORTED
    assert check.findings == ()


def test_a_contradiction_outweighs_any_wording() -> None:
    """One wrong number is enough, and the reason names it."""
    check = check_claim("The bridge carries two railway tracks and is 421 metres long.", SOURCE)

    assert check.verdict is Verdict.UNSUPPORTED
    assert check.probability <= 0.1
    assert check.reasons == ("the source says 412, not 421",)


def test_another_subject_is_unsupported() -> None:
    """A source that does not speak of it does not support it."""
    assert check_claim("Penguins breed on the ice in winter.", SOURCE).verdict is Verdict.UNSUPPORTED


def test_what_is_in_doubt_is_left_open() -> None:
    """A name that the source lacks keeps the claim from being marked, though all the rest is there."""
    check = check_claim("The Meridian bridge was designed by Clara Voss and opened in June 1931 by Hart.", SOURCE)

    assert check.verdict is None
    assert settle(check) is Verdict.PARTIAL
    assert "the source does not name Hart" in check.reasons


def test_context_gives_what_the_passage_takes_for_granted() -> None:
    """A title or the sentence before may name what the passage calls "it"."""
    alone = check_claim("The Meridian bridge was designed by Clara Voss.", "It was designed by Clara Voss.")
    within = check_claim(
        "The Meridian bridge was designed by Clara Voss.", "It was designed by Clara Voss.", context="Meridian bridge"
    )

    assert within.probability > alone.probability
    assert within.verdict is Verdict.SUPPORTED


def test_similarity_moves_the_probability_a_little() -> None:
    """An embedder's word counts, but decides nothing alone."""
    near = check_claim("Clara Voss planned the crossing.", SOURCE, similarity=0.9)
    far = check_claim("Clara Voss planned the crossing.", SOURCE, similarity=0.1)

    assert 0 < near.probability - far.probability < 0.25


figures = st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(-1, 0))


@given(figures, st.integers(0, 2), st.floats(0, 1))
def test_more_support_never_lowers_the_probability(values: tuple[float, ...], better: int, by: float) -> None:
    """The model is monotone: each figure is defined so that more of it means more support."""
    raised = [value + by * (place == better) for place, value in enumerate(values)]

    less, more = support_probability(Features(*values)), support_probability(Features(*raised))

    assert 0 <= less <= more <= 1


@given(st.floats(0, 1))
def test_no_probability_redeems_a_contradiction(probability: float) -> None:
    """A finding that contradicts always means unsupported."""
    check = conclude(probability, (Finding("numbers", Weight.CONTRADICTS, "the source says 1, not 2"),))

    assert check.verdict is Verdict.UNSUPPORTED


@given(st.floats(0, 1))
def test_settled_without_a_model_nothing_open_is_supported(probability: float) -> None:
    """Where no model can be asked, what is undecided is at most partial."""
    check = Check(None, probability)

    assert settle(check) in (Verdict.PARTIAL, Verdict.UNSUPPORTED)


DOUBT = (Finding("names", Weight.AGAINST, "the source does not name Hart"),)
OPEN = (Finding("order", Weight.OPEN, "the source has it the other way round"),)


@pytest.mark.parametrize(
    ("check", "said", "expected"),
    [
        (Check(None, 0.9, OPEN), Verdict.SUPPORTED, Verdict.SUPPORTED),
        (Check(None, 0.9, DOUBT), Verdict.SUPPORTED, Verdict.PARTIAL),
        (Check(None, 0.9, DOUBT + OPEN), Verdict.SUPPORTED, Verdict.PARTIAL),
        (Check(None, 0.9, DOUBT), Verdict.UNSUPPORTED, Verdict.UNSUPPORTED),
        (Check(None, 0.9, OPEN), None, Verdict.PARTIAL),
        (Check(None, 0.1, OPEN), None, Verdict.UNSUPPORTED),
        (Check(Verdict.UNSUPPORTED, 0.1), Verdict.SUPPORTED, Verdict.UNSUPPORTED),
        (Check(Verdict.SUPPORTED, 0.9), Verdict.UNSUPPORTED, Verdict.SUPPORTED),
    ],
    ids=["open", "in doubt", "both", "cut", "no answer", "no answer, little there", "refused", "confirmed"],
)
def test_a_models_word_counts_where_the_rules_leave_room(check: Check, said: Verdict | None, expected: Verdict) -> None:
    """What is open it decides, what is in doubt it cannot raise above partial, what is decided it cannot change."""
    assert merge(check, said) is expected


@given(st.text(max_size=200), st.text(max_size=400))
def test_any_text_can_be_checked(claim: str, passage: str) -> None:
    """Whatever is claimed of whatever text, there is a probability and no error, and the same one twice."""
    check = check_claim(claim, passage)

    assert 0 <= check.probability <= 1
    assert check == check_claim(claim, passage)


@pytest.mark.parametrize("name", ["wice_oracle_chunks_dev.jsonl", "begin_dev.tsv"])
def test_the_coefficients_name_the_data_they_come_from(name: str) -> None:
    """The file beside us is the one the model was fitted on, by its hash."""
    path = shared_data("attribution", name)

    digest = hashlib.sha256(path.read_bytes()).hexdigest()

    assert digest in (coefficients.__doc__ or "")


def test_what_is_too_long_for_a_sentence_is_not_shown() -> None:
    """A claim that cannot be checked as one is no claim."""
    check = check_claim("Clara Voss designed it. " * 200, SOURCE)

    assert (check.verdict, check.reasons) == (Verdict.UNSUPPORTED, ("too long for one claim",))


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        (" ".join(str(n) for n in range(150)), " ".join(str(n * 7) for n in range(20_000))),
        (" ".join(f"word{n} {n}" for n in range(150)), " ".join(f"word{n} {n + 1}" for n in range(10_000))),
        ("x" * 500, "a" * 100_000),
        ("ed by " * 300, "eded " * 20_000),
    ],
    ids=["numbers", "words and numbers", "one word", "passives"],
)
def test_no_page_can_stall_the_check(claim: str, passage: str) -> None:
    """A page made to be slow costs seconds at most, not minutes."""
    begin = time.process_time()

    check_claim(claim, passage)

    assert time.process_time() - begin < 5
