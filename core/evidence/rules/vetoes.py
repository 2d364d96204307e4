"""What rules may say against a claim: where the words of its source differ from its own in what they claim.

A veto contradicts only where the claim repeats a sentence of the source and one thing in it is replaced; all less
certain doubts. Rules confirm nothing: where none speaks the claim may still be false.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import regex

from core.evidence.rules.alignment import (
    HALF,
    MIN_KEPT,
    MOSTLY,
    Comparison,
    Force,
    Rule,
    Veto,
    align,
    calendar_of,
    has_name,
    is_called,
    is_plural,
    is_range_end,
    is_year_token,
    only_place,
)
from core.evidence.rules.binding import BINDING_RULES, MAX_ADDED, check_subject, is_numbered
from core.evidence.rules.quantities import (
    SLASHED,
    counted,
    days_in,
    dimension_of,
    has_number,
    is_about,
    is_computed,
    is_multiple,
    is_part,
    is_worked_out,
    measure,
    near,
    ratio_of,
    shares,
    start_of_quantity,
)
from core.evidence.rules.roles import ROLE_RULES, exchanged
from core.evidence.rules.small_words import LIMIT_RULES, check_language, denials
from core.evidence.rules.words import Kind, Reading, Token, are_opposite, listed, match_tokens, pattern, read
from core.evidence.verbatim import find_frame, leads_above, points_back
from core.text.language import Cue
from core.text.numbers import is_loose, unit_of
from core.text.terms import is_common

__all__ = ["Force", "Veto", "find_vetoes", "says_same"]

MAX_CLAIM_CHARS = 2000  # a claim is a sentence; what is longer cannot be checked as one, and costs time
MAX_PASSAGE_CHARS = 6000  # of passage and of context; both are a few sentences


def find_vetoes(claim: str, passage: str, *, context: str = "", before: str = "") -> tuple[Veto, ...]:
    """What speaks against `claim`, what weighs most first; empty where nothing does, however free the wording.

    `passage` is the 1–3 sentences proposed as evidence, `context` what else of the source bears on them (title, date,
    neighbours), `before` the last sentence shown before the claim, "" if none.
    """
    claim, passage = _ORNAMENT.sub("", claim).strip(), passage.strip()[:MAX_PASSAGE_CHARS]
    context = context[:MAX_PASSAGE_CHARS]
    if len(claim) > MAX_CLAIM_CHARS:
        return (Veto("length", Force.DOUBTS, "too long for one claim"),)
    if not passage or not claim:
        return ()
    return _find(claim, passage, context, before)


_ORNAMENT = regex.compile(r"^(?:[\p{So}\p{Sk}\ufe0f\u200d]+|TL;DR:)\s*")  # what is said begins behind it


@lru_cache(maxsize=1024)
def _find(claim: str, passage: str, context: str, before: str) -> tuple[Veto, ...]:
    pair = Comparison(claim, passage, context, before)
    rules = (
        (check_language, _check_numbers, _check_dates) if pair.is_translated else COPY_RULES if pair.is_copy else RULES
    )
    found = dict.fromkeys(veto for rule in rules for veto in rule(pair))
    if found and (sentence := _unlabelled(pair)):
        without = {veto.rule for veto in _find(sentence, passage, context, before)}
        found = dict.fromkeys(veto for veto in found if veto.rule in without or veto.force is Force.CONTRADICTS)
    return tuple(sorted(found, key=lambda veto: list(Force).index(veto.force)))


def _unlabelled(pair: Comparison) -> str:
    """An item's sentence without its label, which the judge weighs: "Weight: Rats gained less" is about rats.

    "" where there is none, or it is a name or frames what follows.
    """
    label = _LABEL.match(pair.claim.text)
    if label is None or points_back(label["said"]) or any(cue.first("en", label["label"]) for cue in Cue):
        return ""
    is_name = any(
        word.stem in pair.wider.name_stems or (word.kind is Kind.NAME and not is_common(word.text))
        for word in read(label["label"]).content
    )
    return "" if is_name or len(read(label["said"]).content) < MIN_KEPT else label["said"]


_LABEL = regex.compile(
    r"\W*(?P<label>\p{Lu}[\p{L}'’/-]+(?: [\p{L}'’/&-]+){0,3}): (?P<said>\p{Lu}\p{Ll}+,?\s.*)", regex.DOTALL
)


def says_same(one: str, other: str) -> bool:
    """Whether `other` says what `one` says, in the same words up to small changes and with no veto; it may say more."""
    if align(one, other).matched < SAME or find_vetoes(one, other, before=other):
        return False
    says_more = align(other, one).matched < SAME
    return says_more or not find_vetoes(other, one, before=one)


SAME = 0.8  # share of a sentence's content words that another has in the same order; by judgement


# Numbers, dates and units


def _check_numbers(pair: Comparison) -> Iterator[Veto]:
    """A number in another's place, or one that the source nowhere gives."""
    for number in pair.claim.numbers:
        said = pair.in_place_of(number, lambda other: other.kind is Kind.NUMBER)
        if said is not None and number.is_ordinal is not said.is_ordinal:
            said = None
        if any(has_number(pair.claim, number, text) for text in (pair.home, pair.wider)):
            is_exact = any(other.stem == number.stem for other in pair.wider.numbers)
            said = said or _counting_same(pair, number)
            is_exact = is_exact and start_of_quantity(pair.claim, number) == number.start and not is_part(number)
            is_meant = said is not None and is_about(pair.claim, number) and near(pair.claim, number, pair.home, said)
            if said is not None and is_exact and not is_meant and _is_of_another(pair, number, said):
                yield Veto("numbers", Force.DOUBTS, f"the source says {said.text} there, not {number.text}")
        elif may_be(pair.claim, number, read(pair.sentence), pair.language):
            continue
        elif _may_come_to(pair, number, said):
            yield Veto("numbers", Force.ASKS, f"the source does not give {number.text}")
        elif (said := said or _counting_same(pair, number)) is not None:
            yield Veto("numbers", _force_of(pair, number, said), f"the source says {said.text}, not {number.text}")
        elif not is_loose(number.text) or _is_meant_exactly(pair, number):
            yield Veto("numbers", Force.DOUBTS, f"the source does not give {number.text}")


