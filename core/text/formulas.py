r"""LaTeX formulae as plain text: `$g \approx 9.81\ \text{m/s}^2$` is g ≈ 9.81 m/s².

Models write them in answers; no interface here sets them, and a number with `$` before it reads as an amount of money.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

import regex

# Between dollars only where it is one: a single letter, or something that only formulae have; "$5 to $10" is money.
_FORMULA = regex.compile(
    r"\$\$(?P<block>[^$]+)\$\$|\\\[(?P<display>.{1,400}?)\\\]|\\\((?P<inline>.{1,400}?)\\\)"
    r"|(?<=\p{L})\$(?P<index>[_^][^\s$]+)\$|(?<![\\$\p{L}\p{Nd}])\$(?P<dollars>\p{L}|(?=[^$\n]*[\\^_={}])[^\s$](?:[^$\n]*[^\s$])?)\$(?!\p{Nd})",
    regex.DOTALL,
)
_FENCE = "`"  # what stands in code is code
_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_FRACTION = regex.compile(rf"\\[dt]?frac\s*{_GROUP}\s*{_GROUP}")
_HALVES = MappingProxyType({"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾"})  # as pages have them
_ROOT = regex.compile(rf"\\sqrt\s*{_GROUP}")
_WORDS = regex.compile(rf"\\(?:text|mathrm|mathbf|mathit|operatorname|boldsymbol|textbf|textit)\s*{_GROUP}")
_RAISED = regex.compile(r"\^(?:\{([-+]?\p{Nd}+)\}|(\p{Nd}))")
_LOWERED = regex.compile(r"_(?:\{(\p{Nd}+)\}|(\p{Nd}))")
_COMMAND = regex.compile(r"\\(\p{L}+|[,;:!\s%$&_#{}])")
_SUPERSCRIPTS = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SIGNS = MappingProxyType(
    dict(
        pair.split("=", 1)
        for pair in (
            "approx=≈ times=× cdot=· leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ pm=± mp=∓ circ=° degree=° infty=∞ sum=∑ int=∫ "
            "partial=∂ nabla=∇ rightarrow=→ to=→ Rightarrow=⇒ propto=∝ sim=~ equiv=≡ in=∈ ldots=… dots=… cdots=… div=÷ "
            "alpha=α beta=β gamma=γ delta=δ epsilon=ε varepsilon=ε theta=θ lambda=λ mu=μ nu=ν pi=π rho=ρ sigma=σ tau=τ "
            "phi=φ varphi=φ chi=χ psi=ψ omega=ω eta=η kappa=κ Delta=Δ Omega=Ω Sigma=Σ Phi=Φ Gamma=Γ Lambda=Λ hbar=ħ"
        ).split()
    )
    | dict.fromkeys(("left", "right", "big", "Big", "displaystyle", "!"), "")
    | dict.fromkeys(("quad", "qquad", ",", ";", ":", " "), " ")
)


def plain_formulas(text: str, known: Iterable[str] = ()) -> str:
    """`text` with its formulae in plain characters; code, money and what a `known` text has so stay as they are."""
    if _FENCE in text or not ("$" in text or "\\" in text):
        return text

    def plain(found: regex.Match[str]) -> str:
        is_known = any(found.group() in one for one in known)
        return found.group() if is_known else _plain(next(filter(None, found.groups())))

    return _FORMULA.sub(plain, text)


def _plain(formula: str) -> str:
    for _ in range(3):  # a fraction in a fraction in a root
        formula = _WORDS.sub(r"\1", formula)
        formula = _ROOT.sub(lambda root: f"√{_bracketed(root[1])}", formula)
        formula = _FRACTION.sub(_divided, formula)
    formula = _RAISED.sub(lambda power: (power[1] or power[2]).translate(_SUPERSCRIPTS), formula)
    formula = _LOWERED.sub(lambda index: (index[1] or index[2]).translate(_SUBSCRIPTS), formula)
    formula = _COMMAND.sub(lambda command: _SIGNS.get(command[1], command[1]), formula)
    return " ".join(formula.replace("^°", "°").replace("{", "").replace("}", "").split())


def _divided(parts: regex.Match[str]) -> str:
    written = f"{_bracketed(parts[1])}/{_bracketed(parts[2])}"
    return _HALVES.get(written, written)


def _bracketed(part: str) -> str:
    part = part.strip()
    return part if regex.fullmatch(r"[\p{L}\p{Nd}.,\\]+", part) else f"({part})"
