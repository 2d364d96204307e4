"""A finished answer as a file to keep: which kinds there are, and what each is made of; on its page and over MCP."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.model.answer import AnswerFile, JobResult
from core.model.job import ResearchJob
from core.model.source import Source
from core.modes import files_of
from core.presentation.bibliography import answer_markdown, bibtex, cited_works, ris
from core.presentation.render import for_others, job_json


@dataclass(frozen=True)
class Export:
    """`name` is for people; `write` gives the file's text."""

    name: str
    media_type: str
    write: Callable[[ResearchJob, JobResult, Sequence[Source]], str]


EXPORTS: Mapping[str, Export] = {
    "md": Export("Markdown", "text/markdown", answer_markdown),
    "json": Export(
        "JSON",
        "application/json",
        lambda *told: json.dumps(for_others(job_json(*told)), ensure_ascii=False, indent=2) + "\n",
    ),
    "bib": Export(
        "BibTeX", "application/x-bibtex", lambda _, result, sources: bibtex(cited_works(sources, result.answer))
    ),
    "ris": Export(
        "RIS",
        "application/x-research-info-systems",
        lambda _, result, sources: ris(cited_works(sources, result.answer)),
    ),
}

OWN_KINDS: Mapping[str, str] = {"tex": "LaTeX", "csv": "CSV"}  # that only some answers have


def exports_of(job: ResearchJob, result: JobResult | None) -> dict[str, Export]:
    """By kind. A file that the answer has of its own comes before the one that is made of any answer."""
    own = {file.kind: file for file in files_of(job, result)}
    names = {**{kind: export.name for kind, export in EXPORTS.items()}, **OWN_KINDS}
    made = {kind: Export(name, own[kind].media_type, _as_is(own[kind])) for kind, name in names.items() if kind in own}
    return {**EXPORTS, **made}


def _as_is(file: AnswerFile) -> Callable[[ResearchJob, JobResult, Sequence[Source]], str]:
    return lambda job, result, sources: file.text
