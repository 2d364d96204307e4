"""References out of files: their parts, their ids, and the sentences that cite them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.errors import InvalidQuery
from core.model.works import WorkIds
from core.presentation import wording
from core.text.saying import LANGUAGES, say, speaking
from core.works.reading import Reference, read_references, without_markers
from tests.evals.references import STYLES, read_rightly, reference_set

TITLE = "Sea bathing and the mood of swimmers in winter"


def only(name: str, text: str) -> Reference:
    (found,) = read_references([(name, text)])
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "a.bib",
            "@string{x = {y}}\n@article{lund19,\n title = {{Sea bathing and the mood of {S}wimmers in winter}},\n"
            ' author = {Lund, Bea and Ek, C.},\n journal = "J. Bathing", year = 2019, doi = {10.1000/Bath}\n}',
            id="BibTeX",
        ),
        pytest.param(
            "a.ris",
            f"TY  - JOUR\nTI  - {TITLE}\nAU  - Lund, Bea\nAU  - Ek, C.\nJO  - J. Bathing\nPY  - 2019/03/05\n"
            "DO  - 10.1000/bath\nER  - ",
            id="RIS",
        ),
        pytest.param(
            "a.md",
            f"# References\n\n[1] B. Lund and C. Ek, “{TITLE},” *J. Bathing*, vol. 3, pp. 1990–1999, 2019,"
            " doi: 10.1000/bath.",
            id="IEEE",
        ),
        pytest.param(
            "a.md",
            f"## 7. Bibliography\n\nLund, B., & Ek, C. (2019, March). {TITLE}. *J. Bathing*, 3(2), 1–9. "
            "https://doi.org/10.1000/bath",
            id="APA",
        ),
        pytest.param(
            "a.txt", f"References\n1. Lund B, Ek C. {TITLE}. J Bathing. 2019;3(2):1-9. doi:10.1000/bath", id="Vancouver"
        ),
        pytest.param(
            "a.pdf", f"Literatur\n\nLund, Bea, und C. Ek: „{TITLE}“. J Bathing 3, 2019. DOI 10.1000/bath", id="German"
        ),
    ],
)
def test_the_parts_of_a_reference_are_told_in_the_usual_styles(name: str, text: str) -> None:
    reference = only(name, text)

    assert reference.title.casefold() == TITLE.casefold()
    assert reference.year == "2019"
    assert reference.ids == WorkIds.of(doi="10.1000/bath")
    assert {author.partition(",")[0].split()[-1] for author in reference.authors} >= {"Lund", "Ek"}


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param("Vaswani et al. Attention. arXiv preprint arXiv:1706.03762v5, 2017",
                     {"arxiv": "1706.03762"}, id="arXiv"),
        pytest.param("Moore A. A title of words. Lancet. 2020. PMID: 31000001; PMC6500001.",
                     {"pmid": "31000001", "pmcid": "PMC6500001"}, id="PubMed"),
        pytest.param("Moore A. A title. 2020. https://pubmed.ncbi.nlm.nih.gov/31000002/",
                     {"pmid": "31000002"}, id="address"),
        pytest.param("Moore A. A title. 2020. https://doi.org/10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
                     {"doi": "10.1002/(sici)1097-4571(199806)49:8"}, id="an old DOI, as far as it is plain"),
    ],
)  # fmt: skip
def test_ids_are_found_in_prose(entry: str, expected: dict[str, str]) -> None:
    reference = only("a.md", f"## References\n\n1. {entry}\n")

    assert reference.ids == WorkIds(**expected)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("References\n[1] A. One, 2001.\n[2] B. Two,\n 2002.\n[10] C. Three, 2003.", 3, id="numbers"),
        pytest.param("## References\n- One, A. (2001). X.\n- Two, B. (2002). Y.\n\n## Appendix\n- no reference",
                     2, id="bullets"),
        pytest.param("REFERENCES\nOne, A. (2001). A title that goes\non. Journal.\nTwo, B. (2002). Y.\n"
                     "Three, C. (2003). Z.",
                     3, id="lines of a PDF"),
        pytest.param("Text.[^a]\n\n[^a]: One, A. (2001). X.\n[^b]: Two, B. (2002). Y.", 2, id="footnotes"),
        pytest.param("References are good.\n\n## Works cited\n\nOne, A. (2001). X.\n\nTwo, B. (2002). Y.", 2,
                     id="paragraphs"),
        pytest.param("One, A. (2001). X. 10.1000/a\n\nTwo, B. (2002). Y. 10.1000/b", 2, id="a list without a heading"),
    ],
)  # fmt: skip
def test_entries_are_parted(text: str, count: int) -> None:
    assert len(read_references([("a.md", text)])) == count


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_list_is_found_under_the_headings_of_our_own_exports(language: str) -> None:
    """What stands before it are sentences that cite, and no entries."""
    with speaking(language):
        headings = [say(wording.SOURCES), say("References")]

    for heading in headings:
        text = f"Tides follow the Moon [1].\n\n## {heading}\n\n1. One, A. (2001). X.\n2. Two, B. (2002). Y.\n"
        assert [one.label for one in read_references([("a.md", text)])] == ["1", "2"], heading


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("style", STYLES)
def test_the_list_of_a_pdf_is_read(style: str, columns: int) -> None:
    """In one column and in two, over lines and pages, with the names of the first three authors (N-18)."""
    _, listed = reference_set({"correct": 50, "unlisted": 10}, 7)

    right, wrong = read_rightly(listed, style, columns=columns)

    assert right >= 0.97 * len(listed), wrong


@pytest.mark.parametrize(
    ("printed", "doi"),
    [
        ("https: //doi.org/10.1000/w.7", "10.1000/w.7"),
        ("https://doi. org/10.1000/w.7", "10.1000/w.7"),
        ("https://doi.org/10. 1000/w.7", "10.1000/w.7"),
        ("https://doi.org/10.1000/\n\nw.7", "10.1000/w.7"),
        ("doi: 10.1000/w. 7.", "10.1000/w.7"),
        ("doi: 10.1016/S0140-\n6736(97)11096-0", "10.1016/s0140-6736(97)11096-0"),
        ("doi: 10.1000/w.7. 2nd ed.", "10.1000/w.7"),
        ("doi: 10.1000/w.7. 2019.", "10.1000/w.7"),
        ("```\n  https://doi.org/10.\n1000/w.7.\n```", "10.1000/w.7"),
        ("| Press. | doi: | 10.1000/w.7 |\n|---|---|---|", "10.1000/w.7"),
    ],
)
def test_a_doi_that_print_has_parted_is_whole(printed: str, doi: str) -> None:
    """At a line's end, in a justified column, in what was taken for a table or for code."""
    text = f"Words.\f## References\n\n[1] A. One. Something old, 1998. {printed}\n\n[2] B. Two. Something new, 1999.\n"

    first, second = read_references([("a.pdf", text)])

    assert first.ids.doi == doi
    assert second.ids.is_none


