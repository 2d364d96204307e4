"""WordNet's synonym sets with what they are kinds of, as one compact file: `core/evidence/rules/kinship.txt`.

Read from the database files of WordNet 3.0 (Debian: `wordnet-base`), which are not part of the project.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from tests.tables.antonyms import WORDNET

TARGET = Path(__file__).resolve().parents[2] / "core" / "evidence" / "rules" / "kinship.txt"
PARTS = {"adj": "a", "adv": "r", "noun": "n", "verb": "v"}
_CODES = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # of a sense key, senseidx(5WN)
_KIN = frozenset("+&$\\<=")  # derived from, similar to, verb group, pertains to, participle of, attribute
FIRST_SENSES = 2  # of verbs: kept even if no text that WordNet's makers tagged has them
Key = tuple[str, str]  # part of speech and offset


def write_kinship(wordnet: Path = WORDNET, target: Path = TARGET) -> int:
    """One line a set: `parents|kin word word …`, lines by number in base 36. Returns the number of lines."""
    words = _used_words(wordnet)
    parents, kin = _pointers(wordnet)
    keys = sorted(words)
    number = {key: _base36(at) for at, key in enumerate(keys)}
    lines = []
    for key in keys:
        above = sorted({number[one] for start in parents[key] for one in _nearest(start, parents, number)})
        beside = sorted(number[one] for one in kin[key] if one in number and one > key)
        lines.append(" ".join([",".join(above) + "|" + ",".join(beside), *sorted(words[key])]))
    target.write_text("\n".join(lines) + "\n", encoding="ascii")
    return len(lines)


def _used_words(wordnet: Path) -> dict[Key, set[str]]:
    """Single words in the senses that occur in tagged texts, or are a verb's first."""
    tagged: Counter[tuple[str, str, int]] = Counter()
    for line in (wordnet / "cntlist.rev").read_text(encoding="ascii").splitlines():
        key, sense, count = line.split()
        word, _, rest = key.partition("%")
        tagged[word, _CODES[rest[0]], int(sense)] += int(count)
    words: dict[Key, set[str]] = defaultdict(set)
    for part, code in PARTS.items():
        for line in (wordnet / f"index.{part}").read_text(encoding="ascii").splitlines():
            word, _, count, *rest = line.split() if not line.startswith(" ") else ("", "", "0")
            for sense, offset in enumerate(rest[-int(count) :] if word.isalpha() else [], start=1):
                if tagged[word, code, sense] or (code == "v" and sense <= FIRST_SENSES):
                    words[code, offset].add(word)
    return words


def _pointers(wordnet: Path) -> tuple[dict[Key, set[Key]], dict[Key, set[Key]]]:
    """For each set what it is a kind of, and what is of its kin. The format is wndb(5WN)."""
    parents: dict[Key, set[Key]] = defaultdict(set)
    kin: dict[Key, set[Key]] = defaultdict(set)
    for part, code in PARTS.items():
        for line in (wordnet / f"data.{part}").read_text(encoding="ascii").splitlines():
            if line.startswith(" "):
                continue
            fields = line.split(" | ")[0].split()
            first = 5 + 2 * int(fields[3], 16)
            for at in range(first, first + 4 * int(fields[first - 1]), 4):
                other = (fields[at + 2].replace("s", "a"), fields[at + 1])
                if fields[at] in ("@", "@i"):
                    parents[code, fields[0]].add(other)
                elif fields[at] in _KIN:
                    kin[code, fields[0]].add(other)
                    kin[other].add((code, fields[0]))
    return parents, kin


def _nearest(key: Key, parents: dict[Key, set[Key]], kept: dict[Key, str]) -> set[Key]:
    """The set itself if it is kept, else what it is a kind of."""
    return {key} if key in kept else {one for above in parents[key] for one in _nearest(above, parents, kept)}


def _base36(value: int) -> str:
    digits = ""
    while value or not digits:
        value, rest = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits
