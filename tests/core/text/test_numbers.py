"""Numbers, dates and units by all their notations."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.evidence.rules.quantities import measure
from core.evidence.rules.words import Kind, match_tokens, read, tokenize
from core.text.language import KNOWN
from core.text.numbers import MONTHS, numerals, read_number, same_number
from tests.tables.languages import TARGET, make_languages


@pytest.mark.parametrize(
    ("written", "language", "readings"),
    [
        ("1.500", "de", (1500.0, 1.5)), ("1.500", "en", (1.5, 1500.0)), ("1,500", "en", (1500.0, 1.5)),
        ("1,500", "fr", (1.5, 1500.0)), ("1.234,56", "de", (1234.56,)), ("1,234.56", "en", (1234.56,)),
        ("1.234,56", "en", (1234.56,)), ("12,34,567", "en", (1234567.0,)), ("1.234.567", "es", (1234567.0,)),
        ("1 500", "fr", (1500.0,)), ("1\u202f500,5", "fr", (1500.5,)), ("1’500", "de", (1500.0,)),
        ("0.125", "en", (0.125,)), ("0,125", "de", (0.125,)), ("1,5", "es", (1.5,)), ("٣٤٥", "en", (345.0,)),
        ("१२", "en", (12.0,)), ("٣٫٥", "en", (3.5,)), ("6½", "en", (6.5,)), ("2021", "de", (2021.0,)),
    ],
)  # fmt: skip
def test_digits_are_read_by_every_notation_they_may_be_in(
    written: str, language: str, readings: tuple[float, ...]
) -> None:
    """D21: the likeliest reading in the language stands first."""
    assert read_number(written, language) == readings


def test_a_version_is_no_quantity() -> None:
    assert read_number("1.2.3")[0] not in (123.0, 1.23, 12.3)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Es waren 1.500 Menschen.", "There were 1,500 people."),
        ("Es waren 1500 Menschen.", "There were 1 500 people."),
        ("C'était 1 500 mètres.", "It was 1,500 metres."),
        ("Der Wert lag bei 3,125.", "The value was 3.125."),
        ("Das kostete 2 Milliarden Euro.", "It cost €2 billion."),
        ("Costó dos mil millones de euros.", "It cost 2 billion euros."),
        ("Ils étaient quatre-vingt-dix-sept.", "There were 97 of them."),
        ("Eran treinta y uno.", "There were thirty-one."),
        ("Erano duecentocinquanta.", "There were two hundred and fifty."),
        ("Eram cento e vinte.", "There were 120."),
        ("Het waren er eenentwintig.", "There were twenty-one."),
        ("Er kamen einundzwanzig.", "There were 21."),
        ("Das war der 3. Versuch.", "Es war der dritte Versuch."),
        ("Es wog 1,2 t.", "It weighed 1.23 t."),
    ],
)
def test_a_number_agrees_if_any_reading_does(claim: str, source: str) -> None:
    """D21: across languages and notations."""
    assert _number(claim, source)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Es waren 1.600 Menschen.", "There were 1,500 people."),
        ("There were 12 people.", "There were 12,345 people."),
        ("Das kostete 2 Milliarden Euro.", "It cost €2 million."),
        ("Das kostete 2 Billionen Euro.", "It cost €2 billion."),
        ("Er kamen zweiundzwanzig.", "There were 21."),
        ("C'était 1 600 mètres.", "It was 1,500 metres."),
        ("There were 1.2 million.", "There were 1.3 million."),
    ],
)
def test_no_reading_makes_another_number_the_same(claim: str, source: str) -> None:
    """ "Milliarde" is no million, and rounding is of the likeliest reading alone."""
    assert not _number(claim, source)


def _number(claim: str, source: str) -> bool:
    [ours], theirs = read(claim).numbers, read(source).numbers
    return any(match_tokens(ours, other) for other in theirs)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("on October 3, 2021", "en"), ("am 3. Oktober 2021", "de"), ("el 3 de octubre de 2021", "es"),
        ("le 3 octobre 2021", "fr"), ("il 3 ottobre 2021", "it"), ("em 3 de outubro de 2021", "pt"),
        ("op 3 oktober 2021", "nl"), ("am 3.10.2021", "de"), ("on 2021-10-03", "en"), ("am 3. Okt. 2021", "de"),
    ],
)  # fmt: skip
def test_a_date_has_the_same_tokens_in_each_language(text: str, language: str) -> None:
    """The month by its English name, the day and the year as numbers."""
    stems = {token.stem for token in tokenize(text, language) if token.is_content}

    assert stems == {"#3", "october", "#2021"}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("He may come.", "en"),
        ("La planète Mars est rouge.", "fr"),
        ("Una casa set up.", "it"),
        ("a march on Rome", "en"),
    ],
)
def test_a_word_that_is_also_a_month_needs_a_number_beside_it(text: str, language: str) -> None:
    assert not [token for token in tokenize(text, language) if token.kind is Kind.NAME and token.stem in MONTHS]


@pytest.mark.parametrize(
    ("text", "language", "month"),
    [
        ("It ends in May.", "en", "may"), ("since March", "en", "march"), ("May 2021", "en", "may"),
        ("La récolte finit en mars.", "fr", "march"), ("im Mai", "de", "may"), ("termina en mayo", "es", "may"),
        ("in mei", "nl", "may"), ("em maio", "pt", "may"), ("a maggio", "it", "may"),
    ],
)  # fmt: skip
def test_a_month_stands_without_a_number_where_it_can_be_nothing_else(text: str, language: str, month: str) -> None:
    assert month in {token.stem for token in tokenize(text, language) if token.kind is Kind.NAME}


@pytest.mark.parametrize(
    ("text", "language", "percent"),
    [
        ("half of them", "en", 50), ("a third of them", "en", 33.3), ("two thirds", "en", 66.7),
        ("40 per cent", "en", 40),
        ("40%", "en", 40), ("40 Prozent", "de", 40), ("ein Drittel", "de", 33.3), ("die Hälfte", "de", 50),
        ("40 por ciento", "es", 40), ("la mitad", "es", 50), ("dos tercios", "es", 66.7), ("40 pour cent", "fr", 40),
        ("la moitié", "fr", 50), ("trois quarts", "fr", 75), ("40 per cento", "it", 40), ("due terzi", "it", 66.7),
        ("40 por cento", "pt", 40), ("um terço", "pt", 33.3), ("40 procent", "nl", 40), ("een kwart", "nl", 25),
    ],
)  # fmt: skip
def test_shares_are_read_from_signs_words_and_parts(text: str, language: str, percent: float) -> None:
    share = _measure(text, language)

    assert share == ("share", pytest.approx(percent, abs=0.05))


@pytest.mark.parametrize("text", ["the third man", "a second time", "the first half", "in the third quarter it rose"])
def test_an_ordinal_is_no_part(text: str) -> None:
    assert not any(0 < value < 1 for token in tokenize(text, "en") for value in token.values)


@pytest.mark.parametrize(
    ("text", "language", "dimension"),
    [("5 Jahre", "de", "time"), ("5 años", "es", "time"), ("5 ans", "fr", "time"), ("5 chilometri", "it", "length"),
     ("5 quilos", "pt", "mass"), ("5 kilometer", "nl", "length"), ("5 Jahren", "de", "time"), ("€5", "en", "euros")],
)  # fmt: skip
def test_units_have_names_in_each_language(text: str, language: str, dimension: str) -> None:
    assert _measure(text, language)[0] == dimension


def test_a_small_word_is_no_unit() -> None:
    """ "An" is a year in French alone, "once" an ounce."""
    for text in ("In 1990 an army came.", "It rang 3 once more."):
        assert measure(read(text, "en"), read(text, "en").numbers[0]) is None


def _measure(text: str, language: str) -> tuple[str, float]:
    reading = read(text, language)
    found = measure(reading, reading.numbers[0])
    return found.dimension, found.amount


@pytest.mark.parametrize(
    ("claimed", "said", "same"),
    [
        ("1.2", 1.23, True), ("1.2", 1.27, False), ("62.2", 62.5, False), ("45", 45.3, True), ("45", 46.0, False),
        ("2020", 2019.6, False), ("13000", 13342.0, True), ("131", 130.0, False), ("4", 3.9, False),
    ],
)  # fmt: skip
def test_a_number_may_be_rounded_to_the_digits_it_shows(claimed: str, said: float, same: bool) -> None:
    """1.2 for 1.23, not 1.2 for 1.27; a year is never rounded."""
    assert same_number(read_number(claimed)[0], said, claimed) is same


@pytest.mark.parametrize("language", sorted(KNOWN))
def test_every_known_language_has_its_words(language: str) -> None:
    """D21: months, weekdays and numbers of the languages in which rules may give ✓."""
    words = numerals(language)

    assert len(set(words.calendar.values())) >= 14
    assert set(range(2, 100)) <= {int(value) for value in words.numbers.values()}
    assert {1e2, 1e3, 1e6, 1e9} <= set(words.scales.values()) or language == "es"  # mil millones


def test_the_tables_are_what_the_sources_give() -> None:
    """`make tables` writes the file; nobody edits it."""
    assert Path(TARGET).read_text(encoding="utf-8") == make_languages()
