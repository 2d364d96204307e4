"""What a platform's app is built from, besides its own settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.chat.live import ChatTurns
    from core.delivery import OpenMessages
    from core.departures import Tenancy
    from core.library.session import LibraryTalks
    from core.page_links import PageLinks
    from core.researcher import Researcher


@dataclass(frozen=True)
class ChatDeps:
    """`links` give the addresses of pages; `turns` say which of several processes keeps a message alive."""

    researcher: Researcher
    links: PageLinks
    tenancy: Tenancy
    talks: LibraryTalks
    open_messages: OpenMessages
    turns: ChatTurns
