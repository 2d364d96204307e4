"""Ideas, implementations and reports (S004): each mode writes, its addresses are opened, its sentences are judged.

Two durable steps: `draft` pays for the model, `check` reads the pages and holds everything against them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from core.evidence.authority import is_retracted
from core.evidence.grounding import Grounder
from core.evidence.judge import Judging
from core.findings.composing import (
    SECTIONS,
    Composed,
    findings_of,
    judge_report,
    placed,
    sections_of,
    split_sections,
    texts_of,
    view_of,
)
from core.findings.judging import FARM_LEVEL, find_corroborators, judge_item, rank_items, settle_item
from core.findings.opening import Opened, ReadOutput, addresses_in, open_addresses, read_output
from core.findings.results import ALL_MODES, TITLES, Drafts, ModeDraft, ResearchMode, Telling
from core.findings.viewing import findings_json
from core.llm.ask_model import Heard, complete, remembered, retry_once
from core.llm.prices import estimate_tokens
from core.model.answer import JobResult, ModelUsage, ResearchAnswer
from core.model.errors import ModelError, WebSearchUnavailable
from core.model.job import JobStatus, Json, ResearchJob
from core.model.ports import WEB_SEARCH, ChatModel, ChatRequest, SearchedText, WebSearchModel
from core.model.source import SearchMetadata, SearchPlan, SearchQuery, Source, SourceCollection, all_searches
from core.pipeline.deps import Deps
from core.pipeline.work import Work
from core.presentation.render import cut, one_line
from core.prompts import load_prompt
from core.stages.drafting import Draft as AnswerDraft
from core.stages.gathering import Gathering, read_given
from core.stages.plan import MAX_QUERY_TEXT_CHARS, keywords, plan_by_rules
from core.stages.prompting import asked, fenced, format_sources, language_name, passage_tokens
from core.stages.rejudging import settle
from core.stages.search import collect_sources
from core.stages.synthesize import conclude, usage_metadata
from core.stages.writing import Writing
from core.text.chunking import select_passages
from core.text.saying import say, say_many
from core.text.urls import canonical_url


async def conduct(work: Work) -> JobResult:
    """All modes of the request at once, merged in the order asked for (D8). Raises `SetupError` without a model."""
    model = work.model_for("Finding ideas, implementations and reports")
    modes: tuple[ResearchMode, ...] = tuple(
        mode for name in work.job.request.modes for mode in ALL_MODES if mode == name
    )
    telling = Telling(work.progress, modes)

    async def draft() -> Drafts:
        with work.deps.stage("draft"):
            return await draft_all(work, model, modes, telling)

    drafts = await work.steps.run("draft", draft, Drafts)

    async def check() -> JobResult:
        with work.deps.stage("check"):
            return await _checked(work, modes, drafts)

    return await work.steps.run("check", check, JobResult)


async def _checked(work: Work, modes: Sequence[ResearchMode], drafts: Drafts) -> JobResult:
    started = asyncio.get_running_loop().time()
    await work.progress.status(JobStatus.FETCHING, message=say("Opening the pages that are cited"))
    outputs = {draft.mode: read_output(draft.text, draft.mode) for draft in drafts.drafts if draft.text}
    opened = await open_addresses(work, drafts, outputs)
    await work.progress.status(JobStatus.SYNTHESIZING, data={"sources": len(opened.sources)})
    grounder = Grounder(opened.sources, work.job.query)
    composed = await asyncio.to_thread(_judged, work, modes, outputs, opened, grounder)
    judging = Judging(
        work.deps.judge,
        lambda: work.deadline.remaining(reserve_s=3.0),
        call_timeout_s=work.deps.settings.synthesis.check_timeout_s,
    )
    answering = AnswerDraft(composed.sentences, Writing(grounder, work.progress, judging), judging=judging)
    try:
        settled = await settle(composed.sentences, grounder, judging)
    finally:
        await judging.aclose()
    for failure in judging.failures:
        work.deps.count_error("check", failure)
    composed.settle({entry.id: entry for entry in settled})
    await asyncio.to_thread(_ranked, composed, opened)
    answering.judged = placed(composed)
    for entry in answering.judged:
        if entry.claim and entry.shown:
            await work.progress.sentence(entry.claim, entry.shown)
    found = SourceCollection(opened.sources, drafts.metadata, max(drafts.considered, len(opened.sources)))
    answer = await asyncio.to_thread(conclude, work.job, found, work.deps, answering)
    notes = _notes(work, drafts, outputs, composed)
    usage = [*(spent for draft in drafts.drafts for spent in draft.usage), *answering.all_usage]
    seconds = asyncio.get_running_loop().time() - started
    answer = replace(
        _with_texts(answer, composed),
        limitations=(*notes, *judging.notes, *answer.limitations),
        metadata=usage_metadata(work.deps, usage, seconds=seconds),
    )
    findings = findings_of(composed, opened.sources, query=work.job.query, top_k=work.job.request.top_k)
    view = partial(findings_json, findings, view_of(composed), notes=notes, sections=sections_of(composed))
    return _result(work, drafts, opened, answer, view)


def _judged(
    work: Work,
    modes: Sequence[ResearchMode],
    outputs: dict[ResearchMode, ReadOutput],
    opened: Opened,
    grounder: Grounder,
) -> Composed:
    composed = Composed(modes, {mode: [] for mode in modes if mode != "freeform"})
    for mode in modes:
        output = outputs.get(mode)
        if output is None:
            continue
        if mode == "freeform":
            composed.report = judge_report(output.report, opened, grounder)
            continue
        for place, item in enumerate(output.items[: work.job.request.top_k]):
            composed.items[mode].append(judge_item(mode, place, item, opened, grounder))
    return composed


def _ranked(composed: Composed, opened: Opened) -> None:
    for mode, items in composed.items.items():
        for item in items:
            settle_item(item)
            if mode == "idea" and not item.why_unverified:
                item.corroborators = find_corroborators(item, opened.sources)
        composed.items[mode] = rank_items(items)


def _with_texts(answer: ResearchAnswer, composed: Composed) -> ResearchAnswer:
    """With lists, code and report, and a claim wherever it is said: modes take the same sentences from the same pages.

    An answer without citations keeps its own honest words first.
    """
    summary, detail = texts_of(composed)
    has_code = any(item.is_verbatim for items in composed.items.values() for item in items)
    if not answer.citations and not has_code:
        return replace(answer, detail="\n\n".join(filter(None, [answer.detail, detail])))
    strengths = {claim.text: claim.strength for claim in answer.claims}
    shown = [entry.claim for entry in composed.sentences if entry.claim and entry.shown is not None]
    claims = tuple(replace(claim, strength=strengths.get(claim.text)) for claim in shown)
    return replace(answer, summary=summary or detail, detail=detail if summary else "", claims=claims)


def _notes(work: Work, drafts: Drafts, outputs: dict[ResearchMode, ReadOutput], composed: Composed) -> tuple[str, ...]:
    """What is to be known of each mode's result, in plain sentences."""
    notes: list[str] = []
    top_k = work.job.request.top_k
    for draft in drafts.drafts:
        output = outputs.get(draft.mode)
        said = [say("Nothing could be written: {why}", why=draft.failure)] if draft.failure else [*draft.notes]
        said += output.notes if output else []
        if draft.mode == "freeform":
            said += composed.report.notes if composed.report else []
        else:
            said += _item_notes(draft.mode, composed, len(output.items) if output else 0, top_k)
        prefix = f"{say(TITLES[draft.mode])}: " if len(composed.modes) > 1 else ""
        notes += [f"{prefix}{note}" for note in said]
    return tuple(dict.fromkeys(notes))


