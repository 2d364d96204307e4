"""What a provider declares of its service (who it is, where it is at home, how often it may be asked), and what it is
built from: time limits, proxies, the environment; and how its answers and errors are read.

What a service needs of the environment it reads from the mapping that its provider is handed.
"""

from __future__ import annotations

import asyncio
import html
import json
import math
import re
import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit
from xml.etree import ElementTree

from pydantic import BaseModel, ValidationError

from adapters.proxies import DIRECT, Proxies
from core.model.config import SearchSettings
from core.model.errors import (
    ProviderError,
    ProviderGarbled,
    ProviderRateLimited,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    SetupError,
)
from core.model.ports import Clock, PageFetcher, utc_now
from core.model.source import UNSEEN, Page, Recency, SearchFilters, SearchHit, SourceKind
from core.model.works import WorkRecord
from core.pipeline.limits import CallRate, SharedTurns
from core.text.language import detect_language
from core.text.terms import STOPWORDS, asking_words

MARGIN = 0.9  # of a time limit, so that our own error arrives before the caller gives up
TURNS_TO_CONNECT = 20  # of the event loop: about ten with a name to look up, and some are longer than others
RATES = "GORKD_SEARCH_RATES"


@dataclass(frozen=True)
class Service:
    """All that is particular to one service but its code.

    `name` is the word in `GORKD_PROVIDERS`, `label` the one people read. `public` is its address, which
    `url_variable` moves elsewhere; `key_variable` is "" where the service knows no key. `rate` is the published
    limit (`rate_with_key`, where a key changes it), which holds below `domain`; of a service without one for all
    processes together, wherever it runs. `at_once` are the calls that one process has under way together. `needs`
    says what a provider without it lacks; "" is its key. `hints` are what to do about an HTTP status, where this
    service means something special.
    """

    name: str
    label: str
    url_variable: str
    key_variable: str = ""
    public: str = ""
    domain: str = ""
    rate: CallRate | None = None
    rate_with_key: CallRate | None = None
    at_once: int = 8
    needs: str = ""
    hints: Mapping[int, str] = field(default_factory=dict)

    def address(self, env: Mapping[str, str]) -> str:
        """Where it is asked; "" for one that stands nowhere by itself. Raises `SetupError`."""
        return _checked(env, self.url_variable, _check_url) or self.public

    def key(self, env: Mapping[str, str]) -> str:
        """ "" for none. Raises `SetupError`."""
        return _checked(env, self.key_variable, _check_key)

    def published_rate(self, env: Mapping[str, str]) -> CallRate | None:
        """None at a mirror: its limits nobody published."""
        url = env.get(self.url_variable, "").strip()
        if url and self.domain and not self.is_at_home(url):
            return None
        has_key = bool(env.get(self.key_variable, "").strip())
        return (self.rate_with_key if has_key else None) or self.rate

    def is_at_home(self, url: str) -> bool:
        """Whether `url` is the service's own host, below `domain`."""
        host = urlsplit(url).hostname or ""
        return bool(self.domain) and (host == self.domain or host.endswith("." + self.domain))


def rates_of(services: Iterable[Service], env: Mapping[str, str]) -> dict[str, CallRate]:
    """What `GORKD_SEARCH_RATES` sets, else what is published, of each service with a rate. Raises `SetupError`."""
    known = {service.name: service for service in services}
    rates = {name: rate for name, service in known.items() if (rate := service.published_rate(env)) is not None}
    for entry in filter(None, map(str.strip, env.get(RATES, "").split(","))):
        name, rate = _read_rate(entry)
        if name not in known or rate is None:
            raise SetupError(f"{RATES}: {entry!r} is no rate; write for example tavily=100/60 for 100 calls a minute.")
        rates[name] = rate
    return rates


