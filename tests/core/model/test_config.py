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


def test_of_usual_patience_nothing_changes() -> None:
    assert patient(Settings(), 1.0) == Settings()
