"""A model's answer as it is written: streamed, cut into sentences, judged and shown one by one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import regex

from core.answer import Citation, ModelUsage, Section
from core.evidence.grounding import Grounder, Judged
from core.llm import SECTIONS, AnswerStream, DraftAnswer, estimate_usage
from core.ports import ChatModel, ChatRequest
from core.progress import Progress
from core.sentences import Sentence, may_end, split_sentences

log = logging.getLogger(__name__)

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
    """What has been written so far; complete or not, nothing of it is lost."""

    grounder: Grounder
    progress: Progress
    judged: list[Judged] = field(default_factory=list)
    draft: DraftAnswer | None = None
    usage: ModelUsage = field(default_factory=ModelUsage)
    has_unchecked: bool = False
    _reached: dict[Section, _Reached] = field(default_factory=dict)

    async def write(self, model: ChatModel, request: ChatRequest) -> None:
        """Stream one call to its end. Raises `ModelError`; what was judged until then stays."""
        stream = AnswerStream()
        pieces = 0
        try:
            async for delta in model.stream(request):
                pieces += len(delta.text)
                for update in stream.feed(delta):
                    await self._take(update.section, update.text, is_final=update.is_final)
        finally:
            self.draft = stream.finish()
            self.usage = stream.usage or estimate_usage(request, "x" * pieces)
        # An answer that was cut off ends in half a sentence, which says something else than the whole one.
        is_whole = self.draft.is_complete
        await self._take("summary", self.draft.summary, is_final=is_whole or bool(self.draft.detail))
        await self._take("detail", self.draft.detail, is_final=is_whole)

    async def take_back(self) -> None:
        """Retract all that was shown, before a second try."""
        for section in SECTIONS:
            await self._start_over(section)
        self.has_unchecked = False

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
            judged = self._judge(section, reached.place, whole, gap=text[start:first])
            self.judged.append(judged)
            start, reached.place = end, reached.place + 1
            await self._show(judged)
            # Code may hold blank lines; behind it a new paragraph begins.
            blank = end if "\n\n" in whole.text else text.rfind("\n\n", 0, end) + 2
            reached.paragraph = max(reached.paragraph, blank if blank > 1 else 0)
        reached.seen = text[:start]

    async def _start_over(self, section: Section) -> None:
        """Retract a section that the writer wrote anew."""
        for entry in [entry for entry in self.judged if entry.section == section]:
            if entry.shown is not None:
                await self.progress.retract(entry.id)
            self.judged.remove(entry)
        self._reached.pop(section, None)

    def _judge(self, section: Section, place: int, sentence: Sentence, *, gap: str) -> Judged:
        try:
            return self.grounder.judge(section, place, sentence.text, gap=gap, asserts=sentence.asserts)
        except Exception:  # a bug in a rule must not cost the answer: it goes out labelled as unchecked
            log.exception("checking a sentence broke")
            self.has_unchecked = True
            return self.grounder.pass_unchecked(section, place, sentence.text, gap=gap)

    async def _show(self, judged: Judged) -> None:
        if judged.claim is not None and judged.shown is not None:
            await self.progress.sentence(judged.claim, judged.shown)


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
