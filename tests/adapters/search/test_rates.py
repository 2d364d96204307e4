"""Which limits hold for providers, by their addresses and by what the operator wrote."""

from __future__ import annotations

import pytest

from adapters.search.rates import shared_rates
from core.config import CallRate, SearchSettings
from core.errors import SetupError

SETTINGS = SearchSettings()


def test_published_limits_hold_at_the_services_own_hosts():
    """Without any setting every provider of the network has one."""
    rates = shared_rates({}, SETTINGS)

    assert rates == SETTINGS.rates
    assert shared_rates({"EXA_BASE_URL": "https://api.exa.ai"}, SETTINGS) == rates


def test_a_mirror_has_no_limit_that_is_known():
    """Its operator knows."""
    assert "tavily" not in shared_rates({"TAVILY_BASE_URL": "http://127.0.0.1:8000"}, SETTINGS)


def test_a_key_raises_the_limit_of_pubmed():
    """From 3 to 10 requests a second (NBK25497)."""
    assert shared_rates({"NCBI_API_KEY": "k"}, SETTINGS)["pubmed"].calls == 10


def test_the_operators_word_goes_first_everywhere():
    """Also for a mirror."""
    env = {"TAVILY_BASE_URL": "http://127.0.0.1:8000", "GORKD_SEARCH_RATES": " tavily=1000/60, exa=2/1 ,"}

    rates = shared_rates(env, SETTINGS)

    assert rates["tavily"] == CallRate(1000, 60.0, burst=200)
    assert rates["exa"] == CallRate(2, 1.0, burst=1)


@pytest.mark.parametrize(
    "entry", ["tavily", "tavily=", "tavily=0/60", "tavily=5/0", "tavily=5/nan", "tavily=x/1", "google=5/1", "=5/1"]
)
def test_what_is_no_rate_is_refused_with_an_example(entry: str):
    """At start, not at the first question."""
    with pytest.raises(SetupError, match="tavily=100/60"):
        shared_rates({"GORKD_SEARCH_RATES": entry}, SETTINGS)