def _item_notes(mode: ResearchMode, composed: Composed, given: int, top_k: int) -> list[str]:
    items = composed.items[mode]
    unverified = sum(bool(item.why_unverified) for item in items)
    notes: list[str] = []
    if given > top_k:
        notes.append(say("The model gave {given} results; the first {number} count.", given=given, number=top_k))
    if unverified:
        notes.append(
            say_many("{number} result could not be verified.", "{number} results could not be verified.", unverified)
        )
    if mode == "idea" and any("```" in item.content for item in items):
        notes.append(say("Code was left out: ideas carry none."))
    if any(item.level == FARM_LEVEL for item in items if not item.why_unverified):
        notes.append(say("A result comes from a content farm; it is ranked last."))
    return notes


def _result(
    work: Work, drafts: Drafts, opened: Opened, answer: ResearchAnswer, details: Callable[..., dict[str, Json]]
) -> JobResult:
    searches = [query for draft in drafts.drafts for query in draft.queries]
    by_model = [WEB_SEARCH] if any(draft.by_web_search for draft in drafts.drafts) else []
    providers = (*by_model, *drafts.metadata.providers_used)
    return JobResult(
        answer=answer,
        source_ids=tuple(source.id for source in opened.sources),
        sources_considered=max(drafts.considered, len(opened.sources)),
        queries=tuple(dict.fromkeys([*searches, *drafts.metadata.queries_executed])),
        providers=providers,
        question_type=work.job.intent.question_type,
        details=details(searched=", ".join(providers)),
    )


