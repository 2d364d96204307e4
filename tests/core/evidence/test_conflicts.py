"""Conflicts: another value for the same thing, and nothing that only looks like it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations

import pytest

from core.evidence.conflicts import (
    MAX_CONFLICTS,
    MAX_CONTRARY,
    Contradiction,
    contrary_passages,
    find_conflicts,
    is_asked,
    lone_weaker_voice,
    name_sides,
)
from core.evidence.differences import find_difference, name_difference
from core.evidence.passages import EvidenceIndex
from core.model.answer import Claim, Conflict, ConflictPosition, Evidence, Verdict
from core.model.source import Source, SourceKind, SourceMetadata
from core.text.sentences import split_sentences
from tests.shared_data import shared_data

NOW = datetime(2026, 11, 20, tzinfo=UTC)

DIFFERENT = {
    "month": ("Python 3.11 was released in October 2022.", "Python 3.11 was released in November 2022."),
    "day": ("The Golden Gate Bridge opened on 27 May 1937.", "The Golden Gate Bridge opened on May 28, 1937."),
    "year": ("The company was founded in 1998 by two students.", "The company was founded in 1996 by two students."),
    "share": ("The vaccine is 95% effective.", "The vaccine is 70 percent effective."),
    "count": ("Berlin has 3.6 million inhabitants.", "Berlin has 3,200,000 inhabitants."),
    "length": ("The tower is 300 metres tall.", "The tower is 330 m tall."),
    "time": ("The default timeout is 30 seconds.", "The default timeout is 2 minutes."),
    "dose": ("The maximum daily dose is 4 g.", "The maximum daily dose is 3000 mg."),
    "bound": ("More than 5 million people live in Rome.", "2 million people live in Rome."),
    "denied": ("Aspirin does not prevent heart attacks in adults.", "Aspirin prevents heart attacks in adults."),
    "opposite": ("Coffee increases the risk of stroke.", "Coffee decreases the risk of stroke."),
    "turned": ("Rust is faster than Go.", "Go is faster than Rust."),
    "more-said": (
        "The Eddystone lighthouse is 49 metres tall and stands on the Eddystone Rocks.",
        "The Eddystone lighthouse is 71 metres tall.",
    ),
    "converted": ("The Eiffel Tower is 330 metres (1,083 ft) tall.", "The Eiffel Tower is 300 metres (984 ft) tall."),
    "noun": ("The height of the Eddystone Lighthouse is 71 metres.", "The Eddystone Lighthouse stands 49 m high."),
    "has": ("The Humber Bridge has a total length of 2,220 m.", "The Humber Bridge is 1,410 metres long."),
    "aside": ("The Eddystone light, finished in 1882, is 49 metres tall.", "The Eddystone light is 71 m tall."),
    "finished": (
        "The Eddystone lighthouse was completed in 1882 and is built of granite from Cornwall.",
        "The Eddystone lighthouse was finished in 1884.",
    ),
    "may": ("Ida Holm was born on 4 May 1871.", "Ida Holm was born on 4 March 1871."),
    "can": ("Bees can see ultraviolet light.", "Bees cannot see ultraviolet light."),
    "port": ("The default port of Quill is 8125.", "The default port of Quill is 8086."),
    "slower": ("Rust is faster than Go.", "Rust is slower than Go."),
}

NOT_DIFFERENT = {
    "notation": ("The budget is 1,000 dollars.", "The budget is 1000 dollars."),
    "percent": ("The vaccine is 50% effective.", "The vaccine is 50 percent effective."),
    "million": ("The city has 2 million people.", "The city has 2,000,000 people."),
    "unit": ("The tower is 1 km tall.", "The tower is 1000 m tall."),
    "rounded": ("Everest is 8,848.86 m high.", "Everest is 8,849 m high."),
    "about": ("About 5 million people live there.", "5.2 million people live there."),
    "more-than": ("More than 5 million people live there.", "7 million people live there."),
    "range": ("The lake is 5-10 m deep.", "The lake is 7 m deep."),
    "finer-date": ("The tool was released in October 2022.", "The tool was released on 24 October 2022."),
    "other-version": ("Python 3.11 was released in October 2022.", "Python 3.12 was released in October 2023."),
    "other-document": ("PEP 8 was created in 2001.", "PEP 20 was created in 2004."),
    "other-place": ("The population of Berlin is 3.6 million.", "The population of Hamburg is 1.8 million."),
    "other-year": ("In 2010 the population of Rome was 3 million.", "In 2020 the population of Rome was 4 million."),
    "one-dated": ("In 2010 the population of Rome was 3 million.", "The population of Rome is 4 million."),
    "twice": ("France won the cup in 1998.", "France won the cup in 2018."),
    "other-thing": ("The trial had 200 patients.", "The trial had 45 centres."),
    "other-event": ("He was born in 1950 in Rome.", "He died in 2010 in Rome."),
    "other-group": ("The drug reduces mortality in men.", "The drug does not reduce mortality in women."),
    "other-people": ("The drug increases mortality of smokers.", "The drug decreases mortality of farmers."),
    "hedged": ("Aspirin prevents heart attacks.", "Aspirin may not prevent heart attacks."),
    "both-turned": ("Rust is faster than Go.", "Go is slower than Rust."),
    "twice-denied": ("The drug is not unsafe for adults.", "The drug is safe for adults."),
    "same": ("The tower is 300 metres tall.", "The tower is 300 metres tall."),
    "other-matter": ("The bridge cost $35 million.", "The bridge is 2.7 km long."),
    "other-part": ("The Eddystone lighthouse is 49 metres tall.", "The Eddystone lighthouse door is 2 metres tall."),
    "predecessor": (
        "The first Eddystone lighthouse was 20 metres tall and built of wood.",
        "The Eddystone lighthouse is 49 metres tall.",
    ),
    "was": ("The chimney was 90 metres tall and made of brick.", "The chimney is 60 metres tall and listed."),
    "asides-time": ("The dune, in 1990, was 90 metres tall.", "The dune was 100 metres tall and bare."),
    "converted-same": ("The spire is 100 m (328 ft) tall.", "The height of the spire is 328 feet."),
    "above-sea": (
        "The height of the light is 49 metres above sea level.",
        "The height of the light is 41 metres, and it is white.",
    ),
    "other-size": ("The bridge has a length of 200 m.", "The bridge has a width of 20 m and a toll."),
    "pronoun": ("It is 49 metres tall and made of stone.", "It is 71 metres tall and stands on Skye."),
    "finished-later": (
        "The dome was completed in 1882 and is blue.",
        "The dome was opened in 1884 by the king of Norway.",
    ),
    "scenario": ("In a mild scenario the sea rises by 30 cm.", "In a severe scenario the sea rises by 80 cm."),
    "by-and-to": ("Sales of Fenno rose by 8 percent.", "Sales of Fenno rose to 12 percent."),
    "per": ("The API allows 100 requests per minute.", "The API allows 6,000 requests per hour."),
    "opposite-group": (
        "The Ekna virus kills 40 percent of untreated patients.",
        "The Ekna virus kills 4 percent of treated patients.",
    ),
    "average": ("Lake Orma is 41 metres deep.", "Lake Orma is on average 12 metres deep."),
    "miles": ("The strait is 14 kilometres wide.", "The strait is 9 miles wide."),
    "sample": ("The mean age was 45 years (n = 30).", "The mean age was 52 years (n = 80)."),
}


@pytest.mark.parametrize(("first", "second"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_another_value_for_the_same_thing_is_a_difference(first: str, second: str) -> None:
    """Either way round, and each side keeps its own value."""
    there, back = find_difference(first, second), find_difference(second, first)

    assert (there.matter, there.first, there.second) == (back.matter, back.second, back.first)


@pytest.mark.parametrize(("first", "second"), NOT_DIFFERENT.values(), ids=NOT_DIFFERENT.keys())
def test_two_truths_are_no_difference(first: str, second: str) -> None:
    """Precision before recall: other notation, other things, other times."""
    assert find_difference(first, second) is None
    assert find_difference(second, first) is None


def make_source(number: int, content: str, *, domain: str = "", published: str = "") -> Source:
    domain = domain or f"site{number}.example"
    metadata = SourceMetadata(
        domain,
        len(content.split()),
        "fake",
        SourceKind.UNKNOWN,
        datetime.fromisoformat(published).replace(tzinfo=UTC) if published else None,
    )
    return Source(
        f"src_{number}", f"https://{domain}/{number}", "The tower", content, str(hash(content)), NOW, metadata
    )


def claim_on(source: Source, quote: str) -> Claim:
    start = source.content.index(quote)
    evidence = Evidence(source.id, quote, start, start + len(quote), Verdict.SUPPORTED)
    return Claim("summary-0", quote, Verdict.SUPPORTED, (evidence,))


TALL = "The Eddystone tower is 49 metres tall."
LOFTY = "Surveys give 49 metres for the height of the tower."


def test_a_conflict_says_who_says_what_when_and_in_which_words() -> None:
    """S003-16, G-05."""
    first = make_source(1, f"It is a light. {TALL} It stands at sea.", published="2024-05-02")
    second = make_source(2, "Much was built. The Eddystone tower is 51 m tall. [3] It is old.")
    third = make_source(3, "The Eddystone tower is 49 m tall.")

    found = find_conflicts([claim_on(first, TALL)], [first, second, third], "How tall is the Eddystone tower?")

    assert len(found) == 1
    assert "Eddystone tower" in found[0].subject
    assert [(side.position, side.source_id, side.date) for side in found[0].positions] == [
        ("49 metres", "src_1", "2024-05-02"),
        ("51 m", "src_2", ""),
    ]
    assert all(side.quote in source.content for side, source in zip(found[0].positions, (first, second), strict=True))


@pytest.mark.parametrize(
    ("claim", "count"),
    [
        ("Sources disagree: a survey says 49 metres, a guide 51 m.", 1),
        ("Die Quellen widersprechen sich: 49 metres oder 51 m.", 1),
        ("A survey gives 49 metres, while a guide gives 51 m.", 0),
        ("Sources disagree on whether it is 49 metres tall.", 0),
    ],
    ids=["told", "in another language", "not called so", "of one value"],
)
def test_a_disagreement_that_the_answer_tells_is_a_conflict(claim: str, count: int) -> None:
    """Whoever writes that two sources disagree contradicts neither, so that no judge calls it contradicted."""
    quotes = ["It gives 51 m for the height of the tower.", LOFTY, "Maps give 51 m for the height of the tower."]
    sources = [make_source(number, f"See here. {quote}") for number, quote in enumerate(quotes, start=1)]
    evidence = [claim_on(source, quote).evidence[0] for source, quote in zip(sources, quotes, strict=True)]

    found = find_conflicts([Claim("summary-0", claim, Verdict.SUPPORTED, tuple(evidence))], sources, "", judged=())

    assert [set(conflict.sides.values()) for conflict in found] == [{("src_2",), ("src_1", "src_3")}] * count
    assert all([side.source_id for side in one.positions][-2:] == ["src_1", "src_3"] for one in found)
    assert not any(conflict.subject.startswith("It ") for conflict in found)


def test_one_conflict_is_reported_once() -> None:
    first, second = make_source(1, TALL), make_source(2, "The Eddystone tower is 51 m tall.")
    claims = [claim_on(first, first.content), claim_on(second, second.content)]

    assert len(find_conflicts(claims, [first, second], "")) == 1


@pytest.mark.parametrize(
    "second",
    [
        make_source(2, "The Eddystone tower is 51 m tall.", domain="www.site1.example"),
        make_source(2, "The Smeaton tower is 22 m tall."),
        make_source(2, "Is the Eddystone tower 51 m tall?"),
        make_source(2, "```\nThe Eddystone tower is 51 m tall.\n```"),
        make_source(2, ""),
    ],
    ids=["one-owner", "other-tower", "question", "code", "empty"],
)
def test_what_cannot_contradict_is_no_conflict(second: Source) -> None:
    first = make_source(1, TALL)

    assert find_conflicts([claim_on(first, TALL)], [first, second], "How tall is it?") == ()


@pytest.mark.parametrize(
    ("titles", "count"),
    [
        (("Tides at Lund", "Tides at Ystad"), 0),
        (("Tides of harbours", "Tides of harbours"), 0),
        (("Tides at Lund", "High water at Lund"), 1),
    ],
    ids=["other towns", "no name", "one town"],
)
def test_what_a_pronoun_stands_for_is_told_by_the_names_of_the_titles(titles: tuple[str, str], count: int) -> None:
    said = "It comes {} minutes after high tide."
    first, second = (
        replace(make_source(at, said.format(minutes)), title=title)
        for at, minutes, title in zip((1, 2), (16, 40), titles, strict=True)
    )

    assert len(find_conflicts([claim_on(first, first.content)], [first, second], "")) == count


def test_conflicts_are_few_and_those_on_the_question_come_first() -> None:
    names = ["Alpha", "Beta", "Gamma", "Delta", "Kappa", "Lambda", "Omega"]
    first = make_source(1, " ".join(f"The {name} tower is {place + 20} m tall." for place, name in enumerate(names)))
    second = make_source(2, " ".join(f"The {name} tower is {place + 90} m tall." for place, name in enumerate(names)))
    claims = [claim_on(first, sentence.text) for sentence in split_sentences(first.content)]

    found = find_conflicts(claims, [first, second], "How tall is the Omega tower?")

    assert len(found) == MAX_CONFLICTS
    assert "Omega" in found[0].subject


def test_claims_without_evidence_give_no_conflict() -> None:
    first, second = make_source(1, TALL), make_source(2, "The Eddystone tower is 51 m tall.")
    claims = [Claim("summary-0", TALL, Verdict.SUPPORTED)]

    found: tuple[Conflict, ...] = find_conflicts(claims, [first, second], "")

    assert found == ()


def test_real_abstracts_on_different_studies_hardly_conflict() -> None:
    """Sentences of unrelated studies are not contradictions, though they share much of their wording."""
    questions = json.loads(shared_data("pubmedqa", "questions.json").read_text(encoding="utf-8"))
    sentences = [
        (key, sentence.text)
        for key, entry in list(questions.items())[:60]
        for sentence in split_sentences(" ".join(entry["CONTEXTS"]))[-4:]
    ]

    pairs = [(first, second) for first, second in combinations(sentences, 2) if first[0] != second[0]]
    found = [pair for pair in pairs if find_difference(pair[0][1], pair[1][1])]

    assert len(pairs) > 20_000
    assert found == []


PLAIN = "Drinking coffee does not harm the heart."
CONTRARY = "Heart attacks are more frequent among people who drink coffee."


def contradiction(source: Source, quote: str, claim_id: str = "summary-0") -> Contradiction:
    start = source.content.index(quote)
    return Contradiction(claim_id, Evidence(source.id, quote, start, start + len(quote), Verdict.SUPPORTED))


def test_what_a_judge_calls_contradicted_is_a_conflict_in_its_own_words() -> None:
    """Rules find nothing in common here; the positions are the sentences, and the claim is what they are about."""
    first, second = make_source(1, PLAIN), make_source(2, f"It is a drink. {CONTRARY}")

    found = find_conflicts(
        [claim_on(first, PLAIN)], [first, second], "Is coffee bad?", judged=[contradiction(second, CONTRARY)]
    )

    assert len(found) == 1
    assert found[0].claim_ids == ("summary-0",)
    assert [side.quote for side in found[0].positions] == [PLAIN, CONTRARY]
    assert name_sides(found[0]).startswith("“Drinking coffee does not harm the heart” [1] against “Heart attacks")


def test_what_a_judge_calls_contradicted_is_told_by_rules_where_they_find_one_thing() -> None:
    first = make_source(1, "The rooms under green roofs stayed 3 °C cooler in July.")
    second = make_source(2, "Rooms were 6 °C cooler under a green roof. That was in summer.")

    found = find_conflicts(
        [claim_on(first, first.content)], [first, second], "", judged=[contradiction(second, second.content)]
    )

    assert name_sides(found[0]) == "3 °C [1] against 6 °C [2]"


def test_the_sentence_of_a_passage_that_says_otherwise_is_the_position() -> None:
    """Not the one that has more of the claim's words, where it has no other value: it says nothing against it."""
    told = "A green roof cools the rooms below it by 6 °C in summer."
    about = "People have measured how much a green roof cools the rooms below it in summer."
    contrary = "Rooms under a green roof stayed 3 °C cooler."
    first, second = make_source(1, told), make_source(2, f"{about} {contrary}")

    (found,) = find_conflicts(
        [claim_on(first, told)], [first, second], "", judged=[contradiction(second, second.content)]
    )

    assert [side.quote for side in found.positions] == [told, contrary]
    assert name_sides(found) == "6 °C [1] against 3 °C [2]"


