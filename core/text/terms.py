"""Words as retrieval sees them: tokens, stopwords, light stems; and which words of a text a question's words mean.

One tokenisation for ranking, passages and extractive answers, so that they agree on what matches. Texts are cut
without knowing their language; the question's language says which of their words are forms of its own.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import pairwise
from math import log, sqrt

import regex
from rapidfuzz.distance import OSA

from core.text.language import detect_language, fold, is_listed, told_beside
from core.text.numbers import numerals


def _pattern(name: str) -> regex.Pattern[str]:
    return regex.compile(_TOLD[name].replace("\n", ""), regex.IGNORECASE)


_TOLD = told_beside(__package__, "terms.toml")
STOPWORDS = frozenset(_TOLD["stopwords"].split())
_STEMMERS = dict(  # of Snowball, by ISO 639-1
    entry.split(":")
    for entry in """ar:arabic ca:catalan cs:czech da:danish de:german el:greek en:english es:spanish et:estonian
    fi:finnish fr:french hi:hindi hu:hungarian id:indonesian it:italian lt:lithuanian nl:dutch no:norwegian pl:polish
    pt:portuguese ro:romanian ru:russian sr:serbian sv:swedish tr:turkish""".split()
)
_GERMANIC = frozenset({"da", "de", "en", "nl", "no", "sv"})
_COMPOUNDING = frozenset({"da", "de", "fi", "hu", "nl", "no", "sv"})
# How surely one word stands for another, and how much a word counts: by judgement, and tried on the even half of the
# articles of `make eval ARGS=quoted`; the figures hardly change when each is moved by a third.
_COMPOUND, _PART, _KIN = 0.9, 0.6, 0.7  # the term within a compound; a part of the compound; a derivation
_TOLD_SO = 0.95  # what a source says in place of what is asked
_MISSPELT, _MIN_MISSPELT = 0.8, 6  # a word of so many letters, in a question, for one that it nearly is
_MIN_PART = 5  # letters of a root that may be part of another
_SHARED = 0.7  # of the longer root, which kin have in common from the beginning
_BEGINNING = 3  # letters; forms of a word that begin otherwise are rare
_VOWELS = "aeiou"
_VOWEL_LETTER, _VOWEL_RUN = regex.compile(f"([{_VOWELS}])"), regex.compile(f"([{_VOWELS}]+)")
_PARTED = {"de": _pattern("de_parted"), "nl": _pattern("nl_parted")}
_MIN_STRONG = 4  # letters of a root; shorter ones are other words too often
_MAX_LETTERS, _MAX_RARITY, _NAMED = 9, 2.0, 1.3
_CAPITALS = regex.compile(r"(?<=[^\s?!.:¿¡]\s)(?:\p{Lu}[\p{L}\p{N}'’-]*|\p{N}[\p{N}.,]*)")
_CAPITAL_PAIRS = regex.compile(r"(?<=[^\s?!.:¿¡]\s)\p{Lu}[\p{L}\p{N}’-]*(?:\s+\p{Lu}[\p{L}\p{N}’-]*)+")
_MEASURES = "long|many|much|old|tall|far|big|large|often|fast|high|deep|heavy|late|early|soon"
_ASKING = regex.compile(
    rf"\bhow\s+(?:{_MEASURES})\b|\bwhat\s+(?:is|are|was|were)\s+the\b"
    r"|^\W*is\s+there\s+(?:an?|any)\s+(?:relation(?:ship)?|association|correlation|connection|link)\s+(?:between|of)\b",
    regex.IGNORECASE,
)
_SOUGHT, _WISH = _pattern("sought"), _pattern("wish")
_SOUGHT_WEIGHT = 0.4  # of other words: an answer gives a player, a law, a colour, and need not call it one
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}"
_TOKEN = regex.compile(
    rf"[{_CJK}]+|\d+(?:[.,]\d+)*%?|[\p{{L}}\p{{N}}](?:[\p{{L}}\p{{N}}\p{{M}}_+#]|['’.\-](?=[\p{{L}}\p{{N}}]))*"
)
# The same where a text holds neither those scripts nor marks, in half the time: Latin, Greek, Cyrillic and signs.
_PLAIN_TOKEN = re.compile(r"\d+(?:[.,]\d+)*%?|[^\W_][\w+#]*(?:['’.\-](?=[^\W_])[\w+#]*)*")
_OTHER_SCRIPT = re.compile("[^\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u207f\u20a0-\u20bf\u2100-\u2bff]")
_VOWEL = regex.compile("[aeiouy]")
_SPLITTABLE = regex.compile(r"[-_.’']")
_POSSESSIVE = regex.compile(r"['’]s$")
# Pairs of characters that only bind or ask: Chinese particles and question words, Japanese endings.
_FUNCTION_PAIR = regex.compile(r"^(?:\p{Han}?[的是了吗呢么什哪谁怎][\p{Han}]?|\p{Hiragana}{2})$")
_CJK_RUN = regex.compile(rf"^[{_CJK}]+$")


def words(text: str) -> list[str]:
    """Every token in order, casefolded and stemmed, stopwords included; runs without spaces become bigrams."""
    return [stemmed for token in _tokens(text) for stemmed in _stems(token)]


def _tokens(text: str) -> list[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return (_TOKEN if _OTHER_SCRIPT.search(plain) else _PLAIN_TOKEN).findall(plain)


@lru_cache(maxsize=1 << 15)  # pages of one subject share their words; some 5 MB at most
def _stems(token: str) -> tuple[str, ...]:
    """One casefolded token as it is looked up: its stem, then those of its parts."""
    if _CJK_RUN.match(token):
        return tuple(token[i : i + 2] for i in range(len(token) - 1)) or (token,)
    word = _POSSESSIVE.sub("", token)
    if not _SPLITTABLE.search(word) or word[0].isdigit():
        return (stem(word),)
    return (stem(word), *(stem(part) for part in _SPLITTABLE.split(word) if len(part) > 1))


def terms(text: str) -> list[str]:
    """The informative tokens of `text`, stemmed, in order; all tokens when only stopwords are left."""
    return [stemmed for token in _tokens(text) for stemmed in _telling(token)] or words(text)


@lru_cache(maxsize=1 << 15)
def _telling(token: str) -> tuple[str, ...]:
    kept = (one for one in _stems(token) if one not in _STOP_STEMS)
    return tuple(one for one in kept if len(one) > 3 or not _FUNCTION_PAIR.search(one))


def without_wish(question: str) -> str:
    """The tides of "please write me a poem about the tides"; the whole where nothing else is left."""
    return _WISH.sub("", question, count=1) or question


def question_terms(question: str, language: str = "") -> list[str]:
    """What a text must hold to answer the question: its terms without those that only ask ("how long", "what year")."""
    found = terms(_ASKING.sub(" ", without_wish(question)))
    found = [term for term in found if not _is_joined(term, found)]
    asking = _asking_stems(language) | _asking_stems(language and detect_language(question))
    return [term for term in found if term not in asking] or found


def _is_joined(term: str, found: Sequence[str]) -> bool:
    """Whether a word with a hyphen stands among its own parts, none of which is lost."""
    parts = _SPLITTABLE.split(term)
    return len(parts) > 1 and all(stem(part) in found for part in parts)


def asking_words(language: str) -> frozenset[str]:
    """What a question of this language says besides its subject, as it is written."""
    return frozenset(_TOLD.get(language, "").split())


@cache
def _asking_stems(language: str) -> frozenset[str]:
    return frozenset(form for word in asking_words(language) for form in (word, stem(word)))


def sought_terms(question: str, *, may_be_name: bool = False) -> set[str]:
    """The word behind a question word: bridge of "which bridge"; `may_be_name` where a capital tells one."""
    words_behind = (found["word"] for found in _SOUGHT.finditer(question))
    return {term for word in words_behind if not (may_be_name and word[0].isupper()) for term in terms(word)}


class FoundTerms:
    """A question's words as they are found in texts: the words of the texts that mean each.

    `bags` are the texts, each as its `terms`.
    """

    def __init__(self, question: str, bags: Iterable[Iterable[str]], language: str = "") -> None:
        self.terms = tuple(dict.fromkeys(question_terms(question, language)))
        vocabulary: set[str] = set().union(*bags)
        by_letter = _by_letter(vocabulary)
        self._forms = {term: forms_of(term, vocabulary, language, by_letter) for term in self.terms}
        self._told = {term: others for term in self.terms if (others := told_for(question, term, language))}
        for term, others in self._told.items():
            forms = self._forms[term]
            self._forms[term] = forms | {other: max(_TOLD_SO, forms.get(other, 0.0)) for other in others & vocabulary}
        self._every_form = frozenset[str]().union(*self._forms.values())
        self._found: dict[frozenset[str], dict[str, float]] = {frozenset(): {}}  # most passages hold the same few

    def found_in(self, bag: Iterable[str]) -> dict[str, float]:
        """Of the question's words those that `bag` holds, each with how surely, 0…1."""
        there = self._every_form.intersection(bag)
        if there not in self._found:
            shared = {term: [forms[form] for form in there if form in forms] for term, forms in self._forms.items()}
            self._found[there] = {term: max(sure) for term, sure in shared.items() if sure}
        return self._found[there]


