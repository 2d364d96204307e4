"""Text as tokens with offsets: words, names and numbers, each with the form it is compared by.

Matching is by `stem` (inflection taken off) or, weaker, by `root` (derivation taken off too).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import NamedTuple

import regex

from core.text.numbers import (
    MONTHS,
    is_ordinal,
    is_ordinal_word,
    join_numbers,
    month_of,
    number_word,
    parse_number,
    same_number,
)

_TOKEN = regex.compile(
    r"\p{Nd}+(?:[.,]\p{Nd}+)*"  # 12, 1,234.5
    r"|\p{Han}|\p{Hiragana}+|\p{Katakana}+|\p{Thai}+"  # no spaces between words
    r"|\p{L}[\p{L}\p{M}\p{Nd}]*(?:['’]\p{L}+)*"
    r"|[%‰°$€£¥<>≤≥±]"
)
_ISO_MONTH = regex.compile(r"\p{Nd}{4}-(0[1-9]|1[0-2])-\p{Nd}{2}")
_SENTENCE_END = regex.compile(r"[.!?:;\n•“\"(\[]\s*[\"'“‘(\[]*$")


class Kind(Enum):
    WORD = "word"
    NAME = "name"  # capitalised where a common word would not be
    NUMBER = "number"
    FUNCTION = "function"  # carries grammar, not content
    SIGN = "sign"


class Token(NamedTuple):
    """A piece of the text: `text[start:end]`. `value` is set for numbers, also for those in words.

    A tuple, as a page has thousands: a dataclass takes three times as long to make and six times to compare.
    """

    text: str
    stem: str
    root: str
    start: int
    end: int
    kind: Kind
    value: float | None = None

    def __hash__(self) -> int:
        return hash((self.start, self.stem))  # the default would hash the enumeration, slowly

    @property
    def is_content(self) -> bool:
        return self.kind in (Kind.WORD, Kind.NAME, Kind.NUMBER)


_JOINABLE = (Kind.NUMBER, Kind.FUNCTION)


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of `text` in order, punctuation left out except signs that go with numbers."""
    matches = list(_TOKEN.finditer(text))
    tokens: list[Token] = []
    for position, match in enumerate(matches):
        following = matches[position + 1].group() if position + 1 < len(matches) else ""
        token = _token(text, match.group(), match.start(), match.end(), following)
        joined = _join(text, tokens[-1], token) if tokens and tokens[-1].kind in _JOINABLE else None
        if joined is None:
            tokens.append(token)
        else:
            tokens[-1] = joined
    return tuple(tokens)


def _token(text: str, word: str, start: int, end: int, following: str) -> Token:
    if word[0].isdigit():
        return _number(text, word, start, end)
    lower = word.lower().replace("’", "'")
    if not word[0].isalpha():
        return Token(word, lower, lower, start, end, Kind.SIGN)
    if word[0].isupper() and (month := month_of(lower, following, text[max(0, start - 3) : start])):
        return Token(word, month, month, start, end, Kind.NAME)
    known = _known(lower)
    is_name = known.kind is Kind.WORD and _is_name(text, word, start, following)
    return Token(word, known.stem, known.root, start, end, Kind.NAME if is_name else known.kind, known.value)


@lru_cache(maxsize=65536)
def _known(lower: str) -> Token:
    """A word in lower case by itself, wherever it stands."""
    if lower in FUNCTION_WORDS or lower.endswith("n't"):
        return Token(lower, lower, lower, 0, len(lower), Kind.FUNCTION)
    if (value := number_word(lower)) is not None:
        return _quantity(lower, 0, len(lower), value)
    base = stem(lower)
    return Token(lower, base, root(base), 0, len(lower), Kind.WORD)


