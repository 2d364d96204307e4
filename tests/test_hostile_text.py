"""No text makes a reader slow: whatever is repeated, four times the text takes about four times the time.

Processor time of this thread, so that a busy machine changes nothing. Every short string of the grammars' alphabet runs
in the slow test; a sample, and what once was slow, runs always.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import random
import time
from collections.abc import Iterable, Iterator

import pytest

from tests.readers_of_text import READERS, Reader

ALPHABET = (
    *"[]()<>{}1aB \n`*-|\"':/&#.,~_\\@!?",
    "http://",
)  # fmt: skip
SHORT, LONG = 4_000, 16_000  # characters
FLOOR_S = 0.003  # less is noise
MAX_RATIO = 6.0
TRIES = 4  # a collection of garbage or a cold cache happens once; slowness happens each time
DRAWN = 2_000
ALONE, PAIRS, DEALT = 6, 4, 5  # of a sample: letters alone, pairs, and how long what the alphabet is dealt into is
SHARE = 250  # of all strings, a reader, in the slow test
EXHAUSTIVE = "GORKD_TEST_EXHAUSTIVE" in os.environ  # hours on two cores
_number = itertools.count()


def seconds(read: Reader, unit: str, chars: int) -> float:
    """Processor time for `unit` repeated to `chars`, with a number behind it so that no cache knows the text."""
    text = f"{(unit * (chars // len(unit) + 1))[:chars]} {next(_number)}"
    gc.disable()  # a collection looks at the whole heap, at whoever's turn it comes
    try:
        begin = time.thread_time()
        with contextlib.suppress(Exception):  # refusing a text is for each reader's own tests
            read(text)
        return time.thread_time() - begin
    finally:
        gc.enable()


def ratio(read: Reader, unit: str) -> float:
    """How many times longer four times the text takes, the least of a few tries; below `FLOOR_S` nothing counts."""
    least = float("inf")
    for _ in range(TRIES):
        long = seconds(read, unit, LONG)
        if long < MAX_RATIO * FLOOR_S:
            return long / FLOOR_S
        least = min(least, long / max(seconds(read, unit, SHORT), FLOOR_S))
        if least < MAX_RATIO:
            break
    return least


def necklaces(length: int) -> Iterator[str]:
    """All strings of so many letters of the alphabet; of those that repeat to the same text but for its edges one."""
    for letters in itertools.product(ALPHABET, repeat=length):
        if all(letters <= letters[turn:] + letters[:turn] for turn in range(1, length)):
            yield "".join(letters)


def drawn(count: int, *, seed: int) -> list[str]:
    """Strings of four to six letters."""
    rng = random.Random(seed)
    return ["".join(rng.choices(ALPHABET, k=rng.randint(4, 6))) for _ in range(count)]


def slow_units(read: Reader, units: Iterable[str]) -> dict[str, float]:
    """The strings that make the reader slow, with their ratios; it stops at the fifth."""
    found: dict[str, float] = {}
    for unit in units:
        if (times := ratio(read, unit)) >= MAX_RATIO:
            found[unit] = round(times, 1)
            if len(found) == 5:
                break
    return found


TWOS = list(necklaces(2))


@pytest.mark.parametrize("name", READERS)
def test_a_sample_of_short_strings_makes_no_reader_slow(name: str) -> None:
    """Some letters alone, some pairs of the slow test, and every letter once within five."""
    rng = random.Random(name)
    letters = rng.sample(ALPHABET, len(ALPHABET))
    dealt = ["".join(letters[start : start + DEALT]) for start in range(0, len(letters), DEALT)]

    assert slow_units(READERS[name], [*letters[:ALONE], *rng.sample(TWOS, PAIRS), *dealt]) == {}


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", READERS)
def test_no_short_string_makes_a_reader_slow(name: str) -> None:
    """All strings of two and three letters, and 2,000 of four to six: hours, so a share of them unless asked for."""
    units = [*TWOS, *necklaces(3), *drawn(DRAWN, seed=4)]
    if not EXHAUSTIVE:
        units = random.Random(f"share {name}").sample(units, SHARE)

    assert slow_units(READERS[name], units) == {}


OFFENDERS = [
    ("parse_markers", "[a]("),
    ("strip_markers", "[a]("),
    ("keep_markers", "[a]("),
    ("strip_markers", "(http://"),
    ("find_conflicts", "[a]("),
    ("without_foreign_links", "(http://"),
    ("without_foreign_links", "-."),
    ("strip_markers", "(([1]))"),
    ("Slack Markdown", "\n \n"),
    ("Slack Markdown", " \n"),
    ("question of Slack", "<http://"),
    ("web prose", "- a"),
    ("web prose", "- a\n"),
    ("web prose", "\n#"),
    ("preview of Slack", "<http://"),
    ("preview of Discord", "["),
    ("read_words", ","),
    ("read_words", "!"),
    ("published_of", ".\n"),
    ("read_rulings", "{"),
    ("extract_html", "(\\"),
    ("a file of text", " "),
    ("as_prose", "\\cite["),
    ("as_prose of a command", "cite"),
    ("split_sentences in prose", "`"),
    ("a watched page", "`"),
    ("list of references", "'\nhttp://]"),
    ("printed list of references", "10.1234/"),
    ("printed list of references", "10.1234/a. 1"),
    ("text with references", "[1] "),
    ("without_markers", "["),
    ("without_markers", "\\cite{"),
    ("bibtex_names", " "),
    ("with_keys before prose", " "),
    ("a paragraph of a PDF", "word "),
    *(
        ("split_passages", unit)
        for unit in ("\n", " \n", " ", "\f", "a\n\n", "- a\n", "# a\n", "|", "`", "a. ", "\n\n\n   ")
    ),
]


@pytest.mark.parametrize(("name", "unit"), OFFENDERS)
def test_what_was_slow_once_reads_100_kb_in_a_second(name: str, unit: str) -> None:
    """`[a](` took 25 s, `(http://` 6.4 s, `- a` 1.5 s."""
    assert any(seconds(READERS[name], unit, 100_000) < 1.0 for _ in range(2))
