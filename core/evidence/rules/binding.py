"""Vetoes on how the words of a claim hang together: what is said of whom, and what no word of the source stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

import regex

from core.evidence.rules.alignment import (
    MAX_SENTENCES,
    TOLD,
    Comparison,
    Force,
    Rule,
    Veto,
    calendar_of,
    has_name,
    is_range_end,
    is_year_token,
)
from core.evidence.rules.quantities import (
    dimension_of,
    unit_words,
)
from core.evidence.rules.words import (
    Kind,
    Reading,
    Token,
    is_irregular_past,
    listed,
    match_tokens,
    pattern,
    read,
)
from core.evidence.verbatim import points_back, quotations_in, start_of, subject_of, verify_quote
from core.text.language import Cue
from core.text.numbers import is_loose
from core.text.sentences import sentences_of
from core.text.terms import is_common

# What is said of whom

MIN_CONTENT = 4  # content words below which a claim without a verb is a fragment
_VERB = regex.compile(r"\p{L}{2}ed\b|n['’]t\b|[.!?。]\W*$", regex.IGNORECASE)  # or a stop, as sentences have


def check_subject(pair: Comparison) -> Iterator[Veto]:
    """A claim about "it" or "the company", unless what the answer spoke of last stands in the evidence."""
    text = pair.claim.text
    if points_back(text) and not _is_self(pair) and not text.endswith(":"):
        before = pair.before if pair.before.content else read(pair.context.partition("\n")[0])  # else what it is about
        subject = subject_of(before.text)
        if not subject.content:
            chained = [word for word in before.names if pair.names(word)]
            if not chained:
                yield Veto("subject", Force.DOUBTS, f'who or what "{text.split()[0]}" is, was not said before')
        elif (
            pair.before.content
            and not any(pair.names(word) for word in (*subject.content, *before.content[:1]))
            and not _NAMES_PART.fullmatch(before.text)
        ):
            yield Veto("subject", Force.DOUBTS, f"the source does not speak of {subject.text}")
        elif (other := _other_subject(pair, before)) is not None:
            yield Veto("subject", pair.unfound, f"the source says it of {other.text}")
    small = [token.text.lower() for token in pair.claim.tokens]
    has_verb = _VERB.search(text) or any(lower in listed("finite") or is_irregular_past(lower) for lower in small)
    is_item = pair.before.text.rstrip().endswith(":") or _is_value(pair)  # that has the verb
    if len(pair.claim.content) < MIN_CONTENT and not has_verb and not is_item:
        yield Veto("fragment", Force.DOUBTS, "not a whole sentence")


_NAMES_PART = regex.compile(  # a heading of what follows, which speaks of another: "1. **Engulfment**"
    r"\W*(?:\d+\W+)?(?:\p{L}+\s){0,2}\p{L}{3,}(?:ment|tion|sion|ance|ence|ing|ery|ysis|ung|ción|ação|azione)s?\W*",
    regex.IGNORECASE,
)


def _is_self(pair: Comparison) -> bool:
    """Whether the claim speaks of "the study", or of its authors, as its source does."""
    match = _SELF.match(pair.claim.text) or _SELF.match(pair.before.text)
    if match is None:
        return False
    said, noun = pair.wider.text.lower(), match["noun"].lower()
    is_theirs = noun == "authors" and match.string == pair.before.text  # "They", of whom it was said already
    return is_theirs or noun in said or _WE.search(said) is not None


_SELF = regex.compile(
    r"the (?P<noun>study|studies|authors?|researchers?|report|survey|trial|paper)\b", regex.IGNORECASE
)
_WE = regex.compile(r"\b(?:we|our)\b")


def _is_value(pair: Comparison) -> bool:
    """Whether the claim is a thing and its value, which stand in one part of the source's sentence, too."""
    parts = regex.split(r"[,;.()](?:\s|$)", pair.home.text) if _VALUED.search(pair.claim.text) else []
    return any(all(read(part).match(word) for word in pair.claim.content) for part in parts)


_VALUED = regex.compile(r": | [–—-] ")


def _other_subject(pair: Comparison, before: Reading) -> Token | None:
    """The name that begins the home, where what was spoken of before is another."""
    own = _own_subject(pair.home)
    subject = next((unit for unit in pair.home.units if unit[0].start >= own), ())
    if not subject or not subject[0].text[0].isupper() or pair.claim.match(subject[0]) or calendar_of(subject[0]):
        return None
    if subject[0].text.lower() in listed("limiting") or subject[0].start < start_of(pair.home.text):
        return None  # After, Despite, Nevertheless
    if subject[0].kind is Kind.WORD and subject[0].text.endswith(("s", "ing")):
        return None
    first = min(pair.claimed, key=lambda word: word.start, default=None)
    if first and any(subject[0].start < word.start < first.start and before.match(word) for word in pair.home.names):
        return None  # it goes on to what was spoken of: Oxygen was found by two, but Priestley is given priority
    opens = own > 0 or subject[0].start <= max(
        start_of(pair.home.text), len(pair.home.text) - len(pair.home.text.lstrip())
    )
    is_subject = first is not None and subject[-1].end <= first.start and opens
    return subject[0] if is_subject and not any(has_name(word, before) for word in subject) else None


