"""An answer that is repeated to the letter: when, to whom, and what a broken cache costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adapters.records.cache import SqlAnswerCache
from core.model.errors import StoreError
from core.model.job import Scope
from tests.core.cats import TRUSTED, cat_search, final, research
from tests.fakes import Ledger, make_deps
from tests.records import MemoryTables


async def test_the_same_question_is_answered_from_the_cache_and_says_when() -> None:
    """S003-04: exact key, same scope; S003-19: cached is true."""
    search = cat_search(url=TRUSTED)
    deps = make_deps(search=[search])
    await research(deps)
    asked = len(search.asked)

    done = final(await research(deps, "why do  cats PURR, please?"))

    assert done["metadata"]["cached"] is True
    assert done["metadata"]["cached_at"]
    assert done["answer"]["summary"]
    assert done["sources"]
    assert len(search.asked) == asked


async def test_another_scope_or_fresh_never_gets_the_cached_answer() -> None:
    """An answer stays where it was asked; fresh researches anew."""
    search = cat_search(url=TRUSTED)
    deps = make_deps(search=[search])
    await research(deps)

    elsewhere = final(await research(deps, scope=Scope("slack:T1", "channel:C1")))
    fresh = final(await research(deps, is_fresh=True))

    assert elsewhere["metadata"]["cached"] is False
    assert fresh["metadata"]["cached"] is False


async def test_an_answer_of_low_confidence_is_not_repeated() -> None:
    """D12: only answers of medium confidence or better are cached."""
    deps = make_deps(search=[cat_search()])
    first = final(await research(deps))

    again = final(await research(deps))

    assert first["answer"]["confidence"] == "low"
    assert again["metadata"]["cached"] is False


async def test_a_cache_that_fails_costs_time_not_the_answer() -> None:
    """S003-23: continue without the cache."""

    class Broken(SqlAnswerCache):
        async def get(self, *_: Any, **__: Any) -> Any:
            raise StoreError("locked")

        async def put(self, *_: Any, **__: Any) -> None:
            raise StoreError("locked")

    deps = make_deps(search=[cat_search(url=TRUSTED)])
    deps = replace(deps, cache=Broken(MemoryTables(), clock=deps.clock))

    done = final(await research(deps))

    assert done["status"] == "completed"
    assert isinstance(deps.record, Ledger)
    assert deps.record.values("errors", "cache:StoreError") == [
        1,
        1,
        1,
    ]  # asked by `submit` and by the worker, then told
