"""Block Kit: the kinds of blocks the app uses, each within Slack's limits whatever text it is given, and one message
made of them. Pure.

The only place that knows those limits. Text from the web or a model is escaped, so that it forms no
mention and no link; every text object is `verbatim`, so that Slack makes none out of it either.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import regex

from adapters.chat.fitting import fit, true_link, unbolded, units
from adapters.chat.watching import Upload
from core.deep.state import Coverage
from core.deep.viewing import ChecklistCard
from core.evidence.citations import MARKS
from core.evidence.structure import RULE, cells
from core.model.answer import JobResult, Verdict
from core.model.job import JobStatus, Json
from core.model.source import Source
from core.presentation import wording
from core.presentation.card import said_so_far, stage_states
from core.presentation.help import Typed, help_entries, mode_entries
from core.presentation.render import one_line, printable
from core.presentation.snapshot import Snapshot
from core.text.saying import later, say

Block = dict[str, Json]

SECTION_LIMIT = 3000  # characters of a section's or context's text (docs.slack.dev, blocks)
CODE_LIMIT = 3000  # Slack publishes none for rich text; a section's is taken
HEADER_LIMIT = 150
LABEL_LIMIT = 75  # of a button
VALUE_LIMIT = 2000
URL_LIMIT = 3000
BLOCKS_LIMIT = 50  # of a message
TEXT_LIMIT = 4000  # of the fallback; Slack recommends no more
TITLE_LIMIT = 24  # of a modal
MARKDOWN_LIMIT = 12_000  # of all markdown blocks of a message
TABLE_ROWS, TABLE_COLUMNS = 100, 20  # of the one table that a message may have
TABLE_CHARS = 10_000  # of all cells of a message
CELL_LIMIT = 300  # a screen's width is shared by all columns
OPTION_LIMIT = 150  # of an option's value
OPTIONS_LIMIT = 5  # of an overflow menu
NAME_ROOM = 300
ADDRESS_ROOM = 600  # two of them and a quote fit into a section

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def plain(text: str, limit: int) -> str:
    """Untrusted text as Slack will show it literally, at most `limit` characters, on one line."""
    return fit(one_line(text), limit, escaped)


def escaped(text: str) -> str:
    """What Slack asks of all text that is not its own markup (docs.slack.dev, formatting)."""
    return "".join(_ENTITIES.get(char, char) for char in text)


def markdown(text: str, limit: int) -> str:
    """Markdown of a model as Slack will show it: emphasis, lists, headings and quotes, but no link of its own.

    Signs that would make a mention or an element are escaped, and what would make a link or an image is parted.
    """
    undefined = regex.sub(
        r"(?:(?<=^[ >]*\[[^\]\n]*)|(?<!\[\d{1,3}))\]:(?=\s*\S)", "] :", printable(text), flags=regex.MULTILINE
    )
    whole = fit(regex.sub(r"\](?=\(|\[(?!\d))", "] ", undefined), limit, escaped)
    return regex.sub(r"^(?:&gt; ?)+", lambda quoted: quoted[0].replace("&gt;", ">"), whole, flags=regex.MULTILINE)


def place_of(source: Source) -> str:
    """`<https://…|nejm.org>`: the label is the address's own host."""
    host, address = true_link(source.url)
    if host and len(address) <= ADDRESS_ROOM:
        return f"<{escaped(address)}|{host}>"
    return plain(source.metadata.domain or source.metadata.provider, NAME_ROOM) or "unknown place"


def header(text: str) -> Block:
    return {"type": "header", "text": label(text, HEADER_LIMIT)}


def section(text: str) -> Block:
    """`text` is mrkdwn that has been escaped and fitted."""
    return {"type": "section", "text": mrkdwn(text)}


def context(text: str) -> Block:
    """`text` is mrkdwn that has been escaped and fitted."""
    return {"type": "context", "elements": [mrkdwn(text)]}