def _number(text: str, word: str, start: int, end: int) -> Token:
    """Digits tied to a word by a hyphen (COVID-19) are part of a name, not a quantity."""
    before = text[max(0, start - 6) : start]
    if len(before) > 1 and before[-1] in "-‐–" and before[-2].isalpha():
        return Token(word, word, word, start, end, Kind.NAME)
    if iso := _ISO_MONTH.fullmatch(text[max(0, start - 5) : end + 3]):
        month = MONTHS[int(iso.group(1)) - 1]
        return Token(word, month, month, start, end, Kind.NAME)
    if len(word) == 2 and len(before) > 4 and before[-1] in "-–/" and before[-5:-1].isdigit():
        return _quantity(word, start, end, float(before[-5:-3] + word))  # 2018–19
    return _quantity(word, start, end, parse_number(word))


def _quantity(word: str, start: int, end: int, value: float) -> Token:
    form = f"#{value:.12g}"
    return Token(word, form + "th" if is_ordinal_word(word.lower()) else form, form, start, end, Kind.NUMBER, value)


def _join(text: str, left: Token, right: Token) -> Token | None:
    """One number of two tokens: 1.2 million, twenty-five, one hundred."""
    if text[left.end : right.start] not in ("", " ", "-", "\xa0", "\n"):
        return None
    value = join_numbers(left.text.lower(), left.value, right.text.lower(), right.value)
    return None if value is None else _quantity(text[left.start : right.end], left.start, right.end, value)


def _is_name(text: str, word: str, start: int, following: str) -> bool:
    if word.islower() and word.isalpha():
        return False
    if not word[0].isupper():
        return any(character.isupper() or character.isdigit() for character in word[1:])  # iPhone, p53
    if any(character.isupper() or character.isdigit() for character in word[1:]):
        return True
    before = text[max(0, start - 4) : start]
    opens = not before.strip() or _SENTENCE_END.search(before) is not None
    if opens:  # the first word is capitalised anyway; a capitalised second word makes it a name
        return following[:1].isupper() and following.lower() not in FUNCTION_WORDS
    return True


_IRREGULAR = {
    form: base
    for base, forms in {
        "win": "won", "begin": "began begun", "become": "became", "write": "wrote written", "find": "found",
        "make": "made", "take": "took taken", "give": "gave given", "grow": "grew grown", "rise": "rose risen",
        "fall": "fell fallen", "lead": "led", "hold": "held", "build": "built", "buy": "bought", "sell": "sold",
        "teach": "taught", "think": "thought", "bring": "brought", "leave": "left", "lose": "lost", "meet": "met",
        "run": "ran", "see": "saw seen", "speak": "spoke spoken", "tell": "told", "say": "said", "know": "knew known",
        "show": "shown", "choose": "chose chosen", "break": "broke broken", "draw": "drew drawn",
        "drive": "drove driven",
        "eat": "ate eaten", "fight": "fought", "fly": "flew flown", "get": "got gotten", "go": "went gone",
        "keep": "kept", "mean": "meant", "pay": "paid", "send": "sent", "sing": "sang sung", "sit": "sat",
        "stand": "stood", "understand": "understood", "die": "died dying dies", "lie": "lay lain lying",
        "child": "children", "man": "men", "woman": "women", "person": "people", "foot": "feet", "life": "lives",
        "analysis": "analyses", "datum": "data", "criterion": "criteria", "good": "better best", "bad": "worse worst",
        "study": "studies studied", "birth": "born", "wife": "wives", "series": "series", "species": "species",
        "bear": "bore borne", "wear": "wore worn", "steal": "stole stolen", "throw": "threw thrown", "spend": "spent",
        "seek": "sought", "strike": "struck", "swim": "swam swum", "forget": "forgot forgotten", "feel": "felt",
        "deal": "dealt", "shoot": "shot", "catch": "caught", "arise": "arose arisen", "hear": "heard", "mouse": "mice",
        "use": "used uses using",
    }.items()
    for form in forms.split()
}  # fmt: skip
_IRREGULAR_PAST = frozenset(form for form in _IRREGULAR if not form.endswith(("s", "ing"))) - frozenset(
    "children men women people feet analyses data criteria better best worse worst studies born wives mice".split()
)
_ENDINGS = ("'s", "'", "ingly", "edly", "ies", "ied", "ing", "ed", "es", "s", "ly")
_DERIVATIONS = (
    "ization", "ational", "fulness", "iveness", "ousness", "ements", "ation", "ement", "ition", "ment", "ness", "ance",
    "ence", "able", "ible", "ical", "sion", "tion", "ion", "ity", "ive", "ous", "ant", "ent", "ate", "ize", "ist",
    "ism", "ial", "ian", "ful", "al", "er", "or", "ic", "iz", "at", "an", "i",
)  # fmt: skip


