"""A section's prose: written from the evidence, quotations rephrased once, each sentence judged (S001, phase 3).

And the document that its sections become: as the answer, as Markdown, LaTeX and BibTeX, and as a table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import regex

from core.evidence.citations import Grammar, KeyRef, parse_markers, strip_markers
from core.evidence.judge import Judging
from core.evidence.structure import RULE, Judged, assemble, before_of, cells
from core.library.funnel import passages_of
from core.library.paper import Paper
from core.llm.ask_model import ask_model, read_answer, read_prose, strict
from core.model.answer import AnswerFile, Claim, JobResult, ModelUsage, RemovedSentence, Verdict
from core.model.errors import ModelError
from core.model.job import Json, rows
from core.model.ports import ChatModel, ChatRequest
from core.model.source import Source
from core.pipeline.work import Work
from core.presentation.bibliography import latex_text
from core.prompts import load_prompt
from core.section.agent import AgentRefusal, context_block
from core.section.evidence import KeptEvidence, Phase, PhaseUsage, Searched, usage_by_phase
from core.section.prose import (
    BRIEF_ID,
    KeyGrounder,
    Quotations,
    as_prose,
    author,
    author_years,
    bibliography,
    with_keys,
)
from core.section.sections import PLANS, Brief, Section
from core.stages.prompting import WRITING_TEMPERATURE, fenced, language_name
from core.stages.rejudging import settle
from core.text.chunking import Passage
from core.text.formulas import plain_formulas
from core.text.growing_json import whole_number
from core.text.injection import masked
from core.text.saying import say, say_again, say_many
from core.text.sentences import split_sentences

_MAX_PROSE_TOKENS = 2500
_TOKENS_A_SENTENCE = 120
_CHECK_TIMEOUT_S = 30.0
CUT_OFF = "The model's text was cut off at its length limit; its end is missing."
_REPEATS = "it repeats {number} words in a row of its source, and could not be rephrased"
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
        authors = {self.keys[one]: author(paper) for one, paper in self.papers.items() if one in self.keys}
        draft = as_prose(draft, title=PLANS[self.section].title, authors=authors)
        sentences = split_sentences(draft)
        texts, cut, rephrased = await self._without_quotations([sentence.text for sentence in sentences])
        grounder = await asyncio.to_thread(self._grounder)
        judged: list[Judged] = []
        end, skipped = 0, ""
        for at, (sentence, text) in enumerate(zip(sentences, texts, strict=True)):
            gap = skipped if "\n" in skipped else draft[end : sentence.start]
            end, skipped = sentence.end, gap
            is_repeated = sentence.asserts and text in texts[:at]  # small models write in circles
            if text and not is_repeated:
                place, skipped = self.first_place + at, ""
                before = before_of(judged, "detail", text, gap)
                judged.append(grounder.propose("detail", place, text, gap=gap, asserts=sentence.asserts, before=before))
        judged, is_checked = await self._settled(judged, grounder)
        shown = with_keys(assemble(judged, marks_cuts=False).detail, self.keys)
        unknown = tuple(dict.fromkeys(grounder.unknown))
        usage = tuple(self._usage)
        said = (shown, tuple(judged), unknown, tuple(cut), rephrased)
        return Written(self.section, *said, is_checked, usage, self._note)

    async def _draft(self) -> str:
        """The model's text, also in plain prose; of a model that wrote nothing readable, what the evidence says."""
        told = await ask_model(self.model, self._request(), _text)
        for usage in told.usage:
            self._pay(Phase.PROSE, usage)
        if told.value:
            return told.value
        begun = read_answer(told.text).summary
        if whole := split_sentences(begun)[:-1]:
            self._note = say(CUT_OFF)
            return begun[: whole[-1].end]
        if (prose := read_prose(told.text)) is not None:
            return prose.text
        self._note = say(FROM_SUMMARIES)
        if told.unread:
            self.work.deps.count_error("section", told.unread)
        keys = {entry.paper_id: self.keys[self._ids[entry.paper_id]] for entry in self.evidence}
        return "\n\n".join(f"{entry.summary.rstrip(' .')} ({keys[entry.paper_id]})." for entry in self.evidence)

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
        texts, cut = [quotations.unmarked(text) for text in sentences], list[RemovedSentence]()
        if not runs:
            return texts, cut, 0
        asked = [(at, sentences[at], run) for at, run in runs.items()]
        new = await self._rephrased(asked)
        for at, sentence, run in asked:
            better = new.get(at, "")
            texts[at] = quotations.unmarked(better) if better and not quotations.in_sentence(better) else ""
            if not texts[at]:
                words = len(run.split())
                reason = say(_REPEATS, number=words)
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
            own = (entry.chunk for entry in self.evidence if self._ids[entry.paper_id] == source_id)
            spans = [(chunk.start, chunk.end) for chunk in own]
            if spans:
                passages[source_id] = passages_of(by_id[source_id], spans)
        cited = [by_id[source_id] for source_id in (BRIEF_ID, *self.keys) if source_id in passages]
        keys = {source_id: key for source_id, key in self.keys.items() if source_id in passages}
        grounder = KeyGrounder(cited, self.work.job.query, passages, keys=keys)
        grounder.read_ahead()
        return grounder

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
        self._note = self._note or "".join(judging.notes)
        return settled, not judging.failures

    def _pay(self, phase: Phase, usage: ModelUsage) -> None:
        self._usage.append(PhaseUsage(phase, usage))


