"""Does a text answer a question? By rules: what kind of thing is asked for, and whether the text holds one.

Meant to be precise: a text is called unanswering only where nothing of the expected kind stands in it. What stands
in the question too ("How many were there in 1990?" "In 1990 …") answers nothing. The words are in answering.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from itertools import islice, takewhile

import regex

from core.evidence.rules.words import read
from core.text.language import detect_language, told_beside
from core.text.saying import say
from core.text.sentences import split_sentences
from core.text.terms import STOPWORDS, asking_words, terms, told_for


class Expected(StrEnum):
    """The kind of answer that a question asks for; the value is what is said where it is missing."""

    DURATION = "no duration is given"
    DATE = "no date is given"
    FREQUENCY = "it does not say how often"
    NUMBER = "no number is given"
    PERSON = "nobody is named"
    PLACE = "no place is given"
    VERDICT = "it says neither yes nor no"


def pattern(name: str, *, is_cased: bool = False) -> regex.Pattern[str]:
    """A pattern of answering.toml."""
    told = told_beside(__package__, "answering.toml")["patterns"][name]
    return regex.compile(told.replace("\n", ""), 0 if is_cased else regex.IGNORECASE)


_MISSING = {one: one.value for one in Expected}
_ASKED_BY = {
    "how_long": Expected.DURATION,
    "how_often": Expected.FREQUENCY,
    "how_many": Expected.NUMBER,
    "when": Expected.DATE,
    "where": Expected.PLACE,
    "who": Expected.PERSON,
    "else": None,
    "whether": Expected.VERDICT,
}
_GIVEN_BY = {
    Expected.DURATION: ("spans",),
    Expected.DATE: ("times", "spans"),
    Expected.FREQUENCY: ("rates", "spans"),
    Expected.NUMBER: ("numbers",),
    Expected.PERSON: ("people",),
    Expected.PLACE: ("places",),
}
_BEFORE_ASKING = (  # prepositions and the like that may stand before the question word
    r"(?:(?:and|but|so|for|since|until|till|by|from|to|at|in|on|about|around|during|with|of|exactly|approximately"
    r"|und|aber|seit|bis|ab|an|von|vor|nach|für|im|am|um|zu|aus|mit|auf|bei|ungefähr|et|mais|depuis|jusqu['’]à|pendant"
    r"|à|de|d['’]|en|dans|par|pour|avec|chez|y|pero|desde|hasta|durante|a|por|para|con|e|ma|da|fino a|per|di|o|mas|até"
    r"|em|com|no|na|maar|sinds|tot|voor|door|van|aan|met|op|rond)\s*\b)*"
)
_OR = {"en": "or", "de": "oder", "fr": "ou", "es": "o", "it": "o", "pt": "ou", "nl": "of"}
_MANNER = pattern("manner")
_AGENT = regex.compile(r"\b(?:by|par|por|von|vom|durch|da|dal\w*|door)\s+(?!\d|\w+ing\b)\p{L}", regex.IGNORECASE)
_YES_OR_NO = regex.compile(r"\W*(?:yes|no|ja|nein|oui|non|sí|si|sim|não|nee)\b", regex.IGNORECASE)
_AIMS = pattern("aims")
_FIGURE = regex.compile(r"\p{N}[\p{N}.,:]*")
_YEAR = regex.compile(
    r"(?:\b(?:in|since|during|until|en|im|seit|desde|nel|dal|em|sinds|depuis|jahre?)\s+|\(|[–-])(?:1\d|20)\d\d"
    r"(?=\s*(?:[,.;:)–-]|(?:the|a|an|it|he|she|they|was|were|is|and|with|when|as|by)\b|\p{Lu}|$))"
)
_DATED = regex.compile(
    r"(?<![\d.,])\d{3,4}(?!\d|[.,]\d)|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}\s?(?:am|pm|a\.m|p\.m|uhr|h)\b"
    r"|\b\d+(?:st|nd|rd|th)\b|\b[XVI]{2,}\b",
    regex.IGNORECASE,
)
_COMPARED = regex.compile(
    r"\b(?:as\s+\w+\s+as|size\s+of|\w+er\s+than|(?:more|less|fewer)\s+than|times)\b", regex.IGNORECASE
)
_UNIT = r"(?:second|minute|hour|day|night|week|month|year|decade)"
_BARE_UNIT = pattern("bare_unit")
_UNTIL_NOW = regex.compile(r"\bhow\s+long\s+(?:has|have|had)\b", regex.IGNORECASE)  # which "20 years ago" answers
_LONG = regex.compile(r"\bhow\s+long\s+(?:is|are|was|were|may|can|must)\b", regex.IGNORECASE)  # or in space
_LENGTH = regex.compile(
    r"\d\s?(?:[ckm]?m|km|mi|ft|in|yd|met(?:er|re)s?|kilomet(?:er|re)s?|miles?|feet|foot|inch(?:es)?|yards?|char(?:acter)?s?"
    r"|words?|pages?|lines?|letters?)\b",
    regex.IGNORECASE,
)
_COUNTED_TIME = regex.compile(
    rf"\bhow\s+many\s+{_UNIT}s\b|\bwie\s*viele\s+(?:sekunden|minuten|stunden|tage|wochen|monate|jahre)\b",
    regex.IGNORECASE,
)
_TIME = pattern("time")
_NUMBERED = regex.compile(r"\b(?:which|what|welche[rsnm]?)\s+(?:\w+\s+){0,4}?(?:port|version)\b", regex.IGNORECASE)
_PORT_OR_VERSION = regex.compile(r"\b\d{2,5}\b|\d\.\d|\bv\d")
_LACKING = regex.compile(r"\b(?:without|ohne|sans|sin|senza|sem|zonder)\s+(?P<what>.+)", regex.IGNORECASE)
_LACKED_AFTER, _NEEDED_AFTER = 30, 45  # characters, from a word of absence to what is lacking, and from that to need
_LACKS = pattern("lacks")
_OF_ABSENCE = pattern("of_absence")
_OF_NEED = pattern("of_need")
_DEFINED = pattern("defined", is_cased=True)
_LASTED = pattern("lasted")
_COST = regex.compile(
    r"\bhow\s+much\b.*\b(?:costs?|paid|pay|prices?|worth)\b|\bwie\s*viel\s+koste|\bcombien\s+co[uû]t|\bcu[áa]nto\s+c(?:ue|o)st"
    r"|\bquanto\s+(?:è\s+)?cost|\bhoeveel\s+kost|^\W*(?:what\s+(?:do|does|did|will)\s.*\bcost|was\s+kostet)\b",
    regex.IGNORECASE,
)
_MONEY = regex.compile(
    r"[$€£¥]|\b(?:dollars?|euros?|pounds?|crowns?|cents?|francs?|yen|rupees?|usd|eur|gbp|dólares|dollari|franken|kronen)\b"
    r"|\b(?:cost|price|worth|free\b|kost|preis|gratis|co[uû]t|prix|precio|cuest|prezzo|preço|prijs)",
    regex.IGNORECASE,
)
_COUNTED = (
    (_COST, (_MONEY,)),
    (_COUNTED_TIME, (_TIME, _LASTED)),
    (_NUMBERED, (_PORT_OR_VERSION,)),
)  # any other number is none of these
PARTICULAR = regex.compile(  # a name, a figure, or a word of code: what a thing may be named by
    r"(?<=[\p{L}\p{N},;:)»”\"]\s[(«“\"]?)\p{Lu}[\p{L}\p{N}]+|\p{N}[\p{N}.,]*|`[^`]+`"
)
_COUNTING = regex.compile(
    r"\b(?:how\s+many|wie\s*viele[nrs]?|combien\s+d[e'’]|cu[áa]nt[oa]s|quant[eia]s?|hoeveel)\s+(?P<rest>.+)",
    regex.IGNORECASE,
)
_AT_MOST = regex.compile(
    r"^\W*how\s+many\b.+?\b(?:can|may)\b|^\W*wie\s*viele\b.+?\b(?:kann|können|darf|dürfen)\b", regex.IGNORECASE
)
_BOUNDS = pattern("bounds")
_JOINING = frozenset("& + / | : = - – — ·".split())  # within a name: R & D
_MEASURED = regex.compile(
    r"^\W*how\s+(?:tall|far|hot|cold|warm|fast|high|deep|heavy|wide|large|big)\b", regex.IGNORECASE
)
_MEASURE = regex.compile(
    r"\b(?:half|twice|double|an?\s+(?:\w+\s+)?(?:hour|mile|met(?:re|er)|kilomet(?:re|er)|foot|inch))\b",
    regex.IGNORECASE,
)
_PRICED, _CURRENCY = pattern("priced"), pattern("currency")
_TO_CURRENCY = 20  # characters from an amount: "12 million Swedish crowns"
_COUNTED_NOUNS = 3  # words; "how many home games were": the first words that are no small ones
_NUMBER_OF = pattern("number_of")
_BEFORE_NOUN, _AFTER_NOUN = 4, 2  # words from a number to its noun, and from a noun to its number ("members: 5")
_TOKEN = regex.compile(r"[\p{L}\p{N}](?:[\p{L}\p{N}]|[.,'’½-](?=[\p{L}\p{N}]))*")
_DEFAULT = pattern("default")
_GIVEN_DEFAULT = pattern("given_default")
_INSTRUCTS = pattern("instructs")
_MAY_ONE = pattern("may_one")
_PERMITS = pattern("permits")
_MUST_ONE = pattern("must_one")
_OBLIGES = pattern("obliges")
_WHO_DID = regex.compile(
    r"^who\s+(?!(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|must|else|all)\b)(?P<deed>\w+)",
    regex.IGNORECASE,
)
_DOERS = regex.compile(r"(?:er|or|ist|wright|poet|architect|champion)s?$")  # of words for a deed, those for who did it
_BY_NAME = regex.compile(
    r"(?:\s+by|[^.;]{0,40}(?<!ed|en)\s+by)\s+(?:\p{Ll}+\s+){0,3}\p{Lu}"
)  # no film that is owned by somebody
_NAME_HAS = regex.compile(r"\p{Lu}[\p{L}-]*['’]s?\s+(?:[\p{L}-]+\s+){0,5}$")
_WHEN_DID = regex.compile(r"^\W*when\s+(?:was|were|did)\b", regex.IGNORECASE)
_DAY = pattern("day")
_WHAT_DOES = regex.compile(
    r"^what\s+(?:do|does|did)\s+.*?\b(?P<deed>(?!(?:do|mean|it|one|they|him|her|for|with|of|in|on|to)\b)\w+)\W*$",
    regex.IGNORECASE,
)
_HOW_TO_DO = regex.compile(
    r"^\W*how\s+(?:(?:do|does|can|should|must|would)\s+(?:i|you|we|one)|to)\s+(?P<deed>\w{2,})", regex.IGNORECASE
)
_HOW_OFTEN, _RATE = pattern("how_often_is"), pattern("rate")
_COMMAND = regex.compile(r"(?:^[\p{L} ]+: )?`(?P<code>[^`]*\s[^`]*)`")
_WHY = regex.compile(r"^\W*(?:why|warum|wieso|weshalb|pourquoi|por\s+qué|perché|por\s+que|waarom)\b", regex.IGNORECASE)
_CAUSES = pattern("causes")
_NAME = regex.compile(r"\b\p{Lu}[\p{L}\p{M}'’.-]*")
_MARKER = regex.compile(r"\[\d{1,3}(?:,\s*\d{1,3})*\]")
_BEGINNING = 5  # letters; forms of a word share them
_NO_DEFINITION = (  # behind "is": what is done with a thing, where it is, how it is compared
    r"\w+ed|not|never|always|also|then|only|shown|read|kept|given|sent|found|made|told|held|said|put|set|at|in|on|under"
    r"|above|below|too|so|as|more|less|\w+er\s+than|where|when|here|there|likely|ready|possible|able|about"
)
_MOSTLY = 0.5  # of a question's words, in what says yes or no to it


def unanswered_by_rules(question: str, text: str, *, language: str = "en") -> str:
    """Empty when `text` may answer `question`, else why not, in a few words for people: "no duration is given".

    `language` is the question's, ISO 639-1. What is asked in no language of ours, or for nothing certain, gives "" too.
    """
    expected = expected_answer(question, language)
    text = _MARKER.sub(" ", text)
    if expected is None or not any(character.isalnum() for character in text):
        return ""
    text_language = detect_language(text)
    languages = tuple(dict.fromkeys((text_language, language)))
    if not _words_of(text_language):
        return ""
    counted = next((given for asked, given in _COUNTED if asked.search(question)), ())
    if expected is Expected.NUMBER and counted:
        holds = any(pattern.search(text) for pattern in counted)
    else:
        holds = _holds(expected, question, text, languages)
    return "" if holds else say(_MISSING[expected])


def expected_answer(question: str, language: str = "en") -> Expected | None:
    """The kind of answer that the question's own words ask for; None when they do not tell."""
    asked = question.rpartition("¿")[2].casefold().strip()
    for part in reversed(regex.split(r"[,?]", asked)):  # of two questions the last is asked, unless it names nothing
        for expected, pattern in _asks(language):
            if pattern.match(part.strip()):
                is_choice = expected is Expected.VERDICT and _OR[language] in asked.split()
                return None if is_choice else expected
    return None


