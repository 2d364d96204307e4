"""Findings as interfaces show them, kept in `JobResult.details`; and code as files, where a message has no room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from core.findings.results import Remark, ResearchFindings, ResearchMode, read_findings
from core.model.answer import AnswerFile, JobResult
from core.model.job import Json, rows

MAX_CODE_CHARS = 600  # in a message; three of them with their texts fit Discord's 4,096 characters
MAX_SHOWN_CODES = 3
MAX_FILES = 10  # Discord takes no more with one message
FENCE = "```"  # ends a block of code in Discord, wherever it stands
# Never one of the page's exports (md, json, bib, ris, tex): a file of that kind would take the export's place.
_ENDINGS = {
    "python": "py", "javascript": "js", "typescript": "ts", "bash": "sh", "rust": "rs", "csharp": "cs", "ruby": "rb",
    "kotlin": "kt", "markdown": "markdown", "powershell": "ps1", "dockerfile": "dockerfile", "go": "go", "css": "css",
    "java": "java", "cpp": "cpp", "c": "c", "sql": "sql", "html": "html", "yaml": "yaml", "toml": "toml", "xml": "xml",
    "php": "php", "swift": "swift", "r": "r", "lua": "lua", "scala": "scala", "json": "json.txt",
}  # fmt: skip


@dataclass(frozen=True)
class FoundItem:
    """One idea or implementation with its marks.

    `number` counts from 1 within its mode, 0 for what is not verified; `url` is as the model gave it, `source_id` the
    source that was read ("" without one). `text` is `content` with its citation markers. `standing` says what sort of
    place it is, `remarks` what checking found; `why_unverified` is "" for what its source carries.
    """

    mode: ResearchMode
    number: int
    url: str
    source_id: str
    content: str
    standing: str = ""
    remarks: tuple[Remark, ...] = ()
    why_unverified: str = ""
    code: str = ""
    language: str = ""
    dependencies: str = ""
    text: str = ""

    @property
    def is_verified(self) -> bool:
        return not self.why_unverified


@dataclass(frozen=True)
class OtherAnswer:
    """What another mode answered that ran at the same time, as texts with citation markers."""

    title: str
    summary: str
    detail: str


@dataclass(frozen=True)
class FindingsView:
    """What was found, as S004's own object, and each item with its marks.

    `sections` are the report's, title and text with citation markers. `before` and `after` are what modes of other
    kinds answered that were named before and after these.
    """

    findings: ResearchFindings
    items: tuple[FoundItem, ...] = ()
    sections: tuple[tuple[str, str], ...] = ()
    before: tuple[OtherAnswer, ...] = ()
    after: tuple[OtherAnswer, ...] = ()

    @property
    def has_any(self) -> bool:
        """Whether there is a list or a report to show."""
        return bool(self.sections) or any(item.is_verified for item in self.items)

    def found(self, mode: ResearchMode) -> list[FoundItem]:
        """What is verified of one mode, best first."""
        return [item for item in self.items if item.mode == mode and item.is_verified]

    @property
    def unverified(self) -> list[FoundItem]:
        return [item for item in self.items if not item.is_verified]


def findings_json(
    findings: ResearchFindings,
    items: Sequence[FoundItem],
    *,
    notes: Sequence[str],
    searched: str,
    sections: Sequence[tuple[str, str]] = (),
) -> dict[str, Json]:
    """The view of a result that `read_view` reads: S004's fields under `findings`, unchanged."""
    return {
        "findings": findings.to_dict(),
        "items": [{**_ITEM.dump_python(item, mode="json"), "verified": item.is_verified} for item in items],
        "report": [{"title": title, "text": text} for title, text in sections],
        "notes": [*notes],
        "searched": searched,
    }


def read_view(result: JobResult | None) -> FindingsView | None:
    """None for a result of another mode."""
    findings = read_findings(result.details.get("findings")) if result else None
    if result is None or findings is None:
        return None
    before, after = _others(result.details.get("parts"))
    return FindingsView(
        findings,
        tuple(map(_item, rows(result.details.get("items")))),
        tuple((str(one.get("title") or ""), str(one.get("text") or "")) for one in rows(result.details.get("report"))),
        before,
        after,
    )


def renumbered_view(
    details: Mapping[str, Json], text_of: Callable[[str], str], id_of: Callable[[str], str]
) -> dict[str, Json]:
    """What of `findings_json` names sources, with other numbers in its texts and ids."""
    return {
        "items": [
            {**row, "text": text_of(str(row.get("text") or "")), "source_id": id_of(str(row.get("source_id") or ""))}
            for row in rows(details.get("items"))
        ],
        "report": [{**part, "text": text_of(str(part.get("text") or ""))} for part in rows(details.get("report"))],
    }


def _others(parts: Json) -> tuple[tuple[OtherAnswer, ...], tuple[OtherAnswer, ...]]:
    before: list[OtherAnswer] = []
    after: list[OtherAnswer] = []
    side = before
    for part in rows(parts):
        if part.get("is_findings"):
            side = after
        else:
            side.append(OtherAnswer(*(str(part.get(name) or "") for name in ("title", "summary", "detail"))))
    return tuple(before), tuple(after)


def _item(row: Mapping[str, Json]) -> FoundItem:
    """Results of earlier versions hold the words alone of a remark, and no text but the content."""
    told = row.get("remarks")
    remarks: list[Json] = (
        [one if isinstance(one, dict) else {"text": one} for one in told if one] if isinstance(told, list) else []
    )
    return _ITEM.validate_python({**row, "remarks": remarks, "text": row.get("text") or row.get("content")})


_ITEM: TypeAdapter[FoundItem] = TypeAdapter(FoundItem)


def code_name(item: FoundItem) -> str:
    """`implementation-2.py`; `.txt` for a language without an ending of its own."""
    return f"implementation-{item.number}.{_ENDINGS.get(item.language, 'txt')}"


def code_files(view: FindingsView) -> list[tuple[str, str]]:
    """Name and text of every code that messages do not show whole, best first."""
    coded = [item for item in view.found("implementation") if item.code]
    kept = [item for place, item in enumerate(coded) if place >= MAX_SHOWN_CODES or not fits_in_chat(item.code)]
    return [(code_name(item), f"{item.code}\n") for item in kept[:MAX_FILES]]


def finding_files(result: JobResult) -> tuple[AnswerFile, ...]:
    """The codes of `code_files`; none for a result without findings."""
    view = read_view(result)
    return tuple(AnswerFile(name, "text/plain", text) for name, text in code_files(view)) if view else ()


def fits_in_chat(code: str) -> bool:
    """Whether a message shows this code whole and exactly."""
    return len(code) <= MAX_CODE_CHARS and FENCE not in code
