"""What the web process may be told."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import SetupError


class WebSettings(BaseModel):
    """`api_tokens` let other machines ask; without any only this machine may."""

    model_config = ConfigDict(frozen=True)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)  # 0 takes any free port
    public_url: str = "http://127.0.0.1:8080"
    api_tokens: tuple[str, ...] = Field(default=(), repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> WebSettings:
        """Reads `HOST PORT GORKD_PUBLIC_URL GORKD_API_TOKENS` (comma-separated). Raises `SetupError`."""
        host, port = env.get("HOST") or "127.0.0.1", env.get("PORT") or "8080"
        tokens = tuple(token.strip() for token in env.get("GORKD_API_TOKENS", "").split(",") if token.strip())
        public_url = (env.get("GORKD_PUBLIC_URL") or f"http://127.0.0.1:{port}").rstrip("/")
        try:
            return cls(host=host, port=int(port), public_url=public_url, api_tokens=tokens)
        except (ValueError, ValidationError) as exc:
            raise SetupError(f"PORT must be a number from 0 to 65535, not {port!r}.") from exc
