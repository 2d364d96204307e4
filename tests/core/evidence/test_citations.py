"""Citation markers: five grammars, one model; nothing is lost, and no unknown source gets through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.citations import (
    MARKS,
    Grammar,
    KeyRef,
    Marker,
    PageRef,
    SourceRef,
    Target,
    UrlRef,
    keep_markers,
    marker_numbers,
    parse_markers,
    rewrite_markers,
    strip_markers,
    with_markers,
)
from core.evidence.links import cited_in_words
from core.model.answer import Verdict

LABELS = {
    "smith2024quantum": "Smith et al., 2024",
    "doe2020other": "Doe et al., 2020a",  # the first of two in the order of keys
    "doe2020title": "Doe et al., 2020b",
}
KEYS = tuple(LABELS)


def targets(text: str, keys: tuple[str, ...] = ()) -> list[Target]:
    return [marker.target for marker in parse_markers(text, keys=keys)]


NUMBERS = {
    "one": ("Fact [1].", [1]),
    "list": ("Fact [1, 2].", [1, 2]),
    "range": ("Fact [1-3].", [1, 2, 3]),
    "dash-range": ("Fact [2–4, 7].", [2, 3, 4, 7]),
    "side-by-side": ("Fact [1][2].", [1, 2]),
    "source-id": ("Fact [src_1].", [1]),
    "source-ids": ("Fact [src_1, src_12].", [1, 12]),
    "worded": ("Fact [Source 3].", [3]),
    "semicolon": ("Fact [1; 2].", [1, 2]),
    "and": ("Fact [1 and 2].", [1, 2]),
    "lens": ("Fact 【2】.", [2]),
    "lens-dagger": ("Fact 【4:0†source】.", [4]),
    "caret": ("Fact [^5].", [5]),
    "no-blank": ("Fact[6].", [6]),
    "with-page": ("Fact [1, p. 5].", [1]),
    "linked": ("Fact [1](https://a.example/).", [1]),
    "marked": ("Fact [1]✓ [2]◐.", [1, 2]),
    "backwards": ("Fact [3-1].", [3, 1]),
}


@pytest.mark.parametrize(("text", "numbers"), NUMBERS.values(), ids=NUMBERS.keys())
def test_number_markers_are_read(text: str, numbers: list[int]) -> None:
    """D3, and what models write instead."""
    assert [marker.number for marker in parse_markers(text)] == numbers
    assert strip_markers(text) == "Fact."


@pytest.mark.parametrize(
    "text",
    [
        "An interval [0, 1] of numbers.",
        "In [2024] it was so.",
        "A task [x] is done, [ ] is not.",
        "Take `a[1]` of it.",
        "```\na[1] = b[2]\n```",
        "~~~\n[1]\n~~~",
        "```\n[1] in a fence that never ends",
        "An [aside] and [another 1 here].",
        "Version [1.2] and [1:2:3] and [1/2].",
        "A picture (see the left one) and (2024).",
        "The function f(x) and ubuntu (focal2004).",
    ],
)
def test_what_only_looks_like_a_marker_is_text(text: str) -> None:
    assert parse_markers(text) == []
    assert strip_markers(text) == text


PAGES = {
    "exact": ("[2509.10446v1, page 5]", [PageRef("2509.10446v1", 5)]),
    "exact-no-version": ("[2509.10446,page 12]", [PageRef("2509.10446", 12)]),
    "old-id": ("[hep-th/9901001, page 3]", [PageRef("hep-th/9901001", 3)]),
    "range": ("[2509.10446v1, pages 3-4]", [PageRef("2509.10446v1", 3, 4)]),
    "short": ("[2509.10446v1, p. 5]", [PageRef("2509.10446v1", 5)]),
    "several-pages": ("[2509.10446, pp. 3, 5–6]", [PageRef("2509.10446", 3), PageRef("2509.10446", 5, 6)]),
    "several-papers": (
        "[2509.10446v1, page 5; hep-th/9901001, p. 2]",
        [PageRef("2509.10446v1", 5), PageRef("hep-th/9901001", 2)],
    ),
    "prefix": ("[arXiv:2509.10446v1, page 5]", [PageRef("2509.10446v1", 5)]),
    "round": ("(arXiv:2509.10446v1, page 5)", [PageRef("2509.10446v1", 5)]),
    "file": ("[notes_12.pdf, page 3]", [PageRef("notes_12.pdf", 3)]),
}


@pytest.mark.parametrize(("marker", "expected"), PAGES.values(), ids=PAGES.keys())
def test_page_markers_are_read(marker: str, expected: list[Target]) -> None:
    """S000-20's form first, then the tolerant pass (D10)."""
    assert targets(f"Fact {marker}.") == expected
    assert strip_markers(f"Fact {marker}.") == "Fact."


