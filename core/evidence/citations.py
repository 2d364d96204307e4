"""Citation markers: the grammars of D3 read into one model, and taken out of a text again.

`[1]`, `[2509.10446v1, page 5]`, `(smith2024quantum)` and a URL in parentheses all say the same: this claim rests on
these targets. Markers in code are text, not markers. A text that leads nowhere but to the sources is made here: other
addresses, links and tags go.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

import regex

from core.model.answer import Verdict
from core.text.markers import Bracket, Grammar, KeyRef, PageRef, SourceRef, Target, UrlRef, brackets, read_bracket
from core.text.sentences import code_spans
from core.text.urls import canonical_url

MARKS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.SUPPORTED: "✓",
        Verdict.PARTIAL: "◐",
        Verdict.MOVED: "↪",
        Verdict.UNCHECKED: "◐",  # nobody confirmed it
        Verdict.UNSUPPORTED: "✗",  # only ever in lists of what was removed
    }
)  # stand right behind the bracket: [1]✓


_MAX_PASSES = 8  # nested brackets that form new markers are cut as often; no honest text needs more than one

Allowed = Callable[[Target], bool] | Container[object]


@dataclass(frozen=True, slots=True)
class Marker:
    """One target of one bracket: `text[start:end]` is the whole bracket with its mark.

    `[1, 2]` gives two markers with the same span. `written` is the target's own words in the
    bracket, `mark` the verdict mark behind it ("" if none), `label` the text of a Markdown link.
    """

    start: int
    end: int
    target: Target
    grammar: Grammar
    written: str
    mark: str = ""
    label: str = ""

    @property
    def number(self) -> int | None:
        """The source's number; None in the other grammars."""
        return self.target.number if isinstance(self.target, SourceRef) else None


def parse_markers(text: str, grammar: Grammar | None = None, *, keys: Collection[str] = ()) -> list[Marker]:
    """The markers of `text` in order, of one grammar or of all.

    `keys` are the known BibTeX keys; only with them author-year labels (`[Smith et al., 2024]`) are
    markers. What looks like a key or a source number but is unknown is a marker too, so that
    `keep_markers` can take it out.
    """
    code = code_spans(text) if "`" in text or "~~~" in text else []
    starts = [start for start, _ in code]
    markers: list[Marker] = []
    is_after_stop = False
    for bracket in brackets(text):
        place = bisect_right(starts, bracket.start) - 1
        if place >= 0 and bracket.start < code[place][1]:
            continue
        found = read_bracket(bracket, keys)
        if found and (grammar is None or found[0] is grammar):
            if not markers or text[markers[-1].end : bracket.start].strip():
                is_after_stop = _is_after_stop(text, bracket.start)  # else as the bracket before it
            mark = _mark(text, bracket, is_after_stop=is_after_stop)
            end = bracket.end + len(mark)
            label = bracket.label if found[0] is Grammar.URL else ""
            markers += [
                Marker(bracket.start, end, target, found[0], written, mark[:1], label) for target, written in found[1]
            ]
    return markers


def strip_markers(text: str, grammar: Grammar | None = None, *, keys: Collection[str] = ()) -> str:
    """`text` without markers and marks; blanks before punctuation are mended, a link leaves its label."""
    return keep_markers(text, (), grammar, keys=keys)


def keep_markers(text: str, allowed: Allowed, grammar: Grammar | None = None, *, keys: Collection[str] = ()) -> str:
    """`text` with only the markers to `allowed` targets; `[1, 9]` becomes `[1]` where 9 is unknown.

    `allowed` is a predicate or a container of targets, source numbers, keys or URLs. Markers of
    another grammar than the given one stay.
    """
    for _ in range(_MAX_PASSES):
        kept = _keep_once(text, allowed, parse_markers(text, grammar, keys=keys))
        if kept == text:
            return text
        text = kept
    if any(not _is_allowed(marker.target, allowed) for marker in parse_markers(text, grammar, keys=keys)):
        text = re.sub(r"[\[\]【】()]", " ", text)  # nested without end: made to survive, so nothing of it does
    return text


def rewrite_markers(
    text: str, grammar: Grammar, written: Callable[[Sequence[Marker]], str | None], *, keys: Collection[str] = ()
) -> str:
    """`text` with what `written` makes of the markers of each bracket; None leaves the bracket as it is."""
    pieces, end = list[str](), 0
    for group in _by_bracket(parse_markers(text, grammar, keys=keys)):
        if (instead := written(group)) is not None:
            pieces += [text[end : group[0].start], instead]
            end = group[0].end
    return "".join([*pieces, text[end:]])


