"""`gorkd init`: what is to be connected, asked for and tried one after the other, and kept in `.env`.

A part is kept when its try was right, or nothing answered to try it at; what was wrong is said, and asked for again or
left out. Everything that is asked for can be said by `--set` instead, so that the same works without a terminal.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.console import Console
from rich.text import Text

from adapters.cli.ask import ask_command
from adapters.cli.operator_commands import print_findings
from adapters.cli.running import Exit, OpenResearcher, Operating, Setup, bound, is_wanted, run_command
from core.model.errors import InvalidQuery
from core.pipeline.checkup import FoundServer, is_healthy, no_such_setting
from core.presentation.render import one_line
from core.text.saying import later, say

FIRST_QUESTION = "How is confidence scored?"
SHOWN_MODELS = 6  # of a server's; more are named by typing
_SLACK_STEPS = (
    later(
        "1. Open https://api.slack.com/apps, choose Create New App, then From a manifest, and paste the lines above."
    ),
    later("2. Install App: install it to your workspace, and copy the Bot User OAuth Token (xoxb-…)."),
    later("3. Basic Information, App-Level Tokens: generate one with the scope connections:write (xapp-…)."),
)
_DISCORD_STEPS = (
    later("1. Open https://discord.com/developers/applications and choose New Application."),
    later("2. Bot: copy the token (Reset Token); every Privileged Gateway Intent may stay off."),
)


@dataclass(frozen=True)
class Part:
    """What belongs together and is tried together. `asked` are variables and what to ask for, the first one needed."""

    title: str
    asked: tuple[tuple[str, str], ...]
    probe: str  # the beginning of the finding's name that says whether it works
    steps: tuple[str, ...] = ()
    shows_manifest: bool = False


_SEARCH = (
    Part(later("Tavily (searches the web)"), (("TAVILY_API_KEY", later("API key")),), "search: tavily"),
    Part(later("Exa (searches by meaning)"), (("EXA_API_KEY", later("API key")),), "search: exa"),
    Part(later("SearXNG (your own web search)"), (("SEARXNG_BASE_URL", later("address")),), "search: searxng"),
)
_CHATS = (
    Part("Discord", (("DISCORD_TOKEN", later("bot token")),), "Discord", _DISCORD_STEPS),
    Part(
        "Slack",
        (("SLACK_BOT_TOKEN", later("bot token (xoxb-…)")), ("SLACK_APP_TOKEN", later("app token (xapp-…)"))),
        "Slack",
        _SLACK_STEPS,
        shows_manifest=True,
    ),
)
_MODEL = Part("model", (("OPENAI_BASE_URL", "address"), ("OPENAI_API_KEY", "key"), ("GORKD_MODEL", "model")), "model")


def init_command(operating: Operating, open_researcher: OpenResearcher) -> Callable[..., None]:
    def init(
        *,
        chosen: Annotated[
            list[str],
            typer.Option(
                "--set",
                metavar="NAME=VALUE",
                help="A setting, instead of being asked for it; NAME alone takes it from the environment. Repeatable.",
                show_default=False,
            ),
        ] = [],  # noqa: B006 -- typer's way of an option that may be repeated; it is only read
        question: Annotated[
            str, typer.Option("--ask", metavar="QUESTION", help="The first question.")
        ] = FIRST_QUESTION,
        is_quiet: Annotated[bool, typer.Option("--yes", help="Ask nothing: keep what --set says.")] = False,
    ) -> None:
        def run() -> Coroutine[None, None, Exit]:
            return _init(operating.setup(), chosen, is_asking=not is_quiet)

        try:
            run_command(run)
        except typer.Exit as ended:
            if ended.exit_code != Exit.ANSWERED or not question.strip():
                raise
        bound(ask_command, open_researcher)(question=[question])

    return init


async def _init(setup: Setup, chosen: Sequence[str], *, is_asking: bool) -> Exit:
    """Raises `InvalidQuery` for a setting that does not exist, and where nobody can be asked."""
    given = _given(chosen, setup)
    if is_asking and not sys.stdin.isatty():
        raise InvalidQuery(
            say("There is no terminal to ask at: say --yes, and what to keep with --set NAME=VALUE."), rule="what"
        )
    console = Console(highlight=False)
    talk = _Talk(console, setup, {**setup.kept, **given})
    if is_asking:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # the loop's own would wait for Enter
        console.print(
            say(
                "Each part is tried at once and kept in {file}. Enter leaves a part out; none is needed.",
                file=setup.file,
            )
        )
        await _ask_for_model(talk)
        talk.head(say("Web search"))
        for part in _SEARCH:
            await _ask_for(talk, part)
        talk.head(say("Chats"))
        for part in _CHATS:
            await _ask_for(talk, part)
    console.print()
    if given or talk.found:
        setup.keep(given)
        console.print(say("Kept in {file}, which only you can read.", file=setup.file))
    console.print(say("Everything together:") + "\n")
    findings = await setup.examine({}, "")
    print_findings(console, findings)
    if not is_healthy(findings):
        console.print("\n" + say("What failed above stands in docs/configuration.md; `gorkd doctor` tries it again."))
    console.print("\n" + say("The first question; `gorkd all` then starts the pages and the chats.") + "\n")
    return Exit.ANSWERED


def _given(chosen: Sequence[str], setup: Setup) -> dict[str, str]:
    given = {}
    for setting in chosen:
        name, is_said, value = setting.partition("=")
        if name not in setup.variables:
            raise InvalidQuery(no_such_setting(one_line(name), setup.variables), rule="what")
        if "\n" in value or "\r" in value:
            raise InvalidQuery(say("{name} must be one line.", name=name), rule="what")
        given[name] = value if is_said else setup.kept.get(name, "")
    return {name: value.strip() for name, value in given.items() if value.strip()}


@dataclass
class _Talk:
    """`known` are the settings of before and of now, `found` those of now that nobody has refused."""

    console: Console
    setup: Setup
    known: dict[str, str]
    found: dict[str, str] = field(default_factory=dict)

    def head(self, title: str) -> None:
        self.console.print(Text(f"\n{title}", "bold"))

    def ask(self, what: str, *, is_secret: bool = False) -> str:
        said: str = typer.prompt(f"  {what}", default="", show_default=False, hide_input=is_secret)
        return said.strip()

    async def is_right(self, values: Mapping[str, str], part: Part) -> bool:
        """Try what was said, show what was found, and keep it unless it was refused."""
        findings = await self.setup.examine(values, part.probe)
        print_findings(self.console, findings)
        failed = [one for one in findings if one.state == "failed"]
        if any(not one.is_away for one in failed):
            return False
        if failed:
            kept = say("Kept untried; `gorkd doctor` tries it again.")
            self.console.print(f"  {kept}", soft_wrap=True)
        self.found |= values
        self.setup.keep(values)
        return True


async def _ask_for(talk: _Talk, part: Part) -> None:
    """Until it works or is left out."""
    first = part.asked[0][0]
    if talk.known.get(first):
        talk.console.print(
            "  " + say("{part}: {setting} is set already and stays.", part=say(part.title), setting=first)
        )
        return
    if part.steps and not is_wanted("  " + say("Connect {part}?", part=say(part.title))):
        return
    if part.shows_manifest:
        talk.console.print(Text(f"\n{talk.setup.manifest}"), soft_wrap=True)
    for step in part.steps:
        talk.console.print(f"  {say(step)}", soft_wrap=True)
    while True:
        values: dict[str, str] = {}
        for variable, what in part.asked:
            label = say(what) if part.steps else f"{say(part.title)}, {say(what)}"
            if value := talk.ask(label, is_secret=not variable.endswith("_URL")):
                values[variable] = _with_scheme(value) if variable.endswith("_URL") else value
            else:
                return
        if await talk.is_right(values, part):
            return


async def _ask_for_model(talk: _Talk) -> None:
    talk.head(say("Language model"))
    if any(talk.known.get(name) for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")):
        talk.console.print("  " + say("One is set already and stays."))
        return
    servers = await talk.setup.find_servers()
    for number, server in enumerate(servers, 1):
        shown = [one_line(name) for name in server.models[:SHOWN_MODELS]]
        more = ["…"] if len(server.models) > SHOWN_MODELS else []
        models = ", ".join([*shown, *more]) or say("no model loaded")
        line = say("{server} at {url}: {models}", server=one_line(server.name), url=server.url, models=models)
        talk.console.print(f"  {number}  {line}", soft_wrap=True)
    if not servers:
        talk.console.print("  " + say("No Ollama, llama.cpp, LM Studio, vLLM or Jan answers on this machine."))
    talk.console.print("  k  " + say("a key of OpenAI's"), soft_wrap=True)
    talk.console.print("  u  " + say("the address of any other OpenAI-compatible endpoint"), soft_wrap=True)
    while True:
        choice = talk.ask(say("Which (Enter for none: answers are then quoted)"))
        if not choice:
            return
        values = _model_settings(talk, choice, servers)
        if values and await talk.is_right(values, _MODEL):
            return
        if values is None:
            talk.console.print("  " + say("{choice} is none of these.", choice=one_line(choice)), markup=False)


def _model_settings(talk: _Talk, choice: str, servers: Sequence[FoundServer]) -> dict[str, str] | None:
    """None where the choice is none, {} where nothing was said of it. Names will do: `ollama`, `openai`."""
    named = {"openai": "k", "key": "k", "address": "u", "url": "u"}
    named |= {server.name.casefold(): str(number) for number, server in enumerate(servers, 1)}
    choice = named.get(choice.casefold(), choice.casefold())
    if choice.isdecimal() and 1 <= int(choice) <= len(servers):
        server = servers[int(choice) - 1]
        first = server.models[0] if server.models else ""
        asked = f"{say('model')} [{one_line(first)}]" if first else say("model")
        model = (talk.ask(asked) if len(server.models) != 1 else "") or first
        return {"OPENAI_BASE_URL": server.url, "GORKD_MODEL": model} if model else {}
    if choice == "k":
        return _filled({"OPENAI_API_KEY": talk.ask(say("key (sk-…)"), is_secret=True)})
    if choice == "u":
        url = _with_scheme(talk.ask(say("address, such as https://host/v1")))
        url += "/v1" if url and not urlsplit(url).path else ""  # as nearly all such addresses end
        key = talk.ask(say("key, Enter for none"), is_secret=True)
        return _filled({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key, "GORKD_MODEL": talk.ask(say("model"))})
    return None


def _with_scheme(address: str) -> str:
    """As people write addresses: without a scheme it is http on this machine or at a number, else https."""
    if not address or "://" in address:
        return address
    host = address.partition("/")[0].partition(":")[0]
    return f"{'http' if host == 'localhost' or host.replace('.', '').isdecimal() else 'https'}://{address}"


def _filled(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}
