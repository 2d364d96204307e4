"""Cited sources as BibTeX and RIS: parsed back they are what the sources were, whatever their titles hold."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime

import bibtexparser
import pytest
from bibtexparser.middlewares import LatexDecodingMiddleware, SeparateCoAuthors, SplitNameParts
from hypothesis import given
from hypothesis import strategies as st

from core.model.source import Source, SourceKind
from core.presentation.bibliography import CitedWork, Name, bibtex, cited_works, latex_text, names_in, ris, work_of
from core.presentation.render import one_line
from tests.golden import samples
from tests.golden.strategies import texts

FIRST = samples.SOURCES[0]
ACTING = set(
    "input include openin openout read write immediate special catcode csname def edef let begin end usepackage verb "
    "url href cite directlua expandafter loop newcommand".split()
)


def source(number: int = 1, *, url: str = "https://a.test/x", title: str = "A title", **metadata: object) -> Source:
    made = samples.source(number, url=url, title=title, domain="a.test")
    return replace(made, metadata=replace(made.metadata, **metadata))  # type: ignore[arg-type]


def entries(*sources: Source) -> list[dict[str, str]]:
    """The entries as bibtexparser reads them."""
    library = bibtexparser.parse_string(bibtex([work_of(one) for one in sources]))
    assert library.failed_blocks == []
    return [
        {"key": entry.key, "type": entry.entry_type, **{field.key: field.value for field in entry.fields}}
        for entry in library.entries
    ]


def records(*sources: Source) -> list[list[tuple[str, str]]]:
    """The records as the format says: every line a tag and a value, `TY` first and `ER` last."""
    text = ris([work_of(one) for one in sources])
    read: list[list[tuple[str, str]]] = []
    for line in text.split("\r\n"):
        if not line:
            continue
        tag, dash, value = line[:2], line[2:6], line[6:]
        assert (tag.isalnum(), tag.upper(), dash) == (True, tag, "  - ")
        if tag == "TY":
            read.append([])
        read[-1].append((tag, value))
    assert all(record[0][0] == "TY" and record[-1] == ("ER", "") for record in read)
    return read


def test_an_article_has_what_a_reference_needs():
    """Names apart, journal out of the line of authors, date, day of reading."""
    article = source(
        url="https://pubmed.ncbi.nlm.nih.gov/31978945/",
        title="Lighthouses & lungs",
        author="Moore AB, van der Berg C et al. (The Lancet)",
        kind=SourceKind.PEER_REVIEWED,
    )

    (entry,), (record,) = entries(article), records(article)

    assert entry == {
        "key": "moore2024lighthouses", "type": "article", "author": "Moore, AB and van der Berg, C and others",
        "title": r"{Lighthouses \& lungs}", "journal": "The Lancet", "year": "2024", "month": "may", "pmid": "31978945",
        "url": "https://pubmed.ncbi.nlm.nih.gov/31978945/", "urldate": "2026-03-14",
    }  # fmt: skip
    assert record == [
        ("TY", "JOUR"), ("TI", "Lighthouses & lungs"), ("AU", "Moore, AB"), ("AU", "van der Berg, C"),
        ("N1", "There are more authors than are named here."), ("PY", "2024"), ("DA", "2024/05/01"),
        ("JO", "The Lancet"), ("UR", "https://pubmed.ncbi.nlm.nih.gov/31978945/"), ("Y2", "2026/03/14"),
        ("AN", "PMID:31978945"), ("ER", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "month", "day"), [(3, "may", "2024/05/01"), (2, "may", "2024/05//"), (1, None, None)]
)
def test_no_month_and_no_day_is_told_that_nobody_knows(parts: int, month: str | None, day: str | None):
    work = replace(work_of(source()), date_parts=parts)

    told = dict(line.split("  - ") for line in ris([work]).split("\r\n") if line)

    assert (told["PY"], told.get("DA")) == ("2024", day)
    assert (f"month = {month}" in bibtex([work])) is bool(month)
    assert ("month" in bibtex([work])) is bool(month)


def test_a_year_is_kept_as_its_first_moment():
    """As registries that know no more of a work say it."""
    assert work_of(source(published_at=datetime(2024, 1, 1, tzinfo=UTC))).date_parts == 1
    assert work_of(source()).date_parts == 3


def test_a_web_page_says_where_and_when_it_was_read():
    (entry,), (record,) = entries(source(published_at=None)), records(source(published_at=None))

    assert (entry["type"], entry["url"], entry["urldate"]) == ("misc", "https://a.test/x", "2026-03-14")
    assert entry["publisher"] == "a.test"
    assert "year" not in entry
    assert [record[0], record[-2]] == [("TY", "ELEC"), ("Y2", "2026/03/14")]


def test_a_file_keeps_its_place_to_itself():
    """The folders of whoever runs this are nobody's business."""
    local = source(url="file:///srv/secret/my%20notes.md#How", title="", kind=SourceKind.LOCAL)

    (entry,), (record,) = entries(local), records(local)

    assert entry["title"] == "{my notes.md}"
    assert "secret" not in bibtex([work_of(local)]) + ris([work_of(local)])
    assert entry["note"] == "File my notes.md"
    assert (record[0], record[-2]) == (("TY", "GEN"), ("N1", "File my notes.md"))
    assert "url" not in entry


