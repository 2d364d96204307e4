"""Which words in a thread are meant for the library, and which are questions like any other."""

from __future__ import annotations

import pytest

from core.library.states import Addition, Conversation, State, Words, read_addition, read_words

GOING_ON = Conversation(State.RESEARCH, ("2401.00001v1",), history=("research tides",))
CLEARED = Conversation()
OFFERED = Conversation(offered="2401.00001v1", history=("summary 2401.00001v1",))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("open 2", "open 2"),
        ("Open 2 page 3.", "Open 2 page 3"),
        ("open page 3", "open page 3"),
        ("open nothing", "open nothing"),
        ("find neural networks", "find neural networks"),
        ("research how do tides work?", "research how do tides work?"),
        ("improve more on the sun", "improve more on the sun"),
        ("improve", "improve"),
        ("save, please", "save"),
        ("Save!", "Save"),
        ("notes compare with Fundy", "notes compare with Fundy"),
        ("history", "history"),
        ("help", "help"),
        ("list", "list"),
        ("library: research tides", "research tides"),
        ("library", "help"),
    ],
)
def test_words_in_a_going_conversation_are_for_it(said: str, words: str) -> None:
    """S000-50: as typed, without a please."""
    assert read_words(said, GOING_ON) == Words(words, is_certain=said.startswith("library"))


@pytest.mark.parametrize(
    "said",
    [
        "How do the tides depend on the sun?",
        "and in Europe?",
        "open source licences: which one is best",
        "list the causes of the tides",
        "summary of what we know about tides",
        "save the whales",
        "improve how?",
        "library of Congress: how many books are there?",
        "researching is fun",
        "yes",
        "",
    ],
)
def test_follow_up_questions_are_not_swallowed(said: str) -> None:
    """Words of the library are English words too."""
    assert read_words(said, GOING_ON) is None


@pytest.mark.parametrize("said", ["find papers on tides", "research the tides", "help", "improve shorter", "history"])
@pytest.mark.parametrize("conversation", [None, CLEARED])
def test_nobody_is_in_a_library_who_did_not_go_there(said: str, conversation: Conversation | None) -> None:
    assert read_words(said, conversation) is None


@pytest.mark.parametrize(
    "said", ["library find tides", "sem-search tides", "open 2", "summary 2401.00001", "save", "list", "validate-store"]
)
def test_what_can_be_nothing_else_begins_a_conversation_where_the_bot_is_addressed(said: str) -> None:
    assert read_words(said, None) == Words(said.removeprefix("library "), is_certain=said.startswith("library"))
    assert read_words(said, None, is_addressed=False) is None


@pytest.mark.parametrize(("said", "is_for_it"), [("Yes!", True), ("no", True), ("yes, but why?", False)])
def test_an_offer_is_answered_by_yes_or_no_alone(said: str, *, is_for_it: bool) -> None:
    assert (read_words(said, OFFERED) is not None) is is_for_it


@pytest.mark.parametrize(
    ("said", "has_files", "expected"),
    [
        ("add to library", True, Addition()),
        ("Please add this paper to our library.", True, Addition()),
        ("add 2401.00001v1 to the library", False, Addition(("2401.00001v1",))),
        ("add to library: arXiv:2401.00001, hep-th/9901001", False, Addition(("arXiv:2401.00001", "hep-th/9901001"))),
        (
            "can you add 10.1371/journal.pone.0000001 to the library?",
            False,
            Addition(("10.1371/journal.pone.0000001",)),
        ),
        ("add https://example.org/a.pdf to the library!", False, Addition(("https://example.org/a.pdf",))),
        ("library add 2401.00001", False, Addition(("2401.00001",))),
        ("add to library", False, Addition()),
        ("How do I add a paper to the library?", False, None),
        ("What does this paper say?", True, None),
        ("How much does salt add to the taste of bread?", False, None),
        ("Which papers did they add in 2024", False, None),
    ],
)
def test_an_order_to_add_names_what_is_to_be_added(said: str, expected: Addition | None, *, has_files: bool) -> None:
    """By file, arXiv id, DOI or address; a question about adding adds nothing."""
    assert read_addition(said, has_files=has_files) == expected
