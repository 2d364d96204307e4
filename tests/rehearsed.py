"""Imported by the template alone (tests/forked.py): what each process would load first is there when it is forked."""

from __future__ import annotations

import gc
import importlib
import pkgutil

import adapters.cli
import adapters.search
from core.pipeline.conversation import read_reply
from tests.forked import prepare

for room in (adapters.cli, adapters.search):
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        importlib.import_module(module.name)
for name in (
    "adapters.pages.papers", "anyio._backends._asyncio", "anyio.streams.memory", "cryptography.fernet",
    "dbos._sys_db_sqlite", "httpcore", "httpcore2", "protego", "redis.asyncio", "rich.markdown", "rich._emoji_codes",
    "slack_bolt.listener_matcher.async_builtins", "snowballstemmer", "sqlalchemy.dialects.sqlite.aiosqlite",
    "typer._adapters", "typer._click.decorators",
):  # fmt: skip
    importlib.import_module(name)
prepare()
read_reply("Who?")
gc.collect()
gc.freeze()  # else every collection in a process would copy what it shares with the template
