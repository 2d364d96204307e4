"""Words as retrieval sees them: what matches, what counts, what is left out."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.terms import (
    STOPWORDS,
    AskedTerms,
    forms_of,
    inverse_frequency,
    question_terms,
    stem,
    terms,
    unseen_weight,
    words,
)
from tests.shared_data import shared_data


@pytest.mark.parametrize(
    "forms",
    [
        ("tide", "tides", "tide's", "Tides", "TIDES"),
        ("approve", "approves", "approved", "approving"),
        ("study", "studies"),
        ("box", "boxes"),
        ("stop", "stopped", "stopping"),
        ("quick", "quickly"),
        ("ﬁle", "file", "files"),
        ("café", "cafe\u0301"),
    ],
    ids=lambda forms: forms[0],
)
def test_forms_of_a_word_match(forms: tuple[str, ...]) -> None:
    assert len({tuple(words(form)) for form in forms}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bus", "bu"),
        ("sing", "s"),
        ("C", "C++"),
        ("C++", "C#"),
        ("2023", "2024"),
        ("3.5", "35"),
        ("5%", "5"),
        ("analysis", "analysi"),
        ("species", "speci"),
    ],
)
def test_unlike_words_stay_apart(one: str, other: str) -> None:
    """Over-stemming would join what only looks alike."""
    assert words(one) != words(other)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("東京都", ["東京", "京都"], id="Chinese characters become bigrams"),
        pytest.param("犬", ["犬"], id="one character stays"),
        pytest.param("猫がいる", ["猫が", "がい", "いる"], id="Japanese"),
        pytest.param("cost of 東京", ["cost", "of", "東京"], id="mixed scripts"),
        pytest.param("1,234.5 km", ["1,234.5", "km"], id="numbers whole"),
        pytest.param("GPT-4 model", ["gpt-4", "gpt", "model"], id="hyphened names whole and in parts"),
        pytest.param("—…!", [], id="no word"),
    ],
)
def test_text_is_cut_into_words(text: str, found: list[str]) -> None:
    assert words(text) == found


@given(st.text(st.characters()))
def test_no_text_is_too_strange(text: str) -> None:
    """Any text has words, and its terms are some of them."""
    found = words(text)

    assert all(found)
    assert set(terms(text)) <= set(found)
    assert bool(terms(text)) == bool(found)


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=14))
def test_a_stem_is_a_beginning_and_never_vanishes(word: str) -> None:
    """A stem is the word with its end cut, at most one letter exchanged, and long enough to mean something."""
    found = stem(word)

    assert len(found) <= len(word)
    assert len(found) >= min(3, len(word))
    assert word.startswith(found[:-1])


def test_stemming_a_stem_changes_nothing_more() -> None:
    stems = [stem(word) for word in "tide bridge rotation chemical engine house ocean virus".split()]

    assert [stem(one) for one in stems] == stems


def test_nasty_strings_have_words() -> None:
    """Whatever holds a letter has a term, and no term holds a blank."""
    for nasty in json.loads(shared_data("strings", "naughty.json").read_text(encoding="utf-8")):
        found = terms(nasty)

        assert found or not any(character.isalpha() for character in nasty)
        assert all(term and not any(map(str.isspace, term)) for term in found)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        pytest.param("What is the capital of Peru?", ["capital", "peru"], id="function words go"),
        pytest.param("How long do cats sleep?", ["cat", "sleep"], id="what only asks goes"),
        pytest.param("Wie hoch ist der Eiffelturm?", ["hoch", "eiffelturm"], id="German"),
        pytest.param("海洋的潮汐是什么引起的", ["海洋", "潮汐", "引起"], id="Chinese"),
        pytest.param("To be or not to be", ["to", "be", "or", "not", "to", "be"], id="stopwords when nothing else"),
        pytest.param("Why do bees die?", ["bee", "die"], id="die is no German article here"),
        pytest.param("What ended the Korean war?", ["end", "korean", "war"], id="nor is war a German verb"),
    ],
)
def test_a_question_is_its_informative_words(question: str, found: list[str]) -> None:
    assert question_terms(question) == found


def test_words_that_mean_something_in_english_are_no_stopwords() -> None:
    """Function words of other languages must not hide what an English question asks about."""
    assert not STOPWORDS & {"war", "die", "hat", "son", "sin", "den", "sur", "pour", "gift", "fort"}


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), min_size=1, max_size=8))
def test_a_rarer_term_weighs_more(documents: list[list[str]]) -> None:
    """BM25's idf: positive, falling with the number of documents, and highest for what is in none."""
    weights = inverse_frequency(documents)
    counts = {term: sum(term in document for document in documents) for term in weights}

    assert set(weights) == {term for document in documents for term in document}
    for one in weights:
        assert 0 < weights[one] < unseen_weight(len(documents))
        for other in weights:
            assert (weights[one] > weights[other]) == (counts[one] < counts[other])


