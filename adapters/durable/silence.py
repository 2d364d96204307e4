"""Which workers have gone silent, by this process's own stopwatch: clocks jump, and those of machines differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Silence:
    """Seconds. `silent_s` without a new beat is silence; `confirm_s` is enough when the last beat also looks so old."""

    silent_s: float
    confirm_s: float
    _seen: dict[str, tuple[datetime, float]] = field(default_factory=dict)  # a worker's last beat, and since when

    def look(self, beats: Mapping[str, datetime], *, clock: datetime, stopwatch: float) -> list[str]:
        """Of the workers whose last beats are `beats` those that are silent. `stopwatch` never jumps."""
        before, self._seen = self._seen, {}
        for name, beat in beats.items():
            last, since = before.get(name, (beat, stopwatch))
            self._seen[name] = (beat, since if last == beat else stopwatch)
        return [name for name, (beat, since) in self._seen.items() if stopwatch - since >= self._needed_s(beat, clock)]

    def begin_anew(self) -> None:
        """Nobody could beat just now, for the store is away: that is no silence."""
        self._seen = {}

    def _needed_s(self, beat: datetime, clock: datetime) -> float:
        return self.confirm_s if (clock - beat).total_seconds() > self.silent_s else self.silent_s
