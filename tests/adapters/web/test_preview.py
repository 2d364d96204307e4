"""The page that shows an answer as Slack and Discord do: from the renderers' own payloads, and never more than text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from aiohttp.test_utils import TestClient, TestServer

from adapters.web.preview import discord_markdown, mrkdwn, slack_markdown
from bots.processes import chat_previews
from core.model.job import Scope
from tests.adapters.web.serving import web_app
from tests.golden import samples
from tests.golden.samples import ScriptedResearcher
from tests.shared_data import shared_data

PREVIEW = f"/jobs/{samples.COMPLETED.id}/preview"


async def opened(researcher: ScriptedResearcher, path: str, *, is_on: bool = True) -> tuple[int, str, str]:
    """Status, page and its content security policy."""
    app = web_app(researcher, previews=chat_previews(samples.LINKS) if is_on else None)
    async with TestClient(TestServer(app)) as client, client.get(path) as response:
        return response.status, await response.text(), response.headers["Content-Security-Policy"]


async def test_preview_shows_what_both_chats_show():
    """S003-20, S003-21: the very blocks and the very embed, with their buttons."""
    status, page, policy = await opened(ScriptedResearcher(), PREVIEW)

    slack, discord = page.split('id="discord"')
    assert status == 200
    assert "<b>gorkd</b>" in slack
    for part in (
        "<strong>The Eddystone lighthouse is 49 metres tall <a",
        f'href="https://gorkd.test/jobs/{samples.COMPLETED.id}/sources/1?claim=summary-0#passage"',
        "<summary>✓ Searched 2 queries · read 4 pages · checked 4 sentences</summary>",
        "What speaks against this?",
        "<blockquote>It is 49 metres tall and built of granite blocks.</blockquote>",
    ):
        assert part in slack
    assert re.search(
        r"<strong>Answer</strong>: The Eddystone lighthouse is 49 metres tall <a [^>]+>\[1\]</a>✓", discord
    )
    assert 'fill="#f1c40f"' in discord
    assert "style=" not in page
    assert "default-src 'none'" in policy


@pytest.mark.parametrize(("only", "shown"), [("slack", (True, False)), ("discord", (False, True))])
async def test_preview_may_show_one_of_them(only: str, shown: tuple[bool, bool]):
    _, page, _ = await opened(ScriptedResearcher(), f"{PREVIEW}?only={only}")

    assert ('id="slack"' in page, 'id="discord"' in page) == shown


async def test_there_is_no_preview_unless_it_is_turned_on():
    status, _, _ = await opened(ScriptedResearcher(), PREVIEW, is_on=False)

    assert status == 404


async def test_preview_of_a_private_answer_needs_its_link():
    """As the page itself does."""
    request = replace(samples.COMPLETED.request, scope=Scope("slack:T1", "channel:C1"))
    job = replace(samples.COMPLETED, request=request)

    closed, _, _ = await opened(ScriptedResearcher(finished=job), PREVIEW)
    open_, _, _ = await opened(ScriptedResearcher(finished=job), samples.LINKS.signed(job, PREVIEW))

    assert (closed, open_) == (404, 200)


@pytest.mark.parametrize("name", ["mention_link_cases.jsonl", "xss_cases.jsonl"])
async def test_whatever_an_answer_says_stays_text(name: str):
    """No element, no attribute and no address comes out of an answer but links to its sources."""
    lines = shared_data("hostile_sample", name).read_text("utf-8").splitlines()
    payload = "\n".join(str(json.loads(line)["payload"]) for line in lines)[:8000]
    job = replace(samples.COMPLETED, request=replace(samples.COMPLETED.request, query=payload))
    answer = replace(samples.ANSWER, summary=payload, limitations=(payload,))
    sources = [samples.source(1, url="javascript:alert(1)", title=payload, domain="a.test")]
    hostile = ScriptedResearcher(finished=job, outcome=replace(samples.RESULT, answer=answer), found=sources)

    status, page, _ = await opened(hostile, PREVIEW)

    assert status == 200
    body = page.partition('<main id="main">')[2].partition("</main>")[0]
    tags = set(re.findall(r"<([a-zA-Z!][^\s>/]*)", body))
    own = {
        "a",
        "b",
        "blockquote",
        "div",
        "em",
        "h2",
        "hr",
        "img",
        "li",
        "rect",
        "section",
        "small",
        "span",
        "strong",
        "svg",
    }
    own |= {"code", "details", "summary", "table", "td", "th", "tr", "pre"}
    assert tags <= own
    assert not re.search(r"<[^>]*\s(?:on\w+|style|srcdoc)\s*=", body)
    assert all(link.startswith(("http://", "https://", "/")) for link in re.findall(r'href="([^"]*)"', body))


@pytest.mark.parametrize(
    ("draw", "text", "html"),
    [
        (mrkdwn, "*a* _b_ &lt;c&gt;", "<div><strong>a</strong> <em>b</em> &lt;c&gt;</div>"),
        (mrkdwn, "<https://a.test/?x=1&amp;y|a.test>", 'href="https://a.test/?x=1&amp;y"'),
        (mrkdwn, "<@U1> 2*3*4", '<span class="mention">@U1</span> 2*3*4'),
        (mrkdwn, "> said", "<blockquote>said</blockquote>"),
        (slack_markdown, "**a [[1]](https://a.test/?x=1)✓** &lt;b&gt;", '<strong>a <a href="https://a.test/?x=1"'),
        (slack_markdown, "- `a` *b*", "<span>•</span> <div><code>a</code> <em>b</em></div>"),
        (slack_markdown, "[a](javascript:alert(1)) <b>", "[a](javascript:alert(1)) &lt;b&gt;"),
        (discord_markdown, "**a** \\*b\\* <c>", "<div><strong>a</strong> *b* &lt;c&gt;</div>"),
        (discord_markdown, "[a.test](https://a.test/)", 'href="https://a.test/"'),
        (discord_markdown, "-# small", "<small>small</small>"),
        (discord_markdown, "- *a* `b*c*`", "<li><em>a</em> <code>b*c*</code></li>"),
        (discord_markdown, "[[1]](https://a.test/)✓", 'nofollow">[1]</a>✓'),
    ],
)
def test_markup_is_drawn_as_the_client_draws_it(draw, text: str, html: str):
    assert html in draw(text)
