"""Imported by the template alone (tests/forked.py): what each process would load first is there when it is forked."""

from __future__ import annotations

import gc
import importlib
import pkgutil

import adapters.search
from core.pipeline.runner import rehearse

for module in pkgutil.walk_packages(adapters.search.__path__, "adapters.search."):
    importlib.import_module(module.name)
for name in (
    "adapters.pages.papers", "dbos._sys_db_sqlite", "httpcore",
    "httpcore2", "protego", "slack_bolt.listener_matcher.async_builtins", "sqlalchemy.dialects.sqlite.aiosqlite",
):  # fmt: skip
    importlib.import_module(name)
rehearse()
gc.collect()
gc.freeze()  # else every collection in a process would copy what it shares with the template