def test_a_sentence_beside_the_passage_that_says_otherwise_is_the_position() -> None:
    """A judge is asked about several sentences of a source at once, and names none; the first is kept with its word."""
    told = "A green roof cools the rooms below it by 6 °C on hot afternoons."
    about = "Green roofs are flat roofs with soil, and people have measured how they cool the rooms below in summer."
    contrary = "In the heat of the afternoon, rooms under green roofs stayed 3 °C cooler than rooms under other roofs."
    first, second = make_source(1, told), make_source(2, f"{about}\n\n{contrary}")

    (found,) = find_conflicts([claim_on(first, told)], [first, second], "", judged=[contradiction(second, about)])

    assert [side.quote for side in found.positions] == [told, contrary]
    assert name_sides(found) == "6 °C [1] against 3 °C [2]"


def test_a_passage_that_our_rules_cannot_read_is_a_position_all_the_same() -> None:
    """D21: of a language without blanks, and of a row of a table."""
    first = make_source(1, "灯塔高四十九米。")
    second = make_source(2, "Height | 61 m")

    found = find_conflicts(
        [claim_on(first, first.content)], [first, second], "", judged=[contradiction(second, second.content)]
    )

    assert [side.quote for side in found[0].positions] == [first.content, second.content]


def test_with_a_judge_what_only_rules_suspect_is_no_conflict() -> None:
    """Two keys: the judge was asked, and did not say so."""
    first, second = make_source(1, TALL), make_source(2, "The Eddystone tower is 61 m tall.")

    assert find_conflicts([claim_on(first, TALL)], [first, second], "", judged=None) != ()
    assert find_conflicts([claim_on(first, TALL)], [first, second], "", judged=[]) == ()


