"""What a sentence says of its subject's size, or of when something befell it, restated without the rest.

"The X, a light in Y, stands 49 metres (161 ft) high and is built of granite" becomes "X is 49 metres tall". Only
forms whose meaning is certain are read; a sentence that speaks of a time, or of no named subject, gives nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Restated:
    """`about` is the same in two statements of one attribute of one subject; `text` is a whole sentence."""

    about: tuple[str, ...]
    text: str


_SIZES = {
    "tall": "tall", "high": "tall", "height": "tall", "long": "long", "length": "long", "wide": "wide", "width": "wide",
    "deep": "deep", "depth": "deep", "thick": "thick", "thickness": "thick",
}  # fmt: skip
_EVENTS = {
    "completed": "completed", "finished": "completed", "opened": "opened", "built": "built", "founded": "founded",
    "established": "founded", "launched": "launched", "released": "released", "published": "published", "born": "born",
    "signed": "signed", "discovered": "discovered", "invented": "invented", "demolished": "demolished", "lit": "lit",
}  # fmt: skip
_PRESENT = frozenset("is stands rises measures reaches has".split())

_CONVERSION = re.compile(
    r"\s*\(\s*(?:about |approximately |~)?[\d.,]+\s*[a-z]{1,10}\.?(?: [a-z]{2,8})?\s*\)"
)  # (161 ft)
_ASIDE = re.compile(r",\s+(?!(?:in|as|at|by|since|until|before|after|during|but|and|or)\b)[^,;:]{2,80},\s+(?=[a-z])")
_SUBJECT = r"(?P<subject>(?:[^\W\d_][\w'’.&-]*\s+){1,7}?)"
_NO_SUBJECT = re.compile(
    r"(?:in|at|on|by|as|of|for|from|with|during|when|while|after|before|since|until|if|according|its?|this|that|these|"
    r"those|they|he|she|we|his|her|their|our|my|your|there|some|many|most|each|every|no|one|both|neither)\b",
    re.I,
)
_NO_NAME = re.compile(r"\b(?:and|or|that|which|who|whose|not|never|if|when|would|will|may|could|should)\b", re.I)
_VALUE = (
    r"(?P<value>(?:(?:about|approximately|around|roughly|nearly|almost|over|under|at least|at most|up to|some|"
    r"more than|less than)\s+)?\d[\d,.]*\s*(?:million\s+|thousand\s+)?[a-z]{1,12})"
)
_END = r"(?=\s*(?:[.;]?\s*$|[;]|,\s+(?:and|which|with|making|but|built|its?)\b|and\b|with\b))"
_SIZE_WORDS = "|".join(_SIZES)
_FORMS = [
    re.compile(pattern, re.I)
    for pattern in (
        rf"{_SUBJECT}(?P<verb>is|was|stands|stood|rises|rose|measures|measured|reaches|reached)\s+{_VALUE}"
        rf"\s+(?:in\s+)?(?P<size>{_SIZE_WORDS}){_END}",
        rf"the\s+(?P<size>{_SIZE_WORDS})\s+of\s+{_SUBJECT}(?P<verb>is|was)\s+{_VALUE}{_END}",
        rf"{_SUBJECT}(?P<verb>has|had)\s+an?\s+(?:total\s+|overall\s+)?(?P<size>{_SIZE_WORDS})\s+of\s+{_VALUE}{_END}",
    )
]
_EVENT = re.compile(
    rf"{_SUBJECT}(?:was\s+|were\s+)?(?:first\s+)?(?P<event>{'|'.join(_EVENTS)})\s+(?P<value>(?:in|on)\s+"
    rf"(?:(?:\d{{1,2}}\s+)?[A-Z][a-z]{{2,8}}\s+(?:\d{{1,2}},?\s+)?)?[12]\d{{3}}){_END}",
)


@lru_cache(maxsize=512)
def restate(text: str) -> Restated | None:
    """The first thing that `text` says in one of the certain forms; None where there is none."""
    bare = _ASIDE.sub(" ", _CONVERSION.sub("", " ".join(text.split())))
    for form in _FORMS:
        if (found := form.match(bare)) and (subject := _subject(found["subject"])):
            size, is_now = _SIZES[found["size"].lower()], found["verb"].lower() in _PRESENT
            verb = "is" if is_now else "was"
            return Restated((*subject, verb, size), f"{found['subject'].strip()} {verb} {found['value']} {size}.")
    if (found := _EVENT.match(bare)) and (subject := _subject(found["subject"])):
        event = _EVENTS[found["event"].lower()]
        return Restated((*subject, event), f"{found['subject'].strip()} was {event} {found['value']}.")
    return None


def _subject(words: str) -> tuple[str, ...]:
    """The words that name it, articles left out; none where they name no certain thing."""
    if _NO_SUBJECT.match(words) or _NO_NAME.search(words):
        return ()
    return tuple(word for word in words.casefold().split() if word not in ("the", "a", "an"))