@pytest.mark.parametrize(
    ("url", "field", "value"),
    [
        pytest.param("https://doi.org/10.1000/182", "doi", "10.1000/182", id="doi"),
        pytest.param("https://doi.org/10.1002/(SICI)1097-0258(19980815)17:15", "doi",
                     "10.1002/(SICI)1097-0258(19980815)17:15", id="doi with parentheses"),
        pytest.param("https://arxiv.org/abs/2401.01234v2", "eprint", "2401.01234v2", id="arXiv"),
        pytest.param("https://arxiv.org/pdf/math/0309136.pdf", "eprint", "math/0309136", id="old arXiv"),
        pytest.param("https://a.test/abs/2401.01234", "eprint", None, id="not arXiv"),
    ],
)  # fmt: skip
def test_identifiers_are_fields_of_their_own(url: str, field: str, value: str | None):
    assert entries(source(url=url))[0].get(field) == value


NAMES = [
    pytest.param("Ann Moore", [Name("Moore", "Ann")], False, id="given name first"),
    pytest.param("Moore, Ann", [Name("Moore", "Ann")], False, id="family name first"),
    pytest.param("Moore A", [Name("Moore", "A")], False, id="initial behind"),
    pytest.param("Ann Moore, Bo Lee", [Name("Moore", "Ann"), Name("Lee", "Bo")], False, id="two by a comma"),
    pytest.param("Ann Moore and Bo Lee", [Name("Moore", "Ann"), Name("Lee", "Bo")], False, id="two by a word"),
    pytest.param("Moore, Ann; Lee, Bo", [Name("Moore", "Ann"), Name("Lee", "Bo")], False, id="two by a semicolon"),
    pytest.param("Moore A, Lee B et al.", [Name("Moore", "A"), Name("Lee", "B")], True, id="more"),
    pytest.param("Ludwig van Beethoven", [Name("van Beethoven", "Ludwig")], False, id="particle"),
    pytest.param("World Health Organization", [Name("World Health Organization")], False, id="organisation"),
    pytest.param("Plato", [Name("Plato")], False, id="one name"),
    pytest.param("王小明", [Name("王小明")], False, id="no blank"),
    pytest.param("", [], False, id="nobody"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "names", "has_more"), NAMES)
def test_names_are_told_apart(line: str, names: list[Name], has_more: bool):
    assert names_in(line) == (tuple(names), has_more)


def test_keys_are_unique():
    """The second of the same author, year and word is told apart; no author is no empty key."""
    keys = [entry["key"] for entry in entries(source(1, author="Ann Moore"), source(2, author="Moore A"), source(3))]

    assert keys == ["moore2024title", "moore2024title-2", "a2024title"]


def test_cited_sources_only_and_in_order():
    """What was read and not cited is no reference; without any citation all that was read is."""
    cited = cited_works(samples.SOURCES[::-1], samples.ANSWER)
    read = cited_works(samples.SOURCES, samples.INSUFFICIENT_RESULT.answer)

    assert [work.number for work in cited] == [1, 2, 3]
    assert [work.number for work in read] == [1, 2, 3, 4]


