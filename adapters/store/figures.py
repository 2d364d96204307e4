"""The few numbers of a result that stand in columns of their own, so that usage is counted without reading answers."""

from __future__ import annotations

from core.answer import JobResult, SynthesisMetadata


def figures_of(result: JobResult | None) -> dict[str, str | int | float | None]:
    """By column of `jobs`. What was given from the cache has cost what it costs to look there."""
    answer = result.answer if result else None
    return {
        "seconds": result.duration_s if result else None,
        "confidence": answer.confidence.value if answer else None,
        "cost_usd": _cost_usd(answer.metadata) if answer else None,
        "is_cached": int(result.cached_at is not None) if result else None,
    }


def _cost_usd(spent: SynthesisMetadata) -> float | None:
    """None where a model without a price was called; nothing where none was."""
    return spent.cost_usd if spent.model_calls else spent.cost_usd or 0.0
