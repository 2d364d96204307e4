"""What rules may say against a claim: where the words of its source differ from its own in what they claim.

A veto contradicts only where the claim repeats a sentence of the source and one thing in it is replaced; all less
certain doubts. Rules confirm nothing: where none speaks the claim may still be false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import combinations, pairwise

import regex
from rapidfuzz.distance import JaroWinkler

from core.evidence.alignment import Alignment, align
from core.evidence.cues import Cue
from core.evidence.frames import find_frame, points_back, subject_of
from core.evidence.opposites import are_opposite
from core.evidence.quantities import has_number, is_about, measure, near
from core.evidence.verbatim import quotations_in, verify_quote
from core.evidence.words import Kind, Reading, Token, is_irregular_past, read
from core.sentences import sentences_of
from core.text.language import KNOWN, detect_language, negations
from core.text.numbers import MONTHS, is_loose, is_year

MAX_CLAIM_CHARS = 2000  # a claim is a sentence; what is longer cannot be checked as one, and costs time
MAX_PASSAGE_CHARS = 6000  # of passage and of context; both are a few sentences
MAX_SENTENCES = 40  # of the passage, among which the claim's home is looked for
HALF = 0.5  # the same, below which a sentence is in words of its own
MOSTLY = 0.6  # the same, below which a word in another's place may be there for another reason
CLOSE = 0.7  # share of the claim's words that stand in order in the sentence; then places may be compared
MIN_KEPT = 3  # content words that a claim must share with the sentence, lest two or three words pass for a copy


class Force(StrEnum):
    CONTRADICTS = "contradicts"
    DOUBTS = "doubts"


@dataclass(frozen=True)
class Veto:
    """`rule` is its name; `reason` is for people: "the source says 40, not 60"."""

    rule: str
    force: Force
    reason: str


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
    pair = _Pair(claim, passage, context, before)
    if pair.is_translated:
        rules: tuple[Rule, ...] = (_check_language, _check_numbers)
    else:
        rules = RULES if pair.language == "en" else OTHER_RULES
    found = list(dict.fromkeys(veto for rule in rules for veto in rule(pair)))
    return tuple(sorted(found, key=lambda veto: list(Force).index(veto.force)))


def says_same(one: str, other: str) -> bool:
    """Whether two sentences say one thing in the same words up to small changes, and no veto speaks either way."""
    return all(align(left, right).matched >= SAME for left, right in ((one, other), (other, one))) and not any(
        find_vetoes(left, right, before=right) for left, right in ((one, other), (other, one))
    )


SAME = 0.8  # share of either sentence's content words that the other has in the same order; by judgement
_LINE_END = regex.compile(r"(?<![,;\-–])\n(?=\p{Lu})")  # a heading, a caption or a date has no full stop
_CONTRAST = regex.compile(
    r"[;:]|\b(?:but|yet|whereas|while|although|though|however|aber|sondern|während|mais|tandis|pero|sino|mientras|ma|"
    r"mentre|mas|enquanto|maar|terwijl)\b",
    regex.IGNORECASE,
)


class _Pair:
    """A claim and its source as every rule sees them; `home` is the sentence of the passage that has most of it."""

    def __init__(self, claim: str, passage: str, context: str, before: str) -> None:
        self.claim, self.before = read(claim), read(before)
        lines = [line for sentence in sentences_of(passage) for line in _LINE_END.split(sentence.text)][:MAX_SENTENCES]
        at = max(range(len(lines)), key=lambda place: self._nearness(read(lines[place])))
        self.home, self.wider = read(lines[at]), read(f"{passage}\n{context}")
        self.passage, self.context = passage, context
        there = detect_language(passage)
        is_same = self.alignment.matched >= HALF  # then the longer text tells the language better
        self.language = there if is_same else detect_language(claim)
        self.is_translated = self.language != there

    def _nearness(self, sentence: Reading) -> tuple[float, float]:
        found = sum(sentence.match(word) for word in self.claim.content)
        return found, align(self.claim.text, sentence.text).matched if found else 0.0

    @cached_property
    def alignment(self) -> Alignment:
        return align(self.claim.text, self.home.text)

    @cached_property
    def partner(self) -> dict[Token, Token]:
        return self.alignment.partner

    @cached_property
    def claimed(self) -> dict[Token, Token]:
        """For each word of the home that the claim has in its place, the claim's."""
        return {said: word for word, said in self.partner.items()}

    @cached_property
    def missing(self) -> tuple[Token, ...]:
        """The claim's content words that do not stand in their place."""
        return tuple(word for word in self.claim.content if word not in self.partner)

    @property
    def is_close(self) -> bool:
        return self.alignment.matched >= CLOSE

    @property
    def is_mostly(self) -> bool:
        return self.alignment.matched >= MOSTLY

    def differs_only_in(self, words: Iterable[Token]) -> bool:
        """Whether the claim repeats the sentence but for these."""
        kept = len(self.partner)
        is_whole = kept >= MIN_KEPT or (kept == MIN_KEPT - 1 and len(self.home.content) <= len(self.claim.content))
        return is_whole and set(self.missing) <= set(words)

    def force(self, words: Iterable[Token]) -> Force:
        """Contradicts where nothing but these words differs."""
        return Force.CONTRADICTS if self.differs_only_in(words) else Force.DOUBTS

    def in_place_of(self, word: Token, kinds: Callable[[Token], bool]) -> Token | None:
        """The home's word of that kind which stands where the claim has `word`."""
        gap = next((gap for gap in self.alignment.gaps if word in gap.claimed), None)
        if gap is None or not gap.is_tight:
            return None
        return next((other for other in gap.near(word) if kinds(other)), None)

    def has_near(self, span: tuple[int, int], *, back: int = 1, ahead: int = 3) -> bool:
        """Whether the claim has one of the content words beside `home.text[span]`."""
        after = [word for word in self.home.content if word.start >= span[1]][:ahead]
        ahead_of = [word for word in self.home.content if word.end <= span[0]][-back:] if back else []
        return any(word in self.claimed for word in (*after, *ahead_of))

    def governs(self, end: int) -> bool:
        """Whether most of what the claim repeats stands behind `end` in the home."""
        after = sum(word.start >= end for word in self.claimed)
        return after > 0 and after >= len(self.claimed) / 2