def test_a_conflict_that_is_told_from_both_sides_and_in_detail_stands_once() -> None:
    """Its sides hold all that carry each, and it knows each claim that it speaks against."""
    first, second = make_source(1, TALL), make_source(2, "The Eddystone tower is 61 m tall.")
    third = make_source(3, f"An old light. {TALL}")
    summary = claim_on(first, TALL)
    summary = replace(summary, evidence=(*summary.evidence, *claim_on(third, TALL).evidence))
    detail = replace(claim_on(second, second.content), id="detail-0")
    judged = [contradiction(second, second.content), contradiction(first, TALL, "detail-0")]

    found = find_conflicts([summary, detail], [first, second, third], "How tall is it?", judged=judged)

    assert len(found) == 1
    assert found[0].claim_ids == ("summary-0", "detail-0")
    assert name_sides(found[0]) == "49 metres [1][3] against 61 m [2]"


def test_one_voice_cannot_contradict_itself() -> None:
    """Nor does a judge's word make two pages of one owner two voices."""
    first, second = make_source(1, TALL, domain="bbc.com"), make_source(2, f"No. {CONTRARY}", domain="bbc.co.uk")

    assert find_conflicts([claim_on(first, TALL)], [first, second], "", judged=[contradiction(second, CONTRARY)]) == ()


