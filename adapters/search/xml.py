"""XML from a service, with everything refused that a parser could be led astray by."""

from __future__ import annotations

from xml.etree import ElementTree  # entities are refused below, and it never opens what a DTD names

from adapters.search.faults import garbled
from adapters.search.settings import Access


def parse_xml(access: Access, body: bytes) -> ElementTree.Element:
    """The root element. Raises `ProviderGarbled` on bad XML and on any declaration of entities.

    Only UTF-8 is read, so that no other encoding can hide a declaration.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise garbled(access, "XML that is not UTF-8") from exc
    if "<!ENTITY" in text or _has_internal_subset(text):
        raise garbled(access, "XML that declares entities")
    try:
        return ElementTree.fromstring(text)  # noqa: S314  # see above
    except (ElementTree.ParseError, ValueError) as exc:
        raise garbled(access, f"not XML: {text[:40]!r}") from exc


def text_of(element: ElementTree.Element | None) -> str:
    """All text within, tags such as <i> taken off, on one line; "" for None."""
    return "" if element is None else " ".join("".join(element.itertext()).split())


def _has_internal_subset(text: str) -> bool:
    """Whether the document type brings declarations of its own, between brackets."""
    start = text.find("<!DOCTYPE")
    return start >= 0 and "[" in text[start : text.find(">", start)]