Rule = Callable[[_Pair], Iterator[Veto]]


def _check_language(pair: _Pair) -> Iterator[Veto]:
    """Outside the known languages nobody here knows what denies; a denial in one language alone is doubted."""
    if pair.language not in KNOWN:
        yield Veto("language", Force.DOUBTS, "its language is not one whose denials are known")
    elif pair.is_translated:
        there = detect_language(pair.home.text)
        ours, theirs = _denials(pair.claim, pair.language), _denials(pair.home, there)
        if there in KNOWN and bool(ours) != bool(theirs):
            yield Veto("negation", Force.DOUBTS, f"the source {'denies something' if theirs else 'denies nothing'}")


# Numbers, dates and units


def _check_numbers(pair: _Pair) -> Iterator[Veto]:
    """A number in another's place, or one that the source nowhere gives."""
    for number in pair.claim.numbers:
        said = pair.in_place_of(number, lambda other: other.kind is Kind.NUMBER)
        if has_number(pair.claim, number, pair.wider):
            if said is not None and pair.is_mostly and not has_number(pair.home, said, pair.claim):
                yield Veto("numbers", Force.DOUBTS, f"the source says {said.text} there, not {number.text}")
        elif said is not None and not _may_be(pair.claim, number, said):
            is_same_kind = _is_year(number) == _is_year(said) and _dimension(pair.claim, number) == _dimension(
                pair.home, said
            )
            force = pair.force([number]) if is_same_kind else Force.DOUBTS
            yield Veto("numbers", force, f"the source says {said.text}, not {number.text}")
        elif not is_loose(number.text) and not any(_may_be(pair.claim, number, other) for other in pair.home.numbers):
            yield Veto("numbers", Force.DOUBTS, f"the source does not give {number.text}")


def _dimension(reading: Reading, number: Token) -> str:
    measured = measure(reading, number)
    return measured.dimension if measured else ""


def _is_year(number: Token) -> bool:
    return number.value is not None and is_year(number.text, number.value)


def _may_be(claim: Reading, number: Token, said: Token) -> bool:
    """Whether what the claim says of a number is true of `said`: about 40, more than 40, fewer than 40."""
    if is_about(claim, number):
        return near(number, said)
    bound = _bound(claim, number, "en")
    if not bound or number.value is None or said.value is None or _is_year(number) or _is_year(said):
        return False
    low, high = sorted((number.value, said.value))
    return (number.value < said.value) == (bound[0] is Cue.ABOVE) and high <= 1.5 * low


def _check_dates(pair: _Pair) -> Iterator[Veto]:
    """Another month or weekday in the same place, one the source has not, or another day of the month."""
    for word in pair.claim.names:
        calendar = _calendar(word)
        if not calendar or word.stem in pair.wider.stems:
            continue
        said = pair.in_place_of(word, lambda other, names=calendar: other.stem in names)  # type: ignore[misc]
        if said is not None:
            yield Veto("dates", pair.force([word]), f"the source says {said.text}, not {word.text}")
        else:
            yield Veto("dates", Force.DOUBTS, f"the source does not have {word.text}")
    said_days = _days(pair.wider)
    for day, text in _days(pair.claim).items():
        if said_days and day not in said_days:
            yield Veto("dates", Force.DOUBTS, f"the source does not have {text}")


_MONTHS = frozenset(MONTHS)
_WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())


def _calendar(token: Token) -> frozenset[str]:
    """The months or the weekdays, whichever the word is one of; else nothing."""
    if token.kind is not Kind.NAME:
        return frozenset()
    return _MONTHS if token.stem in _MONTHS else _WEEKDAYS if token.stem in _WEEKDAYS else frozenset()


def _days(reading: Reading) -> dict[tuple[str, int], str]:
    """The days of the year that a text names, as month and day, with the words that say so."""
    days: dict[tuple[str, int], str] = {}
    for one, other in pairwise(reading.tokens):
        month, day = (one, other) if one.stem in _MONTHS else (other, one)
        if month.stem in _MONTHS and day.value is not None and 1 <= day.value <= 31:
            days.setdefault((month.stem, int(day.value)), f"{one.text} {other.text}")
    return days


def _check_units(pair: _Pair) -> Iterator[Veto]:
    """The same number of something else, unless the source has it of the same thing elsewhere."""
    for word, said in pair.partner.items():
        ours, theirs = (measure(pair.claim, word), measure(pair.home, said)) if word.value is not None else (None, None)
        if ours is None or theirs is None or ours.same_as(theirs):
            continue
        if not any(ours.same_as(measure(pair.wider, other)) for other in pair.wider.numbers):
            units = [token for token in pair.claim.tokens if token.text == ours.unit]
            reason = f"the source says {said.text} {theirs.unit}, not {word.text} {ours.unit}"
            yield Veto("units", pair.force(units), reason)


