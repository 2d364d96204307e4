"""Which addresses of a draft may be trusted to exist: those that a search gave are opened, like all sources."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import regex

from core.findings.parsing import ReadOutput
from core.findings.results import Drafts, ResearchMode
from core.model.errors import FetchError
from core.model.ports import WEB_SEARCH
from core.model.source import SearchHit, Source
from core.pipeline.work import Work
from core.stages.gathering import Stragglers, make_source, renumbered
from core.stages.ranking import Candidate, rank_sources
from core.text.urls import canonical_url, is_web_url

NO_ADDRESS = "no address is given for it"
NOT_FOUND = "its address was not among the search results"
NOT_OPENED = "its page was not opened in time"
_ADDRESS = regex.compile(r"https?://[^\s<>\"'()\[\]]+(?:\([^\s<>\"'()]*\)[^\s<>\"'()\[\]]*)*", regex.IGNORECASE)
_LINK_IN_PARENTHESES = regex.compile(r"\(\s*\[[^\[\]\n]*\]\((https?://[^\s()]+)\)\s*\)")
_LINK = regex.compile(r"(?<!!)\[([^\[\]\n]*)\]\((https?://[^\s()]+)\)")


@dataclass(frozen=True)
class Opened:
    """The sources that were read, numbered, and by address why others were not."""

    sources: tuple[Source, ...]
    failures: Mapping[str, str]

    def source_of(self, url: str) -> Source | None:
        sought = canonical_url(url)
        return next((source for source in self.sources if canonical_url(source.url) == sought), None)

    def why_not(self, url: str) -> str:
        """Why there is no source for an address; "" when there is one."""
        if self.source_of(url):
            return ""
        return self.failures.get(canonical_url(url), NOT_FOUND) if url else NO_ADDRESS


async def open_addresses(work: Work, drafts: Drafts, outputs: Mapping[ResearchMode, ReadOutput]) -> Opened:
    """Read every listed address that is cited, and then those that the model's search cited itself, within limits.

    An address that no search gave is never opened: who invents it could choose it.
    """
    own = await work.deps.sources.sources(work.job.id)
    titles = {canonical_url(page.url): page.title for draft in drafts.drafts for page in draft.pages}
    known = {canonical_url(source.url) for source in own}
    wanted = _wanted(drafts, outputs, listed=titles.keys(), known=known)
    settings = work.deps.settings.findings
    limit = settings.deep_max_pages if work.job.request.depth == "deep" else settings.max_pages
    left_s = work.deadline.remaining(reserve_s=settings.check_reserve_s / 2)
    grace_s = work.deps.settings.search.straggler_s
    others = Stragglers(len(wanted[:limit]), ends_at=asyncio.get_running_loop().time() + left_s, grace_s=grace_s)
    failures = {canonical_url(url): NOT_OPENED for url in wanted[limit:]}
    read = await asyncio.gather(
        *(_open(work, url, titles[canonical_url(url)], others, failures) for url in wanted[:limit])
    )
    scored = await asyncio.to_thread(_scored, work, [source for source in read if source])
    sources = renumbered([*own, *scored])
    await work.deps.sources.put(work.job, sources)
    return Opened(tuple(sources), failures)


def addresses_in(text: str) -> list[str]:
    """In order, each once."""
    return list(dict.fromkeys(found.group().rstrip(".,;:!?*_") for found in _ADDRESS.finditer(text)))


def with_plain_addresses(text: str) -> str:
    """Markdown links as their label with the address in parentheses, `([label](https://…))` as the address alone."""
    text = _LINK_IN_PARENTHESES.sub(r"(\1)", text)
    return _LINK.sub(lambda found: f"{found[1]} ({found[2]})".strip(), text)


def _scored(work: Work, sources: list[Source]) -> list[Source]:
    """In their order, each with what ranking makes of it."""
    ranked = rank_sources(
        [Candidate(source) for source in sources],
        work.job.query,
        work.job.intent,
        now=work.deps.clock(),
        max_sources=len(sources),
        max_per_domain=len(sources),
    )
    scores = {source.url: source.scores for source in ranked}
    return [replace(source, scores=scores.get(source.url, source.scores)) for source in sources]


def _wanted(
    drafts: Drafts, outputs: Mapping[ResearchMode, ReadOutput], *, listed: Iterable[str], known: set[str]
) -> list[str]:
    cited: list[str] = []
    for output in outputs.values():
        cited += [item.source for item in output.items]
        cited += addresses_in(output.report)
        for item in output.items:
            cited += addresses_in(item.content)
    cited += [page.url for draft in drafts.drafts for page in draft.pages]
    places = set(listed)
    unique: dict[str, str] = {}
    for url in cited:
        place = canonical_url(url)
        if is_web_url(url) and place in places and place not in known:
            unique.setdefault(place, url)
    return list(unique.values())


async def _open(work: Work, url: str, title: str, others: Stragglers, failures: dict[str, str]) -> Source | None:
    try:
        async with others.waiting():
            page = await work.gathering.page(url)
        others.arrived()
    except FetchError as exc:
        others.failed()
        failures[canonical_url(url)] = f"its page could not be read ({exc.reason})"
        return None
    except TimeoutError:
        failures[canonical_url(url)] = NOT_OPENED
        return None
    hit = SearchHit(
        WEB_SEARCH,
        url,
        page.title or title,
        author=page.author,
        published_at=page.published_at,
        found_at=page.read_at,
    )
    source = await asyncio.to_thread(make_source, work.gathering, hit, page.text)
    await work.progress.source(source)
    return source