def preformatted(code: str) -> Block:
    """Code as it stands: rich text takes its characters literally, so that nothing in it ends the block or pings."""
    text: Block = {"type": "text", "text": fit(code, CODE_LIMIT) or "…"}
    return {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [text]}]}


def divider() -> Block:
    return {"type": "divider"}


def markdown_block(text: str) -> Block:
    """`text` is Markdown that has been escaped and fitted."""
    return {"type": "markdown", "text": text}


def table(rows: Sequence[Sequence[str]]) -> Block:
    """Cells as they stand, the first row as the head; every row has as many as the first, of which Slack takes some."""
    width = min(len(rows[0]), TABLE_COLUMNS)
    cells: list[list[Block]] = [
        [{"type": "raw_text", "text": fit(one_line(cell), CELL_LIMIT) or " "} for cell in [*row, *[""] * width][:width]]
        for row in rows[:TABLE_ROWS]
    ]
    ends = accumulate(sum(units(str(cell["text"])) for cell in row) for row in cells)
    shown: list[Json] = [[*row] for row, end in zip(cells, ends, strict=True) if end <= TABLE_CHARS]
    settings: list[Json] = [{"is_wrapped": True}] * width
    return {"type": "table", "rows": shown, "column_settings": settings}


def overflow(action_id: str, options: Sequence[Block]) -> list[Block]:
    """The menu behind three dots; nothing where there is no option."""
    return [{"type": "overflow", "action_id": action_id, "options": [*options[:OPTIONS_LIMIT]]}] if options else []


def option(text: str, value: str, url: str = "") -> Block:
    """Of an overflow menu; with a `url` also a link."""
    made: Block = {"text": label(text, LABEL_LIMIT), "value": value[:OPTION_LIMIT]}
    return {**made, "url": url} if url else made


def tick(text: str, value: str, description: str) -> Block:
    """Of a group of checkboxes, of which a form takes ten."""
    return {"text": label(text, LABEL_LIMIT), "value": value, "description": label(description, LABEL_LIMIT)}


def is_linkable(url: str) -> bool:
    return url.startswith(("https://", "http://")) and len(url) <= URL_LIMIT


def actions(buttons: Sequence[Block]) -> list[Block]:
    """Nothing where there is no button: Slack refuses an empty row."""
    return [{"type": "actions", "elements": [*buttons]}] if buttons else []


def button(action_id: str, text: str, value: str, *, style: str = "") -> Block:
    made: Block = {"type": "button", "action_id": action_id, "text": label(text, LABEL_LIMIT)}
    made["value"] = value[:VALUE_LIMIT]
    if style:
        made["style"] = style
    return made


def link_button(action_id: str, text: str, url: str) -> list[Block]:
    """Nothing where the address is none that Slack takes."""
    if not is_linkable(url):
        return []
    return [{"type": "button", "action_id": action_id, "text": label(text, LABEL_LIMIT), "url": url}]


def modal(
    callback_id: str, title: str, blocks: Sequence[Block], *, submit: str, metadata: str = "", close: str = ""
) -> Block:
    """A form; `metadata` comes back with it. Without a `submit` it only shows something."""
    made: Block = {"type": "modal", "title": label(title, TITLE_LIMIT)}
    made["close"] = label(close or say(wording.CANCEL), TITLE_LIMIT)
    made["blocks"] = [*blocks]
    if submit:
        made |= {"callback_id": callback_id, "private_metadata": metadata, "submit": label(submit, TITLE_LIMIT)}
    return made


def entry(name: str, said: str, element: Block, *, is_optional: bool = False, hint: str = "") -> Block:
    """A field of a form, whose block and action have one name."""
    made: Block = {"type": "input", "block_id": name, "optional": is_optional, "label": label(said, 150)}
    return {**made, "element": {"action_id": name, **element}, **({"hint": label(hint, 300)} if hint else {})}


