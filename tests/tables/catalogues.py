"""What the product says, as messages for translators: `core/locale/*.po`, one file a language.

Collected from the code, where `say` and `say_many` (core/text/saying.py) are called: literals, and the constants and
tables that are handed to them. What is new comes in without a translation, what is said no more goes out.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment
from jinja2.ext import extract_from_ast
from typer.main import get_command

from adapters.cli.app import build_app
from bots.__main__ import PROCESSES
from core.presentation import wording
from core.text.saying import ENGLISH, LANGUAGES, REASONS

ROOT = Path(__file__).resolve().parents[2]
LOCALES = ROOT / "core" / "locale"
FLOORS = ("core", "adapters", "bots")
SAYING = ("say", "say_many", "later")

Message = str | tuple[str, str]  # the second has its plural form


class CannotTell(Exception):
    """Something is said that cannot be looked up: neither a literal nor a constant."""


@cache
def messages() -> Mapping[Message, str]:
    """Every message, and the file that says it."""
    found: dict[Message, str] = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            if "from core.text.saying import" in path.read_text("utf-8"):
                found |= dict.fromkeys(_said_in(path), path.relative_to(ROOT).as_posix())
    for path in sorted((ROOT / "adapters").rglob("*.html")):
        told = extract_from_ast(Environment(autoescape=True).parse(path.read_text("utf-8")), SAYING)
        for _, name, said in told:
            pieces = [piece for piece in ([said] if isinstance(said, str) else said or ()) if piece]
            if pieces:
                message = (pieces[0], pieces[1]) if name == "say_many" else pieces[0]
                found[message] = path.relative_to(ROOT).as_posix()
        for name in re.findall(r"say\(words\.([A-Z_]+)\)", path.read_text("utf-8")):
            found[getattr(wording, name)] = path.relative_to(ROOT).as_posix()
    found |= dict.fromkeys(REASONS, "core/text/saying.py")
    found |= {text: "adapters/cli/app.py" for text in _helps() if text}
    return found


def _helps() -> Iterator[str]:
    """The help of every command and option at the terminal."""
    nothing = partial(build_app, lambda: None, lambda name: None, PROCESSES)  # type: ignore[arg-type, return-value]
    group: Any = get_command(nothing(operating=lambda: None, run_mcp=lambda is_http: None))  # type: ignore[arg-type, return-value]
    for command in [group, *(group.commands[name] for name in group.table)]:
        for one in (command, *getattr(command, "commands", {}).values()):
            yield one.help or ""
    for path in sorted((ROOT / "adapters" / "cli").rglob("*.py")):
        for node in _nodes(path):
            if isinstance(node, ast.keyword) and node.arg == "help" and isinstance(node.value, ast.Constant):
                yield str(node.value.value)


@cache
def catalogue(language: str) -> Catalog:
    with (LOCALES / f"{language}.po").open("rb") as opened:
        return read_po(opened, locale=language)


def write_catalogues() -> None:
    """Of each language what is said now, with the translations that are known."""
    for language in (code for code in LANGUAGES if code != ENGLISH):
        path = LOCALES / f"{language}.po"
        known = catalogue(language) if path.exists() else Catalog(locale=language)
        fresh = Catalog(locale=language, header_comment=known.header_comment)
        for said in messages():
            before = known.get(said if isinstance(said, str) else said[0])
            is_same = before is not None and before.id == said
            fresh.add(said, before.string if before is not None and is_same else None)
        store(fresh, path)


def store(known: Catalog, path: Path) -> None:
    """By message, without what changes with every writing."""
    written = BytesIO()
    write_po(written, known, width=116, sort_output=True)
    lines = written.getvalue().decode().splitlines()
    kept = ("MIME-Version", "Content-", "Language:", "Plural-Forms")
    header = [line for line in lines[: lines.index("")] if line[:1] != '"' or line[1:].startswith(kept)]
    told = [line for line in header if line != "#, fuzzy"]
    path.write_text("\n".join([*told, *lines[lines.index("") :]]) + "\n", encoding="utf-8")


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of a file, itself first: it is gone through once for all questions."""
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


