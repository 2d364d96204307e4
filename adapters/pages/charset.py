"""Bytes of a page to text, whatever their label says.

Order of belief: byte order mark, valid UTF-8, the declared encoding if the bytes fit it, a guess, Windows-1252.
UTF-8 comes before the label because text that is valid multi-byte UTF-8 by accident is next to impossible, while
wrong labels are common.
"""

from __future__ import annotations

import codecs
import re

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
