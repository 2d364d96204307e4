"""Hostile text in a real browser: on no page does it open a dialog, run, fetch, or become an element."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
import pytest_asyncio
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page

from core.model.job import Event, JobError, JobStatus, ResearchJob
from tests.adapters.web.serving import web_app
from tests.adapters.web.test_safety import PAYLOADS, poisoned
from tests.golden import samples
from tests.golden.samples import NOON, ScriptedResearcher
from tests.shared_data import shared_data

pytestmark = pytest.mark.asyncio(loop_scope="module")

DONE, FAILED, RUNNING = samples.COMPLETED.id, samples.FAILED.id, samples.RUNNING.id
PATHS = (f"/jobs/{DONE}", f"/jobs/{DONE}/sources/1?claim=summary-0", f"/jobs/{FAILED}", f"/jobs/{RUNNING}")
LAST = "The last sentence."
FEW = 8  # of the collected samples in the default suite; all of them in the slow one

# Attributes that act, and addresses that are neither http(s) nor ours.
ACTING = r"""
() => [...document.querySelectorAll("*")].flatMap((element) => [...element.attributes]
  .filter(({name, value}) => /^(on|style|srcset|srcdoc|autofocus|contenteditable)/.test(name)
    || (/^(href|src|action|formaction|xlink:href|data)$/.test(name) && !/^(https?:\/\/|\/(?!\/)|#)/.test(value)))
  .map(({name, value}) => `<${element.tagName} ${name}=${value}>`))
"""
# Everything that Markdown and the colours of code do not make: its number is the same whatever the text says.
FRAME = """
() => Object.entries([...document.querySelectorAll("body *, head *")].reduce((counts, element) => {
  const {tagName} = element;
  const isText = /^(P|BR|EM|STRONG|DEL|UL|OL|LI|BLOCKQUOTE|PRE|CODE|HR|H[1-6]|TABLE|THEAD|TBODY|TR|T[HD]|A|MARK|SPAN)$/;
  const isColour = element.matches("pre code :is(b, i, u, var)") && !element.attributes.length;
  const isAroundTable = element.matches("div.scroll:has(> table:only-child)");
  if (!isText.test(tagName) && !isColour && !isAroundTable) counts[tagName] = (counts[tagName] || 0) + 1;
  return counts;
}, {})).sort().join(" ")
"""


@dataclass
class Poisoned(ScriptedResearcher):
    """A researcher whose every word is the payload: of an answer, of a failure, of a job under way."""

    payload: str = ""
    hangs: asyncio.Event = field(default_factory=asyncio.Event)

    async def job(self, job_id: str) -> ResearchJob:
        done = self._scripted().finished
        if job_id == FAILED:
            return replace(samples.FAILED, request=done.request, error=JobError("LLM_FAILED", self.payload))
        return replace(done, id=RUNNING, status=JobStatus.SEARCHING) if job_id == RUNNING else done

    async def result(self, job_id: str):
        return self._scripted().outcome if job_id == DONE else None

    async def sources(self, job_id: str):
        return self._scripted().found if job_id == DONE else []

    async def told(self, job_id: str) -> list[Event]:
        return []

    async def follow(self, job_id: str, *, after: int = 0) -> AsyncIterator[Event]:
        words = self.payload.encode("utf-8", "replace").decode()  # no log keeps a lone surrogate
        item = {"id": words, "description": words, "coverage": "partial"}
        card = {"checklist": [item], "iteration": 0, "max_iterations": 1, "duration": words}
        told = {"queries": [words], "card": card, "understood": words}
        said = {"stage": "searching", "message": words, "progress": 0.3, "data": told}
        yield Event(1, "status", 1, NOON, said)
        yield Event(
            2, "source", 1, NOON, {"id": "src_1", "url": words, "title": words, "domain": words, "provider": words}
        )
        yield Event(3, "answer", 1, NOON, {"section": "summary", "id": "summary-0", "text": words, "mark": "✓"})
        # Some payloads are drawn as nothing: that they were drawn, the next sentence tells.
        last = {"section": "summary", "id": "summary-1", "text": LAST, "before": "\n\n", "mark": "✓"}
        yield Event(4, "answer", 1, NOON, last)
        await self.hangs.wait()

    def _scripted(self) -> ScriptedResearcher:
        return poisoned(self.payload)


@dataclass
class Trap:
    """A page that notes what must not happen on it."""

    page: Page
    address: str
    researcher: Poisoned
    caught: list[str] = field(default_factory=list)
    frames: dict[str, str] = field(default_factory=dict)

    async def faults(self, payload: str) -> list[str]:
        self.caught.clear()
        for path in PATHS:
            if path not in self.frames:
                self.researcher.payload = "plain words"
                self.frames[path] = await self._open(path)
            self.researcher.payload = payload
            found, expected = await self._open(path), self.frames[path]
            self.caught += await self.page.evaluate(ACTING)
            self.caught += [] if found == expected else [f"{path}: {found} instead of {expected}"]
        return list(self.caught)

    async def _open(self, path: str) -> str:
        response = await self.page.goto(self.address + path)
        self.caught += [] if response and response.ok else [f"{path} was not answered"]
        if RUNNING in path:
            await self.page.wait_for_function("last => summary.textContent.includes(last)", arg=LAST)
        return str(await self.page.evaluate(FRAME))


@pytest_asyncio.fixture(loop_scope="module")
async def trap(browser: Browser) -> AsyncIterator[Trap]:
    researcher = Poisoned()
    server = TestServer(web_app(researcher))  # type: ignore[arg-type]
    await server.start_server()
    context = await browser.new_context()
    page = await context.new_page()
    trap = Trap(page, str(server.make_url("")).rstrip("/"), researcher)

    async def dismiss(dialog) -> None:
        trap.caught.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    page.on("dialog", dismiss)
    page.on("pageerror", lambda error: trap.caught.append(f"error: {error}"))
    page.on("request", lambda asked: trap.caught.extend([] if asked.url.startswith(trap.address) else [asked.url]))
    page.on("popup", lambda popup: trap.caught.append(f"popup: {popup.url}"))
    yield trap
    await context.close()
    researcher.hangs.set()
    await server.close()


async def test_half_of_our_own_payloads_and_some_collected_do_nothing(trap: Trap):
    """Answer, title, address, question, author, domain, quote, error: each is the payload at once."""
    others = collected()

    tried = [*PAYLOADS[::2], *others[:: len(others) // FEW]]
    faults = {payload: found for payload in tried if (found := await trap.faults(payload))}

    assert faults == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_all_payloads_do_nothing(trap: Trap):
    payloads = [*PAYLOADS, *collected()]

    faults = {payload: found for payload in payloads if (found := await trap.faults(payload))}

    assert len(payloads) > 300
    assert faults == {}


def collected() -> list[str]:
    """Samples of scripts, of mentions and spoofed links, and of injected instructions."""
    names = ("xss_cases", "mention_link_cases", "injection_cases")
    rows = [
        row for name in names for row in shared_data("hostile_sample", f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    return [payload for row in map(json.loads, rows) if (payload := row.get("payload") or row.get("text"))]
