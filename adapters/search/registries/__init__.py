"""The registries of published works that gorkd asks. A new one is a module with a `SERVICE` and a `build_registry`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Protocol, cast

from adapters.search.europepmc import EuropePmc
from adapters.search.service import Service, Surroundings
from core.model.errors import SetupError
from core.works.registry import OpenTexts, Registry

MAX_WAIT_S = 120.0  # for one's turn: who asks does not wait, or has a whole list of references
# In the order of trust: who registers a work knows best what it is called. Those that are searched, too, lie beside
# the other providers.
REGISTRIES = {
    "crossref": "adapters.search.registries.crossref",
    "europepmc": "adapters.search.europepmc",
    "openalex": "adapters.search.openalex",
    "unpaywall": "adapters.search.registries.unpaywall",
}


class RegistryModule(Protocol):
    """What a registry's file holds."""

    SERVICE: Service

    def build_registry(self, env: Mapping[str, str], around: Surroundings) -> OpenRegistry | None:
        """None when it lacks what it needs. Raises `SetupError`."""
        ...


class OpenRegistry(Registry, Protocol):
    """A registry with connections of its own."""

    async def aclose(self) -> None: ...


def build_registries(env: Mapping[str, str], around: Surroundings) -> list[OpenRegistry]:
    """Those that `GORKD_REGISTRIES` names, all by default, `none` for none. Raises `SetupError`."""
    words = (word.strip().lower() for word in env.get("GORKD_REGISTRIES", "").split(","))
    named = list(dict.fromkeys(word for word in words if word))
    if named == ["none"]:
        return []
    patient = {name: replace(rate, max_wait_s=MAX_WAIT_S) for name, rate in around.rates.items()}
    around = replace(around, rates=patient)
    built: list[OpenRegistry] = []
    for name in named or REGISTRIES:
        module = _module(name)
        registry = module.build_registry(env, around)
        if registry is not None:
            built.append(registry)
        elif named:
            need = module.SERVICE.needs or module.SERVICE.key_variable
            raise SetupError(f"GORKD_REGISTRIES names {name}, which needs {need}")
    return built


def open_texts(registries: Sequence[OpenRegistry]) -> OpenTexts | None:
    """The first of them that holds full texts."""
    return next((registry for registry in registries if isinstance(registry, EuropePmc)), None)


def registry_services() -> list[Service]:
    return [_module(name).SERVICE for name in REGISTRIES]


def _module(name: str) -> RegistryModule:
    if name not in REGISTRIES:
        raise SetupError(f"GORKD_REGISTRIES names {name!r}; known are {', '.join(REGISTRIES)}, and none")
    return cast(RegistryModule, import_module(REGISTRIES[name]))
