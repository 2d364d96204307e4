"""docs/confidence.md is what people read, and what the offline answer quotes: it must say what is computed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.evidence import confidence
from core.evidence.authority import authority
from core.model.answer import Confidence, Verdict
from core.model.source import SourceKind

PAGE = Path(__file__).resolve().parents[3] / "docs" / "confidence.md"


def test_the_page_gives_the_numbers_of_the_code() -> None:
    """docs/confidence.md is what people read; it must say what is computed."""
    page = " ".join(PAGE.read_text(encoding="utf-8").split())

    for kind, words in zip(
        SourceKind,
        ["official", "standards", "peer-rev", "preprint", "reference", "press", "local", "unknown", "forum"],
        strict=True,
    ):
        standing = confidence.BASE_WEIGHT + confidence.AUTHORITY_WEIGHT * authority(kind)
        row = next(
            row for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ") and words in row
        )
        assert [float(number) for number in re.findall(r"\d\.\d+", row)] == [
            authority(kind),
            pytest.approx(standing, abs=0.0051),
        ]
    assert f"from {confidence.HIGH_SCORE} on it is high, from {confidence.MEDIUM_SCORE} on medium" in page
    assert f"at most {confidence.AT_MOST[Confidence.MEDIUM]}" in page
    assert f"at most {confidence.AT_MOST[Confidence.LOW]}" in page
    for days, share in confidence.RECENCY_SHARE:
        assert f"{share} up to {days} days" in page
    assert f"{confidence.OLD_SHARE} beyond, and {confidence.UNDATED_SHARE} without a date" in page
    for verdict, words in [
        (Verdict.SUPPORTED, "for supported"),
        (Verdict.MOVED, "for supported"),
        (Verdict.PARTIAL, "for partly"),
        (Verdict.UNCHECKED, "for unchecked"),
    ]:
        assert f"{confidence.VERDICT_SHARE[verdict]} {words}" in page
    assert authority(SourceKind.ESTABLISHED_PRESS) == confidence.HIGH_AUTHORITY
