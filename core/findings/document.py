"""Findings as a Markdown document to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.answer import JobResult
from core.findings.composing import NOT_VERIFIED, code_parts, unverified_line
from core.findings.results import TITLES
from core.findings.viewing import FindingsView, FoundItem, OtherAnswer, read_view
from core.job import ResearchJob
from core.render import answer_markdown, one_line
from core.source import Source


def findings_markdown(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    """As `answer_markdown`, with a heading for each mode and each item; "" for a result without findings."""
    view = read_view(result)
    if view is None or result.answer is None or not view.has_any:
        return ""
    answer = replace(result.answer, summary="", detail=_body(view, sources))
    return answer_markdown(job, replace(result, answer=answer), sources)


def _body(view: FindingsView, sources: Sequence[Source]) -> str:
    by_id = {source.id: source for source in sources}
    parts = [_other(other) for other in view.before]
    for mode in view.findings.modes:
        if mode == "freeform":
            parts += [f"## {TITLES[mode]}"] if view.sections else []
            parts += [f"### {title}\n\n{text}" if title else text for title, text in view.sections]
            continue
        items = view.found(mode)
        parts += [f"## {TITLES[mode]}"] if items else []
        parts += [_item(item, by_id) for item in items]
    parts += [_other(other) for other in view.after]
    if view.unverified:
        lines = [unverified_line(item.url, item.why_unverified) for item in view.unverified]
        parts.append("\n".join([f"## {NOT_VERIFIED}", "", *lines]))
    return "\n\n".join(parts)


def _other(other: OtherAnswer) -> str:
    return "\n\n".join(filter(None, [f"## {one_line(other.title)}", other.summary, other.detail]))


def _item(item: FoundItem, sources: dict[str, Source]) -> str:
    source = sources.get(item.source_id)
    said = item.text or (f"Code of {one_line(source.title)} [{source.number}]" if source else item.content)
    place = source.metadata.domain if source else ""
    marks = "; ".join(filter(None, [place, item.standing, *(remark.text for remark in item.remarks)]))
    code = code_parts(item.code, item.language, item.dependencies)
    return "\n\n".join([f"{item.number}. {said} ({marks})", *code])