def defined_name(question: str) -> str:
    """What the question wants explained, in lower case: "claim" of "What is a claim?", "◐" of "What does the ◐ mean?"

    "" where it asks otherwise.
    """
    asked = _DEFINED.fullmatch(" ".join(question.rpartition("¿")[2].casefold().split()))
    name = asked["name"].strip("\"'“”‘’«»`?.!*") if asked else ""
    signs = [(at, word) for at, word in enumerate(name.split()) if not any(letter.isalnum() for letter in word)]
    sign = next((word for at, word in signs if at == 0 or word not in _JOINING), "")
    return sign or ("" if name.endswith("ing") else name)


def defines(name: str, text: str) -> bool:
    """Whether a sentence says what `name` is: it opens with it and goes on with "is", "means", a bar or a colon, or
    names it behind what it is: "a new form, TypeIs, to …".
    """
    opening = r"[^\w-]*(?:(?:an?|the|eine?|der|die|das|une?|la|le|las|los|el|il|een|de|het|os?|uma?)\s+)?[`*_“\"'«]*"
    saying = r"(?:is|are|means?|stands?\s+for|refers?\s+to|denotes?|ist|sind|bedeute[nt]|heißt|bezeichnet|steht\s+für"
    saying += r"|est|sont|signifie|désigne|es|son|significa|è|sono|é|são|zijn|betekent)"
    return bool(
        regex.match(
            rf"{opening}{regex.escape(name)}(?:e?s)?[`*_”\"'»]*(?:\s*\([^()]*\))?\s*"
            rf"(?:(?<=\s){saying}\b(?!\s+(?:{_NO_DEFINITION})\b)|[|=:–—]\s)",
            text,
            regex.IGNORECASE,
        )
        or regex.search(
            rf"{_APPOSED}{regex.escape(name)}[`*_”\"'»]*,\s(?:to|which|that|who|is|was|has|can)\b", text, regex.I
        )
    )