def _text(fields: Mapping[str, Json]) -> str | None:
    """The section's text, also as paragraphs by themselves, or under a name of the model's own."""
    found = fields.get("text", next(iter(fields.values()), None))
    if isinstance(found, dict):
        return _text(found)
    parts = found if isinstance(found, list) else [found]
    return "\n\n".join(part.strip() for part in parts if isinstance(part, str)).strip() or None


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


# A document of sections: as the answer that every interface shows, as Markdown, LaTeX and BibTeX, and as a table


SHOWN_KEYS = 12  # in the summary; the bibliography has them all
_BLOCKS = {
    "subsection": regex.compile(r"#{1,6} "),
    "itemize": regex.compile(r"\s*[-*•]\s+"),
    "enumerate": regex.compile(r"\s*\d{1,2}[.)]\s+"),
    "tabular": regex.compile(r"\s*\|"),
}
_BOLD = regex.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")
_EMPHASIS = regex.compile(r"(?<![\w*])\*(?=[^\s*])([^*]+)(?<=\S)\*(?![\w*])")
_CODE = regex.compile(r"\\textasciigrave\{\}(.+?)\\textasciigrave\{\}")


@dataclass(frozen=True)
class DocumentPart:
    """One section: its prose, the searches for it, and why they ended."""

    written: Written
    searches: tuple[Searched, ...]
    ending: str
    refused: tuple[AgentRefusal, ...]
    used: tuple[KeptEvidence, ...]
    usage: tuple[PhaseUsage, ...]

    @property
    def section(self) -> Section:
        return self.written.section

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(entry.claim for entry in self.written.judged if entry.claim and entry.shown is not None)

    @property
    def removed(self) -> tuple[RemovedSentence, ...]:
        """What was written and is not shown, each sentence with its reason."""
        return (*assemble(self.written.judged, marks_cuts=False).removed, *self.written.cut)


