"""The places gorkd can search. A new one is a file here with a `build` function, and its name in `PROVIDERS`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from adapters.proxies import Proxies
from adapters.search.settings import Surroundings
from core.config import SearchSettings
from core.errors import ProviderError, SetupError
from core.ports import SearchProvider, warm_up

log = logging.getLogger(__name__)

PROVIDERS = (  # each is a module of this package; the order is that of the default
    "tavily",
    "exa",
    "searxng",
    "wikipedia",
    "pubmed",
    "arxiv",
    "files",
)
_NEEDS = {"files": "a folder in GORKD_FILES", "searxng": "an instance's address in SEARXNG_BASE_URL"}


class Builder(Protocol):
    def __call__(self, env: Mapping[str, str], around: Surroundings) -> SearchProvider | None:
        """None when the provider lacks what it needs, e.g. its key. Raises `SetupError`."""
        ...


@runtime_checkable
class Closable(Protocol):
    async def aclose(self) -> None: ...


def build_providers(
    env: Mapping[str, str], *, data_dir: Path, default_files: Sequence[Path], search: SearchSettings
) -> dict[str, SearchProvider]:
    """The providers that `GORKD_PROVIDERS` names, in its order; by default all that have what they need.

    Raises `SetupError` on an unknown name, and on a named provider that lacks its key or folder.
    """
    around = Surroundings(data_dir, tuple(default_files), search, proxies=Proxies.from_env(env))
    named = list(dict.fromkeys(name.strip().lower() for name in env.get("GORKD_PROVIDERS", "").split(",")))
    named = [name for name in named if name]
    built: dict[str, SearchProvider] = {}
    for name in named or PROVIDERS:
        provider = _builder(name)(env, replace(around, is_named=bool(named)))
        if provider is not None:
            built[name] = provider
        elif named:
            need = _NEEDS.get(name, f"{name.upper()}_API_KEY")
            raise SetupError(f"GORKD_PROVIDERS names {name}, which needs {need}")
    return built


async def warm_up_providers(providers: Mapping[str, SearchProvider]) -> None:
    """Does what the first question would otherwise wait for: slow imports, the index of local files."""
    for name, provider in providers.items():
        try:
            await warm_up(provider)
        except ProviderError as exc:
            log.warning("%s is not ready: %s", name, exc)


async def close_providers(providers: Mapping[str, SearchProvider]) -> None:
    """Ends the connections that providers keep."""
    for provider in providers.values():
        if isinstance(provider, Closable):
            await provider.aclose()


def _builder(name: str) -> Builder:
    if name not in PROVIDERS:
        raise SetupError(f"GORKD_PROVIDERS names {name!r}; known are {', '.join(PROVIDERS)}")
    return cast(Builder, import_module(f"{__name__}.{name}").build)