nasty = st.text(st.sampled_from("ab Z09\\{}$&%#_~^<>|`'\"@=,.-()[]é漢\u202e\x1b\n\r"), max_size=30) | texts
published = st.none() | st.datetimes(timezones=st.just(UTC))
hostile_sources = st.builds(
    lambda number, url, title, author, kind, at: source(
        number, url=url, title=title, author=author, kind=kind, published_at=at
    ),
    st.integers(1, 99),
    nasty | nasty.map(lambda text: f"https://a.test/{text}"),
    nasty,
    st.none() | nasty | st.lists(nasty, max_size=4).map(", ".join) | nasty.map(lambda text: f"Moore A et al. ({text})"),
    st.sampled_from([SourceKind.UNKNOWN, SourceKind.PEER_REVIEWED]),
    published,
)


@given(st.lists(hostile_sources, max_size=4))
def test_whatever_a_source_is_called_its_entries_can_be_read(sources: list[Source]):
    """One entry and one record a source, with its title and as many names, and no field but ours."""
    works = [work_of(one) for one in sources]

    library = bibtexparser.parse_string(bibtex(works), append_middleware=[SeparateCoAuthors(), SplitNameParts()])
    read = records(*sources)

    assert library.failed_blocks == []
    assert len({entry.key for entry in library.entries}) == len(library.entries) == len(read) == len(works)
    for work, entry, record in zip(works, library.entries, read, strict=True):
        fields = {field.key: field.value for field in entry.fields}
        assert fields.keys() <= FIELDS
        assert fields["title"] == f"{{{latex_text(work.title)}}}"
        assert len(fields.get("author", [])) == len(work.authors) + (work.has_more_authors and bool(work.authors))
        assert [value for tag, value in record if tag == "TI"] == [work.title]
        assert sum(tag == "AU" for tag, _ in record) == len(work.authors)


FIELDS = set("author title journal year publisher doi eprint archiveprefix pmid url urldate note month".split())


@given(nasty.map(one_line))
def test_braces_stay_in_pairs(text: str):
    """BibTeX counts them without minding backslashes; one too many swallows the rest of the file."""
    depth = 0
    for char in latex_text(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0


@given(st.text(st.sampled_from("ab Z09\\$&%#_~'\"@=,.()[]é漢"), min_size=1, max_size=30).map(one_line))
def test_latex_shows_the_characters_themselves(text: str):
    """As bibtexparser's own decoder reads them."""
    work = replace(WORK, title=f"x{text}x")

    library = bibtexparser.parse_string(bibtex([work]), append_middleware=[LatexDecodingMiddleware()])

    assert library.entries[0]["title"] == work.title


WORK = CitedWork(1, "x", (), False, "", "", None, date(2026, 1, 1), "", "", "", "", "", False)


@given(
    st.lists(texts | st.sampled_from([r"\input{/etc/passwd}", r"\write18{id}", "^^5cinput", "%", "}{", "\\"])).map(
        "".join
    )
)
def test_no_text_becomes_a_command(text: str):
    """Nothing that a title says reads a file, runs a program or comments the rest out."""
    written = latex_text(text)

    commands = set(re.findall(r"\\([A-Za-z]+|.)", written))

    assert not commands & ACTING
    assert {command for command in commands if not command.isalpha()} <= set("$&%#_")
    assert re.search(r"\^\^|(?<!\\)[%#&$_~]", written) is None


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        pytest.param("{a}", r"\textbraceleft{}a\textbraceright{}", id="braces, which BibTeX would count"),
        pytest.param("a -- b", "a -{}- b", id="hyphens that would become a dash"),
        pytest.param("''b''", "'{}'b'{}'", id="apostrophes that would become quotation marks"),
        pytest.param("<`|^", r"\textless{}\textasciigrave{}\textbar{}\textasciicircum{}", id="signs some fonts lack"),
    ],
)
def test_what_latex_would_take_for_something_else(text: str, latex: str):
    assert latex_text(text) == latex


@given(nasty.map(lambda text: f"https://a.test/{text}"))
def test_addresses_stay_verbatim(url: str):
    """No brace, backslash, blank or sign that LaTeX cannot print; what an address may hold is not touched."""
    shown = entries(source(url=url))[0]["url"]

    assert shown.isascii()
    assert not set(shown) & set('{}\\ <>"^`|')
    assert entries(source(url="https://a.test/x_y?a=1&b=%20#c~d"))[0]["url"] == "https://a.test/x_y?a=1&b=%20#c~d"
