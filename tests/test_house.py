"""The rules that no single module can keep: who reads the environment, what stands where, what is used."""

from __future__ import annotations

import ast
import asyncio
import functools
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from bots.__main__ import PROCESSES
from tests.forked import Forked

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("bots", "adapters", "core")
CODE = sorted(path for floor in FLOORS for path in ROOT.glob(f"{floor}/**/*.py"))
PROMPTS = ROOT / "core" / "prompts"
MAX_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_MODULES = 15

BASIS = ("discord", "slack_bolt", "aiohttp", "tavily", "exa_py", "openai", "redis", "sqlite_utils")  # C-02
SLOW_TO_IMPORT = ("openai", "exa_py", "trafilatura", "tavily", "discord", "slack_bolt", "mcp")
# Distributions whose module has another name, or that are needed by a library we use and never imported by us.
MODULE_OF = {"discord.py": "discord", "exa-py": "exa_py", "markdown-it-py": "markdown_it", "python-dotenv": "dotenv",
             "pillow": "PIL", "pyyaml": "yaml", "slack-bolt": "slack_bolt", "tavily-python": "tavily"}  # fmt: skip
NEEDED_BY_OTHERS = {"lxml_html_clean": "trafilatura imports it, and lxml no longer brings it along"}
EXTRAS = {
    "mcp",
    "mcp_types",
    "starlette",
    "uvicorn",
}  # only who serves tools to other programs installs it; the command says so


@pytest.mark.parametrize("floor", ["adapters", "core"])
def test_only_bots_read_the_environment(floor: str):
    """Everything below is handed its settings, so that two of it can live in one process."""
    readers = [path.name for path in ROOT.glob(f"{floor}/**/*.py") if set(attributes_in(path)) & {"environ", "getenv"}]

    assert readers == []


@pytest.mark.parametrize("room", ["core", "adapters/records", "adapters/web"])
def test_no_rule_or_query_names_the_tenants_of_a_platform(room: str):
    """What a tenant's text means is said once (`Tenant`, core/model/job.py): a third platform needs no change."""
    files = list(ROOT.glob(f"{room}/**/*.py"))
    named = [
        f"{path.name}:{node.lineno}"
        for path in files
        for node in nodes(path)
        if isinstance(node, ast.Constant) and re.search(r"\b(?:discord|slack):", str(node.value))
    ]

    assert files
    assert named == []


ALL_ANEW = """
import sys
for names in (sys.argv[1:], sys.argv[:0:-1]):
    for name in [name for name in sys.modules if name.partition(".")[0] in {name.partition(".")[0] for name in names}]:
        del sys.modules[name]
    for name in names:
        __import__(name)
    print(len(set(names) & set(sys.modules)))
"""


async def test_every_module_can_be_imported():
    """No module needs another to be imported first, a key, or a network.

    In the order of their names and against it; in a process that has what others wrote, which takes thrice as long.
    """
    modules = [module_name(path) for path in CODE]

    importing = await Forked.start("-c", ALL_ANEW, *modules, env={})
    out, err = await asyncio.wait_for(importing.communicate(), 50)

    assert importing.returncode == 0, err.decode()
    assert out.decode().split() == [str(len(modules))] * 2


def test_every_process_has_a_runner():
    """The table of commands and the table of what they run have the same names."""
    from bots.processes import RUNNERS

    assert set(RUNNERS) == set(PROCESSES)


def test_starting_a_command_imports_no_slow_vendor():
    """`gorkd --help` must not wait for libraries that this run may never need."""
    done = in_fresh_python("import sys, bots.__main__; print(*sys.modules)")

    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & set(SLOW_TO_IMPORT) == set()


def test_what_needs_no_journal_does_not_import_it():
    """`gorkd ask` and a page without jobs of its own begin 0.4 s of processor time sooner, and with 30 MB less."""
    done = in_fresh_python("import sys, bots.processes, bots.research, bots.wiring; print('dbos' in sys.modules)")

    assert done.stdout == "False\n", done.stderr


def test_prompts_and_their_callers_are_the_same_set():
    """A prompt that is loaded exists, and one that exists is loaded."""
    loaded = {name for path in CODE for name in prompts_loaded_in(path)}

    assert loaded == {path.stem for path in PROMPTS.glob("*.md")}


@pytest.mark.parametrize("module", BASIS)
def test_each_library_of_the_basis_is_used(module: str):
    """C-02: some adapter imports it."""
    users = [path for path in ROOT.glob("adapters/**/*.py") if module in imported_by(path)]

    assert users != []


def test_every_declared_dependency_is_used():
    """What is installed on every machine is imported somewhere, or needed by something that is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    imported = {module for path in CODE for module in imported_by(path)}

    unused = [
        name
        for name in (declared.partition("[")[0] for declared in project["dependencies"])
        if MODULE_OF.get(name, name.replace("-", "_")) not in imported and name not in NEEDED_BY_OTHERS
    ]

    assert unused == []


def test_everything_that_runs_is_installed_by_the_runtime_lock():
    """Whoever follows the README or builds the container gets every library, that of PostgreSQL included."""
    locked = {normalized(name) for name in pins(ROOT / "requirements.lock")}
    distributions = packages_distributions()
    imported = {module for path in CODE for module in imported_by(path)} - sys.stdlib_module_names - {*FLOORS, *EXTRAS}

    missing = {
        module for module in imported if not locked & {normalized(name) for name in distributions.get(module, [module])}
    }

    assert missing == set()


def test_the_top_level_is_as_designed():
    """C-03: three floors, their tests, and the two files that say how to build and run them."""
    names = {path.name for path in ROOT.iterdir()}

    assert names >= {"pyproject.toml", "bots", "core", "adapters", "tests", "Procfile"}


def test_the_procfile_runs_every_process_alone():
    """C-03: `all` is for one machine; where there are several, each process is started by its own name."""
    lines = (ROOT / "Procfile").read_text("utf-8").splitlines()

    assert lines == [f"{name}: gorkd {name}" for name in PROCESSES if name != "all"]


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_locks_pin_by_hash_and_name_no_address(name: str):
    """Every package has one exact version and hashes; where it comes from is the installing machine's business."""
    entries = (ROOT / name).read_text("utf-8").replace("\\\n", " ").splitlines()

    assert entries != []
    assert [entry for entry in entries if not re.fullmatch(LOCKED, entry)] == []


