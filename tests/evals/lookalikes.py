"""The answer cache's guard: how many look-alike questions it lets pass, and how many real repeats it finds.

The cosine is taken as 1 throughout, so that the guard stands alone. The confirming call is scripted: it is
right, or it is wrong as often as said.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence

from core.evidence.same_question import strict_veto, veto
from core.stages.cache import normalise_question
from tests.evals.datasets import data_path, sha256_of
from tests.evals.variants import VARIANTS, names_in

PAIRS = "questions/pairs.json"
EXPERTQA = "expertqa/questions.jsonl"
SEED = 11
_BEFORE = ("", "Hi, ", "Hello! ", "please ")
_AFTER = ("", "?", "??", "!", ", please?", " thanks", "… Thank you!")
MAX_FALSE_ALONE, MAX_FALSE_CONFIRMED = 0.05, 0.005  # goals, as shares of look-alikes
MIN_FOUND_ALONE, MIN_FOUND_CONFIRMED = 0.10, 0.60  # goals, as shares of real repeats


def print_lookalikes() -> None:
    print(f"data: {PAIRS} {sha256_of(PAIRS)}\n      {EXPERTQA} {sha256_of(EXPERTQA)}")
    print("the rules were written on the pairs and on ExpertQA's questions with an even digest; the odd are held out\n")
    pairs = json.loads(data_path(PAIRS).read_text(encoding="utf-8"))
    _print_false("pairs that look alike", [(kind, one, other) for kind, one, other in pairs["different"]])
    questions = [json.loads(line)["question"].strip() for line in data_path(EXPERTQA).read_text("utf-8").splitlines()]
    for name, half in (("even (development)", 0), ("odd (held out)", 1)):
        chosen = [question for question in questions if question and _half(question) == half]
        _print_false(f"variants of {len(chosen)} questions of ExpertQA, {name}", list(make_variants(chosen)))
    _print_found(pairs["same"])
    _print_exact(questions)


def make_variants(questions: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Kind, question and variant; at most one a kind and question."""
    rng = random.Random(SEED)
    names = sorted({name for question in questions for name in names_in(question)})
    for question in questions:
        for kind, change in VARIANTS.items():
            variant = change(question, names, rng)
            if variant and normalise_question(variant) != normalise_question(question):
                yield kind, question, variant


def _half(question: str) -> int:
    return hashlib.sha256(question.encode()).digest()[0] % 2


def _print_false(title: str, cases: Sequence[tuple[str, str, str]]) -> None:
    print(f"{title}: false hits")
    by_kind: dict[str, list[tuple[bool, bool]]] = {}
    for kind, one, other in cases:
        by_kind.setdefault(kind, []).append((not strict_veto(one, other), not veto(one, other)))
    for kind, passed in by_kind.items():
        strict, plain = (sum(column) / len(passed) for column in zip(*passed, strict=True))
        print(f"  {kind:10} of {len(passed):5}   strict guard alone {strict:6.2%}   reaches the plan call {plain:6.2%}")
    passed = [row for rows in by_kind.values() for row in rows]
    strict, plain = (sum(column) / len(passed) for column in zip(*passed, strict=True))
    print(f"  {'all':10} of {len(passed):5}   strict guard alone {strict:6.2%}   reaches the plan call {plain:6.2%}")
    print(f"  with the confirming call: {0.0:.2%} if it is right; goal {MAX_FALSE_CONFIRMED:.1%}", end="")
    allowed = min(1.0, MAX_FALSE_CONFIRMED / plain) if plain else 1.0
    print(f", kept as long as it errs in at most {allowed:.0%} of what reaches it")
    print(f"  goal for the strict guard alone: {MAX_FALSE_ALONE:.0%}\n")


def _print_found(same: Sequence[Sequence[str]]) -> None:
    strict = sum(not strict_veto(one, other) for one, other in same) / len(same)
    plain = sum(not veto(one, other) for one, other in same) / len(same)
    print(f"real repeats in other words ({len(same)} pairs): found")
    print(f"  strict guard alone {strict:.0%} (goal {MIN_FOUND_ALONE:.0%})", end="")
    print(f"   with a confirming call that is right {plain:.0%} (goal {MIN_FOUND_CONFIRMED:.0%})\n")


def _print_exact(questions: Sequence[str]) -> None:
    """Repeats that differ in case, space, punctuation and politeness only."""
    rng = random.Random(SEED)
    asked = [question for question in questions if question]
    found = sum(normalise_question(_retyped(question, rng)) == normalise_question(question) for question in asked)
    print(f"repeats to the letter that matters ({len(asked)} questions retyped): {found / len(asked):.2%} found\n")


def _retyped(question: str, rng: random.Random) -> str:
    body = question.rstrip("?!. ")
    changed = rng.choice((body.lower, body.upper, body.swapcase, lambda: body))()
    spaced = changed.replace(" ", rng.choice(("  ", "\t", "\u00a0", " ")))
    before, after = rng.choice(_BEFORE), rng.choice(_AFTER)
    return f"{before}{spaced}{after}"
