"""No text makes a reader slow: whatever is repeated, four times the text takes about four times the time.

Processor time of this thread, so that a busy machine changes nothing. Every short string of the grammars' alphabet runs
in the slow test; a sample, and what once was slow, runs always.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import random
import time
from collections.abc import Iterator

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
SAMPLE = 50
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
