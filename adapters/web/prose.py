"""Text of models and of the web as safe HTML: Markdown for layout only, links only to the sources' own pages here.

No link, image or HTML of the text survives: where it wants to send a reader is not for it to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
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

# Code as HTML in which a style sheet alone makes the colours: comments, strings, numbers, and words of the language


# Comments, strings, numbers, words of the language and calls; as spans they would weigh three times as much.
TAGS = {"c": "i", "s": "em", "n": "var", "k": "b", "f": "u"}
MAX_CHARS = 50_000  # of one block; a longer one stays plain

_WORDS = frozenset(
    """False None True and as assert async await break case class const continue def default del do elif else enum
    except export extends false finally fn for foreach from func function global go if impl implements import in
    instanceof interface is lambda let loop match mod mut namespace new nil nonlocal not null of or package pass private
    protected pub public raise require return select self static struct super switch then this throw throws trait true
    try type typeof undefined unsafe use using val var void volatile where while with yield""".split()
)
_SQL_WORDS = frozenset(
    """select from where insert into values update set delete create table index view drop alter join left right inner
    outer on group by order having limit offset union all distinct as and or not null primary key references with
    returning begin commit rollback if exists""".split()
)
_SHELL_WORDS = frozenset("if then else elif fi for in do done while case esac function export local return".split())
_COMMENTS: Mapping[str, str] = {
    "hash": r"\#[^\n]*",
    "slashes": r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)",
    "dashes": r"--[^\n]*",
}
_STYLES = {"sql": "dashes", "lua": "dashes", "haskell": "dashes"} | dict.fromkeys(
    """javascript typescript java c cpp csharp go rust kotlin swift scala php css dart jsx tsx""".split(), "slashes"
)
_PROSE = frozenset({"markdown", "md", "text", "txt", "plain", "html", "xml", "console", "output"})
_QUOTES = "\"'`"
_LONG_STRINGS = r'"""(?s:.*?)(?:"""|\Z)|\'\'\'(?s:.*?)(?:\'\'\'|\Z)'
_REST = r"(?P<n>\b\d[\w.]*+)|(?P<w>\b[A-Za-z_]\w*+\b)(?P<call>\s*+\()?"


def highlighted(code: str, language: str) -> Markup:
    """`code` escaped, its tokens in elements of `TAGS`."""
    name = language.casefold()
    if name in _PROSE or len(code) > MAX_CHARS:
        return escape(code)
    pieces: list[Markup] = []
    end = 0
    for token in _tokens(code, _STYLES.get(name, "hash")):
        kind = _kind(token, name)
        text = token.group(kind if kind in "csn" else "w") if kind else ""
        if text:
            pieces += [escape(code[end : token.start()]), Markup("<{0}>{1}</{0}>").format(TAGS[kind], text)]
            end = token.start() + len(text)
    return Markup("").join([*pieces, escape(code[end:])])


def _tokens(code: str, style: str) -> Iterator[regex.Match[str]]:
    """In order. A quotation mark that nothing closes on its line is none, nor are those of its kind behind it there."""
    position, unclosed = 0, ""
    while token := _pattern(style, unclosed).search(code, position):
        position = token.end()
        if token["open"]:
            position, unclosed = token.start() + 1, unclosed + code[token.start()]
            continue
        if "\n" in token.group():
            unclosed = ""
        yield token


@lru_cache
def _pattern(style: str, unclosed: str) -> regex.Pattern[str]:
    """Groups are named after `TAGS`; `open` is a string that does not end on its line, after which that end matches."""
    quotes = [quote for quote in _QUOTES if quote not in unclosed]
    closed = [rf"{quote}(?:\\.|[^{quote}\\\n])*+{quote}" for quote in quotes]
    opened = [rf"{quote}(?:\\.|[^{quote}\\\n])*+" for quote in quotes]
    strings = "|".join([_LONG_STRINGS, *closed])
    line_end = r"|\n" if unclosed else ""
    opened_or_never = "|".join(opened) or "(?!)"
    return regex.compile(rf"(?P<c>{_COMMENTS[style]})|(?P<s>{strings})|(?P<open>{opened_or_never})|{_REST}{line_end}")


def _kind(token: regex.Match[str], language: str) -> str:
    for kind in "csn":
        if token[kind]:
            return kind
    word = token["w"]
    if not word:
        return ""
    words = {"sql": _SQL_WORDS, "bash": _SHELL_WORDS}.get(language, _WORDS)
    if (word.casefold() if language == "sql" else word) in words:
        return "k"
    return "f" if token["call"] and language != "bash" else ""


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
