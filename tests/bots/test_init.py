"""`gorkd init` at a terminal and by flags, against the loopback model, search and Slack (N-26)."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import stat
import termios
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import Console

from adapters.cli.init import _SEARCH, _ask_for, _ask_for_model, _init, _Talk
from adapters.cli.running import Exit, Setup
from adapters.llm.probe import find_servers
from core.pipeline.checkup import Finding, FoundServer
from tests.commands import Running, start
from tests.loopback.openai_world import openai_world
from tests.loopback.slack_state import APP_TOKEN, BOT_TOKEN
from tests.loopback.slack_world import SlackWorld
from tests.loopback.world import SitePage, World
from tests.servers import free_port

LIGHTHOUSE = {"/lighthouse": SitePage("Lighthouse", "A lighthouse is a tower with a light that warns ships of rocks.")}


class Terminal:
    """A person at a terminal in `folder`: reads until something stands there, and types."""

    def __init__(self) -> None:
        self.shown = ""
        self._keyboard, self.screen = pty.openpty()
        mode = termios.tcgetattr(self.screen)
        mode[1] &= ~termios.ONLCR
        termios.tcsetattr(self.screen, termios.TCSANOW, mode)

    async def until(self, text: str) -> str:
        """What was shown up to `text`, which is then taken as read."""
        async with asyncio.timeout(50):
            while text not in self.shown:
                self.shown += (await asyncio.to_thread(os.read, self._keyboard, 65536)).decode()
        before, _, self.shown = self.shown.partition(text)
        return before

    async def told(self, question: str, line: str, reply: str = "") -> str:
        """What stood before `question`, to which `line` is typed; `reply` is shown then."""
        before = await self.until(question)
        os.write(self._keyboard, f"{line}\n".encode())
        if reply:
            await self.until(reply)
        return before

    def close(self) -> None:
        os.close(self.screen)
        os.close(self._keyboard)


# As `gorkd …` typed in a folder: whose `.env` is read and written there, and at a terminal where one is named.
TYPED = """
import os, runpy, sys
folder, terminal, *sys.argv[1:] = sys.argv[1:]
os.chdir(folder)
if terminal:
    screen = os.open(terminal, os.O_RDWR)
    for number in range(3):
        os.dup2(screen, number)
    sys.stdout.reconfigure(line_buffering=True)
runpy.run_module("bots", run_name="__main__", alter_sys=True)
"""


async def run(folder: Path, *arguments: str, env: Mapping[str, str], at: str = "") -> Running:
    """`gorkd …` in `folder`; `at` is a terminal's name."""
    return await start(TYPED, str(folder), at, *arguments, env={"COLUMNS": "100", "TERM": "dumb", **env}, module="-c")


def outside(world: World, folder: Path) -> dict[str, str]:
    """The outside of who has nothing yet: where services are, and none of their keys."""
    env = world.env(folder / "data", "tavily", "wikipedia", "pubmed", "arxiv", "europepmc")
    return {name: value for name, value in env.items() if name != "TAVILY_API_KEY"} | {"PORT": "0"}


@asynccontextmanager
async def typed_into(folder: Path, *args: str, env: Mapping[str, str]) -> AsyncIterator[tuple[Terminal, Process]]:
    """`gorkd …` with somebody at its terminal; fails with what stands there when it says nothing more."""
    terminal = Terminal()
    process = await run(folder, *args, env=env, at=os.ttyname(terminal.screen))
    try:
        yield terminal, process
    except TimeoutError:
        pytest.fail(f"it stays at: {terminal.shown[-800:]}")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        terminal.close()


