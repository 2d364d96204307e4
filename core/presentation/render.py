"""A job as JSON, and its text with verdict marks; what is safe to print.

Pure functions of a job, its result and its sources, shared by every interface. JSON carries no verdict marks, so that
every citation grammar still parses it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

import regex

from core.evidence.authority import quality_of
from core.evidence.citations import MARKS
from core.model.answer import Claim, JobResult, ResearchAnswer, Section, SynthesisMetadata, Verdict
from core.model.job import Json, ResearchJob
from core.model.source import Source
from core.presentation import wording
from core.text.saying import say
from core.text.urls import public_address, without_paths

PREVIEW_CHARS = 500  # of a source's text (G-01)
# Between cells of a table in a row that is quoted outside it; "P(A | B)" has none.
BETWEEN_CELLS = r"(?<=\s)\|(?=\s)(?![^()\n]*\))"
# The blank between a number and its unit, at which no line ends: the next one would begin with "°C".
BEFORE_UNIT = (
    r"(?<=\d) (?=(?:°\w?|[%‰€£$¥]|[µnmcdhkMGT]?(?:m|g|l|L|s|W|J|V|A|K|N|B|Hz|Pa|Wh|eV|mol|bit)[²³]?|h|min|ha)(?!\w))"
)
MARKER = regex.compile(r"\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")

_ESCAPE_SEQUENCES = regex.compile(  # ECMA-48
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # strings: links, titles
    r"|\x1b[ -/]*[0-~]"  # the rest
)
_INVISIBLE = regex.compile(  # controls, bidi overrides and isolates, tag characters, byte-order mark, zero-width space
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e0fff]"
)
_LONE_SURROGATES = regex.compile("[\ud800-\udfff]")
_GRAPHEMES = regex.compile(r"\X")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what a cell begins with that is taken for one (OWASP)


def job_json(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> dict[str, Json]:
    """The job as S003 gives it, and more: `answer` is null until there is one."""
    answer, error = result.answer if result else None, job.error
    return {
        "job_id": job.id,
        "status": job.status.value,
        "question": job.query,
        "mode": ",".join(job.request.modes),
        "error": {"code": error.code, "message": error.message, "retryable": error.retryable} if error else None,
        "answer": _answer_json(answer) if answer else None,
        "citations": [{**asdict(one), "verdict": one.verdict.value} for one in answer.citations] if answer else [],
        "sources": [_source_json(source, answer) for source in sources],
        "result": dict(result.details) if result and result.details else None,
        "offer": _offer_json(job, result),
        "metadata": _metadata_json(job, result or JobResult(answer=None)),
    }


def for_others(document: dict[str, Json]) -> dict[str, Json]:
    """JSON for who is not at this machine: of files no more than their names, also in texts of a mode's own view."""
    return {name: _without_paths(value, in_texts=name == "result") for name, value in document.items()}


def _without_paths(value: Json, *, in_texts: bool) -> Json:
    """Addresses alone, since what is quoted must stay as it was read; or also those that stand in texts."""
    if isinstance(value, dict):
        return {name: _without_paths(one, in_texts=in_texts or name == "result") for name, one in value.items()}
    if isinstance(value, list):
        return [_without_paths(one, in_texts=in_texts) for one in value]
    if not isinstance(value, str) or "file:" not in value.lower():
        return value
    return without_paths(value) if in_texts else value if " " in value else public_address(value)


def sources_json(job: ResearchJob, result: JobResult | None, sources: Sequence[Source]) -> dict[str, Json]:
    """The sources of a job with the beginning of each text and whether the answer cites it (G-01)."""
    answer = result.answer if result else None
    described: list[Json] = []
    for source in sources:
        entry = _source_json(source, answer)
        entry["content_preview"] = cut(source.content, PREVIEW_CHARS)
        entry["used_in_citations"] = entry["used"]
        entry["word_count"] = source.metadata.word_count
        described.append(entry)
    return {"job_id": job.id, "sources": described}