@given(st.from_regex(r"\A\[([0-9]{4}\.[0-9]{4,5}v?[0-9]{0,3}),[ \n]{0,3}page[ ]{0,2}([1-9][0-9]{0,3})\]\Z"))
def test_whatever_the_given_pattern_matches_is_a_page_marker(marker: str) -> None:
    """S000-20: the pattern exactly as given decides first."""
    match = re.fullmatch(r"\[(\d{4}\.\d{4,5}v?\d*),\s*page\s*(\d+)\]", marker)
    assert match

    found = targets(marker)

    assert found == [PageRef(match[1], int(match[2]))]


NAMED = {
    "key": ("(smith2024quantum)", ["smith2024quantum"]),
    "keys": ("(smith2024quantum; doe2020title)", ["smith2024quantum", "doe2020title"]),
    "see": ("(see smith2024quantum)", ["smith2024quantum"]),
    "square": ("[smith2024quantum]", ["smith2024quantum"]),
    "label": ("[Smith et al., 2024]", ["smith2024quantum"]),
    "round-label": ("(Smith et al., 2024)", ["smith2024quantum"]),
    "labels": ("[Smith et al., 2024; Doe, 2020b]", ["smith2024quantum", "doe2020title"]),
    "ambiguous": ("[Doe et al., 2020]", ["Doe et al., 2020"]),
    "unknown": ("(miller2019nothing)", ["miller2019nothing"]),
    "at": ("[@smith2024quantum; @Own:key]", ["smith2024quantum", "Own:key"]),
    "case": ("(Smith2024Quantum; own:KEY)", ["smith2024quantum", "Own:key"]),
    "place": ("(see smith2024quantum, p. 3; Own:key, Sec. 2.1)", ["smith2024quantum", "Own:key"]),
}


@pytest.mark.parametrize(("marker", "expected"), NAMED.values(), ids=NAMED.keys())
def test_key_and_label_markers_are_read(marker: str, expected: list[str]) -> None:
    """S001-24, and `[Author et al., Year]`; a label that could be two papers is neither of them."""
    assert targets(f"Fact {marker}.", (*KEYS, "Own:key")) == [KeyRef(key) for key in expected]


@pytest.mark.parametrize("text", ["It rained (Paris, 2015).", "It was done (in 2024).", "Known [since 1999]."])
def test_an_aside_with_a_year_is_no_label(text: str) -> None:
    assert parse_markers(text, keys=KEYS) == []


@pytest.mark.parametrize(
    ("text", "urls", "stripped"),
    [
        ("Fact (https://a.example/x).", ["https://a.example/x"], "Fact."),
        ("Fact (https://a.example/x_(y)).", ["https://a.example/x_(y)"], "Fact."),
        ("Fact (https://a.example/((x)))).", ["https://a.example/((x))"], "Fact)."),
        ("Fact (see https://a.example).", ["https://a.example"], "Fact."),
        ("Fact (https://a.example/x; https://b.example).", ["https://a.example/x", "https://b.example"], "Fact."),
        ("[A paper](https://a.example) says so.", ["https://a.example"], "A paper says so."),
        ("Fact (https://never.closed.example", [], "Fact (https://never.closed.example"),
    ],
)
def test_urls_in_parentheses_are_read(text: str, urls: list[str], stripped: str) -> None:
    """S004-13; parentheses within an address are balanced, a link leaves its label."""
    assert targets(text) == [UrlRef(url) for url in urls]
    assert strip_markers(text) == stripped


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Fact [1]✓ [2]◐ [3]↪ [4]?.", ["✓", "◐", "↪", "?"]),
        ("Fact. [1]? [2]✓", ["?", "✓"]),
        ("Fact [1]? and more.", ["?"]),
        ("Is it [1]?", [""]),
        ("Fact (https://a.example)✓.", ["✓"]),
    ],
)
def test_marks_are_read_with_their_bracket(text: str, marks: list[str]) -> None:
    """A `?` that may end a question is punctuation, so that no question loses it."""
    assert [marker.mark for marker in parse_markers(text)] == marks


