"""A report's five sections, however a model heads them (S004-13): by meaning, by order, asked for once more, or one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.findings.composing import SECTIONS, split_sections
from core.model.errors import ModelUnavailable
from tests.core.cats import final, research
from tests.core.findings.test_malformed import FIRST, QUESTION, REPORT, SECOND, A, B, pages, wrapped

BODIES = tuple(f"Body {number}." for number in range(5))
ENGLISH = ("Executive Summary", "Background", "State of the art", "Methods: a comparison", "Implementation")
GERMAN = ("Zusammenfassung", "Einleitung", "Stand der Forschung", "Methodik", "Umsetzung")
FRENCH = ("Résumé", "Introduction", "État de l’art", "Méthodologie", "Mise en œuvre")
FINNISH = ("Tiivistelmä", "Johdanto", "Kirjallisuuskatsaus", "Menetelmät", "Toteutukset")
OWN = ("In short", "Why it matters", "What others did", "How it is done", "What to use")


def report(form: str, headings: tuple[str, ...] = SECTIONS) -> str:
    parts = [
        f"{form.format(number=number, title=title)}\n\n{body}"
        for number, (title, body) in enumerate(zip(headings, BODIES, strict=True), 1)
    ]
    return "\n\n".join(parts)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(report("## {title}"), id="as told"),
        pytest.param(report("#### {title}"), id="deeper"),
        pytest.param(report("**{title}**"), id="bold"),
        pytest.param(report("__{number}. {title}__:"), id="bold and numbered"),
        pytest.param(report("## {number}) {title}"), id="numbered"),
        pytest.param(report("## **{title}**"), id="both"),
        pytest.param(report("{number}. {title}"), id="plain and numbered"),
        pytest.param(report("{title}:"), id="plain"),
        pytest.param(report("## {title}", ENGLISH), id="other English words"),
        pytest.param(report("## {title}", GERMAN), id="German"),
        pytest.param(report("**{title}**", FRENCH), id="French"),
        pytest.param(report("## {title}", FINNISH), id="five of a language that no list holds"),
        pytest.param(report("### {number}. {title}", OWN), id="five of their own"),
        pytest.param(f"# Tides\n\n{report('## {title}', OWN)}", id="five below a title"),
        pytest.param(report("## {title}", (*SECTIONS[:2], "What others did", *SECTIONS[3:])), id="one between two"),
    ],
)
def test_sections_are_found_however_they_are_headed(text: str) -> None:
    """S004-13."""
    found = dict(split_sections(text))

    assert {title: body for title, body in found.items() if title} == dict(zip(SECTIONS, BODIES, strict=True))


def test_a_section_that_comes_twice_loses_nothing() -> None:
    found = dict(split_sections("## Abstract\n\nOne.\n\n## Introduction\n\nTwo.\n\n## Summary\n\nThree."))

    assert found == {"Abstract": "One.\n\nThree.", "Introduction": "Two."}


def test_a_report_without_headings_is_one_body() -> None:
    """Nor are lists, code and other headings any."""
    text = "1. Streams are closed last.\n2. Background jobs wait.\n\n## Thoughts\n\n```\n# Abstract\n```"

    assert split_sections(text) == [("", text)]


@pytest.mark.parametrize(
    "head", ["## References", "**Sources:**", "6. Literaturverzeichnis", "### 6. Works cited", "Quellen:"]
)
@pytest.mark.parametrize("titles", [SECTIONS, FINNISH])
def test_a_list_of_references_is_no_section(head: str, titles: tuple[str, ...]) -> None:
    """The answer has one; what stands behind it stays."""
    text = f"{report('## {title}', titles)}\n\n{head}\n\n1. Smith (2020). Tides. {A}\n\n#### Aside\n\nMore of it."

    assert split_sections(text) == [
        *zip(SECTIONS[:4], BODIES[:4], strict=True),
        (SECTIONS[4], f"{BODIES[4]}\n\n#### Aside\n\nMore of it."),
    ]


@given(
    st.lists(st.sampled_from(["## Abstract", "# X", "**Methods**", "```", "Words.", "1. Introduction", "| a |", ""]))
)
def test_no_line_of_a_report_is_lost(lines: list[str]) -> None:
    """Whatever a model writes: it never raises, and what is no heading of a section stands in a body."""
    found = split_sections("\n".join(lines))

    kept = "\n".join(body for _, body in found)
    for line in ("Words.", "| a |"):
        assert kept.count(line) == lines.count(line)


UNHEADED = f"{FIRST[:-1]} ({A}). {SECOND[:-1]} ({B})."


@pytest.mark.parametrize(
    ("second", "titles"),
    [
        pytest.param(f"<research_result>\n{REPORT}\n</research_result>", list(SECTIONS), id="arranged"),
        pytest.param(f"## Abstract\n\n{FIRST[:-1]} ({A}).\n\n## Introduction\n\nMore.", [""], id="an address is lost"),
        pytest.param("I cannot.", [""], id="refused"),
        pytest.param(ModelUnavailable("away"), [""], id="away"),
    ],
)
async def test_a_report_without_headings_is_asked_for_once_more(second: str | Exception, titles: list[str]) -> None:
    """S004-13: what was found is never lost for its headings."""
    done = final(await research(pages(freeform=[UNHEADED, second, second]), QUESTION, modes=("freeform",)))

    assert done["status"] == "completed"
    assert [part["title"] for part in done["result"]["report"]] == titles
    assert f"({A})" in done["result"]["findings"]["report"]["content"]
    assert f"({B})" in done["result"]["findings"]["report"]["content"]


async def test_a_report_without_headings_costs_other_modes_nothing() -> None:
    """S004-03: ideas beside it stay."""
    item = f"<research_item><source>{A}</source><content>{FIRST}</content></research_item>"
    deps = pages(freeform=[UNHEADED, "I cannot."], idea=wrapped(item))

    done = final(await research(deps, QUESTION, modes=("idea", "freeform")))

    assert [idea["source"] for idea in done["result"]["findings"]["ideas"]] == [A]
    assert done["result"]["findings"]["report"]["content"]
