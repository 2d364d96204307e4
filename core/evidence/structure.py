"""The texts of an answer from its judged sentences: only what may be shown, and nothing that leads to what may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from core.answer import Citation, RemovedSentence, Section, Verdict
from core.evidence.grounding import RULE, Grounded, Judged


def assemble(judged: Sequence[Judged]) -> Grounded:
    """The texts from what may be shown, with the claims, their citations, and what was cut and why."""
    claims = tuple(entry.claim for entry in judged if entry.claim and entry.shown is not None)
    removed = tuple(
        RemovedSentence(entry.claim.text, "; ".join(entry.claim.reasons) or "no source that was read says it")
        for entry in judged
        if entry.claim and entry.shown is None
    )
    citations = tuple(
        Citation(
            claim=claim.text,
            source_id=entry.source_id,
            quote=entry.quote or None,
            verdict=Verdict.MOVED if claim.verdict is Verdict.MOVED else entry.verdict,
            start=entry.start if entry.quote else None,
            end=entry.end if entry.quote else None,
            page=entry.page,
        )
        for claim in claims
        for entry in claim.evidence
    )
    return Grounded(_text(judged, "summary"), _text(judged, "detail"), claims, citations, removed)


def _text(judged: Sequence[Judged], section: Section) -> str:
    """The shown sentences with their own gaps. A label or heading under which nothing is left goes too."""
    kept: list[tuple[str, Judged]] = []
    breaks = ""
    for entry in judged:
        if entry.section != section:
            continue
        gap = entry.gap if "\n" in entry.gap or "\n" not in breaks else breaks
        breaks = "" if entry.shown else gap  # what follows a cut sentence begins where that one would have
        if entry.shown:
            kept.append((gap, entry))
    led: list[tuple[str, Judged]] = []
    for gap, entry in reversed(kept):
        if entry.claim is not None or (led and not _is_empty(entry, led[-1][1])):
            led.append((gap, entry))
    return "".join(f"{gap}{line}" for gap, line in _lines(list(reversed(led)))).strip()


def _lines(kept: Sequence[tuple[str, Judged]]) -> Iterator[tuple[str, str]]:
    """Each entry as it is shown. A table that has lost its head is no table any more: its rows become a list."""
    is_table = False
    for place, (gap, entry) in enumerate(kept):
        line = (entry.shown or "").strip()
        if not line.startswith("|"):
            is_table = False
            yield gap, entry.shown or ""
        elif is_table or RULE.fullmatch(kept[place + 1][1].text.strip() if place + 1 < len(kept) else ""):
            is_table = True
            yield gap, entry.shown or ""
        elif not RULE.fullmatch(line):
            yield gap, "- " + " · ".join(cell.strip() for cell in line.strip("|").split("|"))


def _is_empty(entry: Judged, following: Judged) -> bool:
    """Whether a heading is followed by one of its own or a higher level."""
    return 0 < _level(following) <= _level(entry)


def _level(entry: Judged) -> int:
    """1…6 for Markdown headings, 7 for a bold line, 8 for a line that ends in a colon, 0 for anything else."""
    text = entry.text.strip()
    if entry.claim is not None:
        return 0
    if text.startswith("#"):
        return len(text) - len(text.lstrip("#"))
    if regex.fullmatch(r"(\*\*|__).+\1[:：]?", text):
        return 7
    return 8 if text.endswith((":", "：")) else 0
