"""A question read for comparison: ways of asking reduced to one, then words, names, numbers and denials."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

import regex

from core.verification.negation import CUES
from core.verification.reading import Reading, read
from core.verification.words import Kind, Token

# Ways of asking for one thing, as people interchange them; the right side is what is compared.
_REPHRASED: tuple[tuple[regex.Pattern[str], str], ...] = tuple(
    (regex.compile(rf"\b(?:{pattern})\b", regex.IGNORECASE), plain)
    for pattern, plain in (
        (r"(what|who|how|where|when|why|that|it|there)['’]s", r"\1 is"),
        (r"can(?:['’]t|not)", "can not"),
        (r"won['’]t", "will not"),
        (r"(\p{L}+)n['’]t", r"\1 not"),
        (r"covid[- ]?19|sars[- ]?cov[- ]?2|coronavirus", "covid"),
        (r"(?:adverse|unwanted|side)[- ](?:effect|reaction|event)s?", "adverse-effects"),
        (r"(?:in|during|on)?\s*(?:which|what) (?:year|date|day|time|month|century)", "when"),
        (r"at what age", "how old"),
        (r"how (?:many people|big a population) (?:live|lives|are there) in", "population of"),
        (r"how many (?:inhabitants|residents) (?:does|has|are in)", "population of"),
        (r"how (?:big|large) (?:is|are|was|were)", "size of"),
        (r"how (?:fast|quick(?:ly)?) (?:is|are|does|do|can)", "speed of"),
        (r"how (?:tall|high) (?:is|are|was)", "height of"),
        (r"how heavy (?:is|are|was)", "weight of"),
        (r"how old (?:is|are|was)", "age of"),
        (r"how (accura|effectiv|safe|relia|preci)(?:te|e|ble|se)? (?:is|are|was|were)", r"\1te of"),
        (r"how (?:much|expensive) (?:does|do|is|are)", "price of"),
        (r"postgresql", "Postgres"),
        (r"chief[- ]executive(?:[- ]officer)?s?", "CEO"),
        (r"(?:method|way|approach|formula|procedure|process|steps?|instructions?) (?:for|of|to|in which)", "how"),
        (r"mechanism of action|working principle", "how works"),
        (r"what (?:makes|leads|led)(?= )", "why"),
        (r"(?:what is )?the reasons?(?: (?:why|for|that))?|for what reason", "why"),
    )
)
# Words that only ask, or that stand for any doing; what is asked about is in the others.
_WEIGHTLESS = frozenset(
    """explain explanation describe description tell give show know want need understand define definition discuss
    outline summarize summarise summary overview elaborate detail question answer please help example examples
    way manner thing things stuff happen happens look looks looking seem make makes making made do does doing done get
    gets getting take takes taking taken use used uses using have has having go goes work works working exist exists
    existence mean means meaning concept term purpose role kind type sort various different possible actually really
    basically generally exactly currently current present today's main mainly important team person people human humans
    someone somebody anyone doctor doctors expert experts you your yours my our his her their it its one ones what which
    simple simply simplify clearly briefly short quick good well best-practice""".split()
)
_SIGNED = regex.compile(r"[\p{L}\p{N}]+[+#]+|(?<![\p{L}\p{N}])[.][\p{L}]\p{L}+")  # C++, C#, .NET
_LIMITS = frozenset(
    """without against before after under below above over during until since within beyond except only all every each
    some any most least more less fewer both either first last ever always never""".split()
)
_ASKS = regex.compile(r"\b(who|whom|whose|where|when|why|how many|how much|how often|how far|how long|how)\b")


@dataclass(frozen=True)
class Question:
    """`text` is the question in NFC with ways of asking reduced."""

    text: str

    @cached_property
    def reading(self) -> Reading:
        return read(self.text)

    @cached_property
    def words(self) -> tuple[Token, ...]:
        """What the question is about, in order; numbers are in `numbers`."""
        return tuple(token for token in self.reading.tokens if self._counts(token))

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Every number, by value, in ascending order of writing; signs that go with them included."""
        found = [token.stem for token in self.reading.tokens if token.kind is Kind.NUMBER or token.text.isdigit()]
        return tuple(sorted(found))

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Signs of money and shares, which tokens leave apart."""
        return tuple(sorted(token.stem for token in self.reading.tokens if token.kind is Kind.SIGN))

    @cached_property
    def signed(self) -> frozenset[str]:
        """Names that end in a sign: C++ is not C."""
        return frozenset(name.casefold() for name in _SIGNED.findall(self.text))

    @cached_property
    def denials(self) -> int:
        return sum(token.text.lower() in CUES for token in self.reading.tokens)

    @cached_property
    def limits(self) -> frozenset[str]:
        """Small words that change what is asked for: without, before, all, least."""
        return frozenset(token.text.lower() for token in self.reading.tokens) & _LIMITS

    @cached_property
    def asks(self) -> str:
        """Its question word; "" for what or which, or none."""
        found = _ASKS.search(self.text.lower())
        return found.group(1) if found else ""

    def is_name(self, token: Token) -> bool:
        """Also what only its capitals tell from a small word: US, WHO, Go."""
        return token.kind is Kind.NAME or self._is_acronym(token)

    def _counts(self, token: Token) -> bool:
        if token.kind in (Kind.NUMBER, Kind.SIGN) or token.text.isdigit():
            return False
        if self.is_name(token):
            return True
        return token.is_content and token.text.lower() not in _WEIGHTLESS

    def _is_acronym(self, token: Token) -> bool:
        return len(token.text) > 1 and token.text.isupper() and not self.text.isupper()


@lru_cache(maxsize=1024)
def read_question(text: str) -> Question:
    """`text` is a question as it was asked."""
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    for pattern, instead in _REPHRASED:
        plain = pattern.sub(instead, plain)
    return Question(plain)
