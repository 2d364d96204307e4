"""The ids of published works in addresses, in what pages say of themselves, and at the head of a text.

A page names many works and is one: what it says of itself goes before its address, and its text counts only where its
head names a single one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from core.model.works import WorkIds, is_of_arxiv, without_version

HEAD_CHARS = 3000  # of a text: title page, where a DOI is the work's own
_DOI = re.compile(r"10\.\d{4,9}/[^\s\"'<>{}|\\^`\[\]]+")
# What publishers put behind a DOI in an address, and what a sentence puts behind one in a text.
_AFTER_DOI = re.compile(
    r"(?:/(?:full(?:\.pdf|/html)?|abstract|pdf|epdf|pdfdirect|html|fulltext(?:\.html)?|meta|references|summary)"
    r"|v\d+(?:\.full(?:-text|\.pdf)?|\.abstract|\.pdf)?|\.full(?:\.pdf)?|\.pdf|\.html?)$",
    re.IGNORECASE,
)
_ARXIV_IN_URL = re.compile(r"/(?:abs|pdf|html|format|src)/((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?)")
_ARXIV_IN_TEXT = re.compile(r"\barXiv:\s?((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?)", re.IGNORECASE)
_PMID_IN_PATH = re.compile(r"^/(?:pubmed/)?(\d{1,9})/?$|/(?:MED|med)/(\d{1,9})\b")
_PMCID = re.compile(r"\bPMC\d{3,9}\b", re.IGNORECASE)
_NATURE = re.compile(r"/articles/(s\d{5}-\d{3}-\d{4,5}-[\dxyw]|nature\d{5}|[a-z]{2,8}\d{4})\b")
_DOI_QUERY = re.compile(r"(?:^|&)(?:id|doi)=([^&]+)")
_ARXIV_HOSTS = ("arxiv.org", "ar5iv.org", "ar5iv.labs.arxiv.org", "alphaxiv.org")
# In the order of trust: Highwire Press's tags, which Google Scholar asks for; Dublin Core; PRISM.
_DOI_TAGS = ("citation_doi", "prism.doi", "dc.identifier", "dc.identifier.doi", "bepress_citation_doi", "doi")


def ids_in_url(url: str) -> WorkIds:
    """Those that the address itself holds.

    >>> ids_in_url("https://www.biorxiv.org/content/10.1101/2020.01.01.123456v2.full.pdf").doi
    '10.1101/2020.01.01.123456'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return WorkIds()
    host, path = (parts.hostname or "").removeprefix("www."), unquote(parts.path)
    if host.endswith(_ARXIV_HOSTS):
        found = _ARXIV_IN_URL.search(path)
        return WorkIds.of(arxiv=found[1]) if found else WorkIds()
    if host.endswith(("ncbi.nlm.nih.gov", "europepmc.org")):
        pmcid, pmid = _PMCID.search(path), _PMID_IN_PATH.search(path)
        return WorkIds.of(pmcid=pmcid[0] if pmcid else "", pmid=(pmid[1] or pmid[2]) if pmid and not pmcid else "")
    if host.endswith("openalex.org"):
        found = re.search(r"\bW\d+\b", path, re.IGNORECASE)
        return WorkIds.of(openalex=found[0]) if found else WorkIds()
    if host.endswith("nature.com") and (article := _NATURE.search(path)):
        return WorkIds.of(doi=f"10.1038/{article[1]}")
    asked = _DOI_QUERY.search(unquote(parts.query))
    return WorkIds.of(doi=doi_in(path) or (doi_in(asked[1]) if asked else ""))


def ids_in_tags(tags: Mapping[str, str]) -> WorkIds:
    """From a page's `<meta>` tags, by name in lower case."""
    dois = (doi_in(tags.get(name, "")) for name in _DOI_TAGS)
    pmid = tags.get("citation_pmid", "").strip()
    pmcid = _PMCID.search(tags.get("citation_pmcid", ""))
    arxiv = tags.get("citation_arxiv_id", "").strip()
    return WorkIds.of(
        doi=next(filter(None, dois), ""),
        pmid=pmid if pmid.isascii() and pmid.isdigit() else "",
        pmcid=pmcid[0] if pmcid else "",
        arxiv=arxiv,
    )


def ids_in_text(text: str) -> WorkIds:
    """From the head of a document: its arXiv stamp, and its DOI where no other stands beside it."""
    head = text[:HEAD_CHARS]
    dois = dict.fromkeys(_tidy(found) for found in _DOI.findall(head))
    stamps = dict.fromkeys(without_version(found) for found in _ARXIV_IN_TEXT.findall(head) if is_of_arxiv(found))
    return WorkIds.of(doi=_only(dois), arxiv=_only(stamps))


def doi_in(text: str) -> str:
    """The first DOI of a text, in lower case and without what follows it in an address; "" where there is none."""
    found = _DOI.search(text)
    return _tidy(found[0]) if found else ""


def _tidy(doi: str) -> str:
    doi = doi.rstrip(".,;:)*").casefold()
    while (shorter := _AFTER_DOI.sub("", doi)) != doi and shorter.count("/") >= 1:
        doi = shorter
    return doi.rstrip("/")


def _only(found: Iterable[str]) -> str:
    first, *others = [*found] or [""]
    return "" if others else first
