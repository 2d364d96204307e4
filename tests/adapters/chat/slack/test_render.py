"""Slack's blocks: what they say, and that Slack takes them whatever the answer is."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings

from adapters.chat.slack.blocks import SlackMessage, plain, sentence_text
from adapters.chat.slack.buttons import feedback_modal, said_in_modal
from adapters.chat.slack.render import SlackVoice, sources_message
from adapters.chat.watching import WatchSaid
from core.model.answer import Confidence, RemovedSentence
from core.model.job import Scope
from core.presentation import wording
from core.presentation.snapshot import Snapshot
from core.text.saying import LANGUAGES
from tests.golden import samples
from tests.golden.compare import assert_golden
from tests.golden.strategies import outcomes, texts
from tests.loopback.slack_limits import message_faults, view_faults
from tests.loopback.slack_state import Message, read_markdown
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
    """Every text that Slack reads as markup."""
    found = [message.text]
    for block in message.blocks:
        parts = [part for part in [block.get("text"), *block.get("elements", [])] if isinstance(part, dict)]
        found += [part["text"] for part in parts if isinstance(part.get("text"), str)]
        found += [block["text"]] if block["type"] == "markdown" else []
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_done_is_folded_above_the_answer_in_every_language(language: str) -> None:
    """Its rows were found by their English words."""
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, language=language))

    shown = VOICE.outcome(job, samples.RESULT, samples.SOURCES)

    assert message_faults({"text": shown.text, "blocks": [*shown.blocks]}) == []
    assert [task["task_id"] for task in shown.blocks[0]["tasks"]] == ["searched", "read", "checked"]


def shown(message: SlackMessage) -> str:
    """What people read."""
    return Message("", "", "", "", [dict(block) for block in message.blocks]).shown


def buttons_of(message: SlackMessage) -> list[str]:
    """The rows' buttons, and after them what is in their menus."""
    rows = [block["elements"] for block in message.blocks if block["type"] == "actions"]
    found = [button for row in rows for button in row]
    options = [option["value"].partition(":")[0] for one in found for option in one.get("options", [])]
    return [*(button["action_id"] for button in found if button["type"] == "button"), *options]


@pytest.mark.parametrize(("may_offer", "label"), [(True, "Start"), (False, "Go Deeper")])
def test_deep_research_that_is_offered_is_started_by_the_word_that_asks(may_offer: bool, label: str) -> None:
    """D9: "Start it?" stands beside Start."""
    vague = replace(samples.ANSWER, confidence=Confidence.LOW)

    shown_there = VOICE.outcome(
        samples.COMPLETED, replace(samples.RESULT, answer=vague), samples.SOURCES, may_offer=may_offer
    )

    rows = [one for block in of_kind(shown_there, "actions") for one in block["elements"]]
    (deeper,) = [one for one in rows if one["action_id"] == "start_deep"]
    assert deeper["text"]["text"] == label
    assert ("Start it?" in shown(shown_there)) == may_offer


def of_kind(message: SlackMessage, kind: str) -> list[dict[str, Any]]:
    return [dict(block) for block in message.blocks if block["type"] == kind]


def answered(summary: str, detail: str = "") -> SlackMessage:
    answer = replace(samples.ANSWER, summary=summary, detail=detail, claims=())
    return VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES)


def assert_accepted(message: SlackMessage) -> None:
    """Slack takes it, its fallback is short enough to be shown whole, and no text is made into links by Slack."""
    assert message_faults({"text": message.text, "blocks": list(message.blocks)}) == []
    assert len(message.text) <= 4000
    for block in message.blocks:
        for part in [block.get("text"), *block.get("elements", [])]:
            assert not isinstance(part, dict) or part["type"] != "mrkdwn" or part["verbatim"] is True


def assert_harmless(message: SlackMessage) -> None:
    """No link but numbers to the answer's own page, hosts to themselves, and titles with their host behind them."""
    for text in texts_of(message):
        for link in LINK.finditer(text):
            host = (urlsplit(link["address"]).hostname or "").removeprefix("www.")
            is_own = re.fullmatch(r"\[\d+\]", link["label"]) and link["address"].startswith(
                "https://gorkd.test/jobs/job_"
            )
            assert is_own or link["label"] == host or text[link.end() :].startswith(f" · {host}")
        assert not set("<>") & set(re.sub(r"^>+", "", LINK.sub("", text), flags=re.MULTILINE).replace("\n>", "\n"))
        assert not re.search(r"&(?!(?:amp|lt|gt);)", text)
    for block in of_kind(message, "markdown"):
        links = re.findall(r"\]\(([^)]*)\)", block["text"])
        assert [link for link in links if not link.startswith("https://gorkd.test/jobs/job_")] == []