def _may_come_to(pair: Comparison, number: Token, said: Token | None) -> bool:
    """Whether what the source gives may come to the number, though it does not say it."""
    if is_multiple(pair.claim, number):
        return said is None or not pair.is_close or near(pair.claim, number, pair.home, said)
    is_out = any(is_worked_out(pair.claim, number, text) for text in (pair.home, read(pair.passage)))
    return is_out or is_computed(pair.claim, number, pair.wider)


def _is_meant_exactly(pair: Comparison, number: Token) -> bool:
    """Whether a small number in words measures: ten years, half of what the source does not speak of."""
    if number.is_ordinal or is_about(pair.claim, number):
        return False
    of_what = next((word for word in pair.claim.content if word.start > number.start), number)
    return not pair.wider.match(of_what) if is_part(number) else bool(dimension_of(pair.claim, number))


def _counting_same(pair: Comparison, number: Token) -> Token | None:
    """The home's number before the word that the claim has behind its own: 42 metres, where the claim has 58 metres."""
    of_what = counted(pair.claim, number)
    there = pair.partner.get(of_what) if of_what is not None else None
    if of_what is not None and there is None and not number.is_ordinal:
        there = only_place(pair.home, of_what)
    alike = [other for other in pair.home.numbers if other.is_ordinal is number.is_ordinal]
    return next((other for other in alike if there and counted(pair.home, other) == there), None)


