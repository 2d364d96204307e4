"""The prompt of the answer call: the sources numbered and fenced, cut to the budget by relevance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import regex

from core.deps import Deps
from core.events import Json
from core.job import ResearchJob
from core.llm import estimate_tokens
from core.passages import Passage, select_passages
from core.ports import ChatRequest
from core.prompts import load_prompt
from core.source import Source

_ANSWER_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["summary", "detail", "citations"],
    "properties": {
        "summary": {"type": "string"},
        "detail": {"type": "string"},
        "citations": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["claim", "source_id", "quote"],
                "properties": {
                    "claim": {"type": "string"},
                    "source_id": {"type": "string"},
                    "quote": {"type": "string"},
                },
            },
        },
    },
}
_FENCE = regex.compile(r"<(?=\s*/?\s*(?:source|question|context)\b)", regex.IGNORECASE)
_LANGUAGE_NAMES = {
    "ar": "Arabic", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fa": "Persian", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "zh": "Chinese",
}  # fmt: skip


def answer_request(job: ResearchJob, sources: Sequence[Source], deps: Deps, *, timeout_s: float) -> ChatRequest:
    """The one call that writes the answer; prompt and sources together stay within the token budget."""
    settings = deps.settings.synthesis
    language = job.intent.language
    system = load_prompt("answer_question").substitute(
        today=deps.clock().date().isoformat(),
        language=_LANGUAGE_NAMES.get(language, language),
        max_summary_words=str(settings.max_summary_words),
    )
    question = f"<question>\n{fenced(job.query)}\n</question>"
    if job.request.context:
        question += f"\n<context>\n{fenced(job.request.context[:2000])}\n</context>"
    budget = settings.max_prompt_tokens - estimate_tokens(system) - estimate_tokens(question) - 40 * len(sources)
    return ChatRequest(
        purpose="answer",
        system=system,
        user=f"{format_sources(sources, job.query, max_tokens=budget)}\n\n{question}",
        schema_name="answer",
        schema=_ANSWER_SCHEMA,
        max_tokens=settings.max_answer_tokens,
        timeout_s=min(settings.model_timeout_s, timeout_s),
    )


def format_sources(sources: Sequence[Source], question: str, *, max_tokens: int) -> str:
    """Every source that fits, numbered, with the passages that fit the question best; left-out text is marked `[…]`."""
    chosen = select_passages(sources, question, max_tokens=max_tokens, count_tokens=estimate_tokens)
    return "\n\n".join(_block(source, chosen[source.id]) for source in sources if source.id in chosen)


def fenced(text: str) -> str:
    """`text` that cannot close or open one of our tags."""
    return _FENCE.sub("‹", text)


def _block(source: Source, passages: Sequence[Passage]) -> str:
    published = source.metadata.published_at
    about = [
        f'id="{source.number}"',
        f'title="{_attribute(source.title)}"',
        f'domain="{_attribute(source.metadata.domain)}"',
    ]
    if published:
        about.append(f'date="{published.date().isoformat()}"')
    parts: list[str] = []
    end = 0
    for passage in passages:
        if passage.start > end and source.content[end : passage.start].strip():
            parts.append("[…]")
        parts.append(passage.text.strip())
        end = passage.end
    return f"<source {' '.join(about)}>\n{fenced(chr(10).join(parts))}\n</source>"


def _attribute(text: str) -> str:
    return " ".join(fenced(text).replace('"', "'").split())[:160]
