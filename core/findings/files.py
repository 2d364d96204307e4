"""Code of a finding as files to keep, where a chat message has no room for it or cannot show it exactly."""

from __future__ import annotations

from core.findings.viewing import FindingsView, FoundItem

MAX_CODE_CHARS = 600  # in a message; three of them with their texts fit Discord's 4,096 characters
MAX_SHOWN_CODES = 3
MAX_FILES = 10  # Discord takes no more with one message
FENCE = "```"  # ends a block of code in Discord, wherever it stands
_ENDINGS = {
    "python": "py", "javascript": "js", "typescript": "ts", "bash": "sh", "rust": "rs", "csharp": "cs", "ruby": "rb",
    "kotlin": "kt", "markdown": "md", "powershell": "ps1", "dockerfile": "dockerfile", "go": "go", "java": "java",
    "cpp": "cpp", "c": "c", "sql": "sql", "html": "html", "css": "css", "json": "json", "yaml": "yaml", "toml": "toml",
    "xml": "xml", "php": "php", "swift": "swift", "r": "r", "lua": "lua", "scala": "scala",
}  # fmt: skip


def code_name(item: FoundItem) -> str:
    """`implementation-2.py`; `.txt` for a language without an ending of its own."""
    return f"implementation-{item.number}.{_ENDINGS.get(item.language, 'txt')}"


def code_files(view: FindingsView) -> list[tuple[str, str]]:
    """Name and text of every code that messages do not show whole, best first."""
    coded = [item for item in view.found("implementation") if item.code]
    kept = [item for place, item in enumerate(coded) if place >= MAX_SHOWN_CODES or not fits_in_chat(item.code)]
    return [(code_name(item), f"{item.code}\n") for item in kept[:MAX_FILES]]


def fits_in_chat(code: str) -> bool:
    """Whether a message shows this code whole and exactly."""
    return len(code) <= MAX_CODE_CHARS and FENCE not in code
