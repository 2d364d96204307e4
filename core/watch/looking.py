"""A look at what an answer rests on: its pages read again, new ones looked for, and what they say otherwise.

Nothing is written and no plan is made. What has not changed costs a request without a body; other words cost one call.
Single sources that are watched for themselves are looked at here, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256

import regex

from core.evidence.authority import kind_of
from core.evidence.differences import find_difference
from core.evidence.rules.vetoes import find_vetoes
from core.model.answer import Citation, Claim, Confidence, Evidence, JobResult, ModelUsage, ResearchAnswer, Verdict
from core.model.errors import FetchError, GorkdError, SiteExcluded
from core.model.job import JobStatus, ResearchJob
from core.model.source import Page, SearchHit, SearchQuery, Source, SourceMetadata
from core.model.works import NoticeKind, WorkRecord, ids_in_url
from core.pipeline.deps import Deps
from core.stages.intake import parse_intent
from core.text.saying import say
from core.text.urls import canonical_url, domain_of
from core.watch.comparison import (
    MIN_SAID,
    Nearness,
    bare,
    carriers_of,
    compare_page,
    is_suspect,
    on_pages,
    restates,
    sentences_in,
    stands_in,
    told_claims,
    topic_of,
    vote,
)
from core.watch.watch import NEW_ENTRY, Carrier, Change, Watch, WatchedPage
from core.works.standing import newly_retracted, stand

# A source that is watched for itself: a page, and what is said on it otherwise, new, or no more; a feed, and its new
# entries; a paper, and what registries know was published about it since: above all its retraction


FEED, PAPER = "feed", "paper"  # as kinds of watched pages
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
    found = await _read(page or WatchedPage(watch.url, "", ""), deps)
    if found is None:
        return None
    if page is not None and found.text == page.text:
        return SourceLook(replace(page, etag=found.etag, last_modified=found.last_modified))
    look = _look_at_feed if found.entries else _look_at_page
    return await look(watch, page, found, deps, now=now)


async def _look_at_page(
    watch: Watch, page: WatchedPage | None, found: Page, deps: Deps, *, now: datetime
) -> SourceLook:
    said = [one for one in sentences_in(found.text) if len(one) >= MIN_SAID and not _BESIDE.search(one)]
    carried, kind = tuple(Carrier(one, one) for one in said[:MAX_CARRIED]), kind_of(watch.url)
    fresh = WatchedPage(watch.url, found.title, found.text, found.etag, found.last_modified, kind, carried)
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
    said = [say(NOTICES[one.kind], title=record.title) for one in news]
    changes = tuple(
        Change("retraction" if one.kind == "retraction" else "new", now=sentence, now_quote=sentence,
               because=one.reason, now_url=one.url or watch.url, is_primary=True, is_certain=True)
        for one, sentence in zip(news, said, strict=True)
    )  # fmt: skip
    told = Page(watch.url, record.title, "\n\n".join(said), now)
    return SourceLook(fresh, changes, await _told(watch, told, changes, deps, now))


async def _read(page: WatchedPage, deps: Deps) -> Page | None:
    """None for one that cannot be read now."""
    known = None
    if page.etag or page.last_modified:
        known = Page(page.url, page.title, page.text, deps.clock(), etag=page.etag, last_modified=page.last_modified)
    try:
        async with asyncio.timeout(READ_S):
            return await deps.pages.fetch(page.url, known=known)
    except (FetchError, SiteExcluded, TimeoutError) as exc:
        # Its host alone: an address may hold what its watcher alone may know.
        why = exc.reason if isinstance(exc, FetchError) else "no answer in time"
        log.info("a watched page is away", extra={"host": domain_of(page.url), "reason": why})
        return None


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
    gone = [say("No longer said: {text}", text=change.before) for change in changes if not change.now]
    return ResearchAnswer(
        " ".join(said) or " ".join(gone), " ".join(gone) if said else "", Confidence.HIGH,
        citations=tuple(citations), claims=tuple(claims),
    )  # fmt: skip


MAX_PAGES = 20  # that are read again for one watch; those that carry a claim first
MAX_NEW_PAGES = 3  # a run
SEARCHED = 5  # hits of each provider that are looked at
GONE_AFTER = timedelta(hours=20)  # a page that is away for so long, seen in two runs, is gone
AT_ONCE = 4
SAYING = 0.5  # how near a sentence is to the claim that it may carry

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToldAnswer:
    """What was told last: the job, its result and its sources."""

    job: ResearchJob
    result: JobResult
    sources: tuple[Source, ...]

    @property
    def claims(self) -> list[str]:
        return [bare(claim) for claim in told_claims(self.result.answer)]


@dataclass(frozen=True)
class Look:
    """What was seen: what may have changed, and the pages as they are if it comes to nothing.

    `bodies` counts pages that were read in full, `calls` those to a model; `could_read` is False where nothing could.
    """

    changes: tuple[Change, ...]
    pages: tuple[WatchedPage, ...]
    bodies: int = 0
    calls: int = 0
    usage: tuple[ModelUsage, ...] = ()
    could_read: bool = True


@dataclass
class _Seen:
    """What is gathered while pages are read."""

    changes: list[Change] = field(default_factory=list)
    pages: list[WatchedPage] = field(default_factory=list)
    bodies: int = 0
    away: int = 0


async def look(told: ToldAnswer, pages: Sequence[WatchedPage], deps: Deps, *, now: datetime) -> Look:
    """Raises `GorkdError` where a store is away; pages and providers may be away for a while."""
    topic = topic_of(told.result.understood or told.job.query, told.claims)
    seen = _Seen()
    read = await _read_all(pages, deps)
    for page, found in zip(pages, read, strict=True):
        await asyncio.to_thread(_compare, seen, page, found, topic, now)
    known = [page for page in pages if page.text]
    for page in await _new_pages(told, pages, deps):
        seen.bodies += 1
        await asyncio.to_thread(_compare_new, seen, page, told.claims, known, topic)
    seen.changes = [*_settled(seen), *await _retractions(told, deps)]
    after = [sentence for page in seen.pages if not page.away_since for sentence in sentences_in(page.text)]
    if deps.judge is None:
        nearness = Nearness(after)
        seen.changes = [
            replace(change, is_certain=change.is_certain or not nearness.nearest(change.before_quote, after))
            if change.kind == "gone"
            else change
            for change in seen.changes
        ]
    votes = await vote(seen.changes, on_pages(known_sentences(told, pages), after), deps.judge)
    return Look(
        tuple(change for change in votes.changes if is_suspect(change)),
        tuple(seen.pages),
        seen.bodies,
        votes.calls,
        votes.usage,
        could_read=not pages or seen.away < len(pages),
    )


async def _retractions(told: ToldAnswer, deps: Deps) -> list[Change]:
    """Papers that the answer cites and that are known to be retracted only now."""
    answer = told.result.answer
    if deps.works is None or answer is None:
        return []
    stood = await stand(told.sources, deps.works, within_s=READ_S)
    found = []
    for source in newly_retracted(told.sources, stood.sources):
        cited = next(
            (claim for claim in answer.claims if any(one.source_id == source.id for one in claim.evidence)), None
        )
        if cited is not None:
            now = say("{title} was retracted.", title=source.title)
            found.append(
                Change("retraction", bare(cited.text), now, before_url=source.url, now_url=source.url, is_certain=True)
            )
    return found


def pages_of(told: ToldAnswer) -> list[WatchedPage]:
    """What the answer rests on, those that carry a claim first. Files and papers of a library are not read again."""
    answer = told.result.answer
    if answer is None:
        return []
    pages = [
        WatchedPage(
            source.url,
            source.title,
            source.content,
            kind=source.metadata.kind,
            carriers=carriers_of(answer, source.id, source.content),
        )
        for source in told.sources
        if source.url.startswith(("http://", "https://"))
    ]
    carried = {carrier.claim for page in pages for carrier in page.carriers}
    left = [claim for claim in told.claims if claim not in carried]
    pages = [replace(page, carriers=(*page.carriers, *_saying(left, sentences_in(page.text)))) for page in pages]
    return sorted(pages, key=lambda page: not page.carriers)[:MAX_PAGES]


def _saying(claims: Sequence[str], said: Sequence[str]) -> list[Carrier]:
    """The claims that sentences share most of what tells them from others with, and do not contradict."""
    nearness = Nearness([*said, *claims])
    found = [(claim, nearness.nearest(claim, said, most=1, least=SAYING)) for claim in claims]
    return [Carrier(claim, near[0]) for claim, near in found if near and not find_vetoes(claim, near[0])]


def known_sentences(told: ToldAnswer, pages: Sequence[WatchedPage]) -> list[str]:
    """What was told, and what the pages said besides."""
    return [*told.claims, *(sentence for page in pages for sentence in sentences_in(page.text))]


async def still_stands(changes: Sequence[Change], deps: Deps) -> list[Change] | None:
    """Those whose new sentence still stands, or whose old one is still gone; None where no page can be read."""
    urls = list(dict.fromkeys(change.now_url or change.before_url for change in changes))
    read = dict(zip(urls, await _read_all([WatchedPage(url, "", "") for url in urls], deps), strict=True))
    if all(page is None for page in read.values()) and any(change.now_quote for change in changes):
        return None
    holds: list[Change] = []
    for change in changes:
        page = read[change.now_url or change.before_url]
        said = set(map(_words, sentences_in(page.text))) if page else set[str]()
        has_new = not change.now_quote or _words(change.now_quote) in said
        has_old = bool(change.before_quote) and change.kind != "conflict" and _words(change.before_quote) in said
        if has_new and not has_old:
            holds.append(change)
    return holds


def _words(sentence: str) -> str:
    return " ".join(sentence.split()).casefold()


async def _read_all(pages: Sequence[WatchedPage], deps: Deps) -> list[Page | None]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(page: WatchedPage) -> Page | None:
        async with gate:
            return await _read(page, deps)

    return list(await asyncio.gather(*map(read, pages)))


def _compare(seen: _Seen, page: WatchedPage, found: Page | None, topic: frozenset[str], now: datetime) -> None:
    if found is None:
        seen.away += 1
        since = page.away_since or now
        if now - since >= GONE_AFTER:  # found again, it is a new page
            gone = Change("gone", before_url=page.url, because=say("the page is no longer there"))
            seen.changes += [replace(gone, before=one.claim, before_quote=one.sentence) for one in page.carriers]
        else:
            seen.pages.append(replace(page, away_since=since))
        return
    known = replace(page, etag=found.etag, last_modified=found.last_modified, title=page.title or found.title)
    if found.text == page.text:
        seen.pages.append(replace(known, away_since=None))
        return
    seen.bodies += 1
    difference = compare_page(known, found.text, topic)
    seen.changes += difference.candidates
    seen.pages.append(difference.page)


def _compare_new(
    seen: _Seen, page: WatchedPage, claims: Sequence[str], known: Sequence[WatchedPage], topic: frozenset[str]
) -> None:
    """A page that was not read before: what it says of told claims, and what none of the others said."""
    said = sentences_in(page.text)
    before = [sentence for other in known for sentence in sentences_in(other.text)]
    nearness = Nearness([*said, *before, *claims])
    carried = _saying(claims, said)
    carried += [one for other in known for one in other.carriers if stands_in(one.sentence, page.text)]
    empty = replace(page, text="", carriers=())
    for change in compare_page(empty, page.text, topic).candidates:
        near = nearness.nearest(change.now, before)
        if any(restates(other, change.now) or restates(change.now, other) for other in near):
            continue
        against = next((claim for claim in claims if find_difference(claim, change.now)), "")
        contrary = replace(change, kind="conflict", before=against, before_quote=against, is_certain=True)
        seen.changes.append(contrary if against else change)
    seen.pages.append(replace(page, carriers=tuple(dict.fromkeys(carried))))


def _settled(seen: _Seen) -> list[Change]:
    """What another page carries still is no change; what one page says otherwise than the rest, they disagree on."""
    carried: dict[str, str] = {}
    doubted = {(change.before, url) for change in seen.changes for url in (change.now_url, change.before_url)}
    for page in seen.pages:
        said = set() if page.away_since else set(map(_words, sentences_in(page.text)))
        for carrier in page.carriers:
            if (carrier.claim, page.url) not in doubted and _words(carrier.sentence) in said:
                carried.setdefault(carrier.claim, page.url)
    found: list[Change] = []
    for seen_change in seen.changes:
        elsewhere = carried.get(seen_change.before, "")
        if seen_change.kind == "gone" and elsewhere:
            continue
        is_disputed = seen_change.kind == "value" and bool(elsewhere)
        change = replace(seen_change, kind="conflict", before_url=elsewhere) if is_disputed else seen_change
        twin = next(
            (one for one in found if (one.kind, one.before) == (change.kind, change.before) and one.before), None
        )
        if twin is not None:
            found[found.index(twin)] = replace(
                twin,
                places=tuple(dict.fromkeys((*twin.places, *change.places))),
                is_primary=twin.is_primary or change.is_primary,
                is_certain=twin.is_certain or change.is_certain,
            )
            continue
        found.append(change)
    return found


async def _new_pages(told: ToldAnswer, pages: Sequence[WatchedPage], deps: Deps) -> list[WatchedPage]:
    """What the searches of the answer find now and did not then, read."""
    known = {canonical_url(page.url) for page in pages} | {canonical_url(source.url) for source in told.sources}
    hits = await _hits(told, deps.within(told.job.request.policy))
    policy = told.job.request.policy
    fresh: dict[str, SearchHit] = {}
    for hit in hits:
        kind = kind_of(hit.url, hint=hit.kind, overrides=deps.settings.source_kinds)
        if hit.url.startswith(("http://", "https://")) and policy.permits(hit.url, kind):
            fresh.setdefault(canonical_url(hit.url), hit)
    wanted = [hit for url, hit in fresh.items() if url not in known][:MAX_NEW_PAGES]
    empty = [
        WatchedPage(hit.url, hit.title, "", kind=kind_of(hit.url, hint=hit.kind, overrides=deps.settings.source_kinds))
        for hit in wanted
    ]
    read = await _read_all(empty, deps)
    room = max(0, MAX_PAGES - len(pages))
    return [
        replace(page, text=found.text, etag=found.etag, last_modified=found.last_modified)
        for page, found in zip(empty, read, strict=True)
        if found is not None and found.text
    ][:room]


async def _hits(told: ToldAnswer, deps: Deps) -> list[SearchHit]:
    """Of the answer's first search at each of its providers; what fails gives nothing."""
    query = told.result.queries[0] if told.result.queries else told.result.understood or told.job.query
    asked = SearchQuery(query)
    names = [name for name in deps.providers if not told.result.providers or name in told.result.providers]
    settings = deps.settings.search

    async def ask(name: str) -> Sequence[SearchHit]:
        if deps.providers[name].strength == "files":
            return []
        try:
            async with asyncio.timeout(settings.provider_timeout_s):
                return await deps.providers[name].search(asked, limit=SEARCHED, scope=told.job.scope)
        except (GorkdError, TimeoutError) as exc:
            log.info("nothing new could be looked for", extra={"provider": name, "reason": str(exc)})
            return []

    return [hit for hits in await asyncio.gather(*map(ask, names)) for hit in hits]
