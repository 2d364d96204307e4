"""The registries of published works that gorkd asks. A new one is a module with a `SERVICE` and a `build_registry`.

Those that are searched by words are, together with arXiv, the catalogues in which the library looks for papers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain, zip_longest

from adapters.search.arxiv import ArxivSearch
from adapters.search.europepmc import EuropePmc
from adapters.search.service import Service, Surroundings
from core.library.ingest import FoundRecords, PaperRecord
from core.model.errors import ProviderError, SetupError
from core.model.works import WorkIds, WorkRecord, join_records
from core.works.registry import ReadFullText, Registry

log = logging.getLogger(__name__)

COPIES_S = 10.0  # for the registries to say where a work is free to read
MAX_WAIT_S = 120.0  # for one's turn: who asks does not wait, or has a whole list of references
# In the order of trust: who registers a work knows best what it is called. Those that are searched, too, lie beside
# the other providers.
REGISTRIES = {
    "crossref": "adapters.search.registries.crossref",
    "europepmc": "adapters.search.europepmc",
    "pubmed": "adapters.search.pubmed",
    "openalex": "adapters.search.openalex",
    "unpaywall": "adapters.search.registries.unpaywall",
}


# What a file's `build_registry` is: None when the registry lacks what it needs. Raises `SetupError`.
Build = Callable[[Mapping[str, str], Surroundings], Registry | None]


def build_registries(env: Mapping[str, str], around: Surroundings) -> list[Registry]:
    """Those that `GORKD_REGISTRIES` names, all by default, `none` for none. Raises `SetupError`."""
    words = (word.strip().lower() for word in env.get("GORKD_REGISTRIES", "").split(","))
    named = list(dict.fromkeys(word for word in words if word))
    if named == ["none"]:
        return []
    patient = {name: replace(rate, max_wait_s=MAX_WAIT_S) for name, rate in around.rates.items()}
    around = replace(around, rates=patient)
    built: list[Registry] = []
    for name in named or REGISTRIES:
        service, build = _module(name)
        registry = build(env, around)
        if registry is not None:
            built.append(registry)
        elif named:
            need = service.needs or service.key_variable
            raise SetupError(f"GORKD_REGISTRIES names {name}, which needs {need}")
    return built


class PaperCatalogues:
    """arXiv and the registries, asked together for papers of a subject; what several know stands once."""

    def __init__(self, arxiv: ArxivSearch, registries: Sequence[Registry]) -> None:
        self._arxiv, self._registries = arxiv, tuple(registries)

    async def search(self, query: str, limit: int) -> FoundRecords:
        """One that fails costs its own papers. Raises the first `ProviderError` where all do."""
        names = (self._arxiv.name, *(one.name for one in self._registries))
        told = await asyncio.gather(
            self._arxiv.find_papers(query, limit),
            *(_papers(one, query, limit) for one in self._registries),
            return_exceptions=True,
        )
        failed = {name: error for name, error in zip(names, told, strict=True) if isinstance(error, BaseException)}
        for name, error in failed.items():
            if not isinstance(error, ProviderError):
                raise error
            log.info("a catalogue gave no papers", extra={"provider": name, "reason": error.reason})
        found = {name: said for name, said in zip(names, told, strict=True) if isinstance(said, list)}
        if not found:
            raise next(iter(failed.values()))
        in_turn = (record for record in chain.from_iterable(zip_longest(*found.values())) if record)
        return FoundRecords(tuple(_each_once(in_turn)[:limit]), tuple(found), tuple(failed))

    async def work_of(self, doi: str) -> WorkRecord | None:
        """What is known of the work with a DOI, as far as it comes in time."""
        asking = [asyncio.create_task(_known(one, WorkIds.of(doi=doi))) for one in self._registries]
        done = (await asyncio.wait(asking, timeout=COPIES_S))[0] if asking else set()
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        records = [record for task in asking if task in done for record in task.result()]
        return join_records(records) if records else None


async def _papers(registry: Registry, query: str, limit: int) -> list[PaperRecord] | None:
    works = await registry.find_works(query, limit)
    return None if works is None else [record for work in works if (record := PaperRecord.of(work))]


async def _known(registry: Registry, ids: WorkIds) -> Sequence[WorkRecord]:
    try:
        return await registry.by_ids(ids) or ()
    except ProviderError as error:
        log.info("a registry gave nothing", extra={"provider": error.provider, "reason": error.reason})
        return ()


def _each_once(records: Iterable[PaperRecord]) -> list[PaperRecord]:
    """A retraction that any of them knows of counts."""
    kept: list[PaperRecord] = []
    for record in records:
        at = next((place for place, one in enumerate(kept) if one.as_work.is_same(record.as_work)), None)
        if at is None:
            kept.append(record)
        else:
            kept[at] = replace(kept[at], is_retracted=kept[at].is_retracted or record.is_retracted)
    return kept


def open_texts(registries: Sequence[Registry]) -> ReadFullText | None:
    """That of the first of them that holds full texts."""
    return next((registry.full_text for registry in registries if isinstance(registry, EuropePmc)), None)


def registry_services() -> list[Service]:
    return [_module(name)[0] for name in REGISTRIES]


def _module(name: str) -> tuple[Service, Build]:
    if name not in REGISTRIES:
        raise SetupError(f"GORKD_REGISTRIES names {name!r}; known are {', '.join(REGISTRIES)}, and none")
    module = import_module(REGISTRIES[name])
    return module.SERVICE, module.build_registry