def _force_of(pair: Comparison, number: Token, said: Token) -> Force:
    """Contradicts where the numbers are of one kind and nothing else differs; of years, in short sentences too."""
    if Cue.HEDGE.first(pair.language, pair.claim.text):
        return Force.DOUBTS  # what should have been may differ from what was
    is_year = is_year_token(number)
    if is_year is not is_year_token(said) or dimension_of(pair.claim, number) != dimension_of(pair.home, said):
        return Force.DOUBTS
    is_short = is_year and len(pair.partner) == MIN_KEPT - 1 and set(pair.missing) == {number}
    unit = counted(pair.claim, number) if dimension_of(pair.claim, number) else None  # two hours for 45 minutes
    return Force.CONTRADICTS if is_short else pair.force([number, *([unit] if unit else [])])


def _is_of_another(pair: Comparison, number: Token, said: Token) -> bool:
    """Whether the source has the number of something else, and `said` of what the claim counts."""
    if has_number(pair.home, said, pair.claim) or is_year_token(number) is not is_year_token(said):
        return False
    if _LABELS.match(pair.claim.text, number.end) and number is pair.claim.content[0]:
        return False  # "2007 – Romania" has it in front: whose it is in the source, `check_list` tells
    own = next((other for other in pair.home.numbers if other.stem == number.stem), said)
    if not is_year_token(number) and _company(pair, own) > _company(pair, said):
        return False  # it stands among the claim's words, and the other does not
    if said.start < own.start and counted(pair.home, said) and not counted(pair.home, own):
        return False  # it may count the same, which is left out: 15 years for cats and 13 for dogs
    if pair.is_mostly and not is_range_end(pair.home, number):
        return True
    ours, theirs = counted(pair.claim, number), counted(pair.home, said)
    there = [counted(pair.wider, other) for other in pair.wider.numbers if other.stem == number.stem]
    is_elsewhere = any(other is None or (ours and match_tokens(ours, other)) for other in there)
    return bool(ours and theirs and match_tokens(ours, theirs)) and not is_elsewhere


_LABELS = regex.compile(r"[*_]*(?:\s+[–—-]|:)\s")


def _company(pair: Comparison, number: Token) -> int:
    """How many of the home's content words around a number the claim has."""
    at = pair.home.content.index(number)
    return sum(pair.claim.match(word) > 0 for word in pair.home.content[max(0, at - COMPANY) : at + COMPANY + 1])


COMPANY = 3  # content words on either side


def may_be(claim: Reading, number: Token, home: Reading, language: str, said: Token | None = None) -> bool:
    """Whether what the claim says of a number is true of what the source says: about 40, over 40, half a million.

    Of the one that is `said`, else of any of them.
    """
    others = [said] if said else home.numbers
    if is_about(claim, number):
        return any(near(claim, number, home, other) for other in others)
    if claim.text[: number.start].lower().endswith(("half ", "halbe ", "medio ", "demi ")):
        return any(0.45 < (ratio_of(claim, number, home, other) or 0) < 0.55 for other in others)
    bound = bound_of(claim, number, language)
    part = next((share for share in shares(claim) if share.start <= number.start < share.end), None)
    if not bound or is_year_token(number):
        return False
    ratios = (
        [share.points / part.points for share in shares(home) if not said or share.start <= said.start < share.end]
        if part
        else []
    )
    ratios += [ratio for other in others if not part and (ratio := ratio_of(claim, number, home, other))]
    return any(1 < ratio <= MAX_BEYOND if bound[0] is Cue.ABOVE else 1 / MAX_BEYOND <= ratio < 1 for ratio in ratios)


MAX_BEYOND = 1.5  # times a number; farther from it, nobody would say "more than"


def _check_dates(pair: Comparison) -> Iterator[Veto]:
    """Another month or weekday in the same place, one the source has not, or another day of the month."""
    for word in pair.claim.names:
        calendar = calendar_of(word)
        if not calendar or word.stem in pair.home.stems or word.stem in pair.wider.stems:
            continue
        said = pair.in_place_of(word, lambda other, names=calendar: other.stem in names)  # type: ignore[misc]
        if said is not None:
            yield Veto("dates", pair.force([word]), f"the source says {said.text}, not {word.text}")
        else:
            force = Force.ASKS if SLASHED.search(pair.wider.text) else Force.DOUBTS  # 9/3 may be in March
            yield Veto("dates", force, f"the source does not have {word.text}")
    at_home = days_in(pair.home)
    for day, text in days_in(pair.claim).items():
        if day not in at_home and (said_days := days_in(pair.wider)) and day not in said_days:
            yield Veto("dates", Force.DOUBTS, f"the source does not have {text}")


