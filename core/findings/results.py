"""What three modes find (S004): ideas, implementations, a report, and the object that holds what was asked for.

Also the drafts that they begin with, and how far each mode is while they run at once. And the code in a finding,
looked at and never run.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

import regex
from pydantic import TypeAdapter

from core.model.answer import ModelUsage
from core.model.job import JobStatus, Json, furthest_behind
from core.model.ports import FoundPage
from core.model.source import SearchMetadata
from core.pipeline.work import Progress
from core.text.saying import say

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ResearchMode = Literal["idea", "implementation", "freeform"]
ResearchModeInput = ResearchMode | Sequence[ResearchMode]
ALL_MODES: tuple[ResearchMode, ...] = ("idea", "implementation", "freeform")
DEFAULT_TOP_K = 5
TITLES: dict[ResearchMode, str] = {"idea": "Ideas", "implementation": "Implementations", "freeform": "Report"}


class Kept:
    """What is found, as it is kept: a dataclass of JSON's own values."""

    def to_dict(self: DataclassInstance) -> dict[str, Json]:
        return asdict(self)


@dataclass(frozen=True)
class IdeaResult(Kept):
    """One idea or approach, and the address where it was found."""

    source: str
    content: str

    @property
    def description(self) -> str:
        return self.content

    def to_context_string(self) -> str:
        return f"- {self.content} ({self.source})"


@dataclass(frozen=True)
class ImplementationResult(Kept):
    """One implementation: `content` is its description, its code in a fence, and its `Dependencies:` line."""

    source: str
    content: str

    @property
    def description(self) -> str:
        """`content` without its code and its dependencies."""
        return prose_of(self.content)

    @property
    def code_snippet(self) -> str:
        """The first block of code, "" when there is none."""
        found = first_code(self.content)
        return found.text if found else ""

    @property
    def dependencies(self) -> tuple[str, ...]:
        """Package names as stated; empty for "none"."""
        return dependencies_of(self.content) or ()

    def to_context_string(self) -> str:
        return f"**Source:** {self.source}\n\n{self.content}"


@dataclass(frozen=True)
class ResearchReport(Kept):
    """A report in Markdown, all sections."""

    content: str

    def to_context_string(self) -> str:
        return self.content


@dataclass(frozen=True)
class ResearchSource:
    """Findings as one document that a library takes in: `content` is Markdown."""

    query: str
    modes: tuple[ResearchMode, ...]
    content: str

    @property
    def title(self) -> str:
        return f"Research: {' '.join(self.query.split())}"[:200]


@dataclass(frozen=True)
class ResearchFindings(Kept):
    """What one call found. `modes` are those that ran, in the order asked for; what was not asked for is empty."""

    query: str
    modes: list[ResearchMode]
    top_k: int = DEFAULT_TOP_K
    ideas: list[IdeaResult] = field(default_factory=list)
    implementations: list[ImplementationResult] = field(default_factory=list)
    report: ResearchReport | None = None

    def to_context_string(self) -> str:
        """Everything that was found, in the order asked for."""
        parts = {
            "idea": "\n".join(idea.to_context_string() for idea in self.ideas),
            "implementation": "\n\n".join(entry.to_context_string() for entry in self.implementations),
            "freeform": self.report.to_context_string() if self.report else "",
        }
        return "\n\n".join(parts[mode] for mode in self.modes if parts[mode])

    def to_source(self) -> ResearchSource:
        """For a library (core/library)."""
        return ResearchSource(self.query, tuple(self.modes), f"# Research: {self.query}\n\n{self.to_context_string()}")


def normalise_modes(mode: ResearchModeInput | None) -> tuple[ResearchMode, ...]:
    """A tuple without repetitions; all three when nothing is named. Raises `ValueError` for another name."""
    named = [mode] if isinstance(mode, str) else list(mode or ALL_MODES)
    for name in named:
        if name not in ALL_MODES:
            raise ValueError(f"{name!r} is none of {', '.join(ALL_MODES)}")
    return tuple(dict.fromkeys(named))


def read_findings(value: Json) -> ResearchFindings | None:
    """What `ResearchFindings.to_dict` wrote; None for anything else."""
    return _FINDINGS.validate_python(value) if isinstance(value, dict) else None


_FINDINGS: TypeAdapter[ResearchFindings] = TypeAdapter(ResearchFindings)


@dataclass(frozen=True)
class ModeDraft:
    """What the model wrote for one mode. `pages` are what its own search gave; `failure` says why there is no text."""

    mode: ResearchMode
    text: str = ""
    pages: tuple[FoundPage, ...] = ()
    queries: tuple[str, ...] = ()
    usage: tuple[ModelUsage, ...] = ()
    by_web_search: bool = False
    failure: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drafts:
    """All drafts in the order asked for, and what our own search did; its sources are in the source store."""

    drafts: tuple[ModeDraft, ...]
    metadata: SearchMetadata = field(default_factory=SearchMetadata)
    considered: int = 0


