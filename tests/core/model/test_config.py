"""Tunables that one setting moves together."""

from __future__ import annotations

from core.model.config import Settings, patient


def test_patience_stretches_every_wait_for_a_model_and_no_search() -> None:
    """A slow model slows neither providers nor what people say meanwhile."""
    usual = Settings()

    stretched = patient(usual, 3.0)

    assert stretched.patience == 3.0
    assert stretched.synthesis.model_timeout_s == 3 * usual.synthesis.model_timeout_s
    assert stretched.synthesis.check_timeout_s == 3 * usual.synthesis.check_timeout_s
    assert stretched.section.deadline_s == 3 * usual.section.deadline_s
    assert stretched.findings.model_timeout_s == 3 * usual.findings.model_timeout_s
    assert stretched.deep.max_runtime_s == 3 * usual.deep.max_runtime_s
    assert stretched.deep.listen_s == usual.deep.listen_s
    assert (stretched.search, stretched.cache, stretched.reuse) == (usual.search, usual.cache, usual.reuse)
    assert stretched.synthesis.max_prompt_tokens == usual.synthesis.max_prompt_tokens


def test_the_numbers_are_those_of_the_design() -> None:
    """S002-07, S002-09, S002-14, S003-04, S003-08, S003-11, D12, S001-10, S001-16, S001-19: items, results a query,
    seconds, cosines, sources, chunks.
    """
    usual = Settings()
    search, deep, cache, section = usual.search, usual.deep, usual.cache, usual.section

    assert (deep.min_items, deep.max_items, deep.max_runtime_s, search.results_per_query) == (3, 7, 600, 10)
    assert (search.provider_timeout_s, search.max_sources) == (10, 10)
    assert (cache.min_similarity, cache.instant_similarity, cache.is_instant) == (0.80, 0.92, False)
    assert (section.max_search_iterations, section.top_k_initial) == (5, 20)
    assert (section.min_final, section.top_k_final) == (5, 8)


def test_of_usual_patience_nothing_changes() -> None:
    assert patient(Settings(), 1.0) == Settings()
