"""The words of a question that are worth looking up, for indexes that want words and not sentences.

Words only: whatever a search syntax gives a meaning to (quotes, `OR`, `-`, `field:`, `*`) does not pass.
"""

from __future__ import annotations

import re
import unicodedata

from core.terms import STOPWORDS

MAX_KEYWORDS = 24
MAX_WORD_CHARS = 64  # longer "words" are encoded rubbish
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_REQUESTS = frozenset(  # what is asked of us, not of the index
    "compare compared describe difference differences explain find know list main show summarise summarize "
    "actually currently exactly really".split()
)


def keywords(question: str, *, most: int = MAX_KEYWORDS) -> list[str]:
    """The informative words in order, each once, in lower case; all words when every one is a stopword.

    Empty for text without letters or digits.
    """
    text = unicodedata.normalize("NFKC", question).lower().replace("’", "'")
    words = list(dict.fromkeys(word.removesuffix("'s")[:MAX_WORD_CHARS] for word in _WORD.findall(text)))
    informative = [word for word in words if word not in STOPWORDS and word not in _REQUESTS]
    return (informative or words)[:most]
