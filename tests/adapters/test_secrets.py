"""Stored tokens are sealed with this installation's secret and with nothing else."""

from __future__ import annotations

import base64
import errno
import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from cryptography.fernet import Fernet, InvalidToken
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.secrets import FILE_NAME, TOKEN_FILE, SecretBox, kept_token, signing_keys
from core.model.errors import SetupError, StoreError

OLD, NEW = "an old secret of the house", "a new secret of the house"


@settings(max_examples=30)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_sealed_opens_again(text: str) -> None:
    """Round trip; sealed text is printable ASCII that can stand anywhere."""
    box = SecretBox((NEW,))

    sealed = box.seal(text)

    assert box.open(sealed) == text
    assert sealed.isascii()
    assert sealed.isprintable()


def test_sealed_text_holds_nothing_of_the_token_in_any_encoding() -> None:
    """Neither plain nor in Base64 at any offset, and never the same twice."""
    token, box = "xoxb-1234567890-abcdefghij", SecretBox((NEW,))

    sealed = [box.seal(token) for _ in range(3)]

    raw = b"".join(base64.urlsafe_b64decode(text) for text in sealed)
    assert token.encode() not in raw
    assert base64.b64encode(token.encode())[2:-4] not in raw
    assert len(set(sealed)) == 3


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda sealed: SecretBox((OLD,)).seal("token"), id="another secret"),
        pytest.param(lambda sealed: sealed[:-6] + "AAAAA=", id="altered"),
        pytest.param(lambda sealed: "plain", id="never sealed"),
        pytest.param(lambda sealed: "", id="empty"),
        pytest.param(lambda sealed: "ü", id="not ascii"),
    ],
)
def test_what_was_not_sealed_here_is_refused(spoil) -> None:
    """A sentence says what to do; nothing is misread."""
    box = SecretBox((NEW,))

    with pytest.raises(StoreError) as refused:
        box.open(spoil(box.seal("token")))

    assert "GORKD_SECRET" in refused.value.operator_message


def test_a_secret_can_be_replaced_without_losing_what_it_sealed(tmp_path: Path) -> None:
    """The newest seals, the older ones still open."""
    sealed = SecretBox.from_env({"GORKD_SECRET": OLD}, tmp_path).seal("token")

    both = SecretBox.from_env({"GORKD_SECRET": f"{NEW}, {OLD}"}, tmp_path)

    assert both.open(sealed) == "token"
    assert SecretBox((NEW,)).open(both.seal("token")) == "token"


def test_a_secret_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """On one machine nobody has to set anything; the file is readable by its owner only."""
    data = tmp_path / "data"

    first, second = SecretBox.from_env({}, data), SecretBox.from_env({}, data)

    assert second.open(first.seal("token")) == "token"
    assert stat.S_IMODE((data / FILE_NAME).stat().st_mode) == 0o600
    assert [path.name for path in data.iterdir()] == [FILE_NAME]


def test_processes_that_start_together_agree_on_one_secret(tmp_path: Path) -> None:
    """Whoever comes first has made it."""
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        sealed = pool.map(_seal, [tmp_path] * 8)

    assert {SecretBox.from_env({}, tmp_path).open(text) for text in sealed} == {"token"}


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({"GORKD_SECRET": "short"}, id="too short"),
        pytest.param({"GORKD_SECRET": f"{NEW},short"}, id="one of two too short"),
        pytest.param({"DATABASE_URL": "postgresql://db/gorkd"}, id="several machines without a shared one"),
    ],
)
def test_a_secret_that_protects_nothing_is_refused(env: dict[str, str], tmp_path: Path) -> None:
    """The sentence names the variable and never repeats its value."""
    with pytest.raises(SetupError, match="GORKD_SECRET") as refused:
        SecretBox.from_env(env, tmp_path)

    assert "short" not in str(refused.value)


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """`GORKD_DATA` is what to look at."""
    blocked = tmp_path / "file"
    blocked.write_text("x")

    with pytest.raises(SetupError, match="GORKD_DATA"):
        SecretBox.from_env({}, blocked)


@pytest.mark.parametrize("left", ["", "\n", "half a secr"], ids=["empty", "blank", "cut short"])
def test_a_secret_file_that_was_cut_short_is_named(left: str, tmp_path: Path) -> None:
    """As a full disk or a power cut leaves it; the variable that nobody has set is not blamed."""
    (tmp_path / FILE_NAME).write_text(left)

    with pytest.raises(SetupError) as refused:
        SecretBox.from_env({}, tmp_path)

    assert str(tmp_path / FILE_NAME) in str(refused.value)
    assert "empty or cut short" in str(refused.value)
    assert "GORKD_SECRET" not in str(refused.value)


def test_a_secret_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is its name afterwards: whatever ends in between leaves none or a whole one."""
    done: list[str] = []
    for name in ("fsync", "link"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *given, name=name, real=real: (done.append(name), real(*given))[1])

    SecretBox.from_env({}, tmp_path)

    assert done == ["fsync", "link", "fsync"]


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no half secret stays."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(SetupError, match="No space left on device"):
        SecretBox.from_env({}, tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_a_token_of_ones_own_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    """For a server that others reach and that nobody gave a token."""
    first, second = kept_token(tmp_path), kept_token(tmp_path)

    assert (first[1], second) == (True, (first[0], False))
    assert len(first[0]) >= 40
    assert stat.S_IMODE((tmp_path / TOKEN_FILE).stat().st_mode) == 0o600


def _seal(data: Path) -> str:
    return SecretBox.from_env({}, data).seal("token")


def test_signing_keys_are_others_than_those_that_seal(tmp_path: Path) -> None:
    """One secret, several purposes: no key serves two, and each secret gives its own, newest first."""
    keys = signing_keys({"GORKD_SECRET": f"{NEW},{OLD}"}, tmp_path)

    assert keys == (*signing_keys({"GORKD_SECRET": NEW}, tmp_path), *signing_keys({"GORKD_SECRET": OLD}, tmp_path))
    assert [len(key) for key in keys] == [32, 32]
    sealed = Fernet(base64.urlsafe_b64encode(keys[0]))
    with pytest.raises(InvalidToken):
        sealed.decrypt(SecretBox((NEW,)).seal("x"))


def test_signing_keys_stay_the_same_without_a_secret_given(tmp_path: Path) -> None:
    """The one that is made and kept beside the data; links survive a restart."""
    assert signing_keys({}, tmp_path) == signing_keys({}, tmp_path)
