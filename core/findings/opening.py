"""A draft read, and those of its addresses opened that a search gave: only these are trusted to exist."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import regex

from core.findings.results import (
    FENCE,
    Drafts,
    IdeaResult,
    ImplementationResult,
    ResearchFindings,
    ResearchMode,
    ResearchReport,
    first_code,
)
from core.model.errors import FetchError, say_reason
from core.model.job import Json, rows
from core.model.ports import WEB_SEARCH
from core.model.source import SearchHit, Source
from core.pipeline.work import Work
from core.stages.gathering import Stragglers, make_source, renumbered
from core.stages.ranking import Candidate, rank_sources
from core.text.saying import say
from core.text.sentences import split_sentences
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
        return self.failures.get(canonical_url(url), say(NOT_FOUND)) if url else say(NO_ADDRESS)


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
    failures = {canonical_url(url): say(NOT_OPENED) for url in wanted[limit:]}
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
        failures[canonical_url(url)] = say("its page could not be read ({reason})", reason=say_reason(exc))
        return None
    except TimeoutError:
        failures[canonical_url(url)] = say(NOT_OPENED)
        return None
    hit = SearchHit(
        WEB_SEARCH, url, page.title or title, author=page.author, published_at=page.published_at, found_at=page.read_at
    )
    source = await asyncio.to_thread(make_source, work.gathering, hit, page.text)
    await work.progress.source(source)
    return source


# The model's output (S004): free analysis, then results in tags. Reading it never fails and loses no item. Models
# mention the tags in their analysis, put code with tags into items, forget to close them, or write prose alone.


NO_WRAPPER = "The model did not wrap its results as it was told to; what could be read is shown."
UNCLOSED = "The model's output breaks off; its last entry may be incomplete."
NO_ITEMS = "The model gave no list of results, only prose; it is shown as one entry."
NOTHING = "The model's output holds no results."

_INLINE = regex.compile(r"`[^`\n]+`")
_WRAPPER = regex.compile(r"<(/?)research_result\s*>", regex.IGNORECASE)
_ITEM = regex.compile(r"<research_item\s*>", regex.IGNORECASE)
_ITEM_END = regex.compile(r"</research_item\s*>", regex.IGNORECASE)
_SOURCE = regex.compile(r"<source\s*>(.*?)</source\s*>", regex.IGNORECASE | regex.DOTALL)
_SOURCE_OPEN = regex.compile(r"<source\s*>\s*(\S+)", regex.IGNORECASE)
_CONTENT = regex.compile(r"<content\s*>", regex.IGNORECASE)
_CONTENT_END = regex.compile(r"</content\s*>", regex.IGNORECASE)
_ANY_TAG = regex.compile(r"</?(?:research_result|research_item|source|content)\s*>", regex.IGNORECASE)
_BEGUN_TAG = regex.compile(r"</?[a-z_]{0,16}\Z", regex.IGNORECASE)
_COMMA = regex.compile(r",(?=\s*[\]}])")  # behind the last entry, where JSON has none
_MOST_BRACKETS = 50  # at which JSON may begin
_HOLDS_ADDRESS = regex.compile(r"\s*(?:\[[^\]]*\]\s*\()?<?https?://\S+\s*$", regex.IGNORECASE)
_POINT = regex.compile(r"^[ \t]*(?:#{1,6}[ \t]+)?(?:\*\*)?\d{1,2}[.)][ \t]+", regex.MULTILINE)
_HEADED = regex.compile(r"^([ \t]*#{1,6}[ \t]+\d{1,2}[.)][ \t]+)([^\n*]+)$", regex.MULTILINE)
_CREDIT = regex.compile(  # an address at the end of a line, as a link, in parentheses, or behind a word for it
    r"[ \t]*[(*]*(?:\b(?:source|url|link|quelle|fuente|fonte|bron)\b[*]*[ \t]*:[*]*[ \t]*|(?=[(\[]|(?<=\()))"
    r"(?:\[[^\]\n]*\])?\(?<?https?://[^\s<>)]+[)>]*(?=[.\s]*$)",
    regex.IGNORECASE | regex.MULTILINE,
)
_BARE_ADDRESS = regex.compile(r"https?://[^\s<>\"'()\[\]]+", regex.IGNORECASE)


@dataclass(frozen=True)
class ReadItem:
    """An item as the model gave it; `source` is "" where it named none. `is_tagged` says that it has both tags."""

    source: str
    content: str
    is_tagged: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class ReadOutput:
    """All that could be read. `is_wrapped` says whether there was a well-formed wrapper; `notes` are for people."""

    items: tuple[ReadItem, ...] = ()
    report: str = ""
    is_wrapped: bool = True
    notes: tuple[str, ...] = ()


def read_output(raw_output: str, mode: ResearchMode) -> ReadOutput:
    """The best that can be made of what the model wrote. Never raises."""
    hidden = _without_code(raw_output)
    body, is_closed = _last_wrapped(raw_output, hidden)
    is_wrapped = body is not None and is_closed
    text = body if body is not None else raw_output
    notes = [] if is_wrapped else [say(UNCLOSED if body is not None else NO_WRAPPER)]
    if mode == "freeform":
        report = _ANY_TAG.sub("", text).strip() if body is None else text.strip()
        report = report if is_closed or body is None else _without_half_a_sentence(report)
        return ReadOutput((), report, is_wrapped, tuple(notes if report else [say(NOTHING)]))
    items, are_closed = _items(text)
    if not items and body is not None:  # the list may stand outside the wrapper
        items, are_closed = _items(raw_output)
    if not are_closed and say(UNCLOSED) not in notes:
        notes.append(say(UNCLOSED))
    if not items and not (items := _items_of_json(text) or _items_of_json(_COMMA.sub("", text)) or _listed_items(text)):
        items = _items_of_prose(text)
        notes = [*notes, say(NO_ITEMS)] if items else ([] if is_wrapped else [say(NOTHING)])
    return ReadOutput(tuple(items), "", is_wrapped, tuple(dict.fromkeys(notes)))


def parse_research_result(raw_output: str, mode: ResearchMode, query: str, top_k: int) -> ResearchFindings:
    """The findings in the last well-formed `<research_result>` (S004-14, S004-17); without one they are empty.

    An item needs both tags, with something in them. At most `top_k` items.
    """
    findings = ResearchFindings(query=query, modes=[mode], top_k=top_k)
    output = read_output(raw_output, mode)
    if not output.is_wrapped:
        return findings
    if mode == "freeform":
        return ResearchFindings(query, [mode], top_k, report=ResearchReport(output.report) if output.report else None)
    whole = [item for item in output.items if item.is_tagged and item.source and item.content][:top_k]
    if mode == "idea":
        return ResearchFindings(query, [mode], top_k, ideas=[IdeaResult(item.source, item.content) for item in whole])
    found = [ImplementationResult(item.source, item.content) for item in whole]
    return ResearchFindings(query, [mode], top_k, implementations=found)


def _without_code(text: str) -> str:
    """`text` with code blanked out, of the same length, so that tags in code are no tags."""

    def blank(found: regex.Match[str]) -> str:
        return regex.sub(r"[^\n]", " ", found.group())

    return _INLINE.sub(blank, FENCE.sub(blank, text))


def _last_wrapped(text: str, hidden: str) -> tuple[str | None, bool]:
    """What stands in the last wrapper that holds something, and whether it is closed; None without any.

    Tags in code do not count, unless there are no others: some models put the whole result into a fence.
    """
    for where in (hidden, text):
        tags = list(_WRAPPER.finditer(where))
        closing = [at for at, tag in enumerate(tags) if tag[1]]
        for at in reversed(closing):
            opening = next((tag for tag in reversed(tags[:at]) if not tag[1]), None)
            if opening and _holds_something(body := text[opening.end() : tags[at].start()]):
                return body, True
            if opening and _stands_alone(text, opening.start(), tags[at].end()) and any(map(str.isalnum, body)):
                return body, True
        openings = [tag for tag in tags if not tag[1]]
        if openings and _holds_something(body := text[openings[-1].end() :]):
            return body, False
    return None, False


def _holds_something(body: str) -> bool:
    """Not the `…` of an analysis that speaks of the tags."""
    return bool(_ITEM.search(body)) or len(regex.findall(r"\w", body)) >= 20


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether nothing stands beside a wrapper on its lines: then it is one, however little it holds."""
    return not text[:start].rpartition("\n")[2].strip() and not text[end:].partition("\n")[0].strip()


