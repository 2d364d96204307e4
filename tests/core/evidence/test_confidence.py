"""Confidence is computed from evidence, and its laws hold on whatever evidence there is."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.evidence.authority import same_voice
from core.evidence.confidence import ConfidenceReport, score_confidence
from core.model.answer import Claim, Confidence, Conflict, ConflictPosition, Evidence, Verdict
from core.model.job import QuestionType
from core.model.source import Source, SourceKind, SourceMetadata

NOW = datetime(2026, 11, 20, tzinfo=UTC)
LEVELS = [Confidence.INSUFFICIENT, Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH]
CONFLICT = Conflict("the height of the tower", ())
RISING = [Verdict.UNSUPPORTED, Verdict.UNCHECKED, Verdict.PARTIAL, Verdict.MOVED, Verdict.SUPPORTED]


def make_source(
    number: int,
    *,
    domain: str = "",
    kind: SourceKind = SourceKind.UNKNOWN,
    content: str = "",
    published_at: datetime | None = None,
    author: str | None = None,
) -> Source:
    content = content or f"Text number {number}."
    domain = domain if kind is SourceKind.LOCAL else domain or f"site{number}.example"
    return Source(
        id=f"src_{number}",
        url=f"https://{domain}/{number}" if domain else f"file:///notes/{number}.md",
        title=f"Title {number}",
        content=content,
        content_hash=hashlib.sha256(content.encode()).hexdigest(),
        read_at=NOW,
        metadata=SourceMetadata(domain, len(content.split()), "fake", kind, published_at, author),
    )


def make_evidence(number: int, verdict: Verdict = Verdict.SUPPORTED, quote: str = "") -> Evidence:
    quote = quote or f"Text number {number}."
    return Evidence(f"src_{number}", quote, 0, len(quote), verdict)


def make_claim(place: int, *evidence: Evidence, verdict: Verdict = Verdict.SUPPORTED) -> Claim:
    return Claim(f"summary-{place}", f"Claim {place}.", verdict, tuple(evidence))


def score(
    claims: list[Claim],
    sources: list[Source],
    *,
    conflicts: int = 0,
    question_type: QuestionType = QuestionType.FACTUAL,
    is_checked: bool = True,
    cap: Confidence | None = None,
) -> ConfidenceReport:
    return score_confidence(
        claims,
        sources,
        conflicts=[CONFLICT] * conflicts,
        question_type=question_type,
        now=NOW,
        is_checked=is_checked,
        cap=cap,
    )


def rated(*kinds: SourceKind) -> Confidence:
    """The level of one supported claim carried by a source of each kind."""
    sources = [make_source(number, kind=kind) for number, kind in enumerate(kinds, 1)]
    return score([make_claim(0, *(make_evidence(source.number) for source in sources))], sources).confidence


MAKER, NORM = SourceKind.OFFICIAL, SourceKind.STANDARDS
PEER, PRESS = SourceKind.PEER_REVIEWED, SourceKind.ESTABLISHED_PRESS
ANYONE = SourceKind.UNKNOWN
FORUM, FILE = SourceKind.FORUM, SourceKind.LOCAL


@pytest.mark.parametrize(
    ("kinds", "level"),
    [
        ((MAKER, PEER), Confidence.HIGH),
        ((NORM, ANYONE), Confidence.HIGH),
        ((PRESS, PRESS), Confidence.HIGH),
        ((MAKER,), Confidence.MEDIUM),
        ((FILE,), Confidence.MEDIUM),
        ((FILE, FILE, FILE), Confidence.MEDIUM),
        ((ANYONE, ANYONE, ANYONE, ANYONE), Confidence.MEDIUM),
        ((FORUM, FORUM), Confidence.MEDIUM),
        ((ANYONE,), Confidence.LOW),
        ((FORUM,), Confidence.LOW),
        ((), Confidence.INSUFFICIENT),
    ],
)
def test_levels_follow_corroboration_and_authority(kinds: tuple[SourceKind, ...], level: Confidence) -> None:
    """S003-15: high is several and authoritative, medium one strong or several weaker, low weak."""
    assert rated(*kinds) is level


def test_the_reasons_name_what_was_counted() -> None:
    sources = [make_source(1, kind=MAKER), make_source(2, kind=PEER), make_source(3, kind=PRESS), make_source(4)]
    claims = [make_claim(place, *(make_evidence(number) for number in (1, 2, 3, 4))) for place in range(9)]

    report = score(claims, sources)

    assert report.confidence is Confidence.HIGH
    assert ", ".join(report.reasons) == "4 independent sources, 2 primary, 9 of 9 claims supported, no conflict"


def test_the_sum_is_the_lowest_of_its_lines_and_each_says_why() -> None:
    """A score whose level stays below what the sources reach needs a word."""
    sources = [make_source(1, kind=MAKER), make_source(2, kind=PEER)]
    claim = make_claim(0, make_evidence(1), make_evidence(2))

    free, capped = score([claim], sources), score([claim], sources, cap=Confidence.LOW)
    held = score([claim, make_claim(1, verdict=Verdict.UNCHECKED)], sources, conflicts=1)

    assert [part.name for part in free.sum] == ["support", "score"]
    assert free.sum[0].value == pytest.approx(1 - 0.25 * (1 - 0.3 - 0.45 * 0.9))
    assert [part.name for part in capped.sum] == ["support", "cap", "score"]
    assert [part.name for part in held.sum] == ["support", "conflicts", "confirmed", "score"]
    assert held.sum[2].note == "at most medium: not confirmed: 1 of 2 sentences"
    assert all(report.sum[-1].value == min(part.value for part in report.sum) for report in (free, capped, held))


def test_many_sources_of_one_claim_each_are_no_corroboration() -> None:
    """Ten sources look like much; the reason that stands first says why the level is low all the same."""
    sources = [make_source(number) for number in range(1, 11)]

    report = score([make_claim(source.number, make_evidence(source.number)) for source in sources], sources)

    assert report.confidence is Confidence.LOW
    assert report.reasons[:2] == ("the central claim rests on one weak source", "10 independent sources in all")


STORY = "The council of the town voted on Tuesday to close the old bridge for all traffic until the spring. " * 3
COPY = " ".join(f"word{place}" for place in range(120))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_source(1, domain="a.example.com"), make_source(2, domain="b.example.com")),
        (make_source(1, content=STORY), make_source(2, content=STORY)),
        (make_source(1, content=COPY), make_source(2, content=f"Home About Login {COPY} Share Comments Imprint")),
    ],
    ids=["one-owner", "same-hash", "syndicated"],
)
def test_one_voice_counts_once(first: Source, second: Source) -> None:
    """A copy, a mirror or a second page of one owner adds nothing, and corroborates nothing (D24)."""
    claim = make_claim(0, make_evidence(1), make_evidence(2))

    both = score([claim], [first, second])

    assert same_voice(first, second)
    assert both.per_claim == score([claim], [first]).per_claim
    assert both.reasons[1].startswith("1 independent source (of 2")
    assert (both.corroborating, score([claim], [make_source(1), make_source(2)]).corroborating) == (0, 2)


def test_a_copied_quote_is_one_voice_for_its_claim() -> None:
    quote = "The council of the town voted on Tuesday to close the old bridge until the spring."
    claim = make_claim(0, make_evidence(1, quote=quote), make_evidence(2, quote=quote.replace("Tuesday", "tuesday")))

    report = score([claim], [make_source(1), make_source(2)])

    assert report.per_claim == score([make_claim(0, make_evidence(1))], [make_source(1)]).per_claim


def test_local_files_are_one_voice() -> None:
    """Whoever keeps them answers for all of them, and the line that says so counts sources once."""
    claim = make_claim(0, make_evidence(1), make_evidence(2))
    one, two = make_source(1, kind=FILE), make_source(2, kind=FILE)

    both, alone = score([claim], [one, two]), score([make_claim(0, make_evidence(1))], [one])

    assert both.per_claim == alone.per_claim
    assert both.reasons[:2] == ("the central claim rests on local files", "2 local files (together one source)")
    assert alone.reasons[:2] == ("the central claim rests on one local file", "1 of 1 claim supported")


def test_papers_of_a_library_are_called_that() -> None:
    paper = replace(make_source(1, kind=FILE).metadata, provider="library")
    one, two = (replace(make_source(number, kind=FILE), metadata=paper) for number in (1, 2))

    alone = score([make_claim(0, make_evidence(1))], [one])
    both = score([make_claim(0, make_evidence(1)), make_claim(1, make_evidence(2))], [one, two])
    beside_a_file = score([make_claim(0, make_evidence(1), make_evidence(3))], [one, make_source(3, kind=FILE)])

    assert alone.reasons[:2] == ("the central claim rests on one paper of the library", "1 of 1 claim supported")
    assert "2 papers of the library" in both.reasons[1]
    assert beside_a_file.reasons[0] == "the central claim rests on local files"


def test_a_file_that_the_central_claim_rests_on_is_counted_where_there_are_others() -> None:
    """Alone it is said already; where something else decides, it is counted all the same."""
    one, two = make_source(1, kind=FILE), make_source(2, kind=FILE)
    claims = [make_claim(0, make_evidence(1)), make_claim(1, make_evidence(2))]

    among_two = score(claims, [one, two]).reasons
    unchecked = score(claims[:1], [one], is_checked=False).reasons

    assert among_two[:2] == ("the central claim rests on one local file", "2 local files (together one source)")
    assert unchecked[:2] == ("the citations could not be checked", "1 local file")


def test_without_a_supported_claim_it_is_insufficient() -> None:
    claims = [make_claim(0, make_evidence(1, Verdict.UNSUPPORTED), verdict=Verdict.UNSUPPORTED)]

    assert score(claims, [make_source(1, kind=MAKER)]).confidence is Confidence.INSUFFICIENT
    assert score([], [make_source(1, kind=MAKER)]).confidence is Confidence.INSUFFICIENT


def test_a_failed_checker_leaves_low_at_most() -> None:
    """The answer still goes out, labelled; see the limitations."""
    sources = [make_source(1, kind=MAKER), make_source(2, kind=PEER)]
    unchecked = [make_claim(0, *(make_evidence(n, Verdict.UNCHECKED) for n in (1, 2)), verdict=Verdict.UNCHECKED)]
    supported = [make_claim(0, make_evidence(1), make_evidence(2))]

    assert score(unchecked, sources, is_checked=False).confidence is Confidence.LOW
    assert score(supported, sources, is_checked=False).confidence is Confidence.LOW


def test_a_cap_is_an_upper_bound_only() -> None:
    sources = [make_source(1, kind=MAKER), make_source(2, kind=PEER)]

    strong = score([make_claim(0, make_evidence(1), make_evidence(2))], sources, cap=Confidence.MEDIUM)

    assert strong.confidence is Confidence.MEDIUM
    assert (
        score([make_claim(0, make_evidence(3))], [make_source(3)], cap=Confidence.MEDIUM).confidence is Confidence.LOW
    )


def test_old_reports_weigh_less_for_current_events_only() -> None:
    claim = make_claim(0, make_evidence(1))
    fresh, old = (make_source(1, kind=PRESS, published_at=NOW - timedelta(days=age)) for age in (1, 400))

    current = [score([claim], [source], question_type=QuestionType.CURRENT_EVENT) for source in (fresh, old)]

    assert current[0].per_claim["summary-0"] > current[1].per_claim["summary-0"]
    assert score([claim], [fresh]).per_claim == score([claim], [old]).per_claim
    assert "newest source 1 day old" in current[0].reasons


@pytest.mark.parametrize(
    ("published", "reason"),
    [
        (None, "no source gives a date"),
        (NOW + timedelta(days=400), "no source gives a date"),
        (datetime(2026, 11, 19), "newest source 1 day old"),  # noqa: DTZ001 - pages give such dates; taken as UTC
    ],
    ids=["undated", "future", "without-zone"],
)
def test_dates_are_read_with_care(published: datetime | None, reason: str) -> None:
    report = score(
        [make_claim(0, make_evidence(1))],
        [make_source(1, kind=PRESS, published_at=published)],
        question_type=QuestionType.CURRENT_EVENT,
    )

    assert reason in report.reasons


def test_evidence_of_a_source_that_was_not_read_counts_for_nothing() -> None:
    report = score([make_claim(0, make_evidence(9))], [make_source(1, kind=MAKER)])

    assert report.confidence is Confidence.INSUFFICIENT
    assert report.per_claim == {"summary-0": 0.0}


SOURCES = st.builds(
    lambda owners, kinds, texts, ages: [
        make_source(
            number,
            domain=domain,
            author=author,
            kind=kind,
            content=text,
            published_at=None if age is None else NOW - timedelta(days=age),
        )
        for number, ((domain, author), kind, text, age) in enumerate(zip(owners, kinds, texts, ages, strict=True), 1)
    ],
    st.lists(
        st.sampled_from(
            [(domain, None) for domain in ("a.example", "b.example", "x.a.example", "c.example", "d.example")]
            + [("pubmed.ncbi.nlm.nih.gov", author) for author in ("Moore A", "Lee B", None)]
            + [("arxiv.org", "Moore A")]
        ),
        min_size=6,
        max_size=6,
    ),
    st.lists(st.sampled_from(SourceKind), min_size=6, max_size=6),
    st.lists(
        st.sampled_from([COPY, f"{COPY} more", f"Top {COPY}", "Own.", "Other.", "Third."]), min_size=6, max_size=6
    ),
    st.lists(st.sampled_from([None, 0, 5, 20, 100, 900]), min_size=6, max_size=6),
)
LONG_QUOTES = [f"{COPY[: 90 + 7 * place]}" for place in range(3)]
EVIDENCE = st.builds(
    make_evidence,
    st.integers(1, 6),
    st.sampled_from(RISING),
    st.sampled_from(["", *LONG_QUOTES]),
)
CLAIMS = st.lists(st.tuples(st.sampled_from(RISING), st.lists(EVIDENCE, max_size=4)), min_size=1, max_size=4).map(
    lambda rows: [make_claim(place, *evidence, verdict=verdict) for place, (verdict, evidence) in enumerate(rows)]
)
TYPES = st.sampled_from(QuestionType)


def _not_lower(better: ConfidenceReport, worse: ConfidenceReport) -> bool:
    return (
        LEVELS.index(better.confidence) >= LEVELS.index(worse.confidence)
        and better.sum[-1].value >= worse.sum[-1].value - 1e-9
        and all(better.per_claim[claim] >= value - 1e-9 for claim, value in worse.per_claim.items())
    )


@settings(max_examples=300)
@given(SOURCES, CLAIMS, st.data(), TYPES, st.booleans())
def test_what_is_better_never_lowers(
    sources: list[Source], claims: list[Claim], data: st.DataObject, kind: QuestionType, checked: bool
) -> None:
    """S003-15: neither evidence that ties two sources together which counted as independent, nor another source.

    Nor a better verdict, of a claim or of a single piece of its evidence, nor a detail, whatever its verdicts and
    sources, and where it says a sentence again (D24); and no conflict raises.
    """
    at, missing = data.draw(st.integers(0, len(claims) - 1)), data.draw(st.integers(0, 5))
    claim, fewer = claims[at], [*sources[:missing], *sources[missing + 1 :]]
    conflicts, detail = data.draw(st.integers(0, 3)), data.draw(CLAIMS)
    added = replace(claim, evidence=(*claim.evidence, data.draw(EVIDENCE)))
    raised = replace(
        claim,
        verdict=_raised(claim.verdict, data),
        evidence=tuple(replace(entry, verdict=_raised(entry.verdict, data)) for entry in claim.evidence),
    )
    told = [*claims, *(replace(one, id=f"detail-{place}") for place, one in enumerate(detail))]

    def scored(rows: list[Claim], of: list[Source] = sources, conflicts: int = 0) -> ConfidenceReport:
        return score(rows, of, conflicts=conflicts, question_type=kind, is_checked=checked)

    plain, disputed = scored(claims), scored(claims, conflicts=conflicts)
    better_and_worse = {
        "more evidence": (scored([*claims[:at], added, *claims[at + 1 :]], conflicts=conflicts), disputed),
        "a better verdict": (scored([*claims[:at], raised, *claims[at + 1 :]]), plain),
        "another source": (plain, scored(claims, fewer)),
        "more detail": (scored(told), plain),
        "no conflict more": (disputed, scored(claims, conflicts=conflicts + 1)),
    }

    assert [law for law, (better, worse) in better_and_worse.items() if not _not_lower(better, worse)] == []


def _raised(verdict: Verdict, data: st.DataObject) -> Verdict:
    return RISING[data.draw(st.integers(RISING.index(verdict), len(RISING) - 1))]


def test_a_conflict_makes_high_impossible() -> None:
    """S003-15, D22."""
    sources = [make_source(number, kind=MAKER) for number in range(1, 9)]
    claims = [make_claim(0, *(make_evidence(source.number) for source in sources))]

    assert score(claims, sources).confidence is Confidence.HIGH
    assert score(claims, sources, conflicts=1).confidence is Confidence.LOW
    assert score(claims, sources, conflicts=1).reasons[0] == "sources disagree"


MAKERS = [make_source(1, kind=MAKER), make_source(2, kind=PEER)]
BOTH = make_claim(0, make_evidence(1), make_evidence(2))
HEIGHT = Conflict(
    "the height",
    tuple(
        ConflictPosition(said, f"src_{number}", "", "Claim 0.")
        for said, number in (("3 °C", 1), ("3 °C", 2), ("6 °C", 5))
    ),
    ("summary-0",),
)


@pytest.mark.parametrize(
    ("claims", "changes", "level", "reason"),
    [
        ([BOTH], {}, Confidence.HIGH, "2 independent sources"),
        ([BOTH], {"unanswered": "no duration is given"}, Confidence.LOW, "no duration is given"),
        ([BOTH], {"conflicts": [HEIGHT]}, Confidence.LOW, "sources disagree, 3 °C [1][2] against 6 °C [5]"),
        (
            [BOTH],
            {"conflicts": [HEIGHT], "unanswered": "no duration is given"},
            Confidence.LOW,
            "no duration is given",
        ),
        (
            [BOTH, make_claim(1, verdict=Verdict.UNCHECKED), make_claim(2, verdict=Verdict.PARTIAL)],
            {},
            Confidence.MEDIUM,
            "not confirmed: 2 of 3 sentences",
        ),
        (
            [replace(BOTH, verdict=Verdict.UNCHECKED), make_claim(1, make_evidence(1))],
            {},
            Confidence.LOW,
            "the central claim is not confirmed",
        ),
        ([replace(BOTH, verdict=Verdict.PARTIAL)], {}, Confidence.LOW, "the central claim is supported only in part"),
        (
            [make_claim(0, make_evidence(1)), make_claim(1, make_evidence(2))],
            {},
            Confidence.MEDIUM,
            "the central claim rests on one source",
        ),
        ([BOTH], {"is_checked": False}, Confidence.LOW, "the citations could not be checked"),
    ],
    ids=[
        *("high", "unanswered", "conflict", "conflict-unanswered", "other-sentences", "central", "central-in-part"),
        *("one-source", "unchecked"),
    ],
)
def test_the_reason_that_decided_stands_first(
    claims: list[Claim], changes: dict[str, Any], level: Confidence, reason: str
) -> None:
    """N-14, D22, D23, D24."""
    report = score_confidence(
        claims, MAKERS, **{"conflicts": (), "question_type": QuestionType.FACTUAL, "now": NOW} | changes
    )

    assert report.confidence is level
    assert report.reasons[0] == reason


def test_sources_of_a_sentence_that_tells_of_their_disagreement_corroborate_nothing() -> None:
    """ "A survey says 3 °C [1], a guide says 6 °C [2]" has two sources, and neither bears the other out."""
    both = replace(HEIGHT, claim_ids=(BOTH.id,))
    apart = Conflict(
        "the cooling",
        (replace(both.positions[0], source_id="src_1"), replace(both.positions[-1], source_id="src_2")),
        (BOTH.id,),
    )

    reports = [
        score_confidence([BOTH], MAKERS, conflicts=[one], question_type=QuestionType.FACTUAL, now=NOW)
        for one in (both, apart)
    ]

    assert [report.corroborating for report in reports] == [2, 0]


def test_a_lone_weak_voice_against_strong_ones_leaves_medium_and_is_named() -> None:
    """D22."""
    sources = [*MAKERS, make_source(5, kind=FORUM)]

    report = score_confidence([BOTH], sources, conflicts=[HEIGHT], question_type=QuestionType.FACTUAL, now=NOW)

    assert report.confidence is Confidence.MEDIUM
    assert report.reasons[0] == "one weaker source says otherwise, 3 °C [1][2] against 6 °C [5]"


def test_a_conflict_on_a_detail_that_was_not_asked_for_leaves_medium() -> None:
    """D22."""
    detail = replace(make_claim(1, make_evidence(1)), id="detail-0")
    aside = Conflict("the year", HEIGHT.positions, ("detail-0",))

    report = score_confidence(
        [BOTH, detail], MAKERS, conflicts=[aside], question_type=QuestionType.FACTUAL, now=NOW, question="How tall?"
    )

    assert report.confidence is Confidence.MEDIUM
    assert report.reasons[0].startswith("sources disagree on a detail")


def test_the_central_claim_is_the_first_that_answers() -> None:
    """D24: what leads up to the answer may rest on one source, the answer may not."""
    lead = Claim("summary-0", "Answers are kept in a table.", Verdict.SUPPORTED, (make_evidence(1),))
    told = Claim("summary-1", "They are cached for 24 hours.", Verdict.SUPPORTED, BOTH.evidence)

    def level(question: str) -> Confidence:
        kind = QuestionType.FACTUAL
        report = score_confidence([lead, told], MAKERS, conflicts=(), question_type=kind, now=NOW, question=question)
        return report.confidence

    assert level("How long are answers cached?") is Confidence.HIGH
    assert level("") is Confidence.MEDIUM


def test_the_same_sentence_in_the_detail_lends_its_sources() -> None:
    detail = Claim("detail-0", BOTH.text, Verdict.SUPPORTED, (make_evidence(2),))
    central = make_claim(0, make_evidence(1))

    assert score([central], MAKERS).confidence is Confidence.MEDIUM
    assert score([central, detail], MAKERS).confidence is Confidence.HIGH


@pytest.mark.parametrize(
    ("kinds", "strength"),
    [((MAKER,), 0.75), ((MAKER, MAKER), 0.94), ((ANYONE, ANYONE), 0.71)],
    ids=["official", "two-official", "two-unknown"],
)
def test_the_examples_on_the_page_hold(kinds: tuple[SourceKind, ...], strength: float) -> None:
    sources = [make_source(number, kind=kind) for number, kind in enumerate(kinds, 1)]

    report = score([make_claim(0, *(make_evidence(source.number) for source in sources))], sources)

    assert report.per_claim["summary-0"] == pytest.approx(strength, abs=0.0051)