_BOUND_REACH = 24  # characters before a number in which "more than", "at least" or "under" bounds it
_MOVES = regex.compile(
    r"\b(?:r[io]se[ns]?|rising|fall(?:s|en|ing)?|fell|gr[eo]w[ns]?|increas\w+|decreas\w+|drop\w*|clim\w+|declin\w+|"
    r"reduc\w+|rais\w+|lower\w+|cut|cuts|surg\w+|jump\w*|plung\w+|shr[aiu]nk\w*|expand\w*|gain\w*|widen\w*|slip\w*|"
    r"up|down)\b",
    regex.IGNORECASE,
)


def _check_bounds(pair: _Pair) -> Iterator[Veto]:
    """More than it is not fewer than it, nor the number itself; risen to 5 is not risen by 5."""
    for word, said in pair.partner.items():
        if word.value is None or said.value is None:
            continue
        ours, theirs = _bound(pair.claim, word, pair.language), _bound(pair.home, said, pair.language)
        if ours and theirs and ours[0] is not theirs[0]:
            bounds = [token for token in pair.missing if token.text.lower() in ours[1].lower().split()]
            reason = f"the source says {theirs[1]} {said.text}, not {ours[1]} {word.text}"
            yield Veto("bounds", pair.force(bounds), reason)
        elif bool(ours) != bool(theirs):
            written = (ours or theirs or (Cue.ABOVE, ""))[1]
            says = "says" if theirs else "does not say"
            yield Veto("bounds", Force.DOUBTS, f'the source {says} "{written}" of {said.text}')
        led, leads = _steps(pair.claim, word), _steps(pair.home, said)
        if led and leads and led != leads:
            reason = f'the source says "{leads} {said.text}", not "{led} {word.text}"'
            yield Veto("bounds", pair.force([]), reason)


def _bound(reading: Reading, number: Token, language: str) -> tuple[Cue, str] | None:
    start = max([number.start - _BOUND_REACH, *(token.end for token in reading.numbers if token.end <= number.start)])
    before = reading.text[max(0, start) : number.start]
    after = reading.text[number.end : number.end + 12]
    for cue, behind in ((Cue.ABOVE, "or more"), (Cue.BELOW, "or less")):
        if found := [match.group() for match in cue.find(language, before)]:
            return cue, found[-1]
        if after.lstrip().startswith(behind):
            return cue, behind
    return None


def _steps(reading: Reading, number: Token) -> str:
    """Whether a change goes from, to or by the number; "by" where nothing is said of it; "" for no change."""
    if _is_year(number) or not _MOVES.search(reading.text, 0, number.start):
        return ""
    lead = [word for word in reading.lead(number) if word in ("from", "to", "by", "between", "of", "in", "at", "up")]
    if not lead:
        last = next((word for word in reversed(reading.content) if word.end <= number.start), None)
        return "by" if last is not None and _MOVES.fullmatch(last.text) else ""
    return lead[-1] if lead[-1] in ("from", "to", "by") and lead[-2:] != ["up", "to"] else ""


# Names and roles


TITLES = frozenset(
    """mr mrs ms miss dr prof professor sir dame lord lady king queen prince princess president minister chancellor
    senator governor mayor pope saint st captain general colonel judge justice coach bishop herr frau""".split()
)
MIN_SPELLING = 0.93  # Jaro–Winkler; Tchaikovsky and Tschaikowsky, not Hansen and Hanson
MIN_FUZZY_CHARS = 6


def _check_names(pair: _Pair) -> Iterator[Veto]:
    """A name in another's place, or one that the source nowhere has."""
    for run in _name_runs(pair):
        strange = [word for word in run if not _has_name(word, pair.wider)]
        said = next((other for word in run if (other := _replacing(pair, word))), None)
        name = pair.claim.text[run[0].start : run[-1].end]
        if said is not None and strange and not _is_form_of(name, said, pair.home):
            force = pair.force(run) if len(strange) == len(run) or len(run) > 1 else Force.DOUBTS
            yield Veto("names", force, f"the source says {said.text}, not {name}")
        elif len(strange) == len(run):
            yield Veto("names", Force.DOUBTS, f"the source does not name {name}")
        elif said is not None and pair.is_mostly and not _is_form_of(name, said, pair.home):
            yield Veto("names", Force.DOUBTS, f"the source says {said.text} there, not {name}")


def _check_first_word(pair: _Pair) -> Iterator[Veto]:
    """Another subject before the same words; as both begin a sentence, a capital does not tell whether it is a name."""
    first, theirs = pair.claim.content[:1], pair.home.content[:1]
    if not first or not theirs or pair.missing != first or len(pair.partner) < MIN_KEPT - 1:
        return
    opens = not pair.claim.text[: first[0].start].strip() and not pair.home.text[: theirs[0].start].strip()
    words = (first[0], theirs[0])
    is_name = all(word.text[0].isupper() and word.kind is Kind.WORD and not _is_plural(word) for word in words)
    if opens and is_name and theirs[0] not in pair.claimed:
        yield Veto("names", Force.DOUBTS, f"the source says {theirs[0].text}, not {first[0].text}")


def _name_runs(pair: _Pair) -> list[list[Token]]:
    """The claim's names, those side by side as one; months and weekdays left out."""
    runs: list[list[Token]] = []
    for word in pair.claim.content:
        if not _is_proper(pair, word) or _calendar(word) or word.text.lower() in TITLES:
            continue
        if runs and word.start - runs[-1][-1].end == 1:
            runs[-1].append(word)
        else:
            runs.append([word])
    return runs


def _is_proper(pair: _Pair, token: Token) -> bool:
    """A name, also at the start of a sentence if either text has it as a name elsewhere."""
    if token.kind is Kind.NUMBER or not token.text[:1].isupper():
        return False
    return token.stem in pair.claim.name_stems or token.stem in pair.wider.name_stems


