"""What the library stands on."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.shared_data import ROOT

OURS = {"core", "adapters"}
FILES = [*(ROOT / "core" / "library").glob("*.py"), ROOT / "core" / "modes" / "library.py"]
STORES = [ROOT / "adapters" / "records" / f"{name}.py" for name in ("library", "sql", "sqlite")]


def test_the_funnel_needs_no_dependency_of_its_own() -> None:
    """S000-49: no vector store and no framework; arithmetic by numpy, rows by the SQLite that keeps all else."""
    imported = {name for path in (*FILES, *STORES) for name in _imports(path)}

    assert imported - OURS - set(sys.stdlib_module_names) == {"numpy", "sqlite_utils"}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
