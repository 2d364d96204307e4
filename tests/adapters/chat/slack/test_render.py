"""Slack's blocks: what they say, and that Slack takes them whatever the answer is."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings

from adapters.chat.slack.blocks import plain
from adapters.chat.slack.buttons import feedback_modal, said_in_modal
from adapters.chat.slack.message import SlackMessage
from adapters.chat.slack.render import SlackVoice, all_sources_message, history_message, sources_message
from core.model.answer import Confidence, RemovedSentence
from core.model.job import Scope
from core.pipeline.snapshot import Snapshot
from core.presentation import wording
from tests.golden import samples
from tests.golden.compare import assert_golden
from tests.golden.strategies import outcomes, texts
from tests.loopback.slack_limits import message_faults, view_faults
from tests.shared_data import shared_data

VOICE = SlackVoice(samples.LINKS)
PAGE = f"https://gorkd.test/jobs/{samples.COMPLETED.id}"
LINK = re.compile(r"<(?P<address>https?://[^|<>]+)\|(?P<label>[^<>|]+)>")
FOUND = Snapshot(
    stage="fetching",
    message="Reading the sources",
    queries=("eddystone lighthouse height", "eddystone tower metres"),
    sources=("trinity.example – Eddystone Lighthouse", "towers.example – Four towers on one rock"),
)


def texts_of(message: SlackMessage) -> list[str]:
    """Every text that somebody may see."""
    found = [message.text]
    for block in message.blocks:
        parts = [part for part in [block.get("text"), *block.get("elements", [])] if isinstance(part, dict)]
        found += [part["text"] for part in parts if isinstance(part.get("text"), str)]
    return found


def shown(message: SlackMessage) -> str:
    return "\n".join(texts_of(message)[1:])


def buttons_of(message: SlackMessage) -> list[str]:
    rows = [block["elements"] for block in message.blocks if block["type"] == "actions"]
    return [button["action_id"] for row in rows for button in row]


def assert_accepted(message: SlackMessage) -> None:
    """Slack takes it, its fallback is short enough to be shown whole, and no text is made into links by Slack."""
    assert message_faults({"text": message.text, "blocks": list(message.blocks)}) == []
    assert len(message.text) <= 4000
    for block in message.blocks:
        for part in [block.get("text"), *block.get("elements", [])]:
            assert not part or part["type"] != "mrkdwn" or part["verbatim"] is True


def assert_harmless(message: SlackMessage) -> None:
    """No `<…>` but links whose label is the address's own host; no half entity."""
    for text in texts_of(message):
        for link in LINK.finditer(text):
            host = urlsplit(link["address"]).hostname or ""
            assert link["label"] == host.removeprefix("www.")
        assert not set("<>") & set(LINK.sub("", text.replace("\n> ", "\n")))
        assert not re.search(r"&(?!(?:amp|lt|gt);)", text)


def test_answer_has_every_part():
    """S003-21, G-03: header, question, answer with marks, confidence with reasons, citations, limits, footer."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    for part in [
        "📊 Research Complete",
        f"*Question*: {samples.QUESTION}",
        "*Answer*: The Eddystone lighthouse is 49 metres tall [1]✓[2]◐.",
        "*Confidence*: Medium (3 corroborating sources)\n3 independent sources, 2 of 3 claims supported, 1 conflict",
        "*Citations*: [1]✓ <https://trinity.example/eddystone|trinity.example>",
        "*Limitations*: newest source is from May 2024",
        "*Sources disagree on*: height of the tower",
        "12.3 s · 4 sources · $0.004",
    ]:
        assert part in shown(message)
    assert buttons_of(message) == ["view_full_analysis", "show_sources", "share", "ask_again", "improve"]
    assert [block["type"] for block in message.blocks][-2:] == ["context_actions", "context"]


def test_sources_are_a_threaded_message_of_their_own():
    """S003-21: threaded sources with title, true domain, date, relevance and quote."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES).threaded

    assert message is not None
    assert message.blocks[1]["text"]["text"] == (
        "*1.* <https://trinity.example/eddystone|trinity.example> - Eddystone Lighthouse\n"
        "1 May 2024 · relevance 80 %\n"
        "> It is 49 metres tall and built of granite blocks."
    )
    assert len(message.blocks) == 4
    assert sources_message(samples.SOURCES, samples.INSUFFICIENT_RESULT.answer) is None


def test_a_source_that_only_contradicts_is_quoted_too():
    """What it says otherwise stands below it in the thread."""
    citations = tuple(one for one in samples.ANSWER.citations if one.source_id != "src_3")
    message = sources_message(samples.SOURCES, replace(samples.ANSWER, citations=citations))

    assert message is not None
    assert message.blocks[-1]["text"]["text"].endswith("> Visitors often say the light is 51 metres high")


def test_progress_says_what_happens_and_can_be_cancelled():
    """G-03: stage, queries, sources, elapsed time, place in the queue, Cancel."""
    running = VOICE.progress(samples.RUNNING, FOUND, 4.2)
    waiting = VOICE.progress(samples.PENDING, Snapshot(message=wording.queue_message(3), position=3), 0.1)

    for part in [
        "Reading the sources",
        "“eddystone tower metres”",
        "towers.example – Four towers",
        "4.2 s · 2 sources",
    ]:
        assert part in shown(running)
    assert buttons_of(running) == ["cancel"]
    assert "*3 questions are ahead of yours*" in shown(waiting)


def test_a_modes_own_progress_words_are_shown_as_they_are():
    """S002-13, S000-36: a line that begins with its own sign gets no other."""
    message = VOICE.progress(samples.RUNNING, Snapshot(message="📚 Stage 2: Gathering detailed evidence"), 9.0)

    assert message.blocks[0]["text"]["text"].startswith("*📚 Stage 2: Gathering")