def _holders(pair: Comparison) -> list[Token]:
    """Whom the claim may speak of: the words that it begins with, or those that its "he" stands for; perhaps nobody."""
    text = pair.claim.text
    if points_back(text):
        if _NAMES_PART.fullmatch(pair.before.text):
            return []
        subject = list(subject_of(pair.before.text).content)
        if not _PERSON.match(text):
            is_name = any(word.kind is Kind.NAME for word in subject)  # a thing may be called otherwise
            return [*pair.before.content[:1], *subject] if is_name else []
        opening = [word for word in pair.before.content[:1] if word.text[0].isupper()]
        names = (word for word in pair.before.names if not calendar_of(word) and not word.text.endswith(("'s", "’s")))
        return [*opening, *names]
    told = _TOLD_AS.match(text)
    units = [unit for unit in pair.claim.units if unit[0].start >= (told.end() if told else start_of(text))]
    first = next((unit for unit in units if not _NOBODY.fullmatch(unit[0].text)), ())
    return list(first) if first and not calendar_of(first[0]) else []


def _is_somebody(pair: Comparison, first: Token) -> bool:
    """Whether the claim's first word is a name, or a thing that the home points back to; asks what is long to read."""
    if points_back(pair.claim.text) or first.kind is Kind.NAME or first.stem in pair.wider.name_stems:
        return True
    return points_back(pair.home.text) and first.stem in pair.wider.stems


_TOLD_AS = regex.compile(  # or a column's head, before the cell
    r"(?i:according to [^,]{1,60},\s|it (?:is|was) \p{L}+ that\s)|\p{Ll}[\p{L} ]{0,30}:\s(?=.*;\s)"
)
_NOBODY = regex.compile(r"\p{Lu}|Yes|No|\p{Ll}+ly")  # an initial: G. Mennen Williams; it was officially opened
_PERSON = regex.compile(r"(?:he|she|his|her|er|sie|il|elle|él|ella|lui|lei|ele|ela|hij|zij)\b", regex.IGNORECASE)


def check_list(pair: Comparison) -> Iterator[Veto]:
    """Of several things with a number each, the number of another: Orm is 40 m deep, Vatn 62 m and Skjold 18 m."""
    home = read(pair.sentence)  # with what stands in brackets
    theirs = counted_parts(home)
    for number, words in counted_parts(pair.claim):
        there = [part for part in theirs if part[0].stem == number.stem]
        kind = (is_year_token(number), dimension_of(pair.claim, number))
        rivals = [
            part
            for part in theirs
            if part[0].stem != number.stem and (is_year_token(part[0]), dimension_of(home, part[0])) == kind
        ]
        if len(there) != 1 or is_loose(number.text) or is_range_end(home, number):
            continue
        own = there[0][1]
        if any(_is_told_of(words, part[1], own) for part in rivals):
            name = next((word for word in own if word.kind is Kind.NAME), own[0])
            yield Veto("list", Force.DOUBTS, f"the source says {number.text} of {name.text}")
            return


def _is_told_of(words: Sequence[Token], part: Sequence[Token], own: Sequence[Token]) -> bool:
    """Whether a claim tells of a part of the source and not of that whose number it has, `own`.

    By a name in place of a name, by one word where both parts are the same but for one, or by more than one word. A
    part with one word may leave out what stands before it: in 1990 Lund had 80 smiths, today 120.
    """
    told = only_shared(words, part, own)
    if not told or only_shared(words, own, part):
        return False
    are_names = all(
        any(word.kind is Kind.NAME or (word.text[0].isupper() and not is_common(word.text)) for word in one)
        for one in (told, own)
    )  # also as a sentence's first word
    others = [len(_beyond(one, other)) for one, other in ((part, own), (own, part))]
    is_parallel = others == [1, 1] and len(own) > 1
    return are_names or is_parallel or min(len(told), len(own)) > 1


MAX_LISTED = 20  # numbers of a sentence; with more it is a table


def only_shared(words: Sequence[Token], part: Sequence[Token], other: Sequence[Token]) -> list[Token]:
    """The words of one part of the source that the claim has, and that another part has not."""
    return [word for word in _beyond(part, other) if any(match_tokens(one, word) for one in words)]


def _beyond(part: Sequence[Token], other: Sequence[Token]) -> list[Token]:
    return [word for word in part if not any(match_tokens(word, one) for one in other)]


