"""Guessing the language of a question; and how much a word tells: a filler little, a name much."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from core.presentation.follow_ups import advice_in, no_answer
from core.text.language import KNOWN, _load_identifier, detect_language, language_of, negations, rarity, shape_of, stem
from core.text.saying import LANGUAGES
from core.text.terms import terms
from tests.shared_data import ROOT, shared_data


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
        ("Was kostet gorkd?", "de"),
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


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Milloin Helsingin olympialaiset pidettiin?", "fi"),
        ("Kolik řek protéká Brnem?", "cs"),
        ("Hvornår åbnede Tivoli?", "da"),
        ("Mikor nyílt meg a metró?", "hu"),
        ("Sông Hồng dài bao nhiêu?", "vi"),
        ("Kiek ežerų yra Lietuvoje?", "lt"),
        ("Quants rius té Catalunya?", "ca"),
        ("Câte județe are România?", "ro"),
        ("Кога е открито метрото в София?", "bg"),
        ("لاہور کی آبادی کتنی ہے؟", "ur"),
        ("ঢাকার জনসংখ্যা কত?", "bn"),
    ],
)
def test_a_language_without_a_word_list_is_told_by_its_letters(text: str, language: str) -> None:
    """D21: a question in any language is answered in it."""
    assert detect_language(text) == language


def test_the_model_is_not_loaded_for_plain_english() -> None:
    """Its first use costs most of a second, which a process that only sees English never pays."""
    code = (
        "import sys; from core.text.language import detect_language as d; "
        "d('How many people live in the city?'); print('py3langid' in sys.modules)"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)

    assert found.stdout.strip() == "False"


def test_the_model_in_its_small_form_says_what_the_published_one_does() -> None:
    """Whatever the language, the alphabet or the noise."""
    published = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    small = _load_identifier()
    published.set_languages(sorted(set(small.labels)))
    texts = [
        *(f"{no_answer(language, ['x'], ['files'])} {advice_in(language)}" for language in LANGUAGES),
        "Кога е открито метрото?",
        "日本の川 ঢাকার",
        "",
    ]
    texts += [text[start : start + 9] for text in texts for start in range(0, len(text), 9)]
    noise = [Random(seed).randbytes(400) for seed in range(50)]

    assert [dict(small.rank(text)) for text in texts + noise] == [dict(published.rank(text)) for text in texts + noise]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The mill stood by the river.", "en"), ("Die Mühle stand am Fluss.", "de"), ("Millionen Euro", "de"),
        ("Costó dos mil millones.", "es"), ("Le moulin est à la rivière.", "fr"), ("Zürich 2021", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_sentence_is_told_by_its_small_words_alone(text: str, language: str) -> None:
    """Quick enough for every sentence of a page; nothing where nothing tells."""
    assert language_of(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "Summarize https://www.spiegel.de/politik/die-lage-der-nation-und-das-ende",
        "What does https://www.lemonde.fr/les-decodeurs/article/la-france-et-le-monde say?",
        "Is HTTPS://www.spiegel.de/die-lage-und-das-ende true?",
    ],
)
def test_who_asks_about_a_page_speaks_no_language_of_its_address(text: str) -> None:
    assert detect_language(text) == "en"
    assert language_of(text) in ("en", "")


def test_to_watch_a_page_is_said_in_no_language_by_its_address() -> None:
    """What follows is said in the language of the place then."""
    assert language_of("watch https://en.wikipedia.org/wiki/Tide weekly") == ""


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "wirkt", "wirken"), ("de", "häuser", "haus"), ("de", "städte", "stadt"), ("fr", "élevées", "élevé"),
        ("es", "ciudades", "ciudad"), ("es", "años", "año"), ("it", "vaccini", "vaccino"), ("pt", "cidades", "cidade"),
        ("nl", "werkte", "werkt"), ("fi", "talo", "talo"),
    ],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(language: str, one: str, other: str) -> None:
    assert stem(one, language) == stem(other, language)


@pytest.mark.parametrize(
    ("one", "other"),
    [("photosynthese", "fotosíntesis"), ("москва", "moskau"), ("akademie", "academia"), ("köln", "koln")],
)
def test_words_of_one_origin_begin_alike(one: str, other: str) -> None:
    assert shape_of(one)[:4] == shape_of(other)[:4]


@given(st.text(st.characters()))
def test_every_text_has_a_language(text: str) -> None:
    """Two lower-case letters, whatever comes."""
    code = detect_language(text)

    assert len(code) == 2
    assert code.isalpha()
    assert code.islower()


def test_nearly_all_real_questions_of_experts_are_english() -> None:
    """They are; 0.1 % is left for the rules to be wrong about."""
    lines = shared_data("expertqa", "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]

    wrong = [question for question in questions if detect_language(question) != "en"]

    assert len(wrong) <= 0.001 * len(questions), wrong[:5]


def test_the_languages_whose_negations_are_known_are_those_that_are_spoken() -> None:
    """D21: rules may speak of these languages only."""
    assert frozenset(LANGUAGES) == KNOWN
    assert all(negations(language) for language in KNOWN)
    assert negations("fi") == frozenset()


ADDED_AND_ASKED = {
    "en": ("really exactly actually today", "photosynthesis mortgage cathedral Eiffel"),
    "de": ("wirklich genau eigentlich heute", "Photosynthese Hypothek Kathedrale Eiffelturm"),
    "fr": ("vraiment simplement aujourd'hui toujours", "photosynthèse hypothèque volcan Eiffel"),
    "es": ("realmente verdad siempre hoy", "fotosíntesis hipoteca catedrales Eiffel"),
    "it": ("davvero proprio sempre oggi", "fotosintesi mutuatario cattedrali Eiffel"),
    "nl": ("echt precies eigenlijk vandaag", "fotosynthese hypotheek kathedraal Eiffeltoren"),
    "pt": ("realmente verdade sempre hoje", "fotossíntese hipoteca catedrais Eiffel"),
}


@pytest.mark.parametrize("language", ADDED_AND_ASKED)
def test_a_filler_tells_less_than_half_of_what_a_subject_tells(language: str) -> None:
    added, asked = ([rarity(term, language) for term in terms(text)] for text in ADDED_AND_ASKED[language])

    assert max(added) < min(asked) / 2


@given(st.text(min_size=1, max_size=30), st.sampled_from([*ADDED_AND_ASKED, "pl", ""]))
def test_every_word_tells_something(term: str, language: str) -> None:
    """Also what no table has; so no question weighs nothing."""
    assert 0 < rarity(term, language) <= 1


def test_a_language_without_a_table_weighs_all_words_alike() -> None:
    assert {rarity(term, "pl") for term in ("really", "naprawdę", "Eiffel")} == {1.0}