def test_answer_has_every_part():
    """S003-21, G-03, D22: what was done, question, answer, how sure and why, one row, what may be asked next."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    for part in [
        "Searched 2 queries · read 4 pages · checked 4 sentences",
        f"*Question*: {samples.QUESTION}",
        "The Eddystone lighthouse is 49 metres tall [1]✓[2]◐.",
        "*Confidence*: Medium: 3 independent sources. Sources disagree on height of the tower: 49 metres",
        "*Limitations*: newest source is from May 2024",
        "12.3 s · 4 sources · $0.004",
    ]:
        assert part in shown(message)
    assert [block["type"] for block in message.blocks] == [
        "plan", "context", "markdown", "section", "actions", "context_actions", "actions", "context",
    ]  # fmt: skip
    assert buttons_of(message) == [
        "show_sources", "start_deep", "follow_up_1", "follow_up_2", "follow_up_3",
        "ask_again", "improve", "watch", "share", "view_full_analysis",
    ]  # fmt: skip


def test_the_first_sentence_is_bold_and_its_numbers_lead_to_the_passages():
    """Each number opens the source where it says so."""
    answer = replace(samples.ANSWER, summary=f"{samples.ANSWER.summary} It is the fourth, e.g. after Smeaton's [2].")
    message = VOICE.outcome(samples.COMPLETED, replace(samples.RESULT, answer=answer), samples.SOURCES)

    (said,) = [block["text"] for block in of_kind(message, "markdown")]

    first, second = (f"{PAGE}/sources/{number}?claim=summary-0#passage" for number in (1, 2))
    assert said == (
        f"**The Eddystone lighthouse is 49 metres tall [[1]]({first})✓[[2]]({second})◐.** "
        f"It is the fourth, e.g. after Smeaton's [[2]]({PAGE}/sources/2)."
    )


def test_the_sides_of_a_conflict_lead_to_what_they_say():
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    assert f"49 metres <{PAGE}/sources/1?claim=conflict-0-0#passage|[1]> against 51 metres" in shown(message)
    assert f"<{PAGE}/sources/3?claim=conflict-0-1#passage|[3]>" in shown(message)


COMPARED = "| Tower | Height |\n|---|:-:|\n| **Smeaton's** | 18 m [2] |\n| Douglass's | 49 m |"


@pytest.mark.parametrize("where", ["summary", "detail"])
def test_a_comparison_is_a_table(where: str):
    """The first one as Slack's own table, wherever the answer has it; Slack takes no second."""
    text = f"Two towers differ [1].\n\n{COMPARED}\n\nBoth are of granite.\n\n{COMPARED}"
    message = answered(text) if where == "summary" else answered("Two towers differ [1].", text)

    (drawn,) = of_kind(message, "table")

    assert [[cell["text"] for cell in row] for row in drawn["rows"]] == [
        ["Tower", "Height"], ["Smeaton's", "18 m [2]"], ["Douglass's", "49 m"],
    ]  # fmt: skip
    assert len(of_kind(message, "rich_text")) == (1 if where == "summary" else 0)
    assert_accepted(message)


def test_cells_stay_below_their_heads():
    """An empty first cell is one, and a bar may stand in a cell."""
    message = answered("Two towers differ [1].\n\n||A|B|\n|---|---|---|\n|price|1 \\| 2|3|\n|`2**8|1`|*256*|3*4|")

    (drawn,) = of_kind(message, "table")

    rows = [[" ", "A", "B"], ["price", "1 | 2", "3"], ["2**8|1", "256", "3*4"]]
    assert [[cell["text"] for cell in row] for row in drawn["rows"]] == rows


def test_code_in_the_first_sentence_keeps_its_stars():
    """What is bold in it is so no more, since all of it is."""
    (said,) = [block["text"] for block in of_kind(answered("**Pass** `**kwargs` on, and 2**8 is 256 [9]."), "markdown")]

    assert said == "**Pass `**kwargs` on, and 2**8 is 256 [9].**"
    assert sentence_text("**Pass** `**kwargs` on.") == "Pass `**kwargs` on."


def test_a_table_has_as_many_rows_as_slack_takes():
    """Its cells have at most 10,000 characters in all."""
    row = f"| {'x' * 200} | 1 |\n"
    message = answered(f"Two towers differ [1].\n\n| A | B |\n|---|---|\n{row * 60}")

    (drawn,) = of_kind(message, "table")

    assert 9_000 < sum(len(cell["text"]) for row in drawn["rows"] for cell in row) <= 10_000


