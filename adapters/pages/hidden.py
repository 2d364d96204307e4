"""Removing what a page's reader cannot see, so that it is neither quoted nor obeyed.

Detected: `hidden` and `aria-hidden`, inline styles, and rules of the page's own style sheets that name a single class
or id. Not detected: external style sheets, scripts, text in the colour of its background.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement  # type: ignore[import-untyped] # lxml ships no types

_INVISIBLE = re.compile(
    r"display\s*:\s*none"
    r"|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:^|[;{\s])opacity\s*:\s*0*(?:\.0+)?\s*(?:%|;|!|$)"
    r"|font-size\s*:\s*0*(?:\.0+)?\s*(?:px|pt|em|rem|%)?\s*(?:;|!|$)"
    r"|(?:^|[;{\s])(?:max-)?(?:width|height)\s*:\s*0(?:px)?\s*(?:;|!|$)"
    r"|text-indent\s*:\s*-\d{3,}"
    r"|(?:^|[;{\s])(?:left|right|top|bottom)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*0|clip-path\s*:\s*inset\(\s*(?:50|100)%",
    re.IGNORECASE,
)
_RULE = re.compile(r"([^{}@;]{1,500})\{([^{}]{1,2000})\}")
_SINGLE = re.compile(r"^([.#])([\w-]{1,100})$")
_NEVER = frozenset({"html", "head", "body", "main", "article"})  # often hidden only until a script has run
_MAX_STYLE_CHARS = 200_000
_UNSEEN_TAGS = ("script", "style", "template", "noscript", "object", "embed", "iframe", "datalist", "select")


def drop_hidden(tree: HtmlElement) -> None:
    """Remove invisible elements from `tree`, keeping the text behind them."""
    classes, ids = _hidden_by_style_sheet(tree)
    doomed = [element for element in tree.iter() if _is_hidden(element, classes, ids)]
    for element in doomed:
        if element.getparent() is not None:
            element.drop_tree()


def _is_hidden(element: HtmlElement, classes: set[str], ids: set[str]) -> bool:
    if not isinstance(element.tag, str) or element.tag in _NEVER:
        return False
    if element.tag in _UNSEEN_TAGS:
        # Metadata that trafilatura reads lies in such a script.
        return bool(element.get("type") != "application/ld+json")
    attributes = element.attrib
    style = attributes.get("style", "")
    return bool(
        attributes.get("hidden", "until-found") != "until-found"
        or attributes.get("aria-hidden", "").strip().lower() == "true"
        or (style and _INVISIBLE.search(style[:2000]))
        or attributes.get("id") in ids
        or (classes and not classes.isdisjoint(attributes.get("class", "").split()))
    )


def _hidden_by_style_sheet(tree: HtmlElement) -> tuple[set[str], set[str]]:
    """Classes and ids that a `<style>` of the page makes invisible outside any media query."""
    found: dict[str, set[str]] = {".": set(), "#": set()}
    css = "\n".join(element.text or "" for element in tree.iter("style"))[:_MAX_STYLE_CHARS]
    for selectors, body in _RULE.findall(_without_at_rules(css)):
        if _INVISIBLE.search(body):
            for selector in selectors.split(","):
                if single := _SINGLE.match(selector.strip()):
                    found[single.group(1)].add(single.group(2))
    return found["."], found["#"]


def _without_at_rules(css: str) -> str:
    """`css` without comments and without `@media {…}` blocks, which hold for some readers only."""
    css = re.sub(r"/\*.*?\*/", " ", css, flags=re.DOTALL)
    kept: list[str] = []
    depth = skip_until = 0
    for piece in re.split(r"([{}])", css):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth = max(depth - 1, 0)
            if skip_until and depth < skip_until:
                skip_until = 0
                continue
        elif not skip_until and "@" in piece:
            kept.append(piece[: piece.index("@")])
            skip_until = depth + 1
            continue
        if not skip_until:
            kept.append(piece)
    return "".join(kept)
