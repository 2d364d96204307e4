"""Which sources are independent of each other: other owners, and not the same text twice.

Two sources are one voice when they share an owner, a content hash, most of their text (syndicated copies,
mirrors), or are one paper in two places; two pieces of evidence also when they give the same long quote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from functools import cache, lru_cache
from typing import TypeVar

from rapidfuzz import fuzz

from core.evidence.authority import registrable_domain, site_list
from core.source import Source, SourceKind

Voice = TypeVar("Voice", bound=Hashable)

CATALOGUES = frozenset({"pubmed.ncbi.nlm.nih.gov", "arxiv.org", "europepmc.org"})  # of what others publish
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
    """Who answers for a source: the owner of its registrable domain; a local file answers for itself.

    One name under several public suffixes (`bbc.com`, `bbc.co.uk`) is one owner, which counts too few independent
    sources rather than too many. A paper in a catalogue of papers is answered for by its authors.
    """
    if source.metadata.domain in CATALOGUES:
        return source.metadata.author or source.url
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
    return shorter >= _MIN_SHINGLES and len(left & right) >= _COPIED_SHARE * shorter


@lru_cache(maxsize=256)
def _shingles(text: str) -> frozenset[int]:
    words = _WORD.findall(text[: _MAX_WORDS * 8].casefold())[:_MAX_WORDS]
    return frozenset(
        hash(tuple(words[start : start + _SHINGLE_WORDS])) for start in range(len(words) - _SHINGLE_WORDS + 1)
    )


_WORD = re.compile(r"[^\W_]+")


@cache
def _owners() -> Mapping[str, str]:
    return {name: row.split()[0] for row in site_list("owners").strip().splitlines() for name in row.split()}
