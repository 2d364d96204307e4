"""PubMed queries checked before they are sent: one that PubMed would misread is sent as plain words instead.

After PubMed's help (pubmed.ncbi.nlm.nih.gov/help, "Search field tags" and "Boolean operators").
"""

from __future__ import annotations

from itertools import pairwise

import regex

MAX_CHARS = 400  # of one query; longer ones come from a model gone astray
FIELDS = frozenset(
    """ad aid all au auid ti tiab title abstract cn cois crdt dcom ed edat date dp pdat pl la lang language lid lr majr
    mesh mh mhda nm ot pa pg pmid uid pt ps pubn py rn sb sh si ta journal tt tw vi ip is ir isbn jid gr fau 1au lastau
    affiliation author subset filter""".split()
) | frozenset(
    {
        "all fields", "title/abstract", "mesh terms", "mesh major topic", "mesh subheading", "publication type",
        "date - publication", "publication date", "text word", "text words", "pharmacological action", "author - first",
        "author - last", "supplementary concept", "other term", "mesh:noexp", "mh:noexp", "majr:noexp",
    }
)  # fmt: skip
_TOKEN = regex.compile(r'"[^"]*"|\[[^\[\]]*\]|[()]|[^\s()\[\]"]+|["\[\]]')
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_NEAR = regex.compile(r"(?:ti|title|tiab|title/abstract|ad|affiliation):~\d{1,3}")


def check_pubmed_query(query: str) -> str:
    """Why PubMed would not understand the query; "" when it would."""
    if len(query) > MAX_CHARS:
        return "too long"
    tokens = _TOKEN.findall(query)
    if not any(_kind(token) == "term" for token in tokens):
        return "no search term"
    for reason, is_broken in (
        ("a quotation mark or bracket is not closed", any(token in {'"', "[", "]"} for token in tokens)),
        ("parentheses do not match", not _is_balanced(tokens)),
        ("an unknown field", any(not _is_field(token) for token in tokens if token.startswith("["))),
        ("an operator without a term on both sides", not _is_joined(tokens)),
    ):
        if is_broken:
            return reason
    return ""


def plain_words(query: str) -> str:
    """The terms of a query without syntax, as PubMed's own mapping of words understands them."""
    terms = [token.strip('"') for token in _TOKEN.findall(query) if _kind(token) == "term"]
    words = [regex.sub(r"[^\w\s'./:-]|\*", " ", term) for term in terms if term not in {'"', "[", "]"}]
    return " ".join(word for word in " ".join(words).split() if word not in _OPERATORS)[:MAX_CHARS]


def checked_pubmed_query(query: str) -> str:
    """The query itself when PubMed understands it, its plain words when not; "" when nothing is left."""
    query = " ".join(query.split())
    return query if not check_pubmed_query(query) else plain_words(query)


def _kind(token: str) -> str:
    if token in _OPERATORS:
        return "operator"
    return {"(": "(", ")": ")", "[": "field"}.get(token[0], "term")


def _is_field(token: str) -> bool:
    name = token.strip("[]").strip().lower()
    return name in FIELDS or _NEAR.fullmatch(name) is not None


def _is_balanced(tokens: list[str]) -> bool:
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0:
            return False
    return depth == 0


def _is_joined(tokens: list[str]) -> bool:
    """Operators stand between terms or groups, fields right behind a term, and no group is empty."""
    kinds = ["(", *(_kind(token) for token in tokens), ")"]
    wrong = {
        ("(", "operator"), ("operator", ")"), ("operator", "operator"), ("(", ")"), ("(", "field"),
        ("operator", "field"), ("field", "field"), (")", "field"),
    }  # fmt: skip
    return not any(pair in wrong for pair in pairwise(kinds))