async def test_who_has_nothing_is_led_to_the_first_answer(tmp_path: Path) -> None:
    """A wrong token is said and asked for again; what works is kept, closed to others, and never shown."""
    async with World.of(LIGHTHOUSE) as world, SlackWorld.open() as slack:
        key = world.env(tmp_path, "tavily")["TAVILY_API_KEY"]
        world.model.respond = '{"word": "ready"}'
        env = outside(world, tmp_path) | {"SLACK_API_BASE_URL": f"{slack.url}/api/"}
        del env["GORKD_PROVIDERS"]  # as chosen by what is connected
        async with typed_into(tmp_path, "init", "--ask", "What is a lighthouse?", env=env) as (terminal, process):
            await terminal.told("quoted): ", "x", "x is none of these")
            await terminal.told("quoted): ", "OpenAI")
            await terminal.told("key (sk-…): ", "")
            assert "none of these" not in await terminal.told("quoted): ", "u")
            await terminal.told("https://host/v1: ", world.model.url.removeprefix("http://").removesuffix("/v1"))
            await terminal.told("key, Enter for none: ", "sk-test-0123456789")
            await terminal.told("model: ", "loop-1", "answers with structured output")
            await terminal.told("Tavily (searches the web), API key: ", "tvly-größe", "no key has")
            await terminal.told("Tavily (searches the web), API key: ", "tvly-wrong-0123456789", "FAIL")
            await terminal.told("Tavily (searches the web), API key: ", key, "ok")
            await terminal.told("Exa (searches by meaning), API key: ", "")
            await terminal.told("SearXNG (your own web search), address: ", "")
            await terminal.told("Connect Discord? [y/N]: ", "")
            await terminal.told("Connect Slack? [y/N]: ", "y")
            manifest = await terminal.told("bot token (xoxb-…): ", BOT_TOKEN)
            await terminal.told("app token (xapp-…): ", APP_TOKEN)
            await terminal.until("both tokens are accepted")
            shown = await terminal.until("What is a lighthouse?")
            await asyncio.wait_for(process.wait(), 60)

    kept = (tmp_path / ".env").read_text("utf-8")
    assert "agent_view" in manifest
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    for value in (world.model.url, key, BOT_TOKEN, APP_TOKEN, "loop-1"):
        assert value in kept
    assert "tvly-wrong" not in kept
    assert "FAIL" not in shown
    assert [secret for secret in (key, BOT_TOKEN, APP_TOKEN, "sk-test-0123456789") if secret in manifest + shown] == []


async def test_an_interrupt_ends_it_at_once_and_what_worked_is_kept(tmp_path: Path) -> None:
    """As it says when it begins: each part is kept as soon as it is tried."""
    async with World.of(LIGHTHOUSE) as world:
        key = world.env(tmp_path, "tavily")["TAVILY_API_KEY"]
        async with typed_into(tmp_path, "init", env=outside(world, tmp_path)) as (terminal, process):
            await terminal.told("quoted): ", "")
            await terminal.told("Tavily (searches the web), API key: ", key)
            await terminal.until("Exa (searches by meaning), API key: ")
            process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), 30)

    assert process.returncode == 1
    assert key in (tmp_path / ".env").read_text("utf-8")


async def test_by_flags_nothing_is_asked_and_other_lines_stay(tmp_path: Path) -> None:
    """A name alone takes its value from the environment, so that a secret stands in no list of processes."""
    (tmp_path / ".env").write_text("# mine\nGORKD_LOG_LEVEL=warning\n", "utf-8")
    async with World.of(LIGHTHOUSE) as world:
        env = outside(world, tmp_path) | world.env(tmp_path / "data", "tavily") | {"PORT": "0"}
        arguments = ("--yes", "--ask", "What is a lighthouse?", "--set", "TAVILY_API_KEY", "--set", "GORKD_TOP=x")
        refused = await run(tmp_path, "init", *arguments, env=env)
        out, err = await asyncio.wait_for(refused.communicate(), 60)
        assert refused.returncode == 2, out
        assert "There is no setting GORKD_TOP" in err.decode()

        process = await run(tmp_path, "init", *arguments[:5], env=env)
        out, err = await asyncio.wait_for(process.communicate(), 60)

    kept = (tmp_path / ".env").read_text("utf-8")
    assert process.returncode == 0, (out + err).decode()
    assert kept.startswith("# mine\nGORKD_LOG_LEVEL=warning\n")
    assert env["TAVILY_API_KEY"] in kept
    assert env["TAVILY_API_KEY"] not in (out + err).decode()
    assert "tower with a light" in " ".join(out.decode().split())


async def test_without_a_terminal_the_flags_are_named(tmp_path: Path) -> None:
    process = await run(tmp_path, "init", env={"GORKD_DATA": str(tmp_path / "data")})
    _, err = await asyncio.wait_for(process.communicate(), 60)

    assert process.returncode == 2
    assert "--yes" in err.decode()
    assert not (tmp_path / ".env").exists()


