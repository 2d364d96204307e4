"""Files that an app uploads to a loopback Slack: seen by nobody until they are completed into a channel, once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.loopback.slack_state import BOT_USER, State

Json = Any
ALT_LIMIT = 1000


class UploadRefused(Exception):
    """As Slack's own error."""


@dataclass
class Uploads:
    """`begun` are names and lengths by id, `descriptions` what screen readers are told of pictures.

    `statuses` are what the next uploads of content answer instead of 200; while the `gate` is closed none is taken.
    """

    state: State
    begun: dict[str, tuple[str, int]] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    received: dict[str, bytes] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/upload/{file_id}", self._receive)

    def begin(self, given: Mapping[str, Json], base_url: str) -> dict[str, Json]:
        if not given["filename"] or int(given["length"]) < 1:
            raise UploadRefused("missing_argument")
        if len(given.get("alt_txt") or "") > ALT_LIMIT:
            raise UploadRefused("alt_txt_too_large")
        file_id = self.state.new_id("F")
        self.descriptions[file_id] = given.get("alt_txt") or ""
        self.begun[file_id] = (given["filename"], int(given["length"]))
        return {"file_id": file_id, "upload_url": f"{base_url}/upload/{file_id}"}

    def complete(self, given: Mapping[str, Json]) -> dict[str, Json]:
        """Shares the files in one message; what is shared already is shared once more, as Slack does."""
        files: list[dict[str, Json]] = []
        for entry in given["files"]:
            if entry["id"] not in self.received:
                raise UploadRefused("file_not_found")
            name = self.begun[entry["id"]][0]
            described = {"id": entry["id"], "name": name, "title": entry.get("title") or name, "mimetype": ""}
            files.append(described | {"alt_txt": self.descriptions[entry["id"]]})
        channel, thread_ts = given["channel_id"], given.get("thread_ts", "")
        root = self.state.messages.get((channel, thread_ts))
        if thread_ts and (root is None or root.is_deleted or root.thread_ts not in ("", thread_ts)):
            raise UploadRefused("invalid_thread_ts")
        message = self.state.says(BOT_USER, channel, given.get("initial_comment", ""), thread_ts)
        kind = {"channel": "public"}.get(self.state.channels[channel].kind, "private")
        for described in files:
            content = self.received[described["id"]]
            earlier = self.state.files.get(described["id"], ({}, b""))[0].get("shares") or {}
            places = {**earlier.get(kind, {}), channel: [{"ts": message.ts, "thread_ts": thread_ts}]}
            described |= {"size": len(content), "shares": {**earlier, kind: places}}
            self.state.files[described["id"]] = (described, content)
        message.files = files
        return {"files": files}

    def delete(self, file_id: str) -> dict[str, Json]:
        """A message that was nothing but the file goes with it."""
        if self.state.files.pop(file_id, None) is None:
            raise UploadRefused("file_not_found")
        for message in self.state.messages.values():
            if any(file["id"] == file_id for file in message.files):
                message.files = [file for file in message.files if file["id"] != file_id]
                message.is_deleted = not message.files and not message.text
        return {}

    def described(self, file_id: str) -> dict[str, Json]:
        if file_id in self.state.files:
            return {"file": self.state.files[file_id][0]}
        if file_id in self.received:
            return {"file": {"id": file_id, "name": self.begun[file_id][0]}}
        raise UploadRefused("file_not_found")

    async def _receive(self, request: web.Request) -> web.Response:
        """Takes no token: the address is the permission. Content of another length than announced is refused."""
        file_id, content = request.match_info["file_id"], await request.read()
        await self.gate.wait()
        status = self.statuses.pop(0) if self.statuses else 200
        if status == 200 and (file_id not in self.begun or len(content) != self.begun[file_id][1]):
            status = 400
        if status == 200:
            self.received[file_id] = content
        return web.Response(status=status, text=f"OK - {len(content)}")
