"""A claim laid beside its source, word by word, so that differences stand out; and what is said against it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from itertools import combinations, pairwise, product

import regex
from rapidfuzz.distance import JaroWinkler

from core.evidence.rules.words import (
    Kind,
    Reading,
    Token,
    are_opposite,
    match_tokens,
    pattern,
    read,
    rows,
)
from core.text.language import detect_language, language_of, small_words
from core.text.numbers import MONTHS, WEEKDAYS, is_year
from core.text.sentences import sentences_of

# Scores of the alignment, by judgement: a match is worth 1, a name or number somewhat more.
MAX_WORDS = 220  # of either side; the table costs their product
_NAMED = 1.3
_GAP_IN_CLAIM = -0.35  # leaving a claim word unmatched
_GAP_IN_PASSAGE = -0.04  # skipping a passage word; cheap, as a claim says less than its source
_SAME_KIND = 0.10  # a name opposite another name, a number opposite another number
_OPPOSITE = 0.40  # increase opposite decrease
_OTHER_WORD = -0.25  # a word opposite an unrelated one


@dataclass(frozen=True)
class Step:
    """A place in the alignment; either side may be missing. `match` is 0…1."""

    claim: Token | None
    passage: Token | None
    match: float


@dataclass(frozen=True)
class Gap:
    """What stands between two matches: words of the claim opposite other words of the passage.

    `after` and `before` say whether there is a match on its left and on its right.
    """

    claimed: tuple[Token, ...]
    said: tuple[Token, ...]
    after: bool
    before: bool

    @property
    def is_tight(self) -> bool:
        """Whether few enough words are replaced that one can be said to stand in the place of another."""
        is_name = all(word.kind is Kind.NAME for word in self.claimed)  # however long, it is one name
        return (is_name or len(self.claimed) <= 3) and (len(self.said) <= 5 or not (self.after and self.before))

    @property
    def near(self) -> tuple[Token, ...]:
        """The passage words that may stand in the place of one of the claim's, the likeliest first."""
        if self.after and self.before:
            return self.said
        reach = len(self.claimed) + 1
        return self.said[:reach] if self.after else self.said[::-1][:reach]


@dataclass(frozen=True)
class Alignment:
    steps: tuple[Step, ...]

    @cached_property
    def matched(self) -> float:
        """The share of the claim's content words that stand opposite their match, in order; 0…1."""
        matches = [step.match for step in self.steps if step.claim is not None]
        return sum(matches) / len(matches) if matches else 0.0

    @cached_property
    def partner(self) -> dict[Token, Token]:
        """The passage word that each claim word matches."""
        return {step.claim: step.passage for step in self.steps if step.claim and step.passage and step.match}

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """The runs without a match that have words of the claim."""
        gaps: list[Gap] = []
        run: list[Step] = []
        has_match = False
        for step in (*self.steps, None):
            if step is not None and not step.match:
                run.append(step)
                continue
            if claimed := tuple(other.claim for other in run if other.claim):
                said = tuple(other.passage for other in run if other.passage)
                gaps.append(Gap(claimed, said, after=has_match, before=step is not None))
            run, has_match = [], True
        return tuple(gaps)

    @cached_property
    def spare(self) -> tuple[Token, ...]:
        """The passage words that nothing of the claim matches."""
        return tuple(step.passage for step in self.steps if step.passage and not step.match)


@lru_cache(maxsize=256)
def align(claim: str, passage: str) -> Alignment:
    """The best monotone alignment of the content words (Needleman & Wunsch 1970)."""
    left, right = read(claim).content[:MAX_WORDS], read(passage).content[:MAX_WORDS]
    return Alignment(tuple(_trace(left, right, _moves(left, right))))


def _moves(left: Sequence[Token], right: Sequence[Token]) -> list[list[int]]:
    """For each cell the move that leads there: 0 diagonal, 1 a claim word alone, 2 a passage word alone."""
    above = [_GAP_IN_PASSAGE * column for column in range(len(right) + 1)]
    moves = [[2] * (len(right) + 1)]
    for word, worth in zip(left, _worths(left), strict=True):
        row, current = [1], [above[0] + _GAP_IN_CLAIM]
        for column, other in enumerate(right, start=1):
            diagonal = above[column - 1] + _reward(word, other, worth)
            alone, skipped = above[column] + _GAP_IN_CLAIM * worth, current[column - 1] + _GAP_IN_PASSAGE
            best = max(diagonal, alone, skipped)
            current.append(best)
            row.append(0 if best == diagonal else 1 if best == alone else 2)
        moves.append(row)
        above = current
    return moves


