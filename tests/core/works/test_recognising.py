"""Ids of works in addresses, tags and texts."""

from __future__ import annotations

import pytest

from core.model.works import WorkIds, doi_in, ids_in_tags, ids_in_text, ids_in_url


@pytest.mark.parametrize(
    ("url", "ids"),
    [
        ("https://doi.org/10.1000/ABC.def", WorkIds(doi="10.1000/abc.def")),
        ("http://dx.doi.org/10.1016/S0140-6736(97)11096-0", WorkIds(doi="10.1016/s0140-6736(97)11096-0")),
        ("https://onlinelibrary.wiley.com/doi/full/10.1002/abc.12345", WorkIds(doi="10.1002/abc.12345")),
        ("https://pubs.acs.org/doi/pdf/10.1021/acs.est.0c01234?ref=x", WorkIds(doi="10.1021/acs.est.0c01234")),
        (
            "https://link.springer.com/article/10.1007/s00134-020-06267-0#Sec2",
            WorkIds(doi="10.1007/s00134-020-06267-0"),
        ),
        ("https://www.frontiersin.org/articles/10.3389/fpsyg.2020.00001/full", WorkIds(doi="10.3389/fpsyg.2020.00001")),
        (
            "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0000001",
            WorkIds(doi="10.1371/journal.pone.0000001"),
        ),
        (
            "https://www.medrxiv.org/content/10.1101/2020.03.01.20000001v3.full-text",
            WorkIds(doi="10.1101/2020.03.01.20000001"),
        ),
        ("https://www.nature.com/articles/s41586-020-2649-2", WorkIds(doi="10.1038/s41586-020-2649-2")),
        ("https://arxiv.org/pdf/2401.00001v3.pdf", WorkIds(arxiv="2401.00001")),
        ("https://arxiv.org/abs/hep-th/9901001", WorkIds(arxiv="hep-th/9901001")),
        ("https://doi.org/10.48550/arXiv.2401.00001", WorkIds(arxiv="2401.00001", doi="10.48550/arxiv.2401.00001")),
        ("https://pubmed.ncbi.nlm.nih.gov/31000001/", WorkIds(pmid="31000001")),
        ("https://www.ncbi.nlm.nih.gov/pubmed/31000001", WorkIds(pmid="31000001")),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC6500001/", WorkIds(pmcid="PMC6500001")),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC6500001/pdf/", WorkIds(pmcid="PMC6500001")),
        ("https://europepmc.org/article/MED/31000001", WorkIds(pmid="31000001")),
        ("https://openalex.org/W2741809807", WorkIds(openalex="W2741809807")),
        ("https://example.org/news/10.5-things-to-know", WorkIds()),
        ("https://example.org/prices/10.2020/", WorkIds()),
        ("http://[broken", WorkIds()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_address_names_its_work(url: str, ids: WorkIds) -> None:
    """What stands around an id in an address is no part of it."""
    assert ids_in_url(url) == ids


def test_a_pages_own_tags_name_its_work() -> None:
    """Highwire's tags go before others."""
    tags = {
        "citation_doi": "doi:10.1000/A",
        "dc.identifier": "10.1000/other",
        "citation_pmid": " 123 ",
        "og:title": "x",
    }

    assert ids_in_tags(tags) == WorkIds(doi="10.1000/a", pmid="123")
    assert ids_in_tags({"citation_pmid": "unknown", "dc.identifier": "isbn 3"}) == WorkIds()


def test_the_head_of_a_paper_names_it_and_its_references_do_not() -> None:
    """Several DOIs at once name none."""
    own = "A title\nBea Lund\nhttps://doi.org/10.1000/own.\narXiv:2401.00001v2 [cs.CL] 1 Jan 2024\n" + "word " * 1000
    text = own + "References: 10.1000/first, 10.1000/second"
    list_of_dois = "10.1000/first and 10.1000/second"

    assert ids_in_text(text) == WorkIds(arxiv="2401.00001", doi="10.1000/own")
    assert ids_in_text(list_of_dois) == WorkIds()


def test_a_sentence_ends_after_a_doi() -> None:
    """Its full stop and brackets are not the DOI's."""
    assert doi_in("(see 10.1000/a.b-c(1)2).") == "10.1000/a.b-c(1)2"
    assert doi_in("no identifier at all") == ""
