"""What rules may say against a claim: where the words of its source differ from its own in what they claim.

A veto contradicts only where the claim repeats a sentence of the source and one thing in it is replaced; all less
certain doubts. Rules confirm nothing: where none speaks the claim may still be false.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, pairwise, product

import regex

from core.evidence.rules.alignment import (
    MIN_KEPT,
    MOSTLY,
    Comparison,
    Force,
    Rule,
    Veto,
    align,
    calendar_of,
    has_name,
    is_inverted,
    is_plural,
    is_year_token,
    only_place,
    only_unit,
    turned_in_german,
)
from core.evidence.rules.binding import BINDING_RULES, check_subject
from core.evidence.rules.quantities import (
    days_in,
    dimension_of,
    has_number,
    is_about,
    is_part,
    measure,
    multiple_in,
    near,
    plain_days,
    ratio_of,
    shares,
    slashed_dates,
    start_of_quantity,
)
from core.evidence.rules.small_words import AROUND_RULES, LIMIT_RULES, check_language, denials
from core.evidence.rules.words import Kind, Reading, Token, is_irregular_past, listed, match_tokens, pattern, read
from core.evidence.verbatim import points_back
from core.text.language import Cue, negations
from core.text.numbers import is_loose, unit_of

__all__ = ["Force", "Veto", "find_vetoes", "says_same"]

MAX_CLAIM_CHARS = 2000  # a claim is a sentence; what is longer cannot be checked as one, and costs time
MAX_PASSAGE_CHARS = 6000  # of passage and of context; both are a few sentences


def find_vetoes(claim: str, passage: str, *, context: str = "", before: str = "") -> tuple[Veto, ...]:
    """What speaks against `claim`, what weighs most first; empty where nothing does, however free the wording.

    `passage` is the 1–3 sentences proposed as evidence, `context` what else of the source bears on them (title, date,
    neighbours), `before` the last sentence shown before the claim, "" if none.
    """
    claim, passage, context = claim.strip(), passage.strip()[:MAX_PASSAGE_CHARS], context[:MAX_PASSAGE_CHARS]
    if len(claim) > MAX_CLAIM_CHARS:
        return (Veto("length", Force.DOUBTS, "too long for one claim"),)
    if not passage or not claim:
        return ()
    return _find(claim, passage, context, before)


@lru_cache(maxsize=1024)
def _find(claim: str, passage: str, context: str, before: str) -> tuple[Veto, ...]:
    pair = Comparison(claim, passage, context, before)
    rules = (check_language, _check_numbers) if pair.is_translated else COPY_RULES if pair.is_copy else RULES
    found = dict.fromkeys(veto for rule in rules for veto in rule(pair))
    return tuple(sorted(found, key=lambda veto: list(Force).index(veto.force)))


def says_same(one: str, other: str) -> bool:
    """Whether `other` says what `one` says, in the same words up to small changes and with no veto; it may say more."""
    if align(one, other).matched < SAME or find_vetoes(one, other, before=other):
        return False
    says_more = align(other, one).matched < SAME
    return says_more or not find_vetoes(other, one, before=one)


SAME = 0.8  # share of a sentence's content words that another has in the same order; by judgement


# Numbers, dates and units


def _check_numbers(pair: Comparison) -> Iterator[Veto]:
    """A number in another's place, or one that the source nowhere gives; of "twice as many", whether they are."""
    multiple = multiple_in(pair.claim)
    if multiple and not pair.multiple:
        yield Veto(
            "numbers", Force.DOUBTS, f'the source does not say "{pair.claim.text[multiple.start : multiple.end]}"'
        )
    taken = [(multiple.start, multiple.end)] if multiple else []
    taken += [(date.start, date.end) for date in slashed_dates(pair.claim)]
    for number in pair.claim.numbers:
        if any(start <= number.start < end for start, end in taken) and not is_year_token(number):
            continue
        said = pair.in_place_of(number, lambda other: other.kind is Kind.NUMBER)
        if said is not None and number.is_ordinal is not said.is_ordinal:
            said = None
        if any(has_number(pair.claim, number, text) for text in (pair.home, pair.wider)):
            is_exact = any(other.stem == number.stem for other in pair.wider.numbers)
            is_exact = is_exact and start_of_quantity(pair.claim, number) == number.start and not is_part(number)
            is_meant = said is not None and is_about(pair.claim, number) and near(pair.claim, number, pair.home, said)
            if said is not None and is_exact and not is_meant and _is_of_another(pair, number, said):
                yield Veto("numbers", Force.DOUBTS, f"the source says {said.text} there, not {number.text}")
        elif _may_be(pair, number):
            continue
        elif (said := said or _counting_same(pair, number)) is not None:
            yield Veto("numbers", _force_of(pair, number, said), f"the source says {said.text}, not {number.text}")
        elif not is_loose(number.text) or _is_meant_exactly(pair, number):
            yield Veto("numbers", Force.DOUBTS, f"the source does not give {number.text}")