def marked_section(answer: ResearchAnswer, section: Section, *, tag: Callable[[Claim], str] = lambda claim: "") -> str:
    """The summary or the detail with a mark behind each citation, and behind that the claim's `tag`."""
    text = answer.summary if section == "summary" else answer.detail
    return marked_text(text, [claim for claim in answer.claims if claim.id.startswith(f"{section}-")], tag=tag)


def marked_text(text: str, claims: Sequence[Claim], *, tag: Callable[[Claim], str] = lambda claim: "") -> str:
    """`text` with the mark of each verdict right after its bracket: `[1]✓`, `[2]◐`.

    Only inserts. A marker that stands in no claim's sentence (an index in code, say) stays as it is.
    """
    spans = claim_spans(letters_of(text), claims)
    pieces: list[str] = []
    end_of_last = letters_before = 0
    for marker in MARKER.finditer(text):
        between = text[end_of_last : marker.start()]
        letters_before += len(letters_of(between))
        claim = claim_at(letters_before, spans)
        pieces += [between, marker.group(), _mark(marker.group(1), claim) + tag(claim) if claim else ""]
        end_of_last = marker.end()
    return "".join([*pieces, text[end_of_last:]])


def marks_legend(verdicts: Collection[Verdict]) -> dict[str, str]:
    """What each mark of these verdicts means, best first; one mark may stand for two."""
    found: dict[str, str] = {}
    for verdict in (one for one in Verdict if one in verdicts):
        words = say(wording.MARK_MEANINGS[verdict])
        mark = MARKS[verdict]
        found[mark] = say("{one}, or {other}", one=found[mark], other=words) if mark in found else words
    return found