class Telling:
    """The job's status is that of the mode that is furthest behind."""

    def __init__(self, progress: Progress, modes: Sequence[ResearchMode]) -> None:
        self._progress = progress
        self._doing: dict[ResearchMode, tuple[str, JobStatus]] = dict.fromkeys(
            modes, (say("starting"), JobStatus.SEARCHING)
        )

    async def doing(self, mode: ResearchMode, what: str, status: JobStatus) -> None:
        """One mode has come further; the others' lines are told again."""
        self._doing[mode] = (what, status)
        stage = furthest_behind(status for _, status in self._doing.values())
        parts: list[Json] = [f"{say(TITLES[name])}: {said}" for name, (said, _) in self._doing.items()]
        line = f"{say(TITLES[mode])}: {what}"
        await self._progress.status(stage, message=line, data={"line": line, "parts": parts, "mode": mode})


# Code in a finding, looked at and never run: its block, its language, what it imports, what it says it needs


FENCE = regex.compile(
    r"^[ \t]{0,8}(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[\w+#.-]*)[^\n]*\n(?P<code>.*?)"
    r"(?:^[ \t]{0,8}(?P=mark)[`~]*[ \t]*$|\Z)",
    regex.DOTALL | regex.MULTILINE,
)
_DEPENDENCIES = regex.compile(
    r"^[ \t>*_#-]*(?:dependencies|requirements|requires)[*_]*[ \t]*:[*_]*[ \t]*(?P<what>[^\n]*)$",
    regex.IGNORECASE | regex.MULTILINE,
)
_INSTALL_WORDS = frozenset(
    "pip pip3 install uv add npm i yarn pnpm cargo go get conda poetry python python3 -m -u -U --upgrade and or -g apt "
    "apt-get sudo brew gem"
    .split()
)  # fmt: skip
_NONE = regex.compile(r"^\W*(?:none|no dependencies|nothing|n/?a|standard library(?: only)?)\b", regex.IGNORECASE)
_NAME = regex.compile(r"^@?[A-Za-z][\w.\-/]*")
MAX_CODE_CHARS = 100_000  # of one block; a longer one is no snippet, and parsing must stay cheap

# What is imported under another name than it is installed under; the common ones.
_INSTALLED_AS = {
    "bs4": "beautifulsoup4", "cv2": "opencv-python", "dotenv": "python-dotenv", "fitz": "pymupdf", "google": "google",
    "jose": "python-jose", "jwt": "pyjwt", "openssl": "pyopenssl", "pil": "pillow", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "yaml": "pyyaml", "attr": "attrs", "dateutil": "python-dateutil", "git": "gitpython",
    "faiss": "faiss-cpu", "crypto": "pycryptodome", "serial": "pyserial", "psycopg2": "psycopg2-binary",
    "slack_bolt": "slack-bolt", "discord": "discord.py", "tavily": "tavily-python", "exa_py": "exa-py",
}  # fmt: skip
_NAMES = {
    "py": "python", "python3": "python", "js": "javascript", "ts": "typescript", "sh": "bash", "shell": "bash",
    "zsh": "bash", "console": "bash", "golang": "go", "rs": "rust", "c++": "cpp", "yml": "yaml", "cs": "csharp",
}  # fmt: skip
_BASH_SIGNS = regex.compile(r"\A#!.*\b(?:ba)?sh\b|^\s*(?:\$ |curl |pip install|npm |git |export \w+=)", regex.MULTILINE)
_PYTHON_SIGNS = regex.compile(
    r"^\s*(?:def \w+\(|class \w+[(:]|from [\w.]+ import |import \w+|async def |@\w+|print\()", regex.MULTILINE
)


RemarkKind = Literal["language", "fact", "doubt"]


@dataclass(frozen=True)
class Remark:
    """What checking found, in a few words. A `doubt` is a reason to be careful; `language` names that of the code."""

    text: str
    kind: RemarkKind = "fact"


@dataclass(frozen=True)
class CodeBlock:
    """`language` is lower case, "" where it could not be told."""

    language: str
    text: str


@dataclass(frozen=True)
class CodeCheck:
    """What can be said of code without running it.

    `parses` is None where we have no parser for its language; `fault` says where it does not. `imports` are top-level
    packages beyond the standard library, `undeclared` those that no stated dependency brings. `has_dependencies` says
    whether there was a `Dependencies:` line.
    """

    language: str
    parses: bool | None = None
    fault: str = ""
    imports: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    has_dependencies: bool = True

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """`parses`, `imports: torch`, `not among the dependencies: torch`, …"""
        said: list[Remark] = []
        if self.parses is False:
            said.append(Remark(say("does not parse ({fault})", fault=self.fault), "doubt"))
        if self.parses:
            own = say("imports: {names}", names=", ".join(self.imports)) if self.imports else ""
            said += [Remark(say("parses")), Remark(own or say("imports: standard library only"))]
        if self.undeclared:
            said.append(Remark(say("not among the dependencies: {names}", names=", ".join(self.undeclared)), "doubt"))
        if not self.has_dependencies:
            said.append(Remark(say("dependencies not stated"), "doubt"))
        return tuple(said)


