"""Evidence for one section: the default queries, then an agent's own, each search one durable step (S001, phase 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from core.library.funnel import Shelves
from core.library.paper import Paper
from core.llm.agent import AgentRefusal, Move, decide, run_agent
from core.llm.ask_model import strict
from core.model.answer import ModelUsage
from core.model.errors import ModelTimeout
from core.model.job import JobStatus
from core.model.ports import ChatModel, ChatRequest, Tool, ToolTurn
from core.pipeline.work import Deadline, Work
from core.prompts import load_prompt
from core.section.brief import Brief
from core.section.evidence import KeptEvidence, Searched, search_evidence
from core.section.sections import PLANS, Section, default_queries
from core.section.usage import Phase, PhaseUsage
from core.stages.prompting import fenced

SEARCH_EVIDENCE = Tool(
    name="search_evidence",
    description="Look through the whole library for passages that bear on a query; gives the best with summaries.",
    parameters=strict({"query": {"type": "string", "description": "One thing to find, in the words of papers."}}),
)
TIME_IS_UP = "its time was up"
MAX_MOVE_TOKENS = 600
MAX_AUTHORS, MAX_TITLE_CHARS = 3, 200
MAX_CONTEXT_CHARS = 8000  # of the brief in a prompt: 2,000 tokens


@dataclass
class EvidenceGathering:
    """The searches of one section, folded from what its steps return."""

    work: Work
    model: ChatModel
    shelves: Shelves
    brief: Brief
    section: Section
    keys: Mapping[str, str]
    papers: Mapping[str, Paper] = field(default_factory=dict)  # by id
    searches: list[Searched] = field(default_factory=list)
    usage: list[PhaseUsage] = field(default_factory=list)
    refused: tuple[AgentRefusal, ...] = ()
    ending: str = ""
    _moves: int = 0

    def __post_init__(self) -> None:
        settings = self.work.deps.settings.section
        self._search_until = Deadline.after(settings.deadline_s - settings.write_reserve_s)

    @property
    def evidence(self) -> list[KeptEvidence]:
        """Every chunk once, under the query that found it best."""
        best: dict[str, KeptEvidence] = {}
        for entry in (entry for search in self.searches for entry in search.found):
            held = best.get(entry.chunk_id)
            if held is None or entry.combined_score > held.combined_score:
                best[entry.chunk_id] = entry
        return sorted(best.values(), key=lambda entry: -entry.combined_score)

    async def run(self) -> None:
        """Raises `ModelError`, `StoreError`, and `InvalidQuery` for a brief without what the section needs."""
        defaults = default_queries(self.section, self.brief)
        for query in defaults:
            await self._search(query, is_custom=False)
        ended = await run_agent(
            self._ask, self._act, asked=defaults, max_calls=self.work.deps.settings.section.max_search_iterations
        )
        self.ending, self.refused = ended.reason, ended.refused

    async def _search(self, query: str, *, is_custom: bool) -> Searched:
        # A default query of another section may find the same; within one, a custom query finds only what is new.
        known = [entry.chunk_id for entry in self.evidence] if is_custom else []
        name = f"{self.section}-search-{len(self.searches) + 1}"
        step = partial(self._searched, query, known, is_custom=is_custom)
        searched = await self.work.steps.run(name, step, Searched)
        self.searches.append(searched)
        self.usage += searched.usage
        return searched

    async def _searched(self, query: str, known: Sequence[str], *, is_custom: bool) -> Searched:
        title = PLANS[self.section].title
        await self.work.progress.status(
            JobStatus.SEARCHING, message=f"{title}: gathering evidence", data={"queries": [query]}
        )
        within_s = self._search_until.remaining()
        if not self.evidence:  # without any there is nothing to write from
            within_s = within_s or self.work.deps.settings.section.call_timeout_s
        with self.work.deps.stage("evidence"):
            try:
                return await search_evidence(
                    self.work.job,
                    query,
                    self.shelves,
                    self.work.deps,
                    self.model,
                    known=known,
                    is_custom=is_custom,
                    within_s=within_s,
                )
            except ModelTimeout:
                if not self.evidence:
                    raise
                return Searched(query, is_custom, (), 0, 0, ())

    async def _act(self, query: str) -> str:
        searched = await self._search(query, is_custom=True)
        return self._told(searched.found) or "Nothing was found that is not known already."

    async def _ask(self, turns: Sequence[ToolTurn]) -> Move:
        self._moves += 1
        step = partial(self._decided, tuple(turns))
        move = await self.work.steps.run(f"{self.section}-agent-{self._moves}", step, Move)
        self.usage.append(PhaseUsage(Phase.AGENT, move.usage or ModelUsage()))
        return move

    async def _decided(self, turns: tuple[ToolTurn, ...]) -> Move:
        """That time is up is decided within the step, so that a job that goes on elsewhere decides the same."""
        if self._search_until.remaining() <= 0:
            return Move(said=TIME_IS_UP, usage=ModelUsage())
        with self.work.deps.stage("agent"):
            request = replace(self._request(), turns=turns)
            return await decide(self.model, request)

    def _request(self) -> ChatRequest:
        plan, settings = PLANS[self.section], self.work.deps.settings.section
        prompt = load_prompt("gather_evidence").substitute(
            title=plan.title,
            focus=plan.focus,
            instructions=plan.instructions,
            search_for=plan.search_for,
            max_searches=str(settings.max_search_iterations),
        )
        initial = [entry for search in self.searches if not search.is_custom for entry in search.found]
        return ChatRequest(
            purpose=Phase.AGENT.value,
            system=prompt,
            user=f"{context_block(self.brief)}\n\n{self._told(initial)}",
            schema_name="",
            schema={},
            max_tokens=MAX_MOVE_TOKENS,
            timeout_s=settings.call_timeout_s,
            tools=(SEARCH_EVIDENCE,),
        )

    def _told(self, found: Sequence[KeptEvidence]) -> str:
        return "\n".join(
            f'<source key="{self.keys.get(entry.paper_id, entry.paper_id)}" score="{entry.combined_score:.2f}">\n'
            f"{self._titled(entry.paper_id)}Found by: {fenced(entry.source_query[:200])}\n"
            f"{fenced(entry.summary)}\n</source>"
            for entry in found
        )

    def _titled(self, paper_id: str) -> str:
        """Title and authors, as the agent tells papers apart."""
        paper = self.papers.get(paper_id)
        if paper is None:
            return ""
        authors = ", ".join(paper.authors[:MAX_AUTHORS]) + (" and others" if len(paper.authors) > MAX_AUTHORS else "")
        return f"{fenced(paper.title[:MAX_TITLE_CHARS])}{f' ({fenced(authors)})' if authors else ''}\n"


def context_block(brief: Brief) -> str:
    """What the work is about, for a prompt."""
    return f"<context>\n{fenced(brief.text[:MAX_CONTEXT_CHARS])}\n</context>"
