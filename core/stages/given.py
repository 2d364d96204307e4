"""Sources that come with a request: attached files, addresses named in the question, an earlier job's sources.

They belong to this question alone. What cannot be read is said in a sentence, never passed over.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import quote

import regex

from core.model.attachments import Attachment
from core.model.errors import FetchError, JobNotFound, PageTimeout, StoreError
from core.model.job import ResearchJob
from core.model.source import SearchHit, Source, SourceKind
from core.pipeline.deps import Deps
from core.stages.gathering import Gathering, make_source
from core.text.urls import canonical_url, is_web_url

MAX_ADDRESSES = 3  # of one question; more is a reading list, not a question
ATTACHED, NAMED = "attachment", "asker"  # providers of what the asker brought
_ADDRESS = regex.compile(r"<?(?P<url>https?://[^\s<>|\"'`]+)(?:\|[^<>]*)?>?", regex.IGNORECASE)
_POINTER = r"(?:[,(\s]*\b(?:according\s+to|based\s+on|as\s+per|per|from|at|in|on|see|via|using|says|source:?)\s+)?"
_POINTED = regex.compile(_POINTER + _ADDRESS.pattern, regex.IGNORECASE)
_TRAILING = ".,;:!?*_)]}»”’"


@dataclass(frozen=True)
class Given:
    """`sources` are kept whatever else is found; `earlier` are those of the basis; `notes` say what is missing.

    Ids are not given yet (`src_0`).
    """

    sources: tuple[Source, ...] = ()
    earlier: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()


def addresses_in(text: str) -> list[str]:
    """The web addresses that a question names, each once, at most `MAX_ADDRESSES`."""
    found: dict[str, str] = {}
    for match in _ADDRESS.finditer(text):
        url = _bare(match["url"])
        if is_web_url(url):
            found.setdefault(canonical_url(url), url)
    return list(found.values())[:MAX_ADDRESSES]


def without_addresses(text: str) -> str:
    """`text` with its addresses and what points to them taken out, as it is searched for.

    The whole text when nothing else is left.
    """
    rest = " ".join(_POINTED.sub(" ", text).split())
    return rest if any(char.isalpha() for char in rest) else text


async def read_given(job: ResearchJob, gathering: Gathering, deps: Deps, *, within_s: float) -> Given:
    """All that came with the request. A store that fails costs what it held, with a note, never the answer."""
    notes: list[str] = []
    sources = [*await _attached(job, gathering, deps, notes), *await _named(job, gathering, notes, within_s=within_s)]
    return Given(tuple(sources), tuple(await earlier_sources(job, deps)), tuple(notes))


async def earlier_sources(job: ResearchJob, deps: Deps) -> list[Source]:
    """What the job's basis had found; nothing when it is gone or of another scope."""
    if not job.request.basis:
        return []
    try:
        if (await deps.jobs.get(job.request.basis)).scope != job.scope:
            return []
        found, policy = await deps.sources.sources(job.request.basis), job.request.policy
        return [source for source in found if policy.permits(source.url, source.metadata.kind)]
    except JobNotFound:
        return []
    except StoreError as exc:
        deps.count_error("search", exc)
        return []


async def _attached(job: ResearchJob, gathering: Gathering, deps: Deps, notes: list[str]) -> list[Source]:
    if not job.request.attachments:
        return []
    try:
        attachments = await deps.attachments.of(job.id)
    except StoreError as exc:
        deps.count_error("search", exc)
        attachments = []
    notes += [attachment.cut for attachment in attachments if attachment.cut]
    kept = {attachment.name for attachment in attachments}
    notes += [
        f"{name} was lost before it could be read; please send it again."
        for name in job.request.attachments
        if name not in kept
    ]
    return [await asyncio.to_thread(_source_of, gathering, attachment) for attachment in attachments]


def _source_of(gathering: Gathering, attachment: Attachment) -> Source:
    """A file of the asker's: it has no address on the web, and its name is what people know it by."""
    hit = SearchHit(
        provider=ATTACHED,
        url=f"attachment:{quote(attachment.name)}",
        title=attachment.name,
        is_complete=True,
        kind=SourceKind.LOCAL,
    )
    return make_source(gathering, hit, attachment.text)


async def _named(job: ResearchJob, gathering: Gathering, notes: list[str], *, within_s: float) -> list[Source]:
    urls = addresses_in(f"{job.query} {job.request.feedback}")

    async def read(url: str) -> Source | str:
        try:
            async with asyncio.timeout(within_s):
                page = await gathering.page(url)
        except (FetchError, TimeoutError) as error:
            exc = error if isinstance(error, FetchError) else PageTimeout(url, "not read in time")
            return f"{url} could not be read ({exc.reason})."
        hit = SearchHit(NAMED, url, page.title, published_at=page.published_at, author=page.author)
        return await asyncio.to_thread(make_source, gathering, hit, page.text)

    outcomes = await asyncio.gather(*(read(url) for url in urls))
    notes += [outcome for outcome in outcomes if isinstance(outcome, str)]
    return [outcome for outcome in outcomes if isinstance(outcome, Source)]


def _bare(url: str) -> str:
    """Without the punctuation of the sentence around it; a closing bracket stays where one is open."""
    while url and url[-1] in _TRAILING:
        if url[-1] == ")" and url.count("(") >= url.count(")"):
            break
        url = url[:-1]
    return url