def _worths(words: Sequence[Token]) -> list[float]:
    """What each word counts; a name of several words counts as one, lest names outweigh what is said of them."""
    worths = [1.0 if word.kind is Kind.WORD else _NAMED for word in words]
    start = 0
    for at in range(1, len(words) + 1):
        if (
            at < len(words)
            and words[at].kind is words[at - 1].kind is Kind.NAME
            and words[at].start - words[at - 1].end == 1
        ):
            continue
        worths[start:at] = [worth / (at - start) for worth in worths[start:at]]
        start = at
    return worths


def _match(left: Token, right: Token) -> float:
    """As `match_tokens`; the same letters are the same word, though one text may be taken for another language."""
    return 1.0 if left.text == right.text else match_tokens(left, right)


def _reward(left: Token, right: Token, worth: float) -> float:
    match = _match(left, right)
    if match:
        return match * worth
    if are_opposite(left.stem, right.stem):
        return _OPPOSITE
    return _SAME_KIND * worth if left.kind is right.kind and left.kind is not Kind.WORD else _OTHER_WORD


def _trace(left: Sequence[Token], right: Sequence[Token], moves: Sequence[Sequence[int]]) -> list[Step]:
    row, column = len(left), len(right)
    steps: list[Step] = []
    while row or column:
        move = moves[row][column] if row and column else (1 if row else 2)
        if move == 0:
            steps.append(Step(left[row - 1], right[column - 1], _match(left[row - 1], right[column - 1])))
            row, column = row - 1, column - 1
        elif move == 1:
            steps.append(Step(left[row - 1], None, 0.0))
            row -= 1
        else:
            steps.append(Step(None, right[column - 1], 0.0))
            column -= 1
    return steps[::-1]


# A claim and its source

MAX_BEFORE = 600  # characters before a sentence among which the one before it stands
MAX_SENTENCES = 40  # of the passage, among which the claim's home is looked for
HALF = 0.5  # of the claim's words in order in the sentence; below, it is in words of its own
MOSTLY = 0.6  # the same, below which a word in another's place may be there for another reason
TOLD = 0.7  # the same in any order, where it says just this
CLOSE = 0.7  # share of the claim's words that stand in order in the sentence; then places may be compared
MAX_EDITED = 2  # words: one more, one less, or one in another's place
MIN_KEPT = 3  # content words that a claim must share with the sentence, lest two or three words pass for a copy


class Force(StrEnum):
    """What a finding does: cuts the claim, keeps it from ✓, or is told to the judge, who decides."""

    CONTRADICTS = "contradicts"
    DOUBTS = "doubts"
    ASKS = "asks"


@dataclass(frozen=True)
class Veto:
    """`rule` is its name; `reason` is for people: "the source says 40, not 60"."""

    rule: str
    force: Force
    reason: str


_LINE_END = regex.compile(r"(?<![,;\-–])\n(?=\p{Lu})")  # a heading, a caption or a date has no full stop


