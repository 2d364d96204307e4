"""What kind of answer a question asks for, and whether a text holds one: precise rather than complete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.answering import (
    Expected,
    defined_name,
    defines,
    expected_answer,
    may_only_touch,
    states_aim,
    unanswered_by_rules,
)


@pytest.mark.parametrize(
    ("language", "question", "expected"),
    [
        ("en", "How long are answers cached?", Expected.DURATION),
        ("en", "In what year was it founded?", Expected.DATE),
        ("en", "In the north, when does winter begin?", Expected.DATE),
        ("en", "How often is it updated?", Expected.FREQUENCY),
        ("en", "How tall is the tower?", Expected.NUMBER),
        ("en", "Which port does the server use?", Expected.NUMBER),
        ("en", "What is the latest stable version?", Expected.NUMBER),
        ("en", "By whom was it written?", Expected.PERSON),
        ("en", "Where does it grow?", Expected.PLACE),
        ("en", "Does aspirin prevent strokes?", Expected.VERDICT),
        ("en", "Is it red or blue?", None),
        ("en", "What happens when water freezes?", None),
        ("en", "When water freezes, what happens?", None),
        ("en", "Why is the sky blue?", None),
        ("en", "When did the war end? Who won it?", Expected.PERSON),
        ("en", "When did the war end? And in the east?", Expected.DATE),
        ("en", "On which days does it meet?", Expected.DATE),
        ("de", "An welchen Tagen tagt der Rat?", Expected.DATE),
        ("es", "¿En qué días se reúne?", Expected.DATE),
        ("de", "Wie lange hält der Akku?", Expected.DURATION),
        ("de", "Seit wann gibt es den Verein?", Expected.DATE),
        ("de", "Wie viele Zimmer hat das Haus?", Expected.NUMBER),
        ("de", "Worauf beruht das Gesetz?", None),
        ("fr", "Combien de temps dure le vol ?", Expected.DURATION),
        ("fr", "Qui a écrit ce livre ?", Expected.PERSON),
        ("fr", "Qu'est-ce qui cause les marées ?", None),
        ("es", "¿Cuándo empezó la obra?", Expected.DATE),
        ("es", "Cuando llueve, ¿quién riega?", Expected.PERSON),
        ("it", "Quanti laghi ci sono?", Expected.NUMBER),
        ("it", "Dove si trova il museo?", Expected.PLACE),
        ("pt", "Quem fundou a cidade?", Expected.PERSON),
        ("pt", "Com que frequência é atualizado?", Expected.FREQUENCY),
        ("nl", "Hoe lang duurt de reis?", Expected.DURATION),
        ("nl", "Waar bestaat het uit?", None),
        ("ja", "いつですか", None),
    ],
)
def test_a_questions_own_words_say_what_it_asks_for(language: str, question: str, expected: Expected | None) -> None:
    """D23: what tells nothing certain expects nothing."""
    assert expected_answer(question, language) is expected


@pytest.mark.parametrize(
    ("language", "question", "text"),
    [
        ("en", "How long are answers cached?", "Answers are cached for 24 hours."),
        ("en", "How long are answers cached?", "They are kept until the next release."),
        ("en", "How long are answers cached?", "A day."),
        ("en", "How long did the war last?", "It was fought from 1914 to 1918."),
        ("en", "How long does a query take?", "Some 30 ms."),
        ("en", "How long are answers cached?", "They are kept for as long as the process runs."),
        ("en", "Who wrote it?", "It was written by its maintainers."),
        ("en", "Who wrote it?", "Its maintainers wrote it."),
        ("en", "Who wrote it?", "Ada Lovelace did."),
        ("en", "Who won?", "Carolina won the game."),
        ("en", "When does the valve open?", "It opens after the pressure has fallen."),
        ("en", "When was it built?", "It dates from the early Bronze Age."),
        ("en", "How many are there?", "There are none."),
        ("en", "How many are there?", "A dozen of them."),
        ("en", "How tall is it?", "It is as tall as the church."),
        ("en", "How often is it cleaned?", "Every other week."),
        ("en", "Where does it grow?", "It grows in wet meadows."),
        ("en", "Does it run on Windows?", "Yes."),
        ("en", "Does it run on Windows?", "It has been running there since 2019."),
        ("en", "Why is it blue?", "It is painted."),
        ("en", "How long is the bridge?", "It is 49 metres long."),
        ("en", "How long did the siege last?", "It lasted three days."),
        ("en", "How many seconds may it take?", "It may take 30 s."),
        ("en", "How many days does it stay open?", "It stays open for a day."),
        ("en", "How many years did the dynasty last?", "The dynasty lasted a thousand years."),
        ("en", "How many hours is the shortest course?", "The shortest course takes half an hour."),
        ("en", "Which port does the server use?", "The server uses 8080."),
        ("en", "Which version of the library is needed?", "3.11 or newer."),
        ("en", "Can the boat sail without an engine?", "The boat needs no engine."),
        ("en", "Can I make a cake without eggs?", "Cakes are made with mashed banana instead of eggs."),
        ("en", "Can I install it without administrator rights?", "The installer never asks for administrator rights."),
        ("en", "Can I drive without a licence?", "Driving is only allowed with a licence."),
        ("de", "Kann man ohne Führerschein fahren?", "Man muss einen Führerschein haben, um zu fahren."),
        ("en", "Does the red bus stop at the mill?", "The red bus stops there."),
        ("de", "Wie lange hält der Akku?", "Der Akku hält zehn Stunden."),
        ("de", "Wer gründete den Verein?", "Der Verein wurde von Lehrern gegründet."),
        ("fr", "Combien y a-t-il de lacs dans la région ?", "La région a plusieurs lacs et deux rivières."),
        ("es", "¿Cuánto dura el viaje por la sierra?", "El viaje por la sierra dura toda la noche."),
        ("it", "Quando aprono i musei della città?", "I musei della città aprono a maggio."),
        ("pt", "Quantas ilhas tem o arquipélago?", "O arquipélago tem nove ilhas."),
        ("nl", "Hoe lang duurt de reis naar het eiland?", "De reis naar het eiland duurt twee uur."),
        ("de", "Hilft Aspirin gegen Schlaganfälle?", "Daily use reduces the risk in most patients."),
    ],
)
def test_what_answers_is_never_called_unanswering(language: str, question: str, text: str) -> None:
    """D23: a wrong alarm would take a good answer down to Low."""
    assert unanswered_by_rules(question, text, language=language) == ""


@pytest.mark.parametrize(
    ("language", "question", "text", "reason"),
    [
        ("en", "How long are answers cached?", "Answers are cached by question and tenant.", "no duration is given"),
        ("en", "How long did it last?", "It began in 1914, with much noise.", "no duration is given"),
        ("en", "How long are answers cached?", "A cached answer is never given elsewhere.", "no duration is given"),
        ("en", "How long are answers cached?", "It shows the seconds and the 95th percentile.", "no duration is given"),
        (
            "en",
            "How long are answers cached?",
            "One with a cosine above 0.92 is shown meanwhile.",
            "no duration is given",
        ),
        ("de", "Wie lange gilt das?", "Es gilt nie in einem anderen Kanal.", "no duration is given"),
        ("en", "How long are pages kept?", "Pages are kept with the day they were read.", "no duration is given"),
        ("en", "How long does the check take?", "The check is made twice a day.", "no duration is given"),
        ("en", "How many seconds may it take?", "It asks twenty questions and prints seconds.", "no number is given"),
        ("en", "Which port does the server use?", "The server asks for one of its tokens.", "no number is given"),
        (
            "en",
            "Can the boat sail without an engine?",
            "Parts that are sold: of the engine, the boat and the sail.",
            "it says neither yes nor no",
        ),
        (
            "en",
            "Does the red bus stop at the mill on Sundays?",
            "On Sundays bread is sold in the village.",
            "it says neither yes nor no",
        ),
        ("en", "When was Lund founded?", "Lund was founded by a king of the Danes.", "no date is given"),
        ("en", "How many moons were known in 1990?", "In 1990 the moons were seen again.", "no number is given"),
        ("en", "Who founded Lund?", "Lund was founded in 990 near the coast.", "nobody is named"),
        ("en", "Where is Lund?", "Lund has 90 thousand inhabitants.", "no place is given"),
        ("en", "How often is it updated?", "It is updated by its author [1].", "it does not say how often"),
        (
            "en",
            "Does aspirin prevent stroke?",
            "We asked whether aspirin prevents stroke.",
            "it says neither yes nor no",
        ),
        ("en", "Does it support Windows?", "Bananas are yellow and sweet.", "it says neither yes nor no"),
        (
            "de",
            "Wie lange werden Antworten behalten?",
            "Die Antworten werden je Mandant behalten.",
            "no duration is given",
        ),
        ("es", "¿Cuándo se fundó la ciudad?", "La ciudad se fundó junto al río por unos frailes.", "no date is given"),
        ("nl", "Hoeveel provincies heeft het land?", "Het land heeft mooie provincies.", "no number is given"),
    ],
)
def test_what_does_not_hold_the_kind_of_answer_is_said_to_lack_it(
    language: str, question: str, text: str, reason: str
) -> None:
    """D23: the reason is for people."""
    assert unanswered_by_rules(question, text, language=language) == reason


@pytest.mark.parametrize(
    ("sentence", "is_aim"),
    [
        ("To determine whether walking lowers blood pressure.", True),
        ("The aim of this study was to compare both drugs.", True),
        ("We investigated whether the drug works.", True),
        ("Walking lowers blood pressure.", False),
        ("The drug reduced mortality.", False),
    ],
)
def test_an_aim_is_told_from_a_finding(sentence: str, is_aim: bool) -> None:
    assert states_aim(sentence) is is_aim


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What is osmosis?", "osmosis"),
        ("What is a tide pool?", "tide pool"),
        ("What are tide pools?", "tide pools"),
        ("What does ⚓ mean?", "⚓"),
        ("What does the & sign mean?", "&"),
        ("What is R & D?", "r & d"),
        ("Was ist ein Gezeitentümpel?", "gezeitentümpel"),
        ("¿Qué es la ósmosis?", "ósmosis"),
        ("What is the capital of France?", ""),
        ("What is in the box?", ""),
        ("What is it?", ""),
        ("What is happening?", ""),
        ("What does the harbour cost?", ""),
    ],
)
def test_a_question_for_a_meaning_names_what_is_to_be_explained(question: str, name: str) -> None:
    """D23: other questions with "what is" ask for something else."""
    assert defined_name(question) == name


@pytest.mark.parametrize(
    ("sentence", "does_define"),
    [
        ("Osmosis is the movement of water through a membrane.", True),
        ("**Osmosis** (from Greek) means a push.", True),
        ("Osmosis | the movement of water", True),
        ("Osmosis: the movement of water.", True),
        ("Nollet found a slow movement, osmosis, which fills bladders.", True),
        ("In a study, osmosis, which is slow, was timed.", False),
        ("They have a pump, osmosis, heat and time.", False),
        ("The osmosis is shown below.", False),
        ("The strength of osmosis is measured in pascals.", False),
        ("Osmosis is never faster than diffusion.", False),
        ("--osmosis | a switch of the pump", False),
        ("Osmosis stands in the index.", False),
    ],
)
def test_a_definition_opens_with_what_it_explains(sentence: str, does_define: bool) -> None:
    """D23: to speak of a thing is not to say what it is."""
    assert defines("osmosis", sentence) is does_define


@given(st.text(), st.text(), st.sampled_from(["en", "de", "fr", "es", "it", "pt", "nl", "ja", ""]))
def test_no_text_is_too_strange(question: str, text: str, language: str) -> None:
    """Any question and text give a reason or none."""
    assert unanswered_by_rules(question, text, language=language) in {"", *Expected}


def test_what_something_costs_is_no_other_number() -> None:
    """D23: a year or a height in the text about it is no price."""
    question = "How much did the electric lamp of Orlen cost?"

    assert unanswered_by_rules(question, "In 1931 the lamp of Orlen was replaced by an electric one of 40 watts.")
    assert unanswered_by_rules(question, "The electric lamp of Orlen was bought in 1931 for 12,000 crowns.") == ""


@pytest.mark.parametrize(
    ("question", "text", "is_bound"),
    [
        ("Who wrote Dracula?", "Dracula is a novel by Bram Stoker.", True),
        ("Who wrote Dracula?", "Dracula is a novel of 1897 by the Irish writer Stoker.", True),
        ("Who wrote Dracula?", "Bram Stoker's Dracula is a novel of 1897 in letters.", True),
        ("Who wrote Dracula?", "The author of Dracula is Bram Stoker.", True),
        ("Who wrote Dracula?", "Dracula is a novel that was printed in London.", False),
        ("Who wrote Dracula?", "Dracula is a novel that was filmed by Tod Browning.", False),
        ("Who founded Lund Works?", "Lund Works was created by Ida Holt.", True),
        ("Who founded Lund Works?", "Lund Works created a lamp with Ida Holt.", False),
        ("Who discovered radium?", "Radium was found in the paint of Undark.", False),
        ("Who painted the Night Watch?", "The Night Watch is a portrait of the company of Frans Cocq.", False),
    ],
)
def test_a_work_tells_who_did_it_where_a_name_is_bound_to_it(question: str, text: str, is_bound: bool) -> None:
    """ "A novel" alone answers nobody who asks who wrote it."""
    assert may_only_touch(question, text) is not is_bound


@pytest.mark.parametrize(
    ("question", "text", "is_bound"),
    [
        ("How many pages can a file have?", "A file can have up to 2,000 pages.", True),
        ("How many pages can a file have?", "Of a file at most 2,000 pages are read.", True),
        ("How many pages can a file have?", "The folder has 15 papers as a file and 60 pages of the web.", False),
        ("How many questions may one person ask?", "Five questions a minute a person are answered.", True),
        ("How many people can the hall hold?", "The hall seats 300 people.", True),
        ("How many people can sit in the hall?", "The hall has room for 300 people.", True),
        ("How many dogs can enter the hall?", "Two dogs are allowed in the hall.", True),
        ("How many people can sit in the hall?", "Last year 300 people came to the hall.", False),
        ("How many phases has the flight?", "The lever begins phase 1 of the flight.", False),
        ("How many phases has the flight?", "Phases: 2, with a stop.", True),
    ],
)
def test_how_many_there_can_be_is_told_by_a_bound_and_not_by_how_many_there_are(
    question: str, text: str, is_bound: bool
) -> None:
    assert may_only_touch(question, text) is not is_bound


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How long are answers kept?", "A repeated answer says: answered 3 days ago."),
        ("When does a watch end?", "Nothing can be posted there, and then the watch ends."),
    ],
)
def test_a_word_of_time_that_points_elsewhere_gives_neither_a_duration_nor_a_date(question: str, text: str) -> None:
    assert unanswered_by_rules(question, text)


@pytest.mark.parametrize(
    ("question", "text", "is_bound"),
    [
        ("How much does the small model cost?", "The prices are those of the small model, without discounts.", False),
        ("How much does the small model cost?", "The small model costs 2 dollars a million tokens.", True),
        ("How large may a file be?", "A file that one asked for is not kept at all.", False),
        ("How large may a file be?", "A file has at most 10 MB.", True),
        ("How much does the ticket cost?", "A ticket is about twelve euros for adults.", True),
        ("How much does the ticket cost?", "Admission: EUR 12.", True),
        ("How much did the bridge cost?", "The bridge cost nothing, as the town gave the stones.", True),
        ("How much did the bridge cost?", "It took 12 million Swedish crowns.", True),
        ("How much does the ticket cost?", "The prices in euros are those of two halls.", False),
        ("How tall is the tower?", "At eleven metres the tower is the lowest.", True),
        ("How deep is the lake?", "The lake is half as deep as the sea.", True),
        ("How large is the city?", "The city is large and of great beauty.", False),
    ],
)
def test_a_price_has_a_figure_and_a_size_a_measure(question: str, text: str, is_bound: bool) -> None:
    assert may_only_touch(question, text) is not is_bound


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("Wie viel kostet die Karte?", "Die Karte kostet zwölf Euro.", "de"),
        ("¿Cuánto cuesta la entrada?", "La entrada vale doce euros.", "es"),
    ],
)
def test_a_price_may_be_in_words(question: str, text: str, language: str) -> None:
    assert not may_only_touch(question, text, language=language)


def test_how_long_something_has_been_is_told_by_how_long_ago_it_began() -> None:
    assert not unanswered_by_rules("How long has the shop been open?", "The shop opened 20 years ago.")
    assert unanswered_by_rules("How long is the shop open?", "The shop opened 20 years ago.")


def test_what_a_sign_means_is_asked_of_the_sign_alone() -> None:
    assert defined_name("What does the ◐ mark mean?") == "◐"
    assert defined_name("What does the arrow ↪ mean?") == "↪"


@pytest.mark.parametrize(
    ("question", "text", "language", "is_bound"),
    [
        ("How often can a watch run?", "The trial kills one that runs a watch 50 times.", "en", False),
        ("How often can a watch run?", "A watch can run every hour.", "en", True),
        ("How often are the files read?", "They are read again after sixty minutes.", "en", True),
        ("How often did the ferry sink?", "The ferry sank 3 times.", "en", True),
        ("Wie oft kann die Fähre fahren?", "Die Fähre fuhr in jenem Sommer 50 Mal.", "de", False),
        ("Wie oft kann die Fähre fahren?", "Die Fähre fährt stündlich.", "de", True),
    ],
)
def test_how_often_something_is_is_no_count_of_how_often_it_was(
    question: str, text: str, language: str, is_bound: bool
) -> None:
    assert may_only_touch(question, text, language=language) is not is_bound


@pytest.mark.parametrize(
    "text",
    [
        "The number of articles that are kept in the library of Orlen is near 2 million.",
        "The number of ferries whose articles of wool are kept in the harbour all winter is near 2.",
    ],
)
def test_the_number_of_a_thing_may_stand_far_behind_it(text: str) -> None:
    assert may_only_touch("How many articles are kept?", text) is not text.startswith("The number of articles")


def test_so_tells_why_where_it_joins_and_not_where_it_points_back() -> None:
    assert may_only_touch("Why is the ferry late?", "Late is the ferry where it is labelled so at noon.")
    assert not may_only_touch("Why is the ferry late?", "Its engine broke, so the ferry is late.")


@pytest.mark.parametrize(
    ("text", "is_bound"),
    [
        ("Watches a page; a worker looks (`vik all` or `vik worker`).", False),
        ("Command: `vik end PAGE`; What it ends: One that is watched.", True),
        ("A page is looked after by `vik watch PAGE`.", True),
        ("To watch a page, click the lamp below it.", True),
    ],
)
def test_a_command_tells_how_where_it_is_the_rows_own_or_names_the_deed(text: str, is_bound: bool) -> None:
    assert may_only_touch("How do I watch a page?", text) is not is_bound
