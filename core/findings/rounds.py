"""The second round of a model's own search, at depth `deep`: told what the first found and what it left open. Pure."""

from __future__ import annotations

from core.findings.drafts import Draft
from core.findings.opening import addresses_in
from core.findings.parsing import read_output
from core.findings.report import SECTIONS, split_sections
from core.findings.results import ResearchMode
from core.ports import SearchedText
from core.presentation.render import cut, one_line
from core.prompts import load_prompt
from core.stages.prompting import fenced
from core.urls import canonical_url

LEAST_ROUND_S = 30.0  # a model's search takes one to three minutes; in less than half of that it brings nothing
NO_TIME = "No time was left for a second round of search."
MAX_KNOWN_CHARS = 24_000  # of the first round's text: a whole report with its analysis
MAX_MISSING = 12


def search_again(first: SearchedText, mode: ResearchMode, top_k: int) -> str:
    """What the second round is told beside the question."""
    return load_prompt("search_again").substitute(
        known=fenced(first.text[:MAX_KNOWN_CHARS]),
        missing="\n".join(f"- {fenced(line)}" for line in missing_in(first, mode, top_k)),
    )


def missing_in(first: SearchedText, mode: ResearchMode, top_k: int) -> list[str]:
    """What a text lacks of what its mode demands, by what can be told before any page is opened."""
    output = read_output(first.text, mode)
    missing: list[str] = []
    if mode == "freeform":
        bodies = dict(split_sections(output.report))
        missing += [f"the section {title}" for title in SECTIONS if not bodies.get(title)]
        cited = addresses_in(output.report)
    else:
        lacking = top_k - len(output.items)
        missing += [f"{lacking} more of the {top_k} results"] if lacking > 0 else []
        missing += [
            f"where this is said: {cut(one_line(item.content), 120)}" for item in output.items if not item.source
        ]
        cited = [item.source for item in output.items if item.source]
    listed = {canonical_url(page.url) for page in first.pages}
    missing += [
        f"a page that your search did find, instead of {url}" for url in cited if canonical_url(url) not in listed
    ]
    standing = "a second, independent source for what only one says, and sources of higher standing"
    return [*missing[: MAX_MISSING - 1], standing]


def after_rounds(mode: ResearchMode, first: SearchedText, second: SearchedText) -> Draft:
    """The second text, unless the first holds more; what was found and paid for in both."""
    text = second.text if _holds(second.text, mode) >= _holds(first.text, mode) else first.text
    pages = {page.url: page for page in (*second.pages, *first.pages)}
    return Draft(
        mode,
        text,
        tuple(pages.values()),
        tuple(dict.fromkeys([*first.queries, *second.queries])),
        (first.usage, second.usage),
        by_web_search=True,
    )


def _holds(text: str, mode: ResearchMode) -> int:
    """Its results, or the report's sections."""
    output = read_output(text, mode)
    if mode == "freeform":
        return sum(bool(body) for title, body in split_sections(output.report) if title)
    return sum(bool(item.source) for item in output.items)
