"""From what a service says to hits that may be shown: clean text, usable addresses, no more than asked for."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlsplit
from xml.etree import ElementTree  # entities are refused below, and it never opens what a DTD names

from pydantic import BaseModel, ValidationError

from adapters.search.service import Service, garbled
from core.model.source import Recency, SearchFilters, SearchHit
from core.text.language import detect_language
from core.text.terms import STOPWORDS, asking_words

MAX_URL_CHARS = 2048  # Discord's limit for a link; a longer one could never be shown
MAX_TITLE_CHARS = 500
MAX_LINE_CHARS = 4000  # looked at to make a title or a list of authors
MAX_DATE_CHARS = 64
_TAG = re.compile(  # only tags that services put into titles: `Vec<T>` is no tag
    r"</?(?:a|b|br|code|div|em|font|i|mark|p|small|span|strong|sub|sup|u)(?:\s[^<>]*)?/?>|<!--.*?-->",
    re.IGNORECASE | re.DOTALL,
)
_UNWANTED = re.compile(  # controls, marks that reorder what is shown, surrogates, private use
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\uf8ff"
    "\U000f0000-\U000ffffd\U00100000-\U0010fffd]"
)
_LINE_ENDS = re.compile(r"\r\n?|[\v\f]")
_URL_FORBIDDEN = re.compile(r"[\s\x00-\x20\x7f-\x9f<>\"\\^`{|}]")

Item = TypeVar("Item", bound=BaseModel)


def parse_json(service: Service, body: bytes) -> object:
    """Raises `ProviderGarbled` on anything that is not JSON, nests too deep or has absurd numbers."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise garbled(service, f"not JSON: {body[:40]!r}") from exc
    return value


def parse_answer(service: Service, model: type[Item], value: object) -> Item:
    """Raises `ProviderGarbled` when the whole has not the model's shape."""
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        raise garbled(service, f"unexpected shape: {exc.errors(include_input=False)[0]['msg']}") from exc


def parse_items(service: Service, model: type[Item], values: Sequence[object]) -> list[Item]:
    """The items that have the model's shape; a bad one is left out. Raises `ProviderGarbled` when all are bad."""
    items: list[Item] = []
    for value in values:
        try:
            items.append(model.model_validate(value))
        except ValidationError:
            continue
    if values and not items:
        raise garbled(service, f"none of {len(values)} results has the expected shape")
    return items


def parse_xml(service: Service, body: bytes) -> ElementTree.Element:
    """The root element. Raises `ProviderGarbled` on bad XML and on any declaration of entities.

    Only UTF-8 is read, so that no other encoding can hide a declaration.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise garbled(service, "XML that is not UTF-8") from exc
    if "<!ENTITY" in text or _has_internal_subset(text):
        raise garbled(service, "XML that declares entities")
    try:
        return ElementTree.fromstring(text)  # noqa: S314  # see above
    except (ElementTree.ParseError, ValueError) as exc:
        raise garbled(service, f"not XML: {text[:40]!r}") from exc


def text_of(element: ElementTree.Element | None) -> str:
    """All text within, tags such as <i> taken off, on one line; "" for None."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _has_internal_subset(text: str) -> bool:
    """Whether the document type brings declarations of its own, between brackets."""
    start = text.find("<!DOCTYPE")
    return start >= 0 and "[" in text[start : text.find(">", start)]


def tidy(hits: Iterable[SearchHit], *, limit: int, filters: SearchFilters) -> list[SearchHit]:
    """At most `limit` hits with clean text, web addresses and ranks 0, 1, …; each address once."""
    kept: list[SearchHit] = []
    seen: set[str] = set()
    for hit in hits:
        if len(kept) >= limit:
            break
        if hit.url in seen or not is_web_address(hit.url) or not admits(hit.url, filters):
            continue
        seen.add(hit.url)
        title = clean_line(hit.title)[:MAX_TITLE_CHARS] or (urlsplit(hit.url).hostname or hit.url)
        author = clean_line(hit.author) if hit.author else None
        kept.append(replace(hit, title=title, text=clean_text(hit.text), author=author or None, rank=len(kept)))
    return kept


def is_web_address(url: str) -> bool:
    """An http(s) address of sane length, with a host and without credentials, spaces or control characters."""
    if len(url) > MAX_URL_CHARS or _URL_FORBIDDEN.search(url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        return False


def clean_text(text: str) -> str:
    """NFC without control and direction characters; line breaks and tabs stay."""
    return unicodedata.normalize("NFC", _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))).strip()


def clean_line(text: str) -> str:
    """`clean_text` without tags and entities, on one line; of an absurdly long text its beginning."""
    return " ".join(clean_text(strip_tags(text[:MAX_LINE_CHARS])).split())


def strip_tags(text: str) -> str:
    """`text` without HTML tags, entities resolved; a lone `<` as in `p < 0.05` stays."""
    return html.unescape(_TAG.sub("", text))


def parse_time(text: str | None) -> datetime | None:
    """An ISO 8601 or RFC 5322 date in UTC, None when it is neither."""
    if not text or len(text) > MAX_DATE_CHARS:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        try:
            at = parsedate_to_datetime(text)
        except (ValueError, IndexError, OverflowError):
            return None
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        return None


def name_authors(names: Sequence[str]) -> str | None:
    """`A, B, C et al.`; None when nobody is named."""
    named = [name for name in names if name]
    return (", ".join(named[:3]) + (" et al." if len(named) > 3 else "")) or None


# What a query asks of a service: its words, how far back, and which domains


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
    language = detect_language(question)
    asking = asking_words(language) if language != "en" else frozenset()  # an English name or year may be the subject
    informative = [word for word in words if word not in STOPWORDS and word not in _REQUESTS and word not in asking]
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
