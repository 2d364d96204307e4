"""Where a source is: its true domain as a link, or its name alone where the address may not be one. Pure."""

from __future__ import annotations

from adapters.chat.fitting import true_link
from adapters.chat.slack.blocks import escaped, plain
from core.source import Source

NAME_ROOM = 300
ADDRESS_ROOM = 600  # two of them and a quote fit into a section


def place_of(source: Source) -> str:
    """`<https://…|nejm.org>`: the label is the address's own host."""
    host, address = true_link(source.url)
    if host and len(address) <= ADDRESS_ROOM:
        return f"<{escaped(address)}|{host}>"
    return plain(source.metadata.domain or source.metadata.provider, NAME_ROOM) or "unknown place"
