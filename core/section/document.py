"""A document of sections: as the answer that every interface shows, as Markdown, LaTeX and BibTeX, and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import regex

from core.evidence.citations import parse_markers
from core.evidence.structure import assemble
from core.library.paper import Paper
from core.llm.agent import AgentRefusal
from core.model.answer import AnswerFile, Claim, JobResult, RemovedSentence
from core.model.job import Json
from core.presentation.bibliography import latex_text
from core.presentation.wording import counted
from core.section.evidence import KeptEvidence, Searched
from core.section.prose import author_years, bibliography, with_keys
from core.section.sections import PLANS, Section
from core.section.usage import PhaseUsage, usage_by_phase
from core.section.writing import Written
from core.text.markers import Grammar, KeyRef

SHOWN_KEYS = 12  # in the summary; the bibliography has them all
_PARAGRAPH = regex.compile(r"\n\s*\n")


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
        titles = ", ".join(PLANS[part.section].title for part in self.parts)
        words = sum(len(part.written.text.split()) for part in self.parts)
        keys = list(dict.fromkeys(self.keys[source_id] for part in self.parts for source_id in self._cited(part)))
        shown = ", ".join(keys[:SHOWN_KEYS]) + (f" and {len(keys) - SHOWN_KEYS} more" if len(keys) > SHOWN_KEYS else "")
        cited = f"{counted(len(keys), 'paper')} cited" + (f": {shown}" if keys else "")
        return f"{titles}: {counted(words, 'word')}. {cited}. {self._removed()}"

    def _removed(self) -> str:
        unsaid = sum(
            entry.claim is not None and entry.shown is None for part in self.parts for entry in part.written.judged
        )
        quoted = sum(len(part.written.cut) for part in self.parts)
        unknown = len({key for part in self.parts for key in part.written.unknown_keys})
        removed = [counted(unsaid, "unsupported sentence")] if unsaid else []
        removed += [f"{counted(quoted, 'quotation')}"] if quoted else []
        removed += [f"{counted(unknown, 'key')} that no paper has"] if unknown else []
        return f"Removed: {', '.join(removed)}." if removed else "Nothing had to be removed."

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
                "key": self._key(entry.paper_id),
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
            self.papers.get(found.source_id) is not None
            and self.papers[found.source_id].id == entry.paper_id
            and found.start < end
            and found.end > start
            for found in claim.evidence
        )

    def _key(self, paper_id: str) -> str:
        return next((self.keys[source_id] for source_id, paper in self.papers.items() if paper.id == paper_id), "")

    def _latex_prose(self, text: str) -> str:
        return "\n\n".join(self._latex_paragraph(" ".join(part.split())) for part in _PARAGRAPH.split(text))

    def _latex_paragraph(self, text: str) -> str:
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
        return "".join([*pieces, latex_text(text[end:])])


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
