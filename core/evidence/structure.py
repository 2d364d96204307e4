"""The texts of an answer from its judged sentences: what structures them stands and falls with what it holds (D20).

Headings, leads, table heads, list numbers and a leading yes or no are no claims: each is kept with its first kept
child and gone with its last. Where a sentence was cut, `[…]` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile, zip_longest

import regex

from core.evidence.judge import AskedPair
from core.evidence.rules.words import Kind, read
from core.evidence.verbatim import behind_lead
from core.model.answer import Citation, Claim, Evidence, RemovedSentence, Section, Verdict
from core.text.language import DENIES, Cue, detect_language
from core.text.sentences import Sentence, is_emphasized, split_sentences
from core.text.terms import is_common

CUT = "[…]"
NO_CODE = "no source that was read has this code"
MIN_REPEATED_WORDS = 4  # shorter ones may answer twice, as "Not known." in a table does
MAX_IN_A_ROW = 3  # sentences alike but for their numbers; figures of several years are given as a list
MAX_SENTENCES: Mapping[Section, int] = {"summary": 30, "opening": 10}  # of 120 and of 50 words that are asked for
MAX_BACK = 4  # sentences looked through for the one that names whom they all speak of
RULE = regex.compile(r"[-*_=|:\s]{3,}")  # a line across, or the one below a table's head
ITEM = regex.compile(r"\s*(?:>\s*)*(?P<bullet>[-*+•‣◦▪·]|\(?\d{1,3}[.)])\s+")
_YES_OR_NO = "yes|no|ja|nein|sí|oui|non|sì|sim|não|nee"  # in the languages of the refusals, as all words here
_TIE = regex.compile(r"\s*[,.:;–—-]\s*(?=\S)")  # behind a connective that is no part of its sentence
ANSWER_WORD = regex.compile(rf"\W*(?:{_YES_OR_NO})\W*", regex.IGNORECASE)
_ONE_OF_THEM = (
    regex.compile(  # its subject stands in the sentence before, as that of the pronouns in core/text/cues.txt
        r"\W*(?:both|neither|the (?:second|third|latter|former|other|same)|beide\w*|ambos)\b", regex.IGNORECASE
    )
)


@dataclass(frozen=True)
class Judged:
    """One sentence of a draft. `gap` is the white space before it; `claim` is None for structure.

    `shown` is its text with the citations that hold, None when it must not be shown or is not decided yet. `before` is
    what tells whom it speaks of, `asked` what the judge is to say, `contrary` the passages that say otherwise.
    """

    id: str
    section: Section
    text: str
    gap: str
    claim: Claim | None
    shown: str | None
    before: str = ""
    asked: tuple[AskedPair, ...] = ()
    contrary: tuple[Evidence, ...] = ()

    @property
    def is_cut(self) -> bool:
        return self.claim is not None and self.shown is None

    @property
    def is_item(self) -> bool:
        return ITEM.match(self.text) is not None

    @property
    def is_row(self) -> bool:
        return self.text.lstrip().startswith("|")

    @property
    def is_claimed_row(self) -> bool:
        return self.is_row and self.claim is not None


@dataclass(frozen=True)
class Grounded:
    """A draft after judgement: the two texts that may be shown, and what holds them up."""

    summary: str
    detail: str
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    removed: tuple[RemovedSentence, ...]


def is_answer_word(text: str) -> bool:
    """Whether the text is a yes or a no and nothing else."""
    return ANSWER_WORD.fullmatch(text) is not None


def first_sentence(text: str) -> str:
    """What a text begins with: "Yes." with the sentence that says why."""
    sentences = split_sentences(text)
    at = next((at for at, sentence in enumerate(sentences) if not is_answer_word(sentence.text)), 0)
    return text[sentences[0].start : sentences[at].end] if sentences else ""


def without_bullet(text: str) -> str:
    """A list's item without its bullet or number, which are no part of what is claimed."""
    bullet = ITEM.match(text)
    return text[bullet.end() :] if bullet else text


