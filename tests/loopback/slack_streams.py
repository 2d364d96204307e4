"""Streams of a loopback Slack: what may be appended to which message, until when, and what is refused.

Slack ends a stream about five minutes after its start; `life_s` is that, in seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.loopback.slack_limits import MARKDOWN_TOTAL
from tests.loopback.slack_state import BOT_USER, TEAM, Message, State, StreamState

Json = Any
BLOCKS_OF_A_STREAM = 50
LIFE_S = 300.0


class Refused(Exception):
    """`{"ok": false, "error": …}`."""


def refusal_of(method: str, faults: Sequence[str]) -> str:
    """Slack's word for a call with these faults."""
    for word in ("cannot_provide_both_markdown_text_and_chunks", "no_text"):
        if word in faults and method.endswith("Stream"):
            return word
    if any(fault.startswith("chunks") for fault in faults):
        return "invalid_chunks"
    return "invalid_blocks" if any("block" in fault for fault in faults) else "invalid_arguments"


@dataclass
class Streams:
    """`refused_in` are channels whose kind takes no streams."""

    state: State
    life_s: float = LIFE_S
    refused_in: frozenset[str] = frozenset()

    def call(self, method: str, channel: str, given: Mapping[str, Json]) -> dict[str, Json]:
        if method == "chat.startStream":
            return self._start(channel, given)
        found = self._owned(channel, given)
        stream = found.stream
        if stream is not None and stream.is_stopped_by_person and method == "chat.appendStream":
            raise Refused("stopped_by_user")
        if stream is None or not self.is_open(found):
            raise Refused("message_not_in_streaming_state")
        self._add(found, stream, given)
        if method == "chat.stopStream":
            found.blocks += given.get("blocks") or []
            found.metadata = given.get("metadata") or found.metadata
            stream.is_open = False
        return {"channel": channel, "ts": found.ts, "message": found.described(with_metadata=True)}

    def is_open(self, message: Message) -> bool:
        stream = message.stream
        return stream is not None and stream.is_open and time.monotonic() - stream.began_at < self.life_s

    def stopped_by_person(self, message: Message) -> None:
        assert message.stream is not None, "only a stream has a Stop"
        message.stream.is_open, message.stream.is_stopped_by_person = False, True

    def _start(self, channel: str, given: Mapping[str, Json]) -> dict[str, Json]:
        if channel in self.refused_in:
            raise Refused("channel_type_not_supported")
        if not channel.startswith("D"):
            for name in ("recipient_team_id", "recipient_user_id"):
                if not given.get(name):
                    raise Refused(f"missing_{name}")
        user, team = given.get("recipient_user_id"), given.get("recipient_team_id")
        if user and user not in self.state.channels[channel].members:
            raise Refused("user_not_found")
        if team and team != TEAM:
            raise Refused("team_not_found")
        if (channel, given["thread_ts"]) not in self.state.messages:
            raise Refused("thread_not_found")
        message = self.state.says(BOT_USER, channel, "", given["thread_ts"])
        message.stream = StreamState()
        self._add(message, message.stream, given)
        return {"channel": channel, "ts": message.ts}

    def _owned(self, channel: str, given: Mapping[str, Json]) -> Message:
        found = self.state.messages.get((channel, given["ts"]))
        if found is None or found.is_deleted:
            raise Refused("message_not_found")
        if found.user != BOT_USER:
            raise Refused("message_not_owned_by_app")
        return found

    def _add(self, message: Message, stream: StreamState, given: Mapping[str, Json]) -> None:
        """All of it, or nothing."""
        chunks = given.get("chunks") or []
        mode = "chunks" if chunks else "text" if given.get("markdown_text") else None
        if mode and stream.mode not in (None, mode):
            raise Refused("streaming_mode_mismatch")
        texts = [given.get("markdown_text") or "", *(one["text"] for one in chunks if one["type"] == "markdown_text")]
        blocks = [block for one in chunks if one["type"] == "blocks" for block in one["blocks"]]
        if len(message.text) + sum(map(len, texts)) > MARKDOWN_TOTAL:
            raise Refused("msg_too_long")
        shown = [block for block in message.blocks if block["type"] not in ("plan", "markdown")]
        if len(shown) + len(blocks) > BLOCKS_OF_A_STREAM:
            raise Refused("msg_blocks_too_many")
        stream.mode = mode or stream.mode
        message.text += "".join(texts)
        for chunk in chunks:
            stream.sent.append((time.monotonic(), chunk))
            if chunk["type"] == "plan_update":
                stream.title = chunk["title"]
            elif chunk["type"] == "task_update":
                self._update_task(stream, chunk)
        kept = [block for block in message.blocks if block["type"] != "plan"]
        plan = {"type": "plan", "title": stream.title, "tasks": list(stream.plan.values())}
        message.blocks = [*([plan] if stream.plan or stream.title else []), *kept, *blocks]
        for text in filter(None, texts):
            self._add_text(message, text)
        message.versions.append(message.text)

    def _add_text(self, message: Message, text: str) -> None:
        """What is streamed goes on where it stopped."""
        if message.blocks[-1:] and message.blocks[-1]["type"] == "markdown":
            message.blocks[-1] = {"type": "markdown", "text": message.blocks[-1]["text"] + text}
        else:
            message.blocks.append({"type": "markdown", "text": text})

    def _update_task(self, stream: StreamState, chunk: Mapping[str, Json]) -> None:
        """Title and status are replaced; details and output are added to."""
        known = stream.plan.setdefault(chunk["id"], {"type": "task_card", "task_id": chunk["id"]})
        known |= {"title": chunk["title"], "status": chunk["status"]}
        for name in ("details", "output"):
            if chunk.get(name):
                known[name] = known.get(name, "") + chunk[name]