def _has_name(name: Token, reading: Reading) -> bool:
    """Whether the text has the name: as it is, in another form (French, France), spelling, or as initials."""
    if reading.match(name):
        return True
    lower = name.text.lower()
    if name.text.isupper() and 2 <= len(name.text) <= 6 and lower in reading.initials:
        return True
    return len(lower) >= MIN_FUZZY_CHARS and any(
        len(other.text) >= MIN_FUZZY_CHARS
        and lower[:2] == other.text[:2].lower()
        and (lower[:5] == other.text[:5].lower() or JaroWinkler.similarity(lower, other.text.lower()) >= MIN_SPELLING)
        for other in reading.names
    )


def _replacing(pair: _Pair, word: Token) -> Token | None:
    """The name that stands in its place, unless the claim's stands beside it or has a capital by its place alone."""

    def is_name(other: Token) -> bool:
        return other.kind is Kind.NAME and not _calendar(other) and other.text.lower() not in TITLES

    if word in pair.partner:
        return None
    said = pair.in_place_of(word, is_name)
    return said if said is not None and not pair.claim.match(said) else None


def _is_form_of(name: str, said: Token, home: Reading) -> bool:
    """Whether one may be the short form of the other: initials, or one in brackets behind the other."""
    letters = "".join(word[0] for word in name.split() if word[:1].isupper()).lower()
    return said.text.lower() == letters or name.lower() in home.initials


ALL_THERE = 0.75  # share of the claim's words that the sentence must have, before their places are compared
_SYMMETRIC = frozenset(
    """meet met marri marry border resembl equal differ different similar same between share tie join say tell report
    state announc explain add write note ask repli quot""".split()
)
_BE = frozenset("is are was were be been being and or nor as like with versus vs".split())
_PASSIVE = regex.compile(
    r"\b(?:\p{L}+ed|\p{L}+en|\p{L}+wn|made|led|built|won|held|found|sold|bought|told|kept|lost|put|sung|run|begun|"
    r"spent|sent|cut|hit|read|met|paid|taught|caught|fought|brought)\s+by\b"
)


def _check_roles(pair: _Pair) -> Iterator[Veto]:
    """Two words that have taken each other's place: "A sued B" and "B sued A"; correct passives keep theirs."""
    if pair.is_close and (turned := _turned(pair)):
        yield Veto("roles", pair.force(turned), "the source has it the other way round")
    if (exchanged := _exchanged(pair)) is not None and not _opposed(pair):
        one, other = exchanged
        missing = any(not pair.home.match(word) for word in pair.claim.content)
        is_list = one.kind is other.kind is Kind.NUMBER and "," in pair.claim.text[one.end : other.start]
        force = Force.DOUBTS if missing or is_list else Force.CONTRADICTS
        yield Veto("roles", force, f'"{one.text}" and "{other.text}" have changed places')


def _exchanged(pair: _Pair) -> tuple[Token, Token] | None:
    """Two of the claim's words each of which has the other's slot in the home."""
    kept = sum(pair.home.match(word) > 0 for word in pair.claim.content)
    if kept < MIN_KEPT or kept < ALL_THERE * len(pair.claim.content):
        return None
    units = [(unit, place) for unit in pair.claim.units if (place := _only_unit(pair.home, unit)) is not None]
    for (one, its), (other, others) in combinations(units, 2):
        if its[0].start > others[0].start and _exchange(pair, (one[0], its[0]), (other[0], others[0])):
            return one[0], other[0]
    return None


def _only_unit(reading: Reading, unit: tuple[Token, ...]) -> tuple[Token, ...] | None:
    """The one word or name of the text that has the unit's first word."""
    found = [other for other in reading.units if any(word.stem == unit[0].stem for word in other)]
    return found[0] if len(found) == 1 else None


def _only_place(reading: Reading, word: Token) -> Token | None:
    places = [other for other in reading.content if other.stem == word.stem]
    return places[0] if len(places) == 1 else None


def _exchange(pair: _Pair, one: tuple[Token, Token], other: tuple[Token, Token]) -> bool:
    """Whether each has the other's slot: what leads to it, and its side of what stands between them."""
    slots = [(_slot(pair.claim, word), _slot(pair.home, place)) for word, place in (one, other)]
    if slots[0][0] != slots[1][1] or slots[1][0] != slots[0][1]:
        return False
    between = [word for word in pair.claim.content if one[0].end <= word.start < other[0].start]
    pivots = [
        word
        for word in between
        if (place := _only_place(pair.home, word)) and other[1].end <= place.start < one[1].start
    ]
    leads = {word for slot in slots[1] for word in slot}
    if any(word.stem in _SYMMETRIC for word in between) or (not pivots and leads <= _BE):
        return False
    owner = any(word.text.endswith(("'s", "’s", "s'", "s’")) for word in (*one, *other))
    return not owner and bool(pivots or leads - _BE)


def _slot(reading: Reading, word: Token) -> tuple[str, ...]:
    return tuple(lead for lead in reading.lead(word) if lead not in negations("en"))[-1:]


def _turned(pair: _Pair) -> list[Token]:
    """What was done by somebody in the one and is done to them in the other; empty if nothing."""
    for passive, active, is_ours in ((pair.claim, pair.home, True), (pair.home, pair.claim, False)):
        if _PASSIVE.search(active.text):
            continue
        for verb, agent in pairwise(passive.content):
            if passive.lead(agent)[:1] != ("by",) or not _PASSIVE.search(passive.text, verb.start, agent.end):
                continue
            does, doer = _only_place(active, verb), _only_place(active, agent)
            patient = next((word for word in passive.content if word.end <= verb.start), None)
            done = _only_place(active, patient) if patient else None
            if does and doer and done and done.start < does.start < doer.start and not active.lead(doer):
                return [verb, agent] if is_ours else [does, doer]
    return []