_APPOSED = r"(?<!\b(?:in|on|at|for|by|with|of|from|to|as)\s)\ban?\s(?:[\w-]+\s){0,4}[\w-]+,\s[`*_“\"'«]*"


def may_only_touch(question: str, text: str, *, language: str = "en") -> bool:
    """Whether a text names the kind of thing asked for, but perhaps of something else: near the question, no answer.

    As a number that counts other things, a default without its value, "install" where nobody says how. Stricter than
    `unanswered_by_rules`: such a text is shown all the same.
    """
    for asking, binds in _BINDINGS:
        asked = asking.search(question)
        if asked:
            return not binds(asked, text, language)
    return False


def _told(question: str, language: str) -> frozenset[str]:
    """The terms by which a source may tell what the question asks in other words."""
    return frozenset(word for term in terms(question) for word in told_for(question, term, language))


def _counts(question: str, rest: str, text: str, language: str) -> bool:
    """Whether a number stands at most a few words before one of the nouns that `rest` of the question begins with.

    Or as near behind what is told in their place: "its population was about 90".
    """
    small = STOPWORDS | asking_words(language)
    nouns = takewhile(lambda word: word not in small, regex.findall(r"[\p{L}\p{N}-]+", rest.casefold()))
    beginnings = {term[:_BEGINNING] for noun in islice(nouns, _COUNTED_NOUNS) for term in terms(noun)}
    if _AT_MOST.search(question) and not _BOUNDS.search(text):
        return False
    if not beginnings or any(
        term[:_BEGINNING] in beginnings for found in _NUMBER_OF.finditer(text) for term in terms(found["noun"])
    ):
        return True
    text = text.casefold()
    found = list(_TOKEN.finditer(text))
    tokens, given = [token[0] for token in found], _gives(Expected.NUMBER, language)
    named = [at for at, token in enumerate(tokens) if any(term[:_BEGINNING] in beginnings for term in terms(token))]
    numbers = [
        at
        for at, token in enumerate(tokens)
        if (token[0].isdigit() or given.fullmatch(token))
        and not (at - 1 in named and text[found[at - 1].end() : found[at].start()].isspace())  # phase 1 is no count
    ]
    told = _told(question, language)
    others = [at for at, token in enumerate(tokens) if not told.isdisjoint(terms(token))]
    return any(-_AFTER_NOUN <= noun - number <= _BEFORE_NOUN for noun in named for number in numbers) or any(
        abs(noun - number) <= _BEFORE_NOUN for noun in others for number in numbers
    )


