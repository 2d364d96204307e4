"""Text that leads nowhere but to the sources: addresses, Markdown links, images and tags of a model's answer.

Where one of them cites a source, in a link, an address or words, its marker takes the place; the rest goes.
"""

from __future__ import annotations

from collections.abc import Collection

import regex

from core.evidence.citations import Grammar, marker_numbers, parse_markers, with_markers
from core.text.urls import canonical_url

REMOVED = "(…)"  # in no language, and no word of what is checked
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
_LINK = r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*+<?+((?:[^()]|\([^()]*\))*)\)"
_MARKDOWN_LINK = regex.compile(_LINK)
_LINKS_IN_BRACKETS = regex.compile(
    rf"[(\[]\s*+(?:(?:see|via|from|sources?|siehe|quellen?|fuentes?|fonti?|voir|zie|bron)\b:?\s*+)?(?:{_LINK}[\s,;]*+)++[)\]]",
    regex.IGNORECASE,
)
_TAG = regex.compile(
    r"</?(?:a|img|script|iframe|style|object|embed|svg|video|audio|form|input|button|link|meta|base)\b[^<>]*>?"
    r"|<(?:[@#!]|!subteam\^)[^<>\s]*>",  # how chat platforms write mentions and channels
    regex.IGNORECASE,
)
_CITED_ADDRESS = regex.compile(rf"\(\s*(https?://{_ADDRESS})\s*\)", regex.IGNORECASE)
_MAX_NESTING = 3  # an image in a link; deeper is no honest text, and its addresses go one by one


def without_foreign_links(text: str, numbers: dict[str, int]) -> str:
    """`text` with the addresses of sources only; `numbers` are the sources' numbers by canonical address and name.

    A source's address in parentheses becomes its marker, `(https://…)` → `[2]`, and so does a link to it there, or one
    whose label is a number. Any other link leaves its label.
    """
    text = _LINKS_IN_BRACKETS.sub(lambda found: _linked_sources(found, numbers), text)
    for _ in range(_MAX_NESTING):
        text = _MARKDOWN_LINK.sub(lambda link: _label(link, numbers), text)
    text = _TAG.sub("", text)
    for cited, address in {found.group(): found[1] for found in _CITED_ADDRESS.finditer(text)}.items():
        number = numbers.get(canonical_url(address))
        text = text.replace(cited, f"[{number}]") if number else text
    return _URL.sub(lambda found: _known(found, numbers), text).replace(f"({REMOVED})", REMOVED)


def cited_in_words(text: str, numbers: Collection[int]) -> str:
    """ "Source 2 says that it rains." as "It rains [2].", where 2 is one of the sources' `numbers`."""
    named = _CITED_IN_WORDS.match(text)
    number = int(named["number"]) if named else 0
    if named is None or number not in numbers:
        return text
    rest = text[named.end() :]
    known = marker_numbers(rest)
    said = rest if number in known else with_markers(rest, [f"src_{one}" for one in (*known, number)])
    is_plain = regex.match(r"\p{Ll}+\b", said) is not None  # mRNA and iPhones stay as they are
    return f"{named['bullet']}{said[:1].upper() if is_plain else said[:1]}{said[1:]}"


_CITED_IN_WORDS = regex.compile(
    r"(?P<bullet>\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+)?)(?:"
    r"(?:according to|as (?:noted|stated|described|reported|mentioned|explained|shown) (?:in|by)|per|based on"
    r"|laut|gemäß|según|selon|secondo|segundo|volgens)\s+(?:(?:the|der|la|a|de)\s+)?"
    r"(?:(?:source|quelle|fuente|fonte|bron)\s+|\[)(?P<number>\d{1,2})\]?\s*,\s*"
    r"|(?:source\s+|\[)(?P<number>\d{1,2})\]?(?::|\s+(?:says|states|notes|reports|explains|adds|mentions|confirms)\s+that)"
    r"\s+)(?=\p{L})",
    regex.IGNORECASE,
)


def without_addresses(text: str) -> str:
    """`text` without any address: what it says, to be checked."""
    return _URL.sub("", text)


def _linked_sources(found: regex.Match[str], numbers: dict[str, int]) -> str:
    links = _MARKDOWN_LINK.finditer(found.group())
    known = [numbers.get(canonical_url(link[3].strip("<> "))) or numbers.get(link[2].casefold()) for link in links]
    return "".join(f"[{number}]" for number in known) if all(known) else found.group()


def _label(link: regex.Match[str], numbers: dict[str, int]) -> str:
    is_image, label = bool(link[1]), link[2]
    if is_image:
        return ""
    bare = label.strip("[] ")
    if not parse_markers(f"[{bare}]", Grammar.NUMBER):
        return label
    number = numbers.get(canonical_url(link[3].strip("<> ")))
    return f"[{number or bare}]"


def _known(found: regex.Match[str], known: Collection[str]) -> str:
    address = found["url"].rstrip(".,;:!?*_")
    behind = found["url"][len(address) :]
    return f"{address}{behind}" if canonical_url(address) in known else f"{REMOVED}{behind}"
