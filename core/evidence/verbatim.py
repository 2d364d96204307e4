"""Quotes checked letter by letter: what a quote says must stand in the source as one run.

Compared without regard to case, white space, kind of quotation mark, dash or compatibility form
(NFKC: ligatures, full-width letters), soft hyphens and zero-width characters. Where that finds
nothing, one run at least 85 % alike counts too, if it differs by no more than typing slips, hyphens at
line ends, punctuation and reference marks left out. No number, name, negation or other word may differ.
"""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import regex
from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein, Levenshtein

from core.evidence.rules.words import Kind, Reading, Token, are_opposite, pattern, read, tokenize
from core.text.language import Cue, detect_language, negations
from core.text.sentences import Sentence, kept_by_length, sentences_of

MIN_ALIKE = 85.0  # per cent, rapidfuzz's partial ratio
MIN_QUOTE_CHARS = 8  # a shorter run occurs by chance
MIN_SLIP_CHARS = 5  # letters of a word in which one wrong letter is taken for a typing slip
_SINGLE_QUOTES, _DOUBLE_QUOTES, _DASHES = "‘’‚‛′`´", "“”„‟″«»", "‐‑‒–—―−"
_SAME = {ord(c): "'" for c in _SINGLE_QUOTES} | {ord(c): '"' for c in _DOUBLE_QUOTES} | {ord(c): "-" for c in _DASHES}
_INVISIBLE = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_RUN = regex.compile(r"([!-_a-~]+(?: [!-_a-~]+)*)|.", regex.DOTALL)  # ASCII but the back quote, or one character
_OUTER = " \t\n\"'.,;:…"
_REFERENCE = regex.compile(r"\[[\p{Nd},;–\- ]{1,20}\]")  # [12], [3, 4]

_QUOTATION = regex.compile(r'"([^"]+)"|“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|(?<!\p{L})‘([^‘’]+)’(?!\p{L})')
_LEFT_OUT = regex.compile(r"\[[^\[\]]*\]|\(?(?:\.\s?){3}\)?|…")  # [...], […], [he]
MIN_QUOTED_WORDS = 2  # one word between marks is a term, not what somebody said
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")  # scripts that do not part words


@dataclass(frozen=True)
class _Plain:
    """`text` as compared. From each of `starts` on, a character stands that much further on in the original."""

    text: str
    starts: array[int]
    shifts: array[int]

    def offset(self, at: int) -> int:
        """Where the character stands in the original."""
        return at + self.shifts[bisect_right(self.starts, at) - 1]


@dataclass(frozen=True)
class _Run:
    """Words from `start` to `end`; `slips` are those of which the quote has a letter wrong."""

    start: int
    end: int
    slips: tuple[Token, ...]


def verify_quote(quote: str, content: str) -> tuple[int, int] | None:
    """Where `quote` stands in `content`, as half-open offsets; None if it does not, or not unaltered."""
    wanted = _plain(quote).text.strip(_OUTER)
    if not any(character.isalnum() for character in wanted):
        return None
    plain = _plain_content(content)
    at = _find_whole(wanted, plain.text)
    if at is not None:
        return _original(plain, at, at + len(wanted))
    return _find_alike(wanted, plain, content)


def quotations_in(text: str) -> list[str]:
    """What stands between quotation marks, cut where the quoter left words out; single words left out."""
    found = [next(part for part in match.groups() if part) for match in _QUOTATION.finditer(text)]
    pieces = [piece.strip() for quotation in found for piece in _LEFT_OUT.split(quotation)]
    return [piece for piece in pieces if len(piece.split()) >= MIN_QUOTED_WORDS]


def _plain(text: str) -> _Plain:
    pieces: list[str] = []
    starts, shifts = array("I"), array("q")
    length, shift = 0, None
    for run in _RUN.finditer(text):
        offset, piece = run.start(), run.group()
        if run.lastindex:  # compared as it stands, in lower case: nearly all of an English page
            found: Iterable[str] = (piece.lower(),)
        elif piece in _INVISIBLE:
            continue
        else:
            found = unicodedata.normalize("NFKC", piece.translate(_SAME)).casefold()
        for character in found:
            if character.isspace():
                if not pieces or pieces[-1] == " ":
                    continue
                character = " "  # noqa: PLW2901
            if offset - length != shift:
                shift = offset - length
                starts.append(length)
                shifts.append(shift)
            pieces.append(character)
            length += len(character)
    return _Plain("".join(pieces), starts, shifts)