def test_every_verdict_has_a_mark_and_what_is_not_confirmed_never_that_of_what_is() -> None:
    """D18: ◐ is for what is carried in part, and for what nobody confirmed."""
    assert set(MARKS) == set(Verdict)
    assert [verdict for verdict, mark in MARKS.items() if mark == MARKS[Verdict.SUPPORTED]] == [Verdict.SUPPORTED]
    assert MARKS[Verdict.UNCHECKED] == MARKS[Verdict.PARTIAL]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Fact [1].", "Fact [1]."),
        ("Fact [9].", "Fact."),
        ("Fact [1, 9].", "Fact [1]."),
        ("Fact [9][1].", "Fact [1]."),
        ("Fact [9], [1].", "Fact [1]."),
        ("Fact [1] and [9].", "Fact [1]."),
        ("Fact [9] and more [1].", "Fact and more [1]."),
        ("Fact. [9]", "Fact."),
        ("Fact ([9]).", "Fact."),
        ("Fact (sources 1 and 9).", "Fact [1]."),
        ("[9] says so [1].", "says so [1]."),
        ("Fact [8-9]✓ [1]✓.", "Fact [1]✓."),
        ("Fact [1](https://evil.example).", "Fact [1]."),
        ("Fact [link](https://evil.example).", "Fact link."),
        ("Fact [2509.10446v1, page 5].", "Fact."),
        ("Nested [[9]9] and [1[9]].", None),
    ],
)
def test_markers_to_unknown_sources_go(text: str, kept: str | None) -> None:
    """A marker to a source that does not exist never reaches a user, even when cutting one makes another."""
    result = keep_markers(text, {1})

    assert kept is None or result == kept
    assert set(targets(result)) <= {SourceRef(1)}


def test_allowed_may_be_ids_keys_urls_or_a_predicate() -> None:
    text = "A [2]. B (smith2024quantum). C (https://a.example). D [2509.10446, page 1]."

    kept = keep_markers(text, {"src_2", "smith2024quantum", "https://a.example", "2509.10446"}, keys=KEYS)

    assert kept == text
    assert keep_markers(text, lambda target: isinstance(target, SourceRef), keys=KEYS) == "A [2]. B. C. D."


BITS = """[1]|[9]|[1, 9]|[|]|(|)|[1-3]|✓|?| |. |`|```|word |】|【1】|(https://a.example)|[a](https://b.example)|
|(smith2024quantum)|[2509.10446v1, page 5]| and |, |([9])|(see [1])""".split("|")
MESSY = st.lists(st.one_of(st.sampled_from(BITS), st.text(max_size=6)), max_size=30).map("".join)


@given(MESSY)
def test_after_keeping_only_allowed_markers_are_left(text: str) -> None:
    """S003-14: whatever the text, no marker to an unknown source is left."""
    kept = keep_markers(text, {1}, keys=KEYS)

    assert set(targets(kept, KEYS)) <= {SourceRef(1)}


@given(MESSY)
def test_parsing_loses_no_text(text: str) -> None:
    """Markers are spans of the text in order, and what lies outside them survives, blanks and joiners aside."""
    markers = parse_markers(text, keys=KEYS)
    spans = sorted({(marker.start, marker.end) for marker in markers})
    outside = "".join(
        text[end:start]
        for end, start in zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)], strict=True)
    )

    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    if not spans:
        assert strip_markers(text, keys=KEYS) == text
    elif not set("[]()【】") & set(outside + _without_joiners(text, spans)):  # a link's label may be a marker itself
        assert _letters(strip_markers(text, keys=KEYS)) == _letters(_without_joiners(text, spans))


def _without_joiners(text: str, spans: list[tuple[int, int]]) -> str:
    """The text outside the spans, without the comma or `and` between two of them; labels of links stay."""
    pieces, cursor = [], 0
    for start, end in spans:
        between = text[cursor:start]
        pieces.append("" if cursor and re.fullmatch(r"[ \t]*(?:[,;&]|and)[ \t]*", between) else between)
        link = re.match(r"\[([^\]]*)\]\(", text[start:end])
        is_number = link is not None and re.fullmatch(r"[\d\s,;&–-]+", link[1]) is not None
        pieces.append(link[1] if link and not is_number else "")
        cursor = end
    return "".join([*pieces, text[cursor:]])


def _letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


WORDS = st.lists(st.from_regex(r"[A-Za-z]{3,9}", fullmatch=True), min_size=2, max_size=7)
TEXTS = st.builds(
    lambda words, end: f"The {' '.join(words)}{end}",
    WORDS,
    st.sampled_from([".", "!", "...", ' "so."', " (mostly).", " 3.5 %.", " U.S.", "。", " etc."]),
)
NUMBER_LISTS = st.lists(st.integers(1, 999), min_size=1, max_size=4, unique=True)
PAGE_REFS = st.lists(
    st.builds(
        PageRef,
        st.sampled_from(["2509.10446v1", "0603.10002", "hep-th/9901001", "math.GT/0309136v2"]),
        st.integers(1, 900),
        st.one_of(st.just(0), st.integers(901, 999)),
    ),
    min_size=1,
    max_size=3,
    unique=True,
)
URLS = st.lists(
    st.from_regex(r"https://[a-z]{1,8}\.example/(?:[a-z0-9_~%&=?-]{0,8}|[a-z]{1,3}_\([a-z]{1,5}\))", fullmatch=True),
    min_size=1,
    max_size=3,
    unique=True,
)


