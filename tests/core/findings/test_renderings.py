"""Findings in a message and on a page: nothing is cut in the wrong place, whatever code somebody wrote."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from adapters.chat.discord.markup import code_block, rich
from adapters.chat.discord.render import CONTENT_LIMIT, DiscordVoice
from adapters.chat.fitting import units
from adapters.chat.slack.blocks import SlackMessage
from adapters.chat.slack.render import SlackVoice
from core.findings.viewing import FoundItem, code_files, read_view
from core.model.answer import JobResult
from core.model.job import ResearchJob
from tests.core.findings.pages import LONG, TICKED
from tests.core.findings.samples import SECTIONS, found, idea, implementation
from tests.golden import samples
from tests.loopback.discord_limits import message_problems
from tests.loopback.slack_limits import message_faults

SHORT = "import requests\n\nprint(requests.get('https://towers.example').text)"
CODES = st.lists(
    st.one_of(st.text(st.characters(), max_size=60), st.sampled_from([LONG, TICKED, SHORT, "```", "x" * 9000, "\n"])),
    max_size=6,
).map("\n".join)
TEXTS = st.one_of(st.text(st.characters(), max_size=200), st.just("word " * 300))
ITEMS = st.lists(
    st.one_of(
        st.builds(idea, st.integers(1, 20), TEXTS),
        st.builds(implementation, st.integers(1, 20), CODES, st.sampled_from(["python", "", "c++", "Ж", "a b"])),
    ),
    max_size=20,
)
REPORTS = st.lists(st.tuples(st.sampled_from(SECTIONS), TEXTS), max_size=5)


def discord_text(job: ResearchJob, result: JobResult) -> str:
    return DiscordVoice(samples.LINKS).outcome(job, result, samples.SOURCES).embed.description or ""


def slack_message(job: ResearchJob, result: JobResult) -> SlackMessage:
    return SlackVoice(samples.LINKS).outcome(job, result, samples.SOURCES)


def codes_in(message: SlackMessage) -> list[str]:
    coded = [block["elements"][0] for block in message.blocks if block["type"] == "rich_text"]  # type: ignore[index]
    return [str(one["elements"][0]["text"]) for one in coded]  # type: ignore[call-overload,index]


def attached(result: JobResult) -> dict[str, str]:
    view = read_view(result)
    assert view is not None
    return dict(code_files(view))


@given(ITEMS, REPORTS)
def test_both_platforms_take_whatever_was_found(items: list[FoundItem], sections: list[tuple[str, str]]) -> None:
    """Within every limit; in Discord each fence that opens is closed, in the text without an embed too."""
    job, result = found(items, sections=sections)

    said = DiscordVoice(samples.LINKS).outcome(job, result, samples.SOURCES)
    message = slack_message(job, result)

    body = {"embeds": [said.embed.to_dict()], "allowed_mentions": {"parse": []}}
    assert message_problems(body) == []
    assert units(said.text) <= CONTENT_LIMIT
    for text in (said.embed.description or "", said.text, *(one.description or "" for one in said.details)):
        assert text.count("```") % 2 == 0
    assert message_faults({"text": message.text, "blocks": list(message.blocks)}) == []


def test_short_code_is_shown_whole_with_its_language() -> None:
    """No file is needed for it."""
    job, result = found([implementation(1, SHORT)])

    assert f"```python\n{SHORT}\n```" in discord_text(job, result)
    assert codes_in(slack_message(job, result)) == [SHORT]
    assert attached(result) == {}


def test_long_code_begins_in_the_message_and_is_whole_in_a_file() -> None:
    """Cut between lines; how much is missing and where it is, is said."""
    job, result = found([implementation(number, LONG) for number in range(1, 6)])

    text, message = discord_text(job, result), slack_message(job, result)

    assert attached(result) == {f"implementation-{number}.py": f"{LONG}\n" for number in range(1, 6)}
    shown = re.findall(r"```python\n(.*?)\n```\n-# … (\d+) more lines in implementation-\d\.py", text, re.DOTALL)
    assert len(shown) == 5
    for code, missing in shown:
        assert LONG.startswith(f"{code}\n")
        assert len(code.splitlines()) + int(missing) >= len(LONG.splitlines())
    assert all(LONG.startswith(f"{code}\n") for code in codes_in(message))
    below = [block["elements"][0]["text"] for block in message.blocks if "more lines in" in str(block)]
    assert [re.match(r"\d+ more lines in implementation-\d\.py · ", line) is not None for line in below] == [True] * 5


def test_code_with_a_fence_ends_no_block() -> None:
    """Discord has no longer fence, so that one is broken by what no eye sees, and the file has it exactly."""
    job, result = found([implementation(1, TICKED, "markdown")])

    text = discord_text(job, result)

    assert text.count("```") == 2
    assert TICKED in text.replace("\u200b", "")
    assert "also as implementation-1.markdown" in text
    assert attached(result) == {"implementation-1.markdown": f"{TICKED}\n"}
    assert codes_in(slack_message(job, result)) == [TICKED]


def test_ideas_name_their_place_and_a_report_its_abstract() -> None:
    """What is not verified is counted and not shown; the rest of the report is on the page."""
    doubtful = FoundItem("idea", 0, "https://made.up", "", "Invented.", why_unverified="it is not there")
    sections = [(title, f"The {title.lower()} is here [1].") for title in SECTIONS]
    job, result = found([idea(1), doubtful], sections=sections)

    text, blocks = discord_text(job, result), str(slack_message(job, result).blocks)

    assert "**1.** The tower is 49 metres tall [1]." in text
    assert "official documentation · single source" in text
    for shown in (text, blocks):
        assert "The abstract is here [1]" in shown
        assert "The methodology is here" not in shown
        assert "Not verified, not shown: 1 result" in shown
        assert "made.up" not in shown


@given(st.lists(st.one_of(CODES.map(lambda code: code_block(code, "python")), TEXTS), max_size=6).map("\n".join))
def test_a_thread_gets_closed_blocks_too(text: str) -> None:
    said = rich(text, 900)

    assert units(said) <= 900
    assert said.count("```") % 2 == 0
