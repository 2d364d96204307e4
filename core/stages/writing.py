"""A model's answer as it is written: streamed, cut into sentences, judged and shown one by one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import regex

from core.evidence.citations import strip_markers
from core.evidence.grounding import Grounder, as_told
from core.evidence.judge import AnswerRuling, Judgement, Judging
from core.evidence.structure import ITEM, Judged, assemble, is_lead, leans
from core.llm.drafts import SECTIONS, AnswerStream, DraftAnswer, is_answer, read_prose
from core.model.answer import Citation, Claim, ModelUsage, Section, Verdict
from core.model.ports import ChatModel, ChatRequest
from core.presentation.progress import Progress
from core.text.sentences import Sentence, may_end, split_sentences

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_BACK = 4  # sentences looked through for the one that names whom they all speak of
MIN_REPEATED_WORDS = 4  # shorter ones may answer twice, as "Not known." in a table does
MAX_IN_A_ROW = 3  # sentences alike but for their numbers; figures of several years are given as a list
MAX_SUMMARY_SENTENCES = 30  # of 120 words that are asked for
LEANS_ON_CUT = "it leans on a sentence that could not be confirmed"

_NEXT_WORD = regex.compile(r"\s*[^\w\s\[(【]*(?:[\p{Han}\p{Hiragana}\p{Katakana}]{2}|\w[\w'’]*[^\w'’])")
_NEXT_ITEM = regex.compile(r"\n\s*(?:[-*+•]|\d{1,2}[.)]|#{1,6})\s+\w")
_NEXT_LINE = regex.compile(r"\n\s*\S[^\n]*\n")
_NEXT_PARAGRAPH = regex.compile(r"[^\S\n]*\n[^\S\n]*\n\s*\S")
_OPEN_BRACKET = regex.compile(r"[\[【(][^\])】]*$")
_ENDED = regex.compile(r"[^\w:：*_`|]$")


@dataclass
class _Reached:
    """How far a section has been cut into sentences: `seen` is that text, `place` counts the sentences.

    `paragraph` is where the last paragraph in it begins.
    """

    seen: str = ""
    paragraph: int = 0
    place: int = 0


@dataclass
class Writing:
    """What has been written so far; complete or not, nothing of it is lost.

    Each sentence is put to the judge as soon as it is complete, while the next ones are written; sentences are shown
    in their order, each once it is decided. `prose` is the latest text that was no structured answer but may be one
    all the same; `is_cut` and `notes` are those of the last call (core/model/ports.py, `ChatDelta`).
    """

    grounder: Grounder
    progress: Progress
    judging: Judging
    question: str = ""
    judged: list[Judged] = field(default_factory=list)
    draft: DraftAnswer | None = None
    prose: DraftAnswer | None = None
    is_cut: bool = False
    notes: tuple[str, ...] = ()
    usage: ModelUsage = field(default_factory=ModelUsage)
    _reached: dict[Section, _Reached] = field(default_factory=dict)
    _deciding: asyncio.Task[None] | None = None
    _answering: asyncio.Task[AnswerRuling] | None = None
    _tasks: set[asyncio.Task[object]] = field(default_factory=set)

    async def write(self, model: ChatModel, request: ChatRequest) -> None:
        """Stream one call to its end. Raises `ModelError`; what was judged until then stays."""
        stream = AnswerStream()
        self.judging.hurry(is_on=False)
        try:
            async for delta in model.stream(replace(request, accepts=is_answer)):
                for update in stream.feed(delta):
                    await self._take(update.section, update.text, is_final=update.is_final)
        finally:
            self.draft = stream.finish()
            heard, self.usage = stream.heard, stream.heard.cost(request)
            self.is_cut, self.notes = heard.is_cut, heard.notes
            if not (self.draft.is_complete or self.judged):
                prose = read_prose(heard.text)
                self.prose = replace(prose, is_complete=not self.is_cut) if prose else self.prose
        await self._take_all(self.draft)

    async def _take_all(self, draft: DraftAnswer) -> None:
        self.judging.hurry()
        # An answer that was cut off ends in half a sentence, which says something else than the whole one.
        is_whole = draft.is_complete
        await self._take("summary", draft.summary, is_final=is_whole or bool(draft.detail))
        await self._take("detail", draft.detail, is_final=is_whole)

    async def answers_question(self) -> AnswerRuling:
        """Whether the summary that is shown answers the question; asked as soon as it is there."""
        if self._answering is None:
            self._answering = self._started(self._ask_answer(self._deciding))
        return await self._answering

    async def aclose(self) -> None:
        """End what is still going on; nothing more is shown."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.judging.aclose()

    async def decided(self) -> list[Judged]:
        """The sentences once the judge has spoken on all of them, or its time is over."""
        if self._deciding is not None:
            await asyncio.shield(self._deciding)  # a deadline ends the waiting, not the sentences
        return self.judged

    async def take_prose(self, prose: DraftAnswer) -> None:
        """Take plain text as the answer; the check makes that safe."""
        self.draft = prose
        await self._take_all(prose)

    async def take_back(self) -> None:
        """Retract all that was shown, before a second try."""
        for section in SECTIONS:
            await self._start_over(section)

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
        if section == "detail" and is_final:  # nothing but its citations follows
            self.judging.hurry()
        reached = self._reached.setdefault(section, _Reached())
        if not text.startswith(reached.seen):
            await self._start_over(section)
            reached = self._reached[section] = _Reached()
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
                judged = self._propose(section, reached.place, whole, gap=gap)
                self.judged.append(judged)
                reached.place += 1
                self._decide(judged)
            # Code may hold blank lines; behind it a new paragraph begins.
            blank = end if "\n\n" in whole.text else text.rfind("\n\n", 0, end) + 2
            reached.paragraph = max(reached.paragraph, blank if blank > 1 else 0)
        reached.seen = text[:start]
        if section == "summary" and is_final and self._answering is None:
            self._answering = self._started(self._ask_answer(self._deciding))
        await asyncio.sleep(0)  # what is decided already is shown before more is read

    async def _start_over(self, section: Section) -> None:
        """Retract a section that the writer wrote anew."""
        await self.decided()
        if section == "summary" and self._answering is not None:
            self._answering.cancel()
            self._answering = None
        for entry in [entry for entry in self.judged if entry.section == section]:
            if entry.shown is not None:
                await self.progress.retract(entry.id)
            self.judged.remove(entry)
        self._reached.pop(section, None)

    def _propose(self, section: Section, place: int, sentence: Sentence, *, gap: str) -> Judged:
        before = before_of(self.judged, section, sentence.text, gap)
        try:
            return self.grounder.propose(
                section, place, sentence.text, gap=gap, asserts=sentence.asserts, before=before
            )
        except Exception:  # a bug in a rule must not cost the answer: it goes out as not confirmed
            log.exception("checking a sentence broke")
            return self.grounder.pass_unchecked(section, place, sentence.text, gap=gap)

    def _decide(self, judged: Judged) -> None:
        """Ask the judge now; conclude and show once all that stand before are decided."""
        rulings = self._started(self.judging.rule([asked.pair for asked in judged.asked]))
        self._deciding = self._started(self._conclude(judged, rulings, self._deciding))

    def _started(self, work: Coroutine[object, object, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _ask_answer(self, decided: asyncio.Task[None] | None) -> AnswerRuling:
        if decided is not None:
            await asyncio.shield(decided)
        shown = assemble([entry for entry in self.judged if entry.section == "summary"]).summary
        return await self.judging.answers(self.question, strip_markers(shown))

    async def _conclude(
        self, judged: Judged, rulings: asyncio.Task[list[Judgement | None]], earlier: asyncio.Task[None] | None
    ) -> None:
        if earlier is not None:
            await earlier
        shown_early = judged.shown is not None and judged.claim is not None
        if shown_early:
            await self._show(judged)
        place = self.judged.index(judged)
        settled = self.grounder.conclude(judged, await rulings)
        settled = await rejudged(settled, self.judged[:place], self.grounder, self.judging)
        self.judged[place] = settled
        if not shown_early or settled.shown is None:
            await self._show(settled)

    async def _show(self, judged: Judged) -> None:
        if judged.claim is not None and judged.shown is not None:
            await self.progress.sentence(judged.claim, as_told(judged))


def is_repeated(sentence: Sentence, own: Sequence[Judged]) -> bool:
    """What its section has said before, or says for the third time in a row with other numbers, as small models do
    until their tokens are used up; and what comes behind a summary that has long been none.

    It is neither judged nor shown.
    """
    said = sentence.text.strip()
    if not sentence.asserts or len(said.split()) < MIN_REPEATED_WORDS:
        return False
    if any(entry.text.strip() == said for entry in own):
        return True
    if own and own[0].section == "summary" and len(own) >= MAX_SUMMARY_SENTENCES:
        return True
    is_prose = not (ITEM.match(sentence.text) or said.startswith("|"))
    last = own[1 - MAX_IN_A_ROW :]
    return is_prose and len(last) == MAX_IN_A_ROW - 1 and {_mould(entry.text) for entry in last} == {_mould(said)}


def _mould(text: str) -> str:
    """A sentence without its numbers."""
    return regex.sub(r"\d[\d.,]*", "0", text.strip())


def before_of(judged: Sequence[Judged], section: Section, text: str, gap: str) -> str:
    """What tells whom a sentence speaks of: its list's lead, its table's head, else the sentence before it."""
    own = [entry for entry in judged if entry.section == section]
    if ITEM.match(text) or text.lstrip().startswith("|"):
        kin = next(
            (entry for entry in reversed(own) if not (entry.is_item or entry.is_rule or entry.is_claimed_row)), None
        )
        if kin is not None and (is_lead(kin.text) or kin.is_row):
            return kin.text.strip()
    claims = [entry.claim for entry in own if entry.claim is not None]
    return _said_before(claims) if gap.count("\n") < 2 else ""


def _said_before(claims: Sequence[Claim]) -> str:
    """The last sentence, behind the one that names whom it speaks of where it leans itself."""
    said: list[str] = []
    for claim in reversed(claims[-MAX_BACK:]):
        said.insert(0, claim.text)
        if not leans(claim.text):
            break
    return " ".join(said)


async def rejudged(judged: Judged, earlier: Sequence[Judged], grounder: Grounder, judging: Judging) -> Judged:
    """A sentence that leans on one that was cut, judged again behind the last one that is shown."""
    if not leans_on_cut(judged, earlier):
        return judged
    again = behind_shown(judged, earlier, grounder)
    return grounder.conclude(again, await judging.rule([asked.pair for asked in again.asked]))


def leans_on_cut(judged: Judged, earlier: Sequence[Judged]) -> bool:
    """Whether a sentence that is shown speaks of somebody whom only a cut sentence names."""
    if judged.claim is None or judged.shown is None or not judged.before or not leans(judged.claim.text):
        return False
    own = [entry for entry in earlier if entry.section == judged.section and entry.claim is not None]
    return bool(own) and own[-1].is_cut


def behind_shown(judged: Judged, earlier: Sequence[Judged], grounder: Grounder) -> Judged:
    """The sentence, to be judged behind the last one of its section that is shown; cut where there is none."""
    own = [entry for entry in earlier if entry.section == judged.section]
    shown = [entry.claim for entry in own if entry.claim and entry.shown is not None]
    if shown:
        return grounder.propose_again(judged, before=_said_before(shown))
    claim = judged.claim
    cut = replace(claim, verdict=Verdict.UNSUPPORTED, evidence=(), reasons=(LEANS_ON_CUT,)) if claim else None
    return replace(judged, claim=cut, shown=None, asked=())


async def settle(judged: Sequence[Judged], grounder: Grounder, judging: Judging) -> list[Judged]:
    """Sentences that are all there, judged at once; their order and the undecided ones' places stay."""
    judging.hurry()
    rulings = await asyncio.gather(*(judging.rule([asked.pair for asked in entry.asked]) for entry in judged))
    settled: list[Judged] = []
    for entry, said in zip(judged, rulings, strict=True):
        settled.append(await rejudged(grounder.conclude(entry, said), settled, grounder, judging))
    return settled


def is_settled(text: str, start: int, end: int) -> bool:
    """Whether more text cannot change where the sentence `text[start:end]` ends, nor what it is.

    A stop counts once the next word is whole ("U.S. A…" may go on as "U.S. Army"), the end of a line once the next
    line is (a line of dashes makes a heading of it, another row a table), and nothing within an open bracket or code.
    """
    sentence, behind = text[start:end], text[end:]
    line_goes_on = behind.partition("\n")[0].strip()
    if line_goes_on:
        is_open = sentence.count("`") % 2 or _OPEN_BRACKET.search(sentence)
        return not is_open and bool(_NEXT_WORD.match(behind))
    if _NEXT_LINE.match(behind) or (_NEXT_ITEM.match(behind) and _ENDED.search(sentence)):
        return True
    return bool(_NEXT_PARAGRAPH.match(behind) and _ENDED.search(sentence))
