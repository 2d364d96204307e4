"""Step 3c: facts from what a round found, each bound to the words of the source that say it (S002-10)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from core.answer import Evidence, Verdict
from core.deep.asking import ask_model, line, listed, number
from core.deep.framing import checklist_frame, facts_frame, question_frame
from core.deep.state import DeepState, Fact, NewFacts
from core.deps import Deps
from core.events import Json, rows
from core.evidence.passages import EvidenceIndex
from core.evidence.quoting import quote_answer
from core.evidence.verbatim import find_verbatim, verify_quote
from core.evidence.vetoes import Force, find_vetoes
from core.llm import strict
from core.passages import Passage, select_passages
from core.prompts import load_prompt
from core.quality import is_retracted
from core.source import Source
from core.stages.prompting import format_sources, passage_tokens

NEVER_IN_FACTS = frozenset({"numbers", "dates", "units", "names", "negation", "opposites", "roles"})  # rules' doubts
SAME_FACT = 90.0  # rapidfuzz token-set ratio 0…100 of two facts of one source


@dataclass(frozen=True)
class _Found:
    """A fact as the model gave it."""

    text: str
    items: tuple[str, ...]
    source_id: str
    quote: str


async def process_results(state: DeepState, sources: Sequence[Source], deps: Deps, *, within_s: float) -> NewFacts:
    """What the sources say for the checklist. Raises `ModelError`.

    A fact without its words in the source is looked for there, and dropped when the source does not say it.
    What was retracted gives no facts.
    """
    readable = [source for source in sources if not is_retracted(source)]
    passages = await asyncio.to_thread(_choose, state, readable, deps)
    if not passages:
        return NewFacts()
    settings = deps.settings.deep
    known = facts_frame(state.facts, max_tokens=settings.max_known_tokens)
    parts = [format_sources(readable, passages), question_frame(state), known, checklist_frame(state.needed)]
    said = await ask_model(
        deps,
        "facts",
        system=load_prompt("process_results").substitute(
            today=deps.clock().date().isoformat(), max_facts=settings.max_facts_per_round
        ),
        user="\n".join(parts),
        schema_name="facts",
        schema=_schema(state, settings.max_facts_per_round),
        within_s=within_s,
    )
    found = [_read(row) for row in rows(said.fields.get("facts"))][: settings.max_facts_per_round]
    known_ids = {source.id for source in readable}
    is_noise = bool(found) and not any(entry.text and entry.source_id in known_ids for entry in found)
    if not said.fields or is_noise:
        found = await asyncio.to_thread(_quoted, state, readable)
    facts = await asyncio.to_thread(_bind, state, found, readable)
    return NewFacts(facts=tuple(facts), usage=said.usage)


def bind_fact(text: str, quote: str, source: Source) -> Evidence | None:
    """The span of the source that says `text`: the quote's where it stands there, else the best passage; None if none.

    The rules judge the sentence against it as they judge every sentence of an answer.
    """
    return _bind_to(text, quote, _index(source))


def _choose(state: DeepState, sources: Sequence[Source], deps: Deps) -> dict[str, list[Passage]]:
    """Of the whole texts what bears on the items that are still needed, within the budget."""
    needs = " ".join([state.refined.question, *(f"{item.description} {item.missing}" for item in state.needed)])
    budget = deps.settings.deep.max_source_tokens
    return select_passages(sources, needs, max_tokens=budget, count_tokens=passage_tokens)


def _read(row: Mapping[str, Json]) -> _Found:
    items = tuple(str(number(item)) for item in listed(row.get("items"), most=5))
    return _Found(line(row.get("fact")), items, f"src_{number(row.get('source'))}", line(row.get("quote")))


def _quoted(state: DeepState, sources: Sequence[Source]) -> list[_Found]:
    """For a model that gave nothing readable, or nothing of any source: sentences that answer, as they stand."""
    quoted = quote_answer(state.refined.question, sources)
    return [_Found(entry.text, (), entry.source_id, entry.text) for entry in (*quoted.summary, *quoted.detail)]


def _schema(state: DeepState, most: int) -> dict[str, Json]:
    items: list[Json] = [item.id for item in state.checklist]
    row = strict(
        {
            "fact": {"type": "string"},
            "items": {"type": "array", "items": {"type": "string", "enum": items}, "maxItems": 5},
            "source": {"type": "string"},
            "quote": {"type": "string"},
        }
    )
    return strict({"facts": {"type": "array", "items": row, "maxItems": most}})


def _bind(state: DeepState, found: Sequence[_Found], sources: Sequence[Source]) -> list[Fact]:
    indexes = {source.id: _index(source) for source in sources if any(entry.source_id == source.id for entry in found)}
    items = {item.id for item in state.checklist}
    facts: list[Fact] = []
    for entry in found:
        if not entry.text or entry.source_id not in indexes:
            continue
        if any(_is_same(entry, fact) for fact in [*state.facts, *facts]):
            continue
        evidence = _bind_to(entry.text, entry.quote, indexes[entry.source_id])
        if evidence is not None:
            named = tuple(item for item in entry.items if item in items)
            facts.append(Fact(len(state.facts) + len(facts) + 1, entry.text, named, evidence))
    return facts


def _is_same(entry: _Found, fact: Fact) -> bool:
    """From another source the same fact is a second voice for it."""
    return (
        fact.evidence.source_id == entry.source_id
        and fuzz.token_set_ratio(entry.text.casefold(), fact.text.casefold()) >= SAME_FACT
    )


def _index(source: Source) -> EvidenceIndex:
    """What a page says to assistants is no evidence; blanked out, it keeps the offsets of the rest true."""
    return EvidenceIndex(replace(source, content=source.trusted_content))


def _bind_to(text: str, quote: str, index: EvidenceIndex) -> Evidence | None:
    source = index.source
    span = verify_quote(quote, source.content) if quote else None
    if span is None or any(first < span[1] and last > span[0] for first, last in source.instructs):
        evidence = index.find(text)
    else:
        evidence = Evidence(source.id, source.content[slice(*span)], *span)
    if evidence is None:
        return None
    vetoes = find_vetoes(text, evidence.quote, context=index.context(text, evidence))
    if any(veto.force is Force.CONTRADICTS or veto.rule in NEVER_IN_FACTS for veto in vetoes):
        return None
    verdict = Verdict.SUPPORTED if find_verbatim(text, source.content) else Verdict.UNCHECKED
    reasons = tuple(veto.reason for veto in vetoes)
    return replace(evidence, verdict=verdict, page=source.page_at(evidence.start), reasons=reasons)
