"""`gorkd cache`: what may be given again, and letting go of it. Jobs and their answers stay; `forget` removes those."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from enum import StrEnum

import typer

from adapters.cli.operating import Kept, Operating
from adapters.cli.running import Exit, print_json, say
from core.model.errors import InvalidQuery, JobNotFound
from core.model.events import Json
from core.model.ports import KeptAnswer
from core.presentation import wording
from core.presentation.render import cut, iso_utc, one_line, printable

QUESTION_CHARS = 70  # of a question in the list


class CacheAction(StrEnum):
    LIST = "list"
    SHOW = "show"
    FORGET = "forget"
    PURGE = "purge"


async def run_cache(
    operating: Operating, action: CacheAction, job_id: str, *, workspace: str, is_sure: bool, as_json: bool
) -> Exit:
    """Raises `InvalidQuery` where a job is missing, `GorkdError`."""
    if action in (CacheAction.SHOW, CacheAction.FORGET) and not job_id:
        raise InvalidQuery(f"Say which: gorkd cache {action} JOB.", rule="what")
    if action is CacheAction.PURGE and not is_sure and not as_json and sys.stdin.isatty():
        typer.confirm(f"Let go of everything cached{f' of {workspace}' if workspace else ''}?", abort=True, err=True)
    async with operating.open_kept() as kept:
        match action:
            case CacheAction.LIST:
                return await _list(kept, workspace, as_json=as_json)
            case CacheAction.SHOW:
                return await _show(kept, job_id, as_json=as_json)
            case CacheAction.FORGET:
                return _told(await kept.cache.drop([job_id]), 0, as_json=as_json)
            case CacheAction.PURGE:
                return await _purge(kept, workspace, as_json=as_json)


async def _list(kept: Kept, workspace: str, *, as_json: bool) -> Exit:
    entries = await kept.cache.kept(tenant=workspace)
    questions = [await _question(kept, entry.job_id) for entry in entries]
    if as_json:
        rows: list[Json] = [_entry_json(*row) for row in zip(entries, questions, strict=True)]
        print_json({"answers": rows})
        return Exit.ANSWERED
    now = datetime.now(UTC)
    for entry, question in zip(entries, questions, strict=True):
        age = wording.age((now - entry.created_at).total_seconds())
        place = one_line(f"{entry.scope.tenant} {entry.scope.visibility}")
        sys.stdout.write(f"{entry.job_id}  {place}  {age}  {cut(one_line(question), QUESTION_CHARS)}\n")
    say(f"{wording.counted(len(entries), 'answer')} may be given again")
    return Exit.ANSWERED


async def _show(kept: Kept, job_id: str, *, as_json: bool) -> Exit:
    entry = next((entry for entry in await kept.cache.kept() if entry.job_id == job_id), None)
    if entry is None:
        raise JobNotFound(job_id)
    question, result = await _question(kept, job_id), await kept.jobs.result(job_id)
    summary = result.answer.summary if result and result.answer else ""
    if as_json:
        print_json({**_entry_json(entry, question), "summary": summary})
        return Exit.ANSWERED
    lines = [
        question,
        "",
        summary,
        "",
        f"Valid in   {entry.scope.tenant}, {entry.scope.visibility}",
        f"Answered   {iso_utc(entry.created_at)}",
        f"Given till {iso_utc(entry.expires_at)}",
    ]
    sys.stdout.write(printable("\n".join(lines)) + "\n")
    return Exit.ANSWERED


async def _purge(kept: Kept, workspace: str, *, as_json: bool) -> Exit:
    """Of one workspace its answers; without one also the pages and search results, which are nobody's."""
    entries = await kept.cache.kept(tenant=workspace)
    gone = await kept.cache.drop([entry.job_id for entry in entries])
    return _told(gone, 0 if workspace else await kept.reuse.clear(), as_json=as_json)


def _told(answers: int, pages: int, *, as_json: bool) -> Exit:
    if as_json:
        print_json({"answers": answers, "reused": pages})
    else:
        found = f" and {wording.counted(pages, 'page')} or search results" if pages else ""
        sys.stdout.write(f"Let go of {wording.counted(answers, 'answer')}{found}.\n")
    return Exit.ANSWERED


async def _question(kept: Kept, job_id: str) -> str:
    try:
        return (await kept.jobs.get(job_id)).query
    except JobNotFound:
        return "(forgotten)"


def _entry_json(entry: KeptAnswer, question: str) -> dict[str, Json]:
    return {
        "job_id": entry.job_id,
        "tenant": entry.scope.tenant,
        "visibility": entry.scope.visibility,
        "question": question,
        "created_at": iso_utc(entry.created_at),
        "expires_at": iso_utc(entry.expires_at),
    }
