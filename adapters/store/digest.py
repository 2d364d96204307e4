"""Keys as digests: of one length, of any text, and without saying what was asked."""

from __future__ import annotations

import hashlib


def digest(key: str) -> bytes:
    """The SHA-256 of `key`, 32 bytes."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
