"""Stage 1: is this a question, what does it ask for, in which language, and how soon does its answer go stale?

Rules only: instant, and the plan call refines what they find. Refusals are named and have a sentence each.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache

import regex

from core.model.config import MAX_QUERY_CHARS, Lifetime
from core.model.errors import InvalidQuery
from core.model.job import QueryIntent, QuestionType, TimeConstraint
from core.text.injection import without_quoted
from core.text.language import detect_language, told_beside
from core.text.numbers import MONTHS
from core.text.saying import ENGLISH, say
from core.text.sentences import split_sentences
from core.text.terms import asking_words

_PAYLOAD = regex.compile(
    r"<[^>]*>?|javascript:\S*|\bon\w+\s*=\S*|\$\{[^}]*\}|\{\{[^}]*\}\}|%[0-9a-f]{2}|\b(?:alert|eval|exec|system)\s*\(.*?\)"
    r"|['\"][^'\"]*['\"]\s*=\s*['\"]|\b(?:or|and)\s+\d+\s*=\s*\d+|;\s*(?:drop|delete|insert|update|shutdown)\b[^;]*"
    r"|\bunion\s+(?:all\s+)?select\b.*|(?:\.\./)+\S*|/etc/passwd|\bdrop\s+table\b\s*\w*|--\s*$|\brm\s+-rf?\b\s*\S*"
    r"|\$\([^)]*\)|`[^`]*`|[|&;]\s*(?:cat|ls|whoami|id|curl|wget)\b.*",
    regex.IGNORECASE,
)
_SMELLS_OF_PAYLOAD = regex.compile(
    r"<\s*/?\s*\w+[^>]*>|javascript:|\bon(?:error|load|click)\s*=|['\"]\s*(?:or|and)\b.*=|;\s*(?:drop|delete)\b|union\s+select"
    r"|\.\./\.\./|/etc/passwd|\{\{.*\}\}|\$\{|\bdrop\s+table\b|\brm\s+-rf?\b|%3c|&#x?\d",
    regex.IGNORECASE,
)
_PROMPT_EXTRACTION = regex.compile(
    r"\b(?:reveal|print|show|repeat|output|display|tell me|give me|leak|what(?:'s| is| are))\b[^.?!]{0,40}"
    r"\b(?:your|the)\s+(?:\w+\s+){0,2}(?:system\s+(?:prompt|message|instructions?)|(?:initial|hidden|secret|original)\s+(?:prompt|instructions?)"
    r"|prompt\s+above|instructions\s+above)"
    r"|\b(?:ignore|disregard|forget)\b[^.?!]{0,20}\b(?:all|any|previous|prior|above|your)\b[^.?!]{0,20}\b(?:instructions?|prompts?|rules)\b",
    regex.IGNORECASE,
)
# Who asks about such orders gives none. "How about you ignore …" and "can you ignore …" do.
_ASKS_ABOUT = regex.compile(
    r"^\W*(?:how(?!\s+about)|why(?!\s+do(?:n['’]t|\s+not)\s+you)|who|which|when|where|is|are|was|were|do|does|did|has|have"
    r"|(?:can|could|should|would|will)(?!\s+you)|(?:explain|describe|compare|discuss)\s+(?:how|why|what|whether|the)"
    r"|what(?!(?:\s+(?:is|are|was|were)|['’]s)\s+(?:your\b|the\s+(?:\w+\s+){0,2}(?:prompt|message|instructions?)(?:\s+above)?\W*$)))\b",
    regex.IGNORECASE,
)
_KEYBOARD_ROWS = "qwertyuiop asdfghjkl zxcvbnm qwertzuiop azertyuiop 1234567890 йцукенгшщзхъ фывапролджэ".split()
_VOWELS = frozenset("aeiouyäöüéèêáàâíìîóòôúùûåæøœı")

_COMPARISON = regex.compile(
    r"\b(?:vs\.?|versus|compared?(?:\s+(?:to|with))?|comparison|differences?\s+between|differ(?:s|ent)?\s+from|better\s+than|worse\s+than"
    r"|advantages?\s+.*\bover|pros\s+and\s+cons|which\s+(?:is|one|of)|unterschied|vergleich|différence|diferencia)\b",
    regex.IGNORECASE,
)
_CURRENT = regex.compile(
    r"\b(?:today|tonight|yesterday|this\s+(?:week|month|morning)|right\s+now|news|latest|most\s+recent|recently|"
    r"currently|just\s+(?:announced|released)|so\s+far\s+this\s+year|heute|aktuell|neueste|aujourd'hui|actualité|hoy|noticias)\b",
    regex.IGNORECASE,
)
_EXPLANATION = regex.compile(
    r"^\W*(?:how|why|explain|describe|what\s+(?:causes|happens|makes)|in\s+what\s+way|wie|warum|wieso|comment|pourquoi|cómo|por\s+qué)\b"
    r"|\b(?:explain|why\s+(?:is|are|do|does|did)|how\s+(?:is|are|do|does|did|can|could|would|to))\b",
    regex.IGNORECASE,
)
_COUNTED = regex.compile(
    r"^\W*(?:how\s+(?:many|much|old|tall|far|long|big|large|often|fast|high|deep|heavy)|comment\s+s['’]appell\w+|cómo\s+se\s+llama\w*"
    r"|wie\s+(?:viele?|hoch|alt|weit|lange?|groß|oft|schnell|tief|schwer|teuer|hei(?:ß|ss)\w+))\b",
    regex.IGNORECASE,
)
_HISTORICAL = regex.compile(
    r"\b(?:histor(?:y|ical|ically)|origins?|ancient|medieval|century|centuries|in\s+the\s+past|formerly)\b",
    regex.IGNORECASE,
)
_DATE = regex.compile(
    rf"\b(?:(?P<month>{'|'.join(MONTHS)})\s+)?(?P<year>1[0-9]{{3}}|20[0-9]{{2}})\b(?!\s*(?:%|\w*metres|km|dollars))",
    regex.I,
)
_ISO_DATE = regex.compile(r"\b(?:1\d|20)\d{2}-\d{2}(?:-\d{2})?\b")
_QUOTED = regex.compile(r"[\"“«„]([^\"”»“]{2,60})[\"”»“]")
_NAME = regex.compile(
    r"\b\p{Lu}[\p{L}\p{N}.&'’\-]*(?:\s+(?:of|the|de|von|van|der|and|&)?\s*\p{Lu}[\p{L}\p{N}.&'’\-]*)*"
)
_QUESTION_WORDS = frozenset(
    "what who whom whose when where which why how is are was were do does did can could will would should may has have "
    "had if in on the a an explain describe compare tell give please and or but i my as at for from to there this "
    "these that".split()
)


def read_query(text: str) -> str:
    """The question in NFC with outer space trimmed. Raises `InvalidQuery` with a sentence for the asker (S003-01)."""
    query = unicodedata.normalize("NFC", text).strip()
    for rule, is_broken in _RULES.items():
        if is_broken(query):
            raise InvalidQuery(say(_SENTENCES[rule], most=MAX_QUERY_CHARS), rule=rule)
    return query


def read_quoted(text: str) -> str:
    """A message whose claims are to be checked, trimmed. Raises `InvalidQuery` when it has no words."""
    message = unicodedata.normalize("NFC", text).strip()
    if not any(char.isalpha() for char in message):
        raise InvalidQuery(say("That message has no text that could be checked."), rule="no-letters")
    return message


def parse_intent(query: str) -> QueryIntent:
    """What the question asks for, by rules (S003-02)."""
    language = detect_language(query)
    return QueryIntent(
        question_type=_question_type(query),
        entities=_entities(query, language),
        time_constraint=_time_constraint(query),
        language=language,
        importance="high" if _important().search(query) else "normal",
    )


@cache
def _important() -> regex.Pattern[str]:
    told = told_beside(__package__, "importance.toml")
    return regex.compile("|".join(told.values()).replace("\n", ""), regex.IGNORECASE)


def _is_controlled(query: str) -> bool:
    strange = (char for char in query if char not in "\n\t\r")
    return any(char == "\ufffd" or unicodedata.category(char) in {"Cc", "Cs"} for char in strange)


def _asks_for_prompt(query: str) -> bool:
    """Whether a sentence of it wants our own instructions, or us to forget them; what it quotes does not count."""
    lines = [without_quoted(sentence.text) for sentence in split_sentences(query)]
    return any(_PROMPT_EXTRACTION.search(line) and not _ASKS_ABOUT.match(line) for line in lines)


def _is_payload(query: str) -> bool:
    """Nothing but code meant to be executed: what stays after taking it out is no sentence."""
    if not _SMELLS_OF_PAYLOAD.search(query):
        return False
    rest = _PAYLOAD.sub(" ", query)
    return len(regex.findall(r"\p{L}{2,}", rest)) < 3


def _is_key_mash(query: str) -> bool:
    tokens = regex.findall(r"\p{L}+", query.casefold())
    letters = "".join(tokens)
    if not tokens or len(tokens) > 4 or len(letters) < 6:
        return False
    if len(set(letters)) <= 2:
        return True
    if not letters.isascii() and not any(letters in row for row in _KEYBOARD_ROWS):
        return False
    return all(_is_mashed(token) for token in tokens)


def _is_mashed(token: str) -> bool:
    if len(token) < 4:
        return any(token in row for row in _KEYBOARD_ROWS)
    runs = sum(
        token[i : i + 3] in row or token[i : i + 3][::-1] in row
        for row in _KEYBOARD_ROWS
        for i in range(len(token) - 2)
    )
    without_vowels = len(token) >= 7 and not any(char in _VOWELS for char in token)
    halves = len(token) >= 8 and regex.fullmatch(r"(.{1,4})\1{2,}.?", token) is not None
    return runs >= max(1, (len(token) - 2) * 0.5) or without_vowels or halves


_RULES: Mapping[str, Callable[[str], bool]] = {
    "empty": lambda query: not query,
    "too-long": lambda query: len(query) > MAX_QUERY_CHARS,
    "control-characters": _is_controlled,
    "no-letters": lambda query: not any(map(str.isalpha, query)),
    "prompt-extraction": _asks_for_prompt,
    "payload": _is_payload,
    "key-mash": _is_key_mash,
}
_SENTENCES = {
    "empty": "Please ask a question; the message was empty.",
    "too-long": "That question is too long; please shorten it to at most {most} characters.",
    "control-characters": "That text holds control characters or binary data; please send plain text.",
    "no-letters": "I can only research questions in words; please add some.",
    "prompt-extraction": "I research questions about the world, not my own instructions; please ask one.",
    "payload": "That looks like code to run rather than a question; please ask in words what you want to know.",
    "key-mash": "I could not make out a question in that; please ask it in words.",
}


def _question_type(query: str) -> QuestionType:
    if _COMPARISON.search(query):
        return QuestionType.COMPARISON
    if _CURRENT.search(query):
        return QuestionType.CURRENT_EVENT
    if _EXPLANATION.search(query) and not _COUNTED.search(query):
        return QuestionType.EXPLANATION
    return QuestionType.FACTUAL


def _time_constraint(query: str) -> TimeConstraint | None:
    iso = _ISO_DATE.search(query)
    if iso:
        return TimeConstraint("date", iso.group())
    dated = _DATE.search(query)
    if dated:
        month = dated["month"]
        return TimeConstraint(
            "date", f"{dated['year']}-{MONTHS.index(month.casefold()) + 1:02}" if month else dated["year"]
        )
    if _CURRENT.search(query) or regex.search(r"\brecent\b", query, regex.I):
        return TimeConstraint("recent")
    return TimeConstraint("historical") if _HISTORICAL.search(query) else None


def _entities(query: str, language: str) -> tuple[str, ...]:
    """Quoted phrases and runs of capitalised words; at most eight, in order."""
    asking = _QUESTION_WORDS if language == ENGLISH else _QUESTION_WORDS | asking_words(language)
    found = [match.group(1) for match in _QUOTED.finditer(query)]
    for match in _NAME.finditer(query):
        name = match.group().strip(" .'’-")
        while name.split(" ", 1)[0].casefold() in asking:  # a sentence's first capital names nothing
            name = name.partition(" ")[2].strip()
        if len(name) > 1 and name.casefold() not in asking and name.casefold() not in MONTHS:
            found.append(name)
    return tuple(dict.fromkeys(found))[:8]


# How long an answer to a question may be repeated, and whether it is an answer of one day only. Rules of words, in the
# languages that questions mostly come in; a doubtful question counts as the shorter-lived kind.


_LIVE = regex.compile(
    r"\b(?:(?:share|stock|spot|bitcoin|btc|eth|ethereum|gold|oil|gas) prices?|prices? of (?:bitcoin|gold|oil|gas)"
    r"|stock quotes?|market cap|exchange rates?|convert \p{L}{3} to|weather|forecast|temperature in|traffic (?:on|in)"
    r"|live (?:scores?|updates?|results?)|the score|right now|at the moment|is \S+ down|outage|status page"
    r"|queue times?|wetter|wechselkurs|météo|clima en)\b",
    regex.IGNORECASE,
)
# "latest" and the like mean another thing tomorrow.
_OF_THE_DAY = regex.compile(
    r"\b(?:to-?day|to-?night|tomorrow|yesterday|now|currently|current|latest|newest|most recent|recent(?:ly)?|so far"
    r"|this (?:morning|evening|week|month|year|quarter|season)|last (?:night|week|month)|up to date|as of|these days"
    r"|news|just (?:announced|released|happened)|heute|gestern|morgen|aktuell\p{L}*|neueste\p{L}*|jetzt"
    r"|derzeit|aujourd['’]hui|actuel\p{L}*|dernier\p{L}*|dernière\p{L}*|hoy|ahora|actualmente|actualidad|últim\p{L}*)\b"
    r"|今日|今天|最新|现在|現在|сегодня|сейчас|последн",
    regex.IGNORECASE,
)
SETTLED_YEARS = 2  # a year so long past is written history: reports of it are corrected in the first months

_OF_TYPE = {
    QuestionType.CURRENT_EVENT: Lifetime.CURRENT,
    QuestionType.FACTUAL: Lifetime.FACT,
    QuestionType.COMPARISON: Lifetime.COMPARISON,
    QuestionType.EXPLANATION: Lifetime.EXPLANATION,
}


def is_of_the_day(query: str, intent: QueryIntent) -> bool:
    """Whether the same words ask for another thing tomorrow."""
    is_recent = intent.time_constraint is not None and intent.time_constraint.kind == "recent"
    is_undated_news = intent.question_type is QuestionType.CURRENT_EVENT and intent.time_constraint is None
    return is_recent or is_undated_news or _OF_THE_DAY.search(query) is not None or _LIVE.search(query) is not None


def lifetime_of(query: str, intent: QueryIntent, *, now: datetime) -> Lifetime:
    """By its words first, then by the time it asks about, then by its type."""
    if _LIVE.search(query):
        return Lifetime.LIVE
    time = intent.time_constraint
    if time is not None and time.kind == "date" and time.value[:4].isdigit():
        is_past = int(time.value[:4]) <= now.year - SETTLED_YEARS
        if is_past and not is_of_the_day(query, intent):
            return Lifetime.SETTLED
    return _OF_TYPE[intent.question_type]


def time_to_live(
    query: str,
    intent: QueryIntent,
    *,
    planned: QuestionType | None,
    table: Mapping[Lifetime, timedelta],
    retention: timedelta | None,
    now: datetime,
) -> timedelta:
    """From `now` on, never longer than `retention`, and not beyond the day (UTC) where the question is of the day.

    `planned` is what the plan call made of the question; the shorter-lived reading counts.
    """
    lifetimes = [table[lifetime_of(query, intent, now=now)]]
    if planned is not None and planned is not intent.question_type:
        lifetimes.append(table[_OF_TYPE[planned]])
    if is_of_the_day(query, intent) or planned is QuestionType.CURRENT_EVENT:
        moment = now.astimezone(UTC)
        lifetimes.append(moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1) - moment)
    if retention is not None:
        lifetimes.append(retention)
    return min(lifetimes)
