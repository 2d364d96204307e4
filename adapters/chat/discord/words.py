"""The Discord bot's own words, from one data file; a test keeps the file and its uses the same set."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


def word(key: str, /, **values: object) -> str:
    """The words called `section.name`, with `values` in place of their `{names}`. Raises `KeyError`."""
    section, _, name = key.partition(".")
    text = _words()[section][name]
    return text.format(**values) if values else text


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(files(__package__).joinpath("words.toml").read_text("utf-8"))
