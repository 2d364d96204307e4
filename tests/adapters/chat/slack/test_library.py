"""The library as Slack blocks and modals: whatever the papers say, Slack takes it and nobody is called."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiohttp import ClientSession
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.errors import SlackApiError

from adapters.chat.slack.client import web_client
from adapters.chat.slack.library import (
    AskedInForm,
    LibraryPress,
    SlackLibraryVoice,
    ask_modal,
    paper_options,
    said_in_modal,
    wish_modal,
)
from core.library import wording
from core.library.session import SaidToLibrary, Speaker
from core.library.states import COMMANDS, Conversation, State
from core.library.talk import Reply
from core.model.job import Scope
from core.presentation.wording import VIEW_FULL_ANALYSIS
from core.text.saying import say, speaking
from tests.core.library.samples import TIDES
from tests.golden.samples import COMPLETED, LINKS
from tests.loopback.slack_limits import message_faults, options_faults, view_faults
from tests.loopback.slack_state import ADA, BOT_TOKEN, BOT_USER, GENERAL
from tests.loopback.slack_world import SlackWorld

SPEAKER = Speaker(Scope("slack:T1", "workspace"), "slack:C1:U1", "U1")
FOUND = Conversation(
    State.RESEARCH, ("2401.00001v1", "2402.00002v1"), draft="Tides.", original_query="tides", history=("research",)
)
NASTY = st.text(max_size=400) | st.sampled_from(
    ["<!channel>", "<@U1> & <https://x.y|z>", "`", "**", "# ", " ", "a" * 9000]
)


def researched(text: str, question: str = "Why?") -> SaidToLibrary:
    after = Conversation(history=(f"research {question}",)).found(
        State.RESEARCH, [TIDES.id], draft=text, query=question, job_id="job_1"
    )
    return SaidToLibrary(Reply(text, wording.PANEL_TITLE), after=after)


def test_progress_of_any_length_shows_how_far_it_is() -> None:
    shown = SlackLibraryVoice(LINKS).told("add", [f"Reading {number}.pdf …" * 20 for number in range(60)])

    assert message_faults({"text": shown.text, "blocks": list(shown.blocks)}) == []
    assert "Reading 59.pdf" in str(shown.blocks)


@given(text=NASTY, question=NASTY)
def test_slack_takes_every_answer_and_nobody_is_called(text: str, question: str) -> None:
    """Blocks within their limits, no mention and no link but ours."""
    voice = SlackLibraryVoice(LINKS)

    for message in (voice.said(SPEAKER, researched(text, question)), voice.told(question, [text] * 60)):
        assert message_faults({"text": message.text, "blocks": list(message.blocks)}) == []
        assert "<!" not in message.text + str(message.blocks)
        assert "<@" not in message.text + str(message.blocks)


def test_answer_links_to_its_page_and_what_was_not_researched_does_not() -> None:
    """G-02: View Full Analysis, as below every other answer."""
    voice = SlackLibraryVoice(LINKS)

    answer = str(voice.said(SPEAKER, replace(researched("It is so."), job=COMPLETED)).blocks)
    other = str(voice.said(SPEAKER, researched("It is so.")).blocks)

    assert f"/jobs/{COMPLETED.id}" in answer
    assert VIEW_FULL_ANALYSIS in answer
    assert VIEW_FULL_ANALYSIS not in other


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (SaidToLibrary(Reply("…", "📝 Research Results"), after=FOUND), "Open 1, Open 2, Improve, Save"),
        (SaidToLibrary(Reply("…", "Papers"), after=replace(FOUND, state=State.SELECT_VIEW)), "Summary 1, Summary 2"),
        (SaidToLibrary(Reply("…", "Found on arXiv"), after=replace(FOUND, state=State.SELECT_NEW)), "Add 1, Add 2"),
        (SaidToLibrary(Reply("…", "📝 Response"), after=FOUND.chose(TIDES.id, "S.")), "Open, Improve"),
        (SaidToLibrary(Reply("…", "Paper Content", page=(TIDES, 2)), after=FOUND.opened(TIDES)),
         "◀ Page 1, Page 3 ▶, Improve, Save, PDF"),
        (SaidToLibrary(Reply("Shall I?"), after=replace(FOUND, offered=TIDES.id)), "Yes, No"),
        (SaidToLibrary(Reply("Added."), after=FOUND, added=(TIDES.id,)), "Summary"),
        (SaidToLibrary(Reply("There is no number 7."), after=FOUND), ""),
        (SaidToLibrary(Reply("…", "Help"), after=FOUND), ""),
        (SaidToLibrary(Reply("Saving", file=("a.md", "# A")), after=FOUND), ""),
    ],
    ids=["answer", "list", "found", "summary", "page", "offer", "added", "refusal", "help", "saved"],
)  # fmt: skip
def test_buttons_say_what_one_goes_on_with_as_in_discord(said: SaidToLibrary, expected: str) -> None:
    """S000-30: and none stands under what is only about the conversation."""
    drawn = SlackLibraryVoice(LINKS).said(SPEAKER, said)

    rows = [block["elements"] for block in drawn.blocks if block["type"] == "actions"]
    pressed = [one for row in rows if isinstance(row, list) for one in row if isinstance(one, dict)]
    assert ", ".join(str(one["text"]["text"]) for one in pressed) == expected
    assert message_faults({"text": drawn.text, "blocks": list(drawn.blocks)}) == []


def test_another_language_goes_on_as_english_does() -> None:
    """S000-38: the next steps and the buttons in words of that language; under help neither."""
    with speaking("de"):
        answer = Reply("Es ist so.", say(wording.PANEL_TITLE))
        shown, about_it = (
            SlackLibraryVoice(LINKS).said(SPEAKER, SaidToLibrary(reply, after=FOUND))
            for reply in (answer, Reply("…", say("Help")))
        )

    assert [words in str(shown.blocks) for words in ("1 öffnen", "Verbessern", "(z. B. `open 2`)")] == [True] * 3
    assert (about_it.is_aside, "öffnen" in str(about_it.blocks)) == (True, False)


def test_what_a_button_says_comes_back() -> None:
    press = LibraryPress("slack:C1:U1", 'open "1"', "abc")

    assert LibraryPress.read(press.value) == press
    assert [LibraryPress.read(value) for value in ("", "[]", "7", "job_1")] == [None] * 4


def test_slack_takes_the_modals_and_papers_of_any_title() -> None:
    """At most 100 papers of at most 75 characters."""
    papers = [replace(TIDES, id=f"2401.{number:05}v1", title=f"<!here> {number} {'x' * 200}") for number in range(300)]
    asked = AskedInForm("C1", "1.2", "slack:C1:U1", "https://hooks.slack.test/1", "tag")

    assert view_faults(ask_modal(asked)) == view_faults(wish_modal(asked)) == []
    assert AskedInForm.of(ask_modal(asked)) == asked
    assert options_faults({"options": paper_options(papers, "")}) == []
    assert len(paper_options(papers, "")) == 100
    assert [option["value"] for option in paper_options(papers, "00299V1")] == ["2401.00299v1"]


@pytest.mark.parametrize("name", ["add", *COMMANDS])
def test_every_command_can_be_said_by_the_modal(name: str) -> None:
    """S000-50: with what it needs; what is missing stands beside a field."""
    fields = {"library_command": {"selected_option": {"value": name}}, "library_argument": {"value": "3"}}
    with_paper = fields | {"library_paper": {"selected_option": {"value": TIDES.id}}}
    takes_paper = name in COMMANDS and COMMANDS[name].takes_paper and name != "summarize"

    said, missing = said_in_modal(_sent(with_paper))
    _, wanted = said_in_modal(_sent({"library_command": fields["library_command"]}))

    assert (said, missing) == (f"{name} {TIDES.id} 3" if takes_paper else f"{name} 3", {})
    needs = name == "add" or bool(COMMANDS[name].argument and COMMANDS[name].needs_argument)
    assert bool(wanted) == needs


def _sent(fields: dict[str, object]) -> dict[str, object]:
    return {"callback_id": "library_ask", "state": {"values": {name: {name: value} for name, value in fields.items()}}}


async def test_the_loopback_refuses_what_slack_refuses() -> None:
    """A trigger is good for one view; a file needs its announced length and a thread's root."""
    async with SlackWorld.open() as slack, ClientSession() as session:
        client = web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")
        trigger, view = slack.state.new_trigger(), ask_modal(AskedInForm("C1"))
        root = slack.state.says(ADA, GENERAL, "root")
        reply = slack.state.says(BOT_USER, GENERAL, "reply", root.ts)
        given_ = await client.files_getUploadURLExternal(filename="a.png", length=3)
        await client.views_open(trigger_id=trigger, view=view)

        with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
            await client.views_open(trigger_id=trigger, view=view)
        with pytest.raises(SlackApiError, match="alt_txt_too_large"):
            await client.files_getUploadURLExternal(filename="a.png", length=3, alt_txt="x" * 1001)
        async with session.post(given_["upload_url"], data=b"four") as refused:
            assert refused.status == 400
        with pytest.raises(SlackApiError, match="file_not_found"):
            await client.files_completeUploadExternal(files=[{"id": given_["file_id"]}], channel_id=GENERAL)
        async with session.post(given_["upload_url"], data=b"abc") as taken:
            assert taken.status == 200
        with pytest.raises(SlackApiError, match="invalid_thread_ts"):
            await client.files_completeUploadExternal(
                files=[{"id": given_["file_id"]}], channel_id=GENERAL, thread_ts=reply.ts
            )