# Denials and opposites


REACH = 3  # content words after a negation that it may deny
_FAILING = regex.compile(
    r"fail(?:s|ed|ing|ure)?|lack(?:s|ed|ing)?|absen(?:t|ce)|unable|never|nowhere|zero", regex.IGNORECASE
)
_NO_DENIAL = frozenset(
    "only just least later less fewer more doubt sooner merely simply than nur allein lediglich seulement sólo solo "
    "solamente apenas soltanto somente alleen slechts".split()
)  # behind a negation these make it another thing: not only, no later than, no doubt
_NEGATIVE = regex.compile(
    r"(?:refus|reject|den[iy]|declin|los[est]|miss|stop|prevent|avoid|except|exclu|despite|instead|only|few|littl|rare|end|"
    r"ceas|cancel|drop|ban|forbid|prohibit|unlike|although|but|remov|withdr|leav|fall|un(?!d|i)|dis|non|im(?=p)|ir(?=r)|"
    r"il(?=l)|in(?!t|c|d|f|v|s))\p{L}*"
)  # a source may say with one of these what a claim says with "not"


def _check_negation(pair: _Pair) -> Iterator[Veto]:
    """A negation on one side only, of a word that both sides have; two make none."""
    ours, theirs = _denials(pair.claim, pair.language), _denials(pair.home, pair.language)
    for is_answer in (_is_same_denial, _overlaps):
        for scope in list(ours):
            answer = next((other for other in theirs if is_answer(pair, scope, other)), None)
            if answer is not None:
                ours.remove(scope)
                theirs.remove(answer)
    is_near = pair.is_mostly
    added = [scope for scope in ours if any(word in pair.partner for word in scope)]
    dropped = [scope for scope in theirs if any(word in pair.claimed for word in scope)]
    if (len(added) + len(dropped)) % 2 == 0:
        if ours and not theirs and not any(_is_negative(pair, token) for token in pair.wider.tokens):
            yield Veto("negation", Force.DOUBTS, f'the source denies nothing, the claim "{ours[0][0].text}"')
        return
    if (
        not is_near
        or len(_opposed(pair)) % 2
        or (added and any(_is_negative(pair, token) for token in pair.home.tokens if token not in pair.claimed))
    ):
        return
    certain = not _CONTRAST.search(pair.home.text) and len(pair.home.content) <= 2 * len(pair.claim.content)
    denying = [word for word in pair.missing if pair.in_place_of(word, lambda other: _is_denying(other, pair.language))]
    denying += [word for word in pair.missing if _is_denying(word, pair.language)]
    force = pair.force(denying) if certain else Force.DOUBTS
    if added:
        yield Veto("negation", force, f'the source does not deny "{added[0][0].text}"')
    else:
        yield Veto("negation", force, f'the source denies "{dropped[0][0].text}"')


def _denials(reading: Reading, language: str) -> list[list[Token]]:
    """For each negation the content words it may deny, nearest first; in English two in a row cancel out.

    English denies what follows; elsewhere the negation may stand behind the verb, and two may be one.
    """
    scopes: list[list[Token]] = []
    tokens = reading.tokens
    last = -9
    for at in range(len(tokens)):
        if not _is_cue(reading, at, language):
            continue
        after = [word for word in tokens[at + 1 : at + 9] if word.is_content and not _is_denying(word, language)][
            :REACH
        ]
        if language == "en":
            if scopes and at - last <= 2:
                scopes.pop()
            else:
                scopes.append(after or [word for word in tokens[:at] if word.is_content][-1:])
        elif at - last > 4:
            around = [word for word in tokens[:at] if word.is_content][-REACH:][::-1]
            scopes.append([word for pair in zip(around, after, strict=False) for word in pair] or around or after)
        last = at
    return [scope for scope in scopes if scope]


def _is_cue(reading: Reading, at: int, language: str) -> bool:
    following = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
    if not _is_denying(reading.tokens[at], language):
        return False
    return following is None or not (following.text.lower() in _NO_DENIAL or following.text[:1].isdigit())


def _is_denying(token: Token, language: str) -> bool:
    lower = token.text.lower().replace("’", "'")
    if lower in negations(language) or (language == "fr" and lower.startswith("n'")):
        return True
    return language == "en" and (lower.endswith("n't") or _FAILING.fullmatch(lower) is not None)


def _is_negative(pair: _Pair, token: Token) -> bool:
    return _is_denying(token, pair.language) or _NEGATIVE.fullmatch(token.text.lower()) is not None


def _is_same_denial(pair: _Pair, ours: list[Token], theirs: list[Token]) -> bool:
    return pair.partner.get(ours[0]) == theirs[0]


def _overlaps(pair: _Pair, ours: list[Token], theirs: list[Token]) -> bool:
    said = {pair.partner.get(word) for word in ours}
    return any(word in said for word in theirs) or (
        not any(said - {None}) and bool({w.stem for w in ours} & {w.stem for w in theirs})
    )


_DIRECTIONS = [("up", "down"), ("above", "below"), ("over", "under"), ("into", "out"), ("on", "off")]


def _check_opposites(pair: _Pair) -> Iterator[Veto]:
    """A word in the place of its opposite; a denied opposite is the same thing said twice round."""
    opposed = _opposed(pair)
    denied = len(_denials(pair.claim, pair.language)) + len(_denials(pair.home, pair.language))
    if len(opposed) % 2 and denied % 2 == 0 and _exchanged(pair) is None:
        word, said = opposed[0]
        yield Veto("opposites", pair.force([word]), f'the source says "{said.text}", not "{word.text}"')
    for word, said in pair.partner.items():
        ours, theirs = pair.claim.lead(word), pair.home.lead(said)
        for one, other in _DIRECTIONS:
            if (one in ours and other in theirs) or (other in ours and one in theirs):
                there, here = (other, one) if one in ours else (one, other)
                yield Veto("opposites", pair.force([]), f'the source says "{there}", not "{here}"')


