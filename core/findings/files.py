"""Code of a finding as files to keep, where a chat message has no room for it or cannot show it exactly."""

from __future__ import annotations

from core.answer import JobResult
from core.answer_files import AnswerFile
from core.findings.viewing import FindingsView, FoundItem, read_view

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