class Comparison:
    """A claim and its source as every rule sees them; `home` is the sentence of the passage that has most of it."""

    def __init__(self, claim: str, passage: str, context: str, before: str) -> None:
        self.claim, self.before = read(claim), read(before)
        lines = [line for sentence in sentences_of(passage) for line in _LINE_END.split(sentence.text)][:MAX_SENTENCES]
        self.sentence = self._nearest(lines)
        self.home = read(_without_asides(self.sentence, self.claim))
        self.wider = read(f"{passage}\n{context}")  # long, and only read where a rule misses something in the home
        self.passage, self.context = passage, context
        there = detect_language(passage)
        words = [word for word in self.claim.content if word.kind is Kind.WORD and not word.values]  # names are shared
        same = sum(word in self.partner for word in words)
        is_same = self.alignment.matched >= HALF and same >= HALF * len(words)  # then the longer text tells it better
        is_same = is_same or all(self.home.match(word) for word in self.claim.content)  # in any order
        is_same = is_same or may_be_in(there, claim)
        self.language = there if is_same and not _is_other(self.claim, there) else detect_language(claim)
        self.is_translated = self.language != there

    @property
    def ahead(self) -> str:
        """What the source has right before the home, where it is known; at most `MAX_BEFORE` characters."""
        content = self.context if self.sentence in self.context else self.passage
        return content[: content.find(self.sentence)][-MAX_BEFORE:]

    @property
    def is_copy(self) -> bool:
        """Whether the claim is the sentence or the passage, but for blanks, case and the last stop."""
        return _squeeze(self.claim.text) in (_squeeze(self.sentence), _squeeze(self.passage))

    def _nearest(self, lines: Sequence[str]) -> str:
        """The line that has most of the claim's words, of equals in their order; aligning is what costs time."""
        found = [sum(read(line).match(word) for word in self.claim.content) for line in lines]
        most = max(found)
        equals = [line for line, share in zip(lines, found, strict=True) if share == most]
        return max(equals, key=lambda line: align(self.claim.text, line).matched if most else 0.0)

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
        small = {token.text for token in self.home.tokens if not token.is_content}  # if read as another language
        return tuple(word for word in self.claim.content if word not in self.partner and word.text not in small)

    def names(self, word: Token) -> bool:
        """Whether the source has the name, as `has_name`, or its initials: WHO for World Health Organization."""
        return word in self._shortened or any(has_name(word, one, self.claim.text) for one in (self.home, self.wider))

    @cached_property
    def _shortened(self) -> frozenset[Token]:
        """The claim's words that the source has as initials alone, small words between them left out.

        Behind an article and all that is capitalised there: the World Health Organization, not William Henry Ogden.
        """
        short = {found.group().replace(".", "") for found in _INITIALS.finditer(self.wider.text)}
        words = [token for token in self.claim.tokens if token.kind is not Kind.FUNCTION or token.text[0].isupper()]
        letters = "".join(token.text[0] if token.text[0].isupper() else " " for token in words)
        return frozenset(
            word
            for initials in short
            for at in range(len(letters))
            if f"{letters} ".startswith(f"{initials} ", at) and _DEFINITE.search(self.claim.text[: words[at].start])
            for word in words[at : at + len(initials)]
        )

    @property
    def is_close(self) -> bool:
        return self.alignment.matched >= CLOSE

    @property
    def unfound(self) -> Force:
        """Where no word of the source is found for one of the claim's, which in free wording may be said otherwise."""
        return Force.DOUBTS if self.is_mostly and not self.is_translated else Force.ASKS

    @property
    def is_told(self) -> bool:
        return sum(self.home.match(word) > 0 for word in self.claim.content) >= TOLD * len(self.claim.content)

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
        return next((other for other in gap.near if kinds(other)), None)

    @property
    def is_edited(self) -> bool:
        """Whether the claim and the home are the same but for a word or two, small ones, too."""
        ours, theirs = (Counter(word.text.lower() for word in text.tokens) for text in (self.claim, self.home))
        return ((ours - theirs) + (theirs - ours)).total() <= MAX_EDITED

    def has_near(self, span: tuple[int, int], *, back: int = 1, ahead: int = 3) -> bool:
        """Whether the claim has one of the content words beside `home.text[span]`; without `back`, wherever it has."""
        after = [word for word in self.home.content if word.start >= span[1]][:ahead]
        ahead_of = [word for word in self.home.content if word.end <= span[0]][-back:] if back else []
        return any(word in self.claimed or (not back and self.claim.match(word)) for word in (*after, *ahead_of))

    def governs(self, end: int) -> bool:
        """Whether most of what the claim repeats stands behind `end` in the home."""
        mark = _BREAK.search(self.home.text, end)
        after = sum(end <= word.start < (mark.start() if mark else len(self.home.text)) for word in self.claimed)
        return after > 0 and after >= len(self.claimed) / 2

    @cached_property
    def opposed(self) -> list[tuple[Token, Token]]:
        """Claim words that stand in the place of their opposite."""
        return [
            (word, said)
            for gap in self.alignment.gaps
            if gap.is_tight
            for word in gap.claimed
            for said in gap.near
            if self._contrasts(word, said) and word.stem not in self.home.stems
        ]

    @property
    def opposed_anywhere(self) -> tuple[Token, Token] | None:
        """A word of the claim that the source has not, and its opposite in a sentence that tells most of the claim."""
        if not self.is_told:
            return None
        own = {word.stem for word in self.claim.content}
        ours = [word for word in self.missing if word.kind is Kind.WORD]
        theirs = [word for word in self.home.content if word.kind is Kind.WORD and word.stem not in own]
        theirs = [word for word in theirs if "-" not in self.home.text[max(0, word.start - 1) : word.end + 1]]
        pairs = ((word, said) for word, said in product(ours, theirs) if _degree(word) == _degree(said))
        found = (pair for pair in pairs if self._contrasts(*pair))
        return next((pair for pair in found if pair[0].stem not in self.wider.stems), None)  # read last, being long

    def _contrasts(self, word: Token, said: Token) -> bool:
        """Whether the two are opposites; what is followed by a thing leads to it, but who is attacked by defends."""
        if _AS_TOLD.match(self.claim.text, word.end):
            return False  # before that
        are_turned = self.claim.text.startswith(" by ", word.end) is not self.home.text.startswith(" by ", said.end)
        is_order = are_turned and not _OF_ORDER.isdisjoint((word.stem, said.stem))
        return not is_order and are_opposite(word.stem, said.stem)

    def is_converse(self, word: Token) -> bool:
        """Whether names, or what is compared, stand the other way round about the word: A lost to B, B defeated A."""
        if (" by " in self.claim.text) is not (" by " in self.home.text):
            return False  # a passive turns them, too
        are_compared = all(" than " in reading.text for reading in (self.claim, self.home))
        stems = Counter(one.stem for reading in (self.claim, self.home) for one in reading.content)
        there = {one.stem: one.start for one in self.home.content if stems[one.stem] == 2}
        found = [one for one in self.claim.content if one.stem in there and (are_compared or one.kind is Kind.NAME)]
        return any(
            one.start < word.start < other.start and there[one.stem] > there[other.stem]
            for one, other in combinations(found, 2)
        )


