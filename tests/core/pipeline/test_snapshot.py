"""How far a running job is, folded from its events."""

from __future__ import annotations

from core.model.job import Event, EventType, Json
from core.presentation.snapshot import Snapshot
from tests.golden.samples import NOON


def event(kind: EventType, *, attempt: int = 1, **said: Json) -> Event:
    return Event(1, kind, attempt, NOON, said)


def fold(*events: Event) -> Snapshot:
    snapshot = Snapshot()
    for one in events:
        snapshot = snapshot.after(one)
    return snapshot


def test_events_of_one_attempt_add_up():
    snapshot = fold(
        event("status", stage="searching", message="Searching\x1b[2J files", progress=0.2),
        event("source", domain="a.test", title="A"),
        event("source", domain="a.test", title="A"),
        event("source", url="https://b.test"),
        event("status", data={"queries": ["how tall", "tower height"]}),
        event("answer", id="summary-0", text="One.", mark="?"),
        event("answer", id="summary-1", text="Two."),
        event("answer", id="summary-0", text="Uno.", mark="✓"),
        event("answer", id="summary-1", text=None),
    )

    assert (snapshot.stage, snapshot.message, snapshot.progress) == ("searching", "Searching files", 0.2)
    assert snapshot.sources == ("a.test – A", "https://b.test")
    assert dict(snapshot.sentences) == {"summary-0": "Uno."}
    assert dict(snapshot.marks) == {"summary-0": "✓"}
    assert snapshot.queries == ("how tall", "tower height")


def test_newer_attempt_starts_over_and_older_one_is_ignored():
    """Readers drop events of older attempts once they have seen a newer one."""
    snapshot = fold(
        event("source", domain="a.test", title="A"),
        event("status", attempt=2, message="Planning"),
        event("source", domain="late.test", title="Late"),
    )

    assert (snapshot.attempt, snapshot.message, snapshot.sources) == (2, "Planning", ())


def test_a_place_in_the_queue_that_is_told_late_does_not_turn_back():
    """The front tells it while a worker may already have begun."""
    waiting = event("status", stage="pending", message="3 questions are ahead of yours")

    assert fold(waiting).message == "3 questions are ahead of yours"
    assert fold(event("status", stage="planning", message="Planning"), waiting).message == "Planning"


def test_final_event_changes_nothing_shown():
    before = fold(event("status", message="Searching"))

    assert before.after(event("complete", job_id="job_1")) == before