@lru_cache(maxsize=256)
def counted_parts(reading: Reading) -> tuple[tuple[Token, tuple[Token, ...]], ...]:
    """Each number with the other content words of its part of the sentence, and of a part beside it without one.

    A part that begins with its number is also about what the part before it begins with: mortality was 8 % with the
    drug and 12 % with placebo. Nothing of a text with more than `MAX_LISTED` numbers.
    """
    if len(reading.numbers) > MAX_LISTED:
        return ()
    marks = list(_PARTS.finditer(reading.text))
    starts, ends = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(reading.text)]
    units = unit_words(reading)
    parts = [
        [word for word in reading.content if start <= word.start < end and word not in units]
        for start, end in zip(starts, ends, strict=True)
    ]
    found, first = [], list[Token]()
    for at, part in enumerate(parts):
        if not any(word.values for word in part):
            continue
        leading = list(takewhile(lambda word: not word.values, part))
        first = leading or first
        near = [one for one in (at - 1, at) if 0 <= one < len(marks) and not marks[one]["end"]]  # marks around it
        sides = (parts[one if one < at else one + 1] for one in near)
        beside = [side for side in sides if not any(word.values for word in side)]
        both = dict.fromkeys(word for one in (part, *beside, first) for word in one)
        words = tuple(word for word in both if not (word.values or calendar_of(word) or word.text in _STATISTICS))
        found += [(word, words) for word in part if word.values and not _is_day(reading, word)]
    return tuple(found)


def is_numbered(pair: Comparison, name: Token) -> bool:
    """Whether the source has the claim's number of it and leaves out the rest: Ystad in 2004, Lund in 2013."""
    own = [words for number, words in counted_parts(pair.home) if number.stem in pair.claim.stems]
    shared = [[word for word in words if pair.claim.match(word)] for words in own]
    return any(words and all(match_tokens(name, word) for word in words) for words in shared)


_STATISTICS = frozenset("CI HR IQR N NS OR P RR SD SE n p".split())  # before a figure, they name nothing
_PARTS = regex.compile(  # what is said of a number in brackets is of its part: 14 months (95% CI, 11-17)
    r"\(\)(*SKIP)(*FAIL)|\p{Nd}[^\s()]{0,12}(?:\s\p{L}[^\s()]{0,20})?\s\([^()]{0,200}\)(*SKIP)(*FAIL)|(?P<end>;(?![^();]{0,99}\)))|[;()]"
    r"|,(?!\p{Nd})|\b(?:and|but|while|whereas|than|versus|vs|und|aber|gegenüber|y|pero|et|mais)\b",
    regex.IGNORECASE,
)


def check_holder(pair: Comparison) -> Iterator[Veto]:
    """What the source says of somebody else: its sentence does not speak of whom the claim begins with."""
    holders = _holders(pair)
    if not holders or pair.is_translated or any(has_name(word, pair.home) for word in holders):
        return
    if pair.home.text.lstrip().startswith("|") and all(word.kind is Kind.WORD for word in holders):
        return  # a column's head says whom a row's cell is about
    rest = [word for word in pair.claim.content if word not in holders and word.text not in _DIMENSIONS]
    found = sum(pair.home.match(word) > 0 for word in rest)
    if len(rest) < MIN_REST or found < TOLD * len(rest) or not _is_somebody(pair, holders[0]):
        return
    spoken_of = _spoken_of(pair)
    if spoken_of is None or any(has_name(word, spoken_of) for word in holders):
        return
    named = next((word for word in reversed(holders) if len(word.text) > 1), holders[-1])  # not an initial
    yield Veto("holder", Force.DOUBTS, f"the source does not say it of {named.text}")


_DIMENSIONS = frozenset("long tall high deep wide old".split())  # the unit before them says it
MIN_REST = 2  # content words besides the name
_REFERRING = pattern("referring")


def _spoken_of(pair: Comparison) -> Reading | None:
    """What the source speaks of where the home does not name it: its title, or the sentence before a "they"."""
    title = pair.context.partition("\n")[0]
    first = subject_of(pair.home.text).content[:1]
    there = next((word for word in pair.home.names if first and word.stem == first[0].stem), None)
    is_led = (
        there is None or pair.home.lead(there) not in ((), ("the",)) or calendar_of(there) or pair.claim.match(there)
    )
    if not is_led and all(word.kind is Kind.NAME for word in _holders(pair)):
        return pair.home  # whatever the page is about, the sentence is about another: At 3,530 km the Volga is …
    refers = _REFERRING.search(pair.home.text, _own_subject(pair.home))
    named = [*pair.home.names, *(word for word in pair.home.content[:1] if word.stem in pair.wider.name_stems)]
    if refers is None or any(name.start < refers.start() for name in named):
        return read(title)
    return read(f"{pair.ahead} {title}") if pair.ahead.strip() else None


