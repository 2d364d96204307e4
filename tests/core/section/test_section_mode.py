"""A section from its first query to its prose: searches in order, keys that exist, nothing quoted, nothing invented."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

import pytest

from core.library.paper import StoredChunk
from core.library.wording import EMPTY_AT_TERMINAL
from core.model.answer import Verdict
from core.model.config import SectionSettings
from core.model.errors import ModelTimeout
from core.model.job import Attachment, JobStatus
from core.model.ports import ChatDelta, ChatRequest
from core.modes.section import MODE
from core.pipeline.runner import DirectSteps, run_job
from core.presentation.wording import needs_model
from core.section.evidence import KeptEvidence
from core.section.prose import Quotations
from core.section.sections import NO_BRIEF
from core.section.writing import CUT_OFF, FROM_SUMMARIES, select_for_writing
from core.text.chunking import SectionType
from tests.core.section.samples import BRIEF, KEYS, PAPERS, SENTENCES, USUAL, Agent, items, model, shelve, written
from tests.fakes import Died, FakeModel, Journal, by_words, make_deps, make_job

WIND = f"At Brest the tide rose by 40 centimetres in strong wind ({KEYS[1]})."
MOON = f"The moon causes the tides of the world ({KEYS[0]})."
OWN = "Wind adds a tenth to the height of a tide."


def confirming(request: ChatRequest) -> str:
    """A judge that is right about what is plainly false, and confirms all else."""
    return by_words(request, lambda item, verdict: verdict if verdict == "contradicted" else "supported")


def view(result) -> dict[str, object]:
    (section,) = result.details["sections"]
    return section


async def test_a_section_cites_by_key_and_says_which_papers_it_cites() -> None:
    """S001-01, S001-24, S001-32, S001-34: the prose has keys, the answer the same as numbers and passages."""
    _, job, result = await written(model(f"{MOON} {WIND} {OWN}"))

    assert job.status is JobStatus.COMPLETED
    assert view(result)["section_text"] == f"{MOON} {WIND} {OWN}"
    assert view(result)["cited"] == [KEYS[0], KEYS[1]]
    assert view(result)["cited_papers"] == [PAPERS[0].id, PAPERS[1].id]
    assert result.answer.citations[0].quote == SENTENCES[0]
    assert result.details["markdown"].startswith("## Introduction\n")


async def test_default_queries_come_first_and_then_the_agents_own() -> None:
    """S001-10, S001-11, S001-13, S001-14, S001-15: a chunk is found by one query alone."""
    agent = Agent(["how gauges measure water", "floods of the past century"])

    _, _, result = await written(model(MOON, agent=agent), chunks_each=5)

    searches = view(result)["searches"]
    assert [search["is_custom"] for search in searches] == [False, True, True]
    assert [search["query"] for search in searches[1:]] == agent.queries
    found = [chunk for search in searches for chunk in search["found"]]
    assert len(found) == len(set(found))
    assert view(result)["ended_because"] == "nothing is missing"


async def test_the_agent_is_told_all_it_needs() -> None:
    """S001-12, S001-13, S001-31: section, context, evidence so far, its one tool, and when to stop."""
    agent = Agent()

    await written(model(MOON, agent=agent))

    asked = agent.asked[0]
    assert [tool.name for tool in asked.tools] == ["search_evidence"]
    assert "Background, problem statement, related work" in asked.system
    assert "Specific related work gaps" in asked.system
    assert "at most 5 searches" in asked.system
    assert "Tides in harbours depend on the moon" in asked.user
    assert "It says: " in asked.user


async def test_the_writer_is_told_section_context_evidence_and_style() -> None:
    """S001-23, S001-31: with the keys that it may use."""
    chat = model(MOON)

    await written(chat)

    asked = chat.calls("section")[0]
    assert "Never quote" in asked.system
    assert "Lead from the field's background" in asked.system
    assert "Tides in harbours" in asked.user
    assert sum(f'<source key="{key}">' in asked.user for key in KEYS) == 5


async def test_a_key_that_no_paper_has_is_removed_and_reported() -> None:
    """The claim stays when a paper that was read says it, under that paper's key."""
    prose = f"{MOON} The sun adds half as much as the moon (nobody1999nothing)."

    _, _, result = await written(model(prose))

    assert view(result)["unknown_keys"] == ["nobody1999nothing"]
    assert "nobody1999nothing" not in result.details["markdown"]
    assert f"as much as the moon ({KEYS[4]})." in result.details["markdown"]
    assert any("nobody1999nothing" in note for note in result.answer.limitations)


