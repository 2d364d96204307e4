"""Words as retrieval sees them: tokens, stopwords, light stems.

One tokenisation for ranking, passages and extractive answers, so that they agree on what matches.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import log

import regex

# Not here: words of one language that carry meaning in another ("war", "die", "hat", "son", "sin", "den", "sur").
STOPWORDS = frozenset(
    """a about after all also am an and any are aren't as at be because been before being between both but by can
    can't could couldn't did didn't do does doesn't doing don't down during each else ever few for from further get
    give gives got had has have having he her here hers him his how however i if in into is isn't it its itself just
    let like made make makes many may me might more most much must my no nor not of off on once only or other our out
    over own per please same shall she should so some such tell than that the their them then there these they this
    those through to too under until up upon us use used using very via was way we well were what when where which
    while who whom whose why will with within without would you your yours
    aber als am an auch auf aus bei das dass dem der des ein eine einem einen einer es für ich im in ist
    mit nach nicht oder sich sie sind um und von vor was welche wer werden wie wird wo zu zum zur
    au aux avec ce ces cette comment dans de des du elle en est et il la le les leur ne ou où par pas pourquoi
    que quel quelle qui quoi sa se ses sont un une
    al como con cual cuál cuando cuándo de del donde dónde el en es esta este la las lo los más no o para pero por
    qué que quien quién se ser su sus un una y""".split()
)
_MEASURES = "long|many|much|old|tall|far|big|large|often|fast|high|deep|heavy|late|early|soon"
_ASKING = regex.compile(rf"\bhow\s+(?:{_MEASURES})\b|\bwhat\s+(?:is|are|was|were)\s+the\b", regex.IGNORECASE)
_FIGURE = regex.compile(
    rf"\bhow\s+(?:{_MEASURES})\b|\bwhen\b|\b(?:what|which)\s+(?:year|date|day|time|number|percentage|share|age|rate|size)\b",
    regex.IGNORECASE,
)
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}"
_TOKEN = regex.compile(
    rf"[{_CJK}]+|\d+(?:[.,]\d+)*%?|[\p{{L}}\p{{N}}](?:[\p{{L}}\p{{N}}\p{{M}}_+#]|['’.\-](?=[\p{{L}}\p{{N}}]))*"
)
_VOWEL = regex.compile("[aeiouy]")
_SPLITTABLE = regex.compile(r"[-_.’']")
_POSSESSIVE = regex.compile(r"['’]s$")
# Pairs of characters that only bind or ask: Chinese particles and question words, Japanese endings.
_FUNCTION_PAIR = regex.compile(r"^(?:\p{Han}?[的是了吗呢么什哪谁怎][\p{Han}]?|\p{Hiragana}{2})$")
_CJK_RUN = regex.compile(rf"^[{_CJK}]+$")


def words(text: str) -> list[str]:
    """Every token in order, casefolded and stemmed, stopwords included; runs without spaces become bigrams."""
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold()):
        found.extend(_stems(token))
    return found


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
    tokens = words(text)
    return [token for token in tokens if token not in _STOP_STEMS and not _FUNCTION_PAIR.search(token)] or tokens


def question_terms(question: str) -> list[str]:
    """What a text must hold to answer the question: its terms without those that only ask ("how long", "what year")."""
    return terms(_ASKING.sub(" ", question))


def asks_for_figure(question: str) -> bool:
    """Whether the answer is likely to be a number, a date or a time."""
    return bool(_FIGURE.search(question))


def stem(token: str) -> str:
    """A light English stem: plural, -ing, -ed, -ly and a final e; words of other languages mostly stay whole.

    Over-stemming joins unlike words, so endings go only where at least three letters stay.
    After Harman's S-stemmer (JASIS 1991), with the verb endings of Porter's step 1.
    """
    if len(token) < 4 or not token.isascii() or token[-1].isdigit():
        return token
    if token.endswith("ies") and len(token) > 4:
        token = token[:-3] + "y"
    elif token.endswith(("sses", "shes", "ches", "xes", "zes")):
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