def test_a_contradiction_of_no_claim_that_is_shown_is_no_conflict() -> None:
    first, second = make_source(1, TALL), make_source(2, CONTRARY)
    judged = [contradiction(second, CONTRARY, "summary-7")]

    assert find_conflicts([claim_on(first, TALL)], [first, second], "", judged=judged) == ()


@pytest.mark.parametrize(
    "contrary",
    ["The tower was measured at 61 m.", "The Eddystone tower is not tall.", "The tower is small."],
    ids=["number", "negation", "opposite"],
)
def test_the_judge_is_asked_about_what_may_say_otherwise(contrary: str) -> None:
    """At most two sentences of a source; those that differ before those that are only near."""
    page = make_source(
        2, f"The Eddystone tower is tall and made of stone. Trains run daily. {contrary} Lunch is at noon."
    )

    found = contrary_passages("The Eddystone tower is 49 m tall.", EvidenceIndex(page))

    assert contrary in [evidence.quote for evidence in found]
    assert len(found) <= MAX_CONTRARY
    assert all(page.content[evidence.start : evidence.end] == evidence.quote for evidence in found)


def test_the_judge_is_not_asked_about_what_has_nothing_of_the_claim() -> None:
    page = make_source(2, "Trains run daily. Lunch is served at noon in the old hall.")

    assert contrary_passages(TALL, EvidenceIndex(page)) == ()


