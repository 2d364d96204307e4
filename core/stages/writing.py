"""A model's answer as it is written: streamed, cut into sentences, judged and shown one by one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

from core.evidence.citations import Grammar, strip_markers, with_markers
from core.evidence.differences import adds_nothing, is_same_claim
from core.evidence.grounding import Grounder
from core.evidence.judge import AnswerRuling, Judgement, Judging, Pair, Ruling
from core.evidence.rules.alignment import Force
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.structure import (
    MAX_SENTENCES,
    Judged,
    assemble,
    before_of,
    is_lead,
    is_repeated,
    joined_detail,
    lead_in,
    leans,
    leans_on_cut,
    untied,
)
from core.llm.ask_model import (
    UNREADABLE,
    AnswerStream,
    DraftAnswer,
    asked_in_words,
    is_answer,
    read_prose,
    with_more_tokens,
)
from core.model.answer import Citation, Claim, ModelUsage, Section, Verdict
from core.model.errors import ModelError, ModelGarbled
from core.model.ports import ChatModel, ChatRequest
from core.pipeline.limits import ComputingTurns, Nearness
from core.pipeline.work import Progress
from core.stages.rejudging import Rejudging
from core.text.markers import plain_markers
from core.text.saying import say
from core.text.sentences import Sentence, is_settled, may_end, split_sentences, tells_absence, tells_of_sources

log = logging.getLogger(__name__)
T = TypeVar("T")
Rulings = asyncio.Task[list[Judgement | None]]

PARTS: tuple[Section, ...] = ("summary", "opening", "detail")  # as a reader sees them


@dataclass
class _Reached:
    """How far a section has been cut into sentences: `seen` is that text, `place` counts the sentences.

    `paragraph` is where the last paragraph in it begins; what `is_kept` no later try writes anew.
    """

    seen: str = ""
    paragraph: int = 0
    place: int = 0
    is_whole: bool = False
    is_kept: bool = False


@dataclass(frozen=True)
class WrittenPart:
    """What one call of the writer has brought, however it ended; `usage` is what it cost."""

    draft: DraftAnswer
    usage: ModelUsage
    is_cut: bool = False
    notes: tuple[str, ...] = ()
    is_done: bool = False  # its text has its end, whatever became of the citations behind it

    @property
    def is_short(self) -> bool:
        return self.is_cut and not (self.draft.is_complete or self.is_done)


@dataclass
class Writing:
    """What has been written so far; complete or not, nothing of it is lost.

    Each sentence is put to the judge as soon as it is complete, while the next ones are written; sentences are shown
    in their order, each once it is decided, and those of the detail behind the whole summary. Of two calls that of the
    summary writes the detail's opening where it `has_opening`. `prose` is the latest text that was no structured answer
    but may be one all the same. `written` is what the last call for a part has brought, None for that of a whole
    answer; `draft` is what stands of all of them. What is `ended` gets nothing more.
    """

    grounder: Grounder
    progress: Progress
    judging: Judging
    question: str = ""
    correction: str = "Correction"  # the word for it, with which a sentence begins that sets the summary right
    has_opening: bool = False
    turns: ComputingTurns = field(default_factory=ComputingTurns)
    judged: list[Judged] = field(default_factory=list)
    draft: DraftAnswer | None = None
    prose: DraftAnswer | None = None
    written: dict[Section | None, WrittenPart] = field(default_factory=dict)
    summary_begun: asyncio.Event = field(default_factory=asyncio.Event)  # there is more of it, or it ended
    summary_so_far: str = ""  # as the writer has written it
    ended: dict[Section, asyncio.Event] = field(default_factory=lambda: {part: asyncio.Event() for part in PARTS})
    _is_alone: bool = True  # one call writes both sections
    _reached: dict[Section, _Reached] = field(default_factory=dict)
    _deciding: dict[Section, asyncio.Task[None]] = field(default_factory=dict)
    _settling: dict[Section, list[asyncio.Task[None]]] = field(default_factory=dict)
    _known: dict[str, Judged] = field(default_factory=dict)  # what the judge's first word makes of a sentence, by id
    _repeated: tuple[Judged, Rulings, Rulings] | None = None  # the sentence before, if the summary has said it already
    _correcting: asyncio.Task[None] | None = None
    _answering: asyncio.Task[AnswerRuling] | None = None
    _tasks: list[asyncio.Task[object]] = field(default_factory=list)  # ended ones too: see `aclose`

    async def write(self, model: ChatModel, request: ChatRequest, part: Section | None = None) -> None:
        """Stream one call to its end, of which only `part` is taken. Raises `ModelError`; what was judged stays."""
        stream, self._is_alone = AnswerStream(), part is None
        is_done = False
        self.judging.hurry(is_on=False)
        try:
            async for delta in model.stream(replace(request, accepts=is_answer)):
                for update in stream.feed(delta):
                    if part in (None, update.section):
                        await self._take(update.section, update.text, is_final=update.is_final)
                    elif part == "detail" and update.is_final:
                        self._correct(update.text)
                    elif part == "summary" and self.has_opening:
                        await self._take("opening", update.text, is_final=update.is_final)
                is_done = part is not None and self._has_ended(part)
                if part == "summary" and stream.is_asking_on:
                    self.end("opening")
        finally:
            draft, heard = stream.finish(), stream.heard
            self.written[part] = WrittenPart(draft, heard.cost(request), heard.is_cut, heard.notes, is_done)
            if draft.is_complete or draft.text:  # else what a try before has brought stands
                self.draft = _joined(self.draft, draft, part)
            if not (draft.is_complete or self.judged or part == "detail"):
                prose = read_prose(heard.text)
                self.prose = replace(prose, is_complete=not heard.is_cut) if prose else self.prose
        await self._take_all(draft, part)

    async def _take_all(self, draft: DraftAnswer, part: Section | None = None) -> None:
        # An answer that was cut off ends in half a sentence, which says something else than the whole one.
        is_whole = draft.is_complete
        if part != "detail":
            await self._take("summary", draft.summary, is_final=is_whole or bool(draft.detail))
            self.end("summary")
        elif is_whole:
            self._correct(draft.summary)
        if part != "summary":
            await self._take("detail", draft.detail, is_final=is_whole)
            self.end("detail")
        elif self.has_opening:
            await self._take("opening", draft.detail, is_final=is_whole)

    def end(self, *sections: Section) -> None:
        """Nothing more comes of them: what waits for them goes on."""
        for section in sections:
            self.ended[section].set()
        if "summary" in sections:
            self.summary_begun.set()
        if self._has_ended("detail") and (self._is_alone or self._has_ended("summary")):
            self.judging.hurry()  # nothing but citations follows
        elif not self._is_alone and (self._has_ended("detail") or self._has_ended("summary")):
            self.judging.ask_on()  # beside it the other text is written, whose last sentences make a call of their own

    def _has_ended(self, part: Section) -> bool:
        """Whether the text of a call is all there."""
        last: Section = "opening" if part == "summary" and self.has_opening else part
        return self.ended[last].is_set()

    def _correct(self, text: str) -> None:
        """Show behind the summary what sets it right, once."""
        if text.strip() and self._correcting is None:
            self._correcting = self._started(self._add_correction(text))

    async def _add_correction(self, text: str) -> None:
        await self.ended["summary"].wait()
        await self._shown("summary")
        said = strip_markers(text.strip(), Grammar.NUMBER)
        if not await self._contradicts_summary(said):
            return
        for place, sentence in enumerate(split_sentences(f"{self.correction}: {text.strip()}")):
            reached = self._reached.setdefault("summary", _Reached())
            judged = await self._propose("summary", reached.place, sentence, gap=" " if place else "\n\n")
            reached.place += 1
            self.judged.append(judged)
            self._decide(judged)
        await self._shown("summary")

    async def _contradicts_summary(self, said: str) -> bool:
        """By a rule or the judge: models that mind their task little write another summary where none is asked for."""
        claims = [entry.claim.text for entry in self.judged if entry.section == "summary" and entry.claim]
        if any(veto.force is Force.CONTRADICTS for claim in claims for veto in find_vetoes(claim, said)):
            return True
        rulings = await self.judging.rule([Pair(claim, (said,)) for claim in claims])
        return any(one is not None and one.ruling is Ruling.CONTRADICTED for one in rulings)

    async def look_again(self, source_ids: Sequence[str]) -> None:
        """Have the summary's sentences judged beside later sources; what comes of it counts once all are decided.

        A source that says otherwise becomes a conflict, one that says the same a further source of the sentence.
        """
        written = [entry for entry in self.judged if entry.section != "detail" and entry.claim]
        propose = partial(self.grounder.propose_more, source_ids=source_ids, most=1)
        asked = [await self.turns.take(propose, entry) for entry in written]
        rulings = [
            self.judging.rule([one.pair for one in entry.asked], may_wait=True, needs_reason=False) for entry in asked
        ]
        said = {entry.id: (entry, ruled) for entry, ruled in zip(asked, await asyncio.gather(*rulings), strict=True)}
        for section in dict.fromkeys(entry.section for entry in written):
            await self.ended[section].wait()
            await self._decided(section)
        for place, entry in enumerate(self.judged):
            more, ruled = said.get(entry.id, (None, []))
            if not (more and more.asked and more.claim and entry.claim and entry.shown is not None):
                continue
            if entry.claim.text == more.claim.text:  # else another try has written another sentence meanwhile
                self.judged[place] = self.grounder.conclude(replace(entry, asked=more.asked), ruled)

    async def answers_question(self) -> AnswerRuling:
        """Whether the summary that is shown answers the question; asked as soon as it is there."""
        if self._answering is None:
            self._answering = self._started(self._ask_answer())
        return await self._answering

    async def aclose(self) -> None:
        """End what is still going on; nothing more is shown. What broke whoever waited for it tells."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.judging.aclose()

    async def decided(self) -> list[Judged]:
        """The sentences once the judge has spoken on all of them, or its time is over."""
        if self._correcting is not None:
            await asyncio.shield(self._correcting)
        for section in PARTS:
            await self._decided(section)
        return joined_detail(self.judged, is_cut_off="opening" in self.cut_off)

    async def _decided(self, section: Section) -> None:
        await self._shown(section)
        for settling in self._settling.get(section, ()):
            await asyncio.shield(settling)

    async def _shown(self, section: Section) -> None:
        if section in self._deciding:
            await asyncio.shield(self._deciding[section])  # a deadline ends the waiting, not the sentences

    async def take_prose(self, prose: DraftAnswer) -> None:
        """Take plain text as the answer; the check makes that safe."""
        self.draft = prose
        await self._take_all(prose)

    async def take_shown(self, texts: Mapping[Section, str]) -> None:
        """Take what another writing had shown, which broke off in the last of its texts."""
        for section, text in texts.items():
            await self._take(section, text, is_final=True)
        self._reached[list(texts)[-1]].is_whole = False
        self.end(*PARTS)

    async def take_back(self) -> None:
        """Retract all that was shown."""
        for section in PARTS:
            await self._start_over(section)

    def reopen(self, part: Section | None = None) -> None:
        """Before another try at `part`, or at both sections: what stands there stays until that one has come as far."""
        for section in PARTS:
            if part not in (None, section) and (part, section) != ("summary", "opening"):
                continue
            reached = self._reached.get(section, _Reached())
            reached.is_kept = reached.is_whole and any(entry.section == section for entry in self.judged)
            if not reached.is_kept:
                self.ended[section].clear()
            if section == "summary" and not reached.seen:
                self.summary_so_far = ""

    @property
    def has_begun(self) -> bool:
        """Whether the summary says something, be it in half a sentence; "I cannot answer that." does not."""
        return bool(self.judged) or len(self.summary_so_far.split()) >= 8

    @property
    def is_short(self) -> bool:
        """Whether a part was cut off at its limit."""
        return any(one.is_short for one in self.written.values())

    @property
    def cut_off(self) -> frozenset[Section]:
        """The sections in whose midst the writer ended: at its limit, out of time, or for good."""
        return frozenset(section for section, reached in self._reached.items() if not reached.is_whole)

    def lacks(self, section: Section) -> bool:
        """Whether the section is not there to its end, a detail of two calls with its opening."""
        is_opened = section == "detail" and self.has_opening and not self._is_alone
        own: tuple[Section, ...] = ("opening", "detail") if is_opened else (section,)
        return not all(self._reached.get(one, _Reached()).is_whole for one in own)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(note for one in self.written.values() for note in one.notes))

    @property
    def given_follow_ups(self) -> Sequence[str]:
        return self.draft.follow_ups if self.draft else ()

    @property
    def given_citations(self) -> Sequence[Citation]:
        """The model's own claims and quotes, with their source ids made regular."""
        given = self.draft.citations if self.draft else ()
        return [
            Citation(entry.claim, f"src_{entry.source_id.strip('[] ').removeprefix('src_')}", entry.quote)
            for entry in given
        ]

    async def _take(self, section: Section, text: str, *, is_final: bool) -> None:
        """Judge the sentences that are complete, and the rest too once the section is.

        Sentences are cut from the beginning of their paragraph, so that they do not depend on how the text came.
        """
        text = plain_markers(text, self.grounder.names)
        reached = self._reached.setdefault(section, _Reached(place=self._first_place(section)))
        if reached.is_kept or (len(text) < len(reached.seen) and not (is_final and text.strip())):
            return
        if section == "summary":
            self.summary_so_far = text
            self.summary_begun.set()
        if not text.startswith(reached.seen):
            await self._start_over(section)
            reached = self._reached[section] = _Reached(place=self._first_place(section))
        start, paragraph = len(reached.seen), reached.paragraph
        if not (is_final or may_end(text, start)):
            return  # most pieces are words within a sentence: cutting anew for each of them cost more than all checks
        for sentence in split_sentences(text[paragraph:]):
            first, end = max(start, paragraph + sentence.start), paragraph + sentence.end
            if end <= start:
                continue
            if not (is_final or is_settled(text, first, end)):
                break
            whole = replace(sentence, text=text[first:end]) if first > paragraph + sentence.start else sentence
            gap, start = text[start:first], end
            if not is_repeated(whole, [entry for entry in self.judged if entry.section == section]):
                judged = await self._propose(section, reached.place, whole, gap=gap)
                self.judged.append(judged)
                reached.place += 1
                self._decide(judged)
            # Code may hold blank lines; behind it a new paragraph begins.
            blank = end if "\n\n" in whole.text else text.rfind("\n\n", 0, end) + 2
            reached.paragraph = max(reached.paragraph, blank if blank > 1 else 0)
        reached.seen = text[:start]
        if is_final:
            reached.is_whole = True
            self.end(section)
        if section == "summary" and is_final and self._answering is None:
            self._answering = self._started(self._ask_answer())
        await asyncio.sleep(0)  # what is decided already is shown before more is read

    def _first_place(self, section: Section) -> int:
        return MAX_SENTENCES["opening"] if section == "detail" and self.has_opening else 0

    async def _start_over(self, section: Section) -> None:
        """Retract a section that the writer wrote anew."""
        if self._is_alone:
            self.ended["summary"].set()  # what is shown behind it waits for no more
        await self._decided(section)
        if section == "summary" and self._answering is not None:
            self._answering.cancel()
            self._answering = None
        for entry in [entry for entry in self.judged if entry.section == section]:
            if entry.shown is not None:
                await self.progress.retract(entry.id)
            self.judged.remove(entry)
            self._known.pop(entry.id, None)
        self._reached.pop(section, None)
        self._settling.pop(section, None)

    async def _propose(self, section: Section, place: int, sentence: Sentence, *, gap: str) -> Judged:
        before = before_of(self.judged, section, sentence.text, gap)
        named: Section = "summary" if section == "summary" else "detail"
        said, asserts = sentence.text, sentence.asserts
        last = self.judged[-1] if self.judged and self.judged[-1].section == section else None
        if last and not last.claim and tells_absence(last.text) and "\n" not in gap and tells_of_sources(said):
            return Judged(f"{named}-{place}", section, said, gap, None, None)  # whom it speaks of is not shown
        propose = partial(self.grounder.propose, named, place, said, gap=gap, asserts=asserts, before=before)
        try:
            nearness = Nearness.LATER if self.judged else Nearness.SENTENCE
            judged = await self.turns.take(propose, nearness=nearness)
        except Exception:  # a bug in a rule must not cost the answer: it goes out as not confirmed
            log.exception("checking a sentence broke")
            judged = self.grounder.pass_unchecked(named, place, sentence.text, gap=gap)
        return replace(judged, section=section)

    def _decide(self, judged: Judged) -> None:
        """Ask the judge now; conclude and show once all that stand before are decided."""
        cited = [asked.pair for asked in judged.asked if asked.is_cited]
        others = [asked.pair for asked in judged.asked if not asked.is_cited]
        is_behind = judged.section == "detail" and not (self._is_alone or self._has_ended("summary"))
        rulings = self._started(self.judging.rule(cited, may_wait=is_behind, needs_reason=False))
        may_wait = bool(cited) or judged.shown is not None
        more = self._started(self.judging.rule(others, may_wait=may_wait, needs_reason=False))
        if judged.claim is not None:
            self._started(self._ask_ahead(judged, rulings, more, may_wait=is_behind))
        earlier = self._deciding.get(judged.section)
        if earlier is None and judged.section != "summary":
            earlier = self._started(self._behind(judged.section))
        self._deciding[judged.section] = self._started(self._conclude(judged, rulings, more, earlier))

    async def _behind(self, section: Section) -> None:
        await self.ended["summary"].wait()
        await self._shown("summary")
        if section == "detail" and self.has_opening:
            await self.ended["opening"].wait()
            await self._shown("opening")
        if self._correcting is not None:
            await self._correcting

    def _started(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _ask_answer(self) -> AnswerRuling:
        await self._shown("summary")
        shown = assemble([entry for entry in self.judged if entry.section == "summary"]).summary
        return await self.judging.answers(self.question, strip_markers(shown))

    async def _conclude(
        self, judged: Judged, cited: Rulings, others: Rulings, earlier: asyncio.Task[None] | None
    ) -> None:
        if earlier is not None:
            await earlier
        if self._says_again(judged):
            self.judged.remove(judged)
            self._repeated = judged, cited, others
            return
        repeated, self._repeated = self._repeated, None
        if repeated and judged.claim and judged.before and leans(judged.claim.text):
            self.judged.insert(self.judged.index(judged), repeated[0])  # it tells whom this one speaks of
            await self._settle(*repeated, told=None)
        shown = await self._early(judged, cited)
        if shown is None or leans_on_cut(shown, self.judged[: self.judged.index(judged)]):
            await self._settle(judged, cited, others, told=None)
            return
        self.judged[self.judged.index(judged)] = shown
        await self._show(shown)
        self._settling.setdefault(judged.section, []).append(
            self._started(self._settle(judged, cited, others, told=shown.claim))
        )

    async def _early(self, judged: Judged, cited: Rulings) -> Judged | None:
        """As its own citations carry it: what others say may add to those, and take nothing from what they earned."""
        if judged.shown is not None or judged.claim is None or not judged.asked:
            return judged if judged.claim is not None and judged.shown is not None else None
        early = self.grounder.conclude(judged, _in_turn(judged, await cited, None))
        is_carried = early.claim is not None and early.claim.verdict in (Verdict.SUPPORTED, Verdict.PARTIAL)
        return early if is_carried else None

    async def _ask_ahead(self, judged: Judged, cited: Rulings, others: Rulings, *, may_wait: bool) -> None:
        """Once it is known what becomes of a sentence, whatever those before it still wait for."""
        early = await self._early(judged, cited)
        if early is None:
            early = self.grounder.conclude(judged, _in_turn(judged, await cited, await others))
        if judged in self.judged:  # neither taken back nor decided meanwhile
            self._known[judged.id] = early
        own = [entry for entry in self.judged if entry.section == judged.section]
        known = [self._known.get(entry.id, entry) if entry.asked else entry for entry in own]
        await self.judging.rule(await self._rejudging.foreseen(known), may_wait=may_wait, needs_reason=False)

    @cached_property
    def _rejudging(self) -> Rejudging:
        return Rejudging(self.grounder, self.judging, self.turns)

    async def _settle(self, judged: Judged, cited: Rulings, others: Rulings, *, told: Claim | None) -> None:
        """With all that was asked; what was `told` of it already is told anew where it has another mark now."""
        said = _in_turn(judged, await cited, await others)
        if told is not None:
            said = await self.judging.explained([asked.pair for asked in judged.asked])
        concluded = self.grounder.conclude(judged, said)
        place = next((at for at, entry in enumerate(self.judged) if entry.id == judged.id), None)
        if place is None:
            return  # taken back meanwhile
        settled = await self._rejudging.rejudged(concluded, self.judged[:place])
        self.judged[place] = settled
        if told is None or (settled.claim is not None and settled.claim.verdict is not told.verdict):
            await self._show(settled)
        if settled is concluded and settled.is_cut:  # who reads of a removal reads why, and nothing else waits for that
            why = self._started(self._tell_why(judged, settled, await others))
            self._settling.setdefault(judged.section, []).append(why)

    async def _tell_why(self, judged: Judged, cut: Judged, others: Sequence[Judgement | None]) -> None:
        cited = await self.judging.rule([asked.pair for asked in judged.asked if asked.is_cited])
        if cut in self.judged:
            concluded = self.grounder.conclude(judged, _in_turn(judged, cited, others))
            self.judged[self.judged.index(cut)] = concluded if concluded.is_cut else cut

    def _says_again(self, judged: Judged) -> bool:
        """Whether the detail repeats a sentence that the summary's call has written."""
        if self._is_alone or judged.section != "detail" or judged.claim is None:
            return False
        claim, is_prose = judged.claim, not (judged.is_item or judged.is_row or is_lead(judged.text))
        said = [entry.claim for entry in self.judged if entry.section != "detail" and entry.claim and entry.shown]
        return any(is_same_claim(claim.text, one.text) or (is_prose and adds_nothing(claim, one)) for one in said)

    async def _show(self, judged: Judged) -> None:
        """As it is to stay: what is cut before it is cut for good."""
        if judged.shown is None:
            return
        is_summary = judged.section == "summary"
        own = [entry for entry in joined_detail(self.judged) if (entry.section == "summary") is is_summary]
        at = next((place for place, entry in enumerate(own) if entry.id == judged.id), None)
        told = judged if at is None else untied(own, at)
        if told.claim is not None:
            before = judged.gap if at is None else lead_in(own, at)
            await self.progress.sentence(told.claim, as_told(told), before=before)


@dataclass
class Tries:
    """Tries at an answer or a `part` of it, each of which is asked in a way that the failure before it calls for.

    After an answer that could not be read the schema is stated in words; after one that was cut off at its beginning
    there is room for twice as much. What an earlier try has shown stays until the next one has come as far. `usage` is
    what all have cost.
    """

    model: ChatModel
    request: Callable[[], ChatRequest]
    writing: Writing
    count_error: Callable[[str, Exception], None]
    part: Section | None = None
    usage: tuple[ModelUsage, ...] = ()
    tries: int = 0
    vary: Callable[[ChatRequest], ChatRequest] = asked_in_words

    async def __call__(self) -> None:
        """One try. Raises `ModelError`."""
        self.tries += 1
        self.writing.reopen(self.part)
        request = self.request()
        try:
            await self.writing.write(self.model, request if self.tries == 1 else self.vary(request), self.part)
        except ModelError as exc:
            if not isinstance(exc, ModelGarbled):
                self.vary = lambda request: request  # as it was
            self.count_error("synthesize", exc)
            if not self.writing.written[self.part].is_done:  # else nobody misses what should have followed
                raise
        finally:
            written = self.writing.written[self.part]
            self.usage = (*self.usage, written.usage)
        is_begun = written.is_short and not written.draft.detail
        if is_begun and self.tries == 1:
            self.vary = with_more_tokens
        elif written.draft.is_complete or any(self.part in (None, entry.section) for entry in self.writing.judged):
            return
        unread = ModelGarbled("the model's answer holds no summary", user_message=say(UNREADABLE))
        self.count_error("synthesize", unread)
        raise unread


def _in_turn(
    judged: Judged, cited: Sequence[Judgement | None], others: Sequence[Judgement | None] | None
) -> list[Judgement | None]:
    """The judgements in the order of `judged.asked`; without `others` theirs are open."""
    of_cited, of_others = iter(cited), iter(others or [None] * len(judged.asked))
    return [next(of_cited if asked.is_cited else of_others) for asked in judged.asked]


def _joined(known: DraftAnswer | None, draft: DraftAnswer, part: Section | None) -> DraftAnswer:
    """The draft of a whole answer with what a call for one part has brought."""
    if part is None or known is None:
        return draft
    summary, detail = (draft, known) if part == "summary" else (known, draft)
    is_complete = known.is_complete and draft.is_complete
    follow_ups = summary.follow_ups or detail.follow_ups
    return replace(summary, detail=detail.detail, is_complete=is_complete, follow_ups=follow_ups)


def as_told(judged: Judged) -> str | None:
    """A sentence while the answer is written: no citation that nobody has judged yet, where others carry it."""
    claim = judged.claim
    if claim is None or judged.shown is None:
        return judged.shown
    told = [one.source_id for one in claim.evidence if one.verdict in (claim.verdict, Verdict.PARTIAL)]
    return with_markers(judged.text, told)
