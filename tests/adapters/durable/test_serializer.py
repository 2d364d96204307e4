"""What the journal holds: readable JSON, from which errors come back as themselves."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.durable.serializer import JsonSerializer, StepFailed
from core.model import errors
from core.model.errors import GorkdError

OURS = [
    errors.GorkdError("broke", user_message="It broke."),
    errors.InvalidQuery("too long", rule="length"),
    errors.SetupError("no folder"),
    errors.ProviderTimeout("tavily", "no answer in 10 s"),
    errors.ProviderUnavailable("tavily", "refused"),
    errors.ProviderRateLimited("exa", "429", retry_after_s=2.5),
    errors.ProviderRejected("exa", "401"),
    errors.ProviderGarbled("exa", "no JSON"),
    errors.ProviderError("exa", "odd", operator_message="Odd: check EXA_BASE_URL."),
    errors.SearchFailed({"exa": "timeout", "tavily": "429"}),
    errors.NoProviderAllowed("nothing is left to search with", user_message="The settings here allow no provider."),
    errors.FetchError("http://a.example", "cut"),
    errors.AddressBlocked("http://a.example", "private"),
    errors.SiteExcluded("http://a.example", "excluded"),
    errors.RobotsDisallowed("http://a.example", "robots"),
    errors.PageTooLarge("http://a.example", "60 MB"),
    errors.PageTimeout("http://a.example", "10 s"),
    errors.PageStatus("http://a.example", 404),
    errors.PageUnreadable("http://a.example", "no text"),
    errors.ModelError("odd"),
    errors.ModelTimeout("45 s"),
    errors.ModelUnavailable("502"),
    errors.ModelRateLimited("429", retry_after_s=1.0),
    errors.ModelRejected("401", user_message="The key was refused."),
    errors.PromptTooLong("400", window=4096, sent=9000, operator_message="Set GORKD_CONTEXT_TOKENS."),
    errors.ToolsUnsupported("no tools"),
    errors.ModelGarbled("no JSON"),
    errors.ControlFailed("confirmed a false sentence"),
    errors.WebSearchUnavailable("404"),
    errors.JobNotFound("job_1"),
    errors.TookTooLong("quick"),
    errors.QueueFull(200),
    errors.StoreError("locked"),
    errors.Unstorable("half a surrogate pair"),
    errors.RowUnreadable("stored Job v9, expected Job v1"),
    errors.StaleAttempt("attempt 1"),
]


@pytest.mark.parametrize("error", OURS, ids=lambda error: type(error).__name__)
def test_our_errors_come_back_as_themselves(error: GorkdError) -> None:
    """A step that failed before a crash fails the same way after it: type, words, code, and what to do next."""
    back = JsonSerializer().deserialize(JsonSerializer().serialize(error))

    assert type(back) is type(error)
    assert (str(back), back.user_message, back.operator_message, back.code, back.retryable) == (
        str(error), error.user_message, error.operator_message, error.code, error.retryable,
    )  # fmt: skip
    assert vars(back) == vars(error)


def test_every_error_of_ours_is_in_the_table_above() -> None:
    """A new error is tried too."""

    def tree(kind: type[GorkdError]) -> set[type[GorkdError]]:
        return {kind}.union(*(tree(child) for child in kind.__subclasses__()))

    ours = {kind for kind in tree(GorkdError) if kind.__module__ == errors.__name__}

    assert ours == {type(error) for error in OURS}


def test_a_bug_comes_back_with_its_words_and_without_its_code() -> None:
    """Nothing is unpickled, so reading a row runs nothing."""

    class Bomb(Exception):
        def __reduce__(self) -> tuple[object, ...]:
            return (pytest.fail, ("it was unpickled",))

    back = JsonSerializer().deserialize(JsonSerializer().serialize(Bomb("division by zero")))

    assert type(back) is StepFailed
    assert str(back) == "Bomb: division by zero"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=9))
def test_values_are_json_and_come_back(value: object) -> None:
    """Codec texts, job ids and None, whatever characters they hold."""
    row = JsonSerializer().serialize(value)

    assert json.loads(row)["v"] == 1
    assert JsonSerializer().deserialize(row) == value


def test_arguments_come_back_as_a_tuple() -> None:
    """DBOS adds to them."""
    row = JsonSerializer().serialize({"args": ("job_1",), "kwargs": {}})

    assert JsonSerializer().deserialize(row) == {"args": ("job_1",), "kwargs": {}}


def test_a_row_of_another_version_is_refused() -> None:
    """Rather than misread."""
    with pytest.raises(ValueError, match="version 2"):
        JsonSerializer().deserialize('{"v":2,"value":"job_1"}')
