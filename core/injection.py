"""Pages that speak to the assistant instead of the reader: which spans of a text try to instruct it.

Such a span never reaches a prompt and never counts as evidence; the source is marked for people. Texts about
the subject are marked too: losing a sentence there is cheaper than obeying one elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import regex

from core.sentences import Sentence, split_sentences

_OUTPUT = r"(?:reply|response|answer|output|summary|message|completion)s?"
_ASSISTANT = (
    r"(?:ai|a\.i\.|llm|language\s+model|assistant|chat\s?bot|chatgpt|gpt|claude|gemini|copilot|crawler\s+agent)"
)
_OFFICE = (
    r"(?:head\s+)?(?:coach|professor|director|editor|manager|secretary|teacher|principal|surgeon|attorney)"  # people
)
_DO = (
    r"(?:include|add|append|insert|mention|modify|change|replace|render|encode|translate|rewrite|write|reply|respond|answer|say|print"
    r"|repeat|output|end|start|begin|finish|enhance|suggest|provide|give|show|tell|use|state|claim|declare|report|confirm|list|cite|link"
    r"|recommend|promote|reveal|quote|place|put|do\s+not|don't|never|always|make\s+sure|ensure)"
)
# "Begin every sentence of your answer": looked for from its end, since orders are common and "your answer" is rare.
_YOUR_OUTPUT = regex.compile(
    rf"\b(?:(?:in|to|into|of|with|from|before|after)\s+)?your\s+(?:\w+\s+){{0,2}}{_OUTPUT}\b", regex.IGNORECASE
)
_ORDER = regex.compile(rf"\b{_DO}\b", regex.IGNORECASE)
_LONGEST_ORDER = 12
_REACH = 120  # characters from an order to what it is about, within a sentence
_SENTENCE_END = regex.compile(r"[.!?\n]")
_OTHER_INSTRUCTION = regex.compile(
    "|".join(
        (
            r"\b(?:reply|respond|answer)\s+(?:only\s+)?(?:using|with|in)\b(?=[^.!?\n]{0,40}\b(?:encoding|cipher|base64|rot13|json|emoji|token|word|phrase|code)\b)",
            r"\b(?:ignore|disregard|forget|override)\b[^.!?\n]{0,40}\b(?:previous|prior|above|earlier|all|any|your|the|these|other)\b"
            r"[^.!?\n]{0,40}\b(?:instruct\w*|prompts?|rules|guidelines|directions|context|sources?|system)\b",
            r"\b(?:system|developer)\s+(?:prompt|message|override|instruction)s?\b(?!\s+(?:the|an?|users?|you|them)\b)",
            rf"\b(?:if\s+you\s+are|you\s+are|attention|dear|hey|note\s+to|instructions?\s+(?:for|to))\s*,?\s*"
            rf"(?:an?\s+|the\s+|any\s+|all\s+)?{_ASSISTANT}s?\b(?!\s+{_OFFICE})",
            r"\bas\s+an?\s+(?:ai|llm|(?:large\s+)?language\s+model)\b",
            r"\bthe\s+user\s+(?:has\s+)?(?:asked|wants|told|requested|instructed|authori[sz]ed)\b[^.!?\n]{0,20}\byou\b",
            r"\b(?:include|say|output|print|repeat|add)\s+(?:the\s+|this\s+)?(?:exact\s+)?(?:token|canary|code\s?word|passphrase|phrase|string)\b",
            r"\b(?:new|updated|important|hidden)\s+instructions?\s*(?:for\s+you|:)",
            r"<\|?(?:im_start|im_end|system|endoftext)\|?>|\[/?INST\]|<<SYS>>",
        )
    ),
    regex.IGNORECASE,
)


def instructions_in(text: str) -> list[tuple[int, int]]:
    """Half-open spans that speak to an assistant, in order: such a sentence and its neighbours in the paragraph.

    The neighbours go too, since what is to be said often stands beside the order to say it.
    """
    return list(_instructions_in(text))


@lru_cache(maxsize=256)
def _instructions_in(text: str) -> tuple[tuple[int, int], ...]:
    if not _instructs(text):
        return ()
    sentences = split_sentences(text)
    flagged: set[int] = set()
    for place, sentence in enumerate(sentences):
        if _instructs(sentence.text):
            flagged.add(place)
            flagged.update(near for near in (place - 1, place + 1) if _is_beside(text, sentences, place, near))
    return tuple((sentences[place].start, sentences[place].end) for place in sorted(flagged))


def _instructs(text: str) -> bool:
    if _OTHER_INSTRUCTION.search(text):
        return True
    return any(_is_ordered(text, found.start()) for found in _YOUR_OUTPUT.finditer(text))


def _is_ordered(text: str, at: int) -> bool:
    """Whether an order stands before `at` in the same sentence."""
    before = text[max(0, at - _REACH - _LONGEST_ORDER) : at]
    ends = [found.end() for found in _SENTENCE_END.finditer(before)]
    return _ORDER.search(before[ends[-1] if ends else 0 :]) is not None


def _is_beside(text: str, sentences: Sequence[Sentence], place: int, near: int) -> bool:
    if not 0 <= near < len(sentences):
        return False
    first, second = sorted((place, near))
    return text[sentences[first].end : sentences[second].start].count("\n") < 2


def masked(text: str) -> str:
    """`text` with what speaks to an assistant blanked out."""
    return mask(text, instructions_in(text))


def mask(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """`text` with the spans blanked out, of the same length, so that offsets stay true."""
    pieces: list[str] = []
    end_of_last = 0
    for start, end in spans:
        pieces += [text[end_of_last:start], " " * (end - start)]
        end_of_last = end
    return "".join([*pieces, text[end_of_last:]])
