"""Citation markers: the five grammars of D3 read into one model and written from it.

`[1]`, `[2509.10446v1, page 5]`, `(smith2024quantum)`, a URL in parentheses, and JSON all say the
same: this claim rests on these targets. Markers in code are text, not markers.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.answer import Citation, Verdict
from core.markers import Bracket, Grammar, KeyRef, PageRef, SourceRef, Target, UrlRef, brackets, read_bracket
from core.sentences import code_spans, split_sentences

__all__ = [  # the targets are defined beside their grammars
    "MARKS",
    "CitedClaim",
    "Grammar",
    "KeyRef",
    "Marker",
    "PageRef",
    "SourceRef",
    "Target",
    "UrlRef",
    "keep_markers",
    "parse_claims",
    "parse_json",
    "parse_markers",
    "render_author_years",
    "render_json",
    "render_keys",
    "render_numbers",
    "render_pages",
    "render_urls",
    "strip_markers",
]

MARKS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.SUPPORTED: "✓",
        Verdict.PARTIAL: "◐",
        Verdict.MOVED: "↪",
        Verdict.UNCHECKED: "?",
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
    """The markers of `text` in order, of one grammar or of all; JSON has none (`parse_json`).

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


def _keep_once(text: str, allowed: Allowed, markers: Sequence[Marker]) -> str:
    cuts: list[_Cut] = []
    groups = list(_by_bracket(markers))
    for position, group in enumerate(groups):
        kept = [marker for marker in group if _is_allowed(marker.target, allowed)]
        first = group[0]
        if kept and (len(kept) < len(group) or _is_linked_number(text, first)):
            cuts.append(_Cut(first.start, first.end, _rewritten(text, kept)))
        elif not kept:
            before = groups[position - 1][0].end if position else 0
            after = groups[position + 1][0].start if position + 1 < len(groups) else len(text)
            start, end = _with_joiner(text, first, before, after)
            cuts.append(_Cut(max(start, cuts[-1].end) if cuts else start, end, first.label))
    return _cut(text, cuts)


def _is_linked_number(text: str, marker: Marker) -> bool:
    """`[1](https://…)`: the number is a marker, where the link leads is not known to be the source."""
    return marker.grammar is Grammar.NUMBER and "](" in text[marker.start : marker.end]


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


def _by_bracket(markers: Sequence[Marker]) -> Iterator[list[Marker]]:
    group: list[Marker] = []
    for marker in markers:
        if group and group[0].start != marker.start:
            yield group
            group = []
        group.append(marker)
    if group:
        yield group


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
    left = ""
    cursor = 0
    for cut in cuts:
        left += text[cursor : cut.start]
        cursor = cut.end
        if cut.written:
            left += cut.written
            continue
        following = text[cursor : cursor + 1]
        if not following or following in ".,;:!?)…\r\n。，、；：！？।۔":
            left = left.rstrip(_BLANKS)
        elif following in _BLANKS and (not left or left[-1].isspace() or left[-1] in "(["):
            while cursor < len(text) and text[cursor] in _BLANKS:
                cursor += 1
        if left.endswith("(") and text.startswith(")", cursor):
            left, cursor = left[:-1].rstrip(_BLANKS), cursor + 1
    return left + text[cursor:]


# Writing: one claim in each of the five styles


@dataclass(frozen=True, slots=True)
class CitedClaim:
    """One sentence without markers, and what it rests on: the model behind every style."""

    text: str
    targets: tuple[Target, ...] = ()


def parse_claims(text: str, grammar: Grammar, *, keys: Collection[str] = ()) -> list[CitedClaim]:
    """The asserting sentences of a document in one style, each with its targets in order, each target once."""
    if grammar is Grammar.JSON:
        return _claims_of(parse_json(text))
    claims = []
    for sentence in split_sentences(text):
        if sentence.asserts:
            targets = [marker.target for marker in parse_markers(sentence.text, grammar, keys=keys)]
            plain = strip_markers(sentence.text, grammar, keys=keys)
            claims.append(CitedClaim(plain, tuple(dict.fromkeys(targets))))
    return claims


def render_numbers(text: str, source_ids: Sequence[str], *, verdicts: Sequence[Verdict] = ()) -> str:
    """`Fact [1][2].`, or with a verdict for each id `Fact [1]✓ [2]◐.`"""
    numbers = [source_id.removeprefix("src_") for source_id in source_ids]
    if not verdicts:
        return _place(text, "".join(f"[{number}]" for number in numbers))
    marked = [f"[{number}]{MARKS[verdict]}" for number, verdict in zip(numbers, verdicts, strict=True)]
    return _place(text, " ".join(marked))


