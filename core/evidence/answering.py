"""Does a text answer a question? By rules: what kind of thing is asked for, and whether the text holds one.

Meant to be precise: a text is called unanswering only where nothing of the expected kind stands in it. What stands
in the question too ("How many were there in 1990?" "In 1990 …") answers nothing. The words are in answering.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files

import regex

from core.text.language import detect_language
from core.text.sentences import split_sentences
from core.text.terms import STOPWORDS, terms


class Expected(StrEnum):
    """The kind of answer that a question asks for; the value is what is said where it is missing."""

    DURATION = "no duration is given"
    DATE = "no date is given"
    FREQUENCY = "it does not say how often"
    NUMBER = "no number is given"
    PERSON = "nobody is named"
    PLACE = "no place is given"
    VERDICT = "it says neither yes nor no"


_ASKED_BY = {
    "how_long": Expected.DURATION,
    "how_often": Expected.FREQUENCY,
    "how_many": Expected.NUMBER,
    "when": Expected.DATE,
    "where": Expected.PLACE,
    "who": Expected.PERSON,
    "else": None,
    "whether": Expected.VERDICT,
}
_GIVEN_BY = {
    Expected.DURATION: ("spans",),
    Expected.DATE: ("times", "spans"),
    Expected.FREQUENCY: ("rates", "spans"),
    Expected.NUMBER: ("numbers",),
    Expected.PERSON: ("people",),
    Expected.PLACE: ("places",),
}
_BEFORE_ASKING = (  # prepositions and the like that may stand before the question word
    r"(?:(?:and|but|so|for|since|until|till|by|from|to|at|in|on|about|around|during|with|of|exactly|approximately"
    r"|und|aber|seit|bis|ab|von|vor|nach|für|im|am|um|zu|aus|mit|auf|bei|ungefähr|et|mais|depuis|jusqu['’]à|pendant"
    r"|à|de|d['’]|en|dans|par|pour|avec|chez|y|pero|desde|hasta|durante|a|por|para|con|e|ma|da|fino a|per|di|o|mas|até"
    r"|em|com|no|na|maar|sinds|tot|voor|door|van|aan|met|op|rond)\s*\b)*"
)
_OR = {"en": "or", "de": "oder", "fr": "ou", "es": "o", "it": "o", "pt": "ou", "nl": "of"}
_MANNER = regex.compile(  # what follows a preposition and is no place
    r"\b(?:in|on|at|from|by)\s+(?:(?:the\s+)?(?:early|late|mid)\s+)?(?:\d[\d,.]*\w*\s*(?:%|percent|per)?"
    r"|(?:the\s+)?(?:1\d|20)\d\ds?|order|general|addition|fact|particular|turn|total|part|time|average|least|first"
    r"|last|once|most|jan\w*|feb\w*|march|april|may|june|july|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*|\w+day|spring"
    r"|summer|autumn|winter|response|contrast|comparison|this\s+way|which)\b",
    regex.IGNORECASE,
)
_AGENT = regex.compile(r"\b(?:by|par|por|von|vom|durch|da|dal\w*|door)\s+(?!\d|\w+ing\b)\p{L}", regex.IGNORECASE)
_YES_OR_NO = regex.compile(r"\W*(?:yes|no|ja|nein|oui|non|sí|si|sim|não|nee)\b", regex.IGNORECASE)
_SOUGHT = (
    "determine|assess|evaluate|examine|investigate|explore|test|find\\s+out|establish|identify|compare|clarify"
    "|ascertain|analy[sz]e|study|describe|review"
)
_AIMS = regex.compile(
    rf"\b(?:aims?|objectives?|purposes?|goals?)\b[^.]{{0,60}}\b(?:was|were|is|are|of)\b"
    rf"|\b(?:we|study|trial|review|paper|article)\s+(?:aims?|aimed|sought|set\s+out|wanted|intend(?:s|ed)|tried)\b"
    rf"|^(?:\p{{Lu}}[\p{{Lu}} ]+:\s*)?to\s+(?:{_SOUGHT})\b|\bto\s+(?:{_SOUGHT})\s+(?:whether|if|how)\b"
    r"|\b(?:investigated|examined|assessed|evaluated|asked|studied|tested|explored|hypothesi[sz]ed?|wondered)\s+"
    r"(?:whether|if|that|how)\b|\bhypothesis\s+(?:was|is|that)\b"
    r"|\b(?:it\s+is|remains?)\s+(?:unclear|unknown|uncertain|controversial|debated)\b"
    r"|\bziel\s+(?:dieser|der|war)\b|\bobjectif\s+(?:de|était)\b|\bobjetivo\s+(?:de|fue)\b",
    regex.IGNORECASE,
)
_FIGURE = regex.compile(r"\p{N}[\p{N}.,:]*")
_YEAR = regex.compile(
    r"(?:\b(?:in|since|during|until|en|im|seit|desde|nel|dal|em|sinds|depuis|jahre?)\s+|\(|[–-])(?:1\d|20)\d\d"
    r"(?=\s*(?:[,.;:)–-]|(?:the|a|an|it|he|she|they|was|were|is|and|with|when|as|by)\b|\p{Lu}|$))"
)
_DATED = regex.compile(
    r"(?<![\d.,])\d{3,4}(?!\d|[.,]\d)|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}\s?(?:am|pm|a\.m|p\.m|uhr|h)\b"
    r"|\b\d+(?:st|nd|rd|th)\b|\b[XVI]{2,}\b",
    regex.IGNORECASE,
)
_COMPARED = regex.compile(
    r"\b(?:as\s+\w+\s+as|size\s+of|\w+er\s+than|(?:more|less|fewer)\s+than|times)\b", regex.IGNORECASE
)
_BARE_UNIT = regex.compile(  # only spoken of: "the seconds shown below"
    r"\b(?:the|these|those)\s+(?:second|minute|hour|day|week|month|year|decade)s\b", regex.IGNORECASE
)
_LASTED = regex.compile(  # a figure with a unit cut short, from one year to another, or a stopwatch's
    r"\d\s?(?:ms|s|secs?|mins?|h|hrs?|std|d|wks?|mos?|yrs?|y|a)\b|\d{3,4}\s*(?:[-–—]|to|until|till|bis|à|al?|até|tot)\s*\d"
    r"|\d:\d\d|\b(?:as\s+long\s+as|(?:longer|shorter)\s+than)\b|\bsince\s+\d|\bseit\s+\d|\bdepuis\s+\d|\bdesde\s+\d|\bdal\s+\d|\bsinds\s+\d",
    regex.IGNORECASE,
)
_NAME = regex.compile(r"\b\p{Lu}[\p{L}\p{M}'’.-]*")
_MARKER = regex.compile(r"\[\d{1,3}(?:,\s*\d{1,3})*\]")
_BEGINNING = 5  # letters; forms of a word share them


def unanswered_by_rules(question: str, text: str, *, language: str = "en") -> str:
    """Empty when `text` may answer `question`, else why not, in a few words for people: "no duration is given".

    `language` is the question's, ISO 639-1. What is asked in no language of ours, or for nothing certain, gives "" too.
    """
    expected = expected_answer(question, language)
    text = _MARKER.sub(" ", text)
    if expected is None or not any(character.isalnum() for character in text):
        return ""
    text_language = detect_language(text)
    languages = tuple(dict.fromkeys((text_language, language)))
    if not _words_of(text_language):
        return ""
    return "" if _holds(expected, question, text, languages) else expected.value


def expected_answer(question: str, language: str = "en") -> Expected | None:
    """The kind of answer that the question's own words ask for; None when they do not tell."""
    asked = question.rpartition("¿")[2].casefold().strip()
    for part in reversed(asked.split(",")):
        for expected, pattern in _asks(language):
            if pattern.match(part.strip()):
                is_choice = expected is Expected.VERDICT and _OR[language] in asked.split()
                return None if is_choice else expected
    return None


