"""`gorkd chat`: a conversation with the library at a terminal, in S000's panels."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from adapters.cli.ask import print_standing
from adapters.cli.library import files_in
from adapters.cli.running import Chatting, Exit, Operating, read_file, say
from core.library import wording
from core.library.paper import shelves_of, with_marks
from core.library.session import SaidToLibrary, Speaker, next_steps
from core.library.states import Addition, Incoming, read_addition
from core.model.errors import GorkdError, InvalidQuery
from core.model.job import LOCAL
from core.presentation.render import one_line, printable
from core.text.saying import say as said_so

RESULTS = "results"  # below the data folder, as S000 has it
PAPERS = "papers"
THREAD = "terminal"
PROMPT = "You: "
VIEWER_S = 3.0  # after which a program that was to show a paper is taken to be the viewer itself
_LATER_STAGES = tuple(line.split("{")[0] for line in (wording.STAGE_2, wording.STAGE_3))  # S000 parts them by a line
_FILES = frozenset({".pdf", ".md", ".txt", ".bib", ".ris", ".json", ".docx"})
_LEAVE = frozenset({"exit", "quit", "bye"})
_SLASH = re.compile(r"^/(?=[A-Za-z]+(?:\s|$))")  # as other programs want it before a command; a path has another
_TO_LIBRARY = re.compile(r"\s+(?:to|into)\s+(?:\w+\s+)?library\W*$", re.IGNORECASE)
_NO_NAME = re.compile(r"[^\w.-]+")


async def chat_command(
    operating: Operating,
    *,
    thread: Annotated[
        str, typer.Option("--thread", metavar="NAME", help="Go on with the conversation of that name.")
    ] = THREAD,
) -> Exit:
    console = Console(highlight=False)
    is_person = sys.stdin.isatty()
    async with operating.open_chatting() as chatting:
        if is_person:
            console.print(
                Text(said_so("Ask your papers: research <query>. `help` shows the rest, Ctrl-D ends."), style="dim")
            )
        speaker = Speaker(LOCAL, f"cli:{thread.strip() or THREAD}", is_admin=True)
        while (line := await _next_line(is_person=is_person)) is not None:
            if line.casefold() in _LEAVE:
                break
            if line:
                await _answer(console, chatting, speaker, line, is_person=is_person)
        if is_person:
            console.print()
    return Exit.ANSWERED


async def _next_line(*, is_person: bool) -> str | None:
    """What is typed next; None at the end of the input.

    A thread of its own waits for it, and nobody for the thread: Ctrl-C must not hang until Enter is pressed.
    """
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str | None] = loop.create_future()

    def give(line: str | None) -> None:
        if not typed.done():
            typed.set_result(line)

    def wait() -> None:
        try:
            line = input(PROMPT) if is_person else sys.stdin.readline() or None
        except (EOFError, OSError, ValueError):
            line = None
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(give, line)

    threading.Thread(target=wait, name="terminal", daemon=True).start()
    line = await typed
    return None if line is None else _SLASH.sub("", line.strip(), count=1)


async def _answer(console: Console, chatting: Chatting, speaker: Speaker, line: str, *, is_person: bool) -> None:
    async def tell(words: str) -> None:
        if words.startswith(_LATER_STAGES):
            console.print()
        console.print(Text(printable(words)))

    try:
        addition = await asyncio.to_thread(_addition, line)
        if addition is not None:
            said = await chatting.talks.add(speaker, *addition, tell)
        else:
            said = await chatting.talks.say(speaker, line, tell)
        _show(console, said)
        if said.job is not None and said.result is not None and said.sources:
            print_standing(console, said.job, said.result, said.sources)
        if steps := next_steps(said):
            console.print(Text("\n".join(("", *steps))))
        if said.reply.file is not None:
            place = await asyncio.to_thread(_save, chatting.folder / RESULTS, *said.reply.file)
            console.print(Text(wording.saved(str(place))), soft_wrap=True)
        for row in await _lay_out(chatting, said, is_person=is_person):
            console.print(Text(row), soft_wrap=True)
    except GorkdError as error:
        say(error.operator_message)


def _addition(line: str) -> tuple[Addition, list[Incoming]] | None:
    """`add` with files, folders, ids, DOIs or addresses; None for all else. Raises `InvalidQuery` for no such file."""
    with suppress(ValueError):  # of a quotation mark that is not closed
        word, *names = shlex.split(_TO_LIBRARY.sub("", line)) or [""]
        if word.casefold() != "add":
            return None
        if not names:
            raise InvalidQuery(said_so("Say what: {command}.", command="`add <file|id|url>`"), rule="nothing")
        paths = {name: Path(name).expanduser() for name in names}
        files = {
            name: files_in(path) if path.is_dir() else [path] if path.is_file() else [] for name, path in paths.items()
        }
        found = [_incoming(file) for own in files.values() for file in own]
        others = [name for name, own in files.items() if not own]
        named = read_addition(f"add {' '.join(others)} to library", has_files=bool(found)) or Addition()
        missing = [name for name in others if Path(name).suffix.lower() in _FILES]
        if missing or not (found or named.references):
            raise InvalidQuery(said_so("There is no file {name}.", name=(missing or others)[0]), rule="file")
        return named, found
    return None


def _incoming(file: Path) -> Incoming:
    return Incoming(file.name, file.stat().st_size, lambda: asyncio.to_thread(read_file, file))


_SLANTED = re.compile(r"^_(.+)_$", re.MULTILINE)  # a chat draws such a line in italics


def _show(console: Console, said: SaidToLibrary) -> None:
    reply = said.reply
    text = printable(with_marks(reply.text, said.result) if said.result else reply.text)
    if not reply.title:
        console.print(Text(_SLANTED.sub(r"\1", text)), soft_wrap=True)
        return
    from rich.markdown import Markdown

    body = Markdown("\n\n".join(_blocks(text)), hyperlinks=False)
    console.print(Panel(body, title=reply.title, expand=True))


def _blocks(text: str) -> Iterator[str]:
    """Entries of a numbered list keep their lines; Markdown would run them into one."""
    for block in text.split("\n\n"):
        yield "  \n".join(block.split("\n")) if re.match(r"\d+\. ", block) else block


def _save(folder: Path, name: str, content: str | bytes) -> Path:
    """Raises `InvalidQuery` with the reason."""
    place = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as exc:
        told = said_so("{file} cannot be written: {why}.", file=place, why=exc.strerror)
        raise InvalidQuery(told, rule="file") from exc
    return place


async def _lay_out(chatting: Chatting, said: SaidToLibrary, *, is_person: bool) -> list[str]:
    """S000-41: where the PDF lies, that somebody sees it, and the picture of the page that is cited."""
    if said.reply.page is None:
        return []
    paper, page = said.reply.page
    name = _NO_NAME.sub("_", one_line(paper.id))
    folder = chatting.folder / PAPERS
    rows = []
    if file := await chatting.talks.views.library.file(shelves_of(LOCAL), paper.id):
        place = await asyncio.to_thread(_save, folder, f"{name}.pdf", file)
        rows.append(said_so("PDF Location: {place}", place=place))
        if is_person and chatting.viewer and await _is_shown(chatting.viewer, place):
            rows.append(said_so("Paper has been opened using PDF viewer {viewer}", viewer=chatting.viewer))
    if said.picture:
        picture = await asyncio.to_thread(_save, folder, f"{name}_page_{page or 1}.png", said.picture)
        rows.append(said_so("Page {page}: {picture}", page=page or 1, picture=picture))
    return rows


async def _is_shown(viewer: str, place: Path) -> bool:
    """A viewer that does not come back at once shows it and is left alone."""
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            viewer, str(place), stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
        return await asyncio.wait_for(process.wait(), VIEWER_S) == 0
    except TimeoutError:
        return True
    except OSError:
        return False