def render_pages(text: str, pages: Sequence[PageRef]) -> str:
    """`Fact [2509.10446v1, page 5].`, several in brackets of their own (S000-16)."""
    return _place(text, " ".join(_page_marker(page) for page in pages))


def render_keys(text: str, keys: Sequence[str]) -> str:
    """`Fact (smith2024quantum; doe2020title).` (S001-24)"""
    return _place(text, f"({'; '.join(keys)})" if keys else "")


def render_author_years(text: str, cited: Sequence[str], *, keys: Collection[str]) -> str:
    """`Fact [Smith et al., 2024].`: labels made of the cited keys, with a letter where `keys` has several of a year."""
    labels = [_label(key, keys) for key in cited]
    return _place(text, f"[{'; '.join(labels)}]" if labels else "")


def render_urls(text: str, urls: Sequence[str]) -> str:
    """`Fact (https://a.example) (https://b.example).` (S004-13); what breaks parentheses is percent-encoded."""
    return _place(text, " ".join(f"({_safe_url(url)})" for url in urls))


def render_json(citations: Sequence[Citation]) -> str:
    """A JSON list of `{claim, source_id, quote}`; quotes are null where there are none."""
    rows = [{"claim": entry.claim, "source_id": entry.source_id, "quote": entry.quote} for entry in citations]
    return json.dumps(rows, ensure_ascii=False)


def parse_json(text: str) -> list[Citation]:
    """The citations of a JSON list, or of the list under `citations` of an object; malformed entries are left out.

    A code fence around the JSON is allowed. Text that is no such JSON gives an empty list.
    """
    try:
        value: object = json.loads(_FENCED.sub(r"\1", text.strip()))
    except (ValueError, RecursionError):
        return []
    if isinstance(value, dict):
        value = value.get("citations")
    rows = value if isinstance(value, list) else []
    return [citation for row in rows if (citation := _citation_of(row))]


def _citation_of(row: object) -> Citation | None:
    if not isinstance(row, dict):
        return None
    claim, source, quote = row.get("claim"), row.get("source_id"), row.get("quote")
    number = _SOURCE_ID.fullmatch(str(source)) if isinstance(source, str | int) else None
    if not isinstance(claim, str) or not claim.strip() or number is None:
        return None
    return Citation(claim, f"src_{number[1]}", quote if isinstance(quote, str) and quote else None)


def _claims_of(citations: Sequence[Citation]) -> list[CitedClaim]:
    """Citations of one claim, one behind the other, are one claim with several targets."""
    claims: list[CitedClaim] = []
    for citation in citations:
        target = SourceRef(int(citation.source_id.removeprefix("src_")))
        if claims and claims[-1].text == citation.claim:
            claims[-1] = replace(claims[-1], targets=(*claims[-1].targets, target))
        else:
            claims.append(CitedClaim(citation.claim, (target,)))
    return claims


_FENCED = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.S)
_SOURCE_ID = re.compile(r"\[?(?:src_)?([1-9]\d{0,2})\]?")
_FINAL_STOP = re.compile(r"[ \t]*[.!…。！।۔]+$")
_UNSPACED_END = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]$")


def _place(text: str, markers: str) -> str:
    """Markers before the final stop; behind a closing quote, bracket or question mark they stand at the end."""
    if not markers:
        return text
    stop = _FINAL_STOP.search(text)
    body, end = (text[: stop.start()], stop.group()) if stop else (text, "")
    return f"{body}{'' if _UNSPACED_END.search(body) else ' '}{markers}{end}"


def _page_marker(page: PageRef) -> str:
    pages = f"pages {page.page}-{page.last_page}" if page.last_page else f"page {page.page}"
    return f"[{page.paper_id}, {pages}]"


_KEY_PARTS = re.compile(r"([a-z][a-z'’_-]*?)((?:19|20)\d{2})\w*")


def _label(key: str, keys: Collection[str]) -> str:
    parts = _KEY_PARTS.fullmatch(key)
    if parts is None:
        return key
    alike = sorted(other for other in keys if other.lower().startswith(parts[1] + parts[2]))
    letter = chr(ord("a") + alike.index(key)) if len(alike) > 1 and key in alike[:26] else ""
    return f"{parts[1].capitalize()} et al., {parts[2]}{letter}"


def _safe_url(url: str) -> str:
    url = re.sub(r"\s", "%20", url.strip()).replace("<", "%3C").replace(">", "%3E")
    depth = 0
    for char in url:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            break
    if depth:
        url = url.replace("(", "%28").replace(")", "%29")
    return f"{url[:-1]}%{ord(url[-1]):02X}" if url[-1:] in (".", ",", ";") else url
