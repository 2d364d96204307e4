"""The table of the commands of `gorkd`. Everything they need is handed in: nothing here reads the environment.

A command is imported when it is called or looked at, so that the list of them and `--version` cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from core.text.saying import say

if TYPE_CHECKING:
    from adapters.cli.running import OpenResearcher, Operating

Command = Callable[..., None] | typer.Typer

# The module beside this one that has its `<name>_command`, or those below it by name, and what it does, first in one
# line.
_ASKING = {
    "ask": ("ask", "Answer one question from sources that are read and cited."),
    "retry": ("ask", "Ask the question of a failed job again, from what it had found."),
    "refresh": ("ask", "Research the question of an answer anew, at most once a day."),
    "improve": ("ask", "Give a better answer to the same question.\n\nFrom what was found and more, minding a wish."),
    "section": (
        "section",
        "Write one section of a paper from the library.\n\n"
        "It cites BibTeX keys, and every sentence is checked against what it cites.",
    ),
    "paper": ("section", "Write all sections of a paper, with the same BibTeX keys."),
    "refs": (
        "section",
        "Check the references of a file.\n\n"
        "Whether each exists, matches its record, was retracted, and says what it is cited for.",
    ),
    "watch": (
        "watch",
        "Watch an answer, and be told when it means something else.\n\nA worker looks: `gorkd all` or `gorkd worker`.",
    ),
}
_OPERATING = {
    "trace": ("operator_commands", "Print what a job did, step by step.\n\nWith durations, tokens and cost."),
    "doctor": ("operator_commands", "Try every configured part, and say what to do."),
    "upgrade-check": ("operator_commands", "Say what the first start of this version will migrate."),
    "forget": (
        "operator_commands",
        "Remove questions and answers for good.\n\nWith their sources and traces; what still runs is cancelled.",
    ),
    "cache": ("operator_commands", "Look at the answers that may be given again."),
    "link": (
        "operator_commands",
        "Print the address of a job's page.\n\nIt is signed where the job is private; such links can be taken back.",
    ),
    "export": (
        "receipts",
        "Write an answer to a file.\n\nAs Markdown, or as a receipt that anybody can check without this server.",
    ),
    "verify": (
        "receipts",
        "Check a receipt, offline.\n\nHashes, quotes, rules and signature; with --live also what pages say today.",
    ),
    "eval": (
        "evaluating",
        "Ask your own questions, and check the answers.\n\nRepeatable, and with what changed since the last run.",
    ),
    "stats": (
        "settings",
        "Print how gorkd is used.\n\nQuestions, latency, confidence, votes, cost, cache hits and failures.",
    ),
    "chat": ("chat", "Talk with your library of papers.\n\nFind, research, open, improve, save; `help` says the rest."),
    "library": ("library", "Add papers to the library that questions are answered from, and look after it."),
    "settings": ("settings", "What a workspace or server has set for itself."),
}


_INIT = "Connect a model, search and chats, step by step.\n\nEach is tried at once and kept in .env."


@dataclass(frozen=True)
class _Entry:
    """`make` gives the command's function, or the commands below it."""

    help: str
    make: Callable[[], Command]


def build_app(
    open_researcher: OpenResearcher,
    run_process: Callable[[str], None],
    processes: Mapping[str, str],
    operating: Callable[[], Operating] | None = None,
    run_mcp: Callable[[bool], None] | None = None,
) -> typer.Typer:
    """`processes` maps a command (`all`, `web`, …) to its help, first in one line; `run_process` runs the named one.

    Without `operating` there are no commands to look after an installation; `run_mcp` serves tools, over HTTP if True.
    """
    entries = {
        name: _Entry(said, partial(_imported, module, name, lambda: open_researcher))
        for name, (module, said) in _ASKING.items()
    }
    entries |= {name: _Entry(said, partial(_process, name, run_process)) for name, said in processes.items()}
    if run_mcp is not None:
        said = "Serve research as tools to other programs over MCP.\n\nThey research, read papers and check references."
        entries["mcp"] = _Entry(said, partial(_mcp, run_mcp))
    if operating is not None:
        entries = {"init": _Entry(_INIT, partial(_init, operating, open_researcher)), **entries}
        entries |= {
            name: _Entry(said, partial(_imported, module, name, operating))
            for name, (module, said) in _OPERATING.items()
        }

    class Commands(_Commands):
        table = entries

    app = typer.Typer(
        name="gorkd",
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_gorkd)
    return app


