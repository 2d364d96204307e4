"""Opposites: a claim may not say "rises" where its source says "falls"."""

from __future__ import annotations

from functools import lru_cache

from core.evidence.words import root, stem

_PAIRS = """
increase rise grow higher high gain more up upward / decrease fall decline reduce lower low loss less fewer drop down
downward diminish; improve better best improvement / worsen worse worst deteriorate deterioration; before prior
earlier precede / after following later follow subsequent; above exceed over / below under; most maximum majority /
least minimum minority fewest; many / few; large larger largest big bigger biggest greater great / small smaller
smallest little; long longer longest / short shorter shortest; fast faster quick rapid / slow slower; early / late;
old older oldest / young younger youngest new newer; first / last final; always / never; begin start open / end stop
close finish; win victory / lose loss; accept approve adopt support allow permit / reject refuse oppose forbid
prohibit ban; add include / remove exclude; success succeed / failure fail; positive / negative; active / inactive
passive; safe / dangerous unsafe; strong stronger / weak weaker; easy easier / difficult hard harder; good / bad poor;
rich / poor; present / absent; true / false; buy purchase / sell; alive / dead; north northern / south southern; east
eastern / west western; left / right; inside internal inner / outside external outer; male man boy / female woman
girl; common / rare uncommon; enable / disable; same identical / different; agree / disagree; appear / disappear;
connect / disconnect; significant / insignificant nonsignificant; effective / ineffective; similar / dissimilar
different; associated related / unrelated; likely / unlikely; public / private; war / peace; import / export; cheap
cheaper / expensive; hot warm / cold cool; day / night; full / empty; mandatory required compulsory / optional; legal
/ illegal; possible / impossible; mutable / immutable; simple simpler / complex complicated; explicit / implicit;
recommend encourage / discourage; upper / lower; acute / chronic; benefit beneficial / harm harmful; guilty /
innocent; major / minor; wide wider / narrow narrower; backward / forward; static / dynamic; superior / inferior;
promote stimulate / inhibit suppress; prevent / cause
"""
_WRITTEN = {"#1th": "first"}  # the one number that is an opposite too, as tokens have it
_PREFIXES = frozenset({"un", "in", "im", "ir", "il", "dis", "non", "mis"})


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in _PAIRS.split(";"):
        left, right = ({stem(word) for word in side.split()} for side in line.split("/"))
        for one, other in ((left, right), (right, left)):
            for base in one:
                table.setdefault(base, set()).update(other - one)
    return {base: frozenset(others) for base, others in table.items()}


@lru_cache(maxsize=65536)
def are_opposite(left: str, right: str) -> bool:
    """Whether two stems are opposites: listed, or one is the other with a denying prefix."""
    left, right = _WRITTEN.get(left, left), _WRITTEN.get(right, right)
    if right in _table().get(left, ()):
        return True
    short, long = sorted((left, right), key=len)
    if len(short) < 4:
        return False
    bare, whole = root(short), root(long)
    return whole.endswith(bare) and whole.removesuffix(bare) in _PREFIXES