def cite(text: str, markers: str) -> str:
    """`text` with its markers where writers put them: before the final stop, at the end behind any other sign."""
    stop = re.search(r"[.!。]+$", text)
    at = stop.start() if stop else len(text)
    return f"{text[:at]} {markers}{text[at:]}"


@given(TEXTS, NUMBER_LISTS, st.sampled_from(["", *MARKS.values()]))
def test_numbers_are_read_back(text: str, numbers: list[int], mark: str) -> None:
    """D3: with marks and without, the sentence and what it rests on come out as they went in."""
    written = cite(text, " ".join(f"[{number}]{mark}" for number in numbers))

    assert [marker.target for marker in parse_markers(written, Grammar.NUMBER)] == [*map(SourceRef, numbers)]
    assert strip_markers(written, Grammar.NUMBER) == text


@given(TEXTS, PAGE_REFS)
def test_pages_are_read_back(text: str, pages: list[PageRef]) -> None:
    """D3, S000-16."""
    places = [f"pages {page.page}-{page.last_page}" if page.last_page else f"page {page.page}" for page in pages]
    written = cite(text, " ".join(f"[{page.paper_id}, {place}]" for page, place in zip(pages, places, strict=True)))

    assert [marker.target for marker in parse_markers(written, Grammar.PAGE)] == pages
    assert strip_markers(written, Grammar.PAGE) == text


@given(TEXTS, st.lists(st.sampled_from(sorted(LABELS)), min_size=1, max_size=3, unique=True))
def test_keys_are_read_back_and_so_are_labels(text: str, keys: list[str]) -> None:
    """D3, S001-24."""
    by_key = cite(text, f"({'; '.join(keys)})")
    by_label = cite(text, f"[{'; '.join(LABELS[key] for key in keys)}]")

    assert [marker.target for marker in parse_markers(by_key, Grammar.KEY)] == [*map(KeyRef, keys)]
    assert [marker.target for marker in parse_markers(by_label, Grammar.KEY, keys=KEYS)] == [*map(KeyRef, keys)]
    assert strip_markers(by_key, Grammar.KEY) == strip_markers(by_label, Grammar.KEY, keys=KEYS) == text


@given(TEXTS, URLS)
def test_urls_are_read_back(text: str, urls: list[str]) -> None:
    """D3, S004-13."""
    written = cite(text, " ".join(f"({url})" for url in urls))

    assert [marker.target for marker in parse_markers(written, Grammar.URL)] == [*map(UrlRef, urls)]
    assert strip_markers(written, Grammar.URL) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sedum 9 days, grasses 31 [1][1].", "Sedum 9 days, grasses 31 [1]."),
        ("Sedum 9 days, grasses 31 [1][2, 1].", "Sedum 9 days, grasses 31 [1][2]."),
        ("Sedum 9 days [1] [1], grasses 31 [2].", "Sedum 9 days [1], grasses 31 [2]."),
        ("Sedum 9 days [1], grasses 31 [1][2].", "Sedum 9 days [1], grasses 31 [1][2]."),
        ("| 9 days [1] | [1] |[2]", "| 9 days [1] | [1] |[2]"),
        ("It is `data[1][1]` in code [2][1].", "It is `data[1][1]` in code [2][1]."),
    ],
    ids=["twice", "in one bracket", "apart by a blank", "for each half", "in cells of a row", "code"],
)
def test_of_markers_side_by_side_each_source_stands_once(text: str, expected: str) -> None:
    cited = [f"src_{number}" for number in marker_numbers(text)]

    assert with_markers(text, cited) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is so [1].", "It is so <1>."),
        ("It is so [1, 2]✓ and so [3].", "It is so <1><2> and so [3]."),
        ("See `data[1]` in code [2].", "See `data[1]` in code <2>."),
        ("Nothing is cited.", "Nothing is cited."),
    ],
    ids=["one", "several in one bracket, and one left as it is", "code", "none"],
)
def test_brackets_are_rewritten_with_all_that_they_name(text: str, expected: str) -> None:
    def written(group: Sequence[Marker]) -> str | None:
        numbers = [marker.number for marker in group]
        return None if numbers == [3] else "".join(f"<{number}>" for number in numbers)

    assert rewrite_markers(text, Grammar.NUMBER, written) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Source 2 says that mRNA decays.", "mRNA decays [2]."),
        ("- According to source 1, iPhones sell.", "- iPhones sell [1]."),
        ("Source 2 reports that rust is iron's end.", "Rust is iron's end [2]."),
        ("Source 9 says that iron rusts.", "Source 9 says that iron rusts."),
        ("Source 2 says that iron rusts [1].", "Iron rusts [1][2]."),
    ],
)
def test_a_source_named_in_words_is_cited_and_no_name_is_spelled_otherwise(written: str, expected: str) -> None:
    assert cited_in_words(written, [1, 2]) == expected
