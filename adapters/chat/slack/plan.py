"""What a stream shows while a question is researched: a plan with its tasks, and the sentences that passed the check.

A stream can only be added to. So `chunks` gives what is new since the last time, or says that something would have
to be taken back, which only an update can do. Pure; the rules for untrusted text are those of blocks.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.chat.fitting import fit, units
from adapters.chat.slack.blocks import SECTION_LIMIT, Block, escaped, plain, prose, section
from core.deep.state import Coverage
from core.deep.viewing import ChecklistCard
from core.evidence.citations import MARKS
from core.model.answer import Verdict
from core.model.events import Json
from core.model.job import JobStatus
from core.pipeline.snapshot import Snapshot
from core.presentation import wording
from core.presentation.card import said_so_far, stage_states

TASK_LIMIT = 256  # characters of a task's title, details and output (docs.slack.dev, chat.appendStream)
TITLE_ROOM = 200
SHOWN_TASKS = 24  # a plan beyond that is not read; with their texts they stay far below what a message may hold
SHOWN_SENTENCES = 30  # a stream takes 50 blocks; two are rows of buttons
ANSWER_ROOM = 10_000  # characters; a message holds 12,000

TaskStatus = Literal["pending", "in_progress", "complete"]

_OF_STAGE: Mapping[str, TaskStatus] = {"done": "complete", "active": "in_progress", "waiting": "pending"}
_PASSED = frozenset(MARKS[verdict] for verdict in (Verdict.SUPPORTED, Verdict.PARTIAL, Verdict.MOVED))
_OF_COVERAGE: Mapping[Coverage, TaskStatus] = {
    Coverage.SATISFIED: "complete",
    Coverage.PARTIAL: "in_progress",
    Coverage.UNSATISFIED: "pending",
}


@dataclass(frozen=True)
class Task:
    """`output` is what came of it, told once."""

    id: str
    title: str
    status: TaskStatus
    output: str = ""


@dataclass(frozen=True)
class Plan:
    """`sentences` are those that passed, not yet escaped, by id and in the order they passed; `rows` are buttons."""

    title: str
    tasks: tuple[Task, ...]
    sentences: tuple[tuple[str, str], ...] = ()
    rows: tuple[Block, ...] = ()

    def takes_back(self, shown: Plan) -> bool:
        """Whether a sentence that is shown is gone or reads otherwise."""
        return self.sentences[: len(shown.sentences)] != shown.sentences

    def chunks(self, shown: Plan | None, *, prefix: str) -> list[Block]:
        """What turns `shown`, None for nothing, into this plan; `prefix` goes before the ids of its tasks and rows."""
        before = shown or Plan("", ())
        known = {task.id: task for task in before.tasks}
        found: list[Block] = [{"type": "plan_update", "title": self.title}] if self.title != before.title else []
        found += [_task_chunk(task, known.get(task.id), prefix) for task in self.tasks if task != known.get(task.id)]
        found += [
            _task_chunk(Task(task.id, task.title, "complete"), task, prefix)
            for task in before.tasks
            if task.status != "complete" and task.id not in {one.id for one in self.tasks}
        ]
        added = [section(sentence_text(text)) for _, text in self.sentences[len(before.sentences) :]]
        rows = [
            {**row, "block_id": f"{prefix}row-{number}"}
            for number, row in enumerate(self.rows)
            if row not in before.rows
        ]
        blocks: list[Json] = [*rows, *added]
        if blocks:
            found.append({"type": "blocks", "blocks": blocks})
        return found


def read_plan(snapshot: Snapshot, elapsed_s: float, rows: Sequence[Block]) -> Plan | None:
    """None while an earlier answer is shown that may have to be taken back (D12)."""
    if snapshot.earlier:
        return None
    title = f"{plain(snapshot.message, TITLE_ROOM) or '…'} · {wording.duration(elapsed_s)}"
    listed = [*_stage_tasks(snapshot), *_part_tasks(snapshot), *(_item_tasks(snapshot.card) if snapshot.card else [])]
    return Plan(title, tuple(listed[:SHOWN_TASKS]), tuple(passed_sentences(snapshot)), tuple(rows))


def passed_sentences(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The short answer's sentences with their marks, as far as the check has passed them and a message holds them."""
    shown: list[tuple[str, str]] = []
    room = ANSWER_ROOM
    for sentence_id, marked in said_so_far(snapshot, "summary-"):
        if snapshot.marks.get(sentence_id, "") not in _PASSED:
            continue
        room -= units(sentence_text(marked))
        if room < 0 or len(shown) == SHOWN_SENTENCES:
            break
        shown.append((sentence_id, marked))
    return shown


def sentence_text(text: str) -> str:
    """As Slack's mrkdwn."""
    return fit(prose(text), SECTION_LIMIT, escaped).strip() or "…"


def _stage_tasks(snapshot: Snapshot) -> list[Task]:
    """Planning, searching, reading, writing: what is behind is complete, and says what came of it."""
    came = {JobStatus.PLANNING.value: _queries(snapshot), JobStatus.FETCHING.value: _read(snapshot)}
    return [
        Task(name, words, _OF_STAGE[state], came.get(name, "") if state == "done" else "")
        for name, words, state in stage_states(snapshot)
    ]


def _queries(snapshot: Snapshot) -> str:
    return _task_text(" · ".join(f"“{query}”" for query in snapshot.queries))


def _read(snapshot: Snapshot) -> str:
    """`3 sources: nejm.org, who.int`."""
    if not snapshot.sources:
        return ""
    places = dict.fromkeys(line.partition(" – ")[0] for line in snapshot.sources)
    return _task_text(f"{wording.counted(len(snapshot.sources), 'source')}: {', '.join(places)}")


def _part_tasks(snapshot: Snapshot) -> list[Task]:
    parts = snapshot.parts if len(snapshot.parts) > 1 else ()
    return [Task(f"part-{number}", _task_text(part) or "…", "in_progress") for number, part in enumerate(parts)]


def _item_tasks(card: ChecklistCard) -> list[Task]:
    """The checklist of a deep research."""
    return [
        Task(f"item-{item.id}", _task_text(f"{item.id}. {item.description}") or "…", _OF_COVERAGE[item.coverage])
        for item in card.items
    ]


def _task_text(text: str) -> str:
    """Tasks are read as Markdown: escaped, and without what would make a link of it."""
    return plain(text.replace("](", "] ("), TASK_LIMIT)


def _task_chunk(task: Task, known: Task | None, prefix: str) -> Block:
    chunk: Block = {"type": "task_update", "id": f"{prefix}{task.id}", "title": task.title, "status": task.status}
    if task.output and not (known and known.output):  # Slack adds to what an output says already
        chunk["output"] = task.output
    return chunk
