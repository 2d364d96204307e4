"""Prompts as Markdown files with `$name` placeholders, each named after the function that sends it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


@cache
def load_prompt(name: str) -> Template:
    """The prompt in `core/prompts/<name>.md`; raises `FileNotFoundError` for an unknown one."""
    return Template(files(__package__).joinpath(f"{name}.md").read_text(encoding="utf-8"))
