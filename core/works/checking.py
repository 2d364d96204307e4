"""A reference against what registries say: does it exist, does it match its record, does it still stand.

Nothing is called invented: a registry that does not know a work says no more than that, and books and reports stand in
few of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

import regex
from rapidfuzz import fuzz

from core.evidence.judge import Ruling
from core.model.works import WorkRecord
from core.works.reading import Reference, words_in, years_in
from core.works.registry import Looked, Works

SAME_TITLE = 90.0  # of 100: token by token in any order; below this one word in eight is another
OTHER_TITLE = 80.0  # below this the id is of another work; between the two the title differs
SAME_WORD = 75.0  # a plural, a typing error; below this another word stands in its place
MIN_CONTAINED_WORDS = 4  # of a title that stands in a reference in prose, or is the other's beginning
SAME_VENUE = 70.0
MAX_ACRONYM_CHARS, MAX_ACRONYM_WORDS = 10, 8
MAX_YEARS_OF_VERSIONS = 3  # between a preprint and its journal version
WITHIN_S = 60.0  # for one look-up: registries let callers wait for their turn
MAX_ASKED_CHARS = 300  # of an entry that is looked for by all its words
_MIN_AUTHORS = 0.5  # of the names given, that the record has as well
_TAG = regex.compile(r"<[^<>]{0,100}>")
_WORD = regex.compile(r"[\p{L}\p{N}]+")
_PREPRINT = regex.compile(r"\barxiv\b|\bbiorxiv\b|\bmedrxiv\b|\bssrn\b|\bpreprint\b|\bcorr\b", regex.IGNORECASE)
_SMALL = frozenset("a an and at by for from in of on or the to with de der die das des du et für la le les und".split())

Part = Literal["title", "authors", "year", "venue", "id"]


class RefStand(StrEnum):
    """What the registries say of a reference."""

    MATCHES = "matches"
    DIFFERS = "differs"
    OTHER_WORK = "other work"  # its id is that of another work
    NOT_FOUND = "not found"
    UNLISTED = "unlisted"  # not found, and of a kind that they list few of
    UNKNOWN = "unknown"  # none of them answered


@dataclass(frozen=True)
class PartDiffers:
    """What the reference says, and what its record says in its place."""

    part: Part
    given: str
    known: str


@dataclass(frozen=True)
class JudgedUse:
    """A sentence that cites the work. `ruling` is None where it was not judged; `basis` is what of it was read."""

    sentence: str
    ruling: Ruling | None = None
    basis: Literal["", "abstract", "full text"] = ""
    reason: str = ""

    @property
    def is_doubtful(self) -> bool:
        """An abstract leaves out most of what a work says, so that its silence tells nothing."""
        is_silent = self.ruling is Ruling.UNSUPPORTED and self.basis == "full text"
        return is_silent or self.ruling is Ruling.CONTRADICTED


@dataclass(frozen=True)
class CheckedReference:
    """`record` is the work meant, None where none was found; `holder` the other work that has the id given.

    `asked` are the registries that answered, `failed` those that did not, with why. `same_as` is the number of an
    earlier entry for the same work, 0 for none.
    """

    reference: Reference
    stand: RefStand
    record: WorkRecord | None = None
    holder: WorkRecord | None = None
    differences: tuple[PartDiffers, ...] = ()
    asked: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    same_as: int = 0
    uses: tuple[JudgedUse, ...] = ()

    @property
    def is_retracted(self) -> bool:
        """Whether the work meant was; of another one that has its id this is told, and not held against it."""
        return self.record is not None and self.record.is_retracted

    @property
    def known(self) -> WorkRecord | None:
        """What was found by it: the work meant, else the one that has its id."""
        return self.record or self.holder

    @property
    def needs_a_look(self) -> bool:
        """Whether somebody should look at it again before it is cited."""
        is_noted = self.known is not None and bool(self.known.notices)
        is_unsaid = any(use.is_doubtful for use in self.uses)
        return self.stand is not RefStand.MATCHES or is_noted or is_unsaid or bool(self.same_as)


async def check_reference(reference: Reference, works: Works) -> CheckedReference:
    """Looked up by its ids, and by its title where they lead nowhere or elsewhere."""
    by_ids = await works.by_ids(reference.ids, within_s=WITHIN_S) if not reference.ids.is_none else Looked()
    record = by_ids.record
    if record is not None and is_same_title(reference, record):
        return _compared(reference, record, by_ids)
    by_title = await _by_title(reference, works)
    asked = tuple(dict.fromkeys((*by_ids.answered, *by_title.answered)))
    failed = tuple(dict.fromkeys((*by_ids.failed, *by_title.failed)))
    found = next((one for one in by_title.records if _is_meant(reference, one)), None)
    if found is not None and record is None:
        checked = _compared(reference, found, by_title)
        return replace(checked, asked=asked, failed=failed)
    if record is not None and found is None and similarity(reference, record) >= OTHER_TITLE:
        return _compared(reference, record, by_ids)
    if record is not None:
        differences = _differences(reference, found) if found else ()
        return CheckedReference(reference, RefStand.OTHER_WORK, found, record, differences, asked, failed)
    if failed and not (by_title.answered or by_ids.answered):
        return CheckedReference(reference, RefStand.UNKNOWN, asked=asked, failed=failed)
    stand = RefStand.UNLISTED if reference.looks_unlisted and reference.ids.is_none else RefStand.NOT_FOUND
    return CheckedReference(reference, stand, asked=asked, failed=failed)


def with_doubles(checked: Sequence[CheckedReference]) -> tuple[CheckedReference, ...]:
    """Each entry for a work that stands there already with the number of the first."""
    first: dict[str, int] = {}
    marked = []
    for one in checked:
        name = one.record.ids.name if one.record else ""
        before = first.setdefault(name, one.reference.number) if name else one.reference.number
        marked.append(replace(one, same_as=0 if before == one.reference.number else before))
    return tuple(marked)


async def _by_title(reference: Reference, works: Works) -> Looked:
    """In prose the title is a guess: where that leads nowhere the work is looked for by all words of the entry."""
    looked = Looked()
    if len(_words(reference.title)) >= 2:
        author = _family(reference.authors[0]) if reference.authors else ""
        title = _TAG.sub("", reference.title)
        looked = await works.by_title(title, author=author, year=reference.year, within_s=WITHIN_S)
    if not reference.is_prose or any(_is_meant(reference, one) for one in looked.records):
        return looked
    by_words = await works.by_title(words_in(reference.text)[:MAX_ASKED_CHARS], within_s=WITHIN_S)
    return Looked(
        records=(*looked.records, *by_words.records),
        answered=tuple(dict.fromkeys((*looked.answered, *by_words.answered))),
        failed=tuple(dict.fromkeys((*looked.failed, *by_words.failed))),
    )


def _compared(reference: Reference, record: WorkRecord, looked: Looked) -> CheckedReference:
    differences = _differences(reference, record)
    stand = RefStand.DIFFERS if differences else RefStand.MATCHES
    return CheckedReference(
        reference, stand, record, differences=differences, asked=looked.answered, failed=looked.failed
    )


# What counts as the same


def is_same_title(reference: Reference, record: WorkRecord) -> bool:
    """Also where one of the two lacks the subtitle. An entry that has nothing but an id has no title to differ."""
    if not _words(reference.title) and not reference.is_prose:
        return True
    if reference.is_prose and len(_words(reference.text)) <= MIN_CONTAINED_WORDS:
        return True
    return similarity(reference, record) >= SAME_TITLE


def similarity(reference: Reference, record: WorkRecord) -> float:
    """0…100 of the titles; of a reference in prose how far it holds the record's title."""
    known, given = _words(record.title), _words(reference.title)
    if not known:
        return 0.0
    if reference.is_prose and len(known) >= MIN_CONTAINED_WORDS:
        written = _words(reference.text)
        within = fuzz.partial_ratio(" ".join(known), " ".join(written))
        if within >= SAME_TITLE and not _lacks_word(known, written):
            return within
    shorter = min(len(known), len(given))
    if shorter >= MIN_CONTAINED_WORDS and known[:shorter] == given[:shorter]:
        return 100.0  # one of them lacks the subtitle
    if "".join(known) == "".join(given):
        return 100.0
    near = fuzz.token_sort_ratio(" ".join(given), " ".join(known))
    is_replaced = _lacks_word(known, given) and _lacks_word(given, known)
    return min(near, SAME_TITLE - 1) if is_replaced else near


