"""Faults planted in true sentences, one kind a function; each gives None where the sentence offers no place for it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex

from core.model.source import Source
from core.text.language import small_words

NUMBER = regex.compile(r"(?<![\p{L}\p{Nd}.,\-–/])\p{Nd}+(?:[.,]\p{Nd}+)*(?![\p{L}\p{Nd}]|[.,\-–/]\p{Nd})")
YEAR = regex.compile(r"(?<![\p{L}\p{Nd}.,\-–/])(?:1[5-9]|20)\p{Nd}{2}(?![\p{L}\p{Nd}]|[.,\-–/]\p{Nd})")
_MONTHS = """January February March April May June July August September October November December""".split()
_MONTH = regex.compile(r"\b(?:" + "|".join(_MONTHS) + r")\b(?=,? \p{Nd})|(?<=\p{Nd} )(?:" + "|".join(_MONTHS) + r")\b")
_NOT_NAMES = "|".join(
    [*_MONTHS, *(form for word in sorted(small_words("en")) for form in (word.title(), word.upper()))]
)
NAME = regex.compile(r"(?<=[\p{Ll},;)] )(?!(?:" + _NOT_NAMES + r")\b)\p{Lu}[\p{L}\p{Nd}]{2,}(?: \p{Lu}[\p{L}]+)*\b")
_AUXILIARY = regex.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|may|might|should|must|does|did|do)\b(?! not\b)"
)
_NOT = regex.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|may|might|should|must) not\b")
_DO_NOT = regex.compile(r"\b(?:does|did|do) not\b")
_NO = regex.compile(r"\b[Nn]o (?=\p{L}{4,})")
_PAST = regex.compile(
    r"(?<=\b(?:we|it|he|she|they|which|who|that|[\p{L}]+s) )"
    r"(increased|decreased|showed|reduced|improved|caused|required|remained|revealed|suggested|included|allowed|received)\b"
)
_BASE = {
    "increased": "increase", "decreased": "decrease", "showed": "show", "reduced": "reduce", "improved": "improve",
    "caused": "cause", "required": "require", "remained": "remain", "revealed": "reveal", "suggested": "suggest",
    "included": "include", "allowed": "allow", "received": "receive",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """A true sentence, its source, and the other sources that were read."""

    sentence: str
    source: Source
    others: Sequence[Source]


def swap_number(place: Place, rng: random.Random) -> str | None:
    """Another number near it."""
    match = _pick([m for m in NUMBER.finditer(place.sentence) if not YEAR.fullmatch(m.group())], rng)
    return _replaced(place.sentence, match, _other_number(match.group(), rng)) if match else None


def swap_number_within(place: Place, rng: random.Random) -> str | None:
    """Another number of the same source."""
    match = _pick([m for m in NUMBER.finditer(place.sentence) if not YEAR.fullmatch(m.group())], rng)
    if match is None:
        return None
    found = {
        m
        for m in NUMBER.findall(place.source.content)
        if not YEAR.fullmatch(m) and _number(m) != _number(match.group())
    }
    other = rng.choice(sorted(found)) if found else None
    return _replaced(place.sentence, match, other) if other else None


def swap_date(place: Place, rng: random.Random) -> str | None:
    """Another year or month."""
    match = _pick([*YEAR.finditer(place.sentence), *_MONTH.finditer(place.sentence)], rng)
    if match is None:
        return None
    if match.group() in _MONTHS:
        other = rng.choice([month for month in _MONTHS if month != match.group()])
    else:
        other = str(int(match.group()) + rng.choice([-10, -4, -3, -2, -1, 1, 2, 3, 4, 10]))
    return _replaced(place.sentence, match, other)


def flip_negation(place: Place, rng: random.Random) -> str | None:
    """A "not" put in, or taken out."""
    sentence = place.sentence
    for pattern, kept in ((_NOT, r"\1"), (_NO, "a "), (_DO_NOT, "")):
        if pattern.search(sentence):
            return " ".join(pattern.sub(kept, sentence, count=1).split())
    match = _pick(list(_AUXILIARY.finditer(sentence)), rng)
    if match:
        return _replaced(sentence, match, f"{match.group()} not")
    match = _pick(list(_PAST.finditer(sentence)), rng)
    return _replaced(sentence, match, f"did not {_BASE[match.group()]}") if match else None


def swap_entity(place: Place, rng: random.Random) -> str | None:
    """Another source's name in its place."""
    match = _pick(list(NAME.finditer(place.sentence)), rng)
    if match is None:
        return None
    for other in rng.sample(list(place.others), min(8, len(place.others))):
        names = [name for name in NAME.findall(other.content) if name not in place.source.content]
        if names:
            return _replaced(place.sentence, match, rng.choice(names))
    return None