def _keep_once(text: str, allowed: Allowed, markers: Sequence[Marker]) -> str:
    cuts: list[_Cut] = []
    groups = _by_bracket(markers)
    for position, group in enumerate(groups):
        kept = [marker for marker in group if _is_allowed(marker.target, allowed)]
        first = group[0]
        # `[1](https://…)`: the number is a marker, where the link leads is not known to be the source.
        is_linked = first.grammar is Grammar.NUMBER and "](" in text[first.start : first.end]
        if kept and (len(kept) < len(group) or is_linked):
            cuts.append(_Cut(first.start, first.end, _rewritten(text, kept)))
        elif not kept:
            before = groups[position - 1][0].end if position else 0
            after = groups[position + 1][0].start if position + 1 < len(groups) else len(text)
            start, end = _with_joiner(text, first, before, after)
            cuts.append(_Cut(max(start, cuts[-1].end) if cuts else start, end, first.label))
    return _cut(text, cuts)


def _with_joiner(text: str, marker: Marker, before: int, after: int) -> tuple[int, int]:
    """The marker's span with the comma or `and` that ties it to the marker before it, else to the one behind it."""
    if before and _JOINER.fullmatch(text, before, marker.start):
        return before, marker.end
    if after < len(text) and _JOINER.fullmatch(text, marker.end, after):
        return marker.start, after
    return marker.start, marker.end


def _is_allowed(target: Target, allowed: Allowed) -> bool:
    if callable(allowed):
        return allowed(target)
    match target:
        case SourceRef(number):
            return target in allowed or number in allowed or f"src_{number}" in allowed
        case PageRef(paper_id):
            return target in allowed or paper_id in allowed
        case KeyRef(key):
            return target in allowed or key in allowed
        case UrlRef(url):
            return target in allowed or url in allowed


def _rewritten(text: str, kept: Sequence[Marker]) -> str:
    """The bracket with only some of its targets."""
    first = kept[0]
    separator = ", " if first.grammar is Grammar.NUMBER else "; "
    opening, closing = ("(", ")") if text[first.start] == "(" else ("[", "]")
    return f"{opening}{separator.join(marker.written for marker in kept)}{closing}{first.mark}"


def _by_bracket(markers: Sequence[Marker]) -> list[list[Marker]]:
    return [list(group) for _, group in groupby(markers, key=lambda marker: marker.start)]


# Marks, and mending what is left


_MARK = re.compile(r"[✓◐↪✗]\ufe0f?")
_MARKED = r"(?:[ \t]*[\[(【][^\[\]()【】\n]{1,300}[\])】][✓◐↪✗?]\ufe0f?)"
_QUESTION_MARK_IS_MARK = re.compile(rf"\?(?={_MARKED}{{0,9}}[ \t]*[.!。！।۔…,;:]|{_MARKED}|[ \t]+[a-z])")
_STOPS_BEFORE = '.!?…。！？؟۔।॥"”’»)*_'


def _mark(text: str, bracket: Bracket, *, is_after_stop: bool) -> str:
    """The verdict mark behind a bracket. A `?` that may end a question is taken for punctuation."""
    if mark := _MARK.match(text, bracket.end):
        return mark.group()
    if text.startswith("?", bracket.end) and (is_after_stop or _QUESTION_MARK_IS_MARK.match(text, bracket.end)):
        return "?"
    return ""


def _is_after_stop(text: str, start: int) -> bool:
    """Whether the bracket at `start`, the first of its cluster, stands behind the sentence's stop."""
    before = text[max(0, start - 3) : start].rstrip()
    return bool(before) and before[-1] in _STOPS_BEFORE


@dataclass(frozen=True, slots=True)
class _Cut:
    start: int
    end: int
    written: str


_JOINER = re.compile(r"[ \t]*(?:[,;&]|and)[ \t]*")
_BLANKS = " \t"


def _cut(text: str, cuts: Sequence[_Cut]) -> str:
    """`text` with each cut replaced by what is written instead, and the blanks around mended."""
    left: list[str] = []  # of characters: what stands at its end is taken back, and a string would be copied each time
    cursor = 0
    for cut in cuts:
        left += text[cursor : cut.start]
        cursor = cut.end
        if cut.written:
            left += cut.written
            continue
        following = text[cursor : cursor + 1]
        if not following or following in ".,;:!?)…\r\n。，、；：！？।۔":
            _drop_blanks(left)
        elif following in _BLANKS and (not left or left[-1].isspace() or left[-1] in "(["):
            while cursor < len(text) and text[cursor] in _BLANKS:
                cursor += 1
        if left and left[-1] == "(" and text.startswith(")", cursor):
            left.pop()
            _drop_blanks(left)
            cursor += 1
    return "".join(left) + text[cursor:]


def _drop_blanks(characters: list[str]) -> None:
    """Those at the end."""
    while characters and characters[-1] in _BLANKS:
        characters.pop()


# Text that leads nowhere but to the sources: addresses, Markdown links, images and tags of a model's answer


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
