"""How much a word tells, by how common it is in its language; from a table that `make tables` writes.

Made of wordfreq's lists (`frequencies.txt`, licence beside it): stems of core/terms.py in classes of Zipf's scale,
log10 of how often a word comes in 10⁹.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_RARE = 4.0  # Zipf's scale: where a word that the table does not have may stand at most
_EVERYWHERE = 7.0  # one word in a hundred
_LEAST = 0.1  # nothing that was asked counts for nothing


def rarity(term: str, language: str) -> float:
    """0.01…1 for a stem as `core.terms.terms` gives it: 1 for a rare word, and where a language has no table.

    The square of how far it stands from what is everywhere: one name tells more than three adverbs.
    """
    zipf = _zipf(language).get(term, _RARE)
    return max(_LEAST, (_EVERYWHERE - zipf) / (_EVERYWHERE - _RARE)) ** 2


@cache
def _zipf(language: str) -> dict[str, float]:
    lines = (line.split() for line in _table().splitlines() if line.startswith(f"{language} "))
    return {word: float(least) for _, least, *words in lines for word in words}


@cache
def _table() -> str:
    return files(__package__).joinpath("frequencies.txt").read_text(encoding="utf-8")
