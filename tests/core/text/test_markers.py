"""How models cite in ways of their own, and what only looks like it."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from core.text.markers import plain_markers, source_names
from tests.core.cats import PLAN, PURR, final, research, written
from tests.fakes import FakeModel, FakeSearch, hit, make_deps, make_source

SOURCES = [
    make_source(1, "", url="https://tides.example/now", title="How tides work", domain="tides.example"),
    make_source(2, "", url="https://moon.example/a", title="Moon", domain="moon.example"),
    make_source(3, "", url="https://moon.example/b", title="The far side", domain="moon.example"),
]
NAMES = source_names(SOURCES)

WAYS = r"""
(1)  （1）  [1.]  ［1］  〔1〕  〖1〗  【1】  【1†source】  [١]  [**1**]  \[1\]  ^1  ¹  ⁽¹⁾  ①  $^{1}$
<sup>1</sup>  <sup>[1]</sup>  <cite>1</cite>  <source id="1">  <source id="1"></source>  <ref>1</ref>
[Source 1]  [Source: 1]  [source_id: 1]  [id=1]  [cite:1]  [citation:1]  [Doc 1]  [S1]  [src-1]  [Source [1]]  (see [1])
(ref. 1)  [Quelle 1]  (Quelle 1)  [fuente 1]  [来源1]  — according to source 1  (according to source 1)
[tides.example]  (tides.example)  [How tides work]
"""


@pytest.mark.parametrize("way", regex.split(r"\n|  ", WAYS.strip()))
def test_a_citation_is_understood_however_it_is_written(way: str) -> None:
    assert plain_markers(f"Tides rise {way}. So they fall.", NAMES) == "Tides rise [1]. So they fall."


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Tides rise.¹ They fall.² Yes.", "Tides rise.[1] They fall.[2] Yes."),
        ("Tides rise.^1 They fall.", "Tides rise.[1] They fall."),
        ("Tides rise (1, 2).", "Tides rise [1][2]."),
        ("Tides rise (Sources 1 and 3).", "Tides rise [1][3]."),
        ("Tides rise ([1], [2]).", "Tides rise [1][2]."),
        ("Tides rise<sup>1,2</sup>.", "Tides rise [1][2]."),
        ("| Tide | 5 hours (1) |", "| Tide | 5 hours [1] |"),
        ("潮水上涨①。", "潮水上涨 [1]。"),
        ("Tides rise each way ²; some fall ³, too.", "Tides rise each way [2]; some fall [3], too."),
        ("Tides rise [1]-[3].", "Tides rise [1-3]."),
    ],
    ids=["stop", "caret", "two", "words", "nested", "tag", "row", "chinese", "behind a blank", "a range"],
)
def test_what_is_cited_more_than_once_or_behind_the_stop_is_understood(written: str, expected: str) -> None:
    assert plain_markers(written, NAMES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tides rise [1]. There are spring tides (2).",  # it cites otherwise
        "It covers 5 m². It is 10 miles² and 10 square metres², or 9 m ²; no more.",
        "This follows from equation (2). See Table (1).",
        "Heat: (1) warms, (2) cools. And x^2 is 10^2.",
        "Water is H<sup>2</sup>O and x<sup>2</sup>.",
        "Call f(2). Then `take (1)`.",
        "E = mc². Ca²⁺ flows.",
        "Tides rise (9). Nobody gave a source [Source 9].",
        "It rose in the year (2020).",
        "The moon [Moon] is near, as (Moon) says.",  # one word may be a word of the text
        "Two are of one site (moon.example).",
        "Tides rise [1](https://tides.example/now).",
        "a[1] = 3 and [x] is done",
    ],
)
def test_what_only_looks_like_a_citation_stays(text: str) -> None:
    assert plain_markers(text, NAMES) == text


@given(st.text(alphabet="ab .([])^¹1②<sup>/\n`", max_size=60), st.integers(0, 60))
def test_what_is_written_behind_a_finished_sentence_changes_nothing_before_it(rest: str, cut: int) -> None:
    """Sentences are judged while the text grows: one that was taken may not change any more."""
    begun = "Tides rise (1). They fall again¹. They "

    whole, part = (plain_markers(begun + behind, NAMES) for behind in (rest, rest[:cut]))

    assert whole.startswith("Tides rise [1]. They fall again [1]. They")
    assert part.startswith("Tides rise [1]. They fall again [1]. They")


async def test_an_answer_that_cites_in_round_brackets_is_checked_as_any_other() -> None:
    """N-05: its sentences are those of the source, so they are confirmed, and nothing of its own marks is shown."""
    first, second, _ = PURR.split(". ")
    answer = written(f"{first} (1). {second} (1).")
    hits = [hit("https://cats.example/purr", PURR, title="Purring", is_complete=True)]
    deps = make_deps(search=[FakeSearch("web", hits)], model=FakeModel({"plan": PLAN, "answer": answer}))

    told = final(await research(deps))["answer"]

    assert told["summary"] == f"{first} [1]. {second} [1]."
    assert [entry["verdict"] for entry in told["claims"]] == ["supported", "supported"]
