"""What rules say against claims that people judged: how many true ones they cut or doubt, how many false they see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from core.evidence.rules.alignment import Force, Veto
from core.evidence.rules.vetoes import find_vetoes
from tests.evals.datasets import BEGIN, WICE, LabelledPair, load_begin, load_wice, sha256_of

MAX_CONTRADICTED, MAX_DOUBTED = 0.03, 0.15  # goals, as shares of the claims that people judged supported
Judged = tuple[tuple[LabelledPair, tuple[Veto, ...]], ...]


@cache
def judged_sets() -> tuple[tuple[str, Judged], ...]:
    """Each set with what the rules say of its pairs."""
    return tuple(
        (name, tuple((pair, _vetoes(pair)) for pair in pairs))
        for name, pairs in (("WiCE", load_wice()), ("BEGIN", load_begin()))
    )


def _vetoes(pair: LabelledPair) -> tuple[Veto, ...]:
    """Without the rule about subjects: whom a "he" of these claims means stood in a text that is not in the data."""
    return tuple(veto for veto in find_vetoes(pair.claim, pair.passage, context=pair.group) if veto.rule != "subject")


def print_attribution() -> None:
    print(f"data: {WICE} {sha256_of(WICE)}\n      {BEGIN} {sha256_of(BEGIN)}\n")
    for name, judged in judged_sets():
        true = [vetoes for pair, vetoes in judged if pair.is_supported]
        partial = [vetoes for pair, vetoes in judged if pair.label == "partially_supported"]
        false = [vetoes for pair, vetoes in judged if not pair.is_supported and pair.label != "partially_supported"]
        print(f"{name}: {len(true)} supported, {len(partial)} partially, {len(false)} not")
        _print_shares("supported", true, f"goals: at most {MAX_CONTRADICTED:.0%} and {MAX_DOUBTED:.0%}")
        if partial:
            _print_shares("partially", partial, "")
        _print_shares("not", false, "")
        _print_rules(true, [*partial, *false])


def _print_shares(kind: str, found: Sequence[tuple[Veto, ...]], goal: str) -> None:
    contradicted = sum(any(veto.force is Force.CONTRADICTS for veto in vetoes) for vetoes in found) / len(found)
    doubted = sum(bool(vetoes) and vetoes[0].force is Force.DOUBTS for vetoes in found) / len(found)
    print(f"  {kind:10} contradicted {contradicted:6.1%}   only doubted {doubted:6.1%}   {goal}")


def _print_rules(true: Sequence[tuple[Veto, ...]], rest: Sequence[tuple[Veto, ...]]) -> None:
    print("  each rule: how often it speaks up, of the supported and of the rest")
    kinds = sorted({(veto.rule, veto.force) for vetoes in (*true, *rest) for veto in vetoes})
    for rule, force in kinds:
        shares = [
            sum(any((veto.rule, veto.force) == (rule, force) for veto in vetoes) for vetoes in found) / len(found)
            for found in (true, rest)
        ]
        print(f"    {rule:12} {force.value:12} {shares[0]:6.1%} {shares[1]:6.1%}")
    print()
