"""A section's prose: written from the evidence, quotations rephrased once, each sentence judged (S001, phase 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.evidence.citations import strip_markers
from core.evidence.judge import Judging
from core.evidence.structure import Judged, assemble
from core.library.answer import passages_of
from core.library.paper import Paper
from core.llm.ask_model import ask_model, strict
from core.llm.drafts import read_answer, read_prose
from core.model.answer import ModelUsage, RemovedSentence
from core.model.errors import ModelError
from core.model.job import Json, rows
from core.model.ports import ChatModel, ChatRequest
from core.model.source import Source
from core.pipeline.work import Work
from core.prompts import load_prompt
from core.section.brief import Brief
from core.section.evidence import KeptEvidence
from core.section.gathering import context_block
from core.section.prose import BRIEF_ID, KeyGrounder, Quotations, with_keys
from core.section.sections import PLANS, Section
from core.section.usage import Phase, PhaseUsage
from core.stages.prompting import WRITING_TEMPERATURE, fenced, language_name
from core.stages.writing import before_of, settle
from core.text.growing_json import whole_number
from core.text.injection import masked
from core.text.markers import Grammar
from core.text.passages import Passage
from core.text.sentences import split_sentences

_MAX_PROSE_TOKENS = 2500
_TOKENS_A_SENTENCE = 120
_CHECK_TIMEOUT_S = 30.0
CUT_OFF = "The model's text was cut off at its length limit; its end is missing."
FROM_SUMMARIES = "The model's text could not be read; these are its summaries of the passages."


@dataclass(frozen=True)
class Written:
    """A section as it may be shown. `judged` are its sentences with numbers; `text` has keys instead.

    `unknown_keys` are those that the writer made up; `cut` are sentences that quoted and could not be rephrased.
    `note` says what was wrong with the writer's answer, "" where nothing was.
    """

    section: Section
    text: str
    judged: tuple[Judged, ...]
    unknown_keys: tuple[str, ...] = ()
    cut: tuple[RemovedSentence, ...] = ()
    rephrased: int = 0
    is_checked: bool = True
    usage: tuple[PhaseUsage, ...] = ()
    note: str = ""


@dataclass
class Writer:
    """`sources` are the brief and the papers; `keys` are by source id, `evidence` is what this section may use."""

    work: Work
    model: ChatModel
    brief: Brief
    section: Section
    sources: Sequence[Source]
    papers: Mapping[str, Paper]
    keys: Mapping[str, str]
    evidence: Sequence[KeptEvidence]
    first_place: int

    def __post_init__(self) -> None:
        self._usage: list[PhaseUsage] = []
        self._note = ""
        self._ids = {paper.id: source_id for source_id, paper in self.papers.items()}
        self._settings = self.work.deps.settings.section

    async def write(self) -> Written:
        """Raises `ModelError` when the writer fails twice; a check that fails leaves sentences marked as unchecked."""
        with self.work.deps.stage("section"):
            draft = await self._draft()
        sentences = split_sentences(draft)
        texts, cut, rephrased = await self._without_quotations([sentence.text for sentence in sentences])
        grounder = await asyncio.to_thread(self._grounder)
        judged: list[Judged] = []
        end = 0
        for at, (sentence, text) in enumerate(zip(sentences, texts, strict=True)):
            gap = draft[end : sentence.start]
            end = sentence.end
            is_repeated = sentence.asserts and text in texts[:at]  # small models write in circles
            if text and not is_repeated:
                place = self.first_place + at
                before = before_of(judged, "detail", text, gap)
                judged.append(grounder.propose("detail", place, text, gap=gap, asserts=sentence.asserts, before=before))
        judged, is_checked = await self._settled(judged, grounder)
        shown = with_keys(assemble(judged, marks_cuts=False).detail, self.keys)
        unknown = tuple(dict.fromkeys(grounder.unknown))
        usage = tuple(self._usage)
        return Written(
            self.section, shown, tuple(judged), unknown, tuple(cut), rephrased, is_checked, usage, self._note
        )

    async def _draft(self) -> str:
        """The model's text, also in plain prose; of a model that wrote nothing readable, what the evidence says."""
        told = await ask_model(self.model, self._request(), lambda fields: _text(fields.get("text")))
        for usage in told.usage:
            self._pay(Phase.PROSE, usage)
        if told.value:
            return told.value
        begun = read_answer(told.text).summary
        if whole := split_sentences(begun)[:-1]:
            self._note = CUT_OFF
            return begun[: whole[-1].end]
        if (prose := read_prose(told.text)) is not None:
            return prose.text
        self._note = FROM_SUMMARIES
        if told.unread:
            self.work.deps.count_error("section", told.unread)
        return "\n\n".join(map(self._from_evidence, self.evidence))

    def _from_evidence(self, entry: KeptEvidence) -> str:
        return f"{entry.summary.rstrip(' .')} ({self.keys[self._ids[entry.paper_id]]})."

    def _request(self) -> ChatRequest:
        plan = PLANS[self.section]
        prompt = load_prompt("write_section").substitute(
            title=plan.title,
            focus=plan.focus,
            instructions=plan.instructions,
            words=str(plan.words),
            language=language_name(self.work.job.intent.language),
        )
        return ChatRequest(
            purpose=Phase.PROSE.value,
            system=prompt,
            user="\n\n".join([context_block(self.brief), *map(self._block, self.evidence)]),
            schema_name="section",
            schema=strict({"text": {"type": "string"}}),
            max_tokens=_MAX_PROSE_TOKENS,
            timeout_s=self._settings.write_timeout_s,
            temperature=WRITING_TEMPERATURE,
        )

    def _block(self, entry: KeptEvidence) -> str:
        paper = self.papers[self._ids[entry.paper_id]]
        about = fenced(f"{paper.title} ({', '.join(paper.authors[:3]) or 'unknown'}, {paper.year or 'undated'})")
        return (
            f'<source key="{self.keys[self._ids[entry.paper_id]]}">\n{about}\nFound by: '
            f"{fenced(entry.source_query[:200])}\nSummary: {fenced(entry.summary)}\n"
            f"Passage:\n{fenced(masked(entry.chunk.chunk_text))}\n</source>"
        )

    async def _without_quotations(self, sentences: Sequence[str]) -> tuple[list[str], list[RemovedSentence], int]:
        """The sentences in their own words, "" for one that is cut, and how many were rephrased (S001-32, D4)."""
        longest = self._settings.max_quoted_words
        titles = [paper.title for paper in self.papers.values()]
        passages = [entry.chunk.chunk_text for entry in self.evidence]
        quotations = Quotations(passages, longest=longest, terms=[*titles, self.brief.text])
        runs = {at: run for at, text in enumerate(sentences) if (run := quotations.in_sentence(text))}
        if not runs:
            return list(sentences), [], 0
        texts, cut = list(sentences), list[RemovedSentence]()
        asked = [(at, sentences[at], run) for at, run in runs.items()]
        new = await self._rephrased(asked)
        for at, sentence, run in asked:
            better = new.get(at, "")
            texts[at] = better if better and not quotations.in_sentence(better) else ""
            if not texts[at]:
                words = len(run.split())
                reason = f"it repeats {words} words in a row of its source, and could not be rephrased"
                cut.append(RemovedSentence(strip_markers(sentence, Grammar.KEY, keys=set(self.keys.values())), reason))
        return texts, cut, len(runs) - len(cut)

    async def _rephrased(self, asked: Sequence[tuple[int, str, str]]) -> dict[int, str]:
        """By place; what the model does not give is missing."""
        items = [
            f'<item number="{at}">\n{fenced(sentence)}\nRepeats: {fenced(run)}\n</item>' for at, sentence, run in asked
        ]
        numbers: list[Json] = [at for at, _, _ in asked]
        entry = strict({"number": {"type": "integer", "enum": numbers}, "sentence": {"type": "string"}})
        request = ChatRequest(
            purpose=Phase.REPHRASE.value,
            system=load_prompt("rephrase_quotes").template,
            user="\n\n".join(items),
            schema_name="rephrased",
            schema=strict({"items": {"type": "array", "items": entry, "maxItems": len(items)}}),
            max_tokens=100 + _TOKENS_A_SENTENCE * len(items),
            timeout_s=self._settings.call_timeout_s,
        )
        try:
            told = await ask_model(self.model, request, lambda fields: rows(fields.get("items")) or None)
        except ModelError as exc:
            self.work.deps.count_error("rephrase", exc)
            return {}
        for usage in told.usage:
            self._pay(Phase.REPHRASE, usage)
        found: dict[int, str] = {}
        for row in told.value or ():
            number, sentence = whole_number(row.get("number")), row.get("sentence")
            if number is not None and isinstance(sentence, str):
                found.setdefault(number, " ".join(sentence.split()))
        return found

    def _grounder(self) -> KeyGrounder:
        passages: dict[str, list[Passage]] = {BRIEF_ID: [Passage(0, len(self.brief.text), self.brief.text)]}
        by_id = {source.id: source for source in self.sources}
        for source_id in self.keys:
            spans = [(entry.chunk.start, entry.chunk.end) for entry in self._of(source_id)]
            if spans:
                passages[source_id] = passages_of(by_id[source_id], spans)
        cited = [by_id[source_id] for source_id in (BRIEF_ID, *self.keys) if source_id in passages]
        keys = {source_id: key for source_id, key in self.keys.items() if source_id in passages}
        grounder = KeyGrounder(cited, self.work.job.query, passages, keys=keys)
        grounder.read_ahead()
        return grounder

    def _of(self, source_id: str) -> list[KeptEvidence]:
        return [entry for entry in self.evidence if self._ids[entry.paper_id] == source_id]

    async def _settled(self, judged: list[Judged], grounder: KeyGrounder) -> tuple[list[Judged], bool]:
        """With the judge's word on what the rules left open, all asked at once."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + _CHECK_TIMEOUT_S
        check_s = _CHECK_TIMEOUT_S * self.work.deps.settings.patience
        judging = Judging(self.work.deps.judge, lambda: ends_at - loop.time(), call_timeout_s=check_s)
        try:
            settled = await settle(judged, grounder, judging)
        finally:
            await judging.aclose()
        for spent in judging.usage:
            self._pay(Phase.CHECK, spent)
        for failure in judging.failures:
            self.work.deps.count_error("check", failure)
        return settled, not judging.failures

    def _pay(self, phase: Phase, usage: ModelUsage) -> None:
        self._usage.append(PhaseUsage(phase, usage))


def _text(value: Json) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def select_for_writing(
    evidence: Sequence[KeptEvidence], *, min_papers: int, max_evidence: int, least_score: float = 0.0
) -> list[KeptEvidence]:
    """The best chunk of every paper, then further ones only while there are fewer than `min_papers` papers (S001-33).

    `evidence` is best first; what has nothing to do with its query is left out, whatever number that leaves.
    """
    useful = [entry for entry in evidence if entry.llm_score > 0 and entry.combined_score >= least_score]
    firsts = list({entry.paper_id: entry for entry in reversed(useful)}.values())[::-1]
    rest = [entry for entry in useful if entry not in firsts]
    chosen = firsts if len(firsts) >= min_papers else [*firsts, *rest[: 2 * min_papers - len(firsts)]]
    return sorted(chosen[:max_evidence], key=lambda entry: -entry.combined_score)
