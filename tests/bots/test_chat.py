"""`gorkd chat` as a real process on a real PDF: S000's panels, files where they are said to be, and a quiet end."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import sys
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.cli.chat import _addition
from adapters.records.library import SqlLibrary
from adapters.records.sqlite import Database
from core.library.states import Addition
from core.model.errors import InvalidQuery
from tests.bots.test_ask import unreachable
from tests.commands import gorkd
from tests.core.library.examples import example_papers
from tests.core.library.samples import shelve
from tests.pdfs import make_pdf
from tests.shared_data import ROOT

PAPER = make_pdf(
    ["Tides and the Moon", "Abstract. The tides of the oceans are studied."],
    ["The gravity of the moon pulls the water", "of the oceans and causes the tides."],
    ["The largest tides of the oceans were", "measured in the Bay of Fundy."],
)


ID = "2401.00001v1"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the paper in its library; each test asks it something else."""
    folder = tmp_path_factory.mktemp("library")
    (folder / f"{ID}.pdf").write_bytes(PAPER)
    await gorkd("library", "add", str(folder / f"{ID}.pdf"), env=alone(folder))
    return folder


def alone(data: Path) -> dict[str, str]:
    return {"GORKD_DATA": str(data), "COLUMNS": "100", **unreachable()}


async def test_a_conversation_at_the_terminal(data: Path) -> None:
    """S000-30, S000-36, S000-37, S000-38, S000-40, S000-41, S000-47: it ends with its input."""
    lines = "research What causes the tides of the oceans?\nsave\nopen 1\nopne 1\n"

    ended = await gorkd("chat", env=alone(data), lines=lines)
    later = await gorkd("chat", env=alone(data), lines="status\n")

    out = ended.out
    assert (ended.code, ended.err) == (0, "")
    told = [line for line in out.splitlines() if line.startswith(("🔍", "📚", "✍️", "   Found", "   Retrieved"))]
    assert told == [
        "🔍 Stage 1: Searching summaries for relevant papers...",
        "   Found 1 relevant papers",
        "📚 Stage 2: Gathering detailed evidence from 1 papers...",
        "   Retrieved 1 content chunks",
        "✍️  Stage 3: Synthesizing answer from evidence...",
    ]
    assert "─ 📝 Research Results ─" in out
    assert re.search(r"causes the tides\s+\[2401\.00001v1, page\s+(│\s+│\s+)?2\]✓", out)
    assert "💡 Next steps:\n• Use `save` to save these results\n" in out
    saved = re.search(r"💾 Saving research results\.\.\.\n✅ Research results saved to: (\S+)", out)
    place = Path(saved[1])
    assert place.parent == data / "results"
    assert re.fullmatch(r"what-causes-the-tides-of-the-oceans_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.md", place.name)
    assert "## References\n\n1. 2401.00001v1 - " in (data / "results" / place.name).read_text("utf-8")
    assert f"PDF Location: {data / 'papers' / f'{ID}.pdf'}" in out
    assert (data / "papers" / "2401.00001v1.pdf").read_bytes() == PAPER
    assert (data / "papers" / "2401.00001v1_page_2.png").read_bytes().startswith(b"\x89PNG")
    standing = out[out.index("╯", out.index("📝 Research Results")) : out.index("💡 Next steps:")]
    assert "Confidence  " in standing
    assert "Limitations\n  - " in standing
    assert "quoted from the sources; no language model wrote it" in standing
    assert "Did you mean `open <number|id> [page]`?" in out
    assert "State: summarized" in later.out


async def test_a_slash_before_a_command_is_no_part_of_it(data: Path) -> None:
    ended = await gorkd("chat", env=alone(data), lines="/status\n/quit\nresearch tides\n")

    assert (ended.code, ended.err) == (0, "")
    assert "State: " in ended.out
    assert "Stage 1" not in ended.out


async def test_nothing_is_found_off_the_topic(data: Path) -> None:
    """S000-31: S000's third example, word for word; plain words are asked too, and the place stays usable."""
    query = "quantum computing applications in medieval literature"

    ended = await gorkd("chat", env=alone(data), lines=f"research {query}\n{query}\nlist\n")

    told = f'❌ No papers found relevant to query: "{query}". Try refining your search terms.'
    first = f"🔍 Stage 1: Searching summaries for relevant papers...\n{told}\n"
    assert ended.out.startswith(f"{first}🔍 Stage 1:")
    assert ended.out.count(told) == 2
    assert (
        f"\nTaken as a question to your papers, like `research …`; `help` shows the commands.\n\n{told}\n" in ended.out
    )
    assert "1 2401.00001v1 - " in ended.out