def as_claimed(text: str) -> str:
    """What a sentence claims: its words without bullet, quotation's mark and emphasis."""
    return _EMPHASIS.sub(r"\1\2", without_bullet(text).lstrip("> "))


# Not __, which names of code have; of italics a label alone, as the title of a book is a name.
_EMPHASIS = regex.compile(r"\*{2,3}(?=\S)(.+?)(?<=\S)\*{2,3}|^\*([^*\s][^*\n]{0,40}:)\*(?=\s)")


def leading_word(text: str) -> str:
    """The "However, " or "Yes, " that a sentence begins with, "" where there is none."""
    tie = _TIE.match(text, Cue.CONNECTIVE.end_at(detect_language(text), text, 0))
    return text[: tie.end()] if tie and tie.start() else ""


def leans(text: str) -> bool:
    """Whether a sentence needs the one before it to be understood."""
    bare = without_bullet(text)
    said = bare[len(leading_word(bare)) :].lstrip(" \t\"'“„«*_(")
    language = detect_language(bare)
    return any(Cue.BACK.end_at(language, one, 0) or _ONE_OF_THEM.match(one) for one in (said, behind_lead(said)))


def said_before(claims: Sequence[Claim]) -> str:
    """The last sentence, behind the one that names whom it speaks of where it leans itself."""
    said: list[str] = []
    for claim in reversed(claims[-MAX_BACK:]):
        said.insert(0, claim.text)
        if not leans(claim.text):
            break
    return " ".join(said)


def leans_on_cut(judged: Judged, earlier: Sequence[Judged]) -> bool:
    """Whether a sentence that is shown speaks of somebody whom only a cut sentence names."""
    if judged.claim is None or judged.shown is None or not judged.before or not leans(judged.claim.text):
        return False
    own = [entry for entry in earlier if entry.section == judged.section and entry.claim is not None]
    return bool(own) and own[-1].is_cut


def is_lead(text: str) -> bool:
    """Whether a line only announces what follows."""
    return text.rstrip(" *_").endswith((":", "："))


def is_repeated(sentence: Sentence, own: Sequence[Judged]) -> bool:
    """Whether a sentence is neither judged nor shown, as small models go round in circles.

    Its section has said it, says it for the third time in a row with other numbers, or has `MAX_SENTENCES` already.
    """
    said = sentence.text.strip()
    if own and len(own) >= MAX_SENTENCES.get(own[0].section, len(own) + 1):
        return True
    if not sentence.asserts or len(said.split()) < MIN_REPEATED_WORDS:
        return False
    if any(entry.text.strip() == said for entry in own):
        return True
    last = own[1 - MAX_IN_A_ROW :]
    moulds = {regex.sub(r"\d[\d.,]*", "0", text.strip()) for text in (said, *(entry.text for entry in last))}
    is_prose = not (ITEM.match(sentence.text) or said.startswith("|"))
    return is_prose and len(last) == MAX_IN_A_ROW - 1 and len(moulds) == 1


def before_of(judged: Sequence[Judged], section: Section, text: str, gap: str) -> str:
    """What tells whom a sentence speaks of: its list's lead, its table's head, else the sentence before it."""
    entry = Judged("", section, text, gap, None, None)
    own = [one for one in judged if one.section == section]
    if entry.is_item or entry.is_row:
        own_lines = (one for one in reversed(own) if "\n" in one.gap or is_lead(one.text) or one is own[0])
        lines = [one for one in own_lines if not (RULE.fullmatch(one.text.strip()) or one.is_claimed_row)]
        outer = next((one for one in lines if not one.is_item), None)
        is_denied = outer is not None and is_lead(outer.text) and DENIES.search(outer.text)
        kin = outer if is_denied else next((one for one in lines if one is outer or _names(one, entry)), None)
        if kin is not None and (is_lead(kin.text) or kin.is_row or kin.is_item):
            return kin.text.strip()
    claims = [one.claim for one in own if one.claim is not None]
    return said_before(claims) if gap.count("\n") < 2 else ""


