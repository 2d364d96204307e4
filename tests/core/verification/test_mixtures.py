"""False sentences made of true words: none is confirmed by the rules, and their true likes still are."""

from __future__ import annotations

import pytest

from core.answer import Verdict
from core.verification.additions import check_additions
from core.verification.attribution import check_attribution
from core.verification.check import RULES, check_claim, settle
from core.verification.clauses import check_clauses
from core.verification.comparisons import check_comparisons
from core.verification.finding import Check, Weight
from core.verification.modality import check_certainty
from core.verification.negation import check_negation
from core.verification.order import check_order
from core.verification.pair import make_pair
from core.verification.quantifiers import check_quantifiers
from core.verification.quotations import check_quotations
from core.verification.roles import check_roles
from core.verification.scatter import check_scatter
from core.verification.tense import check_tense

TOWNS = "In 1950 the Lund works employed 80 smiths, whereas the Ystad works employed 35 smiths."
LIVES = "Voss was born in Malmo in 1871 and Hart was born in Bergen in 1868."
OUTPUT = "Output rose from 4,000 tons in 1903 to 52,000 tons in 1911."
DOSE = "Mortality was 12 percent in the control arm and 15 percent in the treated arm."
BRIDGE = (
    "The toll bridge at Lund opened in May 1931. Clara Voss surveyed the valley. "
    "The first tram crossed the toll bridge in 1934."
)
COUNCIL = "The council rejected the petition of the Harbour guild."
CABLE = "The steel rope cost more than the older hemp rope."
MODEST = "Nils Hart claimed that he had crossed the strait in 1849."
TRIED = "Nils Hart tried to cross the strait in 1849."
SOME = "The salve relieves pain in some miners."
MOST = "The salve is sold in most countries of the north."
OWNED = "The Royal Mint owned the copper mine."
MAY = "Humming may help torn muscles heal."
OPENED = "The first reading room opened in Lund in 1878 with 21 members."

FALSE: list[tuple[str, str, str]] = [
    ("number of the other", "The Lund works employed 35 smiths.", TOWNS),
    ("other's number", "The Ystad works employed 80 smiths.", TOWNS),
    ("place of the other", "Voss was born in Bergen in 1871.", LIVES),
    ("other's place", "Hart was born in Malmo.", LIVES),
    ("year of the other", "Voss was born in 1868.", LIVES),
    ("gapped clause", "Hart was born in Malmo.", "Voss was born in Malmo and Hart in Bergen."),
    ("figure with another year", "Output rose to 52,000 tons in 1903.", OUTPUT),
    ("arm of another figure", "Mortality was 15 percent in the control arm.", DOSE),
    ("figure of another arm", "Mortality was 12 percent in the treated arm.", DOSE),
    ("subject of another sentence", "Clara Voss opened the toll bridge at Lund in May 1931.", BRIDGE),
    ("subject of the sentence before", "Clara Voss crossed the toll bridge in 1934.", BRIDGE),
    ("roles of nouns", "The Harbour guild rejected the petition of the council.", COUNCIL),
    ("roles in a comparison", "The older hemp rope cost more than the steel rope.", CABLE),
    ("passive word by word", "The bridge designed Clara Voss.", "The bridge was designed by Clara Voss."),
    ("claimed", "Nils Hart crossed the strait in 1849.", MODEST),
    ("tried", "Nils Hart crossed the strait in 1849.", TRIED),
    ("all for some", "The salve relieves pain in all miners.", SOME),
    ("some left out", "The salve relieves pain in miners.", SOME),
    ("all for most", "The salve is sold in all countries of the north.", MOST),
    ("only", "Only the Royal Mint owned the copper mine.", OWNED),
    ("future", "The Royal Mint will own the copper mine.", OWNED),
    ("present", "The Royal Mint owns the copper mine.", OWNED),
    ("may left out", "Humming helps torn muscles heal.", MAY),
    ("if left out", "The dam will break.", "The dam will break if the river rises."),
    ("clause added", "The first reading room opened in Lund in 1878 with 21 members, all of whom were smiths.", OPENED),
    ("cause added", "The first reading room opened in Lund in 1878 because 21 members had asked.", OPENED),
    ("quoted", 'As Voss said, "the room was mine", the first reading room opened in Lund in 1878.', OPENED),
    ("heading", "Lund is a town of smiths.", "News from Lund\nYstad is a town of smiths."),
    ("agent made the doer's object", "The bridge built the guild.", "The bridge was built by the guild."),
    ("figures of a list", "The three yields were 14, 9 and 31 tons.", "The three yields were 31, 9 and 14 tons."),
    ("comparison drawn", "The Ystad works employed more smiths than the Lund works.", TOWNS),
    ("bound added", "The first reading room opened in Lund in 1878 with more than 21 members.", OPENED),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "source"), [case[1:] for case in FALSE], ids=[case[0] for case in FALSE])
def test_a_false_sentence_of_true_words_is_not_confirmed(claim: str, source: str) -> None:
    """Without a model it is partial at best, though the source has all or nearly all of its words (S003-14)."""
    check = check_claim(claim, source)

    assert check.verdict is not Verdict.SUPPORTED
    assert settle(check) is not Verdict.SUPPORTED
    assert check.reasons


