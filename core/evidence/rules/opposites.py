"""How two words stand to each other: opposites ("rises", "falls") and words of one meaning or kind.

From WordNet, licence beside it: its antonyms (`antonyms.txt`, one word a line with its opposites), with a short list
of what it lacks, and its synonym sets (`kinship.txt`, a set a line, numbered in base 36: `kinds|kin word word`).
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from core.evidence.rules.words import meanings, root, rows, stem

_WRITTEN = {"#1th": "first", "#2th": "second"}  # ordinals as tokens have them
_DEGREES = ({"hyper", "over"}, {"hypo", "under"})
_PREFIXES = ("un", "non")  # others make too many words that are no opposites (invaluable, discharge)
MIN_BARE = 4  # letters of a root that a prefix may deny


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    """Of each stem the stems that say the opposite."""
    table: dict[str, set[str]] = {}
    groups = [line.split("/") for line in rows("opposites")]
    groups += [[word, " ".join(others)] for word, others in _antonyms().items()]
    for left, right in groups:
        ones, others = {stem(word) for word in left.split()}, {stem(word) for word in right.split()}
        for base in ones:
            table.setdefault(base, set()).update(others - {base})
        for base in others:
            table.setdefault(base, set()).update(ones - {base})
    return {base: frozenset(others) for base, others in table.items()}


@lru_cache(maxsize=1)
def _antonyms() -> dict[str, list[str]]:
    listed = files(__package__).joinpath("antonyms.txt").read_text(encoding="ascii")
    return {word: others for word, *others in map(str.split, listed.splitlines())}


def opposite_of(lower: str) -> str:
    """Another word that WordNet knows for the opposite, none with a prefix (untune); "" where there is none."""
    return next((other for other in _antonyms().get(lower, ()) if other not in lower and lower not in other), "")


def are_opposite(left: str, right: str) -> bool:
    """Whether two stems are opposites: listed, or one denies the other by a prefix; never words of one meaning."""
    (one, contrary), (other, _) = _contraries(left), _contraries(right)
    if one == other or not (other in contrary or other.startswith(_PREFIXES) or one.startswith(_PREFIXES)):
        return False
    if other not in contrary and not _is_denied(one, other):
        return False
    return set(meanings(_WRITTEN.get(left, left))).isdisjoint(meanings(_WRITTEN.get(right, right)))


@lru_cache(maxsize=65536)
def _contraries(base: str) -> tuple[str, frozenset[str]]:
    """The stem as it is listed, `rar` for rarer and rarest, and its opposites: the listed, and hypo- of hyper-."""
    base = _WRITTEN.get(base, base)
    bare = next((base.removesuffix(end) for end in ("er", "est") if base.endswith(end)), base)
    base = bare if base not in _table() and bare in _table() else base
    rivals = {
        other + base.removeprefix(degree)
        for ones, others in (_DEGREES, _DEGREES[::-1])
        for degree in ones
        for other in others
        if base.startswith(degree)
    }
    return base, _table().get(base, frozenset()) | rivals


def _is_denied(left: str, right: str) -> bool:
    """Whether the longer is the shorter with a prefix that denies it."""
    short, long = sorted((left, right), key=len)
    bare, whole = root(short), root(long)
    return len(bare) >= MIN_BARE and whole.endswith(bare) and whole.removesuffix(bare) in _PREFIXES


@lru_cache(maxsize=1)
def _kinship() -> tuple[dict[str, tuple[int, ...]], dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Of each stem the synonym sets that it is in; of each set what it is a kind of, and those of derived words.

    As tuples: 30,000 sets of Python's are 20 MB.
    """
    own: dict[str, tuple[int, ...]] = {}
    above: dict[int, tuple[int, ...]] = {}
    beside: dict[int, tuple[int, ...]] = {}
    lines = files(__package__).joinpath("kinship.txt").read_text(encoding="ascii").splitlines()
    for place, line in enumerate(lines):
        links, *words = line.split(" ")
        parents, _, kin = links.partition("|")
        if parents:
            above[place] = tuple(int(one, 36) for one in parents.split(","))
        for other in (int(one, 36) for one in kin.split(",") if one):
            beside[place] = (*beside.get(place, ()), other)
            beside[other] = (*beside.get(other, ()), place)
        for word in words:
            base = stem(word)
            own[base] = (*own.get(base, ()), place)
    return own, above, beside


@lru_cache(maxsize=65536)
def senses(base: str) -> frozenset[int]:
    """WordNet's synonym sets of a stem and of what is derived from it; none for a word that it lacks."""
    own, _, beside = _kinship()
    places = own.get(base, ())
    return frozenset(places).union(*(beside.get(one, ()) for one in places))


@lru_cache(maxsize=65536)
def kinds(base: str) -> frozenset[int]:
    """The synonym sets that the stem's own are kinds of."""
    above = _kinship()[1]
    return frozenset(one for place in senses(base) for one in above.get(place, ()))
