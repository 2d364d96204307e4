"""Text of models and of the web as safe HTML: Markdown for layout only, links only to the sources below.

No link, image or HTML of the text survives: where it wants to send a reader is not for it to say.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

import nh3
import regex
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from core.answer import Verdict
from core.citations import MARKS
from core.render import one_line, printable
from core.wording import MARK_MEANINGS

_TAGS = {"p", "br", "em", "strong", "del", "ul", "ol", "li", "blockquote", "pre", "code", "hr"} | {
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "linkify": False})
    .enable(["table", "strikethrough"])
    .disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "lheading"])
)
_MEANINGS = {MARKS[verdict]: MARK_MEANINGS[verdict] for verdict in Verdict}
_CITED = regex.compile(
    rf"(?P<code><code>.*?</code>)|\[(?P<numbers>\d{{1,3}}(?:, ?\d{{1,3}})*)\](?P<mark>[{''.join(_MEANINGS)}])?",
    regex.DOTALL,
)


def prose(text: str, source_numbers: Collection[int]) -> Markup:
    """Markdown as HTML in which `[1]✓` links to the source with that number, if there is one."""
    html = nh3.clean(_MARKDOWN.render(printable(text)), tags=_TAGS, attributes={"ol": {"start"}}, link_rel=None)
    known = set(source_numbers)
    return Markup(_CITED.sub(lambda found: _citation(found, known), html))  # noqa: S704 -- cleaned by nh3 just above


def safe_link(url: str) -> str:
    """`url` when it is http or https, names a host and hides no user name in front of it; else ""."""
    try:
        parts = urlsplit(one_line(url))
    except ValueError:
        return ""
    is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    return one_line(url) if is_plain else ""


def _citation(found: regex.Match[str], known: set[int]) -> str:
    if found["code"]:
        return found.group()
    numbers = [int(number) for number in found["numbers"].split(",")]
    if not known.issuperset(numbers):
        return found.group()
    links = ",&nbsp;".join(f'<a href="#src-{number}" aria-label="Source {number}">{number}</a>' for number in numbers)
    mark = found["mark"]
    said = f'<span class="mark" title="{escape(_MEANINGS[mark])}">{mark}</span>' if mark else ""
    return f'<span class="cite">[{links}]{said}</span>'