@pytest.mark.parametrize(
    ("language", "term", "word", "least", "most"),
    [
        pytest.param("de", "verteidigung", "verteidigungslinie", 0.8, 0.99, id="a compound holds its part"),
        pytest.param("de", "verteidigungslinie", "verteidigung", 0.4, 0.8, id="a part is less than the compound"),
        pytest.param("de", "häuser", "haus", 1, 1, id="umlaut of a plural"),
        pytest.param("de", "gegründet", "gründete", 1, 1, id="participle"),
        pytest.param("nl", "spoorweg", "spoorwegen", 0.5, 1, id="Dutch plural"),
        pytest.param("es", "promulgó", "promulgada", 1, 1, id="Spanish verb"),
        pytest.param("fr", "fondée", "fonder", 1, 1, id="French verb"),
        pytest.param("it", "scoperta", "scoperte", 1, 1, id="Italian plural"),
        pytest.param("pt", "fundou", "fundada", 1, 1, id="Portuguese verb"),
        pytest.param("en", "sang", "sing", 0.5, 0.9, id="strong verb"),
        pytest.param("en", "begin", "began", 0.5, 0.9, id="strong verb of two syllables"),
        pytest.param("de", "schrieb", "schreiben", 0.5, 0.9, id="German strong verb"),
        pytest.param("de", "fing", "abgefangen", 0.5, 0.9, id="verb whose prefix stands elsewhere"),
        pytest.param("nl", "speelde", "meegespeeld", 0.5, 0.9, id="the same in Dutch"),
    ],
)
def test_a_word_is_found_in_its_other_forms(language: str, term: str, word: str, least: float, most: float) -> None:
    """S003-02: by the language of the question, and the surer the nearer."""
    found = forms_of(term, {word, "entirely", "different"}, language)

    assert set(found) == {word}
    assert least <= found[word] <= most


@pytest.mark.parametrize(
    ("language", "term", "word"),
    [
        ("en", "2023", "2024"),
        ("en", "bus", "business"),
        ("en", "bird", "board"),
        ("de", "rat", "rathaus"),
        ("es", "casa", "causa"),
        ("zh", "东京", "京都"),
        ("", "tide", "tidal"),
    ],
)
def test_words_that_only_look_alike_are_not_forms(language: str, term: str, word: str) -> None:
    """Figures stand for themselves, short words begin too many others."""
    assert forms_of(term, {word}, language) == {}


@pytest.mark.parametrize(
    ("language", "question", "found"),
    [
        ("de", "Wann war die Gründung des Vereins?", ["gründung", "verein"]),
        ("es", "¿Cuándo fue fundada la ciudad?", ["fundada", "ciudad"]),
        ("en", "What is the name of the pro-bowler?", ["pro", "bowler"]),
    ],
)
def test_what_only_asks_goes_by_the_questions_language(language: str, question: str, found: list[str]) -> None:
    assert question_terms(question, language) == found


@pytest.mark.parametrize(
    ("language", "question", "text", "other"),
    [
        ("en", "Which harbour did Voss visit?", "Voss visited Ystad.", "The harbour of Lund."),
        ("de", "Welchen Hafen besuchte Voss?", "Voss besuchte Ystad.", "Der Hafen von Lund."),
    ],
)
def test_the_kind_of_thing_sought_need_not_be_in_the_answer(
    language: str, question: str, text: str, other: str
) -> None:
    """G-05: an answer gives the harbour by its name."""
    bags = [frozenset(terms(text)), frozenset(terms(other))]

    covered = [AskedTerms(question, bags, language).coverage(bag) for bag in bags]

    assert covered[0] > 3 * covered[1]


def test_a_rare_word_of_the_question_covers_more_than_a_common_one() -> None:
    bags = [frozenset({"tower", "height"}), frozenset({"tower", "museum"}), frozenset({"tower", "garden"})]
    asked = AskedTerms("Which tower has a museum?", bags, "en")

    assert asked.coverage(frozenset({"museum"})) > asked.coverage(frozenset({"tower"}))
    assert asked.coverage(frozenset({"museum", "tower"})) == pytest.approx(1.0)
    assert asked.coverage(frozenset()) == 0.0


@pytest.mark.parametrize(
    ("language", "term", "word", "is_found"),
    [
        ("en", "five", "5", True),
        ("en", "4th", "fourth", True),
        ("de", "vierten", "vier", True),
        ("es", "nueve", "9", True),
        ("en", "five", "6", False),
        ("en", "geegen", "gegeen", True),
        ("en", "barret", "barrett", True),
        ("en", "dawson", "lawson", False),
        ("en", "lead", "laed", False),
    ],
)
def test_a_number_is_found_as_it_is_written_and_a_name_though_misspelt(
    language: str, term: str, word: str, is_found: bool
) -> None:
    """G-05: two letters exchanged are a slip, another letter is another name."""
    assert (stem(word) in forms_of(stem(term), [stem(word)], language)) is is_found


def test_words_that_stand_together_in_the_question_do_in_what_answers_it() -> None:
    texts = ["The Carolina Panthers met.", "In Carolina nobody feared the mountain panthers."]
    asked = AskedTerms("Who are the Carolina Panthers?", [frozenset(terms(text)) for text in texts], "en")

    assert [asked.togetherness(terms(text)) for text in texts] == [1.0, 0.0]


def test_stems_are_the_same_in_every_thread() -> None:
    """A Snowball stemmer keeps the word it works on: threads that shared one would mix their words up."""
    listed = [f"verteidigung{ending}" for ending in ("", "en", "s")] * 50
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda word: forms_of("verteidigung", {word}, "de"), listed))

    assert all(list(entry.values()) == [1.0] for entry in found)


@given(st.text(alphabet="aZéßΩжñ09½²_-.'’,+#%$() \n", max_size=40))
def test_words_are_the_same_beside_another_script(text: str) -> None:
    """Texts that hold only Latin, Greek, Cyrillic and signs are cut by a faster pattern than all others."""
    assert words(f"{text}\n漢") == [*words(text), "漢"]
