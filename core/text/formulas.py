r"""LaTeX formulae as plain text: `$g \approx 9.81\ \text{m/s}^2$` is g ≈ 9.81 m/s².

Models write them in answers; no interface here sets them, and a number with `$` before it reads as an amount of money.
"""

from __future__ import annotations

from collections.abc import Iterable

import regex

# Between dollars only where it is one: a single letter or number, or what only formulae have; "$5 to $10" is money.
_FORMULA = regex.compile(
    r"(?s)\$\$([^$]+)\$\$|\\\[(.{1,400}?)\\\]|\\\((.{1,400}?)\\\)|(?<=\p{L})\$([_^][^\s$]+)\$"
    r"|(?<![\\$\p{L}\p{Nd}])\$(\p{L}|-?\p{Nd}[\p{Nd}.,]*|\p{L} ?[<>] ?[\p{Nd}.,]+|"
    r"(?=[^$\n]*[\\^_={}])[^\s$](?:[^$\n]*[^\s$])?)\$(?![\p{Nd}\p{Lu}])"
)
_GROUP = r"\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
_FRACTION, _ROOT = regex.compile(rf"\\[dt]?frac{_GROUP}{_GROUP}"), regex.compile(rf"\\sqrt{_GROUP}")
_WORDS = regex.compile(rf"\\(?:text|math|operatorname|boldsymbol)\p{{L}}*{_GROUP}")
_INDEX = regex.compile(r"(?:(?P<up>\^)|_)(?:\{([-+]?\p{Nd}+(?:,\p{Nd}+)*)\}|(\p{Nd}))")
_RAISED, _LOWERED = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺"), str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_COMMAND = regex.compile(r"\\(\p{L}+|[,;:!\s%$&_#{}])")
_SIGNS = dict(
    pair.split("=")
    for pair in """approx=≈ times=× cdot=· leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ pm=± circ=° infty=∞ sum=∑ int=∫ partial=∂
    rightarrow=→ to=→ propto=∝ sim=~ equiv=≡ ldots=… dots=… div=÷ alpha=α beta=β gamma=γ delta=δ epsilon=ε theta=θ
    lambda=λ mu=μ nu=ν pi=π rho=ρ sigma=σ tau=τ phi=φ chi=χ psi=ψ omega=ω eta=η kappa=κ Delta=Δ Omega=Ω Sigma=Σ Phi=Φ
    lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ in=∈ cup=∪ cap=∩ subset=⊂ ll=≪ gg=≫ mp=∓ Rightarrow=⇒ leftarrow=← nabla=∇
    Gamma=Γ Theta=Θ Lambda=Λ Pi=Π Psi=Ψ xi=ξ zeta=ζ ell=ℓ hbar=ħ left= right= !=""".split()
) | dict.fromkeys(("quad", "qquad", ",", ";", ":", " "), " ")
_OF_LETTER = regex.compile(r"(?<=[Δδ∂∇])\s+(?=\p{L})")  # the blank that ends a command
_FACTOR = regex.compile(r"\(.*\)|√.*|\p{Nd}[\p{Nd}.,]*|\\?\p{L}+(?:[_^].*)?")
_HALVES = {"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾"}  # as pages have them


def plain_formulas(text: str, known: Iterable[str] = ()) -> str:
    """`text` with its formulae in plain characters; code, money and what a `known` text has so stay as they are."""

    def plain(found: regex.Match[str]) -> str:
        return found[0] if any(found[0] in one for one in known) else _plain(next(filter(None, found.groups())))

    return text if "`" in text else _FORMULA.sub(plain, text)


def _plain(formula: str) -> str:
    for _ in range(3):  # a fraction in a fraction in a root
        formula = _ROOT.sub(lambda root: f"√{_bracketed(root[1])}", _WORDS.sub(r"\1", formula))
        formula = _FRACTION.sub(_divided, formula)
    formula = _INDEX.sub(lambda one: (one[2] or one[3]).translate(_RAISED if one["up"] else _LOWERED), formula)
    formula = _COMMAND.sub(lambda command: _SIGNS.get(command[1], command[1]), formula)
    formula = _OF_LETTER.sub("", formula.replace("^°", "°").replace("{", "").replace("}", ""))
    return " ".join(formula.split())


def _divided(parts: regex.Match[str]) -> str:
    below = _bracketed(parts[2])
    below = below if _FACTOR.fullmatch(below) else f"({below})"  # a/2b is half of a times b
    written = f"{_bracketed(parts[1])}/{below}"
    return _HALVES.get(written, written)


def _bracketed(part: str) -> str:
    return part.strip() if regex.fullmatch(r"[\p{L}\p{Nd}.,\\\s_^]+", part) else f"({part.strip()})"
