"""Vetoes on who does it and to whom it is done: by the order of the words, by passives, by comparisons and by cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

import regex

from core.evidence.rules.alignment import (
    HALF,
    MIN_KEPT,
    Comparison,
    Force,
    Rule,
    Veto,
    calendar_of,
    is_called,
    only_place,
)
from core.evidence.rules.binding import is_numbered
from core.evidence.rules.words import (
    Kind,
    Reading,
    Token,
    are_opposite,
    is_irregular_past,
    listed,
    pattern,
    read,
    stem,
)
from core.text.language import negations

ALL_THERE = 0.75  # share of the claim's words that the sentence must have, before their places are compared
CASED = ("de", "nl")  # languages that may name first to whom it is done
MAX_UNITS = 40  # words or names of a claim that are tried in each other's place
_BE = frozenset("is are was were be been being and or nor as like with versus vs".split())


def check_roles(pair: Comparison) -> Iterator[Veto]:
    """Two words in each other's place: "A sued B" and "B sued A"; correct passives keep theirs."""
    missing = any(not pair.home.match(word) for word in pair.claim.content)
    if not _is_told_by_case(pair) and (swapped := exchanged(pair)) is not None and not pair.opposed:
        one, other = swapped
        are_names = one.kind is other.kind is Kind.NAME and pair.language == "en"
        is_same = are_names or len(pair.home.content) <= len(pair.claim.content) + 1
        is_sure = is_same and not missing and pair.language not in CASED
        yield Veto(
            "roles",
            Force.CONTRADICTS if is_sure else Force.DOUBTS,
            f'"{one.text}" and "{other.text}" have changed places',
        )


def exchanged(pair: Comparison) -> tuple[Token, Token] | None:
    """Two of the claim's words each of which has the other's slot in the home."""
    if bool(_ANY_PASSIVE.search(pair.claim.text)) != _has_passive(pair):
        return None  # each has the other's place, rightly
    kept = sum(pair.home.match(word) > 0 or is_called(word, pair.home.text) for word in pair.claim.content)
    if kept < MIN_KEPT or kept < ALL_THERE * len(pair.claim.content):
        return None
    is_copy = len(pair.home.content) <= len(pair.claim.content) + 1
    if pair.alignment.matched < HALF and not is_copy:
        return None  # told in words of its own
    there = [(unit, [one for one in pair.home.units if _is_same(unit, one, pair.home)]) for unit in pair.claim.units]
    units = [(unit, places[0]) for unit, places in there if len(places) == 1]
    for (one, its), (other, others) in combinations(units[:MAX_UNITS], 2):
        is_alike = is_copy or one[0].text[0].isupper() is other[0].text[0].isupper()
        are_things = not any(  # no numbers (see `check_list`), dates or verbs
            word.values or calendar_of(word) or _NO_THING.search(word.text) for word in (one[0], other[0])
        )
        if its[0].start < others[0].start or not (is_alike and are_things):
            continue
        if _exchange(pair, (one[0], its[0]), (other[0], others[0])):
            return one[0], other[0]
    return None


def _is_same(unit: Sequence[Token], other: Sequence[Token], reading: Reading) -> bool:
    """Whether a word or name of `reading` is that of the claim, or calls the same otherwise: the UK, Britain."""
    text = reading.text[other[0].start : other[-1].end]
    return any(word.stem == unit[0].stem for word in other) or any(is_called(word, text) for word in unit)


def _has_passive(pair: Comparison) -> bool:
    """Whether something is done to somebody in as much of the home as has the claim's words."""
    first = {word.stem: word.end for word in reversed(pair.home.content) if pair.claim.match(word)}
    return _ANY_PASSIVE.search(pair.home.text, 0, max(first.values(), default=0)) is not None


def check_doer(pair: Comparison) -> Iterator[Veto]:
    """A name that does in the claim what is done to it in the source, or to something of it."""
    if _ANY_PASSIVE.search(pair.claim.text) or _has_passive(pair) or _is_inverted(pair):
        return
    for name, verb in pairwise(pair.claim.content):
        is_doer = (
            name.text[0].isupper()
            and not calendar_of(name)
            and _WHEN.isdisjoint(pair.claim.lead(name))
            and not _PRONOUN.search(pair.claim.text, name.end, verb.start)
        )
        if not is_doer or not _is_verb(pair, verb):
            continue
        there = pair.home.content
        verbs = [at for at, word in enumerate(there) if word.stem == verb.stem]
        names = [at for at, word in enumerate(there) if word.stem == name.stem]
        is_done_to = len(verbs) == 1 and names and all(0 < at - verbs[0] <= DONE_TO for at in names)
        if is_done_to and not is_numbered(pair, name):
            yield Veto("roles", Force.DOUBTS, f'the source says "{there[verbs[0]].text}" before {name.text}')
            return


