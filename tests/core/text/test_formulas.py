"""LaTeX as plain text, and money, code and what a source has as it stands."""

from __future__ import annotations

import pytest

from core.text.formulas import plain_formulas


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        (r"With $g \approx 9.81\ \text{m/s}^2$ at $t = 2\,\text{s}$.", "With g ≈ 9.81 m/s² at t = 2 s."),
        (r"$$s = \frac{1}{2} g t^{2}$$ [1]", "s = ½ g t² [1]"),
        (r"\[x_1 = \frac{-b + \sqrt{b^2 - 4ac}}{2a}\]", "x₁ = (-b + √(b² - 4ac))/(2a)"),
        (
            r"$x_{1,2} = \frac{a}{b \cdot c}$, $\Delta H^\circ < 0$ and $\Delta \approx 2$.",
            "x₁,₂ = a/(b · c), ΔH° < 0 and Δ ≈ 2.",
        ),
        (r"At $\frac{9.81\,\text{m}}{\text{s}^2}$.", "At 9.81 m/s²."),
        (r"$$RR = \frac{p_2}{p_1}$$", "RR = p₂/p₁"),
        (r"It is \(E = mc^2\), at $45^\circ$ and $\leq 5\%$.", "It is E = mc², at 45° and ≤ 5%."),
        (r"$x // y = \lfloor x / y \rfloor$, and $\lceil 3.2 \rceil \in A$.", "x // y = ⌊ x / y ⌋, and ⌈ 3.2 ⌉ ∈ A."),
        ("The value of $g$ in H$_2$O.", "The value of g in H₂O."),
        ("It rose by $0.42$ mmHg ($p < 0.05$), not $-1,200$.", "It rose by 0.42 mmHg (p < 0.05), not -1,200."),
    ],
    ids=[
        "inline",
        "a line of its own",
        "brackets",
        "below the line",
        "units",
        "a ratio",
        "parentheses and signs",
        "floors",
        "letters",
        "numbers",
    ],
)
def test_a_formula_is_read_as_plain_text(written: str, plain: str) -> None:
    """No chat, page or terminal sets LaTeX."""
    assert plain_formulas(written) == plain


@pytest.mark.parametrize(
    "written",
    [
        "Revenue was $412.6 million, up from $349.7 million.",
        "It costs $5 to $10, or US$5_000$ in all.",
        "It costs <$5, or >$10; $5 <b>or</b> $10, <$10.",
        "$A$AP Rocky and Ke$ha sang.",
        "`$x^2$` is code.",
        r"C:\new\table and \[ without an end",
    ],
    ids=["amounts", "a range", "limits", "names", "code", "a path"],
)
def test_what_is_no_formula_stays(written: str) -> None:
    """Money above all."""
    assert plain_formulas(written) == written


def test_a_formula_of_a_source_stays_as_it_stands_there() -> None:
    """Word for word, it is confirmed."""
    assert plain_formulas("It is $R^2 = 0.9$.", ["We found $R^2 = 0.9$ in all."]) == "It is $R^2 = 0.9$."
