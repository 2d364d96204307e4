"""Scanned pages read by tesseract, a program of the machine's own: lines with their places, as `lines.py` finds them.

It runs as a child of the parser process, with its limits, and ends with it. Nothing is written to a disk.
"""

from __future__ import annotations

import ctypes
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from adapters.pages.extraction import find_tesseract
from adapters.pages.pdf.lines import CELL_GAP_EM, GUTTER_EM, Cell, Line, ReadPage

if TYPE_CHECKING:
    from PIL import Image

DPI = 300  # what tesseract is trained on (tessdoc, ImproveQuality)
MAX_SIDE_PX = 5_000  # of a scan that is larger than A3
MIN_CONFIDENCE = 30.0  # 0…100; below it stand stains and the letters of drawings
MAX_LANGUAGES = 4  # each costs as much time as the first
_SAME_SIZE = (0.75, 1.3)  # times the usual height of a line; what is between is of that size
_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


@dataclass(frozen=True)
class Word:
    """In points from the page's lower left corner, as it is looked at; `line` names its line."""

    text: str
    line: tuple[int, int, int]
    left: float
    bottom: float
    right: float
    top: float


def ocr_page(document: object, number: int, read: ReadPage, *, until: float) -> ReadPage:
    """A scan with its lines; as it was where tesseract reads nothing before `until`, by the monotonic clock."""
    return replace(
        read, lines=tuple(_lines(ocr_words(document, number, within_s=until - time.monotonic()))), by_ocr=True
    )


def ocr_words(document: object, number: int, *, within_s: float) -> list[Word]:
    """The words of page `number`, from 0, in reading order. Raises `OSError`, `subprocess.SubprocessError`."""
    with closing(document[number]) as page:  # type: ignore[index]
        width, height = page.get_size()
        scale = min(DPI / 72, MAX_SIDE_PX / max(width, height, 1.0))
        picture = page.render(scale=scale, may_draw_forms=False, grayscale=True).to_pil().convert("L")
    return list(_words(_read(picture, round(scale * 72), within_s), scale, height))


def _read(picture: Image.Image, dpi: int, within_s: float) -> str:
    """Tesseract's table of words, one a line."""
    program = find_tesseract()
    if not program or within_s <= 0:
        raise OSError("no tesseract" if not program else "no time")
    pgm = b"P5 %d %d 255\n" % picture.size + picture.tobytes()
    command = [program, "stdin", "stdout", "--dpi", str(dpi), "--psm", "3", "-l", _languages(program), "tsv"]
    return _run(command, pgm, within_s).decode("utf-8", "replace")


def _languages(program: str) -> str:
    """Those that are installed, English first."""
    listed = _run([program, "--list-langs"], b"", 10.0).decode("utf-8", "replace").split("\n")[1:]
    known = [name.strip() for name in listed if name.strip() not in ("", "osd", "equ") and "/" not in name]
    return "+".join(sorted(known, key=lambda name: (name != "eng", name))[:MAX_LANGUAGES]) or "eng"


def _run(command: Sequence[str], given: bytes, within_s: float) -> bytes:
    return subprocess.run(  # noqa: S603 -- a fixed program, asked with fixed words
        command,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=within_s,
        check=True,
        env={"OMP_THREAD_LIMIT": "1", "LC_ALL": "C.UTF-8"},
        preexec_fn=_end_with_parent,  # safe: a parser has one thread
    ).stdout


def _end_with_parent() -> None:
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _words(table: str, scale: float, height: float) -> Iterator[Word]:
    for row in table.splitlines()[1:]:
        fields = row.split("\t")
        if len(fields) != 12 or fields[0] != "5" or float(fields[10]) < MIN_CONFIDENCE or not fields[11].strip():
            continue
        block, paragraph, line = (int(field) for field in fields[2:5])
        left, top, wide, high = (int(field) / scale for field in fields[6:10])
        place = (left, height - top - high, left + wide, height - top)
        yield Word(fields[11].strip(), (block, paragraph, line), *place)


def _lines(words: Sequence[Word]) -> Iterator[Line]:
    """Heights of single lines vary with their letters, so those that are nearly the page's usual one are that."""
    rows = [list(row) for _, row in groupby(words, key=lambda word: word.line)]
    heights = [max(word.top for word in row) - min(word.bottom for word in row) for row in rows]
    usual = statistics.median(heights) if heights else 0.0
    for row, high in zip(rows, heights, strict=True):
        size = usual if _SAME_SIZE[0] * usual <= high <= _SAME_SIZE[1] * usual else high
        for part in _parted(row, GUTTER_EM * size):
            bottom = statistics.median(word.bottom for word in part)
            cells = _cells(part, CELL_GAP_EM * size)
            text = " ".join(word.text for word in part)
            yield Line(text, part[0].left, max(word.right for word in part), bottom, size, cells=cells)


def _parted(row: Sequence[Word], gap: float) -> list[list[Word]]:
    parts: list[list[Word]] = []
    for word in row:
        if not parts or word.left - parts[-1][-1].right > gap:
            parts.append([])
        parts[-1].append(word)
    return parts


def _cells(row: Sequence[Word], gap: float) -> tuple[Cell, ...]:
    parts = _parted(row, gap)
    if len(parts) < 2:
        return ()
    return tuple(Cell(" ".join(word.text for word in part), part[0].left, part[-1].right) for part in parts)