def _is_meant_exactly(pair: Comparison, number: Token) -> bool:
    """Whether a small number in words measures: ten years, half of what the source does not speak of."""
    if number.is_ordinal or is_about(pair.claim, number):
        return False
    of_what = next((word for word in pair.claim.content if word.start > number.start), number)
    return not pair.wider.match(of_what) if is_part(number) else bool(dimension_of(pair.claim, number))


def _counting_same(pair: Comparison, number: Token) -> Token | None:
    """The home's number before the word that the claim has behind its own: 42 metres, where the claim has 58 metres."""
    counted = _counted(pair.claim, number)
    there = pair.partner.get(counted) if counted is not None else None
    if counted is not None and there is None and not number.is_ordinal:
        there = only_place(pair.home, counted)
    alike = [other for other in pair.home.numbers if other.is_ordinal is number.is_ordinal]
    return next((other for other in alike if there and _counted(pair.home, other) == there), None)


def _force_of(pair: Comparison, number: Token, said: Token) -> Force:
    """Contradicts where the numbers are of one kind and nothing else differs; of years, in short sentences too."""
    if Cue.HEDGE.first(pair.language, pair.claim.text):
        return Force.DOUBTS  # what should have been may differ from what was
    is_year = is_year_token(number)
    if is_year is not is_year_token(said) or dimension_of(pair.claim, number) != dimension_of(pair.home, said):
        return Force.DOUBTS
    is_short = is_year and len(pair.partner) == MIN_KEPT - 1 and set(pair.missing) == {number}
    unit = _counted(pair.claim, number) if dimension_of(pair.claim, number) else None  # two hours for 45 minutes
    return Force.CONTRADICTS if is_short else pair.force([number, *([unit] if unit else [])])


def _is_of_another(pair: Comparison, number: Token, said: Token) -> bool:
    """Whether the source has the number of something else, and `said` of what the claim counts."""
    if has_number(pair.home, said, pair.claim) or is_year_token(number) is not is_year_token(said):
        return False
    own = next((other for other in pair.home.numbers if other.stem == number.stem), said)
    if not is_year_token(number) and _company(pair, own) > _company(pair, said):
        return False  # it stands among the claim's words, and the other does not
    if pair.is_mostly and not _is_range_end(pair.home, number):
        return True
    ours, theirs = _counted(pair.claim, number), _counted(pair.home, said)
    there = [_counted(pair.wider, other) for other in pair.wider.numbers if other.stem == number.stem]
    is_elsewhere = any(other is None or (ours and match_tokens(ours, other)) for other in there)
    return bool(ours and theirs and match_tokens(ours, theirs)) and not is_elsewhere


def _company(pair: Comparison, number: Token) -> int:
    """How many of the home's content words around a number the claim has."""
    at = pair.home.content.index(number)
    return sum(pair.claim.match(word) > 0 for word in pair.home.content[max(0, at - COMPANY) : at + COMPANY + 1])


COMPANY = 3  # content words on either side


def _counted(reading: Reading, number: Token) -> Token | None:
    """The word behind a number, which it counts or measures."""
    at = reading.positions[number] + 1
    word = reading.tokens[at] if at < len(reading.tokens) else None
    return word if word is not None and word.kind in (Kind.WORD, Kind.SIGN) else None


def _may_be(pair: Comparison, number: Token) -> bool:
    """Whether what the claim says of a number is true of what the source says: about 40, over 40."""
    claim, home = pair.claim, read(pair.sentence)  # with what stands in brackets
    others = home.numbers
    if is_about(claim, number):
        return any(near(claim, number, home, other) for other in others)
    if claim.text[: number.start].lower().endswith(("half ", "halbe ", "medio ", "demi ")):  # half a million
        return any(0.45 < (ratio_of(claim, number, home, other) or 0) < 0.55 for other in others)
    bound = _bound(claim, number, pair.language)
    part = next((share for share in shares(claim) if share.start <= number.start < share.end), None)
    if not bound or is_year_token(number):
        return False
    ratios = [share.points / part.points for share in shares(home)] if part else []
    ratios += [ratio for other in others if not part and (ratio := ratio_of(claim, number, home, other))]
    return any(1 < ratio <= MAX_BEYOND if bound[0] is Cue.ABOVE else 1 / MAX_BEYOND <= ratio < 1 for ratio in ratios)


