"""The prompt of the answer call: the answer's language, and the sources, numbered, fenced and cut to the budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import regex

from core.evidence.authority import is_retracted
from core.evidence.grounding import Grounder
from core.llm.prices import estimate_tokens
from core.model.job import Json, ResearchJob
from core.model.ports import ChatRequest
from core.model.source import Source
from core.pipeline.conversation import Turn
from core.pipeline.deps import Deps
from core.prompts import load_prompt
from core.text.chunking import Passage, select_passages
from core.text.injection import instructions_in, mask

ANSWER_SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["summary", "detail", "citations", "follow_ups"],
    "properties": {
        "summary": {"type": "string"},
        "detail": {"type": "string"},
        "citations": {
            "type": "array",
            "maxItems": 12,  # the prompt asks for one; without a bound small models go on for ever
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
        "follow_ups": {  # last, so that nothing waits for it
            "type": "array",
            "description": "questions to ask next; empty unless they are asked for",
            "maxItems": 3,
            "items": {"type": "string"},
        },
    },
}
# Also what only looks like a tag to a model: full-width brackets, blanks and invisible characters within.
_FENCE = regex.compile(
    r"[<＜﹤〈⟨](?=[\s\p{Cf}\p{Cc}/\\⁄∕／]*(?:source|question|context|conversation|feedback|summary|scope|checklist|facts|wishes|queries|earlier|query|item|report|first_round)\b)",
    regex.IGNORECASE,
)
WRITING_TEMPERATURE = 0.2  # 0…2; servers' own, .7 to 1, lets small models write noise
MAX_CONTEXT_TOKENS = 1000  # of what was said before; with the longest question, sources keep a third of the prompt
MAX_FEEDBACK_TOKENS = 300
MAX_TOLD_TOKENS = 300  # of the summary, told to whoever writes the detail
MAX_CONVERSATION_TOKENS = 1200  # five questions with the beginnings of their answers
_GAP_TOKENS = 3  # a `[…]` on its own line
_SAFETY_TOKENS = 50  # blank lines and the joints between pieces, whose tokens do not add up exactly
_LANGUAGE_NAMES = {
    "ar": "Arabic", "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "fa": "Persian", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish", "uk": "Ukrainian",
    "zh": "Chinese",
}  # fmt: skip


@dataclass(frozen=True)
class Script:
    """What the writer gets to read of each source, the call that makes it write (given its seconds), who judges it."""

    passages: Mapping[str, Sequence[Passage]]
    request: Callable[[float], ChatRequest]
    grounder: Callable[[Sequence[Source], str, Mapping[str, Sequence[Passage]]], Grounder] = Grounder
    has_opening: bool = False  # of two calls the summary's writes how the detail begins
    is_sure: bool = False  # that the sources answer: no call waits for the other's first words


def answer_script(job: ResearchJob, sources: Sequence[Source], deps: Deps) -> Script:
    """An answer to the question from what fits it best."""
    passages = choose_passages(job, sources, deps)
    return Script(passages, lambda seconds: answer_request(job, sources, passages, deps, timeout_s=seconds))


def early_script(job: ResearchJob, early: Sequence[Source], deps: Deps) -> Script:
    """The summary and how the detail begins, from sources that were read while others are still being looked for."""
    passages = choose_passages(job, early, deps, max_tokens=deps.settings.synthesis.max_shared_tokens)
    return Script(
        passages, lambda seconds: answer_request(job, early, passages, deps, timeout_s=seconds), has_opening=True
    )


def full_script(job: ResearchJob, early: Script, sources: Sequence[Source], deps: Deps) -> Script:
    """The rest of the detail, from all `sources`: its prompt begins with the very bytes of the `early` one."""
    known = [source for source in sources if source.id in early.passages]
    late = [source for source in sources if source.id not in early.passages]
    spent = sum(passage_tokens(passage.text) for own in early.passages.values() for passage in own)
    most = deps.settings.synthesis.max_detail_prompt_tokens - spent - sum(map(_opening_tokens, known)) - MAX_TOLD_TOKENS
    passages = {**early.passages, **choose_passages(job, late, deps, max_tokens=most)}
    return Script(
        passages,
        lambda seconds: answer_request(job, [*known, *late], passages, deps, timeout_s=seconds),
        has_opening=True,
    )


def choose_passages(
    job: ResearchJob, sources: Sequence[Source], deps: Deps, *, max_tokens: int = 0
) -> dict[str, list[Passage]]:
    """What the model reads of each source: what fits the question best, in a prompt of `max_tokens` (0: as set)."""
    sources = [source for source in sources if not is_retracted(source)]  # it supports nothing
    most = max_tokens or deps.settings.synthesis.max_prompt_tokens
    frame = estimate_tokens(_system(job, deps)) + estimate_tokens(asked(job)) + _SAFETY_TOKENS
    budget = most - frame - sum(map(_opening_tokens, sources))
    return select_passages(sources, job.query, max_tokens=budget, count_tokens=passage_tokens)


def as_summary(request: ChatRequest, *, has_opening: bool) -> ChatRequest:
    """The call of a whole answer as one that writes the summary, and its detail's beginning where it `has_opening`.

    Up to the end of its text it is the same.
    """
    task = (load_prompt("write_beginning") if has_opening else load_prompt("write_summary")).template
    return replace(request, user=f"{request.user}\n\n{task.strip()}")


def as_detail(request: ChatRequest, told: str, *, has_opening: bool) -> ChatRequest:
    """The same for the detail, or what goes on behind its beginning; `told` is what the summary says so far."""
    said = _cut_to_tokens(fenced(told), MAX_TOLD_TOKENS)
    task = (load_prompt("write_rest") if has_opening else load_prompt("write_detail")).substitute(summary=said)
    return replace(request, user=f"{request.user}\n\n{task.strip()}")


def answer_request(
    job: ResearchJob,
    sources: Sequence[Source],
    passages: Mapping[str, Sequence[Passage]],
    deps: Deps,
    *,
    timeout_s: float,
) -> ChatRequest:
    """The one call that writes the answer from `choose_passages`, within the token budget."""
    settings = deps.settings.synthesis
    return ChatRequest(
        purpose="answer",
        system=_system(job, deps),
        user=f"{format_sources(sources, passages)}\n\n{asked(job)}",
        schema_name="answer",
        schema=ANSWER_SCHEMA,
        max_tokens=settings.max_answer_tokens,
        timeout_s=min(settings.model_timeout_s, timeout_s),
        temperature=WRITING_TEMPERATURE,
    )


def _system(job: ResearchJob, deps: Deps) -> str:
    return load_prompt("answer_question").substitute(
        today=deps.clock().date().isoformat(),
        language=language_name(job.intent.language),
        max_summary_words=str(deps.settings.synthesis.max_summary_words),
    )


def _opening_tokens(source: Source) -> int:
    return estimate_tokens(_opening(source)) + _GAP_TOKENS


def language_name(code: str) -> str:
    """`German` for `de`; the code itself where we know no name."""
    return _LANGUAGE_NAMES.get(code, code)


def asked(job: ResearchJob) -> str:
    """The question, what is to be better than in its last answer, and what was said before it, each fenced."""
    parts = [f"<question>\n{fenced(job.query)}\n</question>"]
    feedback = _cut_to_tokens(fenced(job.request.feedback), MAX_FEEDBACK_TOKENS)
    if feedback:
        parts.append(f"<feedback>\n{feedback}\n</feedback>")
    context = _cut_to_tokens(fenced(job.request.context), MAX_CONTEXT_TOKENS)
    if context:
        parts.append(f"<context>\n{context}\n</context>")
    return "\n".join(parts)


def said_before(turns: Sequence[Turn]) -> str:
    """The last questions and answers of a thread, oldest first, fenced; the newest stay where not all fit."""
    pieces: list[str] = []
    room = MAX_CONVERSATION_TOKENS
    for turn in reversed(turns):
        piece = f"Question: {fenced(turn.question)}\nAnswer: {fenced(turn.answer) or '(none)'}"
        room -= estimate_tokens(piece)
        if room < 0 and pieces:
            break
        pieces.insert(0, piece)
    return "<conversation>\n" + _cut_to_tokens("\n\n".join(pieces), MAX_CONVERSATION_TOKENS) + "\n</conversation>"


def format_earlier(questions: Sequence[str]) -> str:
    """Earlier questions, numbered from 1 and fenced."""
    blocks = [f'<earlier id="{number}">\n{fenced(text)}\n</earlier>' for number, text in enumerate(questions, start=1)]
    return "\n".join(blocks)


def format_sources(sources: Sequence[Source], passages: Mapping[str, Sequence[Passage]]) -> str:
    """Every source that has passages, numbered; left-out text is marked `[…]`."""
    return "\n\n".join(_block(source, passages[source.id]) for source in sources if source.id in passages)


def passage_tokens(text: str) -> int:
    """What a passage costs within a source's block."""
    return estimate_tokens(fenced(text)) + _GAP_TOKENS


