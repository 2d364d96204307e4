"""What may be asked next, and what stands in an answer's place where the sources have none: whole sentences in seven
languages, kept with the answer.

Follow-ups are questions of the writer's own on what it has just said, else templates. The writer has read the web, so
nothing of its questions is shown that is more than a question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import regex

from core.evidence.confidence import listed
from core.evidence.grounding import BY_OCR, VERBATIM
from core.model.answer import Confidence, JobResult, ResearchAnswer
from core.model.errors import places_of, say_place
from core.model.job import QuestionType, ResearchJob
from core.presentation.render import one_line
from core.presentation.wording import NO_ANSWER, OTHER_LANGUAGE
from core.tenancy.settings import EVERYTHING, SourcePolicy
from core.text.injection import is_instruction
from core.text.language import KNOWN, language_of
from core.text.saying import ENGLISH, LANGUAGES, say, speaking

MAX_CHARS = 75  # of a Slack button; a longer question is no button
MOST, LEAST = 3, 2
MIN_CHARS = 8
_GAP = "0"  # where a template names its subject; none has a figure of its own
_ASKS = ("?", "？", "؟")
_MORE_THAN_WORDS = regex.compile(r"://|\bwww\.|\bmailto:|[<>@#`|\\{}\[\]*_~]", regex.IGNORECASE)


DISAGREE = "Why do the sources disagree on {subject}?"
UNKNOWN, AGAINST = "What is still unknown about this?", "What speaks against this?"
_OF_KIND: Mapping[QuestionType, str] = {
    QuestionType.FACTUAL: "How is this known?",
    QuestionType.COMPARISON: "Which of them suits whom?",
    QuestionType.EXPLANATION: "Can you explain it more simply?",
    QuestionType.CURRENT_EVENT: "What happened before that?",
}
_ALL = (DISAGREE, *_OF_KIND.values(), AGAINST, UNKNOWN)


def follow_ups(job: ResearchJob, result: JobResult) -> tuple[str, ...]:
    """Two or three questions, each at most `MAX_CHARS`, in the language of the answer; none where that is no answer,
    and not the one just answered.

    The writer's, filled up with templates: the sources' disagreement first, then what the kind of question leaves
    open, then what any answer does. Where no templates are known, or no model wrote, it takes two of the writer's.
    """
    answer = result.answer
    if answer is None or answer.confidence is Confidence.INSUFFICIENT:
        return ()
    language = job.intent.language or ENGLISH
    reasons = {reason for claim in answer.claims for one in claim.evidence for reason in one.reasons}
    why = answer.confidence_reasons[:1]  # also said first where the answer may be none, whoever wrote it
    is_quoted = bool(answer.notice) and reasons <= {VERBATIM, BY_OCR} and not (why and why[0] in answer.notice)
    has_ours = language in LANGUAGES and answer.metadata.model and not is_quoted  # next to nothing answers them
    asked = [*answer.follow_ups, *(_templates(answer, result.question_type, language) if has_ours else ())]
    kept = [one for one in dict.fromkeys(asked) if one not in ("", job.query) and len(one) <= MAX_CHARS]
    return tuple(kept[:MOST]) if len(kept) >= LEAST else ()


def _templates(answer: ResearchAnswer, kind: QuestionType | None, language: str) -> list[str]:
    with speaking(language):
        subjects = [one for conflict in answer.conflicts if _is_plain(one := one_line(conflict.subject))]
        of_kind = [say(_OF_KIND[kind])] if kind else []
        subjects = [f"“{one}”" if "…" in one else one for one in subjects[:1]]  # a sentence with its value left open
        return [*(say(DISAGREE, subject=subject) for subject in subjects), *of_kind, say(AGAINST), say(UNKNOWN)]


def is_template(question: str) -> bool:
    """Whether it is one of ours, which all lean on what was asked before."""
    found = _template().fullmatch(question.strip())
    return found is not None and not found["topic"]


def asked_of(template: str, last: str) -> str:
    """The template as somebody asks it of the `last` question: that comes behind it, without a template of its own."""
    gap = " : " if template.endswith(" ?") else ": "
    return f"{template.rstrip(' ?')}{gap}{topic_of(last).lstrip('¿¡ ')}"


def topic_of(question: str) -> str:
    """The question that a template was asked of; any other as it is."""
    found = _template().fullmatch(question.strip())
    return (found["topic"] if found else None) or question


@cache
def _template() -> regex.Pattern[str]:
    """Any of ours in any language, alone or with the question behind it that it was asked of."""
    said = []
    for language in sorted(LANGUAGES):
        with speaking(language):
            said += [regex.escape(say(one, subject=_GAP).rstrip(" ?")).replace(_GAP, ".+?") for one in _ALL]
    return regex.compile(rf"(?:{'|'.join(said)})(?: ?\?| ?: (?P<topic>.+))")


def worth_asking(asked: Sequence[str], question: str, language: str) -> tuple[str, ...]:
    """The writer's questions that may be offered: short, plain, in `language`, and not the one just answered.

    Plain is without addresses, mentions and orders to a machine. Of languages only English is told from the others: in
    so few words closer ones look alike.
    """
    said = {_plain(question): ""}
    for one in map(one_line, asked):
        is_question = MIN_CHARS <= len(one) <= MAX_CHARS and one.endswith(
            (*_ASKS, *([";"] if language == "el" else []))
        )
        said_in = language_of(one) or language
        is_foreign = language in KNOWN and said_in != language and "en" in (language, said_in)
        if is_question and not is_foreign and _is_plain(one):
            said.setdefault(_plain(one), one)
    return tuple(filter(None, said.values()))[:MOST]


def _is_plain(said: str) -> bool:
    return bool(said) and not (_MORE_THAN_WORDS.search(said) or is_instruction(said))


def _plain(question: str) -> str:
    return regex.sub(r"[\W_]+", " ", question).strip().casefold()


# What stands in an answer's place where the sources have none: in the language of the question, where known


MAX_NAMED = 4  # queries; more is not read
RESTRICTED = (
    "Only these sources count here: {sources}. Others may count elsewhere; an admin can change it in the settings."
)
SEARCHED = "Searched for {queries} in {places}."
ADVICE = "Try naming the subject in full, asking one thing at a time, or leaving out a date or a place."


def no_answer(
    language: str,
    queries: Sequence[str],
    providers: Sequence[str],
    *,
    is_foreign: bool = False,
    policy: SourcePolicy = EVERYTHING,
) -> str:
    """With what was searched for and where, where anything was. `language` is a code; English for an unknown one.

    `is_foreign` says that rules alone would have had to bring words of two languages together; `policy` is what counts
    as a source there.
    """
    with speaking(language):
        named = ", ".join(f'"{query}"' for query in queries[:MAX_NAMED])
        places = ", ".join(map(say_place, places_of(providers)))
        searched = say(SEARCHED, queries=named, places=places) if providers else ""
        why = say(OTHER_LANGUAGE) if is_foreign else ""
        primary = [say("primary sources")] if policy.primary_only else []
        count = [*primary, *map(say_place, places_of(policy.providers)), *policy.allow]
        limited = say(RESTRICTED, sources=listed(count)) if count else ""
        return " ".join(filter(None, (say(NO_ANSWER), why, searched, limited)))


def advice_in(language: str) -> str:
    """What to ask instead."""
    with speaking(language):
        return say(ADVICE)