def _opposed(pair: _Pair) -> list[tuple[Token, Token]]:
    """Claim words that stand in the place of their opposite."""
    return [
        (word, said)
        for gap in pair.alignment.gaps
        if gap.is_tight
        for word in gap.claimed
        for said in gap.near(word)
        if are_opposite(word.stem, said.stem) and word.stem not in pair.home.stems
    ]


# What the source limits, doubts or ascribes to somebody


_KINDRED = {
    Cue.HEDGE: (Cue.HEDGE, Cue.SAID),
    Cue.SAID: (Cue.SAID, Cue.HEDGE, Cue.DENIED),
    Cue.DENIED: (Cue.DENIED,),
    Cue.ONLY: (Cue.ONLY,),
    Cue.CONDITION: (Cue.CONDITION, Cue.HEDGE, Cue.LIMIT),
    Cue.LIMIT: (Cue.LIMIT,),
}  # a cue of the source is kept by any of these in the claim
_TELLING = regex.compile(r"\b(?:said|says?|stated?|states|reported?|reports|told|when|where|once)\b", regex.IGNORECASE)


def _check_limits(pair: _Pair) -> Iterator[Veto]:
    """A word by which the source limits, denies or ascribes what the claim repeats without it."""
    if pair.alignment.matched < HALF:
        return
    for cue, kin in _KINDRED.items():
        if any(kind.first(pair.language, pair.claim.text) for kind in kin):
            continue
        if cue is Cue.DENIED and _denials(pair.claim, pair.language):
            continue
        if cue in (Cue.SAID, Cue.CONDITION) and _TELLING.search(pair.claim.text):
            continue
        for match in cue.find(pair.language, pair.home.text):
            if _bears(pair, cue, match.span()):
                force = (
                    pair.force([]) if cue is Cue.DENIED and pair.language == "en" and pair.is_close else Force.DOUBTS
                )
                yield Veto(cue.name.lower(), force, f'the source says "{match.group()}"')
                break


def _bears(pair: _Pair, cue: Cue, span: tuple[int, int]) -> bool:
    if (
        cue is Cue.ONLY
        and pair.home.text[: span[0]].lower().split()[-1:]
        and (pair.home.text[: span[0]].lower().split()[-1] in negations(pair.language))
    ):
        return False  # not only
    if not pair.claimed or any(span[0] <= word.start < span[1] for word in pair.claimed):
        return False
    if cue in (Cue.SAID, Cue.DENIED):
        is_behind = pair.is_close and all(word.end <= span[0] for word in pair.claimed)
        return pair.governs(span[1]) or is_behind
    if cue is Cue.CONDITION or cue is Cue.LIMIT:
        return pair.is_close and pair.has_near(span, back=2, ahead=2)
    return pair.has_near(span)


def _check_added_cues(pair: _Pair) -> Iterator[Veto]:
    """A claim that denies or limits what its source does not."""
    for cue in (Cue.DENIED, Cue.ONLY):
        word = cue.first(pair.language, pair.claim.text)
        if not word or cue.first(pair.language, pair.wider.text) or _denials(pair.home, pair.language):
            continue
        if not any(pair.wider.match(token) for token in read(word).content):
            yield Veto(cue.name.lower(), Force.DOUBTS, f'the source does not say "{word}"')


def _check_dropped_phrases(pair: _Pair) -> Iterator[Veto]:
    """A copy of the sentence that leaves out for whom or under what it holds."""
    if not pair.differs_only_in([]):
        return
    for word in pair.alignment.spare:
        lead = pair.home.lead(word)
        if word.kind is not Kind.WORD or not lead or lead[-1] not in _PREPOSITIONS:
            continue
        before = [other for other in pair.home.content if other.end <= word.start]
        is_held = not before or before[-1] in pair.claimed
        if is_held and (lead[-1] not in ("in", "for", "on") or _is_plural(word)):
            yield Veto("limit", Force.DOUBTS, f'the source says "{lead[-1]} … {word.text}"')
            return


_PREPOSITIONS = frozenset("among amongst under within without until for in during on".split())


def _is_plural(word: Token) -> bool:
    return word.text.endswith("s") and not word.text.endswith("ss")


_RANK = {Cue.SOME: 1, Cue.MOST: 2, Cue.ALL: 3}


def _check_quantifiers(pair: _Pair) -> Iterator[Veto]:
    """A claim of more than the source says: a quantifier that is stronger there, or left out."""
    if pair.alignment.matched < HALF:
        return
    ours, theirs = _ranks(pair, pair.claim), _ranks(pair, pair.home)
    highest = max((rank for _, _, rank in _ranks(pair, pair.wider)), default=0)
    for written, span, rank in ours:
        word = next((other for other in pair.claim.content if other.start >= span[1] and other in pair.partner), None)
        said = pair.partner[word].start if word else 0
        there = [other for _, at, other in theirs if 0 <= said - at[0] <= _QUANTIFIER_REACH] or [highest * (not theirs)]
        if rank >= 2 and rank > max(there):
            yield Veto("quantifiers", Force.DOUBTS, f'the source does not say "{written}"')
            return
    if ours:
        return
    for written, span, rank in theirs:
        word = next((other for other in pair.home.content if other.start >= span[1]), None)
        if rank <= 2 and word in pair.claimed and not _is_counted(pair.claim, pair.claimed[word]):
            yield Veto("quantifiers", Force.DOUBTS, f'the source says "{written}"')
            return


