"""Whether a question leans on what was said before it: by rules of seven languages, whose words are in leaning.toml.

A pronoun leans unless what it stands for is named before it in the same message. Nothing here knows a conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import regex

from core.text.language import language_of, small_words, told_beside

# `open` may be whole or not, which rules cannot tell: a model that knows the conversation may.
Leaning = Literal["alone", "open", "leans"]

POLITE = (
    r"(?:\s*,?\s*(?:please|pls|bitte|thanks|thank you|p[oe]r favore?|s['’]il (?:te|vous) pla[iî]t|svp"
    r"|alsjeblieft|alstublieft))"
)
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}'’-]*")
_QUOTED = regex.compile(r"[\"“«„][^\"”»“]{2,200}[\"”»“]|(?<!\p{L})'[^']{2,200}'(?!\p{L})|https?://\S+")
_NAMED = " Quoted "  # in place of what is quoted and of addresses, whose words are somebody else's
_LATIN = regex.compile(r"\p{Latin}")
_LETTER = regex.compile(r"\p{L}")
_PLURALS = frozenset("people children men women teeth feet mice geese sheep fish data bacteria police".split())
_MANY = frozenset({"they", "them", "their", "these", "those"})
_PERSONS = frozenset({"he", "she", "him", "her", "his", "they", "them", "their"})
_SOMEBODY = regex.compile(r"\b(?:who|an?|each|every|someone|somebody|anyone|everyone)\b", regex.IGNORECASE)
_SINGULAR_ENDING = ("ss", "us", "is", "ics")
_MAX_FRAGMENT = 4  # words; with one telling word among them a question is a part of one
_MAX_REMARK = 8  # words; what asks nothing and is as short may be said of the answer before it
_FEW = 2  # telling words, which may be short of one
_LOOSE = regex.compile(r"\b[Tt]he\s+(?!\p{Lu})(?!.*\s(?:of|for|in|on|at|to|from|between|behind)\s+\p{L})")
# There is one of each, so that "the" names it.
_ONLY_ONE = regex.compile(
    r"\bthe\s+(?:sun|moon|earth|sky|world|universe|internet|sea|ocean|weather|economy|brain|heart|body|stock|web)\b",
    regex.I,
)


@dataclass(frozen=True)
class _Words:
    """The rules of one language."""

    opens: regex.Pattern[str]
    about: regex.Pattern[str]
    adds: regex.Pattern[str]
    asks: regex.Pattern[str]
    points: regex.Pattern[str]
    empty: regex.Pattern[str]
    boundary: regex.Pattern[str]
    governed: regex.Pattern[str]
    verbs: regex.Pattern[str]
    needs: regex.Pattern[str]
    light: regex.Pattern[str]


def leaning(question: str, behind: str = "") -> Leaning:
    """Whether it can be understood alone. Questions in languages whose rules are not known are `open`.

    `behind` is the question before it, in whose language a few words are read that go on with it.
    """
    said = regex.sub(rf"(?i){POLITE}[.!]*$", "", " ".join(_QUOTED.sub(_NAMED, question).split()))
    if len(_LATIN.findall(said)) * 2 <= len(_LETTER.findall(said)):
        return "open"
    language = _language(said, behind)
    words = _words(language)
    core, is_opened = _without_opening(said, words)
    telling = _telling_words(core, language)
    points_back = next(_pointers(core, words, language), None) is not None
    if points_back or _is_part(core, telling, words, is_opened=is_opened):
        return "leans"
    is_remark = not core.rstrip().endswith("?") and len(_WORD.findall(core)) <= _MAX_REMARK
    if is_opened or (not words.asks.match(core) and (len(telling) <= _FEW or is_remark)):
        return "open"
    is_loose = language == "en" and _LOOSE.search(core) and not _ONLY_ONE.search(core)
    names = regex.search(r"(?<=\S\s)\p{Lu}|\p{N}", core)
    return "open" if is_loose and len(telling) <= _FEW and not names else "alone"


def without_opening(question: str, behind: str = "") -> str:
    """The question without `and`, `what about` and their like before it."""
    return _without_opening(question, _words(_language(question, behind)))[0]


def is_clause(question: str) -> bool:
    """Whether it begins as a whole question does; `France?` and `in Blackpool?` do not."""
    return bool(_words(language_of(question) or "en").asks.match(question))


def first_pointer(question: str) -> regex.Match[str] | None:
    """The first word that points at what was named before the question; None where there is none."""
    language = language_of(question) or "en"
    return next(_pointers(question, _words(language), language), None)


def _language(question: str, behind: str) -> str:
    """Whose rules it is read by: a fragment's own words tell no language, but that it goes on with what was asked."""
    own = language_of(question) or "en"
    words = _words(language_of(behind) or own)
    goes_on = any(one.match(question.lstrip("¿¡ ")) for one in (words.opens, words.about, words.adds))
    return language_of(behind) or own if goes_on and len(_WORD.findall(question)) <= _MAX_REMARK else own


def _telling_words(text: str, language: str = "en") -> list[str]:
    """Its words without those that carry grammar."""
    small = small_words(language)
    return [word for word in _WORD.findall(text) if word.casefold().rstrip("'’-") not in small]


def _without_opening(question: str, words: _Words) -> tuple[str, bool]:
    rest = question.strip().lstrip("¿¡ ")
    before = rest
    while opening := words.opens.match(rest) or words.about.match(rest):
        rest = rest[opening.end() :].lstrip(" ,")
    return (rest, True) if rest and rest != before else (before if rest else question, False)


