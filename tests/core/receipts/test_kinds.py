"""Jobs of every kind have receipts: of papers, sections, findings, deep research and checked references (N-22)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache

import pytest

from core.model.job import ResearchJob
from core.pipeline.deps import Deps
from core.pipeline.runner import DirectSteps, run_job
from core.receipts.container import public_key, verify_receipt, write_receipt
from core.receipts.receipt import Receipt, build_receipt
from tests.core.deep.making import deep_deps, research
from tests.core.findings import test_malformed as findings
from tests.core.library import samples as papers
from tests.core.library.test_library_mode import written
from tests.core.modes import test_references as references
from tests.core.receipts.samples import KEY
from tests.core.receipts.test_receipt import failed
from tests.core.section import samples as sections
from tests.core.section import test_section_mode as section_test
from tests.fakes import FakeModel, make_job

Made = tuple[Deps, ResearchJob]


async def of_papers() -> Made:
    deps, job, _ = await papers.asked(FakeModel({"answer": written(f"{papers.CAUSE} [{papers.TIDES.id}, page 2].")}))
    return deps, job


async def of_a_section() -> Made:
    deps, job, _ = await sections.written(sections.model(section_test.MOON))
    return deps, job


async def of_findings() -> Made:
    deps = findings.pages(freeform=findings.REPORT, idea=findings.wrapped(findings.item(findings.A, findings.FIRST)))
    job = await deps.jobs.save(make_job(findings.QUESTION, modes=("freeform", "idea")))
    await run_job(job.id, deps, DirectSteps())
    return deps, await deps.jobs.get(job.id)


async def of_deep_research() -> Made:
    deps = deep_deps()
    return deps, (await research(deps)).job


async def of_references() -> Made:
    deps = references.deps_with(references.Shelved("crossref", references.BATHING, references.COLD))
    job, _ = await references.checked(deps)
    return deps, job


KINDS = {
    "papers": of_papers,
    "section": of_a_section,
    "findings": of_findings,
    "deep": of_deep_research,
    "references": of_references,
}


@cache
def receipt_of(kind: str) -> Receipt:
    return asyncio.run(_receipt(KINDS[kind]))


async def _receipt(make: Callable[[], Awaitable[Made]]) -> Receipt:
    deps, job = await make()
    result = await deps.jobs.result(job.id)
    assert result is not None
    return build_receipt(job, result, await deps.sources.sources(job.id), issuer="https://gorkd.test")


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_of_each_kind_verifies(kind: str):
    """With evidence in it: one that is empty would verify as well."""
    receipt = receipt_of(kind)

    found = verify_receipt(write_receipt(receipt, KEY), keys=[public_key(KEY)])

    assert failed(found) == []
    assert found.is_sound
    assert [claim.id for claim in receipt.claims if claim.evidence] != []


@pytest.mark.parametrize("kind", KINDS)
def test_a_lie_in_each_kind_is_found(kind: str):
    """Another quote, and a sentence that the answer has not, hashes and signature written anew."""
    receipt = receipt_of(kind)
    place, claim = next((place, one) for place, one in enumerate(receipt.claims) if one.evidence)
    entry = replace(claim.evidence[0], quote="It is 71 metres tall.")

    def told(**changes: object) -> list[str]:
        claims = list(receipt.claims)
        claims[place] = replace(claim, **changes)  # type: ignore[arg-type]
        return failed(verify_receipt(write_receipt(replace(receipt, claims=tuple(claims)), KEY)))

    assert "quotes" in told(evidence=(entry, *claim.evidence[1:]))
    assert "answer" in told(text="Plimsoll cats are seventy-one metres tall.")