class _Commands(TyperGroup):
    """Lists commands by their help alone."""

    table: Mapping[str, _Entry]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _translate(self)
        self.commands = _Made(self.table)  # type: ignore[assignment]  # it is only read

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """`help ask` is `ask --help`."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A question without a command is told from a mistyped command by its blanks or its mark."""
        if args and args[0] not in self.table and (" " in args[0] or args[-1].endswith("?")):
            meant = f'gorkd ask "{" ".join(args)}"'
            typer.echo(f"gorkd: {say('No such command. Did you mean: {command}', command=meant)}", err=True)
            ctx.exit(2)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: object) -> list[str]:
        return list(self.table)

    def format_commands(self, ctx: object, formatter: Any) -> None:
        with formatter.section(say("Commands")):
            formatter.write_dl([(name, say(entry.help).partition("\n")[0]) for name, entry in self.table.items()])


class _Made(Mapping[str, object]):
    """Makes a command when somebody asks for it."""

    def __init__(self, table: Mapping[str, _Entry]) -> None:
        self._table = table

    def __getitem__(self, name: str) -> object:
        entry = self._table[name]
        made, app = entry.make(), typer.Typer(add_completion=False, rich_markup_mode=None)
        if isinstance(made, typer.Typer):
            app.add_typer(made, name=name, help=entry.help)
        else:
            app.command(name, help=entry.help)(made)
        found = get_command(app)
        command = found.commands[name] if isinstance(found, TyperGroup) else found
        for one in (command, *(command.commands.values() if isinstance(command, TyperGroup) else ())):
            _translate(one)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


_Formatter: Any = typer.Context.formatter_class  # of the library below Typer, which gives it no other name


class _Help(_Formatter):  # type: ignore[misc]
    """Typer's own words in the language spoken."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, prefix or say("Usage: "))

    def section(self, name: str) -> Any:
        return super().section(say(_TYPERS.get(name, "")) or name)

    def write_dl(self, rows: Sequence[tuple[str, str]], *more: Any, **settings: Any) -> None:
        required, default = f"[{say('required')}]", f"[{say('default')}: "
        said = [
            (one, say(_TYPERS.get(told, "")) or told.replace("[required]", required).replace("[default: ", default))
            for one, told in rows
        ]
        super().write_dl(said, *more, **settings)


_TYPERS = {word: word for word in ("Arguments", "Commands", "Options", "Show this message and exit.")}


class _Context(typer.Context):
    formatter_class = _Help


def _translate(command: Any) -> None:
    """Help stands in the code in English; tests/tables/catalogues.py finds it where this does."""
    command.context_class = _Context
    command.help = say(command.help or "")
    for parameter in command.params:
        if getattr(parameter, "help", ""):
            parameter.help = say(parameter.help)
        if parameter.param_type_name == "argument":  # its name says more than Python's type of it
            parameter.display_type_rich = lambda ctx: ""


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"gorkd {version_of('gorkd')}")
        raise typer.Exit


def _gorkd(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Research a question and answer it with citations that are true."""


def _imported(module: str, name: str, given: Callable[[], object]) -> Command:
    from adapters.cli.running import bound

    found = getattr(import_module(f"adapters.cli.{module}"), f"{name.replace('-', '_')}_command")
    if not isinstance(found, Mapping):
        return bound(found, given())
    works_with, group = given(), typer.Typer(no_args_is_help=True)
    for below, command in found.items():
        group.command(below)(bound(command, works_with))
    return group


def _init(operating: Callable[[], Operating], open_researcher: OpenResearcher) -> Command:
    from adapters.cli.init import init_command

    return init_command(operating(), open_researcher)


def _process(name: str, run_process: Callable[[str], None]) -> Command:
    from adapters.cli.running import serve

    return lambda: serve(lambda: run_process(name))


def _mcp(run_mcp: Callable[[bool], None]) -> Command:
    from adapters.cli.running import serve

    def mcp(
        *,
        http: Annotated[
            bool, typer.Option("--http", help="Over streamable HTTP at HOST and PORT, with a token.")
        ] = False,
    ) -> None:
        serve(lambda: run_mcp(http))

    return mcp