async def test_what_a_cited_paper_does_not_say_is_cut_and_reported() -> None:
    """Neither of others nor of the own work is anything said that nobody said."""
    invented = f"Whales sing louder in the Pacific every summer ({KEYS[1]})."
    boast = "Our method won the Nobel prize for chemistry."

    _, _, result = await written(model(f"{MOON} {invented} {boast}"))

    assert view(result)["section_text"] == MOON
    assert {entry.text for entry in result.answer.removed} == {
        "Whales sing louder in the Pacific every summer.",
        boast,
    }


@pytest.mark.parametrize(
    ("told", "text"),
    [
        pytest.param(f"{MOON[: MOON.index(' (')]}~\\citep{{{KEYS[0]}}}.", MOON, id="a citation of LaTeX"),
        pytest.param(
            f"\\section{{Introduction}}\n\\textbf{{{MOON[: MOON.index(' (')]}}} \\cite[p.~2]{{{KEYS[0]}}}.",
            MOON,
            id="LaTeX with its heading, and a font",
        ),
        pytest.param(f"As @{KEYS[0].upper()} says, {MOON}", f"As Author1 ({KEYS[0]}) says, {MOON}", id="Pandoc"),
        pytest.param(MOON.replace(f"({KEYS[0]})", f"@{KEYS[0]}"), MOON, id="Pandoc at the end"),
        pytest.param(f"## 1. Introduction\n\n{MOON}", MOON, id="its own heading"),
        pytest.param(f"**Introduction**\n{MOON}", MOON, id="its own heading in bold"),
        pytest.param(f"Sure! Here is the introduction:\n\n{MOON}", MOON, id="announced"),
        pytest.param(f"Below is the section you asked for.\n\n## Introduction\n\n{MOON}", MOON, id="told of"),
        pytest.param(
            f"{MOON}\n\n**References**\n[1] Author1, A. (2020). Study 1 of Water. ({KEYS[0]})", MOON, id="a list"
        ),
        pytest.param(f"{MOON}\n\n## Literatur\n\n- Author1 (2020): Study 1 of Water", MOON, id="a list in German"),
        pytest.param([MOON, WIND], f"{MOON}\n\n{WIND}", id="paragraphs by themselves"),
        pytest.param({"introduction": MOON}, MOON, id="below its name"),
    ],
)
async def test_prose_is_read_however_a_writer_sets_it(told: object, text: str) -> None:
    """Nothing of it stands there twice or is told as removed, and nothing that says something is lost."""
    _, _, result = await written(model("", section=json.dumps({"text": told})))

    assert view(result)["section_text"] == text
    assert not result.answer.removed
    assert not view(result)["unknown_keys"]


async def test_a_sentence_names_the_authors_that_latex_names() -> None:
    """`\\citet` stands in the sentence, where a key alone says nobody."""
    _, _, result = await written(model(f"As \\citet{{{KEYS[0]}}} say, the moon causes the tides of the world."))

    assert view(result)["section_text"] == f"As Author1 ({KEYS[0]}) say, the moon causes the tides of the world."


async def test_what_is_set_against_orders_is_set_in_latex_too() -> None:
    """Headings, lists, tables and fonts compile to what they are in the Markdown."""
    table = f"| Place | Metres |\n|---|---|\n| Brest | 0.4 ({KEYS[1]}) |"
    prose = f"### Tides\n**{MOON}**\n\n1. {WIND}\n2. {MOON.replace('causes', 'really causes')}\n\n{table}"

    _, _, result = await written(model(prose, check=confirming))

    latex = result.details["latex"]
    assert "\\subsection{Tides}\n\n\\textbf{The moon causes the tides" in latex
    assert "\\begin{enumerate}\n\\item At Brest the tide rose" in latex
    assert f"\\begin{{tabular}}{{ll}}\nPlace & Metres \\\\\nBrest & 0.4~\\cite{{{KEYS[1]}}} \\\\\n" in latex
    assert not {"#", "|", "**"} & set(latex.split())


async def test_a_formula_that_the_brief_has_too_is_no_money_in_latex() -> None:
    """As everywhere else it stands in plain characters, which LaTeX sets."""
    brief = BRIEF.replace("  method_combination", "    We take $x \\approx 2$ for the wind.\n  method_combination")

    _, _, result = await written(model(f"{MOON} We take $x \\approx 2$ for the wind."), brief=brief)

    assert "We take x \\ensuremath{\\approx} 2 for the wind." in result.details["latex"]


