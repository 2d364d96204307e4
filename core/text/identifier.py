"""How likely a text is in each of some ninety languages: py3langid's model, in a sixth of its room.

The model is an automaton over the bytes of UTF-8, whose states tell which n-grams have just been read, and the
logarithm of how likely each n-gram is in each language. Most of both says the same again and again: runs of 16 of the
automaton's moves are kept once each, and of the logarithms those that are not the least of their language.
"""

from __future__ import annotations

import lzma
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any
from zipfile import ZipFile

import numpy as np
import py3langid
from numpy.lib import format as npy
from numpy.typing import NDArray

_MOVES, _RUN = 256, 16  # of a row, one for each byte; and of those that are kept together
_ODD = 0x9E3779B97F4A7C15  # whose powers weigh the moves of a run: 2**64 over the golden ratio
_READ_ROWS = 1 << 14  # at a time: as a whole the moves take 39 MB, the logarithms 28


class Identifier:
    """Of the model's languages those that are `wanted`, by their codes."""

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        with TemporaryFile() as unpacked:
            with lzma.open(Path(py3langid.__file__).with_name("data") / "model.npz.xz") as model:
                copyfileobj(model, unpacked, 1 << 20)
            with ZipFile(unpacked) as arrays:
                (codes,), (priors,) = _read(arrays, "classes"), _read(arrays, "pc")
                (rows,), (grams,) = _read(arrays, "nextmove_row"), _read(arrays, "out_feat")  # of each state
                columns = [place for place, code in enumerate(codes.tolist()) if wanted(code)]
                self._codes: list[str] = codes[columns].tolist()
                self._priors: NDArray[np.float32] = priors[columns]
                self._rows = array("I", (rows.astype(np.uint32) * (_MOVES // _RUN)).tobytes())
                self._grams = array("i", grams.tobytes())
                self._runs, self._moves = _runs_of(arrays)
                self._table = _Table(arrays, columns, len(codes))

    def shares(self, text: str) -> Mapping[str, float]:
        """By code, 0…1, in all 1; the same for each where the text has nothing that tells."""
        lower = text.lower() if text.isupper() else text
        read = unicodedata.normalize("NFC", lower).encode("utf-8", "surrogatepass")
        counts = self._counts(read)
        scores = self._table.summed(counts) + self._priors if counts else np.zeros(len(self._codes))
        scores /= max(1, len(read)) ** 0.5  # as the model was calibrated: long texts would be too sure
        likely = np.exp(scores - scores.max())
        found: Counter[str] = Counter()  # a language may have a column for each of its scripts
        for code, share in zip(self._codes, (likely / likely.sum()).tolist(), strict=True):
            found[code] += share
        return found

    def _counts(self, read: bytes) -> Counter[int]:
        """How often each n-gram stands there; a state that ends none has -1."""
        rows, runs, moves, grams = self._rows, self._runs, self._moves, self._grams
        found: list[int] = []
        state, add = 0, found.append
        for byte in read:
            state = moves[runs[rows[state] + (byte >> 4)] + (byte & 15)]
            gram = grams[state]
            if gram >= 0:
                add(gram)
        return Counter(found)


def _read(arrays: ZipFile, name: str, width: int = 0) -> Iterator[NDArray[Any]]:
    """An array as it is; or as rows of `width`, at most `_READ_ROWS` at a time."""
    with arrays.open(f"{name}.npy") as stream:
        npy.read_magic(stream)
        _, _, kind = npy.read_array_header_1_0(stream)
        row_bytes = width * kind.itemsize
        while read := stream.read(_READ_ROWS * row_bytes or -1):
            part = np.frombuffer(read, kind)
            yield part.reshape(-1, width) if width else part


def _runs_of(arrays: ZipFile) -> tuple[array[int], array[int]]:
    """Where the run of each place begins among the different ones, and these one after another."""
    sums = np.concatenate([_sums(part) for part in _read(arrays, "nextmove", _RUN)])
    different, places = np.unique(sums, return_inverse=True)
    one_of = np.empty(len(different), np.intp)
    one_of[places] = np.arange(len(places))
    runs = np.empty((len(different), _RUN), np.uint32)
    begin = 0
    for part in _read(arrays, "nextmove", _RUN):
        is_here = (begin <= one_of) & (one_of < begin + len(part))
        runs[is_here] = part[one_of[is_here] - begin]
        begin += len(part)
    return array("I", (places * _RUN).astype(np.uint32).tobytes()), array("I", runs.tobytes())


def _sums(runs: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A number for each, equal for equal ones; for any two others by a chance of one in 10**5."""
    sums = np.zeros(len(runs), np.uint64)
    for place in range(_RUN):
        sums += runs[:, place] * np.uint64(pow(_ODD, place + 1, 1 << 64))
    return sums


class _Table:
    """A row for each n-gram with the logarithm for each language, of which most are the least of their column."""

    def __init__(self, arrays: ZipFile, columns: list[int], width: int) -> None:
        lengths, places = list[NDArray[np.uint8]](), list[NDArray[np.uint8]]()
        values: list[NDArray[np.float16]] = []
        for part in _read(arrays, "ptc", width):
            kept = part.take(columns, axis=1)
            if not values:
                usual = kept.min(axis=0)
            told = np.flatnonzero(kept != usual)
            lengths.append(np.bincount(told // len(columns), minlength=len(kept)).astype(np.uint8))
            places.append((told % len(columns)).astype(np.uint8))
            values.append(kept.ravel()[told])
        self._usual: NDArray[np.float64] = usual.astype(np.float64)
        self._lengths = np.concatenate(lengths)
        self._ends = np.cumsum(self._lengths, dtype=np.int32)
        self._places, self._values = np.concatenate(places), np.concatenate(values)

    def summed(self, counts: Mapping[int, int]) -> NDArray[np.float64]:
        """Of each language the logarithms of the n-grams that were found, weighed by how often."""
        grams = np.fromiter(counts, dtype=np.intp, count=len(counts))
        weights = np.log1p(np.fromiter(counts.values(), dtype=float, count=len(counts)))
        lengths = self._lengths[grams].astype(np.intp)
        ends = lengths.cumsum()
        at = np.arange(ends[-1]) + (self._ends[grams] - ends).repeat(lengths)
        places = self._places[at]
        beyond = weights.repeat(lengths) * (self._values[at] - self._usual[places])
        found = float(weights.sum()) * self._usual
        found += np.bincount(places, beyond, minlength=len(found))
        return found
