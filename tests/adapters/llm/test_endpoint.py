"""Where a model's endpoint is opened."""

from __future__ import annotations

import subprocess
import sys

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
