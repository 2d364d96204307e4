"""One message to Slack as a value, and how work is shown in it: as a plan with its tasks, while it is done, and folded
above the answer, with the sentences that were checked.

A stream can only be added to. So `chunks` gives what is new since the last time, or says that something would have
to be taken back, which only an update can do. Pure; the rules for untrusted text are those of blocks.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from adapters.chat.fitting import fit, units
from adapters.chat.slack.blocks import (
    BLOCKS_LIMIT,
    SECTION_LIMIT,
    TEXT_LIMIT,
    Block,
    actions,
    context,
    escaped,
    markdown,
    markdown_block,
    plain,
    section,
)
from core.deep.state import Coverage
from core.deep.viewing import ChecklistCard
from core.evidence.citations import MARKS
from core.model.answer import JobResult, Verdict
from core.model.events import Json
from core.model.job import JobStatus
from core.model.source import Source
from core.pipeline.snapshot import Snapshot
from core.presentation import wording
from core.presentation.card import said_so_far, stage_states
from core.presentation.render import one_line

TASK_LIMIT = 256  # characters of a task's title, details and output (docs.slack.dev, chat.appendStream)
TITLE_ROOM = 200
TODAYS = frozenset({"plan", "markdown", "table", "context_actions"})
SHOWN_TASKS = 24  # a plan beyond that is not read; with their texts they stay far below what a message may hold
SHOWN_SENTENCES = 30
SENTENCE_ROOM = 3000
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
    """`output` is what came of it, not escaped, told once."""

    id: str
    title: str
    status: TaskStatus
    output: str = ""


@dataclass(frozen=True)
class Plan:
    """`sentences` are those that passed, not yet escaped, by id and in the order they passed; `rows` are small print
    and buttons.
    """

    title: str
    tasks: tuple[Task, ...]
    sentences: tuple[tuple[str, str], ...] = ()
    rows: tuple[Block, ...] = ()

    def takes_back(self, shown: Plan) -> bool:
        """Whether a sentence that is shown is gone or reads otherwise."""
        return self.sentences[: len(shown.sentences)] != shown.sentences

    @property
    def blocks(self) -> list[Block]:
        """All of it, for an update."""
        return [plan_block(self.title, self.tasks), *([markdown_block(self.text())] if self.sentences else []),
                *self.rows]  # fmt: skip

    def text(self, start: int = 0) -> str:
        """The sentences from `start` on, as Slack's Markdown: the first of all is the answer, in bold."""
        said = [sentence_text(text) for _, text in self.sentences[start:]]
        if said and not start:
            said[0] = f"**{said[0]}**"
        return " ".join(said)

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
        rows: list[Json] = [
            {**row, "block_id": f"{prefix}row-{number}"}
            for number, row in enumerate(self.rows)
            if row not in before.rows
        ]
        found += [{"type": "blocks", "blocks": rows}] if rows else []
        if added := self.text(len(before.sentences)):
            found.append({"type": "markdown_text", "text": f" {added}" if before.sentences else added})
        return found


def read_plan(snapshot: Snapshot, elapsed_s: float, rows: Sequence[Block]) -> Plan | None:
    """None while an earlier answer is shown that may have to be taken back (D12)."""
    if snapshot.earlier:
        return None
    title = f"{plain(snapshot.message, TITLE_ROOM) or '…'} · {wording.duration(elapsed_s)}"
    listed = [*_stage_tasks(snapshot), *_part_tasks(snapshot)]
    if snapshot.card:
        listed += _item_tasks(snapshot.card)
        rows = [context(plain(wording.HOW_TO_STEER, TITLE_ROOM)), *rows]
    return Plan(title, tuple(listed[:SHOWN_TASKS]), tuple(passed_sentences(snapshot)), tuple(rows))


def done_plan(result: JobResult, sources: Sequence[Source]) -> list[Block]:
    """What was done for an answer, folded into one line above it; nothing above one that was given before."""
    title = "" if result.cached_at else wording.work_done(result, len(sources))
    said = title.split(" · ")
    came = {
        "searched": " · ".join(f"“{query}”" for query in result.queries),
        "read": ", ".join(dict.fromkeys(one.metadata.domain or one.title for one in sources)),
        "checked": _verdicts(result),
    }
    tasks = [
        Task(name, part[:1].upper() + part[1:], "complete", text)
        for part in said
        for name, text in came.items()
        if part.casefold().startswith(name)
    ]
    return [plan_block(title, tasks)] if tasks else []


def plan_block(title: str, tasks: Sequence[Task]) -> Block:
    return {"type": "plan", "title": title, "tasks": [_task_card(task) for task in tasks]}