def _said_in(path: Path) -> Iterator[Message]:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    functions = [node for node in _nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = {
        alias.asname or alias.name: alias.name
        for node in _nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module == "core.text.saying"
        for alias in node.names
        if alias.name in SAYING
    }
    for call in _nodes(path):
        name = names.get(getattr(call.func, "id", ""), "") if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or not name:
            continue
        around = [one for one in functions if one.lineno <= call.lineno <= (one.end_lineno or 0)]
        scope = around[-1] if around else _nodes(path)[0]  # the innermost, which is walked to last
        try:
            if name != "say_many":
                yield from _resolved(call.args[0], module, scope)
            else:
                yield from zip(*(list(_resolved(one, module, scope)) for one in call.args[:2]), strict=True)
        except CannotTell as unknown:
            raise CannotTell(f"{path.relative_to(ROOT)}:{call.lineno}: {unknown}") from None


def _resolved(node: ast.expr, module: ModuleType, scope: ast.AST) -> Iterator[str]:
    """Every text that an expression may be."""
    match node:
        case ast.Constant(str(text)):
            yield from _texts(text)
        case ast.IfExp(body=one, orelse=other) | ast.Call(func=ast.Attribute(value=one, attr="get"), args=[_, other]):
            yield from _resolved(one, module, scope)
            yield from _resolved(other, module, scope)
        case ast.BoolOp(values=values) | ast.Dict(values=values) | ast.Tuple(elts=values):
            for value in values:
                yield from _resolved(value, module, scope)
        case ast.Subscript(value=table) | ast.Call(func=ast.Attribute(value=table, attr="get" | "items" | "values")):
            yield from _resolved(table, module, scope)
        case ast.Attribute(value=ast.Name(owner), attr=name) if not hasattr(module, owner):
            yield from _class_texts(name)
        case ast.Call(func=ast.Name(name), args=[]):  # what reads a table
            yield from _texts(getattr(module, name)())
        case ast.Name(name) if not hasattr(module, name):
            yield from _assigned(name, module, scope)
        case ast.Attribute(value=ast.Subscript()):
            return
        case ast.Attribute(value=ast.Name(name)) if not hasattr(module, name):
            return  # of a row of a table, which marks what it says with `later`
        case ast.Name() | ast.Attribute():
            yield from _texts(_value(node, module))
        case _:
            raise CannotTell(ast.unparse(node))


def _assigned(name: str, module: ModuleType, scope: ast.AST) -> Iterator[str]:
    """What a local name is assigned, or goes through."""
    values: list[ast.expr] = []
    for inner in ast.walk(scope):
        for target in inner.targets if isinstance(inner, ast.Assign) else ():
            if isinstance(target, ast.Name) and target.id == name:
                values.append(inner.value)
            elif isinstance(target, ast.Tuple) and isinstance(inner.value, ast.Tuple):
                pairs = zip(target.elts, inner.value.elts, strict=True)
                values += [value for one, value in pairs if isinstance(one, ast.Name) and one.id == name]
    values += [
        inner.iter
        for inner in ast.walk(scope)
        if isinstance(inner, ast.For | ast.comprehension)
        and any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(inner.target))
    ]
    if not values:
        raise CannotTell(name)
    for value in values:
        yield from _resolved(value, module, scope)


def _value(node: ast.expr, module: ModuleType) -> object:
    if isinstance(node, ast.Name):
        return getattr(module, node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, module), node.attr)
    raise CannotTell(ast.unparse(node))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        if any(char.isalpha() for char in value):
            yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    else:
        raise CannotTell(repr(value))


def _class_texts(name: str) -> tuple[str, ...]:
    """What any class says under this name."""
    return tuple(
        text
        for node, said in _of_classes()
        if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))
        for text in _texts(said or "")
    )


@cache
def _of_classes() -> list[tuple[ast.stmt, Any]]:
    """What the classes of the house assign once for all, and the constant."""
    return [
        (node, node.value.value)
        for floor in FLOORS
        for path in sorted((ROOT / floor).rglob("*.py"))
        for owner in _nodes(path)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant)
    ]
