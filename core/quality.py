"""What a source is worth as evidence, in one word that people understand; a retracted one is worth nothing."""

from __future__ import annotations

from enum import StrEnum

import regex

from core.source import Source, SourceKind


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
    """Whether its title, or the notice at the top of its text, says that it was retracted or withdrawn."""
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
