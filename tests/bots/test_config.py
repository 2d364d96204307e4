"""What the environment may say, and what of it must never reach a log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dotenv import set_key

from adapters.chat.discord import bot
from adapters.web.settings import WebSettings
from bots import wiring
from bots.config import ENV_FILE, environment, keep_settings, read_settings, secrets_in
from core.model.errors import SetupError
from tests.shared_data import ROOT


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


def test_only_what_is_given_is_read_and_blank_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compose hands an unset variable over as an empty one."""
    monkeypatch.setenv("GORKD_RETENTION_DAYS", "")
    monkeypatch.setenv("GORKD_PATIENCE", "7")

    settings = read_settings({"GORKD_LOG_LEVEL": " Debug ", "GORKD_CACHE_INSTANT": " "})

    assert (settings.retention_days, settings.patience, settings.log_level) == (0, 1.0, "debug")


def test_the_limits_are_those_of_the_design() -> None:
    """G-01, G-02, G-03: questions and reads a minute, streams, seconds to stop in, where nobody sets them."""
    chats, web = read_settings({}), WebSettings.from_env({})

    assert (chats.discord_user_per_min, chats.discord_guild_per_min) == (5, 20)
    assert (chats.slack_user_per_min, chats.slack_workspace_per_min) == (5, 30)
    assert (web.asks_per_minute, web.reads_per_minute, web.streams_per_address) == (10, 60, 5)
    assert (wiring.GRACE_S, bot.GRACE_S) == (30, 30)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("GORKD_RETENTION_DAYS", "viele", "must be a whole number, not 'viele'"),
        ("GORKD_RETENTION_DAYS", "-3", "must be 0 or more, not '-3'"),
        ("GORKD_PATIENCE", "21", "must be 20 or less, not '21'"),
        ("GORKD_BUDGET_USER_USD", "nan", "must be a number, not 'nan'"),
        ("GORKD_CACHE_INSTANT", "vielleicht", "must be 1 or 0, not 'vielleicht'"),
        ("GORKD_WRITING", "both", "must be 'auto', 'parallel' or 'single', not 'both'"),
    ],
)
def test_a_wrong_setting_is_one_sentence_and_where_to_look(name: str, value: str, told: str) -> None:
    with pytest.raises(SetupError) as refused:
        read_settings({name: value})

    assert refused.value.operator_message == f"{name} {told}. docs/configuration.md says what it takes."


@pytest.mark.parametrize(
    "value",
    ["a$b#c", "a'b", 'a"b', " a b ", "a\\'b\\", "name=token", "$HOME", "a${HOME}b", "$${X:-y}", "`x`", "é"],
)
def test_what_is_kept_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """N-26: a secret may hold any sign; the file's other lines stay,."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    ENV_FILE.write_text("# mine\nOTHER_KEY=stays\n", encoding="utf-8")
    ENV_FILE.chmod(0o644)

    keep_settings({"TAVILY_API_KEY": value})

    assert environment()["TAVILY_API_KEY"] == value
    assert ENV_FILE.read_text("utf-8").startswith("# mine\nOTHER_KEY=stays\n")
    assert ENV_FILE.stat().st_mode & 0o777 == 0o600


def test_a_secret_is_never_in_a_file_that_others_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even between being written and being closed to them."""
    monkeypatch.chdir(tmp_path)
    ENV_FILE.write_text("", encoding="utf-8")
    ENV_FILE.chmod(0o644)
    modes: list[int] = []

    def noted(place: Path, name: str, value: str, **options: Any) -> object:
        modes.append(place.stat().st_mode & 0o777)
        return set_key(place, name, value, **options)

    monkeypatch.setattr("bots.config.set_key", noted)
    keep_settings({"TAVILY_API_KEY": "tvly-1", "EXA_API_KEY": "exa-1"})

    assert modes == [0o600, 0o600]


@pytest.mark.parametrize("said", ["WARNING", " Warning "])
def test_a_log_level_is_taken_in_any_case(said: str) -> None:
    assert read_settings({"GORKD_LOG_LEVEL": said}).log_level == "warning"


FREED = """
from pathlib import Path
from bots.config import tune_memory


def anonymous_mib():
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) // 1024


tune_memory()
before = anonymous_mib()
page = bytearray(b"x" * (30 << 20))
del page
pages, between = [], []
for _ in range(40):
    pages.append(bytearray(b"x" * (1 << 20)))
    between.append(bytearray(b"x" * 2000))
held = anonymous_mib()
del pages
print(held - before >= 40, anonymous_mib() - before <= 5)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is resident")
def test_what_was_large_is_given_back_when_it_is_freed() -> None:
    """However much was freed at once before, and whatever small things lie between: else a peak stays for ever."""
    ran = subprocess.run([sys.executable, "-c", FREED], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["True", "True"]