class AskedTerms(FoundTerms):
    """The same, each word with its weight.

    A word counts by its letters, since common words are short, by how rare it is among the texts in any of its forms,
    and a little more where it is written as a name (in German: a noun). `names` are the words that a text about
    something else would not hold: figures, and what only names are written as.
    """

    def __init__(self, question: str, bags: Sequence[Set[str]], language: str = "") -> None:
        super().__init__(question, bags, language)
        rarity, unseen = inverse_frequency([self.found_in(bag) for bag in bags]), unseen_weight(len(bags))
        capitals = {term for found in _CAPITALS.finditer(question) for term in terms(found[0])}
        in_pairs = {term for found in _CAPITAL_PAIRS.finditer(question) for term in terms(found[0])}
        sought = sought_terms(question, may_be_name=language != "de")
        self.names = frozenset(
            term for term in self.terms if term in (in_pairs if language == "de" else capitals) or term[0].isdigit()
        )
        self._weights = {
            term: (min(len(term), _MAX_LETTERS) + 3 * (not term.isalpha()))
            * sqrt(min(rarity.get(term, unseen), _MAX_RARITY))
            * (_NAMED if term in capitals else 1.0)
            * (_SOUGHT_WEIGHT if term in sought else 1.0)
            / (len(self._told) if term in self._told else 1)  # one word of a source tells them all
            for term in self.terms
        }
        self._total = sum(self._weights.values()) or 1.0
        asked = [term for term in terms(question) if term in self._weights]
        self._neighbours = {pair for pair in pairwise(asked) if pair[0] != pair[1]}

    def coverage(self, bag: Set[str]) -> float:
        """The share of the question's weight that `bag` holds, 0…1."""
        return sum(self._weights[term] * sure for term, sure in self.found_in(bag).items()) / self._total

    def togetherness(self, found: Sequence[str]) -> float:
        """Of the question's neighbours that a text holds both, the share that are neighbours there too, 0…1.

        `found` are the `terms` of the text in their order.
        """
        both = self._held_both(found)
        side_by_side = {pair for one in pairwise(found) for pair in (one, one[::-1])}
        kept = sum(
            any((one, other) in side_by_side for one in self._forms[left] for other in self._forms[right])
            for left, right in both
        )
        return kept / len(both) if both else 0.0

    def is_together(self, found: Sequence[str], *, within: int) -> bool:
        """Whether each two neighbours of the question that a text holds stand at most `within` of its words apart."""
        places = {term: [at for at, word in enumerate(found) if word in forms] for term, forms in self._forms.items()}
        return all(
            min(abs(one - other) for one in places[left] for other in places[right]) <= within
            for left, right in self._held_both(found)
        )

    def _held_both(self, found: Sequence[str]) -> list[tuple[str, str]]:
        """The question's neighbours of which a text holds both."""
        there = set(found)
        return [pair for pair in self._neighbours if all(not there.isdisjoint(self._forms[term]) for term in pair)]


