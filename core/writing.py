"""A model's answer as it is written: streamed, cut into sentences, judged and shown one by one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.answer import Citation, ModelUsage, Section
from core.grounding import Grounder, Judged
from core.llm import AnswerStream, DraftAnswer, estimate_usage
from core.ports import ChatModel, ChatRequest
from core.progress import Progress
from core.sentences import Sentence, split_sentences

log = logging.getLogger(__name__)


@dataclass
class Writing:
    """What has been written so far; complete or not, nothing of it is lost."""

    grounder: Grounder
    progress: Progress
    judged: list[Judged] = field(default_factory=list)
    draft: DraftAnswer | None = None
    usage: ModelUsage = field(default_factory=ModelUsage)
    has_unchecked: bool = False
    _read: dict[Section, int] = field(default_factory=dict)
    _places: dict[Section, int] = field(default_factory=dict)

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
        await self._take("summary", self.draft.summary, is_final=True)
        await self._take("detail", self.draft.detail, is_final=True)

    async def take_back(self) -> None:
        """Retract all that was shown, before a second try."""
        for entry in self.judged:
            if entry.shown is not None:
                await self.progress.retract(entry.id)
        self.judged.clear()
        self._read.clear()
        self._places.clear()

    @property
    def given_citations(self) -> Sequence[Citation]:
        """The model's own claims and quotes, with their source ids made regular."""
        given = self.draft.citations if self.draft else ()
        return [
            Citation(entry.claim, f"src_{entry.source_id.strip('[] ').removeprefix('src_')}", entry.quote)
            for entry in given
        ]

    async def _take(self, section: Section, text: str, *, is_final: bool) -> None:
        """Judge the sentences that are complete: all but the last, and that too once the section is."""
        start = self._read.get(section, 0)
        sentences = split_sentences(text[start:])
        ready = sentences if is_final else sentences[:-1]
        end = 0
        for sentence in ready:
            place = self._places.get(section, 0)
            gap = text[start + end : start + sentence.start]
            judged = self._judge(section, place, sentence, gap=gap)
            self._places[section] = place + 1
            end = sentence.end
            self.judged.append(judged)
            await self._show(judged)
        self._read[section] = start + end

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
