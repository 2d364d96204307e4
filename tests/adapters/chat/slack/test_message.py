"""What is streamed into a Slack message: only what passed, nothing twice, and always what Slack takes."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adapters.chat.slack.blocks import Plan, actions, button, passed_sentences, read_plan, sentence_text
from adapters.chat.slack.poster import Mark
from core.deep.state import Coverage
from core.deep.viewing import CardItem, ChecklistCard
from core.model.job import JobStatus
from core.presentation.snapshot import Snapshot
from tests.golden.strategies import texts
from tests.loopback.slack_limits import message_faults, stream_faults

MARKS = ["✓", "◐", "↪", "?", "✗", ""]
_items = st.builds(CardItem, st.integers(1, 40).map(str), texts, st.sampled_from(Coverage))
_cards = st.builds(
    ChecklistCard,
    texts,
    st.lists(_items, max_size=30, unique_by=lambda item: item.id).map(tuple),
    st.integers(0, 5),
    st.just(5),
    st.integers(0, 99),
    texts,
)


@st.composite
def runs(draw: st.DrawFn) -> list[Snapshot]:
    """A job's snapshots in order: sentences are only added, all else may change."""
    told = draw(st.lists(st.tuples(texts, st.sampled_from(MARKS), st.sampled_from(["summary", "detail"])), max_size=50))
    ends = sorted(draw(st.lists(st.integers(0, len(told)), min_size=1, max_size=4)))
    found = []
    for end in ends:
        ids = [f"{section}-{place}" for place, (_, _, section) in enumerate(told[:end])]
        found.append(
            Snapshot(
                stage=draw(st.sampled_from(JobStatus)).value,
                message=draw(texts),
                queries=tuple(draw(st.lists(texts, max_size=3))),
                sources=tuple(draw(st.lists(texts, max_size=5))),
                sentences=dict(zip(ids, (text for text, _, _ in told[:end]), strict=True)),
                marks=dict(zip(ids, (mark for _, mark, _ in told[:end]), strict=True)),
                card=draw(st.none() | _cards),
                parts=tuple(draw(st.lists(texts, max_size=3))),
            )
        )
    return found


def plans_of(run: list[Snapshot]) -> list[Plan]:
    found = [read_plan(snapshot, 1.0, [{"type": "divider"}]) for snapshot in run]
    return [plan for plan in found if plan is not None]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(runs())