def joined_detail(judged: Sequence[Judged], *, is_cut_off: bool = False) -> list[Judged]:
    """The sentences with what two calls wrote of the detail as one text: its opening, and behind it the rest.

    A heading or a lead at the opening's end is left out: it would announce what another call has written. Where the
    opening `is_cut_off` in its midst, that place is marked; a list that the rest goes on with is numbered on.
    """
    opening = [entry for entry in judged if entry.section == "opening"]
    own = [entry for at, entry in enumerate(opening) if entry.is_cut or _line(opening, at) is not None]
    rest = numbered_on(own, [entry for entry in judged if entry.section == "detail"])
    if own and rest:
        rest[0] = replace(rest[0], gap="\n" if _goes_on_with(own, rest) else "\n\n")
    if own and is_cut_off and not own[-1].is_cut:
        own.append(Judged("", "detail", CUT, _gap_of_cut(own[-1].text), None, CUT))
    others = [entry for entry in judged if entry.section == "summary"]
    return [*others, *(replace(entry, section="detail") for entry in own), *rest]


def numbered_on(opening: Sequence[Judged], rest: Sequence[Judged]) -> list[Judged]:
    """The rest, its first list numbered on from the one that the opening ends with: one call does not see the other's
    numbers.
    """
    last = next((number for entry in reversed(opening) if (number := _number(entry)) is not None), None)
    first = _number(rest[0]) if rest else None
    if last is None or first is None or first > last or not _goes_on_with(opening, rest):
        return list(rest)
    numbered: list[Judged] = []
    in_list = True
    for entry in rest:
        in_list = in_list and (entry.is_item or "\n" not in entry.gap)
        number = _number(entry) if in_list and _indent(entry) == _indent(rest[0]) else None
        numbered.append(entry if number is None else _renumbered(entry, number + last + 1 - first))
    return numbered


def _goes_on_with(opening: Sequence[Judged], rest: Sequence[Judged]) -> bool:
    """Whether the rest begins with another item of the list that the opening ends with."""
    at = next((at for at in range(len(opening) - 1, -1, -1) if "\n" in opening[at].gap or not at), None)
    last = opening[at] if at is not None else None
    return (
        last is not None and last.is_item and rest[0].is_item and (_number(last) is None) is (_number(rest[0]) is None)
    )


def _number(entry: Judged) -> int | None:
    found = ITEM.match(entry.text)
    digits = found["bullet"].strip("(.)") if found else ""
    return int(digits) if digits.isdigit() else None


def _indent(entry: Judged) -> int:
    return len(entry.gap.rpartition("\n")[2])


def _renumbered(entry: Judged, number: int) -> Judged:
    text, shown = (one and _NUMBER.sub(str(number), one, count=1) for one in (entry.text, entry.shown))
    return replace(entry, text=text or "", shown=shown)


_NUMBER = regex.compile(r"\d{1,3}")


def assemble(judged: Sequence[Judged], *, marks_cuts: bool = True, cut_off: Collection[Section] = ()) -> Grounded:
    """The texts from what may be shown, with the claims, their citations, and what was cut and why.

    `cut_off` are the sections in whose midst the writer ended: that place, where the text ends, is marked as well.
    """
    entries = [untied(entries, at) for entries in [_without_repeats(judged)] for at in range(len(entries))]
    summary, detail = (
        _text([entry for entry in entries if entry.section == section], marks_cuts=marks_cuts)
        for section in ("summary", "detail")
    )
    if "detail" in cut_off and detail:
        detail = _cut_off(detail)
    if summary and ("summary" in cut_off or ("detail" in cut_off and not detail)):
        summary = _cut_off(summary)
    claims = tuple(entry.claim for at, entry in enumerate(entries) if entry.claim and _line(entries, at) is not None)
    citations = tuple(_citation(claim, evidence) for claim in claims for evidence in claim.evidence)
    return Grounded(summary, detail, claims, citations, _removed(entries))


