"""How common words are, as one compact file: `core/text/frequencies.txt`.

Read from the word lists of the package `wordfreq` (3.1.1), which is not part of the project: install it where this
runs. Its data is under CC BY-SA 4.0 (core/text/frequencies_LICENSE.txt).
"""

from __future__ import annotations

from collections import defaultdict
from math import floor, log10
from pathlib import Path

from core.text.terms import STOPWORDS, stem, words
from tests.tables.languages import LANGUAGES

TARGET = Path(__file__).resolve().parents[2] / "core" / "text" / "frequencies.txt"
LEAST = 4.5  # Zipf's scale: one word in 30,000; what is rarer tells what a text is about as well as any name
STEP = 0.5


def write_frequencies(target: Path = TARGET) -> None:
    """One line a language and class: what is at least as common as it says, and less than the class before it."""
    target.write_text("".join(map(_lines, LANGUAGES)), encoding="utf-8")


def _lines(language: str) -> str:
    """In Zipf's scale: log10 of how often a word comes in 10⁹. Forms with one stem are one word, parts count too."""
    from wordfreq import get_frequency_dict

    stopped = STOPWORDS | {stem(word) for word in STOPWORDS}
    together: dict[str, float] = defaultdict(float)
    for word, frequency in get_frequency_dict(language, "large").items():
        for part in words(word):
            if part[0].isalpha() and part not in stopped:
                together[part] += frequency
    classes: dict[float, list[str]] = defaultdict(list)
    for word, frequency in together.items():
        if (zipf := 9 + log10(frequency)) >= LEAST:
            classes[floor(zipf / STEP) * STEP].append(word)
    return "".join(
        f"{language} {least} {' '.join(sorted(classes[least]))}\n" for least in sorted(classes, reverse=True)
    )
