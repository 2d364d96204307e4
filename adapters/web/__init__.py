"""The web process: `build_web` makes the application, `WebSettings` says where it listens and who may ask."""

from adapters.web.app import build_web
from adapters.web.settings import WebSettings

__all__ = ["WebSettings", "build_web"]