def states_aim(sentence: str) -> bool:
    """Whether a sentence only says what was to be found out."""
    return _AIMS.search(sentence) is not None


@cache
def _words_of(language: str) -> Mapping[str, Mapping[str, str]]:
    tables: Mapping[str, Mapping[str, Mapping[str, str]]] = tomllib.loads(
        files(__package__).joinpath("answering.toml").read_text(encoding="utf-8")
    )
    return tables.get(language, {})


@cache
def _asks(language: str) -> tuple[tuple[Expected | None, regex.Pattern[str]], ...]:
    """How each kind is asked for, at the start of a question or of a part of it; the first that fits decides."""
    return tuple(
        (_ASKED_BY[name], regex.compile(rf"{_BEFORE_ASKING}(?:{pattern})(?!\w)"))
        for name, pattern in _words_of(language).get("asks", {}).items()
    )


@cache
def _gives(expected: Expected, language: str) -> regex.Pattern[str]:
    listed = " ".join(_words_of(language).get("gives", {}).get(name, "") for name in _GIVEN_BY[expected]).split()
    pattern = "|".join(word.replace("_", r"\s+") for word in listed) or "(?!)"
    return regex.compile(rf"(?<!\w)(?:{pattern})(?!\w)", regex.IGNORECASE)


def _holds(expected: Expected, question: str, text: str, languages: tuple[str, ...]) -> bool:
    asked = _words(question)
    if expected is Expected.VERDICT:
        return _says_yes_or_no(question, text, languages)
    text = _BARE_UNIT.sub(" ", text) if expected is Expected.DURATION else text
    searched = _MANNER.sub(" ", text) if expected is Expected.PLACE else text
    if any(
        match[0].casefold() not in asked for code in languages for match in _gives(expected, code).finditer(searched)
    ):
        return True
    match expected:
        case Expected.DURATION:
            return _LASTED.search(text) is not None
        case Expected.NUMBER | Expected.FREQUENCY:
            figures = {figure.rstrip(".,:") for figure in _FIGURE.findall(_YEAR.sub(" ", text))}
            return bool(figures.difference(_FIGURE.findall(question))) or _COMPARED.search(text) is not None
        case Expected.DATE:
            return any(found[0] not in question for found in _DATED.finditer(text)) or bool(_YEAR.search(text))
    return (expected is Expected.PERSON and _AGENT.search(text) is not None) or _has_name(text, asked)


def _has_name(text: str, asked: set[str]) -> bool:
    """A capitalised word that the question does not have; as a sentence's first word only where it is no common one."""
    for sentence in split_sentences(text):
        first = regex.search(r"\p{L}", sentence.text)
        for name in _NAME.finditer(sentence.text):
            is_first = first is not None and name.start() == first.start()
            word = name[0].casefold().removesuffix("'s").removesuffix("’s")
            if not _words(word) <= asked and not (is_first and word in STOPWORDS):
                return True
    return False


def _says_yes_or_no(question: str, text: str, languages: tuple[str, ...]) -> bool:
    """A statement about what is asked says one or the other, unless it only says what was to be found out."""
    if len(languages) > 1 or _YES_OR_NO.match(text):
        return True
    asked = {term[:_BEGINNING] for term in terms(question)}
    return any(
        not states_aim(sentence.text) and any(term[:_BEGINNING] in asked for term in terms(sentence.text))
        for sentence in split_sentences(text)
        if not sentence.text.rstrip().endswith("?")
    )


def _words(text: str) -> set[str]:
    return set(regex.findall(r"[\p{L}\p{N}]+", text.casefold()))