MAX_BEYOND = 1.5  # times a number; farther from it, nobody would say "more than"


def _check_dates(pair: Comparison) -> Iterator[Veto]:
    """Another month or weekday in the same place, one the source has not, or another day of the month."""
    months = {month for date in slashed_dates(pair.wider) for month, _ in date.days}
    for word in pair.claim.names:
        calendar = calendar_of(word)
        if not calendar or word.stem in pair.home.stems or word.stem in pair.wider.stems or word.stem in months:
            continue
        said = pair.in_place_of(word, lambda other, names=calendar: other.stem in names)  # type: ignore[misc]
        if said is not None:
            yield Veto("dates", pair.force([word]), f"the source says {said.text}, not {word.text}")
        else:
            yield Veto("dates", Force.DOUBTS, f"the source does not have {word.text}")
    at_home = days_in(pair.home)
    for date in slashed_dates(pair.claim):
        if date.days.isdisjoint(days_in(pair.wider)):
            written = pair.claim.text[date.start : date.end]
            yield Veto("dates", Force.DOUBTS, f"the source does not have {written}")
    for day, text in plain_days(pair.claim).items():
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
        ours, theirs = _bound(pair.claim, word, pair.language), _bound(pair.home, said, pair.language)
        if ours and theirs and ours[0] is not theirs[0]:
            bounds = [token for token in pair.missing if token.text.lower() in ours[1].lower().split()]
            reason = f"the source says {theirs[1]} {said.text}, not {ours[1]} {word.text}"
            yield Veto("bounds", pair.force(bounds), reason)
        elif bool(ours) != bool(theirs) and not _is_range_end(pair.home, said) and not _is_beyond(word, said, ours):
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


def _bound(reading: Reading, number: Token, language: str) -> tuple[Cue, str] | None:
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
    """Whether it says where or when: "below roofs were 3" has a verb before the number, "over a 3" an article."""
    word, behind = found.group().lower(), found.string[found.end() :]
    is_during = word == "over" and is_time and not _LASTS.search(found.string, 0, found.start())
    return is_during or (word in ("below", "under", "above", "over") and _IS.search(behind) is not None)


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


def _is_range_end(reading: Reading, number: Token) -> bool:
    """Whether a range of the text begins or ends with the number: 1 to 30, 11-26."""
    return any(
        number.stem in (one.stem, other.stem)
        and is_year_token(one) == is_year_token(other)
        and _RANGE.fullmatch(reading.text, one.end, other.start)
        for one, other in pairwise(reading.numbers)
    )


_RANGE = regex.compile(r"\s?(?:-|–|to|and|bis|a|à)\s?")


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
        strange = [word for word in run if not pair.names(word)]
        said = next((other for word in run if (other := _replacing(pair, word))), None)
        name = pair.claim.text[run[0].start : run[-1].end]
        letters = "".join(regex.findall(r"\b\p{Lu}", name))
        is_short = said is not None and (said.text.startswith(name) or said.text == letters)
        if said is not None and strange and not is_short:
            force = pair.force(run) if len(strange) == len(run) or len(run) > 1 else Force.DOUBTS
            yield Veto("names", force, f"the source says {said.text}, not {name}")
        elif len(strange) == len(run) or len(strange) > 1:
            yield Veto("names", Force.DOUBTS, f"the source does not name {name}")
        elif said is None or is_short or _is_meant(pair, run):
            continue
        elif pair.is_mostly or _is_elsewhere(pair, run):
            yield Veto("names", Force.DOUBTS, f"the source says {said.text} there, not {name}")


