"""Everybody's conversations with their libraries: kept by thread, researched as jobs, each reply shown as a card."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from core.library import wording
from core.library.desk import SUFFIXES, LibraryDesk, ListedPaper, is_reading_list, read_list
from core.library.ingest import MAX_PAPER_BYTES, Ingested, PaperUnreadable
from core.library.paper import Paper, PaperViews, shelves_of, with_marks
from core.library.states import (
    ALSO_OF_ANSWERS,
    COMMANDS,
    MAX_LISTED,
    Added,
    Addition,
    Conversation,
    Conversations,
    Incoming,
    State,
    Words,
    is_going_on,
    read_addition,
    read_words,
)
from core.library.talk import Reply, Researched, Talk, Tell
from core.model.answer import JobResult
from core.model.delivery import Address, Delivery, Messages
from core.model.errors import GorkdError, JobNotFound
from core.model.job import JobStatus, ResearchJob, ResearchRequest, Scope
from core.model.ports import Clock
from core.model.source import Source
from core.presentation import wording as answers
from core.presentation.page_links import PageLinks, PaperPlace
from core.presentation.render import one_line
from core.tenancy.admission import check_channel
from core.tenancy.settings_desk import SettingsDesk
from core.text.saying import say, say_again

if TYPE_CHECKING:
    from core.pipeline.researcher import Researcher

_SAID, _KEY = "library_said", "library_key"  # in an address
_TOLD = frozenset({JobStatus.PENDING.value, "searching", "fetching", "synthesizing"})  # planning is no stage of S000


@dataclass(frozen=True)
class Speaker:
    """Who speaks where. `thread` is the conversation, valid in `scope`; `is_admin` may change the library.

    `key` names the message, so that one that is delivered twice is researched once; "" for none. `address` is the
    message that waits for what is researched: it is kept with the job, and a restarted bot says the same there again.
    `channel` is where it was said, "" in direct messages and outside of chat: a tenant may have chosen others.
    """

    scope: Scope
    thread: str
    asker: str = ""
    is_admin: bool = False
    is_private: bool = False
    key: str = ""
    address: Address | None = None
    channel: str = ""

    @property
    def dedupe_key(self) -> str:
        return f"library:{self.key}" if self.key else ""


@dataclass(frozen=True)
class SaidToLibrary:
    """A reply, the PNG of the page that it shows, b"" if none, and where the conversation stands now.

    `quote` is what the answer cites of that page and the picture marks, "" if nothing is.
    `job` is what was researched for it, with its `result` and the `sources` read; `added` are the papers that were to
    be added and are in the library now.
    """

    reply: Reply
    picture: bytes = b""
    after: Conversation = field(default_factory=Conversation)
    job: ResearchJob | None = None
    result: JobResult | None = None
    sources: tuple[Source, ...] = ()
    added: tuple[str, ...] = ()
    quote: str = ""


@dataclass(frozen=True)
class Waiting:
    """Words whose answer is still awaited, and the message where: saying them again gives the job that runs."""

    speaker: Speaker
    text: str
    delivery: Delivery

    @classmethod
    def of(cls, delivery: Delivery) -> Waiting | None:
        """None for the answer of a question that was no word to the library."""
        text, key, address = _said_at(delivery.address)
        if text is None:
            return None
        request = delivery.job.request
        speaker = Speaker(
            request.scope, request.thread, request.asker, is_private=request.is_private, key=key,
            address=delivery.address, channel=request.channel,
        )  # fmt: skip
        return cls(speaker, text, Delivery(delivery.job, address))


def waiting_at(address: Address, key: str, text: str) -> Address:
    """`address` with what was said there; `Waiting.of` reads it again."""
    return replace(address, data={**address.data, _SAID: text, _KEY: key})


def _said_at(address: Address) -> tuple[str | None, str, Address]:
    """What was said there, None for no word to the library, by which key, and the address as it was."""
    data = dict(address.data)
    said, key = data.pop(_SAID, None), data.pop(_KEY, "")
    return said if isinstance(said, str) else None, str(key), replace(address, data=data)


@dataclass
class LibraryTalks:
    """The library on every interface: what is said in a thread, and answered. Without `rules` every channel is."""

    researcher: Researcher
    desk: LibraryDesk
    conversations: Conversations
    views: PaperViews
    clock: Clock
    _: KW_ONLY
    messages: Messages
    rules: SettingsDesk | None = None
    _turns: WeakValueDictionary[tuple[Scope, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def say(self, speaker: Speaker, text: str, tell: Tell, *, about: str = "") -> SaidToLibrary:
        """One message after the other in a thread; `tell` is given each line of progress.

        `about` is the `tag` of what a button stands under: it does nothing to what has come since. Raises
        `NotAnsweredHere`, `StoreError`.
        """
        await self._check_channel(speaker)
        async with self._turn(speaker):
            before = await self.conversations.get(speaker.scope, speaker.thread) or Conversation()
            if about and not before.is_about(about, text):
                return SaidToLibrary(Reply(say(wording.MOVED_ON)), after=before)

            async def research(query: str, feedback: str) -> Researched:
                basis = before.job_id if feedback else ""
                return await self._research(speaker, query, feedback, basis, tell)

            shelves = shelves_of(speaker.scope)
            talk = Talk(self.desk, speaker.scope, shelves, research, self.clock, speaker.is_admin, tell)
            try:
                after, reply = await talk.say(before, text)
            except Exception:  # told by whoever shows it; here the conversation begins anew (S000-35)
                await self._keep(speaker, before.said(text).cleared())
                raise
            await self._keep(speaker, after)
        picture, quote = await self._picture(speaker, after, reply)
        said = SaidToLibrary(reply, picture, after, quote=quote)
        if not reply.job_id:
            return said
        job, result = await self.researcher.job(reply.job_id), await self.researcher.result(reply.job_id)
        return replace(said, job=job, result=result, sources=tuple(await self.researcher.sources(reply.job_id)))

    async def hear(
        self, scope: Scope, thread: str, text: str, *, has_files: bool = False, is_addressed: bool = True
    ) -> Words | Addition | None:
        """What of a message is meant for the library: words to `say`, papers to `add`; None for a question.

        `is_addressed` says that it was for the bot, not just heard in a thread. Raises `StoreError`.
        """
        addition = read_addition(text, has_files=has_files) if is_addressed else None
        if addition is not None:
            return addition
        words = read_words(text, await self.conversations.get(scope, thread), is_addressed=is_addressed)
        if words is None or words.is_certain or words.command not in ALSO_OF_ANSWERS:
            return words
        last = await self.researcher.latest(thread, scope=scope)
        return words if last is None or "library" in last.request.modes else None

    async def add(self, speaker: Speaker, addition: Addition, files: Sequence[Incoming], tell: Tell) -> SaidToLibrary:
        """Put papers on the shelf of that place, one after the other; what cannot be read is told.

        Where nobody talks with the library yet, what was added is the list that numbers refer to. Raises as `say`.
        """
        await self._check_channel(speaker)
        if not speaker.is_admin:
            return SaidToLibrary(Reply(say(wording.ADMINS_ONLY)))
        if not files and not addition.references:
            return SaidToLibrary(Reply(say(wording.ADD_WHAT)))
        added = Added()
        await self._add_files(speaker.scope, list(files), added, tell)
        for at, reference in enumerate(addition.references):
            if added.new + added.failed >= MAX_LISTED:
                added.leave_over(len(addition.references) - at)
                break
            await tell(say(wording.FETCHING, name=reference))
            await added.take(self.desk.add_reference(speaker.scope, reference))
        ids = tuple(dict.fromkeys(paper.id for paper in added.papers))
        return SaidToLibrary(Reply(added.sentence), after=await self._begun(speaker, added.papers), added=ids)

    async def _add_files(self, shelf: Scope, files: list[Incoming], added: Added, tell: Tell) -> None:
        """Reading lists first, since they say what the files beside them are, and those are theirs."""
        beside = list(files)
        for file in [file for file in files if PurePath(file.name).suffix.lower() in {*SUFFIXES, ".txt"}]:
            await tell(say(wording.READING, name=one_line(file.name)))
            beside.remove(file)
            await self._add_list(shelf, file, beside, added, tell)
        for file in beside:
            await tell(say(wording.READING, name=one_line(file.name)))
            await added.take(self._add_incoming(shelf, file))

    async def _add_list(self, shelf: Scope, file: Incoming, beside: list[Incoming], added: Added, tell: Tell) -> None:
        """Each paper of a list, or the file itself where it is none."""
        try:
            content = await _content(file)
            listed = read_list(file.name, content) if is_reading_list(file.name, content) else None
        except PaperUnreadable as error:
            added.refuse(error)
            return
        if listed is None:
            await added.take(self.desk.add_file(shelf, one_line(file.name), content))
            return
        done = added.new + added.failed
        for at, paper in enumerate(listed):
            if added.new + added.failed - done >= MAX_LISTED:
                added.leave_over(len(listed) - at)
                return
            await tell(say(wording.STEP, number=at + 1, count=len(listed), said=one_line(paper.name)))
            its_name = PurePath(paper.file).name
            found = next((one for one in beside if its_name and PurePath(one.name).name == its_name), None)
            if found:
                beside.remove(found)
            await added.take(self._add_listed(shelf, paper, found))

    async def _add_listed(self, shelf: Scope, paper: ListedPaper, file: Incoming | None) -> Ingested:
        return await self.desk.add_listed(shelf, paper, await _content(file) if file else b"")

    async def _add_incoming(self, shelf: Scope, file: Incoming) -> Ingested:
        return await self.desk.add_file(shelf, one_line(file.name), await _content(file))

    async def _begun(self, speaker: Speaker, papers: Sequence[Paper]) -> Conversation:
        """The conversation as it goes on; one that did not begins with the papers that were added."""
        async with self._turn(speaker):
            before = await self.conversations.get(speaker.scope, speaker.thread)
            if before is not None and (is_going_on(before) or not papers):
                return before
            begun = Conversation().said("add").found(State.SELECT_VIEW, [paper.id for paper in papers])
            if papers:
                await self._keep(speaker, begun)
            return begun

    async def waiting(self, platform: str) -> list[Waiting]:
        """What was said there and has no answer yet: what a restarted bot says again. Raises `StoreError`."""
        found = [Waiting.of(delivery) for delivery in await self.researcher.undelivered(platform)]
        return [one for one in found if one is not None]

    async def attach(self, speaker: Speaker) -> bool:
        """Remember that the message stands at `speaker.address` now; False while no job waits for it.

        Raises `StoreError`.
        """
        job = await self.researched(speaker)
        if job is None or speaker.address is None:
            return False
        await self.researcher.attach(job.id, speaker.address)
        return True

    async def delivered(self, speaker: Speaker, shown: Sequence[Address] = ()) -> None:
        """The reply has arrived and stands at `shown`; nobody need say the same again. Raises `StoreError`."""
        job = await self.researched(speaker)
        if job is not None:
            await self.researcher.delivered(job.id, shown)

    async def opened(self, speaker: Speaker, address: Address) -> None:
        """A message lives at `address`, made by `waiting_at`, until it is `closed`. Raises `StoreError`."""
        if speaker.key:
            await self.messages.begin(speaker.key, speaker.scope, speaker.asker, address)

    async def closed(self, key: str) -> None:
        """It has come to its end. Raises `StoreError`."""
        await self.messages.end(key)

    async def left_open(self, platform: str) -> list[tuple[str, str, Address]]:
        """Messages that have not: the speaker's key, what was said, and where. Raises `StoreError`."""
        found = [(key, _said_at(address)) for key, address in await self.messages.begun(platform)]
        return [(key, said or "", address) for key, (said, _, address) in found]

    async def papers(self, scope: Scope) -> list[Paper]:
        return await self.desk.library.papers(shelves_of(scope))

    async def _check_channel(self, speaker: Speaker) -> None:
        if self.rules is not None:
            tenant = speaker.scope.tenant
            check_channel((await self.rules.show(tenant)).settings, tenant, speaker.channel)

    async def researched(self, speaker: Speaker) -> ResearchJob | None:
        return await self.researcher.asked(speaker.dedupe_key, scope=speaker.scope) if speaker.key else None

    def _turn(self, speaker: Speaker) -> asyncio.Lock:
        return self._turns.setdefault((speaker.scope, speaker.thread), asyncio.Lock())

    async def _keep(self, speaker: Speaker, conversation: Conversation) -> None:
        at = self.clock()
        await self.conversations.put(speaker.scope, speaker.thread, conversation, asker=speaker.asker, at=at)

    async def _research(self, speaker: Speaker, query: str, feedback: str, basis: str, tell: Tell) -> Researched:
        """Run a job to its end. Raises a `GorkdError` in the job's own words when it failed."""
        request = ResearchRequest(
            query,
            speaker.scope,
            modes=("library",),
            is_fresh=True,  # papers may have come or gone since the same was asked
            is_private=speaker.is_private,
            asker=speaker.asker,
            thread=speaker.thread,
            channel=speaker.channel,
            basis=basis,
            feedback=feedback,
        )
        if feedback:
            await tell(say(wording.IMPROVING))
        job = await self.researcher.submit(request, dedupe_key=speaker.dedupe_key, address=speaker.address)
        try:
            async for event in self.researcher.follow(job.id):
                is_told = not feedback and event.type == "status" and event.data.get("stage") in _TOLD  # S000-36
                if is_told and (line := str(event.data.get("message") or "")):
                    await tell(line)
        except asyncio.CancelledError:
            if speaker.address is None:  # nobody will come back for it
                await self.researcher.cancel(job.id)
            raise
        ended, result = await self.researcher.job(job.id), await self.researcher.result(job.id)
        if ended.status is not JobStatus.COMPLETED or result is None or result.answer is None:
            told, cause = answers.failure_sentence(ended), answers.failure_cause(ended)
            raise GorkdError(f"{job.id} {ended.status}", user_message=told, operator_message=cause)
        return Researched(job.id, result)

    async def _picture(self, speaker: Speaker, conversation: Conversation, reply: Reply) -> tuple[bytes, str]:
        """With what it marks. A page that cannot be drawn is told by its text alone."""
        if reply.page is None:
            return b"", ""
        paper, page = reply.page
        try:
            quote = await self._quote(conversation.job_id, paper, page)
            return await self.views.picture(shelves_of(speaker.scope), paper, page or 1, quote), quote
        except GorkdError:
            return b"", ""

    async def _quote(self, job_id: str, paper: Paper, page: int | None) -> str:
        """What the answer cites of that page."""
        if not job_id:
            return ""
        try:
            result, sources = await self.researcher.result(job_id), await self.researcher.sources(job_id)
        except JobNotFound:
            return ""
        ids = {source.id for source in sources if source.content_hash == paper.content_hash}
        citations = result.answer.citations if result and result.answer else ()
        found = (one.quote for one in citations if one.source_id in ids and one.page == page and one.quote)
        return next(found, "") or ""


