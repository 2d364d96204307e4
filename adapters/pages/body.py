"""Reading a response's body with a bound on what it becomes in memory, and its bytes as text.

Only gzip and deflate are asked for; both are inflated here, piece by piece, and reading stops at the cap, so a
small file that unpacks to gigabytes costs no more than an honest one.
"""

from __future__ import annotations

import codecs
import re
import zlib
from email.message import Message
from typing import TYPE_CHECKING

from adapters.pages.extraction import DocumentKind
from core.model.errors import PageTooLarge, PageUnreadable

if TYPE_CHECKING:
    import aiohttp  # parsers decode what others have received

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


class _Inflater:
    """Gzip (several members too), zlib or raw deflate; a body that only claims to be compressed passes unchanged."""

    def __init__(self, url: str, *, is_plain: bool = False) -> None:
        self._url = url
        self._inflate: zlib._Decompress | None = None
        self._is_plain = is_plain
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


def _decoder(encoding: str, url: str) -> _Inflater:
    names = [name for name in (part.strip().lower() for part in encoding.split(",")) if name not in ("", "identity")]
    if not names:
        return _Inflater(url, is_plain=True)
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
_XML_KINDS = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/xml", "text/xml"}
)
_FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]")
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
    return kind in _KINDS or kind in _XML_KINDS or kind in _UNLABELLED


def document_kind(kind: str, body: bytes) -> DocumentKind | None:
    """What `body` is; the PDF signature beats any label. None when it is nothing we read."""
    head = body[:_MAGIC_BYTES]
    if _PDF_MAGIC in head and (kind in _UNLABELLED or head.lstrip().startswith(_PDF_MAGIC)):
        return "pdf"
    if kind in _XML_KINDS or (kind in _UNLABELLED and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<?xml")):
        return "feed" if _FEED.search(head) else None if kind in _XML_KINDS else "html"
    if kind in _KINDS:
        return _KINDS[kind]
    if kind in _UNLABELLED and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return "html"
    if kind == "" and b"\x00" not in head:
        return "text"
    return None


# Bytes of a page to text, whatever their label says. Order of belief: byte order mark, valid UTF-8, the declared
# encoding if the bytes fit it, a guess, Windows-1252. UTF-8 comes before the label because text that is valid
# multi-byte UTF-8 by accident is next to impossible, while wrong labels are common.


_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-zA-Z0-9_:.\-]{2,40})""", re.IGNORECASE)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([a-zA-Z0-9_:.\-]{2,40})""")
_META_BYTES = 4096  # browsers look into the first 1,024; some pages put scripts before it
_GUESS_BYTES = 64 * 1024

# Encodings of the web (WHATWG Encoding Standard) by Python's names; UTF-7 is not among them, since it hides markup.
_WEB_ENCODINGS = frozenset(
    "utf-8 utf-16 utf-16-le utf-16-be gb18030 gbk big5 big5hkscs euc_jp iso2022_jp cp932 cp949 euc_kr "
    "koi8-r koi8-u mac-roman mac-cyrillic cp866 cp874 tis-620 "
    "cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
    "iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 iso8859-13 iso8859-14 "
    "iso8859-15 iso8859-16".split()
)
# What a label means in practice is often the larger set (WHATWG Encoding Standard, 4.2).
_LARGER_SETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_SEVEN_BIT = frozenset({"iso2022_jp", "utf-16-le", "utf-16-be"})  # ASCII-only bytes say nothing against these


def decode_page(body: bytes, declared: str) -> str:
    """The text of `body`; `declared` is the label of the HTTP header ("" if none). Never raises."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, errors="replace")
    label = _web_encoding(declared) or _web_encoding(_label_inside(body))
    if label not in _SEVEN_BIT and (text := _strict(body, "utf-8")) is not None:
        return text
    if label is not None and (text := _strict(body, label)) is not None:
        return text
    if label == "utf-8" and _mostly_utf8(body):
        return body.decode("utf-8", errors="replace")
    return body.decode(_guess(body) or label or "cp1252", errors="replace")


def _label_inside(body: bytes) -> str:
    head = body[:_META_BYTES]
    found = _META.search(head) or _XML.search(head)
    return found.group(1).decode("ascii") if found else ""


def _web_encoding(label: str) -> str | None:
    """Python's codec for a web label; None when it is unknown or not of the web."""
    try:
        name = codecs.lookup(label.strip().strip("\"'")).name if label else ""
    except (LookupError, ValueError):
        return None
    name = _LARGER_SETS.get(name, name)
    return name if name in _WEB_ENCODINGS else None


def _strict(body: bytes, encoding: str) -> str | None:
    try:
        return body.decode(encoding)
    except UnicodeError:
        return None


def _mostly_utf8(body: bytes) -> bool:
    """A few broken bytes in a labelled UTF-8 page (a cut, a stray quote) do not make it another encoding."""
    text = body.decode("utf-8", errors="replace")
    return text.count("\ufffd") * 4 <= sum(1 for char in text if char > "\x7f")


def _guess(body: bytes) -> str | None:
    from charset_normalizer import from_bytes

    # What carries the evidence are the bytes beyond ASCII; start near the first.
    first = next((at for at in range(0, len(body)) if body[at] > 0x7F), 0)
    best = from_bytes(body[max(0, first - 1024) : first + _GUESS_BYTES], preemptive_behaviour=False).best()
    return _web_encoding(best.encoding) if best else None
