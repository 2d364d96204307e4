"""Judging a text that is all there, as `core/writing.py` does it sentence by sentence while it comes."""

from __future__ import annotations

from core.answer import Section
from core.evidence.grounding import Grounder, Judged
from core.sentences import split_sentences


def judge_text(grounder: Grounder, section: Section, text: str) -> list[Judged]:
    """Every sentence of a finished text, judged in order."""
    judged: list[Judged] = []
    end = 0
    for place, sentence in enumerate(split_sentences(text)):
        gap = text[end : sentence.start]
        judged.append(grounder.judge(section, place, sentence.text, gap=gap, asserts=sentence.asserts))
        end = sentence.end
    return judged
