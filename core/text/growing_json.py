"""A JSON object in a model's answer: read while it grows, and whole when it has ended, whatever stands around it.

Text that has been streamed is never lost, however the answer ends.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Literal

from pydantic_core import from_json

from core.model.errors import ModelGarbled
from core.model.job import Json
from core.text.saying import say


def parse_object(text: str) -> dict[str, Json]:
    """The JSON object in a finished answer. Raises `ModelGarbled` when there is none, or only part of one.

    Tolerates `<think>` blocks, prose and fences around it, and the usual slips inside: raw line breaks
    in strings, invalid escapes, trailing commas.
    """
    value = _whole_object(text)
    if value is not None:
        return value
    raise ModelGarbled(
        f"no JSON object in {len(text)} characters of answer",
        user_message=say("The model's answer could not be read; please try again."),
    )


def read_object(text: str, schema: Mapping[str, Json], *, takes_part: bool = False) -> dict[str, Json] | None:
    """The object in a finished answer by the names of `schema`; None when there is none with any of them.

    Names may be in another case, the object in another one, or only its one list written. With `takes_part` what is
    complete of an object that was cut off will do.
    """
    names = _names(schema)
    value = _whole_list(text, schema) or _whole_object(text) or (complete_part(text) if takes_part else None)
    if value is None:
        return None
    for candidate in (value, *value.values()):
        found = named(candidate, names) if isinstance(candidate, dict) else {}
        if not names or found.keys() & set(names):
            return found
    return None


def named(fields: Mapping[str, Json], names: Collection[str]) -> dict[str, Json]:
    """`fields` with those of `names` that are written in another case, or with blanks or hyphens, spelled as there."""
    if fields.keys() <= set(names):
        return dict(fields)  # as nearly always, and asked with each piece of an answer
    known = {_plain(name): name for name in names}
    return {known.get(_plain(key), key): value for key, value in fields.items()}


def whole_number(value: Json) -> int | None:
    """An integer that may be written as a text (`"3"`) or as `3.0`; None for anything else."""
    if isinstance(value, str):
        digits = value.strip()
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return None
    return int(value)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def _names(schema: Mapping[str, Json]) -> list[str]:
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []


class PartialJson:
    """A JSON object read while it grows. `value` is what could be read so far.

    Reading starts over each time (a microsecond a kilobyte), so a long answer is read again only
    when it has grown by 1/256: linear in its length, and still by the word in answers of normal size.
    """

    def __init__(self) -> None:
        self.value: dict[str, Json] = {}
        self._pieces: list[str] = []
        self._length = 0
        self._length_read = 0
        self._is_faulty = False

    @property
    def text(self) -> str:
        """Everything fed so far."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def feed(self, text: str) -> bool:
        """Whether `value` was read anew."""
        self._pieces.append(text)
        self._length += len(text)
        grown = self._length - self._length_read
        if self._is_faulty or grown == 0 or grown < self._length_read // 256:
            return False
        self._read_again()
        return True

    def finish(self) -> bool:
        """Read all that came; whether the object was complete."""
        whole = _whole_object(self.text)
        if whole is None and not self._is_faulty:
            self._read_again()
        self.value = self.value if whole is None else whole
        return whole is not None

    def _read_again(self) -> None:
        self._length_read = self._length
        text = self.text
        start = _growing_start(text)
        if start is None:
            return
        value = _read(text[start:])
        if value is None:
            # What follows a fault cannot be read as a growing object; `finish` looks at the whole once more.
            self._is_faulty = True
            value = _read_to_first_fault(text[start:])
        self.value = value


_OPENING = re.compile(r'\{\s*"')
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_MAX_STARTS = 50  # braces in prose before the answer; more is not an answer


def _growing_start(text: str) -> int | None:
    """Where the object begins in text that is still coming; None while it is not there or may be a thought."""
    blank = len(text) - len(text.lstrip())
    if text[blank : blank + 1] == "{":
        return blank
    behind = thought_end(text)
    if not behind and text[blank : blank + 6].lower() == "<think":
        return None
    opening = _OPENING.search(text, behind)
    return opening.start() if opening else None


def thought_end(text: str) -> int:
    return max((thought.end() for thought in _THOUGHT_END.finditer(text)), default=0)


def _whole_object(text: str) -> dict[str, Json] | None:
    """The first object of a finished text that is closed, readable and not empty.

    What is drafted inside a thought is no answer, nor is a part of an object that is not closed.
    """
    start = _growing_start(text)
    for _ in range(_MAX_STARTS):
        end = None if start is None else _object_end(text, start)
        if end is None:
            return None
        value = _read(text[start:end], is_partial=False)
        if value:
            return value
        opening = _OPENING.search(text, end)
        start = opening.start() if opening else None
    return None


def _whole_list(text: str, schema: Mapping[str, Json]) -> dict[str, Json] | None:
    """A list that stands where the object with that one list was asked for."""
    properties = schema.get("properties")
    parts = properties if isinstance(properties, dict) else {}
    names = [name for name, part in parts.items() if isinstance(part, dict) and part.get("type") == "array"]
    start = text.find("[", thought_end(text))
    brace = text.find("{", thought_end(text))
    if len(names) != 1 or len(_names(schema)) != 1 or start < 0 or 0 <= brace < start:
        return None
    end = _object_end(text, start)
    try:
        value = from_json(_mended(text[start:end] if end else ""), allow_inf_nan=False)
    except ValueError:
        return None
    return {names[0]: value} if isinstance(value, list) and all(isinstance(row, dict | str) for row in value) else None


