"""One-change variants of a question: each asks for something else in almost the same words.

Made by rule from a question and a few names of other questions; the same seed gives the same variants.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import regex

from core.text.language import small_words

_YEAR = regex.compile(r"\b(1[89]\d\d|20\d\d)\b")
_NUMBER = regex.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w,-])")
_NAME = regex.compile(r"(?<=\p{Ll} )\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)*\b(?!['’])")
_AUXILIARY = regex.compile(
    r"\b(can|could|should|would|will|may|might|must|does|do|did|is|are|was|were|has|have)\b(?! not)", regex.IGNORECASE
)
_AROUND = regex.compile(
    r"\b(?P<one>\p{L}{4,}) (?P<joint>than|from|to|on|into|over|by|against|of|for|with) "
    r"(?:(?P<article>the|a|an) )?(?P<other>\p{L}{4,})\b"
)
_BOTH_NAMES = regex.compile(
    r"(?<=\p{Ll} )(?P<one>\p{Lu}\p{Ll}+)\b(?P<joint>[^.?!;:]{2,40}?)\b(?P<other>\p{Lu}\p{Ll}+)\b(?! \p{Lu})"
)
_LISTING = regex.compile(r"\b(?:difference|compare|between|versus|vs|and|or)\b", regex.IGNORECASE)
QUALIFIERS = (
    "in children", "in Canada", "for beginners", "during pregnancy", "in developing countries", "at high altitude",
    "before 1950", "in rural areas", "for women", "under EU law", "in small companies", "at night", "in the long term",
    "for people over 65", "without insurance", "in cold climates", "according to critics", "on a small budget",
)  # fmt: skip


def change_number(question: str, names: Sequence[str], rng: random.Random) -> str:
    def other(found: str) -> str:
        return str(int(found) + rng.choice((1, 2, 10))) if found.isdigit() else f"{float(found) + 0.5:.2f}"

    return "" if _YEAR.search(question) else _replace(question, _NUMBER, rng, other)


def change_roles(question: str, names: Sequence[str], rng: random.Random) -> str:
    """Two names, or two words around a preposition, in each other's place."""
    for pattern in (_BOTH_NAMES, _AROUND):
        places = [place for place in pattern.finditer(question) if _can_swap(place)]
        if places:
            place = rng.choice(places)
            article = f"{place['article']} " if "article" in place.groupdict() and place["article"] else ""
            joint = place["joint"] if pattern is _BOTH_NAMES else f" {place['joint']} {article}"
            swapped = f"{place['other']}{joint}{place['one']}"
            return question[: place.start()] + swapped + question[place.end() :]
    return ""


def _can_swap(place: regex.Match[str]) -> bool:
    """Two words that carry meaning, and no list, in which the order says nothing."""
    words = [place["one"].lower(), place["other"].lower()]
    return not _LISTING.search(place.group()) and not small_words("en").intersection(words) and words[0] != words[1]


def qualify(question: str, names: Sequence[str], rng: random.Random) -> str:
    qualifier = rng.choice([words for words in QUALIFIERS if words.split()[-1].lower() not in question.lower()])
    body, mark = (question[:-1], question[-1]) if question[-1:] in "?.!" else (question, "")
    return f"{body.rstrip()} {qualifier}{mark}"


VARIANTS: Mapping[str, Callable[[str, Sequence[str], random.Random], str]] = {
    "number": change_number,
    "year": lambda question, _, rng: _replace(
        question, _YEAR, rng, lambda found: str(int(found) + rng.choice((-10, -1, 1, 2)))
    ),
    "entity": lambda question, names, rng: _replace(
        question, _NAME, rng, lambda found: rng.choice([name for name in names if name != found])
    ),
    "role": change_roles,
    "negation": lambda question, _, rng: _replace(question, _AUXILIARY, rng, lambda found: f"{found} not", first=True),
    "qualifier": qualify,
}


def names_in(question: str) -> list[str]:
    return _NAME.findall(question)


def _replace(
    question: str, pattern: regex.Pattern[str], rng: random.Random, change: Callable[[str], str], *, first: bool = False
) -> str:
    """With one of the places changed; "" where there is none."""
    places = list(pattern.finditer(question))
    if not places:
        return ""
    place = places[0] if first else rng.choice(places)
    return question[: place.start()] + change(place.group()) + question[place.end() :]