def _check_first_word(pair: Comparison) -> Iterator[Veto]:
    """Another subject before the same words; as both begin a sentence, a capital does not tell whether it is a name."""
    first, theirs = pair.claim.content[:1], pair.home.content[:1]
    if not first or not theirs or first[0] not in pair.missing or len(pair.partner) < MIN_KEPT - 1:
        return
    if pair.missing != first and not (pair.is_mostly and pair.alignment.is_moved(first[0])):
        return
    opens = not pair.claim.text[: first[0].start].strip() and not pair.home.text[: theirs[0].start].strip()
    words = (first[0], theirs[0])
    is_name = all(word.text[0].isupper() and word.kind is Kind.WORD and not is_plural(word) for word in words)
    if opens and is_name and theirs[0] not in pair.claimed:
        yield Veto("names", Force.DOUBTS, f"the source says {theirs[0].text}, not {first[0].text}")


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
    if word in pair.partner:
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


ALL_THERE = 0.75  # share of the claim's words that the sentence must have, before their places are compared
MAX_UNITS = 40  # words or names of a claim that are tried in each other's place
_BE = frozenset("is are was were be been being and or nor as like with versus vs".split())
_PASSIVE = pattern("passive", is_cased=True)


def _check_roles(pair: Comparison) -> Iterator[Veto]:
    """Two words in each other's place: "A sued B" and "B sued A"; correct passives keep theirs."""
    in_german = turned_in_german(pair)
    if pair.multiple or in_german is False:
        return  # half as many men as women: twice as many women as men
    missing = any(not pair.home.match(word) for word in pair.claim.content)
    if (exchanged := _exchanged(pair)) is not None and not pair.opposed:
        one, other = exchanged
        are_names = one.kind is other.kind is Kind.NAME and pair.language == "en"
        is_same = are_names or len(pair.home.content) <= len(pair.claim.content) + 1
        force = Force.CONTRADICTS if is_same and not missing else Force.DOUBTS
        yield Veto("roles", force, f'"{one.text}" and "{other.text}" have changed places')
    elif in_german or _is_passive_turned(pair):
        force = Force.DOUBTS if in_german or missing else Force.CONTRADICTS
        yield Veto("roles", force, "the source has it the other way round")


def _exchanged(pair: Comparison) -> tuple[Token, Token] | None:
    """Two of the claim's words each of which has the other's slot in the home."""
    if bool(_ANY_PASSIVE.search(pair.claim.text)) != _has_passive(pair):
        return None  # each has the other's place, rightly
    kept = sum(pair.home.match(word) > 0 for word in pair.claim.content)
    if kept < MIN_KEPT or kept < ALL_THERE * len(pair.claim.content):
        return None
    is_copy = len(pair.home.content) <= len(pair.claim.content) + 1
    units = [(unit, place) for unit in pair.claim.units if (place := only_unit(pair.home, unit)) is not None]
    for (one, its), (other, others) in combinations(units[:MAX_UNITS], 2):
        is_alike = is_copy or one[0].text[0].isupper() is other[0].text[0].isupper()
        if its[0].start < others[0].start or not (is_alike and _are_rivals(one[0], other[0])):
            continue
        if _exchange(pair, (one[0], its[0]), (other[0], others[0])):
            return one[0], other[0]
    return None


def _has_passive(pair: Comparison) -> bool:
    """Whether something is done to somebody in as much of the home as has the claim's words."""
    first = {word.stem: word.end for word in reversed(pair.home.content) if pair.claim.match(word)}
    return _ANY_PASSIVE.search(pair.home.text, 0, max(first.values(), default=0)) is not None


def _check_doer(pair: Comparison) -> Iterator[Veto]:
    """A name that does in the claim what is done to it in the source, or to something of it."""
    if (
        _ANY_PASSIVE.search(pair.claim.text)
        or _has_passive(pair)
        or is_inverted(pair)
        or turned_in_german(pair) is not None
    ):
        return
    for name, verb in pairwise(pair.claim.content):
        is_doer = (
            name.text[0].isupper()
            and not calendar_of(name)
            and not _PRONOUN.search(pair.claim.text, name.end, verb.start)
        )
        if not is_doer or not _is_verb(pair, verb):
            continue
        there = pair.home.content
        verbs = [at for at, word in enumerate(there) if word.stem == verb.stem]
        names = [at for at, word in enumerate(there) if word.stem == name.stem]
        if len(verbs) == 1 and names and all(0 < at - verbs[0] <= DONE_TO for at in names):
            yield Veto("roles", Force.DOUBTS, f'the source says "{there[verbs[0]].text}" before {name.text}')
            return


DONE_TO = 4  # content words behind a verb among which its object stands
_ANY_PASSIVE = pattern("any_passive")