def _check_units(pair: Comparison) -> Iterator[Veto]:
    """The same number of something else, unless the source has it of the same thing elsewhere."""
    for word in pair.claim.numbers:
        places = [other for other in pair.home.numbers if other.stem == word.stem]
        said = pair.partner.get(word) or (places[0] if len(places) == 1 else None)
        ours, theirs = (measure(pair.claim, word), measure(pair.home, said)) if said is not None else (None, None)
        if said is None or ours is None or theirs is None or ours.same_as(theirs) or is_part(word):
            continue
        if {ours.dimension, theirs.dimension} == {"sterling", "mass"}:
            continue  # twelve pounds may be £12
        if ours.is_in_unit_of(theirs):
            continue  # another number, perhaps rounded, of the same
        if not any(ours.same_as(measure(pair.wider, other)) for other in pair.wider.numbers):
            units = [token for token in pair.claim.tokens if token.text == ours.unit]
            reason = f"the source says {said.text} {theirs.unit}, not {word.text} {ours.unit}"
            yield Veto("units", pair.force(units), reason)


_BOUND_REACH = 24  # characters before a number in which "more than", "at least" or "under" bounds it
_MOVES = pattern("moves")


def _check_bounds(pair: Comparison) -> Iterator[Veto]:
    """More than it is not fewer than it, nor the number itself; risen to 5 is not risen by 5."""
    for word, said in pair.partner.items():
        if word.value is None or said.value is None or word.is_ordinal:
            continue
        if dimension_of(pair.claim, word) != dimension_of(pair.home, said):
            continue  # three years, three hospitals
        ours, theirs = bound_of(pair.claim, word, pair.language), bound_of(pair.home, said, pair.language)
        if ours and theirs and ours[0] is not theirs[0]:
            bounds = [token for token in pair.missing if token.text.lower() in ours[1].lower().split()]
            reason = f"the source says {theirs[1]} {said.text}, not {ours[1]} {word.text}"
            yield Veto("bounds", pair.force(bounds), reason)
        elif bool(ours) != bool(theirs) and not is_range_end(pair.home, said) and not _is_beyond(word, said, ours):
            written = (ours or theirs or (Cue.ABOVE, ""))[1]
            says = "says" if theirs else "does not say"
            yield Veto("bounds", pair.unfound, f'the source {says} "{written}" of {said.text}')
        led, leads = _steps(pair.claim, word), _steps(pair.home, said)
        if led and leads and led != leads:
            reason = f'the source says "{leads} {said.text}", not "{led} {word.text}"'
            yield Veto("bounds", pair.force([]), reason)


def _is_beyond(number: Token, said: Token, bound: tuple[Cue, str] | None) -> bool:
    """Whether what the claim bounds is on that side of it: over 84,000, of 84,200."""
    if bound is None or not number.value or not said.value or is_year_token(number):
        return False
    ratio = said.value / number.value if bound[0] is Cue.ABOVE else number.value / said.value
    return 1 < ratio <= MAX_BEYOND


def bound_of(reading: Reading, number: Token, language: str) -> tuple[Cue, str] | None:
    first = start_of_quantity(reading, number)
    start = max([first - _BOUND_REACH, *(n.end for n in reading.numbers if n.end <= first and not n.is_ordinal)])
    before = reading.text[max(0, start) : first]
    after = _BEHIND.match(reading.text, number.end)
    if before[-1:] in (">", "≥", "<", "≤") and before:
        return (Cue.ABOVE if before[-1] in ">≥" else Cue.BELOW), before[-1]
    for cue, other in ((Cue.ABOVE, Cue.BELOW), (Cue.BELOW, Cue.ABOVE)):
        is_time = dimension_of(reading, number) == "time"
        if found := [one.group() for one in cue.find(language, before) if not _is_place(one, is_time=is_time)]:
            is_denied = language == "en" and _DENIED_BOUND.search(reading.text, 0, number.start)
            return (other if is_denied else cue), found[-1]
        if after is not None and bool(after["above"]) is (cue is Cue.ABOVE):
            return cue, after["above"] or after["below"]
    return None


