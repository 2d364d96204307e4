"""Hostile text on the page: whatever a model or the web says, it is only ever text."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.web.access import JobLinks
from adapters.web.prose import Target, claim_tag, prose, safe_link
from adapters.web.view import job_view
from core.model.answer import (
    Citation,
    Claim,
    ConfidencePart,
    Conflict,
    ConflictPosition,
    Evidence,
    RemovedSentence,
    Verdict,
)
from core.model.job import JobError
from tests.adapters.web.conformity import conforming
from tests.adapters.web.serving import web_app
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.golden.strategies import outcomes
from tests.shared_data import shared_data

PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[click](javascript:alert(1))",
    "![x](https://evil.test/p.png)",
    "[fda.gov](https://evil.test)",
    "[1]: https://evil.test\n\n[1]",
    "<https://evil.test>",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(1)",
    "file://[x]/etc/\x00#y",
    "https://[x]/\ud800",
    "https://fda.gov@evil.test/",
    "</title></style></textarea><svg/onload=alert(1)>",
    "`<code>[1]</code>`",
]
_TAGS = set(
    "html head meta title link body a header span main article section p h1 h2 h3 h4 h5 h6 div ul ol li table thead "
    "tbody tr th td blockquote footer details summary code pre em strong del br hr s b q form input button "
    "script nav label meter dl dt dd svg rect caption kbd".split()
)
_ATTRIBUTES = set(
    "lang dir charset name content rel href class id value title aria-label aria-hidden role tabindex scope open start "
    "type method action http-equiv aria-live aria-current src defer property data-ask data-job data-question hidden "
    "readonly checked for download min max viewbox preserveaspectratio x width height".split()
)


class Judge(HTMLParser):
    """Collects everything a page must not have."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            if name not in _ATTRIBUTES:
                self.faults.append(f"<{tag} {name}>")
            if name == "href" and not (value or "").startswith(("https://", "http://", "/", "#")):
                self.faults.append(f"href={value}")
            if name == "href" and "@" in (value or "").split("/")[2:3]:
                self.faults.append(f"href={value}")


def cite_first(number: int, claim_id: str) -> Target | None:
    return Target("/one?a=1&b=2", '"') if number == 1 else None


def judged(html: str) -> list[str]:
    judge = Judge()
    judge.feed(html)
    judge.close()
    return judge.faults


def poisoned(payload: str) -> ScriptedResearcher:
    """A job with the payload in every place that a model, a source or an error fills."""
    evidence = Evidence("src_1", payload, 0, len(payload), Verdict.SUPPORTED, reasons=(payload,))
    answer = replace(
        samples.ANSWER,
        summary=payload,
        detail=f"{payload}\n\n- {payload} [1]",
        confidence_reasons=(payload,),
        confidence_sum=(ConfidencePart(payload, 0.5, payload), ConfidencePart("score", 0.5, payload)),
        claims=(Claim("summary-0", payload, Verdict.SUPPORTED, (evidence,), strength=0.5),),
        citations=(Citation(payload, "src_1", payload, Verdict.SUPPORTED, 0, len(payload)),),
        limitations=(payload,),
        conflicts=(Conflict(payload, (ConflictPosition(payload, "src_1", payload, payload),)),),
        removed=(RemovedSentence(payload, payload),),
        notice=payload,
        stopped_because=payload,
    )
    source = samples.source(1, url=payload, title=payload, domain=payload)
    source = replace(
        source, content=payload * 2, extract_of_page=payload, metadata=replace(source.metadata, author=payload)
    )
    other = samples.source(2, url=f"https://ok.test/{payload}", title=payload, domain="ok.test")
    result = replace(samples.RESULT, answer=answer, queries=(payload,))
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, query=payload))
    return ScriptedResearcher(job, result, [source, other])


async def served(researcher: ScriptedResearcher) -> str:
    async with conforming(web_app(researcher)) as web:
        answer = await web.get(f"/jobs/{researcher.finished.id}")
        assert answer.status == 200
        return await answer.text()


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_hostile_text_adds_no_element_and_no_link(payload: str):
    """Every slot is escaped or cleaned; links go only to cited sources."""
    page = await served(poisoned(payload))

    assert judged(page) == []
    assert 'href="https://evil.test' not in page


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_hostile_failure_is_text(payload: str):
    failed = replace(samples.FAILED, error=JobError("LLM_FAILED", payload))

    page = await served(ScriptedResearcher(failed, None, []))

    assert judged(page) == []