def _citation(claim: Claim, evidence: Evidence) -> Citation:
    return Citation(
        claim=claim.text,
        source_id=evidence.source_id,
        quote=evidence.quote or None,
        verdict=Verdict.MOVED if claim.verdict is Verdict.MOVED else evidence.verdict,
        start=evidence.start if evidence.quote else None,
        end=evidence.end if evidence.quote else None,
        page=evidence.page,
    )


def _removed(entries: Sequence[Judged]) -> tuple[RemovedSentence, ...]:
    """What was cut, each once, and nothing of it that is shown elsewhere."""
    shown = {_same(entry.claim.text) for entry in entries if entry.claim and entry.shown is not None}
    found: dict[str, RemovedSentence] = {}
    for entry in entries:
        if entry.claim and entry.shown is None and (key := _same(entry.claim.text)) not in shown:
            text = " · ".join(filter(None, cells(entry.claim.text))) if entry.is_row else entry.claim.text
            found.setdefault(key, RemovedSentence(_ITALIC.sub(r"\1", text), "; ".join(entry.claim.reasons)))
        elif not entry.claim and entry.shown is None and _is_code(entry):
            lines = [
                line for line in map(str.strip, entry.text.splitlines()) if line and line[:3] not in ("```", "~~~")
            ]
            code = f"{lines[0]} …" if lines[1:] else "".join(lines)
            found.setdefault(entry.text, RemovedSentence(code, NO_CODE))
    return tuple(found.values())


_ITALIC = regex.compile(r"(?<![*\w`])\*(?=\S)([^*`\n]+?)(?<=\S)\*(?![*\w`])")


def _without_repeats(judged: Sequence[Judged]) -> list[Judged]:
    """A claim that is shown twice is shown where it stands first, and counts once; but what is leaned on stays."""
    seen: set[str] = set()
    kept: list[Judged] = []
    for entry, behind in zip_longest(judged, judged[1:]):
        key = _same(entry.claim.text) if entry.claim and entry.shown is not None else ""
        is_leaned_on = (
            behind is not None and behind.section == entry.section and behind.claim and leans(behind.claim.text)
        )
        if key and key in seen and not is_leaned_on:
            continue
        seen.add(key)
        kept.append(entry)
    return kept


def _same(text: str) -> str:
    return regex.sub(r"\W+", " ", text.casefold()).strip()


def untied(entries: Sequence[Judged], at: int) -> Judged:
    """Without the "However," that led back to a sentence that was cut."""
    entry = entries[at]
    before = entries[at - 1] if at and entries[at - 1].section == entry.section else None
    if entry.claim is None or entry.shown is None or before is None or not before.is_cut or "\n" in entry.gap:
        return entry
    word = leading_word(entry.shown)
    if not word or is_answer_word(word):
        return entry
    text, shown, said = (
        rest[:1].upper() + rest[1:]
        for rest in (one.removeprefix(word) for one in (entry.text, entry.shown, entry.claim.text))
    )
    return replace(entry, text=text, shown=shown, claim=replace(entry.claim, text=said))


def _cut_off(text: str) -> str:
    return text if text.endswith(CUT) else f"{text}{_gap_of_cut(text)}{CUT}"


def _gap_of_cut(text: str) -> str:
    return "\n\n" if text.endswith(("```", "~~~", "|")) else " "


def _text(entries: Sequence[Judged], *, marks_cuts: bool) -> str:
    """The shown sentences with their own gaps, and `[…]` for each run of those that were cut where `marks_cuts`."""
    if not any(entry.claim and entry.shown is not None for entry in entries):
        return ""
    return "".join(_pieces(entries, marks_cuts=marks_cuts)).strip()


