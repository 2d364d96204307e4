"""Text that leads nowhere but to the sources: addresses, Markdown links, images and tags of a model's answer.

A model may have them from a page that wants to be visited. Citation markers stay, also those written as links.
"""

from __future__ import annotations

from collections.abc import Collection

import regex

from core.evidence.citations import parse_markers
from core.text.markers import Grammar
from core.text.urls import canonical_url

REMOVED = "(link removed)"
_ADDRESS = r"(?:[^\s<>\"'()\[\]]|\([^\s<>\"'()]*\))+"  # parentheses in pairs belong to it: …/Tide_(sea)
_LINKING_HOSTS = (
    "com|net|org|io|gg|ly|co|me|info|biz|xyz|ru|cn|app|dev|link|click|top|site|online|shop|page|to|us|uk|de|example|test"
    "|zip|mov|tk|ml|cf|ga|in|eu|fr|es|it|jp|pl|br|au|ca|ch|nl|se|no|fi|at|be|cz|gr|pt|ro|tr|ua|kr|tw|hk|sg|my|th|vn|id"
    "|ph|za|mx|ar|cl|tv|cc|ws|la|im|gl|tech|store|live|news|blog|cloud|ai|so|pw"
)
_URL = regex.compile(
    rf"<?(?P<url>\b(?:https?|ftp|file)://{_ADDRESS}|\bwww\.{_ADDRESS}|(?<![\w:/])//[\w-]+\.\w{_ADDRESS}"
    rf"|\b(?:javascript|vbscript|mailto):{_ADDRESS}|\bdata:\w+/{_ADDRESS}"
    rf"|(?<![\w./@-])(?:[a-z0-9-]++\.)++(?:{_LINKING_HOSTS})/{_ADDRESS})>?",
    regex.IGNORECASE,
)
_MARKDOWN_LINK = regex.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*+<?+((?:[^()]|\([^()]*\))*)\)")
_TAG = regex.compile(
    r"</?(?:a|img|script|iframe|style|object|embed|svg|video|audio|form|input|button|link|meta|base)\b[^<>]*>?"
    r"|<(?:[@#!]|!subteam\^)[^<>\s]*>",  # how chat platforms write mentions and channels
    regex.IGNORECASE,
)
_CITED_ADDRESS = regex.compile(rf"\(\s*(https?://{_ADDRESS})\s*\)", regex.IGNORECASE)
_MAX_NESTING = 3  # an image in a link; deeper is no honest text, and its addresses go one by one


def without_foreign_links(text: str, numbers: dict[str, int]) -> str:
    """`text` with the addresses of sources only; `numbers` are the sources' numbers by canonical address.

    A source's address in parentheses becomes its marker: `(https://…)` → `[2]`. A link leaves its label.
    """
    for _ in range(_MAX_NESTING):
        text = _MARKDOWN_LINK.sub(_label, text)
    text = _TAG.sub("", text)
    text = _CITED_ADDRESS.sub(lambda found: _marker(found, numbers), text)
    return _URL.sub(lambda found: _known(found, numbers), text).replace(f"({REMOVED})", REMOVED)


def without_addresses(text: str) -> str:
    """`text` without any address: what it says, to be checked."""
    return _URL.sub("", text)


def _label(link: regex.Match[str]) -> str:
    is_image, label = bool(link[1]), link[2]
    if is_image:
        return ""
    return f"[{label}]" if parse_markers(f"[{label}]", Grammar.NUMBER) else label


def _marker(cited: regex.Match[str], numbers: dict[str, int]) -> str:
    number = numbers.get(canonical_url(cited[1]))
    return f"[{number}]" if number else cited.group()


def _known(found: regex.Match[str], known: Collection[str]) -> str:
    address = found["url"].rstrip(".,;:!?*_")
    behind = found["url"][len(address) :]
    return f"{address}{behind}" if canonical_url(address) in known else f"{REMOVED}{behind}"