async def test_a_bracket_that_begins_a_row_or_an_item_is_text() -> None:
    """Behind `\\\\` and `\\item` LaTeX takes it, and a star, for an option, and ends in an error."""
    table = f"| Place | Metres |\n|---|---|\n| [Brest | 0.4 ({KEYS[1]}) |\n| *At Brest | 0.4 ({KEYS[1]}) |"

    _, _, result = await written(model(f"- [{WIND}\n\n{table}", check=confirming))

    latex = result.details["latex"]
    assert "\\item {}[At Brest" in latex
    assert "\\\\\n{}[Brest &" in latex
    assert "\\\\\n{}*At Brest &" in latex


@pytest.mark.parametrize("aim", ["Tides in harbours depend on the wind and on the moon.", OWN])
async def test_what_the_author_says_is_nobody_elses(aim: str) -> None:
    """A paper that says the like is not cited for the own aim, or in its words; without the author's word it is."""
    _, _, result = await written(model(f"{MOON} {aim}", check=confirming))

    assert view(result)["section_text"].endswith(f"). {aim}")


async def test_what_is_not_confirmed_is_counted() -> None:
    """Prose carries no marks, so what a rule doubts is told beside it."""
    wrong = f"At Brest the tide rose by 60 centimetres in strong wind ({KEYS[1]})."

    _, _, result = await written(model(f"{MOON} {wrong}", check=confirming))

    assert "Nothing had to be removed. 1 sentence is not confirmed, or only in part." in result.answer.summary


async def test_a_wrong_key_is_put_right() -> None:
    """The claim moves to the paper that says it."""
    _, _, result = await written(model(MOON.replace(KEYS[0], KEYS[1])))

    assert view(result)["cited"] == [KEYS[0]]
    assert result.answer.claims[0].verdict is Verdict.MOVED


@pytest.mark.parametrize(
    ("rephrased", "kept"),
    [
        pytest.param(MOON, True, id="rephrased"),
        pytest.param(f"{SENTENCES[0][:-1]} ({KEYS[0]}).", False, id="repeated again: cut"),
        pytest.param("", False, id="not given: cut"),
    ],
)
async def test_a_quotation_is_rephrased_once_or_cut(rephrased: str, kept: bool) -> None:
    """S001-32, D4: four words in a row of a passage that tell something never stand in the prose."""
    quoting = f"{SENTENCES[0][:-1]} ({KEYS[0]})."
    chat = model(f"{quoting} {WIND}", rephrase=json.dumps({"items": [{"number": 0, "sentence": rephrased}]}))

    _, _, result = await written(chat)

    prose = str(view(result)["section_text"])
    assert SENTENCES[0][:-1] not in prose
    assert (rephrased in prose) if kept else prose == WIND
    assert view(result)["rephrased"] == int(kept)
    assert len(view(result)["removed"]) == int(not kept)
    assert len(chat.calls("rephrase")) == 1


async def test_a_heading_keeps_its_line_where_the_sentence_below_it_quoted() -> None:
    """D20: what is cut takes no paragraph's end with it."""
    quoting = f"{SENTENCES[0][:-1]} ({KEYS[0]})."

    _, _, result = await written(model(f"### The wind\n\n{quoting} {WIND}", rephrase=json.dumps({"items": []})))

    assert view(result)["section_text"] == f"### The wind\n\n{WIND}"


@pytest.mark.parametrize(
    ("sentence", "run"),
    [
        pytest.param("Elsewhere strong wind raised the tide too.", "strong wind raised the tide", id="five words"),
        pytest.param("Strong wind raised tides.", "", id="three words"),
        pytest.param("It was raised in the harbour of Brest.", "", id="how everybody writes"),
        pytest.param("It rose in Brest by 40 centimetres.", "", id="a name and a number"),
        pytest.param("Height of water in shallow coastal basins differs.", "", id="a term of a title"),
    ],
)
def test_four_words_that_tell_something_are_a_quotation(sentence: str, run: str) -> None:
    """S001-32: titles and terms stay, and so do names, numbers and what every sentence has."""
    texts = [*SENTENCES, "We measured the height of water in shallow coastal basins."]
    quotations = Quotations(texts, longest=USUAL.max_quoted_words, terms=["Height of Water in Shallow Coastal Basins"])

    assert quotations.in_sentence(sentence) == run


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("The wind “raised the tide” there.", "The wind raised the tide there."),
        ("Der Wind „raised the tide“, und «strong wind» auch.", "Der Wind raised the tide, und strong wind auch."),
        ('The word "tide" and "height of water" are terms.', 'The word "tide" and "height of water" are terms.'),
        ('He calls it "windy weather".', 'He calls it "windy weather".'),
    ],
)
def test_few_words_of_a_passage_stand_without_quotation_marks(sentence: str, shown: str) -> None:
    """D4: prose never contains a quotation; so few words are nobody's own."""
    quotations = Quotations(SENTENCES, longest=USUAL.max_quoted_words, terms=["Height of Water"])

    assert quotations.unmarked(sentence) == shown


