"""The table of providers: which are built from which environment (S003-06, C-02)."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import adapters.search
from adapters.search import PROVIDERS, build_providers, shared_rates
from core.model.config import SearchSettings
from core.model.errors import ProviderRateLimited, SetupError
from core.model.job import LOCAL, Scope
from core.model.ports import SearchProvider
from core.model.source import SearchQuery
from core.pipeline.limits import CallRate

KEYED = {"TAVILY_API_KEY": "tvly-x", "EXA_API_KEY": "exa-x"}
KEYLESS = ["wikipedia", "pubmed", "arxiv", "europepmc", "files"]


def build(env: Mapping[str, str], folder: Path, *, files: bool = True) -> dict[str, SearchProvider]:
    return build_providers(
        env, data_dir=folder / "data", default_files=[folder] if files else [], search=SearchSettings()
    )


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        pytest.param({}, KEYLESS, id="no key"),
        pytest.param({"TAVILY_API_KEY": " "}, KEYLESS, id="blank key"),
        pytest.param(KEYED, ["tavily", "exa", *KEYLESS], id="both keys"),
        pytest.param({"EXA_API_KEY": "e"}, ["exa", *KEYLESS], id="one key"),
        pytest.param({"GORKD_PROVIDERS": "files, Wikipedia,files,"}, ["files", "wikipedia"], id="named, in order"),
        pytest.param({"GORKD_PROVIDERS": " , "}, KEYLESS, id="named nothing"),
    ],
)
def test_the_environment_decides_which_providers_there_are(
    env: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    """Without any key the keyless ones; the order is the one named."""
    built = build(env, tmp_path)

    assert list(built) == expected
    assert [provider.name for provider in built.values()] == expected


def test_without_a_folder_there_is_no_file_search(tmp_path: Path) -> None:
    """Nothing to read."""
    assert "files" not in build({}, tmp_path, files=False)


def test_a_folder_with_nothing_to_read_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Otherwise every question finds nothing there, and nobody learns why."""
    empty = tmp_path / "empty"
    empty.mkdir()

    build({"GORKD_FILES": str(empty)}, tmp_path)
    told = caplog.text
    (empty / "a.md").write_text("Tides rise.", encoding="utf-8")
    caplog.clear()
    build({"GORKD_FILES": str(empty)}, tmp_path)

    assert f"nothing to read in {empty}" in told
    assert "nothing to read" not in caplog.text


@pytest.mark.parametrize(
    ("env", "words"),
    [
        pytest.param({"GORKD_PROVIDERS": "bing"}, ["bing", *PROVIDERS], id="unknown"),
        pytest.param({"GORKD_PROVIDERS": "tavily"}, ["TAVILY_API_KEY"], id="named without its key"),
        pytest.param({"GORKD_PROVIDERS": "files"}, ["GORKD_FILES"], id="named without a folder"),
        pytest.param({"WIKIPEDIA_BASE_URL": "wikipedia"}, ["WIKIPEDIA_BASE_URL"], id="wrong address"),
        pytest.param({"PUBMED_BASE_URL": "ftp://x"}, ["PUBMED_BASE_URL"], id="wrong scheme"),
        pytest.param({"ARXIV_BASE_URL": "http://"}, ["ARXIV_BASE_URL"], id="no host"),
        pytest.param({"GORKD_FILES": "/no/such/folder"}, ["GORKD_FILES", "/no/such/folder"], id="no such folder"),
        pytest.param({"NCBI_API_KEY": "a b"}, ["NCBI_API_KEY"], id="impossible key"),
    ],
)
def test_a_wrong_setting_is_one_clear_sentence(env: dict[str, str], words: list[str], tmp_path: Path) -> None:
    """The operator reads what to mend."""
    with pytest.raises(SetupError) as caught:
        build(env, tmp_path, files=False)

    assert all(word in str(caught.value) for word in words)


def test_every_module_with_a_builder_is_in_the_table() -> None:
    """A new provider is one file and one word; this finds a file without its word."""
    folder = Path(adapters.search.__file__).parent
    modules = {path.stem for path in folder.glob("*.py") if "\ndef build(" in path.read_text(encoding="utf-8")}

    assert modules == set(PROVIDERS)


