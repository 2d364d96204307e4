"""Limitations name the fact: which provider, which date, which domain."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evidence.confidence import MAX_LIMITATIONS, find_limitations, short_conflicts
from core.model.answer import Claim, Confidence, Conflict, ConflictPosition, Evidence, ResearchAnswer, Verdict
from core.model.job import QuestionType
from core.model.source import SearchMetadata, Source, SourceCollection, SourceKind, SourceMetadata
from core.presentation.wording import limitations_beside
from core.text.saying import speaking

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def make_source(number: int, domain: str = "", kind: SourceKind = SourceKind.OFFICIAL, **changes: object) -> Source:
    domain = "" if kind is SourceKind.LOCAL else domain or f"site{number}.example"
    url = f"https://{domain}/{number}" if domain else f"file:///{number}.md"
    metadata = SourceMetadata(domain, 3, "fake", kind, NOW)
    source = Source(f"src_{number}", url, f"Title {number}", f"Text {number}.", f"hash{number}", NOW, metadata)
    return replace(source, **changes)  # type: ignore[arg-type] - the fields are those of Source


def dated(source: Source, moment: datetime | None) -> Source:
    return replace(source, metadata=replace(source.metadata, published_at=moment))


def claims_on(*sources: Source, verdict: Verdict = Verdict.SUPPORTED) -> list[Claim]:
    return [
        Claim(f"summary-{place}", "A fact.", verdict, (Evidence(source.id, "Text", 0, 4, verdict),))
        for place, source in enumerate(sources)
    ]


def find(
    *sources: Source,
    kind: QuestionType = QuestionType.FACTUAL,
    claims: list[Claim] | None = None,
    conflicts: tuple[Conflict, ...] = (),
    failures: dict[str, str] | None = None,
    left_out: tuple[str, ...] = (),
    is_checked: bool = True,
    stopped_because: str = "",
) -> tuple[str, ...]:
    return find_limitations(
        kind,
        SourceCollection(
            tuple(sources),
            SearchMetadata(failures=failures or {}, pages_read=8 if left_out else 0, left_out=left_out),
        ),
        claims_on(*sources) if claims is None else claims,
        conflicts=conflicts,
        now=NOW,
        is_checked=is_checked,
        stopped_because=stopped_because,
    )


A, B = make_source(1), make_source(2)
OLD = datetime(2024, 3, 5, tzinfo=UTC)
HEIGHT = Conflict(
    "the height of the tower",
    (ConflictPosition("49 m", "src_1", "", "Q."), ConflictPosition("51 m", "src_2", "", "Q.")),
)

OUTWEIGHED = Conflict(
    "the height",
    tuple(
        ConflictPosition(said, f"src_{number}", "", "Q.") for said, number in (("49 m", 1), ("49 m", 2), ("51 m", 3))
    ),
)


def because(reason: str, *sources: Source) -> list[Claim]:
    return [replace(claim, reasons=(reason,)) for claim in claims_on(*sources, verdict=Verdict.UNCHECKED)]


CASES = {
    "nothing": (find(A, B), ()),
    "one-source": (find(A), ("Everything rests on one source: site1.example.",)),
    "nothing-rests-on-it": (find(A, claims=[]), ("1 source was read and does not answer it: site1.example.",)),
    "one-file": (
        find(make_source(1, kind=SourceKind.LOCAL)),
        ("Everything rests on one source: Title 1.",),
    ),
    "one-domain": (
        find(make_source(1, "www.example.org"), make_source(2, "blog.example.org")),
        ("All sources are from one domain: example.org.",),
    ),
    "copies": (
        find(make_source(1, content_hash="same"), make_source(2, content_hash="same")),
        ("The 2 sources carry the same text, so they count as one.",),
    ),
    "old": (find(dated(A, OLD), dated(B, OLD)), ("The newest source is from March 2024.",)),
    "one-new": (find(dated(A, OLD), B), ()),
    "event-two-weeks-old": (
        find(*(dated(source, NOW - timedelta(days=14)) for source in (A, B)), kind=QuestionType.CURRENT_EVENT),
        ("The newest source is from 6 November 2026.",),
    ),
    "event-undated": (
        find(dated(A, None), dated(B, None), kind=QuestionType.CURRENT_EVENT),
        ("No source gives a date, so how current this is cannot be told.",),
    ),
    "explanation-may-be-old": (find(dated(A, OLD), dated(B, OLD), kind=QuestionType.EXPLANATION), ()),
    "left-out": (
        find(claims=[], left_out=("a.example", "b.example", "a.example")),
        ("3 of 8 pages were left out, for sharing next to no word with the question: a.example, b.example.",),
    ),
    "left-out-last": (
        find(A, left_out=tuple(f"{name}.example" for name in "abcdefg")),
        (
            "Everything rests on one source: site1.example.",
            "7 of 8 pages were left out, for sharing next to no word with the question: a.example, b.example, "
            "c.example, d.example, e.example, 2 more.",
        ),
    ),
    "providers": (
        find(A, B, failures={"exa": "timed out", "arxiv": "HTTP 503."}),
        ("arXiv gave nothing: HTTP 503.", "The web gave nothing: timed out."),
    ),
    "providers-alike": (
        find(A, B, failures={"exa": "timed out", "arxiv": "timed out", "pubmed": "timed out"}),
        ("arXiv, the web and PubMed gave nothing: timed out.",),
    ),
    "extracts": (
        find(A, B, replace(make_source(3), extract_of_page="disallowed by robots.txt")),
        ("1 of 3 pages could be read only as the extract that a search gave (disallowed by robots.txt).",),
    ),
    "no-primary": (
        find(make_source(1, kind=SourceKind.UNKNOWN), make_source(2, kind=SourceKind.ESTABLISHED_PRESS)),
        ("No primary source (official, standards or peer-reviewed) was found.",),
    ),
    "forums": (
        find(make_source(1, kind=SourceKind.FORUM), make_source(2, kind=SourceKind.FORUM)),
        ("All sources are forums or blogs, where anyone can write.",),
    ),
    "preprints": (
        find(make_source(1, kind=SourceKind.PREPRINT), make_source(2, kind=SourceKind.PREPRINT)),
        ("All sources are preprints, which no peer has reviewed.",),
    ),
    "local-files": (find(make_source(1, kind=SourceKind.LOCAL), make_source(2, kind=SourceKind.LOCAL)), ()),
    "retracted-title": (
        find(make_source(1, title="RETRACTED: Ileal lymphoid hyperplasia"), B),
        ("Source 1 says that it was retracted or withdrawn: RETRACTED: Ileal lymphoid hyperplasia.",),
    ),
    "retracted-text": (
        find(make_source(1, content="This article has been retracted at the request of its authors. Text."), B),
        ("Source 1 says that it was retracted or withdrawn: Title 1.",),
    ),
    "about-retraction": (find(make_source(1, title="Retraction of claws in cats"), B), ()),
    "conflict": (
        find(A, B, conflicts=(HEIGHT,)),
        ("The sources disagree on “the height of the tower”: 49 m [1] against 51 m [2].",),
    ),
    "unchecked": (
        find(A, B, is_checked=False),
        ("The citations could not be checked against the sources.",),
    ),
    "not-confirmed": (
        find(A, B, claims=[*claims_on(A), *claims_on(B, verdict=Verdict.UNCHECKED)]),
        ("1 of 2 sentences could not be confirmed.",),
    ),
    "not-confirmed-because": (
        find(A, B, claims=[*claims_on(A), *because("no judge is set up", B, B)]),
        ("2 of 3 sentences could not be confirmed: no judge is set up.",),
    ),
    "one-owner": (
        find(make_source(1, "www.bbc.com"), make_source(2, "bbc.co.uk")),
        ("All sources are from one owner: bbc.co.uk and bbc.com.",),
    ),
    "weak-lone-voice": (
        find(A, B, make_source(3, kind=SourceKind.FORUM), claims=claims_on(A, B), conflicts=(OUTWEIGHED,)),
        ("One weaker source says otherwise on “the height”: 49 m [1][2] against 51 m [3].",),
    ),
    "partial": (
        find(A, B, claims=[*claims_on(A), *claims_on(B, verdict=Verdict.PARTIAL)]),
        ("1 of 2 sentences is supported only in part.",),
    ),
    "stopped": (
        find(A, B, stopped_because="the deadline of 60 s"),
        ("The research ended early: the deadline of 60 s.",),
    ),
}


@pytest.mark.parametrize(("found", "expected"), CASES.values(), ids=CASES.keys())
def test_each_limitation_names_its_fact(found: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """S003-16: conflicts, missing perspectives, recency; nothing vague, and nothing where nothing is wrong."""
    assert found == expected


def test_several_places_that_gave_nothing_are_said_as_one_is() -> None:
    with speaking("de"):
        one = find(A, B, failures={"arxiv": "could not be reached"})
        two = find(A, B, failures={"arxiv": "could not be reached", "pubmed": "could not be reached"})

    assert one == ("arXiv: kein Ergebnis (nicht erreichbar).",)
    assert two == ("arXiv und PubMed: kein Ergebnis (nicht erreichbar).",)


def test_only_the_sources_that_claims_rest_on_are_judged() -> None:
    unused = dated(make_source(3, kind=SourceKind.FORUM, extract_of_page="too large"), None)

    assert find(A, B, unused, claims=claims_on(A, B)) == ()


def test_what_could_be_wrong_comes_first_and_there_are_few() -> None:
    sources = [
        dated(
            make_source(n, "example.org", SourceKind.FORUM, title=f"RETRACTED: {n}", extract_of_page="too large"), OLD
        )
        for n in (1, 2)
    ]

    found = find(*sources, conflicts=(HEIGHT,), failures={"exa": "timed out", "tavily": "refused"}, stopped_because="x")

    assert len(found) == MAX_LIMITATIONS
    assert found[0].startswith("The research ended early")
    assert found[1].startswith("Source 1 says that it was retracted")
    assert found[3].startswith("The sources disagree")
    assert found[4] == "All sources are from one domain: example.org."


@given(
    st.lists(st.sampled_from(SourceKind), max_size=4),
    st.dictionaries(st.sampled_from(["exa", "tavily", "wikipedia"]), st.text(max_size=20)),
    st.sampled_from(QuestionType),
)
def test_limitations_are_sentences_each_once(
    kinds: list[SourceKind], failures: dict[str, str], kind: QuestionType
) -> None:
    """The same evidence always gives the same sentences in the same order."""
    sources = [make_source(number, kind=source_kind) for number, source_kind in enumerate(kinds, 1)]

    found = find(*sources, kind=kind, failures=failures)

    assert found == find(*sources, kind=kind, failures=dict(reversed(failures.items())))
    assert len(set(found)) == len(found) <= MAX_LIMITATIONS
    assert all(sentence.endswith(".") and not sentence.endswith("..") for sentence in found)


def test_beside_the_conflicts_no_limitation_says_them_again() -> None:
    """However many they are, and whoever is outweighed."""
    said = (*find(A, B, make_source(3, kind=SourceKind.FORUM), conflicts=(HEIGHT, OUTWEIGHED, HEIGHT)), "It is old.")
    answer = ResearchAnswer("It is 49 m [1].", "", Confidence.LOW, limitations=said, conflicts=(HEIGHT,))

    assert len([one for one in said if "49 m" in one or "1 more point" in one]) == 3
    assert limitations_beside(answer) == ("It is old.",)
    assert limitations_beside(replace(answer, conflicts=())) == said
    assert short_conflicts(answer) == "the height of the tower: 49 m [1] against 51 m [2]"
