"""The documents say what the code does: variables, commands, modes, links and requirements, each checked."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from babel.messages.pofile import read_po
from typer import Context, Typer
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from adapters.cli import build_app
from bots.__main__ import PROCESSES, open_researcher, operating, run_mcp, run_process
from core.model.job import LOCAL
from core.model.source import SearchQuery
from core.modes import MODES
from core.pipeline.conversation import read_reply
from core.pipeline.researcher import RENEWALS
from core.presentation import wording
from core.presentation.follow_ups import no_answer
from core.presentation.render import job_json
from core.presentation.tools import TOOLS
from core.text import saying
from core.text.injection import instructions_in
from core.watch.tools import WATCH_TOOLS
from tests.adapters.web.conformity import description
from tests.fakes import make_job
from tests.golden import samples

ROOT = Path(__file__).resolve().parent.parent
DOCS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *ROOT.glob("docs/**/*.md")])
TESTS = sorted(ROOT.glob("tests/**/*.py"))

VARIABLE = re.compile(
    r"(?:GORKD|OPENAI|TAVILY|EXA|SEARXNG|WIKIPEDIA|PUBMED|NCBI|ARXIV|EUROPEPMC|OPENALEX|CROSSREF|UNPAYWALL|DISCORD|SLACK"
    r"|REDIS|DATABASE)_[A-Z_]*[A-Z]|[A-Z]+_(?:API_KEY|BASE_URL)|HTTPS?_PROXY|NO_PROXY|HOST|PORT"
)
REQUIREMENT = re.compile(r"\b(?:C|G|N|S00[0-4])-\d{2}\b|\bD(?:2[0-7]|1\d|[1-9])\b")
ROW = re.compile(r"^\| `?([^|`]+)`? \|(.*)\|([^|]*)\|$", re.MULTILINE)
STATES = re.compile(r"done|open|part: .+")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
COMMANDS = (
    "init",
    "ask",
    "retry",
    "refresh",
    "improve",
    "section",
    "watch",
    "paper",
    "refs",
    "mcp",
    "export",
    "verify",
    "eval",
    "stats",
    "trace",
    "doctor",
    "upgrade-check",
    "forget",
    "cache",
    "settings",
    "link",
    "library",
    "chat",
    *PROCESSES,
)


def test_variables_are_the_same_in_example_document_and_code():
    """A variable that is read is in `.env.example` and in docs/configuration.md, and the other way round."""
    example = set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE))
    document = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/configuration.md").read_text("utf-8"), re.MULTILINE))

    read = variables_in_code()

    assert read == example
    assert read == document


def test_commands_are_those_of_the_table():
    """The command line offers `ask`, every process, and what looks after an installation; nothing else."""
    assert set(offered()) == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str):
    """`gorkd <name>` and each of its long options stand in docs/commands.md."""
    page = (ROOT / "docs/commands.md").read_text("utf-8")

    missing = [option for option in sorted(offered()[name]) if f"`{option}`" not in page]

    assert f"`gorkd {name}" in page
    assert missing == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_that_is_named_exists(page: Path):
    """A reader who copies a `gorkd …` or `make …` gets no error for a command, an option or a target."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    wrong = [line for line in commands_named_in(page.read_text("utf-8")) if not is_known_command(line, targets)]

    assert wrong == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path):
    """The file is there, and the heading when the link names one."""
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)", without_code(page.read_text("utf-8")))

    dead = [link for link in links if not re.match(r"[a-z]+:", link) and not leads_somewhere(page, link)]

    assert dead == []