def _cut_to_tokens(text: str, max_tokens: int) -> str:
    """The beginning of `text`; at least a character a token is assumed, so a long text is cut before it is counted."""
    text = text[: 4 * max_tokens]
    while text and estimate_tokens(text) > max_tokens:
        text = text[: len(text) * max_tokens // estimate_tokens(text) - 1]
    return text.strip()


def fenced(text: str) -> str:
    """`text` that cannot close or open one of our tags."""
    return _FENCE.sub("‹", text)


def _opening(source: Source) -> str:
    published = source.metadata.published_at
    title = mask(source.title, instructions_in(source.title))
    about = [
        f'id="{source.number}"',
        f'title="{_attribute(title)}"',
        f'domain="{_attribute(source.metadata.domain)}"',
    ]
    if published:
        about.append(f'date="{published.date().isoformat()}"')
    return f"<source {' '.join(about)}>\n\n</source>\n\n"


def _block(source: Source, passages: Sequence[Passage]) -> str:
    parts: list[str] = []
    end = 0
    for passage in passages:
        if passage.start > end and source.trusted_content[end : passage.start].strip():
            parts.append("[…]")
        parts.append(passage.text.strip())
        end = passage.end
    tag = _opening(source).partition("\n")[0]
    return f"{tag}\n{fenced(chr(10).join(parts))}\n</source>"


def _attribute(text: str) -> str:
    """On one line, and without what ends an attribute or a tag."""
    plain = fenced(text).replace('"', "'").replace("<", "‹").replace(">", "›")
    return " ".join(plain.split())[:160]