# The first step of the three modes: for each a text by the model, from its own web search or from ours.
#
# Modes run at once. At depth `deep` a model's own search has a second round, which is told what the first found. What
# is paid for is kept by key, so that a step that runs again does not pay twice.

log = logging.getLogger(__name__)

BY_WEB_SEARCH = "Use the web_search tool: search several times with different words, and open what you find."
BY_SOURCES = (
    'The search has been done for you: what was found stands between `<source id="N">` tags, each with its address. '
    "Use these sources and no others."
)
_DEPTHS = {
    "light": "light (one round of search will do)",
    "deep": "deep (several rounds of search; read more pages, and follow what they refer to)",
}
LEAST_ROUND_S = 30.0  # a model's search takes one to three minutes; in less than half of that it brings nothing
LEAST_ARRANGING_S = 10.0
NO_TIME = "No time was left for a second round of search."
MAX_KNOWN_CHARS = 24_000  # of the first round's text: a whole report with its analysis
MAX_MISSING = 12

BROKE_OFF = "The model's answer broke off; what had come is shown."
CUT_OFF = "The model's answer was cut off at its length limit; what had come is shown."
_FLAVOURS: dict[ResearchMode, tuple[str, str]] = {
    "idea": ("approaches overview", "best practices comparison"),
    "implementation": ("example code", "official documentation tutorial"),
    "freeform": ("survey paper", "comparison trade-offs"),
}  # of each mode's own search, and of its next round at depth `deep`


def sources_request(
    job: ResearchJob, mode: ResearchMode, sources: Sequence[Source], deps: Deps, *, timeout_s: float
) -> ChatRequest:
    """For a model that reads what our own search found, cut to the prompt's budget by relevance."""
    addresses = "\n".join(f"Source {source.number}: {fenced(source.url)}" for source in sources)
    frame = estimate_tokens(_system(job, mode, deps, BY_SOURCES)) + estimate_tokens(asked(job) + addresses)
    budget = deps.settings.findings.max_prompt_tokens - frame - 60 * len(sources)  # tokens of a block's own tags
    sources = [source for source in sources if not is_retracted(source)]
    passages = select_passages(sources, job.query, max_tokens=max(budget, 500), count_tokens=passage_tokens)
    user = f"{format_sources(sources, passages)}\n\nAddresses of the sources:\n{addresses}\n\n{asked(job)}"
    return _request(job, mode, deps, searching=BY_SOURCES, user=user, timeout_s=timeout_s)


