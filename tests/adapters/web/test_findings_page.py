"""Ideas, implementations and a report on the page of their job."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from adapters.web.pages import EXPORTS
from core.findings.viewing import FoundItem
from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import web_app
from tests.adapters.web.test_pages import long_answer
from tests.core.findings.pages import LONG
from tests.core.findings.samples import SECTIONS, found, idea, implementation
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher

HOSTILE = "</code></pre><script>alert(1)</script>\nprint('<b>')  # [1]"


async def test_page_has_lists_code_and_the_report_in_its_sections() -> None:
    """S004-11, S004-12, S004-13: places, marks, code as it stands, five headings; what is not verified is no link."""
    doubtful = FoundItem("idea", 0, "https://made.up/x", "", "Invented.", why_unverified="it is not there")
    sections = [(title, f"The {title.lower()} is here [1].") for title in SECTIONS]
    job, result = found([idea(1), implementation(1, HOSTILE), doubtful], sections=sections)
    researcher = ScriptedResearcher(job, outcome=result, found=samples.SOURCES)
    async with conforming(web_app(researcher)) as client:
        page = await (await client.get(f"/jobs/{job.id}")).text()
        saved = await (await client.get(f"/jobs/{job.id}/answer.md")).text()

    assert shown_code(page) == [HOSTILE]
    assert "<script>alert" not in page
    assert re.findall(r"<h3 id=\"([\w-]+)\">", page) == [title.lower().replace(" ", "-") for title in SECTIONS]
    assert '<li class="standing">official documentation</li>' in page
    assert '<li class="doubt">single source</li>' in page
    assert "<code>pip install requests</code>" in page
    assert "<code>https://made.up/x</code>" in page
    assert 'href="https://made.up' not in page
    assert f"\n\n{samples.ANSWER.summary}\n\n{samples.ANSWER.detail}\n\n" in saved  # which has the lists and the code
    assert all(f"answer.{kind}" in page for kind in EXPORTS)
    assert "Print or PDF" in page


async def test_page_of_long_findings_is_small() -> None:
    """At most 60 KB: ten ideas, five implementations of 175 lines each, and a report of 40 cited sentences.

    Each code begins there and stands whole, as it is, on a page of its own.
    """
    code = LONG * 5
    said = "The tower stands on the rocks, is 49 metres tall, and was built of granite in the year 1882 by its keepers"
    sections = [(title, "\n\n".join(f"{said} [{n}]." for n in range(1, 9))) for title in SECTIONS]
    items = [*(idea(n) for n in range(1, 11)), *(implementation(n, code) for n in range(1, 6))]
    job, result = found(items, sections=sections)
    answered, sources = long_answer(40)
    outcome = replace(result, answer=answered.answer)
    async with conforming(web_app(ScriptedResearcher(job, outcome=outcome, found=sources))) as client:
        page = await (await client.get(f"/jobs/{job.id}")).read()
        addresses = re.findall(rb'<a href="(/jobs/[^"]+/code/\d+)">All 17\d lines</a>', page)
        whole = await (await client.get(addresses[4].decode())).text()
        missing = await client.get(f"/jobs/{job.id}/code/6")

    assert page.count(b"<pre") == len(addresses) == 5
    assert (shown_code(whole), missing.status) == ([code], 404)
    assert shown_code(page.decode()) == ["".join(code.splitlines(keepends=True)[:40])] * 5
    assert page.count(b'class="cite"') >= 40
    assert len(page) <= 60_000


def shown_code(page: str) -> list[str]:
    """As a reader would copy it."""
    blocks = re.findall(r"<pre tabindex=\"0\"><code>(.*?)</code></pre>", page, re.DOTALL)
    return [html.unescape(re.sub(r"</?(?:i|em|var|b|u)>", "", block)) for block in blocks]
