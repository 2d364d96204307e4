"""True sentences said otherwise, by rule: what a good answer does to its source's wording.

The word pairs are not taken from core/evidence/rules/words.py; some are in it, many are not.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import regex

_SWAPS = dict(
    pair.split("=")
    for pair in """however=yet therefore=thus showed=found shows=demonstrates show=demonstrate used=employed using=with
    use=usage patients=people children=youngsters increased=rose decreased=dropped important=vital large=sizeable
    small=modest because=since although=though many=numerous several=various often=commonly usually=typically
    associated=linked compared=contrasted determine=establish examined=looked investigated=studied evaluated=assessed
    provides=offers provide=offer allows=lets allow=permit create=make created=made returns=yields value=figure
    common=widespread current=present possible=feasible different=distinct higher=greater lower=smaller rate=frequency
    method=technique methods=techniques approach=method results=findings result=outcome study=investigation
    significant=notable significantly=markedly suggest=imply suggests=implies require=need requires=needs
    example=instance following=subsequent specific=particular simple=straightforward similar=comparable
    whether=if found=observed among=in during=in additional=further""".split()
)
_INTRODUCTION = regex.compile(
    r"^((?:In|At|On|During|After|Before|For|Among|With|By|From|Under) [^,.;:()]{4,60}), (.+?)([.!?])$"
)
_ASIDE = regex.compile(r" \([^()]{3,80}\)")
_PASSIVE = regex.compile(
    r"^(?:The |A |An )?(\p{L}[\p{L} -]{2,40}?) (was|were) (\p{L}+ed) by ((?:the |a )?[\p{L} -]{3,40})([.])$"
)
_LAST_CLAUSE = regex.compile(r"^(.{40,}?)[,;] (?:and|but|which|while|whereas|although|with) [^,;]+([.!?])$")
_LEAD = regex.compile(
    r"^(?:However|Therefore|Thus|Moreover|Furthermore|In addition|Finally|In conclusion|Also), (\p{L})"
)
_DIGITS = {"2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight", "9": "nine"}
_FRAMES = ("According to the source, {}", "The authors report that {}", "It is stated that {}", "Notably, {}")


def paraphrase(sentence: str, rng: random.Random) -> dict[str, str]:
    """The sentence in other words, by the name of the rule; only the rules that apply."""
    variants = {name: rule(sentence, rng) for name, rule in _RULES.items()}
    return {name: text for name, text in variants.items() if text and text != sentence}


def _swap_words(sentence: str, rng: random.Random) -> str:
    """Up to three words replaced."""
    words = sentence.split(" ")
    places = [place for place, word in enumerate(words) if word in _SWAPS]
    for place in rng.sample(places, min(3, len(places))):
        words[place] = _SWAPS[words[place]]
    return " ".join(words)


def _reorder(sentence: str, rng: random.Random) -> str:
    """In 2010, X did Y → X did Y in 2010."""
    match = _INTRODUCTION.match(sentence)
    if match is None:
        return ""
    lead, rest, stop = match.groups()
    return f"{rest[0].upper()}{rest[1:]} {lead[0].lower()}{lead[1:]}{stop}"


def _drop_aside(sentence: str, rng: random.Random) -> str:
    return _ASIDE.sub("", sentence, count=1)


def _trim(sentence: str, rng: random.Random) -> str:
    """Without its last clause."""
    match = _LAST_CLAUSE.match(sentence)
    return match.group(1) + match.group(2) if match else ""


def _drop_lead(sentence: str, rng: random.Random) -> str:
    return _LEAD.sub(lambda match: match.group(1).upper(), sentence)


def _activate(sentence: str, rng: random.Random) -> str:
    match = _PASSIVE.match(sentence)
    if match is None:
        return ""
    patient, _, verb, agent, stop = match.groups()
    return f"{agent[0].upper()}{agent[1:]} {verb} the {patient.lower()}{stop}"


def _frame(sentence: str, rng: random.Random) -> str:
    keep = sentence[1:2].isupper() or not sentence[:1].isupper()
    return rng.choice(_FRAMES).format(sentence if keep else sentence[0].lower() + sentence[1:])


def _spell_numbers(sentence: str, rng: random.Random) -> str:
    text = regex.sub(r"(?<=\p{Nd}),(?=\p{Nd}{3}\b)", "", sentence)
    return regex.sub(r"(?<=[a-z] )([2-9])(?= [a-z]{4,})", lambda match: _DIGITS[match.group(1)], text)


def _rephrase(sentence: str, rng: random.Random) -> str:
    """Several of the above at once."""
    for rule in (_drop_lead, _drop_aside, _swap_words, _reorder):
        sentence = rule(sentence, rng) or sentence
    return sentence


_RULES: dict[str, Callable[[str, random.Random], str]] = {
    "verbatim": lambda sentence, _: f"{sentence} ",
    "other words": _swap_words,
    "reordered": _reorder,
    "aside dropped": _drop_aside,
    "trimmed": _trim,
    "lead dropped": _drop_lead,
    "made active": _activate,
    "framed": _frame,
    "numbers respelled": _spell_numbers,
    "several at once": _rephrase,
}
