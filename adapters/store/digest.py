"""Keys as digests: of one length, of any text, and without saying what was asked."""

from __future__ import annotations

import hashlib


def digest(key: str) -> bytes:
    """The SHA-256 of `key`, 32 bytes."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def place_token(*parts: str) -> str:
    """A word that a full-text index keeps for a place: digits alone, which no stemmer changes."""
    return str(int.from_bytes(digest("\x1f".join(parts))[:8], "big"))