async def test_the_examples_of_a_larger_library(tmp_path: Path) -> None:
    """S000's first, second and fourth example in the default install: what rewriting needs is said, nothing is lost."""
    database = await Database.open(tmp_path)
    for paper, text in example_papers().items():
        await shelve(SqlLibrary(database, tmp_path), paper, text=text)
    await database.aclose()
    lines = [
        "research what is prompt engineering", "research how do transformers work",
        "improve add more details about the mathematical foundations", "save",
        "research attention mechanisms in neural networks", "summary 1", "open 2",
    ]  # fmt: skip

    ended = await gorkd("chat", env=alone(tmp_path), lines="\n".join([*lines, ""]))

    out = ended.out
    assert (ended.code, ended.err) == (0, "")
    assert out.count("─ 📝 Research Results ─") == out.count("💡 Next steps:") == 3
    papers = re.findall(r"^   Found (\d+) relevant papers$", out, re.MULTILINE)
    chunks = re.findall(r"^   Retrieved (\d+) content chunks$", out, re.MULTILINE)
    assert len(papers) == len(chunks) == 3
    assert all(5 <= int(count) <= 8 for count in papers)
    assert all(10 <= int(count) <= 15 for count in chunks)
    assert "Rewriting needs a language model" in " ".join(out.split())
    assert re.search(r"✅ Research results saved to: \S+/results/how-do-transformers-work_[\d_-]+\.md", out)
    assert "─ 📝 Response ─" in out
    assert re.search(r"• Paper id: \d{4}\.\d{4,5}v\d", out)
    assert "Paper Content: " in out
    assert "PDF Location: " in out


async def test_one_question_names_papers_and_pages(data: Path) -> None:
    """S000-16, S000-24: `gorkd ask --mode library` shows ids and pages, and the references once."""

    ended = await gorkd("ask", "--mode", "library", "What causes the tides of the oceans?", env=alone(data))

    assert ended.code == 0
    assert "[2401.00001v1, page 2]" in " ".join(ended.out.split())
    assert ended.out.count("1. 2401.00001v1 - ") == 1
    assert "Sources" not in ended.out


async def test_a_person_at_a_screen_sees_the_paper(data: Path, tmp_path: Path) -> None:
    """S000-41: the PDF is handed to the machine's viewer, and the terminal says so."""
    viewer = tmp_path / "bin" / "xdg-open"
    viewer.parent.mkdir()
    viewer.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/seen\n')
    viewer.chmod(0o755)
    keyboard, terminal = pty.openpty()
    screen = {"DISPLAY": ":0", "PATH": f"{viewer.parent}:{os.environ['PATH']}", "COLUMNS": "200"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bots", "chat",
        cwd=ROOT, env=alone(data) | screen, stdin=terminal, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip

    os.write(keyboard, b"open 2401.00001v1\nexit\n")
    out, _ = await asyncio.wait_for(process.communicate(), 50)
    os.close(keyboard)

    place = data / "papers" / "2401.00001v1.pdf"
    assert process.returncode == 0
    assert f"PDF Location: {place}\nPaper has been opened using PDF viewer {viewer}\n" in out.decode()
    assert (tmp_path / "seen").read_text() == f"{place}\n"


def test_files_are_added_and_no_question(tmp_path: Path) -> None:
    """`add x.pdf` was researched; what only begins with the word is said to the library as it is."""
    file = tmp_path / "my paper.pdf"
    file.write_bytes(PAPER)

    addition, files = _addition(f"add '{file}' 2401.00001") or (None, [])

    assert [(one.name, one.size) for one in files] == [("my paper.pdf", len(PAPER))]
    assert addition == Addition(("2401.00001",))
    assert _addition("What does the paper add to this?") is None
    assert _addition("add 2401.00001 to the library") == (Addition(("2401.00001",)), [])
    with pytest.raises(InvalidQuery, match=r"There is no file gone\.pdf"):
        _addition("add gone.pdf")
    for line in ("add", "add to our library"):
        with pytest.raises(InvalidQuery, match=r"Say what: `add <"):
            _addition(line)


def test_a_folder_is_added_with_its_papers(tmp_path: Path) -> None:
    """As `gorkd library add` takes one, however many they are."""
    for number in range(12):
        (tmp_path / f"{number:02}.pdf").write_bytes(PAPER)
    (tmp_path / "photo.png").write_bytes(b"")

    _, files = _addition(f"add '{tmp_path}'") or (None, [])

    assert [file.name for file in files] == [f"{number:02}.pdf" for number in range(12)]
