"""A real Redis on a free port, for the tests of everything that talks to one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running_redis(folder: Path) -> Iterator[str]:
    """Start `redis-server` without persistence in `folder`; yields its URL. Skips without the binary, fails in CI."""
    binary = shutil.which("redis-server")
    if binary is None:
        if os.environ.get("CI") == "true":
            pytest.fail("redis-server is not installed")
        pytest.skip("redis-server is not installed")
    port = free_port()
    arguments = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen([binary, *arguments], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            if not any("Ready to accept connections" in line for line in server.stdout):
                pytest.fail("redis-server did not start")
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            server.kill()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
