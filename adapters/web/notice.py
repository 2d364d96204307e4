"""A page of a few sentences and one link, for what another interface has to say in a browser."""

from __future__ import annotations

from collections.abc import Sequence

import aiohttp_jinja2
from aiohttp import web


def notice_page(request: web.Request, *, title: str, says: Sequence[str], link: tuple[str, str]) -> str:
    """As HTML. `says` are paragraphs; `link` is an address and its label."""
    address, label = link
    return aiohttp_jinja2.render_string(
        "notice.html", request, {"title": title, "says": says, "address": address, "label": label}
    )
