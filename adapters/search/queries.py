"""What a query asks of a service: its words, how far back, and which domains.

Pure; what a service then says is read in hits.py.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta
from urllib.parse import urlsplit

from core.model.source import Recency, SearchFilters
from core.text.terms import STOPWORDS

MAX_KEYWORDS = 24
MAX_WORD_CHARS = 64  # longer "words" are encoded rubbish
_DAYS: dict[Recency, int] = {"day": 1, "week": 7, "month": 31, "year": 366}
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
_REQUESTS = frozenset(  # what is asked of us, not of the index
    "compare compared describe difference differences explain find know list main show summarise summarize "
    "actually currently exactly really".split()
)


def keywords(question: str, *, most: int = MAX_KEYWORDS) -> list[str]:
    """The informative words in order, each once, in lower case; all words when every one is a stopword.

    For indexes that want words and not sentences. Empty for text without letters or digits; whatever a search syntax
    gives a meaning to (quotes, `OR`, `-`, `field:`, `*`) does not pass.
    """
    text = unicodedata.normalize("NFKC", question).lower().replace("’", "'")
    words = list(dict.fromkeys(word.removesuffix("'s")[:MAX_WORD_CHARS] for word in _WORD.findall(text)))
    informative = [word for word in words if word not in STOPWORDS and word not in _REQUESTS]
    return (informative or words)[:most]


def shorten(text: str, most: int) -> str:
    """At most so many characters on one line, cut between words."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]


def reach(recency: Recency) -> timedelta | None:
    """How far back a query's recency reaches; None when any age will do."""
    days = _DAYS.get(recency)
    return None if days is None else timedelta(days=days)


def admits(url: str, filters: SearchFilters) -> bool:
    """Whether the address is allowed by the query's domains; a domain covers its subdomains."""
    host = (urlsplit(url).hostname or "").lower()
    if any(is_within(host, domain) for domain in filters.exclude_domains):
        return False
    return not filters.include_domains or any(is_within(host, domain) for domain in filters.include_domains)


def is_within(host: str, domain: str) -> bool:
    """Whether `host` is `domain` or below it."""
    domain = domain.lower().removeprefix("www.").strip(".")
    return bool(domain) and (host == domain or host.endswith("." + domain))
