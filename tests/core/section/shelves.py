"""Real papers on a shelf that processes share: read from their PDFs, embedded by the loopback's hashing embedder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from adapters.records.library import SqlLibrary
from adapters.records.sqlite import Database
from bots.wiring import library_desk
from core.library.desk import LibraryDesk
from core.model.job import Scope
from tests.shared_data import shared_data

BRIEF = """
concept:
  description: >
    Genetic association studies of preeclampsia are often small, and their odds ratios are exaggerated by
    publication bias. We study how meta-analysis can detect small-study bias.
  open_questions:
    - How large is the bias in studies with fewer than 200 cases?
hypothesis:
  description: The association of polymorphisms with disease falls with the size of the study.
"""
FEW = ("0610.10033", "0811.10010", "1205.10040", "1310.10009")


async def shelve_papers(env: Mapping[str, str], scope: Scope, names: tuple[str, ...] = FEW) -> None:
    """Into the database of `env`, as `gorkd library add` does; no model summarises them."""
    without_model = {name: value for name, value in env.items() if not name.startswith("OPENAI_")}
    async with AsyncExitStack() as stack:
        folder = Path(env["GORKD_DATA"])
        database = await Database.open(folder)
        stack.push_async_callback(database.aclose)
        await add_papers(library_desk(without_model, SqlLibrary(database, folder), stack), scope, names)


async def add_papers(desk: LibraryDesk, scope: Scope, names: tuple[str, ...] = ()) -> None:
    """All papers where none is named."""
    for file in sorted(shared_data("papers").glob("*.pdf")):
        if not names or file.stem in names:
            await desk.add_file(scope, file.name, file.read_bytes())
