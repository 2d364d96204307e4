"""The conversation with a library: every command from every state, and a sentence for whatever is wrong."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library import wording
from core.library.funnel import Shelves, search_summary_index
from core.library.ingest import Ingestion
from core.library.states import COMMANDS, Conversation, State, read_command
from core.library.talk import Researched, Talk, slug
from core.model.answer import Confidence, JobResult, ResearchAnswer
from core.model.errors import ModelUnavailable, ProviderTimeout
from core.model.job import LOCAL, Scope
from tests.core.library.samples import TEXTS, TIDES, YEAST, Finder, Reader, desk_of, shelve
from tests.fakes import FakeModel, now
from tests.records import memory_library

BARE = replace(YEAST, id="2409.00009v1", content_hash="hash-9", summary="")
CONTENT = "Tides follow the moon [2401.00001v1, page 2].\n\n## References\n\n1. …\n"


async def research(query: str, feedback: str) -> Researched:
    """As the mode answers: about tides there is something, about failure it fails."""
    if "fail" in query:
        raise ModelUnavailable("away", user_message="❌ Failed to synthesize research answer: away")
    if "tides" not in query:
        nothing = ResearchAnswer(f'❌ No papers found relevant to query: "{query}".', "", Confidence.INSUFFICIENT)
        return Researched("job_2", JobResult(nothing))
    content = f"{CONTENT}{feedback}"
    view = {"success": True, "content": content, "paper_ids": ["2402.00002v1", "2401.00001v1"], "message": ""}
    if "odd" in query:
        view |= {"paper_ids": [], "message": wording.CITATIONS_ODD}
    answer = ResearchAnswer("Tides follow the moon.", "", Confidence.MEDIUM)
    return Researched("job_1", JobResult(answer, details={"query_result": view}))


async def talk(model: FakeModel | None = None, *, is_admin: bool = True, empty: bool = False) -> Talk:
    library = memory_library()
    if not empty:
        await shelve(library, TIDES, YEAST)
        await library.put(LOCAL, BARE, "Bare text.", {}, b"")
    desk = desk_of(Ingestion(library, Reader().read, now, model))
    return Talk(desk, LOCAL, (LOCAL,), research, now, is_admin)


async def said(*lines: str, model: FakeModel | None = None, **how):
    """The conversation after these lines, and the last reply."""
    spoken = await talk(model, **how)
    conversation, reply = Conversation(), None
    for line in lines:
        conversation, reply = await spoken.say(conversation, line)
    return conversation, reply


TO_STATE = {
    State.INITIAL: [],
    State.SELECT_NEW: ["find tides"],
    State.SELECT_VIEW: ["list"],
    State.SUMMARIZED: ["research tides", "summary 2401.00001v1"],
    State.SEM_SEARCH: ["sem-search the tides of the oceans"],
    State.RESEARCH: ["research tides"],
}


LEAD = {
    "find tides": State.SELECT_NEW,
    "find nothing at all": State.INITIAL,
    "sem-search the tides of the oceans": State.SEM_SEARCH,
    "sem-search xylophone": State.INITIAL,
    "research tides": State.RESEARCH,
    "research xylophones": State.INITIAL,
    "research fail": State.INITIAL,
    "list": State.SELECT_VIEW,
    "summarize 2401.00001v1": State.SUMMARIZED,
    "summary 2402.00002v1": State.SUMMARIZED,
    "open 2401.00001": State.SUMMARIZED,
    "summarize-all": State.INITIAL,
    "clear": State.INITIAL,
}
LEAVE = (
    "help", "status", "history", "validate-store", "rebuild-index", "reindex-paper 2401.00001v1",
    "remove-paper 2402.00002v1", "summary 99", "summary 9999.99999", "open nothing", "find", "sumary 2", "?!",
    "summary 2409.00009v1",
)  # fmt: skip


@pytest.mark.parametrize("start", list(State))
async def test_these_lead_from_any_state_to_theirs(start: State) -> None:
    """S000-01, S000-28, S000-31, S000-33, S000-50."""
    after = {line: (await said(*TO_STATE[start], line))[0] for line in LEAD}

    assert {line: conversation.state for line, conversation in after.items()} == LEAD
    for conversation in after.values():
        if conversation.state is State.INITIAL:
            assert (conversation.last_query_set, conversation.draft, conversation.original_query) == ((), "", "")


@pytest.mark.parametrize("start", list(State))
async def test_these_leave_the_state_as_it_is(start: State) -> None:
    """S000-50, S000-51: also a wrong number or id, a missing argument, and a word that is no command."""
    before, _ = await said(*TO_STATE[start])

    after = {line: await said(*TO_STATE[start], line) for line in LEAVE}

    assert {line: (one.state, one.last_query_set) for line, (one, _) in after.items()} == dict.fromkeys(
        LEAVE, (before.state, before.last_query_set)
    )
    assert [line for line, (_, reply) in after.items() if not reply.text] == []


@pytest.mark.parametrize("start", list(State))
async def test_a_command_that_is_not_known_yet_says_what_to_do_first(start: State) -> None:
    """improve, notes and save work on what is shown; `help` lists exactly what works."""
    known = {name for name, rule in COMMANDS.items() if start in rule.states}
    known |= {"save"} if start is State.SUMMARIZED else set()  # above an answer (D25)
    lines = {name: f"{name} more about the sun" if rule.argument else name for name, rule in COMMANDS.items()}

    _, helped = await said(*TO_STATE[start], "help")
    replies = {name: (await said(*TO_STATE[start], line))[1] for name, line in lines.items()}

    assert {name for name, reply in replies.items() if "nothing to work on yet" not in reply.text} == known
    listed = {name for name, rule in COMMANDS.items() if f"`{f'{name} {rule.argument}'.strip()}`" in helped.text}
    assert listed == known


@pytest.mark.parametrize(
    ("tenant", "how"), [("local", "`add <file|id|url>`"), ("slack:T1", "`add <id|url> to library`")]
)
async def test_help_begins_with_how_papers_come_into_the_library(tenant: str, how: str) -> None:
    """As one says it there: a terminal has files at hand, a chat takes them with the message."""
    spoken = replace(await talk(), shelf=Scope(tenant, "workspace"))

    _, helped = await spoken.say(Conversation(), "help")

    assert helped.text.splitlines()[1].startswith(f"- {how} – ")


SHOWN = {State.SEM_SEARCH, State.RESEARCH, State.SELECT_VIEW, State.SUMMARIZED}
NUMBERED = {"summarize 1": SHOWN | {State.SELECT_NEW}, "summary 1": SHOWN, "open 1": SHOWN}


@pytest.mark.parametrize("start", list(State))
@pytest.mark.parametrize("line", list(NUMBERED))
async def test_numbers_mean_papers_only_in_a_list_that_is_shown(start: State, line: str) -> None:
    """S000-50: what was found anew has a number for `summarize` alone."""
    before, _ = await said(*TO_STATE[start])

    after, reply = await said(*TO_STATE[start], line)

    if start in NUMBERED[line]:
        assert (after.state, after.selected_paper) == (State.SUMMARIZED, before.last_query_set[0])
    else:
        assert after.state is before.state
        assert "Numbers mean papers only in a list that is shown" in reply.text


async def test_the_set_is_in_the_order_of_ids_and_kept_while_one_looks_into_it() -> None:
    """S000-26, S000-29, S000-50: a paper from elsewhere ends it."""
    found, _ = await said("research tides")
    inside, _ = await said("research tides", "summary 2", "open 1")
    outside, _ = await said("research tides", "summary 2409.00009v1", "no", "open 2409.00009v1")

    assert found.last_query_set == ("2401.00001v1", "2402.00002v1")
    assert (found.draft, found.original_query, found.selected_paper) == (CONTENT, "tides", "")
    assert inside.last_query_set == found.last_query_set
    assert outside.last_query_set == ()


async def test_improve_rewrites_what_is_shown() -> None:
    """S000-39: an answer by the same question with feedback, a summary by the model; the state stays."""
    model = FakeModel({"summary": json.dumps({"title": "", "authors": [], "year": "", "summary": "Shorter."})})

    answer, _ = await said("research tides", "improve say more of the sun", model=model)
    summary, card = await said("summary 2401.00001v1", "improve shorter", model=model)

    assert (answer.state, answer.draft) == (State.RESEARCH, f"{CONTENT}say more of the sun")
    assert (summary.state, summary.draft) == (State.SUMMARIZED, "Shorter.")
    assert "Shorter." in card.text
    assert "shorter" in model.asked[0].user


@pytest.mark.parametrize("state", [State.SEM_SEARCH, State.RESEARCH])
@pytest.mark.parametrize("line", ["improve more on the tides", "save"])
async def test_what_was_found_is_improved_and_saved_where_it_stands(state: State, line: str) -> None:
    """S000-50: both stay in their state, with the papers that were found."""
    found, _ = await said(*TO_STATE[state])

    after, _ = await said(*TO_STATE[state], line, model=FakeModel({}))

    assert after.state is state
    assert after.last_query_set == found.last_query_set
    assert after.original_query == found.original_query


async def test_an_answer_whose_citations_are_odd_is_a_result_like_others() -> None:
    """S000-34: it is warned of, and can be improved and saved."""
    answered, reply = await said("research odd tides")
    _, saved = await said("research odd tides", "save")

    assert reply.text == f"⚠️  Some citations could not be formatted correctly\n\n{CONTENT}"
    assert (answered.state, answered.draft, answered.last_query_set) == (State.RESEARCH, CONTENT, ())
    assert saved.file == ("odd-tides_2026-06-01_12-00-00.md", CONTENT)


async def test_a_network_that_fails_is_told_and_one_begins_anew() -> None:
    """S000-35: the conversation is back at its beginning, with nothing kept but what was said."""

    class Away(Finder):
        async def search(self, query, limit):
            raise ProviderTimeout("arxiv", "no answer in 10 s")

    spoken = await talk()
    conversation, _ = await spoken.say(Conversation(), "research tides")

    spoken = replace(spoken, desk=replace(spoken.desk, search_elsewhere=Away().search))
    conversation, reply = await spoken.say(conversation, "find x")

    assert reply.text == f"❌ {ProviderTimeout.told} (arxiv: no answer in 10 s)"
    assert conversation == Conversation(history=("research tides", "find x"))


async def test_save_hands_over_a_markdown_file_named_after_question_and_time() -> None:
    """S000-40."""
    _, reply = await said("research tides", "save")

    assert reply.text == "💾 Saving research results..."
    assert reply.file == ("tides_2026-06-01_12-00-00.md", CONTENT)


async def test_a_missing_summary_is_offered_and_written_on_yes() -> None:
    """S000-50: on no, nothing changes."""
    asked, offer = await said("summary 2409.00009v1")
    yes, card = await said("summary 2409.00009v1", "yes")
    no, _ = await said("list", "summary 2409.00009v1", "no")
    other, _ = await said("summary 2409.00009v1", "list")

    assert "Shall I write one?" in offer.text
    assert asked.offered == "2409.00009v1"
    assert (yes.state, yes.selected_paper) == (State.SUMMARIZED, "2409.00009v1")
    assert "Bare text." in card.text
    assert (no.state, no.offered) == (State.SELECT_VIEW, "")
    assert other.state is State.SELECT_VIEW


async def test_open_shows_the_page_that_the_answer_cites() -> None:
    """S000-41: the picture of that page, how it begins, and the number that is printed on it."""
    _, reply = await said("research tides", "open 1")

    assert reply.page == (TIDES, 2)
    assert reply.text.startswith("Tides and the Moon, page 2 of 3, printed as 132\n\nThe gravity of the moon")


async def test_the_cited_page_is_opened_after_a_look_at_the_summary_too() -> None:
    """D25: the answer is still what was found last."""
    _, reply = await said("research tides", "summary 1", "open 1")

    assert reply.page == (TIDES, 2)


async def test_a_number_whose_paper_was_removed_says_so() -> None:
    """S000-51: the number was right, so that it is the paper which is told."""
    spoken = await talk()
    await shelve(spoken.desk.library, replace(YEAST, id="lund2024yeast", content_hash="hash-8"), text="Yeast.")
    conversation = Conversation()

    for line in ("list", "remove-paper lund2024yeast", "summary 4"):
        conversation, reply = await spoken.say(conversation, line)

    assert reply.text == 'There is no paper "lund2024yeast" in this library; `list` shows what there is.'


async def test_notes_are_shown_each_by_itself() -> None:
    _, reply = await said("summary 2401.00001v1", "notes Ours disagree", "notes Ask Bo", "summary 2401.00001v1")

    assert reply.text.endswith("## Notes\n\nOurs disagree\n\nAsk Bo")


async def test_a_page_is_opened_above_the_answer_which_is_then_improved_and_saved() -> None:
    """The order of the done-means: open page 3, improve, save; the picture stands above what one works on."""
    opened, page = await said("research tides", "open page 2")
    improved, _ = await said("research tides", "open page 2", "improve more on the sun", model=FakeModel({}))
    _, saved = await said("research tides", "open page 2", "improve more on the sun", "save", model=FakeModel({}))
    _, at_once = await said("research tides", "open 1 page 3", "save")
    _, card = await said("research tides", "open 1", "summary 2402.00002v1", "save")

    assert (opened.state, opened.works_on, opened.draft) == (State.SUMMARIZED, State.RESEARCH, CONTENT)
    assert page.page == (TIDES, 2)
    assert (improved.state, improved.draft) == (State.RESEARCH, f"{CONTENT}more on the sun")
    assert saved.file == ("tides_2026-06-01_12-00-00.md", f"{CONTENT}more on the sun\n")
    assert at_once.file == ("tides_2026-06-01_12-00-00.md", CONTENT)
    assert card.file == ("tides_2026-06-01_12-00-00.md", CONTENT)


@pytest.mark.parametrize("listed", ["list", "research tides", "sem-search the tides of the oceans and fermentation"])
async def test_numbers_of_the_last_list_stay_valid_until_another_is_shown(listed: str) -> None:
    """D25, S000-50: also after a summary, a page and a file; a paper from elsewhere ends them."""
    found, _ = await said(listed)
    numbers = range(1, len(found.last_query_set) + 1)

    shown = [await said(listed, "summary 1", "open 1", f"open {number}") for number in numbers]
    saved, _ = await said("research tides", "summary 1", "save", "summary 2")
    other, _ = await said("list", "summary 1", "research tides", "summary 1")
    _, outside = await said("research tides", "open 2409.00009v1", "summary 1")

    assert [conversation.selected_paper for conversation, _ in shown] == list(found.last_query_set)
    assert saved.selected_paper == "2402.00002v1"
    assert other.selected_paper == "2401.00001v1"
    assert "Numbers mean papers only in a list that is shown" in outside.text


async def test_an_answer_is_saved_after_a_look_at_a_summary() -> None:
    """D25: `improve` is about the summary then, `save` about what was found last; a list has nothing to save."""
    model = FakeModel({"summary": json.dumps({"title": "", "authors": [], "year": "", "summary": "Shorter."})})

    looked, saved = await said("research tides", "summary 1", "save")
    _, improved = await said("research tides", "summary 1", "improve shorter", "save", model=model)
    _, listed = await said("research tides", "list", "summary 1", "save")

    assert saved.file == improved.file == ("tides_2026-06-01_12-00-00.md", CONTENT)
    assert (looked.state, looked.draft) == (State.SUMMARIZED, TIDES.summary)
    assert "nothing to work on yet" in listed.text


async def test_a_button_saves_what_it_stands_under_also_beneath_a_summary() -> None:
    """What came later it does not touch."""
    answered, _ = await said("research tides")
    looked, _ = await said("research tides", "summary 1")
    later, _ = await said("research tides", "research odd tides")

    assert looked.is_about(answered.tag, "save")
    assert not looked.is_about(answered.tag, "improve it")
    assert not later.is_about(answered.tag, "save")


@pytest.mark.parametrize("start", list(State))
async def test_plain_words_are_a_question_to_the_library(start: State) -> None:
    """S000-01: from every state, with a hint; the words are no part of what is saved."""
    conversation, reply = await said(*TO_STATE[start], "how do tides work?")
    _, saved = await said(*TO_STATE[start], "how do tides work?", "save")

    assert (conversation.state, conversation.original_query) == (State.RESEARCH, "how do tides work?")
    assert reply.text == f"{wording.TAKEN_AS_QUESTION}\n\n{CONTENT}"
    assert saved.file[1] == CONTENT


@pytest.mark.parametrize(
    "line", ["list the causes of the tides", "history of tides in the Pacific", "open questions about the tides"]
)
async def test_a_question_may_begin_with_the_word_of_a_command(line: str) -> None:
    """S000-01: at the terminal as in chats; a command is no sentence."""
    conversation, reply = await said("research tides", line)

    assert conversation.original_query == line
    assert reply.text == f"{wording.TAKEN_AS_QUESTION}\n\n{CONTENT}"


async def test_whoever_runs_gorkd_is_told_what_to_look_at() -> None:
    """S000-33: the details of the error, where the asker and the operator are one; in a chat they are not."""

    async def fail(query: str, feedback: str) -> Researched:
        raise ModelUnavailable(
            "away", user_message="❌ Failed: it is away", operator_message="❌ Failed: check the URL"
        )

    at_terminal = replace(await talk(), research=fail)
    in_chat = replace(at_terminal, shelf=Scope("discord:7", "workspace"))

    told = [(await spoken.say(Conversation(), "research tides"))[1].text for spoken in (at_terminal, in_chat)]

    assert told == ["❌ Failed: check the URL", "❌ Failed: it is away"]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("sumary 2", "summary <number|id>"),
        ("Lsit", "list"),
        ("opne 1", "open <number|id> [page]"),
        ("reserch tides", "research <query>"),
        ("rebuild index", "rebuild-index"),
    ],
)
async def test_a_slip_of_the_pen_is_asked_back(line: str, meant: str) -> None:
    """S000-51: nobody waits for the answer to a question that was none."""
    _, reply = await said(line)

    assert reply.text == wording.DID_YOU_MEAN.format(command=meant)


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("rebuild-index", 3), ("summarize-all", 1), ("validate-store", 1), ("reindex-paper 2401.00001", 1),
        ("summarize 2409.00009v1", 1),
    ],
)  # fmt: skip
async def test_what_takes_long_says_how_far_it_is(line: str, count: int) -> None:
    """S000-36: a line for each paper, failed ones too."""
    told: list[str] = []

    async def tell(words: str) -> None:
        told.append(words)

    spoken = replace(await talk(), tell=tell)
    await spoken.say(Conversation(), line)

    assert len(told) == count


@pytest.mark.parametrize("before", [[], ["list"], ["research tides", "open 2409.00009v1", "list"]])
async def test_a_page_of_no_paper_in_particular_is_asked_back(before: list[str]) -> None:
    """S000-51."""
    _, reply = await said(*before, "open page 1")

    assert reply.text == "Say of which paper: `open <number|id> page 3`."


async def test_notes_are_kept_with_the_paper_and_found() -> None:
    """S000-02: summaries and notes are one index; each paper's text has its own."""
    spoken = await talk()
    conversation, _ = await spoken.say(Conversation(), "summary 2401.00001v1")
    shelves = Shelves(spoken.desk.library, spoken.shelves)
    before = await search_summary_index(shelves, "zebrafish seiche")

    await spoken.say(conversation, "notes compare with the zebrafish of the seiche")
    _, card = await spoken.say(conversation, "summary 2401.00001v1")
    found = await search_summary_index(shelves, "zebrafish seiche")

    assert "compare with the zebrafish of the seiche" in card.text
    assert before == []
    assert [result.chunk.paper.id for result in found] == ["2401.00001v1"]