@kept_by_length
def _plain_content(content: str) -> _Plain:
    return _plain(content)


def _find_whole(wanted: str, text: str) -> int | None:
    """Where `wanted` begins, not inside a word."""
    at = text.find(wanted)
    while at >= 0:
        if not _inside_word(text, at) and not _inside_word(text, at + len(wanted)):
            return at
        at = text.find(wanted, at + 1)
    return None


def _inside_word(text: str, at: int) -> bool:
    if not 0 < at < len(text) or _UNSPACED.match(text[at]) or _UNSPACED.match(text[at - 1]):
        return False
    return text[at - 1].isalnum() and text[at].isalnum()


def _original(plain: _Plain, start: int, end: int) -> tuple[int, int]:
    return plain.offset(start), plain.offset(end - 1) + 1


def _find_alike(wanted: str, plain: _Plain, content: str) -> tuple[int, int] | None:
    if not MIN_QUOTE_CHARS <= len(wanted) <= len(plain.text):
        return None
    found = fuzz.partial_ratio_alignment(wanted, plain.text, score_cutoff=MIN_ALIKE)
    if found is None:
        return None
    slack = len(wanted) // 10 + 2  # the run may be longer than the quote: reference marks, hyphens
    first, last = _whole_words(plain.text, found.dest_start - slack, found.dest_end + slack)
    run = _match_run(wanted, plain.text[first:last])
    if run is None or any(content[plain.offset(first + slip.start)].isupper() for slip in run.slips):
        return None
    start, end = first + run.start, first + run.end
    return _original(plain, start, end) if fuzz.ratio(wanted, plain.text[start:end]) >= MIN_ALIKE else None


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    start, end = max(0, start), min(len(text), end)
    while _inside_word(text, start):
        start -= 1
    while _inside_word(text, end):
        end += 1
    return start, end


def _match_run(quote: str, text: str) -> _Run | None:
    """The run of `text` that says what `quote` says, word for word; None where any word differs."""
    if not _REFERENCE.search(quote):  # reference marks may be left out, though not changed
        text = _REFERENCE.sub(lambda match: " " * len(match.group()), text)
    left, right = tokenize(quote), tokenize(text)
    changes = list(Levenshtein.opcodes([word.text for word in left], [word.text for word in right]))
    while changes and changes[0].tag == "insert":
        changes.pop(0)
    while changes and changes[-1].tag == "insert":
        changes.pop()
    if not changes:
        return None
    slips: list[Token] = []
    for is_same, group in groupby(changes, key=lambda change: change.tag == "equal"):
        run = list(group)
        ours, theirs = left[run[0].src_start : run[-1].src_end], right[run[0].dest_start : run[-1].dest_end]
        if is_same or _is_joined(ours, theirs):
            continue
        if not _is_slip(ours, theirs):
            return None
        slips.extend(theirs)
    return _Run(right[changes[0].dest_start].start, right[changes[-1].dest_end - 1].end, tuple(slips))