async def test_what_was_removed_is_told() -> None:
    """Each sentence with its reason, unsupported ones and quotations."""
    quoting = f"{SENTENCES[0][:-1]} ({KEYS[0]})."
    boast = "Our method won the Nobel prize for chemistry."
    chat = model(f"{quoting} {WIND} {boast}", rephrase=json.dumps({"items": []}))

    _, _, result = await written(chat)

    removed = view(result)["removed"]
    assert {entry["text"] for entry in removed} == {SENTENCES[0], boast}
    assert all(entry["reason"] for entry in removed)
    assert {entry.text for entry in result.answer.removed} == {SENTENCES[0], boast}


def test_what_bears_on_nothing_is_not_used_to_fill_five() -> None:
    """S001-19, S001-33: a section from three good passages is better than one from five."""
    chunk = StoredChunk(0, "words", 0, 5, SectionType.OTHER, None, "")
    found = [
        KeptEvidence(paper.id, chunk, "", score, score, score, "q")
        for paper, score in zip(PAPERS, (0.9, 0.5, 0.3, 0.29, 0.1), strict=False)
    ]

    used = select_for_writing(found, min_papers=5, max_evidence=16, least_score=USUAL.least_score)

    assert [entry.combined_score for entry in used] == [0.9, 0.5, 0.3]


async def test_the_agent_sees_titles_and_authors() -> None:
    """S001-18, S001-33: what it tells papers apart by."""
    agent = Agent()

    await written(model(MOON, agent=agent))

    assert "Study 1 of Water (Author1, A.)" in agent.asked[0].user


@pytest.mark.parametrize(
    ("papers", "chosen"),
    [
        pytest.param("1 1 2 3 1 4 5 6", "1 2 3 4 5 6", id="enough papers: one chunk of each"),
        pytest.param("1 1 2 1 2 1 1 1 1 1 1 1", "1 1 2 1 2 1 1 1 1 1", id="two papers: ten chunks"),
        pytest.param("1 2 0", "1 2", id="what has nothing to do with it is left out"),
    ],
)
def test_the_writer_gets_different_papers_before_the_same_again(papers: str, chosen: str) -> None:
    """S001-33: diversity goes before a second chunk of a better paper; the order is that of the scores."""
    chunk = StoredChunk(0, "words", 0, 5, SectionType.OTHER, None, "")
    found = [
        KeptEvidence(name, replace(chunk, chunk_index=at), "", 0.5, float(name != "0"), 0.9 - at / 100, "query")
        for at, name in enumerate(papers.split())
    ]

    used = select_for_writing(found, min_papers=5, max_evidence=16)

    assert " ".join(entry.paper_id for entry in used) == chosen


async def test_the_evidence_table_says_which_query_found_what_and_where_it_is_cited() -> None:
    """S001-20, S001-33: with the three scores."""
    _, _, result = await written(model(f"{MOON} {WIND}"))

    rows = result.details["evidence"]
    moon = next(row for row in rows if row["key"] == KEYS[0])
    assert moon["query"].startswith("Tides in harbours")
    assert moon["combined_score"] == pytest.approx(0.4 * moon["vector_score"] + 0.6 * moon["llm_score"], abs=1e-3)
    assert moon["cited_in"] == ["The moon causes the tides of the world."]
    assert [row["cited_in"] for row in rows if row["key"] == KEYS[2]] == [[]]


async def test_tokens_are_told_by_phase() -> None:
    """Of every phase that asked the model, in the section and in all."""
    _, _, result = await written(model(MOON))

    usage = result.details["usage"]
    assert list(usage) == ["summaries", "scores", "agent", "section", "check"]
    spent = sum(row["prompt_tokens"] + row["completion_tokens"] for row in usage.values())
    assert result.answer.metadata.tokens_used == spent


