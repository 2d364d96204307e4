"""Text as tokens with offsets: words, names and numbers, each with the form it is compared by.

Matching is by `stem` (inflection taken off) or, weaker, by `root` (derivation taken off too). How two words stand to
each other, opposites ("rises", "falls") or words of one meaning, is told here.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property, lru_cache, partial
from importlib.resources import files
from typing import NamedTuple

import regex

from core.text.language import language_of, small_words
from core.text.language import stem as stem_in
from core.text.numbers import (
    MONTHS,
    NUMBER_ARTICLES,
    NUMBER_JOINTS,
    OF,
    OPENING,
    Values,
    calendar_name,
    is_ordinal,
    is_percent,
    join_numbers,
    number_word,
    numerals,
    read_number,
    read_part,
    same_values,
    unit_of,
)

_WORD = r"\p{L}[\p{L}\p{M}\p{Nd}]*(?:['’]\p{L}+)*"
_SIGNS = "%‰°$€£¥<>≤≥±"
_PARTS = "½⅓⅔¼¾⅛⅜⅝⅞"
_NUMBER = (
    r"\p{Nd}{1,2}(?=\.\p{Nd}{1,2}\.\p{Nd}{4}(?!\p{Nd}))|(?<=\p{Nd}\.)\p{Nd}{1,2}(?=\.\p{Nd}{4}(?!\p{Nd}))"  # 3.10.2021
    r"|(?<![\p{Nd}.,])\p{Nd}{1,3}(?:[%s\u00a0\u2009\u202f'’]\p{Nd}{3})+(?!\p{Nd})(?:[.,]\p{Nd}+)?"  # 1 500
    r"|(?<![\p{Nd}.,/])(?:\p{Nd}{1,3} (?:1/2|[12]/3|[13]/4|[1357]/8)|(?<!(?:phase|type|stage|grade) )"
    r"(?:(?:1/2|[12]/3|[13]/4|[1357]/8)(?=[ -]\p{L})|24/7))(?![\p{Nd}/])"  # 1 1/4, 1/4 cup
    rf"|\p{{Nd}}+(?:[.,٫٬]\p{{Nd}}+)*[{_PARTS}]?|[{_PARTS}]"  # 12, 1,234.5, 6½
)
_UNSPACED = r"\p{Han}|\p{Hiragana}+|\p{Katakana}+|\p{Thai}+"  # no spaces between words
_PERCENT = r"[pP](?:er|or|our)\s(?:cento?|cien(?:to)?)(?!\p{L})"
_ELIDED = r"(?i:[ldnscjmt]|qu|un|quest|quell|all|(?:d|n|s)[eau]ll)['’](?=\p{L})"
_DOTTED = r"\p{Nd}{1,2}\.(?=\s\p{L})"  # 3. Oktober


def _pattern(*parts: str, space: str) -> regex.Pattern[str]:
    """The look-ahead passes over blanks at once."""
    every = (*parts, _UNSPACED, _WORD, _NUMBER % space, f"[{_SIGNS}]")
    return regex.compile(rf"(?=[\p{{L}}\p{{N}}{_SIGNS}])(?:{'|'.join(every)})")


_ENGLISH = _pattern(_PERCENT, space="")
_OTHER = _pattern(_PERCENT, _ELIDED, space=" ")
_GERMAN = _pattern(_DOTTED, _ELIDED, space=" ")
_MONEY = ("$", "€", "£", "¥")
JOINTS = frozenset({"", " ", "-", "\xa0", "\u2009", "\u202f", "\n"})  # within a number, or between it and its unit
_ISO_MONTH = regex.compile(r"\p{Nd}{4}-(0[1-9]|1[0-2])-\p{Nd}{2}")
_SIGNED_MONTH = regex.compile(r"(0?[1-9]|1[0-2])[月월]")  # 1943年1月7日
_DOTTED_MONTH = regex.compile(r"\p{Nd}\.(0?[1-9]|1[0-2])\.\p{Nd}{4}")
_SENTENCE_END = regex.compile(r"[.!?:;\n•“\"(\[]\s*[\"'“‘(\[]*$")


class Kind(Enum):
    WORD = "word"
    NAME = "name"  # capitalised where a common word would not be
    NUMBER = "number"
    FUNCTION = "function"  # carries grammar, not content
    SIGN = "sign"


class Token(NamedTuple):
    """A piece of the text: `text[start:end]`. `values` are a number's readings, the likeliest first, also in words.

    `stem` is the English one where languages share it: of months, weekdays, numbers and signs. A tuple, as a page has
    thousands: a dataclass takes three times as long to make and six times to compare.
    """

    text: str
    stem: str
    root: str
    start: int
    end: int
    kind: Kind
    values: Values = ()

    def __hash__(self) -> int:
        return hash((self.start, self.stem))  # the default would hash the enumeration, slowly

    @property
    def value(self) -> float | None:
        """What a number most likely is."""
        return self.values[0] if self.values else None

    @property
    def is_content(self) -> bool:
        return self.kind is not Kind.FUNCTION and self.kind is not Kind.SIGN

    @property
    def is_ordinal(self) -> bool:
        return self.stem.endswith("th") and self.kind is Kind.NUMBER


_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")  # CO₂ and CO2


def tokenize(text: str, language: str = "") -> tuple[Token, ...]:
    """The tokens of `text` in order, punctuation left out except signs that go with numbers.

    `language` is that of the text, told by its small words if not given; one that is not known is read as English.
    """
    text = text.translate(_LOWERED)
    language = language or language_of(text) or "en"
    pattern = _GERMAN if language == "de" else _ENGLISH if language == "en" else _OTHER
    look_up = _dictionary(language)
    matches = list(pattern.finditer(text))
    words = [match.group() for match in matches]
    tokens: list[Token] = []
    for at, (match, word) in enumerate(zip(matches, words, strict=True)):
        if word[0].isalpha():
            known, is_settled = look_up(word)
            if is_settled:
                token = Token(word, known.stem, known.root, *match.span(), known.kind, known.values)
            else:
                token = _read_word(text, match, known, "".join(words[at + 1 : at + 2]), language)
                whole = tokens[-3] if known.text == "half" and len(tokens) > 2 else token
                if whole.values and text[whole.end : token.start] == " and a ":  # five and a half
                    values = tuple(value + 0.5 for value in whole.values)
                    token = _quantity(text[whole.start : token.end], whole.start, token.end, values)
                    del tokens[-3:]
        elif word[0].isnumeric():
            token = _read_number(text, match, language)
        else:
            token = Token(word, word, word, match.start(), match.end(), Kind.SIGN)
        if tokens and (tokens[-1].kind is Kind.NUMBER or tokens[-1].stem in OPENING):
            _add(text, tokens, token, "".join(words[at + 1 : at + 2]).lower(), language)
        else:
            tokens.append(token)
    return tuple(tokens)


def _read_word(text: str, match: regex.Match[str], known: Token, following: str, language: str) -> Token:
    word = match.group()
    start, end = match.span()
    kind = known.kind
    if kind is Kind.NAME:  # of a month or a day, perhaps
        is_named = word[0].isupper() or language != "en"
        if is_named and (name := calendar_name(word, following, text[max(0, start - 8) : start], language)):
            return Token(word, name, name, start, end, Kind.NAME)
        kind = Kind.FUNCTION if known.stem in small_words(language) else Kind.WORD
    if known.text == "half" and following and (following.lower() in OF or unit_of(following)):
        return _quantity(word, start, end, (0.5,))
    if kind is Kind.WORD and _is_name(text, word, start, following, language):
        kind = Kind.NAME
    return Token(word, known.stem, known.root, start, end, kind, known.values)


@cache
def _dictionary(language: str) -> Callable[[str], tuple[Token, bool]]:
    """A word of the language in lower case, and whether it is that wherever it stands."""
    return lru_cache(maxsize=65536)(partial(_looked_up, language))


def _looked_up(language: str, word: str) -> tuple[Token, bool]:
    lower = word.lower().replace("’", "'")
    known = _known(language, lower)
    if word == "US":
        return known._replace(kind=Kind.WORD), False
    may_be_name = known.kind is Kind.NAME or (known.kind is Kind.WORD and not (word == lower and word.isalpha()))
    return known, not may_be_name and lower != "half"


def _known(language: str, lower: str) -> Token:
    kind = Kind.NAME if calendar_name(lower, "1", "", language) else Kind.FUNCTION
    if lower.rstrip("'") in small_words(language) or lower.endswith("n't") or lower in _CONTRACTIONS:
        return Token(lower, lower, lower, 0, len(lower), kind)
    if (value := number_word(lower, language)) is not None:
        return _quantity(lower, 0, len(lower), (value,), is_ordinal=lower in numerals(language).ordinals)
    if is_percent(lower):
        return Token(lower, "%", "%", 0, len(lower), Kind.SIGN)
    base = stem(lower) if language == "en" else stem_in(lower, language)
    kind = kind if kind is Kind.NAME else Kind.WORD
    return Token(lower, base, root(base) if language == "en" else base[:7], 0, len(lower), kind)


_TIMING = ("mid", "early", "late", "pre", "post")  # mid-1931 is a year and no name


def _read_number(text: str, match: regex.Match[str], language: str) -> Token:
    """Digits tied to a word by a hyphen (COVID-19) are part of a name, not a quantity."""
    word, (start, end) = match.group(), match.span()
    before = text[max(0, start - 6) : start]
    if len(before) > 1 and before[-1] in "-‐–" and before[-2].isalpha() and not before[:-1].lower().endswith(_TIMING):
        return Token(word, word, word, start, end, Kind.NAME)
    month = _SIGNED_MONTH.match(text, start)
    if before[-1:] in ("-", ".") and len(word) < 3:
        month = _ISO_MONTH.fullmatch(text[start - 5 : end + 3]) or _DOTTED_MONTH.fullmatch(text[start - 2 : end + 5])
    if month:
        name = MONTHS[int(month.group(1)) - 1]
        return Token(word, name, name, start, end, Kind.NAME)
    if len(word) == 2 and len(before) > 4 and before[-1] in "-–/" and before[-5:-1].isdigit():
        return _quantity(word, start, end, (float(before[-5:-3] + word),))  # 2018–19
    return _quantity(word, start, end, read_part(word) if "/" in word else read_number(word.rstrip("."), language))


def _quantity(word: str, start: int, end: int, values: Values, *, is_ordinal: bool = False) -> Token:
    form = f"#{values[0]:.12g}"
    return Token(word, form + "th" if is_ordinal else form, form, start, end, Kind.NUMBER, values)


def _add(text: str, tokens: list[Token], token: Token, following: str, language: str) -> None:
    """Append the token, or make one number of it and those before it: 1.2 million, twenty-five, treinta y uno."""
    last = tokens[-1]
    first = tokens[-2] if len(tokens) > 1 and last.stem in NUMBER_JOINTS and tokens[-2].kind is Kind.NUMBER else last
    is_near = text[last.end : token.start] in JOINTS and (first is last or text[first.end : last.start] in JOINTS)
    if token.start == last.end and is_ordinal(last.text + token.stem):
        tokens[-1] = _quantity(last.text + token.text, last.start, token.end, last.values)
        return
    if is_near and (first.kind is Kind.NUMBER or first.stem in NUMBER_ARTICLES):
        left, right = text[first.start : last.end].lower(), token.text.lower()
        right = "mn" if right == "m" and text[: first.start].endswith(_MONEY) else right  # $2.2m
        language = "en" if right == "mn" else language
        values = join_numbers(left, first.values, right, token.values, following=following, language=language)
        if values:
            tokens[-1 if first is last else -2 :] = [
                _quantity(text[first.start : token.end], first.start, token.end, values)
            ]
            return
    tokens.append(token)
    if language == "en" and len(token.text) == 3 and token.text.isdigit() and last.text.isdigit():
        _read_spaced(text, tokens)


def _read_spaced(text: str, tokens: list[Token]) -> None:
    """In English 1 500 are two numbers, unless they are one."""
    left, right = tokens[-2:]
    if left.values and right.values and text[left.end : right.start] == " " and len(left.text) < 4:
        whole = left.values[-1] * 1000 + right.values[0]
        tokens[-2:] = [left._replace(values=(*left.values, whole)), right._replace(values=(*right.values, whole))]


def _is_name(text: str, word: str, start: int, following: str, language: str) -> bool:
    rest = word[1:]
    if not (rest.islower() and rest.isalpha()) and any(one.isupper() or one.isdigit() for one in rest):
        return True  # iPhone, p53, NATO
    if not word[0].isupper():
        return False
    before = text[max(0, start - 4) : start]
    opens = not before.strip() or _SENTENCE_END.search(before) is not None
    if opens or language == "de":  # capitalised anyway; a capitalised neighbour makes it a name
        is_alone = text[start + len(word) : start + len(word) + 2].strip()[:1] in (".", "!", "?", ";", ":")
        is_small = word.lower() in listed("limiting") or following.lower() in small_words(language)
        is_small = is_small or (language == "de" and word.lower() in listed("before_noun"))
        return following[:1].isupper() and not is_alone and not is_small
    return True


_ENDINGS = ("'s", "'", "ingly", "edly", "ies", "ied", "ing", "ed", "es", "s", "ly")
_LAST_LETTERS = frozenset(ending[-1] for ending in _ENDINGS)
_DERIVATIONS = (
    "ization", "ational", "fulness", "iveness", "ousness", "ements", "ation", "ement", "ition", "ment", "ness", "ance",
    "ence", "able", "ible", "ical", "sion", "tion", "ion", "ity", "ive", "ous", "ant", "ent", "ate", "ize", "ist",
    "ism", "ial", "ian", "ful", "al", "er", "or", "ic", "iz", "at", "an", "i",
)  # fmt: skip


def is_irregular_past(lower: str) -> bool:
    """Whether it is the past of a verb that has one of its own: won, began, taught."""
    return lower in _irregular()[1]


def stem(lower: str) -> str:
    """The word without its inflection; British spellings become American ones."""
    forms = _irregular()[0]
    base = forms.get(lower) or _uninflected(lower)
    base = forms.get(base, base)
    if len(base) > 4 and base.endswith(("tre", "bre")):  # metre, fibre
        base = f"{base[:-2]}er"
    if len(base) > 3 and base.endswith("e"):
        base = base[:-1]
    return base.replace("isation", "ization").replace("our", "or").replace("aem", "em").replace("yse", "yze")


@cache
def _irregular() -> tuple[dict[str, str], frozenset[str]]:
    """The base of each irregular form, and those forms that are pasts of verbs."""
    verbs = [(verb.split(), others.split()) for verb, _, others in (row.partition("|") for row in rows("irregular"))]
    bases = {form: verb[0] for verb, others in verbs for form in (*verb[1:], *others)}
    return bases, frozenset(form for verb, _ in verbs for form in verb[1:])


@cache
def listed(name: str) -> frozenset[str]:
    """The words of a list of `lists.toml`."""
    return frozenset(_lists()[name].split())


def rows(name: str) -> list[str]:
    """A list of `lists.toml` whose entries are parted by semicolons."""
    return _lists()[name].split(";")


def pattern(name: str, *, is_cased: bool = False) -> regex.Pattern[str]:
    """A pattern of `lists.toml`, whose line ends are no part of it."""
    return regex.compile(_lists()[name].replace("\n", ""), 0 if is_cased else regex.IGNORECASE)


@cache
def _lists() -> Mapping[str, str]:
    return tomllib.loads(files(__package__).joinpath("lists.toml").read_text(encoding="utf-8"))


def _uninflected(lower: str) -> str:
    if lower[-1:] not in _LAST_LETTERS:
        return lower  # most words
    for ending in _ENDINGS:
        kept = len(lower) - len(ending)
        if not lower.endswith(ending) or kept < 3 or (ending == "s" and lower[-2] in "su"):
            continue
        lower = lower[:kept] + ("y" if ending in ("ies", "ied") else "")
        if ending in ("ing", "ed") and lower[-1] == lower[-2] and lower[-1] not in "lsz":
            lower = lower[:-1]
        if ending not in ("'s", "'"):
            break
    return lower


@lru_cache(maxsize=65536)
def root(base: str) -> str:
    """The stem without its derivation: `activ` for active, activity, activation."""
    for ending in _DERIVATIONS:
        if base.endswith(ending) and len(base) - len(ending) >= 4:
            return base[: -len(ending)]
    return base


_CONTRACTIONS = frozenset("become's that's it's he's she's there's i'm we're they're you're i've we've they've".split())


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    groups = files(__package__).joinpath("synonyms.txt").read_text(encoding="utf-8").splitlines()
    for meaning, group in enumerate(groups):
        for word in group.split():
            table[stem(word)] = (*table.get(stem(word), ()), meaning)
    return table


def meanings(base: str) -> tuple[int, ...]:
    """The groups of equal meaning that a stem belongs to; none for most words."""
    return _table().get(base, ())


ROOT_MATCH = 0.85  # 0…1, how much a match by root alone counts; by judgement
SYNONYM_MATCH = 0.8
ARTICLES = frozenset({"a", "an", "the"})
ROUNDING = 0.06  # share of a number; same_number allows 5 per cent of the other


class NumberLine:
    """The distinct numbers of a text in order of value, so that looking for one does not mean trying all."""

    def __init__(self, numbers: Iterable[Token]) -> None:
        distinct = {(number.stem, number.values): number for number in numbers}.values()
        readings = sorted(((value, at) for at, number in enumerate(distinct) for value in number.values))
        tokens = list(distinct)
        self._values = [value for value, _ in readings]
        self._tokens = [tokens[at] for _, at in readings]

    def near(self, number: Token) -> list[Token]:
        """Those that `number` may be a rounding of, by any reading."""
        found: list[Token] = []
        for value in number.values:
            slack = ROUNDING * abs(value)
            found += self._tokens[bisect_left(self._values, value - slack) : bisect_right(self._values, value + slack)]
        return found


@dataclass(frozen=True)
class Reading:
    """A text as tokens; `language` as `tokenize` takes it."""

    text: str
    language: str = ""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tokenize(self.text, self.language)

    @cached_property
    def content(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.is_content)

    @cached_property
    def names(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind is Kind.NAME)

    @cached_property
    def units(self) -> tuple[tuple[Token, ...], ...]:
        """The content words in order, a name of several words as one."""
        units: list[tuple[Token, ...]] = []
        for word in self.content:
            last = units[-1][-1] if units else None
            if last is not None and word.kind is last.kind is Kind.NAME and word.start - last.end == 1:
                units[-1] = (*units[-1], word)
            else:
                units.append((word,))
        return tuple(units)

    @cached_property
    def name_stems(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.names)

    @cached_property
    def positions(self) -> dict[Token, int]:
        """Where each token stands in `tokens`."""
        return {token: position for position, token in enumerate(self.tokens)}

    @cached_property
    def initials(self) -> frozenset[str]:
        """Initials of runs of two to six words, small words between them left out; two words must be capitalised."""
        letters = [one.text[0] for one in self.tokens if one.kind is not Kind.FUNCTION or one.text[:1].isupper()]
        line = "".join(letters)
        found = {line[at : at + size] for size in range(2, 7) for at in range(len(line) - size + 1)}
        return frozenset(run.lower() for run in found if len(run) > 2 or run.isupper())

    @cached_property
    def numbers(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind is Kind.NUMBER)

    @cached_property
    def number_line(self) -> NumberLine:
        return NumberLine(self.numbers)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(token.stem for token in self.content)

    @cached_property
    def roots(self) -> frozenset[str]:
        return frozenset(token.root for token in self.content)

    @cached_property
    def meanings(self) -> frozenset[int]:
        return frozenset(meaning for token in self.content for meaning in meanings(token.stem))

    def lead(self, word: Token) -> tuple[str, ...]:
        """The small words between a content word and the one before it, articles left out."""
        at = self.positions[word]
        first = at
        while first and not self.tokens[first - 1].is_content:
            first -= 1
        return tuple(token.stem for token in self.tokens[first:at] if token.stem not in ARTICLES)

    def match(self, token: Token) -> float:
        """How well some word of this text matches `token`, 0…1."""
        if token.stem in self.stems:
            return 1.0
        if token.kind is Kind.NUMBER:
            return float(any(match_tokens(token, number) for number in self.number_line.near(token)))
        if token.root in self.roots:
            return ROOT_MATCH
        return SYNONYM_MATCH if any(meaning in self.meanings for meaning in meanings(token.stem)) else 0.0


@lru_cache(maxsize=512)
def read(text: str, language: str = "") -> Reading:
    """The reading of `text`, kept for the next rule."""
    return Reading(text, language)


def match_tokens(left: Token, right: Token) -> float:
    """How well the claim's word `left` matches a source's, 0…1; a number may be rounded."""
    if left.stem == right.stem:
        return 1.0
    if left.values or right.values:
        if not left.values or not right.values:
            return 0.0
        if left.is_ordinal != right.is_ordinal:
            digits = right.text if left.is_ordinal else left.text
            return float(left.value == right.value and is_ordinal(digits.lower()))
        return float(same_values(left.values, right.values, left.text))
    if left.root == right.root:
        return ROOT_MATCH
    ours = meanings(left.stem)
    return SYNONYM_MATCH if ours and not set(ours).isdisjoint(meanings(right.stem)) else 0.0


# How two words stand to each other: opposites ("rises", "falls")


_WRITTEN = {"#1th": "first", "#2th": "second"}  # ordinals as tokens have them
_DEGREES = ({"hyper", "over"}, {"hypo", "under"})
_PREFIXES = ("un", "non")  # others make too many words that are no opposites (invaluable, discharge)
MIN_BARE = 4  # letters of a root that a prefix may deny


@lru_cache(maxsize=1)
def _meanings() -> dict[str, frozenset[str]]:
    """Of each stem the stems that say the opposite."""
    table: dict[str, set[str]] = {}
    groups: list[tuple[Callable[[str], str], list[str]]] = [(stem, line.split("/")) for line in rows("opposites")]
    groups += [(stem, [word, " ".join(others)]) for word, others in _antonyms().items()]
    for line in rows("opposites_elsewhere"):
        language, _, pair = line.strip().partition(": ")
        groups.append((partial(stem_in, language=language), pair.split("/")))
    for bare, sides in groups:
        ones, others = ({bare(word) for word in side.split()} for side in sides)
        for base in ones:
            table.setdefault(base, set()).update(others - {base})
        for base in others:
            table.setdefault(base, set()).update(ones - {base})
    return {base: frozenset(others) for base, others in table.items()}


@lru_cache(maxsize=1)
def _antonyms() -> dict[str, list[str]]:
    listed = files(__package__).joinpath("antonyms.txt").read_text(encoding="ascii")
    return {word: others for word, *others in map(str.split, listed.splitlines())}


def opposite_of(lower: str) -> str:
    """Another word that WordNet knows for the opposite, none with a prefix (untune); "" where there is none."""
    return next((other for other in _antonyms().get(lower, ()) if other not in lower and lower not in other), "")


def are_opposite(left: str, right: str) -> bool:
    """Whether two stems are opposites: listed, or one denies the other by a prefix; never words of one meaning."""
    (one, contrary), (other, _) = _contraries(left), _contraries(right)
    if one == other or not (other in contrary or other.startswith(_PREFIXES) or one.startswith(_PREFIXES)):
        return False
    if other not in contrary and not _is_denied(one, other):
        return False
    return set(meanings(_WRITTEN.get(left, left))).isdisjoint(meanings(_WRITTEN.get(right, right)))


@lru_cache(maxsize=65536)
def _contraries(base: str) -> tuple[str, frozenset[str]]:
    """The stem as it is listed, `rar` for rarer and rarest, and its opposites: the listed, and hypo- of hyper-."""
    base = _WRITTEN.get(base, base)
    bare = next((base.removesuffix(end) for end in ("er", "est") if base.endswith(end)), base)
    base = bare if base not in _meanings() and bare in _meanings() else base
    rivals = {
        other + base.removeprefix(degree)
        for ones, others in (_DEGREES, _DEGREES[::-1])
        for degree in ones
        for other in others
        if base.startswith(degree)
    }
    return base, _meanings().get(base, frozenset()) | rivals


def _is_denied(left: str, right: str) -> bool:
    """Whether the longer is the shorter with a prefix that denies it."""
    short, long = sorted((left, right), key=len)
    bare, whole = root(short), root(long)
    return len(bare) >= MIN_BARE and whole.endswith(bare) and whole.removesuffix(bare) in _PREFIXES
