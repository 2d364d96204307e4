"""The best passage for a claim, with exact offsets."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.passages import MAX_SENTENCE_CHARS, MAX_SENTENCES, EvidenceIndex, PassageIndex
from core.model.source import Source, SourceMetadata

TEXT = (
    "The archive was founded in 1948.\nIt holds maps.\n\nIts first director was Olga Brandt. She had studied in Vienna."
    " "
    "After the fire of 1977 the archive moved to a former mill.  Today 52 people work there."
)


def make_source(content: str) -> Source:
    digest = hashlib.sha256(content.encode()).hexdigest()
    metadata = SourceMetadata("example.org", len(content.split()), "files")
    return Source("src_1", "https://example.org", "", content, digest, datetime(2026, 1, 1, tzinfo=UTC), metadata)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("52 people work there today.", "Today 52 people work there."),
        ("After a fire in 1977, it moved to a mill.", "After the fire of 1977 the archive moved to a former mill."),
        (
            "Olga Brandt, its first director, studied in Vienna.",
            "Its first director was Olga Brandt. She had studied in Vienna.",
        ),
    ],
    ids=["one sentence", "other words", "two sentences"],
)
def test_the_passage_is_the_sentences_that_carry_the_claim(claim: str, quote: str) -> None:
    """As few sentences as say it, in the source's own letters."""
    evidence = EvidenceIndex(make_source(TEXT)).find(claim)

    assert evidence.quote == quote == TEXT[evidence.start : evidence.end]


def test_nothing_is_found_where_nothing_is_said() -> None:
    """A source without the claim's words gives no passage."""
    assert EvidenceIndex(make_source(TEXT)).find("Photosynthesis needs chlorophyll.") is None
    assert EvidenceIndex(make_source("")).find("The archive moved.") is None


OBSERVATORY = (
    "The observatory at Cerro Alto opened on 4 May 1962. Its first mirror measured 1.5 metres. Rust soon made the dome "
    "hard to turn. A second instrument followed in 1981, paid for by the Lindqvist foundation. It found 240 asteroids "
    "before the power failed. Visitors are welcome on Sundays. The road was washed away in a storm."
)


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("1962 wurde die Sternwarte Cerro Alto eröffnet.", "The observatory at Cerro Alto opened on 4 May 1962."),
        ("Das Fernrohr entdeckte zweihundertvierzig Asteroiden.", "It found 240 asteroids before the power failed."),
        ("El primer espejo medía 1,5 metros.", "Its first mirror measured 1.5 metres."),
        (
            "La fondation Lindqvist a payé.",
            "A second instrument followed in 1981, paid for by the Lindqvist foundation.",
        ),
        ("La domenica si può visitare.", "Visitors are welcome on Sundays."),
        ("Обсерватория открыта 4 мая 1962 года.", "The observatory at Cerro Alto opened on 4 May 1962."),
        ("The telescope's casing corroded and the dome jammed.", "Rust soon made the dome hard to turn."),
    ],
    ids=[
        "a year and a name",
        "a number in words",
        "a decimal comma",
        "a name",
        "a weekday",
        "other letters",
        "other words",
    ],
)
def test_the_nearest_passages_hold_what_a_claim_in_another_language_says(claim: str, quote: str) -> None:
    """D21: by numbers, dates, names and words of one origin; the judge reads them."""
    nearest = EvidenceIndex(make_source(OBSERVATORY)).nearest(claim)

    assert quote in nearest[0].quote


def test_the_nearest_passages_are_disjoint_and_the_writers_own_quote_stands_first() -> None:
    index = EvidenceIndex(make_source(OBSERVATORY))

    nearest = index.nearest("Es gibt dort Asteroiden, seit 1962.", quote="Rust soon made the dome hard to turn")

    assert nearest[0].quote == "Rust soon made the dome hard to turn"
    assert len(nearest) == 3
    spans = sorted((passage.start, passage.end) for passage in nearest)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert all(passage.quote == OBSERVATORY[passage.start : passage.end] for passage in nearest)


def test_nothing_is_near_where_nothing_is_shared() -> None:
    """A claim of which the source has not a word, a number or a name."""
    index = EvidenceIndex(make_source(OBSERVATORY))

    assert index.nearest("Photosynthese braucht Chlorophyll.") == ()
    assert index.nearest("Photosynthese braucht Chlorophyll.", quote="no such words anywhere") == ()
    assert EvidenceIndex(make_source("")).nearest("Anything at all.") == ()


@given(st.text(max_size=400), st.text(max_size=80))
def test_a_quote_is_always_its_span_of_the_source(content: str, claim: str) -> None:
    """`quote == content[start:end]`, at most three sentences, whatever the text."""
    index = EvidenceIndex(make_source(content))

    evidence = index.find(claim)

    if evidence is not None:
        assert evidence.quote == content[evidence.start : evidence.end] != ""
        assert len(evidence.quote) <= MAX_SENTENCES * MAX_SENTENCE_CHARS + content.count("\n") + 400
        assert isinstance(index.context(claim, evidence), str)


@given(st.text(alphabet="ab .\n", max_size=3000))
def test_spans_are_in_order_and_lose_no_word(text: str) -> None:
    """Sentences do not overlap, are cut to a bound, and together hold every word."""
    spans = PassageIndex(text).spans

    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert all(0 < end - start <= MAX_SENTENCE_CHARS for start, end in spans)
    assert sum(len(text[start:end].replace(" ", "").replace("\n", "")) for start, end in spans) == len(
        text.replace(" ", "").replace("\n", "")
    )


def test_a_long_text_is_searched_in_milliseconds() -> None:
    """100 KB are read once, and each claim after that costs at most 30 ms of processor time."""
    content = " ".join(
        f"Station {n} recorded {n * 7 % 977} litres of rain in the year {1900 + n % 90}." for n in range(1700)
    )
    index = EvidenceIndex(make_source(content))

    begin = time.process_time()
    for n in range(0, 100, 5):
        assert index.find(f"In {1900 + n % 90}, station {n} recorded {n * 7 % 977} litres.") is not None
    per_claim_s = (time.process_time() - begin) / 20

    assert len(content) > 90_000
    assert per_claim_s < 0.03


def test_words_of_the_title_find_no_sentence_of_the_text() -> None:
    """All of the text is about the bridge; the year tells which sentence speaks of the toll (S003-14)."""
    content = (
        "The Meridian bridge was designed by Clara Voss. It is long. Trams use it. The toll was abolished in 1971."
    )
    claim = "Crossing the Meridian bridge has cost nothing since 1971."

    nearest = EvidenceIndex(replace(make_source(content), title="The Meridian bridge")).nearest(claim)

    assert nearest[0].quote == "The toll was abolished in 1971."
