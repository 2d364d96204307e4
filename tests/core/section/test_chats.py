"""A section asked for in Discord and in Slack: real processes, real papers, scripted model and hashing embedder."""

from __future__ import annotations

import re
from pathlib import Path

import bibtexparser
import pytest

from core.model.job import Scope
from tests.adapters.chat.slack.house import COMPLETE, slack_house
from tests.adapters.durable.outside import QUESTION, USUAL
from tests.adapters.durable.processes import Process
from tests.core.section.shelves import BRIEF, shelve_papers
from tests.loopback import discord_data
from tests.loopback.discord_house import discord_house
from tests.loopback.openai_responders import by_schema
from tests.loopback.section_responders import SECTION
from tests.loopback.slack_api import Fault
from tests.loopback.slack_state import ADA, GENERAL

CONTEXT = ("paper.yaml", "application/yaml", BRIEF.encode())
WRONG = ("paper.yaml", "application/yaml", b"concept:\n  descripton: Tides\n")
NAMES = ["introduction.md", "introduction.tex", "introduction.bib"]


def judge_files(files: dict[str, bytes]) -> None:
    """The keys of the prose are those of the bibliography, and LaTeX cites them."""
    keys = {entry.key for entry in bibtexparser.parse_string(files["introduction.bib"].decode()).entries}
    cited = set(re.findall(r"\\cite\{([^}]+)\}", files["introduction.tex"].decode()))
    assert len(keys) >= 2
    assert {key for group in cited for key in group.split(",")} == keys
    assert all(key in files["introduction.md"].decode() for key in keys)


@pytest.mark.slow  # the same way as in Slack, by the other platform
async def test_section_in_discord(tmp_path: Path) -> None:
    """S001-24: the command, or a file at a mention; the files come with the answer, else it says where they are."""
    async with discord_house(tmp_path, embedder=True) as house:
        house.world.model.respond = by_schema({**USUAL, **SECTION})
        await shelve_papers(house.env, Scope(f"discord:{discord_data.GUILD_ID}", "workspace"))

        wrong = await house.final(house.discord.slash("section", section="introduction", context=WRONG))
        without = await house.final(house.discord.slash("section", section="introduction"))
        asked = house.discord.slash("section", section="introduction", context=CONTEXT)
        answer = await house.final(asked, within_s=30)
        house.discord.files_limit, limit = 10, house.discord.files_limit
        mentioned = house.discord.say("@gorkd write the introduction", file=CONTEXT)
        refused = await house.final(mentioned, within_s=30)
        house.discord.files_limit = limit
        question = await house.final(house.discord.say(f"@gorkd {QUESTION}"))
        thread = house.discord.add_thread(question, "Purring")
        in_thread = await house.final(
            house.discord.slash("section", section="introduction", channel=thread), within_s=30
        )

        assert "there is no field concept.descripton" in wrong.text.replace("\\", "")
        assert "attach a YAML or JSON file" in without.text
        assert [file["filename"] for file in answer.attachments] == NAMES
        judge_files({name: house.discord.files[f"uploaded/{name}"] for name in NAMES})
        assert re.search(r"Introduction: \d+ words\. [2-4] papers cited: ", answer.text.replace("\\", ""))
        assert "introduction.md, introduction.tex, introduction.bib could not be attached" in refused.text
        assert refused.attachments == []
        assert "under Export" in refused.text
        assert [file["filename"] for file in in_thread.attachments] == NAMES


async def test_section_in_slack(tmp_path: Path) -> None:
    """S001-24: a modal with files that says which field is wrong; the files stand in the answer's thread, once.

    An order in a thread needs no file: what was answered there is its context.
    """
    async with slack_house(tmp_path, embedder=True) as house:
        slack = house.slack
        house.world.model.respond = by_schema({**USUAL, **SECTION})
        await shelve_papers(house.env, Scope("slack:T1", "workspace"))

        view = await slack.form(ADA, GENERAL, "introduction", command="/section")
        wrong = await slack.submits(ADA, view, filled(slack.attaches(*WRONG)))
        await slack.until(lambda: wrong.payload or house.whispers(ADA))
        view = await slack.form(ADA, GENERAL, "introduction", command="/section")
        taken = await slack.submits(ADA, view, filled(slack.attaches(*CONTEXT)))
        answer = await house.ended(GENERAL, within_s=30)
        await slack.until(lambda: [one for one in slack.state.of_bot(GENERAL, answer.ts) if one.files])
        user = house.person()
        channel = house.channel(user)
        asked = await slack.mentions(user, channel, QUESTION)
        await house.ended(channel)
        order = "write related work from this thread"
        await slack.mentions(user, channel, order, thread_ts=asked.ts)
        await house.ended(channel, times=2, within_s=30)
        await slack.until(lambda: [one for one in slack.state.of_bot(channel, asked.ts) if one.files])

        told = wrong.payload["errors"]["context"] if wrong.payload else house.whispers(ADA)[0]  # if it took long
        assert "there is no field concept.descripton" in told
        assert not taken.payload.get("errors")
        assert answer.text.startswith(COMPLETE)
        (shared,) = [one for one in slack.state.of_bot(GENERAL, answer.ts) if one.files]
        assert [file["name"] for file in shared.files] == NAMES
        judge_files({file["name"]: slack.state.files[file["id"]][1] for file in shared.files})
        (from_thread,) = [one for one in slack.state.of_bot(channel, asked.ts) if one.files]
        assert [file["name"] for file in from_thread.files] == NAMES
        judge_files({file["name"]: slack.state.files[file["id"]][1] for file in from_thread.files})


@pytest.mark.slow
async def test_slack_app_that_is_killed_after_the_upload_shares_the_files_once(tmp_path: Path) -> None:
    """The files are up and the answer is not: the next process shares those that are there, and uploads none."""
    async with slack_house(tmp_path, embedder=True) as house:
        slack, uploads = house.slack, house.slack.api.uploads
        house.world.model.respond = by_schema({**USUAL, **SECTION})
        await shelve_papers(house.env, Scope("slack:T1", "workspace"))
        uploads.gate.clear()
        form = await slack.form(ADA, GENERAL, command="/section")
        await slack.submits(ADA, form, filled(slack.attaches(*CONTEXT)))
        await slack.until(lambda: uploads.begun, within_s=30)
        slack.api.faults["chat.update"] = Fault("fatal_error", times=1000)
        edits = len(slack.api.calls)
        uploads.gate.set()
        await slack.until(lambda: any(call.method == "chat.update" for call in slack.api.calls[edits:]))
        uploaded = len(uploads.received)
        await house.process.killed()
        slack.api.faults.clear()

        process = await Process.start("all", house.env)
        answer = await house.ended(GENERAL, within_s=30)
        await slack.until(lambda: [one for one in slack.state.of_bot(GENERAL, answer.ts) if one.files])
        await process.killed()

        (shared,) = [one for one in slack.state.of_bot(GENERAL) if one.files]
        assert [file["name"] for file in shared.files] == NAMES
        assert uploaded == len(uploads.begun) == len(NAMES)


def filled(file: dict[str, object]) -> dict[str, object]:
    """What the modal holds when it is sent off."""
    chosen = {"type": "static_select", "selected_option": {"value": "introduction"}}
    return {
        "which": {"which": chosen},
        "context": {"context": {"type": "file_input", "files": [file]}},
        "experiment": {"experiment": {"type": "file_input", "files": []}},
    }