def test_whatever_is_streamed_slack_takes_it_and_it_pings_nobody(run: list[Snapshot]):
    """Every call is within the limits of chunks, all calls together within those of a message."""
    shown: Plan | None = None
    calls = []
    for plan in plans_of(run):
        calls.append(plan.chunks(shown, prefix="C1:1.1|answer|"))
        shown = plan

    chunks = [chunk for call in calls for chunk in call]
    blocks = [block for chunk in chunks if chunk["type"] == "blocks" for block in chunk["blocks"]]
    assert [stream_faults("chat.startStream", {"chunks": call}) for call in calls] == [[]] * len(calls)
    assert len(blocks) <= 50
    assert sum(len(chunk["text"]) for chunk in chunks if chunk["type"] == "markdown_text") <= 12_000
    assert not set("<>") & set(json.dumps(chunks, ensure_ascii=False).replace('"text": ">', ""))
    assert not re.search(r"\]\(", json.dumps([chunk for chunk in chunks if chunk["type"] == "task_update"]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@example([Snapshot(sentences={"summary-0": "0\n", "summary-1": "1"}, marks={"summary-0": "✓", "summary-1": "✓"})])
@given(runs())
def test_sentences_that_were_streamed_are_those_that_passed_each_once_and_in_order(run: list[Snapshot]):
    """The first line, which is the answer, in bold where it is prose; an update says the same."""
    plans = plans_of(run)
    streamed = ""
    for shown, plan in zip([None, *plans], plans, strict=False):
        assert shown is None or not plan.takes_back(shown)
        streamed += "".join(
            chunk["text"] for chunk in plan.chunks(shown, prefix="") if chunk["type"] == "markdown_text"
        )

    said = [sentence_text(text.strip()) for _, text in passed_sentences(run[-1])]
    line, *below = " ".join(said[:1]).split("\n", 1)
    is_bold = streamed.startswith("**")
    assert streamed == " ".join(["\n".join([f"**{line}**" if is_bold else line, *below]), *said[1:]])
    assert is_bold or not line[:1].isalpha()
    assert not is_bold or not re.match(r"#|[>|] ", line)
    assert [block["text"] for block in plans[-1].blocks if block["type"] == "markdown"] == ([streamed] if said else [])
    assert message_faults({"text": "x", "blocks": plans[-1].blocks}) == []
    assert all(run[-1].marks[name] in "✓◐↪" for name, _ in passed_sentences(run[-1]))
    assert all(name.startswith("summary-") for name, _ in passed_sentences(run[-1]))


def test_rows_of_a_table_are_streamed_as_a_list_below_its_head():
    """No bar and no rule is seen, also while the rows come one by one; the finished message draws the table."""
    pieces = {
        "summary-0": ("", "Two towers stood there [1]"),
        "summary-1": ("\n\n| Tower | Height |\n|---|:-:|\n", "| Smeaton | **22** m [1] |"),
        "summary-2": ("\n| […] | |\n", "| Douglass | 49 m, or a \\| b [2] |"),
    }
    runs = [
        Snapshot(
            sentences={name: said for name, (_, said) in [*pieces.items()][:end]},
            marks=dict.fromkeys(pieces, "✓"),
            leads={name: lead for name, (lead, _) in pieces.items()},
        )
        for end in (1, 2, 3)
    ]

    plans = plans_of(runs)

    assert [
        chunk["text"]
        for shown, plan in zip([None, *plans], plans, strict=False)
        for chunk in plan.chunks(shown, prefix="")
        if chunk["type"] == "markdown_text"
    ] == [
        "**Two towers stood there [1]✓**",
        "\n\nTower · Height\n- Smeaton · 22 m [1]✓",
        "\n- […]\n- Douglass · 49 m, or a | b [2]✓",
    ]


def test_checklist_of_a_deep_research_is_tasks_and_what_is_dropped_is_done():
    items = (
        CardItem("1", "Height", Coverage.SATISFIED),
        CardItem("2", "Light [x](https://evil.test)", Coverage.PARTIAL),
    )
    running = Snapshot(stage="searching", message="Round 1", card=ChecklistCard("q", items, 1, 5, 3, "1–3 minutes"))
    dropped = replace(running, card=ChecklistCard("q", items[:1], 2, 5, 3, "1–3 minutes"))
    before, after = plans_of([running, dropped])

    chunks = after.chunks(before, prefix="k|")

    assert [(task.title, task.status) for task in before.tasks[4:]] == [
        ("Round 1 of 5 · 1 of 2 items · 3 facts", "in_progress"),
        ("1. Height", "complete"),
        ("2. Light [x] (https://evil.test)", "in_progress"),
    ]
    assert {"type": "task_update", "id": "k|item-2", "title": before.tasks[6].title, "status": "complete"} in chunks


def test_output_of_a_task_is_told_once_since_slack_adds_to_it():
    """Two sources, then three: the task says what was known when it was complete."""
    two = Snapshot(stage="synthesizing", message="Writing", sources=("a.example – A", "b.example – B"))
    three = replace(two, sources=(*two.sources, "c.example – C"))
    before, after = plans_of([two, three])

    told = [chunk.get("output") for chunk in [*before.chunks(None, prefix=""), *after.chunks(before, prefix="")]]

    assert [output for output in told if output] == ["2 sources: a.example, b.example"]


@pytest.mark.parametrize("lost", ["task_id", "block_id"])
def test_a_stream_is_found_by_its_tasks_or_by_its_buttons(lost: str):
    """Whoever died before noting where it is: its successor ends it, also when Slack gives back only one kind of id."""
    mark, other = Mark("C1:1.5"), Mark("C1:1.6")
    snapshot = Snapshot(stage="searching", message="Searching")
    cancel = actions([button("cancel", "Cancel", "job_1")])
    plan = read_plan(snapshot, 1.0, cancel)
    chunks = plan.chunks(None, prefix=mark.task_prefix)
    tasks = [{"task_id": one["id"]} for one in chunks if one["type"] == "task_update"]
    rows = [block for one in chunks if one["type"] == "blocks" for block in one["blocks"]]  # type: ignore[union-attr]
    blocks = [{"type": "plan", "tasks": tasks}, *rows]

    kept = json.loads(re.sub(rf'"{lost}": "[^"]*"', '"gone": ""', json.dumps(blocks)))

    assert mark.is_of({"blocks": kept})
    assert not other.is_of({"blocks": kept})
    assert not mark.is_of({"blocks": [{"type": "section"}]})


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("🔄 Iteration 3/10", "🔄 Iteration 3/10 · 1.0 s"),
        ("“Neap” tides are read", "“Neap” tides are read · 1.0 s"),
        ("", "… · 1.0 s"),
    ],
)
def test_a_plans_title_is_what_is_done_in_its_own_words(message: str, title: str) -> None:
    """S002-13: with the sign that a mode gives it."""
    plan = read_plan(Snapshot(message=message), 1.0, [])

    assert plan.title == title