def _lacks_word(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one that tells something has nothing near it among the others: "cold" where they say "heat"."""
    joined = "".join(others)
    missing = [word for word in words if word not in _SMALL and word not in others and word not in joined]
    return any(max((fuzz.ratio(word, other) for other in others), default=0.0) < SAME_WORD for word in missing)


def _is_meant(reference: Reference, record: WorkRecord) -> bool:
    """A work of such a title that one of its authors, or its year where nobody names any, speaks for.

    A title of few words is given twice by chance, so that it takes an author.
    """
    if similarity(reference, record) < SAME_TITLE:
        return False
    share = _shared_authors(reference, record)
    if share is not None and share > 0:
        return True
    is_telling = len(_words(record.title)) >= MIN_CONTAINED_WORDS + 1
    return is_telling and (share is None or reference.year in ("", record.year))


def _differences(reference: Reference, record: WorkRecord) -> tuple[PartDiffers, ...]:
    found: list[PartDiffers] = []
    if reference.title and similarity(reference, record) < SAME_TITLE:
        found.append(PartDiffers("title", reference.title, record.title))
    share = _shared_authors(reference, record)
    if share is not None and share < _MIN_AUTHORS:
        found.append(PartDiffers("authors", _named(reference.authors), _named(record.authors)))
    if _year_differs(reference, record):
        found.append(PartDiffers("year", reference.year, record.year))
    if _venue_differs(reference, record):
        found.append(PartDiffers("venue", reference.venue, record.venue))
    ids = reference.ids
    if ids.doi and record.ids.doi and ids.doi not in {one.doi for one in record.all_ids}:
        found.append(PartDiffers("id", ids.doi, record.ids.doi))
    return tuple(found)


def _shared_authors(reference: Reference, record: WorkRecord) -> float | None:
    """0…1 of the family names given that the record has; None where one of the two names nobody.

    In prose names are guessed from capitals, so that there one of the record's is enough.
    """
    if not reference.authors or not record.authors:
        return None
    known = {_fold(_family(name)) for name in record.authors}
    if reference.is_prose:
        words = known.union(*(name.split() for name in known))
        return 1.0 if words.intersection(map(_fold, reference.authors)) else 0.0
    given = [_fold(_family(name)) for name in reference.authors]
    words = {word for name in record.authors for word in _words(name)}
    shared = [name for name in given if name in known or set(name.split()) <= words]
    return len(shared) / len(given)


def _year_differs(reference: Reference, record: WorkRecord) -> bool:
    """Not where another version of the work, or another registry, has the year given."""
    if not reference.year or not record.year or reference.year in (record.year, *record.years):
        return False
    if reference.is_prose and record.year in years_in(reference.text):
        return False
    has_versions = bool(record.versions or record.ids.arxiv or reference.ids.arxiv)
    is_near = abs(int(reference.year) - int(record.year)) <= MAX_YEARS_OF_VERSIONS
    return not (has_versions and is_near)


def _venue_differs(reference: Reference, record: WorkRecord) -> bool:
    """Of prose nobody can tell it well enough; a preprint's is none."""
    given, known = reference.venue, record.venue
    if not given or not known or reference.is_prose or _PREPRINT.search(given) or _PREPRINT.search(known):
        return False
    one, other = _telling(given), _telling(known)
    shorter, longer = sorted((one, other), key=len)
    if not shorter or _abbreviates(shorter, longer) or _abbreviates(longer, shorter) or set(shorter) <= set(longer):
        return False
    if any(len(word) <= MAX_ACRONYM_CHARS and _is_acronym(word, longer[:MAX_ACRONYM_WORDS]) for word in shorter):
        return False
    return fuzz.token_set_ratio(" ".join(one), " ".join(other)) < SAME_VENUE


def _abbreviates(short: Sequence[str], full: Sequence[str]) -> bool:
    """`j am chem soc` of `journal american chemical society`: each word begins one of the other's, in order."""
    place = 0
    for word in short:
        while place < len(full) and not _shortens(word, full[place]):
            place += 1
        if place == len(full):
            return False
        place += 1
    return True


def _is_acronym(word: str, full: Sequence[str]) -> bool:
    """`pnas` and `neurips`: the beginnings of words in their order, two at least."""
    if not word:
        return True
    return any(
        word.startswith(other[:size]) and _is_acronym(word[size:], full[place + 1 :])
        for place, other in enumerate(full)
        for size in range(1, min(len(other) - 1, len(word), 4) + 1)
    )


def _shortens(word: str, full: str) -> bool:
    """`natl` of `national`: the first letter, and the others in their order."""
    letters = iter(full)
    return word[0] == full[0] and all(letter in letters for letter in word)


def _telling(text: str) -> list[str]:
    return [word for word in _words(text) if word not in _SMALL]


def _words(text: str) -> list[str]:
    return _WORD.findall(_fold(_TAG.sub(" ", text)))


def _fold(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold().replace("ß", "ss").replace("ø", "o").replace("ł", "l"))
    return " ".join(_WORD.findall("".join(char for char in decomposed if not unicodedata.combining(char))))


def _family(name: str) -> str:
    """`Moore` of `Moore, Ann`, `Ann Moore` and `Moore A`."""
    if "," in name:
        return name.partition(",")[0]
    words = name.split()
    while len(words) > 1 and regex.fullmatch(r"(?:\p{Lu}\.?-?){1,3}", words[-1]):
        words.pop()
    return words[-1] if words else ""


def _named(names: Sequence[str]) -> str:
    return "; ".join([*names[:3], *(["…"] if len(names) > 3 else [])])
