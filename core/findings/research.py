"""Ideas, implementations and reports (S004): each mode writes, its addresses are opened, its sentences are judged.

Two durable steps: `draft` pays for the model, `check` reads the pages and holds everything against them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from core.evidence.grounding import Grounder
from core.evidence.judge import Judging
from core.findings.composing import Composed, findings_of, judge_report, placed, sections_of, texts_of, view_of
from core.findings.drafting import draft_all
from core.findings.judging import FARM_LEVEL, find_corroborators, judge_item, level_name, rank_items, settle_item
from core.findings.opening import Opened, ReadOutput, open_addresses, read_output
from core.findings.results import ALL_MODES, TITLES, Drafts, ResearchMode, Telling
from core.findings.viewing import findings_json
from core.model.answer import JobResult, ResearchAnswer
from core.model.job import JobStatus, Json
from core.model.ports import WEB_SEARCH, ChatModel
from core.model.source import SourceCollection
from core.pipeline.work import Work
from core.stages.drafting import Draft as AnswerDraft
from core.stages.synthesize import conclude, usage_metadata
from core.stages.writing import Writing, settle
from core.text.saying import say, say_many


async def conduct(work: Work) -> JobResult:
    """All modes of the request at once, merged in the order asked for (D8). Raises `SetupError` without a model."""
    model = work.model_for("Finding ideas, implementations and reports")
    modes: tuple[ResearchMode, ...] = tuple(
        mode for name in work.job.request.modes for mode in ALL_MODES if mode == name
    )
    telling = Telling(work.progress, modes)
    drafts = await work.steps.run("draft", lambda: _draft(work, model, modes, telling), Drafts)
    return await work.steps.run("check", lambda: _check(work, modes, drafts), JobResult)


async def _draft(work: Work, model: ChatModel, modes: Sequence[ResearchMode], telling: Telling) -> Drafts:
    with work.deps.stage("draft"):
        return await draft_all(work, model, modes, telling)


async def _check(work: Work, modes: Sequence[ResearchMode], drafts: Drafts) -> JobResult:
    with work.deps.stage("check"):
        return await _checked(work, modes, drafts)


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
    notes = _notes(work, modes, drafts, outputs, composed)
    usage = [*(spent for draft in drafts.drafts for spent in draft.usage), *answering.all_usage]
    seconds = asyncio.get_running_loop().time() - started
    answer = replace(
        _with_texts(answer, composed, modes),
        limitations=(*notes, *answer.limitations),
        metadata=usage_metadata(work.deps, usage, seconds=seconds),
    )
    findings = findings_of(composed, modes, opened.sources, query=work.job.query, top_k=work.job.request.top_k)
    view = partial(findings_json, findings, view_of(composed), notes=notes, sections=sections_of(composed))
    return _result(work, drafts, opened, answer, view)


def _judged(
    work: Work,
    modes: Sequence[ResearchMode],
    outputs: dict[ResearchMode, ReadOutput],
    opened: Opened,
    grounder: Grounder,
) -> Composed:
    composed = Composed({mode: [] for mode in modes if mode != "freeform"})
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


def _with_texts(answer: ResearchAnswer, composed: Composed, modes: Sequence[ResearchMode]) -> ResearchAnswer:
    """With lists, code and report. An answer without citations keeps its own honest words first."""
    summary, detail = texts_of(composed, modes)
    has_code = any(item.is_verbatim for items in composed.items.values() for item in items)
    if not answer.citations and not has_code:
        return replace(answer, detail="\n\n".join(filter(None, [answer.detail, detail])))
    return replace(answer, summary=summary or detail, detail=detail if summary else "")


def _notes(
    work: Work,
    modes: Sequence[ResearchMode],
    drafts: Drafts,
    outputs: dict[ResearchMode, ReadOutput],
    composed: Composed,
) -> tuple[str, ...]:
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
        prefix = f"{say(TITLES[draft.mode])}: " if len(modes) > 1 else ""
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
    if any(item.standing == level_name(FARM_LEVEL, mode) for item in items if not item.why_unverified):
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