def lead_in(entries: Sequence[Judged], at: int) -> str:
    """What stands between a sentence and the one that is shown before it: breaks, a heading, a lead, `[…]`."""
    line = _line(entries[: at + 1], at)
    if line is None:  # a lead that nothing follows yet
        return entries[at].gap
    last = max((place for place in range(at) if entries[place].claim and entries[place].shown is not None), default=-1)
    new = "".join(_pieces(entries[: at + 1], marks_cuts=True)[last + 1 :]).removesuffix(line)
    return new if last >= 0 else new.lstrip()


def _pieces(entries: Sequence[Judged], *, marks_cuts: bool) -> list[str]:
    """What stands in the text for each entry, with the gap before it; "" for nothing."""
    pieces: list[str] = []
    lost_break, said = "", ""
    is_marked = False
    for at, entry in enumerate(entries):
        line = _line(entries, at)
        is_wide = lost_break.count("\n") > entry.gap.count("\n") and _indent(entry) < 2  # of a lead that is not shown
        gap = lost_break if is_wide else entry.gap
        if line is not None:
            pieces.append(f"{gap or (' ' if is_marked else '')}{line}")
            lost_break, is_marked, said = "", False, pieces[-1]
            continue
        lost_break = max(gap, lost_break, key=len)
        pieces.append("")
        if not (entry.is_cut or _is_lost(entries, at)):
            is_marked = is_marked or _level(entry) < _OTHER  # with its heading a whole part is gone, and leaves no gap
            continue
        if marks_cuts and entry.is_row and _has_kept_row(entries, at) and _has_head(entries, at):
            row = f"{lost_break}| {CUT} {'| ' * len(cells(entry.text))}".rstrip()
            pieces[-1] = row if row != said else ""
            lost_break, is_marked, said = "", False, row
            continue
        kin = [place for place in _list_around(entries, at) if entries[place].shown is not None]
        item = ITEM.match(entry.text) if kin else None
        is_numbered = item is not None and item["bullet"][-1] in ".)"
        is_told = is_marked if entry.is_cut else said.endswith(CUT)
        if not marks_cuts or entry.is_row or (is_told and not is_numbered):
            continue
        rest = takewhile(lambda entry: "\n" not in entry.gap, entries[at + 1 :])  # of the item that it begins
        if item is None or is_numbered or any(entry.shown is not None for entry in rest):
            pieces[-1] = f"{lost_break or ' '}{item.group() if item else ''}{CUT}"
        else:  # no bullet without words: behind the item before it, or where there is none, or its code ends, by itself
            is_behind = kin[0] < at and not said.endswith(("```", "~~~"))
            pieces[-1] = f"{' ' if is_behind else lost_break}{CUT}"
        lost_break, is_marked, said = "", True, pieces[-1]
    return pieces


def _is_lost(entries: Sequence[Judged], at: int) -> bool:
    """Whether what is not shown is no claim and yet missed: code that no source has, or the number of a list's item."""
    entry = entries[at]
    if entry.claim is not None or entry.is_row:
        return False
    is_numbered = entry.is_item and _number(entry) is not None
    is_kept_list = is_numbered and any(_line(entries, item) is not None for item in _list_around(entries, at))
    return is_kept_list or (entry.shown is None and _is_code(entry))


def _list_around(entries: Sequence[Judged], at: int) -> list[int]:
    """The items of the list that an entry stands in, with whatever stands below them."""
    around = _around(entries, at, lambda one, other: _is_in_list(one) and _is_in_list(other))
    return [place for place in around if entries[place].is_item]


def _is_in_list(entry: Judged) -> bool:
    return entry.is_item or "\n" not in entry.gap or _indent(entry) > 1


def _has_kept_row(entries: Sequence[Judged], at: int) -> bool:
    """Whether another row of the table is shown."""
    around = _around(entries, at, lambda one, other: one.is_row and other.is_row and other.gap.count("\n") < 2)
    return any(entries[place].is_claimed_row and entries[place].shown is not None for place in around)


