"""A source that is watched for itself: a page, and what is said on it otherwise, new, or no more; a feed, and its new
entries; a paper, and what registries know was published about it since: above all its retraction.

What was found becomes a job of its own, with the page as its source, so that it is told, opened and forgotten as
answers are. The page itself is the primary source of what it says: nobody waits for a second look.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

import regex

from core.evidence.authority import kind_of
from core.model.answer import Citation, Claim, Confidence, Evidence, JobResult, ResearchAnswer, Verdict
from core.model.errors import FetchError
from core.model.job import JobStatus, ResearchJob
from core.model.source import Page, Source, SourceMetadata
from core.model.works import NoticeKind, WorkRecord
from core.pipeline.deps import Deps
from core.stages.intake import parse_intent
from core.text.urls import domain_of
from core.watch.comparison import MIN_SAID, compare_page, sentences_in, topic_of
from core.watch.voting import is_suspect, on_pages, vote
from core.watch.watch import Carrier, Change, Watch, WatchedPage
from core.works.recognising import ids_in_url

FEED, PAPER = "feed", "paper"  # as kinds of watched pages
NEW_ENTRY = "it is a new entry of the feed"
NOTICES: dict[NoticeKind, str] = {
    "retraction": "“{title}” was retracted.",
    "concern": "An expression of concern about “{title}” was published.",
    "correction": "A correction of “{title}” was published.",
}
READ_S = 30.0
MAX_CARRIED = 400  # sentences of a page that are watched, from its beginning
MAX_TOLD = 12  # changes of one run
# What a page says of itself and not of its matter: its date, its counts, its advertisements.
_BESIDE = regex.compile(
    r"^\W*(?:(?:last )?(?:updated?|modified|reviewed|published|posted|printed)\b|copyright|©|\d+ (?:comments?|views?"
    r"|shares?|likes?)\b|advertisement|sponsored|cookies?\b|sign up|subscribe|log in|today is)"
    r"|\b(?:minutes?|hours?) ago\b",
    regex.IGNORECASE,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SourceLook:
    """`job` is what tells the changes; None where there are none."""

    page: WatchedPage
    changes: tuple[Change, ...] = ()
    job: ResearchJob | None = None


async def look_at_source(watch: Watch, page: WatchedPage | None, deps: Deps, *, now: datetime) -> SourceLook | None:
    """None where it cannot be read. The first look finds no change but a retraction. Raises `StoreError`."""
    if deps.works is not None:
        looked = await deps.works.by_ids(ids_in_url(watch.url), within_s=READ_S)
        if looked.record is not None or looked.failed:
            record = looked.record
            return await _look_at_paper(watch, page, record, deps, now=now) if record else None
    found = await _read(watch.url, page, deps)
    if found is None:
        return None
    if page is not None and found.text == page.text:
        return SourceLook(replace(page, etag=found.etag, last_modified=found.last_modified))
    look = _look_at_feed if found.entries else _look_at_page
    return await look(watch, page, found, deps, now=now)


async def _look_at_page(
    watch: Watch, page: WatchedPage | None, found: Page, deps: Deps, *, now: datetime
) -> SourceLook:
    fresh = WatchedPage(
        watch.url, found.title, found.text, found.etag, found.last_modified, kind_of(watch.url), _carried(found.text)
    )
    if page is None or page.kind in (FEED, PAPER):
        return SourceLook(fresh)
    topic = topic_of(page.title, [carrier.claim for carrier in page.carriers])
    difference = await asyncio.to_thread(compare_page, page, found.text, topic)
    candidates = [change for change in difference.candidates if not _BESIDE.search(change.now or change.before)]
    before, after = sentences_in(page.text), sentences_in(found.text)
    votes = await vote(candidates, on_pages(before, after), deps.judge)
    changes = tuple(change for change in votes.changes if is_suspect(change))[:MAX_TOLD]
    if not changes:
        return SourceLook(fresh)
    return SourceLook(fresh, changes, await _told(watch, found, changes, deps, now))


async def _look_at_feed(
    watch: Watch, page: WatchedPage | None, found: Page, deps: Deps, *, now: datetime
) -> SourceLook:
    """Entries with another title, in another order, or named no more, are no news."""
    known = {carrier.claim: carrier for carrier in page.carriers} if page and page.kind == FEED else {}
    named = {url or title: Carrier(url or title, title) for title, url in found.entries}
    news = [carrier for key, carrier in named.items() if key not in known] if known else []
    kept = tuple({**named, **known}.values())[:MAX_CARRIED]
    fresh = WatchedPage(watch.url, found.title, found.text, found.etag, found.last_modified, FEED, kept)
    changes = tuple(
        Change("new", now=one.sentence, because=NEW_ENTRY, now_quote=one.sentence,
               now_url=one.claim if "://" in one.claim else watch.url, is_primary=True, is_certain=True)
        for one in news[:MAX_TOLD]
    )  # fmt: skip
    return SourceLook(fresh, changes, await _told(watch, found, changes, deps, now) if changes else None)


async def _look_at_paper(
    watch: Watch, page: WatchedPage | None, record: WorkRecord, deps: Deps, *, now: datetime
) -> SourceLook:
    """What its pages say is not compared: they count readers and name other papers."""
    known = {carrier.claim for carrier in page.carriers} if page else set()
    named = {f"{one.kind} {one.url or one.date}": one for one in record.notices}
    news = [one for key, one in named.items() if key not in known and (page or one.kind == "retraction")]
    carriers = tuple(Carrier(key, one.kind) for key, one in named.items())
    fresh = WatchedPage(watch.url, record.title, "", kind=PAPER, carriers=carriers)
    if not news:
        return SourceLook(fresh)
    said = [NOTICES[one.kind].format(title=record.title) for one in news]
    changes = tuple(
        Change("retraction" if one.kind == "retraction" else "new", now=sentence, now_quote=sentence,
               because=one.reason, now_url=one.url or watch.url, is_primary=True, is_certain=True)
        for one, sentence in zip(news, said, strict=True)
    )  # fmt: skip
    told = Page(watch.url, record.title, "\n\n".join(said), now)
    return SourceLook(fresh, changes, await _told(watch, told, changes, deps, now))


async def _read(url: str, page: WatchedPage | None, deps: Deps) -> Page | None:
    known = None
    if page is not None and (page.etag or page.last_modified):
        known = Page(url, page.title, page.text, deps.clock(), etag=page.etag, last_modified=page.last_modified)
    try:
        async with asyncio.timeout(READ_S):
            return await deps.pages.fetch(url, known=known)
    except (FetchError, TimeoutError) as exc:
        log.info("a watched source is away", extra={"url": url, "reason": str(exc)})
        return None


def _carried(text: str) -> tuple[Carrier, ...]:
    said = [one for one in sentences_in(text) if len(one) >= MIN_SAID and not _BESIDE.search(one)]
    return tuple(Carrier(one, one) for one in said[:MAX_CARRIED])


async def _told(watch: Watch, page: Page, changes: Sequence[Change], deps: Deps, now: datetime) -> ResearchJob:
    """The same run tells it once."""
    request = replace(watch.request, watch=watch.id)
    job = ResearchJob(deps.new_id(), request, parse_intent(request.query), JobStatus.COMPLETED, now, completed_at=now)
    job = await deps.jobs.save(job, dedupe_key=f"watch:{watch.id}:{watch.run}")
    source = _source(page, now)
    await deps.sources.put(job, [source])
    await deps.jobs.finish(job, JobResult(_answer(source, changes), (source.id,), sources_considered=1))
    return job


def _source(page: Page, now: datetime) -> Source:
    domain = domain_of(page.url)
    metadata = SourceMetadata(domain, len(page.text.split()), "watch", kind=kind_of(page.url))
    digest = sha256(page.text.encode()).hexdigest()
    return Source("src_1", page.url, page.title or domain, page.text, digest, now, metadata)


def _answer(source: Source, changes: Sequence[Change]) -> ResearchAnswer:
    """The sentences that are new, each verbatim in its source; what is gone is told in words alone."""
    claims: list[Claim] = []
    citations: list[Citation] = []
    for change in changes:
        start = source.content.find(change.now_quote) if change.now_quote else -1
        if start < 0:
            continue
        evidence = Evidence(source.id, change.now_quote, start, start + len(change.now_quote), Verdict.SUPPORTED)
        claims.append(Claim(f"summary-{len(claims)}", change.now, Verdict.SUPPORTED, (evidence,)))
        citations.append(
            Citation(change.now, source.id, evidence.quote, Verdict.SUPPORTED, evidence.start, evidence.end)
        )
    said = [f"{claim.text.rstrip('.')} [1]." for claim in claims]
    gone = [f"No longer said: {change.before}" for change in changes if not change.now]
    return ResearchAnswer(
        " ".join(said) or " ".join(gone), " ".join(gone) if said else "", Confidence.HIGH,
        citations=tuple(citations), claims=tuple(claims),
    )  # fmt: skip
