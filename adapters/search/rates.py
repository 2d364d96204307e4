"""Which limits hold for providers: the published ones at the services' own hosts, and what the operator set."""

from __future__ import annotations

import math
from collections.abc import Mapping

from adapters.search.settings import is_public
from core.config import CallRate, SearchSettings
from core.errors import SetupError

VARIABLE = "GORKD_SEARCH_RATES"
_HOSTS = {  # the variable that moves a provider, and where its published limit holds
    "tavily": ("TAVILY_BASE_URL", "tavily.com"),
    "exa": ("EXA_BASE_URL", "exa.ai"),
    "searxng": ("SEARXNG_BASE_URL", ""),  # wherever it runs
    "wikipedia": ("WIKIPEDIA_BASE_URL", "wikipedia.org"),
    "pubmed": ("PUBMED_BASE_URL", "nih.gov"),
    "arxiv": ("ARXIV_BASE_URL", "arxiv.org"),
}


def shared_rates(env: Mapping[str, str], search: SearchSettings) -> dict[str, CallRate]:
    """The rate of each provider that has one. Raises `SetupError` for a `GORKD_SEARCH_RATES` that cannot be read.

    A mirror has no limit unless the operator sets one.
    """
    published = dict(search.rates)
    if env.get("NCBI_API_KEY", "").strip():
        published["pubmed"] = search.pubmed_rate_with_key
    rates = {name: rate for name, rate in published.items() if _is_at_home(name, env)}
    for entry in env.get(VARIABLE, "").split(","):
        if entry.strip():
            name, rate = _read(entry.strip())
            rates[name] = rate
    return rates


def _is_at_home(name: str, env: Mapping[str, str]) -> bool:
    variable, domain = _HOSTS[name]
    url = env.get(variable, "").strip()
    return not url or not domain or is_public(url, domain)


def _read(entry: str) -> tuple[str, CallRate]:
    """`tavily=100/60`: calls in so many seconds, a fifth of them at once."""
    name, _, rate = entry.partition("=")
    calls, _, seconds = rate.partition("/")
    try:
        count, period_s = int(calls), float(seconds)
    except ValueError:
        count, period_s = 0, 0.0
    if name.strip() not in _HOSTS or count < 1 or not (math.isfinite(period_s) and period_s > 0):
        raise SetupError(f"{VARIABLE}: {entry!r} is no rate; write for example tavily=100/60 for 100 calls a minute.")
    return name.strip(), CallRate(count, period_s, burst=max(count // 5, 1))