def _is_place(found: regex.Match[str], *, is_time: bool) -> bool:
    """Whether it says where, when or of what else: "over a 3" has an article, "más pequeños tienen 3" other words."""
    word, behind = found.group().lower(), found.string[found.end() :]
    is_during = word == "over" and is_time and not _LASTS.search(found.string, 0, found.start())
    is_small = word in ("below", "under", "above", "over") and _IS.search(behind) is not None
    return is_during or is_small or any(not other.values for other in read(behind).content)


_LASTS = regex.compile(r"\b(?:for|after|of|is|was|are|were|been|aged?|than|(?:last|t[ao]k|took|spen|liv|rul)\p{L}*) $")
_IS = regex.compile(r"\b(?:is|are|was|were|stayed|remained)\b|^\s(?:an?|the) $", regex.IGNORECASE)
_BEHIND = regex.compile(
    r"[\s-]*(?:%|°?\p{L}{1,10})?(?: (?:old|of \p{L}{1,12}))?,? "
    r"(?:(?P<above>(?:or|and) (?:more|older|over|above|higher|longer|larger))|"
    r"(?P<below>(?:or|and) (?:less|fewer|younger|under|below|lower|shorter|smaller)))\b"
)
_DENIED_BOUND = regex.compile(
    r"\b(?:no|none|never|not|neither|nobody)\b[^.;:]{0,60}\b(?:more|larger|longer|older|higher|greater|less|fewer|smaller|"
    r"younger|lower|shorter|above|over|below|under)(?: than)? $",
    regex.IGNORECASE,
)  # no part is larger than 3


def _steps(reading: Reading, number: Token) -> str:
    """Whether a change goes from, to or by the number; "by" where nothing is said of it; "" for no change."""
    if is_year_token(number) or not _MOVES.search(reading.text, 0, number.start):
        return ""
    lead = [word for word in reading.lead(number) if word in ("from", "to", "by", "between", "of", "in", "at", "up")]
    if not lead:
        last = next((word for word in reversed(reading.content) if word.end <= number.start), None)
        return "by" if last is not None and _MOVES.fullmatch(last.text) else ""
    return lead[-1] if lead[-1] in ("from", "to", "by") and lead[-2:] != ["up", "to"] else ""


# Names, roles and opposites


def _check_names(pair: Comparison) -> Iterator[Veto]:
    """A name in another's place, or one that the source nowhere has."""
    for run in _name_runs(pair):
        if any(is_numbered(pair, word) for word in run):
            continue
        strange = [word for word in run if not pair.names(word)]
        said = next((other for word in run if (other := _replacing(pair, word))), None)
        name = pair.claim.text[run[0].start : run[-1].end]
        letters = "".join(regex.findall(r"\b\p{Lu}", name))
        is_short = said is not None and (said.text.startswith(name) or said.text == letters)
        is_short = is_short or (name.isupper() and name.lower() in pair.home.initials)
        if said is not None and strange and not is_short:
            force = pair.force(run) if len(strange) == len(run) or len(run) > 1 else Force.DOUBTS
            yield Veto("names", force, f"the source says {_whole_name(pair, said)}, not {name}")
        elif len(strange) == len(run) or len(strange) > 1:
            yield Veto("names", Force.DOUBTS, f"the source does not name {name}")
        elif said is None or is_short or _is_meant(pair, run):
            continue
        elif pair.is_mostly or _is_elsewhere(pair, run):
            yield Veto("names", Force.DOUBTS, f"the source says {_whole_name(pair, said)} there, not {name}")


