"""One conversation with a library: each message in, one reply out, whatever the interface (S000-50)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from core.evidence.citations import Grammar, PageRef, parse_markers
from core.library import wording
from core.library.desk import LibraryDesk
from core.library.funnel import Shelves, search_content_index
from core.library.ingest import PaperRecord
from core.library.paper import Paper, SearchResult, arxiv_order, find_papers, format_reference, in_order
from core.library.states import (
    COMMANDS,
    NO,
    YES,
    Command,
    Conversation,
    State,
    chosen_id,
    chosen_paper,
    is_sentence,
    known_now,
    near_command,
    read_command,
    refusal,
)
from core.model.answer import JobResult
from core.model.errors import GorkdError, InvalidQuery, places_of
from core.model.job import LOCAL, Scope
from core.model.ports import Clock
from core.presentation.render import cut, one_line
from core.section.prose import exported
from core.text.saying import say, say_many
from core.works.standing import MARK

MAX_FOUND = 10
MAX_PAGE_CHARS = 1_500  # of a page, beside its picture
NEVER = datetime.min.replace(tzinfo=UTC)
MAX_QUOTE_CHARS = 300
READ_ANEW_ONE, READ_ANEW = "{number} paper read anew.", "{number} papers read anew."
SUMMARISED_ONE, SUMMARISED = "{number} paper summarised.", "{number} papers summarised."
HAS_PAGE = "{id} has {number} page; say `open {id} page 1`."
HAS_PAGES = "{id} has {number} pages; say `open {id} page 1`."
_LETTERS = re.compile(r"[^\W\d_]{2}|[\u3040-\u30ff\u4e00-\u9fff]")
_PAGE_ALONE = re.compile(r"(?:p\.?|page) ?(\d{1,5})", re.IGNORECASE)
_PAGE = re.compile(r"(?:p\.|page)? ?(\d{1,5})", re.IGNORECASE)


@dataclass(frozen=True)
class Reply:
    """`text` is Markdown. `title` heads a panel, "" for none; `file` is name and text; of `page` None is the first."""

    text: str
    title: str = ""
    file: tuple[str, str] | None = None
    page: tuple[Paper, int | None] | None = None
    job_id: str = ""


@dataclass(frozen=True)
class Researched:
    """What `research` came to: the job's id and its result."""

    job_id: str
    result: JobResult


Research = Callable[[str, str], Awaitable[Researched]]
Tell = Callable[[str], Awaitable[None]]


async def keep_quiet(_: str) -> None:
    """A `Tell` for whoever shows no progress."""