def complete_part(text: str) -> dict[str, Json] | None:
    """Of an object that is cut off what is complete; the string in which it was cut is left out."""
    start = _growing_start(text)
    if start is None:
        return None
    for reading in (_as_written, _mended):
        try:
            value = from_json(reading(text[start:]), allow_partial=True, allow_inf_nan=False)
        except ValueError:
            continue
        return value or None if isinstance(value, dict) else None
    return None


_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'
_BRACKETS = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)


def _object_end(text: str, start: int) -> int | None:
    """The position after the bracket that closes the one at `start`; None when it is not closed."""
    depth = 0
    for token in _BRACKETS.finditer(text, start):
        sign = token[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _read(text: str, *, is_partial: bool = True) -> dict[str, Json] | None:
    """The object that `text` begins with, mended where needed; None when it cannot be read."""
    partial: Literal["off", "trailing-strings"] = "trailing-strings" if is_partial else "off"
    for reading in (_as_written, _mended):
        try:
            value = from_json(reading(text), allow_partial=partial, allow_inf_nan=False)
        except ValueError:
            continue
        return value if isinstance(value, dict) else None
    return None


def _read_to_first_fault(text: str) -> dict[str, Json]:
    """What stands before the fault in an object that cannot be read whole."""
    readable, faulty = 0, len(text)
    while faulty - readable > 1:
        middle = (readable + faulty) // 2
        if _read(text[:middle]) is None:
            faulty = middle
        else:
            readable = middle
    return _read(text[:readable]) or {}


def _as_written(text: str) -> bytes:
    """UTF-8. Halves of surrogate pairs, which endpoints send in separate deltas, are joined."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        whole = text[:-1] if "\ud800" <= text[-1] <= "\udbff" else text
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


_SLIPS = re.compile(_STRING + r"""|,(?=\s*[}\]])|//[^\n]*|(?<=["}\]\d])\s+(?=")""", re.DOTALL)
_PAIR = r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
_ESCAPES = re.compile(_PAIR + r"|\\u[\da-fA-F]{4}|\\.?|[\x00-\x1f]", re.DOTALL)


def _mended(text: str) -> bytes:
    """`text` with the slips of models that write JSON by hand put right."""
    return _as_written(_SLIPS.sub(_mend_slip, text))


def _mend_slip(slip: re.Match[str]) -> str:
    if slip[0].startswith('"'):
        return _ESCAPES.sub(_mend, slip[0])
    return "," if slip[0].isspace() else ""  # between two fields one is missing


def loose_texts(text: str, names: Collection[str]) -> dict[str, str]:
    """The texts of a finished object that cannot be read, by `names`; nothing where it was cut off.

    For quotes within that are not escaped, and for what only looks like JSON: single or curly quotes, bare names.
    """
    whole, found = text[thought_end(text) :].strip("` \n"), dict[str, str]()
    marks = list(re.finditer(_LOOSE_NAME.format(names="|".join(names)), whole))
    has_drafts = len({mark["name"] for mark in marks}) < len(marks)  # in each other
    if has_drafts or not whole.endswith("}") or _is_cut(whole):
        return {}
    for mark, end in zip(marks, [*(mark.start() for mark in marks), len(whole)][1:], strict=True):
        if mark["quote"]:
            said = whole[mark.end() : end]
            if (ended := _LOOSE_END.search(said)) is None:
                return {}
            found[mark["name"]] = _LOOSE_ESCAPE.sub(_unescaped, said[: ended.start()])
    return found


def _is_cut(text: str) -> bool:
    """Whether it could be read if it went on."""
    try:
        json.loads(text[_growing_start(text) or 0 :], strict=False)
    except json.JSONDecodeError as exc:
        return exc.msg.startswith("Unterminated string") or len(exc.doc) - exc.pos <= _LONGEST_ESCAPE
    except RecursionError:
        return True
    return False


_LONGEST_ESCAPE = 6
_LOOSE_NAME = r"""(?:^|[\s{{,"'“”‘’])(?P<name>{names})["'”’]?\s*:\s*(?P<quote>["'“‘]?)"""
_LOOSE_END = re.compile(r"""(?<!\\)["'”’]\s*(?://[^\n]*)?[\s,}\]`"'“‘]*\Z""")
_LOOSE_ESCAPE = re.compile(rf"({_PAIR}|\\u[\da-fA-F]{{4}})|\\(.)", re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    if found[1]:
        return str(from_json(_mended(f'["{found[1]}"]'))[0])
    return {"n": "\n", "t": "\t"}.get(found[2], found[2])


def _mend(found: re.Match[str]) -> str:
    escape = found[0]
    if not escape.startswith("\\"):
        return f"\\u{ord(escape):04x}"
    if len(escape) == 6:  # a pair, which is twelve long, is right as it stands
        return "\\ufffd" if escape[2] in "dD" and escape[3] in "89abcdefABCDEF" else escape
    if len(escape) == 12 or escape == "\\" or escape[1] in '"\\/bfnrt':
        return "" if escape == "\\" else escape
    return "\\" + escape