def test_locks_agree():
    """Tests run against the versions that people get."""
    runtime, development = (pins(ROOT / name) for name in ("requirements.lock", "requirements-dev.lock"))

    assert runtime.items() <= development.items()


@pytest.mark.parametrize("floor", FLOORS)
def test_no_file_has_two_subjects(floor: str):
    """At 600 lines a file is about two things."""
    long = [
        path.name for path in CODE if path.is_relative_to(ROOT / floor) and len(read(path).splitlines()) > MAX_LINES
    ]

    assert long == []


def test_nothing_imports_in_a_circle():
    """Not for types alone either: whoever reads one file of a circle has to read all of it."""
    graph = {module_name(path): modules_named_in(nodes(path)) for path in CODE}

    known = {module: (imported & graph.keys()) - {module} for module, imported in graph.items()}

    assert first_circle(known) == []


def test_no_room_is_a_hall():
    """Beyond fifteen modules a folder is no room that a stranger overlooks."""
    modules = Counter(str(path.parent.relative_to(ROOT)) for path in CODE if path.name != "__init__.py")

    assert {room: count for room, count in modules.items() if count > MAX_MODULES} == {}


def test_no_function_is_longer_than_a_screen():
    long = [
        f"{path.name}: {node.name}"
        for path in CODE
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION_LINES
    ]

    assert long == []


@pytest.mark.parametrize(
    ("graph", "circle"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, ["a", "b"]),
        ({"a": {"a"}}, ["a"]),
    ],
    ids=["none", "of two", "of one"],
)
def test_a_circle_is_found(graph: dict[str, set[str]], circle: list[str]):
    assert first_circle(graph) == circle


def test_an_import_for_types_alone_counts():
    """Of a name within a package the module behind it is meant."""
    source = "if TYPE_CHECKING:\n    from adapters.chat import live\n    from adapters.chat.reply import Pace\n"

    assert modules_named_in(ast.walk(ast.parse(source))) >= {"adapters.chat.live", "adapters.chat.reply"}


def test_no_file_names_a_machine_or_a_registry():
    """What is tracked works anywhere: no home folder, no address of a package registry."""
    suspects = [path for path in tracked() if PERHAPS.search(read(path))]
    found = [f"{path.relative_to(ROOT)}: {match[0]}" for path in suspects for match in NOT_HERE.finditer(read(path))]

    assert found == []


LOCKED = r"[A-Za-z0-9._-]+(?:\[[a-z0-9,._-]+\])?==[^\s;]+(?: ; [^:@]+?)?(?:\s+--hash=sha256:[0-9a-f]{64})+\s*"
# Put together from halves, so that this file does not find itself.
NOT_HERE = re.compile(
    "|".join(
        (
            r"(?<![\w.])/(?:ro" + r"ot|wo" + r"rk)/[\w.]",
            r"(?<![\w.:])/(?:ho" + r"me|Us" + r"ers)/[a-z][\w.-]*/",
            r"\bpy" + r"pi\.org",
            r"\bpythonho" + r"sted\.org",
            r"\bregistry\.np" + r"mjs\.org",
            r"--(?:extra-)?index" + r"-url[ =]",
        )
    )
)


# Quick to look for, and in whatever the above finds.
PERHAPS = re.compile(r"/(?:ro" + r"ot|work|home|Users)/|pypi|pythonho" + r"sted|registry|index-url")


def in_fresh_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={}, capture_output=True, text=True, timeout=50, check=False
    )


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def attributes_in(path: Path) -> Iterator[str]:
    """Names behind a dot, and names imported from `os`."""
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (alias.name for alias in node.names)


def prompts_loaded_in(path: Path) -> Iterator[str]:
    for node in nodes(path):
        yield from called_for(node, "load_prompt")


@functools.cache
def imported_by(path: Path) -> set[str]:
    """Top-level modules that the file imports when it runs, wherever in the file; not those for types alone."""
    for_types = {
        inner
        for node in nodes(path)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    names: list[str] = []
    for node in nodes(path):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
        names += called_for(node, "import_module")
    return {name.partition(".")[0] for name in names}


def modules_named_in(found: Iterable[ast.AST]) -> set[str]:
    """What is imported, also for types alone, and each imported name as if it were a module of its package."""
    names: set[str] = set()
    for node in found:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def first_circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The modules of one circle by name, none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return sorted(set(found.args[1]))
    return []


def called_for(node: ast.AST, function: str) -> list[str]:
    """The literal first argument when `node` calls `function`, by its own name or behind a dot."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == function:
        return [str(first.value) for first in node.args[:1] if isinstance(first, ast.Constant)]
    return []


def pins(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;]+)", read(path), re.MULTILINE))


def normalized(name: str) -> str:
    """A distribution's name as installers compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def tracked() -> list[Path]:
    """The files under version control; skips the test where there is none."""
    try:
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in {".pdf", ".png", ".ico", ".woff2"}]


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(read(path))))


@functools.cache
def read(path: Path) -> str:
    return path.read_text("utf-8")