def _has_particular(text: str, question: str) -> bool:
    """Whether a text has a figure, a word of code or a name that the question has not."""
    return any(found[0].strip("`") not in question for found in PARTICULAR.finditer(text))


def _has_verb(verb: str, text: str) -> bool:
    """Whether a text has an English verb in one of its forms: installed, but no installation."""
    root = regex.escape(verb.casefold().removesuffix("e"))
    return regex.search(rf"\b{root}{root[-1]}?(?:e|s|es|ed|ing)?\b", text, regex.IGNORECASE) is not None


def _instructs(deed: str, text: str) -> bool:
    """Whether a text tells somebody to do it, or gives a command for it: by its name, or in a row of its own."""
    is_told = _INSTRUCTS.search(text) is not None
    is_command = any(found.start() == 0 or _has_verb(deed, found["code"]) for found in _COMMAND.finditer(text))
    return (is_told or is_command) and _has_verb(deed, text)


def _shares_meaning(asked: regex.Match[str], text: str, language: str) -> bool:
    """Whether a text says that somebody did it, in a form of the verb, in one that means the same, or by the deed."""
    said = read(text)
    is_said = any(said.match(word) > 0 for word in read(asked["deed"]).content)
    return is_said or _says_whose(_told(asked.string, language), text)


def _says_whose(told: frozenset[str], text: str) -> bool:
    """Whether a text says whose deed it is: its author, a novel by her, her novel; no novel that is only told of."""
    words = [word for word in _TOKEN.finditer(text) if not told.isdisjoint(terms(word[0]))]
    return any(
        _DOERS.search(word[0]) or _BY_NAME.match(text, word.end()) or _NAME_HAS.search(text, 0, word.start())
        for word in words
    )