def _degree(word: Token) -> str:
    """Its ending where it compares: what is lowest may have increased."""
    return next((ending for ending in ("er", "est", "more", "less") if word.text.endswith(ending)), "")


_AS_TOLD = regex.compile(r" (?:that|this)\b")
_OF_ORDER = frozenset(("follow", "lead", "preced"))


def may_be_in(language: str, claim: str) -> bool:
    """Whether it is the claim's; too few words tell of no other one: Nacque a Milano."""
    small = {word.text.lower() for word in read(claim).tokens if not word.is_content}
    is_short = len(read(claim).content) < MIN_KEPT and small <= small_words(language)
    return is_short or detect_language(claim) == language


def _is_other(claim: Reading, there: str) -> bool:
    """Whether its small words are another language's: les lampes de la ville, of the lamps of the town."""
    small = {token.text.lower() for token in claim.tokens}
    own = language_of(claim.text)
    known, others = small_words(there), small_words(own) if own else frozenset[str]()
    return own not in ("", there) and not small & (known - others) and len(small & (others - known)) >= MIN_OWN


MIN_OWN = 2  # words that carry grammar in one of two languages alone
_INITIALS = regex.compile(r"\b(?:\p{Lu}{2,6}|(?:\p{Lu}\.){2,6})(?![\p{L}\p{N}])")
_DEFINITE = regex.compile(
    r"\b(?:the|de[rmns]?|die|das|la|las|les?|los?|el|del|della|il|gli|o|os|as|d[oa]s?|het)\s$|\b(?:dell|all|l)['’]$",
    regex.IGNORECASE,
)
_BREAK = regex.compile(r";|[–—]|\s-{1,2}\s")  # behind it another clause begins
_BRACKETS = regex.compile(r"\s?\([^()]{1,300}\)")
_LIMITING = pattern("limiting_asides")


def _without_asides(sentence: str, claim: Reading) -> str:
    """Without brackets of which the claim has nothing, where they do not limit what is said."""

    def strip(match: regex.Match[str]) -> str:
        inside = read(match.group())
        is_used = any(word.stem in claim.stems for word in inside.content)
        return match.group() if is_used or _LIMITING.search(match.group()) else ""

    return _BRACKETS.sub(strip, sentence)


def _squeeze(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".! ")


Rule = Callable[[Comparison], Iterator[Veto]]

_MONTHS = frozenset(MONTHS)
_WEEKDAYS = frozenset(WEEKDAYS)


def calendar_of(token: Token) -> frozenset[str]:
    """The months or the weekdays, whichever the word is one of; else nothing."""
    if token.kind is not Kind.NAME:
        return frozenset()
    return _MONTHS if token.stem in _MONTHS else _WEEKDAYS if token.stem in _WEEKDAYS else frozenset()


