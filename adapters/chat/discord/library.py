"""`/library`: the conversation with a team's papers in Discord, one a channel or thread."""

from __future__ import annotations

import io
import logging
from collections.abc import Sequence
from typing import Any

import discord
from discord import app_commands

from adapters.chat.discord.acks import acknowledge
from adapters.chat.discord.markup import plain, prose
from adapters.chat.discord.translate import Asked, place_of_interaction
from adapters.chat.discord.words import word
from core import wording
from core.errors import GorkdError
from core.job import Scope
from core.library.adding import Incoming
from core.library.session import LibraryTalks, Said, Speaker
from core.library.states import COMMANDS
from core.library.words import Addition
from core.render import one_line

MAX_CHOICES = 25
CHOICE_LENGTH = 100
TEXT_ROOM = 4_000  # of an embed's 4,096
TITLE_ROOM = 250
OF_A_PAPER = frozenset({"summary", "open", "reindex-paper", "remove-paper"})

_log = logging.getLogger(__name__)


def library_command(talks: LibraryTalks) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="library", description=word("library.command"))
    @app_commands.guild_install()
    @app_commands.allowed_contexts(guilds=True, dms=True, private_channels=False)
    @app_commands.describe(
        command=word("library.option_command"),
        argument=word("library.option_argument"),
        file=word("library.option_file"),
    )
    async def library(
        interaction: Asked,
        command: app_commands.Range[str, 1, 50],
        argument: app_commands.Range[str, 0, 1000] = "",
        file: discord.Attachment | None = None,
    ) -> None:
        if await acknowledge(interaction) is None:
            return
        try:
            if command == "add":
                await _show(interaction, text=await _add(talks, interaction, argument, file))
            else:
                await _say(talks, interaction, f"{command} {argument}".strip())
        except GorkdError as error:
            await _show(interaction, text=error.user_message)
        except discord.HTTPException as exc:
            _log.warning("library reply lost", extra={"error": str(exc)})
        except Exception:  # noqa: BLE001 -- a chat's process boundary: the person must not be left waiting
            _log.exception("library command failed")
            await _show(interaction, text=wording.SOMETHING_BROKE)

    async def complete_argument(interaction: Asked, current: str) -> list[app_commands.Choice[str]]:
        return await _papers_like(talks, interaction, current)

    library.autocomplete("command")(_complete_command)
    library.autocomplete("argument")(complete_argument)
    return library


async def _complete_command(_: Asked, current: str) -> list[app_commands.Choice[str]]:
    wanted = current.casefold().strip()
    described = {"add": word("library.add")} | {name: rule.does for name, rule in COMMANDS.items()}
    return [
        app_commands.Choice(name=f"{name}: {does}"[:CHOICE_LENGTH], value=name)
        for name, does in described.items()
        if wanted in name
    ][:MAX_CHOICES]


async def _papers_like(talks: LibraryTalks, interaction: Asked, current: str) -> list[app_commands.Choice[str]]:
    """Papers by id or title, where the command takes one."""
    if getattr(interaction.namespace, "command", "") not in OF_A_PAPER:
        return []
    wanted = current.casefold().strip()
    try:
        papers = await talks.papers(place_of_interaction(interaction).scope)
    except GorkdError:
        return []
    shown = [(paper.id, f"{paper.id} {one_line(paper.title)}"[:CHOICE_LENGTH]) for paper in papers]
    fitting = [app_commands.Choice(name=name, value=id_) for id_, name in shown if wanted in name.casefold()]
    return fitting[:MAX_CHOICES]


async def _say(talks: LibraryTalks, interaction: Asked, text: str) -> None:
    lines: list[str] = []

    async def tell(line: str) -> None:
        lines.append(line.rstrip())
        await _show(interaction, text="\n".join(lines))

    said = await talks.say(_speaker(interaction), text, tell)
    await _show(interaction, text=said.reply.text, title=said.reply.title, files=_files(said))


async def _add(talks: LibraryTalks, interaction: Asked, reference: str, file: discord.Attachment | None) -> str:
    async def tell(_: str) -> None:
        pass  # Discord says that the bot is thinking

    files = [Incoming(file.filename, file.size, file.read)] if file else []
    addition = Addition((reference,) if reference else ())
    return (await talks.add(_speaker(interaction), addition, files, tell)).reply.text


def _speaker(interaction: Asked) -> Speaker:
    """Whoever may manage the server may change its library; in a direct message it is one's own."""
    place = place_of_interaction(interaction)
    scope: Scope = place.scope
    is_admin = place.is_direct or bool(place.guild_id and interaction.permissions.manage_guild)
    thread = f"discord:{place.channel_id}"
    return Speaker(scope, thread, str(place.user_id), is_admin=is_admin, key=str(interaction.id))


def _files(said: Said) -> list[discord.File]:
    files = [discord.File(io.BytesIO(said.picture), "page.png")] if said.picture else []
    if said.reply.file is not None:
        name, content = said.reply.file
        files.append(discord.File(io.BytesIO(content.encode()), name))
    return files


async def _show(interaction: Asked, *, text: str, title: str = "", files: Sequence[discord.File] = ()) -> None:
    embed = discord.Embed(title=plain(title, TITLE_ROOM) or None, description=prose(text, TEXT_ROOM))
    if any(file.filename == "page.png" for file in files):
        embed.set_image(url="attachment://page.png")
    await interaction.edit_original_response(embed=embed, attachments=list(files))