def test_every_picture_is_there_named_and_small():
    """A picture is a tracked PNG of at most 200 KB, described for those who cannot see it, and none is left over."""
    shown = {
        (page.parent / path).resolve(): words
        for page in DOCS
        for words, path in PICTURE.findall(page.read_text("utf-8"))
    }

    pictures = set(ROOT.glob("docs/pictures/*"))

    assert pictures == set(shown)
    assert [path.name for path in pictures if path.suffix != ".png" or path.stat().st_size > 200_000] == []
    assert all(shown.values())
    assert sum(path.stat().st_size for path in pictures) <= 1_500_000


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.name)
def test_every_page_says_what_it_is_for(page: Path):
    """Its first paragraph is words, and docs/README.md lists it with a line."""
    listed = dict(
        re.findall(
            r"^\| \[[^\]]+\]\(([\w-]+\.md)\) \| (.+) \|$", (ROOT / "docs/README.md").read_text("utf-8"), re.MULTILINE
        )
    )

    _, heading, first, *_ = ["", *page.read_text("utf-8").split("\n\n")]

    assert heading.startswith("# ")
    assert re.match(r"[A-Z`g]", first)
    assert page.name == "README.md" or listed[page.name].endswith(".")


@pytest.mark.parametrize("name", sorted(MODES))
def test_every_mode_is_in_the_table_of_modes(name: str):
    """With its own words and its deadline."""
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE))

    assert MODES[name].description in rows[name]
    assert f"{MODES[name].deadline_s:.0f} s" in rows[name]


def test_the_list_of_commands_is_not_cut():
    """`gorkd --help` says of each command what it does, whole, on a screen of 80 columns."""
    shown = CliRunner().invoke(command_line(), ["--help"], terminal_width=80).output

    assert re.search(r"library +Add papers", shown)
    assert "..." not in shown.partition("Commands:")[2]


def test_the_usage_of_every_command_is_plain():
    """What to type in a place is in capitals, and what may be left out in one pair of brackets."""
    usages = dict(usages_of(get_command(command_line()), "gorkd"))

    assert "gorkd library reindex" in usages
    assert {name: line for name, line in usages.items() if re.search(r"\[\[|\{[a-z]", line)} == {}


async def test_what_contributors_copy_works(monkeypatch):
    """The smallest provider, mode and language of CONTRIBUTING.md are one as they stand."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    provider, mode = ({}, {})
    for code, names in zip(re.findall(r"```python\n(.*?)```", page, re.DOTALL), (provider, mode), strict=True):
        exec(code, names)
    swedish = read_po(re.findall(r"```po\n(.*?)```", page, re.DOTALL)[0].splitlines(keepends=True), locale="sv")
    monkeypatch.setattr(saying, "_catalog", {"sv": ({told.id: told.string for told in swedish}, int)}.__getitem__)
    monkeypatch.setitem(saying.LANGUAGES, "sv", "Svenska")
    almanac = provider["build"]({"ALMANAC_API_KEY": "a"}, None)

    hits = await almanac.search(SearchQuery("tides"), limit=5, scope=LOCAL)
    result = await mode["MODE"].run(SimpleNamespace(job=make_job("Tides?")))

    assert provider["build"]({}, None) is None
    assert [hit.title for hit in hits] == ["Tides at Brest"]
    assert result.answer.summary == "You asked: Tides?"
    assert no_answer("sv", ["a"], ["b"]).endswith('besvarar frågan. Sökte efter "a" i b.')


@pytest.mark.parametrize(("place", "name"), [(0, "adapters/search/almanac.py"), (1, "core/modes/echo.py")])
def test_what_contributors_copy_passes_the_lint(place: int, name: str):
    """As a file that is added does."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[place]

    for look in (("check", "--no-cache"), ("format", "--check", "--no-cache")):
        command = [sys.executable, "-m", "ruff", *look, "--stdin-filename", name, "-"]
        found = subprocess.run(command, check=False, input=code, capture_output=True, text=True, cwd=ROOT)
        assert found.returncode == 0, found.stdout + found.stderr