def _own_subject(home: Reading) -> int:
    """Where the name stands that a sentence itself puts behind a "her": Her pupil Voss; 0 without one."""
    match = _HER_PUPIL.match(home.text)
    return match.end() - 1 if match else 0


_HER_PUPIL = regex.compile(r"(?:[Hh]is|[Hh]er|[Ii]ts|[Tt]heir) (?:\p{Ll}+ ){1,3}\p{Lu}")


# Who speaks and who acts


def _check_quotations(pair: Comparison) -> Iterator[Veto]:
    """Words in quotation marks that the source does not have letter by letter."""
    for quotation in quotations_in(pair.claim.text):
        words = read(quotation).content  # of a title, which is a name, most are capitalised
        is_title = quotation[:1].isupper() and 2 * sum(not word.text[0].islower() for word in words) > len(words) + 1
        if not is_title and verify_quote(quotation, pair.wider.text) is None:
            yield Veto("quotations", Force.DOUBTS, f'the source does not have the words "{quotation}"')


def _check_speaker(pair: Comparison) -> Iterator[Veto]:
    """What somebody else says: the sentence that has it names another, and so does the one before."""
    match = _SPEAKER.match(pair.claim.text)
    if match is None:
        return
    lines = [sentence.text for sentence in sentences_of(f"{pair.passage}\n{pair.context}")][:MAX_SENTENCES]
    what = [word for word in pair.claim.content if word.start >= match.end()]
    at = max(range(len(lines)), key=lambda place: sum(read(lines[place]).match(word) for word in what), default=0)
    told = sum(read(lines[at]).match(word) > 0 for word in what) if lines else 0
    near = read(" ".join(lines[max(0, at - 1) : at + 1]))
    names = [word for word in pair.claim.names if word.start < match.end("name")]
    if (
        names
        and told >= TOLD * len(what)
        and not points_back(near.text)
        and not any(has_name(one, near) for one in names)
    ):
        yield Veto("said", Force.DOUBTS, f"the source does not have {match['name']} say it")


_SPEAKER = regex.compile(
    r"(?:The )?(?P<name>\p{Lu}[\p{L}.’'-]*(?: (?:of |the )*[\p{L}.’'-]+){0,6}?) "
    r"(?:said|says|concluded?s?|argued?s?|wrote|writes|claim(?:ed|s)|stated?s?|found|reported?s?) that "
)


# Words that were added, taken from two clauses, or put in another's place


_DOES, _LINKED = pattern("does"), pattern("linked")
_STEPS = regex.compile(r"[,;]\s|\band (?:is|are|was|were)\b")  # what else is said of the same
MAX_ADDED = 2  # content words that a copy may add before it says something of its own


def _check_additions(pair: Comparison) -> Iterator[Veto]:
    """A copy of the sentence that goes on to say more, or calls a cause what the source only links."""
    if pair.language != "en":
        return
    does = _DOES.search(pair.claim.text)
    clause = max(map(read, _STEPS.split(pair.home.text)), key=lambda one: sum(map(one.match, pair.claim.content)))
    if does and _LINKED.search(clause.text) and read(does.group()).stems.isdisjoint(pair.wider.stems):
        yield Veto("additions", Force.DOUBTS, f'the source does not say "{does.group()}"')
    for gap in pair.alignment.gaps:
        is_end = gap.after and not gap.before and pair.is_mostly
        is_end = is_end and (not gap.said or _JOINED.search(pair.claim.text, 0, gap.claimed[0].start) is not None)
        words = [word for word in gap.claimed if word.kind is not Kind.NUMBER and word not in unit_words(pair.claim)]
        words = [word for word in words if not Cue.ONLY.first(pair.language, word.text)]  # which another rule reads
        strange = [word for word in words if not pair.wider.match(word)] if is_end else []
        is_enough = len(strange) >= MAX_ADDED or (strange and not pair.alignment.spare)
        if is_enough and is_end and pair.differs_only_in(gap.claimed):
            yield Veto("additions", Force.DOUBTS, f'the source does not say "{strange[0].text}"')
            return


_JOINED = regex.compile(
    r"(?:[,;–—]|\b(?:and|but|while|which|who|so|to|by|with))\s(?:\p{Ll}{1,5}\s){0,3}$"
)  # another clause


def _is_day(reading: Reading, number: Token) -> bool:
    at = reading.positions[number]
    return any(calendar_of(token) for token in reading.tokens[max(0, at - 1) : at + 2])


BINDING_RULES: tuple[Rule, ...] = (
    check_list, check_holder, _check_additions, _check_quotations, _check_speaker,
)  # fmt: skip
