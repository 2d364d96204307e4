"""A reference against its record: found, other, differing, gone, or simply not there (N-18)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from core.model.works import Notice, WorkIds, WorkRecord
from core.works.checking import CheckedReference, RefStand, check_reference, with_doubles
from core.works.reading import Reference, read_references
from core.works.registry import Works
from core.works.showing import corrected_bibtex, counts_line, list_text, references_csv, references_json, said_of
from tests.core.works.test_registry import Catalogue, Clock, Shelf
from tests.evals.references import WHOLE, checked_set, is_right

RECORD = WorkRecord(
    WorkIds.of(doi="10.1000/bath"), "Sea bathing and the mood of swimmers: a randomized trial",
    ("Bea Lund", "Carl van der Ek"), "2019", "Journal of the American Chemical Society", said_by=("crossref",),
)  # fmt: skip
REFERENCE = Reference(
    1, "", "lund19", RECORD.title, ("Lund, B.", "van der Ek, C."), "2019", "J. Am. Chem. Soc.", RECORD.ids
)


async def check(reference: Reference, *records: WorkRecord, by_id: WorkRecord | None = None) -> CheckedReference:
    """Against a registry with `records`, which answers `by_id` to any id."""

    class OneRegistry(Catalogue):
        async def by_ids(self, ids: WorkIds) -> list[WorkRecord]:
            return [by_id] if by_id else []

    return await check_reference(reference, Works([OneRegistry("crossref", *records)], Shelf(), Clock()))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="the same"),
        pytest.param({"title": "SEA BATHING AND THE MOOD OF SWIMMERS"}, id="capitals, no subtitle"),
        pytest.param({"title": "Sea-bathing and the mood of swimmers: a randomised trial"}, id="spelling"),
        pytest.param({"authors": ("B. Lund",)}, id="one author"),
        pytest.param({"authors": ("Ek C", "Lund B")}, id="another order"),
        pytest.param({"venue": "JACS"}, id="an acronym"),
        pytest.param({"venue": "", "year": "", "authors": ()}, id="a title alone"),
        pytest.param({"venue": "arXiv preprint"}, id="cited as preprint"),
    ],
)
async def test_what_says_the_same_in_other_ways_matches(change: dict) -> None:
    """Neither spelling nor abbreviations cast doubt on a reference."""
    checked = await check(replace(REFERENCE, **change), by_id=RECORD)

    assert (checked.stand, checked.differences) == (RefStand.MATCHES, ())


@pytest.mark.parametrize(
    ("change", "part"),
    [
        pytest.param({"year": "2017"}, "year", id="year"),
        pytest.param({"authors": ("Moore, A.", "Silva, P.")}, "authors", id="authors"),
        pytest.param({"venue": "Physical Review Letters"}, "venue", id="venue"),
        pytest.param({"title": "Sea bathing and the health of swimmers: a randomized trial"}, "title", id="one word"),
    ],
)
async def test_what_differs_is_named(change: dict, part: str) -> None:
    checked = await check(replace(REFERENCE, **change), by_id=RECORD)

    assert checked.stand is RefStand.DIFFERS
    assert [one.part for one in checked.differences] == [part]


async def test_a_year_that_a_registry_or_another_version_has_is_right() -> None:
    """Online in 2019 and in print in 2020; a preprint of 2017 whose journal version is of 2019."""
    in_print = await check(replace(REFERENCE, year="2020"), by_id=replace(RECORD, years=("2019", "2020")))
    preprint = await check(replace(REFERENCE, year="2017"), by_id=replace(RECORD, versions=(WorkIds.of(doi="10.1/p"),)))

    assert (in_print.stand, preprint.stand) == (RefStand.MATCHES, RefStand.MATCHES)


async def test_an_id_of_another_work_is_said_with_both() -> None:
    other = replace(RECORD, ids=WorkIds.of(doi="10.1000/frogs"), title="The mating calls of urban frogs at night")

    checked = await check(replace(REFERENCE, ids=other.ids), RECORD, by_id=other)

    assert checked.stand is RefStand.OTHER_WORK
    assert "doi:10.1000/frogs is that of another work, “The mating calls of urban frogs" in said_of(checked)
    assert "doi:10.1000/bath" in said_of(checked)


async def test_the_retraction_of_the_work_that_has_its_id_is_not_said_of_the_reference() -> None:
    """A wrong id, or a title in another language: told, but of that work."""
    notice = Notice("retraction", "https://doi.org/10.1000/notice", "2021-03-04")
    other = replace(RECORD, ids=WorkIds.of(doi="10.1000/frogs"), title="The mating calls of urban frogs at night",
                    notices=(notice,))  # fmt: skip

    checked = await check(replace(REFERENCE, ids=other.ids), by_id=other)

    assert checked.stand is RefStand.OTHER_WORK
    assert not checked.is_retracted
    assert checked.needs_a_look
    assert said_of(checked).startswith("its id doi:10.1000/frogs is that of another work")
    assert said_of(checked).endswith("at night”: retracted on 2021-03-04 (https://doi.org/10.1000/notice).")
    assert "retracted" not in counts_line([checked])
    (row,) = references_json([checked])["references"]
    assert (row["sign"], row["is_retracted"], row["notice"]) == ("◐", False, "")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({}, RefStand.NOT_FOUND, id="an article"),
        pytest.param({"looks_unlisted": True, "ids": WorkIds()}, RefStand.UNLISTED, id="a book"),
    ],
)
async def test_what_is_in_no_registry_is_not_found_there_and_never_called_made_up(
    change: dict, expected: RefStand
) -> None:
    """A near title of others does not stand for it."""
    near = replace(RECORD, title="River bathing and the mood of swimmers: a randomized trial")

    checked = await check(replace(REFERENCE, **change), near)

    assert checked.stand is expected
    assert said_of(checked).startswith("not found in Crossref")
    assert not {"invented", "made up", "fake", "hallucinat"} & set(said_of(checked).split())


async def test_silence_of_all_registries_is_no_finding() -> None:
    registry = Catalogue("crossref")
    registry.is_away = True

    checked = await check_reference(REFERENCE, Works([registry], Shelf(), Clock()))

    assert checked.stand is RefStand.UNKNOWN
    assert said_of(checked).startswith("could not be looked up: Crossref (")


async def test_a_retraction_stands_first_with_its_notice_and_date() -> None:
    notice = Notice("retraction", "https://doi.org/10.1000/notice", "2021-03-04")

    checked = await check(REFERENCE, by_id=replace(RECORD, notices=(notice,)))

    assert checked.is_retracted
    assert checked.needs_a_look
    assert said_of(checked).startswith("retracted on 2021-03-04 (https://doi.org/10.1000/notice); found")
    assert "1 was retracted" in list_text([checked], {})


async def test_a_work_that_is_listed_twice_is_said_to_be() -> None:
    first = await check(REFERENCE, by_id=RECORD)

    _, second = with_doubles([first, replace(first, reference=replace(REFERENCE, number=2))])

    assert (second.same_as, second.needs_a_look) == (1, True)


async def test_the_bibtex_keeps_the_entry_and_corrects_what_differs() -> None:
    """Under its own key, with its other fields; a comment says what was changed, and adds no entry."""
    text = "@article{my_key, title = {" + RECORD.title + "}, author = {Lund, B.}, year = 2017, note = {mine}}"
    (reference,) = read_references([("a.bib", text)])
    evil = replace(RECORD, title="}@misc{x, title={y}", venue="")

    corrected = corrected_bibtex([await check(reference, RECORD)])
    hostile = corrected_bibtex([await check(replace(REFERENCE, title="", text="A text"), by_id=evil)])

    (entry,) = read_references([("a.bib", corrected)])
    assert (entry.label, entry.year, entry.ids.doi) == ("my_key", "2019", "10.1000/bath")
    assert "note = {mine}" in corrected
    assert "its year is 2019, not 2017" in corrected
    assert len(read_references([("a.bib", hostile)])) == 1


async def test_no_cell_of_the_table_is_a_formula() -> None:
    checked = await check(replace(REFERENCE, title="=cmd()", year=""))

    assert "\n1,lund19,'=cmd(),not found" in references_csv([checked]).replace("\r", "")


def test_a_list_with_all_kinds_of_trouble_is_told_rightly() -> None:
    """A third of the list that `python -m tests.evals references` measures, over real adapters on loopback."""
    counts = {kind: max(4, count // 3) for kind, count in WHOLE.items()}

    checked = asyncio.run(checked_set(counts, seed=7))

    wrong = [(one.kind, said.reference.text) for one, said in checked if not is_right(one.kind, said)]
    doubted = [text for kind, text in wrong if kind == "correct"]
    assert not [text for kind, text in wrong if kind == "retracted"]
    assert len(doubted) <= 0.02 * counts["correct"]
    assert len(wrong) <= 0.03 * len(checked)
