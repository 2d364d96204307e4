"""WordNet's antonyms as one compact file: `core/evidence/rules/antonyms.txt`.

Read from the database files of WordNet 3.0 (Debian: `wordnet-base`), which are not part of the project.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

WORDNET = Path("/usr/share/wordnet")
TARGET = Path(__file__).resolve().parents[2] / "core" / "evidence" / "rules" / "antonyms.txt"
PARTS = ("adj", "adv", "noun", "verb")
Words = dict[tuple[str, str], list[str]]  # the words of each synonym set, by part of speech and offset


def write_antonyms(wordnet: Path = WORDNET, target: Path = TARGET) -> int:
    """One line a word, its opposites behind it; each pair once. Returns the number of lines."""
    words: Words = {}
    pointers: list[tuple[tuple[str, str], tuple[str, str], int, int]] = []
    for part in PARTS:
        for line in (wordnet / f"data.{part}").read_text(encoding="ascii").splitlines():
            if not line.startswith(" "):
                _read_set(part, line.split(" | ")[0].split(), words, pointers)
    opposites: dict[str, set[str]] = defaultdict(set)
    for source, target_set, one, other in pointers:
        pair = sorted((words[source][one], words[target_set][other]))
        if all(word.isalpha() and word.islower() for word in pair) and pair[0] != pair[1]:
            opposites[pair[0]].add(pair[1])
    lines = [" ".join([word, *sorted(others)]) for word, others in sorted(opposites.items())]
    target.write_text("\n".join(lines) + "\n", encoding="ascii")
    return len(lines)


def _read_set(
    part: str, fields: list[str], words: Words, pointers: list[tuple[tuple[str, str], tuple[str, str], int, int]]
) -> None:
    """The format is wndb(5WN): offset, file, type, count (hexadecimal), words, count, pointers."""
    count = int(fields[3], 16)
    key = (part, fields[0])
    words[key] = [word.split("(")[0] for word in fields[4 : 4 + 2 * count : 2]]
    first = 5 + 2 * count
    for at in range(first, first + 4 * int(fields[first - 1]), 4):
        symbol, offset, other_part, places = fields[at : at + 4]
        if symbol == "!":
            name = {"n": "noun", "v": "verb", "r": "adv"}.get(other_part, "adj")
            pointers.append((key, (name, offset), int(places[:2], 16) - 1, int(places[2:], 16) - 1))