def _around(entries: Sequence[Judged], at: int, are_one: Callable[[Judged, Judged], bool]) -> range:
    """The places around one of which each and the next are of one thing."""
    first = last = at
    while first and are_one(entries[first - 1], entries[first]):
        first -= 1
    while last + 1 < len(entries) and are_one(entries[last], entries[last + 1]):
        last += 1
    return range(first, last + 1)


def _line(entries: Sequence[Judged], at: int) -> str | None:
    """An entry as it is shown; None where it is not. A table that has lost its head becomes a list."""
    entry = entries[at]
    if entry.text == CUT:
        return CUT
    is_above = entry.claim is None or is_lead(entry.text)
    if entry.shown is None and entry.claim is None:
        return _nameless(entries, at)
    if entry.shown is None or (is_above and not _holds(entries, at)):
        return None
    if entry.claim is not None and entry.is_row and not _has_head(entries, at):
        return "- " + " · ".join(filter(None, cells(entry.shown)))
    return entry.shown


def _nameless(entries: Sequence[Judged], at: int) -> str | None:
    """In the place of a heading that may not be shown: what stands below it is not of the heading above it."""
    level = _level(entries[at])
    if not 0 < level <= _BOLD or not _holds(entries, at):
        return None
    if not any(0 < _level(above) <= _BOLD and above.shown is not None for above in entries[:at]):
        return None
    return f"{'#' * level} {CUT}" if level < _BOLD else f"**{CUT}**"


def _has_head(entries: Sequence[Judged], at: int) -> bool:
    """Whether a head and its rule stand above a row, both shown."""
    while at and entries[at - 1].is_row and entries[at].gap.count("\n") < 2:
        at -= 1
        if entries[at].claim is None and RULE.fullmatch(entries[at].text.strip()):
            return at > 0 and entries[at].shown is not None and entries[at - 1].shown is not None
        if entries[at].claim is None and "\n" in entries[at].text:
            return entries[at].shown is not None  # head and rule as one
    return False


def _holds(entries: Sequence[Judged], at: int) -> bool:
    """Whether something that a piece of structure leads to is shown. Code of a source stands for itself."""
    text = entries[at].text.strip()
    claim = entries[at].claim
    if _is_code(entries[at]) or ("`" in text and not (claim and claim.verdict is Verdict.PARTIAL)):
        return True
    if text.startswith("|") and RULE.fullmatch(text) and (at == 0 or entries[at - 1].shown is None):
        return False
    held = [entries[child] for child in _children(entries, at) if entries[child].shown is not None]
    first = next((entry for entry in held if entry.claim is not None or _is_code(entry)), None)
    denies = entries[at].claim is None and _level(entries[at]) in (_LEAD, _TABLE) and DENIES.search(text)
    return first is not None and (first.before == text or not denies)  # else what it denies was judged without it


def _names(item: Judged, entry: Judged) -> bool:
    """Whether an item that claims nothing stands over an entry: one deeper than it, or a bullet below its number."""
    is_bullet = entry.is_item and _number(entry) is None and _number(item) is not None
    is_over = item.is_item and (item.claim is None or is_lead(item.text))
    return is_over and _indent(entry) + is_bullet > _indent(item)


def _is_code(entry: Judged) -> bool:
    return "```" in entry.text or "~~~" in entry.text


def _children(entries: Sequence[Judged], at: int) -> list[int]:
    """What a heading, a lead, a table's head or an answer word holds."""
    own = _level(entries[at])
    found: list[int] = []
    is_over = any(_names(entries[at], entry) for entry in entries[at + 1 : at + 2])
    for place in range(at + 1, len(entries)):
        entry = entries[place]
        if is_over and "\n" in entry.gap and not _names(entries[at], entry):
            break
        is_within = own == _LEAD and entry.is_item and not entries[at].is_item  # another lead, of an item below this
        if entry.claim is None and 0 < _level(entry) <= own and not (is_within or RULE.fullmatch(entry.text.strip())):
            break
        if own > _BOLD and found and _ends_block(entries[at], entries[found[-1]], entry):
            break
        found.append(place)
    return found


def _ends_block(head: Judged, last: Judged, entry: Judged) -> bool:
    """Whether `entry` no longer belongs to the list, table or paragraph below a lead."""
    if head.is_row:
        return not entry.is_row
    if last.is_item or last.is_row:
        return "\n" in entry.gap and not (entry.is_item or entry.is_row)
    return entry.gap.count("\n") > 1


_BOLD, _LEAD, _TABLE, _OTHER = 7, 8, 9, 10


def _level(entry: Judged) -> int:
    """1…6 for Markdown headings, 7 for an emphasized line, 8 for a lead, 9 for a table's head; 0 for a claim."""
    text = entry.text.strip()
    if entry.claim is not None:
        return _LEAD if is_lead(text) else 0
    if text.startswith("#"):
        return len(text) - len(text.lstrip("#"))
    if is_emphasized(text) or regex.fullmatch(r"(\*\*|__|\*|_)\S.*\1[:：]?", text):
        return _BOLD
    return _LEAD if is_lead(text) else _TABLE if text.startswith("|") else _OTHER


# Tables: a row says nothing without its table's head


def head_of_row(content: str, start: int) -> tuple[int, int]:
    """The half-open span of the head of the table whose row begins at `start`, with its bars; empty if none."""
    at = content.rfind("\n\n", 0, start) + 1
    for line in content[at:start].splitlines(keepends=True):
        if line.lstrip().startswith("|"):
            return at + len(line) - len(line.lstrip()), at + len(line.rstrip())
        at += len(line)
    return start, start


_TICKS = dict.fromkeys("✅✓✔☑", "yes") | dict.fromkeys("❌✗✘✖☒", "no")
_BAR = regex.compile(r"`[^`\n]+`(*SKIP)(*FAIL)|(?<!\\)\|")  # one behind a backslash, or in code, is a cell's own


def cells(row: str) -> list[str]:
    """The cells of a Markdown table's row."""
    return [cell.strip().replace(r"\|", "|") for cell in _BAR.split(row.strip().removeprefix("|").removesuffix("|"))]


def read_row(head: str, row: str) -> str:
    """A row as it is read: each cell behind its column's head; the cells alone where the head has not as many."""
    heads, own = cells(head), cells(row)
    if len(own) > len(heads):
        return ", ".join(filter(None, own))
    own = [_TICKS.get(cell.rstrip("\ufe0f"), cell) for cell in own]
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(heads, own, strict=False) if cell]
    return "; ".join(named)


def as_labels(head: str) -> str:
    """A table's head with its common words in small letters: a "Person: " before a name is no part of the name."""
    return _FIRST_OF_CELL.sub(
        lambda found: (
            found[0].lower()
            if any(word.kind is Kind.FUNCTION or is_common(word.text) for word in read(found[0].lower()).tokens)
            else found[0]
        ),
        head,
    )


_FIRST_OF_CELL = regex.compile(r"(?<=(?:^|\|)[\s*_]*)\p{Lu}\p{Ll}+(?![\w'’-])")


def find_row(head: str, row: str, content: str) -> tuple[int, int] | None:
    """Where a row of a table in `content` has the cells of `row` below the heads that they have in `head`, or more."""
    wanted = dict(zip(_folded(head), _folded(row), strict=False))
    columns: list[str] = []
    at = 0
    for line in content.splitlines(keepends=True):
        if not line.lstrip().startswith("|"):
            columns = []
        elif not columns:
            columns = _folded(line)
        elif wanted and wanted.items() <= dict(zip(columns, _folded(line), strict=False)).items():
            return at + len(line) - len(line.lstrip()), at + len(line.rstrip())
        at += len(line)
    return None


def _folded(row: str) -> list[str]:
    return [" ".join(cell.casefold().split()).strip("*_` ") for cell in cells(row)]
