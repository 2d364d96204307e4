"""robots.txt: what a site asks of visitors like us (RFC 9309).

Matching is protego's. Before it parses, groups of other robots are folded into one, because it keeps every rule once
per named robot and a hostile file names thousands; and our own group is found by equal names, as the RFC says.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.model.ports import Clock

if TYPE_CHECKING:
    from protego import Protego

MAX_ROBOTS_BYTES = 500 * 1024  # RFC 9309, 2.5: parsers must take at least 500 KiB
FRESH_FOR = timedelta(hours=1)  # RFC 9309, 2.4 allows 24 hours; sites change their mind faster
UNREACHABLE_FOR = timedelta(minutes=1)  # a failing site gets another chance soon
_MAX_SITES = 500
_MAX_LINES = 20_000
_OUR_GROUP = "us"
_OTHER_GROUP = "them"
_AGENT_LINE = re.compile(r"^[\s\ufeff]*user[- ]?agent\s*(?::\s*|\s+)([^#]*)", re.IGNORECASE)
_RULE_LINE = re.compile(r"^\s*(?:allow|d[iaso]{2,4}l+[ao]w)\b", re.IGNORECASE)  # protego forgives misspellings
_PRODUCT_TOKEN = re.compile(r"^[A-Za-z_-]+")


@dataclass(frozen=True)
class RobotsAnswer:
    """What asking for a robots.txt gave: its text, "" when there is none, None when the server failed."""

    text: str | None


class RobotsRules:
    """A parsed robots.txt, for one robot."""

    def __init__(self, parsed: Protego) -> None:
        self._parsed = parsed

    @classmethod
    def parse(cls, text: str, robot: str) -> RobotsRules:
        """`robot` is a product token, e.g. `gorkd`. Never raises; takes time linear in `text`."""
        from protego import Protego

        return cls(Protego.parse(_folded(text, robot)))

    def allows(self, url: str) -> bool:
        return bool(self._parsed.can_fetch(url, _OUR_GROUP))


@dataclass
class _Known:
    rules: RobotsRules | None  # None: unreachable
    until: datetime


class Robots:
    """Remembers the rules of sites. `ask` fetches one robots.txt; its errors pass through."""

    def __init__(self, ask: Callable[[str], Awaitable[RobotsAnswer]], *, robot: str, clock: Clock) -> None:
        self._ask = ask
        self._robot = robot
        self._clock = clock
        self._sites: OrderedDict[str, _Known] = OrderedDict()
        self._asking: dict[str, asyncio.Lock] = {}

    async def allow(self, url: str, site: str) -> bool | None:
        """Whether `url` of `site` (its scheme, host and port) may be read.

        None when the site cannot say, which means no (RFC 9309, 2.3.1.4).
        """
        lock = self._asking.setdefault(site, asyncio.Lock())
        try:
            async with lock:
                rules = await self._rules(site)
        finally:
            if not lock.locked():
                self._asking.pop(site, None)
        return rules.allows(url) if rules is not None else None

    async def _rules(self, site: str) -> RobotsRules | None:
        known = self._sites.get(site)
        if known is not None and known.until > self._clock():
            self._sites.move_to_end(site)
            return known.rules
        answer = await self._ask(f"{site}/robots.txt")
        if answer.text is None:
            self._remember(site, _Known(None, self._clock() + UNREACHABLE_FOR))
            return None
        rules = await asyncio.to_thread(RobotsRules.parse, answer.text, self._robot)
        self._remember(site, _Known(rules, self._clock() + FRESH_FOR))
        return rules

    def _remember(self, site: str, known: _Known) -> None:
        self._sites[site] = known
        self._sites.move_to_end(site)
        while len(self._sites) > _MAX_SITES:
            self._sites.popitem(last=False)


def _folded(text: str, robot: str) -> str:
    """The rules of `text` with its robots named `us`, `*` or `them`, each once a group.

    Other lines are left out, for they neither end a group (RFC 9309, 2.2.4) nor allow anything.
    """
    lines: list[str] = []
    named: set[str] = set()
    for line in text.splitlines()[:_MAX_LINES]:
        found = _AGENT_LINE.match(line)
        if found is None:
            if _RULE_LINE.match(line):
                named.clear()
                lines.append(line)
            continue
        group = _group(found.group(1).strip(), robot)
        if group not in named:
            named.add(group)
            lines.append(f"User-agent: {group}")
    return "\n".join(lines)


def _group(value: str, robot: str) -> str:
    if value == "*" or value.startswith("* "):
        return "*"
    token = _PRODUCT_TOKEN.match(value)
    return _OUR_GROUP if token is not None and token.group().lower() == robot.lower() else _OTHER_GROUP