def _request(
    job: ResearchJob, mode: ResearchMode, deps: Deps, *, searching: str, user: str, timeout_s: float
) -> ChatRequest:
    settings = deps.settings.findings
    return ChatRequest(
        purpose=mode,
        system=_system(job, mode, deps, searching),
        user=user,
        schema_name="",
        schema={},
        max_tokens=settings.max_answer_tokens,
        timeout_s=min(settings.model_timeout_s, timeout_s),
    )


def _system(job: ResearchJob, mode: ResearchMode, deps: Deps, searching: str) -> str:
    top_k = str(job.request.top_k)
    prompts = load_prompt("idea"), load_prompt("implementation"), load_prompt("freeform")
    instructions = prompts[ALL_MODES.index(mode)]
    return load_prompt("research_envelope").substitute(
        query=fenced(" ".join(job.query.split())),
        search_instructions=searching,
        mode=mode,
        top_k=top_k,
        depth=_DEPTHS[job.request.depth],
        today=deps.clock().date().isoformat(),
        language=language_name(job.intent.language),
        mode_instructions=instructions.substitute(top_k=top_k),
    )


def search_again(first: SearchedText, mode: ResearchMode, top_k: int) -> str:
    """What the second round is told beside the question."""
    return load_prompt("search_again").substitute(
        known=fenced(first.text[:MAX_KNOWN_CHARS]),
        missing="\n".join(f"- {fenced(line)}" for line in missing_in(first, mode, top_k)),
    )


def missing_in(first: SearchedText, mode: ResearchMode, top_k: int) -> list[str]:
    """What a text lacks of what its mode demands, by what can be told before any page is opened."""
    output = read_output(first.text, mode)
    missing: list[str] = []
    if mode == "freeform":
        bodies = dict(split_sections(output.report))
        missing += [f"the section {title}" for title in SECTIONS if not bodies.get(title)]
        cited = addresses_in(output.report)
    else:
        lacking = top_k - len(output.items)
        missing += [f"{lacking} more of the {top_k} results"] if lacking > 0 else []
        missing += [
            f"where this is said: {cut(one_line(item.content), 120)}" for item in output.items if not item.source
        ]
        cited = [item.source for item in output.items if item.source]
    listed = {canonical_url(page.url) for page in first.pages}
    missing += [
        f"a page that your search did find, instead of {url}" for url in cited if canonical_url(url) not in listed
    ]
    standing = "a second, independent source for what only one says, and sources of higher standing"
    return [*missing[: MAX_MISSING - 1], standing]


def after_rounds(mode: ResearchMode, first: SearchedText, second: SearchedText) -> ModeDraft:
    """The second text, unless the first holds more; what was found and paid for in both."""
    text = second.text if _holds(second.text, mode) >= _holds(first.text, mode) else first.text
    pages = {page.url: page for page in (*second.pages, *first.pages)}
    return ModeDraft(
        mode,
        text,
        tuple(pages.values()),
        tuple(dict.fromkeys([*first.queries, *second.queries])),
        (first.usage, second.usage),
        by_web_search=True,
    )


def _holds(text: str, mode: ResearchMode) -> int:
    """Its results, or the report's sections."""
    output = read_output(text, mode)
    if mode == "freeform":
        return sum(bool(body) for title, body in split_sections(output.report) if title)
    return sum(bool(item.source) for item in output.items)


async def draft_all(work: Work, model: ChatModel, modes: Sequence[ResearchMode], telling: Telling) -> Drafts:
    """Raises the `ModelError` of the first mode when no mode got a text."""
    searching = OwnSearch(work, modes)
    drafts, errors = [], []
    outcomes = await asyncio.gather(
        *(_draft_in(work, model, mode, searching, telling) for mode in modes), return_exceptions=True
    )
    for mode, outcome in zip(modes, outcomes, strict=True):
        if isinstance(outcome, ModelError):
            work.deps.count_error("synthesize", outcome)
            errors.append(outcome)
            drafts.append(ModeDraft(mode, failure=outcome.user_message))
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            drafts.append(outcome)
    if len(errors) == len(modes):
        raise errors[0]
    return Drafts(tuple(drafts), searching.metadata, searching.considered)


