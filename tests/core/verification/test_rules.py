"""Each rule alone: what it refuses, and what it lets pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.verification.comparisons import check_comparisons
from core.verification.coverage import check_wording
from core.verification.dates import check_dates
from core.verification.finding import Finding, Weight
from core.verification.modality import check_certainty
from core.verification.names import check_names
from core.verification.negation import check_negation, check_opposites
from core.verification.numbers import check_numbers
from core.verification.pair import Pair, make_pair
from core.verification.roles import check_roles
from core.verification.units import check_units

Rule = Callable[[Pair], list[Finding]]

CONTRADICTIONS: list[tuple[str, Rule, str, str, str]] = [
    ("year", check_numbers, "Acme was founded in 2024.", "Acme was founded in 2023 by Ann Lee.", "2023, not 2024"),
    ("count", check_numbers, "The trial had 54 patients.", "The trial had 45 patients.", "45, not 54"),
    ("decimal", check_numbers, "The mean was 62.2 mm.", "The mean was 62.5 mm.", "62.5, not 62.2"),
    ("word for digits", check_numbers, "Seven men were hurt.", "In all, 8 men were hurt.", "8, not Seven"),
    ("missing count", check_numbers, "It weighs 310 tons.", "It is heavy and made of steel.", "does not have 310"),
    ("number of another slot", check_numbers, "Of 90 men, 40 and 40 left.", "Of 90 men, 40 and 30 left.", "30, not 40"),
    ("month", check_dates, "It opened in May 1990.", "It opened in June 1990.", "June, not May"),
    ("day", check_dates, "He spoke at length on 5 May about it.", "On 7 May he gave a talk.", "does not have 5 May"),
    ("weekday", check_dates, "They met on Monday.", "They met on Friday.", "Friday, not Monday"),
    ("unit", check_units, "Each dose was 5 g.", "Each dose was 5 mg.", "5 mg, not 5 g"),
    ("currency", check_units, "It cost $40.", "It cost €40.", "not 40 $"),
    ("bound", check_comparisons, "Under 50 people came.", "Over 50 people came.", "Over 50, not Under 50"),
    ("at most", check_comparisons, "At least 9 votes are due.", "At most 9 votes are due.", "most 9, not least 9"),
    ("negation added", check_negation, "The drug did not help.", "The drug did help.", 'deny "help"|denies nothing'),
    ("negation dropped", check_negation, "The drug helped men.", "The drug never helped men.", 'denies "helped"'),
    ("contraction", check_negation, "It doesn't run on Linux.", "It does run on Linux.", 'deny|denies nothing'),
    ("rise for fall", check_opposites, "Profit rose in March.", "Profit fell in March.", '"fell", not "rose"'),
    ("prefix", check_opposites, "The list is mutable.", "The list is immutable.", '"immutable", not "mutable"'),
    ("before for after", check_opposites, "He left before the war.", "He left after the war.", '"after", not "before"'),
    ("name", check_names, "In 1990 Ann Lee ran Acme.", "In 1990 Bob Ray ran Acme.", "Bob, not Ann"),
    ("similar name", check_names, "The prize went to Hanson.", "The prize went to Hansen.", "Hansen, not Hanson"),
    ("unknown full name", check_names, "Later on, Zoe Quill joined.", "The firm grew.", "does not name Zoe Quill"),
    ("roles", check_roles, "Later, Oracle sued Google.", "Later, Google sued Oracle.", "have changed places"),
    ("nouns", check_roles, "Men earn more than boys.", "Boys earn more than men.", "have changed places"),
    ("joined names", check_roles, "It moved to Oslo from Rome.", "It moved to Rome from Oslo.", "have changed places"),
    ("voice", check_roles, "Google sued Oracle.", "In court, Oracle sued Google.", "have changed places"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "claim", "source", "reason"),
    [case[1:] for case in CONTRADICTIONS],
    ids=[case[0] for case in CONTRADICTIONS],
)
def test_a_rule_refuses_what_contradicts_and_says_why(rule: Rule, claim: str, source: str, reason: str) -> None:
    """A contradiction is found by its own rule, with a reason a person can check (S003-14)."""
    pair = make_pair(claim, [source], source)

    findings = rule(pair)

    assert [finding.weight for finding in findings if finding.weight is Weight.CONTRADICTS] != []
    assert any(part in findings[0].reason for part in reason.split("|"))


AGREEMENTS: list[tuple[str, Rule, str, str]] = [
    ("same number", check_numbers, "Acme has 45 offices.", "Acme has 45 offices."),
    ("grouped digits", check_numbers, "It sold 1200 cars.", "It sold 1,200 cars."),
    ("number in words", check_numbers, "It has 12 rooms.", "It has twelve rooms."),
    ("compound words", check_numbers, "She was 25.", "She was twenty-five."),
    ("rounded", check_numbers, "It has 1.2 million users.", "It has 1,234,567 users."),
    ("another unit", check_numbers, "The road is 1.5 km long.", "The road is 1500 m long."),
    ("short year", check_numbers, "It ran in 2019.", "It ran in the 2018–19 season."),
    ("moved number", check_numbers, "In 2010, the firm grew.", "The firm grew in 2010."),
    ("day written otherwise", check_dates, "He spoke on 5 May.", "He spoke on May 5th."),
    ("ISO date", check_dates, "He spoke on 5 May 2020.", "Spoke: 2020-05-05."),
    ("same unit", check_units, "Each dose was 5 mg.", "Each dose was 5 milligrams."),
    ("same bound", check_comparisons, "Over 50 people came.", "More than 50 people came."),
    ("same negation", check_negation, "The drug didn't help.", "The drug did not help."),
    ("negation elsewhere", check_negation, "The drug did not help.", "No help came from the drug."),
    ("not only", check_negation, "It helps men.", "It not only helps men but also women."),
    ("twice denied", check_negation, "It is possible.", "It is not impossible."),
    ("twice denied, opposites", check_opposites, "It is not impossible.", "It is possible."),
    ("trimmed clause with a negation", check_negation, "Acme grew.", "Acme, which did not pay taxes, grew."),
    ("same name", check_names, "In 1990 Ann Lee ran Acme.", "Ann Lee ran Acme in 1990."),
    ("initials", check_names, "The WHO agreed.", "The World Health Organization agreed."),
    ("title", check_names, "Then President Obama spoke.", "Then Barack Obama spoke."),
    ("passive", check_roles, "Oracle was sued by Google.", "Google sued Oracle."),
    ("list in another order", check_roles, "Later Oslo and Rome agreed.", "Later Rome and Oslo agreed."),
    ("moved clause", check_roles, "In Rome, Ann met Bob.", "Ann met Bob in Rome."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "claim", "source"), [case[1:] for case in AGREEMENTS], ids=[case[0] for case in AGREEMENTS]
)
def test_a_rule_lets_the_same_thing_said_otherwise_pass(rule: Rule, claim: str, source: str) -> None:
    """What a good paraphrase changes is no contradiction."""
    pair = make_pair(claim, [source], source)

    contradictions = [finding for finding in rule(pair) if finding.weight is Weight.CONTRADICTS]

    assert contradictions == []


def test_a_dropped_hedge_puts_the_claim_in_doubt() -> None:
    """What the source only supposes is not stated as certain."""
    source = "The new drug may cure severe asthma in adults."

    findings = check_certainty(make_pair("The new drug cures severe asthma in adults.", [source], source))

    assert [(finding.weight, finding.reason) for finding in findings] == [(Weight.AGAINST, 'the source says "may"')]


def test_a_single_unknown_name_puts_the_claim_in_doubt() -> None:
    """One capitalised word may be another form of a name that the source has."""
    source = "The firm grew a lot that year."

    findings = check_names(make_pair("That year the firm Quillon grew.", [source], source))

    assert [(finding.weight, finding.reason) for finding in findings] == [
        (Weight.AGAINST, "the source does not name Quillon")
    ]


def test_missing_words_are_named() -> None:
    """The reason lists what a reader would look for in vain."""
    source = "Cats sleep."

    findings = check_wording(make_pair("Submarines dive below glaciers.", [source], source))

    assert [finding.reason for finding in findings] == [
        "the source does not mention: Submarines, dive, below, glaciers"
    ]
