"""What structures an answer stands and falls with what it holds (D20), and a cut is seen where it was made (D19)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.evidence.structure import (
    CUT,
    NO_CODE,
    Judged,
    assemble,
    before_of,
    cells,
    head_of_row,
    joined_detail,
    leading_word,
    leans,
    read_row,
)
from core.model.answer import Claim, Evidence, Verdict
from core.text.sentences import split_sentences

EVIDENCE = Evidence("src_1", "q", 0, 1, Verdict.SUPPORTED)


def judged(text: str, section: str = "summary") -> list[Judged]:
    """Sentences with XX are cut; structure is kept for what it holds."""
    entries: list[Judged] = []
    end = 0
    for place, sentence in enumerate(split_sentences(text)):
        gap = text[end : sentence.start]
        end = sentence.end
        name = f"{section}-{place}"
        is_claim = sentence.asserts
        is_cut = "XX" in sentence.text
        claim = (
            Claim(name, sentence.plain, Verdict.SUPPORTED, () if is_cut else (EVIDENCE,), ("no",)) if is_claim else None
        )
        shown = None if is_cut else sentence.text
        entries.append(Judged(name, "detail" if section == "detail" else "summary", sentence.text, gap, claim, shown))
    return entries


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        pytest.param("Tea is hot. XX is cold. Milk is white.", "Tea is hot. […] Milk is white.", id="a cut is seen"),
        pytest.param(
            "Tea is hot. XX is cold. XX is old. Milk is white.", "Tea is hot. […] Milk is white.", id="two as one"
        ),
        pytest.param("XX is cold. However, milk is white.", "[…] Milk is white.", id="what led back to it goes"),
        pytest.param(
            "Tea is hot. However, milk is white.", "Tea is hot. However, milk is white.", id="what leads back stays"
        ),
        pytest.param("XX is cold.", "", id="nothing is left"),
        pytest.param(
            "Tea is hot.\n\n**XX:**\n- Milk is white.",
            "Tea is hot.\n\n- Milk is white.",
            id="a list stays apart without its lead",
        ),
        pytest.param(
            "Three things matter:\n\n1. Boil the water.\n2. XX it twice.\n3. Pour it slowly.",
            "Three things matter:\n\n1. Boil the water.\n2. […]\n3. Pour it slowly.",
            id="numbers stay right",
        ),
        pytest.param(
            "Three things matter:\n\n- Boil the water.\n- XX it twice.\n- XX it thrice.\n- Pour it slowly.",
            "Three things matter:\n\n- Boil the water. […]\n- Pour it slowly.",
            id="items, none of them empty",
        ),
        pytest.param(
            "Three things matter:\n\n- XX the water.\n- Pour it slowly.\n- XX it twice.",
            "Three things matter:\n\n[…]\n- Pour it slowly. […]",
            id="the first and the last item",
        ),
        pytest.param(
            "- Boil the water.\n- XX it twice. Pour it slowly.",
            "- Boil the water.\n- […] Pour it slowly.",
            id="an item that goes on",
        ),
        pytest.param(
            "Three things matter:\n\n- XX the water.\n- XX it twice.\n\nTea is hot.",
            "Tea is hot.",
            id="a lead without list",
        ),
        pytest.param(
            "## Tea\n\nTea is hot.\n\n## Milk\n\nXX is white.", "## Tea\n\nTea is hot.", id="an empty heading"
        ),
        pytest.param(
            "## Drinks\n\n### Tea\n\nTea is hot.", "## Drinks\n\n### Tea\n\nTea is hot.", id="a heading over a heading"
        ),
        pytest.param(
            "| Drink | Heat |\n|---|---|\n| Tea | it is hot |\n| Milk | XX is cold |\n| XX | is old |\n| Ice | cold |",
            "| Drink | Heat |\n|---|---|\n| Tea | it is hot |\n| […] | |\n| Ice | cold |",
            id="rows",
        ),
        pytest.param(
            "| Drink | Heat |\n|---|---|\n| XX | it is hot |\n\nTea is hot.", "Tea is hot.", id="a table without rows"
        ),
        pytest.param(
            "Some drinks may not stand [1]:\n\n- XX the tea.", "", id="a lead that is a claim, and its list gone"
        ),
        pytest.param(
            "🍵 **Tea**\n\n- XX is cold.\n\n**Milk** 🥛\n\n- Milk is white.",
            "**Milk** 🥛\n\n- Milk is white.",
            id="headings with a picture",
        ),
        pytest.param(
            "1. Boil the water [1].\n2. **Pour it**\n   - Tea is hot [1].\n   - XX is cold [1].\n3. Drink it [1].",
            "1. Boil the water [1].\n2. **Pour it**\n   - Tea is hot [1]. […]\n3. Drink it [1].",
            id="what names the items within an item",
        ),
        pytest.param(
            "1. **Pour it**\n- XX is hot [1].\n2. **Drink it**\n- Milk is white [1].\n\n- **Wait**\n  - XX is it.",
            "1. […]\n2. **Drink it**\n- Milk is white [1]. […]",
            id="an item whose own items are gone",
        ),
        pytest.param("Yes. Tea is hot.", "Yes. Tea is hot.", id="a yes with its reason"),
        pytest.param("Yes. XX is hot.\n\nMilk is white.", "[…]\n\nMilk is white.", id="a yes whose reason was cut"),
    ],
)
def test_structure_stands_and_falls_with_what_it_holds(draft: str, shown: str) -> None:
    """D20: kept with its first kept child, gone with its last."""
    entries = [
        entry
        if not entry.text.startswith("Yes.")
        else Judged(entry.id, entry.section, entry.text, entry.gap, None, "Yes.")
        for entry in judged(draft)
    ]

    assert assemble(entries).summary == shown


def joined(opening: str, rest: str, *, is_cut_off: bool = False) -> str:
    begun = [replace(entry, section="opening") for entry in judged(opening)]
    return assemble(joined_detail([*begun, *judged(rest, "detail")], is_cut_off=is_cut_off)).detail


@pytest.mark.parametrize(
    ("opening", "rest", "shown"),
    [
        pytest.param(
            "1. Boil the water.\n2. Warm the pot.",
            "1. Pour it slowly.\n2. Wait for a while.\n\nTea is hot.",
            "1. Boil the water.\n2. Warm the pot.\n3. Pour it slowly.\n4. Wait for a while.\n\nTea is hot.",
            id="one list",
        ),
        pytest.param(
            "1. Boil the water.\n2. Warm the pot.",
            "3. Pour it slowly.\n4. Wait for a while.",
            "1. Boil the water.\n2. Warm the pot.\n3. Pour it slowly.\n4. Wait for a while.",
            id="numbered on already",
        ),
        pytest.param(
            "1. Boil the water.\n2. XX it twice.",
            "1. XX the pot.\n2. Pour it slowly.",
            "1. Boil the water.\n2. […]\n3. […]\n4. Pour it slowly.",
            id="with cuts",
        ),
        pytest.param(
            "1) Boil the water.",
            "1) Pour it slowly.\n   1) Use a spoon.\n   2) Use a cup.\n2) Wait for a while.",
            "1) Boil the water.\n2) Pour it slowly.\n   1) Use a spoon.\n   2) Use a cup.\n3) Wait for a while.",
            id="over another list",
        ),
        pytest.param(
            "1. Boil the water.\n\nTea is hot.",
            "1. Pour it slowly.",
            "1. Boil the water.\n\nTea is hot.\n\n1. Pour it slowly.",
            id="another list",
        ),
        pytest.param(
            "1. Boil the water.",
            "For milk:\n\n1. Pour it slowly.",
            "1. Boil the water.\n\nFor milk:\n\n1. Pour it slowly.",
            id="a list with its own lead",
        ),
        pytest.param("- Boil the water.", "- Pour it.", "- Boil the water.\n- Pour it.", id="without numbers"),
        pytest.param("- Boil the water.", "1. Pour it.", "- Boil the water.\n\n1. Pour it.", id="of two sorts"),
    ],
)
def test_a_list_that_two_calls_write_is_one_list(opening: str, rest: str, shown: str) -> None:
    assert joined(opening, rest) == shown


@pytest.mark.parametrize(
    ("opening", "rest", "shown"),
    [
        ("Tea is hot.", "Milk is white.", f"Tea is hot. {CUT}\n\nMilk is white."),
        ("Tea is hot. XX is cold.", "Milk is white.", f"Tea is hot. {CUT}\n\nMilk is white."),
        ("XX is cold.", "Milk is white.", f"{CUT}\n\nMilk is white."),
        ("Tea is hot.", "", f"Tea is hot. {CUT}"),
    ],
    ids=["before the rest", "behind a cut", "nothing before it", "without the rest"],
)
def test_where_the_opening_was_cut_off_is_seen(opening: str, rest: str, shown: str) -> None:
    assert joined(opening, rest, is_cut_off=True) == shown


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        pytest.param(
            "## Men\n\nTea is hot.\n\n## XX\n\nMilk is white.",
            f"## Men\n\nTea is hot.\n\n## {CUT}\n\nMilk is white.",
            id="another heading",
        ),
        pytest.param(
            "**Men**\n\nTea is hot.\n\n**XX**\n\nMilk is white.",
            f"**Men**\n\nTea is hot.\n\n**{CUT}**\n\nMilk is white.",
            id="in bold",
        ),
        pytest.param("## XX\n\nTea is hot.", "Tea is hot.", id="nothing above"),
        pytest.param("## Men\n\nTea is hot.\n\n## XX\n\nXX is white.", "## Men\n\nTea is hot.", id="nothing below"),
    ],
)
def test_what_stands_below_a_heading_that_is_cut_comes_under_no_other(draft: str, shown: str) -> None:
    assert assemble(judged(draft)).summary == shown


def test_what_is_said_twice_is_shown_and_counted_once() -> None:
    """A detail that repeats the summary adds nothing; what was cut twice is listed once."""
    summary = judged("Tea is hot. XX is cold.")
    detail = judged("Tea is hot. Milk is white. XX is cold.", "detail")

    grounded = assemble([*summary, *detail])

    assert grounded.summary == "Tea is hot. […]"
    assert grounded.detail == "Milk is white. […]"
    assert [claim.text for claim in grounded.claims] == ["Tea is hot.", "Milk is white."]
    assert [removed.text for removed in grounded.removed] == ["XX is cold."]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("However, it rains.", "However, "),
        ("Yes: it rains.", "Yes: "),
        ("Jedoch, es regnet.", "Jedoch, "),
        ("Howes, it is.", ""),
    ],
)
def test_a_leading_word_is_told_apart(text: str, word: str) -> None:
    assert leading_word(text) == word


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains.", True),
        ("However, he left.", True),
        ("The second fell.", True),
        ("Iterations end.", False),
        ("Er kam.", True),
        ("In cold weather, it shrinks.", True),
        ("In cold weather, steel shrinks.", False),
    ],
)
def test_a_sentence_leans_on_the_one_before_by_its_subject(text: str, expected: bool) -> None:
    assert leans(text) is expected


@pytest.mark.parametrize("row", ["| XX | it is hot | |", "| XX | | it is hot |"], ids=["the last", "one between"])
def test_a_row_that_was_removed_is_told_without_its_empty_cells(row: str) -> None:
    """One that held nothing but a marker is empty."""
    grounded = assemble(judged(f"| Drink | Heat | Source |\n|---|---|---|\n| Tea | warm | none |\n{row}", "detail"))

    assert [removed.text for removed in grounded.removed] == ["XX · it is hot"]


def test_what_was_removed_is_told_as_it_reads() -> None:
    """Without marks of emphasis; code that no source has by its first line."""
    code = replace(judged("```py\nimport tea\ntea.brew()\n```", "detail")[0], shown=None)

    grounded = assemble([*judged("Tea is hot. The *XX* is cold."), code])

    assert [(removed.text, removed.reason) for removed in grounded.removed] == [
        ("The XX is cold.", "no"),
        ("import tea …", NO_CODE),
    ]


def test_an_item_is_judged_with_its_lead_and_a_row_with_its_head() -> None:
    """Fragments say nothing by themselves."""
    listed = judged("The drug has two effects:\n\n- Dizziness after meals.\n- Nausea at night.")
    table = judged("| Drink | Heat |\n|---|---|\n| Tea | it is hot |")

    nested = judged("Effects:\n\n1. **At night**\n   - It may be nausea [1].\n2. Dizziness after meals [1].")

    assert before_of(listed[:2], "summary", "- Nausea at night.", "\n") == "The drug has two effects:"
    assert before_of(nested[:2], "summary", "- It may be nausea [1].", "\n   ") == "1. **At night**"
    assert before_of(nested[:3], "summary", "2. Dizziness after meals [1].", "\n") == "Effects:"
    assert before_of(table[:1], "summary", "| Tea | it is hot |", "\n").startswith("| Drink | Heat |")


@pytest.mark.parametrize(
    ("draft", "shown"),
    [
        ("Tea is hot. Milk is white.", "Tea is hot. Milk is white. […]"),
        ("Tea is hot. XX is cold.", "Tea is hot. […]"),
        ("- Boil the water.\n- Pour it.", "- Boil the water.\n- Pour it. […]"),
        ("XX is cold.", ""),
    ],
)
def test_the_place_where_the_writer_ended_in_its_midst_is_seen(draft: str, shown: str) -> None:
    """D20: the half sentence that is left out leaves a trace; one of two cuts in a row is enough."""
    assert assemble(judged(draft), cut_off=("summary",)).summary == shown
    assert assemble(judged(draft)).summary == shown.removesuffix(" […]" if "XX" not in draft else "")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("| one | two |", ["one", "two"]),
        ("| `cat a | grep b` | finds b |", ["`cat a | grep b`", "finds b"]),
        (r"| a \| b | two |", ["a | b", "two"]),
        ("| a ` | b |", ["a `", "b"]),
    ],
)
def test_a_bar_in_code_parts_no_cells(row: str, expected: list[str]) -> None:
    """D20: a row of commands keeps them whole."""
    assert cells(row) == expected


def test_the_head_of_a_table_keeps_its_empty_first_cell() -> None:
    """Else each column would be read under the head of the next."""
    content = "| | Socket | HTTP |\n|---|---|---|\n| Who calls | we | they |\n"
    head = content[slice(*head_of_row(content, content.index("| Who")))]

    assert read_row(head, "Who calls | we | they") == "Who calls; Socket: we; HTTP: they"
    assert read_row(head, "Is safe | ✔️ | ❌") == "Is safe; Socket: yes; HTTP: no"