def code_blocks(text: str) -> list[CodeBlock]:
    """Every fenced block in order; one that is never closed goes to the end."""
    return [CodeBlock(language, code) for code, language, is_code in split_fences(text) if is_code and code.strip()]


def split_fences(text: str) -> list[tuple[str, str, bool]]:
    """Everything in order, `(text, language, is_code)`; code without its fence."""
    pieces: list[tuple[str, str, bool]] = []
    end = 0
    for found in FENCE.finditer(text):
        pieces.append((text[end : found.start()], "", False))
        pieces.append((found["code"].strip("\n"), _language(found["language"], found["code"]), True))
        end = found.end()
    return [*pieces, (text[end:], "", False)]


def first_code(text: str) -> CodeBlock | None:
    """The block that is the snippet: the first that is no mere installation, else the first."""
    blocks = code_blocks(text)
    return next((block for block in blocks if block.language != "bash"), blocks[0] if blocks else None)


def prose_of(text: str) -> str:
    """`text` without code and without its `Dependencies:` line."""
    bare = _DEPENDENCIES.sub("", without_code(text))
    return regex.sub(r"\n{3,}", "\n\n", bare).strip()


def without_code(text: str) -> str:
    """`text` without fenced blocks."""
    return regex.sub(r"\n{3,}", "\n\n", FENCE.sub("\n", text)).strip()


def dependencies_of(text: str) -> tuple[str, ...] | None:
    """Names of the packages on the `Dependencies:` line; empty for "none", None without such a line."""
    lines = list(_DEPENDENCIES.finditer(FENCE.sub("\n", text)))
    if not lines:
        return None
    what = lines[-1]["what"].strip(" `*_")
    if _NONE.match(what):
        return ()
    words = regex.split(r"[\s,;`]+", regex.sub(r"\([^)]*\)", "", what))
    names = [found.group().rstrip(".") for word in words if word not in _INSTALL_WORDS and (found := _NAME.match(word))]
    return tuple(dict.fromkeys(names))


def check_code(block: CodeBlock, dependencies: Collection[str] | None) -> CodeCheck:
    """Parse Python and compare its imports with what is stated; of other languages only the name is known."""
    has_dependencies = dependencies is not None
    if block.language != "python" or len(block.text) > MAX_CODE_CHARS:
        return CodeCheck(block.language, has_dependencies=has_dependencies)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in somebody's snippet are not ours to report
            tree = ast.parse(block.text)
    except SyntaxError as exc:
        return CodeCheck("python", False, f"line {exc.lineno or 1}: {exc.msg}", has_dependencies=has_dependencies)
    except (ValueError, RecursionError, MemoryError):
        return CodeCheck("python", False, "cannot be read", has_dependencies=has_dependencies)
    imports = tuple(dict.fromkeys(name for name in _imports(tree) if name not in sys.stdlib_module_names))
    stated = {_plain(name) for name in dependencies or ()}
    undeclared = tuple(name for name in imports if not _is_stated(name, stated)) if has_dependencies else ()
    return CodeCheck("python", True, "", imports, undeclared, has_dependencies)


def _imports(tree: ast.AST) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module.partition(".")[0])
    return names


def _is_stated(name: str, stated: Collection[str]) -> bool:
    """Whether a stated package brings the import: its own name, a known other one, or one that begins with it."""
    plain = _plain(name)
    wanted = {plain, _plain(_INSTALLED_AS.get(name.casefold(), name)), f"python-{plain}", f"{plain}-python"}
    return any(entry in wanted or entry.startswith(f"{plain}-") for entry in stated)


def _plain(name: str) -> str:
    """As package indexes compare names (PEP 503), without extras and versions."""
    return regex.sub(r"[-_.]+", "-", regex.split(r"[\[<>=!~;@ ]", name.strip(), maxsplit=1)[0]).casefold()


def _language(stated: str, code: str) -> str:
    """As stated on the fence, else Python or a shell's where it looks like that: what installs is no snippet."""
    if stated:
        name = stated.casefold()
        return _NAMES.get(name, name)
    is_python = _PYTHON_SIGNS.search(code) is not None
    if is_python and check_code(CodeBlock("python", code), None).parses:
        return "python"
    return "bash" if _BASH_SIGNS.search(code) else "python" if is_python else ""
