"""What a source is worth, by its publisher, its catalogue and its title."""

from __future__ import annotations

import pytest

from core.evidence.authority import Quality, quality_of
from core.model.source import Source, SourceKind, SourceMetadata
from tests.fakes import NOW

PEERS, UNKNOWN = SourceKind.PEER_REVIEWED, SourceKind.UNKNOWN


@pytest.mark.parametrize(
    ("title", "kind", "is_listed", "quality"),
    [
        pytest.param("Chloride in heart failure", PEERS, False, Quality.PEER_REVIEWED, id="article"),
        pytest.param("Chloride in heart failure", PEERS, True, Quality.GUIDELINE, id="listed as a guideline"),
        pytest.param("Guideline on chloride", PEERS, False, Quality.GUIDELINE, id="a guideline by its title"),
        pytest.param("Our guideline to chloride", UNKNOWN, False, Quality.OTHER, id="anybody calls anything so"),
        pytest.param("[Retracted] Guideline on chloride", PEERS, True, Quality.RETRACTED, id="retracted all the same"),
    ],
)
def test_quality_is_by_retraction_then_guideline_then_publisher(
    title: str, kind: SourceKind, is_listed: bool, quality: Quality
) -> None:
    """S002-22: what was retracted is worth nothing, whatever it is besides."""
    metadata = SourceMetadata("pubmed.ncbi.nlm.nih.gov", 3, "pubmed", kind, is_guideline=is_listed)

    source = Source("src_1", "https://pubmed.ncbi.nlm.nih.gov/1/", title, "Text.", "", NOW, metadata)

    assert quality_of(source) is quality