@dataclass(frozen=True)
class SectionDocument:
    """`keys` are by source id, `papers` too; `notes` are sentences on what the reader must know."""

    parts: tuple[DocumentPart, ...]
    keys: Mapping[str, str]
    papers: Mapping[str, Paper]
    notes: tuple[str, ...] = ()

    @property
    def markdown(self) -> str:
        return "\n\n".join(f"## {PLANS[part.section].title}\n\n{part.written.text}" for part in self.parts) + "\n"

    @property
    def latex(self) -> str:
        """To be put into a document with `\\input`; citations are `\\cite`."""
        return "\n".join(
            f"\\section{{{PLANS[part.section].title}}}\n\n{self._latex_prose(part.written.text)}\n"
            for part in self.parts
        )

    @property
    def bibtex(self) -> str:
        return bibliography(self._cited_papers, self._keys_by_paper)

    @property
    def _cited_papers(self) -> list[Paper]:
        cited = {source_id for part in self.parts for source_id in self._cited(part)}
        return [paper for source_id, paper in self.papers.items() if source_id in cited]

    @property
    def _keys_by_paper(self) -> dict[str, str]:
        return {paper.id: self.keys[source_id] for source_id, paper in self.papers.items()}

    def view(self) -> dict[str, Json]:
        """S001's own view of the result (D16)."""
        sections: list[Json] = [self._section(part) for part in self.parts]
        evidence: list[Json] = [row for part in self.parts for row in self._rows(part)]
        return {
            "sections": sections,
            "markdown": self.markdown,
            "latex": self.latex,
            "bibtex": self.bibtex,
            "labels": dict(author_years(self._cited_papers, self._keys_by_paper)),
            "evidence": evidence,
            "usage": usage_by_phase(call for part in self.parts for call in part.usage),
            "notes": [*self.notes],
        }

    def summary(self) -> str:
        """What was written: how long, which papers it cites by their keys, and what was taken out again."""
        titles = ", ".join(say_again(PLANS[part.section].title) for part in self.parts)
        words = sum(len(part.written.text.split()) for part in self.parts)
        keys = list(dict.fromkeys(self.keys[source_id] for part in self.parts for source_id in self._cited(part)))
        more = [say("{number} more", number=len(keys) - SHOWN_KEYS)] if len(keys) > SHOWN_KEYS else []
        shown = ": " + ", ".join([*keys[:SHOWN_KEYS], *more]) if keys else ""
        cited = say_many("{number} paper cited{which}.", "{number} papers cited{which}.", len(keys), which=shown)
        long = say_many("{titles}: {number} word.", "{titles}: {number} words.", words, titles=titles)
        doubted = sum(is_doubted(claim) for part in self.parts for claim in part.claims)
        one = "{number} sentence is not confirmed, or only in part."
        many = "{number} sentences are not confirmed, or only in part."
        return " ".join([long, cited, self._removed(), *([say_many(one, many, doubted)] if doubted else [])])

    def _removed(self) -> str:
        unsaid = sum(
            entry.claim is not None and entry.shown is None for part in self.parts for entry in part.written.judged
        )
        quoted = sum(len(part.written.cut) for part in self.parts)
        unknown = len({key for part in self.parts for key in part.written.unknown_keys})
        counted = (
            (unsaid, say_many("{number} unsupported sentence", "{number} unsupported sentences", unsaid)),
            (quoted, say_many("{number} quotation", "{number} quotations", quoted)),
            (unknown, say_many("{number} key that no paper has", "{number} keys that no paper has", unknown)),
        )
        removed = [said for number, said in counted if number]
        return say("Removed: {what}.", what=", ".join(removed)) if removed else say("Nothing had to be removed.")

    def _cited(self, part: DocumentPart) -> list[str]:
        """Source ids of the papers that the section cites, in the order in which it does (S001-34)."""
        found = [entry.source_id for claim in part.claims for entry in claim.evidence if entry.source_id in self.keys]
        return list(dict.fromkeys(found))

    def _section(self, part: DocumentPart) -> dict[str, Json]:
        written = part.written
        return {
            "section": part.section.value,
            "section_text": written.text,
            "cited": [self.keys[source_id] for source_id in self._cited(part)],
            "cited_papers": [self.papers[source_id].id for source_id in self._cited(part)],
            "searches": [_search(search) for search in part.searches],
            "refused": [{"query": entry.query, "reason": entry.reason} for entry in part.refused],
            "ended_because": part.ending,
            "unknown_keys": [*written.unknown_keys],
            "rephrased": written.rephrased,
            "removed": [{"text": entry.text, "reason": entry.reason} for entry in part.removed],
            "usage": usage_by_phase(part.usage),
        }

    def _rows(self, part: DocumentPart) -> list[dict[str, Json]]:
        """The evidence table: which query found what, how it was scored, and where it is cited (S001-33)."""
        used = {entry.chunk_id for entry in part.used}
        return [
            {
                "section": part.section.value,
                "query": search.query,
                "is_custom": search.is_custom,
                "key": self._keys_by_paper.get(entry.paper_id, ""),
                "paper_id": entry.paper_id,
                "chunk_id": entry.chunk_id,
                "section_type": entry.chunk.section_type.value,
                "page": entry.chunk.page,
                "summary": entry.summary,
                "vector_score": round(entry.vector_score, 4),
                "llm_score": round(entry.llm_score, 4),
                "combined_score": round(entry.combined_score, 4),
                "is_used": entry.chunk_id in used,
                "cited_in": [with_keys(claim.text, {}) for claim in part.claims if self._carries(entry, claim)],
            }
            for search in part.searches
            for entry in search.found
        ]

    def _carries(self, entry: KeptEvidence, claim: Claim) -> bool:
        start, end = entry.chunk.start, entry.chunk.end
        return any(
            found.start < end and found.end > start
            for found in claim.evidence
            if found.source_id in self.papers and self.papers[found.source_id].id == entry.paper_id
        )

    def _latex_prose(self, text: str) -> str:
        """Paragraphs, and what a writer has set against its orders: headings, lists, tables."""
        blocks: list[tuple[str, list[str]]] = []
        is_apart = True
        for line in text.splitlines():
            kind = next((kind for kind, form in _BLOCKS.items() if form.match(line)), "")
            if line.strip() and not (kind == "tabular" and RULE.fullmatch(line.strip())):
                if blocks and blocks[-1][0] == kind and (kind or not is_apart):
                    blocks[-1][1].append(line)
                else:
                    blocks.append((kind, [line]))
            is_apart = not line.strip()
        return "\n\n".join(self._latex_block(kind, lines) for kind, lines in blocks)

    def _latex_block(self, kind: str, lines: Sequence[str]) -> str:
        if kind == "tabular":
            rows = [[self._latex_paragraph(cell) for cell in cells(line)] for line in lines]
            width = max(map(len, rows))
            body = " \\\\\n".join(" & ".join([_shielded(row[0]), *row[1:], *[""] * (width - len(row))]) for row in rows)
            return f"\\begin{{tabular}}{{{'l' * width}}}\n{body} \\\\\n\\end{{tabular}}"
        if kind == "subsection":
            return "\n\n".join(f"\\subsection{{{latex_text(line.lstrip('# '))}}}" for line in lines)
        if kind:
            said = (self._latex_paragraph(_BLOCKS[kind].sub("", line, count=1)) for line in lines)
            items = (f"\\item {_shielded(one)}" for one in said)
            return "\n".join([f"\\begin{{{kind}}}", *items, f"\\end{{{kind}}}"])
        return self._latex_paragraph(" ".join(" ".join(lines).split()))

    def _latex_paragraph(self, text: str) -> str:
        text = plain_formulas(text)
        pieces: list[str] = []
        end = 0
        cited: dict[tuple[int, int], list[str]] = {}
        for mark in parse_markers(text, Grammar.KEY, keys=set(self.keys.values())):
            if isinstance(mark.target, KeyRef):
                cited.setdefault((mark.start, mark.end), []).append(mark.target.key)
        for (start, stop), keys in cited.items():
            before = text[end:start]
            pieces += [latex_text(before.rstrip()), "~" if before.strip() else "", f"\\cite{{{','.join(keys)}}}"]
            end = stop
        shown = "".join([*pieces, latex_text(text[end:])])
        return _CODE.sub(r"\\texttt{\1}", _EMPHASIS.sub(r"\\emph{\1}", _BOLD.sub(r"\\textbf{\1}", shown)))


