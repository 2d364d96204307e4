"""The whole outside at once: a web of pages, search services that find them, and a model, all on loopback.

async with World.of(pages) as world:
    env = world.env(tmp_path, "tavily", model=True)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import commands
from tests.loopback.openai_world import OpenAIWorld, openai_world
from tests.loopback.search_corpus import Document
from tests.loopback.search_world import SearchWorld
from tests.loopback.web_world import PageSpec, WebWorld
from tests.records import lay_tables


@dataclass(frozen=True)
class SitePage:
    """A page of the loopback web: `text` becomes its paragraphs."""

    title: str
    text: str

    def html(self) -> str:
        paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in self.text.split("\n\n"))
        return (
            f"<html lang='en'><head><title>{self.title}</title></head><body><nav><a href='/'>Home</a></nav>"
            f"<article><h1>{self.title}</h1>{paragraphs}</article><footer>Imprint</footer></body></html>"
        )


@dataclass(frozen=True)
class World:
    web: WebWorld
    search: SearchWorld
    model: OpenAIWorld

    @classmethod
    @asynccontextmanager
    async def of(
        cls, pages: Mapping[str, SitePage | PageSpec], *, web_s: float = 0.0, search_s: float = 0.0
    ) -> AsyncIterator[World]:
        """`pages` by path; each is also found by every search service, with its first 200 characters as extract."""
        specs = {path: page if isinstance(page, PageSpec) else PageSpec(page.html()) for path, page in pages.items()}
        async with WebWorld(specs, web_s, hosts=8) as web:
            documents = [
                Document(web.url(path), page.title, page.text[:200] if len(page.text) > 200 else page.text)
                for path, page in pages.items()
                if isinstance(page, SitePage)
            ]
            async with SearchWorld(documents, latency_s=search_s) as search, openai_world() as model:
                yield cls(web, search, model)

    def env(
        self, data: Path, *services: str, model: bool = False, embedder: bool = False, files: Path | None = None
    ) -> dict[str, str]:
        """Settings for a process that lives in this world and asks the named services (all when none is named)."""
        if commands.is_forking:
            lay_tables(data)
        names = services or ("tavily", "exa", "wikipedia", "pubmed", "arxiv")
        env = {
            **self.search.env(*names),
            "GORKD_DATA": str(data),
            "GORKD_FETCH_ALLOW": "127.0.0.0/8",
            "GORKD_REGISTRIES": "none",
            "GORKD_PROVIDERS": ",".join([*names, *(["files"] if files else [])]),
        }
        if files:
            env["GORKD_FILES"] = str(files)
        if model:
            env |= {"OPENAI_BASE_URL": self.model.url, "OPENAI_API_KEY": "sk-test-0123456789", "GORKD_MODEL": "loop-1"}
        if embedder:
            env |= {"GORKD_EMBEDDING_MODEL": "hashing", "GORKD_EMBEDDING_BASE_URL": self.model.url}
        return env
