"""Which language a short text is in, and what rules must know of a language: its small words, denials, stems, rarity.

By script, then by function words, then by a model of bytes; a guess that the plan call may refine. The words are in
words.toml and cues.txt; how common others are in frequencies.txt, which `make tables` writes (licence beside it).
"""

from __future__ import annotations

import lzma
import shutil
import tomllib
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, lru_cache
from importlib.resources import files
from math import log
from tempfile import TemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, Any

import regex

from core.text.numbers import numerals

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from py3langid.langid import LanguageIdentifier

_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
# A script, the language it stands for, letters that only some of its languages have, and whether it has many more.
_SCRIPTS = (
    (regex.compile(r"[\p{Hiragana}\p{Katakana}\p{Han}]"), "zh", (("ja", _KANA),), False),
    (regex.compile(r"\p{Hangul}"), "ko", (), False),
    (regex.compile(r"\p{Cyrillic}"), "ru", (("uk", regex.compile(r"[іїєґІЇЄҐ]")),), True),
    (regex.compile(r"\p{Arabic}"), "ar", (("fa", regex.compile(r"[پچژگکی]")),), True),
    (regex.compile(r"\p{Hebrew}"), "he", (), False),
    (regex.compile(r"\p{Greek}"), "el", (), False),
    (regex.compile(r"\p{Devanagari}"), "hi", (), True),
    (regex.compile(r"\p{Thai}"), "th", (), False),
)
DENIES = regex.compile(
    r"\b(?:no|not|never|none|without|cannot|neither|nicht|kein\w*|ohne|jamais|pas|sans|aucune?s?|nunca|sin|ning[uú]n\w*|"
    r"senza|nessun\w*|não|sem|nenhum\w*|niet|geen|zonder)\b|n['’]t\b",
    regex.IGNORECASE,
)  # a heading or lead, which is too short to tell its language
_WORD = regex.compile(r"\p{L}+")
_LETTER = regex.compile(r"\p{L}")
_ADDRESS = regex.compile(r"\bhttps?://\S+", regex.IGNORECASE)  # its words are the page's, not the speaker's
_FOREIGN = regex.compile(r"(?!\p{Latin})\p{L}+")
_LOADING = Lock()
_ROWS_AT_ONCE = 2048  # of the model's 38,000, to be looked through in 3 MB
_MIN_SCRIPT = 0.2  # of the letters; below it a foreign script is a name or a term in a sentence
_SURE_SCRIPT = 0.6  # above it the sentence is in that script, whatever Latin words it holds
_MIN_TELLING = 0.02  # of the script's letters; Ukrainian has 10 % of its own, Persian 8 %, Japanese 20 % and more
# Letters of other scripts and spellings of one sound: Moskau and Москва, Akademie and academia begin alike.
_LATIN = str.maketrans(
    "абвгдезиклмнопрстуфхыэіґαβγδεζηικλμνξοπρσςτυφχωøłđ",
    "abvgdeziklmnoprstufhieigabgdeziiklmnxoprsstifhoold",
) | str.maketrans({"ж": "zh", "ц": "ts", "ч": "ch", "ш": "sh", "ю": "iu", "я": "ia", "ь": "", "θ": "th", "ψ": "ps"})
_SPELLINGS = regex.compile(r"ph|[tc]h|qu|ck|[kzyw]|(.)(?=\1)")
_SOUNDS = {"ph": "f", "th": "t", "ch": "c", "qu": "c", "ck": "c", "k": "c", "z": "c", "y": "i", "w": "v"}
_CODES = ("en", "de", "fr", "es", "it", "pt", "nl")
KNOWN = frozenset(_CODES)  # languages whose negations, numbers and months the rules know

# Of the identifier's languages those that short questions of a large neighbour are taken for (Aragonese for Spanish).
_TOO_NEAR = frozenset("an br bs eo fy ga gd gn ht jv ku la lb lg ln mg nn oc om qu rw sn so st vo wa".split())
_ENGLISH_BONUS = 1.0  # in log probability: English is what most questions and all names by themselves are taken for
_NAME_BONUS = 4.0  # the same for fewer than four words that may be a name
_WORD_BONUS = 1.0  # for each function word
_SCRIPT_BONUS = 2.0  # for the language that a script stands for


