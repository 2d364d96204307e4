"""What the library says in Discord: never more than Discord takes, nothing that pings, and lasting buttons."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from discord.ui import Button
from hypothesis import given
from hypothesis import strategies as st

from adapters.chat.discord.library import DiscordLibraryVoice
from adapters.chat.discord.markup import rich
from adapters.chat.discord.payload import OF_LIBRARY, view_of
from adapters.chat.fitting import units
from core.library.session import SaidToLibrary, Speaker
from core.library.states import Conversation, State
from core.library.talk import Reply
from core.model.answer import Confidence
from core.model.job import Scope
from tests.core.library.samples import TIDES
from tests.golden.samples import ANSWER, COMPLETED, LINKS, RESULT
from tests.loopback.discord_limits import message_problems

VOICE = DiscordLibraryVoice(LINKS)
SPEAKER = Speaker(Scope("discord:1", "workspace"), "discord:2", key="k")
FOUND = Conversation(
    State.RESEARCH, ("2401.00001v1", "2402.00002v1"), draft="Tides.", original_query="tides", history=("research",)
)


def labels(said: SaidToLibrary) -> list[str]:
    return [button.label for row in VOICE.said(SPEAKER, said).rows for button in row]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# Tides\n\n- by the *moon*", "**Tides**\n\n- by the *moon*"),
        ("Say `open <number|id> page 3`.", "Say `open <number|id> page 3`."),
        ("1. 2401.00001v1 - Tides\n   Authors: A. Writer", "1. 2401.00001v1 - Tides\n-# Authors: A. Writer"),
        ("1. Boil it.\n\n   It takes a while.\n2. Pour it.", "1. Boil it.\n\nIt takes a while.\n2. Pour it."),
        ("1. Boil it:\n\n   - slowly", "1. Boil it:\n\n   - slowly"),
        ("They **follow** the moon [2401.00001v1, page 2].", "They **follow** the moon \\[2401.00001v1, page 2\\]."),
        ("@everyone `<@1>` [a](https://b.org)", "@\u200beveryone `<@1>` \\[a\\](https:\u200b//b.org)"),
    ],
)
def test_markdown_is_shown_as_discord_writes_it(text: str, shown: str) -> None:
    """Headings, lists, bold and words to type; everything else literally, and nobody is pinged."""
    assert rich(text, 500) == shown


def test_help_says_how_papers_are_added() -> None:
    """Whose library is empty has nothing else to do; the terminal has a command for it."""
    help_ = SaidToLibrary(Reply("You can say now:\n- `list` – …", "Help"))

    assert "“add to library”" in VOICE.said(SPEAKER, help_).text


def test_code_of_an_answer_is_a_block_and_its_signs_are_not_escaped() -> None:
    shown = rich("## Use\n\nRun *this*:\n\n```python\ntides = __import__('tides')  # [1] *not* bold\n```\n\nDone.", 500)

    assert shown == "**Use**\n\nRun *this*:\n```python\ntides = __import__('tides')  # [1] *not* bold\n```\nDone."


@given(st.text("ab`~ \n", max_size=600), st.integers(150, 400))
def test_blocks_of_code_are_closed_in_whatever_room_there_is(code: str, limit: int) -> None:
    shown = rich(f"Run this:\n\n```python\nx = 1\n{code}\n```\n\nThen that.", limit)

    assert units(shown) <= limit
    assert shown.count("```") % 2 == 0


@given(st.text(), st.integers(20, 300))
def test_no_text_is_longer_than_its_room_or_pings(text: str, limit: int) -> None:
    shown = rich(text, limit)

    assert units(shown) <= limit
    assert not re.search(r"@(?!\u200b)", shown)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            SaidToLibrary(Reply("…", "📝 Research Results", job_id="job_1"), after=FOUND),
            ["Open 1", "Open 2", "Improve", "Save"],
        ),
        (
            SaidToLibrary(Reply("…", "Papers"), after=replace(FOUND, state=State.SELECT_VIEW)),
            ["Summary 1", "Summary 2"],
        ),
        (SaidToLibrary(Reply("…", "Found on arXiv"), after=replace(FOUND, state=State.SELECT_NEW)), ["Add 1", "Add 2"]),
        (SaidToLibrary(Reply("…", "📝 Response"), after=FOUND.chose(TIDES.id, "S.")), ["Open", "Improve"]),
        (
            SaidToLibrary(Reply("…", "Paper Content", page=(TIDES, 2)), after=FOUND.opened(TIDES)),
            ["◀ Page 1", "Page 3 ▶", "PDF", "Improve", "Save"],
        ),
        (SaidToLibrary(Reply("Shall I?"), after=replace(FOUND, offered=TIDES.id)), ["Yes", "No"]),
        (SaidToLibrary(Reply("Added."), after=FOUND, added=(TIDES.id,)), ["Summary"]),
        (SaidToLibrary(Reply("There is no number 7."), after=FOUND), []),
        (SaidToLibrary(Reply("…", "Help"), after=FOUND), []),
        (SaidToLibrary(Reply("Saving", file=("a.md", "# A")), after=FOUND), []),
    ],
    ids=["answer", "list", "found", "summary", "page", "offer", "added", "refusal", "help", "saved"],
)
def test_buttons_say_what_one_goes_on_with(said: SaidToLibrary, expected: list[str]) -> None:
    """And none stands under what is only about the conversation."""
    shown = [label for label in labels(said) if label != "View Full Analysis"]

    assert shown == expected


async def test_a_button_is_found_again_by_its_id_after_a_restart() -> None:
    """What it says and what it is about stand in its id, whatever process reads it."""
    message = VOICE.said(SPEAKER, SaidToLibrary(Reply("…", "📝 Research Results"), after=FOUND, job=COMPLETED))
    view = view_of(message)

    read = [re.fullmatch(OF_LIBRARY, item.custom_id or "") for item in view.children if isinstance(item, Button)]

    assert [(found["words"], found["tag"]) for found in read if found] == [
        ("open 2401.00001v1", ""),
        ("open 2402.00002v1", ""),
        ("improve", FOUND.tag),
        ("save", FOUND.tag),
    ]


def test_what_no_id_could_carry_has_no_button() -> None:
    """An id of Discord's has at most 100 characters."""
    after = Conversation(State.RESEARCH, ("2401.00001v1", "x" * 90), draft="Tides.", history=("research",))
    message = VOICE.said(SPEAKER, SaidToLibrary(Reply("…", "📝 Research Results"), after=after, job=COMPLETED))

    ids = [button.custom_id for row in message.rows for button in row]

    assert [name for name in ids if "open" in name] == ["library::open 2401.00001v1"]


