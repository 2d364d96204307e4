"""Files of an answer in Slack: in the answer's thread once, whatever dies or fails in between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.chat.reply import FilesRefused
from adapters.chat.slack.blocks import SlackMessage, message, section
from adapters.chat.slack.client import OneWorkspace, Workspace, web_client
from adapters.chat.slack.reply import SlackAddress, SlackReply
from adapters.chat.watching import Upload
from core.model.answer import AnswerFile
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import ADA, BOT_TOKEN, GENERAL, SECRET
from tests.loopback.slack_world import SlackWorld

FILES = (
    AnswerFile("introduction.md", "text/markdown", "## Introduction\n\nSmå studies."),
    AnswerFile("introduction.bib", "application/x-bibtex", "@misc{a, title={A}}"),
)
ANSWER = SlackMessage("Research Complete", (section("Done"),), is_answer=True)


@asynccontextmanager
async def workspace() -> AsyncIterator[tuple[SlackWorld, Workspace]]:
    async with SlackWorld.open() as slack:
        yield slack, await OneWorkspace(web_client(BOT_TOKEN, api_url=f"{slack.url}/api/")).find("T1")


def shared(slack: SlackWorld, channel: str = GENERAL) -> list[tuple[str, list[str]]]:
    """The thread and the names of each message with files."""
    posted = slack.state.of_bot(channel)
    return [(one.thread_ts, [file["name"] for file in one.files]) for one in posted if one.files]


@pytest.mark.parametrize("channel", [GENERAL, SECRET], ids=["open", "private"])
async def test_files_stand_in_the_thread_of_their_answer(channel: str):
    """All by one message, byte for byte, and only when the answer stands."""
    async with workspace() as (slack, team):
        reply = SlackReply(team, SlackAddress("T1", ADA, "k", channel))
        await reply.edit(message("Searching", [section("Searching")]))

        await reply.take(FILES)
        seen_before = shared(slack, channel)
        await reply.edit(ANSWER)

        assert seen_before == []
        assert shared(slack, channel) == [(reply.at.ts, ["introduction.md", "introduction.bib"])]
        assert [content for _, content in slack.state.files.values()] == [file.content for file in FILES]


@pytest.mark.parametrize("died", ["before the upload was noted", "after the upload", "after sharing", "twice"])
async def test_restart_shares_the_files_once(died: str):
    """Whoever comes after goes on from the address that was kept last."""
    async with workspace() as (slack, team):
        first = SlackReply(team, SlackAddress("T1", ADA, "k", GENERAL))
        await first.edit(message("Searching", [section("Searching")]))
        kept = first.address
        await first.take(FILES)
        kept = kept if died == "before the upload was noted" else first.address
        if died in ("after sharing", "twice"):
            await first.edit(ANSWER)

        for _ in range(2 if died == "twice" else 1):
            second = SlackReply(team, SlackAddress.read(kept.data), is_doubtful=True)
            await second.take(FILES)
            await second.edit(ANSWER)

        assert len(shared(slack)) == 1
        assert len(slack.state.of_bot(GENERAL)) == 2


@pytest.mark.parametrize("fault", [Fault("lost"), Fault("broken"), Fault("down")], ids=lambda fault: fault.kind)
async def test_lost_reply_shares_nothing_twice(fault: Fault):
    async with workspace() as (slack, team):
        reply = SlackReply(team, SlackAddress("T1", ADA, "k", GENERAL))
        await reply.take(FILES)
        slack.api.faults["files.completeUploadExternal"] = fault

        await reply.edit(ANSWER)

        assert len(shared(slack)) == 1


async def test_refused_upload_is_said_so():
    """Without the permission, with too large a file, or with a storage that is away: the caller is told which."""
    async with workspace() as (slack, team):
        slack.state.scopes = {"chat:write", "files:read"}
        reply = SlackReply(team, SlackAddress("T1", ADA, "k", GENERAL))

        with pytest.raises(FilesRefused, match="missing_scope"):
            await reply.take(FILES)
        slack.state.scopes = set()
        slack.api.uploads.statuses = [500, 500]
        with pytest.raises(FilesRefused, match="status 500"):
            await reply.take(FILES)
        await reply.take(())
        await reply.edit(ANSWER)

        assert shared(slack) == []


async def test_refused_sharing_leaves_the_answer():
    """The answer stands already; it is edited once more to say where the files are."""
    async with workspace() as (slack, team):
        reply = SlackReply(team, SlackAddress("T1", ADA, "k", GENERAL))
        await reply.take(FILES)
        slack.api.faults["files.completeUploadExternal"] = Fault("posting_to_channel_denied", times=9)

        with pytest.raises(FilesRefused, match="posting_to_channel_denied"):
            await reply.edit(ANSWER)

        assert [one.text for one in slack.state.of_bot(GENERAL)] == ["Research Complete"]


@pytest.mark.parametrize(
    ("upload", "is_shown"),
    [
        pytest.param(Upload("page.png", b"\x89PNG", "Page 2 of Tides"), True, id="picture"),
        pytest.param(Upload("tides.md", b"# Tides"), False, id="file"),
    ],
)
async def test_what_slack_does_not_take_is_not_said_to_be_there(upload: Upload, is_shown: bool):
    """A page can be read without its picture; a file that was to be saved is all that its message was about."""
    async with workspace() as (slack, team):
        slack.state.scopes = {"chat:write", "files:read"}

        await SlackReply(team, SlackAddress("T1", ADA, "k", GENERAL)).edit(
            SlackMessage("Shown", (section("Shown"),), files=(upload,))
        )

        (told,) = slack.state.of_bot(GENERAL)
        assert ("Shown" in told.shown) is is_shown
        assert "Slack did not take the file" in told.shown
