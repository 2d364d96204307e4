"""PubMed queries are checked before they are sent (S002-08)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.deep.searching import check_pubmed_query, checked_pubmed_query, europepmc_query, plain_words
from tests.loopback.pubmed_query import search


@pytest.mark.parametrize(
    "query",
    [
        "mesothelioma treatment 2024",
        '"serum chloride"[tiab] AND mortality[mh]',
        "(chloride[tiab] OR hypochlor*[tiab]) AND (heart failure[mh] NOT child[mh])",
        '"heart failure"[Title/Abstract] AND 2015:2024[dp] AND "Practice Guideline"[pt]',
        '"chloride death"[tiab:~3]',
        "COVID-19[tiab] AND IL-6[tiab]",
        "31452104[uid]",
    ],
)
def test_good_queries_are_sent_as_they_are(query: str):
    """S002-08: fields, phrases, operators, groups, years, proximity."""
    assert check_pubmed_query(query) == ""
    assert checked_pubmed_query(query) == query


@pytest.mark.parametrize(
    ("query", "reason", "sent"),
    [
        pytest.param("(chloride[tiab] OR", "parentheses do not match", "chloride", id="open group"),
        pytest.param("chloride) AND (death", "parentheses do not match", "chloride death", id="wrong way round"),
        pytest.param('"serum chloride[tiab]', "not closed", "serum chloride", id="open quote"),
        pytest.param("AND chloride", "an operator", "chloride", id="leading operator"),
        pytest.param("chloride OR", "an operator", "chloride", id="trailing operator"),
        pytest.param("chloride AND OR death", "an operator", "chloride death", id="two operators"),
        pytest.param("chloride AND ()", "an operator", "chloride", id="empty group"),
        pytest.param("chloride[nonsense]", "unknown field", "chloride", id="unknown field"),
        pytest.param("[tiab] AND [mh]", "no search term", "", id="fields alone"),
        pytest.param("", "no search term", "", id="nothing"),
    ],
)
def test_bad_queries_are_sent_as_plain_words(query: str, reason: str, sent: str):
    """S002-08: PubMed would drop or misread them in silence."""
    assert reason in check_pubmed_query(query)
    assert checked_pubmed_query(query) == sent


@given(
    st.lists(st.sampled_from([*'()[]"', "AND", "OR", "NOT", "[tiab]", "[x]", "chloride", "death*", "a b"]), max_size=12)
)
def test_whatever_is_sent_is_understood(pieces: list[str]):
    """S002-08: the checked query always parses, and plain words hold no syntax."""
    query = checked_pubmed_query(" ".join(pieces))

    if query:
        search(query, {})
        assert check_pubmed_query(query) == ""
    assert not set(plain_words(" ".join(pieces))) & set('()[]"*')


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ('"sea bathing"[tiab] AND mood[ti]', '(TITLE:"sea bathing" OR ABSTRACT:"sea bathing") AND TITLE:"mood"'),
        ("(heart failure[mh] OR mood swing) NOT animals[mh]", '( "heart failure" OR "mood" "swing" ) NOT "animals"'),
        ('"Clinical Trial"[pt] AND 2020:2024[dp]', 'PUB_TYPE:"Clinical Trial" AND PUB_YEAR:[2020 TO 2024]'),
        ("Lund B[au] AND 31000001[uid]", 'AUTH:"Lund B" AND EXT_ID:31000001'),
        ("sea [tiab AND (mood", "sea tiab mood"),
    ],
    ids=["fields", "groups", "types and years", "people", "broken"],
)  # fmt: skip
def test_a_pubmed_query_is_written_anew_for_europe_pmc(query: str, sent: str):
    """In its own syntax; what PubMed would not understand is sent as plain words (S002-08)."""
    assert europepmc_query(query) == sent