STRONG_AND_WEAK = [
    (("official", "official", "forum"), True),
    (("established_press", "established_press", "unknown"), True),
    (("established_press", "established_press", "local"), False),
    (("official", "official", "standards"), False),
    (("unknown", "unknown", "forum"), False),
    (("official", "unknown", "forum"), False),
]


@pytest.mark.parametrize(("kinds", "is_lone"), STRONG_AND_WEAK)
def test_a_lone_voice_is_weaker_by_two_classes_than_two_strong_ones(kinds: tuple[str, str, str], is_lone: bool) -> None:
    """D22."""
    texts = (TALL, f"An old light. {TALL}", "The Eddystone tower is 61 m tall.")
    sources = [make_source(number, text) for number, text in enumerate(texts, 1)]
    sources = [
        replace(source, metadata=replace(source.metadata, kind=SourceKind(kind)))
        for source, kind in zip(sources, kinds, strict=True)
    ]
    claim = claim_on(sources[0], TALL)
    claim = replace(claim, evidence=(*claim.evidence, *claim_on(sources[1], TALL).evidence))

    (found,) = find_conflicts([claim], sources, "", judged=[contradiction(sources[2], texts[2])])

    assert (lone_weaker_voice(found, sources) == sources[2]) == is_lone


@pytest.mark.parametrize(
    ("claim_ids", "positions", "is_on_it"),
    [
        (("summary-0",), ("49 m", "51 m"), True),
        (("detail-0",), ("1882", "1884"), False),
        (("detail-0",), ("49 m", "51 m"), True),
        ((), ("a", "b"), True),
    ],
    ids=["summary", "detail", "its value", "unknown"],
)
def test_a_conflict_on_what_was_asked(claim_ids: tuple[str, ...], positions: tuple[str, str], is_on_it: bool) -> None:
    """D22: of a claim of the summary, or of the value that the summary gives."""
    sides = tuple(ConflictPosition(said, f"src_{place}", "", "Said.") for place, said in enumerate(positions, 1))
    summary = [Claim("summary-0", "The Eddystone tower is 49 m tall.", Verdict.SUPPORTED)]

    asked = is_asked(Conflict("the matter", sides, claim_ids), summary, "How tall is the Eddystone tower?")

    assert asked == is_on_it


