"""Who stands behind an address: a small curated table of publishers, and what their word weighs.

A host matches an entry only as a whole or below it (`docs.python.org` below `python.org`), so that
`nature.com.evil.example` and `evil-nature.com` match nothing. Unlisted hosts are unknown, not bad.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Hashable, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from ipaddress import ip_address
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import urlsplit

import numpy as np
import regex
from numpy.typing import NDArray
from rapidfuzz import fuzz

from core.model.errors import SetupError
from core.model.source import Source, SourceKind
from core.model.works import fullest

# By judgement; only the order is argued for. Law-makers and the makers of a thing say what holds of it,
# standards bodies define, peers have checked; a preprint has named authors but no check yet; reference works
# and press have editors and report what others said; a local file was chosen by the operator; of an unknown
# page nothing is known; in a forum anyone writes anything.
_AUTHORITY = MappingProxyType(
    {
        SourceKind.OFFICIAL: 1.0,
        SourceKind.STANDARDS: 0.95,
        SourceKind.PEER_REVIEWED: 0.9,
        SourceKind.PREPRINT: 0.7,
        SourceKind.REFERENCE: 0.65,
        SourceKind.ESTABLISHED_PRESS: 0.6,
        SourceKind.LOCAL: 0.5,
        SourceKind.UNKNOWN: 0.35,
        SourceKind.FORUM: 0.2,
    }
)
PRIMARY_KINDS = frozenset({SourceKind.OFFICIAL, SourceKind.STANDARDS, SourceKind.PEER_REVIEWED})


def authority(kind: SourceKind) -> float:
    """The weight of a kind of publisher, 0…1, falling in the order of `SourceKind`."""
    return _AUTHORITY[kind]


def kind_of(
    url: str, *, hint: SourceKind | None = None, overrides: Mapping[str, SourceKind] = MappingProxyType({})
) -> SourceKind:
    """The kind of publisher behind `url`.

    `overrides` maps a domain to its kind and beats the table; the most specific entry wins. `hint`
    is what the provider knows (PubMed: peer reviewed) and beats the table but not the overrides.
    """
    host = _host(url)
    own = _lookup(host, overrides)
    if own:
        return own
    if hint is not None:
        return hint
    if not host:
        return SourceKind.LOCAL if url.lower().startswith("file:") else SourceKind.UNKNOWN
    return _lookup(host, _kinds()) or _by_subdomain(host)


def read_kinds(text: str) -> dict[str, SourceKind]:
    """The operator's own table, as in `intranet.example=official, blog.example=forum`.

    Raises `SetupError` on anything else; the message names the part that is wrong.
    """
    kinds: dict[str, SourceKind] = {}
    for entry in filter(None, map(str.strip, text.split(","))):
        domain, _, kind = (part.strip().lower() for part in entry.partition("="))
        if kind not in set(SourceKind) or not _DOMAIN.fullmatch(domain):
            raise SetupError(
                f"GORKD_SOURCE_KINDS: {entry!r} is not a domain and its kind. Write example.org=official, several "
                f"separated by commas; the kinds are {', '.join(SourceKind)}."
            )
        kinds[domain] = SourceKind(kind)
    return kinds


def registrable_domain(host: str) -> str:
    """The part of a host that one owner registers: `bbc.co.uk` of `news.bbc.co.uk`, "" of "".

    Sites of many owners (`alice.github.io`, `x.substack.com`) keep one label more. Addresses stay
    as they are. Covers the common two-label suffixes; an unlisted one takes its whole suffix for
    one owner, which counts too few independent sources rather than too many.
    """
    host = host.strip().lower().rstrip(".")
    host = host[1:].split("]")[0] if host.startswith("[") else host
    if _is_address(host):
        return host
    host = _PORT.sub("", host)
    if _is_address(host):
        return host
    labels = host.split(".")
    for size in (3, 2):
        if ".".join(labels[-size:]) in _names("shared"):
            return ".".join(labels[-size - 1 :])
    is_two_label_suffix = len(labels) >= 3 and len(labels[-1]) == 2 and labels[-2] in _names("second_level")
    return ".".join(labels[-3 if is_two_label_suffix else -2 :])


def _host(url: str) -> str:
    try:
        parts = urlsplit(url if "://" in url or url.startswith("file:") else f"//{url}")
        return (parts.hostname or "").rstrip(".") if parts.scheme != "file" else ""
    except ValueError:
        return ""


def _lookup(host: str, table: Mapping[str, SourceKind]) -> SourceKind | None:
    """The kind of the longest entry that is `host` or a domain above it."""
    labels = host.split(".")
    for start in range(len(labels)):
        kind = table.get(".".join(labels[start:]))
        if kind:
            return kind
    return None


def _by_subdomain(host: str) -> SourceKind:
    labels = host.split(".")
    is_own_subdomain = registrable_domain(host) == ".".join(labels[1:])  # docs.alice.github.io is nobody's manual
    if _is_address(host) or not is_own_subdomain or ".".join(labels[2:]) in _names("shared"):
        return SourceKind.UNKNOWN
    if labels[0] in ("docs", "developer", "developers", "devdocs"):
        return SourceKind.OFFICIAL
    if labels[0] in ("forum", "forums", "community", "discuss", "answers"):
        return SourceKind.FORUM
    return SourceKind.UNKNOWN


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_PORT = re.compile(r":\d+$")
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")


def site_list(name: str) -> str:
    """A list of `sites.toml` as it is written there."""
    return str(_sites()[name])


@cache
def _sites() -> Mapping[str, object]:
    return tomllib.loads(files(__package__).joinpath("sites.toml").read_text(encoding="utf-8"))


@cache
def _names(name: str) -> frozenset[str]:
    return frozenset(site_list(name).split())


@cache
def _kinds() -> Mapping[str, SourceKind]:
    return {domain: kind for kind in SourceKind if kind is not SourceKind.LOCAL for domain in _names(f"{kind}")}


# What a source is worth as evidence, in one word that people understand; a retracted one is worth nothing


class Quality(StrEnum):
    """Best first."""

    GUIDELINE = "guideline"
    PEER_REVIEWED = "peer-reviewed"
    OFFICIAL = "official"
    REFERENCE = "reference"
    PREPRINT = "preprint"
    PRESS = "press"
    OTHER = "other"
    RETRACTED = "retracted"


def quality_of(source: Source) -> Quality:
    """Retraction goes before everything, a guideline (by its catalogue or its title) before who published it."""
    if is_retracted(source):
        return Quality.RETRACTED
    quality = _BY_KIND.get(source.metadata.kind, Quality.OTHER)
    says_so = quality in _MAY_BE_GUIDELINE and _GUIDELINE.search(source.title)
    return Quality.GUIDELINE if says_so or source.metadata.is_guideline else quality


def is_retracted(source: Source) -> bool:
    """Whether a registry, its title, or the notice at the top of its text says that it was retracted or withdrawn."""
    if fullest(source.metadata.notices, "retraction"):
        return True
    title = _RETRACTED_TITLE.match(source.title)
    return bool(title or _RETRACTED_TEXT.search(source.content[:_NOTICE_CHARS]))


def pmid_of(url: str) -> str:
    """The PubMed id in a PubMed address, "" for any other."""
    match = _PMID.match(url)
    return match[1] if match else ""


_BY_KIND = {
    SourceKind.OFFICIAL: Quality.OFFICIAL,
    SourceKind.STANDARDS: Quality.OFFICIAL,
    SourceKind.PEER_REVIEWED: Quality.PEER_REVIEWED,
    SourceKind.PREPRINT: Quality.PREPRINT,
    SourceKind.REFERENCE: Quality.REFERENCE,
    SourceKind.ESTABLISHED_PRESS: Quality.PRESS,
}
_MAY_BE_GUIDELINE = frozenset({Quality.OFFICIAL, Quality.PEER_REVIEWED, Quality.REFERENCE})
_GUIDELINE = regex.compile(
    r"\b(?:(?:clinical |practice )*guidelines?|consensus (?:statement|recommendations?)|recommendation statement|"
    r"position statement|leitlinie)\b",
    regex.IGNORECASE,
)
_RETRACTED_TITLE = regex.compile(
    r"\W*(?:retracted|retraction(?: note| notice)?|withdrawn)\b\s*(?:article|paper)?\s*[:\])–—]", regex.IGNORECASE
)
_RETRACTED_TEXT = regex.compile(
    r"\bthis (?:article|paper|study|publication|preprint) (?:has been|was|is) (?:retracted|withdrawn)\b",
    regex.IGNORECASE,
)
_NOTICE_CHARS = 1500  # a retraction is announced at the top
_PMID = regex.compile(r"https?://(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/(\d{1,9})\b")


# Which sources are independent of each other: other owners, and not the same text twice


Voice = TypeVar("Voice", bound=Hashable)

CATALOGUES = frozenset({"pubmed.ncbi.nlm.nih.gov", "arxiv.org", "europepmc.org"})  # of what others publish
LOCAL_FILES = "local files"  # no name of an owner has a blank
_PAPERS = frozenset({SourceKind.PREPRINT, SourceKind.PEER_REVIEWED})
_MIN_TITLE_WORDS = 4  # shorter titles are given twice by chance
# Suffixes under which anyone registers a name; `x.gov` and `x.edu` are not the owners of `x.com`.
_OPEN_SUFFIXES = frozenset("com org net info io news tv app dev".split())
_GOVERNMENT = frozenset({"gov", "gob", "gouv", "govt"})  # of many countries, each its own
_COUNTRY = re.compile(r"(?:(?:com?|org|net|ne|or)\.)?[a-z]{2}")
_SHINGLE_WORDS = 5  # long enough that two pages on one subject share few by chance
_MAX_WORDS = 2000  # of a text; a copy shows itself long before
_COPIED_SHARE = 0.6  # of the shorter text's shingles; copies differ in furniture, retold stories share far less
_MIN_SHINGLES = 20  # shorter texts are compared by their quotes only
_SAME_QUOTE = 90.0  # rapidfuzz ratio, 0…100
_MIN_QUOTE_WORDS = 12  # shorter sentences are written alike by chance
_MAX_EXACT = 20  # sources that are searched exactly; a job keeps no more


def owner(source: Source) -> str:
    """Who answers for a source: the owner of its registrable domain; for local files, whoever keeps them.

    One name under several public suffixes (`bbc.com`, `bbc.co.uk`) is one owner, which counts too few independent
    sources rather than too many. A paper in a catalogue of papers is answered for by its authors.
    """
    if source.metadata.domain in CATALOGUES:
        return source.metadata.author or source.url
    if source.url.lower().startswith("file:"):
        return LOCAL_FILES
    domain = registrable_domain(source.metadata.domain)
    if not domain:
        return source.url
    name, _, suffix = domain.partition(".")
    is_public = (suffix in _OPEN_SUFFIXES or _COUNTRY.fullmatch(suffix)) and name not in _GOVERNMENT
    return _owners().get(domain) or _owners().get(name) or (name if is_public else domain)


def same_voice(first: Source, second: Source) -> bool:
    """Whether two sources count once."""
    return (
        owner(first) == owner(second)
        or (first.content_hash != "" and first.content_hash == second.content_hash)
        or (first.metadata.work != "" and first.metadata.work == second.metadata.work)
        or _is_one_paper(first, second)
        or _is_copy(first.content, second.content)
    )


def _is_one_paper(first: Source, second: Source) -> bool:
    """A preprint and its journal version: one long title, and an author in common as far as both are known."""
    if not {first.metadata.kind, second.metadata.kind} <= _PAPERS:
        return False
    titles = [_WORD.findall(source.title.casefold()) for source in (first, second)]
    if titles[0] != titles[1] or len(titles[0]) < _MIN_TITLE_WORDS:
        return False
    authors = [
        {name for name in _WORD.findall((one.metadata.author or "").casefold()) if len(name) > 2}
        for one in (first, second)
    ]
    return not all(authors) or bool(authors[0] & authors[1])


def same_quote(first: str, second: str) -> bool:
    """Whether one of two quotes was copied from the other: long, and nearly word for word."""
    if min(len(first.split()), len(second.split())) < _MIN_QUOTE_WORDS:
        return False
    return fuzz.ratio(first.casefold(), second.casefold()) >= _SAME_QUOTE


def heaviest_independent(weights: Mapping[Voice, float], is_tied: Callable[[Voice, Voice], bool]) -> tuple[Voice, ...]:
    """Voices of which no two are tied, with the greatest total weight; weights are not negative.

    Taking the best such set, rather than merging tied voices into groups, keeps one thing true: a
    voice more never makes the total smaller, even when it is tied to two that were independent.
    """
    voices = [voice for voice in weights if weights[voice] > 0]
    ties = {voice: {other for other in voices if other != voice and is_tied(voice, other)} for voice in voices}
    kept = sorted(voices, key=lambda voice: -weights[voice])[:_MAX_EXACT]
    return _heaviest(tuple(kept), weights, ties)


def _heaviest(
    voices: tuple[Voice, ...], weights: Mapping[Voice, float], ties: Mapping[Voice, set[Voice]]
) -> tuple[Voice, ...]:
    """The better of two: with the first voice and without those tied to it, or without it."""
    if not voices:
        return ()
    first, *rest = voices
    free = tuple(voice for voice in rest if voice not in ties[first])
    with_first = (first, *_heaviest(free, weights, ties))
    if len(free) == len(rest):
        return with_first
    return max(with_first, _heaviest(tuple(rest), weights, ties), key=lambda kept: sum(map(weights.__getitem__, kept)))


def _is_copy(first: str, second: str) -> bool:
    left, right = _shingles(first), _shingles(second)
    shorter = min(len(left), len(right))
    return shorter >= _MIN_SHINGLES and len(np.intersect1d(left, right, assume_unique=True)) >= _COPIED_SHARE * shorter


@lru_cache(maxsize=256)
def _shingles(text: str) -> NDArray[np.int64]:
    """Different numbers, for the runs of words; as a set they would take fifteen times the room."""
    words = _WORD.findall(text[: _MAX_WORDS * 8].casefold())[:_MAX_WORDS]
    runs = map(hash, zip(*(words[at:] for at in range(_SHINGLE_WORDS)), strict=False))
    return np.unique(np.fromiter(runs, np.int64))


_WORD = re.compile(r"[^\W_]+")


@cache
def _owners() -> Mapping[str, str]:
    return {name: row.split()[0] for row in site_list("owners").strip().splitlines() for name in row.split()}