async def test_a_whole_paper_has_its_sections_in_order_and_one_key_for_a_paper() -> None:
    """S001-22, S001-33: what the context has nothing for is left out and said."""
    _, _, result = await written(model(f"{MOON} {OWN}"), query="Write the whole paper")

    sections = [section["section"] for section in result.details["sections"]]
    assert sections == ["abstract", "introduction", "methods", "conclusion"]
    assert {key for section in result.details["sections"] for key in section["cited"]} == {KEYS[0]}
    assert result.details["bibtex"].count("@misc{") == 1
    assert len({claim.id for claim in result.answer.claims}) == len(result.answer.claims)
    assert any(note.startswith("Results is left out") for note in result.answer.limitations)


async def test_latex_cites_and_escapes() -> None:
    """Nothing in the prose is read as a command."""
    _, _, result = await written(model(WIND))

    assert f"\\section{{Introduction}}\n\n{WIND.partition(' (')[0]}~\\cite{{{KEYS[1]}}}." in result.details["latex"]


async def test_without_a_brief_a_model_or_papers_it_says_what_is_missing() -> None:
    """Each in one sentence that says what to do."""
    said: list[str] = []
    for chat, brief in ((None, ""), (model(MOON), ""), (model(MOON), BRIEF)):
        deps = make_deps(model=chat)
        attached = ("paper.yaml",) if brief else ()
        job = await deps.jobs.save(make_job("Write the introduction", modes=("section",), attachments=attached))
        if brief:
            await deps.jobs.attach(job, [Attachment("paper.yaml", "", "", brief)])
        await run_job(job.id, deps, DirectSteps())
        ended = await deps.jobs.get(job.id)
        said.append(ended.error.message)

    assert said == [
        f"{needs_model('Writing a section')} The mode `quick` works without one.",
        NO_BRIEF,
        EMPTY_AT_TERMINAL,
    ]


@pytest.mark.parametrize(
    "dies_at",
    ["keys", "introduction-search-1", "introduction-agent-1", "introduction-search-2", "introduction-agent-2",
     "introduction-write"],
)  # fmt: skip
async def test_a_job_goes_on_behind_the_last_search_that_was_finished(dies_at: str) -> None:
    """S001-01: a worker that dies at any step costs nothing that was paid for, and changes nothing."""
    _, _, undisturbed = await written(model(MOON, agent=Agent(["how gauges measure water"])))
    chat = model(MOON, agent=Agent(["how gauges measure water"]))
    deps = make_deps(model=chat)
    await shelve(deps.library)
    job = await deps.jobs.save(make_job("Write the introduction", modes=("section",), attachments=("paper.yaml",)))
    await deps.jobs.attach(job, [Attachment("paper.yaml", "", "", BRIEF)])
    journal = Journal(dies_in=dies_at)
    with pytest.raises(Died):
        await run_job(job.id, deps, journal, is_resumable=True)

    journal.dies_in = ""
    await run_job(job.id, deps, journal, is_resumable=True)

    result = await deps.jobs.result(job.id)
    assert result.details == undisturbed.details
    prompts = [(call.purpose, call.user) for call in chat.asked if call.purpose in ("summaries", "scores", "section")]
    assert len(prompts) == len(set(prompts))


async def test_a_section_whose_time_is_up_is_written_from_what_was_found() -> None:
    """D2: 600 s a section, of which the last are for writing; the answer is complete and says so."""
    agent = Agent(["how gauges measure water"])
    late = SectionSettings(deadline_s=240.0, write_reserve_s=240.0)

    _, job, result = await written(model(MOON, agent=agent), section=late)

    assert MODE.deadline_s == 6 * 600
    assert job.status is JobStatus.COMPLETED
    assert view(result)["section_text"] == MOON
    assert agent.asked == []
    assert result.answer.stopped_because == "its time was up"
    assert "Introduction: the search for evidence ended early, since its time was up." in result.answer.limitations


@dataclass
class HangingAt(FakeModel):
    """Says nothing more where a prompt holds these words."""

    words: str = ""

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatDelta]:
        if request.purpose == "summaries" and self.words in request.user:
            await asyncio.Event().wait()
        async for delta in super().stream(request):
            yield delta


async def test_first_search_ends_with_its_time_and_with_what_was_judged_by_then() -> None:
    """D2, S001-18: a call that hangs costs its own passages, not the section."""
    short = SectionSettings(deadline_s=0.5, write_reserve_s=0.2)
    chat = HangingAt(model(MOON).answers, words=SENTENCES[1])

    _, job, result = await written(chat, section=short)

    assert job.status is JobStatus.COMPLETED
    assert view(result)["section_text"] == MOON
    assert result.answer.stopped_because == "its time was up"
    assert "3 of 5 passages could not be judged by the model and were left out." in result.answer.limitations


