"""What Slack's payloads say: the question, its options, its files, and the scope it was asked in."""

from __future__ import annotations

import pytest

from adapters.chat.slack.settings import SlackSettings
from adapters.chat.slack.translate import (
    SlackPlace,
    is_from_a_person,
    is_open_channel,
    question_of,
    read_options,
    said_in,
    text_of_message,
)
from core.model.errors import InvalidQuery, SetupError
from core.model.job import ResearchRequest, Scope

HERE, OWN = Scope("slack:T1", "channel:C2"), Scope("slack:T1", "user:U7")


@pytest.mark.parametrize(
    ("place", "scope"),
    [
        pytest.param(SlackPlace("T1", "C2", "U7", is_open=True), Scope("slack:T1", "workspace"), id="open channel"),
        pytest.param(SlackPlace("T1", "C2", "U7"), Scope("slack:T1", "channel:C2"), id="unknown or closed channel"),
        pytest.param(SlackPlace("T1", "D2", "U7"), Scope("slack:T1", "user:U7"), id="direct message"),
        pytest.param(SlackPlace("T1", "D2", "U7", is_open=True), Scope("slack:T1", "user:U7"), id="never open"),
    ],
)
def test_scope_of_a_place(place: SlackPlace, scope: Scope):
    """Nothing private leaks: unknown means the channel."""
    assert place.scope == scope


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"is_channel": True, "is_private": False}, True),
        ({"is_channel": True, "is_private": True}, False),
        ({"is_channel": True, "is_ext_shared": True}, False),
        ({"is_channel": True, "is_shared": True}, False),
        ({"is_group": True}, False),
        ({"is_im": True}, False),
        ({}, False),
    ],
    ids=["public", "private", "connect", "shared", "group", "im", "nothing"],
)
def test_open_means_the_whole_workspace_and_nobody_else(described: dict[str, object], expected: bool):
    assert is_open_channel(described) is expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("<@UBOT> How tall?", "How tall?"),
        ("<@UBOT|gorkd> How tall?", "How tall?"),
        ("Is <https://a.test/x|a.test/x> right &amp; true?", "Is https://a.test/x right & true?"),
        ("<@UBOT>", ""),
    ],
)
def test_question_is_what_the_person_typed(text: str, question: str):
    assert question_of(text, "UBOT") == question


def test_options_may_stand_anywhere():
    """`/research mode:deep …`; a question without options stays as it was typed."""
    request = read_options("mode:quick How tall is it? depth:deep top_k:8 fresh:yes private:yes", HERE, OWN)

    assert request == ResearchRequest("How tall is it?", OWN, ("quick",), "deep", 8, is_private=True, is_fresh=True)
    assert read_options("Is 16:9 better?\nOr 4:3?", HERE, OWN) == ResearchRequest("Is 16:9 better?\nOr 4:3?", HERE)


@pytest.mark.parametrize("text", ["top_k:0 x", "top_k:21 x", "top_k:many x"])
def test_option_out_of_range_is_refused(text: str):
    with pytest.raises(InvalidQuery, match="1 to 20"):
        read_options(text, HERE, OWN)


def test_files_come_with_what_is_said():
    described = {"id": "F1", "name": "a.pdf", "mimetype": "application/pdf", "size": 9, "url_private_download": "u"}
    said = said_in({"channel": "C2", "user": "U7", "ts": "1.2", "text": "<@UBOT> x", "files": [described]}, "UBOT")

    assert (said.text, said.raw, said.thread_ts) == ("x", "<@UBOT> x", "")
    assert [(file.id, file.name, file.media_type, file.size, file.url) for file in said.files] == [
        ("F1", "a.pdf", "application/pdf", 9, "u")
    ]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"user": "U7"}, True),
        ({"user": "U7", "subtype": "file_share"}, True),
        ({"user": "U7", "bot_id": "B2"}, False),
        ({"user": "U7", "subtype": "message_changed"}, False),
        ({}, False),
    ],
    ids=["said", "with a file", "another bot", "an edit", "nobody"],
)
def test_only_people_ask(event: dict[str, object], expected: bool):
    assert is_from_a_person(event) is expected


def test_message_of_a_shortcut_may_stand_in_an_attachment():
    assert text_of_message({"text": "The <https://a.test|moon> is far."}) == "The https://a.test is far."
    assert text_of_message({"text": "", "attachments": [{"text": "Forwarded."}, {"fallback": "Also."}]}) == (
        "Forwarded.\nAlso."
    )


def test_settings_name_what_is_missing_and_hide_what_is_secret():
    complete = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1"}

    assert "xoxb-1" not in repr(SlackSettings.from_env(complete))
    assert SlackSettings.from_env(complete).is_socket_mode
    assert not SlackSettings.from_env({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s"}).is_socket_mode
    for wrong, named in [
        ({"SLACK_APP_TOKEN": "xapp-1"}, "SLACK_BOT_TOKEN"),
        (complete | {"SLACK_APP_TOKEN": "xoxb-2"}, "SLACK_APP_TOKEN"),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_SIGNING_SECRET"),
    ]:
        with pytest.raises(SetupError, match=named):
            SlackSettings.from_env(wrong)


def test_several_modes_are_named_one_after_the_other() -> None:
    request = read_options("mode:idea How can moss stop noise? mode:implementation", HERE, OWN)

    assert (request.query, request.modes) == ("How can moss stop noise?", ("idea", "implementation"))
