"""gorkd from Python: S000's functions and S004's call under the package's own name, on a real store without a key."""

from __future__ import annotations

import doctest
import gc
import inspect
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import pytest

import gorkd
from bots import research
from core.model.errors import InvalidQuery
from gorkd import Library, QueryResult, Researcher
from tests.bots.test_ask import unreachable
from tests.pdfs import make_pdf

ID = "2401.00001v1"
QUESTION = "What causes the tides of the oceans?"
PAPER = make_pdf(
    ["Tides and the Moon", "Abstract. The tides of the oceans are studied."],
    ["The gravity of the moon pulls the water", "of the oceans and causes the tides."],
)


def env(folder: Path) -> Mapping[str, str]:
    return {"GORKD_DATA": str(folder), **unreachable()}


async def test_a_library_from_python(tmp_path: Path) -> None:
    """S000-42 … S000-46: a paper is added, and each stage is a call; what nothing is about has no success."""
    (tmp_path / f"{ID}.pdf").write_bytes(PAPER)

    async with Library(env(tmp_path)) as library:
        added = await library.add(tmp_path / f"{ID}.pdf")
        found = await library.search_summary_index(QUESTION)
        chunks = await library.search_content_index_filtered(QUESTION, [added.id])
        answer = await library.synthesize_research_answer(QUESTION, chunks)
        content, ids = await library.format_research_result(answer)
        whole = await library.research_query(QUESTION)
        nothing = await library.research_query("quantum computing applications in medieval literature")

    assert added.id == ID
    assert [entry.chunk.paper.id for entry in found] == [ID]
    assert {entry.chunk.paper.id for entry in chunks} == {ID}
    assert f"[{ID}, page 2]" in answer
    assert (ids, content.startswith(answer)) == ([ID], True)
    assert "## References\n\n1. 2401.00001v1 - " in content
    assert (whole.success, whole.paper_ids, [paper.id for paper in whole.papers]) == (True, (ID,), [ID])
    assert "## References" in whole.content
    assert nothing == QueryResult(False, (), (), "", nothing.message)
    assert nothing.message.startswith('❌ No papers found relevant to query: "quantum computing')


async def test_each_call_stands_alone(tmp_path: Path) -> None:
    """Without `async with` a call opens and closes what it needs."""
    (tmp_path / "a.md").write_text("# Tides\n\nThe moon causes the tides.")
    library = Library(env(tmp_path))

    added = await library.add(str(tmp_path / "a.md"))

    assert await library.papers() == [added]


async def test_a_file_that_is_too_large_or_shut_gets_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large one no more is read than tells that it is; one that cannot be opened ends as what people get wrong."""
    large, shut = tmp_path / "large.md", tmp_path / "shut.md"
    large.write_text("# Tides")
    shut.write_text("# Tides")
    monkeypatch.setattr(research, "MAX_PAPER_BYTES", 2)
    whole = Path.open

    def opened(path: Path, *how: str, **more: str):
        if path == shut:
            raise PermissionError(13, "Permission denied")
        return whole(path, *how, **more)

    monkeypatch.setattr(Path, "open", opened)
    async with Library(env(tmp_path)) as library:
        with pytest.raises(InvalidQuery, match=r"shut\.md cannot be opened: Permission denied"):
            await library.add(shut)
        await library.add(large)
        kept = await library.papers()

    assert [paper.content_hash for paper in kept] == [sha256(b"# T").hexdigest()]


async def test_the_collector_of_whoever_imports_the_package_stays_as_it_is(tmp_path: Path) -> None:
    before = (gc.get_threshold(), gc.isenabled())
    gc.set_threshold(701, 11, 12)
    gc.disable()
    try:
        await Library(env(tmp_path)).papers()
        assert (gc.get_threshold(), gc.isenabled()) == ((701, 11, 12), False)
    finally:
        gc.set_threshold(*before[0])
        if before[1]:
            gc.enable()


def test_arguments_are_those_of_the_document() -> None:
    """S000-43, S000-44, S004-01: names, order and numbers."""

    def defaults(call) -> dict[str, object]:
        own = list(inspect.signature(call).parameters.values())[1:]
        return {one.name: None if one.default is inspect.Parameter.empty else one.default for one in own}

    numbers = {"k": 8, "use_mmr": True, "similarity_cutoff": 0.5, "mmr_alpha": 0.5}
    filtered = {"k": 15, "use_mmr": True, "similarity_cutoff": 0.6, "mmr_alpha": 0.6}
    assert defaults(Library.search_summary_index) == {"query": None, **numbers}
    assert defaults(Library.search_content_index_filtered) == {"query": None, "paper_ids": None, **filtered}
    assert list(defaults(Library.synthesize_research_answer)) == ["query", "evidence_chunks"]
    assert defaults(Researcher.research) == {"query": None, "mode": None, "top_k": 5, "depth": "light"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param({"top_k": 0}, "top_k is 0; it must be a whole number from 1 to 20", id="none"),
        pytest.param({"top_k": 21}, "top_k is 21; it must be a whole number from 1 to 20", id="too many"),
        pytest.param({"top_k": "5"}, "top_k is '5'; it must be a whole number from 1 to 20", id="a text"),
        pytest.param({"depth": "x"}, "depth is 'x'; it must be light or deep", id="depth"),
        pytest.param({"mode": "both"}, "'both' is none of idea, implementation, freeform", id="mode"),
        pytest.param({"query": "  "}, "", id="no question"),
    ],
)
async def test_a_wrong_argument_gets_one_sentence(tmp_path: Path, arguments: dict, sentence: str) -> None:
    """S004-01: before anything is opened, searched or paid for."""
    with pytest.raises(ValueError, match=r"\w") as error:
        await Researcher(env(tmp_path)).research_async(**{"query": QUESTION, **arguments})

    assert sentence in str(error.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("search_summary_index", (QUESTION, 0)),
        ("search_summary_index", ("",)),
        ("search_content_index_filtered", (QUESTION, ID)),
        ("synthesize_research_answer", (QUESTION, [])),
        ("research_query", ("?",)),
    ],
)
async def test_a_wrong_argument_of_a_library_too(tmp_path: Path, call: str, arguments: tuple) -> None:
    """S000-51."""
    with pytest.raises(ValueError, match=r"\w"):
        await getattr(Library(env(tmp_path)), call)(*arguments)


@pytest.mark.parametrize("module", [gorkd, research])
def test_examples_in_the_documentation_run(module) -> None:
    """What docstrings show is what is said."""
    tried = doctest.testmod(module)

    assert tried.attempted > 0
    assert tried.failed == 0


def test_the_package_is_typed() -> None:
    """Type checkers of other programs read it (PEP 561)."""
    assert (Path(gorkd.__file__).parent / "py.typed").is_file()
