"""An answer as a Markdown document to keep, without verdict marks, so that every citation grammar still parses it."""

from __future__ import annotations

from collections.abc import Sequence

import regex

from core.findings.composing import NOT_VERIFIED, code_parts, unverified_line
from core.findings.results import TITLES
from core.findings.viewing import FindingsView, FoundItem, OtherAnswer
from core.model.answer import Conflict, JobResult
from core.model.job import ResearchJob
from core.model.source import Source
from core.presentation import wording
from core.presentation.bibliography import file_name
from core.presentation.card import answer_card
from core.presentation.render import iso_utc, one_line, printable
from core.text.saying import say


def answer_markdown(job: ResearchJob, result: JobResult, sources: Sequence[Source], *, detail: str = "") -> str:
    """With `detail` that stands in place of the summary and the detail."""
    card = answer_card(job, result, sources)
    title, answer = f"# {one_line(job.query)}", card.answer
    if answer is None:
        return f"{title}\n\n{card.part('failure').text}\n"
    quoted = (job.request.quoted, *(card.part(name).line for name in ("understood", "earlier", "notice")))
    parts = [title, *(f"> {one_line(said)}" for said in quoted if one_line(said))]
    parts += [text for text in ((detail,) if detail else (answer.summary, answer.detail)) if text.strip()]
    parts.append(f"**{say(wording.CONFIDENCE)}**: {wording.confidence_sentence(answer)}")
    parts += _list(say(wording.LIMITATIONS), [one_line(limitation) for limitation in card.limitations])
    parts += [_conflict(conflict) for conflict in answer.conflicts]
    parts += [f"## {say(wording.SOURCES)}\n\n" + "\n".join(map(_source, sources))] if sources else []
    parts += _list(say(wording.REMOVED_HEADING), [one_line(removed.text) for removed in answer.removed])
    parts.append(f"{job.id} · {card.footer}")
    return printable("\n\n".join(parts)) + "\n"


def findings_markdown(job: ResearchJob, result: JobResult, sources: Sequence[Source]) -> str:
    """As `answer_markdown`, with a heading for each mode and each item; "" for a result without findings."""
    card = answer_card(job, result, sources)
    return (
        answer_markdown(job, result, sources, detail=_body(card.findings, sources))
        if card.findings and card.found
        else ""
    )


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


def _list(heading: str, entries: Sequence[str]) -> list[str]:
    return ["\n".join([f"## {heading}", "", *(f"- {entry}" for entry in entries)])] if entries else []


def _conflict(conflict: Conflict) -> str:
    rows = [
        f"| {_cell(side.position)} | {_cell(side.source_id)} | {_cell(side.date)} | {_cell(side.quote)} |"
        for side in conflict.positions
    ]
    head = [
        f"## Conflict: {one_line(conflict.subject)}",
        "",
        "| Position | Source | Date | Quote |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows])


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


def _source(source: Source) -> str:
    """`1. Title. domain, date. <url>`; the title's brackets are escaped so that it can form no link.

    Of a file of the operator's no more than its name, since its folders are nobody's business.
    """
    local = _unmarked(file_name(source.url)) if source.url.startswith("file:") else ""
    name = _unmarked(one_line(source.title)) or local or _unmarked(source.url)
    where = [part for part in (source.metadata.domain, iso_utc(source.metadata.published_at)) if part]
    address = one_line(source.url).replace(" ", "%20").replace(">", "%3E").replace("<", "%3C")
    place = f"File {local}" if local else f"<{address}>"
    return f"{source.number}. {'. '.join([name, ', '.join(where)] if where else [name])}. {place}"


def _unmarked(text: str) -> str:
    return regex.sub(r"([\\\[\]<>*_`])", r"\\\1", text)
