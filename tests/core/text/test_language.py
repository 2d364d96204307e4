"""Guessing the language of a question."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusal import REFUSALS
from core.text.language import KNOWN, detect_language, negations
from tests.shared_data import shared_data


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the capital of France?", "en"),
        ("Wie hoch ist der Eiffelturm?", "de"),
        ("Comment fonctionne un vaccin à ARN messager ?", "fr"),
        ("¿Cuál es la capital de Perú?", "es"),
        ("Qual è la capitale d'Italia?", "it"),
        ("Qual é a capital do Brasil?", "pt"),
        ("Wat is de hoofdstad van Nederland?", "nl"),
        ("Vad är Sveriges huvudstad?", "sv"),
        ("Jaka jest stolica Polski i kiedy powstała?", "pl"),
        ("Türkiye'nin başkenti neresi?", "tr"),
        ("Какая столица России?", "ru"),
        ("Яка столиця України?", "uk"),
        ("ما هي عاصمة مصر؟", "ar"),
        ("پایتخت ایران کجاست؟", "fa"),
        ("מהי בירת ישראל?", "he"),
        ("Ποια είναι η πρωτεύουσα της Ελλάδας;", "el"),
        ("भारत की राजधानी क्या है?", "hi"),
        ("เมืองหลวงของประเทศไทยคืออะไร", "th"),
        ("한국의 수도는 어디인가요?", "ko"),
        ("中国的首都是哪里？", "zh"),
        ("日本の首都はどこですか？", "ja"),
        ("日本国憲法第九条の改正", "ja"),
    ],
)
def test_a_question_in_each_language_is_told(text: str, language: str) -> None:
    """S003-02: the language of a question, by script and function words."""
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        pytest.param("Who wrote Война и мир?", "en", id="a foreign title in an English question"),
        pytest.param("What does the word 東京 mean?", "en", id="a foreign word in an English question"),
        pytest.param("如何在 Kubernetes 上部署 PostgreSQL？", "zh", id="Latin names in a Chinese question"),
        pytest.param("BM25", "en", id="a name alone"),
        pytest.param("Kubernetes", "en", id="a word alone"),
        pytest.param("12345", "en", id="numbers"),
        pytest.param("", "en", id="nothing"),
    ],
)
def test_names_and_terms_do_not_make_a_language(text: str, language: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wann wurde Beethoven geboren?", "de"),
        ("Wo liegt Timbuktu?", "de"),
        ("Gibt es Leben auf dem Mars?", "de"),
        ("Seit wann gibt es Zebrastreifen?", "de"),
        ("Darf mein Vermieter einfach kündigen?", "de"),
        ("Où se trouve Tombouctou ?", "fr"),
        ("Combien de dents a un requin ?", "fr"),
        ("Peut-on voyager sans passeport en Suisse ?", "fr"),
        ("¿Cuántos dientes tiene un tiburón?", "es"),
        ("Cuánto cuesta un visado", "es"),
        ("Quanti denti ha uno squalo?", "it"),
        ("Onde fica Tombuctu?", "pt"),
        ("Hoeveel tanden heeft een haai?", "nl"),
        ("When was die Mauer built?", "en"),
        ("Has anyone been on Mars?", "en"),
        ("What was the die cast of Zamac", "en"),
    ],
)
def test_a_short_question_is_told_by_the_words_that_ask(text: str, language: str) -> None:
    """Where no model refines the guess, it decides in which language a refusal is written."""
    assert detect_language(text) == language


@given(st.text(st.characters()))
def test_every_text_has_a_language(text: str) -> None:
    """Two lower-case letters, whatever comes."""
    code = detect_language(text)

    assert len(code) == 2
    assert code.isalpha()
    assert code.islower()


def test_nearly_all_real_questions_of_experts_are_english() -> None:
    """They are; 1 % is left for the rules to be wrong about."""
    lines = shared_data("expertqa", "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]

    wrong = [question for question in questions if detect_language(question) != "en"]

    assert len(wrong) <= 0.01 * len(questions), wrong[:5]


def test_the_languages_whose_negations_are_known_are_those_of_the_refusals() -> None:
    """D21: rules may speak of these languages only."""
    assert frozenset(REFUSALS) == KNOWN
    assert all(negations(language) for language in KNOWN)
    assert negations("fi") == frozenset()