def test_every_decision_is_listed_with_its_title():
    """Each record of docs/adr says whether it holds, and architecture.md lists all of them, in order."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ") for path in records]

    listed = re.findall(r"^- \[(.*)\]\(adr/(.*)\)$", page, re.MULTILINE)

    assert listed == [(title, path.name) for title, path in zip(titles, records, strict=True)]
    assert [path.name for path in records if "**State.**" not in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/style.md"])
def test_every_file_that_a_page_names_exists(page: str):
    """A path in a page of those who change the code leads somewhere: from the root, or by its last part."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text))

    known = {
        str(path.relative_to(ROOT)) for floor in ("adapters", "bots", "core") for path in ROOT.glob(f"{floor}/**/*")
    }
    ends = {f"/{path}".rstrip("/") for path in named if not (ROOT / path).exists()}

    assert {end for end in ends if not any(f"/{path}".endswith(end) for path in known)} == set()


def test_requirements_are_told_apart_and_have_a_state():
    """Each id once, each state one of `done`, `part: …`, `open`."""
    rows = requirement_rows()

    assert len({id_ for id_, _ in rows}) == len(rows)
    assert {id_ for id_, _ in rows} >= {"C-01", "D17", "G-05", "S000-51", "S001-36", "S002-23", "S003-26", "S004-17"}
    assert [row for row in rows if not STATES.fullmatch(row[1])] == []


def test_cited_requirements_exist():
    """A test cannot prove what nobody asked for."""
    known = {id_ for id_, _ in requirement_rows()}

    unknown = {f"{path.name}: {id_}" for path in TESTS for id_ in cited_in(path) - known}

    assert unknown == set()


def test_what_is_done_is_proved():
    """An id is `done` only when a test cites it."""
    cited = {id_ for path in TESTS for id_ in cited_in(path)}

    unproved = [id_ for id_, state in requirement_rows() if state == "done" and id_ not in cited]

    assert unproved == []


def test_every_field_of_a_job_is_in_the_description_of_the_api():
    """A field that is added to a job's JSON is described in adapters/web/openapi.yaml."""
    described = description()["components"]["schemas"]

    job = job_json(samples.COMPLETED, samples.RESULT, samples.SOURCES)

    assert set(job) <= set(described["Job"]["properties"])
    assert set(job["answer"]) <= set(described["Answer"]["properties"])
    assert set(job["sources"][0]) <= set(described["Source"]["properties"])
    assert set(job["citations"][0]) <= set(described["Citation"]["properties"])
    assert set(job["metadata"]) <= set(described["Metadata"]["properties"])


def test_changelog_has_room_for_what_comes():
    """Keep a Changelog: what is not released stands under its own heading."""
    first = re.search(r"^## (.+)$", changelog(), re.MULTILINE)

    assert first[1] in {"Unreleased", "[Unreleased]"}


def test_the_version_is_that_of_the_newest_release() -> None:
    """pyproject.toml, which the installed program reads its version from, and the changelog name the same one."""
    released = re.search(r"^## (\d+\.\d+\.\d+) – \d{4}-\d{2}-\d{2}$", changelog(), re.MULTILINE)

    built = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]

    assert released[1] == built


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text("utf-8")


def variables_in_code() -> set[str]:
    """Every string of bots and adapters that is a variable's name and nothing else."""
    paths = [*ROOT.glob("bots/**/*.py"), *ROOT.glob("adapters/**/*.py")]
    return {text for path in paths for text in strings_in(path) if VARIABLE.fullmatch(text)}


