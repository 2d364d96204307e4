"""Untrusted text as Discord shows it: escaped character by character, so that it pings nobody, formats nothing
and hides no link. The only links are sources under their true domain, and the job's page. Pure.
"""

from __future__ import annotations

import regex

from adapters.chat.fitting import fit, true_link
from core.model.source import Source
from core.presentation import wording
from core.presentation.render import one_line, printable

URL_LIMIT = 512  # of a link button; an embed's own URL may have 2048
TITLE_ROOM = 100
ADDRESS_ROOM = 300  # three sources and the rest of a description leave the answer at least 600

_ACTIVE = frozenset("\\`*_~|<>#[]")  # what Discord's Markdown acts on; `@` and addresses are broken before
# `[1]` may stand as it is, but not as a link's label.
_ESCAPED_MARKER = regex.compile(r"\\\[(\d{1,3}(?:, ?\d{1,3})*)\\\](?!\()")
_INVITE = regex.compile(r"(?i)(discord(?:app)?)\.(?=(?:gg|com|io|me|li)\b)")


def plain(text: str, limit: int, *, more: str = "…") -> str:
    """Untrusted text as Discord will show it literally, at most `limit` characters, on one line."""
    return fit(_defused(one_line(text)), limit, _escaped, more=more)


def prose(text: str, limit: int, *, more: str = "…") -> str:
    """As `plain`, with its paragraphs and its citation markers; `more` is trusted."""
    tidy = regex.sub(r"\n{3,}", "\n\n", printable(text)).strip()
    return _ESCAPED_MARKER.sub(r"[\1]", fit(_defused(tidy), limit, _escaped, more=more))


def source_line(source: Source) -> str:
    """`1. [nejm.org](https://…) - Lecanemab in Early Alzheimer's Disease`; the label is the address's own host."""
    linked = source_link(source)
    return f"{source.number}. {linked} - {_title(source)}" if linked.startswith("[") else name_line(source)


def source_link(source: Source) -> str:
    """`[nejm.org](https://…)`; the place's name alone where its address may not be a link."""
    host, address = true_link(source.url)
    if not host or len(address) > ADDRESS_ROOM or _INVITE.search(address):
        return plain(source.metadata.domain or source.metadata.provider, TITLE_ROOM)
    return f"[{_escaped(host)}]({address})"


def name_line(source: Source) -> str:
    """As `source_line`, without the link."""
    place = plain(source.metadata.domain or source.metadata.provider, TITLE_ROOM)
    return f"{source.number}. {place} - {_title(source)}"


def page_link(page_url: str) -> str:
    """The words View Full Analysis as a link; "" where the address cannot be one."""
    is_short = len(page_url) <= ADDRESS_ROOM  # it stands in the text twice where an answer is cut
    return f"[{wording.VIEW_FULL_ANALYSIS}]({page_url})" if is_short and is_linkable(page_url) else ""


def is_linkable(page_url: str) -> bool:
    return page_url.startswith(("https://", "http://")) and len(page_url) <= URL_LIMIT and ")" not in page_url


def _title(source: Source) -> str:
    title = plain(source.title or wording.UNTITLED, TITLE_ROOM)
    return f"{title} ({wording.INSTRUCTS})" if source.instructs else title


def _defused(text: str) -> str:
    """Mentions, addresses and invites broken by a zero-width space, so that none is made a link or a ping."""
    return _INVITE.sub("\\1\u200b.", text.replace("@", "@\u200b").replace("://", ":\u200b//"))


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in _ACTIVE else char for char in text)