@pytest.mark.parametrize(
    "text",
    ["See [nejm.org]\ue000(https://evil.example/x) now [1].", "- [nejm.org]: https://evil.example\n\nSee [nejm.org]."],
)
def test_a_label_leads_nowhere(text: str):
    """Neither by our own signs in a source's text nor by a definition of a link."""
    (block, *_) = of_kind(answered(text), "markdown")

    assert "[nejm.org](" not in block["text"]
    assert "[nejm.org]:" not in block["text"]


def test_lists_quotes_and_code_stay_what_they_are():
    message = answered("Built so [1]:\n\n- granite & iron\n- *dovetailed*\n\n> as a <tree>\n\n```sh\na < b | c\n```")

    assert [block["text"] for block in of_kind(message, "markdown")] == [
        f"**Built so [[1]]({PAGE}/sources/1):**\n\n- granite &amp; iron\n- *dovetailed*\n\n> as a &lt;tree&gt;"
    ]
    assert of_kind(message, "rich_text")[0]["elements"][0]["elements"][0]["text"] == "a < b | c"


@pytest.mark.parametrize(
    "trick",
    [
        "[here](https://evil.test)",
        "![x](https://evil.test/p.png)",
        "[a][b]\n\n[b]: https://evil.test",
        "[1](https://evil.test)",
    ],
)
def test_no_link_of_a_page_becomes_a_link_here(trick: str):
    message = answered(f"See {trick} now.")

    assert_harmless(message)
    assert "]: " not in shown(message)


def test_a_checklist_stays_with_what_became_of_each_item_and_a_cited_line():
    """S002-12: ✓, partly, not found."""
    coverage = {
        "satisfied": ["Height of the lighthouse"],
        "gaps": ["Helipad - partial coverage", "Keepers - no coverage"],
    }
    result = replace(samples.RESULT, details={"checklist_coverage": coverage})
    message = VOICE.outcome(samples.COMPLETED, result, samples.SOURCES)

    assert read_markdown(of_kind(message, "markdown")[1]["text"]).split("\n") == [
        "- ✓ Height of the lighthouse: The Eddystone lighthouse is 49 metres tall [1][2].",
        "- ◐ partly Helipad: A helipad was added in 1980 [3].",
        "- ○ not found Keepers",
    ]


def test_an_answer_of_before_has_done_nothing_anew():
    """D12: nothing was searched for it, so nothing says so."""
    earlier = replace(samples.RESULT, cached_at="2026-03-10T12:00:00Z", cached_question="How tall?")

    assert of_kind(VOICE.outcome(samples.COMPLETED, earlier, samples.SOURCES), "plan") == []


def test_questions_to_ask_next_are_for_answers_and_in_their_language():
    """D21: what no templates are known for gets none rather than English ones; what is no answer, nothing to ask on."""
    other = replace(samples.COMPLETED, intent=replace(samples.COMPLETED.intent, language="sv"))
    of_other = VOICE.outcome(other, samples.RESULT, samples.SOURCES)
    of_none = VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])
    asked = of_kind(VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES), "actions")[1]["elements"]

    assert [one["text"]["text"] for one in asked] == [
        "Why do the sources disagree on height of the tower?",
        "What speaks against this?",
        "What is still unknown about this?",
    ]
    assert [name for one in (of_other, of_none) for name in buttons_of(one) if name.startswith("follow_up")] == []


def test_sources_are_a_threaded_message_of_their_own():
    """S003-21, C-05: threaded sources, compact: number, title as a link beside its true domain, date, quote."""
    message = VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES).threaded

    assert message.blocks[1]["text"]["text"] == (
        "*[1]* <https://trinity.example/eddystone|Eddystone Lighthouse> · trinity.example · 1 May 2024\n"
        "> It is 49 metres tall and built of granite blocks."
    )
    assert len(message.blocks) == 4
    assert sources_message(samples.SOURCES, samples.INSUFFICIENT_RESULT.answer) is None


def test_a_source_that_only_contradicts_is_quoted_too():
    """What it says otherwise stands below it in the thread."""
    citations = tuple(one for one in samples.ANSWER.citations if one.source_id != "src_3")
    message = sources_message(samples.SOURCES, replace(samples.ANSWER, citations=citations))

    assert message.blocks[-1]["text"]["text"].endswith("> Visitors often say the light is 51 metres high")