def test_an_answer_of_any_length_leaves_room_for_the_next_steps() -> None:
    """S000-37, S000-38: the panel's title, and its four next steps."""
    message = VOICE.said(
        SPEAKER, SaidToLibrary(Reply("**Tides** `follow` @moon. " * 900, "📝 Research Results"), after=FOUND)
    )

    body = {"content": message.text, "embeds": [message.embed.to_dict()], "allowed_mentions": {}}
    assert message_problems(body) == []
    assert message.embed.title == "📝 Research Results"
    for text in (message.text, message.embed.description or ""):
        assert [line[:9] for line in text.splitlines()[-4:]] == ["-# • Use "] * 4
        assert "(e.g., `open 2`)" in text


def test_how_sure_an_answer_is_stands_below_it() -> None:
    """D15: as below any other answer, with the reason that decided; not below a list or a page."""
    reply = Reply("…", "📝 Research Results", job_id=COMPLETED.id)
    answer = replace(ANSWER, confidence=Confidence.LOW, confidence_reasons=("it rests on one paper",))
    researched = SaidToLibrary(reply, after=FOUND, job=COMPLETED, result=replace(RESULT, answer=answer))

    said = [
        [line for line in VOICE.said(SPEAKER, one).text.splitlines() if line.startswith("-# Confidence: ")]
        for one in (researched, replace(researched, result=None), replace(researched, reply=Reply("…", "Papers")))
    ]

    assert [len(lines) for lines in said] == [1, 0, 0]
    assert re.fullmatch(r"-# Confidence: Low \(\d corroborating sources\) · it rests on one paper", said[0][0])


def test_an_answer_of_the_library_explains_its_marks() -> None:
    cited = SaidToLibrary(Reply("…", "📝 Research Results"), after=FOUND, result=RESULT)
    bare = replace(cited, result=replace(RESULT, answer=replace(ANSWER, citations=())))

    assert [VOICE.said(SPEAKER, one).text.count("✓ the source says so") for one in (cited, bare)] == [1, 0]


def test_an_answer_of_the_library_has_its_marks() -> None:
    """D18: as any other answer."""
    content = "The Eddystone lighthouse is 49 metres tall [2401.00001v1, page 2]."
    result = replace(RESULT, details={"query_result": {"content": content, "paper_ids": ["2401.00001v1"]}})
    said = SaidToLibrary(Reply(content, "📝 Research Results", job_id=COMPLETED.id), job=COMPLETED, result=result)

    assert "49 metres tall \\[2401.00001v1, page 2\\]◐." in VOICE.said(SPEAKER, said).text
    assert "page 2\\]." in VOICE.said(SPEAKER, replace(said, result=None)).text


def test_a_page_and_a_saved_file_come_with_their_message_and_within_its_limits() -> None:
    """Where nothing may be attached, that is said instead."""
    page = VOICE.said(SPEAKER, SaidToLibrary(Reply("x" * 9_000, "Paper Content", page=(TIDES, 2)), b"\x89PNG", FOUND))
    file = VOICE.said(SPEAKER, SaidToLibrary(Reply("💾 Saving", file=("tides_1.md", "# Tides"))))

    assert page.embed.image.url == "attachment://page.png"
    assert [one.name for one in page.files] == ["page.png"]
    assert "✅ Research results saved to: tides\\_1.md" in (file.embed.description or "")
    for message in (page, page.without_files, file, file.without_files):
        body = {"content": message.text, "embeds": [message.embed.to_dict()], "allowed_mentions": {}}
        assert message_problems(body) == []
    assert page.without_files.embed.image.url is None
    assert page.without_files.text.startswith(page.text)
    assert "I may not attach files here" in page.without_files.text
    assert file.without_files.text == "I may not attach files here; an admin can allow it."
    assert file.without_files.embed.description == file.without_files.text


def test_progress_of_any_length_shows_how_far_it_is() -> None:
    """A folder of papers tells a line or two each; the last ones are what somebody waits for."""
    message = VOICE.told("add to library", [f"Reading paper_{number}.pdf …" * 7 for number in range(60)])

    body = {"content": message.text, "embeds": [message.embed.to_dict()], "allowed_mentions": {}}
    assert message_problems(body) == []
    for text in (message.text, message.embed.description or ""):
        assert "add to library" in text
        assert "59.pdf" in text