@lru_cache(maxsize=1 << 14)  # rules ask of each sentence again and again; sixty pages have as many
def detect_language(text: str) -> str:
    """An ISO 639-1 code; `en` when nothing tells (names, numbers, a single word).

    Scripts and function words tell most texts; where they do not, a naive Bayes model over bytes does
    (py3langid), whose first use costs most of a second.
    """
    text = _ADDRESS.sub(" ", text)
    tokens = _WORD.findall(text.casefold())
    scores = dict.fromkeys(_listed("small"), 0)
    for token in tokens:
        for code in _small_in().get(token, ()):
            scores[code] += 1
    best = max(scores.values())
    bonus = {code: _WORD_BONUS * score for code, score in scores.items()}
    for script, code, kin, is_shared in () if text.isascii() else _SCRIPTS:
        found = len(script.findall(text))
        if found / (len(_LETTER.findall(text)) or 1) > (_MIN_SCRIPT if best == 0 else _SURE_SCRIPT):
            own = next((name for name, telling in kin if len(telling.findall(text)) / found > _MIN_TELLING), code)
            return _identify(text, {own: _SCRIPT_BONUS}) if is_shared else own
    if not tokens or scores["en"] >= max(2, *(2 * score for code, score in scores.items() if code != "en")):
        return "en"
    bonus["en"] += _NAME_BONUS if best == 0 and len(tokens) < 4 else _ENGLISH_BONUS
    return _identify(_FOREIGN.sub(" ", text) if best else text, bonus)


@cache
def _small_in() -> Mapping[str, Sequence[str]]:
    """The languages in which a word is a small one."""
    known: dict[str, list[str]] = defaultdict(list)
    for code, listed in _listed("small").items():
        for word in listed:
            known[word].append(code)
    return dict(known)


def _identify(text: str, bonus: Mapping[str, float]) -> str:
    """The language of the highest log probability with its bonus."""
    shares: list[tuple[str, float]] = _identifier().rank(text)
    return max(shares, key=lambda ranked: log(max(ranked[1], 1e-9)) + bonus.get(ranked[0], 0.0))[0]


def _identifier() -> LanguageIdentifier:
    with _LOADING:  # one at a time: the model takes 55 MB while it is read
        return _load_identifier()


@cache
def _load_identifier() -> LanguageIdentifier:
    """Its model as published, but the moves of its automaton as a trie: 1 MB instead of 40."""
    import numpy as np
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier  # slow to import, and not needed for English

    with TemporaryFile() as unpacked, lzma.open(MODEL_DIR / MODEL_FILE) as packed:
        shutil.copyfileobj(packed, unpacked, 1 << 20)
        unpacked.seek(0)
        with np.load(unpacked, allow_pickle=False) as model:  # an array is read, and takes room, when it is asked for
            moves, states = _Moves.of(model["nextmove"].reshape(-1, 256), model["nextmove_row"])
            found = array("i", model["out_feat"][states].astype(np.int32).tobytes())
            weights = model["ptc"], model["pc"], model["classes"].tolist()
            identifier = LanguageIdentifier(*weights, moves, found, norm_probs=True, tk_row=())
    identifier._rowbase = range(0, len(states) << 8, 1 << 8)  # as a list of numbers 4 MB
    identifier.set_languages([code for code in identifier.labels if len(code) == 2 and code not in _TOO_NEAR])
    identifier._full_model = None  # all languages', for another choice of them: 28 MB
    return identifier


