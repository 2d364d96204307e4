"""Code in a chat message: whole where there is room, else its first lines; told apart from the prose around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.chat.fitting import fit, units
from core.findings.code import split_fences
from core.findings.judging import OTHER_LEVEL, level_name
from core.findings.viewing import FindingsView, FoundItem, code_files, code_name
from core.presentation import wording
from core.presentation.render import printable


@dataclass(frozen=True)
class Excerpt:
    """`left_out` is how many lines of the code are not wholly in `text`."""

    text: str
    left_out: int = 0


def excerpt(code: str, limit: int) -> Excerpt:
    """The code, or as many whole lines of it as have at most `limit` units; of a longer first line its beginning."""
    lines = printable(code).expandtabs(4).rstrip().split("\n")
    kept: list[str] = []
    used = 0
    for line in lines:
        used += units(line) + 1
        if used > limit:
            break
        kept.append(line)
    if not kept:
        return Excerpt(fit(lines[0], max(limit, 2)), len(lines))
    return Excerpt("\n".join(kept).rstrip(), len(lines) - len(kept))


def rest_of(item: FoundItem, left_out: int, view: FindingsView) -> str:
    """`24 more lines in implementation-2.py`; `also as implementation-2.py` where all of it is shown; else ""."""
    name = code_name(item)
    is_attached = name in dict(code_files(view))
    if left_out:
        return f"{wording.counted(left_out, 'more line')} {f'in {name}' if is_attached else 'on the page'}"
    return f"also as {name}" if is_attached else ""


def about(item: FoundItem) -> str:
    """`official documentation · parses · imports: requests · needs requests`; nothing of a place nobody knows."""
    standing = item.standing if item.standing != level_name(OTHER_LEVEL, item.mode) else ""
    needs = f"needs {item.dependencies}" if item.dependencies not in ("", "none") else ""
    return " · ".join(filter(None, [standing, *(remark.text for remark in item.remarks), needs]))


def shares(needs: Sequence[int], room: int) -> list[int]:
    """What each gets of the room: what it needs where that is little, else an equal part of what those leave."""
    given = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=lambda place: needs[place])
    for served, place in enumerate(by_need):
        given[place] = min(needs[place], room // (len(needs) - served))
        room -= given[place]
    return given


def pieces_of(text: str) -> Iterator[tuple[str, str, bool]]:
    """Prose and code in order: `(text, language, is_code)`, blank prose left out."""
    for piece, language, is_code in split_fences(text):
        if piece.strip():
            yield piece, language, is_code