def test_initials_before_names_end_no_list_of_authors() -> None:
    """As LaTeX prints them; and letters with a year are labels as well."""
    entry = "C. G. Chen, U. Haddad, and E. G. Young. Control of recall in lakes. Annals of Lakes, 9(2):106-118, 2004."
    text = (
        f"It was found [CHY04].\f## References\n\n[CHY04] {entry}\n\n[Sil86] F. A. Silva. Costs of time. Press, 1986."
    )

    first, second = read_references([("a.pdf", text)])

    assert (first.authors, first.title) == (("Chen", "Haddad", "Young"), "Control of recall in lakes")
    assert first.uses == ("It was found [CHY04].",)
    assert second.title == "Costs of time"


def test_sentences_that_cite_a_reference_come_with_it() -> None:
    """By number and range, by key from a text beside its list, and by name and year."""
    text = (
        "Mood rises [1]. It falls in summer [1–3].\n\n## References\n\n[1] A. One, “A title of one thing,” 2001.\n"
        "[2] B. Two, “A title of two things,” 2002.\n[3] C. Three, “A title of three things,” 2003.\n"
    )
    by_name = (
        "Moore et al. (2004) bathed. Others did not (Ek & Moore, 2005).\n\n"
        "# References\n\nMoore, A. (2004). On bathing.\n"
    )
    keyed = [
        ("a.tex", "Swimmers are glad \\cite{k1,k2}."),
        ("a.bib", "@misc{k1, title={On gladness}}@misc{k2, title={B}}"),
    ]

    numbered = read_references([("a.md", text)])
    named = only("b.md", by_name)
    both = read_references(keyed)

    assert [one.uses for one in numbered] == [
        ("Mood rises [1].", "It falls in summer [1–3]."), ("It falls in summer [1–3].",), ("It falls in summer [1–3].",)
    ]  # fmt: skip
    assert named.uses == ("Moore et al. (2004) bathed.",)
    assert [one.uses for one in both] == [("Swimmers are glad \\cite{k1,k2}.",)] * 2


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Mood rises [1, 3–5].", "Mood rises."),
        ("Mood rises (Moore, 2004).", "Mood rises."),
        ("Mood rises [see @moore2004; @ek].", "Mood rises."),
        ("Mood rises \\citep[p. 3]{moore}.", "Mood rises."),
    ],
)
def test_a_claim_is_without_the_signs_of_whom_it_cites(sentence: str, claim: str) -> None:
    assert without_markers(sentence) == claim


@pytest.mark.parametrize("text", ["", "Just a text about the sea.", "## References\n\n"])
def test_a_file_without_references_is_said_to_have_none(text: str) -> None:
    with pytest.raises(InvalidQuery, match=r"no list of references in a\.md"):
        read_references([("a.md", text)])


@given(st.text(alphabet="Aa1 .,()[]\n-“”@{}=:/#", max_size=300))
def test_whatever_stands_in_a_list_every_entry_has_a_number_and_words(text: str) -> None:
    """No text breaks the reading; each entry is counted once."""
    try:
        found = read_references([("a.md", f"## References\n\n{text}")])
    except InvalidQuery:
        return

    assert [one.number for one in found] == [*range(1, len(found) + 1)]
    assert all(any(char.isalnum() for char in one.text) for one in found)
