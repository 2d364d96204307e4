"""Reading a response's body with a bound on what it becomes in memory.

Only gzip and deflate are asked for; both are inflated here, piece by piece, and reading stops at the cap, so a
small file that unpacks to gigabytes costs no more than an honest one.
"""

from __future__ import annotations

import zlib
from email.message import Message

import aiohttp

from adapters.pages.extraction import DocumentKind
from core.model.errors import PageTooLarge, PageUnreadable

ACCEPT_ENCODING = "gzip, deflate"
_READ_BYTES = 64 * 1024
_GZIP_MAGIC = b"\x1f\x8b"


async def read_body(response: aiohttp.ClientResponse, url: str, *, max_bytes: int, cut: bool = False) -> bytes:
    """The decoded body, at most `max_bytes`.

    A longer one raises `PageTooLarge`, or is cut there with `cut`. Raises `PageUnreadable` on an encoding that
    was not asked for or is broken.
    """
    declared = response.content_length
    if declared is not None and declared > max_bytes and not cut:
        raise PageTooLarge(url, f"{declared} bytes announced, {max_bytes} allowed")
    decoder = _decoder(response.headers.get("Content-Encoding", ""), url)
    body = bytearray()
    received = 0
    async for chunk in response.content.iter_chunked(_READ_BYTES):
        received += len(chunk)
        body += decoder.decode(chunk, room=max_bytes + 1 - len(body))
        if len(body) > max_bytes or received > max_bytes:
            if cut:
                return bytes(body[:max_bytes])
            raise PageTooLarge(url, f"more than {max_bytes} bytes")
    if not decoder.is_complete:
        raise PageUnreadable(url, "the compressed body breaks off")
    return bytes(body)


class _Plain:
    is_complete = True

    def decode(self, chunk: bytes, *, room: int) -> bytes:
        return chunk[:room]


class _Inflater:
    """Gzip (several members too), zlib or raw deflate; a body that only claims to be compressed passes unchanged."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._inflate: zlib._Decompress | None = None
        self._is_plain = False
        self._is_gzip = False

    @property
    def is_complete(self) -> bool:
        return self._is_plain or self._inflate is None or self._inflate.eof

    def decode(self, chunk: bytes, *, room: int) -> bytes:
        """At most `room` bytes more; what does not fit is dropped, for the caller stops there."""
        if self._inflate is None and not self._is_plain:
            self._begin(chunk)
        if self._is_plain or self._inflate is None:
            return chunk[:room]
        out = bytearray()
        pending = chunk
        try:
            while pending and len(out) < room:
                out += self._inflate.decompress(pending, room - len(out))
                pending = self._inflate.unconsumed_tail
                if self._inflate.eof:
                    pending = self._next_member(self._inflate.unused_data)
        except zlib.error as exc:
            raise PageUnreadable(self._url, f"broken compression: {exc}") from exc
        return bytes(out)

    def _begin(self, chunk: bytes) -> None:
        if chunk[:2] == _GZIP_MAGIC:
            self._is_gzip = True
            self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        elif chunk[:1] and chunk[0] & 0x0F == 8 and int.from_bytes(chunk[:2], "big") % 31 == 0:  # RFC 1950 header
            self._inflate = zlib.decompressobj()
        elif chunk[:1] in (b"<", b"%") or chunk.lstrip()[:1] == b"<":
            self._is_plain = True
        else:
            self._inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)

    def _next_member(self, rest: bytes) -> bytes:
        """What is left to inflate after a finished member; anything but another gzip member is padding."""
        if not self._is_gzip or rest[:2] != _GZIP_MAGIC:
            return b""
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        return rest


def _decoder(encoding: str, url: str) -> _Plain | _Inflater:
    names = [name for name in (part.strip().lower() for part in encoding.split(",")) if name not in ("", "identity")]
    if not names:
        return _Plain()
    if len(names) == 1 and names[0] in ("gzip", "x-gzip", "deflate"):
        return _Inflater(url)
    raise PageUnreadable(url, f"content encoding {encoding[:60]!r} was not asked for")


# Which responses are documents we can read, by their label and their first bytes


_KINDS: dict[str, DocumentKind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "text",
    "text/x-markdown": "text",
    "text/x-rst": "text",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
_UNLABELLED = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/force-download"})
_PDF_MAGIC = b"%PDF-"
_MAGIC_BYTES = 1024  # readers look for the PDF header this far in (ISO 32000-1, Annex H.3.4.1)


def media_type(content_type: str) -> tuple[str, str]:
    """The lower-case media type and charset of a Content-Type header, each "" if absent."""
    message = Message()
    message["Content-Type"] = content_type.replace("\r", " ").replace("\n", " ") or "; "
    kind = content_type.partition(";")[0].strip().lower()
    charset = message.get_param("charset", "") if ";" in content_type else ""
    return kind, charset if isinstance(charset, str) else ""


def may_be_readable(kind: str) -> bool:
    """Whether a body so labelled is worth downloading."""
    return kind in _KINDS or kind in _UNLABELLED


def document_kind(kind: str, body: bytes) -> DocumentKind | None:
    """What `body` is; the PDF signature beats any label. None when it is nothing we read."""
    head = body[:_MAGIC_BYTES]
    if _PDF_MAGIC in head and (kind in _UNLABELLED or head.lstrip().startswith(_PDF_MAGIC)):
        return "pdf"
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _UNLABELLED and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "html"
    if kind == "" and b"\x00" not in head:
        return "text"
    return None