_QUANTIFIER_REACH = 30  # characters before a word in which a quantifier bears on it


def _ranks(pair: _Pair, reading: Reading) -> list[tuple[str, tuple[int, int], int]]:
    return sorted(
        (
            (match.group(), match.span(), rank)
            for cue, rank in _RANK.items()
            for match in cue.find(pair.language, reading.text)
            if not reading.text[match.end() :].lstrip()[:1].isdigit()
        ),
        key=lambda found: found[1],
    )


def _is_counted(reading: Reading, word: Token) -> bool:
    at = reading.positions[word]
    return any(other.value is not None for other in reading.tokens[max(0, at - 3) : at])


_FUTURE = frozenset("will shall won't".split())
_PAST = frozenset("was were had did wasn't weren't hadn't didn't".split())
_PRESENT = frozenset("is are has have does do isn't aren't hasn't haven't doesn't don't".split())
_PLANS = frozenset("will shall won't would plan plans planned expect expects expected going due".split())
_AUXILIARY_REACH = 5  # tokens before a verb among which its auxiliary stands


def _check_tense(pair: _Pair) -> Iterator[Veto]:
    """What was is not what is, nor what will be: a word that both have, in another time there."""
    if pair.alignment.matched < HALF:
        return
    for word, said in pair.partner.items():
        if word.stem != said.stem:
            continue
        ours, theirs = _auxiliaries(pair.claim, word), _auxiliaries(pair.home, said)
        if (ours & _FUTURE and not theirs & _PLANS) or (theirs & _FUTURE and not ours & _PLANS):
            does = "does not say" if ours & _FUTURE else "says"
            yield Veto("tense", Force.DOUBTS, f'the source {does} "will"')
            return
        is_past_now = ours & _PRESENT and not ours & _PAST and theirs & _PAST
        if is_past_now or (_ends_in_s(word, ours) and _is_past_form(said, theirs)):
            yield Veto("tense", Force.DOUBTS, f'the source has "{word.text}" in the past')
            return


def _auxiliaries(reading: Reading, word: Token) -> frozenset[str]:
    """The small words directly before it."""
    at = reading.positions[word]
    found: list[str] = []
    for token in reversed(reading.tokens[max(0, at - _AUXILIARY_REACH) : at]):
        if token.is_content and not token.text.lower().endswith("ly"):
            break
        found.append(token.text.lower())
    return frozenset(found)


def _ends_in_s(word: Token, auxiliaries: frozenset[str]) -> bool:
    return word.text.islower() and word.text.endswith("s") and not auxiliaries


def _is_past_form(word: Token, auxiliaries: frozenset[str]) -> bool:
    lower = word.text.lower()
    return not auxiliaries & (_PRESENT | _PLANS) and (lower.endswith("ed") or is_irregular_past(lower))


# Who speaks, who is spoken of, and what stands around the sentence


def _check_quotations(pair: _Pair) -> Iterator[Veto]:
    """Words in quotation marks that the source does not have letter by letter."""
    for quotation in quotations_in(pair.claim.text):
        is_title = all(not word.text[0].islower() for word in read(quotation).content)  # its names are names
        if not is_title and verify_quote(quotation, pair.wider.text) is None:
            yield Veto("quotations", Force.DOUBTS, f'the source does not have the words "{quotation}"')


_SPEAKS = regex.compile(
    r"(?:according to|as)\s+(?:the )?(?P<one>\p{Lu}[\p{L}.-]+(?: \p{Lu}[\p{L}.-]+)*)|"
    r"(?P<two>\p{Lu}[\p{L}.-]+(?: \p{Lu}[\p{L}.-]+)*),?(?: \p{L}+){0,2} (?:said|says|claimed|claims|argued|argues|"
    r"believes|believed|wrote|writes|reported|reports|stated|states|announced|warned|told|suggested|found|concluded)\b"
)


def _check_speaker(pair: _Pair) -> Iterator[Veto]:
    """What one said, ascribed to another."""
    ours, theirs = _speaker(pair.claim), _speaker(pair.home)
    if (
        ours
        and ours.content
        and theirs
        and not any(
            _has_name(word, theirs) or _has_name(other, ours) for word in ours.content for other in theirs.content
        )
    ):
        yield Veto("speaker", Force.DOUBTS, f"the source has {theirs.text} say it, not {ours.text}")


def _speaker(reading: Reading) -> Reading | None:
    match = _SPEAKS.search(reading.text)
    return read(match["one"] or match["two"]) if match else None


MIN_CONTENT = 4  # content words below which a claim without a verb is a fragment
_VERB = regex.compile(r"\p{L}{2}ed\b|n['’]t\b|[.!?。]\W*$", regex.IGNORECASE)  # or a stop, as sentences have


def _check_subject(pair: _Pair) -> Iterator[Veto]:
    """A claim about "it" or "the company", unless what the answer spoke of last stands in the evidence."""
    text = pair.claim.text
    if points_back(text):
        subject = subject_of(pair.before.text)
        if not subject.content:
            chained = [word for word in pair.before.names if _has_name(word, pair.wider)]
            if not chained:
                yield Veto("subject", Force.DOUBTS, f'who or what "{text.split()[0]}" is, was not said before')
        elif not any(_has_name(word, pair.wider) for word in subject.content):
            yield Veto("subject", Force.DOUBTS, f"the source does not speak of {subject.text}")
        elif (other := _other_subject(pair)) is not None:
            yield Veto("subject", Force.DOUBTS, f"the source says it of {other.text}")
    has_verb = _VERB.search(text) or any(_is_finite(token) for token in pair.claim.tokens)
    if len(pair.claim.content) < MIN_CONTENT and not has_verb:
        yield Veto("fragment", Force.DOUBTS, "not a whole sentence")


