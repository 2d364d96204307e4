"""Which questions stand alone and which lean on what was said before: forty of each, in seven languages, by class."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from core.pipeline.conversation import Turn, standalone_by_rules
from core.text.language import KNOWN
from core.text.leaning import leaning

KUBERNETES = (Turn("How do I install Kubernetes on Ubuntu?", "With kubeadm, from the packages of the project."),)

ALONE = {
    "a pronoun whose antecedent stands before it": (
        "What are the side effects of ibuprofen and who should avoid it?",
        "How do vaccines work and are they safe for infants?",
        "Who was Marie Curie and what did she discover?",
        "What is the capital of Peru and how many people live there?",
        "Why do cats purr when they are in pain?",
        "How does the heart keep its rhythm?",
        "Does Germany export more electricity than it imports?",
        "Can you freeze bread to keep it fresh?",
        "What is inflation and how does this affect savings?",
    ),
    "a pronoun that stands for nothing": (
        "Is it safe to eat raw eggs in Japan?",
        "How long does it take to boil a goose egg?",
        "What time is it in Tokyo?",
        "Is it true that lightning never strikes twice?",
        "What films come out this year?",
        "Are there any lakes on Titan?",
    ),
    "few words": (
        "What is photosynthesis?",
        "Who invented Velcro?",
        "When is Easter?",
        "Why is the sky blue?",
    ),
    "an opening word and a whole question": (
        "And what is the tallest mountain in Africa?",
        "So how does GPS work?",
    ),
    "somebody else's pronoun": ("What does \"it is what it is\" mean?",),
    "German": (
        "Was sind die Nebenwirkungen von Ibuprofen und wer sollte es meiden?",
        "Gibt es Leben auf dem Mars?",
        "Können Sie mir erklären, wie ein Transistor funktioniert?",
    ),
    "French": (
        "Pourquoi la France a-t-elle vendu la Louisiane ?",
        "Combien de temps faut-il pour cuire un œuf ?",
        "Qu'est-ce que la photosynthèse ?",
    ),
    "Spanish": (
        "¿Qué es la fotosíntesis y por qué es importante para las plantas?",
        "¿Cuál es la capital de Perú y cuántas personas viven allí?",
        "¿Por qué el cielo es azul?",
    ),
    "Italian": (
        "Perché il cielo è azzurro?",
        "Chi era Galileo Galilei e quali furono le sue scoperte?",
        "Quanto tempo ci vuole per cuocere un uovo?",
    ),
    "Portuguese": (
        "Quem foi Vasco da Gama e o que ele descobriu?",
        "Qual é a capital da Austrália?",
        "Por que o mar é salgado?",
    ),
    "Dutch": (
        "Waarom is de lucht blauw?",
        "Wie was Rembrandt en wanneer is hij geboren?",
        "Is het gezond om elke dag koffie te drinken?",
    ),
}  # fmt: skip

# With the question before, and a word of it that the whole question needs.
EIFFEL = "How tall is the Eiffel Tower in Paris?"
IBUPROFEN = "Does ibuprofen help against migraine?"
GERMANY = "What is the capital of Germany?"
TURM, TOUR, TORRE, TORRE_IT, TORRE_PT, TOREN = (
    "Wie hoch ist der Eiffelturm?",
    "Quelle est la hauteur de la tour Eiffel ?",
    "¿Cuánto mide la torre Eiffel?",
    "Quanto è alta la torre Eiffel?",
    "Qual é a altura da torre Eiffel?",
    "Hoe hoog is de Eiffeltoren?",
)
LEANING = {
    "a pronoun without antecedent": (
        (EIFFEL, "When was it built?", "Eiffel Tower"),
        (EIFFEL, "Who designed it and how long did that take?", "Eiffel Tower"),
        (EIFFEL, "What is its weight?", "Eiffel Tower"),
        (EIFFEL, "How many people work there?", "Eiffel Tower"),
        (IBUPROFEN, "Do doctors recommend it for children?", "ibuprofen"),
        (IBUPROFEN, "Is there a vaccine against it?", "migraine"),
        (IBUPROFEN, "How does this drug work?", "ibuprofen"),
        (IBUPROFEN, "Is that true?", "ibuprofen"),
    ),
    "an opening word and a part of a question": (
        (GERMANY, "And France?", "capital"),
        (GERMANY, "what about Italy?", "capital"),
        (EIFFEL, "and in Blackpool?", "tall"),
        (IBUPROFEN, "And for children under five?", "ibuprofen"),
        (IBUPROFEN, "but why do they say so?", "ibuprofen"),
    ),
    "next to no words": (
        (IBUPROFEN, "Why?", "ibuprofen"),
        (IBUPROFEN, "Since when?", "ibuprofen"),
        (GERMANY, "How many inhabitants?", "Germany"),
        (IBUPROFEN, "Any alternatives?", "ibuprofen"),
    ),
    "a noun that needs a complement": (
        (GERMANY, "What is the population?", "Germany"),
        (IBUPROFEN, "What are the most common side effects?", "ibuprofen"),
        (IBUPROFEN, "How high is the risk?", "ibuprofen"),
    ),
    "one of those that were named": (
        ("Which is faster, Rust or Go?", "Which one is easier to learn?", "Rust"),
        ("Which is faster, Rust or Go?", "Why is the latter more popular?", "Go"),
    ),
    "German": (
        (TURM, "Wann wurde er gebaut?", "Eiffelturm"),
        ("Was ist die Hauptstadt von Deutschland?", "Und Frankreich?", "Hauptstadt"),
        (TURM, "Wer hat das entworfen?", "Eiffelturm"),
    ),
    "French": (
        (TOUR, "Quand a-t-elle été construite ?", "Eiffel"),
        ("Quelle est la capitale de l'Allemagne ?", "Et la France ?", "capitale"),
        (TOUR, "Quel est son poids ?", "Eiffel"),
    ),
    "Spanish": (
        (TORRE, "¿Cuándo fue construida?", "Eiffel"),
        ("¿Cuál es la capital de Alemania?", "¿Y Francia?", "capital"),
        (TORRE, "¿Quién la diseñó?", "Eiffel"),
    ),
    "Italian": (
        (TORRE_IT, "Quando è stata costruita?", "Eiffel"),
        ("Qual è la capitale della Germania?", "E la Francia?", "capitale"),
        (TORRE_IT, "Qual è il suo peso?", "Eiffel"),
    ),
    "Portuguese": (
        (TORRE_PT, "Quando foi construída?", "Eiffel"),
        ("Qual é a capital da Alemanha?", "E a França?", "capital"),
        (TORRE_PT, "Quem a projetou e quanto ela pesa?", "Eiffel"),
    ),
    "Dutch": (
        (TOREN, "Wanneer is hij gebouwd?", "Eiffeltoren"),
        ("Wat is de hoofdstad van Duitsland?", "En Frankrijk?", "hoofdstad"),
        (TOREN, "Hoeveel weegt hij en wie heeft hem ontworpen?", "Eiffeltoren"),
    ),
}


def test_there_are_forty_of_each_and_half_of_them_english() -> None:
    others = {"German", "French", "Spanish", "Italian", "Portuguese", "Dutch"}
    alone = {name: len(questions) for name, questions in ALONE.items()}
    leaning_ones = {name: len(questions) for name, questions in LEANING.items()}

    for counted in (alone, leaning_ones):
        assert sum(counted.values()) == 40
        assert sum(count for name, count in counted.items() if name not in others) >= 20
        assert others <= set(counted)


@pytest.mark.parametrize("kind", ALONE)
def test_a_question_that_stands_alone_is_taken_as_it_is(kind: str) -> None:
    """Whatever was asked before, nothing of it comes into the question."""
    understood = [standalone_by_rules(question, KUBERNETES) for question in ALONE[kind]]

    assert understood == list(ALONE[kind])
    assert [question for question in ALONE[kind] if leaning(question) == "leans"] == []


@pytest.mark.parametrize("kind", LEANING)
def test_a_question_that_leans_gets_its_topic_from_the_one_before(kind: str) -> None:
    wrong = [
        (question, understood)
        for before, question, topic in LEANING[kind]
        if topic not in (understood := standalone_by_rules(question, (Turn(before, "It is so."),)))
    ]

    assert wrong == []


@pytest.mark.parametrize(
    "question", ["日本の首都はどこですか?", "А во Франции?", "How does the licensing work?", "photosynthesis"]
)
def test_what_rules_cannot_tell_is_left_as_it_is_and_to_a_model(question: str) -> None:
    """Of a script whose rules are not known, or short of what it is about."""
    assert leaning(question) == "open"
    assert standalone_by_rules(question, KUBERNETES) == question


@pytest.mark.parametrize(
    ("question", "is_leaning"),
    [
        ("Is it safe for children?", True),
        ("Is it used to treat pain?", True),
        ("How long does it take?", True),
        ("Is it allowed to park on pavements in Berlin?", False),
        ("What is IT governance?", False),
        ("What does this.state hold in React?", False),
        ("What does https://it.example.org/their/page say about tides?", False),
        ("I have a cat. She has a cough. What may be wrong with her?", False),
    ],
)
def test_what_looks_like_a_pronoun(question: str, is_leaning: bool) -> None:
    """It may stand for nothing, be an abbreviation, code or a part of an address."""
    assert (leaning(question) == "leans") is is_leaning


def test_every_language_whose_small_words_are_known_has_its_rules() -> None:
    told = tomllib.loads(files("core.text").joinpath("leaning.toml").read_text("utf-8"))

    assert set(told) == KNOWN
    assert len({tuple(rules) for rules in told.values()}) == 1