async def _content(file: Incoming) -> bytes:
    """Raises `PaperUnreadable` for what is too large, and as `Incoming.load`."""
    if file.size > MAX_PAPER_BYTES:
        words = say(wording.TOO_LARGE, name=one_line(file.name), megabytes=MAX_PAPER_BYTES // 1_000_000)
        raise PaperUnreadable(f"{file.size} bytes", user_message=words)
    return await file.load()


# A reply of the library as a card: its parts in order, and what can be done next, on every platform the same.
#
# Values alone, as in core/presentation/card.py: a platform marks up, escapes and cuts them.

MOST_PAPERS = 10  # that have a button; the others are named by their numbers
_OF_NUMBER = {State.SELECT_NEW: "summarize", State.SELECT_VIEW: "summary"}  # what a number's button does; else open
_VERBS = {  # of a paper alone, and of one of a list
    "open": ("Open", "Open {number}"),
    "summary": ("Summary", "Summary {number}"),
    "summarize": ("Add", "Add {number}"),
}


@dataclass(frozen=True)
class LibraryStep:
    """A button that goes on from a reply: what it `says`, as one would type it, and what stands on it.

    `about` is the tag of what it is tied to, "" where what came since does not matter.
    """

    says: str
    label: str
    about: str = ""


@dataclass(frozen=True)
class LibraryCard:
    """`text` is Markdown, for beside the `picture` of a page where there is one; `asked` is what it answers.

    `is_aside` is what is only about the conversation: for whoever said something, and it goes on to nothing. `steps`
    that are `of_list` are a paper's each. The addresses are "" where nothing is to be opened.
    """

    title: str
    asked: str
    text: str
    next_steps: tuple[str, ...]
    of_list: tuple[LibraryStep, ...]
    steps: tuple[LibraryStep, ...]
    pdf_url: str = ""
    page_url: str = ""
    picture: bytes = b""
    file: tuple[str, str] | None = None
    is_aside: bool = False


def library_card(said: SaidToLibrary, scope: Scope, links: PageLinks) -> LibraryCard:
    """`scope` is the speaker's, whose shelves its papers stand on."""
    now, reply = said.after, said.reply
    is_aside = reply.title in ("", say("Help"), say("Status")) and not now.offered
    of_list, steps = _going_on(said, is_aside=is_aside)
    paper, page = reply.page or (None, None)
    return LibraryCard(
        title=reply.title,
        asked=now.history[-1] if now.history and not is_aside else "",
        text=_text(said),
        next_steps=(*_confidence(said), *next_steps(said)),
        of_list=of_list,
        steps=steps,
        pdf_url=links.paper(PaperPlace(scope, paper.id), page=page or 1) if paper and paper.pages else "",
        page_url=links.link(said.job) if said.job and not is_aside else "",
        picture=said.picture,
        file=reply.file,
        is_aside=is_aside,
    )


def next_steps(said: SaidToLibrary) -> tuple[str, ...]:
    """S000-38: below what was researched."""
    is_research = said.reply.title == say(wording.PANEL_TITLE)
    return tuple(say(line) for line in wording.NEXT_STEPS) if is_research else ()


def _confidence(said: SaidToLibrary) -> tuple[str, ...]:
    """What its marks mean, how sure what was researched is, and the reason that decided."""
    answer = said.result.answer if said.result and next_steps(said) else None
    if answer is None:
        return ()
    why = answers.deciding_reason(answer, "")
    sure = f"{say(answers.CONFIDENCE)}: {answers.confidence_headline(answer)}{f' · {say_again(why)}' if why else ''}"
    is_first = len(said.after.history) == 1  # of the conversation: its marks are new to whoever reads
    return (say(answers.MARKS_EXPLAINED), sure) if is_first and answer.citations else (sure,)


def _text(said: SaidToLibrary) -> str:
    """The reply; below help how papers are given, above a picture the sentence it marks instead of its page."""
    if said.reply.title == say("Help"):
        return f"{said.reply.text}\n\n{say(wording.ADD_WHAT)}"
    if said.reply.file:
        return f"{said.reply.text}\n{wording.saved(said.reply.file[0])}"
    if said.picture and said.quote:
        beginning, _, _ = said.reply.text.partition("\n\n")
        return f"{beginning}\n\n“{said.quote}”"
    return with_marks(said.reply.text, said.result) if said.result else said.reply.text


def _going_on(said: SaidToLibrary, *, is_aside: bool) -> tuple[tuple[LibraryStep, ...], tuple[LibraryStep, ...]]:
    """What stands on papers of a list or pages of a paper, and what on all of it; nothing under help or a file."""
    now, reply = said.after, said.reply
    if reply.file is not None or (is_aside and reply.page is None and not said.added):
        return (), ()
    if now.offered:
        return (), (LibraryStep("yes", say("Yes")), LibraryStep("no", say("No")))
    if said.added:
        return _papers(said.added, "summary", is_numbered=len(said.added) > 1), ()
    if reply.page is not None:
        paper, page = reply.page[0], reply.page[1] or 1
        around = [(page - 1, say("◀ Page {page}", page=page - 1)), (page + 1, say("Page {page} ▶", page=page + 1))]
        paging = [LibraryStep(f"open {paper.id} page {at}", label) for at, label in around if 1 <= at <= paper.pages]
        return tuple(paging), _working_on(now)
    if now.selected_paper:
        return (), (LibraryStep(f"open {now.selected_paper}", say("Open")), *_working_on(now))
    return _papers(now.last_query_set, _OF_NUMBER.get(now.state, "open")), _working_on(now)


def _papers(ids: Sequence[str], verb: str, *, is_numbered: bool = True) -> tuple[LibraryStep, ...]:
    """By their numbers in the list."""
    return tuple(
        LibraryStep(f"{verb} {paper_id}", say(_VERBS[verb][is_numbered], number=at))
        for at, paper_id in enumerate(ids[:MOST_PAPERS], 1)
    )


def _working_on(now: Conversation) -> tuple[LibraryStep, ...]:
    """What can be done to what is shown, tied to it."""
    doing = (("improve", say("Improve")), ("save", say("Save")))
    return tuple(LibraryStep(name, label, now.tag) for name, label in doing if now.works_on in COMMANDS[name].states)
