"""What a sentence's surroundings make of it: a myth, another's words, a question, one about somebody named before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

import regex

from core.evidence.cues import Cue
from core.evidence.words import Kind, Reading, read
from core.sentences import Sentence, sentences_of
from core.text.language import detect_language, negations

MAX_BACK = 60  # sentences looked back for the heading or the lead of a list
MAX_LEAD_WORDS = 14  # a longer line without a stop is no heading
MAX_QUOTED = 1500  # characters looked back for an open quotation mark
CONNECTIVE = regex.compile(
    r"(?:however|also|moreover|furthermore|in addition|additionally|therefore|thus|hence|meanwhile|finally|overall|"
    r"in summary|in short|notably|importantly|similarly|yes|no|and|but|indeed|in fact|jedoch|außerdem|zudem|ja|nein|"
    r"cependant|de plus|en outre|oui|non|sin embargo|además|sí|tuttavia|inoltre|no entanto|além disso|echter|bovendien)"
    r"[,:.]?\s+",
    regex.IGNORECASE,
)
OPENING = regex.compile(
    r"\s*(?:(?:#{1,6}|[-*+•‣◦▪·]|\(?\p{Nd}{1,3}[.)]|\(?[a-z]\)|>)\s+)*[*_]*"
)  # bullet, number, heading mark
_BODIES = (
    "company|firm|group|organi[sz]ation|agency|team|study|studies|authors?|researchers?|scientists|report|survey|trial|paper|"
    "man|woman|men|women|couple|boy|girl|singer|actor|actress|writer|artist|player|two|three|duo|pair|institution|committee"
)  # what is named so was named before, unless more is said of it
_BACK = regex.compile(
    r"(?:he|she|it|they|his|her|its|their|him|them|(?:this|these|those|that|such)(?! is why)|"
    rf"the (?:{_BODIES})(?! (?:of|that|who|which|whose|at|in|on|from|with|behind|called|named|by|for)\b| (?-i:\p{{Lu}}))|"
    r"the (?:former|latter|same|others?|second|third|first|last)(?: one)?,? (?:is|are|was|were|has|had|have|can|will|does|did|of)|"
    r"er|sie|es|ihr|sein|seine|ihre|dies|diese[rsmn]?|jene[rs]?|(?:der|die|das) (?:zweite|dritte|erste|letztere|firma|studie)|"
    r"il|elle|ils|elles|ce|cette|ces|cela|son|sa|ses|leur|leurs|l['’]entreprise|"
    r"él|ella|ellos|ellas|esto|este|esta|estos|estas|su|sus|la empresa|"
    r"lui|lei|egli|essa|essi|questo|questa|questi|queste|suo|sua|"
    r"ele|ela|eles|elas|isto|isso|esse|essa|"
    r"hij|zij|ze|het|dit|deze|hun)(?!\p{L})",
    regex.IGNORECASE,
)
_EXPLETIVE = regex.compile(
    r"it (?:is|was|has been|may be|might be|can be) [^.]{0,40}\b(?:to|that|who|whether|when)\b|it (?:takes|took|rain|snow)|"
    r"es (?:gibt|gab|ist|war)|il (?:y a|faut|est)|het (?:is|was)\b|er (?:is|zijn|was|waren)\b",
    regex.IGNORECASE,
)
_DENYING_LEAD = regex.compile(
    r"exclu|except|exempt|criticism|allegation|accusation|hypothes|deprecated|repealed|obsolete|superseded|synopsis|\bplot\b|"
    r"\bfiction|\blegend|not (?:covered|included|true|allowed|supported)|wrong|incorrect|ausgenommen|ausschl|exclue|excluid|"
    r"\bfake|satire|parody|joke|\bdraft|\bif\b|suppose|imagine|assume that",
    regex.IGNORECASE,
)
_SAYS = regex.compile(
    r"\b(?:said|says|claim(?:s|ed)?|argue[sd]?|wrote|writes|believe[sd]?|according|sagte|meint|behauptet|dit|affirme|dijo|afirma|"
    r"dice|disse|zegt|beweert)\b",
    regex.IGNORECASE,
)
_TAKES_BACK = regex.compile(
    r"(?:but |however, |yet |in (?:reality|fact|truth), )?(?:this|that|it|these|both|the (?:claim|story|idea|notion|belief|"
    r"statement|theory)|das|dies|ceci|cela|c['’]est|esto|eso|questo|isso|isto|dit|dat|none of (?:this|these))\b[^.]{0,60}?\b(?:is|are|"
    r"was|were|has|have|turned|ist|war|est|es|fue|è|era|é|foi)\b[^.]{0,50}\b(?:wrong|false|untrue|incorrect|nonsense|myths?|"
    r"not true|not (?:so|the case|correct)|misconception|hoax|disprove[nd]|debunked|refuted|rumou?r|true|denied|falsch|"
    r"unwahr|irrtum|mythos|faux|mythe|fals[oa]|mito|onjuist|onwaar|mythe)\b",
    regex.IGNORECASE,
)


def points_back(text: str) -> bool:
    """Whether a sentence begins with a word for what was named before it: he, this, the company, the second."""
    at = start_of(text)
    return _BACK.match(text, at) is not None and _EXPLETIVE.match(text, at) is None


def start_of(text: str) -> int:
    """Where a sentence begins behind bullet, list number and connective."""
    opening = OPENING.match(text)
    at = opening.end() if opening else 0
    connective = CONNECTIVE.match(text, at)
    return connective.end() if connective else at


def subject_of(text: str) -> Reading:
    """What a sentence is about: a name among its first words, else the first; empty where it points back itself."""
    if points_back(text):
        return read("")
    units = read(text[start_of(text) :]).units
    named = next((unit for unit in units[:4] if unit[0].kind is Kind.NAME), units[0] if units else ())
    return read(" ".join(word.text for word in named))


def find_frame(content: str, start: int, end: int, claim: str) -> str:
    """What of the source, above, behind or around `content[start:end]`, keeps it from being said there; "" if nothing.

    Linear in the text. The claim may keep the frame in words of its own: who says it, that it is a myth.
    """
    language = detect_language(claim)
    if _has(Cue.DENIED, language, claim) or _has(Cue.SAID, language, claim):
        return ""
    if content[start:end].rstrip(" \"'*_)”»").endswith(("?", "？", "؟")):
        return "the source asks it"
    if _is_quoted(content, start):
        return "the source quotes it"
    for lead in leads_above(content, start):
        if lead.endswith("?") and _asks_whether(lead):
            continue
        if _has(Cue.DENIED, language, lead) or _DENYING_LEAD.search(lead):
            return f'it stands under "{lead}"'
        if lead.endswith((":", "：")) and (_SAYS.search(lead) or limits(lead, language)):
            return f'it stands under "{lead}"'
        if len(lead.split()) <= 5 and limits(lead, language):
            return f'it stands under "{lead}"'
    following = _following(content, end)
    return f'the source goes on: "{following}"' if _TAKES_BACK.match(following) and not _confirms(following) else ""


def _has(cue: Cue, language: str, text: str) -> bool:
    return bool(cue.first(language, text))


def _asks_whether(lead: str) -> bool:
    """A heading that asks how or why takes nothing back; "Is it true?" may."""
    return not _DENYING_LEAD.search(lead) and not Cue.DENIED.first("en", lead)


def limits(text: str, language: str) -> bool:
    """Whether the words deny, doubt or limit what they belong to."""
    words = {word.lower() for word in regex.findall(r"[\p{L}'’]+", text)}
    return bool(words & negations(language)) or any(_has(cue, language, text) for cue in _LIMITING)


_LIMITING = (Cue.ONLY, Cue.LIMIT, Cue.CONDITION, Cue.DENIED, Cue.HEDGE, Cue.SAID)


def _confirms(following: str) -> bool:
    return bool(regex.search(r"\btrue\b", following)) and not regex.search(r"\b(?:not|never|un|hardly)\b", following)


def _is_quoted(content: str, start: int) -> bool:
    """Whether a quotation mark before it is still open."""
    first = max(content.rfind("\n\n", 0, start) + 1, start - MAX_QUOTED, 0)
    before = content[first:start]
    if content[start : start + 1] in '"“„«':
        return False
    opened = before.count("“") + before.count("„") + before.count("«")
    closed = before.count("”") + before.count("»") + (before.count("“") if "„" in before else 0)
    return before.count('"') % 2 == 1 or opened > closed


@lru_cache(maxsize=64)
def _bounds(content: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sentences = sentences_of(content)
    return tuple(one.start for one in sentences), tuple(one.end for one in sentences)


def sentence_place(content: str, at: int) -> int:
    """Which sentence of `sentences_of(content)` holds the character."""
    return max(0, bisect_right(_bounds(content)[0], at) - 1)


def leads_above(content: str, start: int) -> tuple[str, ...]:
    """The lead that ends in a colon, where it leads to this sentence or its list, and the nearest heading."""
    sentences = sentences_of(content)
    at = sentence_place(content, start)
    prefix = content[sentences[at].start : start].strip() if at < len(sentences) else ""
    leads = [prefix] if prefix.endswith((":", "：")) else []
    is_listed = at < len(sentences) and _is_item(sentences[at])
    may_lead = True
    for sentence in reversed(sentences[max(0, at - MAX_BACK) : at]):
        text = sentence.text.strip()
        if text.endswith((":", "：")):
            if may_lead:
                leads.append(text)
            if len(text.split()) <= MAX_LEAD_WORDS and (text.startswith("#") or not sentence.asserts):
                break
            may_lead = False
        elif _is_heading(sentence):
            leads.append(text)
            break
        else:
            may_lead = may_lead and is_listed and _is_item(sentence)
    return tuple(leads)


def _is_item(sentence: Sentence) -> bool:
    return sentence.plain != sentence.text


def _is_heading(sentence: Sentence) -> bool:
    text = sentence.text.strip()
    if text.startswith("#"):
        return True
    return (not sentence.asserts and len(text.split()) <= MAX_LEAD_WORDS and text[-1:].isalnum()) or (
        not sentence.asserts and text.endswith("?") and len(text.split()) <= MAX_LEAD_WORDS
    )


def _following(content: str, end: int) -> str:
    sentences = sentences_of(content)
    at = bisect_left(_bounds(content)[0], end)
    return sentences[at].text[:200] if at < len(sentences) else ""
