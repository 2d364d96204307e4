"""What a mode asks of the model: the envelope with the mode's instructions, and the sources where we searched."""

from __future__ import annotations

from collections.abc import Sequence
from string import Template

from core.deps import Deps
from core.findings.results import ResearchMode
from core.job import ResearchJob
from core.llm import estimate_tokens
from core.passages import select_passages
from core.ports import ChatRequest
from core.prompts import load_prompt
from core.source import Source
from core.stages.prompting import asked, fenced, format_sources, language_name, passage_tokens

BY_WEB_SEARCH = "Use the web_search tool: search several times with different words, and open what you find."
BY_SOURCES = (
    'The search has been done for you: what was found stands between `<source id="N">` tags, each with its address. '
    "Use these sources and no others."
)
_DEPTHS = {
    "light": "light (one round of search will do)",
    "deep": "deep (several rounds of search; read more pages, and follow what they refer to)",
}


def web_search_request(
    job: ResearchJob, mode: ResearchMode, deps: Deps, *, again: str = "", timeout_s: float
) -> ChatRequest:
    """For a model that searches by itself; `again` is what its second round is told."""
    user = "\n\n".join(filter(None, [asked(job), again]))
    return _request(job, mode, deps, searching=BY_WEB_SEARCH, user=user, timeout_s=timeout_s)


def sources_request(
    job: ResearchJob, mode: ResearchMode, sources: Sequence[Source], deps: Deps, *, timeout_s: float
) -> ChatRequest:
    """For a model that reads what our own search found, cut to the prompt's budget by relevance."""
    addresses = "\n".join(f"Source {source.number}: {fenced(source.url)}" for source in sources)
    frame = estimate_tokens(_system(job, mode, deps, BY_SOURCES)) + estimate_tokens(asked(job) + addresses)
    budget = deps.settings.findings.max_prompt_tokens - frame - 60 * len(sources)  # tokens of a block's own tags
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
    return load_prompt("research_envelope").substitute(
        query=fenced(" ".join(job.query.split())),
        search_instructions=searching,
        mode=mode,
        top_k=top_k,
        depth=_DEPTHS[job.request.depth],
        today=deps.clock().date().isoformat(),
        language=language_name(job.intent.language),
        mode_instructions=_instructions(mode).substitute(top_k=top_k),
    )


def _instructions(mode: ResearchMode) -> Template:
    if mode == "idea":
        return load_prompt("idea")
    return load_prompt("implementation") if mode == "implementation" else load_prompt("freeform")
