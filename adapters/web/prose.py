"""Text of models and of the web as safe HTML: Markdown for layout only, links only to the sources' own pages here.

No link, image or HTML of the text survives: where it wants to send a reader is not for it to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from itertools import pairwise
from urllib.parse import urlsplit

import nh3
import regex
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis
from markupsafe import Markup, escape

from core.evidence.citations import MARKS
from core.model.answer import Claim, Verdict
from core.presentation.card import said_so_far
from core.presentation.render import BEFORE_UNIT, BETWEEN_CELLS, marks_legend, one_line, printable
from core.presentation.snapshot import Snapshot
from core.text.saying import say

_TAGS = {"span", "p", "br", "em", "strong", "del", "ul", "ol", "li", "blockquote", "pre", "code", "hr"} | {
    "h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "linkify": False})
    .enable(["table", "strikethrough"])
    .disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "lheading"])
)


def _stars_only(state: StateInline, silent: bool) -> bool:
    """Emphasis by `*` alone: `__init__` is a name far more often than it is a shout."""
    return state.src[state.pos] != "_" and emphasis.tokenize(state, silent)


_MARKDOWN.inline.ruler.at("emphasis", _stars_only)
_ATTRIBUTES = {"ol": {"start"}, "span": {"class"}}  # spans are our own: HTML of the text is escaped before
_TAG = "\ue000{}\ue001"  # private use: means nothing in any text, and nothing in Markdown
_BETWEEN_CELLS = rf"(?P<cell>{BETWEEN_CELLS})"
_CITED = regex.compile(
    rf"(?P<code><code>.*?</code>)|{_BETWEEN_CELLS}|(?P<unit>{BEFORE_UNIT})|\[(?P<numbers>\d{{1,3}}(?:, ?\d{{1,3}})*)\]"
    rf"(?P<mark>[{''.join(sorted(set(MARKS.values())))}])?"
    r"(?:\ue000(?P<claim>[a-z]+-\d+)\ue001)?",
    regex.DOTALL,
)


@dataclass(frozen=True)
class Target:
    """Where a citation leads, "" for nowhere, and what is told of it when one points at it."""

    address: str
    hint: str


_WIDE = '<div class="scroll" tabindex="0">'  # a table scrolls by itself, and not the page with it
_CELL = '<span class="cell">·</span>'  # between cells of a table, in a row that is quoted outside its table
_BOLD = r"(?<!\*)\*\*(?P<bold>[^\s*`](?:[^*`\n]*[^\s*`])?)\*\*(?!\*)"
_ROW_ENDS = regex.compile(r"^\|\s+|\s+\|$")
_MARKED = regex.compile(rf"`(?P<code>[^`\n]+)`|{_BOLD}|{_BETWEEN_CELLS}")

MAX_LINES = 2_000  # read as Markdown, at 50 µs each; no answer has more, and what stands beyond is shown as written

Cite = Callable[[int, str], Target | None]


def claim_tag(claim: Claim) -> str:
    """What `prose` knows a claim by; stands behind the mark of its citations (`marked_section`)."""
    return _TAG.format(claim.id)


_BEFORE_CITATION = regex.compile(r"(?<![ \n])[ \n]++(?=<span class=\"cite\">)")  # one try a run: linear


def prose(text: str, cite: Cite) -> Markup:
    """Markdown as HTML in which `[1]✓` leads where `cite(1, claim id or "")` says, if anywhere."""
    lines = printable(text).split("\n", MAX_LINES)
    beyond = f"<pre>{escape(lines.pop())}</pre>" if len(lines) > MAX_LINES else ""
    html = nh3.clean(_MARKDOWN.render("\n".join(lines)) + beyond, tags=_TAGS, attributes=_ATTRIBUTES, link_rel=None)
    html = _CITED.sub(lambda found: _citation(found, cite), html)
    html = html.replace("<table>", f"{_WIDE}<table>").replace("</table>", "</table></div>")
    html = _BEFORE_CITATION.sub("\N{NO-BREAK SPACE}", html)  # a number alone on a line is read as the next sentence's
    return Markup(regex.sub(r"\ue000[a-z]+-\d+\ue001", "", html))  # noqa: S704 -- cleaned by nh3 just above


def drawn(snapshot: Snapshot, section: str) -> Markup:
    """A section of an answer as far as it is shown, as it will stand there; its citations lead nowhere yet."""
    return _drawn("".join(text for _, text in said_so_far(snapshot, section)))


class Drawing:
    """A section while it grows, in blocks of Markdown: those that nothing behind them can change stay as drawn."""

    def __init__(self) -> None:
        self._blocks: list[str] = []

    def after(self, snapshot: Snapshot, section: str) -> tuple[int, list[str]]:
        """How many blocks of the last time stay, and what is drawn behind them; all of it joined is `drawn`."""
        text = "".join(text for _, text in said_so_far(snapshot, section))
        kept = at = 0
        for block in self._blocks[:-1]:  # the last one may go on
            if not text.startswith(block, at):
                break
            kept, at = kept + 1, at + len(block)
        if kept:  # a first line that is another now may belong to the block before it
            kept -= 1
            at -= len(self._blocks[kept])
        if text.count("\n") >= MAX_LINES:  # drawn as one
            kept = at = 0
        self._blocks[kept:] = new = _blocks(text[at:])
        return kept, [_drawn(block) for block in new]


def _drawn(text: str) -> Markup:
    return prose(text, lambda *_: Target("", ""))


def _blocks(text: str) -> list[str]:
    """The lines of each block of the highest level, with blank ones around it; `MAX_LINES` and more are one block."""
    if text.count("\n") >= MAX_LINES:
        return [text]
    lines = list(StringIO(text))
    starts = [token.map[0] for token in _MARKDOWN.parse(text) if token.map and token.level == 0]
    return ["".join(lines[start:end]) for start, end in pairwise([0, *starts[1:], len(lines)])]


def quoted(text: str) -> Markup:
    """A passage or a sentence word for word: code in backticks as code, bold words bold, and where cells of a table
    meet; a row without the bars at its edges, also where its end is cut.
    """
    bare = _ROW_ENDS.sub("", text) if text.startswith("| ") else text
    return Markup(_MARKED.sub(_marked, str(escape(bare))))  # noqa: S704 -- escaped, and only our own elements added


def safe_link(url: str) -> str:
    """`url` when it is http or https, names a host and hides no user name in front of it; else ""."""
    try:
        parts = urlsplit(one_line(url))
    except ValueError:
        return ""
    is_plain = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    return one_line(url) if is_plain else ""


def _marked(found: regex.Match[str]) -> str:
    if found["bold"]:
        return f"<strong>{found['bold']}</strong>"
    return _CELL if found["cell"] else f"<code>{found['code']}</code>"


def _citation(found: regex.Match[str], cite: Cite) -> str:
    if found["code"]:
        return found.group()
    if found["cell"]:
        return _CELL
    if found["unit"]:
        return "\N{NO-BREAK SPACE}"
    numbers = [int(number) for number in found["numbers"].split(",")]
    targets = [(number, cite(number, found["claim"] or "")) for number in numbers]
    links = [_link(number, target) for number, target in targets if target]
    if len(links) < len(numbers):
        return found.group()
    mark = found["mark"]
    said = f'<span class="mark" title="{escape(marks_legend(list(Verdict))[mark])}">{mark}</span>' if mark else ""
    return f'<span class="cite">[{",&nbsp;".join(links)}]{said}</span>'


def _link(number: int, target: Target) -> str:
    if not target.address:
        return f"<a>{number}</a>"
    hint = f' title="{escape(target.hint)}"' if target.hint else ""
    name = escape(say("Source {number}", number=number))
    return f'<a href="{escape(target.address)}" aria-label="{name}"{hint}>{number}</a>'