def _read_rate(entry: str) -> tuple[str, CallRate | None]:
    """`tavily=100/60`: calls in so many seconds, a fifth of them at once."""
    name, _, rate = entry.partition("=")
    calls, _, seconds = rate.partition("/")
    try:
        count, period_s = int(calls), float(seconds)
    except ValueError:
        count, period_s = 0, 0.0
    is_rate = count >= 1 and math.isfinite(period_s) and period_s > 0
    return name.strip(), CallRate(count, period_s, burst=max(count // 5, 1)) if is_rate else None


@dataclass(frozen=True)
class TimeLimits:
    """Seconds for one whole search and for reaching the server at all."""

    search_s: float = 10.0 * MARGIN
    connect_s: float = 2.0 * MARGIN

    @classmethod
    def of(cls, search: SearchSettings) -> TimeLimits:
        return cls(search.provider_timeout_s * MARGIN, search.connect_timeout_s * MARGIN)

    async def to_connect_s(self) -> float:
        """`connect_s` at rest. A loop that is late itself may not say of a server that it was late, so it waits for
        as many of its turns as connecting takes.
        """
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        await asyncio.sleep(0)
        return min(self.connect_s + TURNS_TO_CONNECT * (loop.time() - began_at), self.search_s)


DEFAULT_LIMITS = TimeLimits()


class Fetcher(PageFetcher, Protocol):
    """The guarded fetcher, for pages and for whatever lists them. Both raise `FetchError`."""

    async def fetch_raw(
        self, url: str, *, known: Page | None = None, max_bytes: int, within_s: float
    ) -> tuple[Page, bytes]: ...


# By tenant, the addresses of its own pages.
PlacesOf = Callable[[], Awaitable[Mapping[str, Sequence[str]]]]


async def no_places() -> Mapping[str, Sequence[str]]:
    return {}


@dataclass(frozen=True)
class Surroundings:
    """What a provider is built from besides its own settings.

    `default_files` are the folders that local search reads when `GORKD_FILES` is not set; `is_named` says that the
    operator listed the provider in `GORKD_PROVIDERS`; `rates` are by a service's name; `agent` names the program.
    `turns` gives the turns that all processes share, by the name of a bucket; None leaves that to whoever asks.
    `pages` reads the pages of corpora, of which `corpora` says whose they are; None reads none.
    """

    data_dir: Path = Path()
    default_files: Sequence[Path] = ()
    limits: TimeLimits = DEFAULT_LIMITS
    is_named: bool = False
    proxies: Proxies = DIRECT
    rates: Mapping[str, CallRate] = field(default_factory=dict)
    turns: Callable[[str, CallRate], SharedTurns] | None = None
    agent: str = "gorkd"
    clock: Clock = utc_now
    pages: Fetcher | None = None
    corpora: PlacesOf = no_places

    def rate_at(self, service: Service, url: str) -> CallRate | None:
        """What one process keeps to by itself: None at a mirror."""
        return self.rates.get(service.name) if service.is_at_home(url) else None

    def turns_of(self, service: Service, bucket: str) -> SharedTurns | None:
        """What all processes together keep to, also at a mirror where the operator has set a rate."""
        rate = self.rates.get(service.name)
        return self.turns(bucket or service.name, rate) if self.turns and rate else None


def _checked(env: Mapping[str, str], variable: str, check: Callable[[str], str]) -> str:
    """A blank variable counts as unset."""
    try:
        return check(given) if (given := env.get(variable, "").strip()) else ""
    except ValueError as exc:
        raise SetupError(f"{variable}: {exc}") from exc


def user_agent(env: Mapping[str, str]) -> str:
    """Names the program and where its operator can be found, as the keyless services ask callers to do."""
    contact = env.get("GORKD_PUBLIC_URL", "").strip()
    if not (contact.isascii() and contact.isprintable() and contact):
        contact = "self-hosted research assistant"
    return f"gorkd/{_release()} ({contact})"


@cache
def _release() -> str:
    try:
        return version("gorkd")
    except PackageNotFoundError:
        return "0"


def with_path(url: str, default_path: str) -> str:
    """`url` without a trailing slash; a bare origin gets the path of the public service."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/") or default_path
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is not an http(s) address")
    return url.rstrip("/")


def _check_key(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("the key has characters that no key has; copy it again")
    return key


# What went wrong at a provider, in our own errors: statuses, waiting times, deadlines


MAX_RETRY_AFTER_S = 3600.0  # a server that names more is mistaken, or means "not today"
_WORDS = {
    429: "too many requests",
    401: "key refused",
    402: "quota used up",
    403: "refused",
    404: "wrong address",
    432: "quota used up",
    433: "quota used up",
}
_MEANT = (  # what an error in a successful answer is about, and the status that would have said so
    (re.compile(r"rate.?limit|too many requests|throttl", re.IGNORECASE), 429),
    (re.compile(r"quota|credits?\b|usage limit|billing|payment", re.IGNORECASE), 402),
    (re.compile(r"api.?key|unauthori[sz]ed|forbidden|credential|authenticat", re.IGNORECASE), 401),
)
QUOTA_STATUSES = frozenset({402, 432, 433})  # 432 and 433: Tavily's plan and pay-as-you-go limits


def status_error(service: Service, status: int, *, retry_after: str | None = None, detail: str = "") -> ProviderError:
    """The error for an HTTP `status` that is not success. `detail` is what the server said, for the log."""
    reason = f"{_WORDS.get(status, 'server error' if status >= 500 else 'refused')} (HTTP {status})"
    plain, reason = reason, f"{reason}: {detail}" if detail else reason
    if status == 429:
        wait_s = parse_retry_after(retry_after, now=datetime.now(UTC))
        return too_many(service, reason, retry_after_s=wait_s, plain=plain, hint=service.hints.get(429, ""))
    if status >= 500:
        return broken(service, reason, plain=plain)
    check = service.key_variable if status in {400, 401, 403, *QUOTA_STATUSES} else service.url_variable
    said = "says that the plan's quota is used up" if status in QUOTA_STATUSES else "refused the request"
    mend = service.hints.get(status) or f"check {check or service.url_variable}"
    operator_message = f"{service.label} {said} (HTTP {status}); {mend}."
    return ProviderRejected(service.name, reason, operator_message=operator_message, plain=plain)


def error_in_answer(service: Service, body: bytes) -> ProviderError | None:
    """The error that a successful answer speaks of instead of results; None where it has results or names no error.

    `{"results": [], "error": "…"}` and `{"detail": {"error": "…"}}` are how services and proxies say it.
    """
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return None  # garbled, which whoever reads it says
    said = _said(answer) if isinstance(answer, dict) and not answer.get("results") else ""
    if not said:
        return None
    for pattern, status in _MEANT:
        if pattern.search(said):
            return status_error(service, status, detail=f"in an answer that was successful: {said}")
    return broken(service, f"answered with an error: {said}", plain="answered with an error")


def too_many(
    service: Service, reason: str, *, retry_after_s: float | None, plain: str, hint: str = ""
) -> ProviderRateLimited:
    mend = hint or "wait, or lower its rate in GORKD_SEARCH_RATES"
    operator_message = f"{service.label} is asked too often ({reason}); {mend}."
    return ProviderRateLimited(
        service.name, reason, retry_after_s=retry_after_s, operator_message=operator_message, plain=plain
    )


def broken(service: Service, reason: str, *, plain: str) -> ProviderUnavailable:
    operator_message = (
        f"{service.label} has trouble of its own ({reason}); if it stays so, check {service.url_variable}."
    )
    return ProviderUnavailable(service.name, reason, operator_message=operator_message, plain=plain)


def garbled(service: Service, reason: str) -> ProviderGarbled:
    operator_message = f"{service.label} gave an answer that cannot be read; check {service.url_variable}."
    return ProviderGarbled(
        service.name, reason, operator_message=operator_message, plain="gave an answer that cannot be read"
    )


def unreachable(service: Service, why: str) -> ProviderUnavailable:
    """For a server that no connection could be made to."""
    operator_message = f"{service.label} could not be reached; check the network and {service.url_variable}."
    reason = f"could not be reached ({why})"
    return ProviderUnavailable(service.name, reason, operator_message=operator_message, plain="could not be reached")


def too_late(service: Service, reason: str) -> ProviderTimeout:
    operator_message = f"{service.label} is too slow ({reason}); check the network and {service.url_variable}."
    return ProviderTimeout(service.name, reason, operator_message=operator_message, plain="no answer in time")


def _said(answer: dict[str, object]) -> str:
    """The text of an error at one of its usual places, "" where there is none."""
    for key in ("error", "detail", "message"):
        value = answer.get(key)
        if isinstance(value, dict):
            value = _said(value)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())[:200]
    return ""


def parse_retry_after(value: str | None, *, now: datetime) -> float | None:
    """Seconds 0…3600 of a `Retry-After` header (RFC 9110, 10.2.3); None when it says nothing usable."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now).total_seconds()
    if math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S)


@asynccontextmanager
async def deadline(service: Service, timeout_s: float) -> AsyncIterator[None]:
    """Bounds one whole search; raises `ProviderTimeout` when the time is up."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as exc:
        raise too_late(service, f"no answer in {timeout_s:g} s") from exc


# From what a service says to hits that may be shown: clean text, usable addresses, no more than asked for.

MAX_URL_CHARS = 2048  # Discord's limit for a link; a longer one could never be shown
MAX_TITLE_CHARS = 500
MAX_LINE_CHARS = 4000  # looked at to make a title or a list of authors
MAX_DATE_CHARS = 64
_TAG = re.compile(  # only tags that services put into titles: `Vec<T>` is no tag
    r"</?(?:a|b|br|code|div|em|font|i|mark|p|small|span|strong|sub|sup|u)(?:\s[^<>]*)?/?>|<!--.*?-->",
    re.IGNORECASE | re.DOTALL,
)
_UNWANTED = re.compile(  # controls, surrogates, private use, and what no reader sees
    f"[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd{UNSEEN}]"
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
    """The root; UTF-8 alone, so that nothing hides a declaration. Raises `ProviderGarbled`, also for entities."""
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


def hit_of_work(
    service: Service, work: WorkRecord, url: str, *, published_at: datetime | None, kind: SourceKind | None,
    is_marked: bool = False,
) -> SearchHit | None:  # fmt: skip
    """A paper as its catalogue has it, under the mark of a retraction where it was retracted or `is_marked`; None
    without an abstract, which could not support anything.
    """
    mark = "[Retracted] " if work.is_retracted or is_marked else ""
    author = " ".join(filter(None, (name_authors(work.authors), f"({work.venue})" if work.venue else "")))
    return SearchHit(
        service.name, url, mark + work.title, mark + work.abstract, is_complete=True, published_at=published_at,
        author=author or None, kind=kind, ids=work.ids, cited_by=work.cited_by, notices=work.notices,
    ) if work.abstract else None  # fmt: skip


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