def is_irregular_past(lower: str) -> bool:
    """Whether it is the past of a verb that has one of its own: won, began, taught."""
    return lower in _IRREGULAR_PAST


def stem(lower: str) -> str:
    """The word without its inflection; British spellings become American ones."""
    base = _IRREGULAR.get(lower) or _uninflected(lower)
    base = _IRREGULAR.get(base, base)
    if len(base) > 3 and base.endswith("e"):
        base = base[:-1]
    return base.replace("isation", "ization").replace("our", "or").replace("aem", "em").replace("yse", "yze")


def _uninflected(lower: str) -> str:
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


FUNCTION_WORDS = frozenset(
    """a an the this that these those it its itself he him his himself she her hers herself they them their theirs
    themselves we us our ours ourselves you your yours yourself i me my mine myself who whom whose which what where
    when why how and or but nor so yet if then than as because while although though unless until since whether of
    in on at by for with about against between into through during to from up down out off
    over under again further once here there all any both each other some such no not only own same too
    very s t can will just don should now is am are was were be been being have has had having do does did doing would
    could may might must shall ought also however therefore thus hence moreover furthermore upon within without across
    toward towards among amongst via per etc eg ie vs ever never none neither either every much another
    else even still already whereas whereby therein thereof one ones us let cannot
    been became become's that's it's he's she's there's i'm we're they're you're i've we've they've""".split()
)


_GROUPS = """
begin start commence initiate launch; end finish conclude terminate cease; show demonstrate indicate reveal suggest
find observe; big large great huge substantial; small little tiny minor; movie film picture; buy purchase acquire;
sell vend; help assist aid support; make create produce build construct develop; get obtain receive gain; use employ
utilize apply; need require demand; allow permit enable let; stop halt prevent; begin found establish; kill slay
murder; win victory; job occupation profession; car automobile vehicle; doctor physician; child kid; house home
residence; important significant key crucial; main primary principal chief major; many numerous; also additionally;
near close; fast quick rapid; hard difficult; easy simple; change alter modify; keep retain maintain preserve; give
provide supply offer; choose select pick elect; say state tell declare announce claim report; think believe consider;
try attempt; ask request; answer reply respond; live reside inhabit; die death decease pass; marry wed; birth bear
native; happen occur take; contain include comprise; consist comprise; lead head direct run; leader head chief;
company firm corporation business; country nation state; city town; area region zone; people person individual human;
woman female; man male; use usage; work function operate; method technique approach procedure; result outcome finding;
cause lead induce; effect impact influence; risk danger hazard; increase rise grow climb; decrease decline fall drop
reduce diminish lessen; improve enhance better; worsen deteriorate; high elevated; join enter; leave quit depart exit;
play perform; role part; song track tune; album record; singer vocalist; band group; writer author; book novel; write
pen author; actor actress; appear feature star; show series programme program; game match; team side club squad; coach
manager; player footballer; score goal; defeat beat; contest competition tournament; area field; student pupil; school
academy; teach instruct; study research investigation investigate; test examine assess evaluate; measure quantify;
patient case; disease illness disorder; drug medication medicine; treat therapy treatment; death mortality; common
frequent prevalent; rare uncommon; old aged elderly; young juvenile; whole entire full complete; part portion section;
form shape; kind type sort; amount quantity; number count; annual yearly; close shut; open unseal; earn; salary wage;
money fund; cost price; fight battle; war conflict; attack assault; soldier troop; army military; government
administration; law act legislation; rule regulation; name call title dub; originally initially first; finally
eventually; often frequently; approximately about roughly around; almost nearly; entire whole; error mistake fault;
correct right; wrong incorrect; fix repair; remove delete drop eliminate; add append; return yield; object instance;
argument parameter; function method; define specify; exist; implement realize; propose suggest; replace substitute;
rename; accept approve adopt; reject refuse decline; tie connect link associate correlate relate; compare contrast;
separate divide split; combine merge unite join; release issue publish; picture image photo photograph; see view
watch; look; hear listen; speak talk; understand comprehend; teach; learn; popular famous well-known renowned;
beautiful pretty; happy glad; sad unhappy; rich wealthy; poor; sick ill; fear afraid; love like enjoy; hate dislike;
own possess; locate situate base; travel journey trip; road street; ocean sea; ship boat vessel; plane aircraft
airplane; train railway rail; weather climate; food meal; eat consume; drink beverage; clothes clothing garment; sport
athletics; soccer football; mum mother mom; father dad; parent; brother sibling; sister sibling; husband spouse; wife
spouse; receive award; prize award; holiday vacation; shop store; garbage trash waste; fall autumn; american usa;
"""


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    for meaning, group in enumerate(_GROUPS.split(";")):
        for word in group.split():
            table[stem(word)] = (*table.get(stem(word), ()), meaning)
    return table


