"""The places gorkd can search. A new one is a file here with a `SERVICE` and a `build`, and its name in `PROVIDERS`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from adapters.proxies import Proxies
from adapters.search.registries import registry_services
from adapters.search.service import (
    Fetcher,
    PlacesOf,
    Service,
    Surroundings,
    TimeLimits,
    no_places,
    rates_of,
    user_agent,
)
from core.model.config import SearchSettings
from core.model.errors import ProviderError, SetupError
from core.model.ports import SearchProvider, warm_up
from core.pipeline.limits import CallRate

log = logging.getLogger(__name__)

PROVIDERS = (  # each is a module of this package; the order is that of the default
    "tavily",
    "exa",
    "searxng",
    "wikipedia",
    "pubmed",
    "arxiv",
    "europepmc",
    "openalex",
    "files",
)


# What a file's `build` is: None when the provider lacks what it needs, e.g. its key. Raises `SetupError`.
Build = Callable[[Mapping[str, str], Surroundings], SearchProvider | None]


def build_providers(
    env: Mapping[str, str],
    *,
    data_dir: Path,
    default_files: Sequence[Path],
    search: SearchSettings,
    pages: Fetcher | None = None,
    corpora: PlacesOf = no_places,
) -> dict[str, SearchProvider]:
    """The providers that `GORKD_PROVIDERS` names, in its order; by default all that have what they need.

    `pages` and `corpora` are for pages of the web among the files.

    Raises `SetupError` on an unknown name, and on a named provider that lacks its key or folder.
    """
    words = (word.strip().lower() for word in env.get("GORKD_PROVIDERS", "").split(","))
    named = list(dict.fromkeys(word for word in words if word))
    around = replace(
        surroundings(env, search), data_dir=data_dir, default_files=tuple(default_files), is_named=bool(named),
        pages=pages, corpora=corpora,
    )  # fmt: skip
    built: dict[str, SearchProvider] = {}
    for name in named or PROVIDERS:
        service, build = _module(name)
        provider = build(env, around)
        if provider is not None:
            built[name] = provider
        elif named:
            need = service.needs or service.key_variable
            raise SetupError(f"GORKD_PROVIDERS names {name}, which needs {need}")
    return built


def surroundings(env: Mapping[str, str], search: SearchSettings) -> Surroundings:
    """What the environment says to every provider. Raises `SetupError`."""
    return Surroundings(
        limits=TimeLimits.of(search), proxies=Proxies.from_env(env), rates=shared_rates(env), agent=user_agent(env)
    )


def shared_rates(env: Mapping[str, str]) -> dict[str, CallRate]:
    """How often all processes together may ask each provider that has a limit. Raises `SetupError`."""
    return rates_of([*(_module(name)[0] for name in PROVIDERS), *registry_services()], env)


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
        close: Callable[[], Awaitable[None]] | None = getattr(provider, "aclose", None)
        if close:
            await close()


def _module(name: str) -> tuple[Service, Build]:
    if name not in PROVIDERS:
        raise SetupError(f"GORKD_PROVIDERS names {name!r}; known are {', '.join(PROVIDERS)}")
    module = import_module(f"{__name__}.{name}")
    return module.SERVICE, module.build
