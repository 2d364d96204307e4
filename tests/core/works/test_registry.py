"""All registries as one: joined, kept, and never waited for longer than was said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from core.model.errors import ProviderUnavailable
from core.model.works import Notice, WorkIds, WorkRecord
from core.works.registry import Works
from tests.fakes import Clock

DOI = WorkIds.of(doi="10.1000/x")
TITLE = "Sea bathing and the mood of swimmers"
NOTICE = Notice("retraction", "https://doi.org/10.1000/x.notice", "2021-03-04", said_by="Crossref")


class Shelf:
    """A `ReuseStore` in memory that forgets nothing."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    async def get(self, key: str) -> str | None:
        return self.texts.get(key)

    async def put(self, key: str, text: str, *, ttl: timedelta) -> None:
        self.texts[key] = text

    async def clear(self) -> int:
        count = len(self.texts)
        self.texts.clear()
        return count


class Catalogue:
    """A `Registry` that answers when it is let, or fails."""

    def __init__(self, name: str, *records: WorkRecord, is_slow: bool = False) -> None:
        self.name = name
        self.records = records
        self.asked = 0
        self.is_away = False
        self.may_answer = asyncio.Event()
        if not is_slow:
            self.may_answer.set()

    async def by_ids(self, ids: WorkIds) -> Sequence[WorkRecord] | None:
        return await self._answer()

    async def by_title(self, title: str, *, author: str = "", year: str = "") -> Sequence[WorkRecord] | None:
        return await self._answer()

    async def _answer(self) -> Sequence[WorkRecord]:
        self.asked += 1
        await self.may_answer.wait()
        if self.is_away:
            raise ProviderUnavailable(self.name, "away")
        return self.records


async def test_a_registry_that_breaks_costs_its_own_words_alone() -> None:
    """Whatever it raises; the others are heard, and it is named."""

    class Breaking(Catalogue):
        async def _answer(self) -> Sequence[WorkRecord]:
            raise RecursionError("nested too deeply")

    class Nested:
        async def full_text(self, pmcid: str) -> str:
            raise RecursionError("nested too deeply")

    two = Catalogue("two", WorkRecord(DOI, TITLE, said_by=("two",)))
    works = Works([Breaking("one"), two], Shelf(), Clock(), texts=Nested().full_text)

    assert await works.full_text("PMC1") == ""
    looked = [await works.by_ids(DOI), await works.by_title(TITLE)]

    assert [one.answered for one in looked] == [("two",)] * 2
    assert [[name for name, _ in one.failed] for one in looked] == [["one"]] * 2


async def test_what_two_say_of_one_work_is_one_record() -> None:
    """The first is believed for what it is called; a retraction whoever tells it (D18)."""
    one = Catalogue("one", WorkRecord(DOI, TITLE, ("Bea Lund",), "2019", said_by=("one",)))
    pmid = WorkIds.of(doi="10.1000/x", pmid="123")
    two = Catalogue("two", WorkRecord(pmid, "Another title", year="2020", notices=(NOTICE,), said_by=("two",)))
    works = Works([one, two], Shelf(), Clock())

    looked = await works.by_ids(DOI)

    assert (looked.record.title, looked.record.year, looked.record.ids.pmid) == (TITLE, "2019", "123")
    assert looked.record.retraction == NOTICE
    assert looked.record.said_by == looked.answered == ("one", "two")
    assert looked.is_whole


async def test_a_silent_registry_costs_its_own_words_and_answers_the_next_one() -> None:
    """Its call goes on behind, and nobody asks it twice."""
    quick, slow = Catalogue("quick", WorkRecord(DOI, TITLE)), Catalogue("slow", WorkRecord(DOI, "", notices=(NOTICE,)))
    slow.may_answer.clear()
    works = Works([quick, slow], Shelf(), Clock())

    first = await works.by_ids(DOI, within_s=0.5)
    slow.may_answer.set()
    await works.settled()
    then = await works.by_ids(DOI)

    assert not first.record.is_retracted
    assert first.failed == (("slow", "no answer in time"),)
    assert then.record.is_retracted
    assert then.is_whole
    assert slow.asked == 1


async def test_whether_a_work_stands_is_asked_again_after_a_day() -> None:
    """What is kept stands in where the registry is away then, and says so."""
    clock, catalogue = Clock(), Catalogue("one", WorkRecord(DOI, TITLE))
    works = Works([catalogue], Shelf(), clock)
    await works.by_ids(DOI)

    clock.now += timedelta(hours=23)
    within_the_day = await works.by_ids(DOI)
    clock.now += timedelta(hours=2)
    catalogue.is_away = True
    while_away = await works.by_ids(DOI)
    catalogue.is_away, catalogue.records = False, (WorkRecord(DOI, TITLE, notices=(NOTICE,)),)
    afterwards = await works.by_ids(DOI)

    assert catalogue.asked == 3
    assert within_the_day.is_whole
    assert while_away.record is not None
    assert not while_away.is_whole
    assert afterwards.record.is_retracted


async def test_titles_that_are_one_work_are_joined_and_others_are_not() -> None:
    """By an id, or by a long title and an author."""
    here = WorkRecord(DOI, TITLE, ("Bea Lund",), "2019")
    there = WorkRecord(WorkIds.of(pmid="123"), TITLE, ("B Lund",), "2019")
    other = WorkRecord(WorkIds.of(doi="10.1000/y"), "Bread", ("Carl Ek",), "2001")
    works = Works([Catalogue("one", here, other), Catalogue("two", there)], Shelf(), Clock())

    looked = await works.by_title(TITLE)

    assert [record.ids for record in looked.records] == [WorkIds.of(doi="10.1000/x", pmid="123"), other.ids]


async def test_many_who_ask_at_once_are_one_question() -> None:
    """A deep question meets one paper in many places."""
    catalogue = Catalogue("one", WorkRecord(DOI, TITLE), is_slow=True)
    works = Works([catalogue], Shelf(), Clock())

    asking = [asyncio.create_task(works.by_ids(DOI)) for _ in range(5)]
    await asyncio.sleep(0)
    catalogue.may_answer.set()
    answers = await asyncio.gather(*asking)

    assert catalogue.asked == 1
    assert {answer.record.title for answer in answers if answer.record} == {TITLE}


async def test_without_an_id_nobody_is_asked() -> None:
    """Most pages of the web name no work."""
    catalogue = Catalogue("one", WorkRecord(DOI, TITLE))

    looked = await Works([catalogue], Shelf(), Clock()).by_ids(WorkIds())

    assert looked.record is None
    assert catalogue.asked == 0


@pytest.mark.parametrize(
    "ids",
    [{"doi": "10.1234/../../admin"}, {"doi": "10.1234/a\r\nX: y"}, {"doi": "10.1234/.."}, {"pmcid": "PMC1/../../x"},
     {"pmid": "1?x=2"}, {"openalex": "W1/../x"}],
    ids=str,
)  # fmt: skip
def test_what_leads_out_of_its_path_is_no_id(ids: dict[str, str]):
    """A page says which work it is, and registries are asked for that by its address."""
    assert WorkIds.of(**ids).is_none


def test_odd_dois_of_old_are_ids():
    assert WorkIds.of(doi="10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O").name.startswith("doi:10.1002")
