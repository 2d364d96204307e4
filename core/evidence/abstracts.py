"""What part of a study's abstract a sentence is: what was concluded comes before what was found, aimed at or done."""

from __future__ import annotations

import regex

from core.evidence.answering import states_aim

_MAX_CHARS = 6000  # a longer text is no abstract
_MIN_SIGNS = 4
_SIGNS = regex.compile(
    r"\b(?:study|studies|patients?|participants?|subjects|results?|methods?|significant(?:ly)?|cohort|randomi[sz]ed"
    r"|retrospective(?:ly)?|prospective(?:ly)?|conclusions?|we\s+(?:\w+ly\s+)?\w+ed|confidence\s+interval"
    r"|compared|associated|trial|data|analysis)\b|\bp\s*[<=>]",
    regex.IGNORECASE,
)
_LABEL = regex.compile(
    r"(?:^|(?<=[.!?]\s))\W{0,4}(?P<label>\p{Lu}[\p{Lu} /&,'-]{3,60}|(?:Conclusion|Result|Finding|Method|Background"
    r"|Objective|Aim|Purpose|Introduction|Interpretation|Discussion)s?)\W{0,4}:\s",
    regex.MULTILINE,
)
_CONCLUDES = regex.compile(r"conclu|interpretation|implication|significance|relevance|key\s+point", regex.IGNORECASE)
_FOUND = regex.compile(r"result|finding|outcomes?$", regex.IGNORECASE)
_CONCLUSION = regex.compile(
    r"\b(?:we\s+(?:\w+ly\s+)?conclude|in\s+conclusion|to\s+conclude|it\s+is\s+concluded|these\s+(?:\w+\s+)?(?:results|findings|data|observations)"
    r"|(?:our|the|this|present|current)\s+(?:\w+\s+)?"
    r"(?:results?|findings?|data|study|studies|analysis|observations?|experience|series)\s+"
    r"(?:also\s+|strongly\s+|clearly\s+|further\s+)?(?:suggests?|indicates?|shows?|demonstrates?|supports?|confirms?|provides?|reveals?|imply|implies"
    r"|showed|suggested|indicated|demonstrated|confirmed|supported)|in\s+summary|overall,|therefore,|thus,|should\s+be|may\s+be|appears?\s+to|seems?\s+to)\b",
    regex.IGNORECASE,
)
_METHOD = regex.compile(
    r"\b(?:were|was)\s+(?:\w+ly\s+)?(?:randomi[sz]ed|recruited|enrolled|included|measured|performed|collected|recorded|obtained|assessed|reviewed"
    r"|analy[sz]ed|evaluated|compared|studied|used|conducted|administered|calculated|identified|selected|examined|interviewed|asked|invited|divided)\b"
    r"|\b(?:questionnaire|retrospectively|prospectively|we\s+(?:used|reviewed|analy[sz]ed|measured|recruited|performed|included|compared|collected))\b",
    regex.IGNORECASE,
)
_LAST = (0.3, 0.3, 0.24, 0.12)  # for the last sentences of an abstract whose labels name no conclusion, last first
_OPENING = 0.4  # of an abstract: there it says why and how


def reads_as_abstract(content: str) -> bool:
    return len(content) <= _MAX_CHARS and len(set(map(str.casefold, _SIGNS.findall(content)))) >= _MIN_SIGNS


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
