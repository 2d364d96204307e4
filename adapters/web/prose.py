"""Text of models and of the web as safe HTML: Markdown for layout only, links only to the sources' own pages here.

No link, image or HTML of the text survives: where it wants to send a reader is not for it to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import nh3
import regex
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markupsafe import Markup, escape

from adapters.web.code import TAGS, highlighted
from core.answer import Claim, Verdict
from core.presentation.render import marks_legend, one_line, printable

_TAGS = {"span", "p", "br", "em", "strong", "del", "ul", "ol", "li", "blockquote", "pre", "code", "hr"} | {
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", *TAGS.values(),
}  # fmt: skip


def _coloured(code: str, language: str, _: str) -> str:
    return f"<pre><code>{highlighted(code, language)}</code></pre>"


_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "linkify": False, "highlight": _coloured})
    .enable(["table", "strikethrough"])
    .disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "lheading"])
)


def _stars_only(state: StateInline, silent: bool) -> bool:
    """Emphasis by `*` alone: `__init__` is a name far more often than it is a shout."""
    return state.src[state.pos] != "_" and emphasis.tokenize(state, silent)


_MARKDOWN.inline.ruler.at("emphasis", _stars_only)
_ATTRIBUTES = {"ol": {"start"}, "span": {"class"}}  # spans are our own: HTML of the text is escaped before
_MEANINGS = marks_legend(list(Verdict))
_TAG = "\ue000{}\ue001"  # private use: means nothing in any text, and nothing in Markdown
_BETWEEN_CELLS = r"(?P<cell>(?<=\s)\|(?=\s))"
_CITED = regex.compile(
    rf"(?P<code><code>.*?</code>)|{_BETWEEN_CELLS}|\[(?P<numbers>\d{{1,3}}(?:, ?\d{{1,3}})*)\]"
    rf"(?P<mark>[{''.join(_MEANINGS)}])?"
    r"(?:\ue000(?P<claim>[a-z]+-\d+)\ue001)?",
    regex.DOTALL,
)


@dataclass(frozen=True)
class Target:
    """Where a citation leads, and what is told of it when one points at it."""

    address: str
    hint: str


_CELL = '<span class="cell">|</span>'  # between cells of a table, in a row that is quoted outside its table
_MARKED = regex.compile(rf"`(?P<code>[^`\n]+)`|{_BETWEEN_CELLS}")

MAX_LINES = 2_000  # read as Markdown, at 50 µs each; no answer has more, and what stands beyond is shown as written

Cite = Callable[[int, str], Target | None]


def claim_tag(claim: Claim) -> str:
    """What `prose` knows a claim by; stands behind the mark of its citations (`marked_section`)."""
    return _TAG.format(claim.id)


def prose(text: str, cite: Cite) -> Markup:
    """Markdown as HTML in which `[1]✓` leads where `cite(1, claim id or "")` says, if anywhere."""
    lines = printable(text).split("\n", MAX_LINES)
    beyond = f"<pre>{escape(lines.pop())}</pre>" if len(lines) > MAX_LINES else ""
    html = nh3.clean(_MARKDOWN.render("\n".join(lines)) + beyond, tags=_TAGS, attributes=_ATTRIBUTES, link_rel=None)
    html = _CITED.sub(lambda found: _citation(found, cite), html)
    return Markup(regex.sub(r"\ue000[a-z]+-\d+\ue001", "", html))  # noqa: S704 -- cleaned by nh3 just above


def quoted(text: str) -> Markup:
    """A passage word for word: what it has in backticks as code, and where cells of a table meet."""
    return Markup(_MARKED.sub(_marked, str(escape(text))))  # noqa: S704 -- escaped, and only our own elements added


def safe_link(url: str) -> str:
    """`url` when it is http or https, names a host and hides no user name in front of it; else ""."""
    try:
        parts = urlsplit(one_line(url))
    except ValueError:
        return ""
    is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    return one_line(url) if is_plain else ""


def _marked(found: regex.Match[str]) -> str:
    return _CELL if found["cell"] else f"<code>{found['code']}</code>"


def _citation(found: regex.Match[str], cite: Cite) -> str:
    if found["code"]:
        return found.group()
    if found["cell"]:
        return _CELL
    numbers = [int(number) for number in found["numbers"].split(",")]
    targets = [(number, cite(number, found["claim"] or "")) for number in numbers]
    links = [_link(number, target) for number, target in targets if target]
    if len(links) < len(numbers):
        return found.group()
    mark = found["mark"]
    said = f'<span class="mark" title="{escape(_MEANINGS[mark])}">{mark}</span>' if mark else ""
    return f'<span class="cite">[{",&nbsp;".join(links)}]{said}</span>'


def _link(number: int, target: Target) -> str:
    hint = f' title="{escape(target.hint)}"' if target.hint else ""
    return f'<a href="{escape(target.address)}" aria-label="Source {number}"{hint}>{number}</a>'