def strings_in(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if VARIABLE.search(text) else ():  # to parse a file takes longest
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@cache
def offered() -> dict[str, set[str]]:
    """What the command line offers: each command with its long options and those of its subcommands."""
    app = get_command(command_line())
    assert isinstance(app, TyperGroup)
    return {name: options_of(command) for name, command in app.commands.items()}


def command_line() -> Typer:
    return build_app(open_researcher, run_process, PROCESSES, operating, run_mcp)


def options_of(command: object) -> set[str]:
    own = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    return own.union(*(options_of(part) for part in getattr(command, "commands", {}).values()))


def usages_of(command: object, name: str) -> Iterator[tuple[str, str]]:
    """A command and all below it, each with the line that tells how it is typed."""
    yield name, command.get_usage(Context(command, info_name=name))
    for below, part in getattr(command, "commands", {}).items():
        yield from usages_of(part, f"{name} {below}")


def commands_named_in(text: str) -> list[str]:
    """What a reader may type: lines of any block, and inline code, from `gorkd` or `make` on.

    A `$`, a path and settings before the program are left out, as are comments and pipes behind it.
    """
    lines = [line for block in FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()[1:-1]]
    lines += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    typed = (
        re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:[\w./-]+/)?((?:gorkd|make) [a-z-][^|#>&]*)", line) for line in lines
    )
    return [match[1].strip() for match in typed if match]


def is_known_command(line: str, targets: set[str]) -> bool:
    program, name, *rest = line.split()
    if program == "make":
        return name in targets
    if name.startswith("-"):
        return name == "--help"
    options = {option.strip("[]").partition("=")[0] for option in rest if option.lstrip("[").startswith("--")}
    return name in offered() and options - {"--", "--help"} <= offered()[name]


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors_of(target.read_text("utf-8"))


def anchors_of(text: str) -> set[str]:
    """Headings as GitHub links to them: lower case, words joined by hyphens, other signs left out."""
    headings = re.findall(r"^#{1,6}\s+(.+?)\s*#*$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.casefold()).replace(" ", "-") for heading in headings}


def requirement_rows() -> list[tuple[str, str]]:
    text = (ROOT / "tests/requirements.md").read_text("utf-8")
    return [(id_, state.strip()) for id_, _, state in ROW.findall(text) if REQUIREMENT.fullmatch(id_)]


@functools.cache
@cache
def cited_in(path: Path) -> set[str]:
    """The ids in the docstrings of one test file."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    text = path.read_text("utf-8")
    found = ast.walk(ast.parse(text)) if REQUIREMENT.search(text) else ()  # to parse a file takes longest
    nodes = [node for node in found if isinstance(node, documented)]
    return {id_ for node in nodes for id_ in REQUIREMENT.findall(ast.get_docstring(node) or "")}


def test_no_document_of_ours_reads_like_an_order_to_a_machine():
    """The documents are the offline corpus; a sentence that is masked there could not be quoted."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

    masked = {path.name: instructions_in(path.read_text(encoding="utf-8")) for path in paths}

    assert not {name for name, spans in masked.items() if spans}


DEEDS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/commands.md")
    .read_text("utf-8")
    .partition("## The same deeds everywhere")[2]
    .partition("\n## ")[0]
    .splitlines()
    if line.startswith("| ") and not line.startswith("| Deed")
]


@pytest.mark.parametrize("row", DEEDS, ids=lambda row: row[0])
def test_each_deed_is_there_where_it_is_said_to_be(row: list[str]):
    """N-29: buttons have these labels, words are read, paths are routed, commands and tools exist."""
    _, discord, slack, page, terminal, http, mcp = row
    routes = ROUTES.findall("".join(path.read_text("utf-8") for path in (ROOT / "adapters/web").glob("*.py")))
    known = {path.replace("{{", "{").replace("}}", "}") for path in routes}
    known |= {
        f"{prefix}/jobs/{{job_id}}/{deed}" for prefix in ("", "/v1") for deed in (*RENEWALS, "follow-up", "links")
    }

    for label in BOLD.findall(discord + slack):
        assert label in wording.BUTTONS.values()
    for said in CODE.findall(discord + slack):
        assert said.startswith("/") or read_reply(said).kind != "question", said
    assert [path for path in CODE.findall(page + http) if path not in known] == []
    for command, *options in (said.split()[1:] for said in CODE.findall(terminal)):
        assert command in COMMANDS
        assert set(options) <= offered()[command]
    assert set(CODE.findall(mcp)) <= {*TOOLS, *WATCH_TOOLS, "share"}


BOLD, CODE, ROUTES = re.compile(r"\*\*([^*]+)\*\*"), re.compile(r"`([^`]+)`"), re.compile(r'"(/[^"\s]*)"')
