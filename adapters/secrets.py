"""Tokens that must be kept, encrypted with a secret of this installation; keys for other purposes come from it too.

The secret is `GORKD_SECRET`, or one that is made once and kept beside the data. Fernet: AES-128-CBC with
HMAC-SHA256, so a text that was altered or sealed with another secret is refused, never misread.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from core.model.errors import SetupError, StoreError

FILE_NAME, TOKEN_FILE = "secret", "token"
MIN_CHARS = 16  # of a secret that somebody chose; the made one has 43
_PURPOSE = b"gorkd stored tokens v1"  # keeps this key apart from those derived for other purposes
_SIGNING, _RECEIPTS = b"gorkd page links v1", b"gorkd receipts v1"


class SecretBox:
    """Seals and opens short texts. The first secret seals; older ones still open what they sealed."""

    def __init__(self, secrets_: tuple[str, ...]) -> None:
        """Raises `SetupError` on a secret under `MIN_CHARS` characters, and when there is none."""
        _refuse_weak(secrets_)
        from cryptography.fernet import Fernet, MultiFernet

        keys = [base64.urlsafe_b64encode(_key(secret, _PURPOSE)) for secret in secrets_]
        self._fernet = MultiFernet([Fernet(key) for key in keys])

    @classmethod
    def from_env(cls, env: Mapping[str, str], data: Path) -> SecretBox:
        """`GORKD_SECRET`, newest first where there are several (comma-separated); else the one kept in `data`.

        Several machines must share one, so with `DATABASE_URL` it has to be given. Raises `SetupError`.
        """
        return cls(_secrets(env, data))

    def seal(self, text: str) -> str:
        """Printable ASCII; the same text looks different each time."""
        return self._fernet.encrypt(text.encode()).decode()

    def open(self, sealed: str) -> str:
        """Raises `StoreError` when it was sealed with another secret or altered."""
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except (InvalidToken, UnicodeError) as exc:
            raise StoreError(
                "a stored token cannot be decrypted",
                operator_message="A stored token cannot be read: GORKD_SECRET has changed. "
                "Put the earlier secret behind the new one, separated by a comma, or connect again.",
            ) from exc


def signing_keys(env: Mapping[str, str], data: Path) -> tuple[bytes, ...]:
    """32 bytes each, for page links: the first signs, older ones still verify. Raises `SetupError`."""
    return _keys(env, data, _SIGNING)


def receipt_keys(env: Mapping[str, str], data: Path) -> tuple[bytes, ...]:
    """Private Ed25519 keys of 32 bytes for receipts, likewise: the first signs, all are published."""
    return _keys(env, data, _RECEIPTS)


def _keys(env: Mapping[str, str], data: Path, purpose: bytes) -> tuple[bytes, ...]:
    found = _secrets(env, data)
    _refuse_weak(found)
    return tuple(_key(secret, purpose) for secret in found)


def _secrets(env: Mapping[str, str], data: Path) -> tuple[str, ...]:
    given = tuple(part.strip() for part in env.get("GORKD_SECRET", "").split(",") if part.strip())
    if given:
        return given
    if env.get("DATABASE_URL"):
        raise SetupError("DATABASE_URL is set, so GORKD_SECRET must be too: the same on every machine.")
    return (_kept(data / FILE_NAME)[0],)


def read_tokens(env: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The bearer tokens of the variable `name`, separated by commas; of `tenant=token` the second part counts.

    Raises `SetupError` for one that could be guessed, without saying which.
    """
    tokens = tuple(filter(None, map(str.strip, env.get(name, "").split(","))))
    if any(len(token.rpartition("=")[2]) < MIN_CHARS for token in tokens):
        raise SetupError(
            f"Every token in {name} must have at least {MIN_CHARS} characters, e.g. from `openssl rand -hex 32`."
        )
    return tokens


def _refuse_weak(secrets_: tuple[str, ...]) -> None:
    if not secrets_ or any(len(secret) < MIN_CHARS for secret in secrets_):
        raise SetupError(f"GORKD_SECRET must have at least {MIN_CHARS} characters, e.g. from `openssl rand -hex 32`.")


def _key(secret: str, purpose: bytes) -> bytes:
    """A key for this purpose alone. Secrets are long and random, so no slow derivation is needed (RFC 5869)."""
    pseudorandom = hashlib.sha256(b"gorkd" + secret.encode()).digest()
    return hashlib.blake2b(purpose, key=pseudorandom, digest_size=32).digest()


def kept_token(data: Path) -> tuple[str, bool]:
    """This installation's own API token, and whether it was made just now. Raises `SetupError`."""
    return _kept(data / TOKEN_FILE)


def _kept(path: Path) -> tuple[str, bool]:
    """The text of a secret file, made by whichever process comes first; whether this one did."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not path.exists() and _make(path)
        text = path.read_text("ascii").strip()
    except (OSError, UnicodeError) as exc:
        reason = getattr(exc, "strerror", None) or type(exc).__name__
        raise SetupError(f"The secret in {path} cannot be read or made ({reason}); check GORKD_DATA.") from exc
    if len(text) < MIN_CHARS:
        raise SetupError(
            f"The file {path} is empty or cut short: put it back from a backup, or delete it and a new one is made. "
            "What was signed or encrypted with the old one is then void."
        )
    return text, is_new


def _make(path: Path) -> bool:
    """Whether this process made it: whole and on the disk before it has its name, whatever ends in between."""
    draft = path.with_name(f".{path.name}-{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename it never replaces another process's
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True