def _pointers(core: str, words: _Words, language: str) -> Iterator[regex.Match[str]]:
    """Words that stand for something, without those for which it is named before them, or that stand for nothing."""
    empty = [found.span() for found in words.empty.finditer(core)]
    for found in words.points.finditer(core):
        is_empty = any(start <= found.start() < end for start, end in empty)
        is_empty |= len(found.group()) > 1 and found.group().isupper() and not core.isupper()  # IT, US
        if not is_empty and not _is_named_before(core, found, words, language):
            yield found


def _is_named_before(core: str, found: regex.Match[str], words: _Words, language: str) -> bool:
    """In an earlier clause; of a possessive, and of a French clitic, in its own clause too."""
    before = core[: found.start()]
    boundaries = list(words.boundary.finditer(before))
    clause = boundaries[-1].start() if boundaries else 0
    is_near = bool(found["own"]) or core[: found.start()].endswith("-")
    if is_near and not words.governed.search(before):
        clause = len(before)
    named, pointer = before[:clause], found.group().casefold()
    if pointer in _PERSONS and _SOMEBODY.search(named):
        return True
    return any(_agrees(pointer, noun, named) for noun in _nouns(named, words, language))


def _nouns(text: str, words: _Words, language: str) -> list[str]:
    """Words that may be nouns: telling ones that do not follow a question word or a pronoun, as verbs do."""
    small = small_words(language)
    found: list[str] = []
    last = ""
    for word in _WORD.findall(regex.sub(r"-t-\p{L}+|-\p{L}+$", " ", text)):
        is_telling = word.casefold() not in small
        is_verb = bool(words.verbs.fullmatch(last) or (not last and words.asks.fullmatch(word))) or (
            word.isascii() and word.endswith("ed") and language == "en"
        )
        is_noun = word[:1].isupper() if language == "de" else (last != "" or word[:1].isupper())
        if is_telling and is_noun and not is_verb:
            found.append(word)
        last = word.casefold()
    return found


def _agrees(pointer: str, noun: str, before: str) -> bool:
    """English number; anywhere else, and for names, any noun will do."""
    if pointer not in {"it", "its", *_MANY} or noun[:1].isupper():
        return True
    is_plural = noun.casefold() in _PLURALS or (noun.endswith("s") and not noun.endswith(_SINGULAR_ENDING))
    return is_plural or " and " in before if pointer in _MANY else not is_plural


def _is_part(core: str, telling: Sequence[str], words: _Words, *, is_opened: bool) -> bool:
    """A part of a question: next to no words, or a noun that lacks what it is of."""
    is_clause = bool(words.asks.match(core))
    added = None if is_clause or "," in core else words.adds.match(core)
    rest = _WORD.findall(core, added.end()) if added else []
    behind = core[added.end() :].lstrip() if added else ""
    is_said = bool(added) and not behind.startswith("-") and not words.asks.match(behind)  # not "for what", "in-flight"
    if is_said and (
        sum(word in telling for word in rest) <= 1 or (rest[0] not in telling and len(rest) <= _MAX_FRAGMENT)
    ):
        return True
    if not telling or _lacks_complement(core, telling, words):
        return True
    if is_opened and not is_clause:
        return not (len(telling) > 1 and words.needs.search(core))
    is_definition = bool(_DEFINES.match(core))
    is_short = (
        sum(not words.light.fullmatch(word) for word in telling) <= 1 and len(_WORD.findall(core)) <= _MAX_FRAGMENT
    )
    return is_short and not is_definition and (is_clause or core.rstrip().endswith("?"))


_DEFINES = regex.compile(
    r"(?:what|who|where|when)(?:\s+(?:is|are|was|were)|['’]s)\b|(?:define|explain|describe)\b"
    r"|(?:was|wer|wo|wann)\s+(?:ist|sind|war|waren)\b|qu['’]est-ce\b|qui\s+(?:est|était)\b|(?:qué|quién)\s+(?:es|son|era|fue)\b"
    r"|(?:cos['’]è|chi\s+(?:è|era)|che\s+cos['’]è)|(?:o\s+que|quem)\s+(?:é|são|foi|era)\b|(?:wat|wie|waar)\s+(?:is|zijn|was|waren)\b",
    regex.IGNORECASE,
)


def _lacks_complement(core: str, telling: Sequence[str], words: _Words) -> bool:
    """`the side effects`, without of what: nothing but such a noun, and words that say no more."""
    rest = [word for word in telling if not words.light.fullmatch(word)]
    is_definite = not regex.match(r"(?:what|define)\s+(?:is|are)\s+(?:an?\s+)?\p{L}+\s*\??$", core.strip(), regex.I)
    return is_definite and bool(rest) and all(words.needs.fullmatch(word) for word in rest)


@cache
def _words(language: str) -> _Words:
    told = told_beside(__package__, "leaning.toml")
    said = told[language]

    def whole(pattern: str) -> regex.Pattern[str]:
        return regex.compile(rf"(?:{pattern})", regex.IGNORECASE)

    alone = r"(?<![\p{L}\p{N}'’])"
    pointing = rf"{alone}(?:(?P<own>{said['own']})|{said['pronoun']}|{said['deictic']})(?![\p{{L}}\p{{N}}]|\.\p{{L}})"
    case = 0 if language == "de" else regex.IGNORECASE
    return _Words(
        opens=whole(said["opens"]),
        about=whole(said["about"]),
        adds=whole(said["adds"]),
        asks=whole(rf"(?:{said['asks']})(?!\p{{L}})"),
        points=regex.compile(pointing, case),
        empty=whole(rf"{alone}(?:{said['empty']})"),
        boundary=whole(rf"[,;:.?!]|(?<!\p{{L}})(?:{said['boundary']})(?!\p{{L}})"),
        governed=whole(rf"(?<!\p{{L}})(?:{said['of']})\s+(?:the\s+)?$"),
        verbs=whole(said["verbs"]),
        needs=whole(said["needs"]),
        light=whole(said["light"]),
    )