def _items(text: str) -> tuple[list[ReadItem], bool]:
    """Every item, and whether all are closed. An item ends where the next begins, whatever its code holds."""
    hidden = _without_code(text)
    starts = list(_ITEM.finditer(hidden)) or list(_ITEM.finditer(text))
    items: list[ReadItem] = []
    are_closed = True
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        item, is_closed = _item(text[start.end() : end])
        are_closed = are_closed and is_closed
        if item.content or (item.source and is_closed):
            items.append(item)
    return items, are_closed


def _item(text: str) -> tuple[ReadItem, bool]:
    """One item from its text; the last closing tags count, since code may hold others."""
    ends = list(_ITEM_END.finditer(_without_code(text))) or list(_ITEM_END.finditer(text))
    inside = text[: ends[-1].start()] if ends else text
    source = _SOURCE.search(inside) or _SOURCE_OPEN.search(inside)
    address = _ANY_TAG.split(source[1])[0].strip() if source else ""
    begins = _CONTENT.search(inside)
    if begins:
        closings = list(_CONTENT_END.finditer(inside, begins.end()))
        content = inside[begins.end() : closings[-1].start() if closings else len(inside)]
    else:
        content = _SOURCE_OPEN.sub("", _SOURCE.sub("", inside))
        closings = []
    is_closed = bool(ends) and bool(closings or not begins)
    content = _bare(content, is_closed=bool(closings))
    content = content if is_closed else _without_half_a_sentence(content)
    return ReadItem(_address(address), content, is_tagged=bool(source and begins)), is_closed


