"""How much of honest text is taken for orders to a machine, and how many orders are found.

A masked sentence is one that no prompt and no citation gets, the order's neighbours in its paragraph included.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from core.model.source import Source
from core.text.injection import instructions_in, is_instruction
from core.text.sentences import split_sentences
from tests.core.injection_sentences import HARMLESS, ORDERS
from tests.evals.datasets import data_path, load_abstracts, load_pages, load_papers

CASES = "hostile_sample/injection_cases.jsonl"
LOADERS: Mapping[str, Callable[[], Sequence[Source]]] = {
    "pages": load_pages,
    "papers": load_papers,
    "abstracts": load_abstracts,
}


@dataclass(frozen=True)
class Counted:
    sentences: int
    masked: int


def count_masked(loaders: Mapping[str, Callable[[], Sequence[Source]]] = LOADERS) -> dict[str, Counted]:
    """By kind of text: how many sentences there are, and how many are masked. Raises `DataAbsent`."""
    counted: dict[str, Counted] = {}
    for kind, load in loaders.items():
        texts = [source.content for source in load()]
        masked = sum(len(instructions_in(text)) for text in texts)
        counted[kind] = Counted(sum(len(split_sentences(text)) for text in texts), masked)
    return counted


def print_injection() -> None:
    rows = [json.loads(line) for line in data_path(CASES).read_text(encoding="utf-8").splitlines()]
    orders = [order for one_class in ORDERS.values() for order in one_class]
    print(f"orders found, development cases  {sum(bool(instructions_in(row['text'])) for row in rows)} of {len(rows)}")
    print(f"orders found, our own            {sum(map(is_instruction, orders))} of {len(orders)}")
    print(f"harmless sentences masked        {sum(map(is_instruction, HARMLESS))} of {len(HARMLESS)}")
    for kind, counted in count_masked().items():
        share = 1_000 * counted.masked / counted.sentences
        print(f"{kind:<12} {counted.masked} of {counted.sentences} sentences masked ({share:.2f} in 1,000)")
    print()