async def test_known_payloads_stay_text():
    """The collected cross-site scripting samples, all in every slot."""
    lines = shared_data("hostile_sample", "xss_cases.jsonl").read_text("utf-8").splitlines()
    payloads = [json.loads(line)["payload"] for line in lines]

    failures = {}
    async with conforming(web_app(researcher := poisoned(""))) as web:
        for payload in payloads:
            poison = poisoned(payload)
            researcher.finished, researcher.outcome, researcher.found = poison.finished, poison.outcome, poison.found
            page = await (await web.get(f"/jobs/{researcher.finished.id}")).text()
            if faults := judged(page):
                failures[payload] = faults

    assert len(payloads) > 0
    assert failures == {}


@given(st.text(st.sampled_from("[]()<>!`*_#|:-1,✓◐ \nab/\"'&=h"), max_size=60))
def test_prose_has_only_layout_and_known_citations(text: str):
    """Any Markdown whatsoever becomes layout tags and links into the page."""
    html = str(prose(text, cite_first))

    judge = Judge()
    judge.feed(html)
    assert judge.faults == []
    assert html.count("<a ") == html.count('<a href="/one?a=1&amp;b=2" aria-label="Source 1" title="&#34;">')


@settings(max_examples=40)
@given(outcomes())
def test_any_outcome_has_a_view_with_safe_links(outcome):
    """Whatever a job left behind can be shown, and every link is a plain web address."""
    view = job_view(*outcome, JobLinks("job_1"))

    for source in (*view.cited, *view.uncited):
        assert source.link == "" or source.link.startswith(("http://", "https://"))
        assert 0 <= source.score <= 100
    if view.answer:
        assert judged(str(view.answer.summary + view.answer.detail)) == []


def test_prose_links_markers_of_known_sources_only():
    assert "/one" in prose("x [1]✓.", cite_first)
    assert "<a " not in prose("x [2].", cite_first)
    assert "<a " not in prose("x [1, 2].", cite_first)
    assert "<a " not in prose("`row[1]`", cite_first)


def test_underscores_are_part_of_names_and_stars_are_emphasis():
    assert prose("Call __init__ of *this*.", cite_first) == "<p>Call __init__ of <em>this</em>.</p>\n"


def test_a_number_stays_on_the_line_of_its_unit():
    """But in code, which is copied; where no unit follows a line may end."""
    html = prose("It is 3 °C, **5 %** or 12 km/h [1] in 4 houses; `3 m`.", lambda *_: None)

    assert (
        html == "<p>It is 3\u00a0°C, <strong>5\u00a0%</strong> or 12\u00a0km/h [1] in 4 houses; <code>3 m</code>.</p>\n"
    )


def test_a_claims_tag_reaches_the_link_and_never_the_page():
    """Also where the tagged marker stands in code, or leads nowhere."""
    tag = claim_tag(Claim("detail-3", "x", Verdict.SUPPORTED))
    asked = []

    def cite(number: int, claim_id: str) -> Target | None:
        asked.append((number, claim_id))
        return None

    html = prose(f"x [1]✓{tag}. `y[2]{tag}`", cite)

    assert asked == [(1, "detail-3")]
    assert html == "<p>x [1]✓. <code>y[2]</code></p>\n"


@pytest.mark.parametrize(
    ("url", "is_linked"),
    [
        ("https://nejm.org/x?y=1#z", True),
        ("http://a.test", True),
        ("javascript:alert(1)", False),
        ("data:text/html,1", False),
        ("file:///etc/passwd", False),
        ("//a.test", False),
        ("https://", False),
        ("https://fda.gov@evil.test/", False),
        ("https://[broken", False),
    ],
)
def test_only_plain_web_addresses_become_links(url: str, is_linked: bool):
    assert safe_link(url) == (url if is_linked else "")