def _bare(content: str, *, is_closed: bool) -> str:
    """Without tags of ours that stand in its prose, nested or begun and broken off; code keeps its own."""
    hidden = _without_code(content)
    stray = [*_ANY_TAG.finditer(hidden), *(() if is_closed else _BEGUN_TAG.finditer(hidden))]
    pieces: list[str] = []
    end = 0
    for tag in stray:
        pieces.append(content[end : tag.start()])
        end = tag.end()
    return "".join([*pieces, content[end:]]).strip().removeprefix("<![CDATA[").removesuffix("]]>").strip()


def _address(text: str) -> str:
    """The address alone, from `[label](https://…)` and the like; what holds none stays as it is."""
    found = _BARE_ADDRESS.search(text)
    return found.group().rstrip(".,;") if found else text.strip("<>[]() \n")[:2000]


def _items_of_json(text: str) -> list[ReadItem]:
    """The entries of a list of objects, whatever their fields are called; none where the text holds no such list."""
    for begins in itertools.islice(regex.finditer(r"[\[{]", text), _MOST_BRACKETS):
        try:
            found, _ = json.JSONDecoder().raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            continue
        lists = found.values() if isinstance(found, dict) else [found]
        if entries := next((listed for value in lists if (listed := rows(value))), []):
            return [_json_item(entry) for entry in entries]
    return []


def _json_item(entry: Mapping[str, Json]) -> ReadItem:
    address = next((value for value in entry.values() if isinstance(value, str) and _HOLDS_ADDRESS.match(value)), "")
    parts: list[str] = []
    for name, value in entry.items():
        if name.casefold() in ("dependencies", "requirements"):
            parts.append(f"Dependencies: {', '.join(map(str, value)) if isinstance(value, list) else value}")
        elif isinstance(value, str) and value != address:
            parts.append(f"```\n{value}\n```" if "code" in name.casefold() and "```" not in value else value)
    return ReadItem(_address(address) if address else "", "\n\n".join(parts).strip())


def _listed_items(text: str) -> list[ReadItem]:
    """The points of a list, each with an address of its own; none where they have not, or where there is but one."""
    points = [point.strip() for point in _POINT.split(_HEADED.sub(r"\1**\2**", _ANY_TAG.sub("", text)))[1:]]
    items = [ReadItem(_address(found.group()), _CREDIT.sub("", point).strip()) for point in points
             if (found := _BARE_ADDRESS.search(point))]  # fmt: skip
    return items if len(items) == len(points) > 1 else []


def _without_half_a_sentence(text: str) -> str:
    """Without the one that it breaks off in, which may say something else than the whole one; code stays."""
    text = text.rstrip()
    is_whole = not text or text[-1] in ".!?。！？)]" or len(_without_code(text).rstrip()) < len(text)
    sentences = [] if is_whole else split_sentences(text)
    return text[: sentences[-1].start].rstrip() if sentences else text


def _items_of_prose(text: str) -> list[ReadItem]:
    """Prose as one item; its first address is its source."""
    content = _ANY_TAG.sub("", text).strip()
    found = _BARE_ADDRESS.search(content)
    if not content or not (found or first_code(content) or len(content.split()) >= 5):
        return []
    return [ReadItem(found.group().rstrip(".,;") if found else "", content)]
