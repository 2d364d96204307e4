"""Small bar charts as SVG, drawn without a script. Colours are classes of the style sheet; words stand beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 600, 120  # of the drawing, which the page scales


@dataclass(frozen=True)
class Part:
    """One colour of a chart: `name` is its class in the style sheet, `label` what it stands for."""

    name: str
    label: str


@dataclass(frozen=True)
class Chart:
    """`summary` says in words what can be seen; `top` is the value of the highest bar with its unit."""

    title: str
    summary: str
    top: str
    parts: tuple[Part, ...]
    svg: Markup


def draw_bars(bars: Sequence[Sequence[float]], parts: Sequence[Part], *, summary: str) -> Markup:
    """A bar each, stacked of one value a part, from the bottom; the highest takes all the room."""
    highest = max((sum(bar) for bar in bars), default=0.0)
    step = WIDTH / max(len(bars), 1)
    drawn = []
    for place, bar in enumerate(bars):
        bottom = float(HEIGHT)
        for value, part in zip(bar, parts, strict=True):
            height = HEIGHT * value / highest if highest else 0.0
            bottom -= height
            if height > 0:
                drawn.append(
                    f'<rect class="bar-{part.name}" x="{place * step + 0.1 * step:.2f}" y="{bottom:.2f}" '
                    f'width="{0.8 * step:.2f}" height="{height:.2f}"/>'
                )
    return Markup(  # noqa: S704 -- numbers and our own words, and the summary is escaped
        f'<svg class="bars" role="img" aria-label="{escape(summary)}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'preserveAspectRatio="none"><line x1="0" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/>{"".join(drawn)}</svg>'
    )