def test_progress_says_what_happens_and_can_be_cancelled():
    """G-03: stage, queries, sources, elapsed time, place in the queue, Cancel."""
    running = VOICE.progress(samples.RUNNING, FOUND, 4.2)
    waiting = VOICE.progress(samples.PENDING, Snapshot(message=wording.queue_message(3), position=3), 0.1)

    tasks = of_kind(running, "plan")[0]["tasks"]

    assert shown(running).startswith("Reading the sources · 4.2 s")
    assert [(task["title"], task["status"]) for task in tasks][:3] == [
        ("Planning the search", "complete"), ("Searching", "complete"), ("Reading the sources", "in_progress"),
    ]  # fmt: skip
    assert "“eddystone tower metres”" in json.dumps(tasks[0], ensure_ascii=False)
    assert buttons_of(running) == ["cancel"]
    assert "3 questions are ahead of yours" in shown(waiting)


def test_a_modes_own_progress_words_are_shown_as_they_are():
    """S002-13, S000-36: a line that begins with its own sign gets no other."""
    message = VOICE.progress(samples.RUNNING, Snapshot(message="📚 Stage 2: Gathering detailed evidence"), 9.0)

    assert shown(message).startswith("📚 Stage 2: Gathering")


def test_endings_are_told_apart():
    """D11, D14, G-03: insufficient says what was searched; failed offers Retry and shows what was found."""
    failed = VOICE.outcome(samples.FAILED, None, samples.SOURCES[:2])
    insufficient = VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])
    cancelled = VOICE.outcome(samples.CANCELLED, None, [])

    assert failed.text == "Research Failed: The language model did not answer; please retry."
    assert buttons_of(failed)[0] == "retry"
    assert "*Found so far*: trinity.example, towers.example" in shown(failed)
    assert "🔎 Not Enough Sources" in shown(insufficient)
    assert "*Searched*: “eddystone” in the local files" in shown(insufficient)
    assert buttons_of(insufficient)[-4:] == ["ask_again", "improve", "share", "view_full_analysis"]
    assert "Research Cancelled" in cancelled.text


def test_deep_research_is_proposed_below_an_unsure_answer():
    """D9: what the app proposes waits for the button, which stands out then."""
    unsure = replace(samples.RESULT, answer=replace(samples.ANSWER, confidence=Confidence.LOW))

    proposed = VOICE.outcome(samples.COMPLETED, unsure, samples.SOURCES)
    shared = VOICE.shared(samples.COMPLETED, unsure, samples.SOURCES, "U7")

    assert wording.OFFERS_DEEP in shown(proposed)
    assert [one.get("style") for one in of_kind(proposed, "actions")[0]["elements"]] == [None, "primary", None]
    assert wording.OFFERS_DEEP not in shown(shared)
    assert wording.OFFERS_DEEP not in shown(VOICE.outcome(samples.COMPLETED, samples.RESULT, samples.SOURCES))


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

    for message in filter(
        None, [whole, whole.threaded, SlackVoice(samples.LINKS).sources(sources, answer), whole.without("share")]
    ):
        assert_accepted(message)
        assert_harmless(message)


@given(texts)
def test_any_refusal_progress_and_history_is_accepted(text: str):
    snapshot = Snapshot(message=text or "x", sources=(text,) * 9, queries=(text,) * 5)
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, query=text))

    for message in (VOICE.refusal(text), VOICE.progress(samples.RUNNING, snapshot, 3.0)):
        assert_accepted(message)
        assert_harmless(message)
    assert_accepted(SlackVoice(samples.LINKS).history([job] * 30))


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
        ("slack_german.json", VOICE.outcome(samples.GERMAN, samples.RESULT, samples.SOURCES)),
        ("slack_french.json", VOICE.outcome(samples.FRENCH, samples.RESULT, samples.SOURCES)),
        ("slack_progress.json", VOICE.progress(samples.RUNNING, FOUND, 4.2)),
        ("slack_insufficient.json", VOICE.outcome(samples.INSUFFICIENT, samples.INSUFFICIENT_RESULT, [])),
        ("slack_failed.json", VOICE.outcome(samples.FAILED, None, samples.SOURCES)),
    ],
    ids=["complete", "german", "french", "progress", "insufficient", "failed"],
)
def test_golden_blocks(name: str, message: SlackMessage):
    kept = {key: value for key, value in asdict(message).items() if value not in (None, False, (), "")}

    assert_golden(name, json.dumps(kept, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def test_what_is_said_of_watches_keeps_its_lines():
    """A list of several ran into one line."""
    shown = VOICE.watching(WatchSaid(("1. Tides", "2. Ebb <!here>", "Say `stop watching 1`.")))

    assert shown.blocks[0]["text"]["text"] == "1. Tides\n2. Ebb &lt;!here&gt;\nSay `stop watching 1`."