def swap_entity_within(place: Place, rng: random.Random) -> str | None:
    """Another name of the same source in its place."""
    match = _pick(list(NAME.finditer(place.sentence)), rng)
    if match is None:
        return None
    names = sorted(
        {
            name
            for name in NAME.findall(place.source.content)
            if name not in place.sentence and match.group() not in name
        }
    )
    return _replaced(place.sentence, match, rng.choice(names)) if names else None


def exchange_entities(place: Place, rng: random.Random) -> str | None:
    """Two names of the sentence in each other's place."""
    names = list(NAME.finditer(place.sentence))
    pairs = [
        (one, other)
        for one in names
        for other in names
        if one.end() < other.start()
        and one.group() != other.group()
        and not regex.fullmatch(r"[\s,/]*(?:and|or)?\s*", place.sentence[one.end() : other.start()])
    ]
    if not pairs:
        return None
    one, other = rng.choice(pairs)
    text = place.sentence
    return text[: one.start()] + other.group() + text[one.end() : other.start()] + one.group() + text[other.end() :]


def alter_quote(place: Place, rng: random.Random) -> str | None:
    """A quote with one number, name, negation or word changed."""
    kinds: list[Fault] = [swap_number, swap_date, flip_negation, swap_entity, _replace_word, _drop_word]
    rng.shuffle(kinds)
    return next((text for kind in kinds if (text := kind(place, rng))), None)


def _replace_word(place: Place, rng: random.Random) -> str | None:
    """A word of the sentence by one of another source."""
    ours = list(regex.finditer(r"\b\p{Ll}{5,}\b", place.sentence))
    theirs = regex.findall(r"\b\p{Ll}{5,}\b", rng.choice(place.others).content)
    if not ours or not theirs:
        return None
    match, word = rng.choice(ours), rng.choice(theirs)
    return None if word == match.group() else _replaced(place.sentence, match, word)


def _drop_word(place: Place, rng: random.Random) -> str | None:
    words = list(regex.finditer(r"(?<=\p{L} )\p{Ll}{5,} (?=\p{L})", place.sentence))
    return _replaced(place.sentence, rng.choice(words), "") if words else None


Fault = Callable[[Place, random.Random], str | None]
FAULTS: dict[str, tuple[Fault, ...]] = {
    "swapped numbers": (swap_number, swap_number_within),
    "swapped dates": (swap_date,),
    "flipped negation": (flip_negation,),
    "swapped entities": (swap_entity, swap_entity_within, exchange_entities),
}


def _pick(matches: Sequence[regex.Match[str]], rng: random.Random) -> regex.Match[str] | None:
    return rng.choice(list(matches)) if matches else None


def _replaced(sentence: str, match: regex.Match[str], other: str) -> str:
    return sentence[: match.start()] + other + sentence[match.end() :]


def _number(digits: str) -> float:
    return float("".join(digits.replace(",", "").split(".")[:1]) or 0) + float(
        "0." + (digits.split(".")[1:] or ["0"])[-1]
    )


def _other_number(digits: str, rng: random.Random) -> str:
    """One digit changed, the leading one never to 0."""
    places = [place for place, character in enumerate(digits) if character.isdigit()]
    place = rng.choice(places)
    choices = [digit for digit in "123456789" if digit != digits[place]]
    return digits[:place] + rng.choice(choices) + digits[place + 1 :]
