"""Papers as ten sorts of publishers lay them out: title, authors, year, DOI and tables as their pages show.

Six are set by LaTeX here; four were exported by LibreOffice 7.4, with the titles that word processors leave in a file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.pages.papers import PaperFiles
from adapters.pages.pdf.lines import Line
from adapters.pages.pdf.markdown import authors_under
from core.library.ingest import Ingestion
from core.model.job import LOCAL
from tests.fakes import now
from tests.records import memory_library

LAYOUTS = Path(__file__).parent / "layouts"
ALL = ("Ingrid Aas", "Per-Erik Lund", "Chiara De Santis")
SET_BY_LATEX = {
    "preprint": ("How Depth and Width Shape the Tides of Small Harbours", ALL, "2021", ""),
    "twocolumn": ("Surge Prediction for Small Harbours with Eight Waves", ALL, "2019", "10.5555/tcoast.2019.0702311"),
    "elsevier": (
        "The width of the mouth decides how much of a storm enters a harbour",
        ALL,
        "2017",
        "10.5555/j.coast.2017.01.003",
    ),
    "acm": ("Reading Old Tide Books with Small Models", ALL, "2022", "10.5555/3500000.3500001"),
    "ams": ("ON SUMS OF EIGHT WAVES", ALL[:2], "2015", ""),
    "nature": ("Two centuries of harbour books reveal a rising tide", ALL, "2020", "10.5555/s41000-020-0001-2"),
}
EXPORTED = {
    "vancouver": ("Injuries on slipways at low tide: a register study", ALL, "2018", "10.5555/jcm.2018.12.44"),
    "report": ("What Does a Metre of Water Cost a Harbour?", ALL[:2], "2023", ""),
    "openjournal": (
        "Does dredging raise the tide? A comparison of nine harbours",
        ALL,
        "2016",
        "10.5555/s40000-016-0017-x",
    ),
    "workshop": ("Asking Harbour Books Questions in Plain Words", ALL, "2024", ""),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def files() -> AsyncIterator[PaperFiles]:
    opened = PaperFiles(workers=1)
    yield opened
    await opened.aclose()


def pdf_of(name: str, folder: Path) -> bytes:
    if name in EXPORTED:
        return (LAYOUTS / f"{name}.pdf").read_bytes()
    engine = shutil.which("pdflatex")
    if engine is None:
        pytest.skip("no pdflatex: apt-get install texlive-latex-base")
    command = [engine, "-interaction=nonstopmode", f"-output-directory={folder}", f"{name}.tex"]
    env = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    done = subprocess.run(command, cwd=LAYOUTS, env=env, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / f"{name}.pdf").read_bytes()


@pytest.mark.parametrize(("name", "known"), [*SET_BY_LATEX.items(), *EXPORTED.items()])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_paper_is_known_by_what_its_first_page_shows(
    files: PaperFiles, name: str, known: tuple[str, tuple[str, ...], str, str], tmp_path: Path
) -> None:
    """S001-08: without a model, and although its file says nothing or something else of itself."""
    library = memory_library()

    done = await Ingestion(library, files.read, now).add(LOCAL, "download.pdf", pdf_of(name, tmp_path))

    paper = done.paper
    assert (paper.title, paper.authors, paper.published, paper.doi) == known
    text = await library.text([LOCAL], paper.id)
    assert "Harbour masters have kept books of the water for two centuries." in text
    if name != "workshop":  # which has no table
        assert "| Tornby | 1.2 | 6.5 |" in text


@pytest.mark.parametrize(
    ("texts", "authors"),
    [
        pytest.param(["Smith J, van der Berg AB"], ["Smith J", "van der Berg AB"], id="Vancouver"),
        pytest.param(["A. B. Smith and J.-P. O'Neill"], ["A. B. Smith", "J.-P. O'Neill"], id="initials"),
        pytest.param(["Jan van Dam, PhD; María José Núñez, MD"], ["Jan van Dam", "María José Núñez"], id="degrees"),
        pytest.param(["Harbour Reports", "Anna Berg, Tom Reed"], ["Anna Berg", "Tom Reed"], id="a journal first"),
        pytest.param(["University of Vik", "Vik, Norway"], [], id="places alone"),
        pytest.param(["We met Anna Berg, Tom Reed and others."], [], id="a sentence with names"),
        pytest.param(["Abstract", "Anna Berg, Tom Reed"], [], id="below the abstract"),
    ],
)  # fmt: skip
def test_authors_are_lines_of_nothing_but_names(texts: list[str], authors: list[str]) -> None:
    title = Line("On Tides", 60, 300, 700, 20)
    below = [Line(text, 60, 300, 680 - 14 * at, 11) for at, text in enumerate(texts)]

    assert authors_under([title], [title, *below]) == authors