TRUE: list[tuple[str, str, str]] = [
    ("first clause", "The Lund works employed 80 smiths.", TOWNS),
    ("second clause", "The Ystad works employed 35 smiths.", TOWNS),
    ("first life", "Voss was born in Malmo in 1871.", LIVES),
    ("second life", "Hart was born in Bergen in 1868.", LIVES),
    ("second figure", "Output rose to 52,000 tons in 1911.", OUTPUT),
    ("second verb", "Voss died in 1922.", "Voss was born in Malmo in 1871 and died in 1922."),
    ("aside left out", "Voss was born in 1871.", "Voss, a smith of Lund, was born in 1871."),
    ("bracket left out", "Voss was born in Malmo.", "Voss (known as Red Hart, 1871–1922) was born in Malmo."),
    ("same sentence", "The first tram crossed the toll bridge in 1934.", BRIDGE),
    ("roles", "The council rejected the petition of the Harbour guild.", COUNCIL),
    ("owner", "The council rejected the Harbour guild's petition.", COUNCIL),
    ("comparison", "The steel rope cost more than the older hemp rope.", CABLE),
    ("active", "Clara Voss designed the bridge.", "The bridge was designed by Clara Voss."),
    ("claimed", "Nils Hart claimed that he had crossed the strait in 1849.", MODEST),
    ("said", "Nils Hart said that he had crossed the strait in 1849.", MODEST),
    ("some", "The salve relieves pain in some miners.", SOME),
    ("past", "The Royal Mint owned the copper mine.", OWNED),
    ("may", "Humming may help torn muscles heal.", MAY),
    ("phrase first", "In 1911, output rose to 52,000 tons.", "Output rose to 52,000 tons in 1911."),
    ("words left out of a quotation", 'The mint "owned [...] a mill".', "The mint owned the copper mine and a mill."),
    ("true quotation", 'The mint "owned the copper mine" in Lund.', "The mint owned the copper mine in Lund."),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "source"), [case[1:] for case in TRUE], ids=[case[0] for case in TRUE])
def test_what_one_clause_says_is_confirmed(claim: str, source: str) -> None:
    """The true likes of the sentences above need no model."""
    assert check_claim(claim, source).verdict is Verdict.SUPPORTED


ALONE = [
    ("scatter", check_scatter, "Clara Voss crossed the toll bridge in 1934.", BRIDGE, Weight.OPEN),
    ("clauses", check_clauses, "The Lund works employed 35 smiths.", TOWNS.replace("In 1950 t", "T"), Weight.OPEN),
    ("order", check_order, "The older hemp rope cost more than the steel rope.", CABLE, Weight.OPEN),
    ("additions", check_additions, "The Royal Mint owned the copper mine, alas ruinous.", OWNED, Weight.OPEN),
    ("comparisons", check_comparisons, "Lund is older than Ystad.", "Lund is old, and so is Ystad.", Weight.OPEN),
    ("quantifiers", check_quantifiers, "The salve relieves pain in all miners.", SOME, Weight.AGAINST),
    ("tense", check_tense, "The Royal Mint will own the copper mine.", OWNED, Weight.AGAINST),
    ("attribution", check_attribution, "Nils Hart crossed the strait.", MODEST, Weight.AGAINST),
    ("certainty", check_certainty, "Humming helps torn muscles heal.", MAY, Weight.AGAINST),
    ("quotations", check_quotations, 'It was "the best of rooms".', OPENED, Weight.CONTRADICTS),
]


@pytest.mark.parametrize(
    ("rule", "claim", "source", "weight"), [case[1:] for case in ALONE], ids=[case[0] for case in ALONE]
)
def test_each_rule_speaks_up_alone(rule: type, claim: str, source: str, weight: Weight) -> None:
    """Its own fault it finds without the others, with its own weight."""
    sentences = source.replace(". ", ".\n").split("\n")

    findings = rule(make_pair(claim, sentences, source))

    assert [finding.weight for finding in findings] == [weight]


@pytest.mark.parametrize("source", [TOWNS, LIVES, OUTPUT, DOSE, COUNCIL, CABLE, MODEST, SOME, MOST, OWNED, MAY, OPENED])
def test_no_rule_has_anything_against_the_sources_own_words(source: str) -> None:
    """A verbatim sentence is confirmed whatever it is about."""
    pair = make_pair(source, [source], source)

    findings = [finding for rule in RULES for finding in rule(pair)]

    assert findings == []


def test_the_title_of_a_work_is_in_doubt_rather_than_refused() -> None:
    """A source may write a title otherwise, or know the work by its author."""
    claim = 'The first reading room, "The Open Shelf", opened in Lund in 1878.'

    assert check_claim(claim, OPENED).verdict is None


def test_a_denial_of_another_is_no_contradiction() -> None:
    """That one did not invent it says nothing of what another invented; the claim is left open."""
    source = "Voss did not invent the crane. Hart ran the mill."

    findings = check_negation(make_pair("Hart invented the crane.", ["Voss did not invent the crane."], source))

    assert [finding.weight for finding in findings] == [Weight.OPEN]


def test_names_in_a_comparison_of_the_claims_own_have_not_changed_places() -> None:
    """Which of two comes first is the writer's choice, where the source names both in turn."""
    findings = check_roles(make_pair("The Ystad works employed fewer smiths than the Lund works.", [TOWNS], TOWNS))

    assert findings == []


def test_reasons_leave_out_what_is_open_beside_what_is_wrong() -> None:
    """A reader is told the fault, not also what follows from it."""
    check = check_claim("The Lund works employed 99 smiths.", TOWNS)

    assert isinstance(check, Check)
    assert all("99" in reason for reason in check.reasons)
