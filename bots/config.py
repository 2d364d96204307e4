"""The environment, read in one place: variables and an optional `.env` beside the working directory."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path
from typing import Literal

from dotenv import dotenv_values, set_key
from pydantic import BaseModel, Field, field_validator

from core.model import codec
from core.model.errors import SetupError

ENV_FILE = Path(".env")
_CHECKOUT = Path(__file__).resolve().parent.parent
_INSTALLED = _CHECKOUT / "gorkd" / "documents"  # where a wheel keeps them (pyproject.toml)
_COLLECT = (50_000, 20, 20)  # Python's thresholds, for small programs, took a seventh of a question's processor time
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # mallopt(3)
_LARGE_BYTES = 512 * 1024  # given back when freed. Unset, it grows to the largest ever freed; 20 MB then lay about


class BotSettings(BaseModel):
    """What the processes themselves need; every adapter reads its own variables from `environment()`."""

    model_config = {"populate_by_name": True}

    data: Path = Field(Path(".gorkd"), alias="GORKD_DATA")
    log_level: Literal["debug", "info", "warning", "error"] = Field("error", alias="GORKD_LOG_LEVEL")
    redis_url: str = Field("", alias="REDIS_URL")
    retention_days: int = Field(0, alias="GORKD_RETENTION_DAYS", ge=0, le=36_500)  # 0 keeps answers
    cache_instant: bool = Field(False, alias="GORKD_CACHE_INSTANT")
    check_dialect: Literal["json", "pairwise"] | None = Field(None, alias="GORKD_CHECK_DIALECT")
    writing: Literal["auto", "parallel", "single"] = Field("auto", alias="GORKD_WRITING")
    patience: float = Field(1.0, alias="GORKD_PATIENCE", ge=1, le=20)  # more is no waiting any more
    section_searches: int = Field(5, alias="GORKD_SECTION_SEARCHES", ge=0, le=20)
    prices: str = Field("", alias="GORKD_PRICES")
    source_kinds: str = Field("", alias="GORKD_SOURCE_KINDS")
    budget_user_usd: float | None = Field(None, alias="GORKD_BUDGET_USER_USD", ge=0, allow_inf_nan=False)
    budget_workspace_usd: float | None = Field(None, alias="GORKD_BUDGET_WORKSPACE_USD", ge=0, allow_inf_nan=False)
    discord_user_per_min: int = Field(5, alias="GORKD_DISCORD_USER_PER_MIN", ge=1, le=10_000)
    discord_guild_per_min: int = Field(20, alias="GORKD_DISCORD_GUILD_PER_MIN", ge=1, le=10_000)
    slack_user_per_min: int = Field(5, alias="GORKD_SLACK_USER_PER_MIN", ge=1, le=10_000)
    slack_workspace_per_min: int = Field(30, alias="GORKD_SLACK_WORKSPACE_PER_MIN", ge=1, le=10_000)
    watches_per_person: int = Field(10, alias="GORKD_WATCHES_PER_PERSON", ge=0, le=1_000)
    watches_per_workspace: int = Field(100, alias="GORKD_WATCHES_PER_WORKSPACE", ge=0, le=100_000)

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_any_case(cls, level: object) -> object:
        return level.lower() if isinstance(level, str) else level


def tune_memory() -> None:
    """For processes of our own: whoever imports gorkd keeps garbage collector and allocator as they are."""
    gc.set_threshold(*_COLLECT)
    gc.enable()  # off while a command is imported
    with suppress(AttributeError, OSError, TypeError):  # only glibc has it
        allocator = CDLL(None)
        allocator.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        allocator.mallopt(_M_ARENA_MAX, 1)  # one for each thread leaves 17 MB more lying about


def environment() -> Mapping[str, str]:
    """All variables; the real environment goes before `.env`. Empty ones count as unset."""
    from_file = {name: value for name, value in dotenv_values(ENV_FILE).items() if value}
    return {name: value for name, value in {**from_file, **os.environ}.items() if value.strip()}


def keep_settings(values: Mapping[str, str]) -> None:
    """Put them into `.env`, which nobody else may read; its other lines stay. Raises `SetupError`."""
    try:
        os.close(os.open(ENV_FILE, os.O_CREAT | os.O_WRONLY, 0o600))
        ENV_FILE.chmod(0o600)  # before a secret stands in it
        for name, value in values.items():
            set_key(ENV_FILE, name, value.replace("${", "${:-$}{"), quote_mode="auto")  # dotenv fills in `${NAME}`
    except OSError as exc:
        raise SetupError(f"{ENV_FILE.absolute()} cannot be written ({exc.strerror}); choose another folder.") from exc


def variables() -> frozenset[str]:
    """Every setting there is, as docs/configuration.md lists them."""
    page = (own_document("docs") / "configuration.md").read_text("utf-8")
    return frozenset(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))


def read_settings(env: Mapping[str, str]) -> BotSettings:
    """Raises `SetupError` naming the variable that is wrong."""
    return codec.read_settings(BotSettings, env)


def surroundings(
    values: Mapping[str, str] | None = None, *, usual_level: str = ""
) -> tuple[Mapping[str, str], BotSettings]:
    """For a process of our own: the environment with `values` besides, and what it says; lines of log go to stderr,
    of the `usual_level` where none is set. Raises `SetupError`.
    """
    from adapters.observability import configure_logging

    tune_memory()
    env = {**environment(), **(values or {})}
    settings = read_settings(env)
    level = usual_level if usual_level and "GORKD_LOG_LEVEL" not in env else settings.log_level
    configure_logging(level, stream=sys.stderr, secrets=secrets_in(env))
    return env, settings


def secrets_in(env: Mapping[str, str]) -> list[str]:
    """Values that must never reach a log."""
    marks = ("KEY", "TOKEN", "SECRET", "PASSWORD")
    values = [value for name, value in env.items() if any(mark in name.upper() for mark in marks)]
    parts = [part for value in values for part in value.split(",")]
    parts += [part.partition("=")[2] for part in parts]  # a tenant's token
    proxies = [value for name, value in env.items() if name.upper().endswith("_PROXY") and "@" in value]
    parts += [part for value in proxies for part in value.rpartition("@")[0].rpartition("/")[2].split(":")]
    return [part for part in parts if len(part) >= 8]


_FOR_DEVELOPERS = frozenset({"benchmarks", "evaluation", "style"})  # of many words and figures, each true of a trial


def own_document(name: str) -> Path:
    """A file or folder of this project, such as `docs`, in a checkout or where it was installed."""
    return (_INSTALLED if _INSTALLED.exists() else _CHECKOUT) / name


def default_files() -> list[Path]:
    """What is searched when `GORKD_FILES` is not set: this project's documents for those who ask and who run it."""
    documents = sorted(own_document("docs").glob("*.md"))
    return [*(path for path in documents if path.stem not in _FOR_DEVELOPERS), own_document("README.md")]