def _is_finite(token: Token) -> bool:
    lower = token.text.lower()
    return lower in _PAST | _PRESENT | _FUTURE or is_irregular_past(lower)


def _other_subject(pair: _Pair) -> Token | None:
    """The name that begins the home, where what was spoken of before is another."""
    subject = pair.home.units[0] if pair.home.units else ()
    if not subject or not subject[0].text[0].isupper() or subject[0] in pair.claimed or _calendar(subject[0]):
        return None
    if subject[0].kind is Kind.WORD and _is_plural(subject[0]):
        return None
    first = min(pair.claimed, key=lambda word: word.start, default=None)
    opens = not pair.home.text[: subject[0].start].strip()
    is_subject = first is not None and subject[-1].end <= first.start and opens
    return subject[0] if is_subject and not any(_has_name(word, pair.before) for word in subject) else None


def _check_frame(pair: _Pair) -> Iterator[Veto]:
    """What stands around the sentence in the source and makes it another's, a question or a mistake."""
    content = pair.context if pair.home.text in pair.context else pair.passage
    at = content.find(pair.home.text)
    if pair.is_close and at >= 0 and (frame := find_frame(content, at, at + len(pair.home.text), pair.claim.text)):
        yield Veto("frame", Force.DOUBTS, frame)


_CAUSES = frozenset("because so therefore thus hence thereby as since due owing cause reason".split())
MAX_ADDED = 2  # content words that a copy may add before it says something of its own


def _check_additions(pair: _Pair) -> Iterator[Veto]:
    """A copy of the sentence that goes on to say more, or gives a cause that the source does not."""
    for token in pair.claim.tokens:
        if token.stem in ("because", "therefor", "thu", "henc") and not any(
            word.stem in _CAUSES for word in pair.wider.tokens
        ):
            yield Veto("additions", Force.DOUBTS, f'the source does not say "{token.text}"')
            return
    for gap in pair.alignment.gaps:
        strange = [word for word in gap.claimed if not pair.wider.match(word)]
        is_end = gap.after and not gap.before and pair.is_mostly
        if len(strange) >= MAX_ADDED and is_end and pair.differs_only_in(gap.claimed):
            yield Veto("additions", Force.DOUBTS, f'the source does not say "{strange[0].text}"')
            return


def _check_mixture(pair: _Pair) -> Iterator[Veto]:
    """Words of two clauses put together: between neighbours of the claim the source names a rival of one of them."""
    if not pair.differs_only_in([]):
        return
    kinds = {_rival_kind(word) for word in pair.claim.content} - {""}
    places = _nearest_places(pair)
    for left, right in pairwise(places):
        skipped = [word for word in pair.home.content if left.end <= word.start and word.end <= right.start]
        rivals = [word for word in skipped if _rival_kind(word) in kinds and not pair.claim.match(word)]
        between = pair.home.text[left.end : right.start]
        if rivals and not _ASIDE.fullmatch(between) and _CLAUSE.search(between[: skipped[-1].start - left.end]):
            yield Veto("mixture", Force.DOUBTS, f'the source says "{right.text}" after {rivals[0].text}')
            return


def _nearest_places(pair: _Pair) -> list[Token]:
    """Where the home has the claim's words; of the same word twice, the place nearer its neighbours."""
    places = sorted(pair.claimed, key=lambda word: word.start)
    for at, place in enumerate(places):
        first = places[at - 1].end if at else 0
        last = places[at + 1].start if at + 1 < len(places) else len(pair.home.text)
        same = [
            word for word in pair.home.content if word.stem == place.stem and first <= word.start and word.end <= last
        ]
        if same:
            places[at] = same[0] if at else same[-1]
    return places


_CLAUSE = regex.compile(
    r"[;:]|,(?!\d)|\b(?:and|but|yet|whereas|while|although|though|than|versus|vs|to|then|und|et|y|e|en)\b"
)
_ASIDE = regex.compile(
    r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|,(?:(?!\b(?:and|but|whereas|while)\b)[^,;])*,|[–—][^–—;]*[–—])\s*(?:\p{L}+\s+){0,3}"
)


def _rival_kind(word: Token) -> str:
    """What it may stand in the place of: a name, a year or a count; "" for a plain word."""
    if word.kind is Kind.NUMBER:
        return "year" if _is_year(word) else "count"
    return "name" if word.kind is Kind.NAME and not _calendar(word) else ""


def _check_replaced_word(pair: _Pair) -> Iterator[Veto]:
    """Where no opposites are known: a copy of the sentence with another word in one's place."""
    for gap in pair.alignment.gaps:
        said = [word for word in gap.said if word.kind is Kind.WORD]
        if (
            said
            and gap.claimed[0].kind is Kind.WORD
            and len(gap.claimed) <= MAX_ADDED
            and pair.differs_only_in(gap.claimed)
        ):
            yield Veto("wording", Force.DOUBTS, f'the source says "{said[0].text}", not "{gap.claimed[0].text}"')
            return


OTHER_RULES: tuple[Rule, ...] = (
    _check_language, _check_numbers, _check_dates, _check_units, _check_bounds, _check_names, _check_first_word, _check_roles,
    _check_negation, _check_opposites, _check_limits, _check_added_cues, _check_quantifiers, _check_quotations,
    _check_subject, _check_frame, _check_mixture, _check_replaced_word,
)  # fmt: skip
RULES: tuple[Rule, ...] = (
    *OTHER_RULES[:-1], _check_dropped_phrases, _check_tense, _check_speaker, _check_additions,
)  # fmt: skip