def _shielded(latex: str) -> str:
    """What stands behind `\\\\` or `\\item`, where LaTeX takes a bracket or a star for an option."""
    return f"{{}}{latex}" if latex.startswith(("[", "*")) else latex


def is_doubted(claim: Claim) -> bool:
    """Whether a sentence that stands there needs a look: prose carries no marks."""
    return claim.verdict not in (Verdict.SUPPORTED, Verdict.MOVED)


def document_files(result: JobResult) -> tuple[AnswerFile, ...]:
    """A document of `Document.view` as files; none for what is no such view."""
    sections = result.details.get("sections")
    if not isinstance(sections, list):
        return ()
    named = [str(section.get("section")) for section in sections if isinstance(section, dict)]
    name = named[0] if len(named) == 1 else "paper"
    texts = {kind: result.details.get(field) for kind, field in _FILES.items()}
    return tuple(
        AnswerFile(f"{name}.{kind}", _MEDIA_TYPES[kind], text)
        for kind, text in texts.items()
        if isinstance(text, str) and text.strip()
    )


_FILES = {"md": "markdown", "tex": "latex", "bib": "bibtex"}
_MEDIA_TYPES = {"md": "text/markdown", "tex": "application/x-tex", "bib": "application/x-bibtex"}


def _search(search: Searched) -> dict[str, Json]:
    return {
        "query": search.query,
        "is_custom": search.is_custom,
        "candidates": search.candidates,
        "unjudged": search.unjudged,
        "found": [entry.chunk_id for entry in search.found],
    }