class _Moves:
    """The moves of an Aho-Corasick automaton (doi:10.1145/360825.360855): by a state, times 256, and a byte, its next.

    States are numbered breadth first, so that those which a state's text leads on to stand in a row; elsewhere a byte
    leads where it does from the longest end of that text that is a state too.
    """

    def __init__(self, letters: bytes, first: array[int], shorter: array[int]) -> None:
        self._letters = letters  # the last byte of each state's text, from the second on
        self._first = first  # where in `letters` those of a state begin; one more than there are states
        self._shorter = shorter

    @classmethod
    def of(cls, rows: NDArray[Any], row_of: NDArray[Any]) -> tuple[_Moves, NDArray[Any]]:
        """From rows of 256 next states, and the row of each state; and the old numbers of the states, by the new."""
        import numpy as np

        is_new, is_unread = np.ones(len(row_of), bool), np.ones(len(rows), bool)
        children, shorter = np.zeros(len(row_of), np.uint32), np.zeros(len(row_of), np.intp)
        letters, levels = [], [np.zeros(1, np.intp)]
        is_new[0] = False
        while len(levels[-1]):
            unread = levels[-1][is_unread[row_of[levels[-1]]]]  # a row that was read leads to nothing new
            nexts = [np.zeros(0, np.intp)]
            for part in np.array_split(unread, len(unread) // _ROWS_AT_ONCE + 1):
                after = rows[row_of[part]]
                place, letter = np.nonzero(is_new[after])
                nexts.append(after[place, letter].astype(np.intp))
                children[part] = np.bincount(place, minlength=len(part))
                letters.append(letter.astype(np.uint8))
                if len(levels) > 1:  # the end of one letter is nothing, where all begins
                    shorter[nexts[-1]] = rows[row_of[shorter[part[place]]], letter]
            levels.append(np.concatenate(nexts))
            is_new[levels[-1]] = False
            is_unread[row_of[unread]] = False
        states = np.concatenate(levels)
        number = np.empty_like(states)
        number[states] = np.arange(len(states))
        first = np.concatenate(([0], np.cumsum(children[states])))
        lists = (array("I", numbers.astype(np.uint32).tobytes()) for numbers in (first, number[shorter[states]]))
        return cls(np.concatenate(letters).tobytes(), *lists), states

    def __getitem__(self, place: int) -> int:
        state, letter = place >> 8, place & 255
        while (at := self._letters.find(letter, self._first[state], self._first[state + 1])) < 0 and state:
            state = self._shorter[state]
        return at + 1


def language_of(text: str) -> str:
    """The language of `KNOWN` that a text has most small words of, "" where it has none; quick, for every sentence.

    Words for numbers and months tell too, but less, as some are small words elsewhere.
    """
    counts = dict.fromkeys(_CODES, 0.0)
    known = _languages_by_word()
    for word in _WORD.findall(_ADDRESS.sub(" ", text).lower()):
        for code, weight in known.get(word, ()):
            counts[code] += weight
    best = max(counts.values())
    equal = [code for code in _CODES if counts[code] == best] if best else []
    return max(equal, key=lambda code: len(_telling(code).findall(text))) if len(equal) > 1 else "".join(equal)


@cache
def _languages_by_word() -> Mapping[str, Sequence[tuple[str, float]]]:
    known: dict[str, dict[str, float]] = defaultdict(dict)
    for code in _CODES:
        words = numerals(code)
        for word in (*words.calendar, *words.numbers, *words.scales):
            known[word][code] = 0.6
        for word in small_words(code):
            known[word][code] = 1.0
    return {word: tuple(weights.items()) for word, weights in known.items()}


def small_words(language: str) -> frozenset[str]:
    """The lower-case words that carry grammar, not content; English ones for an unknown language."""
    return _listed("small").get(language) or _listed("small")["en"]


def stem(lower: str, language: str) -> str:
    """A word without accents and inflection; without accents only in a language whose endings are not known.

    English has its own, finer one (core/evidence/rules/words.py).
    """
    plain = fold(lower)
    for ending in _endings(language):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            return plain[: -len(ending)]
    return plain


@lru_cache(maxsize=1 << 15)
def fold(lower: str) -> str:
    """Without accents: Köln and Koln are one."""
    if lower.isascii():
        return lower
    letters = unicodedata.normalize("NFD", lower).replace("ß", "ss")
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


@lru_cache(maxsize=65536)
def shape_of(stem: str) -> str:
    """A word as it sounds across languages, to see whether two begin alike: Photosynthese and fotosíntesis."""
    return _SPELLINGS.sub(lambda match: _SOUNDS.get(match.group(), ""), fold(stem).translate(_LATIN))


def negations(language: str) -> frozenset[str]:
    """The lower-case words that deny in a language (ISO 639-1); none for one that is not in `KNOWN`."""
    return _listed("denials").get(language, frozenset())


@cache
def _listed(table: str) -> Mapping[str, frozenset[str]]:
    return {code: frozenset(words.split()) for code, words in _tables()[table].items()}


@cache
def _endings(language: str) -> tuple[str, ...]:
    return tuple(_tables()["endings"].get(language, "").split())


@cache
def _telling(language: str) -> regex.Pattern[str]:
    return regex.compile(_tables()["telling"][language])


def _tables() -> Mapping[str, Mapping[str, str]]:
    return told_beside(__package__, "words.toml")


@cache
def told_beside(package: str, name: str) -> Mapping[str, Any]:
    """The words and patterns of the TOML file `name` that lies beside the code of `package`; read once."""
    return tomllib.loads(files(package).joinpath(name).read_text(encoding="utf-8"))


# Small words that decide what a sentence claims


class Cue(Enum):
    """What the words do to their sentence; `cues.txt` has a line for each class and language.

    There `_` stands for a blank, `*` for any ending.
    """

    HEDGE = "hedge"
    SAID = "said"
    DENIED = "denied"
    SOME = "some"
    MOST = "most"
    ALL = "all"
    ONLY = "only"
    CONDITION = "condition"
    LIMIT = "limit"
    ABOVE = "above"
    BELOW = "below"
    BACK = "back"  # points to what was named before
    CONNECTIVE = "connective"  # joins a sentence to the one before it
    RETORT = "retort"  # says of the sentence before that it is not so
    FRAMING = "framing"  # in a heading: takes back or limits what stands under it

    def find(self, language: str, text: str) -> Iterator[regex.Match[str]]:
        """Where its words stand; nowhere in a language without a line."""
        pattern = _pattern(self.value, language)
        return pattern.finditer(text) if pattern else iter(())

    def end_at(self, language: str, text: str, start: int) -> int:
        """Where one of its words that begins at `start` ends; 0 where none does."""
        pattern = _pattern(self.value, language)
        match = pattern.match(text, start) if pattern else None
        return match.end() if match else 0

    def first(self, language: str, text: str) -> str:
        """The first of its words; "" where there is none."""
        pattern = _pattern(self.value, language)
        return _first(pattern, text) if pattern else ""


@lru_cache(maxsize=512)  # of a claim it is asked again for each source
def _first(pattern: regex.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group() if match else ""


@cache
def _cues() -> dict[tuple[str, str], list[str]]:
    """The words of each cue in each language."""
    lines = files(__package__).joinpath("cues.txt").read_text(encoding="utf-8").splitlines()
    return {(cue, language): words for cue, language, *words in map(str.split, lines)}


@cache
def _pattern(cue: str, language: str) -> regex.Pattern[str] | None:
    """Made when it is first asked for: those of all languages take a tenth of a second."""
    words = _cues().get((cue, language))
    if words is None:
        return None
    escaped = sorted((regex.escape(word).replace("_", r"\s+").replace(r"\*", r"\p{L}*") for word in words), key=len)
    # "May" is a month; a sentence may begin with any of the others.
    return regex.compile(rf"(?<!\p{{L}})(?!(?-i:May)\b)(?:{'|'.join(escaped[::-1])})(?!\p{{L}})", regex.IGNORECASE)


# How common words are

_RARE = 4.0  # Zipf's scale: where a word that the table does not have may stand at most
_EVERYWHERE = 7.0  # one word in a hundred
_LEAST = 0.1  # nothing that was asked counts for nothing


def rarity(term: str, language: str) -> float:
    """How rare a word is, 0.01…1, by its stem as `core.text.terms.terms` gives it; 1 where its language has no table.

    Squared, so that one name counts more than three common adverbs.
    """
    zipf = _zipf(language).get(term, _RARE)
    return max(_LEAST, (_EVERYWHERE - zipf) / (_EVERYWHERE - _RARE)) ** 2


def is_listed(term: str, language: str) -> bool:
    """Whether the table of common words has it."""
    return term in _zipf(language)


@cache
def _zipf(language: str) -> dict[str, float]:
    listed = files(__package__).joinpath("frequencies.txt").read_text(encoding="utf-8").splitlines()
    lines = (line.split() for line in listed if line.startswith(f"{language} "))
    return {word: float(least) for _, least, *words in lines for word in words}