async def test_papers_that_were_found_and_left_out_are_named() -> None:
    """S001-33, D11: what the model scored with nothing is not taken for never found."""

    def scores(call: ChatRequest) -> str:
        told = enumerate(items(call), start=1)
        return json.dumps({"items": [{"number": at, "score": 0.8 * (SENTENCES[1] not in text)} for at, text in told]})

    _, _, result = await written(model(MOON, scores=scores))
    _, _, crowded = await written(model(MOON), section=SectionSettings(max_evidence=2))
    _, _, whole = await written(model(MOON))

    (note,) = [entry for entry in result.answer.limitations if "left out" in entry]
    assert note.startswith("1 of ")
    assert note.endswith(f": {PAPERS[1].title}.")
    assert [entry[:5] for entry in crowded.answer.limitations if "left out" in entry] in (["3 of "], ["4 of "])
    assert not any("left out" in entry for entry in whole.answer.limitations)


class Away:
    """An `EmbeddingModel` that does not answer."""

    name = "away"

    async def embed(self, texts):
        raise ModelTimeout("late", user_message="The model did not answer in time.")


async def test_search_goes_by_words_where_the_embedding_model_does_not_answer() -> None:
    """S001-16, S003-23: a section is not lost to it, and says so."""
    deps = replace(make_deps(model=model(MOON)), embedder=Away())
    await shelve(deps.library)
    job = await deps.jobs.save(make_job("Write the introduction", modes=("section",), attachments=("paper.yaml",)))
    await deps.jobs.attach(job, [Attachment("paper.yaml", "application/yaml", "paper.yaml", BRIEF)])

    await run_job(job.id, deps, DirectSteps())

    result = await deps.jobs.result(job.id)
    assert (await deps.jobs.get(job.id)).status is JobStatus.COMPLETED
    assert view(result)["section_text"] == MOON
    assert (
        "1 of 1 searches went by words alone, since meanings could not be compared just then."
        in result.answer.limitations
    )


async def test_sections_of_one_document_share_what_was_paid_for() -> None:
    """S001-35: the same query of two sections summarises no chunk a second time."""
    chat = model(MOON, agent=Agent(["how gauges measure water"]))

    _, _, result = await written(chat, query="Write the abstract and the introduction", chunks_each=5)

    told = [(block, call.user.rpartition("<query>")[2]) for call in chat.calls("summaries") for block in items(call)]
    queries = [search["query"] for section in result.details["sections"] for search in section["searches"]]
    assert queries.count("how gauges measure water") == 2
    assert len(told) == len(set(told))


async def test_prose_that_comes_without_its_json_is_the_section() -> None:
    """N-05: asked for once more with the schema in words; then plain text with its keys will do."""
    chat = model("", section=f"```markdown\n{MOON}\n```")

    _, _, result = await written(chat)

    assert MOON in result.details["markdown"]
    assert [call.in_words for call in chat.calls("section")] == [False, True]


async def test_section_whose_text_cannot_be_read_is_made_of_what_the_evidence_says() -> None:
    """N-05: sixty paid calls are not lost to one answer that cannot be read."""
    own = [{"number": number, "summary": "In strong wind the tide rose"} for number in (1, 2, 3)]

    _, _, result = await written(model("", section="{]", summaries=json.dumps({"items": own})))

    assert f"In strong wind the tide rose ({KEYS[1]})." in str(view(result)["section_text"])
    assert FROM_SUMMARIES in result.answer.limitations


async def test_sentence_that_the_writer_repeats_is_judged_and_shown_once() -> None:
    """S003-14: small models write in circles."""
    circling, plain = model(f"{MOON} {MOON} {MOON} {WIND} {MOON}"), model(f"{MOON} {WIND}")

    _, _, result = await written(circling)
    await written(plain)

    assert view(result)["section_text"] == f"{MOON} {WIND}"
    asked, once = ([call.user.count("<claim>") for call in chat.calls("check")] for chat in (circling, plain))
    assert asked == once


async def test_section_that_was_cut_ends_with_its_last_whole_sentence() -> None:
    _, _, result = await written(model("", section=json.dumps({"text": f"{MOON} The sun adds half as mu"})[:-2]))

    assert view(result)["section_text"] == MOON
    assert CUT_OFF in result.answer.limitations