def _whole_name(pair: Comparison, word: Token) -> str:
    """The name of the home that a word is part of: New York."""
    unit = next((unit for unit in pair.home.units if word in unit), (word,))
    return pair.home.text[unit[0].start : unit[-1].end]


def _check_first_word(pair: Comparison) -> Iterator[Veto]:
    """Another subject before the same words; as both begin a sentence, a capital does not tell whether it is a name."""
    first, theirs = pair.claim.content[:1], pair.home.content[:1]
    if not first or not theirs or first[0] not in pair.missing or len(pair.partner) < MIN_KEPT - 1:
        return
    if pair.missing != first and not (
        pair.is_mostly and any(match_tokens(first[0], other) for other in pair.alignment.spare)
    ):
        return
    opens = not pair.claim.text[: first[0].start].strip() and not pair.home.text[: theirs[0].start].strip()
    words = (first[0], theirs[0])
    is_name = all(word.text[0].isupper() and word.kind is Kind.WORD and not is_plural(word) for word in words)
    is_name = is_name and not (
        words[0].text[:5] == words[1].text[:5] and all(_DERIVED.search(word.text) for word in words)
    )
    if opens and is_name and theirs[0] not in pair.claimed and not is_numbered(pair, first[0]):
        yield Veto("names", Force.DOUBTS, f"the source says {theirs[0].text}, not {first[0].text}")


_DERIVED = regex.compile(r"(?:ion|ive|al|ity|ment|ance|ing|ed|ic|ous)$")  # Cognition, Cognitive; not Austria, Australia


def _name_runs(pair: Comparison) -> list[list[Token]]:
    """The claim's names, those side by side as one; months and weekdays left out."""
    runs: list[list[Token]] = []
    for word in pair.claim.content:
        if not _is_proper(pair, word) or _names_nobody(word) or _NO_NAME.match(pair.claim.text, max(0, word.start - 1)):
            continue
        if runs and word.start - runs[-1][-1].end == 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    return runs


_NO_NAME = regex.compile(r"°|[^\p{L}]?\p{Lu}(?:\.(?=\p{Lu}\b)|(?=-\p{Ll}))|\.\p{Lu}\b")  # a degree, U.S., an X-ray


def _is_proper(pair: Comparison, token: Token) -> bool:
    """A name, also at the start of a sentence if either text has it as a name elsewhere."""
    if token.kind is Kind.NUMBER or not token.text[:1].isupper():
        return False
    if token.stem in pair.claim.name_stems or token.stem in pair.home.name_stems:
        return True
    return token not in pair.partner and token.stem in pair.wider.name_stems


def _names_nobody(word: Token) -> bool:
    """Whether it is a month, a title or a unit."""
    return bool(calendar_of(word) or word.text.lower() in listed("titles") or unit_of(word.text))


def _replacing(pair: Comparison, word: Token) -> Token | None:
    """The name that stands in its place, unless the claim's stands beside it or has a capital by its place alone."""
    if word in pair.partner or is_called(word, pair.home.text):
        return None
    said = pair.in_place_of(word, lambda other: other.kind is Kind.NAME and not _names_nobody(other))
    return said if said is not None and not pair.claim.match(said) else None


def _is_elsewhere(pair: Comparison, run: list[Token]) -> bool:
    """Whether the sentence has most of the rest of the claim, and none of the name."""
    rest = [word for word in pair.claim.content if word not in run]
    found = sum(pair.home.match(word) > 0 for word in rest)
    return found >= MIN_KEPT and found >= MOSTLY * len(rest) and not any(has_name(word, pair.home) for word in run)


def _is_meant(pair: Comparison, run: list[Token]) -> bool:
    """Whether the claim begins with the name and the home with a "he" or "it" that may stand for it."""
    first = next(word for word in pair.claim.content if not word.values)
    return (points_back(pair.home.text) or _PRONOUN.search(pair.home.text) is not None) and run[0] is first


