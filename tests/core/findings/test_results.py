"""The objects of S004 and what is said of code without running it."""

from __future__ import annotations

import pytest

from core.findings.judging import level_of
from core.findings.results import (
    IdeaResult,
    ImplementationResult,
    ResearchFindings,
    ResearchReport,
    check_code,
    dependencies_of,
    first_code,
    normalise_modes,
    read_findings,
)

CODE = "```python\nimport json\nimport yaml\nimport torch\n```"
FOUND = ImplementationResult("https://a.example", f"Loads a file.\n\n{CODE}\n\nDependencies: pip install pyyaml")


def test_views_have_the_documents_words() -> None:
    """S004-05, S004-06, S004-07: dict and line of context of each result."""
    idea, report = IdeaResult("https://a.example", "Use queues."), ResearchReport("## Abstract")

    assert idea.to_context_string() == "- Use queues. (https://a.example)"
    assert idea.to_dict() == {"source": "https://a.example", "content": "Use queues."}
    assert FOUND.to_context_string() == f"**Source:** https://a.example\n\n{FOUND.content}"
    assert (report.to_dict(), report.to_context_string()) == ({"content": "## Abstract"}, "## Abstract")


def test_parts_of_an_implementation_are_read_from_its_content() -> None:
    """D7: description, code and dependencies."""
    assert FOUND.description == "Loads a file."
    assert FOUND.code_snippet == "import json\nimport yaml\nimport torch"
    assert FOUND.dependencies == ("pyyaml",)


def test_findings_hold_what_was_asked_for_and_nothing_else() -> None:
    """S004-03, S004-08: also after a round trip, and as one document."""
    findings = ResearchFindings("q", ["implementation", "idea"], 3, ideas=[IdeaResult("https://a.example", "A.")])

    assert read_findings(findings.to_dict()) == findings
    assert findings.report is None
    assert findings.to_source().content == "# Research: q\n\n- A. (https://a.example)"


def test_modes_default_to_all_three_and_unknown_ones_are_refused() -> None:
    """S004-02: a string, a list, nothing."""
    assert normalise_modes(None) == ("idea", "implementation", "freeform")
    assert normalise_modes("idea") == ("idea",)
    assert normalise_modes(["freeform", "idea", "freeform"]) == ("freeform", "idea")
    with pytest.raises(ValueError, match="both"):
        normalise_modes(["both"])  # type: ignore[list-item]  # what a caller without types may do


@pytest.mark.parametrize(
    ("content", "remarks"),
    [
        pytest.param(
            FOUND.content, ("parses", "imports: yaml, torch", "not among the dependencies: torch"), id="undeclared"
        ),
        pytest.param(
            "```python\ndef f(:\n```\nDependencies: none", ("does not parse (line 1: invalid syntax)",), id="broken"
        ),
        pytest.param("```python\nimport os\n```",
                     ("parses", "imports: standard library only", "dependencies not stated"), id="not stated"),
        pytest.param("```rust\nfn main() {}\n```\nDependencies: none", (), id="another language"),
    ],
)  # fmt: skip
def test_code_is_parsed_and_never_run(content: str, remarks: tuple[str, ...]) -> None:
    """S004-12: its imports are compared with what it says it needs."""
    block = first_code(content)

    assert block is not None
    assert tuple(remark.text for remark in check_code(block, dependencies_of(content)).remarks) == remarks


@pytest.mark.parametrize(
    ("mode", "urls"),
    [
        ("idea", ["docs.python.org/3", "arxiv.org/abs/1", "openai.com/x", "realpython.com/x", "a.example",
                  "codegrepper.com/x"]),
        ("implementation", ["docs.python.org/3", "github.com/openai/x", "openai.com/x", "realpython.com/x",
                            "github.com/me/x", "codegrepper.com/x"]),
        ("freeform", ["arxiv.org/abs/1", "docs.python.org/3", "openai.com/x", "realpython.com/x", "a.example",
                      "codegrepper.com/x"]),
    ],
)  # fmt: skip
def test_places_count_in_the_documents_order(mode: str, urls: list[str]) -> None:
    """S004-11, S004-12, S004-13: four levels, then unknown sites, then content farms."""
    levels = [level_of(f"https://{url}", mode) for url in urls]  # type: ignore[arg-type]  # one of three names

    assert levels == [1, 2, 3, 4, 5, 6]
