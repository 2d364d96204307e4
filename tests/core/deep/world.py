"""The outside of a deep research job: PubMed with real abstracts, a web that retells them, and a scripted model.

By hand: `python -m tests.core.deep.world`, then use the printed environment.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from tests.loopback.openai_world import OpenAIWorld, openai_world
from tests.loopback.search_corpus import Document
from tests.loopback.search_world import SearchWorld
from tests.loopback.web_world import PageSpec, WebWorld
from tests.shared_data import SHARED, shared_data


@dataclass(frozen=True)
class Study:
    """One paper: `sections` are label and text, `conclusion` stands on the web only."""

    pmid: str
    title: str
    sections: Sequence[tuple[str, str]]
    conclusion: str
    year: int = 2020
    author: str = ""

    @property
    def abstract(self) -> str:
        return "\n\n".join(f"{label}: {text}" for label, text in self.sections)

    def page(self) -> str:
        paragraphs = "".join(
            f"<p>{escape(text)}</p>" for text in [*(text for _, text in self.sections), self.conclusion]
        )
        head = f"<head><title>{escape(self.title)}</title></head>"
        return f"<html lang='en'>{head}<body><article><h1>{escape(self.title)}</h1>{paragraphs}</article></body></html>"


CHLORIDE = (
    Study(
        "1001",
        "Low serum chloride and cardiovascular mortality in Belgium",
        [
            ("METHODS", "Serum chloride was measured in 9106 men and women aged 25-74 years in Belgium."),
            ("RESULTS", "The risk ratio for cardiovascular mortality with low serum chloride was 1.65 in men."),
        ],
        "Low serum chloride was associated with cardiovascular mortality in the Belgian cohort.",
        1998,
        "Ada Moore",
    ),
    Study(
        "1002",
        "Serum chloride and mortality in hypertensive patients",
        [
            ("METHODS", "We followed 12968 hypertensive patients in Glasgow for up to 35 years."),
            ("RESULTS", "Each 1 mmol/l of serum chloride went with a 1.5 per cent fall in cardiovascular mortality."),
        ],
        "Low serum chloride level predicts cardiovascular mortality in hypertensive patients in Glasgow.",
        2013,
        "Bo Lee",
    ),
    Study(
        "1003",
        "Retracted: Serum chloride supplements end cardiovascular mortality",
        [("RESULTS", "Serum chloride supplements lowered cardiovascular mortality to 0 in 40 patients.")],
        "Serum chloride supplements should be given to everybody.",
        2015,
        "Cy Fox",
    ),
    Study(
        "1004",
        "Hypochloraemia in heart failure",
        [
            ("METHODS", "Serum chloride was taken at admission of 1318 patients with acute heart failure."),
            ("RESULTS", "Low serum chloride at admission predicted cardiovascular mortality beside serum sodium."),
        ],
        "Serum chloride is a risk factor for mortality in acute heart failure.",
        2015,
        "Di Ray",
    ),
)  # fmt: skip
QUESTION = "Is low serum chloride level a risk factor for cardiovascular mortality?"


def read_studies() -> list[Study]:
    """The real ones; skips the calling test where the optional data is absent."""
    rows: Mapping[str, Mapping[str, object]] = json.loads(shared_data("pubmedqa", "questions.json").read_text("utf-8"))
    return [_study(pmid, row) for pmid, row in rows.items()]


def _study(pmid: str, row: Mapping[str, object]) -> Study:
    texts, labels = row["CONTEXTS"], row["LABELS"]
    assert isinstance(texts, list)
    assert isinstance(labels, list)
    return Study(
        pmid,
        str(row["QUESTION"]).rstrip("?"),
        list(zip(labels, texts, strict=True)),
        str(row["LONG_ANSWER"]),
        int(str(row["YEAR"] or 2000)),
        f"Author {pmid}",
    )


@dataclass(frozen=True)
class DeepWorld:
    web: WebWorld
    search: SearchWorld
    model: OpenAIWorld

    @classmethod
    @asynccontextmanager
    async def of(
        cls, studies: Sequence[Study] = CHLORIDE, *, search_s: float = 0.0, page_s: float = 0.0
    ) -> AsyncIterator[DeepWorld]:
        specs = {f"/study-{study.pmid}": PageSpec(study.page()) for study in studies}
        async with WebWorld(specs, page_s, hosts=8) as web:
            documents = {
                "pubmed": [_document(study, f"pmid:{study.pmid}", study.abstract) for study in studies],
                "tavily": [
                    _document(study, web.url(f"/study-{study.pmid}"), study.abstract[:200]) for study in studies
                ],
            }
            async with SearchWorld(documents, latency_s=search_s) as search, openai_world() as model:
                yield cls(web, search, model)

    def env(self, data: Path, *, model: bool = True) -> dict[str, str]:
        env = {
            **self.search.env("tavily", "pubmed"),
            "GORKD_DATA": str(data),
            "GORKD_FETCH_ALLOW": "127.0.0.0/8",
            "GORKD_PROVIDERS": "tavily,pubmed",
            "GORKD_REGISTRIES": "none",
        }
        if model:
            env |= {"OPENAI_BASE_URL": self.model.url, "OPENAI_API_KEY": "sk-test-0123456789", "GORKD_MODEL": "loop-1"}
        return env

    def calls(self, schema: str) -> int:
        return sum(call.schema_name == schema for call in self.model.calls)


def _document(study: Study, url: str, text: str) -> Document:
    return Document(url, study.title, text, datetime(study.year, 1, 1, tzinfo=UTC), study.author, study.pmid)


async def _serve() -> None:
    """Until interrupted."""
    studies = read_studies() if SHARED.exists() else list(CHLORIDE)
    async with DeepWorld.of(studies) as world:
        world.model.first_token_s, world.model.token_s = 0.6, 0.006
        for name, value in world.env(Path("/tmp/gorkd-by-hand")).items():
            print(f"export {name}={value}", flush=True)
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
