"""Names are looked up without ever holding up the program's end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.proxies import DaemonResolver

ROOT = Path(__file__).resolve().parents[2]

# Stands in for a name server that never answers.
HANGING = """
import asyncio, socket, time
known = socket.getaddrinfo
socket.getaddrinfo = lambda *args, flags=0, **kwargs: known(*args, flags=flags) if flags else time.sleep(60)
from adapters.pages import WebPages
from adapters.pages.fetch import FetchLimits
from core.model.errors import PageTimeout

async def main():
    print(time.monotonic())
    pages = WebPages(limits=FetchLimits(total_s=0.3, robots_s=5.0), workers=1)
    try:
        await asyncio.gather(*(pages.fetch(f"http://a{number}.example/") for number in range(40)))
    except PageTimeout as error:
        print(error)
    await pages.aclose()

asyncio.run(main())
"""


async def test_a_name_of_this_machine_is_found() -> None:
    """The system's own name service answers, with the port that was asked for."""
    found = await DaemonResolver().resolve("localhost", 8080)

    assert {"127.0.0.1"} <= {result["host"] for result in found} <= {"127.0.0.1", "::1"}
    assert {result["port"] for result in found} == {8080}


@pytest.mark.parametrize("name", ["a" * 64 + ".example", "a..b", ".", "\ud800"])
async def test_what_cannot_be_a_name_is_an_os_error(name: str) -> None:
    """No look-up raises anything but `OSError`, which is what HTTP clients expect."""
    with pytest.raises(OSError, match=r"."):
        await DaemonResolver().resolve(name, 80)


async def test_a_dead_name_server_delays_neither_the_page_nor_the_exit() -> None:
    """Look-ups that hang are given up with their page, and the interpreter does not wait for them."""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, text=True, timeout=40
    )

    ended = time.monotonic()

    assert done.stderr == ""
    started, _, told = done.stdout.partition("\n")  # its own start, when all was imported
    assert "not read within 0.3 s" in told
    assert ended - float(started) < 10
