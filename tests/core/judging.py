"""Judging a text that is all there, as `core/stages/writing.py` does it sentence by sentence while it comes."""

from __future__ import annotations

from collections.abc import Callable

from core.evidence.grounding import Grounder
from core.evidence.judge import Judgement, Pair, Ruling
from core.evidence.structure import Judged, before_of, is_repeated, leans_on_cut
from core.model.answer import Section
from core.stages.rejudging import behind_shown, kept_behind
from core.text.sentences import split_sentences

Rule = Callable[[Pair], Judgement | None]


def nobody(pair: Pair) -> None:
    """No judge is there."""


def everything(pair: Pair) -> Judgement:
    """A judge that says yes to everything."""
    return Judgement(Ruling.SUPPORTED)


def nothing(pair: Pair) -> Judgement:
    """A judge that says no to everything."""
    return Judgement(Ruling.UNSUPPORTED, "not there")


def judge_text(grounder: Grounder, section: Section, text: str, rule: Rule = nobody) -> list[Judged]:
    """Every sentence of a finished text, judged in order."""
    judged: list[Judged] = []
    end = 0
    for sentence in split_sentences(text):
        gap, end = text[end : sentence.start], sentence.end
        if is_repeated(sentence, judged):
            continue
        place = len(judged)
        before = before_of(judged, section, sentence.text, gap)
        entry = grounder.propose(section, place, sentence.text, gap=gap, asserts=sentence.asserts, before=before)
        entry = grounder.conclude(entry, [rule(asked.pair) for asked in entry.asked])
        if leans_on_cut(entry, judged):
            again = behind_shown(entry, judged, grounder)
            entry = kept_behind(grounder.conclude(again, [rule(asked.pair) for asked in again.asked]), judged)
        judged.append(entry)
    return judged
