"""The other two processes of a run, as handles: the outside and the asker, each spoken to in lines of JSON."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from core.model.codec import decode, encode
from core.model.errors import StoreError

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
_ENDS_WITHIN_S = 15.0


class PeerDied(Exception):
    """A process of the benchmark ended too early (why is on standard error), or said what nobody asked for."""


class Peer:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def tell(self, value: object, *, word: str = "") -> None:
        self._write(f"{word} {encode(value)}".strip())

    def say(self, word: str) -> None:
        self._write(word)

    def hear(self, expected: type[T]) -> T:
        """The next line. Raises `PeerDied`."""
        line = self._process.stdout.readline()
        if not line:
            raise PeerDied(f"{self._process.args!r} ended with {self._process.wait()}")
        try:
            return decode(line, expected)
        except StoreError as exc:
            raise PeerDied(f"{self._process.args!r} said {line[:200]!r}") from exc

    def end(self) -> None:
        """Ask it to end, without waiting."""
        self._process.stdin.close()

    def _write(self, line: str) -> None:
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


@contextmanager
def started(module: str) -> Iterator[Peer]:
    """`python -m module`, ended on exit."""
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    peer = Peer(process)
    try:
        yield peer
    finally:
        peer.end()
        try:
            process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