def printable(text: str) -> str:
    """`text` without anything that acts on a terminal or hides: escapes, controls, bidi overrides, tag characters.

    Newlines and tabs stay; other line separators become newlines, lone surrogates U+FFFD.
    """
    text = text.replace("\r\n", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    text = _ESCAPE_SEQUENCES.sub("", text)
    return _LONE_SURROGATES.sub("\ufffd", _INVISIBLE.sub("", text))


def one_line(text: str) -> str:
    """`printable` on a single line, runs of white space made one blank."""
    return " ".join(printable(text).split())


def csv_table(names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table with a heading, as RFC 4180 has it; no cell is taken for a formula, as a spreadsheet would."""
    table = io.StringIO()
    guarded = ([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in line] for line in lines)
    csv.writer(table).writerows([names, *guarded])
    return table.getvalue()


def cut(text: str, max_chars: int) -> str:
    """At most `max_chars` code points, ending in `…` when something was left out; never splits a grapheme.

    A single grapheme longer than the limit (stacked accents) is dropped rather than split.
    """
    if len(text) <= max_chars:
        return text
    end = 0
    for grapheme in _GRAPHEMES.finditer(text):
        if grapheme.end() > max_chars - 1:
            break
        end = grapheme.end()
    return text[:end].rstrip() + "…"


def is_used(source: Source, answer: ResearchAnswer | None) -> bool:
    """Whether the answer cites it, or quotes it as one side of a conflict."""
    if answer is None:
        return False
    cited = {citation.source_id for citation in answer.citations}
    return source.id in cited.union(side.source_id for conflict in answer.conflicts for side in conflict.positions)


def iso_utc(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, ending in `Z`; a time without a zone is taken as UTC."""
    if moment is None:
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _offer_json(job: ResearchJob, result: JobResult | None) -> Json:
    if result is None or result.answer is None or not wording.offers_deep(job, result):
        return None
    return {
        "mode": "deep",
        "text": wording.offer_deep(result.answer),
        "actions": [say(wording.START), say(wording.NOT_NOW)],
    }


def _answer_json(answer: ResearchAnswer) -> dict[str, Json]:
    return {
        "summary": answer.summary,
        "detail": answer.detail,
        "confidence": answer.confidence.value,
        "limitations": list(answer.limitations),
        "confidence_reasons": list(answer.confidence_reasons),
        "confidence_sum": [asdict(part) for part in answer.confidence_sum],
        "claims": [
            {"id": claim.id, "text": claim.text, "verdict": claim.verdict.value, "strength": claim.strength}
            for claim in answer.claims
        ],
        "conflicts": [
            {"subject": conflict.subject, "positions": [asdict(side) for side in conflict.positions]}
            for conflict in answer.conflicts
        ],
        "removed": [asdict(removed) for removed in answer.removed],
        "notice": answer.notice,
    }


def _source_json(source: Source, answer: ResearchAnswer | None) -> dict[str, Json]:
    return {
        "id": source.id,
        "url": source.url,
        "title": source.title,
        "domain": source.metadata.domain,
        "provider": source.metadata.provider,
        "author": source.metadata.author,
        "published_at": iso_utc(source.metadata.published_at),
        "relevance": source.scores.relevance,
        "quality": quality_of(source).value,
        "used": is_used(source, answer),
        "read_at": iso_utc(source.read_at),
        "extract_of_page": source.extract_of_page,
        "version": source.metadata.version,
        "notices": [
            {"kind": notice.kind, "url": notice.url, "date": notice.date, "said_by": notice.said_by}
            for notice in source.metadata.notices
        ],
        "tried_to_instruct": bool(source.instructs),
    }


def _metadata_json(job: ResearchJob, result: JobResult) -> dict[str, Json]:
    spent = result.answer.metadata if result.answer else SynthesisMetadata()
    return {
        "duration_ms": round(result.duration_s * 1000),
        "sources_considered": result.sources_considered,
        "cached": bool(result.cached_at),
        "created_at": iso_utc(job.created_at),
        "completed_at": iso_utc(job.completed_at),
        "cached_at": result.cached_at,
        "cached_age_s": _cached_age_s(job, result),
        "cached_question": result.cached_question or None,
        "cached_notice": wording.earlier_answer(job, result),
        "stopped_because": result.answer.stopped_because if result.answer else "",
        "model": spent.model,
        "tokens": spent.tokens_used,
        "cost_usd": spent.cost_usd,
        "queries": list(result.queries),
        "providers": list(result.providers),
        "understood": result.understood or None,
    }


def _cached_age_s(job: ResearchJob, result: JobResult) -> int | None:
    """How old the answer was when this job gave it again, in seconds."""
    if not result.cached_at:
        return None
    answered_at = datetime.fromisoformat(result.cached_at)
    return max(0, round(((job.completed_at or job.created_at) - answered_at).total_seconds()))


def letters_of(text: str) -> str:
    """Letters and digits outside markers: what a sentence keeps when markers and white space come and go."""
    return "".join(char for char in MARKER.sub("", text) if char.isalnum())


def claim_spans(letters: str, claims: Sequence[Claim]) -> list[tuple[int, int, Claim]]:
    """Where each claim stands in the `letters_of` a text; `claims` are in its order, those not there are left out."""
    spans: list[tuple[int, int, Claim]] = []
    cursor = 0
    for claim in claims:
        sought = letters_of(claim.text)
        start = letters.find(sought, cursor) if sought else -1
        if start >= 0:
            cursor = start + len(sought)
            spans.append((start, cursor, claim))
    return spans


def claim_at(position: int, spans: Sequence[tuple[int, int, Claim]]) -> Claim | None:
    """The claim a marker belongs to: usually it stands behind it, at times in front."""
    behind = next((claim for start, end, claim in spans if start < position <= end), None)
    return behind or next((claim for start, _, claim in spans if start == position), None)


def _mark(numbers: str, claim: Claim) -> str:
    """The mark of the weakest of the cited sources."""
    verdicts = {evidence.source_id: evidence.verdict for evidence in claim.evidence}
    return mark_of([verdicts.get(f"src_{int(number)}", Verdict.UNCHECKED) for number in numbers.split(",")])


def mark_of(verdicts: Collection[Verdict]) -> str:
    """The mark of the weakest; of none what nobody confirmed has."""
    return MARKS[max(verdicts, key=WEAKNESS.index, default=Verdict.UNCHECKED)]


WEAKNESS = [Verdict.SUPPORTED, Verdict.MOVED, Verdict.PARTIAL, Verdict.UNCHECKED, Verdict.UNSUPPORTED]