@pytest.fixture
def with_the_almanac(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file, as if it lay in adapters/search, and its one word."""
    monkeypatch.setattr(adapters.search, "__path__", [*adapters.search.__path__, str(Path(__file__).parent)])
    monkeypatch.setattr(adapters.search, "PROVIDERS", (*PROVIDERS, "almanac"))


@pytest.mark.usefixtures("with_the_almanac")
async def test_a_new_provider_is_its_file_and_one_word(tmp_path: Path) -> None:
    """Searched by default, with time limits and errors as all others; `almanac.py` beside this is all of it."""
    async with loopback_almanac([200, 429]) as url:
        providers = build({"ALMANAC_BASE_URL": url}, tmp_path)

        hits = await providers["almanac"].search(SearchQuery("high tides"), limit=5, scope=LOCAL)
        with pytest.raises(ProviderRateLimited) as caught:
            await providers["almanac"].search(SearchQuery("high tides"), limit=5, scope=LOCAL)

        await adapters.search.close_providers(providers)
    assert list(providers) == [*KEYLESS, "almanac"]
    assert [(hit.provider, hit.url, hit.title, hit.rank) for hit in hits] == [
        ("almanac", "https://almanac.test/high", "Of high", 0),
        ("almanac", "https://almanac.test/tides", "Of tides", 1),
    ]
    assert caught.value.retry_after_s == 7
    assert "The almanac is asked too often" in caught.value.operator_message


@pytest.mark.usefixtures("with_the_almanac")
def test_a_new_provider_brings_its_own_limit(tmp_path: Path) -> None:
    """It holds at its own host, what the operator says everywhere; without its address there is none (S003-08)."""
    at_home = shared_rates({"ALMANAC_BASE_URL": "https://www.almanac.test"})
    at_a_mirror = shared_rates({"ALMANAC_BASE_URL": "http://127.0.0.1:1"})
    as_told = shared_rates({"ALMANAC_BASE_URL": "http://127.0.0.1:1", "GORKD_SEARCH_RATES": "almanac=5/1"})

    with pytest.raises(SetupError, match="almanac, which needs an address in ALMANAC_BASE_URL"):
        build({"GORKD_PROVIDERS": "almanac"}, tmp_path)

    assert at_home["almanac"] == CallRate(2, 1.0, burst=1)
    assert "almanac" not in at_a_mirror
    assert as_told["almanac"].calls == 5


@asynccontextmanager
async def loopback_almanac(statuses: Sequence[int]) -> AsyncIterator[str]:
    """Answers with a page for each word; a status for each request, in order."""
    left = iter(statuses)

    async def answer(request: web.Request) -> web.Response:
        words = request.query["words"].split()
        pages = [{"address": f"https://almanac.test/{word}", "title": f"Of {word}"} for word in words]
        return web.json_response({"pages": pages}, status=next(left), headers={"Retry-After": "7"})

    app = web.Application()
    app.router.add_get("/find", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("/find"))


async def test_files_serve_other_tenants_only_when_the_operator_names_them(tmp_path: Path) -> None:
    """An operator's files are nobody else's by default."""
    (tmp_path / "note.md").write_text("# Tides\n\nThe moon raises tides.", encoding="utf-8")
    guild = Scope("discord:1", "channel:2")
    by_default = build({}, tmp_path)["files"]
    named = build({"GORKD_PROVIDERS": "files"}, tmp_path)["files"]

    counts = [
        len(await provider.search(SearchQuery("tides"), limit=3, scope=scope))
        for provider in (by_default, named)
        for scope in (LOCAL, guild)
    ]

    await adapters.search.close_providers({"a": by_default, "b": named})
    assert counts == [1, 0, 1, 1]


async def test_warming_up_reads_the_folders_and_asks_nobody(tmp_path: Path) -> None:
    """A bot reports ready when the first question need not wait for imports and the index."""
    (tmp_path / "note.md").write_text("# Tides", encoding="utf-8")
    providers = build(
        {**KEYED, "TAVILY_BASE_URL": "http://127.0.0.1:1", "EXA_BASE_URL": "http://127.0.0.1:1"}, tmp_path
    )

    await adapters.search.warm_up_providers(providers)

    await adapters.search.close_providers(providers)
    index = sqlite3.connect(tmp_path / "data" / "files.db")
    assert index.execute("select count(*) from files").fetchone() == (1,)
    assert {"tavily", "exa_py"} <= set(sys.modules)
    index.close()