async def _draft_in(
    work: Work, model: ChatModel, mode: ResearchMode, searching: OwnSearch, telling: Telling
) -> ModeDraft:
    if work.deps.web_model is not None:
        await telling.doing(mode, say("searching the web"), JobStatus.SEARCHING)
        try:
            searched = await _search_and_write(work, work.deps.web_model, mode)
        except WebSearchUnavailable:
            searched = None
        if searched and (searched.pages or searched.queries):
            return await _arranged(work, model, await _deepened(work, work.deps.web_model, mode, searched, telling))
    await telling.doing(mode, say("searching"), JobStatus.SEARCHING)
    sources = await searching.sources()
    said = say_many("writing from {number} source", "writing from {number} sources", len(sources))
    await telling.doing(mode, said, JobStatus.SYNTHESIZING)
    if not sources:
        return ModeDraft(mode)
    left_s = _left_s(work)
    request = sources_request(work.job, mode, sources, work.deps, timeout_s=left_s)
    written = await _arranged(work, model, await _write(mode, model, request, left_s=left_s))
    await telling.doing(mode, say("written"), JobStatus.SYNTHESIZING)
    return written


async def _arranged(work: Work, model: ChatModel, draft: ModeDraft) -> ModeDraft:
    """A report in which no two of S004's sections are found, asked for once more under their headings.

    The first text stays where the second lacks an address of it, holds no more sections, or does not come.
    """
    report = read_output(draft.text, "freeform").report if draft.mode == "freeform" else ""
    left_s = _left_s(work)
    if not report or _holds(draft.text, "freeform") > 1 or left_s < LEAST_ARRANGING_S:
        return draft
    request = replace(
        _request(work.job, "freeform", work.deps, searching=BY_SOURCES, user="", timeout_s=left_s),
        system=load_prompt("arrange_report").substitute(headings=", ".join(SECTIONS)),
        user=f"<report>\n{fenced(report)}\n</report>",
    )
    try:
        again = await _write("freeform", model, request, left_s=left_s)
    except ModelError as exc:
        work.deps.count_error("synthesize", exc)
        return draft
    usage = (*draft.usage, *again.usage)
    keeps_all = set(addresses_in(report)) <= set(addresses_in(read_output(again.text, "freeform").report))
    is_better = keeps_all and _holds(again.text, "freeform") > max(_holds(draft.text, "freeform"), 1)
    return replace(again if is_better else draft, usage=usage)


def _left_s(work: Work) -> float:
    return work.deadline.remaining(reserve_s=work.deps.settings.findings.check_reserve_s)


async def _deepened(
    work: Work, model: WebSearchModel, mode: ResearchMode, first: SearchedText, telling: Telling
) -> ModeDraft:
    """At depth `deep` after one more round, as our own search has; it costs nothing of the first when it fails."""
    alone = ModeDraft(mode, first.text, first.pages, first.queries, (first.usage,), by_web_search=True)
    if work.job.request.depth != "deep":
        return alone
    if _left_s(work) < LEAST_ROUND_S:
        return replace(alone, notes=(say(NO_TIME),))
    await telling.doing(mode, say("searching the web again, for what is missing"), JobStatus.SEARCHING)
    again = search_again(first, mode, work.job.request.top_k)
    try:
        second = await _search_and_write(work, model, mode, again=again)
    except ModelError as exc:
        work.deps.count_error("search", exc)
        return replace(alone, notes=(f"The second round of search failed: {exc.user_message}",))
    return after_rounds(mode, first, second)


async def _search_and_write(work: Work, model: WebSearchModel, mode: ResearchMode, *, again: str = "") -> SearchedText:
    """By a model that searches by itself; `again` is what its second round is told."""
    user = "\n\n".join(filter(None, [asked(work.job), again]))
    request = _request(work.job, mode, work.deps, searching=BY_WEB_SEARCH, user=user, timeout_s=_left_s(work))
    depth = work.job.request.depth
    return await remembered(
        work.deps.memo,
        work.job.id,
        f"web_search:{mode}:{2 if again else 1}",
        SearchedText,
        lambda: retry_once(lambda: model.search_and_write(request, depth=depth), remaining_s=lambda: _left_s(work)),
    )