def _is_verb(pair: Comparison, word: Token) -> bool:
    """Whether it is a verb by its form or by what leads to it; outside English any word in small letters may be."""
    if not word.text.islower() or word.kind is not Kind.WORD:
        return False
    leads = pair.claim.lead(word)[-1:]
    is_led = bool({"to", "can", "will", "may", "would", "could", "must", "did"}.intersection(leads))
    return pair.language != "en" or is_led or word.text.endswith("ed") or is_irregular_past(word.text)


def _are_rivals(one: Token, other: Token) -> bool:
    """Whether one could stand for the other: two numbers or two things, not a month and its day nor two verbs."""
    is_number = one.kind is Kind.NUMBER
    same = is_number is (other.kind is Kind.NUMBER) and not calendar_of(one) and not calendar_of(other)
    return same and (is_number or not any(_NO_THING.search(word.text) for word in (one, other)))


_SMALL = regex.compile(r"\b\p{Ll}")
_NO_NAME = regex.compile(r"°|[^\p{L}]?\p{Lu}(?:\.(?=\p{Lu}\b)|(?=-\p{Ll}))|\.\p{Lu}\b")  # a degree, U.S., an X-ray
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
    owner = any(word.text.endswith(("'s", "’s", "s'", "s’")) for word in (*one, *other))
    return not owner and bool(pivots or leads - _BE)


def _slot(reading: Reading, word: Token) -> tuple[str, ...]:
    return tuple(lead for lead in reading.lead(word) if lead not in negations("en"))[-1:]


def _is_passive_turned(pair: Comparison) -> bool:
    """Whether both are passives of one verb, and the doers of each are whom the other says it was done to."""
    return any(
        one[1] == other[1] and one[0] & other[2] and one[2] & other[0] and not (one[0] & other[0] or one[2] & other[2])
        for one, other in product(_passives(pair.claim), _passives(pair.home))
    )


def _passives(reading: Reading) -> Iterator[tuple[set[str], ...]]:
    """The stems of to whom it was done, of the verb and of by whom, for each passive with a doer."""
    for start, at in (found.span() for found in _PASSIVE.finditer(reading.text)):
        end = next((sign.start() for sign in _CLAUSE_END.finditer(reading.text, at)), len(reading.text))
        sides = ((0, start), (start, at), (at, end))
        yield tuple({one.stem for one in reading.content if first <= one.start < stop} for first, stop in sides)


_CLAUSE_END = regex.compile(r"[,;:.(]|\b(?:in|on|at|of|for|after|before|because|when|while|who|which|that|and)\b")
_DIRECTIONS = [("up", "down"), ("above", "below"), ("over", "under"), ("into", "out"), ("on", "off")]


def _check_opposites(pair: Comparison) -> Iterator[Veto]:
    """A word in the place of its opposite; a denied opposite is the same thing said twice round."""
    if pair.multiple:
        return
    opposed = pair.opposed
    word, said = opposed[0] if opposed else (None, None)
    denied = sum(word in scope for scope in denials(pair.claim, pair.language))
    denied += sum(said in scope for scope in denials(pair.home, pair.language))
    if word and said and len(opposed) % 2 and denied % 2 == 0 and _exchanged(pair) is None:
        yield Veto("opposites", pair.force([word]), f'the source says "{said.text}", not "{word.text}"')
    elif (
        (degrees := pair.opposed_anywhere)
        and _exchanged(pair) is None
        and not any(denials(reading, pair.language) for reading in (pair.claim, pair.home))
    ):
        yield Veto("opposites", Force.DOUBTS, f'the source says "{degrees[1].text}", not "{degrees[0].text}"')
    for word, said in pair.partner.items():
        ours, theirs = pair.claim.lead(word), pair.home.lead(said)
        for one, other in _DIRECTIONS:
            if (one in ours and other in theirs) or (other in ours and one in theirs):
                there, here = (other, one) if one in ours else (one, other)
                yield Veto("opposites", pair.force([]), f'the source says "{there}", not "{here}"')


RULES: tuple[Rule, ...] = (
    _check_numbers, _check_dates, _check_units, _check_bounds, _check_names, _check_first_word, _check_roles,
    _check_doer, _check_opposites, *LIMIT_RULES, *BINDING_RULES, check_subject, *AROUND_RULES,
)  # fmt: skip
COPY_RULES: tuple[Rule, ...] = (check_subject, *AROUND_RULES)  # all that can be said of a copy
