"""Files that a bot sends to the loopback Discord: read from the request, kept, and shown with the message."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from tests.loopback.discord_world import DiscordWorld

Upload = tuple[str, bytes]


async def read_payload(request: web.Request) -> tuple[str, dict[str, Upload]]:
    """The JSON of a request, and the files that come with it as name and content, by their number."""
    if not request.content_type.startswith("multipart/"):
        return await request.text(), {}
    form = await request.post()
    uploads = {
        name.removeprefix("files[").removesuffix("]"): (part.filename, part.file.read())
        for name, part in form.items()
        if isinstance(part, web.FileField)
    }
    return str(form["payload_json"]), uploads


def attach_files(world: DiscordWorld, shown: dict[str, Any], uploads: dict[str, Upload]) -> None:
    """Put into `shown` what it names as attached: files that come with it, and those that stay."""
    known = {one["id"]: one for message in world.messages.values() for one in message.attachments}
    kept = {number: _kept(world, *upload) for number, upload in uploads.items()}
    if "attachments" in shown:
        shown["attachments"] = [kept.get(str(one["id"])) or known[str(one["id"])] for one in shown["attachments"]]


def _kept(world: DiscordWorld, name: str, content: bytes) -> dict[str, Any]:
    """Under its name: the last file of a name is the one to look at."""
    world.files[f"uploaded/{name}"] = content
    url = f"{world.url}/cdn/uploaded/{name}"
    return {"id": world.ids.next(), "filename": name, "size": len(content), "url": url, "proxy_url": url}