def _gives_price(text: str, language: str) -> bool:
    """Whether it says so much money, or none, behind a question that may stand over it."""
    text = text.rpartition("?")[2]
    ends = [number.end for number in read(text, language).numbers]
    sums = (found.start() - end for found in _CURRENCY.finditer(text) for end in ends)
    return _PRICED.search(text) is not None or any(0 <= between <= _TO_CURRENCY for between in sums)


def _gives_default(question: str, text: str) -> bool:
    return bool(_DEFAULT.search(text)) and bool(_GIVEN_DEFAULT.search(text) or _has_particular(text, question))


_BINDINGS: tuple[tuple[regex.Pattern[str], Callable[[regex.Match[str], str, str], bool]], ...] = (
    (_LACKING, lambda asked, text, _: bool(_YES_OR_NO.match(text)) or _says_of_lacking(asked["what"], text)),
    (_COUNTING, lambda asked, text, language: _counts(asked.string, asked["rest"], text, language)),
    (_COST, lambda _, text, language: _gives_price(text, language)),
    (_MEASURED, lambda _, text, __: bool(read(text).numbers or _MEASURE.search(text) or _COMPARED.search(text))),
    (_DEFAULT, lambda asked, text, _: _gives_default(asked.string, text)),
    (_HOW_OFTEN, lambda _, text, __: bool(_RATE.search(text))),
    (_WHEN_DID, lambda _, text, __: any(dated.search(text) for dated in (_DATED, _YEAR, _DAY))),
    (_HOW_TO_DO, lambda asked, text, _: _instructs(asked["deed"], text)),
    (_WHY, lambda _, text, __: bool(_CAUSES.search(text))),
    (_MUST_ONE, lambda _, text, __: bool(_YES_OR_NO.match(text) or _OBLIGES.search(text) or _PERMITS.search(text))),
    (_MAY_ONE, lambda _, text, __: bool(_YES_OR_NO.match(text) or _PERMITS.search(text))),
    (_WHO_DID, _shares_meaning),
    (_WHAT_DOES, _shares_meaning),
)  # how something is asked for, and whether a text binds what it has to that; the first that fits decides


