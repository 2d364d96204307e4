"""The year of a paper that came without metadata, from its arXiv id or its first page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.library.ingest import published_of

LATEST = 2026
years = st.integers(1900, LATEST)
PRINTED = (
    "Published: {day} {month} {year}",
    "Published online {month} {day}, {year}",
    "Received 3 January 2001; accepted 4 May 2001. Published {year}-02-03",
    "© {year} The Authors",
    "Copyright © {year} by the Association",
    "Journal of Tides, Vol. 12, No. 3, {month} {year}, pp. 100-120",
    "Journal of Tides, Volume 12 ({year})",
    "Accepted for publication {day} {month} {year}",
    "Received {day} {month} {year}",
    "{month} {year}",
    "## {day} {month} {year}",
)


@given(st.sampled_from(PRINTED), years, st.sampled_from(["March", "Sept.", "Dec", "May"]), st.integers(1, 28))
def test_printed_date_gives_its_year(line: str, year: int, month: str, day: int) -> None:
    """S001-08: wherever the line stands on the first page, and whatever years its prose speaks of."""
    said = line.format(year=year, month=month, day=day)
    page = f"# Tides\n\nAnn Moore\n\n{said}\n\nStudies published between 1970 and 1999 were read (Smith 1988).\f© 1950"

    assert published_of("", page, latest=LATEST) == str(year)


@given(years)
def test_year_of_something_else_is_none(year: int) -> None:
    page = (
        f"# Tides since {year}\n\nIn {year}, studies published in {year} were read (Smith, {year}). From May {year} on."
    )

    assert published_of("", f"{page}\f© {year}", latest=LATEST) == ""


@given(st.integers(1991, LATEST), st.integers(1, 12), st.sampled_from([".01234", ".01234v2"]))
def test_arxiv_id_gives_year_and_month(year: int, month: int, end: str) -> None:
    """Before anything that the page says, which may be of another version."""
    published = published_of(f"{year % 100:02}{month:02}{end}", "© 1999 Somebody", latest=LATEST)

    assert published == f"{year}-{month:02}"


@pytest.mark.parametrize(
    ("paper_id", "published"),
    [("math/0610100", "2006-10"), ("hep-th/9901001v3", "1999-01"), ("2913.00001", ""), ("smith2024quantum", "")],
)
def test_ids_of_all_sorts(paper_id: str, published: str) -> None:
    assert published_of(paper_id, "", latest=LATEST) == published


@given(st.text(max_size=300), st.text("acceptdpublishrv .,:0129©", max_size=300))
def test_any_text_gives_a_year_or_nothing(text: str, dated: str) -> None:
    published = published_of(text, f"{dated}{text}", latest=LATEST)

    assert published == "" or 1900 <= int(published[:4]) <= LATEST
