"""What a model thinks before it answers, kept back from everybody: tags in the text of an answer, whole or split.

What stands in fields of its own (`reasoning_content`, `reasoning`) is not read at all (adapters/llm/reading.py).
"""

from __future__ import annotations

import re
from itertools import islice

from pydantic_core import from_json

_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "seed:think")
_OPENINGS = (
    *(f"<{tag}>" for tag in _TAGS),
    "[think]",
    "◁think▷",
    "<|channel|>analysis<|message|>",
    "<|channel|>commentary<|message|>",
)
_NAMED = re.compile("|".join(map(re.escape, _OPENINGS)), re.IGNORECASE)
_OPENING = re.compile(rf"\s*(?:{_NAMED.pattern})", re.IGNORECASE)
_CLOSING = re.compile(rf"</(?:{'|'.join(_TAGS)})>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>", re.IGNORECASE)
_ENDING = re.compile(r"<\|(?:end|return|im_end)\|>\s*\Z")
_ANSWER = re.compile(r"\s*(?:```\w*\s*)?[\[{]")
_MOST_BRACES = 50  # in a thought that is not closed; each is a look whether the answer begins there


class Thoughts:
    """Parts the thoughts from an answer as it comes: `feed` gives what may be passed on, `end` the rest.

    An opening tag counts only where the text begins, a closing one also without it, as templates that open the
    thought for the model leave it. Only what begins as JSON is passed on at once: all else is held until its end,
    since it may turn out to have been a thought.
    """

    def __init__(self, *, is_json: bool) -> None:
        self._is_json = is_json
        self._held = ""
        self._is_answer = False
        self.has_thought = False

    def feed(self, text: str) -> str:
        if self._is_answer:
            return text
        self._held += text
        self._drop_thoughts()
        if self._is_json and not _OPENING.match(self._held) and not self._may_open() and _ANSWER.match(self._held):
            return self._release()
        return ""

    def end(self) -> str:
        """What was held back and is no thought; of a thought that is not closed an object that ends it."""
        if self._is_answer:
            return ""
        self._drop_thoughts()
        if _OPENING.match(self._held):
            self.has_thought = True
            self._held = _last_object(self._held) if self._is_json else ""
        return _ENDING.sub("", self._release())

    def _drop_thoughts(self) -> None:
        while closing := self._closing():
            self._held = self._held[closing.end() :]
            self.has_thought = True

    def _closing(self) -> re.Match[str] | None:
        """The tag that ends a thought: the next one after an opening at the beginning, or one that nothing opens."""
        opening = _OPENING.match(self._held)
        closing = _CLOSING.search(self._held, opening.end() if opening else 0)
        if closing is None or opening:
            return closing
        return None if _NAMED.search(self._held[: closing.start()]) else closing

    def _may_open(self) -> bool:
        """Whether what is held may be the beginning of an opening tag."""
        begun = self._held.lstrip().lower()
        return any(opening.startswith(begun) for opening in _OPENINGS)

    def _release(self) -> str:
        text, self._held = self._held, ""
        self._is_answer = True
        return text


def _last_object(text: str) -> str:
    """The JSON object that a text ends with, "" where there is none."""
    whole = text.rstrip("` \n")
    for brace in islice(re.finditer(r"\{", whole), _MOST_BRACES):
        try:
            from_json(whole[brace.start() :])
        except ValueError:
            continue
        return whole[brace.start() :]
    return ""
