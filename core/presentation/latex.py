"""Text as LaTeX shows it literally, with any engine.

pdfLaTeX with `utf8` and `T1` has no font for Greek letters, mathematical signs and the like; those are written as
commands. Other scripts stay as they are: they need XeLaTeX or LuaLaTeX anyway.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import regex

_ASCII = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",  # BibTeX counts `\{` as a brace that is opened
    "}": r"\textbraceright{}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
}
_LIGATURE = regex.compile(r"([-'])(?=\1)")  # two hyphens would become a dash, two apostrophes a quotation mark
_PUNCTUATION = frozenset("–—‘’“”‚„†‡•…‰‹›€™")  # that pdfLaTeX's utf8 knows, beside Latin-1 and Latin Extended-A
_UNKNOWN = frozenset("ĦħĸĿŀŉŦŧſ")  # of Latin Extended-A, found by compiling all of it (TeX Live 2022)
_MATHS = dict(
    zip(
        "−≤≥≪≫≠≈≃≅≡∼∝∞∂∇∑∏∫√∈∉⊂⊆∪∩∅∀∃→←↔⇒⇐⇔↑↓⋅∘⊕⊗⟨⟩ℓℏ′″∗∣∥⊥∠ℝℕℤℚℂħ",
        r"- \leq \geq \ll \gg \neq \approx \simeq \cong \equiv \sim \propto \infty \partial \nabla \sum \prod "
        r"\int \surd \in \notin \subset \subseteq \cup \cap \emptyset \forall \exists \to \leftarrow "
        r"\leftrightarrow \Rightarrow \Leftarrow \Leftrightarrow \uparrow \downarrow \cdot \circ \oplus "
        r"\otimes \langle \rangle \ell \hbar {}' {}'' * \mid \parallel \perp \angle \mathbf{R} \mathbf{N} "
        r"\mathbf{Z} \mathbf{Q} \mathbf{C} \hbar".split(),
        strict=True,
    )
)
_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega".split()
)
_ROMAN_CAPITALS = frozenset("alpha beta epsilon zeta eta iota kappa mu nu omicron rho tau chi".split())
_GREEK_NAME = regex.compile(r"GREEK (SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)")
_LATIN = {"EPSILON": "E", "OMICRON": "O", "CHI": "X", "ETA": "H", "NU": "N", "RHO": "P"}


def latex_text(text: str) -> str:
    """`text` as LaTeX shows it literally."""
    return _LIGATURE.sub(r"\1{}", "".join(map(_written, text)))


@lru_cache(maxsize=4096)
def _written(char: str) -> str:
    if char in _ASCII:
        return _ASCII[char]
    if _is_known(char):
        return char
    if char in _MATHS:
        return rf"\ensuremath{{{_MATHS[char]}}}"
    return _greek(char) or _decomposed(char) or char


def _is_known(char: str) -> bool:
    return (char < "\u0180" and char not in _UNKNOWN) or char in _PUNCTUATION


def _greek(char: str) -> str:
    found = _GREEK_NAME.fullmatch(unicodedata.name(char, ""))
    if found is None:
        return ""
    name = "lambda" if found[2] == "LAMDA" else found[2].lower()
    if found[1] == "CAPITAL" and name in _ROMAN_CAPITALS:
        return _LATIN.get(found[2], found[2][0])
    if name == "omicron":
        return "o"
    if name not in _GREEK:
        return ""
    return rf"\ensuremath{{\{name.capitalize() if found[1] == 'CAPITAL' else name}}}"


def _decomposed(char: str) -> str:
    """`³` and `ﬁ` as what they are made of; a letter without the marks that no font sets; "" where that is no help."""
    kind = unicodedata.decomposition(char).partition(">")[0]
    parts = unicodedata.normalize("NFKD", char)
    if parts == char:
        return ""
    written = "".join(_written(part) for part in parts if not unicodedata.combining(part))
    if not written.isascii():
        return ""
    return {"<super": rf"\textsuperscript{{{written}}}", "<sub": rf"\textsubscript{{{written}}}"}.get(kind, written)
