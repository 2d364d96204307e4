"""What a cosine of an embedding model means: measured once per model with texts of our own, kept with its vectors.

The cut-offs of S000, .5 and .6, hold for models whose cosines reach them; for others they are mapped (D27).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.model.ports import EmbeddingModel

# Where a default cut-off lies between what is off the topic and what is on it, 0…1. Tried with MiniLM, and with the
# same vectors moved as those of models whose cosines are all high (docs/evaluation.md).
_PLACES: Mapping[float, float] = {0.5: 0.25, 0.6: 0.75}
_APART = 0.05  # a model whose cosines differ by less tells nothing apart


class DefaultCutoff(float):
    """A cut-off that nobody has set; one that somebody sets is a plain float, and taken literally."""


STAGE_1, STAGE_2 = DefaultCutoff(0.5), DefaultCutoff(0.6)  # S000-06, S000-11


@dataclass(frozen=True)
class Cosines:
    """How near `model` puts texts, −1…1: 99 of 100 pairs `off` one topic are below, of those on one topic nine of ten
    are above `low`, and half are above `usual`.
    """

    model: str
    off: float
    low: float
    usual: float

    @property
    def tells_apart(self) -> bool:
        return self.usual - self.off >= _APART

    def least(self, cutoff: float) -> float:
        """The cosine that a cut-off asks for with this model."""
        is_reached = self.off < STAGE_1 and self.low >= STAGE_2
        if not isinstance(cutoff, DefaultCutoff) or cutoff not in _PLACES or is_reached or not self.tells_apart:
            return cutoff
        return self.off + _PLACES[cutoff] * (self.usual - self.off)


async def measure(embedder: EmbeddingModel) -> Cosines:
    """Raises `ModelError`."""
    pairs = calibration_pairs()
    vectors = np.stack(await embedder.embed([text for pair in pairs for text in pair]))
    likeness = vectors[::2] @ vectors[1::2].T
    on, off = np.diag(likeness), likeness[~np.eye(len(pairs), dtype=bool)]
    return Cosines(
        embedder.name, float(np.quantile(off, 0.99)), float(np.quantile(on, 0.1)), float(np.quantile(on, 0.5))
    )


@cache
def calibration_pairs() -> tuple[tuple[str, str], ...]:
    """Questions, each with a paragraph that is about it."""
    table = tomllib.loads(files(__package__).joinpath("calibration.toml").read_text(encoding="utf-8"))
    return tuple((pair["question"], pair["text"]) for pair in table["pair"])