_PRONOUN = regex.compile(r"\b(?:it|he|she|they|you|we|I)\b|\)")  # of another clause: second in the league) and led
_WHEN = frozenset("jedes jeden jede im am seit nach vor bis pro elk elke ieder cada chaque".split())  # jedes Jahr
DONE_TO = 4  # content words behind a verb among which its object stands
_ANY_PASSIVE = pattern("any_passive")


def _is_verb(pair: Comparison, word: Token) -> bool:
    """Whether it is a verb by its form or by what leads to it; outside English any word in small letters may be."""
    if not word.text.islower() or word.kind is not Kind.WORD:
        return False
    leads = pair.claim.lead(word)[-1:]
    is_led = bool({"to", "can", "will", "may", "would", "could", "must", "did"}.intersection(leads))
    return pair.language != "en" or is_led or word.text.endswith("ed") or is_irregular_past(word.text)


def _is_inverted(pair: Comparison) -> bool:
    """Whether the source begins with when, where or why, behind which Germans and Dutch put the doer last."""
    first = pair.home.tokens[0] if pair.home.tokens else None
    is_small = first is not None and first.kind is Kind.FUNCTION and first.text.lower() not in _SUBJECTS
    return pair.language in CASED and (is_small or _is_told_by_case(pair))


def _is_told_by_case(pair: Comparison) -> bool:
    return pair.language in CASED and any(_OBJECT.search(reading.text) for reading in (pair.claim, pair.home))


_OBJECT = regex.compile(r"\b(?:den|dem|einen|einem)\b", regex.IGNORECASE)
_SUBJECTS = frozenset("der die das den dem ein eine einen er sie es wir ich man de het een hij zij ze we ik".split())


_SMALL = regex.compile(r"\b\p{Ll}")
_NO_THING = regex.compile(r"^\p{Ll}+(?:ed|ing|ly)$")  # a verb's form or an adverb, by its ending


def _exchange(pair: Comparison, one: tuple[Token, Token], other: tuple[Token, Token]) -> bool:
    """Whether each has the other's slot: what leads to it, and its side of what stands between them."""
    slots = [(_slot(pair.claim, word), _slot(pair.home, place)) for word, place in (one, other)]
    if slots[0][0] != slots[1][1] or slots[1][0] != slots[0][1] or (slots[0][0] and slots[0][0] == slots[1][0]):
        return False
    if not _SMALL.search(pair.claim.text, one[0].end, other[0].start):
        return False  # a name and what it is: the Meridian bridge, the bridge called Meridian
    between = [word for word in pair.claim.content if one[0].end <= word.start < other[0].start]
    pivots = [
        word
        for word in between
        if word.text[0].islower()
        and (place := only_place(pair.home, word))
        and other[1].end <= place.start < one[1].start
    ]
    leads = {word for slot in slots[1] for word in slot}
    if any(word.stem in listed("symmetric") for word in between) or (not pivots and leads <= _BE):
        return False
    return not any(word.text.endswith(("'s", "’s", "s'", "s’")) for word in (*one, *other))


def _slot(reading: Reading, word: Token) -> tuple[str, ...]:
    return tuple(lead for lead in reading.lead(word) if lead not in negations("en"))[-1:]


def _check_compared(pair: Comparison) -> Iterator[Veto]:
    """More of one than of the other, and in the source more of the other than of the one."""
    sides = [[read(part) for part in reading.text.split(" than ", 1)] for reading in (pair.claim, pair.home)]
    if pair.language != "en" or any(len(side) < 2 for side in sides):
        return
    (more, less), (most, least) = [(left.stems - right.stems, right.stems - left.stems) for left, right in sides]
    ways = [{stem(word.lower()) for word in _MORE.findall(side[0].text)} for side in sides]
    is_one_way = all(ways) and not any(are_opposite(one, other) for one, other in product(*ways))
    if is_one_way and more & least and less & most and not less & least:
        yield Veto("roles", Force.DOUBTS, "the source compares them the other way round")


_MORE = regex.compile(r"\b(?:more|less|\p{Ll}{2,}er)\b", regex.IGNORECASE)


def _check_difference(pair: Comparison) -> Iterator[Veto]:
    """No difference, where the source has more of one than of the other; and the other way round."""
    if sum(pair.home.match(word) > 0 for word in pair.claim.content) < ALIKE_WORDS * len(pair.claim.content):
        return
    for one, other in ((_ALIKE, _UNLIKE), (_UNLIKE, _ALIKE)):
        ours, theirs = one.search(pair.claim.text), other.search(pair.home.text)
        if ours and theirs and not other.search(pair.claim.text) and not one.search(pair.home.text):
            yield Veto("difference", Force.DOUBTS, f'the source says "{theirs.group()}", not "{ours.group()}"')


ALIKE_WORDS = 0.4  # share of the claim's, by judgement: "no difference" takes the place of other words
_ALIKE, _UNLIKE = pattern("alike"), pattern("unlike")
ROLE_RULES: tuple[Rule, ...] = (
    check_roles, check_doer, _check_compared, _check_difference,
)  # fmt: skip