def meanings(base: str) -> tuple[int, ...]:
    """The groups of equal meaning that a stem belongs to; none for most words."""
    return _table().get(base, ())


ROOT_MATCH = 0.85  # 0…1, how much a match by root alone counts; by judgement
SYNONYM_MATCH = 0.8
ARTICLES = frozenset({"a", "an", "the"})
ROUNDING = 0.06  # share of a number; quantities.same_number allows 5 per cent of the other


class NumberLine:
    """The distinct numbers of a text in order of value, so that looking for one does not mean trying all."""

    def __init__(self, numbers: Iterable[Token]) -> None:
        distinct = {number.stem: number for number in numbers}.values()
        self._tokens = sorted(distinct, key=lambda number: number.value or 0.0)
        self._values = [number.value or 0.0 for number in self._tokens]

    def near(self, number: Token) -> list[Token]:
        """Those that `number` may be a rounding of."""
        value = number.value or 0.0
        slack = ROUNDING * abs(value)
        return self._tokens[bisect_left(self._values, value - slack) : bisect_right(self._values, value + slack)]


@dataclass(frozen=True)
class Reading:
    text: str

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tokenize(self.text)

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
        """Initials of runs of two to six capitalised words, small words between them left out."""
        letters = [
            token.text[0].lower() if token.text[:1].isupper() else " " for token in self.tokens if self._counts(token)
        ]
        line = "".join(letters)
        return frozenset(
            run[at : at + size] for run in line.split() for size in range(2, 7) for at in range(len(run) - size + 1)
        )

    @staticmethod
    def _counts(token: Token) -> bool:
        return token.kind is not Kind.FUNCTION or token.text[:1].isupper()

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
def read(text: str) -> Reading:
    """The reading of `text`, kept for the next rule."""
    return Reading(text)


def match_tokens(left: Token, right: Token) -> float:
    """How well the claim's word `left` matches a source's, 0…1; a number may be rounded."""
    if left.stem == right.stem:
        return 1.0
    if left.value is not None or right.value is not None:
        if left.value is None or right.value is None:
            return 0.0
        if is_ordinal_word(left.text.lower()) != is_ordinal_word(right.text.lower()):
            return float(left.value == right.value and is_ordinal(left.text.lower()) and is_ordinal(right.text.lower()))
        return float(same_number(left.value, right.value, left.text))
    if left.root == right.root:
        return ROOT_MATCH
    shared = set(meanings(left.stem)) & set(meanings(right.stem))
    return SYNONYM_MATCH if shared else 0.0
