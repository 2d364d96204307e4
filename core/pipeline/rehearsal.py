"""What is read in with its first use, read in before: language model, word lists, tables, patterns.

It takes one to two seconds of processor time, which else the first question pays for.
"""

from __future__ import annotations

from core.evidence.answering import unanswered_by_rules
from core.evidence.rules.vetoes import find_vetoes
from core.evidence.same_question import veto
from core.text.injection import instructions_in
from core.text.language import detect_language, rarity
from core.text.sentences import split_sentences
from core.text.terms import question_terms

_QUESTION = "What causes the tides in the Bay of Fundy?"
_CLAIM = "The Moon and the Sun cause tides of up to 16 metres there, which fell by 5 % in March 2019."
_PASSAGE = (
    "In the Bay of Fundy the tide rises by as much as 16 m (52 ft). It is not the wind that moves the water, but the "
    "gravity of the Moon and the Sun. Since 3 March 2019 the range has not grown."
)
_FOREIGN = "Welche Kräfte verursachen dort die Gezeiten?"  # no function word tells its language for certain


def rehearse() -> None:
    """Go once through what every answer goes through. Blocks: to be run in a thread."""
    for text in (_FOREIGN, _QUESTION):
        detect_language(text)
        question_terms(text)
    rarity("tide", "en")
    split_sentences(_PASSAGE)
    instructions_in(_PASSAGE)
    unanswered_by_rules(_QUESTION, _CLAIM)
    veto(_QUESTION, _FOREIGN)
    find_vetoes(_CLAIM, _PASSAGE, context=_PASSAGE)
    find_vetoes("The wind causes the tides.", _PASSAGE)
