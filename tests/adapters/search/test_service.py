"""What services declare of themselves: their limits, by their addresses and the operator's word, and who asks."""

from __future__ import annotations

import pytest

from adapters.search import PROVIDERS, shared_rates, surroundings
from adapters.search.arxiv import SERVICE as ARXIV
from adapters.search.registries import REGISTRIES
from adapters.search.service import user_agent, with_path
from adapters.search.tavily import SERVICE as TAVILY
from core.model.config import SearchSettings
from core.model.errors import SetupError
from core.pipeline.limits import CallRate


def test_published_limits_hold_at_the_services_own_hosts():
    """Without any setting every provider of the network has one."""
    rates = shared_rates({})

    assert set(rates) == {*PROVIDERS, *REGISTRIES} - {"files"}
    assert rates["exa"] == CallRate(10, 1.0, burst=5)
    assert shared_rates({"EXA_BASE_URL": "https://api.exa.ai"}) == rates


@pytest.mark.parametrize("name", sorted(shared_rates({})))
def test_published_limits_are_rates_that_a_bucket_can_keep(name: str):
    """A burst of at least one and at most the calls of a period."""
    rate = shared_rates({})[name]

    assert 1 <= rate.burst <= rate.calls
    assert 0 <= rate.max_wait_s < SearchSettings().provider_timeout_s


def test_a_mirror_has_no_limit_that_is_known():
    """Its operator knows."""
    assert "tavily" not in shared_rates({"TAVILY_BASE_URL": "http://127.0.0.1:8000"})


def test_a_key_raises_the_limit_of_pubmed():
    """From 3 to 10 requests a second (NBK25497)."""
    assert shared_rates({"NCBI_API_KEY": "k"})["pubmed"].calls == 10


def test_the_operators_word_goes_first_everywhere():
    """Also for a mirror."""
    env = {"TAVILY_BASE_URL": "http://127.0.0.1:8000", "GORKD_SEARCH_RATES": " tavily=1000/60, exa=2/1 ,"}

    rates = shared_rates(env)

    assert rates["tavily"] == CallRate(1000, 60.0, burst=200)
    assert rates["exa"] == CallRate(2, 1.0, burst=1)


@pytest.mark.parametrize(
    ("url", "calls"), [("https://api.tavily.com", 1000), ("http://127.0.0.1:8000", None)], ids=["home", "mirror"]
)
def test_one_process_keeps_to_the_operators_word_as_well(url: str, calls: int | None):
    """A plan with a higher limit is not held to the one that is published (S003-08)."""
    around = surroundings({"GORKD_SEARCH_RATES": "tavily=1000/60"}, SearchSettings())

    rate = around.rate_at(TAVILY, url)

    assert (rate.calls if rate else None) == calls


@pytest.mark.parametrize(
    "entry", ["tavily", "tavily=", "tavily=0/60", "tavily=5/0", "tavily=5/nan", "tavily=x/1", "google=5/1", "=5/1"]
)
def test_what_is_no_rate_is_refused_with_an_example(entry: str):
    """At start, not at the first question."""
    with pytest.raises(SetupError, match="tavily=100/60"):
        shared_rates({"GORKD_SEARCH_RATES": entry})


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test", "http://a.test/w/api.php"),
        ("http://a.test/", "http://a.test/w/api.php"),
        ("http://a.test/wiki/api.php", "http://a.test/wiki/api.php"),
    ],
)
def test_a_bare_origin_gets_the_services_path(url: str, expected: str) -> None:
    """A base URL may be the origin or the whole address."""
    assert with_path(url, "/w/api.php") == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://export.arxiv.org/api/query", True),
        ("https://arxiv.org", True),
        ("https://notarxiv.org", False),
        ("http://127.0.0.1:80/arxiv.org", False),
    ],
)
def test_published_limits_hold_for_the_services_own_host(url: str, expected: bool) -> None:
    """A mirror has limits of its own, which nobody published."""
    assert ARXIV.is_at_home(url) is expected


@pytest.mark.parametrize(
    ("public_url", "contact"),
    [
        ("https://gorkd.example", "https://gorkd.example"),
        ("", "self-hosted"),
        ("https://x.test/\r\nX-Evil: 1", "self-hosted"),
        ("https://bücher.test", "self-hosted"),
    ],
    ids=["given", "not given", "header injection", "not ASCII"],
)
def test_the_user_agent_names_the_program_and_its_operator(public_url: str, contact: str) -> None:
    """The keyless services ask for a name and a way to reach the operator."""
    agent = user_agent({"GORKD_PUBLIC_URL": public_url})

    assert agent.startswith("gorkd/")
    assert contact in agent
    assert agent.isprintable()