def told_for(question: str, term: str, language: str) -> frozenset[str]:
    """What a source says in the place of a word of the question: "play" for the "wrote" of "Who wrote X?"."""
    return frozenset(
        word for asks, asked, told in _frames(language) if term in asked and asks.search(question) for word in told
    )


@cache
def _frames(language: str) -> tuple[tuple[regex.Pattern[str], frozenset[str], frozenset[str]], ...]:
    lines = [line.split(" : ") for line in _TOLD["frames"].get(language, "").strip().splitlines()]
    return tuple(
        (
            regex.compile(rf"\b(?:{asks})\b", regex.IGNORECASE),
            frozenset(map(stem, asked.split())),
            frozenset(map(stem, told.split())),
        )
        for asks, asked, told in lines
    )


def _by_letter(vocabulary: Iterable[str]) -> dict[str, list[str]]:
    """The words by their first letter, without its accents."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in vocabulary:
        found[word[0]].append(word)
    folded: dict[str, list[str]] = defaultdict(list)
    for letter in filter(str.isalpha, found):
        folded[fold(letter)[:1]] += found[letter]
    return folded


def forms_of(
    term: str, vocabulary: Collection[str], language: str = "", by_letter: Mapping[str, list[str]] | None = None
) -> dict[str, float]:
    """The words of `vocabulary` that mean `term`, each with how surely, 0…1: inflections, compounds, near kin.

    `by_letter` are the same words by their first letter: where a language writes no compounds, few are looked at.

    German and its neighbours write compounds as one word: "Verteidigung" is found in "Verteidigungslinie" and, less
    surely, the other way round. Few words share their first letters with the term, so few are stemmed.
    """
    value = _value_of(term, language)
    if value or not term[0].isalpha() or _CJK_RUN.match(term):
        return {word: 1.0 for word in vocabulary if word == term or (value and _value_of(word, language) == value)}
    root, beginning = _root(term, language), fold(term)[:_BEGINNING]
    compounds, is_germanic = language in _COMPOUNDING, language in _GERMANIC
    core = _core(term, language)
    may_be_verb = is_germanic and sum(map(len, core)) >= _MIN_STRONG
    kept = [""] if language in _PARTED else core[::2]  # by all forms of a verb from which nothing is parted
    looked_at = vocabulary
    if by_letter is not None and not compounds:
        letters = {beginning[0], *("" if core[0] or not may_be_verb else _VOWELS)}
        looked_at = [word for letter in letters for word in by_letter.get(letter, ())]
    found: dict[str, float] = {}
    for word in looked_at:
        if word == term:
            found[word] = 1.0
            continue
        if not word[0].isalpha():
            continue
        folded = fold(word)
        if folded.startswith(beginning) or (compounds and "ge" in (word[:2], term[:2])):
            found[word] = _likeness(root, _root(word, language), compounds=compounds)
        elif compounds and len(root) >= _MIN_PART and root in word:
            found[word] = _COMPOUND if _root(word, language).endswith(root) else 0.0
        elif compounds and len(word) >= _MIN_PART and root.endswith(fold(word)[: -len(word) // 3 or None]):
            found[word] = _PART if root.endswith(_root(word, language)) else 0.0
        is_open = may_be_verb and core[0] in word and folded.startswith(kept[0]) and found.get(word, 0) < _KIN
        if is_open and all(map(folded.__contains__, kept)) and _is_same_verb(core, _core(word, language)):
            found[word] = _KIN
    found = {word: sure for word, sure in found.items() if sure > 0}
    return found or {word: _MISSPELT for word in vocabulary if _is_misspelt(term, word)}


def _value_of(word: str, language: str) -> str:
    """A number in words by its digits, as those are by themselves: vier and vierten are 4; "" for any other word."""
    return word.rstrip("stndrh") if word[0].isdigit() else _written_numbers(language).get(word, "")


@cache
def _written_numbers(language: str) -> dict[str, str]:
    known = numerals(language or "en")
    return {
        form: f"{value:g}"
        for word, value in (*known.numbers.items(), *known.ordinals.items())
        if value > 1
        for form in (word, stem(word))
    }


def _is_misspelt(term: str, word: str) -> bool:
    """Whether a letter is doubled, left single or changes places with the next; another letter is another name."""
    return (
        len(term) >= _MIN_MISSPELT
        and abs(len(term) - len(word)) <= 1
        and set(term) == set(word)
        and OSA.distance(term, word, score_cutoff=1) == 1
    )


def _likeness(one: str, other: str, *, compounds: bool) -> float:
    """How surely two roots with one beginning mean the same, 0…1."""
    if one == other:
        return 1.0
    if compounds and min(len(one), len(other)) >= _MIN_PART:
        if other.startswith(one):
            return _COMPOUND
        if one.startswith(other):
            return _PART
    shared = next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )
    return _KIN if shared >= _MIN_PART and shared >= _SHARED * max(len(one), len(other)) else 0.0


@lru_cache(maxsize=1 << 15)
def _core(word: str, language: str) -> tuple[str, ...]:
    """A verb's root without what may be parted from it, cut into consonants and vowels: mitspielte, sp-ie-l."""
    parted = _PARTED.get(language)
    if parted is None:
        return tuple(_VOWEL_LETTER.split(_root(word, language)))
    root = _root(parted.sub("", word), language)
    return tuple(_VOWEL_RUN.split(root if len(root) < 6 else root.removeprefix("ge")))