def test_endings_are_told_apart():
    """D11, D14, G-03: insufficient says what was searched; failed offers Retry and shows what was found."""
    failed = VOICE.outcome(samples.FAILED, None, samples.SOURCES[:2])
    insufficient = VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])
    cancelled = VOICE.outcome(samples.CANCELLED, None, [])

    assert failed.text == "Research Failed: The language model did not answer; please retry."
    assert buttons_of(failed)[0] == "retry"
    assert "*Found so far*: trinity.example, towers.example" in shown(failed)
    assert "🔎 Not Enough Sources" in shown(insufficient)
    assert "*Searched*: “eddystone” with files" in shown(insufficient)
    assert buttons_of(insufficient)[-4:] == ["view_full_analysis", "share", "ask_again", "improve"]
    assert "Research Cancelled" in cancelled.text


def test_deep_research_is_proposed_below_an_unsure_answer():
    """D9: what the app proposes waits for Start."""
    unsure = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence=Confidence.LOW))

    proposed = VOICE.outcome(samples.COMPLETED, unsure, samples.SOURCES)
    shared = VOICE.shared(samples.COMPLETED, unsure, samples.SOURCES, "U7")

    assert wording.OFFER_DEEP in shown(proposed)
    assert {"start_deep", "not_now"} <= set(buttons_of(proposed))
    assert wording.OFFER_DEEP not in shown(shared)
    assert "start_deep" not in buttons_of(VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES))


def test_nothing_is_shared_from_direct_messages():
    """Nobody else is there."""
    own = replace(samples.COMPLETED.request, scope=Scope("slack:T1", "user:U7"))
    message = VOICE.outcome(replace(samples.COMPLETED, request=own), samples.RESULT, samples.SOURCES)

    assert "share" not in buttons_of(message)
    assert "share" not in buttons_of(VOICE.outcome(samples.COMPLETED, samples.RESULT, []).without("share"))


def test_shared_answer_has_no_buttons_of_its_askers():
    """G-03: it says who shared it, and leads to the page."""
    message = VOICE.shared(samples.COMPLETED, samples.RESULT, samples.SOURCES, "U7")

    assert buttons_of(message) == ["view_full_analysis"]
    assert "Shared by <@U7>" in shown(message)
    assert message_faults({"text": message.text, "blocks": list(message.blocks)}) == []


@settings(max_examples=60)
@given(outcomes())
def test_any_outcome_is_accepted_and_harmless(outcome):
    """Whatever the answer, Slack accepts the blocks, and they mention nobody and hide no link."""
    _, result, sources = outcome
    answer = result.answer if result else None
    whole = VOICE.outcome(*outcome)

    for message in filter(None, [whole, whole.threaded, all_sources_message(sources, answer), whole.without("share")]):
        assert_accepted(message)
        assert_harmless(message)


@given(texts)
def test_any_refusal_progress_and_history_is_accepted(text: str):
    snapshot = Snapshot(message=text or "x", sources=(text,) * 9, queries=(text,) * 5)
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, query=text))

    for message in (VOICE.refusal(text), VOICE.progress(samples.RUNNING, snapshot, 3.0)):
        assert_accepted(message)
        assert_harmless(message)
    assert_accepted(history_message([job] * 30, samples.LINKS))


def test_known_mention_and_link_tricks_stay_text():
    """The collected samples in question, answer, title and limitation."""
    lines = shared_data("hostile_sample", "mention_link_cases.jsonl").read_text("utf-8").splitlines()
    payloads = [json.loads(line)["payload"] for line in lines]

    for payload in payloads:
        job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, query=payload))
        answer = replace(
            samples.ANSWER, summary=payload, limitations=(payload,), removed=(RemovedSentence(payload, ""),)
        )
        sources = [samples.source(1, url=payload, title=payload, domain="a.test")]
        whole = VOICE.outcome(job, replace(samples.RESULT, answer=answer), sources)
        for message in (whole, whole.threaded):
            assert message is not None
            assert_accepted(message)
            assert_harmless(message)
    assert len(payloads) > 0


def test_escaping_is_slacks_own():
    assert plain("<!channel> & &lt;@U1&gt;", 100) == "&lt;!channel&gt; &amp; &amp;lt;@U1&amp;gt;"


def test_markdown_of_a_model_becomes_slacks():
    answer = replace(samples.ANSWER, summary="## Height\n**49 metres** tall [1].", claims=())

    message = VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES)

    assert "*Answer*: Height\n*49 metres* tall [1]." in shown(message)


def test_modal_asks_and_gives_back():
    """👎 opens "What went wrong?"."""
    modal = feedback_modal("job_1")
    sent = {**modal, "state": {"values": {"reason": {"reason": {"type": "plain_text_input", "value": "Wrong year."}}}}}

    assert view_faults(modal) == []
    assert modal["title"]["text"] == "What went wrong?"
    assert said_in_modal(sent) == ("job_1", "Wrong year.")
    assert said_in_modal({**modal, "state": {"values": {"reason": {"reason": {"value": None}}}}}) == ("job_1", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("slack_complete.json", VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)),
        ("slack_progress.json", VOICE.progress(samples.RUNNING, FOUND, 4.2)),
        ("slack_insufficient.json", VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])),
        ("slack_failed.json", VOICE.outcome(samples.FAILED, None, samples.SOURCES)),
    ],
    ids=["complete", "progress", "insufficient", "failed"],
)
def test_golden_blocks(name: str, message: SlackMessage):
    kept = {key: value for key, value in asdict(message).items() if value not in (None, False, ())}

    assert_golden(name, json.dumps(kept, ensure_ascii=False, indent=2, sort_keys=True) + "\n")
