"""What the web process may be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from adapters.secrets import read_tokens
from adapters.web.peers import is_loopback
from core.errors import SetupError

_VARIABLES = {
    "HOST": "host",
    "PORT": "port",
    "GORKD_PUBLIC_URL": "public_url",
    "GORKD_API_TOKENS": "api_tokens",
    "GORKD_STATS_TOKENS": "stats_tokens",
    "GORKD_PROXIES": "proxies",
    "GORKD_TRUST_LOCAL": "trust_local",
    "GORKD_ASKS_PER_MINUTE": "asks_per_minute",
    "GORKD_READS_PER_MINUTE": "reads_per_minute",
    "GORKD_STREAMS_PER_ADDRESS": "streams_per_address",
}
TRUSTS_LOCAL = (
    "GORKD_TRUST_LOCAL=1: whatever comes from this machine may ask without a token and without limits, "
    "and so may everybody whom a proxy or tunnel on it lets through"
)
_TOKENS = ("GORKD_API_TOKENS", "GORKD_STATS_TOKENS")


class WebSettings(BaseModel):
    """`api_tokens` let ask. Of `stats_tokens`, each a tenant, `=` and a token, every one shows that tenant's usage and
    nothing else. Without any, on a server for this machine alone, or with `trust_local`, this machine needs none.

    `proxies` are the networks whose `X-Forwarded-For` is believed, besides this machine's. The limits
    are those of one address (G-01).
    """

    model_config = ConfigDict(frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)  # 0 takes any free port
    public_url: str = "http://127.0.0.1:8080"
    api_tokens: tuple[str, ...] = Field(default=(), repr=False)
    stats_tokens: tuple[Annotated[str, Field(pattern=r"^[^=]+=.+$")], ...] = Field(default=(), repr=False)
    trust_local: bool = False
    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    asks_per_minute: int = Field(default=10, ge=1, le=100_000)
    reads_per_minute: int = Field(default=60, ge=1, le=100_000)
    streams_per_address: int = Field(default=5, ge=1, le=100_000)

    @field_validator("public_url")
    @classmethod
    def _is_address(cls, text: str) -> str:
        urlsplit(text)  # raises ValueError
        return text

    @property
    def is_for_this_machine(self) -> bool:
        """Whether nothing says that anybody else should reach the pages."""
        return is_loopback(self.host) and is_loopback(urlsplit(self.public_url).hostname or "")

    @property
    def trusts_this_machine(self) -> bool:
        """Whether callers from this machine need no token. A proxy here that adds no header is such a caller."""
        has_tokens = bool(self.api_tokens or self.stats_tokens)
        return self.trust_local or (self.is_for_this_machine and not has_tokens)

    @property
    def tenant_tokens(self) -> list[tuple[str, str]]:
        """Tenants with a token of theirs."""
        return [(tenant, token) for tenant, _, token in (entry.partition("=") for entry in self.stats_tokens)]

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> WebSettings:
        """Raises `SetupError` naming the variable that is wrong."""
        values: dict[str, str | Sequence[str]] = {
            field: env[name] for name, field in _VARIABLES.items() if env.get(name)
        }
        for name in _TOKENS:
            values[_VARIABLES[name]] = read_tokens(env, name)
        values["proxies"] = [part.strip() for part in env.get("GORKD_PROXIES", "").split(",") if part.strip()]
        public_url = values.get("public_url") or f"http://127.0.0.1:{values.get('port', 8080)}"
        values["public_url"] = str(public_url).rstrip("/")
        try:
            return cls.model_validate(values)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            name = next(name for name, field in _VARIABLES.items() if field == first["loc"][0])
            given = "" if name in _TOKENS else f", not {first['input']!r}"
            raise SetupError(f"Please check {name}: {first['msg']}{given}.") from (None if name in _TOKENS else exc)