_PRONOUN = regex.compile(r"\b(?:it|he|she|they)\b")
_DIRECTIONS = [("up", "down"), ("above", "below"), ("over", "under"), ("into", "out"), ("on", "off")]


def _check_opposites(pair: Comparison) -> Iterator[Veto]:
    """A word in the place of its opposite; a denied opposite is the same thing said twice round."""
    opposed = pair.opposed
    word, said = opposed[0] if opposed else (None, None)
    if word and pair.is_converse(word):
        return
    denied = sum(word in scope for scope in denials(pair.claim, pair.language))
    denied += sum(said in scope for scope in denials(pair.home, pair.language))
    is_placed = pair.alignment.matched >= HALF  # in free wording nothing stands in another's place
    if word and said and is_placed and len(opposed) % 2 and denied % 2 == 0 and exchanged(pair) is None:
        yield Veto("opposites", pair.force([word]), f'the source says "{said.text}", not "{word.text}"')
    elif (
        (found := pair.opposed_anywhere)
        and exchanged(pair) is None
        and not pair.is_converse(found[0])
        and not any(denials(reading, pair.language) for reading in (pair.claim, pair.home))
    ):
        yield Veto("opposites", Force.DOUBTS, f'the source says "{found[1].text}", not "{found[0].text}"')
    for word, said in pair.partner.items():
        ours, theirs = pair.claim.lead(word), pair.home.lead(said)
        for one, other in _DIRECTIONS:
            if (one in ours and other in theirs) or (other in ours and one in theirs):
                there, here = (other, one) if one in ours else (one, other)
                yield Veto("opposites", pair.force([]), f'the source says "{there}", not "{here}"')


def _check_replaced_word(pair: Comparison) -> Iterator[Veto]:
    """Where no opposites are known: a copy of the sentence with another word in one's place."""
    if pair.language == "en":
        return
    for gap in pair.alignment.gaps:
        said = [word for word in gap.said if word.kind is Kind.WORD]
        if (
            said
            and gap.claimed[0].kind is Kind.WORD
            and gap.claimed[0].text not in listed("no_denial")
            and gap.claimed[0].text[0].isupper() is said[0].text[0].isupper()  # a verb is no noun's rival
            and len(gap.claimed) <= MAX_ADDED
            and pair.differs_only_in(gap.claimed)
        ):
            force = Force.DOUBTS if len(gap.said) <= len(gap.claimed) else Force.ASKS  # told otherwise, perhaps
            yield Veto("wording", force, f'the source says "{said[0].text}", not "{gap.claimed[0].text}"')
            return


# What stands around the sentence


def _check_frame(pair: Comparison) -> Iterator[Veto]:
    """What stands around the sentence in the source and makes it another's, a question or a mistake."""
    content = pair.context if pair.sentence in pair.context else pair.passage
    at = content.find(pair.sentence)
    if at < 0:
        return
    if pair.is_close and (frame := find_frame(content, at, at + len(pair.sentence), pair.claim.text)):
        yield Veto("frame", Force.DOUBTS, frame)
    elif not (pair.is_close or denials(pair.claim, pair.language)) and 2 * len(pair.claimed) >= len(pair.home.content):
        for lead in leads_above(content, at):  # an item of what it denies, told in other words
            opposed = [
                word for word in read(lead).content for own in pair.claim.content if are_opposite(own.stem, word.stem)
            ]
            if lead.endswith(":") and (opposed or denials(read(lead), pair.language)):
                yield Veto("frame", Force.DOUBTS, f'it stands under "{lead}"')
                return


RULES: tuple[Rule, ...] = (
    _check_numbers, _check_dates, _check_units, _check_bounds, _check_names, _check_first_word, *ROLE_RULES,
    _check_opposites, _check_replaced_word, *LIMIT_RULES, *BINDING_RULES, check_subject, check_language, _check_frame,
)  # fmt: skip
COPY_RULES: tuple[Rule, ...] = (check_subject, check_language, _check_frame)  # all that can be said of a copy
