"""How every provider is configured: who it is, how long it may take, and what it may read from the environment.

Each provider keeps its own small settings model beside its code and reads it here from the mapping it is handed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import urlsplit, urlunsplit

from pydantic import AfterValidator, BaseModel, SecretStr, ValidationError

from adapters.proxies import DIRECT, Proxies
from core.config import SearchSettings
from core.errors import SetupError

MARGIN = 0.9  # of a time limit, so that our own error arrives before the caller gives up

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Access:
    """Who is asked and which variables an operator must check when that fails.

    `name` is the word in `GORKD_PROVIDERS`, `label` the one people read; `key_variable` is "" where
    the service knows no key. `hints` are what to do about an HTTP status, where this service means something special.
    """

    name: str
    label: str
    url_variable: str
    key_variable: str = ""
    hints: Mapping[int, str] = field(default_factory=dict)


TURNS_TO_CONNECT = 20  # of the event loop: about ten with a name to look up, and some are longer than others


@dataclass(frozen=True)
class TimeLimits:
    """Seconds for one whole search and for reaching the server at all."""

    search_s: float = 10.0 * MARGIN
    connect_s: float = 2.0 * MARGIN

    @classmethod
    def of(cls, search: SearchSettings) -> TimeLimits:
        return cls(search.provider_timeout_s * MARGIN, search.connect_timeout_s * MARGIN)

    async def to_connect_s(self) -> float:
        """`connect_s` at rest. A loop that is late itself may not say of a server that it was late, so it waits for
        as many of its turns as connecting takes.
        """
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        await asyncio.sleep(0)
        return min(self.connect_s + TURNS_TO_CONNECT * (loop.time() - began_at), self.search_s)


DEFAULT_LIMITS = TimeLimits()


@dataclass(frozen=True)
class Surroundings:
    """What a provider is built from besides the environment.

    `default_files` are the folders that local search reads when `GORKD_FILES` is not set;
    `is_named` says that the operator listed the provider in `GORKD_PROVIDERS`.
    """

    data_dir: Path
    default_files: Sequence[Path] = ()
    search: SearchSettings = field(default_factory=SearchSettings)
    is_named: bool = False
    proxies: Proxies = DIRECT

    @property
    def limits(self) -> TimeLimits:
        return TimeLimits.of(self.search)


def read_settings(model: type[Model], env: Mapping[str, str]) -> Model:
    """The model's own variables out of `env`, blank ones counting as unset. Raises `SetupError`."""
    wanted = {str(field.alias) for field in model.model_fields.values()}
    given = {name: env[name].strip() for name in wanted if env.get(name, "").strip()}
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors(include_input=False))
        raise SetupError(f"search settings: {problems}") from exc


def user_agent(env: Mapping[str, str]) -> str:
    """Names the program and where its operator can be found, as the keyless services ask callers to do."""
    try:
        release = version("gorkd")
    except PackageNotFoundError:
        release = "0"
    contact = env.get("GORKD_PUBLIC_URL", "").strip()
    if not (contact.isascii() and contact.isprintable() and contact):
        contact = "self-hosted research assistant"
    return f"gorkd/{release} ({contact})"


def is_public(url: str, domain: str) -> bool:
    """Whether `url` is the service's own host: only there its published rate limit holds."""
    host = urlsplit(url).hostname or ""
    return host == domain or host.endswith("." + domain)


def with_path(url: str, default_path: str) -> str:
    """`url` without a trailing slash; a bare origin gets the path of the public service."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/") or default_path
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError(f"{url!r} is not an http(s) address")
    return url.rstrip("/")


def _check_key(key: SecretStr) -> SecretStr:
    text = key.get_secret_value()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("the key has characters that no key has; copy it again")
    return key


WebAddress = Annotated[str, AfterValidator(_check_url)]
ApiKey = Annotated[SecretStr, AfterValidator(_check_key)]