async def _write(mode: ResearchMode, model: ChatModel, request: ChatRequest, *, left_s: float) -> ModeDraft:
    """The text with its usage; of an answer that breaks off twice, what had come. Raises `ModelError` for nothing."""
    heard = Heard()
    spent: list[ModelUsage] = []

    async def once() -> None:
        nonlocal heard
        heard = Heard()
        try:
            await complete(model, request, heard=heard)
        finally:
            spent.append(heard.cost(request))

    ends_at = asyncio.get_running_loop().time() + left_s
    notes: tuple[str, ...] = ()
    try:
        await retry_once(once, remaining_s=lambda: ends_at - asyncio.get_running_loop().time())
    except ModelError as exc:
        if not heard.text.strip():
            raise
        log.warning("going on with a broken-off answer", extra={"error": str(exc)})
        notes = (say(BROKE_OFF),)
    notes = (*notes, *heard.notes, *([say(CUT_OFF)] if heard.is_cut and not notes else []))
    return ModeDraft(mode, heard.text, usage=tuple(spent), notes=notes)


class OwnSearch:
    """Our own search, once for all modes of a job and only where one needs it: whole pages, ranked."""

    def __init__(self, work: Work, modes: Sequence[ResearchMode]) -> None:
        self.metadata = SearchMetadata()
        self.considered = 0
        self._work = work
        self._modes = modes
        self._lock = asyncio.Lock()
        self._found: list[Source] | None = None

    async def sources(self) -> list[Source]:
        """Raises `SearchFailed`."""
        async with self._lock:
            if self._found is None:
                self._found = await self._search()
            return self._found

    async def _search(self) -> list[Source]:
        work = self._work
        gathering = self._gathering()
        try:
            within_s = _left_s(work) / 2
            given = await read_given(work.job, gathering, work.deps, within_s=within_s)
            found: list[Source] = [*given.earlier]
            rounds = 2 if work.job.request.depth == "deep" else 1
            for number in range(rounds):
                collected = await collect_sources(
                    gathering,
                    self._plan(number, found),
                    within_s=within_s / rounds,
                    on_source=work.progress.source,
                    given=given.sources,
                    earlier=found,
                    notes=given.notes,
                )
                found = [*collected.sources]
                self.metadata = all_searches([self.metadata, collected.search_metadata])
                self.considered += collected.considered
            await work.deps.sources.put(work.job, found)
            return found
        finally:
            await gathering.aclose()

    def _gathering(self) -> Gathering:
        """At depth `deep` more pages are read and kept."""
        settings = self._work.deps.settings
        if self._work.job.request.depth != "deep":
            return Gathering(self._work.job, self._work.deps)
        findings = settings.findings
        search = replace(settings.search, pages_to_fetch=findings.deep_pages, max_sources=findings.deep_sources)
        return Gathering(self._work.job, replace(self._work.deps, settings=replace(settings, search=search)))

    def _plan(self, number: int, found: Sequence[Source]) -> SearchPlan:
        """The question and a search of each mode's own; the next round follows the best titles found."""
        plan = plan_by_rules(self._work.job, self._work.deps)
        subject = keywords(self._work.job.query)
        texts = [f"{subject} {_FLAVOURS[mode][number]}" for mode in self._modes]
        if number:
            texts += [source.title for source in found[:2]]
        queries = [SearchQuery(text[:MAX_QUERY_TEXT_CHARS], plan.search.queries[0].filters) for text in texts]
        first = () if number else plan.search.queries
        is_deep = self._work.job.request.depth == "deep"
        most = self._work.deps.settings.findings.deep_sources if is_deep else plan.search.max_sources
        return replace(plan.search, queries=tuple(dict.fromkeys([*first, *queries])), max_sources=most)