def _is_same_verb(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two cores are forms of one verb, which may be strong: sing, sang; schreib, schrieb."""
    if len(one) != len(other) or one[0] != other[0] or sum(map(len, one)) < _MIN_STRONG:
        return False
    changed = [place for place, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]]
    return not changed or (len(changed) == 1 and changed[0] % 2 == 1)


_local = threading.local()  # a stemmer keeps the word it works on


@lru_cache(maxsize=1 << 15)
def _root(word: str, language: str) -> str:
    """The word without what its language inflects; German and Dutch participles without their ge-."""
    name = _STEMMERS.get(language)
    if name is None:
        return word
    stemmers = _local.__dict__.setdefault("stemmers", {})
    if name not in stemmers:
        import snowballstemmer  # type: ignore[import-untyped]  # ships no types; 4 MB that a parser does not need

        stemmers[name] = snowballstemmer.stemmer(name)
    if language in ("de", "nl") and word.startswith("ge") and word.endswith(("t", "en")) and len(word) > 6:
        word = word[2:]
    return fold(stemmers[name].stemWord(word))


def is_common(word: str) -> bool:
    """Whether English has the word often: it is no name, and no rare word."""
    return is_listed(stem(word.lower()), "en")


def stem(token: str) -> str:
    """A light English stem: plural, -ing, -ed, -ly and a final e; words of other languages mostly stay whole.

    Over-stemming joins unlike words, so endings go only where at least three letters stay.
    After Harman's S-stemmer (JASIS 1991), with the verb endings of Porter's step 1.
    """
    if len(token) < 4 or not token.isascii() or token[-1].isdigit():
        return token
    if token.endswith("ies") and len(token) > 4:
        token = token[:-3] + "y"
    elif token.endswith(("sses", "shes", "ches", "xes", "zes")) and len(token) > 4:
        token = token[:-2]
    elif token.endswith("s") and not token.endswith(("ss", "us", "is")):
        token = token[:-1]
    for ending in ("ingly", "edly", "ing", "ed", "ly"):
        if (
            token.endswith(ending)
            and len(token) - len(ending) >= 3
            and _VOWEL.search(token, 0, len(token) - len(ending))
        ):
            token = token[: -len(ending)]
            if len(token) > 3 and token[-1] == token[-2] and token[-1] not in "lsz":
                token = token[:-1]
            break
    return token[:-1] if token.endswith("e") and len(token) > 4 else token


_STOP_STEMS = STOPWORDS | {stem(word) for word in STOPWORDS}


def inverse_frequency(documents: Sequence[Iterable[str]]) -> Mapping[str, float]:
    """BM25's idf of every term in `documents` (each a bag of terms), always positive.

    Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009, with Lucene's +1.
    """
    counts: dict[str, int] = {}
    for document in documents:
        for term in set(document):
            counts[term] = counts.get(term, 0) + 1
    total = len(documents)
    return {term: log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}


def unseen_weight(documents: int) -> float:
    """The idf of a term that no document holds."""
    return log(1 + (documents + 0.5) / 0.5)


# BM25 over texts that are few enough to be read at once; whole indexes are ranked where they are kept. Pure


_SATURATION = 1.2  # k1: how soon a repeated word adds nothing more
_LENGTH = 0.75  # b: how much a long text must hold more to count the same


def bm25(query: str, texts: Sequence[str]) -> list[float]:
    """How well each text fits, 0 and more; a word counts by how rare it is among these texts.

    Robertson & Zaragoza, "The Probabilistic Relevance Framework", 2009; k1 and b as SQLite's FTS5 has them.
    """
    asked = list(dict.fromkeys(terms(query)))
    bags = [Counter(words(text)) for text in texts]
    weights = inverse_frequency([[term for term in asked if term in bag] for bag in bags])
    lengths = [bag.total() for bag in bags]
    usual = sum(lengths) / max(len(lengths), 1) or 1.0
    return [
        sum(
            weights[term]
            * bag[term]
            * (_SATURATION + 1)
            / (bag[term] + _SATURATION * (1 + _LENGTH * (length / usual - 1)))
            for term in asked
            if term in bag
        )
        for bag, length in zip(bags, lengths, strict=True)
    ]
