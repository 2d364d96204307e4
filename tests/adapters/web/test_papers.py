"""Cited pages beside an answer of the library: for whoever may read the answer, and nobody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from aiohttp.test_utils import TestClient, TestServer

from core.library.paper import PaperViews
from core.model.job import LOCAL, Scope
from core.presentation.page_links import PaperPlace
from tests.adapters.web.serving import web_app
from tests.core.cats import written
from tests.core.library.samples import CAUSE, TIDES, asked, shelve
from tests.fakes import FakeModel
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.records import memory_library

CHANNEL = Scope("slack:T1", "channel:C1")


class Painter:
    """Says in the picture what it was to draw."""

    async def paint(self, file: bytes, page: int, quote: str) -> bytes:
        return f"{file.decode()} {page} {quote}".encode()


@pytest.fixture(params=[LOCAL, CHANNEL], ids=["open", "private"])
async def site(request) -> AsyncIterator[tuple[TestClient, str, Scope]]:
    """The pages over one answer, and the address of its page."""
    model = FakeModel({"answer": written(f"{CAUSE} [2401.00001v1, page 2].")})
    deps, job, result = await asked(model)
    library = memory_library()
    await shelve(library, TIDES, shelf=request.param)
    job = replace(job, request=replace(job.request, scope=request.param))
    researcher = ScriptedResearcher(job, outcome=result, found=await deps.sources.sources(job.id))
    app = web_app(researcher, library=PaperViews(library, Painter().paint))
    async with TestClient(TestServer(app)) as client:
        yield client, samples.LINKS.signed(job, f"/jobs/{job.id}"), request.param


async def test_the_cited_page_stands_beside_the_text(site) -> None:
    """The sentence, its page as a picture that draws the quote, and the file; private ones are stored nowhere."""
    client, address, scope = site
    path, _, sig = address.partition("?")
    sig = f"&{sig}" if sig else ""

    page = await (await client.get(address)).text()
    picture = await client.get(f"{path}/sources/1/page.png?claim=summary-0{sig}")
    file = await client.get(f"{path}/sources/1/paper.pdf?{sig}")

    assert "<b>2401.00001v1</b> · Smith, J., Doe, A. · local file" in page  # not where it might have come from
    assert 'alt="Page 2 of the paper, the cited sentence marked"' in page
    assert f"{path}/sources/1/page.png?claim=summary-0" in page
    assert (await picture.read()).decode() == f"%PDF 2 {CAUSE}."
    assert (file.status, await file.read()) == (200, b"%PDF")
    assert picture.headers["Cache-Control"] == ("private, max-age=3600" if scope == LOCAL else "no-store")


@pytest.mark.parametrize(
    "below", ["/sources/1/page.png?claim=nothing", "/sources/9/page.png?claim=summary-0", "/sources/9/paper.pdf"]
)
async def test_what_is_not_cited_is_not_there(site, below: str) -> None:
    client, address, _ = site
    path, _, sig = address.partition("?")

    answered = await client.get(f"{path}{below}{'&' if '?' in below else '?'}{sig}")

    assert answered.status == 404


async def test_without_the_link_of_a_private_answer_there_is_no_page_and_no_file(site) -> None:
    """Who may not read the answer may not see what it cites."""
    client, address, scope = site
    path = address.partition("?")[0]

    statuses = {
        (await client.get(f"{path}/sources/1/{name}")).status for name in ("page.png?claim=summary-0", "paper.pdf")
    }

    assert statuses == ({200} if scope == LOCAL else {404})


async def test_a_paper_that_was_opened_in_a_chat_has_its_own_address(site) -> None:
    """Signed wherever it is: for that paper on the shelves of that place, and for no other."""
    client, _, scope = site
    link = samples.LINKS.paper(PaperPlace(scope, TIDES.id), page=2)
    path, _, sig = link.removeprefix("https://gorkd.test").partition("#")[0].partition("?")
    elsewhere = samples.LINKS.paper(PaperPlace(Scope("slack:T2", "workspace"), TIDES.id))
    other = PaperPlace(scope, "2402.00002v1").token

    opened = await client.get(f"{path}?{sig}")
    refused = [path, f"{path}?{elsewhere.partition('?')[2]}", f"/papers/{other}/paper.pdf?{sig}", "/papers/x/paper.pdf"]

    assert link.endswith("#page=2")
    assert (opened.status, await opened.read(), opened.content_type) == (200, b"%PDF", "application/pdf")
    assert opened.headers["Cache-Control"] == "no-store"
    assert {(await client.get(address)).status for address in refused} == {404}
    assert (await client.get(elsewhere.removeprefix("https://gorkd.test"))).status == 404
