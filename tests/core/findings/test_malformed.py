"""What models get wrong, from their text to the answer: the best that can be made of it, and a plain note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import regex

from core.model.job import Scope
from core.model.source import SearchHit, SearchQuery
from core.pipeline.deps import Deps
from core.presentation.render import marked_section
from tests.core.cats import final, research
from tests.fakes import FakeModel, FakeSearch, hit, make_deps

QUESTION = "How do I stream tokens of a model?"
A, B = "https://docs.example/streaming", "https://blog.example/sse"
SAID = {
    A: "Streaming sends each token to the client as soon as the model has produced it. A stream must be closed last.",
    B: "Server-sent events are the usual transport for streaming tokens over HTTP. Browsers reconnect by themselves.",
}
FIRST, SECOND = (
    "Streaming sends each token to the client as soon as the model has produced it.",
    ("Server-sent events are the usual transport for streaming tokens over HTTP."),
)
REPORT = (
    f"## Abstract\n\n{FIRST[:-1]} ({A}). {SECOND[:-1]} ({B}). A stream must be closed last ({A}).\n\n"
    + "\n\n".join(f"## {title}\n\n{SECOND[:-1]} ({B})." for title in ("Introduction", "Literature Review"))
    + f"\n\n## Methodology\n\nBrowsers reconnect by themselves ({B}).\n\n## Implementations\n\n{FIRST[:-1]} ({A})."
)
SAID_OF = [FIRST, SECOND, "A stream must be closed last.", "Browsers reconnect by themselves."]


def item(url: str, content: str) -> str:
    return f"<research_item><source>{url}</source><content>{content}</content></research_item>"


def wrapped(*items: str) -> str:
    return f"Analysis.\n<research_result>{''.join(items)}</research_result>"


def pages(**answers: Any) -> Deps:
    found = [hit(url, text, title=url, is_complete=True, rank=rank) for rank, (url, text) in enumerate(SAID.items())]
    return make_deps(search=[FakeSearch("web", found)], model=FakeModel(answers))


async def outcome(mode: str, raw: str) -> Any:
    return final(await research(pages(**{mode: raw}), QUESTION, modes=(mode,)))


@pytest.mark.parametrize(
    ("modes", "begins"),
    [(("idea", "freeform"), "Ideas:"), (("freeform", "idea"), "Report:"), (("freeform",), FIRST[:20])],
    ids=["idea first", "report first", "report"],
)
async def test_what_is_said_twice_is_marked_wherever_it_stands(modes: tuple[str, ...], begins: str) -> None:
    """S004-03, D8: modes take the same sentences from the same pages; each counts once, and none stands unmarked."""
    deps = pages(idea=wrapped(item(B, SECOND), item(A, FIRST)), freeform=f"<research_result>{REPORT}</research_result>")

    done = final(await research(deps, QUESTION, modes=modes))
    answer = (await deps.jobs.result(done["job_id"])).answer

    shown = f"{marked_section(answer, 'summary')}\n{marked_section(answer, 'detail')}"
    assert answer.summary.startswith(begins)
    assert regex.findall(r"\](?![✓\[])", shown) == []
    assert len({citation.claim for citation in answer.citations}) == len(set(SAID_OF)) == 4


NOT_WRAPPED = "The model did not wrap its results as it was told to; what could be read is shown."
PROSE = "The model gave no list of results, only prose; it is shown as one entry."
BREAKS_OFF = "The model's output breaks off; its last entry may be incomplete."


@pytest.mark.parametrize(
    ("raw", "ideas", "note"),
    [
        pytest.param(item(A, FIRST), [A], NOT_WRAPPED, id="no wrapper"),
        pytest.param(wrapped(item(A, FIRST), item(B, SECOND))[:-40], [A, B], BREAKS_OFF, id="unclosed"),
        pytest.param(
            wrapped(f"<research_item><source>{A}</source><content><content>{FIRST}</content></content></research_item>"),
            [A], "", id="nested tags",
        ),
        pytest.param(wrapped(item(f"<{A}>", FIRST), item("https://made.up/x", SECOND)), [A],
                     "1 result could not be verified.", id="invented address"),
        pytest.param(wrapped(item("https://made.up/x", FIRST), item("https://made.up/y", SECOND)), [],
                     "2 results could not be verified.", id="two invented addresses"),
        pytest.param(wrapped(item(A, FIRST), item("https://made.up/x", SECOND), item(A, FIRST), item(B, SECOND)),
                     [A, B], "", id="said twice"),
        pytest.param(wrapped(item(A, "Streaming was invented on the moon in 1789.")), [],
                     "1 result could not be verified.", id="invented content"),
        pytest.param(f"{FIRST[:-1]} ({A}).", [A], PROSE,
                     id="prose only"),
        pytest.param("I am sorry.", [], "The model's output holds no results.", id="nothing"),
        pytest.param(wrapped(), [], "", id="an empty list"),
    ],
)  # fmt: skip
async def test_ideas_are_made_of_whatever_there_is(raw: str, ideas: list[str], note: str) -> None:
    """S004-09, S004-11, S004-14, S004-17: only what a page carries; the note stands among the limitations."""
    done = await outcome("idea", raw)

    assert done["status"] == "completed"
    assert [idea["source"] for idea in done["result"]["findings"]["ideas"]] == ideas
    assert (done["answer"]["confidence"] == "insufficient") == (not ideas)
    assert note in "\n".join(done["answer"]["limitations"])
    assert "made.up" not in done["answer"]["summary"]
    assert "<" not in done["answer"]["summary"]


CLOSING = "Hope that helps! 🚀"
ROWS = f"| What | How |\n|---|---|\n| Streaming | {FIRST[10:-1]} |"
LINK = f"Source: [the docs]({A})"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (wrapped(item(A, f"**Tokens**\n- {FIRST}\n- A stream must be closed last.\n\n{CLOSING}")),
         f"**Tokens**: {FIRST[:-1]} [1]. A stream must be closed last [1]. ("),
        (wrapped(item(A, f"### Tokens\n\n{ROWS}")), f"Tokens: Streaming: {FIRST[10:-1]} [1]. ("),
        (f"### 1. Tokens\n\n{LINK}\n\n{FIRST}\n\n### 2. Events\n\n{SECOND} Source: {B}",
         f"**Tokens**: {FIRST[:-1]} [1]. ("),
        (f'```json\n[{{"source": "{A}", "content": "{FIRST}"}},\n]\n```', f"{FIRST[:-1]} [1]. ("),
    ],
    ids=["list", "table", "credits in lines of their own", "a comma too many"],
)  # fmt: skip
async def test_an_idea_reads_as_one_line(raw: str, said: str) -> None:
    """D20: headings, tables and credits are no sentences of it, nor is what speaks to the reader."""
    done = await outcome("idea", raw)

    assert done["answer"]["summary"].startswith(f"1. {said}")
    assert done["answer"]["removed"] == []


async def test_code_in_an_idea_is_left_out() -> None:
    """S004-11: ideas carry none, and it is said."""
    done = await outcome("idea", wrapped(item(A, f"{FIRST}\n\n```python\nprint(1)\n```")))

    assert "print" not in str(done["result"]["findings"])
    assert "Code was left out: ideas carry none." in done["answer"]["limitations"]


async def test_an_implementation_without_code_says_so() -> None:
    """S004-12: its description may still be true."""
    done = await outcome("implementation", wrapped(item(A, f"{FIRST}\n\nDependencies: none")))

    assert done["result"]["items"][0]["remarks"] == [{"text": "it has no code", "kind": "doubt"}]


@pytest.mark.parametrize(
    "report", [f"{FIRST[:-1]} ({A}).", f"## Thoughts\n\n{FIRST[:-1]} ({A})."], ids=["prose", "other"]
)
async def test_a_report_without_its_sections_is_shown_as_it_is(report: str) -> None:
    """S004-13: small models forget the headings; what the pages carry of it is still an answer."""
    done = await outcome("freeform", report)

    assert done["status"] == "completed"
    assert f"({A})" in done["result"]["findings"]["report"]["content"]


async def test_a_whole_report_has_nothing_to_be_said_against() -> None:
    """S004-13: five sections, three to five sentences of abstract, addresses that are sources."""
    done = await outcome("freeform", f"Notes.\n<research_result>\n{REPORT}\n</research_result>")

    assert [limit for limit in done["answer"]["limitations"] if "report" in limit.lower()] == []
    assert f"({A})" in done["result"]["findings"]["report"]["content"]
    assert [part["title"] for part in done["result"]["report"]] == [
        "Abstract", "Introduction", "Literature Review", "Methodology", "Implementations",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("report", "note"),
    [
        pytest.param(REPORT.split("## Methodology")[0], "The report lacks the sections Methodology, Implementations.",
                     id="sections missing"),
        pytest.param(REPORT.replace(f" A stream must be closed last ({A}).", "", 1),
                     "The abstract has 2 sentences instead of three to five.", id="short abstract"),
        pytest.param(REPORT.replace(f"Browsers reconnect by themselves ({B})", "Tokens are salty (https://made.up/x)"),
                     "An address of the report is not verified, its address was not among the search results: "
                     "https://made.up/x", id="invented address"),
        pytest.param(REPORT + " I could not find any source on billing.",
                     "The report says: I could not find any source on billing.", id="speaks of its search"),
        pytest.param(REPORT + " No source was found on billing.", "The report says: No source was found on billing.",
                     id="says what it lacks"),
    ],
)  # fmt: skip
async def test_a_report_that_breaks_a_rule_is_shown_with_a_note(report: str, note: str) -> None:
    """S004-13: the rest of it stands; what no page says is not shown as fact."""
    done = await outcome("freeform", f"<research_result>\n{report}\n</research_result>")

    assert note in done["answer"]["limitations"]
    assert FIRST[:-1] in done["answer"]["summary"]
    assert "salty" not in done["answer"]["summary"] + done["answer"]["detail"]


class Turning(FakeSearch):
    """Each query finds other pages."""

    async def search(self, query: SearchQuery, *, limit: int, scope: Scope) -> Sequence[SearchHit]:
        await super().search(query, limit=limit, scope=scope)
        at = 7 * len(self.asked) % len(self.hits)
        return [*self.hits[at:], *self.hits[:at]][:limit]


def _words(seed: int) -> str:
    """Forty words that no other seed has."""
    return " ".join(f"w{seed}{chr(97 + at % 26)}{at}" for at in range(40))


@pytest.mark.parametrize(("depth", "searches", "sources"), [("light", 1, 10), ("deep", 2, 16)])
async def test_deep_searches_in_more_rounds_and_reads_more(depth: str, searches: int, sources: int) -> None:
    """S004-04: with our own search, two rounds instead of one, and more sources kept."""
    found = [hit(f"https://s{n}.org/p", f"{FIRST} {_words(n)}.", is_complete=True, rank=n) for n in range(30)]
    provider = Turning("web", found)
    deps = make_deps(search=[provider], model=FakeModel({"idea": wrapped(item("https://s1.org/p", FIRST))}))

    done = final(await research(deps, QUESTION, modes=("idea",), depth=depth))

    assert len(done["sources"]) == sources
    assert sum("best practices" in query.text for query in provider.asked) == searches - 1