def passed_sentences(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The short answer's sentences with their marks, as far as the check has passed them and a message holds them."""
    shown: list[tuple[str, str]] = []
    room = ANSWER_ROOM
    for sentence_id, marked in said_so_far(snapshot, "summary-"):
        if snapshot.marks.get(sentence_id, "") not in _PASSED:
            continue
        room -= units(sentence_text(marked)) + len("****") + 1
        if room < 0 or len(shown) == SHOWN_SENTENCES:
            break
        shown.append((sentence_id, marked))
    return shown


def sentence_text(text: str) -> str:
    """As Slack's Markdown, without emphasis of its own, on one line."""
    return markdown(" ".join(text.replace("**", "").split()), SENTENCE_ROOM) or "…"


def _stage_tasks(snapshot: Snapshot) -> list[Task]:
    """Planning, searching, reading, writing: what is behind is complete, and says what came of it."""
    came = {JobStatus.PLANNING.value: _queries(snapshot), JobStatus.FETCHING.value: _read(snapshot)}
    return [
        Task(name, words, _OF_STAGE[state], came.get(name, "") if state == "done" else "")
        for name, words, state in stage_states(snapshot)
    ]


def _queries(snapshot: Snapshot) -> str:
    return " · ".join(f"“{query}”" for query in snapshot.queries)


def _read(snapshot: Snapshot) -> str:
    """`3 sources: nejm.org, who.int`."""
    if not snapshot.sources:
        return ""
    places = dict.fromkeys(line.partition(" – ")[0] for line in snapshot.sources)
    return f"{wording.counted(len(snapshot.sources), 'source')}: {', '.join(places)}"


def _part_tasks(snapshot: Snapshot) -> list[Task]:
    parts = snapshot.parts if len(snapshot.parts) > 1 else ()
    return [Task(f"part-{number}", _task_text(part) or "…", "in_progress") for number, part in enumerate(parts)]


def _item_tasks(card: ChecklistCard) -> list[Task]:
    """The checklist of a deep research, below a line that says how much of it is found."""
    head = [Task("items", _task_text(card.headline), "in_progress")] if _task_text(card.headline) else []
    items = [
        Task(f"item-{item.id}", _task_text(f"{item.id}. {item.description}") or "…", _OF_COVERAGE[item.coverage])
        for item in card.items
    ]
    return [*head, *items]


def _verdicts(result: JobResult) -> str:
    """`6 supported, 2 in part, 1 removed`."""
    claims, removed = (result.answer.claims, result.answer.removed) if result.answer else ((), ())
    counts = [
        (sum(one.verdict is verdict for one in claims), words) for verdict, words in wording.MARK_MEANINGS.items()
    ]
    return ", ".join(f"{number} {words}" for number, words in [*counts, (len(removed), "removed")] if number)


def _task_text(text: str) -> str:
    """Tasks are read as Markdown: escaped, and without what would make a link of it."""
    return plain(text.replace("](", "] ("), TASK_LIMIT)


def _task_chunk(task: Task, known: Task | None, prefix: str) -> Block:
    chunk: Block = {"type": "task_update", "id": f"{prefix}{task.id}", "title": task.title, "status": task.status}
    if task.output and not (known and known.output):  # Slack adds to what an output says already
        chunk["output"] = _task_text(task.output) or "…"
    return chunk


def _task_card(task: Task) -> Block:
    card: Block = {"type": "task_card", "task_id": task.id, "title": task.title, "status": task.status}
    if task.output:
        text: Json = [{"type": "text", "text": fit(one_line(task.output), TASK_LIMIT) or "…"}]  # literally
        card["output"] = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": text}]}
    return card


# One message to Slack as a value: its blocks, what is read aloud of it, and what goes with it


@dataclass(frozen=True)
class SlackUpload:
    """A file that goes with a message. `description` is what a screen reader says of a picture, "" for other files."""

    name: str
    content: bytes
    description: str = ""


@dataclass(frozen=True)
class SlackMessage:
    """`text` is what notifications and screen readers get; without it an update would drop the blocks.

    `threaded` goes into the message's thread, and so do its `files` and the files of what `is_answer`. `is_aside` says
    that it is for the asker alone and no answer. `plan` is what a stream shows instead, None where only an update can
    say it. `title` is what a session is called once the message ends it, "" for as it was.
    """

    text: str
    blocks: tuple[Block, ...]
    threaded: SlackMessage | None = None
    is_aside: bool = False
    is_answer: bool = False
    plan: Plan | None = None
    files: tuple[SlackUpload, ...] = ()
    title: str = ""

    @property
    def plainer(self) -> SlackMessage:
        """In blocks that Slack has always taken, for where it refuses those of today."""
        if not any(block["type"] in TODAYS for block in self.blocks):
            return self
        kept = [block for block in self.blocks if block["type"] not in TODAYS]
        said = section(re.sub(r"&[a-z]{0,3}$", "", self.text[:SECTION_LIMIT]))
        return replace(self, blocks=(said, *kept[: BLOCKS_LIMIT - 1]))

    def without(self, action_id: str) -> SlackMessage:
        """The same without a button, or without an entry of a menu."""
        kept: list[Block] = []
        for block in self.blocks:
            elements = block.get("elements")
            if block["type"] != "actions" or not isinstance(elements, list):
                kept.append(block)
                continue
            left = [_without(one, action_id) for one in elements if isinstance(one, dict)]
            kept += actions([one for one in left if one.get("action_id") != action_id and one.get("options") != []])
        return replace(self, blocks=tuple(kept))


def _without(element: Block, name: str) -> Block:
    options = element.get("options")
    if not isinstance(options, list):
        return element
    left = [one for one in options if isinstance(one, dict) and not str(one.get("value")).startswith(f"{name}:")]
    return {**element, "options": [*left]}


def message(text: str, blocks: Sequence[Block]) -> SlackMessage:
    """`text` is untrusted and becomes the fallback."""
    said = fit(text, TEXT_LIMIT, escaped).strip() or wording.SOMETHING_BROKE
    return SlackMessage(said, tuple(blocks[:BLOCKS_LIMIT]))


def sentence_message(sentence: str) -> SlackMessage:
    """One sentence of our own, without markup."""
    return message(sentence, [section(plain(sentence, SECTION_LIMIT))])
