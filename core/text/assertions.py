"""Which sentences state something that can be checked, and which only lead, label or ask.

When in doubt a sentence states something: what does not is shown without being checked.
"""

from __future__ import annotations

import re

_MARKER = (  # roughly what core/evidence/citations.py reads, and the footnotes of encyclopedias
    r"(?:\[(?:\^?[a-z]|citation needed|(?=[^\[\]\n]{0,120}\d)[^\[\]\n]{1,120})\](?:\(https?://[^\s()]*\))?(?!\()"
    r"|【[^【】\n]{1,60}】"
    r"|\(https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*\)"
    r"|\([a-z][a-z'-]*\d{4}\w*(?:;\s*[a-z][a-z'-]*\d{4}\w*)*\))"
    r"[✓◐↪✗?]?"
)
CLUSTER = re.compile(rf"(?:[ \t]*{_MARKER})+")
LEAD = re.compile(
    r"(?:>\s*)*(?:#{1,6}\s+|(?:[-*+•‣◦▪·]|\(?\d{1,3}[.)]|\(?[a-z]\)|\(?[ivx]{1,4}[.)])\s+(?:\[[ xX]\]\s+)?)?"
)


def states(sentence: str, *, is_heading: bool = False) -> bool:
    """Whether the sentence asserts something; one with a marker does unless it is a question."""
    if not _WORDY.search(sentence):
        return False
    bare = CLUSTER.sub("", sentence) if any(bracket in sentence for bracket in "[【(") else sentence
    is_cited = bare != sentence
    bare = LEAD.sub("", bare.strip(), count=1).strip("*_ \t")
    if is_cited:
        return not _asks(bare, sentence)
    if bare.endswith(_QUESTION_MARKS) or not _WORDY.search(bare) or _ANNOUNCEMENT.fullmatch(bare):
        return False
    if is_heading:
        return _is_statement(bare)
    return not bare.endswith((":", "："))


def _asks(bare: str, text: str) -> bool:
    """A cited question; a mark `?` behind a bracket is not one unless the sentence begins like a question."""
    return bare.endswith(_QUESTION_MARKS) or (text.rstrip().endswith("]?") and bool(_QUESTION_WORD.match(bare)))


def _is_statement(heading: str) -> bool:
    """A heading that says something: it has a stop, or a verb and no question word before it."""
    if heading.endswith((".", "!", "。", "।", "۔")) and len(heading.split()) >= 3:
        return True
    return len(heading.split()) >= 4 and bool(_VERB.search(heading)) and not _QUESTION_WORD.match(heading)


def is_title(line: str, *, max_words: int) -> bool:
    """Whether a line without a stop is a few words in title case: a heading or a label, if something follows it."""
    if not 0 < len(line) <= 90 or not (line[-1].isalnum() or line[-1] in ":：*") or _VERB.search(line):
        return False
    words = _SECTION_NUMBER.sub("", line).rstrip(":：").split()
    return 0 < len(words) <= max_words and all(word[0].isupper() or word.lower() in _SMALL_WORDS for word in words)


_QUESTION_MARKS = ("?", "？", "؟")
_WORDY = re.compile(r"[^\W\d_]{2}|[^\W\d_a-zA-Z]|\d.{0,80}?[^\W_].{0,80}?\d|\d+\s?%")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|does|did|must|should|may|might)\b|n['’]t\b", re.I
)
_QUESTION_WORD = re.compile(
    r"\W*(?:how|what|why|when|where|which|who|whose|whom|whether|if|is|are|was|were|do|does|did|can|could|should|will|"
    r"would|has|have|may|must)\b",
    re.I,
)
_SECTION_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?\s+")
_SMALL_WORDS = frozenset(
    "a an and as at by for from in into of on or the to vs with via über und der die das de la".split()
)
_SOURCES = r"(?:the |these |those |all |of |my |provided |available |cited |given |retrieved |search |above ){0,6}"
_ANNOUNCEMENT = re.compile(
    r"(?:here(?:'s|’s| is| are) (?:(?!\bthat\b|\bbecause\b)[^.:;,]){0,80}"
    r"|(?:below|above) (?:is|are) (?:(?!\bthat\b)[^.:;,]){0,60}"
    r"|(?:the|these) following[^.:;,0-9]{0,60}"
    r"|(?:in (?:summary|short|brief|conclusion|other words)|to (?:summari[sz]e|sum up)|overall|key (?:points|findings))"
    rf"|(?:based on|according to|from) {_SOURCES}(?:sources?|documents?|results?|evidence|passages?|context|pages?)"
    r"(?:[^.:;,0-9]{0,40})"
    r"|(?:i hope|let me know|please let me|feel free|sure|certainly|of course|great question)\b[^.:;0-9]{0,80}"
    rf"|(?:i|we) (?:could not|couldn['’]t|did not|didn['’]t|cannot|can['’]t) find [^:;,0-9]{{0,120}}"
    rf"|(?:no|none of|{_SOURCES})\s*(?:the )?{_SOURCES}(?:sources?|documents?|passages?|evidence|pages?)"
    r" (?:do|does|did)(?: not|n['’]t)? (?:say|mention|state|specify|address|cover|contain|include|provide|give)"
    r"(?:(?!\bbut\b|\bhowever\b|\bthough\b|\balthough\b)[^:;—0-9]){0,140}"
    r")\s*[.!:：]?",
    re.I,
)