def states_aim(sentence: str) -> bool:
    """Whether a sentence only says what was to be found out."""
    return _AIMS.search(sentence) is not None


@cache
def _words_of(language: str) -> Mapping[str, Mapping[str, str]]:
    tables: Mapping[str, Mapping[str, Mapping[str, str]]] = told_beside(__package__, "answering.toml")
    return tables.get(language, {})


@cache
def _asks(language: str) -> tuple[tuple[Expected | None, regex.Pattern[str]], ...]:
    """How each kind is asked for, at the start of a question or of a part of it; the first that fits decides."""
    return tuple(
        (_ASKED_BY[name], regex.compile(rf"{_BEFORE_ASKING}(?:{pattern})(?!\w)"))
        for name, pattern in _words_of(language).get("asks", {}).items()
    )


@cache
def _gives(expected: Expected, language: str) -> regex.Pattern[str]:
    listed = " ".join(_words_of(language).get("gives", {}).get(name, "") for name in _GIVEN_BY[expected]).split()
    pattern = "|".join(word.replace("_", r"\s+") for word in listed) or "(?!)"
    return regex.compile(rf"(?<!\w)(?:{pattern})(?!\w)", regex.IGNORECASE)


def _holds(expected: Expected, question: str, text: str, languages: tuple[str, ...]) -> bool:
    asked = _words(question)
    if expected is Expected.VERDICT:
        return _says_yes_or_no(question, text, languages)
    if expected is Expected.DURATION:
        is_told = _UNTIL_NOW.search(question) is not None
        text = _BARE_UNIT.sub(lambda bare: bare[0] if is_told and bare[0].endswith("ago") else " ", text)
    searched = _MANNER.sub(" ", text) if expected is Expected.PLACE else text
    if any(
        match[0].casefold() not in asked for code in languages for match in _gives(expected, code).finditer(searched)
    ):
        return True
    match expected:
        case Expected.DURATION:
            is_long = _LONG.search(question) is not None and _LENGTH.search(text) is not None
            return is_long or _LASTED.search(text) is not None
        case Expected.NUMBER | Expected.FREQUENCY:
            figures = {figure.rstrip(".,:") for figure in _FIGURE.findall(_YEAR.sub(" ", text))}
            return bool(figures.difference(_FIGURE.findall(question))) or _COMPARED.search(text) is not None
        case Expected.DATE:
            return any(found[0] not in question for found in _DATED.finditer(text)) or bool(_YEAR.search(text))
    return (expected is Expected.PERSON and _AGENT.search(text) is not None) or _has_name(text, asked)


def _says_of_lacking(what: str, text: str) -> bool:
    """Whether a word of absence or need stands before what is lacking, or one of need behind it: no key is needed."""
    found = {term[:_BEGINNING] for term in terms(what.rstrip("?"))[:2]}
    places = [word.span() for word in _TOKEN.finditer(text) if any(one[:_BEGINNING] in found for one in terms(word[0]))]
    return any(
        _OF_ABSENCE.search(text, max(start - _LACKED_AFTER, 0), start)
        or _OF_NEED.search(text, end, min(end + _NEEDED_AFTER, len(text)))
        for start, end in places
    )