def text_input(limit: int, hint: str, *, is_long: bool = True) -> Block:
    made: Block = {"type": "plain_text_input", "max_length": limit, "placeholder": label(hint, 150)}
    return {**made, "multiline": True} if is_long else made


def thumbs(action_id: str, job_id: str) -> Block:
    """Slack's own pair of feedback buttons; the value says which was clicked."""

    def thumb(sign: str, name: str, said: str) -> Block:
        return {"text": label(sign, LABEL_LIMIT), "value": f"{name}:{job_id}", "accessibility_label": said}

    good, bad = thumb(wording.GOOD, "good", say("Good answer")), thumb(wording.BAD, "bad", say("Bad answer"))
    pair: Block = {"type": "feedback_buttons", "action_id": action_id, "positive_button": good, "negative_button": bad}
    return {"type": "context_actions", "elements": [pair]}


def label(text: str, limit: int) -> Block:
    """Plain text, which Slack shows as it is."""
    return {"type": "plain_text", "text": fit(one_line(text), limit) or "…", "emoji": True}


def mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


# How work is shown in a message: as a plan with its tasks, while it is done, and folded above the answer, with the
# sentences that were checked. A stream can only be added to. So `chunks` gives what is new since the last time, or says
# that something would have to be taken back, which only an update can do.


TASK_LIMIT = 256  # characters of a task's title, details and output (docs.slack.dev, chat.appendStream)
TITLE_ROOM = 200
TODAYS = frozenset({"plan", "markdown", "table", "context_actions"})
SHOWN_TASKS = 24  # a plan beyond that is not read; with their texts they stay far below what a message may hold
SHOWN_SENTENCES = 30
SENTENCE_ROOM = 3000
ANSWER_ROOM = 10_000  # characters; a message holds 12,000

NO_PROSE = re.compile(r"\s*(?:#|[-*+>|]\s|\d+[.)]\s|```)")  # what begins so is never put in bold
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
        said = "".join(sentence_text(text) for _, text in self.sentences[start:])
        first = sentence_text(self.sentences[0][1]).partition("\n")[0] if self.sentences else ""
        is_prose = first and not start and not NO_PROSE.match(first)
        return f"**{first}**{said[len(first) :]}" if is_prose else said

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
            found.append({"type": "markdown_text", "text": added})
        return found


def read_plan(snapshot: Snapshot, elapsed_s: float, rows: Sequence[Block]) -> Plan | None:
    """None while an earlier answer is shown that may have to be taken back (D12)."""
    if snapshot.earlier:
        return None
    title = f"{plain(snapshot.message, TITLE_ROOM) or '…'} · {wording.duration(elapsed_s)}"
    parts = snapshot.parts if len(snapshot.parts) > 1 else ()
    listed = _stage_tasks(snapshot)
    listed += [Task(f"part-{number}", _task_text(part) or "…", "in_progress") for number, part in enumerate(parts)]
    if snapshot.card:
        listed += _item_tasks(snapshot.card)
    if rows[1:]:  # there is more than to cancel
        rows = [context(plain(say(wording.HOW_TO_STEER), TITLE_ROOM)), *rows]
    return Plan(title, tuple(listed[:SHOWN_TASKS]), tuple(passed_sentences(snapshot)), tuple(rows))


def done_plan(result: JobResult, sources: Sequence[Source]) -> list[Block]:
    """What was done for an answer, folded into one line above it; nothing above one that was given before."""
    done = {} if result.cached_at else wording.work_done(result, len(sources))
    came = {
        "searched": _quoted(result.queries),
        "read": ", ".join(dict.fromkeys(one.metadata.domain or one.title for one in sources)),
        "checked": _verdicts(result),
    }
    tasks = [Task(name, said[:1].upper() + said[1:], "complete", came[name]) for name, said in done.items()]
    title = " · ".join(done.values())
    return [plan_block(title[:1].upper() + title[1:], tasks)] if tasks else []


