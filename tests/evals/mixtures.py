"""False sentences made of a true one's own words, one kind a function; None where it offers no place for it.

What they have in common: nothing in them is missing from the source, or next to nothing.
"""

from __future__ import annotations

import random

import regex

from core.text.sentences import split_sentences
from tests.evals.faults import NAME, NUMBER, YEAR, Fault, Place

_JOINT = regex.compile(r"(?:, (?:and|but|while|whereas|although)|; (?:and )?|,? whereas|,? while) ")
_SOME = regex.compile(r"\b([Ss]ome|[Ss]everal|[Mm]any|[Mm]ost|[Ff]ew)(?: of)? (?=\p{Ll})")
_HEDGE = regex.compile(r"\b(may|might|could)( not)? (?=\p{Ll})")
_SAID = regex.compile(
    r"^.{3,80}? (?:claim|claimed|believe|believed|argue|argued|say|said|suggest|suggested|hypothesized|think|thought|"
    r"assume|assumed|expected|proposed)s? that (.{30,})$"
)
_PAST = regex.compile(r"(?<=\b(?:[\p{Ll}]+s?|he|she|it|they|we) )(was|were)\b(?= \p{Ll})")
_PRESENT = {"was": "is", "were": "are"}
_VERB = regex.compile(
    r"^(?:The |An? )?(\p{L}[\p{L}\p{Nd} -]{2,40}?) (was|were|is|are|exceeded|caused|led to|received|"
    r"showed|provides|uses|contains|includes|supports|followed|defeated|replaced|precedes|requires|returns)\b "
    r"(the |an? )?(\p{L}[\p{L}\p{Nd} -]{3,40})([.,;])"
)
_PASSIVE = regex.compile(
    r"^((?:The|An?|\p{Lu}\p{L}+) [\p{L} -]{2,40}?) ((?:is|are|was|were|been) \p{Ll}+ed by) ([\p{L} -]{4,40})[.,;]"
)
_ADDITIONS = (
    ", all of whom were women", ", which the authors later withdrew", " because the funding had ended",
    ", so it was banned", " after a long dispute", " in all countries", ", and two people died",
)  # fmt: skip
_QUOTES = (
    'As the critics said, "nobody believed a word of it", {}',
    'In what was called "the greatest feat of all", {}',
)


def mix_clauses(place: Place, rng: random.Random) -> str | None:
    """A number or name of the one clause in the place of the other's."""
    joint = _JOINT.search(place.sentence)
    if joint is None:
        return None
    first, second = place.sentence[: joint.start()], place.sentence[joint.end() :]
    for pattern in rng.sample((NUMBER, NAME, YEAR), 3):
        ours, theirs = pattern.search(first), list(pattern.finditer(second))
        if ours and theirs and ours.group() not in second and theirs[-1].group() not in first:
            return first[: ours.start()] + theirs[-1].group() + first[ours.end() :] + "."
    return None


def borrow_subject(place: Place, rng: random.Random) -> str | None:
    """The subject of a neighbouring sentence before this one's predicate."""
    sentences = [" ".join(sentence.text.split()) for sentence in split_sentences(place.source.content)]
    at = next((at for at, text in enumerate(sentences) if text == place.sentence), None)
    ours = _VERB.match(place.sentence)
    if at is None or ours is None:
        return None
    for other in (sentences[at - 1] if at else "", *sentences[at + 1 : at + 2]):
        names = [name for name in NAME.findall(other) if name not in place.sentence]
        if names:
            return str(names[0]) + place.sentence[ours.end(1) :]
    return None


def reverse_roles(place: Place, rng: random.Random) -> str | None:
    """What stands before the verb and what stands behind it in each other's place."""
    if passive := _PASSIVE.match(place.sentence):
        patient, verb, agent = (str(part) for part in passive.groups())
        return f"{agent[0].upper()}{agent[1:]} {verb} {patient[0].lower()}{patient[1:]}."
    match = _VERB.match(place.sentence)
    if match is None or match.group(1).lower() == match.group(4).lower():
        return None
    subject, verb, article, target, _ = (str(part or "") for part in match.groups())
    if verb in ("is", "are", "was", "were"):
        return None  # "a whale is a mammal" is often true both ways round
    return f"{(article or 'the ').capitalize()}{target} {verb} the {subject[0].lower()}{subject[1:]}."


def drop_attribution(place: Place, rng: random.Random) -> str | None:
    """What somebody said or supposed, stated as it is."""
    match = _SAID.match(place.sentence)
    if match is None:
        return None
    rest = str(match.group(1))
    return rest[0].upper() + rest[1:]


def drop_hedge(place: Place, rng: random.Random) -> str | None:
    """A "may" made certain."""
    match = _HEDGE.search(place.sentence)
    if match is None:
        return None
    put = "do not " if match.group(2) else "will "
    return place.sentence[: match.start()] + put + place.sentence[match.end() :]


def widen_quantifier(place: Place, rng: random.Random) -> str | None:
    """All instead of some, or no quantifier at all."""
    match = _SOME.search(place.sentence)
    if match is None:
        return None
    is_first = match.start() == 0
    put = rng.choice(("All " if is_first else "all ", ""))
    rest = place.sentence[match.end() :]
    return place.sentence[: match.start()] + put + (rest[0].upper() + rest[1:] if is_first and not put else rest)


def change_tense(place: Place, rng: random.Random) -> str | None:
    """What was is, or will be."""
    match = _PAST.search(place.sentence)
    if match is None:
        return None
    put = rng.choice((_PRESENT[match.group()], "will be"))
    return place.sentence[: match.start()] + put + place.sentence[match.end() :]


def add_clause(place: Place, rng: random.Random) -> str | None:
    """A clause of which the source says nothing."""
    return place.sentence.rstrip(".!?") + rng.choice(_ADDITIONS) + "."


def quote_inline(place: Place, rng: random.Random) -> str | None:
    """Words in quotation marks that nobody said."""
    keep = place.sentence[1:2].isupper() or not place.sentence[:1].isupper()
    sentence = place.sentence if keep else place.sentence[0].lower() + place.sentence[1:]
    return rng.choice(_QUOTES).format(sentence)


MIXTURES: dict[str, Fault] = {
    "mixed clauses": mix_clauses,
    "borrowed subject": borrow_subject,
    "reversed roles": reverse_roles,
    "attribution dropped": drop_attribution,
    "hedge dropped": drop_hedge,
    "quantifier widened": widen_quantifier,
    "tense changed": change_tense,
    "clause added": add_clause,
    "quote inside": quote_inline,
}
