"""The table of providers: which are built from which environment (S003-06, C-02)."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import adapters.search
from adapters.search import PROVIDERS, build_providers
from adapters.search.settings import is_public, user_agent, with_path
from core.config import SearchSettings
from core.errors import SetupError
from core.job import LOCAL, Scope
from core.ports import SearchProvider
from core.source import SearchQuery

KEYED = {"TAVILY_API_KEY": "tvly-x", "EXA_API_KEY": "exa-x"}
KEYLESS = ["wikipedia", "pubmed", "arxiv", "files"]


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
    """A new provider is one file and one line; this finds a file without its line."""
    folder = Path(adapters.search.__file__).parent
    modules = {path.stem for path in folder.glob("*.py") if "\ndef build(" in path.read_text(encoding="utf-8")}

    assert modules == set(PROVIDERS)


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


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test", "http://a.test/w/api.php"),
        ("http://a.test/", "http://a.test/w/api.php"),
        ("http://a.test/wiki/api.php", "http://a.test/wiki/api.php"),
    ],
)
def test_a_bare_origin_gets_the_services_path(url: str, expected: str) -> None:
    """A base URL may be the origin or the whole address."""
    assert with_path(url, "/w/api.php") == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://export.arxiv.org/api/query", True),
        ("https://arxiv.org", True),
        ("https://notarxiv.org", False),
        ("http://127.0.0.1:80/arxiv.org", False),
    ],
)
def test_published_limits_hold_for_the_services_own_host(url: str, expected: bool) -> None:
    """A mirror has limits of its own, which nobody published."""
    assert is_public(url, "arxiv.org") is expected


@pytest.mark.parametrize(
    ("public_url", "contact"),
    [
        ("https://gorkd.example", "https://gorkd.example"),
        ("", "self-hosted"),
        ("https://x.test/\r\nX-Evil: 1", "self-hosted"),
        ("https://bücher.test", "self-hosted"),
    ],
    ids=["given", "not given", "header injection", "not ASCII"],
)
def test_the_user_agent_names_the_program_and_its_operator(public_url: str, contact: str) -> None:
    """The keyless services ask for a name and a way to reach the operator."""
    agent = user_agent({"GORKD_PUBLIC_URL": public_url})

    assert agent.startswith("gorkd/")
    assert contact in agent
    assert agent.isprintable()
