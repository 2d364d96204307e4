"""Where a model's endpoint is opened."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from adapters.llm.embeddings import OpenAIEmbeddings
from adapters.llm.endpoint import Endpoint
from adapters.llm.openai import OpenAIChat
from adapters.llm.window import asked_window
from core.llm.ask_model import complete
from core.model.errors import ModelError
from core.model.ports import ChatRequest
from tests.shared_data import ROOT

# Another thread has begun to import httpx, and goes on when the client is made, or half a second later.
SCRIPT = """
import importlib.abc, sys, threading
from pydantic import SecretStr
from adapters.llm.endpoint import Connection, Endpoint

half, on = threading.Event(), threading.Event()

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "httpx._client":
            half.set()
            on.wait(20)

sys.meta_path.insert(0, Slow())
import openai

threading.Thread(target=__import__, args=("httpx",)).start()
half.wait(20)
threading.Timer(0.5, on.set).start()
try:
    Connection(Endpoint(model="model", base_url="http://127.0.0.1:1/v1", api_key=SecretStr("key")))._open_once()
finally:
    on.set()
print("opened")
"""


def test_client_can_be_made_while_another_thread_imports_what_the_sdk_looks_at() -> None:
    """A search provider loads its own SDK meanwhile."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=False, cwd=ROOT, capture_output=True, text=True, timeout=50
    )

    assert (done.stdout, done.stderr) == ("opened\n", "")


@asynccontextmanager
async def endless(head: str) -> AsyncIterator[tuple[OpenAIChat, OpenAIEmbeddings, list[bytes]]]:
    """A model and an embedder at an endpoint that answers `head` and blanks behind it; and what they were asked, and
    how much was sent: a byte for each 64 KB.
    """
    told: list[bytes] = []

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            told.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(f"HTTP/1.1 {head}\r\nContent-Type: application/json\r\n\r\n[".encode())
            while True:
                writer.write(b" " * 65_536)
                await writer.drain()
                told.append(b".")
        writer.close()

    server = await asyncio.start_server(flood, "127.0.0.1")
    endpoint = Endpoint(model="small", base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    chat, embeddings = OpenAIChat(endpoint), OpenAIEmbeddings(endpoint)
    async with server:
        yield chat, embeddings, told
        await asyncio.gather(chat.aclose(), embeddings.aclose())


REQUEST = ChatRequest(
    purpose="answer", system="s", user="u", schema_name="a", schema={"type": "object"}, max_tokens=9, timeout_s=20.0
)


@pytest.mark.parametrize("head", ["500 Sorry", "404 Not Found", "302 Found\r\nLocation: /v2", "200 OK"])
@pytest.mark.parametrize("is_chat", [True, False], ids=["chat", "embeddings"])
async def test_a_body_without_end_fills_no_memory(head: str, is_chat: bool, monkeypatch: pytest.MonkeyPatch):
    """What the SDK reads whole ends after a megabyte of an error, and some of an answer; the status is told."""
    monkeypatch.setattr("adapters.llm.endpoint.MAX_BODY_BYTES", 2_000_000)
    mend = {"5": "HTTP 500", "4": "check GORKD_", "3": "points to", "2": ""}[head[0]]

    async with endless(head) as (chat, embeddings, told):
        with pytest.raises(ModelError) as raised:
            await (complete(chat, REQUEST) if is_chat else embeddings.embed(["a swan"]))

    assert mend in raised.value.operator_message

    assert told.count(b".") * 65_536 < 20_000_000  # what lies in sockets included


async def test_a_list_of_models_without_end_fills_no_memory():
    """Nor any other of the five answers that may tell of a window; each took 64 MB."""
    async with endless("200 OK") as (chat, _, told):
        window = await asked_window(await chat._connection.client(), chat._endpoint)

    assert window == 0
    assert told.count(b".") * 65_536 < 130_000_000  # four are lists, whose sockets hold some more


@pytest.mark.parametrize("packing", ["gzip, gzip", "br"])
async def test_what_may_unpack_without_bound_is_refused(packing: str):
    """It was not asked for, and 64 KB twice packed may be 60 GB."""
    async with endless(f"200 OK\r\nContent-Encoding: {packing}") as (chat, _, told):
        with pytest.raises(ModelError, match="although it was asked not to be"):
            await complete(chat, REQUEST)

    assert b"accept-encoding: identity" in told[0].lower()


def packed(text: bytes, *, megabytes_before: int) -> bytes:
    """As gzip, behind so many blanks: what packs a megabyte of them is the same each time."""
    packing, blanks = zlib.compressobj(wbits=-15), b" " * 1_000_000
    block = packing.compress(blanks) + packing.flush(zlib.Z_FULL_FLUSH)
    packing, checksum = zlib.compressobj(wbits=-15), 0
    for _ in range(megabytes_before):
        checksum = zlib.crc32(blanks, checksum)
    end = struct.pack("<II", zlib.crc32(text, checksum), megabytes_before * len(blanks) + len(text))
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + megabytes_before * block + packing.compress(text) + packing.flush() + end


@pytest.mark.parametrize("is_bomb", [False, True], ids=["answer", "bomb"])
async def test_an_answer_that_comes_packed_unasked_is_read_within_bounds(is_bomb: bool):
    """Some gateways pack whatever they pass on; 256 KB that do so are more than any stream of an answer."""
    event = json.dumps({"id": "1", "choices": [{"index": 0, "delta": {"content": "Swans."}, "finish_reason": "stop"}]})
    body = packed(f"data: {event}\n\ndata: [DONE]\n\n".encode(), megabytes_before=300 if is_bomb else 0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nConnection: close"
            writer.write(f"{head}\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        chat = OpenAIChat(Endpoint(model="small", base_url=f"http://127.0.0.1:{port}/v1"))
        if is_bomb:
            with pytest.raises(ModelError):
                await complete(chat, REQUEST)
        else:
            assert (await complete(chat, REQUEST)).text == "Swans."
        await chat.aclose()