def _is_joined(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """The same letters, parted otherwise: a hyphen at a line's end."""
    return "".join(word.text for word in ours) == "".join(word.text for word in theirs) and not _has_number(ours)


def _is_slip(ours: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """One word of which one letter is wrong, missing or in another's place; another form of a word is no slip."""
    if len(ours) != 1 or len(theirs) != 1 or _has_number((*ours, *theirs)) or ours[0].stem == theirs[0].stem:
        return False
    left, right = ours[0].text, theirs[0].text
    if are_opposite(ours[0].stem, theirs[0].stem) or min(len(left), len(right)) < MIN_SLIP_CHARS:
        return False
    return DamerauLevenshtein.distance(left, right) == 1


def _has_number(words: Sequence[Token]) -> bool:
    return any(word.kind is Kind.NUMBER for word in words)


_STOPS = " .!:;…。．।"  # at a sentence's end, which may be written otherwise
_WRAPPING = " \t\n*_|>#"
_ASIDE = regex.compile(r" ?\([^()]{1,200}\)| ?\[[^\[\]]{1,60}\]|, (?:who|which|where|whose) [^,;:.()]{3,200},")
_TAIL = regex.compile(r", (?:which|who|where|whose|along with|as well as) [^.;:()]{3,300}$")
MAX_PLACES = 40  # of the claim's beginning in the source that are looked at
ANCHOR_CHARS = 24


def find_verbatim(claim: str, content: str, *, before: str = "") -> tuple[int, int] | None:
    """Where the claim stands word for word in `content` and means there what it means here; None where it does not.

    Whole sentences, list items or table rows, compared as `verify_quote` compares; a connective or list number before
    them and the last stop may differ, a parenthesis or ", which …" may be left out where it limits nothing. `before`
    is the sentence shown before the claim: whom a "he" of the claim means, the source must mean too.
    """
    wanted = _bare(claim)
    if not any(character.isalnum() for character in wanted):
        return None
    plain = _plain_content(content)
    at = plain.text.find(wanted[:ANCHOR_CHARS])
    for _ in range(MAX_PLACES):
        if at < 0:
            break
        span = _whole_sentences(wanted, content, plain, at)
        is_meant = span is not None and not find_frame(content, *span, claim)
        if span is not None and is_meant and (not points_back(claim) or _speaks_of(before, content, span[0])):
            return span
        at = plain.text.find(wanted[:ANCHOR_CHARS], at + 1)
    return None


@kept_by_length  # a sentence is looked for in every source
def _bare(text: str) -> str:
    """As compared: without bullet, connective, outer marks and the last stop."""
    return _plain(text[start_of(text) :]).text.strip(_WRAPPING).rstrip(_STOPS + "*_|")


def _whole_sentences(wanted: str, content: str, plain: _Plain, at: int) -> tuple[int, int] | None:
    """The sentences that begin at `at` of the plain text and say `wanted`, no more and no less."""
    first = sentence_place(content, plain.offset(at))
    sentences = sentences_of(content)
    begin = sentences[first].start + start_of(sentences[first].text)
    if not 0 <= plain.offset(at) - begin <= len(_WRAPPING) or _plain(content[begin : plain.offset(at)]).text.strip(
        _WRAPPING
    ):
        return None
    text = ""
    for sentence in sentences[first:]:
        text = content[begin : sentence.end]
        said = _bare(text)
        if said == wanted:
            return begin, sentence.end
        if len(said) > len(wanted):
            break
    return (begin, sentences[first].end) if _says_less(wanted, content[begin : sentences[first].end]) else None


def _says_less(wanted: str, sentence: str) -> bool:
    """Whether only asides were left out of the sentence, none of which limits or denies it."""
    if detect_language(sentence) != "en":
        return False
    without = _ASIDE.sub(lambda aside: "" if aside.group()[0] != "," else " ", sentence)
    for text in (without, _TAIL.sub("", sentence.rstrip(_STOPS))):
        for shorter in (text, _TAIL.sub("", text.rstrip(_STOPS))):
            if _bare(shorter) == wanted:
                whole = sentence.rstrip(_STOPS)
                left_out = [match.group() for pattern in (_ASIDE, _TAIL) for match in pattern.finditer(whole)]
                return not any(limits(part, "en") for part in left_out)
    return False


def _speaks_of(before: str, content: str, start: int) -> bool:
    """Whether what the source names before `start` is what `before` is about, or is `before` itself."""
    said = _bare(before)
    if not said:
        return False
    earlier = sentences_of(content)[: sentence_place(content, start)][-MAX_ANTECEDENT:]
    for sentence in reversed(earlier):
        if _bare(sentence.text) == said:
            return True
        if points_back(sentence.text):
            continue
        theirs, ours = subject_of(sentence.text), subject_of(before)
        is_asked = before.rstrip().endswith(("?", "？", "؟"))  # of whom somebody asks, the source need not speak
        return bool(ours.content) and not is_asked and all(theirs.match(word) for word in ours.content)
    return False


MAX_ANTECEDENT = 6  # sentences in a row about somebody named in the first


# What a sentence's surroundings make of it

MAX_BACK = 60  # sentences looked back for the heading or the lead of a list
MAX_LEAD_WORDS = 14  # a longer line without a stop is no heading
MAX_QUOTED = 1500  # characters looked back for an open quotation mark
OPENING = regex.compile(
    r"\s*(?:(?:#{1,6}|[-*+•‣◦▪·]|\(?\p{Nd}{1,3}[.)]|\(?[a-z]\)|>)\s+)*[*_]*"
)  # bullet, number, heading mark
_BODY = pattern("body")
_EXPLETIVE = pattern("expletive")
_SAYS = pattern("says")
_TAKES_BACK = pattern("takes_back")


def points_back(text: str) -> bool:
    """Whether a sentence begins with a word for what was named before it: he, this, the company, the second."""
    at = start_of(text)
    points = Cue.BACK.end_at(detect_language(text), text, at) or _BODY.match(text, at)
    return bool(points) and _EXPLETIVE.match(text, at) is None


def behind_lead(text: str) -> str:
    """The sentence without the few words that say when or where it holds: "In 1906, she", "Par temps froid, elle"."""
    return _SET.sub("", text, count=1)


_SET = regex.compile(r"^\p{Lu}\p{Ll}*(?: [\p{Ll}\p{Nd}]+){1,4}, ")


def start_of(text: str) -> int:
    """Where a sentence begins behind bullet, list number and connective."""
    opening = OPENING.match(text)
    at = opening.end() if opening else 0
    end = Cue.CONNECTIVE.end_at(detect_language(text), text, at)
    behind = _BEHIND.match(text, end) if end else None
    return behind.end() if behind else at


_BEHIND = regex.compile(r"[,:.]?\s+")  # what parts a connective from its sentence


def subject_of(text: str) -> Reading:
    """What a sentence is about: a name among its first words, else the first; empty where it points back itself."""
    if points_back(text) or points_back(behind_lead(text)):
        return read("")
    told = _ACCORDING.sub("", text[start_of(text) :], count=1)
    units = [unit for unit in read(told).units if unit[0].kind is not Kind.NUMBER]
    units = units[1:] if units and _DOING.match(told) else units
    named = next((unit for unit in units[:4] if unit[0].kind is Kind.NAME), units[0] if units else ())
    return read(" ".join(word.text for word in named))


_ACCORDING = regex.compile(r"^(?:according to|laut|según|selon|secondo|volgens)\s[^,.;]{1,80},\s*", regex.IGNORECASE)
_DOING = regex.compile(r"\p{Lu}\p{Ll}{2,}ing\s+\p{Nd}")  # "Pooling 22 studies gave": the studies are spoken of


def find_frame(content: str, start: int, end: int, claim: str) -> str:
    """What of the source, above, behind or around `content[start:end]`, keeps it from being said there; "" if nothing.

    Linear in the text. The claim may keep a frame in words of its own: who says it, that it is a myth.
    """
    language = detect_language(claim)
    is_asked = content[start:end].rstrip(" \"'*_)”»").endswith(("?", "？", "؟"))
    if is_asked and not _DID_YOU_KNOW.search(content, max(0, start - 20), end):
        return "the source asks it"
    if Cue.DENIED.first(language, claim) or Cue.SAID.first(language, claim):
        return ""
    if _is_quoted(content, start):
        return QUOTED
    lead = next((lead for lead in leads_above(content, start) if _takes_back(lead, language)), "")
    if lead:
        return f'it stands under "{lead}"'
    behind = sentences_of(content)[bisect_left(_starts(content), end) :]
    following = behind[0].text[:200] if behind else ""
    is_denied = _TAKES_BACK.match(following) or _retorts(following, language)
    return f'the source goes on: "{following}"' if is_denied else ""


_DID_YOU_KNOW = regex.compile(r"\bdid you know\W+that\b", regex.IGNORECASE)


def _retorts(text: str, language: str) -> bool:
    """Whether a sentence says of the one before it that it is not so, and no more: Rubbish. Rating: false."""
    label = _LABEL.match(text)
    cues = (Cue.RETORT, Cue.DENIED, Cue.FRAMING) if label or len(text.split()) <= 2 else (Cue.RETORT,)
    return any(
        (end := cue.end_at(language, text, at)) and _STOPPED.match(text, end)
        for cue in cues
        for at in {0, label.end() if label else 0}
    )


_LABEL = regex.compile(r"\W{0,3}(?:[\p{L}-]+ ){0,2}[\p{L}-]+\W{0,3}:\W+")
_STOPPED = regex.compile(r"\W*$|\s*[.!:,;–—]")
_NUMBERED = regex.compile(r"\W*\p{L}+(?: (?:#|no\.? ?|nr\.? ?|n[°º] ?)?\p{Nd}{1,3})?\W*", regex.IGNORECASE)  # Myth 3.


QUOTED = "the source quotes it"
_FOLLOWING = regex.compile(r"\b(?:the following|as follows|folgendes|ce qui suit|lo siguiente)\W*$", regex.IGNORECASE)


def _takes_back(lead: str, language: str) -> bool:
    """Whether a heading or lead denies, limits or ascribes what stands under it; a question may only deny it."""
    framing = Cue.FRAMING.first(language, lead)
    if lead.endswith("?") and (framing == Cue.CONDITION.first(language, lead) or framing.lower().startswith("exclu")):
        framing = ""  # what to do if it breaks; what a test excludes
    if Cue.DENIED.first(language, lead) or framing:
        return True
    if lead.endswith("?"):
        return False
    is_lead = lead.endswith((":", "：")) or _FOLLOWING.search(lead) is not None
    return (is_lead and _SAYS.search(lead) is not None) or (
        (is_lead or len(lead.split()) <= 5) and limits(lead, language)
    )


def limits(text: str, language: str) -> bool:
    """Whether the words deny, doubt or limit what they belong to."""
    words = {word.lower() for word in regex.findall(r"[\p{L}'’]+", text)}
    return bool(words & negations(language)) or any(cue.first(language, text) for cue in _LIMITING)


_LIMITING = (Cue.ONLY, Cue.LIMIT, Cue.CONDITION, Cue.DENIED, Cue.HEDGE, Cue.SAID)


def _is_quoted(content: str, start: int) -> bool:
    """Whether a quotation mark before it is still open."""
    ended = next(_PARAGRAPH_END.finditer(content, max(0, start - MAX_QUOTED), start), None)
    first = ended.end() if ended else max(start - MAX_QUOTED, 0)
    before = content[first:start]
    if content[start : start + 1] in '"“„«':
        return False
    is_german = "„" in before  # where “ closes
    opened = before.count("„" if is_german else "“") + before.count("«")
    closed = before.count("”") + before.count("»") + (before.count("“") if is_german else 0)
    mark = before.rfind('"')  # to count them would take one for the other behind a quotation that is cut
    ahead, behind = before[:mark][-1:], content[first + mark + 1 : first + mark + 2]
    is_open = mark >= 0 and (not ahead.strip() or ahead in "([—–:") and bool(behind.strip())
    return is_open or opened > closed


_PARAGRAPH_END = regex.compile(r"(?r)(?:\n|[.!?…])\s*\n")  # a quotation that goes on behind it begins again


@kept_by_length
def _starts(content: str) -> tuple[int, ...]:
    return tuple(one.start for one in sentences_of(content))


def sentence_place(content: str, at: int) -> int:
    """Which sentence of `sentences_of(content)` holds the character."""
    return max(0, bisect_right(_starts(content), at) - 1)


def leads_above(content: str, start: int) -> tuple[str, ...]:
    """The lead that ends in a colon, where it leads to this sentence or its list, and the nearest heading."""
    sentences = sentences_of(content)
    at = sentence_place(content, start)
    prefix = content[sentences[at].start : start].strip() if at < len(sentences) else ""
    leads = [prefix] if prefix.endswith((":", "：")) else []
    leads += [before.text for before in sentences[max(0, at - 1) : at] if _NUMBERED.fullmatch(before.text)]
    is_listed = at < len(sentences) and _is_item(sentences[at])
    may_lead = True
    for sentence in reversed(sentences[max(0, at - MAX_BACK) : at]):
        text = sentence.text.strip()
        if text.endswith((":", "：")) or _FOLLOWING.search(text):
            if may_lead:
                leads.append(text)
            if len(text.split()) <= MAX_LEAD_WORDS and (text.startswith("#") or not sentence.asserts):
                break
            may_lead = False
        elif _is_heading(sentence):
            leads.append(text)
            break
        else:
            may_lead = may_lead and is_listed and _is_item(sentence)
    return tuple(leads)


def _is_item(sentence: Sentence) -> bool:
    return sentence.plain != sentence.text


def _is_heading(sentence: Sentence) -> bool:
    text = sentence.text.strip()
    if text.startswith("#"):
        return True
    return (not sentence.asserts and len(text.split()) <= MAX_LEAD_WORDS and text[-1:].isalnum()) or (
        not sentence.asserts and text.endswith("?") and len(text.split()) <= MAX_LEAD_WORDS
    )