@pytest.mark.parametrize("name", [name for name, rule in COMMANDS.items() if rule.changes_store])
async def test_only_admins_change_the_store(name: str) -> None:
    _, reply = await said("summary 2401.00001v1", f"{name} 2401.00001v1", is_admin=False)

    assert reply.text == "Only admins may change the library."


async def test_what_others_say_of_a_summary_stays_in_their_conversation() -> None:
    """A missing summary is written by an admin; a reader's own wording of one is shown and not kept."""
    model = FakeModel({"summary": json.dumps({"title": "", "authors": [], "year": "", "summary": "Short."})})
    spoken = await talk(model, is_admin=False)

    _, missing = await said("summary 2409.00009v1", is_admin=False)
    conversation, _ = await spoken.say(Conversation(), "summary 2401.00001v1")
    conversation, card = await spoken.say(conversation, "improve shorter")
    _, again = await spoken.say(conversation, "summary 2401.00001v1")

    assert missing.text == "2409.00009v1 has no summary yet; an admin can write one with `summarize 2409.00009v1`."
    assert (conversation.draft, "Short." in card.text) == ("Short.", True)
    assert TIDES.summary in again.text


@pytest.mark.parametrize("shown", ["summary 2401.00001v1", "research tides"])
async def test_without_a_model_nothing_is_rewritten_and_that_is_said(shown: str) -> None:
    conversation, reply = await said(shown, "improve shorter")

    assert reply.text.startswith("Rewriting needs a language model")
    assert conversation.draft != ""