@pytest.mark.parametrize("is_there", [True, False], ids=["answering", "nobody there"])
async def test_a_server_of_models_on_this_machine_is_found(is_there: bool) -> None:
    """By the port that it listens on as it comes, with the models it names."""
    async with openai_world() as model:
        port = int(model.url.removesuffix("/v1").rpartition(":")[2]) if is_there else free_port()

        model.models = {"qwen3:4b"}
        found = await find_servers({"Ollama": port})

    there = FoundServer("Ollama", f"http://127.0.0.1:{port}/v1", ("qwen3:4b",))
    assert found == ([there] if is_there else [])


async def test_what_cannot_be_tried_is_kept_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """N-26: as without a network; the first question is asked all the same."""
    kept: dict[str, str] = {}

    async def examine(values: Mapping[str, str], part: str) -> list[Finding]:
        return [Finding("search tavily", "failed", "not to be reached"), Finding("records", "ok", "")]

    async def no_servers() -> list[FoundServer]:
        return []

    setup = Setup(tmp_path / ".env", {}, frozenset({"TAVILY_API_KEY"}), kept.update, examine, no_servers, "")

    assert await _init(setup, ["TAVILY_API_KEY=tvly-given"], is_asking=False) is Exit.ANSWERED
    assert kept == {"TAVILY_API_KEY": "tvly-given"}
    said = " ".join(capsys.readouterr().out.split())
    assert "not to be reached" in said
    assert "`gorkd doctor` tries it again" in said


class Typing(_Talk):
    """A person who types these lines, one for each question, and is asked no more of them."""

    lines: list[str]

    def ask(self, what: str, *, is_secret: bool = False) -> str:
        return self.lines.pop(0)


@pytest.mark.parametrize("is_away", [True, False], ids=["nothing answers", "refused"])
async def test_what_is_typed_stays_where_nothing_answers(
    is_away: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """N-26: asked once and kept, so that the rest is asked too; what was refused is asked for again."""

    async def examine(values: Mapping[str, str], part: str) -> list[Finding]:
        return [Finding(part, "failed", "Tavily says no.", is_away=is_away)]

    async def no_servers() -> list[FoundServer]:
        return []

    setup = Setup(tmp_path / ".env", {}, frozenset(), lambda values: None, examine, no_servers, "")
    talk = Typing(Console(), setup, {})
    talk.lines = ["tvly-typed", ""]

    await _ask_for(talk, _SEARCH[0])

    assert talk.found == ({"TAVILY_API_KEY": "tvly-typed"} if is_away else {})
    assert talk.lines == ([""] if is_away else [])
    assert ("Kept untried" in capsys.readouterr().out) is is_away


@pytest.mark.parametrize(
    ("lines", "model"), [(["1", "", ""], ""), (["1", "qwen3:4b"], "qwen3:4b")], ids=["nothing said", "named"]
)
async def test_a_server_without_a_model_is_kept_only_with_the_name_of_one(
    lines: list[str], model: str, tmp_path: Path
) -> None:
    """Else the default of OpenAI's would be asked of it."""

    async def examine(values: Mapping[str, str], part: str) -> list[Finding]:
        return [Finding(part, "ok", "")]

    async def empty_server() -> list[FoundServer]:
        return [FoundServer("Ollama", "http://ollama/v1", ())]

    setup = Setup(tmp_path / ".env", {}, frozenset(), lambda values: None, examine, empty_server, "")
    talk = Typing(Console(), setup, {})
    talk.lines = list(lines)

    await _ask_for_model(talk)

    assert talk.found == ({"OPENAI_BASE_URL": "http://ollama/v1", "GORKD_MODEL": model} if model else {})
    assert talk.lines == []


@pytest.mark.parametrize("typed", ["2", "lm studio", "LM Studio"])
async def test_a_server_is_chosen_by_its_number_or_its_name(typed: str, tmp_path: Path) -> None:
    """N-26: as it stands in the list, in any case."""

    async def examine(values: Mapping[str, str], part: str) -> list[Finding]:
        return [Finding(part, "ok", "")]

    async def two_servers() -> list[FoundServer]:
        return [FoundServer(name, f"http://{name[:2]}/v1", ("loop-1",)) for name in ("Ollama", "LM Studio")]

    talk = Typing(
        Console(), Setup(tmp_path / ".env", {}, frozenset(), lambda values: None, examine, two_servers, ""), {}
    )
    talk.lines = [typed]

    await _ask_for_model(talk)

    assert talk.found == {"OPENAI_BASE_URL": "http://LM/v1", "GORKD_MODEL": "loop-1"}
