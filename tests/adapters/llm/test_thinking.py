"""What a model thinks, parted from what it answers, however both are split over pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.llm.reading import Thoughts

ANSWER = '{"summary": "A cygnet is a young swan <think> [1]."}'
THOUGHT = 'Hm, {"summary": "drafted"}? <b>No.</b>'
WITH_THOUGHTS = {
    "tags": f"<think>{THOUGHT}</think>\n\n",
    "capitals": f"\n<THINK>\n{THOUGHT}</THINK>",
    "other word": f"<reasoning>{THOUGHT}</reasoning>",
    "unopened": f"{THOUGHT}</think>",
    "twice": f"<think>a</think><think>{THOUGHT}</think>",
    "empty": "<think></think>",
    "brackets": f"[THINK]{THOUGHT}[/THINK]",
    "harmony": f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>",
}


def parted(pieces: Sequence[str], *, is_json: bool = True) -> tuple[str, list[str]]:
    """All that may be shown, and what of it came before the end."""
    thoughts = Thoughts(is_json=is_json)
    early = [thoughts.feed(piece) for piece in pieces]
    return "".join([*early, thoughts.end()]), [text for text in early if text]


@pytest.mark.parametrize("is_json", [True, False], ids=["json", "prose"])
@pytest.mark.parametrize("name", WITH_THOUGHTS)
def test_thoughts_never_show_wherever_they_are_cut(name: str, is_json: bool) -> None:
    """N-05: neither at the end nor on the way: letter by letter, and at every place in two."""
    answer = ANSWER if is_json else "A cygnet is a young swan [1]."
    text = WITH_THOUGHTS[name] + answer
    cuts = [list(text), *([text[:place], text[place:]] for place in range(len(text)))]

    outcomes = [parted(pieces, is_json=is_json) for pieces in cuts]

    assert {shown.strip() for shown, _ in outcomes} == {answer}
    assert not any("drafted" in "".join(early) for _, early in outcomes)


@given(st.lists(st.integers(0, len(ANSWER)), max_size=9))
def test_json_is_passed_on_as_it_comes(places: list[int]) -> None:
    """An answer that is not thought about is shown while it is written, with tags that it only mentions."""
    bounds = [0, *sorted(places), len(ANSWER)]
    pieces = [ANSWER[a:b] for a, b in pairwise(bounds)]

    shown, early = parted(pieces)

    assert shown == ANSWER
    assert "".join(early) == ANSWER


@pytest.mark.parametrize(
    ("text", "is_json", "shown"),
    [
        (f"<think>{THOUGHT}", True, ""),
        (f"<think>{THOUGHT}\n{ANSWER}", True, ANSWER),
        (f"<think>{THOUGHT}\n```json\n{ANSWER}\n```", True, ANSWER),
        (f"<think>{THOUGHT} A cygnet.", False, ""),
        (
            "R1 writes <think> and </think> before it answers.",
            False,
            "R1 writes <think> and </think> before it answers.",
        ),
        ("", False, ""),
    ],
    ids=["all thought", "unclosed", "unclosed and fenced", "unclosed prose", "speaks of tags", "nothing"],
)
def test_thought_that_is_not_closed_gives_what_object_ends_it(text: str, is_json: bool, shown: str) -> None:
    assert parted([text], is_json=is_json)[0] == shown