def plan_block(title: str, tasks: Sequence[Task]) -> Block:
    return {"type": "plan", "title": title, "tasks": [_task_card(task) for task in tasks]}


def passed_sentences(snapshot: Snapshot) -> list[tuple[str, str]]:
    """The short answer's sentences with their marks, as far as the check has passed them and a message holds them."""
    shown: list[tuple[str, str]] = []
    room = ANSWER_ROOM
    for sentence_id, marked in said_so_far(snapshot, "summary-"):
        if snapshot.marks.get(sentence_id, "") not in _PASSED:
            continue
        said = marked if shown else marked.lstrip()
        room -= units(sentence_text(said)) + len("****") + 1
        if room < 0 or len(shown) == SHOWN_SENTENCES:
            break
        shown.append((sentence_id, said))
    return shown


def sentence_text(text: str) -> str:
    """As Slack's Markdown, without emphasis of its own, with the line breaks before it; a table is a list of its rows
    below its head, since a stream may not draw it.
    """
    body = text.lstrip()
    lines = [" ".join(line.split()) for line in listed_rows(unbolded(body)).split("\n")]
    return text[: len(text) - len(body)] + (markdown("\n".join(lines), SENTENCE_ROOM) or "…")


def listed_rows(text: str) -> str:
    """With each row of a Markdown table as an item, where its cells meet a dot; its head is a line of its own."""
    lines = text.split("\n")
    rules = {at for at, line in enumerate(lines) if line.startswith("|") and RULE.fullmatch(line)}
    return "\n".join(
        f"{'' if at + 1 in rules else '- '}{' · '.join(cells(line)).rstrip('· ')}" if line.startswith("|") else line
        for at, line in enumerate(lines)
        if at not in rules
    )


def _stage_tasks(snapshot: Snapshot) -> list[Task]:
    """Planning, searching, reading, writing: what is behind is complete, and says what came of it."""
    places = ", ".join(dict.fromkeys(line.partition(" – ")[0] for line in snapshot.sources))
    came = {
        JobStatus.PLANNING.value: _quoted(snapshot.queries),
        JobStatus.FETCHING.value: f"{wording.counted(len(snapshot.sources), 'source')}: {places}"
        if snapshot.sources
        else "",
    }
    return [
        Task(name, words, _OF_STAGE[state], came.get(name, "") if state == "done" else "")
        for name, words, state in stage_states(snapshot)
    ]


def _quoted(queries: Sequence[str]) -> str:
    return " · ".join(f"“{query}”" for query in queries)


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
        (sum(one.verdict is verdict for one in claims), say(words)) for verdict, words in wording.MARK_MEANINGS.items()
    ]
    return ", ".join(f"{number} {told}" for number, told in [*counts, (len(removed), say("removed"))] if number)


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
    files: tuple[Upload, ...] = ()
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
    said = fit(text, TEXT_LIMIT, escaped).strip() or say(wording.SOMETHING_BROKE)
    return SlackMessage(said, tuple(blocks[:BLOCKS_LIMIT]))


def sentence_message(sentence: str) -> SlackMessage:
    """One sentence of our own, without markup."""
    return message(sentence, [section(plain(sentence, SECTION_LIMIT))])


# How to ask in Slack, in the words of core/presentation/help.py

TYPED = Typed(
    ask="/research",
    menu="More message shortcuts",
    reply=later("write in the thread of an answer"),
    options=later("in the form of `/research` alone, or in the question as in `mode:deep top_k:8`"),
    history="/research history",
    settings="/research settings",
)


def help_blocks() -> list[Block]:
    """What can be done, and the modes."""
    how = "\n".join(f"*{what}* {words}" for what, words in help_entries(TYPED))
    modes = "\n".join(f"• `{name}`: {words}" for name, words in mode_entries())
    return [section(how), section(f"*{say('Modes')}*\n{modes}")]
