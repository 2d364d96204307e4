"""PDF files written by hand, sound and hostile ones."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

Text = tuple[float, float, float, str]  # from the left, from below and size in points; characters of Latin-1


def pdf_of(
    pages: Sequence[Sequence[Text]], *, page: str = "", catalog: str = "", content: Sequence[bytes] = ()
) -> bytes:
    """Pages of 600 × 800 points; `page` and `catalog` are more entries of these dictionaries, `content` replaces what
    the pages draw.
    """
    streams = list(content) or [b"BT " + b" ".join(map(_shown, texts)) + b" ET" for texts in pages]
    first = 4
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(streams)))
    bodies = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        f"<< /Type /Pages /Count {len(streams)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for at, stream in enumerate(streams):
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {first + 2 * at + 1} 0 R "
            f"/Resources << /Font << /F 3 0 R >> >> {page} >>".encode()
        )
        packed = zlib.compress(stream)
        bodies.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(packed), packed))
    return file_of(bodies)


def file_of(bodies: Sequence[bytes], trailer: str = "") -> bytes:
    """Numbered objects from 1, the catalog first, with their table."""
    written = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(bodies, start=1):
        places.append(len(written))
        written += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(written)
    written += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    written += b"".join(b"%010d 00000 n \n" % place for place in places)
    written += f"trailer << /Size {len(bodies) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF".encode()
    return bytes(written)


def column(lines: Sequence[str], *, left: float = 60, top: float = 700, size: float = 10) -> list[Text]:
    return [(left, top - 1.2 * size * at, size, line) for at, line in enumerate(lines)]


def bomb() -> bytes:
    """A page whose content is 200 MB of nothing, packed three times over into a few bytes."""
    packed = b" " * 200_000_000
    for _ in range(3):
        packed = zlib.compress(packed, 9)
    stream = b"<< /Length %d /Filter [/FlateDecode /FlateDecode /FlateDecode] >>\nstream\n%b\nendstream" % (
        len(packed),
        packed,
    )
    return file_of([*_one_page(5), b"<< >>", stream])


def nested(depth: int = 200_000) -> bytes:
    """An array in an array in an array …, as a page's resources."""
    return file_of([*_one_page(5, "/X 4 0 R"), b"[" * depth + b"]" * depth, b"<< /Length 0 >>\nstream\n\nendstream"])


def page_tree_loop() -> bytes:
    return file_of([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 9 /Kids [2 0 R 2 0 R] >>"])


def form_loop() -> bytes:
    """A form that draws itself twice, with a line of text."""
    draw = b"BT /F 10 Tf 60 700 Td (Text around a loop.) Tj ET /X Do /X Do"
    form = b"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X 4 0 R >> /Font << /F "
    form += b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> /Length %d >>\nstream\n%b\nendstream" % (
        len(draw),
        draw,
    )
    page = b"<< /Length 5 >>\nstream\n/X Do\nendstream"
    return file_of([*_one_page(5, "/XObject << /X 4 0 R >>"), form, page])


def huge_image() -> bytes:
    """An image said to have 60,000 × 60,000 points."""
    image = b"<< /Type /XObject /Subtype /Image /Width 60000 /Height 60000 /ColorSpace /DeviceRGB /BitsPerComponent 8 "
    image += b"/Length 4 >>\nstream\nabcd\nendstream"
    page = b"<< /Length 22 >>\nstream\n600 0 0 800 0 0 cm /X Do\nendstream"
    return file_of([*_one_page(5, "/XObject << /X 4 0 R >>"), image, page])


def encrypted() -> bytes:
    """By the standard handler, with a password that nobody knows."""
    secret = "00" * 32
    bodies = [*_one_page(4), b"<< /Length 0 >>\nstream\n\nendstream"]
    bodies.append(f"<< /Filter /Standard /V 2 /R 3 /Length 128 /P -3904 /O <{secret}> /U <{secret}> >>".encode())
    return file_of(bodies, f"/Encrypt {len(bodies)} 0 R /ID [<{'11' * 16}> <{'11' * 16}>]")


def _one_page(content: int, resources: str = "") -> list[bytes]:
    return [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {content} 0 R "
            f"/Resources << {resources} >> >>"
        ).encode(),
    ]


def _shown(text: Text) -> bytes:
    left, bottom, size, words = text
    escaped = words.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"/F {size} Tf 1 0 0 1 {left} {bottom} Tm ({escaped}) Tj".encode("cp1252")