def _has_name(text: str, asked: set[str]) -> bool:
    """A capitalised word that the question does not have; as a sentence's first word only where it is no common one."""
    for sentence in split_sentences(text):
        first = regex.search(r"\p{L}", sentence.text)
        for name in _NAME.finditer(sentence.text):
            is_first = first is not None and name.start() == first.start()
            word = name[0].casefold().removesuffix("'s").removesuffix("’s")
            if not _words(word) <= asked and not (is_first and word in STOPWORDS):
                return True
    return False


def _says_yes_or_no(question: str, text: str, languages: tuple[str, ...]) -> bool:
    """A statement with half of what is asked says one or the other, unless it only says what was to be found out.

    Whether something goes without another is said by words of absence or of need.
    """
    if len(languages) > 1 or _YES_OR_NO.match(text):
        return True
    if _LACKING.search(question) and not _LACKS.search(text):
        return False
    asked = {term[:_BEGINNING] for term in terms(question)}
    said = {
        term[:_BEGINNING]
        for sentence in split_sentences(text)
        if not sentence.text.rstrip().endswith("?") and not states_aim(sentence.text)
        for term in terms(sentence.text)
    }
    return len(asked & said) >= max(1, _MOSTLY * len(asked))


def _words(text: str) -> set[str]:
    return set(regex.findall(r"[\p{L}\p{N}]+", text.casefold()))


# What part of a study's abstract a sentence is: what was concluded comes before what was found, aimed at or done

_MAX_ABSTRACT_CHARS = 6000  # a longer text is no abstract
_MIN_SIGNS, _FEW_SIGNS, _MIN_PARTS = 4, 2, 2
_SIGNS = pattern("signs")
_LABEL = regex.compile(
    r"(?:^|(?<=[.!?]\s))\W{0,4}(?P<label>\p{Lu}[\p{Lu} /&,'-]{3,60}|(?:Conclusion|Result|Finding|Method|Background"
    r"|Objective|Aim|Purpose|Introduction|Interpretation|Discussion)s?)\W{0,4}:\s",
    regex.MULTILINE,
)
_CONCLUDES = regex.compile(r"conclu|interpretation|implication|significance|relevance|key\s+point", regex.IGNORECASE)
_FOUND = regex.compile(r"result|finding|outcomes?$", regex.IGNORECASE)
_CONCLUSION = pattern("conclusion")
_METHOD = pattern("method")
_LAST = (0.4, 0.3, 0.2, 0.1)  # for the last sentences of an abstract whose labels name no conclusion, last first
_OPENING = 0.4  # of an abstract: there it says why and how


def reads_as_abstract(content: str) -> bool:
    """By words of a study, or by fewer of them where two of aim, method and conclusion are told as in one."""
    if len(content) > _MAX_ABSTRACT_CHARS:
        return False
    signs = len(set(map(str.casefold, _SIGNS.findall(content))))
    parts = sum(part.search(content) is not None for part in (_AIMS, _METHOD, _CONCLUSION))
    return signs >= _MIN_SIGNS or (signs >= _FEW_SIGNS and parts >= _MIN_PARTS)


def role_of(text: str, start: int, content: str, heading: str = "") -> float:
    """What is added to the score of the sentence at `start` of an abstract, −0.3…0.5, for the part it belongs to."""
    labels = list(_LABEL.finditer(content))
    before = [label["label"] for label in labels if label.start() <= start + 1]
    part = before[-1] if before else heading or ""
    if heading or any(_CONCLUDES.search(label["label"]) for label in labels):
        if _CONCLUDES.search(part):
            return 0.5
        return 0.1 if _FOUND.search(part) and not states_aim(text) else -0.3
    if states_aim(text):
        return -0.3
    left = len(regex.findall(r"[.!?](?=\s+\p{Lu})", content[start + len(text) - 1 :]))
    score = _LAST[left] if left < len(_LAST) else -0.2 if start < _OPENING * len(content) else 0.0
    if _CONCLUSION.search(text):
        return score + 0.2
    return score - 0.15 if _METHOD.search(text) else score