async def test_from_a_channel_a_paper_is_changed_where_it_stands() -> None:
    """The workspace's paper keeps its text, whatever is done to it in a channel that has a library of its own."""
    spoken = await talk(FakeModel({"summary": json.dumps({"summary": "Short."})}))
    channel = Scope("local", "channel:C1")
    spoken = replace(spoken, shelf=channel, shelves=(channel, LOCAL))
    conversation = Conversation()

    for line in ("summary 2401.00001v1", "improve shorter", "notes see page 3", "summary 2409.00009v1", "yes"):
        conversation, _ = await spoken.say(conversation, line)
    _, removed = await spoken.say(conversation, "remove-paper 2402.00002v1")

    kept = {paper.id: (paper.summary, paper.notes) for paper in await spoken.desk.library.papers([LOCAL])}
    assert kept == {"2401.00001v1": ("Short.", "see page 3"), "2409.00009v1": ("Short.", "")}
    assert await spoken.desk.library.papers([channel]) == []
    assert await spoken.desk.library.text([channel, LOCAL], "2401.00001v1") == TEXTS["2401.00001v1"]
    assert removed.text == "Removed 2402.00002v1, Fermentation by Yeast."


async def test_an_empty_library_says_how_to_fill_it() -> None:
    conversation, reply = await said("list", empty=True)

    assert conversation.state is State.INITIAL
    assert "`gorkd library add` takes a PDF" in reply.text


@given(st.lists(st.one_of(st.sampled_from([*COMMANDS, "1", "yes"]), st.text(max_size=20)), max_size=6), st.data())
async def test_whatever_is_said_there_is_a_reply(words: list[str], data: st.DataObject) -> None:
    """S000-50: nothing that people type breaks the conversation; its state is always one of the six."""
    spoken = await talk()
    conversation = Conversation()
    for word in words:
        argument = data.draw(st.sampled_from(["", " 1", " 2401.00001v1", " tides", " ❌"]))
        conversation, reply = await spoken.say(conversation, word + argument)
        assert reply.text
        assert conversation.state in State


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("How do Transformers work?", "how-do-transformers-work"),
        ("Ångström!", "angstrom"),
        ("量子", "results"),
        ("", "results"),
    ],
)
def test_a_file_is_named_after_the_question(query: str, name: str) -> None:
    assert slug(query) == name


def test_commands_are_words_at_the_beginning() -> None:
    """Upper and lower case are the same; what is no command is None."""
    assert read_command("Research: what is x").name == "research"
    assert read_command("sem-search  a   b").argument == "a b"
    assert read_command("researching is fun") is None
