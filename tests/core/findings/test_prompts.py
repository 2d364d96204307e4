"""Every instruction of S004's prompts is in ours, in the document's order."""

from __future__ import annotations

import pytest

from core.prompts import load_prompt

INSTRUCTIONS = {
    "research_envelope": [
        "senior engineer-researcher", "deep research on the public web", "QUERY: $query", "$search_instructions",
        "several sources", "official documentation, standards, major vendors, reputable blogs, papers", "Mode: $mode",
        "Top K: $top_k", "$mode_instructions",
    ],
    "idea": [
        "understand concepts or to be inspired", "1. Official documentation, standards", "2. Original papers and arXiv",
        "3. Major vendors", "4. Well-known educators", "content farms", "nothing else corroborates", "$top_k ideas",
        "Relevance to the query", "Popularity and authority", "analysis and reasoning", "<research_result>",
        "<research_item>", "<source>", "<content>", "exactly one `<source>`", "never invent one", "best first",
        "No code in idea mode", "Fewer than $top_k",
    ],
    "implementation": [
        "stuck while implementing", "1. Official documentation, reference implementations", "2. Widely adopted",
        "3. Major vendors", "4. High-quality tutorials", "Content farms", "Tiny repositories", "without context",
        "$top_k implementations", "working code snippet", "Quality and completeness of the code", "<research_result>",
        "complete and runnable, with its imports", "Dependencies: pip install", "never invent one",
        "must hold all three", '"none"', "best first", "Fewer than $top_k",
    ],
    "freeform": [
        "academic researcher", "1. Original papers, arXiv, peer-reviewed", "2. Official documentation",
        "3. Major vendors", "4. Well-known educators", "against several sources", "URL in parentheses",
        "brief notes", "## Abstract",
        "Three to five sentences", "## Introduction", "## Literature Review", "## Methodology", "trade-offs",
        "## Implementations", "Inline URLs in parentheses", "Do NOT invent citations", "say so", "concise", "act on",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(INSTRUCTIONS))
def test_each_instruction_is_there_in_its_order(name: str) -> None:
    """D17, S004-10, S004-11, S004-12, S004-13."""
    text = " ".join(load_prompt(name).template.split())
    at = 0

    for words in INSTRUCTIONS[name]:
        found = text.find(words, at)
        assert found >= 0, f"{words!r} is missing or out of order"
        at = found