@dataclass(frozen=True)
class Talk:
    """`shelf` is where commands that change something work; `shelves` are where one may look.

    `research(query, feedback)` runs a job of mode `library`, tells its progress by itself, and raises a `GorkdError` in
    the job's words when it failed; `is_admin` says whether whoever speaks may change the store. `tell` is given a line
    of progress where much is done.
    """

    desk: LibraryDesk
    shelf: Scope
    shelves: tuple[Scope, ...]
    research: Research
    clock: Clock
    is_admin: bool = True
    tell: Tell = keep_quiet

    async def say(self, conversation: Conversation, text: str) -> tuple[Conversation, Reply]:
        """Never raises a `GorkdError`: what goes wrong is the reply."""
        conversation = conversation.said(text)
        try:
            return await (self._offered if conversation.offered else self._answered)(conversation, text)
        except InvalidQuery as error:
            return conversation, Reply(error.user_message)
        except GorkdError as error:
            said = error.operator_message if self.shelf.tenant == LOCAL.tenant else error.user_message
            return conversation.cleared(), Reply(said if said.startswith("❌") else f"❌ {said}")

    async def _answered(self, conversation: Conversation, text: str) -> tuple[Conversation, Reply]:
        command = read_command(text)
        if command is None or is_sentence(command):
            return await self._taken_as_question(conversation, text)
        refused = refusal(conversation, command)
        return (conversation, Reply(refused)) if refused else await self._run(conversation, command)

    async def _taken_as_question(self, conversation: Conversation, text: str) -> tuple[Conversation, Reply]:
        """Plain words are asked of the library, and that is said; what may be a slip of the pen is asked back."""
        if near := near_command(text):
            return conversation, Reply(say(wording.DID_YOU_MEAN, command=f"{near} {COMMANDS[near].argument}".strip()))
        if not _LETTERS.search(text):
            return conversation, Reply(say("I do not know that command. {help}", help=self._help(conversation)))
        now, reply = await self._research(conversation, Command("research", " ".join(text.split())))
        return now, replace(reply, text=f"{say(wording.TAKEN_AS_QUESTION)}\n\n{reply.text}")

    async def _run(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        if COMMANDS[command.name].changes_store and not self.is_admin:
            return conversation, Reply(say(wording.ADMINS_ONLY))
        run: dict[str, Step] = {
            "find": self._find, "sem-search": self._sem_search, "research": self._research, "list": self._list,
            "summarize": self._summarize, "summary": self._summary, "open": self._open, "improve": self._improve,
            "notes": self._notes, "save": self._save, "export": self._export,
            "reindex-paper": self._reindex, "rebuild-index": self._rebuild,
            "summarize-all": self._summarize_all, "remove-paper": self._remove, "validate-store": self._validate,
            "separate-paper": self._separate,
        }  # fmt: skip
        if command.name in run:
            return await run[command.name](conversation, command)
        if command.name == "help":
            return conversation, Reply(self._help(conversation), say("Help"))
        return _about(conversation, command)

    def _help(self, conversation: Conversation) -> str:
        added = "add <file|id|url>" if self.shelf.tenant == LOCAL.tenant else "add <id|url> to library"
        known = [f"`{added}` – {say('add papers to the library')}", *known_now(conversation)]
        return f"{say('You can say now:')}\n" + "\n".join(f"- {line}" for line in known)

    async def _find(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        found = await self.desk.search_elsewhere(command.argument, MAX_FOUND)
        ordered = sorted(found.records, key=lambda record: arxiv_order(record.id))
        listed = [_paper_of(record) for record in ordered]
        now = conversation.found(State.SELECT_NEW, [record.id for record in ordered], query=command.argument)
        away = [say(wording.NOT_SEARCHED, places=", ".join(places_of(found.away)))] if found.away else []
        if not listed:
            return now, Reply("\n\n".join([say(wording.NO_PAPERS, query=command.argument), *away]))
        title = say(wording.FOUND_IN, places=", ".join(places_of(found.asked)))
        return now, Reply("\n\n".join([_numbered(listed), say(wording.ADD_FOUND), *away]), title)

    async def _sem_search(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        shelves = Shelves(self.desk.library, self.shelves, self.desk.ingestion.embedder)
        results = await search_content_index(shelves, command.argument)
        draft = _passages(results)
        ids = [result.chunk.paper.id for result in results]
        now = conversation.found(State.SEM_SEARCH, ids, draft=draft, query=command.argument)
        if not ids:
            return now, Reply(say(wording.NO_PAPERS, query=command.argument))
        return now, Reply(draft, say("Search results"))

    async def _research(
        self, conversation: Conversation, command: Command, feedback: str = ""
    ) -> tuple[Conversation, Reply]:
        done = await self.research(command.argument, feedback)
        answer = done.result.answer
        view = done.result.details.get("query_result")
        if not isinstance(view, dict) or not view.get("success"):
            said = (
                f"{answer.summary}\n\n{answer.detail}".strip()
                if answer
                else say(wording.NO_PAPERS, query=command.argument)
            )
            return conversation.cleared(), Reply(said, job_id=done.job_id)
        draft, ids = str(view["content"]), view["paper_ids"]
        cited = [str(paper_id) for paper_id in ids] if isinstance(ids, list) else []
        now = conversation.found(State.RESEARCH, cited, draft=draft, query=command.argument, job_id=done.job_id)
        warning = f"{view['message']}\n\n" if view.get("message") else ""
        return now, Reply(f"{warning}{draft}", say(wording.PANEL_TITLE), job_id=done.job_id)

    async def _list(self, conversation: Conversation, _: Command) -> tuple[Conversation, Reply]:
        papers = in_order(await self._papers())
        if not papers:
            return conversation.cleared(), Reply(wording.empty_library(self.shelf))
        return conversation.found(State.SELECT_VIEW, [paper.id for paper in papers]), Reply(
            _numbered(papers), say("Papers")
        )

    async def _summarize(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        wanted = chosen_id(conversation, command)
        known = find_papers(await self._papers(), wanted)
        if len(known) != 1:
            await self.tell(say(wording.FETCHING, name=wanted))
        added = known[0] if len(known) == 1 else (await self.desk.add_reference(self.shelf, wanted)).paper
        paper = added if added.summary else await self._summarised(added.id)
        return conversation.chose(paper.id, paper.summary), _card(paper)

    async def _summary(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        paper = chosen_paper(conversation, command, await self._papers())
        if not paper.summary:
            if not self.is_admin:
                return conversation, Reply(say(wording.NO_SUMMARY, id=paper.id))
            return replace(conversation, offered=paper.id), Reply(say(wording.OFFER_SUMMARY, id=paper.id))
        return conversation.chose(paper.id, paper.summary), _card(paper)

    async def _offered(self, conversation: Conversation, text: str) -> tuple[Conversation, Reply]:
        """The answer to "shall I write one?"; anything but yes or no is a command like any other."""
        offered, conversation = conversation.offered, replace(conversation, offered="")
        word = text.strip(" .!").casefold()
        if word in YES:
            if not self.is_admin:
                return conversation, Reply(say(wording.ADMINS_ONLY))
            paper = await self._summarised(offered)
            return conversation.chose(paper.id, paper.summary), _card(paper)
        if word in NO:
            return conversation, Reply(say("All right, no summary."))
        return await self._answered(conversation, text)

    async def _open(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        wanted, said = _paper_and_page(conversation, command.argument)
        paper = chosen_paper(conversation, Command(command.name, wanted), await self._papers())
        text = await self.desk.library.text(self.shelves, paper.id)
        marks = (mark.target for mark in parse_markers(conversation.savable, Grammar.PAGE))
        cited = (one.page for one in marks if isinstance(one, PageRef) and one.paper_id == paper.id)
        page = _page_said(said, paper) or next(cited, None)
        shown = conversation.opened(paper)
        beginning = cut("".join(text.split("\f")[(page or 1) - 1 :][:1]).strip(), MAX_PAGE_CHARS)
        words = f"{paper.title}{_place(paper, page or 1)}\n\n{beginning}"
        return shown, Reply(words, say("Paper Content: {id}", id=paper.id), page=(paper, page))

    async def _improve(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        if conversation.works_on is State.SUMMARIZED:
            paper = await self._summarised(conversation.selected_paper, command.argument)
            return conversation.revised(paper.summary), _card(paper)
        again = Command(command.name, conversation.original_query)
        if conversation.works_on is State.RESEARCH:
            if self.desk.ingestion.model is None:
                raise InvalidQuery(say(wording.REWRITING_NEEDS_MODEL), rule="model")
            return await self._research(conversation, again, command.argument)
        wider = Command(command.name, f"{conversation.original_query} {command.argument}")
        now, reply = await self._sem_search(conversation, wider)
        return (replace(now, original_query=conversation.original_query), reply) if now.last_query_set else (
            conversation, reply
        )  # fmt: skip

    async def _summarised(self, paper_id: str, feedback: str = "") -> Paper:
        """With a new summary, which is kept where whoever speaks may change the library, and is shown in any case."""
        shelf, paper = await self.desk.place(self.shelves, paper_id)
        await self.tell(say(wording.READING, name=paper.id))
        if self.is_admin:
            return await self.desk.ingestion.summarise(shelf, paper, feedback=feedback)
        return replace(paper, summary=await self.desk.ingestion.write_summary(shelf, paper, feedback=feedback))

    async def _notes(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        shelf, paper = await self.desk.place(self.shelves, conversation.selected_paper)
        noted = replace(paper, notes=f"{paper.notes}\n{command.argument}".strip())
        await self.desk.ingestion.update(shelf, noted, before=paper)
        return conversation, Reply(say("Noted with {id}.", id=paper.id))

    async def _save(self, conversation: Conversation, _: Command) -> tuple[Conversation, Reply]:
        name = f"{slug(conversation.original_query)}_{self.clock():%Y-%m-%d_%H-%M-%S}.md"
        return conversation, Reply(say(wording.SAVING), file=(name, f"{conversation.savable.rstrip()}\n"))

    async def _export(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        papers, form = await self._papers(), command.argument.casefold() or "bib"
        if not papers:
            return conversation, Reply(wording.empty_library(self.shelf))
        if form not in ("bib", "ris"):
            raise InvalidQuery(say("Say which: `export bib` or `export ris`."), rule="form")
        said = say_many(wording.EXPORTING_ONE, wording.EXPORTING, len(papers))
        return conversation, Reply(said, file=(f"papers.{form}", exported(papers, form)))

    async def _separate(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        shelf, paper = await self.desk.place(self.shelves, command.argument)
        await self.desk.separate(shelf, paper.id)
        return conversation, Reply(say("{id}, {title}, is a work of its own now.", id=paper.id, title=paper.title))

    async def _reindex(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        shelf, paper = await self.desk.place(self.shelves, command.argument)
        await self.tell(say(wording.READING, name=paper.id))
        paper = await self.desk.reindex(shelf, paper.id)
        return conversation, Reply(say("Read anew: {id}, {title}.", id=paper.id, title=paper.title))

    async def _rebuild(self, conversation: Conversation, _: Command) -> tuple[Conversation, Reply]:
        count, done = len(await self.desk.library.papers([self.shelf])), list[Paper | GorkdError]()
        async for entry in self.desk.rebuild(self.shelf):
            done.append(entry)
            await self._tell_of(entry, len(done), count)
        return conversation, Reply(_tally(say_many(READ_ANEW_ONE, READ_ANEW, _well(done)), done))

    async def _summarize_all(self, conversation: Conversation, _: Command) -> tuple[Conversation, Reply]:
        done: list[Paper | GorkdError] = []
        bare = [one for one in await self.desk.library.papers([self.shelf]) if not one.summary or one.lacks_summary]
        for paper in bare:
            try:
                done.append(await self.desk.ingestion.summarise(self.shelf, paper))
            except GorkdError as error:
                done.append(error)
            await self._tell_of(done[-1], len(done), len(bare))
        return conversation.cleared(), Reply(_tally(say_many(SUMMARISED_ONE, SUMMARISED, _well(done)), done))

    async def _remove(self, conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
        shelf, paper = await self.desk.place(self.shelves, command.argument)
        await self.desk.remove(shelf, paper.id)
        return conversation, Reply(say("Removed {id}, {title}.", id=paper.id, title=paper.title))

    async def _validate(self, conversation: Conversation, _: Command) -> tuple[Conversation, Reply]:
        await self.tell(say_many(wording.CHECKING_ONE, wording.CHECKING, len(await self._papers())))
        findings = await self.desk.validate(self.shelf)
        lines = [f"- {finding.paper.id}: {finding.fault}" for finding in findings]
        return conversation, Reply("\n".join(lines) or say("Every paper can be found and cited."))

    async def _tell_of(self, done: Paper | GorkdError, number: int, count: int) -> None:
        said = f"{done.id}, {done.title}" if isinstance(done, Paper) else done.user_message
        await self.tell(say(wording.STEP, number=number, count=count, said=one_line(said)))

    async def _papers(self) -> list[Paper]:
        return await self.desk.library.papers(self.shelves)


Step = Callable[[Conversation, Command], Awaitable[tuple[Conversation, Reply]]]


def slug(query: str) -> str:
    """A file name's part: `how-do-transformers-work`, at most 60 characters."""
    plain = unicodedata.normalize("NFKD", query).encode("ascii", "ignore").decode().casefold()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or "results"


def _about(conversation: Conversation, command: Command) -> tuple[Conversation, Reply]:
    """status, history, clear."""
    if command.name == "clear":
        return Conversation(), Reply(say("Cleared; we begin anew."))
    if command.name == "history":
        return conversation, Reply("\n".join(f"- {line}" for line in conversation.history))
    shown = ", ".join(conversation.last_query_set) or say("none")
    lines = [say("State: {state}", state=conversation.state), say("Papers in the list: {papers}", papers=shown)]
    lines += [say("Paper shown: {id}", id=conversation.selected_paper)] if conversation.selected_paper else []
    lines += [say("Question: {question}", question=conversation.original_query)] if conversation.original_query else []
    return conversation, Reply("\n".join(f"- {line}" for line in lines), say("Status"))


def _numbered(papers: Sequence[Paper]) -> str:
    return "\n".join(format_reference(number, paper) for number, paper in enumerate(papers, start=1))


def _card(paper: Paper) -> Reply:
    """S000-41."""
    rows = [
        say("- Paper id: {id}", id=paper.id),
        say("- Authors: {names}", names=", ".join(paper.authors) or say("unknown")),
    ]
    rows += [say("- Published: {day}", day=paper.published)] if paper.published else []
    rows += [f"- {wording.not_whole(paper.gap)}"] if paper.gap else []
    rows += [say("- Summary: {how}", how=say(wording.IMPROVED))] if paper.improved else []
    notes = [f"## {say('Notes')}", *paper.notes.splitlines()] if paper.notes else []
    return Reply("\n\n".join([f"# {paper.title}", "\n".join(rows), paper.summary, *notes]), say("📝 Response"))


def _passages(results: Sequence[SearchResult]) -> str:
    """What was found, paper by paper in arXiv's order, each passage with its page."""
    blocks: list[str] = []
    for number, paper in enumerate(
        in_order({result.chunk.paper.id: result.chunk.paper for result in results}.values()), 1
    ):
        quotes = [
            f"   - {_where(result)}{cut(' '.join(result.chunk.chunk_text.split()), MAX_QUOTE_CHARS)}"
            for result in results
            if result.chunk.paper.id == paper.id
        ]
        blocks.append("\n".join([format_reference(number, paper), *quotes]))
    return "\n\n".join(blocks)


def _where(result: SearchResult) -> str:
    return say("page {page}", page=result.chunk.page) + ": " if result.chunk.page else ""


def _paper_and_page(conversation: Conversation, argument: str) -> tuple[str, str]:
    """`2 page 3` apart; `page 3` alone is of the paper that is shown, or the one that is cited there.

    Raises `InvalidQuery` where that could be several.
    """
    alone = _PAGE_ALONE.fullmatch(argument)
    if alone is None:
        wanted, _, said = argument.partition(" ")
        return wanted, said
    marks = (mark.target for mark in parse_markers(conversation.savable, Grammar.PAGE))
    cited = {target.paper_id for target in marks if isinstance(target, PageRef) and target.page == int(alone[1])}
    for meant in ({conversation.selected_paper} - {""}, set(conversation.last_query_set), cited):
        if len(meant) == 1:
            return meant.pop(), argument
    raise InvalidQuery(say("Say of which paper: `open <number|id> page 3`."), rule="paper")


def _page_said(said: str, paper: Paper) -> int | None:
    """`page 3`, `p. 3` or `3`; None where nothing is said. Raises `InvalidQuery`."""
    if not said:
        return None
    number = _PAGE.fullmatch(said)
    if number is None or not 1 <= int(number[1]) <= max(paper.pages, 1):
        raise InvalidQuery(say_many(HAS_PAGE, HAS_PAGES, paper.pages, id=paper.id), rule="page")
    return int(number[1])


def _place(paper: Paper, page: int) -> str:
    """Behind a title: the page by its place in the file, and the number printed on it where that is another."""
    if not paper.pages:
        return ""
    label = "".join(paper.labels[page - 1 : page])  # none where it was read anew with fewer pages
    printed = ", " + say("printed as {label}", label=label) if label not in ("", str(page)) else ""
    return ", " + say("page {page} of {pages}", page=page, pages=paper.pages) + printed


def _paper_of(record: PaperRecord) -> Paper:
    """What a catalogue knows, in the shape of every list."""
    title = f"{MARK}{record.title}" if record.is_retracted else record.title
    return Paper(record.id, title, "", NEVER, authors=record.authors, published=record.published)


def _well(done: Sequence[Paper | GorkdError]) -> int:
    return sum(isinstance(entry, Paper) for entry in done)


def _tally(said: str, done: Sequence[Paper | GorkdError]) -> str:
    """`said`, and why the others failed, a line each."""
    failed = [entry.user_message for entry in done if isinstance(entry, GorkdError)]
    return "\n".join([said, *(f"- {sentence}" for sentence in failed)])
