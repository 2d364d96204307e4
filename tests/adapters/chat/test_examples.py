"""S000's four examples, word for word: in the default install and with an embedder, as Discord and Slack show them.

tests/bots/test_chat.py has them at the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from adapters.chat.discord.library import DiscordLibraryVoice
from adapters.chat.slack.library import SlackLibraryVoice
from adapters.durable.queue import InProcessQueue
from adapters.records.deliveries import SqlMessages
from adapters.records.library import SqlConversations
from core.library.ingest import Ingestion
from core.library.paper import PaperViews
from core.library.session import LibraryTalks, SaidToLibrary, Speaker
from core.model.job import LOCAL
from core.model.ports import EmbeddingModel
from core.pipeline.researcher import Researcher
from core.pipeline.runner import DirectSteps, run_job
from tests.adapters.web.test_papers import Painter
from tests.core.cats import written
from tests.core.library.examples import example_papers, telling
from tests.core.library.samples import Reader, desk_of, shelve
from tests.core.section.samples import Hashing
from tests.fakes import FakeModel, make_deps, now
from tests.golden.samples import LINKS
from tests.records import BOX, MemoryTables

ADA = Speaker(LOCAL, "thread", "7", is_admin=True, key="message")


@dataclass
class Said:
    """What was told on the way, and the reply as each chat shows it."""

    told: list[str]
    said: SaidToLibrary
    discord: str
    slack: str

    def shows(self, *words: str) -> bool:
        """Both do."""
        return all(word in shown for word in words for shown in (self.discord, self.slack))


@dataclass
class Room:
    talks: LibraryTalks

    async def say(self, line: str) -> Said:
        told: list[str] = []

        async def tell(words: str) -> None:
            told.append(words)

        said = await self.talks.say(ADA, line, tell)
        embed, message = DiscordLibraryVoice(LINKS).said(ADA, said).embed, SlackLibraryVoice(LINKS).said(ADA, said)
        assert embed
        shown = (f"{embed.title}\n{embed.description}", f"{message.text}\n{message.blocks}")
        return Said(told, said, *(one.replace("\\", "") for one in shown))


async def room(embedder: EmbeddingModel | None, model: FakeModel | None) -> Room:
    deps = replace(make_deps(model=model), embedder=embedder)
    for paper, text in example_papers().items():
        await shelve(deps.library, paper, text=text, embedder=embedder)

    async def run(job_id: str) -> None:
        await run_job(job_id, deps, DirectSteps())

    researcher = Researcher(deps, InProcessQueue(run, concurrency=1, limit=10, on_cancelled=run))
    desk = desk_of(Ingestion(deps.library, Reader().read, now, model, embedder))
    talks = LibraryTalks(
        researcher, desk, SqlConversations(MemoryTables()), PaperViews(deps.library, Painter().paint), now,
        messages=SqlMessages(MemoryTables(), BOX, clock=now),
    )  # fmt: skip
    return Room(talks)


INSTALLS = [pytest.param(None, id="default install"), pytest.param(Hashing(), id="with an embedder")]


def writes(*paper_ids: str) -> FakeModel:
    return FakeModel({"answer": written(" ".join(f"{telling(one)} [{one}, page 2]." for one in paper_ids))})


def numbers(told: list[str]) -> tuple[int, int]:
    """Papers and chunks, as S000-36 tells them; its lines are in their order and word for word."""
    papers, chunks = int(told[1].split()[1]), int(told[3].split()[1])
    assert told == [
        "🔍 Stage 1: Searching summaries for relevant papers...",
        f"   Found {papers} relevant papers",
        f"📚 Stage 2: Gathering detailed evidence from {papers} papers...",
        f"   Retrieved {chunks} content chunks",
        "✍️  Stage 3: Synthesizing answer from evidence...",
    ]
    return papers, chunks


@pytest.mark.parametrize("embedder", INSTALLS)
@pytest.mark.parametrize("model", [None, writes("2301.12345v1", "2302.67890v2")], ids=["quoted", "written"])
async def test_the_first_example(embedder: EmbeddingModel | None, model: FakeModel | None) -> None:
    """S000-07, S000-13, S000-24, S000-36 … S000-38: stages, panel, pages, references, next steps."""
    talk = await room(embedder, model)

    asked = await talk.say("research what is prompt engineering")

    papers, chunks = numbers(asked.told)
    assert 5 <= papers <= 8
    assert 10 <= chunks <= 15
    assert asked.said.after.state == "research"
    assert asked.shows(
        "📝 Research Results",
        ", page 2]",
        "References",
        " - ",
        "Authors: ",
        "Published: 2023-",
        "💡 Next steps:",
    )
    assert asked.shows("Use `save` to save these results")
    if model is not None:
        assert asked.shows("1. 2301.12345v1 - Prompt Engineering Techniques for Large Language Models")
        assert asked.said.after.last_query_set == ("2301.12345v1", "2302.67890v2")


@pytest.mark.parametrize("embedder", INSTALLS)
async def test_the_second_example(embedder: EmbeddingModel | None) -> None:
    """S000-39, S000-40: improved with feedback, and saved under the question's name."""
    talk = await room(embedder, writes("1810.04805v2"))

    asked = await talk.say("research how do transformers work")
    improved = await talk.say("improve add more details about the mathematical foundations")
    saved = await talk.say("save")

    papers, chunks = numbers(asked.told)
    assert 5 <= papers <= 8
    assert 10 <= chunks <= 15
    assert improved.told == ["✍️  Improving research answer with your feedback..."]
    assert improved.shows("📝 Research Results")
    assert saved.shows("💾 Saving research results...")
    assert saved.shows("✅ Research results saved to: how-do-transformers-work_")
    assert saved.said.reply.file
    assert saved.said.reply.file[0].endswith(".md")


@pytest.mark.parametrize("embedder", INSTALLS)
async def test_the_third_example(embedder: EmbeddingModel | None) -> None:
    """S000-31: nothing is about it, in the given words, and everything is cleared."""
    query = "quantum computing applications in medieval literature"
    talk = await room(embedder, None)

    asked = await talk.say(f"research {query}")

    assert asked.told == ["🔍 Stage 1: Searching summaries for relevant papers..."]
    said = f'❌ No papers found relevant to query: "{query}". Try refining your search terms.'
    assert asked.said.reply.text.startswith(said)
    assert asked.shows(said)
    assert (asked.said.after.state, asked.said.after.last_query_set) == ("initial", ())


@pytest.mark.parametrize("embedder", INSTALLS)
async def test_the_fourth_example(embedder: EmbeddingModel | None) -> None:
    """S000-30, S000-41, D25: a summary and a page by the numbers of the references."""
    cited = ("1409.0473v7", "1706.03762v5", "2010.11929v2")
    talk = await room(embedder, writes(*cited))

    asked = await talk.say("research attention mechanisms in neural networks")
    summary = await talk.say("summary 2")
    page = await talk.say("open 1")

    assert 5 <= numbers(asked.told)[0] <= 8
    assert asked.said.after.last_query_set == cited  # in the order of ids
    assert summary.shows("📝 Response")
    assert summary.shows("Attention is All You Need")
    assert summary.shows("Paper id: 1706.03762v5")
    assert summary.shows("Authors: Ashish Vaswani, Noam Shazeer")
    assert page.shows("Paper Content: 1409.0473v7")