def is_year_token(number: Token) -> bool:
    return number.value is not None and is_year(number.text, number.value)


def is_range_end(reading: Reading, number: Token) -> bool:
    """Whether a range of the text begins or ends with the number: 1 to 30, 11-26."""
    return any(
        number.stem in (one.stem, other.stem)
        and is_year_token(one) == is_year_token(other)
        and _RANGE.fullmatch(reading.text, one.end, other.start)
        for one, other in pairwise(reading.numbers)
    )


_RANGE = regex.compile(r"\s?(?:-|–|to|and|bis|a|à)\s?")
MIN_SPELLING = 0.93  # Jaro–Winkler; Tchaikovsky and Tschaikowsky, not Hansen and Hanson
MIN_FUZZY_CHARS = 6
MIN_STEM_CHARS = 5  # Milan and Milanese
MIN_JOINED_CHARS = 8
_OF_A_PLACE = ("ian", "an", "n", "ese", "ish", "ism", "sm", "ist", "i")  # Libyan of Libya, Nazism of Nazi
_GENITIVE = regex.compile(r"['’]?s$")
_OF_ENGLAND = (  # English is a language, too, and of people anywhere
    r"(?<!English(?! (?:league|cup|clubs?|teams?|football|cricket|coast|count(?:y|ies)|towns?|villages?|cit(?:y|ies)|"
    r"ports?|countryside|law|throne|crown|king|queen|parliament|government|army|navy)\b))"
)


@cache
def _aliases() -> dict[str, list[regex.Pattern[str]]]:
    """For each word of a name all that the same is called, of each that has it: the UK, Britain; the US, America."""
    found: dict[str, list[regex.Pattern[str]]] = {}
    for row in rows("aliases"):
        group = [alias.strip() for alias in row.replace("\n", " ").split(", ")]
        written = "|".join(map(regex.escape, group))
        called = regex.compile(rf"(?<![\p{{L}}.])(?:{written})(?:['’]?s)?(?!\p{{L}}){_OF_ENGLAND}")
        for word in {word for alias in group for word in regex.findall(r"[\w-]+(?:\.\w+)*", alias)}:
            found.setdefault(word, []).append(called)
    return found


def is_called(name: Token, text: str, said: str = "") -> bool:
    """Whether the text calls the same by another name: Britain, of the UK; by a word alone where `said` is not given.

    `said` is what the name stands in: First Nations are not the UN.
    """
    known = _aliases().get(_GENITIVE.sub("", name.text)) or _aliases().get(name.text, [])
    return any(
        not said or any(found.start() <= name.start < found.end() for found in called.finditer(said))
        for called in known
        if called.search(text)
    )


def has_name(name: Token, reading: Reading, said: str = "") -> bool:
    """Whether the text has the name: as it is, in another form (French, France), spelling, initials, or other words."""
    if reading.match(name) or is_called(name, reading.text, said):
        return True
    lower = name.text.lower()
    letters = _GENITIVE.sub("", name.text)
    if letters.isupper() and 2 <= len(letters) <= 6 and letters.lower() in reading.initials:
        return True  # NGOs
    if len(lower) >= MIN_STEM_CHARS and any(other.text.lower().startswith(lower) for other in reading.content):
        return True
    joined = reading.text.lower().replace("-", "") if len(lower) >= MIN_JOINED_CHARS else ""
    if regex.search(rf"\b{regex.escape(lower)}", joined):
        return True  # Ibero-American
    bases = {one.removesuffix(end) for one in (lower, lower.removesuffix("s")) for end in _OF_A_PLACE} - {lower}
    if any(other.text[0].isupper() and other.text.lower() in bases for other in reading.content if len(other.text) > 3):
        return True
    return len(lower) >= MIN_FUZZY_CHARS and any(
        len(other.text) >= MIN_FUZZY_CHARS
        and lower[:2] == other.text[:2].lower()
        and (lower[:5] == other.text[:5].lower() or JaroWinkler.similarity(lower, other.text.lower()) >= MIN_SPELLING)
        for other in reading.names
    )


def is_plural(word: Token) -> bool:
    return word.text.endswith("s") and not word.text.endswith("ss")


def only_place(reading: Reading, word: Token) -> Token | None:
    places = [other for other in reading.content if other.stem == word.stem]
    return places[0] if len(places) == 1 else None
