"""Prose with BibTeX keys: read into numbered sources to be judged, freed of quotations, and written back.

The author's own brief is a source too, so that a sentence without a key is held against what the author said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import regex

from core.evidence.citations import Marker, keep_markers, parse_markers, rewrite_markers
from core.evidence.grounding import Grounder
from core.evidence.quoting import cited
from core.evidence.structure import Judged
from core.library.funnel import TELLING
from core.model.answer import Section as Part
from core.model.source import Source
from core.text.language import rarity
from core.text.markers import Grammar, KeyRef
from core.text.passages import Passage
from core.text.terms import terms as terms_in

BRIEF_ID = "src_1"
_MIN_TELLING = 3  # words of a run
_WORD = regex.compile(r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*")
_NUMBERS = regex.compile(r"[ \t]*(?:\[\d+\])+")


class KeyGrounder(Grounder):
    """A `Grounder` for prose that cites `keys` (by source id); `unknown` collects the keys that are nobody's.

    What cites no key is a sentence on the own work, and is looked for in the brief.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        question: str,
        passages: Mapping[str, Sequence[Passage]],
        *,
        keys: Mapping[str, str],
    ) -> None:
        super().__init__(sources, question, passages)
        self._ids = {key: source_id for source_id, key in keys.items()}
        self.unknown: list[str] = []

    def propose(
        self, section: Part, place: int, text: str, *, gap: str = "", asserts: bool = True, before: str = ""
    ) -> Judged:
        numbered, is_cited = self._numbered(text)
        if asserts and not is_cited:
            numbered = cited(numbered, BRIEF_ID.removeprefix("src_"))
        return super().propose(section, place, numbered, gap=gap, asserts=asserts, before=before)

    def _numbered(self, text: str) -> tuple[str, bool]:
        """The sentence with numbers for keys, and whether it cited anything, be it unknown."""
        text = keep_markers(text, (), Grammar.NUMBER)  # numbers are ours alone
        targets = [mark.target for mark in parse_markers(text, Grammar.KEY, keys=self._ids)]
        named = [target.key for target in targets if isinstance(target, KeyRef)]
        self.unknown += [key for key in named if key not in self._ids]
        text = keep_markers(text, self._ids, Grammar.KEY, keys=self._ids)
        return rewrite_markers(text, Grammar.KEY, self._as_numbers, keys=self._ids), bool(named)

    def _as_numbers(self, group: Sequence[Marker]) -> str:
        keys = [mark.target.key for mark in group if isinstance(mark.target, KeyRef)]
        return "".join(f"[{self._ids[key].removeprefix('src_')}]" for key in keys)


def with_keys(text: str, keys: Mapping[str, str]) -> str:
    """`text` with `(key; key)` for its numbers; the brief's number goes. `keys` are by source id."""

    def written(found: regex.Match[str]) -> str:
        named = [keys[f"src_{number}"] for number in regex.findall(r"\d+", found.group()) if f"src_{number}" in keys]
        return f" ({'; '.join(dict.fromkeys(named))})" if named else ""

    return _NUMBERS.sub(written, text)


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """`text` with `[Smith et al., 2024; Doe, 2020]` for its keys (D3). `labels` are by key."""
    cited: dict[tuple[int, int], list[str]] = {}
    for mark in parse_markers(text, Grammar.KEY, keys=set(labels)):
        if isinstance(mark.target, KeyRef) and mark.target.key in labels:
            cited.setdefault((mark.start, mark.end), []).append(labels[mark.target.key])
    for (start, end), named in sorted(cited.items(), reverse=True):
        text = f"{text[:start]}[{'; '.join(named)}]{text[end:]}"
    return text


class Quotations:
    """The runs of words that the writer may not repeat: every run of more than `longest` words in `texts`.

    A run that stands in `terms` (titles, the author's own brief) is a term, and one with fewer than three words that
    tell something is how everybody writes: "in the presence of", "a 95 % confidence interval". Names, numbers and what
    is measured are facts, which stay as they are.
    """

    def __init__(self, texts: Iterable[str], *, longest: int, terms: Iterable[str] = ()) -> None:
        self._size = longest + 1
        self._runs = {run for text in texts for run, _ in self._runs_of(text)}
        self._terms = "\n".join(f" {' '.join(_words(text))} " for text in terms)

    def in_sentence(self, sentence: str) -> str:
        """The first run of words that a text has too, as the sentence has it; "" for none."""
        return next(
            (sentence[start:end] for start, end in self._spans(sentence) if self._tells(sentence[start:end])), ""
        )

    def _spans(self, sentence: str) -> Iterable[tuple[int, int]]:
        """Where runs stand, those that overlap as one."""
        merged: list[tuple[int, int]] = []
        for run, (start, end) in self._runs_of(sentence):
            if run in self._runs:
                if merged and start < merged[-1][1]:
                    merged[-1] = (merged[-1][0], end)
                else:
                    merged.append((start, end))
        return merged

    def _tells(self, run: str) -> bool:
        if f" {' '.join(_words(run))} " in self._terms:
            return False
        words = [word for word in _WORD.findall(run) if word.islower()]
        return sum(rarity(term, "en") >= TELLING for term in terms_in(" ".join(words))) >= _MIN_TELLING

    def _runs_of(self, text: str) -> Iterable[tuple[tuple[str, ...], tuple[int, int]]]:
        found = list(_WORD.finditer(text))
        words = [match.group().casefold() for match in found]
        for at in range(len(words) - self._size + 1):
            span = (found[at].start(), found[at + self._size - 1].end())
            yield tuple(words[at : at + self._size]), span


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
