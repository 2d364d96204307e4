"""Claims against whole sources: the cited one, none, and another."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from core.answer import Verdict
from core.evidence.passages import EvidenceIndex
from core.source import Source, SourceMetadata
from core.verification.sources import NOT_READ, check_against_source, check_source_exists, examine, repoint


def make_source(number: int, content: str, title: str = "", published_at: datetime | None = None) -> Source:
    digest = hashlib.sha256(content.encode()).hexdigest()
    metadata = SourceMetadata("example.org", len(content.split()), "files", published_at=published_at)
    read_at = datetime(2026, 1, 1, tzinfo=UTC)
    return Source(f"src_{number}", f"https://example.org/{number}", title, content, digest, read_at, metadata)


BRIDGE = make_source(1, "The Meridian bridge was opened in June 1931. It was designed by Clara Voss.")
HARBOUR = make_source(2, "The harbour of Lund was dredged in 1950. Ships of 40 metres can enter it since then.")
EMPTY = make_source(3, "  \n ")
INDEXES = {source.id: EvidenceIndex(source) for source in (BRIDGE, HARBOUR, EMPTY)}


def test_a_source_that_was_not_read_cannot_be_cited() -> None:
    """Invented, unread and empty sources are refused by id alone (S003-14)."""
    assert check_source_exists("src_9", INDEXES) == NOT_READ
    assert check_source_exists("src_3", INDEXES) == NOT_READ
    assert check_source_exists("src_1", INDEXES) == ""


def test_evidence_is_the_sources_own_words_at_their_place() -> None:
    """The span that carries the claim is quoted exactly, with its verdict."""
    evidence = check_against_source("The harbour of Lund was dredged in 1950.", INDEXES["src_2"])

    assert evidence.verdict is Verdict.SUPPORTED
    assert evidence.quote == HARBOUR.content[evidence.start : evidence.end]
    assert evidence.quote == "The harbour of Lund was dredged in 1950."


def test_a_source_with_nothing_of_the_claim_gives_no_quote() -> None:
    """An unrelated source is unsupported, and says so."""
    evidence = check_against_source("Quantum annealing minimises energy.", INDEXES["src_1"])

    assert (evidence.verdict, evidence.quote) == (Verdict.UNSUPPORTED, "")
    assert evidence.reasons == ("the source says nothing of it",)


def test_an_undecided_claim_is_left_unchecked() -> None:
    """What the rules cannot tell waits for the model."""
    evidence = check_against_source("Clara Voss, of Lund, designed the bridge.", INDEXES["src_1"])

    assert evidence.verdict is Verdict.UNCHECKED


def test_a_claim_moves_to_the_source_that_says_it() -> None:
    """Cited to the wrong source but said by another that was read: re-pointed."""
    evidence = repoint("The harbour of Lund was dredged in 1950.", INDEXES, ["src_1"])

    assert evidence is not None
    assert (evidence.source_id, evidence.verdict) == ("src_2", Verdict.MOVED)


def test_a_claim_never_moves_to_a_source_it_already_cites_or_to_none() -> None:
    """Re-pointing needs another source that supports the whole claim."""
    assert repoint("The harbour of Lund was dredged in 1950.", INDEXES, ["src_2"]) is None
    assert repoint("The harbour of Lund was dredged in 1951.", INDEXES, []) is None


def test_the_date_of_the_source_is_part_of_what_it_says() -> None:
    """A year that only the source's date gives is not missing; whether it is meant a model may say."""
    text = "The council of Lund has approved the new tram line to the harbour."
    claim = "In 2024 the council of Lund approved the new tram line to the harbour."
    dated = EvidenceIndex(make_source(1, text, published_at=datetime(2024, 3, 5, tzinfo=UTC)))
    undated = EvidenceIndex(make_source(1, text))

    checks = [examine(claim, index)[1] for index in (dated, undated)]

    assert [(check.verdict, check.is_doubted) for check in checks] == [(None, False), (None, True)]


def test_a_quotation_is_looked_for_in_the_whole_source() -> None:
    """What a claim quotes may stand far from the passage that carries the rest."""
    filler = " ".join(f"Barge {number} brought slate to the quay." for number in range(400))
    index = EvidenceIndex(
        make_source(1, f"The harbour of Lund was dredged in 1950. {filler} It is called the deep gate.")
    )

    kept = check_against_source('The harbour of Lund, "the deep gate", was dredged in 1950.', index)
    cut = check_against_source('The harbour of Lund, "the iron gate", was dredged in 1950.', index)

    assert kept.verdict is not Verdict.UNSUPPORTED
    assert cut.verdict is Verdict.UNSUPPORTED
