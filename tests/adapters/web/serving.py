"""The web application around a scripted researcher, with everything else in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web
from aiohttp.test_utils import TestClient

from adapters.records.cache import MemoryLimits
from adapters.records.tenants import SqlRevocations
from adapters.web.app import build_web
from adapters.web.monitor import Ready
from adapters.web.preview import Preview
from adapters.web.settings import WebSettings
from core.library.paper import PaperViews
from core.pipeline.limits import SharedLimits
from core.presentation.page_links import PageLinks, Revocations
from core.receipts.container import Receipts
from core.tenancy.usage import CountUsage, EvaluationStore
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.records import MemoryTables

Open = Callable[..., Awaitable[TestClient]]


async def all_well() -> list[str]:
    """Nothing is missing."""
    return []


def web_app(
    researcher: ScriptedResearcher | None = None,
    settings: WebSettings | None = None,
    *,
    ready: Ready = all_well,
    links: PageLinks = samples.LINKS,
    revocations: Revocations | None = None,
    limits: SharedLimits | None = None,
    previews: Mapping[str, Preview] | None = None,
    library: PaperViews | None = None,
    usage: CountUsage | None = None,
    receipts: Receipts | None = None,
    evaluations: EvaluationStore | None = None,
) -> web.Application:
    return build_web(
        researcher or ScriptedResearcher(),  # type: ignore[arg-type]
        lambda: b"up 1\n",
        settings or WebSettings(),
        ready=ready,
        links=links,
        revocations=revocations or SqlRevocations(MemoryTables(samples.COMPLETED), clock=links.clock),
        limits=limits or MemoryLimits(clock=links.clock),
        previews=previews,
        library=library,
        usage=usage,
        receipts=receipts,
        evaluations=evaluations,
    )