def test_a_degree_is_told_with_its_scale() -> None:
    found = find_difference("The room was 3 °C cooler than the roof.", "The room was 6 °C cooler than the roof.")

    assert (found.first, found.second) == ("3 °C", "6 °C")


def test_what_is_known_to_differ_is_named_in_looser_words_too() -> None:
    """Only for sentences that a judge called contrary: alone they prove nothing."""
    pair = ("Rooms under green roofs stayed 3 °C cooler.", "A green roof made it 6 °C cooler in the room.")

    named = name_difference(*pair)

    assert find_difference(*pair) is None
    assert (named.first, named.second) == ("3 °C", "6 °C")


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        (
            "On hot afternoons the rooms below green roofs were about {} °C cooler than rooms below bitumen roofs.",
            "On hot afternoons the rooms below green roofs were about … °C cooler than rooms below bitumen roofs",
        ),
        (
            "On hot afternoons of the second summer the rooms below the green roofs were about {} °C cooler than the "
            "rooms below the roofs that had nothing but bitumen.",
            "… the rooms below the green roofs were about … °C cooler than the rooms below the roofs that had…",
        ),
    ],
    ids=["whole", "around-the-value"],
)
def test_what_a_conflict_is_about_reads_as_a_sentence(sentence: str, subject: str) -> None:
    """No word is cut in two, and nothing is left out that there is room for."""
    difference = name_difference(sentence.format(3), sentence.format(6))

    assert difference.subject == subject
