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
_PREFIXES = frozenset({"un", "non"})  # others make too many words that are no opposites (invaluable, discharge)
MIN_BARE = 4  # letters of a root that a prefix may deny


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    """Of each stem the stems that say the opposite."""
    table: dict[str, set[str]] = {}
    listed = files(__package__).joinpath("antonyms.txt").read_text(encoding="ascii")
    groups = [line.split("/") for line in rows("opposites")]
    groups += [[word, " ".join(others)] for word, *others in map(str.split, listed.splitlines())]
    for left, right in groups:
        ones, others = {stem(word) for word in left.split()}, {stem(word) for word in right.split()}
        for base in ones:
            table.setdefault(base, set()).update(others - {base})
        for base in others:
            table.setdefault(base, set()).update(ones - {base})
    return {base: frozenset(others) for base, others in table.items()}


@lru_cache(maxsize=65536)
def are_opposite(left: str, right: str) -> bool:
    """Whether two stems are opposites: listed, or one denies the other by a prefix; never words of one meaning."""
    left, right = _WRITTEN.get(left, left), _WRITTEN.get(right, right)
    if left == right:
        return False
    return _are_contrary(_positive(left), _positive(right)) and not set(meanings(left)) & set(meanings(right))


def _are_contrary(left: str, right: str) -> bool:
    if right in _table().get(left, ()) or _are_rival_degrees(left, right):
        return True
    short, long = sorted((left, right), key=len)
    if not long.startswith(tuple(_PREFIXES)):
        return False
    bare, whole = root(short), root(long)
    return len(bare) >= MIN_BARE and whole.endswith(bare) and whole.removesuffix(bare) in _PREFIXES


def _positive(base: str) -> str:
    """`rar` for rarer and rarest, where only that is listed."""
    bare = next((base.removesuffix(end) for end in ("er", "est") if base.endswith(end)), base)
    return bare if base not in _table() and bare in _table() else base


def _are_rival_degrees(left: str, right: str) -> bool:
    """Hyperactive and underactive."""
    for one, other in ((left, right), (right, left)):
        for high in _DEGREES[0]:
            if one.startswith(high) and other in {low + one.removeprefix(high) for low in _DEGREES[1]}:
                return True
    return False


@lru_cache(maxsize=1)
def _kinship() -> tuple[dict[str, frozenset[int]], tuple[frozenset[int], ...]]:
    """Of each stem the synonym sets that it or a word derived from it is in; of each set what it is a kind of."""
    own: dict[str, set[int]] = {}
    above: list[frozenset[int]] = []
    beside: dict[int, set[int]] = {}
    lines = files(__package__).joinpath("kinship.txt").read_text(encoding="ascii").splitlines()
    for place, line in enumerate(lines):
        links, *words = line.split(" ")
        parents, _, kin = links.partition("|")
        above.append(frozenset(int(one, 36) for one in parents.split(",") if one))
        for other in (int(one, 36) for one in kin.split(",") if one):
            beside.setdefault(place, set()).add(other)
            beside.setdefault(other, set()).add(place)
        for word in words:
            own.setdefault(stem(word), set()).add(place)
    senses = {base: frozenset(places.union(*(beside.get(one, ()) for one in places))) for base, places in own.items()}
    return senses, tuple(above)


@lru_cache(maxsize=65536)
def senses(base: str) -> frozenset[int]:
    """WordNet's synonym sets of a stem and of what is derived from it; none for a word that it lacks."""
    return _kinship()[0].get(base, frozenset())


@lru_cache(maxsize=65536)
def kinds(base: str) -> frozenset[int]:
    """The synonym sets that the stem's own are kinds of."""
    above = _kinship()[1]
    return frozenset(one for place in senses(base) for one in above[place])
