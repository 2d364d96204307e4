"""What the environment may say, and what of it must never reach a log."""

from __future__ import annotations

import pytest

from bots.config import read_settings, secrets_in
from core.model.errors import SetupError


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        pytest.param("OPENAI_API_KEY", "sk-0123456789", "sk-0123456789", id="a key"),
        pytest.param("GORKD_API_TOKENS", "first-token,second-token", "second-token", id="one of several"),
        pytest.param("GORKD_STATS_TOKENS", "slack:T1=own-token", "own-token", id="a tenant's, without its tenant"),
    ],
)
def test_every_secret_is_known_by_itself(name: str, value: str, secret: str) -> None:
    """A log line holds the token alone, not the setting it came from."""
    assert secret in secrets_in({name: value, "GORKD_DATA": "/var/lib/gorkd"})


def test_what_is_no_secret_stays_readable() -> None:
    assert secrets_in({"GORKD_DATA": "/var/lib/gorkd", "GORKD_API_TOKENS": "short"}) == []


@pytest.mark.parametrize("value", ["0.5", "21", "long"])
def test_patience_is_a_factor_from_one_to_twenty(value: str) -> None:
    """The message names the variable."""
    assert read_settings({"GORKD_PATIENCE": "4"}).patience == 4.0
    with pytest.raises(SetupError, match="GORKD_PATIENCE"):
        read_settings({"GORKD_PATIENCE": value})
